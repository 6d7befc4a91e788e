"""The items of a workspace that pass a filter, read once and then followed.

Items may be added or forgotten in another process. So before anything is told of them, one short question to
the store says whether it still holds exactly the items that were read. What was added is read on from the
last; after something was forgotten everything is read again, so that nothing of it stays.
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

    `add` returns whether the item is new to it; one that is not was forgotten and kept again under its old
    name. `reset` is called before everything is read again. One caller at a time.
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
        self._read = 0
        self._end = ("", "")

    def catch_up(self) -> None:
        """Read what was added meanwhile; if something was forgotten, read everything again."""
        while not self._is_current():
            if not self.read_new_items():
                self._read, self._end = 0, ("", "")
                self._reset()
                self.read_new_items()
                return

    def read_new_items(self) -> bool:
        """Read the items after the last one that was read; returns whether there were any, all new."""
        before = self._read
        full = True
        while full:
            page = self._read_page()
            for item in page:
                if not self._add(item):
                    return False
                self._read += 1
                self._end = (item.id, item.hash)
            full = len(page) == _PAGE
        return self._read > before

    def _is_current(self) -> bool:
        """Whether the workspace holds exactly the items that were read."""
        count, last = self._store.tally(self._workspace, self._filters)
        return count == self._read and (last is None or (last.id, last.hash) == self._end)

    def _read_page(self) -> tuple[Item, ...]:
        after = self._end[0] or None
        try:
            page = self._store.batch([Scan(self._workspace, self._filters, after, _PAGE)])[0]
        except StorageError:
            if after is None:
                raise
            return ()  # the item after which to go on was forgotten
        return cast("tuple[Item, ...]", page)
