"""Who asks, where and in which conversation: from the headers of a request, its `user`, or the defaults.

What is missing is never somebody else's. A request that names neither a session nor a user gets what is for
everybody, documents above all, and leaves nothing behind. A user without a session has a conversation for
each first message. A header that is sent empty means nobody, not the default; one that comes twice is
refused.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.errors import ValidationError
from foreword.options import check_workspace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.edges.proxy.apis import Api, Body
    from foreword.types import Turn

WORKSPACE_HEADER = "x-foreword-workspace"
SESSION_HEADER = "x-foreword-session"
USER_HEADER = "x-foreword-user"
_DIGEST_CHARACTERS = 24
_NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Asker:
    """Whose request it is: the workspace, the conversation, and the user, who may be nobody."""

    workspace: str
    session: str = ""
    user: str = ""

    @property
    def is_known(self) -> bool:
        """Whether anything may be remembered of this request, or recalled for it."""
        return bool(self.session)

    def follows(self, other: Asker) -> bool:
        """Whether what the other said may be known to this one: the same user, or the same conversation."""
        same_user = bool(self.user) and self.user == other.user
        same_session = bool(self.session) and self.session == other.session
        return self.workspace == other.workspace and (same_user or same_session)

    @property
    def session_id(self) -> str:
        """The conversation; for one that is not known, a name under which nothing is ever kept."""
        return self.session or _NOBODY


def read_asker(
    headers: Mapping[str, Sequence[str]], api: Api, body: Body, turns: Sequence[Turn], defaults: Asker
) -> Asker:
    """Who asks; ValidationError for headers that nobody can be made of."""
    workspace = _header_value(headers, WORKSPACE_HEADER)
    session, named = _header_value(headers, SESSION_HEADER), _header_value(headers, USER_HEADER)
    user = (api.user_of(body) or defaults.user) if named is None else named
    chosen = check_workspace(workspace) if workspace else defaults.workspace
    if session:
        return Asker(chosen, session, user)
    first = next((turn.text for turn in turns if turn.role == "user"), "")
    return Asker(chosen, _session_of(user, first) if user else "", user)


def _session_of(user: str, first: str) -> str:
    """The conversation of a user that begins with these words."""
    digest = hashlib.sha256("\0".join((user, " ".join(first.split()))).encode(errors="replace")).hexdigest()
    return f"proxy-{digest[:_DIGEST_CHARACTERS]}"


def _header_value(headers: Mapping[str, Sequence[str]], name: str) -> str | None:
    """The value of a header; None if it is not there, empty if it says nothing."""
    values = headers.get(name, ())
    if len(values) > 1:
        raise ValidationError(f"the header {name} is there twice; send it once")
    return values[0].strip() if values else None
