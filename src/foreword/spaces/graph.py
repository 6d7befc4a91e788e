"""Neighbours: what is one relation, or one place in a session, away from what the question found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.types import NeighboursProbe

if TYPE_CHECKING:
    from foreword.types import Query


class GraphSpace:
    """Finds what stands beside the best answers of the other spaces."""

    name = "graph"
    slow = False

    def probe(self, query: Query) -> NeighboursProbe | None:
        """Neighbours need something to be near to: a question without words or vector has none."""
        return NeighboursProbe(self.name) if query.text.strip() or query.vector else None
