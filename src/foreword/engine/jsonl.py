"""Write items and relations as lines of JSON, and read them: the format of an exported workspace.

A line is an item, or a relation (it has `from_id` and `to_id`). Vectors are not written: they can be computed
again. Unknown fields are refused, so that a typing error does not silently lose data.
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

_SET_WHEN_STORED = ("workspace", "hash", "tokens")
_TIMES = ("created_at", "valid_from")


def item_as_json_line(item: Item) -> str:
    """An item as one line of JSON; fields with their default value are left out."""
    body: dict[str, Any] = {}
    for field in fields(Item):
        value = getattr(item, field.name)
        is_default = value == {} or (value == field.default and field.name != "kind")
        if field.name not in _SET_WHEN_STORED and not is_default:
            body[field.name] = _value_for_json(value)
    return json.dumps(body, ensure_ascii=False)


def relation_as_json_line(relation: Relation) -> str:
    """A relation as one line of JSON."""
    body = {field.name: _value_for_json(getattr(relation, field.name)) for field in fields(Relation)}
    return json.dumps(body, ensure_ascii=False)


def parse_exported_lines(lines: Iterable[str], workspace: str, now: datetime) -> Iterator[Item | Relation]:
    """The items and relations in the lines; those without a time get `now`. Raises ValidationError."""
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
            yield _read_relation(body, now) if "from_id" in body else _read_item(body, workspace, now)
        except (TypeError, ValueError) as error:
            raise ValidationError(f"line {number}: {error}") from None


def _read_item(body: dict[str, Any], workspace: str, now: datetime) -> Item:
    """The item in a JSON object. Raises TypeError or ValueError if a field is wrong."""
    _refuse_unknown_fields(body, Item)
    body = {name: value for name, value in body.items() if name not in _SET_WHEN_STORED}
    if "text" not in body:
        raise ValueError("an item needs a text")
    source = body.get("source", {})
    if not isinstance(source, dict):
        raise ValueError('source must be an object with "name" and "trust"')  # noqa: TRY004  (bad input, one kind)
    return Item(**_parse_exported_times(body, now) | {"workspace": workspace, "source": Source(**source)})


def _read_relation(body: dict[str, Any], now: datetime) -> Relation:
    _refuse_unknown_fields(body, Relation)
    return Relation(**_parse_exported_times(body, now))


def _refuse_unknown_fields(body: dict[str, Any], kind: type[Item | Relation]) -> None:
    """Raise a ValueError if the object has a field that an item or relation does not have."""
    known = {field.name for field in fields(kind)}
    if unknown := sorted(set(body) - known):
        raise ValueError(f"unknown field {unknown[0]!r}; there are: {', '.join(sorted(known))}")


def _parse_exported_times(body: dict[str, Any], now: datetime) -> dict[str, Any]:
    """The fields with their times parsed; `created_at` is `now` if it is missing."""
    times = {name: datetime.fromisoformat(body[name]) for name in _TIMES if body.get(name) is not None}
    return {"created_at": now} | body | times


def _value_for_json(value: object) -> object:
    if isinstance(value, Source):
        return {"name": value.name, "trust": value.trust}
    return value.isoformat() if isinstance(value, datetime) else value
