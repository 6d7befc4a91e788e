"""The recipes of a coding agent: `coding` before a prompt, `brief` before a tool, `session` at the beginning.

    search → hush → drop told, echoes, superseded, repeats → weigh → diversify → share out → fit

What the session's context holds already is not said again, no single source but the user fills the context,
and alerts have tokens of their own. Where shifts of activity, the last session and the topics come from is
handed in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from foreword import pipeline
from foreword.compose.budget import BRIEF_BUDGET, DEFAULT_TOKEN_BUDGET, TokenBudget
from foreword.compose.candidate import InjectionCandidate, InjectionCategory
from foreword.compose.injection import BRIEF_MEMORIES, Alert, ContextFormatter
from foreword.errors import ContextError, ForewordError, NoContext, RetrievalError, ValidationError
from foreword.log import get_logger
from foreword.options import MAX_NAME, SearchOptions, share, whole
from foreword.pipeline import FLOOR, SEARCH, Draft, Stage, drop_repeats, drop_superseded, hush_below
from foreword.recipes.coding.stages import (
    Besides,
    categories,
    diversify,
    drop_echoes,
    drop_told,
    fit_brief,
    fit_full,
    share_out,
    weigh,
)
from foreword.store.base import PutReceipt, Tell
from foreword.types import Dropped, Item, Note, Query, Receipt, SearchResult, StageTime

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from foreword.compose.injection import Fitted
    from foreword.engine.base import Engine
    from foreword.options import Lane

__all__ = [
    "BRIEF_BUDGET",
    "DEFAULT_TOKEN_BUDGET",
    "InjectionCandidate",
    "InjectionCategory",
    "InjectionPipeline",
    "InjectionResult",
    "TokenBudget",
]

_log = get_logger("foreword.coding")

CONSIDERED = 50
"""How many results of the search may become part of a context."""

SOURCE_SHARE = 1 / 3
"""How much of a context one source may fill, unless it is the user."""

SLOT_TOKENS = 70
"""What a memory takes, about: fifty words, its age and its author."""

Diverges = Callable[[Query, str], Alert | None]
"""Tells whether a question is far from what its session was about of late."""

LastSession = Callable[[str, str], Item | None]
"""Given a workspace and a session: the summary of the last session that is not this one."""

Topics = Callable[[str, str], Sequence[str]]
"""Given a workspace and a session: what the workspace is about, a line a topic."""

_Asked = ParamSpec("_Asked")
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class InjectionResult:
    """A context for an agent, ready to be framed; empty when there is nothing worth saying."""

    formatted_context: str
    included_memories: tuple[str, ...]
    divergence_alerts: tuple[Alert, ...]
    tokens_used: int
    categories_included: tuple[InjectionCategory, ...]
    receipt: Receipt

    def required(self) -> str:
        """The context, for callers to whom silence is a failure: then it is an error."""
        if not self.formatted_context:
            raise NoContext
        return self.formatted_context


def recalling(told: frozenset[str], floor: float, slots: int, source_share: float) -> tuple[Stage, ...]:
    """What happens to a question until it is known what may be said, in order."""
    return (
        *SEARCH,
        hush_below(floor),
        drop_told(told),
        drop_echoes,
        drop_superseded,
        drop_repeats,
        weigh,
        diversify,
        share_out(slots, source_share),
    )


class InjectionPipeline:
    """Makes contexts for a coding agent.

    `diverges`, `last_session` and `topics` are asked when there is time; one that fails is a note in the
    receipt. An agent waits for what is said before a prompt, so the cross-encoder is not asked unless the
    `lane` is full. Ages and days are told in `zone`, by default the machine's own.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        diverges: Diverges | None = None,
        last_session: LastSession | None = None,
        topics: Topics | None = None,
        floor: float = FLOOR,
        lane: Lane = "fast",
        source_share: float = SOURCE_SHARE,
        zone: tzinfo | None = None,
    ) -> None:
        self._engine = engine
        self._diverges = diverges
        self._last_session = last_session
        self._topics = topics
        self._floor = share("floor", floor)
        self._lane = lane
        self._source_share = share("source_share", source_share)
        self._zone = zone

    def generate_context(
        self,
        query: str,
        session_id: str,
        budget: TokenBudget = DEFAULT_TOKEN_BUDGET,
        *,
        workspace: str,
        deadline_ms: float | None = None,
        record: bool = True,
    ) -> InjectionResult:
        """What the agent should know before it reads a prompt; empty when nothing is worth saying.

        What is injected is recorded as told to the session, and the receipt is kept; not so for a preview,
        with `record=False`.
        """
        session = _named_session(session_id)
        draft = self._asked(query, workspace, "coding", budget.total, deadline_ms)
        slots = max(1, (budget.cluster_budget + budget.single_space_budget) // SLOT_TOKENS)
        draft, told = self._recalled(draft, session, slots)
        draft, besides = self._shift(draft, session)
        if draft.results or besides.alert is not None:  # on its own, the last session is no reason to speak
            draft, besides = self._with_last_session(draft, session, told, besides)
        draft, fitted = _timed(draft, fit_full, self._formatter(draft), budget, besides)
        return self._result(draft, session, fitted, record=record)

    def generate_brief_context(
        self,
        query: str,
        budget: int = BRIEF_BUDGET,
        *,
        workspace: str,
        session_id: str | None = None,
        deadline_ms: float | None = None,
        record: bool = True,
    ) -> str:
        """The best few memories on one line, for an agent about to use a tool; empty when there are none."""
        return self.generate_brief(
            query, session_id or "", budget, workspace=workspace, deadline_ms=deadline_ms, record=record
        ).formatted_context

    def generate_brief(
        self,
        query: str,
        session_id: str,
        budget: int = BRIEF_BUDGET,
        *,
        workspace: str,
        deadline_ms: float | None = None,
        record: bool = True,
    ) -> InjectionResult:
        """The same, with its receipt."""
        session = _named_session(session_id)
        draft = self._asked(query, workspace, "brief", whole("budget", budget, 1, BRIEF_BUDGET), deadline_ms)
        draft, _ = self._recalled(draft, session, BRIEF_MEMORIES)
        draft, fitted = _timed(draft, fit_brief, self._formatter(draft), budget)
        return self._result(draft, session, fitted, record=record)

    def generate_session_context(
        self,
        session_id: str,
        budget: TokenBudget = DEFAULT_TOKEN_BUDGET,
        *,
        workspace: str,
        record: bool = True,
    ) -> InjectionResult:
        """What an agent should know when a session begins: how the last one ended, and the topics.

        A session that was told something already has begun before, and does not need the topics again.
        """
        session = _named_session(session_id)
        draft = self._asked("", workspace, "session", budget.total, None)
        with _retrieving():
            told = self._engine.store.told(workspace, session)
        draft, besides = self._with_last_session(draft, session, told, Besides())
        if not told:
            draft, topics = _aside(draft, "topics", self._topics, workspace, session)
            besides = replace(besides, topics=tuple(topics or ()))
        draft, fitted = _timed(draft, fit_full, self._formatter(draft), budget, besides)
        return self._result(draft, session, fitted, record=record)

    def _asked(
        self, query: str, workspace: str, recipe: str, budget: int, deadline_ms: float | None
    ) -> Draft:
        options = SearchOptions(limit=CONSIDERED, deadline_ms=deadline_ms, lane=self._lane)
        return self._engine.draft(query, workspace, options, recipe, budget)

    def _recalled(self, draft: Draft, session: str, slots: int) -> tuple[Draft, frozenset[str]]:
        with _retrieving():
            told = self._engine.store.told(draft.query.workspace, session) if session else frozenset()
            stages = recalling(told, self._floor, slots, self._source_share)
            return pipeline.run(draft, stages), told

    def _formatter(self, draft: Draft) -> ContextFormatter:
        now = draft.query.now.astimezone(self._zone)
        return ContextFormatter(now, self._engine.tokenizer, draft.query.text)

    def _shift(self, draft: Draft, session: str) -> tuple[Draft, Besides]:
        """The alert, if the question is far from what the session was about; of a memory that is there."""
        draft, alert = _aside(draft, "divergence", self._diverges, draft.query, session)
        if alert is None:
            return draft, Besides()
        with _retrieving():
            item = self._engine.store.get(draft.query.workspace, alert.memory_id)[0]
        if item is None:
            return draft.noted(Note("divergence", "the memory it speaks of is not there")), Besides()
        return draft, Besides(alert=alert, alerted_by=item)

    def _with_last_session(
        self, draft: Draft, session: str, told: frozenset[str], besides: Besides
    ) -> tuple[Draft, Besides]:
        """The last session's summary, unless it is there already, was told, or is not this workspace's."""
        draft, last = _aside(draft, "last session", self._last_session, draft.query.workspace, session)
        if last is None or last.id in {result.memory.id for result in draft.results}:
            return draft, besides
        if last.workspace != draft.query.workspace:
            dropped = Dropped(SearchResult(last, 0.0), "foreign workspace")
        elif last.id in told:
            dropped = Dropped(SearchResult(last, 0.0), "already in context")
        else:
            return draft, replace(besides, last=last)
        return draft.without([dropped], draft.results), besides

    def _result(self, draft: Draft, session: str, fitted: Fitted, *, record: bool) -> InjectionResult:
        memories = tuple(candidate.memory_id for candidate in fitted.candidates)
        receipt = pipeline.receipt(draft, session or None)
        if record:
            store, workspace = self._engine.store, draft.query.workspace
            if session and memories:  # first, as the session's next question waits for it
                store.post(Tell(workspace, session, memories, draft.query.now))
            store.post(PutReceipt(workspace, receipt))
        return InjectionResult(
            formatted_context=fitted.text,
            included_memories=memories,
            divergence_alerts=fitted.alerts,
            tokens_used=fitted.tokens,
            categories_included=categories(fitted),
            receipt=receipt,
        )


def _named_session(session_id: str | None) -> str:
    """A usable name of a session; empty for none, which is told nothing for good."""
    session = session_id or ""
    if len(session) > MAX_NAME or "\0" in session or not session.isprintable():
        raise ValidationError(f"a session's name has at most {MAX_NAME} printable characters")
    return session


@contextmanager
def _retrieving() -> Iterator[None]:
    """What fails inside is a failure of retrieval; a call that was wrong stays one."""
    try:
        yield
    except ValidationError:
        raise
    except ContextError as error:
        raise RetrievalError(error) from error


def _aside(
    draft: Draft,
    part: str,
    ask: Callable[_Asked, _Found | None] | None,
    *given: _Asked.args,
    **more: _Asked.kwargs,
) -> tuple[Draft, _Found | None]:
    """Ask for something besides the memories, if there is time for it; a failure is a note and a warning."""
    if ask is None:
        return draft, None
    if draft.query.expires is not None and time.monotonic() > draft.query.expires:
        return draft.noted(Note(part, "late: the deadline passed")), None
    started = time.perf_counter()
    found = None
    try:
        found = ask(*given, **more)
    except ForewordError as error:
        _log.warning("a part of the context is missing", part=part, problem=str(error))
        draft = draft.noted(Note(part, f"failed: {error}"))
    return _clocked(draft, part, started), found


def _timed(
    draft: Draft,
    fit: Callable[Concatenate[Draft, _Asked], tuple[Draft, Fitted]],
    *given: _Asked.args,
    **more: _Asked.kwargs,
) -> tuple[Draft, Fitted]:
    """The last stage: it gives the text beside the draft."""
    started = time.perf_counter()
    draft, fitted = fit(draft, *given, **more)
    return _clocked(draft, "fit", started), fitted


def _clocked(draft: Draft, stage: str, started: float) -> Draft:
    elapsed = StageTime(stage, (time.perf_counter() - started) * 1000)
    return replace(draft, times=(*draft.times, elapsed))
