"""What a command that tests or builds has shown: did it pass, what failed, and what that means.

What the tools report counts before the exit code, which a pipe may have swallowed; one failure that can be
seen is enough, whatever passed beside it; and a pass takes tests that were run. A log that is read, searched
or shown is not a run, and one that could not begin is none either. In doubt there was none.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from foreword.capture.runs.bearing import Attempt, bears_on
from foreword.capture.runs.compiled import compiler
from foreword.capture.runs.invoked import runs_in
from foreword.capture.runs.reports import READERS, without_nested
from foreword.capture.runs.touched import touched
from foreword.capture.runs.verdict import CALLS_OTHERS, LEFT_OUT, MOST_NAMES, Run, verdict
from foreword.text.clean import visible

if TYPE_CHECKING:
    from collections.abc import Collection

    from foreword.capture.runs.invoked import Step
    from foreword.capture.runs.report import Report

__all__ = ["MOST_NAMES", "Failures", "Judgement", "Run", "judge", "read_run"]

_LONGEST_LINE = 300
_READ_HEAD, _READ_TAIL = 60_000, 140_000
"""Errors come first in an output and results last; in between there is more of the same."""


def read_run(command: str, output: str, exit: str | int | None = None) -> Run | None:  # noqa: A002
    """What a command has shown, if it was a test or build run that came to an end; else None.

    `exit` is a code, or what a hook calls `outcome`: `exit 1`, `failed`, `interrupted`, or nothing.
    """
    steps, code = runs_in(command), _code(exit)
    if not steps or code in _NO_RUN or (code or 0) < 0:
        return None
    lines = _lines(output)
    told = _reports(steps, lines, code)
    if not told and _word(exit) in _WORDS_OF_FAILURE:  # what failed may be the agent's tool
        return None
    run = verdict(steps, code, lines, told)
    if run is None:
        return None
    failing = [name for report in told.values() for name in report.failing] if not run.passed else []
    return replace(run, touched=touched(command, steps, lines, failing))


# What it means -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a run means: how the open experience ended, if it did, and if a warning is called for.

    `failures` are to be remembered as seen by the session.
    """

    status: Literal["confirmed", "falsified"] | None = None
    result: str = ""
    premortem: bool = False
    failures: frozenset[str] = frozenset()


def judge(run: Run, attempt: Attempt | None, seen: Collection[str] = ()) -> Judgement:
    """What a run means for the session's open attempt, and if something fails that it has not seen fail.

    A passing run confirms and a failing one falsifies, where it bears on what was expected.
    """
    status: Literal["confirmed", "falsified"] | None = None
    if attempt is not None and bears_on(run, attempt):
        status = "confirmed" if run.passed else "falsified"
    failures = run.trouble
    return Judgement(status, run.summary, bool(failures - set(seen)), failures)


class Failures:
    """What each session has seen fail, of the last few hundred. Safe to share between threads."""

    def __init__(self, most_sessions: int = 200) -> None:
        self._most = most_sessions
        self._seen: OrderedDict[tuple[str, str], frozenset[str]] = OrderedDict()
        self._lock = threading.Lock()

    def seen(self, workspace: str, session: str) -> frozenset[str]:
        """What has failed in a session so far."""
        with self._lock:
            return self._seen.get((workspace, session), frozenset())

    def note(self, workspace: str, session: str, failures: frozenset[str]) -> None:
        """Remember that these have failed."""
        with self._lock:
            key = (workspace, session)
            self._seen[key] = self._seen.pop(key, frozenset()) | failures
            if len(self._seen) > self._most:
                self._seen.popitem(last=False)


# What it printed -----------------------------------------------------------------------------------------

_NO_RUN = frozenset({124, 125, 126, 127, 130, 137, 143})
"""Exit codes of what could not be started, or was ended from outside."""

_WORDS_OF_FAILURE = ("failed", "error")
_EXIT = re.compile(r"\s*(?:exit(?: code)? )?(-?\d{1,6})\s*")
_WHOSE = re.compile(
    r"^(?!ok |FAILED )(?:\[(?!INFO|ERROR|WARN|DEBUG)[^\]\s]{1,60}\]:? |[@\w./-]{1,60} +\| "
    r"|[@\w./-]{1,60}[:# ]test[\w:-]*: ?)"
)
"""By which runners of several packages tell apart whose line it is."""


def _word(given: str | int | None) -> str:
    return given.strip().lower() if isinstance(given, str) else ""


def _code(given: str | int | None) -> int | None:
    """The exit code, 1 for a failure without one, and None when nobody said."""
    if isinstance(given, int):
        return int(given)
    text = _word(given)
    if text in ("interrupted", "cancelled", "timeout"):
        return 130
    if found := _EXIT.fullmatch(text):
        return int(found[1])
    return 1 if text in _WORDS_OF_FAILURE else None


def _lines(output: str) -> list[str]:
    """The lines of an output as a screen shows them, none too long; of a long output, both ends."""
    if len(output) > _READ_HEAD + _READ_TAIL:
        output = f"{output[:_READ_HEAD]}\n{LEFT_OUT}\n{output[-_READ_TAIL:]}"
    shown = "\n".join(line.rstrip().rpartition("\r")[2] for line in output.split("\n"))
    return [line[:_LONGEST_LINE] for line in visible(shown).split("\n")]


def _reports(steps: tuple[Step, ...], lines: list[str], code: int | None) -> dict[str, Report]:
    """What each of the tools, or one that they called, has reported."""
    tools = {step.tool for step in steps}
    if len(steps) == 1 and steps[0].once:
        lines = without_nested(steps[0].tool, lines)
    readers = {name: reader for name, reader in READERS.items() if name in tools}
    if tools & CALLS_OTHERS:
        readers = READERS
        lines = [_WHOSE.sub("", line) for line in lines]
    if any(step.tool == "compiler" and not (code == 0 and step.chained) for step in steps):
        readers = {**readers, "compiler": compiler}
    told = {name: reader(lines) for name, reader in readers.items()}
    return {name: report for name, report in told.items() if report is not None}
