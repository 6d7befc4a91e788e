"""A clock that is moved and a disk that is slow or fails, for processes that a test starts: see `shim.c`."""

from __future__ import annotations

import errno
import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest


class Shim:
    """What processes with this `environment` are made to believe; what is set holds for them at once."""

    def __init__(self, library: Path, file: Path) -> None:
        self._file = file
        self._told = {"clock_seconds": 0, "sync_microseconds": 0, "sync_error": 0, "sync_error_every": 0}
        file.write_bytes(self._packed())
        self.environment = {"LD_PRELOAD": str(library), "FAULTS_FILE": str(file)}

    def move_clock(self, days: float) -> None:
        """Set the wall clock so many days ahead of the true one; behind it if negative."""
        self._tell(clock_seconds=int(days * 86_400))

    def slow_down(self, milliseconds: int) -> None:
        """Let every flush of a file take so much longer."""
        self._tell(sync_microseconds=milliseconds * 1000)

    def fail_flushes(self, every: int) -> None:
        """Let every so manyeth flush of each process fail with EIO; none if 0."""
        self._tell(sync_error=errno.EIO, sync_error_every=every)

    def write_wrapper(self, path: Path, program: str) -> str:
        """Make a script that runs a program with this environment; gives its path."""
        names = " ".join(f"{name}='{value}'" for name, value in self.environment.items())
        path.write_text(f'#!/bin/sh\n{names} exec {program} "$@"\n')
        path.chmod(0o700)
        return str(path)

    def _tell(self, **numbers: int) -> None:
        self._told |= numbers
        with self._file.open("r+b", buffering=0) as file:
            os.pwrite(file.fileno(), self._packed(), 0)

    def _packed(self) -> bytes:
        return struct.pack("=4q", *self._told.values())


@pytest.fixture(scope="session")
def shim_library(tmp_path_factory):
    """The compiled shim; the test is skipped where there is no compiler."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        pytest.skip("no C compiler is installed; run: make fault-tools")
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    source = Path(__file__).with_name("shim.c")
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True, timeout=60)
    return library


@pytest.fixture
def shim(shim_library, tmp_path):
    """Faults for the processes of one test."""
    return Shim(shim_library, tmp_path / "faults")
