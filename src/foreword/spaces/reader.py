"""The reader: a small cross-encoder in the package, taught on histories like a user's own.

It says whether a statement helps with a prompt, and whether one statement makes another untrue. The prompt's
tokens do not see the statements, so the prompt is read once however many statements there are. What it was
taught on, and how well it does, is in docs/reader.md; what its numbers mean is for others to say.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

from foreword.spaces.bundled import (
    BATCH_PAIRS,
    MAX_PAIR_TOKENS,
    VOCABULARY,
    WEIGHTS,
    BundledModel,
    BundledReranker,
    clean_text,
    group_by_length,
    pad_rows,
    run_session,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from foreword.spaces.bundled import LoadedModel, Run

READER = BundledModel(
    "foreword-reader",
    {
        WEIGHTS: "c8b9f163d61d5606e41271f4dab8a9348ca0109cce330851eaa99db3b2d64fd5",
        VOCABULARY: "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
    },
)
_HELPS, _RELATIONS = "helps", "relations"
"""The reader's outputs: a logit for whether a statement helps, and three for whether the second text is
untouched, made untrue or repeated by the first."""


class BundledReader(BundledReranker):
    """The reader: it judges statements for a prompt, and which of two statements replaces the other."""

    def __init__(self, threads: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(threads, clock, READER)

    def _prepare(self, loaded: LoadedModel, query: str, texts: Sequence[str]) -> tuple[list[int], Run]:
        """How many tokens each text costs, and a function that scores those at given places."""
        question, *statements = (_tokens(loaded, text) for text in (query, *texts))

        def run(places: Sequence[int]) -> Any:  # noqa: ANN401  (onnxruntime has no types)
            return _run(loaded, question, [statements[at] for at in places], _HELPS)

        return [len(statement) for statement in statements], run

    def replacement_chances(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each pair of a newer and an older statement: how probably the newer makes the older untrue."""
        by_newer: dict[str, list[int]] = {}
        for place, (newer, _) in enumerate(pairs):
            by_newer.setdefault(newer, []).append(place)
        chances = [0.0] * len(pairs)
        for newer, places in by_newer.items():
            found = self._chances_to_replace(newer, [pairs[at][1] for at in places])
            for place, chance in zip(places, found, strict=True):
                chances[place] = chance
        return chances

    def _chances_to_replace(self, newer: str, older: Sequence[str]) -> list[float]:
        loaded = self.load()
        first, *others = (_tokens(loaded, text) for text in (newer, *older))
        chances = [0.0] * len(others)
        for batch in group_by_length(list(map(len, others)), BATCH_PAIRS, BATCH_PAIRS * MAX_PAIR_TOKENS):
            logits = _run(loaded, first, [others[at] for at in batch], _RELATIONS)
            for place, chance in zip(batch, _shares_of_replacing(logits), strict=True):
                chances[place] = chance
        return chances


def _tokens(loaded: LoadedModel, text: str) -> list[int]:
    """The tokens of a text, between those that stand for a beginning and an end."""
    return loaded.tokenizer.encode(clean_text(text)).ids


def _run(loaded: LoadedModel, first: Sequence[int], others: Iterable[Sequence[int]], output: str) -> Any:  # noqa: ANN401
    """What the model says of each of the other texts, read after the first."""
    import numpy as np

    statements, mask = pad_rows(list(others))
    # The token for the beginning belongs to each of the others, which it judges.
    question = np.array(first[1:], dtype=np.int64)
    return run_session(loaded, {"question": question, "statements": statements, "mask": mask}, output)[0]


def _shares_of_replacing(logits: Any) -> list[float]:  # noqa: ANN401
    """The probability of the class "replaces", of the three that the reader tells apart."""
    import numpy as np

    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return cast("list[float]", (powers[:, 1] / powers.sum(axis=1)).tolist())
