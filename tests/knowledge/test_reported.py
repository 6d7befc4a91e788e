from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.knowledge.reported import is_english, reported, without_openers


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I need to stop eating sweets.", "Ann needs to stop eating sweets."),
        ("I'm late, you're early.", "Ann is late, Bob is early."),
        ("I've seen it and I'll go.", "Ann has seen it and Ann will go."),
        ("Do you want my book?", "Does Bob want Ann's book?"),
        ("I really think you should ask me.", "Ann really thinks Bob should ask Ann."),
        ("I don't know where your keys are.", "Ann doesn't know where Bob's keys are."),
        ("It is mine, not yours.", "It is Ann's, not Bob's."),
        ("World peace is nice.", "World peace is nice."),
    ],
)
def test_pronouns_become_names(said, told):
    assert reported(said, "Ann", "Bob") == told


def test_without_a_known_listener_you_stays_you():
    assert (
        reported("I want you to go. Are you ready? Your turn.", "Ann")
        == "Ann wants you to go. Are you ready? Your turn."
    )


def test_a_name_is_text_and_nothing_else():
    assert reported("I need my cup.", r"\1 $x", "") == r"\1 $x needs \1 $x's cup."


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Well, yes, I think the port is wrong.", "The port is wrong."),
        ("So, we deploy on Tuesday.", "We deploy on Tuesday."),
        ("Thanks for the chicken.", "Thanks for the chicken."),
        ("Oh, right.", "Oh, right."),
    ],
)
def test_openers_go_if_a_sentence_is_left(said, told):
    assert without_openers(said) == told


def test_english_is_told_from_other_languages():
    assert is_english("I think that we should not do this before the tests are green.")
    assert not is_english("I ragazzi mangiano la pizza mentre piove forte fuori.")
    assert not is_english("")


@given(st.text(), st.text(max_size=10), st.text(max_size=10))
def test_any_sentence_can_be_reported(said, speaker, listener):
    assert isinstance(reported(without_openers(said), speaker, listener), str)
