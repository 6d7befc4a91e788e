"""What is injected, as it lies in a state: made for a gap, merged with what is there, cleared in the end.

A payload is plain JSON. Each of its contexts names, in its metadata, the gaps that it was given for (`gaps`)
and how many messages the state had then (`given_at`). `open` has the gaps that were filled and are not
closed, `closed` the keys of the last ones that are, so that whoever merges an older copy does not bring back
what was cleared. Nothing here searches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sized
from typing import TYPE_CHECKING, Any

from foreword.recipes.gap.stages import (
    content_hash,
    context_attribution,
    context_source,
    normalise,
    payload_text,
)
from foreword.recipes.gap.state import get_value, read_messages
from foreword.recipes.gap.types import HANDOFF_CONTEXT, INJECTED_CONTEXT
from foreword.text.frame import escape_entry
from foreword.text.provenance import is_foreign
from foreword.types import text_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.recipes.gap.state import Conversation
    from foreword.recipes.gap.types import ContextGap, InjectionConfig, RetrievedContext
    from foreword.text.tokens import Tokenizer

GAPS, GIVEN_AT = "gaps", "given_at"
"""What the metadata of an injected context says of its gaps, and of when it was given."""

MAX_MESSAGES = 500
"""At most how many messages back a state is read."""

MAX_CLOSED = 50
"""At most how many closed gaps a payload remembers."""

MAX_FACTS, MAX_FACT_CHARACTERS = 12, 200
"""At most how many facts of a context are given with it, and how many characters of each."""

HANDOFF_EVIDENCE = "handoff"
"""The evidence of a need that was stated before a hand-off."""

_SHOWN_BY_MESSAGES = ("clarification_requested", "circular_logic")
"""The reasons that stand in messages: such a gap closes when its agent has spoken again."""

_KEY_CHARACTERS = 12


def gap_key(gap: ContextGap) -> str:
    """The name of a gap that stays the same while the same agent lacks the same thing."""
    parts = (gap.agent.casefold(), gap.reason, normalise(gap.context_query))
    return text_hash("\0".join(parts)).partition(":")[2][:_KEY_CHARACTERS]


def is_handoff(gap: ContextGap) -> bool:
    """Whether a gap is what somebody needs before a hand-off, rather than what an agent lacks."""
    return any(sign.evidence == HANDOFF_EVIDENCE for sign in gap.reasons)


def count_messages(state: object) -> int:
    """How many messages a state has."""
    messages = get_value(state, "messages")
    return len(messages) if isinstance(messages, Sized) and not isinstance(messages, str | Mapping) else 0


def asked_at(gap: ContextGap, state: object) -> int:
    """The index of the message that shows a gap; for one that no message shows, of the last."""
    position = gap.reasons[0].position if gap.reasons else None
    return count_messages(state) - 1 if position is None else position


def make_payload(gap: ContextGap, contexts: Sequence[RetrievedContext], given_at: int = 0) -> dict[str, Any]:
    """What is put into a state for a gap: the contexts with their sources, how many, and how large."""
    key = gap_key(gap)
    listed = [
        {
            "source": context.source,
            "content": context.content,
            "relevance": context.relevance_score,
            "metadata": _plain_facts(context.metadata)
            | _said_by(context)
            | {GAPS: [key], GIVEN_AT: given_at},
        }
        for context in contexts
    ]
    opened = {"gap_id": gap.gap_id, "agent": gap.agent, "reason": gap.reason}
    facts = {"query": gap.context_query, GIVEN_AT: given_at, "handoff": is_handoff(gap)}
    return _with_sums(listed) | {
        "gap": opened,
        "open": {key: opened | facts},
        "closed": [],
    }


def merge_payloads(held: object, new: object) -> dict[str, Any]:
    """What a state holds after an injection: what it held before, less what was closed, and what is new.

    Equal contexts are one, for the gaps of both. None, or nothing, clears everything; a mapping that is no
    payload takes the place of what was there.
    """
    if not isinstance(new, Mapping) or "contexts" not in new:
        return dict(new) if isinstance(new, Mapping) else {}
    before: Mapping[str, Any] = held if isinstance(held, Mapping) else {}
    opened = _as_mapping(new.get("open"))
    closing = [key for key in _as_list(new.get("closed")) if key not in opened]
    closed = [key for key in dict.fromkeys([*_as_list(before.get("closed")), *closing]) if key not in opened]
    merged: dict[str, dict[str, Any]] = {}
    for context in _without_gaps(held_contexts(before), closing) + held_contexts(new):
        name = content_hash(str(context.get("content", "")))
        merged[name] = _merge_contexts(merged.get(name), context)
    still_open = {**_as_mapping(before.get("open")), **opened}
    return {
        **before,
        **new,
        **_with_sums(list(merged.values())),
        "open": {key: record for key, record in still_open.items() if key not in closed},
        "closed": closed[-MAX_CLOSED:],
    }


def continue_payload(held: object, new: dict[str, Any]) -> dict[str, Any]:
    """A payload that brings nothing new, with what the state says of the same gap already."""
    before = _as_mapping(held)
    known = {key: record for key, record in _as_mapping(before.get("open")).items() if key in new["open"]}
    return {**new, "open": new["open"] | known, "gap": before.get("gap", new["gap"]) if known else new["gap"]}


def held_contexts(payload: object) -> list[dict[str, Any]]:
    """The contexts of a payload, or of whatever a state has in its place."""
    contexts = payload.get("contexts") if isinstance(payload, Mapping) else None
    return [dict(one) for one in _as_list(contexts) if isinstance(one, Mapping)]


def clear_closed_gaps(
    state: object, conversation: Conversation | None = None, gap: ContextGap | None = None
) -> dict[str, dict[str, Any]]:
    """What to put into a state so that nothing is left for gaps that are closed; empty when all are open.

    `gap` is what is lacking now. The other gaps of its agent stay open. Another agent's is closed when that
    agent had its turn since, or when no message showed it. What was handed over stays until the work is
    handed on to somebody else.
    """
    held = {target: _as_mapping(get_value(state, target)) for target in (INJECTED_CONTEXT, HANDOFF_CONTEXT)}
    open_gaps = {target: _as_mapping(payload.get("open")) for target, payload in held.items()}
    if not any(open_gaps.values()):
        return {}  # as nearly always: then no message has to be read
    spoken = conversation if conversation is not None else read_messages(state, MAX_MESSAGES)
    update: dict[str, dict[str, Any]] = {}
    for target, records in open_gaps.items():
        if closed := [key for key, record in records.items() if _is_closed(record, spoken, gap)]:
            closing = {**held[target], "contexts": [], "open": {}, "closed": closed}
            update[target] = merge_payloads(held[target], closing)
    return update


def find_given_before(gap: ContextGap, state: object, contents: Sequence[str]) -> list[dict[str, Any]]:
    """Those of the contents that the state holds since the agent asked, marked as given for this gap too.

    What it held when the agent asked did not help; that is not among them.
    """
    wanted, key, asked = set(map(content_hash, contents)), gap_key(gap), asked_at(gap, state)
    held = [
        one
        for target in (INJECTED_CONTEXT, HANDOFF_CONTEXT)
        for one in held_contexts(get_value(state, target))
    ]
    since = [
        one for one in held if _given_at(one) > asked and content_hash(str(one.get("content"))) in wanted
    ]
    return [_merge_contexts(one, {"metadata": {GAPS: [key]}}) for one in since]


def trim_payload(
    payload: dict[str, Any], key: str, config: InjectionConfig, counter: Tokenizer
) -> dict[str, Any]:
    """The payload within the limits on bytes and tokens: the gap that was filled first is given up first.

    It counts as closed, so that merging with an older copy does not bring back what it was given.
    """
    while _is_too_large(held_contexts(payload), config, counter):
        oldest = next((other for other in payload["open"] if other != key), None)
        if oldest is None:
            break
        closing: dict[str, Any] = {"contexts": [], "open": {}, "closed": [*payload["closed"], oldest]}
        payload = merge_payloads(payload, {**payload, **closing})
    return payload


def _is_closed(record: object, conversation: Conversation, gap: ContextGap | None) -> bool:
    """Whether what a payload's `open` says of a gap is over by now."""
    agent = str(get_value(record, "agent") or "").casefold()
    lacking = gap.agent.casefold() if gap is not None else ""
    if get_value(record, "handoff"):
        return gap is not None and is_handoff(gap) and agent != lacking
    if lacking and agent == lacking:
        return False
    given_at = get_value(record, GIVEN_AT)
    return get_value(record, "reason") not in _SHOWN_BY_MESSAGES or _has_spoken_since(
        conversation, agent, given_at if isinstance(given_at, int) else 0
    )


def _has_spoken_since(conversation: Conversation, agent: str, given_at: int) -> bool:
    """Whether an agent had its turn after something was given; also when the messages are gone since."""
    messages = conversation.messages
    if messages and messages[-1].position + 1 < given_at:
        return True
    return any(
        message.role == "agent" and message.position >= given_at and message.name.casefold() in ("", agent)
        for message in messages
    )


def _is_too_large(contexts: Sequence[Mapping[str, Any]], config: InjectionConfig, counter: Tokenizer) -> bool:
    size = sum(len(str(one.get("content", "")).encode()) for one in contexts)
    return (
        size > config.max_context_size_bytes
        or counter.count(payload_text(contexts)) > config.max_context_tokens
    )


def _with_sums(contexts: list[dict[str, Any]]) -> dict[str, Any]:
    """Contexts with how many there are, from where, and how large."""
    return {
        "contexts": contexts,
        "source_summary": dict(Counter(str(context.get("source")) for context in contexts)),
        "total_items": len(contexts),
        "total_size_bytes": sum(len(str(context.get("content", "")).encode()) for context in contexts),
    }


def _without_gaps(contexts: Sequence[dict[str, Any]], closed: Sequence[str]) -> list[dict[str, Any]]:
    """The contexts that some gap still needs; those that were given for none stay."""
    kept = []
    for context in contexts:
        before = _gaps(context)
        after = [key for key in before if key not in closed]
        if after or not before:
            kept.append(
                {**context, "metadata": {**_as_mapping(context.get("metadata")), GAPS: after}}
                if before
                else context
            )
    return kept


def _merge_contexts(one: dict[str, Any] | None, other: dict[str, Any]) -> dict[str, Any]:
    """A context for the gaps of both, as it was given first."""
    if one is None:
        return other
    gaps = list(dict.fromkeys([*_gaps(one), *_gaps(other)]))
    return {**one, "metadata": {**_as_mapping(one.get("metadata")), GAPS: gaps}}


def _gaps(context: Mapping[str, Any]) -> list[Any]:
    return _as_list(_as_mapping(context.get("metadata")).get(GAPS))


def _given_at(context: Mapping[str, Any]) -> int:
    given_at = _as_mapping(context.get("metadata")).get(GIVEN_AT)
    return given_at if isinstance(given_at, int) else 0


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _as_list(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _plain_facts(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a context that are short and plain."""
    plain = {
        str(key): escape_entry(fact)[:MAX_FACT_CHARACTERS] if isinstance(fact, str) else fact
        for key, fact in metadata.items()
        if isinstance(fact, str | int | float | bool)
    }
    return dict(list(plain.items())[:MAX_FACTS])


def _said_by(context: RetrievedContext) -> dict[str, str]:
    """The attribution as a fact of a context that is not the user's own."""
    words = context_attribution(context) if is_foreign(context_source(context)) else ""
    return {"said_by": words} if words else {}
