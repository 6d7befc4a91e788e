"""Find private keys that take many lines: complete, or without their head or foot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.capture.secrets.patterns import pattern
from foreword.capture.secrets.tables import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.capture.secrets.tables import PreparedText

_HEAD = pattern(
    r"-{4,5} ?BEGIN (?:[A-Z0-9]{2,16} ){0,4}(?:PRIVATE|SECRET) KEY(?: BLOCK)? ?-{4,5}"
    r"|-{5}BEGIN OpenVPN Static key V1-{5}"
)
_FOOT = pattern(r"-{4,5} ?END [A-Za-z0-9 ]{0,64}(?:PRIVATE KEY|SECRET KEY|Static key V1)(?: BLOCK)? ?-{4,5}")
_BETWEEN = r"(?:\\[nr]|[^\w+/=]){0,24}(?:\d{1,6}[^\w+/=]{1,4})?"  # may hold quotes of code, or a line number
_REST = pattern(
    r"(?a)(?:\s{0,4}Proc-Type:.{0,80}\s{1,4}DEK-Info:.{0,80})?"
    rf"(?:{_BETWEEN}[A-Za-z0-9+/=]{{20,200}})*(?:{_BETWEEN}[A-Za-z0-9+/=]{{1,200}}\Z)?"
)
_LAST_LINE = pattern(rf"(?a){_BETWEEN}[A-Za-z0-9+/]{{1,76}}={{0,2}}(?=\s*(?:\Z|\n|[\"'`\\]))")
_BODY = pattern(r"[A-Za-z0-9+/]{30}")
_LINE = pattern(r"(?a)[^\w+/=]{0,24}(?:\d{1,6}[^\w+/=]{1,4})?([A-Za-z0-9+/]{1,200}={0,3})[^\w+/=]{0,8}")
_MAX_CHARACTERS = 20_000
_MIN_LINE = 40

# The beginning of a private key in base64. It holds a version, where a public key has an algorithm.
_BODY_START = pattern(
    r"(?a)(?<![\w+/])(?:MI[IJ][A-Za-z0-9+/]{3}IBA|MI[GH][A-Za-z0-9+/]AgE[AB]|MH[cQ]CAQEE|MC[4w]CAQAwBQYDK2V"
    r"|MFECAQEwBQYDK2V"
    r"|MI[IJ][A-Za-z0-9+/]{3}[A-Za-z0-9+/]{3}BgkqhkiG9w0BB[QD]|b3BlbnNzaC1rZXktdjEA"
    r"|LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0Eg|BFQyBQ|BPUEVO"
    r"|BFTkNS|BEU0Eg|BQR1AgUFJJ)|lQ[HOPVcd][A-Za-z0-9+/]{2}B[A-Za-z0-9+/]{20})[A-Za-z0-9+/]{12}"
)


def find_private_keys(prepared: PreparedText) -> Iterator[Secret]:
    """The private keys in a text, with the lines of dashes around them."""
    text, last = prepared.text, 0
    at = text.find("BEGIN ")
    while at >= 0:
        dashes = len(text[max(0, at - 6) : at].rstrip(" ")) - len(
            text[max(0, at - 6) : at].rstrip(" ").rstrip("-")
        )
        start = at - dashes - (text[at - 1 : at] == " ")
        head = _HEAD.match(text, start)
        last = _find_key_end(text, head.end()) if head else at
        if last > at and _BODY.search(text, start, last):
            yield Secret("private-key", start, last)
        at = text.find("BEGIN ", max(last, at + 6))
    yield from _find_keys_by_first_bytes(prepared)
    yield from _find_keys_by_foot(text)


def _find_key_end(text: str, head_end: int) -> int:
    """The end of a key: after its foot or, if it has none, after the last line that looks like base64."""
    dashes = text.find("----", head_end, head_end + _MAX_CHARACTERS)
    foot = _FOOT.match(text, dashes) if dashes >= 0 else None
    last = foot or _REST.match(text, head_end)
    return last.end() if last else head_end


def _find_keys_by_first_bytes(prepared: PreparedText) -> Iterator[Secret]:
    """Keys without a head, recognised by their first bytes."""
    text = prepared.text
    if not _BODY_START.search(prepared.runs):
        return
    begin = _BODY_START.search(text)
    while begin:
        rest = _REST.match(text, begin.start())
        end = rest.end() if rest else begin.end()
        last = _LAST_LINE.match(text, end)
        end = last.end() if last else end
        yield Secret("private-key", begin.start(), end)
        begin = _BODY_START.search(text, end)


def _find_keys_by_foot(text: str) -> Iterator[Secret]:
    """Keys without a head, recognised by their foot: the lines of base64 before it belong to the key."""
    read_to = 0
    at = text.find("---END ")
    while at >= 0:
        foot = _FOOT.search(text, max(0, at - 2), at + 100)
        if foot:
            start = _find_base64_start(text, read_to, foot.start())
            read_to = foot.end()
            if _BODY.search(text, start, foot.start()):
                yield Secret("private-key", start, foot.end())
        at = text.find("---END ", at + 7)


def _find_base64_start(text: str, after: int, foot: int) -> int:
    """Where the base64 lines above a key's last line (`foot`) begin, `after` at the earliest; else `foot`."""
    begin = max(after, foot - _MAX_CHARACTERS)
    breaks = [match.span() for match in re.finditer(r"\r?\n|\\r\\n|\\n", text[begin:foot])]
    edges = [0, *(end for _, end in breaks)]
    start = end = foot - begin
    seen = 0
    for edge in reversed(edges):
        line = text[begin + edge : begin + end].rstrip("\r\n")
        line = line.removesuffix("\\n")
        found = _LINE.fullmatch(line)
        if line and not (found and (len(found[1]) >= _MIN_LINE or not seen)):
            break
        if line:
            seen += 1
            start = edge + (found.start(1) if found else 0)
        end = edge
    return begin + start
