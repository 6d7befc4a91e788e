"""The bundled models as they are."""

from __future__ import annotations

import hashlib
import math
import random
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from foreword.errors import EmbeddingError, ValidationError
from foreword.spaces import bundled
from foreword.spaces.bundled import (
    BGE,
    MINILM,
    WORDPIECE,
    BundledEmbeddingProvider,
    BundledReranker,
    start_inference_session,
)
from foreword.spaces.providers import EmbeddingProvider, embed_query
from foreword.spaces.reader import READER, BundledReader
from foreword.spaces.tokens import COLBERT


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)


# The encoder


@pytest.fixture(scope="module")
def bundled_provider():
    provider = BundledEmbeddingProvider()
    provider.load()
    return provider


def test_the_bundled_model_is_a_provider(bundled_provider):
    assert isinstance(bundled_provider, EmbeddingProvider)
    assert (bundled_provider.model, bundled_provider.dimensions) == ("bge-small-en-v1.5", 384)


def test_similar_sentences_are_closer_than_unrelated_ones(bundled_provider):
    cat, kitten, bond = bundled_provider.embed_batch(
        ["A cat sleeps on the sofa.", "A kitten naps on the couch.", "Bond yields rose sharply in March."]
    )
    assert cosine(cat, kitten) > cosine(cat, bond) + 0.2


def test_a_question_finds_its_answer(bundled_provider):
    question = embed_query(bundled_provider, "Which database do we use?")
    answer, other = bundled_provider.embed_batch(
        ["We keep everything in PostgreSQL.", "Lunch is at noon on Fridays."]
    )
    assert cosine(question, answer) > cosine(question, other)
    assert question != bundled_provider.embed("Which database do we use?")


def test_a_batch_keeps_its_order_and_agrees_with_single_texts(bundled_provider):
    words = ["deploy", "cache", "token", "river", "python", "invoice", "garden", "signal"]
    chosen = random.Random(7)
    texts = [" ".join(chosen.choices(words, k=chosen.randrange(1, 60))) for _ in range(40)]
    for text, vector in zip(texts, bundled_provider.embed_batch(texts), strict=True):
        assert cosine(vector, bundled_provider.embed(text)) > 0.98


def test_vectors_have_length_one(bundled_provider):
    for vector in bundled_provider.embed_batch(["one", "two words", ""]):
        assert len(vector) == 384
        assert math.hypot(*vector) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("text", ["", " ", "\0", "\ud800", "🙂" * 50, "日本語のテキスト"])
def test_any_text_embeds(bundled_provider, text):
    assert len(bundled_provider.embed(text)) == 384
    assert len(bundled_provider.embed_query(text)) == 384


def test_only_the_beginning_of_a_very_long_text_counts(bundled_provider):
    words = " ".join(f"word{number}" for number in range(10_000))
    assert bundled_provider.embed(words) == bundled_provider.embed(words + " and more")


def test_no_texts_give_no_vectors_and_load_nothing():
    provider = BundledEmbeddingProvider()
    assert provider.embed_batch([]) == []
    assert provider._model is None


def test_batches_are_small_and_hold_texts_of_like_length():
    chosen = random.Random(3)
    lengths = [chosen.randrange(2, 513) for _ in range(50)] + [2] * 50 + [512] * 3
    batches = list(bundled.group_by_length(lengths, 16, 512))
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    assert all(len(batch) <= 16 for batch in batches)
    assert all(max(lengths[at] for at in batch) * len(batch) <= 512 for batch in batches)


def test_batches_beside_each_other_give_what_they_give_one_by_one(bundled_provider):
    texts = [" ".join(["deploy the cache"] * (1 + number % 40)) for number in range(60)]
    model = bundled_provider.load()
    tokens = [model.tokenizer.encode(text).ids for text in texts]

    def first_numbers(threads):
        found = {}

        def keep(batch, states):
            found.update(zip(batch, states[:, 0].tolist(), strict=True))

        bundled.run_in_batches_by_length(model, tokens, threads, keep)
        return [found[at] for at in range(len(texts))]

    assert first_numbers(4) == first_numbers(1)


def test_a_batch_that_fails_fails_them_all(bundled_provider):
    unknown = [[10**9]] * 100
    with pytest.raises(EmbeddingError, match="the bundled model failed"):
        bundled.run_in_batches_by_length(bundled_provider.load(), unknown, 4, lambda *_: None)


def test_threads_that_meet_at_the_first_use_load_once(monkeypatch):
    reads = []
    read = bundled.map_model_file
    monkeypatch.setattr(
        bundled, "map_model_file", lambda model, name: reads.append(name) or read(model, name)
    )
    provider = BundledEmbeddingProvider(threads=1)
    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(provider.embed, ["the same text"] * 4, timeout=120))
    assert sorted(set(reads) - {"tokenizer.json"}) == ["graph.onnx", "model.onnx"]
    assert len(set(reads)) == len(reads)
    assert all(vector == vectors[0] for vector in vectors)


def test_the_fingerprint_is_that_of_the_bundled_weights():
    weights = bundled.model_folder(BGE.name).joinpath("model.onnx").read_bytes()
    assert BundledEmbeddingProvider.fingerprint == f"sha256:{hashlib.sha256(weights).hexdigest()}"


def test_a_missing_model_says_how_to_get_it_back(monkeypatch, tmp_path):
    monkeypatch.setattr(bundled, "model_folder", lambda _: tmp_path)
    with pytest.raises(EmbeddingError, match=r"graph\.onnx.*pip install"):
        BundledEmbeddingProvider().embed("hello")


def flip_a_bit(content):
    changed = bytearray(content)
    changed[len(changed) // 2] ^= 1
    return bytes(changed)


@pytest.mark.parametrize("name", ["graph.onnx", "model.onnx", "tokenizer.json"])
@pytest.mark.parametrize(
    "harm", [flip_a_bit, lambda content: content[:5000], lambda _: b""], ids=["flipped", "cut", "emptied"]
)
def test_a_damaged_model_is_not_used(monkeypatch, tmp_path, name, harm):
    folder = tmp_path / BGE.name
    for part in (BGE, WORDPIECE):
        shutil.copytree(bundled.model_folder(part.name), folder, dirs_exist_ok=True)
    (folder / name).chmod(0o644)
    (folder / name).write_bytes(harm((folder / name).read_bytes()))
    monkeypatch.setattr(bundled, "model_folder", lambda _: folder)
    monkeypatch.setattr(
        bundled, "start_inference_session", start_inference_session
    )  # not one that another test has started
    monkeypatch.setattr(bundled, "_load_tokenizer", bundled._load_tokenizer.__wrapped__)
    with pytest.raises(EmbeddingError, match=rf"{name}.*(damaged|cannot read|empty).*pip install"):
        BundledEmbeddingProvider().load()


def test_a_graph_that_cannot_run_is_an_embedding_error(tmp_path):
    (tmp_path / "graph.onnx").write_bytes(b"not a graph")
    with pytest.raises(EmbeddingError, match="onnxruntime"):
        bundled.start_inference_session(tmp_path / "graph.onnx", 1)


@pytest.mark.parametrize("model", [BGE, MINILM, READER, COLBERT], ids=lambda model: model.name)
def test_a_graph_gives_the_same_numbers_as_the_model_that_it_was_made_of(model):
    """If this fails, run tools/fuse_graphs.py: a graph says where in model.onnx its weights are."""
    folder = bundled.model_folder(model.name)
    ids = np.array([[101, 2129, 2146, 2003, 1037, 2835, 102], [101, 2702, 2781, 102, 0, 0, 0]])
    mask = np.minimum(ids, 1)
    known = {
        "input_ids": ids,
        "attention_mask": mask,
        "token_type_ids": ids * 0,
        "question": ids[0, 1:],
        "statements": ids,
        "mask": mask,
        "most": np.array([2]),
        "requests": np.array(False),
    }
    fused, plain = (start_inference_session(folder / name, 1) for name in (bundled.GRAPH, bundled.WEIGHTS))
    inputs = {one.name: known[one.name] for one in plain.get_inputs()}
    assert np.array_equal(fused.run(None, inputs)[0], plain.run(None, inputs)[0])


def test_a_run_that_fails_is_an_embedding_error(bundled_provider):
    with pytest.raises(EmbeddingError, match="bundled model failed"):
        bundled.run_batch(bundled_provider.load(), [[10**9]])


@pytest.mark.parametrize(
    ("described", "exactly"),
    [
        ("model name\t: one\nflags\t\t: fpu avx2 avx512f avx512_vnni\nbugs\t: x", True),
        ("flags\t\t: fpu avx2 avx_vnni", True),
        ("model name\t: avx_vnni\nflags\t\t: fpu avx2 avx512f", False),
        ("Features\t: fp asimd", False),
        ("", False),
    ],
)
def test_a_processor_adds_exactly_if_it_has_instructions_for_it(described, exactly):
    assert bundled.has_exact_int8_sums(described) is exactly


def test_sums_are_asked_to_be_exact_unless_the_processor_adds_exactly(monkeypatch):
    asked = []
    monkeypatch.setattr(bundled, "has_exact_int8_sums", lambda _: "exact" in asked)
    runtime = bundled._import_onnxruntime()

    class Options(runtime.SessionOptions):
        def add_session_config_entry(self, name, value):
            asked.append(name)
            super().add_session_config_entry(name, value)

    monkeypatch.setattr(runtime, "SessionOptions", Options)
    graph = bundled.model_folder(MINILM.name) / bundled.GRAPH
    start_inference_session(graph, 1)
    assert "session.x64quantprecision" in asked
    asked[:] = ["exact"]
    start_inference_session(graph, 1)
    assert "session.x64quantprecision" not in asked


def test_a_processor_that_adds_exactly_gives_the_same_logits_unasked(monkeypatch):
    if not bundled.has_exact_int8_sums(bundled._describe_processors()):
        pytest.skip("this processor does not add exactly")
    monkeypatch.setattr(
        bundled, "start_inference_session", start_inference_session
    )  # not one that another test has started
    pair = ("Which database do we use?", ["We keep everything in PostgreSQL.", "Lunch is at noon."])
    unasked = BundledReader(threads=1).scores(*pair)
    monkeypatch.setattr(bundled, "has_exact_int8_sums", lambda _: False)
    assert BundledReader(threads=1).scores(*pair) == unasked


def test_no_threads_is_refused():
    with pytest.raises(ValidationError, match="threads"):
        BundledEmbeddingProvider(threads=0)


def test_the_runtime_is_told_to_stay_silent_before_it_is_imported(tmp_path):
    code = (
        "import os; from foreword.spaces.bundled import BundledEmbeddingProvider;"
        "BundledEmbeddingProvider().embed('hello'); print(os.environ['ORT_DISABLE_TELEMETRY'])"
    )
    environment = {"TMPDIR": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, timeout=120
    )
    assert ran.stdout.strip() == "1"
    assert not list(tmp_path.rglob("*")), "a runtime that reports home leaves its notes here"


# The cross-encoder


@pytest.fixture(scope="module")
def reranker():
    return BundledReranker()


def test_an_answer_scores_above_a_stranger(reranker):
    answer, stranger = reranker.scores(
        "When does the museum open on Sundays?",
        ["On Sundays the doors open at eleven.", "The deadlock came from locking rows in opposite order."],
    )
    assert answer > 0 > stranger


def test_the_order_of_the_texts_is_kept_whatever_their_lengths(reranker):
    texts = ["short", "a much longer text " * 30, "We open at eleven on Sundays.", "x"] * 5
    scores = reranker.scores("When do you open on Sundays?", texts)
    assert len(scores) == 20
    assert max(range(20), key=scores.__getitem__) % 4 == 2


def test_the_batch_that_takes_longest_goes_first(reranker):
    batches = reranker._plan_batches_for_deadline([20] * 12 + [120] * 4, None)
    sizes = [tokens for _, tokens in batches]
    assert len(sizes) > 2
    assert sizes == sorted(sizes, reverse=True)


def test_no_texts_no_scores(reranker):
    assert reranker.scores("anything", []) == []


def test_a_pair_that_was_read_before_is_not_read_again(monkeypatch):
    reranker, runs = BundledReranker(), []
    run = bundled.run_batch
    monkeypatch.setattr(bundled, "run_batch", lambda *given: runs.append(1) or run(*given))
    first = reranker.scores("why", ["because"])
    assert reranker.scores("why", ["because"]) == first
    assert len(runs) == 5, "one to warm up, three to see the pace, one to read"


def test_time_that_is_up_leaves_what_was_read_in_time():
    class Clock:
        now = 0.0

        def __call__(self):
            self.now += 0.05
            return self.now

    clock = Clock()
    reranker = BundledReranker(clock=clock)
    reranker.load()
    texts = [f"text number {number}" for number in range(64)]
    read = reranker.scores("which", texts, expires=clock.now + 0.45)
    assert 0 < len(read) < 64
    assert len(read) % bundled.BATCH_PAIRS == 0
    assert reranker.scores("another", texts, expires=clock.now - 1) == []


def test_a_moment_in_which_the_machine_stood_still_does_not_keep_texts_from_being_read():
    class Clock:
        now, step = 0.0, 0.001

        def __call__(self):
            self.now += self.step
            return self.now

    clock = Clock()
    reranker = BundledReranker(clock=clock)
    reranker.load()
    clock.step = 60.0
    assert reranker.scores("which", ["a text that takes a minute"])
    clock.step = 0.001
    read = [reranker.scores(f"which {n}", ["one text"], expires=clock.now + 0.2) for n in range(20)]
    assert read[0] == [], "at first there seems to be no time"
    assert read[-1] != []


@pytest.mark.parametrize("model", [MINILM, READER, WORDPIECE], ids=lambda model: model.name)
def test_the_files_of_a_model_are_the_ones_that_were_bundled(model):
    for name, digest in model.sha256.items():
        data = bundled.model_folder(model.name).joinpath(name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest


# The reader


@pytest.fixture(scope="module")
def reader():
    return BundledReader()


def test_a_statement_that_helps_scores_above_one_that_does_not(reader):
    helps, in_other_words, does_not = reader.scores(
        "Where do I put credentials?",
        [
            "user, 3 days ago: Credentials are put in AWS Secrets Manager.",
            "user, 3 days ago: Secrets live in AWS Secrets Manager.",
            "user, 3 days ago: The cat sat on the mat.",
        ],
    )
    assert helps > does_not + 5
    assert in_other_words > does_not


@pytest.mark.parametrize(
    ("count", "sizes"), [(1, [1]), (5, [2, 3]), (8, [4, 4]), (13, [6, 7]), (25, [1, 12, 12])]
)
def test_few_statements_are_read_in_two_batches_of_the_same_size(count, sizes, monkeypatch):
    reader, read = BundledReader(threads=1), []
    reader.load()
    run = bundled.run_loaded_model

    def note(loaded, inputs, *output):
        read.append(len(inputs["statements"]))
        return run(loaded, inputs, *output)

    monkeypatch.setattr("foreword.spaces.reader.run_loaded_model", note)
    reader.scores("Which port?", [f"user, today: {'port ' * (number + 1)}" for number in range(count)])
    assert sorted(read) == sizes


def test_a_sentence_that_was_read_in_its_passage_is_not_read_again(reader, monkeypatch):
    passage = "The import runs. Nobody says which currency the prices are in. It is fast."
    runs = []
    run = bundled.run_loaded_model
    reader.load()  # measures its pace with some runs of its own
    monkeypatch.setattr(
        "foreword.spaces.reader.run_loaded_model", lambda *given: runs.append(1) or run(*given)
    )
    asking, calm = "Nobody says which currency the prices are in.", "It is fast."
    first = reader.request_logits(passage, [asking, calm])
    assert first[0] > first[1]
    assert reader.request_logits(passage, [calm, asking]) == first[::-1]
    assert len(runs) == 1
    reader.request_logits("It is fast.", [calm])  # in another passage it may mean something else
    assert len(runs) == 2


def test_a_statement_that_makes_another_untrue_is_told_from_one_that_does_not(reader):
    said = "user, 9 days ago: We deploy to staging with Jenkins."
    replaces, adds, strange = reader.replacement_chances(
        [
            ("user, today: We no longer use Jenkins, deploys run in GitHub Actions.", said),
            ("user, today: Jenkins sends its mails to Ana.", said),
            ("user, today: Lunch is at noon.", said),
        ]
    )
    assert replaces > 0.5 > 0.3 > max(adds, strange)
    assert reader.replacement_chances([]) == []


def test_all_are_scored_as_each_alone_whatever_their_lengths(reader):
    texts = [f"user, today: {'port 4000 ' * length}" for length in (30, 1, 12, 3, 20, 2, 9, 5, 14)]
    together = reader.scores("Which port?", texts)
    alone = [BundledReader().scores("Which port?", [text])[0] for text in texts[:3]]
    assert together[:3] == pytest.approx(alone, abs=0.5)  # int8 drifts a little with its padding


class SlowStart:
    """Stands in for `load_model`, and loads only when it is told to."""

    def __init__(self, load):
        self._load, self.loads = load, 0
        self.begun, self.may_go_on = threading.Event(), threading.Event()

    def __call__(self, *given):
        self.loads += 1
        self.begun.set()
        assert self.may_go_on.wait(120)
        return self._load(*given)


def test_a_deadline_binds_from_a_cold_start(monkeypatch):
    slow = SlowStart(bundled.load_model)
    monkeypatch.setattr(bundled, "load_model", slow)
    reader = BundledReader(clock=lambda: 100.0)
    assert reader.scores("why", ["because"], expires=99.0) == []
    assert slow.begun.wait(120), "what was begun for this question is there for the next"
    assert reader.scores("why", ["because"], expires=99.0) == []
    slow.may_go_on.set()
    assert len(reader.scores("why", ["because"])) == 1
    assert len(reader.scores("why", ["because", "therefore"], expires=200.0)) == 2
    assert slow.loads == 1


def test_a_model_that_cannot_be_loaded_says_so_before_the_deadline_too(monkeypatch, tmp_path):
    monkeypatch.setattr(bundled, "model_folder", lambda _: tmp_path)
    reader = BundledReader(clock=lambda: 0.0)
    with pytest.raises(EmbeddingError, match=r"foreword-reader.*pip install"):
        reader.scores("why", ["because"], expires=120.0)
