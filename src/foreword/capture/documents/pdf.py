"""The text of a PDF, page by page, as far as it can be read.

Broken and encrypted files are common and the reader is strict in its own ways, so whatever it raises is a
reason to skip, told and logged. Pages and characters are bounded: a small file can unfold into a large one.
"""

from __future__ import annotations

import io
import logging
from typing import TYPE_CHECKING

from foreword.capture.folder.decode import sound_text
from foreword.errors import MissingExtra
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pypdf import PageObject, PdfReader

_log = get_logger(__name__)

PAGES = 1_000
PAGE_CHARACTERS = 50_000

_CONTENT_BYTES = 4_000_000
"""A page whose drawing takes more than this is a picture; looking for words in it would take minutes."""


class Unreadable(Exception):
    """A PDF that gives no text; the message says why: `encrypted` or `broken`."""


def pages(path: str, data: bytes) -> list[str]:
    """The text of each page; a page that cannot be read is empty."""
    try:
        import pypdf
    except ImportError as error:
        raise MissingExtra("pypdf", "documents") from error
    told = logging.getLogger("pypdf")
    if told.level == logging.NOTSET:
        told.setLevel(logging.CRITICAL)  # it tells every oddity; what follows from them is told below
    try:
        return list(_texts(path, _opened(pypdf.PdfReader(io.BytesIO(data), strict=False))))
    except Exception as error:
        problem = str(error) if isinstance(error, Unreadable) else "broken"
        _log.warning("a PDF cannot be read", path=path, problem=f"{type(error).__name__}: {error}"[:200])
        raise Unreadable(problem) from error  # a damaged file can make the reader raise anything


def _opened(reader: PdfReader) -> PdfReader:
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("encrypted")
    return reader


def _texts(path: str, reader: PdfReader) -> Iterator[str]:
    for number in range(min(len(reader.pages), PAGES)):
        try:
            yield _text(reader.pages[number])
        except Exception as error:  # noqa: BLE001  (one page; the others may be sound)
            _log.warning("a page cannot be read", path=path, page=number + 1, problem=type(error).__name__)
            yield ""


def _text(page: PageObject) -> str:
    content = page.get_contents()
    if content is None or len(content.get_data()) > _CONTENT_BYTES:
        return ""
    return sound_text(page.extract_text())[:PAGE_CHARACTERS]
