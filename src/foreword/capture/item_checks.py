"""Check that a text or an item can be stored, searched and shown, and remove the secrets of an item."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from foreword.capture.redact import has_private_mark, redact, redact_json, remove_private_spans
from foreword.errors import ValidationError
from foreword.options import check_aware_datetime_or_none, check_fraction, check_kind, check_text
from foreword.text.provenance import FILED_KINDS
from foreword.types import TRUSTS, Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foreword.types import Item

_MAX_LABEL_CHARACTERS = 4096


def redact_item(item: Item) -> Item:
    """The item as it may be stored: without keys, passwords and private spans.

    Raises a ValidationError if nothing is left of its text.
    """
    text = redact(item.text)
    if not text.strip():
        raise ValidationError("nothing is left of the text once what is private is gone; nothing was kept")
    return replace(
        item,
        text=text,
        type=redact(item.type),
        about=redact(item.about),
        source=replace(item.source, name=redact(item.source.name)),
        session=_remove_private_from_label(item.session),
        conversation=_remove_private_from_label(item.conversation),
        metadata=redact_json(dict(item.metadata)),
    )


def _remove_private_from_label(label: str | None) -> str | None:
    """A session's or conversation's name without private spans; None if nothing is left."""
    return (remove_private_spans(label).strip() or None) if label and has_private_mark(label) else label


def have_no_secrets(items: Iterable[Item], *, texts: bool = True) -> bool:
    """Whether these items surely have no secrets and no private spans.

    All fields are searched together, which is many times faster than one by one. With `texts=False` the texts
    are known to be clean, and so is every field whose value is in the text word for word; lists in the
    metadata are taken for clean too.
    """
    values: dict[str, None] = {}
    for item in items:
        fields = [
            item.about,
            item.type,
            item.source.name,
            *(value for value in item.metadata.values() if isinstance(value, str)),
        ]
        if texts:
            lists = [value for value in item.metadata.values() if isinstance(value, list)]
            listed = (inner for value in lists for inner in value)
            fields += [
                item.text,
                *(entry if isinstance(entry, str) else json.dumps(entry) for entry in listed),
            ]
        values.update(dict.fromkeys(value for value in fields if texts or value not in item.text))
    joined = "\n\n".join(values)
    return redact(joined) == joined


def check_item(item: Item) -> Item:
    """The item, if every field can be stored; else raises a ValidationError that names the field.

    Code, documents and commits with the trust of the user get that of the repository, which wrote them.
    """
    check_text("text", item.text)
    check_kind(item.kind)
    for field in ("type", "about", "id"):
        check_text(field, getattr(item, field), _MAX_LABEL_CHARACTERS, may_be_empty=True)
    for field in ("session", "conversation", "superseded_by"):
        if getattr(item, field) is not None:
            check_text(field, getattr(item, field), _MAX_LABEL_CHARACTERS)
    check_fraction("confidence", item.confidence)
    check_fraction("importance", item.importance)
    check_aware_datetime_or_none("created_at", item.created_at)
    check_aware_datetime_or_none("valid_from", item.valid_from)
    if not isinstance(item.source, Source) or item.source.trust not in TRUSTS:
        raise ValidationError(f"source must be a Source whose trust is one of {', '.join(TRUSTS)}")
    check_text("source", item.source.name, _MAX_LABEL_CHARACTERS)
    check_metadata(item.metadata)
    if item.kind in FILED_KINDS and item.source.trust == "user":
        return replace(item, source=replace(item.source, trust="repository"))
    return item


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """Raise a ValidationError unless the metadata is a JSON object that is not too large."""
    if not isinstance(metadata, Mapping):
        raise ValidationError("metadata must be a mapping of names to JSON values")
    try:
        text = json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationError(f"metadata is not JSON: {error}") from None
    check_text("metadata", text, may_be_empty=True)
    if any(not isinstance(key, str) for key in cast("Mapping[Any, Any]", metadata)):
        raise ValidationError("metadata keys must be text")
