"""What is wrong is said in one line, where the user looks: in the agent, and by `doctor`."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from foreword.edges.service.responder import HookResponder
from foreword.edges.service.run_folder import RunFolder
from foreword.edges.shared import hook_fallback
from foreword.edges.shared.trouble import (
    explain_why_service_cannot_run,
    read_start_failure,
    record_start_failure,
)
from foreword.errors import ForewordError
from foreword.spaces import bundled

pytestmark = pytest.mark.usefixtures("no_model")
CLIENT = [
    os.path.realpath(sys.executable),
    "-I",
    "-S",
    str(Path(hook_fallback.__file__).parents[1] / "hook_client.py"),
]


@pytest.fixture
def start_session(tmp_path):
    """Begin a session through the real hook on a home; gives the line for the agent's user."""

    def start(home):
        event = {
            "hook_event_name": "SessionStart",
            "session_id": "s",
            "cwd": str(tmp_path),
            "source": "startup",
        }
        options = ["--home", str(home), "--agent", "claude-code", "--event", "SessionStart"]
        options += ["--deadline-ms", "60000", "--python", sys.executable]
        done = subprocess.run(
            [*CLIENT, *options],
            input=json.dumps(event).encode(),
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout or b"{}")

    return start


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('template = "chat"\n\ntokn = 3\n', "config.toml line 3"),
        ("token_budget = 100\ntemplate = \n", "line 2"),
        ('threads = "many"\n', "threads in"),
        ('template = "poem"\n', "no template named 'poem'"),
    ],
)
def test_wrong_settings_are_told_when_a_session_begins(start_session, home, text, part):
    home.mkdir(parents=True)
    (home / "config.toml").write_text(text)
    answer = start_session(home)
    assert set(answer) == {"systemMessage"}
    assert answer["systemMessage"].startswith("Foreword is off: ")
    assert part in answer["systemMessage"]
    assert "foreword doctor" in answer["systemMessage"]


def test_why_a_session_began_without_foreword_is_in_the_log(start_session, home, until):
    home.mkdir(parents=True)
    (home / "config.toml").write_text("tokn = 3\n")
    start_session(home)
    log = home / "run" / "hook.log"
    until(lambda: log.exists() and "SessionStart of claude-code" in log.read_text(), "nothing was logged")
    assert "unknown setting 'tokn'" in log.read_text()


@pytest.mark.parametrize("place", ["/sys/foreword", "below a file"])
def test_a_home_that_cannot_be_written_is_told_when_a_session_begins(start_session, tmp_path, place):
    if place == "below a file":
        (tmp_path / "file").write_text("")
        place = str(tmp_path / "file" / "home")
    elif not Path("/sys").is_dir():
        pytest.skip("there is no /sys")
    answer = start_session(place)
    assert place in answer["systemMessage"]
    assert "FOREWORD_HOME" in answer["systemMessage"]


@pytest.mark.parametrize("name", ["run", "spool"])
def test_a_file_in_the_place_of_a_folder_is_told_when_a_session_begins_and_by_doctor(
    start_session, home, foreword, name
):
    home.mkdir(parents=True)
    (home / name).write_text("")
    assert f"{home / name} cannot be used (a file is in its place)" in start_session(home)["systemMessage"]
    assert find_home_advice(foreword).startswith(f"{home / name} cannot be used")


def test_a_home_on_a_disk_that_is_not_mounted_is_told_when_a_session_begins_and_by_doctor(
    start_session, home, foreword, tmp_path
):
    home.parent.mkdir(parents=True, exist_ok=True)
    home.symlink_to(tmp_path / "disk" / "foreword")
    told = f"{home} is a link to {tmp_path / 'disk' / 'foreword'}, which is not there"
    assert told in start_session(home)["systemMessage"]
    assert find_home_advice(foreword).startswith(told)


def find_home_advice(foreword):
    ran = foreword("doctor", "--json")
    (finding,) = [one for one in ran.json["environment"] if one["name"] == "home"]
    assert (ran.code, finding["ok"]) == (1, False)
    return finding["advice"]


def test_settings_put_right_are_enough(start_session, home):
    home.mkdir(parents=True)
    (home / "config.toml").write_text('template = "poem"\n')
    start_session(home)
    assert read_start_failure(str(home))
    (home / "config.toml").write_text('template = "chat"\n')
    (home / "run" / "starting").unlink()  # three seconds later
    assert start_session(home) == {}
    assert read_start_failure(str(home)) == ""


def test_a_damaged_database_is_told_when_a_session_begins(home, engine, tmp_path, clock):
    engine.remember("Deploys happen on Tuesdays.", str(tmp_path))
    path = engine.store.path_of_database(str(tmp_path))
    engine.store.close()
    path.write_bytes(b"not a database at all, but long enough to be read as one" * 100)
    with type(engine)(settings=engine.settings, clock=clock) as again:
        event = {
            "hook_event_name": "SessionStart",
            "session_id": "s",
            "cwd": str(tmp_path),
            "source": "startup",
        }
        answer = json.loads(
            HookResponder(again).answer_and_store(json.dumps(event).encode(), clock.now, None)
        )
        assert "is damaged" in answer["systemMessage"]


# Locks


@pytest.fixture
def no_locks(monkeypatch):
    """A file system without locks, as some network file systems are."""

    def fail(_file, _how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", fail)


def test_where_nothing_can_be_locked_that_is_said(no_locks, home, foreword):
    with pytest.raises(ForewordError, match=r"cannot be locked .*local disk"):
        RunFolder(home).acquire_lock()
    assert "cannot be locked" in explain_why_service_cannot_run(str(home))
    ran = foreword("serve")
    assert (ran.code, "cannot be locked" in ran.err, "local disk" in ran.err) == (1, True, True)
    assert "the input or the output" not in foreword("status").err
    assert foreword("stop").code == 0
    assert "local disk" in find_home_advice(foreword)


# Doctor


def test_the_doctor_works_with_settings_that_are_wrong(foreword, shop, home):
    (home / "config.toml").write_text("tokn = 3\n")
    ran = foreword("doctor", "--json")
    (finding,) = [one for one in ran.json["environment"] if one["name"] == "settings"]
    assert (ran.code, finding["ok"]) == (1, False)
    assert "config.toml line 1" in finding["value"]
    assert [one["items"] for one in ran.json["workspaces"]] == [3], "the data is looked at all the same"


def test_the_doctor_works_on_a_home_that_cannot_be_written(foreword, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FOREWORD_HOME", str(tmp_path / "file" / "home"))
    ran = foreword("doctor", "--json")
    (finding,) = [one for one in ran.json["environment"] if one["name"] == "home"]
    assert (ran.code, finding["ok"]) == (1, False)
    assert "FOREWORD_HOME" in finding["advice"]


def run_with_read_only_folder(folder, *arguments, text=""):
    """Run `foreword` where a folder is mounted read-only; gives what it printed and its exit code."""
    command = f'mount -t tmpfs -o size=1m none /mnt && mount --bind "{folder}" "{folder}" && '
    command += f'mount -o remount,bind,ro "{folder}" && exec "$@"'
    ran = subprocess.run(
        ["unshare", "-m", "sh", "-c", command, "sh", sys.executable, "-m", "foreword", *arguments],
        input=text, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    if "mount:" in ran.stderr or "unshare:" in ran.stderr:
        pytest.skip(f"nothing can be mounted here: {ran.stderr}")
    return json.loads(ran.stdout), ran.returncode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_what_only_reads_works_on_a_home_that_is_mounted_read_only(foreword, shop, home):
    one = shop["postgres"]
    for command in ("list", "search Postgres", f"show {one}", "context Postgres", "stats", "decisions"):
        answer, code = run_with_read_only_folder(home, *command.split(), "--json")
        assert (command, code) == (command, 0)
        assert answer
    listed, _ = run_with_read_only_folder(home, "list", "--json")
    assert {item["id"] for item in listed} == set(shop.values())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
@pytest.mark.parametrize("place", ["", "workspaces"])
def test_the_doctor_works_on_a_home_that_is_mounted_read_only(foreword, shop, home, place):
    answer, code = run_with_read_only_folder(home / place, "doctor", "--json")
    (finding,) = [one for one in answer["environment"] if one["name"] == "home"]
    assert (code, finding["ok"]) == (1, False)
    (diagnosis,) = answer["workspaces"]
    assert "FOREWORD_HOME" in diagnosis["problems"][0]["value"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_databases_that_cannot_be_written_are_told_when_a_session_begins(engine, home, tmp_path):
    engine.remember("Deploys happen on Tuesdays.", str(tmp_path))
    engine.store.close()
    event = json.dumps(
        {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(tmp_path), "source": "startup"}
    )
    answer, _ = run_with_read_only_folder(home / "workspaces", "hook", "--direct", text=event)
    assert "Foreword recalls in this project, but keeps nothing new" in answer["systemMessage"]
    assert "workspaces" in answer["systemMessage"]
    assert "cannot be written to" in answer["systemMessage"]


def test_a_log_that_cannot_be_written_is_told_when_a_session_begins(start_session, home):
    (home / "run" / "service.log").mkdir(parents=True)
    assert "service.log cannot be written to" in start_session(home)["systemMessage"]


def test_the_doctor_says_why_the_service_could_not_run_and_that_it_is_paused(foreword, home):
    record_start_failure(str(home), "the tokenizer is gone")
    foreword("pause")
    ran = foreword("doctor")
    assert ran.code == 1
    assert "the tokenizer is gone" in ran.out
    assert "paused" in ran.out


@pytest.mark.parametrize("name", ["bge", "MiniLM", "reader"])
def test_the_doctor_looks_at_the_weights_of_every_model(foreword, monkeypatch, name):
    """One flipped bit is enough to give answers that are quietly wrong."""
    monkeypatch.setenv("FOREWORD_EMBEDDING", "bundled")
    read = bundled.map_model_file

    def read_damaged(bundle, file):
        if name.lower() in bundle.name.lower():
            raise bundled.EmbeddingError(f"{file} of {bundle.name} is damaged; reinstall it")
        return read(bundle, file)

    monkeypatch.setattr(bundled, "map_model_file", read_damaged)
    ran = foreword("doctor", "--json")
    bad = [one for one in ran.json["environment"] if not one["ok"]]
    assert (ran.code, len(bad)) == (1, 1)
    assert "reinstall it" in bad[0]["advice"]
