"""The ledger of a workspace: lists what was decided, is known, or is open; and records lines by hand.

The lists are read from the stored items (`knowledge.decisions`, `knowledge.facts`, `knowledge.open_ends`). A
recorded line is a memory like any other, whose type puts it into one of the lists. A correction names the
item that it replaces; if its author is trusted less than that item's, it is stored beside it and replaces
nothing, unless the user has said the same since.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any, Literal, get_args

from foreword.capture.names.entities import find_entities
from foreword.engine.browsing import Browser
from foreword.errors import ValidationError
from foreword.knowledge.decisions import KINDS, Decision, list_decisions, read_settled_kind
from foreword.knowledge.facts import Fact, list_facts
from foreword.knowledge.open_ends import CLOSED, OpenEnd, list_open_ends, read_open_end
from foreword.knowledge.progress_cues import task_words
from foreword.options import check_workspace
from foreword.store.base import Amend, ListRecent, PutRelations
from foreword.text.provenance import is_at_least_as_trusted
from foreword.text.statements import is_bare_question
from foreword.types import DISPUTES, REPLACES, Filters, Relation, Source

if TYPE_CHECKING:
    from datetime import datetime

    from foreword.engine.context_engine import ContextEngine
    from foreword.types import Item

LineKind = Literal["decision", "rule", "preference", "fact", "task"]
"""What a line of the ledger can be; a task is something that is open."""

LINE_KINDS: tuple[LineKind, ...] = get_args(LineKind)

_MAX_LATER_ITEMS = 200


class Ledger:
    """The decisions, facts and open ends that hold in one workspace."""

    def __init__(self, engine: ContextEngine, workspace: str) -> None:
        self._engine = engine
        self.workspace = check_workspace(workspace)

    # Reading

    def list_decisions(
        self, about: str = "", since: datetime | None = None, until: datetime | None = None
    ) -> list[Decision]:
        """The decisions, rules and preferences that hold, newest first; about some words, or of a time."""
        words = task_words(about)
        return [
            one
            for one in list_decisions(self._engine.store, self.workspace)
            if (since is None or one.item.created_at >= since)
            and (until is None or one.item.created_at <= until)
            and (not words or words & one.words)
        ]

    def list_facts(self, who: str) -> list[Fact]:
        """The facts known about a person or thing; "me" is the user who speaks."""
        if not who.strip():
            raise ValidationError("say whose facts: a name, a thing, or me")
        return list_facts(self._engine.store, self.workspace, who, find_entities)

    def list_open_ends(self) -> list[OpenEnd]:
        """The open ends: newest first, and last those that are for some day."""
        return list_open_ends(self._engine.store, self.workspace)

    def find_item(self, item_id: str) -> Item:
        """The item whose id is or begins with this; UnknownId for none, ValidationError for several."""
        return Browser(self._engine, self.workspace).find_item(item_id)

    # Writing

    def record(
        self,
        text: str,
        kind: LineKind = "decision",
        *,
        subject: str = "",
        attribute: str = "",
        value: str = "",
        replaces: str = "",
        session: str | None = None,
        source: Source = Source(),  # noqa: B008  (frozen)
    ) -> Item:
        """Store a line of the ledger.

        With a subject and a value, it replaces older lines about the same subject (and attribute) whose
        authors are not trusted more. `replaces` is the id of an item that it corrects.
        """
        if kind not in LINE_KINDS:
            raise ValidationError(f"no kind of line named {kind!r}; there are: {', '.join(LINE_KINDS)}")
        fields: dict[str, Any] = {
            "type": kind,
            "about": subject,
            "session": session,
            "metadata": _value_metadata(subject, attribute, value),
        }
        if replaces:
            return self.remember_correction(self.find_item(replaces), text, source, **fields)
        return self._engine.remember(text, self.workspace, source=source, **fields)

    def remember_correction(self, older: Item, text: str, source: Source, **fields: Any) -> Item:  # noqa: ANN401
        """Store a statement that corrects an item, and its relation to that item.

        It replaces the item unless the item's author is trusted more; then it only disputes it, unless the
        user has said the same since. `fields` are those of `remember`.
        """
        backing = (
            None
            if is_at_least_as_trusted(source, older.source)
            else self._find_backing_user_statement(text, older)
        )
        is_replaced = backing is not None or is_at_least_as_trusted(source, older.source)
        supersedes = older.id if is_replaced else None
        item = self._engine.remember(text, self.workspace, source=source, supersedes=supersedes, **fields)
        newer = [(item, REPLACES if is_replaced else DISPUTES), *([(backing, REPLACES)] if backing else [])]
        relations = tuple(Relation(one.id, older.id, name, 1.0, one.created_at) for one, name in newer)
        self._engine.store.run(PutRelations(self.workspace, relations))
        return item

    def correct(self, item_id: str, text: str, source: Source = Source()) -> Item:  # noqa: B008  (frozen)
        """Store a new line that corrects an older item, of the same kind as that."""
        older = self.find_item(item_id)
        kind: LineKind = read_settled_kind(older) or ("task" if older.type == "task" else "fact")
        return self.record(text, kind, replaces=older.id, session=older.session, source=source)

    def close(self, item_id: str, source: Source = Source()) -> Item:  # noqa: B008  (frozen)
        """Mark an item as closed: it is done, or holds no longer. It stays remembered.

        A task can be closed by any source; any other line only by a source trusted at least as much.
        """
        item = self.find_item(item_id)
        if read_open_end(item) is None and not is_at_least_as_trusted(source, item.source):
            raise ValidationError(
                f"{item.id!r} is the {item.source.trust}'s own word; only they can close it"
            )
        closed_at = item.metadata.get(CLOSED) or self._engine.clock().astimezone(UTC).isoformat(
            timespec="seconds"
        )
        change = Amend(self.workspace, item.id, metadata={**item.metadata, CLOSED: closed_at})
        changed = self._engine.store.run(change)
        return changed if changed is not None else item

    def _find_backing_user_statement(self, text: str, older: Item) -> Item | None:
        """A later statement of the user that has all new words of a correction; None if there is none.

        The new words are those that the corrected item does not have.
        """
        new = task_words(text) - task_words(older.text)
        since = Filters(kinds=KINDS, since=older.created_at)
        recent = self._engine.store.run(ListRecent(self.workspace, since, _MAX_LATER_ITEMS))
        by_user = (item for item in recent if item.source.trust == "user" and item.id != older.id)
        return next((item for item in by_user if new and _states_all_words(item, new)), None)


def _states_all_words(item: Item, words: frozenset[str]) -> bool:
    return words <= task_words(item.text) and not is_bare_question(item.text)


def _value_metadata(subject: str, attribute: str, value: str) -> dict[str, str]:
    """The metadata by which a later line about the same subject replaces this one; empty without a value."""
    if not (subject and value):
        return {}
    return {"subject": subject, "attribute": attribute or "is", "value": value}
