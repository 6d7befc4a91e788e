"""Fit pieces of context from several sources into one document of sections.

If all fit, all are told whole. If not, `divide_tokens` says what each source may spend; a piece that is
longer than its source allows is shortened and says where the rest is. Tokens that are free in the end go to
the pieces that were cut, the best first, then to those that were left out: nothing is cut while there is room
for more of it. The document is counted as it stands, by the exact tokenizer. A hard budget is never exceeded,
if need be by saying nothing; a soft one is, where otherwise nothing could be said.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.compose.assembled import SPARE, document, truncation_note
from foreword.compose.cutting import MAX_CHARACTERS_A_TOKEN
from foreword.compose.quoting import cut_line
from foreword.text.tokens import cut_to_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from foreword.compose.assembled import ContextItem
    from foreword.text.tokens import Tokenizer

_JOIN_TOKENS = 2
"""At most how many tokens stand between two pieces."""

_TRIES = 3
"""At most how often a piece is shortened a little more to make it fit."""

_MAX_DENSITY = 2
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


def context_footer(pieces: Sequence[Piece]) -> str:
    """The last line of a context."""
    return f"*{len(pieces)} items from {len({piece.item.source for piece in pieces})} sources*"


def premortem_footer(pieces: Sequence[Piece]) -> str:
    """The last line of a premortem."""
    return f"*Based on {sum(piece.item.source == 'experience' for piece in pieces)} past experiences*"


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
    """The document of the pieces that fit. Within each source they come in the order in which they matter."""
    guessed = [replace(piece, tokens=_estimate_tokens(piece)) for piece in pieces]
    tokenizer = _RememberedCounts(tokenizer)
    page = _Page(guessed, layout, budget, tokenizer)
    if not page.holds_all():
        room = budget - _frame_tokens(guessed, layout, tokenizer)
        page.put(_choose_pieces(guessed, room, tokenizer))
        if page.pieces:
            page.drop_over_budget()
            page.lengthen_cut_pieces()
            page.add_left_out()
        if not page.pieces and guessed and (room >= MIN_ITEM_TOKENS or not hard):
            best = max(guessed, key=lambda piece: piece.rank)
            page.put([_shorten_piece(best, max(MIN_ITEM_TOKENS, room), tokenizer)])
            if hard:
                page.drop_over_budget()
    return page.finish()


def _choose_pieces(pieces: Sequence[Piece], room: int, tokenizer: Tokenizer) -> list[Piece]:
    """The pieces that their sources have tokens for, each cut to what one piece may take.

    Tokens are divided by a guess at what pieces cost, and spent by exact counts.
    """
    shelves: dict[str, list[Piece]] = {}
    for piece in pieces:
        shelves.setdefault(piece.item.source, []).append(piece)
    weights = {source: WEIGHTS.get(source, 1) for source in shelves}
    costs = {source: [piece.tokens + _JOIN_TOKENS for piece in shelf] for source, shelf in shelves.items()}
    given = divide_tokens(weights, costs, room)
    caps = {source: max_item_tokens(given[source], least_tokens(source)) for source in shelves}

    def cost(source: str, at: int, room: float) -> int | None:
        cap, piece = caps[source], shelves[source][at]
        if min(cap, _estimate_tokens(piece) // _MAX_DENSITY) > room:
            return None
        return min(_count_tokens(piece, tokenizer) + _JOIN_TOKENS, cap)

    places = choose_items({source: len(shelf) for source, shelf in shelves.items()}, cost, given, room)
    return [
        _shorten_piece(shelves[source][at], caps[source], tokenizer)
        for source in shelves
        for at in places[source]
    ]


class _Page:
    """A document while it is filled: the pieces in it, as they are told, and the tokens that are free."""

    def __init__(self, every: Sequence[Piece], layout: Layout, budget: int, tokenizer: Tokenizer) -> None:
        self._every = {piece.id: piece for piece in every}
        self._layout = layout
        self._budget = budget
        self._tokenizer = tokenizer
        self.put([])

    def put(self, pieces: Sequence[Piece]) -> None:
        """Fill the page with these pieces, in the order in which all were given."""
        told = {piece.id: piece for piece in pieces}
        self.pieces = [told[name] for name in self._every if name in told]
        self._text = self._layout.document(self.pieces)
        self._tokens = self._tokenizer.count(self._text)

    @property
    def _free_tokens(self) -> int:
        return self._budget - self._tokens

    def holds_all(self) -> bool:
        """Fill the page with all pieces, whole, if they fit; else leave it empty."""
        if sum(piece.tokens for piece in self._every.values()) // _MAX_DENSITY > self._budget:
            return False  # no need to count
        self.put(list(self._every.values()))
        if self._free_tokens < 0:
            self.put([])
            return False
        self.pieces = [replace(one, tokens=_count_tokens(one, self._tokenizer)) for one in self.pieces]
        return True

    def drop_over_budget(self) -> None:
        """While the page is over its budget, take the least of its pieces away."""
        while self.pieces and self._free_tokens < 0:
            least = min(self.pieces, key=lambda piece: piece.rank)
            self.put([piece for piece in self.pieces if piece is not least])

    def lengthen_cut_pieces(self) -> None:
        """Tell more of the pieces that were cut, the best first, while tokens are free."""
        cut = [piece for piece in self.pieces if piece.item.content != self._every[piece.id].item.content]
        for piece in sorted(cut, key=lambda piece: -piece.rank):
            if self._free_tokens <= 0:
                return
            self._tell(self._every[piece.id], piece.tokens + self._free_tokens)

    def add_left_out(self) -> None:
        """Add what was left out, the best first, while tokens are free; whole, or cut to a fair length."""
        there = {piece.id for piece in self.pieces}
        left_out = [piece for name, piece in self._every.items() if name not in there]
        for piece in sorted(left_out, key=lambda piece: -piece.rank):
            if self._free_tokens < MIN_COST_TOKENS:
                return
            least = least_tokens(piece.item.source)
            if self._free_tokens >= least or piece.tokens // _MAX_DENSITY <= self._free_tokens:
                self._tell(piece, self._free_tokens, least)

    def _tell(self, whole: Piece, tokens: int, least: int = 0) -> None:
        """Tell a piece in at most `tokens`, if the page has room; a new one in no fewer than `least`.

        Tokens do not add up exactly, and a new section has a heading: where the page would be over its
        budget, a little less of the piece is tried.
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
            self.put([*others, told])
            if self._free_tokens >= 0:
                return
            tokens = told.tokens + self._free_tokens
        if self.pieces is not before:
            self.put(before)

    def finish(self) -> FittedDocument:
        """The document as it stands."""
        there = {piece.id for piece in self.pieces}
        left_out = tuple(piece for name, piece in self._every.items() if name not in there)
        return FittedDocument(self._text, self._tokens, tuple(self.pieces), left_out)


class _RememberedCounts:
    """A tokenizer that counts no text twice; for one document, whose pieces are counted again and again."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.encode, self.decode = tokenizer.encode, tokenizer.decode
        self._tokenizer = tokenizer
        self._known: dict[str, int] = {}

    def count(self, text: str) -> int:
        """How many tokens the text is."""
        if (known := self._known.get(text)) is None:
            known = self._known[text] = self._tokenizer.count(text)
        return known


def _estimate_tokens(piece: Piece) -> int:
    """What a piece costs, about: four bytes a token."""
    return len(piece.item.content.encode()) // 4


def _count_tokens(piece: Piece, tokenizer: Tokenizer) -> int:
    return tokenizer.count(piece.item.content)


def _shorten_piece(piece: Piece, cap: int, tokenizer: Tokenizer) -> Piece:
    """The piece within `cap` tokens, what stands between it and the next included."""
    most = cap - _JOIN_TOKENS
    item = piece.item
    if (counted := _count_tokens(piece, tokenizer)) <= most:
        return replace(piece, tokens=counted)
    spare = SPARE if item.source == "experience" else ()
    content = shorten_markdown(
        item.content, most, truncation_note(item.source, item.metadata), tokenizer, spare
    )
    return replace(piece, item=replace(item, content=content), tokens=tokenizer.count(content))


def _frame_tokens(pieces: Sequence[Piece], layout: Layout, tokenizer: Tokenizer) -> int:
    """What the title, the headings and the footer cost, if every section has something."""
    there = {piece.section for piece in pieces}
    empty = document(layout.title, [(name, [""]) for name in layout.sections if name in there], "")
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
"""How much of a context each source may fill, as against the others: rich items need more room."""

MAX_ITEM_FRACTION = 0.25
"""At most which share of its source's tokens one item may take."""

MIN_ITEM_TOKENS = 32
"""An item is not cut to fewer tokens than this: nothing sensible would be left of it."""

MIN_TOKENS: Mapping[str, int] = dict.fromkeys(WEIGHTS, MIN_ITEM_TOKENS) | {"experience": 104}
"""The same by source: an experience needs more than others, to say what came of it and why. Where room is
short, there are fewer of them instead."""

MIN_COST_TOKENS = 8
"""No item costs less: with fewer tokens left, there is no use in looking."""


def least_tokens(source: str) -> int:
    """The fewest tokens to which an item of a source is cut."""
    return MIN_TOKENS.get(source, MIN_ITEM_TOKENS)


def max_item_tokens(allowance: float, least: int = MIN_ITEM_TOKENS) -> int:
    """The most tokens that one item may have, when its source has `allowance`."""
    return max(least, int(allowance * MAX_ITEM_FRACTION))


def divide_tokens(
    weights: Mapping[str, float], costs: Mapping[str, Sequence[int]], budget: float
) -> dict[str, float]:
    """What each source may spend, by weight; what a source cannot use is shared among those that can.

    A source is content when all its items fit, none of them cut. Contented ones keep the share they had then,
    of which they spend what they need. The others never have less than their weight's share of the whole.
    """
    given: dict[str, float] = dict.fromkeys(costs, 0.0)
    wanting = [source for source in costs if costs[source]]
    left = max(0.0, budget)
    while wanting:
        total = sum(weights[source] for source in wanting)
        given.update({source: left * weights[source] / total for source in wanting})
        content = [source for source in wanting if _tokens_needed(costs[source]) <= given[source]]
        if not content:
            break
        left -= sum(sum(costs[source]) for source in content)
        wanting = [source for source in wanting if source not in content]
    return given


def choose_items(
    counts: Mapping[str, int],
    cost: Callable[[str, int, float], int | None],
    given: Mapping[str, float],
    budget: int,
) -> dict[str, list[int]]:
    """The places of the items that fit into their source's tokens, by source; `counts` says how many it has.

    What is too long is passed over and the rest goes on. `cost` is asked what the item at a place of a source
    costs, and may say None as soon as it knows that this is more than the room there is.
    """
    taken: dict[str, list[int]] = {source: [] for source in counts}
    left: float = budget
    for source, count in counts.items():
        own = given[source]
        for place in range(count):
            room = min(own, left)
            spent = cost(source, place, room) if room >= MIN_COST_TOKENS else None
            if spent is not None and spent <= room:
                own, left = own - spent, left - spent
                taken[source].append(place)
    return taken


def _tokens_needed(costs: Sequence[int]) -> float:
    """What a source needs for all its items to fit, none of them cut."""
    longest = max(costs)
    return max(sum(costs), longest / MAX_ITEM_FRACTION if longest > MIN_ITEM_TOKENS else 0.0)


# Shortening a piece ---------------------------------------------------------------------------------------


_FENCE = re.compile(r"^(`{3,}).*(?:\n|\Z)", re.MULTILINE)
_HALF_A_FENCE = re.compile(r"\n`+[\w+#.-]*\Z")
_HALF_A_LABEL = re.compile(r"\n\*\w[^\n]*\Z")
_LISTED = "\n- **"
_NAMED = re.compile(r"- \*\*(\w[\w ]*)\*\*:")
_WIDTHS = (800, 400, 280, 200, 140, 120, 100, 85, 70, 60, 50)
"""How many characters the lines of a list may have, from generous to terse."""

_TELLING_WIDTH = 100
"""Lines of fewer characters say little: what can be spared goes before others are cut to less."""

_TERSEST = (40, 30)
"""How long they may be when all that can be spared is gone, the note too: a name, and a word or two."""

_SAFETY, _GUESSES = 2, 6


def shorten_markdown(
    text: str, tokens: int, note: str, tokenizer: Tokenizer, spare: Sequence[str] = ()
) -> str:
    """The text within `tokens`, with the note behind it if it had to be cut and there is room.

    A text is cut at its end, between words, and a fence that the cut left open is closed. A list of named
    lines loses a little of every line; where that is not enough, the lines that can be spared go, one after
    another, and of the others even less is said. `spare` names those lines, what is missed least first.
    """
    if tokenizer.count(text) <= tokens:
        return text
    behind = f"\n\n{note}"
    if _LISTED in text:
        kept = _drop_spare_lines(text.split("\n"), spare)
        last = "\n".join(kept[-1])
        return _make_terse(kept, tokens, behind, tokenizer) or _cut_to_beginning(last, tokens, tokenizer)
    room = tokens - tokenizer.count("..." + behind) - _SAFETY
    while room > 0:
        made = _close_fences(_longest_beginning(text, room, tokenizer)) + behind
        over = tokenizer.count(made) - tokens
        if over <= 0:
            return made
        room -= over
    return _cut_to_beginning(text, tokens, tokenizer)


def _cut_to_beginning(text: str, tokens: int, tokenizer: Tokenizer) -> str:
    """The beginning of a text, where there is no room for a note."""
    return _close_fences(_longest_beginning(text, max(1, tokens - _SAFETY), tokenizer))


def _longest_beginning(text: str, tokens: int, tokenizer: Tokenizer) -> str:
    """About as much of a text as `tokens` hold, and no more; found by a guess and a few corrections."""
    text = text[: tokens * MAX_CHARACTERS_A_TOKEN]  # no need to look beyond
    size = len(text)
    for _ in range(_GUESSES):
        count = tokenizer.count(text[:size])
        if count <= tokens:
            return text[:size]
        size = min(size - 1, int(size * tokens / count))
    return cut_to_tokens(text[:size], tokens, tokenizer)


def _make_terse(kept: Sequence[Sequence[str]], tokens: int, behind: str, tokenizer: Tokenizer) -> str:
    """Of lists with fewer and fewer lines the first that fits, each line as long as may be; else nothing."""

    def fits(made: str) -> bool:
        return tokenizer.count(made) <= tokens

    def widest_that_fits(lines: Sequence[str], behind: str, widths: Sequence[int]) -> str:
        # The widths get smaller: those that are too wide come first, and there are few of them to look at.
        first = bisect_left(widths, 1, key=lambda width: int(fits(_narrow_lines(lines, width) + behind)))
        return _narrow_lines(lines, widths[first]) + behind if first < len(widths) else ""

    # Fewer lines are shorter: the first number of them that fits is found in the same way.
    first = bisect_left(kept, 1, key=lambda lines: int(fits(_narrow_lines(lines, _TELLING_WIDTH) + behind)))
    lines = kept[min(first, len(kept) - 1)]
    return widest_that_fits(lines, behind, _WIDTHS) or widest_that_fits(lines, "", (*_WIDTHS, *_TERSEST))


def _narrow_lines(lines: Sequence[str], width: int) -> str:
    return "\n".join(cut_line(line, width) for line in lines)


def _drop_spare_lines(lines: Sequence[str], spare: Sequence[str]) -> list[list[str]]:
    """The lines; then again without those named first in `spare`, without the next too, and so on."""
    names = [found[1] if (found := _NAMED.match(line)) else "" for line in lines]
    there = [name for name in spare if name in names]
    return [
        [line for line, name in zip(lines, names, strict=True) if name not in there[:gone]]
        for gone in range(len(there) + 1)
    ]


def _close_fences(head: str) -> str:
    """A beginning with the mark of a cut; in a fence the mark is a line of its own, and the fence ends."""
    head = _HALF_A_FENCE.sub("", head)
    opened = _unclosed_fence(head)
    if opened is None:
        space = max(head.rfind(" "), head.rfind("\n"))
        kept = (head[:space] if space > len(head) * 2 // 3 else head).rstrip()
        return _HALF_A_LABEL.sub("", kept) + "..."
    before, body = head[: opened.end()], head[opened.end() :]
    whole, _, _ = body.rpartition("\n")
    return f"{before}{whole or body}\n...\n{opened[1]}"


def _unclosed_fence(text: str) -> re.Match[str] | None:
    """The first line of a fence that a text has opened and not closed; only one as long closes it."""
    opened: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            opened = match
        elif len(match[1]) >= len(opened[1]):
            opened = None
    return opened
