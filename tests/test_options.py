from __future__ import annotations

from datetime import UTC, datetime

import pytest

from foreword.errors import ValidationError
from foreword.options import (
    MAX_TEXT_CHARACTERS,
    ContextOptions,
    SearchOptions,
    check_aware_datetime_or_none,
    check_fraction,
    check_strings,
    check_text,
)


@pytest.mark.parametrize("field", ["memory_types", "kinds"])
def test_a_string_in_place_of_a_sequence_of_strings_is_refused_with_advice(field):
    with pytest.raises(ValidationError, match=rf"{field} must be a sequence of strings; pass \('fact',\)"):
        SearchOptions(**{field: "fact"})
    with pytest.raises(ValidationError, match=rf"{field} must be a sequence of strings, not \(1,\)"):
        ContextOptions(**{field: (1,)})


@pytest.mark.parametrize("field", ["session", "conversation_id", "asked_in"])
def test_a_name_that_is_no_string_is_refused_and_matches_not_just_nothing(field):
    with pytest.raises(ValidationError, match=f"{field} must be a string or None, not 3"):
        ContextOptions(**{field: 3})


@pytest.mark.parametrize("value", ["100", 0, -1, 1e9])
def test_a_deadline_is_a_number_of_milliseconds(value):
    with pytest.raises(ValidationError, match="deadline_ms must be a number above 0"):
        SearchOptions(deadline_ms=value)


@pytest.mark.parametrize("given", [("fact", "rule"), ["fact", "rule"]])
def test_a_sequence_of_strings_is_what_filters_are_made_of(given):
    assert SearchOptions(memory_types=given).filters.types == ("fact", "rule")
    assert SearchOptions(kinds=["memory"]).filters.kinds == ("memory",)


def test_a_check_returns_the_value_it_was_given():
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert check_aware_datetime_or_none("since", moment) is moment
    assert check_aware_datetime_or_none("since", None) is None
    assert check_fraction("floor", 1) == 1.0
    assert check_strings("kinds", ["a"]) == ("a",)


@pytest.mark.parametrize("value", [True, "0.5", float("nan"), -0.1, 1.1, None])
def test_a_fraction_is_a_number_from_0_to_1(value):
    with pytest.raises(ValidationError, match="floor must be a number from 0 to 1"):
        check_fraction("floor", value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("x" * (MAX_TEXT_CHARACTERS + 1), "split it"),
        ("x" * 50_000_000, "50,000,000 characters"),
        ("nul\0nul", "NUL"),
        ("half \ud83d", "lone surrogate"),
        (b"bytes", "must be text"),
        (None, "must be text"),
    ],
)
def test_a_text_that_cannot_be_kept_is_refused_with_the_reason(text, message):
    with pytest.raises(ValidationError, match=message):
        check_text("text", text)


@pytest.mark.parametrize(
    "text", ["x" * MAX_TEXT_CHARACTERS, "👩\u200d💻", "\u202edexif", 'NEAR("a" OR *', "\r\n x"]
)
def test_a_text_that_can_be_kept_is_kept_as_it_is(text):
    assert check_text("text", text) == text
