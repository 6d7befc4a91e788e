"""What is asked, doubted or imagined is not said to be so; what stands beside it is."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.knowledge.doubts import doubtful, is_within


def doubted(text):
    return [text[start:end].strip() for start, end in doubtful(text)]


@pytest.mark.parametrize(
    "text",
    [
        "Does Omar live in Paris?",
        "Pavel lives in Prague, doesn't he?",
        "Anna is the CTO, right?",
        "is omar the manager",
        "Maybe Pavel works at Siemens.",
        "If Rosa were the director.",
    ],
)
def test_a_question_or_a_guess_is_doubtful_as_a_whole(text):
    assert doubted(text) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My number is 555-1212, can you call?", ["can you call?"]),
        ("Rosa is here. Is she free? Yes.", ["Is she free?"]),
        ("I doubt that Dr. Lind is in, but Ada is.", ["doubt that Dr. Lind is in,"]),
        ("Call Hannah on 555-0101 if it rains.", ["if it rains."]),
        ("I'm not sure that Anna left; Bob did.", ["not sure that Anna left;"]),
        ("I don't think Pavel is the manager.", ["n't think Pavel is the manager."]),
        ("If Rosa were here, we would sing.", ["If Rosa were here,"]),
    ],
)
def test_only_the_clause_that_doubts_is_doubtful(text, expected):
    assert doubted(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Rosa is the director.",
        "Will Smith works at Acme.",
        "Hugo said that Petra's phone is 555-1.",
        "Don't forget that Anna lives in Rome.",
        "What a day! Anna is here.",
        "",
    ],
)
def test_what_is_said_is_not_doubtful(text):
    assert doubted(text) == []


PIECES = ["if ", "maybe ", "is ", "Dr. ", "Anna ", "?", ". ", ", ", ";", "!", "\n", "not sure ", " - "]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=60))
def test_spans_are_in_order_and_apart_and_know_what_they_hold(text):
    spans = doubtful(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(one[1] < other[0] for one, other in pairwise(spans))
    for place in range(len(text)):
        assert is_within(place, spans) == any(start <= place < end for start, end in spans)


@pytest.mark.parametrize("piece", ["if ", "is it, ", "maybe?", "a. ", "not sure ", "Dr. ", ", - "])
def test_hostile_text_is_read_in_a_time_that_its_length_tells(piece):
    started = time.process_time()
    doubtful(piece * 50_000)
    assert time.process_time() - started < 3.0
