"""Pauses: the times in which nothing is recalled or remembered, everywhere or in one workspace.

They are kept in `pauses.json` in the data folder, the past ones for a while, because what counts is when a
thing was said and not when it reaches us. Stands on the standard library alone, as a hook without a service
asks here, too. A file that cannot be read counts as a pause: whoever paused wanted nothing to be kept.
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
"""How long a pause that is over is remembered: nothing waits in the spool for longer."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A time without memory, in seconds since 1970: from `since` until `until`, or until it is ended.

    `workspace` is empty where the pause holds everywhere. `problem` says why its file could not be read.
    """

    since: float
    until: float | None = None
    workspace: str = ""
    problem: str = ""

    def covers(self, workspace: str, at: float) -> bool:
        """Whether what was said then and there is not to be kept."""
        is_here = self.workspace in ("", workspace)
        return is_here and self.since <= at and (self.until is None or at < self.until)

    def describe(self) -> str:
        """The pause as a part of a sentence: `paused in this project until 14:30`."""
        if self.problem:
            return f"paused, since {self.problem}"
        where = " in this project" if self.workspace else ""
        return f"paused{where}{'' if self.until is None else f' until {_format_moment(self.until)}'}"


def _format_moment(at: float) -> str:
    """A moment in local time; without its date if that is today."""
    moment = datetime.fromtimestamp(at).astimezone()
    is_today = moment.date() == datetime.now().astimezone().date()
    return f"{moment:%H:%M}" if is_today else f"{moment:%Y-%m-%d %H:%M}"


def read_pauses(home: Path) -> tuple[Pause, ...]:
    """Every pause that is known; one without end, with its problem, if the file cannot be read."""
    file = home / PAUSE_FILE
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
        return tuple(Pause(float(row["since"]), _read_end(row), str(row["workspace"])) for row in rows)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not what Foreword wrote"
        return (Pause(0.0, problem=f"{file} cannot be read ({why}); foreword resume writes it anew"),)


def _read_end(row: dict[str, float | None]) -> float | None:
    return None if row["until"] is None else float(row["until"])


def find_pause(home: Path, workspace: str, at: float) -> Pause | None:
    """The pause that covers a moment in a workspace; None if there is none."""
    return next((one for one in read_pauses(home) if one.covers(workspace, at)), None)


def begin_pause(home: Path, now: float, until: float | None = None, workspace: str = "") -> Pause:
    """Pause from now on, everywhere or in one workspace; a pause of the same extent is replaced."""
    new = Pause(now, until, workspace)
    _write_pauses(home, [*_end_pauses(read_pauses(home), {workspace}, now), new], now)
    return new


def end_pauses(home: Path, now: float, *workspaces: str) -> list[Pause]:
    """End the pauses of these workspaces, "" being the one everywhere; gives those that were running."""
    pauses = read_pauses(home)
    running = [one for one in pauses if one.workspace in workspaces and one.covers(one.workspace, now)]
    if running:
        _write_pauses(home, _end_pauses(pauses, set(workspaces), now), now)
    return running


def running_pauses(home: Path, now: float) -> list[Pause]:
    """The pauses that hold now, of whatever workspace."""
    return [one for one in read_pauses(home) if one.covers(one.workspace, now)]


def _end_pauses(pauses: tuple[Pause, ...], workspaces: set[str], now: float) -> list[Pause]:
    """The pauses, with an end for those of these workspaces; one that could not be read is left out."""
    known = [one for one in pauses if not one.problem]
    ended = {one for one in known if one.workspace in workspaces and one.covers(one.workspace, now)}
    return [replace(one, until=now) if one in ended else one for one in known]


def _write_pauses(home: Path, pauses: list[Pause], now: float) -> None:
    """Replace the file, whole or not at all; OSError if that cannot be done."""
    recent = [one for one in pauses if one.until is None or one.until > now - _KEPT_SECONDS]
    rows = [{name: value for name, value in asdict(one).items() if name != "problem"} for one in recent]
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = home / f".{PAUSE_FILE}.{os.getpid()}"
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(json.dumps(rows, indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(home / PAUSE_FILE)
