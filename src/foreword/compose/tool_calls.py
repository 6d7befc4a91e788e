"""What an assistant asked of its tools, read from either API's form: OpenAI's and Anthropic's.

A call that has no name, or is in neither form, is not a call; nothing is invented for it. Long arguments, as
of a whole file to be written, are told by how they begin: a prompt that repeats them needs its room.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foreword.compose.parts import whole_characters

if TYPE_CHECKING:
    from foreword.types import Turn

_LONGEST_ARGUMENTS, _BEGINNING = 1000, 300


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool; the arguments are a JSON object, as text."""

    call_id: str
    name: str
    arguments: str

    @property
    def input(self) -> dict[str, Any]:
        """The arguments as a mapping; what is no JSON object is kept under `arguments`."""
        try:
            read = json.loads(self.arguments)
        except ValueError:
            read = None
        return read if isinstance(read, dict) else {"arguments": self.arguments}


def tool_calls(turn: Turn) -> tuple[ToolCall, ...]:
    """The calls of a turn that can be read."""
    return tuple(call for written in turn.tool_calls if (call := _read(written)) is not None)


def _read(written: Mapping[str, Any]) -> ToolCall | None:
    called = written.get("function", written)
    if not isinstance(called, Mapping) or not called.get("name"):
        return None
    arguments = called.get("arguments", called.get("input", {}))
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False, default=str)
    if len(arguments) > _LONGEST_ARGUMENTS:
        missing = f"{len(arguments) - _BEGINNING:,} characters"
        arguments = json.dumps({"beginning": arguments[:_BEGINNING], "left_out": missing}, ensure_ascii=False)
    texts = (str(written.get("id") or ""), str(called["name"]), arguments or "{}")
    return ToolCall(*map(whole_characters, texts))
