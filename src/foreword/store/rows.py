"""Items, relations and receipts as rows and back, and filters as SQL."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from foreword.errors import StoreDamaged
from foreword.text.provenance import REPLACING_RANKS
from foreword.types import (
    REPLACES,
    SURE_REPLACEMENT,
    Entry,
    Filters,
    Item,
    Note,
    Receipt,
    Relation,
    Source,
    StageTime,
    content_hash,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from apsw import SQLiteValue

_EPOCH = datetime.fromtimestamp(0, UTC)
_MICROSECOND = timedelta(microseconds=1)
DAY_MICROSECONDS = 86_400_000_000

COLUMNS = (
    "id, hash, kind, type, text, about, created_at, valid_from, superseded_by, session, conversation, "
    "confidence, importance, source, trust, metadata, tokens"
)
_NAME, _TIME, _NUMBER = (str, type(None)), (int, type(None)), (float, int)
_COLUMN_TYPES: tuple[type | tuple[type, ...], ...] = (
    str, str, str, str, str, str, int, _TIME, _NAME, _NAME, _NAME, _NUMBER, _NUMBER, str, str, str, int
)  # fmt: skip
_ERRORS_IN_MALFORMED_ROWS = (TypeError, ValueError, OverflowError, KeyError)

MAX_TEXT_CHARACTERS = 20_000
"""A longer context is not stored with its receipt: one whole prompt would push out a hundred others."""

LAST_CHARACTER = chr(0x10FFFF)
"""The character that sorts last: a text with some prefix sorts before the prefix followed by it."""

IN_LIST = "IN (SELECT value FROM json_each(?))"
"""The condition that a value is in a list, which is bound as one JSON text."""

_TRUST_RANK = "CASE {}.trust " + " ".join(f"WHEN '{t}' THEN {n}" for t, n in REPLACING_RANKS.items()) + " END"


def _damaged_row_error(detail: object) -> StoreDamaged:
    return StoreDamaged(f"a row is damaged ({detail}); run: foreword doctor, and restore a backup")


@contextmanager
def raise_damaged_if_malformed() -> Iterator[None]:
    """In the block, errors from values that Foreword never writes become `StoreDamaged`."""
    try:
        yield
    except _ERRORS_IN_MALFORMED_ROWS as error:
        raise _damaged_row_error(error) from error


def to_microseconds(moment: datetime) -> int:
    """A moment as whole microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def from_microseconds(microseconds: int) -> datetime:
    """The moment this many microseconds after 1970, in UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)


def metadata_to_json(metadata: Mapping[str, Any]) -> str:
    """Metadata as JSON."""
    return json.dumps(dict(metadata), ensure_ascii=False, sort_keys=True) if metadata else "{}"


def as_stored_with_hash(workspace: str, item: Item) -> Item:
    """The item as a workspace stores it, with the hash of its content.

    Times are stored without their zone, so they are converted to UTC first: else the hash of the stored item
    would differ from the stored hash.
    """
    if item.workspace != workspace or item.created_at.tzinfo is not UTC:
        item = replace(item, workspace=workspace, created_at=item.created_at.astimezone(UTC))
    return replace(item, hash=content_hash(item))


def item_to_row(item: Item) -> tuple[SQLiteValue, ...]:
    """An item as the values of `COLUMNS`."""
    return (
        item.id,
        item.hash,
        item.kind,
        item.type,
        item.text,
        item.about,
        to_microseconds(item.created_at),
        None if item.valid_from is None else to_microseconds(item.valid_from),
        item.superseded_by,
        item.session,
        item.conversation,
        item.confidence,
        item.importance,
        item.source.name,
        item.source.trust,
        metadata_to_json(item.metadata),
        item.tokens,
    )


def item_from_row(workspace: str, row: tuple[Any, ...]) -> Item:
    """The item in a row of `COLUMNS`; raises `StoreDamaged` if the row cannot be one."""
    if not all(map(isinstance, row, _COLUMN_TYPES)):
        raise _damaged_row_error("a value is of another type than its column")
    try:  # not `raise_damaged_if_malformed`, which would cost as much as all the rest
        return Item(
            id=row[0],
            hash=row[1],
            kind=row[2],
            type=row[3],
            text=row[4],
            about=row[5],
            created_at=from_microseconds(row[6]),
            valid_from=None if row[7] is None else from_microseconds(row[7]),
            superseded_by=row[8],
            session=row[9],
            conversation=row[10],
            confidence=row[11],
            importance=row[12],
            source=Source(row[13], row[14]),
            metadata={} if row[15] == "{}" else json.loads(row[15]),
            tokens=row[16],
            workspace=workspace,
        )
    except _ERRORS_IN_MALFORMED_ROWS as error:
        raise _damaged_row_error(error) from error


def relation_from_row(row: tuple[Any, ...]) -> Relation:
    """The relation in a row of from id, to id, type, confidence, created_at."""
    with raise_damaged_if_malformed():
        return Relation(row[0], row[1], row[2], row[3], from_microseconds(row[4]))


def receipt_to_json(receipt: Receipt) -> str:
    """A receipt as JSON."""
    body = _non_default_fields(receipt) | {
        "created_at": to_microseconds(receipt.created_at),
        "stages": [_non_default_fields(stage) for stage in receipt.stages],
        "entries": [_non_default_fields(entry) for entry in receipt.entries],
        "notes": [_non_default_fields(note) for note in receipt.notes],
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _non_default_fields(value: Receipt | StageTime | Entry | Note) -> dict[str, Any]:
    """The fields that differ from their default; `asdict` copies every mapping and is five times slower."""
    fields = value.__dataclass_fields__
    return {
        name: content for name, field in fields.items() if (content := getattr(value, name)) != field.default
    }


def receipt_from_json(text: str) -> Receipt:
    """The receipt in JSON made by `receipt_to_json`; raises `StoreDamaged` if it has none."""
    with raise_damaged_if_malformed():
        body = cast("dict[str, Any]", json.loads(text))
        return Receipt(
            **body
            | {
                "created_at": from_microseconds(body["created_at"]),
                "stages": tuple(StageTime(**stage) for stage in body["stages"]),
                "entries": tuple(Entry(**entry) for entry in body["entries"]),
                "notes": tuple(Note(**note) for note in body["notes"]),
            }
        )


def item_was_replaced_sql(same_workspace: str = "TRUE") -> str:
    """The SQL condition that the item `i` was replaced: it names its successor, or a sure relation does.

    `same_workspace` compares the workspaces of `i`, of the relation `r` and of the newer item `n`.
    """
    return (
        "(i.superseded_by IS NOT NULL OR EXISTS (SELECT 1 FROM relations r JOIN items n ON n.no = r.from_no "
        f"WHERE r.to_no = i.no AND {same_workspace} AND r.type = '{REPLACES}' "
        f"AND r.confidence >= {SURE_REPLACEMENT} AND {_TRUST_RANK.format('n')} <= {_TRUST_RANK.format('i')}))"
    )


def _conditions_on_conversations(filters: Filters) -> Iterator[tuple[str, ...]]:
    """The conditions on which conversations items belong to ("" stands for none), each with its values."""
    if filters.conversation_prefix is not None:
        prefix = filters.conversation_prefix
        yield "i.conversation >= ? AND i.conversation < ?", prefix, prefix + LAST_CHARACTER
    if filters.conversations:
        named = [name for name in filters.conversations if name]
        alternatives = [f"i.conversation IN ({', '.join('?' * len(named))})"] if named else []
        alternatives += ["i.conversation IS NULL"] if "" in filters.conversations else []
        yield f"({' OR '.join(alternatives)})", *named


def filters_to_sql(filters: Filters) -> tuple[str, list[object]]:
    """The filters as a condition on `items AS i`, and the values to bind; `TRUE` when everything passes."""
    clauses: list[str] = []
    values: list[object] = []

    def add_condition(clause: str, *bound_values: object) -> None:
        clauses.append(clause)
        values.extend(bound_values)

    if filters.kinds:
        add_condition(f"i.kind IN ({', '.join('?' * len(filters.kinds))})", *filters.kinds)
    if filters.types:
        marks = ", ".join("?" * len(filters.types))
        add_condition(
            f"(i.type IN ({marks}) OR (i.type = '' AND i.kind IN ({marks})))", *filters.types, *filters.types
        )
    if filters.since is not None:
        add_condition("i.created_at >= ?", to_microseconds(filters.since))
    if filters.until is not None:
        add_condition("i.created_at <= ?", to_microseconds(filters.until))
    if filters.min_confidence > 0:
        add_condition("i.confidence >= ?", filters.min_confidence)
    for column in ("conversation", "session", "source", "trust"):
        if (value := getattr(filters, column)) is not None:
            add_condition(f"i.{column} = ?", value)
    for condition in _conditions_on_conversations(filters):
        add_condition(*condition)
    return " AND ".join(clauses) or "TRUE", values
