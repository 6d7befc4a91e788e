"""More hooks at once than there is room for, among strangers who hold connections: every prompt is stored."""

from __future__ import annotations

import contextlib
import socket
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from foreword.edges.service.run_folder import RunFolder

pytestmark = pytest.mark.slow

HALVES = (
    b"",
    b"FWD2 ",
    b"FWD2 1000 1760000000.0 claude-code 500\n{",
    b"\x00\xff\n",
    b"GET / HTTP/1.1\r\n\r\n",
)


@contextlib.contextmanager
def idle_connections(home, count):
    """Connections that say nothing, half a request or nonsense, and stay."""
    with contextlib.ExitStack() as stack:
        for number in range(count):
            client = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            client.setblocking(False)
            with contextlib.suppress(OSError), contextlib.chdir(home / "run"):
                client.connect("service.sock")
                client.sendall(HALVES[number % len(HALVES)])
        yield


@pytest.mark.parametrize(("prompts", "at_once"), [(24, 12), pytest.param(600, 60, marks=pytest.mark.soak)])
def test_a_flood_among_strangers_loses_and_doubles_nothing(
    prompts, at_once, home, hook, until, spool_files, stored_texts, processes_of, report_fault
):
    hook("SessionStart", answered=True, interpreter=sys.executable)
    until(lambda: RunFolder(home).running_pid(), "no service comes up")
    texts = [f"Please look at order {number:04} of the shop, it was paid twice." for number in range(prompts)]
    waits = []

    def ask(text):
        began = time.monotonic()
        code = hook(prompt=text, interpreter=sys.executable).code
        waits.append(time.monotonic() - began)
        return code

    with idle_connections(home, 4 * at_once), ThreadPoolExecutor(at_once) as pool:
        assert set(pool.map(ask, texts)) == {0}
    until(lambda: not processes_of("hook_client.py"), "a hook never leaves")
    until(lambda: not spool_files(), "the spool is never empty")
    until(lambda: set(texts) <= set(stored_texts("/nowhere")), "a prompt was lost")
    report_fault(
        14,
        {"prompts at once": prompts, "connections of strangers": 4 * at_once},
        acknowledged=prompts,
        doubled=sum(count > 1 for count in Counter(stored_texts("/nowhere")).values()),
        longest_wait=max(waits),
        saw="every prompt passes",
    )
