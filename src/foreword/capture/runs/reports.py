"""What test runners and compilers print at the end, read line by line: how many failed, which, and why.

Each reader is given the lines of an output and gives a `Report`, or None when its tool has not spoken there;
a run that tested nothing gives one that tells nothing. Where an output is cut, a failure that can be seen is
one. Nothing here knows of exit codes, or runs anything. Here are the tools of Python, JavaScript and Ruby;
the others stand in `compiled` and `counted`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.capture.runs import compiled
from foreword.capture.runs.counted import counted
from foreword.capture.runs.report import Report, counts, first, found, line_after, names, number_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.capture.runs.report import Reader

# Python --------------------------------------------------------------------------------------------------

_PYTEST_END = re.compile(
    r"^=*\s*(no tests ran|\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?|rerun)"
    r"\b.*) in \d[\d.]*s\b"
)
_PYTEST_FAILED = re.compile(
    r"^(?:FAILED|ERROR) (\S+?\.py\S*?(?:\[.*?\])?)(?: - (.*))?$|^(\S+\.py::\S+) (?:FAILED|ERROR)(?:\s|$)"
)
_PYTEST_COVERED = re.compile(r"^((?:FAIL Required test coverage|ERROR: Coverage failure).*)")
_PYTEST_ERROR = re.compile(r"^E\s{2,}(\S.*)")


def pytest(lines: Sequence[str]) -> Report | None:
    """`1 failed, 2 passed in 0.12s`, `FAILED tests/test_a.py::test_b - AssertionError`."""
    last, failing = found(_PYTEST_END, lines), found(_PYTEST_FAILED, lines)
    if not last and not failing:
        return None
    told = counts(end[1] for end in last)
    failing_names = names(match[1] or match[3] for match in failing)
    error = first(_PYTEST_ERROR, lines) or next((match[2] for match in failing if match[2]), "")
    failed = told.get("failed", 0) + told.get("error", 0) + told.get("errors", 0)
    failed = failed if last else len(failing_names)
    passed = told.get("passed", 0) + told.get("xpassed", 0)
    uncovered = first(_PYTEST_COVERED, lines)
    return Report(failed, passed, failing_names, error if failed else uncovered, bool(uncovered))


_UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in ")
_UNITTEST_END = re.compile(r"^(OK|FAILED|NO TESTS RAN)\b(?: \((.*)\))?$")
_UNITTEST_FAILED = re.compile(r"^(?:FAIL|ERROR): (\w+) \(([\w.<>]+)\)")
_PYTHON_ERROR = re.compile(r"^((?:\w+\.)*\w*(?:Error|Exception|Failure|Warning)\b.*)")
_EQUALS = re.compile(r"(failures|errors|unexpected successes|expected failures|skipped)=(\d+)")


def unittest(lines: Sequence[str]) -> Report | None:
    """`Ran 3 tests in 0.001s`, then `OK (expected failures=1)` or `FAILED (failures=1)`."""
    ran, last = found(_UNITTEST_RAN, lines), found(_UNITTEST_END, lines)
    if not ran or not last:
        return None
    told: dict[str, int] = {}
    for word, number in _EQUALS.findall(" ".join(end[2] or "" for end in last)):
        told[word] = told.get(word, 0) + number_of(number)
    failed = told.get("failures", 0) + told.get("errors", 0) + told.get("unexpected successes", 0)
    passed = sum(number_of(match[1]) for match in ran) - failed - told.get("skipped", 0)
    failing = [
        where if where.rpartition(".")[2] == name else f"{where}.{name}"
        for name, where in (match.groups() for match in found(_UNITTEST_FAILED, lines))
    ]
    broken = not failed and any(end[1] == "FAILED" for end in last)
    error = first(_PYTHON_ERROR, lines) if failed else ""
    return Report(failed, max(0, passed), names(failing), error, broken)


# JavaScript ----------------------------------------------------------------------------------------------

_JEST_TESTS = re.compile(r"^Tests:\s+(.*\btotal)\b")
_JEST_SUITES = re.compile(r"^Test Suites:\s+(.*\btotal)\b")
_JEST_FAILED = re.compile(r"^\s{0,4}● (?!Console|Test suite failed to run|Validation|Deprecation)(\S.*)$")
_JEST_SUITE = re.compile(r"^FAIL\s+(?:\[?\w+\]?\s+)?(\S+\.[cm]?[jt]sx?)(?:\s|$)")
_AFTER_NAME = re.compile(r"^\s{0,4}● (?!Console)\S")


def jest(lines: Sequence[str]) -> Report | None:
    """`Tests: 1 failed, 2 passed, 3 total`, `● adds › numbers`."""
    tests, suites = found(_JEST_TESTS, lines), found(_JEST_SUITES, lines)
    broken = found(_JEST_SUITE, lines)
    if not tests and not (broken and found(_AFTER_NAME, lines)):
        return None
    told, files = counts(end[1] for end in tests), counts(end[1] for end in suites)
    failed = told.get("failed", 0) or files.get("failed", 0) or (0 if tests else len(broken))
    named = found(_JEST_FAILED, lines) or broken
    error = line_after(_AFTER_NAME, lines) if failed else ""
    passed = told.get("passed", 0) if suites else 0  # a suite that could not be loaded counts no tests
    return Report(failed, passed, names(match[1] for match in named), error)


_VITEST_TESTS = re.compile(r"^\s*Tests\s{2,}(\d.*|no tests.*)$")
_VITEST_FILES = re.compile(r"^\s*Test Files\s{2,}(\d.*|no tests.*)$")
_VITEST_ERRORS = re.compile(r"^\s*Errors\s{2,}(\d+) errors?")
_VITEST_FAILED = re.compile(
    r"^\s*FAIL\s{1,4}(?:\|\w+\| )?(\S*\.[cm]?[jt]sx?(?: > .*?|(?= \[)|$))(?: \[ .* \])?$"
)
_SCRIPT_ERROR = re.compile(r"^\s*(?:→ |✗ )?((?:Uncaught )?\w*(?:Error|Exception)\b(?: \[\w+\])?: .*)")


def vitest(lines: Sequence[str]) -> Report | None:
    """`Tests  1 failed | 2 passed (3)`, `FAIL  src/a.test.ts > adds`, `Errors  1 error`."""
    tests, files = found(_VITEST_TESTS, lines), found(_VITEST_FILES, lines)
    failing = names(match[1] for match in found(_VITEST_FAILED, lines))
    if not (tests and files):
        cut_short = any(" > " in name for name in failing)
        return Report(len(failing), 0, failing, first(_SCRIPT_ERROR, lines)) if cut_short else None
    told, broken = counts(end[1] for end in tests), counts(end[1] for end in files).get("failed", 0)
    stray = sum(number_of(match[1]) for match in found(_VITEST_ERRORS, lines))
    failed = told.get("failed", 0) or broken or stray
    return Report(failed, told.get("passed", 0), failing, first(_SCRIPT_ERROR, lines) if failed else "")


_MOCHA_PASSING = re.compile(r"^\s+(\d+) passing \(")
_MOCHA_FAILING = re.compile(r"^\s+(\d+) failing$")
_MOCHA_BROKEN = re.compile(r"^\s*Exception during run: *(.*)")
_MOCHA_NUMBER = re.compile(r"^\s{1,4}\d+\) (\S.*)$")


def mocha(lines: Sequence[str]) -> Report | None:
    """`2 passing (5ms)`, `1 failing`, then each failure under its number."""
    passing, failing = found(_MOCHA_PASSING, lines), found(_MOCHA_FAILING, lines)
    if not passing and not failing:
        broken = found(_MOCHA_BROKEN, lines)
        return Report(error=broken[0][1] or first(_SCRIPT_ERROR, lines), broken=True) if broken else None
    passed = sum(number_of(match[1]) for match in passing)
    if not failing:
        return Report(0, passed)
    begins = next(at for at, line in enumerate(lines) if _MOCHA_FAILING.match(line))
    told = [line for line in lines[begins + 1 :] if line.strip()]
    heads = [at for at, line in enumerate(told) if _MOCHA_NUMBER.match(line)]
    failing_names = names(_mocha_name(told[at : at + 5]) for at in heads)
    error = first(_SCRIPT_ERROR, told) or line_after(_MOCHA_NUMBER, told)
    return Report(sum(number_of(match[1]) for match in failing), passed, failing_names, error)


def _mocha_name(lines: Sequence[str]) -> str:
    """A failure's name: the suites and the test, each on a line, until one ends with a colon."""
    parts = [lines[0].partition(") ")[2].strip()]
    for line in lines[1:]:
        if parts[-1].endswith(":"):
            break
        parts.append(line.strip())
    return " ".join(parts).rstrip(":")


_NPM_FAILED = re.compile(
    r"^(npm (?:ERR!|error) (?:Test failed|Lifecycle script .* failed|code ELIFECYCLE|Failed at the).*"
    r"|error Command failed with exit code \d+.*|\s*ELIFECYCLE\s+(?:Test|Command) failed.*"
    r"|error: script \".*\" exited with code [1-9].*|.*\bERR_PNPM_RECURSIVE_\w+.*|lerna ERR! .*"
    r"|\s*ERROR\s+run failed.*|\s*Failed:\s+\S+#\S+.*|.*[Cc]ommand failed for workspaces.*)"
)


def npm(lines: Sequence[str]) -> Report | None:
    """`npm ERR! Test failed.`; when all goes well it says nothing of its own."""
    failed = first(_NPM_FAILED, lines)
    return Report(error=failed, broken=True) if failed else None


# Ruby ----------------------------------------------------------------------------------------------------

_RSPEC_END = re.compile(
    r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?"
)
_RSPEC_FAILED = re.compile(r"^rspec (\./\S+|'\S+')")
_RSPEC_ERROR = re.compile(r"^\s*Failure/Error: (.*)")
_RSPEC_LOAD = re.compile(r"^An error occurred while loading (.*)")
_RSPEC_ABSENT = re.compile(r"cannot load such file -- /\S+_spec(?:\.rb)?$")


def rspec(lines: Sequence[str]) -> Report | None:
    """`2 examples, 1 failure`, `rspec ./spec/calc_spec.rb:4 # Calc adds`."""
    last, failing = found(_RSPEC_END, lines), names(m[1] for m in found(_RSPEC_FAILED, lines))
    if not last and not failing:
        return None
    ran, failures, pending, outside = (
        sum(map(number_of, column)) for column in zip(*(end.groups() for end in last), strict=True)
    ) if last else (0, len(failing), 0, 0)  # fmt: skip
    if not failures and found(_RSPEC_ABSENT, lines):  # a file that is not there was asked for
        return Report()
    failed = failures + outside
    error = first(_RSPEC_ERROR, lines) or first(_RSPEC_LOAD, lines, 0)
    return Report(failed, max(0, ran - failures - pending), failing, error if failed else "")


_SUMS_UP: dict[str, tuple[re.Pattern[str], ...]] = {
    "pytest": (_PYTEST_END,),
    "unittest": (_UNITTEST_RAN, _UNITTEST_END),
    "jest": (_JEST_TESTS, _JEST_SUITES),
    "vitest": (_VITEST_TESTS, _VITEST_FILES),
    "rspec": (_RSPEC_END,),
}
ONE_SUMMARY = frozenset(_SUMS_UP)
"""Tools that sum up once, at the very end: whoever sees that has seen how it went."""


def summaries(tool: str, lines: Sequence[str]) -> int:
    """How often a tool that sums up once has done so."""
    return len(found(_SUMS_UP[tool][0], lines))


def without_nested(tool: str, lines: Sequence[str]) -> list[str]:
    """The lines of one run of a tool, without summaries that its tests have printed: its own comes last."""
    kept = list(lines)
    for shape in _SUMS_UP.get(tool, ()):
        for at in [place for place, line in enumerate(kept) if shape.search(line)][:-1]:
            kept[at] = ""
    return kept


READERS: dict[str, Reader] = {
    "pytest": pytest,
    "cargo": compiled.cargo,
    "jest": jest,
    "vitest": vitest,
    "mocha": mocha,
    "rspec": rspec,
    "unittest": unittest,
    "maven": compiled.maven,
    "gradle": compiled.gradle,
    "go": compiled.go,
    "tests": counted,
    "tsc": compiled.tsc,
    "npm": npm,
    "make": compiled.make,
}
"""Every reader by the name of its tool, those that are hardest to mistake first."""
