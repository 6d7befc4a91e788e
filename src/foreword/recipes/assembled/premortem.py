"""The recipe `premortem`: what went wrong before in a domain, and with a strategy, before it does again.

    failures · how the strategy fared · surprises · root causes · principles

Every section has a question of its own. An experience that answers several of them is told once: sections
take turns, each its most relevant that is still there, so that none of them empties another.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from foreword.compose.assembled import premortem_footer, word_warning
from foreword.compose.assembly import Layout
from foreword.recipes.assembled.stages import Plan, by_id, result_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from foreword.compose.assembled import ContextItem
    from foreword.compose.assembly import Piece
    from foreword.recipes.assembled.stages import Finding, Questions, Sources

FAILURES = "Common Failures"
STRATEGY = "Strategy Performance"
SURPRISES = "Unexpected Outcomes"
CAUSES = "Root Causes to Watch"
PRINCIPLES = "Relevant Principles"
SECTIONS = (FAILURES, STRATEGY, SURPRISES, CAUSES, PRINCIPLES)

MAX_PRINCIPLES = 5
"""At most how many principles are asked for."""


def premortem_questions(sources: Sources, domain: str, strategy: str | None, limit: int) -> Questions:
    """What is asked for each section; of a strategy only when there is one."""
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


def arrange_by_section(lists: Mapping[str, Sequence[ContextItem]], title: str) -> Plan:
    """Each experience once, in the section that tells it; the limit is hard."""
    turns = take_turns(lists)
    sections = {result_of(item).memory.id: section for section, item in turns}
    return Plan(
        by_id(item for _, item in turns), sections, Layout(title, SECTIONS, _experiences_footer), hard=True
    )


def take_turns(found: Mapping[str, Sequence[ContextItem]]) -> list[tuple[str, ContextItem]]:
    """Each item once, with the section that tells it, worded for it; sections take turns."""
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
                turns.append((section, _as_warning(section, item)))
    return turns


def _experiences_footer(pieces: Sequence[Piece]) -> str:
    return premortem_footer(sum(piece.item.source == "experience" for piece in pieces))


def _experience_id(item: ContextItem) -> object:
    return item.metadata.get("id") or result_of(item).memory.id


def _as_warning(section: str, item: ContextItem) -> ContextItem:
    memory = result_of(item).memory
    if item.source != "experience" or memory.text == item.content:
        return item
    return replace(item, content=word_warning(memory, failures_stand_out=section == STRATEGY))
