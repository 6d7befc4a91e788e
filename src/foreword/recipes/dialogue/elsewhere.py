"""Finds what bears on a question in a user's other conversations, and in what was remembered.

Only conversations in which exactly this user spoke are searched, and only what they said there, or what was
answered to them. Memories count if a person stored them for everybody, or under this user's name. What helps
is decided as everywhere, by the reader. Without a user, only memories for everybody are found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from foreword import pipeline
from foreword.capture.junk import junk_reason
from foreword.compose.user_context import UserLine
from foreword.options import SearchOptions
from foreword.recipes.dialogue.turns import speaking_user
from foreword.recipes.dialogue.users import UserMemories
from foreword.text.dates import write_out_day
from foreword.text.question import shorten_with_question_first
from foreword.text.shorten import shorten_between_words
from foreword.text.statements import describe_replaced_and_contradicting_statements
from foreword.types import Filters, Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.engine.base import Engine
    from foreword.options import Lane
    from foreword.pipeline import Stage
    from foreword.types import Item, SearchResult

_FLOOR = 0.01
"""The least probability worth a line. It is low: the window is there to be used, and what one conversation
knows is seldom near to what the next one asks."""

_MAX_FOUND, _MAX_READ = 12, 18
_MAX_LINE_CHARACTERS, _MAX_QUESTION_CHARACTERS = 500, 160
_TURNS_BACK = 4
"""How many turns before an answer its question is looked for: calls of tools may stand between them."""

_NO_CONVERSATION = ""


@dataclass(frozen=True, slots=True)
class Listener:
    """Whom a prompt is for: the user (empty if nobody is named), and their other conversations."""

    user: str
    conversations: tuple[str, ...] = ()


def find_lines_said_elsewhere(
    engine: Engine, workspace: str, listener: Listener, query: str, max_tokens: int, lane: Lane
) -> UserMemories:
    """The lines worth adding to a prompt, memories first, and the notes of the search."""
    kinds = [
        kind for kind in ("turn", "memory") if _has_anything_to_search(engine, workspace, listener, kind)
    ]
    if not kinds or not query.strip() or junk_reason(query) is not None:
        return UserMemories()
    options = SearchOptions(limit=_MAX_FOUND, kinds=tuple(kinds), lane=lane)
    draft = engine.draft(shorten_with_question_first(query), workspace, options, "dialogue", max_tokens)
    names = (*listener.conversations, _NO_CONVERSATION)
    draft = replace(draft, query=replace(draft.query, filters=Filters(tuple(kinds), conversations=names)))
    draft = pipeline.run(draft, _stages(listener.user))
    lines = [_make_line(engine, workspace, listener.user, result) for result in draft.results]
    told = [line for line in lines if line is not None]
    return UserMemories(tuple(sorted(told, key=lambda line: line.section != "memory")), draft.notes)


def _has_anything_to_search(engine: Engine, workspace: str, listener: Listener, kind: str) -> bool:
    if kind == "turn":
        return bool(listener.conversations)
    return bool(engine.store.recent(workspace, Filters(kinds=("memory",)), 1))


def _stages(user: str) -> tuple[Stage[Any], ...]:
    """The stages of the search; nods, and what others said or stored for themselves, are not even read."""

    def drop_nods_and_words_of_others(draft: pipeline.SearchDraft) -> pipeline.SearchDraft:
        return draft.keep([one for one in draft.results if _may_be_told(one.memory, user)], ())

    search = pipeline.search_stages_with_floor(_FLOOR, (drop_nods_and_words_of_others,), _MAX_READ)
    with_tail = (stage for stage in search if stage is not pipeline.drop_tail)
    return (*with_tail, pipeline.drop_superseded, pipeline.drop_repeats)


def _may_be_told(item: Item, user: str) -> bool:
    """Whether the item is a memory for this user, more than a nod of theirs, or a turn of an assistant."""
    if item.kind == "memory":
        return item.source.trust == "user" and item.source.name in {Source().name, user}
    if item.metadata.get("role") == "user":
        return speaking_user(item) == user and junk_reason(item.text) is None
    return item.source.trust == "agent"


def _make_line(engine: Engine, workspace: str, user: str, result: SearchResult) -> UserLine | None:
    """The line of a result; None for an answer to somebody else, or a nod to what was no question."""
    item = result.memory
    author = ""
    if item.source.trust == "agent":
        question = _find_question(engine, workspace, item)
        if question is None or speaking_user(question) != user:
            return None
        is_asked = "?" in question.text
        if not is_asked and junk_reason(item.text) is not None:
            return None
        asked = shorten_between_words(question.text, _MAX_QUESTION_CHARACTERS)
        author = f"(assistant, asked “{asked}”)" if is_asked else "(assistant)"
    told = shorten_between_words(result.excerpt or item.text, _MAX_LINE_CHARACTERS)
    return UserLine(
        told,
        item.id,
        write_out_day(item.created_at),
        "memory" if item.kind == "memory" else "earlier",
        history=describe_replaced_and_contradicting_statements(result.history, result.later),
        author=author,
        score=result.score,
        said_at=item.created_at.timestamp(),
    )


def _find_question(engine: Engine, workspace: str, answer: Item) -> Item | None:
    """The last turn of a user before an answer."""
    said = Filters(kinds=("turn",), conversation=answer.conversation, until=answer.created_at)
    before: Sequence[Item] = engine.store.recent(workspace, said, 1 + _TURNS_BACK)
    return next((item for item in before if item.metadata.get("role") == "user"), None)
