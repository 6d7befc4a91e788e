"""Decide whether something may be stored at all, for hooks, the spool and the store alike.

Nothing may be stored while Foreword is paused or switched off for the project, nor a tool's call that touches
an excluded path. An event is judged by its own time, however late it arrives. Uses the standard library
alone, as a hook without a service asks here before it writes anything to disk.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from foreword.capture.excludes import Excludes
from foreword.capture.pauses import find_pause, read_pauses
from foreword.capture.refused_sessions import RefusedSessions
from foreword.config import load_project_settings
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from foreword.capture.agent import AgentEvent

_log = get_logger(__name__)

_MAX_SESSIONS = 1_000
"""At most how many sessions whose last prompt was refused are remembered in a process."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal to answer or store an event; `notice` is a line for the agent's user, or empty."""

    notice: str = ""


def reason_to_keep_nothing(home: Path, workspace: str, at: float | None = None) -> str:
    """Why nothing may be stored in a workspace, now or at another time; "" if storing is allowed."""
    pause = find_pause(home, workspace, time.time() if at is None else at)
    if pause is not None:
        return f"Foreword is {pause.describe()}; to go on: foreword resume"
    folder = Path(workspace)
    off = load_project_settings(folder).off if folder.is_absolute() else ""
    return f"Foreword is off in this project: {off}" if off else ""


class EventGate:
    """Decides whether the events of agents are answered and stored. Safe to share between threads."""

    def __init__(self, home: Path, workspace_of: Callable[[Path], str]) -> None:
        self._home = home
        self._workspace_of = workspace_of
        self._refused_on_disk = RefusedSessions(home)
        self._refused_here: dict[str, float] = {}

    def find_and_record_refusal(self, event: AgentEvent) -> Refusal | None:
        """The refusal of an event, or None if it may be answered and stored.

        After a refused prompt, what the agent does and answers for it is refused too, even after the pause;
        so this also records whether a prompt was refused.
        """
        refusal = self._find_refusal_ignoring_history(event)
        if event.name == "UserPromptSubmit" and event.session:
            self._record_prompt(event, is_refused=refusal is not None)
        if (
            refusal is None
            and event.name != "SessionStart"
            and self._find_prompt_refusal_time(event.session) is not None
        ):
            return Refusal()
        return refusal

    def _find_prompt_refusal_time(self, session: str) -> float | None:
        """When the last prompt of a session was refused, by this process or another; None if it was not."""
        here, on_disk = self._refused_here.get(session), self._refused_on_disk.refused_at(session)
        return max((at for at in (here, on_disk) if at is not None), default=None)

    def _record_prompt(self, event: AgentEvent, *, is_refused: bool) -> None:
        """Record whether the newest prompt of a session was refused, and when."""
        at, refused_at = event.at.timestamp(), self._find_prompt_refusal_time(event.session)
        if refused_at is not None and refused_at > at:
            return  # this prompt is older and comes late, from the spool
        self._refused_here.pop(event.session, None)
        if is_refused:
            self._refused_here[event.session] = at
            for old in list(self._refused_here)[:-_MAX_SESSIONS]:
                self._refused_here.pop(old, None)
        try:
            if is_refused:
                self._refused_on_disk.add(event.session, at)
            elif refused_at is not None:
                self._refused_on_disk.remove(event.session)
        except OSError as error:
            _log.warning("a refused prompt is known until this process ends", problem=error.strerror)

    def _find_refusal_ignoring_history(self, event: AgentEvent) -> Refusal | None:
        """The refusal of an event for its own time, folder or path, whatever came before; else None."""
        folder = Path(event.folder).resolve()
        workspace = self._workspace_of(folder)
        if pause := find_pause(self._home, workspace, event.at.timestamp()):
            state = pause.describe()
            return Refusal(
                f"Foreword is {state}: nothing is recalled or remembered. To go on: foreword resume"
            )
        project = load_project_settings(folder)
        if project.off:
            return Refusal(f"Foreword is off in this project: {project.off}")
        if event.name == "PostCompact" and any(
            pause.workspace in ("", workspace) for pause in read_pauses(self._home)
        ):
            return Refusal()  # the summary may include text from the pause
        touched = Excludes(project.exclude).call_mentions_excluded_path(
            str(folder), event.tool_input, event.tool_output
        )
        return Refusal() if event.tool and touched else None


def may_queue_event_on_disk(
    home: Path, payload: bytes, at: float, workspace_of: Callable[[Path], str]
) -> bool:
    """Whether an event, as the agent sent it, may wait in a file until it is stored."""
    from foreword.capture.agent import parse_hook_event  # a store asks this module, too, and has no events

    event = parse_hook_event(payload, datetime.fromtimestamp(at, UTC))
    return event is not None and EventGate(home, workspace_of).find_and_record_refusal(event) is None
