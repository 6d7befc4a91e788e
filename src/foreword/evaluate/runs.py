"""A labelled set is stored, embedded and asked, through the same doors as anything a user stores.

Beside the engine's own answer, each question gets those of single probes over the same items: words alone
(BM25), the encoder alone, and their reciprocal rank fusion. Knows how to ask and how to name what came back;
how good that is, `metrics` says. Refuses a workspace that holds anything but the set: its numbers would lie.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from foreword import config
from foreword.engine import ContextEngine
from foreword.errors import ValidationError
from foreword.evaluate.metrics import BUDGETS, CUTS, Place, documents, fused
from foreword.store.base import Search
from foreword.types import Query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from foreword.evaluate.labelled import Document, LabelledSet, Question
    from foreword.spaces.base import Space
    from foreword.spaces.providers import EmbeddingProvider
    from foreword.types import Item, SearchResult

    Progress = Callable[[str, int, int], None]

BM25, SEMANTIC, RRF, OURS = "BM25", "semantic", "RRF", "foreword"

NEAR = 50
DEEP = 300
"""Recall is measured on an answer of NEAR. A budget can hold more short items than that: there the answer
goes on as one of DEEP does, so that no run is cut short of the largest budget."""

_LEXICAL, _DENSE = "lexical", "semantic"


@dataclass(frozen=True, slots=True)
class Stock:
    """Where the documents of a scope are kept.

    Documents that were stored as the very same items are one to any search, and so to the measurement:
    `namesake` gives the first of them for each, `twins` all of them for the first.
    """

    holders: Mapping[str, tuple[str, ...]]
    namesake: Mapping[str, str]
    twins: Mapping[str, tuple[str, ...]]

    def gains(self, question: Question) -> dict[str, float]:
        """What is relevant to a question, each thing once, with the best of its scores."""
        merged: dict[str, float] = {}
        for document, gain in question.gains.items():
            name = self.namesake.get(document, document)
            merged[name] = max(gain, merged.get(name, 0.0))
        return merged

    def place(self, item: Item, score: float = 0.0) -> Place:
        """An item that was found, as the documents it belongs to; a token is four characters."""
        return Place(self.holders.get(item.id, ()), len(item.text) / 4, score)


@dataclass(frozen=True, slots=True)
class Answer:
    """What each run gave to one question, and the milliseconds that the engine's own took."""

    runs: Mapping[str, Sequence[Place]]
    embedding_ms: float
    search_ms: float


def engine_in(
    home: Path, provider: EmbeddingProvider | None = None, *, encoder: bool = True
) -> ContextEngine:
    """The default engine, as it is set up on this machine, on a data folder of its own."""
    settings = replace(config.load(), home=home)
    if encoder:
        return ContextEngine(embedding_provider=provider, settings=settings)
    return ContextEngine(settings=replace(settings, embedding="none"))


def keep(labelled: LabelledSet, home: Path, progress: Progress) -> dict[str, Stock]:
    """Store the documents of every scope; those that are there already stay as they are."""
    total = sum(map(len, labelled.documents.values()))
    stocks: dict[str, Stock] = {}
    done = 0
    # Without an encoder: its thread would start on the same items that `embed` is about to take.
    with engine_in(home, encoder=False) as engine:
        for scope, inside in labelled.documents.items():
            progress("storing", done, total)
            stocks[scope] = _kept(engine, scope, inside)
            done += len(inside)
    progress("storing", done, total)
    return stocks


def embed(engine: ContextEngine, scopes: Iterable[str], progress: Progress) -> None:
    """Make the vectors that are still missing."""
    counts = {scope: engine.count(scope) for scope in scopes}
    total = sum(count.items for count in counts.values())
    done = 0
    for scope, count in counts.items():
        tell = partial(_tell, progress, done + count.vectors.get(_DENSE, 0), total)
        engine.embed_pending(scope, tell)
        done += count.items
        progress("embedding", done, total)


def ask(engine: ContextEngine, question: Question, stock: Stock) -> Answer:
    """One question to every run. It is embedded first, so that the time of a search is that of searching."""
    query = Query(question.text, question.scope, datetime.now(UTC))
    runs, embedding_ms = _baselines(engine, query, stock)
    started = time.perf_counter()
    results = engine.search(question.text, question.scope, limit=NEAR)
    search_ms = _since(started)
    places = [stock.place(result.memory, result.score) for result in results]
    if not _enough(places):
        deeper = engine.search(question.text, question.scope, limit=DEEP)
        places += [stock.place(result.memory, result.score) for result in _further(results, deeper)]
    return Answer({**runs, OURS: places}, embedding_ms, search_ms)


def _tell(progress: Progress, before: int, total: int, made: int) -> None:
    progress("embedding", before + made, total)


def _kept(engine: ContextEngine, scope: str, inside: Sequence[Document]) -> Stock:
    stored = iter(engine.remember_all([part for document in inside for part in document.parts], scope))
    holders: dict[str, tuple[str, ...]] = {}
    twins: dict[tuple[str, ...], list[str]] = {}
    for document in inside:
        ids = tuple(next(stored).id for _ in document.parts)
        # A document without text is stored as nothing, and is nobody's twin.
        same = twins.setdefault(ids or (f"nothing: {document.id}",), [])
        same.append(document.id)
        for one in dict.fromkeys(ids) if len(same) == 1 else ():
            holders[one] = (*holders.get(one, ()), document.id)
    strangers = engine.count(scope).items - len(holders)
    if strangers:
        raise ValidationError(
            f"the workspace {scope!r} holds {strangers} items that are not of this set; give another home"
        )
    namesake = {one: same[0] for same in twins.values() for one in same}
    return Stock(holders, namesake, {same[0]: tuple(same) for same in twins.values()})


def _baselines(engine: ContextEngine, query: Query, stock: Stock) -> tuple[dict[str, list[Place]], float]:
    """What words alone, the encoder alone and both find, in one round trip; and how long embedding took."""
    words, dense = _space(engine, _LEXICAL), _space(engine, _DENSE)
    started = time.perf_counter()
    probes = [dense.probe(query) if dense else None]
    embedding_ms = _since(started)
    probes.append(words.probe(query) if words else None)
    asked = tuple(probe for probe in probes if probe is not None)
    found = engine.store.search(Search(query.workspace, asked, limit=DEEP))
    lists = {space: [item for item, _ in ranked] for space, ranked in found.lists.items()}
    ranked = {BM25: lists.get(_LEXICAL, [])}
    if dense:
        ranked[SEMANTIC] = lists.get(_DENSE, [])
        ranked[RRF] = fused(ranked.values())
    runs = {run: [stock.place(found.items[item]) for item in ids] for run, ids in ranked.items()}
    return runs, embedding_ms


def _space(engine: ContextEngine, name: str) -> Space | None:
    return next((space for space in engine.kit.spaces if space.name == name), None)


def _enough(places: Sequence[Place]) -> bool:
    """Whether an answer reaches the deepest cut and the largest budget."""
    return len(documents(places)) >= CUTS[-1] and sum(place.tokens for place in places) > BUDGETS[-1]


def _further(near: Sequence[SearchResult], deeper: Sequence[SearchResult]) -> list[SearchResult]:
    """What a deeper answer adds to a near one."""
    known = {result.memory.id for result in near}
    return [result for result in deeper if result.memory.id not in known]


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
