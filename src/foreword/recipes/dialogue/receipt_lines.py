"""What a conversation's receipt lists: facts, turns and chunks in the prompt, and those that did not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.types import ContextLine, DroppedResult, Item, SearchResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foreword.compose.prompt import ContextContent
    from foreword.recipes.dialogue.prompt import DialogueDraft
    from foreword.types import Kind


def injected_lines(draft: DialogueDraft, content: ContextContent) -> Iterator[ContextLine]:
    """A line for each of the user's facts, the turns and the chunks of documents that are in the prompt."""
    count = draft.conversation.tokenizer.count
    for line in content.user.lines:
        kind: Kind = "memory" if line.section == "memory" else "turn"
        section = "user" if line.section in ("wish", "fact") else line.section
        result = _result_without_text(draft, line.turn_id, kind, line.score)
        yield ContextLine(result, section, line.prompt_line, count(line.prompt_line), line.day)
    yield from _turn_lines(draft, content)
    for chunk in content.rag_chunks:
        result = _result_without_text(draft, chunk.chunk_id, "document", chunk.relevance)
        yield ContextLine(result, "knowledge", chunk.formatted, chunk.token_count, chunk.source.place)


def _turn_lines(draft: DialogueDraft, content: ContextContent) -> Iterator[ContextLine]:
    """A line for every turn that is in the prompt."""
    scores = {turn.turn_id: score for turn, score in draft.recalled.turns}
    shown = [(turn, "recent") for turn in content.history.recent_turns]
    shown += [(turn, "recalled") for turn in content.history.recalled]
    shown += [(turn, "since the question") for turn in content.since]
    for turn, how in shown:
        result = _result_without_text(draft, turn.turn_id, "turn", scores.get(turn.turn_id, 0.0))
        yield ContextLine(result, "history", turn.content, turn.tokens, how)


def results_over_budget(draft: DialogueDraft, lines: Sequence[ContextLine]) -> Iterator[DroppedResult]:
    """The turns and chunks that were found for the query and are in none of these lines."""
    line_ids = {line.id for line in lines}
    found: list[tuple[str, Kind, float]] = [(t.turn_id, "turn", score) for t, score in draft.recalled.turns]
    found += [(chunk.chunk_id, "document", chunk.relevance) for chunk in draft.retrieved.chunks]
    elsewhere = [line for line in draft.user.lines if line.section in ("memory", "earlier")]
    found += [(one.turn_id, "memory" if one.section == "memory" else "turn", one.score) for one in elsewhere]
    for name, kind, score in found:
        if name not in line_ids:
            yield DroppedResult(_result_without_text(draft, name, kind, score), "over budget")


def _result_without_text(draft: DialogueDraft, item_id: str, kind: Kind, score: float) -> SearchResult:
    """A search result that names a turn or a chunk by its id alone, for the receipt, which holds no text."""
    return SearchResult(Item("", draft.query.workspace, kind=kind, id=item_id), score)
