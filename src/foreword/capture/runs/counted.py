"""What runners print that only count: ctest, dotnet, phpunit, minitest, deno, node, prove, mix, swift, bun.

A line that counts is read for its numbers; of what failed and why, the first line that looks like it is told.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.capture.runs.report import Report, number_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHAPES = tuple(
    re.compile(shape)
    for shape in (
        r"^\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<all>\d+)",  # ctest
        r"^\s*(?:Passed|Failed)!\s+- Failed:\s+(?P<failed>\d+), Passed:\s+(?P<passed>\d+)",  # dotnet
        r"^OK \((?P<passed>\d+) tests?, \d+ assertions?\)",  # phpunit
        r"^Tests: (?P<all>\d+), Assertions: \d+(?:, Errors: (?P<errors>\d+))?(?:, Failures: (?P<failed>\d+))?"
        r"(?:, \w+: \d+)*?(?:, Skipped: (?P<skipped>\d+))?(?:, \w+: \d+)*\.$",
        r"^(?P<all>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures, (?P<errors>\d+) errors"
        r"(?:, (?P<skipped>\d+) (?:skips|pendings))?",  # minitest, test-unit
        r"^(?:ok|FAILED) \| (?P<passed>\d+) passed.*? \| (?P<failed>\d+) failed",  # deno
        r"^(?:# |ℹ )pass (?P<passed>\d+)$",  # node
        r"^(?:# |ℹ )fail (?P<failed>\d+)$",
        r"^Files=\d+, Tests=(?P<all>\d+),",  # prove
        r"^Result: FAIL(?P<broken>)$",
        r"^(?:\d+ \w+, )*?(?P<all>\d+) tests?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) \w+)*$",  # mix
        r"^\s*Executed (?P<all>\d+) tests?, with (?:\d+ tests? skipped and )?(?P<failed>\d+) fail",  # swift
        r"^\s*(?P<passed>\d+) pass$",  # bun
        r"^\s*(?P<failed>\d+) fail$",
        r"^\s+(?P<passed>\d+) passed \(\d[\d.]*m?s\)$",  # playwright
        r"^\s+(?P<failed>\d+) failed$",
        r"^\s*(?P<passed>\d+) tests? passed$",  # ava
        r"^\s*(?P<failed>\d+) tests? failed$",
        r"^\s*✖\s+(?P<failed>\d+) of \d+ failed",  # cypress
        r"^(?P<broken>) *evaluation failed :\(",  # tox
        r"^(?P<broken>)(?:Build FAILED\.|error: Type checking failed|== Compilation error in file"
        r"|rake aborted!|PHP (?:Parse|Fatal) error:|\S+\.swift:\d+:\d+: error: )",  # what did not compile
    )
)
_ERROR = re.compile(r"(?:Error|Exception|\b(?:error|fatal|panic|failed|not ok|FAIL(?:ED|URE)?))\b")


def counted(lines: Sequence[str]) -> Report | None:
    """`50% tests passed, 1 tests failed out of 2`, `OK (3 tests, 5 assertions)`, `# fail 1`."""
    told = [match.groupdict() for line in lines if (match := _counts(line))]
    if not told:
        return None
    failed = sum(number_of(one.get("failed")) + number_of(one.get("errors")) for one in told)
    passed = sum(map(_passed, told))
    broken = any("broken" in one for one in told)
    error = next((line.strip() for line in lines if _ERROR.search(line)), "") if failed or broken else ""
    return Report(failed, passed, (), error, broken)


def _counts(line: str) -> re.Match[str] | None:
    return next((match for shape in _SHAPES if (match := shape.match(line))), None)


def _passed(one: dict[str, str | None]) -> int:
    """What passed: told, or what is left of all."""
    if "all" not in one:
        return number_of(one.get("passed"))
    fallen = sum(number_of(one.get(name)) for name in ("failed", "errors", "skipped"))
    return max(0, number_of(one["all"]) - fallen)
