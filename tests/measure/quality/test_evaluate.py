"""A small set, measured from end to end."""

from __future__ import annotations

import json
import os
from itertools import islice
from pathlib import Path

import pytest

from foreword.errors import ValidationError
from foreword.testing import HashEmbeddings
from foreword.types import Item
from foreword_measure.quality import evaluate, labelled, runs
from foreword_measure.quality.metrics import METRICS, Place


def test_a_set_is_measured_beside_its_baselines(chat, measure):
    report = measure(chat, lanes=("fast", "full"))
    table, recalls = report.tables[:2]
    assert table.title == "chat: 3 items, 3 queries"
    columns = ("run", "NDCG@10", "±", "R@10", "±", "T@500", "T@1000", "T@2000", "T@4000")
    assert table.columns == columns
    assert {len(row) for row in table.rows} == {len(columns)}
    names = ["BM25", "semantic", "RRF", "RRF + CE", "foreword fast", "foreword full"]
    assert [row[0] for row in table.rows] == [row[0] for row in recalls.rows] == names
    assert list(report.data["runs"]) == names
    for run in report.data["runs"].values():
        assert run["R@5"] == run["hit@5"] == run["all@10"] == run["T@500"] == 1.0
    assert report.data["encoder"] == "hash"


@pytest.mark.parametrize("lanes", [("fast",), ("full",), ("fast", "full")])
def test_only_the_lanes_that_were_asked_for_are_measured(chat, lanes, measure):
    report = measure(chat, lanes=lanes, baselines=False)
    assert list(report.data["runs"]) == [runs.OURS[lane] for lane in lanes]
    assert list(report.data["per_query"][0]["search_ms"]) == [runs.OURS[lane] for lane in lanes]


@pytest.mark.parametrize("lanes", [(), ("slow",)])
def test_a_lane_that_there_is_not_is_an_error(chat, lanes, measure):
    with pytest.raises(ValidationError, match="lanes must be some of fast, full"):
        measure(chat, lanes=lanes)


def test_the_cross_encoder_reorders_the_first_of_rrf(judge):
    items = {str(at): Item(f"word{at}", "w") for at in range(40)}
    order = runs._rerank(judge, "word29 word30", list(items), items)
    assert order == ["29", *map(str, range(29)), *map(str, range(30, 40))]
    assert runs._rerank(judge, "anything", [], {}) == []


def test_without_baselines_and_full_lane_nothing_is_reread(chat, measure, judge):
    measure(chat, baselines=False, reranker=judge)
    assert judge.read == []


def test_a_question_is_embedded_once_for_every_run(chat, measure):
    provider = Counting()
    measure(chat, provider, lanes=("fast", "full"), silence=True)
    for line in (chat / "queries.jsonl").read_text().splitlines():
        assert provider.each.count(json.loads(line)["text"]) == 1


def test_intervals_are_told_with_their_ends(chat, measure):
    report = measure(chat)
    low, high = report.data["intervals"]["BM25"]["R@10"]
    assert low == high == report.data["runs"]["BM25"]["R@10"] == 1.0
    assert report.tables[0].rows[0][3:5] == (1.0, 0.0)
    low, high = report.data["intervals"]["BM25"]["NDCG@10"]
    assert report.tables[0].rows[0][2] == round((high - low) / 2, 3)
    assert "resamples of the queries" in report.tables[0].notes[1]


def test_an_engine_without_a_space_is_told_in_every_title(chat, measure):
    report = measure(chat, without=("trigram", "semantic"))
    assert all(table.title.startswith("chat without trigram, semantic: ") for table in report.tables)
    assert report.data["without"] == ["trigram", "semantic"]
    assert list(report.data["runs"]) == ["BM25", "foreword fast"]
    assert list(measure(chat, without=("lexical",)).data["runs"]) == ["semantic", "foreword fast"]
    with pytest.raises(ValidationError, match="no space named 'smell'"):
        measure(chat, without=("smell",))


def test_questions_without_relevant_items_are_counted_and_left_out(chat, measure):
    report = measure(chat)
    assert report.data["queries_without_relevant_items"] == 1
    assert "1 queries have no relevant item" in " ".join(report.tables[0].notes)
    assert [row["query"] for row in report.data["per_query"]] == ["q1", "q2"]
    assert set(report.data["per_query"][0]["runs"]["foreword fast"]) == set(METRICS)


def test_categories_have_a_table_of_their_own(chat, measure):
    report = measure(chat)
    table = report.tables[2]
    assert table.title == "chat: foreword fast by category"
    assert table.columns[:3] == ("category", "queries", "NDCG@10")
    assert [row[:2] for row in table.rows] == [("multi", 1), ("single", 1)]
    assert set(report.data["categories"]["single"]["runs"]) == set(report.data["runs"])


def test_times_are_told_for_each_lane(chat, measure):
    report = measure(chat, lanes=("fast", "full"))
    assert list(report.data["milliseconds"]) == ["foreword fast", "foreword full", "embedding the question"]
    spread = report.data["milliseconds"]["foreword full"]
    assert 0 < spread["p50"] <= spread["p95"]
    assert report.tables[-1].columns == ("part", "mean", "p50", "p95")


def test_a_report_is_plain_json(chat, measure):
    report = measure(chat, silence=True).as_json()
    plain = json.loads(json.dumps(report, allow_nan=False))
    assert plain.keys() == report.keys()
    assert plain["data"]["set"] == "chat"


def test_a_limit_takes_the_first_questions_and_only_their_scopes(chat, measure):
    report = measure(chat, limit=1)
    assert report.data["queries"] == 1
    assert list(labelled.read_set(chat, 1).documents) == ["chat"]


def test_the_run_file_lists_every_answer_by_falling_score(chat, tmp_path, measure):
    path = tmp_path / "answers.run"
    measure(chat, run_file=path)
    rows = [line.split(" ") for line in path.read_text().splitlines()]
    assert {row[0] for row in rows} == {"q1", "q2", "q3"}
    assert rows[0][:4] == ["q1", "Q0", "t1", "1"]
    assert all(row[1] == "Q0" and row[5] == "foreword" for row in rows)
    for query in ("q1", "q2"):
        scores = [float(row[4]) for row in rows if row[0] == query]
        assert scores == sorted(set(scores), reverse=True)


@pytest.mark.parametrize(("lanes", "first"), [(("fast",), "t1"), (("full",), "t2"), (("fast", "full"), "t2")])
def test_the_run_file_is_the_full_lanes_where_that_was_measured(
    chat, tmp_path, monkeypatch, lanes, first, measure
):
    found = {"foreword fast": [Place(("t1",), 1.0)], "foreword full": [Place(("t2",), 1.0)]}
    answer = runs.Answer(found, 0.0, dict.fromkeys((runs.OURS[lane] for lane in lanes), 0.0))
    monkeypatch.setattr(runs, "ask", lambda *_: answer)
    measure(chat, lanes=lanes, run_file=tmp_path / "run", limit=1)
    assert [line.split(" ")[2] for line in (tmp_path / "run").read_text().splitlines()] == [first]


def test_a_run_file_that_cannot_be_written_is_an_error(chat, tmp_path, measure):
    with pytest.raises(ValidationError, match="cannot write the run"):
        measure(chat, run_file=tmp_path / "nowhere" / "x.run")


class Counting(HashEmbeddings):
    """Counts the texts it embeds."""

    def __init__(self):
        super().__init__()
        self.texts, self.each = [], []

    def embed(self, text):
        self.each.append(text)
        return super().embed(text)

    def embed_batch(self, texts):
        self.texts += texts
        return super().embed_batch(texts)


def test_a_home_keeps_the_vectors_for_the_next_time(chat, tmp_path, measure):
    first, second = Counting(), Counting()
    one = measure(chat, first, home=tmp_path / "kept")
    two = measure(chat, second, home=tmp_path / "kept")
    assert len(first.texts) == 3
    assert second.texts == []
    assert one.data["runs"] == two.data["runs"]


def test_a_stored_set_is_an_ordinary_workspace(chat, tmp_path, measure):
    measure(chat, home=tmp_path / "kept")
    with runs.open_engine_in(tmp_path / "kept" / "chat", HashEmbeddings()) as engine:
        assert engine.count("chat").items == 3
        assert engine.store.check("chat") == ()


def test_a_home_that_holds_other_items_is_refused(chat, tmp_path, measure):
    home = tmp_path / "kept"
    with runs.open_engine_in(home / "chat", HashEmbeddings()) as engine:
        engine.remember("A stranger.", "chat")
    with pytest.raises(ValidationError, match="1 items that are not of this set"):
        measure(chat, home=home)


def test_without_an_encoder_words_are_the_only_baseline(chat, monkeypatch):
    monkeypatch.setenv("FOREWORD_EMBEDDING", "none")
    report = evaluate(chat, lanes=("fast",))
    assert [row[0] for row in report.tables[0].rows] == ["BM25", "foreword fast"]


def test_progress_is_told_to_the_end(chat, measure):
    told = []
    measure(chat, progress=lambda *step: told.append(step))
    assert ("storing", 3, 3) in told
    assert ("embedding", 3, 3) in told
    assert told[-1] == ("asking", 3, 3)
    assert all(done <= total for _, done, total in told)


def test_identical_documents_are_one_to_the_measurement(tmp_path, measure, write_set):
    corpus = [
        {"id": one, "scope": "s", "kind": "document", "text": text}
        for one, text in (("a", "Red apples."), ("b", "Red apples."), ("c", "Green pears."))
    ]
    folder = write_set(
        tmp_path / "twins",
        corpus,
        [{"id": "q", "scope": "s", "text": "apples"}],
        [("q", "b", 1), ("q", "a", 1)],
    )
    path = tmp_path / "run"
    report = measure(folder, run_file=path)
    assert report.data["runs"]["BM25"]["R@5"] == report.data["runs"]["BM25"]["NDCG@10"] == 1.0
    assert [line.split(" ")[2:4] for line in path.read_text().splitlines()][:2] == [["a", "1"], ["b", "2"]]


def test_a_document_without_text_is_told_and_missed(tmp_path, measure, write_set):
    corpus = [{"id": "a", "scope": "s", "text": "Red apples."}, {"id": "b", "scope": "s", "text": " "}]
    queries = [{"id": "q", "scope": "s", "text": "apples"}]
    report = measure(write_set(tmp_path / "set", corpus, queries, [("q", "a", 1), ("q", "b", 1)]))
    assert report.data["empty_items"] == 1
    assert report.data["runs"]["foreword fast"]["R@50"] == 0.5


def test_long_files_are_cut_and_a_hit_on_any_part_counts(files, tmp_path, measure):
    report = measure(files, run_file=tmp_path / "run")
    assert report.tables[0].title == "files: 3 items, 1 queries"
    assert report.data["runs"]["BM25"]["MRR"] == report.data["runs"]["foreword fast"]["R@5"] == 1.0
    # The one window that was wanted fits; the whole file would not.
    assert report.data["runs"]["BM25"]["T@1000"] == 1.0
    found = [line.split(" ")[2] for line in (tmp_path / "run").read_text().splitlines()]
    assert len(found) == len(set(found))


# The real thing


@pytest.fixture
def data(monkeypatch):
    """The folder of labelled sets, which is not part of the repository."""
    beside = Path(__file__).parents[4] / "shared" / "data"
    folder = Path(os.environ.get("FOREWORD_DATA") or beside)
    monkeypatch.delenv("FOREWORD_DATA", raising=False)  # it is not a setting of the engine's
    if not (folder / "locomo").is_dir():
        pytest.skip(f"no labelled data in {folder}; set FOREWORD_DATA to the folder that holds locomo")
    return folder


@pytest.fixture
def first_sessions(data, tmp_path, write_set):
    """The first four sessions of one conversation, and its first questions, which these answer."""

    def read(name):
        return map(json.loads, (data / "locomo" / name).read_text(encoding="utf-8").splitlines())

    sessions = {f"conv-26/S{number}" for number in range(1, 5)}
    queries = list(islice(read("queries.jsonl"), 6))
    wanted = {query["id"] for query in queries}
    qrels = [line.split("\t") for line in (data / "locomo" / "qrels.tsv").read_text().splitlines()[1:]]
    turns = [turn for turn in read("corpus.jsonl") if turn["session"] in sessions]
    return write_set(tmp_path / "locomo", turns, queries, [row for row in qrels if row[0] in wanted])


@pytest.mark.slow
def test_the_bundled_model_finds_evidence_in_a_conversation(first_sessions):
    report = evaluate(first_sessions, lanes=("full",))
    assert report.data["runs"]["semantic"]["R@10"] > 0.5
    assert report.data["runs"]["foreword full"]["R@10"] > 0.5
