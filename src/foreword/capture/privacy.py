"""Whether something may be kept at all: the one place that hooks, the spool and the store ask.

Nothing may be while Foreword is paused or switched off for the project, and nothing of a tool's call that
touches an excluded path. What was said in a pause is judged by its own time, however late it arrives.
Stands on the standard library alone: a hook without a service asks here before it leaves anything behind.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from foreword.capture.agent import parse_hook_event
from foreword.capture.excludes import Excludes
from foreword.capture.pauses import find_pause, read_pauses
from foreword.config import load_project_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from foreword.capture.agent import AgentEvent

_MAX_SESSIONS = 1_000
"""At most how many sessions are remembered whose last prompt was refused."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """That an event is neither answered nor kept; `notice` is the line for the agent's user, or empty."""

    notice: str = ""


def reason_to_keep_nothing(home: Path, workspace: str, at: float | None = None) -> str:
    """Why nothing may be kept in a workspace, now or at another time; empty if something may."""
    pause = find_pause(home, workspace, time.time() if at is None else at)
    if pause is not None:
        return f"Foreword is {pause.describe()}; to go on: foreword resume"
    folder = Path(workspace)
    off = load_project_settings(folder).off if folder.is_absolute() else ""
    return f"Foreword is off in this project: {off}" if off else ""


class EventGate:
    """Says of each event of agents whether it is answered and kept. Safe to ask from many threads."""

    def __init__(self, home: Path, workspace_of: Callable[[Path], str]) -> None:
        self._home = home
        self._workspace_of = workspace_of
        self._silent: dict[str, datetime] = {}

    def refuse(self, event: AgentEvent) -> Refusal | None:
        """Why an event is neither answered nor kept; None if it is.

        What an agent does and answers for a prompt that was refused is refused, too, even after the pause.
        """
        refusal = self._refuse_alone(event)
        if event.name == "UserPromptSubmit" and event.session:
            self._note_prompt(event, is_refused=refusal is not None)
        if refusal is None and event.name != "SessionStart" and event.session in self._silent:
            return Refusal()
        return refusal

    def _note_prompt(self, event: AgentEvent, *, is_refused: bool) -> None:
        """Remember of the newest prompt of a session whether it was refused, and when."""
        refused_at = self._silent.get(event.session)
        if refused_at is not None and refused_at > event.at:
            return  # it comes late, out of the spool
        self._silent.pop(event.session, None)
        if is_refused:
            self._silent[event.session] = event.at
            for old in list(self._silent)[:-_MAX_SESSIONS]:
                self._silent.pop(old, None)

    def _refuse_alone(self, event: AgentEvent) -> Refusal | None:
        """Why an event is refused for its time, its folder or the path it touches."""
        folder = Path(event.folder).resolve()
        workspace = self._workspace_of(folder)
        if pause := find_pause(self._home, workspace, event.at.timestamp()):
            said = pause.describe()
            return Refusal(
                f"Foreword is {said}: nothing is recalled or remembered. To go on: foreword resume"
            )
        project = load_project_settings(folder)
        if project.off:
            return Refusal(f"Foreword is off in this project: {project.off}")
        if event.name == "PostCompact" and any(
            one.workspace in ("", workspace) for one in read_pauses(self._home)
        ):
            return Refusal()  # it may sum up what was said in the pause
        touched = Excludes(project.exclude).touched_by(str(folder), event.tool_input, event.tool_output)
        return Refusal() if event.tool and touched else None


def may_wait_on_disk(home: Path, payload: bytes, at: float, workspace_of: Callable[[Path], str]) -> bool:
    """Whether an event, as an agent sent it, may lie in a file until it is stored."""
    event = parse_hook_event(payload, datetime.fromtimestamp(at, UTC))
    return event is not None and EventGate(home, workspace_of).refuse(event) is None
