"""The names of entities: every name that an entity has had, and the entities that a name may mean.

Finds entities by name, by a part of it, by a short form, an acronym, or the email address that is made of it.
If several may be meant, the caller's `rank` decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from foreword.knowledge.word_lists import word_list
from foreword.text.words import STOPWORDS, fold_case, split_words
from foreword.types import Entity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from foreword.knowledge.claims import MentionLike
    from foreword.types import EntityType

    Rank = Callable[["EntityRecord"], Any]

_NICKNAMES = frozenset(tuple(pair.split("=")) for pair in word_list("nicknames"))
_FORMS_OF_NAME: dict[str, set[str]] = {}
for _pair in _NICKNAMES:
    for _name in _pair:
        _FORMS_OF_NAME.setdefault(_name, set()).update(_pair)
_LEGAL_FORMS = frozenset(
    {"ab", "ag", "bv", "co", "company", "corp", "corporation", "gmbh", "group", "holding", "holdings", "inc"}
    | {"incorporated", "kg", "limited", "llc", "llp", "ltd", "nv", "oy", "plc", "pty", "sa", "se", "srl"}
)
_FULL_NAME = re.compile(
    r"[^\W\d_a-z][^\W\d_]+(?:-[^\W\d_]+)?"
    r"(?:[ ](?:[^\W\d_A-Z]{1,3}[ ]){0,3}[^\W\d_a-z][^\W\d_]*(?:['’-][^\W\d_]+)?){1,2}"
)
_HOUSES = frozenset({"bar", "cafe", "camp", "casa", "club", "hotel", "option", "pension", "project", "villa"})
_SMALL_WORDS = frozenset({"of", "the", "and", "for", "de"})
_FIRM: tuple[EntityType, ...] = ("organisation", "thing")
_MIN_PREFIX, _MIN_LETTERS_CUT = 3, 3  # `jon` may be jonathan, but `dan` is not dana
_CAPITALISED_WORD = re.compile(r"(?:[a-z][\w'’-]*+|[\W\d_]++)*+([^\W\d_a-z][\w'’-]*)?")
"""The next word that does not begin with a small letter, if there is one, and all before it."""

_NUMBER = re.compile(r"\d+")


# Whether two names may mean the same


def is_short_for(short: str, full: str) -> bool:
    """Whether a given name is another or is short for it, both folded: `jon` for `jonathan`."""
    cut = len(short) >= _MIN_PREFIX and len(full) >= len(short) + _MIN_LETTERS_CUT
    return short == full or (short, full) in _NICKNAMES or (cut and full.startswith(short))


def can_be_same_person(name: str, other_name: str) -> bool:
    """Whether two names can be one person's: neither contradicts the other."""
    shorter, longer = sorted((_split_name_words(name), _split_name_words(other_name)), key=len)
    if not shorter:
        return False
    if len(shorter) == 1 and shorter[0] == longer[-1]:
        return True
    given, full = sorted((shorter[0], longer[0]), key=len)
    agree = full[0] == given if len(given) == 1 else is_short_for(given, full)
    return agree and (len(shorter) == 1 or shorter[-1] == longer[-1])


def looks_like_full_name(name: str) -> bool:
    """Whether a name looks like a person's: two or three capitalised words, maybe `van der` between."""
    return bool(_FULL_NAME.fullmatch(name)) and fold_case(name.partition(" ")[0]) not in _HOUSES


def is_first_or_last_name_in(part: str, name: str) -> bool:
    """Whether a word is the first or the last of what looks like somebody's full name."""
    parts = _split_name_words(name)
    return looks_like_full_name(name) and fold_case(part) in (parts[0], parts[-1])


def is_address_of(email: str, name: str) -> bool:
    """Whether an email address is made of a name: `anna.weber@`, `aweber@` or `anna@` for Anna Weber."""
    parts, spoken = _split_name_words(name), _email_local_words(email)
    if not parts:
        return False
    first, last = parts[0], parts[-1]
    return spoken in ([first, last], [last, first], [first], [last], [first[0] + last], [first[0], last])


def name_acronym(name: str) -> str:
    """The first letters of a name of several words, folded; empty when there is nothing to shorten."""
    parts = [part for part in split_words(name) if part.isalpha() and part not in _SMALL_WORDS | _LEGAL_FORMS]
    return "".join(part[0] for part in parts) if len(parts) > 1 else ""


def can_be_same_firm(name: str, other_name: str) -> bool:
    """Whether two names can be of one firm or product: one is the other with its legal form, or in initials.

    Names that only begin with the same letters, or have different numbers, are of two firms.
    """
    if _NUMBER.findall(name) != _NUMBER.findall(other_name):
        return False
    one, other = fold_case(drop_legal_form(name)), fold_case(drop_legal_form(other_name))
    return one == other or name_acronym(name) == other or name_acronym(other_name) == one


def drop_legal_form(name: str) -> str:
    """An organisation's name without its legal form: `Acme` for `Acme Corp`."""
    parts = name.replace(",", " ").split()
    while len(parts) > 1 and fold_case(parts[-1]).rstrip(".") in _LEGAL_FORMS:
        parts.pop()
    return " ".join(parts)


def name_index_keys(name: str, kind: EntityType) -> frozenset[str]:
    """The keys under which a name is indexed; names that may mean the same entity share a key."""
    if kind == "person":
        parts = _split_name_words(name)
        forms = (form for part in parts[:1] for form in _FORMS_OF_NAME.get(part, ()))
        return frozenset({*parts, *(part[:_MIN_PREFIX] for part in parts[:1]), *forms})
    if kind in _FIRM:
        parts = _split_name_words(name) if kind == "thing" else []
        halves = [part for part in parts if is_first_or_last_name_in(part, name)]
        return frozenset({fold_case(name), fold_case(drop_legal_form(name)), name_acronym(name), *halves}) - {
            ""
        }
    return frozenset(_email_local_words(name)) if kind == "email" else frozenset()


def _email_local_words(email: str) -> list[str]:
    """The words in an address before the @."""
    local = fold_case(email.partition("@")[0].partition("+")[0])
    return [part for part in re.split(r"[._\-\d]+", local) if part]


def _split_name_words(name: str) -> list[str]:
    """The words of a name, folded; a name with a hyphen is one word."""
    return [part for part in re.split(r"[\s.]+", fold_case(name)) if part]


# The book


@dataclass(slots=True)
class EntityRecord:
    """An entity as it is known so far; `strength` is its salience at its last mention."""

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
    said_in: dict[str, int] = field(default_factory=dict)
    relations: list[tuple[str, str, int]] = field(default_factory=list)
    """Its relations to others: the relation, the other's id, and the turn that states it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every name it has had, its own first."""
        return (self.name, *self.aliases)

    def to_entity(self) -> Entity:
        """The entity as it is now."""
        counts = (self.first, self.last, self.mentions)
        said = dict(self.attributes), *counts, dict(self.said_in)
        return Entity(self.id, self.name, self.kind, tuple(self.aliases), *said)

    def set_attribute(self, name: str, value: str, turn: int) -> None:
        """Set an attribute to the value that a turn states, in place of any earlier value."""
        self.attributes[name] = value
        self.said_in[name] = turn

    def copy(self) -> EntityRecord:
        """The same record, with containers of its own."""
        aliases, relations = [*self.aliases], [*self.relations]
        attributes, said_in = {**self.attributes}, {**self.said_in}
        return replace(self, aliases=aliases, attributes=attributes, said_in=said_in, relations=relations)


@dataclass(frozen=True, slots=True)
class KnownName:
    """A known name in a text, outside the mentions that were found there."""

    text: str
    entity_type: EntityType
    start: int
    end: int
    attributes: Mapping[str, str] = field(default_factory=dict)


class NameBook:
    """Entities by their names; `records` has them in the order of their last mention."""

    def __init__(self) -> None:
        self.records: dict[str, EntityRecord] = {}
        self._by_name: dict[str, list[str]] = {}
        self._by_key: dict[str, list[str]] = {}
        self._by_spelling: dict[str, str] = {}

    def copy(self) -> NameBook:
        """A copy of the book; changes to one do not reach the other."""
        book = NameBook()
        book.records = {one: record.copy() for one, record in self.records.items()}
        book._by_name = {name: [*ids] for name, ids in self._by_name.items()}
        book._by_key = {key: [*ids] for key, ids in self._by_key.items()}
        book._by_spelling = dict(self._by_spelling)
        return book

    def add(self, name: str, kind: EntityType, now: int) -> EntityRecord:
        """Add an entity with this name, and return its record."""
        record = EntityRecord(f"{kind}-{len(self.records) + 1}", name, kind, now, now)
        self.records[record.id] = record
        self.add_name(record, name)
        return record

    def add_name(self, record: EntityRecord, name: str) -> None:
        """Add a name to an entity; the fullest becomes its main name."""
        if not _add_id_to_index(self._by_name, fold_case(name), record.id):
            return
        for key in name_index_keys(name, record.kind):
            _add_id_to_index(self._by_key, key, record.id)
        if record.kind == "person" and "@" in name:
            record.attributes["email"] = name
        elif name not in record.names:
            _add_fuller_name_or_alias(record, name)
        parts = name.split() if record.kind == "person" else [name]
        for part in (*parts, drop_legal_form(name)):
            if part[:1].isupper() and " " not in part and fold_case(part) not in STOPWORDS:
                self._by_spelling[part] = record.id

    def find_known_names(self, text: str, found: Sequence[MentionLike]) -> Iterator[KnownName]:
        """The known names in a text, as they are spelled, in the places that no mention in `found` covers."""
        place = 0
        for match in _CAPITALISED_WORD.finditer(text):
            name = (match[1] or "").removesuffix("'s").removesuffix("’s")
            record = self.records.get(self._by_spelling.get(name, ""))
            if record is None:
                continue
            start, end = match.span(1)
            while place < len(found) and found[place].end <= start:
                place += 1
            if place == len(found) or found[place].start >= end:
                yield KnownName(name, record.kind, start, start + len(name))

    def find_by_name(self, name: str, kind: EntityType | None = None) -> list[EntityRecord]:
        """The entities that have this name; a `thing` may turn out to be of any kind."""
        found = [self.records[one] for one in self._by_name.get(fold_case(name), ())]
        return [one for one in found if kind in (None, "thing", one.kind) or one.kind == "thing"]

    def find_best_match(
        self, name: str, kind: EntityType, rank: Rank, gender: str = ""
    ) -> EntityRecord | None:
        """The entity that a name most probably means: one that has it, else one that may; then by rank."""
        found = self.find_by_name(name, kind)
        if kind == "person" or not found:
            found += self._find_possible_records(name, kind, gender)
        if not found and kind == "person" and not gender:  # a name in no list may be anything
            found = self.find_by_name(name) or self._find_possible_records(name, "thing", "")

        def distance_and_rank(record: EntityRecord) -> tuple[int, Any]:
            return _distance_from_known_names(record, fold_case(name)), rank(record)

        return min(found, key=distance_and_rank, default=None)

    def _find_possible_records(self, name: str, kind: EntityType, gender: str) -> list[EntityRecord]:
        """The entities that do not have this name yet, but may be meant by it."""
        ids = {one: None for key in name_index_keys(name, kind) for one in self._by_key.get(key, ())}
        return [
            record
            for record in map(self.records.__getitem__, ids)
            if _can_name_mean_record(name, kind, record) and {gender, record.gender} != {"female", "male"}
        ]


def _can_name_mean_record(name: str, kind: EntityType, record: EntityRecord) -> bool:
    """Whether a name of this kind may mean an entity that does not have it yet."""
    if record.kind == "person":
        if kind == "email":
            return is_address_of(name, record.name)
        if kind == "thing":
            return fold_case(name) in fold_case(record.name).split() or is_first_or_last_name_in(
                record.name, name
            )
        return kind == "person" and any(can_be_same_person(known, name) for known in record.names)
    if record.kind == "thing" and is_first_or_last_name_in(name, record.name):
        return kind in ("person", "thing")
    if not (kind in _FIRM and record.kind in _FIRM):
        return False
    return any(can_be_same_firm(known, name) for known in record.names)


def _distance_from_known_names(record: EntityRecord, name: str) -> int:
    """How far a folded name is from an entity's: 0 main name, 1 given name or alias, 2 a part, 3 a form."""
    own = fold_case(record.name)
    if name == own:
        return 0
    if name == own.partition(" ")[0] or any(name == fold_case(alias) for alias in record.aliases):
        return 1
    return 2 if name in own.split() else 3


def _add_id_to_index(index: dict[str, list[str]], key: str, entity_id: str) -> bool:
    """Add an id to an index under a key; False if it was there already."""
    ids = index.setdefault(key, [])
    if entity_id in ids:
        return False
    ids.append(entity_id)
    return True


def _add_fuller_name_or_alias(record: EntityRecord, name: str) -> None:
    """Give a record another name: the fuller one of the two becomes its main name, the other an alias."""
    own, other = record.name.split(), name.split()
    fuller = record.kind in ("person", "organisation") and len(other) > len(own)
    if record.kind == "person" and len(own) == len(other) == 1:
        fuller = len(name) > len(record.name) and is_short_for(fold_case(record.name), fold_case(name))
    record.aliases.append(record.name if fuller else name)
    if fuller:
        record.name = name
