"""The English words and phrases in which agents ask, lack something, answer, and report progress.

Also removes quotations from a text and splits it into sentences and words. Other modules decide what these
say about a message.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from pathlib import Path

from foreword.text.words import STOPWORDS, split_words

# The first three are matched against lower case with straight apostrophes.

NO_ANSWER = re.compile(
    r"\b(?:don't|do not|doesn't|does not) know\b|\bnot sure\b|\bunsure\b|\bno idea\b|\bcan't (?:say|help)\b"
    r"|\blet me (?:see|check|ask|find)\b|\bi(?:'ll| will) (?:ask|check|find out|look)\b"
    r"|\b(?:no|0|zero) (?:results?|matches|hits|entries)\b|\bnot found\b|\bnothing (?:was )?found\b"
)
"""A reply that does not answer: "I don't know", "let me check", "no results"."""

ACKNOWLEDGEMENT = re.compile(
    r"\W*(?:(?:ok(?:ay)?|thanks|thank you|sure|fine|all ?right|please|go (?:on|ahead)|continue|proceed"
    r"|carry on|wait|hold on|just|(?:a|one) (?:moment|second))\b\W*)+"
)
"""A reply that only keeps the conversation going: "ok, thanks", "go on"."""

PROGRESS_REPORT = re.compile(
    r"\b(?:done|finished|completed?|implemented|added|adds|committed|pushed|merged|migrated|written|wrote)\b"
    r"|\b(?:fixed|passed|deployed|verified|shipped|renamed|created|kept|removed|updated|approved)\b"
    r"|\btests? pass(?:es)?\b|\ball (?:\d+ )?tests pass\b"
)
"""A report that work was done."""

EXPLICIT_REQUEST = re.compile(
    r"(?i)^(?:\W*\w+\W+){0,3}?(?:can|could|would) (?:you|someone|anyone)(?: please)? (?:clarify|explain)\b"
    r"|\bi(?: still| really| also)? (?:need|lack|(?:am|['’]m) (?:missing|lacking))"
    r"(?: some| more| further| a bit more| the)* (?:info|information|clarification|context)\b"
    r"|\bi(?: still)? (?:do not|don['’]t) understand (?:how|what|why|which|where|when|the)\b"
    r"|^(?:\W*\w+\W+){0,2}?what do you mean\b"
    r"|^\W*(?:still |rather |quite )?unclear\W*$"
    r"|^\W*(?:but )?(?:it|this|that)(?:'s| is)(?: still| rather| quite)? unclear"
    r"(?:\W*$| (?:to me|which|what|whether|how|who|whose|when|where|why|if)\b)"
    r"|\b(?:remains?|(?:is|are) still) unclear(?: to me)?\W*$"
)
"""An explicit request for clarification, in upper or lower case; it counts whatever else is said."""

PREFIX_CHARACTERS = 6
"""Words that share this many letters at their start count as the same: retry, retries; migrate, migration."""

MAX_SENTENCE_CHARACTERS = 400
"""At most how much of a sentence is read, from its end: longer ones are seldom sentences."""

_FENCED = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?:(?: {4}|\t)[^\n]*(?:\n|\Z))+")
_QUOTED_LINES = re.compile(r"^\s*>.*$", re.MULTILINE)
_INLINE = re.compile(r"`[^`\n]*`")
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+")
_QUOTED = re.compile(
    r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|‘[^’\n]{1,400}’(?!\w)|«[^»\n]{1,400}»|(?<!\w)'[^'\n]{2,400}'(?!\w)"
)
_CJK = "\u3040-\u30ff\u3400-\u9fff"
_NAME = re.compile(rf"[^\s?!{_CJK}]{{1,60}}(?<![.,;:])")  # without blanks, Chinese may be a whole sentence
_TERM = re.compile(r"[^\s?!.]{1,30}(?: [^\s?!.]{1,30}){1,2}")
_SENTENCE_END = re.compile(r"(?<=[.!?…:;])[\"')\]]*\s+|\n+")
_SQL = re.compile(r"\bselect\b.{1,200}?\bfrom\b.{1,200}", re.IGNORECASE)


def remove_quotations(text: str) -> str:
    """The text without code, quotations, quoted lines and addresses; apostrophes are made straight.

    A single word in marks is a name that the sentence needs: it loses only its marks. Quoted terms of two or
    three words stay with their marks, for `remove_quoted_terms`.
    """
    for quotation in (_FENCED, _INDENTED, _QUOTED_LINES):
        text = quotation.sub(" ", text)
    text = _SQL.sub(" ", _ADDRESS.sub(" ", _INLINE.sub(_name_or_blank, text)))
    return _QUOTED.sub(_drop_long_quotation, text).replace("’", "'")


def remove_quoted_terms(sentence: str) -> str:
    """The sentence without quoted terms: what they say is not said by its speaker."""
    return _QUOTED.sub(_name_or_blank, sentence)


def _name_or_blank(marked: re.Match[str]) -> str:
    """What stands in a pair of marks if it is a single word; else a blank."""
    inner = marked[0][1:-1]
    return inner if _NAME.fullmatch(inner) else " "


def _drop_long_quotation(marked: re.Match[str]) -> str:
    """A quotation of a few words as it is, a name without its marks, and a blank for anything longer."""
    return marked[0] if _TERM.fullmatch(marked[0][1:-1]) else _name_or_blank(marked)


def split_sentences_and_clauses(text: str) -> list[str]:
    """The sentences of a text; a colon, a semicolon or a line break ends one too."""
    split = (" ".join(sentence.split()) for sentence in _SENTENCE_END.split(text))
    return [sentence[-MAX_SENTENCE_CHARACTERS:] for sentence in split if sentence]


@lru_cache(maxsize=512)
def word_prefixes(text: str) -> frozenset[str]:
    """The words of a text without stopwords, each cut to its first letters so that inflections are equal."""
    return frozenset(word[:PREFIX_CHARACTERS] for word in split_words(text) if word not in STOPWORDS)


def text_similarity(one: str, other: str) -> float:
    """The share of two texts' words that both have, 0 to 1; 0 if one has a number that the other has not."""
    first, second = word_prefixes(one), word_prefixes(other)
    union = first | second
    if not union or any(character.isdigit() for word in first ^ second for character in word):
        return 0.0
    return len(first & second) / len(union)


def stem(word: str) -> str:
    """A word without the endings that English adds to nouns and verbs."""
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


@lru_cache(maxsize=4096)
def group_of_word(word: str) -> str | None:
    """The group of a word, given in lower case and with any ending; None when it has none."""
    by_word, by_stem = _read_word_groups()
    return by_word.get(word) or (by_stem.get(stem(word)) if len(word) > 3 else None)


@cache
def _read_word_groups() -> tuple[dict[str, str], dict[str, str]]:
    """The groups of `word_groups.toml`, by word and by stem."""
    read = tomllib.loads(Path(__file__).with_name("word_groups.toml").read_text(encoding="utf-8"))
    english = {name: words for name, words in read.items() if isinstance(words, str)}
    languages = [english, *(table for table in read.values() if not isinstance(table, str))]
    # In reverse, so that of several groups of a word the first is used.
    members = [
        (word, name) for groups in languages for name, words in groups.items() for word in words.split()
    ][::-1]
    return dict(members), {stem(word): group for word, group in members}
