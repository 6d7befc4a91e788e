"""Messages that ask for what their speaker lacks are recognised, by their features and their vectors."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.errors import EmbeddingError
from foreword.recipes.gap.classifier import (
    UNDECIDED_SCORES,
    combined_score,
    feature_score,
    load_weights,
    message_features,
    request_score_margin,
    split_tokens,
    sum_features,
    unquoted_sentences,
    word_groups,
)
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword.spaces.dense import DenseSpace

EXAMPLES = Path(__file__).parents[3] / "tools" / "gap_messages.jsonl"


def asks(text, encode=None):
    return request_score_margin(unquoted_sentences(text), encode) >= 0


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
def test_a_message_that_states_a_lack_asks(text):
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
def test_a_message_that_reports_offers_or_answers_does_not_ask(text):
    assert not asks(text)


@pytest.mark.skipif(not EXAMPLES.exists(), reason="tools/gap_messages.jsonl is not here")
def test_most_of_the_examples_are_classified_correctly():
    examples = [json.loads(line) for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
    assert len({example["text"] for example in examples}) == len(examples) > 1500
    results = [(example["gap"], asks(example["text"])) for example in examples]
    right = results.count((True, True))
    assert right / (right + results.count((False, True))) > 0.97
    assert right / (right + results.count((True, False))) > 0.93


def test_the_encoder_is_asked_about_what_is_undecided_and_about_nothing_else():
    shown = []

    def encode(text):
        shown.append(text)
        return [0.0] * len(load_weights().vector)

    for text in ("All 48 tests pass and the branch is merged.", "Nobody told me which plan applies."):
        assert not UNDECIDED_SCORES[0] < feature_score(unquoted_sentences(text)) < UNDECIDED_SCORES[1]
        asks(text, encode)
    plain = "It is unclear which plan applies."
    assert UNDECIDED_SCORES[0] < feature_score(unquoted_sentences(plain)) < UNDECIDED_SCORES[1]
    assert asks(plain, encode)
    assert shown == []
    undecided = "Which branch? `main` or the other one."
    assert UNDECIDED_SCORES[0] < feature_score(unquoted_sentences(undecided)) < UNDECIDED_SCORES[1]
    asks(undecided, encode)
    assert shown == ["Which branch? or the other one."]


def test_an_encoder_that_fails_leaves_the_decision_to_the_words():
    def encode(text):
        raise EmbeddingError("out of order")

    said = unquoted_sentences("Which branch? `main` or the other one.")
    assert request_score_margin(said, encode) == request_score_margin(said)


def test_the_weights_are_for_the_bundled_encoder_and_small():
    known = load_weights()
    assert known.encoder == DenseSpace(BundledEmbeddingProvider()).digest
    assert len(known.vector) == BundledEmbeddingProvider.dimensions
    assert 1000 < len(known.features) <= 5000


def test_weights_are_divided_by_the_root_of_their_number():
    assert sum_features({"a": 1.0}, 0.5, ["a", "unknown"]) == 1.5
    assert sum_features({"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}, 0.0, "abcd") == 2.0
    assert sum_features({}, -0.5, ["a"]) == -0.5


def test_features_and_vector_are_added_up():
    known = load_weights()
    nothing = [0.0] * len(known.vector)
    assert combined_score(known, 0.0, nothing) == known.combined_start
    assert combined_score(known, 1.0, nothing) == pytest.approx(known.combined_start + known.share)
    with pytest.raises(ValueError, match="zip"):
        combined_score(known, 0.0, [1.0])


def test_words_without_a_group_are_joined():
    assert word_groups(["the", "green", "spec", "never", "says", "Name", "?"]) == [
        "_", "DONE", "PAPER", "NOT", "SAY", "Name", "?",
    ]  # fmt: skip


def test_short_forms_are_spelled_out_and_names_count_as_names():
    assert split_tokens("I can't tell, and I'd ask; it's Priya's job_id, not 42!") == [
        "i", "can", "not", "tell", ",", "and", "i", "would", "ask", ";",
        "it", "'s", "Name", "'s", "#", ",", "not", "0", "!",
    ]  # fmt: skip
    assert split_tokens("@pm cannot co-operate, won't, n't") == [
        "@", "can", "not", "co", "operate", ",", "will", "not", ",", "not",
    ]  # fmt: skip


def test_a_question_has_features_of_its_own_and_its_place_counts():
    found = message_features(["Which port?", "The ticket never says."])
    assert {"asks", "asks and goes on", "?which port", "?WH", "first WH", "last says", "PAPER..SAY"} <= found
    assert "asks and goes on" not in message_features(["It says nothing.", "Which port?"])
    assert message_features([]) == frozenset()
    assert message_features(["…"]) == frozenset()


@settings(max_examples=2000)
@given(st.text(max_size=120))
def test_any_text_is_classified(text):
    assert isinstance(request_score_margin(unquoted_sentences(text)), float)


@pytest.mark.parametrize("bait", ["a", "a-", "n't ", "I'", "?", "no. ", "@a", "1,", "Ab.", "what "])
def test_no_text_makes_classifying_slow(bait):
    text = (bait * 8000)[:8000]
    started = time.thread_time()
    request_score_margin(unquoted_sentences(text))
    assert time.thread_time() - started < 1
