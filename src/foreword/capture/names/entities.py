"""Find the names in a text: people, organisations, places, addresses, files, versions, tickets, dates, code.

Works offline. First come names with an unmistakable shape, and dates; then, in the rest of the text, names by
their capitals, by short lists and by the words beside them. A capital at the beginning of a sentence proves
nothing, nor does one where everything is capitalised: there only listed names are found. Capitalised words
that are in no list are a `thing`, unless the words beside them show what they are. The time grows linearly
with the text.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from foreword.capture.names import word_lists as lists
from foreword.capture.names.shapes import UNITS, Mention, find_mentions_by_shape
from foreword.text.dates import find_dates
from foreword.text.words import STOPWORDS, fold_case

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from foreword.types import EntityType

MAX_CHARACTERS_READ = 1_000_000
"""At most this many characters of a text are read."""

FINDER_VERSION = 1
"""Raised whenever other mentions are found in the same text: those that were stored are then found again."""

_COVER = "|"
"""Replaces every character of a mention that was found, so that no name reaches across it."""

_ANY_MOMENT = datetime(2000, 1, 1, tzinfo=UTC)
"""The moment at which dates are read. It does not matter, as their meaning is not used here."""

_MAX_GIVEN_NAME_CHARACTERS = 14
_HOURS = re.compile(r"\b(?:hour|minute)s?\b", re.IGNORECASE)
_MIXED = r"(?![QH][1-4]\b|FY\d)[A-Za-z]{1,4}+-?\d{1,4}[A-Za-z]{0,2}+"
_EDITION = (
    "Air|Basic|Classic|Core|Deluxe|Duo|Edge|Elite|Enterprise|Flex|Go|Home|Lite|Max|Mini|Nano|Neo|One|Plus"
    "|Premium|Pro|SE|Slim|Standard|Ultra|XL|XS"
)
_END_OF_MODEL = r"(?![\w%°€$£:/]|[.,]\d)"
_MODEL = re.compile(
    rf"(?:(?:[ -]?\d{{1,4}}[A-Za-z]{{0,2}}+|[ -](?:{_MIXED}|II|III|IV|VI{{0,3}}|IX|X|{_EDITION}))"
    rf"{_END_OF_MODEL})++"
)
_MODEL_OF_FIRM = re.compile(rf"(?:[ -]{_MIXED}{_END_OF_MODEL})++")


def find_entities(text: str) -> tuple[Mention, ...]:
    """The mentions in a text, in order. Where two would overlap, the longer is kept."""
    text = text[:MAX_CHARACTERS_READ]
    shaped = drop_overlapping_mentions([*find_mentions_by_shape(text), *_find_date_mentions(text)])
    covered = _mask_mentions(text, shaped)
    found = sorted((*shaped, *_find_names_in_text(covered)), key=lambda mention: mention.start)
    return tuple(drop_overlapping_mentions(_extend_with_product_model(mention, covered) for mention in found))


def _find_date_mentions(text: str) -> Iterator[Mention]:
    """The days, weeks, months and years that a text names, in order; times of day alone are left out."""
    for found in find_dates(text, _ANY_MOMENT):
        before = text[max(0, found.start - _MAX_GIVEN_NAME_CHARACTERS) : found.start].split()
        if found.form == "abroad" and before and fold_case(before[-1]) in lists.GENDERS:
            continue  # a person whose family name is a weekday
        if found.form != "clock" and not _HOURS.search(found.text):
            yield Mention(found.text, "date", found.start, found.end)


def drop_overlapping_mentions(mentions: Iterable[Mention]) -> list[Mention]:
    """The mentions in order, without those that overlap a longer one; of two as long, the first stays."""
    kept: list[Mention] = []
    for mention in sorted(mentions, key=lambda mention: (mention.start, -mention.end)):
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
        elif mention.end - mention.start > kept[-1].end - kept[-1].start:
            kept[-1] = mention
    return kept


def _mask_mentions(text: str, mentions: Iterable[Mention]) -> str:
    """The text with every mention replaced by covers, so that all other characters keep their position."""
    parts, end = [], 0
    for mention in mentions:
        parts += [text[end : mention.start], _COVER * (mention.end - mention.start)]
        end = mention.end
    return "".join((*parts, text[end:]))


def _extend_with_product_model(mention: Mention, covered: str) -> Mention:
    """A product with the model after its name (`AirHub 200`, `Galaxy S22 Ultra`); others are unchanged."""
    is_product = mention.entity_type == "thing" or (
        mention.entity_type == "code" and mention.text.isalpha() and mention.text[0].isupper()
    )
    pattern = _MODEL if is_product else _MODEL_OF_FIRM if mention.entity_type == "organisation" else None
    model = pattern.match(covered, mention.end) if pattern else None
    if model is None or UNITS.match(covered, model.end()):
        return mention
    return replace(mention, text=mention.text + model.group(), entity_type="thing", end=model.end())


# Names by their capitals, by lists and by the words beside them ------------------------------------------

_WORD = re.compile(r"[^\W\d_]++(?:['’&-][^\W\d_]++)*+")
_SENTENCE_START = re.compile(r"[.!?:;\n\"“”(\[•*>|…—]|\s[-–]\s|@")
_ABBREVIATIONS = frozenset({"mr", "mrs", "ms", "dr", "prof", "st", "mt", "jr", "sr"})
_NO_NAMES_WHEN_ALONE = (
    lists.ORGANISATION_ENDINGS | lists.PLACE_ENDINGS | lists.TITLES.keys() | lists.KIN_AND_ROLES
)
_ARTICLES = ("the", "a", "an", "this", "that")
_TOWARDS = lists.BEFORE_PLACE | {"from", "to"}
_LISTS: tuple[tuple[EntityType, frozenset[str]], ...] = (
    ("place", lists.PLACES),
    ("organisation", lists.ORGANISATIONS),
    ("thing", lists.THINGS),
)
_FIRST_WORDS = frozenset(entry.partition(" ")[0] for _, entries in _LISTS for entry in entries)
"""The first words of all listed names, so that the lists are searched only after one of these."""

_AFTER_CALL = ("!", "?", ".", ",", "")
_MAX_WORDS_IN_NAME = 4
_MAX_WORDS_IN_RUN = 8
_MAX_WORDS_CUED_AS_PERSON = 2
_WORDS_LOOKED_BACK = 4
_HEADLINE_SHARE = 0.7


def _find_names_in_text(text: str) -> Iterator[Mention]:
    """The names in a text in which the mentions found by their shape are covered, in order."""
    words = _split_into_words(text)
    first = 0
    for at in range(1, len(words) + 1):
        if at == len(words) or words[at].opens_sentence:
            yield from _Sentence(text, words, first, at).find_names()
            first = at


class _Word(NamedTuple):
    """A word with its position. A quotation or an item of a list opens a sentence too."""

    text: str
    folded: str
    start: int
    end: int
    opens_sentence: bool
    is_capitalised: bool
    is_joined: bool
    """Whether only a space, or the dot of an abbreviation, is between it and the word before."""

    @property
    def is_plain(self) -> bool:
        """Whether a capital does not make it a name: a stop word, or one that often begins sentences."""
        stem, _, rest = self.folded.replace("’", "'").partition("'")
        if rest and self.text[-len(rest)].isupper():
            return False  # `O'Neill`
        plain = stem in STOPWORDS or f"{stem}'{rest}".rstrip("'") in lists.CAPITALISED_AT_START
        return plain and (self.folded not in lists.GENDERS or self.folded in STOPWORDS)

    @property
    def cannot_be_name_alone(self) -> bool:
        """Whether the word alone is no name, even with a capital: a people, a language, a role, a letter."""
        stem = self.folded.partition("-")[0]
        people = stem in lists.DEMONYMS or stem.removesuffix("s") in lists.DEMONYMS
        return len(stem) == 1 or people or self.folded in _NO_NAMES_WHEN_ALONE


class _TypedWords(NamedTuple):
    """How many words belong together, and the type of the name that they are; None if they are no name."""

    word_count: int
    type: EntityType | None


def _split_into_words(text: str) -> list[_Word]:
    """The words of a text, in order, without the `'s` of an owner."""
    found: list[_Word] = []
    end = 0
    for match in _WORD.finditer(text):
        value, start = match.group(), match.start()
        gap = text[end:start]
        name = value[:-2] if value.endswith(("'s", "’s")) else value
        abbreviated = gap == ". " and bool(found) and _is_abbreviated(found[-1])
        ends_sentence = gap != " " and not abbreviated and bool(_SENTENCE_START.search(gap))
        is_joined = (gap in (" ", " & ") or abbreviated) and bool(found) and found[-1].end == end
        is_capitalised = name[0].isupper() or name[:3] in ("al-", "el-")
        found.append(
            _Word(
                name,
                fold_case(name),
                start,
                start + len(name),
                ends_sentence or not found,
                is_capitalised,
                is_joined,
            )
        )
        end = match.end()
    return found


def _is_abbreviated(word: _Word) -> bool:
    """Whether a word is an abbreviation or an initial, so that the dot after it ends no sentence."""
    return word.folded in _ABBREVIATIONS or (len(word.text) == 1 and word.is_capitalised and word.text != "I")


class _Sentence:
    """One sentence, in which names are found."""

    def __init__(self, text: str, words: Sequence[_Word], first: int, last: int) -> None:
        self.text = text
        self.words = words
        self.first = first
        self.last = last
        self.caseless = self._are_capitals_uninformative()

    def _are_capitals_uninformative(self) -> bool:
        """Whether capitals do not mark names here: all are capitals, or it is written like a headline."""
        long = [word for word in self.words[self.first : self.last] if len(word.text) > 1]
        if len(long) > 1 and all(word.text.isupper() for word in long):
            return True
        small = any(word.is_capitalised and word.folded in STOPWORDS for word in long[1:])
        return (
            small
            and len(long) > 3
            and sum(word.is_capitalised for word in long) > _HEADLINE_SHARE * len(long)
        )

    def find_names(self) -> Iterator[Mention]:
        """The names of the sentence, in order."""
        at = self.first
        while at < self.last:
            word = self.words[at]
            if word.is_capitalised and not self.caseless and not word.is_plain:
                end = self._find_end_of_capitalised_words(at)
                while at < end:
                    found = self._classify_name(at, end)
                    if found.type is not None:
                        yield self._make_mention(at, at + found.word_count, found.type)
                    at += found.word_count
            else:
                found = self._find_listed_name_ignoring_case(at)
                if found.type is not None:
                    yield self._make_mention(at, at + found.word_count, found.type)
                at += found.word_count

    # A run of capitalised words

    def _find_end_of_capitalised_words(self, at: int) -> int:
        """The end of the run of capitalised words that begins at a word."""
        end, limit = at + 1, min(self.last, at + _MAX_WORDS_IN_RUN)
        while end < limit:
            following = self._find_next_capitalised_word(end, limit)
            if following is None:
                break
            end = following + 1
        return end

    def _find_next_capitalised_word(self, at: int, limit: int) -> int | None:
        """The next capitalised word of a run: at `at`, or after `de`, `van der`, `of the`; else None."""
        word, after = self.words[at], at
        if not word.is_joined:
            return None
        if word.is_capitalised and not word.is_plain:
            return at
        if word.folded == "of" and self.words[at - 1].folded in lists.ORGANISATION_HEADS:
            after += 2 if at + 1 < limit and self.words[at + 1].folded == "the" else 1
        else:
            while after < min(limit, at + 3) and self._is_particle(after):
                after += 1
        reached = at < after < limit and self.words[after].is_capitalised and self.words[after].is_joined
        return after if reached else None

    def _classify_name(self, at: int, end: int) -> _TypedWords:
        """The words from `at` on that are one name, with its type; no type if they are no name."""
        word = self.words[at]
        if word.folded in lists.TITLES and end - at > 1:
            return _TypedWords(1, None)  # the title belongs to the name after it
        if self._follows_personal_title(at):
            return _TypedWords(self._count_words_of_person_name(at, end), "person")
        listed, ending = self._find_longest_listed_name(at, end), self._classify_by_edge_word(at, end)
        if ending is not None and (listed is None or ending.word_count > listed.word_count):
            return ending
        if word.folded in lists.GENDERS and self._means_person(at, end):
            return _TypedWords(self._count_words_of_person_name(at, end), "person")
        return listed or self._classify_by_neighbours(at, end)

    def _count_words_of_person_name(self, at: int, end: int) -> int:
        """How many words a person's name from `at` on has; particles do not count towards the maximum."""
        size = counted = 0
        while at + size < end and counted < _MAX_WORDS_IN_NAME:
            counted += not self._is_particle(at + size)
            size += 1
        return size

    def _classify_by_edge_word(self, at: int, end: int) -> _TypedWords | None:
        """The words of a run that are one name by its first or last word; None if that is unknown."""
        folded = [word.folded for word in self.words[at:end]]
        if len(folded) > 2 and folded[0] in lists.ORGANISATION_HEADS and folded[1] == "of":
            return _TypedWords(len(folded), "organisation")
        if "&" in self.text[self.words[at].start : self.words[end - 1].end]:
            return _TypedWords(len(folded), "organisation")
        given = folded[0] in lists.GENDERS and folded[0] not in lists.ALSO_WORDS
        for size in range(len(folded), 1, -1):
            last = folded[size - 1]
            if last in lists.ORGANISATION_ENDINGS:
                return _TypedWords(size, "organisation")
            if last in lists.PLACE_ENDINGS and not (given and last in lists.ALSO_FAMILIES):
                return _TypedWords(size, "place")
        if len(folded) > 1 and folded[0] in lists.PLACE_BEGINNINGS:
            return _TypedWords(2, "place")
        return _TypedWords(2, "thing") if len(folded) > 1 and folded[0] == "project" else None

    def _means_person(self, at: int, end: int) -> bool:
        """Whether a word that is a given name means a person here, and not an ordinary word or a place."""
        word = self.words[at]
        if end - at > 1:
            return f"{word.folded} {self.words[at + 1].folded}" not in lists.PLACES
        if word.folded in lists.PLACES and self._word_before(at) in _TOWARDS:
            return False
        return not (word.opens_sentence and word.folded in lists.ALSO_WORDS) or self._is_followed_by_action(
            end
        )

    def _find_longest_listed_name(self, at: int, end: int) -> _TypedWords | None:
        """The words of the longest listed name from `at` on, or None."""
        if self.words[at].folded not in _FIRST_WORDS:
            return None
        for size in range(min(end - at, _MAX_WORDS_IN_NAME), 0, -1):
            phrase = " ".join(word.folded for word in self.words[at : at + size])
            for kind, entries in _LISTS:
                if phrase in entries and (phrase != "us" or self.words[at].text == "US"):
                    return _TypedWords(size, kind)
        return None

    def _classify_by_neighbours(self, at: int, end: int) -> _TypedWords:
        """The words of a run, with a type by the words beside it; no type if it is no name."""
        word, size = self.words[at], end - at
        if size > 1 and word.folded in lists.DEMONYMS:
            return _TypedWords(1, None)
        if size == 1 and (word.cannot_be_name_alone or word.opens_sentence):
            return _TypedWords(size, None)
        before, shouted = self._word_before(at), len(word.text) > 1 and word.text.isupper()
        working = before in ("for", "by", "of") and self._has_word_shortly_before(at, lists.WORKING)
        if working or before in lists.BEFORE_ORGANISATION:
            return _TypedWords(size, "organisation")
        if shouted:
            return _TypedWords(size, None if size == 1 else "thing")
        named = before == "is" and self._word_before(at - 1) == "name"
        cued = (
            named
            or before in lists.BEFORE_PERSON
            or self._is_followed_by_action(end)
            or self._is_addressed(at)
        )
        counted = sum(not self._is_particle(index) for index in range(at, end))
        if cued and counted <= _MAX_WORDS_CUED_AS_PERSON and before not in _ARTICLES:
            return _TypedWords(size, "person")
        moving = before in ("to", "from") and self._has_word_shortly_before(at, lists.MOVING)
        return _TypedWords(size, "place" if moving or before in lists.BEFORE_PLACE else "thing")

    # Listed names in any case

    def _find_listed_name_ignoring_case(self, at: int) -> _TypedWords:
        """The words of the listed name from `at` on, in any case; a word without a type if none is."""
        word = self.words[at]
        given = word.folded in lists.GENDERS
        if given and self._word_before(at) == "me" and self._has_word_shortly_before(at, ("call",)):
            return _TypedWords(1, "person")
        if len(word.folded) < 3 or (word.is_capitalised and not self.caseless):
            return _TypedWords(1, None)
        if not given and word.folded not in _FIRST_WORDS:
            return _TypedWords(1, None)
        end = at + 1
        while end < min(self.last, at + _MAX_WORDS_IN_NAME) and self.words[end].is_joined:
            end += 1
        listed = self._find_longest_listed_name(at, end)
        if (
            listed
            and " ".join(part.folded for part in self.words[at : at + listed.word_count])
            not in lists.ALSO_PLAIN
        ):
            return listed
        if given and word.folded not in lists.ALSO_WORDS and word.folded not in lists.ALSO_PLAIN:
            return _TypedWords(1, "person")
        return _TypedWords(1, None)

    # The words beside

    def _word_before(self, at: int) -> str:
        """The word before, if it is in the same sentence; else ""."""
        return self.words[at - 1].folded if at > self.first else ""

    def _has_word_shortly_before(self, at: int, wanted: Container[str]) -> bool:
        """Whether one of the few words before `at` is among the wanted."""
        start = max(self.first, at - _WORDS_LOOKED_BACK)
        return any(word.folded in wanted for word in self.words[start:at])

    def _is_followed_by_action(self, end: int) -> bool:
        """Whether the word after a name is something that people do, such as `said`."""
        return end < self.last and self.words[end].folded in lists.AFTER_PERSON

    def _follows_personal_title(self, at: int) -> bool:
        """Whether a title such as `Dr` is before this word."""
        return at > 0 and self.words[at].is_joined and self.words[at - 1].folded in lists.TITLES

    def _is_addressed(self, at: int) -> bool:
        """Whether the name addresses somebody: a comma is before it, and a stop after it."""
        word, before = self.words[at], self.words[at - 1]
        if at == self.first or (before.is_capitalised and not before.is_plain):
            return False
        return (
            self.text[before.end : word.start] == ", " and self.text[word.end : word.end + 1] in _AFTER_CALL
        )

    def _is_particle(self, at: int) -> bool:
        """Whether the word is a particle that may join the parts of a name, such as `van`."""
        word = self.words[at]
        return word.folded in lists.PARTICLES and not word.is_capitalised and word.is_joined

    def _make_mention(self, at: int, end: int, kind: EntityType) -> Mention:
        """The mention of the words from `at` to `end`, with the gender of a person if it is known."""
        start, stop = self.words[at].start, self.words[end - 1].end
        title = lists.TITLES[self.words[at - 1].folded] if self._follows_personal_title(at) else ""
        gender = title or lists.GENDERS.get(self.words[at].folded, "")
        attributes = {"gender": gender} if gender and kind == "person" else {}
        return Mention(self.text[start:stop], kind, start, stop, attributes)
