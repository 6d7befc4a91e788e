"""The mark around what Foreword injects, and text that cannot leave it.

A context is one block between `<foreword-context>` and `</foreword-context>`, with one entry a line. What was
remembered may come from a web page or a tool, so it is data and never structure: `contained` puts it on one
line and takes from it whatever could end the block, open another, or pass for a turn of the conversation. The
caller writes something before it ("- "), so it never begins a line, and `Human:` or `# Rules` inside it are
words like others. What the words ask for is not judged here: no filter of words stops an instruction. The
attribution says whose words they are.

The mark also serves the way back: agents hand hooks what the model has read, and `without_frames` takes out
what Foreword itself had said, so that nothing is remembered a second time for having been recalled.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from foreword.text.clean import one_line, visible

if TYPE_CHECKING:
    from foreword.types import Source

_NAME = "foreword-context"
_OPENING, _CLOSING = f"<{_NAME}>", f"</{_NAME}>"
_LONGEST_NAME = 60

_ANGLE = r"(?:<|&(?:amp;){0,3}(?:lt|#0{0,6}60|#x0{0,6}3c);|\\{1,8}u003c|%3c)"
_END = r"(?:>|&(?:amp;){0,3}(?:gt|#0{0,6}62|#x0{0,6}3e);|\\{1,8}u003e|%3e)"
_TAG = re.compile(
    # An unfinished tag counts as one, so that no cut and no removal can put a new tag together.
    rf"{_ANGLE}(?P<closing>\\{{0,8}}(?:/|%2f))?{_NAME}(?![\w-])(?:[^<>&\\%]{{0,100}}?{_END})?",
    re.IGNORECASE,
)
_OUR_NAME = re.compile(_NAME, re.IGNORECASE)

_TAG_LIKE = re.compile(r"[<＜﹤](?=[^\W\d]|\s*[/!?|｜]|\s*foreword)", re.IGNORECASE)
_CONTROL = re.compile(
    r"\[(/?(?:INST|SYS|SYSTEM|SYSTEM_PROMPT|USER|ASSISTANT|AVAILABLE_TOOLS|TOOL_(?:CALLS|RESULTS|CONTENT)"
    r"|gMASK|CLS|SEP|MASK|PAD|UNK|BOS|EOS))\]",
    re.IGNORECASE,
)
_FENCE = re.compile(r"(`|~)\1{2,}")
_IMAGE = re.compile(r"!+\[")


def framed(text: str) -> str:
    """The text between our marks, alone between them whatever it holds; nothing for nothing."""
    return f"{_OPENING}\n{_nameless(text)}\n{_CLOSING}" if text.strip() else ""


def contained(text: str) -> str:
    """The text on one line, readable, without anything that could end the frame or pass for structure."""
    text = one_line(visible(text))
    text = _TAG_LIKE.sub("&lt;", text)
    text = _CONTROL.sub(r"(\1)", text)
    text = _IMAGE.sub("[", _FENCE.sub(r"\1", text))
    return _nameless(text)


def without_frames(text: str) -> str:
    """The text without anything that stood between our marks; untouched if there are none.

    A frame that was cut off ends with the text. The end of a frame without its beginning is only a mark, and
    goes alone. Marks are also known when they were escaped for HTML, for JSON or for a URL.
    """
    kept: list[str] = []
    at, inside = 0, False
    for tag in _TAG.finditer(text):
        if not inside:
            kept.append(text[at : tag.start()])
        inside = tag["closing"] is None
        at = tag.end()
    if not inside:
        kept.append(text[at:])
    return text if at == 0 else _joined(kept)


def attribution(source: Source) -> str:
    """Whose words an item holds, for its reader; nothing for the user's own."""
    if source.trust == "user":
        return ""
    if source.trust == "agent":
        return "agent"
    what = "tool" if source.trust == "tool" else "web page"
    named = _host(source.name) if source.trust == "web" else source.name.removeprefix("tool:")
    name = _plain_name(named)
    return f"{what} {name}, unverified" if name else f"{what}, unverified"


def _nameless(text: str) -> str:
    return _OUR_NAME.sub(lambda match: match[0].replace("-", " "), text)


def _joined(parts: list[str]) -> str:
    """The parts with white space between them, so that two halves of a mark cannot meet."""
    text = [""]
    for part in filter(None, parts):
        if not text[-1][-1:].isspace() and not part[0].isspace():
            text.append(" ")
        text.append(part)
    return "".join(text).strip()


def _host(name: str) -> str:
    """The host, if the name is an address: the rest of it can be made to say anything."""
    try:
        return urlsplit(name).hostname or name
    except ValueError:
        return name


def _plain_name(name: str) -> str:
    """A name without punctuation that could end the attribution, and not too long."""
    return one_line(re.sub(r"[^\w .:/@-]", " ", contained(name)))[:_LONGEST_NAME].rstrip()
