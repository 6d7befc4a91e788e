from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.compose.allocation import (
    CATEGORIES,
    Dynamic,
    Fixed,
    Prioritized,
    TokenBudget,
    TokenBudgetManager,
    redistribute,
)
from foreword.errors import QueryTooLarge, ValidationError
from foreword.testing import WordTokens
from foreword.types import Entity, Turn

WORDS = WordTokens()
QUERY = "Which database do we use?"


def a_state(state, turns, entities=0):
    known = {f"e{at}": Entity(f"e{at}", f"Name {at}", "person") for at in range(entities)}
    return state([Turn("Hello.")] * turns, known=known)


def divide(state, total, turns, *, entities=0, chunks=5, strategy=None, query=QUERY):
    manager = TokenBudgetManager(total, WORDS, strategy or Dynamic())
    return manager.allocate(query, a_state(state, turns, entities), chunks)


def test_the_usual_budget_is_that_of_a_model_with_4096_tokens():
    assert TokenBudget() == TokenBudget(500, 1000, 500, 1500, 596)
    assert TokenBudget().total == 4096


def test_fixed_percentages_give_the_usual_budget_and_its_multiples(state):
    assert divide(state, 4096, 5, strategy=Fixed()) == TokenBudget()
    assert divide(state, 8192, 5, strategy=Fixed()) == TokenBudget(1000, 2000, 1000, 3000, 1192)


def test_a_query_larger_than_its_percentage_takes_from_the_others_in_proportion(state):
    budget = divide(state, 100, 5, strategy=Fixed(10, 20, 10, 50, 10), query="word " * 55)
    assert budget == TokenBudget(5, 10, 5, 25, 55)


@pytest.mark.parametrize(
    ("turns", "percent"), [(0, (15, 15, 60)), (3, (15, 15, 60)), (4, (30, 20, 40)), (11, (40, 25, 25))]
)
def test_the_longer_the_conversation_the_more_of_it_and_the_less_of_documents(state, turns, percent):
    budget = divide(state, 4105, turns)  # 105 for the query, 400 for the system, 3600 for the rest
    assert budget == TokenBudget(400, *(3600 * share // 90 for share in percent), 105)


def test_many_entities_get_more_and_documents_give_it(state):
    few, many = divide(state, 4105, 20, entities=10), divide(state, 4105, 20, entities=11)
    assert many.entities == few.entities * 1.3
    assert many.rag == few.rag - (many.entities - few.entities)
    assert many.history == few.history
    assert many.total == few.total == 4105


def test_without_documents_their_tokens_go_half_to_the_conversation_and_half_to_entities(state):
    budget = divide(state, 4105, 5, chunks=0)
    assert budget == TokenBudget(400, 2000, 1600, 0, 105)


def test_instructions_take_no_more_than_a_tenth_of_a_small_budget(state):
    assert divide(state, 305, 5).system == 20


def test_parts_are_filled_in_their_order_until_nothing_is_left(state):
    order = Prioritized(("rag", "history", "system", "entities"))
    assert divide(state, 2105, 5, entities=1, strategy=order) == TokenBudget(0, 500, 0, 1500, 105)


def test_what_is_over_goes_to_the_first_in_the_order(state):
    order = Prioritized(("history", "system"))
    assert divide(state, 10_105, 5, strategy=order) == TokenBudget(500, 9500, 0, 0, 105)


def test_a_part_with_nothing_to_say_is_passed_over(state):
    order = Prioritized(("rag", "entities", "history", "system"))
    assert divide(state, 1105, 0, chunks=0, strategy=order) == TokenBudget(1000, 0, 0, 0, 105)


def test_a_query_that_is_the_whole_budget_has_all_of_it_and_one_word_more_is_refused(state):
    for strategy in (Fixed(), Dynamic(), Prioritized()):
        budget = divide(state, 50, 5, strategy=strategy, query="word " * 50)
        assert budget == TokenBudget(0, 0, 0, 0, 50)
        with pytest.raises(QueryTooLarge, match="51 tokens and the whole budget is 50"):
            divide(state, 50, 5, strategy=strategy, query="word " * 51)


@pytest.mark.parametrize("percentages", [(50, 60), (-1,), (101,), (float("nan"),), (None,), ("50",), (True,)])
def test_percentages_that_make_no_sense_are_refused(percentages):
    with pytest.raises(ValidationError, match="percentages"):
        Fixed(*percentages)


@pytest.mark.parametrize("order", [("rag", "rag"), ("rag", "weather")])
def test_an_order_names_parts_that_exist_once_each(order):
    with pytest.raises(ValidationError, match="there are: system, history, entities, rag, query"):
        Prioritized(order)


@pytest.mark.parametrize("order", [(), "rag", None])
def test_an_order_that_names_no_part_is_refused_with_those_there_are(order):
    with pytest.raises(ValidationError, match=r"names no parts; .*: system, history, entities, rag"):
        Prioritized(order)


def test_percentages_that_are_all_0_are_refused():
    with pytest.raises(ValidationError, match="every percentage is 0"):
        Fixed(0, 0, 0, 0, 0)


def test_a_strategy_leaves_out_what_it_gives_nothing_but_never_the_query():
    left_out = {
        strategy: {name for name in CATEGORIES if strategy.leaves_out(name)}
        for strategy in (Dynamic(), Fixed(20, 0, 0, 80, 0), Prioritized(("system", "rag")), Prioritized())
    }
    assert list(left_out.values()) == [set(), {"history", "entities"}, {"history", "entities"}, set()]


@pytest.mark.parametrize("strategy", ["dynamic", None, Dynamic])
def test_what_is_no_strategy_is_refused_with_those_there_are(strategy):
    with pytest.raises(ValidationError, match=r"strategy is Dynamic\(\), Fixed\(…\) or Prioritized"):
        TokenBudgetManager(100, WORDS, strategy)


def test_negative_parts_and_totals_are_refused():
    with pytest.raises(ValidationError, match="history"):
        TokenBudget(history=-1)
    with pytest.raises(ValidationError, match="total_budget"):
        TokenBudgetManager(0, WORDS)


def test_what_a_part_does_not_want_flows_to_those_that_want_more():
    flowed = redistribute(
        TokenBudget(100, 100, 100, 200, 100),
        {"system": 40, "history": 500, "entities": 0, "rag": 210, "query": 90},
    )
    assert flowed == TokenBudget(40, 260, 0, 210, 90)
    assert flowed.total == 600


def test_a_part_that_is_not_mentioned_keeps_what_it_has_and_what_nobody_wants_is_left():
    assert redistribute(TokenBudget(10, 10, 10, 10, 10), {"rag": 0}) == TokenBudget(10, 10, 10, 0, 10)


def test_tokens_flow_even_to_a_part_that_had_none():
    assert redistribute(TokenBudget(0, 0, 0, 50, 0), {"rag": 10, "history": 99}) == TokenBudget(
        0, 40, 0, 10, 0
    )


def a_strategy(chance):
    percentages = [chance.random() for _ in CATEGORIES]
    whole = sum(percentages) / chance.choice((100, 60, 99.999))
    order = chance.sample(CATEGORIES, chance.randrange(1, 6))
    return chance.choice(
        (Dynamic(), Fixed(*(share / whole for share in percentages)), Prioritized(tuple(order)))
    )


def test_whatever_the_strategy_parts_are_whole_within_the_total_and_the_query_has_room(state):
    for seed in range(2000):
        chance = random.Random(seed)
        total = chance.choice(
            (chance.randrange(1, 30), chance.randrange(1, 5000), chance.randrange(1, 200_001))
        )
        tokens = chance.randrange(0, min(total, 3000) + 1)
        budget = divide(
            state,
            total,
            chance.choice((0, 3, 7, 20)),
            entities=chance.choice((0, 5, 15)),
            chunks=chance.choice((0, 1, 100)),
            strategy=a_strategy(chance),
            query="w " * tokens,
        )
        assert all(budget.tokens_for(name) >= 0 for name in CATEGORIES), seed
        assert budget.total <= total, seed
        assert budget.query >= tokens, seed


SIZES = st.integers(0, 200_000)


@given(
    st.builds(TokenBudget, SIZES, SIZES, SIZES, SIZES, SIZES),
    st.dictionaries(st.sampled_from(CATEGORIES), st.integers(-5, 300_000)),
)
def test_flowing_never_makes_more_and_leaves_nothing_where_it_is_wanted(budget, wanted):
    flowed = redistribute(budget, wanted)
    assert flowed.total <= budget.total
    wants = {name: max(0, wanted.get(name, budget.tokens_for(name))) for name in CATEGORIES}
    assert all(flowed.tokens_for(name) <= wants[name] for name in CATEGORIES)
    assert all(flowed.tokens_for(name) >= min(budget.tokens_for(name), wants[name]) for name in CATEGORIES)
    if flowed.total < budget.total:
        assert flowed.total == sum(wants.values())
    assert redistribute(budget, wanted) == flowed
