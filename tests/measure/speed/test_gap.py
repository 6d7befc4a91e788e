"""The measurement of gaps: its shape, and that nothing of it stays. No time is asserted."""

from __future__ import annotations

import math

import pytest

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.engine.embedder import TALK
from foreword.errors import ForewordError
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword.spaces.dense import DenseSpace
from foreword.spaces.tokens import TokenEncoder
from foreword.store.base import ListUnembedded, ListWithoutTokenCodes
from foreword_measure.speed import gap
from foreword_measure.speed.corpus import WORKSPACE

SIZE = 30


@pytest.fixture(scope="module")
def gap_report(tmp_path_factory, few_rounds):
    folder, said = tmp_path_factory.mktemp("gap"), []
    with few_rounds():
        tables, facts = gap.measure(folder, (SIZE,), lambda *told: said.append(told))
    return folder, said, tables, facts


@pytest.mark.slow
class TestGap:
    def test_everything_promised_is_measured_beside_its_target(self, gap_report):
        *_, tables, _ = gap_report
        assert [row[0] for row in tables[0].rows] == [name for name, _, _ in gap.ROWS]
        assert all(row[-1] in ("yes", "no") for row in tables[0].rows)

    def test_every_row_has_numbers(self, gap_report):
        *_, tables, _ = gap_report
        for table in tables:
            for row in table.rows:
                assert len(row) == len(table.columns)
                assert all(math.isfinite(cell) for cell in row if isinstance(cell, int | float))

    def test_every_gap_was_seen_and_filled(self, gap_report):
        *_, facts = gap_report
        assert facts["times"]["new messages: ask"]["count"] == facts["times"]["no gap"]["count"]

    def test_nothing_stays_on_the_disk(self, gap_report):
        folder, *_ = gap_report
        assert not any(folder.iterdir())

    def test_progress_is_told_to_the_end(self, gap_report):
        _, said, *_ = gap_report
        for label in (f"gap: fill {SIZE}", f"gap: ask {SIZE}"):
            last = [told for told in said if told[0] == label][-1]
            assert last[1] == last[2] > 0


def test_nothing_is_left_to_encode_while_gaps_are_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(gap, "send", lambda **_: None)
    gap.fill(tmp_path, SIZE)
    space, tokens = DenseSpace(BundledEmbeddingProvider()), TokenEncoder()
    with ContextEngine(settings=Settings(home=tmp_path, embedding="none")) as engine:
        assert engine.store.run(ListUnembedded(WORKSPACE, space.name, space.digest, SIZE)) == ()
        assert engine.store.run(ListWithoutTokenCodes(WORKSPACE, tokens.digest, SIZE, TALK)) == ()
        assert engine.count(WORKSPACE).items == SIZE


def test_a_child_that_fails_is_an_error_that_says_so(tmp_path):
    (tmp_path / "gap").write_text("a file where a folder should be")
    with pytest.raises(ForewordError, match=r"fill .* failed: its process ended"):
        gap.measure(tmp_path, (10,), lambda *_: None)
