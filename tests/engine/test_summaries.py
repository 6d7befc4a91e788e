"""The summariser that the settings name, against a real server on loopback."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from foreword.config import Settings
from foreword.engine.defaults import choose_summarizer, make_chat_summariser
from foreword.errors import ContextError, ValidationError
from foreword.knowledge.dialogue_summary import ExtractiveSummarizer
from foreword.knowledge.remote_summary import RemoteDialogueSummarizer
from foreword.testing import WordTokens
from foreword.types import Item, Turn

KEY = "local-test-key"
TURNS = [Item("Cap the retries.", "w", kind="turn", about="user")]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        status, content = self.server.answer
        if status is None:  # hang up in the middle
            return
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if status == 302:
            self.send_header("Location", "http://127.0.0.1:9/")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.answer, server.requests = (200, b'{"choices": [{"message": {"content": "Fine."}}]}'), []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join(timeout=10)
        assert not thread.is_alive(), "the server still runs ten seconds after its shutdown"


@pytest.fixture
def settings(server):
    url = f"http://127.0.0.1:{server.server_port}/v1/"
    return Settings(summary_url=url, summary_key=KEY, summary_model="small-model")


def test_the_model_is_asked_at_the_address_with_the_key(server, settings):
    assert make_chat_summariser(settings).summarise(TURNS, 50) == "Fine."
    path, headers, body = server.requests[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body["model"] == "small-model"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((401, b"bad key local-test-key"), "answered 401"),
        ((500, b"oops"), "answered 500"),
        ((302, b""), "answered 302"),
        ((200, b"not json"), "not JSON.*the summary endpoint"),
        ((200, b'{"choices": []}'), "not a chat completion"),
        ((None, b""), "no answer"),
    ],
)
def test_whatever_goes_wrong_is_one_error_after_one_try_that_never_tells_the_key(
    server, settings, answer, message
):
    server.answer = answer
    with pytest.raises(ContextError, match=message) as caught:
        make_chat_summariser(settings).summarise(TURNS)
    assert KEY not in str(caught.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("url", "key", "model", "message"),
    [
        ("ftp://x/v1", "", "m", "the summary endpoint must be"),
        ("http://a:b@x/v1", "", "m", "the summary endpoint must not"),
        ("http://x/v1", "two words", "m", "the key is empty"),
        ("http://x/v1", "", "", "a model's name"),
    ],
)
def test_wrong_settings_are_refused_at_once(url, key, model, message):
    with pytest.raises(ValidationError, match=message):
        make_chat_summariser(Settings(summary_url=url, summary_key=key, summary_model=model))


def test_the_settings_choose_who_summarises(settings, server):
    assert make_chat_summariser(Settings()) is None
    assert isinstance(choose_summarizer(Settings(), WordTokens()), ExtractiveSummarizer)
    assert isinstance(choose_summarizer(settings, WordTokens()), RemoteDialogueSummarizer)


def test_a_conversation_is_told_by_the_model_that_the_settings_name_and_by_itself_until_then(
    settings, server
):
    remote = RemoteDialogueSummarizer(make_chat_summariser(settings), WordTokens(), run=lambda job: job())
    said = [Turn("Cap the retries at five.", name="Ann")]
    own_words = "Decided: Ann: Cap the retries at five."
    assert remote.summarize(said, 30) == own_words
    assert remote.summarize(said, 30) == "Fine."
    server.answer = (500, b"")
    said = [Turn("Cap the retries at six.", name="Ann")]
    assert remote.summarize(said, 30) == remote.summarize(said, 30) == own_words.replace("five", "six")


def test_an_engine_gives_every_conversation_a_summarizer_of_its_own(engine):
    one, other = engine.dialogue_summarizer(), engine.dialogue_summarizer()
    assert isinstance(one, ExtractiveSummarizer)
    assert one is not other
