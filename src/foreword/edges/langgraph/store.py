"""ForewordStore: the long-term memory of a LangGraph graph, stored by an engine.

Every value is an item of a workspace that belongs to the store alone, so that no other context shows it; with
`shared`, it is an item of the workspace itself. The reads of a batch see the state before it; its writes are
one transaction. Vectors are made before a search, or after a put if the store is shared.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    PutOp,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
)
from langgraph.store.base import Item as GraphItem

from foreword.edges.langgraph.scope import WorkspaceScope
from foreword.edges.langgraph.stored_values import GraphStoreValues, first_matching_values
from foreword.edges.langgraph.values import (
    Lease,
    check_filter_names,
    check_stored_value,
    filters_for_value_if_unchanged,
    lease_id,
    make_items_for_value,
    source_of_value_items,
    value_id,
)
from foreword.errors import ValidationError
from foreword.log import get_logger
from foreword.store.base import Amend, Delete, Put
from foreword.types import Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from langgraph.store.base import MatchCondition, Op, Result

    from foreword.edges.langgraph.scope import Workspace
    from foreword.edges.langgraph.stored_values import Score
    from foreword.edges.langgraph.values import GraphStoreValue
    from foreword.engine.context_engine import ContextEngine
    from foreword.types import Item

_log = get_logger("foreword.langgraph")

DEFAULT_SWEEP_MINUTES = 5.0
"""Every how many minutes expired values are deleted, unless the configuration says otherwise."""

_SUFFIX = " (graph store)"
_TTL_NAMES = frozenset(TTLConfig.__annotations__)


class ForewordStore(BaseStore):
    """A store for `compile(store=…)` and `create_agent(store=…)`: durable, and usable by several processes.

    `workspace` is a name, a template such as `"acme/{user_id}"`, or a function of the run's config and
    runtime. `fields` are the paths whose texts are searched (`$` is the whole value), each with a vector of
    its own. A score is the probability of relevance from all spaces together, or with `score="cosine"` the
    similarity of the vectors alone.
    """

    supports_ttl = True

    __slots__ = (
        "_engine", "_fields", "_scope", "_score", "_shared", "_sweeper", "_swept_at", "_used", "ttl_config"
    )  # fmt: skip

    def __init__(
        self,
        engine: ContextEngine,
        workspace: Workspace,
        *,
        fields: Sequence[str] = ("$",),
        ttl: TTLConfig | None = None,
        score: Score = "relevance",
        shared: bool = False,
    ) -> None:
        if score not in ("relevance", "cosine"):
            raise ValidationError(f"score must be 'relevance' or 'cosine', not {score!r}")
        if isinstance(fields, str):  # its letters would be the paths
            raise ValidationError(f"fields must be a list of paths, as in fields=[{fields!r}]")
        self.ttl_config = _check_ttl(ttl)
        self._scope = WorkspaceScope(workspace)
        self._engine = engine
        self._fields = tuple(fields)
        self._score: Score = score
        self._shared = shared
        self._swept_at: dict[str, datetime] = {}
        self._used: set[str] = set()
        self._sweeper = TtlSweeper(self.sweep_ttl)

    @property
    def workspace(self) -> str:
        """The workspace that holds the values; ValidationError if it depends on the run outside of one."""
        return self._scope.workspace_of_current_run() + ("" if self._shared else _SUFFIX)

    def for_run(self, **values: object) -> ForewordStore:
        """The store of a run with these values, for use outside of a run: `for_run(user_id="mara")`."""
        return ForewordStore(
            self._engine,
            _escape_braces(self._scope.workspace_of_run({"configurable": values})),
            fields=self._fields,
            ttl=self.ttl_config,
            score=self._score,
            shared=self._shared,
        )

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do all reads, then all writes together; of several puts of the same key the last counts."""
        values = GraphStoreValues(self._engine, self.workspace)
        self._used.add(values.workspace)
        operations = [_check_namespaces(op) for op in ops]
        results = [self._result_of_read_operation(values, op) for op in operations]
        puts = {(tuple(op.namespace), op.key): op for op in operations if isinstance(op, PutOp)}
        self._write_puts(values, list(puts.values()))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, without keeping the event loop waiting."""
        return await asyncio.to_thread(self.batch, list(ops))

    # What expires

    def sweep_ttl(self) -> int:
        """Delete expired values; returns how many.

        If the workspace depends on the run, this covers every workspace that matches the template or, with a
        function, those that this store was used for.
        """
        return sum(self._delete_expired_in_workspace(name) for name in self._workspaces_to_sweep())

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Delete expired values at intervals, in a thread; returns a future that can be cancelled.

        If the store's configuration has no time to live, nothing is started, and the future is done.
        """
        if not self.ttl_config:
            done: Future[None] = Future()
            done.set_result(None)
            return done
        minutes = sweep_interval_minutes
        if minutes is None:
            minutes = self.ttl_config.get("sweep_interval_minutes")
        return self._sweeper.start(DEFAULT_SWEEP_MINUTES if minutes is None else _check_interval(minutes))

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the sweeper; returns whether it stopped within `timeout` seconds."""
        return self._sweeper.stop(timeout)

    def _workspaces_to_sweep(self) -> list[str]:
        if self._scope.fixed_workspace is not None:
            return [self.workspace]
        suffix = "" if self._shared else _SUFFIX
        every = self._engine.store.workspaces()
        fitting = {
            name
            for name in every
            if name.endswith(suffix) and self._scope.matches_template(name.removesuffix(suffix))
        }
        return sorted(self._used | fitting)

    def _delete_expired_in_workspace(self, workspace: str) -> int:
        expired = self._find_expired(GraphStoreValues(self._engine, workspace))
        filters = [one for entry in expired for one in filters_for_value_if_unchanged(entry)]
        gone = (
            self._engine.store.batch([Delete(workspace, filters=one) for one in filters]) if filters else []
        )
        deleted = {item for ids in gone[::2] for item in ids}
        return len(deleted & {entry.item.id for entry in expired})

    def _find_expired(self, values: GraphStoreValues) -> list[GraphStoreValue]:
        return values.find_expired()

    # Reading

    def _result_of_read_operation(self, values: GraphStoreValues, op: Op) -> Result:
        """The result of an operation that reads; None for one that writes."""
        match op:
            case GetOp():
                return self._get_value(values, op)
            case SearchOp():
                return self._search_values(values, op)
            case ListNamespacesOp():
                return _list_namespaces(values, op)
            case PutOp():
                return None
        raise ValidationError(f"no operation of a store: {type(op).__name__}")

    def _get_value(self, values: GraphStoreValues, op: GetOp) -> GraphItem | None:
        entry = values.get([value_id(op.namespace, op.key)])
        if not entry:
            return None
        found = next(iter(entry.values()))
        self._renew_leases(values.workspace, [found], refresh=op.refresh_ttl)
        return GraphItem(**_fields_for_graph_item(found))

    def _search_values(self, values: GraphStoreValues, op: SearchOp) -> list[SearchItem]:
        check_filter_names(op.filter)
        prefix, wanted = tuple(op.namespace_prefix), op.offset + op.limit
        scored: list[tuple[GraphStoreValue, float | None]] = []
        if op.query and wanted:
            scored = list(values.search(op.query, prefix, op.filter, wanted, self._score))
        if len(scored) < wanted:  # values that the question did not find fill the rest
            found = {entry.item.id for entry, _ in scored}
            others = (
                entry
                for entry in values.iterate_unexpired_values(prefix, wanted)
                if entry.item.id not in found
            )
            scored += [
                (entry, None) for entry in first_matching_values(others, op.filter, wanted - len(scored))
            ]
        page = scored[op.offset : wanted]
        self._renew_leases(values.workspace, [entry for entry, _ in page], refresh=op.refresh_ttl)
        return [SearchItem(**_fields_for_graph_item(entry), score=score) for entry, score in page]

    def _renew_leases(self, workspace: str, entries: Sequence[GraphStoreValue], *, refresh: bool) -> None:
        """If `refresh` is set, restart the leases of values that were read."""
        now = self._engine.clock()
        renewed = [(entry.item.id, Lease.begin(entry.lease.minutes, now)) for entry in entries if entry.lease]
        if refresh and renewed:
            self._engine.store.batch(
                [Amend(workspace, lease_id(of), metadata=lease.metadata) for of, lease in renewed]
            )

    # Writing

    def _write_puts(self, values: GraphStoreValues, ops: Sequence[PutOp]) -> None:
        """Replace the values with these keys, in one transaction; a put without a value only deletes."""
        if not ops:
            return
        workspace, now = values.workspace, self._engine.clock()
        ids = [value_id(op.namespace, op.key) for op in ops]
        before = values.get_even_if_expired(ids)
        created = {name: value.created_at for name, value in before.items() if not value.is_expired(now)}
        items: list[Item] = []
        for op, name in zip(ops, ids, strict=True):
            items += self._make_items_for_put(op, created.get(name, now), now)
        count = self._engine.tokenizer.count
        gone = [Delete(workspace, (*ids, *map(lease_id, ids)))]
        with_fields = [name for name, value in before.items() if value.fields]
        gone += [
            Delete(workspace, filters=Filters(source=source_of_value_items(name).name))
            for name in with_fields
        ]
        put = Put(workspace, tuple(replace(item, tokens=count(item.text)) for item in items))
        self._engine.store.batch([*gone, put] if items else gone)
        if self._shared and items:
            values.embed_pending()
        self._sweep_expired_when_due(workspace, now)

    def _make_items_for_put(self, op: PutOp, created_at: datetime, now: datetime) -> list[Item]:
        if op.value is None:
            return []
        value = check_stored_value(op.value)
        texts = [text for path in self._indexed_paths(op) for text in get_text_at_path(value, path)]
        return make_items_for_value(op._replace(value=value), texts, now, created_at, one_vector=self._shared)

    def _indexed_paths(self, op: PutOp) -> Sequence[str]:
        """The paths in a value whose texts can be searched."""
        if op.index is None or op.index is False:
            return self._fields if op.index is None else ()
        if not isinstance(op.index, list | tuple):
            raise ValidationError(f"index must be a list of paths, False or None, not {op.index!r}")
        return op.index

    def _sweep_expired_when_due(self, workspace: str, now: datetime) -> None:
        minutes = (self.ttl_config or {}).get("sweep_interval_minutes")
        since = self._swept_at.setdefault(workspace, now)
        if minutes is not None and now - since >= timedelta(minutes=minutes):
            self._swept_at[workspace] = now
            self._delete_expired_in_workspace(workspace)


def _check_ttl(ttl: TTLConfig | None) -> TTLConfig | None:
    """A configuration of the time to live; ValidationError if it has a name or an interval of no use."""
    unknown = set(ttl or ()) - _TTL_NAMES
    if unknown:
        known = ", ".join(sorted(_TTL_NAMES))
        raise ValidationError(f"ttl has no {', '.join(sorted(map(str, unknown)))!r}; it has: {known}")
    minutes = (ttl or {}).get("sweep_interval_minutes")
    if minutes is not None:
        _check_interval(minutes)
    return ttl


def _check_interval(minutes: float) -> float:
    """An interval between two sweeps; ValidationError if it is no number of minutes above 0."""
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not minutes > 0:
        raise ValidationError(f"sweep_interval_minutes must be a number above 0, not {minutes!r}")
    return float(minutes)


def _check_namespaces(op: Op) -> Op:
    """The operation; ValidationError if a namespace in it is a text, whose letters would be its labels."""
    named = [getattr(op, name, ()) for name in ("namespace", "namespace_prefix")]
    named += [condition.path for condition in getattr(op, "match_conditions", None) or ()]
    for namespace in named:
        if isinstance(namespace, str):
            raise ValidationError(f"a namespace is a tuple of labels, as in ({namespace!r},)")
    return op


def _list_namespaces(values: GraphStoreValues, op: ListNamespacesOp) -> list[tuple[str, ...]]:
    conditions = op.match_conditions or ()
    names = values.list_namespaces(_longest_literal_prefix(conditions))
    matching = (name for name in names if all(_namespace_matches(name, one) for one in conditions))
    return sorted({name[: op.max_depth] for name in matching})[op.offset : op.offset + op.limit]


def _longest_literal_prefix(conditions: Sequence[MatchCondition]) -> tuple[str, ...]:
    """The longest prefix without `*` that the conditions require: only namespaces below it are read."""
    prefixes = [tuple(one.path) for one in conditions if one.match_type == "prefix"]
    literal = [path[: path.index("*")] if "*" in path else path for path in prefixes]
    return max(literal, key=len, default=())


def _namespace_matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Whether a namespace begins, or ends, with a condition's path; `*` matches any label."""
    path = tuple(condition.path)
    if len(namespace) < len(path) or condition.match_type not in ("prefix", "suffix"):
        return False
    begins = condition.match_type == "prefix"
    part = namespace[: len(path)] if begins else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def _fields_for_graph_item(entry: GraphStoreValue) -> dict[str, Any]:
    return {
        "namespace": entry.namespace,
        "key": entry.key,
        "value": entry.value,
        "created_at": entry.created_at,
        "updated_at": entry.item.created_at,  # each put stores another item
    }


def _escape_braces(name: str) -> str:
    """A template that gives exactly this name."""
    return name.replace("{", "{{").replace("}", "}}")


# Deleting what has expired ---------------------------------------------------------------------------------


class TtlSweeper:
    """Calls `sweep` at intervals until it is stopped, or its future is cancelled; a failure is logged."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._done: Future[None] = Future()

    def start(self, minutes: float) -> Future[None]:
        """Sweep every `minutes` minutes; returns a future that is done when the sweeper stops."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stopping.clear()
                self._done = Future()
                self._done.add_done_callback(lambda done: self._stopping.set() if done.cancelled() else None)
                self._thread = threading.Thread(
                    target=self._run,
                    args=(minutes * 60, self._done),
                    name="foreword-ttl-sweeper",
                    daemon=True,
                )
                self._thread.start()
            return self._done

    def stop(self, timeout: float | None = None) -> bool:
        """Stop after the current sweep; returns whether it stopped within `timeout` seconds."""
        with self._lock:
            thread = self._thread
        if thread is None:
            return True
        self._stopping.set()
        thread.join(timeout)
        return not thread.is_alive()

    def _run(self, seconds: float, done: Future[None]) -> None:
        while not self._stopping.wait(seconds):
            try:
                self._sweep()
            except Exception as error:  # noqa: BLE001  (the next sweep may succeed)
                _log.warning("what has expired was not deleted", problem=str(error))
        if done.set_running_or_notify_cancel():
            done.set_result(None)
