"""Items and relations as lines of JSON, and back: the form in which a workspace is exported and imported.

A line is an item, or a relation (it has `from_id` and `to_id`). Vectors are not written: they can be made
again. Unknown fields are refused, so that a typing error does not become silent loss.
"""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError
from foreword.types import Item, Relation, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_GIVEN_WHEN_STORED = ("workspace", "hash", "tokens")
_ITEM = {field.name for field in fields(Item)}
_RELATION = {field.name for field in fields(Relation)}
_MOMENTS = ("created_at", "valid_from")


def item_line(item: Item) -> str:
    """An item as one line; fields that hold their default are left out."""
    body: dict[str, Any] = {}
    for field in fields(Item):
        value = getattr(item, field.name)
        if (
            field.name in _GIVEN_WHEN_STORED
            or (value == field.default and field.name != "kind")
            or value == {}
        ):
            continue
        body[field.name] = _plain(value)
    return json.dumps(body, ensure_ascii=False)


def relation_line(relation: Relation) -> str:
    """A relation as one line."""
    return json.dumps(
        {field.name: _plain(getattr(relation, field.name)) for field in fields(Relation)}, ensure_ascii=False
    )


def read_lines(lines: Iterable[str], workspace: str, now: datetime) -> Iterator[Item | Relation]:
    """The items and relations that the lines hold; what has no time gets `now`."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            body = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValidationError(f"line {number} is not JSON: {error}") from None
        if not isinstance(body, dict):
            raise ValidationError(f"line {number} is not a JSON object")
        try:
            yield _relation(body, now) if "from_id" in body else _item(body, workspace, now)
        except (TypeError, ValueError) as error:
            raise ValidationError(f"line {number}: {error}") from None


def _item(body: dict[str, Any], workspace: str, now: datetime) -> Item:
    _refuse_unknown(body, _ITEM)
    body = {name: value for name, value in body.items() if name not in _GIVEN_WHEN_STORED}
    if "text" not in body:
        raise ValueError("an item needs a text")
    source = body.get("source", {})
    if not isinstance(source, dict):
        raise ValueError('source must be an object with "name" and "trust"')  # noqa: TRY004  (bad input, one kind)
    return Item(**_moments(body, now) | {"workspace": workspace, "source": Source(**source)})


def _relation(body: dict[str, Any], now: datetime) -> Relation:
    _refuse_unknown(body, _RELATION)
    return Relation(**_moments(body, now))


def _refuse_unknown(body: dict[str, Any], known: set[str]) -> None:
    if unknown := sorted(set(body) - known):
        raise ValueError(f"unknown field {unknown[0]!r}; there are: {', '.join(sorted(known))}")


def _moments(body: dict[str, Any], now: datetime) -> dict[str, Any]:
    read = {name: datetime.fromisoformat(body[name]) for name in _MOMENTS if body.get(name) is not None}
    return {"created_at": now} | body | read


def _plain(value: object) -> object:
    match value:
        case datetime():
            return value.isoformat()
        case Source():
            return {"name": value.name, "trust": value.trust}
        case _:
            return value
