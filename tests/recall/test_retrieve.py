"""Spaces that are late are left behind, but not torn down in the middle of their work."""

from __future__ import annotations

import subprocess
import sys

_LATE = """
import threading
import time
from pathlib import Path

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.testing import HashEmbeddings

answered = threading.Event()

class Slow(HashEmbeddings):
    def embed(self, text):
        answered.wait(30)
        time.sleep(0.5)  # by then the process would have ended
        print("came to an end", flush=True)
        return super().embed(text)

engine = ContextEngine(settings=Settings(home=Path({home!r})), embedding_provider=Slow(8))
found = engine.preview_context("Anything?", "w", deadline_ms=20)
print("answered", flush=True)
answered.set()
"""


def test_a_space_that_was_left_behind_comes_to_an_end_before_the_process_does(tmp_path):
    program = _LATE.format(home=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split("\n")) == (0, ["answered", "came to an end", ""]), done.stderr
