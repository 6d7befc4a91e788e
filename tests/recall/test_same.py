"""What says the same is told once; what differs in anything that carries a value is another fact."""

from __future__ import annotations

import csv
import random
import string
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from foreword.recall.dedupe import find_containing_texts
from foreword.recall.same import (
    does_either_text_cover_other,
    join_comparable_texts,
    prepare_for_comparison,
    says_all_of,
)
from foreword_measure.speed import corpus

PAIRS = Path(__file__).parents[2] / "measure" / "repeats" / "build.tsv"


def read_pairs(label):
    with PAIRS.open(encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(row["one"], row["other"]) for row in rows if row["same"] == label]


# Pairs written by hand ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "other"), read_pairs("0"))
def test_another_fact_is_never_the_same(one, other):
    assert not does_either_text_cover_other(one, other)


def test_nearly_all_rewordings_are_the_same():
    pairs = read_pairs("1")
    assert sum(does_either_text_cover_other(one, other) for one, other in pairs) >= 0.95 * len(pairs)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Deploys happen on Tuesdays, never on Fridays.", "Deploys happen on Tuesdays, never on fridays!"),
        ("Réservé aux musées de la côte d’Azur", "reserve aux musees de la cote d’azur"),
        ("def f(x):\n    return x + 1\n", "def f(x):\n\treturn x + 1"),
        ("take the lock\nsort the rows\ndelete them", "delete them\ntake the lock\nsort the rows"),
        ("日本語の文章はここにあります。", "日本語の文章は ここにあります。"),
        ("The parcel is at my neighbour's.", "Your parcel is at the neighbour's."),
        ("…", "…"),
    ],
)
def test_another_wording_of_one_thing_is_the_same(one, other):
    assert does_either_text_cover_other(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(x):\n    return x + 1\n", "def f(x):\n    return x - 1\n"),
        ("def f(x):\n    return x < 1\n", "def f(x):\n    return x > 1\n"),
        ("if ready: start()", "if !ready: start()"),
        ("Read the file env first.", "Read the file .env first."),
        ("The field is called cache there.", "The field is called _cache there."),
        ("You do the frontend, I do the backend.", "I do the frontend, you do the backend."),
        ("Not Ana but Ben signs it.", "Not Ben but Ana signs it."),
        ("The limit went from 36 to 12.", "The limit went from 12 to 36."),
        ("capacity: egypt 120 -> 90", "capacity: egypt 90 -> 120"),
        ("His room is on the left.", "Her room is on the left."),
        ("Ask the test server.", "Test the ask server."),
        ("Roberts signs the form here.", "The form here Robert signs."),
        ("The tickets are prescribed.", "The tickets are proscribed."),
        ("", ""),
    ],
)
def test_what_only_resembles_is_another_fact(one, other):
    assert not does_either_text_cover_other(one, other)


# Properties ---------------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    [
        "the",
        "cache",
        "ttl",
        "of",
        "billing",
        "is",
        "short",
        "we",
        "deploy",
        "every",
        "Ana",
        "reviews",
        "pull",
        "requests",
        "before",
        "release",
        "on",
        "node",
        "ledger",
        "timeout",
        "for",
        "staff",
        "and",
        "customers",
        "in",
        "Oslo",
        "never",
        "runs",
        "with",
        "retries",
        "at",
        "night",
        "by",
        "hand",
    ]
)
VALUES = st.one_of(
    st.integers(0, 10**15).map(str),
    st.sampled_from(["5432", "3.5 s", "1,204", "40%", "€900", "v2.3.1", "9:30", "7 pm", "12 MB", "25h"]),
    st.sampled_from(["Nov 11", "2027-06-12", "3 June 2027", "PAY-118", "#4711", "0x78000", "17th"]),
)
IDENTIFIERS = st.sampled_from(
    [
        "parse_date",
        "getUserById",
        "api/users.py",
        "FEATURE_A",
        "tiles-02",
        "pn-disputes-raw",
        "Cargo.toml",
        "--no-cache",
        "std::vec",
        "readHeaders",
        "config.max_rows",
        "@scope/name",
    ]
)
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


@st.composite
def texts(draw, values=VALUES):
    """Some words, a value, some words."""
    before, after = (draw(st.lists(WORDS, max_size=8)) for _ in range(2))
    return " ".join(before), draw(values), " ".join(after)


def join(*parts):
    return " ".join(filter(None, parts))


@given(texts(), st.data())
def test_another_digit_is_another_fact(parts, data):
    before, value, after = parts
    at = data.draw(st.sampled_from([at for at, character in enumerate(value) if character.isdigit()]))
    digit = data.draw(st.sampled_from([digit for digit in string.digits if digit != value[at]]))
    changed = value[:at] + digit + value[at + 1 :]
    assert not does_either_text_cover_other(join(before, value, after), join(before, changed, after))


@given(texts(IDENTIFIERS), st.data())
def test_another_letter_in_an_identifier_is_another_fact(parts, data):
    before, name, after = parts
    at = data.draw(st.sampled_from([at for at, character in enumerate(name) if character.isalpha()]))
    letter = data.draw(st.sampled_from([one for one in string.ascii_lowercase if one != name[at].lower()]))
    changed = name[:at] + letter + name[at + 1 :]
    assert not does_either_text_cover_other(join(before, name, after), join(before, changed, after))


@given(texts(IDENTIFIERS), st.sampled_from(string.ascii_lowercase))
def test_a_letter_more_in_an_identifier_is_another_fact(parts, letter):
    before, name, after = parts
    assert not does_either_text_cover_other(join(before, name, after), join(before, name + letter, after))


@given(texts(st.just("")), st.permutations(WEEKDAYS), st.sampled_from(["", "s"]))
def test_another_weekday_is_another_fact(parts, days, plural):
    before, _, after = parts
    one, other = days[0] + plural, days[1] + plural
    assert not does_either_text_cover_other(join(before, "on", one, after), join(before, "on", other, after))


@given(st.text(max_size=80), st.text(max_size=80))
def test_the_judge_does_not_care_who_is_first(one, other):
    assert does_either_text_cover_other(one, other) == does_either_text_cover_other(other, one)


@given(texts(), texts())
def test_the_judge_does_not_care_who_is_first_of_two_statements(one, other):
    assert does_either_text_cover_other(join(*one), join(*other)) == does_either_text_cover_other(
        join(*other), join(*one)
    )


@given(st.one_of(texts(), texts(IDENTIFIERS)), st.sampled_from([" ", "  ", "\t", " \r\n "]))
def test_a_text_says_the_same_in_other_white_space_and_case_and_with_a_full_stop(parts, blank):
    text = join(*parts)
    for other in (text.replace(" ", blank), text.upper(), text.lower(), f"{text}.", f"  {text}\n"):
        assert does_either_text_cover_other(text, other)


@given(st.text(min_size=1, max_size=200))
def test_any_text_says_the_same_as_itself(text):
    assume(text.strip())
    assert does_either_text_cover_other(text, f" {text}  ")


# Slips --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slip", ["repositry", "repositoory", "reopsitory"])
def test_a_slip_inside_a_long_word_is_forgiven(slip):
    assert does_either_text_cover_other(
        "The repository is mirrored every night.", f"The {slip} is mirrored every night."
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [("county", "country"), ("Martines", "Martinez"), ("Katrinas", "Kartinas"), ("supported", "unsupported")],
)
def test_what_may_be_another_word_is_no_slip(one, other):
    assert not does_either_text_cover_other(f"It is up to {one} for now.", f"It is up to {other} for now.")


# Texts in texts -----------------------------------------------------------------------------------------


def test_a_text_that_stands_in_another_says_the_same():
    said = "audit moved by a week, Okonjo is ill. So Nov 13, merge by Nov 11"
    confirmed = "Nov 13 then, merges by Nov 11."
    assert says_all_of(prepare_for_comparison(said), prepare_for_comparison(confirmed))
    assert not says_all_of(prepare_for_comparison(confirmed), prepare_for_comparison(said))


def test_a_few_words_that_stand_in_another_text_may_mean_something_else_there():
    assert not does_either_text_cover_other(
        "It is 60 seconds.", "The cache was slow. It is 60 seconds. So much for today."
    )


def test_two_texts_together_say_what_sums_them_up():
    turns = "Ana owns the parser since May.", "Ben is away until Nov 11."
    both = "Ben is away until Nov 11. Ana owns the parser since May."
    assert says_all_of(
        join_comparable_texts(map(prepare_for_comparison, turns)), prepare_for_comparison(both)
    )
    assert not any(says_all_of(prepare_for_comparison(turn), prepare_for_comparison(both)) for turn in turns)


def test_a_long_text_may_have_a_plain_word_more():
    said = (
        "The importer reads the supplier catalogue, sorts its rows by article and writes them to the {}shop."
    )
    assert says_all_of(
        prepare_for_comparison(said.format("online ")), prepare_for_comparison(said.format(""))
    )
    assert not says_all_of(
        prepare_for_comparison(said.format("")), prepare_for_comparison(said.format("online "))
    )
    for value in ("Lisbon ", "staging ", "404 ", "not the "):
        assert not does_either_text_cover_other(said.format(value), said.format(""))


def test_the_end_of_a_very_long_text_counts():
    text = " ".join(corpus.invent_item(at).text for at in range(60))
    assert len(text) > 2500
    assert does_either_text_cover_other(text, text.upper())
    assert not does_either_text_cover_other(text + " The port is 5432.", text + " The port is 5433.")


# Among many ---------------------------------------------------------------------------------------------


def made_texts(chance, count):
    """Statements, paragraphs and lists, some of them related, none of them the same."""
    items = (corpus.invent_item(chance.randrange(1_000_000)).text for _ in range(1_000_000))
    prose = (text for text in items if "\n" not in text)
    made = [next(prose) for _ in range(count)]
    made += [mark.join(next(prose) for _ in range(5)) for mark in (" ", "\n") for _ in range(count)]
    return list(dict.fromkeys(made))


def change_spacing(chance, text):
    spaced = "".join(chance.choice((" ", "  ", "\t", " \r\n ")) if c == " " else c for c in text)
    return spaced.upper() if chance.random() < 0.3 else f"\n\n{spaced}   "


def change_order(chance, text):
    """The lines in another order; of a text on one line, its sentences."""
    if "\n" in text:
        lines = text.split("\n")
        chance.shuffle(lines)
        return "\n".join(lines)
    sentences = text.rstrip(".").split(". ")
    chance.shuffle(sentences)
    return ". ".join(sentences)


@pytest.mark.parametrize("disguise", [change_spacing, change_order], ids=lambda one: one.__name__)
def test_planted_copies_are_found_and_nothing_else(disguise):
    chance = random.Random(7)
    originals = made_texts(chance, 60)
    found = find_containing_texts([*originals, *(disguise(chance, text) for text in originals)])
    pairs = {(one, other) for one, others in found.items() for other in others if one < other}
    planted = {(at, at + len(originals)) for at in range(len(originals))}
    assert len(pairs & planted) >= 0.95 * len(planted)
    assert len(pairs - planted) <= 0.01 * len(pairs)


@given(st.lists(st.text(max_size=60), max_size=8))
def test_no_text_holds_itself(written):
    assert all(at not in holders for at, holders in find_containing_texts(written).items())


SAID_OF = (
    "The {thing} cluster runs on Hetzner machines in Falkenstein and is backed up every night by the team.",
    "{Name} owns the importer and reviews every change to the catalogue before it is released to the shops.",
    "Every change to the supplier catalogue is reviewed by {Name} before it is released to the shops.",
    "Call load_{thing}_rows before the nightly import, or the catalogue is read from the cache of yesterday.",
    "Goal: make the {thing} tests pass again.\nHypothesis: the {thing} clock is ahead of the one we use.",
    "The connection pool of the shop in {Place} is closed at midnight and opened again at five each morning.",
)
THINGS = ("staging", "billing", "production", "catalogue", "newsletter", "warehouse", "payment", "analytics")
NAMES = ("Ana", "Bob", "Priya", "Jonas", "Wei", "Fatima", "Olu", "Katrin")
PLACES = ("Lisbon", "Nuremberg", "Oslo", "Ghent", "Turku", "Porto", "Basel", "Krakow")


@pytest.mark.parametrize("template", SAID_OF)
def test_what_is_said_of_two_things_is_two_things(template):
    told = zip(THINGS, NAMES, PLACES, strict=True)
    written = [template.format(thing=thing, Name=name, Place=place) for thing, name, place in told]
    assert find_containing_texts(written) == {}
