"""What the document on context assembly says of experiences, values and premortems, sentence by sentence.

Every test is named by the words of the document that it holds us to, and has them in its docstring. Where we
differ, docs/code.md says how and why.
"""

from __future__ import annotations

import asyncio
import inspect
import re

import pytest

from foreword import ContextAssembler
from foreword.assembled import EngineSearcher
from foreword.compose.assembled import format_item, make_context_item
from foreword.errors import ValidationError
from foreword.knowledge.axes import AXES
from foreword.knowledge.experience import DOMAINS, STRATEGIES, TIER_WEIGHTS, Lesson, RootCause
from foreword.knowledge.experiences import Experiences
from foreword.recipes.assembled.premortem import SECTIONS, premortem_footer
from foreword.recipes.assembled.stages import weigh_item
from foreword.store.base import Amend
from foreword.types import Filters, Item, SearchResult

STORY = {
    "domain": "debugging",
    "strategy": "systematic-elimination",
    "goal": "mend the queue",
    "hypothesis": "the timeout is short",
    "action": "double it",
    "prediction": "no more errors",
}


@pytest.fixture
def lived(engine):
    """Experiences of two domains, with a value drawn from the first."""
    experiences = Experiences(engine)
    ended = []
    for number in range(6):
        begun = experiences.start(
            "shop",
            **{**STORY, "goal": f"mend queue {number}", "domain": "debugging" if number < 4 else "security"},
        )
        ended.append(
            experiences.resolve(
                "shop",
                begun.id,
                "falsified" if number % 2 else "confirmed",
                f"queue {number} as before",
                surprise=f"queue {number} reads no timeout",
                root_cause=RootCause("oversight", f"cause {number}"),
                lesson=Lesson(f"reading queue {number}", f"read queue {number} first"),
            )
        )
    engine.remember(
        "Read the queue first.", "shop", kind="value",
        metadata={"axis": "full", "cluster_id": "full_0", "cluster_size": 4, "similarity_to_centroid": 0.9,
                  "domains": {"debugging": 4}, "members": [ended[0].id]},
    )  # fmt: skip
    engine.embed_pending("shop")
    return ContextAssembler(EngineSearcher(engine, "shop", experiences, deadline_ms=None), timeout=60)


def premortem(assembler, *given, **more):
    return asyncio.run(assembler.get_premortem_context(*given, **more))


def item_of(kind, text, **metadata):
    return Item(text, "shop", kind=kind, metadata=metadata)


# Formats -------------------------------------------------------------------------------------------------


def test_the_format_of_an_experience():
    """**Experience**: {domain} | {strategy}, - **Goal**: {goal}, … {if lesson: - **Lesson**: …}."""
    held = {
        **STORY,
        "outcome": {"status": "falsified", "result": "as before"},
        "surprise": "it reads none",
        "root_cause": {"category": "oversight", "description": "nobody had looked"},
        "lesson": {"what_worked": "reading it", "takeaway": "read it first"},
    }
    assert format_item(item_of("experience", "x", **held)).split("\n") == [
        "**Experience**: debugging | systematic-elimination",
        "- **Goal**: mend the queue",
        "- **Hypothesis**: the timeout is short",
        "- **Action**: double it",
        "- **Prediction**: no more errors",
        "- **Outcome**: falsified - as before",
        "- **Surprise**: it reads none",
        "- **Lesson**: reading it",
        "- **Root cause**: oversight - nobody had looked",
        "- **Takeaway**: read it first",
    ]


def test_what_an_experience_lacks_is_left_out():
    """{if surprise: - **Surprise**: {surprise}}."""
    text = format_item(item_of("experience", "x", **STORY, outcome={"status": "confirmed", "result": "none"}))
    assert re.findall(r"\*\*(\w+)\*\*", text) == [
        "Experience", "Goal", "Hypothesis", "Action", "Prediction", "Outcome",
    ]  # fmt: skip


def test_the_format_of_a_value():
    """**Value** ({axis}, cluster size: {cluster_size}): {text}."""
    value = item_of("value", "Read it first.", axis="full", cluster_size=7)
    assert format_item(value) == "**Value** (full, cluster size: 7):\nRead it first."


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("experience", {"id", "domain", "strategy", "outcome_status", "confidence_tier", "iteration_count"}),
        ("value", {"id", "axis", "cluster_id", "cluster_size", "similarity_to_centroid"}),
    ],
)
def test_the_metadata_of_experiences_and_values(kind, names):
    """**Metadata**: the names that each source's items have."""
    item = make_context_item(SearchResult(item_of(kind, "x", **STORY), 0.5))
    assert names <= set(item.metadata)
    assert item.source == kind


# Ranking -------------------------------------------------------------------------------------------------


def test_confidence_weighting():
    """**Confidence weighting** (experiences): Gold > Silver > Bronze > Abandoned."""
    assert list(TIER_WEIGHTS) == ["gold", "silver", "bronze", "abandoned"]
    assert list(TIER_WEIGHTS.values()) == sorted(TIER_WEIGHTS.values(), reverse=True)


def test_recency_bonus(clock):
    """**Recency bonus** (commits, experiences): Recent items get small boost."""

    def weight_at(at):
        memory = Item("x", "shop", kind="experience", created_at=at)
        return weigh_item(make_context_item(SearchResult(memory, 0.5)), clock())

    new, old = weight_at(clock()), weight_at(clock.now.replace(year=clock.now.year - 1))
    assert old < new <= 1.1 * old


# Premortems ----------------------------------------------------------------------------------------------


def test_the_signature_is_the_documents():
    """get_premortem_context(domain, strategy=None, limit=10, max_tokens=1500)."""
    parameters = inspect.signature(ContextAssembler.get_premortem_context).parameters
    assert list(parameters)[1:5] == ["domain", "strategy", "limit", "max_tokens"]
    assert [parameters[name].default for name in ("strategy", "limit", "max_tokens")] == [None, 10, 1500]


def test_domain_and_strategy_are_enum_values(lived):
    """Domain enum value (e.g., "debugging", "feature"); strategy enum value ("systematic-elimination")."""
    assert {"debugging", "feature"} <= set(DOMAINS)
    assert "systematic-elimination" in STRATEGIES
    with pytest.raises(ValidationError, match="no domain named"):
        premortem(lived, "cooking")


def test_experience_data_is_indexed_on_four_axes():
    """Experience data is indexed on four axes for different access patterns."""
    assert AXES == ("full", "strategy", "surprise", "root_cause")


def test_the_format_of_a_premortem(lived):
    """# Premortem: {domain}{" with " + strategy}, ## Common Failures … *Based on {count} …*."""
    text = premortem(lived, "debugging", "systematic-elimination", max_tokens=6000).markdown
    assert re.findall(r"^##? (.+)$", text, re.MULTILINE) == [
        "Premortem: debugging with systematic-elimination",
        "Common Failures",
        "Strategy Performance",
        "Unexpected Outcomes",
        "Root Causes to Watch",
        "Relevant Principles",
    ]
    assert re.search(r"\n---\n\*Based on \d+ past experiences\*\n$", text)
    assert SECTIONS[1:] == tuple(re.findall(r"^## (.+)$", text, re.MULTILINE))


def test_common_failures_are_falsified_experiences_of_the_domain(lived):
    """Experiences (full axis) filtered by domain, outcome="falsified"."""
    text = premortem(lived, "debugging", max_tokens=6000).markdown
    section = text.partition("## Common Failures")[2].partition("\n## ")[0]
    assert "Outcome**: falsified" in section
    assert "Outcome**: confirmed" not in section
    assert "security" not in text


def test_only_with_a_strategy_there_is_a_section_for_it(lived):
    """{if strategy:} ## Strategy Performance {experiences from strategy axis, highlighting failures}."""
    assert "## Strategy Performance" not in premortem(lived, "debugging").markdown
    text = premortem(lived, "feature", "systematic-elimination", max_tokens=6000).markdown
    assert "**Outcome**: **falsified**" in text.partition("## Strategy Performance")[2]


def test_values_are_those_of_the_domain(lived):
    """Values associated with domain (and strategy if provided)."""
    assert "Read the queue first." in premortem(lived, "debugging").markdown
    assert "Read the queue first." not in premortem(lived, "security", max_tokens=6000).markdown


def test_nothing_known_is_no_error(engine):
    """Empty results from all sources → Return empty FormattedContext (not an error)."""
    empty = ContextAssembler(EngineSearcher(engine, "nowhere", Experiences(engine)))
    context = premortem(empty, "debugging")
    assert (context.markdown, context.items, context.token_count, dict(context.sources_used)) == (
        "",
        (),
        0,
        {},
    )


def test_the_footer_counts_experiences_and_not_values(lived):
    """*Based on {count} past experiences*."""
    context = premortem(lived, "debugging", max_tokens=6000)
    told = sum(item.source == "experience" for item in context.items)
    assert f"*Based on {told} past experiences*" in context.markdown
    assert premortem_footer([]) == "*Based on 0 past experiences*"


def test_a_value_that_was_contradicted_too_often_is_not_told(engine, lived):
    """Emergent values from experience clustering: they weaken when contradicted."""
    (value,) = engine.store.recent("shop", Filters(kinds=("value",)), 5)
    held = {**value.metadata, "cluster_confidence": 0.6}
    for confidence, told in ((0.4, True), (0.2, False)):
        engine.store.batch([Amend("shop", value.id, confidence=confidence, metadata=held)])
        assert ("Read the queue first." in premortem(lived, "debugging").markdown) is told
