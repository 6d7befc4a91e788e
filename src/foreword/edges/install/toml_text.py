"""Add one table to a TOML text, or take it out, and leave every other byte as it was.

Every change is proven before it is given back: the new text must say what the old one said, plus or minus
the table. Where that cannot be had (the table's parent is written inline, say) the change is refused, with
the lines to write by hand.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from foreword.errors import ValidationError


def value(text: str) -> dict[str, Any]:
    """What the text says."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValidationError(str(error)) from error


def put(text: str, table: tuple[str, str], new: dict[str, Any]) -> str:
    """The text with a new table at its end."""
    block = f"[{'.'.join(table)}]\n" + "".join(f"{_key(key)} = {_worded(one)}\n" for key, one in new.items())
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    changed = text + gap + block
    if not _says(changed, _with(value(text), table, new)):
        raise ValidationError(f"a table cannot be added safely; add it by hand:\n{block}")
    return changed


def delete(text: str, table: tuple[str, str]) -> str:
    """The text without a table and the tables below it."""
    parent, name = table
    said = value(text)
    rest = {key: one for key, one in said[parent].items() if key != name}
    wanted = {**said, parent: rest} if rest else {key: one for key, one in said.items() if key != parent}
    changed = "".join(_other_lines(text, table))
    if not _says(changed, wanted) and not _says(changed, {**said, parent: rest}):
        raise ValidationError(f"[{parent}.{name}] cannot be taken out safely; remove it by hand")
    return changed


def _with(said: dict[str, Any], table: tuple[str, str], new: dict[str, Any]) -> dict[str, Any]:
    parent, name = table
    return {**said, parent: {**said.get(parent, {}), name: new}}


def _says(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _other_lines(text: str, table: tuple[str, str]) -> list[str]:
    """The lines that are not the table's; blanks and comments after its last line are somebody else's."""
    names = r"\s*\.\s*".join(f"""(?:{name}|"{name}"|'{name}')""" for name in map(re.escape, table))
    header = re.compile(rf"\s*\[\s*{names}\s*(?:\..*)?\]")
    kept: list[str] = []
    pending: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            entering = bool(header.match(line))
            if entering and not inside and kept and not kept[-1].strip():
                kept.pop()  # the blank line that set the table apart
            kept += [] if entering and inside else pending
            inside, pending = entering, []
        if not inside:
            kept.append(line)
        elif not line.strip() or line.lstrip().startswith("#"):
            pending.append(line)
        else:
            pending = []
    return kept + pending


def _key(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key, re.ASCII) else _quoted(key)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _worded(new: object) -> str:
    match new:
        case bool():
            return str(new).lower()
        case str():
            return _quoted(new)
        case dict():
            return "{ " + ", ".join(f"{_key(key)} = {_worded(one)}" for key, one in new.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(_worded, new)) + "]"
        case _:
            return str(new)
