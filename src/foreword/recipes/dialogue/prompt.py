"""The recipe `dialogue`: a whole prompt from turns, entities, facts about the user, and documents.

    resolve → recall → recall_user → recall_elsewhere → retrieve → word → compress

The instructions come first, and whole. The rest of the window is divided among the parts, and what one leaves
over goes to those that can use it. The prompt is never over the window and never without its query. A part
that cannot be found is left out and noted; the receipt lists what the prompt is made of and what was dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from foreword import pipeline
from foreword.compose import prompt
from foreword.compose.allocation import (
    MAX_TOKENS,
    Dynamic,
    TokenBudget,
    TokenBudgetManager,
    redistribute,
    set_category_tokens_within_total,
)
from foreword.compose.cutting import extract_search_words
from foreword.compose.entity_context import entities_text
from foreword.compose.fit import FittedText
from foreword.compose.knowledge_chunk import knowledge_text
from foreword.compose.prompt import ContextContent, prompt_text, prompt_tokens
from foreword.compose.turns import format_turns_within, is_unshortened
from foreword.compose.user_context import fit_user_lines, merge_user_lines
from foreword.errors import QueryTooLarge, ValidationError
from foreword.options import check_whole_number
from foreword.pipeline import Draft, drop_superseded, make_optional
from foreword.recipes.dialogue.asking import AskedQuery, resolve_asked_query
from foreword.recipes.dialogue.pathmap import prompt_values_by_path
from foreword.recipes.dialogue.receipt_lines import injected_lines, results_over_budget
from foreword.recipes.dialogue.users import UserMemories
from foreword.text.clean import SURROGATE
from foreword.types import Note, Query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from foreword.compose.allocation import AllocationStrategy, BudgetCategory
    from foreword.compose.compress import Compressed, CompressionLevel, DynamicCompressor
    from foreword.compose.entity_context import EntityContextFormatter
    from foreword.compose.history import HistoryFormatter
    from foreword.compose.knowledge_chunk import KnowledgeChunk
    from foreword.compose.system_prompt import SystemPrompt, SystemPromptBuilder
    from foreword.pipeline import Stage
    from foreword.text.tokens import Tokenizer
    from foreword.types import DialogueState, Receipt, ResolvedEntity, Turn

    Count = Callable[[str], int]
    Filler = Callable[["DialogueDraft", ContextContent, int], ContextContent]

DEFAULT_MAX_TOKENS = 4096

FIND_STAGES: tuple[Stage[Any], ...] = (
    *(pipeline.retrieve, pipeline.fuse, pipeline.compare_tokens, pipeline.rerank, pipeline.refresh),
    pipeline.drop_below(0.005),
)
"""The stages that find the turns relevant to a question. The floor is low: within its own conversation, a
turn that may be relevant is worth more than one that is merely recent."""

LIMIT_STAGES: tuple[Stage[Any], ...] = (pipeline.limit, pipeline.relate, drop_superseded)
"""The stages that choose among the turns found, after those that were said again later are left out."""

_HEADING_TOKENS = 8
"""At most how many tokens the heading of a part and its joins cost."""

_MAX_FILLS = 3
"""How often filling a part is tried with fewer tokens while the whole is over the window."""

_ENTITY_JOINS = 4
"""How many tokens the wording of entities reserves for joins; two more are reserved for each entity."""


@dataclass(frozen=True, slots=True)
class RecalledTurns:
    """Earlier turns that are relevant to a question, the best first, each with its probability."""

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
    """The formatters that word the parts of a prompt, and the compressor that shortens it."""

    system: SystemPromptBuilder
    history: HistoryFormatter
    entities: EntityContextFormatter
    compressor: DynamicCompressor


class Conversation(Protocol):
    """What the recipe needs of a conversation; `foreword.Session` is one, stored in a workspace."""

    @property
    def workspace(self) -> str:
        """The workspace that stores the conversation."""

    @property
    def session_id(self) -> str:
        """The id of the conversation."""

    @property
    def state(self) -> DialogueState:
        """The turns and entities of the conversation so far."""

    @property
    def tokenizer(self) -> Tokenizer:
        """Counts tokens."""

    @property
    def strategy(self) -> AllocationStrategy:
        """How the window is divided among the parts."""

    @property
    def wording(self) -> Wording:
        """The formatters of its parts."""

    def now(self) -> datetime:
        """The current time."""

    def available_chunks(self) -> int:
        """How many chunks of documents there are."""

    def resolve(self, query: str, asker: str = "") -> Sequence[ResolvedEntity]:
        """The entities that the query means when `asker` asks, or else the conversation's user."""

    def recall(self, query: str, max_tokens: int) -> RecalledTurns:
        """The turns that are relevant to the query, as many as `max_tokens` may hold."""

    def recall_user(self, query: str, max_tokens: int, asker: str = "") -> UserMemories:
        """What the user who asks said about themselves elsewhere, and how they want to be answered."""

    def recall_elsewhere(self, query: str, max_tokens: int, asker: str = "") -> UserMemories:
        """What bears on the query of the user's other conversations, and of the workspace's memories."""

    def retrieve(
        self,
        query: str,
        entities: Sequence[ResolvedEntity],
        max_tokens: int,
        turns: Sequence[Turn] | None = None,
    ) -> RetrievedChunks:
        """The chunks of documents relevant to the query after these turns, as many as `max_tokens` hold."""

    def keep_receipt(self, receipt: Receipt) -> None:
        """Store the receipt of a prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueDraft(Draft):
    """A prompt in the making: the conversation it is for, how the window is divided, and its parts."""

    conversation: Conversation
    state: DialogueState
    available_chunks: int
    allocation: TokenBudget
    content: ContextContent
    asked: AskedQuery
    entities: tuple[ResolvedEntity, ...] = ()
    recalled: RecalledTurns = RecalledTurns()
    user: UserMemories = UserMemories()
    retrieved: RetrievedChunks = RetrievedChunks()
    system: SystemPrompt | None = None
    compressed: Compressed | None = None


@dataclass(frozen=True, slots=True)
class InjectedContext:
    """A whole prompt: its content, its text, its number of tokens, and its receipt."""

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
    query: str | Turn | None,
    session: Conversation,
    max_tokens: int = DEFAULT_MAX_TOKENS,
    *,
    keep: bool = True,
) -> InjectedContext:
    """The prompt for the next turn, in at most `max_tokens` tokens; with `keep`, its receipt is stored.

    The query may be a `Turn`, with images or the name of the user who asks. None means the session's last
    user turn: the calls of tools since, and their answers, then end the prompt.

    Raises QueryTooLarge if the query alone, with the turns since, is too long for the window.
    """
    draft = pipeline.run(begin_draft(query, session, max_tokens), DIALOGUE)
    compressed = draft.compressed
    assert compressed is not None, "the last stage compresses"  # noqa: S101
    receipt = pipeline.make_receipt(draft, prompt_values_by_path(draft, compressed))
    if keep:
        session.keep_receipt(receipt)
    return InjectedContext(
        compressed.content, draft.text, draft.tokens, draft.allocation, compressed.level, receipt
    )


def begin_draft(query: str | Turn | None, session: Conversation, max_tokens: int) -> DialogueDraft:
    """The draft of a prompt, with its query checked; QueryTooLarge if the query alone is over the window."""
    check_whole_number("max_tokens", max_tokens, 1, MAX_TOKENS)
    manager = TokenBudgetManager(max_tokens, session.tokenizer, session.strategy)
    asked = resolve_asked_query(query, session.state)
    check_query(asked.text)
    content = ContextContent(asked.text, asked=asked.turn)
    content = _add_turns_since_query(content, asked.since, max_tokens, session.tokenizer)
    least = prompt_tokens(content, session.tokenizer)
    if least > max_tokens:
        raise QueryTooLarge(least, max_tokens)
    state, chunks = asked.state, session.available_chunks()
    return DialogueDraft(
        query=Query(asked.text, session.workspace, session.now()),
        recipe="dialogue",
        budget=max_tokens,
        session=session.session_id,
        conversation=session,
        state=state,
        available_chunks=chunks,
        allocation=manager.allocate(asked.text, state, chunks),
        content=content,
        asked=asked,
    )


def _add_turns_since_query(
    content: ContextContent, since: Sequence[Turn], max_tokens: int, tokenizer: Tokenizer
) -> ContextContent:
    """The content with the turns since its query; long answers of tools keep their ends and what is asked."""
    if not since:
        return content
    room = max_tokens - prompt_tokens(content, tokenizer) - _HEADING_TOKENS
    asked_words = extract_search_words(content.query)
    return replace(content, since=format_turns_within(since, room, tokenizer, asked_words))


# Stages ---------------------------------------------------------------------------------------------------


def resolve(draft: DialogueDraft) -> DialogueDraft:
    """Find the entities that the query means."""
    entities = draft.conversation.resolve(draft.query.text, draft.asked.user)
    return replace(draft, entities=tuple(entities))


def recall(draft: DialogueDraft) -> DialogueDraft:
    """Find the earlier turns that are relevant to the query."""
    recalled = draft.conversation.recall(draft.query.text, draft.budget)
    own = {turn.turn_id for turn in draft.asked.turns_in_query}
    turns = tuple(pair for pair in recalled.turns if pair[0].turn_id not in own)
    return replace(draft, recalled=replace(recalled, turns=turns)).with_notes(*recalled.notes)


def recall_user(draft: DialogueDraft) -> DialogueDraft:
    """Find what the user said about themselves in other conversations."""
    user = draft.conversation.recall_user(draft.query.text, draft.budget, draft.asked.user)
    return replace(draft, user=user).with_notes(*user.notes)


def recall_elsewhere(draft: DialogueDraft) -> DialogueDraft:
    """Find what was said in the user's other conversations, or remembered, and is relevant to the query."""
    found = draft.conversation.recall_elsewhere(draft.query.text, draft.budget, draft.asked.user)
    user = replace(draft.user, lines=tuple(merge_user_lines(draft.user.lines, found.lines)))
    return replace(draft, user=user).with_notes(*found.notes)


def retrieve(draft: DialogueDraft) -> DialogueDraft:
    """Find what documents say about the query, where there are any."""
    if not draft.available_chunks:
        return draft
    said = draft.state.turns
    retrieved = draft.conversation.retrieve(draft.query.text, draft.entities, draft.budget, said)
    return replace(draft, retrieved=retrieved).with_notes(*retrieved.notes)


def word(draft: DialogueDraft) -> DialogueDraft:
    """Word the parts: the instructions whole, each of the others within its share of the window.

    What is left of the window after that goes to the parts of which something was left out.
    """
    wording, count, state = draft.conversation.wording, draft.conversation.tokenizer.count, draft.state
    allocation = _redivide_window_by_need(draft)
    system = wording.system.compose(allocation.system)
    recalled = [turn for turn, _ in draft.recalled.turns]
    history = wording.history.format(
        state, allocation.history, recalled, draft.query.text, with_summary=False
    )
    chunks = choose_chunks_that_fit(draft.retrieved.chunks, allocation.rag, count)
    content = replace(draft.content, system=system.text, history=history, rag_chunks=chunks)
    content = _add_user_facts_and_entities(draft, content, allocation.entities)
    fuller = _use_spare_tokens(draft, content)
    if fuller is not content:
        allocation = _allocation_used_by(draft, fuller) or allocation
    return replace(draft, allocation=allocation, content=fuller, system=system)


def compress(draft: DialogueDraft) -> DialogueDraft:
    """Drop the least important parts while the whole is over the window, and record what is in the prompt."""
    compressed = draft.conversation.wording.compressor.compress(draft.content, draft.budget)
    problem = compressed.content.history.problem or draft.content.history.problem
    if problem:
        draft = draft.with_notes(Note("summary", f"left out: {problem}"))
    lost = (*(draft.system.lost if draft.system else ()), *compressed.lost)
    if lost:
        draft = draft.with_notes(Note("compress", f"{compressed.level.name.lower()}: lost {', '.join(lost)}"))
    lines = tuple(injected_lines(draft, compressed.content))
    dropped = tuple(results_over_budget(draft, lines))
    text = prompt_text(compressed.content)
    draft = replace(draft, compressed=compressed)
    return draft.with_text(FittedText(text, compressed.token_count, lines, dropped))


DIALOGUE: tuple[Stage[Any], ...] = (
    make_optional(resolve),
    make_optional(recall),
    make_optional(recall_user),
    make_optional(recall_elsewhere),
    make_optional(retrieve),
    word,
    compress,
)
"""The stages of the recipe `dialogue`, in order."""


def _redivide_window_by_need(draft: DialogueDraft) -> TokenBudget:
    """The window divided anew: the instructions whole, and no part with more tokens than it can use."""
    wording, strategy = draft.conversation.wording, draft.conversation.strategy
    count, chunks = draft.conversation.tokenizer.count, draft.retrieved.chunks
    room = draft.budget - prompt_tokens(draft.content, draft.conversation.tokenizer)
    instructions = wording.system.compose(max(0, room - _HEADING_TOKENS)).token_count
    allocation = draft.allocation
    if not strategy.leaves_out("system"):
        allocation = set_category_tokens_within_total(allocation, "system", instructions)
    known = _add_user_facts_and_entities(draft, draft.content, room)
    needed: dict[BudgetCategory, int] = {
        "system": allocation.system,
        "history": room if draft.state.turns else 0,
        "entities": _count_user_and_entity_tokens(known, count),
        "rag": count(knowledge_text(chunks)),
    }
    divided = redistribute(
        allocation,
        {part: 0 if strategy.leaves_out(part) else tokens for part, tokens in needed.items()},
    )
    return _make_room_for_best_chunk(draft, divided) if isinstance(strategy, Dynamic) else divided


def _make_room_for_best_chunk(draft: DialogueDraft, allocation: TokenBudget) -> TokenBudget:
    """The allocation with room for the best chunk, if that takes at most half of the history's tokens."""
    best = draft.conversation.tokenizer.count(knowledge_text(draft.retrieved.chunks[:1]))
    lacking = best - allocation.rag
    if lacking <= 0 or lacking > allocation.history // 2:
        return allocation
    return replace(allocation, rag=best, history=allocation.history - lacking)


def _add_user_facts_and_entities(draft: DialogueDraft, content: ContextContent, room: int) -> ContextContent:
    """The content with the user's facts and the entities of the query, within `room` tokens.

    What is in turns that the content has in full is not repeated.
    """
    turns = (*content.history.recalled, *content.history.recent_turns)
    in_view = {turn.turn_id for turn in turns if is_unshortened(turn)}
    places = {place for place, turn in enumerate(draft.state.turns) if turn.turn_id in in_view}
    lines = [line for line in draft.user.lines if line.turn_id not in in_view]
    user = fit_user_lines(lines, room, draft.conversation.tokenizer)
    formatter = draft.conversation.wording.entities
    left = room - user.token_count
    entities = formatter.format_entities_with_unseen_details(draft.state, draft.entities, left, places)
    return replace(content, user=user, entities=entities)


def _count_user_and_entity_tokens(content: ContextContent, count: Count) -> int:
    """The tokens of the content's user facts and entities, joins included."""
    joins = _ENTITY_JOINS + 2 * len(content.entities) if content.entities else 0
    return content.user.token_count + count(entities_text(content.entities)) + joins


def _use_spare_tokens(draft: DialogueDraft, content: ContextContent) -> ContextContent:
    """The content with more of what was left out, as far as the window allows."""
    strategy = draft.conversation.strategy
    fillers: tuple[tuple[BudgetCategory, bool, Filler], ...] = (
        ("rag", len(content.rag_chunks) < len(draft.retrieved.chunks), _fill_chunks),
        ("entities", bool(draft.user.lines or draft.entities), _fill_user_and_entities),
        ("history", not _has_all_turns_whole(draft, content), _fill_history),
    )
    for part, has_more, fill in fillers:
        if has_more and not strategy.leaves_out(part):
            heading = 0 if part == "history" and content.history.text else _HEADING_TOKENS
            spare = _count_unused_tokens(draft, content) - heading
            content = _fill_within_window(draft, content, spare, fill)
    # Without spare tokens, the history is still formatted with those that it reserved for a summary.
    return _fill_history(draft, content, 0) if content.history.reserved else content


def _has_all_turns_whole(draft: DialogueDraft, content: ContextContent) -> bool:
    """Whether the content has all turns of the conversation, and each of them whole."""
    recent = content.history.recent_turns
    return len(recent) >= len(draft.state.turns) and all(map(is_unshortened, recent))


def _count_unused_tokens(draft: DialogueDraft, content: ContextContent) -> int:
    """The tokens of the window that are not used, less a summary that is to come."""
    used = prompt_tokens(content, draft.conversation.tokenizer) + content.history.reserved
    return draft.budget - used


def _fill_within_window(
    draft: DialogueDraft, content: ContextContent, spare: int, fill: Filler
) -> ContextContent:
    """The content with a part filled; tried with fewer tokens if over the window, else left unchanged."""
    for _ in range(_MAX_FILLS):
        if spare <= 0:
            break
        fuller = fill(draft, content, spare)
        over = prompt_tokens(fuller, draft.conversation.tokenizer) + fuller.history.reserved - draft.budget
        if over <= 0:
            return fuller
        spare -= over + _HEADING_TOKENS
    return content


def _fill_chunks(draft: DialogueDraft, content: ContextContent, spare: int) -> ContextContent:
    """The content with its chunks chosen anew, with `spare` tokens more for them."""
    count = draft.conversation.tokenizer.count
    room = count(knowledge_text(content.rag_chunks)) + spare
    return replace(content, rag_chunks=choose_chunks_that_fit(draft.retrieved.chunks, room, count))


def _fill_user_and_entities(draft: DialogueDraft, content: ContextContent, spare: int) -> ContextContent:
    """The content with the user's facts and the entities worded anew, with `spare` tokens more for them."""
    room = _count_user_and_entity_tokens(content, draft.conversation.tokenizer.count) + spare
    return _add_user_facts_and_entities(draft, content, room)


def _fill_history(draft: DialogueDraft, content: ContextContent, spare: int) -> ContextContent:
    """The content with its history formatted anew, with `spare` tokens more and a summary if there is one."""
    recalled = [turn for turn, _ in draft.recalled.turns]
    formatter = draft.conversation.wording.history
    room = content.history.token_count + content.history.reserved + spare
    fuller = replace(content, history=formatter.format(draft.state, room, recalled, draft.query.text))
    return _add_user_facts_and_entities(
        draft, fuller, _count_user_and_entity_tokens(content, draft.conversation.tokenizer.count)
    )


def _allocation_used_by(draft: DialogueDraft, content: ContextContent) -> TokenBudget | None:
    """The allocation that the content uses, the rest given to the query; None if its parts are over it."""
    count = draft.conversation.tokenizer.count
    parts = {
        "system": count(content.system),
        "history": content.history.token_count,
        "entities": _count_user_and_entity_tokens(content, count),
        "rag": count(knowledge_text(content.rag_chunks)),
    }
    rest = draft.allocation.total - sum(parts.values())
    return TokenBudget(**parts, query=rest) if rest >= 0 else None


def choose_chunks_that_fit(
    chunks: Sequence[KnowledgeChunk], room: int, count: Callable[[str], int]
) -> tuple[KnowledgeChunk, ...]:
    """The chunks that fit, best first; one that does not fit is skipped, and the next one tried."""
    chosen: list[KnowledgeChunk] = []
    for chunk in chunks:
        if chunk.token_count <= room and count(knowledge_text([*chosen, chunk])) <= room:
            chosen.append(chunk)
    return tuple(chosen)


# Checks --------------------------------------------------------------------------------------------------


def check_query(query: object) -> None:
    """ValidationError if a query is no text, or one that no model can read."""
    if not isinstance(query, str):
        raise ValidationError(f"the query must be text, not {type(query).__name__}")
    if "\0" in query or SURROGATE.search(query):
        raise ValidationError(
            "the query holds a NUL character or half a character (a lone surrogate); no model can read it: "
            "take it out"
        )
