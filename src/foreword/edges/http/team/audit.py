"""The audit of who read and wrote what: one line of JSON for each request, in files kept for some days.

A line has the member, the action, the workspace, the status and the duration; never what was asked or
answered. `foreword team audit` prints the lines.
"""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from foreword.edges.shared.private_files import make_private_folder
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_log = get_logger("foreword.team")

DAYS_KEPT = 90


class TeamAudit:
    """The audit of one service: one file for each day, under `team/audit`."""

    def __init__(self, home: Path, days: int = DAYS_KEPT) -> None:
        self._home = home
        self._folder = home / "team" / "audit"
        self._days = days
        self._lock = threading.Lock()
        self._day = ""
        self._file: int | None = None

    def write(self, **facts: object) -> None:
        """Add a line. If that fails, it is logged instead: a full disk does not end the service."""
        now = datetime.now(UTC)
        line = json.dumps({"at": now.isoformat(timespec="milliseconds"), **facts}, ensure_ascii=False)
        try:
            with self._lock:
                os.write(self._open_day_file_and_prune(f"{now:%Y-%m-%d}"), f"{line}\n".encode())
        except OSError as error:
            _log.warning("the audit cannot be written", error=str(error), line=line)

    def read(self, since: datetime | None = None) -> Iterator[dict[str, Any]]:
        """The lines from a time on, oldest first, without a last line that a crash cut off."""
        for path in sorted(self._folder.glob("*.jsonl")):
            if since is not None and path.stem < f"{since.astimezone(UTC):%Y-%m-%d}":
                continue
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                try:
                    entry = json.loads(line)
                    if since is None or datetime.fromisoformat(entry["at"]) >= since:
                        yield entry
                except (ValueError, LookupError, TypeError):
                    continue

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
            self._file, self._day = None, ""

    def _open_day_file_and_prune(self, day: str) -> int:
        """The open file of a day; when a new day begins, files that are too old are deleted."""
        if self._file is None or day != self._day:
            if self._file is not None:
                os.close(self._file)
            make_private_folder(str(self._home), "team")
            self._folder.mkdir(mode=0o700, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
            self._file, self._day = os.open(self._folder / f"{day}.jsonl", flags, 0o600), day
            oldest = f"{date.fromisoformat(day) - timedelta(days=self._days):%Y-%m-%d}"
            for path in self._folder.glob("*.jsonl"):
                if path.stem < oldest:
                    path.unlink(missing_ok=True)
        return self._file
