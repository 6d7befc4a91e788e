"""Remove secrets from a text before any part of it is stored.

`foreword.capture.secrets` recognises secrets: the keys of many providers, values assigned to a name in code,
settings, JSON, command lines, SQL and URLs, passwords in sentences of many languages, keys on many lines, and
all of these in base64 or with escapes. A user can mark anything else with `<private>`. Each secret is
replaced by `[redacted:KIND]`, a private span is deleted, and everything else stays the same to the byte.
Redact before you cut a text: half a key may no longer look like one.

Uses the standard library alone: a hook that must store a payload loads this module without site-packages.
Patterns are compiled on first use, and take time in proportion to the text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from foreword.capture.secrets.named import (
    AssignedValue,
    can_name_secret,
    find_secret_names,
    list_secret_stems,
    may_be_named_secret,
    secret_kind_for_name,
)
from foreword.capture.secrets.search import find_secrets
from foreword.capture.secrets.shape import MAX_VALUE_CHARACTERS
from foreword.capture.secrets.tables import index_text_for_secret_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "find_secrets",
    "has_private_mark",
    "redact",
    "redact_file_text",
    "redact_json",
    "remove_private_spans",
]

_PRIVATE = re.compile(
    # With blanks inside the brackets only the word alone is a mark: "a < private b > c" is none.
    # A tool may print the brackets as HTML or JSON writes them.
    r"(?:<|&lt;|\\{1,4}u003c)\s{0,3}(?P<closing>\\{0,4}/)?\s{0,3}private"
    r"(?:(?<=[</;c]private)\s[^<>]{0,1000}?|\s{0,3})(?P<empty>/?)(?:>|&gt;|\\{1,4}u003e|\Z)",
    re.IGNORECASE,
)
_HEADER = re.compile(r"(?i)cookie\Z|authorization\Z")
_IMAGE_DATA = re.compile(
    # The first letters are those of a PNG, a JPEG, a GIF and a WebP.
    r"(?:data:image/[\w.+-]{1,40};base64,)?(?:iVBORw0KGgo|/9j/|R0lGOD|UklGR)[A-Za-z0-9+/]{48,}={0,2}"
)
_MAX_ROUNDS = 4
"""At most how often a text is searched for what the marks of the search before brought to light."""

_MIN_CHARACTERS = len("<private")  # a shorter text has no secret
_MAX_NAMES_REMEMBERED, _MAX_NAME_CHARACTERS = 1024, 64


def redact(text: str, found: dict[str, str] | None = None) -> str:
    """The text without secrets and private spans; redacting it again changes nothing.

    The secrets that were found are added to `found`, each with its kind.
    """
    if len(text) < _MIN_CHARACTERS:
        return text
    return _replace_secrets_with_marks(remove_private_spans(text), found=found)


def redact_file_text(text: str) -> str:
    """A file's text without its secrets and private spans, with as many lines; the same object without any.

    A file is searched as a whole, because half a key may no longer look like one, and a private span may
    cover many items. A span that is not closed stays: it ends with its item, not with the file.
    """
    spans, _ = _find_private_spans(text)
    pieces, at = [], 0
    for start, end in spans:
        pieces += [text[at:start], "\n" * text.count("\n", start, end)]
        at = end
    open_text = "".join([*pieces, text[at:]]) if spans else text
    return _replace_secrets_with_marks(open_text, keep_lines=True)


def _replace_secrets_with_marks(
    text: str, *, keep_lines: bool = False, found: dict[str, str] | None = None
) -> str:
    """The text with a mark in place of each secret; with `keep_lines`, its line breaks stay.

    A mark may part a word from the secret that it was joined to, so that it announces another one: the text
    is searched again until nothing is found.
    """
    for _ in range(_MAX_ROUNDS):
        marked = _replace_secrets_in_one_pass(text, keep_lines=keep_lines, found=found)
        if marked is text:
            break
        text = marked
    return text


def _replace_secrets_in_one_pass(text: str, *, keep_lines: bool, found: dict[str, str] | None) -> str:
    """The text with a mark in place of each secret that is found in it now; the same object without any."""
    pieces, at = [], 0
    for secret in find_secrets(text):
        if found is not None:
            found[text[secret.start : secret.end]] = secret.kind
        breaks = "\n" * text.count("\n", secret.start, secret.end) if keep_lines else ""
        pieces += [text[at : secret.start], f"[redacted:{secret.kind}]", breaks]
        at = secret.end
    return "".join([*pieces, text[at:]]) if pieces else text


def has_private_mark(text: str) -> bool:
    """Whether a text has a `<private>` mark, opening or closing."""
    return _PRIVATE.search(text) is not None


def redact_json(value: Any, found: dict[str, str] | None = None) -> Any:  # noqa: ANN401 - JSON is whatever it is
    """The JSON value without secrets, in keys too; under a key that names a secret the value is redacted.

    The secrets that were found are added to `found`, each with its kind.
    """
    root = [value]
    pending: list[tuple[Any, Any, str]] = [(root, 0, "")]
    while pending:
        holder, place, name = pending.pop()
        inner = holder[place]
        if isinstance(inner, (str, int)) and not isinstance(inner, bool):
            holder[place] = _redact_named_value(name, inner, found)
        elif isinstance(inner, dict):
            copy: dict[Any, Any] = {}
            holder[place] = copy
            for key, member in inner.items():
                clean_key = _redact_name(key, found) if isinstance(key, str) else key
                member_key = _make_key_unique(clean_key, copy) if isinstance(key, str) else key
                copy[member_key] = member
                pending.append((copy, member_key, _redact_name(_member_name(inner, key))))
        elif isinstance(inner, (list, tuple)):
            holder[place] = items = _continue_private_spans(inner)
            pending += [
                (items, index, _preceding_option_or_name(items, index, name)) for index in range(len(items))
            ]
    return root[0]


def _redact_name(name: str, found: dict[str, str] | None = None) -> str:
    """The name of a member, redacted; names without secrets are remembered, as all events have the same."""
    is_plain = len(name) <= _MAX_NAME_CHARACTERS and _is_without_secrets(name)
    return name if is_plain else redact(name, found)


@lru_cache(maxsize=_MAX_NAMES_REMEMBERED)
def _is_without_secrets(name: str) -> bool:
    return redact(name) == name


def _continue_private_spans(members: Sequence[Any]) -> list[Any]:
    """The members of a list, where a private span that a text leaves open goes on in the texts after it.

    Agents send one message as several texts, alone or as `{"type": "text", "text": …}`.
    """
    continued, opening = [], ""
    for member in members:
        inner = member.get("text") if isinstance(member, dict) else member
        if isinstance(inner, str) and (opening or has_private_mark(inner)):
            text = opening + inner
            opening = "<private>" if _find_private_spans(text)[1] < len(text) else ""
            continued.append({**member, "text": text} if isinstance(member, dict) else text)
        else:
            continued.append(member)
    return continued


def _member_name(members: dict[Any, Any], key: Any) -> str:  # noqa: ANN401
    """The name of a member: its key or, in `{"name": …, "value": …}`, the value of `name`; else ""."""
    label = members.get("name", members.get("key")) if key in ("value", "Value") else key
    return label if isinstance(label, str) else ""


def _preceding_option_or_name(members: list[Any], index: int, name: str) -> str:
    """The name of a list's member: the option before it, as in a command's words, else the list's name."""
    before = members[index - 1] if index else None
    return before.lstrip("-") if isinstance(before, str) and before.startswith("-") else name


def _make_key_unique(key: str, members: dict[Any, Any]) -> str:
    """The key, with a number if the members have that key already."""
    free, number = key, 2
    while free in members:
        free, number = f"{key} {number}", number + 1
    return free


def _redact_named_value(name: str, value: str | int, found: dict[str, str] | None) -> str | int:
    """A value without secrets, or a mark if its name announces a secret and the value looks like one.

    The bytes of an image stay as they are, because anything in them that looks like a secret is chance.
    """
    if isinstance(value, str) and _IMAGE_DATA.fullmatch(value):
        return value
    clean = _redact_text_considering_name(name, value, found) if isinstance(value, str) else value
    text = clean if isinstance(clean, str) else str(clean) if abs(clean) < 10**40 else ""
    head = AssignedValue(text[:MAX_VALUE_CHARACTERS], 0, len(text), quoted=True, literal=True)
    named = index_text_for_secret_rules(f"{name}=" if len(name) < MAX_VALUE_CHARACTERS else "")
    for match in find_secret_names(named.lower, list_secret_stems(named)):
        if can_name_secret(named.text, match) and may_be_named_secret(head, match):
            kind = secret_kind_for_name(match)
            if found is not None:
                found[text] = kind
            return f"[redacted:{kind}]"
    return clean


def _redact_text_considering_name(name: str, value: str, found: dict[str, str] | None) -> str:
    """A text without secrets; the value of a cookie or authorization header is searched with its name."""
    lead = f"{name}: " if _HEADER.search(name) else ""
    return redact(lead + value, found)[len(lead) :]


def remove_private_spans(text: str) -> str:
    """The text without private spans, nested ones included; a span that is not closed ends with the text."""
    spans, unclosed = _find_private_spans(text)
    pieces, at = [], 0
    for start, end in spans:
        if start < unclosed:
            pieces.append(text[at:start])
            at = end
    text = "".join([*pieces, text[at:unclosed]])
    remade = next((tag for tag in _PRIVATE.finditer(text) if not tag["closing"]), None)
    # If the removal has joined two halves of a mark, somebody planned that, and the rest is private too.
    return text[: remade.start()] if remade else text


def _find_private_spans(text: str) -> tuple[list[tuple[int, int]], int]:
    """The start and end of each private span that is closed, and the start of the first that is not.

    Without one that is not closed, the latter is the length of the text. Spans inside another are left out,
    but a closed one after an unclosed mark is listed.
    """
    spans: list[tuple[int, int]] = []
    opened: list[int] = []
    for tag in _PRIVATE.finditer(text):
        if tag["closing"] and opened:
            start = opened.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, tag.end()))
        elif tag["empty"] and not tag["closing"]:
            spans.append(tag.span())
        elif not tag["closing"]:
            opened.append(tag.start())
    return spans, opened[0] if opened else len(text)
