"""Shorten the output of a command to its results and errors."""

from __future__ import annotations

import re

from foreword.capture.junk import is_progress_line
from foreword.text.clean import remove_invisible

MAX_OUTPUT_CHARACTERS = 2_000
"""At most this many characters of an output are kept: the most informative lines, and the ends."""

_MAX_LINE_CHARACTERS = 240
_MAX_READ_CHARACTERS = 200_000
_GAP_CHARACTERS = 40

_RESULT = r"\b\d+ (?:passed|failed|errors?|failing|passing)\b|^(?:FAILED|ERROR)\b|^test result:|^Tests?:\s"
_ERROR = r"^\w*(?:Error|Exception)\b|\b(?:error|fatal|panic(?:ked)?)\b ?(?:\[\w+\])?:|^E\s{2,}|Traceback"
_TROUBLE = r"\b(?:failed|failures?|refused|denied|not found|cannot|could not|unable|conflict)\b"
_EVENT = r"\b(?:warning|deprecated|succeeded|success|created|deployed|published|built|total|coverage)\b"
_WORTH_BY_SHAPE = tuple(
    (worth, re.compile(shape, re.IGNORECASE))
    for worth, shape in ((5, _RESULT), (4, _ERROR), (3, _TROUBLE), (2, _EVENT))
)
_MIN_WORTH_WITH_NEIGHBOURS = 4


def excerpt_output(output: str, max_characters: int = MAX_OUTPUT_CHARACTERS) -> str:
    """The most informative lines of an output: results, errors and their neighbours, the first, the last."""
    lines = [line for line in _clean_output_lines(output) if not is_progress_line(line)]
    if sum(map(len, lines)) + len(lines) <= max_characters:
        return "\n".join(lines)
    chosen: list[int] = []
    room = max_characters - _GAP_CHARACTERS
    for index in _rank_line_indexes(lines):
        if room > len(lines[index]):
            room -= len(lines[index]) + 1
            chosen.append(index)
    return _join_chosen_lines(lines, sorted(chosen))


def _clean_output_lines(output: str) -> list[str]:
    """The lines of an output as a terminal shows them, shortened, without blank and repeated lines."""
    if len(output) > _MAX_READ_CHARACTERS:
        output = f"{output[: _MAX_READ_CHARACTERS // 2]}\n{output[-_MAX_READ_CHARACTERS // 2 :]}"
    shown = "\n".join(line.rstrip().rpartition("\r")[2] for line in output.split("\n"))
    lines = [line for line in remove_invisible(shown).split("\n") if line.strip()]
    lines = [
        line if len(line) <= _MAX_LINE_CHARACTERS else f"{line[: _MAX_LINE_CHARACTERS - 1]}…"
        for line in lines
    ]
    return [line for at, line in enumerate(lines) if at == 0 or line != lines[at - 1]]


def _rank_line_indexes(lines: list[str]) -> list[int]:
    """The indexes of the lines worth keeping, the most informative first; among equals, later ones first."""
    worths = [next((worth for worth, shape in _WORTH_BY_SHAPE if shape.search(line)), 0) for line in lines]

    def line_worth(index: int) -> int:
        beside = any(worth >= _MIN_WORTH_WITH_NEIGHBOURS for worth in worths[max(0, index - 2) : index + 2])
        from_end = len(lines) - 1 - index
        place = 3 if from_end < 4 else 2 if index < 3 else 1 if from_end < 10 else 0
        return max(worths[index], place, int(beside))

    order = {index: line_worth(index) for index in range(len(lines))}
    return sorted((index for index in order if order[index]), key=lambda index: (-order[index], -index))


def _join_chosen_lines(lines: list[str], chosen_indexes: list[int]) -> str:
    """The chosen lines in order, with a line at the first gap that states how many were left out."""
    gap = next((place for place, index in enumerate(chosen_indexes) if place != index), len(chosen_indexes))
    shown = [lines[index] for index in chosen_indexes]
    shown.insert(gap, f"[… {len(lines) - len(chosen_indexes):,} lines left out …]")
    return "\n".join(shown)
