from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.compose.allocation import TokenBudget
from foreword.compose.entity_context import entities_text
from foreword.compose.prompt import prompt_tokens
from foreword.compose.system_prompt import UserPreferences
from foreword.edges.metta import grounding, register
from foreword.edges.metta.__main__ import main
from foreword.edges.metta.predicates import DECLARED, MettaConversation
from foreword.indexing.knowledge_base import Document, KnowledgeBase
from foreword.recipes.dialogue.prompt import inject_context
from foreword.recipes.dialogue.rag import RAGConfig
from foreword.recipes.dialogue.session import Session
from foreword.types import Turn

hyperon = pytest.importorskip("hyperon")

REPOSITORY = Path(__file__).parents[3]
DESCRIBED = REPOSITORY.parent / "shared" / "spec" / "2-dialogue-context.md"
QUERY = "When does Mara pick up the plum cake?"
DECLARATION = re.compile(r"^\(: (\S+) (.*)\)$", re.MULTILINE)


@pytest.fixture
def session(engine):
    session = Session(
        engine,
        "bakery",
        "c-1",
        base_instructions="You answer for a bakery.",
        user_preferences=UserPreferences("friendly", custom_instructions=("Name the day.",)),
        rag=RAGConfig(min_relevance=0.0),
    )
    session.add_all(
        [
            Turn("I am Mara Lind and I work at Plum Bakery. Write to mara@example.org."),
            Turn("Welcome, Mara Lind.", role="assistant"),
            Turn("Jonas Weber   bakes\n\n\nthe plum cake."),
            Turn("He bakes it on Friday.", role="assistant"),
        ]
    )
    documents = [
        Document("Hours", "Mara Lind may pick up the plum cake from ten o'clock."),
        Document("Nuts", "A plum cake without nuts is baked in a tin of its own."),
    ]
    KnowledgeBase(engine, "bakery").index_documents(documents)
    engine.embed_pending("bakery")
    return session


@pytest.fixture
def run(engine, session):
    """Run a program; gives the atoms of its last result."""
    metta = hyperon.MeTTa()
    register(metta, engine, session, RAGConfig(min_relevance=0.0))

    def last(program):
        results = metta.run(program)
        return results[-1] if results else []

    return last


@pytest.fixture
def value(run):
    """Run a program; gives its one result as Python has it."""

    def one(program):
        [atom] = run(program)
        return grounding._atom_to_python(atom)

    return one


class TestWhatIsDeclared:
    def test_every_predicate_of_the_description_is_there_with_its_type(self):
        if not DESCRIBED.exists():
            pytest.skip(f"{DESCRIBED} is not here")
        described = dict(DECLARATION.findall(DESCRIBED.read_text()))
        assert len(described) == 28
        ours = dict(DECLARATION.findall(DECLARED))
        assert {name: ours.get(name) for name in described} == described

    def test_every_predicate_is_done_by_the_method_of_its_name(self):
        names = [name for name, _ in grounding._DECLARATION.findall(DECLARED)]
        assert len(names) == len(set(names)) == DECLARED.count("(: ")
        public = {name for name in vars(MettaConversation) if not name.startswith("_")}
        assert {name.replace("-", "_") for name in names} == public - {"engine", "session", "knowledge"}


class TestTheWholePrompt:
    def test_it_is_what_python_makes(self, value, session):
        made = value(f'!(inject-context "{QUERY}" &state &knowledge 2000)')
        assert made.formatted == inject_context(QUERY, session, 2000).formatted
        assert "Jonas Weber" in made.formatted
        assert "ten o'clock" in made.formatted

    def test_its_receipt_is_kept(self, value, engine):
        made = value(f'!(inject-context "{QUERY}" &state &knowledge 2000)')
        assert engine.explain("bakery", made.receipt.id) == made.receipt

    def test_a_state_taken_earlier_does_not_know_what_was_said_since(self, run, session):
        run("(= (before) &state)")
        session.add(Turn("Jonas Weber picks up the plum cake on Sunday."))
        prompt = '!(py-dot (inject-context "{}" {} &knowledge 2000) formatted)'
        assert "Sunday" not in str(run(prompt.format(QUERY, "(before)")))
        assert "Sunday" in str(run(prompt.format(QUERY, "&state")))

    def test_total_tokens_is_the_exact_count(self, value, session):
        counted = value(f'!(total-tokens (py-dot (inject-context "{QUERY}" &state &knowledge 900) content))')
        made = inject_context(QUERY, session, 900)
        assert counted == made.token_count == prompt_tokens(made.content, session.tokenizer)


class TestParts:
    def test_the_budget_is_divided(self, value):
        budget = value(f'!(allocate-token-budget "{QUERY}" &state 1000)')
        assert isinstance(budget, TokenBudget)
        assert budget.total <= 1000

    def test_history_and_entities_keep_to_their_tokens(self, value, session):
        history = value("!(format-dialogue-history &state 40)")
        assert 0 < history.token_count <= 40
        meant = f'(resolve-entities "{QUERY}" &state)'
        entities = value(f"!(format-entity-context &state {meant} 60)")
        assert entities[0].name == "Mara Lind"
        assert session.tokenizer.count(entities_text(entities)) <= 60

    def test_documents_are_found_through_each_step_as_in_one(self, value):
        ways = (
            f'!(let $v (embed-query "{QUERY}") (let $found (search-vector-index $v 5) {{}}))',
            '(let $meant (resolve-entities "Mara" &state) (apply-rag-boosts $found $meant))',
            f'(rerank-chunks "{QUERY}" $found)',
        )
        found, boosted, reranked = (value(ways[0].format(way)) for way in ("$found", ways[1], ways[2]))
        ids = {result.memory.id for result in found}
        assert len(ids) == 2
        assert {result.memory.id for result in boosted} == {result.memory.id for result in reranked} == ids
        scores = {result.memory.id: result.score for result in found}
        assert any(result.score > scores[result.memory.id] for result in boosted)
        chunks = value(f'!(retrieve-rag-chunks "{QUERY}" () 500)')
        assert {chunk.chunk_id for chunk in chunks} <= ids

    def test_lists_are_expressions(self, run):
        found = f'(retrieve-rag-chunks "{QUERY}" () 500)'
        best = f"(let $found {found} (select-top-chunks $found 1))"
        [atom] = run(f"!(let $best {best} (map-atom $best $chunk (py-dot $chunk content)))")
        assert str(atom).count("plum cake") == 1
        assert str(atom).startswith('("')

    def test_a_chunk_is_worded_with_its_source(self, value):
        first = f'(let $found (retrieve-rag-chunks "{QUERY}" () 500) (car-atom $found))'
        worded = value(f"!(let $c {first} (format-chunk $c (py-dot $c source)))")
        assert worded == value(f"!(let $c {first} (py-dot $c formatted))")
        assert worded.startswith("Source: ")

    def test_an_entity_is_worded_with_the_attributes_that_are_chosen(self, value, session):
        mara = session.state.entity_registry.find_by_name("Mara Lind")[0]
        program = (
            '!(let $all ((py-dot (py-dot &state entity_registry) find_by_name) "Mara Lind")'
            " (let $mara ((py-dot $all __getitem__) 0) {}))"
        )
        chosen = value(program.format("(select-entity-attributes $mara 1)"))
        assert chosen == [["email", "mara@example.org"]]
        worded = value(program.format("(format-entity $mara 0.5 (select-entity-attributes $mara 1))"))
        assert (worded.entity_id, worded.relevance) == (mara.id, 0.5)
        assert "email: mara@example.org" in worded.formatted
        related = value(program.format("(get-entity-relationships $mara &state)"))
        assert [each.target_name for each in related] == ["Plum Bakery"]
        [bare] = value(
            program.format('(let $e (format-entity $mara 0.5 (("a" "b"))) (reduce-entity-detail ($e)))')
        )
        assert bare.formatted == "• Mara Lind (person)"

    def test_turns_become_lines_and_a_text(self, value, session):
        lines = value("!(format-recent-turns (py-dot &state turns))")
        assert [line.turn_id for line in lines] == [turn.turn_id for turn in session.state.turns]
        program = "!(let $lines (format-recent-turns (py-dot &state turns)) (assemble-history {} $lines))"
        told = value(program.format('(Just "Before.")'))
        assert told.startswith("[Conversation summary: Before.]\n\nRecent conversation:\nUser: I am Mara")
        assert told == value(program.format('"Before."'))
        assert value(program.format("Nothing")).startswith("Recent conversation:")
        summary = value("!(summarize-turns (py-dot &state turns) 30)")
        assert 0 < session.tokenizer.count(summary) <= 30

    def test_the_system_prompt_and_its_pieces(self, value):
        built = value("!(build-system-prompt &preferences &personality 500)")
        pieces = [value("!(format-personality &personality)"), value("!(format-preferences &preferences)")]
        assert built == "\n\n".join(["You answer for a bakery.", *pieces])
        assert pieces[1].endswith("Name the day.")
        assert value('!(truncate-system-prompt ("One sentence." "Another one.") 4)') == "One sentence."


class TestMakingItSmaller:
    @pytest.mark.parametrize(
        ("share", "level"), [(0, "None"), (0.1, "Light"), (0.2, "Medium"), (0.5, "Heavy"), (0.6, "Extreme")]
    )
    def test_the_level_goes_by_the_share_that_is_over(self, run, share, level):
        assert [str(atom) for atom in run(f"!(compression-level {share})")] == [level]

    def test_a_level_has_its_type(self, run):
        assert [str(atom) for atom in run("!(get-type Heavy)")] == ["CompressionLevel"]

    def test_content_is_compressed_to_its_target(self, value):
        content = f'(py-dot (inject-context "{QUERY}" &state &knowledge 900) content)'
        assert value(f"!(total-tokens (compress-content {content} 150))") <= 150

    def test_no_part_is_over_its_own_budget(self, value, session):
        made = value(
            f'!(handle-overflow (py-dot (inject-context "{QUERY}" &state &knowledge 900) content)'
            f' (allocate-token-budget "{QUERY}" &state 150))'
        )
        budget = value(f'!(allocate-token-budget "{QUERY}" &state 150)')
        assert session.tokenizer.count(made.system) <= budget.system
        assert made.history.token_count <= budget.history
        assert session.tokenizer.count(entities_text(made.entities)) <= budget.entities

    def test_a_history_is_tidied_and_told_briefly(self, value):
        history = "(format-dialogue-history &state 500)"
        assert "bakes\n\n\n" not in value(f"!(py-dot (simplify-formatting {history}) text)")
        brief = value(f"!(aggressive-summarize {history})")
        assert [turn.content for turn in brief.recent_turns] == ["He bakes it on Friday."]
        assert brief.summary


class TestWhatGoesWrong:
    def test_a_value_of_another_type_is_refused_by_metta(self, run):
        assert "BadArgType 1 DialogueState String" in str(run('!(format-dialogue-history "no state" 10)'))

    def test_our_refusals_are_errors_that_say_what_to_do(self, run):
        [error] = run('!(inject-context "far too long for this window" &state &knowledge 2)')
        call, message = error.get_children()[1:]
        assert str(call).startswith("(inject-context ")
        assert "shorten the query" in grounding._atom_to_python(message)

    def test_a_list_of_something_else_is_an_error_that_names_the_type(self, run):
        [error] = run('!(format-recent-turns ("not a turn"))')
        assert "(-> (List Turn) (List FormattedTurn))" in str(error)

    def test_what_has_no_value_yet_stays_as_it_is_written(self, run):
        [atom] = run("!(summarize-turns $turns 10)")
        assert str(atom).startswith("(summarize-turns $turns")

    def test_without_the_package_the_extra_is_named(self):
        program = (
            "import sys; sys.modules['hyperon'] = None\n"
            "from foreword.edges.metta import grounding\ngrounding.import_hyperon()"
        )
        ended = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
        )
        assert "MissingExtra" in ended.stderr
        assert "pip install 'foreword[metta]'" in ended.stderr


values = st.recursive(
    st.text() | st.integers() | st.booleans() | st.floats(allow_nan=False), st.lists, max_leaves=20
)


@given(values)
def test_a_value_comes_back_as_it_went(told):
    assert grounding._atom_to_python(grounding._value_to_atom(told)) == told


class TestTheProgram:
    @pytest.fixture
    def run_here(self, capsys):
        """Run the program in this process; gives its code, and what it wrote to stdout and stderr."""

        def run(script):
            code = main([str(script)])
            return (code, *capsys.readouterr())

        return run

    def _run(self, *arguments):
        command = [sys.executable, "-m", "foreword.edges.metta", *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=REPOSITORY, timeout=120
        )

    def test_the_example_runs_on_its_sample(self, home):
        ended = self._run("examples/prompt.metta")
        assert (ended.returncode, ended.stderr) == (0, "")
        assert "Medium" in ended.stdout.splitlines()
        assert "[KNOWLEDGE]\nSource: Picking up" in ended.stdout
        assert not home.exists(), "the sample is not kept"

    def test_a_conversation_that_is_kept_can_be_asked(self, engine, session, home, tmp_path):
        script = tmp_path / "turns.metta"
        script.write_text("!(summarize-turns (py-dot &state turns) 60)\n")
        engine.close()
        ended = self._run(script, "--home", home, "--workspace", "bakery", "--session", "c-1")
        assert "Mara Lind" in ended.stdout

    def test_an_error_is_printed_and_the_program_fails(self, tmp_path, run_here):
        script = tmp_path / "wrong.metta"
        script.write_text('!(embed-query "")\n')
        code, out, _ = run_here(script)
        assert code == 1
        assert "give some words" in out

    def test_whatever_a_program_gives_is_printed(self, tmp_path, run_here):
        script = tmp_path / "any.metta"
        script.write_text('! +\n!(+ 1 2)\n!("a" b)\n! &self\n! &knowledge\n')
        code, out, err = run_here(script)
        assert (code, err) == (0, "")
        assert len(out.splitlines()) == 5
        assert {"+", "3", '("a" b)'} <= set(out.splitlines())

    @pytest.mark.parametrize("program", [None, b"!(unclosed", b"\xff\xfe"])
    def test_a_program_that_cannot_be_read_is_told_in_a_line(self, tmp_path, run_here, program):
        script = tmp_path / "broken.metta"
        if program is not None:
            script.write_bytes(program)
        code, _, err = run_here(script)
        assert code == 1
        assert re.fullmatch(r"metta: .+\n", err)
