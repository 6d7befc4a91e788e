"""Models over HTTP, against a real server on loopback."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from foreword.errors import ContextError, EmbeddingError, ValidationError
from foreword.spaces.providers import EmbeddingProvider
from foreword.spaces.remote import OpenAIEmbeddingProvider, RemoteModel

KEY = "sk-very-secret-0123456789"


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
    thread.join(timeout=10)
    assert not thread.is_alive(), "the server did not stop"
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


# Any model


def test_a_model_is_posted_json_and_gives_the_json_of_its_answer(server):
    server.answers = [raw(b'{"said": "yes"}')]
    assert RemoteModel(server.url, KEY).post_json("/chat/completions", {"model": "tiny"}) == {"said": "yes"}
    path, headers, body = server.requests[0]
    assert (path, body) == ("/v1/chat/completions", {"model": "tiny"})
    assert headers["Authorization"] == f"Bearer {KEY}"


def test_a_model_that_may_be_asked_once_is_asked_once(server, pauses):
    server.answers = [raw(b"down", 503)]
    model = RemoteModel(server.url, KEY, tries=1, sleep=pauses.append)
    with pytest.raises(ContextError, match="503") as caught:
        model.post_json("/x", {})
    assert (len(server.requests), pauses) == (1, [])
    assert "tried" not in str(caught.value)


def test_errors_call_the_address_and_the_key_as_the_caller_does(server):
    names = {"address": "the summary endpoint", "key_name": "the key"}
    with pytest.raises(ValidationError, match="the summary endpoint must be"):
        RemoteModel("ftp://x", None, **names)
    with pytest.raises(ValidationError, match="the key is empty"):
        RemoteModel(server.url, "", **names)
    server.answers = [raw(b"<html>")]
    with pytest.raises(ContextError, match="check that the summary endpoint is an OpenAI-compatible API"):
        RemoteModel(server.url, None, **names).post_json("/x", {})


def test_no_time_at_all_is_refused(server):
    with pytest.raises(ValidationError, match="timeout"):
        RemoteModel(server.url, None, 0.0)
