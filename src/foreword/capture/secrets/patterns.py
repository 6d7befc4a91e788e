"""Patterns that are compiled when they are first used.

There are a hundred of them here, and most texts need none: compiling them all takes longer than anything else
that an import does. Uses the standard library alone, as a hook that must store a payload loads this module.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _PatternOnFirstUse:
    """Stands for a compiled pattern, and becomes one with the first method that is called."""

    def __init__(self, expression: str, flags: int) -> None:
        self._expression, self._flags = expression, flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (whatever a compiled pattern has)
        found = getattr(re.compile(self._expression, self._flags), name)
        setattr(self, name, found)  # from now on it is found without asking here
        return found


def pattern(expression: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern that `re.compile` would give, compiled when it is first used."""
    return cast("re.Pattern[str]", _PatternOnFirstUse(expression, flags))
