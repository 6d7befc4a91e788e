"""The parts of the reader's teaching that need no torch; those that need onnx are skipped without it."""

from __future__ import annotations

import importlib
import json
import random
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from foreword.recall import read
from foreword.spaces.bundled import MINILM, VOCABULARY, WEIGHTS, model_folder, read_model_file, start_session
from foreword.testing import HashEmbeddings
from foreword.types import Item, Source

REPOSITORY = Path(__file__).parents[2]
LESSONS = REPOSITORY / "measure" / "lessons"
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


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
    found = Tokenizer.from_str(read_model_file(MINILM, VOCABULARY).decode())
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
    return data.read_history(GIVEN, "t", tokenizer, Encoder())


def _words(tokenizer, tokens):
    return tokenizer.decode(tokens)


@pytest.mark.parametrize(("who", "kind", "trust"), [("user", "turn", "user"), ("agent", "turn", "agent")])
@pytest.mark.parametrize("day", [0, -1, -12])
def test_lessons_have_the_lines_that_the_engine_reads(data, who, kind, trust, day):
    item = Item("Bake it", "w", kind, created_at=NOW + timedelta(days=day), source=Source(who, trust))
    assert data.describe(_told(1, "Bake it", day, who)) == read._describe(item, item.text, NOW)


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


def test_a_long_prompt_keeps_its_two_ends(data):
    assert data.cut_prompt(list(range(96))) == list(range(96))
    assert data.cut_prompt(list(range(300))) == [*range(48), *range(252, 300)]


def test_a_row_holds_prompt_statement_and_context(data, history, tokenizer):
    prompt, statement = history.prompts[0], history.statements[0]
    tokens, segments = data.pair_row(prompt, statement)
    assert _words(tokenizer, tokens[: segments.index(1)]) == "how long do loaves bake?"
    said = _words(tokenizer, tokens[segments.index(1) :])
    assert said.startswith("user, 9 days ago : the oven timer runs for 25 minutes ( later, 2 days ago")
    bare, _ = data.pair_row(prompt, statement, before=False, later=False)
    assert len(bare) == len(tokens) - len(statement.later)
    assert len(tokens) == len(segments)


def test_pairs_teach_what_is_needed_and_what_is_outdated(data, history):
    pairs = data.make_pairs([history], None, 3, random.Random(1))
    taught = {one.statement.number: (one.answers, one.weight) for one in pairs[: len(history.statements)]}
    assert taught == {4: (1.0, 1.5), 5: (1.0, 0.8), 1: (0.0, 1.5), 2: (0, 1), 3: (0, 1), 6: (0, 1)}
    assert not any(one.answers for one in pairs[len(history.statements) :])


def test_statements_of_other_histories_are_noise(data, history, tokenizer):
    other = data.read_history(GIVEN, "o", tokenizer, Encoder())
    pairs = data.make_pairs([history, *[other] * 20], 0, 2, random.Random(3))
    foreign = [one for one in pairs if one.prompt in history.prompts and one.statement in other.statements]
    assert foreign
    assert {(one.answers, one.weight) for one in foreign} == {(0.0, 1.0)}


def test_relations_have_the_later_statement_first(data, history):
    made = data.make_relations([history], random.Random(1))
    assert all(later.number > earlier.number for later, earlier, _ in made)
    assert {(a.number, b.number): what for a, b, what in made if what} == {
        (4, 1): data.REPLACES,
        (5, 4): data.SAME,
    }


def test_what_is_told_is_measured(data, teach):
    def judged(logits, needs=(), outdated=()):
        prompt = data.Prompt([], frozenset(needs), frozenset(), frozenset(outdated), frozenset())
        return teach.JudgedPrompt(prompt, dict(enumerate(logits, 1)))

    prompts = [judged([3, 2, -5], needs=[1, 3], outdated=[2]), judged([1, -9]), judged([-4, -9])]
    assert teach.measure(prompts, lambda logit: logit > 0) == teach.Scores(0.5, 0.5, 1.0, 0.5)
    wanted, least, scores = list(teach.curve(prompts))[-1]
    assert wanted == 0.95
    assert 0 < least < 1
    assert scores.silent == 0.5


def test_prompts_are_judged_with_all_statements_of_their_history(teach, history):
    judged = teach.judge_prompts([history], lambda rows: [float(at) for at in range(len(rows))], context=True)
    assert [one.logits[1] for one in judged] == [0.0, 6.0]
    assert [one.wants_silence for one in judged] == [False, True]


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
    assert [int(n.replace(",", "")) for n in re.findall(r"\b[\d,]+\b", row[0].split("|", 3)[3])[:4]] == counts


# The weights ----------------------------------------------------------------------------------------------

PUBLISHED = Path(str(model_folder(MINILM.name))) / WEIGHTS


def _logit(path):
    ids = np.array([[101, 2129, 2146, 102, 4228, 2781, 102]])
    inputs = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "token_type_ids": np.array([[0, 0, 0, 0, 1, 1, 1]]),
    }
    return float(start_session(path.read_bytes(), 1).run(None, inputs)[0][0, 0])


@pytest.fixture(scope="module")
def published():
    pytest.importorskip("onnx", reason="onnx is needed for weights: pip install '.[teach]'")
    sys.path.insert(0, str(REPOSITORY / "tools"))
    try:
        return importlib.import_module("reader_weights").read_weights(PUBLISHED)
    finally:
        sys.path.remove(str(REPOSITORY / "tools"))


def test_all_layers_put_back_give_the_published_model(published, tmp_path):
    weights = importlib.import_module("reader_weights")
    kept = range(weights.LAYERS)
    weights.write_model(weights.keep_layers(published, kept), kept, PUBLISHED, tmp_path / "all.onnx")
    assert _logit(tmp_path / "all.onnx") == pytest.approx(_logit(PUBLISHED), abs=0.3)


def test_some_layers_put_back_are_read_again(published, tmp_path):
    weights = importlib.import_module("reader_weights")
    taught = weights.keep_layers(published, [2, 5])
    weights.write_model(taught, [2, 5], PUBLISHED, tmp_path / "some.onnx")
    again = weights.keep_layers(weights.read_weights(tmp_path / "some.onnx"), [2, 5])
    assert again.keys() == taught.keys()
    for name, values in taught.items():
        assert np.abs(again[name] - values).max() <= np.abs(values).max() / 127, name
    assert (tmp_path / "some.onnx").stat().st_size < PUBLISHED.stat().st_size * 0.6
    assert np.isfinite(_logit(tmp_path / "some.onnx"))
