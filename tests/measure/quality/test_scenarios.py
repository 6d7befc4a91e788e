"""Scenarios are read, replayed through the doors of each recipe, scored and reported."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from foreword.config import Settings
from foreword.edges.cli.main import run
from foreword.engine.context_engine import ContextEngine
from foreword.errors import ValidationError
from foreword.spaces.base import ReplacementReader
from foreword.testing import FixedClock, HashEmbeddings
from foreword_measure.quality import scenarios as measured
from foreword_measure.quality.scenarios import measure_scenarios
from foreword_measure.quality.scenarios.baselines import answer_with_last_turns, answer_with_nearest
from foreword_measure.quality.scenarios.reading import Event, Scenario, read_scenarios
from foreword_measure.quality.scenarios.replay import (
    OneByOne,
    open_engine,
    replay_scenario,
    split_text_to_remember,
)
from foreword_measure.quality.scenarios.repository import Repository
from foreword_measure.quality.scenarios.scoring import MEASURES

DAY = "2026-02-0{}T09:{:02}:00Z"


def _event(day, minute, role, text="", **facts):
    return {"at": DAY.format(day, minute), "session": f"s{day}", "role": role, "text": text, **facts}


def _ask(name, day, minute, text="", **facts):
    return {"id": name, "at": DAY.format(day, minute), "session": f"s{day}", "text": text, **facts}


CODING = {
    "id": "booking",
    "title": "Booking for a practice",
    "language": "en",
    "recipe": "coding",
    "events": [
        _event(1, 0, "start"),
        _event(1, 1, "user", "We hold a slot for twelve minutes while the patient fills the form in."),
        _event(1, 2, "assistant", "Slots are held for twelve minutes; the limit is in booking.py."),
        _event(1, 3, "file", "def hold_slot(patient):\n    return reserve(patient, minutes=12)\n",
               path="booking.py"),
        _event(1, 4, "commit", "Hold slots while the form is filled in", files=["booking.py", "form.html"]),
        _event(1, 5, "tool", "2 failed, 5 passed: test_hold", tool="Bash", input="pytest booking", exit=1),
        _event(1, 6, "memory", "Marta signs off on what patients can see.", type="decision"),
        _event(1, 7, "compact"),
        _event(1, 8, "document", "# Rooms\n\nThe gym takes four people at once.", path="rooms.md"),
        _event(1, 9, "end"),
    ],
    "asks": [
        _ask("back", 2, 0, event="start", needs=[["twelve minutes"]]),
        _ask("hold", 2, 1, "How long do we hold a slot for a patient?", needs=[["twelve minutes"]],
             forbids=[["thirteen minutes"]], helps=[["booking.py"]], alert=False),
        {**_ask("dolphins", 2, 2, "zzyzx quokka flugelhorn?", silent=True), "session": "s3"},
    ],
}  # fmt: skip
CHAT = {
    "id": "cooking",
    "language": "fr",
    "recipe": "chat",
    "events": [
        _event(1, 0, "user", "Ines cannot have cashew nuts in her cake."),
        _event(1, 1, "assistant", "No cashew nuts for Ines."),
        _event(1, 2, "tool", "The oven is at 180 degrees.", tool="Oven", input="state"),
        _event(1, 3, "memory", "Recipes are in grams.", type="preference"),
    ],
    "asks": [_ask("cake", 2, 0, "Which nuts can Ines not have in a cake?", needs=[["cashew"]], budget=300)],
}
DIALOGUE = {
    "id": "support",
    "language": "en",
    "recipe": "dialogue",
    "events": [
        _event(1, 0, "document", "# Box\n\nTo reset the box, press it for 12 seconds.", path="box.md"),
        _event(1, 1, "document", "# Box\n\nTo reset the box, press it for 14 seconds.", path="box.md"),
        _event(1, 2, "user", "My box is dead since lunch."),
        _event(1, 3, "assistant", "Let us reset it."),
    ],
    "asks": [
        {**_ask("reset", 1, 4, "How do I reset the box?", needs=[["14 seconds"]], forbids=[["12 seconds"]],
                budget=900)}
    ],
}  # fmt: skip
ALL = [CODING, CHAT, DIALOGUE]


def _write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def scenario_file(tmp_path):
    return _write(tmp_path / "scenarios.jsonl", ALL)


@pytest.fixture
def measure_file(judge):
    """`measure_scenarios` without a model."""

    def measure(path, **options):
        told = {"progress": lambda *_: None, "provider": HashEmbeddings(), "reranker": judge}
        return measure_scenarios(path, **{**told, **options})

    return measure


@pytest.fixture
def replayed(tmp_path, judge):
    """Replays one scenario; gives its answers, and the engine to look into."""
    clock = FixedClock()
    settings = Settings(home=tmp_path / "replayed")
    with ContextEngine(
        embedding_provider=HashEmbeddings(), settings=settings, clock=clock, reranker=judge
    ) as engine:

        def answers(row):
            scenario = read_scenarios(_write(tmp_path / "one.jsonl", [row]))[0]
            return replay_scenario(scenario, engine, clock, tmp_path / "repositories" / scenario.id), engine

        yield answers


# Reading


def test_a_file_gives_its_scenarios_in_order_of_time(tmp_path):
    late_first = {**CHAT, "events": CHAT["events"][::-1]}
    one, two = read_scenarios(_write(tmp_path / "two.jsonl", [late_first, DIALOGUE]))
    assert [event.at for event in one.events] == sorted(event.at for event in one.events)
    assert (one.language, one.recipe, one.asks[0].budget) == ("fr", "chat", 300)
    assert two.asks[0].needs == (("14 seconds",),)
    assert len(read_scenarios(tmp_path / "two.jsonl", 1)) == 1


def test_an_ask_comes_after_every_event_that_is_not_later(tmp_path):
    row = {**CHAT, "asks": [_ask("now", 1, 1, "and now?")]}
    happenings = read_scenarios(_write(tmp_path / "one.jsonl", [row]))[0].in_order()
    assert [getattr(one, "role", "ask") for one in happenings] == [
        "user", "assistant", "ask", "tool", "memory",
    ]  # fmt: skip


def test_the_kind_of_an_ask_follows_from_what_it_wants(scenario_file):
    kinds = {ask.id: ask.kind for scenario in read_scenarios(scenario_file) for ask in scenario.asks}
    assert kinds == {
        "back": "start", "hold": "forbids", "dolphins": "silent", "cake": "plain", "reset": "forbids",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{", "line 2: not JSON"),
        ("[]", "line 2: not a JSON object"),
        ({**CHAT, "recipe": "poetry"}, "line 2: no recipe 'poetry'; there are: coding, chat, dialogue"),
        ({**CHAT, "events": {}}, "line 2: 'events' must be a list"),
        ({**CHAT, "events": [3]}, "line 2, events 1: not a JSON object"),
        ({**CHAT, "events": [_event(1, 0, "wizard")]}, "events 1: no role 'wizard' in the recipe chat"),
        ({**CHAT, "events": [_event(1, 0, "commit", "x")]}, "no role 'commit' in the recipe chat"),
        ({**CHAT, "events": [{**_event(1, 0, "user", "x"), "at": "monday"}]}, "'at' must be a time with its"),
        (
            {**CHAT, "events": [{**_event(1, 0, "user", "x"), "at": "2026-01-01T10:00"}]},
            "'at' must be a time",
        ),
        ({**CHAT, "events": [_event(1, 0, "user")]}, "'text' must be a text that is not empty"),
        ({**CHAT, "events": [_event(1, 0, "user", 3)]}, "'text' must be a text"),
        ({**CODING, "events": [_event(1, 0, "file", "x", path="../x")]}, "'path' must be a path inside"),
        ({**CODING, "events": [_event(1, 0, "file", "x", path=".git/config")]}, "'path' must be a path"),
        ({**CODING, "events": [_event(1, 0, "commit", "x", files="a")]}, "'files' must be a list of paths"),
        ({**CODING, "events": [_event(1, 0, "tool", "x", tool="Bash", exit="1")]}, "'exit' must be a whole"),
        ({**CHAT, "asks": [_ask("a", 2, 0)]}, "line 2, asks 1: 'text' must be a text"),
        ({**CHAT, "asks": [_ask("a", 2, 0, event="start")]}, "'event' can only be"),
        ({**CHAT, "asks": [_ask("a", 2, 0, "x", needs=["y"])]}, "'needs' must be a list of facts"),
        ({**CHAT, "asks": [_ask("a", 2, 0, "x", silent="yes")]}, "'silent' must be true or false"),
        ({**CHAT, "asks": [_ask("a", 2, 0, "x", budget=0)]}, "'budget' must be at least 1"),
        (DIALOGUE, "two scenarios have the id 'support'"),
        ({**DIALOGUE, "id": "more"}, "two asks have the id 'reset'"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(tmp_path, row, problem):
    path = tmp_path / "bad.jsonl"
    line = row if isinstance(row, str) else json.dumps(row)
    path.write_text(f"{json.dumps(DIALOGUE)}\n{line}\n", encoding="utf-8")
    with pytest.raises(ValidationError) as error:
        read_scenarios(path)
    assert str(error.value).startswith(str(path))
    assert problem in str(error.value)


def test_a_missing_and_an_empty_file_are_errors(tmp_path):
    with pytest.raises(ValidationError, match="give a file of JSON lines"):
        read_scenarios(tmp_path / "nowhere.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(ValidationError, match="holds no scenario"):
        read_scenarios(tmp_path / "empty.jsonl")


# Replaying


def test_hooks_tell_what_an_agent_did_and_answer_its_prompts(replayed, tmp_path):
    answers, engine = replayed(CODING)
    assert set(answers) == {"back", "hold", "dolphins"}
    assert "twelve minutes" in answers["back"].text
    assert answers["dolphins"].text == ""
    workspace = str((tmp_path / "repositories" / "booking").resolve())
    items = {item.kind: [] for item in engine.store.scan(workspace)}
    for item in engine.store.scan(workspace):
        items[item.kind].append(item)
    texts = [item.text for item in items["turn"]]
    assert "We hold a slot for twelve minutes while the patient fills the form in." in texts
    assert any(text.startswith("$ pytest booking\nexit 1\n2 failed") for text in texts)
    assert "How long do we hold a slot for a patient?" in texts
    assert [item.type for item in items["memory"] if "Marta" in item.text] == ["decision"]
    assert any("hold_slot" in item.text for item in items["code"])
    assert any("gym" in item.text for item in items["document"])
    assert [item.text for item in items["commit"]] == [
        "Hold slots while the form is filled in\n\nfiles: booking.py, form.html"
    ]


def test_what_is_stored_has_the_times_of_the_scenario(replayed):
    days = {datetime(2026, 2, day, tzinfo=UTC).date() for day in (1, 2)}
    for row in ALL:
        _, engine = replayed(row)
    workspaces = engine.store.workspaces()
    assert len(workspaces) == 3
    for workspace in workspaces:
        assert {item.created_at.date() for item in engine.store.scan(workspace)} <= days


def test_the_pieces_of_a_hook_s_text_are_its_entries():
    text = (
        "<foreword-context>\n## Relevant Context\n\n### Recent Related Work\n- **1 day ago**: one\n- two\n"
        "  more\n\n### Note: Activity Shift Detected\nYour query\nRecent context: x\n</foreword-context>"
    )
    assert split_text_to_remember(text) == (
        "- **1 day ago**: one", "- two\n  more", "Your query\nRecent context: x",
    )  # fmt: skip
    assert split_text_to_remember("") == ()


def test_every_injected_item_of_a_hook_is_a_piece(replayed):
    answers, engine = replayed({**CODING, "asks": CODING["asks"][1:2]})
    workspace = next(iter(engine.store.workspaces()))
    receipt = engine.explain(workspace)
    assert receipt.query == CODING["asks"][1]["text"]
    assert len(answers["hold"].pieces) == len(receipt.injected_entries) > 0
    assert all(piece in answers["hold"].text for piece in answers["hold"].pieces)


def test_a_shift_of_subject_is_an_alert(replayed, monkeypatch):
    monkeypatch.setattr(
        "foreword.recipes.coding.companion.DivergenceDetector.detect",
        lambda self, query, recent, now, **_: _alert(recent) if "hold" in query else None,
    )
    asks = [_ask("shift", 1, 10, "How long do we hold a slot?"), _ask("none", 1, 11, "Who signs off?")]
    answers, _ = replayed({**CODING, "events": CODING["events"][:-1], "asks": asks})
    assert (answers["shift"].alert, answers["none"].alert) == (True, False)


def _alert(recent):
    from foreword.recall.divergence import DivergenceAlert

    fields = DivergenceAlert.__dataclass_fields__
    known = {"memory_id": recent[-1].id, "space": "semantic", "summary": "slots", "similarity": 0.1}
    rest = {name: 0.9 for name in fields if name not in known}
    return DivergenceAlert(**known, **rest)


def test_the_encoder_reads_one_text_at_a_time():
    read = []

    class Noted(HashEmbeddings):
        def embed(self, text):
            read.append(text)
            return super().embed(text)

    encoder = OneByOne(Noted())
    assert encoder.embed_batch(["one", "two"]) == HashEmbeddings().embed_batch(["one", "two"])
    assert read == ["one", "two"]
    assert (encoder.model, encoder.dimensions) == ("hash", 64)


def test_a_chat_gets_a_context_in_the_ask_s_budget(replayed):
    answers, engine = replayed(CHAT)
    answer = answers["cake"]
    assert "cashew" in answer.text
    assert answer.alert is None
    assert answer.pieces
    assert all(piece in answer.text for piece in answer.pieces)
    assert engine.explain("cooking").budget == 300
    sources = {item.source.trust for item in engine.store.scan("cooking")}
    assert sources == {"user", "agent", "tool"}


def test_a_dialogue_gets_a_prompt_and_its_question_is_no_piece(replayed):
    answers, engine = replayed(DIALOGUE)
    answer = answers["reset"]
    assert "14 seconds" in answer.text
    assert "12 seconds" not in answer.text
    assert "How do I reset the box?" not in answer.text
    assert any("My box is dead" in piece for piece in answer.pieces)
    assert engine.explain("support").budget == 900


def test_a_file_that_a_commit_names_but_nobody_wrote_is_changed_all_the_same(tmp_path):
    repository = Repository(tmp_path / "repo")
    first = datetime(2026, 2, 1, 9, 0, tzinfo=UTC)
    for number in range(2):
        at = first + timedelta(days=number)
        repository.change(Event(at, "commit", text=f"change {number}", files=("a/b.py",)))
    repository.change(Event(at, "commit", text="nothing changed"))
    command = ["git", "-C", str(repository.folder), "log", "--format=%s %cI", "--name-only"]
    log = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout.split("\n")
    assert [line for line in log if line] == [
        "nothing changed 2026-02-02T09:00:00+00:00",
        "change 1 2026-02-02T09:00:00+00:00", "a/b.py",
        "change 0 2026-02-01T09:00:00+00:00", "a/b.py",
    ]  # fmt: skip


def test_without_git_the_error_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValidationError, match="git is not installed"):
        Repository(tmp_path / "repo")


def test_what_git_refuses_is_an_error(tmp_path):
    repository = Repository(tmp_path / "repo")
    with pytest.raises(ValidationError, match="git commit failed"):
        repository.change(Event(datetime(2026, 2, 1, tzinfo=UTC), "commit", text="\n"))


# Baselines


def _spoken(count):
    start = datetime(2026, 2, 1, tzinfo=UTC)
    return tuple(
        Event(start + timedelta(minutes=number), ("user", "assistant")[number % 2], "s", f"word{number}")
        for number in range(count)
    )


def test_the_plain_answers_come_from_what_was_before_the_ask(tmp_path):
    asks = read_scenarios(_write(tmp_path / "one.jsonl", [CODING]))[0].asks
    scenario = Scenario("x", "", "en", "coding", _spoken(12), asks)
    last = answer_with_last_turns(scenario)["hold"]
    assert last.pieces == tuple(f"word{number}" for number in range(2, 12))
    later = Event(asks[-1].at + timedelta(days=1), "user", "s", "How long do we hold a slot for a patient?")
    near = Event(scenario.events[0].at, "user", "s", "we hold a slot")
    extended = Scenario("x", "", "en", "coding", (near, *scenario.events, later), asks)
    nearest = answer_with_nearest(extended, HashEmbeddings())
    assert nearest["hold"].pieces[0] == "we hold a slot"
    assert len(nearest["hold"].pieces) == 5
    assert later.text not in nearest["hold"].pieces
    assert nearest["back"].pieces == tuple(f"word{number}" for number in range(7, 12))


# The report and the command line


def test_the_report_has_every_run_by_recipe_language_and_kind(scenario_file, measure_file, tmp_path):
    seen = []
    report = measure_file(scenario_file, progress=lambda *step: seen.append(step))
    assert (seen[0], seen[-1]) == (("scenarios", 0, 3), ("scenarios", 3, 3))
    assert (report.data["scenarios"], report.data["asks"]) == (3, 5)
    assert set(report.data["by_recipe"]) == {"all", "coding", "chat", "dialogue"}
    assert set(report.data["by_language"]) == {"all", "en", "fr"}
    assert set(report.data["by_kind"]) == {"all", "forbids", "plain", "silent", "start"}
    ours = report.data["by_recipe"]["all"][measured.OURS]
    assert (ours["asks"], ours["found"], ours["silent"]) == (5, 1.0, 1.0)
    assert set(ours) == {"asks", *MEASURES}
    assert set(report.data["by_recipe"]["chat"]) == {measured.OURS, measured.NEAREST, measured.LAST}
    for table in report.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
    json.dumps(report.as_json())


def test_baselines_can_be_left_out_and_the_first_scenarios_alone_be_replayed(scenario_file, measure_file):
    report = measure_file(scenario_file, baselines=False, limit=1)
    assert set(report.data["by_recipe"]) == {"all", "coding"}
    assert set(report.data["by_recipe"]["all"]) == {measured.OURS}


def test_answers_that_cannot_be_written_are_an_error_before_anything_is_replayed(
    scenario_file, measure_file, tmp_path
):
    with pytest.raises(ValidationError, match="cannot write the answers to"):
        measure_file(scenario_file, outputs=tmp_path / "no" / "folder")


def test_the_command_prints_tables_and_writes_the_answers(scenario_file, tmp_path, capsys):
    outputs = tmp_path / "answers.jsonl"
    assert run(["eval", "--scenarios", str(scenario_file), "--outputs", str(outputs), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["data"]["by_recipe"]["all"]["foreword"]["found"] == 1.0
    lines = [json.loads(line) for line in outputs.read_text(encoding="utf-8").splitlines()]
    assert [line["ask"] for line in lines] == ["back", "hold", "dolphins", "cake", "reset"]
    assert all(set(line) == {"ask", "text", "pieces", "alert"} for line in lines)
    assert run(["eval", "--scenarios", str(scenario_file), "--limit", "1", "--no-baselines"]) == 0
    shown = capsys.readouterr().out
    assert "scenarios.jsonl: 1 scenarios, 3 asks, by recipe" in shown
    assert "five nearest  " not in shown


def test_the_command_says_what_is_wrong(tmp_path, capsys):
    assert run(["eval", "--scenarios", str(tmp_path / "none.jsonl")]) == 2
    assert "cannot read" in capsys.readouterr().err
    assert run(["eval", "--entities", "--outputs", "answers.jsonl"]) == 2
    assert "--scenarios FILE" in capsys.readouterr().err


# The real thing


@pytest.mark.slow
def test_our_scores_are_those_of_the_script_beside_the_scenarios(scenario_data, tmp_path):
    script = scenario_data.parents[1] / "tools" / "useful"
    if not script.is_file():
        pytest.skip(f"no {script}, which scores answers on its own")
    lines = (scenario_data / "scenarios.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    chosen = [
        next(row for row in rows if row["recipe"] == recipe) for recipe in ("coding", "chat", "dialogue")
    ]
    path, outputs = _write(tmp_path / "some.jsonl", chosen), tmp_path / "answers.jsonl"
    report = measure_scenarios(path, outputs=outputs, baselines=False, progress=lambda *_: None)
    command = [sys.executable, str(script), str(path), str(outputs), "--by", "recipe", "--short"]
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    for line in told.splitlines():
        group, _, rest = line.partition(" ")
        theirs = json.loads(rest.rpartition(" asks ")[0])
        ours = report.data["by_recipe"][group]["foreword"]
        assert {name: round(ours[name], 3) for name in theirs} == theirs


@pytest.mark.reader
@pytest.mark.parametrize(("part", "reads", "compares"), [
    ("reader", False, False),
    ("replacements", True, False),
    ("trigram", True, True),
])  # fmt: skip
def test_a_replay_can_do_without_a_part(part, reads, compares, tmp_path):
    with open_engine(tmp_path, FixedClock(), HashEmbeddings(), without=(part,)) as engine:
        assert (engine.reader is not None) is reads
        assert isinstance(engine.reader, ReplacementReader) is compares
