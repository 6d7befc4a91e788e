"""Whether a change of subject is noticed when it happens: dialogues with known boundaries, turn by turn.

    dialogues.jsonl    utterances, and boundaries: the positions (from 0) of those that open a new subject

Every turn but the first is taken for a prompt, and judged by what was said before it, as a hook has to.
Beside the detector stand guesses that know nothing, and the cosine of two neighbours under a fixed threshold.
Knows how to read and to ask; `boundaries` says how good guesses are, `shift_tables` tells it.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from foreword.errors import ValidationError
from foreword.recall.divergence import DivergenceDetector, read_utterance, shift_probability, signs
from foreword.recall.fuse import UNRELATED_COSINE
from foreword.spaces.dense import DenseSpace
from foreword.types import Item, Query
from foreword_measure.quality import boundaries, metrics, runs, shift_tables
from foreword_measure.quality.dialogue_file import FILE, have, lines
from foreword_measure.quality.shift_tables import BETA, OURS, Guessed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foreword.recall.divergence import Utterance
    from foreword.spaces.providers import EmbeddingProvider
    from foreword_measure.quality.runs import Progress
    from foreword_measure.report import Report


LOW = 0.30
"""The similarity under which a fixed threshold calls it a divergence."""

NEVER, ALWAYS, RANDOM = "never", "always", "random"
COSINE, STRETCHED, BEST_CUT = f"cosine < {LOW:.2f}", f"stretched < {LOW:.2f}", "cosine, best cut"
WORDS = f"{OURS}, words"

_SCOPE = "dialogues"
_NOW = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """What was said, in order, and whether each turn after the first opens a new subject."""

    turns: tuple[str, ...]
    opens: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Heard:
    """A dialogue as the detector meets it: each turn as it is stored, and each as a prompt."""

    dialogue: Dialogue
    items: tuple[Utterance, ...]
    prompts: tuple[Utterance, ...]

    def places(self) -> Iterator[tuple[Utterance, tuple[Utterance, ...]]]:
        """Every turn after the first as a prompt, with what was said before it."""
        for at in range(1, len(self.prompts)):
            yield self.prompts[at], self.items[:at]

    def without_vectors(self) -> Heard:
        """The same dialogue where there is no encoder."""
        items, prompts = (
            tuple(replace(turn, vector=()) for turn in turns) for turns in (self.items, self.prompts)
        )
        return Heard(self.dialogue, items, prompts)


def holds(folder: Path) -> bool:
    """Whether a folder is a set of dialogues with boundaries."""
    return have(folder, "boundaries")


def read(folder: Path, limit: int | None = None) -> list[Dialogue]:
    """The dialogues of a set; with `limit`, the first so many."""
    found = [_dialogue(where, line) for where, line in lines(folder, limit)]
    if not any(one.opens for one in found):
        raise ValidationError(
            f"{folder / FILE} holds no dialogue of two turns or more; give a set that has some"
        )
    return found


def hear(dialogues: Sequence[Dialogue], dense: DenseSpace | None, progress: Progress) -> list[Heard]:
    """Every turn as an item and as a prompt, embedded as the engine embeds them, if there is an encoder."""
    heard = []
    for done, dialogue in enumerate(dialogues):
        progress("embedding", done, len(dialogues))
        heard.append(_heard(dialogue, dense))
    progress("embedding", len(dialogues), len(dialogues))
    return heard


def measure(
    folder: Path,
    *,
    limit: int | None = None,
    progress: Progress,
    provider: EmbeddingProvider | None = None,
    without: tuple[str, ...] = (),
    detector: DivergenceDetector | None = None,
) -> Report:
    """How well the detector, as it is set up on this machine, finds the boundaries of a set."""
    dialogues = read(folder, limit)
    with (
        tempfile.TemporaryDirectory(prefix="foreword-eval-") as place,
        runs.engine_in(Path(place), provider, without=without) as engine,
    ):
        dense = next((space for space in engine.kit.spaces if isinstance(space, DenseSpace)), None)
        heard = hear(dialogues, dense, progress)
    unrelated = (dense and dense.unrelated) or UNRELATED_COSINE
    judge = detector or DivergenceDetector()
    truths = [dialogue.opens for dialogue in dialogues]
    guessed = _uninformed(truths)
    if dense is not None:
        guessed |= _cosines(heard, unrelated)
        guessed[WORDS] = _judged([one.without_vectors() for one in heard], judge, unrelated)
    guessed[OURS] = _judged(heard, judge, unrelated)
    return shift_tables.report(folder.resolve().name, truths, guessed, judge)


def _dialogue(where: str, line: str) -> Dialogue:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ValidationError(f"{where}not JSON: {error}") from None
    turns, opens = (row.get("utterances"), row.get("boundaries")) if isinstance(row, dict) else (None, None)
    if not isinstance(turns, list) or not all(isinstance(turn, str) for turn in turns):
        raise ValidationError(f"{where}'utterances' must be a list of texts")
    places = range(1, len(turns))
    if not isinstance(opens, list) or not all(type(at) is int and at in places for at in opens):
        raise ValidationError(f"{where}'boundaries' must be positions of utterances after the first")
    return Dialogue(tuple(turns), tuple(at in set(opens) for at in places))


def _heard(dialogue: Dialogue, dense: DenseSpace | None) -> Heard:
    if dense is None:
        plain = tuple(read_utterance(turn) for turn in dialogue.turns)
        return Heard(dialogue, plain, plain)
    vectors = dense.embed_items([Item(turn, _SCOPE, kind="turn") for turn in dialogue.turns])
    items = tuple(read_utterance(turn, vector) for turn, vector in zip(dialogue.turns, vectors, strict=True))
    asked = (dense.probe(Query(turn, _SCOPE, _NOW)) for turn in dialogue.turns)
    prompts = (
        read_utterance(turn, probe.vector if probe else ())
        for turn, probe in zip(dialogue.turns, asked, strict=True)
    )
    return Heard(dialogue, items, tuple(prompts))


def _uninformed(truths: Sequence[Sequence[bool]]) -> dict[str, Guessed]:
    """What can be guessed without listening."""
    rate = sum(map(sum, truths)) / sum(map(len, truths))
    chance = np.random.default_rng(metrics.SEED)
    return {
        NEVER: Guessed([[False] * len(truth) for truth in truths]),
        ALWAYS: Guessed([[True] * len(truth) for truth in truths]),
        RANDOM: _from([chance.random(len(truth)).tolist() for truth in truths], 1 - rate),
    }


def _cosines(heard: Sequence[Heard], unrelated: float) -> dict[str, Guessed]:
    """The similarity of neighbours alone, below the fixed threshold, and below the one that is best here."""
    apart = [[-signs(prompt, past, unrelated).last for prompt, past in one.places()] for one in heard]
    opens = [true for one in heard for true in one.dialogue.opens]
    best = boundaries.best_cut([score for one in apart for score in one], opens, BETA)
    raw = (LOW - unrelated) / (1 - unrelated)
    return {COSINE: _from(apart, -raw), STRETCHED: _from(apart, -LOW), BEST_CUT: _from(apart, best)}


def _from(scores: Sequence[Sequence[float]], least: float) -> Guessed:
    return Guessed([[score >= least for score in one] for one in scores], scores)


def _judged(heard: Sequence[Heard], judge: DivergenceDetector, unrelated: float) -> Guessed:
    chances = [[shift_probability(prompt, past, unrelated) for prompt, past in one.places()] for one in heard]
    alarms = [
        [judge.alarmed(prompt, chance) for prompt, chance in zip(one.prompts[1:], scores, strict=True)]
        for one, scores in zip(heard, chances, strict=True)
    ]
    return Guessed(alarms, chances)
