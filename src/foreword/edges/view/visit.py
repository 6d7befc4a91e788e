"""What the parts of the page are made from: the engine, the service's state, and the request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from foreword.edges.view.markup import part_address
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
        """The state it is in."""

    @property
    def ok(self) -> bool:
        """Whether that state is fine."""

    @property
    def advice(self) -> str:
        """What to do if it is not."""


@dataclass(frozen=True, slots=True)
class PageBackend:
    """What the page gets its data from: the engine, the service's status, and the doctor.

    `examine` returns the doctor's findings in a workspace.
    """

    engine: ContextEngine
    status: Callable[[], Mapping[str, Any]]
    examine: Callable[[str], Sequence[Finding]] = lambda _workspace: ()

    @property
    def home(self) -> Path:
        """The data folder."""
        return self.engine.settings.home.absolute()


@dataclass(frozen=True, slots=True)
class PageVisit:
    """One request: its workspace, the parameters of its address, and the JSON of its body."""

    backend: PageBackend
    workspace: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def engine(self) -> ContextEngine:
        """The engine that answers."""
        return self.backend.engine

    @property
    def browser(self) -> Browser:
        """A browser of the items in the workspace."""
        return Browser(self.backend.engine, self.workspace)

    @property
    def ledger(self) -> Ledger:
        """The ledger of the workspace: open ends, decisions and facts."""
        return Ledger(self.backend.engine, self.workspace)

    @property
    def now(self) -> datetime:
        """The current time, in the time zone of this machine."""
        return self.backend.engine.clock().astimezone()

    def query_number(self, name: str, default: int = 0) -> int:
        """A whole number from the address; the default if it is missing or no number."""
        text = self.query.get(name, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else default

    def link(self, part: str, *names: str, **query: str | int | None) -> str:
        """The address of a part of the page, in the same workspace."""
        return part_address(part, *names, w=self.workspace, **query)

    def text_field_from_body(self, name: str) -> str:
        """A text from the body of the request; empty if it is missing."""
        value = self.body.get(name, "")
        return value if isinstance(value, str) else ""
