"""Qdrant beside a store: what happens while it is away, and that nothing is left of what was deleted."""

from __future__ import annotations

import json
import threading
import time
import urllib.request

import pytest
from click.testing import CliRunner

from foreword.config import Settings
from foreword.edges.cli.main import main
from foreword.engine.context_engine import ContextEngine
from foreword.engine.defaults import default_store as open_default_store
from foreword.errors import ValidationError
from foreword.store import base, exchange
from foreword.store.conformance.suite import DIGEST, HERE, PROBES, THERE, item, unit_vector, views
from foreword.store.outbox_sender import OutboxSender
from foreword.store.qdrant import QdrantVectors
from foreword.store.sqlite import SqliteStore
from foreword.testing import HashEmbeddings
from foreword.types import Filters, VectorProbe
from foreword_measure.servers import QdrantServer

PROBE = VectorProbe("vectors", DIGEST, unit_vector(0))


@pytest.fixture
def server():
    """A Qdrant of the test's own, which it may kill."""
    with QdrantServer() as server:
        yield server


@pytest.fixture
def open_store(tmp_path, server):
    opened = []

    def open_one():
        opened.append(SqliteStore(tmp_path / "data", views, vectors=QdrantVectors(server.url)))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store):
    return open_store()


def _fill(store, workspace=HERE, count=6):
    store.put(workspace, [item(f"Ada saw the harbour {n}", id=f"i{n}") for n in range(count)])
    vectors = tuple(base.Vector(f"i{n}", f"h{n}", unit_vector(n)) for n in range(count))
    store.run(base.PutVectors(workspace, "vectors", DIGEST, vectors))


def _ask(server, path, body=None):
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}/{path}",
        json.dumps(body).encode() if body is not None else None,
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)["result"]


def _points(server):
    """Everything that the server holds."""
    names = [one["name"] for one in _ask(server, "collections")["collections"]]
    return [
        point
        for name in names
        for point in _ask(server, f"collections/{name}/points/scroll", {"limit": 1000, "with_payload": True})[
            "points"
        ]
    ]


def _wait_until_sent(store, workspace=HERE):
    assert store.vector_server.flush(workspace, 30)
    until = time.monotonic() + 30
    while store.run(exchange.ReadOutbox(workspace)).changes and time.monotonic() < until:
        store.vector_server.flush(workspace, 30)
    assert store.run(exchange.ReadOutbox(workspace)).changes == ()


def test_the_server_gets_vectors_and_no_words(store, server):
    _fill(store)
    _wait_until_sent(store)
    points = _points(server)
    assert len(points) == 6
    sent = json.dumps(points)
    assert not any(word in sent for word in ("Ada", "harbour", HERE, "i1", "user"))
    assert store.check(HERE) == ()


def test_a_collection_has_a_tenant_and_quantised_codes(store, server):
    _fill(store)
    _wait_until_sent(store)
    (name,) = (one["name"] for one in _ask(server, "collections")["collections"])
    config = _ask(server, f"collections/{name}")
    assert config["config"]["quantization_config"]["scalar"]["type"] == "int8"
    assert config["payload_schema"]["tenant"]["params"]["is_tenant"] is True


def test_what_is_deleted_leaves_nothing_on_the_server(store, server):
    _fill(store)
    _fill(store, THERE, 2)
    for workspace in (HERE, THERE):
        _wait_until_sent(store, workspace)
    assert len(_points(server)) == 8
    store.delete(base.Delete(HERE, tuple(f"i{n}" for n in range(6))))
    assert store.check(HERE) == ()
    assert len(_points(server)) == 2


def test_while_the_server_is_away_words_answer_and_the_receipt_says_why(home, server):
    settings = Settings(home=home, vectors=server.url, late_interaction="none", reader="none")
    with ContextEngine(embedding_provider=HashEmbeddings(), settings=settings) as engine:
        engine.remember("The harbour master is Ada.", "shop")
        engine.embed_pending("shop")
        assert engine.search("harbour master", "shop")
        server.kill()
        engine.remember("The lighthouse keeper is Grace.", "shop")
        engine.embed_pending("shop")
        found = engine.search("lighthouse keeper", "shop")
        assert found[0].memory.text == "The lighthouse keeper is Grace."
        receipt = engine.build_context("Who keeps the lighthouse?", "shop").receipt
        notes = [note.message for note in receipt.notes]
        assert any("qdrant://127.0.0.1" in message for message in notes), notes
        problems = engine.store.check("shop")
        assert [problem.part for problem in problems] == ["vectors"]
        server.start()
        _wait_until_sent(engine.store, "shop")
        assert engine.store.check("shop") == ()


def test_what_was_written_while_the_server_was_away_reaches_it_through_the_next_process(open_store, server):
    first = open_store()
    _fill(first)
    _wait_until_sent(first)
    server.kill()
    first.put(HERE, [item("one more", id="more")])
    first.run(base.PutVectors(HERE, "vectors", DIGEST, (base.Vector("more", "m", unit_vector(0)),)))
    first.delete(base.Delete(HERE, ("i0",)))
    first.close()
    server.start()
    second = open_store()
    found = second.search(base.Search(HERE, (PROBE,)))
    assert next(name for name, _ in found.lists["vectors"]) == "more"
    assert "i0" not in found.items
    _wait_until_sent(second)
    assert second.check(HERE) == ()
    assert len(_points(server)) == 6


def test_a_server_that_hangs_costs_a_search_its_deadline_and_no_more(store, server):
    _fill(store)
    _wait_until_sent(store)
    server.freeze()
    try:
        began = time.monotonic()
        found = store.search(base.Search(HERE, PROBES, expires=began + 0.5))
        assert time.monotonic() - began < 0.5 + 0.5  # and what a busy machine adds
        assert [note.part for note in found.notes] == ["vectors"]
        assert found.lists["words"]
    finally:
        server.thaw()


def test_a_check_sees_what_the_server_lost_and_repair_sends_it_again(store, server):
    _fill(store)
    _wait_until_sent(store)
    (name,) = (one["name"] for one in _ask(server, "collections")["collections"])
    gone = [point["id"] for point in _points(server)[:2]]
    _ask(server, f"collections/{name}/points/delete?wait=true", {"points": gone})
    assert [problem.part for problem in store.check(HERE)] == ["vectors"]
    assert store.run(base.Repair(HERE)) == ()
    _wait_until_sent(store)
    assert store.check(HERE) == ()
    assert len(_points(server)) == 6


def test_a_flush_waits_for_what_is_being_sent():
    outboxes = [exchange.Outbox("t", ((1, 1),))]
    is_sending, may_end = threading.Event(), threading.Event()

    def run(operation):
        is_read = isinstance(operation, exchange.ReadOutbox)
        return (outboxes.pop() if outboxes else exchange.Outbox()) if is_read else 1

    def send(_):
        is_sending.set()
        assert may_end.wait(60)

    sender = OutboxSender(run, send)
    sender.request_sending(HERE)
    assert is_sending.wait(60)
    assert not sender.flush(HERE, 0.0)
    may_end.set()
    assert sender.flush(HERE, 60.0)
    sender.close()


def test_a_server_that_lost_its_disk_is_sent_everything_again(store, server):
    _fill(store)
    _wait_until_sent(store)
    (name,) = (one["name"] for one in _ask(server, "collections")["collections"])
    _ask(server, f"collections/{name}/points/delete?wait=true", {"filter": {}})
    assert _points(server) == []
    store.run(exchange.RebuildVectors(HERE))
    _wait_until_sent(store)
    assert len(_points(server)) == 6
    assert store.check(HERE) == ()


def test_of_a_long_outbox_nothing_outdated_is_found(store, monkeypatch):
    _fill(store, count=8)
    _wait_until_sent(store)
    monkeypatch.setattr("foreword.store.qdrant._MAX_UNSENT_COMPARED", 2)
    monkeypatch.setattr(QdrantVectors, "after_commit", lambda *_: None)  # as if it were away
    for number in range(6):
        store.run(base.Amend(HERE, f"i{number}", confidence=0.1))
    found = store.search(base.Search(HERE, (PROBE,), Filters(min_confidence=0.5)))
    assert {name for name, _ in found.lists["vectors"]} == {"i6", "i7"}
    store.delete(base.Delete(HERE, ("i7",)))
    found = store.search(base.Search(HERE, (PROBE,)))
    assert "i7" not in {name for name, _ in found.lists["vectors"]}


def test_a_running_store_sends_everything_to_a_server_that_lost_its_disk(store, server):
    _fill(store)
    _wait_until_sent(store)
    _drop_collections(server)
    store.put(HERE, [item("Ada saw the lighthouse", id="new")])
    store.run(base.PutVectors(HERE, "vectors", DIGEST, (base.Vector("new", "h", unit_vector(7)),)))
    _wait_until_sent(store)
    assert store.check(HERE) == ()
    assert len(_points(server)) == 7


def _drop_collections(server):
    for one in _ask(server, "collections")["collections"]:
        address = f"http://127.0.0.1:{server.port}/collections/{one['name']}"
        urllib.request.urlopen(urllib.request.Request(address, method="DELETE"), timeout=60).close()


def test_what_one_process_deletes_another_that_was_sending_it_does_not_bring_back(
    open_store, server, monkeypatch
):
    slow, quick = open_store(), open_store()
    has_read, may_send = threading.Event(), threading.Event()
    send = slow.vector_server._send

    def send_late(outbox):
        has_read.set()
        assert may_send.wait(60)
        send(outbox)

    monkeypatch.setattr(slow.vector_server._sender, "_send", send_late)
    _fill(slow)
    assert has_read.wait(60)
    quick.delete(base.Delete(HERE, ("i1", "i2")))
    _wait_until_sent(quick)
    may_send.set()
    _wait_until_sent(slow)
    assert {point["payload"]["number"] for point in _points(server)} == {1, 4, 5, 6}
    assert quick.check(HERE) == ()


@pytest.mark.parametrize(
    "url",
    ["qdrant://", "qdrant://host:word", "qdrant://se/cret@host", "qdrant://se#cret@host", "qdrant://[::1"],
)
def test_an_address_that_cannot_be_read_is_said_without_its_key(url):
    with pytest.raises(ValidationError, match="qdrant://") as caught:
        QdrantVectors(url)
    assert "cret" not in str(caught.value)


def test_vectors_that_the_server_never_got_are_noted_in_a_search(store, server):
    _fill(store)
    _wait_until_sent(store)
    assert not store.search(base.Search(HERE, (PROBE,))).notes
    _drop_collections(server)
    found = store.search(base.Search(HERE, (PROBE,), Filters(kinds=("memory",))))
    assert "they are being sent again" in str(found.notes)
    _wait_until_sent(store)
    found = store.search(base.Search(HERE, (PROBE,)))
    assert (len(found.lists["vectors"]), found.notes) == (6, ())
    assert len(_points(server)) == 6


def test_a_store_that_gets_a_server_later_sends_what_it_has_with_its_next_change(tmp_path, server):
    with SqliteStore(tmp_path / "data", views) as alone:
        _fill(alone)
    with SqliteStore(tmp_path / "data", views, vectors=QdrantVectors(server.url)) as store:
        store.run(base.Amend(HERE, "i1", confidence=0.5))
        _wait_until_sent(store)
        assert len(_points(server)) == 6
        assert store.check(HERE) == ()


# Purging


@pytest.fixture
def purged_home(home, server, monkeypatch):
    """A home with a workspace whose vectors the server has; and the server has those of another store."""
    monkeypatch.setenv("FOREWORD_VECTORS", server.url)
    settings = Settings(home=home, vectors=server.url, late_interaction="none", reader="none")
    with ContextEngine(embedding_provider=HashEmbeddings(), settings=settings) as engine:
        engine.remember("The harbour master is Ada.", "shop")
        engine.embed_pending("shop")
        _wait_until_sent(engine.store, "shop")
    assert len(_points(server)) > 0
    return home


def _purge():
    ran = CliRunner().invoke(main, ["purge", "--yes"])
    assert ran.exit_code == 0, ran.output
    return ran.output


def test_a_purge_leaves_nothing_on_the_server_but_what_others_have(purged_home, server, store):
    _fill(store)
    _wait_until_sent(store)
    assert "as soon as" not in _purge()
    assert len(_points(server)) == 6
    assert list(purged_home.iterdir()) == []
    assert store.check(HERE) == ()


def test_a_purge_while_the_server_is_away_is_made_good_when_a_store_is_next_opened(purged_home, server):
    server.kill()
    assert "as soon as it answers" in _purge()
    assert not [path for path in purged_home.rglob("*") if b"shop" in bytes(path)]
    server.start()
    assert len(_points(server)) > 0
    with open_default_store(Settings(home=purged_home, vectors=server.url)) as opened:
        assert opened.vector_server.flush("", 30)
    assert _points(server) == []
    assert list(purged_home.iterdir()) == []


def test_a_purge_says_which_database_could_not_name_its_vectors(purged_home, server):
    (path,) = purged_home.glob("workspaces/*/memory.db")
    path.write_bytes(b"not a database" * 1000)
    assert "may still have its vectors" in _purge().replace("\n", " ")
