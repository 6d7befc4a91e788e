"""An item that is too long: cut to its tokens, whole in form, and saying where the rest is."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.compose.assembled import DISPENSABLE_LINES
from foreword.compose.assembly import shorten_markdown
from foreword.compose.quoting import escape_markdown_in_prose, fence_code
from foreword.text.tokens import TiktokenTokenizer

TOKENS = TiktokenTokenizer()
NOTE = "*(truncated, see full at shop/holds.py:12)*"
CODE = "**function** `f` in `a.py:1`\n" + fence_code(
    "def f():\n" + "    call_something(again)\n" * 80, "python"
)


def fences(text):
    """What is open at the end of a text, read as Markdown reads it."""
    opened = None
    for found in re.findall(r"^`{3,}", text, re.MULTILINE):
        if opened is None:
            opened = found
        elif len(found) >= len(opened):
            opened = None
    return opened


def test_what_fits_is_left_alone():
    assert shorten_markdown("short", 10, NOTE, TOKENS) == "short"


def test_a_long_text_ends_between_words_and_says_where_the_rest_is():
    short = shorten_markdown("word " * 400, 60, NOTE, TOKENS)
    assert TOKENS.count(short) <= 60
    assert short.endswith(f"word...\n\n{NOTE}")


@pytest.mark.parametrize("tokens", range(24, 200, 7))
def test_a_cut_inside_a_fence_closes_it(tokens):
    short = shorten_markdown(CODE, tokens, NOTE, TOKENS)
    assert fences(short) is None
    assert TOKENS.count(short) <= tokens
    assert NOTE in short


def test_code_is_cut_between_lines():
    body = shorten_markdown(CODE, 120, NOTE, TOKENS).split("```python\n")[1]
    assert body.startswith("def f():\n    call_something(again)\n")
    assert "call_something(again)\n...\n```\n\n" in body


def test_a_list_loses_a_little_of_every_line_and_none_of_them():
    long = "words that go on " * 30
    names = ("Goal", "Hypothesis", "Action", "Prediction", "Outcome", "Surprise", "Lesson")
    story = "**Experience**: debugging | ask-user\n" + "\n".join(f"- **{name}**: {long}" for name in names)
    short = shorten_markdown(story, 160, NOTE, TOKENS)
    assert TOKENS.count(short) <= 160
    assert all(f"- **{name}**: words" in short for name in names)
    assert short.endswith(NOTE)


LONG = "words that go on " * 30
NAMES = ("Goal", "Hypothesis", "Action", "Prediction", "Outcome", "Surprise", "Lesson", "Root cause")
STORY = "**Experience**: debugging | ask-user\n" + "\n".join(f"- **{name}**: {LONG}" for name in NAMES)


def names_in(text):
    return re.findall(r"^- \*\*(.*?)\*\*: words", text, re.MULTILINE)


@pytest.mark.parametrize("tokens", range(60, 400, 9))
def test_what_can_be_spared_goes_before_what_it_is_told_for_and_that_says_something(tokens):
    short = shorten_markdown(STORY, tokens, NOTE, TOKENS, DISPENSABLE_LINES)
    assert TOKENS.count(short) <= tokens
    assert {"Outcome", "Surprise", "Root cause"} <= set(names_in(short))
    assert all(len(line) > 40 for line in short.split("\n") if line.startswith("- "))


def test_what_is_missed_least_goes_first():
    lost = [
        next(
            iter(
                set(NAMES) - set(names_in(shorten_markdown(STORY, tokens, NOTE, TOKENS, DISPENSABLE_LINES)))
            ),
            None,
        )
        for tokens in range(250, 150, -1)
    ]
    assert next(filter(None, lost)) == "Action"
    few = [
        names_in(shorten_markdown(STORY, tokens, NOTE, TOKENS, DISPENSABLE_LINES))
        for tokens in (200, 140, 110)
    ]
    assert all(set(less) < set(more) for more, less in itertools.pairwise(few))


def test_the_note_goes_before_a_line_does_that_cannot_be_spared():
    short = shorten_markdown(STORY, 50, NOTE, TOKENS, DISPENSABLE_LINES)
    assert names_in(short) == ["Outcome", "Surprise", "Root cause"]
    assert NOTE not in short


@pytest.mark.parametrize("tokens", range(24, 46, 3))
def test_with_hardly_any_room_it_is_the_outcome_that_is_begun(tokens):
    short = shorten_markdown(STORY, tokens, NOTE, TOKENS, DISPENSABLE_LINES)
    assert TOKENS.count(short) <= tokens
    assert short.split("\n")[1].startswith("- **Outcome**")


def test_a_line_of_ours_is_there_whole_or_not_at_all():
    commit = (
        "**Commit** `abc` by Priya\nTake the lock\n*Files: " + "some/long/path/to/a/file.py, " * 9 + "...*"
    )
    short = shorten_markdown(commit, 60, NOTE, TOKENS)
    assert short == f"**Commit** `abc` by Priya\nTake the lock...\n\n{NOTE}"


def test_with_no_room_for_a_note_there_is_none():
    short = shorten_markdown("word " * 100, 8, NOTE, TOKENS)
    assert TOKENS.count(short) <= 8
    assert "truncated" not in short


@given(
    st.text(max_size=400) | st.text(st.sampled_from("a `\n"), max_size=400),
    st.booleans(),
    st.integers(20, 120),
)
def test_whatever_is_cut_is_within_its_tokens_whole_in_form_and_text(text, code, tokens):
    item = (
        f"**Memory**: {escape_markdown_in_prose(text, after_label=True)}"
        if not code
        else "**code**\n" + fence_code(text)
    )
    short = shorten_markdown(item, tokens, NOTE, TOKENS)
    assert TOKENS.count(short) <= max(tokens, 12)
    assert fences(short) is None
    assert short.encode().decode() == short
