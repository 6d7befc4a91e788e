"""How well names are found, references resolved and speech acts recognised, on our own labelled set.

The set is `naming.jsonl`, beside this file, in two halves: rules were tuned on one only. One person wrote
both halves and the lists of names, so this shows only that nothing breaks and that the held half is not much
worse. Text by other writers gives lower numbers.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.capture.names.entities import find_entities
from foreword.errors import ValidationError
from foreword.knowledge.registry import EntityRegistry
from foreword.knowledge.resolution import EntityResolver
from foreword.knowledge.speech_acts import classify_speech_act
from foreword.types import ENTITY_TYPES, DialogueState, Turn
from foreword_measure.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from foreword.knowledge.claims import MentionLike

    Finder = Callable[[str], Iterable[MentionLike]]

SET = Path(__file__).with_name("naming.jsonl")
HALVES = ("tuned", "held")
ALL = "all"

_MARKED = re.compile(r"⟦(?P<kind>\w+)\|(?P<name>[^⟧]*)⟧")
_FIELDS = {"names": ("text",), "talk": ("turns", "ask", "means"), "act": ("text", "act")}


@dataclass(slots=True)
class Tally:
    """How many names were found, how many there are, and how many of those found are right."""

    right: int = 0
    found: int = 0
    true: int = 0

    def add(self, found: set[Any], true: set[Any]) -> None:
        """Count one more text."""
        self.right += len(found & true)
        self.found += len(found)
        self.true += len(true)

    def measures(self) -> dict[str, float | None]:
        """Precision, recall and F1; None where there is nothing to divide by."""
        both = self.found + self.true
        return {
            "precision": self.right / self.found if self.found else None,
            "recall": self.right / self.true if self.true else None,
            "F1": 2 * self.right / both if both else None,
        }


@dataclass(slots=True)
class _HalfCounts:
    """The counts of one half of the set."""

    names: dict[str, Tally] = field(default_factory=dict)
    meant: Tally = field(default_factory=Tally)
    resolved: Counter[bool] = field(default_factory=Counter)
    acts: Counter[bool] = field(default_factory=Counter)


def measure_naming(path: Path | None = None, find: Finder = find_entities) -> Report:
    """Measure how names are found, references resolved and speech acts recognised, on our set or another."""
    halves = {half: _HalfCounts() for half in HALVES}
    for line in read_set(path or SET):
        half = halves[line["half"]]
        if line["kind"] == "names":
            _count_names(line, half, find)
        elif line["kind"] == "talk":
            _count_references(line, half, find)
        else:
            half.acts[classify_speech_act(line["text"]) == line["act"]] += 1
    return _report((path or SET).stem, halves)


def read_set(path: Path) -> list[dict[str, Any]]:
    """The lines of a labelled set; ValidationError names a line that is wrong."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValidationError(f"{path} is not UTF-8 text: {error.reason}; convert it first") from None
    except OSError as error:
        raise ValidationError(f"cannot read {path}: {error.strerror}") from error
    found = [
        _read_line(f"{path}, line {number}: ", text) for number, text in enumerate(lines, 1) if text.strip()
    ]
    if not found:
        raise ValidationError(f"{path} is empty; give a set with some lines")
    return found


def split_marks(text: str) -> tuple[str, set[tuple[int, int, str]]]:
    """A text without its marks, and the spans they mark: start, end and kind."""
    plain, spans, end = "", set(), 0
    for match in _MARKED.finditer(text):
        plain += text[end : match.start()]
        spans.add((len(plain), len(plain) + len(match["name"]), match["kind"]))
        plain += match["name"]
        end = match.end()
    return plain + text[end:], spans


def _read_line(where: str, text: str) -> dict[str, Any]:
    try:
        line = json.loads(text)
    except ValueError:
        raise ValidationError(f"{where}not JSON; write one object a line") from None
    if not isinstance(line, dict) or line.get("kind") not in _FIELDS or line.get("half") not in HALVES:
        raise ValidationError(f"{where}'kind' must be one of {', '.join(_FIELDS)}, and 'half' tuned or held")
    for name in _FIELDS[line["kind"]]:
        if not line.get(name):
            raise ValidationError(f"{where}{name!r} is missing")
    return line


def _count_names(line: Mapping[str, Any], half: _HalfCounts, find: Finder) -> None:
    text, true = split_marks(line["text"])
    found = {(mention.start, mention.end, mention.entity_type) for mention in find(text)}
    for kind in (ALL, *ENTITY_TYPES):
        tally = half.names.setdefault(kind, Tally())
        tally.add(*({span for span in spans if kind in (ALL, span[2])} for spans in (found, true)))


def _count_references(line: Mapping[str, Any], half: _HalfCounts, find: Finder) -> None:
    """Count each labelled reference of the question; if nothing is meant, finding nothing is right."""
    registry = EntityRegistry(find)
    turns = [Turn(text, role=role) for role, text in line["turns"]]
    for index, turn in enumerate(turns):
        registry.register_mentioned_entities(turn, index)
    resolved = EntityResolver(registry).resolve(line["ask"], DialogueState(turns, registry))
    for reference, names in line["means"].items():
        place = re.search(rf"(?<!\w){re.escape(reference)}(?!\w)", line["ask"])
        start, end = place.span() if place else (0, 0)
        found = {one.canonical_name for one in resolved if one.start < end and start < one.end}
        half.meant.add(found, set(names))
        half.resolved[found == set(names)] += 1


def _report(name: str, halves: Mapping[str, _HalfCounts]) -> Report:
    data = {
        "set": name,
        "names": {half: _name_measures(one.names) for half, one in halves.items()},
        "references": {
            half: {
                **one.meant.measures(),
                "accuracy": _share_right(one.resolved),
                "references": one.resolved.total(),
            }
            for half, one in halves.items()
        },
        "acts": {
            half: {"accuracy": _share_right(one.acts), "turns": one.acts.total()}
            for half, one in halves.items()
        },
    }
    notes = (
        "a name counts when its beginning, its end and its kind are right",
        "rules were tuned on one half; both are of the hand that wrote the lists: others' text fares worse",
    )
    tables = (
        Table(f"{name}: names", _columns("kind", "names"), _name_rows(halves), notes),
        Table(
            f"{name}: references",
            ("half", "precision", "recall", "F1", "accuracy", "references"),
            _table_rows(data["references"]),
            ("accuracy counts silence where nothing is meant as right",),
        ),
        Table(f"{name}: acts of speech", ("half", "accuracy", "turns"), _table_rows(data["acts"])),
    )
    return Report(tables, data)


def _name_measures(tallies: Mapping[str, Tally]) -> dict[str, dict[str, float | None]]:
    return {kind: {**tally.measures(), "names": tally.true} for kind, tally in tallies.items() if tally.true}


def _columns(first: str, last: str) -> tuple[str, ...]:
    measures = ("precision", "recall", "F1", last)
    return (first, *(f"{measure}, {half}" for half in HALVES for measure in measures))


def _name_rows(halves: Mapping[str, _HalfCounts]) -> tuple[tuple[str | float | None, ...], ...]:
    rows = []
    for kind in (ALL, *ENTITY_TYPES):
        tallies = [halves[half].names.get(kind, Tally()) for half in HALVES]
        if any(tally.true or tally.found for tally in tallies):
            cells = [cell for tally in tallies for cell in (*tally.measures().values(), tally.true)]
            rows.append((kind, *cells))
    return tuple(rows)


def _table_rows(measures: Any) -> tuple[tuple[str | float | None, ...], ...]:  # noqa: ANN401  a mapping of mappings
    return tuple((name, *values.values()) for name, values in measures.items())


def _share_right(counted: Counter[bool]) -> float | None:
    return counted[True] / counted.total() if counted else None
