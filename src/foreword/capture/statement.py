"""A statement becomes an item: the check that a text can be kept, searched and shown at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from foreword.capture.redact import redact, redact_json
from foreword.errors import ValidationError
from foreword.options import aware, known_kind, share
from foreword.types import TRUSTS, Source

if TYPE_CHECKING:
    from foreword.types import Item

MAX_CHARACTERS = 1_000_000
"""About a quarter of a million tokens: no context could show more, and an encoder reads far less."""

_MAX_LABEL = 4096


def sound(name: str, text: object, most: int = MAX_CHARACTERS, *, empty: bool = False) -> str:
    """A text that can be kept, or an error that says what is wrong with it."""
    if not isinstance(text, str):
        raise ValidationError(f"{name} must be text, not {type(text).__name__}")
    if not empty and not text.strip():
        raise ValidationError(f"{name} is empty; say something")
    if len(text) > most:
        raise ValidationError(f"{name} has {len(text):,} characters; the most is {most:,}: split it")
    if "\0" in text:
        raise ValidationError(f"{name} contains a NUL character; it is not text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValidationError(f"{name} holds half a character at {error.start} (a lone surrogate)") from None
    return text


def without_secrets(item: Item) -> Item:
    """A sound item as it may reach a disk: without keys, passwords and what was marked private."""
    text = redact(item.text)
    if not text.strip():
        raise ValidationError("nothing is left of the text once what is private is gone; nothing was kept")
    return replace(item, text=text, about=redact(item.about), metadata=redact_json(dict(item.metadata)))


def sound_item(item: Item) -> Item:
    """An item whose every field can be kept, or an error that names the field."""
    sound("text", item.text)
    known_kind(item.kind)
    for field in ("type", "about", "id"):
        sound(field, getattr(item, field), _MAX_LABEL, empty=True)
    for field in ("session", "conversation", "superseded_by"):
        if getattr(item, field) is not None:
            sound(field, getattr(item, field), _MAX_LABEL)
    share("confidence", item.confidence)
    share("importance", item.importance)
    aware("created_at", item.created_at)
    aware("valid_from", item.valid_from)
    _sound_source(item.source)
    sound_metadata(item.metadata)
    return item


def _sound_source(source: Source) -> None:
    if not isinstance(source, Source) or source.trust not in TRUSTS:
        raise ValidationError(f"source must be a Source whose trust is one of {', '.join(TRUSTS)}")
    sound("source", source.name, _MAX_LABEL)


def sound_metadata(metadata: Mapping[str, Any]) -> None:
    """Metadata is a JSON object, within reason."""
    if not isinstance(metadata, Mapping):
        raise ValidationError("metadata must be a mapping of names to JSON values")
    try:
        text = json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationError(f"metadata is not JSON: {error}") from None
    sound("metadata", text, MAX_CHARACTERS, empty=True)
    if any(not isinstance(key, str) for key in cast(Mapping[Any, Any], metadata)):
        raise ValidationError("metadata keys must be text")
