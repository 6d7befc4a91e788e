"""JSON of unknown shape, made sound and read as text.

What an agent hands to a hook changes with every release. Here a value is cut to a size anyone would read, its
texts are made whole, and the answer of a tool is found in it whatever it is called. Nothing here raises.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from foreword.capture.excerpt import both_ends

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_CHARACTERS = 1_000_000
_MOST_LABEL = 4_000
_MOST_VALUES = 2_000
_DEEPEST = 8

_STREAMS = ("stdout", "stderr")
_ANSWERS = (
    "output",
    "aggregated_output",
    "llmContent",
    "content",
    "text",
    "result",
    "returnDisplay",
    "message",
)
_CODES = ("exit_code", "exitCode", "returncode", "return_code")
_EXIT_CODE = re.compile(
    r"^\s*(?:Error:\s*)?(?:Process exited with code|Exit code:?)\s+(-?\d{1,6})\b",
    re.IGNORECASE | re.MULTILINE,
)


def plain(value: Any) -> Any:  # noqa: ANN401  (any JSON)
    """The value with sound texts, and no deeper, wider or longer than anyone would read."""
    left = _MOST_VALUES

    def cut(value: Any, depth: int) -> Any:  # noqa: ANN401
        nonlocal left
        left -= 1
        if left < 0 or depth > _DEEPEST:
            return "…"
        match value:
            case str():
                return both_ends(_sound(value), MOST_CHARACTERS)
            case list():
                return [cut(part, depth + 1) for part in value[: max(0, left)]]
            case dict():
                some = list(value.items())[: max(0, left)]
                return {_sound(name[:_MOST_LABEL]): cut(part, depth + 1) for name, part in some}
            case _:
                return value

    return cut(value, 0)


def label(body: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that holds a text, on one line and not too long."""
    for name in names:
        value = body.get(name)
        if isinstance(value, str) and value.strip():
            return " ".join(_sound(value[:_MOST_LABEL]).split())
    return ""


def spoken(body: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that says something, whatever its shape."""
    return next((said for name in names if (said := as_text(plain(body.get(name)))).strip()), "")


def parsed(text: str) -> Any:  # noqa: ANN401  (any JSON)
    """The object that a text spells out, or the text itself."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return plain(value) if isinstance(value, dict) else text


def as_text(value: Any) -> str:  # noqa: ANN401  (any JSON)
    """What a tool answered, as text, whatever shape the agent gave it."""
    match value:
        case None | {"type": "image" | "audio" | "image_url"}:
            return ""
        case str():
            inner = parsed(value)
            return as_text(inner) if isinstance(inner, dict) and "output" in inner else value
        case list():
            return "\n".join(filter(None, map(as_text, value)))
        case dict():
            return _object_as_text(value)
        case _:
            return json.dumps(value)


def _object_as_text(value: Mapping[str, Any]) -> str:
    streams = [as_text(value[name]) for name in _STREAMS if name in value]
    answer = next((said for name in _ANSWERS if (said := as_text(value.get(name)))), "")
    error = as_text(value.get("error"))
    told = [*streams, answer, "" if error in answer else error]
    if any(name in value for name in (*_STREAMS, *_ANSWERS, "error")):
        return "\n".join(filter(None, told))
    return json.dumps(value, ensure_ascii=False) if value else ""


def outcome(response: Any, said: str) -> str:  # noqa: ANN401  (any JSON)
    """How a call ended, as far as its answer says: `exit 1`, `failed`, `interrupted`, or nothing."""
    response = parsed(response) if isinstance(response, str) else response
    facts = dict(response) if isinstance(response, dict) else {}
    if isinstance(facts.get("metadata"), dict):
        facts = {**facts["metadata"], **facts}
    if facts.get("interrupted") is True or facts.get("is_interrupt") is True:
        return "interrupted"
    codes = [facts[name] for name in _CODES if type(facts.get(name)) is int]
    codes += [int(code) for code in _EXIT_CODE.findall(f"{said[:300]}\n{said[-300:]}")]
    if codes:
        return f"exit {codes[0]}"
    wrong = facts.get("is_error") is True or facts.get("isError") is True or facts.get("success") is False
    return "failed" if wrong or facts.get("error") else ""


def _sound(text: str) -> str:
    """The text without NUL, and with whole characters only."""
    text = text.replace("\0", "")
    return text if text.isascii() else text.encode(errors="replace").decode()
