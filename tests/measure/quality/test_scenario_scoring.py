"""Each measure of a scenario's answers means what its definition says."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from foreword_measure.quality.scenarios.reading import Answer, Ask, Scenario
from foreword_measure.quality.scenarios.scoring import MEASURES, mean_measures, score_answer, score_scenario

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
OLD, NEW = ("hold it 12 minutes",), ("15 minutes", "HOLD = 15")


def _ask(name="a", at=NOW, session="s", **facts):
    return Ask(name, at, session, "how long?", **facts)


def _scenario(*asks, recipe="coding"):
    return Scenario("x", "", "en", recipe, (), asks)


def _score(ask, *pieces, recipe="coding", shown="", alert=None):
    answer = Answer(ask.id, "\n".join(pieces), pieces, alert)
    return score_answer(_scenario(ask, recipe=recipe), ask, answer, shown)


def _measures(ask, *pieces, **how):
    return _score(ask, *pieces, **how).measures


def test_found_is_the_share_of_the_needed_facts_in_any_of_their_wordings():
    ask = _ask(needs=(NEW, ("by mail",), ("Marta", "the owner")))
    score = _score(ask, "- hold  =\n 15", "- the OWNER decides")
    assert score.measures["found"] == pytest.approx(2 / 3)
    assert score.missed == ("by mail",)
    assert _measures(_ask(), "- whatever")["found"] == 1.0


def test_what_an_earlier_ask_of_the_same_coding_session_was_given_is_found():
    asks = (
        _ask("first", needs=(NEW,)),
        _ask("again", NOW + timedelta(minutes=1), needs=(NEW,)),
        _ask("elsewhere", NOW + timedelta(minutes=2), "other", needs=(NEW,)),
    )
    answers = {ask.id: Answer(ask.id) for ask in asks} | {"first": Answer("first", "- 15 minutes")}
    for recipe, found in (("coding", [1.0, 1.0, 0.0]), ("chat", [1.0, 0.0, 0.0])):
        scores = score_scenario(_scenario(*asks, recipe=recipe), answers)
        assert [score.measures["found"] for score in scores] == found


def test_a_forbidden_fact_is_stale_unless_its_piece_tells_what_holds():
    ask = _ask(needs=(NEW,), forbids=(OLD,))
    assert _measures(ask, "- hold it 12 minutes", "- 15 minutes")["stale"] == 1.0
    assert _measures(ask, "- no, 15 minutes; hold it 12 minutes was the phone")["stale"] == 0.0
    assert _measures(ask, "- 15 minutes")["stale"] == 0.0
    assert _score(ask, "- hold it 12 minutes").told == OLD
    assert "stale" not in _measures(_ask(needs=(NEW,)), "- hold it 12 minutes")


def test_a_text_without_pieces_is_judged_line_by_line():
    ask = _ask(needs=(NEW,), forbids=(OLD,))
    answer = Answer("a", "hold it 12 minutes\n\n15 minutes, that is\n")
    assert score_answer(_scenario(ask), ask, answer).measures["stale"] == 1.0


def test_in_a_dialogue_what_was_said_first_may_stand_before_what_holds():
    ask = _ask(needs=(NEW,), forbids=(OLD,))
    first, then = "User: hold it 12 minutes", "User: no, 15 minutes"
    assert _measures(ask, first, then, recipe="dialogue")["stale"] == 0.0
    assert _measures(ask, then, first, recipe="dialogue")["stale"] == 1.0
    assert _measures(ask, first, recipe="dialogue")["stale"] == 1.0


def test_whole_takes_every_needed_fact_and_no_forbidden_one():
    ask = _ask(needs=(NEW, ("by mail",)), forbids=(OLD,))
    assert _measures(ask, "- 15 minutes", "- by mail")["whole"] == 1.0
    assert _measures(ask, "- 15 minutes")["whole"] == 0.0
    assert _measures(ask, "- 15 minutes", "- by mail", "- hold it 12 minutes")["whole"] == 0.0


def test_noise_is_the_share_of_tokens_in_pieces_that_neither_need_nor_help_holds():
    ask = _ask(needs=(NEW,), helps=(("Ife",),))
    assert _measures(ask, "15 minutes!", "Ife", "12345678")["noise"] == pytest.approx(2 / 6)
    assert "noise" not in _measures(ask)


def test_silence_counts_where_nothing_should_be_said_and_nothing_else_does():
    ask = _ask(silent=True)
    assert _measures(ask) == {"silent": 1.0}
    assert _measures(ask, "- something") == {"silent": 0.0}
    assert _measures(ask, " \n") == {"silent": 1.0}
    forbidding = _ask(silent=True, forbids=(OLD,))
    assert _measures(forbidding, "- hold it 12 minutes") == {"silent": 0.0, "stale": 1.0}


def test_tokens_are_four_characters_each_begun_one_counted():
    assert _measures(_ask(), "12345")["tokens"] == 2
    assert _measures(_ask())["tokens"] == 0


@pytest.mark.parametrize(
    ("wanted", "given", "right"),
    [(True, True, 1.0), (True, False, 0.0), (False, True, 0.0), (False, False, 1.0)],
)
def test_alerts_are_right_where_they_are_given_as_wanted(wanted, given, right):
    assert _measures(_ask(alert=wanted), "x", alert=given)["alerts"] == right


def test_alerts_do_not_count_where_either_will_do_or_none_can_be_given():
    assert "alerts" not in _measures(_ask(), "x", alert=True)
    assert "alerts" not in _measures(_ask(alert=True), "x")


def test_a_mean_is_over_the_asks_to_which_the_measure_applies():
    quiet, asked = _ask(silent=True), _ask(needs=(NEW,))
    means = mean_measures([_score(quiet), _score(asked, "15 minutes"), _score(asked)])
    assert (means["silent"], means["found"], means["stale"]) == (1.0, 0.5, None)
    assert means["tokens"] == 1.5


def test_every_measure_of_the_definitions_is_there(scenario_data):
    """The table of measures in the README beside the scenarios names the same ones."""
    text = (scenario_data / "README.md").read_text(encoding="utf-8")
    table = text.partition("| measure | meaning |")[2].partition("\n\n")[0]
    assert tuple(re.findall(r"^\| (\w+) \|", table, re.MULTILINE)) == MEASURES
