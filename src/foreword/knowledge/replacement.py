"""Judges which earlier statements a new one replaces, when the new one gets its vector.

A new statement is read beside the few earlier ones that are nearest in meaning. If the reader thinks that it
replaces one, a relation between the two is stored, with the probability as its confidence; both items stay as
they are. Contexts then show the newer one, with the older one as history; if the newer one is trusted less,
they show it beside the older. A tool's output and a web page are only compared with their like, and no user
replaces what another says of themselves. Statements are turns, memories and commits; code and documents
change with their files. A bare correction ("no, Thursday") is near to nothing in meaning: what it corrects is
found by `corrections`, with or without a reader. "20 minutes" was replaced by "no, 15 minutes" and later by
"10 minutes": then the last replaces the second too, and an agent's "Got it, 20 minutes" with the first. Where
only one of several facts changes (`parts`), the relation is of another type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from foreword.knowledge.corrections import (
    MAX_CHARACTERS,
    MAX_TURNS_BACK,
    find_corrected,
    may_be_correction,
)
from foreword.knowledge.parts import changes_only_part
from foreword.knowledge.progress_cues import cue_pattern, takes_back
from foreword.knowledge.reports import are_about_different_tickets, are_unrelated_reports, is_report
from foreword.knowledge.stated_values import closeness_of_fit, read_values, values_by_kind
from foreword.knowledge.user_facts import speaks_of_self
from foreword.store.base import ListRecent, Search
from foreword.text.clean import plain_line
from foreword.text.provenance import may_replace
from foreword.text.statements import (
    author_in_one_word,
    describe_statement,
    is_bare_question,
    split_statements,
)
from foreword.text.translate import to_english
from foreword.text.words import is_in_latin_letters
from foreword.types import AMENDS, REPLACES, SURE_REPLACEMENT, Filters, Relation, VectorProbe

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from foreword.knowledge.stated_values import Value
    from foreword.spaces.base import ReplacementReader
    from foreword.store.base import Store, Vector
    from foreword.types import Item, RelatedMemory

MIN_CHANCE = 0.1
"""The least probability at which a replacement is stored."""

_MIN_CHANCE_IN_TALK, _MIN_CHANCE_OF_CHANGE_IN_TALK = 0.98, 0.5
"""The least probability in talk, where the reader is too sure of itself, and the same if a value differs or
something is taken back."""

_MIN_CHANCE_OF_RESTATEMENT = 0.98
_MAX_HOURS_OF_RESTATEMENT = 18
"""A statement made within so many hours of another that changes no value mostly confirms it or reports it as
done: of 13 such pairs in the lessons' tests of which the reader was not sure, 11 did."""

_MAX_TERSE_WORDS = 20
_EXCLAMATION = re.compile(r"!(?=[\s\"')”’]|\Z)")
_MEASURED = (("number", "digits", "ordinal", "address"), ("time",))
_SCHEDULED = (("day",), ("month", "date"))
_NAMED = (("identifier", "email", "version", "code"),)
"""The kinds of values that change, those together that stand for each other; days and months as often only
say when something happened."""

_RIVAL_KINDS = ("number", "time", "day", "month", "identifier")
"""The kinds of values by which two replacements of one statement are seen to differ."""

_KINDS = ("turn", "memory", "commit")
_MAX_COMPARED = 6
"""At most how many earlier statements a new one is read beside."""

_MAX_SEARCHED = 40
"""At most how many earlier items are searched for these: many may be questions, or outputs of tools."""

_NEVER = 2.0
"""A probability that no reader gives."""

_MIN_COSINE = 0.5
_MAX_STATEMENTS = 2
"""An item of more statements than this is about several things; none of them replaces it as a whole."""

_MAX_CHARACTERS, _MAX_CHARACTERS_BEFORE = 400, 160


@dataclass(frozen=True, slots=True)
class _Pair:
    """A new statement and an earlier one that it may replace."""

    newer: Item
    older: Item
    before: Item | None
    """The item before the newer one in its session: "no, Thursday" means nothing without it."""


class ReplacementJudge:
    """Finds the items that new ones replace; without a reader, only those that bare corrections correct."""

    def __init__(self, store: Store, reader: ReplacementReader | None) -> None:
        self._store = store
        self._reader = reader

    def find_relations_to_replaced_items(
        self, workspace: str, space: str, digest: str, items: Sequence[Item], vectors: Sequence[Vector]
    ) -> tuple[Relation, ...]:
        """The relations from these items to the earlier ones that they replace.

        The vectors are those of the items, in the space and of the encoder named; they need not be stored.
        """
        values = {vector.item_id: vector.values for vector in vectors}
        new = [item for item in items if item.id in values and _can_replace_or_be_replaced(item)]
        new.sort(key=lambda item: item.created_at)
        read = self._chances_judged_by_reader(workspace, space, digest, new, values) if self._reader else {}
        corrected = self._chances_from_bare_corrections(workspace, new)
        chances = {ends: max(read.get(ends, 0.0), corrected.get(ends, 0.0)) for ends in {**read, **corrected}}
        known = self._get_items_of_pairs(workspace, new, chances)
        chances |= self._chances_inferred_from_replacements(workspace, known, chances)
        return tuple(
            _build_replacement_relation(known[newer], known[older], chance)
            for (newer, older), chance in chances.items()
            if newer in known and older in known
        )

    def _get_items_of_pairs(
        self, workspace: str, new: Sequence[Item], chances: Mapping[tuple[str, str], float]
    ) -> dict[str, Item]:
        """The new items and the earlier ones that they may replace, by their ids."""
        items = {item.id: item for item in new}
        missing = tuple(dict.fromkeys(older for _, older in chances if older not in items))
        stored = self._store.get(workspace, *missing) if missing else ()
        return items | {item.id: item for item in stored if item is not None}

    def _chances_inferred_from_replacements(
        self, workspace: str, items: dict[str, Item], chances: Mapping[tuple[str, str], float]
    ) -> dict[tuple[str, str], float]:
        """What follows from sure replacements for what replaced or repeats the same; adds to `items`."""
        sure = {
            ends: chance
            for ends, chance in chances.items()
            if chance >= SURE_REPLACEMENT and items.keys() >= set(ends)
        }
        if not sure:
            return {}
        before = dict(sure)
        for one in _list_items_that_replaced_these(self._store, workspace, {older for _, older in sure}):
            items.setdefault(one.memory.id, one.memory)
            before.setdefault((one.memory.id, one.relationship.to_id), one.relationship.confidence)
        inferred = _infer_replaced_repetitions(items, chances, sure)
        for (newer, older), chance in sure.items():
            rivals = (
                (earlier, surety) for (earlier, replaced), surety in before.items() if replaced == older
            )
            for earlier, surety in rivals:
                ends = (newer, earlier)
                is_likely = ends in chances
                if _replaces_rival(items[newer], items[earlier], items[older], is_likely=is_likely):
                    inferred[ends] = max(min(chance, surety), chances.get(ends, 0.0))
        return inferred

    def _chances_judged_by_reader(
        self,
        workspace: str,
        space: str,
        digest: str,
        new: Sequence[Item],
        values: Mapping[str, tuple[float, ...]],
    ) -> dict[tuple[str, str], float]:
        """The reader's probability that each item replaces those nearest to it, by the ids of the two.

        Pairs are left out of which the reader is not sure enough.
        """
        pairs: list[_Pair] = []
        for place, item in enumerate(new):
            stored = self._nearest_stored(workspace, item, VectorProbe(space, digest, values[item.id]))
            beside = [(_cosine(values[item.id], values[one.id]), one) for one in new[:place]]
            older = _choose_nearest(
                [one for one in stored + beside if _is_allowed_to_contradict(item, one[1])]
            )
            before = next(iter(self._turns_before(workspace, item, 1)), None) if older else None
            pairs += [_Pair(item, one, before) for one in older]
        # The line before may distract: what names another value is also read without it.
        pairs += [
            replace(pair, before=None) for pair in pairs if pair.before and _changes_value_of_same_user(pair)
        ]
        reader = self._reader
        chances = (
            reader.replacement_chances([_word_pair_for_reader(pair) for pair in pairs]) if reader else []
        )
        surest: dict[tuple[str, str], float] = {}
        for pair, chance in zip(pairs, chances, strict=True):
            if chance >= _min_chance_to_replace(pair.newer, pair.older):
                ends = (pair.newer.id, pair.older.id)
                surest[ends] = max(chance, surest.get(ends, 0.0))
        return surest

    def _chances_from_bare_corrections(
        self, workspace: str, new: Sequence[Item]
    ) -> dict[tuple[str, str], float]:
        """The probability that bare corrections among these items correct others, by the ids of the two."""
        return {
            (item.id, one.item.id): one.chance
            for item in new
            if len(item.text) <= MAX_CHARACTERS
            for one in find_corrected(item, self._turns_before(workspace, item, MAX_TURNS_BACK))
            if _is_allowed_to_contradict(item, one.item) and not _only_reports_work(item, one.item)
        }

    def _nearest_stored(self, workspace: str, item: Item, probe: VectorProbe) -> list[tuple[float, Item]]:
        """The stored statements nearest to an item, each with its cosine."""
        filters = Filters(kinds=_KINDS, until=item.created_at)
        found = self._store.run(Search(workspace, (probe,), filters, _MAX_SEARCHED))
        ranked = found.lists.get(probe.space, ())
        return [(cosine, found.items[one]) for one, cosine in ranked if one != item.id]

    def _turns_before(self, workspace: str, item: Item, most: int) -> list[Item]:
        """The turns just before an item in its session, newest first."""
        if item.kind != "turn" or not item.session:
            return []
        said = Filters(kinds=("turn",), session=item.session, until=item.created_at)
        recent = self._store.run(ListRecent(workspace, said, most + 2))
        return [one for one in recent if one.id != item.id][:most]


def _can_replace_or_be_replaced(item: Item) -> bool:
    """Whether an item can replace another, or be replaced."""
    if item.kind not in _KINDS or item.superseded_by or is_bare_question(item.text):
        return False
    if not is_in_latin_letters(to_english(item.text)):  # the reader hardly knows other letters
        return False
    return 1 <= len(split_statements(item.text)) <= _MAX_STATEMENTS


def _is_allowed_to_contradict(newer: Item, older: Item) -> bool:
    """Whether a newer item's source, user and time allow it to make an older one untrue.

    Tools and pages do not overrule people, and no user another in what they say of themselves.
    """
    if _are_of_different_users(newer, older) and speaks_of_self(older.text):
        return False
    heard = newer.source.trust not in ("tool", "web") or may_replace(newer.source, older.source)
    return heard and older.created_at <= newer.created_at and _can_replace_or_be_replaced(older)


def _are_of_different_users(newer: Item, older: Item) -> bool:
    """Whether two users said the two: where one lives has nothing to do with where the other does."""
    users = [item.metadata.get("user") or item.metadata.get("name") for item in (newer, older)]
    return all(item.metadata.get("role") == "user" for item in (newer, older)) and users[0] != users[1]


def _min_chance_to_replace(newer: Item, older: Item) -> float:
    """The probability from which the newer of two items is taken to replace the older one.

    It is high where one can hardly make the other untrue: in talk, for events and moods, beside courtesies;
    less so if a number or a time differs, or something is taken back. It is as high for what restates the
    older item, and between commits that change different files. Unrelated reports, and what an agent says of
    different tickets, never replace each other.
    """
    if are_about_different_tickets(newer, older):
        return _NEVER
    if are_unrelated_reports(newer, older) and not takes_back(newer.text):
        return _NEVER
    if _may_restate(newer, older) or _commits_share_no_file(newer, older):
        return _MIN_CHANCE_OF_RESTATEMENT
    new, old = newer.text, older.text
    is_talk = (_is_talkative(old) and _is_talkative(new)) or (
        _is_long(new) and _is_personal_without_numbers(old)
    )
    is_courtesy = any(cue_pattern("courtesies").match(text) for text in (new, old))
    if not (is_talk or is_courtesy or _cannot_become_untrue(old)):
        return MIN_CHANCE
    is_change = _changes_value(new, old, _MEASURED) or takes_back(new)
    return _MIN_CHANCE_OF_CHANGE_IN_TALK if is_change else _MIN_CHANCE_IN_TALK


def _may_restate(newer: Item, older: Item) -> bool:
    """Whether an item was said soon after another, changes none of its values and takes nothing back."""
    if newer.created_at - older.created_at > timedelta(hours=_MAX_HOURS_OF_RESTATEMENT):
        return False
    # What a tool printed has identifiers that nobody speaks of.
    groups = _MEASURED + _SCHEDULED + (() if older.source.trust == "tool" else _NAMED)
    return not (_changes_value(newer.text, older.text, groups) or takes_back(newer.text))


def _commits_share_no_file(newer: Item, older: Item) -> bool:
    """Whether both items are commits, and none of the files that one changes is changed by the other."""
    files = [set(item.metadata.get("files") or ()) for item in (newer, older) if item.kind == "commit"]
    return len(files) == 2 and all(files) and files[0].isdisjoint(files[1])


def _only_reports_work(newer: Item, older: Item) -> bool:
    """Whether an agent says what it did, and neither changes a value nor takes something back.

    "I wrote them to .env" reads like the correction "I wrote Lyon".
    """
    if newer.source.trust != "agent" or not is_report(newer.text) or takes_back(newer.text):
        return False
    return not _changes_value(newer.text, older.text, _MEASURED + _SCHEDULED)


def _changes_value_of_same_user(pair: _Pair) -> bool:
    """Whether the newer statement names another number, time, day or identifier, and no other user's."""
    if _are_of_different_users(pair.newer, pair.older):
        return False
    return _changes_value(pair.newer.text, pair.older.text, _MEASURED + _SCHEDULED + _NAMED)


def _changes_value(newer: str, older: str, groups: Sequence[Sequence[str]]) -> bool:
    """Whether the newer text names another value than the older one, of one of these groups of kinds.

    A value that measures something else is no other value: 3 kg beside 20 minutes.
    """
    for kinds in groups:
        old = _read_values_of(older, kinds)
        fresh = [value for value in _read_values_of(newer, kinds) if not any(map(value.is_same, old))]
        if any(closeness_of_fit(new, one) for new in fresh for one in old):
            return True
    return False


def _read_values_of(text: str, kinds: Sequence[str]) -> list[Value]:
    return [value for value in read_values(text) if value.kind in kinds]


def _is_talkative(text: str) -> bool:
    """Whether a text is long or exclaims, as friends talk; notes, orders and reports seldom do."""
    return _is_long(text) or _EXCLAMATION.search(text) is not None


def _is_long(text: str) -> bool:
    return len(text.split()) > _MAX_TERSE_WORDS


def _is_personal_without_numbers(text: str) -> bool:
    """Whether a text is about its speaker and names no number, time, day or month."""
    return bool(cue_pattern("speakers").search(plain_line(text))) and not _has_number_or_time(text)


def _cannot_become_untrue(text: str) -> bool:
    """Whether a text reports a past event, or a feeling without any number, time, day or month."""
    said = plain_line(text)
    if cue_pattern("events").search(said):
        return True
    return bool(cue_pattern("moods").search(said)) and not _has_number_or_time(text)


def _has_number_or_time(text: str) -> bool:
    """Whether a text has a number, a time, a day or a month."""
    return any(_read_values_of(text, kinds) for kinds in _MEASURED + _SCHEDULED)


def _choose_nearest(candidates: Sequence[tuple[float, Item]]) -> list[Item]:
    """The candidates that are compared with a new item: the nearest ones, each once.

    What tools printed only gets the places that are left: it is rarely what a statement is about.
    """
    by_id = {item.id: (cosine, item) for cosine, item in candidates if cosine >= _MIN_COSINE}
    nearest = sorted(by_id.values(), key=lambda one: (one[1].source.trust in ("tool", "web"), -one[0]))
    return [item for _, item in nearest[:_MAX_COMPARED]]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _word_pair_for_reader(pair: _Pair) -> tuple[str, str]:
    """The newer and the older statement, worded as those that the reader was taught with."""
    now = pair.newer.created_at
    newer = describe_statement(_as_turn(pair.newer), pair.newer.text[:_MAX_CHARACTERS], now)
    if pair.before is not None:
        newer += f" (after {author_in_one_word(pair.before)}: {pair.before.text[:_MAX_CHARACTERS_BEFORE]})"
    return newer, describe_statement(_as_turn(pair.older), pair.older.text[:_MAX_CHARACTERS], now)


def _as_turn(item: Item) -> Item:
    """A memory as something that its author said; any other item as it is.

    Few of the pairs that the reader was taught with are memories, so it doubts that one replaces another.
    """
    return replace(item, kind="turn") if item.kind == "memory" else item


def _list_items_that_replaced_these(store: Store, workspace: str, ids: Iterable[str]) -> list[RelatedMemory]:
    """The items that surely replaced, or changed a part of, the items with these ids."""
    related = store.expand(workspace, list(ids), 1)
    return [
        one
        for name, found in related.items()
        for one in found
        if one.relationship.to_id == name and one.relationship.from_id == one.memory.id
        if one.relationship.type in (REPLACES, AMENDS) and one.relationship.confidence >= SURE_REPLACEMENT
    ]


def _infer_replaced_repetitions(
    items: Mapping[str, Item],
    chances: Mapping[tuple[str, str], float],
    sure: Mapping[tuple[str, str], float],
) -> dict[tuple[str, str], float]:
    """The doubtful replacements of what only repeats a statement that the same item surely replaces."""
    return {
        (newer, repeated): chance
        for (newer, repeated) in chances.keys() - sure.keys()
        for (other, stated), chance in sure.items()
        if other == newer and {repeated, stated} <= items.keys()
        if _is_confirmation_by_agent(items[repeated], items[stated])
        if not changes_only_part(items[newer], items[stated])
    }


def _replaces_rival(newer: Item, earlier: Item, replaced: Item, *, is_likely: bool) -> bool:
    """Whether an item replaces an earlier one that replaced the same third item."""
    if (
        newer.id == earlier.id
        or newer.kind == "commit"  # which of several changes of a file undoes another, no message tells
        or earlier.created_at >= newer.created_at
        or not _is_allowed_to_contradict(newer, earlier)
    ):
        return False
    return is_likely or _are_rivals(newer, earlier, replaced)


def _are_rivals(newer: Item, earlier: Item, replaced: Item) -> bool:
    """Whether two items that both replaced a third give different answers to the same question.

    They do if the earlier one is a bare correction in the session of the third, or if both put another value
    in the place of the same one. If either changes only a part of it, they may speak of different parts.
    """
    if changes_only_part(newer, replaced) or changes_only_part(earlier, replaced):
        return False
    is_bare = may_be_correction(earlier.text) and earlier.session == replaced.session
    return (is_bare and bool(earlier.session)) or _both_change_same_value(newer, earlier, replaced)


def _both_change_same_value(newer: Item, earlier: Item, replaced: Item) -> bool:
    """Whether both items name another value than the replaced one, of the same kind, and not the same."""
    new, before, old = (values_by_kind(item.text) for item in (newer, earlier, replaced))
    return any(
        kind in old
        and before.get(kind, frozenset()) - old[kind]
        and new.get(kind, frozenset()) - before[kind]
        for kind in _RIVAL_KINDS
    )


def _is_confirmation_by_agent(item: Item, stated: Item) -> bool:
    """Whether an agent's turn confirms a statement of its session, naming values of it and no others."""
    if item.source.trust != "agent" or not item.session or item.session != stated.session:
        return False
    named, known = _all_values(item.text), _all_values(stated.text)
    return bool(named & known) and len(named - known) <= 1  # a first word is taken for a name: "Noted"


def _all_values(text: str) -> frozenset[str]:
    return frozenset(value for values in values_by_kind(text).values() for value in values)


def _build_replacement_relation(newer: Item, older: Item, chance: float) -> Relation:
    """The relation between two items of which the newer one makes the older untrue, or a part of it."""
    kind = AMENDS if changes_only_part(newer, older) else REPLACES
    return Relation(newer.id, older.id, kind, round(chance, 3), newer.created_at)


def surely_replaces(relation: Relation) -> bool:
    """Whether a relation says, with enough confidence, that one item replaces another."""
    return relation.type == REPLACES and relation.confidence >= SURE_REPLACEMENT
