"""The words of a sentence by which one fact differs from another, each in its normal spelling.

    The TTL is 60 seconds.         ttl, 60 s
    we don't deploy on Fridays     not, deploy, every friday
    Prod läuft täglich             production, lauft, every day

Articles, pronouns, courtesies and most other filler words are left out. Numbers with their units, times,
dates, weekdays, frequencies, denials and environments are brought to one form each, in English, German,
French and Spanish; a plural becomes its singular. Two sentences that differ in any remaining word are
different facts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from foreword.text.fact_values import join_and_normalize_values, normalize_number
from foreword.text.fact_vocabulary import ARROWS, EMPTY, LINKS, PERSONS, SPELLINGS, VALUES
from foreword.text.words import fold_case

if TYPE_CHECKING:
    from foreword.text.fact_values import Chunk


class FactWord(NamedTuple):
    """A word in its normal spelling (`key`) and as it was written.

    `is_plain` is false for numbers, days, identifiers and other words that must agree to the letter. `opens`
    is true after a stop or a preposition. `link` is the preposition or denial before the word.
    """

    key: str
    written: str
    is_plain: bool = True
    is_name: bool = False
    opens: bool = False
    link: str = ""


def fact_words(sentence: str) -> list[FactWord]:
    """The words of a sentence by which its fact is compared, in order; a question has a `?` among them."""
    found: list[FactWord] = []
    opens, link, is_first = True, "", True
    for key, written in join_and_normalize_values(_split_into_chunks(sentence)):
        if not key:
            link = LINKS.get(written, "")
            opens = opens or bool(link) or not written
            continue
        folded, is_plain, begins_like_name, is_identifier = _fold_and_classify_word(key, written)
        is_name = is_identifier or (begins_like_name and not is_first)
        found.append(FactWord(key, folded, is_plain, is_name, opens, link))
        opens, link, is_first = False, "not" if key == "not" else "", False
    return _drop_my_or_your_if_alone(found)


def _drop_my_or_your_if_alone(words: list[FactWord]) -> list[FactWord]:
    """The words without `my` or `your`: two people who talk to each other mean the same person by them.

    A sentence with both keeps them, as they tell the two people apart.
    """
    persons = {word.key for word in words if word.key in PERSONS}
    return [word for word in words if word.key not in PERSONS] if len(persons) == 1 else words


class _WordClass(NamedTuple):
    """A folded word, and whether it is plain, begins like a name, and has capitals like an identifier."""

    folded: str
    is_plain: bool
    begins_like_name: bool
    is_identifier: bool


@lru_cache(maxsize=50_000)
def _fold_and_classify_word(key: str, written: str) -> _WordClass:
    """The class of a word in its normal spelling (`key`) and as it is written."""
    is_plain = key.isalpha() and key not in VALUES
    is_identifier = is_plain and bool(_INNER_CAPITAL.search(written))
    return _WordClass(fold_case(written), is_plain, is_plain and written[:1].isupper(), is_identifier)


# Chunks: the text between two blanks ---------------------------------------------------------------------

_COURTESIES = re.compile(
    r"\b(?:by the way|got it|just to remind you|to be clear|as agreed|for the record|keep in mind"
    r"|(?:i['’]d|i would) like you to (?:remember|know)|don['’]t forget that|all right|no problem"
    r"|zur erinnerung|nicht vergessen|pour rappel|il faut se souvenir que|por cierto|de acuerdo)\b",
    re.IGNORECASE,
)
_SPLIT = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)
_BEFORE, _AFTER = "\"'([{«“‘„¿¡*`<|•–—,;:…", "\"')]}»”’“*`>|•–—,;:.!?…。，、！？"
_ENDS_PHRASE = frozenset(",;:.!?…—–)。，、！？")
_ELISION = re.compile(r"\A(?:l|d|n|s|c|j|m|t|qu)['’](?=\w)", re.IGNORECASE)
_CONTRACTION = re.compile(
    r"(?P<verb>\w+?)(?P<denial>n['’]t)|(?P<noun>\w+)['’](?:s|re|ve|ll|d|m)?", re.IGNORECASE
)
_HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_PREFIXED = re.compile(r"[^\W\d_]{1,3}-")
_SYMBOL = re.compile(r"[^\w+/<>=%&€$£]+|[-=_]{2,}")
"""Stops, bullets, quotation marks and rules, which are skipped; other signs may be operators."""

_STOP = ("", "")


def _split_into_chunks(sentence: str) -> list[Chunk]:
    """The words and stops of a sentence, with contractions such as `don't` split in two."""
    chunks: list[Chunk] = []
    for raw in _SPLIT.findall(_COURTESIES.sub(" , ", sentence)):
        rest = raw if raw in ARROWS else raw.lstrip(_BEFORE)
        core = rest if raw in ARROWS else rest.rstrip(_AFTER)
        if rest != raw:
            chunks.append(_STOP)
        if core:
            chunks += _split_into_words(core)
        elif chunks and not _SYMBOL.fullmatch(raw):
            chunks.append(_word_with_normal_spelling(raw))
        after = rest[len(core) :]
        if not _ENDS_PHRASE.isdisjoint(after):
            chunks.append(_STOP)
        if "?" in after or "？" in after:
            chunks.append(("?", "?"))
    return chunks


def _split_into_words(core: str) -> list[Chunk]:
    """The words of a chunk: the parts of a hyphenated word or a contraction, else the chunk itself."""
    if core.isalpha():
        return [_word_with_normal_spelling(core)]
    if _HYPHENATED.fullmatch(core) and not _PREFIXED.match(core):
        return [_word_with_normal_spelling(part) for part in core.split("-")]
    core = _ELISION.sub("", core)
    contraction = _CONTRACTION.fullmatch(core)
    if contraction is None:
        return [_word_with_normal_spelling(core)]
    if contraction["noun"]:
        return [_word_with_normal_spelling(contraction["noun"])]
    verb = {"ca": "can", "wo": "will", "sha": "shall"}.get(contraction["verb"].lower(), contraction["verb"])
    return [_word_with_normal_spelling(verb), ("not", "not")]


def _word_with_normal_spelling(written: str) -> Chunk:
    """A word as a chunk; a filler word has an empty spelling."""
    key = _normal_spelling(written)
    return (key, written) if key else ("", fold_case(written))


@lru_cache(maxsize=50_000)
def _normal_spelling(written: str) -> str:
    """The normal spelling, common to all forms of a word; "" for a filler word."""
    folded = fold_case(written).replace("ß", "ss")
    if folded in SPELLINGS:
        return SPELLINGS[folded]
    if not folded.isalpha():
        return normalize_number(folded)
    if folded in EMPTY:
        return ""
    singular = _singular(folded)
    return SPELLINGS.get(singular, singular)


_INNER_CAPITAL = re.compile(r"[a-z][A-Z]")


def _singular(word: str) -> str:
    """A word without the s of a plural or of the third person."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("xes", "ches", "shes", "sses", "zzes", "oes")) else word[:-1]
