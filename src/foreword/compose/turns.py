"""One turn of a conversation as a line of a prompt, and which turns belong together.

A turn says who speaks and what; its further lines are moved right, so that none of them can pose as another's
turn. What a tool answered stands with the turn that asked it: one without the other tells a reader nothing.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.compose.middle import CHARACTERS, LEAST, shortened_in_middle
from foreword.compose.parts import sheltered, sheltered_line
from foreword.compose.tool_calls import tool_calls
from foreword.text.clean import indented, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from foreword.text.tokens import Tokenizer
    from foreword.types import Turn

_INDENT = 2
_GAP = re.compile(r"(?<=\S)[^\S\n]{2,}")
_REMEMBERED_TURNS, _LONGEST_REMEMBERED = 4096, 4000
_ATTEMPTS, _GLANCE = 4, 200


@dataclass(frozen=True, slots=True)
class FormattedTurn:
    """A turn, what is kept of its words (`content`), and the line that the prompt has (`formatted`).

    The `rank` of a recalled turn says how well it bears on the question: 0 is the best. `stamp` is its time
    as the line has it, empty where that is not wanted.
    """

    turn: Turn
    content: str
    formatted: str
    tokens: int
    rank: int = 0
    stamp: str = ""

    @property
    def turn_id(self) -> str:
        """The turn's own id."""
        return self.turn.turn_id

    @property
    def speaker(self) -> str:
        """Who speaks."""
        return self.turn.speaker


@dataclass(frozen=True, slots=True)
class TurnStyle:
    """What stands before the words of a turn."""

    speaker: bool = True
    time: bool = False
    date: bool = False

    def label(self, turn: Turn) -> str:
        """The time and the speaker, as far as they are wanted and known."""
        when = self.stamp(turn)
        return f"{when}{sheltered_line(turn.speaker)}: " if self.speaker else when

    def stamp(self, turn: Turn) -> str:
        """The time in brackets and a blank, if it is wanted and known; else nothing."""
        form = " ".join(["%Y-%m-%d"] * self.date + ["%H:%M"] * self.time)
        return f"[{turn.timestamp.strftime(form)}] " if turn.timestamp is not None and form else ""


class TurnWording:
    """Words turns and counts them; what was counted once is remembered, as the same turns come every time."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._remembered: Callable[[str], int] = functools.lru_cache(_REMEMBERED_TURNS)(tokenizer.count)

    def count(self, text: str) -> int:
        """How many tokens the text is."""
        return self._remembered(text) if len(text) <= _LONGEST_REMEMBERED else self._tokenizer.count(text)

    def word(self, turn: Turn, style: TurnStyle, room: int) -> FormattedTurn | None:
        """The turn, if it is within so many tokens; one that is far too long is not even read."""
        if len(turn.text) > room * CHARACTERS:
            return None
        return self._within(turn, sheltered(turn.text).strip(), style, room)

    def shorten(self, turn: Turn, style: TurnStyle, room: int) -> FormattedTurn | None:
        """The turn, its middle left out where that makes it fit; nothing when there is no room even so."""
        made = self.word(turn, style, room)
        inside = room - self.count(_line(turn, "", style))
        for _ in range(_ATTEMPTS):  # moving lines right costs tokens, too
            if made is not None or inside < LEAST:
                break
            short = shortened_in_middle(turn.text, inside, self._tokenizer)
            made = self._within(turn, sheltered(short).strip(), style, room) if short else None
            inside = inside * 3 // 4
        return made

    def _within(self, turn: Turn, content: str, style: TurnStyle, room: int) -> FormattedTurn | None:
        line = _line(turn, content, style)
        tokens = self.count(line)
        return FormattedTurn(turn, content, line, tokens, stamp=style.stamp(turn)) if tokens <= room else None


def tidied(turn: FormattedTurn, tokenizer: Tokenizer) -> FormattedTurn:
    """The turn without white space that says nothing: blank lines, and gaps inside and behind lines."""
    formatted = "\n".join(_GAP.sub(" ", line.rstrip()) for line in turn.formatted.split("\n") if line.strip())
    return replace(turn, formatted=formatted, tokens=tokenizer.count(formatted))


def blocks(turns: Sequence[Turn], end: int | None = None) -> Iterator[tuple[int, list[Turn]]]:
    """The turns before `end` from the newest back, those that belong together at once, silent ones left out.

    Each block comes with the place it begins at.
    """
    end = len(turns) if end is None else end
    while end:
        start = end - 1
        while start and turns[start].role == "tool":
            start -= 1
        if turns[start].role not in ("tool", "assistant") and start < end - 1:
            start += 1  # answers of tools that nobody here has asked
        spoken = [turn for turn in turns[start:end] if _says_something(turn)]
        if spoken:
            yield start, spoken
        end = start


def chronological(worded: Sequence[FormattedTurn], turns: Sequence[Turn]) -> list[FormattedTurn]:
    """The turns in the order they were said: by their place in the conversation, else by their time."""
    if len(worded) < 2:
        return list(worded)
    places = {same(turn): place for place, turn in enumerate(turns)}
    return sorted(worded, key=lambda each: (places.get(same(each.turn), -1), _moment(each.turn)))


def same(turn: Turn) -> Hashable:
    """What two copies of a turn have in common."""
    return turn.turn_id or (turn.role, turn.name, turn.text, turn.timestamp)


def _line(turn: Turn, content: str, style: TurnStyle) -> str:
    calls = (sheltered(f"(calls {call.name} {call.arguments})") for call in tool_calls(turn))
    said = "\n".join(filter(None, (content, *calls)))
    return style.label(turn) + indented(said, _INDENT)


def _says_something(turn: Turn) -> bool:
    """Whether there is anything to see; mostly the beginning shows it."""
    text = turn.text
    return bool(turn.tool_calls or visible(text[:_GLANCE]).strip() or visible(text).strip())


def _moment(turn: Turn) -> float:
    """When it was said, in seconds; comparable whether or not a time zone is known."""
    when = turn.timestamp
    if when is None:
        return 0.0
    offset = when.utcoffset()
    seconds = (when.toordinal() * 24 + when.hour) * 3600 + when.minute * 60 + when.second
    return seconds + when.microsecond / 1e6 - (offset.total_seconds() if offset else 0.0)
