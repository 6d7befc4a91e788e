"""One turn of a conversation as a line of a prompt, and which turns belong together.

A line has the speaker and the words; further lines are indented, so that none can pass for another turn. The
answer of a tool stays with the turn that called it: neither makes sense alone.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from foreword.compose.content_parts import count_image_tokens, parts_to_send
from foreword.compose.cutting import MAX_CHARACTERS_A_TOKEN, MIN_CUT_TOKENS, shorten_text
from foreword.compose.quoting import escape_headings, escape_headings_on_one_line, indent_after_label
from foreword.text.clean import join_lines, remove_invisible, remove_surrogates
from foreword.text.question import asks_or_requests
from foreword.types import ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence

    from foreword.text.tokens import Tokenizer
    from foreword.types import Turn

_MAX_TOKENS_BESIDE_WORDS = 12
"""At most how many tokens a turn costs beside its words: the speaker, the calls, the line break."""

_GAP = re.compile(r"(?<=\S)[^\S\n]{2,}")
_REMEMBERED_TURNS, _LONGEST_REMEMBERED = 4096, 4000
_GLANCE = 200
_MAX_TURNS_TO_ANSWER = 6
"""A question is answered within this many turns, those of tools included."""


@dataclass(frozen=True, slots=True)
class FormattedTurn:
    """A turn, the words of it that are kept (`content`), and its line in the prompt (`formatted`).

    `rank` says how relevant a recalled turn is to the question: 0 is the best. `stamp` is the time in its
    line, and `day` the heading above it; both are empty if they are not wanted.
    """

    turn: Turn
    content: str
    formatted: str
    tokens: int
    rank: int = 0
    stamp: str = ""
    day: str = ""

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
    """What precedes the words of a turn, and whether it has a heading with its day.

    With `images`, the turn's images are sent and count; otherwise only their marks are in the text.
    """

    speaker: bool = True
    time: bool = False
    day: bool = False
    images: bool = True

    def label(self, turn: Turn) -> str:
        """The time and the speaker, if they are wanted and known."""
        when = self.stamp(turn)
        return f"{when}{speaker_label(turn)}: " if self.speaker else when

    def stamp(self, turn: Turn) -> str:
        """The time in brackets and a blank, if it is wanted and known; else empty."""
        return f"[{turn.timestamp:%H:%M}] " if turn.timestamp is not None and self.time else ""

    def day_heading(self, turn: Turn) -> str:
        """The day in brackets, if it is wanted and known; else empty."""
        return f"[{turn.timestamp:%Y-%m-%d}]" if turn.timestamp is not None and self.day else ""


class TurnWording:
    """Words turns and counts their tokens, with a cache, since most turns are in the next prompt again."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._cached_count: Callable[[str], int] = functools.lru_cache(_REMEMBERED_TURNS)(tokenizer.count)
        self._formatted_turns: dict[tuple[int, TurnStyle], FormattedTurn] = {}

    def count(self, text: str) -> int:
        """The number of tokens in the text."""
        return self._cached_count(text) if len(text) <= _LONGEST_REMEMBERED else self._tokenizer.count(text)

    def format_if_fits(self, turn: Turn, style: TurnStyle, room: int) -> FormattedTurn | None:
        """The turn, if it has at most `room` tokens; else None. A turn that is far too long is not read."""
        if len(turn.text) > room * MAX_CHARACTERS_A_TOKEN:
            return None
        whole = self._format_whole_turn(turn, style)
        return whole if whole.tokens <= room else None

    def _format_whole_turn(self, turn: Turn, style: TurnStyle) -> FormattedTurn:
        """The whole turn, from the cache if it is there.

        The key is the `id` of the turn object; the cached line refers to the turn, so no other object can get
        that id.
        """
        key = (id(turn), style)
        known = self._formatted_turns.get(key)
        if known is None:
            known = self._format(turn, _escape_turn_text(turn.text), style)
            if len(turn.text) <= _LONGEST_REMEMBERED:
                if len(self._formatted_turns) >= _REMEMBERED_TURNS:
                    self._formatted_turns.clear()
                self._formatted_turns[key] = known
        return known

    def shorten(
        self, turn: Turn, style: TurnStyle, room: int, asked_words: Collection[str] = ()
    ) -> FormattedTurn | None:
        """The turn in at most `room` tokens: its ends, and the lines with words that are asked for.

        If its images leave no tokens for words, they are left out and only their marks stay. Returns None if
        the turn cannot be shortened that far.
        """
        made = self.format_if_fits(turn, style, room)
        if made is None:
            short = shorten_text(
                turn.text,
                room,
                self._tokenizer,
                asked_words,
                lambda text: self._format(turn, _escape_turn_text(text), style).tokens,
            )
            made = self._format(turn, _escape_turn_text(short), style) if short else None
        if made is None and turn.parts:
            return self.shorten(replace(turn, parts=()), style, room, asked_words)
        return made

    def _format(self, turn: Turn, content: str, style: TurnStyle) -> FormattedTurn:
        """A turn with its line and token count; `content` is its text, escaped and perhaps shortened."""
        line = _turn_line(turn, content, style)
        tokens = self.count(line) + (count_image_tokens(parts_to_send(turn)) if style.images else 0)
        return FormattedTurn(
            turn, content, line, tokens, stamp=style.stamp(turn), day=style.day_heading(turn)
        )


def format_turns_within(
    turns: Sequence[Turn], room: int, tokenizer: Tokenizer, asked_words: Collection[str] = ()
) -> tuple[FormattedTurn, ...]:
    """All of the turns, in `room` tokens if possible: the longest keep their ends and what is asked for."""
    wording, style = TurnWording(tokenizer), TurnStyle()
    lengths = [tokenizer.count(turn.text) + _MAX_TOKENS_BESIDE_WORDS for turn in turns]
    most, left = max(lengths, default=0), room
    for place, length in enumerate(sorted(lengths)):  # short turns stay whole, the others get equal shares
        share = left // (len(lengths) - place)
        if length > share:
            most = share
            break
        left -= length
    rooms = (max(most, MIN_CUT_TOKENS), sys.maxsize)  # a turn that cannot be so short is kept whole
    tried = ((wording.shorten(turn, style, room, asked_words) for room in rooms) for turn in turns)
    return tuple(line for each in tried if (line := next(filter(None, each), None)))


def count_image_tokens_of_turns(turns: Iterable[FormattedTurn]) -> int:
    """The tokens of the images of some turns, which are not in their lines."""
    return sum(count_image_tokens(parts_to_send(worded.turn)) for worded in turns if worded.turn.parts)


def is_unshortened(worded: FormattedTurn) -> bool:
    """Whether a line has all the words of its turn."""
    return worded.content == _escape_turn_text(worded.turn.text)


def _escape_turn_text(text: str) -> str:
    """The text of a turn, escaped for its line; short texts come from a cache."""
    return _escape_short_text(text) if len(text) <= _LONGEST_REMEMBERED else escape_headings(text).strip()


@functools.lru_cache(_REMEMBERED_TURNS)
def _escape_short_text(text: str) -> str:
    """The escaped text, cached, since most turns are in the next prompt again."""
    return escape_headings(text).strip()


def shorten_formatted_turn(
    turn: FormattedTurn, room: int, tokenizer: Tokenizer, asked_words: Collection[str] = ()
) -> FormattedTurn | None:
    """The line in at most `room` tokens: its ends and what is asked for; None if they are too few."""
    formatted = shorten_text(turn.formatted, room, tokenizer, asked_words)
    if not formatted:
        return None
    content = shorten_text(turn.content, room, tokenizer, asked_words)
    return replace(turn, content=content, formatted=formatted, tokens=tokenizer.count(formatted))


def remove_needless_whitespace(turn: FormattedTurn, tokenizer: Tokenizer) -> FormattedTurn:
    """The turn without needless white space: blank lines, and runs of blanks inside and after lines."""
    formatted = "\n".join(_GAP.sub(" ", line.rstrip()) for line in turn.formatted.split("\n") if line.strip())
    return replace(turn, formatted=formatted, tokens=tokenizer.count(formatted))


def turn_blocks_from_end(turns: Sequence[Turn], end: int | None = None) -> Iterator[tuple[int, list[Turn]]]:
    """Blocks of turns that belong together, with the place each begins at, from `end` backwards.

    A tool's answers are in one block with the turn that called it; blank turns are left out.
    """
    end = len(turns) if end is None else end
    while end:
        start = end - 1
        while start and turns[start].role == "tool":
            start -= 1
        if turns[start].role not in ("tool", "assistant") and start < end - 1:
            start += 1  # these tools answer a call that is not among the turns
        spoken = [turn for turn in turns[start:end] if has_content(turn)]
        if spoken:
            yield start, spoken
        end = start


def question_and_answer(turns: Sequence[Turn], place: int) -> list[Turn]:
    """The turn at a place, with the answer to its question or the question that it answers."""
    turn = turns[place]
    if turn.role == "user" and _asks_something(turn.text):
        answer = next(
            _turns_of_people_and_assistants(turns[place + 1 : place + 1 + _MAX_TURNS_TO_ANSWER]), None
        )
        return [turn, answer] if answer is not None and answer.role == "assistant" else [turn]
    if turn.role == "assistant":
        before = turns[max(0, place - _MAX_TURNS_TO_ANSWER) : place]
        question = next(_turns_of_people_and_assistants(reversed(before)), None)
        if question is not None and question.role == "user" and _asks_something(question.text):
            return [question, turn]
    return [turn]


def is_reply_to_user(turns: Sequence[Turn], place: int) -> bool:
    """Whether the turn at a place is an assistant's, and replies to the user's turn just before it."""
    before = turns[max(0, place - _MAX_TURNS_TO_ANSWER) : place]
    asked = next(_turns_of_people_and_assistants(reversed(before)), None)
    return turns[place].role == "assistant" and asked is not None and asked.role == "user"


@functools.lru_cache(_REMEMBERED_TURNS)
def _asks_something(text: str) -> bool:
    """Whether a text asks something; cached, since most turns are in the next prompt again."""
    return asks_or_requests(text)


def _turns_of_people_and_assistants(turns: Iterable[Turn]) -> Iterator[Turn]:
    """The turns of people and assistants that have words: no tool's, and none that only calls a tool."""
    return (turn for turn in turns if turn.role != "tool" and turn.text.strip())


def sort_by_conversation_order(worded: Sequence[FormattedTurn], turns: Sequence[Turn]) -> list[FormattedTurn]:
    """The turns in the order of the conversation; those that are not in it by their time."""
    if len(worded) < 2:
        return list(worded)
    places = {turn_identity(turn): place for place, turn in enumerate(turns)}
    return sorted(
        worded, key=lambda each: (places.get(turn_identity(each.turn), -1), _timestamp_seconds(each.turn))
    )


def turn_identity(turn: Turn) -> Hashable:
    """A key that is equal for copies of one turn and differs for other turns."""
    return turn.turn_id or (turn.role, turn.name, turn.text, turn.timestamp)


def speaker_label(turn: Turn) -> str:
    """Who speaks, as the words before a colon: on one line, and never what another role is called.

    People choose their names: "System" or "Boss: I agree. Ann" must not pass for somebody else's turn.
    """
    label = join_lines(escape_headings_on_one_line(turn.speaker).replace(":", " "))
    is_other_role = label.lower() in ROLES and label.lower() != turn.role
    return f"{label} ({turn.role})" if is_other_role else label or turn.role.capitalize()


def _turn_line(turn: Turn, content: str, style: TurnStyle) -> str:
    """The line of a turn: its label, its words and its tool calls."""
    calls = (escape_headings(f"(calls {call.name} {call.arguments})") for call in tool_calls(turn))
    said = "\n".join(filter(None, (content, *calls)))
    return style.label(turn) + indent_after_label(said)


def has_content(turn: Turn) -> bool:
    """Whether a turn has visible text or tool calls; mostly a look at its beginning is enough."""
    text = turn.text
    return bool(turn.tool_calls or remove_invisible(text[:_GLANCE]).strip() or remove_invisible(text).strip())


def _timestamp_seconds(turn: Turn) -> float:
    """The time of a turn in seconds, comparable whether or not it has a time zone; 0 if unknown."""
    when = turn.timestamp
    if when is None:
        return 0.0
    offset = when.utcoffset()
    seconds = (when.toordinal() * 24 + when.hour) * 3600 + when.minute * 60 + when.second
    return seconds + when.microsecond / 1e6 - (offset.total_seconds() if offset else 0.0)


# Tool calls -----------------------------------------------------------------------------------------------


_LONGEST_ARGUMENTS, _BEGINNING = 1000, 300


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool; the arguments are a JSON object, as text."""

    call_id: str
    name: str
    arguments: str

    @property
    def input(self) -> dict[str, Any]:
        """The arguments as a mapping; if they are no JSON object, their text under `arguments`."""
        try:
            read = json.loads(self.arguments)
        except ValueError:
            read = None
        return read if isinstance(read, dict) else {"arguments": self.arguments}


def tool_calls(turn: Turn) -> tuple[ToolCall, ...]:
    """The tool calls of a turn that can be read."""
    return tuple(call for written in turn.tool_calls if (call := _read_tool_call(written)) is not None)


def _read_tool_call(written: Mapping[str, Any]) -> ToolCall | None:
    """A call in the format of either API; None without a name. Long arguments are cut."""
    called = written.get("function", written)
    if not isinstance(called, Mapping) or not called.get("name"):
        return None
    arguments = called.get("arguments", called.get("input", {}))
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False, default=str)
    if len(arguments) > _LONGEST_ARGUMENTS:
        missing = f"{len(arguments) - _BEGINNING:,} characters"
        arguments = json.dumps({"beginning": arguments[:_BEGINNING], "left_out": missing}, ensure_ascii=False)
    texts = (str(written.get("id") or ""), str(called["name"]), arguments or "{}")
    return ToolCall(*map(remove_surrogates, texts))
