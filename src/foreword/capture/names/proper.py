"""Whose name is it? Capitalised runs, and listed names in any case, become people, organisations and places.

Knows the lists of `gazetteer` and `given` and the `cues`. A capital at the beginning of a
sentence tells nothing, nor does one where everything is capitalised: there, only listed names count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.capture.names import cues
from foreword.capture.names.company import in_company
from foreword.capture.names.gazetteer import (
    ALSO_FAMILIES,
    ALSO_PLAIN,
    DEMONYMS,
    ORGANISATION_ENDINGS,
    ORGANISATION_HEADS,
    ORGANISATIONS,
    PLACE_BEGINNINGS,
    PLACE_ENDINGS,
    PLACES,
    THINGS,
)
from foreword.capture.names.given import ALSO_WORDS, FAMILY_NAMES, GENDERS, TITLES, is_family_name
from foreword.capture.names.shapes import Mention
from foreword.capture.names.surroundings import Surroundings
from foreword.capture.names.words import is_common, is_plain, split
from foreword.text.words import STOPWORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.types import EntityType

_BETWEEN_PEOPLE = frozenset({"bin", "ibn", "ter", "van"})
_LINKS = (["von", "der"], ["von", "den"], ["von", "dem"])
_FULL = 2
_LONGEST_LISTED = 4
_LONGEST_PERSON = 4
_LONGEST_ACTOR = 3
_LONGEST_RUN = 8
_ARTICLES = ("the", "a", "an", "this", "that")
_AT_PLACES = cues.BEFORE_PLACE | cues.ALONG
_TOWARDS = cues.BEFORE_PLACE | {"from", "to"}
_GOING_ON = STOPWORDS - {"is", "has", "was", "or"}
_FAMILY_ONLY = FAMILY_NAMES - ALSO_WORDS
_LISTS: tuple[tuple[EntityType, frozenset[str]], ...] = (
    ("place", PLACES),
    ("organisation", ORGANISATIONS),
    ("thing", THINGS),
)


def names(text: str) -> Iterator[Mention]:
    """The names in a text, in order; `text` is without what has a shape of its own."""
    words = split(text)
    found: list[Mention] = []
    first = 0
    for at in range(1, len(words) + 1):
        if at == len(words) or words[at].opens:
            found += _Sentence(text, words, first, at).names()
            first = at
    return in_company(text, found)


class _Sentence(Surroundings):
    """One sentence, and the names in it."""

    def names(self) -> Iterator[Mention]:
        """The names of the sentence, in order."""
        at = self.first
        while at < self.last:
            end, found = self._capitals(at) if self._begins_run(at) else self._listed(at)
            yield from found
            at = end

    def _begins_run(self, at: int) -> bool:
        word = self.words[at]
        return word.capital and not self.caseless and not is_plain(word)

    # Names by their capitals ----------------------------------------------------------------------------

    def _capitals(self, at: int) -> tuple[int, list[Mention]]:
        """The run of capitalised words from here, as names, and where it ends."""
        end = self._run_end(at)
        found = []
        while at < end:
            size, kind = self._segment(at, end)
            if kind is not None:
                found.append(self._mention(at, at + size, kind))
            at += size
        return end, found

    def _run_end(self, at: int) -> int:
        end = at + 1
        most = min(self.last, at + _LONGEST_RUN)
        while end < most:
            bridge = self._bridge(end, most)
            if bridge is None:
                break
            end = bridge + 1
        return end

    def _bridge(self, at: int, most: int) -> int | None:
        """Where the next capitalised word of the run stands: here, or behind `de`, `van`, `of the`."""
        word = self.words[at]
        if not word.glued:
            return None
        if word.capital and not is_plain(word):
            return at
        heads = self.words[at - 1].folded in ORGANISATION_HEADS
        if word.folded == "of" and heads:
            after = at + 2 if at + 1 < most and self.words[at + 1].folded == "the" else at + 1
        elif self.is_particle(at):
            after = self.after_particles(at, most)
        else:
            return None
        return after if after < most and self.words[after].capital and self.words[after].glued else None

    def _segment(self, at: int, end: int) -> tuple[int, EntityType | None]:
        """How many words from here are one name, and of what; None for none."""
        word = self.words[at]
        if word.folded in TITLES and end - at > 1:
            return 1, None  # the title is told by the name after it
        if self.titled(at):
            return self.at_most(at, end, _LONGEST_PERSON), "person"
        listed, ending = self._longest_listed(at, end), self._ending(at, end)
        if ending is not None and (listed is None or ending[0] > listed[0]):
            return ending
        if word.folded in GENDERS and self._is_person(at, end):
            return self._person_size(at, end), "person"
        if listed is not None:
            return listed
        last = self.words[end - 1].folded
        if self._is_linked(at, end) or (end - at > 1 and is_family_name(last) and last not in DEMONYMS):
            return self.at_most(at, end, _LONGEST_PERSON), "person"
        return self._unlisted(at, end)

    def _ending(self, at: int, end: int) -> tuple[int, EntityType] | None:
        """A run that ends like an organisation or a place, or begins like one."""
        folded = [word.folded for word in self.words[at:end]]
        if len(folded) > 2 and folded[0] in ORGANISATION_HEADS and folded[1] == "of":
            return len(folded), "organisation"
        if "&" in self.text[self.words[at].start : self.words[end - 1].end]:
            return len(folded), "organisation"
        for size in range(len(folded), 1, -1):
            last = folded[size - 1]
            if last in ORGANISATION_ENDINGS:
                return size, "organisation"
            if last in PLACE_ENDINGS and not self._is_family(at, at + size):
                return size, "place"
        if folded[0] in PLACE_BEGINNINGS and len(folded) > 1:
            return 2, "place"
        if folded[0] == "project" and len(folded) > 1:
            return 2, "thing"
        return None

    def _is_family(self, at: int, end: int) -> bool:
        """Whether a word that ends places is somebody's family name here: `Christopher Lane is on leave`."""
        first, last = self.words[at].folded, self.words[end - 1].folded
        if first in GENDERS and last in FAMILY_NAMES:
            return True
        if last not in ALSO_FAMILIES or self.before(at) in _AT_PLACES:
            return False
        return (first in GENDERS and first not in ALSO_WORDS) or (end - at == 2 and self.acts(end))

    def _is_person(self, at: int, end: int) -> bool:
        """Whether a given name is one here: it may be a word or a place as well."""
        word = self.words[at]
        if end - at > 1 and self.words[at + 1].folded not in ORGANISATIONS:
            return " ".join((word.folded, self.words[at + 1].folded)) not in PLACES
        if word.folded in PLACES and self.before(at) in _TOWARDS:
            return False
        if word.opens and word.folded in ALSO_WORDS:
            return self.after(end) in cues.AFTER_PERSON or self._alone(at, end)
        return True

    def _alone(self, at: int, end: int) -> bool:
        """Whether a name is all there is, as in a list of names or under a letter."""
        return self.first == at and self.last == end and at > 0

    def _person_size(self, at: int, end: int) -> int:
        """How many words belong to the person: up to the next listed organisation, place or thing."""
        size = 1
        while size < self.at_most(at, end, _LONGEST_PERSON):
            folded = self.words[at + size].folded
            listed = folded in ORGANISATIONS or folded in PLACES or folded in THINGS
            if listed and folded not in FAMILY_NAMES and folded not in GENDERS:
                break
            size += 1
        return size

    def _longest_listed(self, at: int, end: int) -> tuple[int, EntityType] | None:
        for size in range(min(end - at, _LONGEST_LISTED), 0, -1):
            phrase = " ".join(word.folded for word in self.words[at : at + size])
            for kind, entries in _LISTS:
                if phrase in entries and not self._merely_opens(at, phrase):
                    return size, kind
        return None

    def _merely_opens(self, at: int, phrase: str) -> bool:
        """Whether a listed name that is a plain word, too, has its capital from the sentence."""
        word = self.words[at]
        if phrase == "us":
            return word.text != "US"
        return word.opens and phrase in ALSO_PLAIN and self.after(at + 1) in _GOING_ON

    def _unlisted(self, at: int, end: int) -> tuple[int, EntityType | None]:
        """What surroundings tell of a run that no list knows."""
        word, size = self.words[at], end - at
        if size > 1 and (word.folded in DEMONYMS or self.stands_before_name(at)):
            return 1, None
        if size == _FULL and self._is_full_name(at):
            return size, "person"
        if size == 1 and is_common(word):
            return size, None
        if word.opens and size == 1:
            return 1, "person" if self.surely_acts(at) else None
        kind = self._by_cue(at, size, self.before(at))
        if kind is None and not (size == 1 and word.text.isupper()):
            kind = "thing"
        return size, kind

    def _is_full_name(self, at: int) -> bool:
        """Whether a listed given name is the family name of somebody here."""
        word = self.words[at]
        usual = len(word.text) > _FULL and not word.text.isupper() and word.folded not in cues.BEFORE_PERSON
        return usual and self.words[at + 1].folded in GENDERS and self.before(at) not in _AT_PLACES

    def _is_linked(self, at: int, end: int) -> bool:
        """Whether `van`, `bin` or `von der` stands between two names; a German `der` alone tells nothing."""
        small = [word.folded for word in self.words[at:end] if not word.capital]
        return any(word in _BETWEEN_PEOPLE for word in small) or small[:2] in _LINKS

    def _by_cue(self, at: int, size: int, before: str) -> EntityType | None:
        shouted = self.words[at].text.isupper()
        working = before in ("for", "by", "of") and self.near(at, cues.WORKING)
        if working or before in cues.BEFORE_ORGANISATION:
            return "organisation"
        if shouted:
            return None
        cued = before in cues.BEFORE_PERSON or self.acts(at + size) or self.is_called(at)
        addressed = before == "to" and self.near(at, cues.TALKING)
        named = before == "is" and self.before(at - 1) == "name"
        if (cued or addressed or named) and size < _LONGEST_ACTOR and before not in _ARTICLES:
            return "person"
        moving = before in ("to", "from") and self.near(at, cues.MOVING)
        return "place" if moving or before in cues.BEFORE_PLACE else None

    # Names in any case ----------------------------------------------------------------------------------

    def _listed(self, at: int) -> tuple[int, list[Mention]]:
        """The listed name that begins here, whatever its case, and where it ends."""
        word = self.words[at]
        if self.before(at) == "me" and self.near(at, ("call",)) and word.folded in GENDERS:
            return at + 1, [self._mention(at, at + 1, "person")]
        if len(word.folded) < 3 or (word.capital and not self.caseless):
            return at + 1, []
        end = at + 1
        while end < min(self.last, at + _LONGEST_LISTED) and self.words[end].glued:
            end += 1
        listed = self._longest_listed(at, end)
        if listed and " ".join(word.folded for word in self.words[at : at + listed[0]]) not in ALSO_PLAIN:
            return at + listed[0], [self._mention(at, at + listed[0], listed[1])]
        if word.folded in GENDERS and word.folded not in ALSO_WORDS and word.folded not in ALSO_PLAIN:
            size = 2 if end - at > 1 and self.words[at + 1].folded in _FAMILY_ONLY else 1
            return at + size, [self._mention(at, at + size, "person")]
        return at + 1, []

    def _mention(self, at: int, end: int, kind: EntityType) -> Mention:
        start, stop = self.words[at].start, self.words[end - 1].end
        told = self._told(at) if kind == "person" else {}
        return Mention(self.text[start:stop], kind, start, stop, told)

    def _told(self, at: int) -> dict[str, str]:
        """What title and given name tell: how one is addressed, and whom the name mostly names."""
        title = self.words[at - 1] if self.titled(at) else None
        gender = (TITLES[title.folded] if title else "") or GENDERS.get(self.words[at].folded, "")
        told = {"address": title.text} if title else {}
        return {**told, "gender": gender} if gender else told
