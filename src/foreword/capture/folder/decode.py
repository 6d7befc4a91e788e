"""Bytes of a file become text that can be kept: no NUL, no half characters, lines that end in one way.

Whatever the bytes, there is a text. Whether it is worth having is for others to say.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import re

from foreword.types import Source

_LONGEST_PLACE = 1000
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins like the next, so it is asked first
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def marked(data: bytes) -> tuple[bytes, str] | None:
    """The byte order mark that data begin with, and the encoding it tells."""
    return next(((mark, encoding) for mark, encoding in _MARKS if data.startswith(mark)), None)


def decoded(data: bytes) -> str:
    """The text of a file: by its mark, else as UTF-8, else as the Latin of old files."""
    mark = marked(data)
    if mark:
        return sound_text(data[len(mark[0]) :].decode(mark[1], errors="replace"))
    try:
        return sound_text(data.decode())
    except UnicodeDecodeError:
        return sound_text(data.decode("latin-1"))


def sound_text(text: str) -> str:
    """A text in which each line ends with a newline and every character can be kept."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-8", errors="replace").decode()


def bytes_hash(data: bytes) -> str:
    """Name a file by its content; the tag says by which algorithm."""
    return "b2:" + hashlib.blake2b(data, digest_size=16).hexdigest()


def path_text(name: str) -> str:
    """A path that the system gave, as a text of its own: bytes that are no characters are spelled out."""
    return name if name.isascii() else os.fsencode(name).decode(errors="backslashreplace")


def place(path: str) -> str:
    """A path as it can be shown: on one line, and of a very long one its end."""
    line = _UNPRINTABLE.sub(" ", sound_text(path))
    return line if len(line) <= _LONGEST_PLACE else "…" + line[-_LONGEST_PLACE:]


def file_source(path: str) -> Source:
    """Who an item of a file is from: the file, which the user put there."""
    return Source(f"file:{place(path)}", "user")
