"""Damage to files and to derived data is found, survived, and repaired where it can be."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from foreword.errors import (
    StorageError,
    StoreDamaged,
)
from foreword.store import schema
from foreword.store.base import (
    Delete,
    Get,
    MarkShown,
    Put,
    Repair,
)
from foreword.store.conformance.suite import HERE, NOW, item, views
from foreword.store.database import Limits
from foreword.store.sqlite import SqliteStore
from foreword.types import content_hash


def _raw(path):
    return closing(apsw.Connection(str(path)))


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


# Databases


def _place_file(folder, content):
    store = SqliteStore(folder, views)
    path = store.path_of_database(HERE)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return store


def test_a_foreign_database_is_refused_and_left_alone(folder):
    store = _place_file(folder, b"")
    with _raw(store.path_of_database(HERE)) as db:
        db.execute("CREATE TABLE theirs(x); INSERT INTO theirs VALUES(1)")
    for operation in (Get(HERE, ("a",)), Put(HERE, (item("a"),))):
        with pytest.raises(StoreDamaged, match="not one of Foreword's"):
            store.batch([operation])
    with _raw(store.path_of_database(HERE)) as db:
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


@pytest.mark.parametrize("part", [0.01, 0.3, 0.6, 0.95])
def test_a_truncated_file_is_damage(store, folder, part, sample):
    sample.fill(store, 200)
    store.close()
    path = store.path_of_database(HERE)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * part)])
    with SqliteStore(folder, views) as cut, pytest.raises(StoreDamaged, match="is damaged"):
        list(cut.scan(HERE))


@pytest.mark.fault
def test_a_file_with_a_flipped_byte_is_damage_or_answers_right_or_is_found_out(
    store, quick, sample, report_fault
):
    answer = sample.fill(store)
    everything = list(store.scan(HERE))
    store.close()
    path = store.path_of_database(HERE)
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
        seen.append(_verdict(sample, folder, answer, everything))
        shutil.rmtree(folder)
    assert {"right", "damaged"} <= set(seen)
    verdicts = ", ".join(f"{seen.count(verdict)} {verdict}" for verdict in sorted(set(seen)))
    report_fault(11, {"flipped bytes": len(seen)}, acknowledged=len(everything), saw=f"answers: {verdicts}")


def _pages(path):
    """The pages of the truth, of what is derived, and of the schema."""
    with _raw(path) as db:
        assert db.execute("PRAGMA page_size").get == 4096
        rows = db.execute("SELECT name, pageno FROM dbstat").fetchall()
    derived = [no for name, no in rows if name.startswith(schema.DERIVED_NAMES)]
    truth = [no for name, no in rows if name.startswith(("items", "relations", "receipts", "vectors"))]
    return [derived, truth, [no for name, no in rows if name == "sqlite_schema"], truth]


def _verdict(sample, folder, answer, everything):
    try:
        with SqliteStore(folder, views, Limits(busy_seconds=1)) as store:
            found, items = store.search(sample.question), list(store.scan(HERE))
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


# Derived data


def test_a_session_that_was_shown_an_item_nobody_has_is_found_out_and_repaired(store):
    store.put(HERE, [item("a", id="a")])
    store.batch([MarkShown(HERE, "s", ("a",), NOW)])
    with _raw(store.path_of_database(HERE)) as db:
        db.execute("INSERT INTO told VALUES('s', 99, 1)")
    assert [problem.part for problem in store.check(HERE)] == ["told"]
    assert store.batch([Repair(HERE)]) == [()]
    assert store.shown_ids(HERE, "s") == {"a"}


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
def test_damage_is_found_reads_survive_it_and_repair_mends_it(store, folder, damage, sample):
    answer = sample.fill(store, 12)
    store.close()
    with _raw(store.path_of_database(HERE)) as db:
        db.execute(damage)
    with SqliteStore(folder, views) as again:
        assert again.get(HERE, "i3")[0].id == "i3"
        again.search(sample.question)
        assert again.check(HERE) != ()
        assert again.batch([Repair(HERE)]) == [()]
        assert again.check(HERE) == ()
        mended = again.search(sample.question)
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
def test_a_damaged_index_is_a_note_and_the_other_spaces_answer(store, folder, damage, sample):
    sample.fill(store, 12)
    store.close()
    with _raw(store.path_of_database(HERE)) as db:
        db.execute(damage)
    with SqliteStore(folder, views) as again:
        found = again.search(sample.question)
        assert found.notes
        assert len(found.lists["vectors"]) == 12
        with pytest.raises(StorageError):
            again.put(HERE, [item("Ada and the harbour")])
        assert again.count(HERE).items == 12


def test_text_that_was_changed_behind_our_back_is_found(store, folder, sample):
    sample.fill(store, 12)
    store.close()
    with _raw(store.path_of_database(HERE)) as db:
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
def test_a_damaged_vector_file_is_found_and_repaired(store, folder, damage, opened, sample):
    answer = sample.fill(store, 12)
    path = sample.codes(folder)
    raw = path.read_bytes()
    if opened == "afresh":
        store.close()
    path.with_suffix(".x").write_bytes((CODE_DAMAGE | SILENT_DAMAGE)[damage](raw))
    path.with_suffix(".x").replace(path)
    again = store if opened == "already" else SqliteStore(folder, views)
    assert [problem.part for problem in again.check(HERE)] == [path.name]
    assert again.batch([Repair(HERE)]) == [()]
    assert again.search(sample.question) == answer
    again.close()


@pytest.mark.parametrize("damage", CODE_DAMAGE)
def test_a_vector_file_that_is_plainly_damaged_is_made_again_by_the_next_search(
    store, folder, damage, sample
):
    answer = sample.fill(store, 12)
    path = sample.codes(folder)
    path.with_suffix(".x").write_bytes(CODE_DAMAGE[damage](path.read_bytes()))
    path.with_suffix(".x").replace(path)
    assert store.search(sample.question) == answer
    assert store.check(HERE) == ()
    store.delete(Delete(HERE, ("i3",)))
    assert store.check(HERE) == ()


def test_a_vector_file_that_is_gone_is_made_again(store, folder, sample):
    answer = sample.fill(store, 12)
    sample.codes(folder).unlink()
    assert store.check(HERE) == ()
    assert store.search(sample.question) == answer
    assert sample.codes(folder).exists()


def test_a_vector_file_that_cannot_be_made_does_not_keep_a_search_from_answering(
    store, folder, caplog, sample
):
    answer = sample.fill(store, 12)
    path = sample.codes(folder)
    path.unlink()
    path.with_suffix(".new").mkdir()
    assert store.search(sample.question) == answer
    assert "behind" in caplog.text
    path.with_suffix(".new").rmdir()
    assert store.search(sample.question) == answer


def test_a_vector_file_that_cannot_be_opened_is_a_note(store, folder, sample):
    sample.fill(store, 12)
    path = sample.codes(folder)
    path.unlink()
    path.mkdir()
    found = store.search(sample.question)
    assert [note.part for note in found.notes] == ["vectors"]
    assert found.lists["words"]
    path.rmdir()


def test_a_vector_file_that_no_row_speaks_for_is_found_and_removed(store, folder, sample):
    sample.fill(store, 12)
    path = sample.codes(folder)
    shutil.copy(path, path.with_name("leftover.codes"))
    assert [problem.part for problem in store.check(HERE)] == ["leftover.codes"]
    assert store.batch([Repair(HERE)]) == [()]
    assert not path.with_name("leftover.codes").exists()


def test_a_restored_backup_beside_a_newer_vector_file_answers_from_the_backup(
    store, folder, tmp_path, sample
):
    sample.fill(store, 5)
    path = store.path_of_database(HERE)
    store.close()
    shutil.copy(path, tmp_path / "backup.db")
    with SqliteStore(folder, views) as newer:
        sample.embed(newer, item("a", id="i0"), item("b", id="i1"))
        newer.search(sample.question)
    shutil.copy(tmp_path / "backup.db", path)
    with SqliteStore(folder, views) as restored:
        assert {problem.part for problem in restored.check(HERE)} == {sample.codes(folder).name}
        restored.put(HERE, [item("harbour gate", id="new")])
        sample.embed(restored, item("harbour gate", id="new"))
        assert restored.search(sample.question).lists["vectors"][0][0] == "new"
        assert restored.check(HERE) == ()
