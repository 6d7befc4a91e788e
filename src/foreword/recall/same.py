"""Whether two texts say the same: the judge of repeats.

Two sentences say the same when all words that carry meaning agree (`text.fact_words`): numbers with units,
days, names, identifiers, denials and all others, in the same order but for phrases that change places. Only
a slip of the pen in a long plain word is forgiven. A text says the same as another when all its sentences
stand in the other.

    Cache TTL is 60 seconds.        the cache TTL is 60s            the same
    The importer runs on Tuesdays.  The importer runs on Mondays.   not the same
    Ana reviews for Ben.            Ben reviews for Ana.            not the same

Texts that mean the same in entirely different words are not recognised.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from foreword.text.fact_words import FactWord, fact_words
from foreword.text.sentences import MIN_WRAPPED_CHARACTERS, split_sentences
from foreword.text.words import fold_case

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_MIN_CONTAINED_WORDS = 3
"""A text of fewer words may stand in another and mean something else there."""

_MIN_LONG_WORDS, _MAX_SHARE_MORE = 10, 0.1
"""A text of at least that many words is still the same with at most this share of words more."""

_MIN_SLIP_LETTERS = 7
"""In a shorter word one letter more or less makes another word: country, county."""

_MAX_READ_CHARACTERS = 2000
"""At most how many characters of a text are read; what follows must be the same to the letter."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """The fact words of a sentence, and a key that is equal for all sentences that may say the same."""

    words: tuple[FactWord, ...]
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComparableText:
    """A text prepared for comparison: its sentences with fact words, and the whole of it in lower case."""

    sentences: tuple[Sentence, ...]
    words: tuple[FactWord, ...]
    plain_text: str
    keys: frozenset[tuple[str, ...]]


@lru_cache(maxsize=4096)
def prepare_for_comparison(text: str) -> ComparableText:
    """The text prepared; one without fact words is compared letter by letter."""
    read = (tuple(fact_words(part)) for part in _split_sentences_and_lines(text[:_MAX_READ_CHARACTERS]))
    sentences = [Sentence(words, tuple(sorted(map(_typo_key, words)))) for words in read if words]
    if rest := _normalise_for_comparison(text[_MAX_READ_CHARACTERS:] if sentences else text):
        sentences.append(Sentence((FactWord(rest, rest, is_plain=False),), (rest,)))
    return _build_comparable_text(sentences, _normalise_for_comparison(text))


def _split_sentences_and_lines(text: str) -> Iterator[str]:
    """The sentences of a text, split again at line breaks, unless the line was full and only wrapped."""
    for sentence in split_sentences(text):
        part = ""
        for line in sentence.splitlines():
            part = f"{part}\n{line}" if part else line
            if len(line) < MIN_WRAPPED_CHARACTERS:
                yield part
                part = ""
        if part:
            yield part


def join_comparable_texts(texts: Iterable[ComparableText]) -> ComparableText:
    """Several prepared texts as one."""
    every = list(texts)
    sentences = [sentence for text in every for sentence in text.sentences]
    return _build_comparable_text(sentences, " ".join(text.plain_text for text in every))


def _build_comparable_text(sentences: Sequence[Sentence], plain_text: str) -> ComparableText:
    words = tuple(word for sentence in sentences for word in sentence.words)
    return ComparableText(
        tuple(sentences), words, plain_text, frozenset(sentence.key for sentence in sentences)
    )


def _normalise_for_comparison(text: str) -> str:
    """A text in lower case, with single blanks and without its last stop."""
    folded = " ".join(fold_case(text).split())
    return folded.rstrip(" .!") or folded


def does_either_text_cover_other(one: str, other: str) -> bool:
    """Whether one of two texts says everything that the other says."""
    texts = prepare_for_comparison(one), prepare_for_comparison(other)
    return says_all_of(*texts) or says_all_of(*reversed(texts))


def says_all_of(whole: ComparableText, part: ComparableText) -> bool:
    """Whether a text says everything that another one says, so that showing the other adds nothing."""
    if (
        whole.plain_text == part.plain_text
    ):  # lines may be broken in other places, and sentences end elsewhere
        return bool(part.plain_text)
    if not part.sentences or not part.keys <= whole.keys:
        return _has_only_plain_words_more(whole.words, part.words)
    if len(part.words) < _MIN_CONTAINED_WORDS and len(whole.sentences) > len(part.sentences):
        return False
    return all(
        any(_sentences_say_the_same(sentence, mine) for mine in whole.sentences)
        for sentence in part.sentences
    )


def _has_only_plain_words_more(words: tuple[FactWord, ...], fewer: tuple[FactWord, ...]) -> bool:
    """Whether the longer of two long texts differs from the other only by a few more plain words."""
    more = len(words) - len(fewer)
    if len(fewer) < _MIN_LONG_WORDS or not 0 < more <= len(words) * _MAX_SHARE_MORE:
        return False
    rest = iter(fewer)
    expected = next(rest, None)
    for word in words:
        if expected is not None and word.key == expected.key:
            expected = next(rest, None)
        elif not word.is_plain or word.is_name:
            return False
    return expected is None


def _sentences_say_the_same(one: Sentence, other: Sentence) -> bool:
    """Whether two sentences say the same."""
    if one.key != other.key or not _have_same_names(one.words, other.words):
        return False
    words = _correct_typos(one.words, other.words)
    return words is not None and _have_same_order(one.words, words)


def _have_same_names(words: tuple[FactWord, ...], other_words: tuple[FactWord, ...]) -> bool:
    """Whether each text has the names of the other, letter by letter."""
    written, other_written = {word.written for word in words}, {word.written for word in other_words}
    return all(word.written in other_written for word in words if word.is_name) and all(
        word.written in written for word in other_words if word.is_name
    )


# Slips ---------------------------------------------------------------------------------------------------


def _typo_key(word: FactWord) -> str:
    """A key that a word shares with all words that are one slip of the pen away from it."""
    return f"{word.key[0]}…{word.key[-2:]}" if _may_be_misspelled(word) else word.key


def _may_be_misspelled(word: FactWord) -> bool:
    """Whether a word is plain and long enough for a slip of the pen to be forgiven."""
    return word.is_plain and len(word.key) >= _MIN_SLIP_LETTERS - 1


def _correct_typos(
    words: tuple[FactWord, ...], other_words: tuple[FactWord, ...]
) -> tuple[FactWord, ...] | None:
    """The other words, each slip corrected to what the first words have; None where more differs."""
    missing = Counter(word.key for word in words)
    missing.subtract(word.key for word in other_words)
    meant = [word for word in words if missing[word.key] > 0]
    if not meant:
        return other_words
    corrected = list(other_words)
    for at, word in enumerate(other_words):
        if missing[word.key] < 0:
            right = next((one for one in meant if _is_typo_of(one, word)), None)
            if right is None:
                return None
            meant.remove(right)
            missing[word.key] += 1
            corrected[at] = word._replace(key=right.key)
    return tuple(corrected)


def _is_typo_of(one: FactWord, other: FactWord) -> bool:
    """Whether one of two words is the other with letters inside it swapped, doubled or left out."""
    from rapidfuzz.distance import OSA

    left, right = one.key, other.key
    if one.is_name or other.is_name or _typo_key(one) != _typo_key(other):
        return False
    if len(left) == len(right) and sorted(left) != sorted(right):
        return False  # another letter may make another word: prescribe, proscribe
    return max(len(left), len(right)) >= _MIN_SLIP_LETTERS and OSA.distance(left, right) == 1


# The order of words --------------------------------------------------------------------------------------


def _have_same_order(words: tuple[FactWord, ...], other_words: tuple[FactWord, ...]) -> bool:
    """Whether the same words stand in the same order, or two neighbouring phrases have changed places."""
    keys, other_keys = [word.key for word in words], [word.key for word in other_words]
    if keys == other_keys:
        return True
    if sorted(keys) != sorted(other_keys) or _sorted_prepositions_and_denials(
        words
    ) != _sorted_prepositions_and_denials(other_words):
        return False
    start = next(at for at in range(len(keys)) if keys[at] != other_keys[at])
    end = next(at for at in range(len(keys), 0, -1) if keys[at - 1] != other_keys[at - 1])
    inner, other_inner = keys[start:end], other_keys[start:end]
    return any(
        inner[turn:] + inner[:turn] == other_inner
        and (
            (words[start].opens and other_words[end - turn].opens)
            or (words[start + turn].opens and other_words[start].opens)
        )
        for turn in range(1, end - start)
    )


def _sorted_prepositions_and_denials(words: tuple[FactWord, ...]) -> list[tuple[str, str]]:
    """Each preposition and denial with the word that it belongs to, sorted."""
    return sorted((word.link, word.key) for word in words if word.link)
