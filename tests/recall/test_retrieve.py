"""Spaces that are late are left behind, but not torn down in the middle of their work."""

from __future__ import annotations

import subprocess
import sys

_LATE = """
import atexit
import threading
from pathlib import Path

# Registered before the engine's own, and so called after it.
atexit.register(print, "the process ends", flush=True)

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.testing import HashEmbeddings

answered = threading.Event()

class Slow(HashEmbeddings):
    def embed(self, text):
        assert answered.wait(120), "no answer came without this encoder"
        threading.main_thread().join(60)  # until the process is about to end
        print("came to an end", flush=True)
        return super().embed(text)

engine = ContextEngine(settings=Settings(home=Path({home!r})), embedding_provider=Slow(8))
found = engine.preview_context("Anything?", "w", deadline_ms=20)
print("answered", flush=True)
answered.set()
"""


def test_a_space_that_was_left_behind_comes_to_an_end_before_the_process_does(tmp_path):
    program = _LATE.format(home=str(tmp_path))
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    lines = ["answered", "came to an end", "the process ends"]
    assert (done.returncode, done.stdout.splitlines()) == (0, lines), done.stderr
