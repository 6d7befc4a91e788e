"""Names, addresses, files, dates and code are found where they stand; what only looks like them is not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.capture.names.entities import MAX_CHARACTERS_READ, drop_overlapping_mentions, find_entities
from foreword.capture.names.shapes import Mention
from foreword.types import ENTITY_TYPES


def entities_in(text):
    return [(mention.text, mention.entity_type) for mention in find_entities(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna Kowalski joined Acme Corp in Berlin.", ["person", "organisation", "place"]),
        ("Write to maria.lopez@example.com by Friday.", ["email", "date"]),
        ("See https://example.org/a?b=1, then www.example.com.", ["url", "url"]),
        ("src/app/main.py calls parse_config() and getUserName.", ["file", "code", "code"]),
        ("Upgrade Django to v4.2.11 for PROJ-118 and #42.", ["thing", "version", "ticket", "ticket"]),
    ],
)
def test_every_kind_is_found(text, expected):
    assert [kind for _, kind in entities_in(text)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "It costs $3.50 and takes 2.5 hours.",
        "Will this mark the row as done?",
        "May I ask a question?",
        "The French press is broken; he speaks Japanese.",
        "Is it OK to use HTTP and/or JSON, e.g. UTF-8?",
        "The turkey was dry but the china was pretty.",
        "Oh My God, What A Day",
        "Call me at noon.",
    ],
)
def test_what_only_looks_like_a_name_is_none(text):
    assert entities_in(text) == []


def test_a_name_in_any_case_is_found_when_it_is_listed():
    assert entities_in("anna met carlos in madrid") == [
        ("anna", "person"),
        ("carlos", "person"),
        ("madrid", "place"),
    ]
    assert entities_in("CALL JOHN IN LONDON NOW") == [("JOHN", "person"), ("LONDON", "place")]


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("I work with Zubrowski on this.", "Zubrowski", "person"),
        ("We flew to Quxville last week.", "Quxville", "place"),
        ("She has a job at Frobnitz now.", "Frobnitz", "organisation"),
        ("We cache it in a Frobnitz table.", "Frobnitz", "thing"),
        ("Thanks, Zubra!", "Zubra", "person"),
    ],
)
def test_a_name_in_no_list_is_told_by_its_surroundings(text, name, kind):
    assert (name, kind) in entities_in(text)


@pytest.mark.parametrize(
    "name",
    [
        "Dana O'Neill",
        "Ursula von der Leyen",
        "Joost van den Berg",
        "Florian de la Croix",
        "Khalid bin Rashid",
        "Ibrahim al-Farsi",
        "Mara Lind",
        "Christopher Lane",
    ],
)
def test_a_full_name_that_acts_is_one_person(name):
    assert entities_in(f"{name} said so.") == [(name, "person")]
    assert entities_in(f"Please tell {name} about it.")[:1] == [(name, "person")]


@pytest.mark.parametrize("text", ["Let's walk to Hyde Park.", "We met on Penny Lane."])
def test_a_place_that_ends_like_a_family_stays_a_place(text):
    assert [kind for _, kind in entities_in(text)] == ["place"]


@pytest.mark.parametrize(
    "text",
    ["Wir treffen uns am Dienstag.", "Nos vemos el Miércoles.", "Rendez-vous Jeudi ?", "Freitags nie."],
)
def test_weekdays_of_other_languages_are_dates(text):
    assert [kind for _, kind in entities_in(text)] == ["date"]


def test_a_family_that_is_called_like_a_day_is_a_family():
    assert entities_in("We heard Maria Domingo.") == [("Maria Domingo", "person")]
    assert "date" not in [kind for _, kind in entities_in("we heard maria domingo")]


@pytest.mark.parametrize("text", ["at 9:30", "see you at 5 p.m.", "ten minutes ago", "in 2 hours"])
def test_a_time_of_day_alone_is_no_date(text):
    assert entities_in(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We sell the AirHub 200 and the AirHub 300.", ["AirHub 200", "AirHub 300"]),
        ("My iPhone 15 is new.", ["iPhone 15"]),
        ("We restarted Redis 3 times.", ["Redis"]),
        ("We use Python 3.11 and Django.", ["Python", "Django"]),
    ],
)
def test_the_number_of_a_model_is_part_of_its_name(text, expected):
    assert [name for name, kind in entities_in(text) if kind == "thing"] == expected


def test_a_title_tells_a_gender_and_is_not_part_of_the_name():
    (mention,) = find_entities("Ask Mrs. Thompson first.")
    assert (mention.text, dict(mention.attributes)) == ("Thompson", {"gender": "female"})


def test_a_given_name_tells_a_gender_only_where_it_can():
    genders = [mention.attributes.get("gender") for mention in find_entities("Anna, Carlos and Alex agree.")]
    assert genders == ["female", "male", None]


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("due 2024-09-14 at noon", "2024-09-14"),
        ("on 3 May 2024", "3 May 2024"),
        ("on March 3rd, 2023", "March 3rd, 2023"),
        ("since 2019", "2019"),
        ("two days ago", "two days ago"),
        ("See you next Monday!", "next Monday"),
        ("in Q3 2024", "Q3 2024"),
        ("by the end of the month", "the end of the month"),
        ("Come tomorrow morning or call at 5:30 pm.", "tomorrow morning"),
    ],
)
def test_dates_are_found_as_they_were_said(text, date):
    assert entities_in(text) == [(date, "date")]


def test_backticks_quote_code_and_what_has_a_shape_keeps_it():
    assert entities_in("set `retries` in `conf/app.toml`") == [("retries", "code"), ("conf/app.toml", "file")]


def test_of_two_that_overlap_the_longer_stays():
    short, long = Mention("ab", "thing", 3, 5), Mention("xxabc", "file", 1, 6)
    assert drop_overlapping_mentions([short, long]) == [long]
    assert drop_overlapping_mentions([Mention("ab", "thing", 0, 2), Mention("bcd", "file", 1, 4)]) == [
        Mention("bcd", "file", 1, 4)
    ]


_PIECES = st.sampled_from(
    [
        "Anna",
        "anna",
        "Mr.",
        "of",
        "University",
        "the",
        "Berlin",
        "3",
        "May",
        "2024",
        "v1.2.3",
        "`x`",
        "a/b.py",
        "&",
        "@",
        "#12",
        "don't",
        "I",
        "'s",
        "\n",
        ". ",
        ", ",
        " ",
        "(",
        "é",
        "日本",
        "İ",
        "ß",
        "́",
        "AB-1",
        "_",
        "-",
    ]
)


@settings(max_examples=3 * settings().max_examples)
@given(st.lists(_PIECES, max_size=25).map("".join) | st.text(max_size=80))
def test_mentions_are_stretches_of_the_text_in_order_and_apart(text):
    end = 0
    for mention in find_entities(text):
        assert text[mention.start : mention.end] == mention.text != ""
        assert mention.start >= end
        assert mention.entity_type in ENTITY_TYPES
        end = mention.end


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "A ",
        "a/",
        "a.b",
        "a@",
        "1.",
        "a_",
        "`a",
        "AB-",
        "in a few ",
        "University of the ",
        "'a",
        "../",
        "1999 é ",
    ],
)
def test_hostile_text_costs_what_its_length_costs(piece):
    def cost(size):
        started = time.thread_time()
        find_entities(piece * (size // len(piece)))
        return time.thread_time() - started

    # The least of several runs: other programs on the machine slow some of them.
    costs = [min(cost(size) for _ in range(5)) for size in (20_000, 160_000)]
    assert costs[1] < 8 * costs[0] * 4 + 0.05


def test_what_comes_after_a_megabyte_is_not_read():
    assert entities_in("." * MAX_CHARACTERS_READ + " Anna Kowalski") == []
