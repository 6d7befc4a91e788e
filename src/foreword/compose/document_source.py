"""Which document an item was made from, and where in it, read from the item alone."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from foreword.compose.knowledge_chunk import DocumentSource

if TYPE_CHECKING:
    from foreword.types import Item

HANDED_OVER = "document:"
"""How the source of a document begins that an application handed over; that of a file begins otherwise."""


def document_source(item: Item) -> DocumentSource:
    """The document that an item of kind document was made from, and the place in it."""
    facts = item.metadata
    handed_over = item.source.name.startswith(HANDED_OVER)
    return DocumentSource(
        doc_id=item.source.name.removeprefix(HANDED_OVER),
        title=str(facts.get("title") or facts.get("path") or item.about or item.source.name),
        url=str(facts["url"]) if facts.get("url") else None,
        date=_read_date(facts.get("date")) if handed_over else item.created_at,
        doc_type=str(facts.get("doc_type") or facts.get("language") or "document"),
        place=_place(item),
    )


def _read_date(value: object) -> datetime | None:
    """A date with a time zone in ISO format; None for anything else."""
    try:
        date = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return date if date.tzinfo else None


def _place(item: Item) -> str:
    """Where in its document an item stands: under which headings, on which lines."""
    path, first, last = (item.metadata.get(name) for name in ("headings", "start_line", "end_line"))
    headings = " › ".join(map(str, path)) if isinstance(path, list) else ""
    if first is None:
        return headings
    lines = f"line {first}" if first == last else f"lines {first}–{last}"
    return ", ".join(filter(None, (headings, lines)))
