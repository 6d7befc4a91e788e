from __future__ import annotations

import random

import pytest

from foreword.compose.allocation import TokenBudget
from foreword.compose.compress import DynamicCompressor, cut_instructions, handle_overflow
from foreword.compose.entity_context import EntityContextFormatter, entities_text
from foreword.compose.history import HistoryFormatter
from foreword.compose.knowledge_chunk import DocumentSource, knowledge_chunk, knowledge_text
from foreword.compose.prompt import ContextContent
from foreword.types import Entity, ResolvedEntity

GUIDE = DocumentSource("d1", "Guide")
AMPLE = TokenBudget(10_000, 10_000, 10_000, 10_000, 10_000)


@pytest.fixture
def make(state, summarizer, tokens, make_turns, make_text):
    """A content from a seed: turns and texts of every sort, entities with details, chunks."""

    def make_content(seed):
        chance = random.Random(seed)
        known = {
            f"e{at}": Entity(f"e{at}", f"Person {at}", "person", attributes={"title": make_text(seed + at)})
            for at in range(chance.randrange(6))
        }
        there = state(make_turns(seed, chance.randrange(12)), known=known)
        meant = [ResolvedEntity(name, name, chance.random()) for name in known]
        facts = [make_text(seed + at, 8) for at in range(chance.randrange(6))]
        return ContextContent(
            query="Which seats are mine?",
            system=make_text(seed, 10),
            history=HistoryFormatter(summarizer, tokens).format(there, 2_000),
            entities=EntityContextFormatter(tokens).format(there, meant, 2_000),
            rag_chunks=tuple(
                knowledge_chunk(f"c{at}", GUIDE, fact, chance.random(), tokens)
                for at, fact in enumerate(facts)
            ),
        )

    return make_content


@pytest.fixture
def compressor(summarizer, tokens):
    return DynamicCompressor(summarizer, tokens)


def _costs(content, tokens):
    return {
        "system": tokens.count(content.system),
        "history": content.history.token_count,
        "entities": tokens.count(entities_text(content.entities)),
        "rag": tokens.count(knowledge_text(content.rag_chunks)),
    }


def test_what_is_within_its_budget_stays_to_the_letter(make, compressor):
    for seed in range(20):
        content = make(seed)
        assert handle_overflow(content, AMPLE, compressor) == content


def test_no_part_is_over_its_budget_whatever_it_holds(make, compressor, tokens):
    for seed in range(400):
        chance = random.Random(seed)
        content = make(seed)
        budget = TokenBudget(*(chance.choice((0, 1, 5, 20, 80, 300)) for _ in range(4)), 0)
        made = handle_overflow(content, budget, compressor)
        over = {name: cost for name, cost in _costs(made, tokens).items() if cost > budget.tokens_for(name)}
        assert not over, seed
        assert made.query == content.query


def test_a_part_that_is_over_leaves_the_others_alone(make, compressor, tokens):
    content = next(made for made in map(make, range(100)) if all(_costs(made, tokens).values()))
    for name, cost in _costs(content, tokens).items():
        tight = TokenBudget(
            **{part: cost - 1 if part == name else 10_000 for part in _costs(content, tokens)}
        )
        before, after = (
            _costs(each, tokens) for each in (content, handle_overflow(content, tight, compressor))
        )
        assert after.pop(name) < before.pop(name)
        assert after == before


def test_of_entities_the_relevant_stay_and_details_go_first(state, tokens, compressor):
    known = {
        f"e{at}": Entity(f"e{at}", f"Person {at}", "person", attributes={"title": "Usher of the first row"})
        for at in range(3)
    }
    meant = [ResolvedEntity(f"e{at}", f"Person {at}", 0.5 + at / 10) for at in range(3)]
    entities = EntityContextFormatter(tokens).format(state(known=known), meant, 1_000)
    room = tokens.count(entities_text(entities)) - 1
    made = handle_overflow(
        ContextContent("?", entities=entities), TokenBudget(0, 0, room, 0, 0), compressor
    ).entities
    assert [(each.entity_id, each.has_details) for each in made] == [
        ("e2", True),
        ("e1", True),
        ("e0", False),
    ]


def test_of_chunks_the_relevant_stay_in_the_order_they_had(tokens, compressor):
    chunks = tuple(
        knowledge_chunk(f"c{at}", GUIDE, f"Fact {at} is about rows.", sure, tokens)
        for at, sure in enumerate((0.5, 0.1, 0.9))
    )
    room = tokens.count(knowledge_text(chunks)) - 1
    made = handle_overflow(ContextContent("?", rag_chunks=chunks), TokenBudget(0, 0, 0, room, 0), compressor)
    assert [chunk.chunk_id for chunk in made.rag_chunks] == ["c0", "c2"]


def test_instructions_end_with_a_sentence(tokens):
    assert (
        cut_instructions("Answer briefly. Name your sources, always and everywhere.", 5, tokens)
        == "Answer briefly."
    )
    assert cut_instructions("Answer briefly.", 1, tokens) == ""
