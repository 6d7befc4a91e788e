from __future__ import annotations

import re
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.compose.turns import MIN_CUT_TOKENS, cut_middle_out, fits_within

MARK = re.compile(r" \[… ([\d,]+) characters left out …\] ")


def test_what_fits_is_left_alone(tokens):
    assert cut_middle_out("short", 10, tokens) == "short"


def test_the_beginning_and_the_end_stay_and_the_mark_says_how_much_is_missing(tokens):
    text = "It begins here. " + "More and more. " * 300 + "It ends here."
    short = cut_middle_out(text, 60, tokens)
    assert tokens.count(short) <= 60
    head, missing, tail = MARK.split(short)
    assert head.startswith("It begins here.")
    assert tail.endswith("It ends here.")
    assert len(head) + int(missing.replace(",", "")) + len(tail) == len(text)
    assert text.startswith(head)
    assert text.endswith(tail)


def test_words_stay_whole(tokens):
    head, _, tail = MARK.split(cut_middle_out("extraordinary " * 400, 50, tokens))
    assert set(head.split()) == set(tail.split()) == {"extraordinary"}


def test_with_no_room_for_a_mark_nothing_is_said(tokens):
    assert cut_middle_out("word " * 100, MIN_CUT_TOKENS - 1, tokens) == ""


def test_a_text_that_is_far_too_long_is_not_counted(tokens):
    class Counted:
        seen = 0

        def count(self, text):
            self.seen = max(self.seen, len(text))
            return tokens.count(text)

    counted = Counted()
    assert not fits_within("word " * 1_000_000, 100, counted)
    short = cut_middle_out("word " * 1_000_000, 100, counted)
    assert 80 <= tokens.count(short) <= 100
    assert counted.seen < 5000


@settings(max_examples=300)
@given(
    st.text(max_size=60) | st.text(st.sampled_from("ab \ne\u0301👍🏽日本。"), min_size=30, max_size=400),
    st.integers(1, 12),
    st.integers(0, 300),
)
def test_the_tokens_are_never_exceeded_and_no_accent_leaves_its_letter(tokens, text, times, most):
    text *= times
    short = cut_middle_out(text, most, tokens)
    assert tokens.count(short) <= most
    if short and short != text:
        head, _, tail = MARK.split(short, maxsplit=1)
        assert text.startswith(head)
        assert text.endswith(tail)
        assert not (head and unicodedata.combining(text[len(head)]))
        assert not (tail and unicodedata.combining(tail[0]))
