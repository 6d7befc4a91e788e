"""The reader: a small cross-encoder in the package, taught on histories like a user's own.

It judges whether a statement helps with a prompt, whether one statement makes another untrue, and whether a
sentence asks for something that its speaker lacks. The prompt's tokens do not see the statements, so the
prompt is read once however many statements there are, and only the most promising statements are read to the
end. What it was taught on, and how well it does, is in docs/reader.md; its callers interpret its numbers.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, cast

from foreword.spaces.bundled import (
    BATCH_PAIR_TOKENS,
    BATCH_PAIRS,
    GRAPH,
    WEIGHTS,
    BundledModel,
    BundledReranker,
    group_by_length,
    pad_rows,
    run_loaded_model,
    translate_and_cut_for_models,
)
from foreword.types import text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.spaces.bundled import LoadedModel, Run

READER = BundledModel(
    "foreword-reader",
    {
        WEIGHTS: "879c8d39e67e85cd1ace58e4a148fd27f6e899c670481a1428175b31c030a00e",
        GRAPH: "a373f406a10b3cfe767fed790f5ff0ce9ff2f9bf0f0fb7f4f71802f1f8319e61",
    },
)
_HELPS, _RELATIONS = slice(0, 1), slice(1, 4)
"""Where the logits of a statement stand: one for whether it helps, and three for whether the second text is
untouched, made untrue or repeated by the first."""

_MAX_CACHED_REQUESTS = 2048
_READ_ON_SHARE, _MIN_READ_ON = 0.4, 3
"""The share of a batch's statements that are read to the end, the most promising, and at least how many."""


class BundledReader(BundledReranker):
    """The reader: it judges statements for a prompt, and which of two statements replaces the other."""

    max_batch_texts = 12  # the most promising are chosen within a batch, so it must not be too small

    def __init__(self, threads: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(threads, clock, READER)
        self._request_cache: OrderedDict[tuple[str, str], float] = OrderedDict()

    def _prepare_scoring(
        self, loaded: LoadedModel, query: str, texts: Sequence[str]
    ) -> tuple[list[int], Run]:
        """The number of tokens of each text, and a function that scores the texts at given places."""
        question, *statements = (_token_ids(loaded, text) for text in (query, *texts))

        def run(places: Sequence[int]) -> Any:  # noqa: ANN401  (onnxruntime has no types)
            most = max(_MIN_READ_ON, round(_READ_ON_SHARE * len(places)))
            return _run_reader(loaded, question, [statements[at] for at in places], most)[:, _HELPS]

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
        """The probability that one statement makes each of the older ones untrue."""
        loaded = self.load()
        first, *others = (_token_ids(loaded, text) for text in (newer, *older))
        chances = [0.0] * len(others)
        for batch in group_by_length(list(map(len, others)), BATCH_PAIRS, BATCH_PAIR_TOKENS):
            logits = _run_reader(loaded, first, [others[at] for at in batch])[:, _RELATIONS]
            for place, chance in zip(batch, _probabilities_of_replacing(logits), strict=True):
                chances[place] = chance
        return chances

    def request_logits(self, passage: str, sentences: Sequence[str]) -> list[float]:
        """For each sentence of a passage, how surely it asks for what its speaker lacks, as a logit.

        Logits are cached: a message is judged when it is the newest, and again when the next one comes.
        """
        passage_hash = text_hash(passage)
        keys = [(passage_hash, text_hash(sentence)) for sentence in sentences]
        known = {key: logit for key in keys if (logit := self._request_cache.get(key)) is not None}
        unread = {key: text for key, text in zip(keys, sentences, strict=True) if key not in known}
        if unread:
            logits = self._compute_request_logits(passage, list(unread.values()))
            known |= zip(unread, logits, strict=True)
            self._request_cache |= known
            while len(self._request_cache) > _MAX_CACHED_REQUESTS:
                self._request_cache.popitem(last=False)
        return [known[key] for key in keys]

    def _compute_request_logits(self, passage: str, sentences: Sequence[str]) -> list[float]:
        """The logits of sentences that are read now, in their order."""
        loaded = self.load()
        first, *others = (_token_ids(loaded, text) for text in (passage, *sentences))
        return cast("list[float]", _run_reader(loaded, first, others, requests=True)[:, 0].tolist())


def _token_ids(loaded: LoadedModel, text: str) -> list[int]:
    """The ids of a text's tokens, with those that mark its beginning and its end."""
    return loaded.tokenizer.encode(translate_and_cut_for_models(text)).ids


def _run_reader(
    loaded: LoadedModel,
    first: Sequence[int],
    others: Sequence[Sequence[int]],
    most: int | None = None,
    *,
    requests: bool = False,
) -> Any:  # noqa: ANN401
    """The model's logits for each of the other texts, read after the first.

    At most `most` of them are read to the end (all by default): after a few layers most statements are seen
    not to help, and get the logit of that moment. With `requests` they are sentences, read to the end.
    """
    import numpy as np

    statements, mask = pad_rows(others)
    # The beginning's token is left to the other texts: in each of them it carries the judgement.
    question = np.array(first[1:], dtype=np.int64)
    inputs = {
        "question": question,
        "statements": statements,
        "mask": mask,
        "most": np.array([len(others) if most is None else most], dtype=np.int64),
        "requests": np.array(requests),
    }
    return run_loaded_model(loaded, inputs)[0]


def _probabilities_of_replacing(logits: Any) -> list[float]:  # noqa: ANN401
    """The probability of the class "replaces" among the three classes of the reader."""
    import numpy as np

    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return cast("list[float]", (powers[:, 1] / powers.sum(axis=1)).tolist())
