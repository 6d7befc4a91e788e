"""What a new session should know of the others: how the last one ended, and what the workspace is about.

Reads from a store and never writes: whoever asked for a summary stores it. A summary names the turns and the
sources whose words it repeats, so that forgetting one of them can take the summary with it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from foreword.errors import ForewordError
from foreword.knowledge.digest import Digest
from foreword.knowledge.summarise import digest
from foreword.knowledge.topics import Topic, topics
from foreword.log import get_logger
from foreword.store.base import Recent
from foreword.types import TRUSTS, Filters, Item, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from foreword.store.base import Store
    from foreword.types import Trust

_log = get_logger(__name__)

SUMMARY_WORDS = 120
_RECENT_ITEMS = 500
_FIRST_PAGE, _LAST_PAGE = 16, 4_096
_MOST_PORTFOLIOS = 32
_MOST_DIVERGENCES = 3
_MOST_TURNS = 2_000

_Known = tuple[tuple[str, ...], tuple[Topic, ...]]
"""The items that topics came from, and the topics."""


class Summariser(Protocol):
    """Anything that puts turns into a few words; it may fail, and then the extractive summary stands in."""

    def summarise(self, turns: Sequence[Item], words: int) -> str:
        """The turns in about this many words."""
        ...


@dataclass(frozen=True, slots=True)
class PortfolioSummary:
    """What a workspace is about: its surest topics, and where its sessions lately changed course."""

    topics: tuple[Topic, ...] = ()
    divergences: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The portfolio in two lines at most; empty when there is nothing to say."""
        lines = []
        if self.topics:
            lines.append(f"Topics: {', '.join(topic.name for topic in self.topics)}")
        if self.divergences:
            lines.append(f"Recent shifts: {'; '.join(self.divergences)}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class SummaryUpdate:
    """A new summary of a session, to be stored, and the ids of those it supersedes, to be amended."""

    item: Item
    replaces: tuple[str, ...] = ()


class SessionContextProvider:
    """What other sessions left for this one. Safe to share between threads."""

    def __init__(
        self, store: Store, clock: Callable[[], datetime], summariser: Summariser | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._summariser = summariser
        self._portfolios: OrderedDict[tuple[str, str], _Known] = OrderedDict()
        self._lock = threading.Lock()

    def get_last_session_summary(self, current_session_id: str, workspace: str) -> Item | None:
        """The newest summary of another session that still holds; None when there is none."""
        page = _FIRST_PAGE
        while True:
            found = self._recent(workspace, Filters(kinds=("summary",)), page)
            others = (item for item in found if item.session and item.session != current_session_id)
            last = next((item for item in others if item.superseded_by is None), None)
            if last is not None or len(found) < page or page >= _LAST_PAGE:
                return last
            page *= 4

    def get_session_portfolio(
        self, session_id: str, workspace: str, divergences: Sequence[str] = ()
    ) -> PortfolioSummary:
        """The five surest topics of the workspace as a session begins, and where it lately changed course.

        What the session itself has said is left out: it knows that. Topics are worked out anew only when
        the items they come from have changed.
        """
        items = self._recent(workspace, Filters(), _RECENT_ITEMS)
        items = tuple(item for item in items if item.session is None or item.session != session_id)
        state = tuple(item.id if item.superseded_by is None else f"-{item.id}" for item in items)
        with self._lock:
            known = self._portfolios.get((workspace, session_id))
        if known is None or known[0] != state:
            known = (state, topics(items, self._clock()))
            with self._lock:
                self._portfolios[workspace, session_id] = known
                self._portfolios.move_to_end((workspace, session_id))
                if len(self._portfolios) > _MOST_PORTFOLIOS:
                    self._portfolios.popitem(last=False)
        return PortfolioSummary(known[1], tuple(divergences)[:_MOST_DIVERGENCES])

    def update_summary(
        self, session: str, workspace: str, words: int = SUMMARY_WORDS
    ) -> SummaryUpdate | None:
        """A summary of the session as it stands, and what it replaces; None when it would say nothing new."""
        filters = Filters(kinds=("turn",), session=session)
        turns = self._recent(workspace, filters, _MOST_TURNS)[::-1]
        item = summary_item(
            turns, session, workspace, self._clock(), words=words, summariser=self._summariser
        )
        if item is None:
            return None
        olds = self._recent(workspace, Filters(kinds=("summary",), session=session), _FIRST_PAGE)
        standing = [old for old in olds if old.superseded_by is None]
        if any(old.text == item.text for old in standing):
            return None
        return SummaryUpdate(item, tuple(old.id for old in standing))

    def _recent(self, workspace: str, filters: Filters, limit: int) -> tuple[Item, ...]:
        return cast(tuple[Item, ...], self._store.batch([Recent(workspace, filters, limit)])[0])


def summary_item(
    turns: Sequence[Item],
    session: str,
    workspace: str,
    at: datetime,
    *,
    words: int = SUMMARY_WORDS,
    summariser: Summariser | None = None,
) -> Item | None:
    """The summary of a session as an item, not yet stored; None when the turns say nothing.

    It is trusted as the agent is, unless all it repeats comes from tools or the web: then as little as the
    least trusted part.
    """
    told = _told(turns, words, summariser)
    if not told.text.strip():
        return None
    parts = [turns[place] for place in told.quoted]
    return Item(
        text=told.text,
        workspace=workspace,
        kind="summary",
        about="summary of a session",
        created_at=at,
        session=session,
        conversation=session,
        source=Source("foreword", _trust(parts)),
        metadata={
            "turns": [part.id for part in parts if part.id],
            "derived_from": sorted({part.source.name for part in parts}),
        },
    )


def _told(turns: Sequence[Item], words: int, summariser: Summariser | None) -> Digest:
    """The summary by the model that the user chose, if there is one and it answers; else our own."""
    if summariser is not None and turns:
        try:
            text = summariser.summarise(turns, words)
        except ForewordError as error:
            _log.warning("the summary is extractive: the model failed", problem=str(error))
        else:
            return Digest(text, tuple(range(len(turns))))
    return digest(turns, words)


def _trust(parts: Sequence[Item]) -> Trust:
    least = max((TRUSTS.index(part.source.trust) for part in parts), default=0)
    untrusted = all(part.source.trust in ("tool", "web") for part in parts)
    return TRUSTS[least] if untrusted and parts else "agent"
