"""The SQLite engine keeps the contract; and the suite that says so catches an engine that does not."""

from __future__ import annotations

from dataclasses import replace
from unittest import SkipTest

import pytest

from foreword.store.base import Search
from foreword.store.conformance import BrowsingTests, StoreConformance, views
from foreword.store.conformance.suite import Suite
from foreword.store.database import Limits
from foreword.store.sqlite import SqliteStore
from foreword.types import Note, TypoProbe


class TestSqliteStore(StoreConformance, BrowsingTests):
    receipt_bytes = 50_000

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path):
        self.place = tmp_path / "data"

    def open_store(self):
        return SqliteStore(self.place, views, Limits(receipt_bytes=self.receipt_bytes))


class StoreWithoutTypos(SqliteStore):
    """An engine that cannot look for misspelt words."""

    def batch(self, operations):
        return [self._answer(operation) for operation in operations]

    def _answer(self, operation):
        if not isinstance(operation, Search):
            return super().batch([operation])[0]
        typos = [probe for probe in operation.probes if isinstance(probe, TypoProbe)]
        others = tuple(probe for probe in operation.probes if probe not in typos)
        found = super().batch([replace(operation, probes=others)])[0]
        notes = (Note(probe.space, "failed: this engine does not look for misspelt words") for probe in typos)
        return replace(found, notes=(*found.notes, *notes))


@pytest.fixture
def suite(tmp_path):
    """The suite as an engine without typos runs it."""

    class OfTypos(StoreConformance):
        def open_store(self):
            return StoreWithoutTypos(tmp_path, views)

    suite = OfTypos()
    yield suite
    suite.teardown_method()


def test_a_probe_that_the_engine_lacks_is_found_out_unless_the_engine_says_so(suite):
    with pytest.raises(AssertionError):
        suite.test_a_probe_that_the_engine_does_not_support_is_a_note_and_the_others_answer()
    suite.unsupported = frozenset({TypoProbe})
    suite.test_a_probe_that_the_engine_does_not_support_is_a_note_and_the_others_answer()


def test_what_needs_a_probe_that_the_engine_lacks_is_skipped_and_the_rest_is_not(suite):
    suite.unsupported = frozenset({TypoProbe})
    suite.test_a_limit_holds_for_each_probe()
    with pytest.raises(SkipTest, match="TypoProbe"):
        suite.test_a_misspelt_word_finds_what_was_meant_and_a_known_one_needs_no_guess()


def test_no_subject_hides_the_tests_of_another():
    tests = [name for part in StoreConformance.__mro__ for name in vars(part) if name.startswith("test")]
    assert len(tests) == len(set(tests)) > 95
    assert all(issubclass(part, Suite) for part in StoreConformance.__bases__)
