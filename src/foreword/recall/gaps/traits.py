"""The traits of a message that tell whether its speaker lacks something: words in a row, families in a row.

Traits are strings, and readable: `?WH BE` is a question in which a form of "to be" follows a question word,
`NOT..SAY` a sentence that denies, later, that something says something. What each is worth is for
`listener` to know. Numbers, names and identifiers are told as such: which ones they are tells nothing.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from foreword.recall.gaps.families import family

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WORDS_IN_A_ROW, FAMILIES_IN_A_ROW = 3, 4
REACH = 6
"""So many telling families further on, two still make a pair."""

_TOKEN = re.compile(r"@?[^\W\d_][\w'/.-]*\w|[^\W\d_]|\d[\d.,:%]*|[?!,;:()—–-]")
_NUMBER, _NAME, _IDENTIFIER, _MENTION, _OTHER = "0", "Name", "#", "@", "_"
_SHORT = {"m": "am", "re": "are", "ve": "have", "ll": "will", "d": "would"}
_DENIED = {"ca": "can", "wo": "will"}
_PALE = frozenset({_OTHER, ",", _NAME, _NUMBER, "BE", "THIS"})


def traits(sentences: Sequence[str]) -> frozenset[str]:
    """Every trait of a message, given its sentences in the speaker's own voice."""
    said = [words for sentence in sentences if (words := tokens(sentence))]
    asked = [words[-1] == "?" for words in said]
    found = {"asks"} if any(asked) else set()
    if any(one and not after for one, after in pairwise(asked)):
        found.add("asks and goes on")
    for at, words in enumerate(said):
        kin = families(words)
        found.update(_of_sentence(words, kin, "?" if asked[at] else ""))
        if at == len(said) - 1:
            found.update(f"last {word}" for word in (*words, *kin))
        elif at == 0:
            found.update(f"first {one}" for one in kin)
    return frozenset(found)


def tokens(sentence: str) -> list[str]:
    """The words of a sentence in lower case, short forms in full, and the marks that structure it."""
    found = enumerate(_TOKEN.findall(sentence))
    return [word for at, one in found for word in _spelled(one, at) if word]


def families(words: Sequence[str]) -> list[str]:
    """The family of each word; words without one are one stretch of others."""
    kin: list[str] = []
    for word in words:
        one = word if word == _NAME or not word[0].isalpha() else family(word) or _OTHER
        if one != _OTHER or kin[-1:] != [_OTHER]:
            kin.append(one)
    return kin


def _of_sentence(words: Sequence[str], kin: Sequence[str], mark: str) -> Iterator[str]:
    yield from (mark + row for row in _rows(words, WORDS_IN_A_ROW))
    yield from (mark + row for row in _rows(kin, FAMILIES_IN_A_ROW))
    telling = [one for one in kin if one not in _PALE]
    for at, one in enumerate(telling):
        yield from (f"{mark}{one}..{other}" for other in telling[at + 1 : at + 1 + REACH])


def _rows(words: Sequence[str], most: int) -> Iterator[str]:
    framed = ["<", *words, ">"]
    for length in range(1, most + 1):
        for at in range(len(framed) - length + 1):
            yield " ".join(framed[at : at + length])


def _spelled(found: str, at: int) -> list[str]:
    word = found.casefold()
    if not found[0].isalpha():
        return [_MENTION if found[0] == "@" else _NUMBER if found[0].isdigit() else found]
    if word.endswith("n't"):
        return [_DENIED.get(word[:-3], word[:-3]), "not"]
    if word == "cannot":
        return ["can", "not"]
    if "'" in found:
        head, _, tail = found.partition("'")
        return [*_spelled(head, at), _SHORT.get(tail, f"'{tail}")]
    if any(mark.isdigit() or mark in "_./" for mark in word) or found[1:] != found[1:].lower():
        return [_IDENTIFIER]
    if at and found[0].isupper() and word != "i":
        return [_NAME]
    return word.split("-")
