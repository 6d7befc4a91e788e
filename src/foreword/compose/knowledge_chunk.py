"""A piece of a document that was found for a question, with where it comes from, worded for a prompt.

Nothing is searched here. The words of a document are quoted between two rules; a rule or a heading of ours
inside them is escaped, so that a chunk ends where it ends.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.compose.parts import escape_heading_line, escape_headings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from foreword.text.tokens import Tokenizer

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
