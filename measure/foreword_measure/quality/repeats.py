"""Whether texts that say the same are recognised: labelled pairs, compared with a plain rule.

A folder of pairs holds one of these:

    *.tsv                        same (1 or 0), language, differs (in what), one, other; a header line
    corpus.jsonl, pairs.tsv      texts with ids, and left, right, label
    *.jsonl of histories         statements, and the pairs in `same` and `replaces`; one history a line

A statement that replaces another does not say the same, so those pairs count as two facts; so do all other
pairs of one history. The plain rule is that nine tenths of the letters are the same.
"""

from __future__ import annotations

import csv
import json
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from rapidfuzz.distance import Levenshtein

from foreword.errors import ValidationError
from foreword.recall.same import does_either_text_cover_other
from foreword.text.words import fold_case
from foreword_measure.quality.gaps import count_guesses
from foreword_measure.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

OURS, PLAIN = "foreword", "letters"
_MIN_SIMILARITY = 0.9
_COLUMNS = ("run", "pairs", "right", "wrong", "missed", "precision", "recall")
_TEXT_COLUMNS = {"same", "one", "other"}


class LabelledPair(NamedTuple):
    """Two texts, whether they say the same, and the group in which they are counted."""

    one: str
    other: str
    same: bool
    group: str


def has_pairs(folder: Path) -> bool:
    """Whether a folder holds labelled pairs of texts."""
    if (folder / "queries.jsonl").exists() or (folder / "dialogues.jsonl").exists():
        return False
    return (folder / "pairs.tsv").exists() or bool(_text_files(folder)) or bool(_history_files(folder))


def measure_repeats(folder: Path, limit: int | None = None) -> Report:
    """How many of the pairs are judged correctly, by our judge and by the plain rule, in each group."""
    pairs = list(read_pairs(folder))[:limit]
    if not pairs:
        raise ValidationError(f"{folder} has no pairs")
    runs = {}
    for name, judge in ((OURS, does_either_text_cover_other), (PLAIN, _are_spelled_alike)):
        for group in dict.fromkeys(pair.group for pair in pairs):
            runs[f"{name}, {group}"] = _count_right_pairs(
                judge, [pair for pair in pairs if pair.group == group]
            )
    rows = tuple((name, *counts.values()) for name, counts in runs.items())
    data: dict[str, Any] = {"set": folder.name, "pairs": len(pairs), "runs": runs}
    return Report((Table(f"Repeats: {folder.name}", _COLUMNS, rows),), data)


def _count_right_pairs(
    judge: Callable[[str, str], bool], pairs: list[LabelledPair]
) -> dict[str, float | None]:
    return count_guesses((pair.same, judge(pair.one, pair.other)) for pair in pairs)


def _are_spelled_alike(one: str, other: str) -> bool:
    texts = (" ".join(fold_case(text).split()) for text in (one, other))
    return Levenshtein.normalized_similarity(*texts, score_cutoff=_MIN_SIMILARITY) >= _MIN_SIMILARITY


# Reading -------------------------------------------------------------------------------------------------


def read_pairs(folder: Path) -> Iterator[LabelledPair]:
    """The pairs of a folder; ValidationError if a line is malformed."""
    try:
        if (folder / "pairs.tsv").exists():
            yield from _read_corpus_pairs(folder)
        for file in _text_files(folder):
            for row in _read_table(file):
                yield LabelledPair(row["one"], row["other"], row["same"] == "1", file.stem)
        for file in _history_files(folder):
            for line in file.read_text(encoding="utf-8").splitlines():
                yield from _list_history_pairs(json.loads(line))
    except (KeyError, TypeError, ValueError) as error:
        raise ValidationError(f"{folder}: a pair cannot be read: {error!r}") from error


def _read_table(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def _text_files(folder: Path) -> list[Path]:
    return [
        file for file in sorted(folder.glob("*.tsv")) if set(_first_line(file).split("\t")) >= _TEXT_COLUMNS
    ]


def _history_files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.glob("*.jsonl")) if '"statements":' in _first_line(file)]


def _first_line(file: Path) -> str:
    with file.open(encoding="utf-8") as lines:
        return lines.readline().rstrip("\r\n")


def _read_corpus_pairs(folder: Path) -> Iterator[LabelledPair]:
    lines = (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {row["id"]: row["text"] for row in map(json.loads, lines)}
    for row in _read_table(folder / "pairs.tsv"):
        yield LabelledPair(texts[row["left"]], texts[row["right"]], row["label"] == "1", "pairs")


def _list_history_pairs(history: dict[str, Any]) -> Iterator[LabelledPair]:
    texts = {statement["n"]: statement["text"] for statement in history["statements"]}
    labels = {frozenset(pair): name for name in ("replaces", "same") for pair in history[name]}
    for one, other in combinations(texts, 2):
        label = labels.get(frozenset((one, other)), "others")
        yield LabelledPair(texts[one], texts[other], label == "same", label)
