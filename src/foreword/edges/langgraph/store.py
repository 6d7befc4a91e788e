"""ForewordStore: the long-term memory of a LangGraph graph, kept by an engine.

Every value is an item of a workspace that belongs to the store alone, so that no other context shows it; with
`shared`, it is an item of the workspace itself. The reads of a batch see what was there before it; its writes
are one transaction. Vectors are made before a search, or after a put if the store is shared.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    PutOp,
    SearchItem,
    SearchOp,
    get_text_at_path,
)
from langgraph.store.base import Item as GraphItem

from foreword.edges.langgraph.values import (
    LEASE,
    VALUE,
    Lease,
    StoredValue,
    check_value,
    filters_if_unchanged,
    lease_id,
    make_items,
    matches_filter,
    prefix_filters,
    value_id,
)
from foreword.errors import EmbeddingError, ValidationError
from foreword.log import get_logger
from foreword.options import MAX_LIMIT, check_workspace
from foreword.store.base import Amend, Delete, Put

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from langgraph.store.base import MatchCondition, Op, Result, TTLConfig

    from foreword.engine.context_engine import ContextEngine
    from foreword.types import Item

_log = get_logger("foreword.langgraph")

Score = Literal["relevance", "cosine"]


class ForewordStore(BaseStore):
    """A store for `compile(store=…)` and `create_agent(store=…)`: durable, and shared by processes.

    `fields` are the paths whose texts are searched (`$` is the whole value). A score is the probability of
    relevance that all spaces together give, or with `score="cosine"` the nearness of the vectors alone.
    """

    supports_ttl = True

    __slots__ = ("_engine", "_fields", "_score", "_shared", "_swept_at", "ttl_config", "workspace")

    def __init__(
        self,
        engine: ContextEngine,
        workspace: str,
        *,
        fields: Sequence[str] = ("$",),
        ttl: TTLConfig | None = None,
        score: Score = "relevance",
        shared: bool = False,
    ) -> None:
        if score not in ("relevance", "cosine"):
            raise ValidationError(f"score must be 'relevance' or 'cosine', not {score!r}")
        self.workspace = check_workspace(workspace) + ("" if shared else " (graph store)")
        self.ttl_config = ttl
        self._engine = engine
        self._fields = tuple(fields)
        self._score = score
        self._shared = shared
        self._swept_at = engine.clock()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the operations: all reads, then all writes together; the last put of a name counts."""
        operations = list(ops)
        results = [self._answer_operation(op) for op in operations]
        self._write_puts({(op.namespace, op.key): op for op in operations if isinstance(op, PutOp)}.values())
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, without keeping the event loop waiting."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Forget what has expired; gives how many values that was."""
        expired = self._entries((), expired=True)
        filters = [one for entry in expired for one in filters_if_unchanged(entry)]
        gone = self._engine.store.batch([Delete(self.workspace, filters=one) for one in filters])
        return len({item for ids in gone[::2] for item in ids})

    def _answer_operation(self, op: Op) -> Result:
        """The result of an operation that reads; nothing for one that writes."""
        match op:
            case GetOp():
                return self._get_value(op)
            case SearchOp():
                return self._search_values(op)
            case ListNamespacesOp():
                return self._list_namespaces(op)
            case PutOp():
                return None
        raise ValidationError(f"no operation of a store: {type(op).__name__}")

    # Reading

    def _get_value(self, op: GetOp) -> GraphItem | None:
        identity = value_id(op.namespace, op.key)
        item, lease = self._engine.store.get(self.workspace, identity, lease_id(identity))
        if item is None or (entry := StoredValue.from_items(item, lease)).is_expired(self._engine.clock()):
            return None
        self._renew_leases([entry], refresh=op.refresh_ttl)
        return GraphItem(**_entry_fields(entry))

    def _search_values(self, op: SearchOp) -> list[SearchItem]:
        entries = self._entries(op.namespace_prefix)
        entries = [entry for entry in entries if matches_filter(entry.value, op.filter)]
        scores = self._score_entries(op.query, op.namespace_prefix, entries) if op.query and entries else {}
        # The sort is stable: equal scores, and what has none, stay in the order in which they were put.
        entries.sort(key=lambda entry: -scores.get(entry.item.id, -math.inf))
        page = entries[op.offset : op.offset + op.limit]
        self._renew_leases(page, refresh=op.refresh_ttl)
        return [SearchItem(**_entry_fields(entry), score=scores.get(entry.item.id)) for entry in page]

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        names = {entry.namespace for entry in self._entries(())}
        conditions = op.match_conditions or ()
        matching = (name for name in names if all(_matches_condition(name, one) for one in conditions))
        return sorted({name[: op.max_depth] for name in matching})[op.offset : op.offset + op.limit]

    def _entries(self, prefix: tuple[str, ...], *, expired: bool = False) -> list[StoredValue]:
        """Every value under a prefix, the oldest put first: those that hold, or those that have expired."""
        now = self._engine.clock()
        items = list(self._engine.store.scan(self.workspace, prefix_filters(prefix, VALUE, LEASE)))
        leases = {item.id: item for item in items if item.type == LEASE}
        entries = (StoredValue.from_items(i, leases.get(lease_id(i.id))) for i in items if i.type == VALUE)
        return [
            entry
            for entry in entries
            if entry.namespace[: len(prefix)] == prefix and entry.is_expired(now) == expired
        ]

    def _score_entries(
        self, query: str, prefix: tuple[str, ...], entries: Sequence[StoredValue]
    ) -> dict[str, float]:
        """The score of each that was found, by id; what is not indexed has none."""
        self._embed_pending_values()
        known = [entry.item for entry in entries if entry.indexed]
        if self._score == "cosine":
            return self._cosines_to_query(query, known)
        found = self._engine.search(
            query, self.workspace, limit=MAX_LIMIT, memory_types=(VALUE,),
            conversation_id=prefix_filters(prefix).conversation,
        )  # fmt: skip
        scores = {result.memory.id: result.score for result in found}
        return {item.id: scores[item.id] for item in known if item.id in scores}

    def _cosines_to_query(self, query: str, items: Sequence[Item]) -> dict[str, float]:
        """The cosine of each item's vector to the query's, by id; none without an encoder."""
        question = self._engine.embed_question(query)
        if not question:
            return {}
        vectors = self._engine.vectors(self.workspace, items)
        return {item: _cosine_similarity(question, vector) for item, vector in vectors.items()}

    # Writing

    def _write_puts(self, puts: Iterable[PutOp]) -> None:
        """Store the values in place of what has their names, at once; a put without a value only removes."""
        ops = list(puts)
        if not ops:
            return
        ids = [value_id(op.namespace, op.key) for op in ops]
        now = self._engine.clock()
        created = self._find_creation_times(ids, now)
        items = [
            item for op, at in zip(ops, created, strict=True) for item in self._make_items_of_put(op, at, now)
        ]
        count = self._engine.tokenizer.count
        gone = Delete(self.workspace, (*ids, *map(lease_id, ids)))
        put = Put(self.workspace, tuple(replace(item, tokens=count(item.text)) for item in items))
        self._engine.store.batch([gone, put] if items else [gone])
        if self._shared and items:
            self._embed_pending_values()
        self._sweep_expired_when_due(now)

    def _find_creation_times(self, ids: Sequence[str], now: datetime) -> list[datetime]:
        """When each of these was first put: now, if there is nothing, or nothing that has not expired."""
        found = self._engine.store.get(self.workspace, *ids, *map(lease_id, ids))
        pairs = zip(found[: len(ids)], found[len(ids) :], strict=True)
        entries = [StoredValue.from_items(item, lease) if item else None for item, lease in pairs]
        return [entry.created_at if entry and not entry.is_expired(now) else now for entry in entries]

    def _make_items_of_put(self, op: PutOp, created_at: datetime, now: datetime) -> list[Item]:
        if op.value is None:
            return []
        value = check_value(op.value)
        texts = [text for path in self._indexed_paths(op) for text in get_text_at_path(value, path)]
        return make_items(op._replace(value=value), texts, now, created_at)

    def _indexed_paths(self, op: PutOp) -> Sequence[str]:
        """The paths whose texts a value is found by."""
        if op.index is None or op.index is False:
            return self._fields if op.index is None else ()
        if not isinstance(op.index, list | tuple):
            raise ValidationError(f"index must be a list of paths, False or None, not {op.index!r}")
        return op.index

    def _renew_leases(self, entries: Sequence[StoredValue], *, refresh: bool) -> None:
        """Begin the leases of what was read anew."""
        now = self._engine.clock()
        renewed = [
            (entry.item.id, Lease.starting(entry.lease.minutes, now)) for entry in entries if entry.lease
        ]
        if refresh and renewed:
            self._engine.store.batch(
                [Amend(self.workspace, lease_id(of), metadata=lease.metadata) for of, lease in renewed]
            )

    def _sweep_expired_when_due(self, now: datetime) -> None:
        minutes = (self.ttl_config or {}).get("sweep_interval_minutes")
        if minutes is not None and now - self._swept_at >= timedelta(minutes=minutes):
            self._swept_at = now
            self.sweep_ttl()

    def _embed_pending_values(self) -> None:
        """Make the vectors that are missing; without an encoder that works, words still find."""
        try:
            self._engine.embed_pending(self.workspace)
        except EmbeddingError as error:
            _log.warning("values are found by their words only", workspace=self.workspace, problem=str(error))


def _entry_fields(entry: StoredValue) -> dict[str, Any]:
    return {
        "namespace": entry.namespace,
        "key": entry.key,
        "value": entry.value,
        "created_at": entry.created_at,
        "updated_at": entry.item.created_at,  # each put stores another item
    }


def _matches_condition(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Whether a namespace begins, or ends, as a condition says; `*` is any label."""
    path = tuple(condition.path)
    if len(namespace) < len(path) or condition.match_type not in ("prefix", "suffix"):
        return False
    begins = condition.match_type == "prefix"
    part = namespace[: len(path)] if begins else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def _cosine_similarity(first: Sequence[float], second: Sequence[float]) -> float:
    lengths = math.hypot(*first) * math.hypot(*second)
    return sum(a * b for a, b in zip(first, second, strict=True)) / lengths if lengths else 0.0
