"""One workspace in SQLite, in PostgreSQL, and in PostgreSQL with Qdrant, as it and its clients grow.

The servers are real and are started for this (`foreword_measure.servers`), on the same machine: with a
network between, each question costs some ten round trips more. Vectors are made up and the encoders are
free. Recall is that of the vectors' list against an exact comparison with every code in the rows.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.errors import ValidationError
from foreword.spaces.dense import DenseSpace
from foreword.store.base import PutRelations, Scan, Search
from foreword.store.exchange import GetAttached
from foreword.store.vector_part import cosines_to_codes
from foreword.testing import FixedClock
from foreword.types import Filters, VectorProbe
from foreword_measure.report import Table
from foreword_measure.servers import PostgresServer, QdrantServer, ServerMissing
from foreword_measure.speed import corpus
from foreword_measure.speed.clock import milliseconds, resident_bytes, spread
from foreword_measure.speed.corpus import WORKSPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from foreword_measure.report import Cell
    from foreword_measure.speed.clock import Progress
    from foreword_measure.speed.corpus import Question

ENGINES = ("SQLite", "PostgreSQL", "PostgreSQL + Qdrant")
CLIENTS = (1, 4, 16, 64)
TARGETS_MS = {
    ("SQLite", 100_000): 35.0,
    ("PostgreSQL", 100_000): 40.0,
    ("SQLite", 1_000_000): 80.0,
    ("PostgreSQL", 1_000_000): 60.0,
}
"""What building a context may take at the median, with one client and apart from encoding."""

_MB = 1_000_000
_QUESTIONS_PER_CLIENT = 12
_RECALL_QUESTIONS = 30
_RECALL_AT = 50


def measure(folder: Path, sizes: tuple[int, ...], progress: Progress) -> tuple[list[Table], dict[str, Any]]:
    """Fill and ask every engine at every size; servers start empty for each."""
    found: dict[str, dict[str, Any]] = {}
    for size in sorted(set(sizes)):
        for engine in ENGINES:
            found[f"{engine} {size}"] = {"engine": engine, "size": size} | _measure_one(
                folder / f"scale-{engine}-{size}", engine, size, progress
            )
    facts = list(found.values())
    return [_writing_table(facts), _asking_table(facts), _clients_table(facts)], found


def _measure_one(folder: Path, name: str, size: int, progress: Progress) -> dict[str, Any]:
    """Fill one engine, ask it in every way, and look at what it takes."""
    folder.mkdir(parents=True)
    with _servers(name) as (store_url, vectors_url, servers):
        settings = Settings(home=folder, embedding="none", store=store_url, vectors=vectors_url)
        with ContextEngine(
            embedding_provider=corpus.FreeEncoder(),
            token_space=corpus.FreeTokens(),
            settings=settings,
            clock=FixedClock(corpus.after(size)),
        ) as engine:
            facts = _fill(engine, name, size, progress)
            questions = corpus.questions(size)
            for question in questions:  # the first round warms the caches and is not counted
                engine.build_context(question.text, WORKSPACE)
            facts |= {"asked": _ask_one_by_one(engine, questions, size)}
            facts |= {"recall": _measure_recall(engine, questions), "clients": {}}
            for clients in CLIENTS:
                facts["clients"][clients] = _ask_at_once(engine, questions, clients)
                progress(f"{name}, {size:,} items, clients", clients, CLIENTS[-1])
            facts["process_bytes"] = resident_bytes()
            facts["server_bytes"] = sum(server.resident_bytes() for server in servers)
            facts["disk_bytes"] = _folder_bytes(folder) + sum(server.disk_bytes() for server in servers)
    return facts


@contextmanager
def _servers(name: str) -> Iterator[tuple[str, str, list[PostgresServer | QdrantServer]]]:
    """The servers that an engine needs, with safe settings: what they acknowledge is on the disk."""
    try:
        with ExitStack() as stack:
            servers: list[PostgresServer | QdrantServer] = []
            store = vectors = ""
            if "PostgreSQL" in name:
                postgres = stack.enter_context(
                    PostgresServer(("shared_buffers=1GB", "max_wal_size=4GB", "max_connections=200"))
                )
                servers.append(postgres)
                store = postgres.url
            if "Qdrant" in name:
                qdrant = stack.enter_context(QdrantServer())
                servers.append(qdrant)
                vectors = qdrant.url
            yield store, vectors, servers
    except ServerMissing as error:
        raise ValidationError(f"the servers to measure are not here: {error}") from error


def _fill(engine: ContextEngine, name: str, size: int, progress: Progress) -> dict[str, Any]:
    """Store items with their vectors and relations; how fast that went, and until all could be searched."""
    space = DenseSpace(corpus.FreeEncoder())
    writing = 0.0
    began = time.perf_counter()
    for start in range(0, size, corpus.BATCH):
        stop = min(size, start + corpus.BATCH)
        items = [corpus.item(at) for at in range(start, stop)]
        started = time.perf_counter()
        kept = engine.remember_all(items, WORKSPACE)
        writing += time.perf_counter() - started
        relations = PutRelations(WORKSPACE, corpus.relations(start, stop))
        engine.store.batch([corpus.vectors_of(space, kept, start), corpus.token_codes_of(kept), relations])
        progress(f"{name}, {size:,} items", stop, size)
    if make_indexes := getattr(engine.store, "make_vector_indexes", None):
        make_indexes(WORKSPACE)
    if server := getattr(engine.store, "vector_server", None):
        server.flush(WORKSPACE, 3600.0)
    return {"stored_per_second": size / writing, "ready_seconds": time.perf_counter() - began}


def _ask_one_by_one(
    engine: ContextEngine, questions: Sequence[Question], size: int
) -> dict[str, dict[str, float]]:
    """The times of each operation, with one client."""
    session = corpus.session(size // 2)
    operations: dict[str, Callable[[str], object]] = {
        "search": lambda text: engine.search(text, WORKSPACE),
        "search, one session": lambda text: engine.search(text, WORKSPACE, session=session),
        "search, one kind": lambda text: engine.search(text, WORKSPACE, kinds=("turn",)),
        "build_context": lambda text: engine.build_context(text, WORKSPACE),
        "build_context, one kind": lambda text: engine.build_context(text, WORKSPACE, kinds=("turn",)),
    }
    times = {
        name: [milliseconds(partial(ask, question.text)) for question in questions]
        for name, ask in operations.items()
    }
    return {name: spread(samples).as_dict() for name, samples in times.items()}


def _ask_at_once(engine: ContextEngine, questions: Sequence[Question], clients: int) -> dict[str, float]:
    """Contexts built by several clients at once: how long each took, and how many a second there were."""
    texts = [question.text for question in islice(cycle(questions), clients * _QUESTIONS_PER_CLIENT)]

    def build(text: str) -> float:
        return milliseconds(lambda: engine.build_context(text, WORKSPACE))

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        taken = list(pool.map(build, texts))
    return spread(taken).as_dict() | {"per_second": len(texts) / (time.perf_counter() - began)}


def _measure_recall(engine: ContextEngine, questions: Sequence[Question]) -> dict[str, float]:
    """The share of the truly nearest vectors that a search lists, over everything and within one kind."""
    encoder = corpus.FreeEncoder()
    space = DenseSpace(encoder)
    numbers, kinds, codes = _read_codes(engine, space)
    recalls: dict[str, list[float]] = {"everything": [], "one kind": []}
    for question in questions[:_RECALL_QUESTIONS]:
        vector = tuple(encoder.embed(question.text))
        cosines = cosines_to_codes(vector, codes)
        for name, filters in (("everything", Filters()), ("one kind", Filters(kinds=("turn",)))):
            allowed = np.ones(len(codes), bool) if filters.empty else kinds == "turn"
            limit = min(_RECALL_AT, int(allowed.sum()))
            worst = np.partition(cosines[allowed], -limit)[-limit]
            probe = VectorProbe(space.name, space.digest, vector)
            found = engine.store.search(Search(WORKSPACE, (probe,), filters, limit))
            listed = [score for _, score in found.lists.get(space.name, ())]
            recalls[name].append(sum(score >= worst - 1e-9 for score in listed) / max(1, limit))
    return {name: float(np.mean(values)) for name, values in recalls.items()} | {"vectors": len(numbers)}


def _read_codes(engine: ContextEngine, space: DenseSpace) -> tuple[list[str], Any, Any]:
    """The id, kind and code of every vector of a space, from the rows."""
    ids: list[str] = []
    kinds: list[str] = []
    codes: list[bytes] = []
    after: str | None = None
    while items := engine.store.run(Scan(WORKSPACE, after=after, limit=2000)):
        kind_by_id = {item.id: item.kind for item in items}
        for item_id, name, _, _, code in engine.store.run(GetAttached(WORKSPACE, tuple(kind_by_id))).vectors:
            if name == space.name:
                ids.append(item_id)
                kinds.append(kind_by_id[item_id])
                codes.append(code)
        after = items[-1].id
    return ids, np.array(kinds), np.frombuffer(b"".join(codes), np.int8).reshape(len(codes), -1)


def _folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


# Tables --------------------------------------------------------------------------------------------------


def _writing_table(facts: Sequence[dict[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            one["engine"],
            one["size"],
            round(one["stored_per_second"]),
            round(one["ready_seconds"], 1),
            round(one["process_bytes"] / _MB),
            round(one["server_bytes"] / _MB),
            round(one["disk_bytes"] / _MB),
            round(one["disk_bytes"] / one["size"]),
        )
        for one in facts
    ]
    columns = (
        "store",
        "items",
        "items/s",
        "ready after s",
        "own MB",
        "servers MB",
        "disk MB",
        "bytes an item",
    )
    return Table("Writing, memory and disk", columns, tuple(rows))


def _asking_table(facts: Sequence[dict[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in facts:
        for name, times in one["asked"].items():
            target = TARGETS_MS.get((one["engine"], one["size"])) if name == "build_context" else None
            recall = (
                one["recall"]["one kind" if "kind" in name else "everything"]
                if "session" not in name
                else None
            )
            rows.append(
                (
                    one["engine"],
                    one["size"],
                    name,
                    round(times["p50"], 1),
                    round(times["p99"], 1),
                    target,
                    recall,
                )
            )
    return Table(
        "One client, milliseconds apart from encoding",
        ("store", "items", "operation", "p50", "p99", "target", "recall of vectors"),
        tuple(rows),
        (f"recall at {_RECALL_AT} against comparing every vector",),
    )


def _clients_table(facts: Sequence[dict[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            one["engine"],
            one["size"],
            clients,
            round(times["p50"], 1),
            round(times["p99"], 1),
            round(times["per_second"]),
        )
        for one in facts
        for clients, times in one["clients"].items()
    ]
    columns = ("store", "items", "clients", "p50", "p99", "contexts/s")
    return Table("build_context by several clients at once, milliseconds", columns, tuple(rows))
