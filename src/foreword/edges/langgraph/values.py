"""A value of a graph's store as items, and back; and whether it passes a filter.

A value is one item: its text is what may be found, its metadata the value itself under its namespace and key.
Its id is made of these two, so that a value is fetched without a search; so is the name of its source: equal
values under two keys are two items. When a value expires is in an item of its own, the lease, so that a
reader who renews it cannot undo what somebody else just put. Nothing here reads or writes a store.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, cast

from foreword.capture.item_checks import check_item
from foreword.capture.redact import redact, redact_json
from foreword.errors import ValidationError
from foreword.types import Filters, Item, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langgraph.store.base import PutOp

VALUE, LEASE = "graph value", "graph lease"
"""The types of the two items; people's own items have others."""

_NOT_FOUND_BY_WORDS = "·"
"""The text of an item that words should not find: an item must have one."""

_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}
_ROOT_LABELS = 2
"""How many labels of a namespace are stored as the item's conversation, by which searches are narrowed."""


@dataclass(frozen=True, slots=True)
class Lease:
    """How long a value stays without being read, in minutes, and until when that is."""

    minutes: float
    expires_at: datetime

    @classmethod
    def from_item(cls, item: Item) -> Lease:
        """The lease that an item holds."""
        return cls(item.metadata["minutes"], datetime.fromisoformat(item.metadata["expires_at"]))

    @classmethod
    def starting(cls, minutes: float, now: datetime) -> Lease:
        """A lease that begins now."""
        if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not minutes > 0:
            raise ValidationError(f"ttl is a number of minutes above 0, or None, not {minutes!r}")
        try:
            return cls(minutes, now + timedelta(minutes=minutes))
        except OverflowError:
            raise ValidationError(f"{minutes} minutes end after the calendar does; pass ttl=None") from None

    @property
    def metadata(self) -> dict[str, Any]:
        """The lease as its item keeps it."""
        return {"minutes": self.minutes, "expires_at": self.expires_at.isoformat()}


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A value as it is kept, under its name."""

    item: Item
    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    created_at: datetime
    indexed: bool
    lease: Lease | None = None

    @classmethod
    def from_items(cls, item: Item, lease: Item | None) -> StoredValue:
        """The value that an item holds."""
        held = item.metadata
        return cls(
            item=item,
            namespace=tuple(held["namespace"]),
            key=held["name"],
            value=held["value"],
            created_at=datetime.fromisoformat(held["created_at"]),
            indexed=held["indexed"],
            lease=Lease.from_item(lease) if lease is not None else None,
        )

    def is_expired(self, now: datetime) -> bool:
        """Whether its time is over."""
        return self.lease is not None and self.lease.expires_at <= now


def value_id(namespace: tuple[str, ...], key: str) -> str:
    """The id of the item that has this name, whoever puts it."""
    name = json.dumps([*namespace, key]).encode()
    return "graph-" + hashlib.blake2b(name, digest_size=16).hexdigest()


def lease_id(identity: str) -> str:
    """The id of the lease of a value."""
    return f"{identity}-lease"


def item_source(identity: str) -> Source:
    """Who wrote an item: an agent, under a name that no other item has."""
    return Source(f"langgraph:{identity}", "agent")


def filters_if_unchanged(entry: StoredValue) -> tuple[Filters, Filters]:
    """Filters that only this value and its lease pass, and only if it was not put again since."""
    names = (item_source(entry.item.id).name, item_source(lease_id(entry.item.id)).name)
    value, lease = (Filters(source=name, until=entry.item.created_at) for name in names)
    return value, lease


def prefix_filters(prefix: tuple[str, ...], *types: str) -> Filters:
    """Filters that everything under a prefix passes, and little else."""
    root = _namespace_root_name(prefix) if len(prefix) >= _ROOT_LABELS else None
    return Filters(types=types, conversation=root)


def check_value(value: object) -> dict[str, Any]:
    """The value as it will come back; ValidationError for what JSON cannot hold."""
    if not isinstance(value, dict):
        raise ValidationError(f"a value must be a dict, not {type(value).__name__}")
    try:
        return cast("dict[str, Any]", json.loads(json.dumps(value, allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationError(f"a value must be JSON: {error}") from None


def make_items(op: PutOp, texts: Sequence[str], now: datetime, created_at: datetime) -> list[Item]:
    """The items of a value that is put, without secrets: the value, and its lease if it has one.

    `texts` is what may be found of it; without any, its words find nothing.
    """
    namespace, identity = tuple(op.namespace), value_id(op.namespace, op.key)
    text = redact("\n".join(texts)).strip()
    named = {"namespace": list(namespace), "name": op.key}
    if redact_json(named) != named:
        raise ValidationError("a namespace or a key holds a secret; name the value otherwise")
    facts = {"created_at": created_at.isoformat(), "indexed": bool(text)}
    metadata = {**named, **facts, "value": redact_json(op.value)}
    items = [_make_item(identity, VALUE, namespace, now, metadata, text)]
    if op.ttl is not None:
        lease = Lease.starting(op.ttl, now)
        items.append(_make_item(lease_id(identity), LEASE, namespace, now, lease.metadata))
    return items


def matches_filter(value: Mapping[str, Any], conditions: Mapping[str, Any] | None) -> bool:
    """Whether every condition holds for the field it names; a field that is missing is None."""
    return all(_matches_wanted(value.get(field), wanted) for field, wanted in (conditions or {}).items())


def _make_item(
    identity: str,
    label: str,
    namespace: tuple[str, ...],
    now: datetime,
    metadata: dict[str, Any],
    text: str = "",
) -> Item:
    """A checked item of a namespace; without a text, words do not find it."""
    return check_item(
        Item(
            text=text or _NOT_FOUND_BY_WORDS,
            workspace="",
            id=identity,
            type=label,
            conversation=_namespace_root_name(namespace),
            created_at=now,
            source=item_source(identity),
            metadata=metadata,
        )
    )


def _namespace_root_name(namespace: tuple[str, ...]) -> str:
    """The first labels of a namespace as one name."""
    return json.dumps(namespace[:_ROOT_LABELS])


def _matches_wanted(field_value: object, wanted: object) -> bool:
    """Whether a field holds what is wanted: a plain value, the same inside lists and dicts, or operators."""
    match wanted:
        case dict() if any(str(name).startswith("$") for name in wanted):
            return all(_satisfies_operator(field_value, name, bound) for name, bound in wanted.items())
        case dict():
            return isinstance(field_value, dict) and all(
                _matches_wanted(field_value.get(k), w) for k, w in wanted.items()
            )
        case list() | tuple():
            return (
                isinstance(field_value, list)
                and len(field_value) == len(wanted)
                and all(map(_matches_wanted, field_value, wanted))
            )
        case _:
            return field_value == wanted


def _satisfies_operator(field_value: object, operator: str, bound: object) -> bool:
    """Whether a field is equal, unequal, above or below a bound, as an operator such as `$gt` says."""
    if operator in ("$eq", "$ne"):
        return (field_value == bound) == (operator == "$eq")
    if operator not in _COMPARISONS:
        raise ValidationError(f"no operator {operator!r}; there are: $eq, $ne, $gt, $gte, $lt, $lte")
    try:
        return _COMPARISONS[operator](float(cast("Any", field_value)), float(cast("Any", bound)))
    except (TypeError, ValueError):  # what is no number is neither above nor below one
        return False
