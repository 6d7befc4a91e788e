"""Which item replaced another in the end, as the relations between them say."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from foreword.recall.history import MAX_SUCCESSORS, find_successors
from foreword.text.statements import describe_history
from foreword.types import REPLACES, Item, RelatedMemory, Relation, SearchResult

MAY = datetime(2026, 5, 3, 12, tzinfo=UTC)


def item(name, text="Something."):
    return Item(text, "w", id=name, created_at=MAY)


def related(newer, older, confidence=0.9, type=REPLACES, depth=1):  # noqa: A002
    return RelatedMemory(item(newer), Relation(newer, older, type, confidence), depth)


def successors(*relations, of="a", read=None):
    return [one.id for one in find_successors(SearchResult(item(of), 0.5), relations, read or {})]


def test_what_nothing_replaced_stands():
    assert successors() == []
    assert successors(related("b", "a", type="caused_by")) == []


def test_what_the_item_itself_replaced_is_no_successor():
    earlier = RelatedMemory(item("old"), Relation("a", "old", REPLACES, 0.9), 1)
    assert successors(earlier) == []


def test_a_chain_is_followed_to_its_end():
    assert successors(related("b", "a"), related("c", "b", depth=2)) == ["b", "c"]


def test_a_long_chain_is_followed_only_so_far():
    links = [related(str(at + 1), str(at), depth=at + 1) for at in range(9)]
    assert len(successors(*links, of="0")) == MAX_SUCCESSORS


def test_a_circle_ends():
    assert successors(related("b", "a"), related("a", "b")) == ["b"]


def test_of_several_the_surest_is_taken():
    assert successors(related("b", "a", 0.75), related("c", "a", 0.95), related("d", "a", 0.8)) == ["c"]


@pytest.mark.parametrize(
    ("confidence", "newer", "accepted"),
    [
        (0.4, None, False),
        (0.8, None, True),
        (0.4, -1.0, True),
        (0.4, -3.0, False),
        (0.8, -8.0, True),
    ],
    ids=["unread and unsure", "unread and sure", "unsure but near", "unsure and far", "far but sure"],
)
def test_a_doubtful_successor_must_be_to_the_point(confidence, newer, accepted):
    read = {"a": 2.0} | ({} if newer is None else {"b": newer})
    assert successors(related("b", "a", confidence), read=read) == (["b"] if accepted else [])


def test_history_is_told_with_its_date_on_one_line():
    assert (
        describe_history([item("a", "Deploys are\non Tuesday.")])
        == "(before, 3 May 2026: Deploys are on Tuesday.)"
    )
    assert describe_history([]) == ""


def test_long_history_is_cut():
    told = describe_history([item("a", "word " * 200)])
    assert len(told) < 200
    assert told.endswith("…)")
