"""The recipe of a conversation: a whole prompt from what was said, who is meant and what is known.

    resolve → recall → retrieve → word → compress

The window is divided among the parts first, and what one leaves over flows to those that can use it. The
prompt is never over the window and never without its query. A part that cannot be asked is left out and
noted; what the prompt is made of, and what was lost on the way, stands in the receipt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from foreword import pipeline
from foreword.compose import prompt
from foreword.compose.allocation import TokenBudgetManager, redistribute
from foreword.compose.compress import CompressionLevel
from foreword.compose.entity_context import entities_text
from foreword.compose.fit import FittedText
from foreword.compose.knowledge_chunk import knowledge_text
from foreword.compose.prompt import ContextContent, prompt_text, prompt_tokens
from foreword.compose.quoting import HALF_A_CHARACTER
from foreword.errors import QueryTooLarge, ValidationError
from foreword.pipeline import Draft, drop_superseded, optional
from foreword.types import ContextLine, DroppedResult, Item, Note, Query, SearchResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from foreword.compose.allocation import AllocationStrategy, BudgetCategory, TokenBudget
    from foreword.compose.compress import Compressed, DynamicCompressor
    from foreword.compose.entity_context import EntityContextFormatter
    from foreword.compose.history import FormattedHistory, HistoryFormatter
    from foreword.compose.knowledge_chunk import KnowledgeChunk
    from foreword.compose.system_prompt import SystemPrompt, SystemPromptBuilder
    from foreword.pipeline import Stage
    from foreword.text.tokens import Tokenizer
    from foreword.types import DialogueState, Kind, Receipt, ResolvedEntity, Turn

    Count = Callable[[str], int]
    Pairs = Iterator[tuple[str, Any]]

DEFAULT_MAX_TOKENS = 4096

RECALL: tuple[Stage[Any], ...] = (
    *(pipeline.retrieve, pipeline.fuse, pipeline.compare_tokens, pipeline.rerank, pipeline.refresh),
    *(pipeline.drop_below(0.005), pipeline.limit, pipeline.relate, drop_superseded),
)
"""How the turns are found that bear on the question. The floor is low: in its own conversation a turn that
may bear on it is worth more than one that was merely said of late."""

_ENTITY_JOINS = 4
"""How many tokens the wording of entities keeps free for joins, and for each entity two more."""


@dataclass(frozen=True, slots=True)
class RecalledTurns:
    """Earlier turns that bear on a question, the best first, each with its probability."""

    turns: tuple[tuple[Turn, float], ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class RetrievedChunks:
    """The chunks, best first; how many were considered, whether they were reranked, and what went wrong."""

    chunks: tuple[KnowledgeChunk, ...] = ()
    considered: int = 0
    reranked: bool = False
    notes: tuple[Note, ...] = ()

    @property
    def citations(self) -> tuple[str, ...]:
        """Each document once, in the order of its best chunk: its title, the place, the address if any."""
        cited: dict[str, str] = {}
        for source in (chunk.source for chunk in self.chunks):
            cited.setdefault(source.doc_id, ", ".join(filter(None, (source.title, source.place, source.url))))
        return tuple(cited.values())


@dataclass(frozen=True, slots=True)
class Wording:
    """What puts the parts of a prompt into words."""

    system: SystemPromptBuilder
    history: HistoryFormatter
    entities: EntityContextFormatter
    compressor: DynamicCompressor


class Conversation(Protocol):
    """What the recipe needs of a conversation; `foreword.Session` is one, kept in a workspace."""

    @property
    def workspace(self) -> str:
        """Where the conversation is kept."""

    @property
    def session_id(self) -> str:
        """Which conversation it is."""

    @property
    def state(self) -> DialogueState:
        """The conversation as it stands."""

    @property
    def tokenizer(self) -> Tokenizer:
        """What counts tokens."""

    @property
    def strategy(self) -> AllocationStrategy:
        """How the window is divided."""

    @property
    def wording(self) -> Wording:
        """What words its parts."""

    def now(self) -> datetime:
        """What time it is."""

    def available_chunks(self) -> int:
        """How many chunks of documents there are."""

    def resolve(self, query: str) -> Sequence[ResolvedEntity]:
        """Who and what the query means."""

    def recall(self, query: str, max_tokens: int) -> RecalledTurns:
        """The turns that bear on the query, as many as so many tokens may hold."""

    def retrieve(self, query: str, entities: Sequence[ResolvedEntity], max_tokens: int) -> RetrievedChunks:
        """The chunks that bear on the query after what was said last, as many as so many tokens hold."""

    def keep_receipt(self, receipt: Receipt) -> None:
        """Keep the receipt of a prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueDraft(Draft):
    """A prompt in the making: the conversation it is for, how the window is divided, and its parts."""

    conversation: Conversation
    state: DialogueState
    available_chunks: int
    allocation: TokenBudget
    content: ContextContent
    entities: tuple[ResolvedEntity, ...] = ()
    recalled: RecalledTurns = RecalledTurns()
    retrieved: RetrievedChunks = RetrievedChunks()
    system: SystemPrompt | None = None
    compressed: Compressed | None = None


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
    compressed = draft.compressed
    assert compressed is not None, "the last stage compresses"  # noqa: S101
    receipt = pipeline.receipt(draft, _receipt_pathmap(draft, compressed))
    if keep:
        session.keep_receipt(receipt)
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


DIALOGUE: tuple[Stage[Any], ...] = (
    optional(resolve),
    optional(recall),
    optional(retrieve),
    word,
    compress,
)
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
        result = _result_without_text(draft, turn.turn_id, "turn", scores.get(turn.turn_id, 0.0))
        yield ContextLine(result, "history", turn.content, turn.tokens, how)


def _chunk_lines(draft: DialogueDraft, compressed: Compressed) -> Iterator[ContextLine]:
    """A line for every chunk that is in the prompt."""
    for chunk in compressed.content.rag_chunks:
        result = _result_without_text(draft, chunk.chunk_id, "document", chunk.relevance)
        yield ContextLine(result, "knowledge", chunk.formatted, chunk.token_count, chunk.source.place)


def _dropped_results(draft: DialogueDraft, lines: Sequence[ContextLine]) -> Iterator[DroppedResult]:
    """What was recalled or retrieved, and found no room."""
    there = {line.id for line in lines}
    found: list[tuple[str, Kind, float]] = [(t.turn_id, "turn", score) for t, score in draft.recalled.turns]
    found += [(chunk.chunk_id, "document", chunk.relevance) for chunk in draft.retrieved.chunks]
    for name, kind, score in found:
        if name not in there:
            yield DroppedResult(_result_without_text(draft, name, kind, score), "over budget")


def _result_without_text(draft: DialogueDraft, name: str, kind: Kind, score: float) -> SearchResult:
    """A turn or a chunk as a receipt names it: by its id, without its text."""
    return SearchResult(Item("", draft.query.workspace, kind=kind, id=name), score)


def _check_query(query: object) -> None:
    if not isinstance(query, str):
        raise ValidationError(f"the query must be text, not {type(query).__name__}")
    if "\0" in query or HALF_A_CHARACTER.search(query):
        raise ValidationError(
            "the query holds a NUL character or half a character (a lone surrogate); no model can read it: "
            "take it out"
        )


# The receipt as a map from paths to values ----------------------------------------------------------------


def _receipt_pathmap(draft: DialogueDraft, compressed: Compressed) -> dict[str, Any] | None:
    """What the prompt is made of, by path, such as `/context/{session_id}/{turn_id}/budget/total`.

    Every key is there even when a part is empty: whoever reads the map need not know which parts were made.
    None if something that it may repeat was forgotten meanwhile.
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
        **dict(_history_paths(content.history, compressed.level, count)),
        **dict(_entity_paths(content, count)),
        "rag/query_used": draft.query.text,
        "rag/chunks_retrieved": found.considered,
        "rag/chunks_selected": len(content.rag_chunks),
        "rag/reranking_used": found.reranked,
        "rag/total_tokens": count(knowledge_text(content.rag_chunks)),
        **dict(_chunk_paths(content)),
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


def _history_paths(history: FormattedHistory, level: CompressionLevel, count: Count) -> Pairs:
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


def _entity_paths(content: ContextContent, count: Count) -> Pairs:
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


def _chunk_paths(content: ContextContent) -> Pairs:
    for at, chunk in enumerate(content.rag_chunks):
        yield f"rag/chunks/{at}/chunk_id", chunk.chunk_id
        yield f"rag/chunks/{at}/doc_title", chunk.source.title
        yield f"rag/chunks/{at}/relevance", chunk.relevance
        yield f"rag/chunks/{at}/tokens", chunk.token_count
