"""The recipe of a conversation: a whole prompt from what was said, who is meant and what is known.

    resolve → recall → retrieve → allocate → word → compress

Every part gets its share of the window first, and what one leaves over flows to those that can use it. The
prompt is never over the window and never without its query. A part that cannot be asked is left out and
noted; what the prompt is made of, and what was lost on the way, stands in the receipt.
"""

from __future__ import annotations

import secrets
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from foreword.compose import messages
from foreword.compose.allocation import TokenBudgetManager, flow
from foreword.compose.entity_context import entities_text
from foreword.compose.knowledge_chunk import knowledge_text
from foreword.compose.parts import HALF_A_CHARACTER
from foreword.compose.prompt import ContextContent, prompt_text, prompt_tokens
from foreword.errors import ForewordError, QueryTooLarge, ValidationError
from foreword.log import get_logger
from foreword.pipeline import SEARCH, drop_superseded, hush_below
from foreword.recipes.dialogue.parts import FoundParts, Made, Recalled, Retrieved
from foreword.recipes.dialogue.pathmap import pathmap
from foreword.types import Entry, Note, Receipt, StageTime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from foreword.compose.allocation import BudgetCategory, TokenBudget
    from foreword.compose.compress import CompressionLevel
    from foreword.compose.knowledge_chunk import KnowledgeChunk
    from foreword.compose.system_prompt import SystemPrompt
    from foreword.pipeline import Stage
    from foreword.recipes.dialogue.parts import Conversing
    from foreword.types import DialogueState, ResolvedEntity

_log = get_logger("foreword.dialogue")

DEFAULT_MAX_TOKENS = 4096

RECALL: tuple[Stage, ...] = (*SEARCH, hush_below(0.005), drop_superseded)
"""How the turns are found that bear on the question. The floor is low: in its own conversation a turn that
may bear on it is worth more than one that was merely said of late."""

_ENTITY_JOINS = 4
"""What the wording of entities keeps free for joins, and for each entity two more."""

_Answer = TypeVar("_Answer")


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
        return messages.openai_messages(self.content)

    def anthropic_messages(self) -> tuple[str, list[dict[str, Any]]]:
        """The prompt for Anthropic's API: the system text, and the messages."""
        return messages.anthropic_messages(self.content)


def inject_context(
    query: str, session: Conversing, max_tokens: int = DEFAULT_MAX_TOKENS, *, keep: bool = True
) -> InjectedContext:
    """The prompt for the next turn, in at most `max_tokens` tokens; with `keep`, its receipt is filed.

    A query that is too long for the window, alone, is refused: QueryTooLarge.
    """
    _refuse_what_is_no_text(query)
    log = _Log()
    manager = TokenBudgetManager(max_tokens, session.tokenizer, session.strategy)
    least = prompt_tokens(ContextContent(query), session.tokenizer)
    if least > max_tokens:
        raise QueryTooLarge(least, max_tokens)
    state = session.state
    chunks = session.available_chunks()
    budget = manager.allocate(query, state, chunks)
    found = _found(query, session, max_tokens, log, knowing=chunks > 0)
    with log.timed("word"):
        content, system, budget = _worded(query, session, state, budget, found)
    with log.timed("compress"):
        compressed = session.wording.compressor.compress(content, max_tokens)
    if problem := compressed.content.history.problem or content.history.problem:
        log.notes.append(Note("summary", f"left out: {problem}"))
    receipt = _receipt(Made(query, max_tokens, session, state, budget, found, system, compressed), log)
    if keep:
        session.file(receipt)
    content = compressed.content
    return InjectedContext(
        content, prompt_text(content), compressed.token_count, budget, compressed.level, receipt
    )


def _refuse_what_is_no_text(query: object) -> None:
    if not isinstance(query, str):
        raise ValidationError(f"the query must be text, not {type(query).__name__}")
    if "\0" in query or HALF_A_CHARACTER.search(query):
        raise ValidationError(
            "the query holds a NUL character or half a character (a lone surrogate); no model can read it: "
            "take it out"
        )


@dataclass(slots=True)
class _Log:
    """What took how long, and what went wrong."""

    stages: list[StageTime] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.stages.append(StageTime(stage, (time.perf_counter() - started) * 1000))

    def asked(self, stage: str, ask: Callable[[], _Answer], otherwise: _Answer) -> _Answer:
        """The answer of a part; when it fails, the other one, with a note."""
        with self.timed(stage):
            try:
                return ask()
            except ForewordError as error:
                self.notes.append(Note(stage, f"left out: {error}"))
                _log.warning("a part of the prompt was left out", part=stage, problem=str(error))
                return otherwise


def _found(query: str, session: Conversing, max_tokens: int, log: _Log, *, knowing: bool) -> FoundParts:
    """What the parts may be made of; documents are asked where there are any."""
    nobody: Sequence[ResolvedEntity] = ()
    entities = log.asked("resolve", lambda: session.resolve(query), nobody)
    recalled = log.asked("recall", lambda: session.recall(query, max_tokens), Recalled())

    def retrieve() -> Retrieved:
        return session.retrieve(query, entities, max_tokens) if knowing else Retrieved()

    retrieved = log.asked("retrieve", retrieve, Retrieved())
    log.notes += [*recalled.notes, *retrieved.notes]
    return FoundParts(tuple(entities), recalled, retrieved)


def _worded(
    query: str, session: Conversing, state: DialogueState, budget: TokenBudget, found: FoundParts
) -> tuple[ContextContent, SystemPrompt, TokenBudget]:
    """The parts in words, each within what it was given or got from the others."""
    wording, count = session.wording, session.tokenizer.count
    room = budget.total - budget.query
    entities = wording.entities.format(state, found.entities, room)
    wanted: dict[BudgetCategory, int] = {
        "system": wording.system.compose(room).token_count,
        "history": room if state.turns else 0,
        "entities": count(entities_text(entities)) + _ENTITY_JOINS + 2 * len(entities) if entities else 0,
        "rag": count(knowledge_text(found.retrieved.chunks)),
    }
    leaves_out = session.strategy.leaves_out
    budget = flow(budget, {part: 0 if leaves_out(part) else tokens for part, tokens in wanted.items()})
    system = wording.system.compose(budget.system)
    content = ContextContent(
        query,
        system.text,
        wording.history.format(state, budget.history, [turn for turn, _ in found.recalled.turns]),
        wording.entities.format(state, found.entities, budget.entities),
        _within(found.retrieved.chunks, budget.rag, count),
    )
    return content, system, budget


def _within(
    chunks: Sequence[KnowledgeChunk], room: int, count: Callable[[str], int]
) -> tuple[KnowledgeChunk, ...]:
    """The chunks that fit, best first; one that does not is passed over, not the end."""
    chosen: list[KnowledgeChunk] = []
    for chunk in chunks:
        if chunk.token_count <= room and count(knowledge_text([*chosen, chunk])) <= room:
            chosen.append(chunk)
    return tuple(chosen)


def _receipt(made: Made, log: _Log) -> Receipt:
    """Why the prompt is as it is; without a view of it, if what that may repeat was forgotten meanwhile."""
    stands = made.session.state.turns[: len(made.state.turns)] == made.state.turns
    level, lost = made.compressed.level, (*made.system.lost, *made.compressed.lost)
    if lost:
        log.notes.append(Note("compress", f"{level.name.lower()}: lost {', '.join(lost)}"))
    return Receipt(
        id=secrets.token_hex(6),
        workspace=made.session.workspace,
        created_at=made.session.now(),
        query=made.query,
        recipe="dialogue",
        budget=made.total,
        tokens=made.compressed.token_count,
        session=made.session.session_id,
        stages=tuple(log.stages),
        entries=(*_turns(made), *_chunks(made)),
        notes=tuple(log.notes),
        view=pathmap(made) if stands else None,
    )


def _turns(made: Made) -> Iterator[Entry]:
    """A line for every turn that is in the prompt, or was recalled for it."""
    history = made.compressed.content.history
    scores = {turn.turn_id: score for turn, score in made.found.recalled.turns}
    shown = [(turn, "recent") for turn in history.recent_turns]
    shown += [(turn, "recalled") for turn in history.recalled]
    for turn, how in shown:
        score = scores.pop(turn.turn_id, 0.0)
        yield Entry(turn.turn_id, "turn", "injected", how, "history", turn.tokens, score, score)
    for turn_id, score in scores.items():
        yield Entry(turn_id, "turn", "over budget", score=score, rank=score)


def _chunks(made: Made) -> Iterator[Entry]:
    """A line for every chunk that was found."""
    chosen = {chunk.chunk_id for chunk in made.compressed.content.rag_chunks}
    for chunk in made.found.retrieved.chunks:
        score = chunk.relevance
        if chunk.chunk_id in chosen:
            place, tokens = chunk.source.place, chunk.token_count
            yield Entry(chunk.chunk_id, "document", "injected", place, "knowledge", tokens, score, score)
        else:
            yield Entry(chunk.chunk_id, "document", "over budget", score=score, rank=score)
