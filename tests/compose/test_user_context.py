"""Lines about a user from two places are told once each."""

from __future__ import annotations

import pytest

from foreword.compose.user_context import UserLine, merge_user_lines


def fact(text, **values):
    return UserLine(text, "t-1", "3 May 2026", **values)


def found(text, **values):
    return UserLine(text, "t-1", "3 May 2026", "earlier", **values)


def texts(lines):
    return [line.text for line in lines]


def test_lines_of_different_statements_are_all_told():
    merged = merge_user_lines([fact("I live in Lyon.")], [found("The parcel goes to Turin.")])
    assert texts(merged) == ["I live in Lyon.", "The parcel goes to Turin."]


def test_what_a_known_line_says_is_not_told_again():
    assert merge_user_lines([fact("I live in Lyon.")], [found("I live in Lyon.")]) == [
        fact("I live in Lyon.")
    ]


def test_a_fact_that_is_part_of_what_was_found_is_told_with_the_sentences_around_it():
    merged = merge_user_lines([fact("I live in Lyon.")], [found("I live in Lyon. The bell is broken.")])
    assert texts(merged) == ["I live in Lyon. The bell is broken."]


def test_what_a_fact_replaced_is_not_told_as_if_it_held():
    moved = fact("I live in Lyon.", before=(("1 May 2026", "I live in Turin."),))
    assert texts(merge_user_lines([moved], [found("I live in Turin.")])) == ["I live in Lyon."]


def test_a_fact_with_what_it_replaced_is_kept_beside_what_was_found():
    moved = fact("I live in Lyon.", before=(("1 May 2026", "I live in Turin."),))
    assert moved in merge_user_lines([moved], [found("I live in Lyon. The bell is broken.")])


@pytest.mark.parametrize("section", ["rule", "memory"])
def test_only_facts_give_way_to_what_was_found(section):
    merged = merge_user_lines([fact("Use metres.", section=section)], [found("Use metres. And tons.")])
    assert texts(merged) == ["Use metres.", "Use metres. And tons."]
