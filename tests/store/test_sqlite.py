"""The SQLite engine keeps the contract, keeps its files whole, and says what is wrong with them."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from foreword.errors import (
    StorageError,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
    ValidationError,
)
from foreword.store import probing, schema
from foreword.store.base import (
    Amend,
    Delete,
    Get,
    Put,
    PutReceipt,
    PutVectors,
    Relate,
    Repair,
    Search,
    Tell,
    Vector,
)
from foreword.store.conformance import (
    DIGEST,
    HERE,
    NOW,
    PROBES,
    THERE,
    StoreConformance,
    item,
    receipt,
    views,
)
from foreword.store.shard import Limits, translated
from foreword.store.sqlite import SqliteStore
from foreword.testing import HashEmbeddings
from foreword.types import (
    EntitiesProbe,
    Filters,
    IdentifiersProbe,
    Relation,
    TypoProbe,
    VectorProbe,
    WordsProbe,
    content_hash,
)


class TestSqliteStore(StoreConformance):
    receipt_bytes = 50_000

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path):
        self.place = tmp_path / "data"

    def open_store(self):
        return SqliteStore(self.place, views, Limits(receipt_bytes=self.receipt_bytes))


EMBED = HashEmbeddings(32)
SHAPES = (
    WordsProbe("words", ("harbour",)),
    TypoProbe("typos", ("lihgthouse",)),
    IdentifiersProbe("identifiers", ("open",)),
    EntitiesProbe("entities", ("ada",)),
    VectorProbe("vectors", DIGEST, tuple(EMBED.embed("harbour gate"))),
)
QUESTION = Search(HERE, SHAPES)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def store(folder):
    with SqliteStore(folder, views) as store:
        yield store


@pytest.fixture
def quick(tmp_path):
    """A folder in memory where there is one: hundreds of databases are made in it."""
    base = Path("/dev/shm")
    if not os.access(base, os.W_OK):
        yield tmp_path
        return
    folder = base / f"foreword-{os.getpid()}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def _fill(store, count=40, workspace=HERE):
    """Items of every shape, related, with vectors and a receipt; the code file is made by a search."""
    texts = [f"Ada saw open_gate {n} of the harbour by the lighthouse {n * 7919}" for n in range(count)]
    items = [item(text, id=f"i{n}", session=f"s{n % 3}") for n, text in enumerate(texts)]
    store.put(workspace, items)
    store.batch([Relate(workspace, tuple(Relation(f"i{n}", f"i{n + 1}") for n in range(count - 1)))])
    _embed(store, items, workspace)
    store.batch([PutReceipt(workspace, receipt("r1"))])
    return store.search(Search(workspace, SHAPES))


def _embed(store, items, workspace=HERE):
    vectors = tuple(Vector(one.id, one.id, tuple(EMBED.embed(one.text))) for one in items)
    store.batch([PutVectors(workspace, "vectors", DIGEST, vectors)])


@contextmanager
def _raw(path):
    db = apsw.Connection(str(path))
    try:
        yield db
    finally:
        db.close()


def _codes(folder):
    (path,) = folder.glob("*/*.codes")
    return path


# Durability


def test_every_connection_logs_ahead_and_flushes_each_commit(store):
    store.put(HERE, [item("a")])
    store.get(HERE, "a")
    shard = store._shards[HERE]
    for db in (shard._writer._db, *shard._readers):
        assert db.execute("PRAGMA journal_mode").get == "wal"
        assert db.execute("PRAGMA synchronous").get == 2
        assert db.execute("PRAGMA secure_delete").get == 1


def test_no_transaction_is_left_open_after_any_write_even_a_failing_one(store):
    store.put(HERE, [item("a", id="a"), item("b", id="b")])
    good = [
        Put(HERE, (item("c", id="c"),)),
        Amend(HERE, "a", confidence=0.5),
        Relate(HERE, (Relation("a", "b"),)),
        PutVectors(HERE, "vectors", DIGEST, (Vector("a", "t", (1.0, 0.0)),)),
        PutReceipt(HERE, receipt("r")),
        Delete(HERE, ("b",)),
        Delete(HERE, filters=Filters(session="s")),
        Repair(HERE),
        Search(HERE, PROBES),
        Get(HERE, ("a",)),
    ]
    bad = [
        Put(HERE, (item("d", id="a"),)),
        Relate(HERE, (Relation("a", "nobody"),)),
        PutVectors(HERE, "vectors", DIGEST, (Vector("a", "t", (1.0,)),)),
    ]
    for operation in good:
        store.batch([operation])
        _assert_nothing_open(store)
    for operation in bad:
        with pytest.raises(ValidationError):
            store.batch([good[0], operation])
        _assert_nothing_open(store)
    for nonsense in (item("e", metadata={"not": object()}), item("e", confidence=object())):
        with pytest.raises(TypeError):
            store.put(HERE, [nonsense])
        _assert_nothing_open(store)


def _assert_nothing_open(store):
    """Nobody holds the write lock, and nobody's snapshot keeps the log from being folded in."""
    with _raw(store.path_of(HERE)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0


def test_a_write_that_fails_does_not_take_its_neighbours_with_it(store):
    store.put(HERE, [item("taken", id="taken")])
    refused = []

    def write(number):
        try:
            store.put(HERE, [item(f"text {number}", id="taken" if number % 4 == 0 else f"i{number}")])
        except ValidationError:
            refused.append(number)

    with _raw(store.path_of(HERE)) as other:
        other.execute("BEGIN IMMEDIATE")  # so that the writes gather behind it
        threads = [threading.Thread(target=write, args=(number,)) for number in range(40)]
        for thread in threads:
            thread.start()
        other.execute("ROLLBACK")
        for thread in threads:
            thread.join()
    assert sorted(refused) == list(range(0, 40, 4))
    assert store.count(HERE).items == 31


def test_a_posted_write_that_fails_is_said_in_the_log(store, caplog):
    store.put(HERE, [item("a", id="a")])
    store.post(Relate(HERE, (Relation("a", "nobody"),)))
    store.close()
    assert "nobody" in caplog.text


def test_an_error_while_erasing_neither_stops_the_writer_nor_loses_the_erasing(store, folder, caplog):
    _fill(store)
    codes = _codes(folder)
    kept = codes.read_bytes()
    codes.unlink()
    codes.mkdir()
    assert store.delete(Delete(HERE, ("i3",))) == ("i3",)
    assert "unfinished" in caplog.text
    store.put(HERE, [item("life goes on", id="more")])
    codes.rmdir()
    codes.write_bytes(kept)
    assert store.check(HERE) == ()
    store.put(HERE, [item("and on")])
    assert bytes(_code_of("i3", 3)) not in codes.read_bytes()


def _code_of(name, number):
    from foreword.store.vectors import quantise

    return quantise(
        EMBED.embed(f"Ada saw open_gate {number} of the harbour by the lighthouse {number * 7919}")
    )


@pytest.mark.parametrize("damage", ["PRAGMA user_version = 1", "ROLLBACK"])
def test_a_job_that_meddles_with_the_transaction_fails_alone(store, damage):
    store.put(HERE, [item("a", id="a")])
    writer = store._shards[HERE]._writer
    outcome = writer.submit(lambda db: db.execute(damage).get)
    assert outcome.exception() is None or isinstance(outcome.exception(), apsw.Error)
    _assert_nothing_open(store)
    assert store.put(HERE, [item("b")])[0].new


# Versions


def _later(db):
    db.execute("CREATE TABLE later(x)")


def _broken(db):
    db.execute("CREATE TABLE later(x)")
    raise apsw.FullError("no room")


def test_looking_for_pending_migrations_writes_nothing(store, monkeypatch):
    _fill(store)
    store.close()
    before = store.path_of(HERE).read_bytes()
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, ("9998-later", _later)])
    with _raw(store.path_of(HERE)) as db:
        assert schema.pending(db) == ["9998-later"]
        assert schema.pending(db) == ["9998-later"]
        assert db.total_changes() == 0
    assert store.path_of(HERE).read_bytes() == before
    with _raw(":memory:") as empty:
        assert schema.pending(empty) == [name for name, _ in schema.MIGRATIONS]
        assert empty.execute("SELECT count(*) FROM sqlite_schema").get == 0


def test_a_new_database_needs_no_backup(store):
    store.put(HERE, [item("a")])
    assert schema.backups(store.path_of(HERE)) == []


def test_a_backup_is_made_before_a_migration(store, folder, monkeypatch):
    answer = _fill(store)
    store.close()
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, ("9998-later", _later)])
    with SqliteStore(folder, views) as migrated:
        assert migrated.search(QUESTION) == answer
        (backup,) = schema.backups(migrated.path_of(HERE))
    with _raw(migrated.path_of(HERE)) as db:
        assert db.execute("SELECT count(*) FROM later").get == 0
        assert db.execute("SELECT name FROM migrations ORDER BY name").fetchall()[-1] == ("9998-later",)
    with _raw(backup) as db:
        assert db.execute("SELECT count(*) FROM items").get == 40
        assert db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'later'").get == 0


def test_a_migration_that_fails_changes_nothing_and_is_tried_again(store, folder, monkeypatch):
    _fill(store)
    store.close()
    known = list(schema.MIGRATIONS)
    monkeypatch.setattr(schema, "MIGRATIONS", [*known, ("9998-later", _broken)])
    with pytest.raises(StoreFull):
        SqliteStore(folder, views).get(HERE, "i1")
    with _raw(store.path_of(HERE)) as db:
        assert db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'later'").get == 0
    monkeypatch.setattr(schema, "MIGRATIONS", [*known, ("9998-later", _later)])
    with SqliteStore(folder, views) as again:
        assert again.count(HERE).items == 40
        assert len(schema.backups(again.path_of(HERE))) == 1


def test_a_database_from_before_sessions_were_told_anything_learns_it_and_keeps_all_else(
    store, folder, monkeypatch
):
    with monkeypatch.context() as before:
        before.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:1])
        assert store.put(HERE, [item("a", id="a")])[0].new
        store.close()
    with SqliteStore(folder, views) as migrated:
        assert migrated.batch([Tell(HERE, "s", ("a",), NOW)]) == [1]
        assert migrated.told(HERE, "s") == {"a"}
        assert migrated.check(HERE) == ()
        assert len(schema.backups(migrated.path_of(HERE))) == len(schema.MIGRATIONS) - 1


def test_a_session_that_was_told_of_an_item_nobody_has_is_found_out_and_repaired(store):
    store.put(HERE, [item("a", id="a")])
    store.batch([Tell(HERE, "s", ("a",), NOW)])
    with _raw(store.path_of(HERE)) as db:
        db.execute("INSERT INTO told VALUES('s', 99, 1)")
    assert [problem.part for problem in store.check(HERE)] == ["told"]
    assert store.batch([Repair(HERE)]) == [()]
    assert store.told(HERE, "s") == {"a"}


def test_a_posted_telling_that_fails_keeps_nobody_waiting(store, caplog):
    store.put(HERE, [item("a", id="a")])
    store.post(Tell(HERE, "s", ("a",), None))
    assert store.told(HERE, "s") == frozenset()
    store.close()
    assert "posted write failed" in caplog.text


def test_a_database_from_a_newer_version_is_refused_untouched(store, folder):
    _fill(store)
    store.close()
    with _raw(store.path_of(HERE)) as db:
        db.execute("INSERT INTO migrations VALUES('9999-from-the-future', 'then')")
    before = store.path_of(HERE).read_bytes()
    with pytest.raises(StoreTooNew, match="pip install -U"):
        SqliteStore(folder, views).get(HERE, "i1")
    with pytest.raises(StoreTooNew, match="9999-from-the-future"):
        SqliteStore(folder, views).put(HERE, [item("x")])
    assert store.path_of(HERE).read_bytes() == before


def test_a_database_of_another_workspace_is_not_read(store, folder):
    store.put(THERE, [item("secret", id="a")])
    store.close()
    shutil.copytree(store.path_of(THERE).parent, store.path_of(HERE).parent)
    with pytest.raises(StorageError, match="belongs to the workspace"):
        SqliteStore(folder, views).get(HERE, "a")


# Damaged, foreign and unreachable files


def _place_file(folder, content):
    store = SqliteStore(folder, views)
    path = store.path_of(HERE)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return store


def test_a_foreign_database_is_refused_and_left_alone(folder):
    store = _place_file(folder, b"")
    with _raw(store.path_of(HERE)) as db:
        db.execute("CREATE TABLE theirs(x); INSERT INTO theirs VALUES(1)")
    for operation in (Get(HERE, ("a",)), Put(HERE, (item("a"),))):
        with pytest.raises(StoreDamaged, match="not one of Foreword's"):
            store.batch([operation])
    with _raw(store.path_of(HERE)) as db:
        assert db.execute("SELECT x FROM theirs").get == 1


@pytest.mark.parametrize("size", [100, 600, 5000])
def test_a_file_of_garbage_is_damage(folder, size):
    store = _place_file(folder, random.Random(size).randbytes(size))
    for operation in (Get(HERE, ("a",)), Put(HERE, (item("a"),))):
        with pytest.raises(StoreDamaged, match="is damaged"):
            store.batch([operation])
    with pytest.raises(StoreDamaged, match="is damaged"):
        store.workspaces()


def test_an_empty_file_is_a_database_that_was_never_begun(folder):
    store = _place_file(folder, b"")
    assert store.workspaces() == []
    assert store.put(HERE, [item("a", id="a")])[0].new
    assert store.workspaces() == [HERE]
    store.close()


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.95])
def test_a_truncated_file_is_damage(store, folder, share):
    _fill(store, 200)
    store.close()
    path = store.path_of(HERE)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * share)])
    with SqliteStore(folder, views) as cut, pytest.raises(StoreDamaged, match="is damaged"):
        list(cut.scan(HERE))


def test_a_file_with_a_flipped_byte_is_damage_or_answers_right_or_is_found_out(store, quick):
    answer = _fill(store)
    everything = list(store.scan(HERE))
    store.close()
    path = store.path_of(HERE)
    raw, pages = path.read_bytes(), _pages(path)
    chance = random.Random(7)
    seen = []
    for number in range(200):
        page = chance.choice(pages[number % len(pages)])
        place = (page - 1) * 4096 + chance.randrange(4096)
        folder = quick / str(number)
        shutil.copytree(path.parent, folder / path.parent.name)
        flipped = bytearray(raw)
        flipped[place] ^= 1 << chance.randrange(8)
        (folder / path.parent.name / path.name).write_bytes(flipped)
        seen.append(_verdict(folder, answer, everything))
        shutil.rmtree(folder)
    assert {"right", "damaged"} <= set(seen)


def _pages(path):
    """The pages of the truth, of what is derived, and of the schema."""
    with _raw(path) as db:
        assert db.execute("PRAGMA page_size").get == 4096
        rows = db.execute("SELECT name, pageno FROM dbstat").fetchall()
    derived = [no for name, no in rows if name.startswith(schema.DERIVED)]
    truth = [no for name, no in rows if name.startswith(("items", "relations", "receipts", "vectors"))]
    return [derived, truth, [no for name, no in rows if name == "sqlite_schema"], truth]


def _verdict(folder, answer, everything):
    try:
        with SqliteStore(folder, views, Limits(busy_seconds=1)) as store:
            found, items = store.search(QUESTION), list(store.scan(HERE))
            problems = store.check(HERE)
            store.put(HERE, [item("one more harbour")])
            store.delete(Delete(HERE, ("i1",)))
    except StorageError:
        return "damaged"
    if problems:
        return "found out"
    assert [(one.id, content_hash(one)) for one in items] == [(one.id, one.hash) for one in everything]
    assert found.notes or found.lists == answer.lists
    return "right"


def test_a_path_under_a_regular_file_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("x")
    with SqliteStore(tmp_path / "file" / "data", views) as store:
        assert store.workspaces() == []
        assert store.get(HERE, "a") == (None,)
        with pytest.raises(StorageError, match="file/data"):
            store.put(HERE, [item("a")])


def test_a_folder_where_the_database_should_be_is_a_clear_error(folder):
    store = SqliteStore(folder, views)
    store.path_of(HERE).mkdir(parents=True)
    with pytest.raises(StorageError, match=r"memory\.db"):
        store.put(HERE, [item("a")])


@contextmanager
def _mounted(folder, size="16m"):
    """A small disk of its own, or a visible skip where mounting is not allowed."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True
    )
    if made.returncode:
        pytest.skip(f"mounting is not allowed here: {made.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_read_only_disk_is_a_clear_error(tmp_path):
    with _mounted(tmp_path / "disk") as disk:
        with SqliteStore(disk / "data", views) as store:
            _fill(store, 5)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with SqliteStore(disk / "data", views) as store:
            with pytest.raises(StoreReadOnly, match="FOREWORD_HOME"):
                store.put(HERE, [item("a")])
            with pytest.raises(StoreReadOnly):
                store.put("another", [item("a")])


@pytest.mark.parametrize(
    ("foreign", "ours"),
    [
        (apsw.FullError("x"), StoreFull),
        (apsw.NotADBError("x"), StoreDamaged),
        (apsw.CorruptError("x"), StoreDamaged),
        (apsw.ReadOnlyError("x"), StoreReadOnly),
        (apsw.CantOpenError("x"), StoreReadOnly),
        (apsw.BusyError("x"), StoreBusy),
        (apsw.LockedError("x"), StoreBusy),
        (apsw.IOError("x"), StorageError),
        (PermissionError(13, "denied"), StoreReadOnly),
        (OSError(28, "No space left on device"), StoreFull),
        (OSError(30, "Read-only file system"), StoreReadOnly),
        (OSError(5, "Input/output error"), StorageError),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), StoreDamaged),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_every_foreign_error_becomes_one_of_ours_and_names_the_file(tmp_path, foreign, ours):
    with pytest.raises(ours, match=r"memory\.db") as caught, translated(tmp_path / "memory.db"):
        raise foreign
    assert type(caught.value) is ours


# Locks


def test_a_lock_that_is_held_too_long_is_an_error_and_reads_go_on(folder):
    with SqliteStore(folder, views, Limits(busy_seconds=0.2)) as store:
        store.put(HERE, [item("a", id="a")])
        with _raw(store.path_of(HERE)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusy, match="try again"):
                store.put(HERE, [item("b")])
            assert store.get(HERE, "a")[0].text == "a"
            other.execute("ROLLBACK")
        assert store.put(HERE, [item("b")])[0].new


def test_a_lock_that_is_let_go_in_time_is_waited_for(store):
    store.put(HERE, [item("a", id="a")])
    outcome = []
    with _raw(store.path_of(HERE)) as other:
        other.execute("BEGIN IMMEDIATE")
        thread = threading.Thread(target=lambda: outcome.append(store.put(HERE, [item("b")])[0].new))
        thread.start()
        thread.join(0.05)
        assert thread.is_alive()
        other.execute("ROLLBACK")
        thread.join()
    assert outcome == [True]


_OPENER = """
import sys
from pathlib import Path
from foreword.store.conformance import HERE, item, views
from foreword.store.sqlite import SqliteStore
me = sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for number in range(5):
    with SqliteStore(Path(sys.argv[1]), views) as store:
        store.put(HERE, [item(f"{me} {number}", id=f"{me}-{number}")])
        store.workspaces()
        assert store.count(HERE).bytes
"""


@pytest.mark.slow
def test_processes_that_make_one_workspace_at_once_all_succeed(folder):
    command = [sys.executable, "-c", _OPENER, str(folder)]
    children = [
        subprocess.Popen(
            [*command, str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for n in range(6)
    ]
    for child in children:
        assert child.stdout.readline() == b"ready\n"
    for child in children:
        child.stdin.write(b"go\n")
        child.stdin.flush()
    for child in children:
        _, complaint = child.communicate(timeout=60)
        assert child.returncode == 0, complaint.decode()
    with SqliteStore(folder, views) as store:
        assert store.count(HERE).items == 30
        assert store.check(HERE) == ()
        assert store.workspaces() == [HERE]


# Forgetting

CANARY = "Qzvyxkwuharblentine"
ENTITY = "Jqxzwvbnorblatt"
PARTS = ("zxqwvkjhgf", "vbqpzmxwty")


def _secret(name, **fields):
    return item(
        f"{ENTITY} keeps the {CANARY} by calling {PARTS[0]}_{PARTS[1]}",
        **{"id": name, "about": f"under {CANARY}", "metadata": {"key": CANARY}} | fields,
    )


def _traces(folder):
    """Every file that still has a part of the secret, or its code, in it."""
    from foreword.store.vectors import quantise

    secret = _secret("x")
    marks = {word.lower()[3:].encode() for word in (CANARY, ENTITY, *PARTS)}
    marks |= {CANARY.lower()[:9].encode(), CANARY.lower()[3:12].encode()}
    code = quantise(EMBED.embed(secret.text))
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            # Another process reads: to open a database here would drop the locks of a store that is open.
            raw = subprocess.run(["cat", str(path)], capture_output=True, check=True).stdout
            found += [(path.name, mark) for mark in marks if mark in raw.lower()]
            found += [(path.name, "code")] if code in raw else []
    return found


@pytest.mark.parametrize("count", [3, 400])
def test_deleted_text_leaves_no_trace_in_any_file(folder, count):
    store = SqliteStore(folder, views)
    _fill(store, count)
    store.put(HERE, [_secret("secret", session="s"), item("another", id="another", superseded_by="secret")])
    _embed(store, [_secret("secret")])
    store.put(HERE, [item(f"afterwards {n}", id=f"after{n}") for n in range(count)])
    store.batch([Relate(HERE, (Relation("secret", "i1"),))])
    found = store.search(Search(HERE, (*SHAPES, VectorProbe("vectors", DIGEST, tuple(EMBED.embed(CANARY))))))
    assert "secret" in found.items
    assert _traces(folder)
    store.delete(Delete(HERE, ("secret",)))
    assert store.check(HERE) == ()
    store.close()
    assert _traces(folder) == []


@pytest.mark.parametrize("seed", range(4))
def test_deleted_text_leaves_no_trace_after_many_writings_and_deletions(folder, seed):
    chance = random.Random(seed)
    with SqliteStore(folder, views) as store:
        for turn in range(12):
            _fill_some(store, turn, chance)
            secret = _secret("secret", kind="turn", created_at=item("x").created_at.replace(second=turn))
            store.put(HERE, [secret])
            _embed(store, [secret])
            store.search(QUESTION)
            _fill_some(store, turn + 100, chance)
            store.delete(Delete(HERE, ("secret",)))
    assert _traces(folder) == []


def test_a_check_leaves_no_trace_either_while_the_store_stays_open(folder):
    """What was deleted must go from pages that were split, too: only writing the database anew does that."""
    with SqliteStore(folder, views) as store:
        for number in range(30):
            chance = random.Random(number)
            _fill_some(store, number, chance)
            store.put(HERE, [_secret("secret", metadata={"pad": CANARY * chance.randrange(60)})])
            _fill_some(store, number + 100, chance)
            store.delete(Delete(HERE, ("secret",)))
        assert store.check(HERE) == ()
        assert _traces(folder) == []


def _fill_some(store, turn, chance):
    letters = "qzvyxkwjab"
    words = ["".join(chance.choices(letters, k=6)) for _ in range(60)]
    store.put(HERE, [item(" ".join(words), id=f"{turn}")])
    store.delete(Delete(HERE, (f"{turn - 3}",)))


def test_a_backup_made_before_a_migration_does_not_keep_what_is_deleted(store, folder, monkeypatch):
    store.put(HERE, [_secret("secret"), item("other")])
    store.close()
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, ("9998-later", _later)])
    with SqliteStore(folder, views) as migrated:
        migrated.get(HERE, "secret")
        assert any(name.endswith(".backup") for name, _ in _traces(folder))
        migrated.delete(Delete(HERE, ("secret",)))
    assert _traces(folder) == []


def test_forgetting_that_was_cut_short_is_finished_at_the_next_start(store, folder, monkeypatch):
    _fill(store, 5)
    store.put(HERE, [_secret("secret")])
    _embed(store, [_secret("secret")])
    store.search(QUESTION)
    store._shards[HERE]._writer._after_commit = lambda _: None  # as if the process had been killed there
    store.delete(Delete(HERE, ("secret",)))
    store.close()
    assert [part for _, part in _traces(folder)] == ["code"]
    with SqliteStore(folder, views) as again:
        again.get(HERE, "x")
    assert _traces(folder) == []


def test_what_a_reader_still_sees_goes_from_the_log_with_the_next_write(store, folder):
    store.put(HERE, [_secret("secret"), item("other", id="other")])
    with _raw(store.path_of(HERE)) as reader:
        reader.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM items").get == 2
        store.delete(Delete(HERE, ("secret",)))
        assert store.get(HERE, "secret") == (None,)
        assert _traces(folder)
        reader.execute("ROLLBACK")
        store.put(HERE, [item("more")])
        assert _traces(folder) == []


def test_files_nobody_can_read_or_finish_do_not_keep_what_is_deleted(store, folder):
    _fill(store, 5)
    store.put(HERE, [_secret("secret")])
    _embed(store, [_secret("secret")])
    store.search(QUESTION)
    codes = _codes(folder)
    codes.with_suffix(".new").write_bytes(codes.read_bytes())
    codes.with_name("other.codes").write_bytes(b"?" + codes.read_bytes())
    store.delete(Delete(HERE, ("secret",)))
    store.close()
    assert _traces(folder) == []


# Damage to what is derived

SQL_DAMAGE = {
    "words is emptied": "DELETE FROM words_data WHERE id > 10",
    "words is overwritten": "UPDATE words_data SET block = zeroblob(64) WHERE id > 10",
    "words is headless": "DELETE FROM words_data",
    "words lost its configuration": "DROP TABLE words_config",
    "words lost its data": "DROP TABLE words_data",
    "words is gone": "DROP TABLE words",
    "words lacks an item": "INSERT INTO words(words, rowid, text, about) "
    "SELECT 'delete', no, text, about FROM items WHERE id = 'i3'",
    "words has a stranger": "INSERT INTO words(rowid, text, about) VALUES(999, 'stranger', '')",
    "identifiers is emptied": "DELETE FROM identifiers_data WHERE id > 10",
    "identifiers lacks an item": "DELETE FROM identifiers WHERE rowid = 3",
    "identifiers says something else": "UPDATE identifiers SET parts = 'other' WHERE rowid = 3",
    "identifiers is gone": "DROP TABLE identifiers",
    "identifiers lost its content": "DROP TABLE identifiers_content",
    "trigrams is emptied": "DELETE FROM trigrams_data WHERE id > 10",
    "trigrams is gone": "DROP TABLE trigrams",
    "trigrams lost its configuration": "DROP TABLE trigrams_config",
    "trigrams has a stranger": "INSERT INTO trigrams(rowid, word) VALUES(9999, 'stranger')",
    "vocabulary is empty": "DELETE FROM vocabulary",
    "vocabulary lacks a word": "DELETE FROM vocabulary WHERE word = 'harbour'",
    "vocabulary counts wrong": "UPDATE vocabulary SET items = items + 1 WHERE word = 'harbour'",
    "vocabulary is gone": "DROP TABLE vocabulary",
    "mentions is empty": "DELETE FROM mentions",
    "mentions has a stranger": "INSERT INTO mentions VALUES('stranger', 3)",
    "mentions is gone": "DROP TABLE mentions",
    "relations has an orphan": "INSERT INTO relations VALUES(1, 999, 'x', 1, 0)",
    "vectors has an orphan": "INSERT INTO vectors(no, space, digest, text_hash, code) "
    "SELECT 999, space, digest, text_hash, code FROM vectors LIMIT 1",
    "a hash is wrong": "UPDATE items SET hash = 'b2:wrong' WHERE id = 'i3'",
    "a vector was changed": "UPDATE vectors SET code = zeroblob(32) WHERE no = 3",
    "a vector is gone": "DELETE FROM vectors WHERE no = 3",
}


@pytest.mark.parametrize("damage", SQL_DAMAGE.values(), ids=SQL_DAMAGE.keys())
def test_damage_is_found_reads_survive_it_and_repair_mends_it(store, folder, damage):
    answer = _fill(store, 12)
    store.close()
    with _raw(store.path_of(HERE)) as db:
        db.execute(damage)
    with SqliteStore(folder, views) as again:
        assert again.get(HERE, "i3")[0].id == "i3"
        again.search(QUESTION)
        assert again.check(HERE) != ()
        assert again.batch([Repair(HERE)]) == [()]
        assert again.check(HERE) == ()
        mended = again.search(QUESTION)
        if "vector" not in damage:
            assert mended == answer
        assert mended.notes == ()
        assert again.count(HERE).items == 12
        again.delete(Delete(HERE, ("i3",)))
        again.put(HERE, [item("life goes on at the harbour")])
        assert again.check(HERE) == ()


@pytest.mark.parametrize(
    "damage", ["DROP TABLE words_config", "DELETE FROM words_data", "DROP TABLE mentions"]
)
def test_a_damaged_index_is_a_note_and_the_other_spaces_answer(store, folder, damage):
    _fill(store, 12)
    store.close()
    with _raw(store.path_of(HERE)) as db:
        db.execute(damage)
    with SqliteStore(folder, views) as again:
        found = again.search(QUESTION)
        assert found.notes
        assert len(found.lists["vectors"]) == 12
        with pytest.raises(StorageError):
            again.put(HERE, [item("Ada and the harbour")])
        assert again.count(HERE).items == 12


def test_text_that_was_changed_behind_our_back_is_found(store, folder):
    _fill(store, 12)
    store.close()
    with _raw(store.path_of(HERE)) as db:
        db.execute("UPDATE items SET text = 'forged' WHERE id = 'i3'")
    with SqliteStore(folder, views) as again:
        assert {"items", "words"} <= {problem.part for problem in again.check(HERE)}


CODE_DAMAGE = {
    "cut short": lambda raw: raw[: len(raw) // 2],
    "emptied": lambda raw: b"",
    "overwritten": lambda raw: b"\xa5" * len(raw),
    "headless": lambda raw: b"\0" * 32 + raw[32:],
    "of another size": lambda raw: raw[:8] + (7).to_bytes(4, "little") + raw[12:],
    "of an absurd size": lambda raw: raw[:8] + b"\xff" * 4 + raw[12:],
    "from the future": lambda raw: raw[:24] + (10**6).to_bytes(8, "little") + raw[32:],
    "from beyond time": lambda raw: raw[:24] + b"\xff" * 8,
}
SILENT_DAMAGE = {
    "scrambled": lambda raw: raw[:40] + bytes(byte ^ 0x55 for byte in raw[40:72]) + raw[72:],
    "missing its last": lambda raw: raw[:16] + (11).to_bytes(8, "little") + raw[24:],
    "about a stranger": lambda raw: raw[:32] + (777).to_bytes(8, "little") + raw[40:],
}


@pytest.mark.parametrize("damage", [*CODE_DAMAGE, *SILENT_DAMAGE])
@pytest.mark.parametrize("opened", ["afresh", "already"])
def test_a_damaged_vector_file_is_found_and_repaired(store, folder, damage, opened):
    answer = _fill(store, 12)
    path = _codes(folder)
    raw = path.read_bytes()
    if opened == "afresh":
        store.close()
    path.with_suffix(".x").write_bytes((CODE_DAMAGE | SILENT_DAMAGE)[damage](raw))
    path.with_suffix(".x").replace(path)
    again = store if opened == "already" else SqliteStore(folder, views)
    assert [problem.part for problem in again.check(HERE)] == [path.name]
    assert again.batch([Repair(HERE)]) == [()]
    assert again.search(QUESTION) == answer
    again.close()


@pytest.mark.parametrize("damage", CODE_DAMAGE)
def test_a_vector_file_that_is_plainly_damaged_is_made_again_by_the_next_search(store, folder, damage):
    answer = _fill(store, 12)
    path = _codes(folder)
    path.with_suffix(".x").write_bytes(CODE_DAMAGE[damage](path.read_bytes()))
    path.with_suffix(".x").replace(path)
    assert store.search(QUESTION) == answer
    assert store.check(HERE) == ()
    store.delete(Delete(HERE, ("i3",)))
    assert store.check(HERE) == ()


def test_a_vector_file_that_is_gone_is_made_again(store, folder):
    answer = _fill(store, 12)
    _codes(folder).unlink()
    assert store.check(HERE) == ()
    assert store.search(QUESTION) == answer
    assert _codes(folder).exists()


def test_a_vector_file_that_cannot_be_made_does_not_keep_a_search_from_answering(store, folder, caplog):
    answer = _fill(store, 12)
    path = _codes(folder)
    path.unlink()
    path.with_suffix(".new").mkdir()
    assert store.search(QUESTION) == answer
    assert "behind" in caplog.text
    path.with_suffix(".new").rmdir()
    assert store.search(QUESTION) == answer


def test_a_vector_file_that_cannot_be_opened_is_a_note(store, folder):
    _fill(store, 12)
    path = _codes(folder)
    path.unlink()
    path.mkdir()
    found = store.search(QUESTION)
    assert [note.part for note in found.notes] == ["vectors"]
    assert found.lists["words"]
    path.rmdir()


def test_a_vector_file_that_no_row_speaks_for_is_found_and_removed(store, folder):
    _fill(store, 12)
    path = _codes(folder)
    shutil.copy(path, path.with_name("leftover.codes"))
    assert [problem.part for problem in store.check(HERE)] == ["leftover.codes"]
    assert store.batch([Repair(HERE)]) == [()]
    assert not path.with_name("leftover.codes").exists()


def test_a_restored_backup_beside_a_newer_vector_file_answers_from_the_backup(store, folder, tmp_path):
    _fill(store, 5)
    path = store.path_of(HERE)
    store.close()
    shutil.copy(path, tmp_path / "backup.db")
    with SqliteStore(folder, views) as newer:
        _embed(newer, [item("a", id="i0"), item("b", id="i1")])
        newer.search(QUESTION)
    shutil.copy(tmp_path / "backup.db", path)
    with SqliteStore(folder, views) as restored:
        assert {problem.part for problem in restored.check(HERE)} == {_codes(folder).name}
        restored.put(HERE, [item("harbour gate", id="new")])
        _embed(restored, [item("harbour gate", id="new")])
        assert restored.search(QUESTION).lists["vectors"][0][0] == "new"
        assert restored.check(HERE) == ()


# The rest


def test_words_that_stand_nearly_everywhere_are_left_aside_unless_there_are_no_others(store, monkeypatch):
    monkeypatch.setattr(probing, "MOST_POSTINGS", 2000)
    store.put(HERE, [item(f"common word{n} of_the day", id=f"i{n}") for n in range(2100)])
    store.put(HERE, [item("common rarity", id="rare")])
    found = store.search(Search(HERE, (WordsProbe("words", ("commons", "rarity")),)))
    assert [name for name, _ in found.lists["words"]] == ["rare"]
    found = store.search(Search(HERE, (WordsProbe("words", ("common",)),), limit=7))
    assert len(found.lists["words"]) == 7


def test_a_deadline_that_passes_meanwhile_interrupts_the_search(store):
    import time

    store.put(HERE, [item(f"common word{n}", id=f"i{n}") for n in range(2000)])
    probes = tuple(WordsProbe(f"w{n}", ("common",)) for n in range(2000))
    found = store.search(Search(HERE, probes, limit=1000, expires=time.monotonic() + 0.05))
    assert any("late" in note.message for note in found.notes)
    assert len(found.lists) + len(found.notes) == 2000


_WATCHER = """
import sys
from pathlib import Path
opened = []
def watch(event, args):
    if event == "open" and "memory.db" in str(args[0]):
        opened.append(str(args[0]))
sys.addaudithook(watch)
from foreword.store import schema
from foreword.store.base import *
from foreword.store.conformance import *
from foreword.store.sqlite import SqliteStore
folder = Path(sys.argv[1])
def live():
    with SqliteStore(folder, views) as store:
        store.put(HERE, [item("Ada saw the harbour", id="a"), item("b", id="b"), item("c", id="c")])
        vectors = tuple(Vector(name, name, axis(0)) for name in "abc")
        store.batch([PutVectors(HERE, "vectors", DIGEST, vectors), Relate(HERE, (Relation("a", "b"),))])
        store.search(Search(HERE, PROBES))
        store.post(PutReceipt(HERE, receipt("r")))
        store.delete(Delete(HERE, ("a",)))
        store.batch([Count(HERE), Check(HERE), Repair(HERE)])
        store.workspaces()
live()
schema.MIGRATIONS.append(("9998-later", lambda db: db.execute("CREATE TABLE later(x)")))
live()
open(folder / "memory.db.proof", "w").close()
print(opened)
"""


def test_the_database_is_opened_by_sqlite_alone(folder):
    command = [sys.executable, "-c", _WATCHER, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str([str(folder / "memory.db.proof")])
