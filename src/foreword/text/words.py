"""Split text into words, in the same way for items and for questions.

Knows the alphabet of the word index (letters and digits, case and accents folded) and nothing of meaning.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

_WORD, _WORD_CHARACTER = re.compile(r"[^\W_]+"), re.compile(r"\w")
# Every letter of ASCII in lower case, every digit, and a blank for everything else.
_ASCII = bytes(ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(128)) + bytes(128)
# Chinese, Thai, Lao, Burmese and Khmer have no blanks between words; nor has Japanese, but that is half kana.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3400-\u9fff]+")
_KANA = re.compile("[\u3041-\u30ff]")

_MIN_STEM, _MAX_ENDING = 4, 2
"""A word of at least this many letters also matches with an ending, of at most this many letters."""

_MIN_SHARE_OF_WORDS = 0.6
"""Texts share most words if this share of the words of the shorter one is in the other."""


_LETTER, _LATIN = re.compile(r"[^\W\d_]"), re.compile("[A-Za-zªºÀ-ɏḀ-ỿ]")
_NOT_OF_WORD = re.compile(r"[\d_\x00-\x7f\u2000-\u206f؟،؛।॥·;]")
"""What is no part of a word in other scripts; vowel signs are, which Python does not take for letters."""


def fold_case(text: str) -> str:
    """The text in lower case and without accents."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).lower()


def fold_case_accents_and_spaces(text: str) -> str:
    """The text with case and accents folded, and each run of spaces made one."""
    return " ".join(fold_case(text).split())


def split_words(text: str) -> list[str]:
    """The words of a text in order, with case and accents folded and repeats kept."""
    if text.isascii():  # most text and nearly all code, in half the time
        return text.encode().translate(_ASCII).decode().split()
    return _WORD.findall(fold_case(text))


_STOPWORDS = (
    "a about above after again all also am an and any are as at be because been before being below "
    "between both but by can could d did do does doing don down during each few for from further had "
    "has have having he her here hers herself him himself his how i if in into is it its itself just "
    "ll m me more most my myself no nor not now o of off on once only or other our ours ourselves out "
    "over own re s same she should so some such t than that the their theirs them themselves then "
    "there these they this those through to too under until up ve very was we were what when where "
    "which while who whom why will with would y you your yours yourself yourselves"
)
STOPWORDS = frozenset(_STOPWORDS.split())
"""Frequent words that do not show the subject of a sentence."""

_MIN_STOPWORD_SHARE = 0.25
"""At least this share of the words of an English text are stop words."""


def is_english(text: str) -> bool:
    """Whether a text is English: whether enough of its words are English stop words."""
    every = split_words(text)
    return bool(every) and sum(word in STOPWORDS for word in every) / len(every) >= _MIN_STOPWORD_SHARE


def content_words(text: str) -> tuple[str, ...]:
    """The words of a text that are no stop words, each once, in order; all words if there are no others."""
    distinct = tuple(dict.fromkeys(split_words(text)))
    return tuple(word for word in distinct if word not in STOPWORDS) or distinct


def key_by_word(words_by_key: dict[str, str]) -> dict[str, str]:
    """The key of each word, from a table that lists the words of each key with blanks between them."""
    return {word: key for key, words in words_by_key.items() for word in words.split()}


def is_in_unspaced_script(text: str) -> bool:
    """Whether a text is written in a script that has no blanks between words; Japanese does not count."""
    letters = sum(map(len, _WORD.findall(text)))
    return 2 * sum(map(len, _UNSPACED.findall(text))) > letters and not _KANA.search(text)


def letter_pairs_of_unspaced_script(text: str) -> frozenset[str]:
    """The pairs of neighbouring letters in a script without blanks between words, used in place of words."""
    runs = _UNSPACED.findall(text)
    return frozenset(run[at : at + 2] for run in runs for at in range(len(run) - 1))


def is_in_latin_letters(text: str) -> bool:
    """Whether at least half of a text's letters are Latin, as the bundled models can read no others well."""
    return text.isascii() or 2 * len(_LATIN.findall(text)) >= len(_LETTER.findall(text))


def non_latin_letter_groups(text: str) -> frozenset[str]:
    """Groups of neighbouring letters that are not Latin: pairs in scripts without blanks, else triples."""
    words = (_NOT_OF_WORD.sub("", word) for word in fold_case(text).split())
    others = (word for word in words if not (_LATIN.search(word) or _UNSPACED.search(word)))
    triples = (word[at : at + 3] for word in others for at in range(len(word) - 2))
    return letter_pairs_of_unspaced_script(text) | frozenset(triples)


def has_words(text: str) -> bool:
    """Whether a text is more than punctuation and blanks."""
    return _WORD_CHARACTER.search(text) is not None


def has_all_words(text: str, words: Iterable[str]) -> bool:
    """Whether a text has every word, case and accents aside, or a form with an ending of up to two letters.

    A word with letters beyond ASCII may be anywhere in the text, as some scripts have no blanks between
    words.
    """
    text_words = set(split_words(text))
    folded = fold_case(text)
    return all(
        word in text_words
        if len(word) < _MIN_STEM and word.isascii()
        else _has_word_with_ending(word, text_words, folded)
        for word in map(fold_case, words)
    )


def _has_word_with_ending(word: str, text_words: set[str], folded: str) -> bool:
    """Whether the words of a text have this word with a short ending; beyond ASCII, the text itself."""
    if not word.isascii():
        return word in folded
    return any(other.startswith(word) and len(other) <= len(word) + _MAX_ENDING for other in text_words)


def share_most_words(words: AbstractSet[str], other_words: AbstractSet[str]) -> bool:
    """Whether most of the words of the one with fewer words are in the other; never if one has none."""
    fewest = min(len(words), len(other_words))
    return fewest > 0 and len(words & other_words) >= _MIN_SHARE_OF_WORDS * fewest
