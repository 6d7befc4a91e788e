"""The part of a store that compares vectors, and the arithmetic that all such parts share.

An engine stores vectors as rows of int8 codes: these are the truth. The part that finds the nearest of them
has a copy of the rows in another form, which can be dropped and made again: code files beside the database
(`vectors`), a pgvector table (`postgres.nearest`), or a Qdrant server (`qdrant`). A part returns which items
are nearest; their cosines are computed here from the codes in the rows, so that every part gives the same
cosines and, if it finds the same items, the same order. Token codes are not compared here; a store only keeps
their bytes.
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
    """A function that reads from the rows the codes of items, given and returned by number."""

    FindNearest = Callable[[Sequence[float], int], Iterable[int]]
    """A function from a vector and a limit to the numbers of the nearest items that pass the filters."""

Tx = TypeVar("Tx")
"""The transaction of the engine that a part works beside."""

_MIN_CANDIDATES = 100
_CANDIDATES_PER_ANSWER = 2
"""How many items a part is asked for, for each answer wanted: it may order them a little differently."""


def vector_to_code(vector: Sequence[float]) -> bytes:
    """A vector as int8 numbers, the largest scaled to 127; the scale does not change a cosine."""
    values = np.asarray(vector, np.float64)
    largest = float(np.abs(values).max(initial=0.0))
    return bytes(np.rint(values / (largest or 1.0) * 127).astype(np.int8).data)


def vector_from_code(code: bytes) -> tuple[float, ...]:
    """The unit vector of a code, up to rounding."""
    values = np.frombuffer(code, np.int8).astype(np.float32)
    length = float(np.linalg.norm(values)) or 1.0
    return tuple((values / length).tolist())


def is_among(numbers: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which item numbers are among the wanted ones."""
    # By a table, not by sorting, for which numpy would first import its masked arrays: 40 ms.
    return np.isin(numbers, wanted, kind="table")


def cosines_to_codes(vector: Sequence[float], codes: NDArray[np.int8]) -> NDArray[np.float64]:
    """The cosine of each code to a vector."""
    if not len(codes):
        return np.zeros(0)
    query = np.frombuffer(vector_to_code(vector), np.int8)[None]
    return 1.0 - np.array(simsimd.cdist(query, codes, "cosine")).ravel()


class VectorComparison(Protocol):
    """The result of comparing one vector with those of the items that pass the filters."""

    def best_items(self, limit: int) -> list[tuple[int, float]]:
        """At most `limit` item numbers with their cosines, highest first; of equals the lowest number."""
        ...

    def cosines_of_items(self, numbers: Iterable[int]) -> dict[int, float]:
        """The cosines of these items, as far as they have vectors."""
        ...

    def compare_towards_best(
        self, bonuses: Mapping[int, float], weight: float, items: int
    ) -> VectorComparison:
        """A second comparison, with the vector moved by `weight` towards the mean of its best answers.

        The best answers are the `items` answers with the highest sum of cosine and bonus.
        """
        ...


def places_of_highest(
    values: NDArray[np.float64], numbers: NDArray[np.int64], limit: int
) -> NDArray[np.intp]:
    """The places of the `limit` highest values, highest first; of equal ones the lowest number first."""
    if limit < len(values):
        threshold = np.partition(values, len(values) - limit)[len(values) - limit] if limit else np.inf
        places = np.flatnonzero(values >= threshold)
    else:
        places = np.arange(len(values))
    return places[np.lexsort((numbers[places], -values[places]))][:limit]


def _move_towards_codes(vector: Sequence[float], codes: NDArray[np.int8], weight: float) -> tuple[float, ...]:
    """A vector, scaled to length 1 and moved by `weight` towards the mean of the unit vectors of codes."""
    best = codes.astype(np.float32)
    best /= np.maximum(np.linalg.norm(best, axis=1, keepdims=True), 1.0)
    unit = np.asarray(vector, np.float32)
    moved = unit / max(float(np.linalg.norm(unit)), 1e-12) + weight * best.mean(axis=0)
    return tuple(moved.tolist())


@dataclass(frozen=True, slots=True)
class Cosines:
    """A comparison that has the cosines of all its items to the vector, by item number."""

    vector: tuple[float, ...]
    numbers: NDArray[np.int64]
    codes: NDArray[np.int8]
    values: NDArray[np.float64]

    def best_items(self, limit: int) -> list[tuple[int, float]]:
        """At most `limit` item numbers and cosines, highest first."""
        places = places_of_highest(self.values, self.numbers, limit)
        return [(int(self.numbers[i]), float(self.values[i])) for i in places]

    def cosines_of_items(self, numbers: Iterable[int]) -> dict[int, float]:
        """The cosines of these items, as far as they have vectors."""
        wanted = is_among(self.numbers, np.fromiter(numbers, np.int64))
        return dict(zip(self.numbers[wanted].tolist(), self.values[wanted].tolist(), strict=True))

    def compare_towards_best(self, bonuses: Mapping[int, float], weight: float, items: int) -> Cosines:
        """The cosines of the same items to the vector moved towards the mean of its best answers."""
        merit = self.values.copy()
        for at in np.flatnonzero(is_among(self.numbers, np.fromiter(bonuses, np.int64))):
            merit[at] += bonuses[int(self.numbers[at])]
        moved = _move_towards_codes(
            self.vector, self.codes[places_of_highest(merit, self.numbers, items)], weight
        )
        return Cosines(moved, self.numbers, self.codes, cosines_to_codes(moved, self.codes))


class NearestCosines:
    """A comparison that asks a part for the nearest items, and computes their cosines from the rows."""

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

    def best_items(self, limit: int) -> list[tuple[int, float]]:
        """The nearest items, in the order of their exact cosines."""
        candidates = max(_MIN_CANDIDATES, limit * _CANDIDATES_PER_ANSWER)
        self._nearest = list(self._find_nearest(self._vector, candidates))
        return self._exact_cosines(self._nearest).best_items(limit)

    def cosines_of_items(self, numbers: Iterable[int]) -> dict[int, float]:
        """The cosines of these items, as far as they have vectors."""
        return self._exact_cosines(numbers).cosines_of_items(numbers)

    def compare_towards_best(self, bonuses: Mapping[int, float], weight: float, items: int) -> NearestCosines:
        """A second comparison, as in `VectorComparison`; the best are the nearest items or have a bonus."""
        near = self._nearest or list(self._find_nearest(self._vector, _MIN_CANDIDATES))
        answers = self._exact_cosines({*near, *bonuses})
        merit = answers.values + np.array([bonuses.get(int(number), 0.0) for number in answers.numbers])
        moved = _move_towards_codes(
            self._vector, answers.codes[places_of_highest(merit, answers.numbers, items)], weight
        )
        return NearestCosines(moved, self._find_nearest, self._codes_of_items, self._known_codes)

    def _exact_cosines(self, numbers: Iterable[int]) -> Cosines:
        """The exact cosines of these items."""
        wanted = list(numbers)
        unknown = [number for number in wanted if number not in self._known_codes]
        if unknown:  # codes read before are kept: each reading is a round trip
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
    """The part of a store that finds the nearest vectors of a workspace, with a copy of the engine's rows.

    The methods with `tx` are called inside a transaction of the engine. A part may update its copy after the
    commit, and must then find out by itself which rows have changed meanwhile.
    """

    @abstractmethod
    def put_vectors(self, tx: Tx, space: str, digest: str, codes: Mapping[int, bytes]) -> None:
        """Take over these new vectors of items, in place of earlier ones."""

    @abstractmethod
    def note_changed_items(self, tx: Tx, numbers: Sequence[int]) -> None:
        """Note that fields of these items which filters compare have changed."""

    @abstractmethod
    def delete_vectors(self, tx: Tx, numbers: Sequence[int]) -> None:
        """Delete the vectors of these items, which are being deleted."""

    @abstractmethod
    def compare(self, tx: Tx, probe: VectorProbe, filters: Filters) -> VectorComparison:
        """Compare a vector with those of the items that pass the filters."""

    @abstractmethod
    def find_problems(self, tx: Tx) -> Iterable[Problem]:
        """The disagreements between the part's copy and the rows."""

    @abstractmethod
    def rebuild(self, tx: Tx) -> None:
        """Discard the part's copy of this workspace's vectors, and make it again from the rows."""

    def after_commit(self, workspace: str) -> None:
        """Called when a transaction that may have changed vectors of this workspace is durable."""

    def flush(self, workspace: str, seconds: float) -> bool:  # noqa: ARG002
        """Wait until the part has all changes of a workspace; False if that takes longer than `seconds`."""
        return True

    def close(self) -> None:
        """Finish the work in progress, and release connections."""
