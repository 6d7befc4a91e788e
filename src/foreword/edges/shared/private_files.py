"""Folders that only their owner may enter, and the log in which hooks record why they had no answer.

Uses only the standard library, because `hook_client.py` imports it without site-packages.
"""
# Like the client, it does without pathlib:
# ruff: noqa: PTH101, PTH102, PTH103, PTH116, PTH118

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress

LOG_NAME = "hook.log"
_MAX_LOG_BYTES = 100_000


def append_to_hook_log(home: str, line: str) -> None:
    """Add a line to the hooks' log, which is emptied when it is long; if the disk fails, do nothing."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    with suppress(OSError):
        file = os.open(os.path.join(make_private_folder(home, "run"), LOG_NAME), flags, 0o600)
        try:
            if os.fstat(file).st_size > _MAX_LOG_BYTES:
                os.ftruncate(file, 0)
            when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            os.write(file, f"{when} {line}\n".encode(errors="replace"))
        finally:
            os.close(file)


def make_private_folder(home: str, name: str) -> str:
    """Create a folder under the home that only its owner may enter, if it is missing; returns its path.

    OSError if that fails, and NotADirectoryError if there is a file of that name.
    """
    folder = os.path.join(home, name)
    os.makedirs(home, 0o700, exist_ok=True)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        mode = os.stat(folder).st_mode
        if not stat.S_ISDIR(mode):
            raise NotADirectoryError(errno.ENOTDIR, "a file is in its place", folder) from None
        if mode & 0o077:
            os.chmod(folder, 0o700)
    else:
        with suppress(OSError):  # the next write into it will show that the disk fails
            flush_folder_to_disk(home)
    return folder


def flush_folder_to_disk(folder: str) -> None:
    """Flush a folder to the disk, so that the names in it survive a power cut."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
