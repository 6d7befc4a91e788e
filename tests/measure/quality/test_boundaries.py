from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword_measure.quality import boundaries
from foreword_measure.quality.boundaries import Tally

PLACES = st.lists(st.booleans(), min_size=2, max_size=30)


def places(written):
    return [mark == "|" for mark in written]


def test_precision_recall_and_f_by_hand():
    counted = boundaries.tally_guesses([places("|..|"), places("|")], [places("|...|"[:4]), places("|")])
    assert counted == Tally(right=2, guessed=3, true=2)
    assert (counted.precision, counted.recall) == (pytest.approx(2 / 3), 1.0)
    assert counted.f_score(1) == pytest.approx(0.8)
    assert counted.f_score(0.5) == pytest.approx(1.25 * (2 / 3) / (0.25 * 2 / 3 + 1))


def test_who_guesses_nothing_has_no_precision_and_no_f():
    counted = boundaries.tally_guesses([places("..")], [places(".|")])
    assert (counted.precision, counted.recall, counted.f_score(1)) == (None, 0.0, 0.0)
    assert boundaries.tally_guesses([places("..")], [places("..")]).recall is None


def test_a_window_is_half_a_mean_segment():
    assert boundaries.window_size(places("...|...")) == 2  # eight turns in two segments
    assert boundaries.window_size(places("." * 19)) == 10
    assert boundaries.window_size(places("|||")) == 2


def test_pk_and_window_diff_by_hand():
    # Windows of two places. Truth 0 1 1 0 0 0, guess 0 0 1 1 0 0: they differ in two of six.
    truth, guess = places("..|...."), places("...|...")
    assert boundaries.pk(guess, truth) == pytest.approx(2 / 6)
    assert boundaries.window_diff(guess, truth) == pytest.approx(2 / 6)
    # One boundary too many in the same window is nothing to Pk.
    assert boundaries.pk(places("..||..."), truth) == pytest.approx(1 / 6)
    assert boundaries.window_diff(places("..||..."), truth) == pytest.approx(2 / 6)


def test_a_dialogue_shorter_than_its_window_says_nothing():
    assert boundaries.pk(places("|"), places("|")) is None
    assert boundaries.window_diff([], []) is None


@given(PLACES)
def test_the_truth_itself_is_the_best_guess(truth):
    assert boundaries.pk(truth, truth) in (0.0, None)
    assert boundaries.window_diff(truth, truth) in (0.0, None)


@given(PLACES, PLACES)
def test_window_diff_is_never_kinder_than_pk(guess, truth):
    guess = (guess * 20)[: len(truth)]
    one, other = boundaries.pk(guess, truth), boundaries.window_diff(guess, truth)
    assert one is other is None or one <= other


def test_the_area_under_the_curve_by_hand():
    assert boundaries.roc_auc([0.9, 0.8, 0.1], places("||.")) == 1.0
    assert boundaries.roc_auc([0.1, 0.8, 0.9], places("||.")) == 0.0
    assert boundaries.roc_auc([0.5, 0.5, 0.5, 0.5], places("|..|")) == 0.5
    assert boundaries.roc_auc([0.9, 0.5, 0.5, 0.1], places("||..")) == pytest.approx(3.5 / 4)
    assert boundaries.roc_auc([0.9, 0.5], places("..")) is None


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40))
def test_no_threshold_beats_the_best_cut(judged):
    scores, truth = [score for score, _ in judged], [true for _, true in judged]

    def f_score(cut):
        return boundaries.tally_guesses([[score >= cut for score in scores]], [truth]).f_score(0.5)

    assert f_score(boundaries.best_threshold(scores, truth, 0.5)) == pytest.approx(max(map(f_score, scores)))


def test_an_interval_holds_the_value_and_is_the_same_every_time():
    truths = [places("..|..|.|")] * 30
    guesses = [places("..|....." if number % 2 else "..|..|..") for number in range(30)]
    low, high = boundaries.confidence_interval(guesses, truths, lambda counted: counted.recall)
    assert boundaries.confidence_interval(guesses, truths, lambda counted: counted.recall) == (low, high)
    assert 0.33 < low < 0.5 < high < 0.67
    assert boundaries.confidence_interval(guesses[:1], truths[:1], lambda counted: counted.recall) is None
