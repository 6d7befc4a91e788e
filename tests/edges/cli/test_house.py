from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from foreword.errors import EmbeddingError
from foreword.store.base import Problem
from foreword.testing import HashEmbeddings


def _database(home, workspace_folder="project"):
    return next((home / "workspaces").glob(f"{workspace_folder}-*/memory.db"))


# Export and import


def test_what_is_exported_can_be_imported_elsewhere(foreword, shop):
    assert "3 lines written" in foreword("export", "backup.jsonl").out
    assert Path("backup.jsonl").stat().st_mode & 0o077 == 0
    ran = foreword("import", "backup.jsonl", "-w", "copy")
    assert ran.out == "3 lines read: 3 new items, 0 new relations, 0 vectors made\n"
    assert foreword("export", "-w", "copy").out == foreword("export").out


def test_export_goes_to_stdout_as_lines_or_as_one_array(foreword, shop):
    lines = [json.loads(line) for line in foreword("export").out.splitlines()]
    assert lines == foreword("export", "-", "--json").json
    assert {line["id"] for line in lines} == set(shop.values())


def test_export_to_a_terminal_hides_nothing_unseen(foreword, monkeypatch, terminal):
    foreword("remember", "-", stdin="turn\u202earound".encode())
    assert "\u202e" in foreword("export").out
    out = terminal()
    monkeypatch.setattr("sys.stdout", out)
    foreword("export")
    out.seek(0)
    assert "turnaround" in out.read()


def test_export_of_nothing_leaves_the_file_alone(foreword):
    Path("backup.jsonl").write_text("older")
    assert foreword("export", "backup.jsonl").code == 1
    assert Path("backup.jsonl").read_text() == "older"


def test_a_failing_export_leaves_the_older_file_and_no_rubbish(foreword, shop, monkeypatch):
    def broken(*_):
        yield "{}"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("foreword.engine.context_engine.ContextEngine.export", broken)
    Path("backup.jsonl").write_text("older")
    assert foreword("export", "backup.jsonl").code == 2
    assert [path.read_text() for path in Path().iterdir()] == ["older"]


def test_export_in_json_names_the_file(foreword, shop):
    told = foreword("export", "backup.jsonl", "--json").json
    assert told == {"file": str(Path("backup.jsonl").absolute()), "lines": 3}


def test_export_writes_into_a_device_without_replacing_it(foreword, shop):
    assert foreword("export", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()


def test_import_stores_nothing_twice_and_makes_vectors(foreword, monkeypatch):
    monkeypatch.setattr(
        "foreword.engine.context_engine._provider",
        lambda settings: HashEmbeddings() if settings.embedding == "bundled" else None,
    )
    monkeypatch.setenv("FOREWORD_EMBEDDING", "bundled")
    lines = b'\xef\xbb\xbf{"text": "one"}\r\n\n{"text": "two"}\n'
    told = foreword("import", "-", "--json", stdin=lines).json
    assert told == {"lines": 2, "items": 2, "relations": 0, "vectors": 2}
    assert foreword("import", "-", "--json", stdin=lines).json["items"] == 0
    assert foreword("import", "-", "--json", "--no-embed", stdin=b'{"text": "three"}').json["vectors"] == 0


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (b"garbage", "line 1 is not JSON"),
        (b'{"text": "fine"}\n[]', "line 2 is not a JSON object"),
        (b'{"text": "fine"}\n{"txt": "x"}', "line 2: unknown field 'txt'"),
        (b'{"text": "fine"}\n\xff', "line 2 is not UTF-8"),
        (b'{"text": ""}', "text is empty"),
    ],
)
def test_import_of_garbage_names_the_line_and_stores_nothing(foreword, lines, complaint):
    ran = foreword("import", "-", stdin=lines)
    assert (ran.code, ran.out) == (2, "")
    assert complaint in ran.err
    assert foreword("stats", "--json").json["items"] == 0


def test_a_progress_bar_is_shown_to_a_terminal_and_never_on_stdout(foreword, monkeypatch, terminal):
    monkeypatch.setattr("sys.stderr", terminal())
    ran = foreword("import", "-", "--json", stdin=b'{"text": "one"}')
    assert ran.json["items"] == 1


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
    assert str(backup) in foreword("doctor").out


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

    def damaged(_self):
        raise EmbeddingError("model.onnx is damaged; reinstall it")

    monkeypatch.setattr("foreword.spaces.bundled.BundledEmbeddingProvider.load", damaged)
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


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 B"), (999, "999 B"), (20_000, "20 kB"), (3_000_000, "3 MB"), (7.25e9, "7.2 GB")],
)
def test_sizes_are_short(size, shown):
    from foreword.edges.cli.house import _size

    assert _size(size) == shown
