"""Who is called what: every name that an entity has had, and whom a name may mean.

Keeps entities as they grow, and finds them by name, by the parts of a name, and under the ids of those that
were merged into them. Which of several is meant is for the caller's `rank` to say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foreword.knowledge.aliases import address_of, bare, half_of, is_short_for, keys, same_person
from foreword.text.words import STOPWORDS, fold
from foreword.types import Entity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from foreword.knowledge.claims import Named
    from foreword.types import EntityType

    Rank = Callable[["Record"], Any]


_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_FIRM: tuple[EntityType, ...] = ("organisation", "thing")


@dataclass(slots=True)
class Record:
    """An entity as it grows; `strength` is its salience at its last mention."""

    id: str
    name: str
    kind: EntityType
    first: int
    last: int
    mentions: int = 0
    strength: float = 0.0
    gender: str = ""
    aliases: list[str] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    relations: list[tuple[str, str]] = field(default_factory=list)

    def entity(self) -> Entity:
        """The entity as it is now."""
        return Entity(
            self.id,
            self.name,
            self.kind,
            tuple(self.aliases),
            dict(self.attributes),
            self.first,
            self.last,
            self.mentions,
        )


@dataclass(frozen=True, slots=True)
class Known:
    """A known name that stands in a text where nothing else was found."""

    text: str
    entity_type: EntityType
    start: int
    end: int
    attributes: Mapping[str, str] = field(default_factory=dict)


class NameBook:
    """Entities by their names; `records` has them in the order of their last mention."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.merged: dict[str, str] = {}
        self.made = 0
        self._by_name: dict[str, list[str]] = {}
        self._by_key: dict[str, list[str]] = {}
        self._spelled: dict[str, str] = {}
        self._parts: dict[str, None] = {}

    def get(self, entity_id: str) -> Record | None:
        """The record of an id, or of the one it was merged into; None when it is unknown."""
        while entity_id in self.merged:
            entity_id = self.merged[entity_id]
        return self.records.get(entity_id)

    def add(self, name: str, kind: EntityType, now: int) -> Record:
        """A new entity with a name."""
        self.made += 1
        record = Record(f"{kind}-{self.made}", name, kind, now, now)
        self.records[record.id] = record
        self.call(record, name)
        return record

    def call(self, record: Record, name: str) -> None:
        """One more name for an entity; the fullest becomes its own."""
        if not _enter(self._by_name, fold(name), record.id):
            return
        for key in keys(name, "email" if "@" in name else record.kind):
            _enter(self._by_key, key, record.id)
        if record.kind == "person" and "@" in name:
            record.attributes["email"] = name
        elif name != record.name and name not in record.aliases:
            _rename(record, name)
        parts = name.split() if record.kind == "person" else [name]
        self._parts.update(dict.fromkeys(map(fold, parts)))
        for part in (*parts, bare(name, fold_case=False)):
            if part[:1].isupper() and " " not in part and fold(part) not in STOPWORDS:
                self._spelled[part] = record.id

    def standing(self, text: str, found: Sequence[Named]) -> Iterator[Known]:
        """Known names that stand in a text as they are spelled, where nothing of what was found stands."""
        place = 0
        for match in _WORD.finditer(text):
            while place < len(found) and found[place].end <= match.start():
                place += 1
            if place < len(found) and found[place].start < match.end():
                continue
            name = match.group().removesuffix("'s").removesuffix("’s")
            record = self.get(self._spelled.get(name, ""))
            if record is not None:
                yield Known(name, record.kind, match.start(), match.start() + len(name))

    def called(self, name: str, kind: EntityType | None = None) -> list[Record]:
        """Those who are called so; a `thing` may turn out to be of any kind."""
        found = self._those(self._by_name.get(fold(name), ()))
        return [one for one in found if kind in (None, "thing", one.kind) or one.kind == "thing"]

    def meant(self, name: str, kind: EntityType, rank: Rank, gender: str = "") -> Record | None:
        """Whom a mention means, if that is known: who is called so, else who may also be; then by rank."""
        found = self.called(name, kind)
        if kind == "person" or not found:
            found += self._akin(name, kind, gender)
        if not found and kind == "person" and not gender:
            found = self.called(name) or self._akin(name, "thing", "")  # a name in no list may be anything
        return min(found, key=lambda record: (_distance(record, fold(name)), rank(record)), default=None)

    def _akin(self, name: str, kind: EntityType, gender: str) -> list[Record]:
        """Those who are not called so yet, but may be."""
        filed = self._those(one for key in keys(name, kind) for one in self._by_key.get(key, ()))
        return [
            record
            for record in filed
            if _may_be(record, name, kind) and not (gender and record.gender and gender != record.gender)
        ]

    def addresses(self, person: Record) -> list[Record]:
        """Addresses that are made of a person's name, and belong to nobody yet."""
        filed = [one for key in keys(person.name, "person") for one in self._by_key.get(key, ())]
        return [
            one for one in self._those(filed) if one.kind == "email" and address_of(one.name, person.name)
        ]

    def merge(self, kept: Record, other: Record) -> None:
        """What is known of one goes to another, who answers to its names from now on."""
        self.merged[other.id] = kept.id
        del self.records[other.id]
        for name in (*other.aliases, other.name):
            self.call(kept, name)
        kept.attributes = {**other.attributes, **kept.attributes}
        kept.relations = [
            relation
            for relation in dict.fromkeys((*kept.relations, *other.relations))
            if self.get(relation[1]) is not kept
        ]
        later = max(kept, other, key=lambda record: (record.last, record.strength))
        kept.last, kept.strength = later.last, later.strength
        kept.first = min(kept.first, other.first)
        kept.mentions += other.mentions
        kept.gender = kept.gender or other.gender
        self.records = dict(sorted(self.records.items(), key=lambda filed: filed[1].last))

    def restore(self, record: Record) -> None:
        """A record that was written down, under the names it had."""
        name, aliases, attributes = record.name, list(record.aliases), dict(record.attributes)
        self.records[record.id] = record
        for known in (name, *aliases, *filter(None, [attributes.get("email")])):
            self.call(record, known)
        record.name, record.aliases, record.attributes = name, aliases, attributes

    def names(self) -> list[str]:
        """Every name there is, and every part of a person's, folded."""
        return list(self._by_name | self._parts)

    def _those(self, ids: Iterable[str]) -> list[Record]:
        """The records of ids, each once."""
        found = {record.id: record for one in ids if (record := self.get(one)) is not None}
        return list(found.values())


def _distance(record: Record, name: str) -> int:
    """How far a folded name is from those of an entity: its own, its given name or alias, a part, a form."""
    own = fold(record.name)
    if name == own:
        return 0
    if name == own.partition(" ")[0] or any(name == fold(alias) for alias in record.aliases):
        return 1
    return 2 if name in own.split() else 3


def _may_be(record: Record, name: str, kind: EntityType) -> bool:
    """Whether a name of a kind may mean an entity that is not called so yet."""
    if record.kind == "person":
        return _may_be_person(record, name, kind)
    if record.kind == "thing" and half_of(name, record.name):
        return kind in ("person", "thing")
    return kind in _FIRM and record.kind in _FIRM and not keys(name, _FIRM[0]).isdisjoint(_filed(record))


def _may_be_person(record: Record, name: str, kind: EntityType) -> bool:
    if kind == "email":
        return address_of(name, record.name)
    if kind == "thing":
        return fold(name) in fold(record.name).split() or half_of(record.name, name)
    return kind == "person" and any(same_person(known, name) for known in (record.name, *record.aliases))


def _filed(record: Record) -> frozenset[str]:
    """Under what an organisation is filed for the whole of its names."""
    return frozenset().union(*(keys(name, _FIRM[0]) for name in (record.name, *record.aliases)))


def _enter(index: dict[str, list[str]], key: str, entity_id: str) -> bool:
    """File an id under a key; whether it was not there yet."""
    ids = index.setdefault(key, [])
    if entity_id in ids:
        return False
    ids.append(entity_id)
    return True


def _rename(record: Record, name: str) -> None:
    """Another name: the fuller one of a person or an organisation is its own, the other an alias."""
    ours, theirs = record.name.split(), name.split()
    fuller = record.kind in ("person", "organisation") and len(theirs) > len(ours)
    if record.kind == "person" and len(ours) == len(theirs) == 1:
        fuller = len(name) > len(record.name) and is_short_for(fold(record.name), fold(name))
    if "@" in record.name and record.kind == "person":
        record.name = name
    elif fuller:
        record.aliases.append(record.name)
        record.name = name
    else:
        record.aliases.append(name)
