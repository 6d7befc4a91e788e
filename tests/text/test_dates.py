from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.text.dates import find_dates, find_time_asked_about

NOW = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)  # a Sunday


def brief(span):
    """A span as its two ends, times left out at midnight."""
    return span and tuple(
        moment.isoformat()[:16].removesuffix("T00:00") for moment in (span.since, span.until)
    )


def dates_in(text):
    return [(mention.text, brief(mention.span)) for mention in find_dates(text, NOW)]


# What a question asks about -------------------------------------------------------------------------------


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
    span = find_time_asked_about(text, NOW)
    assert (span.since.date().isoformat(), span.until.date().isoformat()) == (since, until)
    assert span.contains(span.since)
    assert not span.contains(span.until)


@pytest.mark.parametrize(
    "text", ["may I ask", "31 February 2023", "version 3.12", "the last straw", "", "in 12 steps"]
)
def test_what_names_no_time_has_none(text):
    assert find_time_asked_about(text, NOW) is None


def test_a_complete_date_or_a_past_time_wins_over_one_that_is_guessed():
    assert brief(find_time_asked_about("on Tuesday we spoke of the release of May 2023", NOW)) == (
        "2023-05-01",
        "2023-06-01",
    )
    assert brief(find_time_asked_about("late May 2023", NOW)) == ("2023-05-01", "2023-06-01")


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("what did we decide on Tuesday?", "2026-11-10", "2026-11-11"),
        ("which bugs came up in march", "2026-03-01", "2026-04-01"),
        ("what changed since March?", "2026-03-01", "2026-11-16"),
        ("who called at 14:30", "2026-11-14", "2026-11-15"),
        ("two weeks ago", "2026-10-29", "2026-11-05"),
        ("what did we do last Christmas", "2025-12-24", "2025-12-27"),
        ("goals for Q1", "2026-01-01", "2026-04-01"),
        ("what is planned for tomorrow", "2026-11-16", "2026-11-17"),
    ],
)
def test_a_question_may_name_its_time_loosely(text, since, until):
    assert brief(find_time_asked_about(text, NOW)) == (since, until)


# What a text says ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words", "since", "until"),
    [
        ("on 2026-05-03 we met", "2026-05-03", "2026-05-03", "2026-05-04"),
        ("since then, 2026-05-03T14:30:10Z", "2026-05-03T14:30:10Z", "2026-05-03T14:30", "2026-05-03T14:31"),
        ("2026-05-03 14:30 was late", "2026-05-03 14:30", "2026-05-03T14:30", "2026-05-03T14:31"),
        ("on 3 May 2026", "3 May 2026", "2026-05-03", "2026-05-04"),
        ("May 3rd, 2026 it was", "May 3rd, 2026", "2026-05-03", "2026-05-04"),
        ("on the 3rd of May, 2026", "3rd of May, 2026", "2026-05-03", "2026-05-04"),
        ("May 3, 2026 at 14:30", "May 3, 2026 at 14:30", "2026-05-03T14:30", "2026-05-03T14:31"),
        ("December 1,2023", "December 1,2023", "2023-12-01", "2023-12-02"),
        ("how much was done by May 3", "May 3", "2026-05-03", "2026-05-04"),
        ("on May 3", "May 3", "2026-05-03", "2026-05-04"),
        ("the 3 May release", "3 May", "2026-05-03", "2026-05-04"),
        ("on 31 December", "31 December", "2025-12-31", "2026-01-01"),
        ("29 February", "29 February", "2024-02-29", "2024-03-01"),
        ("on Sept. 3", "Sept. 3", "2026-09-03", "2026-09-04"),
        ("03.05.2026", "03.05.2026", "2026-05-03", "2026-05-04"),
        ("13/5/2026", "13/5/2026", "2026-05-13", "2026-05-14"),
        ("5/13/2026", "5/13/2026", "2026-05-13", "2026-05-14"),
        ("5/5/26", "5/5/26", "2026-05-05", "2026-05-06"),
        ("2026/5/3", "2026/5/3", "2026-05-03", "2026-05-04"),
        ("May 2026", "May 2026", "2026-05-01", "2026-06-01"),
        ("in March", "March", "2026-03-01", "2026-04-01"),
        ("in december", "december", "2025-12-01", "2026-01-01"),
        ("next March", "next March", "2027-03-01", "2027-04-01"),
        ("last March", "last March", "2026-03-01", "2026-04-01"),
        ("by March", "March", "2027-03-01", "2027-04-01"),
        ("we will launch in March", "March", "2027-03-01", "2027-04-01"),
        ("in 2026", "2026", "2026-01-01", "2027-01-01"),
        ("since 2019", "2019", "2019-01-01", "2026-11-15T12:30"),
        ("2024 roadmap", "2024", "2024-01-01", "2025-01-01"),
        ("Q3 2026", "Q3 2026", "2026-07-01", "2026-10-01"),
        ("in Q3", "Q3", "2026-07-01", "2026-10-01"),
        ("2025 Q4", "2025 Q4", "2025-10-01", "2026-01-01"),
        ("Q4'25", "Q4'25", "2025-10-01", "2026-01-01"),
        ("H1 2026", "H1 2026", "2026-01-01", "2026-07-01"),
        ("the first half of 2026", "first half of 2026", "2026-01-01", "2026-07-01"),
        ("third quarter of 2025", "third quarter of 2025", "2025-07-01", "2025-10-01"),
        ("week 23", "week 23", "2026-06-01", "2026-06-08"),
        ("week 23 of 2025", "week 23 of 2025", "2025-06-02", "2025-06-09"),
        ("2025-W07", "2025-W07", "2025-02-10", "2025-02-17"),
        ("in the 1990s", "1990s", "1990-01-01", "2000-01-01"),
        ("today", "today", "2026-11-15", "2026-11-16"),
        ("tomorrow", "tomorrow", "2026-11-16", "2026-11-17"),
        ("yesterday", "yesterday", "2026-11-14", "2026-11-15"),
        ("tonight", "tonight", "2026-11-15T18:00", "2026-11-16"),
        ("this morning", "this morning", "2026-11-15T05:00", "2026-11-15T12:00"),
        ("last night", "last night", "2026-11-14T18:00", "2026-11-15T06:00"),
        ("yesterday evening", "yesterday evening", "2026-11-14T18:00", "2026-11-15"),
        ("the day before yesterday", "the day before yesterday", "2026-11-13", "2026-11-14"),
        ("the day after tomorrow", "the day after tomorrow", "2026-11-17", "2026-11-18"),
        ("on Tuesday", "Tuesday", "2026-11-10", "2026-11-11"),
        ("it will be on Tuesday", "Tuesday", "2026-11-17", "2026-11-18"),
        ("due Friday", "Friday", "2026-11-20", "2026-11-21"),
        ("Tuesday morning", "Tuesday morning", "2026-11-10T05:00", "2026-11-10T12:00"),
        ("Mon", "Mon", "2026-11-09", "2026-11-10"),
        ("on Sun", "Sun", "2026-11-08", "2026-11-09"),
        ("last Tuesday", "last Tuesday", "2026-11-10", "2026-11-11"),
        ("this Tuesday", "this Tuesday", "2026-11-10", "2026-11-11"),
        ("next Tuesday", "next Tuesday", "2026-11-17", "2026-11-18"),
        ("next week", "next week", "2026-11-16", "2026-11-23"),
        ("last weekend", "last weekend", "2026-11-07", "2026-11-09"),
        ("this quarter", "this quarter", "2026-10-01", "2027-01-01"),
        ("last quarter", "last quarter", "2026-07-01", "2026-10-01"),
        ("next month", "next month", "2026-12-01", "2027-01-01"),
        ("next year", "next year", "2027-01-01", "2028-01-01"),
        ("last decade", "last decade", "2010-01-01", "2020-01-01"),
        ("last spring", "last spring", "2026-03-01", "2026-06-01"),
        ("this winter", "this winter", "2026-12-01", "2027-03-01"),
        ("next summer", "next summer", "2027-06-01", "2027-09-01"),
        ("in the summer", "the summer", "2026-06-01", "2026-09-01"),
        ("summer 2024", "summer 2024", "2024-06-01", "2024-09-01"),
        ("last Christmas", "last Christmas", "2025-12-24", "2025-12-27"),
        ("Christmas Eve", "Christmas Eve", "2025-12-24", "2025-12-25"),
        ("last Easter", "last Easter", "2026-04-03", "2026-04-07"),
        ("over Easter", "Easter", "2026-04-03", "2026-04-07"),
        ("last New Year", "last New Year", "2025-12-31", "2026-01-02"),
        ("New Year's Day", "New Year's Day", "2026-01-01", "2026-01-02"),
        ("Thanksgiving", "Thanksgiving", "2025-11-27", "2025-11-28"),
        ("Black Friday", "Black Friday", "2025-11-28", "2025-11-29"),
        ("on Valentine’s Day", "Valentine’s Day", "2026-02-14", "2026-02-15"),
        ("two weeks ago", "two weeks ago", "2026-10-29", "2026-11-05"),
        ("a fortnight ago", "a fortnight ago", "2026-10-25", "2026-11-09"),
        ("a couple of days ago", "a couple of days ago", "2026-11-12", "2026-11-15"),
        ("three months ago", "three months ago", "2026-08-02", "2026-09-02"),
        ("2 hours ago", "2 hours ago", "2026-11-15T10:00", "2026-11-15T11:00"),
        ("in two weeks", "in two weeks", "2026-11-26", "2026-12-03"),
        ("two weeks from now", "two weeks from now", "2026-11-26", "2026-12-03"),
        ("the last three days", "last three days", "2026-11-12T12:30", "2026-11-15T12:30"),
        ("the past month", "past month", "2026-10-16T12:30", "2026-11-15T12:30"),
        ("the next two weeks", "next two weeks", "2026-11-15T12:30", "2026-11-29T12:30"),
        ("since March", "March", "2026-03-01", "2026-11-15T12:30"),
        ("since Tuesday", "Tuesday", "2026-11-10", "2026-11-15T12:30"),
        ("early June", "early June", "2026-06-01", "2026-06-11"),
        ("mid-June", "mid-June", "2026-06-11", "2026-06-21"),
        ("late June 2025", "late June 2025", "2025-06-21", "2025-07-01"),
        ("early next week", "early next week", "2026-11-16", "2026-11-19"),
        ("earlier this week", "earlier this week", "2026-11-09", "2026-11-15T12:30"),
        ("later this month", "later this month", "2026-11-15T12:30", "2026-12-01"),
        ("the end of the month", "the end of the month", "2026-11-21", "2026-12-01"),
        ("beginning of 2025", "beginning of 2025", "2025-01-01", "2025-05-03"),
        ("at 14:30", "14:30", "2026-11-14T14:30", "2026-11-14T14:31"),
        ("at 9am", "9am", "2026-11-15T09:00", "2026-11-15T10:00"),
        ("9:15 p.m.", "9:15 p.m.", "2026-11-14T21:15", "2026-11-14T21:16"),
        ("tomorrow at 9:15", "tomorrow at 9:15", "2026-11-16T09:15", "2026-11-16T09:16"),
        ("on the 5th.", "the 5th", "2026-11-05", "2026-11-06"),
        ("am Dienstag", "Dienstag", "2026-11-10", "2026-11-11"),
        ("el Miércoles", "Miércoles", "2026-11-11", "2026-11-12"),
    ],
)
def test_a_date_is_found_as_it_was_said_with_what_it_means(text, words, since, until):
    assert dates_in(text) == [(words, (since, until))]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("on 3/5/2026", "3/5/2026"),
        ("30 February 2026", "30 February 2026"),
        ("never deploy on Fridays", "Fridays"),
        ("in the next sprint", "next sprint"),
        ("several weeks ago", "several weeks ago"),
        ("5 business days ago", "5 business days ago"),
        ("during Ramadan", "Ramadan"),
    ],
)
def test_what_has_no_one_meaning_is_found_without_any(text, words):
    assert dates_in(text) == [(words, None)]


@pytest.mark.parametrize(
    "text",
    [
        *("", "may I ask", "you may 3 times", "this may help", "they march on", "version 3.12", "v1.2.2026"),
        *(
            "in 12 steps",
            "the last straw",
            "port 2026",
            "foo-2026-05-03-bar",
            "a/3/5/2026/b",
            "the sun is up",
        ),
        *("Maria Domingo sang", "the new year", "we sat down", "Spring Boot", "line 14:30", "h1 and h2"),
    ],
)
def test_what_only_looks_like_a_date_is_none(text):
    assert dates_in(text) == []


def test_dates_of_one_text_are_found_in_order():
    text = "From 3 May 2026 at 14:30 until Tuesday morning; the rest early next week."
    assert [words for words, _ in dates_in(text)] == [
        "3 May 2026 at 14:30",
        "Tuesday morning",
        "early next week",
    ]


def test_words_are_found_where_they_stand_whatever_stands_before():
    text = "ﬃ ½ Ünïcödé 日本: señor, el Miércoles ½"
    (mention,) = find_dates(text, NOW)
    assert text[mention.start : mention.end] == mention.text == "Miércoles"


def test_days_are_those_of_the_time_zone_one_asks_in():
    tokyo = timezone(timedelta(hours=9))
    span = find_time_asked_about("yesterday", NOW.astimezone(tokyo))
    assert span.since == datetime(2026, 11, 14, tzinfo=tokyo)
    assert find_dates("3 May 2026", NOW.replace(tzinfo=None))[0].span.since == datetime(
        2026, 5, 3, tzinfo=UTC
    )


WORDS = (
    *(
        "may",
        "May",
        "3",
        "31",
        "2026",
        "9999",
        "0001",
        "last",
        "next",
        "this",
        "since",
        "early",
        "mid-",
        "the",
    ),
    *("end of", "month", "Tuesday", "Easter", "new year", "a", "couple of", "weeks", "decades", "ago", "in"),
    *(
        "from now",
        "Q3",
        "H2",
        "week",
        "53",
        "at",
        "14:30",
        "9am",
        "-",
        "/",
        ".",
        ",",
        "'",
        "morning",
        "1990s",
    ),
    *("2026-02-29", "T25:00", "é", "½", "winter", "by", "30th", "sprint", "99", "yesterday"),
)
TEXTS = st.one_of(st.text(max_size=100), st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))


@given(TEXTS, st.datetimes(timezones=st.just(UTC)))
def test_no_text_and_no_moment_breaks_it(text, now):
    before = 0
    for mention in find_dates(text, now):
        assert before <= mention.start < mention.end <= len(text)
        assert mention.text == text[mention.start : mention.end]
        assert mention.span is None or mention.span.since < mention.span.until
        before = mention.end
    span = find_time_asked_about(text, now)
    assert span is None or span.since < span.until
