"""The signs of many codes, one bit for each number, by which very many vectors are searched first.

Signs take an eighth of the bytes of codes. Vectors that differ in many signs are seldom near. So the codes
whose signs agree most with the question's are chosen, at least ten thousand, and only these are compared
exactly. The signs of every vector are compared for every such question, so that no answer is lost as in an
approximate index. Where a filter leaves few items, their codes are found by their places alone, and no signs
are made.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import simsimd

from foreword.store.vector_part import cosines_to_codes, places_of_highest, vector_to_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

_CHUNK = 50_000
_SPARE = 0.25
_MIN_CANDIDATES = 10_000
_CANDIDATES_PER_ANSWER = 5
"""How many codes are compared exactly: for each answer that is wanted, but never fewer than the minimum."""

_NO_MATCH = 1 << 20
"""The distance given to records that do not pass a filter: larger than any real one."""


class ItemPlaces:
    """Where in a code file the records of items are, of the first `len` records. Immutable."""

    def __init__(self, numbers: NDArray[np.int64], count: int) -> None:
        self._number_buffer, self._count = numbers, count

    @classmethod
    def empty(cls) -> ItemPlaces:
        """The places in a file without records."""
        return cls(np.zeros(0, np.int64), 0)

    def __len__(self) -> int:
        return self._count

    def extended_with_numbers(self, numbers: NDArray[np.int64]) -> ItemPlaces:
        """These places and those of the records that come next in the file, given their items' numbers."""
        return ItemPlaces(*_append_rows(self._number_buffer, self._count, numbers))

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The item number of each record, as it was when the record was read."""
        return self._number_buffer[: self._count]

    def places_of_items(self, numbers: Iterable[int]) -> NDArray[np.intp]:
        """The places of the records of these items, as far as they have one; of several the last."""
        wanted = np.fromiter(numbers, np.int64)
        order, ascending = self._places_sorted_by_item_number
        last = np.searchsorted(ascending, wanted, "right")
        found = last[np.searchsorted(ascending, wanted, "left") < last] - 1
        return found if order is None else order[found]

    @cached_property
    def _places_sorted_by_item_number(self) -> tuple[NDArray[np.intp] | None, NDArray[np.int64]]:
        """The places of the records by ascending number, None if they are in that order, and the numbers."""
        numbers = self.numbers
        if bool((numbers[1:] > numbers[:-1]).all()):
            return None, numbers
        order = np.argsort(numbers, kind="stable")
        return order, numbers[order]


class SignCodes:
    """The signs of the first `len` records of a code file. Immutable."""

    def __init__(self, signs: NDArray[np.uint8], count: int) -> None:
        self._sign_buffer, self._count = signs, count

    @classmethod
    def empty(cls, dimensions: int) -> SignCodes:
        """The signs of a file without records."""
        return cls(np.zeros((0, (dimensions + 7) // 8), np.uint8), 0)

    def __len__(self) -> int:
        return self._count

    def extended_with_codes(self, codes: NDArray[np.int8]) -> SignCodes:
        """These signs and those of the codes that come next in the file."""
        buffer, count = self._sign_buffer, self._count
        for at in range(0, len(codes), _CHUNK):
            buffer, count = _append_rows(buffer, count, _pack_signs(codes[at : at + _CHUNK]))
        return SignCodes(buffer, count)

    def places_with_most_alike_signs(
        self, vector: Sequence[float], limit: int, passing: NDArray[np.bool_] | None = None
    ) -> NDArray[np.intp]:
        """The places of the codes whose signs agree most with a vector's, enough to contain the nearest.

        `passing` has for each record whether it may be among them; None means that all may.
        """
        wanted = max(_MIN_CANDIDATES, limit * _CANDIDATES_PER_ANSWER)
        question = _pack_signs(np.frombuffer(vector_to_code(vector), np.int8)[None])
        signs = self._sign_buffer[: self._count]
        distances = np.asarray(simsimd.cdist(question, signs, "hamming", dtype="bin8")).ravel()
        if passing is not None:
            distances = np.where(passing, distances, _NO_MATCH)
        # There are few different distances: counting them is faster than sorting.
        bits = 8 * signs.shape[1]
        up_to = np.cumsum(np.bincount(np.minimum(distances, bits + 1).astype(np.int32), minlength=bits + 2))
        return np.flatnonzero(distances <= min(bits, int(np.searchsorted(up_to, wanted))))


def _append_rows(buffer: NDArray[Any], count: int, rows: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """A buffer with these rows after its first `count`, and how many it has then; a larger one if need be."""
    more = count + len(rows)
    if more > len(buffer):
        larger = np.zeros((int(more * (1 + _SPARE)), *buffer.shape[1:]), buffer.dtype)
        larger[:count] = buffer[:count]
        buffer = larger
    buffer[count:more] = rows
    return buffer, more


def numbers_of_nearest_codes(
    vector: Sequence[float], numbers: NDArray[np.int64], codes: NDArray[np.int8], limit: int
) -> list[int]:
    """The item numbers of the codes nearest to a vector, nearest first."""
    return [
        int(numbers[place]) for place in places_of_highest(cosines_to_codes(vector, codes), numbers, limit)
    ]


def _pack_signs(codes: NDArray[np.int8]) -> NDArray[np.uint8]:
    """One bit for each number of each code: 1 if the number is positive."""
    return np.packbits(codes > 0, axis=1)
