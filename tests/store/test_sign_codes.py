"""A code file with very many records: looked at by signs first, and found as if every code were compared."""

from __future__ import annotations

import numpy as np
import pytest

from foreword.store import sign_codes, vectors
from foreword.store.vector_part import cosines_to_codes, vector_to_code
from foreword.store.vectors import CodeFile

SIZE = 64
COUNT = 3000


class Passing:
    """Items that pass: those with a number that a divisor divides."""

    def __init__(self, divisor=1):
        self.is_everything = divisor == 1
        self._divisor = divisor
        self.lists_made = 0

    def all_numbers(self):
        self.lists_made += 1
        return None if self.is_everything else np.arange(0, 2 * COUNT, self._divisor)

    def numbers_if_few(self, limit):
        return self.all_numbers() if COUNT // self._divisor <= limit else None

    def passing_among(self, numbers):
        return {number for number in numbers if number % self._divisor == 0}


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch):
    monkeypatch.setattr(vectors, "_MAX_COMPARED", 100)
    monkeypatch.setattr(vectors, "_MAX_PASSING_COMPARED", 20)
    monkeypatch.setattr(sign_codes, "_MIN_CANDIDATES", 400)


def _vector(seed):
    """A vector near one of ten centres, as texts are near their subjects."""
    rng = np.random.default_rng(seed)
    centre = np.random.default_rng(seed % 10).normal(size=SIZE)
    return centre + rng.normal(scale=0.7, size=SIZE)


def _rows(numbers, first_sequence=1):
    return [
        (sequence, number, vector_to_code(_vector(number)))
        for sequence, number in enumerate(numbers, first_sequence)
    ]


@pytest.fixture
def file(tmp_path):
    made = CodeFile(tmp_path / "s.codes", SIZE)
    made.rebuild(lambda last: _rows(range(1, COUNT + 1)) if not last else [])
    return made


def _nearest(numbers, query, limit):
    """The right answer, by comparing every code."""
    numbers = np.array(sorted(numbers))
    codes = np.array([np.frombuffer(vector_to_code(_vector(number)), np.int8) for number in numbers.tolist()])
    cosines = cosines_to_codes(query, codes)
    return [int(numbers[place]) for place in np.lexsort((numbers, -cosines))[:limit]]


def _found(file, query, limit, passing, rows=()):
    return [number for number, _ in file.compare(query, lambda _: list(rows), passing).best_items(limit)]


@pytest.mark.parametrize("divisor", [1, 2, 7, 100, 2500], ids=lambda divisor: f"one in {divisor}")
def test_the_nearest_are_found_under_wide_and_narrow_filters(file, divisor):
    wanted, right = 0, 0
    for seed in range(20):
        query = _vector(10_000 + seed)
        expected = _nearest(range(divisor, COUNT + 1, divisor), query, 10)
        found = _found(file, query, 10, Passing(divisor))
        assert all(number % divisor == 0 for number in found)
        assert len(found) == len(expected)
        wanted, right = wanted + len(expected), right + len({*found} & {*expected})
    assert right >= 0.98 * wanted


def test_a_filter_that_many_pass_is_asked_of_the_nearest_alone(file):
    wide, narrow = Passing(2), Passing(500)
    for passing in (wide, narrow):
        comparison = file.compare(_vector(1), lambda _: [], passing)
        comparison.best_items(10)
        comparison.compare_towards_best({}, 0.5, 3).best_items(10)
    assert wide.lists_made == 0
    assert narrow.lists_made == 1


def test_what_nothing_passes_finds_nothing(file):
    assert _found(file, _vector(1), 10, Passing(10_000)) == []


def test_cosines_of_items_are_those_of_their_codes(file):
    query = _vector(3)
    comparison = file.compare(query, lambda _: [], Passing())
    numbers = [1, 17, COUNT, COUNT + 5]
    codes = np.array([np.frombuffer(vector_to_code(_vector(number)), np.int8) for number in numbers[:3]])
    expected = dict(zip(numbers, cosines_to_codes(query, codes).tolist(), strict=False))
    assert comparison.cosines_of_items(numbers) == pytest.approx(expected)


def test_what_is_erased_is_not_found_again(file):
    nearest, *others = _nearest(range(1, COUNT + 1), _vector(5), 10)
    assert _found(file, _vector(5), 10, Passing())[0] == nearest
    CodeFile(file.path, SIZE).erase_codes_of_items([nearest])  # as another process does it
    found = _found(file, _vector(5), 10, Passing())
    assert nearest not in found
    assert found[0] == others[0]
    assert file.compare(_vector(5), lambda _: [], Passing()).cosines_of_items([nearest]) == {}


def test_what_is_added_is_found_and_what_is_replaced_has_its_last_vector(file):
    _found(file, _vector(1), 10, Passing())
    moved, new = (
        (COUNT + 1, 4, vector_to_code(_vector(777_777))),
        (COUNT + 2, COUNT + 1, vector_to_code(_vector(3))),
    )
    file.append_missing_rows(COUNT + 2, lambda last: [row for row in (moved, new) if row[0] > last])
    assert _found(file, _vector(777_777), 10, Passing())[0] == 4
    assert COUNT + 1 in _found(file, _vector(3), 10, Passing())
    assert file.compare(_vector(777_777), lambda _: [], Passing()).cosines_of_items([4])[4] == pytest.approx(
        1.0
    )


def test_rows_that_the_file_lacks_are_compared_too(file):
    fresh = [(COUNT + 1, COUNT + 1, vector_to_code(_vector(888_888)))]
    assert _found(file, _vector(888_888), 10, Passing(), fresh)[0] == COUNT + 1


def test_a_file_that_was_written_anew_is_read_anew(file):
    _found(file, _vector(1), 10, Passing())
    file.rebuild(lambda _: _rows(range(2, COUNT, 2)))
    assert all(number % 2 == 0 for number in _found(file, _vector(1), 10, Passing()))
