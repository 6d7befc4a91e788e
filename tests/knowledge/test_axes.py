from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from foreword.knowledge import axes
from foreword.knowledge.experience import Experience, Lesson, Outcome, RootCause, experience_to_metadata
from foreword.types import Item

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
OPEN = Experience(
    "id",
    None,
    NOW,
    "debugging",
    "read-the-error",
    "Fix the login.",
    "The token expired.",
    "Renew it.",
    "It works.",
)
FALSIFIED = replace(
    OPEN,
    iteration_count=3,
    outcome=Outcome("falsified", "Still 401.", NOW),
    surprise="The clock was wrong.",
    root_cause=RootCause("environment-issue", "The container had no time."),
    lesson=Lesson("Compare the clocks first.", "Time is an input."),
)


def item(experience):
    return Item(
        axes.describe_whole_experience(experience),
        "shop",
        kind="experience",
        metadata=experience_to_metadata(experience),
    )


def test_the_whole_story():
    assert axes.describe_whole_experience(FALSIFIED) == (
        "Goal: Fix the login.\n"
        "Hypothesis: The token expired.\n"
        "Action: Renew it.\n"
        "Prediction: It works.\n"
        "Outcome: falsified - Still 401.\n"
        "Surprise: The clock was wrong.\n"
        "Root cause: environment-issue - The container had no time.\n"
        "Lesson: Compare the clocks first.\n"
        "Takeaway: Time is an input."
    )
    assert axes.describe_whole_experience(OPEN).endswith("Prediction: It works.")


def test_how_a_strategy_fared():
    assert axes.describe_strategy(FALSIFIED) == (
        "Strategy: read-the-error\n"
        "Applied to: Fix the login.\n"
        "Outcome: falsified after 3 iteration(s)\n"
        "What worked: Compare the clocks first.\n"
        "Takeaway: Time is an input."
    )
    assert "What worked" not in axes.describe_strategy(replace(FALSIFIED, lesson=None))


def test_what_surprised():
    assert axes.describe_surprise(FALSIFIED) == (
        "Expected: It works.\n"
        "Actual: Still 401.\n"
        "Surprise: The clock was wrong.\n"
        "Root cause: environment-issue - The container had no time."
    )
    assert "Root cause" not in axes.describe_surprise(replace(FALSIFIED, root_cause=None))


def test_why_it_failed():
    assert axes.describe_root_cause(FALSIFIED) == (
        "Category: environment-issue\n"
        "Description: The container had no time.\n"
        "Context: debugging - read-the-error\n"
        "Original hypothesis: The token expired.\n"
        "Takeaway: Time is an input."
    )


def test_what_was_learnt_has_no_labels():
    learnt = "The container had no time. Compare the clocks first. Time is an input."
    assert axes.describe_what_was_learnt(FALSIFIED) == learnt
    assert axes.describe_what_was_learnt(OPEN) == ""
    assert axes.learnt_text_of_item(item(FALSIFIED)) == learnt
    assert axes.learnt_text_of_item(Item("text", "shop")) == ""


def test_the_gist_is_one_sentence_of_it():
    assert [axes.describe_in_one_sentence(axis, FALSIFIED) for axis in axes.AXES] == [
        "Time is an input.",
        "read-the-error: Time is an input.",
        "The clock was wrong.",
        "The container had no time.",
    ]
    plain = replace(OPEN, lesson=None)
    assert [axes.describe_in_one_sentence(axis, plain) for axis in axes.AXES] == [
        "Fix the login.",
        "read-the-error: Fix the login.",
        "",
        "",
    ]


@pytest.mark.parametrize("axis", [axis for axis in axes.AXES if axis != "full"])
def test_what_is_open_is_seen_as_a_whole_only(axis):
    assert axes.item_text_on_axis(axis, item(OPEN)) == ""
    assert axes.item_text_on_axis("full", item(OPEN)) == axes.describe_whole_experience(OPEN)


def test_a_view_that_is_empty_does_not_exist():
    plain = item(replace(FALSIFIED, surprise="", root_cause=None))
    assert [axis for axis in axes.AXES if axes.item_text_on_axis(axis, plain)] == ["full", "strategy"]
    assert all(axes.item_text_on_axis(axis, item(FALSIFIED)) for axis in axes.AXES)


def test_what_is_no_experience_is_seen_on_no_axis():
    for other in (
        Item("text", "shop"),
        Item("text", "shop", kind="experience", metadata={"surprise": "boo"}),
    ):
        assert not any(axes.item_text_on_axis(axis, other) for axis in axes.AXES)


def test_every_axis_but_the_whole_and_what_was_learnt_are_views_for_the_embedder():
    shown = {name: view(item(FALSIFIED)) for name, kinds, view in axes.VIEWS if kinds == ("experience",)}
    assert shown == {
        axes.SPACES[axis]: axes.item_text_on_axis(axis, item(FALSIFIED))
        for axis in axes.AXES
        if axis != "full"
    } | {"learnt": axes.describe_what_was_learnt(FALSIFIED)}
    assert axes.SPACES["full"] == "semantic"
