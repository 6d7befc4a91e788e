from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.compose.budget import (
    DEFAULT_TOKEN_BUDGET,
    InjectionCandidate,
    InjectionCategory,
    TokenBudget,
    select_within_budget,
)
from foreword.errors import BudgetExceeded, InjectionError, ValidationError

ALERT, CLUSTER, SINGLE, SESSION, TEMPORAL = InjectionCategory


def portion(category, tokens, name=""):
    return InjectionCandidate(
        memory_id=name or f"{category.value} {tokens}",
        content="",
        created_at=datetime(2026, 1, 16, tzinfo=UTC),
        relevance_score=0.5,
        category=category,
        token_count=tokens,
    )


def tokens(candidates, category=None):
    return sum(c.token_count for c in candidates if category in (None, c.category))


def test_the_defaults_are_the_documents_and_sum_to_the_total():
    budget = TokenBudget()
    assert budget == TokenBudget(1250, 200, 400, 300, 200, 50, 100) == DEFAULT_TOKEN_BUDGET
    assert [budget.tokens_for(category) for category in InjectionCategory] == [
        c.budget for c in InjectionCategory
    ]
    assert budget.available == 1150


def test_the_documents_table():
    given_ = [
        portion(ALERT, 45),
        portion(CLUSTER, 130, "a"), portion(CLUSTER, 130, "b"), portion(CLUSTER, 120, "c"),
        portion(SINGLE, 110), portion(SINGLE, 100),
        portion(SESSION, 150),
        portion(TEMPORAL, 15, "d"), portion(TEMPORAL, 15, "e"),
    ]  # fmt: skip
    chosen = select_within_budget(given_, TokenBudget())
    assert chosen == given_
    assert [tokens(chosen, c) for c in InjectionCategory] == [45, 380, 210, 150, 30]
    assert (tokens(chosen), 1250 - tokens(chosen)) == (815, 435)


def test_shares_of_another_total():
    assert TokenBudget.with_total(1200) == TokenBudget(1200, 200, 400, 300, 200, 33, 67)
    assert TokenBudget.with_total(1) == TokenBudget(1, 0, 0, 0, 0, 0, 1)


@given(st.integers(1, 100_000))
def test_the_parts_of_any_total_sum_to_it(total):
    budget = TokenBudget.with_total(total)
    parts = [budget.tokens_for(category) for category in InjectionCategory]
    assert sum(parts) + budget.reserved == budget.total == total
    assert min(parts) >= 0
    assert abs(budget.cluster_budget - total / 3) < 1


def test_parts_that_sum_to_more_than_the_whole_are_refused_with_both_numbers():
    with pytest.raises(BudgetExceeded, match="1250 tokens, the whole has 1000") as refused:
        TokenBudget(total=1000)
    assert (refused.value.requested, refused.value.available) == (1250, 1000)
    assert isinstance(refused.value, InjectionError)
    TokenBudget(total=2000)


@pytest.mark.parametrize("total", [0, -5, 1.5, True, "1250", None])
def test_a_total_is_a_whole_number(total):
    for make in (TokenBudget, TokenBudget.with_total):
        with pytest.raises(ValidationError, match="total"):
            make(total)


@pytest.mark.parametrize("part", [-1, 0.5, None])
def test_a_part_is_a_whole_number(part):
    with pytest.raises(ValidationError, match="cluster_budget"):
        TokenBudget(cluster_budget=part)


def test_what_does_not_fit_is_skipped_and_the_rest_goes_on():
    budget = TokenBudget(100, 0, 100, 0, 0, 0, 0)
    chosen = select_within_budget([portion(CLUSTER, n) for n in (60, 50, 40)], budget)
    assert [c.token_count for c in chosen] == [60, 40]


def test_what_nobody_took_goes_to_the_most_urgent_first():
    given_ = [portion(SINGLE, 250, "s1"), portion(SINGLE, 250, "s2"), portion(CLUSTER, 390, "c1")]
    given_ += [portion(CLUSTER, 390, "c2"), portion(SESSION, 250, "last")]
    chosen = select_within_budget(given_, TokenBudget())
    # 390 + 250 by their own right leave 510: one more of the cluster, and then nothing else fits.
    assert [c.memory_id for c in chosen] == ["c1", "c2", "s1"]


def test_a_memory_larger_than_its_part_still_finds_room_in_the_whole():
    chosen = select_within_budget([portion(SINGLE, 1150)], TokenBudget())
    assert tokens(chosen) == 1150
    assert select_within_budget([portion(SINGLE, 1151)], TokenBudget()) == []


def test_alerts_and_badges_never_take_more_than_their_own():
    given_ = [portion(ALERT, 150, "one"), portion(ALERT, 150, "two"), portion(TEMPORAL, 51)]
    assert [c.memory_id for c in select_within_budget(given_, TokenBudget())] == ["one"]
    assert select_within_budget([portion(ALERT, 201)], TokenBudget()) == []


def test_within_a_category_the_given_order_decides():
    chosen = select_within_budget(
        [portion(SINGLE, 5, "z"), portion(CLUSTER, 5, "y"), portion(SINGLE, 5, "x")], TokenBudget()
    )
    assert [c.memory_id for c in chosen] == ["y", "z", "x"]


candidates = st.lists(
    st.builds(portion, st.sampled_from(InjectionCategory), st.integers(0, 600)), max_size=40
)


@st.composite
def budgets(draw):
    parts = [draw(st.integers(0, 500)) for _ in range(6)]
    return TokenBudget(max(1, sum(parts) + draw(st.integers(0, 500))), *parts)


@given(candidates, st.one_of(budgets(), st.integers(1, 5000).map(TokenBudget.with_total)))
def test_whatever_is_given_the_sums_hold(given_, budget):
    chosen = select_within_budget(given_, budget)
    assert tokens(chosen) <= budget.total - budget.reserved
    assert tokens(chosen, ALERT) <= budget.divergence_budget
    assert tokens(chosen, TEMPORAL) <= budget.temporal_budget
    assert [c.category.priority for c in chosen] == sorted(c.category.priority for c in chosen)
    names = [id(c) for c in chosen]
    assert len(set(names)) == len(names)
    assert set(names) <= {id(c) for c in given_}
    left = budget.available - tokens(chosen)
    for skipped in (c for c in given_ if id(c) not in names and c.category in (CLUSTER, SINGLE, SESSION)):
        assert skipped.token_count > left, "there was room for it"


@given(candidates)
def test_a_category_always_gets_what_its_own_tokens_hold(given_):
    budget = TokenBudget()
    chosen = select_within_budget(given_, budget)
    for category in InjectionCategory:
        own = 0
        for candidate in (c for c in given_ if c.category is category):
            own += candidate.token_count if own + candidate.token_count <= budget.tokens_for(category) else 0
        assert tokens(chosen, category) >= own
