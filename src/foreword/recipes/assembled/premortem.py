"""The recipe `premortem`: what is searched for each section, and which section gets each result.

Without a failure, the questions are made of a domain and a strategy. With one, the failure is the question:
the nearest precedents come first, whatever their domain, and what is not near is left out. Principles are
included if they were drawn from the precedents or, without a failure, from experiences of the domain; else
only if they are relevant. An experience that answers several questions is included once: the sections take
turns, each taking its most relevant one that is left, so that none of them empties another.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from foreword.compose.assembled import format_as_warning
from foreword.compose.assembly import ContextLayout
from foreword.knowledge.precedents import PRECEDENT_FLOOR
from foreword.knowledge.values import is_value_drawn_from
from foreword.pipeline import FLOOR
from foreword.recipes.assembled.stages import Plan, items_by_id, require_result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from foreword.compose.assembled import ContextItem
    from foreword.compose.assembly import Piece
    from foreword.knowledge.precedents import Failure
    from foreword.recipes.assembled.sources import Finding, Questions, Searcher

PRECEDENTS = "Nearest Precedents"
FAILURES = "Common Failures"
STRATEGY = "Strategy Performance"
SURPRISES = "Unexpected Outcomes"
CAUSES = "Root Causes to Watch"
PRINCIPLES = "Relevant Principles"
SECTIONS = (PRECEDENTS, FAILURES, STRATEGY, SURPRISES, CAUSES, PRINCIPLES)

MAX_PRINCIPLES = 5
"""At most how many principles are asked for."""

MAX_PRECEDENTS = 3
"""At most how many precedents of a failure are included: one that fits is worth more than ten that might."""

_MIN_DOMAIN_SHARE = 0.25
"""A value belongs to a domain if at least this share of the experiences that it was drawn from does."""

_MIN_BELIEVED_SHARE = 0.5
"""A value whose confidence has fallen below this share of its first confidence is left out."""


@runtime_checkable
class FindsPrecedents(Protocol):
    """A searcher that can search for precedents; with any other, whole experiences are searched."""

    def search_precedents(self, failure: Failure, limit: int = ...) -> Finding:
        """The experiences nearest to a failure; their relevance is how well they fit it."""


def premortem_searches_by_section(
    sources: Searcher, domain: str, strategy: str | None, limit: int, failure: Failure | None = None
) -> Questions:
    """The search for each section; that for the strategy only if one is given."""
    if failure:
        return _searches_after_failure(failure, sources, limit)
    experiences = partial(sources.search_experiences, limit=limit)
    asked: dict[str, Callable[[], Finding]] = {
        FAILURES: partial(
            experiences,
            query=f"failures and issues in {domain}",
            axis="full",
            domain=domain,
            outcome="falsified",
        )
    }
    if strategy is not None:
        asked[STRATEGY] = partial(
            experiences, query=f"outcomes using {strategy} strategy", axis="strategy", strategy=strategy
        )
    asked[SURPRISES] = partial(
        experiences, query=f"unexpected outcomes in {domain}", axis="surprise", domain=domain
    )
    asked[CAUSES] = partial(
        experiences, query=f"why hypotheses fail in {domain}", axis="root_cause", domain=domain
    )
    principles = f"principles for {domain}" + (f" using {strategy}" if strategy is not None else "")
    asked[PRINCIPLES] = partial(sources.search_values, query=principles, limit=min(MAX_PRINCIPLES, limit))
    return asked


def _searches_after_failure(failure: Failure, sources: Searcher, limit: int) -> Questions:
    """The searches after a failure: its nearest precedents, and principles."""
    most = min(MAX_PRECEDENTS, limit)
    nearest: Callable[[], Finding] = (
        partial(sources.search_precedents, failure, limit=most)
        if isinstance(sources, FindsPrecedents)
        else partial(sources.search_experiences, query=failure.words, axis="full", limit=most)
    )
    principles = partial(sources.search_values, query=failure.words, limit=min(MAX_PRINCIPLES, limit))
    return {PRECEDENTS: nearest, PRINCIPLES: principles}


def plan_premortem(
    lists: Mapping[str, Sequence[ContextItem]], title: str, domain: str, *, has_failure: bool
) -> Plan:
    """What a premortem shows where: each experience once, in one section, within a hard limit."""
    lists = {
        **lists,
        PRINCIPLES: [_adjust_value_relevance(one, lists, domain) for one in lists.get(PRINCIPLES, ())],
    }
    if has_failure:
        nearest = sorted(lists.get(PRECEDENTS, ()), key=lambda item: -item.relevance)
        lists[PRECEDENTS] = [
            replace(one, result=replace(require_result(one), rank=one.relevance)) for one in nearest
        ]
    turns = assign_to_sections(lists)
    sections = {require_result(item).memory.id: section for section, item in turns}
    floors = {"value": FLOOR, "experience": PRECEDENT_FLOOR if has_failure else 0.0}
    layout = ContextLayout(title, SECTIONS, premortem_footer)
    return Plan(items_by_id(item for _, item in turns), sections, layout, floors, hard=True)


def _adjust_value_relevance(
    value: ContextItem, lists: Mapping[str, Sequence[ContextItem]], domain: str
) -> ContextItem:
    """A value, raised to the floor if it was drawn from a precedent or from experiences of the domain.

    One that experiences have contradicted too often gets a relevance of 0.
    """
    result, facts = require_result(value), require_result(value).memory.metadata
    first = facts.get("cluster_confidence")
    if isinstance(first, int | float) and result.memory.confidence < _MIN_BELIEVED_SHARE * first:
        return replace(value, relevance=0.0, result=replace(result, score=0.0))
    precedent_ids = [
        str(one.metadata.get("id")) for one in lists.get(PRECEDENTS, ()) if one.relevance >= PRECEDENT_FLOOR
    ]
    domains = facts.get("domains")
    counts = domains if isinstance(domains, dict) and PRECEDENTS not in lists else {}
    share = counts.get(domain, 0) / max(1, sum(counts.values()))
    if not is_value_drawn_from(facts, precedent_ids) and share < _MIN_DOMAIN_SHARE:
        return value
    score = max(result.score, FLOOR)
    return replace(value, relevance=max(value.relevance, score), result=replace(result, score=score))


def assign_to_sections(found: Mapping[str, Sequence[ContextItem]]) -> list[tuple[str, ContextItem]]:
    """Each item once with its section, and worded for it; the sections take turns in choosing."""
    lists = {section: list(items) for section, items in found.items()}
    if STRATEGY in lists:
        lists[STRATEGY].sort(key=lambda item: item.metadata.get("outcome_status") != "falsified")
    taken: set[object] = set()
    turns: list[tuple[str, ContextItem]] = []
    queues = {section: iter(items) for section, items in lists.items()}
    while queues:
        for section in list(queues):
            item = next((one for one in queues[section] if _experience_id(one) not in taken), None)
            if item is None:
                del queues[section]
            else:
                taken.add(_experience_id(item))
                turns.append((section, _format_as_warning(section, item)))
    return turns


def _experience_id(item: ContextItem) -> object:
    return item.metadata.get("id") or require_result(item).memory.id


def _format_as_warning(section: str, item: ContextItem) -> ContextItem:
    """An experience worded as a warning for its section; other items, and those made by hand, unchanged."""
    memory = require_result(item).memory
    if item.source != "experience" or memory.text == item.content:
        return item
    return replace(item, content=format_as_warning(memory, failures_stand_out=section == STRATEGY))


def premortem_footer(pieces: Sequence[Piece]) -> str:
    """The last line of a premortem, which counts its experiences."""
    return f"*Based on {sum(piece.item.source == 'experience' for piece in pieces)} past experiences*"
