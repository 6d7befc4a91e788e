"""A model's API on loopback, the proxy before it, and clients: nothing here is simulated but the model."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from dataclasses import dataclass, field, replace

import httpx2
import pytest

from foreword.edges.proxy.__main__ import build_proxy
from foreword.edges.proxy.application import ProxyOptions
from foreword.edges.proxy.asker import ProxyAsker
from foreword.edges.proxy.upstream import Upstream
from foreword.edges.service.loopback import listen_on_loopback, make_uvicorn_server

WORDS = ("The ", "answer ", "is ", "plum.")
CALL = {"id": "call-1", "type": "function", "function": {"name": "stock", "arguments": '{"cake": "plum"}'}}


@dataclass
class FakeModel:
    """An ASGI application that answers as the APIs do; the model's name says how."""

    requests: list = field(default_factory=list)
    disconnected: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        raw, more = b"", True
        while more:
            message = await receive()
            raw, more = raw + message.get("body", b""), message.get("more_body", False)
        body = json.loads(raw) if raw.startswith(b"{") else raw
        headers = {key.decode(): value.decode() for key, value in scope["headers"]}
        query = scope["query_string"].decode()
        request = {"path": scope["path"], "query": query, "method": scope["method"]}
        self.requests.append({**request, "headers": headers, "body": body, "raw": raw})
        self.asked.set()
        await self._answer(body, scope["path"], receive, send)

    async def _answer(self, body, path, receive, send):
        model = body.get("model", "") if isinstance(body, dict) else ""
        if model == "hangs":
            while (await receive())["type"] != "http.disconnect":
                pass
            self.disconnected.set()
        elif model == "refuses":
            await self._json(send, {"error": {"message": "bad key", "type": "auth"}}, 401)
        elif model == "picky" and "foreword-context" in json.dumps(body):
            await self._json(send, {"error": {"message": "too long"}}, 400)
        elif isinstance(body, dict) and body.get("stream"):
            await self._stream(_events(path, model), receive, send, model)
        elif isinstance(body, dict) and path.endswith(("/completions", "/messages", "/responses")):
            await self._json(send, _answer_of(path, model))
        else:
            await self._json(send, {"path": path}, 200, [(b"x-own", b"kept"), (b"set-cookie", b"a=1")])

    async def _json(self, send, value, status=200, headers=()):
        content = json.dumps(value).encode()
        length = (b"content-length", str(len(content)).encode())
        kind = (b"content-type", b"application/json")
        await send({"type": "http.response.start", "status": status, "headers": [kind, length, *headers]})
        await send({"type": "http.response.body", "body": content})

    async def _stream(self, events, receive, send, model):
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-type", b"text/event-stream")]})  # fmt: skip
        for at, event in enumerate(events):
            await send({"type": "http.response.body", "body": event, "more_body": True})
            if model == "pauses" and at == 1:
                gone = asyncio.create_task(_until_gone(receive))
                await asyncio.wait([gone], timeout=30)
                self.disconnected.set()
                return
            if model == "breaks" and at == 1:
                return
            if model == "slow" and at == 0:
                await asyncio.to_thread(self.go_on.wait, 30)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive):
    while (await receive())["type"] != "http.disconnect":
        pass


def _message(model):
    if model == "calls":
        return {"role": "assistant", "content": None, "tool_calls": [CALL]}
    return {"role": "assistant", "content": "".join(WORDS)}


def _answer_of(path, model):
    if path.endswith("/messages"):
        return {"id": "m", "type": "message", "role": "assistant", "model": model,
                "content": [{"type": "text", "text": "".join(WORDS)}], "stop_reason": "end_turn"}  # fmt: skip
    if path.endswith("/responses"):
        said = {"type": "output_text", "text": "".join(WORDS)}
        item = {"type": "message", "role": "assistant", "content": [said]}
        return {"id": "r", "object": "response", "status": "completed", "output": [item]}
    choice = {"index": 0, "message": _message(model), "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": model, "choices": [choice]}


def _events(path, model):
    if path.endswith("/messages"):
        deltas = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
                  for word in WORDS]  # fmt: skip
        return [_event(one) for one in (*deltas, {"type": "message_stop"})]
    if path.endswith("/responses"):
        return [_event({"type": "response.completed", "response": _answer_of(path, model)})]
    deltas = [{"content": word} for word in WORDS]
    if model == "calls":
        halves = ({**CALL, "index": 0, "function": {"name": "stock", "arguments": '{"cake": '}},
                  {"index": 0, "function": {"arguments": '"plum"}'}})  # fmt: skip
        deltas = [{"tool_calls": [half]} for half in halves]
    chunks = [_chunk(model, delta) for delta in deltas]
    return [_event(one) for one in (*chunks, _chunk(model, {}, "stop"))] + [b"data: [DONE]\n\n"]


def _chunk(model, delta, reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [choice]}


def _event(value):
    return f"data: {json.dumps(value)}\n\n".encode()


@contextlib.contextmanager
def serve(application, listening):
    """An application on a socket, in a thread."""
    server = make_uvicorn_server(application)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture
def model():
    return FakeModel()


@pytest.fixture
def upstream_url(model):
    with listen_on_loopback() as listening, serve(model, listening):
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


@dataclass
class Proxy:
    """The proxy that runs, and a client for it."""

    url: str
    client: httpx2.Client

    def ask(self, messages, **more):
        """Post to chat completions; the session and user are headers."""
        headers = {f"x-foreword-{name}": more.pop(name) for name in ("user", "session") if name in more}
        body = {"model": "gpt-4o", "messages": _as_messages(messages), **more}
        return self.client.post("/v1/chat/completions", json=body, headers=headers)


def _as_messages(messages):
    return [{"role": "user", "content": messages}] if isinstance(messages, str) else messages


@pytest.fixture
def start_proxy(engine, upstream_url):
    """Start a proxy with options of one's own."""
    with contextlib.ExitStack() as stack:

        def start(url=upstream_url, timeout=30.0, capture=True, **options):
            listening = stack.enter_context(listen_on_loopback())
            port = listening.getsockname()[1]
            # The tests say what is late; the machine may be slow.
            chosen = replace(ProxyOptions(ProxyAsker("shop"), deadline_ms=60_000), **options)
            application = build_proxy(engine, Upstream(url, timeout), chosen, port, capture=capture)
            stack.enter_context(serve(application, listening))
            address = f"http://127.0.0.1:{port}"
            client = stack.enter_context(httpx2.Client(base_url=address, timeout=60, trust_env=False))
            return Proxy(f"{address}/v1", client)

        yield start


@pytest.fixture
def proxy(start_proxy):
    return start_proxy()
