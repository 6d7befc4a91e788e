"""Readers of the three APIs' answers while these are relayed: whole JSON, or server-sent events.

An answer counts once it has ended as its API defines; one that was cut off does not count.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from foreword.edges.proxy.apis import ANTHROPIC, CHAT
from foreword.recipes.dialogue.messages import (
    anthropic_turns,
    openai_turns,
    readable_messages,
    responses_turns,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foreword.edges.proxy.apis import UpstreamApi
    from foreword.types import Turn

MAX_ANSWER_BYTES = 16_000_000
"""An answer with more bytes is relayed, but not stored."""


class UpstreamAnswerReader(Protocol):
    """Reads an answer while it is relayed."""

    def feed(self, piece: bytes) -> bool:
        """Read the next piece, an empty one at the end; returns True once, when the answer has ended."""

    def turns(self) -> Sequence[Turn]:
        """What the answer says; nothing before it has ended."""


def make_answer_reader(api: UpstreamApi, headers: Mapping[str, str]) -> UpstreamAnswerReader:
    """A reader for an answer with these headers."""
    if headers.get("content-type", "").startswith("text/event-stream"):
        return StreamedAnswer(api)
    return WholeAnswer(api, headers.get("content-length", ""))


class WholeAnswer:
    """An answer that comes as one JSON object."""

    def __init__(self, api: UpstreamApi, length: str) -> None:
        self._api = api
        self._length = int(length) if length.isdecimal() else -1
        self._body = bytearray()
        self._has_ended = False

    def feed(self, piece: bytes) -> bool:
        """Read the next piece; returns whether it is the last."""
        if self._has_ended:
            return False
        if len(self._body) <= MAX_ANSWER_BYTES:
            self._body += piece
        self._has_ended = not piece or len(self._body) == self._length
        return self._has_ended

    def turns(self) -> Sequence[Turn]:
        """The turns in the answer; empty if it is too long, no JSON, or has not ended."""
        if not self._has_ended or len(self._body) > MAX_ANSWER_BYTES:
            return ()
        try:
            answer = json.loads(self._body)
        except (ValueError, RecursionError):
            return ()
        return _read_turns_of_answer(self._api, answer) if isinstance(answer, dict) else ()


def _read_turns_of_answer(api: UpstreamApi, answer: Mapping[str, Any]) -> list[Turn]:
    if api is CHAT:
        choices = answer.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        message = first.get("message") if isinstance(first, Mapping) else None
        return openai_turns(readable_messages([message]))
    if api is ANTHROPIC:
        return anthropic_turns([answer]) if answer.get("role") == "assistant" else []
    items = answer.get("output") if answer.get("status") == "completed" else None
    return responses_turns(readable_messages(items, items=True)) if isinstance(items, list) else []


class StreamedAnswer:
    """An answer that comes as server-sent events."""

    def __init__(self, api: UpstreamApi) -> None:
        self._api = api
        self._bytes = 0
        self._rest = b""
        self._text: list[str] = []
        self._calls: dict[object, dict[str, str]] = {}
        self._whole: Mapping[str, Any] = {}
        self._has_ended = False

    def feed(self, piece: bytes) -> bool:
        """Read the next piece of the stream; returns True once it has the event that ends an answer."""
        self._bytes += len(piece)
        if self._has_ended or self._bytes > MAX_ANSWER_BYTES:
            return False
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                self._read_server_sent_event(line[5:].strip())
        return self._has_ended

    def turns(self) -> Sequence[Turn]:
        """What the answer says; nothing before it has ended."""
        if not self._has_ended:
            return ()
        if self._whole:
            return _read_turns_of_answer(self._api, self._whole)
        calls = [{"id": call["id"], "type": "function", "function": call} for call in self._calls.values()]
        message = {"role": "assistant", "content": "".join(self._text), "tool_calls": calls}
        return openai_turns([message])

    def _read_server_sent_event(self, data: bytes) -> None:
        if data == b"[DONE]":
            self._has_ended = self._has_ended or bool(self._text or self._calls)
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            return
        if isinstance(event, Mapping):
            self._add_event(event)

    def _add_event(self, event: Mapping[str, Any]) -> None:
        if self._api is CHAT:
            self._add_chat_chunk(event)
        elif self._api is ANTHROPIC:
            self._add_anthropic_event(event)
        elif event.get("type") == "response.completed" and isinstance(event.get("response"), Mapping):
            self._whole = event["response"]
            self._has_ended = True

    def _add_chat_chunk(self, event: Mapping[str, Any]) -> None:
        for choice in _mappings_in_list(event.get("choices")):
            if choice.get("index", 0) != 0:
                continue
            delta = choice.get("delta")
            if isinstance(delta, Mapping):
                self._text.append(str(delta.get("content") or ""))
                for call in _mappings_in_list(delta.get("tool_calls")):
                    function = call.get("function")
                    given = function if isinstance(function, Mapping) else {}
                    self._extend_tool_call(
                        call.get("index", 0), call.get("id"), given, given.get("arguments")
                    )
            if choice.get("finish_reason"):
                self._has_ended = True

    def _add_anthropic_event(self, event: Mapping[str, Any]) -> None:
        kind, place = event.get("type"), event.get("index")
        if kind == "message_stop":
            self._has_ended = True
        block = event.get("content_block")
        if kind == "content_block_start" and isinstance(block, Mapping) and block.get("type") == "tool_use":
            self._extend_tool_call(place, block.get("id"), block, "")
        delta = event.get("delta")
        if kind == "content_block_delta" and isinstance(delta, Mapping):
            self._text.append(str(delta.get("text") or ""))
            if place in self._calls:
                self._extend_tool_call(place, None, {}, delta.get("partial_json"))

    def _extend_tool_call(
        self, place: object, call_id: object, function: Mapping[str, Any], arguments: object
    ) -> None:
        call = self._calls.setdefault(place, {"id": "", "name": "", "arguments": ""})
        call["id"] = call["id"] or str(call_id or "")
        call["name"] = call["name"] or str(function.get("name") or "")
        call["arguments"] += str(arguments or "")


def _mappings_in_list(value: object) -> Iterator[Mapping[str, Any]]:
    return (
        (element for element in value if isinstance(element, Mapping))
        if isinstance(value, list)
        else iter(())
    )
