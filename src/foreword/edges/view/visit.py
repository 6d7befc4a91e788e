"""What the parts of the page are made from: the engine, the service's own state, and what was asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from foreword.edges.view.markup import address
from foreword.engine.browsing import Browser
from foreword.engine.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from foreword.engine.context_engine import ContextEngine


class Finding(Protocol):
    """One thing that was examined: its name, its state, whether it is fine, and what to do if not."""

    @property
    def name(self) -> str:
        """What was examined."""

    @property
    def value(self) -> str:
        """How it is."""

    @property
    def ok(self) -> bool:
        """Whether that is fine."""

    @property
    def advice(self) -> str:
        """What to do if it is not."""


@dataclass(frozen=True, slots=True)
class House:
    """What the page shows beside memories: how the service is, and what a doctor finds in a workspace."""

    engine: ContextEngine
    status: Callable[[], Mapping[str, Any]]
    examine: Callable[[str], Sequence[Finding]] = lambda _workspace: ()

    @property
    def home(self) -> Path:
        """The data folder."""
        return self.engine.settings.home.absolute()


@dataclass(frozen=True, slots=True)
class Visit:
    """One request: in which workspace, what its address asks, and what it brings."""

    house: House
    workspace: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def engine(self) -> ContextEngine:
        """The engine that answers."""
        return self.house.engine

    @property
    def browser(self) -> Browser:
        """Looks through the workspace."""
        return Browser(self.house.engine, self.workspace)

    @property
    def ledger(self) -> Ledger:
        """What holds in the workspace."""
        return Ledger(self.house.engine, self.workspace)

    @property
    def now(self) -> datetime:
        """The time it is, in the zone of this machine."""
        return self.house.engine.clock().astimezone()

    def number(self, name: str, default: int = 0) -> int:
        """A whole number that the address asks for; the default if it is none."""
        text = self.query.get(name, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else default

    def link(self, part: str, *names: str, **query: str | int | None) -> str:
        """The address of a part, in the same workspace."""
        return address(part, *names, w=self.workspace, **query)

    def text(self, name: str) -> str:
        """A text that the request brings; empty if it brings none."""
        value = self.body.get(name, "")
        return value if isinstance(value, str) else ""
