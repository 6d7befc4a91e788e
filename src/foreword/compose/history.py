"""The conversation so far, worded within a number of tokens: whole, if it fits.

Else it has three parts, each under its heading: a summary of the older turns, earlier turns that are relevant
to the question (found elsewhere and passed in, a question with its answer), and the recent turns. Where
tokens are short, they go first to the last exchange, then to recalled turns, the summary, more recent turns
and more recalled turns. A very long turn, such as a pasted log, is shortened to its ends and the lines that
the question names, so that it does not push out all others. The finished text is counted exactly and never
exceeds the limit. Turns that cannot fit are not read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.compose.cutting import MIN_CUT_TOKENS, shorten_text, words_asked_for
from foreword.compose.quoting import escape_headings
from foreword.compose.summary import Summary, summarise
from foreword.compose.turns import (
    FormattedTurn,
    TurnStyle,
    TurnWording,
    exchange_blocks,
    is_unshortened,
    question_and_answer,
    sort_by_time,
    turn_identity,
    turns_images_tokens,
)
from foreword.errors import ValidationError
from foreword.options import check_fraction, check_whole_number
from foreword.text.clean import indent_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Sequence

    from foreword.text.tokens import Tokenizer
    from foreword.types import DialogueState, DialogueSummarizer, Turn

_JOIN_TOKENS = 2
"""At most how many tokens it costs to join a line to the others."""

_LONG_TURN_SHARE, _MIN_LONG_TURN = 0.25, 400
"""Where not everything fits, a turn may have this share of the tokens, and at least this many; a longer one
is shortened. Turns of the last exchange may have more."""

_SPARE_SHARE = 0.03
"""If more than this share of the tokens is left over, long turns are shortened less."""

_MAX_LENGTHENINGS = 6
"""How often a higher limit for long turns is tried; each time by half as much."""

_MAX_FILLS, _MIN_FILL = 4, 12
"""How often more turns are taken into tokens left over, and the fewest tokens that are worth it."""


@dataclass(frozen=True, slots=True)
class HistoryTemplate:
    """The headings of the parts of a history; in `summary`, `{}` is replaced by the summary."""

    summary: str = "[Conversation summary: {}]"
    recalled: str = "Earlier in this conversation:"
    recent: str = "Recent conversation:"

    def __post_init__(self) -> None:
        if "{}" not in self.summary:
            raise ValidationError(f"the template {self.summary!r} has no {{}}; put it where a summary goes")


DEFAULT_TEMPLATE = HistoryTemplate()


@dataclass(frozen=True, slots=True)
class HistoryFormatterConfig:
    """How a conversation is worded; the shares limit how much of the tokens a part may take.

    `verbatim_turns` is the largest number of recent turns; None means as many as fit.
    """

    verbatim_turns: int | None = None
    max_summary_tokens: int = 300
    include_speakers: bool = True
    include_timestamps: bool = False
    template: HistoryTemplate = DEFAULT_TEMPLATE
    recalled_share: float = 0.85
    summary_share: float = 0.2

    def __post_init__(self) -> None:
        if self.verbatim_turns is not None:
            check_whole_number("verbatim_turns", self.verbatim_turns, 0, 1_000_000)
        check_whole_number("max_summary_tokens", self.max_summary_tokens, 0, 1_000_000)
        check_fraction("recalled_share", self.recalled_share)
        check_fraction("summary_share", self.summary_share)


@dataclass(frozen=True, slots=True)
class FormattedHistory:
    """A worded conversation; recalled and recent turns are oldest first.

    `token_count` includes the text and the images of recent turns, which are sent with them; `reserved` is
    the number of tokens for a summary that is not made yet. `problem` says why the summary is missing or
    incomplete, if the summarizer failed.
    """

    summary: str | None = None
    recalled: tuple[FormattedTurn, ...] = ()
    recent_turns: tuple[FormattedTurn, ...] = ()
    text: str = ""
    token_count: int = 0
    template: HistoryTemplate = DEFAULT_TEMPLATE
    problem: str = ""
    reserved: int = 0


def make_history(
    summary: str | None,
    recalled: Sequence[FormattedTurn],
    recent: Sequence[FormattedTurn],
    tokenizer: Tokenizer,
    template: HistoryTemplate = DEFAULT_TEMPLATE,
    problem: str = "",
) -> FormattedHistory:
    """A history made of these parts, with its text and token count."""
    text = history_text(summary, recalled, recent, template)
    tokens = tokenizer.count(text) + turns_images_tokens(recent)
    return FormattedHistory(summary or None, tuple(recalled), tuple(recent), text, tokens, template, problem)


def history_text(
    summary: str | None,
    recalled: Sequence[FormattedTurn],
    recent: Sequence[FormattedTurn],
    template: HistoryTemplate,
) -> str:
    """The parts that are not empty, under their headings, with blank lines between them."""
    parts = [template.summary.replace("{}", indent_lines(escape_headings(summary), 2))] if summary else []
    for heading, turns in ((template.recalled, recalled), (template.recent, recent)):
        if turns:
            parts.append("\n".join((heading, *_lines_by_day(turns))))
    return "\n\n".join(parts)


def _lines_by_day(turns: Sequence[FormattedTurn]) -> Iterator[str]:
    """The lines of turns, with a heading before the first turn of each day."""
    day = ""
    for turn in turns:
        if turn.day and turn.day != day:
            day = turn.day
            yield day
        yield turn.formatted


class HistoryFormatter:
    """Words conversations; stores nothing of them but a cache of some turns."""

    def __init__(
        self,
        summarizer: DialogueSummarizer,
        tokenizer: Tokenizer,
        config: HistoryFormatterConfig | None = None,
    ) -> None:
        self.config = config or HistoryFormatterConfig()
        self._summarizer = summarizer
        self._tokenizer = tokenizer
        self._wording = TurnWording(tokenizer)
        self._recent_style = TurnStyle(self.config.include_speakers, self.config.include_timestamps)
        self._recalled_style = TurnStyle(
            self.config.include_speakers, self.config.include_timestamps, day=True, images=False
        )

    def format(
        self,
        dialogue_state: DialogueState,
        max_tokens: int,
        recalled: Sequence[Turn] = (),
        query: str = "",
        *,
        with_summary: bool = True,
    ) -> FormattedHistory:
        """The conversation in at most `max_tokens`; `recalled` are earlier turns, the best first.

        A turn that is too long keeps the lines with words of the query. Without `with_summary` the summary,
        which takes longest, is not made; tokens are only reserved for it, to show how many are left for other
        parts.
        """
        asked_words, turns = words_asked_for(query), dialogue_state.turns
        draft = self._compose_using_spare_tokens(
            turns, max_tokens, recalled, asked_words, self.config.max_summary_tokens
        )
        if not with_summary:
            return replace(draft.formatted, reserved=draft.reserved)
        is_summarised = bool(draft.reserved)
        history = self._add_summary(draft, recalled, max_tokens)
        if is_summarised and _has_room_for_longer_turns(
            history, max_tokens - history.token_count, max_tokens
        ):
            # The summary has fewer tokens than were reserved for it.
            summary = self._tokenizer.count(draft.summary)
            longer = self._compose_using_spare_tokens(turns, max_tokens, recalled, asked_words, summary)
            history = _choose_fuller(history, self._add_summary(longer, recalled, max_tokens))
        return history

    def _compose_using_spare_tokens(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        recalled: Sequence[Turn],
        asked_words: Collection[str],
        max_summary: int,
    ) -> _HistoryDraft:
        """A draft with as high a limit for long turns as the tokens allow."""
        longest = max(_MIN_LONG_TURN, int(max_tokens * _LONG_TURN_SHARE))
        draft = self._compose_with_turn_limit(turns, max_tokens, recalled, asked_words, longest, max_summary)
        more = max_tokens
        for _ in range(_MAX_LENGTHENINGS):
            spare = max_tokens - draft.tokens
            if not _has_room_for_longer_turns(draft.formatted, spare, max_tokens):
                break
            more = min(more // 2, spare)
            longer = self._compose_with_turn_limit(
                turns, max_tokens, recalled, asked_words, longest + more, max_summary
            )
            if longer.tokens > draft.tokens and len(longer.formatted.recent_turns) >= len(
                draft.formatted.recent_turns
            ):
                draft, longest = longer, longest + more
        return draft

    def _compose_with_turn_limit(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        recalled: Sequence[Turn],
        asked_words: Collection[str],
        longest: int,
        max_summary: int,
    ) -> _HistoryDraft:
        """A draft in which only turns of the last exchange may exceed `longest`, unless all fit.

        If a summary is needed, tokens are reserved for it.
        """
        room = max_tokens - self._heading_tokens(self.config.template.recent)
        draft = _HistoryDraft(turns, room, asked_words)
        if self._take_whole_conversation(draft, recalled):
            self._shrink_to_exact_count(draft, max_tokens)
            return draft
        draft.longest = longest
        for_recalled = int(max_tokens * self.config.recalled_share)
        self._take_last_exchange(draft, draft.left - (for_recalled // 2 if recalled else 0))
        self._take_recalled(draft, recalled, for_recalled)
        self._take_recent_leaving_summary_room(
            draft, min(max_summary, int(max_tokens * self.config.summary_share))
        )
        self._reserve_summary(draft, max_summary)
        self._fill_remaining_tokens(draft, recalled, max_tokens)
        return draft

    def _fill_remaining_tokens(self, draft: _HistoryDraft, recalled: Sequence[Turn], max_tokens: int) -> None:
        """Take more recalled turns, then more recent turns, while tokens are left.

        Costs are estimated with a little to spare for every line, so the exact count shows tokens left over.
        """
        self._shrink_to_exact_count(draft, max_tokens)
        for _ in range(_MAX_FILLS):
            draft.left = max_tokens - draft.tokens
            chosen = len(draft.recalled)
            if draft.left < _MIN_FILL:
                break
            if self.config.recalled_share:
                self._take_recalled(draft, recalled, draft.left)
            if len(draft.recalled) == chosen and not self._take_more_recent_turns(draft):
                break
            self._shrink_to_exact_count(draft, max_tokens)

    def _add_summary(
        self, draft: _HistoryDraft, recalled: Sequence[Turn], max_tokens: int
    ) -> FormattedHistory:
        """The history with its summary; tokens left over go to more turns.

        If these turns were part of the summary, it is made again without them.
        """
        if not draft.reserved:
            return draft.formatted
        self._summarise_earlier(draft, draft.reserved - self._heading_tokens(self.config.template.summary))
        draft.reserved, summarised = 0, draft.first
        self._fill_remaining_tokens(draft, recalled, max_tokens)
        if draft.summary and draft.first < summarised:
            self._summarise_earlier(draft, self._tokenizer.count(draft.summary))
            self._shrink_to_exact_count(draft, max_tokens)
        return draft.formatted

    def _take_more_recent_turns(self, draft: _HistoryDraft) -> bool:
        """Add earlier blocks to the recent turns of the draft; return whether there were any."""
        blocks = self._earlier_blocks(draft, draft.left) if draft.recent else []
        for start, worded in blocks:
            draft.add(start, worded)
        return bool(blocks)

    def _take_whole_conversation(self, draft: _HistoryDraft, recalled: Sequence[Turn]) -> bool:
        """Take all turns if they fit and all recalled turns are among them; return whether they do."""
        blocks = self._earlier_blocks(draft, draft.left)
        start = blocks[-1][0] if blocks else len(draft.turns)
        if next(exchange_blocks(draft.turns, start), None) is not None:
            return False
        known = {turn_identity(turn) for turn in draft.turns}
        if any(turn_identity(turn) not in known for turn in recalled):
            return False
        for first, worded in blocks:
            draft.add(first, worded)
        draft.exchange = len(draft.recent)
        return True

    def _take_last_exchange(self, draft: _HistoryDraft, room: int) -> None:
        """Take the newest turns back to the user's last turn; shorten the newest if it is too long."""
        for start, block in exchange_blocks(draft.turns):
            if self._is_beyond_recent_limit(draft, start):
                break
            worded = self._word_whole_block(block, room)
            if worded is None and not draft.recent:
                worded = self._word_shortened_block(draft, block, room)
            if worded is None:
                break
            draft.add(start, worded)
            room -= _token_sum(worded)
            if any(turn.role == "user" for turn in block):
                break
        draft.exchange = len(draft.recent)

    def _take_recalled(self, draft: _HistoryDraft, recalled: Sequence[Turn], allowed: int) -> None:
        """Take as many recalled turns as fit, best first, each question with its answer.

        If not even the best one fits, it is shortened.
        """
        room = left = min(allowed, draft.left)
        known = draft.recent_turn_keys() | {turn_identity(worded.turn) for worded in draft.recalled}
        days = {worded.day for worded in draft.recalled}
        for rank, turn in enumerate(recalled):
            if left <= _JOIN_TOKENS:
                break
            if turn_identity(turn) not in known:
                unit = [one for one in draft.with_question_or_answer(turn) if turn_identity(one) not in known]
                worded = self._word_recalled(draft, unit, turn, left, days)
                left -= self._recalled_cost(draft, worded, days)
                known |= {turn_identity(line.turn) for line in worded}
                days |= {line.day for line in worded}
                draft.recalled += [replace(line, rank=rank) for line in worded]
        draft.left -= room - left

    def _word_recalled(
        self, draft: _HistoryDraft, unit: Sequence[Turn], turn: Turn, room: int, days: Collection[str]
    ) -> list[FormattedTurn]:
        """A recalled turn with its question or answer; alone, if both do not fit; else empty.

        If nothing has been recalled yet, the turn is shortened instead. `days` already have their headings.
        """
        for turns in (unit, [turn]):
            limit = min(room, draft.longest)
            worded = [line for one in turns if (line := self._word_or_shorten(draft, one, limit))]
            if len(worded) == len(turns) and self._recalled_cost(draft, worded, days) <= room:
                return worded
        if draft.recalled:
            return []
        day = self._recalled_style.day_heading(turn)
        inside = room - self._heading_tokens(self.config.template.recalled) - _JOIN_TOKENS
        inside -= self._heading_tokens(day) if day else 0
        short = self._wording.shorten(turn, self._recalled_style, inside, draft.asked_words)
        return [short] if short is not None else []

    def _word_or_shorten(self, draft: _HistoryDraft, turn: Turn, limit: int) -> FormattedTurn | None:
        """A recalled turn within the limit, if need be shortened; None if it does not fit."""
        worded = self._wording.word(turn, self._recalled_style, limit)
        if worded is None and limit == draft.longest:
            worded = self._wording.shorten(turn, self._recalled_style, limit, draft.asked_words)
        return worded

    def _recalled_cost(
        self, draft: _HistoryDraft, worded: Sequence[FormattedTurn], days: Collection[str]
    ) -> int:
        """The tokens of more recalled turns, with the headings they need in addition; 0 for none."""
        if not worded:
            return 0
        heading = 0 if draft.recalled else self._heading_tokens(self.config.template.recalled)
        new_days = {line.day for line in worded} - {"", *days}
        return heading + _token_sum(worded) + sum(map(self._heading_tokens, new_days))

    def _is_beyond_recent_limit(self, draft: _HistoryDraft, start: int) -> bool:
        """Whether a turn comes before the last `verbatim_turns` turns, if there is such a limit."""
        most = self.config.verbatim_turns
        return most is not None and len(draft.turns) - start > most

    def _take_recent_leaving_summary_room(self, draft: _HistoryDraft, summary: int) -> None:
        """Take all earlier turns if they fit; else fewer, to leave tokens for a summary."""
        if not draft.recent:
            return
        more = self._earlier_blocks(draft, draft.left)
        if more and more[-1][0] > 0:
            more = self._earlier_blocks(
                draft, draft.left - summary - self._heading_tokens(self.config.template.summary)
            )
        for start, worded in more:
            draft.add(start, worded)

    def _earlier_blocks(self, draft: _HistoryDraft, room: int) -> list[tuple[int, list[FormattedTurn]]]:
        """The blocks before those of the draft that fit, newest first; very long turns shortened."""
        fitting: list[tuple[int, list[FormattedTurn]]] = []
        recalled = {turn_identity(line.turn): _token_sum([line]) for line in draft.recalled}
        for start, block in exchange_blocks(draft.turns, draft.first):
            if self._is_beyond_recent_limit(draft, start):
                break
            room += sum(
                recalled.get(turn_identity(turn), 0) for turn in block
            )  # these are no longer recalled
            worded = self._word_whole_block(block, room)
            if draft.longest and (worded is None or max(line.tokens for line in worded) > draft.longest):
                worded = self._word_shortened_block(draft, block, room)
            if worded is None:
                break
            fitting.append((start, worded))
            room -= _token_sum(worded)
        return fitting

    def _reserve_summary(self, draft: _HistoryDraft, most: int) -> None:
        """Reserve tokens for a summary of the turns before the recent ones, if enough tokens are left."""
        heading = self._heading_tokens(self.config.template.summary)
        room = min(most, draft.left - heading)
        if draft.first and room >= MIN_CUT_TOKENS:
            draft.reserved = room + heading

    def _summarise_earlier(self, draft: _HistoryDraft, room: int) -> None:
        """Summarise the turns before the recent ones in at most `room` tokens."""
        earlier = draft.turns[: draft.first]
        summary = summarise(self._summarizer, earlier, room) if earlier else Summary()
        draft.summary = shorten_text(escape_headings(summary.text).strip(), room, self._tokenizer)
        draft.problem = summary.problem

    def _word_whole_block(self, block: Sequence[Turn], room: int) -> list[FormattedTurn] | None:
        """The lines of a block of turns, if all of them fit together; else None."""
        worded: list[FormattedTurn] = []
        for turn in block:
            line = self._wording.word(turn, self._recent_style, room - _JOIN_TOKENS)
            if line is None:
                return None
            worded.append(line)
            room -= _token_sum([line])
        return worded

    def _word_shortened_block(
        self, draft: _HistoryDraft, block: Sequence[Turn], room: int
    ) -> list[FormattedTurn] | None:
        """The lines of a block, its turns cut to equal shares of the tokens; None if one cannot be."""
        each = min(room // len(block) - _JOIN_TOKENS, draft.longest if draft.recent else room)
        shortened = (
            self._wording.shorten(turn, self._recent_style, each, draft.asked_words) for turn in block
        )
        worded = [line for line in shortened if line]
        return worded if len(worded) == len(block) else None

    def _shrink_to_exact_count(self, draft: _HistoryDraft, max_tokens: int) -> None:
        """Make the text of the draft, and drop the least needed turns while its exact count is too high."""
        while True:
            recent = [turn for block in reversed(draft.recent) for turn in block]
            recalled = sort_by_time(draft.recalled, draft.turns)
            draft.formatted = make_history(
                draft.summary, recalled, recent, self._tokenizer, self.config.template, draft.problem
            )
            if draft.tokens <= max_tokens or not (draft.formatted.text or draft.reserved):
                return
            draft.drop_least_needed()

    def _heading_tokens(self, text: str) -> int:
        """The tokens of a heading with its line break."""
        return self._wording.count(text) + _JOIN_TOKENS


class _HistoryDraft:
    """The turns chosen so far: recent blocks newest first, recalled turns best first.

    `reserved` is the number of tokens for a summary with its heading; `formatted` is the history without it.
    """

    def __init__(self, turns: Sequence[Turn], room: int, asked_words: Collection[str] = ()) -> None:
        self.turns = turns
        self.left = room
        self.asked_words = asked_words
        self.longest = 0
        self.first = len(turns)
        self.recent: list[list[FormattedTurn]] = []
        self.recalled: list[FormattedTurn] = []
        self.summary = self.problem = ""
        self.reserved = 0
        self.formatted = FormattedHistory()
        self.exchange = 0
        self._places: dict[Hashable, int] | None = None

    @property
    def tokens(self) -> int:
        """The tokens of the formatted history and those reserved for a summary."""
        return self.formatted.token_count + self.reserved

    def add(self, start: int, block: list[FormattedTurn]) -> None:
        """Add an earlier block, from place `start` on, to the recent turns; they are no longer recalled."""
        self.first = start
        self.recent.append(block)
        self.left -= _token_sum(block)
        said = {turn_identity(worded.turn) for worded in block}
        self.left += _token_sum([worded for worded in self.recalled if turn_identity(worded.turn) in said])
        self.recalled = [worded for worded in self.recalled if turn_identity(worded.turn) not in said]

    def with_question_or_answer(self, turn: Turn) -> list[Turn]:
        """A turn with the answer to its question, or the question to its answer, in their order."""
        if self._places is None:
            self._places = {turn_identity(one): place for place, one in enumerate(self.turns)}
        place = self._places.get(turn_identity(turn))
        return [turn] if place is None else question_and_answer(self.turns, place)

    def recent_turn_keys(self) -> set[Hashable]:
        """The keys of the recent turns; see `turn_identity`."""
        return {turn_identity(worded.turn) for block in self.recent for worded in block}

    def drop_least_needed(self) -> None:
        """Drop one thing, in this order: an old recent block, the summary, a recalled turn, any turn."""
        if len(self.recent) > self.exchange:
            self.recent.pop()
        elif self.summary or self.reserved:
            self.summary, self.reserved = "", 0
        elif self.recalled:
            self.recalled.pop()
        else:
            self.recent.pop()


def _token_sum(turns: Sequence[FormattedTurn]) -> int:
    """The tokens of some lines, with those that join them."""
    return sum(turn.tokens + _JOIN_TOKENS for turn in turns)


def _has_room_for_longer_turns(history: FormattedHistory, spare: int, max_tokens: int) -> bool:
    """Whether a turn was shortened although enough tokens are left over."""
    if spare < max(_MIN_FILL, int(max_tokens * _SPARE_SHARE)):
        return False
    return not all(map(is_unshortened, (*history.recalled, *history.recent_turns)))


def _choose_fuller(one: FormattedHistory, other: FormattedHistory) -> FormattedHistory:
    """The second history, if it uses more tokens and has no fewer recent turns; else the first."""
    is_fuller = other.token_count > one.token_count and len(other.recent_turns) >= len(one.recent_turns)
    return other if is_fuller else one
