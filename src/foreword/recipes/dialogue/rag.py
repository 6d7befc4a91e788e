"""Finds the chunks of documents that answer a question, within a number of tokens, with their sources.

The search is the engine's own, over the documents of one workspace, once for every angle of the question. The
reader judges the best chunks from the angle that weighs most, and the very best from the others, too; the
angles' probabilities are combined. Recent documents, and chunks that name the entities that a question means,
count a little more. Chunks below the threshold, or far less relevant than the best, are dropped; a chunk that
does not fit is skipped, and the next one tried. Stores nothing: that is `foreword.indexing.knowledge_base`.
"""

from __future__ import annotations

import math
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, cast

from foreword import pipeline
from foreword.compose.knowledge_chunk import (
    choose_passages,
    knowledge_chunk,
    knowledge_text,
    read_document_source,
)
from foreword.errors import ContextError, EmbeddingError, ValidationError
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
from foreword.recall.fuse import UNRELATED_COSINE
from foreword.recall.rivals import drop_rivals_not_discussed
from foreword.recipes.dialogue.angles import QuestionVector, search_angles_for_question
from foreword.recipes.dialogue.prompt import RetrievedChunks
from foreword.types import Filters, Note

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from foreword.compose.knowledge_chunk import KnowledgeChunk
    from foreword.engine.base import Engine
    from foreword.pipeline import SearchDraft
    from foreword.recipes.dialogue.angles import Angle
    from foreword.spaces.base import Reranker
    from foreword.types import Item, ResolvedEntity, SearchResult, Turn

_log = get_logger("foreword.rag")

_RECENCY, _ENTITIES = 0.8, 1.2
"""What a weight of 1 adds to the log-odds of a chunk of today, and of one that names every entity."""

_YEAR = 365.0
_MAX_READ = 30
"""At most how many chunks the cross-encoder reads."""

_COMPARED_FOR_REPEATS = 3
"""How many times as many chunks as are asked for are compared, to drop those that repeat others."""

_CANDIDATES, _READ_AGAIN, _STATEMENTS = 4, 2, 2
"""How many chunks the reader reads from the heaviest angle, how many of these again from each other angle,
and at most how many statements of each."""

_TAIL_SHARE = 0.2
"""The least share of the best chunk's odds with which a chunk is given, too: a sure answer stands alone."""


class _Curve(NamedTuple):
    """The weights of the encoder's, the search's and the reader's scores in the log-odds of a chunk."""

    cosine: float
    found: float
    read: float
    offset: float


_READ, _UNREAD = _Curve(32.3, 0.0, 0.55, -18.9), _Curve(27.86, 0.909, 0.0, -11.87)
_READ_WITHOUT_COSINES = _Curve(0.0, 0.73, 0.557, 3.75)
"""With the reader, without it, and with it where there are no vectors. Fitted to the questions that chats ask
about the pages of two products (`measure/documents`), answered there or not. The plain cosine says more than
the blend of a search, which was fitted to long pages; beside the reader, the blend adds nothing."""

_EXCERPT_GAP = " … "
"""Separates the statements of an excerpt."""

_LEAST_FOUND = 0.001
"""Added to a search's probability before its logarithm is taken, since it is 0 for a chunk not found."""

_UNREAD_LOGIT = -6.0
"""The reader's logit for a chunk that it did not read, where it read others."""


@dataclass(frozen=True, slots=True)
class RAGConfig:
    """How chunks are found and chosen. Weights and the threshold are shares, from 0 to 1.

    The threshold is above what both boosts add by default, so that being new and naming entities is not
    enough for a chunk to be given. Reranking is slow, and off by default.
    """

    initial_retrieval_count: int = 50
    final_chunk_count: int = 3
    min_relevance: float = 0.35
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
    """Finds chunks of the documents of one workspace. Safe to use from many threads."""

    def __init__(self, engine: Engine, workspace: str, config: RAGConfig = RAGConfig()) -> None:
        self.workspace = check_workspace(workspace)
        self.config = config
        self._engine = engine

    def available_chunks(self) -> int:
        """How many chunks there are to find."""
        return self._engine.store.tally(self.workspace, Filters(kinds=("document",)))[0]

    def retrieve(
        self,
        query: str,
        entities: Sequence[ResolvedEntity] = (),
        max_tokens: int = 1_500,
        talk: Sequence[Turn] = (),
    ) -> RetrievedChunks:
        """The chunks that answer best, together within `max_tokens`, as `knowledge_text` words them.

        `talk` are the turns before the query, in order; a query that depends on them is understood from them.
        """
        angles = search_angles_for_question(query, talk, self._embed_question)
        drafts = self._search_angles(angles, max_tokens)
        weights = [angle.weight for angle in angles]
        draft = replace(drafts[0], results=tuple(combine_angles(drafts, weights)))
        weighed = apply_boosts(draft, entities, self.config)
        notes = [note for angle in drafts for note in angle.notes]
        reranked = False
        if draft.kit.reranker is not None and weighed and query.strip():
            try:
                weighed, reranked = rerank_chunks(draft, weighed, draft.kit.reranker), True
            except ContextError as error:
                _log.warning("chunks were not reranked", problem=str(error))
                notes.append(Note("rerank", f"failed: {error}"))
        said_once = self._choose_relevant(weighed, query, talk)
        chosen, skipped = self._format_chunks_that_fit(said_once, max_tokens)
        if skipped:
            notes.append(Note("budget", f"{skipped} relevant chunks did not fit into {max_tokens} tokens"))
        return RetrievedChunks(tuple(chosen), len(weighed), reranked, tuple(dict.fromkeys(notes)))

    def _embed_question(self, question: str) -> QuestionVector | None:
        """The vector of a question; None without an encoder, or if it fails, which the search will note."""
        encoder = self._engine.kit.encoder
        try:
            vector = self._engine.embed_question(question)
        except EmbeddingError:
            return None
        return QuestionVector(encoder.digest, vector) if encoder is not None and vector else None

    def _search_angles(self, angles: Sequence[Angle], budget: int) -> list[SearchDraft]:
        """A draft for each angle with the chunks that it found, the best of them judged by the reader."""
        begun = [self._begin_search(angle.text, budget) for angle in angles]
        expires = begun[0].query.expires  # all angles have one deadline
        begun = [replace(draft, query=replace(draft.query, expires=expires)) for draft in begun]
        with ThreadPoolExecutor(len(begun), thread_name_prefix="foreword-angles") as pool:
            others = [pool.submit(_search_for_angle, draft) for draft in begun[1:]]
            drafts = [_search_for_angle(begun[0]), *(other.result() for other in others)]
        kit = drafts[0].kit.with_reader(None if self.config.enable_reranking else self._engine.reader)
        if kit.reader is None:
            return drafts
        return _judge_chunks_from_angles(angles, [replace(draft, kit=kit) for draft in drafts])

    def _begin_search(self, query: str, budget: int) -> SearchDraft:
        options = SearchOptions(
            limit=self.config.initial_retrieval_count,
            kinds=("document",),
            lane="full" if self.config.enable_reranking else "fast",
            deadline_ms=self.config.deadline_ms,
        )
        return self._engine.draft(query, self.workspace, options, "rag", budget)

    def _choose_relevant(
        self, weighed: Sequence[SearchResult], query: str, talk: Sequence[Turn]
    ) -> list[SearchResult]:
        """The chunks that are relevant enough, without rivals and repeats; all pass a threshold of 0."""
        floor, most = self.config.min_relevance, self.config.final_chunk_count
        relevant = [one for one in weighed if one.score >= floor]
        if floor and relevant:
            relevant = drop_rivals_not_discussed(relevant, query, talk)
            least = _probability(_log_odds(relevant[0].score) + math.log(_TAIL_SHARE))
            relevant = [one for one in relevant if one.score >= least]
        return split_off_repeats(relevant[: _COMPARED_FOR_REPEATS * most])[0][:most]

    def _format_chunks_that_fit(
        self, relevant: Sequence[SearchResult], most: int
    ) -> tuple[list[KnowledgeChunk], int]:
        """The chunks that fit, best first, and how many did not."""
        counter = self._engine.tokenizer
        between = counter.count("\n\n")
        chosen: list[KnowledgeChunk] = []
        room = most
        for one in relevant:
            item = one.memory
            content = choose_passages(item.text, one.excerpt.split(_EXCERPT_GAP) if one.excerpt else ())
            chunk = knowledge_chunk(item.id, read_document_source(item), content, one.score, counter)
            cost = chunk.token_count + (between if chosen else 0)
            if cost <= room:
                chosen.append(chunk)
                room -= cost
        while chosen and counter.count(knowledge_text(chosen)) > most:
            chosen.pop()  # tokens do not add up exactly
        return chosen, len(relevant) - len(chosen)


def _search_for_angle(draft: SearchDraft) -> SearchDraft:
    """What one angle finds."""
    stages = tuple(stage for stage in pipeline.SEARCH if stage is not pipeline.rerank)
    found = pipeline.run(draft, (*stages, pipeline.drop_superseded))
    return replace(found, notes=tuple(note for note in found.notes if note.part != "limit"))


def _judge_chunks_from_angles(angles: Sequence[Angle], drafts: Sequence[SearchDraft]) -> list[SearchDraft]:
    """The drafts with the reader's scores for their best chunks: fewer from each angle but the heaviest."""
    weights = [angle.weight for angle in angles]
    read = list(drafts)
    best = combine_angles(drafts, weights)[:_CANDIDATES]
    heaviest_first = sorted(range(len(drafts)), key=lambda place: -weights[place])
    for place in heaviest_first:
        read[place] = _merge_reader_scores(drafts[place], _judge_chunks_with_reader(drafts[place], best))
        if place == heaviest_first[0]:
            best = [one for one in combine_angles(read, weights) if "read" in one.scores][:_READ_AGAIN]
    return read


def _judge_chunks_with_reader(draft: SearchDraft, best: Sequence[SearchResult]) -> SearchDraft:
    """The draft with these chunks alone, judged by the reader, whether or not its angle had found them."""
    own = {result.memory.id: result for result in draft.results}
    candidates = tuple(own.get(one.memory.id, one) for one in best)
    read: SearchDraft = pipeline.judge_best_with_reader(_CANDIDATES * _STATEMENTS)(
        replace(draft, results=candidates)
    )
    return read


def _merge_reader_scores(draft: SearchDraft, reading: SearchDraft) -> SearchDraft:
    """The draft with the reader's scores for the chunks that it read; the others stay as they were found."""
    own = {result.memory.id: result for result in draft.results}
    judged: list[SearchResult] = []
    for one in reading.results:
        if "read" in one.scores:
            found = own.pop(one.memory.id, None)
            scores = {**(found or one).scores, "read": one.scores["read"]}
            scores["found"] = found.score if found else 0.0
            judged.append(replace(one, scores=scores))
    return replace(draft, notes=reading.notes, results=(*judged, *own.values()))


def combine_angles(drafts: Sequence[SearchDraft], weights: Sequence[float]) -> list[SearchResult]:
    """The chunks that any angle found, each with one relevance, most relevant first.

    Each angle gives a probability to every chunk, and to there being no answer; their weighted sums give the
    odds of a chunk against no answer.
    """
    own = [{result.memory.id: result for result in draft.results} for draft in drafts]
    results = {name: result for found in own for name, result in found.items()}
    chances = dict.fromkeys(results, 0.0)
    chance_of_none = 0.0
    for found, weight in zip(own, weights, strict=True):
        curve = _choose_curve(found.values())
        odds = {name: math.exp(_log_odds_from_angle(found.get(name), curve)) for name in results}
        whole = 1 + sum(odds.values())
        chance_of_none += weight / whole
        for name, one in odds.items():
            chances[name] += weight * one / whole
    return _sort_by_score(
        replace(
            max((found[name] for found in own if name in found), key=_sort_key_with_read_highest),
            score=chance / (chance + chance_of_none),
        )
        for name, chance in chances.items()
    )


def _sort_key_with_read_highest(result: SearchResult) -> tuple[bool, float]:
    """A sort key by which a result that was read is larger than any that was not, then by score."""
    return "read" in result.scores, result.score


def _choose_curve(found: Collection[SearchResult]) -> _Curve:
    """The curve for what one angle found, by what is known of it."""
    if not any("read" in result.scores for result in found):
        return _UNREAD
    return _READ if any("semantic" in result.scores for result in found) else _READ_WITHOUT_COSINES


def _log_odds_from_angle(result: SearchResult | None, curve: _Curve) -> float:
    """The log-odds that a chunk answers from one angle; the lowest for None, a chunk that it did not find."""
    scores = {} if result is None else result.scores
    found = scores.get("found", 0.0 if result is None else result.score)
    return (
        curve.cosine * max(UNRELATED_COSINE, scores.get("semantic", 0.0))
        + curve.found * math.log(found + _LEAST_FOUND)
        + curve.read * scores.get("read", _UNREAD_LOGIT)
        + curve.offset
    )


def _log_odds(probability: float) -> float:
    within = min(max(probability, 1e-6), 1 - 1e-6)
    return math.log(within / (1 - within))


def _probability(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


def apply_boosts(
    draft: SearchDraft, entities: Sequence[ResolvedEntity], config: RAGConfig
) -> list[SearchResult]:
    """The results with their scores raised for recency and for named entities, most relevant first."""
    names = [_name_pattern(entity.canonical_name) for entity in entities if entity.canonical_name.strip()]
    return _sort_by_score(
        replace(
            result,
            score=_probability(
                _log_odds(result.score)
                + config.recency_weight * _recency_weight(result.memory, draft.query.now) * _RECENCY
                + config.entity_weight * _share_of_names_mentioned(result.memory, names) * _ENTITIES
            ),
        )
        for result in draft.results
    )


def rerank_chunks(
    draft: SearchDraft, weighed: Sequence[SearchResult], reranker: Reranker
) -> list[SearchResult]:
    """The results scored half by the search, half by the cross-encoder, which gives 0 to those not read."""
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
    """The results, the highest score first; equal ones keep their order."""
    return sorted(results, key=lambda one: -one.score)


def _recency_weight(item: Item, now: datetime) -> float:
    """1 for a document of today, falling to a third after a year; 0 if it has no date."""
    date = read_document_source(item).date
    if date is None:
        return 0.0
    return math.exp(-max(0.0, (now - date).total_seconds() / 86_400) / _YEAR)


def _share_of_names_mentioned(item: Item, names: Sequence[re.Pattern[str]]) -> float:
    """The share of these names that occur in a chunk."""
    return sum(bool(name.search(item.searchable)) for name in names) / len(names) if names else 0.0


def _name_pattern(name: str) -> re.Pattern[str]:
    """A pattern that finds a name in any case, but not within another word."""
    words = r"\s+".join(map(re.escape, name.split()))
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
