"""The recipe of a conversation: a whole prompt from what was said, who is meant and what is known.

    resolve → recall → retrieve → word → compress

The window is divided among the parts first, and what one leaves over flows to those that can use it. The
prompt is never over the window and never without its query. A part that cannot be asked is left out and
noted; what the prompt is made of, and what was lost on the way, stands in the receipt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from foreword import pipeline
from foreword.compose import prompt
from foreword.compose.allocation import TokenBudgetManager, redistribute
from foreword.compose.entity_context import entities_text
from foreword.compose.fit import FittedText
from foreword.compose.knowledge_chunk import knowledge_text
from foreword.compose.parts import HALF_A_CHARACTER
from foreword.compose.prompt import ContextContent, prompt_text, prompt_tokens
from foreword.errors import QueryTooLarge, ValidationError
from foreword.pipeline import drop_superseded, optional, search_above
from foreword.recipes.dialogue.parts import DialogueDraft
from foreword.recipes.dialogue.pathmap import pathmap
from foreword.types import ContextLine, DroppedResult, Item, Note, Query, SearchResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from foreword.compose.allocation import BudgetCategory, TokenBudget
    from foreword.compose.compress import Compressed, CompressionLevel
    from foreword.compose.knowledge_chunk import KnowledgeChunk
    from foreword.pipeline import Stage
    from foreword.recipes.dialogue.parts import Conversation
    from foreword.types import Kind, Receipt

DEFAULT_MAX_TOKENS = 4096

RECALL: tuple[Stage[Any], ...] = (*search_above(0.005), drop_superseded)
"""How the turns are found that bear on the question. The floor is low: in its own conversation a turn that
may bear on it is worth more than one that was merely said of late."""

_ENTITY_JOINS = 4
"""How many tokens the wording of entities keeps free for joins, and for each entity two more."""


@dataclass(frozen=True, slots=True)
class InjectedContext:
    """A whole prompt: its content, the text of it, what that costs, and why it is so."""

    content: ContextContent
    formatted: str
    token_count: int
    budget: TokenBudget
    level: CompressionLevel
    receipt: Receipt

    def openai_messages(self) -> list[dict[str, Any]]:
        """The prompt for OpenAI's chat API, or any that speaks it."""
        return prompt.openai_messages(self.content)

    def anthropic_messages(self) -> tuple[str, list[dict[str, Any]]]:
        """The prompt for Anthropic's API: the system text, and the messages."""
        return prompt.anthropic_messages(self.content)


def inject_context(
    query: str, session: Conversation, max_tokens: int = DEFAULT_MAX_TOKENS, *, keep: bool = True
) -> InjectedContext:
    """The prompt for the next turn, in at most `max_tokens` tokens; with `keep`, its receipt is kept.

    Raises QueryTooLarge if the query alone is too long for the window.
    """
    draft = pipeline.run(begin_prompt(query, session, max_tokens), DIALOGUE)
    receipt = pipeline.receipt(draft, _receipt_pathmap(draft))
    if keep:
        session.keep_receipt(receipt)
    compressed = _compressed_prompt(draft)
    return InjectedContext(
        compressed.content, draft.text, draft.tokens, draft.allocation, compressed.level, receipt
    )


def begin_prompt(query: str, session: Conversation, max_tokens: int) -> DialogueDraft:
    """The draft of a prompt: its query and its window, checked, and the conversation as it stands."""
    _check_query(query)
    manager = TokenBudgetManager(max_tokens, session.tokenizer, session.strategy)
    least = prompt_tokens(ContextContent(query), session.tokenizer)
    if least > max_tokens:
        raise QueryTooLarge(least, max_tokens)
    state, chunks = session.state, session.available_chunks()
    return DialogueDraft(
        query=Query(query, session.workspace, session.now()),
        recipe="dialogue",
        budget=max_tokens,
        session=session.session_id,
        conversation=session,
        state=state,
        available_chunks=chunks,
        allocation=manager.allocate(query, state, chunks),
        content=ContextContent(query),
    )


# Stages ---------------------------------------------------------------------------------------------------


def resolve(draft: DialogueDraft) -> DialogueDraft:
    """Find out who and what the query means."""
    return replace(draft, entities=tuple(draft.conversation.resolve(draft.query.text)))


def recall(draft: DialogueDraft) -> DialogueDraft:
    """Find the earlier turns that bear on the query."""
    recalled = draft.conversation.recall(draft.query.text, draft.budget)
    return replace(draft, recalled=recalled).with_notes(*recalled.notes)


def retrieve(draft: DialogueDraft) -> DialogueDraft:
    """Find what documents say about the query, where there are any."""
    if not draft.available_chunks:
        return draft
    retrieved = draft.conversation.retrieve(draft.query.text, draft.entities, draft.budget)
    return replace(draft, retrieved=retrieved).with_notes(*retrieved.notes)


def word(draft: DialogueDraft) -> DialogueDraft:
    """Put the parts into words, each within what it was allocated or got from the others."""
    wording, count, state = draft.conversation.wording, draft.conversation.tokenizer.count, draft.state
    allocation = _redistribute_tokens(draft)
    system = wording.system.compose(allocation.system)
    content = ContextContent(
        draft.query.text,
        system.text,
        wording.history.format(state, allocation.history, [turn for turn, _ in draft.recalled.turns]),
        wording.entities.format(state, draft.entities, allocation.entities),
        _chunks_within(draft.retrieved.chunks, allocation.rag, count),
    )
    return replace(draft, allocation=allocation, content=content, system=system)


def compress(draft: DialogueDraft) -> DialogueDraft:
    """Take away what is least missed, while the whole is over the window."""
    compressed = draft.conversation.wording.compressor.compress(draft.content, draft.budget)
    problem = compressed.content.history.problem or draft.content.history.problem
    if problem:
        draft = draft.with_notes(Note("summary", f"left out: {problem}"))
    lost = (*(draft.system.lost if draft.system else ()), *compressed.lost)
    if lost:
        draft = draft.with_notes(Note("compress", f"{compressed.level.name.lower()}: lost {', '.join(lost)}"))
    lines = (*_turn_lines(draft, compressed), *_chunk_lines(draft, compressed))
    dropped = tuple(_dropped_results(draft, lines))
    text = prompt_text(compressed.content)
    draft = replace(draft, compressed=compressed)
    return draft.with_text(FittedText(text, compressed.token_count, lines, dropped))


DIALOGUE: tuple[Stage[Any], ...] = (optional(resolve), optional(recall), optional(retrieve), word, compress)
"""What happens to a query, in order."""


def _redistribute_tokens(draft: DialogueDraft) -> TokenBudget:
    """The allocation, after what a part does not need has gone to those that can use it."""
    wording, strategy = draft.conversation.wording, draft.conversation.strategy
    count, chunks = draft.conversation.tokenizer.count, draft.retrieved.chunks
    room = draft.allocation.total - draft.allocation.query
    entities = wording.entities.format(draft.state, draft.entities, room)
    joins = _ENTITY_JOINS + 2 * len(entities)
    needed: dict[BudgetCategory, int] = {
        "system": wording.system.compose(room).token_count,
        "history": room if draft.state.turns else 0,
        "entities": count(entities_text(entities)) + joins if entities else 0,
        "rag": count(knowledge_text(chunks)),
    }
    return redistribute(
        draft.allocation,
        {part: 0 if strategy.leaves_out(part) else tokens for part, tokens in needed.items()},
    )


def _chunks_within(
    chunks: Sequence[KnowledgeChunk], room: int, count: Callable[[str], int]
) -> tuple[KnowledgeChunk, ...]:
    """The chunks that fit, best first; one that does not fit is skipped, and the next one tried."""
    chosen: list[KnowledgeChunk] = []
    for chunk in chunks:
        if chunk.token_count <= room and count(knowledge_text([*chosen, chunk])) <= room:
            chosen.append(chunk)
    return tuple(chosen)


# The receipt ----------------------------------------------------------------------------------------------


def _turn_lines(draft: DialogueDraft, compressed: Compressed) -> Iterator[ContextLine]:
    """A line for every turn that is in the prompt."""
    history = compressed.content.history
    scores = {turn.turn_id: score for turn, score in draft.recalled.turns}
    shown = [(turn, "recent") for turn in history.recent_turns]
    shown += [(turn, "recalled") for turn in history.recalled]
    for turn, how in shown:
        result = _nameless_result(draft, turn.turn_id, "turn", scores.get(turn.turn_id, 0.0))
        yield ContextLine(result, "history", turn.content, turn.tokens, how)


def _chunk_lines(draft: DialogueDraft, compressed: Compressed) -> Iterator[ContextLine]:
    """A line for every chunk that is in the prompt."""
    for chunk in compressed.content.rag_chunks:
        result = _nameless_result(draft, chunk.chunk_id, "document", chunk.relevance)
        yield ContextLine(result, "knowledge", chunk.formatted, chunk.token_count, chunk.source.place)


def _dropped_results(draft: DialogueDraft, lines: Sequence[ContextLine]) -> Iterator[DroppedResult]:
    """What was recalled or retrieved, and found no room."""
    there = {line.id for line in lines}
    found: list[tuple[str, Kind, float]] = [(t.turn_id, "turn", score) for t, score in draft.recalled.turns]
    found += [(chunk.chunk_id, "document", chunk.relevance) for chunk in draft.retrieved.chunks]
    for name, kind, score in found:
        if name not in there:
            yield DroppedResult(_nameless_result(draft, name, kind, score), "over budget")


def _nameless_result(draft: DialogueDraft, name: str, kind: Kind, score: float) -> SearchResult:
    """A turn or a chunk as a receipt names it: by its id, without its text."""
    return SearchResult(Item("", draft.query.workspace, kind=kind, id=name), score)


def _receipt_pathmap(draft: DialogueDraft) -> dict[str, Any] | None:
    """The receipt as a map of paths; None if something that it may repeat was forgotten meanwhile."""
    turns = draft.state.turns
    unchanged = draft.conversation.state.turns[: len(turns)] == turns
    return pathmap(draft, _compressed_prompt(draft)) if unchanged else None


def _compressed_prompt(draft: DialogueDraft) -> Compressed:
    assert draft.compressed is not None, "the last stage compresses"  # noqa: S101
    return draft.compressed


def _check_query(query: object) -> None:
    if not isinstance(query, str):
        raise ValidationError(f"the query must be text, not {type(query).__name__}")
    if "\0" in query or HALF_A_CHARACTER.search(query):
        raise ValidationError(
            "the query holds a NUL character or half a character (a lone surrogate); no model can read it: "
            "take it out"
        )
