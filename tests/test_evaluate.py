"""What the metrics say, computed by hand; a small set measured from end to end; sets that are wrong."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from foreword.errors import ValidationError
from foreword.evaluate import evaluate, labelled, metrics, runs
from foreword.evaluate.metrics import Place
from foreword.testing import HashEmbeddings

# Metrics


def test_recall_is_the_share_of_relevant_documents_found():
    gains = {"a": 1.0, "b": 1.0, "z": 1.0}
    assert metrics.recall(["a", "x", "b", "y"], gains, 1) == pytest.approx(1 / 3)
    assert metrics.recall(["a", "x", "b", "y"], gains, 3) == pytest.approx(2 / 3)
    assert metrics.recall(["a", "x", "b", "y"], gains, 50) == pytest.approx(2 / 3)


@pytest.mark.parametrize("measure", [metrics.recall, metrics.ndcg, metrics.reciprocal_rank, metrics.hit])
@pytest.mark.parametrize("ranking", [[], ["x", "y"]])
def test_nothing_found_is_zero(measure, ranking):
    assert measure(ranking, {"a": 1.0}, 10) == 0.0


@pytest.mark.parametrize("measure", [metrics.recall, metrics.ndcg, metrics.reciprocal_rank, metrics.hit])
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
    assert found["hit@5"] == 1.0
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
    report = evaluate(chat, provider=HashEmbeddings())
    table = report.tables[0]
    assert table.title == "chat: 3 items, 3 queries"
    assert table.columns == ("run", *metrics.METRICS)
    assert [row[0] for row in table.rows] == ["BM25", "semantic", "RRF", "foreword"]
    for run in report.data["runs"].values():
        assert run["R@5"] == run["MRR"] == run["hit@5"] == run["T@500"] == 1.0
    assert report.data["encoder"] == "hash"


def test_questions_without_relevant_items_are_counted_and_left_out(chat):
    report = evaluate(chat, provider=HashEmbeddings())
    assert report.data["queries_without_relevant_items"] == 1
    assert "1 queries have no relevant item" in " ".join(report.tables[0].notes)
    assert [row["query"] for row in report.data["per_query"]] == ["q1", "q2"]
    assert set(report.data["per_query"][0]["runs"]["foreword"]) == set(metrics.METRICS)


def test_categories_have_a_table_of_their_own(chat):
    report = evaluate(chat, provider=HashEmbeddings())
    table = report.tables[1]
    assert table.columns[:3] == ("category", "queries", "run")
    assert [row[:3] for row in table.rows][:2] == [("multi", 1, "BM25"), ("multi", 1, "semantic")]
    assert report.data["categories"]["single"]["queries"] == 1


def test_times_are_told(chat):
    report = evaluate(chat, provider=HashEmbeddings())
    spread = report.data["milliseconds"]["search"]
    assert 0 < spread["p50"] <= spread["p95"]
    assert report.tables[-1].columns == ("part", "mean", "p50", "p95")


def test_a_report_is_plain_json(chat):
    json.dumps(evaluate(chat, provider=HashEmbeddings()).as_json(), allow_nan=False)


def test_a_limit_takes_the_first_questions_and_only_their_scopes(chat):
    report = evaluate(chat, provider=HashEmbeddings(), limit=1)
    assert report.data["queries"] == 1
    assert list(labelled.read(chat, 1).documents) == ["chat"]


def test_the_run_file_lists_every_answer_by_falling_score(chat, tmp_path):
    path = tmp_path / "answers.run"
    evaluate(chat, provider=HashEmbeddings(), run_file=path)
    rows = [line.split(" ") for line in path.read_text().splitlines()]
    assert {row[0] for row in rows} == {"q1", "q2", "q3"}
    assert rows[0][:4] == ["q1", "Q0", "t1", "1"]
    assert all(row[1] == "Q0" and row[5] == "foreword" for row in rows)
    for query in ("q1", "q2"):
        scores = [float(row[4]) for row in rows if row[0] == query]
        assert scores == sorted(set(scores), reverse=True)


def test_a_run_file_that_cannot_be_written_is_an_error(chat, tmp_path):
    with pytest.raises(ValidationError, match="cannot write the run"):
        evaluate(chat, provider=HashEmbeddings(), run_file=tmp_path / "nowhere" / "x.run")


class Counting(HashEmbeddings):
    """Counts the texts it embeds."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def embed_batch(self, texts):
        self.texts += texts
        return super().embed_batch(texts)


def test_a_home_keeps_the_vectors_for_the_next_time(chat, tmp_path):
    first, second = Counting(), Counting()
    one = evaluate(chat, provider=first, home=tmp_path / "kept")
    two = evaluate(chat, provider=second, home=tmp_path / "kept")
    assert len(first.texts) == 3
    assert second.texts == []
    assert one.data["runs"] == two.data["runs"]


def test_a_stored_set_is_an_ordinary_workspace(chat, tmp_path):
    evaluate(chat, provider=HashEmbeddings(), home=tmp_path / "kept")
    with runs.engine_in(tmp_path / "kept" / "chat", HashEmbeddings()) as engine:
        assert engine.count("chat").items == 3
        assert engine.store.check("chat") == ()


def test_a_home_that_holds_other_items_is_refused(chat, tmp_path):
    home = tmp_path / "kept"
    with runs.engine_in(home / "chat", HashEmbeddings()) as engine:
        engine.remember("A stranger.", "chat")
    with pytest.raises(ValidationError, match="1 items that are not of this set"):
        evaluate(chat, provider=HashEmbeddings(), home=home)


def test_without_an_encoder_words_are_the_only_baseline(chat, monkeypatch):
    monkeypatch.setenv("FOREWORD_EMBEDDING", "none")
    report = evaluate(chat)
    assert [row[0] for row in report.tables[0].rows] == ["BM25", "foreword"]


def test_progress_is_told_to_the_end(chat):
    told = []
    evaluate(chat, provider=HashEmbeddings(), progress=lambda *step: told.append(step))
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
    report = evaluate(folder, provider=HashEmbeddings(), run_file=path)
    assert report.data["runs"]["BM25"]["R@5"] == report.data["runs"]["BM25"]["NDCG@10"] == 1.0
    assert [line.split(" ")[2:4] for line in path.read_text().splitlines()][:2] == [["a", "1"], ["b", "2"]]


def test_a_document_without_text_is_told_and_missed(tmp_path):
    corpus = [{"id": "a", "scope": "s", "text": "Red apples."}, {"id": "b", "scope": "s", "text": " "}]
    queries = [{"id": "q", "scope": "s", "text": "apples"}]
    report = evaluate(
        _write(tmp_path / "set", corpus, queries, [("q", "a", 1), ("q", "b", 1)]), provider=HashEmbeddings()
    )
    assert report.data["empty_items"] == 1
    assert report.data["runs"]["foreword"]["R@50"] == 0.5


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
    report = evaluate(files, provider=HashEmbeddings(), run_file=tmp_path / "run")
    assert report.tables[0].title == "files: 3 items, 1 queries"
    assert report.data["runs"]["BM25"]["MRR"] == report.data["runs"]["foreword"]["R@5"] == 1.0
    # The one window that was wanted fits; the whole file would not.
    assert report.data["runs"]["BM25"]["T@1000"] == 1.0
    found = [line.split(" ")[2] for line in (tmp_path / "run").read_text().splitlines()]
    assert len(found) == len(set(found))


def test_a_part_knows_its_path_and_lines(files):
    alpha, _, short = labelled.read(files).documents["v2"]
    assert [part.metadata["lines"] for part in alpha.parts] == [[1, 40], [31, 70], [61, 100]]
    assert {part.about for part in alpha.parts} == {"lib/alpha.py"}
    assert {part.kind for part in alpha.parts} == {"code"}
    assert short.parts[0].metadata == {"path": "src/short.py", "repo": "r"}


@pytest.mark.parametrize(("lines", "spans"), [(1, [(1, 1)]), (40, [(1, 40)]), (50, [(1, 40), (31, 50)])])
def test_windows_overlap_and_none_repeats_only_what_was_said(lines, spans):
    assert [(first, last) for first, last, _ in labelled.windows(_source("x", lines))] == spans


# Sets that are wrong


def test_a_folder_that_is_not_a_set(tmp_path):
    with pytest.raises(
        ValidationError, match=r"not a labelled set: it has no corpus\.jsonl, queries\.jsonl, qrels"
    ):
        evaluate(tmp_path)
    with pytest.raises(ValidationError, match="not a labelled set"):
        evaluate(tmp_path / "nowhere")


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
        evaluate(chat, provider=HashEmbeddings())


@pytest.mark.parametrize("docs", ['"f1"', '[["only-path"]]', '[["path", "unknown"]]'])
def test_a_wrong_scope_is_named(files, docs):
    with (files / "scopes.jsonl").open("a") as file:
        file.write(f'{{"scope": "v3", "docs": {docs}}}\n')
    with pytest.raises(ValidationError, match=r"scopes.jsonl, line 3"):
        evaluate(files, provider=HashEmbeddings())


def test_text_that_is_not_utf8_is_an_error(chat):
    (chat / "queries.jsonl").write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(ValidationError, match="not UTF-8"):
        evaluate(chat)


def test_a_set_without_questions_is_an_error(chat):
    (chat / "queries.jsonl").write_text("\n")
    with pytest.raises(ValidationError, match="holds no questions"):
        evaluate(chat)


def test_a_limit_below_one_is_an_error(chat):
    with pytest.raises(ValidationError, match="limit must be 1 or more"):
        evaluate(chat, limit=0)


def test_qrels_need_no_header(chat):
    (chat / "qrels.tsv").write_text("q1\tt1\t1\n")
    assert [question.gains for question in labelled.read(chat).questions] == [{"t1": 1.0}, {}, {}]


# The real thing


@pytest.fixture
def data(monkeypatch):
    """The folder of labelled sets, which is not part of the repository."""
    beside = Path(__file__).parent.parent.parent / "shared" / "data"
    folder = Path(os.environ.get("FOREWORD_DATA") or beside)
    monkeypatch.delenv("FOREWORD_DATA", raising=False)  # it is not a setting of the engine's
    if not (folder / "locomo").is_dir():
        pytest.skip(f"no labelled data in {folder}; set FOREWORD_DATA to the folder that holds locomo")
    return folder


@pytest.mark.slow
def test_the_bundled_model_finds_evidence_in_a_conversation(data):
    report = evaluate(data / "locomo", limit=20)
    assert report.data["runs"]["semantic"]["R@50"] > 0.5
    assert report.data["runs"]["foreword"]["R@50"] > 0.5
