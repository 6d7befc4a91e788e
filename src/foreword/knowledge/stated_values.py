"""The values that a text states, each read whole and with its kind: "555-0101" is one value, not two numbers.

A kind says what a value can be corrected to: a phone number to another, an amount of money to another, a name
to another. `fit` says whether one value can stand in the place of another, and how closely.

    digits      555-0100, +49 170 5550100, 4929 1234 5678
    number      3 plates, 500 euros, 10-12, three; its unit is what can be told of the word after it
    version     2.3.1, v3
    address     10.0.0.1:8080, fe80:0:0:1
    date        12 June, 1990-04-12
    name        Park Hotel, Model 3, LH 430
"""

from __future__ import annotations

import re
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from foreword.knowledge.progress_cues import cue_pattern
from foreword.knowledge.word_lists import word_list
from foreword.text.fact_values import normalize_number
from foreword.text.fact_vocabulary import EMPTY, MONTH_NUMBERS, SPELLINGS, UNITS
from foreword.text.sentences import sentence_spans
from foreword.text.translate import english_words
from foreword.text.words import STOPWORDS, fold_case, key_by_word

if TYPE_CHECKING:
    from collections.abc import Iterator

CLOSELY, LOOSELY = 2, 1
"""How one value fits another: it is most probably about the same, or it may be."""

_MAX_CACHED_TEXTS, _MAX_CHARACTERS = 8_192, 2_000
_MIN_DIGITS = 7
"""A row of digits with at least so many counts nothing; it is a phone number, an account or the like."""

_MIN_DIGITS_OF_CODE = _YEAR_DIGITS = 4
_MAX_HOUR, _MAX_DAY, _MAX_VERSION = 24, 31, 99
_CLOSE_RATIO, _MAX_RATIO_OF_COUNTS = 4, 100
"""How many times a number is at most the other if both are closely alike, or both count the same things."""

_DAYS = (
    "monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tues?|wed|thurs?|fri|montag|dienstag"
    "|mittwoch|donnerstag|freitag|samstag|sonntag|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes"
    "|martes|miercoles|jueves|viernes|sabado|domingo"
)
_MONTHS = "|".join((*(name for name in MONTH_NUMBERS if len(name) > 3 and name != "sept"), "may", "mai"))
_SHORT_MONTHS = "|".join(sorted(MONTH_NUMBERS, key=len, reverse=True))
_NUMBER_WORDS = (
    "(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-(?:one|two|three|four|five|six|seven|eight|nine))?"
    "|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    "|eighteen|nineteen|hundred|thousand"
)
_MORE_UNITS = {
    "eur": "cent cents chf franc francs yen rupees",
    "gbp": "pound pounds quid",
    "kg": "g gram grams gramm lb lbs oz ounce ounces tonne tonnes stone",
    "m": "mm mile miles inch inches ft foot feet yard yards meilen meile",
    "l": "l litre litres liter liters ml cl gallon gallons",
    "degrees": "° °c °f degree degrees grad",
}
_DIMENSIONS = {
    "money": "eur usd gbp",
    "span": "second minute hour day night week month year quarter ms",
    "data": "kb mb gb tb",
    "share": "%",
    "mass": "kg",
    "length": "km m cm",
    "volume": "l",
    "heat": "degrees",
}
_DIMENSION_OF_UNIT = {
    word: key_by_word(_DIMENSIONS)[unit] for word, unit in {**UNITS, **key_by_word(_MORE_UNITS)}.items()
}
_UNIT_AFTER = re.compile(r"[ -]?(?P<unit>[%€$£]|°[cf]?|[a-z]+)")
_PLURAL_AFTER = re.compile(r"(?: [a-z]+)? (?P<noun>[a-z]{3,}s)\b")
_YEARS = r"(?:19|20)\d\d"
_PATTERNS: dict[str, re.Pattern[str]] = {
    "email": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    "version": re.compile(
        r"\bv\d+(?:\.\w+)*(?:-\w+)?\b|(?<![\w.,])(?!\d{1,3}(?:\.\d{3})+\b)(?!\d{1,2}\.\d{1,2}\.\d{4}\b)"
        r"\d+\.\d+\.\d+(?:-?(?:rc|alpha|beta|a|b)[.-]?\d*)?(?![\w:]|\.\d)"
    ),
    "address": re.compile(
        r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d+)?(?!\w)|\b(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}\b"
    ),
    "identifier": re.compile(
        rf"\b(?!(?:{_NUMBER_WORDS})\b)(?=[^\Wa-z]*[a-z])\w+(?:[_./@-]+\w+)+\b|\b0x[0-9a-f]+\b"
    ),
    "date": re.compile(
        rf"\b\d{{4}}([-/])\d\d?\1\d\d?\b|\b\d\d?([./-])\d\d?\2(?:\d{{4}}|\d\d)\b|\b{_YEARS} ?[-–] ?{_YEARS}\b"
        rf"|\b\d\d?(?:st|nd|rd|th|\.)? (?:(?:of|de) )?(?:{_SHORT_MONTHS})\b(?:,? (?:de )?{_YEARS}\b)?"
        rf"|\b(?:{_SHORT_MONTHS})\b\.? (?:the )?\d\d?(?:st|nd|rd|th)?\b(?![:.]\d)(?:,? {_YEARS}\b)?"
        rf"|\b(?:{_SHORT_MONTHS})\b {_YEARS}\b"
    ),
    "day": re.compile(rf"\b(?:{_DAYS})s?\b"),
    "month": re.compile(rf"\b(?:{_MONTHS})\b"),
    "time": re.compile(
        r"\b\d{1,2}(?:[:.]\d\d)?\s?(?:[ap]m\b|[ap]\.m\.|uhr\b|h(?:\d\d)?\b|o'clock\b)"
        r"|\b\d{1,2}:\d\d(?::\d\d)?\b|\bnoon\b|\bmidnight\b"
    ),
    "ordinal": re.compile(r"\b\d+(?:st|nd|rd|th)\b"),
    "digits": re.compile(r"(?<![\w.,])(?:\+|\(|\+\()?\d+\)?(?:[ ./-]{1,2}\(?\d{2,}\)?)*(?!\w|[.,]\d)"),
    "number": re.compile(
        rf"\b(?:\d+(?:[.,'’]\d+)*(?:[/–-]\d+)*(?:k\b|(?=[^\W\d_]+\b)|\b)|(?:{_NUMBER_WORDS})\b)"
    ),
    "code": re.compile(r"\b(?=[a-z]*\d)(?=\d*[a-z])\w+\b"),
}
"""The kinds in the order in which they are read; what one has read, the next ones do not see."""

_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?: \d{3})+")
_LAST_NUMBER = re.compile(r"(?<![\d.])\d+\Z")
_CAPITAL = r"[A-ZÀ-ÖØ-Þ]"
_NAME_WORD = rf"(?:(?:Dr|Mrs?|Ms|St|Prof)\.|{_CAPITAL}[\w&.-]*\w|{_CAPITAL}(?![\w.]))"
_NAME_LINKS = r"(?:(?:of|de|van|von|der|la|du|del) )*"
_NAME = re.compile(rf"(?<![\w'’@]){_NAME_WORD}(?:['’]s)?(?: {_NAME_LINKS}(?:{_NAME_WORD}|\d[\w.-]*))*")
_ENDINGS = ("s", "es", "d", "ed", "ing", "ly", "r", "er")


class Value(NamedTuple):
    """A value as it is compared, the words of it, and of a number what it measures or counts.

    A part is a value inside another one: the month of a date, the number in a name.
    """

    kind: str
    words: tuple[str, ...]
    unit: str = ""
    is_part: bool = False

    def is_same(self, other: Value) -> bool:
        """Whether two values are one; a name or a date may be given in full or in part."""
        if self.kind != other.kind:
            return False
        if self.kind not in ("name", "date"):
            return self.words == other.words
        return set(self.words) <= set(other.words) or set(self.words) >= set(other.words)


def values_by_kind(text: str) -> dict[str, frozenset[str]]:
    """The whole values that a text names, each in its words, by kind."""
    found: dict[str, set[str]] = {}
    for value in read_values(text):
        if not value.is_part:
            found.setdefault(value.kind, set()).add(" ".join(value.words))
    return {kind: frozenset(words) for kind, words in found.items()}


def closeness_of_fit(new: Value, old: Value) -> int:
    """How closely a new value fits in the place of an old one; 0 if it does not."""
    kinds = {new.kind, old.kind}
    if kinds == {"number"}:
        return _closeness_of_numbers(new, old)
    if kinds == {"name"}:
        return LOOSELY if set(new.words).isdisjoint(old.words) else CLOSELY
    if len(kinds) == 1:
        return CLOSELY
    number = new if new.kind == "number" else old
    if kinds == {"number", "time"}:
        return CLOSELY if not number.unit and 0 < _magnitude(number) <= _MAX_HOUR else 0
    if kinds in ({"number", "ordinal"}, {"number", "date"}):
        return LOOSELY if not number.unit and 0 < _magnitude(number) <= _MAX_DAY else 0
    if kinds == {"number", "digits"}:
        return LOOSELY if not number.unit and len(number.words[0]) >= _MIN_DIGITS_OF_CODE else 0
    if kinds == {"number", "version"}:
        return LOOSELY if not number.unit and _magnitude(number) <= _MAX_VERSION else 0
    return LOOSELY if kinds in ({"ordinal", "date"}, {"code", "identifier"}, {"day", "date"}) else 0


def _closeness_of_numbers(new: Value, old: Value) -> int:
    """How closely two numbers fit: by what they measure or count, and by how large they are."""
    units = {value.unit for value in (new, old) if value.unit}
    if len(units) > 1 and not units.isdisjoint(_DIMENSIONS):
        return 0
    smaller, larger = sorted((_magnitude(new), _magnitude(old)))
    ratio = larger / smaller if smaller else _CLOSE_RATIO
    counts = bool(old.unit) and old.unit not in _DIMENSIONS
    if counts and (ratio > _MAX_RATIO_OF_COUNTS or "." in new.words[0]):
        return 0
    is_alike = ratio <= _CLOSE_RATIO and ("-" in new.words[0]) == ("-" in old.words[0])
    return CLOSELY if len(units) < 2 and (is_alike or new.unit == old.unit != "") else LOOSELY


def _magnitude(number: Value) -> float:
    """How large a number is; 0 if that cannot be told."""
    digits = re.match(r"\d+(?:\.\d+)?", number.words[0])
    return float(digits.group()) * (1000 if number.words[0].endswith("k") else 1) if digits else 0.0


# Reading --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def read_values(text: str, *, opens_with_name: bool = False) -> frozenset[Value]:
    """The values of a text; of a long one, those of its beginning.

    A word that begins a sentence is a name only if it is no ordinary word; with `opens_with_name`, the first
    word of the text may be one all the same.
    """
    text = text[:_MAX_CHARACTERS]
    found: set[Value] = set()
    folded = fold_case(text)
    for kind, pattern in _PATTERNS.items():
        folded = pattern.sub(partial(_add_value_and_blank_match, kind, found), folded)
    return frozenset(_mark_parts_of_names(found, _read_names(text, opens_with_name=opens_with_name)))


def _add_value_and_blank_match(kind: str, found: set[Value], match: re.Match[str]) -> str:
    """Put what a match stands for, and its parts, into `found`; return what other kinds see in its place."""
    value = _make_value(kind, match)
    if value is None:
        return match.group()
    found.update((value, *_correctable_parts(value)))
    return " " * len(match.group())


def _make_value(kind: str, match: re.Match[str]) -> Value | None:
    """The value that a match of a kind's pattern stands for; None if it is none."""
    written = match.group()
    match kind:
        case "digits":
            digits = re.sub(r"\D", "", written)
            is_row = len(digits) >= _MIN_DIGITS and not _THOUSANDS.fullmatch(written)
            return Value(kind, (digits,)) if is_row and not _dimension_of_unit_after(match) else None
        case "number":
            if match.string[match.end() : match.end() + 1].isalpha() and not _dimension_of_unit_after(match):
                return None  # the beginning of "2AA"
            return Value(kind, (_number_in_figures(written),), _unit_or_counted_noun(match))
        case "date" | "month":
            return Value(kind, tuple(_normalize_date_parts(written)))
        case "day":
            return Value(kind, (written.rstrip("s"),))
        case "version":
            return Value(kind, (written.removeprefix("v"),))
        case "time":
            return Value(kind, (re.sub(r"[\s.]", "", written),))
        case _:
            return Value(kind, (written,))


def _number_in_figures(written: str) -> str:
    """A number in figures; one with several parts, as 10-12, unchanged."""
    if written[0].isdigit():
        return normalize_number(written)
    return str(sum(int(SPELLINGS[word]) for word in written.split("-")))


def _unit_or_counted_noun(match: re.Match[str]) -> str:
    """What a number measures ("money"), or the noun in the plural that it counts; else ""."""
    if match.string[: match.start()].rstrip()[-1:] in tuple("€$£"):
        return "money"
    if dimension := _dimension_of_unit_after(match):
        return dimension
    noun = _PLURAL_AFTER.match(match.string, match.end())
    return noun["noun"] if noun and noun["noun"] not in EMPTY else ""


def _dimension_of_unit_after(match: re.Match[str]) -> str:
    after = _UNIT_AFTER.match(match.string, match.end())
    return _DIMENSION_OF_UNIT.get(after["unit"], "") if after else ""


def _normalize_date_parts(written: str) -> Iterator[str]:
    """The numbers of a date, without zeros before them; the name of a month becomes one that is marked."""
    for word in re.findall(r"[a-z]+|\d+", written):
        if word.isdigit():
            yield str(int(word))
        elif word in MONTH_NUMBERS:
            yield f"month {MONTH_NUMBERS[word]}"


def _correctable_parts(value: Value) -> Iterator[Value]:
    """What can be corrected alone: month and year of a date, the number at the end of an identifier."""
    if value.kind in ("identifier", "code") and (number := _LAST_NUMBER.search(value.words[0])):
        yield Value("number", (number.group(),), is_part=True)
    for word in value.words if value.kind == "date" else ():
        if not word.isdigit():
            yield Value("month", (word,), is_part=True)
        elif len(word) == _YEAR_DIGITS:
            yield Value("number", (word,), is_part=True)


def _mark_parts_of_names(values: set[Value], names: set[Value]) -> Iterator[Value]:
    """The names, and the other values; those that stand in a name are parts of it."""
    yield from names
    words = {word for name in names if len(name.words) > 1 for word in name.words}
    for value in values:
        yield value._replace(is_part=value.is_part or not words.isdisjoint(value.words))


def _read_names(text: str, *, opens_with_name: bool) -> set[Value]:
    """The names of a text: the runs of words that have capitals, with the numbers in and after them."""
    starts = {start for start, _ in sentence_spans(text)}
    if opens_with_name:
        starts.discard(min(starts, default=0))
    runs = ((match.start() in starts, _words_of_name(match.group())) for match in _NAME.finditer(text))
    names = (_trim_name(words, opens_sentence=opens) for opens, words in runs)
    return {Value("name", tuple(words)) for words in names if words}


def _words_of_name(written: str) -> list[str]:
    return [fold_case(word).removesuffix("'s").strip(".") for word in written.replace("’", "'").split()]


def _trim_name(words: list[str], *, opens_sentence: bool) -> list[str]:
    """The words of a run without those at its ends that belong to no name."""
    if opens_sentence and (len(words) == 1 or words[1].isdigit()) and _is_everyday_word(words[0]):
        words = words[1:]
    while words and not _may_open_name(words[0]):
        words = words[1:]
    while words and not _may_end_name(words[-1]):
        words = words[:-1]
    return words


def _may_open_name(word: str) -> bool:
    """Whether a word can begin a name: no number, stop word, day, month or word that opens a correction."""
    return (
        len(word) > 1
        and _may_end_name(word)
        and word[0].isalpha()
        and not cue_pattern("contradicts").match(word)
    )


def _may_end_name(word: str) -> bool:
    if len(word) == 1:  # "Model Y"
        return word not in ("a", "i")
    return word not in STOPWORDS and word not in MONTH_NUMBERS and not _PATTERNS["day"].fullmatch(word)


@cache
def _ordinary_words() -> frozenset[str]:
    return english_words() | word_list("common") | word_list("small_talk")


def _is_everyday_word(word: str) -> bool:
    """Whether a word, or the word that it is a form of, is one of everyday English and no name."""
    known = _ordinary_words()
    stems = (word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending) and len(word) > 4)
    return word in known or any(stem in known for stem in stems)
