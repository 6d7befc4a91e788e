from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.spaces.dense import question_texts_to_encode
from foreword.text.dates import find_before_or_after_event


@given(st.text(max_size=200))
def test_every_question_has_a_text_to_encode(text):
    assert question_texts_to_encode(text)


def test_a_long_question_is_its_title_as_much_as_the_whole():
    text = "Login fails after upgrade\n" + "Traceback and more. " * 30
    assert question_texts_to_encode(text) == ("Login fails after upgrade", text.strip())


def test_the_name_of_a_language_is_one_angle_of_two():
    assert question_texts_to_encode("python check if a list is empty") == (
        "python check if a list is empty",
        "check if a list is empty",
    )
    assert question_texts_to_encode("sort a dict in Python 3") == ("sort a dict in Python 3", "sort a dict")


@pytest.mark.parametrize("text", ["which database do we use", "python", "monty pythons", ""])
def test_other_questions_have_one_angle(text):
    assert question_texts_to_encode(text) == (text,)


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("what did we decide before the migration?", ("before", ("migration",))),
        ("which errors came after our Postgres upgrade", ("after", ("postgres", "upgrade"))),
        ("everything since the release of 2.0.", ("after", ("release", "2", "0"))),
        ("before lunch", None),
        ("the day after", None),
        ("which database do we use", None),
    ],
)
def test_the_event_a_question_is_before_or_after(text, event):
    assert find_before_or_after_event(text) == event
