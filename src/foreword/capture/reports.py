"""What test runners and compilers print at the end, read line by line: how many failed, which, and why.

Each reader is given the lines of an output and gives a `Report`, or None when its tool has not spoken there.
Where nothing was tested the report is empty. Nothing here knows of exit codes, or runs anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Reader = Callable[[Sequence[str]], "Report | None"]


@dataclass(frozen=True, slots=True)
class Report:
    """What a tool said of its work: how much failed and passed, the names of what failed, the first error."""

    failed: int = 0
    passed: int = 0
    failing: tuple[str, ...] = ()
    error: str = ""
    broken: bool = False
    """Whether it failed without anything that could be counted: it did not compile, or found no way on."""

    @property
    def ok(self) -> bool:
        """Whether all went well."""
        return not (self.failed or self.broken)

    @property
    def empty(self) -> bool:
        """Whether there was nothing to tell."""
        return self == Report()


_COUNT = re.compile(r"(\d+) ([a-z]+)")


def _counts(text: str) -> dict[str, int]:
    """`1 failed, 2 passed` as numbers by their words."""
    return {word: int(number[:9]) for number, word in _COUNT.findall(text)}


def _found(shape: re.Pattern[str], lines: Iterable[str]) -> list[re.Match[str]]:
    return [match for line in lines if (match := shape.search(line))]


def _first(shape: re.Pattern[str], lines: Iterable[str], group: int = 1) -> str:
    return next((match[group].strip() for line in lines if (match := shape.search(line))), "")


def _names(matches: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in matches if name.strip()))


# Python --------------------------------------------------------------------------------------------------

_PYTEST_END = re.compile(
    r"^=*\s*(no tests ran|\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?|rerun)"
    r"\b.*) in \d[\d.]*s\b"
)
_PYTEST_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?\.py\S*?(?:\[.*?\])?)(?: - (.*))?$")
_PYTEST_ERROR = re.compile(r"^E\s{2,}(\S.*)")


def pytest(lines: Sequence[str]) -> Report | None:
    """`1 failed, 2 passed in 0.12s`, `FAILED tests/test_a.py::test_b - AssertionError`."""
    ends = _found(_PYTEST_END, lines)
    if not ends:
        return None
    told = _counts(ends[-1][1])
    failing = _found(_PYTEST_FAILED, lines)
    error = _first(_PYTEST_ERROR, lines) or next((match[2] for match in failing if match[2]), "")
    failed = told.get("failed", 0) + told.get("error", 0) + told.get("errors", 0)
    passed = told.get("passed", 0) + told.get("xpassed", 0)
    return Report(failed, passed, _names(match[1] for match in failing), error if failed else "")


_UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in ")
_UNITTEST_END = re.compile(r"^(OK|FAILED)\b(?: \((.*)\))?$")
_UNITTEST_FAILED = re.compile(r"^(?:FAIL|ERROR): (\w+) \(([\w.<>]+)\)")
_PYTHON_ERROR = re.compile(r"^((?:\w+\.)*\w*(?:Error|Exception|Failure|Warning)\b.*)")
_EQUALS = re.compile(r"(\w+)=(\d+)")


def unittest(lines: Sequence[str]) -> Report | None:
    """`Ran 3 tests in 0.001s`, then `OK` or `FAILED (failures=1)`."""
    ran, ends = _found(_UNITTEST_RAN, lines), _found(_UNITTEST_END, lines)
    if not ran or not ends:
        return None
    told = {word: int(number[:9]) for word, number in _EQUALS.findall(ends[-1][2] or "")}
    failed = told.get("failures", 0) + told.get("errors", 0) + told.get("unexpected", 0)
    passed = int(ran[-1][1][:9]) - failed - told.get("skipped", 0)
    names = [
        where if where.rpartition(".")[2] == name else f"{where}.{name}"
        for name, where in (match.groups() for match in _found(_UNITTEST_FAILED, lines))
    ]
    return Report(failed, max(0, passed), _names(names), _first(_PYTHON_ERROR, lines) if failed else "")


# JavaScript ----------------------------------------------------------------------------------------------

_JEST_TESTS = re.compile(r"^Tests:\s+(.*\btotal)\b")
_JEST_SUITES = re.compile(r"^Test Suites:\s+(.*\btotal)\b")
_JEST_FAILED = re.compile(r"^\s{0,4}● (?!Console|Test suite failed to run|Validation|Deprecation)(\S.*)$")
_JEST_SUITE = re.compile(r"^FAIL\s+(?:\[?\w+\]?\s+)?(\S+\.\w+)")
_AFTER_NAME = re.compile(r"^\s{0,4}● (?!Console)\S")


def jest(lines: Sequence[str]) -> Report | None:
    """`Tests: 1 failed, 2 passed, 3 total`, `● adds › numbers`."""
    tests, suites = _found(_JEST_TESTS, lines), _found(_JEST_SUITES, lines)
    if not tests:
        return None
    told, files = _counts(tests[-1][1]), _counts(suites[-1][1]) if suites else {}
    failed = told.get("failed", 0) or files.get("failed", 0)
    named = _found(_JEST_FAILED, lines) or _found(_JEST_SUITE, lines)
    return Report(
        failed, told.get("passed", 0), _names(match[1] for match in named), _line_after(_AFTER_NAME, lines)
    )


def _line_after(shape: re.Pattern[str], lines: Sequence[str]) -> str:
    """The first line that says something after the first of this shape."""
    at = next((place for place, line in enumerate(lines) if shape.search(line)), len(lines))
    return next((line.strip() for line in lines[at + 1 : at + 20] if line.strip()), "")


_VITEST_TESTS = re.compile(r"^\s*Tests\s{2,}(\d.*|no tests.*)$")
_VITEST_FILES = re.compile(r"^\s*Test Files\s{2,}(\d.*)$")
_VITEST_FAILED = re.compile(r"^\s*FAIL\s{1,4}(?:\|\w+\| )?(\S.*?)(?: \[ .* \])?$")
_SCRIPT_ERROR = re.compile(r"^\s*(?:→ |✗ )?((?:Uncaught )?\w*(?:Error|Exception)\b(?: \[\w+\])?: .*)")


def vitest(lines: Sequence[str]) -> Report | None:
    """`Tests  1 failed | 2 passed (3)`, `FAIL  src/a.test.ts > adds`."""
    tests, files = _found(_VITEST_TESTS, lines), _found(_VITEST_FILES, lines)
    if not tests or not files:
        return None
    told, broken = _counts(tests[-1][1]), _counts(files[-1][1]).get("failed", 0)
    names = _names(match[1] for match in _found(_VITEST_FAILED, lines))
    failed = told.get("failed", 0) or broken
    return Report(failed, told.get("passed", 0), names, _first(_SCRIPT_ERROR, lines) if failed else "")


_MOCHA_PASSING = re.compile(r"^\s+(\d+) passing \(")
_MOCHA_FAILING = re.compile(r"^\s+(\d+) failing$")
_MOCHA_NUMBER = re.compile(r"^\s{1,4}\d+\) (\S.*)$")


def mocha(lines: Sequence[str]) -> Report | None:
    """`2 passing (5ms)`, `1 failing`, then each failure under its number."""
    passing = _found(_MOCHA_PASSING, lines)
    if not passing:
        return None
    failing = next((at for at, line in enumerate(lines) if _MOCHA_FAILING.match(line)), None)
    passed = int(passing[-1][1][:9])
    if failing is None:
        return Report(0, passed)
    told = [line for line in lines[failing + 1 :] if line.strip()]
    heads = [at for at, line in enumerate(told) if _MOCHA_NUMBER.match(line)]
    names = [_mocha_name(told[at : at + 5]) for at in heads]
    failed = int(lines[failing].split()[0][:9])
    return Report(
        failed, passed, _names(names), _first(_SCRIPT_ERROR, told) or _line_after(_MOCHA_NUMBER, told)
    )


def _mocha_name(lines: Sequence[str]) -> str:
    """A failure's name: the suites and the test, each on a line, until one ends with a colon."""
    parts = [lines[0].partition(") ")[2].strip()]
    for line in lines[1:]:
        if parts[-1].endswith(":"):
            break
        parts.append(line.strip())
    return " ".join(parts).rstrip(":")


_TSC_ERROR = re.compile(r"^(\S.*?)[(:]\d+[,:]\d+\)?(?::| -) error (TS\d+: .*)|^error (TS\d+: .*)")
_TSC_NONE = re.compile(r"\bFound 0 errors\b")


def tsc(lines: Sequence[str]) -> Report | None:
    """`src/a.ts(1,7): error TS2322: …`; without errors it is silent, and only its exit tells."""
    errors = _found(_TSC_ERROR, lines)
    if errors:
        names = _names(match[1] or "" for match in errors)
        return Report(len(errors), 0, names, (errors[0][2] or errors[0][3]).strip())
    return Report(passed=1) if _found(_TSC_NONE, lines) else None


# Go, Rust ------------------------------------------------------------------------------------------------

_GO_FAILED = re.compile(r"^(\s*)--- FAIL: (\S+)")
_GO_PASSED = re.compile(r"^--- PASS: ")
_GO_OK = re.compile(r"^ok\s{2,}\S+\s+(?:\d[\d.]*s|\(cached\))(?!.*\[no tests to run\])")
_GO_PACKAGE = re.compile(r"^FAIL\s+(\S+)\s+(?:\d[\d.]*s$|\[(?:build|setup) failed\])")
_GO_HEAD = re.compile(r"^# \S+|^vet: ")
_GO_ERROR = re.compile(r"^(?:\s+(?=\w+_test\.go:\d+: )|(?=panic: |(?:vet: )?\S+\.go:\d+:\d+: ))(\S.*)")


def go(lines: Sequence[str]) -> Report | None:
    """`--- FAIL: TestAdd (0.00s)`, `ok  example.com/calc  0.002s`, `FAIL example.com/calc [build failed]`."""
    tests, packages = _found(_GO_FAILED, lines), _found(_GO_PACKAGE, lines)
    fine, passed = _found(_GO_OK, lines), _found(_GO_PASSED, lines)
    error = _first(_GO_ERROR, lines)
    broken = bool(packages) or bool(error and _found(_GO_HEAD, lines))
    if not (tests or fine or passed or broken):
        return None
    failed = sum(not match[1] for match in tests) or len(packages)
    names = _names(match[2] for match in tests) or _names(match[1] for match in packages)
    return Report(failed, len(passed) or len(fine), names, error if failed or broken else "", broken)


_CARGO_END = re.compile(r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed;")
_NEXTEST_END = re.compile(r"^\s*Summary \[.*\] +\d+(?:/\d+)? tests? run: (.*)$")
_CARGO_FAILED = re.compile(r"^test (\S+)(?: - .*)? \.\.\. FAILED|^\s*FAIL \[[^\]]*\] +(?:\(.*?\) )?(\S.*)$")
_CARGO_ERROR = re.compile(r"^(error(?:\[E\d+\])?: .*)")
_CARGO_STOPPED = re.compile(r"^error: could not compile|^error: aborting due to")
_CARGO_DONE = re.compile(r"^\s*Finished ")
_RUST_PANIC = re.compile(r"^\s*thread '.*' (?:\(\d+\) )?panicked at (.*)$")


def cargo(lines: Sequence[str]) -> Report | None:
    """`test result: FAILED. 1 passed; 1 failed`, `error[E0308]: mismatched types`, `Finished dev profile`."""
    if _found(_CARGO_STOPPED, lines):
        return Report(error=_first(_CARGO_ERROR, lines), broken=True)
    ends, nextest = _found(_CARGO_END, lines), _found(_NEXTEST_END, lines)
    if not ends and not nextest:
        return Report(passed=1) if _found(_CARGO_DONE, lines) else None
    told = _counts(nextest[-1][1]) if nextest else {}
    failed = sum(int(end[2][:9]) for end in ends) + told.get("failed", 0)
    passed = sum(int(end[1][:9]) for end in ends) + told.get("passed", 0)
    names = _names(match[1] or match[2] for match in _found(_CARGO_FAILED, lines))
    return Report(failed, passed, names, _panic(lines) if failed else "")


def _panic(lines: Sequence[str]) -> str:
    """What a panic said: on the line after its place, or, as older compilers have it, before that."""
    for line, following in pairwise([*lines, ""]):
        if panic := _RUST_PANIC.match(line):
            return panic[1] if panic[1].startswith("'") else following.strip() or panic[1]
    return ""


# Java, Ruby, make ----------------------------------------------------------------------------------------

_MAVEN_END = re.compile(r"^\[\w+\] BUILD (SUCCESS|FAILURE)")
_MAVEN_TESTS = re.compile(
    r"^\[\w+\] Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(?!.*Time elapsed)"
)
_MAVEN_FAILED = re.compile(r"^\[ERROR\] {2,}(\w[\w$.]*\.\w+)(?:\(.*?\))?(?::\d+)?(?:->\S+)?\s*[»:]?\s*(.*)$")
_MAVEN_PLACE = re.compile(r"^\[ERROR\] (\S+\.\w+:\[\d+,\d+\] .*)")
_MAVEN_ERROR = re.compile(r"^\[ERROR\] (COMPILATION ERROR.*|Failed to execute goal .*)")


def maven(lines: Sequence[str]) -> Report | None:
    """`[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0`, `[INFO] BUILD FAILURE`."""
    ends = _found(_MAVEN_END, lines)
    if not ends:
        return None
    told = [[int(number[:9]) for number in match.groups()] for match in _found(_MAVEN_TESTS, lines)]
    failed = sum(failures + errors for _, failures, errors, _ in told)
    passed = sum(max(0, ran - failures - errors - skipped) for ran, failures, errors, skipped in told)
    named = _found(_MAVEN_FAILED, lines)
    told_why = next((match[2] for match in named if match[2]), "")
    error = told_why or _first(_MAVEN_PLACE, lines) or _first(_MAVEN_ERROR, lines)
    broken = ends[-1][1] == "FAILURE"
    if not broken:
        return Report(failed, max(passed, 1))
    return Report(failed, passed, _names(match[1] for match in named), error, broken)


_GRADLE_END = re.compile(r"^BUILD (SUCCESSFUL|FAILED)\b")
_GRADLE_TESTS = re.compile(r"^(\d+) tests? completed(?:, (\d+) failed)?")
_GRADLE_FAILED = re.compile(r"^(?!> |\s)(\S.* > .+?) FAILED$")
_GRADLE_WRONG = re.compile(r"^\* What went wrong:")


def gradle(lines: Sequence[str]) -> Report | None:
    """`CalcTest > adds() FAILED`, `2 tests completed, 1 failed`, `BUILD FAILED in 2s`."""
    ends = _found(_GRADLE_END, lines)
    if not ends:
        return None
    if ends[-1][1] == "SUCCESSFUL":
        return Report(passed=1)
    tests, named = _found(_GRADLE_TESTS, lines), _found(_GRADLE_FAILED, lines)
    ran = sum(int(match[1][:9]) for match in tests)
    failed = sum(int((match[2] or "0")[:9]) for match in tests) or len(named)
    error = _line_after(_GRADLE_FAILED if named else _GRADLE_WRONG, lines)
    return Report(failed, max(0, ran - failed), _names(match[1] for match in named), error, broken=True)


_RSPEC_END = re.compile(
    r"^(\d+) examples?, (\d+) failures?(?:, \d+ pending)?(?:, (\d+) errors? occurred outside of examples)?"
)
_RSPEC_FAILED = re.compile(r"^rspec (\./\S+|'\S+')")
_RSPEC_ERROR = re.compile(r"^\s*Failure/Error: (.*)")
_RSPEC_LOAD = re.compile(r"^An error occurred while loading (.*)")


def rspec(lines: Sequence[str]) -> Report | None:
    """`2 examples, 1 failure`, `rspec ./spec/calc_spec.rb:4 # Calc adds`."""
    ends = _found(_RSPEC_END, lines)
    if not ends:
        return None
    ran, failures, outside = (int((number or "0")[:9]) for number in ends[-1].groups())
    names = _names(match[1] for match in _found(_RSPEC_FAILED, lines))
    error = _first(_RSPEC_ERROR, lines) or _first(_RSPEC_LOAD, lines, 0)
    failed = failures + outside
    return Report(failed, max(0, ran - failures), names, error if failed else "")


_MAKE_STOPPED = re.compile(r"^g?make(?:\[\d+\])?: \*\*\* (.*)")
_COMPILER_ERROR = re.compile(r"^(\S+:\d+(?::\d+)?: (?:fatal )?error: .*|\S+: error: .*|error: .*)")


def make(lines: Sequence[str]) -> Report | None:
    """`make: *** [Makefile:3: test] Error 1`; when all goes well it says nothing of its own."""
    stopped = _first(_MAKE_STOPPED, lines)
    return Report(error=_first(_COMPILER_ERROR, lines) or stopped, broken=True) if stopped else None


READERS: dict[str, Reader] = {
    "pytest": pytest,
    "cargo": cargo,
    "jest": jest,
    "vitest": vitest,
    "mocha": mocha,
    "rspec": rspec,
    "unittest": unittest,
    "maven": maven,
    "gradle": gradle,
    "go": go,
    "tsc": tsc,
    "make": make,
}
"""Every reader by the name of its tool, those that are hardest to mistake first."""
