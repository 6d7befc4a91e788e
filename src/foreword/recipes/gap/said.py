"""What need not be said to an agent again: what its state holds of an injection, and what its messages say.

An injection takes the place of the one before it, and what is there no longer may be said once more: whoever
asks again has lost it. A context's name is the hash of what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foreword.recall.gaps.state import value
from foreword.recall.gaps.types import HANDOFF_CONTEXT, INJECTED_CONTEXT
from foreword.text.frame import contained
from foreword.text.words import fold
from foreword.types import text_hash

if TYPE_CHECKING:
    from foreword.recall.gaps.state import Heard
    from foreword.recall.gaps.types import RetrievedContext

QUOTED = 40
"""A context of at least so many characters that a message repeats word for word is there already."""


@dataclass(frozen=True, slots=True)
class Said:
    """The names of what the state holds; what messages say; the items a session was told."""

    names: frozenset[str] = frozenset()
    heard: tuple[str, ...] = ()
    told: frozenset[str] = frozenset()

    def has(self, context: RetrievedContext) -> bool:
        """Whether a context says nothing that is not there. A message may be pointed to once more."""
        if place(context) in self.told or name(context.content) in self.names:
            return True
        if context.source == "state":
            return False
        told = essence(context.content)
        return any(told == text or (len(told) >= QUOTED and told in text) for text in self.heard)


def said_in(state: object, heard: Heard, told: frozenset[str] = frozenset()) -> Said:
    """What a state and its messages say already; `told` are the ids of what its session was told."""
    held = (value(state, target) for target in (INJECTED_CONTEXT, HANDOFF_CONTEXT))
    names = frozenset(name for one in held if isinstance(one, Mapping) for name in _names(one))
    texts = tuple(essence(message.text) for message in heard.messages)
    return Said(names, texts, told)


def essence(text: str) -> str:
    """A text as far as it says something: two with the same essence are one."""
    return " ".join(fold(text).split())


def name(content: str) -> str:
    """What a content is known by after it was injected."""
    return text_hash(essence(contained(content)))


def place(context: RetrievedContext) -> str:
    """The name of a context in a receipt: the id of an item, or where in the state it stands."""
    known = context.metadata.get("id") or context.metadata.get("key")
    return str(known or f"{context.source}:{context.metadata.get('place') or text_hash(context.content)}")


def _names(held: Mapping[str, Any]) -> list[str]:
    """The names of what a payload says."""
    contexts = held.get("contexts")
    listed = contexts if isinstance(contexts, list | tuple) else ()
    contents = (value(context, "content") for context in listed)
    return [name(content) for content in contents if isinstance(content, str)]
