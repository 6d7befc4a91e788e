"""Finds whom and what a question means: names, even mistyped, pronouns, "the second one", "the CTO".

Decides by what the registry knows: kinds, genders of given names, titles, and what was mentioned when. Every
answer has a confidence; where nothing fits there is no answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from foreword.knowledge.claims import KIN, ROLE
from foreword.knowledge.name_book import looks_like_full_name
from foreword.text.words import STOPWORDS, fold_case
from foreword.types import ResolvedEntity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from foreword.knowledge.registry import EntityRegistry
    from foreword.types import DialogueState, Entity, EntityType

    Choice = tuple[Entity, float]

Way = Literal["he", "she", "they", "it", "there", "me", "ordinal", "role", "kind"]

EXACT, FORM, TYPING_ERROR = 0.95, 0.85, 0.65
"""Confidence in a name: as it is known, as a form of it, with a typing error."""

_ONLY_ONE, _NEAREST, _TOGETHER = 0.8, 0.55, 0.7
"""Confidence in a description: one fits, it is the nearest of several, all of a group are meant."""

_MAX_CHARACTERS_READ = 4_000
_MAX_REFERENCES = 100
_RECENT_TURNS = 6
_LATEST_TURNS = 3
_MIN_LETTERS_ONE_ERROR, _MIN_LETTERS_TWO_ERRORS = 5, 8
_NEVER_IT: tuple[EntityType, ...] = ("person", "date", "email", "place")
_NEVER_LISTED: tuple[EntityType, ...] = ("date", "version", "email")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_NUMBER = re.compile(r"\d+")
_TYPED_WITHOUT = str.maketrans("łøđıðæœ", "lodidao")
"""Letters that folding keeps, and what people type whose keyboards lack them."""

_PRONOUNS: dict[str, Way] = {
    **dict.fromkeys(("he", "him", "his", "himself"), "he"),
    **dict.fromkeys(("she", "her", "hers", "herself"), "she"),
    **dict.fromkeys(("they", "them", "their", "theirs", "themselves"), "they"),
    **dict.fromkeys(("it", "its", "itself"), "it"),
    **dict.fromkeys(("i", "me", "my", "mine", "myself"), "me"),
    "there": "there",
}
_GENDERS = {
    **dict.fromkeys(("he", "man", "guy", "boy"), "male"),
    **dict.fromkeys(("she", "woman", "girl", "lady"), "female"),
}
_FIRM: tuple[EntityType, ...] = ("organisation", "thing")
_TOOL: tuple[EntityType, ...] = ("thing", "code")
_KINDS: dict[str, tuple[EntityType, ...]] = {
    **dict.fromkeys(("file", "script", "document", "module"), ("file",)),
    **dict.fromkeys(("ticket", "issue", "bug", "pr", "vulnerability"), ("ticket",)),
    **dict.fromkeys(("link", "url", "page", "site", "website"), ("url",)),
    **dict.fromkeys(("version", "release"), ("version",)),
    **dict.fromkeys(("function", "method", "class", "variable", "constant", "option", "commit"), ("code",)),
    **dict.fromkeys(("company", "firm", "organisation", "organization", "startup", "vendor"), _FIRM),
    **dict.fromkeys(("university", "school", "bank", "college", "hospital", "agency", "institute"), _FIRM),
    **dict.fromkeys(("city", "country", "place", "town", "island"), ("place",)),
    **dict.fromkeys(("person", "man", "woman", "guy", "girl", "lady", "boy"), ("person",)),
    **dict.fromkeys(("email", "e-mail", "address"), ("email",)),
    **dict.fromkeys(("tool", "library", "framework", "database", "service", "product", "language"), _TOOL),
    **dict.fromkeys(("project", "package"), ("thing",)),
}
_PLACES_IN_LIST = {
    **dict.fromkeys(("first", "1st", "former"), 0),
    **dict.fromkeys(("second", "2nd"), 1),
    **dict.fromkeys(("third", "3rd"), 2),
    **dict.fromkeys(("fourth", "4th"), 3),
    **dict.fromkeys(("fifth", "5th"), 4),
    **dict.fromkeys(("last", "latter", "final"), -1),
}
_ANY_KIND = ("one", "option", "choice", "candidate", "item", "thing", "alternative", "suggestion")
_SAME_KIN = {"mom": "mother", "mum": "mother", "dad": "father", "kitten": "cat", "puppy": "dog"}
_NOUN = "|".join(sorted({*_KINDS, *_ANY_KIND}, key=len, reverse=True))

_ORDINAL = re.compile(
    rf"\bthe\s+(?P<order>{'|'.join(_PLACES_IN_LIST)})"
    rf"(?:\s+(?P<noun>{_NOUN})\b|(?<=former)\b|(?<=latter)\b|(?=\s*(?:[.,;:?!)]|$|or\b|and\b)))",
    re.IGNORECASE,
)
_KIND = re.compile(rf"\b(?:the|that|this)\s+(?P<noun>{_NOUN})\b(?!\s+of\b)", re.IGNORECASE)
_ROLE = re.compile(
    rf"""\b(?:the|our|my|your|that|this)\s+(?P<noun>{ROLE})
      | \b(?:my|our)\s+(?:[a-z]{{3,10}}\s+)?(?P<kin>{KIN})\b(?!,?\s+(?-i:[A-Z]))""",
    re.IGNORECASE | re.VERBOSE,
)
_PRONOUN = re.compile(rf"(?<![\w'’])(?:{'|'.join(_PRONOUNS)})(?![\w])(?!['’](?!s))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reference:
    """A part of a question that refers to something said before, with what its words say about it."""

    way: Way
    text: str
    start: int
    end: int
    noun: str = ""
    place: int = 0
    """The place in a list, from 0; negative from its end."""

    @property
    def kinds(self) -> tuple[EntityType, ...]:
        """The kinds that its noun allows; empty for any."""
        return () if self.noun in _ANY_KIND else _KINDS.get(self.noun, ())


def find_references(query: str) -> list[Reference]:
    """The references in a question, in order, none inside another."""
    found: list[Reference] = []
    for one in _iterate_possible_references(query):
        if len(found) < _MAX_REFERENCES and not any(_spans_overlap(one, other) for other in found):
            found.append(one)
    return sorted(found, key=lambda reference: reference.start)


def _iterate_possible_references(query: str) -> Iterator[Reference]:
    """Possible references, the most specific forms first; they may overlap."""
    for match in _ORDINAL.finditer(query):
        place = _PLACES_IN_LIST[match["order"].lower()]
        yield Reference("ordinal", match.group(), *match.span(), (match["noun"] or "").lower(), place)
    for match in _ROLE.finditer(query):
        yield Reference("role", match.group(), *match.span(), (match["noun"] or match["kin"]).lower())
    for match in _KIND.finditer(query):
        if match["noun"].lower() in _KINDS:
            yield Reference("kind", match.group(), *match.span(), match["noun"].lower())
    for match in _PRONOUN.finditer(query):
        yield Reference(_PRONOUNS[match.group().lower()], match.group(), *match.span())


class EntityResolver:
    """Resolves the words of a question to the entities of a conversation."""

    def __init__(self, registry: EntityRegistry) -> None:
        self._registry = registry
        self._asker: Entity | None = None

    def resolve(self, query: str, dialogue_state: DialogueState, asker: str = "") -> list[ResolvedEntity]:
        """The entities that a question means, in the order of its words; what nothing fits is left out.

        `asker` is the user or the name of the one who asks; if that is not known, the only user of the
        conversation asks. "She" and "they" never mean the asker.
        """
        query = query[:_MAX_CHARACTERS_READ]
        self._asker = self._find_asker(dialogue_state, asker)
        found = self._resolve_names(query)
        for reference in find_references(query):
            if any(_spans_overlap(reference, one) for one in found):
                continue
            before = (self._registry.get(one.entity_id) for one in found if one.end <= reference.start)
            chosen = self._resolve_reference(reference, [*filter(None, before)])
            found += [
                _build_resolved_entity(entity, sure, reference.text, reference.start)
                for entity, sure in chosen
            ]
        return sorted(found, key=lambda one: (one.start, one.end))

    def _resolve_reference(self, reference: Reference, named_before: Sequence[Entity]) -> list[Choice]:
        """The entities that a reference means; `named_before` are those that the question names before it."""
        way = reference.way
        people = [one for one in named_before if one.entity_type == "person" and self._is_not_asker(one)]
        if way == "me":
            return [(self._asker, _ONLY_ONE)] if self._asker else []
        if way in _GENDERS:
            return self._resolve_person_by_gender(_GENDERS[way], people)
        if way == "they":
            return self._resolve_plural_pronoun(people)
        if way == "it":
            return self._resolve_it_pronoun([one for one in named_before if one.entity_type not in _NEVER_IT])
        if way == "there":
            places = [one for one in reversed(named_before) if one.entity_type == "place"]
            return _choose_first_as_nearest(places or self._recently_mentioned(("place",)))
        if way == "ordinal":
            return self._resolve_ordinal(reference)
        if way == "role":
            return self._resolve_role_or_kin(reference.noun)
        return self._resolve_kind_noun(reference)

    # Names

    def _resolve_names(self, query: str) -> list[ResolvedEntity]:
        """The entities that a question calls by their names, even if these are mistyped."""
        found = []
        for text, start, entity in self._registry.recognise(query):
            known = fold_case(text) in {fold_case(name) for name in (entity.canonical_name, *entity.aliases)}
            found.append(_build_resolved_entity(entity, EXACT if known else FORM, text, start))
        covered = bytearray(len(query))
        for one in found:
            covered[one.start : one.end] = b"1" * len(one.mention)
        spellings = self._registry.spellings()
        for match in _WORD.finditer(query):
            if any(covered[match.start() : match.end()]):
                continue
            word = match.group().removesuffix("'s").removesuffix("’s")
            if word.islower() and not query.islower():
                continue  # a name without its capital, beside words that have theirs
            meant = self._find_mistyped_name(fold_case(word), spellings)
            if meant is not None:
                found.append(_build_resolved_entity(meant, TYPING_ERROR, word, match.start()))
        return found

    def _find_mistyped_name(self, word: str, spellings: dict[str, str]) -> Entity | None:
        """The one entity whose name is nearly this folded word."""
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        if len(word) < _MIN_LETTERS_ONE_ERROR or word in STOPWORDS:
            return None
        most = 2 if len(word) >= _MIN_LETTERS_TWO_ERRORS else 1
        near = process.extract(word, list(spellings), scorer=OSA.distance, score_cutoff=most, limit=2)
        if not near or (len(near) > 1 and near[0][1] == near[1][1]):
            return None
        name = near[0][0]
        same_start = name[:1].translate(_TYPED_WITHOUT) == word[0].translate(_TYPED_WITHOUT)
        same_number = _NUMBER.findall(name) == _NUMBER.findall(word)
        return self._registry.get(spellings[name]) if same_start and same_number else None

    # Pronouns

    def _find_asker(self, state: DialogueState, asker: str) -> Entity | None:
        """The one who asks, if the name is known: who is named, else the only user that there is."""
        if asker and (known := self._registry.speaker(asker)) is not None:
            return known
        names = {turn.name or turn.user for turn in state.turns if turn.role == "user"}
        return self._registry.speaker(names.pop() or "user") if len(names) == 1 else None

    def _is_not_asker(self, entity: Entity) -> bool:
        """Whether an entity is not the one who asks."""
        return self._asker is None or entity.id != self._asker.id

    def _resolve_person_by_gender(self, gender: str, named_before: Sequence[Entity]) -> list[Choice]:
        """The nearest person whose given name has this gender; else the nearest of unknown gender."""
        inside = [one for one in named_before if self._registry.gender(one.id) in (gender, "")]
        if inside:
            return [(inside[-1], _ONLY_ONE)]
        people = [one for one in self._recently_mentioned(("person",)) if self._is_not_asker(one)]
        for wanted, confidence in ((gender, _ONLY_ONE), ("", _NEAREST)):
            fitting = [one for one in people if self._registry.gender(one.id) == wanted]
            if fitting:
                return [(fitting[0], confidence if len(fitting) == 1 else _NEAREST)]
        unlisted = [
            one for one in self._recently_mentioned(("thing",)) if looks_like_full_name(one.canonical_name)
        ]
        return [(unlisted[0], _NEAREST)] if len(unlisted) == 1 else []

    def _resolve_plural_pronoun(self, named_before: Sequence[Entity]) -> list[Choice]:
        """The people who were named together last; else the nearest organisation; else the only person."""
        recent = self._groups_mentioned_together(("person",), _LATEST_TURNS)
        for group in [named_before, *([one for one in group if self._is_not_asker(one)] for group in recent)]:
            if len(group) > 1:
                return [(one, _TOGETHER) for one in group]
        firms = self._recently_mentioned(("organisation",), _LATEST_TURNS)
        if firms:
            return _choose_first_as_nearest(firms)
        people = named_before or self._recently_mentioned(("person",), _LATEST_TURNS)
        people = [one for one in people if self._is_not_asker(one)]
        return [(people[0], _NEAREST)] if len(people) == 1 else []

    def _resolve_it_pronoun(self, named_before: Sequence[Entity]) -> list[Choice]:
        """The last thing that the question names before; else the nearest thing in the latest turns."""
        if named_before:
            return [(named_before[-1], _TOGETHER)]
        recent = self._recently_mentioned((), _LATEST_TURNS)
        return _choose_first_as_nearest(one for one in recent if one.entity_type not in _NEVER_IT)

    # Descriptions

    def _resolve_ordinal(self, reference: Reference) -> list[Choice]:
        """The entity at this place among those that were named together last."""
        needed = reference.place + 1 if reference.place >= 0 else 2
        for group in self._groups_mentioned_together(reference.kinds, _RECENT_TURNS):
            if len(group) >= max(2, needed):
                return [(group[reference.place], _ONLY_ONE)]
        if reference.kinds and reference.place == -1:
            return _choose_first_as_nearest(self._recently_mentioned(reference.kinds))
        return []

    def _resolve_role_or_kin(self, noun: str) -> list[Choice]:
        """The person with this title, or of this kinship to the speaker; none if several relatives fit."""
        noun = _SAME_KIN.get(fold_case(noun), fold_case(noun))
        people = list(reversed(self._registry.entities()))
        titled = [one for one in people if fold_case(one.attributes.get("title", "")) == noun]
        kin = [one for one in people if _kinship_to_speaker(one) == noun]
        return _choose_first_as_nearest(titled) if titled or len(kin) != 1 else _choose_first_as_nearest(kin)

    def _resolve_kind_noun(self, reference: Reference) -> list[Choice]:
        """The nearest entity of a kind, preferably with the noun in its name; none if several things fit."""
        if reference.noun in _GENDERS:
            return self._resolve_person_by_gender(_GENDERS[reference.noun], ())
        recent = self._recently_mentioned(reference.kinds)
        with_noun = [one for one in recent if reference.noun in fold_case(one.canonical_name)]
        fitting = with_noun or [one for one in recent if one.entity_type == reference.kinds[0]] or recent
        vague = "thing" in reference.kinds and not with_noun and len(fitting) > 1
        return [] if vague else _choose_first_as_nearest(fitting)

    # What was mentioned

    def _recently_mentioned(self, kinds: Sequence[EntityType], turns: int = _RECENT_TURNS) -> list[Entity]:
        """The entities that the last turns mention, latest first, each once; with `kinds`, only of these."""
        trail = self._registry.latest_mentions()
        latest = trail[-1].turn if trail else 0
        ids = dict.fromkeys(seen.entity_id for seen in reversed(trail) if latest - seen.turn < turns)
        found = [entity for one in ids if (entity := self._registry.get(one)) is not None]
        return [entity for entity in found if not kinds or entity.entity_type in kinds]

    def _groups_mentioned_together(self, kinds: Sequence[EntityType], turns: int) -> list[list[Entity]]:
        """Entities of one kind that a turn names together, in order; the latest turn first."""
        groups: dict[tuple[int, str], dict[str, Entity]] = {}
        recent = {entity.id: entity for entity in self._recently_mentioned(kinds, turns)}
        for seen in self._registry.latest_mentions():
            entity = recent.get(seen.entity_id)
            if entity is not None and entity.entity_type not in _NEVER_LISTED:
                groups.setdefault((-seen.turn, entity.entity_type), {})[entity.id] = entity
        ordered = sorted(groups.items(), key=lambda item: (item[0][0], -len(item[1])))
        return [list(group.values()) for _, group in ordered]


def _spans_overlap(one: Reference, other: Reference | ResolvedEntity) -> bool:
    return one.start < other.end and other.start < one.end


def _choose_first_as_nearest(fitting: Iterable[Entity]) -> list[Choice]:
    """The first entity, with more confidence if it is the only one; empty if there is none."""
    found = list(fitting)
    return [(found[0], _ONLY_ONE if len(found) == 1 else _NEAREST)] if found else []


def _kinship_to_speaker(entity: Entity) -> str:
    """What somebody is to the speaker, such as `mother`; empty when that is not known."""
    relation = entity.attributes.get("relation", "")
    return _SAME_KIN.get(relation, relation)


def _build_resolved_entity(entity: Entity, confidence: float, text: str, start: int) -> ResolvedEntity:
    return ResolvedEntity(entity.id, entity.canonical_name, confidence, text, start, start + len(text))
