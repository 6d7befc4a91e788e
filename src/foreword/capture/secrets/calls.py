"""Find passwords among the arguments of calls that log in or connect: `FTP("host", "anna", "…")`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.capture.secrets import shape
from foreword.capture.secrets.patterns import pattern
from foreword.capture.secrets.tables import WORDS, Secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.capture.secrets.tables import PreparedText

_CALLEES = tuple(sorted(set(WORDS["call"])))
# The rest of the function's name and its arguments, with calls among them such as `Some("…")`.
_CALL = pattern(
    r"(?a)(?:[\w.:]|->){0,40}[(\[](?P<arguments>[^()\n]{1,300}(?:\([^()\n]{0,100}\)[^()\n]{0,200}){0,2})"
)
_TEXT = pattern(r"(?P<before>.?)[ \t]?[bruN@]?(?P<quote>[\"'])(?P<value>[^\"'\s\\]{6,64})(?P=quote)")

_ADDRESS = pattern(r"[/:]")


def find_call_secrets(prepared: PreparedText) -> Iterator[Secret]:
    """The quoted arguments that look like a password, after another, of calls that log in or connect."""
    text, lower = prepared.text, prepared.lower
    for callee in _CALLEES:
        at = lower.find(callee)
        while at >= 0:
            after = at + len(callee)
            call = _CALL.match(text, after)
            if call and "," in call["arguments"]:
                yield from _find_in_arguments(text, call.start("arguments"), call.end("arguments"))
            at = lower.find(callee, call.end() if call else after)


def _find_in_arguments(text: str, start: int, end: int) -> Iterator[Secret]:
    """The passwords among the arguments, without the first one and those that have a name of their own."""
    first = text.find(",", start, end)
    for argument in _TEXT.finditer(text, first, end):
        value = argument["value"]
        if argument["before"] not in ("=", ":") and _is_password(value):
            yield Secret("password", argument.start("value"), argument.end("value"))


def _is_password(value: str) -> bool:
    """Whether an argument is a password rather than a name, a host or the name of an encoding."""
    return (
        (shape.is_surely_password(value) or shape.is_numbered_words(value))
        and not shape.is_code_name(value)
        and not shape.has_field_name_part(value)
        and not value.isupper()
        and not _ADDRESS.search(value)
        and not value.lower().startswith("utf")
    )
