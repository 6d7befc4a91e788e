"""Remember the vectors of recent questions, so that the same one costs nothing the second time.

Knows keys and vectors and nothing of how they were made. Bounded in number and in age; kept in memory only.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections import OrderedDict
from typing import TYPE_CHECKING

from foreword.errors import ValidationError
from foreword.types import text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class EmbeddingCache:
    """The most recently used vectors, each for at most `ttl` seconds; safe to share between threads."""

    def __init__(
        self, max_size: int = 10_000, ttl: float = 3600.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if max_size < 0:
            raise ValidationError(f"max_size must be 0 (no cache) or more, not {max_size}")
        if not ttl >= 0:
            raise ValidationError(f"ttl must be 0 seconds or more, not {ttl}")
        self._max_size = max_size
        self._ttl = ttl
        self._clock = clock
        self._lock = threading.Lock()
        # Least recently used first. Four bytes a number: encoders give no more than that.
        self._entries: OrderedDict[str, tuple[float, array[float]]] = OrderedDict()

    def get(self, key: str) -> list[float] | None:
        """The vector kept under this key, or None when there is none or it is too old."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            expires, vector = entry
            if self._clock() >= expires:
                del self._entries[key]
                return None
            self._entries.move_to_end(key)
            return vector.tolist()

    def set(self, key: str, embedding: Sequence[float]) -> None:
        """Keep a vector; the one that was not used for longest makes room."""
        if self._max_size == 0:
            return
        vector = array("f", embedding)
        with self._lock:
            self._entries[key] = (self._clock() + self._ttl, vector)
            self._entries.move_to_end(key)
            if len(self._entries) > self._max_size:
                self._entries.popitem(last=False)

    def generate_key(self, text: str, model: str) -> str:
        """The key of a text under a model: the model's name, and the hash of the text."""
        return f"{model}:{text_hash(text)}"

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries)
