"""Migrations: backed up, all or nothing, tested on old databases; and the indexes they make."""

from __future__ import annotations

from contextlib import closing

import apsw
import pytest

from foreword.errors import (
    StoreFull,
    StoreTooNew,
)
from foreword.store import backups, schema
from foreword.store.base import (
    Amend,
    MarkShown,
    Put,
)
from foreword.store.conformance.suite import HERE, NOW, item, views
from foreword.store.rows import filters_to_sql
from foreword.store.sqlite import SqliteStore
from foreword.types import Filters, Item, Source, content_hash


@pytest.fixture
def tx(store):
    """A snapshot of a workspace that holds something."""
    store.put("shop", [Item(f"{at}", "shop", type=f"t{at % 3}", created_at=NOW) for at in range(9)])
    with store._open.take("shop", lambda: None)._open_snapshot_transaction() as tx:
        yield tx


class TestHeirs:
    def test_an_heir_may_be_named_by_its_content_in_the_transaction_that_keeps_it(self, store):
        old = store.put("shop", [Item("Ask Bo.", "shop", created_at=NOW)])[0].item
        new = Item("Ask Ana.", "shop", created_at=NOW)
        kept, amended = store.batch(
            [Put("shop", (new,)), Amend("shop", old.id, superseded_by=content_hash(new))]
        )
        assert amended.superseded_by == kept[0].item.id
        assert store.get("shop", old.id)[0].superseded_by == kept[0].item.id

    @pytest.mark.parametrize("heir", ["", "b2:nobody has this"])
    def test_what_nobody_supersedes_stands_again(self, store, heir):
        old, new = (one.item for one in store.put("shop", [Item(text, "shop") for text in ("a", "b")]))
        store.batch([Amend("shop", old.id, superseded_by=new.id)])
        assert store.batch([Amend("shop", old.id, superseded_by=heir)])[0].superseded_by is None

    def test_an_id_is_taken_as_it_is_even_if_it_looks_like_a_hash(self, store):
        old, new = (one.item for one in store.put("shop", [Item("a", "shop"), Item("b", "shop", id="b2:b")]))
        for heir in ("elsewhere", new.id):
            assert store.batch([Amend("shop", old.id, superseded_by=heir)])[0].superseded_by == heir


@pytest.mark.parametrize(
    ("filters", "order", "index"),
    [
        (Filters(kinds=("memory",), types=("t1", "t2")), "", "items_type"),
        (Filters(kinds=("memory",)), "ORDER BY i.created_at DESC, i.no DESC LIMIT 5", "items_kind"),
        (Filters(conversation_prefix='["a"'), "ORDER BY i.conversation LIMIT 5", "items_conversation"),
    ],
)
def test_an_index_answers_what_is_asked_often(tx, filters, order, index):
    clause, values = filters_to_sql(filters)
    plan = tx.execute(
        f"EXPLAIN QUERY PLAN SELECT i.no FROM items i WHERE {clause} {order}", *values
    ).fetchall()
    assert index in plan[0][-1]
    assert "COVERING INDEX" in plan[0][-1]


def _raw(path):
    return closing(apsw.Connection(str(path)))


# Migrations


LATER = "CREATE TABLE later(x)"
WITHOUT_ROOM = f"{LATER}; PRAGMA max_page_count = 1; INSERT INTO later VALUES(zeroblob(1000000))"


def test_looking_for_pending_migrations_writes_nothing(store, monkeypatch, sample):
    sample.fill(store)
    store.close()
    before = store.path_of_database(HERE).read_bytes()
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, ("9998-later", LATER)])
    with _raw(store.path_of_database(HERE)) as db:
        assert schema.pending_migrations(db) == ["9998-later"]
        assert schema.pending_migrations(db) == ["9998-later"]
        assert db.total_changes() == 0
    assert store.path_of_database(HERE).read_bytes() == before
    with _raw(":memory:") as empty:
        assert schema.pending_migrations(empty) == [name for name, _ in schema.MIGRATIONS]
        assert empty.execute("SELECT count(*) FROM sqlite_schema").get == 0


def test_a_database_that_another_process_is_making_is_no_foreign_one(tmp_path):
    """Its tables appear between two statements of whoever opens it: it has none of them, or all."""
    path = str(tmp_path / "memory.db")
    with _raw(path) as looking, _raw(path) as making:
        for db in (looking, making):
            db.execute("PRAGMA journal_mode = WAL")
        statements = []

        def make_before_the_second(_cursor, sql, _values):
            statements.append(sql)
            if len(statements) == 2:
                schema.migrate(making, HERE, NOW.isoformat())
            return True

        looking.exec_trace = make_before_the_second
        assert schema.pending_migrations(looking) == [name for name, _ in schema.MIGRATIONS]


def test_a_new_database_needs_no_backup(store):
    store.put(HERE, [item("a")])
    assert backups.list_backups(store.path_of_database(HERE)) == []


def test_a_backup_is_made_before_a_migration(store, folder, monkeypatch, sample):
    answer = sample.fill(store)
    store.close()
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, ("9998-later", LATER)])
    with SqliteStore(folder, views) as migrated:
        assert migrated.search(sample.question) == answer
        (backup,) = (one.path for one in backups.list_backups(migrated.path_of_database(HERE)))
    with _raw(migrated.path_of_database(HERE)) as db:
        assert db.execute("SELECT count(*) FROM later").get == 0
        assert db.execute("SELECT name FROM migrations ORDER BY name").fetchall()[-1] == ("9998-later",)
    with _raw(backup) as db:
        assert db.execute("SELECT count(*) FROM items").get == 40
        assert db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'later'").get == 0


def test_a_migration_that_fails_changes_nothing_and_is_tried_again(store, folder, monkeypatch, sample):
    sample.fill(store)
    store.close()
    known = list(schema.MIGRATIONS)
    monkeypatch.setattr(schema, "MIGRATIONS", [*known, ("9998-later", WITHOUT_ROOM)])
    with pytest.raises(StoreFull):
        SqliteStore(folder, views).get(HERE, "i1")
    with _raw(store.path_of_database(HERE)) as db:
        assert db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'later'").get == 0
    monkeypatch.setattr(schema, "MIGRATIONS", [*known, ("9998-later", LATER)])
    with SqliteStore(folder, views) as again:
        assert again.count(HERE).items == 40
        assert len(backups.list_backups(again.path_of_database(HERE))) == 1


def test_a_database_from_before_sessions_were_shown_anything_learns_it_and_keeps_all_else(
    store, folder, monkeypatch
):
    with monkeypatch.context() as before:
        before.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:1])
        assert store.put(HERE, [item("a", id="a")])[0].new
        store.close()
    with SqliteStore(folder, views) as migrated:
        assert migrated.batch([MarkShown(HERE, "s", ("a",), NOW)]) == [1]
        assert migrated.shown_ids(HERE, "s") == {"a"}
        assert migrated.check(HERE) == ()
        assert len(backups.list_backups(migrated.path_of_database(HERE))) == len(schema.MIGRATIONS) - 1


def test_values_of_an_old_graph_store_get_their_whole_namespace(store, folder, monkeypatch):
    namespace = ["users", 'ma"ra', "é"]
    root, whole = '["users", "ma\\"ra"]', '["users","ma\\"ra","é"'
    value = item("v", id="graph-1", type="graph value", conversation=root, metadata={"namespace": namespace})
    lease = item("l", id="graph-1-lease", type="graph lease", conversation=root)
    own = item("o", id="o", conversation=root)
    with monkeypatch.context() as before:
        before.setattr(schema, "MIGRATIONS", [one for one in schema.MIGRATIONS if one[0] < "0010"])
        store.put(HERE, [value, lease, own])
        store.close()
    with SqliteStore(folder, views) as migrated:
        found = migrated.get(HERE, "graph-1", "graph-1-lease", "o")
        assert [one.conversation for one in found] == [whole, whole, root]
        assert migrated.check(HERE) == ()


def test_files_and_commits_of_an_old_database_are_no_longer_the_users_word(store, folder, monkeypatch):
    bash, agent = Source("tool:Bash", "tool"), Source("agent", "agent")
    foreword = Source("foreword", "agent")
    kept = [
        item("said", id="said", kind="turn"),
        item("done", id="done", kind="turn", source=agent),
        item("printed", id="printed", kind="turn", source=bash),
        item("code", id="code", kind="code", source=Source("file:a.py", "user")),
        item("page", id="page", kind="document", source=Source("document:1", "web")),
        item("commit", id="commit", kind="commit", source=Source("git:Ana", "user")),
        item("one", id="one", kind="summary", source=foreword, metadata={"turns": ["said", "printed"]}),
        item("two", id="two", kind="summary", source=foreword, metadata={"turns": ["said", "done"]}),
    ]
    with monkeypatch.context() as before:
        before.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:7])
        store.put(HERE, kept)
        store.close()
    with SqliteStore(folder, views) as migrated:
        found = migrated.get(HERE, *(one.id for one in kept))
        assert {one.id: one.source.trust for one in found} == {
            "said": "user",
            "done": "agent",
            "printed": "tool",
            "code": "repository",
            "page": "web",
            "commit": "repository",
            "one": "tool",
            "two": "agent",
        }
        assert [one.source.name for one in found] == [one.source.name for one in kept]
        assert migrated.check(HERE) == ()


def test_a_database_from_a_newer_version_is_refused_untouched(store, folder, sample):
    sample.fill(store)
    store.close()
    with _raw(store.path_of_database(HERE)) as db:
        db.execute("INSERT INTO migrations VALUES('9999-from-the-future', 'then')")
    before = store.path_of_database(HERE).read_bytes()
    with pytest.raises(StoreTooNew, match="pip install -U"):
        SqliteStore(folder, views).get(HERE, "i1")
    with pytest.raises(StoreTooNew, match="9999-from-the-future"):
        SqliteStore(folder, views).put(HERE, [item("x")])
    assert store.path_of_database(HERE).read_bytes() == before
