"""Convert the bytes, paths and times of files to values that can be stored and shown.

Every input gives a value, and none raises an error. `walk` decides which files are worth reading.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import re
from datetime import UTC, datetime

from foreword.text.clean import replace_unstorable_characters
from foreword.types import Source

_MAX_DISPLAY_PATH = 1_000
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # has the next mark as its beginning, so it is tried first
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# A day inside both ends of the calendar, so that every time zone can show these times.
_FIRST_SECOND = datetime(1, 1, 2, tzinfo=UTC).timestamp()
_LAST_SECOND = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


def find_byte_order_mark(data: bytes) -> tuple[bytes, str] | None:
    """The byte order mark at the beginning of the data, and its encoding; None if there is none."""
    return next(((mark, encoding) for mark, encoding in _BYTE_ORDER_MARKS if data.startswith(mark)), None)


def decode_text(data: bytes) -> str:
    """The text of a file, decoded by its byte order mark, else as UTF-8, else as Latin-1."""
    mark = find_byte_order_mark(data)
    if mark:
        return replace_unstorable_characters(data[len(mark[0]) :].decode(mark[1], errors="replace"))
    try:
        return replace_unstorable_characters(data.decode())
    except UnicodeDecodeError:
        return replace_unstorable_characters(data.decode("latin-1"))


def hash_content(data: bytes) -> str:
    """The hash of a content, with the name of its algorithm before it: `b2:` and 32 digits."""
    return "b2:" + hashlib.blake2b(data, digest_size=16).hexdigest()


def path_as_valid_text(path: str) -> str:
    """A path from the system as valid text, with escapes for bytes that are no characters."""
    return path if path.isascii() else os.fsencode(path).decode(errors="backslashreplace")


def path_on_one_line(path: str) -> str:
    """A path as it can be shown: on one line, and only the end of a very long one."""
    line = _UNPRINTABLE.sub(" ", replace_unstorable_characters(path))
    return line if len(line) <= _MAX_DISPLAY_PATH else "…" + line[-_MAX_DISPLAY_PATH:]


def file_source(path: str) -> Source:
    """The source of a file's items, with the trust of the repository."""
    return Source(f"file:{path_on_one_line(path)}", "repository")


def clamp_file_time(seconds: float) -> datetime:
    """This many seconds after 1970 as a time, or the earliest or latest that a datetime can hold."""
    return datetime.fromtimestamp(min(max(seconds, _FIRST_SECOND), _LAST_SECOND), UTC)
