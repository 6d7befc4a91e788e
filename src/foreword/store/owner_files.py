"""Folders and files that only their owner can read, whatever the umask of the program that makes them."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def make_private_durable_folder(folder: Path) -> None:
    """Make a folder, and those above it, readable by this user alone; it survives a power cut."""
    for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    above = os.open(folder.parent, os.O_RDONLY)
    try:
        os.fsync(above)
    finally:
        os.close(above)


def create_private_file(path: Path) -> None:
    """Make an empty file that only this user can read; one that is there stays as it is.

    It gets its name when it is closed: to close a database that SQLite has opened meanwhile would take its
    locks away.
    """
    unnamed = path.with_name(f".new-{os.getpid()}-{threading.get_ident()}")
    os.close(os.open(unnamed, os.O_WRONLY | os.O_CREAT, 0o600))
    with suppress(FileExistsError):
        os.link(unnamed, path)
    unnamed.unlink()
