"""The labelled states are sound, and the detector does on them what it is meant to."""

from __future__ import annotations

import json

import pytest

from foreword.errors import ValidationError
from foreword.recipes.gap.types import VALID_GAP_REASONS
from foreword_measure.quality import gaps
from foreword_measure.quality.gaps import MIN_PRECISION, MIN_RECALL, OURS, PLAIN, WITH_MODELS, count_guesses


@pytest.fixture(scope="module")
def gap_measures():
    return gaps.measure_gaps()


OWN = ("tune", "held")


def test_half_of_the_states_are_no_gap_and_our_own_halves_know_every_reason():
    states = gaps.read_states()
    assert len(states) >= 400
    assert len({one.id for one in states}) == len(states)
    assert sum(not one.reasons for one in states) >= len(states) / 2
    for half in OWN:
        seen = {reason for one in states if one.half == half for reason in one.reasons}
        assert seen == VALID_GAP_REASONS


HELD = (0.94, 1.0)
"""The least precision and recall on the states that were held back: every lack is heard."""

STRANGERS = 0.06
"""How much worse an unknown writer's words may be judged than ours, at most."""


@pytest.mark.parametrize("half", gaps.HALVES)
@pytest.mark.parametrize("run", [OURS, WITH_MODELS])
def test_gaps_are_noticed_and_nothing_else_is(gap_measures, run, half):
    ours = gap_measures.data["runs"][f"{run}, {half}"]
    least = HELD if half == "held" else (MIN_PRECISION, MIN_RECALL)
    allowed = STRANGERS if half == "blind" else 0.0
    assert ours["precision"] >= least[0] - allowed
    assert ours["recall"] >= least[1] - allowed


def test_the_plain_rule_is_measured_beside_it(gap_measures):
    for half in gaps.HALVES:
        plain = gap_measures.data["runs"][f"{PLAIN}, {half}"]
        assert plain["precision"] < gap_measures.data["runs"][f"{OURS}, {half}"]["precision"]


def test_the_report_has_a_cell_for_every_column_and_is_plain_json(gap_measures):
    for table in gap_measures.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
    json.dumps(gap_measures.as_json())
    assert len(gap_measures.tables[2].rows) == len(gap_measures.data["wrong"])


def test_counts_make_precision_and_recall():
    told = count_guesses([(True, True), (True, False), (False, True), (False, False)])
    assert (told["right"], told["wrong"], told["missed"]) == (1, 1, 1)
    assert told["precision"] == told["recall"] == 0.5
    assert count_guesses([])["precision"] is None


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not JSON"),
        ("[]", "'reasons' must be"),
        ('{"reasons": ["boredom"], "half": "tune", "state": {}}', "'reasons' must be"),
        ('{"reasons": [], "half": "tune", "state": 3}', "'state' must be"),
        ('{"reasons": [], "half": "both", "state": {}}', "'half' must be"),
    ],
)
def test_what_is_wrong_with_a_set_is_said(tmp_path, line, problem):
    path = tmp_path / "gaps.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(ValidationError, match=problem):
        gaps.read_states(path)


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(ValidationError, match="cannot read"):
        gaps.read_states(tmp_path / "absent.jsonl")
