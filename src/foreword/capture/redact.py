"""Take secrets out of text before anything of it is written down.

What a secret looks like, `foreword.capture.secrets` knows: the keys of many providers, what is given to a
name in code, settings, JSON, command lines, SQL and addresses, what people tell in sentences of many
languages, keys on many lines, and all of these in base64 or with escapes. A user keeps anything else to
themselves with the `<private>` mark. Each secret becomes `[redacted:KIND]`; a private span becomes nothing.
Everything else stays as it was, to the byte. Redact before cutting: half a key may no longer look like one.

Stands on the standard library alone: a hook that must put a payload aside loads it without site-packages.
Patterns are compiled when a text first holds what they begin with, and cost time in proportion to the text.
"""

from __future__ import annotations

import re
from typing import Any

from foreword.capture.secrets.named import (
    Value,
    can_name_secret,
    find_secret_names,
    fits_secret_name,
    kind_for_name,
    list_secret_stems,
)
from foreword.capture.secrets.search import find_secrets
from foreword.capture.secrets.shape import MAX_VALUE_CHARACTERS
from foreword.capture.secrets.tables import prepare_text

__all__ = [
    "find_secrets",
    "has_private_mark",
    "redact",
    "redact_file_text",
    "redact_json",
    "remove_private_spans",
]

_PRIVATE = re.compile(
    # With blanks inside the brackets only the bare word counts: "a < private b > c" marks nothing.
    r"<\s{0,3}(?P<closing>/?)\s{0,3}private(?:(?<=[</]private)\s[^<>]{0,1000}?|\s{0,3})(?P<empty>/?)(?:>|\Z)",
    re.IGNORECASE,
)
_HEADER = re.compile(r"(?i)cookie\Z|authorization\Z")
_IMAGE_DATA = re.compile(
    # The first letters are those of a PNG, a JPEG, a GIF and a WebP.
    r"(?:data:image/[\w.+-]{1,40};base64,)?(?:iVBORw0KGgo|/9j/|R0lGOD|UklGR)[A-Za-z0-9+/]{48,}={0,2}"
)
_MIN_CHARACTERS = len("<private")  # what is shorter holds no secret


def redact(text: str) -> str:
    """The text without its secrets and without what was marked private; a second time changes nothing."""
    if len(text) < _MIN_CHARACTERS:
        return text
    return _mark_secrets(remove_private_spans(text))


def redact_file_text(text: str) -> str:
    """A file's text without the secrets in it, on as many lines as before; the same object if it has none.

    A file is searched as a whole, since half a key may no longer look like one. What was marked private
    stays: a mark that is not closed ends with the item it stands in, not with the file.
    """
    return _mark_secrets(text, keep_lines=True)


def _mark_secrets(text: str, *, keep_lines: bool = False) -> str:
    """The text with a mark in place of each secret and, if lines are kept, the secret's line breaks."""
    pieces, at = [], 0
    for secret in find_secrets(text):
        breaks = "\n" * text.count("\n", secret.start, secret.end) if keep_lines else ""
        pieces += [text[at : secret.start], f"[redacted:{secret.kind}]", breaks]
        at = secret.end
    return "".join([*pieces, text[at:]]) if pieces else text


def has_private_mark(text: str) -> bool:
    """Whether a text marks anything as private, or may."""
    return _PRIVATE.search(text) is not None


def redact_json(value: Any) -> Any:  # noqa: ANN401 - JSON is whatever it is
    """The same value without secrets, in keys too; a key that names a secret speaks for its value."""
    root = [value]
    pending: list[tuple[Any, Any, str]] = [(root, 0, "")]
    while pending:
        holder, place, name = pending.pop()
        inner = holder[place]
        if isinstance(inner, (str, int)) and not isinstance(inner, bool):
            holder[place] = _redact_named_value(name, inner)
        elif isinstance(inner, dict):
            copy: dict[Any, Any] = {}
            holder[place] = copy
            for key, member in inner.items():
                place_of_member = _make_key_unique(redact(key), copy) if isinstance(key, str) else key
                copy[place_of_member] = member
                pending.append((copy, place_of_member, redact(_name_of_json_member(inner, key))))
        elif isinstance(inner, (list, tuple)):
            holder[place] = items = list(inner)
            pending += [
                (items, index, _name_of_list_member(items, index, name)) for index in range(len(items))
            ]
    return root[0]


def _name_of_json_member(members: dict[Any, Any], key: Any) -> str:  # noqa: ANN401
    """The name under which a member stands, also where it is written `{"name": …, "value": …}`."""
    label = members.get("name", members.get("key")) if key in ("value", "Value") else key
    return label if isinstance(label, str) else ""


def _name_of_list_member(members: list[Any], index: int, name: str) -> str:
    """The name of the list, or the option before this member, where the list is a command's words."""
    before = members[index - 1] if index else None
    return before.lstrip("-") if isinstance(before, str) and before.startswith("-") else name


def _make_key_unique(key: str, members: dict[Any, Any]) -> str:
    """The key, told apart from one that reads the same now."""
    free, number = key, 2
    while free in members:
        free, number = f"{key} {number}", number + 1
    return free


def _redact_named_value(name: str, value: str | int) -> str | int:
    """A value without secrets; a mark in its place if its name says that it is one and it looks like one.

    The bytes of an image are left as they are: a secret among their letters would be chance.
    """
    if isinstance(value, str) and _IMAGE_DATA.fullmatch(value):
        return value
    clean = _redact_with_name(name, value) if isinstance(value, str) else value
    text = clean if isinstance(clean, str) else str(clean) if abs(clean) < 10**40 else ""
    head = Value(text[:MAX_VALUE_CHARACTERS], 0, len(text), quoted=True, literal=True)
    named = prepare_text(f"{name}=" if len(name) < MAX_VALUE_CHARACTERS else "")
    for match in find_secret_names(named.lower, list_secret_stems(named)):
        if can_name_secret(named.text, match) and fits_secret_name(head, match):
            return f"[redacted:{kind_for_name(match)}]"
    return clean


def _redact_with_name(name: str, value: str) -> str:
    """A text without secrets; that of a header is read with its name, which says what it holds."""
    lead = f"{name}: " if _HEADER.search(name) else ""
    return redact(lead + value)[len(lead) :]


def remove_private_spans(text: str) -> str:
    """The text without private spans, nested ones included; one that is not closed ends with the text."""
    kept: list[str] = []
    at = depth = 0
    for tag in _PRIVATE.finditer(text):
        if depth == 0 and not tag["closing"]:
            kept.append(text[at : tag.start()])
            at = tag.end()
        if tag["closing"]:
            at = tag.end() if depth == 1 else at
            depth = max(0, depth - 1)
        elif not tag["empty"]:
            depth += 1
    if depth == 0:
        kept.append(text[at:])
    text = "".join(kept)
    remade = next((tag for tag in _PRIVATE.finditer(text) if not tag["closing"]), None)
    return text[: remade.start()] if remade else text  # two halves of a mark have met, and not by chance
