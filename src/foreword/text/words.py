"""Split text into words, the same way for what is stored and for what is asked.

Knows the alphabet of the word index (letters and digits, case and accents folded) and nothing of meaning.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORD = re.compile(r"[^\W_]+")
# Every letter of ASCII in lower case, every digit, and a blank for everything else.
_ASCII = bytes(ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(128)) + bytes(128)
# Chinese, Thai, Lao, Burmese and Khmer have no blanks between words; nor has Japanese, but that is half kana.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3400-\u9fff]+")
_KANA = re.compile("[\u3041-\u30ff]")

_MIN_STEM, _MAX_ENDING = 4, 2
"""From how many letters on a word also counts with an ending, and how long that may be."""


def fold_case(text: str) -> str:
    """Lower case, without accents."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).lower()


def split_words(text: str) -> list[str]:
    """The words of a text, folded, in order, repeats kept."""
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
"""Words that say nothing about the subject of a sentence."""


def content_words(text: str) -> tuple[str, ...]:
    """The words of a text that are no stop words, each once, in order; all words if it has only those."""
    distinct = tuple(dict.fromkeys(split_words(text)))
    return tuple(word for word in distinct if word not in STOPWORDS) or distinct


def is_unspaced(text: str) -> bool:
    """Whether a text is written in a script that has no blanks between words; Japanese does not count."""
    letters = sum(map(len, _WORD.findall(text)))
    return 2 * sum(map(len, _UNSPACED.findall(text))) > letters and not _KANA.search(text)


def letter_pairs(text: str) -> frozenset[str]:
    """The pairs of neighbouring letters in a text of such a script, which stand in for its words."""
    runs = _UNSPACED.findall(text)
    return frozenset(run[at : at + 2] for run in runs for at in range(len(run) - 1))


def has_all_words(text: str, words: Iterable[str]) -> bool:
    """Whether a text has every word, case and accents aside, or a form with an ending of up to two letters.

    A word of a script without blanks between words may stand anywhere.
    """
    there = set(split_words(text))
    folded = fold_case(text)
    return all(
        word in there if len(word) < _MIN_STEM and word.isascii() else _has_form(word, there, folded)
        for word in map(fold_case, words)
    )


def _has_form(word: str, there: set[str], folded: str) -> bool:
    if not word.isascii():
        return word in folded
    return any(other.startswith(word) and len(other) <= len(word) + _MAX_ENDING for other in there)
