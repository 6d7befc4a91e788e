"""The part of PostgreSQL's store that compares vectors with pgvector: a table of halfvec for each generation.

The numbers of an int8 code are whole and fit into a halfvec without loss, so that nothing is rounded twice. A
small workspace is searched exactly. One with many vectors has an HNSW index over its own rows: in an index
shared by all workspaces, most of the nearest vectors would be of others. If few items pass the filters, the
index is not used: these few are compared one by one.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from foreword.store.base import Problem
from foreword.store.postgres.arrays import number_array_literal, text_array_literal
from foreword.store.postgres.connections import EF_SEARCH
from foreword.store.postgres.schema import make_nearest_table_if_missing
from foreword.store.postgres.transaction import Transaction, filters_to_sql
from foreword.store.postgres.vectors import codes_of_items, find_encoder, list_encoders
from foreword.store.vector_part import NearestCosines, VectorPart, vector_to_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from foreword.store.postgres.connections import Connection
    from foreword.store.vector_part import VectorComparison
    from foreword.types import Filters, VectorProbe

EXACT_BELOW = 20_000
"""Up to this many vectors are all compared: that takes some ten milliseconds, and loses nothing."""

_BUILD_LOCK = 0x4658
"""The first half of the advisory lock for building the indexes of a workspace."""

_SECONDS_BETWEEN_TRIES = 0.2
_MAX_EF_SEARCH = 1000
_MAX_INDEX_DIMENSIONS = 4000
_BYTES_OF_LINKS = 700
_MAX_MEGABYTES_TO_BUILD = 4000


class PgvectorTables(VectorPart[Transaction]):
    """The pgvector tables beside the rows, changed in the same transaction."""

    def put_vectors(self, tx: Transaction, space: str, digest: str, codes: Mapping[int, bytes]) -> None:
        """Put these vectors into the table of their generation."""
        encoder = find_encoder(tx, space, digest)
        if not codes or encoder is None:
            return
        table = make_nearest_table_if_missing(tx.connection, encoder[0], encoder[3])
        tx.execute(
            f"INSERT INTO {table} SELECT ?, n, e::halfvec FROM unnest(?::integer[], ?::text[]) AS t(n, e) "
            "ON CONFLICT(ws, no) DO UPDATE SET embedding = excluded.embedding",
            *(
                tx.ws,
                number_array_literal(codes),
                text_array_literal([_code_to_halfvec(code) for code in codes.values()]),
            ),
        )

    def note_changed_items(self, tx: Transaction, numbers: Sequence[int]) -> None:
        """Do nothing: searches here read the fields of items from the rows."""

    def delete_vectors(self, tx: Transaction, numbers: Sequence[int]) -> None:
        """Delete the vectors of these items from every generation."""
        for generation, _, _, _ in list_encoders(tx):
            if _has_table(tx, generation):  # there is none if another part compared these vectors until now
                tx.execute(
                    f"DELETE FROM nearest_{generation} WHERE ws = ? AND no = ANY(?)", tx.ws, list(numbers)
                )

    def compare(self, tx: Transaction, probe: VectorProbe, filters: Filters) -> VectorComparison:
        """Compare a vector with those of the items that pass the filters."""
        encoder = find_encoder(tx, probe.space, probe.digest)
        generation = encoder[0] if encoder else 0
        return NearestCosines(
            probe.vector,
            lambda vector, limit: _find_nearest(tx, generation, vector, filters, limit),
            lambda numbers: codes_of_items(tx, generation, numbers),
        )

    def find_problems(self, tx: Transaction) -> Iterator[Problem]:
        """Compare each table with the codes in the rows."""
        for generation, space, _, _ in list_encoders(tx):
            if not _has_table(tx, generation):
                yield Problem(f"nearest {space}", "pgvector has no table of these vectors")
                continue
            rows = tx.execute(
                "SELECT no, code FROM vectors WHERE ws = ? AND generation = ?", tx.ws, generation
            ).fetchall()
            kept = tx.execute(f"SELECT no, embedding::text FROM nearest_{generation} WHERE ws = ?", tx.ws)
            if {number: _code_to_halfvec(code) for number, code in rows} != dict(kept.fetchall()):
                yield Problem(f"nearest {space}", "the table of pgvector disagrees with the rows")

    def rebuild(self, tx: Transaction) -> None:
        """Fill every table again from the rows."""
        for generation, space, digest, dimensions in list_encoders(tx):
            make_nearest_table_if_missing(tx.connection, generation, dimensions)
            tx.execute(f"DELETE FROM nearest_{generation} WHERE ws = ?", tx.ws)
            rows = tx.execute(
                "SELECT no, code FROM vectors WHERE ws = ? AND generation = ?", tx.ws, generation
            ).fetchall()
            self.put_vectors(tx, space, digest, dict(rows))


def _has_table(tx: Transaction, generation: int) -> bool:
    return tx.select_value("SELECT to_regclass(?)", f"nearest_{generation}") is not None


def _code_to_halfvec(code: bytes) -> str:
    """A code as text that pgvector reads: its whole numbers, not scaled."""
    return "[" + ",".join(map(str, np.frombuffer(code, np.int8).tolist())) + "]"


def _find_nearest(
    tx: Transaction, generation: int, vector: Sequence[float], filters: Filters, limit: int
) -> list[int]:
    """The numbers of the items nearest to a vector, of those that pass the filters."""
    clause, values = filters_to_sql(filters)
    target = _code_to_halfvec(vector_to_code(vector))
    join = "" if filters.empty else "JOIN items i ON i.ws = n.ws AND i.no = n.no"
    source = f"FROM nearest_{generation} n {join} WHERE n.ws = {tx.ws} AND {clause}"
    if _is_index_worth_using(tx, generation, filters):
        if limit > EF_SEARCH:
            tx.execute(f"SET LOCAL hnsw.ef_search = {min(limit, _MAX_EF_SEARCH)}")
        sql = f"SELECT n.no {source} ORDER BY n.embedding <=> ?::halfvec LIMIT ?"
    else:  # MATERIALIZED keeps PostgreSQL from using the index
        sql = (
            f"WITH allowed AS MATERIALIZED (SELECT n.no, n.embedding <=> ?::halfvec AS distance {source}) "
            "SELECT no FROM allowed ORDER BY distance, no LIMIT ?"
        )
        return [number for (number,) in tx.execute(sql, target, *values, limit)]
    return [number for (number,) in tx.execute(sql, *values, target, limit)]


def _is_index_worth_using(tx: Transaction, generation: int, filters: Filters) -> bool:
    """Whether there is an index for this workspace, and enough items pass the filters to need it."""
    if tx.select_value("SELECT to_regclass(?)", _index_name(generation, tx.ws)) is None:
        return False
    if filters.empty:
        return True
    clause, values = filters_to_sql(filters)
    passing = tx.select_value(
        f"SELECT count(*) FROM (SELECT 1 FROM items i WHERE i.ws = ? AND {clause} LIMIT ?) AS passing",
        *(tx.ws, *values, EXACT_BELOW + 1),
    )
    return bool(passing > EXACT_BELOW)


def _index_name(generation: int, ws: int) -> str:
    return f"nearest_{generation}_ws{ws}"


def _megabytes_to_build_index(dimensions: int, vectors: int) -> int:
    """The memory for building an index, enough for its graph: with less, building takes many times longer."""
    needed = vectors * (2 * dimensions + _BYTES_OF_LINKS) // 1_000_000
    return min(max(64, needed), _MAX_MEGABYTES_TO_BUILD)


def make_missing_indexes(connection: Connection, ws: int) -> list[str]:
    """Build the missing indexes of a workspace's large generations. Returns the names of the new ones.

    Writes go on meanwhile; a million vectors take minutes. An index that was not finished is built again.
    """
    # Polled: the process that builds would wait for a statement of ours that waits for the lock.
    while connection.execute("SELECT pg_try_advisory_lock(%s, %s)", (_BUILD_LOCK, ws)).fetchone() != (True,):
        time.sleep(_SECONDS_BETWEEN_TRIES)
    try:
        connection.execute("SELECT set_config('foreword.ws', %s, FALSE)", (str(ws),))
        return _build_missing_indexes(connection, ws)
    finally:
        if not connection.closed:
            connection.execute("SELECT pg_advisory_unlock(%s, %s)", (_BUILD_LOCK, ws))


def _build_missing_indexes(connection: Connection, ws: int) -> list[str]:
    """Build the missing indexes one after the other, under the lock. Returns their names."""
    new_indexes = []
    generations = connection.execute(
        "SELECT * FROM (SELECT g.generation, g.dimensions, (SELECT count(*) FROM vectors v "
        "WHERE v.ws = %s AND v.generation = g.generation) AS vectors FROM generations g) AS g "
        "WHERE vectors > %s AND dimensions <= %s",
        (ws, EXACT_BELOW, _MAX_INDEX_DIMENSIONS),
    ).fetchall()
    for generation, dimensions, vectors in generations:
        name = _index_name(generation, ws)
        state = connection.execute(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", (name,)
        ).fetchone()
        if state == (True,):
            continue
        connection.execute(f"DROP INDEX IF EXISTS {name}")
        connection.execute(f"SET maintenance_work_mem = '{_megabytes_to_build_index(dimensions, vectors)}MB'")
        # Of a million, an index that several processes built at once finds .945 of the nearest, not .983.
        connection.execute("SET max_parallel_maintenance_workers = 0")
        connection.execute(
            f"CREATE INDEX CONCURRENTLY {name} ON nearest_{generation} "
            f"USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 128) WHERE ws = {ws}"
        )
        new_indexes.append(name)
    return new_indexes
