"""Whether a change of subject is noticed when it happens: dialogues with known boundaries, turn by turn.

    dialogues.jsonl    utterances, and boundaries: the positions (from 0) of those that begin a new subject

Every turn but the first is treated as a prompt, and judged by the turns before it, as a hook does. The
detector is compared with guesses that ignore the text, and with a fixed threshold for the cosine of two
neighbours. `boundaries` has the measures and the report.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from foreword.errors import ValidationError
from foreword.recall.divergence import DivergenceDetector, read_shift_signs, read_utterance, shift_probability
from foreword.recall.fuse import UNRELATED_COSINE
from foreword.spaces.dense import DenseSpace
from foreword.types import Item, Query
from foreword_measure.quality import boundaries, metrics, runs
from foreword_measure.quality.boundaries import BETA, OURS, Guesses
from foreword_measure.quality.labelled import DIALOGUES, has_dialogues, read_dialogues

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foreword.recall.divergence import Utterance
    from foreword.spaces.providers import EmbeddingProvider
    from foreword_measure.quality.runs import Progress
    from foreword_measure.report import Report


FIXED_THRESHOLD = 0.30
"""The similarity below which the plain rule sees a change of subject."""

NEVER, ALWAYS, RANDOM = "never", "always", "random"
COSINE, STRETCHED, BEST_CUT = (
    f"cosine < {FIXED_THRESHOLD:.2f}",
    f"stretched < {FIXED_THRESHOLD:.2f}",
    "cosine, best cut",
)
WORDS = f"{OURS}, words"

_SCOPE = "dialogues"
_NOW = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The turns of a dialogue, and whether each turn after the first begins a new subject."""

    turns: tuple[str, ...]
    opens: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class EncodedDialogue:
    """A dialogue as the detector sees it: each turn as a stored item, and each as a prompt."""

    dialogue: Dialogue
    items: tuple[Utterance, ...]
    prompts: tuple[Utterance, ...]

    def places(self) -> Iterator[tuple[Utterance, tuple[Utterance, ...]]]:
        """Every turn after the first as a prompt, with the turns before it."""
        for at in range(1, len(self.prompts)):
            yield self.prompts[at], self.items[:at]

    def without_vectors(self) -> EncodedDialogue:
        """The same dialogue as if there were no encoder."""
        items, prompts = (
            tuple(replace(turn, vector=()) for turn in turns) for turns in (self.items, self.prompts)
        )
        return EncodedDialogue(self.dialogue, items, prompts)


def has_boundaries(folder: Path) -> bool:
    """Whether a folder is a set of dialogues with boundaries."""
    return has_dialogues(folder, "boundaries")


def read_set(folder: Path, limit: int | None = None) -> list[Dialogue]:
    """The dialogues of a set; with `limit`, the first `limit`."""
    dialogues = [_parse_dialogue(where, row) for where, row in read_dialogues(folder, limit)]
    if not any(one.opens for one in dialogues):
        raise ValidationError(
            f"{folder / DIALOGUES} holds no dialogue of two turns or more; give a set that has some"
        )
    return dialogues


def encode_dialogues(
    dialogues: Sequence[Dialogue], dense: DenseSpace | None, progress: Progress
) -> list[EncodedDialogue]:
    """Every turn as an item and as a prompt, with the engine's vectors if there is an encoder."""
    encoded = []
    for done, dialogue in enumerate(dialogues):
        progress("embedding", done, len(dialogues))
        encoded.append(_encode(dialogue, dense))
    progress("embedding", len(dialogues), len(dialogues))
    return encoded


def measure(
    folder: Path,
    *,
    limit: int | None = None,
    progress: Progress,
    provider: EmbeddingProvider | None = None,
    without: tuple[str, ...] = (),
    detector: DivergenceDetector | None = None,
) -> Report:
    """How well the detector, with this machine's settings, finds the boundaries of a set."""
    dialogues = read_set(folder, limit)
    with (
        tempfile.TemporaryDirectory(prefix="foreword-eval-") as place,
        runs.open_engine_in(Path(place), provider, without=without) as engine,
    ):
        dense = next((space for space in engine.kit.spaces if isinstance(space, DenseSpace)), None)
        encoded = encode_dialogues(dialogues, dense, progress)
    unrelated = (dense and dense.unrelated_cosine) or UNRELATED_COSINE
    judge = detector or DivergenceDetector()
    truths = [dialogue.opens for dialogue in dialogues]
    guessed = _blind_guesses(truths)
    if dense is not None:
        guessed |= _cosine_guesses(encoded, unrelated)
        guessed[WORDS] = _detector_guesses([one.without_vectors() for one in encoded], judge, unrelated)
    guessed[OURS] = _detector_guesses(encoded, judge, unrelated)
    return boundaries.build_report(folder.resolve().name, truths, guessed, judge)


def _parse_dialogue(where: str, row: object) -> Dialogue:
    turns, opens = (row.get("utterances"), row.get("boundaries")) if isinstance(row, dict) else (None, None)
    if not isinstance(turns, list) or not all(isinstance(turn, str) for turn in turns):
        raise ValidationError(f"{where}'utterances' must be a list of texts")
    places = range(1, len(turns))
    if not isinstance(opens, list) or not all(type(at) is int and at in places for at in opens):
        raise ValidationError(f"{where}'boundaries' must be positions of utterances after the first")
    return Dialogue(tuple(turns), tuple(at in set(opens) for at in places))


def _encode(dialogue: Dialogue, dense: DenseSpace | None) -> EncodedDialogue:
    if dense is None:
        plain = tuple(read_utterance(turn) for turn in dialogue.turns)
        return EncodedDialogue(dialogue, plain, plain)
    vectors = dense.embed_items([Item(turn, _SCOPE, kind="turn") for turn in dialogue.turns])
    items = tuple(read_utterance(turn, vector) for turn, vector in zip(dialogue.turns, vectors, strict=True))
    asked = (dense.probe(Query(turn, _SCOPE, _NOW)) for turn in dialogue.turns)
    prompts = (
        read_utterance(turn, probe.vector if probe else ())
        for turn, probe in zip(dialogue.turns, asked, strict=True)
    )
    return EncodedDialogue(dialogue, items, tuple(prompts))


def _blind_guesses(truths: Sequence[Sequence[bool]]) -> dict[str, Guesses]:
    """Guesses that ignore the text: never, always, and at random."""
    rate = sum(map(sum, truths)) / sum(map(len, truths))
    chance = np.random.default_rng(metrics.SEED)
    return {
        NEVER: Guesses([[False] * len(truth) for truth in truths]),
        ALWAYS: Guesses([[True] * len(truth) for truth in truths]),
        RANDOM: _guess_above([chance.random(len(truth)).tolist() for truth in truths], 1 - rate),
    }


def _cosine_guesses(encoded: Sequence[EncodedDialogue], unrelated: float) -> dict[str, Guesses]:
    """Guesses by the similarity of neighbours, with the fixed threshold and with the best one here."""
    distances = [
        [-read_shift_signs(prompt, past, unrelated).last for prompt, past in one.places()] for one in encoded
    ]
    opens = [true for one in encoded for true in one.dialogue.opens]
    best = boundaries.best_threshold([score for one in distances for score in one], opens, BETA)
    raw = (FIXED_THRESHOLD - unrelated) / (1 - unrelated)
    return {
        COSINE: _guess_above(distances, -raw),
        STRETCHED: _guess_above(distances, -FIXED_THRESHOLD),
        BEST_CUT: _guess_above(distances, best),
    }


def _guess_above(scores: Sequence[Sequence[float]], threshold: float) -> Guesses:
    return Guesses([[score >= threshold for score in one] for one in scores], scores)


def _detector_guesses(
    encoded: Sequence[EncodedDialogue], judge: DivergenceDetector, unrelated: float
) -> Guesses:
    chances = [
        [shift_probability(prompt, past, unrelated) for prompt, past in one.places()] for one in encoded
    ]
    alarms = [
        [
            judge.is_worth_an_alert(prompt, chance)
            for prompt, chance in zip(one.prompts[1:], scores, strict=True)
        ]
        for one, scores in zip(encoded, chances, strict=True)
    ]
    return Guesses(alarms, chances)
