"""What a turn does is told by its words; after a question, a statement is an answer."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.knowledge.speech_acts import classify_speech_act
from foreword.types import SpeechAct


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("Where do you live?", "question"),
        ("did you push the branch", "question"),
        ("Would you like some tea?", "question"),
        ("Could you send me the file?", "request"),
        ("Hi can you help me", "request"),
        ("Rename the column.", "request"),
        ("How about pizza tonight?", "suggestion"),
        ("We decided to use Postgres.", "decision"),
        ("Let's go with the second option.", "decision"),
        ("I'll send it tonight.", "promise"),
        ("Sounds good.", "agreement"),
        ("Yes", "agreement"),
        ("I'd rather not.", "refusal"),
        ("Sorry, but that is full.", "refusal"),
        ("Sorry, I meant Anna.", "correction"),
        ("Hi Anna", "greeting"),
        ("Thanks a lot!", "thanks"),
        ("I am really sorry.", "apology"),
        ("I'm sorry to hear that.", "statement"),
        ("Anna lives in Berlin.", "statement"),
        ("Hi, Anna lives in Berlin.", "statement"),
    ],
)
def test_a_turn_does_what_its_words_show(text, act):
    assert classify_speech_act(text) == act


@pytest.mark.parametrize("text", ["", "  \n", "?!", "…"])
def test_a_turn_without_words_does_nothing(text):
    assert classify_speech_act(text) is None


def test_only_after_a_question_is_there_an_answer():
    assert classify_speech_act("In Berlin.", after="question") == "answer"
    assert classify_speech_act("Yes, in Berlin.", after="question") == "answer"
    assert classify_speech_act("In Berlin.", after="statement") == "statement"
    assert classify_speech_act("Why do you ask?", after="question") == "question"


@given(st.text() | st.lists(st.sampled_from(["yes ", "hi ", "ok, ", "sorry "]), max_size=300).map("".join))
def test_any_text_does_something_known_or_nothing(text):
    assert classify_speech_act(text) in (None, *get_args(SpeechAct))
