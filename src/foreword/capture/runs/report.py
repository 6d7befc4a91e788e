"""What one tool has said of its work, and the few ways in which its lines are looked through."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Reader = Callable[[Sequence[str]], "Report | None"]

_COUNT = re.compile(r"(\d+) ([a-z]+)")


@dataclass(frozen=True, slots=True)
class Report:
    """What a tool said: how much failed and passed, the names of what failed, the first error."""

    failed: int = 0
    passed: int = 0
    failing: tuple[str, ...] = ()
    error: str = ""
    broken: bool = False
    """Whether it failed without anything that could be counted: it did not compile, or found no way on."""

    tested: bool = False
    """Whether tests have passed that it did not count."""

    built: bool = False
    """Whether it was built, which says nothing of tests."""

    @property
    def tells(self) -> bool:
        """Whether anything was tested, built or broken; a report of no tests at all tells nothing."""
        return bool(self.failed or self.passed or self.broken or self.tested or self.built)


def counts(texts: Iterable[str]) -> dict[str, int]:
    """`1 failed, 2 passed` as numbers by their words, of all the texts together."""
    told: dict[str, int] = {}
    for text in texts:
        for number, word in _COUNT.findall(text):
            told[word] = told.get(word, 0) + number_of(number)
    return told


def number_of(digits: str | None) -> int:
    """The digits as a number, none as 0; more digits than any count has are cut."""
    return int((digits or "0")[:9])


def found(shape: re.Pattern[str], lines: Iterable[str]) -> list[re.Match[str]]:
    """Every line that has this shape."""
    return [match for line in lines if (match := shape.search(line))]


def first(shape: re.Pattern[str], lines: Iterable[str], group: int = 1) -> str:
    """What the first line of this shape says, or nothing."""
    return next((match[group].strip() for line in lines if (match := shape.search(line))), "")


def line_after(shape: re.Pattern[str], lines: Sequence[str]) -> str:
    """The first line that says something after the first of this shape."""
    at = next((place for place, line in enumerate(lines) if shape.search(line)), len(lines))
    return next((line.strip() for line in lines[at + 1 : at + 20] if line.strip()), "")


def names(matches: Iterable[str | None]) -> tuple[str, ...]:
    """Each name once, in order, without the empty ones."""
    return tuple(dict.fromkeys(name.strip() for name in matches if name and name.strip()))
