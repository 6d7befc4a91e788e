"""What the PostgreSQL engine promises beyond the contract: isolation, one try, deadlines, shared work."""

from __future__ import annotations

import os
import resource
import threading
import time

import psycopg
import pytest

from foreword.config import Settings, load_settings
from foreword.engine.context_engine import ContextEngine
from foreword.engine.defaults import open_store
from foreword.errors import StoreAway, StoreTooNew, ValidationError
from foreword.store import base
from foreword.store.conformance.suite import DIGEST, HERE, PROBES, THERE, item, unit_vector, views
from foreword.store.database import Limits
from foreword.store.postgres import nearest
from foreword.store.postgres.connections import hide_password
from foreword.store.postgres.schema import PRIVATE_TABLES
from foreword.store.postgres.store import PostgresStore
from foreword.testing import HashEmbeddings
from foreword.types import Filters, VectorProbe, WordsProbe
from foreword.types.deadlines import hold_deadline


@pytest.fixture
def open_store_again(postgres, schema):
    """Opens one more store on the same tables, as another machine would."""
    opened = []

    def open_one(**options):
        opened.append(PostgresStore(postgres.url, views, Limits(), schema_name=schema, **options))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store_again):
    return open_store_again()


def _fill(store, workspace, count=5):
    store.put(workspace, [item(f"Ada saw open_gate {n} of {workspace}", id=f"i{n}") for n in range(count)])
    vectors = tuple(base.Vector(f"i{n}", f"h{n}", unit_vector(n)) for n in range(count))
    store.run(base.PutVectors(workspace, "vectors", DIGEST, vectors))
    store.run(base.PutTokenCodes(workspace, DIGEST, {"i0": b"codes"}))


def test_the_server_itself_shows_a_transaction_no_other_workspace(store, postgres, schema):
    _fill(store, HERE)
    _fill(store, THERE)
    with psycopg.connect(postgres.url, autocommit=True) as db:
        db.execute(f"SET search_path = {schema}, public")
        tables = (*PRIVATE_TABLES, "nearest_1")
        for table in tables:  # whoever forgets to say which workspace sees nothing
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
        db.execute("SET foreword.ws = '1'")
        for table in tables:
            numbers = {row[0] for row in db.execute(f"SELECT ws FROM {table}")}
            assert numbers <= {1}, table
        assert db.execute("SELECT count(*) FROM items").fetchone() == (5,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute("INSERT INTO claims VALUES(2, 1, 'x', now())")


def test_two_machines_make_the_tables_once(open_store_again):
    stores = [open_store_again() for _ in range(6)]
    failures = []

    def put(number):
        try:
            stores[number].put(f"w{number}", [item("first", id="a")])
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=put, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads), "they wait for each other"
    assert failures == []
    assert stores[0].workspaces() == [f"w{number}" for number in range(6)]


def test_tables_of_a_newer_foreword_are_left_alone(store, open_store_again, postgres, schema):
    store.put(HERE, [item("a", id="a")])
    with psycopg.connect(postgres.url, autocommit=True) as db:
        db.execute(f"INSERT INTO {schema}.migrations VALUES('9999-tomorrow', now())")
    with pytest.raises(StoreTooNew, match="9999"):
        open_store_again().get(HERE, "a")


def test_a_write_whose_answer_was_lost_is_done_once(store, postgres, schema, monkeypatch):
    store.put(HERE, [item("first", id="first")])
    _fill(store, THERE)
    original = PostgresStore._index_vectors_if_many
    lost = []

    def lose_connection(self, connection, ws, workspace):
        if not lost:
            lost.append(True)
            connection.close()
            raise psycopg.OperationalError("the connection was lost after the commit")
        return original(self, connection, ws, workspace)

    monkeypatch.setattr(PostgresStore, "_index_vectors_if_many", lose_connection)
    vector = base.PutVectors(HERE, "vectors", DIGEST, (base.Vector("first", "t", unit_vector(0)),))
    results = store.batch([base.Put(HERE, (item("new", id="new"),)), vector, base.Delete(HERE, ("first",))])
    assert lost
    assert (results[0][0].new, results[2]) == (True, ("first",))
    assert [one.id for one in store.scan(HERE)] == ["new"]


def test_a_connection_that_the_server_ended_is_replaced(store, postgres):
    store.put(HERE, [item("a", id="a")])
    with psycopg.connect(postgres.admin_url, autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'foreword'")
    assert store.get(HERE, "a")[0].text == "a"
    assert store.put(HERE, [item("b", id="b")])[0].new


def test_a_server_that_hangs_costs_a_search_its_deadline_and_no_more(store, postgres):
    _fill(store, HERE)
    store.search(base.Search(HERE, PROBES))
    postgres.freeze()
    try:
        for _ in range(3):
            began = time.monotonic()
            found = store.search(base.Search(HERE, PROBES, expires=began + 0.3))
            assert time.monotonic() - began < 0.3 + 0.5  # and what a busy machine adds
            assert {note.part for note in found.notes} == {probe.space for probe in PROBES}
            assert all("late" in note.message for note in found.notes)
    finally:
        postgres.thaw()
    assert store.search(base.Search(HERE, PROBES)).notes == ()


def test_every_read_and_write_ends_at_the_deadline_of_its_caller(store, postgres):
    _fill(store, HERE)
    calls = [
        lambda: store.get(HERE, "i0"),
        lambda: store.recent(HERE),
        lambda: store.shown_ids(HERE, "session"),
        lambda: store.put(HERE, [item("late", id="late")]),
        store.workspaces,
    ]
    postgres.freeze()
    try:
        store.post(base.ClearShown(HERE, "session"))
        for call in calls:
            with hold_deadline(time.monotonic() + 0.2), pytest.raises(StoreAway):
                call()
    finally:
        postgres.thaw()
    assert [one.id for one in store.recent(HERE, limit=1)]  # and later calls have no deadline


def test_a_deadline_holds_in_a_process_with_many_open_files(store):
    _fill(store, HERE)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    store._pool.close_idle_connections()
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        assert store.search(base.Search(HERE, PROBES, expires=time.monotonic() + 60)).notes == ()
    finally:
        for file in files:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_slow_statement_is_stopped_by_the_server_and_the_rest_is_answered_late(store, monkeypatch):
    _fill(store, HERE)

    def sleep(self, *_):
        self._tx.execute("SELECT pg_sleep(30)")

    monkeypatch.setattr("foreword.store.postgres.search._PostgresRows.rank_by_bm25", sleep)
    probes = (VectorProbe("vectors", DIGEST, unit_vector(0)), WordsProbe("words", ("ada",)))
    began = time.monotonic()
    found = store.search(base.Search(HERE, probes, expires=began + 0.3))
    assert time.monotonic() - began < 10
    assert [note.message for note in found.notes] == ["late: the deadline passed"] * 2


def test_an_address_nobody_listens_at_is_said_without_the_password():
    store = PostgresStore("postgres://ada:hunter2@127.0.0.1:1/memory")
    with pytest.raises(StoreAway, match=r"127\.0\.0\.1") as caught:
        store.workspaces()
    assert "hunter2" not in str(caught.value)
    assert hide_password("postgres://ada:hunter2@db/m?password=x") == "postgres://ada:***@db/m"


def test_services_that_share_a_store_encode_nothing_twice(postgres, home):
    settings = Settings(home=home, store=postgres.url, late_interaction="none")
    counted = []

    class Counting(HashEmbeddings):
        def embed_batch(self, texts):
            counted.extend(texts)
            return super().embed_batch(texts)

    engines = [ContextEngine(embedding_provider=Counting(), settings=settings) for _ in range(3)]
    texts = [f"statement number {n} of the shared queue" for n in range(60)]
    try:
        for engine in engines:
            engine._embedder.embed_soon("shared")
        for number, text in enumerate(texts):
            engines[number % 3].remember(text, "shared")
        until = time.monotonic() + 120
        pending = base.ListUnembedded("shared", "semantic", engines[0]._dense.digest)
        while engines[0].store.run(pending) and time.monotonic() < until:
            time.sleep(0.05)  # for as long as the threads need
        assert engines[0].store.run(pending) == ()
    finally:
        for engine in engines:
            engine.close()
    stated = [text for text in counted if "shared queue" in text]
    assert len(stated) == len(set(stated)) == len(texts)


def test_another_service_is_told_of_new_items(store, open_store_again):
    told = threading.Event()
    names = []
    store.put(THERE, [item("so that the tables are there")])
    other = open_store_again()
    other.watch(lambda name: (names.append(name), told.set()))
    until = time.monotonic() + 120
    number = 0
    while not told.wait(0.2) and time.monotonic() < until:  # it may only just have begun to listen
        number += 1
        store.put(HERE, [item(f"new {number}")])
    assert set(names) == {HERE}


def test_a_large_workspace_is_searched_by_an_index_and_a_narrow_filter_is_not(store, monkeypatch):
    monkeypatch.setattr(nearest, "EXACT_BELOW", 50)
    monkeypatch.setattr("foreword.store.postgres.store._GROWTH_BEFORE_INDEX", 1000)  # not by itself
    many = [item(f"thing {n}", id=f"i{n}", session="few" if n < 5 else "many") for n in range(300)]
    store.put(HERE, many)
    encoder = HashEmbeddings(32)
    vectors = tuple(base.Vector(one.id, one.id, tuple(encoder.embed(one.text))) for one in many)
    store.run(base.PutVectors(HERE, "vectors", DIGEST, vectors))
    probe = VectorProbe("vectors", DIGEST, tuple(encoder.embed("thing 7")))
    questions = [base.Search(HERE, (probe,), filters) for filters in (Filters(), Filters(session="few"))]
    exact = [store.search(question) for question in questions]
    assert store.make_vector_indexes(HERE) == ["nearest_1_ws1"]
    assert store.make_vector_indexes(HERE) == []
    approximate = [store.search(question) for question in questions]
    assert approximate[1] == exact[1]
    first, second = (set(dict(found[0].lists["vectors"])) for found in (exact, approximate))
    assert len(first & second) >= 0.98 * len(first)
    assert store.check(HERE) == ()


def test_a_check_sees_what_disagrees_and_repair_puts_it_right(store, postgres, schema):
    _fill(store, HERE)
    _fill(store, THERE)
    damages = {
        "words": "UPDATE postings SET frequency = frequency + 1 WHERE no = 1",
        "vocabulary": "DELETE FROM vocabulary WHERE word = 'saw'",
        "mentions": "DELETE FROM mentions WHERE no = 2",
        "nearest vectors": "DELETE FROM nearest_1 WHERE no = 3",
        "items": "UPDATE items SET text = text || '!' WHERE no = 4",
        "token_codes": "UPDATE token_codes SET no = 99 WHERE no = 1",
    }
    for part, damage in damages.items():
        with psycopg.connect(postgres.url, autocommit=True) as db:
            db.execute(f"SET search_path = {schema}, public; SET foreword.ws = '1'")
            db.execute(damage)
        assert part in {problem.part for problem in store.check(HERE)}, part
        assert store.run(base.Repair(HERE)) == (), part
    assert store.check(THERE) == ()


def test_what_postgres_cannot_keep_is_refused_and_said(store):
    with pytest.raises(ValidationError, match="PostgreSQL cannot keep"):
        store.put(HERE, [item("nul \0 byte", id="a")])
    assert store.workspaces() == []


def test_settings_name_the_store(postgres, home, monkeypatch):
    monkeypatch.setenv("FOREWORD_STORE", postgres.url)
    assert load_settings().store == postgres.url
    for name, wrong in (("STORE", "mysql://ada:hunter2@db"), ("VECTORS", "http://key@q")):
        monkeypatch.setenv(f"FOREWORD_{name}", wrong)
        with pytest.raises(ValidationError, match="must begin with") as caught:
            load_settings()
        assert "hunter2" not in str(caught.value)
        monkeypatch.delenv(f"FOREWORD_{name}")
    with pytest.raises(ValidationError, match="postgres://"):
        open_store(Settings(home=home), "somewhere")


def test_every_question_survives_the_end_of_its_connection(store, postgres):
    store.put(HERE, [item("Ada saw the harbour")])
    for ask in (store.workspaces, store.read_server_state):
        before = ask()
        _end_all_connections(postgres)
        assert ask() == before


def _end_all_connections(postgres):
    postgres.run_sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgres://ada:secret@db/memory", "postgres://ada:***@db/memory"),
        ("postgres://ada:se/cret@db/memory", "postgres://ada:***@db/memory"),
        ("postgres://ada:se#cret@db/memory", "postgres://ada:***@db/memory"),
        ("postgres://ada:se%zcret@db/memory", "postgres://ada:***@db/memory"),
        ("postgres://ada:se cr@et@db/memory", "postgres://ada:***@db/memory"),
        (
            "postgres://ada@db/memory?sslmode=require&password=secret",
            "postgres://ada@db/memory?sslmode=require",
        ),
        ("postgres://ada@db/memory?sslmode=require", "postgres://ada@db/memory?sslmode=require"),
        ("postgres:///memory", "postgres:///memory"),
    ],
)
def test_no_password_is_ever_shown(url, shown):
    assert hide_password(url) == shown


@pytest.mark.parametrize("password", ["se/cret", "se%zcret", "se cret"])
def test_an_address_that_cannot_be_read_is_said_without_its_password(password):
    with pytest.raises(ValidationError, match="%2F") as caught:
        PostgresStore(f"postgres://ada:{password}@db/memory")
    assert "cret" not in str(caught.value)


def test_an_address_may_say_how_to_connect(postgres, schema):
    own = "?connect_timeout=2&keepalives_idle=7&options=-c%20work_mem%3D8MB"
    with PostgresStore(postgres.url + own, views, schema_name=schema) as store, store._pool.borrow() as db:
        told = db.info.get_parameters()
        assert (told["connect_timeout"], told["keepalives_idle"], told["keepalives_count"]) == ("2", "7", "3")
        settings = [db.execute(f"SHOW {name}").fetchone()[0] for name in ("work_mem", "hnsw.ef_search")]
        assert settings == ["8MB", "800"]
