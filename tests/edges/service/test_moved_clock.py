"""The wall clock is set back and forth under real hooks and a real service: nothing is lost or doubled."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter

import pytest

from foreword.edges.service.run_folder import RunFolder

pytestmark = pytest.mark.slow


@pytest.fixture
def moved_python(shim, tmp_path):
    """An interpreter whose clock the shim moves, for the services that hooks start."""
    return shim.write_wrapper(tmp_path / "moved-python", sys.executable)


@pytest.mark.parametrize("prompts", [10, pytest.param(200, marks=pytest.mark.soak)])
def test_a_clock_that_jumps_loses_and_doubles_nothing(
    prompts, home, hook, shim, moved_python, monkeypatch, until, spool_files, stored_texts, report_fault
):
    """Some of the prompts come while the service stands still, so that they take both ways at once."""
    for name, value in shim.environment.items():
        monkeypatch.setenv(name, value)
    chance, waits, jumps = random.Random(3), [], 0
    hook("SessionStart", answered=True, interpreter=moved_python)
    pid = until(lambda: RunFolder(home).running_pid(), "no service comes up")
    texts = [f"Please look at order {number:04} of the shop, it was paid twice." for number in range(prompts)]
    for number, text in enumerate(texts):
        if number % 2:
            shim.move_clock(chance.uniform(-400, 3))
            jumps += 1
        stopped = number % 5 == 3
        if stopped:
            os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        assert hook(prompt=text, interpreter=moved_python).code == 0
        waits.append(time.monotonic() - began)
        if stopped:
            os.kill(pid, signal.SIGCONT)
    until(lambda: not spool_files(), "the spool is never empty")
    assert RunFolder(home).running_pid() == pid
    os.kill(pid, signal.SIGTERM)
    until(lambda: not RunFolder(home).running_pid(), "the service does not stop")
    stored = Counter(stored_texts("/nowhere"))
    report_fault(
        8,
        {"jumps of the clock": jumps},
        acknowledged=prompts,
        lost=len(set(texts) - set(stored)),
        doubled=sum(count > 1 for count in stored.values()),
        longest_wait=max(waits),
        saw="every prompt passes",
    )
