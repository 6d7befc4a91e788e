"""The stores that `bench scale` measures: the same corpus in each, filled once, and their servers.

A folder holds the files of each size and store, so that filling and measuring can happen at different times:
what is stored already is not stored again, and an interrupted filling continues where it ended. Two stores
share PostgreSQL's rows; Qdrant gets the vectors from these rows.
"""

from __future__ import annotations

import json
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.errors import ValidationError
from foreword.spaces.dense import DenseSpace
from foreword.store.base import Put, PutRelations
from foreword.store.exchange import Attached, PutAttached, RebuildVectors
from foreword.store.vector_part import vector_to_code
from foreword.testing import FixedClock
from foreword_measure.servers import PostgresServer, QdrantServer, ServerMissing
from foreword_measure.speed import corpus
from foreword_measure.speed.corpus import WORKSPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from numpy.typing import NDArray

    from foreword.store.base import Operation
    from foreword.types import Item

    Server = PostgresServer | QdrantServer

ENGINES = ("SQLite", "PostgreSQL", "PostgreSQL + Qdrant")
STORES = ("sqlite", "postgres", "qdrant")
"""Their names on the command line. Qdrant gets its vectors from PostgreSQL's rows: fill these first."""

_BULK = 5_000
_BYTES_PER_ITEM = 20_000
"""About how many bytes an item takes in all three stores together, with what the servers need."""

_SAFE = ("shared_buffers=2GB", "max_wal_size=4GB", "max_connections=200", "effective_cache_size=8GB")
"""Settings for measuring: what PostgreSQL acknowledges is on its disk."""

_FAST = (*_SAFE, "fsync=off", "full_page_writes=off", "synchronous_commit=off", "autovacuum=off")
"""Settings for filling, which is fast and not safe, as it can be repeated."""

_POLL_SECONDS = 1.0


def check_room(folder: Path, sizes: Sequence[int]) -> None:
    """Raise ValidationError if the disk has no room for the stores that are not filled yet."""
    needed = sum(_BYTES_PER_ITEM * size for size in sizes if not _is_filled(folder / str(size)))
    if needed > (free := shutil.disk_usage(folder).free):
        raise ValidationError(
            f"{folder} has {free / 1e9:,.0f} GB left and {needed / 1e9:,.0f} GB are needed; name fewer sizes"
        )


def _is_filled(folder: Path) -> bool:
    return all(_facts_file(folder, engine).exists() for engine in ENGINES)


def _facts_file(folder: Path, engine: str) -> Path:
    """The file with the facts about the filling of a store, written once it is done."""
    return folder / f"{engine.lower().replace(' + ', '-')}.json"


def read_facts(folder: Path, engine: str) -> dict[str, Any]:
    """The facts about the filling of a store; empty if it is not done."""
    file = _facts_file(folder, engine)
    return dict(json.loads(file.read_text())) if file.exists() else {}


@contextmanager
def open_engine(
    folder: Path, name: str, size: int, *, fills: bool = False
) -> Iterator[tuple[ContextEngine, list[Server]]]:
    """The engine of a store at a size, and the servers that it needs."""
    with _start_servers(folder, name, fills=fills) as (store_url, vectors_url, servers):
        settings = Settings(home=folder / "sqlite", embedding="none", store=store_url, vectors=vectors_url)
        encoders: dict[str, Any] = {
            "embedding_provider": corpus.FreeEncoder(),
            "token_space": corpus.FreeTokens(),
        }
        with ContextEngine(
            **({} if fills else encoders), settings=settings, clock=FixedClock(corpus.time_after(size))
        ) as engine:
            yield engine, servers


@contextmanager
def _start_servers(folder: Path, name: str, *, fills: bool) -> Iterator[tuple[str, str, list[Server]]]:
    """Start a store's servers; gives the URLs of rows and vectors, or empty ones, and the servers."""
    try:
        with ExitStack() as stack:
            servers: list[Server] = []
            store = vectors = ""
            if "PostgreSQL" in name:
                postgres = PostgresServer(_FAST if fills else _SAFE, folder / "postgres")
                servers.append(stack.enter_context(postgres))
                store = postgres.url
            if "Qdrant" in name:
                qdrant = QdrantServer(folder / "qdrant")
                servers.append(stack.enter_context(qdrant))
                vectors = qdrant.url
            yield store, vectors, servers
    except ServerMissing as error:
        raise ValidationError(f"the servers to measure are not here: {error}") from error


# Filling -------------------------------------------------------------------------------------------------


def fill(folder: Path, name: str, size: int, report_progress: Callable[[int, int], None]) -> None:
    """Store what a store lacks of a corpus, unless that was done before, and report the progress."""
    if _facts_file(folder, name).exists():
        return
    began, computing = time.perf_counter(), time.process_time()
    with open_engine(folder, name, size, fills=True) as (engine, servers):
        if "Qdrant" in name:
            facts = _send_vectors(engine, servers, size, report_progress)
        else:
            facts = _store_rows(engine, size, report_progress)
            facts |= _index_vectors(engine, servers)
    facts |= {
        "fill_seconds": time.perf_counter() - began,
        "fill_own_cpu_seconds": time.process_time() - computing,
    }
    _facts_file(folder, name).write_text(json.dumps(facts))


def _store_rows(
    engine: ContextEngine, count: int, report_progress: Callable[[int, int], None]
) -> dict[str, float]:
    """Store items with their vectors, token codes and relations, thousands in a transaction."""
    space = DenseSpace(corpus.FreeEncoder())
    started = engine.store.tally(WORKSPACE)[0]
    began = time.perf_counter()
    starts = list(range(started, count, _BULK))
    with ThreadPoolExecutor(1) as ahead:  # makes a batch while the one before it is being stored

        def make_soon(place: int) -> Future[list[Operation[Any]]] | None:
            return (
                ahead.submit(_make_batch, engine, space, starts[place], count)
                if place < len(starts)
                else None
            )

        batch = make_soon(0)
        for place, start in enumerate(starts):
            following, made = make_soon(place + 1), batch.result() if batch else []
            engine.store.batch(made)
            batch = following
            report_progress(min(count, start + _BULK), count)
    return {"bulk_items_per_second": (count - started) / max(1e-9, time.perf_counter() - began)}


def _make_batch(engine: ContextEngine, space: DenseSpace, start: int, count: int) -> list[Operation[Any]]:
    """The operations that store one batch of items, from a place on."""
    stop = min(count, start + _BULK)
    items = [_prepare_item(engine, corpus.invent_item(at)) for at in range(start, stop)]
    return [
        Put(WORKSPACE, tuple(items)),
        PutAttached(WORKSPACE, _make_attached(space, items, start)),
        PutRelations(WORKSPACE, corpus.invent_relations(start, stop)),
    ]


def _prepare_item(engine: ContextEngine, item: Item) -> Item:
    return replace(item, tokens=engine.tokenizer.count(item.text), workspace=WORKSPACE)


def _make_attached(space: DenseSpace, items: Sequence[Item], start: int) -> Attached:
    """The synthetic vectors and token codes of items, which begin at the place `start`."""
    batches = range(start, start + len(items), corpus.BATCH)
    vectors = np.concatenate([corpus.invent_vectors(at, at + corpus.BATCH) for at in batches])[: len(items)]
    codes = corpus.make_put_token_codes(items)
    return Attached(
        vectors=tuple(
            (item.id, space.name, space.digest, space.hash_of_embedded_text(item), vector_to_code(vector))
            for item, vector in zip(items, vectors, strict=True)
        ),
        token_codes=tuple((item_id, codes.digest, code) for item_id, code in codes.codes.items()),
    )


def _index_vectors(engine: ContextEngine, servers: Sequence[Server]) -> dict[str, float]:
    """Build the index of vectors, and have the server analyse its tables; returns how long the index took."""
    began = time.perf_counter()
    if make_indexes := getattr(engine.store, "make_vector_indexes", None):
        make_indexes(WORKSPACE)
    seconds = time.perf_counter() - began
    for server in servers:
        if isinstance(server, PostgresServer):
            server.run_sql("VACUUM ANALYZE")
    return {"index_seconds": seconds}


def _send_vectors(
    engine: ContextEngine, servers: Sequence[Server], size: int, report_progress: Callable[[int, int], None]
) -> dict[str, float]:
    """Send every vector of the rows to Qdrant, and wait until it has indexed them; returns the times."""
    qdrant = next(server for server in servers if isinstance(server, QdrantServer))
    began = time.perf_counter()
    if qdrant.count_points() < size:
        engine.store.run(RebuildVectors(WORKSPACE))
    vectors: Any = engine.store.vector_server  # type: ignore[attr-defined]
    while not vectors.flush(WORKSPACE, _POLL_SECONDS):
        report_progress(qdrant.count_points(), size)
    sent = time.perf_counter()
    while not qdrant.has_indexed():
        time.sleep(_POLL_SECONDS)
    return {
        "sent_vectors_per_second": size / (sent - began),
        "index_seconds": time.perf_counter() - sent,
    }


# Reading -------------------------------------------------------------------------------------------------


def read_codes(
    engine: ContextEngine, servers: Sequence[Server], count: int
) -> tuple[NDArray[np.str_], NDArray[np.int8]]:
    """The kinds and the codes of all items that have a vector, from the rows."""
    query = "SELECT i.kind, v.code FROM vectors v JOIN items i USING({}) LIMIT ?"
    kinds: list[str] = []
    codes = np.zeros((count, corpus.DIMENSIONS), np.int8)
    with _open_rows(engine, servers, query, count) as rows:
        for place, (kind, code) in enumerate(rows):
            kinds.append(kind)
            codes[place] = np.frombuffer(code, np.int8)
    return np.array(kinds), codes[: len(kinds)]


@contextmanager
def _open_rows(
    engine: ContextEngine, servers: Sequence[Server], query: str, limit: int
) -> Iterator[Iterable[Any]]:
    """The rows of a query, one by one, directly from the database: the store would return pages."""
    if postgres := next((server for server in servers if isinstance(server, PostgresServer)), None):
        import psycopg

        with psycopg.connect(postgres.admin_url, options="-c search_path=foreword") as connection:
            cursor = connection.cursor("codes", binary=True)
            cursor.itersize = 10_000
            yield cursor.execute(query.format("ws, no").replace("?", "%s"), (limit,))
    else:
        import apsw

        path = engine.store.path_of_database(WORKSPACE)  # type: ignore[attr-defined]
        database = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            yield database.execute(query.format("no"), (limit,))
        finally:
            database.close()
