"""A conversation in a workspace: kept turn by turn, known again when it is opened again."""

from __future__ import annotations

import random
import string
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime

import pytest

from foreword.compose.history import HistoryFormatterConfig
from foreword.compose.system_prompt import Custom, UserPreferences
from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.errors import ValidationError
from foreword.recipes.dialogue.prompt import inject_context
from foreword.recipes.dialogue.session import Session
from foreword.testing import HashEmbeddings
from foreword.types import Filters, Turn

NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001
CALL = {"id": "c1", "type": "function", "function": {"name": "stock", "arguments": '{"cake": "plum"}'}}


@pytest.fixture
def talk(engine, clock):
    """What adds turns to the session `c-1`, a minute apart."""
    session = Session(engine, "bakery", "c-1")

    def say(*turns):
        for turn in turns:
            clock.advance(minutes=1)
            session.add(turn)
        return session

    return say


def test_a_turn_that_was_added_is_kept_with_its_speaker_its_time_and_what_it_does(engine, talk, clock):
    session = talk(Turn("Could you reserve a plum cake for Anna?"))
    [turn] = session.state.turns
    [item] = engine.store.scan("bakery", Filters(kinds=("turn",), conversation="c-1"))
    assert (item.id, item.text, item.about) == (
        turn.turn_id,
        "Could you reserve a plum cake for Anna?",
        "User",
    )
    assert (turn.timestamp, turn.speech_act) == (clock.now, "request")


def test_a_session_that_is_opened_again_knows_what_was_said_and_whom_it_was_about(engine, talk):
    before = talk(
        Turn("Anna Berg is the manager of the bakery."),
        Turn("", role="assistant", tool_calls=(CALL,)),
        Turn("4 left", role="tool", call_id="c1"),
        Turn("I ment plum", corrected_text="I meant plum", name="Ben"),
    )
    again = Session(engine, "bakery", "c-1")
    assert again.state.turns == before.state.turns
    names = {entity.canonical_name for entity in again.state.entity_registry.get_high_salience_entities(9)}
    assert "Anna Berg" in names


def test_what_a_statement_after_a_question_does_is_to_answer(talk):
    session = talk(Turn("When do you close?"), Turn("At six on weekdays.", role="assistant"))
    assert [turn.speech_act for turn in session.state.turns] == ["question", "answer"]


@pytest.fixture
def secret():
    """What looks like a key, and never was one."""
    chance = random.Random(3)
    return "ghp" + "_" + "".join(chance.choice(string.ascii_letters + string.digits) for _ in range(36))


def on_disk(home, words):
    """The files that hold these words."""
    return [path for path in home.rglob("*") if path.is_file() and words.encode() in path.read_bytes()]


def test_secrets_do_not_reach_the_disk_in_a_turn_or_in_the_receipt_of_a_prompt(home, clock, secret):
    class Parrot:
        def summarize(self, turns, max_tokens):
            raise RuntimeError(f"cannot log in with {secret}")

    call = {"id": "c1", "function": {"name": "deploy", "arguments": f'{{"token": "{secret}"}}'}}
    with ContextEngine(
        embedding_provider=HashEmbeddings(), settings=Settings(home=home), clock=clock
    ) as engine:
        session = Session(
            engine,
            "bakery",
            "c-1",
            base_instructions=f"Log in with {secret}.",
            agent_personality=Custom(f"You like {secret}."),
            user_preferences=UserPreferences(custom_instructions=(f"Never say {secret}.",)),
            history=HistoryFormatterConfig(verbatim_turns=2),
            dialogue_summarizer=Parrot(),
        )
        session.add(Turn(f"my token is {secret}", name=f"Ben {secret}"))
        session.add(Turn(f"I ment {secret}", corrected_text=f"I meant {secret}"))
        session.add(Turn("", role="assistant", tool_calls=(call,)))
        session.add_all([Turn(f"Something else, number {n}, is said here.") for n in range(40)])
        made = inject_context(f"Is {secret} my token?", session, 900)
        assert f"Is {secret} my token?" in made.formatted
        assert "left out: RuntimeError" in str(made.receipt.notes)
        kept = engine.explain("bakery")
        assert kept.query == "Is [redacted:github] my token?"
        assert secret not in str(kept)
        assert any("Is [redacted:github] my token?" in str(text) for text in kept.view.values())
        assert not on_disk(home, secret)
    assert not on_disk(home, secret)


@pytest.mark.parametrize(
    "where",
    ["query", "base_instructions", "agent_personality", "user_preferences", "dialogue_summarizer"],
)
def test_a_secret_in_a_single_part_of_the_prompt_is_not_in_its_view(engine, secret, where):
    class Tells:
        def summarize(self, turns, max_tokens):
            return f"They said {secret}."

    parts = {
        "base_instructions": f"Log in with {secret}.",
        "agent_personality": Custom(f"You like {secret}."),
        "user_preferences": UserPreferences(custom_instructions=(f"Never say {secret}.",)),
        "dialogue_summarizer": Tells(),
    }
    session = Session(engine, "bakery", "c-1", **{name: parts[name] for name in parts if name == where})
    session.add_all([Turn(f"Something, number {n}, is said here at some length.") for n in range(40)])
    made = inject_context(f"Which {secret}?" if where == "query" else "Which?", session, 600)
    assert secret in made.formatted
    assert secret not in str(engine.explain("bakery"))


def test_an_open_session_and_one_opened_again_make_the_same_prompt_of_what_had_secrets(engine, talk, secret):
    session = talk(Turn(f"my token is {secret}"), Turn("Noted.", role="assistant"))
    again = Session(engine, "bakery", "c-1")
    one, other = (inject_context("What is my token?", each, 500).formatted for each in (session, again))
    assert one == other
    assert secret not in one


def test_another_session_and_another_workspace_know_nothing_of_it(engine, talk):
    talk(Turn("The oven is broken."))
    for other in (Session(engine, "bakery", "c-2"), Session(engine, "library", "c-1")):
        assert not other.state.turns
        assert not other.recall("Is the oven broken?", 1000).turns


def test_of_two_turns_that_say_the_same_the_order_tells_which_is_which(engine):
    session = Session(engine, "bakery", "c-1")
    first, second = session.add_all([Turn("Hello"), Turn("Hello")])
    third = session.add(Turn("Hello"))
    assert session.state.turns == (first, second, third)
    assert first.timestamp < second.timestamp < third.timestamp
    assert Session(engine, "bakery", "c-1").state.turns == session.state.turns


def test_a_turn_with_its_time_is_kept_once_however_often_it_is_added(engine, clock):
    session = Session(engine, "bakery", "c-1")
    said = Turn("Hello", timestamp=clock.now)
    assert session.add(said) == session.add(said)
    assert len(session.state.turns) == 1


def test_turns_with_ids_of_their_own_are_turns_of_their_own(engine, clock):
    session = Session(engine, "bakery", "c-1")
    both = [Turn("Hello", turn_id=name, timestamp=clock.now) for name in ("first", "second")]
    assert [turn.turn_id for turn in session.add_all(both)] == ["first", "second"]
    assert [turn.turn_id for turn in session.add_all(both)] == ["first", "second"]
    assert [turn.turn_id for turn in Session(engine, "bakery", "c-1").state.turns] == ["first", "second"]
    with pytest.raises(ValidationError, match="another item has the id 'first'; forget it first"):
        session.add(Turn("Goodbye", turn_id="first"))


def test_the_turns_of_one_conversation_can_be_added_to_another(engine, talk):
    said = talk(Turn("Hello"), Turn("Hi!", role="assistant")).state.turns
    other = Session(engine, "bakery", "c-2")
    other.add_all(said)
    other.add_all(said)
    assert [turn.text for turn in other.state.turns] == ["Hello", "Hi!"]
    assert not {turn.turn_id for turn in said} & {turn.turn_id for turn in other.state.turns}


def test_a_state_that_was_taken_does_not_change_with_later_turns(talk):
    state = talk(Turn("Anna Berg lives in Oslo.")).state
    names = [entity.canonical_name for entity in state.entity_registry.entities()]
    talk(Turn("Ben Weber lives in Bonn."))
    assert len(state.turns) == 1
    assert [entity.canonical_name for entity in state.entity_registry.entities()] == names


def test_turns_from_many_threads_are_all_kept(engine):
    session = Session(engine, "bakery", "c-1")
    threads = [threading.Thread(target=session.add, args=(Turn(f"turn {n}"),)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a turn was not added within a minute"
    assert {turn.text for turn in session.state.turns} == {f"turn {n}" for n in range(20)}
    assert len(Session(engine, "bakery", "c-1").state.turns) == 20


def test_what_was_forgotten_is_not_in_the_prompts_of_a_session_opened_again(engine, talk):
    session = talk(Turn("The alarm code is four blue birds."), Turn("Noted.", role="assistant"))
    inject_context("What is the alarm code?", session, 500)
    engine.forget("bakery", session.state.turns[0].turn_id)
    again = Session(engine, "bakery", "c-1")
    assert "blue birds" not in inject_context("What is the alarm code?", again, 500).formatted
    receipts = engine.store.count("bakery").receipts
    kept = [engine.explain("bakery")] if receipts else []
    assert all("blue birds" not in str(receipt.view) for receipt in kept)


def names_of(session):
    return {entity.canonical_name for entity in session.state.entity_registry.entities()}


@pytest.mark.parametrize("how", ["id", "session", "source"])
def test_what_was_forgotten_is_gone_from_an_open_session(engine, home, talk, how):
    said = [Turn(f"Something else about gardening, number {n}.") for n in range(30)]
    session = talk(Turn("Petra Novak keeps the word zanzibar.", name="Kim"), *said)
    question = "Which word does Petra Novak keep?"
    assert "zanzibar" in inject_context(question, session, 400).formatted
    if how == "id":
        engine.forget("bakery", session.state.turns[0].turn_id)
    elif how == "session":
        engine.forget("bakery", session="c-1")
    else:
        engine.forget("bakery", source="Kim")
    made = inject_context(question, session, 400)
    assert "zanzibar" not in made.formatted
    assert not session.resolve(question)
    assert "Petra Novak" not in names_of(session)
    assert len(session.state.turns) == (0 if how == "session" else 30)
    assert "zanzibar" not in str(engine.explain("bakery"))
    assert not on_disk(home, "zanzibar")


def test_what_was_forgotten_while_a_prompt_was_made_is_not_in_its_receipt(engine, home, talk):
    session = talk(Turn("The word is zanzibar."), Turn("Noted.", role="assistant"))
    recall = session.recall

    def forgetting(query, max_tokens):
        found = recall(query, max_tokens)
        engine.forget("bakery", found.turns[0][0].turn_id)
        return found

    session.recall = forgetting
    made = inject_context("What is the word?", session, 400)
    assert made.receipt.view is None
    assert engine.explain("bakery").view is None
    assert not on_disk(home, "zanzibar")


def test_a_turn_that_was_forgotten_and_said_again_under_its_id_is_known_as_it_is_now(engine):
    session = Session(engine, "bakery", "c-1")
    session.add_all([Turn("The oven is red.", turn_id="a"), Turn("Yes.", turn_id="b")])
    for gone in ("b", "a"):
        engine.forget("bakery", gone)
        Session(engine, "bakery", "c-1").add(Turn(f"Instead of {gone}.", turn_id=gone))
    assert [turn.text for turn in session.state.turns] == ["Instead of b.", "Instead of a."]


ELSEWHERE = """
import sys
from pathlib import Path
from foreword import ContextEngine, Session, Turn
from foreword.config import Settings
with ContextEngine(settings=Settings(home=Path(sys.argv[1]), embedding="none")) as engine:
    for gone in sys.argv[3:]:
        engine.forget("bakery", gone)
    Session(engine, "bakery", "c-1").add(Turn(sys.argv[2]))
"""


def test_an_open_session_knows_what_another_process_has_added_and_forgotten(engine, home, talk):
    session = talk(Turn("The word is zanzibar."), Turn("Noted.", role="assistant"))
    gone = session.state.turns[0].turn_id
    run = [sys.executable, "-c", ELSEWHERE, str(home)]
    subprocess.run([*run, "Carla Diaz says the word is heron."], check=True, timeout=120)
    assert session.state.turns[-1].text == "Carla Diaz says the word is heron."
    session.add(Turn("And now?"))
    assert "heron" in inject_context("Which word does Carla Diaz say?", session, 400).formatted
    subprocess.run([*run, "The word was changed.", gone], check=True, timeout=120)
    made = inject_context("What is the word?", session, 400)
    assert "zanzibar" not in made.formatted
    assert [turn.text for turn in session.state.turns] == [
        "Noted.",
        "Carla Diaz says the word is heron.",
        "And now?",
        "The word was changed.",
    ]


def test_two_open_sessions_of_one_conversation_know_the_turns_of_both_in_the_same_order(engine, talk):
    one, other = talk(Turn("first")), Session(engine, "bakery", "c-1")
    engine.remember("a note beside the conversation", "bakery", conversation="c-1")
    other.add(Turn("second"))
    one.add(Turn("third"))
    other.add(Turn("fourth"))
    again = Session(engine, "bakery", "c-1")
    assert [turn.text for turn in one.state.turns] == ["first", "second", "third", "fourth"]
    assert one.state.turns == other.state.turns == again.state.turns


@pytest.fixture
def hasty():
    """Threads take turns so often that whatever they can do to each other, they do."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("hasty")
def test_prompts_are_made_while_turns_are_added_and_forgotten(engine):
    session = Session(engine, "bakery", "c-1")
    people = [
        f"{given} {family}" for given in ("Anna", "Ben", "Petra") for family in ("Berg", "Lind", "Reed")
    ]
    done = threading.Event()

    def add(chance):
        for n in range(60):
            session.add(Turn(f"{chance.choice(people)} met {chance.choice(people)} about TK-{n} and x{n}.py"))

    def forget():
        for n in range(5):
            turn = session.add(Turn(f"Forget zanzibar {n}."))
            engine.forget("bakery", turn.turn_id, verify=False)

    def ask():
        while not done.is_set():  # which the main thread sees to within two minutes
            inject_context("What did Anna Berg say?", session, 800, keep=False).openai_messages()
            registry = session.state.entity_registry
            assert registry.active_count() <= len(registry.entities())

    with ThreadPoolExecutor() as threads:
        asking = [threads.submit(ask) for _ in range(2)]
        changing = [threads.submit(add, random.Random(n)) for n in range(2)] + [threads.submit(forget)]
        _, unfinished = wait(changing, timeout=120)
        done.set()
        assert not unfinished, "turns are still being added after two minutes"
        for each in (*changing, *asking):
            each.result(timeout=120)
    assert len(session.state.turns) == 120
    assert "zanzibar" not in str(session.state.turns)
    assert session.state.turns == Session(engine, "bakery", "c-1").state.turns


@pytest.mark.parametrize("name", ["", "\0", "x" * 5000, None])
def test_a_session_without_a_usable_name_is_refused(engine, name):
    with pytest.raises(ValidationError):
        Session(engine, "bakery", name)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"lane": "nope"}, "lane is one of fast, full, not 'nope'"),
        ({"lane": None}, "lane is one of fast, full"),
        ({"strategy": "Dynamic"}, r"strategy is Dynamic\(\)"),
        ({"agent_personality": "expert"}, r"agent_personality is Helpful\(\)"),
        ({"base_instructions": None}, "base_instructions must be text"),
        ({"user_preferences": "casual"}, "user_preferences is a UserPreferences"),
        ({"history": {"verbatim_turns": 3}}, "history must be HistoryFormatterConfig"),
        ({"entities": None}, "entities must be EntityContextConfig"),
        ({"rag": {}}, "rag must be RAGConfig"),
        ({"dialogue_summarizer": "short"}, r"has summarize\(turns, max_tokens\)"),
    ],
)
def test_a_session_that_makes_no_sense_is_refused_with_what_would(engine, wrong, what):
    with pytest.raises(ValidationError, match=what):
        Session(engine, "bakery", "c-1", **wrong)


@pytest.mark.parametrize(
    ("turn", "what"),
    [
        ("Hello", r"a turn is a Turn\('…'\), not str"),
        (Turn(None), "the raw_text of a turn must be text, not NoneType"),
        (Turn("x", role="bot"), "no role named 'bot'; there are: user, assistant, system, tool"),
        (Turn("x", corrected_text=5), "the corrected_text of a turn must be text"),
        (Turn("x", name=None), "the name of a turn must be text"),
        (Turn("x", speech_act="shouting"), "no speech act named 'shouting'"),
        (Turn("x", tool_calls="find"), "the tool_calls of a turn are a tuple of mappings"),
        (Turn("x", tool_calls=("find",)), "the tool_calls of a turn are a tuple of mappings"),
        (Turn("x", timestamp=NAIVE), "timestamp must be a datetime with a time zone"),
        (Turn("half \ud83d"), "lone surrogate"),
        (Turn(" "), "text is empty"),
    ],
)
def test_what_is_no_turn_is_refused_and_nothing_is_kept(engine, turn, what):
    session = Session(engine, "bakery", "c-1")
    with pytest.raises(ValidationError, match=what):
        session.add_all([Turn("before"), turn])
    assert not session.state.turns


# What was said more than once


UP = "Is the staging server up?"


def recalled_texts(session, query):
    return [turn.text for turn, _ in session.recall(query, 2_000).turns]


def test_an_exchange_that_was_repeated_word_for_word_is_recalled_once_as_it_was_last_said(engine, talk):
    for _ in range(11):
        session = talk(Turn(UP), Turn("Yes, the staging server came back.", role="assistant"))
    session = talk(Turn("The staging server costs 40 euros a month."))
    engine.embed_pending("bakery")
    texts = recalled_texts(session, "What do you know about the staging server?")
    assert (texts.count(UP), texts.count("Yes, the staging server came back.")) == (1, 1)
    assert "The staging server costs 40 euros a month." in texts
    last = {turn.turn_id for turn in session.state.turns[-3:]}
    assert {turn.turn_id for turn, _ in session.recall("the staging server", 2_000).turns} <= last


def test_a_question_that_was_answered_in_two_ways_is_recalled_with_both_answers(engine, talk):
    talk(Turn(UP), Turn("No, the staging server is broken.", role="assistant"))
    session = talk(Turn(UP), Turn("Yes, the staging server came back.", role="assistant"))
    engine.embed_pending("bakery")
    texts = recalled_texts(session, "What do you know about the staging server?")
    assert {"No, the staging server is broken.", "Yes, the staging server came back."} <= set(texts)
    assert texts.count(UP) == 2
