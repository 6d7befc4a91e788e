from __future__ import annotations

import pytest

from foreword.compose.compress import (
    Means,
    drop_details,
    drop_history,
    drop_repeated_turns,
    drop_summary,
    keep_best_recalled,
    keep_top_chunks,
    keep_top_entities,
    shorten_last_turn,
    summarise_older,
    tidy_turns,
)
from foreword.compose.entity_context import EntityContextFormatter
from foreword.compose.history import HistoryFormatter, HistoryFormatterConfig
from foreword.compose.knowledge_chunk import DocumentSource, knowledge_chunk
from foreword.compose.prompt import ContextContent
from foreword.types import Entity, ResolvedEntity, Turn

STEPS = (
    tidy_turns,
    drop_repeated_turns,
    drop_details,
    keep_top_chunks(1),
    keep_top_entities(1),
    summarise_older(1, 50),
    keep_best_recalled(1),
    drop_summary,
    shorten_last_turn,
    drop_history,
)


@pytest.fixture
def means(summarizer, tokens):
    return Means(summarizer, tokens, 1000)


@pytest.fixture
def content(state, summarizer, tokens):
    turns = [Turn(f"We spoke of seat {at} and of its price.", "user", f"t{at}") for at in range(12)]
    known = {f"e{at}": Entity(f"e{at}", f"Person {at}", "person", aliases=("Kim",)) for at in range(3)}
    there = state(turns, known=known)
    named = [ResolvedEntity(entity_id, "", 0.5 + at / 10) for at, entity_id in enumerate(known)]
    config = HistoryFormatterConfig(verbatim_turns=6)
    return ContextContent(
        "Why?",
        history=HistoryFormatter(summarizer, tokens, config).format(
            there, 400, [turns[3], turns[1], turns[2]]
        ),
        entities=EntityContextFormatter(tokens).format(there, named, 300),
        rag_chunks=tuple(
            knowledge_chunk(f"c{at}", DocumentSource("d", "Guide"), f"Row {at} is wide.", at / 10, tokens)
            for at in range(3)
        ),
    )


@pytest.mark.parametrize("step", STEPS)
def test_a_step_with_nothing_to_take_says_nothing(step, means):
    bare = ContextContent("Why?", "Be kind.")
    assert step(bare, means) == (bare, "")


@pytest.mark.parametrize("step", STEPS)
def test_no_step_touches_the_query_or_the_system(step, content, means):
    made, _ = step(content, means)
    assert (made.query, made.system) == (content.query, content.system)


@pytest.mark.parametrize("step", STEPS)
def test_what_is_left_of_a_history_is_counted_anew(step, content, means, tokens):
    made, _ = step(content, means)
    assert made.history.token_count == tokens.count(made.history.text)


def test_the_best_chunks_and_entities_stay(content, means):
    chunks, words = keep_top_chunks(2)(content, means)
    assert [chunk.chunk_id for chunk in chunks.rag_chunks] == ["c1", "c2"]
    assert words == "1 knowledge chunk"
    entities, words = keep_top_entities(1)(content, means)
    assert [entity.entity_id for entity in entities.entities] == ["e2"]
    assert words == "2 entities"


def test_the_best_of_the_recalled_turns_stay_in_the_order_they_were_said(content, means):
    made, words = keep_best_recalled(2)(content, means)
    assert [turn.turn_id for turn in made.history.recalled] == ["t1", "t3"]
    assert words == "1 recalled turn"


def test_a_chunk_that_a_better_one_contains_is_a_repeat(means, tokens):
    source = DocumentSource("d", "Guide")
    long = knowledge_chunk("long", source, "Row F is wide.\nRow G is not.", 0.9, tokens)
    short = knowledge_chunk("short", source, "is wide. Row  G", 0.8, tokens)
    made, words = drop_repeated_turns(ContextContent("Why?", rag_chunks=(long, short)), means)
    assert made.rag_chunks == (long,)
    assert words == "1 repeated knowledge chunk"


def test_the_new_summary_has_something_of_the_old_and_is_at_most_half_of_what_it_replaces(
    content, means, tokens
):
    old = content.history
    made, words = summarise_older(1, 1000)(content, means)
    assert words == "5 older turns but for a summary"
    assert [turn.turn_id for turn in made.history.recent_turns] == ["t11"]
    assert made.history.summary.startswith("We spoke of seat 0")
    assert "seat 6" in made.history.summary
    replaced = tokens.count(old.summary) + sum(turn.tokens for turn in old.recent_turns[:5])
    assert tokens.count(made.history.summary) <= replaced // 2


def test_a_summary_that_is_too_long_is_shortened_even_with_no_turn_to_add(content, means, tokens):
    once, _ = summarise_older(1, 1000)(content, means)
    made, words = summarise_older(1, 20)(once, means)
    assert words == "some of the summary"
    assert tokens.count(made.history.summary or "") <= 20
