"""Items, relations and receipts as rows and back. The only module that knows both shapes."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from foreword.errors import StoreDamaged
from foreword.types import Entry, Item, Note, Receipt, Relation, Source, StageTime, content_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from apsw import SQLiteValue

_EPOCH = datetime.fromtimestamp(0, UTC)
_MICROSECOND = timedelta(microseconds=1)

COLUMNS = (
    "id, hash, kind, type, text, about, created_at, valid_from, superseded_by, session, conversation, "
    "confidence, importance, source, trust, metadata, tokens"
)
_NAME, _MOMENT, _SHARE = (str, type(None)), (int, type(None)), (float, int)
_TYPES: tuple[type | tuple[type, ...], ...] = (
    str, str, str, str, str, str, int, _MOMENT, _NAME, _NAME, _NAME, _SHARE, _SHARE, str, str, str, int
)  # fmt: skip
INSERT = f"INSERT INTO items({COLUMNS}) VALUES({', '.join('?' * 17)})"


_UNSOUND = (TypeError, ValueError, OverflowError, KeyError)


def _damage(what: object) -> StoreDamaged:
    return StoreDamaged(f"a row is damaged ({what}); run: foreword doctor, and restore a backup")


@contextmanager
def sound() -> Iterator[None]:
    """What cannot be a row of ours, though SQLite could read it, was damaged on the disk."""
    try:
        yield
    except _UNSOUND as error:
        raise _damage(error) from error


def micros(moment: datetime) -> int:
    """A moment as whole microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(micros: int) -> datetime:
    """The moment that many microseconds after 1970."""
    return _EPOCH + timedelta(microseconds=micros)


def metadata_text(metadata: Mapping[str, Any]) -> str:
    """Metadata as JSON."""
    return json.dumps(dict(metadata), ensure_ascii=False, sort_keys=True) if metadata else "{}"


def hashed(workspace: str, item: Item) -> Item:
    """An item as a workspace keeps it, named by its content.

    Times are kept without their zone, so that the hash of what is read again is the hash that is kept.
    """
    if item.workspace != workspace or item.created_at.tzinfo is not UTC:
        item = replace(item, workspace=workspace, created_at=item.created_at.astimezone(UTC))
    return replace(item, hash=content_hash(item))


def row_of(item: Item) -> tuple[SQLiteValue, ...]:
    """An item as the values of `COLUMNS`."""
    return (
        item.id,
        item.hash,
        item.kind,
        item.type,
        item.text,
        item.about,
        micros(item.created_at),
        None if item.valid_from is None else micros(item.valid_from),
        item.superseded_by,
        item.session,
        item.conversation,
        item.confidence,
        item.importance,
        item.source.name,
        item.source.trust,
        metadata_text(item.metadata),
        item.tokens,
    )


def item_of(workspace: str, row: tuple[Any, ...]) -> Item:
    """The item that a row of `COLUMNS` holds."""
    if not all(map(isinstance, row, _TYPES)):
        raise _damage("a value is of another type than its column")
    try:
        return _item_of(workspace, row)
    except _UNSOUND as error:
        raise _damage(error) from error


def _item_of(workspace: str, row: tuple[Any, ...]) -> Item:
    return Item(
        id=row[0],
        hash=row[1],
        kind=row[2],
        type=row[3],
        text=row[4],
        about=row[5],
        created_at=moment(row[6]),
        valid_from=None if row[7] is None else moment(row[7]),
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


def relation_of(row: tuple[Any, ...]) -> Relation:
    """The relation in a row of from id, to id, type, confidence, created_at."""
    with sound():
        return Relation(row[0], row[1], row[2], row[3], moment(row[4]))


def receipt_text(receipt: Receipt) -> str:
    """A receipt as JSON."""
    body = _plain(receipt) | {
        "created_at": micros(receipt.created_at),
        "stages": [_plain(stage) for stage in receipt.stages],
        "entries": [_plain(entry) for entry in receipt.entries],
        "notes": [_plain(note) for note in receipt.notes],
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _plain(value: Receipt | StageTime | Entry | Note) -> dict[str, Any]:
    """The fields that say something; `asdict` would copy every mapping, at five times the cost."""
    fields = value.__dataclass_fields__
    return {name: had for name, field in fields.items() if (had := getattr(value, name)) != field.default}


def receipt_of(text: str) -> Receipt:
    """The receipt that such JSON holds."""
    with sound():
        return _receipt_of(text)


def _receipt_of(text: str) -> Receipt:
    body = cast(dict[str, Any], json.loads(text))
    return Receipt(
        **body
        | {
            "created_at": moment(body["created_at"]),
            "stages": tuple(StageTime(**stage) for stage in body["stages"]),
            "entries": tuple(Entry(**entry) for entry in body["entries"]),
            "notes": tuple(Note(**note) for note in body["notes"]),
        }
    )
