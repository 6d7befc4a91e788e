"""Reads the output of a failed test or build run into the `Failure` that a premortem searches for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.knowledge.precedents import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.capture.runs.run import RunResult

_MAX_LINES = 12
_MAX_LINE_CHARACTERS = 240
_MAX_LINES_READ = 2_000
_ERROR_LINE = re.compile(
    r"error|exception|fail|expected|assert|panicked|undefined|cannot|could not|not found|overflow|timeout"
    r"|refused|denied",
    re.IGNORECASE,
)
_SUMMARY = re.compile(
    r"=*\s*\d+ (?:failed|passed|errors?|tests completed)\b|Tests?:|Test Suites|BUILD|test result|FAIL(?:\s|$)"
    r"|The following|\d+% tests|make: |collect2|error: could not compile|=+|-+$"
)
_FILE = re.compile(r"(?:[\w.-]+/)*[\w-]+\.(?:py|[cm]?[jt]sx?|cc?|cpp|h|rs|go|java|kt|rb)\b(?=[:(\s])")
_IN_TESTS = re.compile(
    r"(?:^|/)(?:tests?|specs?)/|(?:^|/)test_|[._-](?:test|spec)\.|site-packages|node_modules"
)


def read_failure(run: RunResult, output: str, changed: Sequence[str] = ()) -> Failure:
    """The failure of a run: failed tests, lines about errors with their neighbours, command and files.

    `changed` are files that were changed before the run; the failure lists them first.
    """
    stripped = [line.strip()[:_MAX_LINE_CHARACTERS] for line in output.split("\n")[-_MAX_LINES_READ:]]
    output_lines = [line for line in stripped if line and not _SUMMARY.match(line)]
    error_places = [place for place, line in enumerate(output_lines) if _ERROR_LINE.search(line)]
    near_places = sorted(
        {place + step for place in error_places for step in (-1, 0, 1)} & set(range(len(output_lines)))
    )
    lines = [output_lines[place] for place in near_places[:_MAX_LINES]]
    if run.error and not any(run.error in line for line in lines) and not _SUMMARY.match(run.error):
        lines.insert(0, run.error)
    files = [name for name in _FILE.findall("\n".join(lines)) if not _IN_TESTS.search(name)]
    names = tuple(dict.fromkeys([*changed, *files]))
    return Failure(run.failing, "\n".join(lines), run.scope.command, names)
