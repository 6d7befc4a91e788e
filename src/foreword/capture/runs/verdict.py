"""What a run came to: the reports of its tools, and its exit code, weighed against each other.

A failure that was counted comes first; then whatever says that nothing could be learnt; then a failure that
was not counted; and only then a pass, which takes tests that ran, all of them seen or vouched for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from foreword.capture.redact import redact
from foreword.capture.runs.reports import ONE_SUMMARY, summaries
from foreword.capture.runs.touched import Touched
from foreword.capture.runs.unlearnt import could_not_run, found_nothing

if TYPE_CHECKING:
    from foreword.capture.runs.invoked import Purpose, Step
    from foreword.capture.runs.report import Report

MOST_NAMES = 20
_LONGEST_TOLD = 240

_TESTS = ONE_SUMMARY | {"mocha", "tests"}
"""Tools that do nothing but test."""

_ONE_LINE = ONE_SUMMARY - {"vitest"}
"""Tools whose summary stands in lines that are only seen together; vitest tells stray errors below it."""

CALLS_OTHERS = frozenset({"make", "npm", "tests", "compiler"})
"""Tools behind which any other may speak."""

_PYTEST_TESTS_FAILED = 1
"""The other codes of pytest say that it was interrupted, called wrongly, or found nothing."""

LEFT_OUT = "[… truncated …]"
_LEFT_OUT = re.compile(r"\[[^\]]*\btruncated\b|\btruncated\b[^\[]*\]|^\.{3} .*(?:truncated|omitted)")
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
_ERROR = re.compile(r"(?:Error|Exception|\b(?:error|fatal|panic|failed|FAIL(?:ED|URE)?))\b")


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
    touched: Touched = field(default=Touched(), compare=False, repr=False)
    """What was run; everything, unless something was chosen."""

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


def verdict(
    steps: tuple[Step, ...], code: int | None, lines: list[str], told: dict[str, Report]
) -> Run | None:
    """A failure that was counted; nothing, where nothing could be learnt; a failure; or a pass."""
    counted = next((name for name, report in told.items() if report.failed), None)
    if counted is not None:
        return _failed(steps, counted, told[counted], lines)
    if could_not_run(lines) or _interrupted(steps[-1], code):
        return None
    broken = next((name for name, report in told.items() if report.broken), None)
    if broken is not None:
        return _failed(steps, broken, told[broken], lines)
    telling = {name: report for name, report in told.items() if report.tells}
    if code and steps[-1].last and (not told or telling):
        return _failed_by_exit(steps[-1], telling, lines)
    if told:
        return _passed(steps, code, lines, telling)
    return _passed_by_exit(steps, code, lines)


def _interrupted(step: Step, code: int | None) -> bool:
    return step.tool == "pytest" and step.last and code not in (None, 0, _PYTEST_TESTS_FAILED)


def _purpose(steps: tuple[Step, ...], tool: str) -> Purpose:
    """What a tool was run for: its own step says so, or the step that called it."""
    own = [step.purpose for step in steps if step.tool == tool]
    return "test" if tool in _TESTS else (own or [steps[-1].purpose])[-1]


def _failed(steps: tuple[Step, ...], tool: str, report: Report, lines: list[str]) -> Run:
    names = tuple(map(_told, report.failing[:MOST_NAMES]))
    error = _told(report.error or _any_error(lines))
    name = steps[-1].tool if tool == "make" else tool
    return Run(name, _purpose(steps, tool), False, report.failed, report.passed, names, error)  # noqa: FBT003


def _failed_by_exit(step: Step, telling: dict[str, Report], lines: list[str]) -> Run | None:
    """A failure that only the exit code tells; what others reported before does not explain it."""
    error = _told(_any_error(lines))
    tool = next((name for name in telling if name == step.tool or step.tool in CALLS_OTHERS), None)
    if tool is not None:
        return Run(tool, _purpose((step,), tool), False, 0, telling[tool].passed, (), error)  # noqa: FBT003
    if telling or not step.alone or step.proof == "report" or found_nothing(lines):
        return None
    if _always_reports(step) and any(line.strip() for line in lines):  # it was called wrongly, more likely
        return None
    return Run(step.tool, step.purpose, passed=False, error=error)


def _always_reports(step: Step) -> bool:
    """Whether a tool sums up whatever it has tested, so that other words are no result."""
    return step.purpose == "test" and (step.tool not in CALLS_OTHERS or step.proof == "count")


def _passed(
    steps: tuple[Step, ...], code: int | None, lines: list[str], telling: dict[str, Report]
) -> Run | None:
    """A pass that was reported: of tests where there were any to run, else of a build."""
    tests = [step for step in steps if step.purpose == "test"]
    if _some_unheard(tests, code, lines, telling) or _cut(steps, lines, telling):
        return None
    tested = next((name for name, report in telling.items() if report.passed or report.tested), None)
    if tested is not None and (tests or tested in _TESTS):
        successes = sum(report.passed for report in telling.values())
        return Run(tested, "test", passed=True, successes=successes)
    built = next((name for name, report in telling.items() if report.built), None)
    return Run(built, "build", passed=True) if built is not None and not tests else None


def _cut(steps: tuple[Step, ...], lines: list[str], telling: dict[str, Report]) -> bool:
    """Whether a failure may stand where nobody can see it: only a summary of all is beyond doubt."""
    one = len(steps) == 1 and steps[0].once
    if one and steps[0].tool in _ONE_LINE and steps[0].tool in telling:
        return False
    if not one and any(map(_LEFT_OUT.search, lines)):
        return True
    shown = len(lines) - (not lines[-1])
    return any(step.most_lines is not None and shown >= step.most_lines for step in steps)


def _some_unheard(steps: list[Step], code: int | None, lines: list[str], telling: dict[str, Report]) -> bool:
    """Whether one of the steps that test has neither reported nor been spoken for by the exit code."""
    unsure = [step for step in steps if not (code == 0 and step.chained and step.proof == "exit")]
    if any(step.tool not in telling and not (step.tool in CALLS_OTHERS and telling) for step in unsure):
        return True
    tools = [step.tool for step in unsure]
    return any(summaries(tool, lines) < tools.count(tool) for tool in ONE_SUMMARY.intersection(tools))


def _passed_by_exit(steps: tuple[Step, ...], code: int | None, lines: list[str]) -> Run | None:
    """A pass that only the exit code tells, where the tools have said nothing that we understand."""
    step = steps[-1]
    if code != 0 or found_nothing(lines):
        return None
    if any(one.proof != "exit" or not one.chained for one in steps if one is step or one.purpose == "test"):
        return None
    return Run(step.tool, step.purpose, passed=True)


def _any_error(lines: list[str]) -> str:
    """The first line that looks like an error, else the last that says something."""
    found = next((line for line in lines if _ERROR.search(line)), "")
    return found or next((line for line in reversed(lines) if line.strip()), "")


def _told(text: str) -> str:
    """A line as it may be kept: on one line, not too long, and without secrets, which go before the cut."""
    return redact(" ".join(text.split()))[:_LONGEST_TOLD]
