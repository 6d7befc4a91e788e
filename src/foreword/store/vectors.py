"""One space's vectors of one workspace, as int8 codes in a memory-mapped file that can be thrown away.

The rows of the `vectors` table are the truth; this file repeats them in the shape a scan wants. Its header
says up to which row it goes, and is written only after the records it speaks of are on the disk, so a crash
leaves a file that is merely behind. It is never shortened in place: a file that must shrink is written anew
and renamed over the old one, and readers notice. An exact scan of one workspace is fast enough, and unlike an
approximate index it loses nothing under a narrow filter.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import simsimd

from foreword.errors import StoreDamaged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

    Rows = Callable[[int], Iterable[tuple[int, int, bytes]]]
    """Given a sequence number, the rows after it: sequence number, item number, code; in order."""

_MAGIC = b"FWCODES1"
_HEADER = struct.Struct("<8sIIQQ")  # magic, dimensions, holes, records, last sequence number
_ERASED = -1
_SMALL = 1000
_MOST_DIMENSIONS = 1 << 20
_MOST_ROWS = 1 << 62


def quantise(vector: Sequence[float]) -> bytes:
    """A vector as int8, scaled to its largest number; cosine does not mind the scale."""
    values = np.asarray(vector, np.float64)
    largest = float(np.abs(values).max(initial=0.0))
    return bytes(np.rint(values / (largest or 1.0) * 127).astype(np.int8).data)


def restore(code: bytes) -> tuple[float, ...]:
    """The unit vector that a code stands for, up to rounding."""
    values = np.frombuffer(code, np.int8).astype(np.float32)
    length = float(np.linalg.norm(values)) or 1.0
    return tuple((values / length).tolist())


@dataclass(frozen=True, slots=True)
class _Head:
    count: int
    last: int
    holes: int

    @property
    def sparse(self) -> bool:
        return self.count > _SMALL and self.holes * 4 > self.count


def _none(_: int) -> Iterable[tuple[int, int, bytes]]:
    return ()


def _cosines(vector: Sequence[float], codes: NDArray[np.int8]) -> NDArray[np.float64]:
    if not len(codes):
        return np.zeros(0)
    query = np.frombuffer(quantise(vector), np.int8)[None]
    return 1.0 - np.array(simsimd.cdist(query, codes, "cosine")).ravel()


@dataclass(frozen=True, slots=True)
class Cosines:
    """How near each of many items is to one vector."""

    nos: NDArray[np.int64]
    codes: NDArray[np.int8]
    values: NDArray[np.float64]

    def best(self, limit: int) -> list[tuple[int, float]]:
        """The nearest: item number and cosine, best first."""
        limit = min(limit, len(self.values))
        if not limit:
            return []
        best = np.argpartition(-self.values, limit - 1)[:limit]
        best = best[np.argsort(-self.values[best], kind="stable")]
        return [(int(self.nos[i]), float(self.values[i])) for i in best]

    def of(self, nos: Iterable[int]) -> dict[int, float]:
        """The cosines of these items, as far as they have vectors."""
        wanted = np.isin(self.nos, np.fromiter(nos, np.int64))
        return dict(zip(self.nos[wanted].tolist(), self.values[wanted].tolist(), strict=True))

    def echo(
        self, vector: Sequence[float], praised: Mapping[int, float], share: float, items: int
    ) -> Cosines:
        """The cosines to the vector moved towards its best answers; what other spaces praise counts more."""
        merit = self.values.copy()
        for at in np.flatnonzero(np.isin(self.nos, np.fromiter(praised, np.int64))):
            merit[at] += praised[int(self.nos[at])]
        items = min(items, len(merit))
        best = self.codes[np.argpartition(-merit, items - 1)[:items]].astype(np.float32)
        best /= np.maximum(np.linalg.norm(best, axis=1, keepdims=True), 1.0)
        unit = np.asarray(vector, np.float32)
        moved = unit / max(float(np.linalg.norm(unit)), 1e-12) + share * best.mean(axis=0)
        return Cosines(self.nos, self.codes, _cosines(moved.tolist(), self.codes))


class CodeFile:
    """The codes of one space, found by cosine."""

    def __init__(self, path: Path, dimensions: int) -> None:
        self.path = path
        self.dimensions = dimensions
        self._record = np.dtype([("no", "<i8"), ("code", "i1", (dimensions,))])
        self._lock = threading.Lock()
        self._map: mmap.mmap | None = None
        self._inode = 0
        self._last = 0
        self._records: NDArray[np.void] = np.zeros(0, self._record)

    @classmethod
    def existing(cls, folder: Path) -> Iterator[CodeFile]:
        """The code files of a folder, whatever their space; one whose header is damaged has no dimensions."""
        for path in sorted(folder.glob("*.codes")):
            with path.open("rb") as file:
                raw = file.read(_HEADER.size)
            sound = len(raw) == _HEADER.size and raw.startswith(_MAGIC)
            dimensions = _HEADER.unpack(raw)[1] if sound else 0
            yield cls(path, dimensions if dimensions <= _MOST_DIMENSIONS else 0)

    @property
    def last_seq(self) -> int:
        """The last row this file repeats; 0 when there is no usable file."""
        header = self._header()
        return header.last if header else 0

    @property
    def damaged(self) -> bool:
        """Whether there is a file that cannot be used; one that is absent is merely behind."""
        return self._header() is None and self.path.exists()

    def catch_up(self, newest: int, rows: Rows) -> None:
        """Repeat the rows that came since; a file that is mostly holes is written anew.

        Safe while other processes do the same. `rows` must read a snapshot taken after this call began.
        """
        header = self._header()
        if header is not None and header.last >= newest and not header.sparse:
            return
        with self._exclusive():
            header = self._header()
            if header is None or header.sparse:
                self._replace(rows(0))
            else:
                self._append(header, rows(header.last))

    def rebuild(self, rows: Rows) -> None:
        """Write the file anew from all rows."""
        with self._exclusive():
            self._replace(rows(0))

    def erase(self, nos: Iterable[int]) -> None:
        """Overwrite the codes of these items; a file that cannot be read, or was left half-written, goes."""
        with self._exclusive(), self._lock:
            self.path.with_suffix(".new").unlink(missing_ok=True)
            if (header := self._header()) is None:
                self.path.unlink(missing_ok=True)
            elif holes := self._punch(np.fromiter(nos, np.int64)):
                self._write_header(replace(header, holes=header.holes + holes))

    def remove(self) -> None:
        """Remove the file; it is made again when it is wanted."""
        with self._exclusive():
            self.path.unlink(missing_ok=True)

    def nearest(
        self,
        vector: Sequence[float],
        limit: int,
        allowed: NDArray[np.int64] | None = None,
        newer: Rows = _none,
    ) -> list[tuple[int, float]]:
        """The `limit` items of highest cosine, among the allowed ones: item number and cosine, best first."""
        return self.compare(vector, allowed, newer).best(limit)

    def compare(
        self, vector: Sequence[float], allowed: NDArray[np.int64] | None = None, newer: Rows = _none
    ) -> Cosines:
        """Every allowed item's cosine; `newer` gives rows that the file does not have yet."""
        with self._lock:
            records, last = self._view(), self._last
        records = self._joined(records, newer(last))
        nos = records["no"].copy()  # the file is shared: another process may erase a record at any time
        keep = nos != _ERASED if allowed is None else np.isin(nos, allowed)
        if not keep.all():
            kept = np.flatnonzero(keep)
            nos, records = nos[kept], records.take(kept)  # a mask copies field by field, far slower
        return Cosines(nos, records["code"], _cosines(vector, records["code"]))

    def contents(self) -> dict[int, bytes]:
        """Every code by item number; for comparing with the rows."""
        with self._lock:
            records = self._view().copy()
        return {int(r["no"]): r["code"].tobytes() for r in records if r["no"] != _ERASED}

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._forget()

    def _header(self) -> _Head | None:
        """What the file says of itself, or None when it is absent or damaged."""
        try:
            with self.path.open("rb") as file:
                return self._read_header(file)
        except FileNotFoundError:
            return None

    def _read_header(self, file: BinaryIO) -> _Head | None:
        raw, size = file.read(_HEADER.size), os.fstat(file.fileno()).st_size
        if len(raw) < _HEADER.size:
            return None
        magic, dimensions, holes, count, last = _HEADER.unpack(raw)
        whole = size >= _HEADER.size + count * self._record.itemsize and last < _MOST_ROWS
        sound = magic == _MAGIC and 0 < dimensions == self.dimensions
        return _Head(count, last, holes) if sound and whole else None

    def _write_header(self, head: _Head) -> None:
        with self.path.open("r+b") as file:
            file.write(_HEADER.pack(_MAGIC, self.dimensions, head.holes, head.count, head.last))

    def _view(self) -> NDArray[np.void]:
        """The records as an array over the file, mapped anew when it grew or was replaced."""
        try:
            # One opening for header and records: another process may replace the file in between.
            with self.path.open("r+b") as file:
                header, inode = self._read_header(file), os.fstat(file.fileno()).st_ino
                if header is None:
                    return self._forget()
                if self._map is None or inode != self._inode or len(self._records) != header.count:
                    self._map = mmap.mmap(file.fileno(), _HEADER.size + header.count * self._record.itemsize)
                    self._records = np.frombuffer(self._map, self._record, header.count, _HEADER.size)
        except FileNotFoundError:
            return self._forget()
        self._inode, self._last = inode, header.last
        return self._records

    def _forget(self) -> NDArray[np.void]:
        """No records, and no hold on a file."""
        self._records, self._map, self._inode, self._last = np.zeros(0, self._record), None, 0, 0
        return self._records

    def _joined(self, records: NDArray[np.void], rows: Iterable[tuple[int, int, bytes]]) -> NDArray[np.void]:
        """The records with these rows in place of what they replace."""
        body, added, _ = self._encode(rows)
        if not added:
            return records
        fresh = np.frombuffer(body, self._record)
        return np.concatenate([records[~np.isin(records["no"], fresh["no"])], fresh])

    def _punch(self, nos: NDArray[np.int64]) -> int:
        """Overwrite the codes of these items, on the disk when this returns; gives how many there were."""
        records = self._view()
        holes = np.isin(records["no"], nos)
        if self._map is None or not holes.any():
            return 0
        records["code"][holes] = 0
        records["no"][holes] = _ERASED
        self._map.flush()
        return int(holes.sum())

    def _append(self, head: _Head, rows: Iterable[tuple[int, int, bytes]]) -> None:
        """Add records at the end; an item that has one already, from an older vector, loses that one."""
        body, added, last = self._encode(rows)
        if not added:
            return
        with self.path.open("r+b") as file:
            file.seek(_HEADER.size + head.count * self._record.itemsize)
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        with self._lock:
            replaced = self._punch(np.frombuffer(body, self._record)["no"])
        self._write_header(_Head(head.count + added, last, head.holes + replaced))

    def _replace(self, rows: Iterable[tuple[int, int, bytes]]) -> None:
        body, count, last = self._encode(rows)
        fresh = self.path.with_suffix(".new")
        with fresh.open("wb") as file:
            file.write(_HEADER.pack(_MAGIC, self.dimensions, 0, count, last))
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _encode(self, rows: Iterable[tuple[int, int, bytes]]) -> tuple[bytes, int, int]:
        body, count, last = bytearray(), 0, 0
        for seq, no, code in rows:
            if not isinstance(code, bytes) or len(code) != self.dimensions:
                raise StoreDamaged(f"the vector of row {seq} is damaged; run: foreword doctor --repair")
            body += no.to_bytes(8, "little") + code
            count, last = count + 1, seq
        return bytes(body), count, last

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """One process at a time changes the file. The lock is a file of its own, never the database."""
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
