"""Cut a document into chunks, each of which can be read alone; the chunks of a file become items.

A document is cut at its headings, then between paragraphs and blocks of code; a paragraph that is too long is
cut between sentences, code between lines, and a word only if there is no other way. A chunk that ended
because it was full is followed by one that begins with its last sentence, so that "it" and "this" keep their
meaning. A chunk is an unchanged part of the document, and has its position in it.
"""

from __future__ import annotations

import io
import logging
import re
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from foreword.capture.code.languages import language_of
from foreword.capture.documents.html_text import read_page
from foreword.capture.documents.sections import Section, flag_fenced_lines, read_sections
from foreword.capture.folder.storable import decode_text, file_source, hash_content, path_on_one_line
from foreword.capture.redact import redact_file_text
from foreword.errors import MissingExtra
from foreword.log import get_logger
from foreword.text.clean import replace_unstorable_characters
from foreword.text.sentences import sentence_spans
from foreword.text.tokens import CharacterTokenizer, cut_to_tokens
from foreword.text.words import STOPWORDS, has_words, split_words
from foreword.types import Item

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from pypdf import PageObject, PdfReader

    from foreword.text.tokens import Tokenizer

_log = get_logger(__name__)

CHUNK_TOKENS = 320
"""At most how many tokens a chunk has by default."""

MAX_FILE_CHUNK_CHARACTERS = 1_800
MAX_FILE_CODE_CHARACTERS = 6_000
"""A block of code in a file of at most this many characters is not cut."""

_MAX_OVERLAP_CHARACTERS = 300
_MAX_OVERLAP_SHARE = 0.15
"""At most this share of a chunk's tokens may be repeated from the chunk before."""

_MIN_TOPIC_SHARE = 0.4
"""A chunk ends at a change of subject only if it has at least this share of its maximum size."""

_MIN_SHARED_WORDS = 0.1
"""A paragraph that shares less than this part of its words with the chunk before has another subject."""

_MIN_TOPIC_WORDS = 8
"""With fewer words a subject cannot be recognised."""

_MIN_LINE_END_SHARE = 2 / 3
"""A line end after this share of a piece is a better place to cut than a later word end."""

_MAX_TOKEN_CHARACTERS = 16
"""A text with more characters than this for each allowed token is too long; its tokens are not counted."""

_MAX_CHUNKS = 2_000
"""At most this many chunks of one file become items."""

_MAX_ABOUT = 1_500
_EMBEDDED_DATA = re.compile(r"data:[\w/+.;=-]{1,80}base64,[A-Za-z0-9+/=]{64,}")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document with its headings and its position in characters (from 0) and lines (from 1)."""

    text: str
    headings: tuple[str, ...]
    start: int
    end: int
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class _Limits:
    """The maximum size of a chunk, of a block of code and of an overlap, measured by `counter`.

    With `split_topics`, a chunk that is large enough also ends where the subject changes.
    """

    counter: Tokenizer
    size: int
    code_size: int
    overlap: int
    split_topics: bool


class _CharacterCounter(CharacterTokenizer):
    """Counts characters."""

    def count(self, text: str) -> int:
        """How many characters the text has."""
        return len(text)


_FILE_LIMITS = _Limits(
    _CharacterCounter(),
    MAX_FILE_CHUNK_CHARACTERS,
    MAX_FILE_CODE_CHARACTERS,
    _MAX_OVERLAP_CHARACTERS,
    split_topics=False,
)


def chunk_text(text: str, counter: Tokenizer, size: int = CHUNK_TOKENS) -> list[Chunk]:
    """The chunks of a plain or Markdown text, in order; none if it is blank."""
    limits = _Limits(counter, size, size, int(_MAX_OVERLAP_SHARE * size), split_topics=True)
    lines = text.split("\n")
    line_starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    _, sections = read_sections(lines, "markdown", under_title=False)
    return [
        chunk for section in sections for chunk in _cut_section(section, limits, line_starts[section.first])
    ]


def cut_document(
    path: str, data: bytes, workspace: str, created_at: datetime, skipped: Counter[Any] | None = None
) -> list[Item]:
    """The items of a document, whose format is recognised by its name.

    Markdown, reStructuredText and web pages are read by their headings, a PDF page by page and plain text by
    its paragraphs. A PDF without text gives no items, and `skipped` counts it by reason.
    """
    language = language_of(path)
    title, sections = "", []
    if language == "pdf":
        try:
            sections = _read_pdf(path_on_one_line(path), data)
        except UnreadablePdf as reason:
            if skipped is not None:
                skipped[str(reason)] += 1
    else:
        title, sections = _read_title_and_sections(decode_text(data), language)
    if language in ("pdf", "html"):  # their text is known only now, and a chunk may end inside a key
        sections = [
            replace(section, lines=redact_file_text("\n".join(section.lines)).split("\n"))
            for section in sections
        ]
    found = [
        (section, chunk)
        for section in sections
        for chunk in _cut_section(section, _FILE_LIMITS)
        if has_words(chunk.text)
    ][:_MAX_CHUNKS]
    shown_path, source = path_on_one_line(path), file_source(path)
    common = {
        "path": replace_unstorable_characters(path),
        "language": language or "text",
        "hash": hash_content(data),
    }
    if title:
        common["title"] = title
    return [
        Item(
            text=chunk.text,
            workspace=workspace,
            kind="document",
            about=" › ".join((shown_path, *chunk.headings))[:_MAX_ABOUT],
            created_at=created_at,
            source=source,
            metadata={
                **common,
                "headings": list(chunk.headings),
                "chunk": number,
                "chunks": len(found),
                **_page_or_lines_in_file(section, chunk, language),
            },
        )
        for number, (section, chunk) in enumerate(found, 1)
    ]


def _page_or_lines_in_file(section: Section, chunk: Chunk, language: str) -> dict[str, int]:
    """The page or the lines of a chunk in its file; nothing for a web page, whose lines are not known."""
    if section.page:
        return {"page": section.page}
    if language == "html":
        return {}
    return {"start_line": chunk.first_line, "end_line": chunk.last_line}


def _read_title_and_sections(text: str, language: str) -> tuple[str, list[Section]]:
    """The title, or "", and the sections of a text in this language."""
    if language == "html":
        title, sections = read_page(text)
        return title, [section.under_title(title) for section in sections]
    lines = _EMBEDDED_DATA.sub("data:…", text).split("\n")
    if language not in ("markdown", "rst"):
        return "", [Section((), 0, lines)]
    return read_sections(lines, language, under_title=True)


def _cut_section(section: Section, limits: _Limits, offset: int = 0) -> Iterator[Chunk]:
    """The chunks of a section that begins `offset` characters into its document."""
    text = "\n".join(section.lines)
    line, counted = section.first + 1, 0
    for start, end in _SectionCutter(text, limits).find_chunk_spans(section.lines):
        line += text.count("\n", counted, start)
        counted = start
        last_line = line + text.count("\n", start, end)
        yield Chunk(text[start:end], section.headings, offset + start, offset + end, line, last_line)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part that is not cut further: a paragraph, a sentence of a long one, or code."""

    start: int
    end: int
    size: int
    is_code: bool
    begins_block: bool


class _SectionCutter:
    """Cuts one section. Positions are in characters of its text."""

    def __init__(self, text: str, limits: _Limits) -> None:
        self._text = text
        self._limits = limits

    def find_chunk_spans(self, lines: list[str]) -> Iterator[tuple[int, int]]:
        """The start and end of each chunk, in order."""
        pieces = list(self._cut_into_pieces(lines))
        at, start = 0, pieces[0].start if pieces else 0
        while at < len(pieces):
            after, is_full = self._find_chunk_end(pieces, at, start)
            yield start, pieces[after - 1].end
            if after < len(pieces):
                start = self._find_next_chunk_start(pieces, at, after) if is_full else pieces[after].start
            at = after

    def _cut_into_pieces(self, lines: list[str]) -> Iterator[_Piece]:
        """The pieces of a section, in order, without blank ones."""
        for block_start, block_end, is_code in _find_blocks(lines):
            begins_block = True
            for part in self._cut_block(block_start, block_end, is_code=is_code):
                start, end = self._trim_blanks(*part)
                if start < end:
                    yield _Piece(start, end, self._count_tokens(start, end), is_code, begins_block)
                    begins_block = False

    def _cut_block(self, start: int, end: int, *, is_code: bool) -> Iterator[tuple[int, int]]:
        """The spans of a block: the block itself if it fits, else its sentences and parts of long ones."""
        size = self._limits.code_size if is_code else self._limits.size
        ends = [] if is_code or self._fits_size(start, end, size) else _sentence_ends(self._text, start, end)
        for sentence_end in (*ends, end):
            while not self._fits_size(start, sentence_end, size):
                part_end = self._find_part_end(start, sentence_end, size, is_code=is_code)
                yield start, part_end
                start = part_end
            yield start, sentence_end
            start = sentence_end

    def _fits_size(self, start: int, end: int, size: int) -> bool:
        """Whether the text between two positions has at most `size` tokens."""
        return end - start <= _MAX_TOKEN_CHARACTERS * size and self._count_tokens(start, end) <= size

    def _find_part_end(self, start: int, end: int, size: int, *, is_code: bool) -> int:
        """The end of the longest part from `start` that fits: after a line, a word, or else a character."""
        text = self._text[start : min(end, start + _MAX_TOKEN_CHARACTERS * size)]
        part = cut_to_tokens(text, size - 1, self._limits.counter) or text[0]
        newline = part.rfind("\n")
        if newline > (0 if is_code else _MIN_LINE_END_SHARE * len(part)):
            return start + newline + 1
        blank = max(part.rfind(" "), newline)
        return start + (blank + 1 if blank > 0 else len(part))

    def _trim_blanks(self, start: int, end: int) -> tuple[int, int]:
        """A span without the blanks around it; the indentation of its first line stays."""
        text = self._text[start:end]
        blank = len(text) - len(text.lstrip())
        newline = text.rfind("\n", 0, blank)
        if newline >= 0 or start == 0 or self._text[start - 1] == "\n":
            blank = newline + 1
        return start + blank, start + len(text.rstrip())

    def _find_chunk_end(self, pieces: Sequence[_Piece], at: int, start: int) -> tuple[int, bool]:
        """The index of the piece after the last of this chunk, and whether the chunk is full."""
        limits = self._limits
        after, total = at + 1, self._count_tokens(start, pieces[at].end)
        is_full = False
        while after < len(pieces):
            is_full = total + pieces[after].size > limits.size
            if is_full or (
                limits.split_topics
                and total >= _MIN_TOPIC_SHARE * limits.size
                and self._changes_topic(pieces, at, after)
            ):
                break
            total += pieces[after].size
            after += 1
        while after - at > 1 and self._count_tokens(start, pieces[after - 1].end) > limits.size:
            after, is_full = after - 1, True  # tokens do not add up exactly
        return after, is_full

    def _changes_topic(self, pieces: Sequence[_Piece], at: int, after: int) -> bool:
        """Whether the piece at `after` is a new paragraph that shares hardly a word with the chunk."""
        if not pieces[after].begins_block or pieces[after].is_code:
            return False
        before = self._content_words(pieces[at].start, pieces[after - 1].end)
        coming = self._content_words(pieces[after].start, pieces[after].end)
        if min(len(before), len(coming)) < _MIN_TOPIC_WORDS:
            return False
        return len(before & coming) < _MIN_SHARED_WORDS * len(coming)

    def _find_next_chunk_start(self, pieces: Sequence[_Piece], at: int, after: int) -> int:
        """The start of the next chunk: at the last sentence of this one, if that is prose and fits."""
        last, coming = pieces[after - 1], pieces[after]
        if last.is_code:
            return coming.start
        start, _ = self._trim_blanks(_last_sentence_start(self._text, pieces[at].start, last.end), coming.end)
        if self._count_tokens(start, coming.start) > self._limits.overlap:
            return coming.start
        return start if self._count_tokens(start, coming.end) <= self._limits.size else coming.start

    def _content_words(self, start: int, end: int) -> set[str]:
        """The words between two positions that are no stop words."""
        return {word for word in split_words(self._text[start:end]) if word not in STOPWORDS}

    def _count_tokens(self, start: int, end: int) -> int:
        return self._limits.counter.count(self._text[start:end])


def _find_blocks(lines: list[str]) -> Iterator[tuple[int, int, bool]]:
    """The start and end of each block: a paragraph with indented text below it, or a fence (True)."""
    place = start = 0
    in_block = is_code = after_blank = False
    for line, fenced in zip(lines, flag_fenced_lines(lines), strict=True):
        has_text = bool(line.strip())
        begins = has_text and after_blank and not line[0].isspace()
        if in_block and (fenced != is_code or (begins and not fenced)):
            yield start, place, is_code
            in_block = False
        if not in_block and (has_text or fenced):
            start, is_code, in_block = place, fenced, True
        after_blank = not has_text
        place += len(line) + 1
    if in_block:
        yield start, place - 1, is_code


def _last_sentence_start(text: str, start: int, end: int) -> int:
    """The start of the last sentence in a span; the end of the span if that sentence is long."""
    last = start + len(text[start:end].rstrip())
    ends = _sentence_ends(text, max(start, last - _MAX_OVERLAP_CHARACTERS), last)
    return ends[-1] if ends else end


def _sentence_ends(text: str, start: int, end: int) -> list[int]:
    """The end of each sentence in a span except the last."""
    return [start + length for _, length in sentence_spans(text[start:end])[:-1]]


# PDF -----------------------------------------------------------------------------------------------------
#
# Broken and encrypted files are common, and the library may raise any error for them; such a file or page is
# skipped, and the error is logged. Pages and characters are limited, because a small file can decompress to a
# large one.

_MAX_PAGES = 1_000
_MAX_PAGE_CHARACTERS = 50_000
_MAX_PAGE_BYTES = 4_000_000
"""A page with more bytes of drawing commands is a picture; searching it for words would take minutes."""


class UnreadablePdf(Exception):
    """A PDF that gives no text; the message says why: `encrypted` or `broken`."""


def _read_pdf(path: str, data: bytes) -> list[Section]:
    """A section for each page of a PDF; empty for a page that cannot be read. Raises UnreadablePdf."""
    try:
        import pypdf
    except ImportError as error:
        raise MissingExtra("pypdf", "documents") from error
    logger = logging.getLogger("pypdf")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)  # it reports every oddity; real problems are logged below
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadablePdf("encrypted")  # noqa: TRY301  (logged like the rest)
        texts = enumerate(_extract_page_texts(path, reader), 1)
        return [Section((f"page {number}",), 0, text.split("\n"), number) for number, text in texts]
    except Exception as error:
        problem = str(error) if isinstance(error, UnreadablePdf) else "broken"
        _log.warning("a PDF cannot be read", path=path, problem=f"{type(error).__name__}: {error}"[:200])
        raise UnreadablePdf(problem) from error  # a damaged file can raise any error


def _extract_page_texts(path: str, reader: PdfReader) -> Iterator[str]:
    """The text of each page; "" for one that cannot be read, which is logged."""
    for number in range(min(len(reader.pages), _MAX_PAGES)):
        try:
            yield _extract_page_text(reader.pages[number])
        except Exception as error:  # noqa: BLE001  (one page; the others may be readable)
            _log.warning("a page cannot be read", path=path, page=number + 1, problem=type(error).__name__)
            yield ""


def _extract_page_text(page: PageObject) -> str:
    """The text of a page; "" if it is a picture."""
    content = page.get_contents()
    if content is None or len(content.get_data()) > _MAX_PAGE_BYTES:
        return ""
    return replace_unstorable_characters(page.extract_text())[:_MAX_PAGE_CHARACTERS]
