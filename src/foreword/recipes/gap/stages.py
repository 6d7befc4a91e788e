"""The stages of the recipe `gap`: from searching the sources to the contexts put into the agent's state.

    load shown → ask → drop below floor → drop said → drop repeats → keep answers → fit

All enabled sources are searched at once, on one scale of relevance; one that fails or is late leaves a note,
and the others are used. What the state holds already is dropped, and so is what states nothing. The rest is
put on one line each and added while bytes and tokens last; only the best context may be cut, if it would not
fit otherwise. Tokens are counted exactly.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, cast

from foreword.compose.fit import FittedText, split_off_excess_foreign_lines
from foreword.compose.share import OVER_SHARE, find_ids_exempt_from_share
from foreword.errors import ForewordError
from foreword.log import get_logger
from foreword.pipeline import MAX_NEAR_MISSES, Draft
from foreword.recipes.gap.engine_memory import EngineMemory
from foreword.recipes.gap.pieces import architecture_pieces, sprint_pieces, state_pieces
from foreword.recipes.gap.relevance import has_statement_beyond_question, rate_relevance_by_words
from foreword.recipes.gap.state import get_value
from foreword.recipes.gap.types import (
    HANDOFF_CONTEXT,
    INJECTED_CONTEXT,
    ArchitectureSearch,
    RelevanceJudge,
    RetrievedContext,
)
from foreword.text.frame import escape_entry, wrap_in_frame
from foreword.text.provenance import attribution, is_from_third_party, quote_entry
from foreword.text.tokens import cut_to_tokens
from foreword.text.words import fold_case_accents_and_spaces
from foreword.types import TRUSTS, ContextLine, DroppedResult, Item, Note, SearchResult, Source, text_hash

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from foreword.recipes.gap.pieces import StatePiece
    from foreword.recipes.gap.state import Conversation
    from foreword.recipes.gap.types import (
        ContextGap,
        ContextSource,
        InjectionConfig,
        MemoryResult,
        MemoryStore,
    )
    from foreword.text.tokens import Tokenizer
    from foreword.types import Kind

    Question = Callable[[], Awaitable[Sequence[RetrievedContext]]]

_log = get_logger("foreword.gap")

MIN_QUOTED_CHARACTERS = 40
"""A context at least this long counts as known if a message contains it word for word."""

_SAFETY_TOKENS, _MIN_CUT_CHARACTERS = 2, 8
_CUT_MARK = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class GapDraft(Draft):
    """A gap being filled: the state and its messages, the memory to search, and the contexts found, by id."""

    gap: ContextGap
    state: object
    messages: Conversation
    config: InjectionConfig
    tokenizer: Tokenizer
    memory: MemoryStore | None = None
    contexts: Mapping[str, RetrievedContext] = field(default_factory=dict)

    def with_contexts_as_results(self, contexts: Sequence[RetrievedContext]) -> GapDraft:
        """The draft with these contexts as its results, in their order."""
        by_id = {context_id(context): context for context in contexts}
        results = tuple(
            SearchResult(
                Item(
                    context.content,
                    self.query.workspace,
                    kind=cast("Kind", str(context.metadata.get("kind") or context.source)),
                    id=name,
                    source=context_source(context),
                ),
                context.relevance_score,
            )
            for name, context in by_id.items()
        )
        return replace(self, contexts=by_id, results=results)

    def kept_contexts(self) -> tuple[RetrievedContext, ...]:
        """The contexts of the results that are left, in their order."""
        return tuple(self.contexts[result.memory.id] for result in self.results)


# Stages ---------------------------------------------------------------------------------------------------


async def load_shown(draft: GapDraft) -> GapDraft:
    """Look up what the agent's session was shown before; if that fails, a note says so."""
    memory = draft.memory
    if not isinstance(memory, EngineMemory) or memory.session is None:
        return draft
    try:
        return replace(draft, shown_ids=await asyncio.to_thread(memory.shown_ids))
    except ForewordError as error:
        _log.warning("it is not known what the session was shown", problem=str(error))
        return draft.with_notes(Note("shown", f"failed: {error}"))


async def ask(draft: GapDraft) -> GapDraft:
    """Search all enabled sources at once; the results are each context once, the most relevant first."""
    pieces, notes = _split_enabled_sources(draft)
    questions = {**_memory_searches_by_name(draft), "state": lambda: _rate_pieces(draft, pieces)}
    outcomes = await asyncio.gather(*map(_ask_within_timeout, questions.values()), return_exceptions=True)
    found: list[RetrievedContext] = []
    for part, outcome in zip(questions, outcomes, strict=True):
        if isinstance(outcome, BaseException):
            notes.append(_failure_note(part, outcome))
        else:
            found += outcome
    return draft.with_notes(*notes).with_contexts_as_results(_keep_best_of_each_id(found))


def drop_said(draft: GapDraft) -> GapDraft:
    """Drop contexts that the session was shown, that the state holds, or that its messages contain."""
    injected_hashes = _hashes_of_injected_texts(draft.state)
    messages = [fold_case_accents_and_spaces(one.text) for one in draft.messages.messages]
    kept, dropped = [], []
    for result in draft.results:
        context = draft.contexts[result.memory.id]
        known = (
            result.memory.id in draft.shown_ids or normalised_content_hash(context.content) in injected_hashes
        )
        if known or _is_in_messages(context, messages):
            dropped.append(DroppedResult(result, "already in context"))
        else:
            kept.append(result)
    return draft.keep(kept, dropped)


def keep_answers(draft: GapDraft) -> GapDraft:
    """Keep the first results that state something, up to the limit; at most a third from tools and pages."""
    most = max(0, draft.config.max_context_items)
    kept: list[SearchResult] = []
    dropped: list[DroppedResult] = []
    printed = 0
    for result in draft.results:
        context = draft.contexts[result.memory.id]
        is_printed = result.memory.source.trust in ("tool", "web")
        if len(kept) >= most or (is_printed and printed >= max(1, most // 3)):
            dropped.append(DroppedResult(result, "over limit", f"limit {most}"))
        elif has_statement_beyond_question(
            context.content, draft.gap.context_query, spoken=_is_spoken(context)
        ):
            kept.append(result)
            printed += is_printed
        else:
            dropped.append(DroppedResult(result, "no answer", "it states nothing"))
    return draft.keep(kept, dropped[:MAX_NEAR_MISSES])


def fit_budget(draft: GapDraft) -> GapDraft:
    """Word the contexts, and keep those within the limits on bytes and tokens; the first may be cut."""
    config, counter = draft.config, draft.tokenizer
    lines: list[ContextLine] = []
    dropped: list[DroppedResult] = []
    contexts = dict(draft.contexts)
    size = tokens = 0
    for result in draft.results:
        context = contexts[result.memory.id]
        worded = replace(context, content=escape_entry(context.content))
        if not lines:
            worded = _shorten_to_limits(worded, config, counter)
        more_bytes = len(worded.content.encode())
        more_tokens = counter.count(contexts_text([worded]))
        if not worded.content or size + more_bytes > config.max_context_size_bytes:
            dropped.append(DroppedResult(result, "over budget", f"needs {more_bytes} bytes"))
        elif tokens + more_tokens > config.max_context_tokens:
            dropped.append(DroppedResult(result, "over budget", f"needs about {more_tokens} tokens"))
        else:
            contexts[result.memory.id] = worded
            cost = counter.count(worded.content)
            lines.append(ContextLine(result, context.source, worded.content, cost))
            size, tokens = size + more_bytes, tokens + more_tokens
    lines, over = split_off_excess_foreign_lines(lines, find_ids_exempt_from_share(draft.results))
    dropped += [DroppedResult(line.result, "over limit", OVER_SHARE) for line in over]
    text = contexts_text([contexts[line.id] for line in lines])
    draft = replace(draft, contexts=contexts)
    return draft.with_text(FittedText(text, counter.count(text), tuple(lines), tuple(dropped)))


# What the sources know ------------------------------------------------------------------------------------


TIMEOUT_SECONDS = 2.0
"""How many seconds a source may take."""

MIN_ANSWERS = 10
"""At least how many answers a memory is asked for, since repeats and known ones are dropped later."""

MAX_PIECES = 20
"""How many more pieces of a state than may be injected are kept as results."""

_SPLITTERS: Mapping[ContextSource, Callable[[ContextGap, object, Conversation], list[StatePiece]]] = {
    "architecture": architecture_pieces,
    "sprint": sprint_pieces,
    "state": state_pieces,
}
_ORDER = ("architecture", "sprint", "state", "memory")
"""The order of sources among equally relevant contexts: the most specific first."""


def context_source(context: RetrievedContext) -> Source:
    """The source of a context, from its metadata; the user's own graph if that has none."""
    facts = context.metadata
    name, trust = str(facts.get("author") or ""), facts.get("trust")
    if facts.get("role") == "tool":
        return Source(name or "a tool of the graph", "tool")
    return Source(name, trust) if trust in TRUSTS else Source(name or "user")


def context_id(context: RetrievedContext) -> str:
    """The id of a context in a receipt: that of its item, or its place in the state."""
    known = context.metadata.get("id") or context.metadata.get("key")
    return str(known or f"{context.source}:{context.metadata.get('place') or text_hash(context.content)}")


def _split_enabled_sources(draft: GapDraft) -> tuple[list[StatePiece], list[Note]]:
    """The pieces of the state from the enabled sources, and notes on sources that could not be split."""
    pieces: list[StatePiece] = []
    notes: list[Note] = []
    for source, split in _SPLITTERS.items():
        if source in draft.config.enabled_sources:
            try:
                pieces += split(draft.gap, draft.state, draft.messages)
            except Exception as error:  # noqa: BLE001  (anybody's state; the other sources go on)
                notes.append(_failure_note(source, error))
    return pieces, notes


def _memory_searches_by_name(draft: GapDraft) -> dict[str, Question]:
    """The searches of a memory, by the name under which a failure is noted."""
    memory, sources = draft.memory, draft.config.enabled_sources
    questions: dict[str, Question] = {}
    if memory is None:
        return questions
    query, most = draft.gap.context_query, max(MIN_ANSWERS, 2 * draft.config.max_context_items)
    if "memory" in sources:
        questions["memory.search_similar"] = lambda: _answers_as_contexts(
            "memory", memory.search_similar(query, k=most)
        )
        questions["memory.search_decisions"] = lambda: _answers_as_contexts(
            "memory", memory.search_decisions(query, k=most)
        )
    if "architecture" in sources and isinstance(memory, ArchitectureSearch):
        questions["memory.search_architecture"] = lambda: _answers_as_contexts(
            "architecture", memory.search_architecture(query, k=most)
        )
    return questions


async def _ask_within_timeout(question: Question) -> Sequence[RetrievedContext]:
    return await asyncio.wait_for(question(), TIMEOUT_SECONDS)


async def _answers_as_contexts(
    source: ContextSource, answer: Awaitable[Sequence[MemoryResult]]
) -> list[RetrievedContext]:
    """A memory's results as contexts; a score that is no number becomes 0."""
    return [
        RetrievedContext(
            source, result.content, _clamp_score(result.score), {"key": result.key, **result.metadata}
        )
        for result in await answer
        if result.content
    ]


async def _rate_pieces(draft: GapDraft, pieces: Sequence[StatePiece]) -> list[RetrievedContext]:
    """The best pieces of a state as contexts, rated by the memory if it can do that, else by their words."""
    texts, kinds = [piece.text for piece in pieces], [piece.kind for piece in pieces]
    query, memory = draft.gap.context_query, draft.memory
    scores = (
        await memory.judge(query, texts, kinds)
        if isinstance(memory, RelevanceJudge)
        else rate_relevance_by_words(query, texts, kinds)
    )
    best_first = sorted(zip(scores, pieces, strict=True), key=lambda pair: -pair[0])
    statements = (pair for pair in best_first if not pair[1].asks_for_context)
    return [
        RetrievedContext(
            piece.source, piece.text, _clamp_score(score), {"place": piece.place, **piece.metadata}
        )
        for score, piece in islice(statements, MAX_PIECES + draft.config.max_context_items)
    ]


def _keep_best_of_each_id(found: Sequence[RetrievedContext]) -> list[RetrievedContext]:
    """Every context once, with the best relevance that any question gave it; the most relevant first."""
    ordered = sorted(found, key=lambda one: (-one.relevance_score, _ORDER.index(one.source)))
    best: dict[str, RetrievedContext] = {}
    for context in ordered:
        best.setdefault(context_id(context), context)
    return list(best.values())


def _clamp_score(score: object) -> float:
    """The score brought between 0 and 1; 0 if it is no number."""
    if isinstance(score, bool) or not isinstance(score, int | float) or math.isnan(score):
        return 0.0
    return min(1.0, max(0.0, float(score)))


def _failure_note(part: str, failure: BaseException) -> Note:
    """The note for a source that failed or was late, which is also logged; a cancellation is raised again."""
    if not isinstance(failure, Exception):
        raise failure  # a cancellation or an interrupt, which must end this task
    late = isinstance(failure, TimeoutError)
    problem = f"late: no answer within {TIMEOUT_SECONDS:g} s" if late else f"failed: {failure!r}"
    _log.warning("a source of context did not answer", source=part, problem=problem)
    return Note(part, problem)


# What has been said already -------------------------------------------------------------------------------


def normalised_content_hash(content: str) -> str:
    """The hash by which a content is recognised after it was injected, whatever its case and spacing."""
    return text_hash(fold_case_accents_and_spaces(escape_entry(content)))


def _hashes_of_injected_texts(state: object) -> frozenset[str]:
    """The hashes of the contents that earlier injections put into a state and that are still there."""
    payloads = (get_value(state, target) for target in (INJECTED_CONTEXT, HANDOFF_CONTEXT))
    hashes: set[str] = set()
    for payload in payloads:
        contexts = payload.get("contexts") if isinstance(payload, Mapping) else None
        listed = contexts if isinstance(contexts, list | tuple) else ()
        contents = (get_value(context, "content") for context in listed)
        hashes |= {normalised_content_hash(content) for content in contents if isinstance(content, str)}
    return frozenset(hashes)


def _is_in_messages(context: RetrievedContext, messages: Sequence[str]) -> bool:
    """Whether a message contains this context; False for a context from the state, which may be a message."""
    if context.source == "state":
        return False
    text = fold_case_accents_and_spaces(context.content)
    long = len(text) >= MIN_QUOTED_CHARACTERS
    return any(text == message or (long and text in message) for message in messages)


def _is_spoken(context: RetrievedContext) -> bool:
    """Whether a context was said in a conversation: a stored turn, or a message of the state."""
    return context.metadata.get("kind") == "turn" or "role" in context.metadata


# Wording --------------------------------------------------------------------------------------------------


def payload_text(contexts: Sequence[object]) -> str:
    """The contexts of a payload as a model reads them; one without content is left out."""
    held = [
        (get_value(one, "content"), get_value(one, "metadata"), get_value(one, "source")) for one in contexts
    ]
    return contexts_text(
        [
            RetrievedContext(
                cast("ContextSource", str(source or "memory")),
                content,
                0.0,
                facts if isinstance(facts, Mapping) else {},
            )
            for content, facts, source in held
            if isinstance(content, str) and content
        ]
    )


def contexts_text(contexts: Sequence[RetrievedContext]) -> str:
    """Contexts as a model reads them: framed as data, a line each, with source and author."""
    return wrap_in_frame(
        "\n".join(f"- [{_source_and_author(context)}] {_escape_or_quote(context)}" for context in contexts)
    )


def _shorten_to_limits(
    context: RetrievedContext, config: InjectionConfig, counter: Tokenizer
) -> RetrievedContext:
    """The context, cut at its end if it would not fit otherwise; with no content if even that is too long."""
    content, uncut = context.content, context.content
    if len(content.encode()) > config.max_context_size_bytes:
        room = max(0, config.max_context_size_bytes - len(_CUT_MARK.encode()))
        content = content.encode()[:room].decode(errors="ignore").rstrip()
    besides = counter.count(contexts_text([replace(context, content=_CUT_MARK)])) + _SAFETY_TOKENS
    if counter.count(contexts_text([replace(context, content=content)])) > config.max_context_tokens:
        content = cut_to_tokens(content, config.max_context_tokens - besides, counter).rstrip()
    if content == uncut:
        return context
    return replace(context, content=content + _CUT_MARK if len(content) >= _MIN_CUT_CHARACTERS else "")


def _source_and_author(context: RetrievedContext) -> str:
    """The label of a context's line: its source, its type or place, and its attribution."""
    facts = context.metadata
    parts = [
        context.source,
        str(facts.get("type") or facts.get("place") or ""),
        context_attribution(context),
    ]
    return escape_entry(", ".join(filter(None, parts)).replace("]", ")").replace("[", "("))


def context_attribution(context: RetrievedContext) -> str:
    """Whose words a context holds; "" for the user's own, or if that is not known."""
    facts = context.metadata
    if facts.get("role") != "tool" and facts.get("trust") not in TRUSTS:
        author = str(facts.get("author") or "")
        return f"by {author}" if author else ""
    kind = cast("Kind", str(facts.get("kind") or "memory"))
    return attribution(Item(context.content, "", kind=kind, source=context_source(context), metadata=facts))


def _escape_or_quote(context: RetrievedContext) -> str:
    """The content of a context for its line: quoted if it is foreign, else only escaped."""
    foreign = is_from_third_party(context_source(context))
    return quote_entry(context.content) if foreign else escape_entry(context.content)
