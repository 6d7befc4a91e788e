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

from foreword.compose.cutting import MIN_CUT_TOKENS, extract_search_words, shorten_text
from foreword.compose.formatted_history import (
    DEFAULT_TEMPLATE,
    FormattedHistory,
    HistoryTemplate,
    make_history,
)
from foreword.compose.quoting import escape_headings
from foreword.compose.summary import Summary, summarise
from foreword.compose.turns import (
    FormattedTurn,
    TurnStyle,
    TurnWording,
    has_content,
    is_reply_to_user,
    is_unshortened,
    question_and_answer,
    sort_by_conversation_order,
    turn_blocks_from_end,
    turn_identity,
)
from foreword.options import check_fraction, check_whole_number
from foreword.types import BesideSummary

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Sequence

    from foreword.text.tokens import Tokenizer
    from foreword.types import DialogueState, DialogueSummarizer, Turn

_JOIN_TOKENS = 2
"""At most how many tokens it costs to join a line to the others."""

_LONG_TURN_SHARE, _MIN_LONG_TURN, _MAX_LONG_TURN_SHARE = 0.25, 400, 0.6
"""Where not everything fits, a turn may have the first share of the tokens, or so many tokens up to the last
share; a longer one is shortened. Turns of the last exchange may have more."""

_SPARE_SHARE = 0.03
"""If more than this share of the tokens is left over, long turns are shortened less."""

_MAX_LENGTHENINGS = 3
"""How often long turns are told in more tokens; the first time may make some of them whole."""

_MAX_FILLS, _MIN_FILL = 4, 12
"""How often more turns are taken into tokens left over, and the fewest tokens that are worth it."""


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
        self._recent_style = TurnStyle(
            self.config.include_speakers, self.config.include_timestamps, day=self.config.include_timestamps
        )
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
        draft = self._compose_draft(dialogue_state.turns, max_tokens, recalled, extract_search_words(query))
        if with_summary:
            return self._finish_history_with_summary(draft, recalled, max_tokens)
        return replace(draft.formatted, reserved=draft.reserved)

    def _compose_draft(
        self, turns: Sequence[Turn], max_tokens: int, recalled: Sequence[Turn], asked_words: Collection[str]
    ) -> _HistoryDraft:
        """A draft with all turns, if they fit; else with long turns shortened, to leave room for others.

        If a summary is needed, tokens are reserved for it.
        """
        max_summary = self.config.max_summary_tokens
        room = max_tokens - self._heading_tokens(self.config.template.recent)
        draft = _HistoryDraft(turns, room, asked_words)
        if self._add_whole_conversation_if_fits(draft, recalled):
            self._drop_turns_until_within_limit(draft, max_tokens)
            return draft
        draft.longest = max(
            min(_MIN_LONG_TURN, int(max_tokens * _MAX_LONG_TURN_SHARE)), int(max_tokens * _LONG_TURN_SHARE)
        )
        for_recalled = int(max_tokens * self.config.recalled_share)
        self._add_last_exchange_to_draft(draft, draft.left - (for_recalled // 2 if recalled else 0))
        self._add_recalled_turns_that_fit(draft, recalled, for_recalled)
        self._add_turns_leaving_summary_room(
            draft, min(max_summary, int(max_tokens * self.config.summary_share))
        )
        self._reserve_summary_tokens(draft, max_summary)
        self._fill_remaining_tokens(draft, recalled, max_tokens)
        return draft

    def _fill_remaining_tokens(self, draft: _HistoryDraft, recalled: Sequence[Turn], max_tokens: int) -> None:
        """Take more recalled turns, then more recent turns, while tokens are left; then lengthen them.

        Costs are estimated with a little to spare for every line, so the exact count shows tokens left over.
        """
        self._drop_turns_until_within_limit(draft, max_tokens)
        for _ in range(_MAX_FILLS):
            draft.left = max_tokens - draft.tokens
            chosen = len(draft.recalled)
            if draft.left < _MIN_FILL:
                break
            if self.config.recalled_share:
                self._add_recalled_turns_that_fit(draft, recalled, draft.left)
            if len(draft.recalled) == chosen and not self._extend_recent_turns_backwards(draft):
                break
            self._drop_turns_until_within_limit(draft, max_tokens)
        self._lengthen_shortened_turns(draft, max_tokens)

    def _lengthen_shortened_turns(self, draft: _HistoryDraft, max_tokens: int) -> None:
        """Tell more of the turns that were shortened, in equal shares of the tokens that are left."""
        for _ in range(_MAX_LENGTHENINGS):
            spare = max_tokens - draft.tokens
            shortened = draft.shortened_turns()
            if not shortened or spare < max(_MIN_FILL, int(max_tokens * _SPARE_SHARE)):
                break
            before = draft.formatted
            longer = [self._lengthen(draft, line, spare // len(shortened)) for line in shortened]
            draft.replace_lines(shortened, longer)
            self._build_draft_history(draft)
            if not before.token_count < draft.formatted.token_count <= max_tokens - draft.reserved:
                draft.replace_lines(longer, shortened)
                draft.formatted = before
                break

    def _lengthen(self, draft: _HistoryDraft, line: FormattedTurn, more: int) -> FormattedTurn:
        """A shortened line with `more` tokens at most; the line itself if it cannot be longer."""
        style = self._recalled_style if line in draft.recalled else self._recent_style
        longer = self._wording.shorten(line.turn, style, line.tokens + more, draft.asked_words)
        return replace(longer, rank=line.rank) if longer and longer.tokens > line.tokens else line

    def _finish_history_with_summary(
        self, draft: _HistoryDraft, recalled: Sequence[Turn], max_tokens: int
    ) -> FormattedHistory:
        """The history with its summary; tokens left over go to more turns.

        The summary is then made again, so that it does not repeat these turns.
        """
        if not draft.reserved:
            return draft.formatted
        self._summarise_earlier(draft, draft.reserved - self._heading_tokens(self.config.template.summary))
        draft.reserved, beside = 0, draft.find_turns_outside_summary()
        self._fill_remaining_tokens(draft, recalled, max_tokens)
        if draft.summary and draft.find_turns_outside_summary() != beside:
            self._summarise_earlier(draft, self._tokenizer.count(draft.summary))
            self._drop_turns_until_within_limit(draft, max_tokens)
            self._lengthen_shortened_turns(draft, max_tokens)
        return draft.formatted

    def _extend_recent_turns_backwards(self, draft: _HistoryDraft) -> bool:
        """Add earlier blocks to the recent turns of the draft; return whether there were any."""
        blocks = self._earlier_blocks(draft, draft.left) if draft.recent else []
        for start, worded in blocks:
            draft.add_earlier_block(start, worded)
        return bool(blocks)

    def _add_whole_conversation_if_fits(self, draft: _HistoryDraft, recalled: Sequence[Turn]) -> bool:
        """Take all turns if they fit and all recalled turns are among them; return whether they do."""
        blocks = self._earlier_blocks(draft, draft.left)
        start = blocks[-1][0] if blocks else len(draft.turns)
        if next(turn_blocks_from_end(draft.turns, start), None) is not None:
            return False
        known = {turn_identity(turn) for turn in draft.turns}
        if any(turn_identity(turn) not in known for turn in recalled):
            return False
        for first, worded in blocks:
            draft.add_earlier_block(first, worded)
        draft.exchange = len(draft.recent)
        return True

    def _add_last_exchange_to_draft(self, draft: _HistoryDraft, room: int) -> None:
        """Take the newest turns back to the user's last turn; shorten the newest if it is too long."""
        for start, block in turn_blocks_from_end(draft.turns):
            if self._is_older_than_recent_limit(draft, start):
                break
            room -= self._count_added_heading_tokens(block, draft.recent_days())
            worded = self._format_whole_block(block, room)
            if worded is None and not draft.recent:
                worded = self._format_shortened_block(draft, block, room)
            if worded is None:
                break
            draft.add_earlier_block(start, worded)
            room -= _token_sum(worded)
            if any(turn.role == "user" for turn in block):
                break
        draft.exchange = len(draft.recent)

    def _add_recalled_turns_that_fit(
        self, draft: _HistoryDraft, recalled: Sequence[Turn], allowed: int
    ) -> None:
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
                worded = self._format_recalled_with_counterpart(draft, unit, turn, left, days)
                left -= self._recalled_cost(draft, worded, days)
                known |= {turn_identity(line.turn) for line in worded}
                days |= {line.day for line in worded}
                draft.recalled += [replace(line, rank=rank) for line in worded]
        draft.left -= room - left

    def _format_recalled_with_counterpart(
        self, draft: _HistoryDraft, unit: Sequence[Turn], turn: Turn, room: int, days: Collection[str]
    ) -> list[FormattedTurn]:
        """A recalled turn with its question or answer; alone, if both do not fit; else empty.

        If nothing has been recalled yet, the turn is shortened instead. `days` already have their headings.
        """
        for turns in (unit, [turn]):
            limit = min(room, draft.longest)
            worded = [line for one in turns if (line := self._format_or_shorten(draft, one, limit))]
            if len(worded) == len(turns) and self._recalled_cost(draft, worded, days) <= room:
                return worded
        if draft.recalled:
            return []
        day = self._recalled_style.day_heading(turn)
        inside = room - self._heading_tokens(self.config.template.recalled) - _JOIN_TOKENS
        inside -= self._heading_tokens(day) if day else 0
        short = self._wording.shorten(turn, self._recalled_style, inside, draft.asked_words)
        return [short] if short is not None else []

    def _format_or_shorten(self, draft: _HistoryDraft, turn: Turn, limit: int) -> FormattedTurn | None:
        """A recalled turn within the limit, if need be shortened; None if it does not fit."""
        worded = self._wording.format_if_fits(turn, self._recalled_style, limit)
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

    def _is_older_than_recent_limit(self, draft: _HistoryDraft, start: int) -> bool:
        """Whether a turn comes before the last `verbatim_turns` turns, if there is such a limit."""
        most = self.config.verbatim_turns
        return most is not None and len(draft.turns) - start > most

    def _add_turns_leaving_summary_room(self, draft: _HistoryDraft, summary: int) -> None:
        """Take all earlier turns if they fit; else fewer, to leave tokens for a summary."""
        if not draft.recent:
            return
        more = self._earlier_blocks(draft, draft.left)
        if more and more[-1][0] > 0:
            more = self._earlier_blocks(
                draft, draft.left - summary - self._heading_tokens(self.config.template.summary)
            )
        for start, worded in more:
            draft.add_earlier_block(start, worded)

    def _earlier_blocks(self, draft: _HistoryDraft, room: int) -> list[tuple[int, list[FormattedTurn]]]:
        """The blocks before those of the draft that fit, newest first; very long turns shortened."""
        fitting: list[tuple[int, list[FormattedTurn]]] = []
        recalled = {turn_identity(line.turn): _token_sum([line]) for line in draft.recalled}
        days = draft.recent_days()
        for start, block in turn_blocks_from_end(draft.turns, draft.first):
            if self._is_older_than_recent_limit(draft, start):
                break
            for turn in block:
                room += recalled.get(turn_identity(turn), 0)  # it is no longer recalled
            room -= self._count_added_heading_tokens(block, days)
            worded = self._format_whole_block(block, room)
            if draft.longest and (worded is None or max(line.tokens for line in worded) > draft.longest):
                worded = self._format_shortened_block(draft, block, room)
            if worded is None:
                break
            fitting.append((start, worded))
            days |= {line.day for line in worded}
            room -= _token_sum(worded)
        while fitting and is_reply_to_user(draft.turns, fitting[-1][0]):
            fitting.pop()
        return fitting

    def _reserve_summary_tokens(self, draft: _HistoryDraft, most: int) -> None:
        """Reserve tokens for a summary of the turns before the recent ones, if enough tokens are left."""
        heading = self._heading_tokens(self.config.template.summary)
        room = min(most, draft.left - heading)
        if draft.first and room >= MIN_CUT_TOKENS:
            draft.reserved = room + heading

    def _summarise_earlier(self, draft: _HistoryDraft, room: int) -> None:
        """Summarise the turns before the recent ones in at most `room` tokens."""
        earlier, beside = draft.turns[: draft.first], draft.find_turns_outside_summary()
        summary = summarise(self._summarizer, earlier, room, beside) if earlier else Summary()
        draft.summary = shorten_text(escape_headings(summary.text).strip(), room, self._tokenizer)
        draft.problem = summary.problem

    def _count_added_heading_tokens(self, block: Sequence[Turn], days: Collection[str]) -> int:
        """The tokens of the headings that recent turns need in addition to those of `days`."""
        if not self._recent_style.day:
            return 0
        new_days = {self._recent_style.day_heading(turn) for turn in block} - {"", *days}
        return sum(map(self._heading_tokens, new_days))

    def _format_whole_block(self, block: Sequence[Turn], room: int) -> list[FormattedTurn] | None:
        """The lines of a block of turns, if all of them fit together; else None."""
        worded: list[FormattedTurn] = []
        for turn in block:
            line = self._wording.format_if_fits(turn, self._recent_style, room - _JOIN_TOKENS)
            if line is None:
                return None
            worded.append(line)
            room -= line.tokens + _JOIN_TOKENS
        return worded

    def _format_shortened_block(
        self, draft: _HistoryDraft, block: Sequence[Turn], room: int
    ) -> list[FormattedTurn] | None:
        """The lines of a block, its turns cut to equal shares of the tokens; None if one cannot be."""
        each = min(room // len(block) - _JOIN_TOKENS, draft.longest if draft.recent else room)
        shortened = (
            self._wording.shorten(turn, self._recent_style, each, draft.asked_words) for turn in block
        )
        worded = [line for line in shortened if line]
        return worded if len(worded) == len(block) else None

    def _drop_turns_until_within_limit(self, draft: _HistoryDraft, max_tokens: int) -> None:
        """Make the text of the draft, and drop the least needed turns while its exact count is too high."""
        while True:
            self._build_draft_history(draft)
            if draft.tokens <= max_tokens or not (draft.formatted.text or draft.reserved):
                return
            draft.drop_least_needed()

    def _build_draft_history(self, draft: _HistoryDraft) -> None:
        """Make the history of the draft from its turns and its summary."""
        recent = [turn for block in reversed(draft.recent) for turn in block]
        recalled = sort_by_conversation_order(draft.recalled, draft.turns)
        parts = (draft.summary, recalled, recent)
        draft.formatted = make_history(
            *parts, self._tokenizer, self.config.template, draft.problem, draft.opening
        )

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
        self.opening = next((turn_identity(turn) for turn in turns if has_content(turn)), None)
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

    def add_earlier_block(self, start: int, block: list[FormattedTurn]) -> None:
        """Add an earlier block, from place `start` on, to the recent turns; they are no longer recalled."""
        self.first = start
        self.recent.append(block)
        self.left -= _token_sum(block)
        said = {turn_identity(worded.turn) for worded in block}
        self.left += _token_sum([worded for worded in self.recalled if turn_identity(worded.turn) in said])
        self.recalled = [worded for worded in self.recalled if turn_identity(worded.turn) not in said]

    def with_question_or_answer(self, turn: Turn) -> list[Turn]:
        """A turn with the answer to its question, or the question to its answer, in their order."""
        place = self._places_by_identity().get(turn_identity(turn))
        return [turn] if place is None else question_and_answer(self.turns, place)

    def recent_days(self) -> set[str]:
        """The days of the recent turns, which have their headings."""
        return {worded.day for block in self.recent for worded in block}

    def find_turns_outside_summary(self) -> BesideSummary:
        """The turns after those that are summarised, and the texts of the turns that are told."""
        told = [*self.recalled, *(worded for block in self.recent for worded in block)]
        return BesideSummary(tuple(self.turns[self.first :]), tuple(worded.content for worded in told))

    def recent_turn_keys(self) -> set[Hashable]:
        """The keys of the recent turns; see `turn_identity`."""
        return {turn_identity(worded.turn) for block in self.recent for worded in block}

    def shortened_turns(self) -> list[FormattedTurn]:
        """The recent and recalled turns that are not told whole."""
        lines = (*(line for block in self.recent for line in block), *self.recalled)
        return [line for line in lines if not is_unshortened(line)]

    def replace_lines(self, lines: Sequence[FormattedTurn], others: Sequence[FormattedTurn]) -> None:
        """Put other lines in the places of some lines."""
        by_id = {id(line): other for line, other in zip(lines, others, strict=True)}
        self.recent = [[by_id.get(id(line), line) for line in block] for block in self.recent]
        self.recalled = [by_id.get(id(line), line) for line in self.recalled]

    def drop_least_needed(self) -> None:
        """Drop one thing, in this order: an old recent block, the summary, a recalled turn, any turn."""
        if len(self.recent) > self.exchange:
            self._drop_oldest_exchange()
        elif self.summary or self.reserved:
            self.summary, self.reserved = "", 0
        elif self.recalled:
            self.recalled.pop()
        else:
            self.recent.pop()

    def _drop_oldest_exchange(self) -> None:
        """Drop the oldest recent block, and the answer to its question."""
        self.recent.pop()
        places = self._places_by_identity()
        self.first = places[turn_identity(self.recent[-1][0].turn)] if self.recent else len(self.turns)
        if len(self.recent) > self.exchange and is_reply_to_user(self.turns, self.first):
            self._drop_oldest_exchange()

    def _places_by_identity(self) -> dict[Hashable, int]:
        """The places of the turns by their keys; see `turn_identity`."""
        if self._places is None:
            self._places = {turn_identity(one): place for place, one in enumerate(self.turns)}
        return self._places


def _token_sum(turns: Sequence[FormattedTurn]) -> int:
    """The tokens of some lines, with those that join them."""
    return sum(turn.tokens + _JOIN_TOKENS for turn in turns)
