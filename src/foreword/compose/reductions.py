"""Single steps that make a prompt smaller: each takes one kind of thing away and says in words what it took.

A step that finds nothing to take says nothing. None touches the query or the system prompt, none counts the
whole: which steps are needed is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.compose.entity_context import without_details
from foreword.compose.history import FormattedHistory, history_of
from foreword.compose.middle import shortened_in_middle
from foreword.compose.prompt import NO_HISTORY, ContextContent, prompt_tokens
from foreword.compose.telling import Told, told
from foreword.compose.turns import FormattedTurn, blocks, tidied

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.text.tokens import Tokenizer
    from foreword.types import DialogueSummarizer, Turn

_MARGIN = 4
"""Tokens that joining may cost."""


@dataclass(frozen=True, slots=True)
class Means:
    """What steps work with, and how many tokens the whole may have."""

    summarizer: DialogueSummarizer
    tokenizer: Tokenizer
    target: int


Reduction = Callable[[ContextContent, Means], tuple[ContextContent, str]]
"""From a content to a smaller one, and what is lost; no words when nothing is."""


def tidy(content: ContextContent, means: Means) -> tuple[ContextContent, str]:
    """Turns without white space that says nothing."""
    history = content.history
    recalled, recent = (
        tuple(tidied(turn, means.tokenizer) for turn in turns)
        for turns in (history.recalled, history.recent_turns)
    )
    if (recalled, recent) == (history.recalled, history.recent_turns):
        return content, ""
    return _with_history(content, means, recalled=recalled, recent=recent), "empty space in turns"


def without_repeats(content: ContextContent, means: Means) -> tuple[ContextContent, str]:  # noqa: ARG001
    """Chunks that no better chunk contains."""
    kept: list[str] = []
    chunks = []
    for chunk in content.rag_chunks:
        words = " ".join(chunk.content.split())
        if not any(words in other for other in kept):
            kept.append(words)
            chunks.append(chunk)
    lost = len(content.rag_chunks) - len(chunks)
    return replace(content, rag_chunks=tuple(chunks)), _many(lost, "repeated knowledge chunk")


def fewer_details(content: ContextContent, means: Means) -> tuple[ContextContent, str]:
    """Entities by name and type alone."""
    detailed = sum(entity.has_details for entity in content.entities)
    bare = tuple(without_details(entity, means.tokenizer) for entity in content.entities)
    return replace(content, entities=bare), f"the details of {_many(detailed, 'entity')}" if detailed else ""


def top_chunks(most: int) -> Reduction:
    """The step that keeps so many of the best chunks, in the order they have."""

    def step(content: ContextContent, means: Means) -> tuple[ContextContent, str]:  # noqa: ARG001
        best = sorted(content.rag_chunks, key=lambda chunk: -chunk.relevance)[:most]
        chunks = tuple(chunk for chunk in content.rag_chunks if chunk in best)[:most]
        lost = len(content.rag_chunks) - len(chunks)
        return replace(content, rag_chunks=chunks), _many(lost, "knowledge chunk")

    return step


def top_entities(most: int) -> Reduction:
    """The step that keeps so many of the most relevant entities."""

    def step(content: ContextContent, means: Means) -> tuple[ContextContent, str]:  # noqa: ARG001
        entities = tuple(sorted(content.entities, key=lambda entity: -entity.relevance)[:most])
        return replace(content, entities=entities), _many(len(content.entities) - len(entities), "entity")

    return step


def older_summarised(keep: int, tokens: int) -> Reduction:
    """The step that keeps about so many of the recent turns and tells the others in so many tokens.

    The summary is at most half of what it replaces, or the step would be none.
    """

    def step(content: ContextContent, means: Means) -> tuple[ContextContent, str]:
        history = content.history
        first = _first_kept(history, keep)
        older, recent = history.recent_turns[:first], history.recent_turns[first:]
        before = history.summary or ""
        if not older and means.tokenizer.count(before) <= tokens:
            return content, ""
        half = (means.tokenizer.count(before) + sum(turn.tokens for turn in older)) // 2
        summary = _summed_up(before, [turn.turn for turn in older], min(tokens, half), means)
        how = "but for a summary" if summary.text else "without a summary"
        lost = f"{_many(len(older), 'older turn')} {how}" if older else "some of the summary"
        made = _with_history(content, means, summary=summary.text, recent=recent)
        problem = summary.problem or history.problem
        return replace(made, history=replace(made.history, problem=problem)), lost

    return step


def best_recalled(most: int) -> Reduction:
    """The step that keeps so many of the earlier turns that bear on the question, the best of them."""

    def step(content: ContextContent, means: Means) -> tuple[ContextContent, str]:
        recalled = content.history.recalled
        best = sorted(recalled, key=lambda turn: turn.rank)[:most]
        if len(best) == len(recalled):
            return content, ""
        kept = tuple(turn for turn in recalled if turn in best)
        return (
            _with_history(content, means, recalled=kept),
            _many(len(recalled) - len(kept), "recalled turn"),
        )

    return step


def without_summary(content: ContextContent, means: Means) -> tuple[ContextContent, str]:
    """No summary of what is long ago."""
    if not content.history.summary:
        return content, ""
    return _with_history(content, means, summary=""), "the summary"


def last_turn_shortened(content: ContextContent, means: Means) -> tuple[ContextContent, str]:
    """The longest of the turns that are left, its middle left out, if the prompt then fits."""
    recent = content.history.recent_turns
    over = prompt_tokens(content, means.tokenizer) - means.target
    if not recent or over <= 0:
        return content, ""
    longest = max(recent, key=lambda turn: turn.tokens)
    room = longest.tokens - over - _MARGIN
    formatted = shortened_in_middle(longest.formatted, room, means.tokenizer)
    if not formatted:
        return content, ""
    short = replace(
        longest,
        content=shortened_in_middle(longest.content, room, means.tokenizer),
        formatted=formatted,
        tokens=means.tokenizer.count(formatted),
    )
    turns = tuple(short if turn is longest else turn for turn in recent)
    return _with_history(content, means, recent=turns), "the middle of the last turn"


def without_history(content: ContextContent, means: Means) -> tuple[ContextContent, str]:  # noqa: ARG001
    """Nothing of the conversation."""
    return replace(content, history=NO_HISTORY), "the conversation" if content.history.text else ""


def _summed_up(before: str, older: Sequence[Turn], tokens: int, means: Means) -> Told:
    """What the summary said before and what these turns say, half the tokens for each."""
    new = told(means.summarizer, older, tokens // 2 if before else tokens) if older else Told()
    kept = shortened_in_middle(before, tokens - means.tokenizer.count(new.text) - 1, means.tokenizer)
    return replace(new, text=shortened_in_middle(f"{kept} {new.text}".strip(), tokens, means.tokenizer))


def _first_kept(history: FormattedHistory, keep: int) -> int:
    """Where the newest turns begin that are about so many; a call and its answers are not parted."""
    turns = [turn.turn for turn in history.recent_turns]
    first = len(turns)
    for start, _ in blocks(turns):
        if first < len(turns) and len(turns) - start > keep:
            break
        first = start
    return first


def _with_history(
    content: ContextContent,
    means: Means,
    *,
    summary: str | None = None,
    recalled: tuple[FormattedTurn, ...] | None = None,
    recent: tuple[FormattedTurn, ...] | None = None,
) -> ContextContent:
    """The content with some part of its history replaced, and the history worded anew."""
    history = content.history
    made = history_of(
        history.summary if summary is None else summary,
        history.recalled if recalled is None else recalled,
        history.recent_turns if recent is None else recent,
        means.tokenizer,
        history.template,
        history.problem,
    )
    return replace(content, history=made)


def _many(count: int, thing: str) -> str:
    """How many of a thing, in words; nothing for none."""
    plural = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"{count} {thing if count == 1 else plural}" if count else ""
