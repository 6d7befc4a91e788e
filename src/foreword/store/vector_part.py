"""The part of a store that compares vectors, and the arithmetic that all such parts share.

An engine keeps vectors as rows of int8 codes: these are the truth. What finds the nearest of them is a part
of its own that repeats the rows in another shape and can be dropped and made again: code files beside the
database (`vectors`), a pgvector table (`postgres.nearest`), or a Qdrant server (`qdrant`). A part names the
items that are nearest; how near they are is computed here from the codes in the rows, so that every part
gives the same cosines and, where it finds the same items, the same order. The codes of tokens are compared
by whoever asks for them; a store only keeps their bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np
import simsimd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from foreword.store.base import Problem
    from foreword.types import Filters, VectorProbe

    FindCodes = Callable[[Iterable[int]], Mapping[int, bytes]]
    """Given item numbers, the codes of those that have one, from the rows."""

    FindNearest = Callable[[Sequence[float], int], Iterable[int]]
    """Given a vector and a limit, the numbers of the items nearest to it that pass the filters."""

Tx = TypeVar("Tx")
"""The transaction of the engine that a part works beside."""

_MIN_CANDIDATES = 100
_CANDIDATES_PER_ANSWER = 2
"""How many items a part is asked for, for each that is wanted: it may order them a little differently."""


def vector_to_code(vector: Sequence[float]) -> bytes:
    """A vector as int8, scaled to its largest number; cosine does not mind the scale."""
    values = np.asarray(vector, np.float64)
    largest = float(np.abs(values).max(initial=0.0))
    return bytes(np.rint(values / (largest or 1.0) * 127).astype(np.int8).data)


def vector_from_code(code: bytes) -> tuple[float, ...]:
    """The unit vector that a code stands for, up to rounding."""
    values = np.frombuffer(code, np.int8).astype(np.float32)
    length = float(np.linalg.norm(values)) or 1.0
    return tuple((values / length).tolist())


def cosines_to_codes(vector: Sequence[float], codes: NDArray[np.int8]) -> NDArray[np.float64]:
    """The cosine of each code to a vector."""
    if not len(codes):
        return np.zeros(0)
    query = np.frombuffer(vector_to_code(vector), np.int8)[None]
    return 1.0 - np.array(simsimd.cdist(query, codes, "cosine")).ravel()


class Comparison(Protocol):
    """One vector, compared with those of the items that pass the filters."""

    def best(self, limit: int) -> list[tuple[int, float]]:
        """At most `limit` item numbers and cosines, highest first; of equals the lowest number."""
        ...

    def cosines_of_items(self, numbers: Iterable[int]) -> dict[int, float]:
        """The cosines of these items, as far as they have vectors."""
        ...

    def echo(self, bonuses: Mapping[int, float], weight: float, items: int) -> Comparison:
        """The comparison with the vector moved towards the mean of its best answers, by `weight`.

        The best answers are the `items` with the highest sum of cosine and bonus.
        """
        ...


def places_of_highest(
    values: NDArray[np.float64], numbers: NDArray[np.int64], limit: int
) -> NDArray[np.intp]:
    """The places of the highest values, highest first; of equals the one with the lowest number."""
    if limit < len(values):
        threshold = np.partition(values, len(values) - limit)[len(values) - limit] if limit else np.inf
        places = np.flatnonzero(values >= threshold)
    else:
        places = np.arange(len(values))
    return places[np.lexsort((numbers[places], -values[places]))][:limit]


def _move_towards(vector: Sequence[float], codes: NDArray[np.int8], weight: float) -> tuple[float, ...]:
    """A unit vector, moved by `weight` towards the mean of what some codes stand for."""
    best = codes.astype(np.float32)
    best /= np.maximum(np.linalg.norm(best, axis=1, keepdims=True), 1.0)
    unit = np.asarray(vector, np.float32)
    moved = unit / max(float(np.linalg.norm(unit)), 1e-12) + weight * best.mean(axis=0)
    return tuple(moved.tolist())


@dataclass(frozen=True, slots=True)
class Cosines:
    """The cosine of each of many items, by number, to one vector: a comparison with all of them."""

    vector: tuple[float, ...]
    numbers: NDArray[np.int64]
    codes: NDArray[np.int8]
    values: NDArray[np.float64]

    def best(self, limit: int) -> list[tuple[int, float]]:
        """At most `limit` item numbers and cosines, highest first."""
        places = places_of_highest(self.values, self.numbers, limit)
        return [(int(self.numbers[i]), float(self.values[i])) for i in places]

    def cosines_of_items(self, numbers: Iterable[int]) -> dict[int, float]:
        """The cosines of these items, as far as they have vectors."""
        wanted = np.isin(self.numbers, np.fromiter(numbers, np.int64))
        return dict(zip(self.numbers[wanted].tolist(), self.values[wanted].tolist(), strict=True))

    def echo(self, bonuses: Mapping[int, float], weight: float, items: int) -> Cosines:
        """The cosines to the vector moved towards the mean of its best answers."""
        merit = self.values.copy()
        for at in np.flatnonzero(np.isin(self.numbers, np.fromiter(bonuses, np.int64))):
            merit[at] += bonuses[int(self.numbers[at])]
        moved = _move_towards(self.vector, self.codes[places_of_highest(merit, self.numbers, items)], weight)
        return Cosines(moved, self.numbers, self.codes, cosines_to_codes(moved, self.codes))


class NearestCosines:
    """A comparison by a part that finds the nearest items; their cosines are computed from the rows."""

    def __init__(
        self,
        vector: Sequence[float],
        find_nearest: FindNearest,
        codes_of_items: FindCodes,
        known_codes: dict[int, bytes] | None = None,
    ) -> None:
        self._vector = tuple(vector)
        self._find_nearest = find_nearest
        self._codes_of_items = codes_of_items
        self._known_codes = {} if known_codes is None else known_codes
        self._nearest: list[int] = []

    def best(self, limit: int) -> list[tuple[int, float]]:
        """The nearest items, in the order of their exact cosines."""
        candidates = max(_MIN_CANDIDATES, limit * _CANDIDATES_PER_ANSWER)
        self._nearest = list(self._find_nearest(self._vector, candidates))
        return self._compare(self._nearest).best(limit)

    def cosines_of_items(self, numbers: Iterable[int]) -> dict[int, float]:
        """The cosines of these items, as far as they have vectors."""
        return self._compare(numbers).cosines_of_items(numbers)

    def echo(self, bonuses: Mapping[int, float], weight: float, items: int) -> NearestCosines:
        """The best answers are among the nearest items and those with a bonus."""
        near = self._nearest or list(self._find_nearest(self._vector, _MIN_CANDIDATES))
        answers = self._compare({*near, *bonuses})
        merit = answers.values + np.array([bonuses.get(int(number), 0.0) for number in answers.numbers])
        moved = _move_towards(
            self._vector, answers.codes[places_of_highest(merit, answers.numbers, items)], weight
        )
        return NearestCosines(moved, self._find_nearest, self._codes_of_items, self._known_codes)

    def _compare(self, numbers: Iterable[int]) -> Cosines:
        """The exact cosines of these items."""
        wanted = list(numbers)
        unknown = [number for number in wanted if number not in self._known_codes]
        if unknown:  # most were asked for before: each asking is a round trip
            self._known_codes |= self._codes_of_items(unknown)
        codes = sorted(
            (number, self._known_codes[number]) for number in wanted if number in self._known_codes
        )
        joined = np.frombuffer(b"".join(code for _, code in codes), np.int8)
        matrix = joined.reshape(len(codes), len(self._vector))
        return Cosines(
            self._vector,
            np.array([number for number, _ in codes], np.int64),
            matrix,
            cosines_to_codes(self._vector, matrix),
        )


class VectorPart(ABC, Generic[Tx]):
    """What finds the nearest vectors of a workspace, beside the rows of an engine.

    Each method but `close` is called inside a transaction of the engine. What a part keeps elsewhere it may
    bring up to date after the commit, and must then find what changed in the rows meanwhile by itself.
    """

    @abstractmethod
    def put_vectors(self, tx: Tx, space: str, digest: str, codes: Mapping[int, bytes]) -> None:
        """Note that these items have got these vectors, in place of earlier ones."""

    @abstractmethod
    def note_changed_items(self, tx: Tx, numbers: Sequence[int]) -> None:
        """Note that what filters ask of these items has changed."""

    @abstractmethod
    def delete_vectors(self, tx: Tx, numbers: Sequence[int]) -> None:
        """Let go everything of these items, which are being deleted."""

    @abstractmethod
    def compare(self, tx: Tx, probe: VectorProbe, filters: Filters) -> Comparison:
        """Compare a vector with those of the items that pass the filters."""

    @abstractmethod
    def find_problems(self, tx: Tx) -> Iterable[Problem]:
        """Where the part disagrees with the rows."""

    @abstractmethod
    def rebuild(self, tx: Tx) -> None:
        """Discard what the part has of this workspace and make it again from the rows."""

    def after_commit(self, workspace: str) -> None:
        """A transaction on this workspace that changed vectors is durable now."""

    def flush(self, workspace: str, seconds: float) -> bool:  # noqa: ARG002
        """Wait until the part has learnt what changed in a workspace; False if that takes longer."""
        return True

    def close(self) -> None:
        """Finish what is under way, and release connections."""
