"""Leaves out the chunks about a product's siblings when the talk says which one is meant.

The pages of "Norda Mini" and "Norda Max" say the same of two things, and an encoder hardly tells them
apart. Two chunks are *rivals* if their headings differ in a single name each. Of two rivals the one stays
whose name was said last, in the question or before it. Both stay if neither was said, if both were said at
once, or if the question asks for the other or for several.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from foreword.text.words import STOPWORDS, split_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.types import Item, SearchResult, Turn

_MAX_TURNS = 40
"""How many turns are searched for the names."""

_COMPARES = re.compile(
    r"\b(?:others?|another|both|all|each|either|differen(?:t|ce)|compared?|versus|vs|instead|switch|upgrade|which"
    r"|anderen?|beide|alle|unterschied|statt|autres?|différence|otr[oa]s?|diferencia)\b",
    re.IGNORECASE,
)
"""What a question has that asks for more than the one thing that is talked about."""


_WORD = re.compile(r"\w+")


class _Heading(NamedTuple):
    """The content words of a chunk's headings, and the names among them, each with the words that say it."""

    words: frozenset[str]
    names: dict[str, tuple[str, ...]]


def drop_rivals_not_discussed(
    results: Sequence[SearchResult], question: str, talk: Sequence[Turn]
) -> list[SearchResult]:
    """The results, in their order, without those whose rival is the one that is talked about."""
    if _COMPARES.search(question):
        return list(results)
    headings = [_read_headings_above(result.memory) for result in results]
    said: list[list[str]] = []
    out: set[int] = set()
    for one, other in combinations(range(len(results)), 2):
        rivals = _names_of_rivals(headings[one], headings[other])
        if rivals is None:
            continue
        said = said or [split_words(text) for text in (question, *_newest_texts(talk))]
        ages = [_turns_since_said(name, said) for name in rivals]
        if ages[0] != ages[1]:
            out.add(one if ages[0] > ages[1] else other)
    return [result for place, result in enumerate(results) if place not in out]


def _newest_texts(talk: Sequence[Turn]) -> list[str]:
    """The texts of the last turns, the newest first."""
    return [turn.text for turn in talk[: -_MAX_TURNS - 1 : -1]]


def _read_headings_above(item: Item) -> _Heading:
    """The headings above an item, or else the title of its document, by their words."""
    path = item.metadata.get("headings")
    titles = list(map(str, path)) if isinstance(path, list) else []
    titles = titles or [str(item.metadata.get("title") or "")]
    in_text = set(_WORD.findall(item.text))  # what the text has in lower case, too, is no name
    every: set[str] = set()
    names: dict[str, tuple[str, ...]] = {}
    for title in titles:
        before = ""
        for written in title.split():
            for word in split_words(written):
                # A number alone is said of anything: it is a name with the word before it.
                if not word.isdigit() and written[:1].isupper() and word not in in_text:
                    names[word] = (word,)
                elif before and any(map(str.isdigit, word)):
                    names[word] = (before, word)
                before = word
                every.add(word)
    return _Heading(frozenset(every - STOPWORDS), names)


def _names_of_rivals(one: _Heading, other: _Heading) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The words that name what each of two rivals is about; None if they are no rivals."""
    if not one.words & other.words:
        return None
    own, others = tuple(one.words - other.words), tuple(other.words - one.words)
    if len(own) != 1 or len(others) != 1:
        return None
    name, rival = one.names.get(own[0]), other.names.get(others[0])
    return None if name is None or rival is None else (name, rival)


def _turns_since_said(name: tuple[str, ...], said: Sequence[list[str]]) -> int:
    """How many turns ago a name was said; more than there are if it was not."""
    width = len(name)
    for age, words in enumerate(said):
        if any(tuple(words[at : at + width]) == name for at in range(len(words) - width + 1)):
            return age
    return len(said)
