from __future__ import annotations

import secrets

import pytest

from foreword.edges.mcp.experience import ExperienceTools
from foreword.engine.embedder import Embedder
from foreword.errors import ValidationError
from foreword.knowledge import axes
from foreword.knowledge.experiences import Experiences
from foreword.text.frame import wrap_in_frame

BEGUN = {
    "domain": "debugging",
    "strategy": "read-the-error",
    "goal": "Log in again.",
    "hypothesis": "The token expired.",
    "action": "Renew it.",
    "prediction": "200 instead of 401.",
}
WHY = {
    "surprise": "The clock was ahead.",
    "root_cause": "environment-issue",
    "root_cause_description": "The container had no time.",
}


@pytest.fixture
def tools(engine):
    return ExperienceTools(lambda: engine, "shop")


def test_an_experience_goes_its_way(tools, engine):
    begun = tools.experience_start(**BEGUN, session="s1")
    assert (begun.workspace, begun.experience.status, begun.note) == ("shop", "open", "")
    changed = tools.experience_update(begun.experience.id, hypothesis="The clock is wrong.")
    assert (changed.experience.iterations, changed.experience.action) == (2, "Renew it.")
    ended = tools.experience_resolve(
        begun.experience.id, "falsified", "401 still.", **WHY, what_worked="NTP."
    )
    assert ended.experience.root_cause == "environment-issue: The container had no time."
    assert (ended.experience.lesson, ended.experience.tier) == ("NTP.", "silver")
    kept = engine.store.scan("shop")
    assert all((item.source.name, item.source.trust) == ("agent", "agent") for item in kept)


def test_a_strategy_can_be_changed_and_that_is_no_iteration(tools):
    begun = tools.experience_start(**BEGUN).experience
    changed = tools.experience_update(begun.id, strategy="check-assumptions").experience
    assert (changed.strategy, changed.iterations, changed.hypothesis) == (
        "check-assumptions", 1, begun.hypothesis,
    )  # fmt: skip


def test_experiences_are_listed_with_their_ids_the_newest_first(tools, clock):
    first = tools.experience_start(**BEGUN, session="s1").experience
    tools.experience_resolve(first.id, "confirmed", "200.")
    clock.advance(minutes=1)
    second = tools.experience_start(**{**BEGUN, "domain": "testing"}, session="s1").experience
    clock.advance(minutes=1)
    third = tools.experience_start(**BEGUN, session="s2").experience

    def list_ids(**given):
        return [one.id for one in tools.experience_list(**given).experiences]

    assert list_ids() == [third.id, second.id, first.id]
    assert list_ids(status="open") == [third.id, second.id]
    assert list_ids(status="open", session="s1") == [second.id]
    assert list_ids(domain="debugging", limit=1) == [third.id]
    assert list_ids(strategy="ask-user") == list_ids(workspace="elsewhere") == []


def test_an_id_that_is_unknown_is_answered_with_a_way_to_see_them(tools):
    with pytest.raises(ValidationError, match="list them to see their ids"):
        tools.experience_update("nobody", note="x")


def test_agents_that_name_no_session_do_not_block_each_other_and_see_what_is_open(tools, clock):
    first = tools.experience_start(**BEGUN)
    assert first.note == ""
    clock.advance(minutes=1)
    second = tools.experience_start(**{**BEGUN, "goal": "Log out again."})
    assert second.experience.status == "open"
    assert f"{first.experience.id} (Log in again.)" in second.note
    for number in range(3):
        clock.advance(minutes=1)
        last = tools.experience_start(**{**BEGUN, "goal": f"Another {number}."})
    assert "and 1 more" in last.note
    assert tools.experience_start(**BEGUN, session="s1").note == ""


def test_what_a_run_left_unexplained_is_asked_for(tools, engine):
    begun = tools.experience_start(**BEGUN, session="s1").experience
    Experiences(engine).resolve("shop", begun.id, "falsified", "pytest: 1 failed", auto_captured=True)
    half = tools.experience_resolve(begun.id, "falsified", **WHY)
    assert (half.experience.lacks, half.note, half.experience.tier) == ([], "", "silver")


def test_a_verdict_can_be_amended_with_a_reason(tools):
    begun = tools.experience_start(**BEGUN, session="s1").experience
    tools.experience_resolve(begun.id, "confirmed", "200.", what_worked="NTP.", takeaway="Renew early.")
    with pytest.raises(ValidationError, match="surprise"):
        tools.experience_amend(begun.id, "falsified", "It was the cache.")
    changed = tools.experience_amend(begun.id, "falsified", "It was the cache.", **WHY).experience
    assert (changed.status, changed.takeaway) == ("falsified", "Renew early.")
    assert tools.experience_amend(begun.id, "open", "Not sure.").experience.status == "open"


def test_the_past_is_found_by_axis_and_filter(tools, engine):
    begun = tools.experience_start(**BEGUN).experience
    tools.experience_resolve(begun.id, "falsified", "401 still.", **WHY)
    Embedder(engine.store, engine.kit.encoder, axes.VIEWS).embed_missing("shop")
    found = tools.experience_search("the clock was ahead", "surprise", domain="debugging").experiences
    assert [one.id for one in found] == [begun.id]
    assert 0 < found[0].score <= 1
    assert tools.experience_search("the clock", "surprise", domain="security").experiences == []
    assert tools.experience_search("the clock", workspace="elsewhere").experiences == []


def test_what_is_told_to_an_agent_cannot_pass_for_structure(tools):
    told = tools.experience_start(
        **{**BEGUN, "goal": "x" * 2_000 + "\n# Heading\n<foreword-context>"}
    ).experience
    assert "\n" not in told.goal
    assert len(told.goal) <= 600


def test_secrets_and_what_memory_had_said_are_left_out(tools, engine):
    key = "ghp_" + secrets.token_hex(18)
    goal = f"Use {key} to log in. {wrap_in_frame('Deploys are on Tuesdays.')}"
    tools.experience_start(**{**BEGUN, "goal": goal})
    kept = "\n".join(engine.export("shop"))
    assert key not in kept
    assert "Tuesdays" not in kept


@pytest.mark.parametrize(
    "given",
    [
        {"status": "falsified", "result": "x"},
        {"status": "falsified", "result": "x", "surprise": "y", "root_cause": "oversight"},
        {"status": "falsified", "result": "x", "surprise": "y", "root_cause_description": "z"},
        {"status": "confirmed", "result": "x", "takeaway": "only this"},
        {"status": "confirmed"},
    ],
)
def test_half_an_ending_is_refused(tools, given):
    begun = tools.experience_start(**BEGUN).experience
    with pytest.raises(ValidationError):
        tools.experience_resolve(begun.id, **given)


def test_clusters_and_values_are_reached_when_there_are_enough(tools, engine):
    few = tools.value_clusters("root_cause")
    assert (few.clusters, "need 20" in few.note) == ([], True)
    groups = (
        ["clock", "drift", "container", "time"],
        ["stale", "cache", "entry", "key"],
        ["lock", "rows", "order"],
    )
    for words in groups:
        for number in range(8):
            told = " ".join(words[: 2 + number % (len(words) - 1)])
            begun = tools.experience_start(
                **{**BEGUN, "goal": f"{told} {number}", "hypothesis": told}
            ).experience
            tools.experience_resolve(
                begun.id,
                "falsified",
                "no",
                surprise=told,
                root_cause="oversight",
                root_cause_description=told,
            )
    Embedder(engine.store, engine.kit.encoder, axes.VIEWS).embed_missing("shop")
    found = tools.value_clusters("root_cause")
    assert [one.cluster for one in found.clusters] == ["root_cause_0", "root_cause_1", "root_cause_2"]
    assert all(len(one.typical) == 5 for one in found.clusters)
    kept = tools.value_propose("root_cause_0", "The clock drift container.")
    assert (kept.cluster, kept.text) == ("root_cause_0", "The clock drift container.")
    assert 0 < kept.similarity <= 1
    with pytest.raises(ValidationError, match="too far"):
        tools.value_propose("root_cause_0", "Feed the sheep.")
