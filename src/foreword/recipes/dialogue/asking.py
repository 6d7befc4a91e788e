"""What is asked of a conversation: a text, a turn with images or a name, or the question that is still open.

In the middle of a loop of tools nobody says anything new: the question is the user's last turn, and what the
assistant asked of tools since, with their answers, goes with it.
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
class Asked:
    """A query, the conversation before it, and what was said and done for it since.

    `turn` is there where the query is more than a text; `user` is who asks, if the query says so.
    """

    text: str
    state: DialogueState
    turn: Turn | None = None
    since: tuple[Turn, ...] = ()
    user: str = ""

    @property
    def turns_in_query(self) -> tuple[Turn, ...]:
        """The turns of the conversation that the query is made of."""
        return (self.turn, *self.since) if self.turn is not None and self.turn.turn_id else self.since


def read_query(query: str | Turn | None, state: DialogueState) -> Asked:
    """The query as it is asked in a conversation; ValidationError for None where no user has spoken."""
    if query is None:
        return _read_open_question(state)
    if isinstance(query, Turn):
        turn = with_text_of_parts(query)
        if turn.role != "user":
            raise ValidationError(f"a query is a user's turn, not one of role {turn.role!r}")
        return Asked(turn.text, state, turn, user=storable_user(turn.user or turn.name))
    return Asked(query, state)


def with_text_of_parts(turn: Turn) -> Turn:
    """The turn with a text: what its parts say, where it has parts and no text of its own."""
    if not turn.parts or turn.text.strip():
        return turn
    return replace(turn, raw_text=parts_text(turn.parts), corrected_text=None)


def _read_open_question(state: DialogueState) -> Asked:
    turns = state.turns
    places = range(len(turns) - 1, -1, -1)
    place = next((at for at in places if turns[at].role == "user" and turns[at].text.strip()), None)
    if place is None:
        raise ValidationError("the session has no turn of a user to go on with; say what is asked")
    turn = turns[place]
    before = replace(state, turns=turns[:place])
    return Asked(turn.text, before, turn, tuple(turns[place + 1 :]), turn.user or turn.name)
