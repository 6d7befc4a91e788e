from __future__ import annotations

import pytest

from foreword.knowledge.left_behind import find_things_said_left_behind, is_topic_later_left_behind


@pytest.mark.parametrize(
    "newer",
    [
        "We switched from Stripe to Adyen because of the fees.",
        "We have migrated our payments from Stripe to Adyen.",
        "Let's take Adyen instead of Stripe.",
        "We replaced Stripe with Adyen.",
        "We no longer use Stripe.",
        "We dropped Stripe in favour of Adyen.",
        "Wir sind von Stripe auf Adyen umgestiegen, also gewechselt von Stripe zu Adyen.",
    ],
)
def test_what_was_switched_away_from_is_left_behind(newer):
    assert is_topic_later_left_behind("We decided to use Stripe for payments.", newer)
    assert not is_topic_later_left_behind("We decided to use Adyen for payments.", newer)


def test_a_day_or_number_is_left_behind_only_where_the_same_thing_is_spoken_of():
    moved = "We moved the meeting from Tuesday to Thursday."
    assert is_topic_later_left_behind("The meeting is on Tuesdays.", moved)
    assert not is_topic_later_left_behind("I do yoga on Tuesdays.", moved)


@pytest.mark.parametrize(
    "said",
    ["We work from Monday to Friday.", "The train goes from Paris to Rome.", "Did you switch from A to B?"],
)
def test_a_range_a_way_and_a_question_leave_nothing_behind(said):
    assert find_things_said_left_behind(said) == ()
