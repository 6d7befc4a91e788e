"""The part of a store that compares vectors on a Qdrant server, beside SQLite or PostgreSQL.

There is a collection for each generation of vectors, and each workspace is a tenant in it. The rows of the
store are the truth: a transaction that changes them adds the items to the outbox, and a thread sends the
outbox. While Qdrant is away the outbox grows, and searches go on by words, with a note. Vectors that were not
sent yet are compared from the rows. Only numbers, codes and the fields of filters are sent, never a text.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import unquote, urlsplit

import numpy as np

from foreword.errors import MissingExtra, StoreAway, ValidationError
from foreword.store.base import EVERYTHING, Problem
from foreword.store.outbox_sender import BATCH, OutboxSender
from foreword.store.rows import to_microseconds
from foreword.store.vector_part import NearestCosines, VectorPart

try:
    from qdrant_client import QdrantClient, models
    from qdrant_client.http.exceptions import ApiException, UnexpectedResponse
except ImportError as error:  # pragma: no cover  (the tests have it)
    raise MissingExtra("qdrant-client", "qdrant") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from foreword.store.base import Operation
    from foreword.store.exchange import Outbox, Point
    from foreword.store.tenants_to_purge import TenantsToPurge
    from foreword.store.vector_part import VectorComparison
    from foreword.types import Filters, VectorProbe

_T = TypeVar("_T")

_PORT = 6333
_TIMEOUT_SECONDS = 30
_SECONDS_TO_LEAVE_ALONE = 1.0
"""How long after a failure searches do not ask Qdrant again: each would wait in vain."""

_MAX_UNSENT_COMPARED = 5000
_ALL = (1 << 31) - 1
_KEYWORD, _INTEGER = models.KeywordIndexType.KEYWORD, models.IntegerIndexType.INTEGER
_INDEXED_WORDS = ("space", "kind", "type", "session", "conversation", "source")


class QdrantRows(Protocol):
    """The methods of an engine's transaction that this part needs."""

    workspace: str
    expires: float | None

    def tenant_name(self) -> str:
        """The name of the workspace on the server, different from those of all other stores."""
        ...

    def add_to_outbox(self, numbers: Iterable[int]) -> None:
        """Note that these items have changed and have to be sent to Qdrant."""
        ...

    def unsent_and_passing_numbers(self, filters: Filters, limit: int) -> tuple[set[int], list[int]]:
        """The newest items in the outbox, at most `limit`, and those of them that pass the filters."""
        ...

    def unsent_among(self, numbers: Sequence[int]) -> set[int]:
        """Those of these items that are in the outbox."""
        ...

    def numbers_with_vectors(self) -> list[int]:
        """The numbers of all items that have a vector."""
        ...

    def codes_of_items(self, space: str, digest: str, numbers: Iterable[int]) -> dict[int, bytes]:
        """The codes of these items by number, for those that have one."""
        ...

    def all_codes(self) -> Iterable[tuple[int, str, str, bytes]]:
        """Rows of an item's number, space, digest and code, for every vector."""
        ...


class QdrantVectors(VectorPart[QdrantRows]):
    """Vectors on a Qdrant server: `qdrant://[key@]host:port`, or `qdrants://…` for TLS."""

    def __init__(self, url: str, purged: TenantsToPurge | None = None) -> None:
        self.shown_url, key = _read_url(url)
        self._purged = purged
        self._client = QdrantClient(
            url=self.shown_url.replace("qdrant", "http", 1),
            api_key=key or None,
            timeout=_TIMEOUT_SECONDS,
            check_compatibility=False,
        )
        self._known_collections: set[str] = set()
        self._away_until = 0.0
        self._query_threads = ThreadPoolExecutor(4, "foreword-qdrant")
        self._sender: OutboxSender | None = None

    def bind_to_store(self, run: Callable[[Operation[Any]], Any]) -> None:
        """Give the function that carries out operations in the store to which this part belongs."""
        self._sender = OutboxSender(run, self._send, self._has_points, self.remove_purged_tenants)
        if self._purged is not None and self._purged.list_tenants_to_delete(self.shown_url):
            self._sender.request_sending("")

    def remove_purged_tenants(self) -> None:
        """Delete the points of workspaces that were purged; `StoreAway` if the server does not answer."""
        if self._purged is not None:
            for tenant in self._purged.list_tenants_to_delete(self.shown_url):
                self._delete_tenant(tenant)
                self._purged.remove(tenant)

    def read_server_version(self) -> str:
        """The version of the server; raises `StoreAway` if it does not answer."""
        with self._translate_errors():
            return str(self._client.info().version)

    # Inside a transaction of the store

    def put_vectors(self, tx: QdrantRows, space: str, digest: str, codes: Mapping[int, bytes]) -> None:  # noqa: ARG002
        """Add the items to the outbox; their codes are read from the rows when they are sent."""
        tx.add_to_outbox(codes)

    def note_changed_items(self, tx: QdrantRows, numbers: Sequence[int]) -> None:
        """Add the items to the outbox."""
        tx.add_to_outbox(numbers)

    def delete_vectors(self, tx: QdrantRows, numbers: Sequence[int]) -> None:
        """Add the items to the outbox; sending an item that no longer exists deletes it from Qdrant."""
        tx.add_to_outbox(numbers)

    def compare(self, tx: QdrantRows, probe: VectorProbe, filters: Filters) -> VectorComparison:
        """Compare a vector with those that Qdrant has, and with those that were not sent yet."""
        return NearestCosines(
            probe.vector,
            lambda vector, limit: self._find_nearest(tx, probe, vector, filters, limit),
            lambda numbers: tx.codes_of_items(probe.space, probe.digest, numbers),
        )

    def _find_nearest(
        self, tx: QdrantRows, probe: VectorProbe, vector: Sequence[float], filters: Filters, limit: int
    ) -> list[int]:
        """The numbers of the nearest items on Qdrant, and of all unsent items that pass the filters."""
        unsent, passing = tx.unsent_and_passing_numbers(filters, _MAX_UNSENT_COMPARED)
        if unsent:
            self.after_commit(tx.workspace)  # a process may have ended before it sent its changes
        collection = _collection_name(probe.digest, len(probe.vector))
        condition = _filters_to_conditions(tx.tenant_name(), probe.space, filters)
        sent = self._ask_before_deadline(
            lambda: self._query_nearest(collection, list(vector), condition, limit + len(unsent)), tx.expires
        )
        may_lack = sent is None or (not sent and filters == EVERYTHING)
        if may_lack and self._server_lacks_vectors(tx, probe, unsent):
            self.after_commit(tx.workspace)
            raise StoreAway(f"{self.shown_url} lacks the vectors; they are being sent again")
        if len(unsent) >= _MAX_UNSENT_COMPARED:  # there are more, of which Qdrant may have outdated vectors
            unsent |= tx.unsent_among(sent or [])
        return [number for number in sent or [] if number not in unsent] + passing

    def _server_lacks_vectors(self, tx: QdrantRows, probe: VectorProbe, unsent: set[int]) -> bool:
        """Whether the rows have vectors that should have been sent, but never were or are lost."""
        sent = (number for number in tx.numbers_with_vectors() if number not in unsent)
        return bool(tx.codes_of_items(probe.space, probe.digest, islice(sent, BATCH)))

    def _ask_before_deadline(self, question: Callable[[], _T], expires: float | None) -> _T:
        """The answer of Qdrant to a question; raises `StoreAway` if none comes before the deadline."""
        if time.monotonic() < self._away_until:
            raise StoreAway(f"{self.shown_url} is away; items are found without their vectors")
        left = _TIMEOUT_SECONDS if expires is None else max(0.0, expires - time.monotonic())
        try:
            return self._query_threads.submit(question).result(left)
        except (FutureTimeout, ApiException, OSError) as error:
            self._away_until = time.monotonic() + _SECONDS_TO_LEAVE_ALONE
            raise StoreAway(
                f"{self.shown_url} does not answer ({type(error).__name__}); "
                "items are found without their vectors"
            ) from error

    def _query_nearest(
        self, collection: str, vector: list[float], condition: models.Filter, limit: int
    ) -> list[int] | None:
        """The item numbers of the nearest points; None if the collection does not exist."""
        try:
            found = self._client.query_points(
                collection,
                query=vector,
                query_filter=condition,
                limit=limit,
                with_payload=["number"],
                search_params=models.SearchParams(
                    hnsw_ef=max(256, limit),
                    quantization=models.QuantizationSearchParams(rescore=True, oversampling=2.0),
                ),
            )
        except UnexpectedResponse as error:
            if error.status_code == 404:
                return None
            raise
        return [int((point.payload or {})["number"]) for point in found.points]

    def find_problems(self, tx: QdrantRows) -> Iterator[Problem]:
        """Compare every point of the workspace with the rows, except those of items in the outbox."""
        unsent, _ = tx.unsent_and_passing_numbers(EVERYTHING, _ALL)
        expected = {
            (_collection_name(digest, len(code)), space, number): _fingerprint(code)
            for number, space, digest, code in tx.all_codes()
            if number not in unsent
        }
        try:
            found = {
                key: code for key, code in self._points_of_tenant(tx.tenant_name()) if key[2] not in unsent
            }
        except (ApiException, OSError) as error:
            yield Problem("vectors", f"{self.shown_url} cannot be asked ({type(error).__name__})")
            return
        if missing := len(expected.keys() - found.keys()):
            yield Problem("vectors", f"{self.shown_url} lacks {missing} vectors")
        if extra := len(found.keys() - expected.keys()):
            yield Problem("vectors", f"{self.shown_url} has {extra} vectors that no row has")
        if wrong := sum(found[key] != expected[key] for key in found.keys() & expected.keys()):
            yield Problem("vectors", f"{wrong} vectors in {self.shown_url} disagree with the rows")

    def _points_of_tenant(self, tenant: str) -> Iterator[tuple[tuple[str, str, int], str]]:
        """Of every point of a workspace its collection, space and number, and the fingerprint of its code."""
        condition = models.Filter(must=[_field_equals("tenant", tenant)])
        for collection in self._list_collections():
            offset: Any = None
            while True:
                points, offset = self._client.scroll(
                    collection, scroll_filter=condition, limit=1000, offset=offset,
                    with_payload=["space", "number", "code"],
                )  # fmt: skip
                for point in points:
                    payload = point.payload or {}
                    yield (collection, payload["space"], payload["number"]), payload["code"]
                if offset is None:
                    break

    def _list_collections(self) -> list[str]:
        """The names of the collections on the server that are ours."""
        names = (collection.name for collection in self._client.get_collections().collections)
        return sorted(name for name in names if name.startswith("foreword-"))

    def rebuild(self, tx: QdrantRows) -> None:
        """Delete every point of the workspace, and add all items that have vectors to the outbox."""
        self._delete_tenant(tx.tenant_name())
        tx.add_to_outbox(tx.numbers_with_vectors())

    def _delete_tenant(self, tenant: str) -> None:
        """Delete every point of a workspace; raises `StoreAway` if the server does not answer."""
        condition = models.Filter(must=[_field_equals("tenant", tenant)])
        with self._translate_errors():
            for collection in self._list_collections():
                self._client.delete(collection, models.FilterSelector(filter=condition), wait=True)

    # After a commit

    def after_commit(self, workspace: str) -> None:
        """Have the outbox of a workspace sent soon."""
        if self._sender is not None:
            self._sender.request_sending(workspace)

    def flush(self, workspace: str, seconds: float) -> bool:
        """Wait until the outbox of a workspace is sent; False if that takes longer than `seconds`."""
        return self._sender is None or self._sender.flush(workspace, seconds)

    def close(self) -> None:
        """Send what can be sent now; the rest is sent when the store is opened again."""
        if self._sender is not None:
            self._sender.close()
        self._query_threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    def _has_points(self, tenant: str) -> bool:
        """Whether Qdrant has a point of a workspace."""
        condition = models.Filter(must=[_field_equals("tenant", tenant)])
        with self._translate_errors():
            return any(
                self._client.scroll(collection, condition, limit=1, with_payload=False)[0]
                for collection in self._list_collections()
            )

    def _send(self, outbox: Outbox) -> None:
        """Send the points of changed items to Qdrant, and delete their outdated points there."""
        with self._translate_errors():
            self._send_to_collections(outbox)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """In the block, errors of the client become `StoreAway`."""
        try:
            yield
        except (ApiException, OSError) as error:
            raise StoreAway(f"{self.shown_url} cannot be asked ({type(error).__name__})") from error

    def _send_to_collections(self, outbox: Outbox) -> None:
        """Send points as `_send` does; errors of the client are raised."""
        numbers = [number for number, _ in outbox.changes]
        by_collection: dict[str, list[Point]] = {}
        for point in outbox.points:
            by_collection.setdefault(_collection_name(point.digest, len(point.code)), []).append(point)
        existing = self._list_collections()
        self._known_collections.intersection_update(existing)  # a server may have lost its disk
        for collection, points in by_collection.items():
            self._make_collection_if_missing(collection, len(points[0].code))
        for collection in {*existing, *by_collection}:
            points = by_collection.get(collection, [])
            kept = {_point_id(outbox.tenant, point.space, point.number) for point in points}
            stale = models.Filter(
                must=[
                    _field_equals("tenant", outbox.tenant),
                    models.FieldCondition(key="number", match=models.MatchAny(any=numbers)),
                ],
                must_not=[models.HasIdCondition(has_id=sorted(kept))] if kept else None,
            )
            self._client.delete(collection, models.FilterSelector(filter=stale), wait=True)
            if points:
                self._client.upsert(
                    collection, [_make_point(outbox.tenant, point) for point in points], wait=True
                )

    def _make_collection_if_missing(self, name: str, dimensions: int) -> None:
        """Make the collection of a generation with its indexes, if it does not exist."""
        if name in self._known_collections:
            return
        if not self._client.collection_exists(name):
            try:
                self._client.create_collection(
                    name,
                    vectors_config=models.VectorParams(
                        size=dimensions, distance=models.Distance.COSINE, on_disk=True
                    ),
                    # A graph for each tenant, and none over all tenants, since no search is over all.
                    hnsw_config=models.HnswConfigDiff(m=0, payload_m=16, ef_construct=128),
                    quantization_config=models.ScalarQuantization(
                        scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
                    ),
                )
            except UnexpectedResponse as error:
                if error.status_code != 409:  # it exists: another process has just made it
                    raise
        self._index_payload(name)
        self._known_collections.add(name)

    def _index_payload(self, name: str) -> None:
        """Have Qdrant index the fields that filters compare; the workspace is the tenant.

        Qdrant builds a graph for every value of an indexed field that many points have. So a value that most
        points share (a confidence, no type) is not indexed, and numbers are only looked up, never compared.
        """
        indexes: dict[str, Any] = {
            "tenant": models.KeywordIndexParams(type=_KEYWORD, is_tenant=True),
            "number": models.IntegerIndexParams(type=_INTEGER, lookup=True, range=False),
            "created_at": models.IntegerIndexParams(type=_INTEGER, lookup=False, range=True),
            **{word: models.KeywordIndexParams(type=_KEYWORD) for word in _INDEXED_WORDS},
        }
        for field, index in indexes.items():
            self._client.create_payload_index(name, field, index, wait=True)


def _read_url(url: str) -> tuple[str, str]:
    """The address of a server without its key, and the key; raises `ValidationError` without repeating it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _PORT
    except ValueError:
        host = ""
    if not host or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValidationError(
            "vectors must be qdrant://[key@]host[:port], or qdrants:// for TLS; "
            "in a key, write / as %2F, # as %23, ? as %3F and @ as %40"
        )
    shown_host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown_host}:{port}", unquote(parts.password or parts.username or "")


def _collection_name(digest: str, dimensions: int) -> str:
    """The name of the collection of one generation of vectors."""
    return "foreword-" + hashlib.blake2b(f"{digest}\0{dimensions}".encode(), digest_size=12).hexdigest()


def _fingerprint(code: bytes) -> str:
    """A short hash of a code, by which Qdrant's copy is compared with the rows."""
    return hashlib.blake2b(code, digest_size=8).hexdigest()


def _point_id(tenant: str, space: str, number: int) -> str:
    """The id of an item's point: a UUID computed from workspace, space and item number."""
    name = hashlib.blake2b(f"{tenant}\0{space}\0{number}".encode(), digest_size=16)
    return str(uuid.UUID(bytes=name.digest()))


def _make_point(tenant: str, point: Point) -> models.PointStruct:
    """A point as Qdrant stores it, with the fields that filters compare."""
    values = np.frombuffer(point.code, np.int8).astype(np.float32)
    payload = {
        "tenant": tenant,
        "number": point.number,
        "space": point.space,
        "code": _fingerprint(point.code),
        "kind": point.kind,
        "type": point.type or None,
        "created_at": point.created_at,
        "confidence": point.confidence,
        "session": _hash_name(point.session),
        "conversation": _hash_name(point.conversation),
        "source": _hash_name(point.source),
    }
    return models.PointStruct(
        id=_point_id(tenant, point.space, point.number), vector=values.tolist(), payload=payload
    )


def _hash_name(value: str | None) -> str | None:
    """The hash by which Qdrant compares a name: names of persons and paths must not leave the store."""
    return None if value is None else hashlib.blake2b(value.encode(), digest_size=16).hexdigest()


def _field_equals(key: str, value: str) -> models.FieldCondition:
    """The condition that a field of a point has this value."""
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def _filters_to_conditions(tenant: str, space: str, filters: Filters) -> models.Filter:
    """The filters on the points of a workspace and space, as a filter of Qdrant."""
    must: list[Any] = [_field_equals("tenant", tenant), _field_equals("space", space)]
    if filters.kinds:
        must.append(models.FieldCondition(key="kind", match=models.MatchAny(any=list(filters.kinds))))
    if filters.types:
        wanted = models.MatchAny(any=list(filters.types))
        no_type = models.IsEmptyCondition(is_empty=models.PayloadField(key="type"))
        own_kind: list[Any] = [no_type, models.FieldCondition(key="kind", match=wanted)]
        typed = models.FieldCondition(key="type", match=wanted)
        must.append(models.Filter(should=[typed, models.Filter(must=own_kind)]))
    since, until = (None if at is None else to_microseconds(at) for at in (filters.since, filters.until))
    if since is not None or until is not None:
        must.append(models.FieldCondition(key="created_at", range=models.Range(gte=since, lte=until)))
    if filters.min_confidence > 0:
        must.append(models.FieldCondition(key="confidence", range=models.Range(gte=filters.min_confidence)))
    names = {name: getattr(filters, name) for name in ("conversation", "session", "source")}
    must += [
        _field_equals(name, _hash_name(value) or "") for name, value in names.items() if value is not None
    ]
    if filters.conversations:
        must.append(_conversation_is_one_of(filters.conversations))
    return models.Filter(must=must)


def _conversation_is_one_of(names: Sequence[str]) -> models.Filter:
    """The condition that a point's item belongs to one of these conversations ("": to none)."""
    hashes = [_hash_name(name) or "" for name in names if name]
    should: list[Any] = (
        [models.FieldCondition(key="conversation", match=models.MatchAny(any=hashes))] if hashes else []
    )
    if "" in names:
        should.append(models.IsEmptyCondition(is_empty=models.PayloadField(key="conversation")))
    return models.Filter(should=should)
