"""Draining the spool: events that wait in files are stored, each exactly once, as soon as that is possible.

A hook that gets no answer writes its event to the spool, without secrets (`write_to_spool`). The service
drains the folder when it starts and every few seconds. A file is removed only after its event is stored for
good, and storing an event again changes nothing, so a process that dies at any point loses and doubles
nothing. A file that cannot be read is moved to `bad/`. An event that the store cannot take now stays, with
all later events of the same project folder, while the events of other folders are stored.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from foreword.capture.agent import first_text_on_one_line
from foreword.capture.event_json import FOLDER_FIELDS
from foreword.edges.shared.spool_files import list_oldest_to_drop
from foreword.errors import StorageError
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Container
    from pathlib import Path

_log = get_logger("foreword.spool")

_ABANDONED_SECONDS = 60.0
"""After how many seconds without a write an unfinished file is taken to be that of a process that died."""
_MAX_BAD_FILES = 100


@dataclass(frozen=True, slots=True)
class DrainResult:
    """How many events were stored, were unreadable, were dropped from a full spool, and still wait."""

    stored: int = 0
    bad: int = 0
    dropped: int = 0
    waiting: int = 0


def parse_event_time(text: str) -> datetime:
    """The time that a hook wrote, in seconds since 1970; ValueError if it is not one."""
    try:
        return datetime.fromtimestamp(float(text), UTC)
    except (OverflowError, OSError) as error:
        raise ValueError(f"{text!r} is no time") from error


def measure_spool(folder: Path) -> dict[str, int]:
    """How many `files`, and how many `bytes` in them, wait in the spool now."""
    sizes = []
    for path in _list_event_files(folder):
        with suppress(FileNotFoundError):  # stored and removed in the meantime
            sizes.append(path.lstat().st_size)
    return {"files": len(sizes), "bytes": sum(sizes)}


def drain_spool(
    folder: Path, store: Callable[[bytes, datetime], None], in_work: Container[str] = ()
) -> DrainResult:
    """Store every event that waits, oldest first; after a failure, later events of the same folder wait on.

    `store` gets an event and its time, and must store it once, however often it gets it. The files `in_work`
    are skipped: their events are being stored already.
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


def drain_spool_before_forgetting(
    folder: Path,
    store: Callable[[bytes, datetime], None],
    in_work: Container[str] = (),
    *,
    drop_unreadable: bool,
) -> None:
    """Store what waits before something is forgotten, or it would come back from there.

    Events that could not be read cannot be searched for what is to be forgotten: they may be dropped whole.
    """
    try:
        drain_spool(folder, store, in_work)
        if drop_unreadable and (folder / "bad").is_dir():
            shutil.rmtree(folder / "bad")
    except OSError as error:
        raise StorageError(
            f"cannot store what waits in {folder} ({error.strerror}), some of which may have to be "
            "forgotten; see: foreword doctor"
        ) from error


def _list_event_files(folder: Path) -> list[Path]:
    """The files with events, oldest first: their names begin with the time."""
    return sorted(folder.glob("*.event")) if folder.is_dir() else []


def _read_event_file(path: Path) -> tuple[bytes, datetime, str]:
    """An event, its time and the project folder it comes from; ValueError if no hook wrote the file."""
    at = parse_event_time(path.name.partition("-")[0])
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        payload = file.read()
    event = json.loads(payload)
    if not isinstance(event, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004  (the file is wrong, not the call)
    return payload, at, first_text_on_one_line(event, *FOLDER_FIELDS)


def _move_to_bad_folder(path: Path, error: Exception) -> None:
    """Move a file that is no event into `bad/`, and delete the oldest there if they are too many."""
    bad = path.parent / "bad"
    bad.mkdir(mode=0o700, exist_ok=True)
    path.replace(bad / path.name)
    _log.warning("an event in the spool was set aside", file=str(bad / path.name), error=str(error))
    for old in sorted(bad.iterdir())[:-_MAX_BAD_FILES]:
        old.unlink(missing_ok=True)


def _drop_overflowing_events(folder: Path) -> int:
    """Delete the oldest events if there are too many; returns how many."""
    names = list_oldest_to_drop(str(folder))
    for name in names:
        (folder / name).unlink(missing_ok=True)
        _log.warning("the spool is full; its oldest event was dropped", file=name)
    return len(names)


def _remove_abandoned_files(folder: Path) -> None:
    """Remove unfinished files of processes that died."""
    for path in folder.glob(".*.tmp"):
        with suppress(FileNotFoundError):  # finished and renamed in the meantime
            if time.time() - path.lstat().st_mtime > _ABANDONED_SECONDS:
                path.unlink()
