"""Find secrets that are encoded: in base64, or with the escapes of URLs, HTML, JSON and e-mail."""

from __future__ import annotations

import binascii
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from foreword.capture.secrets import shape
from foreword.capture.secrets.patterns import pattern
from foreword.capture.secrets.tables import Secret, index_text_for_secret_rules

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator

    from foreword.capture.secrets.tables import PreparedText

    Finder = Callable[[PreparedText], Iterator[Secret]]

_ESCAPE = pattern(
    r"(?a)%([2-7][0-9A-Fa-f])|\\u00([2-7][0-9A-Fa-f])|\\x([2-7][0-9A-Fa-f])|&#x([2-7][0-9A-Fa-f]);|&#(\d{2,3});"
    r"|&(quot|amp|apos|lt|gt|equals|colon);|=(3D|3A|22|26|40)|\\{1,3}([nrt\"'])|(\x1b\[[0-9;]{0,16}[A-Za-z])"
)
_MARKS = {
    "%": ("%3D", "%3d", "%3A", "%3a", "%22", "%26", "%40"),
    "\\": ("\\u003", "\\u002", "\\x3d", "\\x3a", "\\x22"),
    "&": ("&#3", "&#6", "&#x2", "&#x3", "&quot;", "&apos;", "&equals;"),
    "=": ("=3D",),
    "\x1b": ("\x1b[",),
}
"""Escapes by their first character; a text without any of them has no escaped secret with its name."""

_ENTITIES = {"quot": '"', "amp": "&", "apos": "'", "lt": "<", "gt": ">", "equals": "=", "colon": ":"}
_BASE64 = pattern(r"(?a)(?<![\w+/.-])[A-Za-z0-9+/_-]{16,4096}+={0,2}(?![\w+/.-])")
_LOGIN = pattern(r"(?a)[\w.@+$-]{2,64}:([^\s:/][^\s]{5,63})")
_MIXED_CASE = pattern(r"[a-z].*[A-Z]|[A-Z].*[a-z]")


def find_escaped_secrets(text: str, find: Finder) -> Iterator[Secret]:
    """The secrets that `find` finds in the text without escapes, at their positions in the original text."""
    if not _has_escaped_line_breaks(text) and not any(
        mark in text for sign, marks in _MARKS.items() if sign in text for mark in marks
    ):
        return
    plain, positions, originals = _decode_escapes(text)
    if plain == text:
        return
    for secret in find(index_text_for_secret_rules(plain)):
        yield Secret(
            secret.kind,
            _position_in_original(secret.start, positions, originals),
            _end_position_in_original(secret.end, positions, originals),
        )


def _has_escaped_line_breaks(text: str) -> bool:
    """Whether a text has more escaped line breaks than real ones, as JSON or a log has."""
    return text.count("\\n") > text.count("\n")


def _decode_escapes(text: str) -> tuple[str, list[int], list[int]]:
    """The text without escapes, and two lists that map positions in it to positions in the original."""
    pieces: list[str] = []
    positions, originals = [0], [0]
    at = length = 0
    for escape in _ESCAPE.finditer(text):
        character = _decode_escape(escape)
        if character is None:
            continue
        pieces += [text[at : escape.start()], character]
        length += escape.start() - at
        positions += [length, length + len(character)]
        originals += [escape.start(), escape.end()]
        at, length = escape.end(), length + len(character)
    return "".join([*pieces, text[at:]]), positions, originals


def _decode_escape(escape: re.Match[str]) -> str | None:
    """The character that an escape means, "" for a colour; None for a control character."""
    *coded, decimal, named, mail, plain, colour = escape.groups()
    if colour:
        return ""
    if plain:
        return {"n": "\n", "r": "\r", "t": "\t"}.get(plain, plain)
    if named:
        return _ENTITIES[named]
    if decimal:
        return chr(int(decimal)) if 32 <= int(decimal) < 127 else None
    code = next((code for code in (*coded, mail) if code), "")
    return chr(int(code, 16)) if int(code, 16) < 127 else None


def _position_in_original(position: int, positions: list[int], originals: list[int]) -> int:
    """The position in the original text of a position in the text without escapes."""
    index = bisect_right(positions, position) - 1
    return originals[index] + position - positions[index]


def _end_position_in_original(position: int, positions: list[int], originals: list[int]) -> int:
    """The position in the original text of an end: before a colour that follows, which stays."""
    index = bisect_left(positions, position)
    if index < len(positions) and positions[index] == position:
        return originals[index]
    return _position_in_original(position, positions, originals)


def find_base64_secrets(prepared: PreparedText, find: Finder) -> Iterator[Secret]:
    """The base64 values that decode to a text with a secret, or to a name and a password."""
    for run in dict.fromkeys(_BASE64.findall(prepared.runs)):
        plain = _decode_base64(run)
        if not plain or not (
            _is_name_and_password(plain) or any(True for _ in find(index_text_for_secret_rules(plain)))
        ):
            continue
        at = prepared.text.find(run)
        while at >= 0:
            yield Secret("base64", at, at + len(run))
            at = prepared.text.find(run, at + len(run))


def _decode_base64(value: str) -> str:
    """The text that a base64 value decodes to; "" if it is not base64 of printable ASCII."""
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


def _is_name_and_password(plain: str) -> bool:
    """Whether a text is `name:password`."""
    login = _LOGIN.fullmatch(plain.strip())
    return login is not None and shape.may_be_password(login[1]) and not shape.is_placeholder(login[1])
