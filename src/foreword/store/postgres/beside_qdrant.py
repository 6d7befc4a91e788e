"""PostgreSQL's side of a vector server: its transactions, with what such a part asks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.store.postgres import outbox, vectors
from foreword.store.postgres.transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foreword.types import Filters


class TransactionBesideQdrant(Transaction):
    """A transaction that notes for a vector server what changes."""

    def tenant(self) -> str:
        """The name of the workspace among those of all stores."""
        return outbox.tenant(self)

    def note_outbox(self, numbers: Iterable[int]) -> None:
        """Note that the vector server has to learn what these items are now."""
        outbox.note_outbox(self, numbers)

    def unsent_numbers(self, filters: Filters, limit: int) -> tuple[set[int], list[int]]:
        """The noted items, and at most `limit` of them that pass the filters."""
        return outbox.unsent_numbers(self, filters, limit)

    def codes_of(self, space: str, digest: str, numbers: Iterable[int]) -> dict[int, bytes]:
        """The codes of those of these items that have one."""
        encoder = vectors.find_encoder(self, space, digest)
        return vectors.codes_of(self, encoder[0], numbers) if encoder else {}

    def all_codes(self) -> list[tuple[int, str, str, bytes]]:
        """Rows of an item's number, space, digest and code, for every vector."""
        return self.execute(
            "SELECT v.no, g.space, g.digest, v.code FROM vectors v JOIN generations g USING(generation) "
            "WHERE v.ws = ?",
            self.ws,
        ).fetchall()
