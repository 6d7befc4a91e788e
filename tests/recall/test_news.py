"""What differs between two texts that are nearly the same: the news, or not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.recall.news import concatenate_shaped_words, differ_in_meaning, split_shaped_words


def is_news_to(one, other):
    return differ_in_meaning(split_shaped_words(one), split_shaped_words(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The port is 5432.", "The port is 5433."),
        ("The pause is 3 s.", "The pause is 3.5 s."),
        ("The tests of module a pass.", "The tests of module b pass."),
        ("Deploy on Fridays.", "Do not deploy on Fridays."),
        ("The staging cluster is slow.", "The billing cluster is slow."),
        ("The load test cluster is slow.", "The billing cluster is slow."),
        ("Every evening the log is read by Ana.", "Every evening the log is read by Bob."),
        ("In the end the retries were enabled for it.", "In the end the retries were disabled for it."),
        ("As always, the log is read by read_header.", "As always, the log is read by read_footer."),
        ("When it is late, the importer stops; start the importer.",
         "When it is late, the exporter stops; start the exporter."),
    ],
)  # fmt: skip
def test_another_thing_is_the_news(one, other):
    assert is_news_to(one, other)
    assert is_news_to(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The port is 5432.", "the  PORT is 5432"),
        ("The staging cluster is slow.", "The stagign cluster is slow."),
        ("The staging cluster is slow.", "Thestaging cluster is slow."),
        ("Every evening the log is read by Katrin.", "Every evening the log is read by Kartin."),
        ("Every evening the log is read with care.", "Every evening the log is read with patience."),
        ("The port is 5432, mostly.", "Their port is 5432, mostly."),
        ("", ""),
    ],
)
def test_a_slip_or_another_wording_is_not(one, other):
    assert not is_news_to(one, other)
    assert not is_news_to(other, one)


def test_in_a_long_text_one_other_word_at_its_beginning_is_another_wording():
    rest = " and so on until the evening, when somebody reads all of it again" * 4
    assert not is_news_to(f"The quick report{rest}", f"The brief report{rest}")


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_can_be_asked_and_none_is_news_to_itself(one, other):
    assert is_news_to(one, other) in (True, False)
    assert not is_news_to(one, f"  {one}\n")


@given(st.lists(st.text(max_size=30), max_size=5))
def test_joined_tellings_have_all_words_in_order(lines):
    assert concatenate_shaped_words(map(split_shaped_words, lines)).words == tuple(
        word for line in lines for word in split_shaped_words(line).words
    )
