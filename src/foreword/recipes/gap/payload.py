"""The payload of injected contexts in a state: made for a gap, merged with earlier ones, cleared in the end.

A payload is plain JSON. The metadata of each of its contexts has the gaps that it was given for (`gaps`) and
the number of messages that the state had then (`given_at`). `open` has the gaps that were filled and are not
closed yet, `closed` the keys of the last ones closed, so that merging an older copy does not bring back what
was cleared. Nothing here searches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sized
from typing import TYPE_CHECKING, Any

from foreword.recipes.gap.stages import (
    context_attribution,
    context_source,
    normalised_content_hash,
    payload_text,
)
from foreword.recipes.gap.state import get_value, read_messages
from foreword.recipes.gap.types import HANDOFF_CONTEXT, INJECTED_CONTEXT
from foreword.text.frame import escape_entry
from foreword.text.provenance import is_from_third_party
from foreword.text.words import fold_case_accents_and_spaces
from foreword.types import text_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.recipes.gap.state import Conversation
    from foreword.recipes.gap.types import ContextGap, InjectionConfig, RetrievedContext
    from foreword.text.tokens import Tokenizer

GAPS, GIVEN_AT = "gaps", "given_at"
"""Keys in the metadata of an injected context: its gaps, and the number of messages when it was given."""

MAX_MESSAGES = 500
"""At most how many messages back a state is read."""

MAX_CLOSED = 50
"""At most how many closed gaps a payload remembers."""

MAX_FACTS, MAX_FACT_CHARACTERS = 12, 200
"""At most how many facts of a context are given with it, and how many characters of each."""

HANDOFF_EVIDENCE = "handoff"
"""The evidence in the sign of a gap that stands for a receiver's needs before a hand-off."""

_SHOWN_BY_MESSAGES = ("clarification_requested", "circular_logic")
"""Reasons that are seen in messages: such a gap closes when its agent has spoken again."""

_KEY_CHARACTERS = 12


def gap_key(gap: ContextGap) -> str:
    """A key that is the same for two gaps in which the same agent lacks the same thing."""
    parts = (gap.agent.casefold(), gap.reason, fold_case_accents_and_spaces(gap.context_query))
    return text_hash("\0".join(parts)).partition(":")[2][:_KEY_CHARACTERS]


def is_handoff(gap: ContextGap) -> bool:
    """Whether a gap stands for a receiver's needs before a hand-off, not for what an agent lacks."""
    return any(sign.evidence == HANDOFF_EVIDENCE for sign in gap.reasons)


def count_messages(state: object) -> int:
    """How many messages a state has."""
    messages = get_value(state, "messages")
    return len(messages) if isinstance(messages, Sized) and not isinstance(messages, str | Mapping) else 0


def index_of_gap_message(gap: ContextGap, state: object) -> int:
    """The index of the message that shows a gap; of the last message if none shows it."""
    position = gap.reasons[0].position if gap.reasons else None
    return count_messages(state) - 1 if position is None else position


def make_payload(gap: ContextGap, contexts: Sequence[RetrievedContext], given_at: int = 0) -> dict[str, Any]:
    """The payload for a gap: its contexts with their sources, their number and size, and the open gap."""
    key = gap_key(gap)
    listed = [
        {
            "source": context.source,
            "content": context.content,
            "relevance": context.relevance_score,
            "metadata": _choose_payload_metadata(context.metadata)
            | _attribution_fact(context)
            | {GAPS: [key], GIVEN_AT: given_at},
        }
        for context in contexts
    ]
    opened = {"gap_id": gap.gap_id, "agent": gap.agent, "reason": gap.reason}
    facts = {"query": gap.context_query, GIVEN_AT: given_at, "handoff": is_handoff(gap)}
    return _contexts_with_totals(listed) | {
        "gap": opened,
        "open": {key: opened | facts},
        "closed": [],
    }


def merge_payloads(current: object, new: object) -> dict[str, Any]:
    """The payload `current` without the gaps that `new` closes, merged with the contexts and gaps of `new`.

    Equal contexts become one, for the gaps of both. If `new` is empty or no mapping, the result is empty; a
    mapping that is no payload replaces what was held.
    """
    if not isinstance(new, Mapping) or "contexts" not in new:
        return dict(new) if isinstance(new, Mapping) else {}
    before: Mapping[str, Any] = current if isinstance(current, Mapping) else {}
    opened = _as_mapping(new.get("open"))
    closing = [key for key in _list_or_empty(new.get("closed")) if key not in opened]
    closed = [
        key for key in dict.fromkeys([*_list_or_empty(before.get("closed")), *closing]) if key not in opened
    ]
    merged: dict[str, dict[str, Any]] = {}
    for context in _drop_contexts_of_gaps(contexts_in_payload(before), closing) + contexts_in_payload(new):
        name = normalised_content_hash(str(context.get("content", "")))
        merged[name] = _join_gaps_of_equal_contexts(merged.get(name), context)
    still_open = {**_as_mapping(before.get("open")), **opened}
    return {
        **before,
        **new,
        **_contexts_with_totals(list(merged.values())),
        "open": {key: record for key, record in still_open.items() if key not in closed},
        "closed": closed[-MAX_CLOSED:],
    }


def keep_known_gap_record(current: object, new: dict[str, Any]) -> dict[str, Any]:
    """The payload `new`, which has no contexts, with the state's record of the same gap if it has one."""
    before = _as_mapping(current)
    known = {key: record for key, record in _as_mapping(before.get("open")).items() if key in new["open"]}
    return {**new, "open": new["open"] | known, "gap": before.get("gap", new["gap"]) if known else new["gap"]}


def contexts_in_payload(payload: object) -> list[dict[str, Any]]:
    """The contexts of a payload; empty if the value is no payload."""
    contexts = payload.get("contexts") if isinstance(payload, Mapping) else None
    return [dict(one) for one in _list_or_empty(contexts) if isinstance(one, Mapping)]


def make_update_clearing_closed_gaps(
    state: object, conversation: Conversation | None = None, gap: ContextGap | None = None
) -> dict[str, dict[str, Any]]:
    """The update of a state that removes the contexts of closed gaps; empty when all gaps are open.

    `gap` is the present one. The other gaps of its agent stay open. A gap of another agent is closed once
    that agent has spoken since, or if no message had shown it. The contexts of a hand-off stay until the work
    is handed on to another agent.
    """
    payloads = {
        target: _as_mapping(get_value(state, target)) for target in (INJECTED_CONTEXT, HANDOFF_CONTEXT)
    }
    open_gaps = {target: _as_mapping(payload.get("open")) for target, payload in payloads.items()}
    if not any(open_gaps.values()):
        return {}  # the usual case, in which no message needs to be read
    spoken = conversation if conversation is not None else read_messages(state, MAX_MESSAGES)
    update: dict[str, dict[str, Any]] = {}
    for target, records in open_gaps.items():
        if closed := [key for key, record in records.items() if _is_closed(record, spoken, gap)]:
            closing = {**payloads[target], "contexts": [], "open": {}, "closed": closed}
            update[target] = merge_payloads(payloads[target], closing)
    return update


def find_contexts_given_before(
    gap: ContextGap, state: object, contents: Sequence[str]
) -> list[dict[str, Any]]:
    """The contexts with these contents that the state got after the agent asked, marked for this gap too.

    Contexts that it had before the agent asked are left out: they did not help.
    """
    wanted = set(map(normalised_content_hash, contents))
    key, asked = gap_key(gap), index_of_gap_message(gap, state)
    held = [
        one
        for target in (INJECTED_CONTEXT, HANDOFF_CONTEXT)
        for one in contexts_in_payload(get_value(state, target))
    ]
    since = [
        one
        for one in held
        if _conversation_position_when_given(one) > asked
        and normalised_content_hash(str(one.get("content"))) in wanted
    ]
    return [_join_gaps_of_equal_contexts(one, {"metadata": {GAPS: [key]}}) for one in since]


def drop_oldest_gaps(
    payload: dict[str, Any], keep: str, config: InjectionConfig, counter: Tokenizer
) -> dict[str, Any]:
    """The payload within the limits on bytes and tokens: its oldest gaps but `keep` make room.

    A removed gap counts as closed, so that merging an older copy does not bring back its contexts.
    """
    while _is_too_large(contexts_in_payload(payload), config, counter):
        oldest = next((other for other in payload["open"] if other != keep), None)
        if oldest is None:
            break
        closing: dict[str, Any] = {"contexts": [], "open": {}, "closed": [*payload["closed"], oldest]}
        payload = merge_payloads(payload, {**payload, **closing})
    return payload


def _is_closed(record: object, conversation: Conversation, gap: ContextGap | None) -> bool:
    """Whether a gap, by its record in a payload's `open`, is closed now."""
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
    """Whether an agent has spoken since `given_at`; also if the messages since then were removed."""
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


def _contexts_with_totals(contexts: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields of a payload that hold contexts: these, their sources, their number and their size."""
    return {
        "contexts": contexts,
        "source_summary": dict(Counter(str(context.get("source")) for context in contexts)),
        "total_items": len(contexts),
        "total_size_bytes": sum(len(str(context.get("content", "")).encode()) for context in contexts),
    }


def _drop_contexts_of_gaps(contexts: Sequence[dict[str, Any]], closed: Sequence[str]) -> list[dict[str, Any]]:
    """The contexts without those given only for closed gaps; a context without gaps stays."""
    kept = []
    for context in contexts:
        before = _gap_keys(context)
        after = [key for key in before if key not in closed]
        if after or not before:
            kept.append(
                {**context, "metadata": {**_as_mapping(context.get("metadata")), GAPS: after}}
                if before
                else context
            )
    return kept


def _join_gaps_of_equal_contexts(one: dict[str, Any] | None, other: dict[str, Any]) -> dict[str, Any]:
    """The first of two equal contexts, with the gaps of both; the second if there is no first."""
    if one is None:
        return other
    gaps = list(dict.fromkeys([*_gap_keys(one), *_gap_keys(other)]))
    return {**one, "metadata": {**_as_mapping(one.get("metadata")), GAPS: gaps}}


def _gap_keys(context: Mapping[str, Any]) -> list[Any]:
    return _list_or_empty(_as_mapping(context.get("metadata")).get(GAPS))


def _conversation_position_when_given(context: Mapping[str, Any]) -> int:
    given_at = _as_mapping(context.get("metadata")).get(GIVEN_AT)
    return given_at if isinstance(given_at, int) else 0


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list_or_empty(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _choose_payload_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata that goes into a payload: the first few texts and numbers, the texts shortened."""
    plain = {
        str(key): escape_entry(fact)[:MAX_FACT_CHARACTERS] if isinstance(fact, str) else fact
        for key, fact in metadata.items()
        if isinstance(fact, str | int | float | bool)
    }
    return dict(list(plain.items())[:MAX_FACTS])


def _attribution_fact(context: RetrievedContext) -> dict[str, str]:
    """`{"said_by": …}` for a context from a foreign source; empty for others."""
    words = context_attribution(context) if is_from_third_party(context_source(context)) else ""
    return {"said_by": words} if words else {}
