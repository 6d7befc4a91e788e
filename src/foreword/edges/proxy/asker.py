"""Who asks, in which workspace and conversation: from a request's headers, its `user`, or the defaults.

A missing name never falls back to somebody else's. A request that names neither a session nor a user gets
only what is for everybody, documents above all, and nothing of it is stored. A user without a session has one
conversation for each first message with its answer: a first message alone begins a new one. An empty header
means nobody, not the default; a header that comes twice is refused.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from itertools import dropwhile
from typing import TYPE_CHECKING

from foreword.errors import ValidationError
from foreword.options import check_workspace
from foreword.recipes.dialogue.sent_turns import turn_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.edges.proxy.apis import Body, UpstreamApi
    from foreword.types import Turn

WORKSPACE_HEADER = "x-foreword-workspace"
SESSION_HEADER = "x-foreword-session"
USER_HEADER = "x-foreword-user"
_DIGEST_CHARACTERS = 24
_NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class ProxyAsker:
    """Whose request it is: the workspace, the conversation, and the user, if they are known.

    `is_session_derived` if the request does not name its conversation.
    """

    workspace: str
    session: str = ""
    user: str = ""
    is_session_derived: bool = False

    @property
    def has_session(self) -> bool:
        """Whether the conversation is known, so that its turns may be stored and recalled."""
        return bool(self.session)

    def may_share_turns_with(self, other: ProxyAsker) -> bool:
        """Whether both have the same user or conversation, so that one may know the other's turns."""
        same_user = bool(self.user) and self.user == other.user
        same_session = bool(self.session) and self.session == other.session
        return self.workspace == other.workspace and (same_user or same_session)

    @property
    def session_id(self) -> str:
        """The conversation, or if it is unknown, a name under which nothing is ever stored."""
        return self.session or _NOBODY


def identify_asker(
    headers: Mapping[str, Sequence[str]],
    api: UpstreamApi,
    body: Body,
    turns: Sequence[Turn],
    defaults: ProxyAsker,
) -> ProxyAsker:
    """Who asks; ValidationError if a header comes twice or names no valid workspace."""
    workspace = _header_value(headers, WORKSPACE_HEADER)
    session, named = _header_value(headers, SESSION_HEADER), _header_value(headers, USER_HEADER)
    user = (api.find_user(body) or defaults.user) if named is None else named
    chosen = check_workspace(workspace) if workspace else defaults.workspace
    if session:
        return ProxyAsker(chosen, session, user)
    return with_derived_session(ProxyAsker(chosen, "", user, is_session_derived=bool(user)), turns)


def with_derived_session(asker: ProxyAsker, turns: Sequence[Turn]) -> ProxyAsker:
    """The asker with the conversation that begins as these turns do, if the request does not name it.

    It goes by the user, their first message and the answer to that. Before it is answered, a conversation has
    an id under which nothing is stored.
    """
    if not asker.is_session_derived:
        return asker
    begun = list(dropwhile(lambda turn: turn.role != "user", turns))
    answer = next((turn_key(turn) for turn in begun if turn.role == "assistant"), ())
    first = " ".join(begun[0].text.split()) if begun else ""
    opening = "\0".join((asker.user, first, *answer)).encode(errors="replace")
    digest = hashlib.sha256(b"opening\0" + opening).hexdigest()
    return replace(asker, session=f"proxy-{digest[:_DIGEST_CHARACTERS]}")


def _header_value(headers: Mapping[str, Sequence[str]], name: str) -> str | None:
    """The value of a header; None if it is missing. ValidationError if it comes twice."""
    values = headers.get(name, ())
    if len(values) > 1:
        raise ValidationError(f"the header {name} is there twice; send it once")
    return values[0].strip() if values else None
