"""Values are read whole, each has a kind, and one fits in the place of another or does not."""

from __future__ import annotations

import pytest

from foreword.knowledge.stated_values import CLOSELY, LOOSELY, closeness_of_fit, read_values


def whole(text):
    """The whole values of a text, each as its kind and its words."""
    return {(value.kind, *value.words) for value in read_values(text) if not value.is_part}


def only(text):
    (value,) = (value for value in read_values(text) if not value.is_part)
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("call 555-0100", ("digits", "5550100")),
        ("call +49 170 5550100", ("digits", "491705550100")),
        ("call (415) 555-0100 please", ("digits", "4155550100")),
        ("it runs 2.3.1", ("version", "2.3.1")),
        ("it runs v3", ("version", "3")),
        ("at 10.0.0.1:8080", ("address", "10.0.0.1:8080")),
        ("on 1990-04-12", ("date", "1990", "4", "12")),
        ("on 12.04.1990", ("date", "12", "4", "1990")),
        ("on 12 June", ("date", "12", "month 6")),
        ("on June 12th, 2026", ("date", "month 6", "12", "2026")),
        ("at 9:15 pm", ("time", "9:15pm")),
        ("it costs 1,200 euros", ("number", "1200")),
        ("eighty-five of them", ("number", "85")),
        ("between 10-12 people", ("number", "10-12")),
        ("write to anna@example.com", ("email", "anna@example.com")),
        ("host is heron-42", ("identifier", "heron-42")),
        ("we stay at the Park Hotel", ("name", "park", "hotel")),
        ("I drive a Model Y", ("name", "model", "y")),
        ("we take LH 430", ("name", "lh", "430")),
        ("I bank with Bank of Ireland", ("name", "bank", "of", "ireland")),
    ],
)
def test_a_value_is_read_whole(text, value):
    assert whole(text) == {value}


def test_an_ordinary_word_at_the_start_of_a_sentence_is_no_name():
    assert whole("Light rain jackets. Drink more water. Ordered. Invoices are paid.") == set()
    assert whole("Ben owns the parser.") == {("name", "ben")}


def test_a_part_of_a_value_is_known_as_one():
    parts = {(value.kind, *value.words) for value in read_values("due 12 June 2026") if value.is_part}
    assert parts == {("month", "month 6"), ("number", "2026")}


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("555-0101", "555-0100"),
        ("600 euros", "$500"),
        ("600 euros", "500"),
        ("2 minutes", "30 seconds"),
        ("72kg", "70 kg"),
        ("8", "at 7pm"),
        ("13 June", "12 June"),
        ("the Palace Hotel", "the Park Hotel"),
        ("4712", "4711"),
        ("4", "3 kids"),
    ],
)
def test_values_that_fit_closely(new, old):
    assert closeness_of_fit(only(new), only(old)) == CLOSELY


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("50", "500"),
        ("the 13th", "12 June"),
        ("in Lyon", "the Park Hotel"),
        ("1.3.0", "1.2"),
        ("three cats", "two sisters"),
    ],
)
def test_values_that_may_fit(new, old):
    assert closeness_of_fit(only(new), only(old)) == LOOSELY


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("555-0101", "3 plates"),
        ("4712", "3 plates"),
        ("600 euros", "3 plates"),
        ("72 kg", "500 euros"),
        ("9:45", "3 plates"),
        ("3.12", "3 plates"),
        ("10.0.0.2", "500"),
        ("43", "at 9:15"),
        ("1990-04-13", "3 plates"),
    ],
)
def test_values_of_other_kinds_do_not_fit(new, old):
    assert closeness_of_fit(only(new), only(old)) == 0


def test_the_same_value_may_be_written_differently():
    assert only("call 555 0100") == only("call 555-0100")
    assert only("12 June").is_same(only("June 12th"))
    assert only("in 1,200 €") == only("for 1200 euros")
    assert only("three").is_same(only("3"))
    assert only("with Anna").is_same(only("with Anna Berg"))
    assert not only("with Anna Berg").is_same(only("with Anna Bergman"))
