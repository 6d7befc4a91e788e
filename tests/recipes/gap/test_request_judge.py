"""Sentences that ask for what their speaker lacks are recognised, by their words and by a reader."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.errors import EmbeddingError
from foreword.recipes.gap.message_text import sentences_in_own_words
from foreword.recipes.gap.request_judge import (
    ASKING_LOGIT,
    MAX_PASSAGE_CHARACTERS,
    MAX_READ_SENTENCES,
    MIN_ALONE_LOGIT,
    NEVER_ASKS,
    WORDS_SHARE,
    features_by_sentence,
    group_of_each_word,
    largest_request_margin,
    load_request_weights,
    may_be_request,
    passage_around,
    request_margins,
    request_scores,
    score_features,
    split_tokens,
)
from foreword.spaces.reader import BundledReader

EXAMPLES = Path(__file__).parents[3] / "tools" / "gap_messages.jsonl"
LESSONS = Path(__file__).parents[3] / "measure" / "lacks"


def asks(text, read=None):
    return max(request_margins(sentences_in_own_words(text), read), default=NEVER_ASKS) >= 0


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
        "The requirements are unclear.",
        "Ich weiß nicht, welche der beiden Listen gilt.",
        "Je ne trouve nulle part qui doit approuver la commande.",
        "No sé cuál de los dos contratos se aplica aquí.",
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
        "OAuth2 authentication is required for the API endpoints.",
        "A valid token is required before any request is accepted.",
        "Für jeden Aufruf ist ein Schlüssel erforderlich.",
        "Si un champ manque, la ligne est refusée.",
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


CALM = "The parser is merged and all 48 tests pass. The export took two seconds."
LACK = "Nobody has told me which file format the partner bank expects."


def test_one_sentence_is_heard_however_much_is_said_around_it():
    reply = sentences_in_own_words(f"{CALM * 8} {LACK} {CALM * 8}")
    margins = request_margins(reply)
    assert max(margins) >= 0
    assert reply[margins.index(max(margins))] == LACK
    assert largest_request_margin(sentences_in_own_words(CALM * 16)) < 0


def test_a_question_that_is_answered_at_once_is_none():
    assert not asks(f"{CALM} Why two tables? Because the old clients read the first. {CALM}")


def test_sentences_without_a_word_that_could_ask_are_passed_over():
    assert request_margins(["The export took two seconds."]) == [NEVER_ASKS]
    assert may_be_request("Which port?")
    assert may_be_request("どの版か分かりません。")
    assert largest_request_margin([]) == NEVER_ASKS


class Reader:
    """Gives every sentence the same logit, and remembers what it was shown."""

    def __init__(self, logit=5.0):
        self.logit, self.shown = logit, []

    def __call__(self, passage, sentences):
        self.shown += [(passage, sentence) for sentence in sentences]
        return [self.logit] * len(sentences)


def test_the_reader_reads_what_may_ask_and_nothing_else():
    reader = Reader()
    assert not asks("The tests pass and the branch is merged.", reader)
    assert reader.shown == []
    asks(f"The branch is merged. {LACK}", reader)
    assert reader.shown == [(f"The branch is merged. {LACK}", LACK)]


def test_in_a_long_message_a_sentence_that_would_not_ask_by_itself_is_not_read_within_its_passage():
    long = "The branch is merged. " * 40 + LACK
    surely_calm, likely = Reader(MIN_ALONE_LOGIT - 0.1), Reader(MIN_ALONE_LOGIT)
    assert not asks(long, surely_calm)
    assert surely_calm.shown == [("", LACK)]
    assert asks(long, likely)
    assert [len(passage) > 600 for passage, _ in likely.shown] == [False, True]


def test_the_reader_decides_with_a_share_of_the_words():
    (score,) = request_scores((LACK,))
    (margin,) = request_margins([LACK], Reader(1.0))
    assert margin == pytest.approx(1.0 + WORDS_SHARE * score - ASKING_LOGIT)
    assert asks(LACK)
    assert not asks(LACK, Reader(-9.0))


def test_an_explicit_request_needs_no_reader():
    reader = Reader(-9.0)
    assert asks("I need more information: which port is it?", reader)
    assert reader.shown == []


def test_only_the_likeliest_sentences_of_a_message_are_read():
    reader = Reader()
    asks(" ".join(f"Which of the {at} ports is it?" for at in range(30)), reader)
    assert len(set(reader.shown)) == len(reader.shown) == 2 * MAX_READ_SENTENCES


def test_a_sentence_is_read_within_its_passage():
    sentences = [f"{'Calm words. ' * 9}{at}" for at in range(40)]
    for at in (0, 20, 39):
        passage = passage_around(sentences, at)
        assert sentences[at] in passage
        assert MAX_PASSAGE_CHARACTERS - 2 * len(sentences[at]) < len(passage) <= MAX_PASSAGE_CHARACTERS
    assert passage_around(["x" * 900], 0) == "x" * 900


def test_two_sentences_are_read_at_once_by_themselves_and_then_within_their_passages():
    both_are_read = threading.Barrier(2)

    def read(passage, sentences):
        both_are_read.wait(timeout=60)  # fails if one is only read when the other is done
        return [9.0 if "who" in sentence or not passage else -5.0 for sentence in sentences]

    reply = sentences_in_own_words(f"{LACK} {CALM * 12} Nobody told us who signs the form.")
    margins = request_margins(reply, read)
    assert margins[-1] > 0 > margins[0] > NEVER_ASKS


def test_a_reader_that_fails_leaves_the_decision_to_the_words():
    def broken(passage, sentences):
        raise EmbeddingError("out of order")

    assert request_margins([LACK, CALM], broken) == request_margins([LACK, CALM])


OBLIQUE = [
    "The label on tank nine is scratched off, and the cellar book has a blank where the entry should be.",
    "Clause 14 points to a side letter that is in neither of the two binders I received.",
    "Which of the two drawings counts was settled before I joined, and the minutes of that day are gone.",
]


@pytest.mark.parametrize("lack", OBLIQUE)
def test_the_bundled_reader_hears_a_lack_that_no_word_gives_away(lack):
    reply = sentences_in_own_words(f"{CALM * 4} {lack} {CALM * 4}")
    margins = request_margins(reply, BundledReader().request_logits)
    assert max(margins) >= 0
    assert reply[margins.index(max(margins))] in lack
    assert max(request_margins(sentences_in_own_words(CALM * 8), BundledReader().request_logits)) < 0


def test_the_weights_are_few():
    assert 1000 < len(load_request_weights().features) <= 7000


def test_weights_are_divided_by_the_root_of_their_number():
    assert score_features({"a": 1.0}, 0.5, ["a", "unknown"]) == 1.5
    assert score_features({"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}, 0.0, "abcd") == 2.0
    assert score_features({}, -0.5, ["a"]) == -0.5


@pytest.mark.skipif(not LESSONS.exists(), reason="measure/lacks is not here")
def test_features_without_a_weight_change_no_score():
    weights, judged = load_request_weights(), 0
    for line in (LESSONS / "test.jsonl").read_text(encoding="utf-8").splitlines():
        sentences = sentences_in_own_words(json.loads(line)["text"])
        for score, features in zip(request_scores(sentences), features_by_sentence(sentences), strict=True):
            assert (score is None) == (features is None)
            if features is not None:
                judged += 1
                assert score == pytest.approx(score_features(weights.features, weights.start, features))
    assert judged > 300


def test_words_without_a_group_are_joined():
    assert group_of_each_word(["the", "green", "spec", "never", "says", "Name", "?"]) == [
        "_", "DONE", "PAPER", "NOT", "SAY", "Name", "?",
    ]  # fmt: skip


def test_words_of_other_languages_are_in_the_same_groups():
    assert group_of_each_word(split_tokens("Die Spezifikation sagt nichts")) == [
        "_",
        "PAPER",
        "SAY",
        "NOTHING",
    ]
    assert group_of_each_word(split_tokens("Le contrat n'indique rien")) == [
        "_",
        "PAPER",
        "NOT",
        "SAY",
        "NOTHING",
    ]


def test_short_forms_are_spelled_out_and_names_count_as_names():
    assert split_tokens("I can't tell, and I'd ask; it's Priya's job_id, not 42!") == (
        "i", "can", "not", "tell", ",", "and", "i", "would", "ask", ";",
        "it", "'s", "Name", "'s", "#", ",", "not", "0", "!",
    )  # fmt: skip
    assert split_tokens("@pm cannot co-operate, won't, n't") == (
        "@", "can", "not", "co", "operate", ",", "will", "not", ",", "not",
    )  # fmt: skip
    assert split_tokens("哪个版本？") == ("哪", "个", "版", "本", "?")


def test_a_sentence_has_its_own_features_and_those_of_its_neighbours():
    asking, stating = features_by_sentence(["Which port?", "The ticket never says."])
    assert {"asks", "asks and goes on", "?which port", "?WH", "this ? WH", "PAPER..SAY"} <= asking
    assert {"asks", "?which port", "this PAPER", "last SAY"} <= stating
    assert "this ? WH" not in stating
    assert "asks and goes on" not in features_by_sentence(["It says nothing.", "Which port?"])[1]
    assert features_by_sentence([]) == []
    assert features_by_sentence(["…"]) == [None]


@settings(max_examples=2000)
@given(st.text(max_size=120))
def test_any_text_is_classified(text):
    assert isinstance(largest_request_margin(sentences_in_own_words(text)), float)


@pytest.mark.parametrize("bait", ["a", "a-", "n't ", "I'", "?", "no. ", "@a", "1,", "Ab.", "what "])
def test_no_text_makes_classifying_slow(bait):
    text = (bait * 8000)[:8000]
    started = time.thread_time()
    largest_request_margin(sentences_in_own_words(text))
    assert time.thread_time() - started < 1


def test_what_a_quoted_term_says_is_not_said_by_its_speaker():
    assert request_margins(['The status is "still unclear" in the table.']) == request_margins(
        ["The status is   in the table."]
    )
