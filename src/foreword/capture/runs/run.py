"""Read the result of a command that tests or builds: whether it passed, how many failed, which, and why.

The runners' reports count before the exit code, which a pipe may have hidden. One visible failure is enough,
whatever passed beside it, and a pass needs tests that ran. A command that could not start is no run. In doubt
there was no run, because a wrong verdict is worse than none. `knowledge` decides what a run means for an
experience.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from foreword.capture.redact import redact
from foreword.capture.runs.commands import (
    LINES,
    RUNNERS,
    Purpose,
    Runner,
    RunStep,
    compile_multiline_pattern,
    find_run_steps,
)
from foreword.capture.runs.scope import RunScope, name_of_test_in_project, read_scope
from foreword.capture.tool_calls import folder_relative_to_project
from foreword.text.clean import remove_invisible

MAX_NAMES = 20
"""At most this many names of failures are kept; all failures are counted."""

_MAX_LINE_CHARACTERS = 300
_MAX_ERROR_CHARACTERS = 240
_HEAD_CHARACTERS, _TAIL_CHARACTERS = 60_000, 140_000
"""How much of a long output is read from each end: errors come first, and results last."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a test or build run. `failing` are the names of the first failures, `error` the cause."""

    tool: str
    purpose: Purpose
    passed: bool
    failures: int = 0
    successes: int = 0
    failing: tuple[str, ...] = ()
    error: str = ""
    scope: RunScope = field(default=RunScope(), compare=False, repr=False)
    """What was run: everything, unless the command chose a part."""

    @property
    def summary(self) -> str:
        """The run on one line: the tool, the counts, the first failure, and the error."""
        counts = [f"{self.failures} failed"] * bool(self.failures)
        counts += [f"{self.successes} passed"] * bool(self.successes and self.purpose == "test")
        outcome = ", ".join(counts) or ("passed" if self.passed else "failed")
        first = f" ({self.failing[0]}{', …' if len(self.failing) > 1 else ''})" if self.failing else ""
        return f"{self.tool}: {outcome}{first}" + (f": {self.error}" if self.error else "")

    @property
    def failure_names(self) -> frozenset[str]:
        """The names of the failures; if they have none, the error without its numbers as the only name."""
        if self.passed:
            return frozenset()
        return frozenset(self.failing) or frozenset({f"{self.tool}: {_NUMBER.sub('#', self.error)}"})


_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
_KILLED_OR_ABSENT = frozenset({124, 125, 126, 127, 130, 137, 143})
"""Exit codes of commands that could not start, or were ended from outside."""

_FAILURE_WORDS = ("failed", "error")
_EXIT = re.compile(r"\s*(?:exit(?: code)? )?(-?\d{1,6})\s*")


def read_run_result(
    command: str,
    output: str,
    exit: str | int | None = None,  # noqa: A002
    folder: str = "",
    project: str = "/",
) -> RunResult | None:
    """The result of a command, if it was a test or build run that came to an end; else None.

    `exit` is an exit code or the `outcome` of an event: `exit 1`, `failed`, `interrupted`, or nothing. The
    command began in a folder of the project, whose root is "".
    """
    steps, code = _find_steps_in_project(command, folder, project), _parse_exit_code(exit)
    if not steps or code in _KILLED_OR_ABSENT or (code or 0) < 0:
        return None
    text = _clean_output(output)
    reports = _read_runner_reports(steps, text, code)
    if not reports and isinstance(exit, str) and exit.strip().lower() in _FAILURE_WORDS:
        return None  # the agent's own tool may have failed instead
    verdict = _decide_outcome(steps, code, text, reports)
    if verdict is None:
        return None
    tool, purpose, passed, report = verdict
    folders = {step.folder for step in steps}
    common_folder = folders.pop() if len(folders) == 1 else ""
    names = (name_of_test_in_project(name, common_folder) for name in report.failing[:MAX_NAMES])
    failing = tuple(map(_redact_and_shorten, names))
    error = "" if passed else _redact_and_shorten(report.error or _find_error_line(text))
    scope = read_scope(command, steps, text, report.failing)
    return RunResult(tool, purpose, passed, report.failed, report.passed, failing, error, scope)


def _find_steps_in_project(command: str, folder: str, project: str) -> tuple[RunStep, ...]:
    """The steps of a command that test or build, each with the folder of the project that it runs in."""
    places = ((step, Path(folder, step.folder)) for step in find_run_steps(command))
    return tuple(
        replace(step, folder=folder_relative_to_project(str(place), project) or "") for step, place in places
    )


def _parse_exit_code(exit_value: str | int | None) -> int | None:
    """The exit code; 1 for a failure without a code, and None if it is unknown."""
    if isinstance(exit_value, int):
        return int(exit_value)
    word = exit_value.strip().lower() if exit_value else ""
    if found := _EXIT.fullmatch(word):
        return int(found[1])
    return 1 if word in _FAILURE_WORDS else None


def _clean_output(output: str) -> str:
    """An output as a terminal shows it, with long lines cut; only both ends of a long output."""
    if len(output) > _HEAD_CHARACTERS + _TAIL_CHARACTERS:
        output = f"{output[:_HEAD_CHARACTERS]}\n[… truncated …]\n{output[-_TAIL_CHARACTERS:]}"
    shown = "\n".join(line.rstrip().rpartition("\r")[2] for line in output.split("\n"))
    return "\n".join(line[:_MAX_LINE_CHARACTERS].rstrip() for line in remove_invisible(shown).split("\n"))


# The reports of runners ----------------------------------------------------------------------------------

_COUNT = re.compile(r"(\d+) ([A-Za-z]+)|((?:un)?expected \w+|[A-Za-z]+)[:= ]+(\d+)")
_WORD = re.compile(
    r"(?P<passed>x?pass)|(?P<failed>fail|error|unexpected)|(?P<skipped>skip|pending)|(?P<total>(?:test|run"
    r"|example)s?$)"
)


@dataclass(frozen=True, slots=True)
class _RunnerReport:
    """The report of one runner: how many failed and passed, the names of failures, the first error."""

    failed: int = 0
    passed: int = 0
    failing: tuple[str, ...] = ()
    error: str = ""
    broken: bool = False
    tested: bool = False
    built: bool = False


def _read_runner_reports(steps: tuple[RunStep, ...], text: str, code: int | None) -> dict[str, _RunnerReport]:
    """The reports of the runners in these steps, or of runners that they called, by name."""
    names = {step.runner.name for step in steps}
    calls_others = any(step.runner.calls_others for step in steps)
    sums_up_once = len(steps) == 1 and steps[0].runs_once and not calls_others
    if calls_others:
        text = compile_multiline_pattern(LINES["package_prefix"]).sub("", text)
    # If the exit code proves that the compiler passed, lines that look like its errors are not its own.
    if all(code == 0 and step.covered_by_exit for step in steps if step.runner.name == "compiler"):
        names.discard("compiler")
    reports = {
        runner.name: _read_runner_report(runner, text, last_only=sums_up_once and runner.one_summary)
        for runner in RUNNERS
        if runner.name in names or (calls_others and runner.name != "compiler")
    }
    return {name: report for name, report in reports.items() if report is not None}


def _read_runner_report(runner: Runner, text: str, *, last_only: bool) -> _RunnerReport | None:
    """The report of a runner in an output, or None if there is none.

    With `last_only`, only the last summary counts, as tests may print summaries too.
    """
    counts: Counter[str] = Counter()
    for pattern in runner.counts:
        found = [*compile_multiline_pattern(pattern).finditer(text)]
        for match in found[-1:] if last_only else found:
            _add_counts_from_match(counts, match)
    failing = next(filter(None, (_find_names_by_pattern(pattern, text) for pattern in runner.failing)), ())
    broken = compile_multiline_pattern(runner.broken).search(text)
    built = compile_multiline_pattern(runner.built).search(text) is not None
    failed = counts["failed"] or counts["failed_units"]
    if not failed and not (counts and runner.one_summary):
        failed = len(failing)
    if not (counts or failed or broken or built):
        return None
    if failed or broken:
        reasons = filter(None, (compile_multiline_pattern(runner.error).search(text), broken))
        error = next(filter(None, map(_first_nonempty_group, reasons)), "")
        return _RunnerReport(failed, _count_passed(counts), failing, error, bool(broken))
    if not compile_multiline_pattern(runner.complete).search(text):
        return _RunnerReport(built=built)
    tested = compile_multiline_pattern(runner.tested).search(text) is not None
    return _RunnerReport(passed=_count_passed(counts), tested=tested, built=built)


def _count_passed(counts: Counter[str]) -> int:
    """How many tests passed: the count, or else all without the failed and skipped ones."""
    remaining = counts["total"] - counts["failed"] - counts["skipped"]
    return counts["passed"] or counts["passed_units"] or max(0, remaining)


def _add_counts_from_match(counts: Counter[str], match: re.Match[str]) -> None:
    """Add the counts of a matched line: its named groups, and the numbers with words in `counts`."""
    for name, value in match.groupdict().items():
        if name != "counts" and value is not None:
            counts[name] += int(value[:9]) if value.isdecimal() else 1
    counts.setdefault("total", 0)
    for before, word, other, after in _COUNT.findall(match.groupdict().get("counts") or ""):
        if meant := _WORD.match((word or other).lower()):
            counts[str(meant.lastgroup)] += int((before or after)[:9])


def _find_names_by_pattern(pattern: str, text: str) -> tuple[str, ...]:
    """The names that a pattern finds, in order, each once; a second group is what the first is in."""
    matches = compile_multiline_pattern(pattern).finditer(text)
    found = (".".join(filter(None, reversed(match.groups()))) for match in matches)
    return tuple(dict.fromkeys(" ".join(name.split()) for name in found if name))


def _first_nonempty_group(match: re.Match[str]) -> str:
    """The first group of a match that is not blank; "" if there is none."""
    return next((group.strip() for group in match.groups() if group and group.strip()), "")


# The outcome ---------------------------------------------------------------------------------------------

_Outcome = tuple[str, Purpose, bool, _RunnerReport]


def _decide_outcome(
    steps: tuple[RunStep, ...], code: int | None, text: str, reports: dict[str, _RunnerReport]
) -> _Outcome | None:
    """The outcome of a run: its tool, purpose, whether it passed, and its report; None if it is unknown.

    A counted failure comes first, then a broken run, then a failure by exit code, then a pass.
    """
    last = steps[-1]
    failed = next((name for name, report in reports.items() if report.failed), None)
    if failed is None:
        if compile_multiline_pattern(LINES["could_not_run"]).search(text):
            return None
        failed = next((name for name, report in reports.items() if report.broken), None)
    if failed is not None:
        own = [step.purpose for step in steps if step.runner.name == failed]
        return failed, (own or [last.purpose])[-1], False, reports[failed]
    silent = not reports and not compile_multiline_pattern(LINES["found_nothing"]).search(text)
    if code and last.owns_exit:
        explained = silent and last.is_first and last.proof != "report"
        explained = explained and not _has_output_without_report(last, text)
        return (last.runner.name, last.purpose, False, _RunnerReport()) if explained else None
    passed = _find_reported_pass(steps, code, reports)
    if passed is None and silent and code == 0:
        needed = [step for step in steps if step is last or step.purpose == "test"]
        if all(step.proof == "exit" and step.covered_by_exit for step in needed):
            return last.runner.name, last.purpose, True, _RunnerReport()
    return passed


def _has_output_without_report(step: RunStep, text: str) -> bool:
    """Whether a runner that always prints a summary has printed something else: it was called wrongly."""
    always_reports = step.purpose == "test" and (not step.runner.calls_others or step.proof == "counts")
    return always_reports and bool(text.strip())


def _find_reported_pass(
    steps: tuple[RunStep, ...], code: int | None, reports: dict[str, _RunnerReport]
) -> _Outcome | None:
    """The reported pass, of tests if there were any to run, else of a build; None if there is none."""
    tests = [step for step in steps if step.purpose == "test"]
    vouched = code == 0 and all(step.covered_by_exit for step in tests or steps[-1:])
    # Without an exit code, a failure may be hidden, so that only a summary of all tests is proof.
    sums_up = len(steps) == 1 and steps[0].runner.one_summary
    is_cut = not sums_up and any(step.is_filtered for step in steps)
    if not vouched and (len(tests) > 1 or is_cut or not all(step.runs_once for step in tests)):
        return None
    tested = next((name for name, report in reports.items() if report.passed or report.tested), None)
    if tested is not None and tests:
        return tested, "test", True, _RunnerReport(passed=sum(report.passed for report in reports.values()))
    built = next((name for name, report in reports.items() if report.built), None)
    return (built, "build", True, _RunnerReport()) if built is not None and not tests else None


def _find_error_line(text: str) -> str:
    """The first line that looks like an error, else the last line."""
    found = compile_multiline_pattern(LINES["error"]).search(text)
    return found[1] if found else text.rstrip().rpartition("\n")[2]


def _redact_and_shorten(text: str) -> str:
    """The text on one line without secrets, which are removed before it is cut."""
    return redact(" ".join(text.split()))[:_MAX_ERROR_CHARACTERS]
