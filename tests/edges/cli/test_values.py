from __future__ import annotations

import pytest

from foreword.config import load
from foreword.engine.context_engine import ContextEngine
from foreword.knowledge.experience import RootCause
from foreword.knowledge.experiences import Experiences
from foreword.testing import HashEmbeddings

GROUPS = (
    ["clock", "drift", "container", "synchronised", "time"],
    ["stale", "cache", "entry", "invalidation", "key"],
    ["deadlock", "transaction", "lock", "order", "rows"],
)


@pytest.fixture
def learnt(foreword, monkeypatch):
    """A workspace `shop` with eight failures of each of three kinds, and an encoder."""
    monkeypatch.setattr("foreword.engine.context_engine._provider", lambda _settings: HashEmbeddings())
    monkeypatch.delenv("FOREWORD_EMBEDDING")
    with ContextEngine(settings=load()) as engine:
        experiences = Experiences(engine)
        for words in GROUPS:
            for number in range(8):
                told = " ".join(words[: 3 + number % 3])
                begun = experiences.start(
                    "shop",
                    domain="debugging",
                    strategy="read-the-error",
                    goal=f"{told} case {number}",
                    hypothesis=told,
                    action="Look.",
                    prediction="It passes.",
                )
                experiences.resolve(
                    "shop",
                    begun.id,
                    "falsified",
                    "No.",
                    surprise=told,
                    root_cause=RootCause("oversight", told),
                )


@pytest.mark.parametrize("command", ["list", "clusters", "propose"])
def test_every_subcommand_explains_itself_and_ends_with_an_example(foreword, command):
    ran = foreword("values", command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert "--workspace" in ran.out
    assert f"foreword values {command}" in ran.out.partition("Example:")[2]


def test_a_value_is_proposed_for_what_experiences_have_in_common(foreword, learnt):
    ran = foreword("values", "clusters", "--axis", "root_cause", "-w", "shop")
    assert (ran.code, ran.err) == (0, "")
    assert [line.split()[0] for line in ran.out.splitlines() if not line.startswith(" ")] == [
        "root_cause_0",
        "root_cause_1",
        "root_cause_2",
    ]
    ran = foreword(
        "values", "propose", "root_cause_0", "The clock drift container synchronised.", "-w", "shop"
    )
    assert ran.code == 0, ran.err
    name = ran.out.strip()
    listed = foreword("values", "list", "-w", "shop", "--json").json
    assert [one["id"] for one in listed] == [name]
    assert listed[0]["metadata"]["cluster_id"] == "root_cause_0"
    assert listed[0]["source"]["trust"] == "user"
    shown = foreword("values", "list", "-w", "shop").out
    assert "clock drift container" in shown
    assert "root_cause, from 8 experiences" in shown


def test_a_value_beside_the_point_is_refused_with_its_distance(foreword, learnt):
    ran = foreword("values", "propose", "root_cause_0", "Feed the sheep.", "-w", "shop")
    assert (ran.code, ran.out) == (2, "")
    assert "too far from root_cause_0" in ran.err


def test_clusters_in_json_have_their_numbers(foreword, learnt):
    found = foreword("values", "clusters", "--axis", "surprise", "-w", "shop", "--json").json
    assert (found["axis"], found["experiences"]) == ("surprise", 24)
    assert all(one["size"] == len(one["members"]) for one in found["clusters"])


def test_few_experiences_are_too_few(foreword, learnt):
    ran = foreword("values", "clusters", "-w", "elsewhere")
    assert (ran.code, ran.out) == (1, "")
    assert "clusters need 20" in ran.err


def test_no_value_yet_is_exit_code_1_and_says_what_to_do(foreword):
    ran = foreword("values", "list", "-w", "shop")
    assert (ran.code, ran.out) == (1, "")
    assert "foreword values clusters -w shop" in ran.err


def test_without_an_encoder_there_are_no_clusters(foreword):
    ran = foreword("values", "clusters")
    assert (ran.code, ran.out) == (4, "")
    assert "encoder" in ran.err


@pytest.mark.parametrize("arguments", [[], ["propose"], ["propose", "x"], ["clusters", "--axis", "z"]])
def test_wrong_usage_is_exit_code_2(foreword, arguments):
    ran = foreword("values", *arguments)
    assert (ran.code, ran.out) == (2, "")
