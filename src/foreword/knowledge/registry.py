"""The entities of one conversation: who and what is talked about, under which names, and how salient it is.

Reads turns: what they mention and claim, and when. The caller passes in what finds names in a text. Salience
is computed when it is asked for, so the cost of a turn does not grow with the conversation. One caller at a
time may change a registry; a `snapshot` of it can be read meanwhile.
"""

from __future__ import annotations

import heapq
import weakref
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.errors import ValidationError
from foreword.knowledge.claims import SPEAKER, read_claims
from foreword.knowledge.name_book import EntityRecord, NameBook
from foreword.knowledge.value_corrections import StoredClaim, find_corrected_claim, read_corrections
from foreword.text.words import fold_case
from foreword.types import EntityRelationship

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from foreword.knowledge.claims import Claims, MentionLike
    from foreword.knowledge.value_corrections import Correction
    from foreword.types import Entity, EntityType, Turn

    Finder = Callable[[str], Iterable[MentionLike]]

_RISE: Mapping[EntityType, float] = {
    **dict.fromkeys(("person", "organisation"), 0.5),
    **dict.fromkeys(("place", "thing", "file", "ticket"), 0.4),
    **dict.fromkeys(("code", "email", "url"), 0.3),
    "version": 0.2,
    "date": 0.05,
}
"""The share of what it lacks to 1 by which a mention raises salience: dates come and go, people stay."""

_RISE_AGAIN, _RISE_SPEAKING = 0.2, 0.2
_ONE_AT_A_TIME = frozenset({"works at", "reports to", "lives in", "married to"})
"""Relations that an entity has to one other at a time: a later one replaces the earlier one."""

_CLAIM_CONFIDENCE = 0.9
_MAX_TRAIL, _MAX_CLAIMS = 400, 40
_ROLES = ("user", "assistant", "system", "tool")


@dataclass(frozen=True, slots=True)
class SeenMention:
    """One mention, in the order of the conversation: in which turn, and of whom."""

    turn: int
    entity_id: str


class EntityRegistry:
    """The entities of one conversation; `find` gives the names in a text.

    A mention raises an entity's salience towards 1; every later turn leaves `decay` of it. An entity below
    `floor` is not active any more, and becomes active again with its next mention.
    """

    def __init__(self, find: Finder, *, decay: float = 0.85, floor: float = 0.1) -> None:
        if not (0 < decay < 1 and 0 < floor < 1):
            raise ValidationError("decay and floor lie between 0 and 1; give such numbers")
        self._find = find
        self._decay = decay
        self._floor = floor
        self._book = NameBook()
        self._speakers: dict[str, str] = {}
        self._trail: deque[SeenMention] = deque(maxlen=_MAX_TRAIL)
        self._claims: deque[StoredClaim] = deque(maxlen=_MAX_CLAIMS)
        self._spoke_in: dict[str, int] = {}
        self._asked_in: dict[str, int] = {}
        self._now = 0
        self._sharers: weakref.WeakSet[EntityRegistry] = weakref.WeakSet((self,))

    def snapshot(self) -> EntityRegistry:
        """A copy of the registry as it is now; turns that one of the two observes do not reach the other.

        Both share one book until one of them changes while the other still exists; then that one copies it.
        """
        other = EntityRegistry(self._find, decay=self._decay, floor=self._floor)
        other._book, other._speakers, other._trail = self._book, self._speakers, self._trail
        other._claims, other._now = self._claims, self._now
        other._spoke_in, other._asked_in = self._spoke_in, self._asked_in
        other._sharers = self._sharers
        self._sharers.add(other)
        return other

    def _copy_book_if_shared(self) -> None:
        """Copy the book before a change, if a snapshot still shares it."""
        if len(self._sharers) == 1:
            return
        self._book, self._speakers = self._book.copy(), dict(self._speakers)
        self._trail, self._claims = self._trail.copy(), self._claims.copy()
        self._spoke_in, self._asked_in = dict(self._spoke_in), dict(self._asked_in)
        self._sharers.discard(self)  # last, because the only sharer left may change the book
        self._sharers = weakref.WeakSet((self,))

    # Turns in

    def register_mentioned_entities(
        self, turn: Turn, index: int, mentions: Iterable[MentionLike] | None = None
    ) -> tuple[Entity, ...]:
        """Register the entities that a turn mentions and return each once; `index` counts turns from 0.

        `mentions` are those in its text where they are known already; without them they are found.
        """
        if index < 0:
            raise ValidationError(f"turns are counted from 0, not {index}")
        self._copy_book_if_shared()
        self._now = max(self._now, index)
        text, speaker = turn.text, self._register_speaker(turn)
        found = sorted(self._find(text) if mentions is None else mentions, key=lambda one: one.start)
        ids = {mention.start: self._register_mention(mention).id for mention in found}
        known = list(self._book.find_known_names(text, found))
        ids.update((mention.start, self._register_mention(mention).id) for mention in known)
        mentions = sorted((*found, *known), key=lambda mention: mention.start)
        mentioned = [ids[mention.start] for mention in mentions]
        claims = read_claims(text, mentions)
        if speaker is None and claims.own_names:
            speaker = self._link_speaker_to_entity(turn, mentioned[claims.own_names[0]])
        self._store_claims(claims, mentioned, speaker, turn.user or turn.speaker)
        for correction in read_corrections(text, mentions):
            self._correct_claim(correction, mentions, mentioned, turn.user or turn.speaker)
        self._trail.extend(SeenMention(self._now, one) for one in mentioned)
        self._spoke_in[turn.user or turn.speaker] = self._now
        if "?" in text:
            self._asked_in[turn.user or turn.speaker] = self._now
        return tuple(self._book.records[one].to_entity() for one in dict.fromkeys(mentioned))

    def _register_mention(self, mention: MentionLike) -> EntityRecord:
        """The entity that a mention means, created if it is new, with this mention counted."""
        gender = mention.attributes.get("gender", "")
        record = self._book.find_best_match(
            mention.text, mention.entity_type, self._salience_sort_key, gender
        )
        if record is None:
            record = self._book.add(mention.text, mention.entity_type, self._now)
        if record.kind == "thing":
            record.kind = mention.entity_type
        self._book.add_name(record, mention.text)
        if record.kind == "person":
            record.gender = gender or record.gender
        again = record.mentions > 0 and record.last == self._now
        self._raise_salience(record, _RISE_AGAIN if again else _RISE[record.kind])
        record.mentions += 1
        return record

    def _raise_salience(self, record: EntityRecord, rise: float) -> None:
        """Raise salience by this share of what it lacks to 1, and make the entity the last mentioned."""
        salience = self._current_salience(record)
        record.strength = salience + (1.0 - salience) * rise
        record.last = self._now
        self._book.records[record.id] = self._book.records.pop(record.id)

    def _register_speaker(self, turn: Turn) -> EntityRecord | None:
        """Add the speaker of a turn, if the name is new, and return the entity; None if there is no name."""
        if not turn.name or fold_case(turn.name) in _ROLES:
            return self._book.records.get(self._speakers.get(turn.user or turn.role, ""))
        record = self._book.find_best_match(turn.name, "person", self._salience_sort_key)
        record = record or self._book.add(turn.name, "person", self._now)
        record.kind = "person"
        self._book.add_name(record, turn.name)
        self._raise_salience(record, _RISE_SPEAKING)
        self._speakers[turn.name] = record.id
        return record

    def _link_speaker_to_entity(self, turn: Turn, entity_id: str) -> EntityRecord | None:
        """Make an entity the speaker's own, after they gave their name; None if it can be no person."""
        record = self._book.records[entity_id]
        if record.kind not in ("person", "thing"):
            return None
        record.kind = "person"
        self._speakers[turn.name or turn.user or turn.role] = record.id
        return record

    def _store_claims(
        self, claims: Claims, mentioned: Sequence[str], speaker: EntityRecord | None, claimant: str
    ) -> None:
        """Store the claims of a turn in the records; a later claim replaces an earlier one."""

        def record_of_mention(number: int) -> EntityRecord | None:
            return speaker if number == SPEAKER else self._book.records[mentioned[number]]

        for number, name, value in claims.attributes:
            record = record_of_mention(number)
            if record is not None:
                record.set_attribute(name, value, self._now)
                self._claims.append(StoredClaim(claimant, self._now, record.id, name, value))
        for number, relation, target in claims.relations:
            one, other = record_of_mention(number), record_of_mention(target)
            if one is not None and other is not None and one is not other:
                _add_relation(one, relation, other, self._now)
                claim = StoredClaim(claimant, self._now, one.id, relation, other.name, other.id)
                self._claims.append(claim)

    def _correct_claim(
        self,
        correction: Correction,
        mentions: Sequence[MentionLike],
        mentioned: Sequence[str],
        claimant: str,
    ) -> None:
        """Replace the value of the claim that a correction is about."""
        before = sum(mention.start < correction.start for mention in mentions)
        named = [*(seen.entity_id for seen in self._trail), *mentioned[:before]]
        claim = find_corrected_claim(
            correction,
            self._claims,
            claimant,
            since=self._spoke_in.get(claimant, -1),
            asked_in=max((at for who, at in self._asked_in.items() if who != claimant), default=-1),
            last_named={self._book.records[one].kind: one for one in named}.values(),
        )
        if claim is None:
            return
        record = self._book.records[claim.entity_id]
        target = "" if correction.mention is None else mentioned[correction.mention]
        if claim.target and target and target != record.id:
            record.relations = [kept for kept in record.relations if kept[:2] != (claim.name, claim.target)]
            _add_relation(record, claim.name, self._book.records[target], self._now)
        elif not claim.target:
            record.set_attribute(claim.name, correction.value, self._now)
        new_target = target if claim.target else ""
        self._claims.append(replace(claim, turn=self._now, value=correction.value, target=new_target))

    # Queries

    def get(self, entity_id: str) -> Entity | None:
        """The entity, if it is known."""
        record = self._book.records.get(entity_id)
        return record.to_entity() if record else None

    def get_high_salience_entities(self, limit: int) -> list[Entity]:
        """The active entities, the most salient first, at most `limit`."""
        active = self._iterate_salient_records()
        best = heapq.nsmallest(max(0, limit), active, key=self._salience_sort_key)
        return [record.to_entity() for record in best]

    def get_salience(self, entity_id: str) -> float:
        """How present an entity is, 0 to 1; 0 when it is unknown."""
        record = self._book.records.get(entity_id)
        return self._current_salience(record) if record else 0.0

    def relationships(self, entity_id: str) -> tuple[EntityRelationship, ...]:
        """The relations of an entity to others, in the order in which they were stated."""
        record = self._book.records.get(entity_id)
        return tuple(
            EntityRelationship(relation, target, self._book.records[target].name, _CLAIM_CONFIDENCE, turn)
            for relation, target, turn in (record.relations if record else ())
        )

    def active_count(self) -> int:
        """How many entities are active."""
        return sum(1 for _ in self._iterate_salient_records())

    def entities(self) -> list[Entity]:
        """All entities, the one mentioned longest ago first."""
        return [record.to_entity() for record in self._book.records.values()]

    def find_by_name(self, name: str) -> list[Entity]:
        """The entities that have this name, the most salient first."""
        return [
            record.to_entity()
            for record in sorted(self._book.find_by_name(name), key=self._salience_sort_key)
        ]

    def recognise(self, text: str) -> list[tuple[str, int, Entity]]:
        """The known names and forms of names in a text: the words, where they begin, and the entity."""
        found = sorted(self._find(text), key=lambda mention: mention.start)
        recognised = []
        for mention in (*found, *self._book.find_known_names(text, found)):
            gender = mention.attributes.get("gender", "")
            record = self._book.find_best_match(
                mention.text, mention.entity_type, self._salience_sort_key, gender
            )
            if record is not None:
                recognised.append((mention.text, mention.start, record.to_entity()))
        return recognised

    def spellings(self) -> dict[str, str]:
        """Every name, and every word of a person's name, folded, with the id of the latest who has it."""
        return {
            fold_case(spelling): record.id
            for record in self._book.records.values()
            for name in record.names
            for spelling in ((*name.split(), name) if record.kind == "person" else (name,))
        }

    def gender(self, entity_id: str) -> str:
        """`female` or `male` if a title or a given name tells it; else empty."""
        record = self._book.records.get(entity_id)
        return record.gender if record else ""

    def speaker(self, name: str) -> Entity | None:
        """The entity of a speaker, by name, user or role, who has a name or has said it."""
        return self.get(self._speakers.get(name, ""))

    def latest_mentions(self) -> tuple[SeenMention, ...]:
        """The latest mentions in the order they were made, oldest first."""
        return tuple(self._trail)

    # Salience

    def _iterate_salient_records(self) -> Iterator[EntityRecord]:
        """The records above the floor, latest first; it stops where even full salience would have faded."""
        for record in reversed(self._book.records.values()):
            if self._decay ** (self._now - record.last) < self._floor:
                return
            if self._current_salience(record) >= self._floor:
                yield record

    def _current_salience(self, record: EntityRecord) -> float:
        """The salience of an entity now: what it was at the last mention, faded since."""
        return float(record.strength * self._decay ** (self._now - record.last))

    def _salience_sort_key(self, record: EntityRecord) -> tuple[float, int, str]:
        """A sort key that puts the more salient first, then the later mentioned."""
        return -self._current_salience(record), -record.last, record.id


def _add_relation(record: EntityRecord, relation: str, target: EntityRecord, turn: int) -> None:
    """Add a relation to a record; of some relations it has only one at a time."""
    record.relations = [
        kept
        for kept in record.relations
        if kept[0] != relation or (relation not in _ONE_AT_A_TIME and kept[1] != target.id)
    ]
    record.relations.append((relation, target.id, turn))
    if relation == "lives in":
        record.set_attribute("location", target.name, turn)
