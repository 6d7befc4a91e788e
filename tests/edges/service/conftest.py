from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _without_a_model(no_model):
    """No service here makes vectors."""


@pytest.fixture
def small_disk():
    """A disk of its own at a folder while a block lasts: `with small_disk(folder, megabytes)`."""

    @contextlib.contextmanager
    def mount(folder, megabytes):
        folder.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
        made = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if made.returncode:
            pytest.skip(f"mounting is not allowed here: {made.stderr.strip()}")
        try:
            yield folder
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=True, timeout=60)

    return mount


@pytest.fixture
def fill_disk():
    """Fill a disk to its last byte; gives the file that does."""

    def fill(folder):
        ballast = folder / "ballast"
        for block in (b"x" * 65_536, b"x"):
            with ballast.open("ab", buffering=0) as file, contextlib.suppress(OSError):
                while True:
                    file.write(block)
        return ballast

    return fill


@pytest.fixture
def processes_of(home):
    """The processes of a program that belong to this home: hooks, those they leave behind, services."""

    def find(program):
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                command = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
                about = command + (entry / "environ").read_bytes() if program.encode() in command else b""
                if str(home).encode() in about:
                    found.append(int(entry.name))
        return found

    return find
