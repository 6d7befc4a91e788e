"""Deleted text leaves no trace in any file."""

from __future__ import annotations

import random
import subprocess
from contextlib import closing

import apsw
import pytest

from foreword.store import schema
from foreword.store.base import Delete, PutRelations, Search
from foreword.store.conformance.suite import DIGEST, HERE, item, views
from foreword.store.sqlite import SqliteStore
from foreword.store.vector_part import vector_to_code
from foreword.types import Relation, VectorProbe


def _raw(path):
    return closing(apsw.Connection(str(path)))


CANARY = "Qzvyxkwuharblentine"
ENTITY = "Jqxzwvbnorblatt"
PARTS = ("zxqwvkjhgf", "vbqpzmxwty")


def _secret(name, **fields):
    return item(
        f"{ENTITY} keeps the {CANARY} by calling {PARTS[0]}_{PARTS[1]}",
        **{"id": name, "about": f"under {CANARY}", "metadata": {"key": CANARY}} | fields,
    )


def _traces(sample, folder):
    """Every file that still has a part of the secret, or its code, in it."""

    secret = _secret("x")
    marks = {word.lower()[3:].encode() for word in (CANARY, ENTITY, *PARTS)}
    marks |= {CANARY.lower()[:9].encode(), CANARY.lower()[3:12].encode()}
    code = vector_to_code(sample.encoder.embed(secret.text))
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            # Another process reads: to open a database here would drop the locks of a store that is open.
            raw = subprocess.run(["cat", str(path)], capture_output=True, check=True, timeout=120).stdout
            found += [(path.name, mark) for mark in marks if mark in raw.lower()]
            found += [(path.name, "code")] if code in raw else []
    return found


@pytest.mark.parametrize("count", [3, 400])
def test_deleted_text_leaves_no_trace_in_any_file(folder, count, sample):
    store = SqliteStore(folder, views)
    sample.fill(store, count)
    store.put(HERE, [_secret("secret", session="s"), item("another", id="another", superseded_by="secret")])
    sample.embed(store, _secret("secret"))
    store.put(HERE, [item(f"afterwards {n}", id=f"after{n}") for n in range(count)])
    store.batch([PutRelations(HERE, (Relation("secret", "i1"),))])
    found = store.search(
        Search(HERE, (*sample.probes, VectorProbe("vectors", DIGEST, tuple(sample.encoder.embed(CANARY)))))
    )
    assert "secret" in found.items
    assert _traces(sample, folder)
    store.delete(Delete(HERE, ("secret",)))
    assert store.check(HERE) == ()
    store.close()
    assert _traces(sample, folder) == []


@pytest.mark.parametrize("seed", range(4))
def test_deleted_text_leaves_no_trace_after_many_writings_and_deletions(folder, seed, sample):
    chance = random.Random(seed)
    with SqliteStore(folder, views) as store:
        for turn in range(12):
            _fill_some(store, turn, chance)
            secret = _secret("secret", kind="turn", created_at=item("x").created_at.replace(second=turn))
            store.put(HERE, [secret])
            sample.embed(store, secret)
            store.search(sample.question)
            _fill_some(store, turn + 100, chance)
            store.delete(Delete(HERE, ("secret",)))
    assert _traces(sample, folder) == []


def test_a_check_leaves_no_trace_either_while_the_store_stays_open(folder, sample):
    """What was deleted must go from pages that were split, too: only writing the database anew does that."""
    with SqliteStore(folder, views) as store:
        for number in range(30):
            chance = random.Random(number)
            _fill_some(store, number, chance)
            store.put(HERE, [_secret("secret", metadata={"pad": CANARY * chance.randrange(60)})])
            _fill_some(store, number + 100, chance)
            store.delete(Delete(HERE, ("secret",)))
        assert store.check(HERE) == ()
        assert _traces(sample, folder) == []


def _fill_some(store, turn, chance):
    letters = "qzvyxkwjab"
    words = ["".join(chance.choices(letters, k=6)) for _ in range(60)]
    store.put(HERE, [item(" ".join(words), id=f"{turn}")])
    store.delete(Delete(HERE, (f"{turn - 3}",)))


def test_a_backup_made_before_a_migration_does_not_keep_what_is_deleted(store, folder, monkeypatch, sample):
    store.put(HERE, [_secret("secret"), item("other")])
    store.close()
    later = ("9998-later", "CREATE TABLE later(x)")
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, later])
    with SqliteStore(folder, views) as migrated:
        migrated.get(HERE, "secret")
        assert any(name.endswith(".backup") for name, _ in _traces(sample, folder))
        migrated.delete(Delete(HERE, ("secret",)))
    assert _traces(sample, folder) == []


def test_forgetting_that_was_cut_short_is_finished_at_the_next_start(store, folder, monkeypatch, sample):
    sample.fill(store, 5)
    store.put(HERE, [_secret("secret")])
    sample.embed(store, _secret("secret"))
    store.search(sample.question)
    store._open.take(HERE, lambda: None)._writer._after_commit = lambda _: (
        None
    )  # as if the process had been killed there
    store.delete(Delete(HERE, ("secret",)))
    store.close()
    assert [part for _, part in _traces(sample, folder)] == ["code"]
    with SqliteStore(folder, views) as again:
        again.get(HERE, "x")
    assert _traces(sample, folder) == []


def test_what_a_reader_still_sees_goes_from_the_log_with_the_next_write(store, folder, sample):
    store.put(HERE, [_secret("secret"), item("other", id="other")])
    with _raw(store.path_of_database(HERE)) as reader:
        reader.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM items").get == 2
        store.delete(Delete(HERE, ("secret",)))
        assert store.get(HERE, "secret") == (None,)
        assert _traces(sample, folder)
        reader.execute("ROLLBACK")
        store.put(HERE, [item("more")])
        assert _traces(sample, folder) == []


def test_files_nobody_can_read_or_finish_do_not_keep_what_is_deleted(store, folder, sample):
    sample.fill(store, 5)
    store.put(HERE, [_secret("secret")])
    sample.embed(store, _secret("secret"))
    store.search(sample.question)
    codes = sample.codes(folder)
    codes.with_suffix(".new").write_bytes(codes.read_bytes())
    codes.with_name("other.codes").write_bytes(b"?" + codes.read_bytes())
    store.delete(Delete(HERE, ("secret",)))
    store.close()
    assert _traces(sample, folder) == []
