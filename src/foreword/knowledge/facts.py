"""Facts about a person or thing: an attribute with its value where one can be read, else a whole sentence.

Facts are read from the stored statements whenever they are asked for, and not stored themselves. Where an
attribute has one value at a time, such as an address or a title, the newest value holds whose source is
trusted as much as the others'; the older ones are its history. Any other statement holds until another
replaces it. Questions, doubts and requests are no facts. The caller passes in what finds names in a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from foreword.knowledge.attribute_values import read_stated_attribute
from foreword.knowledge.claims import SPEAKER, MentionLike, find_spans_that_assert_nothing, read_claims
from foreword.knowledge.command_results import is_tool_output
from foreword.knowledge.decisions import KINDS
from foreword.knowledge.open_ends import CLOSED, find_replacing_items, read_open_end
from foreword.knowledge.progress_cues import is_question, task_words
from foreword.knowledge.speech_acts import asks_for_action
from foreword.store.base import ListRecent, Search
from foreword.text.provenance import is_at_least_as_trusted
from foreword.text.sentences import split_sentences
from foreword.text.words import split_words
from foreword.types import Filters, WordsProbe

if TYPE_CHECKING:
    from foreword.store.base import Store
    from foreword.types import Item

FindNames = Callable[[str], Sequence[MentionLike]]
"""Finds the names in a text, in order."""

SPEAKER_NAMES = frozenset({"me", "i", "myself", "user", "ich", "mich", "moi", "je", "yo"})
"""Words by which a caller asks for the facts about the speaker."""

_MAX_ITEMS = 300
_MAX_SENTENCE_CHARACTERS = 400
_MAX_CACHED_TEXTS = 2_048
"""At most this many texts are cached: the same statements are read again for every request."""

_MIN_WORDS = 2
_ONE_VALUE = frozenset(
    {
        *(
            "title",
            "email",
            "phone",
            "location",
            "birthday",
            "age",
            "department",
            "address",
            "office",
            "nickname",
        ),
        *(
            "website",
            "time zone",
            "lives in",
            "works at",
            "married to",
            "reports to",
            "is",
            "hosted",
            "deployed",
        ),
        *("owned", "maintained", "led", "written", "pinned", "stored", "called", "named"),
    }
)
"""Attributes and relations that have one value at a time."""

_NOW = re.compile(r"\s+(?:now|again|instead|these days|any ?more)$", re.IGNORECASE)
_PLAIN_ATTRIBUTES = {"is a name": "is", "is a number": "is", "is a word": "is"}


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement about a person or thing.

    `text` is the sentence; `attribute` and `value` are empty if none can be read. `before` are the items that
    it replaced, and `beside` those that contradict it and may not replace it; both newest first.
    """

    item: Item
    text: str
    attribute: str = ""
    value: str = ""
    before: tuple[Item, ...] = ()
    beside: tuple[Item, ...] = ()


def list_facts(store: Store, workspace: str, who: str, find_names: FindNames) -> list[Fact]:
    """The facts about `who`: those with an attribute, then whole statements; newest first in each part."""
    names = frozenset(split_words(who))
    items = _find_statements_about_name(store, workspace, names)
    facts = [fact for item in items for fact in read_facts(item, names, find_names)]
    superseded: dict[str, list[Item]] = {}
    for item in items:
        superseded.setdefault(item.superseded_by or "", []).insert(0, item)
    standing = [
        replace(fact, before=fact.before or tuple(superseded.get(fact.item.id, ())))
        for fact in _exchange_replaced_for_newer(store, workspace, _keep_one_value_per_attribute(facts))
    ]
    newest = sorted(standing, key=lambda fact: fact.item.created_at, reverse=True)
    return sorted(newest, key=lambda fact: not fact.attribute)


def read_facts(item: Item, names: frozenset[str], find_names: FindNames) -> list[Fact]:
    """The facts that an item states about the one with these names, in its words or its metadata."""
    if item.metadata.get(CLOSED) or item.superseded_by or is_tool_output(item):
        return []
    if given := _fact_from_metadata(item, names):
        return [given]
    sentences = _sentences_about(item.text, names)
    return [
        fact for sentence in sentences for fact in _facts_from_sentence(item, sentence, names, find_names)
    ]


def _find_statements_about_name(store: Store, workspace: str, names: frozenset[str]) -> list[Item]:
    """The statements that have all words of a name, oldest first; for the speaker, what the user said."""
    filters = Filters(kinds=KINDS)
    if names <= SPEAKER_NAMES:
        recent = store.run(ListRecent(workspace, filters, _MAX_ITEMS))
        found = [item for item in recent if item.source.trust == "user" and item.kind != "commit"]
    else:
        probe = WordsProbe("facts", tuple(sorted(names)))
        items = store.run(Search(workspace, (probe,), filters, _MAX_ITEMS)).items.values()
        found = [item for item in items if names <= _item_words(item)]
    return sorted(found, key=lambda item: item.created_at)


def _item_words(item: Item) -> frozenset[str]:
    return frozenset(split_words(item.searchable))


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def _sentences_about(text: str, names: frozenset[str]) -> tuple[str, ...]:
    """The sentences of a text that may state something of the one with these names."""
    return tuple(one for one in split_sentences(text) if _may_state_fact(one, names))


def _may_state_fact(sentence: str, names: frozenset[str]) -> bool:
    """Whether a sentence is no question, not too long, and has the names, or is about the speaker."""
    if len(sentence) > _MAX_SENTENCE_CHARACTERS or is_question(sentence):
        return False
    words = frozenset(split_words(sentence))
    return bool(words & {"i", "my", "me", "m"}) if names <= SPEAKER_NAMES else names <= words


def _fact_from_metadata(item: Item, names: frozenset[str]) -> Fact | None:
    """The fact that an item's metadata states about the one with these names; None if it states none."""
    subject, value = item.metadata.get("subject"), item.metadata.get("value")
    if not (isinstance(subject, str) and isinstance(value, str) and names <= frozenset(split_words(subject))):
        return None
    attribute = item.metadata.get("attribute")
    name = attribute if isinstance(attribute, str) else "is"
    return Fact(item, item.text.strip(), subject if name == "is" else name, value)


def _facts_from_sentence(
    item: Item, sentence: str, names: frozenset[str], find_names: FindNames
) -> Iterable[Fact]:
    """The facts in a sentence: one for each attribute that can be read, else the sentence itself."""
    claims = [*_claims_about(sentence, names, find_names)]
    if not claims and (plain := read_stated_attribute(sentence)):
        subject, attribute, value = plain
        if names <= frozenset(split_words(subject)):
            claims = [(_PLAIN_ATTRIBUTES.get(attribute, attribute), value)]
    for attribute, value in claims:
        yield Fact(item, sentence, attribute, _NOW.sub("", value))
    if not claims and not find_spans_that_assert_nothing(sentence) and _is_statement(item, sentence):
        yield Fact(item, sentence)


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def _claims_about(sentence: str, names: frozenset[str], find_names: FindNames) -> tuple[tuple[str, str], ...]:
    """The attributes and relations that a sentence gives the one with these names, each with its value."""
    mentions = find_names(sentence)
    claims = read_claims(sentence, mentions)
    wanted = {at for at, mention in enumerate(mentions) if _is_name_of(mention.text, names)}
    wanted |= {SPEAKER} if names <= SPEAKER_NAMES else set()
    attributes = [(attribute, value) for at, attribute, value in claims.attributes if at in wanted]
    relations = [
        (relation, mentions[other].text)
        for one, relation, other in claims.relations
        if one in wanted and other != SPEAKER
    ]
    return (*attributes, *relations)


def _is_name_of(mention: str, names: frozenset[str]) -> bool:
    """Whether a mention has only words of these names, or all of them."""
    words = frozenset(split_words(mention.removesuffix("'s").removesuffix("’s")))
    return bool(words) and (words <= names or names <= words)


def _is_statement(item: Item, sentence: str) -> bool:
    """Whether a sentence of the user or an agent states something, and asks for nothing to be done.

    What is settled is known too: "Jonas left the company; Mira signs off now."
    """
    if item.source.trust not in ("user", "agent") or len(task_words(sentence)) < _MIN_WORDS:
        return False
    return not asks_for_action(sentence) and read_open_end(replace(item, text=sentence)) is None


# What replaced what ---------------------------------------------------------------------------------------


def _keep_one_value_per_attribute(facts: Sequence[Fact]) -> list[Fact]:
    """The facts, oldest first, with one value left where an attribute has only one at a time."""
    kept: list[Fact] = []
    for fact in facts:
        same = [older for older in kept if older.attribute == fact.attribute != ""]
        if same and fact.attribute in _ONE_VALUE:
            kept = [older for older in kept if older not in same]
            kept += _replace_older_facts_with_newer(same, fact)
        elif not any(_is_repeated_by(older, fact) for older in kept):
            kept.append(fact)
    return kept


def _replace_older_facts_with_newer(older: Sequence[Fact], newer: Fact) -> list[Fact]:
    """The newer fact with those that it replaced as its history.

    The older facts that it may not replace stay; if it may replace none, they have it beside them.
    """
    if any(_have_same_value(one, newer) for one in older):
        return [one for one in older if _have_same_value(one, newer)]
    gone = [one for one in older if is_at_least_as_trusted(newer.item.source, one.item.source)]
    if not gone:
        return [replace(one, beside=(newer.item, *one.beside)) for one in older]
    history = tuple(item for one in reversed(gone) for item in (one.item, *one.before))
    return [*(one for one in older if one not in gone), replace(newer, before=history)]


def _have_same_value(one: Fact, other: Fact) -> bool:
    return split_words(one.value) == split_words(other.value)


def _is_repeated_by(older: Fact, newer: Fact) -> bool:
    """Whether a newer fact only repeats an older one."""
    if older.attribute != newer.attribute:
        return False
    return _have_same_value(older, newer) and (
        bool(newer.value) or task_words(older.text) == task_words(newer.text)
    )


def _exchange_replaced_for_newer(store: Store, workspace: str, facts: Sequence[Fact]) -> list[Fact]:
    """The facts, each replaced one exchanged for what replaced it, which has the old one as `before`."""
    replacing = find_replacing_items(store, workspace, list({fact.item.id for fact in facts}))
    replaced: dict[str, list[Item]] = {}
    for fact in facts:
        for newer in replacing.get(fact.item.id, ()):
            if is_at_least_as_trusted(newer.source, fact.item.source):
                replaced.setdefault(fact.item.id, []).append(newer)
    by_newer: dict[str, dict[str, Item]] = {}
    for fact in facts:
        for newer in replaced.get(fact.item.id, ()):
            by_newer.setdefault(newer.id, {})[fact.item.id] = fact.item
    present = {fact.item.id for fact in facts}
    added = [
        Fact(newer, newer.text.strip(), before=tuple(by_newer[newer.id].values()))
        for newer in {one.id: one for ones in replaced.values() for one in ones}.values()
        if newer.id not in present
    ]
    standing = [fact for fact in facts if fact.item.id not in replaced]
    return [
        replace(fact, before=fact.before or tuple(by_newer.get(fact.item.id, {}).values()))
        for fact in standing
    ] + added
