"""What a new session should know of the others: how the last one ended, and what the workspace is about.

Reads from a store and never writes: the caller stores a summary. A summary names the turns and the
sources whose words it repeats, so that forgetting one of them can take the summary with it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from foreword.errors import ForewordError
from foreword.knowledge.decisions import list_decisions
from foreword.knowledge.open_ends import find_replacing_items, list_open_ends
from foreword.knowledge.session_summary import (
    SUMMARY_WORDS,
    SessionSummary,
    summarise_outcome,
    summarise_session,
)
from foreword.knowledge.topics import Topic, find_topics
from foreword.log import get_logger
from foreword.text.provenance import is_from_third_party, least_trust, may_replace
from foreword.text.words import content_words, is_in_unspaced_script
from foreword.types import Filters, Item, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from foreword.knowledge.decisions import Decision
    from foreword.knowledge.open_ends import OpenEnd
    from foreword.knowledge.session_summary import Summariser
    from foreword.store.base import Store
    from foreword.types import Trust

_log = get_logger(__name__)

_MAX_TOPIC_ITEMS = 500
_FIRST_PAGE_ITEMS, _LAST_PAGE_ITEMS = 16, 4_096
_MAX_CACHED_PORTFOLIOS = 32
_MAX_DIVERGENCES = 3
_MAX_TURNS = 2_000

RUNNING_FOR = timedelta(hours=1)
"""How long a session that nobody has ended counts as running after its last summary or statement."""

ENDED = "ended"
"""The key in a summary's metadata that says that its session is over."""

START_SUMMARY_WORDS, START_OPEN_WORDS, START_DECISION_WORDS = 55, 80, 60
_LATEST_DECISIONS = timedelta(days=3)
"""Decisions made at most this long before the last one are shown with it."""

_MIN_DECISION_WORDS = 3
MAX_START_OPEN, MAX_START_DECISIONS, MAX_START_COMMITS = 5, 3, 3
"""What a session is shown at its beginning: at most so many words of the last session's summary, of open
ends and of decisions; and at most so many open ends, decisions and commits."""

_Line = TypeVar("_Line")
_CachedTopics = tuple[tuple[str, ...], tuple[Topic, ...]]
"""The ids of the items that topics came from, and the topics."""


@dataclass(frozen=True, slots=True)
class PortfolioSummary:
    """What a workspace is about: its surest topics, and where its sessions lately changed course."""

    topics: tuple[Topic, ...] = ()
    divergences: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The portfolio in at most two lines; empty when there is nothing to say."""
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
    """Finds and writes summaries of sessions, and finds what a workspace is about. Safe between threads."""

    def __init__(
        self, store: Store, clock: Callable[[], datetime], summariser: Summariser | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._summariser = summariser
        self._portfolios: OrderedDict[tuple[str, str], _CachedTopics] = OrderedDict()
        self._lock = threading.Lock()

    def get_last_session_summary(self, current_session_id: str, workspace: str) -> Item | None:
        """The newest summary of another session that is over; None when there is none.

        If the current session has lost its context, its own summary is returned instead.
        """
        running = self._find_running_sessions(workspace, current_session_id)
        page = _FIRST_PAGE_ITEMS
        while True:
            found = self._store.recent(workspace, Filters(kinds=("summary",)), page)
            standing = [item for item in found if item.session and item.superseded_by is None]
            own = [item for item in standing if item.session == current_session_id]
            if own and own[0].id not in self._store.shown_ids(workspace, current_session_id):
                return own[0]
            others = (item for item in standing if item.session != current_session_id)
            last = next((item for item in others if item.session not in running), None)
            if last is not None or len(found) < page or page >= _LAST_PAGE_ITEMS:
                return last
            page *= 4

    def _find_running_sessions(self, workspace: str, current_session_id: str) -> frozenset[str]:
        """The other sessions that still run: with a turn or summary within the hour, and not ended."""
        left_at = self._clock() - RUNNING_FOR
        found = self._store.recent(
            workspace, Filters(kinds=("turn", "summary"), since=left_at), _LAST_PAGE_ITEMS
        )
        latest = [item for item in found if item.created_at > left_at]
        ended = {item.session for item in latest if item.kind == "summary" and item.metadata.get(ENDED)}
        sessions = {item.session for item in latest if item.session} - ended - {current_session_id}
        return frozenset(filter(None, sessions))

    def describe_last_session(self, current_session_id: str, workspace: str) -> Item | None:
        """The last session's summary, reduced to what was done, in whole sentences; None if there is none.

        Open ends and decisions are left out, because they are listed by themselves; so is what was replaced
        since.
        """
        summary = self.get_last_session_summary(current_session_id, workspace)
        if summary is None or self._summariser is not None:
            return summary
        filters = Filters(kinds=("turn",), session=summary.session)
        turns = self._store.recent(workspace, filters, _MAX_TURNS)[::-1]
        replacing = find_replacing_items(self._store, workspace, [turn.id for turn in turns])
        standing = [
            turn
            for turn in turns
            if turn.superseded_by is None
            and not any(may_replace(newer.source, turn.source) for newer in replacing.get(turn.id, ()))
        ]
        outcome = summarise_outcome(standing, START_SUMMARY_WORDS)
        source = Source(summary.source.name, _summary_trust(outcome, standing))
        return replace(summary, text=outcome.text, source=source) if outcome.text else None

    def choose_open_ends(self, current_session_id: str, workspace: str) -> list[OpenEnd]:
        """The newest open ends that a new session is shown; none that is for some day.

        Open ends of another session that still runs are left to that session.
        """
        running = self._find_running_sessions(workspace, current_session_id)
        ends = (
            end
            for end in list_open_ends(self._store, workspace)
            if not end.is_someday and end.item.session not in running
        )
        return _choose_within_words(ends, lambda end: end.text, START_OPEN_WORDS)[:MAX_START_OPEN]

    def choose_decisions(self, current_session_id: str, workspace: str) -> list[Decision]:
        """The latest decisions that a new session is shown, newest first; none of sessions that still run."""
        running = self._find_running_sessions(workspace, current_session_id)
        decided = [one for one in list_decisions(self._store, workspace) if one.item.session not in running]
        since = decided[0].item.created_at - _LATEST_DECISIONS if decided else None
        latest = (
            one for one in decided if since and one.item.created_at >= since and _is_clear_alone(one.text)
        )
        return _choose_within_words(latest, lambda one: one.text, START_DECISION_WORDS)[:MAX_START_DECISIONS]

    def find_commits_since_last_session(self, current_session_id: str, workspace: str) -> list[Item]:
        """The commits since the last session, newest first; none if there was no session before."""
        last = self.get_last_session_summary(current_session_id, workspace)
        if last is None:
            return []
        commits = self._store.recent(workspace, Filters(kinds=("commit",), since=last.created_at), 50)
        return [item for item in commits if item.created_at > last.created_at][:MAX_START_COMMITS]

    def get_session_portfolio(
        self, session_id: str, workspace: str, divergences: Sequence[str] = ()
    ) -> PortfolioSummary:
        """The five surest topics of the workspace as a session begins, and where it lately changed course.

        The session's own items are left out, since it knows them. Topics are worked out anew only when
        the items they come from have changed.
        """
        items = self._store.recent(workspace, Filters(), _MAX_TOPIC_ITEMS)
        items = tuple(item for item in items if item.session is None or item.session != session_id)
        state = tuple(item.id if item.superseded_by is None else f"-{item.id}" for item in items)
        with self._lock:
            known = self._portfolios.get((workspace, session_id))
        if known is None or known[0] != state:
            known = (state, find_topics(items, self._clock()))
            with self._lock:
                self._portfolios[workspace, session_id] = known
                self._portfolios.move_to_end((workspace, session_id))
                if len(self._portfolios) > _MAX_CACHED_PORTFOLIOS:
                    self._portfolios.popitem(last=False)
        return PortfolioSummary(known[1], tuple(divergences)[:_MAX_DIVERGENCES])

    def propose_summary_update(
        self, session: str, workspace: str, words: int = SUMMARY_WORDS
    ) -> SummaryUpdate | None:
        """A new summary of the session so far, and those it replaces; None if it would say nothing new."""
        filters = Filters(kinds=("turn",), session=session)
        turns = self._store.recent(workspace, filters, _MAX_TURNS)[::-1]
        item = build_summary_item(
            turns, session, workspace, self._clock(), words=words, summariser=self._summariser
        )
        if item is None:
            return None
        olds = self._store.recent(workspace, Filters(kinds=("summary",), session=session), _FIRST_PAGE_ITEMS)
        standing = [old for old in olds if old.superseded_by is None]
        if any(old.text == item.text for old in standing):
            return None
        return SummaryUpdate(item, tuple(old.id for old in standing))

    def find_own_summary(self, session: str, workspace: str) -> Item | None:
        """The current summary of this session; None if it has none yet."""
        found = self._store.recent(workspace, Filters(kinds=("summary",), session=session), _FIRST_PAGE_ITEMS)
        return next((item for item in found if item.superseded_by is None), None)


def _is_clear_alone(text: str) -> bool:
    """Whether a decision can be understood alone: "then do the one line" cannot."""
    return "?" not in text and (
        is_in_unspaced_script(text) or len(content_words(text)) >= _MIN_DECISION_WORDS
    )


def _choose_within_words(
    lines: Iterable[_Line], text_of: Callable[[_Line], str], max_words: int
) -> list[_Line]:
    """The lines that together fit into this many words, none cut; the first one always."""
    chosen: list[_Line] = []
    room = max_words
    for line in lines:
        words = len(text_of(line).split())
        if not chosen or words <= room:
            chosen.append(line)
            room -= words
    return chosen


def build_summary_item(
    turns: Sequence[Item],
    session: str,
    workspace: str,
    at: datetime,
    *,
    words: int = SUMMARY_WORDS,
    summariser: Summariser | None = None,
) -> Item | None:
    """The summary of a session as an item, not yet stored; None when the turns say nothing.

    It is trusted as little as the least trusted of what it quotes, and never more than the agent.
    """
    summary = _summarise_with_fallback(turns, words, summariser)
    if not summary.text.strip():
        return None
    cited = [turns[at] for at in sorted((*summary.quoted_turns, *summary.reported_turns))]
    return Item(
        text=summary.text,
        workspace=workspace,
        kind="summary",
        about="summary of a session",
        created_at=at,
        session=session,
        conversation=session,
        source=Source("foreword", _summary_trust(summary, turns)),
        metadata={
            "turns": [turn.id for turn in cited if turn.id],
            "derived_from": sorted({turn.source.name for turn in cited}),
        },
    )


def _summarise_with_fallback(
    turns: Sequence[Item], words: int, summariser: Summariser | None
) -> SessionSummary:
    """The summary by the given summariser, if there is one and it answers; else the extractive one.

    The summariser is shown what the user and the agent said, and of tools only the calls: otherwise it could
    present a tool's output as somebody's statement.
    """
    readable = {at: turn for at, turn in enumerate(map(_drop_words_from_outside, turns)) if turn.text}
    if summariser is not None and readable:
        try:
            text = summariser.summarise(list(readable.values()), words)
        except ForewordError as error:
            _log.warning("the summary is extractive: the model failed", problem=str(error))
        else:
            said = {at for at in readable if not is_from_third_party(turns[at].source)}
            return SessionSummary(text, tuple(sorted(said)), tuple(sorted(readable.keys() - said)))
    return summarise_session(turns, words)


def _drop_words_from_outside(turn: Item) -> Item:
    """A turn without words from outside: of a tool's call only its first line, which the agent wrote."""
    if not is_from_third_party(turn.source):
        return turn
    is_call = turn.source.trust == "tool"
    return replace(turn, text=turn.text.partition("\n")[0] if is_call else "")


def _summary_trust(summary: SessionSummary, turns: Sequence[Item]) -> Trust:
    """How far a summary of these turns is trusted."""
    quoted = [turns[at].source for at in summary.quoted_turns or summary.reported_turns]
    return least_trust([*quoted, Source("foreword", "agent")])
