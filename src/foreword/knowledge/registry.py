"""The entities of one conversation: who and what is talked about, under which names, and how much of late.

Knows what turns mention and claim, and when; how names are found in a text is handed in. Salience is computed
when it is asked for, so that a turn costs what it mentions, however long the conversation is. Whoever changes
a registry is alone with it; a `snapshot` may be read meanwhile.
"""

from __future__ import annotations

import heapq
import weakref
from collections import deque
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError
from foreword.knowledge.claims import SPEAKER, claims
from foreword.knowledge.copying import copied
from foreword.knowledge.name_book import NameBook, Record
from foreword.text.words import fold
from foreword.types import EntityRelationship

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from foreword.knowledge.claims import Claims, Named
    from foreword.types import Entity, EntityType, Turn

    Finder = Callable[[str], Iterable[Named]]

_RISE: Mapping[EntityType, float] = {
    **dict.fromkeys(("person", "organisation"), 0.5),
    **dict.fromkeys(("place", "thing", "file", "ticket"), 0.4),
    **dict.fromkeys(("code", "email", "url"), 0.3),
    "version": 0.2,
    "date": 0.05,
}
"""How far towards 1 a mention lifts salience. Dates come and go; whom we talk about stays."""

_RISE_AGAIN, _RISE_SPEAKING = 0.2, 0.2
_SINGLE = frozenset({"works at", "reports to", "lives in", "married to"})
"""Of these there is one at a time: what is said later replaces what was said before."""

_LOCATED = "lives in"
_CLAIMED = 0.9
_TRAIL = 400
_FORMAT = 1
_ROLES = ("user", "assistant", "system", "tool")


@dataclass(frozen=True, slots=True)
class Seen:
    """One mention, in the order of the conversation: in which turn, and of whom."""

    turn: int
    entity_id: str


class EntityRegistry:
    """Keeps the entities of one conversation; `find` tells what a text names.

    A mention lifts an entity's salience towards 1; every turn after it leaves `decay` of that. Who falls
    below `floor` is not present any more, and comes back with the next mention.
    """

    def __init__(self, find: Finder, *, decay: float = 0.85, floor: float = 0.1) -> None:
        if not (0 < decay < 1 and 0 < floor < 1):
            raise ValidationError("decay and floor lie between 0 and 1; give such numbers")
        self._find = find
        self._decay = decay
        self._floor = floor
        self._book = NameBook()
        self._speakers: dict[str, str] = {}
        self._trail: deque[Seen] = deque(maxlen=_TRAIL)
        self._now = 0
        self._holders: weakref.WeakSet[EntityRegistry] = weakref.WeakSet((self,))

    def snapshot(self) -> EntityRegistry:
        """The registry as it stands: what either of the two hears later, the other does not know.

        Costs nothing until then; whoever changes while the other is still there leaves it what both had.
        """
        other = EntityRegistry(self._find, decay=self._decay, floor=self._floor)
        other._book, other._speakers, other._trail = self._book, self._speakers, self._trail
        other._now = self._now
        other._holders = self._holders
        self._holders.add(other)
        return other

    def _leave_the_others(self) -> None:
        """Before anything changes: what others still look at is left to them, and a copy is ours."""
        if len(self._holders) == 1:
            return
        book = NameBook()
        vars(book).update(copied(vars(self._book)))
        self._book, self._speakers, self._trail = book, dict(self._speakers), self._trail.copy()
        self._holders.discard(self)  # only now: who is alone changes what was shared
        self._holders = weakref.WeakSet((self,))

    # Turns in -------------------------------------------------------------------------------------------

    def observe(self, turn: Turn, index: int) -> tuple[Entity, ...]:
        """Whom a turn mentions, registered, each once; `index` counts turns from 0."""
        if index < 0:
            raise ValidationError(f"turns are counted from 0, not {index}")
        self._leave_the_others()
        self._now = max(self._now, index)
        text, speaker = turn.text, self._speaker(turn)
        found = sorted(self._find(text), key=lambda mention: mention.start)
        ids = {mention.start: self._met(mention).id for mention in found}
        known = list(self._book.standing(text, found))
        ids.update((mention.start, self._met(mention).id) for mention in known)
        mentions = sorted((*found, *known), key=lambda mention: mention.start)
        met = [ids[mention.start] for mention in mentions]
        self._trail.extend(Seen(self._now, one) for one in met)
        said = claims(text, mentions)
        for number in said.introduced:
            speaker = self._introduced(turn, speaker, met[number])
        self._believe(said, met, speaker.id if speaker else "")
        mentioned = {record.id: record.entity() for one in met if (record := self._book.get(one))}
        return tuple(mentioned.values())

    def _met(self, mention: Named) -> Record:
        gender = mention.attributes.get("gender", "")
        record = self._book.meant(mention.text, mention.entity_type, self._rank, gender)
        if record is None:
            record = self._book.add(mention.text, mention.entity_type, self._now)
        if record.kind == "thing":
            record.kind = mention.entity_type
        self._book.call(record, mention.text)
        if record.kind == "person":
            record.gender = gender or record.gender
            for address in self._book.addresses(record):
                self._book.merge(record, address)
        again = record.mentions > 0 and record.last == self._now
        self._lift(record, _RISE_AGAIN if again else _RISE[record.kind])
        record.mentions += 1
        return record

    def _lift(self, record: Record, rise: float) -> None:
        present = self._salience(record)
        record.strength = present + (1.0 - present) * rise
        record.last = self._now
        self._book.records[record.id] = self._book.records.pop(record.id)

    def _speaker(self, turn: Turn) -> Record | None:
        """Who speaks, as an entity; None when nobody has said their name."""
        if not turn.name or fold(turn.name) in _ROLES:
            known = self._speakers.get(turn.role)
            return self._book.get(known) if known else None
        record = self._book.meant(turn.name, "person", self._rank)
        record = record or self._book.add(turn.name, "person", self._now)
        record.kind = "person"
        self._book.call(record, turn.name)
        self._lift(record, _RISE_SPEAKING)
        self._speakers[turn.name] = record.id
        return record

    def _introduced(self, turn: Turn, speaker: Record | None, met: str) -> Record | None:
        """The speaker tells a name: it is theirs from now on, unless it was another's before."""
        named = self._book.get(met)
        if named is None or named.kind not in ("person", "thing"):
            return speaker
        if speaker is not None:
            if named is not speaker and named.mentions == 1:
                self._book.merge(speaker, named)
            return speaker
        named.kind = "person"
        self._speakers[turn.name or turn.role] = named.id
        return named

    def _believe(self, said: Claims, met: Sequence[str], speaker: str) -> None:
        """What was claimed is kept; what is said later replaces what was said before."""

        def who(number: int) -> Record | None:
            return self._book.get(speaker if number == SPEAKER else met[number])

        for number, name, value in said.attributes:
            record = who(number)
            if record is not None:
                record.attributes[name] = value
        for number, relation, other in said.relations:
            one, another = who(number), who(other)
            if one is not None and another is not None and one is not another:
                _relate(one, relation, another)

    # What readers ask -----------------------------------------------------------------------------------

    def get(self, entity_id: str) -> Entity | None:
        """The entity, if it is known; one that was merged is found under its old id, too."""
        record = self._book.get(entity_id)
        return record.entity() if record else None

    def get_high_salience_entities(self, limit: int) -> list[Entity]:
        """Those that are present, the most salient first, at most so many."""
        return [record.entity() for record in heapq.nsmallest(max(0, limit), self._present(), key=self._rank)]

    def get_salience(self, entity_id: str) -> float:
        """How present an entity is, 0 to 1; 0 when it is unknown."""
        record = self._book.get(entity_id)
        return self._salience(record) if record else 0.0

    def relationships(self, entity_id: str) -> tuple[EntityRelationship, ...]:
        """What it has to do with others, in the order it was said."""
        record = self._book.get(entity_id)
        told = (
            (relation, self._book.get(target)) for relation, target in (record.relations if record else ())
        )
        return tuple(
            EntityRelationship(relation, other.id, other.name, _CLAIMED) for relation, other in told if other
        )

    def active_count(self) -> int:
        """How many are still present."""
        return sum(1 for _ in self._present())

    def entities(self) -> list[Entity]:
        """All of them, the one mentioned longest ago first."""
        return [record.entity() for record in self._book.records.values()]

    def named(self, name: str) -> list[Entity]:
        """Those who are called so, the most salient first."""
        return [record.entity() for record in sorted(self._book.called(name), key=self._rank)]

    def recognise(self, text: str) -> list[tuple[str, int, Entity]]:
        """Known names in a text, and forms of them: the words, where they begin, and whom they mean."""
        found = sorted(self._find(text), key=lambda mention: mention.start)
        recognised = []
        for mention in (*found, *self._book.standing(text, found)):
            gender = mention.attributes.get("gender", "")
            record = self._book.meant(mention.text, mention.entity_type, self._rank, gender)
            if record is not None:
                recognised.append((mention.text, mention.start, record.entity()))
        return recognised

    def names(self) -> list[str]:
        """Every name that anybody has here, folded."""
        return self._book.names()

    def gender(self, entity_id: str) -> str:
        """`female` or `male` where a title or a given name tells; else empty."""
        record = self._book.get(entity_id)
        return record.gender if record else ""

    def speaker(self, name_or_role: str) -> Entity | None:
        """The entity of a speaker who has a name, or has said it."""
        return self.get(self._speakers.get(name_or_role, ""))

    def trail(self) -> tuple[Seen, ...]:
        """The latest mentions in the order they were made, oldest first."""
        found = ((seen.turn, self._book.get(seen.entity_id)) for seen in self._trail)
        return tuple(Seen(turn, record.id) for turn, record in found if record)

    def merge(self, kept_id: str, other_id: str) -> Entity:
        """Two entities are one: what is known of the other goes to the one that is kept."""
        self._leave_the_others()
        kept, other = self._book.get(kept_id), self._book.get(other_id)
        if kept is None or other is None:
            missing = kept_id if kept is None else other_id
            raise ValidationError(f"no entity has the id {missing!r}; take one from entities()")
        if kept is not other:
            self._book.merge(kept, other)
        return kept.entity()

    # On paper -------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All that is known, as plain JSON."""
        return {
            "format": _FORMAT,
            "now": self._now,
            "made": self._book.made,
            "records": [asdict(record) for record in self._book.records.values()],
            "merged": dict(self._book.merged),
            "speakers": dict(self._speakers),
            "trail": [[seen.turn, seen.entity_id] for seen in self._trail],
        }

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], find: Finder, *, decay: float = 0.85, floor: float = 0.1
    ) -> EntityRegistry:
        """The registry that `to_dict` wrote down."""
        registry = cls(find, decay=decay, floor=floor)
        try:
            if data["format"] != _FORMAT:
                raise ValidationError(f"entities of format {data['format']!r}; this Foreword reads {_FORMAT}")
            registry._now, registry._book.made = int(data["now"]), int(data["made"])
            registry._book.merged.update(data["merged"])
            registry._speakers.update(data["speakers"])
            registry._trail.extend(Seen(int(turn), str(one)) for turn, one in data["trail"])
            for told in data["records"]:
                registry._book.restore(_record(told))
        except (KeyError, TypeError, ValueError) as error:
            raise ValidationError(f"not what to_dict gives ({error!r}); hand over its whole answer") from None
        return registry

    # Salience -------------------------------------------------------------------------------------------

    def _present(self) -> Iterator[Record]:
        """Those above the floor; the walk ends where even full salience would have faded."""
        for record in reversed(self._book.records.values()):
            if self._decay ** (self._now - record.last) < self._floor:
                return
            if self._salience(record) >= self._floor:
                yield record

    def _salience(self, record: Record) -> float:
        return float(record.strength * self._decay ** (self._now - record.last))

    def _rank(self, record: Record) -> tuple[float, int, str]:
        return -self._salience(record), -record.last, record.id


def _relate(one: Record, relation: str, other: Record) -> None:
    """One relation more; of some there is only one at a time."""
    one.relations = [
        kept
        for kept in one.relations
        if kept[0] != relation or (relation not in _SINGLE and kept[1] != other.id)
    ]
    one.relations.append((relation, other.id))
    if relation == _LOCATED:
        one.attributes["location"] = other.name


def _record(told: Mapping[str, Any]) -> Record:
    return Record(
        **{**told, "relations": [(str(relation), str(target)) for relation, target in told["relations"]]}
    )
