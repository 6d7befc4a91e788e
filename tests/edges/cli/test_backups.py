"""Backups through the doors: the service makes them, `restore` lists them and puts one back."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from foreword.edges import hook_client
from foreword.edges.hook_client import HookEvent, NoAnswer


def _database(home):
    return next((home / "workspaces").glob("*/memory.db"))


def test_what_was_backed_up_is_listed_and_restored(foreword, shop, home):
    assert foreword("restore").code == 1
    made = foreword("backup", "--json").json
    assert made["bytes"] > 0
    foreword("forget", "--no-verify", shop["postgres"])
    foreword("remember", "Something said later.")
    assert foreword("restore", "--json").json == [], "what was forgotten is in no backup"
    later = foreword("backup").out.split(" (")[0]
    foreword("remember", "Something said later still.")
    (listed,) = foreword("restore", "--json").json
    assert listed["label"].startswith("by-hand-")
    assert listed["label"] in foreword("restore").out
    ran = foreword("restore", listed["label"])
    assert (ran.code, "--yes" in ran.err) == (2, True)
    ran = foreword("restore", "latest", "--yes", "--json")
    assert (ran.code, ran.json["items"], ran.json["problems"]) == (0, 3, [])
    assert foreword("stats", "--json").json["items"] == 3
    assert foreword("doctor").code == 0
    kept = [one["label"] for one in foreword("restore", "--json").json if one["path"] != later]
    assert foreword("restore", kept[0], "--yes").code == 0
    assert foreword("stats", "--json").json["items"] == 4


@pytest.mark.parametrize("answer", ["y", "n"])
def test_at_a_terminal_you_are_asked(foreword, shop, terminal, answer):
    foreword("backup")
    foreword("remember", "Something said later.")
    ran = foreword("restore", "latest", stdin=terminal(f"{answer}\n"))
    assert ran.code == (0 if answer == "y" else 1)
    assert foreword("stats", "--json").json["items"] == (3 if answer == "y" else 4)


def test_after_damage_doctor_leads_to_restore_and_restore_to_the_data(foreword, shop, home):
    foreword("backup")
    path = _database(home)
    path.write_bytes(b"this is not a database " * 500)
    assert foreword("search", "postgres").code == 3
    ran = foreword("doctor")
    assert (ran.code, "run: foreword restore" in ran.out) == (1, True)
    ran = foreword("restore", "latest", "--yes")
    assert (ran.code, "3 items" in ran.out) == (0, True)
    assert foreword("search", "postgres").code == 0
    assert foreword("doctor").code == 0
    assert any(one["label"].startswith("damaged-") for one in foreword("restore", "--json").json)


def test_a_name_that_no_backup_has_is_one_clear_error(foreword, shop, tmp_path):
    ran = foreword("restore", "daily-1999-01-01", "--yes")
    assert (ran.code, "foreword restore" in ran.err) == (2, True)
    (tmp_path / "junk").write_bytes(b"junk" * 1000)
    assert foreword("restore", str(tmp_path / "junk"), "--yes").code == 3
    assert foreword("stats", "--json").json["items"] == 3


def test_the_doctor_says_how_many_backups_there_are_and_how_large(foreword, shop):
    assert "none yet" in foreword("doctor").out
    foreword("backup")
    (finding,) = [one for one in foreword("doctor", "--json").json["environment"] if one["name"] == "backups"]
    assert finding["value"].startswith("1, ")
    assert "kB" in finding["value"]


SERVICE = """
import sys
from foreword.edges.service import process
from foreword.edges.service.__main__ import main
process._BACKUP_QUIET_SECONDS = 0.0
process.HOUSEKEEPING_SECONDS = 0.1
sys.exit(main(process.ServiceOptions()))
"""


def test_the_service_backs_up_what_it_uses_and_restoring_stops_it(foreword, hook, home, until):
    folder = str(Path.cwd())
    service = subprocess.Popen([sys.executable, "-c", SERVICE], env=os.environ.copy(), cwd="/")

    def is_ready():
        options = ["--home", str(home), "--agent", "status", "--deadline-ms", "5000"]
        with contextlib.suppress(OSError, NoAnswer), contextlib.chdir("."):
            return hook_client.ask_service(HookEvent(options, time.monotonic()), b"")

    try:
        until(is_ready, "the service was never ready")
        hook(prompt="Deploys happen on Tuesdays from now on.", cwd=folder, answered=True)
        until(lambda: list((home / "workspaces").glob("*/memory.daily-*.backup")), "no backup was made")
        hook(prompt="And the session timeout is thirty minutes.", cwd=folder, answered=True, session_id="s2")
        until(lambda: foreword("stats", "--json").json["items"] == 2, "the second prompt was never stored")
        assert foreword("restore", "latest", "--yes").code == 0
        assert service.wait(120) == 0
        assert foreword("stats", "--json").json["items"] == 1
    finally:
        service.kill()
        service.wait(120)
