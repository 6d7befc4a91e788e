"""`foreword index` and `foreword watch`: what they say, what they keep, and how they end."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from foreword.edges.shared.vector_requests import pop_workspaces_requesting_vectors
from foreword.errors import EmbeddingError

CODE = "\n".join(f"def part_{n}(x):\n    '''Part {n}.'''\n    return x + {n}\n\n" for n in range(12))


@pytest.fixture
def project(foreword):
    """A project in the current folder, with a history."""
    Path("src").mkdir()
    Path("src/parts.py").write_text(CODE)
    Path("README.md").write_text("# Parts\n\nEach part adds its own number.\n")
    _git("init", "-q")
    _git("add", "-A")
    _git("commit", "-q", "-m", "Add the parts")
    return Path.cwd()


def _git(*arguments):
    who = {f"GIT_{role}_{fact}": "ada" for role in ("AUTHOR", "COMMITTER") for fact in ("NAME", "EMAIL")}
    subprocess.run(
        ["git", *arguments], check=True, capture_output=True, env={**os.environ, **who}, timeout=120
    )


def test_a_folder_is_read_and_said_in_a_line(foreword, project):
    ran = foreword("index")
    assert ran.code == 0
    assert ran.out.startswith("2 files read: ")
    assert "; 1 commit; in " in ran.out
    assert ran.out.splitlines()[1].startswith("0 vectors made in ")
    again = foreword("index")
    assert again.out.startswith("0 files read: 0 units; 0 commits; 2 files unchanged; ")
    found = foreword("search", "what adds seven? part_7", "--json").json
    assert found[0]["metadata"]["qualified_name"] == "part_7"


def test_reading_and_embedding_are_told_apart(foreword, project, monkeypatch):
    from foreword.testing import HashEmbeddings

    monkeypatch.setattr(
        "foreword.engine.context_engine.default_embedding_provider", lambda _settings: HashEmbeddings()
    )
    read, made = foreword("index").out.splitlines()
    assert re.fullmatch(r"2 files read: \d+ units; 1 commit; in \d+\.\d s", read)
    assert re.fullmatch(r"\d+ vectors made in \d+\.\d s, \d+ a second", made)
    told = foreword("index", "--json").json
    assert (told["vectors"], told["vectors_left"]) == (0, 0)
    assert told["seconds"] >= 0
    assert told["vector_seconds"] >= 0


def test_vectors_are_left_to_the_service_when_nobody_wants_to_wait(foreword, project, home, monkeypatch):
    from foreword.testing import HashEmbeddings

    monkeypatch.setattr(
        "foreword.engine.context_engine.default_embedding_provider", lambda _settings: HashEmbeddings()
    )
    _, said = foreword("index", "--no-wait").out.splitlines()
    assert re.match(r"\d+ vectors to make, and no service runs: ", said)
    assert "foreword serve" in said
    assert pop_workspaces_requesting_vectors(home) == [str(project)]
    assert pop_workspaces_requesting_vectors(home) == []
    told = foreword("index", "--no-wait", "--json").json
    assert told["vectors"] == 0
    assert told["vectors_left"] > 12
    assert told["service"] is None
    assert foreword("index", "--json").json["vectors"] == told["vectors_left"]
    assert foreword("index", "--no-wait", "--json").json["vectors_left"] == 0


def test_the_answer_in_json_has_all_of_it(foreword, project):
    Path("picture.py").write_bytes(b"\0\1" * 100)
    told = foreword("index", "--json").json
    assert told["workspace"] == told["root"] == str(project)
    assert (told["files"], told["commits"], told["removed"], told["unchanged"]) == (2, 1, 0, 0)
    assert told["skipped"] == {"binary": 1}
    assert told["units"] > 12
    assert told["vectors"] == 0
    (project / "README.md").unlink()
    assert "1 file gone; left out: 1 binary" in foreword("index").out


@pytest.mark.parametrize(
    ("flags", "kinds"),
    [
        (["--code"], {"code"}),
        (["--docs"], {"document"}),
        (["--commits"], {"commit"}),
        (["--code", "--commits"], {"code", "commit"}),
        ([], {"code", "commit", "document"}),
    ],
)
def test_only_what_is_named_is_read(foreword, project, flags, kinds):
    assert foreword("index", *flags).code == 0
    assert set(foreword("stats", "--json").json["kinds"]) == kinds


def test_the_workspace_is_that_of_the_folder_that_is_read(foreword, project, monkeypatch, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert foreword("index", str(project / "src"), "--json").json["workspace"] == str(project)
    assert foreword("index", str(project), "-w", "named", "--json").json["workspace"] == "named"
    assert foreword("stats", "-w", "named", "--json").json["items"] > 12


def test_a_folder_that_is_not_there_and_a_history_that_is_not_there_are_errors(foreword, tmp_path):
    assert foreword("index", "nowhere").code == 2
    ran = foreword("index", "--commits")
    assert ran.code == 2
    assert "not a git repository" in ran.err
    assert foreword("index").code == 0


def test_an_encoder_that_fails_leaves_what_was_read(foreword, project, monkeypatch):
    def broken(*_):
        raise EmbeddingError("no model today")

    monkeypatch.setattr("foreword.engine.context_engine.ContextEngine.embed_pending", broken)
    ran = foreword("index")
    assert ran.code == 4
    assert ran.out.startswith("2 files read: ")
    assert "vectors will be made by a later command" in ran.err
    monkeypatch.undo()


def test_forgetting_a_file_leaves_nothing_of_it(foreword, project):
    foreword("index")
    ran = foreword("forget", "--source", "file:src/parts.py", "--yes")
    assert ran.code == 0
    assert foreword("stats", "--json").json["kinds"] == {"commit": 1, "document": 1}


def test_a_bar_is_shown_to_a_terminal(foreword, project, monkeypatch, terminal):
    screen = terminal()
    monkeypatch.setattr("sys.stderr", screen)
    assert foreword("index").code == 0
    screen.seek(0)
    shown = screen.read()
    assert "files" in shown
    assert "commits" in shown


def test_whoever_interrupts_is_told_how_to_go_on(foreword, project, monkeypatch):
    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("foreword.indexing.indexer.Indexer.index", interrupt)
    ran = foreword("index")
    assert ran.code == 130
    assert "run the same command again to go on" in ran.err
    quiet = foreword("index", "--json")
    assert json.loads(quiet.err) == {"error": {"type": "interrupted", "message": "interrupted"}}


def _start_command(*arguments):
    command = [sys.executable, "-m", "foreword", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _read_json_line(process):
    """The next line of a process; each is read before the next can be written."""
    assert select.select([process.stdout], [], [], 120)[0], "no line within two minutes"
    return json.loads(process.stdout.readline())


@pytest.mark.slow
def test_watching_tells_each_change_until_it_is_interrupted(foreword, project):
    process = _start_command("watch", "--every", "0.1", "--json", "--no-embed")
    try:
        first = _read_json_line(process)
        assert (first["files"], first["commits"]) == (2, 1)
        (project.parent / "new.py").write_text(CODE + "\nLAST = 1\n")
        (project.parent / "new.py").replace(project / "src/parts.py")  # whoever looks sees no half of it
        assert _read_json_line(process)["files"] == 1
        (project / "README.md").unlink()
        assert _read_json_line(process)["removed"] == 1
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert out == ""
    assert "no longer watching" in err
    assert foreword("doctor", "--json").json["workspaces"][0]["problems"] == []


@pytest.mark.slow
def test_a_signal_while_a_folder_is_read_leaves_a_sound_workspace(foreword, project, until):
    for number in range(400):
        (project / f"src/more{number}.py").write_text(CODE.replace("part", f"part{number}"))
    process = _start_command("index", "--no-embed")
    database = Path(os.environ["FOREWORD_HOME"]) / "workspaces"
    until(
        lambda: process.poll() is not None or any(database.glob("*/memory.db-wal")),
        "nothing was written in time",
    )
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "run the same command again" in err
    assert "Traceback" not in err
    assert foreword("doctor", "--json").json["workspaces"][0]["problems"] == []
    done = foreword("index", "--no-embed", "--json").json
    assert done["files"] + done["unchanged"] == 402
