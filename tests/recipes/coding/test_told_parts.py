from __future__ import annotations

from datetime import timedelta
from itertools import count

import pytest

from foreword.capture.agent import AgentEvent
from foreword.recipes.coding.told_parts import ToldParts, was_told_before

NAME = "test_refund_of_a_voucher"
QUESTION = "Which test of the voucher refund failed yesterday?"


@pytest.fixture
def tell(clock, folder, companion):
    """Say, keep and deliver, as a hook does, a second after the event before."""
    seconds = count(1)

    def handle(name, session="monday", **facts):
        at = clock.now + timedelta(seconds=next(seconds))
        event = AgentEvent(name=name, at=at, session=session, folder=folder, **facts)
        saying = companion.say(event)
        companion.keep(event)
        companion.note_delivered(saying)
        return saying.text

    return handle


@pytest.fixture
def failed_run(tell):
    """A run of tests in a session that is over."""
    output = f"FAILED tests/test_checkout.py::{NAME} - the voucher refund failed\n1 failed, 1 passed in 0.10s"
    ran = {"command": "pytest -q"}
    tell("PostToolUse", tool="Bash", tool_input=ran, tool_output=output, outcome="exit 1")
    tell("SessionEnd")


def test_a_run_that_was_only_counted_can_still_answer(failed_run, tell):
    start = tell("SessionStart", session="tuesday", source="startup")
    assert "Open: pytest -q: 1 failed, 1 passed" in start
    assert NAME not in start
    assert NAME in tell("UserPromptSubmit", session="tuesday", prompt=QUESTION)


def test_once_it_was_told_whole_it_is_not_told_again(failed_run, tell):
    tell("SessionStart", session="tuesday", source="startup")
    tell("UserPromptSubmit", session="tuesday", prompt=QUESTION)
    again = "Say once more which test of the voucher refund has failed"
    assert NAME not in tell("UserPromptSubmit", session="tuesday", prompt=again)


@pytest.mark.parametrize(("source", "told_again"), [("resume", False), ("compact", True), ("clear", True)])
def test_a_count_is_told_again_only_to_a_context_that_was_emptied(failed_run, tell, source, told_again):
    tell("SessionStart", session="tuesday", source="startup")
    start = tell("SessionStart", session="tuesday", source=source)
    assert ("Open: pytest -q: 1 failed" in start) is told_again


def test_a_brief_of_a_few_words_leaves_the_rest_to_be_told(engine, folder, tell):
    first = "Before you run the deploy script of the shop, ask Ana, because the deploy script of the shop "
    engine.remember(first + "restarts every worker at once and the night shift is paged by zeppelin.", folder)
    given = {"command": "./deploy-script --shop"}
    brief = tell("PreToolUse", tool="Bash", tool_input={**given, "description": "run the deploy script"})
    assert "ask Ana" in brief
    assert "zeppelin" not in brief
    prompt = "What does the deploy script of the shop restart, and who is paged?"
    assert "zeppelin" in tell("UserPromptSubmit", prompt=prompt)
    again = tell("PreToolUse", tool="Bash", tool_input={**given, "description": "run the deploy script"})
    assert again == ""


def test_words_were_told_if_each_statement_was():
    told = {"a": ("Open: the heron ending.", "The map is built")}
    assert was_told_before(told, "a", "the map is built … The heron ending.")
    assert not was_told_before(told, "a", "The map is built … The lamps are renamed.")
    assert not was_told_before(told, "b", "The map is built")
    assert not was_told_before({}, "a", "")


def test_parts_are_of_one_context_of_one_workspace():
    parts = ToldParts()
    parts.add("shop", "monday", [("a", "one")])
    parts.add("shop", "monday", [("a", "two")])
    assert parts.list_shown_parts_by_item("shop", "monday") == {"a": ("one", "two")}
    assert (
        parts.list_shown_parts_by_item("shop", "tuesday")
        == parts.list_shown_parts_by_item("depot", "monday")
        == {}
    )
    parts.clear("shop", "monday")
    assert parts.list_shown_parts_by_item("shop", "monday") == {}
