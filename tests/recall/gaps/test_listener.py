"""The judge hears whether a message asks for what its speaker lacks, by its traits and by its meaning."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.errors import EmbeddingError
from foreword.recall.gaps.families import family, stem
from foreword.recall.gaps.listener import (
    UNDECIDED,
    certainty,
    meant_weight,
    trait_weight,
    voice,
    weighed,
    weights,
)
from foreword.recall.gaps.traits import families, tokens, traits
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword.spaces.dense import DenseSpace

LESSONS = Path(__file__).parents[3] / "tools" / "gap_messages.jsonl"


def asks(text, encode=None):
    return certainty(voice(text), encode) >= 0


@pytest.mark.parametrize(
    "text",
    [
        "Nobody has told me which region the backups go to.",
        "The runbook doesn't say who may restart the broker.",
        "Do we hash the serial number or keep it in the clear? I can't find a decision.",
        "I'm stuck: there is no definition of a late delivery in any document I was given.",
        "Parser and tests are done. What I don't know is how duplicates are meant to be merged.",
        "This is unclear.",
        "Unclear.",
        "It is unclear which plan applies.",
        "That part remains unclear",
        "It's unclear whether the fee is due twice.",
    ],
)
def test_whoever_lacks_something_is_heard(text):
    assert asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "All 48 tests pass and the branch is merged.",
        "Shall I deploy it now?",
        "Would you like a second version of the letter?",
        "Why was it slow? A missing index. It takes 12 ms now.",
        "The form says which field is missing.",
        "I asked Ana about the limit; it is 100, and that is what I built.",
        "The reply was `I do not know what you mean`, as the test expects.",
        "Nothing is unclear.",
        "It was unclear which plan applies; it is the monthly one.",
        "Unclear names are rejected by the linter.",
    ],
)
def test_whoever_gets_on_offers_or_answers_is_not(text):
    assert not asks(text)


@pytest.mark.skipif(not LESSONS.exists(), reason="tools/gap_messages.jsonl is not here")
def test_most_lessons_are_remembered():
    lessons = [json.loads(line) for line in LESSONS.read_text(encoding="utf-8").splitlines()]
    assert len({lesson["text"] for lesson in lessons}) == len(lessons) > 1500
    heard = [(lesson["gap"], asks(lesson["text"])) for lesson in lessons]
    right = heard.count((True, True))
    assert right / (right + heard.count((False, True))) > 0.97
    assert right / (right + heard.count((True, False))) > 0.93


def test_the_encoder_is_asked_about_what_is_undecided_and_about_nothing_else():
    shown = []

    def encode(text):
        shown.append(text)
        return [0.0] * len(weights().vector)

    for text in ("All 48 tests pass and the branch is merged.", "Nobody told me which plan applies."):
        assert not UNDECIDED[0] < trait_weight(voice(text)) < UNDECIDED[1]
        asks(text, encode)
    plain = "It is unclear which plan applies."
    assert UNDECIDED[0] < trait_weight(voice(plain)) < UNDECIDED[1]
    assert asks(plain, encode)
    assert shown == []
    undecided = "Which branch? `main` or the other one."
    assert UNDECIDED[0] < trait_weight(voice(undecided)) < UNDECIDED[1]
    asks(undecided, encode)
    assert shown == ["Which branch? or the other one."]


def test_an_encoder_that_fails_leaves_the_judgement_to_the_words():
    def encode(text):
        raise EmbeddingError("out of order")

    said = voice("Which branch? `main` or the other one.")
    assert certainty(said, encode) == certainty(said)


def test_the_weights_are_for_the_bundled_encoder_and_small():
    known = weights()
    assert known.encoder == DenseSpace(BundledEmbeddingProvider()).digest
    assert len(known.vector) == BundledEmbeddingProvider.dimensions
    assert 1000 < len(known.traits) <= 5000


def test_many_traits_weigh_no_more_than_few_of_the_same_worth():
    assert weighed({"a": 1.0}, 0.5, ["a", "unknown"]) == 1.5
    assert weighed({"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}, 0.0, "abcd") == 2.0
    assert weighed({}, -0.5, ["a"]) == -0.5


def test_meaning_and_traits_are_added_up():
    known = weights()
    nothing = [0.0] * len(known.vector)
    assert meant_weight(known, 0.0, nothing) == known.start_meant
    assert meant_weight(known, 1.0, nothing) == pytest.approx(known.start_meant + known.share)
    with pytest.raises(ValueError, match="zip"):
        meant_weight(known, 0.0, [1.0])


def test_words_are_told_in_full_and_names_as_names():
    assert tokens("I can't tell, and I'd ask; it's Priya's job_id, not 42!") == [
        "i", "can", "not", "tell", ",", "and", "i", "would", "ask", ";",
        "it", "'s", "Name", "'s", "#", ",", "not", "0", "!",
    ]  # fmt: skip
    assert tokens("@pm cannot co-operate, won't, n't") == [
        "@", "can", "not", "co", "operate", ",", "will", "not", ",", "not",
    ]  # fmt: skip


def test_words_that_do_the_same_work_are_one_family():
    assert {family(word) for word in ("spec", "ticket", "stories", "wikis")} == {"PAPER"}
    assert family("says") == family("mentions") == family("mentioned") == family("specifies") == "SAY"
    assert family("elephant") is None
    assert [stem(word) for word in ("stories", "agreed", "uses", "is")] == ["story", "agr", "use", "is"]
    assert families(["the", "green", "spec", "never", "says", "Name", "?"]) == [
        "_", "DONE", "PAPER", "NOT", "SAY", "Name", "?",
    ]  # fmt: skip


def test_a_question_has_traits_of_its_own_and_its_place_counts():
    found = traits(["Which port?", "The ticket never says."])
    assert {"asks", "asks and goes on", "?which port", "?WH", "first WH", "last says", "PAPER..SAY"} <= found
    assert "asks and goes on" not in traits(["It says nothing.", "Which port?"])
    assert traits([]) == frozenset()
    assert traits(["…"]) == frozenset()


@settings(max_examples=2000)
@given(st.text(max_size=120))
def test_any_text_has_traits_and_is_judged(text):
    assert isinstance(certainty(voice(text)), float)


@pytest.mark.parametrize("bait", ["a", "a-", "n't ", "I'", "?", "no. ", "@a", "1,", "Ab.", "what "])
def test_no_text_makes_judging_slow(bait):
    text = (bait * 8000)[:8000]
    started = time.thread_time()
    certainty(voice(text))
    assert time.thread_time() - started < 1
