"""The conversation so far, worded within a number of tokens: whole, if it fits.

Else three things, each under its own heading: a summary of what is long ago, the earlier turns that bear on
the present question (found elsewhere, handed in; a question with its answer), and the recent turns as they
were said. In a small room the last exchange comes first, then what was recalled, then the summary, then more
of the recent turns, then what else was recalled. A very long turn, such as a pasted log, is told by its ends
and by what the question names, so that it does not push out all others. The text is counted as it stands,
joins included, and is never over. Only turns that may fit are looked at.
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
    is_told_in_full,
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

_JOIN = 2
"""At most how many tokens a line costs beside its own."""

_LONG_TURN_SHARE, _MIN_LONG_TURN = 0.25, 400
"""Where not all fits, a turn may have this share of the tokens, and this many in any case: more is shortened.
The last exchange may have more."""

_SPARE_SHARE = 0.03
"""With more than this share of the tokens left over, long turns are told at greater length."""

_MAX_LENGTHENINGS = 6
"""How often a greater length is tried; each time by half as much."""

_MAX_FILLS, _MIN_FILL = 4, 12
"""How often more is taken into room that was left over, and the least room that is worth it."""


@dataclass(frozen=True, slots=True)
class HistoryTemplate:
    """What stands around the parts of a history; `{}` in `summary` is where the summary goes."""

    summary: str = "[Conversation summary: {}]"
    recalled: str = "Earlier in this conversation:"
    recent: str = "Recent conversation:"

    def __post_init__(self) -> None:
        if "{}" not in self.summary:
            raise ValidationError(f"the template {self.summary!r} has no {{}}; put it where a summary goes")


DEFAULT_TEMPLATE = HistoryTemplate()


@dataclass(frozen=True, slots=True)
class HistoryFormatterConfig:
    """How a conversation is worded; the shares say how much of the room a part may take from the others.

    `verbatim_turns` is the most recent turns that are told; without it, as many as there is room for.
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

    `token_count` is that of `text`, and of the images of recent turns, which are sent with them; `reserved`
    is the room for a summary that is not made yet. `problem` says why there is no summary, or not all of it,
    where the summarizer failed.
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
    """The parts as one text, counted."""
    text = history_text(summary, recalled, recent, template)
    tokens = tokenizer.count(text) + turns_images_tokens(recent)
    return FormattedHistory(summary or None, tuple(recalled), tuple(recent), text, tokens, template, problem)


def history_text(
    summary: str | None,
    recalled: Sequence[FormattedTurn],
    recent: Sequence[FormattedTurn],
    template: HistoryTemplate,
) -> str:
    """The parts that are there under their headings, a blank line between them."""
    parts = [template.summary.replace("{}", indent_lines(escape_headings(summary), 2))] if summary else []
    for heading, turns in ((template.recalled, recalled), (template.recent, recent)):
        if turns:
            parts.append("\n".join((heading, *_lines_by_day(turns))))
    return "\n\n".join(parts)


def _lines_by_day(turns: Sequence[FormattedTurn]) -> Iterator[str]:
    """The lines of turns, the first of each day after the day."""
    day = ""
    for turn in turns:
        if turn.day and turn.day != day:
            day = turn.day
            yield day
        yield turn.formatted


class HistoryFormatter:
    """Words conversations; keeps nothing of them but the token counts of some turns."""

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
        self._recent = TurnStyle(self.config.include_speakers, self.config.include_timestamps)
        self._recalled = TurnStyle(
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

        Of a turn that is too long, what the query names stays. Without its summary, which takes longest to
        make, it has room for one: enough to see what it leaves to other parts.
        """
        asked, turns = words_asked_for(query), dialogue_state.turns
        draft = self._compose_at_length(turns, max_tokens, recalled, asked, self.config.max_summary_tokens)
        if not with_summary:
            return replace(draft.made, reserved=draft.reserved)
        is_summarised = bool(draft.reserved)
        made = self._add_summary(draft, recalled, max_tokens)
        if is_summarised and _has_room_for_longer_turns(made, max_tokens - made.token_count, max_tokens):
            # The summary is shorter than the room that was kept for it.
            summary = self._tokenizer.count(draft.summary)
            longer = self._compose_at_length(turns, max_tokens, recalled, asked, summary)
            made = _fuller(made, self._add_summary(longer, recalled, max_tokens))
        return made

    def _compose_at_length(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        recalled: Sequence[Turn],
        asked: Collection[str],
        max_summary: int,
    ) -> _HistoryDraft:
        """The conversation, long turns at as great a length as leaves no room empty."""
        longest = max(_MIN_LONG_TURN, int(max_tokens * _LONG_TURN_SHARE))
        draft = self._compose(turns, max_tokens, recalled, asked, longest, max_summary)
        more = max_tokens
        for _ in range(_MAX_LENGTHENINGS):
            spare = max_tokens - draft.tokens
            if not _has_room_for_longer_turns(draft.made, spare, max_tokens):
                break
            more = min(more // 2, spare)
            longer = self._compose(turns, max_tokens, recalled, asked, longest + more, max_summary)
            if longer.tokens > draft.tokens and len(longer.made.recent_turns) >= len(draft.made.recent_turns):
                draft, longest = longer, longest + more
        return draft

    def _compose(
        self,
        turns: Sequence[Turn],
        max_tokens: int,
        recalled: Sequence[Turn],
        asked: Collection[str],
        longest: int,
        max_summary: int,
    ) -> _HistoryDraft:
        """The conversation with no turn but those of the last exchange above `longest`, unless all fits.

        For a summary, where one is needed, there is room.
        """
        room = max_tokens - self._heading_tokens(self.config.template.recent)
        draft = _HistoryDraft(turns, room, asked)
        if self._take_whole_conversation(draft, recalled):
            self._shrink_to_exact_count(draft, max_tokens)
            return draft
        draft.longest = longest
        for_recalled = int(max_tokens * self.config.recalled_share)
        self._take_last_exchange(draft, draft.left - (for_recalled // 2 if recalled else 0))
        self._take_recalled(draft, recalled, for_recalled)
        self._take_more(draft, min(max_summary, int(max_tokens * self.config.summary_share)))
        self._reserve_summary(draft, max_summary)
        self._fill(draft, recalled, max_tokens)
        return draft

    def _fill(self, draft: _HistoryDraft, recalled: Sequence[Turn], max_tokens: int) -> None:
        """Take more of what was recalled, then of the recent turns, while there is room.

        Room is reckoned with a little to spare for every line; what is left over shows in the exact count.
        """
        self._shrink_to_exact_count(draft, max_tokens)
        for _ in range(_MAX_FILLS):
            draft.left = max_tokens - draft.tokens
            chosen = len(draft.recalled)
            if draft.left < _MIN_FILL:
                break
            if self.config.recalled_share:
                self._take_recalled(draft, recalled, draft.left)
            if len(draft.recalled) == chosen and not self._take_recent(draft):
                break
            self._shrink_to_exact_count(draft, max_tokens)

    def _add_summary(
        self, draft: _HistoryDraft, recalled: Sequence[Turn], max_tokens: int
    ) -> FormattedHistory:
        """The draft with its summary; what it leaves of its room goes to turns, and then it is made anew."""
        if not draft.reserved:
            return draft.made
        self._summarise_earlier(draft, draft.reserved - self._heading_tokens(self.config.template.summary))
        draft.reserved, summarised = 0, draft.first
        self._fill(draft, recalled, max_tokens)
        if draft.summary and draft.first < summarised:
            self._summarise_earlier(draft, self._tokenizer.count(draft.summary))
            self._shrink_to_exact_count(draft, max_tokens)
        return draft.made

    def _take_recent(self, draft: _HistoryDraft) -> bool:
        """More of the recent turns; returns whether there were any."""
        blocks = self._earlier_blocks(draft, draft.left) if draft.recent else []
        for start, worded in blocks:
            draft.add(start, worded)
        return bool(blocks)

    def _take_whole_conversation(self, draft: _HistoryDraft, recalled: Sequence[Turn]) -> bool:
        """All turns, if they fit and nothing was recalled from elsewhere; returns whether they do."""
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
        """The newest turns back to what the user said last; of a turn that is too long alone, what fits."""
        for start, block in exchange_blocks(draft.turns):
            if self._is_long_ago(draft, start):
                break
            worded = self._take_whole_block(block, room)
            if worded is None and not draft.recent:
                worded = self._take_shortened_block(draft, block, room)
            if worded is None:
                break
            draft.add(start, worded)
            room -= _token_sum(worded)
            if any(turn.role == "user" for turn in block):
                break
        draft.exchange = len(draft.recent)

    def _take_recalled(self, draft: _HistoryDraft, recalled: Sequence[Turn], allowed: int) -> None:
        """As many of the recalled as fit, best first, and with a question its answer.

        The best is shortened rather than left out.
        """
        room = left = min(allowed, draft.left)
        known = draft.recent_turn_keys() | {turn_identity(worded.turn) for worded in draft.recalled}
        days = {worded.day for worded in draft.recalled}
        for rank, turn in enumerate(recalled):
            if left <= _JOIN:
                break
            if turn_identity(turn) not in known:
                unit = [one for one in draft.exchange_of(turn) if turn_identity(one) not in known]
                worded = self._word_recalled(draft, unit, turn, left, days)
                left -= self._recalled_cost(draft, worded, days)
                known |= {turn_identity(line.turn) for line in worded}
                days |= {line.day for line in worded}
                draft.recalled += [replace(line, rank=rank) for line in worded]
        draft.left -= room - left

    def _word_recalled(
        self, draft: _HistoryDraft, unit: Sequence[Turn], turn: Turn, room: int, days: Collection[str]
    ) -> list[FormattedTurn]:
        """A recalled turn with what belongs to it; if that does not fit alone; if that does not, nothing.

        `days` are those that have their headings already.
        """
        for turns in (unit, [turn]):
            limit = min(room, draft.longest)
            worded = [line for one in turns if (line := self._word_or_shorten(draft, one, limit))]
            if len(worded) == len(turns) and self._recalled_cost(draft, worded, days) <= room:
                return worded
        if draft.recalled:
            return []
        day = self._recalled.day_heading(turn)
        inside = room - self._heading_tokens(self.config.template.recalled) - _JOIN
        inside -= self._heading_tokens(day) if day else 0
        short = self._wording.shorten(turn, self._recalled, inside, draft.asked)
        return [short] if short is not None else []

    def _word_or_shorten(self, draft: _HistoryDraft, turn: Turn, limit: int) -> FormattedTurn | None:
        """A recalled turn; one that is very long is told in part."""
        worded = self._wording.word(turn, self._recalled, limit)
        if worded is None and limit == draft.longest:
            worded = self._wording.shorten(turn, self._recalled, limit, draft.asked)
        return worded

    def _recalled_cost(
        self, draft: _HistoryDraft, worded: Sequence[FormattedTurn], days: Collection[str]
    ) -> int:
        """What more recalled turns cost, with the headings that are not there yet; nothing for none."""
        if not worded:
            return 0
        heading = 0 if draft.recalled else self._heading_tokens(self.config.template.recalled)
        new_days = {line.day for line in worded} - {"", *days}
        return heading + _token_sum(worded) + sum(map(self._heading_tokens, new_days))

    def _is_long_ago(self, draft: _HistoryDraft, start: int) -> bool:
        """Whether a turn is not one of the recent turns, where there is a most of these."""
        most = self.config.verbatim_turns
        return most is not None and len(draft.turns) - start > most

    def _take_more(self, draft: _HistoryDraft, summary: int) -> None:
        """More of the recent turns: all that were said, if they fit, else fewer, to leave a summary room."""
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
        """The blocks before those of the draft that fit, newest first; of very long turns, a part."""
        fitting: list[tuple[int, list[FormattedTurn]]] = []
        recalled = {turn_identity(line.turn): _token_sum([line]) for line in draft.recalled}
        for start, block in exchange_blocks(draft.turns, draft.first):
            if self._is_long_ago(draft, start):
                break
            room += sum(recalled.get(turn_identity(turn), 0) for turn in block)  # they need not be recalled
            worded = self._take_whole_block(block, room)
            if draft.longest and (worded is None or max(line.tokens for line in worded) > draft.longest):
                worded = self._take_shortened_block(draft, block, room)
            if worded is None:
                break
            fitting.append((start, worded))
            room -= _token_sum(worded)
        return fitting

    def _reserve_summary(self, draft: _HistoryDraft, most: int) -> None:
        """Keep room for what came before the recent turns, if anything did and there is room."""
        heading = self._heading_tokens(self.config.template.summary)
        room = min(most, draft.left - heading)
        if draft.first and room >= MIN_CUT_TOKENS:
            draft.reserved = room + heading

    def _summarise_earlier(self, draft: _HistoryDraft, room: int) -> None:
        """What came before the recent turns, in at most `room` tokens; nothing if nothing did."""
        earlier = draft.turns[: draft.first]
        summary = summarise(self._summarizer, earlier, room) if earlier else Summary()
        draft.summary = shorten_text(escape_headings(summary.text).strip(), room, self._tokenizer)
        draft.problem = summary.problem

    def _take_whole_block(self, block: Sequence[Turn], room: int) -> list[FormattedTurn] | None:
        """The turns of a block, if all of them fit together."""
        worded: list[FormattedTurn] = []
        for turn in block:
            line = self._wording.word(turn, self._recent, room - _JOIN)
            if line is None:
                return None
            worded.append(line)
            room -= _token_sum([line])
        return worded

    def _take_shortened_block(
        self, draft: _HistoryDraft, block: Sequence[Turn], room: int
    ) -> list[FormattedTurn] | None:
        """The turns of a block with the same room for each, at most that of a long turn; longer ones cut."""
        each = min(room // len(block) - _JOIN, draft.longest if draft.recent else room)
        worded = [
            line for turn in block if (line := self._wording.shorten(turn, self._recent, each, draft.asked))
        ]
        return worded if len(worded) == len(block) else None

    def _shrink_to_exact_count(self, draft: _HistoryDraft, max_tokens: int) -> None:
        """Put the draft into text; tokens do not add up exactly, so what is over goes, least needed first."""
        while True:
            recent = [turn for block in reversed(draft.recent) for turn in block]
            recalled = sort_by_time(draft.recalled, draft.turns)
            draft.made = make_history(
                draft.summary, recalled, recent, self._tokenizer, self.config.template, draft.problem
            )
            if draft.tokens <= max_tokens or not (draft.made.text or draft.reserved):
                return
            draft.drop()

    def _heading_tokens(self, text: str) -> int:
        return self._wording.count(text) + _JOIN


class _HistoryDraft:
    """What has been chosen so far: recent blocks newest first, recalled turns best first.

    `reserved` is the room that is kept for a summary, with its heading; `made` is the rest as it is worded.
    """

    def __init__(self, turns: Sequence[Turn], room: int, asked: Collection[str] = ()) -> None:
        self.turns = turns
        self.left = room
        self.asked = asked
        self.longest = 0
        self.first = len(turns)
        self.recent: list[list[FormattedTurn]] = []
        self.recalled: list[FormattedTurn] = []
        self.summary = self.problem = ""
        self.reserved = 0
        self.made = FormattedHistory()
        self.exchange = 0
        self._places: dict[Hashable, int] | None = None

    @property
    def tokens(self) -> int:
        """What it costs as it is worded, with the room for a summary."""
        return self.made.token_count + self.reserved

    def add(self, start: int, block: list[FormattedTurn]) -> None:
        """One block more of the recent turns, from that place on; what is in it need not be recalled."""
        self.first = start
        self.recent.append(block)
        self.left -= _token_sum(block)
        said = {turn_identity(worded.turn) for worded in block}
        self.left += _token_sum([worded for worded in self.recalled if turn_identity(worded.turn) in said])
        self.recalled = [worded for worded in self.recalled if turn_identity(worded.turn) not in said]

    def exchange_of(self, turn: Turn) -> list[Turn]:
        """A turn with the answer to its question, or the question to its answer, in the order of the talk."""
        if self._places is None:
            self._places = {turn_identity(one): place for place, one in enumerate(self.turns)}
        place = self._places.get(turn_identity(turn))
        return [turn] if place is None else question_and_answer(self.turns, place)

    def recent_turn_keys(self) -> set[Hashable]:
        """The keys of the recent turns; see `turn_identity`."""
        return {turn_identity(worded.turn) for block in self.recent for worded in block}

    def drop(self) -> None:
        """Drop what is needed least: an old recent turn, the summary, a recalled turn, at last any turn."""
        if len(self.recent) > self.exchange:
            self.recent.pop()
        elif self.summary or self.reserved:
            self.summary, self.reserved = "", 0
        elif self.recalled:
            self.recalled.pop()
        else:
            self.recent.pop()


def _token_sum(turns: Sequence[FormattedTurn]) -> int:
    return sum(turn.tokens + _JOIN for turn in turns)


def _has_room_for_longer_turns(made: FormattedHistory, spare: int, max_tokens: int) -> bool:
    """Whether a turn was cut though there is room to spare."""
    if spare < max(_MIN_FILL, int(max_tokens * _SPARE_SHARE)):
        return False
    return not all(map(is_told_in_full, (*made.recalled, *made.recent_turns)))


def _fuller(one: FormattedHistory, other: FormattedHistory) -> FormattedHistory:
    """The other, if it uses more of the room and tells no fewer of the recent turns."""
    is_fuller = other.token_count > one.token_count and len(other.recent_turns) >= len(one.recent_turns)
    return other if is_fuller else one
