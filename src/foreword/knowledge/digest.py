"""A summary in the making: its words, which turns they come from, and how it is kept within its room."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Digest:
    """A summary, and the places of the turns whose words are in it."""

    text: str
    quoted: tuple[int, ...]


def cut(text: str, most: int) -> str:
    """A text of at most this many words."""
    every = text.split()
    if len(every) <= most:
        return text
    return " ".join([*every[: most - 1], "…"]) if most > 0 else ""


def cut_lines(lines: list[str], most: int) -> str:
    """Whole lines as long as there is room, and the beginning of the first that does not fit."""
    kept: list[str] = []
    for line in lines:
        room = most - sum(len(one.split()) for one in kept)
        if room < 1:
            break
        kept.append(cut(line, room))
    return "\n".join(kept)
