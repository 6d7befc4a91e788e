"""Whole sessions through the door of the hooks end with the verdicts that a person gave them."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from foreword.edges.service.responder import HookResponder
from foreword.knowledge.experience import RootCause
from foreword.knowledge.experiences import Experiences

TRIED = {
    "domain": "debugging",
    "strategy": "read-the-error",
    "goal": "make the checkout retry",
    "hypothesis": "the pause is read in seconds",
    "action": "convert the pause to milliseconds in src/retry.py",
    "prediction": "test_retry passes",
}


def read_sessions():
    text = Path(__file__).with_name("sessions.txt").read_text(encoding="utf-8")
    for block in text.split("\n## ")[1:]:
        title, *lines = block.strip().split("\n")
        yield pytest.param([line for line in lines if line], id=title)


SESSIONS = list(read_sessions())

REPORTS = {
    "jest": (
        "  ● {}\n\n    expect(received).toBe(expected)",
        "Tests: 1 failed, 3 passed, 4 total",
        "Test Suites: 1 passed, 1 total\nTests: 4 passed, 4 total",
    ),
    "cargo test": (
        "test {} ... FAILED",
        "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured",
        "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured",
    ),
    "go test": ("--- FAIL: {} (0.00s)\n    a_test.go:3: got 1", "FAIL\tshop\t0.1s", "ok  \tshop\t0.1s"),
    "npm": (
        "  ● {}\n\n    expect(received).toBe(expected)",
        "Tests: 1 failed, 3 passed, 4 total",
        "Test Suites: 1 passed, 1 total\nTests: 4 passed, 4 total",
    ),
    "": ("FAILED {} - AssertionError: assert 1 == 2", "1 failed, 3 passed in 0.10s", "4 passed in 0.10s"),
}
"""What runners print: of a failed test, at the end of a failed run, and at the end of one that passed."""


def report_of(command):
    return next(report for called, report in REPORTS.items() if called in command)


class Agent:
    """An agent whose every step goes through the hook, as bytes, and whose experiences through their API."""

    def __init__(self, engine, clock, folder):
        self.responder, self.experiences = HookResponder(engine), Experiences(engine)
        self.clock, self.folder, self.fields, self.begun = clock, folder, dict(TRIED), None
        self.said, self.beside, self.stands_in = [], None, folder

    def take(self, step):
        step = step.replace("{folder}", self.folder)
        self.clock.advance(seconds=20)
        word, _, rest = step.partition(" ")
        if word.endswith(":"):
            self.fields[word[:-1]] = rest
        elif word == "write":
            self.tell("Write", {"file_path": f"{self.folder}/{rest}", "content": "pause"}, {"filePath": rest})
        elif word in ("failed", "subagent"):
            self.edit(rest.removeprefix("edit "), **{word: True})
        else:
            {"start": self.start, "beside": self.start_beside, "update": self.update,
             "resolve": self.resolve, "red": self.red, "green": self.green, "edit": self.edit,
             "$": self.command}[word](rest)  # fmt: skip

    def start(self, _):
        self.begun = self.experiences.start(self.folder, session="monday", **self.fields)

    def start_beside(self, action):
        fields = self.fields | {
            "goal": "get the bill right",
            "action": action,
            "prediction": "test_vat passes",
        }
        self.beside = self.experiences.start(self.folder, **fields)

    def update(self, action):
        self.experiences.update(
            self.folder, self.begun.id, hypothesis="the pause is elsewhere", action=action
        )

    def resolve(self, status):
        cause = RootCause("wrong-assumption", "the pause was right")
        self.experiences.resolve(
            self.folder, self.begun.id, status, "as before", surprise="it was right", root_cause=cause
        )

    def red(self, rest):
        command, _, names = rest.rpartition(": ") if ": " in rest else (rest.rstrip(": "), "", "")
        command = command.replace("⏎", "\n")
        failed = [name for name in names.split(", ") if name]
        of_test, end, _ = report_of(command)
        output = "\n".join([*map(of_test.format, failed), end])
        if not failed:
            output = "src/retry.py:3: error: Incompatible types\nmake: *** [Makefile:3: build] Error 1"
        self.tell("Bash", {"command": command}, {"stdout": output, "stderr": "", "exit_code": 1})

    def green(self, command):
        command = command.replace("⏎", "\n")
        output = "" if command.startswith("make") else report_of(command)[2]
        self.tell("Bash", {"command": command}, {"stdout": output, "stderr": "", "exit_code": 0})

    def command(self, command):
        command = command.replace("⏎", "\n")
        self.tell("Bash", {"command": command}, {"stdout": "", "stderr": "", "exit_code": 0})

    def edit(self, rest, *, failed=False, subagent=False):
        file, _, texts = rest.partition(" ")
        old, _, new = texts.partition(" -> ") if texts else ("pause", "", f"pause_{len(self.said)}")
        given = {"file_path": f"{self.folder}/{file}", "old_string": old, "new_string": new}
        answer = {"error": "no such text"} if failed else {"filePath": given["file_path"]}
        self.tell("Edit", given, answer, **({"agent_id": "a1"} if subagent else {}))

    def tell(self, tool, given, answer, **more):
        called = {"tool_name": tool, "tool_input": given, "tool_response": answer}
        where = {"hook_event_name": "PostToolUse", "session_id": "monday", "cwd": self.stands_in}
        event = where | called | more
        reply = self.responder.answer_and_store(json.dumps(event).encode(), self.clock(), None)
        answer = json.loads(reply)["hookSpecificOutput"]["additionalContext"] if reply else ""
        self.said.append(answer)


@pytest.fixture
def agent(engine, clock, tmp_path):
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    clock.now -= timedelta(days=1)
    return Agent(engine, clock, str(tmp_path / "shop"))


def test_there_are_many_sessions():
    assert len(SESSIONS) >= 30


@pytest.mark.parametrize("lines", SESSIONS)
def test_a_session_ends_with_the_verdict_that_a_person_gave_it(agent, lines):
    *steps, verdict = lines
    for step in steps:
        agent.take(step)
    ended = agent.experiences.get(agent.folder, agent.begun.id)
    verdict, _, beside = verdict.removeprefix("= ").partition(" beside ")
    status, *rest = verdict.split()
    if beside:
        assert agent.experiences.get(agent.folder, agent.beside.id).status == beside
    assert ended.status == status
    if "iterations" in rest:
        assert ended.iteration_count == int(rest.pop())
        rest.remove("iterations")
    assert [ended.tier] == rest if rest else True


def first_edit(lines):
    return next(
        (
            place
            for place, line in enumerate(lines)
            if re.match(r"edit|write|\$|subagent|green (?:sed|cat >)", line)
        ),
        99,
    )


@pytest.mark.parametrize("lines", SESSIONS)
def test_no_run_before_the_edit_closes_anything(agent, lines):
    for step in lines[: first_edit(lines)]:
        if not step.startswith(("=", "resolve")):
            agent.take(step)
    if agent.begun is not None:
        assert agent.experiences.get(agent.folder, agent.begun.id).status == "open"


# What is said, and recorded


def take_all(agent, *steps):
    for step in steps:
        agent.take(step)
    return agent.experiences.get(agent.folder, agent.begun.id)


RED, GREEN = "red pytest: tests/test_retry.py::test_retry", "green pytest"


def test_what_failed_before_the_edit_and_passes_after_it_is_recorded_as_that(agent):
    ended = take_all(agent, "start", RED, "edit src/retry.py", GREEN)
    assert (ended.outcome.proof, ended.outcome.names) == (
        "failed then passed",
        ("tests/test_retry.py::test_retry",),
    )
    assert ended.outcome.auto_captured
    assert "failed before the change of src/retry.py and passes after it" in ended.outcome.result
    assert [one.kind for one in ended.evidence] == ["run", "change", "run"]


def test_an_agent_may_stand_in_a_folder_of_the_project(agent):
    agent.stands_in = f"{agent.folder}/backend"
    Path(agent.stands_in).mkdir()
    ended = take_all(agent, RED, "start", "$ sed -i s/5/5000/ src/retry.py", GREEN)
    assert ended.outcome.names == ("backend/tests/test_retry.py::test_retry",)
    assert ended.evidence[0].what == "backend/src/retry.py"


def test_the_agent_is_told_what_was_closed_and_how_and_asked_why(agent):
    ended = take_all(agent, "start", RED, "edit src/retry.py", GREEN)
    said = agent.said[-1]
    assert f"experience {ended.id} (make the checkout retry) is confirmed" in said
    assert "failed before the change of src/retry.py and passes after it" in said
    assert "Why had it failed?" in said
    assert f"experience_amend {ended.id}" in said
    assert ended.lacks == ("root_cause",)
    assert [one.id for one in agent.experiences.list_unexplained(agent.folder)] == [ended.id]
    assert agent.said[:-1] == ["", ""]


def test_nobody_is_asked_why_where_nothing_had_failed(agent):
    ended = take_all(agent, "start", "edit src/retry.py", GREEN)
    assert "is confirmed" in agent.said[-1]
    assert "Why" not in agent.said[-1]
    assert ended.lacks == ()


def test_a_session_that_begins_is_asked_what_nobody_has_explained_until_somebody_does(agent):
    ended = take_all(agent, "start", RED, "edit src/retry.py", GREEN)

    def begin(session):
        event = {
            "hook_event_name": "SessionStart",
            "session_id": session,
            "cwd": agent.folder,
            "source": "startup",
        }
        return agent.responder.answer_and_store(
            json.dumps(event).encode(), agent.clock.advance(hours=1), None
        ).decode()

    assert f"Not explained yet: experience {ended.id}" in begin("tuesday")
    cause = RootCause("wrong-assumption", "the pause was in seconds")
    agent.experiences.resolve(agent.folder, ended.id, "confirmed", root_cause=cause)
    assert "Not explained yet" not in begin("wednesday")


def test_the_same_event_twice_is_one_piece_of_evidence(agent):
    take_all(agent, "start", RED)
    output = "FAILED tests/test_retry.py::test_retry - x\n1 failed in 0.1s"
    again = {
        "hook_event_name": "PostToolUse", "session_id": "monday", "cwd": agent.folder, "tool_name": "Bash",
        "tool_input": {"command": "pytest"}, "tool_response": {"stdout": output, "exit_code": 1},
    }  # fmt: skip
    at = agent.clock.advance(minutes=1)
    for _ in range(2):
        agent.responder.answer_and_store(json.dumps(again).encode(), at, None)
    assert len(agent.experiences.get(agent.folder, agent.begun.id).evidence) == 2


def test_a_failed_hypothesis_stays_in_the_history_with_what_the_run_showed(agent):
    ended = take_all(
        agent, "start", RED, "edit src/retry.py", RED, "update read the pause from config.toml",
        "edit config.toml", GREEN,
    )  # fmt: skip
    (past,) = ended.history
    assert past.action == TRIED["action"]
    assert "1 failed" in past.result


def test_a_secret_in_a_command_reaches_no_evidence(agent, engine):
    secret = "ghp_" + "a1B2" * 9
    take_all(agent, "start", f"$ deploy src/retry.py --token {secret}")
    engine.store.close()
    held = [path.read_bytes() for path in engine.settings.home.rglob("*") if path.is_file()]
    assert not any(secret.encode() in data for data in held)
