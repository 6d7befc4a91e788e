"""What documents say about a question, within so many tokens: found, boosted, weighed, chosen, cited.

The search is the engine's own, over the documents of one workspace. What is fresh, and what speaks of the
entities that a question means, counts a little more. Below the threshold nothing is said; a chunk that does
not fit is skipped, and the next one tried. Stores nothing: that is `foreword.indexing.knowledge_base`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from foreword import pipeline
from foreword.compose.knowledge_chunk import document_source, knowledge_chunk, knowledge_text
from foreword.errors import ContextError, ValidationError
from foreword.log import get_logger
from foreword.options import (
    MAX_DEADLINE_MS,
    MAX_LIMIT,
    SearchOptions,
    check_fraction,
    check_whole_number,
    check_workspace,
)
from foreword.recall.dedupe import split_off_repeats
from foreword.recipes.dialogue.prompt import RetrievedChunks
from foreword.types import Note

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from foreword.compose.knowledge_chunk import KnowledgeChunk
    from foreword.engine.base import Engine
    from foreword.pipeline import SearchDraft
    from foreword.spaces.base import Reranker
    from foreword.types import Item, ResolvedEntity, SearchResult

_log = get_logger("foreword.rag")

_RECENCY, _ENTITIES = 0.2, 0.3
"""What a whole weight adds to the relevance of a chunk of today, and of one that speaks of every entity."""

_YEAR = 365.0
_MAX_READ = 30
"""At most how many chunks the cross-encoder reads."""

_SPARE = 3
"""How many times as many chunks as are asked for are searched for repeats."""


@dataclass(frozen=True, slots=True)
class RAGConfig:
    """How chunks are found and chosen. Weights and the threshold are shares, from 0 to 1.

    The threshold is above what both boosts give by default: neither being new nor naming an entity is enough
    to be said. Reranking is dear, and off by default.
    """

    initial_retrieval_count: int = 50
    final_chunk_count: int = 5
    min_relevance: float = 0.1
    enable_reranking: bool = False
    recency_weight: float = 0.1
    entity_weight: float = 0.2
    deadline_ms: float | None = None

    def __post_init__(self) -> None:
        check_whole_number("initial_retrieval_count", self.initial_retrieval_count, 1, MAX_LIMIT)
        check_whole_number("final_chunk_count", self.final_chunk_count, 1, MAX_LIMIT)
        for name in ("min_relevance", "recency_weight", "entity_weight"):
            check_fraction(name, getattr(self, name))
        if self.deadline_ms is not None and not _is_valid_deadline(self.deadline_ms):
            raise ValidationError(
                f"deadline_ms must be above 0 and at most {MAX_DEADLINE_MS:,.0f}, or None for no deadline, "
                f"not {self.deadline_ms!r}"
            )


class RAGSystem:
    """Finds what the documents of one workspace say. Safe to use from many threads."""

    def __init__(self, engine: Engine, workspace: str, config: RAGConfig = RAGConfig()) -> None:  # noqa: B008  (frozen)
        self.workspace = check_workspace(workspace)
        self.config = config
        self._engine = engine

    def available_chunks(self) -> int:
        """How many chunks there are to find."""
        return self._engine.store.count(self.workspace).kinds.get("document", 0)

    def retrieve(
        self, query: str, entities: Sequence[ResolvedEntity] = (), max_tokens: int = 1_500
    ) -> RetrievedChunks:
        """The chunks that answer best, together within so many tokens, as `knowledge_text` words them."""
        draft = self._search(query, max_tokens)
        weighed = apply_boosts(draft, entities, self.config)
        notes = [note for note in draft.notes if note.part != "limit"]  # that there is more is expected
        reranked = False
        if draft.kit.reranker is not None and weighed and query.strip():
            try:
                weighed, reranked = rerank_chunks(draft, weighed, draft.kit.reranker), True
            except ContextError as error:
                _log.warning("chunks were not reranked", problem=str(error))
                notes.append(Note("rerank", f"failed: {error}"))
        relevant = [one for one in weighed if one.score >= self.config.min_relevance]
        most = self.config.final_chunk_count
        said_once, _ = split_off_repeats(relevant[: _SPARE * most])
        chosen, skipped = self._chunks_within(said_once[:most], max_tokens)
        if skipped:
            notes.append(Note("budget", f"{skipped} relevant chunks did not fit into {max_tokens} tokens"))
        return RetrievedChunks(tuple(chosen), len(weighed), reranked, tuple(notes))

    def _search(self, query: str, budget: int) -> SearchDraft:
        options = SearchOptions(
            limit=self.config.initial_retrieval_count,
            kinds=("document",),
            lane="full" if self.config.enable_reranking else "fast",
            deadline_ms=self.config.deadline_ms,
        )
        draft = self._engine.draft(query, self.workspace, options, "rag", budget)
        stages = tuple(stage for stage in pipeline.SEARCH if stage is not pipeline.rerank)
        return pipeline.run(draft, (*stages, pipeline.drop_superseded))

    def _chunks_within(self, relevant: Sequence[SearchResult], most: int) -> tuple[list[KnowledgeChunk], int]:
        """The chunks that fit, best first, and how many did not."""
        counter = self._engine.tokenizer
        between = counter.count("\n\n")
        chosen: list[KnowledgeChunk] = []
        room = most
        for one in relevant:
            item, sure = one.memory, min(1.0, one.score)  # boosts may lift it above
            chunk = knowledge_chunk(item.id, document_source(item), item.text, sure, counter)
            cost = chunk.token_count + (between if chosen else 0)
            if cost <= room:
                chosen.append(chunk)
                room -= cost
        while chosen and counter.count(knowledge_text(chosen)) > most:
            chosen.pop()  # tokens do not add up exactly
        return chosen, len(relevant) - len(chosen)


def apply_boosts(
    draft: SearchDraft, entities: Sequence[ResolvedEntity], config: RAGConfig
) -> list[SearchResult]:
    """Every result with what its age and the entities add, most relevant first."""
    names = [_name_pattern(entity.canonical_name) for entity in entities if entity.canonical_name.strip()]
    return _sort_by_score(
        replace(
            result,
            score=result.score
            + config.recency_weight * _recency_weight(result.memory, draft.query.now) * _RECENCY
            + config.entity_weight * _share_of_names(result.memory, names) * _ENTITIES,
        )
        for result in draft.results
    )


def rerank_chunks(
    draft: SearchDraft, weighed: Sequence[SearchResult], reranker: Reranker
) -> list[SearchResult]:
    """What the search and the cross-encoder think, half and half; what it did not read it dislikes."""
    texts = [one.memory.searchable for one in weighed[:_MAX_READ]]
    logits = reranker.scores(draft.query.text, texts, draft.query.expires)
    liked = [(1 + math.tanh(logit / 2)) / 2 for logit in logits]
    liked += [0.0] * (len(weighed) - len(liked))
    return _sort_by_score(
        replace(one, score=(one.score + second) / 2) for one, second in zip(weighed, liked, strict=True)
    )


def _is_valid_deadline(value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 < cast("float", value) <= MAX_DEADLINE_MS


def _sort_by_score(results: Iterable[SearchResult]) -> list[SearchResult]:
    """The most relevant first; of equals, the one that came first stays first."""
    return sorted(results, key=lambda one: -one.score)


def _recency_weight(item: Item, now: datetime) -> float:
    """1 for what is of today, a third after a year; 0 when nobody knows the date."""
    date = document_source(item).date
    if date is None:
        return 0.0
    return math.exp(-max(0.0, (now - date).total_seconds() / 86_400) / _YEAR)


def _share_of_names(item: Item, names: Sequence[re.Pattern[str]]) -> float:
    """The share of the names that a chunk has in it."""
    return sum(bool(name.search(item.searchable)) for name in names) / len(names) if names else 0.0


def _name_pattern(name: str) -> re.Pattern[str]:
    """A name in whatever case, not as a part of another word."""
    words = r"\s+".join(map(re.escape, name.split()))
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
