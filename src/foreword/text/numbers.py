"""Numbers as people read them: a count with its noun, a size in the unit that fits, a share in percent."""

from __future__ import annotations


def number_with_noun(number: int, thing: str, things: str = "") -> str:
    """A number with its noun: `1 item`, `2 items`; `things` is a plural that does not just end in `s`."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def format_size(number: float) -> str:
    """A number of bytes in the unit that fits: `20 kB`."""
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def format_percent(share: float) -> str:
    """A share in percent, with a digit after the point only where it is small: `57 %`, `3.7 %`."""
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 9.95 else f"{f'{percent:.1f}'.removesuffix('.0')} %"
