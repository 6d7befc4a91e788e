"""The measurement of assemblies: its shape, and that nothing of it stays. No time is asserted."""

from __future__ import annotations

import math

import pytest

from foreword.errors import ForewordError
from foreword.knowledge.experience import read_experience
from foreword_measure.speed import assemble, bench

SIZE = 40


@pytest.fixture(scope="module")
def assemble_report(tmp_path_factory, few_rounds):
    folder, said = tmp_path_factory.mktemp("assemble"), []
    with pytest.MonkeyPatch.context() as patch, few_rounds():
        patch.setenv("TMPDIR", str(folder))
        report = bench(("assemble",), (SIZE,), lambda *told: said.append(told))
    return folder, said, report


@pytest.mark.slow
class TestAssemble:
    def test_everything_promised_is_measured_beside_its_target(self, assemble_report):
        *_, report = assemble_report
        table = next(
            table for table in report.tables if table.title.startswith(f"Assembling from {SIZE} items")
        )
        assert [row[0] for row in table.rows] == [name for name, _, _ in assemble.ROWS]
        assert all(row[-1] in ("yes", "no") for row in table.rows)

    def test_every_row_has_numbers(self, assemble_report):
        *_, report = assemble_report
        for table in report.tables:
            for row in table.rows:
                assert len(row) == len(table.columns)
                assert all(math.isfinite(cell) for cell in row if isinstance(cell, int | float))

    def test_contexts_were_made_of_something(self, assemble_report):
        *_, report = assemble_report
        times = report.data["assemble"]["times"]
        assert times["assemble_context: items"]["p50"] > 5
        assert times["get_premortem_context: items"]["p50"] >= 1
        assert {"assemble_context: gather", "assemble_context: arrange"} <= set(times)

    def test_nothing_stays_on_the_disk(self, assemble_report):
        folder, *_ = assemble_report
        assert not any(folder.iterdir())

    def test_progress_is_told_to_the_end(self, assemble_report):
        _, said, _ = assemble_report
        for label in (f"assemble: fill {SIZE}", f"assemble: ask {SIZE}"):
            last = [told for told in said if told[0] == label][-1]
            assert last[1] == last[2] > 0


def test_the_made_up_experiences_can_be_read_as_such():
    items = [assemble._make_item(at) for at in range(10)]
    assert [item.kind for item in items[:5]] == ["memory", "code", "experience", "value", "commit"]
    lived = read_experience(items[2])
    assert lived is not None
    assert items[2].type == f"{lived.domain}/{lived.strategy}/{lived.status}"


def test_a_child_that_fails_is_an_error_that_says_so(tmp_path):
    (tmp_path / "assemble").write_text("a file where a folder should be")
    with pytest.raises(ForewordError, match=r"fill .* failed: its process ended"):
        assemble.measure(tmp_path, (10,), lambda *_: None)
