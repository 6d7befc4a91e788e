"""Make a prompt that is over its budget smaller, beginning with what is missed least.

First the reductions that lose no information: needless white space, and chunks that another chunk contains.
Then parts are dropped by their worth (`worth.py`) until the target is met, and tokens that the last dropped
part leaves free are filled again. The level says how much is over. The query and the system prompt are never
changed: if they alone are too long, that is an error. What was lost is described in words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING

from foreword.compose.cutting import shorten_text
from foreword.compose.entity_context import drop_entity_details, entities_text
from foreword.compose.formatted_history import FormattedHistory, make_history
from foreword.compose.knowledge_chunk import knowledge_text
from foreword.compose.prompt import NO_HISTORY, ContextContent, prompt_tokens
from foreword.compose.summary import Summary, summarise
from foreword.compose.system_prompt import Custom, SystemPromptBuilder
from foreword.compose.turns import FormattedTurn, remove_needless_whitespace, turn_blocks_from_end
from foreword.compose.user_context import fit_user_lines
from foreword.compose.worth import format_count_with_noun, reduce_to_target
from foreword.errors import CannotCompress
from foreword.types import BesideSummary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.compose.allocation import TokenBudget
    from foreword.compose.entity_context import EntityContext
    from foreword.compose.knowledge_chunk import KnowledgeChunk
    from foreword.text.tokens import Tokenizer
    from foreword.types import DialogueSummarizer, Turn


@dataclass(frozen=True, slots=True)
class ReductionTools:
    """The summarizer and the tokenizer that reductions work with."""

    summarizer: DialogueSummarizer
    tokenizer: Tokenizer

    def summarise_turns(
        self, before: str, older: Sequence[Turn], tokens: int, beside: BesideSummary
    ) -> Summary:
        """One summary of an earlier summary and of these turns, about half the tokens for each."""
        room = tokens // 2 if before else tokens
        new = summarise(self.summarizer, older, room, beside) if older else Summary()
        kept = shorten_text(before, tokens - self.tokenizer.count(new.text) - 1, self.tokenizer)
        return replace(new, text=shorten_text(f"{kept} {new.text}".strip(), tokens, self.tokenizer))


Reduction = Callable[[ContextContent, ReductionTools], tuple[ContextContent, str]]
"""A function from a content to a smaller one, with a description of what is lost; empty if nothing is."""


def remove_whitespace_from_turns(
    content: ContextContent, tools: ReductionTools
) -> tuple[ContextContent, str]:
    """Remove needless white space from the turns."""
    history = content.history
    recalled, recent = (
        tuple(remove_needless_whitespace(turn, tools.tokenizer) for turn in turns)
        for turns in (history.recalled, history.recent_turns)
    )
    if (recalled, recent) == (history.recalled, history.recent_turns):
        return content, ""
    return _replace_history(content, tools, recalled=recalled, recent=recent), "empty space in turns"


def drop_repeated_chunks(content: ContextContent, tools: ReductionTools) -> tuple[ContextContent, str]:  # noqa: ARG001
    """Drop the chunks that an earlier chunk contains."""
    kept: list[str] = []
    chunks = []
    for chunk in content.rag_chunks:
        words = " ".join(chunk.content.split())
        if not any(words in other for other in kept):
            kept.append(words)
            chunks.append(chunk)
    lost = len(content.rag_chunks) - len(chunks)
    return replace(content, rag_chunks=tuple(chunks)), format_count_with_noun(
        lost, "repeated knowledge chunk"
    )


def keep_top_chunks(most: int) -> Reduction:
    """A reduction that keeps the `most` best chunks, in their order."""

    def step(content: ContextContent, tools: ReductionTools) -> tuple[ContextContent, str]:  # noqa: ARG001
        best = sorted(content.rag_chunks, key=lambda chunk: -chunk.relevance)[:most]
        chunks = tuple(chunk for chunk in content.rag_chunks if chunk in best)[:most]
        lost = len(content.rag_chunks) - len(chunks)
        return replace(content, rag_chunks=chunks), format_count_with_noun(lost, "knowledge chunk")

    return step


def summarise_older(keep: int, tokens: int) -> Reduction:
    """A reduction that keeps about `keep` recent turns and summarises the others in `tokens` tokens.

    The summary has at most half as many tokens as what it replaces; else nothing would be gained.
    """

    def step(content: ContextContent, tools: ReductionTools) -> tuple[ContextContent, str]:
        history = content.history
        first = _newest_turns_start(history, keep)
        older, recent = history.recent_turns[:first], history.recent_turns[first:]
        before = history.summary or ""
        if not older and tools.tokenizer.count(before) <= tokens:
            return content, ""
        half = (tools.tokenizer.count(before) + sum(turn.tokens for turn in older)) // 2
        told = [turn.content for turn in (*history.recalled, *recent)]
        beside = BesideSummary([turn.turn for turn in recent], told)
        summary = tools.summarise_turns(before, [turn.turn for turn in older], min(tokens, half), beside)
        how = "but for a summary" if summary.text else "without a summary"
        lost = f"{format_count_with_noun(len(older), 'older turn')} {how}" if older else "some of the summary"
        made = _replace_history(content, tools, summary=summary.text, recent=recent)
        problem = summary.problem or history.problem
        return replace(made, history=replace(made.history, problem=problem)), lost

    return step


def _newest_turns_start(history: FormattedHistory, keep: int) -> int:
    """The place where the newest turns begin, about `keep` of them; calls stay with their answers."""
    turns = [turn.turn for turn in history.recent_turns]
    first = len(turns)
    for start, _ in turn_blocks_from_end(turns):
        if first < len(turns) and len(turns) - start > keep:
            break
        first = start
    return first


def _replace_history(
    content: ContextContent,
    tools: ReductionTools,
    *,
    summary: str | None = None,
    recalled: tuple[FormattedTurn, ...] | None = None,
    recent: tuple[FormattedTurn, ...] | None = None,
) -> ContextContent:
    """The content with some parts of its history replaced, and the text of the history made anew."""
    history = content.history
    made = make_history(
        history.summary if summary is None else summary,
        history.recalled if recalled is None else recalled,
        history.recent_turns if recent is None else recent,
        tools.tokenizer,
        history.template,
        history.problem,
        history.opening,
    )
    return replace(content, history=made)


class CompressionLevel(IntEnum):
    """How much of a prompt has to go: nothing, less than 20, 40 or 60 percent, or more."""

    NONE = 0
    LIGHT = 1
    MEDIUM = 2
    HEAVY = 3
    EXTREME = 4


_UP_TO = {0.2: CompressionLevel.LIGHT, 0.4: CompressionLevel.MEDIUM, 0.6: CompressionLevel.HEAVY}
"""Shares of a prompt, and the level if less than that share is over the target."""


@dataclass(frozen=True, slots=True)
class Compressed:
    """A prompt within its target, with the level of compression and, in words, what was lost."""

    content: ContextContent
    token_count: int
    level: CompressionLevel = CompressionLevel.NONE
    lost: tuple[str, ...] = ()


def needed_compression_level(tokens: int, target: int) -> CompressionLevel:
    """The level of compression that a prompt of `tokens` needs to reach the target."""
    if tokens <= target:
        return CompressionLevel.NONE
    over = (tokens - target) / tokens
    return next((level for share, level in _UP_TO.items() if over < share), CompressionLevel.EXTREME)


@dataclass(frozen=True, slots=True)
class DynamicCompressor:
    """Compresses prompts; the summarizer sums up the turns that are dropped."""

    summarizer: DialogueSummarizer
    tokenizer: Tokenizer

    def compress(self, content: ContextContent, target_tokens: int) -> Compressed:
        """The content in at most `target_tokens`, and what was lost; raises CannotCompress if impossible."""
        tokens = prompt_tokens(content, self.tokenizer)
        level = needed_compression_level(tokens, target_tokens)
        if level is CompressionLevel.NONE:
            return Compressed(content, tokens)
        tools = ReductionTools(self.summarizer, self.tokenizer)
        lost: list[str] = []
        for step in (remove_whitespace_from_turns, drop_repeated_chunks):
            content, words = step(content, tools)
            lost += [words] if words else []
            tokens = prompt_tokens(content, self.tokenizer)
            if tokens <= target_tokens:
                return Compressed(content, tokens, level, tuple(lost))
        content, more = reduce_to_target(content, target_tokens, self.tokenizer, tools.summarise_turns)
        tokens = prompt_tokens(content, self.tokenizer)
        if tokens > target_tokens:
            raise CannotCompress(tokens, target_tokens)
        return Compressed(content, tokens, level, (*lost, *more))


# Parts within their own budgets ---------------------------------------------------------------------------


def handle_overflow(
    content: ContextContent, budget: TokenBudget, compressor: DynamicCompressor
) -> ContextContent:
    """The content with no part over its own budget; a part within its budget is not changed at all.

    A system prompt that is too long is cut at the end of a sentence, the conversation is summarised, and
    entities and chunks are dropped by relevance. The query is never changed, so the whole may still be too
    long.
    """
    tokenizer, system = compressor.tokenizer, content.system
    fits = tokenizer.count(system) <= budget.system
    user = fit_user_lines(content.user.lines, budget.entities, tokenizer)
    return replace(
        content,
        system=system if fits else cut_instructions(system, budget.system, tokenizer),
        history=_shorten_conversation(content.history, budget.history, compressor),
        entities=_entities_that_fit(content.entities, budget.entities - user.token_count, tokenizer),
        user=user,
        rag_chunks=_chunks_that_fit(content.rag_chunks, budget.rag, tokenizer),
    )


def cut_instructions(instructions: str, most: int, tokenizer: Tokenizer) -> str:
    """The instructions up to the last sentence that fits into `most` tokens."""
    return SystemPromptBuilder(instructions, Custom(""), tokenizer=tokenizer).build(most)


def _shorten_conversation(
    history: FormattedHistory, most: int, compressor: DynamicCompressor
) -> FormattedHistory:
    """The history in at most `most` tokens, compressed as if it were the whole prompt."""
    if history.token_count <= most:
        return history
    around = prompt_tokens(ContextContent(""), compressor.tokenizer)
    alone = ContextContent("", history=history)
    worded = compressor.compress(alone, around + most).content.history
    return worded if worded.token_count <= most else NO_HISTORY


def _entities_that_fit(
    entities: Sequence[EntityContext], most: int, tokenizer: Tokenizer
) -> tuple[EntityContext, ...]:
    """The most relevant entities that fit: with their details, else by name and type, else left out."""
    if tokenizer.count(entities_text(entities)) <= most:
        return tuple(entities)
    chosen: list[EntityContext] = []
    for entity in sorted(entities, key=lambda each: -each.relevance):
        for worded in (entity, drop_entity_details(entity, tokenizer)):
            if tokenizer.count(entities_text([*chosen, worded])) <= most:
                chosen.append(worded)
                break
    return tuple(chosen)


def _chunks_that_fit(
    chunks: Sequence[KnowledgeChunk], most: int, tokenizer: Tokenizer
) -> tuple[KnowledgeChunk, ...]:
    """The most relevant chunks that fit, in the order they had."""
    if tokenizer.count(knowledge_text(chunks)) <= most:
        return tuple(chunks)
    chosen: list[KnowledgeChunk] = []
    for chunk in sorted(chunks, key=lambda each: -each.relevance):
        if tokenizer.count(knowledge_text([*chosen, chunk])) <= most:
            chosen.append(chunk)
    ordered = tuple(chunk for chunk in chunks if chunk in chosen)
    return ordered if tokenizer.count(knowledge_text(ordered)) <= most else tuple(chosen)
