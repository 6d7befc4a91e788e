"""The files of the spool: an event that could not be stored is written here before its hook ends.

Uses only the standard library, because `hook_client.py` imports it without site-packages. An event is written
without its secrets, whole or not at all, and is on the disk when this returns. If the disk is full, it goes
into the reserve: files of random bytes, created while there was room, which are then overwritten. The user is
told once that the disk is full: the process that can delete the notice file beside the reserve shows it.
"""
# Like the client, it does without pathlib:
# ruff: noqa: PTH104, PTH108, PTH118, PTH208

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress

from foreword.edges.shared.private_files import append_to_hook_log, flush_folder_to_disk, make_private_folder

MAX_SPOOL_BYTES, MAX_SPOOL_FILES = 64_000_000, 10_000
RESERVE = {65_536: 32, 1_000_000: 6}
"""How many files of each size, in bytes, the reserve has: 8 MB, for some forty events."""

_ABANDONED_SECONDS = 60.0
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_RESERVE_FOLDER = "reserve"
_FULL_NOTICE, _LOST_NOTICE = "notice-full", "notice-lost"
_NOTICES = {
    _FULL_NOTICE: "Foreword: the disk is full. What is said now waits in a small reserve; free some space.",
    _LOST_NOTICE: "Foreword: the disk is full, and so is the reserve. What is said now is not remembered.",
}
_OVERFLOW_NOTICE = (
    "Foreword: too much waits to be stored, and the oldest of it is not remembered. See: foreword doctor"
)


def write_to_spool(home: str, at: str, payload: bytes) -> tuple[str, str]:
    """Write an event to the disk, without its secrets; returns the file, and a notice for the user or "".

    If the disk fails, another file is tried once. Raises the error that kept the event from being read or
    written; then nothing of it is left. An event that must not be stored (see `capture.privacy`) is not
    written, and no file is returned.
    """
    if not _may_event_be_written(home, at, payload):
        return "", ""
    safe = redact_payload(payload)
    folder = make_private_folder(home, "spool")
    dropped = list_oldest_to_drop(folder, len(safe))
    for name in dropped:
        with suppress(FileNotFoundError):  # another process may have deleted it
            os.unlink(os.path.join(folder, name))
        append_to_hook_log(home, f"the spool is full; its oldest event was dropped: {name}")
    try:
        file, notice = _write_event_file(home, folder, at, safe)
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise
        # Flushing the same file again would prove nothing.
        file, notice = _write_event_file(home, folder, at, safe)
    return file, _OVERFLOW_NOTICE if dropped else notice


def _write_event_file(home: str, folder: str, at: str, content: bytes) -> tuple[str, str]:
    """Write an event to a new file; returns its path and a notice. If that fails, no file is left."""
    name = f"{at}-{os.getpid():x}{os.urandom(4).hex()}"
    temporary, final = os.path.join(folder, f".{name}.tmp"), os.path.join(folder, f"{name}.event")
    try:
        notice = _write_or_use_reserve(home, folder, temporary, content)
        os.rename(temporary, final)
        flush_folder_to_disk(folder)
    except BaseException:
        for path in (temporary, final):
            with suppress(OSError):
                os.unlink(path)
        raise
    return final, notice


def _write_or_use_reserve(home: str, folder: str, path: str, content: bytes) -> str:
    """Write a file, over a file of the reserve if the disk is full; returns a notice for the user or ""."""
    try:
        _write_and_sync(path, content, os.O_CREAT | os.O_EXCL)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        with suppress(FileNotFoundError):
            os.unlink(path)
        _move_reserve_file_to_target(folder, path, len(content), error)
        _write_and_sync(path, content)
        return pop_pending_notice(home, _FULL_NOTICE)
    return ""


def _may_event_be_written(home: str, at: str, payload: bytes) -> bool:
    """Whether an event may be written to the disk; quick if nothing here was ever paused or switched off."""
    from foreword.capture.event_json import FOLDER_FIELDS, parse_event_json

    event = parse_event_json(payload)
    folders = [event.get(name) for name in FOLDER_FIELDS] if isinstance(event, dict) else []
    marks = (os.path.join(home, "pauses.json"), os.path.join(home, "run", "refused"))
    if not any(map(os.path.exists, marks)) and not any(map(_is_inside_foreword_project, folders)):
        return True
    from pathlib import Path

    from foreword.capture.folder.workspace import workspace_of
    from foreword.capture.privacy import may_queue_event_on_disk

    return may_queue_event_on_disk(Path(home), payload, float(at), workspace_of)


def _is_inside_foreword_project(folder: object) -> bool:
    """Whether a folder, or one above it, has a `.foreword.toml`."""
    if not isinstance(folder, str):
        return False
    parts = os.path.realpath(folder).split("/")
    folders = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    return any(os.path.lexists(f"{parent}/.foreword.toml") for parent in folders)


def redact_payload(payload: bytes) -> bytes:
    """The same event without its secrets; raises the error if it cannot be read or cleaned."""
    import json

    from foreword.capture.event_json import parse_event_json, redact_event_json

    return json.dumps(redact_event_json(parse_event_json(payload))).encode()


def list_oldest_to_drop(folder: str, new_bytes: int = 0) -> list[str]:
    """The files of the oldest events that must be deleted to make room for a new one of so many bytes."""
    sizes: dict[str, int] = {}
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):  # stored and removed in the meantime
            if name.endswith(".event"):
                sizes[name] = os.lstat(os.path.join(folder, name)).st_size
    count, total = len(sizes) + bool(new_bytes), sum(sizes.values()) + new_bytes
    overflow: list[str] = []
    for name in sorted(sizes):
        if count <= MAX_SPOOL_FILES and total <= MAX_SPOOL_BYTES:
            break
        overflow.append(name)
        count, total = count - 1, total - sizes[name]
    return overflow


def _write_and_sync(path: str, content: bytes, flags: int = 0) -> None:
    """Write this content to a file and flush it to the disk; an existing file is overwritten in place."""
    file = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | flags, 0o600)
    try:
        left = content
        while left:
            left = left[os.write(file, left) :]
        os.ftruncate(file, len(content))
        os.fsync(file)
    finally:
        os.close(file)


# The reserve ---------------------------------------------------------------------------------------------


def fill_spool_reserve(home: str) -> bool:
    """Create the missing files of the reserve if the disk has ample room; returns whether it is complete."""
    folder = make_private_folder(make_private_folder(home, "spool"), _RESERVE_FOLDER)
    _remove_abandoned_spool_files(folder)
    there = set(os.listdir(folder))
    missing = [name for name in (*_names_of_reserve_files(), *_NOTICES) if name not in there]
    if not missing:
        return True
    disk = os.statvfs(folder)
    if disk.f_bavail * disk.f_frsize < 4 * sum(size * count for size, count in RESERVE.items()):
        return False
    for name in missing:
        size = int(name.partition("-")[0]) if name not in _NOTICES else 0
        block = os.urandom(min(size, 65_536))
        content = (block * (size // len(block) + 1))[:size] if size else b""
        temporary = os.path.join(folder, f"{name}.{os.getpid():x}.tmp")
        _write_and_sync(temporary, content, os.O_CREAT)
        os.rename(temporary, os.path.join(folder, name))
    flush_folder_to_disk(folder)
    return True


def _remove_abandoned_spool_files(folder: str) -> None:
    """Delete temporary files that a process began before it died."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        with suppress(FileNotFoundError):  # finished and renamed in the meantime
            if name.endswith(".tmp") and time.time() - os.lstat(path).st_mtime > _ABANDONED_SECONDS:
                os.unlink(path)


def describe_lost_event_to_user(home: str, error: Exception) -> str:
    """What the user is told of an event that could not be stored.

    Of a full disk they are told once, then "" is returned; of any other cause each time.
    """
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return pop_pending_notice(home)
    reason = error.strerror if isinstance(error, OSError) else "it is too long, or no JSON"
    return f"Foreword: what was just said is not remembered: {reason}. See: foreword doctor"


def pop_pending_notice(home: str, name: str = _LOST_NOTICE) -> str:
    """The text of a notice that waits to be shown, once: it waits no more; empty if none waits."""
    try:
        os.unlink(os.path.join(home, "spool", _RESERVE_FOLDER, name))
    except OSError:
        return ""
    return _NOTICES[name]


def _names_of_reserve_files() -> list[str]:
    return [f"{size:07}-{number:02}" for size, count in RESERVE.items() for number in range(count)]


def _move_reserve_file_to_target(folder: str, target: str, size: int, reason: OSError) -> None:
    """Move the smallest file of the reserve that holds so many bytes; raises `reason` if none is left."""
    reserve = os.path.join(folder, _RESERVE_FOLDER)
    names = os.listdir(reserve) if os.path.isdir(reserve) else []  # noqa: PTH112
    for name in sorted(names):
        length = name.partition("-")[0]
        if length.isdigit() and not name.endswith(".tmp") and int(length) >= size:
            with suppress(FileNotFoundError):  # another process has taken it
                os.rename(os.path.join(reserve, name), target)
                return
    raise reason
