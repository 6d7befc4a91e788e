"""A disk that is slow, or fails now and then, under real hooks and a real service."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections import Counter

import pytest

from foreword.edges.service.run_folder import RunFolder

pytestmark = pytest.mark.slow

LOST = "not remembered"


def few_and_many(few, many):
    """A number for every run, and a larger one for the long runs."""
    return [few, pytest.param(many, marks=pytest.mark.soak)]


@pytest.fixture
def real_service(home, until):
    """Run a real service while a block lasts: `with real_service():`."""

    @contextlib.contextmanager
    def serve():
        with subprocess.Popen([sys.executable, "-P", "-m", "foreword.edges.service"]) as service:
            try:
                until(lambda: RunFolder(home).running_pid() == service.pid, "no service comes up")
                until(lambda: (home / "run" / "service.sock").exists(), "no service listens")
                yield service
            finally:
                service.terminate()
                service.wait(120)

    return serve


@pytest.fixture
def talk(hook, shim, monkeypatch):
    """Send prompts, one after another, on the shim's disk; gives what was acknowledged, waits and notices."""
    for name, value in shim.environment.items():
        monkeypatch.setenv(name, value)

    def send(count):
        acknowledged, waits, notices = [], [], Counter()
        for number in range(count):
            text = f"Please look at order {number:04} of the shop, it was paid twice."
            began = time.monotonic()
            ran = hook(prompt=text, interpreter="/bin/false")
            waits.append(time.monotonic() - began)
            message = json.loads(ran.out or b"{}").get("systemMessage", "")
            assert ran.code == 0
            notices.update([message] if message else [])
            if LOST not in message:
                acknowledged.append(text)
        return acknowledged, waits, notices

    return send


def count_stored(acknowledged, stored):
    """How many of what was acknowledged are lost, and how many texts are stored more than once."""
    lost = len(set(acknowledged) - set(stored))
    return {"lost": lost, "doubled": sum(count > 1 for count in Counter(stored).values())}


@pytest.mark.parametrize("prompts", few_and_many(6, 150))
def test_on_a_slow_disk_prompts_pass_and_are_stored_once(
    prompts, talk, shim, real_service, until, spool_files, stored_texts, report_fault
):
    """Every flush takes 200 ms, more than half of what a prompt may take."""
    with real_service():
        shim.slow_down(200)
        acknowledged, waits, _ = talk(prompts)
        shim.slow_down(0)
        until(lambda: not spool_files(), "the spool is never empty")
    stored = count_stored(acknowledged, stored_texts("/nowhere"))
    assert acknowledged, "no prompt was acknowledged"
    caused = {"prompts on a slow disk": prompts}
    report_fault(4, caused, acknowledged=len(acknowledged), **stored, longest_wait=max(waits))


@pytest.mark.parametrize(("prompts", "every"), [(6, 3), pytest.param(150, 5, marks=pytest.mark.soak)])
def test_while_flushes_fail_nothing_is_lost_without_a_word(
    prompts, every, talk, shim, real_service, until, spool_files, stored_texts, report_fault
):
    with real_service():
        shim.fail_flushes(every)
        acknowledged, waits, notices = talk(prompts)
        shim.fail_flushes(0)
        until(lambda: not spool_files(), "the spool is never empty")
    stored = count_stored(acknowledged, stored_texts("/nowhere"))
    caused = {"prompts while flushes fail": prompts}
    told = f"“{LOST}” {sum(notices.values())} times" if notices else ""
    report_fault(4, caused, acknowledged=len(acknowledged), **stored, longest_wait=max(waits), saw=told)
    assert acknowledged


def test_when_no_flush_succeeds_every_loss_is_told_with_its_reason(talk, shim, spool_files):
    shim.fail_flushes(1)
    acknowledged, _, notices = talk(3)
    assert acknowledged == []
    (notice,) = notices
    assert notices[notice] == 3
    assert "Input/output error" in notice
    assert spool_files() == []
