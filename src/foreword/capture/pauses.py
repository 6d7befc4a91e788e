"""Pauses: the times in which nothing is recalled or remembered, everywhere or in one workspace.

They are stored in `pauses.json` in the data folder, past ones for a while too, because the time of an event
counts and not the time at which it arrives. Uses the standard library alone, as hooks without a service use
this module. A file that cannot be read counts as a pause, because a user who paused wanted nothing to be
stored.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PAUSE_FILE = "pauses.json"
_KEPT_SECONDS = 30 * 86_400.0
"""A pause that is over is kept for this long; no event waits longer in the spool."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause from `since` to `until` in seconds since 1970, or until the user ends it.

    `workspace` is empty for a pause everywhere. `problem` states why the file could not be read.
    """

    since: float
    until: float | None = None
    workspace: str = ""
    problem: str = ""

    def covers(self, workspace: str, at: float) -> bool:
        """Whether the pause applies to this workspace at this time."""
        is_here = self.workspace in ("", workspace)
        return is_here and self.since <= at and (self.until is None or at < self.until)

    def describe(self) -> str:
        """The pause as a part of a sentence: `paused in this project until 14:30`."""
        if self.problem:
            return f"paused, since {self.problem}"
        where = " in this project" if self.workspace else ""
        return f"paused{where}{'' if self.until is None else f' until {_format_moment(self.until)}'}"


def _format_moment(at: float) -> str:
    """A moment in local time, without the date if it is today."""
    moment = datetime.fromtimestamp(at).astimezone()
    is_today = moment.date() == datetime.now().astimezone().date()
    return f"{moment:%H:%M}" if is_today else f"{moment:%Y-%m-%d %H:%M}"


def read_pauses(home: Path) -> tuple[Pause, ...]:
    """All stored pauses; if the file cannot be read, one pause without end that states the problem."""
    file = home / PAUSE_FILE
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
        return tuple(Pause(float(row["since"]), _end_of_pause(row), str(row["workspace"])) for row in rows)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not what Foreword wrote"
        return (Pause(0.0, problem=f"{file} cannot be read ({why}); foreword resume writes it anew"),)


def _end_of_pause(row: dict[str, float | None]) -> float | None:
    return None if row["until"] is None else float(row["until"])


def find_pause(home: Path, workspace: str, at: float) -> Pause | None:
    """A pause that applies to a workspace at this time, or None."""
    return next((pause for pause in read_pauses(home) if pause.covers(workspace, at)), None)


def begin_pause(home: Path, now: float, until: float | None = None, workspace: str = "") -> Pause:
    """Begin a pause, everywhere or in one workspace; it replaces a running one of the same extent."""
    new = Pause(now, until, workspace)
    _write_pauses(home, [*_mark_ended(read_pauses(home), {workspace}, now), new], now)
    return new


def end_pauses(home: Path, now: float, *workspaces: str) -> list[Pause]:
    """End the running pauses of these workspaces ("" for everywhere) and return them."""
    pauses = read_pauses(home)
    running = [
        pause for pause in pauses if pause.workspace in workspaces and pause.covers(pause.workspace, now)
    ]
    if running:
        _write_pauses(home, _mark_ended(pauses, set(workspaces), now), now)
    return running


def running_pauses(home: Path, now: float) -> list[Pause]:
    """The pauses of all workspaces that are running."""
    return [pause for pause in read_pauses(home) if pause.covers(pause.workspace, now)]


def _mark_ended(pauses: tuple[Pause, ...], workspaces: set[str], now: float) -> list[Pause]:
    """The readable pauses, with `now` as the end of those that are running in these workspaces."""
    known = [pause for pause in pauses if not pause.problem]
    ended = {pause for pause in known if pause.workspace in workspaces and pause.covers(pause.workspace, now)}
    return [replace(pause, until=now) if pause in ended else pause for pause in known]


def _write_pauses(home: Path, pauses: list[Pause], now: float) -> None:
    """Replace the file atomically, without pauses that ended long ago. Raises OSError."""
    recent = [pause for pause in pauses if pause.until is None or pause.until > now - _KEPT_SECONDS]
    rows = [{name: value for name, value in asdict(pause).items() if name != "problem"} for pause in recent]
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = home / f".{PAUSE_FILE}.{os.getpid()}"
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(json.dumps(rows, indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(home / PAUSE_FILE)
