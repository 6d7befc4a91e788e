"""An experience as an item: its text, its type, the filters that find it, the links between its versions.

The type is `domain/strategy/status`: by that a store filters inside its search.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from foreword.knowledge import axes
from foreword.knowledge.experience import DOMAINS, OPEN, STATUSES, STRATEGIES, facts, one_of
from foreword.types import Filters, Item

if TYPE_CHECKING:
    from datetime import datetime

    from foreword.knowledge.experience import Experience
    from foreword.types import Source


def fitting(
    domain: str | None = None,
    strategy: str | None = None,
    status: str | None = None,
    *,
    resolved: bool = False,
) -> Filters:
    """The filters for these experiences; where nothing is named, those that are open pass too."""
    every = STATUSES if resolved else (OPEN, *STATUSES)
    chosen = (
        DOMAINS if domain is None else (one_of("domain", domain, DOMAINS),),
        STRATEGIES if strategy is None else (one_of("strategy", strategy, STRATEGIES),),
        every if status is None else (one_of("outcome", status, every),),
    )
    if domain is strategy is status is None:
        return Filters(kinds=("experience",))
    return Filters(kinds=("experience",), types=tuple(map("/".join, product(*chosen))))


def item_of(experience: Experience, workspace: str, at: datetime, source: Source) -> Item:
    """The item that holds an experience from that moment on."""
    return Item(
        text=axes.full(experience),
        workspace=workspace,
        kind="experience",
        type=f"{experience.domain}/{experience.strategy}/{experience.status}",
        created_at=at,
        session=experience.session,
        confidence=experience.weight,
        source=source,
        metadata=facts(experience),
    )


def beside(item: Item, *ids: str) -> dict[str, list[str]]:
    """How a version says which others it goes with when they are forgotten."""
    return {"derived_from": [item.source.name], "turns": [*ids]}
