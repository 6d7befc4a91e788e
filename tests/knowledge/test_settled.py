from __future__ import annotations

import pytest

from foreword.knowledge.settled import (
    find_what_statement_settles,
    load_settled_weights,
    statement_features,
    weigh_as_settled,
)


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("We decided to keep the old quay.", "decision"),
        ("Let's go with NATS.", "decision"),
        ("Decision: the archive stays in Bremen.", "decision"),
        ("Store the upload id in Postgres.", "decision"),
        ("Never push straight to main.", "rule"),
        ("Don't start a server in the tests.", "rule"),
        ("From now on every migration gets a down step.", "rule"),
        ("We deploy on Tuesdays.", "rule"),
        ("I prefer short answers.", "preference"),
        ("Wir haben uns auf Lissabon geeinigt.", "decision"),
        ("On ne déploie jamais le vendredi.", "rule"),
        ("Prefiero respuestas cortas.", "preference"),
    ],
)
def test_what_settles_something(statement, kind):
    assert find_what_statement_settles(statement) == kind


@pytest.mark.parametrize(
    "statement",
    [
        "Summarise what we decided this week.",
        "What did we decide about the quay?",
        "Not done yet: the decision about the index.",
        "It has not been decided who pays.",
        "Maybe we should go with Lisbon.",
        "He decided to leave the company.",
        "The parser never returns None here.",
        "Don't worry about the warning.",
        "never mind",
        "Don't start now.",
        "Please do not deploy it just yet, I only want it noted.",
        "no, wait",
        "",
    ],
)
def test_what_settles_nothing(statement):
    assert find_what_statement_settles(statement) == ""


def test_an_agent_is_believed_only_in_what_was_agreed():
    assert find_what_statement_settles("We agreed to keep the v1 endpoint.", by_agent=True) == "decision"
    assert find_what_statement_settles("I'll use grep to find the callers.", by_agent=True) == ""
    assert find_what_statement_settles("Never push straight to main.", by_agent=True) == ""


def test_a_terse_statement_is_weighed_by_its_words():
    statement = "shadows: 4 cascades max, 2048 each, only for the sun"
    assert weigh_as_settled(statement) >= load_settled_weights().threshold
    assert find_what_statement_settles(statement) == "decision"
    assert weigh_as_settled("ok") == float("-inf")


def test_numbers_are_all_alike():
    assert statement_features("limit 5") == statement_features("limit 70")
