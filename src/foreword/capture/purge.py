"""Secrets taken out of a file before it is cut, and out of many items at once.

What a secret is, `redact` says. A file is looked at whole, because half a key may no longer look like one;
items are looked at together, because that is many times faster than one field of one item after another.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from foreword.capture.redact import find, redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from foreword.types import Item


def without_keys(text: str) -> str:
    """A file's text without the secrets in it, on as many lines as before.

    What was marked private stays: a mark that is not closed ends with the item it stands in, not with the
    file. `without_secrets` takes it out of each item.
    """
    told: list[str] = []
    at = 0
    for secret in find(text):
        lines = text.count("\n", secret.start, secret.end)
        told += [text[at : secret.start], f"[redacted:{secret.kind}]", "\n" * lines]
        at = secret.end
    return "".join([*told, text[at:]]) if told else text


def are_clean(items: Iterable[Item], *, texts: bool = True) -> bool:
    """Whether nothing would be taken out of any of these items; False where it is not sure.

    Without `texts`, these are known to be clean, and so is what stands in them word for word; the lists of
    captured metadata hold nothing else.
    """
    told: dict[str, None] = {}
    for item in items:
        beside = [item.about, *(value for value in item.metadata.values() if isinstance(value, str))]
        if texts:
            beside += [item.text, *_listed(item.metadata)]
        told.update(dict.fromkeys(value for value in beside if texts or value not in item.text))
    whole = "\n\n".join(told)
    return redact(whole) == whole


def _listed(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Every text in the lists that the metadata of captured items hold; the keys are capture's own."""
    for value in metadata.values():
        if isinstance(value, list):
            yield from (inner if isinstance(inner, str) else json.dumps(inner) for inner in value)
