"""The hook as a process: what it prints, what it never prints, and what it leaves when nobody answers."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.edges import hook_client
from foreword.edges.hook_client import HookEvent, NoAnswer
from foreword.edges.shared import hook_fallback, private_files

pytestmark = pytest.mark.usefixtures("no_model")

ROOT = os.geteuid() == 0
CLIENT = [os.path.realpath(sys.executable), "-I", "-S", hook_client.__file__]


def reads_all(met):
    """Take a request as the service would; its first line, or nothing when whoever asked has left."""
    with contextlib.suppress(OSError), met.makefile("rb") as said:
        if head := said.readline():
            said.read(int(head.split()[-1]))
        return head
    return b""


def answers(raw):
    def behave(met):
        reads_all(met)
        with contextlib.suppress(OSError):
            met.sendall(raw)
            met.shutdown(socket.SHUT_RDWR)

    return behave


def user_notice(ran):
    """What the hook told the agent's user."""
    return json.loads(ran.out)["systemMessage"]


def frame_answer(answer):
    return b"FWD2 %d\n%s" % (len(answer), answer)


# The good way


def test_the_answer_of_the_service_is_all_that_is_printed(hook, stranger):
    stranger(answers(frame_answer(b'{"hookSpecificOutput": {"additionalContext": "\xe2\x9c\x93"}}')))
    ran = hook(prompt="hello", answered=True)
    assert (ran.code, json.loads(ran.out)) == (0, {"hookSpecificOutput": {"additionalContext": "✓"}})


def test_nothing_to_say_is_nothing_printed_and_nothing_spooled(hook, stranger, home):
    stranger(answers(frame_answer(b"")))
    assert hook(prompt="hello", answered=True).out == b""
    assert not (home / "spool").exists()
    assert not (home / "run" / "hook.log").exists()


def test_the_service_gets_the_event_as_it_came_with_its_time_and_deadline(hook, stranger):
    heard = []

    def listen(met):
        heard.append(reads_all(met))
        met.sendall(frame_answer(b""))

    stranger(listen)
    before = time.time()
    hook(payload=b'{"prompt":  "kept to the byte"}', answered=True)
    word, deadline, at, agent, length = heard[0].decode().split()
    assert (word, agent, length) == ("FWD2", "claude-code", "31")
    assert 0 < int(deadline) < 30_000
    assert before - 1 <= float(at) <= time.time()


def test_it_imports_nothing_that_takes_time(home, stranger):
    stranger(answers(frame_answer(b"{}")))
    command = [*CLIENT[:-1], "-X", "importtime", CLIENT[-1], "--home", str(home), "--deadline-ms", "30000"]
    done = subprocess.run(command, input=b"{}", capture_output=True, check=True, timeout=120)
    assert done.stdout == b"{}"
    loaded = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.decode().splitlines()}
    assert "_socket" in loaded
    slow = {"json", "re", "socket", "subprocess", "signal", "typing", "pathlib", "importlib.util", "foreword"}
    assert not loaded & slow


def test_a_home_with_a_long_name_is_served(tmp_path, stranger, hook, monkeypatch, home):
    long = tmp_path / ("a" * 100) / ("b" * 100)
    long.mkdir(parents=True)
    (long / "run").symlink_to(home / "run")
    stranger(answers(frame_answer(b"{}")))
    told = HookEvent(["--home", str(long), "--deadline-ms", "30000"], time.monotonic())
    with contextlib.chdir("."):
        assert hook_client.ask_service(told, b"{}") == b"{}"


# Answers that are not given


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\0" * 500,
        b"FWD2 -5\n",
        b"FWD2 \xc2\xb2\n",
        b"FWD2 999999999999999\n",
        b"FWD2 50\n{}",
        b'FWD2 2\n{"more": "than it said"}',
        frame_answer(b"not json"),
        frame_answer(b"{\xff}"),
        frame_answer(b'{"cut": "sho'),
        frame_answer(json.dumps({"additionalContext": "x" * 10_000}).encode()),
    ],
    ids=lambda raw: repr(raw[:16]),
)
def test_an_answer_that_is_not_whole_and_ours_is_not_printed(hook, stranger, raw):
    stranger(answers(raw))
    ran = hook("PreToolUse", answered=True)
    assert (ran.code, ran.out) == (0, b"")


def test_a_long_answer_that_an_agent_takes_is_printed_whole(hook, stranger):
    answer = json.dumps({"additionalContext": "é" * 9_000}, ensure_ascii=False).encode()
    stranger(answers(frame_answer(answer)))
    assert hook(answered=True).out == answer


def test_an_answer_that_comes_in_pieces_is_put_together(hook, stranger):
    def drip(met):
        reads_all(met)
        for byte in frame_answer(b'{"a": 1}'):
            met.sendall(bytes([byte]))

    stranger(drip)
    assert hook(answered=True).out == b'{"a": 1}'


@given(st.binary(max_size=80))
def test_whatever_is_said_first_is_a_length_or_trouble(head):
    with contextlib.suppress(NoAnswer):
        assert 0 <= hook_client._read_answer_length(head) <= 4 * hook_client.MAX_ANSWER_CHARACTERS


# In time


def test_who_never_answers_is_not_waited_for(hook, stranger, wait_for_log):
    """The connection stays open for longer than the hook lives."""
    stranger(lambda met: None)
    ran = hook("PreToolUse")
    assert (ran.code, ran.out) == (0, b"")
    assert re.search("PreToolUse of claude-code: (timed out|the deadline passed)", wait_for_log("PreToolUse"))


def test_who_never_ends_its_event_is_not_waited_for(home, wait_for_log):
    command = [*CLIENT, "--home", str(home), "--event", "UserPromptSubmit"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b'{"prompt": "half')
        process.stdin.flush()
        assert process.wait(120) == 0  # although its event has not ended
        assert process.stdout.read() == b""
        process.stdin.close()
    wait_for_log("; the event is lost")
    assert not (home / "spool").exists()  # half an event is none


def test_an_event_that_comes_too_late_for_an_answer_is_kept(home, spool_files, until):
    command = [*CLIENT, "--home", str(home), "--event", "UserPromptSubmit", "--python", "/bin/false"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b'{"prompt": "half')
        process.stdin.flush()
        assert process.wait(120) == 0
        assert process.stdout.read() == b""
        process.stdin.write(b' and half"}')
        process.stdin.close()
    assert json.loads(until(spool_files, "the event was not spooled")[0].read_bytes()) == {
        "prompt": "half and half"
    }


def test_nobody_waits_for_what_is_done_afterwards(hook, wait_for_log):
    """The agent sees the end of stdout when the hook leaves, although a process of ours goes on."""
    ran = hook(prompt="hello", interpreter="/bin/false", answered=True)
    assert ran.code == 0
    wait_for_log("no service is there")


def test_the_start_of_the_interpreter_counts():
    before = time.monotonic()
    assert before - 60.0 <= hook_client.find_process_start() < time.monotonic()


def test_wrong_arguments_are_no_reason_to_fail(home):
    for arguments in (["--deadline-ms", "soon"], ["--home"], [], ["--home", "\0", "--event", "Stop"]):
        given = {"input": b"{}", "capture_output": True, "check": False, "cwd": home.parent, "timeout": 60}
        with contextlib.suppress(ValueError):
            done = subprocess.run([*CLIENT, *arguments], **given)
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


# What is kept, and what was shown


def test_an_event_that_the_service_has_kept_is_not_spooled_again(hook, stranger, home, wait_for_log):
    stranger(answers(b"FWD2 kept\n"))
    assert hook(prompt="kept", answered=True).out == b""
    wait_for_log("the service has kept the event")
    assert not (home / "spool").exists()


@pytest.mark.parametrize("said", [b"", b"FWD2 ", b'FWD2 100\n{"half": ', b"FWD2 keep\n"])
def test_an_event_of_which_the_service_did_not_say_that_it_is_kept_is_spooled(
    hook, stranger, spool_files, said
):
    stranger(answers(said))
    assert hook(prompt="not kept", answered=True).out == b""
    (file,) = spool_files()
    assert json.loads(file.read_bytes())["prompt"] == "not kept"


def test_the_service_is_told_when_the_answer_was_shown(hook, stranger, until):
    heard = []

    def answer_and_listen(met):
        reads_all(met)
        met.sendall(b"FWD2 kept\n" + frame_answer(b'{"a": 1}'))
        heard.append(met.makefile("rb").read())

    stranger(answer_and_listen)
    assert hook(prompt="hello", answered=True).out == b'{"a": 1}'
    assert until(lambda: heard, "nothing was heard") == [b"shown\n"]


def test_an_answer_that_nobody_reads_was_not_shown(home, stranger, until):
    """Its reader has closed the pipe: the hook ends, and says nothing of the kind."""
    heard = []

    def answer_and_listen(met):
        reads_all(met)
        met.sendall(frame_answer(b'{"a": 1}'))
        heard.append(met.makefile("rb").read())

    stranger(answer_and_listen)
    reading, writing = os.pipe()
    os.close(reading)
    command = [*CLIENT, "--home", str(home), "--event", "PreToolUse", "--deadline-ms", "30000"]
    done = subprocess.run(command, input=b"{}", stdout=writing, timeout=120, check=False)
    os.close(writing)
    assert done.returncode == 0
    assert until(lambda: heard, "nothing was heard") == [b""]


@pytest.mark.parametrize(("source", "kept"), [("compact", 1), ("clear", 1), ("startup", 0)])
def test_that_a_context_was_emptied_is_kept_for_the_service(hook, spool_files, wait_for_log, source, kept):
    hook("SessionStart", source=source, interpreter="/bin/false")
    wait_for_log("SessionStart of claude-code: ")
    assert len(spool_files()) == kept


# What is left when nobody answers


def test_without_a_service_a_prompt_is_in_the_spool_when_the_hook_exits(hook, spool_files, wait_for_log):
    before = time.time()
    assert hook(prompt="We deploy on Tuesdays.", interpreter="/bin/false", answered=True).out == b""
    (file,) = spool_files()  # the hook has exited: it is there
    assert json.loads(file.read_bytes())["prompt"] == "We deploy on Tuesdays."
    assert before - 1 <= float(file.name.partition("-")[0]) <= time.time()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    wait_for_log("no service is there; the event waits in the spool")


def test_secrets_do_not_reach_the_spool(hook, spool_files, until, wait_for_log):
    key = "ghp_" + secrets.token_hex(18)
    hook("PostToolUse", tool_response={"stdout": f"token: {key}"}, interpreter="/bin/false")
    (file,) = until(spool_files, "the event was not spooled")
    assert key not in file.read_text()
    assert "[redacted:github]" in file.read_text()
    assert key not in wait_for_log("spool")


@pytest.mark.parametrize("event", ["SessionStart", "PreToolUse", "Notification"])
def test_what_holds_nothing_to_keep_is_not_spooled(hook, home, wait_for_log, event):
    hook(event, interpreter="/bin/false")
    wait_for_log(f"{event} of claude-code: ")
    assert not list((home / "spool").rglob("*"))


def test_an_event_that_is_no_json_is_not_spooled(hook, home, wait_for_log):
    hook(payload=b"not json", interpreter="/bin/false")
    wait_for_log("lost")
    assert not (home / "spool").exists()


def test_an_event_that_is_too_long_is_read_to_its_end_and_dropped_with_a_word(hook, home, wait_for_log):
    ran = hook(payload=b'{"a": "' + b"x" * hook_client.MAX_EVENT_BYTES + b'"}', answered=True)
    assert (ran.code, "is not remembered: it is too long" in user_notice(ran)) == (0, True)
    wait_for_log("bytes; the most is")
    assert not (home / "spool").exists()


def test_a_home_that_cannot_be_written_is_no_reason_to_fail_but_is_told(hook, home):
    home.parent.joinpath("home").write_text("not a folder")
    ran = hook(prompt="hello")
    assert (ran.code, "is not remembered: File exists" in user_notice(ran)) == (0, True)
    home.unlink()


def test_a_file_in_the_place_of_the_spool_loses_nothing_without_a_word(hook, home):
    home.mkdir()
    (home / "spool").write_text("not a folder")
    ran = hook(prompt="hello", interpreter="/bin/false")
    assert (ran.code, "is not remembered: a file is in its place" in user_notice(ran)) == (0, True)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8-sig"])
def test_an_event_in_another_encoding_is_spooled_as_the_service_would_store_it(hook, spool_files, encoding):
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "the café opens at nine"}
    hook(payload=json.dumps(event, ensure_ascii=False).encode(encoding), interpreter="/bin/false")
    (file,) = spool_files()
    assert json.loads(file.read_text())["prompt"].startswith("the caf")


def test_the_log_of_the_hook_does_not_grow_for_ever(home):
    for _ in range(3):
        private_files.append_to_hook_log(str(home), "x" * 60_000)
    log = home / "run" / "hook.log"
    assert log.stat().st_size < 130_000
    assert log.stat().st_mode & 0o777 == 0o600


# Starting the service


def test_a_session_that_begins_waits_for_the_service_it_starts(hook, service_status, home):
    ran = hook("SessionStart", answered=True, prompt="hello")
    assert json.loads(ran.out) == {"heard": "hello"}
    assert service_status()["pid"] != os.getpid()


def test_a_session_does_not_wait_for_a_service_longer_than_its_deadline(hook, wait_for_log, tmp_path):
    """No service ever comes up here, so the hook ends only because of its deadline."""
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nsleep 4\n")
    slow.chmod(0o700)
    ran = hook("SessionStart", interpreter=str(slow))
    assert (ran.code, ran.out) == (0, b"")
    wait_for_log("SessionStart of claude-code: the deadline passed")


def test_many_hooks_at_once_start_one_service(home, tmp_path, until):
    """Each attempt writes a line; starting is attempted once in a few seconds, whoever asks."""
    attempts = tmp_path / "attempts"
    python = tmp_path / "counting"
    python.write_text(f'#!/bin/sh\necho "$$ $@" >> "{attempts}"\n')
    python.chmod(0o700)
    command = [*CLIENT, "--home", str(home), "--event", "PreToolUse", "--python", str(python)]
    hooks = [subprocess.Popen(command, stdin=subprocess.DEVNULL) for _ in range(6)]
    assert [each.wait(120) for each in hooks] == [0] * 6
    log = home / "run" / "hook.log"
    until(lambda: log.exists() and len(log.read_text().splitlines()) == 6, "a hook did not log")
    until(attempts.exists, "no service was started")
    assert len(attempts.read_text().splitlines()) == 1
    assert attempts.read_text().endswith("-P -m foreword.edges.service\n")


def test_a_service_that_cannot_be_started_is_told(hook, wait_for_log):
    ran = hook(prompt="hello", interpreter="/nowhere/python")
    assert (ran.code, ran.out) == (0, b"")
    assert wait_for_log("cannot be started with /nowhere/python").count("cannot be started") == 1


@pytest.mark.parametrize("interpreter", ["/nowhere/python", "/bin/false"])
def test_a_session_says_at_once_that_its_interpreter_cannot_run_a_service(hook, interpreter, wait_for_log):
    notice = user_notice(hook("SessionStart", interpreter=interpreter, answered=True))
    assert ("Foreword is off" in notice, interpreter in notice) == (True, True)
    assert "the deadline passed" not in wait_for_log("SessionStart of claude-code")


def test_the_service_is_not_told_the_agents_secrets(monkeypatch, home):
    monkeypatch.setenv("CLAUDE_CODE_MESSAGING_TOKEN", "x")
    monkeypatch.setenv("FOREWORD_WORKSPACE", "/elsewhere")
    monkeypatch.setenv("FOREWORD_TOKENIZER", "words")
    told = hook_fallback.service_environment(str(home))
    assert not {"CLAUDE_CODE_MESSAGING_TOKEN", "FOREWORD_WORKSPACE"} & set(told)
    assert (told["FOREWORD_TOKENIZER"], told["FOREWORD_HOME"]) == ("words", str(home))


# Strangers


@pytest.mark.skipif(not ROOT, reason="only root can be somebody else")
def test_a_socket_of_another_user_is_told_nothing(hook, home, spool_files, until, wait_for_log):
    (home / "run").mkdir(parents=True)
    heard = home / "heard"
    heard.touch()
    heard.chmod(0o666)
    (home / "run").chmod(0o777)
    for folder in (home, *home.parents):
        if "pytest-of-" in str(folder):  # pytest's own folders, which nobody else may enter
            folder.chmod(0o755)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    pid = os.fork()
    if not pid:
        try:
            os.chdir(home / "run")
            os.setuid(65534)
            listening.bind("service.sock")
            listening.listen()
            Path(home / "heard").write_bytes(b"up")
            listening.settimeout(60)
            met = listening.accept()[0]
            met.settimeout(60)
            Path(home / "heard").write_bytes(b"up" + met.recv(1000))
        finally:
            os._exit(0)
    listening.close()
    try:
        until(heard.read_bytes, "the other user does not listen")
        ran = hook(prompt="for nobody else", interpreter="/bin/false")
        assert (ran.code, ran.out) == (0, b"")
        until(spool_files, "the event was not spooled")
    finally:
        until(lambda: os.waitpid(pid, os.WNOHANG)[0], "the other user never ends")
    assert heard.read_bytes() == b"up"
    wait_for_log("somebody else")
