"""All secrets of a text, in order and apart from each other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.capture.secrets.blocks import find_private_keys
from foreword.capture.secrets.columns import find_in_columns
from foreword.capture.secrets.encoded import find_base64_secrets, find_escaped_secrets
from foreword.capture.secrets.known import find_in_contexts, find_known_formats
from foreword.capture.secrets.named import (
    find_assigned_secrets,
    find_random_values,
    overlaps_redaction_mark,
)
from foreword.capture.secrets.prose import find_told_passwords
from foreword.capture.secrets.tables import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.capture.secrets.tables import Reading, Secret

_REST_OF_WORD = re.compile(r"[A-Za-z0-9_-]*+")


def find_secrets(text: str) -> list[Secret]:
    """The secrets in a text, in order and apart from each other; what is marked private is not looked at."""
    reading = read_text(text)
    found = [secret for secret in _find_written(reading) if not overlaps_redaction_mark(text, secret)]
    found += find_private_keys(reading)
    found.sort(key=lambda secret: secret.start)
    merged: list[Secret] = []
    for secret in found:
        end = _find_end(text, secret)
        if merged and secret.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, end))
        else:
            merged.append(secret._replace(end=end))
    return merged


def _find_end(text: str, secret: Secret) -> int:
    """Where a secret ends: with its word, so that nothing begins after it, and before a quote's escape."""
    end = secret.end
    while end > secret.start + 1 and text[end - 1] == "\\":
        end -= 1
    rest = _REST_OF_WORD.match(text, end)
    return rest.end() if rest else end


def _find_written(reading: Reading) -> Iterator[Secret]:
    """What stands in a text as it is written, or once its escapes and its base64 are read."""
    yield from _find_readable(reading)
    yield from find_escaped_secrets(reading.text, _find_unescaped)
    yield from find_base64_secrets(reading, _find_decoded)


def _find_readable(reading: Reading) -> Iterator[Secret]:
    yield from find_known_formats(reading)
    yield from find_in_contexts(reading)
    yield from find_assigned_secrets(reading)
    yield from find_told_passwords(reading)
    yield from find_random_values(reading)
    yield from find_in_columns(reading)


def _find_unescaped(reading: Reading) -> Iterator[Secret]:
    """What is a secret in a text whose escapes were read."""
    yield from _find_readable(reading)
    yield from find_private_keys(reading)
    yield from find_base64_secrets(reading, _find_decoded)


def _find_decoded(reading: Reading) -> Iterator[Secret]:
    """What is a secret in a text that was decoded: keys, and what has a name."""
    yield from find_known_formats(reading)
    yield from find_assigned_secrets(reading)
    yield from find_private_keys(reading)
