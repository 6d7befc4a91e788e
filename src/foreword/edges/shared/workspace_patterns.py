"""Patterns of workspaces, by which a member's token in a team says which of them it may see."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def matches_any_pattern(workspace: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns names a workspace: whole, with `*` for any characters and no other sign."""
    return any(_matches_pattern(workspace, pattern) for pattern in patterns)


def _matches_pattern(name: str, pattern: str) -> bool:
    """Whether a name is as a pattern says; takes time in proportion to both, whatever a stranger names."""
    first, *middle = pattern.split("*")
    if not middle:
        return name == pattern
    last = middle.pop()
    if len(name) < len(first) + len(last) or not (name.startswith(first) and name.endswith(last)):
        return False
    place, end = len(first), len(name) - len(last)
    for part in middle:
        place = name.find(part, place, end)
        if place < 0:
            return False
        place += len(part)
    return True
