from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.recall.related import (
    MAX_UNASKED,
    asks_for_relation,
    drop_excerpts_of_short_memories,
    excerpt_for_link,
    follow_relations,
    follow_relations_to_answers,
)
from foreword.text.statements import split_statements
from foreword.types import Item, RelatedMemory, Relation, RelationLink, SearchResult

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
LONG = " ".join(
    f"Sentence {number} of the manual speaks of part {number} at some length." for number in range(20)
)


def item(name, text="", **more):
    return Item(text or f"text {name}", "w", id=name, created_at=NOW, **more)


def result(name, score, *ways, text=""):
    """A result; each way is a related item, the relation, and how far away it is."""
    reached = tuple(RelatedMemory(memory, relation, depth) for memory, relation, depth in ways)
    return SearchResult(item(name, text), score, relationships=reached)


def scores(results):
    return {one.memory.id: round(one.score, 3) for one in results}


@pytest.mark.parametrize(
    "question",
    [
        "Why did the deploy fail?",
        "What was the cause of the outage?",
        "How was the deadlock fixed?",
        "What is related to the payment service?",
        "Which jobs depend on the cache?",
    ],
)
def test_a_question_that_asks_how_things_hang_together(question):
    assert asks_for_relation(question)


@pytest.mark.parametrize("question", ["", "When do we deploy?", "Who owns the fixture files?", "Which port?"])
def test_other_questions_ask_for_no_relation(question):
    assert not asks_for_relation(question)


def test_what_a_relation_leads_to_is_less_probable_than_where_it_begins():
    sure, unsure = Relation("a", "b", "explains"), Relation("c", "a", "explains", confidence=0.5)
    reached = follow_relations([result("a", 0.5, (item("b"), sure, 1), (item("c"), unsure, 1))])
    assert scores(reached) == {"b": 0.4, "c": 0.2}
    assert [one.link.is_forward for one in reached] == [True, False]
    assert [one.link.description for one in reached] == ["a explains b", "c explains a"]


def test_every_step_of_a_way_costs():
    ways = [(item("b"), Relation("a", "b"), 1), (item("c"), Relation("c", "b"), 2)]
    reached = follow_relations([result("a", 0.5, *ways)])
    assert scores(reached) == {"b": 0.4, "c": 0.32}
    assert reached[1].link.origin.id == "b"


def test_what_was_superseded_leads_nowhere():
    old = item("b", superseded_by="x")
    reached = follow_relations(
        [result("a", 0.5, (old, Relation("a", "b"), 1), (item("c"), Relation("b", "c"), 2))]
    )
    assert [one.memory.id for one in reached] == ["b"]


def test_of_two_results_that_are_related_the_later_one_is_linked_to_the_earlier():
    relation = Relation("b", "a")
    told = [result("a", 0.5, (item("b"), relation, 1)), result("b", 0.3, (item("a"), relation, 1))]
    (linked,) = follow_relations(told)
    assert (linked.memory.id, linked.link) == ("b", RelationLink(told[0].memory, relation))


def test_the_surest_of_several_ways_counts():
    told = [
        result("a", 0.5, (item("c"), Relation("a", "c", confidence=0.1), 1)),
        result("b", 0.4, (item("c"), Relation("b", "c"), 1)),
    ]
    (reached,) = follow_relations(told)
    assert reached.link.origin.id == "b"


def unasked(question, *results):
    return [one.memory.id for one in follow_relations_to_answers(results, question)]


def test_unasked_a_cause_is_told_to_who_asks_why():
    told = result("a", 0.5, (item("b"), Relation("a", "b", "caused_by"), 1))
    assert unasked("Why do we deploy on Tuesdays?", told) == ["b"]
    assert unasked("When do we deploy?", told) == []


def test_unasked_only_causes_and_cures_tell_why():
    told = result("a", 0.5, (item("b"), Relation("a", "b", "decided_in"), 1))
    assert unasked("Why do we deploy on Tuesdays?", told) == []


def test_unasked_what_completes_the_question_is_told():
    owners = item("b", "The owner of each package is in CODEOWNERS.")
    told = result("a", 0.5, (owners, Relation("a", "b"), 1), text="The clock bug was in the calendar.")
    assert unasked("Who is the owner of the package with the clock bug?", told) == ["b"]


@pytest.mark.parametrize(("score", "told"), [(0.4, []), (0.1, ["b"])])
def test_unasked_nothing_completes_what_a_sure_result_has_completed(score, told):
    owners = item("b", "The owner of each package is in CODEOWNERS.")
    first = result("a", 0.5, (owners, Relation("a", "b"), 1), text="The clock bug was in the calendar.")
    other = SearchResult(item("c", "Every package has one owner."), score)
    assert unasked("Who is the owner of the package with the clock bug?", first, other) == told


def test_unasked_an_improbable_result_leads_nowhere():
    weak = result("b", 0.1, (item("c"), Relation("b", "c", "causes"), 1))
    assert unasked("Why?", result("a", 0.5), weak) == []


def test_unasked_what_was_superseded_is_not_told():
    told = result("a", 0.5, (item("b", superseded_by="x"), Relation("a", "b", "causes"), 1))
    assert unasked("Why?", told) == []


def test_unasked_relations_do_not_flood():
    ways = [(item(f"n{n}"), Relation("a", f"n{n}", "causes"), 1) for n in range(9)]
    assert len(unasked("Why?", result("a", 0.5, *ways))) == MAX_UNASKED


def test_what_is_hardly_longer_than_its_excerpt_is_told_whole():
    short = SearchResult(item("a", "x" * 200 + ". " + "y" * 200 + "."), 0.5, excerpt="y" * 200 + ".")
    long = SearchResult(item("b", LONG), 0.5, excerpt="Sentence 3")
    assert [one.excerpt for one in drop_excerpts_of_short_memories([short, long])] == ["", "Sentence 3"]


def test_of_a_long_memory_the_part_is_told_that_the_link_points_at():
    link = RelationLink(item("a", "It is part 17 that broke."), Relation("a", "b"))
    linked = SearchResult(item("b", LONG), 0.5, link=link)
    assert "Sentence 17" in excerpt_for_link(linked, "Who makes it?")
    assert len(excerpt_for_link(linked, "Who makes it?")) < len(LONG) / 2
    assert excerpt_for_link(replace(linked, memory=item("b", "Short.")), "Who makes it?") == ""


def test_what_is_told_anyway_stays_beside_it():
    link = RelationLink(item("a", "It is part 17 that broke."), Relation("a", "b"))
    first = split_statements(LONG)[0]
    excerpt = excerpt_for_link(SearchResult(item("b", LONG), 0.5, link=link, excerpt=first), "Who makes it?")
    assert excerpt.startswith(f"{first} … ")
    assert "Sentence 17" in excerpt


names = st.sampled_from("abcdefgh")
edges = st.lists(st.tuples(names, names, st.floats(0, 1)), max_size=15)


@given(edges, st.lists(names, unique=True, min_size=1, max_size=4))
def test_every_memory_is_reached_once_and_never_surer_than_its_origin(pairs, told):
    results = [
        result(
            name,
            0.9 - 0.1 * place,
            *(
                (item(other), Relation(a, b, confidence=sure), 1)
                for a, b, sure in pairs
                for other in ({a, b} - {name})
                if name in (a, b)
            ),
        )
        for place, name in enumerate(told)
    ]
    reached = follow_relations(results)
    assert len({one.memory.id for one in reached}) == len(reached)
    best = {one.memory.id: one.score for one in results}
    assert all(one.score <= best[one.link.origin.id] for one in reached)
