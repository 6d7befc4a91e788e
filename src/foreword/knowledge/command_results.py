"""The results that commands of a session printed: test runs and commits.

Reads turns that hold a tool's output: the command after `$ ` on the first line, then what it printed.
The command is the agent's own; of the output, only numbers and a few known words are passed on, so that
nothing downstream can mistake a tool's words for somebody's statement.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.text.shell import find_main_step

if TYPE_CHECKING:
    from foreword.types import Item

_TEST_RESULT = re.compile(
    r"\b\d+ (?:passed|failed|errors?|failing|passing|tests?)\b|^test result:", re.IGNORECASE
)
_COUNTS = re.compile(
    r"\b(\d{1,7}) (passed|failed|errors?|failing|passing|skipped|pending|ignored|xfailed|xpassed|tests?)\b"
    r"|\b(?:tests run|failures|errors|skipped): ?\d{1,7}\b",
    re.IGNORECASE,
)
_BAD_TEST_RESULT = re.compile(r"\b[1-9]\d* (?:failed|errors?|failing)\b|FAILED", re.IGNORECASE)
_TEST_RUNNER = re.compile(
    r"\b(?:pytest|jest|vitest|mocha|rspec|phpunit|ctest|tox|nox|unittest|(?:cargo|go|npm|yarn|pnpm) test)\b"
)
_COMMIT = re.compile(r"^\[[^\]\n]{1,80} [0-9a-f]{7,40}\] (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TestResult:
    """The result of a test run: the runner, the command with its last counts, and whether a test failed."""

    runner: str
    text: str
    failed: bool


def is_tool_output(turn: Item) -> bool:
    """Whether a turn holds the output of a tool or the text of a web page."""
    return turn.source.trust in ("tool", "web")


def read_test_result(turn: Item) -> TestResult | None:
    """The result of the test run that a turn holds; None if it holds none."""
    if not is_tool_output(turn) or not turn.text.startswith("$ "):
        return None
    results = [line.strip(" =\t") for line in turn.text.split("\n")[1:] if _TEST_RESULT.search(line)]
    if not results:
        return None
    command = str(turn.metadata.get("command") or turn.text.partition("\n")[0][2:])
    failed = bool(_BAD_TEST_RESULT.search(results[-1]))
    counts = ", ".join(match.group().lower() for match in _COUNTS.finditer(results[-1]))
    summary = counts or ("failed" if failed else "passed")
    return TestResult(
        _test_runner_in_command(command), f"{_main_step_of_command(command)}: {summary}", failed
    )


def read_commit_messages(turn: Item) -> list[str]:
    """The first lines of the messages that a command committed, if the command itself contains them."""
    if not is_tool_output(turn) or not turn.text.startswith("$ "):
        return []
    command = str(turn.metadata.get("command") or turn.text.partition("\n")[0])
    messages = (message.strip() for message in _COMMIT.findall(turn.text))
    return [message for message in messages if message in command]


def _test_runner_in_command(command: str) -> str:
    """The name of the test runner in a command, by which a later run replaces an earlier one."""
    known = _TEST_RUNNER.search(command)
    return known.group() if known else " ".join(_main_step_of_command(command).split()[:2])


def _main_step_of_command(command: str) -> str:
    """The step of a command that runs tests, or does its work, in at most eight words."""
    return " ".join(find_main_step(command, _TEST_RUNNER).split()[:8])
