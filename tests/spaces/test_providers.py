"""Embedding providers: the bundled model as it is, HTTP against a real server on loopback."""

import hashlib
import json
import math
import random
import socket
import subprocess
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from foreword.errors import EmbeddingError, MissingExtra, ValidationError
from foreword.spaces import onnx, providers
from foreword.spaces.bundled import BGE, BundledEmbeddingProvider
from foreword.spaces.providers import (
    EmbeddingProvider,
    FastEmbedProvider,
    SentenceTransformersProvider,
    checked,
    digest,
    embed_query,
)
from foreword.spaces.remote import OpenAIEmbeddingProvider

KEY = "sk-very-secret-0123456789"


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)


class Plain:
    """The least a provider can be."""

    def __init__(self, model="plain", dimensions=2):
        self.model = model
        self.dimensions = dimensions

    def embed(self, text):
        return [float(len(text)), 1.0]

    def embed_batch(self, texts):
        return [self.embed(text) for text in texts]


# What every vector must be


def test_good_vectors_pass_as_lists_of_floats():
    assert checked([(1, 2.5)], 1, 2) == [[1.0, 2.5]]
    assert checked([[1.0], [2.0]], 2, None) == [[1.0], [2.0]]
    assert checked([], 0, None) == []


@pytest.mark.parametrize(
    ("vectors", "count", "dimensions"),
    [
        ([[1.0]], 2, 1),
        ([[1.0, 2.0]], 1, 3),
        ([[1.0], [1.0, 2.0]], 2, None),
        ([[]], 1, None),
        ([[math.nan]], 1, 1),
        ([[math.inf]], 1, 1),
        ([[10**400]], 1, 1),
        ([[None]], 1, 1),
        ([["one"]], 1, 1),
        ([None], 1, 1),
        (None, 1, 1),
    ],
)
def test_vectors_that_do_not_fit_are_refused(vectors, count, dimensions):
    with pytest.raises(EmbeddingError):
        checked(vectors, count, dimensions)


def test_a_plain_provider_is_asked_questions_like_anything_else():
    assert isinstance(Plain(), EmbeddingProvider)
    assert embed_query(Plain(), "abc") == [3.0, 1.0]


def test_a_question_with_a_vector_of_the_wrong_size_is_refused():
    with pytest.raises(EmbeddingError, match="2 numbers where 3"):
        embed_query(Plain(dimensions=3), "abc")


def test_a_digest_tells_encoders_apart():
    marked = Plain()
    marked.fingerprint = "other weights"
    every = [digest(Plain()), digest(Plain("other")), digest(Plain(dimensions=3)), digest(marked)]
    assert len(set(every)) == 4
    assert digest(Plain()) == every[0]
    assert all(len(name) == 19 and name.startswith("b2:") for name in every)


def test_a_digest_changes_with_the_preprocessing(monkeypatch):
    before = digest(Plain())
    monkeypatch.setattr(providers, "PREPROCESSING", providers.PREPROCESSING + 1)
    assert digest(Plain()) != before


# The bundled model


@pytest.fixture(scope="module")
def bundled():
    provider = BundledEmbeddingProvider()
    provider.load()
    return provider


def test_the_bundled_model_is_a_provider(bundled):
    assert isinstance(bundled, EmbeddingProvider)
    assert (bundled.model, bundled.dimensions) == ("bge-small-en-v1.5", 384)


def test_similar_sentences_are_closer_than_unrelated_ones(bundled):
    cat, kitten, bond = bundled.embed_batch(
        ["A cat sleeps on the sofa.", "A kitten naps on the couch.", "Bond yields rose sharply in March."]
    )
    assert cosine(cat, kitten) > cosine(cat, bond) + 0.2


def test_a_question_finds_its_answer(bundled):
    question = embed_query(bundled, "Which database do we use?")
    answer, other = bundled.embed_batch(["We keep everything in PostgreSQL.", "Lunch is at noon on Fridays."])
    assert cosine(question, answer) > cosine(question, other)
    assert question != bundled.embed("Which database do we use?")


def test_a_batch_keeps_its_order_and_agrees_with_single_texts(bundled):
    words = ["deploy", "cache", "token", "river", "python", "invoice", "garden", "signal"]
    chosen = random.Random(7)
    texts = [" ".join(chosen.choices(words, k=chosen.randrange(1, 60))) for _ in range(40)]
    for text, vector in zip(texts, bundled.embed_batch(texts), strict=True):
        assert cosine(vector, bundled.embed(text)) > 0.98


def test_vectors_have_length_one(bundled):
    for vector in bundled.embed_batch(["one", "two words", ""]):
        assert len(vector) == 384
        assert math.hypot(*vector) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("text", ["", " ", "\0", "\ud800", "🙂" * 50, "日本語のテキスト"])
def test_any_text_embeds(bundled, text):
    assert len(bundled.embed(text)) == 384
    assert len(bundled.embed_query(text)) == 384


def test_only_the_beginning_of_a_very_long_text_counts(bundled):
    words = " ".join(f"word{number}" for number in range(10_000))
    assert bundled.embed(words) == bundled.embed(words + " and more")


def test_no_texts_give_no_vectors_and_load_nothing():
    provider = BundledEmbeddingProvider()
    assert provider.embed_batch([]) == []
    assert provider._encoder is None


def test_batches_are_small_and_hold_texts_of_like_length():
    chosen = random.Random(3)
    lengths = [chosen.randrange(2, 513) for _ in range(50)] + [2] * 50 + [512] * 3
    batches = list(onnx.batches(lengths, 16, 512))
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    assert all(len(batch) <= 16 for batch in batches)
    assert all(max(lengths[at] for at in batch) * len(batch) <= 512 for batch in batches)


def test_threads_that_meet_at_the_first_use_load_once(monkeypatch):
    reads = []
    read = onnx.read
    monkeypatch.setattr(onnx, "read", lambda bundle, name: reads.append(name) or read(bundle, name))
    provider = BundledEmbeddingProvider(threads=1)
    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(provider.embed, ["the same text"] * 4))
    assert sorted(reads) == ["model.onnx", "tokenizer.json"]
    assert all(vector == vectors[0] for vector in vectors)


def test_the_fingerprint_is_that_of_the_bundled_weights():
    weights = onnx.folder(BGE.name).joinpath("model.onnx").read_bytes()
    assert BundledEmbeddingProvider.fingerprint == f"sha256:{hashlib.sha256(weights).hexdigest()}"


def test_a_missing_model_says_how_to_get_it_back(monkeypatch, tmp_path):
    monkeypatch.setattr(onnx, "folder", lambda _: tmp_path)
    with pytest.raises(EmbeddingError, match=r"tokenizer\.json.*pip install"):
        BundledEmbeddingProvider().embed("hello")


def test_a_damaged_model_is_not_used(monkeypatch, tmp_path):
    whole = onnx.folder(BGE.name)
    weights = bytearray(whole.joinpath("model.onnx").read_bytes())
    weights[len(weights) // 2] ^= 1
    (tmp_path / "model.onnx").write_bytes(weights)
    (tmp_path / "tokenizer.json").write_bytes(whole.joinpath("tokenizer.json").read_bytes())
    monkeypatch.setattr(onnx, "folder", lambda _: tmp_path)
    with pytest.raises(EmbeddingError, match=r"model\.onnx.*damaged.*pip install"):
        BundledEmbeddingProvider().load()


def test_a_graph_that_cannot_run_is_an_embedding_error():
    with pytest.raises(EmbeddingError, match="onnxruntime"):
        onnx.session(b"not a graph", 1)


def test_a_run_that_fails_is_an_embedding_error(bundled):
    with pytest.raises(EmbeddingError, match="bundled model failed"):
        onnx.run(bundled._loaded(), [[10**9]])


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
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert ran.stdout.strip() == "1"
    assert not list(tmp_path.rglob("*")), "a runtime that reports home leaves its notes here"


def test_importing_providers_loads_no_third_party():
    heavy = "{'numpy', 'onnxruntime', 'tokenizers', 'urllib.request'}"
    modules = "foreword.spaces.providers, foreword.spaces.bundled, foreword.spaces.remote"
    code = f"import sys, {modules}; print(sorted({heavy} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


# Over HTTP


class Server(ThreadingHTTPServer):
    """Answers with what it is told to, in order; the last answer stays."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = []
        self.requests = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        answers = self.server.answers
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        status, headers, content = answer(body) if callable(answer) else answer
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Say nothing."""


def vectors(body):
    """Each text's length, and a constant, in reverse order."""
    data = [{"index": at, "embedding": [float(len(text)), 1.0]} for at, text in enumerate(body["input"])]
    return 200, {}, json.dumps({"data": data[::-1]}).encode()


def raw(content, status=200, **headers):
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, content


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def remote(server, pauses):
    return OpenAIEmbeddingProvider(KEY, "tiny", server.url, timeout=5, sleep=pauses.append)


def test_answers_out_of_order_are_put_in_order(server, remote):
    server.answers = [vectors]
    assert remote.embed_batch(["a", "bbb", "cc"]) == [[1.0, 1.0], [3.0, 1.0], [2.0, 1.0]]
    path, headers, body = server.requests[0]
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {"model": "tiny", "input": ["a", "bbb", "cc"]}


def test_no_key_sends_no_key(server):
    server.answers = [vectors]
    OpenAIEmbeddingProvider(model="tiny", base_url=server.url + "/").embed("a")
    path, headers, _ = server.requests[0]
    assert path == "/v1/embeddings"
    assert "Authorization" not in headers


def test_many_texts_take_several_requests(server):
    server.answers = [vectors]
    provider = OpenAIEmbeddingProvider(KEY, "tiny", server.url, batch=2)
    assert [first for first, _ in provider.embed_batch(["a", "bb", "ccc", "dddd", "eeeee"])] == [
        1,
        2,
        3,
        4,
        5,
    ]
    assert [len(body["input"]) for _, _, body in server.requests] == [2, 2, 1]
    assert provider.embed_batch([]) == []
    assert len(server.requests) == 3


def test_an_empty_text_is_sent_as_a_blank(server, remote):
    server.answers = [vectors]
    remote.embed("")
    assert server.requests[0][2]["input"] == [" "]


def test_known_models_know_their_dimensions_without_asking():
    assert OpenAIEmbeddingProvider().dimensions == 1536
    assert OpenAIEmbeddingProvider(model="text-embedding-3-large").dimensions == 3072
    assert OpenAIEmbeddingProvider(model="text-embedding-ada-002").dimensions == 1536


def test_an_unknown_model_learns_its_dimensions_from_the_first_answer(server, remote):
    server.answers = [vectors]
    assert (remote.dimensions, remote.dimensions) == (2, 2)
    assert len(server.requests) == 1
    assert isinstance(remote, EmbeddingProvider)
    server.answers = [raw(b'{"data": [{"index": 0, "embedding": [1, 2, 3]}]}')]
    with pytest.raises(EmbeddingError, match="3 numbers where 2"):
        remote.embed("a")


def test_wanted_dimensions_are_asked_for_and_insisted_on(server):
    server.answers = [vectors]
    assert OpenAIEmbeddingProvider(KEY, "tiny", server.url, dimensions=2).embed("a") == [1.0, 1.0]
    assert server.requests[0][2]["dimensions"] == 2
    with pytest.raises(EmbeddingError, match="2 numbers where 8"):
        OpenAIEmbeddingProvider(KEY, "tiny", server.url, dimensions=8).embed("a")


def test_a_busy_endpoint_is_asked_again_when_it_says(server, remote, pauses):
    server.answers = [raw(b"slow down", 429, Retry_After="3"), vectors]
    assert remote.embed("a") == [1.0, 1.0]
    assert pauses == [3.0]


@pytest.mark.parametrize(("said", "pause"), [("9999", 10.0), ("-4", 0.0), ("soon", 0.5), ("nan", 10.0)])
def test_no_endpoint_makes_us_wait_for_long(server, remote, pauses, said, pause):
    server.answers = [raw(b"", 503, Retry_After=said), vectors]
    remote.embed("a")
    assert pauses == [pause]


def test_an_endpoint_that_stays_broken_is_given_up_after_three_tries(server, remote, pauses):
    server.answers = [raw(b"the backend is down", 500)]
    with pytest.raises(EmbeddingError, match=r"500.*the backend is down.*tried 3 times"):
        remote.embed("a")
    assert len(server.requests) == 3
    assert pauses == [0.5, 1.0]


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_final_and_never_shows_the_key(server, remote, pauses, status):
    server.answers = [raw(f"bad key: {KEY}".encode(), status)]
    with pytest.raises(EmbeddingError, match=str(status)) as caught:
        remote.embed("a")
    assert len(server.requests) == 1
    assert pauses == []
    assert KEY not in f"{caught.value} {caught.value!r} {remote!r}"


def test_a_redirect_is_not_followed(server, remote):
    server.answers = [raw(b"", 302, Location=server.url + "/elsewhere")]
    with pytest.raises(EmbeddingError, match="redirects"):
        remote.embed("a")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"<html>not json</html>",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"data": null}',
        b'{"data": {"index": 0}}',
        b'{"data": ["x"]}',
        b'{"data": [{"index": 0}]}',
        b'{"data": [{"index": 1, "embedding": [1, 2]}]}',
        b'{"data": [{"index": Infinity, "embedding": [1, 2]}]}',
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [2]}]}',
        b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}',
        b'{"data": [{"index": 0, "embedding": [1e999, 1]}]}',
        b'{"data": [{"index": 0, "embedding": "AAAA"}]}',
        b'{"data": [{"index": 0, "embedding": ["' + KEY.encode() + b'"]}]}',
        b"[" * 100_000,
    ],
)
def test_an_answer_that_makes_no_sense_is_refused(server, remote, content):
    server.answers = [raw(content)]
    with pytest.raises(EmbeddingError) as caught:
        remote.embed("a")
    assert KEY not in str(caught.value)


def test_an_answer_cut_short_is_asked_for_again(server, remote, pauses):
    server.answers = [raw(b"{", Content_Length="100"), vectors]
    assert remote.embed("a") == [1.0, 1.0]
    assert pauses == [0.5]


def test_nobody_listening_is_said_plainly(monkeypatch, pauses):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        provider = OpenAIEmbeddingProvider(KEY, "tiny", url, sleep=pauses.append)
        with pytest.raises(EmbeddingError, match=r"no answer from http.*reachable.*3 times") as caught:
            provider.embed("a")
    assert KEY not in str(caught.value)
    assert len(pauses) == 2


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.com",
        "example.com/v1",
        "",
        "http://",
        "http://[",
        "http://a b/v1",
        "http://a\n/v1",
        "http://localhost:99999/v1",
        "http://user:hunter2@localhost/v1",
        "http://localhost/v1?key=hunter2",
    ],
)
def test_only_plain_web_addresses_are_accepted(url):
    with pytest.raises(ValidationError, match="base_url") as caught:
        OpenAIEmbeddingProvider(KEY, base_url=url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("key", ["", KEY + "\n", f"{KEY} x", KEY + "é"])
def test_a_key_no_header_can_carry_is_refused_without_showing_it(key):
    with pytest.raises(ValidationError, match="api_key") as caught:
        OpenAIEmbeddingProvider(key)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"timeout": 0}, {"dimensions": 0}])
def test_nonsense_settings_are_refused(wrong):
    with pytest.raises(ValidationError, match="above 0"):
        OpenAIEmbeddingProvider(**wrong)


# Packages the user may have


@pytest.mark.parametrize(
    ("provider", "module", "extra"),
    [
        (SentenceTransformersProvider, "sentence_transformers", "sentence-transformers"),
        (FastEmbedProvider, "fastembed", "fastembed"),
    ],
)
def test_a_missing_package_names_its_pip_line(monkeypatch, provider, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"pip install 'foreword\[{extra}\]'"):
        provider("some/model")


class FakeSentenceTransformer:
    prompts = {"query": "query: ", "document": ""}  # noqa: RUF012

    def __init__(self, name):
        if name == "absent":
            raise OSError("no such model")

    def encode(self, texts, prompt, normalize_embeddings, show_progress_bar):
        if texts == ["break"]:
            raise RuntimeError("out of memory")
        return [[float(len((prompt or "") + text)), 1.0] for text in texts]


class FakeTextEmbedding:
    def __init__(self, model_name):
        if model_name == "absent":
            raise ValueError("no such model")

    def passage_embed(self, texts):
        for text in texts:
            if text == "break":
                raise RuntimeError("out of memory")
            yield (float(len(text)), 1.0)

    def query_embed(self, texts):
        return ((float(len("query: " + text)), 1.0) for text in texts)


@pytest.fixture(params=[SentenceTransformersProvider, FastEmbedProvider])
def foreign(request, monkeypatch):
    fakes = {"sentence_transformers": FakeSentenceTransformer, "fastembed": FakeTextEmbedding}
    names = {"sentence_transformers": "SentenceTransformer", "fastembed": "TextEmbedding"}
    for module, fake in fakes.items():
        stand_in = types.ModuleType(module)
        setattr(stand_in, names[module], fake)
        monkeypatch.setitem(sys.modules, module, stand_in)
    return request.param


def test_a_foreign_model_gives_vectors_and_asks_questions_its_own_way(foreign):
    provider = foreign("some/model")
    assert isinstance(provider, EmbeddingProvider)
    assert (provider.model, provider.dimensions) == ("some/model", 2)
    assert provider.embed_batch(["a", "bbb"]) == [[1.0, 1.0], [3.0, 1.0]]
    assert provider.embed_batch([]) == []
    assert provider.embed("aa") == [2.0, 1.0]
    assert embed_query(provider, "aa") == [9.0, 1.0]


def test_a_foreign_model_that_cannot_be_loaded_is_an_embedding_error(foreign):
    with pytest.raises(EmbeddingError, match=r"absent.*no such model"):
        foreign("absent")


def test_a_foreign_model_that_fails_is_an_embedding_error(foreign):
    with pytest.raises(EmbeddingError, match="out of memory"):
        foreign("some/model").embed("break")
