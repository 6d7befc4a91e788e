"""The entities that a question is about, worded within a number of tokens.

`format` words the entities that the question means, ranked by confidence, and those that the conversation is
about, ranked by salience with a lower weight. `format_entities_with_unseen_details` words only those that the
question means, and of their details only those that the turns in view do not show. Entities below the minimum
relevance are left out. An entity that does not fit with all its details is worded by name and type alone; if
that does not fit either, the next is tried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.compose.quoting import escape_headings_on_one_line
from foreword.options import check_fraction, check_whole_number
from foreword.text.words import fold_case

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from foreword.text.tokens import Tokenizer
    from foreword.types import DialogueState, Entity, EntityRelationship, ResolvedEntity

SALIENT_WEIGHT = 0.7
"""The weight of an entity's salience, compared with that of being named in the question."""

_FIRST_ATTRIBUTES = ("email", "phone", "title", "department", "location")
_HEADING = "What holds:"
_MAX_ALIASES = 3
_TOKENS_TO_JOIN = 1


@dataclass(frozen=True, slots=True)
class EntityTemplate:
    """The marks and words that begin the lines of an entity."""

    bullet: str = "• "
    indent: str = "  "
    related: str = "Related: "
    aliases: str = "Also called "


DEFAULT_TEMPLATE = EntityTemplate()


@dataclass(frozen=True, slots=True)
class EntityContextConfig:
    """How many entities are worded at most, and how much of each."""

    max_entities: int = 10
    min_relevance: float = 0.2
    attributes_per_entity: int = 4
    include_relationships: bool = True
    template: EntityTemplate = DEFAULT_TEMPLATE

    def __post_init__(self) -> None:
        check_whole_number("max_entities", self.max_entities, 0, 10_000)
        check_whole_number("attributes_per_entity", self.attributes_per_entity, 0, 10_000)
        check_fraction("min_relevance", self.min_relevance)


@dataclass(frozen=True, slots=True)
class EntityContext:
    """A worded entity; `token_count` is that of `formatted`."""

    entity_id: str
    name: str
    entity_type: str
    description: str
    attributes: tuple[tuple[str, str], ...]
    relationships: tuple[EntityRelationship, ...]
    relevance: float
    formatted: str
    token_count: int

    @property
    def has_details(self) -> bool:
        """Whether it has more than a name and a type."""
        return bool(self.description or self.attributes or self.relationships)


@dataclass(frozen=True, slots=True)
class EntityContextFormatter:
    """Chooses entities and words them."""

    tokenizer: Tokenizer
    config: EntityContextConfig = EntityContextConfig()

    def format(
        self, dialogue_state: DialogueState, resolved_entities: Sequence[ResolvedEntity], max_tokens: int
    ) -> tuple[EntityContext, ...]:
        """The entities that fit, the most relevant first; their `entities_text` has at most `max_tokens`."""
        wanted = self._relevant_entities(dialogue_state, resolved_entities)
        return self._entities_that_fit(
            (self._format_entity(entity, relevance, dialogue_state) for entity, relevance in wanted),
            max_tokens,
        )

    def format_entities_with_unseen_details(
        self,
        dialogue_state: DialogueState,
        resolved_entities: Sequence[ResolvedEntity],
        max_tokens: int,
        in_view: Collection[int] = (),
    ) -> tuple[EntityContext, ...]:
        """The entities that the question means, with details that the turns in view do not show.

        `in_view` are the places of the turns that the prompt has in full. A detail is followed by the day of
        its turn.
        """
        best: dict[str, ResolvedEntity] = {}
        for one in sorted(resolved_entities, key=lambda one: -one.confidence):
            if one.confidence >= self.config.min_relevance:
                best.setdefault(one.entity_id, one)
        worded = (self._format_unseen_details(one, dialogue_state, in_view) for one in best.values())
        return self._entities_that_fit(filter(None, worded), max_tokens)

    def _entities_that_fit(
        self, wanted: Iterable[EntityContext], max_tokens: int
    ) -> tuple[EntityContext, ...]:
        """As many entities as fit; one that does not fit is reduced to name and type."""
        chosen: list[EntityContext] = []
        room = max_tokens - self.tokenizer.count(_HEADING) - _TOKENS_TO_JOIN
        for whole in wanted:
            if len(chosen) >= self.config.max_entities or room <= _TOKENS_TO_JOIN:
                break
            fits = whole.token_count + _TOKENS_TO_JOIN <= room
            worded = whole if fits else drop_entity_details(whole, self.tokenizer)
            if worded.token_count + _TOKENS_TO_JOIN <= room:
                chosen.append(worded)
                room -= worded.token_count + _TOKENS_TO_JOIN
        while chosen and self.tokenizer.count(entities_text(chosen)) > max_tokens:
            chosen.pop()  # the tokens of parts do not add up exactly to those of the whole
        return tuple(chosen)

    def _format_unseen_details(
        self, meant: ResolvedEntity, state: DialogueState, in_view: Collection[int]
    ) -> EntityContext | None:
        """An entity with the details that are not in view; None if there are none."""
        entity = state.entity_registry.get(meant.entity_id)
        if entity is None:
            return None
        unseen = {
            name: f"{value}{_day_in_brackets(entity.said_in.get(name), state)}"
            for name, value in entity.attributes.items()
            if entity.said_in.get(name, entity.last_mention) not in in_view
        }
        attributes = self._choose_attributes(replace(entity, attributes=unseen))
        related = tuple(
            one for one in state.entity_registry.relationships(entity.id) if one.turn not in in_view
        )
        names = {fold_case(name) for name in (entity.canonical_name, *entity.aliases)}
        is_described = bool(meant.mention) and fold_case(meant.mention) not in names
        related = related if self.config.include_relationships else ()
        if not (attributes or related or (is_described and entity.last_mention not in in_view)):
            return None
        mention = escape_headings_on_one_line(meant.mention) if is_described else ""
        return self._build_entity_context(entity, meant.confidence, mention, "", attributes, related)

    def _relevant_entities(
        self, state: DialogueState, resolved: Sequence[ResolvedEntity]
    ) -> list[tuple[Entity, float]]:
        """The entities that are relevant enough, once each, the most relevant first."""
        registry = state.entity_registry
        found: dict[str, tuple[Entity, float]] = {}
        for each in resolved:
            entity = registry.get(each.entity_id)
            if entity is not None and each.confidence > found.get(entity.id, (entity, -math.inf))[1]:
                found[entity.id] = (entity, each.confidence)
        for entity in registry.get_high_salience_entities(self.config.max_entities):
            found.setdefault(entity.id, (entity, registry.get_salience(entity.id) * SALIENT_WEIGHT))
        relevant = [pair for pair in found.values() if pair[1] >= self.config.min_relevance]
        return sorted(relevant, key=lambda pair: -pair[1])

    def _format_entity(self, entity: Entity, relevance: float, state: DialogueState) -> EntityContext:
        """An entity with its aliases, attributes and relationships."""
        related = state.entity_registry.relationships(entity.id) if self.config.include_relationships else ()
        aliases = [
            alias for name in entity.aliases[:_MAX_ALIASES] if (alias := escape_headings_on_one_line(name))
        ]
        description = f"{self.config.template.aliases}{', '.join(aliases)}" if aliases else ""
        return self._build_entity_context(
            entity, relevance, "", description, self._choose_attributes(entity), related
        )

    def _build_entity_context(
        self,
        entity: Entity,
        relevance: float,
        mention: str,
        description: str,
        attributes: tuple[tuple[str, str], ...],
        related: Sequence[EntityRelationship],
    ) -> EntityContext:
        """An entity with its lines; `mention` is the question's name for it, if that differs."""
        name, template = escape_headings_on_one_line(entity.canonical_name), self.config.template
        lines = [description] if description else []
        lines += [f"{key}: {value}" for key, value in attributes]
        if related:
            named = (escape_headings_on_one_line(f"{each.relation} {each.target_name}") for each in related)
            lines.append(template.related + ", ".join(named))
        called = f"{mention}: {name}" if mention else name
        first = f"{template.bullet}{called} ({entity.entity_type})"
        formatted = "\n".join((first, *(template.indent + line for line in lines)))
        return EntityContext(
            entity_id=entity.id,
            name=name,
            entity_type=entity.entity_type,
            description=description,
            attributes=attributes,
            relationships=tuple(related),
            relevance=relevance,
            formatted=formatted,
            token_count=self.tokenizer.count(formatted),
        )

    def _choose_attributes(self, entity: Entity) -> tuple[tuple[str, str], ...]:
        """Names and values of the first few attributes: the most useful, then in the order of mention."""
        first = [name for name in _FIRST_ATTRIBUTES if name in entity.attributes]
        names = first + [name for name in entity.attributes if name not in _FIRST_ATTRIBUTES]
        return tuple(
            (escape_headings_on_one_line(name), escape_headings_on_one_line(entity.attributes[name]))
            for name in names[: self.config.attributes_per_entity]
        )


def _day_in_brackets(turn: int | None, state: DialogueState) -> str:
    """The day of a turn in brackets; empty if it is not known."""
    when = state.turns[turn].timestamp if turn is not None and turn < len(state.turns) else None
    return f" ({when.day} {when:%B %Y})" if when else ""


def drop_entity_details(context: EntityContext, tokenizer: Tokenizer) -> EntityContext:
    """The same entity reduced to its first line: name and type."""
    name = context.formatted.partition("\n")[0]
    return replace(
        context,
        description="",
        attributes=(),
        relationships=(),
        formatted=name,
        token_count=tokenizer.count(name),
    )


def entities_text(contexts: Sequence[EntityContext]) -> str:
    """All entities under one heading, as the prompt has them; empty for none."""
    return "\n".join((_HEADING, *(each.formatted for each in contexts))) if contexts else ""
