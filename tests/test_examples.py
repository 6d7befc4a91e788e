from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.mark.slow
def test_three_agents_finish_only_with_what_was_decided():
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / "three_agents.py")],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert ran.returncode == 0, ran.stderr
    halves = [(line[:58], line[58:]) for line in ran.stdout.splitlines()]
    without, found = (" ".join(half.strip("│╭╮╰╯─ ") for half in side) for side in zip(*halves, strict=True))
    assert "without Foreword" in without
    assert "gave up after 12 steps" in without
    assert "Done" not in without
    assert "with a gap node" in found
    assert "gap: <foreword-context>" in found
    assert "Done: tokens expire after 15 idle minutes" in found
    assert "gave up" not in found
