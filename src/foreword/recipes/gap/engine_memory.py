"""A workspace of the engine as the memory that gaps are filled from.

Converts the engine's probabilities to the scale of `relevance`, rates the texts of a state on the same scale,
and stores the receipts. The recipe's stages decide which of its results are injected.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from foreword import pipeline
from foreword.errors import EmbeddingError
from foreword.log import get_logger
from foreword.options import MAX_LIMIT, SearchOptions, check_whole_number, check_workspace
from foreword.pipeline import SEARCH, drop_repeats, drop_superseded
from foreword.recipes.gap.detect import GapModels
from foreword.recipes.gap.relevance import (
    question_coverage,
    rate_relevance,
    relevance_from_probability,
    rescale_to_bundled_encoder,
)
from foreword.recipes.gap.types import MemoryResult
from foreword.spaces.base import RequestReader, cosine_similarity
from foreword.types import Filters, Item, text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from foreword.engine.base import Engine
    from foreword.options import Lane
    from foreword.pipeline import SearchDraft
    from foreword.spaces.base import VectorSpace
    from foreword.text.tokens import Tokenizer
    from foreword.types import Receipt, SearchResult

_log = get_logger("foreword.gap")

DECISION_TYPES = (
    "decision",
    "requirement_clarification",
    "story_prioritization",
    "architecture_choice",
    "implementation_approach",
    "test_strategy",
    "conflict_resolution",
)
"""The types of item that are decisions."""

PATTERN_TYPES = (
    "pattern",
    "convention",
    "naming_function",
    "naming_class",
    "naming_variable",
    "naming_module",
    "structure_directory",
    "structure_file",
    "import_style",
    "design_pattern",
)
"""The types of item that describe conventions and ways of doing things."""

ARCHITECTURE_TYPES = frozenset({"adr", "architecture", "constraint", "architecture_choice"})

MAX_ENCODED = 2
"""At most how many texts of a state are encoded for a question: those that share most of its words."""

UNDECIDED_SCORES = (0.25, 0.95)
"""A text whose relevance by words is outside these bounds is not encoded: its words decide."""

MAX_ENCODED_CHARACTERS = 160
"""At most how much of each text is encoded: its beginning shows the subject, and longer texts cost more."""

MAX_VECTORS = 2_000
"""At most how many vectors of texts are cached: a state's messages come again with the next gap."""

_MAX_DECISIONS_READ, _MIN_RESULTS_READ = 200, 50
_ARCHITECTURE = re.compile(
    r"(?:^|[/_\W])(?:adrs?|architecture|architectural|constraints?)(?:$|[/_\W\d])", re.IGNORECASE
)


class EngineMemory:
    """One workspace of an engine as a memory.

    With a `session`, what that session was shown before is not given again, and what is injected is recorded
    as shown to it.
    """

    def __init__(
        self, engine: Engine, workspace: str, *, session: str | None = None, lane: Lane = "fast"
    ) -> None:
        self.workspace = check_workspace(workspace)
        self.session = session
        self._engine = engine
        self._lane: Lane = lane
        self._vectors: OrderedDict[str, Sequence[float]] = OrderedDict()
        self._question_lock, self._vectors_lock = threading.Lock(), threading.Lock()

    @property
    def tokenizer(self) -> Tokenizer:
        """Counts tokens."""
        return self._engine.tokenizer

    @property
    def models(self) -> GapModels:
        """The engine's models that help to detect a gap."""
        reader, encoder = self._engine.reader, self._engine.kit.encoder
        return GapModels(
            read=reader.request_logits if isinstance(reader, RequestReader) else None,
            compare=None if encoder is None else self._compare_texts,
        )

    async def search_similar(self, query: str, k: int = 5) -> list[MemoryResult]:
        """Items of every kind that are relevant to a question."""
        return await asyncio.to_thread(self._search, query, k)

    async def search_decisions(
        self, query: str, filters: Mapping[str, Any] | None = None, k: int = 5
    ) -> list[MemoryResult]:
        """Decisions that are relevant to a question; with `filters`, only those with these facts."""
        fits = (lambda item: _has_metadata(item, filters)) if filters else None
        return await asyncio.to_thread(self._search, query, k, fits, memory_types=DECISION_TYPES)

    async def search_patterns(
        self, query: str, pattern_type: str | None = None, k: int = 5
    ) -> list[MemoryResult]:
        """Patterns that are relevant to a question; of one type, if it is named."""
        types = PATTERN_TYPES if pattern_type is None else (pattern_type,)
        return await asyncio.to_thread(self._search, query, k, None, memory_types=types)

    async def search_architecture(self, query: str, k: int = 5) -> list[MemoryResult]:
        """Architecture decisions and constraints, recognised by type, path or heading."""
        return await asyncio.to_thread(self._search, query, k, _is_architecture)

    async def get_decisions_by_agent(self, agent_type: str, limit: int = 10) -> list[MemoryResult]:
        """An agent's decisions, newest first; their score is 0, since there is no question."""
        check_whole_number("limit", limit, 1, MAX_LIMIT)
        newest = await asyncio.to_thread(
            self._engine.store.recent, self.workspace, Filters(types=DECISION_TYPES), _MAX_DECISIONS_READ
        )
        agent = agent_type.casefold()
        own = [item for item in newest if agent in (item.source.name.casefold(), _agent_name(item))]
        return [_make_memory_result(item, 0.0) for item in own[:limit]]

    async def judge(self, query: str, texts: Sequence[str], kinds: Sequence[str]) -> list[float]:
        """The relevance of each text, by its words; for the most promising texts by their vectors as well."""
        return await asyncio.to_thread(self._rate_texts, query, texts, kinds)

    # For the recipe

    def draft(self, query: str, budget: int) -> SearchDraft:
        """A question ready for the stages of the recipe, without its secrets."""
        return self._engine.draft(query, self.workspace, SearchOptions(), "gap", budget)

    def shown_ids(self) -> frozenset[str]:
        """The ids of what the session's context already holds."""
        return self._engine.store.shown_ids(self.workspace, self.session) if self.session else frozenset()

    def record(self, receipt: Receipt, shown_ids: Sequence[str]) -> None:
        """Store a receipt, and mark these items as shown to the session."""
        pipeline.store_receipt(self._engine.store, receipt, shown_ids)

    # Inside

    def _search(
        self,
        query: str,
        limit: int,
        fits: Callable[[Item], bool] | None = None,
        memory_types: Sequence[str] = (),
    ) -> list[MemoryResult]:
        """The best results that pass `fits`, with their relevance on the scale of gaps."""
        depth = (
            check_whole_number("k", limit, 1, MAX_LIMIT) if fits is None else max(_MIN_RESULTS_READ, limit)
        )
        options = SearchOptions(limit=depth, memory_types=memory_types, lane=self._lane)
        with suppress(EmbeddingError):  # the search notes the same error
            self._question_vector(query)
        draft = self._engine.draft(query, self.workspace, options, "gap", 0)
        draft = pipeline.run(draft, (*SEARCH, drop_superseded))
        if fits is not None and not any(fits(one.memory) for one in draft.results):
            return []  # no text of the others need be compared
        draft = pipeline.run(draft, (drop_repeats,))
        fitting = [one for one in draft.results if fits is None or fits(one.memory)]
        return [
            _make_memory_result(one.memory, relevance_from_probability(one.score), one)
            for one in fitting[:limit]
        ]

    def _rate_texts(self, query: str, texts: Sequence[str], kinds: Sequence[str]) -> list[float]:
        """The relevance of each text; without an encoder, or if it fails, by words alone."""
        shares = question_coverage(query, texts)
        scores = [rate_relevance(None, share, kind) for share, kind in zip(shares, kinds, strict=True)]
        low, high = UNDECIDED_SCORES
        undecided = (at for at, score in enumerate(scores) if low <= score <= high)
        best = sorted(undecided, key=lambda at: (-shares[at], -at))[:MAX_ENCODED]
        try:
            near = self._compute_cosines(query, [texts[at][:MAX_ENCODED_CHARACTERS] for at in best])
        except EmbeddingError as error:
            _log.warning("texts are judged by their words alone", problem=str(error))
            return scores
        for at, cosine in zip(best, near, strict=False):  # without an encoder, there are no cosines
            scores[at] = rate_relevance(cosine, shares[at], kinds[at])
        return scores

    def _question_vector(self, query: str) -> list[float] | None:
        """The vector of a question, cached; the lock keeps parallel searches from encoding it twice."""
        with self._question_lock:
            return self._engine.embed_question(query)

    def _compute_cosines(self, query: str, texts: Sequence[str]) -> list[float]:
        """The cosine of each text to a question; empty if there is no encoder."""
        encoder = self._engine.kit.encoder
        if encoder is None or not texts:
            return []
        vectors = self._embed_texts(
            encoder, texts
        )  # while a search that runs beside this encodes the question
        question_vector = self._question_vector(query) or ()
        return [self._rescaled_cosine(question_vector, one) for one in vectors]

    def _compare_texts(self, one: str, other: str) -> float:
        """The cosine of two texts; 0 if there is no encoder."""
        encoder = self._engine.kit.encoder
        return 0.0 if encoder is None else self._rescaled_cosine(*self._embed_texts(encoder, (one, other)))

    def _embed_texts(self, encoder: VectorSpace, texts: Sequence[str]) -> list[Sequence[float]]:
        """The vectors of texts, from the cache where they are known."""
        with self._vectors_lock:
            fresh = [text for text in dict.fromkeys(texts) if text_hash(text) not in self._vectors]
            new_vectors = encoder.embed_items([Item(text, self.workspace) for text in fresh]) if fresh else []
            self._vectors.update({text_hash(text): one for text, one in zip(fresh, new_vectors, strict=True)})
            vectors = [self._vectors[text_hash(text)] for text in texts]
            while len(self._vectors) > MAX_VECTORS:
                self._vectors.popitem(last=False)
        return vectors

    def _rescaled_cosine(self, one: Sequence[float], other: Sequence[float]) -> float:
        """The cosine of two vectors, on the bundled encoder's scale."""
        strangers = pipeline.unrelated_cosine(self._engine.kit)
        return rescale_to_bundled_encoder(cosine_similarity(one, other), strangers)


def _make_memory_result(item: Item, score: float, found: SearchResult | None = None) -> MemoryResult:
    facts: dict[str, Any] = {
        "id": item.id,
        "kind": item.kind,
        "type": item.label,
        "author": item.source.name,
        "trust": item.source.trust,
        "created_at": item.created_at.isoformat(),
    }
    facts |= {name: item.metadata[name] for name in ("path", "title", "sha") if name in item.metadata}
    if item.kind == "commit" and item.metadata.get("author"):
        facts["author"] = item.metadata["author"]
    if item.about:
        facts["about"] = item.about
    if found is not None:
        facts["probability"] = round(found.score, 4)
    return MemoryResult(item.id, item.text, score, facts)


def _has_metadata(item: Item, facts: Mapping[str, Any]) -> bool:
    known = {**item.metadata, "type": item.label, "agent": _agent_name(item) or item.source.name}
    return all(str(known.get(key, "")).casefold() == str(fact).casefold() for key, fact in facts.items())


def _agent_name(item: Item) -> str:
    return str(item.metadata.get("agent") or item.metadata.get("agent_type") or "").casefold()


def _is_architecture(item: Item) -> bool:
    if item.label.casefold() in ARCHITECTURE_TYPES:
        return True
    headings = item.metadata.get("headings")
    places = (str(item.metadata.get("path", "")), *(headings if isinstance(headings, list) else ()))
    return item.kind == "document" and any(_ARCHITECTURE.search(str(place)) for place in places)
