"""A piece of a document that was found for a question, with where it comes from, worded for a prompt.

Nothing is searched here. The words of a document are quoted between two rules; a rule or a heading of ours
inside them is escaped, so that a chunk ends where it ends.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from foreword.compose.quoting import escape_heading_line, escape_headings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.text.tokens import Tokenizer
    from foreword.types import Item

RULE = "---"
_RULE_LINE = re.compile(r"^([^\S\n]*)(?=-{3,}[^\S\n]*$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A document, and the place in it: its heading path, or its lines."""

    doc_id: str
    title: str
    url: str | None = None
    date: datetime | None = None
    doc_type: str = "document"
    place: str = ""


@dataclass(frozen=True, slots=True)
class KnowledgeChunk:
    """A piece of a document; `token_count` is that of `formatted`, which is what the prompt holds."""

    chunk_id: str
    source: DocumentSource
    content: str
    relevance: float
    token_count: int
    formatted: str


def format_chunk(content: str, source: DocumentSource) -> str:
    """The content between rules, under a line that says what it is taken from."""
    header = f"Source: {escape_heading_line(source.title)}"
    if source.place:
        header += f", {escape_heading_line(source.place)}"
    if source.date is not None:
        header += f" ({source.date:%Y-%m-%d})"
    quoted = _RULE_LINE.sub(r"\1\\", escape_headings(content)).strip("\n")
    return "\n".join((header, RULE, quoted, RULE))


def knowledge_chunk(
    chunk_id: str, source: DocumentSource, content: str, relevance: float, tokenizer: Tokenizer
) -> KnowledgeChunk:
    """The chunk with its wording, counted."""
    formatted = format_chunk(content, source)
    return KnowledgeChunk(chunk_id, source, content, relevance, tokenizer.count(formatted), formatted)


def knowledge_text(chunks: Sequence[KnowledgeChunk]) -> str:
    """All chunks as they stand in a prompt, a blank line between them."""
    return "\n\n".join(chunk.formatted for chunk in chunks)


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
        place=_place_in_document(item),
    )


def _read_date(value: object) -> datetime | None:
    """A date with a time zone in ISO format; None for anything else."""
    try:
        date = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return date if date.tzinfo else None


def _place_in_document(item: Item) -> str:
    """Where in its document an item stands: under which headings, on which lines."""
    path, first, last = (item.metadata.get(name) for name in ("headings", "start_line", "end_line"))
    headings = " › ".join(map(str, path)) if isinstance(path, list) else ""
    if first is None:
        return headings
    lines = f"line {first}" if first == last else f"lines {first}–{last}"
    return ", ".join(filter(None, (headings, lines)))
