"""Vectors and token codes in PostgreSQL: the rows, which are the truth. Comparing them is left to others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.errors import ValidationError
from foreword.store.postgres.arrays import bytes_array_literal, number_array_literal, text_array_literal
from foreword.store.postgres.transaction import filters_to_sql
from foreword.store.vector_part import vector_from_code, vector_to_code
from foreword.types import Filters

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from foreword.store.base import (
        GetTokenCodes,
        GetVectors,
        ListUnembedded,
        ListWithoutTokenCodes,
        PutTokenCodes,
        PutVectors,
    )
    from foreword.store.exchange import ClaimUnembedded
    from foreword.store.postgres.transaction import Transaction
    from foreword.types import Item

    Encoder = tuple[int, str, str, int]
    """A generation of vectors: its number, space and digest, and the length of its vectors."""

_HAS_VECTOR = (
    "EXISTS(SELECT 1 FROM vectors v JOIN generations g USING(generation) "
    "WHERE v.ws = i.ws AND v.no = i.no AND g.space = ? AND g.digest = ?)"
)


def find_encoder(tx: Transaction, space: str, digest: str) -> Encoder | None:
    """The generation of a space and digest, or None if it has no vectors in this workspace."""
    row: Encoder | None = tx.execute(
        "SELECT g.generation, g.space, g.digest, g.dimensions FROM generations g "
        "WHERE g.space = ? AND g.digest = ? "
        "AND EXISTS(SELECT 1 FROM vectors v WHERE v.ws = ? AND v.generation = g.generation)",
        *(space, digest, tx.ws),
    ).fetchone()
    return row


def list_encoders(tx: Transaction) -> list[Encoder]:
    """Every generation that has vectors in this workspace."""
    return tx.execute(
        "SELECT g.generation, g.space, g.digest, g.dimensions FROM generations g "
        "WHERE EXISTS(SELECT 1 FROM vectors v WHERE v.ws = ? AND v.generation = g.generation)",
        tx.ws,
    ).fetchall()


def put_vectors(tx: Transaction, op: PutVectors) -> int:
    """Store vectors; those of unknown items are ignored. Returns how many belong to known items."""
    if not op.vectors:
        return 0
    encoder = find_encoder(tx, op.space, op.digest)
    dimensions = encoder[3] if encoder else len(op.vectors[0].values)
    for vector in op.vectors:
        if len(vector.values) != dimensions:
            raise ValidationError(
                f"vectors of one encoder have one size: {dimensions} numbers, not {len(vector.values)}"
            )
    numbers = tx.item_numbers_by_id(vector.item_id for vector in op.vectors)
    known = [vector for vector in op.vectors if vector.item_id in numbers]
    if not known:
        return 0
    rows = {numbers[vector.item_id]: (vector.text_hash, vector_to_code(vector.values)) for vector in known}
    put_codes_by_number(tx, op.space, op.digest, rows)
    tx.execute(
        "DELETE FROM claims WHERE ws = ? AND task = ? AND no = ANY(?)",
        *(tx.ws, _encoding_task_name(op.space, op.digest), list(rows)),
    )
    return len(known)


def put_codes_by_number(
    tx: Transaction, space: str, digest: str, rows: Mapping[int, tuple[str, bytes]]
) -> None:
    """Store codes by item number, each with the hash of its text; unchanged rows are not written."""
    if not rows:
        return
    dimensions = len(next(iter(rows.values()))[1])
    generation = _find_or_make_generation(tx, space, digest, dimensions)
    changed = tx.execute(
        "INSERT INTO vectors(ws, generation, no, text_hash, code) "
        "SELECT ?, ?, * FROM unnest(?::integer[], ?::text[], ?::bytea[]) "
        "ON CONFLICT(ws, generation, no) DO UPDATE SET text_hash = excluded.text_hash, code = excluded.code "
        "WHERE (vectors.text_hash, vectors.code) IS DISTINCT FROM (excluded.text_hash, excluded.code) "
        "RETURNING no",
        *(
            tx.ws,
            generation,
            number_array_literal(rows),
            text_array_literal([text_hash for text_hash, _ in rows.values()]),
            bytes_array_literal(code for _, code in rows.values()),
        ),
    ).fetchall()
    tx.vectors.put_vectors(tx, space, digest, {number: rows[number][1] for (number,) in changed})


def _find_or_make_generation(tx: Transaction, space: str, digest: str, dimensions: int) -> int:
    """The number of a generation of vectors; a new generation is given a number."""
    values = (space, digest, dimensions)
    query = "SELECT generation FROM generations WHERE space = ? AND digest = ? AND dimensions = ?"
    number: int | None = tx.select_value(query, *values)
    if number is None:
        insert = "INSERT INTO generations(space, digest, dimensions) VALUES(?, ?, ?) ON CONFLICT DO NOTHING"
        tx.execute(insert, *values)
        number = tx.select_value(query, *values)
    return int(number or 0)


def codes_of_items(tx: Transaction, generation: int, numbers: Iterable[int]) -> dict[int, bytes]:
    """The codes of these items by number, for those that have one."""
    wanted = list(numbers)
    if not wanted:
        return {}
    return dict(
        tx.execute(
            "SELECT no, code FROM vectors WHERE ws = ? AND generation = ? AND no = ANY(?)",
            *(tx.ws, generation, wanted),
        ).fetchall()
    )


def list_unembedded(tx: Transaction, op: ListUnembedded) -> tuple[Item, ...]:
    """Items that have no vector of the given encoder yet."""
    clause, values = filters_to_sql(Filters(kinds=op.kinds))
    return tx.select_items(
        f"{clause} AND NOT {_HAS_VECTOR} ORDER BY i.no LIMIT ?",
        *(*values, op.space, op.digest, op.limit),
    )


def claim_unembedded(tx: Transaction, op: ClaimUnembedded) -> tuple[Item, ...]:
    """Items without a vector that nobody has claimed; they are claimed for the caller for a while."""
    clause, values = filters_to_sql(Filters(kinds=op.kinds))
    task = _encoding_task_name(op.space, op.digest)
    tx.execute("DELETE FROM claims WHERE ws = ? AND until < clock_timestamp()", tx.ws)
    items = tx.select_numbered_items(
        f"{clause} AND NOT {_HAS_VECTOR} AND NOT EXISTS"
        "(SELECT 1 FROM claims c WHERE c.ws = i.ws AND c.no = i.no AND c.task = ?) ORDER BY i.no LIMIT ?",
        *(*values, op.space, op.digest, task, op.limit),
    )
    tx.execute(
        "INSERT INTO claims SELECT ?, no, ?, clock_timestamp() + make_interval(secs => ?) "
        "FROM unnest(?::integer[]) AS no",
        *(tx.ws, task, op.seconds, [number for number, _ in items]),
    )
    return tuple(item for _, item in items)


def _encoding_task_name(space: str, digest: str) -> str:
    """The name of a task for which items are claimed: encoding for one space by the encoder with a digest."""
    return f"{space} {digest}"


def get_vectors_by_text_hash(tx: Transaction, op: GetVectors) -> dict[str, tuple[float, ...]]:
    """Vectors by the hash of the text they were made from."""
    rows = tx.execute(
        "SELECT v.text_hash, v.code FROM vectors v JOIN generations g USING(generation) "
        "WHERE v.ws = ? AND g.digest = ? AND v.text_hash = ANY(?)",
        *(tx.ws, op.digest, list(op.hashes)),
    )
    return {found: vector_from_code(code) for found, code in rows}


# Token codes


def put_token_codes(tx: Transaction, op: PutTokenCodes) -> int:
    """Store codes; those of unknown items are ignored. Returns how many belong to known items."""
    numbers = tx.item_numbers_by_id(op.codes)
    put_token_codes_by_number(
        tx, {number: (op.digest, op.codes[item_id]) for item_id, number in numbers.items()}
    )
    return len(numbers)


def put_token_codes_by_number(tx: Transaction, rows: Mapping[int, tuple[str, bytes]]) -> None:
    """Store token codes by item number, each with the digest of its encoder."""
    tx.execute(
        "INSERT INTO token_codes SELECT ?, * FROM unnest(?::integer[], ?::text[], ?::bytea[]) "
        "ON CONFLICT(ws, no) DO UPDATE SET digest = excluded.digest, codes = excluded.codes",
        tx.ws,
        number_array_literal(rows),
        text_array_literal([digest for digest, _ in rows.values()]),
        bytes_array_literal(codes for _, codes in rows.values()),
    )


def get_token_codes(tx: Transaction, op: GetTokenCodes) -> dict[str, bytes]:
    """The codes of these items that the given encoder made, by item id."""
    rows = tx.execute(
        "SELECT i.id, t.codes FROM items i JOIN token_codes t USING(ws, no) "
        "WHERE i.ws = ? AND t.digest = ? AND i.id = ANY(?)",
        *(tx.ws, op.digest, list(op.ids)),
    )
    return {item_id: bytes(codes) for item_id, codes in rows}


def list_without_token_codes(tx: Transaction, op: ListWithoutTokenCodes) -> tuple[Item, ...]:
    """Items of the given kinds that have no codes of the given encoder yet."""
    clause, values = filters_to_sql(Filters(kinds=op.kinds))
    return tx.select_items(
        f"{clause} AND NOT EXISTS(SELECT 1 FROM token_codes t "
        "WHERE t.ws = i.ws AND t.no = i.no AND t.digest = ?) ORDER BY i.no LIMIT ?",
        *(*values, op.digest, op.limit),
    )
