"""Numbers as people read them: a count with its noun, a size in the unit that fits."""

from __future__ import annotations


def number_with_noun(number: int, thing: str) -> str:
    """A number with its noun: `1 item`, `2 items`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def format_size(number: float) -> str:
    """A number of bytes in the unit that fits: `20 kB`."""
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"
