from __future__ import annotations

import pytest

from foreword.compose.history import Summary, summarise
from foreword.types import Turn

TURNS = [Turn("The oven is broken."), Turn("Noted.", "assistant")]


class Says:
    """A summarizer that gives what it was given, or raises it."""

    def __init__(self, answer):
        self.answer = answer

    def summarize(self, turns, max_tokens):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def test_what_a_summarizer_tells_is_told():
    assert summarise(Says("The oven is broken."), TURNS, 20) == Summary("The oven is broken.")


def test_halves_of_characters_are_not_told():
    assert summarise(Says("oven \ud83d"), TURNS, 20).text == "oven "


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (RuntimeError("the model is down"), "RuntimeError: the model is down"),
        (TimeoutError("late"), "TimeoutError: late"),
        (None, "the summarizer gave NoneType, not text"),
        (b"bytes", "the summarizer gave bytes, not text"),
    ],
)
def test_one_that_fails_tells_nothing_and_the_log_says_why(answer, problem, caplog):
    assert summarise(Says(answer), TURNS, 20) == Summary("", problem)
    assert problem in caplog.text


def test_whoever_interrupts_is_not_held_up():
    with pytest.raises(KeyboardInterrupt):
        summarise(Says(KeyboardInterrupt()), TURNS, 20)
