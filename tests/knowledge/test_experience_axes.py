"""Finding experiences by axis: what they were about, tried, were surprised by, and failed of."""

from __future__ import annotations

import pytest

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.errors import EmbeddingError, ValidationError
from foreword.knowledge.experience import RootCause
from foreword.knowledge.experiences import Experiences
from foreword.testing import HashEmbeddings

BEGUN = {
    "domain": "debugging",
    "strategy": "root-cause-analysis",
    "goal": "Fix the double charge at checkout.",
    "hypothesis": "The retry sends the payment again without an idempotency key.",
    "action": "Send the order id as the key.",
    "prediction": "test_retry charges once.",
}
CAUSE = RootCause("wrong-assumption", "The gateway retries too.")


def goals(results):
    return [result.memory.metadata["goal"] for result in results]


@pytest.fixture
def past_experiences(live_experience, embed):
    live_experience(
        "falsified",
        goal="Stop the flaky login test.",
        hypothesis="The database is slow.",
        surprise="The clock jumped backwards.",
        root_cause=("timing-issue", "The container synchronised its clock."),
    )
    live_experience(
        "falsified",
        goal="Make the search page faster.",
        domain="performance",
        strategy="trial-and-error",
        hypothesis="The index is missing.",
        surprise="The planner ignored the index.",
        root_cause=("missing-knowledge", "Statistics were never gathered."),
    )
    live_experience(
        "confirmed", goal="Rotate the signing keys.", domain="security", strategy="research-first"
    )
    live_experience("abandoned", goal="Rotate the logs.", domain="configuration", result="No time.")
    embed()


def test_each_axis_finds_by_what_it_is_about(experiences, past_experiences):
    def best(query, axis):
        return goals(experiences.search_axis("shop", query, axis, limit=1))

    assert best("signing keys", "full") == ["Rotate the signing keys."]
    assert best("research first", "strategy") == ["Rotate the signing keys."]
    assert best("the clock jumped", "surprise") == ["Stop the flaky login test."]
    assert best("statistics gathered", "root_cause") == ["Make the search page faster."]


def test_what_says_nothing_on_an_axis_is_not_found_there(experiences, past_experiences):
    assert len(experiences.search_axis("shop", "keys", "full")) == 4
    assert len(experiences.search_axis("shop", "keys", "strategy")) == 4
    assert len(experiences.search_axis("shop", "keys", "surprise")) == 2
    assert len(experiences.search_axis("shop", "keys", "root_cause")) == 2


def test_scores_fall_and_ranks_count(experiences, past_experiences):
    results = experiences.search_axis("shop", "rotate the keys", "full")
    assert [result.ranks["full"] for result in results] == [1, 2, 3, 4]
    scores = [result.score for result in results]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_every_filter_of_an_axis_holds(experiences, past_experiences):
    def find_goals(axis="full", **filters):
        return goals(experiences.search_axis("shop", "anything at all", axis, **filters))

    assert find_goals(domain="performance") == ["Make the search page faster."]
    assert find_goals(outcome="abandoned") == ["Rotate the logs."]
    assert set(find_goals(outcome="falsified")) == {
        "Stop the flaky login test.",
        "Make the search page faster.",
    }
    assert find_goals("strategy", strategy="research-first") == ["Rotate the signing keys."]
    assert find_goals("surprise", domain="security") == []
    for wrong in ({"axis": "x"}, {"domain": "x"}, {"strategy": "x"}, {"outcome": "open"}, {"limit": 0}):
        with pytest.raises(ValidationError):
            find_goals(**wrong)


def test_a_filter_loses_no_match_to_many_that_are_nearer(experiences, live_experience, embed):
    for _ in range(60):
        live_experience(goal="retry the payment", domain="testing")
    live_experience(goal="quite another matter", domain="security")
    embed()
    assert goals(experiences.search_axis("shop", "retry the payment", domain="security", limit=5)) == [
        "quite another matter"
    ]


def test_old_versions_do_not_take_the_places_of_what_stands(experiences, begin, live_experience, embed):
    begun = begin(goal="retry the payment")
    experiences.resolve("shop", begun.id, "confirmed", "Once.")
    for number in range(60):
        experiences.resolve("shop", begun.id, "confirmed", note=f"retry the payment {number}")
    live_experience(goal="another thing entirely")
    embed()
    results = experiences.search_axis("shop", "retry the payment", limit=2)
    assert goals(results) == ["retry the payment", "another thing entirely"]
    assert results[0].memory.superseded_by is None


def test_what_is_open_is_no_precedent(experiences, begin, embed):
    begin()
    embed()
    assert experiences.search_axis("shop", "double charge") == []


def test_what_has_no_vector_yet_is_found_by_its_words_after_what_has(
    engine, experiences, live_experience, embed, clock
):
    live_experience(goal="the first payment")
    embed()
    silent = ContextEngine(
        engine.store, settings=Settings(home=engine.settings.home, embedding="none"), clock=clock
    )
    begun = Experiences(silent).start("shop", **{**BEGUN, "goal": "the second payment"})
    Experiences(silent).resolve("shop", begun.id, "confirmed", "Once.")
    assert goals(experiences.search_axis("shop", "second payment")) == [
        "the first payment",
        "the second payment",
    ]


def test_without_an_encoder_words_find_and_filters_answer(home, clock):
    with ContextEngine(settings=Settings(home=home, embedding="none"), clock=clock) as engine:
        experiences = Experiences(engine)
        for goal in ("rotate the keys", "measure the cache", "count the sheep"):
            clock.advance(minutes=1)
            domain = "security" if "keys" in goal else "performance"
            begun = experiences.start("shop", **{**BEGUN, "goal": goal, "domain": domain})
            experiences.resolve("shop", begun.id, "falsified", "No.", surprise="Silence.", root_cause=CAUSE)
        assert goals(experiences.search_axis("shop", "the cache", "surprise")) == ["measure the cache"]
        assert experiences.search_axis("shop", "kubernetes", "surprise") == []
        narrowed = experiences.search_axis("shop", "unexpected sheep", "surprise", domain="performance")
        assert goals(narrowed) == ["count the sheep", "measure the cache"]
        assert narrowed[1].score == 0
        assert goals(experiences.search_axis("shop", "", limit=2)) == ["count the sheep", "measure the cache"]


def test_an_encoder_that_fails_leaves_words_and_a_warning(
    experiences, live_experience, engine, caplog, monkeypatch
):
    live_experience(goal="rotate the keys")

    def fail(question):
        raise EmbeddingError("no model")

    monkeypatch.setattr(engine, "embed_question", fail)
    assert goals(experiences.search_axis("shop", "rotate")) == ["rotate the keys"]
    assert "by words alone" in caplog.text


def test_nothing_crosses_from_one_workspace_to_another(experiences, past_experiences):
    assert experiences.search_axis("elsewhere", "keys") == []
    assert experiences.list("elsewhere") == []


def test_the_engine_keeps_the_axes_in_step(home, clock):
    with ContextEngine(
        embedding_provider=HashEmbeddings(), settings=Settings(home=home), clock=clock
    ) as engine:
        experiences = Experiences(engine)
        begun = experiences.start("shop", **BEGUN)
        experiences.resolve("shop", begun.id, "falsified", "Twice.", surprise="Two.", root_cause=CAUSE)
        engine.embed_pending("shop")
        assert engine.count("shop").vectors == {
            "semantic": 2,
            "strategy": 1,
            "surprise": 1,
            "root_cause": 1,
            "learnt": 1,
        }
