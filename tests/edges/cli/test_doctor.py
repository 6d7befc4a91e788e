from __future__ import annotations

import os
import time
from types import SimpleNamespace

from foreword.edges.shared.spool_files import write_to_spool
from foreword.errors import EmbeddingError
from foreword.store.base import Problem


def _database(home, workspace_folder="project"):
    return next((home / "workspaces").glob(f"{workspace_folder}-*/memory.db"))


# Doctor


def test_a_healthy_workspace_is_well(foreword, shop):
    ran = foreword("doctor")
    assert ran.code == 0
    assert "3 items: rows, indexes and vectors agree" in ran.out
    for name in ("python", "sqlite", "model", "home", "disk"):
        assert name in ran.out
    assert foreword("doctor", "--all", "--json").json["ok"] is True


def test_a_workspace_that_holds_nothing_is_well(foreword, home):
    ran = foreword("doctor")
    assert ran.code == 0
    assert "holds nothing yet" in ran.out
    assert "will be made" in " ".join(ran.out.split())
    assert not home.exists()


def test_a_damaged_database_is_reported_with_its_path_and_advice(foreword, shop, home):
    foreword("remember", "healthy", "-w", "healthy")
    path = _database(home)
    path.write_bytes(b"this is not a database " * 500)
    for options in ([], ["--repair"], ["--all"], ["--all", "--repair"]):
        ran = foreword("doctor", *options)
        assert ran.code == 1
        assert str(path) in ran.out
        assert "import your latest export" in ran.out
    assert "1 item: rows" in foreword("doctor", "--all").out
    assert foreword("search", "postgres").code == 3


def test_a_backup_beside_a_damaged_database_is_pointed_out(foreword, shop, home):
    path = _database(home)
    path.write_bytes(b"this is not a database " * 500)
    backup = path.with_suffix(".before-0002.backup")
    backup.write_bytes(b"")
    assert "run: foreword restore" in foreword("doctor").out


def test_what_is_derived_can_be_repaired(foreword, shop, home):
    import apsw

    db = apsw.Connection(str(_database(home)))
    db.execute("DELETE FROM mentions")
    db.execute("DELETE FROM vocabulary")
    db.close()
    ran = foreword("doctor")
    assert ran.code == 1
    assert "run: foreword doctor --repair" in ran.out
    repaired = foreword("doctor", "--repair")
    assert repaired.code == 0
    assert "made again" in repaired.out
    assert foreword("doctor").code == 0


def test_a_repair_that_does_not_help_says_so(foreword, shop, monkeypatch):
    from foreword.store.sqlite import SqliteStore

    problem = (Problem("database", "row missing"),)
    batch = SqliteStore.batch
    monkeypatch.setattr(SqliteStore, "check", lambda *_: problem)
    monkeypatch.setattr(
        SqliteStore,
        "batch",
        lambda self, ops: [problem] if type(ops[0]).__name__ == "Repair" else batch(self, ops),
    )
    ran = foreword("doctor", "--repair")
    assert ran.code == 1
    assert "repairing did not help" in ran.out


def test_a_database_from_the_future_keeps_its_own_advice(foreword, shop, home):
    import apsw

    db = apsw.Connection(str(_database(home)))
    db.execute("INSERT INTO migrations VALUES('9999-future', 'later')")
    db.close()
    ran = foreword("doctor")
    assert ran.code == 1
    assert "pip install -U foreword" in ran.out
    assert "import your latest export" not in ran.out


def test_the_doctor_tries_the_bundled_model(foreword, monkeypatch):
    monkeypatch.setenv("FOREWORD_EMBEDDING", "bundled")
    assert "bge-small-en-v1.5" in foreword("doctor").out

    def fail_to_load(_self):
        raise EmbeddingError("model.onnx is damaged; reinstall it")

    monkeypatch.setattr("foreword.spaces.bundled.BundledEmbeddingProvider.load", fail_to_load)
    ran = foreword("doctor")
    assert ran.code == 1
    assert "reinstall it" in ran.out


def test_the_doctor_names_a_foreign_encoder_without_calling_it(foreword, monkeypatch):
    monkeypatch.setenv("FOREWORD_EMBEDDING", "openai")
    monkeypatch.setenv("FOREWORD_EMBEDDING_MODEL", "text-embedding-3-small")
    assert "openai text-embedding-3-small (not tried)" in foreword("doctor").out


def test_a_home_that_is_no_folder_and_a_full_disk_are_problems(foreword, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FOREWORD_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    findings = {one["name"]: one for one in foreword("doctor", "--json").json["environment"]}
    assert findings["home"]["ok"] is False
    assert findings["disk"]["ok"] is False


# Stats


def test_stats_counts_a_workspace(foreword, shop):
    told = foreword("stats", "--json").json
    assert told["items"] == 3
    assert told["kinds"] == {"memory": 3}
    assert "memory 3" in foreword("stats").out


def test_stats_counts_every_workspace_and_leaves_out_the_damaged(foreword, shop, home):
    foreword("remember", "x", "-w", "other")
    assert [one["items"] for one in foreword("stats", "--all", "--json").json] == [1, 3]
    _database(home).write_bytes(b"this is not a database " * 500)
    ran = foreword("stats", "--all")
    assert ran.code == 1
    assert "other" in ran.out
    assert "is damaged" in ran.err


def test_stats_of_nothing_is_no_error(foreword):
    ran = foreword("stats", "--all")
    assert (ran.code, ran.out) == (0, "")
    assert foreword("stats", "--all", "--json").json == []
    assert foreword("stats", "--json").json["items"] == 0


def test_events_that_wait_in_the_spool_for_long_are_a_problem(foreword, shop, home):
    file, _ = write_to_spool(str(home), f"{time.time():.6f}", b'{"prompt": "hello"}')
    soon = foreword("doctor", "--json").json["environment"]
    os.utime(file, (0, 0))
    late = foreword("doctor", "--json").json["environment"]
    found = [next(one for one in findings if one["name"] == "spool") for findings in (soon, late)]
    assert [(one["ok"], "1 event" in one["value"]) for one in found] == [(True, True), (False, True)]
    assert "service.log" in found[1]["advice"]
