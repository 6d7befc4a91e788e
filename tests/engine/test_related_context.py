"""Related memories in a context: told with their relation, and filtered like everything else."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword import ContextEngine, Settings

QUESTION = "Which day do we deploy?"
DEPLOY = "We deploy on Tuesday, the day when everybody is here."
LOCK = "Migration 31 held a lock for fourteen minutes."


@pytest.fixture
def engine(home, clock):
    """An engine that finds by words alone, so that only relations lead to memories in other words."""
    with ContextEngine(settings=Settings(home=home, embedding="none"), clock=clock) as engine:
        yield engine


@pytest.fixture
def related(engine, clock):
    """Two memories that share no word; the one is why the other holds."""
    lock = engine.remember(LOCK, "w", confidence=0.6)
    clock.advance(days=1)
    deploy = engine.remember(DEPLOY, "w", confidence=0.9)
    for number in range(6):
        engine.remember(f"Recipe {number}: flour, water, salt and patience.", "w")
    engine.relate(deploy.id, lock.id, "w", "caused_by", 0.9)
    return deploy, lock


def decisions(result):
    return {entry.item_id: (entry.decision, entry.detail) for entry in result.receipt.entries}


def test_what_is_related_is_in_the_context_when_asked_for(engine, related):
    deploy, lock = related
    plain = engine.build_context(QUESTION, "w")
    asked = engine.build_context(QUESTION, "w", include_relationships=True)
    assert LOCK not in plain.context
    assert f"“{DEPLOY}” because of: {LOCK}" in asked.context
    assert decisions(asked)[lock.id] == ("injected", f"{deploy.id} caused_by {lock.id}")
    assert asked.memories[0].memory == deploy


def test_the_depth_says_how_far_relations_are_followed(engine, related):
    _, lock = related
    far = engine.remember("Nobody had read the manual of the queue.", "w")
    engine.relate(far.id, lock.id, "w", "causes")
    near = engine.build_context(QUESTION, "w", include_relationships=True)
    deep = engine.build_context(QUESTION, "w", include_relationships=True, relationship_depth=2)
    assert "manual" not in near.context
    assert f"causes “{LOCK}”: Nobody had read the manual" in deep.context


def test_a_question_that_asks_why_finds_the_cause_unasked(engine, related):
    assert LOCK in engine.build_context("Why do we deploy on Tuesday?", "w").context


@pytest.mark.parametrize(
    "filters",
    [
        {"min_confidence": 0.8},
        {"kinds": ("document",)},
        {"memory_types": ("decision",)},
        {"conversation_id": "c"},
    ],
)
def test_what_does_not_pass_the_filters_is_not_told(engine, related, filters):
    assert LOCK not in engine.build_context(QUESTION, "w", include_relationships=True, **filters).context


def test_dates_bound_what_is_related(engine, related):
    deploy, _ = related
    asked = {"include_relationships": True, "date_from": deploy.created_at - timedelta(hours=1)}
    context = engine.build_context(QUESTION, "w", **asked).context
    assert DEPLOY in context
    assert LOCK not in context


def test_what_was_superseded_is_not_told_as_related(engine, related):
    _, lock = related
    newer = engine.remember("Recipe 9: no, rye.", "w", supersedes=lock.id)
    asked = engine.build_context(QUESTION, "w", include_relationships=True)
    assert LOCK not in asked.context
    assert decisions(asked)[lock.id] == ("superseded", newer.id)


def test_a_bare_question_is_not_told_as_related(engine, related):
    deploy, _ = related
    question = engine.remember("Shall we ask the museum?", "w", kind="turn")
    engine.relate(deploy.id, question.id, "w")
    asked = engine.build_context(QUESTION, "w", include_relationships=True)
    assert decisions(asked)[question.id][0] == "no answer"


def test_the_floor_is_for_what_is_related_too(engine, related):
    deploy, lock = related
    engine.relate(deploy.id, lock.id, "w", "caused_by", 0.01)
    asked = engine.build_context(QUESTION, "w", include_relationships=True)
    assert decisions(asked)[lock.id][0] == "below floor"
    assert LOCK in engine.build_context(QUESTION, "w", include_relationships=True, floor=0.0).context


def test_at_most_as_many_related_ones_as_the_limit(engine, related):
    deploy, _ = related
    for number in range(5):
        other = engine.remember(f"Museum {number} has its own doors.", "w")
        engine.relate(deploy.id, other.id, "w", confidence=0.5)
    asked = engine.build_context(QUESTION, "w", include_relationships=True, limit=2)
    linked = [one for one in asked.memories if one.link is not None]
    assert len(linked) == 2
    assert [one for one in decisions(asked).values() if one == ("over limit", "related, limit 2")]


def test_nothing_is_decided_twice_about_one_memory(engine, related):
    asked = engine.build_context(
        "Why Tuesday? Migration lock flour", "w", include_relationships=True, limit=3
    )
    ids = [entry.item_id for entry in asked.receipt.entries]
    assert len(ids) == len(set(ids))


def test_a_related_memory_over_the_limit_is_listed_once(engine, related):
    deploy, _ = related
    others = [engine.remember(f"A day at museum {number} begins at its doors.", "w") for number in range(4)]
    for other in others:
        engine.relate(deploy.id, other.id, "w", confidence=0.5)
    asked = engine.build_context(QUESTION, "w", include_relationships=True, limit=1)
    ids = [entry.item_id for entry in asked.receipt.entries]
    assert len(ids) == len(set(ids))


pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.floats(0, 1)), max_size=10)
workspaces = iter(range(10_000))


@given(pairs, st.floats(0, 1), st.integers(5, 120), st.integers(1, 4), st.sampled_from([0.0, None]))
@settings(max_examples=25)
def test_filters_budget_and_supersession_hold_for_every_graph(engine, edges, sure, budget, depth, floor):
    workspace = f"g{next(workspaces)}"
    items = [
        engine.remember(f"{DEPLOY} Note {number}.", workspace, confidence=number / 5) for number in range(5)
    ]
    items.append(engine.remember("Another day.", workspace, confidence=1.0, supersedes=items[4].id))
    for one, other, confidence in edges:
        engine.relate(items[one].id, items[other].id, workspace, confidence=confidence)
    result = engine.build_context(
        QUESTION, workspace, include_relationships=True, relationship_depth=depth, min_confidence=sure,
        token_budget=budget, floor=floor,
    )  # fmt: skip
    assert result.token_count <= budget
    assert all(one.memory.confidence >= sure for one in result.memories)
    assert items[4].id not in {one.memory.id for one in result.memories}
    assert len({one.memory.id for one in result.memories}) == len(result.memories)
