from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.errors import ValidationError
from foreword.knowledge.evidence import Evidence
from foreword.knowledge.experience import (
    CAUSES,
    DOMAINS,
    OPEN_WEIGHT,
    STATUSES,
    STRATEGIES,
    TIER_WEIGHTS,
    TIERS,
    Experience,
    HistoryEntry,
    Lesson,
    Outcome,
    RootCause,
    check_text,
    experience_to_metadata,
    is_vague_hypothesis,
    outcome_tier,
    read_experience,
)
from foreword.types import Item

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
PLAIN = Experience(
    "id",
    "s1",
    NOW,
    "debugging",
    "read-the-error",
    "Fix the login.",
    "The token expired.",
    "Renew it.",
    "It works.",
)
ENDED = replace(PLAIN, outcome=Outcome("confirmed", "It worked.", NOW))


def held(experience):
    return Item("text", "shop", kind="experience", session="s1", metadata=experience_to_metadata(experience))


def test_the_words_are_those_of_the_origin():
    assert len(DOMAINS) == len(STRATEGIES) == len(CAUSES) == 9
    assert STATUSES == ("confirmed", "falsified", "abandoned")
    assert TIERS == ("gold", "silver", "bronze", "abandoned")
    assert [*TIER_WEIGHTS.values(), OPEN_WEIGHT] == [1.0, 0.8, 0.5, 0.2, 0.5]


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40)
MOMENT = st.datetimes(timezones=st.just(UTC))


@given(
    st.builds(
        Experience,
        id=TEXT,
        session=st.just("s1"),
        created_at=MOMENT,
        domain=st.sampled_from(DOMAINS),
        strategy=st.sampled_from(STRATEGIES),
        goal=TEXT,
        hypothesis=TEXT,
        action=TEXT,
        prediction=TEXT,
        history=st.lists(st.builds(HistoryEntry, MOMENT, TEXT, TEXT, TEXT), max_size=3).map(tuple),
        iteration_count=st.integers(1, 100),
        outcome=st.none() | st.builds(Outcome, st.sampled_from(STATUSES), TEXT, MOMENT, st.booleans()),
        surprise=st.just("") | TEXT,
        root_cause=st.none() | st.builds(RootCause, st.sampled_from(CAUSES), TEXT),
        lesson=st.none() | st.builds(Lesson, TEXT, st.just("") | TEXT),
        tier=st.none() | st.sampled_from(TIERS),
        notes=st.lists(TEXT, max_size=3).map(tuple),
    )
)
def test_an_experience_survives_its_way_through_metadata(experience):
    shown = experience.outcome is None or experience.outcome.proof == "failed then passed"
    tier = "silver" if experience.tier == "gold" and not shown else experience.tier
    assert read_experience(held(experience)) == replace(experience, tier=tier)


@pytest.mark.parametrize("key", sorted(experience_to_metadata(ENDED)))
@pytest.mark.parametrize("value", [None, 7, "nonsense", [], {"status": "gone"}])
def test_metadata_that_was_written_over_never_breaks_a_reader(key, value):
    item = held(ENDED)
    read = read_experience(replace(item, metadata={**item.metadata, key: value}))
    assert read is None or isinstance(read, Experience)
    gone = {name: one for name, one in item.metadata.items() if name != key}
    assert read_experience(replace(item, metadata=gone)) is None


def test_a_statement_of_that_kind_is_no_experience():
    assert read_experience(Item("We tried a cache once.", "shop", kind="experience")) is None
    assert read_experience(replace(held(PLAIN), kind="memory")) is None


def test_a_tier_says_who_told_the_outcome():
    assert outcome_tier(PLAIN) is None
    assert outcome_tier(ENDED) == "silver"
    green = Outcome("confirmed", "x", NOW, auto_captured=True, proof="passed after the change")
    assert outcome_tier(replace(ENDED, outcome=green)) == "silver"
    assert outcome_tier(replace(ENDED, outcome=replace(green, proof="failed then passed"))) == "gold"
    assert outcome_tier(replace(ENDED, outcome=Outcome("abandoned", "x", NOW))) == "abandoned"
    assert outcome_tier(replace(ENDED, hypothesis="Maybe something is wrong.")) == "bronze"


@pytest.mark.parametrize(
    ("hypothesis", "goal", "little"),
    [
        ("Maybe it works.", "Fix the login.", True),
        ("The login is broken.", "Fix the login.", True),
        ("The token expired.", "Fix the login.", False),
        ("The cache is stale.", "Make the page faster.", False),
        ("???", "Fix the login.", True),
    ],
)
def test_a_hypothesis_that_adds_nothing_is_a_guess(hypothesis, goal, little):
    assert is_vague_hypothesis(hypothesis, goal) is little


def test_what_is_falsified_lacks_what_nobody_has_told():
    falsified = replace(ENDED, outcome=Outcome("falsified", "x", NOW, auto_captured=True))
    assert falsified.lacks == ("surprise", "root_cause")
    assert replace(falsified, surprise="It was cached.").lacks == ("root_cause",)
    told = replace(falsified, surprise="x", root_cause=RootCause("oversight", "y"))
    assert told.lacks == ENDED.lacks == PLAIN.lacks == ()


@pytest.mark.parametrize("text", ["", "  ", None, 3, "a\0b", "\ud800", "x" * 5000])
def test_what_is_no_text_is_refused_with_its_name(text):
    with pytest.raises(ValidationError, match="goal"):
        check_text("goal", text)


def test_nothing_that_was_stored_before_proofs_is_gold():
    item = held(replace(ENDED, tier="gold"))
    del item.metadata["outcome"]["proof"], item.metadata["outcome"]["names"]
    assert read_experience(item).tier == "silver"


def test_what_a_run_confirmed_lacks_its_root_cause_if_something_had_failed():
    green = Outcome("confirmed", "x", NOW, auto_captured=True, proof="passed after the change")
    assert replace(PLAIN, outcome=green).lacks == ()
    red = Evidence(NOW, "run", "pytest: 1 failed")
    assert replace(PLAIN, outcome=green, evidence=(red,)).lacks == ("root_cause",)
    assert replace(PLAIN, outcome=replace(green, names=("test_a",))).lacks == ("root_cause",)
    told = replace(PLAIN, outcome=green, evidence=(red,), root_cause=RootCause("oversight", "y"))
    assert told.lacks == replace(ENDED, evidence=(red,)).lacks == ()
