"""Whether decisions are distinguished from other statements, and short corrections find what they correct.

A folder has one of these:

    *.tsv       label (decision, rule, preference or none), language, style, sentence; a header line
    *.jsonl     turns (who and what), and the places of those that the last one corrects; one talk a line

Besides, the statements of two writers in the neighbouring folder `lessons`, if it exists, are judged; nothing
was trained on these two. There decisions and rules count as decisions, and corrections are those of the same
day. They are by other writers, and the harder test.
"""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError
from foreword.knowledge.corrections import find_corrected
from foreword.knowledge.settled import is_decision
from foreword.text.statements import split_statements
from foreword.types import Item, Source
from foreword_measure.quality.gaps import count_guesses
from foreword_measure.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OTHER_HANDS = ("h9", "h16")
_COLUMNS = ("run", "statements", "right", "wrong", "missed", "precision", "recall")
_HEADER = ("label", "language", "style", "sentence")
_TRUSTS = {"user": "user", "tool": "tool"}
_MAX_WORDS = 16
"""Longer corrections are skipped, since they state themselves what they correct."""


def has_decisions(folder: Path) -> bool:
    """Whether a folder has sentences that are labelled as decisions or not."""
    return bool(_sentence_files(folder))


def has_corrections(folder: Path) -> bool:
    """Whether a folder has talks that end in a correction."""
    return bool(_talk_files(folder))


def measure_decisions(folder: Path, limit: int | None = None) -> Report:
    """How many statements are judged correctly, by file, by style, and for other writers."""
    runs = {}
    for file in _sentence_files(folder):
        rows = _read_sentences(file)[:limit]
        runs[file.stem] = count_guesses(map(_judge_sentence, rows))
        for style in dict.fromkeys(row["style"] for row in rows):
            own = [row for row in rows if row["style"] == style]
            runs[f"{file.stem}, {style}"] = count_guesses(map(_judge_sentence, own))
    for hand in OTHER_HANDS:
        if statements := list(_read_lessons(folder, hand)):
            judged = ((one["type"] in ("decision", "rule"), _contains_decision(one)) for one in statements)
            runs[f"lessons, {hand}"] = count_guesses(judged)
    return _report("Decisions", folder, runs)


def measure_corrections(folder: Path, limit: int | None = None) -> Report:
    """How many of the corrected turns are found, in the folder and for other writers."""
    runs: dict[str, dict[str, float | None]] = {}
    for file in _talk_files(folder):
        lines = file.read_text(encoding="utf-8").splitlines()[:limit]
        runs[file.stem] = count_guesses(pair for line in lines for pair in _judge_talk(json.loads(line)))
    pairs = [pair for history in _read_histories(folder) for pair in _judge_history(history)]
    if pairs:
        runs["lessons, same day"] = count_guesses(pairs)
    return _report("Corrections", folder, runs)


def _report(title: str, folder: Path, runs: dict[str, dict[str, float | None]]) -> Report:
    rows = tuple((name, *counts.values()) for name, counts in runs.items())
    data: dict[str, Any] = {"set": folder.name, "runs": runs}
    return Report((Table(f"{title}: {folder.name}", _COLUMNS, rows),), data)


# Decisions ------------------------------------------------------------------------------------------------


def _judge_sentence(row: dict[str, str]) -> tuple[bool, bool]:
    return row["label"] != "none", is_decision(row["sentence"], by_agent=row["style"] == "agent")


def _contains_decision(statement: dict[str, Any]) -> bool:
    by_agent = statement["who"] == "agent"
    return any(is_decision(part, by_agent=by_agent) for part in split_statements(statement["text"]))


def _read_sentences(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    if any(None in row.values() for row in rows):
        raise ValidationError(f"{file}: a line has too few columns")
    return rows


def _read_lessons(folder: Path, hand: str) -> Iterator[dict[str, Any]]:
    """The statements by people and agents in one writer's lessons."""
    for history in _read_histories(folder, hand):
        yield from (one for one in history["statements"] if one["who"] in ("user", "agent"))


def _read_histories(folder: Path, hand: str = "*") -> Iterator[dict[str, Any]]:
    for file in sorted((folder.parent / "lessons").glob(f"{hand.replace('*', 'h*')}.jsonl")):
        yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


# Corrections ----------------------------------------------------------------------------------------------


def _judge_talk(talk: dict[str, Any]) -> Iterator[tuple[bool, bool]]:
    """For each earlier turn of a talk: whether the last turn corrects it, and whether that was found."""
    turns = [_make_turn(who, text, place) for place, (who, text) in enumerate(talk["turns"])]
    found = {one.item.id for one in find_corrected(turns[-1], turns[-2::-1])}
    yield from ((place in talk["corrects"], str(place) in found) for place in range(len(turns) - 1))


def _judge_history(history: dict[str, Any]) -> Iterator[tuple[bool, bool]]:
    """For each short statement of the user: whether it replaces one of its day, and if that was found."""
    statements = history["statements"]
    replaced: dict[int, set[str]] = {}
    for newer, older in history["replaces"]:
        replaced.setdefault(newer, set()).add(str(older))
    for place, one in enumerate(statements):
        if one["who"] != "user" or len(one["text"].split()) > _MAX_WORDS:
            continue
        earlier = [other for other in statements[:place] if other["day"] == one["day"]][::-1]
        turns = [_make_turn(other["who"], other["text"], other["n"]) for other in earlier]
        found = {name.item.id for name in find_corrected(_make_turn("user", one["text"], one["n"]), turns)}
        wanted = replaced.get(one["n"], set()) & {turn.id for turn in turns}
        is_correction = bool(wanted) and one["type"] == "correction"
        if is_correction or found:
            yield is_correction or bool(found & wanted), bool(found & wanted) if wanted else bool(found)


def _make_turn(who: str, text: str, place: int) -> Item:
    source = Source(who, _TRUSTS.get(who, "agent"))  # type: ignore[arg-type]
    return Item(text, "measure", kind="turn", session="s", source=source, id=str(place))


def _sentence_files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.glob("*.tsv")) if tuple(_first_line(file).split("\t")) == _HEADER]


def _talk_files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.glob("*.jsonl")) if '"corrects":' in _first_line(file)]


def _first_line(file: Path) -> str:
    with file.open(encoding="utf-8", errors="replace") as lines:
        return lines.readline().rstrip("\r\n")
