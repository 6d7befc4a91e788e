"""Split text into sentences: prose, chat, Markdown and Chinese or Japanese, in one pass.

A sentence ends at a stop that is not part of an abbreviation, a number or a name, at a blank line, before a
list item or a quoted line, and around a heading or a row of a table. Code between backticks is never cut, and
a fenced block of code is one sentence. The meaning of a sentence is not judged here.
"""

from __future__ import annotations

import re

from foreword.text.words import STOPWORDS, fold_case

_BOUNDARY = re.compile(
    r"""(?P<fence>^[^\S\n]*(?P<mark>```|~~~)[^\n]*)
      | (?P<code>(?<!`)(?P<ticks>`{1,2})(?!`)[^\n]{1,300}?(?<!`)(?P=ticks)(?!`))
      | (?P<stop>[.!?…؟۔।]++)(?P<closing>["'”’»)\]}*_]*+)
      | (?P<wide>[。！？｡]++[」』”’）】〉》"')\]]*+)
      | (?P<break>\n)
    """,
    re.VERBOSE | re.MULTILINE,
)
_BLOCK = re.compile(r"[^\S\n]*(?:[-*+•>|]\s|\|\S|\#{1,6}\s|\d{1,3}[.)]\s|```|~~~|$)", re.MULTILINE)
"""The beginning of a line that does not continue the line before: a list item, a heading, a blank…"""

_ONE_LINE_BLOCK = re.compile(r"[^\S\n]*(?:\#{1,6}\s|\||[=*_-]{3,}\s*$)")
"""A line whose sentence ends with it: a heading, a row of a table, a rule."""

_MARKER = re.compile(r"[^\S\n]*(?:(?:[-*+•>]|\#{1,6})\s+)*\**(?:\d{1,3}|[a-z])\Z")
_WORD_BEFORE = re.compile(r"(?<![^\W_])(?:[^\W\d_]\.)*[^\W_]+\Z")
_LETTERS = re.compile(r"[^\W\d_]+")
_NEXT = re.compile(r"""\s*+["'“‘«(\[*_`]{0,3}(\S?)""")

MIN_WRAPPED_CHARACTERS = 50
"""A line of at least this length was broken because it was full, not because its sentence was over."""

_LONGEST_ABBREVIATION = 12
_CONTINUES = frozenset(
    {
        *("mr", "mrs", "ms", "mx", "dr", "prof", "st", "rev", "hon", "gen", "col", "capt", "lt", "sgt"),
        *("e.g", "eg", "i.e", "ie", "cf", "vs", "viz", "approx", "ca", "incl", "excl", "esp", "resp"),
        *("dept", "govt", "est"),
    }
)
"""Abbreviations that never end a sentence."""

_BEFORE_NUMBER = frozenset({"no", "nos", "nr", "art", "par", "tab", "sec", "pt"})
"""Words that are abbreviations only before a number."""

_MAY_END = frozenset(
    {
        *("etc", "al", "inc", "ltd", "co", "corp", "jr", "sr", "max", "min", "avg", "v", "ver"),
        *("a.m", "p.m", "am", "pm", "a", "p", "m"),
        *("fig", "figs", "eq", "eqs", "ch", "chap", "vol", "pp", "para"),
        *("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"),
    }
)
"""Abbreviations that end a sentence only if neither a small letter nor a digit follows."""


def split_sentences(text: str) -> list[str]:
    """The sentences of a text in order, unchanged, without the white space around them."""
    return [text[start:end] for start, end in sentence_spans(text)]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """The start and end of each sentence, in order, without overlaps; every word is in one of them."""
    ends: list[int] = []
    place, line_start = 0, 0
    while (match := _BOUNDARY.search(text, place)) is not None:
        place = match.end()
        match match.lastgroup:
            case "fence":
                place = _end_of_fence(text, match)
                ends += [match.start(), place]
            case "break":
                if _ends_at_line_break(text, line_start, match.start()):
                    ends.append(match.start())
                line_start = place
            case "wide":
                ends.append(place)
            case "closing":
                if _ends_at_stop(text, line_start, match):
                    ends.append(place)
            case _:  # code between backticks
                pass
    return _spans_between(text, ends)


def _end_of_fence(text: str, opening: re.Match[str]) -> int:
    """The end of a fenced block of code: after its closing mark, or the end of the text if there is none."""
    at = opening.end()
    while (at := text.find("\n", at)) >= 0:
        at += 1
        end_of_line = text.find("\n", at)
        line = text[at : end_of_line if end_of_line >= 0 else len(text)]
        if line.strip().startswith(opening["mark"]):
            return at + len(line)
    return len(text)


def _ends_at_line_break(text: str, line_start: int, at: int) -> bool:
    """Whether a sentence ends with its line; if not, it continues on the next one."""
    if _BLOCK.match(text, at + 1) or _ONE_LINE_BLOCK.match(text, line_start, at):
        return True
    follows = _NEXT.match(text, at)
    next_begins = follows[1] if follows else ""
    return not next_begins.islower() and at - line_start < MIN_WRAPPED_CHARACTERS


def _ends_at_stop(text: str, line_start: int, match: re.Match[str]) -> bool:
    """Whether a sentence ends at this stop, by its kind and by the text that follows."""
    end = match.end()
    if end < len(text) and not text[end].isspace():
        return False
    follows = _NEXT.match(text, end)
    next_begins = follows[1] if follows else ""
    if not next_begins or next_begins in "=<>+,;":
        return not next_begins  # 4! = 24; oats, rye, etc. , and so on
    stop, begins_lower = match["stop"], next_begins.islower()
    if begins_lower and (match["closing"] or stop[-1] == "…" or stop.endswith("..")):
        return False  # "Stop!" he said; well... maybe
    return stop != "." or _ends_at_full_stop(text, line_start, match.start(), next_begins)


def _ends_at_full_stop(text: str, line_start: int, at: int, next_begins: str) -> bool:
    """Whether a single full stop ends a sentence, by the word before it and the character that follows."""
    if at - line_start <= _LONGEST_ABBREVIATION and _MARKER.match(text, line_start, at):
        return False
    found = _WORD_BEFORE.search(text, max(line_start, at - _LONGEST_ABBREVIATION), at)
    if found is None:
        return not (next_begins.islower() and text[at - 1 : at].isspace())  # 5.6 cu . ft
    word = found.group()
    if word.lower() in _CONTINUES or (len(word) == 1 and word.isupper() and word != "I"):
        return False
    if word.lower() in _BEFORE_NUMBER:
        return not next_begins.isdigit()
    if "." in word and word[0].isupper():  # the U.S. Post Office, but: in the U.S. They left
        following = _LETTERS.search(text, at, at + _LONGEST_ABBREVIATION)
        return next_begins.isupper() and following is not None and fold_case(following.group()) in STOPWORDS
    may_end = word.lower() in _MAY_END or "." in word
    return not (may_end and (next_begins.islower() or next_begins.isdigit()))


def _spans_between(text: str, ends: list[int]) -> list[tuple[int, int]]:
    """The spans between these ends, without the white space around them and without empty ones."""
    spans: list[tuple[int, int]] = []
    start = 0
    for end in (*ends, len(text)):
        part = text[start:end]
        if sentence := part.strip():
            first = start + len(part) - len(part.lstrip())
            spans.append((first, first + len(sentence)))
        start = end
    return spans
