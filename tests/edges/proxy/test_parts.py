"""The parts of the proxy alone: answers in pieces, windows, addresses, headers."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.edges.proxy.answers import make_answer_reader
from foreword.edges.proxy.apis import ANTHROPIC, CHAT, RESPONSES, find_api
from foreword.edges.proxy.upstream import Upstream, make_answer_headers, select_request_headers
from foreword.edges.proxy.window import DEFAULT_WINDOW, find_model_window, room_for_context
from foreword.testing import WordTokens
from foreword.types import Turn

STREAM = {"content-type": "text/event-stream; charset=utf-8"}


def events(*values, end="\n\n"):
    return "".join(f"data: {json.dumps(value, ensure_ascii=False)}{end}" for value in values).encode()


def chat(text, reason=None):
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]}


def read(api, headers, pieces):
    """What a reader has after these pieces, and how often it said that the answer has ended."""
    reader = make_answer_reader(api, headers)
    ended = sum(reader.feed(piece) for piece in pieces)
    return [(turn.role, turn.text) for turn in reader.turns()], ended


# Answers -------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 400), max_size=12), st.sampled_from(["\n\n", "\r\n\r\n"]))
def test_a_stream_says_the_same_however_it_is_cut(cuts, end):
    whole = b": a comment" + end.encode()
    whole += events(chat("Grüße "), chat("🍰 plum"), chat("", "stop"), end=end) + b"data: [DONE]\n\n"
    places = [0, *sorted({min(cut, len(whole)) for cut in cuts}), len(whole)]
    pieces = [whole[start:stop] for start, stop in pairwise(places) if start < stop]
    assert read(CHAT, STREAM, pieces) == ([("assistant", "Grüße 🍰 plum")], 1)


def test_a_stream_that_only_stops_has_not_ended():
    assert read(CHAT, STREAM, [events(chat("Half an ")), b""]) == ([], 0)


def test_only_the_first_of_several_answers_counts():
    other = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]}
    assert read(CHAT, STREAM, [events(chat("yes"), other, chat("", "stop"))])[0] == [("assistant", "yes")]


def test_tools_of_anthropic_are_put_together():
    start = {"type": "tool_use", "id": "t1", "name": "stock", "input": {}}
    stream = events(
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I look."}},
        {"type": "content_block_start", "index": 1, "content_block": start},
        {"type": "content_block_delta", "index": 1, "delta": {"partial_json": '{"cake":'}},
        {"type": "content_block_delta", "index": 1, "delta": {"partial_json": ' "plum"}'}},
        {"type": "message_stop"},
    )
    reader = make_answer_reader(ANTHROPIC, STREAM)
    assert reader.feed(stream)
    (turn,) = reader.turns()
    assert turn.text == "I look."
    assert turn.tool_calls[0]["function"]["arguments"] == '{"cake": "plum"}'


@pytest.mark.parametrize("length", [True, False])
def test_json_ends_with_its_last_byte_or_its_end(length):
    body = json.dumps({"choices": [{"message": {"role": "assistant", "content": "plum"}}]}).encode()
    headers = {"content-type": "application/json"} | ({"content-length": str(len(body))} if length else {})
    assert read(CHAT, headers, [body[:9], body[9:], b""]) == ([("assistant", "plum")], 1)


@pytest.mark.parametrize("api", [CHAT, ANTHROPIC, RESPONSES])
@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"5", b'{"choices": []}', b'{"choices": [5]}', b'{"output": 5}']
)
def test_what_is_no_answer_says_nothing(api, body):
    assert read(api, {}, [body, b""])[0] == []
    assert read(api, STREAM, [b"data: " + body + b"\n\n", b""])[0] == []


# Windows -------------------------------------------------------------------------------------------------


def test_windows_go_by_the_name_of_the_model():
    assert find_model_window("gpt-4o-mini-2024") == find_model_window("openai/GPT-4o") == 128_000
    assert find_model_window("gpt-4") < find_model_window("gpt-4.1-nano")
    assert find_model_window("llama3.2") == find_model_window("") == DEFAULT_WINDOW


def room(text, most=100, window=1000, **more):
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    return room_for_context(CHAT, body, [Turn(text)], most, WordTokens(), window)


def test_room_is_what_the_request_and_its_answer_leave():
    assert room("plum") == 100
    assert room("plum " * 700, max_tokens=200) == 1000 - 200 - 6 - 700 - 2
    assert room("plum " * 900, max_tokens=200) == 0


def test_tools_and_images_take_room_and_the_bytes_of_images_do_not():
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBO" * 9000}}
    body = {"model": "m", "messages": [{"role": "user", "content": [url]}]}
    turn = Turn("[image]", parts=(url,))
    left = room_for_context(CHAT, body, [turn], 5000, WordTokens(), 10_000)
    assert left == 5000
    assert room_for_context(CHAT, body, [turn], 9000, WordTokens(), 10_000) < 9000
    assert room("plum", tools=[{"description": "word " * 2000}], most=1000) < 1000


# Addresses and headers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "path", "expected"),
    [
        ("https://api.openai.com/v1", "/v1/models", "https://api.openai.com/v1/models"),
        ("https://api.openai.com/v1/", "/v1/models", "https://api.openai.com/v1/models"),
        ("https://api.anthropic.com", "/v1/messages", "https://api.anthropic.com/v1/messages"),
        ("https://host.example/openai/v2", "/v1/models", "https://host.example/openai/v2/models"),
        ("http://localhost:11434/v1", "/v1beta/x", "http://localhost:11434/v1/v1beta/x"),
    ],
)
def test_v1_stands_for_the_path_of_the_upstream(base, path, expected):
    assert Upstream(base).build_url(path, "") == expected
    assert Upstream(base).build_url(path, "a=1") == f"{expected}?a=1"


def test_headers_of_one_connection_and_ours_stay_here():
    headers = [(b"Connection", b"x-mine"), (b"X-Mine", b"1"), (b"Host", b"h"), (b"X-Foreword-User", b"m")]
    assert select_request_headers([*headers, (b"Authorization", b"k")], is_read=False) == [
        (b"Authorization", b"k")
    ]
    kept = make_answer_headers(
        [(b"X-Foreword-Receipt", b"forged"), (b"Server", b"s")], {"x-foreword-note": "a\nb"}
    )
    assert kept == [(b"server", b"s"), (b"x-foreword-note", b"a b")]


@pytest.mark.parametrize(
    "path", ["/v1/chat/completions/", "/v1/messages/batches", "/v1/responses/r1", "/messages/x"]
)
def test_only_the_addresses_themselves_get_context(path):
    assert find_api("POST", path) is None
    assert find_api("GET", "/v1/chat/completions") is None
