from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.compose.budget import InjectionCandidate, InjectionCategory
from foreword.errors import ValidationError
from foreword.recall.priority import MMR_LAMBDA, DiversityBonus, PriorityRanker, RecencyFactor

NOW = datetime(2026, 1, 16, 12, tzinfo=UTC)
ALERT, CLUSTER, SINGLE, SESSION, TEMPORAL = InjectionCategory


def candidate(name="a", relevance=0.5, age=timedelta(0), rankings=(), content="", **more):
    agreement = PriorityRanker.compute_weighted_agreement(rankings)
    return InjectionCandidate(
        memory_id=name,
        content=content or f"something about {name}",
        created_at=NOW - age,
        relevance_score=relevance,
        weighted_agreement=agreement,
        **{"category": InjectionCategory.from_agreement(agreement)} | more,
    )


def priority_of(*args, **more):
    return PriorityRanker.compute_priority(candidate(*args, **more), NOW)


def ids(candidates):
    return [one.memory_id for one in candidates]


# The document's examples

A = ("A", 0.82, timedelta(hours=2), [("E1", 1), ("E5", 2), ("E7", 3), ("E10", 5)])
B = ("B", 0.78, timedelta(minutes=59), [("E1", 1), ("E2", 1), ("E5", 1), ("E7", 2), ("E10", 3)])
C = ("C", 0.90, timedelta(days=3), [("E1", 1)])


@pytest.mark.parametrize(
    ("memory", "agreement", "recency", "bonus", "priority", "category"),
    [(A, 2.03, 1.2, 1.0, 0.98, SINGLE), (B, 3.83, 1.3, 1.2, 1.22, CLUSTER), (C, 1.0, 1.1, 1.0, 0.99, SINGLE)],
    ids="ABC",
)
def test_the_priority_of_the_documents_memories(memory, agreement, recency, bonus, priority, category):
    got = priority_of(*memory)
    assert got.weighted_agreement == pytest.approx(agreement, abs=0.005)
    assert (got.recency_factor, got.diversity_bonus) == (recency, bonus)
    assert got.priority == pytest.approx(priority, abs=0.005)
    assert got.category is category


def test_the_memory_on_which_spaces_agree_comes_first_despite_lower_relevance():
    assert ids(PriorityRanker.rank_candidates([priority_of(*A), priority_of(*B), priority_of(*C)])) == [
        "B",
        "C",
        "A",
    ]


@pytest.mark.parametrize(
    ("ranks", "agreement", "bonus"),
    [((1, 1, 1), 3.0, 1.2), ((1, 2, 5), 1.7, 1.0), ((1, 1, 1, 1, 1), 5.0, 1.5), ((1, 1, 1, 2, 3), 3.83, 1.2)],
)
def test_the_documents_scenarios_of_agreement(ranks, agreement, bonus):
    total = PriorityRanker.compute_weighted_agreement((f"E{n}", rank) for n, rank in enumerate(ranks))
    assert total == pytest.approx(agreement, abs=0.005)
    assert DiversityBonus.compute(total) == bonus


# Factors


@pytest.mark.parametrize(
    ("age", "factor"),
    [
        (timedelta(0), 1.3),
        (timedelta(hours=1, microseconds=-1), 1.3),
        (timedelta(hours=1), 1.2),
        (timedelta(days=1, microseconds=-1), 1.2),
        (timedelta(days=1), 1.1),
        (timedelta(days=7, microseconds=-1), 1.1),
        (timedelta(days=7), 1.0),
        (timedelta(days=30, microseconds=-1), 1.0),
        (timedelta(days=30), 0.8),
        (timedelta(days=9999), 0.8),
    ],
)
def test_recency_falls_in_steps(age, factor):
    assert RecencyFactor.compute(NOW - age, NOW) == factor


def test_a_time_ahead_of_the_clock_gains_nothing_by_it():
    assert RecencyFactor.compute(NOW + timedelta(seconds=5), NOW) == 1.3
    assert RecencyFactor.compute(NOW + timedelta(days=400), NOW) == 0.8


@pytest.mark.parametrize(
    ("agreement", "bonus"), [(0.0, 1.0), (2.499, 1.0), (2.5, 1.2), (4.999, 1.2), (5.0, 1.5), (9.0, 1.5)]
)
def test_the_bonus_rises_in_steps(agreement, bonus):
    assert DiversityBonus.compute(agreement) == bonus


@pytest.mark.parametrize(("agreement", "category"), [(0.0, SINGLE), (2.499, SINGLE), (2.5, CLUSTER)])
def test_the_category_follows_from_the_agreement(agreement, category):
    assert InjectionCategory.from_agreement(agreement) is category


def test_every_category_has_the_documents_priority_and_budget():
    assert [(c.priority, c.budget) for c in InjectionCategory] == [
        (1, 200), (2, 400), (3, 300), (4, 200), (5, 50),
    ]  # fmt: skip


def test_no_space_no_agreement():
    assert PriorityRanker.compute_weighted_agreement([]) == 0


@pytest.mark.parametrize("rank", [0, -1])
def test_ranks_count_from_one(rank):
    with pytest.raises(ValidationError, match="count from 1"):
        PriorityRanker.compute_weighted_agreement([("E1", rank)])


# Order


def test_categories_come_before_priorities_and_equals_keep_their_order():
    given_ = [
        candidate("session", category=SESSION, priority=9.0),
        candidate("low", category=SINGLE, priority=0.1),
        candidate("alert", category=ALERT),
        candidate("high", category=SINGLE, priority=0.2),
        candidate("tie", category=SINGLE, priority=0.1),
        candidate("cluster", category=CLUSTER, priority=0.01),
    ]
    assert ids(PriorityRanker.rank_candidates(given_)) == [
        "alert",
        "cluster",
        "high",
        "low",
        "tie",
        "session",
    ]


def test_the_next_is_relevant_and_unlike_those_before_it():
    ranked = [
        candidate("first", priority=1.0, content="postgres json operators in the shop"),
        candidate("echo", priority=0.95, content="postgres json operators in the shop again"),
        candidate("other", priority=0.8, content="deploys happen on tuesdays"),
    ]
    assert ids(PriorityRanker.diversify(ranked)) == ["first", "other", "echo"]
    assert ids(PriorityRanker.diversify(ranked, balance=1.0)) == ["first", "echo", "other"]


def test_a_similarity_that_is_given_is_the_one_that_counts():
    ranked = [candidate(name, priority=priority) for name, priority in (("a", 1.0), ("b", 0.9), ("c", 0.8))]

    def alike(one, other):
        return float({one.memory_id, other.memory_id} == {"a", "b"})

    assert ids(PriorityRanker.diversify(ranked, alike)) == ["a", "c", "b"]


def test_being_different_never_lifts_a_memory_out_of_its_category():
    ranked = [
        candidate("one", priority=1.0, content="same words here", category=CLUSTER),
        candidate("two", priority=0.9, content="same words here", category=CLUSTER),
        candidate("three", priority=0.9, content="altogether something else", category=SINGLE),
    ]
    assert ids(PriorityRanker.diversify(ranked)) == ["one", "two", "three"]


def test_what_a_higher_category_has_said_counts_against_a_lower_one():
    ranked = [
        candidate("said", priority=0.5, content="the staff timeout is fifteen minutes", category=CLUSTER),
        candidate("again", priority=0.5, content="the staff timeout is fifteen minutes now", category=SINGLE),
        candidate("new", priority=0.45, content="deploys happen on tuesdays", category=SINGLE),
    ]
    assert ids(PriorityRanker.diversify(ranked)) == ["said", "new", "again"]


@pytest.mark.parametrize("balance", [-0.1, 1.1, float("nan"), "much"])
def test_a_balance_is_a_share(balance):
    with pytest.raises(ValidationError, match="balance"):
        PriorityRanker.diversify([], balance=balance)


numbers = st.floats(0, 2, allow_nan=False)
texts = st.lists(st.sampled_from(["red", "green", "blue", "gold"]), min_size=1, max_size=5).map(" ".join)


@given(st.lists(st.tuples(numbers, texts, st.sampled_from(InjectionCategory)), max_size=12))
def test_each_step_takes_the_most_marginal_of_its_category_and_nothing_is_lost(drawn):
    candidates = [
        candidate(str(n), content=text, priority=priority, category=category)
        for n, (priority, text, category) in enumerate(drawn)
    ]
    ranked = PriorityRanker.rank_candidates(candidates)
    order = PriorityRanker.diversify(ranked)
    assert sorted(ids(order)) == sorted(ids(candidates))
    assert [c.category.priority for c in order] == sorted(c.category.priority for c in candidates)
    best = max((c.priority for c in ranked), default=0) or 1

    def worth(one, before):
        bag = set(one.content.split())
        near = [len(bag & set(o.content.split())) / (len(bag | set(o.content.split())) or 1) for o in before]
        return MMR_LAMBDA * one.priority / best - (1 - MMR_LAMBDA) * max(near, default=0)

    for place, one in enumerate(order):
        rivals = [other for other in order[place:] if other.category is one.category]
        assert worth(one, order[:place]) >= max(worth(r, order[:place]) for r in rivals) - 1e-9


@given(numbers, st.timedeltas(timedelta(0), timedelta(days=100)), st.lists(st.integers(1, 60), max_size=9))
def test_priority_is_relevance_times_recency_times_diversity(relevance, age, ranks):
    got = priority_of("a", relevance, age, [(str(n), rank) for n, rank in enumerate(ranks)])
    assert got.priority == pytest.approx(relevance * got.recency_factor * got.diversity_bonus)
    assert 0.8 <= got.recency_factor <= 1.3
    assert 1.0 <= got.diversity_bonus <= 1.5
