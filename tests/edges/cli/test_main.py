from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from foreword.edges.cli import common
from foreword.edges.cli.main import main
from foreword.engine.context_engine import ContextEngine
from foreword.errors import (
    ContextError,
    EmbeddingError,
    ForewordError,
    MissingExtra,
    SearchError,
    StorageError,
    StoreFull,
    TemplateNotFound,
    ValidationError,
)

COMMANDS = sorted(main.commands)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_ends_with_an_example(foreword, command):
    ran = foreword(command, "--help")
    assert ran.code == 0
    assert "--workspace" in ran.out
    assert "--json" in ran.out
    example = ran.out.partition("Example:\n")[2]
    assert all(f"foreword {command}" in line for line in example.splitlines())
    assert example


def test_the_group_names_its_exit_codes_and_its_version(foreword):
    assert "Exit codes:" in foreword("--help").out
    assert foreword("--version").out.startswith("foreword ")


@pytest.mark.parametrize(("name", "ended_at_once"), [("foreword-semantic", True), ("somebody-else", False)])
def test_no_interpreter_is_taken_apart_around_a_part_that_is_late(name, ended_at_once):
    code = f"""
import atexit, sys, threading
from foreword.edges.cli.main import main
threading.Thread(target=threading.Event().wait, name={name!r}, daemon=True).start()
atexit.register(print, "taken apart")
sys.argv = ["foreword", "search"]
main()
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, "taken apart" not in ran.stdout) == (2, ended_at_once)
    assert "Missing argument" in ran.stderr


def test_no_command_shows_the_help_as_wrong_usage(foreword):
    ran = foreword()
    assert (ran.code, ran.out) == (2, "")
    assert "remember" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["search"],
        ["search", "x", "--nonsense"],
        ["search", "x", "--limit", "many"],
        ["search", "x", "--limit", "0"],
        ["search", "x", "--kind", "thought"],
        ["search", "x", "--since", "yesterday"],
        ["search", "x", "--since", "99999999999w"],
        ["search", "x", "--since", "2026-02-02", "--until", "2026-02-01"],
        ["search", "x", "--min-confidence", "2"],
        ["search", "x", "--related", "0"],
        ["search", "x", "--deadline", "0"],
        ["remember", ""],
        ["remember", "x", "--kind", "thought"],
        ["remember", "x", "--trust", "nobody"],
        ["remember", "x", "--confidence", "nan"],
        ["remember", "x", "--meta", "no-equals"],
        ["remember", "x", "--meta", "=value"],
        ["remember", "x", "--supersedes", "nothing"],
        ["remember", "\udcff"],
        ["context", "x", "--recipe", "nonsense"],
        ["context", "x", "--ranker", "nonsense"],
        ["context", "x", "--budget", "0"],
        ["stats", "-w", " "],
        ["stats", "-w", ""],
        ["forget"],
        ["import", "no-such-file.jsonl"],
        ["import", "."],
        ["export", "-w", "x", "/no/such/folder/file"],
        ["eval", "no-such-folder"],
        ["eval", "no-such-folder", "--all"],
        ["eval", ".", "--all"],
        ["bench", "--sizes", "few"],
        ["bench", "nonsense"],
        ["view", "promts"],
    ],
)
def test_wrong_usage_is_one_line_on_stderr_and_exit_code_2(foreword, arguments):
    foreword("remember", "so that there is something to export", "-w", "x")
    for form in (arguments, [*arguments, "--json"]):
        ran = foreword(*form)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.count("\n") == 1
        assert ran.err.startswith("foreword: " if form is arguments else '{"error": ')


def test_an_error_in_json_says_its_type_and_message(foreword):
    ran = foreword("context", "x", "--recipe", "nonsense", "--json")
    error = json.loads(ran.err)["error"]
    assert error["type"] == "template_not_found"
    assert "chat" in error["message"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValidationError("x"), 2),
        (TemplateNotFound("x", ()), 2),
        (StorageError("x"), 3),
        (StoreFull("x"), 3),
        (EmbeddingError("x"), 4),
        (SearchError("x"), 4),
        (ContextError("x"), 4),
        (MissingExtra("package", "extra"), 5),
        (ForewordError("x"), 1),
        (KeyboardInterrupt(), 130),
        (OSError(28, "No space left on device"), 2),
        (UnicodeEncodeError("ascii", "é", 0, 1, "ordinal not in range"), 2),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_every_error_has_its_exit_code_and_one_line(foreword, monkeypatch, error, code):
    def fail(*_args, **_more):
        raise error

    monkeypatch.setattr(ContextEngine, "search", fail)
    ran = foreword("search", "x")
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith("foreword: ")
    assert ran.err.count("\n") == 1


def test_a_bug_is_not_hidden(foreword, monkeypatch):
    monkeypatch.setattr(ContextEngine, "search", lambda *_args, **_more: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        foreword("search", "x")


def test_escapes_in_an_error_do_not_reach_the_terminal(foreword):
    ran = foreword("remember", "x", "--supersedes", "\x1b[31mred\u202e")
    assert "\x1b" not in ran.err
    assert "\u202e" not in ran.err


def test_a_home_that_is_a_file_is_a_storage_error(foreword, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FOREWORD_HOME", str(tmp_path / "file"))
    ran = foreword("remember", "x")
    assert ran.code == 3
    assert ran.err.startswith("foreword: cannot ")


# The workspace


def test_the_workspace_is_the_root_of_the_git_repository(foreword, tmp_path, monkeypatch):
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    (root / "src" / "deep").mkdir(parents=True)
    monkeypatch.chdir(root / "src" / "deep")
    assert foreword("stats", "--json").json["workspace"] == str(root)


def test_outside_a_repository_the_workspace_is_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert common.default_workspace() == str(tmp_path)


def test_the_environment_names_the_workspace_and_the_option_wins(foreword, monkeypatch):
    monkeypatch.setenv("FOREWORD_WORKSPACE", "from-environment")
    assert foreword("stats", "--json").json["workspace"] == "from-environment"
    assert foreword("stats", "--json", "-w", "named").json["workspace"] == "named"


def test_nothing_crosses_from_one_workspace_to_another(foreword):
    foreword("remember", "the secret of alpha", "-w", "alpha")
    assert foreword("search", "secret", "-w", "beta").code == 1


# Dates


@pytest.mark.parametrize(
    ("value", "end", "expected"),
    [
        ("2026-01-31T12:00:00Z", False, datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("2026-01-31T12:00:00+02:00", False, datetime(2026, 1, 31, 10, tzinfo=UTC)),
        ("2026-01-31", False, datetime(2026, 1, 31).astimezone()),
        ("2026-01-31", True, datetime(2026, 1, 31, 23, 59, 59, 999999).astimezone()),
        ("2026-01-31T12:00", True, datetime(2026, 1, 31, 12).astimezone()),
    ],
)
def test_dates_are_iso_and_local_unless_they_say_otherwise(value, end, expected):
    assert common.make_date_option_reader(end=end)(None, None, value) == expected


@pytest.mark.parametrize(
    ("value", "ago"), [("12h", {"hours": 12}), ("3d", {"days": 3}), ("2w", {"weeks": 2})]
)
def test_an_age_is_counted_back_from_now(value, ago):
    before = datetime.now(UTC)
    read = common.make_date_option_reader()(None, None, value)
    assert before - timedelta(**ago) <= read <= datetime.now(UTC) - timedelta(**ago)


# Logs


def test_a_warning_is_one_short_line_on_stderr_alone(foreword, monkeypatch):
    from foreword.log import get_logger

    def search(*_args, **_more):
        get_logger("foreword.test").warning("something\x1b[31m happened", space="lexical")
        return []

    monkeypatch.setattr(ContextEngine, "search", search)
    ran = foreword("search", "x")
    assert ran.out == ""
    assert ran.err.splitlines()[0] == "foreword: warning: something happened space=lexical"
    monkeypatch.setenv("FOREWORD_LOG_LEVEL", "error")
    assert "something" not in foreword("search", "x").err


def test_an_unknown_log_level_is_refused(foreword, monkeypatch):
    monkeypatch.setenv("FOREWORD_LOG_LEVEL", "loud")
    assert foreword("stats").code == 2


# Real processes


def _start_command(home, *arguments, **more):
    environment = os.environ | {"FOREWORD_HOME": str(home), "FOREWORD_EMBEDDING": "none"}
    return subprocess.Popen(
        [sys.executable, "-m", "foreword", *arguments],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,
    )


def test_text_goes_through_a_pipe_and_comes_back(home):
    stored = _start_command(home, "remember", "-", "-w", "pipe").communicate(
        "Zoë said: naïve.\n".encode(), timeout=120
    )
    assert stored[1] == b""
    found = _start_command(home, "context", "Zoë", "-w", "pipe").communicate(timeout=120)
    assert "- Zoë said: naïve.\n".encode() in found[0]


def test_a_reader_that_leaves_early_is_no_error(foreword, home):
    lines = "\n".join(json.dumps({"text": f"fact {number} " + "word " * 400}) for number in range(200))
    foreword("import", "-", "-w", "big", stdin=lines.encode())
    process = _start_command(home, "export", "-w", "big")
    assert select.select([process.stdout], [], [], 120)[0], "nothing was exported within two minutes"
    assert process.stdout.readline().startswith(b"{")
    process.stdout.close()
    assert process.wait(timeout=120) == 0
    assert process.stderr.read() == b""
    process.stdin.close()
    process.stderr.close()


def test_main_leaves_with_the_exit_code(foreword, monkeypatch):
    monkeypatch.setattr("sys.argv", ["foreword", "search", "nothing"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    assert CliRunner().invoke(main, ["search"]).exit_code == 2


def test_help_loads_neither_engine_nor_tables():
    loaded = (
        "import sys\nfrom foreword.edges.cli.main import run\n"
        "run(['--help'])\nprint(sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, check=True, timeout=120
    )
    for heavy in ("rich", "structlog", "numpy", "apsw", "foreword.engine.context_engine", "onnxruntime"):
        assert f"'{heavy}'" not in done.stderr
