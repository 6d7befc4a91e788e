"""The smallest things that can be said alone: a short text whole, a long one in a few sentences at a time.

Says where a text may be cut, whether it states anything at all, and how a statement is put to the reader.
What a statement is worth is decided elsewhere.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.text.provenance import attribution, is_foreign, quote_entry
from foreword.text.sentences import split_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from foreword.types import Item

MAX_STATEMENT_CHARACTERS = 320
"""At most this long is a text that is told whole; longer ones are cut into statements of about this size."""

_FULL_SHARE = 0.75
"""A statement takes in one more sentence while it is shorter than this share of the most."""

_QUESTION_MARK = re.compile(r"[?？؟]")
_QUESTION_END = re.compile(r"[?？؟][\"'”’»)\]]*\s*\Z")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\d+|[^\W\d_]+")
"""A word, or a character of a script that does not part its words."""

_MAX_WORDS_BESIDE = 3
_MAX_HISTORY_CHARACTERS = 160


def split_statements(text: str) -> list[str]:
    """The statements of a text, in order: the text itself if it is short."""
    if len(text) <= MAX_STATEMENT_CHARACTERS:
        return [text.strip()] if text.strip() else []
    statements: list[str] = []
    for piece in _short_pieces(text):
        full = MAX_STATEMENT_CHARACTERS * _FULL_SHARE
        if statements and len(statements[-1]) + len(piece) < full:
            statements[-1] += f" {piece}"
        else:
            statements.append(piece)
    return statements


def only_asks(text: str) -> bool:
    """Whether a text only asks: a question, with at most a few words beside it."""
    if not _QUESTION_MARK.search(text):
        return False  # by far the most, and splitting sentences takes time
    sentences = split_sentences(text)
    stated = [sentence for sentence in sentences if not _QUESTION_END.search(sentence)]
    words = _WORD.findall(" ".join(stated))
    asks = len(stated) < len(sentences)
    return asks and len(words) <= _MAX_WORDS_BESIDE and not any(word.isdigit() for word in words)


def describe_statement(item: Item, statement: str, now: datetime) -> str:
    """A statement of an item with who said it and when, in the words that the reader was taught with."""
    about = f"{item.about}: " if item.about and item.kind in ("code", "document", "commit") else ""
    return f"{speaker_of(item)}, {_describe_age(item, now)}: {about}{statement}"


def speaker_of(item: Item) -> str:
    """Who says what an item holds, in one word that the reader knows."""
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


def describe_history(older: Sequence[Item], later: Sequence[Item] = ()) -> str:
    """What a statement replaced, and what contradicts it since, with dates: "(before, 3 May 2026: …)".

    What tools printed and pages say is no history: outdated, it would only take room.
    """
    said = [item for item in older if item.source.trust not in ("tool", "web")]
    told = [("before", item) for item in said] + [("later", item) for item in later]
    return " ".join(
        f"({when}, {_describe_day(item)}{_describe_author(item)}: {_describe_words(item)})"
        for when, item in told
    )


def _describe_author(item: Item) -> str:
    author = attribution(item)
    return f", {author}" if author else ""


def _describe_words(item: Item) -> str:
    words = _shorten(str(item.metadata.get("message") or item.text) if item.kind == "commit" else item.text)
    return quote_entry(words) if is_foreign(item.source) else words


def _describe_day(item: Item) -> str:
    return f"{item.created_at.day} {item.created_at:%B %Y}"


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return (
        line if len(line) <= _MAX_HISTORY_CHARACTERS else f"{line[: _MAX_HISTORY_CHARACTERS - 1].rstrip()}…"
    )


def _describe_age(item: Item, now: datetime) -> str:
    days = (now.date() - item.created_at.astimezone(now.tzinfo).date()).days
    return "today" if days <= 0 else "yesterday" if days == 1 else f"{days} days ago"


def _short_pieces(text: str) -> list[str]:
    """Sentences; and of one that is too long (a block of code, a table), groups of its lines."""
    pieces: list[str] = []
    for sentence in split_sentences(text):
        if len(sentence) <= MAX_STATEMENT_CHARACTERS:
            pieces.append(sentence)
        else:
            pieces += _groups_of_lines(sentence)
    return pieces


def _groups_of_lines(block: str) -> list[str]:
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
