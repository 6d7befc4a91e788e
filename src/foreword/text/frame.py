"""The frame around what Foreword injects, and the escaping that keeps entries inside it.

A context is one block between `<foreword-context>` and `</foreword-context>`, with one entry a line. What was
remembered may come from a web page or a tool, so an entry is data and never structure: `escape_entry` puts it
on one line and removes whatever could end the block, open another, or pass for a turn of the conversation.
The caller writes something before the entry ("- "), so that it never begins a line, and `Human:` or `# Rules`
inside it are ordinary words. Instructions inside an entry are not detected here, as no filter of words can do
that; `provenance` attributes the words to their author.

Agents pass to hooks what the model has read. `remove_frames` removes from it what Foreword had injected, so
that a recalled text is not stored again.
"""

from __future__ import annotations

import re

from foreword.text.clean import join_lines, remove_invisible

_NAME = "foreword-context"
_OPENING, _CLOSING = f"<{_NAME}>", f"</{_NAME}>"

_ANGLE = r"(?:<|&(?:amp;){0,3}(?:lt|#0{0,6}60|#x0{0,6}3c);|\\{1,8}u003c|%3c)"
_END = r"(?:>|&(?:amp;){0,3}(?:gt|#0{0,6}62|#x0{0,6}3e);|\\{1,8}u003e|%3e)"
_TAG = re.compile(
    # An unfinished tag also matches, so that cutting or removing text never creates a new tag.
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


def wrap_in_frame(text: str) -> str:
    """The text between the tags of a frame, with no such tag inside; "" for blank text."""
    return f"{_OPENING}\n{_break_frame_tags(text)}\n{_CLOSING}" if text.strip() else ""


def escape_entry(text: str) -> str:
    """The text on one line, without anything that could end the frame or pass for structure."""
    text = join_lines(remove_invisible(text))
    text = _TAG_LIKE.sub("&lt;", text)
    text = _CONTROL.sub(r"(\1)", text)
    text = _IMAGE.sub("[", _FENCE.sub(r"\1", text))
    return _break_frame_tags(text)


def remove_frames(text: str) -> str:
    """The text without the frames in it; unchanged if there are none.

    A frame without a closing tag ends with the text. A closing tag without an opening one is removed alone.
    Tags are also recognised when they are escaped for HTML, for JSON or for a URL.
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
    return text if at == 0 else _join_with_white_space(kept)


def _break_frame_tags(text: str) -> str:
    """The text with the hyphen in the frame's name replaced by a blank, so that no tag is left."""
    return _OUR_NAME.sub(lambda match: match[0].replace("-", " "), text)


def _join_with_white_space(parts: list[str]) -> str:
    """The parts with white space between them, so that two halves of a tag cannot meet."""
    text = [""]
    for part in filter(None, parts):
        if not text[-1][-1:].isspace() and not part[0].isspace():
            text.append(" ")
        text.append(part)
    return "".join(text).strip()
