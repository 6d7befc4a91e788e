"""What a command that tests or builds has shown: did it pass, what failed, and what that means.

What the tool reports counts before the exit code, which a pipe may have swallowed; and a log that is read,
searched or shown is not a run. In doubt there was none.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from foreword.capture.invoked import last_run
from foreword.capture.redact import redact
from foreword.capture.reports import READERS, Report
from foreword.clean import visible

if TYPE_CHECKING:
    from collections.abc import Collection

    from foreword.capture.invoked import Purpose, Step

MOST_NAMES = 20
_LONGEST_LINE = 300
_LONGEST_TOLD = 240
_READ_HEAD, _READ_TAIL = 60_000, 140_000
"""Errors come first in an output and results last; in between there is more of the same."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a test or build run came to. `failing` are the first names of what failed, `error` why."""

    tool: str
    purpose: Purpose
    passed: bool
    failures: int = 0
    successes: int = 0
    failing: tuple[str, ...] = ()
    error: str = ""

    @property
    def summary(self) -> str:
        """The run in a line: the tool, the counts, what failed first, and why."""
        counts = [f"{self.failures} failed"] * bool(self.failures)
        counts += [f"{self.successes} passed"] * bool(self.successes and self.purpose == "test")
        told = f"{self.tool}: {', '.join(counts) or ('passed' if self.passed else 'failed')}"
        first = f" ({self.failing[0]}{', …' if len(self.failing) > 1 else ''})" if self.failing else ""
        return f"{told}{first}: {self.error}" if self.error else f"{told}{first}"

    @property
    def trouble(self) -> frozenset[str]:
        """What fails, by name; where nothing has a name, the error without its numbers stands for it."""
        if self.passed:
            return frozenset()
        return frozenset(self.failing) or frozenset({f"{self.tool}: {_NUMBER.sub('#', self.error)}"})


def read_run(command: str, output: str, exit: str | int | None = None) -> Run | None:  # noqa: A002
    """What a command has shown, if it was a test or build run that came to an end; else None.

    `exit` is a code, or what a hook calls `outcome`: `exit 1`, `failed`, `interrupted`, or nothing.
    """
    step = last_run(command)
    code = _code(exit)
    if step is None or code in _NO_RUN:
        return None
    lines = _lines(output)
    tool, report = _report(step.tool, lines)
    if report is None:
        return _by_exit(step, code, lines)
    if report.empty:
        return None
    purpose: Purpose = "test" if tool in _TESTS else step.purpose
    if report.ok and not (step.last and code):
        return Run(tool, purpose, passed=True, successes=report.passed)
    names = tuple(map(_told, report.failing[:MOST_NAMES]))
    error = _told(report.error or _any_error(lines))
    return Run(tool, purpose, False, report.failed, report.passed, names, error)  # noqa: FBT003


# What it means -------------------------------------------------------------------------------------------


class Attempt(Protocol):
    """An open experience, as far as a run can speak to it."""

    @property
    def prediction(self) -> str:
        """What was expected."""
        ...


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

    A passing run confirms and a failing one falsifies. But that something compiles, or does not, says little
    of a hypothesis, unless the prediction speaks of it; and a prediction that something will fail is left to
    whoever made it.
    """
    status: Literal["confirmed", "falsified"] | None = None
    if attempt is not None and _speaks_to(run, attempt.prediction):
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


_OF_BUILDING = re.compile(
    r"\b(?:builds?|built|building|compil\w+|type[- ]?check\w*|tsc|mypy|cargo|gradle|maven)\b"
)
_OF_FAILING = re.compile(r"\b(?:fail|fails|failing|failed|failure|break|breaks|crash|crashes|red)\b")
_NOT = re.compile(
    r"\b(?:no|not|never|none|nothing|without|stops?|zero|0|instead of|rather than|fix|fixes)\b|n['’]t\b"
)
_OF_PASSING = re.compile(r"\b(?:pass|passes|passing|green|succeeds?)\b")
_SENTENCE = re.compile(r"[.;!\n]")


def _speaks_to(run: Run, prediction: str) -> bool:
    """Whether a run can decide on a prediction: it is of its kind, and expects nothing to fail."""
    said = prediction.lower()
    if run.purpose == "build" and not _OF_BUILDING.search(said):
        return False
    return not any(map(_expects_failure, _SENTENCE.split(said)))


def _expects_failure(sentence: str) -> bool:
    """`It will fail` does; `it no longer fails` and `the failing test passes` do not."""
    if _OF_PASSING.search(sentence):
        return False
    return any(not _NOT.search(sentence, 0, fails.start()) for fails in _OF_FAILING.finditer(sentence))


# What it printed -----------------------------------------------------------------------------------------

_TESTS = frozenset({"pytest", "unittest", "jest", "vitest", "mocha", "rspec"})
"""Tools that do nothing but test."""

_NO_RUN = frozenset({124, 126, 127, 130, 137, 143})
"""Exit codes of what could not be started, or was ended from outside."""

_EXIT = re.compile(r"\s*(?:exit(?: code)? )?(-?\d{1,6})\s*")
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
_ERROR = re.compile(r"(?:Error|Exception|\b(?:error|fatal|panic|failed|FAIL(?:ED|URE)?))\b")
_NOTHING = re.compile(r"\b[Nn]o tests? (?:ran|found|collected|to run|files?)\b|\bcommand not found\b")


def _code(given: str | int | None) -> int | None:
    """The exit code, 1 for a failure without one, and None when nobody said."""
    if isinstance(given, int):
        return int(given)
    text = given or ""
    if text.strip().lower() in ("interrupted", "cancelled", "timeout"):
        return 130
    if found := _EXIT.fullmatch(text):
        return int(found[1])
    return 1 if text.strip().lower() in ("failed", "error") else None


def _lines(output: str) -> list[str]:
    """The lines of an output as a screen shows them, none too long; of a long output, both ends."""
    if len(output) > _READ_HEAD + _READ_TAIL:
        output = f"{output[:_READ_HEAD]}\n{output[-_READ_TAIL:]}"
    shown = "\n".join(line.rstrip().rpartition("\r")[2] for line in output.split("\n"))
    return [line[:_LONGEST_LINE] for line in visible(shown).split("\n")]


def _report(tool: str, lines: list[str]) -> tuple[str, Report | None]:
    """What the tool, or one that it called, has reported."""
    own = READERS.get(tool)
    if own is not None and tool != "make":
        return tool, own(lines)
    for name, reader in READERS.items():
        if (report := reader(lines)) is not None:
            return (name if name != "make" else tool), report
    return tool, None


def _by_exit(step: Step, code: int | None, lines: list[str]) -> Run | None:
    """What the exit code says, where the tool has said nothing that we understand."""
    if code is None or any(_NOTHING.search(line) for line in lines):
        return None
    if code == 0:
        return Run(step.tool, step.purpose, passed=True) if step.chained else None
    if not (step.last and step.alone):
        return None
    return Run(step.tool, step.purpose, passed=False, error=_told(_any_error(lines)))


def _any_error(lines: list[str]) -> str:
    """The first line that looks like an error, else the last that says something."""
    found = next((line for line in lines if _ERROR.search(line)), "")
    return found or next((line for line in reversed(lines) if line.strip()), "")


def _told(text: str) -> str:
    """A line as it may be kept: on one line, not too long, and without secrets, which go before the cut."""
    return redact(" ".join(text.split()))[:_LONGEST_TOLD]
