"""Loads the public names of a package when they are first used, so that importing it costs nearly nothing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def load_public_name(name: str, homes: Mapping[str, str], namespace: dict[str, object]) -> object:
    """Load a name from the module that `homes` gives for it, and keep it in the namespace of the package."""
    if name not in homes:
        raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(homes[name]), name)
    namespace[name] = value
    return value
