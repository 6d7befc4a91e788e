"""How a prompt's tokens are divided among its parts before anything is worded.

Three ways: by fixed percentages, by what the conversation looks like, or in an order of importance. Whatever
the way: no part is negative, together they are no more than the whole, and the query has room, because the
rest of the prompt is there for it. Knows numbers only; what a part leaves over goes to the others by
`redistribute`.
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
"""How many tokens are kept beside the query: for headings, and for what joining the parts costs."""

_SYSTEM, _SYSTEM_PERCENT = 400, 10
"""How many tokens instructions usually need, and at most which percentage of a small budget they take."""

_SHORT, _MEDIUM = 3, 10
_MANY_ENTITIES, _ENTITY_BOOST = 10, 1.3


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """The tokens of each part of a prompt; the defaults are for a model with 4096."""

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
        """All parts together."""
        return sum(self.of(category) for category in CATEGORIES)

    def of(self, category: BudgetCategory) -> int:
        """The tokens of one part."""
        tokens: int = getattr(self, category)
        return tokens


_USUAL = TokenBudget()


@dataclass(frozen=True, slots=True)
class Fixed:
    """Every part has its percentage of the whole, and one with 0 stays out, whatever others leave over.

    A query that needs more than its percentage takes it from the others.
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

    def of(self, category: BudgetCategory) -> float:
        """The percentage of one part."""
        percentage: float = getattr(self, f"{category}_pct")
        return percentage

    def leaves_out(self, category: BudgetCategory) -> bool:
        """Whether a part is not to be in the prompt, however much room there is; never the query."""
        return category != "query" and self.of(category) == 0


@dataclass(frozen=True, slots=True)
class Dynamic:
    """The longer the conversation, the more of it and the less of documents."""

    def leaves_out(self, category: BudgetCategory) -> bool:  # noqa: ARG002
        """No part is left out."""
        return False


@dataclass(frozen=True, slots=True)
class Prioritized:
    """Parts are filled to their usual size in this order until nothing is left; the first takes what is over.

    The query comes first wherever it stands. A part that is not named, or has nothing to say, gets nothing,
    whatever others leave over: name `system`, or there are no instructions.
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
        """Whether a part is not to be in the prompt, however much room there is; never the query."""
        return category != "query" and category not in self.order


AllocationStrategy = Fixed | Dynamic | Prioritized


@dataclass(frozen=True, slots=True)
class TokenBudgetManager:
    """Divides one total by one strategy."""

    total_budget: int
    tokenizer: Tokenizer
    strategy: AllocationStrategy = Dynamic()

    def __post_init__(self) -> None:
        check_whole_number("total_budget", self.total_budget, 1, MAX_TOKENS)
        check_strategy(self.strategy)

    def allocate(self, query: str, dialogue_state: DialogueState, available_chunks: int) -> TokenBudget:
        """The parts' tokens; refuses a query that is more than the whole."""
        query_tokens = self.tokenizer.count(query)
        if query_tokens > self.total_budget:
            raise QueryTooLarge(query_tokens, self.total_budget)
        if isinstance(self.strategy, Fixed):
            return self._divide_fixed(self.strategy, query_tokens)
        turns, entities = len(dialogue_state.turns), dialogue_state.entity_registry.active_count()
        if isinstance(self.strategy, Prioritized):
            there = {"history": turns, "entities": entities, "rag": available_chunks}
            order = [name for name in self.strategy.order if name != "query" and there.get(name, 1) > 0]
            return self._divide_by_priority(order, query_tokens)
        return self._divide_dynamically(query_tokens, _dynamic_weights(turns, entities, available_chunks))

    def _divide_fixed(self, strategy: Fixed, query_tokens: int) -> TokenBudget:
        percentages = [strategy.of(category) for category in CATEGORIES]
        *others, query = _divide_by_weights(self.total_budget, percentages, of=100)
        if query_tokens > query:
            room = min(sum(others), self.total_budget - query_tokens)
            others, query = _divide_by_weights(room, others), query_tokens
        system, history, entities, rag = others
        return TokenBudget(system, history, entities, rag, query)

    def _divide_dynamically(self, query_tokens: int, weights: Sequence[float]) -> TokenBudget:
        query = min(self.total_budget, query_tokens + _QUERY_RESERVE)
        remaining = self.total_budget - query
        system = min(_SYSTEM, remaining * _SYSTEM_PERCENT // 100)
        history, entities, rag = _divide_by_weights(remaining - system, weights)
        return TokenBudget(system, history, entities, rag, query)

    def _divide_by_priority(self, order: Sequence[BudgetCategory], query_tokens: int) -> TokenBudget:
        given: dict[BudgetCategory, int] = dict.fromkeys(CATEGORIES, 0)
        given["query"] = min(self.total_budget, query_tokens + _QUERY_RESERVE)
        left = self.total_budget - given["query"]
        for name in order:
            given[name] = min(_USUAL.of(name), left)
            left -= given[name]
        if order:
            given[order[0]] += left
        return TokenBudget(**given)


def _dynamic_weights(turns: int, entity_count: int, chunks: int) -> tuple[float, float, float]:
    """How history, entities and documents share what is left for them, by how much each has to say."""
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
    """One of the ways to divide a window, or an error that names them."""
    if not isinstance(strategy, AllocationStrategy):
        raise ValidationError(f"strategy is Dynamic(), Fixed(…) or Prioritized((…)), not {strategy!r}")
    return strategy


def reserve(budget: TokenBudget, category: BudgetCategory, tokens: int) -> TokenBudget:
    """The same total with exactly `tokens` for one part; the others give or take in proportion.

    The query keeps what it has as long as the others have anything to give.
    """
    tokens = min(tokens, budget.total)
    query = 0 if category == "query" else min(budget.query, budget.total - tokens)
    others = [name for name in CATEGORIES if name not in (category, "query")]
    shares = _divide_by_weights(budget.total - tokens - query, [budget.of(name) for name in others])
    given: dict[BudgetCategory, int] = dict(zip(others, shares, strict=True))
    return TokenBudget(**{"query": query, **given, category: tokens})


def redistribute(budget: TokenBudget, wanted: Mapping[BudgetCategory, int]) -> TokenBudget:
    """The same tokens where they are of use: what a part does not want goes to those that want more.

    They share it in proportion to what they have, none beyond what it wants. A part that `wanted` does not
    name keeps what it has. What nobody wants is left out, so the whole may shrink; it never grows.
    """
    wants = {name: max(0, wanted.get(name, budget.of(name))) for name in CATEGORIES}
    given = {name: min(budget.of(name), wants[name]) for name in CATEGORIES}
    spare = budget.total - sum(given.values())
    while spare and (wanting := [name for name in CATEGORIES if given[name] < wants[name]]):
        offered = _divide_by_weights(spare, [budget.of(name) or 1 for name in wanting])
        for name, offer in zip(wanting, offered, strict=True):
            taken = min(offer, wants[name] - given[name])
            given[name] += taken
            spare -= taken
    return TokenBudget(**given)


def _is_percentage(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100


def _divide_by_weights(whole_tokens: int, weights: Sequence[float], of: float | None = None) -> list[int]:
    """Whole numbers in proportion to the weights, which sum to exactly their part of the whole."""
    total = sum(weights) if of is None else of
    if total <= 0:
        return [0] * len(weights)
    edges = [min(whole_tokens, round(whole_tokens * edge / total)) for edge in accumulate(weights)]
    return [after - before for before, after in pairwise([0, *edges])]
