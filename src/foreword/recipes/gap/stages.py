"""The stages of a gap's recipe: from what the sources know to what is put into the agent's state.

    load shown → ask → drop below floor → drop said → drop repeats → keep answers → fit

What the state holds already is not said again, nor is what states nothing. The rest is put on one line each
and taken while bytes and tokens last; only the best of all is cut, when nothing else could be said. Counts
are exact.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from foreword.compose.fit import FittedText
from foreword.errors import ForewordError
from foreword.log import get_logger
from foreword.pipeline import MAX_NEAR_MISSES, Draft
from foreword.recall.gaps.relevance import can_answer
from foreword.recall.gaps.state import get_value
from foreword.recall.gaps.types import HANDOFF_CONTEXT, INJECTED_CONTEXT
from foreword.recipes.gap.engine_memory import EngineMemory
from foreword.recipes.gap.sources import ask_sources, context_id
from foreword.text.frame import attribution, escape_entry, wrap_in_frame
from foreword.text.tokens import cut_to_tokens
from foreword.text.words import fold
from foreword.types import TRUSTS, ContextLine, DroppedResult, Item, Note, SearchResult, Source, text_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.recall.gaps.state import Conversation
    from foreword.recall.gaps.types import ContextGap, InjectionConfig, MemoryStore, RetrievedContext
    from foreword.text.tokens import Tokenizer
    from foreword.types import Kind

_log = get_logger("foreword.gap")

MIN_QUOTED_CHARACTERS = 40
"""A context at least this long that a message repeats word for word is there already."""

MAX_FACTS, MAX_FACT_CHARACTERS = 12, 200
"""At most how many facts of a context are given with it, and how many characters of each."""

_SAFETY_TOKENS, _MIN_CUT_CHARACTERS = 2, 8
_CUT_MARK = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class GapDraft(Draft):
    """A gap being filled: the state and its messages, the memory asked, and the contexts found, by id."""

    gap: ContextGap
    state: object
    messages: Conversation
    config: InjectionConfig
    tokenizer: Tokenizer
    memory: MemoryStore | None = None
    contexts: Mapping[str, RetrievedContext] = field(default_factory=dict)

    def with_contexts(self, contexts: Sequence[RetrievedContext]) -> GapDraft:
        """The draft with these contexts as its results, in their order."""
        by_id = {context_id(context): context for context in contexts}
        results = tuple(
            SearchResult(
                Item(
                    context.content,
                    self.query.workspace,
                    kind=cast("Kind", str(context.metadata.get("kind") or context.source)),
                    id=name,
                ),
                context.relevance_score,
            )
            for name, context in by_id.items()
        )
        return replace(self, contexts=by_id, results=results)

    def kept_contexts(self) -> tuple[RetrievedContext, ...]:
        """The contexts that are still in the running, in their order."""
        return tuple(self.contexts[result.memory.id] for result in self.results)


# Stages ---------------------------------------------------------------------------------------------------


async def load_shown(draft: GapDraft) -> GapDraft:
    """Look up what the agent's session was shown before; if that fails, a note says so."""
    memory = draft.memory
    if not isinstance(memory, EngineMemory) or memory.session is None:
        return draft
    try:
        return replace(draft, shown=await asyncio.to_thread(memory.shown))
    except ForewordError as error:
        _log.warning("it is not known what the session was shown", problem=str(error))
        return draft.with_notes(Note("shown", f"failed: {error}"))


async def ask(draft: GapDraft) -> GapDraft:
    """Ask the enabled sources what they know about the gap."""
    found, notes = await ask_sources(draft.gap, draft.memory, draft.state, draft.messages, draft.config)
    return draft.with_notes(*notes).with_contexts(found)


def drop_said(draft: GapDraft) -> GapDraft:
    """Drop what the session was shown, what the state holds, and what its messages say."""
    held, messages = (
        _names_of_injected_texts(draft.state),
        [_normalise(one.text) for one in draft.messages.messages],
    )
    kept, dropped = [], []
    for result in draft.results:
        context = draft.contexts[result.memory.id]
        known = result.memory.id in draft.shown or text_name(context.content) in held
        if known or _is_quoted(context, messages):
            dropped.append(DroppedResult(result, "already in context"))
        else:
            kept.append(result)
    return draft.keep(kept, dropped)


def keep_answers(draft: GapDraft) -> GapDraft:
    """Keep the first results that state something, as many as may be injected."""
    most = max(0, draft.config.max_context_items)
    kept: list[SearchResult] = []
    dropped: list[DroppedResult] = []
    for result in draft.results:
        context = draft.contexts[result.memory.id]
        if len(kept) >= most:
            dropped.append(DroppedResult(result, "over limit", f"limit {most}"))
        elif can_answer(context.content, draft.gap.context_query, spoken=_is_spoken(context)):
            kept.append(result)
        else:
            dropped.append(DroppedResult(result, "no answer", "it states nothing"))
    return draft.keep(kept, dropped[:MAX_NEAR_MISSES])


def fit(draft: GapDraft) -> GapDraft:
    """Word the contexts, and keep what the limits on bytes and tokens hold; the first may be cut."""
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
    text = contexts_text([contexts[line.id] for line in lines])
    draft = replace(draft, contexts=contexts)
    return draft.with_text(FittedText(text, counter.count(text), tuple(lines), tuple(dropped)))


# What has been said already -------------------------------------------------------------------------------


def text_name(content: str) -> str:
    """What a content is known by after it was injected: the hash of what it says."""
    return text_hash(_normalise(escape_entry(content)))


def _names_of_injected_texts(state: object) -> frozenset[str]:
    """The names of what earlier injections put into a state and is still there."""
    held = (get_value(state, target) for target in (INJECTED_CONTEXT, HANDOFF_CONTEXT))
    names: set[str] = set()
    for payload in held:
        contexts = payload.get("contexts") if isinstance(payload, Mapping) else None
        listed = contexts if isinstance(contexts, list | tuple) else ()
        contents = (get_value(context, "content") for context in listed)
        names |= {text_name(content) for content in contents if isinstance(content, str)}
    return frozenset(names)


def _is_quoted(context: RetrievedContext, messages: Sequence[str]) -> bool:
    """Whether a message already says this. What is itself a message may be pointed to once more."""
    if context.source == "state":
        return False
    text = _normalise(context.content)
    long = len(text) >= MIN_QUOTED_CHARACTERS
    return any(text == message or (long and text in message) for message in messages)


def _is_spoken(context: RetrievedContext) -> bool:
    """Whether this was said in a conversation: a turn that is remembered, or a message of the state."""
    return context.metadata.get("kind") == "turn" or "role" in context.metadata


def _normalise(text: str) -> str:
    """A text without case, accents and spacing."""
    return " ".join(fold(text).split())


# Wording --------------------------------------------------------------------------------------------------


def payload(gap: ContextGap, contexts: Sequence[RetrievedContext]) -> dict[str, Any]:
    """What is put into a state: the contexts with their sources, how many there are, and how large."""
    return {
        "contexts": [
            {
                "source": context.source,
                "content": context.content,
                "relevance": context.relevance_score,
                "metadata": _plain_facts(context.metadata),
            }
            for context in contexts
        ],
        "source_summary": dict(Counter(context.source for context in contexts)),
        "total_items": len(contexts),
        "total_size_bytes": sum(len(context.content.encode()) for context in contexts),
        "gap": {"gap_id": gap.gap_id, "agent": gap.agent, "reason": gap.reason},
    }


def contexts_text(contexts: Sequence[RetrievedContext]) -> str:
    """Contexts as a model reads them: framed as data, a line each, with whose words they are."""
    return wrap_in_frame(
        "\n".join(
            f"- [{_source_and_author(context)}] {escape_entry(context.content)}" for context in contexts
        )
    )


def _shorten_to_limits(
    context: RetrievedContext, config: InjectionConfig, counter: Tokenizer
) -> RetrievedContext:
    """The best context, cut at its end if it would not fit otherwise; empty when not even that would."""
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


def _plain_facts(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a context that are short and plain."""
    plain = {
        str(key): escape_entry(fact)[:MAX_FACT_CHARACTERS] if isinstance(fact, str) else fact
        for key, fact in metadata.items()
        if isinstance(fact, str | int | float | bool)
    }
    return dict(list(plain.items())[:MAX_FACTS])


def _source_and_author(context: RetrievedContext) -> str:
    """Where a context comes from, and whose words it holds."""
    facts = context.metadata
    parts = [context.source, str(facts.get("type") or facts.get("place") or "")]
    author, trust = str(facts.get("author") or ""), facts.get("trust")
    if facts.get("role") == "tool":
        parts.append(attribution(Source(author or "unnamed", "tool")))
    elif trust in TRUSTS:
        parts.append(attribution(Source(author, trust)))
    else:
        parts.append(f"by {author}" if author else "")
    return escape_entry(", ".join(filter(None, parts)).replace("]", ")").replace("[", "("))
