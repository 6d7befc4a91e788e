"""What the metrics say, computed by hand; a small set measured from end to end; sets that are wrong."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from foreword.errors import ValidationError
from foreword.testing import HashEmbeddings
from foreword.text.words import telling
from foreword.types import Item
from foreword_measure.quality import evaluate, labelled, metrics, runs, summary, tables
from foreword_measure.quality.labelled import Document, LabelledSet, Question
from foreword_measure.quality.metrics import METRICS, Place
from foreword_measure.quality.runs import Stock
from foreword_measure.quality.silence import Heard, Silence, Stranger, listen, strangers

# Metrics

MEASURES = [metrics.recall, metrics.ndcg, metrics.reciprocal_rank, metrics.hit, metrics.complete]


def test_recall_is_the_share_of_relevant_documents_found():
    gains = {"a": 1.0, "b": 1.0, "z": 1.0}
    assert metrics.recall(["a", "x", "b", "y"], gains, 1) == pytest.approx(1 / 3)
    assert metrics.recall(["a", "x", "b", "y"], gains, 3) == pytest.approx(2 / 3)
    assert metrics.recall(["a", "x", "b", "y"], gains, 50) == pytest.approx(2 / 3)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("ranking", [[], ["x", "y"]])
def test_nothing_found_is_zero(measure, ranking):
    assert measure(ranking, {"a": 1.0}, 10) == 0.0


@pytest.mark.parametrize("measure", MEASURES)
def test_a_question_without_relevant_documents_is_refused(measure):
    with pytest.raises(ValidationError, match="nothing is relevant"):
        measure(["a"], {}, 10)
    with pytest.raises(ValidationError, match="nothing is relevant"):
        metrics.evidence_recall([], {}, 500)


def test_ndcg_with_binary_gains():
    # Found at ranks 1 and 3 of two: (1/log2(2) + 1/log2(4)) / (1/log2(2) + 1/log2(3)) = 1.5 / 1.63093
    assert metrics.ndcg(["a", "x", "b"], {"a": 1.0, "b": 1.0}, 10) == pytest.approx(0.919721, abs=1e-6)


def test_ndcg_with_graded_gains():
    # (1/log2(2) + 3/log2(3)) / (3/log2(2) + 1/log2(3)) = 2.892789 / 3.630930
    assert metrics.ndcg(["a", "b"], {"a": 1.0, "b": 3.0}, 10) == pytest.approx(0.796708, abs=1e-6)
    assert metrics.ndcg(["b", "a"], {"a": 1.0, "b": 3.0}, 10) == pytest.approx(1.0)


def test_ndcg_asks_no_more_than_the_cut_can_hold():
    assert metrics.ndcg(["a", "b"], {"a": 1.0, "b": 1.0, "c": 1.0}, 2) == pytest.approx(1.0)


def test_reciprocal_rank_is_that_of_the_first_relevant_document():
    assert metrics.reciprocal_rank(["x", "y", "a", "b"], {"a": 1.0, "b": 1.0}, 50) == pytest.approx(1 / 3)
    assert metrics.reciprocal_rank(["x", "y", "a"], {"a": 1.0}, 2) == 0.0


def test_hit_asks_for_one_of_them():
    assert metrics.hit(["x", "b"], {"a": 1.0, "b": 1.0}, 5) == 1.0
    assert metrics.hit(["x", "b"], {"a": 1.0, "b": 1.0}, 1) == 0.0


def test_complete_asks_for_all_of_them():
    assert metrics.complete(["b", "x", "a"], {"a": 1.0, "b": 1.0}, 5) == 1.0
    assert metrics.complete(["b", "x", "a"], {"a": 1.0, "b": 1.0}, 2) == 0.0


def test_a_document_counts_once_and_takes_one_place():
    ranking = ["x", "x", "x", "a", "a", "b"]
    gains = {"a": 1.0, "b": 1.0}
    assert metrics.recall(ranking, gains, 2) == 0.5
    assert metrics.recall(ranking, gains, 3) == 1.0
    assert metrics.reciprocal_rank(ranking, gains, 50) == 0.5
    assert metrics.ndcg(["a", "a", "b"], gains, 10) == pytest.approx(1.0)


def _places(*pairs):
    return [Place((name,), tokens) for name, tokens in pairs]


def test_evidence_recall_stops_at_the_first_item_that_does_not_fit():
    gains = {"a": 1.0, "b": 1.0}
    places = _places(("a", 300.0), ("x", 300.0), ("b", 10.0))
    assert metrics.evidence_recall(places, gains, 299) == 0.0
    assert metrics.evidence_recall(places, gains, 300) == 0.5
    assert metrics.evidence_recall(places, gains, 500) == 0.5  # b would fit, but comes after x
    assert metrics.evidence_recall(places, gains, 610) == 1.0


def test_every_part_of_a_document_costs_its_own_tokens():
    places = [Place(("a",), 400.0), Place(("a",), 400.0), Place(("b",), 400.0)]
    assert metrics.evidence_recall(places, {"a": 1.0, "b": 1.0}, 1000) == 0.5
    assert metrics.documents(places) == ["a", "b"]


def test_all_scores_of_one_answer():
    found = metrics.scores(_places(("x", 100.0), ("a", 100.0)), {"a": 1.0, "b": 1.0})
    assert tuple(found) == metrics.METRICS
    assert found["R@5"] == found["R@50"] == found["T@500"] == found["MRR"] == 0.5
    assert found["hit@5"] == found["hit@10"] == 1.0
    assert found["all@5"] == found["all@10"] == 0.0
    assert found["NDCG@10"] == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)))


def test_means_and_percentiles():
    rows = [dict.fromkeys(metrics.METRICS, 1.0), dict.fromkeys(metrics.METRICS, 0.0)]
    assert metrics.means(rows)["R@5"] == 0.5
    assert metrics.means([])["R@5"] is None
    values = [float(n) for n in range(1, 101)]
    assert metrics.percentile(values, 0.5) == 50.0
    assert metrics.percentile(values, 0.95) == 95.0
    assert metrics.percentile([7.0], 0.95) == 7.0
    assert metrics.percentile([], 0.5) is None


def test_rank_fusion_with_equal_weights():
    # a: 1/61 + 1/63, b: 1/62 + 1/61, c: 1/62, d: 1/63
    assert metrics.fused([["a", "b", "d"], ["b", "c", "a"]]) == ["b", "a", "c", "d"]
    assert metrics.fused([]) == []


def test_an_interval_is_the_same_every_time_and_holds_the_mean():
    values = [0.0, 1.0] * 50
    low, high = metrics.interval(values, ["s"] * 100)
    assert metrics.interval(values, ["s"] * 100) == (low, high)
    # The mean of 100 coins has a standard deviation of 0.05; 1.96 of them are 0.098.
    assert (low, high) == (pytest.approx(0.402, abs=0.02), pytest.approx(0.598, abs=0.02))


def test_an_interval_draws_whole_scopes_when_there_are_enough():
    # Within a scope all agree: a hundred questions of five scopes are no more than five draws.
    values = [float(scope % 2) for scope in range(5) for _ in range(20)]
    few = metrics.interval(values, [str(at // 20) for at in range(100)])
    many = metrics.interval(values, [str(at // 25) for at in range(100)])
    assert few[1] - few[0] > 0.6 > 0.25 > many[1] - many[0]
    assert metrics.by_group(list("abcde"))
    assert not metrics.by_group(list("abcd"))


def test_the_mean_of_drawn_scopes_weighs_each_by_its_questions():
    # However scopes of equal means are drawn and however large they are, the mean is the same.
    groups = ["a"] * 10 + ["b", "c", "d", "e"] * 2
    assert metrics.interval([0.5] * 18, groups) == (0.5, 0.5)


@pytest.mark.parametrize("values", [[], [1.0]])
def test_one_question_has_no_interval(values):
    assert metrics.interval(values, ["s"] * len(values)) is None


def test_a_sample_is_the_same_every_time():
    assert metrics.sample(3, 5) == [0, 1, 2]
    drawn = metrics.sample(1000, 200)
    assert drawn == metrics.sample(1000, 200) == sorted(set(drawn))
    assert len(drawn) == 200


def test_reliability_and_calibration_by_hand():
    bins = metrics.reliability([(0.1, False), (0.12, True), (0.95, True), (1.0, True), (-0.2, False)])
    told = [(one.low, one.count, one.predicted, one.observed) for one in bins if one.count]
    assert told == [(0.0, 1, -0.2, 0.0), (0.1, 2, pytest.approx(0.11), 0.5), (0.9, 2, 0.975, 1.0)]
    assert len(bins) == 10
    assert bins[5] == metrics.Bin(0.5, 0.6, None, None, 0)
    # (1 × 0.2 + 2 × 0.39 + 2 × 0.025) / 5
    assert metrics.calibration_error(bins) == pytest.approx(0.206)
    assert metrics.calibration_error(metrics.reliability([])) is None


# A set on disk

TURNS = [
    ("t1", "chat", "Ann", "The lighthouse keeper moved to Bergen in spring."),
    ("t2", "chat", "Ben", "My sister bakes bread with walnuts."),
    ("t3", "chat", "Ann", "We repaired the boat engine on Saturday."),
    ("u1", "other", "Cy", "The lighthouse keeper retired."),
]
QUERIES = [
    ("q1", "chat", "Where did the lighthouse keeper go?", "single"),
    ("q2", "chat", "What bread does the sister bake, and who fixed the boat engine?", "multi"),
    ("q3", "chat", "What is the capital of Peru?", "single"),
]
QRELS = [("q1", "t1", 1), ("q2", "t2", 1), ("q2", "t3", 2), ("q3", "t1", 0)]


class Overlap:
    """A cross-encoder that counts the words which question and text share."""

    def __init__(self):
        self.read = []

    def scores(self, query, texts, expires=None):
        self.read.append((query, len(texts)))
        return [float(len(set(telling(query)) & set(telling(text)))) for text in texts]


def measure(folder, provider=None, **options):
    """`evaluate` without a model, in the fast lane unless told otherwise."""
    return evaluate(
        folder,
        provider=provider or HashEmbeddings(),
        **{"lanes": ("fast",), "reranker": Overlap(), **options},
    )


def _lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def _write(folder, corpus, queries, qrels, **more):
    folder.mkdir(exist_ok=True)
    (folder / "corpus.jsonl").write_text(_lines(corpus))
    (folder / "queries.jsonl").write_text(_lines(queries))
    rows = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in qrels)]
    (folder / "qrels.tsv").write_text("\n".join(rows) + "\n")
    for name, value in more.items():
        (folder / f"{name}.jsonl").write_text(_lines(value))
    return folder


@pytest.fixture
def chat(tmp_path):
    corpus = [
        {
            "id": one, "scope": scope, "kind": "turn", "speaker": who, "text": text,
            "time": "2024-05-01T10:00:00Z", "session": "s1",
        }
        for one, scope, who, text in TURNS
    ]  # fmt: skip
    queries = [{"id": q, "scope": s, "text": t, "category": c} for q, s, t, c in QUERIES]
    return _write(tmp_path / "chat", corpus, queries, QRELS)


def test_a_set_is_measured_beside_its_baselines(chat):
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
def test_only_the_lanes_that_were_asked_for_are_measured(chat, lanes):
    report = measure(chat, lanes=lanes, baselines=False)
    assert list(report.data["runs"]) == [runs.OURS[lane] for lane in lanes]
    assert list(report.data["per_query"][0]["search_ms"]) == [runs.OURS[lane] for lane in lanes]


@pytest.mark.parametrize("lanes", [(), ("slow",)])
def test_a_lane_that_there_is_not_is_an_error(chat, lanes):
    with pytest.raises(ValidationError, match="lanes must be some of fast, full"):
        measure(chat, lanes=lanes)


def test_the_cross_encoder_reorders_the_first_of_rrf():
    items = {str(at): Item(f"word{at}", "w") for at in range(40)}
    order = runs._reordered(Overlap(), "word29 word30", list(items), items)
    assert order == ["29", *map(str, range(29)), *map(str, range(30, 40))]
    assert runs._reordered(Overlap(), "anything", [], {}) == []


def test_without_baselines_and_full_lane_nothing_is_reread(chat):
    judge = Overlap()
    measure(chat, baselines=False, reranker=judge)
    assert judge.read == []


def test_a_question_is_embedded_once_for_every_run(chat):
    provider = Counting()
    measure(chat, provider, lanes=("fast", "full"), silence=True)
    for _, _, text, _ in QUERIES:
        assert provider.each.count(text) == 1


def test_intervals_are_told_with_their_ends(chat):
    report = measure(chat)
    low, high = report.data["intervals"]["BM25"]["R@10"]
    assert low == high == report.data["runs"]["BM25"]["R@10"] == 1.0
    assert report.tables[0].rows[0][3:5] == (1.0, 0.0)
    low, high = report.data["intervals"]["BM25"]["NDCG@10"]
    assert report.tables[0].rows[0][2] == round((high - low) / 2, 3)
    assert "resamples of the queries" in report.tables[0].notes[1]


def test_an_engine_without_a_space_is_told_in_every_title(chat):
    report = measure(chat, without=("trigram", "semantic"))
    assert all(table.title.startswith("chat without trigram, semantic: ") for table in report.tables)
    assert report.data["without"] == ["trigram", "semantic"]
    assert list(report.data["runs"]) == ["BM25", "foreword fast"]
    assert list(measure(chat, without=("lexical",)).data["runs"]) == ["semantic", "foreword fast"]
    with pytest.raises(ValidationError, match="no space named 'smell'"):
        measure(chat, without=("smell",))


def test_questions_without_relevant_items_are_counted_and_left_out(chat):
    report = measure(chat)
    assert report.data["queries_without_relevant_items"] == 1
    assert "1 queries have no relevant item" in " ".join(report.tables[0].notes)
    assert [row["query"] for row in report.data["per_query"]] == ["q1", "q2"]
    assert set(report.data["per_query"][0]["runs"]["foreword fast"]) == set(METRICS)


def test_categories_have_a_table_of_their_own(chat):
    report = measure(chat)
    table = report.tables[2]
    assert table.title == "chat: foreword fast by category"
    assert table.columns[:3] == ("category", "queries", "NDCG@10")
    assert [row[:2] for row in table.rows] == [("multi", 1), ("single", 1)]
    assert set(report.data["categories"]["single"]["runs"]) == set(report.data["runs"])


def test_times_are_told_for_each_lane(chat):
    report = measure(chat, lanes=("fast", "full"))
    assert list(report.data["milliseconds"]) == ["foreword fast", "foreword full", "embedding the question"]
    spread = report.data["milliseconds"]["foreword full"]
    assert 0 < spread["p50"] <= spread["p95"]
    assert report.tables[-1].columns == ("part", "mean", "p50", "p95")


def test_a_report_is_plain_json(chat):
    json.dumps(measure(chat, silence=True).as_json(), allow_nan=False)


def test_a_limit_takes_the_first_questions_and_only_their_scopes(chat):
    report = measure(chat, limit=1)
    assert report.data["queries"] == 1
    assert list(labelled.read(chat, 1).documents) == ["chat"]


def test_the_run_file_lists_every_answer_by_falling_score(chat, tmp_path):
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
def test_the_run_file_is_the_full_lanes_where_that_was_measured(chat, tmp_path, monkeypatch, lanes, first):
    found = {"foreword fast": [Place(("t1",), 1.0)], "foreword full": [Place(("t2",), 1.0)]}
    answer = runs.Answer(found, 0.0, dict.fromkeys((runs.OURS[lane] for lane in lanes), 0.0))
    monkeypatch.setattr(runs, "ask", lambda *_: answer)
    measure(chat, lanes=lanes, run_file=tmp_path / "run", limit=1)
    assert [line.split(" ")[2] for line in (tmp_path / "run").read_text().splitlines()] == [first]


def test_a_run_file_that_cannot_be_written_is_an_error(chat, tmp_path):
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


def test_a_home_keeps_the_vectors_for_the_next_time(chat, tmp_path):
    first, second = Counting(), Counting()
    one = measure(chat, first, home=tmp_path / "kept")
    two = measure(chat, second, home=tmp_path / "kept")
    assert len(first.texts) == 3
    assert second.texts == []
    assert one.data["runs"] == two.data["runs"]


def test_a_stored_set_is_an_ordinary_workspace(chat, tmp_path):
    measure(chat, home=tmp_path / "kept")
    with runs.engine_in(tmp_path / "kept" / "chat", HashEmbeddings()) as engine:
        assert engine.count("chat").items == 3
        assert engine.store.check("chat") == ()


def test_a_home_that_holds_other_items_is_refused(chat, tmp_path):
    home = tmp_path / "kept"
    with runs.engine_in(home / "chat", HashEmbeddings()) as engine:
        engine.remember("A stranger.", "chat")
    with pytest.raises(ValidationError, match="1 items that are not of this set"):
        measure(chat, home=home)


def test_without_an_encoder_words_are_the_only_baseline(chat, monkeypatch):
    monkeypatch.setenv("FOREWORD_EMBEDDING", "none")
    report = evaluate(chat, lanes=("fast",))
    assert [row[0] for row in report.tables[0].rows] == ["BM25", "foreword fast"]


def test_progress_is_told_to_the_end(chat):
    told = []
    measure(chat, progress=lambda *step: told.append(step))
    assert ("storing", 3, 3) in told
    assert ("embedding", 3, 3) in told
    assert told[-1] == ("asking", 3, 3)
    assert all(done <= total for _, done, total in told)


def test_the_sets_own_ids_are_in_nothing_that_is_indexed(chat):
    corpus = [json.loads(line) for line in (chat / "corpus.jsonl").read_text().splitlines()]
    for row in corpus:
        row["id"] = f"opaque{row['id']}"
    _write(chat, corpus, [{"id": "q", "scope": "chat", "text": "Where?"}], [("q", "opaquet1", 1)])
    for document in labelled.read(chat).documents["chat"]:
        for item in document.parts:
            assert "opaque" not in f"{item.searchable} {item.id} {item.metadata}"


def test_an_item_keeps_its_speaker_time_and_session(chat):
    item = labelled.read(chat).documents["chat"][0].parts[0]
    assert (item.kind, item.about, item.session) == ("turn", "Ann", "s1")
    assert item.created_at.isoformat() == "2024-05-01T10:00:00+00:00"


def test_identical_documents_are_one_to_the_measurement(tmp_path):
    corpus = [
        {"id": one, "scope": "s", "kind": "document", "text": text}
        for one, text in (("a", "Red apples."), ("b", "Red apples."), ("c", "Green pears."))
    ]
    folder = _write(
        tmp_path / "twins",
        corpus,
        [{"id": "q", "scope": "s", "text": "apples"}],
        [("q", "b", 1), ("q", "a", 1)],
    )
    path = tmp_path / "run"
    report = measure(folder, run_file=path)
    assert report.data["runs"]["BM25"]["R@5"] == report.data["runs"]["BM25"]["NDCG@10"] == 1.0
    assert [line.split(" ")[2:4] for line in path.read_text().splitlines()][:2] == [["a", "1"], ["b", "2"]]


def test_a_document_without_text_is_told_and_missed(tmp_path):
    corpus = [{"id": "a", "scope": "s", "text": "Red apples."}, {"id": "b", "scope": "s", "text": " "}]
    queries = [{"id": "q", "scope": "s", "text": "apples"}]
    report = measure(_write(tmp_path / "set", corpus, queries, [("q", "a", 1), ("q", "b", 1)]))
    assert report.data["empty_items"] == 1
    assert report.data["runs"]["foreword fast"]["R@50"] == 0.5


# Files that stand in several scopes


def _source(name, lines):
    return "\n".join(f"{name}_{n} = compute({n})  # a line of {name}" for n in range(1, lines + 1))


@pytest.fixture
def files(tmp_path):
    corpus = [
        {"id": "f1", "text": _source("alpha", 100), "meta": {"path": "src/alpha.py", "repo": "r"}},
        {"id": "f2", "text": _source("beta", 90), "meta": {"path": "src/beta.py", "repo": "r"}},
        {"id": "f3", "text": "short = 1", "meta": {"path": "src/short.py", "repo": "r"}},
    ]
    queries = [{"id": "q", "scope": "v2", "text": "beta_80 is computed wrongly", "category": "r"}]
    scopes = [
        {"scope": "v1", "docs": [["src/alpha.py", "f1"]]},
        {"scope": "v2", "docs": [["lib/alpha.py", "f1"], ["src/beta.py", "f2"], ["src/short.py", "f3"]]},
    ]
    return _write(tmp_path / "files", corpus, queries, [("q", "f2", 1)], scopes=scopes)


def test_long_files_are_cut_and_a_hit_on_any_part_counts(files, tmp_path):
    report = measure(files, run_file=tmp_path / "run")
    assert report.tables[0].title == "files: 3 items, 1 queries"
    assert report.data["runs"]["BM25"]["MRR"] == report.data["runs"]["foreword fast"]["R@5"] == 1.0
    # The one window that was wanted fits; the whole file would not.
    assert report.data["runs"]["BM25"]["T@1000"] == 1.0
    found = [line.split(" ")[2] for line in (tmp_path / "run").read_text().splitlines()]
    assert len(found) == len(set(found))


def test_a_part_knows_its_path_and_lines(files):
    alpha, _, short = labelled.read(files).documents["v2"]
    lines = [(part.metadata["start_line"], part.metadata["end_line"]) for part in alpha.parts]
    assert lines == [(1, 40), (31, 70), (61, 100)]
    assert {part.about for part in alpha.parts} == {"lib/alpha.py"}
    assert {part.kind for part in alpha.parts} == {"code"}
    assert (short.parts[0].metadata["path"], short.parts[0].metadata["repo"]) == ("src/short.py", "r")


# Silence


def _set(documents, *questions):
    """A set of scopes, each with its documents; a document is its id, or its id and its path."""
    scoped = {
        scope: tuple(
            Document(one, (Item(one, scope, id=one, metadata={"path": path[0]} if path else {}),))
            for one, *path in inside
        )
        for scope, inside in documents.items()
    }
    asked = tuple(Question(f"q{at}", s, text, "", gains) for at, (s, text, gains) in enumerate(questions))
    return LabelledSet("made", scoped, asked)


def test_a_stranger_is_asked_where_its_evidence_is_not():
    given = _set({"a": ["1"], "b": ["2"]}, ("a", "one?", {"1": 1.0}), ("b", "two?", {"2": 1.0}))
    assert strangers(given, given.questions, ["else?"]) == (
        "other scopes",
        [Stranger("one?", "b"), Stranger("two?", "a")],
    )


def test_scopes_that_share_a_document_or_the_path_of_the_evidence_are_not_foreign():
    old = [("1", "src/x.py"), ("2", "src/y.py")]
    scopes = {"v1": old, "v2": [("3", "src/x.py"), ("2", "src/y.py")], "v3": [("4", "src/x.py")]}
    given = _set({**scopes, "other": [("5", "src/y.py")]}, ("v1", "x?", {"1": 1.0}))
    assert strangers(given, given.questions, []) == ("other scopes", [Stranger("x?", "other")])
    given = _set(scopes, ("v1", "x?", {"1": 1.0}))
    assert strangers(given, given.questions, []) == ("", [])


def test_where_there_is_one_scope_strangers_come_from_other_sets():
    given = _set({"a": ["1"]}, ("a", "one?", {"1": 1.0}))
    assert strangers(given, given.questions, ["else?"]) == ("other sets", [Stranger("else?", "a")])
    assert strangers(given, given.questions, []) == ("", [])
    origin, many = strangers(given, given.questions, [str(n) for n in range(900)])
    assert len(many) == 200
    assert (origin, many) == strangers(given, given.questions, [str(n) for n in range(900)])


class Scripted:
    """An engine that injects what it was told to, and remembers how it was asked."""

    def __init__(self, said):
        self.said, self.asked = said, []

    def build_context(self, query, workspace, *, lane, token_budget, floor):
        self.asked.append((lane, token_budget, floor))
        ids = self.said.get((query, workspace, floor), ())
        return SimpleNamespace(memories=[SimpleNamespace(memory=Item(one, workspace, id=one)) for one in ids])


def test_silence_by_hand():
    given = _set(
        {"a": ["1", "2", "x"], "b": ["3"]},
        ("a", "both?", {"1": 1.0, "2": 1.0}),
        ("b", "three?", {"3": 1.0}),
        ("a", "nothing?", {}),
    )
    names = {scope: {one.id: one.id for one in inside} for scope, inside in given.documents.items()}
    stocks = {s: Stock({n: (n,) for n in held}, held, {n: (n,) for n in held}) for s, held in names.items()}
    engine = Scripted(
        {
            ("both?", "b", None): ["3"],  # noise
            ("both?", "a", None): ["1", "x"],
            ("both?", "a", 0.0): ["1", "2", "x"],
            ("three?", "b", 0.0): ["3"],
        }
    )
    silence = listen(engine, given, stocks, ["full"], [], lambda *_: None)
    heard = silence.runs["foreword full"]
    # Evidence: half of one question's and none of the other's; without the floor, all of both.
    assert heard == Heard(2, 1, 2, 1, 0.25, 1.0)
    assert (heard.noise, heard.kept) == (0.5, 0.25)
    assert set(engine.asked) == {("full", 2000, None), ("full", 2000, 0.0)}
    assert Heard(0, 0, 1, 0, 0.0, 0.0).noise is Heard(0, 0, 1, 0, 0.0, 0.0).kept is None


def test_a_set_alone_with_one_scope_says_that_silence_needs_another(chat, files):
    table = next(one for one in measure(chat, silence=True).tables if one.title == "chat: silence")
    assert table.rows[0][:3] == ("foreword fast", 0, None)
    assert "needs a second set" in table.notes[0]
    report = measure(chat, silence=True, others=[files])
    table = next(one for one in report.tables if one.title == "chat: silence")
    assert table.rows[0][1] == 1
    assert "of other sets" in table.notes[0]
    assert report.data["silence"]["from"] == "other sets"
    assert report.data["silence"]["runs"]["foreword fast"]["own"] == 2


def test_with_silence_scores_are_held_against_the_truth(chat):
    report = measure(chat, silence=True)
    assert report.tables[-1].title == "chat: what a score means"
    assert len(report.tables[-1].rows) == 10
    told = report.data["reliability"]["foreword fast"]
    assert 0 <= told["expected_error"] <= 1
    assert sum(one["count"] for one in told["bins"]) >= 2
    assert "reliability" not in measure(chat).data


# Reports


def _row(question, category, **values):
    """A question that the fast lane answered with these values, the full lane with nothing but ones."""
    both = {
        "foreword fast": {**dict.fromkeys(METRICS, 0.0), **values},
        "foreword full": dict.fromkeys(METRICS, 1.0),
    }
    judged = {"foreword fast": [(0.2, True)], "foreword full": [(0.9, True), (0.5, False)]}
    return tables.Row(
        question, question, category, both, 1.0, {"foreword fast": 2.0, "foreword full": 9.0}, judged
    )


ABOUT = tables.About("made", 9, 0, "hash")


def test_adversarial_questions_are_told_apart():
    rows = [_row("1", "temporal"), _row("2", "adversarial"), _row("3", "single")]
    report = tables.report(ABOUT, rows)
    told = [row[:2] for row in report.tables[2].rows]
    assert told == [("adversarial", 1), ("single", 1), ("temporal", 1), ("all but adversarial", 2)]
    assert report.data["categories"]["all but adversarial"]["queries"] == 2
    assert "all but adversarial" not in tables.report(ABOUT, rows[1:2]).data["categories"]


def test_categories_are_those_of_the_best_lane():
    report = tables.report(ABOUT, [_row("1", "a"), _row("2", "b")])
    assert report.tables[2].title == "made: foreword full by category"
    assert (
        tables.best_lane({"foreword fast": {"NDCG@10": 0.5}, "foreword full": {"NDCG@10": 0.4}})
        == "foreword fast"
    )


def test_reliability_is_told_for_each_lane_with_its_error():
    silence = Silence("other sets", {"foreword full": Heard(4, 1, 2, 2, 0.5, 0.8)})
    report = tables.report(ABOUT, [_row("1", "a")], silence)
    *_, quiet, meaning = report.tables
    assert quiet.rows == (("foreword full", 4, 0.25, 2, 1.0, 0.5, 0.8, 0.625),)
    assert ("foreword full", "0.9–1.0", 0.9, 1.0, 1) in meaning.rows
    # (1 × |0.9 - 1| + 1 × |0.5 - 0|) / 2
    assert meaning.notes[1:] == (
        "expected calibration error, foreword fast: 0.800",
        "expected calibration error, foreword full: 0.300",
    )


def test_five_scopes_are_drawn_whole():
    report = tables.report(ABOUT, [_row(str(n), "") for n in range(5)])
    assert "resamples of the scopes" in report.tables[0].notes[1]


def test_where_nothing_can_be_scored_there_are_no_numbers():
    row = tables.Row("q", "s", "", {}, 1.0, {"foreword fast": 2.0}, {"foreword fast": []})
    report = tables.report(ABOUT, [row])
    assert report.tables[0].rows == (("foreword fast", *[None] * 8),)


def test_a_summary_has_a_row_a_set():
    both = {
        "BM25": dict.fromkeys(METRICS, 0.3),
        "RRF": dict.fromkeys(METRICS, 0.4),
        "foreword fast": dict.fromkeys(METRICS, 0.5),
        "foreword full": dict.fromkeys(METRICS, 0.6),
    }
    fast = {"foreword fast": dict.fromkeys(METRICS, 0.7)}
    given = [SimpleNamespace(data={"set": name, "runs": one}) for name, one in (("a", both), ("b", fast))]
    report = summary(given)
    (table,) = report.tables
    assert table.columns == (
        *("set", "fast NDCG@10", "fast R@10", "full NDCG@10", "full R@10"),
        *("hit@5", "T@500", "T@1000", "T@4000", "best baseline"),
    )
    assert table.rows == (
        ("a", 0.5, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.4),
        ("b", 0.7, 0.7, None, None, 0.7, 0.7, 0.7, 0.7, None),
    )
    assert report.data["summary"]["a"]["best baseline"] == 0.4


# Sets that are wrong


def test_a_folder_that_is_not_a_set(tmp_path):
    with pytest.raises(
        ValidationError, match=r"not a labelled set: it has no corpus\.jsonl, queries\.jsonl, qrels"
    ):
        measure(tmp_path)
    with pytest.raises(ValidationError, match="not a labelled set"):
        measure(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "bad", "message"),
    [
        ("corpus.jsonl", "{oops", r"corpus.jsonl, line 5: not JSON"),
        ("corpus.jsonl", "[1]", r"corpus.jsonl, line 5: must be a JSON object"),
        ("corpus.jsonl", '{"id": "x", "scope": "chat"}', r"line 5: 'text' must be text, not null"),
        ("corpus.jsonl", '{"id": "x", "text": "t"}', r"line 5: 'scope' must be text"),
        (
            "corpus.jsonl",
            '{"id": "x", "scope": "chat", "text": "t", "kind": "poem"}',
            r"no kind named 'poem'",
        ),
        (
            "corpus.jsonl",
            '{"id": "x", "scope": "chat", "text": "t", "time": "noon"}',
            r"'time' must be ISO 8601",
        ),
        (
            "corpus.jsonl",
            '{"id": "x", "scope": "chat", "text": "t", "meta": 3}',
            r"'meta' must be a JSON object",
        ),
        ("queries.jsonl", '{"id": "q1", "scope": "chat", "text": "?"}', r"line 1: the id 'q1' names several"),
        ("queries.jsonl", '{"id": "q9", "scope": "moon", "text": "?"}', r"line 4: no document .* 'moon'"),
        ("qrels.tsv", "q1 t1 1", r"qrels.tsv, line 6: must be query-id"),
        ("qrels.tsv", "q1\tt1\tmuch", r"qrels.tsv, line 6: must be query-id"),
        ("qrels.tsv", "q1\tt1\tnan", r"qrels.tsv, line 6: must be query-id"),
    ],
)
def test_a_wrong_line_is_named(chat, name, bad, message):
    with (chat / name).open("a") as file:
        file.write(bad + "\n")
    with pytest.raises(ValidationError, match=message):
        measure(chat)


@pytest.mark.parametrize("docs", ['"f1"', '[["only-path"]]', '[["path", "unknown"]]'])
def test_a_wrong_scope_is_named(files, docs):
    with (files / "scopes.jsonl").open("a") as file:
        file.write(f'{{"scope": "v3", "docs": {docs}}}\n')
    with pytest.raises(ValidationError, match=r"scopes.jsonl, line 3"):
        measure(files)


def test_text_that_is_not_utf8_is_an_error(chat):
    (chat / "queries.jsonl").write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(ValidationError, match="not UTF-8"):
        measure(chat)


def test_a_set_without_questions_is_an_error(chat):
    (chat / "queries.jsonl").write_text("\n")
    with pytest.raises(ValidationError, match="holds no questions"):
        measure(chat)


def test_a_limit_below_one_is_an_error(chat):
    with pytest.raises(ValidationError, match="limit must be 1 or more"):
        measure(chat, limit=0)


def test_qrels_need_no_header(chat):
    (chat / "qrels.tsv").write_text("q1\tt1\t1\n")
    assert [question.gains for question in labelled.read(chat).questions] == [{"t1": 1.0}, {}, {}]


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


@pytest.mark.slow
def test_the_bundled_model_finds_evidence_in_a_conversation(data):
    report = evaluate(data / "locomo", limit=20)
    assert report.data["runs"]["semantic"]["R@50"] > 0.5
    assert report.data["runs"]["foreword full"]["R@50"] > 0.5
