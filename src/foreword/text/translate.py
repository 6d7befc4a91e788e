"""Translates texts of other languages into English, word by word, for models that read English alone.

The words are in `lexicons`, one list a language. The result keeps the order of the original, and words that
no list has: it is made for judging what a text is about, and never shown. A text in English, or in a language
without a list, is returned unchanged.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from foreword.text.words import STOPWORDS, split_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_FOLDER = Path(__file__).with_name("lexicons")
_MAX_CACHED_TEXTS, _MAX_CACHED_WORDS = 4_096, 16_384
_WORD = re.compile(r"[^\W\d_]+")
_PIECE = re.compile(r"[^\W_]*\d[^\W_]*|[^\W\d_]+|[\W_]+")
"""Something with a digit in it, a word, or what stands between."""

_UNSPACED = re.compile("[\u3005\u3041-\u30ff\u3400-\u9fff]+")
"""Chinese and Japanese letters; they have no blanks between words."""

_KANA = re.compile("[\u3041-\u30ff]")

_MIN_MARKS_SHARE = 1 / 9
"""The least share of a text's words that are marks of a language, if it is in that language."""

_MAX_VAGUE_MARK = 2
"""A mark of at most this many letters does not show a language by itself."""

_MIN_STEM, _MIN_PART, _MAX_PARTS = 3, 3, 4
"""The least letters of a stem and of a part of a compound, and at most how many parts a compound has."""

_BEFORE_VERBS = ("zu", "ge")
"""What stands between the prefix and the verb in "anzurufen" and "abgemeldet"."""


@dataclass(frozen=True, slots=True)
class _Language:
    """How a language is recognised, and how its words are cut; see `lexicons/languages.toml`."""

    name: str
    marks: frozenset[str]
    letters: re.Pattern[str]
    english: frozenset[str]
    """Frequent English words that are no words of this language."""

    endings: tuple[str, ...]
    min_stem: int
    links: tuple[str, ...]
    prefixes: tuple[str, ...]


class _Lexicon(NamedTuple):
    """The English of the words of a language, by each of their forms; some forms are phrases."""

    forms: Mapping[str, str]
    max_letters: int
    max_words: int


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def to_english(text: str) -> str:
    """The text in English, word by word; unchanged if it is in English or in a language that is not known."""
    if _UNSPACED.search(text):
        lexicon = _read_lexicon("ja" if _KANA.search(text) else "zh")
        return _UNSPACED.sub(lambda run: f" {_translate_unspaced(run[0], lexicon)} ", text)
    language = _recognise_language(text)
    if language is None:
        return text
    return "".join(_translate_words(_PIECE.findall(text), language))


def _recognise_language(text: str) -> _Language | None:
    """The language whose marks a text has most of; None if it has hardly any, or as many English words."""
    counts = Counter(_WORD.findall(text.lower()))
    words = set(counts)
    accented = set() if text.isascii() else {word for word in words if not word.isascii()}
    if not accented and words.isdisjoint(_telling_marks()):  # most English text
        return None
    best, most = None, 0
    for language in _read_languages().values():
        marks = language.marks & words | {word for word in accented if language.letters.search(word)}
        count = (
            sum(counts[word] for word in marks) if any(len(word) > _MAX_VAGUE_MARK for word in marks) else 0
        )
        english = sum(counts[word] for word in language.english & words)
        if count > max(most, english) and count >= _MIN_MARKS_SHARE * counts.total():
            best, most = language, count
    return best


def _translate_unspaced(run: str, lexicon: _Lexicon) -> str:
    """The English of letters without blanks, split so that most of them, in as few words, are known."""
    unknown, words = [0] * (len(run) + 1), [0] * (len(run) + 1)  # of what begins at each place
    sizes = [1] * len(run)
    for at in reversed(range(len(run))):
        ends = range(at + 1, min(len(run), at + lexicon.max_letters) + 1)
        known = [(unknown[end], words[end], at - end) for end in ends if run[at:end] in lexicon.forms]
        left_out = (unknown[at + 1] + 1, words[at + 1], -1)
        unknown[at], words_after, size = min(known, default=left_out)
        words[at], sizes[at] = words_after + 1, -size
    return " ".join(filter(None, _translate_words_of_sizes(run, sizes, lexicon)))


def _translate_words_of_sizes(run: str, sizes: Sequence[int], lexicon: _Lexicon) -> Iterator[str]:
    """The English of each word, or the letter itself; `sizes` has the size of the word at each place."""
    at = 0
    while at < len(run):
        word = run[at : at + sizes[at]]
        yield lexicon.forms.get(word, word)
        at += len(word)


def _translate_words(pieces: Sequence[str], language: _Language) -> Iterator[str]:
    """The English of words, and what stands between them as it is; phrases that are known go first."""
    forms, _, max_words = _read_lexicon(language.name)
    at = 0
    while at < len(pieces):
        sizes = range(2 * max_words - 1, 1, -2)  # words and what stands between them
        phrases = ((size, "".join(pieces[at : at + size]).lower()) for size in sizes)
        size, phrase = next(((size, phrase) for size, phrase in phrases if phrase in forms), (1, ""))
        if phrase:
            yield forms[phrase]
        elif _is_name(pieces, at, language):
            yield forms.get(pieces[at].lower(), pieces[at])
        else:
            english = _translate_word(pieces[at].lower(), language)
            yield pieces[at] if english is None else english
        at += size


def _is_name(pieces: Sequence[str], at: int, language: _Language) -> bool:
    """Whether a word has a capital within a sentence, in a language that writes only names so."""
    return not language.links and at > 0 and pieces[at - 1] == " " and pieces[at][0].isupper()


@lru_cache(maxsize=_MAX_CACHED_WORDS)
def _translate_word(word: str, language: _Language) -> str | None:
    """The English of a word, of its stem or of its parts; None if none of them is known."""
    if not word.isalpha():
        return None
    english = _find_english(word, language)
    if english is None and language.prefixes:
        english = _find_english_without_ge_or_zu(word, language)
    if english is None and language.links:
        english = _translate_compound(word, language, _MAX_PARTS)
    return english


def _find_english(word: str, language: _Language) -> str | None:
    """The English of a word that the list has, in this form or with another ending."""
    forms = _read_lexicon(language.name).forms
    stems = tuple(_word_and_stems(word, language))
    for ending in ("", *language.endings):
        for stem in stems:
            if stem + ending in forms:
                return forms[stem + ending]
    return None


def _find_english_without_ge_or_zu(word: str, language: _Language) -> str | None:
    """The English of a form such as "abgemeldet" or "anzurufen", by "abmelden" or "anrufen"."""
    for prefix in ("", *language.prefixes):
        for between in _BEFORE_VERBS:
            if word.startswith(prefix + between):
                english = _find_english(prefix + word[len(prefix + between) :], language)
                if english is not None:
                    return english
    return None


def _translate_compound(word: str, language: _Language, max_parts: int) -> str | None:
    """The English of the parts of a compound; the longest first part is tried first."""
    forms = _read_lexicon(language.name).forms
    for size in range(len(word) - _MIN_PART, _MIN_PART - 1, -1):
        first = forms.get(word[:size]) or forms.get(word[:size] + "e")  # "Schule", but "Schulklasse"
        if max_parts == 1 or not first:
            continue
        for link in ("", *language.links):
            rest = word[size + len(link) :]
            if len(rest) >= _MIN_PART and word.startswith(link, size):
                english = _find_english(rest, language) or _translate_compound(rest, language, max_parts - 1)
                if english:
                    return f"{first} {english}"
    return None


def _word_and_stems(word: str, language: _Language) -> Iterator[str]:
    """The word, and the word without each ending that it has, shorter endings first."""
    yield word
    for ending in language.endings:
        if word.endswith(ending) and len(word) - len(ending) >= language.min_stem:
            yield word[: -len(ending)]


# The lists ------------------------------------------------------------------------------------------------


@cache
def _read_languages() -> dict[str, _Language]:
    """The languages whose words have blanks between them, by name."""
    tables = tomllib.loads((_FOLDER / "languages.toml").read_text(encoding="utf-8"))
    return {
        name: _Language(
            name,
            marks=frozenset(table["marks"].split()),
            letters=re.compile(table["letters"]),
            english=STOPWORDS - frozenset(table["shared"].split()),
            endings=tuple(sorted(table["endings"].split(), key=len)),
            min_stem=table.get("min_stem", _MIN_STEM),
            links=tuple(table.get("links", "").split()),
            prefixes=tuple(table.get("prefixes", "").split()),
        )
        for name, table in tables.items()
    }


@cache
def _telling_marks() -> frozenset[str]:
    """The marks of all languages that are longer than two letters: shorter ones alone tell nothing."""
    return frozenset(
        word
        for language in _read_languages().values()
        for word in language.marks
        if len(word) > _MAX_VAGUE_MARK
    )


@cache
def _read_lexicon(name: str) -> _Lexicon:
    forms: dict[str, str] = {}
    for line in (_FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines():
        written, _, english = line.partition("\t")
        forms.update(dict.fromkeys(written.split(" | "), english))
    return _Lexicon(forms, max(map(len, forms)), 1 + max(form.count(" ") for form in forms))


@cache
def english_words() -> frozenset[str]:
    """Ordinary English words: those that the German and the French list translate into."""
    translations = (english for name in ("de", "fr") for english in _read_lexicon(name).forms.values())
    return frozenset(word for english in translations for word in split_words(english))
