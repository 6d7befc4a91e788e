"""Measurements that take seconds: their shape is tested, not their numbers."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def few_rounds(tmp_path_factory):
    """While a block lasts, the processes of the bench measure few rounds: `with few_rounds():`."""
    program = tmp_path_factory.mktemp("few") / "python"
    script = Path(__file__).with_name("few_rounds.py")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P "{script}" "$@"\n')
    program.chmod(0o700)

    @contextlib.contextmanager
    def measure_little():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "executable", str(program))
            yield

    return measure_little
