"""The measurements: their shape, their data and what they leave behind. No time is asserted."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from foreword.errors import ForewordError, ValidationError
from foreword_measure.speed import PARTS, bench, clock, corpus, importing, parts, searching

SMALL, SIZE = 10, 40


def check(table):
    assert table.rows
    for row in table.rows:
        assert len(row) == len(table.columns)
        numbers = [cell for cell in row if isinstance(cell, int | float)]
        assert numbers
        assert all(map(math.isfinite, numbers))
        if "met" in table.columns:
            met = row[table.columns.index("met")]
            target = next(cell for name, cell in zip(table.columns, row, strict=True) if "target" in name)
            assert (met in ("yes", "no")) == (target is not None)


@pytest.fixture
def disk(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def search_report(tmp_path_factory, few_rounds):
    folder, said = tmp_path_factory.mktemp("bench"), []
    with pytest.MonkeyPatch.context() as patch, few_rounds():
        patch.setenv("TMPDIR", str(folder))
        report = bench(("search",), (SMALL, SIZE), lambda *told: said.append(told))
    return folder, said, report


@pytest.mark.slow
class TestSearch:
    def test_every_row_has_numbers(self, search_report):
        *_, report = search_report
        for table in report.tables:
            check(table)

    def test_every_operation_is_there_at_every_size(self, search_report):
        *_, report = search_report
        assert set(report.data["search"]) == {str(SMALL), str(SIZE)}
        times = next(table for table in report.tables if table.title.startswith("Searching"))
        assert {(row[0], row[1]) for row in times.rows} >= {
            (size, name) for size in (SMALL, SIZE) for name in searching.OPERATIONS
        }

    def test_the_largest_size_is_taken_apart(self, search_report):
        *_, report = search_report
        facts = report.data["search"][str(SIZE)]
        assert {"retrieve", "fuse", "fit_budget"} <= set(facts["stages"])
        assert {"lexical", "semantic", "graph", "trigram"} <= set(facts["probes"])
        assert {f"search: {shape}" for shape in corpus.SHAPES} <= set(facts["operations"])
        assert (
            facts["fill"]["codes_bytes"] >= SIZE * corpus.DIMENSIONS
        )  # so the vectors were there to be searched

    def test_the_machine_comes_first(self, search_report):
        *_, report = search_report
        assert report.tables[0].title == "Machine"
        assert report.data["machine"]["cores"] >= 1

    def test_progress_is_told_to_the_end(self, search_report):
        _, said, _ = search_report
        for label in (f"fill {SMALL}", f"ask {SMALL}", f"fill {SIZE}", f"ask {SIZE}"):
            last = [told for told in said if told[0] == label][-1]
            assert last[1] == last[2] > 0

    def test_nothing_is_left(self, search_report):
        folder, *_ = search_report
        assert list(folder.iterdir()) == []

    def test_it_is_plain_json(self, search_report):
        import json

        *_, report = search_report
        assert json.loads(json.dumps(report.as_json()))["data"]["search"]


@pytest.mark.slow
def test_import_and_write(disk, monkeypatch):
    monkeypatch.setattr(importing.measure, "__defaults__", (2,))
    report = bench(("write", "import"), (SIZE,))
    for table in report.tables:
        check(table)
    assert [name for name in report.data if name in PARTS] == ["import", "write"]
    assert set(report.data["import"]) == {"bare interpreter", "import foreword", "and its ContextEngine"}
    assert report.data["write"]["embedded"]["per_second"] > 0
    assert list(disk.glob("foreword-*")) == []  # (the encoder's runtime leaves a file of its own)


def test_a_busy_machine_and_a_disk_of_memory_are_told(disk, monkeypatch):
    monkeypatch.setattr("foreword_measure.speed.machine", lambda: {"cores": 2, "load": 3.5})
    monkeypatch.setattr("foreword_measure.speed.filesystem", lambda _: "tmpfs")
    monkeypatch.setattr(importing, "measure", lambda *_: ([], {}))
    notes = bench(("import",)).tables[0].notes
    assert any("busy" in note for note in notes)
    assert any("TMPDIR" in note for note in notes)


def test_an_unknown_part_is_refused_with_those_there_are():
    with pytest.raises(ValidationError, match=r"'fsync'.*import, write, search"):
        bench(("search", "fsync"))


@pytest.mark.parametrize("sizes", [(), (0,), (10, -1)])
def test_sizes_without_items_are_refused(sizes):
    with pytest.raises(ValidationError, match="sizes"):
        bench(("search",), sizes)


def test_an_interruption_leaves_neither_files_nor_processes(disk, monkeypatch):
    started = []

    class Watched(subprocess.Popen):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            started.append(self)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(parts.subprocess, "Popen", Watched)
    with pytest.raises(KeyboardInterrupt):
        bench(("search",), (5_000,), interrupt)
    assert started[0].poll() is not None
    assert list(disk.iterdir()) == []


def test_a_child_that_fails_is_an_error(disk, monkeypatch):
    monkeypatch.setattr(parts.sys, "executable", "/bin/false" if Path("/bin/false").exists() else "false")
    with pytest.raises(ForewordError, match="fill 10 failed: its process ended with 1"):
        bench(("search",), (10,))
    assert list(disk.iterdir()) == []


class TestCorpus:
    def test_it_is_the_same_in_every_process(self):
        told = "c.invent_item(77).text, c.invent_questions(50)[7].text"
        code = f"from foreword_measure.speed import corpus as c; print({told})"
        other = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
        )
        assert other.stdout.strip() == f"{corpus.invent_item(77).text} {corpus.invent_questions(50)[7].text}"

    def test_words_follow_the_law(self):
        lexicon = corpus.lexicon()
        assert len(lexicon.words) == len(set(lexicon.words)) == corpus.VOCABULARY
        assert lexicon.chances[-1] == pytest.approx(1)
        assert lexicon.words[0] == "the"

    def test_items_are_mixed(self):
        items = [corpus.invent_item(at) for at in range(300)]
        assert {"turn", "code", "memory", "document"} <= {item.kind for item in items}
        assert len({item.text for item in items}) == 300
        assert len({item.session for item in items} - {None}) > 5
        assert any("_" in item.text for item in items)

    def test_questions_are_varied_and_short(self):
        asked = corpus.invent_questions(300)
        assert len(asked) >= 60
        assert {question.shape for question in asked} == set(corpus.SHAPES)
        assert all(1 < len(question.text.split()) <= 15 for question in asked)

    def test_vectors_have_length_one_and_clusters(self):
        import numpy as np

        made = corpus.invent_vectors(0, 500)
        assert made.shape == (500, corpus.DIMENSIONS)
        assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
        near = np.sort(made @ made.T, axis=1)[:, -2]
        assert np.median(near) > 0.4  # (a neighbour in the same cluster; strangers are near 0)

    def test_relations_point_backwards(self):
        made = corpus.invent_relations(0, 100)
        assert made
        assert all(relation.to_id < relation.from_id for relation in made)

    def test_the_encoder_is_steady(self):
        encoder = corpus.FreeEncoder()
        assert encoder.embed_batch(["a", "b"]) == [encoder.embed("a"), encoder.embed("b")]
        assert encoder.embed("a") != encoder.embed("b")


class TestClock:
    def test_a_spread_names_its_places(self):
        found = clock.spread([float(n) for n in range(100, 0, -1)])
        assert (found.count, found.min, found.p50, found.p99, found.max) == (100, 1, 50, 99, 100)

    def test_a_spread_of_one(self):
        assert set(clock.spread([3.0]).as_dict().values()) == {1, 3.0}

    def test_memory_is_weighed(self):
        assert 1_000_000 < clock.resident_bytes() <= clock.peak_bytes() * 1.01

    def test_memory_is_weighed_where_there_is_no_proc(self, monkeypatch):
        monkeypatch.setattr(clock, "_status_bytes", lambda _: 0)
        assert clock.resident_bytes() == clock.peak_bytes() > 1_000_000

    def test_the_filesystem_has_a_name(self, tmp_path):
        assert clock.filesystem(tmp_path)
