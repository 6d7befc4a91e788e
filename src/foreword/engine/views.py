"""What the word-like spaces see of an item, from the item alone, so that any index can be made again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.knowledge import supersession
from foreword.spaces import entities, identifiers
from foreword.types import Views

if TYPE_CHECKING:
    from foreword.types import Item


def views(item: Item) -> Views:
    """The code names in an item, by their parts, and the things it names.

    Code names things by its names. The shapes of prose would find little more in it, and take five times as
    long; only what surrounds it is prose.
    """
    found = identifiers.find_code_names(item.searchable)
    if item.kind == "code":
        return Views(found.parts, (*entities.find_named_things(item.about), *found.named))
    return Views(
        found.parts, (*entities.find_named_things(item.searchable), *supersession.attribute_lookup_keys(item))
    )
