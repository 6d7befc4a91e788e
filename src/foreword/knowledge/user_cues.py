"""The cues of `user_cues.toml`, as expressions.

A name between percent signs in a cue stands for the part of that name, which several cues share.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_PART = re.compile(r"%(\w+)%")


def fact_kind_tables() -> Sequence[Mapping[str, Any]]:
    """The tables of the kinds of facts, in the order in which they are tried."""
    return tuple(_read_cues()["kind"])


def compile_cues(cues: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    """The cues as expressions that ignore case, with the shared parts in their places."""
    parts: Mapping[str, str] = _read_cues()["parts"]
    return tuple(re.compile(_PART.sub(lambda m: f"(?:{parts[m[1]]})", cue), re.IGNORECASE) for cue in cues)


@cache
def cue_patterns(name: str) -> tuple[re.Pattern[str], ...]:
    """The cues of the list with this name."""
    return compile_cues(_read_cues()["words"][name])


def matches_cue(name: str, plain: str) -> bool:
    """Whether a sentence matches a cue of the list with this name."""
    return find_cue(name, plain) is not None


def find_cue(name: str, plain: str) -> re.Match[str] | None:
    """The first match of a cue of the list with this name in a sentence."""
    return next((match for cue in cue_patterns(name) if (match := cue.search(plain))), None)


@cache
def _read_cues() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("user_cues.toml").read_text(encoding="utf-8"))
