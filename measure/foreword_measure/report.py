"""Measurements as tables: what `bench` and `eval` return, and any edge can print or send as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Table:
    """A title, the columns' names, and rows of as many cells; notes say how the numbers were measured."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """Tables to read, and the same facts as data to compute with."""

    tables: tuple[Table, ...]
    data: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The whole report as plain JSON values."""
        return {"tables": [asdict(table) for table in self.tables], "data": dict(self.data)}
