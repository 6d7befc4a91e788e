"""Find all secrets of a text, by all rules together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.capture.secrets.blocks import find_private_keys
from foreword.capture.secrets.calls import find_call_secrets
from foreword.capture.secrets.columns import find_column_secrets
from foreword.capture.secrets.encoded import find_base64_secrets, find_escaped_secrets
from foreword.capture.secrets.known import find_secrets_after_keywords, find_secrets_by_format
from foreword.capture.secrets.named import (
    find_assigned_secrets,
    find_random_looking_values,
    list_secret_stems,
    overlaps_redaction_mark,
)
from foreword.capture.secrets.patterns import pattern
from foreword.capture.secrets.prose import find_passwords_in_prose
from foreword.capture.secrets.tables import index_text_for_secret_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.capture.secrets.tables import PreparedText, Secret

_REST_OF_WORD = pattern(r"[A-Za-z0-9_-]*+")


def find_secrets(text: str) -> list[Secret]:
    """The secrets in a text, in order and without overlaps. Private spans are not treated here."""
    prepared = index_text_for_secret_rules(text)
    found = [
        secret
        for secret in _find_unencoded_and_encoded_secrets(prepared)
        if not overlaps_redaction_mark(text, secret)
    ]
    found += find_private_keys(prepared)
    found.sort(key=lambda secret: secret.start)
    merged: list[Secret] = []
    for secret in found:
        end = _extend_to_word_end(text, secret)
        if merged and secret.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, end))
        else:
            merged.append(secret._replace(end=end))
    return merged


def _extend_to_word_end(text: str, secret: Secret) -> int:
    """The end of the word that a secret is in, so that no part of the secret is left in the text."""
    end = secret.end
    # A backslash at the end escapes the quote that follows.
    while end > secret.start + 1 and text[end - 1] == "\\":
        end -= 1
    rest = _REST_OF_WORD.match(text, end)
    return rest.end() if rest else end


def _find_unencoded_and_encoded_secrets(prepared: PreparedText) -> Iterator[Secret]:
    """The secrets of a text as it is written, and those that are escaped or in base64; no private keys."""
    yield from _find_unencoded_secrets(prepared)
    yield from find_escaped_secrets(prepared.text, _find_in_unescaped_text)
    yield from find_base64_secrets(prepared, _find_in_decoded_text)


def _find_unencoded_secrets(prepared: PreparedText) -> Iterator[Secret]:
    """The secrets that can be read without decoding anything; no private keys."""
    yield from find_secrets_by_format(prepared)
    yield from find_secrets_after_keywords(prepared)
    stems = list_secret_stems(prepared)
    yield from find_assigned_secrets(prepared, stems)
    yield from find_passwords_in_prose(prepared, stems)
    yield from find_random_looking_values(prepared)
    yield from find_column_secrets(prepared)
    yield from find_call_secrets(prepared)


def _find_in_unescaped_text(prepared: PreparedText) -> Iterator[Secret]:
    """The secrets, private keys included, of a text whose escapes were decoded."""
    yield from _find_unencoded_secrets(prepared)
    yield from find_private_keys(prepared)
    yield from find_base64_secrets(prepared, _find_in_decoded_text)


def _find_in_decoded_text(prepared: PreparedText) -> Iterator[Secret]:
    """The secrets of a text that was decoded from base64: known keys, assigned values and private keys."""
    yield from find_secrets_by_format(prepared)
    yield from find_assigned_secrets(prepared, list_secret_stems(prepared))
    yield from find_private_keys(prepared)
