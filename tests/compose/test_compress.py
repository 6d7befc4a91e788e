from __future__ import annotations

import random
from dataclasses import replace

import pytest

from foreword.compose.allocation import (
    CATEGORIES,
    Dynamic,
    Fixed,
    Prioritized,
    TokenBudgetManager,
    redistribute,
)
from foreword.compose.compress import (
    CompressionLevel,
    DynamicCompressor,
    ReductionTools,
    drop_repeated_chunks,
    keep_top_chunks,
    needed_compression_level,
    remove_whitespace_from_turns,
    summarise_older,
)
from foreword.compose.entity_context import EntityContextFormatter, entities_text
from foreword.compose.history import HistoryFormatter, HistoryFormatterConfig, make_history
from foreword.compose.knowledge_chunk import DocumentSource, knowledge_chunk, knowledge_text
from foreword.compose.prompt import (
    ContextContent,
    anthropic_messages,
    openai_messages,
    prompt_text,
    prompt_tokens,
)
from foreword.compose.quoting import escape_headings_only
from foreword.compose.system_prompt import SystemPromptBuilder
from foreword.errors import CannotCompress, QueryTooLarge
from foreword.types import Entity, ResolvedEntity, Turn

GUIDE = DocumentSource("d1", "Guide")
SYSTEM = "You help the box office."
QUERY = "Which seats are mine?"


@pytest.fixture
def compressor(summarizer, tokens):
    return DynamicCompressor(summarizer, tokens)


@pytest.fixture
def content(state, summarizer, tokens):
    """Twelve turns, two of them recalled; five entities with details; six chunks, two of them alike."""
    turns = [
        Turn(
            f"We spoke of seat {at} and its price.\n\n\nAgain  and  again.",
            ("user", "assistant")[at % 2],
            f"t{at}",
        )
        for at in range(14)
    ]
    known = {
        f"e{at}": Entity(f"e{at}", f"Person {at}", "person", attributes={"title": f"Usher {at}"})
        for at in range(5)
    }
    there = state(turns, known=known)
    resolved = [ResolvedEntity(f"e{at}", f"Person {at}", 0.9 - at / 10) for at in range(5)]
    facts = [f"Fact {at}: row {at} has its own price and its own rules." for at in (0, 1, 2, 3, 4, 1)]
    config = HistoryFormatterConfig(verbatim_turns=10)
    return ContextContent(
        query=QUERY,
        system=SYSTEM,
        history=HistoryFormatter(summarizer, tokens, config).format(
            there, 1000, [turns[1], turns[0], turns[2]]
        ),
        entities=EntityContextFormatter(tokens).format(there, resolved, 500),
        rag_chunks=tuple(
            knowledge_chunk(f"c{at}", GUIDE, fact, 0.9 - at / 10, tokens) for at, fact in enumerate(facts)
        ),
    )


def test_the_share_that_is_over_says_which_level_is_expected():
    targets = {100: "NONE", 81: "LIGHT", 80: "MEDIUM", 61: "MEDIUM", 60: "HEAVY", 41: "HEAVY", 40: "EXTREME"}
    assert {target: needed_compression_level(100, target).name for target in targets} == targets


def test_what_fits_is_not_touched(compressor, content, tokens):
    whole = prompt_tokens(content, tokens)
    made = compressor.compress(content, whole)
    assert made.content is content
    assert (made.level, made.lost, made.token_count) == (CompressionLevel.NONE, (), whole)


def test_a_summarizer_that_fails_leaves_older_turns_without_a_summary_and_says_why(content, tokens):
    class Silent:
        def summarize(self, turns, max_tokens):
            return None

    target = int(prompt_tokens(content, tokens) * 0.7)
    made = DynamicCompressor(Silent(), tokens).compress(content, target)
    assert made.content.history.problem == "the summarizer gave NoneType, not text"
    assert made.token_count <= target


def test_first_empty_space_and_repetition_go(compressor, content, tokens):
    whole = prompt_tokens(content, tokens)
    made = compressor.compress(content, whole - 1)
    assert made.level is CompressionLevel.LIGHT
    assert made.lost == ("empty space in turns",)
    assert "\n\n\n" not in made.content.history.text
    more = compressor.compress(content, made.token_count - 1)
    assert more.lost == ("empty space in turns", "1 repeated knowledge chunk")
    assert [chunk.chunk_id for chunk in more.content.rag_chunks] == ["c0", "c1", "c2", "c3", "c4"]


def test_then_parts_leave_by_their_worth_and_the_best_of_each_kind_stays(compressor, content, tokens):
    for share in (0.7, 0.5, 0.35):
        made = compressor.compress(content, int(prompt_tokens(content, tokens) * share)).content
        turns, chunks = made.history.recent_turns, made.rag_chunks
        assert [turn.turn_id for turn in turns] == [f"t{at}" for at in range(14 - len(turns), 14)]
        assert [chunk.chunk_id for chunk in chunks] == [f"c{at}" for at in range(len(chunks))]
        assert turns
        assert chunks


def test_details_leave_before_those_they_are_of(compressor, content, tokens):
    made = compressor.compress(content, int(prompt_tokens(content, tokens) * 0.75))
    assert len(made.content.entities) == 5
    assert any("the details of" in words for words in made.lost)


def test_what_left_of_the_recent_turns_is_told_in_a_summary(compressor, content, tokens):
    made = compressor.compress(content, int(prompt_tokens(content, tokens) * 0.7))
    assert made.content.history.summary
    assert any(words.endswith("older turns but for a summary") for words in made.lost)


def test_a_chunk_is_worth_more_the_more_relevant_it_is_and_old_turns_less(summarizer, tokens, state):
    turns = [Turn(f"Turn {at} says something of little weight, as people do.", "user") for at in range(20)]
    history = HistoryFormatter(summarizer, tokens).format(state(turns), 5000)
    sure, doubtful = (
        knowledge_chunk(f"{relevance}", GUIDE, "A row of words. " * 12, relevance, tokens)
        for relevance in (0.95, 0.05)
    )
    content = ContextContent(QUERY, SYSTEM, history, rag_chunks=(sure, doubtful))
    made = DynamicCompressor(summarizer, tokens).compress(content, prompt_tokens(content, tokens) // 2)
    assert made.content.rag_chunks[0] == sure
    assert len(made.content.history.recent_turns) < 20


@pytest.mark.parametrize("seed", range(60))
def test_the_result_is_near_the_target_whenever_something_was_left_to_take(
    seed, state, summarizer, tokens, make_turns, make_text
):
    """Never a cliff: within a tenth of every target, or within what a heading and a mark cost."""
    chance = random.Random(seed)
    turns = make_turns(seed, chance.randrange(4, 40), chance.choice((2, 12, 60)))
    there = state(turns)
    content = ContextContent(
        QUERY,
        SYSTEM,
        HistoryFormatter(summarizer, tokens).format(there, 20_000, turns[:3]),
        rag_chunks=tuple(
            knowledge_chunk(f"c{at}", GUIDE, make_text(seed + at, 20), chance.random(), tokens)
            for at in range(chance.randrange(6))
        ),
    )
    whole = prompt_tokens(content, tokens)
    least = prompt_tokens(ContextContent(QUERY, SYSTEM), tokens)
    for share in (0.9, 0.79, 0.6, 0.4, 0.2):
        target = max(least, int(whole * share))
        made = DynamicCompressor(summarizer, tokens).compress(content, target)
        assert made.token_count <= target
        costless = ("empty space in turns", "repeated knowledge chunk", "repeated knowledge chunks")
        if not all(words.endswith(costless) for words in made.lost):
            assert made.token_count >= min(0.9 * target, target - 48), (share, made.lost)


def test_at_last_nothing_is_left_but_the_system_and_the_query(compressor, content, tokens):
    bare = ContextContent(QUERY, SYSTEM)
    made = compressor.compress(content, prompt_tokens(bare, tokens))
    assert made.content == bare
    assert made.level is CompressionLevel.EXTREME
    assert any("knowledge chunks" in words for words in made.lost)


def test_a_query_and_a_system_that_are_too_much_alone_are_refused_and_told(compressor, content, tokens):
    least = prompt_tokens(ContextContent(QUERY, SYSTEM), tokens)
    with pytest.raises(CannotCompress, match=f"has {least} tokens and may have {least - 1}"):
        compressor.compress(content, least - 1)


def test_every_target_down_to_the_least_is_met(compressor, content, tokens):
    least = prompt_tokens(ContextContent(QUERY, SYSTEM), tokens)
    levels = []
    for target in range(least, prompt_tokens(content, tokens)):
        made = compressor.compress(content, target)
        assert made.token_count == prompt_tokens(made.content, tokens) <= target
        assert made.content.query == QUERY
        assert made.content.system == SYSTEM
        assert made.lost
        levels.append(made.level)
    assert levels[0] is CompressionLevel.EXTREME
    assert levels[-1] is CompressionLevel.LIGHT


def test_many_copies_of_one_chunk_cost_only_the_copies(compressor, tokens):
    chunk = knowledge_chunk("c1", GUIDE, "Row F is wide. " * 20, 0.9, tokens)
    content = ContextContent(QUERY, rag_chunks=(chunk,) * 20)
    made = compressor.compress(content, prompt_tokens(content, tokens) // 10)
    assert made.content.rag_chunks == (chunk,)
    assert made.lost == ("19 repeated knowledge chunks",)


def test_a_long_last_turn_is_shortened_before_it_is_given_up(compressor, summarizer, tokens, state):
    said = Turn("It begins. " + "And goes on. " * 300 + "It ends.")
    history = HistoryFormatter(summarizer, tokens).format(state([said]), 5000)
    made = compressor.compress(ContextContent(QUERY, SYSTEM, history), 150)
    assert made.lost == ("the middle of 1 long part",)
    assert "User: It begins." in prompt_text(made.content)
    assert "It ends." in prompt_text(made.content)
    assert "characters left out" in made.content.history.recent_turns[0].content


def test_a_call_and_its_answer_are_not_parted(compressor, summarizer, tokens, state):
    call = {"id": "c1", "function": {"name": "seats", "arguments": "{}"}}
    turns = [Turn(f"Turn {at} has some words.") for at in range(6)]
    turns += [Turn("Let me see.", "assistant", tool_calls=(call,)), Turn("12 free", "tool", call_id="c1")]
    content = ContextContent(QUERY, "", HistoryFormatter(summarizer, tokens).format(state(turns), 1000))
    for target in range(30, prompt_tokens(content, tokens)):
        roles = [turn.turn.role for turn in compressor.compress(content, target).content.history.recent_turns]
        assert roles[-2:] in ([], ["assistant", "tool"])


def test_a_summarizer_with_nothing_to_say_leaves_no_summary(content, tokens):
    class Silent:
        def summarize(self, turns, max_tokens):
            return ""

    history = content.history
    content = replace(content, history=make_history(None, history.recalled, history.recent_turns, tokens))
    made = DynamicCompressor(Silent(), tokens).compress(content, prompt_tokens(content, tokens) // 2)
    assert made.content.history.summary is None
    assert any(words.endswith("without a summary") for words in made.lost)


def a_strategy(chance):
    return chance.choice((Dynamic(), Dynamic(), Fixed(), Prioritized()))


def tokens_wanted(content, budget, tokens):
    texts = (
        content.system,
        content.history.text,
        entities_text(content.entities),
        knowledge_text(content.rag_chunks),
    )
    return {name: tokens.count(text) for name, text in zip(CATEGORIES, texts, strict=False)} | {
        "query": budget.query
    }


def whole_prompt(chance, seed, make, tokens, state, summarizer):
    """A prompt made the long way: allocated, let flow, worded, compressed."""
    make_turns, make_text = make
    query = make_text(seed, 10)
    total = chance.choice((chance.randrange(1, 120), chance.randrange(1, 2000), chance.randrange(1, 200_001)))
    turns = make_turns(seed, chance.randrange(20), chance.choice((3, 25)))
    known = {f"e{at}": Entity(f"e{at}", make_text(seed + at), "thing") for at in range(chance.randrange(4))}
    there = state(turns, known=known, salience=dict.fromkeys(known, 0.9))
    budget = TokenBudgetManager(total, tokens, a_strategy(chance)).allocate(query, there, 3)
    chunks = [knowledge_chunk(f"c{at}", GUIDE, make_text(seed - at, 9), at / 9, tokens) for at in range(4)]
    content = ContextContent(
        query,
        SystemPromptBuilder(make_text(-seed), tokenizer=tokens).build(budget.system),
        HistoryFormatter(summarizer, tokens).format(there, budget.history, turns[:2]),
        EntityContextFormatter(tokens).format(there, (), budget.entities),
        tuple(chunks),
    )
    assert redistribute(budget, tokens_wanted(content, budget, tokens)).total <= total
    return query, total, DynamicCompressor(summarizer, tokens).compress(content, total)


def test_whatever_a_prompt_is_made_of_it_is_within_its_tokens_and_has_its_query(
    state, summarizer, tokens, make_turns, make_text
):
    outcomes = {"made": 0, "refused": 0}
    for seed in range(1000):
        chance = random.Random(seed)
        try:
            query, total, made = whole_prompt(
                chance, seed, (make_turns, make_text), tokens, state, summarizer
            )
        except (QueryTooLarge, CannotCompress):
            outcomes["refused"] += 1
            continue
        outcomes["made"] += 1
        text = prompt_text(made.content)
        assert tokens.count(text) == made.token_count <= total, seed
        assert text.endswith(f"[USER]\n{escape_headings_only(query)}"), seed
        text.encode()
        assert escape_headings_only(query) in escape_headings_only(
            openai_messages(made.content)[-1]["content"]
        )
        _, messages = anthropic_messages(made.content)
        assert [message["role"] for message in messages] == ["user", "assistant"] * (len(messages) // 2) + [
            "user"
        ]
    assert outcomes["made"] > 700
    assert outcomes["refused"] > 20


# Single reductions

STEPS = (remove_whitespace_from_turns, drop_repeated_chunks, keep_top_chunks(1), summarise_older(1, 50))


@pytest.fixture
def means(summarizer, tokens):
    return ReductionTools(summarizer, tokens)


@pytest.fixture
def long_content(state, summarizer, tokens):
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
def test_no_step_touches_the_query_or_the_system(step, long_content, means):
    made, _ = step(long_content, means)
    assert (made.query, made.system) == (long_content.query, long_content.system)


@pytest.mark.parametrize("step", STEPS)
def test_what_is_left_of_a_history_is_counted_anew(step, long_content, means, tokens):
    made, _ = step(long_content, means)
    assert made.history.token_count == tokens.count(made.history.text)


def test_the_best_chunks_stay(long_content, means):
    chunks, words = keep_top_chunks(2)(long_content, means)
    assert [chunk.chunk_id for chunk in chunks.rag_chunks] == ["c1", "c2"]
    assert words == "1 knowledge chunk"


def test_a_chunk_that_a_better_one_contains_is_a_repeat(means, tokens):
    source = DocumentSource("d", "Guide")
    long = knowledge_chunk("long", source, "Row F is wide.\nRow G is not.", 0.9, tokens)
    short = knowledge_chunk("short", source, "is wide. Row  G", 0.8, tokens)
    made, words = drop_repeated_chunks(ContextContent("Why?", rag_chunks=(long, short)), means)
    assert made.rag_chunks == (long,)
    assert words == "1 repeated knowledge chunk"


def test_the_new_summary_has_something_of_the_old_and_is_at_most_half_of_what_it_replaces(
    long_content, means, tokens
):
    old = long_content.history
    made, words = summarise_older(1, 1000)(long_content, means)
    assert words == "5 older turns but for a summary"
    assert [turn.turn_id for turn in made.history.recent_turns] == ["t11"]
    assert made.history.summary.startswith("We spoke of seat 0")
    assert "seat 6" in made.history.summary
    replaced = tokens.count(old.summary) + sum(turn.tokens for turn in old.recent_turns[:5])
    assert tokens.count(made.history.summary) <= replaced // 2


def test_a_summary_that_is_too_long_is_shortened_even_with_no_turn_to_add(long_content, means, tokens):
    once, _ = summarise_older(1, 1000)(long_content, means)
    made, words = summarise_older(1, 20)(once, means)
    assert words == "some of the summary"
    assert tokens.count(made.history.summary or "") <= 20
