"""ROUGE against values that were worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword_measure.quality.rouge import MEASURES, scores

texts = st.text(st.sampled_from("ab c.D"), max_size=30)


def triple(measured, name):
    one = measured[name]
    return pytest.approx((one.precision, one.recall, one.f1))


def test_one_pair_worked_out_by_hand():
    # ours:   the cat sat on the mat        6 words, 5 pairs
    # theirs: the cat was on the old mat    7 words, 6 pairs
    measured = scores("The cat sat on the mat.", "the cat was on the old mat")
    # the ×2, cat, on, mat
    assert triple(measured, "ROUGE-1") == (5 / 6, 5 / 7, 10 / 13)
    # the cat; on the
    assert triple(measured, "ROUGE-2") == (2 / 5, 2 / 6, 4 / 11)
    # the cat … on the … mat
    assert triple(measured, "ROUGE-L") == (5 / 6, 5 / 7, 10 / 13)


def test_order_counts_for_the_longest_sequence_only():
    measured = scores("police killed the gunman", "the gunman killed police")
    assert triple(measured, "ROUGE-1") == (1, 1, 1)
    assert triple(measured, "ROUGE-2") == (1 / 3, 1 / 3, 1 / 3)
    assert triple(measured, "ROUGE-L") == (2 / 4, 2 / 4, 2 / 4)


def test_a_word_counts_as_often_as_both_have_it():
    assert triple(scores("no no no no", "no no yes"), "ROUGE-1") == (2 / 4, 2 / 3, 4 / 7)


def test_words_are_letters_and_digits_in_lower_case_and_not_stemmed():
    assert scores("#Person1#: It's 3:30!", "person1 it s 3 30")["ROUGE-L"].f1 == 1
    assert scores("asks", "asked")["ROUGE-1"].f1 == 0


@pytest.mark.parametrize(("told", "wanted"), [("", ""), ("", "a b"), ("a b", ""), ("…", "!")])
def test_nothing_shares_nothing(told, wanted):
    assert {one.f1 for one in scores(told, wanted).values()} == {0.0}


@given(texts, texts)
def test_measures_lie_between_nothing_and_all_and_swap_sides(one, other):
    there, back = scores(one, other), scores(other, one)
    for name in MEASURES:
        assert 0 <= there[name].f1 <= 1
        assert there[name].precision == back[name].recall
    assert there["ROUGE-L"].f1 <= there["ROUGE-1"].f1 + 1e-12
