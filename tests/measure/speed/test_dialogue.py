"""The measurement of a conversation: its shape, and that nothing of it stays. No time is asserted."""

from __future__ import annotations

import math

import pytest

from foreword.errors import ForewordError
from foreword_measure.speed import dialogue

SIZE = 40


@pytest.fixture(scope="module")
def dialogue_report(tmp_path_factory, few_rounds):
    folder, said = tmp_path_factory.mktemp("dialogue"), []
    with few_rounds():
        tables, facts = dialogue.measure(folder, (SIZE,), lambda *told: said.append(told))
    return folder, said, tables, facts


@pytest.mark.slow
class TestMeasuring:
    def test_everything_promised_is_measured_beside_its_target(self, dialogue_report):
        *_, tables, facts = dialogue_report
        assert tables[0].title.startswith(f"A conversation of 4 turns, {SIZE} chunks")
        assert [row[0] for row in tables[0].rows] == [name for name, _, _ in dialogue.ROWS]
        assert [row[-1] in ("yes", "no") for row in tables[0].rows] == [
            target is not None for _, _, target in dialogue.ROWS
        ]
        assert (facts["chunks"], facts["turns"]) == (SIZE, 4)

    def test_every_row_has_numbers(self, dialogue_report):
        *_, tables, _ = dialogue_report
        for table in tables:
            assert table.rows
            for row in table.rows:
                assert len(row) == len(table.columns)
                assert all(math.isfinite(cell) for cell in row if isinstance(cell, int | float))

    def test_prompts_were_made_of_every_part(self, dialogue_report):
        *_, facts = dialogue_report
        held = facts["prompts"]
        assert held["tokens"]["max"] <= 4096
        assert [name for name in held if not held[name]["max"]] in ([], ["entities"])
        stages = {"inject: resolve", "inject: recall", "inject: retrieve", "inject: word", "inject: compress"}
        assert stages <= set(facts["times"])

    def test_nothing_stays_on_the_disk(self, dialogue_report):
        folder, *_ = dialogue_report
        assert not any(folder.iterdir())

    def test_progress_is_told_to_the_end(self, dialogue_report):
        _, said, *_ = dialogue_report
        for label in (f"dialogue: fill {SIZE}", f"dialogue: ask {SIZE}"):
            last = [told for told in said if told[0] == label][-1]
            assert last[1] == last[2] > 0


def test_a_chunk_says_which_document_it_is_of():
    first, other = dialogue._make_chunk(0), dialogue._make_chunk(20)
    assert (first.kind, first.metadata["title"]) == ("document", "Document 0")
    assert other.source.name == "document:1"


def test_speakers_take_turns():
    assert [dialogue._make_turn(at).role for at in range(4)] == ["user", "assistant"] * 2


def test_a_child_that_fails_is_an_error_that_says_so(tmp_path):
    (tmp_path / "dialogue").write_text("a file where a folder should be")
    with pytest.raises(ForewordError, match=r"fill .* failed: its process ended"):
        dialogue.measure(tmp_path, (10,), lambda *_: None)
