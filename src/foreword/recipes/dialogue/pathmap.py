"""The receipt of a prompt as a map from paths to values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foreword.compose.compress import CompressionLevel
from foreword.compose.entity_context import entities_text
from foreword.compose.knowledge_chunk import knowledge_text
from foreword.compose.prompt import prompt_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from foreword.compose.compress import Compressed
    from foreword.compose.formatted_history import FormattedHistory
    from foreword.compose.prompt import ContextContent
    from foreword.recipes.dialogue.prompt import DialogueDraft

    Count = Callable[[str], int]
    Pairs = Iterator[tuple[str, Any]]


def prompt_values_by_path(draft: DialogueDraft, compressed: Compressed) -> dict[str, Any] | None:
    """The values that describe a prompt, by path, such as `/context/{session_id}/{turn_id}/budget/total`.

    The fixed paths are there even when a part of the prompt is empty. None if turns of the conversation were
    forgotten meanwhile, since the map would repeat their text.
    """
    turns = draft.state.turns
    if draft.conversation.state.turns[: len(turns)] != turns:
        return None
    content, budget, found = compressed.content, draft.allocation, draft.retrieved
    conversation, count = draft.conversation, draft.conversation.tokenizer.count
    parts: dict[str, Any] = {
        "budget/total": draft.budget,
        "budget/system": budget.system,
        "budget/history": budget.history,
        "budget/entities": budget.entities,
        "budget/rag": budget.rag,
        "budget/query": budget.query,
        "budget/strategy": type(conversation.strategy).__name__,
        **dict(_history_values_by_path(content.history, compressed.level, count)),
        **dict(_entity_values_by_path(content, count)),
        **dict(_user_values_by_path(content)),
        "rag/query_used": draft.query.text,
        "rag/chunks_retrieved": found.considered,
        "rag/chunks_selected": len(content.rag_chunks),
        "rag/reranking_used": found.reranked,
        "rag/total_tokens": count(knowledge_text(content.rag_chunks)),
        **dict(_chunk_values_by_path(content)),
        "system/base_instructions": draft.system.base_instructions if draft.system else "",
        "system/personality": type(conversation.wording.system.agent_personality).__name__,
        "system/user_preferences": draft.system.user_preferences if draft.system else "",
        "system/total_tokens": count(content.system),
        "assembled/full_prompt": prompt_text(content),
        "assembled/total_tokens": compressed.token_count,
        "assembled/under_budget": compressed.token_count <= draft.budget,
    }
    root = f"/context/{draft.session}/{len(turns)}"
    return {f"{root}/{path}": value for path, value in parts.items()}


def _history_values_by_path(history: FormattedHistory, level: CompressionLevel, count: Count) -> Pairs:
    """The paths and values that describe the history in a prompt."""
    turns = (*history.recalled, *history.recent_turns)
    yield "history/summary", history.summary
    yield "history/summary_tokens", count(history.summary or "")
    yield "history/verbatim_count", len(turns)
    yield "history/total_tokens", history.token_count
    yield "history/compressed", level > CompressionLevel.NONE
    yield "history/compression_level", level.name.lower() if level > CompressionLevel.NONE else None
    for at, turn in enumerate(turns):
        yield f"history/turns/{at}/turn_id", turn.turn_id
        yield f"history/turns/{at}/speaker", turn.speaker
        yield f"history/turns/{at}/content", turn.content
        yield f"history/turns/{at}/tokens", turn.tokens


def _entity_values_by_path(content: ContextContent, count: Count) -> Pairs:
    yield "entities/count", len(content.entities)
    yield "entities/total_tokens", count(entities_text(content.entities))
    for at, entity in enumerate(content.entities):
        yield f"entities/{at}/entity_id", entity.entity_id
        yield f"entities/{at}/name", entity.name
        yield f"entities/{at}/type", entity.entity_type
        yield f"entities/{at}/relevance", entity.relevance
        yield f"entities/{at}/tokens", entity.token_count
        for name, value in entity.attributes:
            yield f"entities/{at}/attributes/{name}", value


def _user_values_by_path(content: ContextContent) -> Pairs:
    yield "user/count", len(content.user.lines)
    yield "user/total_tokens", content.user.token_count
    for at, line in enumerate(content.user.lines):
        yield f"user/{at}/turn_id", line.turn_id
        yield f"user/{at}/content", line.prompt_line


def _chunk_values_by_path(content: ContextContent) -> Pairs:
    for at, chunk in enumerate(content.rag_chunks):
        yield f"rag/chunks/{at}/chunk_id", chunk.chunk_id
        yield f"rag/chunks/{at}/doc_title", chunk.source.title
        yield f"rag/chunks/{at}/relevance", chunk.relevance
        yield f"rag/chunks/{at}/tokens", chunk.token_count
