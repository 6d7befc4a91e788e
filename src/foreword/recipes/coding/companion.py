"""The engine beside a coding agent: for each event of a session, what is stored and what is injected.

    a session begins      inject what is open, what was decided last, what changed since, and the topics
    a prompt              inject what matters to it; then store the prompt
    before a tool         inject a brief, for tools that change or run something
    after a tool          store the call and its result; add changes and runs as evidence to the open
                          experience they fit; inject which experience a run has closed and, at the first
                          failure of a session, what went wrong before
    the agent stops       store its message, and summarise the session anew
    a compact, a clear    allow what the session was shown to be shown again, and inject its own summary

An injected text counts as shown only once it was delivered, which only the caller knows, and only to the
agent that got it: a subagent has a context of its own. Nothing here reads bytes, writes JSON or talks to
sockets. A failure while answering gives an empty answer and a warning; a failure while storing is raised, so
that the caller can send the event again.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

from foreword.capture.agent import items_from_event
from foreword.capture.folder.workspace import workspace_of
from foreword.capture.junk import junk_reason
from foreword.capture.redact import redact
from foreword.capture.tool_calls import read_command
from foreword.errors import ForewordError
from foreword.knowledge.experiences import Experiences
from foreword.knowledge.precedents import Failure
from foreword.knowledge.run_judgement import SeenFailures, judge_run
from foreword.log import get_logger
from foreword.pipeline import store_receipt, unrelated_cosine
from foreword.recall.divergence import MAX_COMPARED_TURNS, DivergenceDetector
from foreword.recipes.assembled.assembler import ContextAssembler
from foreword.recipes.assembled.searcher import EngineSearcher
from foreword.recipes.coding.injection import InjectionPipeline
from foreword.recipes.coding.learning import ExperienceLearner, describe_teachings, read_event_run
from foreword.recipes.coding.repeats import is_repeat
from foreword.recipes.coding.session_context import ENDED, SessionContextProvider
from foreword.store.base import Amend, Delete, ListRecent, MarkShown
from foreword.text.frame import remove_frames, wrap_in_frame
from foreword.text.provenance import may_replace
from foreword.text.question import MAX_QUESTION_CHARACTERS, shorten_with_question_first
from foreword.types import Filters, Note, SearchResult
from foreword.types.deadlines import hold_deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.capture.agent import AgentEvent
    from foreword.capture.runs.run import RunResult
    from foreword.engine.base import Engine
    from foreword.knowledge.decisions import Decision
    from foreword.knowledge.experience import Experience
    from foreword.knowledge.session_summary import Summariser
    from foreword.recall.divergence import DivergenceAlert
    from foreword.recipes.coding.injection import InjectionResult
    from foreword.recipes.coding.told_parts import ToldPart
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
"""For how long after an experience ended new sessions are asked why it ended so, and about how many."""

_SESSION_LOCKS = 64
"""How many locks there are for sessions; two sessions with the same one wait for each other."""
_SUMMARISED_AFTER = ("Stop", "PreCompact", "SessionEnd")


@dataclass(frozen=True, slots=True)
class CompanionSaying:
    """The framed text to inject into an agent's context; empty when nothing is worth injecting.

    The caller that delivers it reports the outcome with `note_delivered` or `note_undelivered`. `context`
    names the context that it goes into, `item_ids` the items that context then holds, `parts` what it is told
    of others, and `failures` the failed tests that it warns about.
    """

    text: str = ""
    receipt: Receipt | None = None
    context: str = ""
    item_ids: tuple[str, ...] = ()
    parts: tuple[ToldPart, ...] = ()
    failures: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.text)


class CodingCompanion:
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
        self._session_locks = tuple(threading.Lock() for _ in range(_SESSION_LOCKS))
        self._seen_failures = SeenFailures()
        self.experiences = Experiences(engine)
        self._learning = ExperienceLearner(engine, self.experiences)
        # Shifts are rarer beside an agent than in the data of the curve: only clear ones are reported.
        self._detector = DivergenceDetector(threshold=0.65)
        self._sessions = SessionContextProvider(engine.store, engine.clock, summariser)
        self.pipeline = InjectionPipeline(
            engine,
            diverges=self._detect_shift,
            last_session=lambda workspace, session: self._sessions.describe_last_session(session, workspace),
            open_ends=self._choose_open_ends_to_show,
            decisions=self._list_decisions,
            changes=self._list_commits_to_show,
            topics=self._list_topic_names,
        )

    def say(self, event: AgentEvent, deadline_ms: float | None = None) -> CompanionSaying:
        """The text to inject at this event; empty when nothing is worth saying, or when the search failed."""
        try:
            return self.say_or_raise(event, deadline_ms)
        except (ForewordError, OSError) as error:
            _log.warning("nothing was said", on=event.name, problem=str(error))
            return CompanionSaying()

    def say_or_raise(self, event: AgentEvent, deadline_ms: float | None = None) -> CompanionSaying:
        """The text to inject, as `say`, but failures are raised; so is a store that hangs at the deadline."""
        expires = None if deadline_ms is None else time.monotonic() + deadline_ms / 1000
        with hold_deadline(expires):
            self._delete_shown_record_if_cleared(event)
            saying = self._answer_event(event, self._find_event_workspace(event), deadline_ms)
            if not saying and saying.receipt is not None:
                store_receipt(self._engine.store, saying.receipt)
        return replace(saying, text=wrap_in_frame(saying.text)) if saying else CompanionSaying()

    def note_delivered(self, saying: CompanionSaying) -> None:
        """Record that an answer reached its agent: the agent's context holds these items from now on."""
        if saying.receipt is not None:
            receipt = replace(saying.receipt, text=saying.text)
            self.pipeline.store_receipt_and_mark_shown(receipt, saying.item_ids, saying.parts, saying.context)
            self._seen_failures.note(receipt.workspace, saying.context, saying.failures)

    def note_undelivered(self, saying: CompanionSaying) -> None:
        """Record that an answer did not reach its agent, which had left: none of its items count as shown."""
        if saying.receipt is not None:
            notes = (*saying.receipt.notes, Note("delivery", "the agent had left: it was shown nothing"))
            store_receipt(self._engine.store, replace(saying.receipt, notes=notes))

    def keep(self, event: AgentEvent) -> None:
        """Store the turns and the evidence that an event brings; the same event twice is stored once.

        The events of a session are stored one after another: two at once would both write its summary.
        """
        with self._session_locks[hash(event.session) % _SESSION_LOCKS]:
            self._store_event_under_lock(event, self._find_event_workspace(event))

    def _store_event_under_lock(self, event: AgentEvent, workspace: str) -> None:
        """Store what an event brings while no other event of its session is being stored."""
        self._delete_shown_record_if_cleared(event)
        items = items_from_event(event, workspace)
        fresh = [item for item in items if not is_repeat(self._engine.store, item)]
        self._store_turns(fresh, event, workspace)
        self._assign_experience_to_session(event, workspace)
        self._learning.store_evidence_and_close_experience(event, workspace)
        if event.session and (event.name in _SUMMARISED_AFTER or _has_been_compacted(event)):
            self._update_summary(event.session, workspace)
        if event.session and event.name == "SessionEnd":
            self._mark_session_ended(event.session, workspace)

    def _find_event_workspace(self, event: AgentEvent) -> str:
        """The workspace of the folder that an agent's event came from.

        Cached for seconds, since finding the repository is slow.
        """
        now = time.monotonic()
        known = self._workspaces.get(event.folder)
        if known is None or now - known[0] > _FOLDER_SECONDS:
            if len(self._workspaces) >= _MAX_FOLDERS:
                self._workspaces.clear()
            known = self._workspaces[event.folder] = (now, self._find_workspace(Path(event.folder)))
        return known[1]

    def _delete_shown_record_if_cleared(self, event: AgentEvent) -> None:
        """After a compact or a clear, delete the record of what the agent's context was shown until then."""
        if event.context_id and (_has_been_compacted(event) or _has_been_cleared(event)):
            self.pipeline.delete_record_of_shown_items(
                self._find_event_workspace(event), event.context_id, event.at
            )

    def _answer_event(self, event: AgentEvent, workspace: str, deadline_ms: float | None) -> CompanionSaying:
        """The text to inject at this event, not framed yet; empty for events that get no answer."""
        match event.name:
            case "SessionStart":
                result = self.pipeline.generate_session_context(
                    event.session, workspace=workspace, context=event.context_id, record=False
                )
            case "UserPromptSubmit" if not junk_reason(event.prompt):
                question = shorten_with_question_first(redact(remove_frames(event.prompt)))
                result = self.pipeline.generate_context(
                    question, event.session, workspace=workspace, context=event.context_id,
                    deadline_ms=deadline_ms, record=False,
                )  # fmt: skip
            case "PostToolUse" | "PostToolUseFailure":
                return self._answer_tool_result(event, workspace)
            case "PreToolUse" if event.tool.casefold() in ACTING_TOOLS:
                result = self.pipeline.generate_brief(
                    _question_from_tool_input(event), event.session, workspace=workspace,
                    context=event.context_id, deadline_ms=deadline_ms, record=False,
                )  # fmt: skip
            case _:
                return CompanionSaying()
        return _saying_from_result(result, event)

    def _store_turns(self, items: Sequence[Item], event: AgentEvent, workspace: str) -> None:
        """Store the turns, and mark them as shown to the context that they come from."""
        if not items:
            return
        kept = self._engine.remember_all(items, workspace)
        if event.context_id:
            ids = tuple(item.id for item in kept)
            self._engine.store.post(MarkShown(workspace, event.context_id, ids, event.at))

    def _assign_experience_to_session(self, event: AgentEvent, workspace: str) -> None:
        """If the event began an experience without naming its session, assign it to the event's session."""
        if not event.session or not _starts_experience(event):
            return
        for attempt in self.experiences.list_open_for_run(workspace, None):
            if attempt.id in event.tool_output:
                self.experiences.adopt(workspace, attempt.id, event.session)

    def _answer_tool_result(self, event: AgentEvent, workspace: str) -> CompanionSaying:
        """The answer after a tool: the experiences its run closed, and a warning at the first failure."""
        closed = describe_teachings(self._learning.find_what_event_teaches(event, workspace))
        warning = self._warn_of_first_failure(event, workspace)
        text = "\n\n".join(filter(None, (closed, warning.text)))
        return replace(warning, text=text, context=event.context_id) if text else warning

    def _warn_of_first_failure(self, event: AgentEvent, workspace: str) -> CompanionSaying:
        """If a test or build failed for the first time in this agent's context: what went wrong before."""
        run = read_event_run(event, workspace)
        if run is None:
            return CompanionSaying()
        verdict = judge_run(
            run, None, self._seen_failures.failures_seen_in_session(workspace, event.context_id)
        )
        if not verdict.premortem:
            self._seen_failures.note(workspace, event.context_id, verdict.failures)
            return CompanionSaying()
        attempt = next(iter(self.experiences.list_open_for_run(workspace, event.session, event.at)), None)
        assembler = ContextAssembler(EngineSearcher(self._engine, workspace, self.experiences))
        domain, strategy = (attempt.domain, attempt.strategy) if attempt else (_DEFAULT_DOMAIN, None)
        premortem = assembler.get_premortem_context(
            domain,
            strategy,
            max_tokens=_PREMORTEM_TOKENS,
            failure=read_failure(run, redact(remove_frames(event.tool_output)), _list_changed_files(attempt)),
            session_id=event.session or None,
            record=False,
        )
        warning = asyncio.run(premortem)
        if not warning.markdown:
            self._seen_failures.note(workspace, event.context_id, verdict.failures)
        items = tuple(entry.item_id for entry in warning.receipt.injected_entries) if warning.receipt else ()
        return CompanionSaying(
            warning.markdown, warning.receipt, event.context_id, items, failures=verdict.failures
        )

    def _mark_session_ended(self, session: str, workspace: str) -> None:
        """Mark the session's summary as ended, so that the next session is shown it."""
        summary = self._sessions.find_own_summary(session, workspace)
        if summary is not None:
            ended = Amend(workspace, summary.id, metadata={**summary.metadata, ENDED: True})
            self._engine.store.batch([ended])

    def _update_summary(self, session: str, workspace: str) -> None:
        """Summarise the session anew, if there is anything to add, and delete its older summaries."""
        update = self._sessions.propose_summary_update(session, workspace)
        if update is None:
            return
        new = self._engine.remember_all([update.item], workspace)[0]
        # The older summaries say less of the same; stored, they would crowd every search.
        older = tuple(old for old in update.replaces if old != new.id)
        gone = [Delete(workspace, older, keep_copies=True)] if older else []
        self._engine.store.batch([*gone, MarkShown(workspace, session, (new.id,), new.created_at)])

    def _choose_open_ends_to_show(self, workspace: str, session: str) -> list[SearchResult]:
        """The open ends to show as a session begins, and questions about unexplained experiences."""
        ends = self._sessions.choose_open_ends(session, workspace)
        lines = [SearchResult(end.item, 0.0, excerpt=end.labelled_text) for end in ends]
        return [*lines, *self._questions_about_unexplained_experiences(workspace)]

    def _questions_about_unexplained_experiences(self, workspace: str) -> list[SearchResult]:
        """A question "why?" for each experience that ended lately without an explanation."""
        since = self._engine.clock() - _ASK_FOR_REASONS
        found = []
        for one in self.experiences.list_unexplained(workspace, limit=_MAX_REASONS_ASKED):
            item = self.experiences.find_item(workspace, one.id)
            if item is not None and item.created_at > since:
                question = f"Not explained yet: experience {one.id} ({one.goal[:80]}), {one.status}; why?"
                found.append(SearchResult(item, 0.0, excerpt=question))
        return found

    def _list_decisions(self, workspace: str, session: str) -> list[SearchResult]:
        """The last decisions to show as a session begins, each with what it replaced and what changed it."""
        return [
            SearchResult(
                one.item,
                0.0,
                excerpt=f"Decided: {one.text}",
                history=one.before[:1],
                later=_find_newest_trusted_change(one),
            )
            for one in self._sessions.choose_decisions(session, workspace)
        ]

    def _list_commits_to_show(self, workspace: str, session: str) -> list[SearchResult]:
        """The commits since the last session to show as a session begins, by their first lines."""
        commits = self._sessions.find_commits_since_last_session(session, workspace)
        return [
            SearchResult(item, 0.0, excerpt=f"Committed since: {item.text.splitlines()[0]}")
            for item in commits
        ]

    def _list_topic_names(self, workspace: str, session: str) -> tuple[str, ...]:
        return tuple(topic.name for topic in self._sessions.get_session_portfolio(session, workspace).topics)

    def _detect_shift(self, query: Query, session: str) -> DivergenceAlert | None:
        """An alert if the prompt is about something else than the session's recent turns; else None."""
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
                unrelated_cosine=unrelated_cosine(self._engine.kit),
            )  # fmt: skip

        # A few turns show whether there is a shift; all of them are only needed to name the earlier topic.
        return detect(recent) if detect(recent[-MAX_COMPARED_TURNS:]) is not None else None


def _saying_from_result(result: InjectionResult, event: AgentEvent) -> CompanionSaying:
    return CompanionSaying(
        result.formatted_context,
        result.receipt,
        event.context_id,
        result.ids_of_memories_shown_whole,
        result.told_parts,
    )


def _find_newest_trusted_change(decision: Decision) -> tuple[Item, ...]:
    """The newest statement that changes a part of a decision and is trusted as much; empty if none is."""
    trusted = (one for one in decision.beside if may_replace(one.source, decision.item.source))
    return tuple(trusted)[:1]


def _has_been_compacted(event: AgentEvent) -> bool:
    return event.name == "SessionStart" and event.source == "compact"


def _has_been_cleared(event: AgentEvent) -> bool:
    return event.name == "SessionStart" and event.source == "clear"


def _list_changed_files(attempt: Experience | None) -> tuple[str, ...]:
    """The files that were changed for an open experience, the newest first."""
    changes = [one.what for one in reversed(attempt.evidence) if one.kind == "change"] if attempt else []
    return tuple(dict.fromkeys(changes))


def _starts_experience(event: AgentEvent) -> bool:
    """Whether an event is the end of a call that began an experience, by MCP tool or by shell command."""
    if not event.name.startswith("PostToolUse"):
        return False
    return event.tool.endswith("experience_start") or "experience start" in read_command(event.tool_input)


def _question_from_tool_input(event: AgentEvent) -> str:
    """A tool's input as a question; secrets are removed before the cut, since half a key looks like none."""
    parts = [event.tool_input.get(name) for name in _QUESTION_FIELDS]
    return redact("\n".join(part for part in parts if isinstance(part, str)))[:MAX_QUESTION_CHARACTERS]


# What a failed run printed ---------------------------------------------------------------------------------

_MAX_LINES = 12
_MAX_LINE_CHARACTERS = 240
_MAX_LINES_READ = 2_000
_ERROR_LINE = re.compile(
    r"error|exception|fail|expected|assert|panicked|undefined|cannot|could not|not found|overflow|timeout"
    r"|refused|denied",
    re.IGNORECASE,
)
_SUMMARY = re.compile(
    r"=*\s*\d+ (?:failed|passed|errors?|tests completed)\b|Tests?:|Test Suites|BUILD|test result|FAIL(?:\s|$)"
    r"|The following|\d+% tests|make: |collect2|error: could not compile|=+|-+$"
)
_FILE = re.compile(r"(?:[\w.-]+/)*[\w-]+\.(?:py|[cm]?[jt]sx?|cc?|cpp|h|rs|go|java|kt|rb)\b(?=[:(\s])")
_IN_TESTS = re.compile(
    r"(?:^|/)(?:tests?|specs?)/|(?:^|/)test_|[._-](?:test|spec)\.|site-packages|node_modules"
)


def read_failure(run: RunResult, output: str, changed: Sequence[str] = ()) -> Failure:
    """The failure of a run: failed tests, lines about errors with their neighbours, command and files.

    `changed` are files that were changed before the run; the failure lists them first.
    """
    stripped = [line.strip()[:_MAX_LINE_CHARACTERS] for line in output.split("\n")[-_MAX_LINES_READ:]]
    output_lines = [line for line in stripped if line and not _SUMMARY.match(line)]
    error_places = [place for place, line in enumerate(output_lines) if _ERROR_LINE.search(line)]
    near_places = sorted(
        {place + step for place in error_places for step in (-1, 0, 1)} & set(range(len(output_lines)))
    )
    lines = [output_lines[place] for place in near_places[:_MAX_LINES]]
    if run.error and not any(run.error in line for line in lines) and not _SUMMARY.match(run.error):
        lines.insert(0, run.error)
    files = [name for name in _FILE.findall("\n".join(lines)) if not _IN_TESTS.search(name)]
    names = tuple(dict.fromkeys([*changed, *files]))
    return Failure(run.failing, "\n".join(lines), run.scope.command, names)
