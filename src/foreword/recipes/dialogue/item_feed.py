"""Keeps a copy of the items that pass a filter in step with the store.

Items may be added or forgotten in another process. So before the copy is used, one short query checks whether
the store still holds exactly the items that were read. If items were added, those after the last are read; if
any were forgotten, everything is read again, so that nothing of them remains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from foreword.errors import StorageError
from foreword.store.base import Scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from foreword.store.base import Store
    from foreword.types import Filters, Item

_PAGE = 1000
"""How many items are read from the store at once."""


class ItemFeed:
    """Hands every item that passes a filter to `add`, in the order they were stored, and each once.

    `add` returns whether the item is new to it; one that is not was forgotten and then stored again under its
    old id. `reset` is called before everything is read again. Not safe for several threads at once.
    """

    def __init__(
        self,
        store: Store,
        workspace: str,
        filters: Filters,
        add: Callable[[Item], bool],
        reset: Callable[[], None],
    ) -> None:
        self._store = store
        self._workspace = workspace
        self._filters = filters
        self._add = add
        self._reset = reset
        self._read_count = 0
        self._end = ("", "")

    def catch_up(self) -> None:
        """Read the items that were added meanwhile; if any were forgotten, read everything again."""
        while not self._is_current():
            if not self.read_new_items():
                self._read_count, self._end = 0, ("", "")
                self._reset()
                self.read_new_items()
                return

    def read_new_items(self) -> bool:
        """Read the items after the last one that was read; returns whether there were any, and all new."""
        before = self._read_count
        full = True
        while full:
            page = self._read_page()
            for item in page:
                if not self._add(item):
                    return False
                self._read_count += 1
                self._end = (item.id, item.hash)
            full = len(page) == _PAGE
        return self._read_count > before

    def _is_current(self) -> bool:
        """Whether the store holds exactly the items that were read."""
        count, last = self._store.tally(self._workspace, self._filters)
        return count == self._read_count and (last is None or (last.id, last.hash) == self._end)

    def _read_page(self) -> tuple[Item, ...]:
        after = self._end[0] or None
        try:
            page = self._store.batch([Scan(self._workspace, self._filters, after, _PAGE)])[0]
        except StorageError:
            if after is None:
                raise
            return ()  # the last item that was read has been forgotten
        return cast("tuple[Item, ...]", page)
