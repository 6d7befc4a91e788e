"""What went wrong before: the right questions, each experience once, within a hard limit."""

from __future__ import annotations

import asyncio
import re

import pytest

from foreword import ContextAssembler
from foreword.assembled import EngineSearcher
from foreword.compose.assembled import ContextItem, make_context_item
from foreword.errors import SearchError, ValidationError
from foreword.knowledge.experience import Lesson, RootCause
from foreword.knowledge.experiences import Experiences
from foreword.recipes.assembled.premortem import assign_to_sections
from foreword.types import Item, SearchResult

ABOUT = (
    *("the payment queue", "the search index", "the login page", "the seat map", "the mail sender"),
    *("the price rules", "the import of tickets", "the audit log", "the refund job", "the session store"),
    *("the opening hours", "the map tiles"),
)


class Listening(EngineSearcher):
    """A searcher that writes down what it is asked."""

    asked: list[tuple[str, dict[str, object]]]

    async def search_experiences(self, **question):
        self.asked.append(("experiences", question))
        return []

    async def search_values(self, **question):
        self.asked.append(("values", question))
        return []


def premortem(searcher, domain="debugging", strategy=None, **more):
    return asyncio.run(ContextAssembler(searcher, timeout=60).get_premortem_context(domain, strategy, **more))


def titles(text):
    return re.findall(r"^##? (.*)$", text, re.MULTILINE)


@pytest.fixture
def shop_searcher(engine):
    """A dozen failures and a few successes, in two domains."""
    experiences = Experiences(engine)
    for number, about in enumerate(ABOUT):
        begun = experiences.start(
            "shop", domain="debugging" if number % 4 else "testing",
            strategy="read-the-error" if number % 2 else "ask-user",
            goal=f"Mend {about}", hypothesis=f"A timeout in {about} is too short",
            action=f"Double it for {about}", prediction=f"No more errors from {about}",
        )  # fmt: skip
        failed = number % 3 != 0
        experiences.resolve(
            "shop", begun.id, "falsified" if failed else "confirmed", f"{about} did as it liked",
            surprise=f"{about} never reads that setting" if failed else "",
            root_cause=RootCause("wrong-assumption", f"nobody had read {about}") if failed else None,
            lesson=Lesson(f"reading {about}"),
        )  # fmt: skip
    engine.remember(
        "Read the thing before you change its settings.", "shop", kind="value",
        metadata={"axis": "full", "domains": {"debugging": 5}},
    )  # fmt: skip
    engine.embed_pending("shop")
    return EngineSearcher(engine, "shop", experiences, deadline_ms=None)


# What is asked


def test_the_questions_are_the_documents(engine):
    searcher = Listening(engine, "shop")
    searcher.asked = []
    premortem(searcher, "debugging", "read-the-error", limit=7)
    assert searcher.asked == [
        ("experiences", {"query": "failures and issues in debugging", "axis": "full", "domain": "debugging",
                         "outcome": "falsified", "limit": 7}),
        ("experiences", {"query": "outcomes using read-the-error strategy", "axis": "strategy",
                         "strategy": "read-the-error", "limit": 7}),
        ("experiences", {"query": "unexpected outcomes in debugging", "axis": "surprise",
                         "domain": "debugging", "limit": 7}),
        ("experiences", {"query": "why hypotheses fail in debugging", "axis": "root_cause",
                         "domain": "debugging", "limit": 7}),
        ("values", {"query": "principles for debugging using read-the-error", "limit": 5}),
    ]  # fmt: skip


def test_without_a_strategy_nobody_is_asked_about_one(engine):
    searcher = Listening(engine, "shop")
    searcher.asked = []
    premortem(searcher, "feature")
    assert [question["query"] for _, question in searcher.asked] == [
        "failures and issues in feature",
        "unexpected outcomes in feature",
        "why hypotheses fail in feature",
        "principles for feature",
    ]


@pytest.mark.parametrize(("domain", "strategy"), [("dreaming", None), ("debugging", "hope"), ("", None)])
def test_unknown_words_are_refused_and_the_known_ones_are_named(engine, domain, strategy):
    with pytest.raises(ValidationError, match="there are: "):
        premortem(EngineSearcher(engine, "shop"), domain, strategy)


# What is said


def test_the_sections_come_in_the_documents_order(shop_searcher):
    context = premortem(shop_searcher, "debugging", "ask-user", max_tokens=4000)
    assert titles(context.markdown) == [
        "Premortem: debugging with ask-user",
        "Common Failures",
        "Strategy Performance",
        "Unexpected Outcomes",
        "Root Causes to Watch",
        "Relevant Principles",
    ]
    told = context.sources_used["experiences"]
    assert context.markdown.endswith(f"\n\n---\n*Based on {told} past experiences*\n")


def test_an_experience_is_told_once_whatever_it_is_found_by(shop_searcher):
    context = premortem(shop_searcher, "debugging", "read-the-error", max_tokens=6000, limit=20)
    goals = re.findall(r"\*\*Goal\*\*: (.*)", context.markdown)
    assert len(goals) == len(set(goals)) > 5


def test_only_the_domain_is_told_except_for_the_strategy(shop_searcher):
    context = premortem(shop_searcher, "testing", max_tokens=6000)
    assert {item.metadata["domain"] for item in context.items if item.source == "experience"} == {"testing"}


def test_failures_come_first_among_the_strategys_and_stand_out(shop_searcher):
    context = premortem(shop_searcher, "security", "ask-user", max_tokens=6000)
    assert titles(context.markdown)[:2] == ["Premortem: security with ask-user", "Strategy Performance"]
    outcomes = re.findall(r"\*\*Outcome\*\*: (\S+)", context.markdown)
    assert outcomes == sorted(outcomes, key=lambda status: "falsified" not in status)
    assert "**falsified**" in outcomes
    assert "confirmed" in outcomes


def test_a_root_cause_is_told(shop_searcher):
    assert "- **Root cause**: wrong-assumption - nobody had read" in premortem(shop_searcher).markdown


@pytest.mark.parametrize("limit", [1, 20, 40, 80, 150, 300, 600, 1500])
def test_the_limit_is_hard(shop_searcher, engine, limit):
    context = premortem(shop_searcher, "debugging", "ask-user", max_tokens=limit)
    assert context.token_count == engine.tokenizer.count(context.markdown) <= limit
    assert not context.limit_exceeded
    if limit >= 150:
        assert context.items


@pytest.mark.parametrize("limit", [120, 150, 200, 300, 400, 800])
def test_with_little_room_there_are_fewer_but_each_says_what_went_wrong_and_why(engine, limit):
    experiences = Experiences(engine)
    for about in ABOUT[:6]:
        begun = experiences.start(
            "shop", domain="debugging", strategy="read-the-error",
            goal=f"Mend {about} so that nobody waits longer than two seconds at noon",
            hypothesis=f"A timeout in {about} is far too short for the slow network of the stations",
            action=f"Double the timeout of {about} and restart the workers one by one",
            prediction=f"No more errors from {about} in the log of the afternoon shift",
        )  # fmt: skip
        experiences.resolve(
            "shop", begun.id, "falsified", f"as many errors from {about} as there were before the change",
            surprise=f"a second file overrides what {about} reads at its start",
            root_cause=RootCause("wrong-assumption", f"nobody had looked how {about} loads its settings"),
            lesson=Lesson(f"printing the settings of {about} as they were loaded"),
        )  # fmt: skip
    engine.embed_pending("shop")
    context = premortem(EngineSearcher(engine, "shop", experiences, deadline_ms=None), max_tokens=limit)
    told = context.markdown.count("**Experience**")
    assert 1 <= told == len(re.findall(r"Outcome\*\*: falsified - as many errors", context.markdown))
    assert told == context.markdown.count("**Surprise**: a second file overrides")
    assert told == context.markdown.count("**Root cause**: wrong-assumption - nobody had")


def test_nothing_lived_is_nothing_to_fear(engine):
    context = premortem(EngineSearcher(engine, "shop", Experiences(engine)))
    assert (context.markdown, context.items) == ("", ())


def test_a_question_that_fails_leaves_the_others(engine, shop_searcher):
    class Halting(EngineSearcher):
        async def search_values(self, **_):
            raise SearchError("no values today")

    halting = Halting(engine, "shop", Experiences(engine), deadline_ms=None)
    context = premortem(halting, max_tokens=3000)
    assert context.sources_used["experiences"] > 3
    assert [(note.part, note.message) for note in context.notes] == [
        ("relevant principles", "failed: no values today")
    ]


def test_a_receipt_is_kept(engine, shop_searcher):
    context = premortem(shop_searcher, "debugging", "ask-user")
    engine.store.batch([])
    kept = engine.explain("shop", context.receipt.id)
    assert (kept.recipe, kept.query, kept.budget) == ("premortem", "Premortem: debugging with ask-user", 1500)
    assert len(kept.injected_entries) == len(context.items)
    assert {entry.section for entry in kept.injected_entries} <= set(titles(context.markdown))


# Who tells what


def story(name, status="falsified"):
    held = {"experience": name, "outcome": {"status": status, "result": "x"}, "goal": name}
    return make_context_item(
        SearchResult(Item(name, "shop", kind="experience", id=f"i-{name}", metadata=held), 0.5, 0.5)
    )


def ids_by_section(turns):
    return [(section, item.metadata["id"]) for section, item in turns]


def test_sections_take_turns_so_that_none_empties_another():
    every = [story(name) for name in "abcdef"]
    turns = assign_to_sections(
        {"Common Failures": every, "Unexpected Outcomes": every, "Root Causes to Watch": every}
    )
    assert ids_by_section(turns) == [
        ("Common Failures", "a"),
        ("Unexpected Outcomes", "b"),
        ("Root Causes to Watch", "c"),
        ("Common Failures", "d"),
        ("Unexpected Outcomes", "e"),
        ("Root Causes to Watch", "f"),
    ]


def test_items_made_by_hand_keep_their_words():
    result = SearchResult(Item("by hand", "shop", kind="experience", id="h"), 0.5)
    item = ContextItem("experience", "by hand", 0.5, {}, result)
    assert assign_to_sections({"Common Failures": [item]}) == [("Common Failures", item)]
