"""Escape text that others wrote, so that it cannot become part of a prompt's or document's structure.

In Markdown, a heading, rule, fence or label inside such text stays plain words. Prose keeps its lines and
loses blank ones, so that an item is one block. Code keeps every visible character, inside a fence that
nothing in it can close. In a prompt, a line such as `[SYSTEM]` must not begin a part: it gets a backslash
before it. What the words ask for is not judged here.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

from foreword.text.clean import indent_lines_after_first, join_lines, remove_invisible, remove_surrogates
from foreword.text.frame import escape_entry

_OUR_NAME = re.compile(r"(foreword)-(context)", re.IGNORECASE)
_STRUCTURE = re.compile(r"[#>|]|\*(?=\S)|[-=_*](?:\s*[-=_*])*\s*$")
"""Matches a line that Markdown would take for a heading, quotation, table, rule or one of our labels."""

_HARMLESS = re.compile(r"[\w .,;:()'\"/+=%?$@^-]*", re.ASCII)
_PRINTABLE = re.compile(r"[\n\t -~]*")
_TICKS = re.compile(r"`+")
_LANGUAGE = re.compile(r"[^\w+#.-]")
_LONGEST_LANGUAGE = 24


def escape_markdown_in_prose(text: str, *, after_label: bool = False) -> str:
    """Lines of text, none blank, none with a meaning in Markdown.

    With `after_label`, the first line follows a label, so nothing in it has to be escaped.
    """
    lines = [
        inside
        for written in _without_invisible(text).split("\n")
        if (inside := _escape_unless_harmless(written))
    ]
    return "\n".join(
        line if after_label and not at else _escape_structure(line) for at, line in enumerate(lines)
    )


def quote_block(text: str) -> str:
    """The same lines as a block quotation in Markdown."""
    return "\n".join(f"> {line}" for line in escape_markdown_in_prose(text).split("\n"))


def escape_to_one_line(text: str, most: int = 0) -> str:
    """The text on one line; with `most`, no longer than that many characters."""
    inside = _escape_unless_harmless(text)
    return cut_line(inside, most) if most else inside


def quote_inline_code(text: str, most: int = 160) -> str:
    """The text as inline code, at most `most` characters long."""
    name = _OUR_NAME.sub(r"\1 \2", join_lines(_without_invisible(text))).replace("`", "'")
    return f"`{cut_line(name, most)}`"


def fence_code(code: str, language: str = "") -> str:
    """The code in a fence longer than any in it; the name of our frame is taken apart."""
    body = _OUR_NAME.sub(r"\1 \2", _without_invisible(code)).strip("\n").rstrip()
    longest = max((len(run) for run in _TICKS.findall(body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{_LANGUAGE.sub('', language).lower()[:_LONGEST_LANGUAGE]}\n{body}\n{fence}"


def cut_line(text: str, most: int) -> str:
    """The beginning of a one-line text, cut between words if possible, with "..." where it was cut."""
    if len(text) <= most:
        return text
    head = text[: max(1, most - 3)]
    space = head.rfind(" ", len(head) * 2 // 3)
    return (head[:space] if space > 0 else head).rstrip() + "..."


def _escape_unless_harmless(text: str) -> str:
    """The text as `escape_entry` returns it; a quicker way for plain words."""
    if _HARMLESS.fullmatch(text) and "foreword" not in text.lower():
        return " ".join(text.split())
    return escape_entry(text)


def _without_invisible(text: str) -> str:
    return text if _PRINTABLE.fullmatch(text) else remove_invisible(text)


def _escape_structure(line: str) -> str:
    return "\\" + line if _STRUCTURE.match(line) else line


# Parts of a prompt ----------------------------------------------------------------------------------------


PartName = Literal["SYSTEM", "CONTEXT", "KNOWLEDGE", "USER", "TOOLS"]

_HEADING_NAMES = "|".join((*get_args(PartName), "ASSISTANT", "TOOL"))
_INDENT = 2
_SPACES = r"[^\S\n]*"
_HEADING = re.compile(
    rf"^({_SPACES})(?=[\[［【]{_SPACES}/?{_SPACES}(?:{_HEADING_NAMES}){_SPACES}[\]］】])",
    re.MULTILINE | re.IGNORECASE,
)
_BRACKET = re.compile(r"[\[［【]")
_OTHER_BREAKS = re.compile("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def heading_and_text(name: PartName, text: str) -> str:
    """The text under the heading of a part."""
    return f"[{name}]\n{text}"


def escape_headings(text: str) -> str:
    """The text without invisible characters, its lines that look like prompt headings escaped."""
    return _escape_found_headings(_without_invisible(text))


def escape_headings_on_one_line(text: str) -> str:
    """The same as one line."""
    return _escape_found_headings(join_lines(_without_invisible(text)))


def escape_headings_only(text: str) -> str:
    """The text as it is, but without surrogates, its lines that look like prompt headings escaped."""
    text = remove_surrogates(text)
    if _OTHER_BREAKS.search(text):  # the reader may see a line begin where our pattern would not
        return "".join(_escape_found_headings(line) for line in text.splitlines(keepends=True))
    return _escape_found_headings(text)


def indent_after_label(text: str) -> str:
    """The words of a turn as they stand after its speaker's label: no further line begins where labels do."""
    if _OTHER_BREAKS.search(text):
        text = "\n".join(text.splitlines())
    return indent_lines_after_first(text, _INDENT)


def _escape_found_headings(text: str) -> str:
    return _HEADING.sub(r"\1\\", text) if _BRACKET.search(text) else text
