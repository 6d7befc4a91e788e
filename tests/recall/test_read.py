"""What the reader is shown of a candidate, and what follows from its logits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest

from foreword.recall.read import judge_results_with_reader
from foreword.types import Item, Query, SearchResult, Source

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
FILLER = "Nothing in this sentence has to do with it, however long it may go on and on about the weather."
LONG = " ".join(
    [
        *[FILLER] * 4,
        "The nightly backup of the ledger is written to the bucket in Dublin.",
        *[FILLER] * 4,
        "A restore of the ledger takes forty minutes and needs two keys.",
        *[FILLER] * 4,
    ]
)


class Reader:
    """Gives the logit of the first of its phrases that a text contains; reads at most so many."""

    def __init__(self, *rules, otherwise=-4.0, most=1000):
        self.rules, self.otherwise, self.most = rules, otherwise, most
        self.asked, self.read, self.expires = "", [], None

    def scores(self, query, texts, expires=None):
        self.asked, self.read, self.expires = query, list(texts), expires
        return [self._logit(text) for text in texts][: self.most]

    def _logit(self, text):
        return next((logit for phrase, logit in self.rules if phrase in text), self.otherwise)


def result_of(text, name="a", days=3, kind="turn", trust="user", about=""):
    item = Item(
        text,
        "w",
        kind=kind,
        id=name,
        about=about,
        source=Source("someone", trust),
        created_at=NOW - timedelta(days=days),
    )
    return SearchResult(item, 0.3, scores={"blend": 0.5})


def ask(text="How is the ledger backed up?", expires=None):
    return Query(text, "w", NOW, expires=expires)


def shown(result, query=None):
    reader = Reader()
    judge_results_with_reader([result], query or ask(), reader)
    return reader.read


# What a candidate looks like


@pytest.mark.parametrize(
    ("kind", "trust", "speaker"),
    [
        ("turn", "user", "user"),
        ("turn", "web", "tool"),
        ("turn", "repository", "file"),
        ("turn", "agent", "agent"),
        ("turn", "tool", "tool"),
        ("memory", "user", "memory"),
        ("memory", "web", "tool"),
        ("memory", "repository", "file"),
        ("memory", "agent", "agent"),
        ("memory", "tool", "tool"),
        ("code", "tool", "file"),
        ("document", "user", "file"),
        ("commit", "user", "commit"),
        ("experience", "agent", "memory"),
        ("value", "user", "memory"),
    ],
)
def test_it_begins_with_who_said_it(kind, trust, speaker):
    assert shown(result_of("We use pnpm.", kind=kind, trust=trust)) == [
        f"{speaker}, 3 days ago: We use pnpm."
    ]


@pytest.mark.parametrize(
    ("days", "age"),
    [(-1, "today"), (0, "today"), (0.4, "today"), (0.6, "yesterday"), (1, "yesterday"), (2, "2 days ago")],
)
def test_its_age_is_told_in_days_of_the_calendar(days, age):
    assert shown(result_of("We use pnpm.", days=days)) == [f"user, {age}: We use pnpm."]


def test_the_calendar_is_that_of_whoever_asks():
    at_half_past_one = datetime(2026, 1, 15, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    query = Query("which", "w", at_half_past_one)  # in UTC it is still the day before
    late = SearchResult(Item("We use pnpm.", "w", created_at=datetime(2026, 1, 14, 22, 30, tzinfo=UTC)), 0.3)
    assert shown(late, query) == ["memory, today: We use pnpm."]


@pytest.mark.parametrize("kind", ["code", "document"])
def test_a_piece_of_a_file_is_read_with_its_path(kind):
    result = result_of("def load(): ...", kind=kind, about="src/settings.py")
    assert shown(result) == ["file, 3 days ago: src/settings.py: def load(): ..."]


def test_what_surrounds_a_turn_is_not_read():
    assert shown(result_of("We use pnpm.", about="user")) == ["user, 3 days ago: We use pnpm."]


@pytest.mark.parametrize("message", ["Cache the totals", f"Cache the totals\n\n{LONG}"])
def test_a_commit_is_read_without_the_list_of_its_files(message):
    commit = result_of(f"{message}\n\nfiles: ledger/backup.py, how.py", kind="commit")
    texts = shown(commit, ask("What does ledger/backup.py do, and how.py?"))
    assert texts
    assert all(text.startswith("commit, 3 days ago: ") for text in texts)
    assert not any("files:" in text or ".py" in text for text in texts)


def test_a_long_item_is_read_by_the_statements_that_share_most_with_the_question():
    question = "How many keys and minutes does a restore of the ledger need, and where is the backup?"
    texts = shown(result_of(LONG), ask(question))
    assert len(texts) == 2
    assert "written to the bucket in Dublin" in texts[0]
    assert "takes forty minutes" in texts[1], "in their order, though this one shares more"
    assert all(len(text) < 400 for text in texts)


def test_a_long_prompt_is_read_by_its_two_ends():
    reader = Reader()
    judge_results_with_reader(
        [result_of("x")], ask("Why does this fail? " + "pasted log " * 500 + "Fix it."), reader
    )
    assert reader.asked.startswith("Why does this fail? pasted log")
    assert reader.asked.endswith("pasted log Fix it.")
    assert len(reader.asked) <= 403


def test_a_prompt_that_is_not_long_is_read_whole():
    reader = Reader()
    judge_results_with_reader([result_of("x")], ask("Why? " * 80), reader)
    assert reader.asked == "Why? " * 80


# What follows from the logits


def test_what_it_thinks_most_of_comes_first_with_a_probability():
    results = [result_of("one", "a"), result_of("two", "b"), result_of("three", "c")]
    judged = judge_results_with_reader(results, ask(), Reader(("two", 5.0), ("three", 1.0)))
    assert [one.memory.id for one in judged] == ["b", "c", "a"]
    assert [one.scores["read"] for one in judged] == [5.0, 1.0, -4.0]
    assert judged[0].scores["blend"] == 0.5, "what else is known of it stays known"


def test_a_higher_logit_is_a_higher_probability():
    logits = [-12.0, -7.0, -3.0, 0.0, 1.0, 4.0, 9.0]
    results = [result_of(f"<{logit}>", str(logit)) for logit in logits]
    judged = judge_results_with_reader(results, ask(), Reader(*((f"<{logit}>", logit) for logit in logits)))
    assert [one.scores["read"] for one in judged] == sorted(logits, reverse=True)
    scores = [one.score for one in judged]
    assert all(0 < low < high < 1 for high, low in pairwise(scores))
    assert scores[0] > 0.8
    assert scores[-1] < 0.01


def test_of_equals_the_newer_comes_first():
    results = [result_of("old", "a", days=9), result_of("new", "b", days=1)]
    assert [one.memory.id for one in judge_results_with_reader(results, ask(), Reader())] == ["b", "a"]


def test_only_what_was_read_in_time_comes_back():
    results = [result_of("one", "a"), result_of("two", "b"), result_of("three", "c")]
    assert {one.memory.id for one in judge_results_with_reader(results, ask(), Reader(most=2))} == {"a", "b"}
    assert judge_results_with_reader(results, ask(), Reader(most=0)) == []


def test_an_item_of_which_one_statement_was_read_in_time_comes_back():
    (judged,) = judge_results_with_reader(
        [result_of(LONG)], ask("the backup and the restore of the ledger"), Reader(most=1)
    )
    assert "Dublin" in judged.excerpt
    assert "forty minutes" not in judged.excerpt


def test_time_is_left_for_what_follows():
    reader = Reader()
    judge_results_with_reader([result_of("one")], ask(expires=100.0), reader)
    assert 99.9 < reader.expires < 100.0
    judge_results_with_reader([result_of("one")], ask(), reader)
    assert reader.expires is None


def test_a_short_item_has_no_excerpt():
    (judged,) = judge_results_with_reader([result_of("We use pnpm.")], ask(), Reader())
    assert judged.excerpt == ""


def test_a_long_item_has_the_statement_that_helps_as_its_excerpt():
    query = ask("the backup and the restore of the ledger")
    (judged,) = judge_results_with_reader([result_of(LONG)], query, Reader(("Dublin", 5.0), ("forty", 1.0)))
    assert judged.scores["read"] == 5.0
    assert "Dublin" in judged.excerpt
    assert "forty" not in judged.excerpt
    assert len(judged.excerpt) < len(LONG) / 3


def test_the_next_best_statement_is_told_too_if_it_is_nearly_as_good():
    query = ask("the backup and the restore of the ledger")
    (judged,) = judge_results_with_reader([result_of(LONG)], query, Reader(("Dublin", 3.5), ("forty", 5.0)))
    assert judged.scores["read"] == 5.0
    first, _, second = judged.excerpt.partition(" … ")
    assert "Dublin" in first
    assert "forty" in second


def test_the_more_are_read_the_less_each_is_believed():
    few = judge_results_with_reader([result_of("<x>")], ask(), Reader(("<x>", 0.0)))
    crowd = [result_of("<x>"), *(result_of(f"other {at}", str(at)) for at in range(20))]
    many = judge_results_with_reader(crowd, ask(), Reader(("<x>", 0.0), otherwise=-9.0))
    assert few[0].memory == many[0].memory
    assert few[0].score > many[0].score


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("Which port does the API listen on?", "The API listens on port 4000."),
        ("What is the staging database called?", "The staging database is heron-42."),
        ("Who owns the parser?", "Ana owns the parser."),
    ],
)
def test_a_statement_with_all_words_of_the_question_is_believed_against_the_reader(question, statement):
    (judged,) = judge_results_with_reader([result_of(statement)], ask(question), Reader(otherwise=-7.0))
    assert judged.score > 0.3


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("Which port does the API listen on?", "The API is written in Go."),
        ("When does the API port close?", "The API listens on port 4000."),
        ("What about the parser?", "Ana owns the parser."),
    ],
    ids=["one word", "not all words", "a question of one word"],
)
def test_fewer_words_in_common_prove_nothing(question, statement):
    (judged,) = judge_results_with_reader([result_of(statement)], ask(question), Reader(otherwise=-7.0))
    assert judged.score < 0.04


def test_a_question_whose_letters_the_reader_does_not_know_is_judged_by_what_it_shares():
    reader = Reader(otherwise=3.0)
    told = [
        result_of("เครื่องพิมพ์ในครัวเสีย เปลี่ยนใหม่แล้ว รหัสเครื่อง FY-31007", "printer"),
        result_of("เมนูดูแลโดยสมชาย ราคาแก้ได้เฉพาะเจ้าของร้าน", "menu"),
        result_of("วันนี้ฝนตกหนักมาก", "rain"),
    ]
    best, *rest = judge_results_with_reader(told, ask("เครื่องพิมพ์ในครัวรหัสอะไร"), reader)
    assert (best.memory.id, reader.read) == ("printer", [])
    assert best.score > 0.05 > max(one.score for one in rest)


def test_a_folder_of_documents_does_not_crowd_out_what_was_said():
    documents = [
        result_of(f"Page {place} of the manual.", f"d{place}", kind="document") for place in range(40)
    ]
    turns = [result_of(f"Turn {place} of the talk.", f"t{place}") for place in range(40)]
    reader = Reader()
    judge_results_with_reader([*documents, *turns], ask(), reader, most=24)
    assert (sum("manual" in text for text in reader.read), len(reader.read)) == (8, 24)


def test_documents_are_read_in_all_places_if_nothing_else_was_found():
    documents = [
        result_of(f"Page {place} of the manual.", f"d{place}", kind="document") for place in range(40)
    ]
    reader = Reader()
    judge_results_with_reader(documents, ask(), reader, most=24)
    assert len(reader.read) == 24


def test_a_document_far_from_the_question_is_believed_less_than_a_near_one():
    near, far = (result_of("The ledger.", name, kind="document") for name in ("near", "far"))
    near.scores["semantic"], far.scores["semantic"] = 0.72, 0.5
    judged = judge_results_with_reader([far, near], ask(), Reader(otherwise=1.0))
    assert [one.memory.id for one in judged] == ["near", "far"]
    assert judged[0].score > 3 * judged[1].score
    assert all(one.scores["read"] == 1.0 for one in judged)
