"""The values of one workspace: fetched by id, listed by namespace, found by a question.

Values are ordered by namespace, and within one by the time of their puts. No more is read than is needed: a
walk goes from namespace to namespace along the store's index, and a search looks deeper only while too few of
its hits pass the conditions.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Literal

from foreword import pipeline
from foreword.edges.langgraph.values import (
    FIELD,
    LEASE,
    VALUE,
    GraphStoreValue,
    Lease,
    filters_for_prefix,
    find_value_id,
    lease_id,
    matches_filter,
    may_have_lease,
    namespace_from_conversation,
)
from foreword.errors import EmbeddingError
from foreword.log import get_logger
from foreword.options import MAX_LIMIT, SearchOptions
from foreword.store.base import Scan, Search
from foreword.store.browsing import ListConversations
from foreword.types import Filters, VectorProbe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from foreword.engine.context_engine import ContextEngine
    from foreword.types import Item

_log = get_logger("foreword.langgraph")

Score = Literal["relevance", "cosine"]

FIRST_NAMESPACES, MAX_NAMESPACES = 4, 512
"""How many namespaces are read at once, at first and at most: most searches need only a few."""

FIRST_DEPTH, DEPTH_FACTOR = 50, 4
"""How many hits are examined first, and by which factor more if too few of them pass."""

PAGE = 1_000
_SPACE = "semantic"


class GraphStoreValues:
    """Reads the values that a graph's store has in a workspace."""

    def __init__(self, engine: ContextEngine, workspace: str) -> None:
        self.workspace = workspace
        self._engine = engine
        self._store = engine.store

    def get(self, ids: Sequence[str]) -> dict[str, GraphStoreValue]:
        """The values with these ids that have not expired, by id."""
        now = self._engine.clock()
        return {
            name: value for name, value in self.get_even_if_expired(ids).items() if not value.is_expired(now)
        }

    def get_even_if_expired(self, ids: Sequence[str]) -> dict[str, GraphStoreValue]:
        """The values with these ids, expired or not, by id."""
        found = self._store.get(self.workspace, *ids, *map(lease_id, ids)) if ids else ()
        pairs = zip(found[: len(ids)], found[len(ids) :], strict=True)
        return {item.id: GraphStoreValue.from_items(item, lease) for item, lease in pairs if item is not None}

    def iterate_unexpired_values(self, prefix: Sequence[str], page: int = PAGE) -> Iterator[GraphStoreValue]:
        """Every value under a prefix that has not expired, read in pages of about this size."""
        for name, items in self._walk_namespaces_with_first_items(prefix, max(1, min(page, PAGE))):
            yield from self._read_unexpired_values(items)
            if len(items) == min(page, PAGE):
                yield from self._walk_rest_of_namespace(name, items[-1].id)

    def list_namespaces(self, prefix: Sequence[str]) -> list[tuple[str, ...]]:
        """The namespaces under a prefix that have values, sorted."""
        names: list[str] = []
        while True:
            after = names[-1] if names else ""
            page = self._store.run(
                ListConversations(self.workspace, filters_for_prefix(prefix, VALUE), after, PAGE)
            )
            names += page
            if len(page) < PAGE:
                break
        empty = self._fully_expired_namespaces(prefix)
        return sorted(namespace_from_conversation(name) for name in names if name not in empty)

    def find_expired(self) -> list[GraphStoreValue]:
        """The values that have expired."""
        ids = [item.id.removesuffix(lease_id("")) for item in self._expired_leases(())]
        now = self._engine.clock()
        return [value for value in self.get_even_if_expired(ids).values() if value.is_expired(now)]

    def search(
        self,
        query: str,
        prefix: Sequence[str],
        conditions: Mapping[str, Any] | None,
        min_count: int,
        score: Score,
    ) -> list[tuple[GraphStoreValue, float]]:
        """The values that a question finds and that pass the conditions, best first.

        At least `min_count` of them, if there are as many.
        """
        self.embed_pending()
        depth, most = (
            max(FIRST_DEPTH, DEPTH_FACTOR * min_count),
            MAX_LIMIT if score == "relevance" else 1 << 30,
        )
        while True:
            depth = min(depth, most)
            find = self._find_by_relevance if score == "relevance" else self._find_by_cosine
            hits = find(query, prefix, depth)
            passing = self._best_hit_of_each_value(hits, prefix, conditions, score)
            if len(passing) >= min_count or len(hits) < depth or depth == most:
                return passing
            depth *= DEPTH_FACTOR

    def embed_pending(self) -> None:
        """Make the missing vectors; if the encoder fails, log that values are found by words only."""
        try:
            self._engine.embed_pending(self.workspace)
        except EmbeddingError as error:
            _log.warning("values are found by their words only", workspace=self.workspace, problem=str(error))

    # Reading pages and ranking

    def _walk_namespaces_with_first_items(
        self, prefix: Sequence[str], page: int
    ) -> Iterator[tuple[str, Sequence[Item]]]:
        """Each namespace under a prefix, with its first items."""
        after, count = "", FIRST_NAMESPACES
        while True:
            names = self._store.run(
                ListConversations(self.workspace, filters_for_prefix(prefix, VALUE), after, count)
            )
            filters = [Filters(types=(VALUE,), conversation=name) for name in names]
            pages = (
                self._store.batch([Scan(self.workspace, one, limit=page) for one in filters]) if names else []
            )
            yield from zip(names, pages, strict=True)
            if len(names) < count:
                return
            after, count = names[-1], min(2 * count, MAX_NAMESPACES)

    def _walk_rest_of_namespace(self, name: str, after: str) -> Iterator[GraphStoreValue]:
        """The values of a namespace that come after the one with this id."""
        filters = Filters(types=(VALUE,), conversation=name)
        while items := self._store.run(Scan(self.workspace, filters, after, PAGE)):
            yield from self._read_unexpired_values(items)
            after = items[-1].id

    def _read_unexpired_values(self, items: Sequence[Item]) -> list[GraphStoreValue]:
        """The values in these items, with their leases, without those that have expired."""
        names = {item.id: lease_id(item.id) for item in items if may_have_lease(item)}
        found = self._store.get(self.workspace, *names.values()) if names else ()
        leases = dict(zip(names, found, strict=True))
        now = self._engine.clock()
        values = [GraphStoreValue.from_items(item, leases.get(item.id)) for item in items]
        return [value for value in values if not value.is_expired(now)]

    def _expired_leases(self, prefix: Sequence[str]) -> list[Item]:
        """The expired leases under a prefix; all leases are read, which are few if few values expire."""
        filters = filters_for_prefix(prefix, LEASE) if prefix else Filters(kinds=("memory",), types=(LEASE,))
        now = self._engine.clock()
        leases = self._store.scan(self.workspace, filters)
        return [item for item in leases if Lease.from_item(item).expires_at <= now]

    def _fully_expired_namespaces(self, prefix: Sequence[str]) -> set[str]:
        """The names of namespaces all of whose values have expired."""
        expired: dict[str, int] = {}
        for item in self._expired_leases(prefix):
            expired[item.conversation or ""] = expired.get(item.conversation or "", 0) + 1
        return {
            name
            for name, count in expired.items()
            if self._store.tally(self.workspace, Filters(types=(VALUE,), conversation=name))[0] <= count
        }

    def _find_by_relevance(self, query: str, prefix: Sequence[str], depth: int) -> list[tuple[Item, float]]:
        """The items that all spaces together find under a prefix, each with its probability of relevance."""
        options = SearchOptions(limit=depth, memory_types=(VALUE, FIELD))
        draft = self._engine.draft(query, self.workspace, options, "search", 0)
        asked = replace(draft.query, filters=filters_for_prefix(prefix, VALUE, FIELD))
        draft = pipeline.run(replace(draft, query=asked), pipeline.SEARCH)
        return [(result.memory, result.score) for result in draft.results]

    def _find_by_cosine(self, query: str, prefix: Sequence[str], depth: int) -> list[tuple[Item, float]]:
        """The items under a prefix with the nearest vectors, with their cosines; empty without an encoder."""
        vector, encoder = self._engine.embed_question(query), self._engine.kit.encoder
        if not vector or encoder is None:
            return []
        probe = VectorProbe(_SPACE, encoder.digest, tuple(vector))
        found = self._store.search(
            Search(self.workspace, (probe,), filters_for_prefix(prefix, VALUE, FIELD), depth)
        )
        return [
            (found.items[name], cosine) for name, cosine in found.lists.get(_SPACE, ()) if name in found.items
        ]

    def _best_hit_of_each_value(
        self,
        hits: Sequence[tuple[Item, float]],
        prefix: Sequence[str],
        conditions: Mapping[str, Any] | None,
        score: Score,
    ) -> list[tuple[GraphStoreValue, float]]:
        """The values of these hits that pass the conditions, each with its best score, best first."""
        best: dict[str, tuple[GraphStoreValue, float]] = {}
        values = self.get(list(dict.fromkeys(find_value_id(item) for item, _ in hits)))
        for item, found in hits:
            value = values.get(find_value_id(item))
            if value is None or value.item.id in best or not value.indexed:
                continue
            if item.type == FIELD and item.metadata.get("put") != value.put:
                continue  # a field of a value that was replaced in the meantime
            if item.type == VALUE and value.fields and score == "cosine":
                continue  # its fields have vectors of their own
            if value.is_under(prefix) and matches_filter(value.value, conditions):
                best[value.item.id] = (value, found)
        # Equal scores are ordered like values without a score: by namespace, then by the time of the put.
        return sorted(best.values(), key=lambda pair: (-pair[1], pair[0].sort_key))


def first_matching_values(
    values: Iterable[GraphStoreValue], conditions: Mapping[str, Any] | None, count: int
) -> list[GraphStoreValue]:
    """The first `count` values that pass the conditions; no more are read than needed."""
    return list(islice((value for value in values if matches_filter(value.value, conditions)), count))
