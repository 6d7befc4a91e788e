"""Reads the query of a prompt: a text, a turn with images or a name, or the user's last turn.

In the middle of a loop of tools there is no new message: the query is then the user's last turn, together
with the assistant's calls of tools since and their answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.compose.content_parts import parts_text
from foreword.errors import ValidationError
from foreword.recipes.dialogue.users import storable_user
from foreword.types import Turn

if TYPE_CHECKING:
    from foreword.types import DialogueState


@dataclass(frozen=True, slots=True)
class AskedQuery:
    """A query, the conversation before it, and the turns since, if it is a turn of the conversation.

    `turn` is set where the query is more than a text; `user` is the user who asks, if the query names one.
    """

    text: str
    state: DialogueState
    turn: Turn | None = None
    since: tuple[Turn, ...] = ()
    user: str = ""

    @property
    def turns_in_query(self) -> tuple[Turn, ...]:
        """The turns of the conversation that belong to the query: its own, and those since."""
        return (self.turn, *self.since) if self.turn is not None and self.turn.turn_id else self.since


def resolve_asked_query(query: str | Turn | None, state: DialogueState) -> AskedQuery:
    """The query with its conversation; None stands for the user's last turn, ValidationError without one."""
    if query is None:
        return _query_from_last_turn(state)
    if isinstance(query, Turn):
        turn = fill_text_from_parts(query)
        if turn.role != "user":
            raise ValidationError(f"a query is a user's turn, not one of role {turn.role!r}")
        return AskedQuery(turn.text, state, turn, user=storable_user(turn.user or turn.name))
    return AskedQuery(query, state)


def fill_text_from_parts(turn: Turn) -> Turn:
    """The turn; if it has parts and no text of its own, with the text of its parts."""
    if not turn.parts or turn.text.strip():
        return turn
    return replace(turn, raw_text=parts_text(turn.parts), corrected_text=None)


def _query_from_last_turn(state: DialogueState) -> AskedQuery:
    """The user's last turn as the query, with the turns since; ValidationError if no user has spoken."""
    turns = state.turns
    places = range(len(turns) - 1, -1, -1)
    place = next((at for at in places if turns[at].role == "user" and turns[at].text.strip()), None)
    if place is None:
        raise ValidationError("the session has no turn of a user to go on with; say what is asked")
    turn = turns[place]
    before = replace(state, turns=turns[:place])
    return AskedQuery(turn.text, before, turn, tuple(turns[place + 1 :]), turn.user or turn.name)
