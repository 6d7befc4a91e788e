"""The part of a long text that is worth keeping: of an output its results and errors, of speech both ends."""

from __future__ import annotations

import re

from foreword.capture.junk import is_noise
from foreword.text.clean import remove_invisible

MAX_OUTPUT_CHARACTERS = 2_000
"""How much of an output is kept: the lines that tell most, and the ends."""

_MAX_LINE_CHARACTERS = 240
_MAX_READ_CHARACTERS = 200_000
_GAP_CHARACTERS = 40

_RESULT = r"\b\d+ (?:passed|failed|errors?|failing|passing)\b|^(?:FAILED|ERROR)\b|^test result:|^Tests?:\s"
_ERROR = r"^\w*(?:Error|Exception)\b|\b(?:error|fatal|panic(?:ked)?)\b ?(?:\[\w+\])?:|^E\s{2,}|Traceback"
_TROUBLE = r"\b(?:failed|failures?|refused|denied|not found|cannot|could not|unable|conflict)\b"
_EVENT = r"\b(?:warning|deprecated|succeeded|success|created|deployed|published|built|total|coverage)\b"
_WORTH = tuple(
    (worth, re.compile(shape, re.IGNORECASE))
    for worth, shape in ((5, _RESULT), (4, _ERROR), (3, _TROUBLE), (2, _EVENT))
)
_WORTH_OF_NEIGHBOURS = 4


def excerpt(output: str, most: int = MAX_OUTPUT_CHARACTERS) -> str:
    """The lines of an output that tell most: results, errors and what is beside them, the first, the last."""
    lines = [line for line in _screen_lines(output) if not is_noise(line)]
    if sum(map(len, lines)) + len(lines) <= most:
        return "\n".join(lines)
    chosen: list[int] = []
    room = most - _GAP_CHARACTERS
    for at in _rank_lines(lines):
        if room > len(lines[at]):
            room -= len(lines[at]) + 1
            chosen.append(at)
    return _join_with_gap(lines, sorted(chosen))


def _screen_lines(output: str) -> list[str]:
    """The lines of an output as a screen shows them: nothing overwritten, none too long, repeats once."""
    if len(output) > _MAX_READ_CHARACTERS:
        output = f"{output[: _MAX_READ_CHARACTERS // 2]}\n{output[-_MAX_READ_CHARACTERS // 2 :]}"
    shown = "\n".join(line.rstrip().rpartition("\r")[2] for line in output.split("\n"))
    lines = [line for line in remove_invisible(shown).split("\n") if line.strip()]
    lines = [
        line if len(line) <= _MAX_LINE_CHARACTERS else f"{line[: _MAX_LINE_CHARACTERS - 1]}…"
        for line in lines
    ]
    return [line for at, line in enumerate(lines) if at == 0 or line != lines[at - 1]]


def _rank_lines(lines: list[str]) -> list[int]:
    """The places of the lines that are worth keeping, most telling first; among equals, later ones first."""
    worths = [next((worth for worth, shape in _WORTH if shape.search(line)), 0) for line in lines]

    def worth(at: int) -> int:
        beside = any(worth >= _WORTH_OF_NEIGHBOURS for worth in worths[max(0, at - 2) : at + 2])
        from_end = len(lines) - 1 - at
        place = 3 if from_end < 4 else 2 if at < 3 else 1 if from_end < 10 else 0
        return max(worths[at], place, int(beside))

    order = {at: worth(at) for at in range(len(lines))}
    return sorted((at for at in order if order[at]), key=lambda at: (-order[at], -at))


def _join_with_gap(lines: list[str], chosen: list[int]) -> str:
    """The chosen lines in their order, and, where the first are missing, one that says how many are."""
    gap = next((place for place, at in enumerate(chosen) if place != at), len(chosen))
    shown = [lines[at] for at in chosen]
    shown.insert(gap, f"[… {len(lines) - len(chosen):,} lines left out …]")
    return "\n".join(shown)


def both_ends(text: str, most: int) -> str:
    """A text of about this many characters at most: its beginning, a note of what is missing, and its end."""
    if len(text) <= most:
        return text
    head, tail = most * 2 // 3, most // 3
    missing = f"[… {len(text) - head - tail:,} characters left out …]"
    return f"{text[:head].rstrip()} {missing} {text[-tail:].lstrip()}"
