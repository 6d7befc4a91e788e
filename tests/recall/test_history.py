"""Which item replaced another in the end, as the relations between them say."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from foreword.recall.history import (
    MAX_CONTRADICTIONS,
    MAX_SUCCESSORS,
    drop_history_repeats,
    find_contradictions,
    find_successors,
)
from foreword.text.statements import describe_replaced_and_contradicting_statements
from foreword.types import AMENDS, REPLACES, Item, RelatedMemory, Relation, SearchResult, Source

MAY = datetime(2026, 5, 3, 12, tzinfo=UTC)


def item(name, text="Something.", trust="user", **facts):
    return Item(text, "w", id=name, created_at=MAY, source=Source(trust, trust), **facts)


def related(newer, older, confidence=0.9, type=REPLACES, depth=1, trust="user"):  # noqa: A002
    return RelatedMemory(item(newer, trust=trust), Relation(newer, older, type, confidence), depth)


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


@pytest.mark.parametrize("trust", ["agent", "repository", "tool", "web"])
def test_who_is_trusted_less_replaces_nobody_and_is_told_beside(trust):
    newer = related("b", "a", trust=trust)
    assert successors(newer) == []
    beside = find_contradictions(SearchResult(item("a"), 0.5), [newer], {})
    assert [one.id for one in beside] == ["b"]


def test_a_commit_replaces_what_the_agent_said():
    said = SearchResult(item("a", trust="agent"), 0.5)
    newer = related("b", "a", trust="repository")
    assert [one.id for one in find_successors(said, [newer], {})] == ["b"]
    assert find_contradictions(said, [newer], {}) == []


def test_where_the_surest_may_not_replace_no_other_does():
    assert successors(related("b", "a", 0.75), related("c", "a", 0.95, trust="repository")) == []


def test_only_the_surest_contradictions_are_told():
    newer = [related(f"c{n}", "a", 0.8 + n / 100, trust="agent") for n in range(5)]
    beside = find_contradictions(SearchResult(item("a"), 0.5), newer, {})
    assert {one.id for one in beside} == {"c4", "c3"}
    assert len(beside) == MAX_CONTRADICTIONS


def later_than(result, *relations, read=None, held=None):
    return [one.id for one in find_contradictions(result, relations, read or {}, held)]


def test_what_changes_only_a_part_is_told_beside_the_rest():
    older = SearchResult(item("a"), 0.5)
    assert successors(related("b", "a", type=AMENDS)) == []
    assert later_than(older, related("b", "a", type=AMENDS)) == ["b"]


def test_what_is_told_beside_is_what_holds_now():
    chain = related("b", "a", type=AMENDS), related("c", "b", depth=2)
    assert later_than(SearchResult(item("a"), 0.5), *chain) == ["c"]


@pytest.mark.parametrize(
    ("blend", "told"), [(0.9, ["b"]), (0.2, []), (None, [])], ids=["near", "far", "not in the context"]
)
def test_a_doubtful_successor_in_the_context_is_told_beside_what_it_may_have_replaced(blend, told):
    older = SearchResult(item("a"), 0.5, scores={"blend": 1.0, "read": 2.0})
    held = {} if blend is None else {"b": blend}
    assert later_than(older, related("b", "a", 0.2), read={"a": 2.0}, held=held) == told


def test_what_an_agent_answered_to_a_change_is_not_told_beside_it():
    said = [
        RelatedMemory(item(name, trust=trust, session="s"), Relation(name, "a", AMENDS, 0.9), 1)
        for name, trust in (("b", "user"), ("c", "agent"))
    ]
    assert later_than(SearchResult(item("a"), 0.5), *said) == ["b"]


def test_what_contradicts_a_statement_is_told_after_it_with_its_date_and_its_author():
    facts = {"sha": "3f2a1c0d", "author": "Ana", "message": "Deploy on Tuesdays"}
    commit = item("c", "Deploy on Tuesdays\n\nfiles: ci.yml", "repository", kind="commit", metadata=facts)
    told = describe_replaced_and_contradicting_statements([item("b", "On Mondays.", "agent")], [commit])
    assert told == (
        "(before, 3 May 2026, agent: On Mondays.) "
        "(later, 3 May 2026, commit 3f2a1c0 by Ana: “Deploy on Tuesdays”)"
    )


def test_history_is_told_with_its_date_on_one_line():
    assert (
        describe_replaced_and_contradicting_statements([item("a", "Deploys are\non Tuesday.")])
        == "(before, 3 May 2026: Deploys are on Tuesday.)"
    )
    assert describe_replaced_and_contradicting_statements([]) == ""


@pytest.mark.parametrize("trust", ["tool", "web"])
def test_what_tools_printed_and_pages_said_is_no_history(trust):
    assert describe_replaced_and_contradicting_statements([item("a", "Run the installer.", trust)]) == ""


def test_long_history_is_cut():
    told = describe_replaced_and_contradicting_statements([item("a", "word " * 200)])
    assert len(told) < 200
    assert told.endswith("…)")


def test_what_a_later_result_has_in_its_history_has_no_line_of_its_own():
    older, newer = (
        Item(text, "w", id=text, created_at=MAY.replace(day=day))
        for text, day in (("Water on the 5th.", 4), ("Water on the 12th.", 9))
    )
    told = [SearchResult(newer, 0.5, history=(older,)), SearchResult(older, 0.4)]
    assert [one.memory for one in drop_history_repeats(told)] == [newer]


def test_two_results_that_each_have_the_other_in_their_history_leave_the_later_one():
    older, newer = (
        Item(f"On day {day}.", "w", id=str(day), created_at=MAY.replace(day=day)) for day in (4, 9)
    )
    told = [SearchResult(newer, 0.5, history=(older,)), SearchResult(older, 0.4, history=(newer,))]
    assert [one.memory for one in drop_history_repeats(told)] == [newer]
