"""What of a prompt can leave, how much each part would be missed, and a choice of parts within a target.

The least worth leaves first, and only as much as has to. When a large part leaves, what it frees goes to the
best of those that left before it, and to the ends of one that is too long: so a prompt comes out near its
target, however its parts are cut. Recent turns leave from the oldest on and come back from the newest on, a
call of a tool with its answer; a recalled question leaves with its answer. What costs nothing to give up,
white space and repetition, is left to `compress.py`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from foreword.compose.cutting import MIN_CUT_TOKENS, shorten_text, words_asked_for
from foreword.compose.entity_context import without_details
from foreword.compose.history import FormattedHistory, make_history
from foreword.compose.knowledge_chunk import knowledge_chunk
from foreword.compose.prompt import NO_HISTORY, ContextContent, prompt_tokens
from foreword.compose.turns import exchange_blocks, shorten_worded_turn
from foreword.compose.user_context import make_user_context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from foreword.compose.summary import Summary
    from foreword.text.tokens import Tokenizer
    from foreword.types import Turn

    Summarise = Callable[[str, Sequence[Turn], int], Summary]
    """A summary of an earlier summary and of turns, in at most that many tokens."""

PartKind = Literal["recent", "recalled", "chunk", "details", "entity", "user", "summary"]

_LAST, _LAST_EXCHANGE, _RECENT, _OLDER = 1.0, 0.9, 0.55, 0.98
"""The worth of the last turn, of the others of its exchange, and of those before, less for each between."""

_RECALLED, _NEXT_RECALLED = 0.75, 0.96
_CHUNK, _CHUNK_RELEVANCE = 0.45, 0.45
_DETAILS, _ENTITY, _ENTITY_RELEVANCE = 0.1, 0.2, 0.5
_RULE, _FACT, _SUMMARY = 0.95, 0.65, 0.6
"""The worth of the other parts, from 0 to 1: a ground, and what their relevance adds or their rank takes."""

_JOIN = 2
"""At most how many tokens a part costs beside its own."""

_MARGINS = (4, 8, 24)
"""What a part that is shortened may cost beside the room it is cut to. Tokens do not add up exactly, so room
that is still left over is filled again, with more care each time."""

_NEAR = 0.02
"""A prompt that is this near to its target, as a share of it, is not filled any further."""

_FAR = 0.1
"""A prompt that is farther from its target, as a share of it, tells more in its summary."""

_MAX_SUMMARY_TOKENS, _SUMMARY_SHARE = 200, 0.12
"""How many tokens the summary of the turns that left may have, and which share of the target."""

_NAMES: dict[PartKind, str] = {
    "recent": "older turn",
    "recalled": "recalled turn",
    "chunk": "knowledge chunk",
    "entity": "entity",
    "user": "line of what the user said before",
}


@dataclass(frozen=True, slots=True)
class Part:
    """Something that can leave: its places among its kind, what it costs, and what it is worth."""

    kind: PartKind
    places: tuple[int, ...]
    tokens: int
    worth: float


def find_parts(content: ContextContent, tokenizer: Tokenizer) -> Iterator[Part]:
    """Everything that can leave, no two parts sharing a place of one kind."""
    history = content.history
    if history.summary:
        yield Part("summary", (0,), tokenizer.count(history.summary), _SUMMARY)
    yield from _recent_parts(history)
    yield from _recalled_parts(history)
    for at, chunk in enumerate(content.rag_chunks):
        yield Part("chunk", (at,), chunk.token_count, _CHUNK + _CHUNK_RELEVANCE * chunk.relevance)
    for at, entity in enumerate(content.entities):
        bare = without_details(entity, tokenizer).token_count
        if entity.has_details:
            yield Part("details", (at,), entity.token_count - bare, _DETAILS * entity.relevance)
        yield Part("entity", (at,), bare, _ENTITY + _ENTITY_RELEVANCE * entity.relevance)
    for at, line in enumerate(content.user.lines):
        yield Part("user", (at,), tokenizer.count(line.prompt_line), _RULE if line.is_rule else _FACT)


def _recent_parts(history: FormattedHistory) -> Iterator[Part]:
    turns = [worded.turn for worded in history.recent_turns]
    end, in_last_exchange = len(turns), True
    for age, (start, _) in enumerate(exchange_blocks(turns)):
        worth = _LAST if not age else _LAST_EXCHANGE if in_last_exchange else _RECENT * _OLDER**age
        places = tuple(range(start, end))
        tokens = sum(history.recent_turns[at].tokens + _JOIN for at in places)
        yield Part("recent", places, tokens, worth)
        in_last_exchange = in_last_exchange and turns[start].role != "user"
        end = start


def _recalled_parts(history: FormattedHistory) -> Iterator[Part]:
    by_rank: dict[int, list[int]] = {}
    for at, worded in enumerate(history.recalled):
        by_rank.setdefault(worded.rank, []).append(at)
    for rank, places in by_rank.items():
        tokens = sum(history.recalled[at].tokens + _JOIN for at in places)
        yield Part("recalled", tuple(places), tokens, _RECALLED * _NEXT_RECALLED**rank)


def reduce_to(
    content: ContextContent, target: int, tokenizer: Tokenizer, summarise: Summarise
) -> tuple[ContextContent, tuple[str, ...]]:
    """The content near a target and not above it, unless nothing is left; and in words what was lost."""
    choice = _Choice(content, tokenizer, sorted(find_parts(content, tokenizer), key=lambda part: part.worth))
    choice.drop_least_worth(target)
    choice.tell_what_left(target, summarise)
    choice.drop_least_worth(target)
    for margin in _MARGINS:
        choice.take_back(target, margin)
    choice.tell_more(target, summarise)
    return choice.build_content(), tuple(choice.losses())


@dataclass(slots=True)
class _Choice:
    """Which parts of a content have left so far, and which are told in fewer words."""

    content: ContextContent
    tokenizer: Tokenizer
    parts: list[Part]
    left: set[Part] = field(default_factory=set)
    shorter: dict[tuple[PartKind, int], Any] = field(default_factory=dict)
    summary: Summary | None = None

    def drop_least_worth(self, target: int) -> None:
        """Let parts leave, the least worth first, until the rest is within the target."""
        staying = [part for part in self.parts if part not in self.left]
        over = self._count_tokens() - target
        for part in staying:
            if over <= 0:
                return
            self.left.add(part)
            over -= part.tokens
            if over <= 0:
                over = self._count_tokens() - target
        if over > 0:
            self.summary = None

    def tell_what_left(self, target: int, summarise: Summarise) -> None:
        """Tell the recent turns that left in a summary, which is at most half of what it replaces."""
        history = self.content.history
        gone = [history.recent_turns[at] for at in sorted(self._places_that_leave("recent"))]
        if not gone or self._places_that_leave("summary"):
            return
        before = history.summary or ""
        half = (self.tokenizer.count(before) + sum(turn.tokens for turn in gone)) // 2
        room = min(_MAX_SUMMARY_TOKENS, int(target * _SUMMARY_SHARE), half)
        if room >= MIN_CUT_TOKENS:
            self.summary = summarise(before, [worded.turn for worded in gone], room)

    def tell_more(self, target: int, summarise: Summarise) -> None:
        """Let the summary tell more of what left, where nothing that left could be taken back in part."""
        spare = target - self._count_tokens()
        gone = [
            self.content.history.recent_turns[at].turn for at in sorted(self._places_that_leave("recent"))
        ]
        if spare < _FAR * target or not gone or self._places_that_leave("summary"):
            return
        known = self.summary.text if self.summary else self.content.history.summary or ""
        room = self.tokenizer.count(known) + spare - max(_MARGINS)
        if room < MIN_CUT_TOKENS:
            return
        before, self.summary = self.summary, summarise(self.content.history.summary or "", gone, room)
        if self._count_tokens() > target:
            self.summary = before

    def take_back(self, target: int, margin: int) -> None:
        """Take back what fits, the most worth first, and a part of what does not."""
        for part in [
            part for part in self.parts if any((part.kind, at) in self.shorter for at in part.places)
        ]:
            self._remove(part)
        spare = target - self._count_tokens()
        back: list[Part] = []
        for part in sorted(self.left, key=lambda part: (-part.worth, part.places)):
            if spare <= _NEAR * target:
                break
            if not self._may_return(part):
                continue
            cost = part.tokens + _JOIN
            if cost > spare:
                cost = self._shorten(part, spare - margin)
            if cost:
                self.left.remove(part)
                back.append(part)
                spare -= cost
        while back and self._count_tokens() > target:
            self._remove(back.pop())

    def _may_return(self, part: Part) -> bool:
        """Whether nothing has to come back before a part: a newer turn, or whom details are of."""
        if part.kind == "recent":
            return not any(one.kind == "recent" and one.places > part.places for one in self.left)
        return not (part.kind == "details" and part.places[0] in self._places_that_leave("entity"))

    def _shorten(self, part: Part, room: int) -> int:
        """Tell a part in at most `room` tokens; returns what it then costs, or 0 if it cannot be told so."""
        asked = words_asked_for(self.content.query)
        if part.kind == "chunk":
            chunk = self.content.rag_chunks[part.places[0]]
            around = chunk.token_count - self.tokenizer.count(chunk.content)
            text = shorten_text(chunk.content, room - around, self.tokenizer, asked)
            if not text:
                return 0
            short = knowledge_chunk(chunk.chunk_id, chunk.source, text, chunk.relevance, self.tokenizer)
            self.shorter["chunk", part.places[0]] = short
            return short.token_count + _JOIN
        if part.kind not in ("recent", "recalled"):
            return 0
        turns = self.content.history.recent_turns if part.kind == "recent" else self.content.history.recalled
        longest = max(part.places, key=lambda at: turns[at].tokens)
        others = part.tokens - turns[longest].tokens
        line = shorten_worded_turn(turns[longest], room - others, self.tokenizer, asked)
        if line is None:
            return 0
        self.shorter[part.kind, longest] = line
        return others + line.tokens + _JOIN

    def _remove(self, part: Part) -> None:
        self.left.add(part)
        for at in part.places:
            self.shorter.pop((part.kind, at), None)

    # What is made of the choice

    def build_content(self) -> ContextContent:
        """The content without what left."""
        content = self.content
        bare = self._places_that_leave("details")
        entities = [
            without_details(entity, self.tokenizer) if at in bare else entity
            for at, entity in enumerate(content.entities)
            if at not in self._places_that_leave("entity")
        ]
        return replace(
            content,
            history=self._build_history(),
            entities=tuple(entities),
            rag_chunks=tuple(self._parts_that_stay("chunk", content.rag_chunks)),
            user=make_user_context(self._parts_that_stay("user", content.user.lines), self.tokenizer),
        )

    def _build_history(self) -> FormattedHistory:
        history = self.content.history
        recalled = self._parts_that_stay("recalled", history.recalled)
        recent = self._parts_that_stay("recent", history.recent_turns)
        summary = None if self._places_that_leave("summary") else history.summary
        problem = history.problem
        if self.summary is not None:
            summary, problem = self.summary.text, self.summary.problem or problem
        if not (summary or recalled or recent):
            return replace(NO_HISTORY, problem=problem)
        return make_history(summary, recalled, recent, self.tokenizer, history.template, problem)

    def losses(self) -> Iterator[str]:
        """In words, what left and what is told in part."""
        counts = Counter(part.kind for part in self.left for _ in part.places)
        told = "but for a summary" if self.summary and self.summary.text else "without a summary"
        for kind, name in _NAMES.items():
            if counts[kind]:
                yield count_of(counts[kind], name) + (f" {told}" if kind == "recent" else "")
        detailed = self._places_that_leave("details") - self._places_that_leave("entity")
        if detailed:
            yield f"the details of {count_of(len(detailed), 'entity')}"
        if counts["summary"]:
            yield "the summary"
        if self.shorter:
            yield f"the middle of {count_of(len(self.shorter), 'long part')}"

    def _parts_that_stay(self, kind: PartKind, ones: Sequence[Any]) -> list[Any]:
        gone = self._places_that_leave(kind)
        return [self.shorter.get((kind, at), one) for at, one in enumerate(ones) if at not in gone]

    def _places_that_leave(self, kind: PartKind) -> set[int]:
        return {at for part in self.left if part.kind == kind for at in part.places}

    def _count_tokens(self) -> int:
        return prompt_tokens(self.build_content(), self.tokenizer)


def count_of(count: int, thing: str) -> str:
    """How many of a thing, in words; nothing for none."""
    first, _, rest = thing.partition(" of ")
    plural = f"{first[:-1]}ies" if first.endswith("y") else f"{first}s"
    name = first if count == 1 else plural
    return f"{count} {f'{name} of {rest}' if rest else name}" if count else ""
