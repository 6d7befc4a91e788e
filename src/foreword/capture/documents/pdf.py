"""The text of a PDF, page by page, as far as it can be read.

Broken and encrypted files are common and the reader is strict in its own ways, so whatever it raises is a
reason to skip a file or a page, and is logged. Pages and characters are bounded: a small file can unfold into
a large one.
"""

from __future__ import annotations

import io
import logging
from typing import TYPE_CHECKING

from foreword.capture.folder.storable import storable_text
from foreword.errors import MissingExtra
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pypdf import PageObject, PdfReader

_log = get_logger(__name__)

_MAX_PAGES = 1_000
_MAX_PAGE_CHARACTERS = 50_000
_MAX_PAGE_BYTES = 4_000_000
"""A page whose drawing has more bytes is a picture; looking for words in it would take minutes."""


class UnreadablePdf(Exception):
    """A PDF that gives no text; the message says why: `encrypted` or `broken`."""


def read_pages(path: str, data: bytes) -> list[str]:
    """The text of each page; a page that cannot be read is empty. Raises UnreadablePdf."""
    try:
        import pypdf
    except ImportError as error:
        raise MissingExtra("pypdf", "documents") from error
    logger = logging.getLogger("pypdf")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)  # it reports every oddity; what follows from them is logged below
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadablePdf("encrypted")  # noqa: TRY301  (logged like the rest)
        return list(_extract_page_texts(path, reader))
    except Exception as error:
        problem = str(error) if isinstance(error, UnreadablePdf) else "broken"
        _log.warning("a PDF cannot be read", path=path, problem=f"{type(error).__name__}: {error}"[:200])
        raise UnreadablePdf(problem) from error  # a damaged file can make the reader raise anything


def _extract_page_texts(path: str, reader: PdfReader) -> Iterator[str]:
    for number in range(min(len(reader.pages), _MAX_PAGES)):
        try:
            yield _extract_page_text(reader.pages[number])
        except Exception as error:  # noqa: BLE001  (one page; the others may be readable)
            _log.warning("a page cannot be read", path=path, page=number + 1, problem=type(error).__name__)
            yield ""


def _extract_page_text(page: PageObject) -> str:
    """The text of a page; empty when it is a picture."""
    content = page.get_contents()
    if content is None or len(content.get_data()) > _MAX_PAGE_BYTES:
        return ""
    return storable_text(page.extract_text())[:_MAX_PAGE_CHARACTERS]
