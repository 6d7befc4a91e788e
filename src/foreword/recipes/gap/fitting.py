"""What of the contexts found for a gap is injected, and in which words.

What the state holds already is not said again. The rest is put on one line each, told
apart from anything that could pass for structure, and taken while bytes and tokens last; only the best of all
is cut, when nothing else could be said. Counts are exact.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from foreword.recall.dedupe import without_repeats
from foreword.recipes.gap.retrieving import Left
from foreword.recipes.gap.said import place
from foreword.text.frame import attribution, contained, framed
from foreword.text.tokens import cut
from foreword.types import TRUSTS, Item, SearchResult, Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.recall.gaps.types import ContextGap, InjectionConfig, RetrievedContext
    from foreword.recipes.gap.said import Said
    from foreword.text.tokens import Tokenizer

FACTS, FACT_CHARACTERS = 12, 200
"""So many facts of a context are told with it, and so much of each."""

_SAFETY, _LEAST = 2, 8
_CUT = "…"


@dataclass(frozen=True, slots=True)
class Fitted:
    """The contexts that are injected, as they are worded; those left out; what they come to."""

    contexts: tuple[RetrievedContext, ...] = ()
    left: tuple[Left, ...] = ()
    tokens: int = 0

    @property
    def size(self) -> int:
        """The bytes of all that is said."""
        return sum(len(context.content.encode()) for context in self.contexts)


def fit(
    contexts: Sequence[RetrievedContext], said: Said, config: InjectionConfig, counter: Tokenizer
) -> Fitted:
    """What is injected of these contexts, the most relevant first."""
    left = [Left(context, "already in context") for context in contexts if said.has(context)]
    fresh, left = _without_repeats([context for context in contexts if not said.has(context)], left)
    kept: list[RetrievedContext] = []
    size = tokens = 0
    for context in fresh:
        worded = replace(context, content=contained(context.content))
        if not kept:
            worded = _shortened(worded, config, counter)
        bytes_more = len(worded.content.encode())
        tokens_more = counter.count(text([worded]))
        if not worded.content or size + bytes_more > config.max_context_size_bytes:
            left.append(Left(context, "over budget", f"needs {bytes_more} bytes"))
        elif tokens + tokens_more > config.max_context_tokens:
            left.append(Left(context, "over budget", f"needs about {tokens_more} tokens"))
        else:
            kept.append(worded)
            size, tokens = size + bytes_more, tokens + tokens_more
    return Fitted(tuple(kept), tuple(left), counter.count(text(kept)))


def payload(gap: ContextGap, fitted: Fitted) -> dict[str, Any]:
    """What is put into a state: the contexts with their sources, how many there are, and how large."""
    return {
        "contexts": [
            {
                "source": context.source,
                "content": context.content,
                "relevance": context.relevance_score,
                "metadata": _facts(context.metadata),
            }
            for context in fitted.contexts
        ],
        "source_summary": dict(Counter(context.source for context in fitted.contexts)),
        "total_items": len(fitted.contexts),
        "total_size_bytes": fitted.size,
        "gap": {"gap_id": gap.gap_id, "agent": gap.agent, "reason": gap.reason},
    }


def text(contexts: Sequence[RetrievedContext]) -> str:
    """Contexts as a model reads them: framed as data, a line each, with whose words they are."""
    return framed("\n".join(f"- [{_whose(context)}] {contained(context.content)}" for context in contexts))


def _without_repeats(
    contexts: Sequence[RetrievedContext], left: list[Left]
) -> tuple[list[RetrievedContext], list[Left]]:
    results = [
        SearchResult(Item(context.content, "", id=f"{at}"), context.relevance_score)
        for at, context in enumerate(contexts)
    ]
    kept, repeats = without_repeats(results)
    for repeat in repeats:
        context = contexts[int(repeat.result.memory.id)]
        left.append(Left(context, "duplicate", place(contexts[int(repeat.detail)])))
    return [contexts[int(result.memory.id)] for result in kept], left


def _shortened(context: RetrievedContext, config: InjectionConfig, counter: Tokenizer) -> RetrievedContext:
    """The best context, cut at its end if it would not fit otherwise; empty when not even that would."""
    content, whole = context.content, context.content
    if len(content.encode()) > config.max_context_size_bytes:
        room = max(0, config.max_context_size_bytes - len(_CUT.encode()))
        content = content.encode()[:room].decode(errors="ignore").rstrip()
    besides = counter.count(text([replace(context, content=_CUT)])) + _SAFETY
    if counter.count(text([replace(context, content=content)])) > config.max_context_tokens:
        content = cut(content, config.max_context_tokens - besides, counter).rstrip()
    if content == whole:
        return context
    return replace(context, content=content + _CUT if len(content) >= _LEAST else "")


def _facts(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a context that are short and plain."""
    plain = {
        str(key): contained(fact)[:FACT_CHARACTERS] if isinstance(fact, str) else fact
        for key, fact in metadata.items()
        if isinstance(fact, str | int | float | bool)
    }
    return dict(list(plain.items())[:FACTS])


def _whose(context: RetrievedContext) -> str:
    """Where a context comes from, and whose words it holds."""
    facts = context.metadata
    told = [context.source, str(facts.get("type") or facts.get("place") or "")]
    author, trust = str(facts.get("author") or ""), facts.get("trust")
    if facts.get("role") == "tool":
        told.append(attribution(Source(author or "unnamed", "tool")))
    elif trust in TRUSTS:
        told.append(attribution(Source(author, trust)))
    else:
        told.append(f"by {author}" if author else "")
    return contained(", ".join(filter(None, told)).replace("]", ")").replace("[", "("))
