"""A text that is too long: both ends stay, what is asked for stays, and a mark says what is missing."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.compose.cutting import MIN_CUT_TOKENS, extract_search_words, fits_within, shorten_text

MARK = re.compile(r" \[… ([\d,]+) characters left out …\] ")


def test_what_fits_is_left_alone(tokens):
    assert shorten_text("short", 10, tokens) == "short"


def test_the_beginning_and_the_end_stay_and_the_mark_says_how_much_is_missing(tokens):
    text = "It begins here. " + "More and more. " * 300 + "It ends here."
    short = shorten_text(text, 60, tokens)
    assert tokens.count(short) <= 60
    head, missing, tail = MARK.split(short)
    assert head.startswith("It begins here.")
    assert tail.endswith("It ends here.")
    assert len(head) + int(missing.replace(",", "")) + len(tail) == len(text)
    assert text.startswith(head)
    assert text.endswith(tail)


def test_words_stay_whole(tokens):
    head, _, tail = MARK.split(shorten_text("extraordinary " * 400, 50, tokens))
    assert set(head.split()) == set(tail.split()) == {"extraordinary"}


def test_with_no_room_for_a_mark_nothing_is_said(tokens):
    assert shorten_text("word " * 100, MIN_CUT_TOKENS - 1, tokens) == ""


def test_a_text_that_is_far_too_long_is_not_counted(tokens):
    class Counted:
        seen = 0

        def count(self, text):
            self.seen = max(self.seen, len(text))
            return tokens.count(text)

    counted = Counted()
    assert not fits_within("word " * 1_000_000, 100, counted)
    short = shorten_text("word " * 1_000_000, 100, counted)
    assert 80 <= tokens.count(short) <= 100
    assert counted.seen < 5000


@given(
    st.text(max_size=60) | st.text(st.sampled_from("ab \ne\u0301👍🏽日本。"), min_size=30, max_size=400),
    st.integers(1, 12),
    st.integers(0, 300),
)
def test_the_tokens_are_never_exceeded_and_no_accent_leaves_its_letter(tokens, text, times, most):
    text *= times
    short = shorten_text(text, most, tokens)
    assert tokens.count(short) <= most
    if short and short != text:
        head, _, tail = MARK.split(short, maxsplit=1)
        assert text.startswith(head)
        assert text.endswith(tail)
        assert not (head and unicodedata.combining(text[len(head)]))
        assert not (tail and unicodedata.combining(tail[0]))


# What is asked for

LOG = "\n".join(f"12:{at // 60:02}:{at % 60:02} worker {at % 7} took job {at}" for at in range(3000))


@pytest.mark.parametrize("place", [400, 1500, 2600])
@pytest.mark.parametrize("room", [80, 200, 1000])
def test_the_line_that_a_question_names_stays_with_both_ends(tokens, place, room):
    lines = LOG.split("\n")
    lines[place] = "12:25:00 checkout failed: no stock for SKU-4471"
    short = shorten_text("\n".join(lines), room, tokens, extract_search_words("Why did the checkout fail?"))
    assert lines[place] in short
    assert short.startswith(lines[0])
    assert short.endswith(lines[-1])
    assert tokens.count(short) <= room


def test_of_many_lines_with_a_word_those_with_a_rare_one_stay(tokens):
    lines = [f"worker {at} is idle" for at in range(500)]
    lines[250] = "worker 250 is stuck"
    assert "worker 250 is stuck" in shorten_text(
        "\n".join(lines), 120, tokens, extract_search_words("Which worker is stuck?")
    )


def test_without_lines_sentences_are_looked_at(tokens):
    text = "We walked on. " * 400 + "The bridge was closed for repairs. " + "We walked on. " * 400
    short = shorten_text(text, 100, tokens, extract_search_words("What about the bridge?"))
    assert "The bridge was closed for repairs." in short


def test_every_mark_says_how_much_is_missing_in_its_place(tokens):
    lines = LOG.split("\n")
    lines[1000], lines[2000] = "alpha broke", "beta broke"
    text = "\n".join(lines)
    short = shorten_text(text, 200, tokens, {"alpha", "beta"})
    parts = MARK.split(short)
    missing = sum(int(count.replace(",", "")) for count in parts[1::2])
    assert sum(map(len, parts[::2])) + missing == len(text)
    assert all(part in text for part in parts[::2])


@given(
    st.text(st.sampled_from("ab c.\n日"), min_size=1, max_size=300), st.integers(1, 9), st.integers(0, 200)
)
def test_the_tokens_are_never_exceeded_whatever_is_asked_for(tokens, text, times, most):
    assert tokens.count(shorten_text(text * times, most, tokens, {"a", "b", "ab"})) <= most
