"""What a line of a labelled set would have been captured as, had it been met in the world.

A file goes the way of `foreword index`: secrets are taken out, then code is cut into units and a document
into pieces of its sections. A function that stands in no file is the unit it would be in one, without a path.
A commit is told as history tells it. Anything else was somebody's words, and stays whole.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from foreword.capture.code.languages import DOCUMENTS, MAX_SNIFFED_BYTES, language_of
from foreword.capture.code.units import WINDOW_LINES, code_items
from foreword.capture.documents.chunking import document_items
from foreword.capture.folder.commits import commit_text
from foreword.capture.folder.storable import storable_text
from foreword.capture.purge import redact_keys

if TYPE_CHECKING:
    from foreword.types import Item

_CHANGED = re.compile(r"(?P<message>.*?)\s*^files: (?P<files>[^\n]+)\s*\Z", re.DOTALL | re.MULTILINE)
"""How a set writes a commit: its message, and behind it the files that it changed."""


def captured(whole: Item) -> list[Item]:
    """The items that a line becomes, given as the item it would be if it were kept whole."""
    if not whole.text.strip():
        return []
    if whole.kind == "commit":
        return [_of_history(whole)]
    path = whole.metadata.get("path")
    if path and whole.kind in ("code", "document"):
        return _of_file(str(path), whole)
    return _of_no_file(whole) if whole.kind == "code" else [whole]


def _of_history(whole: Item) -> Item:
    known = _CHANGED.fullmatch(whole.text)
    if known is None:
        return whole
    message, files = known["message"].strip(), known["files"].split(", ")
    return replace(
        whole,
        text=commit_text(message or "(no message)", files),
        metadata={**whole.metadata, "message": message, "files": files, "files_changed": len(files)},
    )


def _of_file(path: str, whole: Item) -> list[Item]:
    text = redact_keys(storable_text(whole.text))
    language = language_of(path, text[:MAX_SNIFFED_BYTES].encode())
    if language in DOCUMENTS:
        made = document_items(path, text.encode(), whole.workspace, whole.created_at)
    else:
        made = code_items(path, text, language, whole.workspace, whole.created_at)
    return [
        replace(item, session=whole.session, metadata={**whole.metadata, **item.metadata}) for item in made
    ]


def _of_no_file(whole: Item) -> list[Item]:
    """The units of code whose file is not known; itself, where no part of it is worth a unit."""
    # A file of a few lines is one item, whatever it defines; but a function stands among others.
    text = redact_keys(storable_text(whole.text)) + "\n" * WINDOW_LINES
    language = str(whole.metadata.get("language") or "")
    made = code_items("", text, language, whole.workspace, whole.created_at)
    return [_without_path(item, whole) for item in made] or [whole]


def _without_path(item: Item, whole: Item) -> Item:
    known = {name: value for name, value in item.metadata.items() if name != "path"}
    return replace(
        whole, text=item.text, about=item.about.lstrip(" ›—"), metadata={**whole.metadata, **known}
    )
