"""One search: every probe of a question answered in one snapshot, and all that is known of what it found."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np

from foreword.errors import StoreDamaged
from foreword.store import probing
from foreword.store.embedded import dimensions_of, rows_of
from foreword.store.rows import COLUMNS, item_of
from foreword.types import Found, NeighboursProbe, Note, VectorProbe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.store.base import Search
    from foreword.store.shard import Shard
    from foreword.store.vectors import Cosines
    from foreword.types import Filters, Item, Probe

_ECHO_SHARE = 0.5
_ECHO_ITEMS = 3
_ECHO_WORDS = 0.1
"""The echo moves half-way towards the three best answers, on which words have a small say."""

_STEPS = 2000
"""How many of SQLite's steps pass between two looks at the clock."""


def search(shard: Shard, db: apsw.Connection, op: Search) -> Found:
    """Answer all probes; one that fails or is late becomes a note."""
    quest = _Quest(shard, db, op)
    with _clock(db, op.expires):
        # Words first, then meaning, which listens to them; neighbours last: they start from what was found.
        for probe in sorted(op.probes, key=_turn):
            try:
                quest.ask(probe)
            except apsw.InterruptError:
                quest.notes.append(Note(probe.space, "late: the deadline passed"))
            except (apsw.Error, OSError, StoreDamaged, _Misfit) as error:
                quest.notes.append(Note(probe.space, f"failed: {error}"))
    return quest.found()


def _turn(probe: Probe) -> int:
    return 2 if isinstance(probe, NeighboursProbe) else int(isinstance(probe, VectorProbe))


class _Quest:
    """One search under way: what its probes have found so far."""

    def __init__(self, shard: Shard, db: apsw.Connection, op: Search) -> None:
        self.shard, self.db, self.op = shard, db, op
        self.lists: dict[str, list[tuple[int, float]]] = {}
        self.notes: list[Note] = []
        self.compared: dict[str, Cosines] = {}
        self.beside: dict[int, dict[int, float]] = {}
        self.previous: dict[int, int] = {}

    def ask(self, probe: Probe) -> None:
        """Answer one probe."""
        if self.op.expires is not None and time.monotonic() > self.op.expires:
            raise apsw.InterruptError("the deadline passed")
        match probe:
            case VectorProbe():
                self._compare(probe)
            case NeighboursProbe():
                seeds = probing.seeds(self.lists)
                self.beside, self.previous = probing.neighbours(self.db, seeds, self.op.filters)
                self.lists[probe.space] = probing.by_neighbours(self.beside, seeds, self.op.limit)
            case _:
                self.lists[probe.space] = probing.answer(self.db, probe, self.op.filters, self.op.limit)

    def found(self) -> Found:
        """The items, under their ids, with all that is known of them."""
        nos = {no for ranked in self.lists.values() for no, _ in ranked}
        items = _items_by_number(self.shard, self.db, nos)
        ids = {no: item.id for no, item in items.items()}
        return Found(
            items={item.id: item for item in items.values()},
            lists={
                space: tuple((ids[no], score) for no, score in ranked if no in ids)
                for space, ranked in self.lists.items()
            },
            notes=tuple(self.notes),
            measures={
                space: {ids[no]: score for no, score in cosines.of(ids).items()}
                for space, cosines in self.compared.items()
            },
            beside={
                ids[one]: {ids[other]: nearness for other, nearness in near.items() if other in ids}
                for one, near in self.beside.items()
                if one in ids
            },
            previous={
                ids[one]: ids[other] for one, other in self.previous.items() if one in ids and other in ids
            },
        )

    def _compare(self, probe: VectorProbe) -> None:
        dimensions = dimensions_of(self.db, probe.space, probe.digest)
        if dimensions is None:
            self.lists[probe.space] = []
            return
        if dimensions != len(probe.vector):
            raise _Misfit(
                f"the vector has {len(probe.vector)} numbers, those of this encoder have {dimensions}"
            )
        allowed = None if self.op.filters.empty else _allowed(self.db, self.op.filters)
        file = self.shard.codes(probe.space, probe.digest, dimensions)
        cosines = file.compare(probe.vector, allowed, rows_of(self.db, probe.space, probe.digest))
        self._keep(probe.space, cosines)
        if probe.echo is not None and len(cosines.values):
            self._keep(probe.echo, cosines.echo(probe.vector, self._praise(), _ECHO_SHARE, _ECHO_ITEMS))

    def _keep(self, space: str, cosines: Cosines) -> None:
        self.compared[space] = cosines
        self.lists[space] = cosines.best(self.op.limit)

    def _praise(self) -> dict[int, float]:
        """What words say of each item, beside a cosine: at most a tenth."""
        ranked = next((ranked for ranked in self.lists.values() if ranked), [])
        best = ranked[0][1] if ranked else 0.0
        return {no: _ECHO_WORDS * score / best for no, score in ranked} if best > 0 else {}


class _Misfit(Exception):
    """A vector of another size than those it should be compared with."""


def _allowed(db: apsw.Connection, filters: Filters) -> np.ndarray[Any, np.dtype[np.int64]]:
    clause, values = probing.where(filters)
    # As one text: a row in Python costs more than SQLite's finding it, and there may be 50,000 of them.
    numbers = db.execute(f"SELECT group_concat(i.no) FROM items i WHERE {clause}", values).get
    return np.fromstring(numbers or "", np.int64, sep=",")


@contextmanager
def _clock(db: apsw.Connection, expires: float | None) -> Iterator[None]:
    """Interrupt whatever SQLite is doing when the deadline passes."""
    if expires is None:
        yield
        return
    db.set_progress_handler(lambda: time.monotonic() > expires, _STEPS)
    try:
        yield
    finally:
        db.set_progress_handler(None)


def _items_by_number(shard: Shard, db: apsw.Connection, nos: set[int]) -> dict[int, Item]:
    rows = db.execute(
        f"SELECT no, {COLUMNS} FROM items WHERE no IN (SELECT value FROM json_each(?))",
        (json.dumps(list(nos)),),
    )
    return {row[0]: item_of(shard.workspace, row[1:]) for row in rows}
