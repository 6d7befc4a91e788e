from __future__ import annotations

from datetime import UTC, datetime

import pytest

from foreword.engine.receipt_story import describe_receipt
from foreword.types import Entry, Item, Receipt, StageTime

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
ITEMS = {
    one.id: one
    for one in (
        Item("Billing runs on Mondays.", "shop", id="old", superseded_by="new"),
        Item("Billing runs on Thursdays.", "shop", id="new", created_at=datetime(2026, 5, 3, 12, tzinfo=UTC)),
    )
}  # fmt: skip


def tell(*entries, query="When does billing run?", items=ITEMS):
    stages = (StageTime("retrieve", 3.0), StageTime("drop_below_floor", 0.1))
    receipt = Receipt("r", "shop", NOW, query, "chat", 400, 40, stages=stages, entries=entries)
    return describe_receipt(receipt, lambda *names: [items.get(name) for name in names])


def entry(name, decision, detail="", score=0.5, **ranks):
    return Entry(name, "memory", decision, detail, score=score, ranks=ranks)


def test_a_sentence_says_which_words_are_shared_and_how_near_it_is_in_meaning():
    (said,) = tell(entry("new", "injected", lexical=2, semantic=1)).said
    assert said.sentence == "shares ‘billing’ and ‘run’, closest in meaning"


def test_a_sentence_says_when_and_by_what_it_was_replaced():
    (left,) = tell(entry("old", "superseded", "new", lexical=1, semantic=1)).left_out
    assert left.sentence == (
        "shares ‘billing’ and ‘run’, closest in meaning; "
        "left out: replaced on 3 May by “Billing runs on Thursdays.”"
    )


def test_what_is_just_below_the_floor_is_not_said_to_have_what_the_floor_has():
    (left,) = tell(entry("new", "below floor", "0.03996 < 0.04", score=0.03996)).left_out
    assert left.left_out == "it is a little less likely to help than the floor, 4 %"


@pytest.mark.parametrize(
    ("decision", "detail", "sentence"),
    [
        ("below floor", "0.03 < 0.04", "it is 3 % likely to help, and the floor is 4 %"),
        ("duplicate", "new", "it says the same as “Billing runs on Thursdays.”"),
        ("duplicate", "told after new", "it says the same as “Billing runs on Thursdays.”"),
        ("duplicate", "of the question", "it repeats the question"),
        ("superseded", "new, as the reader sees it", "replaced on 3 May by “Billing runs on Thursdays.”"),
        ("superseded", "told as history", "it is told as what held before"),
        ("already in context", "", "the agent has it before it already"),
        ("over budget", "needs 52, 16 left", "there was no room (needs 52, 16 left)"),
        ("over limit", "limit 5", "5 surer ones were enough"),
        ("over limit", "better ones were told", "surer ones were enough"),
        ("no answer", "states nothing of its own", "it asks or sums up, and states nothing of its own"),
        ("foreign workspace", "", "it belongs to another project"),
    ],
)
def test_every_reason_is_said_in_plain_words(decision, detail, sentence):
    (left,) = tell(entry("new", decision, detail, score=0.03)).left_out
    assert left.left_out == sentence


def test_near_misses_come_first_and_what_was_not_even_read_last():
    story = tell(
        entry("unread", "over limit", "not among the 20 read", score=0.9),
        entry("far", "below floor", "0.01 < 0.04", score=0.01),
        entry("near", "below floor", "0.037 < 0.04", score=0.037),
        entry("nearer", "over limit", "better ones were told", score=0.06),
        items={},
    )
    assert [one.entry.item_id for one in story.near_misses] == ["nearer", "near"]
    assert [one.entry.item_id for one in story.others] == ["far", "unread"]
    assert story.floor == 0.04


def test_the_shares_of_the_spaces_add_up():
    (said,) = tell(entry("new", "injected", lexical=2, semantic=1, recency=1)).said
    assert dict(said.parts) == {"semantic": pytest.approx(2 / 3), "lexical": pytest.approx(1 / 3)}


def test_what_was_forgotten_since_has_no_text_and_still_a_reason():
    (left,) = tell(entry("gone", "below floor", "0.01 < 0.04", score=0.01)).left_out
    assert left.text is None
    assert "1 % likely" in left.sentence


def test_silence_is_summed_up_as_such():
    assert tell().summary.startswith("Nothing was found")
    assert tell(entry("new", "below floor", "0.01 < 0.04")).summary.startswith("Nothing was said")


@pytest.mark.parametrize(
    ("decision", "summary"),
    [
        ("below floor", "of 2 candidates none was good enough."),
        ("over budget", "of 2 candidates the best did not fit into the budget."),
        ("already in context", "of 2 candidates the agent had the best already."),
    ],
)
def test_silence_is_explained_by_what_became_of_the_best_answer(decision, summary):
    question = entry("old", "no answer", "states nothing of its own", score=0.9)
    assert tell(question, entry("new", decision, score=0.6)).summary == f"Nothing was said: {summary}"


def test_a_bar_has_the_colours_of_what_its_sentence_names():
    (said,) = tell(entry("new", "injected", lexical=1, semantic=1, graph=1)).said
    assert dict(said.parts) == {"semantic": 0.5, "lexical": 0.5}
    (neighbour,) = tell(entry("new", "injected", graph=3)).said
    assert dict(neighbour.parts) == {"graph": 1.0}
    assert neighbour.sentence == "stands next to something that was found"
