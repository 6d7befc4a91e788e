from __future__ import annotations

from datetime import UTC

import pytest

from foreword.recipes.coding.injection import InjectionPipeline
from foreword.types import Item, Source

AGENT = Source("agent", "agent")


@pytest.fixture
def coding(engine):
    return InjectionPipeline(engine, zone=UTC)


@pytest.fixture
def say(engine, clock):
    """Stores a turn, an hour later than the one before."""

    def say(text, session, source=Source()):  # noqa: B008
        clock.advance(hours=1)
        item = Item(text, "shop", kind="turn", session=session, source=source, created_at=clock())
        return engine.remember_all([item], "shop")[0]

    return say


def ask(coding, prompt, session="now"):
    return coding.generate_context(prompt, session, workspace="shop")


def test_what_is_left_is_told_and_the_receipt_says_why(coding, say):
    left = say("Still open: the heron ending and the sounds.", "s1", AGENT)
    say("The lamps are painted green.", "s1")
    result = ask(coding, "what's left to do?")
    assert result.included_memories[0] == left.id
    assert ("progress", "the prompt asks what is left: 1 of 1 told") in [
        (note.part, note.message) for note in result.receipt.notes
    ]


def test_a_topic_narrows_what_is_left(coding, say):
    say("Still open: the heron ending.", "s1", AGENT)
    paper = say("Still open: the abstract of the paper.", "s2", AGENT)
    assert ask(coding, "what's left for the paper?").included_memories == (paper.id,)


def test_five_are_told_at_most(coding, say):
    for word in ("bell", "lamp", "crane", "anchor", "ledger", "compass", "sextant"):
        say(f"Remind me to repair the {word} of number {len(word)}{word}.", f"session of the {word}")
    assert len(ask(coding, "what is still open?").included_memories) == 5


def test_where_we_were_is_the_last_session_s_end(coding, say):
    say("Still open: the tax report.", "older", AGENT)
    run = say("The full parity run waits for Emeka's extract.", "last", AGENT)
    window = say("The window at night is 03:15 to 04:30 because of clearing.", "last")
    told = ask(coding, "where were we?")
    assert {run.id, window.id} == set(told.included_memories)


def test_going_on_with_something_brings_what_its_session_left_open(coding, say):
    say("uploads from the garage fail half way", "uploads")
    preview = say("For Monday: HEIC preview with vix.", "uploads", AGENT)
    say("The tariff has a night factor of twenty percent.", "fares")
    assert preview.id in ask(coding, "continue with the uploads").included_memories
    assert preview.id not in ask(coding, "continue with the invoices", "another").included_memories


def test_what_was_decided_at_a_time_is_told(coding, say, clock):
    old = say("We agreed at the meeting: loans need a certificate.", "s1")
    clock.advance(days=7)
    say("We agreed to paint the pier at the meeting.", "s2")
    told = ask(coding, f"what did we decide on {old.created_at:%Y-%m-%d} in the meeting?")
    assert old.id in told.included_memories
    assert told.receipt.notes[-1].message == "the prompt asks what was decided: 1 of 1 told"


def test_what_was_decided_about_something_needs_no_time(coding, say):
    say("Let's use Redis for the order queue.", "s1")
    quay = say("We decided to keep the old quay.", "s2")
    told = ask(coding, "what did we decide about the quay?")
    assert told.included_memories[0] == quay.id
    assert "what was decided: 1 of 1" in told.receipt.notes[-1].message


def test_a_decision_that_was_taken_back_is_not_told_as_decided(coding, say, clock):
    say("Store the upload id in DynamoDB.", "s1")
    say("scrap that", "s1")
    kept = say("We decided to keep the old quay.", "s1")
    clock.advance(days=7)
    told = ask(coding, "what did we settle last week?")
    assert told.included_memories[0] == kept.id
    assert "1 of 1 told" in told.receipt.notes[-1].message


def test_what_was_corrected_is_told_with_what_holds_now(coding, say):
    say("We deploy on Tuesdays only.", "s1")
    now = say("no, Thursdays", "s1")
    told = ask(coding, "what did we decide about deploys?")
    assert told.included_memories == (now.id,)
    assert "We deploy on Tuesdays only." in told.formatted_context


def test_who_asked_the_same_before_is_no_answer(coding, say):
    kept = say("We decided to keep the old quay.", "s1")
    asked = say("Summarise what we decided this week about the quay.", "s1")
    told = ask(coding, "what did we decide about the quay?")
    assert kept.id in told.included_memories
    assert asked.id not in told.included_memories


def test_where_we_were_passes_over_sessions_that_only_asked(coding, say):
    quay = say("We decided to keep the old quay.", "s1")
    say("what is left?", "s2")
    assert quay.id in ask(coding, "where were we?").included_memories


def test_finished_work_is_no_answer_to_what_is_left(coding, say):
    say("Set the invoice prefix to INV.", "s1")
    say("Done. The invoice prefix is INV now and the tests pass.", "s1", AGENT)
    assert ask(coding, "what is left?").included_memories == ()
    assert ask(coding, "what is left for the invoice prefix?", "another").included_memories == ()


def test_beside_what_is_left_stands_only_what_is_about_the_subject(coding, say):
    left = say("Still open: the footer of the invoice.", "s1")
    invoice = say("The footer of an invoice has room for three lines of text.", "s1")
    say("The lamps on the pier are red and have three bulbs.", "s1")
    assert ask(coding, "what is left to do?").included_memories == (left.id,)
    told = ask(coding, "what's left for the footer of the invoice?", "another").included_memories
    assert told[0] == left.id
    assert set(told) <= {left.id, invoice.id}


def test_without_a_subject_only_the_time_asked_for_counts(coding, say, clock):
    say("The crane on the quay was repaired and tested.", "s1")
    clock.advance(days=30)
    done = say("The bell of the lighthouse was repaired and tested.", "s2")
    clock.advance(days=1)
    assert ask(coding, "what did we do yesterday?").included_memories == (done.id,)


def test_the_last_session_s_summary_is_not_told_with_what_is_left(engine, say):
    left = say("Still open: the footer of the invoice.", "s1")
    summary = engine.remember(
        "Set the prefix of invoices.", "shop", kind="summary", session="s0", source=AGENT
    )
    coding = InjectionPipeline(engine, last_session=lambda workspace, session: summary, zone=UTC)
    assert ask(coding, "what is left?").included_memories == (left.id,)
    assert "prefix" not in ask(coding, "what is left?", "another").formatted_context
