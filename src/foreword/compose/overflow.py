"""Bring every part of a prompt within its own tokens, where one of them has grown over its budget.

A part that is within its budget stays as it is, to the letter. Of the others, the system prompt ends with a
sentence that still fits, the conversation is told more briefly, and entities and chunks go by relevance. The
query is never touched. Whether the whole then fits is for `foreword.compose.compress`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from foreword.compose.entity_context import entities_text, without_details
from foreword.compose.knowledge_chunk import knowledge_text
from foreword.compose.prompt import NO_HISTORY, ContextContent, prompt_tokens
from foreword.compose.system_prompt import Custom, SystemPromptBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.compose.allocation import TokenBudget
    from foreword.compose.compress import DynamicCompressor
    from foreword.compose.entity_context import EntityContext
    from foreword.compose.history import FormattedHistory
    from foreword.compose.knowledge_chunk import KnowledgeChunk
    from foreword.text.tokens import Tokenizer

_SILENT = Custom("")


def handle_overflow(
    content: ContextContent, budget: TokenBudget, compressor: DynamicCompressor
) -> ContextContent:
    """The content with no part over its budget."""
    tokenizer = compressor.tokenizer
    return replace(
        content,
        system=_shorten_instructions(content.system, budget.system, tokenizer),
        history=_shorten_conversation(content.history, budget.history, compressor),
        entities=_drop_entities(content.entities, budget.entities, tokenizer),
        rag_chunks=_drop_chunks(content.rag_chunks, budget.rag, tokenizer),
    )


def truncate_to(instructions: str, most: int, tokenizer: Tokenizer) -> str:
    """Instructions up to the last sentence that is within so many tokens."""
    return SystemPromptBuilder(instructions, _SILENT, tokenizer=tokenizer).build(most)


def _shorten_instructions(text: str, most: int, tokenizer: Tokenizer) -> str:
    return text if tokenizer.count(text) <= most else truncate_to(text, most, tokenizer)


def _shorten_conversation(
    history: FormattedHistory, most: int, compressor: DynamicCompressor
) -> FormattedHistory:
    """The conversation alone, compressed like a prompt that holds nothing else."""
    if history.token_count <= most:
        return history
    around = prompt_tokens(ContextContent(""), compressor.tokenizer)
    alone = ContextContent("", history=history)
    worded = compressor.compress(alone, around + most).content.history
    return worded if worded.token_count <= most else NO_HISTORY


def _drop_entities(
    entities: Sequence[EntityContext], most: int, tokenizer: Tokenizer
) -> tuple[EntityContext, ...]:
    """The most relevant that fit: with their details, else by name and type, else not at all."""
    if tokenizer.count(entities_text(entities)) <= most:
        return tuple(entities)
    chosen: list[EntityContext] = []
    for entity in sorted(entities, key=lambda each: -each.relevance):
        for worded in (entity, without_details(entity, tokenizer)):
            if tokenizer.count(entities_text([*chosen, worded])) <= most:
                chosen.append(worded)
                break
    return tuple(chosen)


def _drop_chunks(
    chunks: Sequence[KnowledgeChunk], most: int, tokenizer: Tokenizer
) -> tuple[KnowledgeChunk, ...]:
    """The most relevant that fit, in the order they had."""
    if tokenizer.count(knowledge_text(chunks)) <= most:
        return tuple(chunks)
    chosen: list[KnowledgeChunk] = []
    for chunk in sorted(chunks, key=lambda each: -each.relevance):
        if tokenizer.count(knowledge_text([*chosen, chunk])) <= most:
            chosen.append(chunk)
    ordered = tuple(chunk for chunk in chunks if chunk in chosen)
    return ordered if tokenizer.count(knowledge_text(ordered)) <= most else tuple(chosen)
