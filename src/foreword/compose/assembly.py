"""Fit pieces of context from several sources into one document of sections.

If all pieces fit, each is included whole. If not, `divide_tokens_among_sources` says how many tokens each
source may spend; a piece that is longer than its source allows is shortened and ends with a note on where the
rest is. Tokens that are still free go to the shortened pieces, the best first, and then to pieces that were
left out. The finished document is counted by the exact tokenizer. A hard budget is never exceeded, even if
the document must stay empty; a soft one may be exceeded by a single piece where otherwise nothing would fit.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.compose.assembled import DISPENSABLE_LINES, render_document, truncation_note
from foreword.compose.cutting import MAX_CHARACTERS_A_TOKEN, fits_within
from foreword.compose.quoting import cut_line
from foreword.text.tokens import cut_to_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from foreword.compose.assembled import ContextItem
    from foreword.text.tokens import Tokenizer

_JOIN_TOKENS = 2
"""At most how many tokens it costs to join two pieces."""

_TRIES = 3
"""At most how often a piece is shortened a little more to make it fit."""

_MAX_DENSITY = 2
"""No text has fewer tokens than its estimate divided by this, except long runs of one character."""


@dataclass(frozen=True, slots=True)
class Piece:
    """An item for a section of a document; `rank` says how much it matters, `tokens` may be an estimate."""

    id: str
    item: ContextItem
    section: str
    rank: float
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class ContextLayout:
    """The shape of a document: its title, its sections in order, and a function that makes its footer."""

    title: str
    sections: Sequence[str]
    footer: Callable[[Sequence[Piece]], str]

    def document(self, pieces: Sequence[Piece]) -> str:
        """The document of these pieces, in their order within each section; empty without pieces."""
        filled = [
            (section, [piece.item.content for piece in pieces if piece.section == section])
            for section in self.sections
        ]
        return render_document(self.title, filled, self.footer(pieces))


def context_footer(pieces: Sequence[Piece]) -> str:
    """The last line of a context, which counts its items and sources."""
    return f"*{len(pieces)} items from {len({piece.item.source for piece in pieces})} sources*"


@dataclass(frozen=True, slots=True)
class FittedDocument:
    """A document, its number of tokens, the pieces in it and the pieces left out."""

    text: str
    tokens: int
    pieces: tuple[Piece, ...]
    left_out: tuple[Piece, ...]


def build_document_within_budget(
    pieces: Sequence[Piece], layout: ContextLayout, budget: int, tokenizer: Tokenizer, *, hard: bool
) -> FittedDocument:
    """The document of the pieces that fit the budget. Of each source, `pieces` has the most important first.

    With `hard` the budget is never exceeded; without, the best piece is shown even if there is no room.
    """
    guessed = [replace(piece, tokens=_estimate_tokens(piece)) for piece in pieces]
    tokenizer = _CachingTokenizer(tokenizer)
    page = _Page(guessed, layout, budget, tokenizer)
    if not page.fill_if_all_fit():
        room = budget - _count_title_and_heading_tokens(guessed, layout, tokenizer)
        page.set_pieces(_choose_and_cut_pieces(guessed, room, tokenizer))
        if page.pieces:
            page.drop_over_budget()
        if not page.pieces and guessed and (room >= MIN_ITEM_TOKENS or not hard):
            best = max(guessed, key=lambda piece: piece.rank)
            page.set_pieces([_shorten_piece(best, max(MIN_ITEM_TOKENS, room), tokenizer)])
            if hard:
                page.drop_over_budget()
        if page.pieces:
            page.lengthen_cut_pieces()
            page.add_left_out_pieces()
    return page.finish()


def _choose_and_cut_pieces(pieces: Sequence[Piece], room: int, tokenizer: Tokenizer) -> list[Piece]:
    """The pieces that their sources have tokens for, each cut to the most that one piece may take.

    Tokens are divided by estimates of what pieces cost, and spent by exact counts.
    """
    shelves: dict[str, list[Piece]] = {}
    for piece in pieces:
        shelves.setdefault(piece.item.source, []).append(piece)
    weights = {source: WEIGHTS.get(source, 1) for source in shelves}
    costs = {source: [piece.tokens + _JOIN_TOKENS for piece in shelf] for source, shelf in shelves.items()}
    given = divide_tokens_among_sources(weights, costs, room)
    caps = {source: max_item_tokens(given[source], min_item_tokens(source)) for source in shelves}

    def cost(source: str, at: int, room: float) -> int | None:
        cap, piece = caps[source], shelves[source][at]
        if min(cap, _estimate_tokens(piece) // _MAX_DENSITY) > room:
            return None
        return min(_count_tokens(piece, tokenizer) + _JOIN_TOKENS, cap)

    places = choose_item_positions_within_budget(
        {source: len(shelf) for source, shelf in shelves.items()}, cost, given, room
    )
    return [
        _shorten_piece(shelves[source][at], caps[source], tokenizer)
        for source in shelves
        for at in places[source]
    ]


class _Page:
    """A document that is being filled: the pieces in it, whole or shortened, and the tokens that are free."""

    def __init__(
        self, every: Sequence[Piece], layout: ContextLayout, budget: int, tokenizer: Tokenizer
    ) -> None:
        self._all_pieces = {piece.id: piece for piece in every}
        self._layout = layout
        self._budget = budget
        self._tokenizer = tokenizer
        self.set_pieces([])

    def set_pieces(self, pieces: Sequence[Piece]) -> None:
        """Fill the page with exactly these pieces, in the order in which the constructor got them."""
        told = {piece.id: piece for piece in pieces}
        self.pieces = [told[name] for name in self._all_pieces if name in told]
        self._text = self._layout.document(self.pieces)
        self._tokens = self._tokenizer.count(self._text)

    @property
    def _remaining_tokens(self) -> int:
        return self._budget - self._tokens

    def fill_if_all_fit(self) -> bool:
        """Fill the page with all pieces, whole, and return True; if they do not fit, leave it empty."""
        if sum(piece.tokens for piece in self._all_pieces.values()) // _MAX_DENSITY > self._budget:
            return False  # no need to count
        self.set_pieces(list(self._all_pieces.values()))
        if self._remaining_tokens < 0:
            self.set_pieces([])
            return False
        self.pieces = [replace(one, tokens=_count_tokens(one, self._tokenizer)) for one in self.pieces]
        return True

    def drop_over_budget(self) -> None:
        """Remove the lowest-ranked pieces until the page is within its budget."""
        while self.pieces and self._remaining_tokens < 0:
            least = min(self.pieces, key=lambda piece: piece.rank)
            self.set_pieces([piece for piece in self.pieces if piece is not least])

    def lengthen_cut_pieces(self) -> None:
        """Include more of the pieces that were shortened, the best first, while tokens are free."""
        cut = [
            piece for piece in self.pieces if piece.item.content != self._all_pieces[piece.id].item.content
        ]
        for piece in sorted(cut, key=lambda piece: -piece.rank):
            if self._remaining_tokens <= 0:
                return
            self._try_to_include(self._all_pieces[piece.id], piece.tokens + self._remaining_tokens)

    def add_left_out_pieces(self) -> None:
        """Add pieces that were left out, best first, while tokens are free; shortened if need be."""
        there = {piece.id for piece in self.pieces}
        left_out = [piece for name, piece in self._all_pieces.items() if name not in there]
        for piece in sorted(left_out, key=lambda piece: -piece.rank):
            if self._remaining_tokens < MIN_COST_TOKENS:
                return
            least = min_item_tokens(piece.item.source)
            if self._remaining_tokens >= least or piece.tokens // _MAX_DENSITY <= self._remaining_tokens:
                self._try_to_include(piece, self._remaining_tokens, least)

    def _try_to_include(self, whole: Piece, tokens: int, least: int = 0) -> None:
        """Include a piece with at most `tokens`, if the page has room for them.

        A piece that has to be shortened to fewer than `least` is not included. Tokens do not add up exactly,
        and a new section has a heading: where the page would be over its budget, a little less of the piece
        is tried.
        """
        before = self.pieces
        known = next((piece.tokens for piece in before if piece.id == whole.id), 0)
        others = [piece for piece in before if piece.id != whole.id]
        for _ in range(_TRIES):
            if tokens < least and _count_tokens(whole, self._tokenizer) > tokens:
                break
            told = _shorten_piece(whole, tokens + _JOIN_TOKENS, self._tokenizer)
            if told.tokens <= known:
                break
            self.set_pieces([*others, told])
            if self._remaining_tokens >= 0:
                return
            tokens = told.tokens + self._remaining_tokens
        if self.pieces is not before:
            self.set_pieces(before)

    def finish(self) -> FittedDocument:
        """The finished document, with the pieces in it and those left out."""
        there = {piece.id for piece in self.pieces}
        left_out = tuple(piece for name, piece in self._all_pieces.items() if name not in there)
        return FittedDocument(self._text, self._tokens, tuple(self.pieces), left_out)


class _CachingTokenizer:
    """A tokenizer that counts no text twice; the pieces of a document are counted again and again."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.encode, self.decode = tokenizer.encode, tokenizer.decode
        self._tokenizer = tokenizer
        self._token_counts: dict[str, int] = {}

    def count(self, text: str) -> int:
        """The number of tokens in the text."""
        if (known := self._token_counts.get(text)) is None:
            known = self._token_counts[text] = self._tokenizer.count(text)
        return known


def _estimate_tokens(piece: Piece) -> int:
    """An estimate of the tokens of a piece: one for every four bytes."""
    return len(piece.item.content.encode()) // 4


def _count_tokens(piece: Piece, tokenizer: Tokenizer) -> int:
    return tokenizer.count(piece.item.content)


def _shorten_piece(piece: Piece, cap: int, tokenizer: Tokenizer) -> Piece:
    """The piece shortened to `cap` tokens, including those that join it to the next piece."""
    most = cap - _JOIN_TOKENS
    item = piece.item
    if (counted := _count_tokens(piece, tokenizer)) <= most:
        return replace(piece, tokens=counted)
    spare = DISPENSABLE_LINES if item.source == "experience" else ()
    content = shorten_markdown(
        item.content, most, truncation_note(item.source, item.metadata), tokenizer, spare
    )
    return replace(piece, item=replace(item, content=content), tokens=tokenizer.count(content))


def _count_title_and_heading_tokens(
    pieces: Sequence[Piece], layout: ContextLayout, tokenizer: Tokenizer
) -> int:
    """The tokens of the title, the footer, and the headings of all sections that have pieces."""
    there = {piece.section for piece in pieces}
    empty = render_document(layout.title, [(name, [""]) for name in layout.sections if name in there], "")
    return tokenizer.count(empty) + tokenizer.count(layout.footer(pieces)) + _JOIN_TOKENS


# Dividing tokens ------------------------------------------------------------------------------------------


WEIGHTS: Mapping[str, int] = {
    "experience": 3,
    "code": 2,
    "commit": 2,
    "document": 2,
    "value": 1,
    "memory": 1,
}
"""The relative share of the tokens for each source: items with much detail need more."""

MAX_ITEM_FRACTION = 0.25
"""The largest fraction of its source's tokens that one item may take."""

MIN_ITEM_TOKENS = 32
"""No item is shortened to fewer tokens than this: nothing sensible would be left of it."""

MIN_TOKENS: Mapping[str, int] = dict.fromkeys(WEIGHTS, MIN_ITEM_TOKENS) | {"experience": 104}
"""The same by source. An experience needs more, to state its outcome and the cause; where tokens are short,
there are fewer experiences instead."""

MIN_COST_TOKENS = 8
"""No item costs less: with fewer tokens left, no further item is tried."""


def min_item_tokens(source: str) -> int:
    """The fewest tokens to which an item of a source is shortened."""
    return MIN_TOKENS.get(source, MIN_ITEM_TOKENS)


def max_item_tokens(allowance: float, least: int = MIN_ITEM_TOKENS) -> int:
    """The most tokens that one item may have, if its source has `allowance`."""
    return max(least, int(allowance * MAX_ITEM_FRACTION))


def divide_tokens_among_sources(
    weights: Mapping[str, float], costs: Mapping[str, Sequence[int]], budget: float
) -> dict[str, float]:
    """The tokens that each source may spend, by weight; what one cannot use goes to those that can.

    A source is satisfied when all its items fit, none of them cut. It keeps the share it had then, and spends
    only what it needs of it. The other sources never get less than their weight's share of the whole.
    """
    given: dict[str, float] = dict.fromkeys(costs, 0.0)
    wanting = [source for source in costs if costs[source]]
    left = max(0.0, budget)
    while wanting:
        total = sum(weights[source] for source in wanting)
        given.update({source: left * weights[source] / total for source in wanting})
        satisfied = [source for source in wanting if _tokens_for_uncut_items(costs[source]) <= given[source]]
        if not satisfied:
            break
        left -= sum(sum(costs[source]) for source in satisfied)
        wanting = [source for source in wanting if source not in satisfied]
    return given


def choose_item_positions_within_budget(
    counts: Mapping[str, int],
    cost: Callable[[str, int, float], int | None],
    tokens_by_source: Mapping[str, float],
    budget: int,
) -> dict[str, list[int]]:
    """The places of the items that fit into the tokens of their source; `counts` is the number of items.

    An item that is too long is skipped, and the next is tried. `cost` returns what the item at a place of a
    source costs, or None as soon as it knows that this is more than the tokens left.
    """
    taken: dict[str, list[int]] = {source: [] for source in counts}
    left: float = budget
    for source, count in counts.items():
        own = tokens_by_source[source]
        for place in range(count):
            room = min(own, left)
            spent = cost(source, place, room) if room >= MIN_COST_TOKENS else None
            if spent is not None and spent <= room:
                own, left = own - spent, left - spent
                taken[source].append(place)
    return taken


def _tokens_for_uncut_items(costs: Sequence[int]) -> float:
    """The tokens that a source needs for all its items to fit, none of them cut."""
    longest = max(costs)
    return max(sum(costs), longest / MAX_ITEM_FRACTION if longest > MIN_ITEM_TOKENS else 0.0)


# Shortening a piece ---------------------------------------------------------------------------------------


_FENCE = re.compile(r"^(`{3,}).*(?:\n|\Z)", re.MULTILINE)
_HALF_A_FENCE = re.compile(r"\n`+[\w+#.-]*\Z")
_HALF_A_LABEL = re.compile(r"\n\*\w[^\n]*\Z")
_LIST_ITEM_START = "\n- **"
_NAMED_LIST_ITEM = re.compile(r"- \*\*(\w[\w ]*)\*\*:")
_WIDTHS = (800, 400, 280, 200, 140, 120, 100, 85, 70, 60, 50)
"""The widths, in characters, that are tried for the lines of a list, the widest first."""

_MIN_USEFUL_WIDTH = 100
"""Narrower lines say little: dispensable lines are dropped before others are cut below this."""

_LAST_RESORT_WIDTHS = (40, 30)
"""The widths that are tried once the dispensable lines and the note are gone."""

_SAFETY, _GUESSES = 2, 6


def shorten_markdown(
    text: str, tokens: int, note: str, tokenizer: Tokenizer, spare: Sequence[str] = ()
) -> str:
    """The text shortened to `tokens`; if it was shortened, with the note behind it where that fits.

    Plain text is cut at its end, between words, and a code fence that the cut left open is closed. Of a list
    of named lines, every line is cut a little; where that is not enough, the lines that `spare` names are
    dropped one after another, the least missed first, and the others are cut further.
    """
    if tokenizer.count(text) <= tokens:
        return text
    behind = f"\n\n{note}"
    if _LIST_ITEM_START in text:
        lists = _progressively_shorter_lists(text.split("\n"), spare)
        last = "\n".join(lists[-1])
        return _longest_list_that_fits(lists, tokens, behind, tokenizer) or _cut_to_beginning(
            last, tokens, tokenizer
        )
    room = tokens - tokenizer.count("..." + behind) - _SAFETY
    while room > 0:
        made = _mark_cut_and_close_fence(_longest_beginning(text, room, tokenizer)) + behind
        over = tokenizer.count(made) - tokens
        if over <= 0:
            return made
        room -= over
    return _cut_to_beginning(text, tokens, tokenizer)


def _cut_to_beginning(text: str, tokens: int, tokenizer: Tokenizer) -> str:
    """The beginning of a text with a mark of the cut, for where a note does not fit."""
    return _mark_cut_and_close_fence(_longest_beginning(text, max(1, tokens - _SAFETY), tokenizer))


def _longest_beginning(text: str, tokens: int, tokenizer: Tokenizer) -> str:
    """A beginning of the text with at most `tokens`, and not many fewer."""
    text = text[: tokens * MAX_CHARACTERS_A_TOKEN]  # no need to look beyond
    size = len(text)
    for _ in range(_GUESSES):
        count = tokenizer.count(text[:size])
        if count <= tokens:
            return text[:size]
        size = min(size - 1, int(size * tokens / count))
    return cut_to_tokens(text[:size], tokens, tokenizer)


def _longest_list_that_fits(
    lists: Sequence[Sequence[str]], tokens: int, behind: str, tokenizer: Tokenizer
) -> str:
    """The longest of these lists that fits, its lines as wide as possible; empty if none fits."""

    def fits_at(lines: Sequence[str], width: int, behind: str) -> bool:
        return fits_within(_narrow_lines(lines, width) + behind, tokens, tokenizer)

    def narrow_lines_until_they_fit(lines: Sequence[str], behind: str, widths: Sequence[int]) -> str:
        # The widths get smaller, so those that are too wide come first: a search by halves finds the others.
        first = bisect_left(widths, 1, key=lambda width: fits_at(lines, width, behind))
        return _narrow_lines(lines, widths[first]) + behind if first < len(widths) else ""

    # Each list is shorter than the one before: the first that fits is found in the same way.
    first = bisect_left(lists, 1, key=lambda lines: fits_at(lines, _MIN_USEFUL_WIDTH, behind))
    lines = lists[min(first, len(lists) - 1)]
    return narrow_lines_until_they_fit(lines, behind, _WIDTHS) or narrow_lines_until_they_fit(
        lines, "", (*_WIDTHS, *_LAST_RESORT_WIDTHS)
    )


def _narrow_lines(lines: Sequence[str], width: int) -> str:
    """The lines as one text, each cut to the width."""
    return "\n".join(cut_line(line, width) for line in lines)


def _progressively_shorter_lists(lines: Sequence[str], spare: Sequence[str]) -> list[list[str]]:
    """The list of lines, then the same without the first name of `spare`, and so on."""
    names = [found[1] if (found := _NAMED_LIST_ITEM.match(line)) else "" for line in lines]
    there = [name for name in spare if name in names]
    return [
        [line for line, name in zip(lines, names, strict=True) if name not in there[:gone]]
        for gone in range(len(there) + 1)
    ]


def _mark_cut_and_close_fence(head: str) -> str:
    """The beginning of a text with "..." behind it; an open code fence is closed after that."""
    head = _HALF_A_FENCE.sub("", head)
    opened = _unclosed_fence(head)
    if opened is None:
        space = max(head.rfind(" "), head.rfind("\n"))
        beginning = (head[:space] if space > len(head) * 2 // 3 else head).rstrip()
        return _HALF_A_LABEL.sub("", beginning) + "..."
    before, body = head[: opened.end()], head[opened.end() :]
    whole, _, _ = body.rpartition("\n")
    return f"{before}{whole or body}\n...\n{opened[1]}"


def _unclosed_fence(text: str) -> re.Match[str] | None:
    """The first line of a code fence that is not closed, if any; only a fence as long closes it."""
    opened: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            opened = match
        elif len(match[1]) >= len(opened[1]):
            opened = None
    return opened
