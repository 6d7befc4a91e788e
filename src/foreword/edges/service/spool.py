"""Events that no service heard, waiting in files: each is stored exactly once, as soon as that is possible.

A hook that gets no answer leaves its event here, without secrets (`write_to_spool`). The service drains the
folder when it starts and every few seconds. A file is removed only after its event is stored for good, and
storing it again changes nothing, so a process that dies at any point loses and doubles nothing. What cannot
be read is moved to `bad/`; what a store cannot take just now stays where it is, with all that came after it
from the same folder, while the events of others are stored.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from foreword.edges.shared.spool_files import list_overflow
from foreword.errors import StorageError
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Container
    from pathlib import Path

_log = get_logger("foreword.spool")

_ABANDONED_SECONDS = 60.0
"""How many seconds after its last write an unfinished file belongs to a process that died."""
_MAX_BAD_FILES = 100


@dataclass(frozen=True, slots=True)
class DrainResult:
    """How many events were stored, unreadable, dropped for want of room, and are still waiting."""

    stored: int = 0
    bad: int = 0
    dropped: int = 0
    waiting: int = 0


def parse_time(text: str) -> datetime:
    """The time that a hook wrote down; ValueError when it is none."""
    try:
        return datetime.fromtimestamp(float(text), UTC)
    except (OverflowError, OSError) as error:
        raise ValueError(f"{text!r} is no time") from error


def measure_spool(folder: Path) -> dict[str, int]:
    """How many `files` and how many `bytes` lie in the spool now."""
    sizes = []
    for path in _list_event_files(folder):
        with suppress(FileNotFoundError):  # it was stored this moment
            sizes.append(path.lstat().st_size)
    return {"files": len(sizes), "bytes": sum(sizes)}


def drain(
    folder: Path, store: Callable[[bytes, datetime], None], in_work: Container[str] = ()
) -> DrainResult:
    """Store every event that waits, oldest first; what comes from a folder that cannot be written waits on.

    `store` is given an event and its time, and must store it once, however often it is given. The files
    `in_work` are left to whoever is storing their events already.
    """
    if not folder.is_dir():
        return DrainResult()
    _remove_abandoned_files(folder)
    dropped = _drop_overflowing_events(folder)
    stored = bad = 0
    blocked: set[str] = set()
    for path in _list_event_files(folder):
        if str(path) in in_work:
            continue
        origin = ""
        try:
            payload, at, origin = _read_event_file(path)
            if origin in blocked:
                continue
            store(payload, at)
        except FileNotFoundError:
            continue  # dropped by a hook that needed the room
        except StorageError as error:
            _log.warning("the spool waits: an event could not be stored", folder=origin, error=str(error))
            blocked.add(origin)
            continue
        except Exception as error:  # noqa: BLE001  (one event must not keep the others from being stored)
            _move_to_bad_folder(path, error)
            bad += 1
            continue
        path.unlink(missing_ok=True)
        stored += 1
    return DrainResult(stored, bad, dropped, len(_list_event_files(folder)))


def _list_event_files(folder: Path) -> list[Path]:
    """The events, oldest first: the name begins with the time."""
    return sorted(folder.glob("*.event")) if folder.is_dir() else []


def _read_event_file(path: Path) -> tuple[bytes, datetime, str]:
    """An event, its time and the folder it comes from; ValueError when the file is not what a hook writes."""
    at = parse_time(path.name.partition("-")[0])
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        payload = file.read()
    event = json.loads(payload)
    if not isinstance(event, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004  (the file is wrong, not the call)
    return payload, at, str(event.get("cwd", ""))


def _move_to_bad_folder(path: Path, error: Exception) -> None:
    """Move what is no event into `bad/`, and keep only the newest of those."""
    bad = path.parent / "bad"
    bad.mkdir(mode=0o700, exist_ok=True)
    path.replace(bad / path.name)
    _log.warning("an event in the spool was set aside", file=str(bad / path.name), error=str(error))
    for old in sorted(bad.iterdir())[:-_MAX_BAD_FILES]:
        old.unlink(missing_ok=True)


def _drop_overflowing_events(folder: Path) -> int:
    """Remove the oldest events where there are too many; gives how many."""
    names = list_overflow(str(folder))
    for name in names:
        (folder / name).unlink(missing_ok=True)
        _log.warning("the spool is full; its oldest event was dropped", file=name)
    return len(names)


def _remove_abandoned_files(folder: Path) -> None:
    """Remove unfinished files of processes that died."""
    for path in folder.glob(".*.tmp"):
        with suppress(FileNotFoundError):  # it was finished this moment
            if time.time() - path.lstat().st_mtime > _ABANDONED_SECONDS:
                path.unlink()
