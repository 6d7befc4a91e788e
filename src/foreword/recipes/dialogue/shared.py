"""A cache of values that are shared by all users of an engine, such as the turns of a conversation."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from foreword.engine.base import Engine

Value = TypeVar("Value")


class DialogueCache(Generic[Value]):
    """Caches at most `most` values for each engine, as long as it lives. Safe to use from many threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: WeakKeyDictionary[Engine, OrderedDict[Hashable, Value]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def get_or_make(self, engine: Engine, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value under a key, made if missing; over the limit, the least recently used one is removed."""
        with self._lock:
            values = self._values.setdefault(engine, OrderedDict())
            if key in values:
                values.move_to_end(key)
                return values[key]
        new_value = make()  # without the lock: reading a conversation takes a while
        with self._lock:
            value = values.setdefault(key, new_value)
            values.move_to_end(key)
            while len(values) > self._most:
                values.popitem(last=False)
            return value
