from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.compose.injection import TemporalEnrichmentProvider
from foreword.testing import WordTokens
from foreword.types import Item

NOW = datetime(2026, 1, 16, 12, 30, tzinfo=UTC)
SAME, YESTERDAY, JUST, RECENT = (
    "Same time of day", "Continuation from yesterday", "Just discussed", "Recent activity",
)  # fmt: skip
provider = TemporalEnrichmentProvider()


def memory(created_at):
    return Item("text", "w", created_at=created_at)


def badges(created_at, now=NOW):
    return provider.generate_badges(memory(created_at), now)


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (timedelta(0), [SAME, JUST]),
        (timedelta(minutes=29, seconds=59), [SAME, JUST]),
        (timedelta(minutes=30), [SAME, RECENT]),
        (timedelta(hours=2, seconds=-1), [SAME, RECENT]),
        (timedelta(hours=2), [SAME]),
        (timedelta(hours=4), []),
        (timedelta(hours=20), [YESTERDAY]),
        (timedelta(days=1), [SAME, YESTERDAY]),
        (timedelta(days=2), [SAME]),
        (timedelta(days=2, hours=6), []),
    ],
)
def test_a_memory_earns_the_documents_badges(age, expected):
    assert badges(NOW - age) == expected
    assert provider.should_include_temporal(memory(NOW - age), NOW) is bool(expected)


@pytest.mark.parametrize(
    ("hour", "other", "near"),
    [
        (23, 1, True),
        (1, 23, True),
        (0, 22, True),
        (0, 21, False),
        (12, 14, True),
        (12, 15, False),
        (0, 12, False),
    ],
)
def test_the_time_of_day_goes_round_at_midnight(hour, other, near):
    made = datetime(2026, 1, 3, hour, 59, tzinfo=UTC)
    assert (SAME in badges(made, datetime(2026, 1, 10, other, 0, tzinfo=UTC))) is near


def test_days_and_hours_are_those_of_the_zone_of_the_question():
    tokyo = timezone(timedelta(hours=9))
    now = datetime(2026, 1, 16, 1, 0, tzinfo=tokyo)
    made = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)  # 21:00 on the 15th in Tokyo
    assert badges(made, now) == [YESTERDAY]
    assert badges(made, now.astimezone(UTC)) == []  # 16:00 on the 15th in Greenwich


def test_a_time_ahead_of_the_clock_is_not_just_discussed():
    assert JUST not in badges(NOW + timedelta(days=3))
    assert JUST in badges(NOW + timedelta(seconds=10))


def test_badges_stand_in_brackets_and_none_is_nothing():
    assert provider.format_badges([]) == ""
    assert provider.format_badges([YESTERDAY]) == "[Continuation from yesterday]"
    assert provider.format_badges([SAME, RECENT]) == "[Same time of day, Recent activity]"


def shown(ages, budget):
    memories = [memory(NOW - age) for age in ages]
    return provider.badges_within(memories, NOW, budget, WordTokens())


def test_what_was_said_just_now_need_not_be_said_to_be_at_the_same_time_of_day():
    ages = [
        timedelta(0),
        timedelta(hours=1),
        timedelta(days=1),
        timedelta(days=2),
        timedelta(days=2, hours=6),
    ]
    assert shown(ages, 50) == [(JUST,), (RECENT,), (SAME, YESTERDAY), (SAME,), ()]


def test_the_first_get_their_badges_and_who_comes_when_the_tokens_are_spent_goes_without():
    assert shown([timedelta(hours=1)] * 4, 5) == [(RECENT,), (RECENT,), (), ()]
    assert shown([timedelta(days=2), timedelta(hours=1)], 3) == [(), (RECENT,)]  # the second still fits
    assert shown([timedelta(hours=1)], 0) == [()]


@given(st.lists(st.timedeltas(timedelta(0), timedelta(days=3)), max_size=30), st.integers(0, 60))
def test_badges_never_cost_more_than_their_tokens(ages, budget):
    given_ = shown(ages, budget)
    assert len(given_) == len(ages)
    counted = [WordTokens().count(provider.format_badges(badges)) for badges in given_]
    assert sum(counted) <= budget
    for age, badges_ in zip(ages, given_, strict=True):
        assert set(badges_) <= set(badges(NOW - age))
