"""What an agent says itself is told from what it shows, and JSON is read field by field."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.recipes.gap.message_text import MAX_SENTENCE_CHARACTERS, sentences_in_own_words


def test_a_message_is_split_into_sentences_without_its_markup():
    text = "## Open\n\n- [ ] Which port?\n- The **ticket** is silent.\n\nIt was closed at 10.30 by Dr. Berg."
    assert sentences_in_own_words(text) == (
        "Open", "Which port?", "The ticket is silent.", "It was closed at 10.30 by Dr. Berg.",
    )  # fmt: skip


@pytest.mark.parametrize(
    "shown",
    [
        "2026-05-04T10:00:00Z cannot determine which region to use",
        "[10:00:01] missing context",
        "ERROR missing context: tenant",
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\nKeyError: unclear which key',
        "FAILED tests/test_a.py::test_b - which one?",
        "$ grep -r which .",
        "> Which port?",
        "```\nwhich port?\n```",
    ],
)
def test_what_is_only_shown_is_left_out(shown):
    assert sentences_in_own_words(f"It failed.\n\n{shown}\n\nIt runs again.") == (
        "It failed.",
        "It runs again.",
    )


def test_json_is_read_field_by_field():
    value = {
        "openQuestions": ["Which port?"],
        "note": {"text": "Done."},
        "needs_help": True,
        "count": 3,
        "x": None,
    }
    expected = ("open questions: Which port?", "text: Done.", "needs help")
    assert sentences_in_own_words(json.dumps(value)) == expected
    assert sentences_in_own_words(f"```json\n{json.dumps(value)}\n```") == expected


def test_a_question_beside_its_answer_or_its_options_is_left_out():
    asked = {"question": "Which port?"}
    assert (
        sentences_in_own_words(json.dumps([{**asked, "answer": "8080"}, {**asked, "options": ["a", "b"]}]))
        == ()
    )
    assert sentences_in_own_words(json.dumps({**asked, "answer": ""})) == ("question: Which port?",)


def test_what_only_looks_like_json_is_text():
    assert sentences_in_own_words("{not json}") == ("{not json}",)


def test_a_sentence_is_read_from_its_end():
    assert len(sentences_in_own_words("word " * 1000)[0]) <= MAX_SENTENCE_CHARACTERS


@given(st.text(max_size=200))
def test_any_text_is_read(text):
    assert all(sentences_in_own_words(text))


@pytest.mark.parametrize("bait", ["{", "[", '{"a":', "```json\n{", "ERROR ", "at a(", "**", "- [ ] ", "| "])
def test_no_text_makes_reading_slow(bait):
    started = time.thread_time()
    sentences_in_own_words((bait * 8000)[:8000])
    assert time.thread_time() - started < 1
