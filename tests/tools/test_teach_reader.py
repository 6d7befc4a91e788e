"""The parts of the reader's teaching that need no torch; those that need onnx are skipped without it."""

from __future__ import annotations

import importlib
import json
import math
import random
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from foreword.spaces.bundled import (
    MINILM,
    VOCABULARY,
    WEIGHTS,
    WORDPIECE,
    model_folder,
    pad_rows,
    read_model_file,
    start_inference_session,
)
from foreword.spaces.reader import READER
from foreword.testing import HashEmbeddings
from foreword_measure.quality.scenarios.reading import read_scenarios

REPOSITORY = Path(__file__).parents[2]
LESSONS = REPOSITORY / "measure" / "lessons"
SCENARIOS = REPOSITORY / "measure" / "scenarios"
PARAPHRASES = REPOSITORY / "measure" / "paraphrases.jsonl"


class Encoder(HashEmbeddings):
    def embed_query(self, text):
        return self.embed(text)


@pytest.fixture(autouse=True)
def tools(monkeypatch):
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools"))


@pytest.fixture
def data():
    return importlib.import_module("reader_data")


@pytest.fixture
def teach():
    return importlib.import_module("teach_reader")


@pytest.fixture(scope="module")
def tokenizer():
    found = Tokenizer.from_str(read_model_file(WORDPIECE, VOCABULARY).decode())
    found.no_truncation()
    found.no_padding()
    return found


def _told(number, text, day=0, who="user", kind="fact"):
    return {"n": number, "who": who, "day": day, "text": text, "type": kind}


GIVEN = {
    "id": "t-01",
    "domain": "a bakery",
    "language": "en",
    "statements": [
        _told(1, "The oven timer runs for 25 minutes", -9, kind="decision"),
        _told(2, "Which oven?", -9, "agent", "question"),
        _told(3, "Flour comes from the mill in Ely", -5),
        _told(4, "The oven timer runs for 30 minutes", -2, kind="decision"),
        _told(5, "Thirty minutes on the oven timer", -1, "memory"),
        _told(6, "Sam is on holiday", 0),
    ],
    "prompts": [
        {"text": "how long do loaves bake?", "needs": [4], "helps": [5], "outdated": [1]},
        {"text": "write a poem", "needs": [], "helps": [], "outdated": []},
    ],
    "replaces": [[4, 1]],
    "same": [[4, 5]],
}


@pytest.fixture
def history(data, tokenizer):
    return data.read_history(GIVEN, tokenizer, Encoder())


def _words(tokenizer, tokens):
    return tokenizer.decode(tokens)


@pytest.mark.parametrize("who", ["user", "agent", "tool", "file", "commit", "memory"])
def test_a_line_says_who_spoke(data, who):
    assert data.describe(_told(1, "Bake it", -12, who)) == f"{who}, 12 days ago: Bake it"


@pytest.mark.parametrize(("day", "age"), [(0, "today"), (-1, "yesterday"), (-2, "2 days ago")])
def test_a_line_says_when(data, day, age):
    assert data.describe(_told(1, "Bake it", day)) == f"user, {age}: Bake it"


def test_what_came_before_is_of_the_same_day_and_of_a_talk(data):
    question = _told(1, "Which oven?", -3, "agent")
    assert data.describe_before(_told(2, "the left one", -3), question) == "(after agent: Which oven?)"
    assert not data.describe_before(_told(2, "the left one", -2), question)
    assert not data.describe_before(_told(2, "oven.toml", -3, "file"), question)
    assert not data.describe_before(_told(2, "the left one", -3), None)


def test_later_lines_are_about_the_same_and_nearest_first(data):
    first, _, flour, *_ = data.describe_later(GIVEN["statements"])
    assert first == [
        "(later, 2 days ago, user: The oven timer runs for 30 minutes",
        "(later, yesterday, memory: Thirty minutes on the oven timer",
    ]
    assert flour == []


def test_statements_that_are_near_in_meaning_are_compared_with_their_labels(data, history):
    assert (4, 1) in history.near
    assert all(later > earlier for later, earlier in history.near)
    labels = [what for _, what in data.compare_near(history)]
    assert len(labels) == len({*history.near, *history.related})
    assert labels.count(data.REPLACES) == labels.count(data.SAME) == 1
    assert not history.is_talk


def _pair(older, newer, **more):
    return {"older": _told(0, older, -9), "newer": _told(0, newer) | {"prev": None}, "label": "adds", **more}


def test_a_newer_statement_is_put_beside_like_ones_of_other_pairs(data, tokenizer):
    pairs = [
        _pair("The oven timer runs for 25 minutes", "The oven timer runs for 30 minutes now"),
        _pair("The oven timer in the cellar runs long", "Flour is here"),
        _pair("Sam is on holiday", "Sam is back"),
    ]
    rows = [_words(tokenizer, row[0]) for row in data.pair_with_strangers(pairs, tokenizer, Encoder())]
    assert any("30 minutes now" in row and "in the cellar" in row for row in rows)
    assert not any("30 minutes now" in row and "25 minutes" in row for row in rows)
    assert data.pair_with_strangers([], tokenizer, Encoder()) == []


def test_a_long_prompt_keeps_its_two_ends(data):
    assert data.cut_prompt(list(range(96))) == list(range(96))
    assert data.cut_prompt(list(range(300))) == [*range(48), *range(252, 300)]


def test_a_row_holds_prompt_statement_and_context(data, history, tokenizer):
    prompt, statement = history.prompts[0], history.statements[0]
    tokens, segments = data.pair_row(prompt, statement, before=True, later=True)
    assert _words(tokenizer, tokens[: segments.index(1)]) == "how long do loaves bake?"
    said = _words(tokenizer, tokens[segments.index(1) :])
    assert said.startswith("user, 9 days ago : the oven timer runs for 25 minutes ( later, 2 days ago")
    bare, _ = data.pair_row(prompt, statement)
    assert len(bare) == len(tokens) - len(statement.later)
    assert len(tokens) == len(segments)


def test_pairs_teach_what_is_needed_and_what_is_outdated(data, history):
    pairs = data.make_pairs([history], None, 3, random.Random(1))
    taught = {one.statement.number: (one.answers, one.weight) for one in pairs[: len(history.statements)]}
    assert taught == {4: (1.0, 1.5), 5: (1.0, 0.8), 1: (0.0, 1.5), 2: (0, 1), 3: (0, 1), 6: (0, 1)}
    assert not any(one.answers for one in pairs[len(history.statements) :])


def test_statements_of_other_histories_are_noise(data, history, tokenizer):
    other = data.read_history(GIVEN, tokenizer, Encoder())
    pairs = data.make_pairs([history, *[other] * 20], 0, 2, random.Random(3))
    foreign = [one for one in pairs if one.prompt in history.prompts and one.statement in other.statements]
    assert foreign
    assert {(one.answers, one.weight) for one in foreign} == {(0.0, 1.0)}


def test_of_a_small_history_all_statements_are_taken(data, history, tokenizer):
    alone = {
        "statements": GIVEN["statements"][:1],
        "prompts": GIVEN["prompts"][1:],
        "replaces": [],
        "same": [],
    }
    small = data.read_history(alone, tokenizer, Encoder())
    pairs = data.make_pairs([history, *[small] * 20], 0, 5, random.Random(3))
    foreign = [one for one in pairs if one.prompt in history.prompts and one.statement in small.statements]
    assert len(foreign) == len(history.prompts)


def test_what_the_user_said_stands_for_prompts(data, history, tokenizer):
    rows = data.make_said_rows([history])
    asked = {_words(tokenizer, tokens[: segments.index(1)]) for tokens, segments in rows}
    assert asked == {"the oven timer runs for 25 minutes", "the oven timer runs for 30 minutes"}
    assert len(rows) == len(asked) * (len(history.statements) - 1)


def _halves(tokenizer, row):
    tokens, segments = row
    at = segments.index(1)
    return _words(tokenizer, tokens[:at]), _words(tokenizer, tokens[at:])


def test_the_newer_statement_comes_first(data, history, tokenizer):
    made = data.make_comparisons([history], 1, 1, random.Random(1))
    assert {_halves(tokenizer, row): what for row, what in made if what} == {
        (
            "user, 2 days ago : the oven timer runs for 30 minutes",
            "user, 9 days ago : the oven timer runs for 25 minutes",
        ): data.REPLACES,
        (
            "memory, yesterday : thirty minutes on the oven timer",
            "user, 2 days ago : the oven timer runs for 30 minutes",
        ): data.SAME,
    }
    assert [what for _, what in made].count(data.NEITHER) == 2


def test_every_pair_of_a_history_is_tested_once(data, history):
    made = data.compare_all(history)
    assert len(made) == 6 * 5 // 2
    assert sorted(what for _, what in made if what) == [data.REPLACES, data.SAME]


def test_a_pair_alone_is_read_with_the_line_before_it(data, history, tokenizer):
    older = {"who": "user", "day": -9, "text": "the demo is on Wednesday"}
    newer = {"who": "user", "day": -2, "text": "no, Thursday", "prev": ["agent", "Wednesday it is."]}
    row, what = data.read_comparison({"older": older, "newer": newer, "label": "replaces"}, tokenizer)
    assert what == data.REPLACES
    assert _halves(tokenizer, row) == (
        "user, 2 days ago : no, thursday ( after agent : wednesday it is. )",
        "user, 9 days ago : the demo is on wednesday",
    )
    _, what = data.read_comparison(
        {"older": older, "newer": newer | {"prev": None}, "label": "adds"}, tokenizer
    )
    assert what == data.NEITHER


def test_histories_and_pairs_are_read_from_their_folders(data, tokenizer, tmp_path):
    (tmp_path / data.PAIRS_FOLDER).mkdir()
    (tmp_path / "h1.jsonl").write_text(json.dumps(GIVEN) + "\n")
    said = {"who": "user", "day": 0, "text": "yes", "prev": None}
    pair = {"older": said, "newer": said, "label": "same"}
    (tmp_path / data.PAIRS_FOLDER / "p1.jsonl").write_text(f"{json.dumps(pair)}\n" * 3)
    files = data.find_files([tmp_path])
    assert [path.stem for path in files] == ["h1", "p1"]
    lessons = data.read_lessons(files, tokenizer, Encoder())
    assert (len(lessons.histories), len(lessons.comparisons)) == (1, 3)


def test_a_test_that_is_not_there_is_named(teach, tmp_path):
    (tmp_path / "h1.jsonl").touch()
    with pytest.raises(SystemExit, match="no h2 among h1"):
        teach.read_all([tmp_path], ["h1", "h2"])


def _judged(data, teach, logits, needs=(), outdated=()):
    prompt = data.Prompt([], frozenset(needs), frozenset(), frozenset(outdated), frozenset())
    return teach.JudgedPrompt(prompt, dict(enumerate(logits, 1)))


def test_what_is_told_is_measured(data, teach):
    prompts = [
        _judged(data, teach, [3, 2, -5], needs=[1, 3], outdated=[2]),
        _judged(data, teach, [1, -9]),
        _judged(data, teach, [-4, -9]),
    ]
    assert teach.measure(prompts, 0) == teach.Scores(0.5, 0.5, 1.0, 0.5)
    wanted, least, scores = list(teach.curve(prompts))[-1]
    assert wanted == 0.95
    assert 0 < least < 1
    assert scores.silent == 0.5


def test_no_more_than_five_are_told(data, teach):
    crowd = _judged(data, teach, [9, 8, 7, 6, 5, 4], needs=[1, 6])
    assert teach.measure([crowd], 0) == teach.Scores(0.5, 0.8, 0.0, 0.0)
    assert [teach.recall([crowd], most) for most in (1, 5, 6)] == [0.5, 0.5, 1.0]


def test_prompts_are_judged_with_all_statements_of_their_history(teach, history):
    judged = teach.judge_prompts([history], lambda rows, _: np.arange(len(rows), dtype=float)[:, None])
    assert [one.logits[1] for one in judged] == [0.0, 6.0]
    assert [one.wants_silence for one in judged] == [False, True]


def test_replacements_are_measured_by_their_probability(data, teach):
    pairs = [(([], []), what) for what in (data.REPLACES, data.REPLACES, data.SAME, data.NEITHER)]
    chances = np.array([0.9, 0.25, 0.6, 0.1])
    judge = lambda rows, _: np.stack([1 - chances, chances, 0 * chances], axis=1)  # noqa: E731
    assert list(teach.measure_replacements(pairs, judge)) == [
        (0.2, pytest.approx(2 / 3), 1.0),
        (0.3, 0.5, 0.5),
        (0.5, 0.5, 0.5),
        (0.7, 1.0, 0.5),
    ]
    assert not list(teach.measure_replacements([], judge))


@pytest.mark.parametrize("missing", ["torch", "onnx"])
def test_without_torch_or_onnx_it_says_what_to_install(teach, monkeypatch, missing):
    arguments = ["teach_reader.py", "--lessons", str(LESSONS), "--test", "h9", "--out", "r.onnx"]
    monkeypatch.setattr(sys, "argv", arguments)
    for name in ("reader_teaching", "reader_weights"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(SystemExit, match=r"is missing: pip install '\.\[teach\]'"):
        teach.main()


# The lessons themselves -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(LESSONS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_lesson_is_well_formed_and_counted(path, data):
    histories = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for history in histories:
        told = history["statements"]
        assert [one["n"] for one in told] == list(range(1, len(told) + 1))
        assert {one["type"] for one in told} <= set(data.TYPES)
        assert sorted(told, key=lambda one: one["day"]) == told
        for prompt in history["prompts"]:
            named = [*prompt["needs"], *prompt["helps"], *prompt["outdated"]]
            assert len(set(named)) == len(named)
            assert set(named) <= set(range(1, len(told) + 1))
        assert all(later > earlier for later, earlier in history["replaces"])
    prompts = [one for history in histories for one in history["prompts"]]
    silent = sum(not one["needs"] and not one["helps"] for one in prompts)
    counts = [len(histories), sum(len(one["statements"]) for one in histories), len(prompts), silent]
    row = re.search(rf"^\| `{path.stem}` \|.*$", (LESSONS / "README.md").read_text(), re.MULTILINE)
    assert row, f"{path.name} is not in the table"
    assert _numbers(row[0].split("|", 3)[3])[:4] == counts


@pytest.mark.parametrize("path", sorted(LESSONS.glob("pairs/*.jsonl")), ids=lambda path: path.stem)
def test_every_pair_is_well_formed_and_counted(path, data, tokenizer):
    pairs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for pair in pairs:
        assert pair["older"]["day"] <= pair["newer"]["day"] <= 0
        assert data.read_comparison(pair, tokenizer)
    counts = [
        sum(one["label"] == label for one in pairs) for label in ("replaces", "same", "adds", "unrelated")
    ]
    row = re.search(rf"^\| `{path.stem}` \|.*$", (LESSONS / "README.md").read_text(), re.MULTILINE)
    assert row, f"{path.name} is not in the table"
    assert _numbers(row[0].split("|", 3)[3]) == [len(pairs), *counts]


def test_the_other_scenarios_can_be_read_and_are_counted():
    scenarios = read_scenarios(SCENARIOS / "another.jsonl")
    asks = [ask for scenario in scenarios for ask in scenario.asks]
    page = (SCENARIOS / "README.md").read_text()
    assert f"{len(scenarios)} scenarios with {len(asks)} asks" in page


def test_half_of_the_paraphrases_are_answered():
    lines = [json.loads(line) for line in PARAPHRASES.read_text(encoding="utf-8").splitlines()]
    assert all(one["memory"] and one["question"] for one in lines)
    assert sorted(one["answers"] for one in lines) == [False] * 40 + [True] * 40


def _numbers(text):
    return [int(number.replace(",", "")) for number in re.findall(r"\b\d[\d,]*\b", text)]


# The weights ----------------------------------------------------------------------------------------------

PUBLISHED = model_folder(MINILM.name) / WEIGHTS


@pytest.fixture(scope="module")
def published():
    pytest.importorskip("onnx", reason="onnx is needed for weights: pip install '.[teach]'")
    sys.path.insert(0, str(REPOSITORY / "tools"))
    try:
        return importlib.import_module("reader_weights").read_weights(PUBLISHED)
    finally:
        sys.path.remove(str(REPOSITORY / "tools"))


@pytest.fixture
def taught(published):
    """A published model, as if it had been taught to compare statements too."""
    weights = importlib.import_module("reader_weights")
    found = weights.keep_layers(published, range(weights.LAYERS))
    chance = np.random.default_rng(0)
    heads = {"relations": 3, "glance": 1, "glance_pool": 384}
    for head, width in heads.items():
        found[f"{head}.weight"] = chance.normal(size=(width, 384)).astype(np.float32)
        found[f"{head}.bias"] = np.arange(width, dtype=np.float32) * (head == "relations")
    return found


@pytest.fixture
def read(taught, tmp_path):
    """A function that runs the written graph: what it says of some statements, read after a question."""
    importlib.import_module("reader_graph").write_model(taught, 3, tmp_path / "reader.onnx")
    session = start_inference_session(tmp_path / "reader.onnx", 1)

    def run(question, *statements, most=9):
        tokens, mask = pad_rows(statements)
        inputs = {"question": np.array(question), "statements": tokens, "mask": mask}
        return session.run(None, inputs | {"most": np.array([most])})

    return run


QUESTION = [2129, 2146, 2079, 27592, 8670, 102]
STATEMENTS = [[101, 1996, 17428, 25309, 102], [101, 2274, 2781, 2012, 3263, 5445, 1012, 102]]


def test_the_graph_computes_what_the_weights_say(taught, read):
    helps, relations = read(QUESTION, *STATEMENTS)
    for at, statement in enumerate(STATEMENTS):
        wanted = _read_in_floats(taught, QUESTION, statement)
        assert helps[at] == pytest.approx(wanted["helps"], abs=0.15)
        assert relations[at] == pytest.approx(wanted["relations"], abs=0.5)


def test_only_the_statement_that_looks_best_at_a_glance_is_read_on(taught, read):
    glances = [_read_in_floats(taught, QUESTION, one, layers=3)["glance"][0] for one in STATEMENTS]
    best, other = (1, 0) if glances[1] > glances[0] else (0, 1)
    alone, together = read(QUESTION, STATEMENTS[best])[0], read(QUESTION, *STATEMENTS, most=1)[0]
    assert together[best] == pytest.approx(alone[0], abs=0.5)
    assert together[other] == pytest.approx(min(glances[other], together[best][0]), abs=0.5)


def test_a_statement_is_judged_alike_whatever_is_read_beside_it(read):
    together = read(QUESTION, *STATEMENTS)[1]
    for at, statement in enumerate(STATEMENTS):
        assert read(QUESTION, statement)[1][0] == pytest.approx(together[at], abs=0.5)


def test_another_question_is_judged_otherwise(read):
    one, other = (read(question, STATEMENTS[1])[1] for question in (QUESTION, [2073, 102]))
    assert np.abs(one - other).max() > 2


def test_matrices_are_rounded_by_column():
    pytest.importorskip("onnx", reason="onnx is needed for weights: pip install '.[teach]'")
    graph = importlib.import_module("reader_graph")
    # A large column takes nothing from others.
    values = np.array([[0.01, 1000.0], [-0.02, 500.0]], np.float32)
    numbers, scale = graph._quantize(values, axis=0)
    assert (np.abs(numbers * scale - values) <= np.abs(values).max(axis=0) / 127).all()


def _read_in_floats(weights, question, statement, layers=12):
    """What the heads say of a statement, computed plainly: the question's tokens see each other only."""
    tokens = np.array([*question, *statement])
    asked = len(question)
    places = np.array([*range(1, asked + 1), 0, *range(asked + 1, asked + len(statement))])
    segments = np.array([0] * (asked + 1) + [1] * (len(statement) - 1))
    hidden = np.zeros((len(tokens), len(tokens)))
    hidden[:asked, asked:] = -1e4
    states = weights["words.weight"][tokens] + weights["positions.weight"][places]
    states = _norm(weights, states + weights["segments.weight"][segments], "norm")
    for part in (f"layers.{number}." for number in range(layers)):
        heads = [_times(weights, states, part + name) for name in ("query", "key", "value")]
        query, key, value = (one.reshape(len(tokens), 12, 32).transpose(1, 0, 2) for one in heads)
        powers = np.exp(query @ key.transpose(0, 2, 1) / np.sqrt(32) + hidden)
        seen = (powers / powers.sum(axis=-1, keepdims=True) @ value).transpose(1, 0, 2).reshape(-1, 384)
        states = _norm(weights, states + _times(weights, seen, part + "attended"), part + "attended_norm")
        wide = _times(weights, states, part + "widened")
        wide = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / np.sqrt(2)))
        states = _norm(weights, states + _times(weights, wide, part + "narrowed"), part + "narrowed_norm")
    pooled, glanced = (np.tanh(_times(weights, states[asked], name)) for name in ("pool", "glance_pool"))
    said = {head: _times(weights, pooled, head) for head in ("helps", "relations")}
    return said | {"glance": _times(weights, glanced, "glance")}


def _times(weights, states, part):
    return states @ weights[f"{part}.weight"].T + weights[f"{part}.bias"]


def _norm(weights, states, part):
    centred = states - states.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
    return scaled * weights[f"{part}.weight"] + weights[f"{part}.bias"]


def test_a_model_without_heads_is_read_by_the_same_names(published, tmp_path):
    onnx, weights = (importlib.import_module(name) for name in ("onnx", "reader_weights"))
    model = onnx.load(str(PUBLISHED))
    for node in model.graph.node:
        node.name = node.name.replace("/bert/", "/")
        node.input[:] = [name.removeprefix("bert.") for name in node.input]
    for tensor in model.graph.initializer:
        tensor.name = tensor.name.removeprefix("bert.")
    for parts in (model.graph.node, model.graph.initializer):
        for part in [one for one in parts if "classifier" in one.name]:
            parts.remove(part)
    onnx.save(model, str(tmp_path / "encoder.onnx"))
    found = weights.keep_layers(weights.read_weights(tmp_path / "encoder.onnx"), range(weights.LAYERS))
    wanted = weights.keep_layers(published, range(weights.LAYERS))
    assert wanted.keys() - found.keys() == {"helps.weight", "helps.bias"}
    assert all((values == wanted[name]).all() for name, values in found.items())


def test_the_shipped_reader_has_what_the_tool_writes(published):
    graph = importlib.import_module("onnx").load(str(model_folder(READER.name) / WEIGHTS)).graph
    assert [output.name for output in graph.output] == ["logits"]
    assert [given.name for given in graph.input] == ["question", "statements", "mask", "most", "requests"]


def test_a_reader_that_is_written_again_judges_alike_and_keeps_what_hears_requests(published, tmp_path):
    weights, graph = (importlib.import_module(f"reader_{name}") for name in ("weights", "graph"))
    shipped, again = model_folder(READER.name) / WEIGHTS, tmp_path / "again.onnx"
    graph.write_model(weights.read_reader(shipped), 3, again)
    graph.keep_requests(again, shipped, again)
    tokens, mask = pad_rows(STATEMENTS)
    inputs = {"question": np.array(QUESTION), "statements": tokens, "mask": mask, "most": np.array([9])}
    before, after = (start_inference_session(path, 1) for path in (shipped, again))
    for hears in (False, True):
        given = inputs | {"requests": np.array(hears)}
        assert after.run(None, given)[0] == pytest.approx(before.run(None, given)[0], abs=0.2)


def test_layers_for_requests_that_are_taught_anew_take_the_place_of_those_before(published, tmp_path):
    weights, requests = (importlib.import_module(name) for name in ("reader_weights", "teach_requests"))
    shipped, again = model_folder(READER.name) / WEIGHTS, tmp_path / "again.onnx"
    known = weights.read_reader(shipped)
    taught = {
        name: values for name, values in known.items() if name.startswith(("layers.0.", "pool", "helps"))
    }
    np.savez_compressed(tmp_path / "taught.npz", **taught)
    requests.write(tmp_path / "taught.npz", shipped, again)
    tokens, mask = pad_rows(STATEMENTS)
    inputs = {"question": np.array(QUESTION), "statements": tokens, "mask": mask, "most": np.array([9])}
    before, after = (start_inference_session(path, 1) for path in (shipped, again))
    reading, hearing = (inputs | {"requests": np.array(hears)} for hears in (False, True))
    assert (after.run(None, reading)[0] == before.run(None, reading)[0]).all()
    assert after.run(None, hearing)[0] != pytest.approx(before.run(None, hearing)[0], abs=0.2)
