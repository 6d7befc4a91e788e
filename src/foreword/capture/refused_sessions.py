"""The sessions whose last prompt was refused, on the disk: a service that starts later must know them, too.

Each is an empty file with the time of the prompt, named by a hash of the session, so that nothing of what was
said can be in it. Uses the standard library alone, as hooks without a service use this module.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

REFUSED_FOLDER = "refused"
_KEPT_SECONDS = 30 * 86_400.0
"""For how many seconds a session is known to be refused; no event waits longer in the spool."""


class RefusedSessions:
    """The refused sessions of one data folder, shared by all processes that use it."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "run" / REFUSED_FOLDER

    def refused_at(self, session: str) -> float | None:
        """When the last prompt of a session was refused, in seconds since 1970; None if it was not."""
        try:
            return self._file(session).stat().st_mtime
        except OSError:
            return None

    def add(self, session: str, at: float) -> None:
        """Record that a prompt was refused. May raise OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file in self._folder.iterdir():
            with suppress(FileNotFoundError):  # another process has removed it
                if file.stat().st_mtime < time.time() - _KEPT_SECONDS:
                    file.unlink()
        os.close(os.open(self._file(session), os.O_WRONLY | os.O_CREAT, 0o600))
        os.utime(self._file(session), (at, at))

    def remove(self, session: str) -> None:
        """Record that a later prompt was not refused. May raise OSError."""
        self._file(session).unlink(missing_ok=True)

    def _file(self, session: str) -> Path:
        return self._folder / hashlib.sha256(session.encode(errors="replace")).hexdigest()[:32]
