"""Two versions of Foreword on one machine at once: hooks, services and databases of each meet the other's.

The other version is a copy of the package whose protocol and database are one step further.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import foreword
from foreword.edges import hook_client
from foreword.edges.service.run_folder import RunFolder
from foreword.store import schema

pytestmark = pytest.mark.slow

FOLDER = "/nowhere"
STEP = '\nMIGRATIONS.append(("9998-later", "CREATE TABLE later(x)"))\n'


def link_all_but(source, target, *changed):
    """Make a folder whose entries lead to another's, but for some that are made by the caller."""
    target.mkdir(parents=True)
    for entry in source.iterdir():
        if entry.name not in (*changed, "__pycache__"):
            (target / entry.name).symlink_to(entry)


@pytest.fixture
def next_version(tmp_path):
    """A folder with the package of the next version."""
    source, target = Path(foreword.__file__).parent, tmp_path / "next" / "foreword"
    link_all_but(source, target, "edges", "store", "__init__.py")
    link_all_but(source / "edges", target / "edges", "hook_client.py")
    link_all_but(source / "store", target / "store", "schema.py")
    (target / "__init__.py").write_text((source / "__init__.py").read_text())
    client = (source / "edges" / "hook_client.py").read_text()
    assert hook_client.PROTOCOL == b"FWD2"
    (target / "edges" / "hook_client.py").write_text(client.replace('b"FWD2"', 'b"FWD3"'))
    (target / "store" / "schema.py").write_text((source / "store" / "schema.py").read_text() + STEP)
    return target.parent


class Machine:
    """Hooks and services of both versions on one home; what was acknowledged, and how long hooks took."""

    def __init__(self, home, until, next_version):
        self.home, self.until = home, until
        self.paths = {"this": Path(foreword.__file__).parent.parent, "next": next_version}
        self.acknowledged, self.waits, self.notices = [], [], []

    @contextlib.contextmanager
    def service(self, version):
        environment = {**os.environ, "PYTHONPATH": str(self.paths[version])}
        command = [sys.executable, "-P", "-m", "foreword.edges.service"]
        with subprocess.Popen(command, env=environment) as service:
            try:
                self.until(lambda: RunFolder(self.home).running_pid() == service.pid, "no service comes up")
                self.until((self.home / "run" / "service.sock").exists, "no service listens")
                yield service
            finally:
                service.terminate()
                service.wait(120)

    def hook(self, version, event="UserPromptSubmit", **fields):
        """Run a hook of a version; gives what it prints."""
        client = self.paths[version] / "foreword" / "edges" / "hook_client.py"
        command = [os.path.realpath(sys.executable), "-I", "-S", str(client), "--home", str(self.home)]
        command += ["--agent", "claude-code", "--event", event, "--python", "/bin/false"]
        command += ["--deadline-ms", "30000"] if event == "SessionStart" else []
        payload = {"hook_event_name": event, "session_id": "s1", "cwd": FOLDER, **fields}
        began = time.monotonic()
        done = subprocess.run(
            command, input=json.dumps(payload).encode(), capture_output=True, timeout=120, check=False
        )
        self.waits.append(time.monotonic() - began)
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout or b"{}")

    def say(self, version, count):
        for _ in range(count):
            text = f"Please look at order {len(self.acknowledged):04} of the shop, it was paid twice."
            self.hook(version, prompt=text)
            self.acknowledged.append(text)


@pytest.mark.parametrize("prompts", [2, pytest.param(25, marks=pytest.mark.soak)])
def test_hooks_services_and_databases_of_two_versions_lose_and_double_nothing(
    prompts, home, until, next_version, spool_files, monkeypatch, stored_texts, report_fault
):
    machine = Machine(home, until, next_version)
    with machine.service("this"):
        for version in ("this", "next", "this"):
            machine.say(version, prompts)
        until(lambda: not spool_files(), "the spool is never empty")
    with machine.service("next"):  # an upgrade: the database is taken a step further
        for version in ("next", "this", "next"):
            machine.say(version, prompts)
        until(lambda: not spool_files(), "the spool is never empty")
    with machine.service("this"):  # and back: it must not touch what it does not know
        machine.say("this", prompts)
        begun = machine.hook("this", "SessionStart", source="startup")
    assert "newer" in begun["systemMessage"]
    assert spool_files()
    with machine.service("next"):
        until(lambda: not spool_files(), "the spool is never empty")
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, ("9998-later", "")])
    stored = Counter(stored_texts(FOLDER))
    report_fault(
        10,
        {"prompts between two versions": len(machine.acknowledged)},
        acknowledged=len(machine.acknowledged),
        lost=len(set(machine.acknowledged) - set(stored)),
        doubled=sum(count > 1 for count in stored.values()),
        longest_wait=max(machine.waits),
        saw=f"“{begun['systemMessage'].partition(':')[0]}”",
    )
