"""Statements: the smallest parts of a text that make sense alone, usually a few sentences.

Splits a text into statements, recognises texts that only ask, and words a statement for the reader model. The
relevance of a statement is decided elsewhere.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.text.dates import write_out_day
from foreword.text.provenance import attribution, is_from_third_party, quote_entry
from foreword.text.sentences import split_sentences
from foreword.text.shorten import shorten_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from foreword.types import Item

MAX_STATEMENT_CHARACTERS = 320
"""A text of at most this length is one statement; a longer one is cut into statements of about this size."""

_MAX_FILLED_SHARE = 0.75
"""A sentence is added to a statement as long as the two stay below this share of the maximum."""

_QUESTION_MARK = re.compile(r"[?？؟]")
QUESTION_END = re.compile(r"[?？؟][\"'”’»)\]]*\s*\Z")
"""The end of a sentence that is a question by its mark."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\d+|[^\W\d_]+")
"""A word, or a character of a script that has no blanks between words."""

_MAX_WORDS_BESIDE = 3
MAX_HISTORY_CHARACTERS = 160
"""At most how many characters are shown of what a statement replaced, or of what changed it."""


def split_statements(text: str) -> list[str]:
    """The statements of a text, in order: the text itself if it is short."""
    if len(text) <= MAX_STATEMENT_CHARACTERS:
        return [text.strip()] if text.strip() else []
    statements: list[str] = []
    for piece in _split_into_sentences_or_lines(text):
        full = MAX_STATEMENT_CHARACTERS * _MAX_FILLED_SHARE
        if statements and len(statements[-1]) + len(piece) < full:
            statements[-1] += f" {piece}"
        else:
            statements.append(piece)
    return statements


def is_bare_question(text: str) -> bool:
    """Whether a text is a question with at most a few other words."""
    if not _QUESTION_MARK.search(text):
        return False  # a quick answer for most texts, as splitting sentences takes time
    sentences = split_sentences(text)
    stated = [sentence for sentence in sentences if not QUESTION_END.search(sentence)]
    words = _WORD.findall(" ".join(stated))
    asks = len(stated) < len(sentences)
    return asks and len(words) <= _MAX_WORDS_BESIDE and not any(word.isdigit() for word in words)


def describe_statement(item: Item, statement: str, now: datetime) -> str:
    """A statement of an item with its author and age, worded as in the training data of the reader model."""
    about = f"{item.about}: " if item.about and item.kind in ("code", "document", "commit") else ""
    return f"{author_in_one_word(item)}, {_describe_age(item, now)}: {about}{statement}"


def author_in_one_word(item: Item) -> str:
    """The author of an item in one word that the reader model knows, such as `user` or `file`."""
    match item.kind:
        case "code" | "document":
            return "file"
        case "commit":
            return "commit"
        case "turn" | "memory" if item.source.trust != "user":
            return _SPEAKERS[item.source.trust]
        case "turn":
            return "user"
        case _:
            return "memory"


_SPEAKERS = {"agent": "agent", "repository": "file", "tool": "tool", "web": "tool"}


def describe_replaced_and_contradicting_statements(older: Sequence[Item], later: Sequence[Item] = ()) -> str:
    """The older statements that one replaced and later ones that contradict it: "(before, 3 May 2026: …)".

    Older outputs of tools and web pages are left out, as they are useless once they are outdated.
    """
    stated = [item for item in older if item.source.trust not in ("tool", "web")]
    dated = [("before", item) for item in stated] + [("later", item) for item in later]
    return " ".join(
        f"({when}, {write_out_day(item.created_at)}{_describe_author(item)}: {_shorten_and_quote(item)})"
        for when, item in dated
    )


def _describe_author(item: Item) -> str:
    author = attribution(item)
    return f", {author}" if author else ""


def _shorten_and_quote(item: Item) -> str:
    """The text of an item, or the message of a commit, shortened; foreign words are quoted."""
    text = str(item.metadata.get("message") or item.text) if item.kind == "commit" else item.text
    words = shorten_line(text, MAX_HISTORY_CHARACTERS)
    return quote_entry(words) if is_from_third_party(item.source) else words


def _describe_age(item: Item, now: datetime) -> str:
    """The age of an item in days: `today`, `yesterday` or `5 days ago`."""
    days = (now.date() - item.created_at.astimezone(now.tzinfo).date()).days
    return "today" if days <= 0 else "yesterday" if days == 1 else f"{days} days ago"


def _split_into_sentences_or_lines(text: str) -> list[str]:
    """The sentences of a text; one that is too long, such as a block of code, in groups of its lines."""
    pieces: list[str] = []
    for sentence in split_sentences(text):
        if len(sentence) <= MAX_STATEMENT_CHARACTERS:
            pieces.append(sentence)
        else:
            pieces += _pack_lines_into_statements(sentence)
    return pieces


def _pack_lines_into_statements(block: str) -> list[str]:
    """The lines of a block, joined into groups that are no longer than a statement."""
    groups: list[str] = []
    for line in block.splitlines():
        short = line.rstrip()[:MAX_STATEMENT_CHARACTERS]
        if not short.strip():
            continue
        if groups and len(groups[-1]) + len(short) < MAX_STATEMENT_CHARACTERS:
            groups[-1] += f"\n{short}"
        else:
            groups.append(short)
    return groups
