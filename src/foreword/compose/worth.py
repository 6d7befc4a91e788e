"""Which parts of a prompt can be dropped, what each is worth, and which to keep within a target.

Parts of the least worth are dropped first, and only as many as necessary. When a large part is dropped, the
tokens it frees go to the best of the parts dropped before it, and to the ends of one that is too long; so the
prompt comes out near its target whatever the size of its parts. Recent turns are dropped from the oldest on
and come back from the newest on, a tool call with its answer; a recalled question is dropped with its answer.
Needless white space and repetition are the business of `compress.py`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from foreword.compose.cutting import MIN_CUT_TOKENS, extract_search_words, shorten_text
from foreword.compose.entity_context import drop_entity_details
from foreword.compose.formatted_history import FormattedHistory, make_history
from foreword.compose.knowledge_chunk import knowledge_chunk
from foreword.compose.prompt import NO_HISTORY, ContextContent, prompt_tokens
from foreword.compose.turns import shorten_formatted_turn, turn_blocks_from_end
from foreword.compose.user_context import make_user_context
from foreword.types import BesideSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from foreword.compose.summary import Summary
    from foreword.text.tokens import Tokenizer
    from foreword.types import Turn

    Summarise = Callable[[str, Sequence[Turn], int, BesideSummary], Summary]
    """A function that sums up an earlier summary and turns, in at most that many tokens, beside the rest."""

PartKind = Literal["recent", "recalled", "chunk", "details", "entity", "user", "summary"]

_LAST, _LAST_EXCHANGE, _RECENT, _OLDER = 1.0, 0.9, 0.55, 0.98
"""The worth of the last turn, of the others of its exchange, and of earlier ones, times the last number for
each block between."""

_RECALLED, _NEXT_RECALLED = 0.75, 0.96
_CHUNK, _CHUNK_RELEVANCE = 0.45, 0.45
_DETAILS, _ENTITY, _ENTITY_RELEVANCE = 0.1, 0.2, 0.5
_WISH, _FACT, _SUMMARY = 0.95, 0.65, 0.6
"""The worth of the other parts, from 0 to 1: a base, and what relevance adds or rank takes away."""

_JOIN_TOKENS = 2
"""At most how many tokens it costs to join a part to the others."""

_MARGINS = (4, 8, 24)
"""How many tokens a shortened part may be over the tokens it was cut to. Tokens do not add up exactly, so
what is left over is filled again, with a larger margin each time."""

_NEAR = 0.02
"""A prompt within this share of its target is not filled any further."""

_FAR = 0.1
"""A prompt farther than this share from its target gets a longer summary."""

_MAX_SUMMARY_TOKENS, _SUMMARY_SHARE = 200, 0.12
"""The most tokens for the summary of dropped turns, and the largest share of the target."""

_NAMES: dict[PartKind, str] = {
    "recent": "older turn",
    "recalled": "recalled turn",
    "chunk": "knowledge chunk",
    "entity": "entity",
    "user": "line from elsewhere",
}


@dataclass(frozen=True, slots=True)
class DroppablePart:
    """A part that can be dropped: its places among the parts of its kind, its tokens, and its worth."""

    kind: PartKind
    places: tuple[int, ...]
    tokens: int
    worth: float


def find_droppable_parts(content: ContextContent, tokenizer: Tokenizer) -> Iterator[DroppablePart]:
    """All parts that can be dropped; no two of one kind share a place."""
    history = content.history
    if history.summary:
        yield DroppablePart("summary", (0,), tokenizer.count(history.summary), _SUMMARY)
    yield from _recent_parts(history)
    yield from _recalled_parts(history)
    for at, chunk in enumerate(content.rag_chunks):
        yield DroppablePart("chunk", (at,), chunk.token_count, _CHUNK + _CHUNK_RELEVANCE * chunk.relevance)
    for at, entity in enumerate(content.entities):
        bare = drop_entity_details(entity, tokenizer).token_count
        if entity.has_details:
            yield DroppablePart("details", (at,), entity.token_count - bare, _DETAILS * entity.relevance)
        yield DroppablePart("entity", (at,), bare, _ENTITY + _ENTITY_RELEVANCE * entity.relevance)
    for at, line in enumerate(content.user.lines):
        worth = _WISH if line.section == "wish" else _FACT
        yield DroppablePart("user", (at,), tokenizer.count(line.prompt_line), worth)


def _recent_parts(history: FormattedHistory) -> Iterator[DroppablePart]:
    """The blocks of recent turns, newest first, each worth less than the one after it."""
    turns = [worded.turn for worded in history.recent_turns]
    end, in_last_exchange = len(turns), True
    for age, (start, _) in enumerate(turn_blocks_from_end(turns)):
        worth = _LAST if not age else _LAST_EXCHANGE if in_last_exchange else _RECENT * _OLDER**age
        places = tuple(range(start, end))
        tokens = sum(history.recent_turns[at].tokens + _JOIN_TOKENS for at in places)
        yield DroppablePart("recent", places, tokens, worth)
        in_last_exchange = in_last_exchange and turns[start].role != "user"
        end = start


def _recalled_parts(history: FormattedHistory) -> Iterator[DroppablePart]:
    """The recalled turns, one part for each rank."""
    by_rank: dict[int, list[int]] = {}
    for at, worded in enumerate(history.recalled):
        by_rank.setdefault(worded.rank, []).append(at)
    for rank, places in by_rank.items():
        tokens = sum(history.recalled[at].tokens + _JOIN_TOKENS for at in places)
        yield DroppablePart("recalled", tuple(places), tokens, _RECALLED * _NEXT_RECALLED**rank)


def reduce_to_target(
    content: ContextContent, target: int, tokenizer: Tokenizer, summarise: Summarise
) -> tuple[ContextContent, tuple[str, ...]]:
    """The content within the target, and near it, and in words what was lost.

    If even dropping all parts is not enough, the content is over the target.
    """
    choice = _PromptReduction(
        content, tokenizer, sorted(find_droppable_parts(content, tokenizer), key=lambda part: part.worth)
    )
    choice.drop_least_worth(target)
    choice.summarise_dropped_turns(target, summarise)
    choice.drop_least_worth(target)
    for margin in _MARGINS:
        choice.restore_parts_that_fit(target, margin)
    choice.lengthen_summary(target, summarise)
    return choice.build_content(), tuple(choice.describe_losses())


@dataclass(slots=True)
class _PromptReduction:
    """Which parts of a content are dropped so far, and which are shortened."""

    content: ContextContent
    tokenizer: Tokenizer
    parts: list[DroppablePart]
    dropped: set[DroppablePart] = field(default_factory=set)
    shortened: dict[tuple[PartKind, int], Any] = field(default_factory=dict)
    summary: Summary | None = None

    def drop_least_worth(self, target: int) -> None:
        """Drop parts, the least worth first, until the rest is within the target."""
        staying = [part for part in self.parts if part not in self.dropped]
        over = self._count_tokens() - target
        for part in staying:
            if over <= 0:
                return
            self.dropped.add(part)
            over -= part.tokens
            if over <= 0:
                over = self._count_tokens() - target
        if over > 0:
            self.summary = None

    def summarise_dropped_turns(self, target: int, summarise: Summarise) -> None:
        """Summarise the recent turns that were dropped, in at most half of their tokens."""
        history = self.content.history
        gone = [history.recent_turns[at] for at in sorted(self._dropped_places("recent"))]
        if not gone or self._dropped_places("summary"):
            return
        before = history.summary or ""
        half = (self.tokenizer.count(before) + sum(turn.tokens for turn in gone)) // 2
        room = min(_MAX_SUMMARY_TOKENS, int(target * _SUMMARY_SHARE), half)
        if room >= MIN_CUT_TOKENS:
            self.summary = summarise(
                before, [worded.turn for worded in gone], room, self._find_turns_that_stay()
            )

    def lengthen_summary(self, target: int, summarise: Summarise) -> None:
        """Make the summary of dropped turns longer, if many tokens are still left over."""
        spare = target - self._count_tokens()
        gone = [self.content.history.recent_turns[at].turn for at in sorted(self._dropped_places("recent"))]
        if spare < _FAR * target or not gone or self._dropped_places("summary"):
            return
        known = self.summary.text if self.summary else self.content.history.summary or ""
        room = self.tokenizer.count(known) + spare - max(_MARGINS)
        if room < MIN_CUT_TOKENS:
            return
        earlier, before = self.content.history.summary or "", self.summary
        self.summary = summarise(earlier, gone, room, self._find_turns_that_stay())
        if self._count_tokens() > target:
            self.summary = before

    def _find_turns_that_stay(self) -> BesideSummary:
        """The recent turns that stay, and the texts of all turns that stay."""
        history = self.content.history
        recent = self._kept_parts("recent", history.recent_turns)
        told = [*self._kept_parts("recalled", history.recalled), *recent]
        return BesideSummary([one.turn for one in recent], [one.content for one in told])

    def restore_parts_that_fit(self, target: int, margin: int) -> None:
        """Take back dropped parts that fit, the most worth first, and shorten one that does not."""
        for part in [
            part for part in self.parts if any((part.kind, at) in self.shortened for at in part.places)
        ]:
            self._leave_out_part(part)
        spare = target - self._count_tokens()
        back: list[DroppablePart] = []
        for part in sorted(self.dropped, key=lambda part: (-part.worth, part.places)):
            if spare <= _NEAR * target:
                break
            if not self._may_be_restored(part):
                continue
            cost = part.tokens + _JOIN_TOKENS
            if cost > spare:
                cost = self._shorten_part(part, spare - margin)
            if cost:
                self.dropped.remove(part)
                back.append(part)
                spare -= cost
        while back and self._count_tokens() > target:
            self._leave_out_part(back.pop())

    def _may_be_restored(self, part: DroppablePart) -> bool:
        """Whether a part may come back now: newer turns come back first, and an entity before its details."""
        if part.kind == "recent":
            return not any(one.kind == "recent" and one.places > part.places for one in self.dropped)
        return not (part.kind == "details" and part.places[0] in self._dropped_places("entity"))

    def _shorten_part(self, part: DroppablePart, room: int) -> int:
        """Shorten a part to `room` tokens; return what it then costs, or 0 if that cannot be done."""
        asked = extract_search_words(self.content.query)
        if part.kind == "chunk":
            chunk = self.content.rag_chunks[part.places[0]]
            around = chunk.token_count - self.tokenizer.count(chunk.content)
            text = shorten_text(chunk.content, room - around, self.tokenizer, asked)
            if not text:
                return 0
            short = knowledge_chunk(chunk.chunk_id, chunk.source, text, chunk.relevance, self.tokenizer)
            self.shortened["chunk", part.places[0]] = short
            return short.token_count + _JOIN_TOKENS
        if part.kind not in ("recent", "recalled"):
            return 0
        turns = self.content.history.recent_turns if part.kind == "recent" else self.content.history.recalled
        longest = max(part.places, key=lambda at: turns[at].tokens)
        others = part.tokens - turns[longest].tokens
        line = shorten_formatted_turn(turns[longest], room - others, self.tokenizer, asked)
        if line is None:
            return 0
        self.shortened[part.kind, longest] = line
        return others + line.tokens + _JOIN_TOKENS

    def _leave_out_part(self, part: DroppablePart) -> None:
        """Drop a part, and forget its shortened form."""
        self.dropped.add(part)
        for at in part.places:
            self.shortened.pop((part.kind, at), None)

    def build_content(self) -> ContextContent:
        """The content without the dropped parts, and with the shortened ones."""
        content = self.content
        bare = self._dropped_places("details")
        entities = [
            drop_entity_details(entity, self.tokenizer) if at in bare else entity
            for at, entity in enumerate(content.entities)
            if at not in self._dropped_places("entity")
        ]
        return replace(
            content,
            history=self._build_history(),
            entities=tuple(entities),
            rag_chunks=tuple(self._kept_parts("chunk", content.rag_chunks)),
            user=make_user_context(self._kept_parts("user", content.user.lines), self.tokenizer),
        )

    def _build_history(self) -> FormattedHistory:
        """The history without the dropped turns, with the summary of those that were dropped."""
        history = self.content.history
        recalled = self._kept_parts("recalled", history.recalled)
        recent = self._kept_parts("recent", history.recent_turns)
        summary = None if self._dropped_places("summary") else history.summary
        problem = history.problem
        if self.summary is not None:
            summary, problem = self.summary.text, self.summary.problem or problem
        if not (summary or recalled or recent):
            return replace(NO_HISTORY, problem=problem)
        return make_history(
            summary, recalled, recent, self.tokenizer, history.template, problem, history.opening
        )

    def describe_losses(self) -> Iterator[str]:
        """Descriptions of what was dropped and what was shortened."""
        counts = Counter(part.kind for part in self.dropped for _ in part.places)
        told = "but for a summary" if self.summary and self.summary.text else "without a summary"
        for kind, name in _NAMES.items():
            if counts[kind]:
                yield format_count_with_noun(counts[kind], name) + (f" {told}" if kind == "recent" else "")
        detailed = self._dropped_places("details") - self._dropped_places("entity")
        if detailed:
            yield f"the details of {format_count_with_noun(len(detailed), 'entity')}"
        if counts["summary"]:
            yield "the summary"
        if self.shortened:
            yield f"the middle of {format_count_with_noun(len(self.shortened), 'long part')}"

    def _kept_parts(self, kind: PartKind, ones: Sequence[Any]) -> list[Any]:
        """The parts of a kind that are not dropped, shortened where they were."""
        gone = self._dropped_places(kind)
        return [self.shortened.get((kind, at), one) for at, one in enumerate(ones) if at not in gone]

    def _dropped_places(self, kind: PartKind) -> set[int]:
        """The places of the dropped parts of a kind."""
        return {at for part in self.dropped if part.kind == kind for at in part.places}

    def _count_tokens(self) -> int:
        return prompt_tokens(self.build_content(), self.tokenizer)


def format_count_with_noun(count: int, thing: str) -> str:
    """A number with its noun, such as "2 entities"; empty for 0."""
    first, _, rest = thing.partition(" of ")
    plural = f"{first[:-1]}ies" if first.endswith("y") else f"{first}s"
    name = first if count == 1 else plural
    return f"{count} {f'{name} of {rest}' if rest else name}" if count else ""
