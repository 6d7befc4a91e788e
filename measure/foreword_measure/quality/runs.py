"""Store a labelled set, make its vectors and ask its questions, all as a user would.

Beside the engine's own answers, one for each lane, each question gets those of single probes over the same
items: words alone (BM25), the encoder alone, their reciprocal rank fusion, and the fusion reordered by the
cross-encoder. `metrics` measures how good the answers are. A workspace that holds anything but the set is
refused: its numbers would be wrong.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from typing import TYPE_CHECKING

from foreword import config
from foreword.engine.context_engine import ContextEngine
from foreword.errors import ValidationError
from foreword.store.base import Search
from foreword.types import Query
from foreword_measure.quality.metrics import BUDGETS, CUTS, Place, distinct_documents, fuse_rankings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from foreword.options import Lane
    from foreword.spaces.base import Reranker, Space
    from foreword.spaces.providers import EmbeddingProvider
    from foreword.types import Item, SearchResult
    from foreword_measure.quality.labelled import Document, LabelledSet, Question

    Progress = Callable[[str, int, int], None]

LANES: tuple[Lane, ...] = ("fast", "full")

BM25, SEMANTIC, RRF, RERANKED = "BM25", "semantic", "RRF", "RRF + CE"
BASELINES = (BM25, SEMANTIC, RRF, RERANKED)
OURS: Mapping[Lane, str] = {"fast": "foreword fast", "full": "foreword full"}

RERANKED_COUNT = 30
"""How many of the first results of RRF the cross-encoder reorders."""

MEASURED_RESULTS = 50
DEEP_RESULTS = 300
"""Recall is measured on `MEASURED_RESULTS`. A budget can hold more short items than that: then results of a
deeper search are added, so that no run ends before the largest budget is full."""

_LEXICAL, _DENSE = "lexical", "semantic"


@dataclass(frozen=True, slots=True)
class StoredScope:
    """The stored items of a scope: which documents each of them belongs to.

    Documents that were stored as the very same items are one for any search, and so for the measurement:
    `first_copy` has the first of them for each, `copies` has all of them for the first.
    """

    documents_of_item: Mapping[str, tuple[str, ...]]
    first_copy: Mapping[str, str]
    copies: Mapping[str, tuple[str, ...]]

    def gains(self, question: Question) -> dict[str, float]:
        """The relevant documents of a question with their gains; copies count once, with the best gain."""
        merged: dict[str, float] = {}
        for document, gain in question.gains.items():
            name = self.first_copy.get(document, document)
            merged[name] = max(gain, merged.get(name, 0.0))
        return merged

    def place(self, item: Item, score: float = 0.0) -> Place:
        """An item that was found as a place with the documents it belongs to; a token is four characters."""
        return Place(self.documents_of_item.get(item.id, ()), len(item.text) / 4, score)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured: the lanes, whether also the baselines, and the spaces that are not used."""

    lanes: tuple[Lane, ...] = LANES
    baselines: bool = True
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = [lane for lane in self.lanes if lane not in LANES]
        if unknown or not self.lanes:
            raise ValidationError(f"lanes must be some of {', '.join(LANES)}, not {self.lanes}")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of each run to one question, and the milliseconds of embedding it and of each search."""

    runs: Mapping[str, Sequence[Place]]
    embedding_ms: float
    search_ms: Mapping[str, float]


def open_engine_in(
    home: Path,
    provider: EmbeddingProvider | None = None,
    reranker: Reranker | None = None,
    *,
    encoder: bool = True,
    without: tuple[str, ...] = (),
) -> ContextEngine:
    """The default engine with this machine's settings, on the data folder `home`."""
    settings = replace(config.load_settings(), home=home)
    if encoder:
        return ContextEngine(
            embedding_provider=provider, settings=settings, reranker=reranker, without=without
        )
    return ContextEngine(settings=replace(settings, embedding="none"))


def store_set(labelled: LabelledSet, home: Path, progress: Progress) -> dict[str, StoredScope]:
    """Store the documents of every scope, unless they are stored already."""
    total = sum(map(len, labelled.documents.values()))
    stored_scopes: dict[str, StoredScope] = {}
    done = 0
    # Without an encoder: its background thread would work on the items that `make_vectors` embeds next.
    with open_engine_in(home, encoder=False) as engine:
        for scope, inside in labelled.documents.items():
            progress("storing", done, total)
            stored_scopes[scope] = _store_scope(engine, scope, inside)
            done += len(inside)
    progress("storing", done, total)
    return stored_scopes


def make_vectors(engine: ContextEngine, scopes: Iterable[str], progress: Progress) -> None:
    """Make the vectors that are missing."""
    counts = {scope: engine.count(scope) for scope in scopes}
    total = sum(count.items for count in counts.values())
    done = 0
    for scope, count in counts.items():
        report_made = partial(_report_vectors, progress, done + count.vectors.get(_DENSE, 0), total)
        engine.embed_pending(scope, report_made)
        done += count.items
        progress("embedding", done, total)


def load_models(engine: ContextEngine, scope: str, plan: Plan) -> None:
    """Load the models before anything is timed, with a query that no question has, as answers are cached."""
    for lane in plan.lanes:
        engine.search("anything at all", scope, limit=1, lane=lane)


def ask(
    engine: ContextEngine, question: Question, stored_scope: StoredScope, plan: Plan, judge: Reranker
) -> Answer:
    """Ask every run one question. It is embedded first, so that a search's time is that of searching only."""
    query = Query(question.text, question.scope, datetime.now(UTC))
    embedding_ms = _embed_question(engine, query)
    runs = _answer_with_baselines(engine, query, stored_scope, judge) if plan.baselines else {}
    search_ms: dict[str, float] = {}
    near: dict[str, list[SearchResult]] = {}
    for lane in plan.lanes:
        started = time.perf_counter()
        near[OURS[lane]] = engine.search(question.text, question.scope, limit=MEASURED_RESULTS, lane=lane)
        search_ms[OURS[lane]] = _milliseconds_since(started)

    @cache
    def search_deeper() -> list[SearchResult]:
        # The full lane reorders only the first few; further down both lanes agree, so the fast one will do.
        return engine.search(question.text, question.scope, limit=DEEP_RESULTS, lane="fast")

    ours = {run: _make_places(results, stored_scope, search_deeper) for run, results in near.items()}
    return Answer({**runs, **ours}, embedding_ms, search_ms)


def _report_vectors(progress: Progress, before: int, total: int, made: int) -> None:
    progress("embedding", before + made, total)


def _store_scope(engine: ContextEngine, scope: str, inside: Sequence[Document]) -> StoredScope:
    stored = iter(engine.remember_all([part for document in inside for part in document.parts], scope))
    documents_of_item: dict[str, tuple[str, ...]] = {}
    copies: dict[tuple[str, ...], list[str]] = {}
    for document in inside:
        ids = tuple(next(stored).id for _ in document.parts)
        # A document without text has no items, and is no copy of another.
        same = copies.setdefault(ids or (f"nothing: {document.id}",), [])
        same.append(document.id)
        for one in dict.fromkeys(ids) if len(same) == 1 else ():
            documents_of_item[one] = (*documents_of_item.get(one, ()), document.id)
    strangers = engine.count(scope).items - len(documents_of_item)
    if strangers:
        raise ValidationError(
            f"the workspace {scope!r} holds {strangers} items that are not of this set; give another home"
        )
    first_copy = {one: same[0] for same in copies.values() for one in same}
    return StoredScope(documents_of_item, first_copy, {same[0]: tuple(same) for same in copies.values()})


def _embed_question(engine: ContextEngine, query: Query) -> float:
    """Embed a question, for all its searches; returns the milliseconds."""
    started = time.perf_counter()
    if dense := _find_space(engine, _DENSE):
        dense.probe(query)
    return _milliseconds_since(started)


def _answer_with_baselines(
    engine: ContextEngine, query: Query, stored_scope: StoredScope, judge: Reranker
) -> dict[str, list[Place]]:
    """The answers of single searches, of their fusion, and of the fusion reordered by the cross-encoder."""
    ranked, items = _rank_and_fetch(engine, query)
    if RRF in ranked:
        ranked[RERANKED] = _rerank(judge, query.text, ranked[RRF], items)
    return {run: [stored_scope.place(items[item]) for item in ids] for run, ids in ranked.items()}


def rank_with_baselines(engine: ContextEngine, query: Query) -> dict[str, list[str]]:
    """The ids that words alone, the encoder alone and their fusion find, best first."""
    return _rank_and_fetch(engine, query)[0]


def _rank_and_fetch(engine: ContextEngine, query: Query) -> tuple[dict[str, list[str]], Mapping[str, Item]]:
    """The ids that words alone, the encoder alone and their fusion find, and the items, in one round trip."""
    asked = {BM25: _find_space(engine, _LEXICAL), SEMANTIC: _find_space(engine, _DENSE)}
    there = {run: space for run, space in asked.items() if space is not None}
    probes = [space.probe(query) for space in there.values()]
    found = engine.store.search(
        Search(query.workspace, tuple(probe for probe in probes if probe is not None), limit=DEEP_RESULTS)
    )
    ranked = {run: [item for item, _ in found.lists.get(space.name, ())] for run, space in there.items()}
    if len(there) == len(asked):
        ranked[RRF] = fuse_rankings(ranked.values())
    return ranked, found.items


def _rerank(judge: Reranker, text: str, ids: Sequence[str], items: Mapping[str, Item]) -> list[str]:
    """The ids with the first few in the cross-encoder's order, and the others after them."""
    first = ids[:RERANKED_COUNT]
    scores = dict(zip(first, judge.scores(text, [items[one].searchable for one in first]), strict=True))
    return [*sorted(first, key=lambda one: -scores[one]), *ids[RERANKED_COUNT:]]


def _find_space(engine: ContextEngine, name: str) -> Space | None:
    return next((space for space in engine.kit.spaces if space.name == name), None)


def _make_places(
    near: Sequence[SearchResult], stored_scope: StoredScope, search_deeper: Callable[[], list[SearchResult]]
) -> list[Place]:
    """An answer as places; if it is too short for the largest budget, a deeper search is added."""
    places = [stored_scope.place(result.memory, result.score) for result in near]
    if not _is_long_enough(places):
        places += [
            stored_scope.place(result.memory, result.score) for result in _new_results(near, search_deeper())
        ]
    return places


def _is_long_enough(places: Sequence[Place]) -> bool:
    """Whether an answer is long enough for the largest cut and the largest budget."""
    return len(distinct_documents(places)) >= CUTS[-1] and sum(place.tokens for place in places) > BUDGETS[-1]


def _new_results(near: Sequence[SearchResult], deeper: Sequence[SearchResult]) -> list[SearchResult]:
    """The results of a deeper search that the first one did not have."""
    known = {result.memory.id for result in near}
    return [result for result in deeper if result.memory.id not in known]


def _milliseconds_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
