from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.text.question import angles, around, when

NOW = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)  # a Sunday


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("what did we do in May 2023?", "2023-05-01", "2023-06-01"),
        ("the release of 7 May 2023", "2023-05-07", "2023-05-08"),
        ("on May 7th, 2023", "2023-05-07", "2023-05-08"),
        ("December 2025 decisions", "2025-12-01", "2026-01-01"),
        ("errors since 2022", "2022-01-01", "2023-01-01"),
        ("see 2026-02-28", "2026-02-28", "2026-03-01"),
        ("what broke yesterday", "2026-11-14", "2026-11-15"),
        ("what did I do this morning", "2026-11-15", "2026-11-16"),
        ("decided last week", "2026-11-02", "2026-11-09"),
        ("last month's bill", "2026-10-01", "2026-11-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("last spring", "2026-03-01", "2026-06-01"),
        ("last winter", "2025-12-01", "2026-03-01"),
        ("last Tuesday", "2026-11-10", "2026-11-11"),
        ("last Sunday", "2026-11-08", "2026-11-09"),
        ("this month", "2026-11-01", "2026-12-01"),
        ("3 days ago", "2026-11-11", "2026-11-14"),
    ],
)
def test_the_time_a_question_names_is_understood(text, since, until):
    span = when(text, NOW)
    assert (span.since.date().isoformat(), span.until.date().isoformat()) == (since, until)
    assert span.holds(span.since)
    assert not span.holds(span.until)


@pytest.mark.parametrize(
    "text", ["may I ask", "31 February 2023", "version 3.12", "the last straw", "", "in 12 steps"]
)
def test_what_names_no_time_has_none(text):
    assert when(text, NOW) is None


@given(st.text(max_size=200))
def test_no_question_breaks_it(text):
    span = when(text, NOW)
    assert span is None or span.since < span.until
    assert angles(text)


def test_a_long_question_is_its_title_as_much_as_the_whole():
    text = "Login fails after upgrade\n" + "Traceback and more. " * 30
    assert angles(text) == ("Login fails after upgrade", text.strip())


def test_the_name_of_a_language_is_one_angle_of_two():
    assert angles("python check if a list is empty") == (
        "python check if a list is empty",
        "check if a list is empty",
    )
    assert angles("sort a dict in Python 3") == ("sort a dict in Python 3", "sort a dict")


@pytest.mark.parametrize("text", ["which database do we use", "python", "monty pythons", ""])
def test_other_questions_have_one_angle(text):
    assert angles(text) == (text,)


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
    assert around(text) == event
