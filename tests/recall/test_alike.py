"""Near duplicates: planted ones are found, what merely resembles is left alone."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.recall.dedupe import find_twins
from foreword.text.words import fold_case
from foreword_measure.speed import corpus

BASES = 240
LEAST_RECALL, LEAST_PRECISION = 0.95, 0.99


def are_twins(one, other):
    return 1 in find_twins([one, other]).get(0, set())


# A generator of texts and of their disguises ------------------------------------------------------------


def texts(chance, count):
    """Statements, code, commit messages and paragraphs, some of them related, none of them the same."""
    made = []
    while len(made) < count:
        item = corpus.item(chance.randrange(1_000_000))
        kind = chance.choice(("plain", "lines", "long", "template"))
        if kind == "plain":
            made.append(item.text)
        elif kind == "lines":
            made.append("\n".join(corpus.item(chance.randrange(1_000_000)).text for _ in range(4)))
        elif kind == "long":
            made.append(" ".join(corpus.item(chance.randrange(1_000_000)).text for _ in range(8)))
        else:
            made.append(f"The tests of {item.id} took {chance.randrange(900)} s, and most of it was waiting.")
    return [text for text in dict.fromkeys(made) if len(text) > 80]


def slips(chance, text, share=0.05):
    """Characters wrong, missing, doubled or swapped."""
    letters = list(text)
    for _ in range(max(1, int(len(letters) * share / 2))):
        at = chance.randrange(len(letters) - 1)
        match chance.randrange(4):
            case 0:
                letters[at] = chance.choice(string.ascii_lowercase)
            case 1:
                letters[at] = ""
            case 2:
                letters[at] += chance.choice(string.ascii_lowercase)
            case _:
                letters[at], letters[at + 1] = letters[at + 1], letters[at]
    return "".join(letters)


def change_words(chance, text):
    """One word in thirty is another, at least one."""
    words = text.split(" ")
    for _ in range(max(1, len(words) // 30)):
        words[chance.randrange(len(words))] = chance.choice(corpus.lexicon().words[:5000])
    return " ".join(words)


def change_spacing(chance, text):
    """Other white space, other capitals."""
    spaced = "".join(chance.choice((" ", "  ", "\t", "\n", " \r\n ")) if c == " " else c for c in text)
    return spaced.upper() if chance.random() < 0.3 else f"\n\n{spaced}   "


def change_order(chance, text):
    """The lines in another order; of a text on one line, its sentences."""
    mark = "\n" if "\n" in text else ". "
    lines = text.rstrip(".").split(mark)
    chance.shuffle(lines)
    return mark.join(lines)


def reordered_with_slips(chance, text):
    return slips(chance, change_order(chance, text), 0.02)


DISGUISES = (slips, change_words, change_spacing, change_order, reordered_with_slips)


def measure_disguise(disguise, seed):
    """Recall and precision over all pairs of some texts and one disguised copy of each."""
    chance = random.Random(seed)
    originals = texts(chance, BASES)
    copies = [disguise(chance, text) for text in originals]
    found = find_twins([*originals, *copies])
    pairs = {(one, other) for one, others in found.items() for other in others if one < other}
    planted = {(at, at + len(originals)) for at in range(len(originals))}
    return len(pairs & planted) / len(planted), len(pairs & planted) / (len(pairs) or 1)


@pytest.mark.parametrize("disguise", DISGUISES, ids=lambda disguise: disguise.__name__)
def test_planted_copies_are_found_and_nothing_else(disguise):
    recall, precision = measure_disguise(disguise, 7)
    assert recall >= LEAST_RECALL
    assert precision >= LEAST_PRECISION


# Texts that say the same of two things -------------------------------------------------------------------

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
    assert find_twins(written) == {}


@pytest.mark.parametrize("template", SAID_OF)
def test_what_is_said_of_one_thing_with_a_slip_is_said_twice(template):
    written = template.format(thing="staging", Name="Katrin", Place="Lisbon")
    for seed in range(20):
        assert are_twins(written, slips(random.Random(seed), written, 0.03))


def test_lines_in_another_order_are_told_apart_by_their_names():
    one = "The shop in Lisbon closes at midnight.\nIts rows are deleted by Priya on Mondays."
    other = "Its rows are deleted by Jonas on Mondays.\nThe shop in Lisbon closes at midnight."
    assert not are_twins(one, other)
    assert are_twins(one, "\n".join(reversed(one.split("\n"))))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The session timeout for staff is 30 minutes.", "The session timeout for staff is 45 minutes."),
        ("Release 1.4.2 of the shop went out on Tuesday", "Release 1.4.3 of the shop went out on Tuesday."),
        (
            "Deploy the payment service on Fridays, always.",
            "Do not deploy the payment service on Fridays, always.",
        ),
        (
            "We do use the cache in the payment service here.",
            "We don't use the cache in the payment service here.",
        ),
        ("The tests of module a take three minutes each.", "The tests of module b take three minutes each."),
        ("The pause of the client is 3 s in each region", "The pause of the client is 3.5 s in each region"),
        ("alpha blames beta for it", "beta blames alpha for it"),
        ("Deploys happen on Tuesdays.", "Priya prefers small pull requests."),
        ("", ""),
    ],
)
def test_what_merely_resembles_is_two_things(one, other):
    assert not are_twins(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Deploys happen on Tuesdays, never on Fridays.", "Deploys happen on Tuesdays, never on fridays!"),
        ("Réservé aux musées de la côte d’Azur", "reserve aux musees de la cote d’azur"),
        ("def f(x):\n    return x + 1\n", "def f(x):\n\treturn x + 1"),
        ("take the lock\nsort the rows\ndelete them", "delete them\ntake the lock\nsort the rows"),
        ("Sort the rows first. Then take the lock.", "Then take the lock. Sort the rows first."),
        ("日本語の文章はここにあります。", "日本語の文章は ここにあります。"),
    ],
)
def test_what_says_the_same_is_alike(one, other):
    assert are_twins(one, other)


def test_long_texts_that_part_early_are_not_alike():
    shared = " ".join(corpus.item(at).text for at in range(3))
    rest = [" ".join(corpus.item(at).text for at in range(start, start + 4)) for start in (10, 20)]
    assert not are_twins(f"{shared} {rest[0]}", f"{shared} {rest[1]}")


@given(st.lists(st.text(max_size=60), max_size=8))
def test_being_alike_is_mutual_and_never_to_oneself(written):
    found = find_twins(written)
    for one, others in found.items():
        assert one not in others
        assert all(one in found[other] for other in others)


@given(st.text(min_size=1, max_size=200).filter(lambda text: fold_case(text).split()))
def test_a_text_is_alike_to_itself_under_other_white_space(text):
    assert are_twins(text, "  ".join(f" {text} ".split(" ")))
