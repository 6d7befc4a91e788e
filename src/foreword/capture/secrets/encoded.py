"""Secrets that are written in another way: in base64, or with escapes of addresses, HTML, JSON and mail."""

from __future__ import annotations

import binascii
import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from foreword.capture.secrets import shape
from foreword.capture.secrets.tables import Secret, read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from foreword.capture.secrets.tables import Reading

    Finder = Callable[[Reading], Iterator[Secret]]

_ESCAPE = re.compile(
    r"(?a)%([2-7][0-9A-Fa-f])|\\u00([2-7][0-9A-Fa-f])|\\x([2-7][0-9A-Fa-f])|&#x([2-7][0-9A-Fa-f]);|&#(\d{2,3});"
    r"|&(quot|amp|apos|lt|gt|equals|colon);|=(3D|3A|22|26|40)|\\{1,3}([nrt\"'])"
)
_MARKS = {
    "%": ("%3D", "%3d", "%3A", "%3a", "%22", "%26", "%40"),
    "\\": ("\\u003", "\\u002", "\\x3d", "\\x3a", "\\x22"),
    "&": ("&#3", "&#6", "&#x2", "&#x3", "&quot;", "&apos;", "&equals;"),
    "=": ("=3D",),
}
"""The escapes without which nothing escaped can be a secret with its name, by their first sign."""

_NAMED = {"quot": '"', "amp": "&", "apos": "'", "lt": "<", "gt": ">", "equals": "=", "colon": ":"}
_BASE64 = re.compile(r"(?a)(?<![\w+/.-])[A-Za-z0-9+/_-]{16,4096}+={0,2}(?![\w+/.-])")
_LOGIN = re.compile(r"(?a)[\w.@+$-]{2,64}:([^\s:/][^\s]{5,63})")
_MIXED_CASE = re.compile(r"[a-z].*[A-Z]|[A-Z].*[a-z]")


def find_escaped_secrets(text: str, find: Finder) -> Iterator[Secret]:
    """What `find` finds once the escapes of a text are read, in the places of the text as it is written."""
    if not _is_one_line(text) and not any(
        mark in text for sign, marks in _MARKS.items() if sign in text for mark in marks
    ):
        return
    plain, places, sources = _read_escapes(text)
    if plain == text:
        return
    for secret in find(read_text(plain)):
        yield Secret(
            secret.kind,
            _place_in_source(secret.start, places, sources),
            _place_in_source(secret.end, places, sources),
        )


def _is_one_line(text: str) -> bool:
    """Whether the lines of a text are written as one, as in JSON or in a log, and not only in its strings."""
    return text.count("\\n") > text.count("\n")


def _read_escapes(text: str) -> tuple[str, list[int], list[int]]:
    """The text without escapes, and at which places in it which places of the text follow."""
    pieces: list[str] = []
    places, sources = [0], [0]
    at = length = 0
    for escape in _ESCAPE.finditer(text):
        character = _read_escape(escape)
        if character is None:
            continue
        pieces += [text[at : escape.start()], character]
        length += escape.start() - at
        places += [length, length + 1]
        sources += [escape.start(), escape.end()]
        at, length = escape.end(), length + 1
    return "".join([*pieces, text[at:]]), places, sources


def _read_escape(escape: re.Match[str]) -> str | None:
    """The character that an escape stands for; None for what does not stand in a text."""
    *coded, decimal, named, mail, plain = escape.groups()
    if plain:
        return {"n": "\n", "r": "\r", "t": "\t"}.get(plain, plain)
    if named:
        return _NAMED[named]
    if decimal:
        return chr(int(decimal)) if 32 <= int(decimal) < 127 else None
    code = next((code for code in (*coded, mail) if code), "")
    return chr(int(code, 16)) if int(code, 16) < 127 else None


def _place_in_source(place: int, places: list[int], sources: list[int]) -> int:
    index = bisect_right(places, place) - 1
    return sources[index] + place - places[index]


def find_base64_secrets(reading: Reading, find: Finder) -> Iterator[Secret]:
    """What reads as a text with a secret, or as a name and a password, once it is decoded."""
    for run in dict.fromkeys(_BASE64.findall(reading.runs)):
        plain = _decode(run)
        if not plain or not (_is_login(plain) or any(True for _ in find(read_text(plain)))):
            continue
        at = reading.text.find(run)
        while at >= 0:
            yield Secret("base64", at, at + len(run))
            at = reading.text.find(run, at + len(run))


def _decode(value: str) -> str:
    """The text that is written in base64; empty if it is none."""
    if not _MIXED_CASE.search(value[:64]) and "=" not in value:
        return ""
    standard = value.rstrip("=").replace("-", "+").replace("_", "/")
    if len(standard) % 4 == 1:
        return ""
    try:
        plain = binascii.a2b_base64(standard + "=" * (-len(standard) % 4))
        text = plain.decode("ascii")
    except ValueError:
        return ""
    return text if text.replace("\n", " ").replace("\t", " ").replace("\r", " ").isprintable() else ""


def _is_login(plain: str) -> bool:
    login = _LOGIN.fullmatch(plain.strip())
    return login is not None and shape.is_mixed(login[1]) and not shape.is_placeholder(login[1])
