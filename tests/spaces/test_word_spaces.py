from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.spaces import names
from foreword.spaces.basic import (
    MAX_WORDS,
    DaySpace,
    GraphSpace,
    HourSpace,
    LexicalSpace,
    RecencySpace,
    TrigramSpace,
)
from foreword.spaces.names import EntitySpace, IdentifierSpace
from foreword.text.words import fold_case
from foreword.types import NeighboursProbe, Query, RecentProbe

NOON = datetime(2026, 5, 10, 12, 0, tzinfo=UTC)


def ask(text, vector=None):
    return Query(text, "w", NOON, vector=vector)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("parseHttpDate", ("parse", "http", "date")),
        ("parse_http_date", ("parse", "http", "date")),
        ("http.parse::date", ("http", "parse", "date")),
        ("XMLHttpRequest2", ("xml", "http", "request")),
        ("src/app/models.py", ("src", "app", "models", "py")),
        ("__init__", ("init",)),
        ("plain words only", ()),
        ("", ()),
    ],
)
def test_a_code_name_is_split_into_its_parts(text, parts):
    assert names.find_code_names(text).parts == parts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We asked Priya Patel about it.", ("priya patel", "priya", "patel")),
        ("The build of LH-142 failed, see #77.", ("lh-142", "#77")),
        ("It is in src/app/models.py and setup.cfg.", ("src/app/models.py", "setup.cfg")),
        ("We are on v3.12.1 or 4.0", ("v3.12.1", "4.0")),
        (
            "Do ask mara@example.org or https://example.org/a?b=1",
            ("mara@example.org", "https://example.org/a?b=1"),
        ),
        ("Then `expire_holds` before build_day()", ("expire_holds", "build_day")),
        ("When did they go?", ()),
        ("Mara's idea", ("mara",)),
    ],
)
def test_named_things_are_found_by_their_shape(text, expected):
    assert names.find_named_things(text) == expected


_CODE = st.text(st.sampled_from("abZK09_.:->/() \n\u00e9\u2122"), max_size=80)


@given(_CODE | st.text(max_size=200))
def test_the_parts_of_a_text_are_those_of_its_names_wherever_they_stand(text):
    each = (
        fold_case(part)
        for name in names._CODE_NAME.findall(text)
        for part in names._PART.findall(name)
        if len(part) > 1
    )
    assert names.find_code_names(text).parts == tuple(dict.fromkeys(each))


def test_a_name_in_code_is_told_by_how_it_is_written_or_called():
    said = names.find_code_names("total = Price.of(order) + load_rates(now()) - self._cache.size()")
    assert said.named == ("price", "load_rates", "_cache", "size")


def test_what_is_known_of_names_is_forgotten_before_it_grows_large(monkeypatch):
    monkeypatch.setattr(names, "_MAX_CACHED", 10)
    for number in range(100):
        assert names.find_code_names(f"part_{number}x").parts[0] == "part"
    assert len(names._cache) <= 10


@given(st.text(max_size=400))
def test_no_text_breaks_the_shapes(text):
    assert all(name == name.lower() for name in names.find_named_things(text))
    assert len(set(names.find_code_names(text).parts)) == len(names.find_code_names(text).parts)


def test_word_spaces_probe_with_the_telling_words():
    query = ask("Which database do we use for `parse_http_date`?")
    assert LexicalSpace().probe(query).words == ("database", "use", "parse", "http", "date")
    assert TrigramSpace().probe(query).words == LexicalSpace().probe(query).words
    assert IdentifierSpace().probe(ask("Which database do we use?")) is None, "it names no code"
    assert set(IdentifierSpace().probe(query).words) == {"parse", "http", "date", "database", "use"}
    assert EntitySpace().probe(query).names == ("parse_http_date",)


def test_what_a_question_quotes_is_looked_for_whole():
    query = ask('Who said "ship it on Tuesday" and "never"?')
    assert LexicalSpace().probe(query).words == ("ship it on tuesday", "said", "ship", "tuesday", "never")


def test_a_pasted_flood_of_words_is_cut():
    flood = ask(" ".join(f"word{number}" for number in range(1000)))
    assert len(LexicalSpace().probe(flood).words) == MAX_WORDS


@pytest.mark.parametrize(
    "space", [LexicalSpace(), TrigramSpace(), IdentifierSpace(), EntitySpace(), GraphSpace()]
)
def test_a_space_has_nothing_to_say_to_an_empty_question(space):
    assert space.probe(ask("  ")) is None


def test_neighbours_follow_any_question_and_recency_only_the_empty_one():
    assert GraphSpace().probe(ask("where")) == NeighboursProbe("graph")
    assert GraphSpace().probe(ask("", vector=(1.0,))) == NeighboursProbe("graph")
    assert RecencySpace().probe(ask("")) == RecentProbe("recency")
    assert RecencySpace().probe(ask("where")) is None


@pytest.mark.parametrize(
    ("hour", "near"), [(12, True), (10, True), (14, True), (9, False), (15, False), (0, False)]
)
def test_the_hour_is_near_within_two_hours(hour, near):
    assert (HourSpace().closeness(NOON.replace(hour=hour), NOON) > 0) is near


def test_the_hour_is_near_across_midnight():
    late, early = NOON.replace(hour=23), NOON.replace(hour=1)
    assert HourSpace().closeness(late, early) > 0


@pytest.mark.parametrize(("day", "closeness"), [(10, 1.0), (9, 0.5), (8, 0.0), (1, 0.0)])
def test_the_day_is_near_today_and_yesterday(day, closeness):
    assert DaySpace().closeness(NOON.replace(day=day), NOON) == closeness


def test_recency_falls_with_the_days():
    assert RecencySpace().closeness(NOON, NOON) == 1.0
    assert RecencySpace().closeness(NOON.replace(day=9), NOON) == 0.5
    assert RecencySpace().closeness(NOON.replace(day=11), NOON) == 1.0, "the future is not nearer than now"
