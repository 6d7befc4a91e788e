"""Does the agent lack context? Five indicators, each told with its confidence; the surest one is acted upon.

Reads the end of a state and nothing else: no store, and an encoder only if it is given one, for what words
leave undecided; a few milliseconds at most. What could not be read is noted in the gap; a state that nothing
can be told of has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.recall.gaps.asking import request
from foreword.recall.gaps.circles import circle
from foreword.recall.gaps.signs import flagged, gate, slow
from foreword.recall.gaps.state import messages, plain, value
from foreword.recall.gaps.types import ContextGap, Sign, new_gap_id
from foreword.recall.gaps.words import own_voice, roots
from foreword.text.clean import join_lines

if TYPE_CHECKING:
    from foreword.recall.gaps.listener import Encode
    from foreword.recall.gaps.state import Heard, Message

READ = 40
"""So many messages, the newest, are looked at for signs of a gap."""

QUERY_CHARACTERS = 500
"""So long a question may be: more words blur what is asked."""

ENOUGH_WORDS = 4
"""A need told in fewer telling words does not stand for itself: the task is added to it."""

UNKNOWN = "unknown"
_TASKS = ("current_task", "current_story", "task", "story", "goal", "objective", "description", "title")
_AGENTS = ("current_agent", "active_agent", "agent")
_NEXT = ("next_agent", "handoff_to", "handoff_target", "target_agent")
_RECEIVER = ("target_agent", "to_agent", "target", "to")


async def detect_context_gap(state: object, encode: Encode | None = None) -> ContextGap | None:
    """The gap that the current agent shows, with every reason found; None when there is no sign of one."""
    return find_gap(state, encode)


def find_gap(state: object, encode: Encode | None = None) -> ContextGap | None:
    """The same, for callers that do not wait."""
    heard = messages(state, READ)
    signs = _signs(state, heard, encode)
    if not signs:
        return None
    surest = signs[0]
    return ContextGap(
        gap_id=new_gap_id(),
        agent=_needing(state, surest),
        reason=surest.reason,
        context_query=_query(state, surest, heard.messages),
        confidence=surest.confidence,
        indicators=tuple(f"{sign.reason}: {sign.evidence}" for sign in signs),
        reasons=tuple(signs),
        notes=heard.notes,
    )


def current_agent(state: object) -> str:
    """Whoever has the floor."""
    return _name(state, _AGENTS) or UNKNOWN


def receiving_agent(state: object) -> str:
    """Whoever is about to be handed the work; empty when nobody is."""
    handed = _name(state, _NEXT) or _name(value(state, "handoff_context"), _RECEIVER)
    return "" if handed.casefold() == current_agent(state).casefold() else handed


def _signs(state: object, heard: Heard, encode: Encode | None) -> list[Sign]:
    """Every sign of a gap, the surest first."""
    found = (
        flagged(state, heard.messages),
        request(heard.messages, encode),
        gate(state),
        circle(state, heard.messages),
        slow(state, current_agent(state), heard.messages),
    )
    return sorted((sign for sign in found if sign is not None), key=lambda sign: -sign.confidence)


def _needing(state: object, sign: Sign) -> str:
    """The agent that needs the context: who asked, else who goes on next."""
    if sign.agent:
        return sign.agent
    if sign.reason in ("circular_logic", "gate_failure"):
        return receiving_agent(state) or current_agent(state)
    return current_agent(state)


def _query(state: object, sign: Sign, heard: tuple[Message, ...]) -> str:
    """What to look for: the need in the agent's own words, and the task where those are few."""
    need = own_voice(sign.needs)
    parts = [need]
    if len(roots(need)) < ENOUGH_WORDS:
        parts.append(_task(state))
    if not roots(" ".join(parts)):
        parts += [message.text for message in heard[-2:]]
    query = join_lines(" ".join(filter(None, parts)))
    return query[:QUERY_CHARACTERS] or current_agent(state)


def _task(state: object) -> str:
    """What the agent is working on, as far as the state says."""
    return next((text for key in _TASKS if (text := plain(value(state, key)))), "")


def _name(held: object, names: tuple[str, ...]) -> str:
    found = (value(held, name) for name in names)
    return next((name for name in found if isinstance(name, str) and name.strip()), "")
