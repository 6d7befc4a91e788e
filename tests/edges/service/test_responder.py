from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.config import Settings
from foreword.edges.hook_client import MAX_ANSWER_CHARACTERS
from foreword.edges.service import spool
from foreword.edges.service.responder import HookResponder
from foreword.engine.context_engine import ContextEngine
from foreword.errors import StorageError
from foreword.testing import HashEmbeddings
from foreword.types import Filters


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    return str(tmp_path / "shop")


@pytest.fixture
def responder(engine):
    return HookResponder(engine)


def payload(folder, name="UserPromptSubmit", **facts):
    return json.dumps({"hook_event_name": name, "session_id": "monday", "cwd": folder, **facts}).encode()


def test_an_answer_is_the_documented_json_and_nothing_else(engine, folder, clock, responder):
    engine.remember("We chose Postgres for the billing service.", folder)
    asked = payload(folder, prompt="Which database has the billing service?")
    answer = json.loads(responder.answer_and_store(asked, clock.now, None))
    assert answer.pop("systemMessage") == "Foreword: 1 recalled"
    assert set(answer) == {"hookSpecificOutput"}
    assert answer["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert "Postgres" in answer["hookSpecificOutput"]["additionalContext"]


def test_an_agent_s_own_name_for_an_event_comes_back(engine, folder, clock, responder):
    engine.remember("We chose Postgres for the billing service.", folder)
    asked = payload(folder, "BeforeAgent", prompt="Which database has the billing service?")
    answer = json.loads(responder.answer_and_store(asked, clock.now, None))
    assert answer["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"


def test_silence_is_no_bytes_at_all(folder, clock, responder):
    assert (
        responder.answer_and_store(payload(folder, prompt="Paint the bikeshed green"), clock.now, None) == b""
    )


@pytest.mark.parametrize("name", ["PostToolUse", "Stop", "PreCompact", "SessionEnd", "Notification"])
def test_events_that_only_tell_are_answered_with_nothing(folder, clock, responder, name):
    asked = payload(folder, name, last_assistant_message="I moved the importer.", tool_name="Bash")
    assert responder.answer_and_store(asked, clock.now, None) == b""


def test_a_long_answer_is_not_given(engine, folder, clock, responder, monkeypatch):
    monkeypatch.setattr("foreword.edges.service.responder.MAX_ANSWER_CHARACTERS", 100)
    engine.remember("We chose Postgres for the billing service.", folder)
    assert (
        responder.answer_and_store(payload(folder, prompt="billing service Postgres"), clock.now, None) == b""
    )


@settings(max_examples=settings().max_examples // 5)  # each stores a dozen items more
@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=3000))
def test_an_answer_stays_below_what_agents_cut(engine, folder, clock, responder, text):
    for part in range(12):
        engine.remember(f"the billing service part {part} {text}", folder)
    answer = responder.answer_and_store(payload(folder, prompt="the billing service part"), clock.now, None)
    assert len(answer.decode()) <= MAX_ANSWER_CHARACTERS


@given(st.binary(max_size=300) | st.recursive(
    st.none() | st.booleans() | st.text() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["hook_event_name", "session_id", "cwd", "prompt", "tool_name", "tool_input", "tool_response"]
    ), inner, max_size=5),
    max_leaves=8,
).map(lambda value: json.dumps(value).encode()))  # fmt: skip
def test_no_payload_is_an_error(clock, responder, given_):
    assert isinstance(responder.answer_and_store(given_, clock.now, None), bytes)


def test_an_answer_is_given_although_the_event_cannot_be_stored_and_the_event_waits(
    engine, folder, clock, responder, monkeypatch
):
    engine.remember("We chose Postgres for the billing service.", folder)
    keep = engine.remember_all

    def full(*_):
        raise StorageError("the disk is full")

    monkeypatch.setattr(engine, "remember_all", full)
    said = payload(folder, prompt="Which database has the billing service?")
    assert b"Postgres" in responder.answer_and_store(said, clock.now, None)
    with pytest.raises(StorageError):
        responder.capture(said, clock.now)
    monkeypatch.setattr(engine, "remember_all", keep)
    assert spool.drain_spool(engine.settings.home / "spool", responder.capture).stored == 1
    assert engine.count(folder).kinds["turn"] == 1


def test_what_reached_nobody_is_said_again_and_what_was_delivered_is_not(engine, folder, clock, responder):
    engine.remember("We chose Postgres for the billing service.", folder)
    said = payload(folder, prompt="Which database has the billing service?")
    for _ in range(2):
        reply = responder.answer(said, clock.now, None)
        assert b"Postgres" in reply.body
        responder.note_undelivered(reply)
    responder.note_delivered(responder.answer(said, clock.now, None))
    assert responder.answer(said, clock.now, None).body == b""


def test_a_subagent_is_told_what_its_parent_knows(engine, folder, clock, responder):
    engine.remember("The kestrel migration locks the orders table.", folder)
    doing = {"tool_name": "Bash", "tool_input": {"command": "run the kestrel migration on orders"}}
    for agent in ({}, {"agent_id": "a1"}, {"agent_id": "a2"}):
        asked = payload(folder, "PreToolUse", **doing, **agent)
        assert b"kestrel" in responder.answer_and_store(asked, clock.now, None)
        assert responder.answer_and_store(asked, clock.now, None) == b""


def test_a_captured_event_is_kept_and_not_answered(engine, folder, clock, responder):
    responder.capture(payload(folder, prompt="Use port 8081 for the mock server"), clock.now)
    responder.capture(b"not json", clock.now)
    assert engine.count(folder).kinds == {"turn": 1}


def test_a_model_that_the_user_named_words_the_summaries(home, folder, clock):
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from threading import Thread

    class Model(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps(
                {"choices": [{"message": {"content": "Done: the model's own words."}}]}
            ).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Model)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    settings = Settings(home=home, summary_url=f"http://127.0.0.1:{server.server_port}/v1", summary_model="m")
    with ContextEngine(embedding_provider=HashEmbeddings(), settings=settings, clock=clock) as engine:
        responder = HookResponder(engine)
        responder.capture(payload(folder, prompt="Move the importer to asyncio, please."), clock.now)
        responder.capture(payload(folder, "Stop", last_assistant_message="I moved it."), clock.now)
        (summary,) = engine.store.scan(folder, Filters(kinds=("summary",)))
    server.shutdown()
    thread.join(timeout=10)
    assert not thread.is_alive(), "the server still runs ten seconds after its shutdown"
    server.server_close()
    assert "the model's own words" in summary.text
