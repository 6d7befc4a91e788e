"""When a prompt has left the subject: by its signs, by vectors made by hand, and with the bundled encoder."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.errors import ValidationError
from foreword.recall.divergence import (
    DivergenceDetector,
    Utterance,
    read_shift_signs,
    read_utterance,
    shift_probability,
)
from foreword.recall.fuse import UNRELATED_COSINE
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword.spaces.dense import DenseSpace
from foreword.types import Item, Query, Source

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
PROMPT = "How do I set up replication with Docker compose?"
TALK = (
    (
        "user",
        "The session timeout test in tests/test_auth.py fails on CI but passes here. Can you find out why?",
    ),
    (
        "assistant",
        "The test compares datetime.now() with the token's expiry, and CI runs in UTC while your machine is "
        "in CET. The naive datetime makes the token look expired one hour early.",
    ),
    ("user", "make both timezone-aware, and add a test with a fixed clock"),
    (
        "assistant",
        "Done. issue_token and is_expired in src/auth/tokens.py now use datetime.now(UTC), and "
        "tests/test_auth.py has a test with a frozen clock. All 214 tests pass.",
    ),
)


def turn(speaker, text, name="", minutes=1, trust="user"):
    at = NOW - timedelta(minutes=minutes)
    return Item(
        text, "w", "turn", id=name or text, about=speaker, created_at=at, source=Source(speaker, trust)
    )


def talk(*spoken):
    """Turns a minute apart, the last of them a minute ago."""
    trusts = {"user": "user", "assistant": "agent"}
    return [
        turn(speaker, text, str(place), len(spoken) - place, trusts.get(speaker, "user"))
        for place, (speaker, text) in enumerate(spoken)
    ]


def towards(cosine):
    """A vector that has this cosine with (1, 0)."""
    return (cosine, math.sqrt(1 - cosine * cosine))


HERE, STRANGE = (1.0, 0.0), towards(0.45)


@pytest.fixture(scope="module")
def dense():
    return DenseSpace(BundledEmbeddingProvider())


@pytest.fixture(scope="module")
def session(dense):
    """A session about a failing test, with its vectors."""
    items = talk(*TALK)
    return items, dict(zip((item.id for item in items), dense.embed_items(items), strict=True))


def find_divergence(dense, session, prompt):
    items, vectors = session
    vector = dense.probe(Query(prompt, "w", NOW)).vector
    return DivergenceDetector().detect(prompt, items, NOW, query_vector=vector, vectors=vectors)


# With the bundled encoder


@pytest.mark.parametrize(
    "prompt",
    [
        "What's a good recipe for lentil soup?",
        "Let's work on the landing page: the hero image is too large on phones",
        PROMPT,
        "can you explain how HDBSCAN picks clusters?",
        "rename the CSS class .btn-primary to .button everywhere",
        "plan my trip to Lisbon in May",
    ],
)
def test_a_new_subject_gives_one_alert_that_names_the_old_one(dense, session, prompt):
    alert = find_divergence(dense, session, prompt)
    assert alert is not None
    assert alert.space == "semantic"
    assert alert.memory_id in {"0", "1", "2", "3"}
    assert alert.summary[:40] in TALK[int(alert.memory_id)][1]
    assert 0 <= alert.similarity < 0.2


@pytest.mark.parametrize(
    "prompt",
    [
        "open the pull request",
        "does is_expired handle clock skew?",
        "what about refresh tokens, do they have the same problem?",
        "run the auth tests again",
        "it still fails on CI: AssertionError in test_auth.py line 44",
        "commit this with a good message",
        "hm, revert the last change",
    ],
)
def test_going_on_gives_none(dense, session, prompt):
    assert find_divergence(dense, session, prompt) is None


# By words and hand-made vectors


def test_without_vectors_words_decide_and_the_alert_says_so():
    alert = DivergenceDetector().detect(PROMPT, talk(*TALK), NOW)
    assert alert is not None
    assert (alert.space, alert.similarity) == ("lexical", 0.0)
    assert DivergenceDetector().detect("does the frozen clock test pass in CI?", talk(*TALK), NOW) is None


@pytest.mark.parametrize(
    "prompt", ["yes", "ok thanks", "what about it?", "fix it", "go ahead", "and that one?", " "]
)
def test_replies_and_pronouns_never_diverge(prompt):
    items = talk(*TALK)
    vectors = {item.id: HERE for item in items}
    eager = DivergenceDetector(threshold=0.001)
    assert eager.detect(prompt, items, NOW, query_vector=STRANGE, vectors=vectors) is None
    assert eager.detect(PROMPT, items, NOW, query_vector=STRANGE, vectors=vectors) is not None


def test_the_less_alike_the_likelier_a_shift():
    recent = [read_utterance(text, HERE) for _, text in TALK]
    chances = [
        shift_probability(read_utterance(PROMPT, towards(cosine)), recent) for cosine in (1.0, 0.8, 0.6, 0.4)
    ]
    assert chances == sorted(chances)
    assert chances[0] < 0.1 < 0.8 < chances[-1]


def test_an_answer_to_a_question_is_less_likely_a_shift_than_the_same_after_a_statement():
    prompt = read_utterance("The red car in the garage", STRANGE)
    after = {
        text: shift_probability(prompt, [read_utterance(text, HERE)])
        for text in ("It is late today.", "Is it late today?")
    }
    assert after["Is it late today?"] < after["It is late today."]
    # One's own question waits for the other's answer, and an offer waits for nothing.
    assert read_shift_signs(prompt, [read_utterance("Is it late today?", HERE, own=True)]).pending == 0
    assert read_shift_signs(prompt, [read_utterance("Is there anything else?", HERE)]).pending == 0
    assert read_shift_signs(prompt, [read_utterance("Is it late today?", HERE)]).pending == 1


def test_what_has_just_shifted_does_not_shift_again():
    prompt = read_utterance(PROMPT, STRANGE)
    at_home = [read_utterance("We bake bread.", HERE), read_utterance("Bread needs salt.", HERE)]
    adrift = [read_utterance("We bake bread.", (0.0, 1.0)), read_utterance("Bread needs salt.", HERE)]
    assert shift_probability(prompt, adrift) < shift_probability(prompt, at_home)


def test_only_turns_near_enough_are_compared():
    told = read_utterance("Something else entirely happened there", HERE)
    old = read_utterance(PROMPT, STRANGE)
    assert read_shift_signs(old, [old, told, told, told]).near == pytest.approx(
        (0.45 - UNRELATED_COSINE) / (1 - UNRELATED_COSINE)
    )
    assert read_shift_signs(old, [told, old, told, told]).near == pytest.approx(1.0)


def test_nothing_is_left_where_nothing_was_said():
    assert shift_probability(read_utterance(PROMPT), []) == 0
    assert DivergenceDetector().detect(PROMPT, [], NOW) is None


@pytest.mark.parametrize("vector", [(), (1.0, 0.0, 0.0)])
def test_vectors_that_cannot_be_compared_are_not(vector):
    prompt, recent = read_utterance(PROMPT, STRANGE), [read_utterance(text, vector) for _, text in TALK]
    assert shift_probability(prompt, recent) == shift_probability(replace(prompt, vector=()), recent)


def test_a_last_turn_without_a_vector_leaves_it_to_the_words():
    items = talk(*TALK)
    vectors = {item.id: HERE for item in items[:-1]}
    alert = DivergenceDetector().detect(PROMPT, items, NOW, query_vector=STRANGE, vectors=vectors)
    assert alert is not None
    assert (alert.space, alert.similarity) == ("lexical", 0.0)


def test_an_encoder_that_holds_strangers_for_alike_is_stretched():
    told = [read_utterance(text, HERE) for _, text in TALK]
    assert shift_probability(
        read_utterance(PROMPT, towards(0.9)), told, unrelated_cosine=0.9
    ) == pytest.approx(shift_probability(read_utterance(PROMPT, towards(UNRELATED_COSINE)), told))


@given(st.text(), st.lists(st.text(), max_size=8), st.floats(-1, 1), st.floats(-0.5, 0.999))
def test_a_chance_is_a_probability_whatever_is_said(prompt, recent, cosine, unrelated):
    turns = [read_utterance(text, HERE if len(text) % 3 else ()) for text in recent]
    assert 0 <= shift_probability(read_utterance(prompt, towards(cosine)), turns, unrelated) <= 1


# What counts as the recent talk


def alert_for(items, prompt=PROMPT, **options):
    return DivergenceDetector(**options).detect(prompt, items, NOW)


def test_talk_of_more_than_two_hours_ago_is_not_recent():
    old = [turn("assistant", "The bread oven is hot now.", minutes=121)]
    assert alert_for(old) is None
    assert alert_for(old, lookback=timedelta(hours=3)) is not None


def test_only_the_past_is_known():
    assert alert_for([turn("assistant", "The bread oven is hot now.", minutes=-1)]) is None


def test_no_more_memories_count_than_the_most():
    items = talk(*[("assistant", f"The bread oven number {number} is hot now.") for number in range(60)])
    assert [item.id for item in DivergenceDetector().select_recent_talk(PROMPT, items, NOW)] == [
        str(n) for n in range(10, 60)
    ]
    assert [item.id for item in DivergenceDetector(most=1).select_recent_talk(PROMPT, items, NOW)] == ["59"]


def test_the_order_in_which_memories_come_does_not_matter():
    items = talk(*TALK)
    assert alert_for(items[::-1]) == alert_for(items)


def test_the_prompt_itself_is_no_recent_talk():
    items = [*talk(*TALK), turn("user", f"  {PROMPT}\n", "prompt", minutes=0)]
    assert alert_for(items) == alert_for(items[:-1])
    assert alert_for(items[-1:]) is None


def test_what_tools_printed_counts_only_where_nobody_spoke():
    printed = turn("Bash", "replication: Docker compose set up", "tool", minutes=0, trust="tool")
    assert DivergenceDetector().select_recent_talk(PROMPT, [*talk(*TALK), printed], NOW) == talk(*TALK)
    assert DivergenceDetector().select_recent_talk(PROMPT, [printed], NOW) == [printed]


def test_our_own_summaries_are_no_recent_talk():
    summary = replace(
        turn("agent", "Decided: Docker compose. Open: the bread oven.", "sum", minutes=0), kind="summary"
    )
    assert DivergenceDetector().select_recent_talk(PROMPT, [*talk(*TALK), summary], NOW) == talk(*TALK)
    assert DivergenceDetector().select_recent_talk(PROMPT, [summary], NOW) == []


def test_the_alert_names_the_turn_in_the_middle_of_the_talk():
    texts = ("The bread oven is hot.", "Bread from the oven is best.", "ok", "A bread oven needs wood.")
    items = talk(*(("assistant", text) for text in (*texts, "Rain came down on the whole valley at night.")))
    assert alert_for(items).memory_id in {"0", "1", "3"}
    sides, middle, away = ((0.9, 0.3, 0.0), (0.9, -0.3, 0.0)), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    vectors = dict(zip("01234", (sides[0], middle, middle, sides[1], away), strict=True))
    found = DivergenceDetector().detect(PROMPT, items, NOW, query_vector=(-1.0, 0.0, 0.0), vectors=vectors)
    assert (found.memory_id, found.space) == ("1", "semantic")


@pytest.mark.parametrize("text", ["bread oven wood fire " * 50, "bread-oven-wood-fire" * 50])
def test_a_summary_is_one_short_line(text):
    summary = alert_for([turn("assistant", text)]).summary
    assert 60 < len(summary) <= 100
    assert summary.endswith("…")
    assert alert_for([turn("assistant", " Bread\n\noven  wood fire ")]).summary == "Bread oven wood fire"


# How sure


def test_severity_rises_with_the_chance():
    detector = DivergenceDetector()
    assert [detector.severity(chance) for chance in (0.5, 0.64, 0.65, 0.79, 0.8, 1.0)] == [
        "low", "low", "medium", "medium", "high", "high",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": 0.0}, {"threshold": 0.7}, {"high": 1.1}, {"threshold": float("nan")}, {"most": 0},
        {"lookback": timedelta(0)},
    ],
)  # fmt: skip
def test_thresholds_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValidationError):
        DivergenceDetector(**wrong)


# What an utterance says


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "ok thanks",
        "OK, great!",
        "sounds good, go ahead",
        "what about it?",
        "do that",
        "fix it please",
        "run the tests again",
        "commit and push, then open a pull request",
        "and then?",
        "hm... and why is that so?",
        "",
        "?!",
    ],
)
def test_what_brings_nothing_of_its_own_merely_replies(text):
    assert read_utterance(text).replies


@pytest.mark.parametrize(
    "text",
    [
        "soup",
        "Plan my trip to Lisbon",
        "does this migration lock the orders table?",
        "yes, and rename the invoice module",
    ],
)
def test_what_brings_a_subject_does_not_merely_reply(text):
    assert not read_utterance(text).replies


@pytest.mark.parametrize(
    "text",
    [
        "Why is it slow?",
        "how do I roll back",
        "ok, now add a test",
        "I need a taxi",
        "could you look at the parser",
        "let's move on to billing",
        "你好吗？",
    ],
)
def test_questions_orders_and_wishes_ask(text):
    assert read_utterance(text).asks


@pytest.mark.parametrize(
    "text",
    [
        "The parser is slow.",
        "I live in Bergen.",
        "See https://example.org/search?q=tests",
        "",
    ],
)
def test_statements_do_not_ask(text):
    assert not read_utterance(text).asks


def test_a_question_in_the_middle_of_a_page_is_not_the_speakers():
    page = "The build is green. " * 100
    assert not read_utterance(f"{page} Is it? {page}").asks
    assert read_utterance(f"{page} Shall I open a pull request?").asks


@pytest.mark.parametrize(
    "text", ["Is there anything else I can help with?", "Will that be all?", "Done. Let me know."]
)
def test_an_offer_to_go_on_is_no_question_to_be_answered(text):
    assert read_utterance(text).offers


def test_pointing_back_and_opening_like_a_reply_lean():
    assert read_utterance("Rename those two modules").leans
    assert read_utterance("No, use the other table for customers").leans
    assert not read_utterance("Rename the billing modules").leans


def test_words_that_begin_alike_are_the_same():
    assert read_utterance("Tables").roots == read_utterance("a table").roots
    assert (
        read_utterance("booking").roots
        == read_utterance("the bookings").roots
        != read_utterance("boots").roots
    )


def test_a_long_text_is_known_by_its_beginning_and_its_end():
    long = "first " + "middle " * 5000 + "last"
    assert {"first", "last"} <= read_utterance(long).roots
    assert read_utterance(long).length < 1000


@given(st.text())
def test_any_text_has_looks(text):
    assert isinstance(read_utterance(text), Utterance)
    assert read_utterance(text) == read_utterance(text)
