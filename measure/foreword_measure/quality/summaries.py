"""How much our summaries share with those by humans, compared with TextRank, the beginning, and chance.

    dialogues.jsonl    dialogue: lines of `speaker: text`; summaries: those that humans wrote

Two lengths are measured: the mean length of the human summaries, and a fifth of each dialogue. Every run may
use the same number of words, names included. A dialogue's ROUGE is the mean over its human summaries.

ROUGE is that of the `rouge-score` package: words are runs of a-z and 0-9 in lower case; runs of n words are
counted, each as often as both texts have it; ROUGE-L takes the longest sequence of words that both have in
the same order, over the whole text. Words are not stemmed: "asks" is not "asked".
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foreword.errors import ValidationError
from foreword.knowledge.dialogue_summary import ExtractiveSummarizer
from foreword.knowledge.sentence_weights import read_sentences_of_turns
from foreword.text.tokens import WordTokenizer
from foreword.types import Turn
from foreword_measure.quality import metrics
from foreword_measure.quality.labelled import DIALOGUES, has_dialogues, read_dialogues
from foreword_measure.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from foreword_measure.quality.runs import Progress
    from foreword_measure.report import Cell

OURS, TEXTRANK, RANDOM = "foreword", "TextRank", "random sentences"
FIRST_WORDS, FIRST_SENTENCES = "first words", "first sentences"
RATIO = 0.2
MEASURES = ("ROUGE-1", "ROUGE-2", "ROUGE-L")

_WORD = re.compile(r"[a-z0-9]+")
_DAMPING, _ITERATIONS = 0.85, 30
"""The parameters of TextRank, as its authors chose them."""

_SIDES: Mapping[str, Callable[[Overlap], float]] = {
    "F1": lambda overlap: overlap.f1,
    "precision": lambda overlap: overlap.precision,
    "recall": lambda overlap: overlap.recall,
}
_COLUMNS = tuple(f"{measure} {side}" for side in _SIDES for measure in MEASURES)
_COUNTER = WordTokenizer()


@dataclass(frozen=True, slots=True)
class SummarizedDialogue:
    """A dialogue, turn by turn, and the summaries that humans wrote of it."""

    turns: tuple[Turn, ...]
    summaries: tuple[str, ...]

    @property
    def transcript(self) -> str:
        """The dialogue as lines of `speaker: text`."""
        return "\n".join(f"{turn.speaker}: {turn.text}" for turn in self.turns)


def has_summaries(folder: Path) -> bool:
    """Whether a folder is a set of dialogues with summaries."""
    return has_dialogues(folder, "summaries")


def read_set(folder: Path, limit: int | None = None) -> list[SummarizedDialogue]:
    """The dialogues of a set; with `limit`, the first `limit`."""
    dialogues = [_parse_dialogue(where, row) for where, row in read_dialogues(folder, limit)]
    if not dialogues:
        raise ValidationError(f"{folder / DIALOGUES} holds no dialogue; give a set that has some")
    return dialogues


def measure_summaries(
    folder: Path, limit: int | None = None, progress: Progress = lambda _label, _done, _total: None
) -> Report:
    """How good our extractive summaries of a set's dialogues are, at both lengths."""
    dialogues = read_set(folder, limit)
    lengths = [len(summary.split()) for one in dialogues for summary in one.summaries]
    average = round(sum(lengths) / len(lengths))
    rooms = {
        f"{average} words": [average for _ in dialogues],
        f"{RATIO:.0%} of the words": [
            max(1, round(RATIO * len(one.transcript.split()))) for one in dialogues
        ],
    }
    tables: list[Table] = []
    measured: dict[str, object] = {}
    for title, room in rooms.items():
        runs = {
            run: _score_run(dialogues, room, summarize, run, progress)
            for run, summarize in _make_summarizers().items()
        }
        tables += _tables(f"{folder.resolve().name}: summaries of {title}", runs)
        measured[title] = {
            "runs": {run: _means(rows) for run, rows in runs.items()},
            "intervals": _intervals(runs),
        }
    facts = {"set": folder.resolve().name, "dialogues": len(dialogues), "summaries": len(lengths)}
    return Report(tuple(tables), {**facts, "lengths": measured})


def _parse_dialogue(where: str, row: object) -> SummarizedDialogue:
    dialogue, summaries = (
        (row.get("dialogue"), row.get("summaries")) if isinstance(row, dict) else (None, None)
    )
    if not isinstance(dialogue, str) or not dialogue.strip():
        raise ValidationError(f"{where}'dialogue' must be a text of lines such as 'Ann: Good morning.'")
    texts = summaries if isinstance(summaries, list) else []
    if not texts or not all(isinstance(one, str) and one.strip() for one in texts):
        raise ValidationError(f"{where}'summaries' must be a list of texts, at least one")
    return SummarizedDialogue(
        tuple(_parse_turn(spoken) for spoken in dialogue.split("\n") if spoken.strip()), tuple(texts)
    )


def _parse_turn(line: str) -> Turn:
    """The turn in a line of a dialogue; some sets write names between hashes."""
    speaker, colon, text = line.partition(":")
    return Turn(text.strip(), name=speaker.strip(" #")) if colon else Turn(line.strip())


# The runs ------------------------------------------------------------------------------------------------


def _make_summarizers() -> dict[str, Callable[[SummarizedDialogue, int], str]]:
    summarizer = ExtractiveSummarizer(_COUNTER)
    chance = random.Random(metrics.SEED)  # noqa: S311  (nothing is to be kept secret)

    def ours(dialogue: SummarizedDialogue, words: int) -> str:
        return summarizer.summarize(dialogue.turns, _COUNTER.count("word " * words))

    def by_chance(dialogue: SummarizedDialogue, words: int) -> str:
        every = _list_sentences(dialogue)
        return _fit_lines(chance.sample(every, len(every)), words)

    return {
        OURS: ours,
        TEXTRANK: lambda dialogue, words: _best_lines_in_order(
            _list_sentences(dialogue), _text_rank(dialogue), words
        ),
        FIRST_WORDS: lambda dialogue, words: " ".join(dialogue.transcript.split()[:words]),
        FIRST_SENTENCES: lambda dialogue, words: _fit_lines(_list_sentences(dialogue), words),
        RANDOM: by_chance,
    }


def _list_sentences(dialogue: SummarizedDialogue) -> list[str]:
    """Every sentence of a dialogue, after its speaker's name."""
    said = read_sentences_of_turns({at: turn.text for at, turn in enumerate(dialogue.turns)})
    return [f"{dialogue.turns[one.turn].speaker}: {one.text}" for one in said]


def _fit_lines(lines: Sequence[str], words: int) -> str:
    """The lines, in order, that fit into so many words; a line that does not fit is skipped."""
    kept: list[str] = []
    for line in lines:
        cost = len(line.split())
        if cost <= words:
            kept.append(line)
            words -= cost
    return "\n".join(kept)


def _best_lines_in_order(lines: Sequence[str], ranks: Sequence[float], words: int) -> str:
    """The lines with the highest ranks that fit into so many words, in their original order."""
    kept: list[int] = []
    for at in sorted(range(len(lines)), key=lambda at: -ranks[at]):
        cost = len(lines[at].split())
        if cost <= words:
            kept.append(at)
            words -= cost
    return "\n".join(lines[at] for at in sorted(kept))


def _text_rank(dialogue: SummarizedDialogue) -> list[float]:
    """The rank of each sentence by TextRank: shared words, divided by the logarithms of both lengths."""
    said = read_sentences_of_turns({at: turn.text for at, turn in enumerate(dialogue.turns)})
    words = [set(_WORD.findall(one.text.lower())) for one in said]
    shared = np.array(
        [
            [
                len(one & other) / (math.log(len(one)) + math.log(len(other)))
                if one is not other and min(len(one), len(other)) > 1
                else 0.0
                for other in words
            ]
            for one in words
        ]
    )
    ranks = np.ones(len(words))
    sums = shared.sum(axis=1, keepdims=True)
    steps = np.divide(shared, sums, out=np.zeros_like(shared), where=sums > 0)
    for _ in range(_ITERATIONS):
        ranks = 1 - _DAMPING + _DAMPING * steps.T @ ranks
    return [float(rank) for rank in ranks]


# Their scores --------------------------------------------------------------------------------------------


def _score_run(
    dialogues: Sequence[SummarizedDialogue],
    rooms: Sequence[int],
    summarize: Callable[[SummarizedDialogue, int], str],
    run: str,
    progress: Progress,
) -> list[dict[str, float]]:
    """A row for every dialogue: all measures of its summary, and the summary's number of words."""
    rows: list[dict[str, float]] = []
    for done, (dialogue, room) in enumerate(zip(dialogues, rooms, strict=True), 1):
        text = summarize(dialogue, room)
        overlaps = [rouge_scores(text, wanted) for wanted in dialogue.summaries]
        row = {
            f"{measure} {side}": sum(take(one[measure]) for one in overlaps) / len(overlaps)
            for side, take in _SIDES.items()
            for measure in MEASURES
        }
        rows.append({**row, "words": float(len(text.split()))})
        progress(f"summaries: {run}", done, len(dialogues))
    return rows


def _means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(row[name] for row in rows) / len(rows) for name in (*_COLUMNS, "words")}


def _intervals(runs: Mapping[str, Sequence[Mapping[str, float]]]) -> dict[str, dict[str, float | None]]:
    """The 95 % intervals of our scores, and of our lead over each other run."""
    ours = runs[OURS]
    found: dict[str, dict[str, float | None]] = {}
    for measure in MEASURES:
        name = f"{measure} F1"
        found[name] = _interval([row[name] for row in ours])
        for run, rows in runs.items():
            if run != OURS:
                ahead = [one[name] - other[name] for one, other in zip(ours, rows, strict=True)]
                found[f"{name}, less {run}"] = _interval(ahead)
    return found


def _interval(values: Sequence[float]) -> dict[str, float | None]:
    ends = metrics.confidence_interval(values, [str(number) for number in range(len(values))])
    return dict(zip(("from", "to"), ends or (None, None), strict=True))


def _tables(title: str, runs: Mapping[str, Sequence[Mapping[str, float]]]) -> tuple[Table, Table]:
    count = len(runs[OURS])
    notes = (
        f"{count:,} dialogues; ROUGE as `rouge-score` defines it, words not stemmed, the mean over all human "
        "summaries of a dialogue",
        "every run has the same room in words, names included; random: from a fixed seed",
    )
    rows: list[tuple[Cell, ...]] = [(run, *_means(scores).values()) for run, scores in runs.items()]
    intervals = [(name, ends["from"], ends["to"]) for name, ends in _intervals(runs).items()]
    return (
        Table(title, ("run", *_COLUMNS, "words"), tuple(rows), notes),
        Table(f"{title}: {OURS}, in 95 of 100 such sets", ("measure", "from", "to"), tuple(intervals)),
    )


# ROUGE ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much two texts share: `precision` is the share of our words, `recall` that of the human's words."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean of both; 0 if nothing is shared."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def rouge_scores(text: str, wanted: str) -> dict[str, Overlap]:
    """Each of `MEASURES` for a summary, compared with the one that a human wrote."""
    ours, theirs = _WORD.findall(text.lower()), _WORD.findall(wanted.lower())
    longest = _longest_common_length(ours, theirs)
    overlaps = (
        _overlap_of_runs(ours, theirs, 1),
        _overlap_of_runs(ours, theirs, 2),
        _make_overlap(longest, len(ours), len(theirs)),
    )
    return dict(zip(MEASURES, overlaps, strict=True))


def _overlap_of_runs(ours: list[str], theirs: list[str], length: int) -> Overlap:
    """The overlap in runs of `length` words."""
    runs = [Counter(zip(*(words[at:] for at in range(length)), strict=False)) for words in (ours, theirs)]
    return _make_overlap((runs[0] & runs[1]).total(), runs[0].total(), runs[1].total())


def _make_overlap(shared: int, ours: int, theirs: int) -> Overlap:
    return Overlap(shared / ours if ours else 0.0, shared / theirs if theirs else 0.0)


def _longest_common_length(ours: list[str], theirs: list[str]) -> int:
    """The length of the longest common subsequence of words; only one row of the table is kept in memory."""
    row = [0] * (len(theirs) + 1)
    for word in ours:
        diagonal = 0
        for at, other in enumerate(theirs, 1):
            above = row[at]
            row[at] = diagonal + 1 if word == other else max(above, row[at - 1])
            diagonal = above
    return row[-1]
