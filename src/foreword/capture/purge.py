"""Secrets taken out of a file before it is cut, and looked for in many items at once.

What a secret is, `redact` says. A file is searched as a whole, because half a key may no longer look like
one; items are searched together, because that is many times faster than one field of one item after another.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from foreword.capture.redact import find_secrets, redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from foreword.types import Item


def redact_keys(text: str) -> str:
    """A file's text without the secrets in it, on as many lines as before; the same object if it has none.

    What was marked private stays: a mark that is not closed ends with the item it stands in, not with the
    file. `redact_item` takes it out of each item.
    """
    parts: list[str] = []
    at = 0
    for secret in find_secrets(text):
        lines = text.count("\n", secret.start, secret.end)
        parts += [text[at : secret.start], f"[redacted:{secret.kind}]", "\n" * lines]
        at = secret.end
    return "".join([*parts, text[at:]]) if parts else text


def are_clean(items: Iterable[Item], *, texts: bool = True) -> bool:
    """Whether nothing would be taken out of any of these items; False where it is not sure.

    Without `texts`, these are known to be clean, and so is what stands in them word for word; the lists of
    captured metadata hold nothing else.
    """
    values: dict[str, None] = {}
    for item in items:
        fields = [item.about, *(value for value in item.metadata.values() if isinstance(value, str))]
        if texts:
            fields += [item.text, *_texts_in_metadata_lists(item.metadata)]
        values.update(dict.fromkeys(value for value in fields if texts or value not in item.text))
    joined = "\n\n".join(values)
    return redact(joined) == joined


def _texts_in_metadata_lists(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Every text in the lists that the metadata of captured items hold; the keys are capture's own."""
    for value in metadata.values():
        if isinstance(value, list):
            yield from (inner if isinstance(inner, str) else json.dumps(inner) for inner in value)
