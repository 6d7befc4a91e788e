"""Converts values of a graph's store to items and back, and checks whether they pass a filter.

A value is one item: its text is what can be searched, its metadata holds the value, the namespace and the
key. Its id is derived from namespace and key, so that a value is fetched without a search. So is the name of
its source, so that equal values under two keys are two items. If several of its texts can be searched, each
is a further item, a field, with a vector of its own. The time at which a value expires is in another item,
the lease, so that a reader who renews it cannot undo a put that happened meanwhile. All these items have the
namespace as their conversation: as JSON without the last bracket, so that the name of a namespace begins with
the names of those above it. Nothing here reads or writes a store.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, cast

from foreword.capture.item_checks import check_item
from foreword.capture.redact import redact, redact_json
from foreword.errors import ValidationError
from foreword.types import Filters, Item, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langgraph.store.base import PutOp

VALUE, FIELD, LEASE = "graph value", "graph field", "graph lease"
"""The types of these items; other items of a workspace have other types."""

_NOT_IN_PATHS = frozenset("'\"`()[]{};\\")
_NOT_FOUND_BY_WORDS = "·"
"""The text of an item that a search for words should not find; every item must have a text."""

_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


@dataclass(frozen=True, slots=True)
class Lease:
    """For how many minutes a value is stored without being read, and when they end."""

    minutes: float
    expires_at: datetime

    @classmethod
    def from_item(cls, item: Item) -> Lease:
        """The lease that an item holds."""
        return cls(item.metadata["minutes"], datetime.fromisoformat(item.metadata["expires_at"]))

    @classmethod
    def begin(cls, minutes: float, now: datetime) -> Lease:
        """A lease that begins now; ValidationError if the minutes are not above 0 or end too late."""
        if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not minutes > 0:
            raise ValidationError(f"ttl is a number of minutes above 0, or None, not {minutes!r}")
        try:
            return cls(minutes, now + timedelta(minutes=minutes))
        except OverflowError:
            raise ValidationError(f"{minutes} minutes end after the calendar does; pass ttl=None") from None

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the lease's item."""
        return {"minutes": self.minutes, "expires_at": self.expires_at.isoformat()}


@dataclass(frozen=True, slots=True)
class GraphStoreValue:
    """A value with its namespace and key, and the item that holds it."""

    item: Item
    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    created_at: datetime
    indexed: bool
    lease: Lease | None = None
    put: str = ""
    """A random id of the put that stored the value; its fields have the same one."""

    fields: int = 0
    """How many items its fields are; none if it has one text."""

    @classmethod
    def from_items(cls, item: Item, lease: Item | None) -> GraphStoreValue:
        """The value that an item holds."""
        held = item.metadata
        return cls(
            put=held.get("put", ""),
            fields=held.get("fields", 0),
            item=item,
            namespace=tuple(held["namespace"]),
            key=held["name"],
            value=held["value"],
            created_at=datetime.fromisoformat(held["created_at"]),
            indexed=held["indexed"],
            lease=Lease.from_item(lease) if lease is not None else None,
        )

    def is_expired(self, now: datetime) -> bool:
        """Whether its lease has ended."""
        return self.lease is not None and self.lease.expires_at <= now

    def is_under(self, prefix: Sequence[str]) -> bool:
        """Whether its namespace begins with these labels."""
        return self.namespace[: len(prefix)] == tuple(prefix)

    @property
    def sort_key(self) -> tuple[str, datetime]:
        """A sort key: by namespace, then by the time of its put."""
        return namespace_to_conversation(self.namespace), self.item.created_at


def value_id(namespace: tuple[str, ...], key: str) -> str:
    """The id of the item that holds the value with this namespace and key."""
    name = json.dumps([*namespace, key]).encode()
    return "graph-" + hashlib.blake2b(name, digest_size=16).hexdigest()


def lease_id(identity: str) -> str:
    """The id of the lease of the value with this id."""
    return f"{identity}-lease"


def may_have_lease(item: Item) -> bool:
    """Whether a value's item may have a lease beside it."""
    return bool(item.metadata.get("leased", True))


def find_value_id(item: Item) -> str:
    """The id of the value that an item holds, or that it is a field of."""
    return str(item.metadata.get("of") or item.id)


def source_of_value_items(identity: str) -> Source:
    """The source of an item: an agent, with a name that only the items of one value have."""
    return Source(f"langgraph:{identity}", "agent")


def filters_for_value_if_unchanged(entry: GraphStoreValue) -> tuple[Filters, Filters]:
    """Two filters, which only this value and only its lease pass, if it was not put again since."""
    names = (source_of_value_items(entry.item.id).name, source_of_value_items(lease_id(entry.item.id)).name)
    value, lease = (Filters(source=name, until=entry.item.created_at) for name in names)
    return value, lease


def namespace_to_conversation(namespace: Sequence[str]) -> str:
    """A namespace as the name of a conversation; the names of namespaces below it begin with this name."""
    return json.dumps(list(namespace), ensure_ascii=False, separators=(",", ":"))[:-1]


def namespace_from_conversation(name: str) -> tuple[str, ...]:
    """The namespace for a conversation's name, the inverse of `namespace_to_conversation`."""
    return tuple(json.loads(f"{name}]"))


def filters_for_prefix(prefix: Sequence[str], *types: str) -> Filters:
    """Filters that exactly the items of these types under a prefix pass."""
    return Filters(types=types, conversation_prefix=namespace_to_conversation(prefix))


def check_stored_value(value: object) -> dict[str, Any]:
    """A value that a graph stores, as it will be read back; ValidationError if it is not JSON."""
    if not isinstance(value, dict):
        raise ValidationError(f"a value must be a dict, not {type(value).__name__}")
    try:
        return cast("dict[str, Any]", json.loads(json.dumps(value, allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationError(f"a value must be JSON: {error}") from None


def make_items_for_value(
    op: PutOp, texts: Sequence[str], now: datetime, created_at: datetime, *, one_vector: bool = False
) -> list[Item]:
    """The items for a value that is put, without secrets: the value, its fields, and its lease if it has one.

    `texts` are what can be searched; without any, the value is not found by words. With `one_vector` several
    texts have one vector together, and the value has no fields.
    """
    namespace, identity = tuple(op.namespace), value_id(op.namespace, op.key)
    clean = list(dict.fromkeys(text for one in texts if (text := redact(one).strip())))
    named = {"namespace": list(namespace), "name": op.key}
    if redact_json(named) != named:
        raise ValidationError("a namespace or a key holds a secret; name the value otherwise")
    fields = clean if len(clean) > 1 and not one_vector else []
    put = secrets.token_hex(4)
    facts = {
        "created_at": created_at.isoformat(),
        "indexed": bool(clean),
        "leased": op.ttl is not None,
        "put": put,
        "fields": len(fields),
    }
    metadata = {**named, **facts, "value": redact_json(op.value)}
    items = [_make_item(identity, VALUE, namespace, now, metadata, "\n".join(clean))]
    for place, text in enumerate(fields):
        part = {"of": identity, "put": put}
        items.append(_make_item(f"{identity}-{put}-{place}", FIELD, namespace, now, part, text, identity))
    if op.ttl is not None:
        lease = Lease.begin(op.ttl, now)
        items.append(_make_item(lease_id(identity), LEASE, namespace, now, lease.metadata))
    return items


class InvalidFilter(ValidationError, ValueError):
    """A filter that cannot be applied; also a ValueError, which LangGraph's own stores raise."""


def check_filter_names(conditions: Mapping[str, Any] | None) -> None:
    """Raise InvalidFilter for a name with a quote or a bracket, as LangGraph's database stores do."""
    for name in conditions or ():
        if not isinstance(name, str) or _NOT_IN_PATHS & set(name):
            raise InvalidFilter(f"Invalid filter key {name!r}: name a field, or a path such as 'author.name'")


def matches_filter(value: Mapping[str, Any], conditions: Mapping[str, Any] | None) -> bool:
    """Whether every condition is true for the field it names; a missing field counts as None.

    A name with dots is a path (`author.name`, `tags.0`), unless a field has exactly that name.
    """
    return all(
        _matches_condition(_get_field_at_path(value, name), wanted)
        for name, wanted in (conditions or {}).items()
    )


def _get_field_at_path(value: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401  (whatever JSON holds)
    """The field of a value with this name or at this path; None if there is none."""
    if name in value or "." not in name:
        return value.get(name)
    found: Any = value
    for label in name.split("."):
        if isinstance(found, Mapping):
            found = found.get(label)
        elif isinstance(found, list) and label.isdecimal() and int(label) < len(found):
            found = found[int(label)]
        else:
            return None
    return found


def _make_item(
    identity: str,
    label: str,
    namespace: tuple[str, ...],
    now: datetime,
    metadata: dict[str, Any],
    text: str = "",
    source: str = "",
) -> Item:
    """A checked item of a namespace; without a text, a search for words does not find it."""
    return check_item(
        Item(
            text=text or _NOT_FOUND_BY_WORDS,
            workspace="",
            id=identity,
            type=label,
            conversation=namespace_to_conversation(namespace),
            created_at=now,
            source=source_of_value_items(source or identity),
            metadata=metadata,
        )
    )


def _matches_condition(field_value: object, condition: object) -> bool:
    """Whether a field matches a condition: an equal value, also inside lists and dicts, or operators."""
    match condition:
        case dict() if any(str(name).startswith("$") for name in condition):
            return all(_satisfies_operator(field_value, name, bound) for name, bound in condition.items())
        case dict():
            return isinstance(field_value, dict) and all(
                _matches_condition(field_value.get(k), w) for k, w in condition.items()
            )
        case list() | tuple():
            return (
                isinstance(field_value, list)
                and len(field_value) == len(condition)
                and all(map(_matches_condition, field_value, condition))
            )
        case _:
            return field_value == condition


def _satisfies_operator(field_value: object, operator: str, bound: object) -> bool:
    """Whether a field is in the relation of an operator, such as `$gt`, to a bound."""
    if operator in ("$eq", "$ne"):
        return (field_value == bound) == (operator == "$eq")
    if operator not in _COMPARISONS:
        raise InvalidFilter(f"no operator {operator!r}; there are: $eq, $ne, $gt, $gte, $lt, $lte")
    try:
        return _COMPARISONS[operator](float(cast("Any", field_value)), float(cast("Any", bound)))
    except (TypeError, ValueError):  # a value that is no number is neither above nor below one
        return False
