"""What the tools of compiled languages print: Go, Rust, Java, TypeScript, C, and whatever make calls.

They build before they test, and say so: that something was built is told apart from tests that passed.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from foreword.capture.runs.report import Report, counts, first, found, line_after, names, number_of

if TYPE_CHECKING:
    from collections.abc import Sequence

# TypeScript, and compilers that name the place of an error -----------------------------------------------

_TSC_ERROR = re.compile(
    r"^(\S.*?)[(:]\d+[,:]\d+\)?(?::| -) error (TS\d+: .*)"
    r"|^error (?!TS(?:5023|5058|5083|6053|18003):)(TS\d+: .*)"
)
_TSC_NONE = re.compile(r"\bFound 0 errors\b")


def tsc(lines: Sequence[str]) -> Report | None:
    """`src/a.ts(1,7): error TS2322: …`; without errors it is silent, and only its exit tells."""
    errors = found(_TSC_ERROR, lines)
    if errors:
        places = names(match[1] for match in errors)
        return Report(len(errors), 0, places, (errors[0][2] or errors[0][3]).strip())
    return Report(built=True) if found(_TSC_NONE, lines) else None


_COMPILER_ERROR = re.compile(r"^(\s*\S+:\d+(?::\d+)?(?::| -) (?:fatal )?error: .*)")
_ANY_ERROR = re.compile(r"^(\S+:\d+(?::\d+)?: (?:fatal )?error: .*|\S+: error: .*|error: .*)")
_COMPILER_NONE = re.compile(r"^Success: no issues found|^0 errors, ")


def compiler(lines: Sequence[str]) -> Report | None:
    """`src/cart.py:3: error: …`, `Success: no issues found in 3 source files`."""
    error = first(_COMPILER_ERROR, lines)
    if error:
        return Report(error=error, broken=True)
    return Report(built=True) if found(_COMPILER_NONE, lines) else None


_MAKE_STOPPED = re.compile(r"^g?make(?:\[\d+\])?: \*\*\* (.*)")
_MAKE_STOPPED_AT_ALL = re.compile(r"^g?make: \*\*\* ")
_MAKE_WENT_ON = re.compile(r"^g?make(?:\[\d+\])?: \[.*\] Error \d+ \(ignored\)")


def make(lines: Sequence[str]) -> Report | None:
    """`make: *** [Makefile:3: test] Error 1`; when all goes well it says nothing of its own."""
    stopped = first(_MAKE_STOPPED, lines)
    if not stopped or (found(_MAKE_WENT_ON, lines) and not found(_MAKE_STOPPED_AT_ALL, lines)):
        return None
    return Report(error=first(_ANY_ERROR, lines) or stopped, broken=True)


# Go ------------------------------------------------------------------------------------------------------

_GO_FAILED = re.compile(r"^(\s*)--- FAIL: (\S+)")
_GO_PASSED = re.compile(r"^--- PASS: ")
_GO_OK = re.compile(r"^ok\s{2,}\S+\s+(?:\d[\d.]*s|\(cached\))(?!.*\[no tests to run\])")
_GO_PACKAGE = re.compile(r"^FAIL\s+(\S+)\s+(?:\d[\d.]*s$|\[(?:build|setup) failed\])")
_GO_IN_ALL = re.compile(r"^FAIL$")
_GO_HEAD = re.compile(r"^# \S+|^vet: ")
_GO_ERROR = re.compile(r"^(?:\s+(?=\w+_test\.go:\d+: )|(?=panic: |(?:vet: )?\S+\.go:\d+:\d+: ))(\S.*)")
_GO_EVENT = re.compile(r'^\{.*"Action":"(pass|fail)".*?"Package":"([^"]+)"(?:.*?"Test":"([^"]+)")?')


def go(lines: Sequence[str]) -> Report | None:
    """`--- FAIL: TestAdd (0.00s)`, `ok  example.com/calc  0.002s`, `FAIL example.com/calc [build failed]`."""
    if events := found(_GO_EVENT, lines):
        return _go_events(events)
    tests, packages = found(_GO_FAILED, lines), found(_GO_PACKAGE, lines)
    fine, passed = found(_GO_OK, lines), found(_GO_PASSED, lines)
    error = first(_GO_ERROR, lines)
    broken = bool(packages or found(_GO_IN_ALL, lines)) or bool(error and found(_GO_HEAD, lines))
    if not (tests or fine or passed or broken):
        return None
    failed = sum(not match[1] for match in tests) or len(packages)
    failing = names(match[2] for match in tests) or names(match[1] for match in packages)
    return Report(failed, len(passed) or len(fine), failing, error if failed or broken else "", broken)


def _go_events(events: Sequence[re.Match[str]]) -> Report:
    """What `go test -json` tells, event by event."""
    failed = [event[3] or event[2] for event in events if event[1] == "fail"]
    tests = [event[3] for event in events if event[1] == "fail" and event[3]]
    passed = sum(event[1] == "pass" and bool(event[3]) for event in events)
    return Report(len(tests) or len(failed), passed, names(tests or failed))


# Rust ----------------------------------------------------------------------------------------------------

_CARGO_END = re.compile(r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed;")
_CARGO_BEGINS = re.compile(r"^running \d+ tests?$")
_NEXTEST_END = re.compile(r"^\s*Summary \[.*\] +\d+(?:/\d+)? tests? run: (.*)$")
_CARGO_FAILED = re.compile(r"^test (\S+)(?: - .*)? \.\.\. FAILED|^\s*FAIL \[[^\]]*\] +(?:\(.*?\) )?(\S.*)$")
_CARGO_ERROR = re.compile(r"^(error(?:\[E\d+\])?: .*)")
_CARGO_COMPILES_NOT = re.compile(r"^error: could not compile|^error: aborting due to")
_CARGO_STOPPED = re.compile(r"^error: (?:test failed, to rerun|doctest failed|\d+ targets? failed)")
_CARGO_DONE = re.compile(r"^\s*Finished ")
_RUST_PANIC = re.compile(r"^\s*thread '.*' (?:\(\d+\) )?panicked at (.*)$")


def cargo(lines: Sequence[str]) -> Report | None:
    """`test result: FAILED. 1 passed; 1 failed`, `error[E0308]: mismatched types`, `Finished dev profile`."""
    if found(_CARGO_COMPILES_NOT, lines):
        return Report(error=first(_CARGO_ERROR, lines), broken=True)
    last, nextest = found(_CARGO_END, lines), found(_NEXTEST_END, lines)
    failing = names(match[1] or match[2] for match in found(_CARGO_FAILED, lines))
    stopped = bool(found(_CARGO_STOPPED, lines))
    if not (last or nextest or failing or stopped):
        return Report(built=True) if found(_CARGO_DONE, lines) else None
    told = counts(end[1] for end in nextest[-1:])
    failed = sum(number_of(end[2]) for end in last) + told.get("failed", 0)
    passed = sum(number_of(end[1]) for end in last) + told.get("passed", 0)
    failed = max(failed, len(failing))
    if not (failed or stopped) and len(found(_CARGO_BEGINS, lines)) > len(last):
        return Report(built=True)  # it was cut off amid its tests
    error = _panic(lines) or first(_CARGO_ERROR, lines)
    return Report(failed, passed, failing, error if failed or stopped else "", stopped)


def _panic(lines: Sequence[str]) -> str:
    """What a panic said: on the line after its place, or, as older compilers have it, before that."""
    for line, following in pairwise([*lines, ""]):
        if panic := _RUST_PANIC.match(line):
            return panic[1] if panic[1].startswith("'") else following.strip() or panic[1]
    return ""


# Java ----------------------------------------------------------------------------------------------------

_MAVEN_END = re.compile(r"^\[\w+\] BUILD (SUCCESS|FAILURE)")
_MAVEN_TESTS = re.compile(
    r"^\[\w+\] Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(?!.*Time elapsed)"
)
_MAVEN_CLASS = re.compile(r"^\[ERROR\] .*<<< (?:FAILURE|ERROR)!")
_MAVEN_FAILED = re.compile(r"^\[ERROR\] {2,}(\w[\w$.]*\.\w+)(?:\(.*?\))?(?::\d+)?(?:->\S+)?\s*[»:]?\s*(.*)$")
_MAVEN_PLACE = re.compile(r"^\[ERROR\] (\S+\.\w+:\[\d+,\d+\] .*)")
_MAVEN_ERROR = re.compile(r"^\[ERROR\] (COMPILATION ERROR.*|Failed to execute goal .*)")


def maven(lines: Sequence[str]) -> Report | None:
    """`[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0`, `[INFO] BUILD FAILURE`."""
    last = found(_MAVEN_END, lines)
    told = [tuple(map(number_of, match.groups())) for match in found(_MAVEN_TESTS, lines)]
    failed = sum(failures + errors for _, failures, errors, _ in told)
    broken = any(end[1] == "FAILURE" for end in last) or any(
        found(shape, lines) for shape in (_MAVEN_CLASS, _MAVEN_ERROR)
    )
    if not (last or failed or broken):
        return None
    passed = sum(max(0, ran - failures - errors - skipped) for ran, failures, errors, skipped in told)
    if not (failed or broken):
        return Report(passed=passed, built=True)
    named = found(_MAVEN_FAILED, lines)
    told_why = next((match[2] for match in named if match[2]), "")
    error = told_why or first(_MAVEN_PLACE, lines) or first(_MAVEN_ERROR, lines)
    return Report(failed, passed, names(match[1] for match in named), error, broken)


_GRADLE_END = re.compile(r"^(?:BUILD (SUCCESSFUL|FAILED)\b|FAILURE: Build failed with an exception)")
_GRADLE_TESTS = re.compile(r"^(\d+) tests? completed(?:, (\d+) failed)?")
_GRADLE_FAILED = re.compile(r"^(?!> |\s)(\S.* > .+?) FAILED$")
_GRADLE_WRONG = re.compile(r"^\* What went wrong:")
_GRADLE_TASK = re.compile(r"^> Task \S+")
_GRADLE_TESTED = re.compile(
    r"^> Task (?:\S*:)?(?!clean|compile|assemble|process|package)\w*[tT]ests?(?! NO-SOURCE| SKIPPED)(?: |$)"
)


def gradle(lines: Sequence[str]) -> Report | None:
    """`CalcTest > adds() FAILED`, `2 tests completed, 1 failed`, `BUILD FAILED in 2s`."""
    last, named = found(_GRADLE_END, lines), found(_GRADLE_FAILED, lines)
    tests = found(_GRADLE_TESTS, lines)
    failed = sum(number_of(match[2]) for match in tests) or len(named)
    if not last and not failed:
        return None
    if not failed and all(end[1] == "SUCCESSFUL" for end in last):
        # It counts nothing when all goes well: a task that tested is its only word, unless it names none.
        tested = bool(found(_GRADLE_TESTED, lines)) or not found(_GRADLE_TASK, lines)
        return Report(built=True, tested=tested)
    ran = sum(number_of(match[1]) for match in tests)
    error = line_after(_GRADLE_FAILED if named else _GRADLE_WRONG, lines)
    return Report(failed, max(0, ran - failed), names(match[1] for match in named), error, broken=True)
