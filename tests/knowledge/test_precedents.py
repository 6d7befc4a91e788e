from __future__ import annotations

import pytest

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.knowledge.experiences import Experiences
from foreword.knowledge.precedents import PRECEDENT_FLOOR, Failure, find_precedents


def test_the_words_of_a_failure_are_what_it_says_and_not_what_every_runner_prints():
    failure = Failure(
        ("tests/test_pool.py::test_gives_back",),
        "E   AssertionError: assert 3 == 0\nsrc/shop/pool.py:41: ConnectionLeak",
        files=("src/shop/pool.py",),
    )
    assert failure.words.split() == ["gives", "back", "pool", "Connection", "Leak"]


def test_a_failure_of_which_only_the_command_is_known_asks_by_that():
    assert Failure(command="make firmware").words == "make firmware"
    assert Failure(command="make firmware").lines == "make firmware"


@pytest.mark.parametrize("nothing", [Failure(), Failure(error="  ")])
def test_no_failure_is_no_question(engine, experiences, nothing):
    assert not nothing
    assert find_precedents(engine, experiences, "shop", nothing) == []


def test_the_nearest_comes_first_and_a_stranger_stays_below_the_floor(
    engine, experiences, live_experience, embed
):
    near = live_experience(
        "falsified", goal="the seat map is empty", hypothesis="tiles expired",
        surprise="tiles expired at noon", root_cause=("oversight", "tiles expired in the cache"),
    )  # fmt: skip
    live_experience(
        "falsified", goal="the invoice is late", hypothesis="cron died", surprise="cron was paused"
    )
    embed()
    found = find_precedents(engine, experiences, "shop", Failure(error="tiles expired: seat map is empty"))
    assert found[0].memory.metadata["experience"] == near.id
    assert found[0].score >= PRECEDENT_FLOOR > found[1].score
    (strange, *_) = find_precedents(engine, experiences, "shop", Failure(error="zebra crossing unpainted"))
    assert strange.score < PRECEDENT_FLOOR


def test_a_part_that_is_to_the_point_counts_however_long_the_story_around_it_is(
    engine, experiences, live_experience, embed
):
    around = "the nightly report of the depot was late again and nobody could print labels for hours"
    pointed = live_experience(
        "falsified", goal=around, hypothesis=f"{around} twice", surprise="tiles expired in the seat map"
    )
    live_experience(
        "falsified", goal=f"{around} tiles", hypothesis=f"{around} expired", surprise=f"{around} seat map"
    )
    embed()
    failure = Failure(error="tiles expired in the seat map")
    found = find_precedents(engine, experiences, "shop", failure)
    assert found[0].memory.metadata["experience"] == pointed.id
    assert found[0].score > found[1].score + 0.05  # as whole stories they are as near as each other
    assert found[0].scores["full"] < found[1].scores["full"] + 0.01
    assert find_precedents(engine, experiences, "shop", failure) == found


def test_without_an_encoder_precedents_are_found_by_words(home):
    settings = Settings(home=home, embedding="none")
    with ContextEngine(settings=settings) as engine:
        experiences = Experiences(engine)
        begun = experiences.start(
            "shop", domain="debugging", strategy="read-the-error", goal="tiles expired in the seat map",
            hypothesis="cache", action="flush it", prediction="full map",
        )  # fmt: skip
        experiences.resolve("shop", begun.id, "confirmed", "it is full")
        (found,) = find_precedents(engine, experiences, "shop", Failure(error="seat map tiles expired"))
        assert found.memory.metadata["experience"] == begun.id


def test_a_takeaway_is_found_by_its_words(experiences, engine, begin, embed):
    from foreword.knowledge.experience import Lesson

    begun = begin()
    experiences.resolve(
        "shop", begun.id, "confirmed", "It held.", lesson=Lesson("Asking.", "Beware of zebras.")
    )
    embed()
    for axis in ("full", "strategy"):
        (found, *_) = experiences.search_axis("shop", "zebras", axis)
        assert found.score > 0, axis
