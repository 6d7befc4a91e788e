"""The code file: a copy of the vector rows that can be thrown away, searched exactly."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from foreword.store import vectors
from foreword.store.vector_part import vector_from_code, vector_to_code
from foreword.store.vectors import CodeFile

SIZE = 16


def _no_rows(_):
    return []


def _vector(seed, size=SIZE):
    return np.random.default_rng(seed).normal(size=size)


class Passing:
    """Lets the items with these numbers pass, or every item."""

    def __init__(self, numbers=None):
        self.is_everything = numbers is None
        self._numbers = None if numbers is None else np.fromiter(numbers, np.int64)

    def all_numbers(self):
        return self._numbers


def _brute_force(query, codes):
    """Cosines by numpy, best first."""
    question = np.frombuffer(vector_to_code(query), np.int8).astype(float)
    scores = {}
    for no, code in codes.items():
        values = np.frombuffer(code, np.int8).astype(float)
        scores[no] = float(values @ question / (np.linalg.norm(values) * np.linalg.norm(question)))
    return sorted(scores.items(), key=lambda found: -found[1])


def _assert_nearest(found, query, codes, limit):
    expected = _brute_force(query, codes)
    exact = dict(expected)
    assert [score for _, score in found] == pytest.approx([score for _, score in expected[:limit]], abs=2e-3)
    assert len({no for no, _ in found}) == len(found)
    for no, score in found:
        assert score == pytest.approx(exact[no], abs=2e-3)


class Table:
    """What the `vectors` table would hold: one code an item, a new sequence number for each writing."""

    def __init__(self, count=0):
        self.seq = 0
        self.rows = {}
        for no in range(1, count + 1):
            self.put(no, no)

    def put(self, no, seed):
        self.seq += 1
        self.rows[no] = (self.seq, vector_to_code(_vector(seed)))

    def after(self, last):
        return sorted((seq, no, code) for no, (seq, code) in self.rows.items() if seq > last)

    @property
    def newest(self):
        return max((seq for seq, _ in self.rows.values()), default=0)

    @property
    def codes(self):
        return {no: code for no, (_, code) in self.rows.items()}


class Machine(RuleBasedStateMachine):
    """Two holders of one file, as two processes would be, against a dictionary."""

    folder = None
    comparisons = 0

    @initialize()
    def begin(self):
        for path in self.folder.iterdir():
            path.unlink()
        self.path = self.folder / "s.codes"
        self.table = Table()
        self.files = [CodeFile(self.path, SIZE), CodeFile(self.path, SIZE)]

    @rule(no=st.integers(1, 12), seed=st.integers(0, 99))
    def put(self, no, seed):
        self.table.put(no, seed)

    @rule(nos=st.sets(st.integers(1, 12), max_size=6), who=st.integers(0, 1))
    def delete(self, nos, who):
        for no in nos:
            self.table.rows.pop(no, None)
        self.files[who].erase_codes_of_items(nos)

    @rule(who=st.integers(0, 1))
    def append_missing_rows(self, who):
        self.files[who].append_missing_rows(self.table.newest, self.table.after)
        assert self.files[who].codes_by_item() == self.table.codes
        assert self.files[1 - who].codes_by_item() == self.table.codes

    @rule(who=st.integers(0, 1))
    def rebuild(self, who):
        self.files[who].rebuild(self.table.after)
        assert self.files[1 - who].codes_by_item() == self.table.codes

    @rule(who=st.integers(0, 1), how=st.sampled_from(["absent", "empty", "magic", "size", "cut", "count"]))
    def damage(self, who, how):
        if self.path.exists():
            _damage(self.path, how)
        assert self.files[who].codes_by_item() == {}

    @rule(who=st.integers(0, 1))
    def reopen(self, who):
        self.files[who].close()
        self.files[who] = CodeFile(self.path, SIZE)

    @rule(
        who=st.integers(0, 1),
        seed=st.integers(0, 99),
        limit=st.integers(1, 15),
        allowed=st.none() | st.sets(st.integers(1, 14)),
    )
    def nearest(self, who, seed, limit, allowed):
        codes = {no: code for no, code in self.table.codes.items() if allowed is None or no in allowed}
        found = self.files[who].compare(_vector(seed), self.table.after, Passing(allowed)).best_items(limit)
        _assert_nearest(found, _vector(seed), codes, limit)
        Machine.comparisons += 1

    @invariant()
    def an_item_stands_in_the_file_once(self):
        if hasattr(self, "files"):
            nos = [no for no in self.files[0]._memory_map_records()["no"] if no != -1]
            assert len(nos) == len(set(nos))


def _damage(path, how):
    raw = bytearray(path.read_bytes())
    match how:
        case "absent":
            path.unlink()
            return
        case "empty":
            raw = bytearray()
        case "magic":
            raw[:8] = b"nonsense"
        case "size":
            raw[8:12] = (SIZE + 1).to_bytes(4, "little")
        case "cut":
            raw = raw[: len(raw) // 2] if len(raw) > 32 else raw[:10]
        case "count":
            raw[16:24] = (1 << 40).to_bytes(8, "little")
    fresh = path.with_suffix(".is_damaged")
    fresh.write_bytes(raw)
    fresh.replace(path)


def test_a_code_file_agrees_with_a_dictionary_whatever_is_done_to_it(tmp_path, monkeypatch):
    monkeypatch.setattr(
        vectors, "_MIN_RECORDS_TO_COMPACT", 6
    )  # so that files are written anew for their holes
    monkeypatch.setattr(vectors.os, "fsync", lambda _: None)
    monkeypatch.setattr(Machine, "folder", tmp_path / "codes")
    Machine.folder.mkdir()
    run_state_machine_as_test(
        Machine, settings=settings(max_examples=60, stateful_step_count=30, deadline=None)
    )
    assert Machine.comparisons > 60, "hardly ever was the file compared with the dictionary"


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 400),
    limit=st.integers(1, 60),
    share=st.sampled_from([0, 1, 3, 20]),
)
def test_the_nearest_are_those_of_brute_force(tmp_path, seed, count, limit, share):
    table = Table()
    table.rows = {no: (no, vector_to_code(_vector([seed, no]))) for no in range(1, count + 1)}
    allowed = {no for no in table.rows if no % (share + 1) == 0} if share else None
    file = CodeFile(tmp_path / "s.codes", SIZE)
    file.rebuild(table.after)
    query = _vector([seed, 0])
    codes = {no: code for no, code in table.codes.items() if allowed is None or no in allowed}
    _assert_nearest(file.compare(query, _no_rows, Passing(allowed)).best_items(limit), query, codes, limit)


def test_a_filter_that_lets_nothing_pass_finds_nothing(tmp_path):
    file = CodeFile(tmp_path / "s.codes", SIZE)
    file.rebuild(Table(50).after)
    assert file.compare(_vector(1), _no_rows, Passing([])).best_items(5) == []
    assert file.compare(_vector(1), _no_rows, Passing([999])).best_items(5) == []


def test_a_file_that_is_mostly_holes_is_written_anew(tmp_path):
    table = Table(1200)
    file = CodeFile(tmp_path / "s.codes", SIZE)
    file.append_missing_rows(table.newest, table.after)
    full = file.path.stat().st_size
    gone = range(1, 401)
    for no in gone:
        del table.rows[no]
    file.erase_codes_of_items(gone)
    assert file.path.stat().st_size == full
    assert file.codes_by_item() == table.codes
    file.append_missing_rows(table.newest, table.after)
    assert file.path.stat().st_size < full * 0.7
    assert file.codes_by_item() == table.codes


def test_erased_codes_are_overwritten(tmp_path):
    table = Table(20)
    file = CodeFile(tmp_path / "s.codes", SIZE)
    file.append_missing_rows(table.newest, table.after)
    assert table.codes[7] in file.path.read_bytes()
    file.erase_codes_of_items([7, 999])
    assert table.codes[7] not in file.path.read_bytes()
    assert table.codes[8] in file.path.read_bytes()


def test_what_was_compared_stays_though_another_process_erases_it_meanwhile(tmp_path):
    table = Table(20)
    file, other = (CodeFile(tmp_path / "s.codes", SIZE) for _ in range(2))
    file.append_missing_rows(table.newest, table.after)
    compared = file.compare(_vector(1), _no_rows, Passing())
    other.erase_codes_of_items(range(1, 11))
    assert set(compared.cosines_of_items(table.codes)) == set(table.codes)
    assert {no for no, _ in compared.best_items(20)} == set(table.codes)
    echoed = compared.compare_towards_best(dict.fromkeys(table.codes, 0.1), 0.5, 3)
    assert {no for no, _ in echoed.best_items(20)} == set(table.codes)


def test_erasing_removes_what_cannot_be_read_and_what_was_left_half_written(tmp_path):
    file = CodeFile(tmp_path / "s.codes", SIZE)
    file.rebuild(Table(5).after)
    _damage(file.path, "cut")
    file.path.with_suffix(".new").write_bytes(b"half")
    assert file.is_damaged
    file.erase_codes_of_items([1])
    assert not file.is_damaged
    assert [path.name for path in tmp_path.iterdir()] == ["s.lock"]


def test_absent_is_not_damaged(tmp_path):
    file = CodeFile(tmp_path / "s.codes", SIZE)
    assert not file.is_damaged
    assert file.last_sequence == 0
    assert file.compare(_vector(1), _no_rows, Passing()).best_items(5) == []
    file.erase_codes_of_items([1])
    file.remove()


def test_what_is_deleted_while_a_file_is_made_for_the_first_time_is_erased_from_it(tmp_path):
    """The rows were read before the deletion, and the file appears after whoever erases has looked."""
    table = Table()
    for number in (1, 2):
        table.put(number, number)
    file = CodeFile(tmp_path / "s.codes", SIZE)

    def erase():
        for found in CodeFile.list_in_folder(tmp_path):
            found.erase_codes_of_items([1])

    erasing = threading.Thread(target=erase, daemon=True)

    def read_rows_then_delete(last):
        rows = table.after(last)
        del table.rows[1]
        erasing.start()
        while erasing.is_alive() and not _is_waited_for(file.path.with_suffix(".lock")):
            erasing.join(0.01)
        return rows

    file.append_missing_rows(table.newest, read_rows_then_delete)
    erasing.join(60)
    assert not erasing.is_alive()
    assert file.codes_by_item() == table.codes


def _is_waited_for(lock):
    """Whether a process waits for the lock on a file."""
    waiting = [line.split() for line in Path("/proc/locks").read_text().splitlines() if "->" in line]
    return any(line[6].endswith(f":{lock.stat().st_ino}") for line in waiting)


def test_the_files_of_a_folder_are_found_with_their_size_and_the_damaged_ones_too(tmp_path):
    for name, size in (("a", 4), ("b", 16)):
        CodeFile(tmp_path / f"{name}.codes", size).rebuild(lambda _: ())
    (tmp_path / "c.codes").write_bytes(b"FWCODES1" + b"\xff" * 24)
    (tmp_path / "d.codes").write_bytes(b"short")
    found = {file.path.name: (file.dimensions, file.is_damaged) for file in CodeFile.list_in_folder(tmp_path)}
    assert found == {
        "a.codes": (4, False),
        "b.codes": (16, False),
        "c.codes": (0, True),
        "d.codes": (0, True),
    }


_CATCHER = """
import sys
from pathlib import Path
from foreword.store.vector_part import vector_to_code
from foreword.store.vectors import CodeFile
class Everything:
    is_everything = True
    def all_numbers(self):
        return None
path, total = Path(sys.argv[1]), int(sys.argv[2])
rows = [(n, n, bytes([n % 127]) * 16) for n in range(1, total + 1)]
file = CodeFile(path, 16)
for newest in range(1, total + 1):
    file.append_missing_rows(newest, lambda last, newest=newest: rows[last:newest])
    if newest % 5 == 0:
        file.erase_codes_of_items([newest - 2])
    if newest % 97 == 0:
        kept = [r for r in rows[:newest] if (r[0] + 2) % 5 or r[0] + 2 > newest]
        file.rebuild(lambda last, kept=kept: kept)
    file.compare([1.0] * 16, lambda last: [], Everything()).best_items(3)
"""


@pytest.mark.slow
def test_processes_that_catch_up_at_once_never_spoil_the_file(tmp_path):
    total = 200
    path = tmp_path / "s.codes"
    commands = [[sys.executable, "-c", _CATCHER, str(path), str(total)] for _ in range(3)]
    children = [subprocess.Popen(command, stderr=subprocess.PIPE) for command in commands]
    for child in children:
        _, complaint = child.communicate(timeout=120)
        assert child.returncode == 0, complaint.decode()
    file = CodeFile(path, 16)
    kept = {n: bytes([n % 127]) * 16 for n in range(1, total + 1) if (n + 2) % 5 or n + 2 > total}
    assert file.codes_by_item() == kept
    nos = [no for no in file._memory_map_records()["no"] if no != -1]
    assert sorted(nos) == sorted(kept)


@given(st.integers(0, 2**32), st.integers(8, 1536))
def test_a_vector_survives_its_code(seed, size):
    vector = _vector(seed, size)
    again = np.array(vector_from_code(vector_to_code(vector)))
    assert vector @ again / np.linalg.norm(vector) > 0.999
    assert np.linalg.norm(again) == pytest.approx(1)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=40))
def test_a_restored_vector_has_the_same_code(values):
    code = vector_to_code(values)
    assert len(code) == len(values)
    assert vector_to_code(vector_from_code(code)) == code


def test_a_vector_of_zeros_has_a_code_of_zeros():
    assert vector_to_code([0.0] * 8) == bytes(8)
    assert vector_from_code(bytes(8)) == (0.0,) * 8
    assert vector_to_code([]) == b""


def test_closing_lets_go_and_the_file_can_be_used_again(tmp_path):
    table = Table(3)
    file = CodeFile(tmp_path / "s.codes", SIZE)
    file.rebuild(table.after)
    file.close()
    file.close()
    assert file.codes_by_item() == table.codes
    with suppress(FileNotFoundError):
        file.path.with_suffix(".lock").unlink()
    assert file.codes_by_item() == table.codes
