"""Kills at random moments over service, hooks and commands: nothing acknowledged is lost, nothing is doubled.

A hook that has exited, and a command that has exited with 0, have acknowledged what they were given.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from foreword.config import Settings
from foreword.edges import hook_client
from foreword.edges.service.run_folder import RunFolder
from foreword.edges.shared import spool_files
from foreword.engine.context_engine import ContextEngine
from foreword.types import Filters

pytestmark = pytest.mark.slow

AGENTS, COMMANDS = 4, 1
EVENTS_WHILE_FULL = 12
CLIENT = [os.path.realpath(sys.executable), "-I", "-S", hook_client.__file__]
MARK = re.compile(r"order-(\d+)")


class World:
    """A home, a nursery, agents that run hooks, commands, and what each has acknowledged."""

    def __init__(self, home, tmp_path, seed):
        self.home, self.log = home, tmp_path / "nursery.log"
        self.folder = tmp_path / "shop"
        (self.folder / ".git").mkdir(parents=True)
        self.asking = tmp_path / "asking"
        os.mkfifo(self.asking)
        self.python = tmp_path / "python-of-the-hook"
        self.python.write_text(f"#!/bin/sh\necho '[\"serve\"]' > '{self.asking}'\n")
        self.python.chmod(0o700)
        self.chance = random.Random(seed)
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.number = 0
        self.clients = {}
        self.acknowledged, self.all = set(), set()
        self.kills = Counter()
        self.full = 0
        self.longest_wait = 0.0
        self.notices = Counter()

    def next_mark(self):
        with self.lock:
            self.number += 1
            self.all.add(self.number)
            return self.number

    def run_hook(self, session):
        """One event through the real client, as an agent sends it; what exits with 0 is acknowledged."""
        number = self.next_mark()
        prompt = f"Please look at order-{number:06} of the shop, it was paid twice."
        message = f"I have refunded order-{number:06} of the shop and told the customer."
        event = "Stop" if number % 9 == 0 else "UserPromptSubmit"
        fields = {"last_assistant_message": message} if event == "Stop" else {"prompt": prompt}
        payload = {"hook_event_name": event, "session_id": session, "cwd": str(self.folder), **fields}
        command = [*CLIENT, "--home", str(self.home), "--agent", "claude-code", "--event", event]
        command += ["--python", str(self.python)]
        began = time.monotonic()
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
            self.clients[client.pid] = client
            out, _ = client.communicate(json.dumps(payload).encode(), 120)
            del self.clients[client.pid]
        assert client.returncode in (0, -signal.SIGKILL), client.returncode
        if client.returncode == 0:
            self.acknowledged.add(number)
            self.note(time.monotonic() - began, json.loads(out or b"{}").get("systemMessage", ""))

    def note(self, waited, message):
        """Note how long an agent has waited for a hook, and what of trouble its user was told."""
        with self.lock:
            self.longest_wait = max(self.longest_wait, waited)
            if message and "recalled" not in message:
                self.notices[message.partition(".")[0]] += 1

    def agent(self, name):
        while not self.stopping.is_set():
            self.run_hook(name)

    def commander(self, nursery):
        """Commands that remember, one after another."""
        while not self.stopping.is_set():
            number = self.next_mark()
            line = json.dumps(["remember", f"The refund of order-{number:06} was agreed with the customer."])
            nursery.write(line.encode() + b"\n")
            while not self.stopping.is_set() and not self.ended(number):
                self.stopping.wait(0.02)

    def ended(self, number):
        return f"order-{number:06}" in "".join(self.lines("end"))

    def lines(self, what):
        text = self.log.read_text() if self.log.exists() else ""
        return [line for line in text.splitlines() if line.startswith(f'["{what}"')]

    def read_acknowledged_commands(self):
        for line in self.lines("end"):
            _, _, code, *what = json.loads(line)
            if what[0] == "remember" and code == 0:
                self.acknowledged.add(int(MARK.search(what[1])[1]))

    def kill_somebody(self):
        """Kill the service, a hook or a command, whoever lives; counts who it was."""
        match self.chance.choice(["service", "service", "hook", "hook", "command"]):
            case "service":
                if self._service_age() > self.chance.choice([-1.0, 0.0, 0.5, 2.0]):
                    self._kill("service", RunFolder(self.home).running_pid())
            case "hook":
                self._kill("hook", self.chance.choice(list(self.clients) or [0]))
            case "command":
                dead = {json.loads(line)[1] for line in self.lines("end")}
                begun = [json.loads(line) for line in self.lines("begin")[-5:]]
                living = [line[1] for line in begun if line[2] == "remember" and line[1] not in dead]
                self._kill("command", living[-1] if living else 0)

    def _service_age(self):
        """How long a service has listened, in seconds; 0 when none does."""
        try:
            return time.time() - (self.home / "run" / "service.sock").stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def _kill(self, who, pid):
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.kills[who] += 1


@pytest.fixture
def world(home, tmp_path, monkeypatch):
    monkeypatch.setenv("FOREWORD_EMBEDDING", "none")
    return World(home, tmp_path, 7)


@contextlib.contextmanager
def at_work(world):
    """Agents, commands and a nursery at work while a block lasts."""
    nursery_file = Path(__file__).with_name("nursery.py")
    command = [sys.executable, str(nursery_file), str(world.log)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, bufsize=0, start_new_session=True) as nursery:
        reading, ended = os.open(world.asking, os.O_RDWR), threading.Event()

        def pass_on():
            while (asked := os.read(reading, 4096)) and not ended.is_set():
                with contextlib.suppress(OSError):
                    nursery.stdin.write(asked)

        names = [f"agent-{number}" for number in range(AGENTS)]
        threads = [threading.Thread(target=world.agent, args=(name,), daemon=True) for name in names]
        threads += [
            threading.Thread(target=world.commander, args=(nursery.stdin,), daemon=True)
            for _ in range(COMMANDS)
        ]
        passing = threading.Thread(target=pass_on, daemon=True)
        for thread in (passing, *threads):
            thread.start()
        try:
            yield
        finally:
            world.stopping.set()
            for thread in threads:
                thread.join(180)
            ended.set()
            os.write(reading, b"\n")  # wakes the thread that passes on what is asked
            passing.join(180)
            os.close(reading)
            alive = [thread for thread in (passing, *threads) if thread.is_alive()]
            with contextlib.suppress(ProcessLookupError):
                os.killpg(nursery.pid, signal.SIGKILL)
            assert not alive, "an agent never ends"


def settle(world, serve_until_empty):
    """Let a last service store what waits, then count how often each mark is stored."""
    serve_until_empty()
    with ContextEngine(settings=Settings(home=world.home, embedding="none")) as engine:
        texts = [
            item.text
            for workspace in engine.store.workspaces()
            for item in engine.store.scan(workspace, Filters(kinds=("turn", "memory")))
        ]
        problems = [problem for name in engine.store.workspaces() for problem in engine.store.check(name)]
    return Counter(int(MARK.search(text)[1]) for text in texts), problems


@pytest.fixture
def serve_until_empty(home, until, until_none, spool_files, processes_of):
    """Run a real service until nothing waits in the spool, once no hook is on its way to it."""

    def run():
        until(lambda: not processes_of("hook_client.py"), "a hook never leaves")
        pid = RunFolder(home).running_pid()
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            until(lambda: not RunFolder(home).running_pid(), "the last service does not die")
        with subprocess.Popen([sys.executable, "-P", "-m", "foreword.edges.service"]) as service:
            try:
                until(lambda: (home / "run" / "service.sock").exists(), "no service comes up")
                until_none(spool_files, "the spool is never empty")
            finally:
                service.terminate()
                service.wait(120)

    return run


def fill_and_free(world, disk, fill_disk):
    """Fill the disk, let some events come, free it, and let the reserve be made whole; again and again."""
    while not world.stopping.is_set():
        ballast, until = fill_disk(disk), world.number + EVENTS_WHILE_FULL
        while world.number < until and not world.stopping.wait(0.05):
            fill_disk(disk)
        ballast.unlink()
        world.full += 1
        while not spool_files.fill_spool_reserve(str(world.home)) and not world.stopping.wait(0.05):
            pass


@pytest.mark.parametrize("kills", [10, pytest.param(1000, marks=pytest.mark.soak)])
def test_kills_while_the_disk_fills_up_lose_and_double_nothing(
    world, kills, home, serve_until_empty, report_fault, small_disk, fill_disk, monkeypatch
):
    monkeypatch.setattr(spool_files, "RESERVE", {16_384: 100})
    home.mkdir()
    with small_disk(home, 48):
        spool_files.fill_spool_reserve(str(home))
        (home / "run").mkdir(mode=0o700)
        filling = threading.Thread(target=fill_and_free, args=(world, home, fill_disk), daemon=True)
        with at_work(world):
            filling.start()
            while sum(world.kills.values()) < kills or not world.full:
                world.stopping.wait(world.chance.uniform(0.0, 0.25))
                world.kill_somebody()
        filling.join(60)
        (home / "ballast").unlink(missing_ok=True)
        world.read_acknowledged_commands()
        stored, problems = settle(world, serve_until_empty)
        check(world, stored, problems, report_fault, 3, {"fillings": world.full})


def check(world, stored, problems, report, row, caused):
    doubled = [number for number, count in stored.items() if count > 1]
    told = ", ".join(f"“{notice}” {count} times" for notice, count in world.notices.items())
    report(
        row,
        caused | {f"kills of a {who}": count for who, count in world.kills.items()},
        acknowledged=len(world.acknowledged),
        lost=len(world.acknowledged - set(stored)),
        doubled=len(doubled),
        longest_wait=world.longest_wait,
        saw=told or "every prompt passes",
    )
    assert not problems
    assert world.acknowledged


@pytest.mark.parametrize("kills", [12, pytest.param(1000, marks=pytest.mark.soak)])
def test_kills_over_service_hooks_and_commands_lose_and_double_nothing(
    world, kills, serve_until_empty, report_fault
):
    with at_work(world):
        while sum(world.kills.values()) < kills:
            world.stopping.wait(world.chance.uniform(0.0, 0.25))
            world.kill_somebody()
    world.read_acknowledged_commands()
    check(world, *settle(world, serve_until_empty), report_fault, 1, {})
