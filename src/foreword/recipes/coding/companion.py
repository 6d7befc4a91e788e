"""The engine beside an agent: what each event of its session makes us remember, and what we say to it.

    a session begins      what is open, what was decided last, what changed since, and the topics
    a prompt              what matters to it; then the prompt is kept
    a tool is about to    a brief, for tools that change or run something
    a tool has            the call and its result are kept; changes and runs become evidence of the open
                          experience they fit; what a run has closed is told, and what fails for the first
                          time in a session brings what went wrong before
    the agent stops       its message is kept, the session's summary made anew
    a compact, a clear    what the session was shown may be shown again, and its own summary is told

What is said counts as shown once it was delivered, which only the caller knows, and to the agent that was
told: a subagent's context is its own. Nothing here reads bytes, words JSON or talks to sockets. A failure
while answering becomes silence and a warning; a failure while keeping is raised, so that the caller can bring
the event again.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

from foreword.capture.agent import items_from_event
from foreword.capture.junk import RecentTexts, junk_reason
from foreword.capture.redact import redact
from foreword.capture.runs.judge import SeenFailures, judge_run
from foreword.capture.tool_calls import read_command
from foreword.errors import ForewordError
from foreword.knowledge.experiences import Experiences
from foreword.knowledge.sessions import ENDED, SessionContextProvider
from foreword.log import get_logger
from foreword.pipeline import record, unrelated_cosine
from foreword.recall.divergence import MAX_COMPARED_TURNS, DivergenceDetector
from foreword.recipes.assembled.assembler import ContextAssembler
from foreword.recipes.assembled.searcher import EngineSearcher
from foreword.recipes.coding.failure import read_failure
from foreword.recipes.coding.injection import InjectionPipeline
from foreword.recipes.coding.learning import Learning, describe_teachings, read_event_run
from foreword.store.base import Amend, ClearShown, Delete, ListRecent, MarkShown
from foreword.text.frame import remove_frames, wrap_in_frame
from foreword.text.question import MAX_QUESTION_CHARACTERS, question_first
from foreword.types import Filters, Note, SearchResult
from foreword.workspace import workspace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.capture.agent import AgentEvent
    from foreword.engine.base import Engine
    from foreword.knowledge.experience import Experience
    from foreword.knowledge.sessions import Summariser
    from foreword.recall.divergence import DivergenceAlert
    from foreword.recipes.coding.injection import InjectionResult
    from foreword.types import Item, Query, Receipt

_log = get_logger("foreword.companion")

ACTING_TOOLS = {
    *("bash", "shell", "exec_command", "run_shell_command", "task", "agent"),
    *("edit", "multiedit", "write", "notebookedit", "write_file", "replace", "apply_patch"),
}
"""Tools that change something or run something: there a reminder is worth its tokens."""

_QUESTION_FIELDS = ("command", "file_path", "path", "description", "prompt", "old_string", "query", "input")
_FOLDER_SECONDS = 5.0
"""How many seconds the workspace of a folder is remembered."""

_MAX_FOLDERS = 256
_PREMORTEM_TOKENS = 800
_DEFAULT_DOMAIN = "debugging"
"""The domain of a failure that no open experience speaks of."""

_ASK_FOR_REASONS, _MAX_REASONS_ASKED = timedelta(days=7), 2
"""How long after its end a session that begins is asked why an experience ended so, and of how many."""

_SUMMARISED_AFTER = ("Stop", "PreCompact", "SessionEnd")


@dataclass(frozen=True, slots=True)
class Saying:
    """What is to be said to an agent, framed; empty when nothing is worth saying.

    Whoever carries it reports with `note_delivered` or `note_undelivered` what became of it. `context` is
    whose context it goes into, `item_ids` are what that context then holds, and `failures` the failed tests
    that it warns of.
    """

    text: str = ""
    receipt: Receipt | None = None
    context: str = ""
    item_ids: tuple[str, ...] = ()
    failures: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.text)


class Companion:
    """Listens to an agent's events. One serves any number of agents and workspaces, from any thread."""

    def __init__(
        self,
        engine: Engine,
        summariser: Summariser | None = None,
        find_workspace: Callable[[Path], str] = workspace_of,
    ) -> None:
        self._engine = engine
        self._find_workspace = find_workspace
        self._workspaces: dict[str, tuple[float, str]] = {}
        self._repeats = RecentTexts()
        self._failing = SeenFailures()
        self.experiences = Experiences(engine)
        self._learning = Learning(engine, self.experiences)
        # Shifts are rarer beside an agent than in the sets the curve was fitted on: only clear ones are told.
        self._detector = DivergenceDetector(threshold=0.65)
        self._sessions = SessionContextProvider(engine.store, engine.clock, summariser)
        self.pipeline = InjectionPipeline(
            engine,
            diverges=self._detect_shift,
            last_session=lambda workspace, session: self._sessions.describe_last_session(session, workspace),
            open_ends=self._tell_open_ends,
            decisions=self._tell_decisions,
            changes=self._tell_changes,
            topics=self._topic_names,
        )

    def say(self, event: AgentEvent, deadline_ms: float | None = None) -> Saying:
        """What the agent should read now; empty when nothing is worth saying, or finding it failed."""
        try:
            self._clear_shown(event)
            saying = self._saying_for_event(event, self._workspace(event), deadline_ms)
            if not saying and saying.receipt is not None:
                record(self._engine.store, saying.receipt)
        except (ForewordError, OSError) as error:
            _log.warning("nothing was said", on=event.name, problem=str(error))
            return Saying()
        return replace(saying, text=wrap_in_frame(saying.text)) if saying else Saying()

    def note_delivered(self, saying: Saying) -> None:
        """The agent has it: its context holds these items from now on."""
        if saying.receipt is not None:
            receipt = replace(saying.receipt, text=saying.text)
            record(self._engine.store, receipt, saying.item_ids, saying.context)
            self._failing.note(saying.receipt.workspace, saying.context, saying.failures)

    def note_undelivered(self, saying: Saying) -> None:
        """The agent had left: nothing counts as shown, and the receipt says so."""
        if saying.receipt is not None:
            notes = (*saying.receipt.notes, Note("delivery", "the agent had left: it was shown nothing"))
            record(self._engine.store, replace(saying.receipt, notes=notes))

    def keep(self, event: AgentEvent) -> None:
        """Remember what the event tells; the same event twice is kept once."""
        workspace = self._workspace(event)
        self._clear_shown(event)
        self._keep_turns(items_from_event(event, workspace, self._repeats), event, workspace)
        self._adopt_experience(event, workspace)
        self._learning.keep(event, workspace)
        if event.session and (event.name in _SUMMARISED_AFTER or _has_been_compacted(event)):
            self._summarise(event.session, workspace)
        if event.session and event.name == "SessionEnd":
            self._mark_ended(event.session, workspace)

    def _workspace(self, event: AgentEvent) -> str:
        """Where the event happened. Looking for a repository takes time, so an answer holds for seconds."""
        now = time.monotonic()
        known = self._workspaces.get(event.folder)
        if known is None or now - known[0] > _FOLDER_SECONDS:
            if len(self._workspaces) >= _MAX_FOLDERS:
                self._workspaces.clear()
            known = self._workspaces[event.folder] = (now, self._find_workspace(Path(event.folder)))
        return known[1]

    def _clear_shown(self, event: AgentEvent) -> None:
        """After a compact or a clear the context is empty: what was shown until then may be said again."""
        if event.context and (_has_been_compacted(event) or _has_been_cleared(event)):
            self._engine.store.batch([ClearShown(self._workspace(event), event.context, event.at)])

    def _saying_for_event(self, event: AgentEvent, workspace: str, deadline_ms: float | None) -> Saying:
        match event.name:
            case "SessionStart":
                result = self.pipeline.generate_session_context(
                    event.session, workspace=workspace, context=event.context, record=False
                )
            case "UserPromptSubmit" if not junk_reason(event.prompt):
                question = question_first(redact(remove_frames(event.prompt)))
                result = self.pipeline.generate_context(
                    question, event.session, workspace=workspace, context=event.context,
                    deadline_ms=deadline_ms, record=False,
                )  # fmt: skip
            case "PostToolUse" | "PostToolUseFailure":
                return self._saying_after_tool(event, workspace)
            case "PreToolUse" if event.tool.casefold() in ACTING_TOOLS:
                result = self.pipeline.generate_brief(
                    _question_of(event), event.session, workspace=workspace, context=event.context,
                    deadline_ms=deadline_ms, record=False,
                )  # fmt: skip
            case _:
                return Saying()
        return _saying_of_result(result, event)

    def _keep_turns(self, items: Sequence[Item], event: AgentEvent, workspace: str) -> None:
        """Keep the turns; the context they come from holds them, so they count as shown to it."""
        if not items:
            return
        kept = self._engine.remember_all(items, workspace)
        if event.context:
            ids = tuple(item.id for item in kept)
            self._engine.store.post(MarkShown(workspace, event.context, ids, event.at))

    def _adopt_experience(self, event: AgentEvent, workspace: str) -> None:
        """Give an experience that an agent began without naming its session to that session."""
        if not event.session or not _starts_experience(event):
            return
        for attempt in self.experiences.list_open_for_run(workspace, None):
            if attempt.id in event.tool_output:
                self.experiences.adopt(workspace, attempt.id, event.session)

    def _saying_after_tool(self, event: AgentEvent, workspace: str) -> Saying:
        """What a tool's end has closed, and what went wrong before if something failed for the first time."""
        closed = describe_teachings(self._learning.read(event, workspace))
        warning = self._premortem(event, workspace)
        text = "\n\n".join(filter(None, (closed, warning.text)))
        return replace(warning, text=text, context=event.context) if text else warning

    def _premortem(self, event: AgentEvent, workspace: str) -> Saying:
        """What went wrong before, when something fails for the first time in this agent's context."""
        run = read_event_run(event)
        if run is None:
            return Saying()
        verdict = judge_run(run, None, self._failing.seen_in(workspace, event.context))
        if not verdict.premortem:
            self._failing.note(workspace, event.context, verdict.failures)
            return Saying()
        attempt = next(iter(self.experiences.list_open_for_run(workspace, event.session, event.at)), None)
        assembler = ContextAssembler(EngineSearcher(self._engine, workspace, self.experiences))
        domain, strategy = (attempt.domain, attempt.strategy) if attempt else (_DEFAULT_DOMAIN, None)
        asked = assembler.get_premortem_context(
            domain,
            strategy,
            max_tokens=_PREMORTEM_TOKENS,
            failure=read_failure(run, redact(remove_frames(event.tool_output)), _files_changed(attempt)),
            session_id=event.session or None,
            record=False,
        )
        warning = asyncio.run(asked)
        if not warning.markdown:
            self._failing.note(workspace, event.context, verdict.failures)
        items = tuple(entry.item_id for entry in warning.receipt.injected) if warning.receipt else ()
        return Saying(warning.markdown, warning.receipt, event.context, items, verdict.failures)

    def _mark_ended(self, session: str, workspace: str) -> None:
        """Note in the session's summary that it is over, so that the next session is told of it."""
        summary = self._sessions.find_own_summary(session, workspace)
        if summary is not None:
            ended = Amend(workspace, summary.id, metadata={**summary.metadata, ENDED: True})
            self._engine.store.batch([ended])

    def _summarise(self, session: str, workspace: str) -> None:
        update = self._sessions.propose_summary_update(session, workspace)
        if update is None:
            return
        new = self._engine.remember_all([update.item], workspace)[0]
        # What it replaces said the same with less: kept, it would only stand in the way of every search.
        older = tuple(old for old in update.replaces if old != new.id)
        gone = [Delete(workspace, older, keep_copies=True)] if older else []
        self._engine.store.batch([*gone, MarkShown(workspace, session, (new.id,), new.created_at)])

    def _tell_open_ends(self, workspace: str, session: str) -> list[SearchResult]:
        ends = self._sessions.choose_open_ends(session, workspace)
        lines = [SearchResult(end.item, 0.0, excerpt=end.labelled_text) for end in ends]
        return [*lines, *self._ask_for_reasons(workspace)]

    def _ask_for_reasons(self, workspace: str) -> list[SearchResult]:
        """A question for each experience that ended lately and whose reason nobody has told."""
        since = self._engine.clock() - _ASK_FOR_REASONS
        found = []
        for one in self.experiences.unexplained(workspace, limit=_MAX_REASONS_ASKED):
            item = self.experiences.find_item(workspace, one.id)
            if item is not None and item.created_at > since:
                asked = f"Not explained yet: experience {one.id} ({one.goal[:80]}), {one.status}; why?"
                found.append(SearchResult(item, 0.0, excerpt=asked))
        return found

    def _tell_decisions(self, workspace: str, session: str) -> list[SearchResult]:
        decided = self._sessions.choose_decisions(session, workspace)
        return [
            SearchResult(one.item, 0.0, excerpt=f"Decided: {one.text}", history=one.before[:1])
            for one in decided
        ]

    def _tell_changes(self, workspace: str, session: str) -> list[SearchResult]:
        commits = self._sessions.choose_changes(session, workspace)
        return [
            SearchResult(item, 0.0, excerpt=f"Committed since: {item.text.splitlines()[0]}")
            for item in commits
        ]

    def _topic_names(self, workspace: str, session: str) -> tuple[str, ...]:
        return tuple(topic.name for topic in self._sessions.get_session_portfolio(session, workspace).topics)

    def _detect_shift(self, query: Query, session: str) -> DivergenceAlert | None:
        """An alert if the prompt has left what this session was recently about."""
        if not session:
            return None
        found = self._engine.store.batch([ListRecent(query.workspace, Filters(session=session), 50)])[0]
        recent = self._detector.select_recent_talk(query.text, cast("tuple[Item, ...]", found), query.now)
        if not recent:
            return None
        prompt = self._engine.embed_question(query.text)

        def detect(compared: Sequence[Item]) -> DivergenceAlert | None:
            vectors = self._engine.vectors(query.workspace, compared)
            return self._detector.detect(
                query.text, recent, query.now, query_vector=prompt, vectors=vectors,
                unrelated=unrelated_cosine(self._engine.kit),
            )  # fmt: skip

        # A few turns tell whether there is a shift; all of them are only needed to say what from.
        return detect(recent) if detect(recent[-MAX_COMPARED_TURNS:]) is not None else None


def _saying_of_result(result: InjectionResult, event: AgentEvent) -> Saying:
    return Saying(result.formatted_context, result.receipt, event.context, result.included_memories)


def _has_been_compacted(event: AgentEvent) -> bool:
    return event.name == "SessionStart" and event.source == "compact"


def _has_been_cleared(event: AgentEvent) -> bool:
    return event.name == "SessionStart" and event.source == "clear"


def _files_changed(attempt: Experience | None) -> tuple[str, ...]:
    """The files that were changed for an open experience, the newest first."""
    changes = [one.what for one in reversed(attempt.evidence) if one.kind == "change"] if attempt else []
    return tuple(dict.fromkeys(changes))


def _starts_experience(event: AgentEvent) -> bool:
    """Whether a tool has begun an experience: the one for it, or our command in a shell."""
    if not event.name.startswith("PostToolUse"):
        return False
    return event.tool.endswith("experience_start") or "experience start" in read_command(event.tool_input)


def _question_of(event: AgentEvent) -> str:
    """What a tool is about to do, in the words it was given, without secrets: half of one would stay."""
    parts = [event.tool_input.get(name) for name in _QUESTION_FIELDS]
    return redact("\n".join(part for part in parts if isinstance(part, str)))[:MAX_QUESTION_CHARACTERS]
