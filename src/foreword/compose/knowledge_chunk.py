"""A piece of a document that was found for a question, worded for a prompt with its source.

A long piece is reduced to the passages that help: whole paragraphs, and lists with the line that introduces
them. The words of a document are quoted between two rules; a rule or a prompt heading inside them is escaped,
so that no chunk can seem to end early. Nothing is searched here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from foreword.compose.quoting import escape_headings, escape_headings_on_one_line
from foreword.text.clean import join_lines
from foreword.text.provenance import source_attribution
from foreword.text.sentences import split_sentences
from foreword.types import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.text.tokens import Tokenizer
    from foreword.types import Item

MAX_WHOLE_CHARACTERS = 700
"""A chunk of at most this length is shown whole; of a longer one, the passages that help."""

_LIST_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")
_CUT_MARK = "\n\n…\n\n"

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
    """A piece of a document; `formatted` is its text in the prompt, `token_count` counts that text."""

    chunk_id: str
    source: DocumentSource
    content: str
    relevance: float
    token_count: int
    formatted: str


def format_chunk(content: str, source: DocumentSource) -> str:
    """The content between two rules, under a line that names its source."""
    header = f"Source: {escape_headings_on_one_line(source.title)}"
    if source.place:
        header += f", {escape_headings_on_one_line(source.place)}"
    if source.url:
        header += f", {_page_host(source.url)}"
    if source.date is not None:
        header += f" ({source.date:%Y-%m-%d})"
    quoted = _RULE_LINE.sub(r"\1\\", escape_headings(content)).strip("\n")
    return "\n".join((header, RULE, quoted, RULE))


def _page_host(url: str) -> str:
    """The page that a document comes from, by its host alone: the rest of an address can say anything."""
    return source_attribution(Source(url, "web")).removesuffix(" says")


def knowledge_chunk(
    chunk_id: str, source: DocumentSource, content: str, relevance: float, tokenizer: Tokenizer
) -> KnowledgeChunk:
    """A chunk with its formatted text and token count."""
    formatted = format_chunk(content, source)
    return KnowledgeChunk(chunk_id, source, content, relevance, tokenizer.count(formatted), formatted)


def choose_passages(content: str, statements: Sequence[str]) -> str:
    """The passages of a long text that these statements come from; a short text is returned whole."""
    passages = _split_passages(content) if len(content) > MAX_WHOLE_CHARACTERS else []
    squeezed = list(map(join_lines, statements))
    chosen = [
        at for at, passage in enumerate(passages) if any(_overlap_by_half(one, passage) for one in squeezed)
    ]
    if not chosen or len(chosen) == len(passages):
        return content
    text = passages[chosen[0]]
    for before, at in pairwise(chosen):
        text += ("\n\n" if at == before + 1 else _CUT_MARK) + passages[at]
    return text


def _split_passages(content: str) -> list[str]:
    """Paragraphs and blocks of code; a list is joined to the paragraph before it."""
    passages: list[str] = []
    for paragraph in _split_paragraphs(content):
        if passages and _LIST_ITEM.match(paragraph):
            passages[-1] += f"\n\n{paragraph}"
        else:
            passages.append(paragraph)
    return passages


def _split_paragraphs(content: str) -> list[str]:
    """The parts between blank lines; blank lines inside a fenced block do not divide it."""
    paragraphs: list[list[str]] = [[]]
    fenced = False
    for line in content.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        if line.strip() or fenced:
            paragraphs[-1].append(line)
        elif paragraphs[-1]:
            paragraphs.append([])
    return ["\n".join(lines) for lines in paragraphs if lines]


def _overlap_by_half(statement: str, passage: str) -> bool:
    """Whether at least half of the statement is in the passage, or half of the passage in the statement.

    A statement may begin with the end of one passage and go on into the next.
    """
    sentences = map(join_lines, split_sentences(passage))
    common = sum(len(sentence) for sentence in sentences if sentence in statement)
    return 2 * common >= min(len(statement), len(join_lines(passage))) > 0


def knowledge_text(chunks: Sequence[KnowledgeChunk]) -> str:
    """The text of all chunks in a prompt, with blank lines between them."""
    return "\n\n".join(chunk.formatted for chunk in chunks)


HANDED_OVER = "document:"
"""The prefix of the source name of a document that an application passed in; files do not have it."""


def read_document_source(item: Item) -> DocumentSource:
    """The document that an item of kind document was made from, and the place in it."""
    facts = item.metadata
    handed_over = item.source.name.startswith(HANDED_OVER)
    return DocumentSource(
        doc_id=item.source.name.removeprefix(HANDED_OVER),
        title=str(facts.get("title") or facts.get("path") or item.about or item.source.name),
        url=str(facts["url"]) if facts.get("url") else None,
        date=_read_date(facts.get("date")) if handed_over else item.created_at,
        doc_type=str(facts.get("doc_type") or facts.get("language") or "document"),
        place=_describe_headings_and_lines(item),
    )


def _read_date(value: object) -> datetime | None:
    """A date with a time zone in ISO format; None for anything else."""
    try:
        date = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return date if date.tzinfo else None


def _describe_headings_and_lines(item: Item) -> str:
    """The headings above an item in its document, and its lines, as far as they are known."""
    path, first, last = (item.metadata.get(name) for name in ("headings", "start_line", "end_line"))
    named = list(map(str, path)) if isinstance(path, list) else []
    if named and named[0].casefold() == str(item.metadata.get("title", "")).casefold():
        del named[0]  # the title is shown already
    headings = " › ".join(named)
    if first is None:
        return headings
    lines = f"line {first}" if first == last else f"lines {first}–{last}"
    return ", ".join(filter(None, (headings, lines)))
