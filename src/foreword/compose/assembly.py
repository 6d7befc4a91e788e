"""Fit pieces of context from several sources into one document of sections.

Tokens are divided by `share`; a piece that is longer than its source allows is shortened and says where the
rest is. The document is counted as it stands, by the exact tokenizer. A hard budget is never exceeded, if
need be by saying nothing; a soft one is, where otherwise nothing could be said.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.compose.assembled import SPARE, document, whereabouts
from foreword.compose.share import LEAST, LEAST_ITEM, WEIGHTS, allowances, chosen, item_cap
from foreword.compose.shorten import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.compose.context_item import ContextItem
    from foreword.text.tokens import Tokenizer

_BETWEEN = 2
"""What stands between two pieces costs this at most."""

_DENSEST = 2
"""No text has fewer tokens than its guess divided by this, but for long runs of the same character."""


@dataclass(frozen=True, slots=True)
class Piece:
    """An item on its way into a section: how much it matters, and what its wording costs, if only about."""

    id: str
    item: ContextItem
    section: str
    rank: float
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """The shape of a document: its title, its sections in order, and its footer, made of what is in it."""

    title: str
    sections: Sequence[str]
    footer: Callable[[Sequence[Piece]], str]

    def document(self, pieces: Sequence[Piece]) -> str:
        """The document of these pieces, in their order within each section; empty without any."""
        filled = [
            (section, [piece.item.content for piece in pieces if piece.section == section])
            for section in self.sections
        ]
        return document(self.title, filled, self.footer(pieces))


@dataclass(frozen=True, slots=True)
class FittedDocument:
    """A document, what it costs, what is in it and what is not."""

    text: str
    tokens: int
    pieces: tuple[Piece, ...]
    left_out: tuple[Piece, ...]


def fit_document(
    pieces: Sequence[Piece], layout: Layout, budget: int, tokenizer: Tokenizer, *, hard: bool
) -> FittedDocument:
    """The document of the pieces that fit. Within each source they come in the order in which they matter.

    Tokens are divided by a guess at what pieces cost, and spent by exact counts.
    """
    guessed = [replace(piece, tokens=_guess(piece)) for piece in pieces]
    room = budget - _around(guessed, layout, tokenizer)
    shelves: dict[str, list[Piece]] = {}
    for piece in guessed:
        shelves.setdefault(piece.item.source, []).append(piece)
    weights = {source: WEIGHTS.get(source, 1) for source in shelves}
    costs = {source: [piece.tokens + _BETWEEN for piece in shelf] for source, shelf in shelves.items()}
    given = allowances(weights, costs, room)
    caps = {source: item_cap(given[source], LEAST.get(source, LEAST_ITEM)) for source in shelves}

    def cost(source: str, at: int, room: float) -> int | None:
        cap, piece = caps[source], shelves[source][at]
        if min(cap, _guess(piece) // _DENSEST) > room:
            return None
        counted = shelves[source][at] = _counted(piece, tokenizer)
        return min(counted.tokens + _BETWEEN, cap)

    ranks = {source: [piece.rank for piece in shelf] for source, shelf in shelves.items()}
    places = chosen(ranks, cost, given, room)
    kept = [_cut(shelves[source][at], caps[source], tokenizer) for source in shelves for at in places[source]]
    if not kept and guessed and (room >= LEAST_ITEM or not hard):
        best = _counted(max(guessed, key=lambda piece: piece.rank), tokenizer)
        kept = [_cut(best, max(LEAST_ITEM, room), tokenizer)]
    return _settled(kept, guessed, layout, budget, tokenizer, hard=hard)


def _guess(piece: Piece) -> int:
    """What a piece costs, about: four bytes a token."""
    return len(piece.item.content.encode()) // 4


def _counted(piece: Piece, tokenizer: Tokenizer) -> Piece:
    return replace(piece, tokens=tokenizer.count(piece.item.content))


def _settled(
    kept: list[Piece],
    every: Sequence[Piece],
    layout: Layout,
    budget: int,
    tokenizer: Tokenizer,
    *,
    hard: bool,
) -> FittedDocument:
    """The document as it stands; while it is over a hard budget, the least of its pieces goes."""
    text = layout.document(kept)
    while hard and kept and tokenizer.count(text) > budget:
        kept.remove(min(kept, key=lambda piece: piece.rank))
        text = layout.document(kept)
    there = {piece.id for piece in kept}
    left_out = tuple(piece for piece in every if piece.id not in there)
    return FittedDocument(text, tokenizer.count(text), tuple(kept), left_out)


def _cut(piece: Piece, cap: int, tokenizer: Tokenizer) -> Piece:
    """The piece within so many tokens, what stands between it and the next included."""
    most = cap - _BETWEEN
    if piece.tokens <= most:
        return piece
    item = piece.item
    spare = SPARE if item.source == "experience" else ()
    content = shortened(item.content, most, whereabouts(item.source, item.metadata), tokenizer, spare)
    return replace(piece, item=replace(item, content=content), tokens=tokenizer.count(content))


def _around(pieces: Sequence[Piece], layout: Layout, tokenizer: Tokenizer) -> int:
    """What the title, the headings and the footer cost, if every section has something."""
    there = {piece.section for piece in pieces}
    empty = document(layout.title, [(name, [""]) for name in layout.sections if name in there], "")
    return tokenizer.count(empty) + tokenizer.count(layout.footer(pieces)) + _BETWEEN
