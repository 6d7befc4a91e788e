"""Files in SQLite: what replacing costs, what it leaves behind, and what a check finds."""

from __future__ import annotations

import random
from contextlib import closing

import apsw
import pytest

from foreword.store import backups, schema
from foreword.store.base import (
    Check,
    Delete,
    DropFiles,
    Problem,
    PutFile,
    PutVectors,
    Repair,
    Search,
    Vector,
)
from foreword.store.conformance.suite import DIGEST, HERE, file_state, item, unit_vector, views
from foreword.store.sqlite import SqliteStore
from foreword.types import EntitiesProbe, Filters, IdentifiersProbe, Source, VectorProbe, Views, WordsProbe

SECRET = "quetzalcoatlus"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def store(folder):
    with SqliteStore(folder, views) as opened:
        yield opened


def _unit(text, path="a.py", **fields):
    return item(text, kind="code", about=path, source=Source(f"file:{path}", "tool"), **fields)


def _put(store, path, *texts, version=1):
    return store.batch(
        [PutFile(HERE, file_state(path, version), tuple(_unit(text, path) for text in texts))]
    )[0]


def _embed(store, *stored):
    vectors = tuple(Vector(one.item.id, one.item.id, unit_vector(7)) for one in stored)
    store.batch([PutVectors(HERE, "vectors", DIGEST, vectors)])
    store.search(Search(HERE, (VectorProbe("vectors", DIGEST, unit_vector(0)),)))  # makes the file of codes


def _raw(store):
    return closing(apsw.Connection(str(store.path_of_database(HERE))))


def _traces(folder, word=SECRET):
    needle = word.encode()
    return [path.name for path in sorted(folder.rglob("*")) if path.is_file() and needle in path.read_bytes()]


def _noise(store, number):
    chance = random.Random(number)
    words = ["".join(chance.choices("qzvyxkwjab", k=6)) for _ in range(60)]
    store.put(HERE, [item(" ".join(words))])


def test_files_that_are_kept_together_may_replace_each_other(store):
    old, new = (_unit("the old pelican"),), (_unit("the new pelican"),)
    results = store.batch(
        [
            PutFile(HERE, file_state("a.py", version), items)
            for version, items in enumerate([old, new, old, new])
        ]
    )
    assert [len(one.gone) for one in results] == [0, 1, 1, 1]
    found = store.search(Search(HERE, (WordsProbe("words", ("pelican",)),)))
    assert [item.text for item in found.items.values()] == ["the new pelican"]
    assert store.check(HERE) == ()


def test_what_is_seen_of_an_item_need_not_be_looked_at_again(store):
    seen = (Views(("zebra",), ("zoo",)),)
    store.batch([PutFile(HERE, file_state("a.py"), (_unit("the old pelican"),), views=seen)])
    for probe in (EntitiesProbe("entities", ("zoo",)), IdentifiersProbe("identifiers", ("zebra",))):
        assert len(store.search(Search(HERE, (probe,))).items) == 1


def test_replacing_what_a_file_holds_does_not_write_the_database_anew(store, folder):
    for number in range(50):
        _noise(store, number)
    _put(store, "a.py", SECRET, "other")
    with _raw(store) as db:
        before = db.execute("PRAGMA page_count").get
    _put(store, "a.py", "other", version=2)
    store.batch([DropFiles(HERE, ("a.py",)), Check(HERE)])
    with _raw(store) as db:
        facts = dict(db.execute("SELECT key, value FROM facts"))
        assert db.execute("SELECT count(*) FROM erased").get == 0
        assert db.execute("PRAGMA page_count").get >= before
    assert "unswept" not in facts
    assert "replaced" in facts


def test_the_vector_of_a_replaced_item_leaves_the_file_of_codes(store, folder):
    kept = _put(store, "a.py", "one", "two").stored
    _embed(store, *kept)
    _put(store, "a.py", "two", version=2)
    found = store.search(Search(HERE, (VectorProbe("vectors", DIGEST, unit_vector(7)),)))
    assert list(found.items) == [kept[1].item.id]
    assert store.check(HERE) == ()


def test_forgetting_a_source_also_overwrites_what_its_file_held_before(folder):
    with SqliteStore(folder, views) as store:
        for number in range(30):
            _noise(store, number)
            _embed(store, *_put(store, "a.py", f"{SECRET} {number}", "other", version=number).stored)
            _noise(store, number + 100)
        _put(store, "a.py", "harmless", version=99)
        store.delete(Delete(HERE, filters=Filters(source="file:a.py")))
        assert store.check(HERE) == ()
        assert (_traces(folder), store.files(HERE)) == ([], {})


def test_forgetting_finds_the_traces_of_a_file_that_is_no_more(folder):
    with SqliteStore(folder, views) as store:
        for number in range(30):
            _noise(store, number)
            _put(store, "a.py", f"{SECRET} {number}" * (number + 1), version=number)
            _noise(store, number + 100)
        store.batch([DropFiles(HERE, ("a.py",))])
        assert store.delete(Delete(HERE, filters=Filters(source="file:a.py"))) == ()
    assert _traces(folder) == []


def test_a_backup_stays_when_a_file_changes_and_goes_when_something_is_forgotten(store, folder, monkeypatch):
    _put(store, "a.py", "one", "two")
    store.close()
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, ("9998-later", "CREATE TABLE later(x)")])
    with SqliteStore(folder, views) as migrated:
        _put(migrated, "a.py", "two", version=2)
        assert len(backups.list_backups(migrated.path_of_database(HERE))) == 1
        migrated.delete(Delete(HERE, filters=Filters(source="file:a.py")))
        assert backups.list_backups(migrated.path_of_database(HERE)) == []


def test_a_database_from_before_files_were_marked_learns_it_and_keeps_all_else(store, folder, monkeypatch):
    with monkeypatch.context() as before:
        before.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:2])
        before_it = store.put(HERE, [_unit("one")])[0].item
        store.close()
    with SqliteStore(folder, views) as migrated:
        kept = _put(migrated, "a.py", "one").stored[0]
        assert (kept.item, kept.new) == (before_it, False)
        assert migrated.files(HERE)["a.py"].items == 1
        assert migrated.check(HERE) == ()


def test_links_to_items_and_files_that_are_not_there_are_found_out_and_repaired(store):
    kept = _put(store, "a.py", "one").stored[0]
    with _raw(store) as db:
        db.execute("INSERT INTO file_items VALUES('a.py', 999)")
        db.execute("DELETE FROM files")
    assert store.check(HERE) == (
        Problem("file_items", "1 rows speak of items that are not there"),
        Problem("file_items", "2 rows speak of files that are not there"),
    )
    assert store.batch([Repair(HERE)]) == [()]
    lost = store.files(HERE)["a.py"]
    assert (lost.hash, lost.items) == ("", 1)  # fits no file: it will be read again
    again = _put(store, "a.py", "one").stored[0]
    assert (again.item.id, again.new) == (kept.item.id, False)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT no FROM file_items WHERE path = 'a'",
        "DELETE FROM file_items WHERE no = 1",
        "UPDATE items SET superseded_by = NULL WHERE superseded_by IN (SELECT value FROM json_each('[]'))",
    ],
)
def test_what_a_change_of_a_file_looks_for_is_found_by_an_index(store, query):
    _put(store, "a.py", "one")
    with _raw(store) as db:
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}")]
    assert any(line.startswith("SEARCH") and "USING" in line for line in plan), plan
    assert not any(line.startswith(("SCAN items", "SCAN file_items")) for line in plan), plan


def test_a_killed_process_leaves_a_file_whole_and_its_codes_are_erased_at_the_next_start(store, folder):
    kept = _put(store, "a.py", "one harbour", "two").stored
    _embed(store, *kept)
    store._open.take(HERE, lambda: None)._writer._after_commit = lambda _: (
        None
    )  # as if the process had been killed there
    _put(store, "a.py", "two", version=2)
    store.close()
    with SqliteStore(folder, views) as again:
        assert again.search(Search(HERE, (WordsProbe("words", ("harbour",)),))).items == {}
        assert again.check(HERE) == ()
