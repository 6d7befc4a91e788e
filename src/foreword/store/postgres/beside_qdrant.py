"""Transactions of PostgreSQL with the methods that a vector server needs; see `qdrant.QdrantRows`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.store.postgres import outbox, vectors
from foreword.store.postgres.transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foreword.types import Filters


class TransactionBesideQdrant(Transaction):
    """A transaction that can add changed items to the outbox of a vector server."""

    def tenant_name(self) -> str:
        """The name of the workspace on the server, different from those of all other stores."""
        return outbox.tenant_name(self)

    def add_to_outbox(self, numbers: Iterable[int]) -> None:
        """Note that these items have changed and have to be sent to the vector server."""
        outbox.add_to_outbox(self, numbers)

    def unsent_and_passing_numbers(self, filters: Filters, limit: int) -> tuple[set[int], list[int]]:
        """The newest items in the outbox, at most `limit`, and those of them that pass the filters."""
        return outbox.unsent_and_passing_numbers(self, filters, limit)

    def unsent_among(self, numbers: Sequence[int]) -> set[int]:
        """Those of these items that are in the outbox."""
        return outbox.unsent_among(self, numbers)

    def numbers_with_vectors(self) -> list[int]:
        """The numbers of all items that have a vector."""
        rows = self.execute("SELECT DISTINCT no FROM vectors WHERE ws = ? ORDER BY no", self.ws)
        return [number for (number,) in rows]

    def codes_of_items(self, space: str, digest: str, numbers: Iterable[int]) -> dict[int, bytes]:
        """The codes of these items by number, for those that have one."""
        encoder = vectors.find_encoder(self, space, digest)
        return vectors.codes_of_items(self, encoder[0], numbers) if encoder else {}

    def all_codes(self) -> list[tuple[int, str, str, bytes]]:
        """Rows of an item's number, space, digest and code, for every vector."""
        return self.execute(
            "SELECT v.no, g.space, g.digest, v.code FROM vectors v JOIN generations g USING(generation) "
            "WHERE v.ws = ?",
            self.ws,
        ).fetchall()
