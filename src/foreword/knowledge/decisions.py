"""What was decided in a workspace and still holds: decisions, rules and preferences, each with its history.

They are read from the stored statements whenever they are asked for, and not stored themselves. A statement
is listed if it settles something (`settled`), or replaces one that did. It is not listed if it was taken
back, closed by hand, or replaced: by a relation that a reader or a person made, by `superseded_by`, or by a
bare correction. No statement replaces one of a source that is trusted more; the newer one is then listed
beside the older. If it is doubtful whether one replaces another, both are listed, the newest first.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from foreword.knowledge.command_results import is_tool_output
from foreword.knowledge.corrections import MAX_TURNS_BACK, find_corrected, is_revocation
from foreword.knowledge.open_ends import CLOSED, MAX_ITEMS
from foreword.knowledge.parts import changes_only_part
from foreword.knowledge.progress_cues import cue_pattern, is_question, task_words
from foreword.knowledge.settled import find_what_statement_settles
from foreword.store.base import ListRecent
from foreword.text.clean import plain_line
from foreword.text.provenance import is_at_least_as_trusted
from foreword.text.sentences import split_sentences
from foreword.text.statements import MAX_STATEMENT_CHARACTERS, split_statements
from foreword.text.words import share_most_words
from foreword.types import AMENDS, DISPUTES, REPLACES, SURE_REPLACEMENT, Filters

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foreword.knowledge.settled import Settled
    from foreword.store.base import Store
    from foreword.types import Item

KINDS = ("turn", "memory", "commit")
"""The kinds of items that hold statements."""

_SETTLED_TYPES: dict[str, Settled] = {
    "decision": "decision",
    **dict.fromkeys(("rule", "policy", "convention", "constraint", "guideline", "workflow"), "rule"),
    "preference": "preference",
}
"""The kind of decision that a memory of each type is, whatever its words."""

_MAX_STEPS = 20
_MIN_REVOKED, _MIN_REVOKED_WORDS = 0.5, 2
"""A statement takes a decision back if it has at least this share of its words, and this many of them."""

_MAX_CHARACTERS = 8_000
_MAX_CACHED_TEXTS = 8_192


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision, rule or preference that holds, in its own words.

    `before` are the items that it replaced; `beside` are items that contradict it, or a part of it, and do
    not replace it.
    Both are newest first.
    """

    item: Item
    text: str
    kind: Settled
    before: tuple[Item, ...] = ()
    beside: tuple[Item, ...] = ()

    @property
    def words(self) -> frozenset[str]:
        """The words by which it is compared: its own, and those of the items that it replaced."""
        return task_words(" ".join((self.text, self.item.about, *(item.text for item in self.before))))


def list_decisions(store: Store, workspace: str) -> list[Decision]:
    """The decisions, rules and preferences that hold in a workspace, newest first."""
    items = store.run(ListRecent(workspace, Filters(kinds=KINDS), MAX_ITEMS))[::-1]
    found: dict[str, Settled] = {item.id: kind for item in items if (kind := read_settled_kind(item))}
    changes = _Changes.read(store, workspace, items, found)
    by_id = {item.id: item for item in items} | changes.others
    chains: dict[str, list[str]] = {}
    for name in found:
        last, *older = reversed(changes.successor_chain(name))
        kept = chains.setdefault(last, [])
        kept += [one for one in older if one not in kept]
    decisions = [
        Decision(
            by_id[last],
            words_that_settle_something(by_id[last]),
            found.get(last) or _kind_of_replaced(older, found),
        )
        for last, older in chains.items()
        if last not in changes.revoked and _still_holds(by_id[last])
        if last in found or not is_revocation(by_id[last].text)
    ]
    decisions = [
        replace(
            one,
            before=_sort_newest_first(by_id[name] for name in chains[one.item.id]),
            beside=_sort_newest_first(by_id[name] for name in changes.disputed.get(one.item.id, ())),
        )
        for one in decisions
    ]
    return sorted(_drop_agent_repeats_of_user(decisions), key=lambda one: one.item.created_at, reverse=True)


def read_settled_kind(item: Item) -> Settled:
    """What an item settles (a decision, a rule, a preference), by its words or its type; "" for nothing."""
    if is_tool_output(item) or item.source.trust in ("tool", "web"):
        return ""
    if item.kind == "memory" and item.type:
        return _SETTLED_TYPES.get(item.type.casefold(), "")
    by_agent = item.source.trust != "user" or item.kind == "commit"
    return _first_settled_kind(item.text[:_MAX_CHARACTERS], by_agent=by_agent)


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def _first_settled_kind(text: str, *, by_agent: bool) -> Settled:
    """The kind of the first statement in a text that settles something; "" if none does."""
    kinds = (find_what_statement_settles(one, by_agent=by_agent) for one in split_statements(text))
    return next((kind for kind in kinds if kind), "")


def words_that_settle_something(item: Item) -> str:
    """The words of a decision: a short item whole, of a long one the statements that settle something."""
    if len(item.text) <= MAX_STATEMENT_CHARACTERS:
        return item.text.strip()
    by_agent = item.source.trust != "user"
    statements = split_statements(item.text[:_MAX_CHARACTERS])
    return (
        "\n".join(one for one in statements if find_what_statement_settles(one, by_agent=by_agent))
        or item.text.strip()
    )


def _still_holds(item: Item) -> bool:
    """Whether an item was neither superseded nor closed by hand."""
    return not (item.superseded_by or item.metadata.get(CLOSED))


def _kind_of_replaced(older: Sequence[str], found: dict[str, Settled]) -> Settled:
    """The kind of the first of these older statements that has one; else a decision."""
    return next((found[name] for name in older if found.get(name)), "decision")


def _sort_newest_first(items: Iterable[Item]) -> tuple[Item, ...]:
    return tuple(sorted(items, key=lambda item: item.created_at, reverse=True))


def _drop_agent_repeats_of_user(decisions: Sequence[Decision]) -> list[Decision]:
    """The decisions without those in which an agent repeats what the user said in the same session."""
    own = [one for one in decisions if one.item.source.trust == "user" and one.item.session]
    return [
        one
        for one in decisions
        if one.item.source.trust == "user"
        or one.before
        or not any(one.item.session == user.item.session and _is_repeat_of(one, user) for user in own)
    ]


def _is_repeat_of(decision: Decision, other: Decision) -> bool:
    """Whether two decisions share most words of the shorter one."""
    return share_most_words(task_words(decision.text), task_words(other.text))


# What replaced, revoked or disputed what -------------------------------------------------------------------


@dataclass(slots=True)
class _Changes:
    """Later changes to statements, by their ids: which were replaced, disputed or revoked."""

    successors: dict[str, str] = field(default_factory=dict)
    disputed: dict[str, list[str]] = field(default_factory=dict)
    revoked: set[str] = field(default_factory=set)
    others: dict[str, Item] = field(default_factory=dict)
    """The items that these changes refer to and that are not among the latest."""

    @classmethod
    def read(cls, store: Store, workspace: str, items: Sequence[Item], found: dict[str, Settled]) -> _Changes:
        """The changes that relations, metadata and later items state; `items` are oldest first."""
        changes = cls({item.id: item.superseded_by for item in items if item.superseded_by})
        changes._note_replaced_and_disputed_decisions(
            store, workspace, [item for item in items if item.id in found]
        )
        changes._find_later_corrections(items, found)
        missing = [name for name in changes.successors.values() if name not in {item.id for item in items}]
        changes.others |= (
            {item.id: item for item in store.get(workspace, *missing) if item} if missing else {}
        )
        known = {item.id for item in items} | changes.others.keys()
        changes.successors = {old: new for old, new in changes.successors.items() if new in known}
        return changes

    def _note_replaced_and_disputed_decisions(
        self, store: Store, workspace: str, settled: Sequence[Item]
    ) -> None:
        """Read from relations which decisions were replaced or are disputed."""
        related = store.expand(workspace, [item.id for item in settled], 1) if settled else {}
        for older in settled:
            name = older.id
            for one in related.get(name, ()):
                relation = one.relationship
                if relation.to_id != name or relation.confidence < SURE_REPLACEMENT:
                    continue
                if relation.type == REPLACES and is_at_least_as_trusted(one.memory.source, older.source):
                    self.successors.setdefault(name, one.memory.id)
                    self.others[one.memory.id] = one.memory
                elif relation.type in (REPLACES, AMENDS, DISPUTES):
                    self.disputed.setdefault(name, []).append(one.memory.id)
                    self.others[one.memory.id] = one.memory

    def _find_later_corrections(self, items: Sequence[Item], found: dict[str, Settled]) -> None:
        """Read from the words of later items what they correct or take back."""
        said: dict[str, list[Item]] = {}
        standing: dict[str, frozenset[str]] = {}
        for item in items:
            turns = said.setdefault(item.session or "", [])
            if item.kind == "turn" and item.session:
                for corrected in find_corrected(item, turns[: -MAX_TURNS_BACK - 1 : -1]):
                    if corrected.item.id in found and is_at_least_as_trusted(
                        item.source, corrected.item.source
                    ):
                        self._add_correction(item, corrected.item, standing)
            for name in _find_revoked(item, standing):
                self.revoked.add(name)
                standing.pop(name)
            if item.id in found and item.source.trust == "user":
                standing[item.id] = task_words(item.text)
            turns.append(item)

    def _add_correction(self, item: Item, older: Item, standing: dict[str, frozenset[str]]) -> None:
        """Note that an item corrects an older one: it replaces it, or is told beside what it leaves of it."""
        if changes_only_part(item, older):
            beside = self.disputed.setdefault(older.id, [])
            beside += [item.id] if item.id not in beside else []
            return
        self.successors.setdefault(older.id, item.id)
        standing.pop(older.id, None)

    def successor_chain(self, name: str) -> list[str]:
        """The id, followed by the ids of its successors, one after the other."""
        chain = [name]
        while (successor := self.successors.get(chain[-1])) and successor not in chain:
            chain.append(successor)
            if len(chain) > _MAX_STEPS:
                break
        return chain


def _find_revoked(item: Item, standing: dict[str, frozenset[str]]) -> list[str]:
    """The ids of the decisions that an item takes back by naming most of their words."""
    if item.source.trust != "user" or is_tool_output(item):
        return []
    words = _revoking_words(item.text[:_MAX_CHARACTERS])
    return [name for name, own in standing.items() if _do_words_name_decision(words, own)] if words else []


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def _revoking_words(text: str) -> frozenset[str]:
    """The words of those sentences of a text that take something back."""
    sentences = [
        said
        for sentence in split_sentences(text)
        if cue_pattern("revokes").search(said := plain_line(sentence)) or cue_pattern("cancels").search(said)
        if not is_question(said)
    ]
    return task_words(" ".join(sentences)) if sentences else frozenset()


def _do_words_name_decision(words: frozenset[str], decision_words: frozenset[str]) -> bool:
    """Whether revoking words name enough of a decision's own words."""
    shared = len(words & decision_words)
    fewest = min(len(decision_words), len(words))
    return shared >= min(_MIN_REVOKED_WORDS, len(decision_words)) and shared >= _MIN_REVOKED * fewest
