from __future__ import annotations

from datetime import UTC, datetime

from foreword.recall.fuse import fuse
from foreword.recall.rerank import MAX_READ, rerank
from foreword.types import Findings, Item, Query

NOW = datetime(2026, 1, 15, tzinfo=UTC)


class Judge:
    """Gives the logits it was told to, by what a text contains; reads at most so many."""

    def __init__(self, likes="", most=1000):
        self.likes, self.most, self.read, self.asked = likes, most, [], ""

    def scores(self, query, texts, expires=None):
        self.asked, self.read = query, list(texts)
        return [8.0 if self.likes in text else -11.0 for text in texts][: self.most]


def findings_of(*names, kind="turn", previous=None):
    cosines = {name: 0.8 - 0.01 * place for place, name in enumerate(names)}
    items = {n: Item(f"words of {n}", "w", kind=kind, id=n, about=n.upper(), created_at=NOW) for n in names}
    return Findings(
        items, {"semantic": tuple(cosines.items())}, measures={"semantic": cosines}, previous=previous or {}
    )


def rerank_findings(given, judge, question="who"):
    return rerank(fuse(given, question, NOW), given, Query(question, "w", NOW), judge)


def test_what_the_cross_encoder_likes_comes_first_and_says_so():
    hits = rerank_findings(findings_of("a", "b", "c"), Judge(likes="words of c"))
    assert [hit.memory.id for hit in hits] == ["c", "a", "b"]
    assert hits[0].scores["rerank"] == 8.0
    assert hits[0].score > 0.2 > hits[1].score


def test_a_turn_is_read_after_the_one_before_it():
    judge = Judge()
    rerank_findings(findings_of("a", "b", previous={"b": "a"}), judge)
    assert judge.read == ["A: words of a", "A: words of a\nB: words of b"]


def test_kinds_it_cannot_judge_are_not_read():
    judge = Judge()
    before = fuse(findings_of("a", "b", kind="commit"), "who", NOW)
    assert rerank_findings(findings_of("a", "b", kind="commit"), judge) == before
    assert judge.read == []


def test_no_more_are_read_than_help():
    judge = Judge()
    rerank_findings(findings_of(*(f"n{number}" for number in range(MAX_READ + 20))), judge)
    assert len(judge.read) == MAX_READ


def test_what_was_not_read_in_time_stands_behind_what_was():
    hits = rerank_findings(findings_of("a", "b", "c"), Judge(likes="b", most=2))
    assert hits[0].memory.id == "b"
    assert "rerank" not in next(hit for hit in hits if hit.memory.id == "c").scores


def test_when_there_was_no_time_at_all_the_first_order_stays():
    assert [hit.memory.id for hit in rerank_findings(findings_of("a", "b"), Judge(most=0))] == ["a", "b"]


def test_a_long_question_is_read_by_its_title():
    judge = Judge()
    rerank_findings(findings_of("a"), judge, "The title\n" + "and much more " * 50)
    assert judge.asked == "The title"
