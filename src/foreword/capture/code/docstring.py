"""What a definition says of itself: Python's docstring, or the comment above it, without the marks."""

from __future__ import annotations

import re

_OPENING = re.compile(rb"(?:#[^\n]*+\n|\s++|\\\n)*+[rRuUbB]{0,2}(\"\"\"|'''|\"|')")
_MARKS = re.compile(
    r"^[ \t]*(?:/\*+!?|\*+/|\*+(?=\s|$)|//+!?|#+(?![\[!]))[ \t]?|[ \t]*\*+/[ \t]*$", re.MULTILINE
)
_TAGS = re.compile(r"</?[a-zA-Z][^<>\n]{0,80}>")
_ATTRIBUTE = re.compile(r"^[ \t]*(?:#\[|@\w+(?:\(|$)).*$", re.MULTILINE)
_RULE = re.compile(r"^[\W_]*$")
_LONGEST_LINE = 240
_STRING = r"(\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
_HASHES = re.compile(rf"{_STRING}|#[^\n]*")
_SLASHES = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_HASHED = frozenset({"python", "ruby", "bash"})


def string_text(source: bytes, at: int) -> str:
    """The string that stands at a place, without quotes and indentation; "" when something else does."""
    opening = _OPENING.match(source, at)
    if not opening:
        return ""
    quote = opening[1]
    end = source.find(quote, opening.end())
    if end < 0 or (len(quote) == 1 and b"\n" in source[opening.end() : end]):
        return ""
    return _lines(source[opening.end() : end].decode(errors="replace"))


def comment_text(comment: str) -> str:
    """What a comment says, without its marks, its tags and the attributes that stand among its lines."""
    return _lines(_TAGS.sub("", _MARKS.sub("", _ATTRIBUTE.sub("", comment))))


def without_comments(head: str, language: str) -> str:
    """The head of a definition without the comments that stand in it, or between it and the body."""
    if language in _HASHED:
        return _HASHES.sub(_string, head) if "#" in head else head
    return _SLASHES.sub(_string, head) if "//" in head or "/*" in head else head


def _string(found: re.Match[str]) -> str:
    return found[1] or " "


def first_line(doc: str) -> str:
    """The first line of a docstring that says something."""
    for line in doc.split("\n"):
        if not _RULE.match(line):
            return line[:_LONGEST_LINE]
    return ""


def _lines(text: str) -> str:
    if "\n" not in text:
        return text.strip()
    return "\n".join(line.strip() for line in text.split("\n")).strip()
