"""A model that can only listen: it speaks enough of three APIs for a real agent to believe in it.

Serves the Messages API (Claude Code), the Responses API (Codex) and chat completions (opencode) on a loopback
port of its own and records every request. It answers `Understood.`; when the newest words of the user hold
USE_TOOL and no tool has run since, it asks for a shell command first; when they hold USE_AGENT, it asks for
a subagent.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Self

SAID = "Understood."
TOOL_MARK, AGENT_MARK = "USE_TOOL", "USE_AGENT"
SHELLS = ("Bash", "shell_command", "exec_command", "shell", "bash")


class FakeModel:
    """The server, for as long as the `with` block lasts; `requests` holds the turns it was asked for."""

    def __init__(self, command: str = "echo a tool ran") -> None:
        self.command = command
        self.errand = f"{TOOL_MARK}, as always."  # what a subagent is told to do
        self.requests: list[dict[str, Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def texts(self) -> list[str]:
        """Each request as text, with nothing escaped that JSON would escape inside a string."""
        return ["\n".join(_strings(body)) for body in self.requests]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(60)
        assert not self._thread.is_alive(), "the fake model does not stop"


def _strings(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [text for inner in value.values() for text in _strings(inner)]
        case list():
            return [text for inner in value for text in _strings(inner)]
        case _:
            return []


def _handler(model: FakeModel) -> type[BaseHTTPRequestHandler]:
    numbers = count(1)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send("application/json", json.dumps({"object": "list", "data": [], "models": []}))

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            path = self.path.partition("?")[0]
            if path.endswith("/count_tokens"):
                self._send("application/json", '{"input_tokens": 10}')
                return
            speak = next((one for end, one in _DIALECTS.items() if path.endswith(end)), None)
            if speak is None:
                self._send("application/json", "{}", 404)
                return
            model.requests.append(body)
            events = speak(body, model, next(numbers))
            if body.get("stream"):
                self._send("text/event-stream", "".join(_event(name, data) for name, data in events))
            else:
                self._send("application/json", json.dumps(_whole_message(body, next(numbers))))

        def _send(self, kind: str, text: str, status: int = 200) -> None:
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """The tests look at `requests`; nobody reads an access log."""

    return Handler


def _event(name: str, data: Any) -> str:
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "") + f"data: {text}\n\n"


def _shell(body: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The name and the parameters of the shell among the request's tools, if there is one."""
    for tool in body.get("tools") or []:
        inner = tool.get("function") or tool
        if inner.get("name") in SHELLS:
            schema = inner.get("input_schema") or inner.get("parameters") or {}
            return inner["name"], schema.get("properties", {})
    return None


def _call(
    body: dict[str, Any], model: FakeModel, newest: str, answered: bool
) -> tuple[str, dict[str, Any]] | None:
    """The call to make now, of a subagent or of the shell: its tool's name and its arguments."""
    shell, command = _shell(body), model.command
    if AGENT_MARK in newest and not answered:
        return "Agent", {"description": "an errand", "prompt": model.errand, "run_in_background": False}
    if shell is None or answered or TOOL_MARK not in newest:
        return None
    name, properties = shell
    key = next((key for key in ("command", "cmd") if key in properties), "command")
    wants_list = properties.get(key, {}).get("type") == "array"
    arguments: dict[str, Any] = {key: ["sh", "-c", command] if wants_list else command}
    if "description" in properties:
        arguments["description"] = "say something"
    return name, arguments


# Messages: Claude Code -----------------------------------------------------------------------------------


def _whole_message(body: dict[str, Any], number: int, usage: int = 10) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "fake"),
        "content": [{"type": "text", "text": SAID}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": usage, "output_tokens": 2},
    }


def _messages(body: dict[str, Any], model: FakeModel, number: int) -> list[tuple[str, Any]]:
    spoken = [turn for turn in body["messages"] if turn["role"] == "user"]
    newest = json.dumps(spoken[-1]) if spoken else ""
    asked = "\n".join(json.dumps(turn) for turn in spoken if "tool_result" not in json.dumps(turn)[:200])
    call = _call(body, model, asked.rpartition("\n")[2], '"tool_result"' in newest)
    whole = _whole_message(body, number)
    start = {**whole, "content": [], "stop_reason": None}
    if call is None:
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": SAID}
    else:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    reason = "end_turn" if call is None else "tool_use"
    return [
        ("message_start", {"type": "message_start", "message": start}),
        ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}),
        ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}),
        ("content_block_stop", {"type": "content_block_stop", "index": 0}),
        (
            "message_delta",
            {
                "type": "message_delta",
                "delta": {"stop_reason": reason, "stop_sequence": None},
                "usage": {"output_tokens": 2},
            },
        ),
        ("message_stop", {"type": "message_stop"}),
    ]


# Responses: Codex ----------------------------------------------------------------------------------------


def _responses(body: dict[str, Any], model: FakeModel, number: int) -> list[tuple[str, Any]]:
    turns = body["input"]
    asked = [json.dumps(turn) for turn in turns if turn.get("role") == "user"]
    answered = any(str(turn.get("type", "")).endswith("call_output") for turn in turns)
    call = _call(body, model, asked[-1] if asked else "", answered)
    item: dict[str, Any]
    if call is None:
        text = {"type": "output_text", "text": SAID, "annotations": []}
        item = {"type": "message", "role": "assistant", "id": f"msg_{number}", "content": [text]}
    else:
        item = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": call[0],
            "arguments": json.dumps(call[1]),
        }
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 12,
    }
    response = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": [item]}
    return [
        ("response.created", {"type": "response.created", "response": {"id": response["id"]}}),
        (
            "response.output_item.added",
            {"type": "response.output_item.added", "output_index": 0, "item": item},
        ),
        ("response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": item}),
        ("response.completed", {"type": "response.completed", "response": {**response, "usage": usage}}),
    ]


# Chat completions: opencode ------------------------------------------------------------------------------


def _completions(body: dict[str, Any], model: FakeModel, number: int) -> list[tuple[str, Any]]:
    turns = body["messages"]
    asked = [json.dumps(turn) for turn in turns if turn["role"] == "user"]
    call = _call(body, model, asked[-1] if asked else "", turns[-1]["role"] == "tool")
    delta: dict[str, Any] = {"role": "assistant", "content": SAID}
    if call is not None:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        delta = {
            "role": "assistant",
            "tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}],
        }
    reason = "stop" if call is None else "tool_calls"
    head = {"id": f"chat_{number}", "object": "chat.completion.chunk", "created": 0, "model": "fake"}
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    return [
        ("", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}),
        ("", {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}),
        ("", "[DONE]"),
    ]


_DIALECTS = {"/messages": _messages, "/responses": _responses, "/chat/completions": _completions}
