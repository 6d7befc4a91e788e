"""Judges which earlier statements a new one replaces, when the new one gets its vector.

A new statement is read beside the few earlier ones that are nearest in meaning. If the reader thinks that it
replaces one, a relation between the two is stored, with the probability as its confidence; both items stay as
they are. Contexts then show the newer one, with the older one as history; if the newer one is trusted less,
they show it beside the older. A tool's output and a web page are only compared with their like, and no user
replaces what another says of themselves. Statements are turns, memories and commits; code and documents
change with their files. A bare correction ("no, Thursday") is near to nothing in meaning: what it corrects is
found by `corrections`, with or without a reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from foreword.knowledge.corrections import MAX_CHARACTERS, MAX_TURNS_BACK, find_corrected, read_values
from foreword.knowledge.progress_cues import cue
from foreword.knowledge.user_facts import speaks_of_self
from foreword.store.base import ListRecent, Search
from foreword.text.clean import plain_line
from foreword.text.provenance import may_replace
from foreword.text.statements import describe_statement, only_asks, speaker_word, split_statements
from foreword.text.translate import to_english
from foreword.text.words import is_in_latin_letters
from foreword.types import REPLACES, SURE_REPLACEMENT, Filters, Relation, VectorProbe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.spaces.base import ReplacementReader
    from foreword.store.base import Store, Vector
    from foreword.types import Item

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
_MEASURED, _SCHEDULED, _NAMED = ("number", "time"), ("day", "month"), ("identifier",)
"""The sorts of values that change; days and months as often only say when something happened."""

_KINDS = ("turn", "memory", "commit")
_MAX_COMPARED = 6
"""At most how many earlier statements a new one is read beside."""

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

    def find_replacements(
        self, workspace: str, space: str, digest: str, items: Sequence[Item], vectors: Sequence[Vector]
    ) -> tuple[Relation, ...]:
        """The relations from these items to the earlier ones that they replace.

        The vectors are those of the items, in the space and of the encoder named; they need not be stored.
        """
        values = {vector.item_id: vector.values for vector in vectors}
        new = [item for item in items if item.id in values and _may_take_part(item)]
        new.sort(key=lambda item: item.created_at)
        read = self._chances_by_reader(workspace, space, digest, new, values) if self._reader else {}
        corrected = self._chances_by_correction(workspace, new)
        chances = {ends: max(read.get(ends, 0.0), corrected.get(ends, 0.0)) for ends in {**read, **corrected}}
        said_at = {item.id: item.created_at for item in new}
        return tuple(
            Relation(newer, older, REPLACES, round(chance, 3), said_at[newer])
            for (newer, older), chance in chances.items()
        )

    def _chances_by_reader(
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
            older = [one for one in _choose_nearest(stored + beside) if _may_contradict(item, one)]
            before = next(iter(self._turns_before(workspace, item, 1)), None) if older else None
            pairs += [_Pair(item, one, before) for one in older]
        reader = self._reader
        chances = reader.replacement_chances([_describe_pair(pair) for pair in pairs]) if reader else []
        return {
            (pair.newer.id, pair.older.id): chance
            for pair, chance in zip(pairs, chances, strict=True)
            if chance >= _least_chance(pair.newer, pair.older)
        }

    def _chances_by_correction(self, workspace: str, new: Sequence[Item]) -> dict[tuple[str, str], float]:
        """The probability that bare corrections among these items correct others, by the ids of the two."""
        return {
            (item.id, one.item.id): one.chance
            for item in new
            if len(item.text) <= MAX_CHARACTERS
            for one in find_corrected(item, self._turns_before(workspace, item, MAX_TURNS_BACK))
            if _may_contradict(item, one.item)
        }

    def _nearest_stored(self, workspace: str, item: Item, probe: VectorProbe) -> list[tuple[float, Item]]:
        """The stored statements nearest to an item, each with its cosine."""
        filters = Filters(kinds=_KINDS, until=item.created_at)
        found = self._store.run(Search(workspace, (probe,), filters, _MAX_COMPARED + 1))
        ranked = found.lists.get(probe.space, ())
        return [(cosine, found.items[one]) for one, cosine in ranked if one != item.id]

    def _turns_before(self, workspace: str, item: Item, most: int) -> list[Item]:
        """The turns just before an item in its session, newest first."""
        if item.kind != "turn" or not item.session:
            return []
        said = Filters(kinds=("turn",), session=item.session, until=item.created_at)
        recent = self._store.run(ListRecent(workspace, said, most + 2))
        return [one for one in recent if one.id != item.id][:most]


def _may_take_part(item: Item) -> bool:
    """Whether an item can replace another, or be replaced."""
    if item.kind not in _KINDS or item.superseded_by or only_asks(item.text):
        return False
    if not is_in_latin_letters(to_english(item.text)):  # the reader hardly knows other letters
        return False
    return 1 <= len(split_statements(item.text)) <= _MAX_STATEMENTS


def _may_contradict(newer: Item, older: Item) -> bool:
    """Whether a newer item may contradict an older one; tools and pages may not contradict people."""
    if _are_of_different_users(newer, older) and speaks_of_self(older.text):
        return False
    heard = newer.source.trust not in ("tool", "web") or may_replace(newer.source, older.source)
    return heard and older.created_at <= newer.created_at and _may_take_part(older)


def _are_of_different_users(newer: Item, older: Item) -> bool:
    """Whether two users said the two: where one lives has nothing to do with where the other does."""
    users = [item.metadata.get("user") or item.metadata.get("name") for item in (newer, older)]
    return all(item.metadata.get("role") == "user" for item in (newer, older)) and users[0] != users[1]


def _least_chance(newer: Item, older: Item) -> float:
    """The probability from which the newer of two items is taken to replace the older one.

    It is high where one can hardly make the other untrue: in talk, for events and moods, beside courtesies;
    less so if a number or a time differs, or something is taken back. It is as high for what restates the
    older item, and between commits that change different files.
    """
    if _restates(newer, older) or _change_different_files(newer, older):
        return _MIN_CHANCE_OF_RESTATEMENT
    new, old = newer.text, older.text
    is_talk = (_is_talkative(old) and _is_talkative(new)) or (_is_long(new) and _is_personal(old))
    is_courtesy = any(cue("courtesies").match(text) for text in (new, old))
    if not (is_talk or is_courtesy or _cannot_become_untrue(old)):
        return MIN_CHANCE
    is_change = _changes_value(new, old, _MEASURED) or _takes_back(new)
    return _MIN_CHANCE_OF_CHANGE_IN_TALK if is_change else _MIN_CHANCE_IN_TALK


def _restates(newer: Item, older: Item) -> bool:
    """Whether an item was said soon after another, changes none of its values and takes nothing back."""
    if newer.created_at - older.created_at > timedelta(hours=_MAX_HOURS_OF_RESTATEMENT):
        return False
    sorts = _MEASURED + _SCHEDULED + _NAMED
    return not (_changes_value(newer.text, older.text, sorts) or _takes_back(newer.text))


def _change_different_files(newer: Item, older: Item) -> bool:
    """Whether both items are commits, and none of the files that one changes is changed by the other."""
    files = [set(item.metadata.get("files") or ()) for item in (newer, older) if item.kind == "commit"]
    return len(files) == 2 and all(files) and files[0].isdisjoint(files[1])


def _changes_value(newer: str, older: str, sorts: Sequence[str]) -> bool:
    """Whether the newer text names another value than the older one, of one of these sorts."""
    new, old = read_values(newer), read_values(older)
    return any(sort in old and new.get(sort, frozenset()) - old[sort] for sort in sorts)


def _takes_back(text: str) -> bool:
    said = plain_line(text)
    return bool(cue("revokes").search(said) or cue("cancels").search(said))


def _is_talkative(text: str) -> bool:
    """Whether a text is long or exclaims, as friends talk; notes, orders and reports seldom do."""
    return _is_long(text) or _EXCLAMATION.search(text) is not None


def _is_long(text: str) -> bool:
    return len(text.split()) > _MAX_TERSE_WORDS


def _is_personal(text: str) -> bool:
    """Whether a text is about its speaker and names no number, time, day or month."""
    return bool(cue("speakers").search(plain_line(text))) and not _has_value(text)


def _cannot_become_untrue(text: str) -> bool:
    """Whether a text reports a past event, or a feeling without any number, time, day or month."""
    said = plain_line(text)
    if cue("events").search(said):
        return True
    return bool(cue("moods").search(said)) and not _has_value(text)


def _has_value(text: str) -> bool:
    """Whether a text has a number, a time, a day or a month."""
    return not read_values(text).keys().isdisjoint(_MEASURED + _SCHEDULED)


def _choose_nearest(candidates: Sequence[tuple[float, Item]]) -> list[Item]:
    """The candidates that are compared with a new item: the nearest ones, each once."""
    by_id = {item.id: (cosine, item) for cosine, item in candidates if cosine >= _MIN_COSINE}
    return [item for _, item in sorted(by_id.values(), key=lambda one: -one[0])[:_MAX_COMPARED]]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _describe_pair(pair: _Pair) -> tuple[str, str]:
    """The newer and the older statement, worded as those that the reader was taught with."""
    now = pair.newer.created_at
    newer = describe_statement(_as_turn(pair.newer), pair.newer.text[:_MAX_CHARACTERS], now)
    if pair.before is not None:
        newer += f" (after {speaker_word(pair.before)}: {pair.before.text[:_MAX_CHARACTERS_BEFORE]})"
    return newer, describe_statement(_as_turn(pair.older), pair.older.text[:_MAX_CHARACTERS], now)


def _as_turn(item: Item) -> Item:
    """A memory as something that its author said; any other item as it is.

    Few of the pairs that the reader was taught with are memories, so it doubts that one replaces another.
    """
    return replace(item, kind="turn") if item.kind == "memory" else item


def surely_replaces(relation: Relation) -> bool:
    """Whether a relation says, with enough confidence, that one item replaces another."""
    return relation.type == REPLACES and relation.confidence >= SURE_REPLACEMENT
