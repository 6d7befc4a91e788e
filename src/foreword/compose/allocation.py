"""Divide a prompt's tokens among its parts before their text is written.

There are three strategies: fixed percentages (`Fixed`), weights that follow the length of the conversation
(`Dynamic`), and an order of importance (`Prioritized`). With each of them no part is negative, the parts sum
to at most the total, and the query always gets its tokens. `redistribute` gives the tokens that a part does
not need to the others. This module knows numbers only, and no texts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Literal, get_args

from foreword.errors import QueryTooLarge, ValidationError
from foreword.options import check_whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.text.tokens import Tokenizer
    from foreword.types import DialogueState

BudgetCategory = Literal["system", "history", "entities", "rag", "query"]
CATEGORIES: tuple[BudgetCategory, ...] = get_args(BudgetCategory)
MAX_TOKENS = 10_000_000

_QUERY_RESERVE = 100
"""How many tokens are added to those of the query, for headings and for joining the parts."""

_SYSTEM, _SYSTEM_PERCENT = 400, 10
"""How many tokens instructions usually need, and the largest percentage of a small budget that they take."""

_SHORT, _MEDIUM = 3, 10
_MANY_ENTITIES, _ENTITY_BOOST = 10, 1.3


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """The tokens of each part of a prompt; the defaults are for a model with a window of 4096 tokens."""

    system: int = 500
    history: int = 1000
    entities: int = 500
    rag: int = 1500
    query: int = 596

    def __post_init__(self) -> None:
        for part in fields(self):
            check_whole_number(part.name, getattr(self, part.name), 0, MAX_TOKENS)

    @property
    def total(self) -> int:
        """The tokens of all parts together."""
        return sum(self.tokens_for(category) for category in CATEGORIES)

    def tokens_for(self, category: BudgetCategory) -> int:
        """The tokens of one part."""
        tokens: int = getattr(self, category)
        return tokens


_USUAL = TokenBudget()


@dataclass(frozen=True, slots=True)
class Fixed:
    """Every part gets its percentage of the whole; a part with 0 is never in the prompt.

    A query that needs more than its percentage takes tokens from the other parts.
    """

    system_pct: float = 100 * _USUAL.system / _USUAL.total
    history_pct: float = 100 * _USUAL.history / _USUAL.total
    entities_pct: float = 100 * _USUAL.entities / _USUAL.total
    rag_pct: float = 100 * _USUAL.rag / _USUAL.total
    query_pct: float = 100 * _USUAL.query / _USUAL.total

    def __post_init__(self) -> None:
        percentages = [getattr(self, part.name) for part in fields(self)]
        if not all(map(_is_percentage, percentages)):
            raise ValidationError(f"percentages are numbers from 0 to 100, not {percentages}")
        if sum(percentages) > 100 + 1e-6:
            raise ValidationError(f"percentages sum to {sum(percentages):g}; make them 100 or less")
        if not any(percentages):
            raise ValidationError("every percentage is 0; give at least one part some of the window")

    def percentage_of(self, category: BudgetCategory) -> float:
        """The percentage of one part."""
        percentage: float = getattr(self, f"{category}_pct")
        return percentage

    def leaves_out(self, category: BudgetCategory) -> bool:
        """Whether a part is never in the prompt, even if tokens are free; always false for the query."""
        return category != "query" and self.percentage_of(category) == 0


@dataclass(frozen=True, slots=True)
class Dynamic:
    """The longer the conversation, the more tokens go to its history and the fewer to documents."""

    def leaves_out(self, category: BudgetCategory) -> bool:  # noqa: ARG002
        """No part is left out."""
        return False


@dataclass(frozen=True, slots=True)
class Prioritized:
    """Parts get their usual size in this order while tokens last; the first part gets the remainder.

    The query comes first, wherever the order names it. A part that the order does not name, or that has no
    content, gets no tokens even if some are free: without `system` there are no instructions.
    """

    order: tuple[BudgetCategory, ...] = ("query", "system", "history", "rag", "entities")

    def __post_init__(self) -> None:
        there = ", ".join(CATEGORIES)
        if not isinstance(self.order, list | tuple) or not self.order:
            raise ValidationError(f"order {self.order!r} names no parts; give a tuple of some of: {there}")
        unknown = [name for name in self.order if name not in CATEGORIES]
        if unknown or len(set(self.order)) < len(self.order):
            raise ValidationError(f"order {list(self.order)} must name parts once each; there are: {there}")

    def leaves_out(self, category: BudgetCategory) -> bool:
        """Whether a part is never in the prompt, even if tokens are free; always false for the query."""
        return category != "query" and category not in self.order


AllocationStrategy = Fixed | Dynamic | Prioritized


@dataclass(frozen=True, slots=True)
class TokenBudgetManager:
    """Divides a total number of tokens among the parts of a prompt, by one strategy."""

    total_budget: int
    tokenizer: Tokenizer
    strategy: AllocationStrategy = Dynamic()

    def __post_init__(self) -> None:
        check_whole_number("total_budget", self.total_budget, 1, MAX_TOKENS)
        check_strategy(self.strategy)

    def allocate(self, query: str, dialogue_state: DialogueState, available_chunks: int) -> TokenBudget:
        """The tokens of each part; raises QueryTooLarge if the query alone has more than the total."""
        query_tokens = self.tokenizer.count(query)
        if query_tokens > self.total_budget:
            raise QueryTooLarge(query_tokens, self.total_budget)
        if isinstance(self.strategy, Fixed):
            return self._divide_by_percentages(self.strategy, query_tokens)
        turns, entities = len(dialogue_state.turns), dialogue_state.entity_registry.active_count()
        if isinstance(self.strategy, Prioritized):
            there = {"history": turns, "entities": entities, "rag": available_chunks}
            order = [name for name in self.strategy.order if name != "query" and there.get(name, 1) > 0]
            return self._divide_by_priority(order, query_tokens)
        return self._divide_dynamically(query_tokens, _dynamic_weights(turns, entities, available_chunks))

    def _divide_by_percentages(self, strategy: Fixed, query_tokens: int) -> TokenBudget:
        """Each part's percentage of the total; a longer query takes tokens from the others."""
        percentages = [strategy.percentage_of(category) for category in CATEGORIES]
        *others, query = _divide_by_weights(self.total_budget, percentages, of=100)
        if query_tokens > query:
            room = min(sum(others), self.total_budget - query_tokens)
            others, query = _divide_by_weights(room, others), query_tokens
        system, history, entities, rag = others
        return TokenBudget(system, history, entities, rag, query)

    def _divide_dynamically(self, query_tokens: int, weights: Sequence[float]) -> TokenBudget:
        """The query with a reserve, the usual size of the system prompt, the rest by weight."""
        query = min(self.total_budget, query_tokens + _QUERY_RESERVE)
        remaining = self.total_budget - query
        system = min(_SYSTEM, remaining * _SYSTEM_PERCENT // 100)
        history, entities, rag = _divide_by_weights(remaining - system, weights)
        return TokenBudget(system, history, entities, rag, query)

    def _divide_by_priority(self, order: Sequence[BudgetCategory], query_tokens: int) -> TokenBudget:
        """The usual size for each part in order, while tokens last; the first gets the remainder."""
        given: dict[BudgetCategory, int] = dict.fromkeys(CATEGORIES, 0)
        given["query"] = min(self.total_budget, query_tokens + _QUERY_RESERVE)
        left = self.total_budget - given["query"]
        for name in order:
            given[name] = min(_USUAL.tokens_for(name), left)
            left -= given[name]
        if order:
            given[order[0]] += left
        return TokenBudget(**given)


def _dynamic_weights(turns: int, entity_count: int, chunks: int) -> tuple[float, float, float]:
    """The weights by which history, entities and documents share tokens, in this order."""
    if turns <= _SHORT:
        history, entities, rag = 15.0, 15.0, 60.0
    elif turns <= _MEDIUM:
        history, entities, rag = 30.0, 20.0, 40.0
    else:
        history, entities, rag = 40.0, 25.0, 25.0
    if entity_count > _MANY_ENTITIES:
        more = entities * (_ENTITY_BOOST - 1)
        entities, rag = entities + more, rag - more
    if chunks <= 0:
        history, entities, rag = history + rag / 2, entities + rag / 2, 0.0
    return history, entities, rag


def check_strategy(strategy: object) -> AllocationStrategy:
    """Return the strategy if it is one of the three; else raise an error that names them."""
    if not isinstance(strategy, AllocationStrategy):
        raise ValidationError(f"strategy is Dynamic(), Fixed(…) or Prioritized((…)), not {strategy!r}")
    return strategy


def set_category_tokens_within_total(
    budget: TokenBudget, category: BudgetCategory, tokens: int
) -> TokenBudget:
    """The same total with exactly `tokens` for one part; the other parts grow or shrink in proportion.

    The query keeps its tokens as long as the other parts have any to give.
    """
    tokens = min(tokens, budget.total)
    query = 0 if category == "query" else min(budget.query, budget.total - tokens)
    others = [name for name in CATEGORIES if name not in (category, "query")]
    shares = _divide_by_weights(budget.total - tokens - query, [budget.tokens_for(name) for name in others])
    given: dict[BudgetCategory, int] = dict(zip(others, shares, strict=True))
    return TokenBudget(**{"query": query, **given, category: tokens})


def redistribute(budget: TokenBudget, wanted: Mapping[BudgetCategory, int]) -> TokenBudget:
    """A budget in which tokens that a part does not want go to the parts that want more.

    These parts share them in proportion to the tokens they have, and none gets more than it wants. A part
    that `wanted` does not name keeps its tokens. Tokens that no part wants are dropped, so the total may
    shrink; it never grows.
    """
    wants = {name: max(0, wanted.get(name, budget.tokens_for(name))) for name in CATEGORIES}
    given = {name: min(budget.tokens_for(name), wants[name]) for name in CATEGORIES}
    spare = budget.total - sum(given.values())
    while spare and (wanting := [name for name in CATEGORIES if given[name] < wants[name]]):
        offered = _divide_by_weights(spare, [budget.tokens_for(name) or 1 for name in wanting])
        for name, offer in zip(wanting, offered, strict=True):
            taken = min(offer, wants[name] - given[name])
            given[name] += taken
            spare -= taken
    return TokenBudget(**given)


def _is_percentage(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100


def _divide_by_weights(whole_tokens: int, weights: Sequence[float], of: float | None = None) -> list[int]:
    """Whole numbers of tokens in proportion to the weights.

    They sum to `whole_tokens`. With `of`, each weight is a part of that number, and the sum may be less.
    """
    total = sum(weights) if of is None else of
    if total <= 0:
        return [0] * len(weights)
    edges = [min(whole_tokens, round(whole_tokens * edge / total)) for edge in accumulate(weights)]
    return [after - before for before, after in pairwise([0, *edges])]
