from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest

from foreword.capture.agent import AgentEvent
from foreword.knowledge.open_ends import list_open_ends
from foreword.recipes.coding.companion import CodingCompanion
from foreword.recipes.coding.repeats import have_same_wording
from foreword.store.base import Amend, Delete
from foreword.types import Filters

FAILS, PASSES = "1 failed, 3 passed in 0.10s", "4 passed in 0.12s"
TUESDAYS, THURSDAYS = "We deploy on Tuesdays.", "We deploy on Thursdays from now on."


@pytest.fixture
def tell(engine, clock, folder):
    """Keep an event a second after the one before, and return it."""
    companion, seconds = CodingCompanion(engine), count(1)

    def keep(name, session="monday", folder=folder, **facts):
        at = clock.now + timedelta(seconds=next(seconds))
        event = AgentEvent(name=name, at=at, session=session, folder=folder, **facts)
        companion.keep(event)
        return event

    keep.again = companion.keep
    return keep


@pytest.fixture
def prompt(tell):
    return lambda text, **facts: tell("UserPromptSubmit", prompt=text, **facts)


@pytest.fixture
def run(tell):
    def ran(output, command="pytest tests", **facts):
        return tell("PostToolUse", tool="Bash", tool_input={"command": command}, tool_output=output, **facts)

    return ran


def list_turns(engine, folder):
    return list(engine.store.scan(folder, Filters(kinds=("turn",))))


def list_open_texts(engine, folder):
    return [end.text for end in list_open_ends(engine.store, folder)]


def test_what_is_said_twice_in_a_row_is_stored_once(engine, folder, prompt, run):
    for _ in range(3):
        prompt("Follow the house  style.")
        prompt("follow the house style.")
    for seconds in ("3.21s", "4.90s"):
        run(f"42 passed in {seconds}", "make test")
    assert len(list_turns(engine, folder)) == 2


def test_the_same_event_delivered_twice_is_stored_once(engine, folder, tell, prompt):
    event = prompt(TUESDAYS)
    tell.again(event)
    assert len(list_turns(engine, folder)) == 1


def test_tests_that_pass_again_close_the_failure_in_between(engine, folder, run):
    for output in (PASSES, FAILS, PASSES):
        run(output)
    assert list_open_texts(engine, folder) == []


@pytest.mark.parametrize("command", ["pytest tests", "pytest -x tests/unit"])
def test_tests_that_fail_again_are_open_again(engine, folder, run, command):
    run(FAILS)
    run(PASSES, command)
    run(FAILS)
    assert len(list_open_texts(engine, folder)) == 1


def test_a_failure_is_open_again_though_another_session_saw_the_tests_pass(engine, folder, run):
    run(FAILS)
    run(PASSES, session="beside")
    run(FAILS)
    assert len(list_open_texts(engine, folder)) == 1


def test_a_failure_that_somebody_closed_is_open_again_once_it_comes_again(engine, folder, run):
    run(FAILS)
    (failure,) = list_turns(engine, folder)
    closed = Amend(folder, failure.id, metadata={**failure.metadata, "closed": "2026-05-01"})
    engine.store.batch([closed])
    run(FAILS)
    assert len(list_open_texts(engine, folder)) == 1


def test_a_rule_that_holds_again_is_the_last_word(engine, folder, prompt):
    for text in (TUESDAYS, THURSDAYS, TUESDAYS):
        prompt(text)
    turns = sorted(list_turns(engine, folder), key=lambda turn: turn.created_at)
    assert [turn.text for turn in turns] == [TUESDAYS, THURSDAYS, TUESDAYS]


def test_a_task_that_was_done_can_be_left_open_again(engine, folder, tell, prompt):
    prompt("Still to do: the retry of the importer.")
    tell("Stop", message="I added the retry of the importer; that is done.")
    prompt("Still to do: the retry of the importer.")
    assert len(list_turns(engine, folder)) == 3


def test_what_was_forgotten_is_stored_when_it_is_said_again(engine, folder, prompt):
    prompt(TUESDAYS)
    engine.store.batch([Delete(folder, (list_turns(engine, folder)[0].id,))])
    prompt(TUESDAYS)
    assert [turn.text for turn in list_turns(engine, folder)] == [TUESDAYS]


def test_another_repository_has_its_own_turns_though_the_session_has_the_same_name(
    engine, tmp_path, folder, prompt
):
    other = tmp_path / "depot"
    (other / ".git").mkdir(parents=True)
    for place in (folder, str(other)):
        prompt(TUESDAYS, folder=place)
        assert [turn.text for turn in list_turns(engine, place)] == [TUESDAYS]


def test_another_session_and_another_speaker_say_it_for_themselves(engine, folder, tell, prompt):
    prompt(TUESDAYS)
    tell("Stop", message=TUESDAYS)
    tell("Stop", message=TUESDAYS, session="tuesday")
    assert len(list_turns(engine, folder)) == 3


def test_an_event_that_arrives_late_is_compared_with_what_was_before_it(engine, folder, tell, prompt):
    first = prompt(TUESDAYS)
    prompt(THURSDAYS)
    tell.again(replace(first, at=first.at + timedelta(milliseconds=1)))
    assert len(list_turns(engine, folder)) == 2


def test_outputs_that_differ_in_times_alone_are_the_same_only_if_compared_loosely():
    one, two = "[12:00:01] 42 passed in 3.21s", "[12:07:44] 42 passed in 4.02s"
    assert have_same_wording(one, two, loosely=True)
    assert not have_same_wording(one, two)


@pytest.mark.parametrize(
    ("one", "two"), [("timeout of 30 s", "timeout of 60 s"), ("if a < b", "if a > b"), ("port 80", "port 81")]
)
def test_a_small_difference_is_a_difference(one, two):
    assert not have_same_wording(one, two)
