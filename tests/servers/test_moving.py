"""Workspaces move from one store to the other and back, with proof, and a move that was cut off goes on."""

from __future__ import annotations

import json
from dataclasses import replace

import psycopg
import pytest
from click.testing import CliRunner

from foreword.edges.cli.main import main
from foreword.errors import StorageError
from foreword.store import base
from foreword.store.conformance.suite import (
    DIGEST,
    HERE,
    NOW,
    OTHER_DIGEST,
    PROBES,
    THERE,
    file_state,
    full_item,
    item,
    receipt,
    unit_vector,
    views,
)
from foreword.store.moving import copy_workspace, take_fingerprint
from foreword.store.postgres.store import PostgresStore
from foreword.store.sqlite import SqliteStore
from foreword.types import Relation


def _fill(store, workspace=HERE, count=450):
    store.put(workspace, [full_item(), *(item(f"Ada saw harbour {n}", id=f"i{n}") for n in range(count))])
    store.run(base.PutFile(workspace, file_state("a.py"), (item("of a file", id="f", kind="code"),)))
    for space, digest in (("vectors", DIGEST), ("vectors", OTHER_DIGEST), ("strategy", DIGEST)):
        vectors = tuple(base.Vector(f"i{n}", f"h{n}", unit_vector(n, 0.3)) for n in range(0, count, 3))
        store.run(base.PutVectors(workspace, space, digest, vectors))
    store.run(base.PutTokenCodes(workspace, DIGEST, {"i1": b"\x00\x01", "i2": b""}))
    store.run(base.PutRelations(workspace, tuple(Relation(f"i{n}", "full", "t", 0.5, NOW) for n in range(9))))
    store.run(base.MarkShown(workspace, "s/é", ("i1", "f"), NOW))
    for name in "ab":
        store.run(base.PutReceipt(workspace, receipt(name, session="s")))
    store.delete(base.Delete(workspace, ("i0",)))


@pytest.fixture
def stores(tmp_path, postgres, schema):
    with (
        SqliteStore(tmp_path / "one", views) as sqlite,
        PostgresStore(postgres.url, views, schema_name=schema) as team,
        SqliteStore(tmp_path / "two", views) as back,
    ):
        yield sqlite, team, back


def test_a_workspace_moves_there_and_back_and_answers_the_same(stores):
    sqlite, team, back = stores
    _fill(sqlite)
    for source, target in ((sqlite, team), (team, back)):
        proof = copy_workspace(source, target, HERE)
        assert proof.is_same, proof.differences
        assert proof.source.counts["items"] == 451
        assert proof.source.counts["vectors"] == 3 * 149
        assert target.check(HERE) == ()
    assert take_fingerprint(back, HERE) == take_fingerprint(sqlite, HERE)
    counts = [replace(store.count(HERE), bytes=0) for store in stores]
    assert counts[0] == counts[1] == counts[2]
    question = base.Search(HERE, PROBES)
    names = [
        {space: [name for name, _ in ranked] for space, ranked in store.search(question).lists.items()}
        for store in stores
    ]
    assert names[0] == names[1] == names[2]


def test_a_move_that_was_cut_off_goes_on_and_writes_nothing_twice(stores, monkeypatch):
    sqlite, team, _ = stores
    _fill(sqlite)
    puts = []
    original = PostgresStore.batch

    def fail_at_the_third_page(self, operations):
        if isinstance(operations[0], base.Put):
            puts.append(len(operations[0].items))
            if len(puts) == 3:
                raise StorageError("cut off")
        return original(self, operations)

    monkeypatch.setattr(PostgresStore, "batch", fail_at_the_third_page)
    with pytest.raises(StorageError, match="cut off"):
        copy_workspace(sqlite, team, HERE)
    assert copy_workspace(sqlite, team, HERE).is_same
    assert puts == [200, 200, 51, 51]
    assert copy_workspace(sqlite, team, HERE).is_same
    assert len(puts) == 4


def test_what_was_changed_since_it_was_copied_is_changed_in_the_copy(stores):
    sqlite, team, back = stores
    _fill(sqlite)
    for source, target in ((sqlite, team), (team, back)):
        assert copy_workspace(source, target, HERE).is_same
        source.put(HERE, [item(f"newer in {type(source).__name__}", id=f"to {type(target).__name__}")])
        newest = f"to {type(target).__name__}"
        source.run(base.Amend(HERE, "i5", 0.2, 0.7, superseded_by=newest, metadata={"why": "changed"}))
        source.run(base.Amend(HERE, "full", superseded_by=""))
        proof = copy_workspace(source, target, HERE)
        assert proof.is_same, proof.differences
        assert target.get(HERE, "i5")[0].superseded_by == newest


def test_what_differs_is_named(stores):
    sqlite, team, _ = stores
    _fill(sqlite, count=10)
    team.put(HERE, [item("was here before", id="more")])
    proof = copy_workspace(sqlite, team, HERE)
    assert proof.differences == ("items",)
    team.delete(base.Delete(HERE, ("more",)))
    assert copy_workspace(sqlite, team, HERE).is_same


def test_the_command_moves_everything_and_says_the_proof(home, postgres, monkeypatch):
    def foreword(*arguments):
        done = CliRunner().invoke(main, arguments)
        return done.exit_code, done.output

    with psycopg.connect(postgres.url, autocommit=True) as db:
        db.execute("DROP SCHEMA IF EXISTS foreword CASCADE")
    for workspace in (HERE, THERE):
        assert foreword("remember", "We chose Postgres.", "-w", workspace)[0] == 0
    code, output = foreword("move", "--to", postgres.url, "--all", "--json")
    proofs = json.loads(output)
    assert (code, [one["same"] for one in proofs]) == (0, [True, True])
    assert "secret-word" not in output
    monkeypatch.setenv("FOREWORD_STORE", postgres.url)
    code, output = foreword("search", "postgres", "-w", HERE)
    assert (code, "We chose Postgres." in output) == (0, True)
    code, output = foreword("doctor", "--all")
    assert "secret-word" not in output
    assert "rows, indexes and vectors agree" in output
    assert "row security" in output
    assert foreword("stats", "--all", "--json")[0] == 0
    assert foreword("backup", "-w", HERE)[0] == 2
    assert foreword("move", "--to", postgres.url, "-w", HERE)[0] == 2
    code, output = foreword("move", "--to", "local", "-w", HERE)
    assert (code, "the same in both" in output) == (0, True)
