"""How much of what humans tell of a dialogue our summaries tell too, beside its beginning and mere chance.

    dialogues.jsonl    dialogue: lines of `speaker: text`; summaries: what humans wrote, each on its own

Two lengths are measured: that of the human summaries on average, and a fifth of each dialogue. Every run has
the same room, counted in words, names included. A dialogue's ROUGE is the mean over its human summaries.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.errors import ValidationError
from foreword.knowledge.dialogue_summary import ExtractiveSummarizer
from foreword.knowledge.sentence_weights import read_sentences
from foreword.text.tokens import WordTokenizer
from foreword.types import Turn
from foreword_measure.quality import metrics, rouge
from foreword_measure.quality.dialogue_file import FILE, have, lines
from foreword_measure.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from foreword_measure.quality.runs import Progress
    from foreword_measure.report import Cell

OURS, FIRST_WORDS, FIRST_SENTENCES, RANDOM = "foreword", "first words", "first sentences", "random sentences"
RATIO = 0.2

_SIDES: Mapping[str, Callable[[rouge.Overlap], float]] = {
    "F1": lambda overlap: overlap.f1,
    "precision": lambda overlap: overlap.precision,
    "recall": lambda overlap: overlap.recall,
}
_COLUMNS = tuple(f"{measure} {side}" for side in _SIDES for measure in rouge.MEASURES)
_COUNTER = WordTokenizer()


@dataclass(frozen=True, slots=True)
class Told:
    """A dialogue, turn by turn, and what humans told of it."""

    turns: tuple[Turn, ...]
    summaries: tuple[str, ...]

    @property
    def written(self) -> str:
        """The dialogue as it is written down."""
        return "\n".join(f"{turn.speaker}: {turn.text}" for turn in self.turns)


def holds(folder: Path) -> bool:
    """Whether a folder is a set of dialogues with summaries."""
    return have(folder, "summaries")


def read(folder: Path, limit: int | None = None) -> list[Told]:
    """The dialogues of a set; with `limit`, the first so many."""
    found = lines(folder, limit)
    if not found:
        raise ValidationError(f"{folder / FILE} holds no dialogue; give a set that has some")
    return [_told(where, line) for where, line in found]


def measure_summaries(
    folder: Path,
    limit: int | None = None,
    progress: Progress = lambda _label, _done, _total: None,
) -> Report:
    """How good the extractive summaries of a set are, at both lengths."""
    dialogues = read(folder, limit)
    lengths = [len(summary.split()) for one in dialogues for summary in one.summaries]
    average = round(sum(lengths) / len(lengths))
    rooms = {
        f"{average} words": [average for _ in dialogues],
        f"{RATIO:.0%} of the words": [max(1, round(RATIO * len(one.written.split()))) for one in dialogues],
    }
    tables: list[Table] = []
    measured: dict[str, object] = {}
    for title, room in rooms.items():
        runs = {run: _scored(dialogues, room, tell, run, progress) for run, tell in _runs().items()}
        tables += _tables(f"{folder.resolve().name}: summaries of {title}", runs)
        measured[title] = {
            "runs": {run: _means(rows) for run, rows in runs.items()},
            "intervals": _intervals(runs),
        }
    facts = {"set": folder.resolve().name, "dialogues": len(dialogues), "summaries": len(lengths)}
    return Report(tuple(tables), {**facts, "lengths": measured})


def _told(where: str, line: str) -> Told:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ValidationError(f"{where}not JSON: {error}") from None
    dialogue, told = (row.get("dialogue"), row.get("summaries")) if isinstance(row, dict) else (None, None)
    if not isinstance(dialogue, str) or not dialogue.strip():
        raise ValidationError(f"{where}'dialogue' must be a text of lines such as 'Ann: Good morning.'")
    if (
        not isinstance(told, list)
        or not told
        or not all(isinstance(one, str) and one.strip() for one in told)
    ):
        raise ValidationError(f"{where}'summaries' must be a list of texts, at least one")
    return Told(tuple(_turn(spoken) for spoken in dialogue.split("\n") if spoken.strip()), tuple(told))


def _turn(line: str) -> Turn:
    """A line of a dialogue; names are written between hashes in some sets."""
    speaker, colon, text = line.partition(":")
    return Turn(text.strip(), name=speaker.strip(" #")) if colon else Turn(line.strip())


# The runs


def _runs() -> dict[str, Callable[[Told, int], str]]:
    summarizer = ExtractiveSummarizer(_COUNTER)
    chance = random.Random(metrics.SEED)  # noqa: S311  (nothing is to be kept secret)

    def ours(dialogue: Told, words: int) -> str:
        return summarizer.summarize(dialogue.turns, _COUNTER.count("word " * words))

    def by_chance(dialogue: Told, words: int) -> str:
        every = _sentences(dialogue)
        return _whole(chance.sample(every, len(every)), words)

    return {
        OURS: ours,
        FIRST_WORDS: lambda dialogue, words: " ".join(dialogue.written.split()[:words]),
        FIRST_SENTENCES: lambda dialogue, words: _whole(_sentences(dialogue), words),
        RANDOM: by_chance,
    }


def _sentences(dialogue: Told) -> list[str]:
    """Every sentence under its speaker's name."""
    said = read_sentences({at: turn.text for at, turn in enumerate(dialogue.turns)})
    return [f"{dialogue.turns[one.turn].speaker}: {one.text}" for one in said]


def _whole(lines: Sequence[str], words: int) -> str:
    """The lines that fit one after the other; what does not fit is passed over."""
    kept: list[str] = []
    for line in lines:
        cost = len(line.split())
        if cost <= words:
            kept.append(line)
            words -= cost
    return "\n".join(kept)


# Their scores


def _scored(
    dialogues: Sequence[Told],
    rooms: Sequence[int],
    tell: Callable[[Told, int], str],
    run: str,
    progress: Progress,
) -> list[dict[str, float]]:
    """A row for every dialogue: all measures, and how many words were told."""
    rows: list[dict[str, float]] = []
    for done, (dialogue, room) in enumerate(zip(dialogues, rooms, strict=True), 1):
        text = tell(dialogue, room)
        overlaps = [rouge.scores(text, wanted) for wanted in dialogue.summaries]
        row = {
            f"{measure} {side}": sum(take(one[measure]) for one in overlaps) / len(overlaps)
            for side, take in _SIDES.items()
            for measure in rouge.MEASURES
        }
        rows.append({**row, "words": float(len(text.split()))})
        progress(f"summaries: {run}", done, len(dialogues))
    return rows


def _means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(row[name] for row in rows) / len(rows) for name in (*_COLUMNS, "words")}


def _intervals(runs: Mapping[str, Sequence[Mapping[str, float]]]) -> dict[str, dict[str, float | None]]:
    """Where ours lies in 95 of 100 sets like this one, and where its lead over each other run does."""
    ours = runs[OURS]
    found: dict[str, dict[str, float | None]] = {}
    for measure in rouge.MEASURES:
        name = f"{measure} F1"
        found[name] = _ends([row[name] for row in ours])
        for run, rows in runs.items():
            if run != OURS:
                ahead = [one[name] - other[name] for one, other in zip(ours, rows, strict=True)]
                found[f"{name}, less {run}"] = _ends(ahead)
    return found


def _ends(values: Sequence[float]) -> dict[str, float | None]:
    ends = metrics.interval(values, [str(number) for number in range(len(values))])
    return dict(zip(("from", "to"), ends or (None, None), strict=True))


def _tables(title: str, runs: Mapping[str, Sequence[Mapping[str, float]]]) -> tuple[Table, Table]:
    count = len(runs[OURS])
    notes = (
        f"{count:,} dialogues; ROUGE as `rouge-score` defines it, words not stemmed, the mean over all human "
        "summaries of a dialogue",
        "every run has the same room in words, names included; random: from a fixed seed",
    )
    rows: list[tuple[Cell, ...]] = [(run, *_means(told).values()) for run, told in runs.items()]
    intervals = [(name, ends["from"], ends["to"]) for name, ends in _intervals(runs).items()]
    return (
        Table(title, ("run", *_COLUMNS, "words"), tuple(rows), notes),
        Table(f"{title}: {OURS}, in 95 of 100 such sets", ("measure", "from", "to"), tuple(intervals)),
    )
