"""Whom does a question mean? Names, short names and slips, pronouns, "the second one", "the CTO".

Decides by what the registry knows: kinds, genders of given names, titles, and what was mentioned when. Every
answer has a confidence, and where nothing fits there is none: silence beats a guess.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.knowledge.aliases import may_name_somebody
from foreword.knowledge.referring import references
from foreword.text.words import STOPWORDS, fold
from foreword.types import ResolvedEntity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from foreword.knowledge.referring import Reference
    from foreword.knowledge.registry import EntityRegistry
    from foreword.types import DialogueState, Entity, EntityRelationship, EntityType

    Choice = tuple[Entity, float]

EXACT, AKIN, SLIP = 0.95, 0.85, 0.65
"""How sure a name makes: as it is known, as a form of it, with a typing error."""

_ALONE, _AMONG = 0.8, 0.55
"""How sure a description makes when one fits, and when it is the nearest of several."""

_JOINT = 0.7
_GENDERED = {"he": "male", "she": "female"}
_NOUN_GENDERS = {
    "man": "male",
    "guy": "male",
    "boy": "male",
    "woman": "female",
    "girl": "female",
    "lady": "female",
}
_KIN_FORMS = {"mom": "mother", "mum": "mother", "dad": "father", "kitten": "cat", "puppy": "dog"}
_PLAIN_LETTERS = str.maketrans("łøđıðæœ", "lodidao")
"""Letters that folding keeps, as they are typed by those who lack them."""

_READ = 4_000
"""How many characters of a question are read; a longer one is mostly something else."""

_NEAR_TURNS = 6
_PLURAL_TURNS = 3
_LEAST_SLIP, _LEAST_TWO_SLIPS = 5, 8
_NEVER_IT: tuple[EntityType, ...] = ("person", "date", "email", "place")
_UNLISTED: tuple[EntityType, ...] = ("date", "version", "email")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")


class EntityResolver:
    """Resolves the words of a question to the entities of a conversation."""

    def __init__(self, registry: EntityRegistry) -> None:
        self._registry = registry
        self._ways: dict[str, Callable[[Reference, Sequence[Entity]], list[Choice]]] = {
            "he": self._person,
            "she": self._person,
            "they": self._several,
            "it": self._object,
            "there": self._place,
            "ordinal": self._ordinal,
            "role": self._role,
            "kind": self._of_kind,
        }

    def resolve(self, query: str, dialogue_state: DialogueState) -> list[ResolvedEntity]:
        """Whom and what a question means, in the order of its words; nothing for what nothing fits."""
        query = query[:_READ]
        found = self._names(query)
        for reference in references(query):
            if any(reference.start < one.end and one.start < reference.end for one in found):
                continue
            before = [self._registry.get(one.entity_id) for one in found if one.end <= reference.start]
            named = [entity for entity in before if entity is not None]
            if reference.way == "me":
                chosen = self._speaker(dialogue_state)
            elif reference.way == "kin":
                chosen = self._kin(reference, dialogue_state)
            else:
                chosen = self._ways[reference.way](reference, named)
            found += [_resolved(entity, sure, reference.text, reference.start) for entity, sure in chosen]
        return sorted(found, key=lambda one: (one.start, one.end))

    # Names ----------------------------------------------------------------------------------------------

    def _names(self, query: str) -> list[ResolvedEntity]:
        found = [
            one for recognised in self._registry.recognise(query) for one in self._recognised(*recognised)
        ]
        covered = bytearray(len(query))
        for one in found:
            covered[one.start : one.end] = b"1" * len(one.mention)
        for match in _WORD.finditer(query):
            if not any(covered[match.start() : match.end()]):
                word = match.group().removesuffix("'s").removesuffix("’s")
                entity = self._slip(word, shouted=not query.islower())
                if entity is not None:
                    found.append(_resolved(entity, SLIP, word, match.start()))
        return found

    def _recognised(self, text: str, start: int, entity: Entity) -> list[ResolvedEntity]:
        """The one who is meant by a name; all who are called so, where they were last named together."""
        word = fold(text)
        if entity.entity_type == "person" and word != fold(entity.canonical_name):
            people = [one for one in self._recent(("person",)) if word in fold(one.canonical_name).split()]
            if len(people) > 1:
                together = [one for one in people if one.last_mention == entity.last_mention]
                return [_resolved(one, _AMONG, text, start) for one in together or [entity]]
        return [_resolved(entity, EXACT if word in _names_of(entity) else AKIN, text, start)]

    def _slip(self, word: str, *, shouted: bool) -> Entity | None:
        """The one entity whose name is nearly this word; a word without a capital must lack it everywhere."""
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        folded = fold(word)
        if len(folded) < _LEAST_SLIP or folded in STOPWORDS or (shouted and word.islower()):
            return None
        most = 2 if len(folded) >= _LEAST_TWO_SLIPS else 1
        near = process.extract(
            folded, self._registry.names(), scorer=OSA.distance, score_cutoff=most, limit=2
        )
        if not near or (len(near) > 1 and near[0][1] == near[1][1]):
            return None
        name = near[0][0]
        if name[:1].translate(_PLAIN_LETTERS) != folded[0].translate(_PLAIN_LETTERS):
            return None
        called = self._registry.named(name)
        return called[0] if called else self._by_part(name)

    def _by_part(self, name: str) -> Entity | None:
        """The latest person with such a word in their name."""
        people = (one for one in reversed(self._registry.entities()) if one.entity_type == "person")
        return next((one for one in people if name in fold(one.canonical_name).split()), None)

    # Pronouns -------------------------------------------------------------------------------------------

    def _speaker(self, state: DialogueState) -> list[Choice]:
        """The user, when there is one of them and the name is known."""
        names = {turn.name for turn in state.turns if turn.role == "user"}
        known = self._registry.speaker(names.pop() or "user") if len(names) == 1 else None
        return [(known, _ALONE)] if known else []

    def _person(self, reference: Reference, named: Sequence[Entity]) -> list[Choice]:
        wanted = _GENDERED[reference.way]
        return self._nearest_person(wanted, [one for one in named if one.entity_type == "person"])

    def _nearest_person(self, wanted: str, named: Sequence[Entity]) -> list[Choice]:
        """The nearest whose given name says so; else the nearest of whom nothing is known."""
        inside = [one for one in named if self._registry.gender(one.id) in (wanted, "")]
        if inside:
            return [(inside[-1], _ALONE)]
        people = self._recent(("person",))
        for gender, sure in ((wanted, _ALONE), ("", _AMONG)):
            fitting = [one for one in people if self._registry.gender(one.id) == gender]
            if fitting:
                return [(fitting[0], sure if len(fitting) == 1 else _AMONG)]
        unlisted = [one for one in self._recent(("thing",)) if may_name_somebody(one.canonical_name)]
        return [(unlisted[0], _AMONG)] if len(unlisted) == 1 else []

    def _several(self, _: Reference, named: Sequence[Entity]) -> list[Choice]:
        """Those who were named together last; else the nearest organisation; else one person."""
        people = [one for one in named if one.entity_type == "person"]
        firms = self._recent(("organisation",), _PLURAL_TURNS)
        for group in [people, *self._groups(("person",), _PLURAL_TURNS)]:
            if len(group) > 1:
                return [(one, _JOINT) for one in group]
        if firms:
            return [(firms[0], _ALONE if len(firms) == 1 else _AMONG)]
        alone = people or self._recent(("person",), _PLURAL_TURNS)
        return [(alone[0], _AMONG)] if len(alone) == 1 else []

    def _object(self, _: Reference, named: Sequence[Entity]) -> list[Choice]:
        inside = [one for one in named if one.entity_type not in _NEVER_IT]
        if inside:
            return [(inside[-1], _JOINT)]
        return _nearest([one for one in self._recent((), _PLURAL_TURNS) if one.entity_type not in _NEVER_IT])

    def _place(self, _: Reference, named: Sequence[Entity]) -> list[Choice]:
        inside = [one for one in named if one.entity_type == "place"]
        return _nearest(inside[::-1] or self._recent(("place",)))

    # Descriptions ---------------------------------------------------------------------------------------

    def _ordinal(self, reference: Reference, named: Sequence[Entity]) -> list[Choice]:
        """One of those that were named together last, by its place among them."""
        del named
        needed = reference.place + 1 if reference.place >= 0 else 2
        for group in self._groups(reference.kinds, _NEAR_TURNS):
            if len(group) >= max(2, needed):
                return [(group[reference.place], _ALONE)]
        only = self._recent(reference.kinds) if reference.kinds and reference.place == -1 else []
        return _nearest(only)

    def _role(self, reference: Reference, named: Sequence[Entity]) -> list[Choice]:
        del named
        fitting = [
            one
            for one in reversed(self._registry.entities())
            if one.entity_type == "person" and fold(one.attributes.get("title", "")) == fold(reference.noun)
        ]
        return _nearest(fitting)

    def _kin(self, reference: Reference, state: DialogueState) -> list[Choice]:
        """Whom somebody called so; theirs who asks, where that is told, and nobody's where it is not."""
        noun = _kin_form(reference.noun)
        owners = {
            one.id: {told.target_id for told in self._registry.relationships(one.id) if _is_kin(told, noun)}
            for one in self._registry.entities()
            if _kin_form(one.attributes.get("relation", "")) == noun
        }
        asking = {entity.id for entity, _ in self._speaker(state)}
        theirs = [one for one, whose in owners.items() if whose & asking]
        if not theirs and len(set().union(*owners.values())) > 1:
            return []
        found = (self._registry.get(one) for one in reversed(theirs or list(owners)))
        return _nearest(one for one in found if one is not None)

    def _of_kind(self, reference: Reference, named: Sequence[Entity]) -> list[Choice]:
        """The nearest of a kind, first one whose name has the noun in it; of several mere things, none."""
        del named
        if reference.noun in _NOUN_GENDERS:
            return self._nearest_person(_NOUN_GENDERS[reference.noun], ())
        recent = self._recent(reference.kinds)
        said = [one for one in recent if reference.noun in fold(one.canonical_name)]
        fitting = said or [one for one in recent if one.entity_type == reference.kinds[0]] or recent
        vague = "thing" in reference.kinds and not said and len(fitting) > 1
        return [] if vague else _nearest(fitting)

    # What was mentioned ---------------------------------------------------------------------------------

    def _recent(self, kinds: Sequence[EntityType], turns: int = _NEAR_TURNS) -> list[Entity]:
        """What the last turns mention, the latest first, each once; with `kinds`, only of these."""
        trail = self._registry.trail()
        latest = trail[-1].turn if trail else 0
        ids = dict.fromkeys(seen.entity_id for seen in reversed(trail) if latest - seen.turn < turns)
        found = [entity for one in ids if (entity := self._registry.get(one)) is not None]
        return [entity for entity in found if not kinds or entity.entity_type in kinds]

    def _groups(self, kinds: Sequence[EntityType], turns: int) -> list[list[Entity]]:
        """Entities of one kind that a turn names together, in order; the latest turn first."""
        groups: dict[tuple[int, str], dict[str, Entity]] = {}
        recent = {entity.id: entity for entity in self._recent(kinds, turns)}
        for seen in self._registry.trail():
            entity = recent.get(seen.entity_id)
            if entity is not None and entity.entity_type not in _UNLISTED:
                groups.setdefault((-seen.turn, entity.entity_type), {})[entity.id] = entity
        ordered = sorted(groups.items(), key=lambda item: (item[0][0], -len(item[1])))
        return [list(group.values()) for _, group in ordered]


def _nearest(fitting: Iterable[Entity]) -> list[Choice]:
    """The first, surer when it is the only one; nothing when there is none."""
    found = list(fitting)
    return [(found[0], _ALONE if len(found) == 1 else _AMONG)] if found else []


def _kin_form(noun: str) -> str:
    folded = fold(noun)
    return _KIN_FORMS.get(folded, folded)


def _is_kin(told: EntityRelationship, noun: str) -> bool:
    return _kin_form(told.relation.removesuffix(" of")) == noun


def _names_of(entity: Entity) -> set[str]:
    return {fold(name) for name in (entity.canonical_name, *entity.aliases)}


def _resolved(entity: Entity, sure: float, text: str, start: int) -> ResolvedEntity:
    return ResolvedEntity(entity.id, entity.canonical_name, sure, text, start, start + len(text))
