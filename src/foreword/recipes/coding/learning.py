"""Reads an agent's events for evidence about its open experiences, and sometimes for a verdict.

Every change and every run that bears on an open experience is added to its evidence. A run closes an
experience only after a change that fits the experience's action, and only if the run passes: a failed run
counts as an iteration. The agent is informed of each closed experience, with the proof, and asked why it had
failed before if that is not recorded.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

from foreword.capture.redact import redact
from foreword.capture.runs.changes import SeenChange, read_changes
from foreword.capture.runs.commands import find_run_steps
from foreword.capture.runs.run import read_run_result
from foreword.capture.tool_calls import ToolCall, folder_relative_to_project, read_command
from foreword.knowledge.change_judgement import change_fits_action
from foreword.knowledge.evidence import (
    MAX_WHAT_CHARACTERS,
    Evidence,
    add_evidence,
    last_run_before_changes,
    read_standing,
)
from foreword.knowledge.run_judgement import (
    covers_failures,
    failed_tests_in_scope,
    is_pass_credible,
    judge_run,
    with_tests_known_to_be_run,
)
from foreword.store.base import ListRecent
from foreword.text.frame import remove_frames
from foreword.text.provenance import quote_entry
from foreword.types import Filters

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from foreword.capture.agent import AgentEvent
    from foreword.capture.runs.run import RunResult
    from foreword.engine.base import Engine
    from foreword.knowledge.evidence import Proof
    from foreword.knowledge.experience import Experience
    from foreword.knowledge.experiences import Experiences
    from foreword.types import Item

_MAX_EARLIER_TURNS = 60
_EARLIER = timedelta(hours=12)
"""How long before an experience began a failed run may be that caused it."""

_INSTANT = timedelta(microseconds=1)
_MAX_NAMES_TOLD = 3


@dataclass(frozen=True, slots=True)
class Teaching:
    """What an event adds to one experience: evidence, and a result if `proof` says that it is closed."""

    experience: Experience
    evidence: tuple[Evidence, ...]
    is_iteration: bool = False
    proof: Proof | None = None
    names: tuple[str, ...] = ()
    result: str = ""


class ExperienceLearner:
    """Reads events for what they teach about open experiences, and stores it."""

    def __init__(self, engine: Engine, experiences: Experiences) -> None:
        self._engine = engine
        self._experiences = experiences

    def find_what_event_teaches(self, event: AgentEvent, workspace: str) -> list[Teaching]:
        """What an event teaches about the open experiences that it may concern; at most one is closed."""
        if not event.name.startswith("PostToolUse"):
            return []
        changes = _read_changes_in_project(event, workspace)
        run = None if _runs_elsewhere(event, workspace) else read_event_run(event, workspace)
        if not changes and run is None:
            return []
        found: list[Teaching] = []
        for attempt in self._experiences.list_open_for_run(workspace, event.session, event.at):
            teaching = self._judge_experience_by_event(attempt, event, workspace, run)
            found += [teaching] if teaching.evidence else []
            if teaching.proof is not None or (run is not None and teaching.evidence):
                break  # a run counts for one experience only
        return found

    def store_evidence_and_close_experience(self, event: AgentEvent, workspace: str) -> None:
        """Store the evidence of an event, and close the experience that its run has proved."""
        for one in self.find_what_event_teaches(event, workspace):
            name = one.experience.id
            self._experiences.add_evidence(workspace, name, one.evidence, is_iteration=one.is_iteration)
            if one.proof is not None:
                self._experiences.confirm_experience_by_run(
                    workspace, name, one.result, event.at, one.proof, one.names
                )

    def _judge_experience_by_event(
        self,
        attempt: Experience,
        event: AgentEvent,
        workspace: str,
        run: RunResult | None,
    ) -> Teaching:
        """What an event, and the run whose end it is, teach about one open experience."""
        new = _changes_as_evidence(event, workspace, attempt)
        before_run = [one for one in new if one.at < event.at]
        if run is None:
            return Teaching(attempt, tuple(new))
        seen = add_evidence([_judge_by_present_plan(one, attempt) for one in attempt.evidence], before_run)
        standing = read_standing(seen)
        earlier = last_run_before_changes(seen, standing.changes)
        if earlier is None and standing.changes:
            earlier = self._find_run_before_change(workspace, event.session, attempt, standing.changes[0])
        run = with_tests_known_to_be_run(run, [*seen, *([earlier] if earlier else [])], standing.changes)
        speaks = judge_run(run, attempt).speaks
        if speaks is None:
            return Teaching(attempt, tuple(new))
        shown = _run_as_evidence(run, event.at)
        evidence = (*before_run, shown, *(one for one in new if one.at > event.at))
        if speaks == "against":
            return Teaching(attempt, evidence, is_iteration=standing.has_untried_change)
        if not standing.changes or not is_pass_credible(run, standing, attempt):
            return Teaching(attempt, evidence)
        if not covers_failures(run, earlier, attempt):
            return Teaching(attempt, evidence)
        names = failed_tests_in_scope(run, earlier) if earlier is not None else ()
        failed = earlier is not None and not earlier.passed
        proof: Proof = "failed then passed" if failed else "passed after the change"
        result = _describe_proof(run, standing.changes, names, failed=failed)
        return Teaching(attempt, evidence, proof=proof, names=names, result=result)

    def _find_run_before_change(
        self, workspace: str, session: str, attempt: Experience, change: Evidence
    ) -> Evidence | None:
        """The session's last stored run before the change that is about the experience; None without one."""
        if not session:
            return None
        newest_turns = ListRecent(workspace, Filters(session=session, kinds=("turn",)), _MAX_EARLIER_TURNS)
        turns = cast("tuple[Item, ...]", self._engine.store.batch([newest_turns])[0])
        for turn in sorted(turns, key=lambda one: one.created_at, reverse=True):
            if not attempt.created_at - _EARLIER < turn.created_at < change.at:
                continue
            run = _read_run_from_turn(turn, workspace)
            if run is not None and judge_run(run, attempt).speaks is not None:
                return _run_as_evidence(run, turn.created_at)
        return None


def read_event_run(event: AgentEvent, workspace: str) -> RunResult | None:
    """The result of a test or build run, if the event is the end of one; else None."""
    command = read_command(event.tool_input)
    if not command or not event.name.startswith("PostToolUse"):
        return None
    output = redact(remove_frames(event.tool_output))
    return read_run_result(command, output, event.outcome, event.folder, workspace)


def _runs_elsewhere(event: AgentEvent, workspace: str) -> bool:
    """Whether a command goes to another project before it runs anything: that proves nothing for this one."""
    steps = find_run_steps(read_command(event.tool_input))
    folder = str(Path(event.folder, steps[0].folder)) if steps else event.folder
    homes = (workspace, event.folder)
    return Path(workspace).is_absolute() and all(
        folder_relative_to_project(folder, home) is None for home in homes
    )


def _read_changes_in_project(event: AgentEvent, workspace: str) -> list[SeenChange]:
    """The changes of an event's call, with paths from the project's root, or from the session's folder."""
    place = folder_relative_to_project(event.folder, workspace)
    root = event.folder if place is None else workspace
    call = ToolCall(event.tool, event.tool_input, event.tool_output, event.outcome, root)
    return read_changes(call, place or "")


def _read_run_from_turn(turn: Item, workspace: str) -> RunResult | None:
    """The result of a run, read from the turn that stores its command and output; None for other turns."""
    if turn.source.trust != "tool" or not turn.text.startswith("$ "):
        return None
    command, _, output = turn.text[2:].partition("\n")
    command = str(turn.metadata.get("command") or command)
    outcome, folder = (str(turn.metadata.get(name) or "") for name in ("outcome", "folder"))
    return read_run_result(command, output, outcome, folder, workspace)


def _changes_as_evidence(event: AgentEvent, workspace: str, attempt: Experience) -> list[Evidence]:
    """An event's changes as evidence, timed just before or just after the run in the same event."""
    seen = _read_changes_in_project(event, workspace)
    found = []
    for place, one in enumerate(seen):
        steps = place + 1 if one.after_run else place - len(seen)
        found.append(
            Evidence(
                event.at + steps * _INSTANT,
                one.kind,
                redact(one.path or one.branch or (one.command if one.kind == "change" else ""))[
                    :MAX_WHAT_CHARACTERS
                ],
                fits=one.kind == "change" and change_fits_action(one, attempt.action, attempt.hypothesis),
                before=_short_hash(one.before),
                after=_short_hash(one.after),
            )
        )
    return found


def _judge_by_present_plan(seen: Evidence, attempt: Experience) -> Evidence:
    """Evidence of a change, judged by the experience's present plan, which may be newer than the change."""
    if seen.kind != "change" or seen.fits or not attempt.history:
        return seen
    is_path = seen.before or seen.after or " " not in seen.what
    change = SeenChange("change", path=seen.what) if is_path else SeenChange("change", command=seen.what)
    return replace(seen, fits=change_fits_action(change, attempt.action, attempt.hypothesis))


def _short_hash(text: str) -> str:
    """A short hash by which a text can be recognised; empty for an empty text."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16] if text else ""


def _run_as_evidence(run: RunResult, at: datetime) -> Evidence:
    return Evidence(
        at,
        "run",
        run.summary[:MAX_WHAT_CHARACTERS],
        passed=run.passed,
        names=run.failing,
        selection=run.scope.selection,
    )


def _describe_proof(
    run: RunResult, changes: Sequence[Evidence], names: Sequence[str], *, failed: bool
) -> str:
    """One sentence on what a run proved, for the experience's result; what the tool printed is quoted."""
    printed = f"{run.tool} printed {quote_entry(run.summary.removeprefix(f'{run.tool}: '))}"
    what = ", ".join(dict.fromkeys(change.what for change in changes[-_MAX_NAMES_TOLD:]))
    if not failed:
        return f"{printed} after the change of {what}"
    listed = ", ".join(quote_entry(name) for name in names[:_MAX_NAMES_TOLD]) or "the same"
    return f"{printed}; {listed} failed before the change of {what} and passes after it"


def describe_teachings(teachings: Sequence[Teaching]) -> str:
    """The text that informs the agent of closed experiences and asks for causes; empty if none was closed."""
    lines = []
    for one in teachings:
        if one.proof is None:
            continue
        name, goal = one.experience.id, one.experience.goal[:120]
        sure = "what failed passes after the change" if one.proof == "failed then passed" else one.proof
        lines.append(f"- Closed: experience {name} ({goal}) is confirmed, {sure}: {one.result}.")
        failed = one.names or any(seen.kind == "run" and not seen.passed for seen in one.experience.evidence)
        if failed and one.experience.root_cause is None:
            lines.append(
                f"- Why had it failed? Tell its root cause and a takeaway: experience_resolve {name} "
                f"confirmed, or: foreword experience resolve {name} confirmed --cause … --because …"
            )
        lines.append(f"- If the verdict is wrong, amend it: experience_amend {name}")
    return "\n".join(lines)
