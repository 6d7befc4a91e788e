"""Plain ways to fill a prompt from the same history: the nearest events by cosine, and the last turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from foreword_measure.quality.scenarios.reading import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foreword.spaces.providers import EmbeddingProvider
    from foreword_measure.quality.scenarios.reading import Ask, Event, Scenario

NEAREST, LAST = "five nearest", "last ten turns"
NEAREST_EVENTS, LAST_TURNS = 5, 10


def answer_with_nearest(scenario: Scenario, provider: EmbeddingProvider) -> dict[str, Answer]:
    """For each ask, the five earlier events whose texts are nearest to its own, the nearest first.

    A session's start has no text: it gets the last five events.
    """
    events = [event for event in scenario.events if event.text.strip()]
    vectors = _normalise(provider.embed_batch([event.text for event in events]))
    answers = {}
    for ask in scenario.asks:
        before = sum(event.at <= ask.at for event in events)
        places: Sequence[int] = range(before)[-NEAREST_EVENTS:]
        if ask.text:
            cosines = vectors[:before] @ _normalise([provider.embed(ask.text)])[0]
            places = np.argsort(-cosines, kind="stable")[:NEAREST_EVENTS].tolist()
        answers[ask.id] = _join_into_answer(ask, (events[place] for place in places))
    return answers


def answer_with_last_turns(scenario: Scenario) -> dict[str, Answer]:
    """For each ask, the ten turns before it, of any session."""
    answers = {}
    for ask in scenario.asks:
        turns = [event for event in scenario.events if event.is_turn and event.at <= ask.at]
        answers[ask.id] = _join_into_answer(ask, turns[-LAST_TURNS:])
    return answers


def _join_into_answer(ask: Ask, events: Iterable[Event]) -> Answer:
    pieces = tuple(event.text for event in events)
    return Answer(ask.id, "\n".join(pieces), pieces)


def _normalise(vectors: Sequence[Sequence[float]]) -> np.ndarray:
    rows = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-12))
