"""Vectors: the rows of the `vectors` table, and the files of int8 codes that searches read.

The rows are the truth. A code file repeats the rows of one space and one encoder in a form that is fast to
scan, and can be removed at any time. Its header has the sequence number of the last row in it, and is written
only after the records are on the disk, so that a crash leaves a file that merely lacks the newest rows. It is
never shortened in place: a file that must shrink is written anew and renamed over the old one, and readers
notice. An exact scan of one workspace is fast enough, and unlike an approximate index it loses nothing under
a narrow filter. Of a file with very many records, the signs of the codes are compared first (`sign_codes`).
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import struct
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from foreword.errors import StoreDamaged, ValidationError
from foreword.store.owner_files import create_private_file
from foreword.store.rows import IN_LIST, filters_to_sql
from foreword.store.sign_codes import ItemPlaces, SignCodes, numbers_of_nearest_codes
from foreword.store.vector_part import (
    Cosines,
    NearestCosines,
    cosines_to_codes,
    is_among,
    vector_from_code,
    vector_to_code,
)
from foreword.types import Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

    from foreword.store.base import GetVectors, ListUnembedded, PutVectors
    from foreword.store.database import Transaction
    from foreword.store.exchange import ClaimUnembedded
    from foreword.store.vector_part import VectorComparison
    from foreword.types import Item

    VectorRow = tuple[int, int, bytes]
    """A row of the table: its sequence number, the number of its item, and the code."""

    RowsAfter = Callable[[int], list[VectorRow]]
    """A function that returns the rows after a sequence number, in order."""

_MAGIC = b"FWCODES1"
_HEADER = struct.Struct("<8sIIQQ")  # magic, dimensions, holes, records, last sequence number
_NO_ITEM = -1
_MIN_RECORDS_TO_COMPACT = 1000
_MAX_COMPARED = 30_000
"""If a file has more records than this, only those whose signs agree most with the question are compared."""

_MAX_PASSING_COMPARED = 20_000
"""If at most this many items pass the filters, all of them are compared: that costs half as much as to check
the nearest of all items against the filters.
"""

_LOOKED_AT_PER_ANSWER = 20
_MIN_PASSING_PER_ANSWER = 5
"""For each answer that is wanted, how many of the nearest are checked against the filters, and how many must
pass. If fewer pass, the items that pass are selected first, and the nearest of them are found afterwards.
"""

_MAX_DIMENSIONS = 1 << 20
_MAX_ROWS = 1 << 62


# The table


def put_vectors(tx: Transaction, op: PutVectors) -> int:
    """Store vectors; those of unknown items are ignored. Returns how many belong to known items."""
    known = 0
    changed: dict[int, bytes] = {}
    dimensions = encoder_dimensions(tx, op.space, op.digest) or len(
        op.vectors[0].values if op.vectors else ()
    )
    for vector in op.vectors:
        if len(vector.values) != dimensions:
            raise ValidationError(
                f"vectors of one encoder have one size: {dimensions} numbers, not {len(vector.values)}"
            )
        values = (op.space, op.digest, vector.text_hash, vector_to_code(vector.values))
        found = tx.select_value(
            "SELECT i.no, v.text_hash = ?3 AND v.code = ?4 FROM items i LEFT JOIN vectors v "
            "ON v.no = i.no AND v.space = ?1 AND v.digest = ?2 WHERE i.id = ?5",
            *(*values, vector.item_id),
        )
        if found is None:
            continue
        known += 1
        number, is_same = found
        tx.execute(
            "DELETE FROM claims WHERE task = ? AND no = ?", _encoding_task_name(op.space, op.digest), number
        )
        if not is_same:  # a row written again would be a hole in every code file
            insert = (
                "INSERT OR REPLACE INTO vectors(no, space, digest, text_hash, code) VALUES(?, ?, ?, ?, ?)"
            )
            tx.execute(insert, number, *values)
            changed[number] = values[3]
    if tx.vectors is not None:
        tx.vectors.put_vectors(tx, op.space, op.digest, changed)
    return known


def _encoding_task_name(space: str, digest: str) -> str:
    """The name of a task for which items are claimed: encoding for one space by the encoder with a digest."""
    return f"{space} {digest}"


def claim_unembedded(tx: Transaction, op: ClaimUnembedded) -> tuple[Item, ...]:
    """Items without a vector that nobody has claimed; they are claimed for the caller for a while."""
    clause, values = filters_to_sql(Filters(kinds=op.kinds))
    task, now = _encoding_task_name(op.space, op.digest), int(time.time() * 1_000_000)
    tx.execute("DELETE FROM claims WHERE until < ?", now)
    items = tx.select_numbered_items(
        f"WHERE {clause} AND NOT EXISTS "
        "(SELECT 1 FROM vectors v WHERE v.no = i.no AND v.space = ? AND v.digest = ?) "
        "AND NOT EXISTS(SELECT 1 FROM claims c WHERE c.no = i.no AND c.task = ?) ORDER BY i.no LIMIT ?",
        *(*values, op.space, op.digest, task, op.limit),
    )
    tx.execute(
        "INSERT INTO claims SELECT value, ?, ? FROM json_each(?)",
        *(task, now + int(op.seconds * 1_000_000), json.dumps([number for number, _ in items])),
    )
    return tuple(item for _, item in items)


def list_unembedded(tx: Transaction, op: ListUnembedded) -> tuple[Item, ...]:
    """Items that have no vector of the given encoder yet."""
    clause, values = filters_to_sql(Filters(kinds=op.kinds))
    return tx.select_items(
        f"WHERE {clause} AND NOT EXISTS "
        "(SELECT 1 FROM vectors v WHERE v.no = i.no AND v.space = ? AND v.digest = ?) ORDER BY i.no LIMIT ?",
        *(*values, op.space, op.digest, op.limit),
    )


def get_vectors_by_text_hash(tx: Transaction, op: GetVectors) -> dict[str, tuple[float, ...]]:
    """Vectors by the hash of the text they were made from."""
    query = f"SELECT text_hash, code FROM vectors WHERE digest = ? AND text_hash {IN_LIST}"
    return {
        found: vector_from_code(code) for found, code in tx.execute(query, op.digest, json.dumps(op.hashes))
    }


def update_vector_code_file(tx: Transaction, space: str, digest: str) -> None:
    """Add to a code file the rows that it lacks; `tx` must not be inside an older snapshot."""
    dimensions = encoder_dimensions(tx, space, digest)
    if dimensions is None:
        return
    file, rows_after = (
        tx.database.get_vector_code_file(space, digest, dimensions),
        vector_rows_reader(tx, space, digest),
    )
    if file.last_sequence > highest_vector_number(tx):
        file.rebuild(rows_after)
    newest = tx.select_value("SELECT max(seq) FROM vectors WHERE space = ? AND digest = ?", space, digest)
    file.append_missing_rows(newest or 0, rows_after)


def highest_vector_number(tx: Transaction) -> int:
    """The highest number ever given to a vector, even if deleted; a file with a higher one is not ours."""
    return tx.select_value("SELECT seq FROM sqlite_sequence WHERE name = 'vectors'") or 0


def vector_rows_reader(tx: Transaction, space: str, digest: str) -> RowsAfter:
    """A function that returns the rows of an encoder after a sequence number, in order."""
    query = "SELECT seq, no, code FROM vectors WHERE space = ? AND digest = ? AND seq > ? ORDER BY seq"
    return lambda last_sequence: cast(
        "list[VectorRow]", tx.execute(query, space, digest, last_sequence).fetchall()
    )


def encoder_dimensions(tx: Transaction, space: str, digest: str) -> int | None:
    """The length of an encoder's vectors, or None if it has no vectors here."""
    query = "SELECT length(code) FROM vectors WHERE space = ? AND digest = ? LIMIT 1"
    dimensions: int | None = tx.select_value(query, space, digest)
    return dimensions


# The file


@dataclass(frozen=True, slots=True)
class _CodeFileHeader:
    """The number of records in a code file, the last row in it, and how many records were erased (holes)."""

    records: int
    last_sequence: int
    holes: int

    @property
    def needs_compaction(self) -> bool:
        """Whether so many records were erased that the file should be written anew."""
        return self.records > _MIN_RECORDS_TO_COMPACT and self.holes * 4 > self.records


class PassingItems(Protocol):
    """Which items pass the filters of a question."""

    is_everything: bool
    """Whether every item passes."""

    def all_numbers(self) -> NDArray[np.int64] | None:
        """The numbers of all items that pass; None if every item passes."""
        ...

    def numbers_if_few(self, limit: int) -> NDArray[np.int64] | None:
        """The numbers of all items that pass, or None if they are more than `limit`."""
        ...

    def passing_among(self, numbers: Sequence[int]) -> set[int]:
        """Those of these numbers whose items pass."""
        ...


class _LargeFileSearch:
    """A code file with very many records, in which the nearest are found by their signs first."""

    def __init__(
        self, records: NDArray[np.void], places: ItemPlaces, signs: SignCodes, passing: PassingItems
    ) -> None:
        self._records, self._places, self._signs, self._passing = records, places, signs, passing
        self._mask: NDArray[np.bool_] | None = None

    def find_nearest(self, vector: Sequence[float], limit: int) -> list[int]:
        """The numbers of the items nearest to a vector that pass the filters."""
        if self._passing.is_everything:
            return self._nearest_by_signs(vector, limit)
        if self._mask is None:
            near = self._nearest_by_signs(vector, limit * _LOOKED_AT_PER_ANSWER)
            passing = self._passing.passing_among(near)
            if len(passing) >= limit * _MIN_PASSING_PER_ANSWER:
                return [number for number in near if number in passing][:limit]
            allowed = self._passing.all_numbers()
            none = np.zeros(0, np.int64)
            self._mask = is_among(self._places.numbers, none if allowed is None else allowed)
        return self._nearest_by_signs(vector, limit, self._mask)

    def _nearest_by_signs(
        self, vector: Sequence[float], limit: int, mask: NDArray[np.bool_] | None = None
    ) -> list[int]:
        """The numbers of the nearest items among the records whose signs agree most with the vector's."""
        return self._nearest_among_places(
            vector, limit, self._signs.places_with_most_alike_signs(vector, limit, mask)
        )

    def _nearest_among_places(
        self, vector: Sequence[float], limit: int, places: NDArray[np.intp]
    ) -> list[int]:
        """The numbers of the nearest items among the records at these places."""
        records = self._records.take(places)
        records = records[records["no"] != _NO_ITEM]  # read now, since another process may erase at any time
        return numbers_of_nearest_codes(vector, records["no"], records["code"], limit)

    def codes_of_items(self, numbers: Iterable[int]) -> dict[int, bytes]:
        """The codes of these items by number, for those that have one."""
        records = self._records.take(self._places.places_of_items(numbers))
        return {int(record["no"]): record["code"].tobytes() for record in records if record["no"] != _NO_ITEM}


class CodeFile:
    """The file with the codes of one space and one encoder, which finds the nearest items by cosine."""

    def __init__(self, path: Path, dimensions: int) -> None:
        self.path = path
        self.dimensions = dimensions
        self._record = np.dtype([("no", "<i8"), ("code", "i1", (dimensions,))])
        self._lock = threading.Lock()
        self._map: mmap.mmap | None = None
        self._inode = 0
        self._last_sequence = 0
        self._records: NDArray[np.void] = np.zeros(0, self._record)
        self._places, self._places_inode = ItemPlaces.empty(), 0
        self._signs, self._signs_inode = SignCodes.empty(dimensions), 0

    @classmethod
    def list_in_folder(cls, folder: Path) -> Iterator[CodeFile]:
        """The code files of a folder, of any space; a file with a damaged header gets 0 dimensions.

        A file that another process is making for the first time is waited for: it may be made from rows that
        have been deleted since, and erasing must not miss it.
        """
        paths = {path.with_suffix(".codes") for end in ("codes", "lock") for path in folder.glob(f"*.{end}")}
        for path in sorted(paths):
            if not path.exists():
                cls(path, 0).wait_until_unlocked()
                if not path.exists():
                    continue
            with path.open("rb") as file:
                raw = file.read(_HEADER.size)
            is_usable = len(raw) == _HEADER.size and raw.startswith(_MAGIC)
            dimensions = _HEADER.unpack(raw)[1] if is_usable else 0
            yield cls(path, dimensions if dimensions <= _MAX_DIMENSIONS else 0)

    def wait_until_unlocked(self) -> None:
        """Wait until no process is changing the file."""
        with self._lock_exclusively():
            pass

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last row in this file; 0 if there is no usable file."""
        header = self._load_header()
        return header.last_sequence if header else 0

    @property
    def is_damaged(self) -> bool:
        """Whether the file exists but cannot be used; an absent file only lacks all rows."""
        return self._load_header() is None and self.path.exists()

    def append_missing_rows(self, newest_sequence: int, rows_after: RowsAfter) -> None:
        """Add the rows that the file lacks; a file of which a quarter was erased is written anew.

        Other processes may do so at the same time. `rows_after` must read a snapshot taken during this call.
        """
        header = self._load_header()
        if header is not None and header.last_sequence >= newest_sequence and not header.needs_compaction:
            return
        with self._lock_exclusively():
            header = self._load_header()
            if header is None or header.needs_compaction:
                self._replace_file_with_rows(rows_after(0))
            else:
                self._append_records(header, rows_after(header.last_sequence))

    def rebuild(self, rows_after: RowsAfter) -> None:
        """Write the file anew from all rows."""
        with self._lock_exclusively():
            self._replace_file_with_rows(rows_after(0))

    def erase_codes_of_items(self, numbers: Iterable[int]) -> None:
        """Overwrite the codes of these items; a file that cannot be read or is half-written is removed."""
        with self._lock_exclusively(), self._lock:
            self.path.with_suffix(".new").unlink(missing_ok=True)
            if (header := self._load_header()) is None:
                self.path.unlink(missing_ok=True)
            elif holes := self._erase_records(np.fromiter(numbers, np.int64)):
                with self.path.open("r+b") as file:
                    self._write_header(file, replace(header, holes=header.holes + holes))

    def remove(self) -> None:
        """Remove the file; the next search makes it again."""
        with self._lock_exclusively():
            self.path.unlink(missing_ok=True)

    def compare(
        self, vector: Sequence[float], rows_after: RowsAfter, passing: PassingItems
    ) -> VectorComparison:
        """Compare a vector with each item that passes or, if these are very many, with the nearest."""
        with self._lock:
            records, last_sequence, inode = self._memory_map_records(), self._last_sequence, self._inode
            places = self._update_places(records, inode) if len(records) > _MAX_COMPARED else None
        rows = rows_after(last_sequence)
        if places is None or rows:
            return self._compute_cosines(vector, records, rows, passing.all_numbers())
        few = None if passing.is_everything else passing.numbers_if_few(_MAX_PASSING_COMPARED)
        if few is not None:
            return self._compute_cosines(vector, records.take(places.places_of_items(few)), (), None)
        with self._lock:
            signs = self._update_signs(records, inode)
        large = _LargeFileSearch(records, places, signs, passing)
        return NearestCosines(vector, large.find_nearest, large.codes_of_items)

    def _update_places(self, records: NDArray[np.void], inode: int) -> ItemPlaces:
        """The places of all records; those of new records are added to the places known before."""
        if self._places_inode != inode or len(self._places) > len(records):
            self._places, self._places_inode = ItemPlaces.empty(), inode
        if fresh := len(records) - len(self._places):
            self._places = self._places.extended_with_numbers(records["no"][-fresh:])
        return self._places

    def _update_signs(self, records: NDArray[np.void], inode: int) -> SignCodes:
        """The signs of all records; those of new records are added to the signs computed before."""
        if self._signs_inode != inode or len(self._signs) > len(records):
            self._signs, self._signs_inode = SignCodes.empty(self.dimensions), inode
        if fresh := len(records) - len(self._signs):
            self._signs = self._signs.extended_with_codes(records["code"][-fresh:])
        return self._signs

    def _compute_cosines(
        self,
        vector: Sequence[float],
        records: NDArray[np.void],
        rows: Sequence[VectorRow],
        allowed: NDArray[np.int64] | None,
    ) -> Cosines:
        """The cosines of all items in records or rows, or of the allowed ones."""
        records = self._merge_rows_into_records(records, rows)
        numbers = records["no"].copy()  # the file is shared: another process may erase a record at any time
        mask = numbers != _NO_ITEM if allowed is None else is_among(numbers, allowed)
        if not mask.all():
            places = np.flatnonzero(mask)
            # By places: indexing with a mask copies field by field and is far slower.
            numbers, records = numbers[places], records.take(places)
        codes = records["code"]
        return Cosines(tuple(vector), numbers, codes, cosines_to_codes(vector, codes))

    def codes_by_item(self) -> dict[int, bytes]:
        """Every code by item number."""
        with self._lock:
            records = self._memory_map_records().copy()
        return {int(r["no"]): r["code"].tobytes() for r in records if r["no"] != _NO_ITEM}

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            self._empty_records_after_unmapping()

    def _load_header(self) -> _CodeFileHeader | None:
        """The header, or None if the file is absent or damaged."""
        try:
            with self.path.open("rb") as file:
                return self._read_valid_header(file)
        except FileNotFoundError:
            return None

    def _read_valid_header(self, file: BinaryIO) -> _CodeFileHeader | None:
        """The header of an open file, or None if it is damaged or has other dimensions."""
        raw, size = file.read(_HEADER.size), os.fstat(file.fileno()).st_size
        if len(raw) < _HEADER.size:
            return None
        magic, dimensions, holes, records, last_sequence = _HEADER.unpack(raw)
        is_complete = size >= self._file_size_with_records(records) and last_sequence < _MAX_ROWS
        is_ours = magic == _MAGIC and 0 < dimensions == self.dimensions
        return _CodeFileHeader(records, last_sequence, holes) if is_ours and is_complete else None

    def _file_size_with_records(self, record_count: int) -> int:
        return _HEADER.size + record_count * int(self._record.itemsize)

    def _write_header(self, file: BinaryIO, header: _CodeFileHeader) -> None:
        file.seek(0)
        file.write(_HEADER.pack(_MAGIC, self.dimensions, header.holes, header.records, header.last_sequence))

    def _memory_map_records(self) -> NDArray[np.void]:
        """The records as an array over the file's memory, mapped anew if the file grew or was replaced."""
        try:
            # The file is opened once for header and records: another process may replace it in between.
            is_writable = os.access(self.path, os.W_OK)
            with self.path.open("r+b" if is_writable else "rb") as file:
                header, inode = self._read_valid_header(file), os.fstat(file.fileno()).st_ino
                if header is None:
                    return self._empty_records_after_unmapping()
                if self._map is None or inode != self._inode or len(self._records) != header.records:
                    size = self._file_size_with_records(header.records)
                    access = mmap.ACCESS_WRITE if is_writable else mmap.ACCESS_READ
                    self._map = mmap.mmap(file.fileno(), size, access=access)
                    self._records = np.frombuffer(self._map, self._record, header.records, _HEADER.size)
        except FileNotFoundError:
            return self._empty_records_after_unmapping()
        self._inode, self._last_sequence = inode, header.last_sequence
        return self._records

    def _empty_records_after_unmapping(self) -> NDArray[np.void]:
        """Release the file and return an empty array of records."""
        self._records, self._map, self._inode, self._last_sequence = np.zeros(0, self._record), None, 0, 0
        return self._records

    def _merge_rows_into_records(
        self, records: NDArray[np.void], rows: Sequence[VectorRow]
    ) -> NDArray[np.void]:
        """The records with these rows added; older records of the same items are left out."""
        if not rows:
            return records
        body = self._encode_records(rows)
        fresh = np.frombuffer(body, self._record)
        return np.concatenate([records[~is_among(records["no"], fresh["no"])], fresh])

    def _erase_records(self, item_numbers: NDArray[np.int64]) -> int:
        """Overwrite the codes of these items on the disk. Returns how many records they had."""
        records = self._memory_map_records()
        holes = is_among(records["no"], item_numbers)
        if self._map is None or not holes.any():
            return 0
        records["code"][holes] = 0
        records["no"][holes] = _NO_ITEM
        self._map.flush()
        return int(holes.sum())

    def _append_records(self, header: _CodeFileHeader, rows: Sequence[VectorRow]) -> None:
        """Add records at the end of the file, and erase the older records of the same items."""
        if not rows:
            return
        body = self._encode_records(rows)
        with self.path.open("r+b") as file:
            file.seek(self._file_size_with_records(header.records))
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
            with self._lock:
                replaced = self._erase_records(np.frombuffer(body, self._record)["no"])
            holes = header.holes + replaced
            self._write_header(file, _CodeFileHeader(header.records + len(rows), rows[-1][0], holes))

    def _replace_file_with_rows(self, rows: Sequence[VectorRow]) -> None:
        """Write a new file and rename it over the old one."""
        fresh = self.path.with_suffix(".new")
        create_private_file(fresh)
        with fresh.open("wb") as file:
            self._write_header(file, _CodeFileHeader(len(rows), rows[-1][0] if rows else 0, 0))
            file.write(self._encode_records(rows))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _encode_records(self, rows: Iterable[VectorRow]) -> bytes:
        """Rows as bytes of the file's records; raises `StoreDamaged` for a code of another length."""
        body = bytearray()
        for sequence, number, code in rows:
            if not isinstance(code, bytes) or len(code) != self.dimensions:
                raise StoreDamaged(f"the vector of row {sequence} is damaged; run: foreword doctor --repair")
            body += number.to_bytes(8, "little") + code
        return bytes(body)

    @contextmanager
    def _lock_exclusively(self) -> Iterator[None]:
        """Hold the lock under which one process at a time changes the file; it is a file of its own."""
        lock_path = self.path.with_suffix(".lock")
        create_private_file(lock_path)
        with lock_path.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
