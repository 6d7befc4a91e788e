"""The templates of a context: a header, a format for each memory, a separator and a footer.

Variables are replaced by plain text and nothing is evaluated: a memory that contains `{{score}}` is shown
with those characters. Knows nothing of budgets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.errors import ValidationError
from foreword.text.clean import indent_lines_after_first, join_lines, remove_invisible
from foreword.text.frame import escape_entry
from foreword.text.provenance import attribution, is_from_third_party, quote_entry, quote_lines
from foreword.text.statements import describe_replaced_and_contradicting_statements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.types import Item, RelationLink, SearchResult

_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
VARIABLES = ("content", "type", "confidence", "timestamp", "score", "about", "source", "id")
_METADATA = " ({type}, confidence {confidence}, {timestamp})"

_RELATION_WORDS = {"caused_by": "because of"}
"""The words for types of relations; other types are worded by their name, with blanks for underscores."""

_MAX_TYPE_CHARACTERS, _MAX_QUOTED_CHARACTERS = 40, 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextTemplate:
    """The wording of a context. `memory_format` must show `{{content}}`."""

    name: str
    memory_format: str = "- {{content}}"
    header: str = ""
    separator: str = "\n"
    footer: str = ""
    include_metadata: bool = False

    def __post_init__(self) -> None:
        used = _VARIABLE.findall(self.memory_format)
        if unknown := sorted(set(used) - set(VARIABLES)):
            raise ValidationError(
                f"template {self.name!r} uses {{{{{unknown[0]}}}}}; the variables are: {', '.join(VARIABLES)}"
            )
        if "content" not in used:
            raise ValidationError(
                f"template {self.name!r} never shows {{{{content}}}}, so its context is empty"
            )


TEMPLATES = {
    template.name: template
    for template in (
        ContextTemplate(
            name="chat",
            header="Relevant context from past conversations:\n\n",
            footer="\n",
        ),
        ContextTemplate(
            name="detailed",
            header="Relevant memories:\n\n",
            memory_format="[{{type}}] {{content}} (confidence: {{confidence}}, {{timestamp}})",
            separator="\n\n",
            footer="\n",
            include_metadata=True,
        ),
        ContextTemplate(
            name="summary", header="Key information:\n", memory_format="{{content}}", separator=" | "
        ),
    )
}


def format_memory(result: SearchResult, template: ContextTemplate, *, include_metadata: bool = False) -> str:
    """One memory in the template's format; with its metadata, if asked for and not in the format."""
    one_line = "\n" not in template.separator and "\n" not in template.memory_format
    values = _variable_values(result, one_line=one_line)
    values["content"] = _join_or_indent_lines(values["content"], template, one_line=one_line)
    text = _VARIABLE.sub(lambda match: values[match.group(1)], template.memory_format)
    if include_metadata and not template.include_metadata:
        text += _METADATA.format(**values)
    return text


def join_memories(pieces: Sequence[str], template: ContextTemplate) -> str:
    """The whole text with header and footer; empty without memories."""
    if not pieces:
        return ""
    return template.header + template.separator.join(pieces) + template.footer


def _variable_values(result: SearchResult, *, one_line: bool) -> dict[str, str]:
    """The value of each variable of a template for one memory."""
    memory = result.memory
    content = _memory_content(memory, result.excerpt, one_line=one_line)
    return {
        "content": _describe_link(result.link) + content + _describe_replaced(result),
        "type": join_lines(remove_invisible(memory.label)),
        "confidence": f"{memory.confidence:.2f}",
        "timestamp": memory.created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "score": f"{result.score:.2f}",
        "about": join_lines(remove_invisible(memory.about)),
        "source": join_lines(remove_invisible(memory.source.name)),
        "id": memory.id,
    }


def _describe_link(link: RelationLink | None) -> str:
    """The relation that led to a memory, as words before it: `“the origin…” fixed by: `; "" without one."""
    if link is None:
        return ""
    name = escape_entry(link.relationship.type)[:_MAX_TYPE_CHARACTERS]
    words = _RELATION_WORDS.get(name, name.replace("_", " "))
    author = attribution(link.origin) if is_from_third_party(link.origin.source) else ""
    origin = f"{author}: " * bool(author) + _quote_beginning(link.origin.text)
    return f"{origin} {words}: " if link.is_forward else f"{words} {origin}: "


def _describe_replaced(result: SearchResult) -> str:
    """The statements that the memory replaced, on the same line and escaped; "" if there are none."""
    told = describe_replaced_and_contradicting_statements(result.history, result.later)
    return f" {escape_entry(told)}" if told else ""


def _quote_beginning(text: str) -> str:
    """The first words of a text, on one line and in quotation marks."""
    line = escape_entry(text)
    if len(line) <= _MAX_QUOTED_CHARACTERS:
        return f"“{line}”"
    return f"“{line[:_MAX_QUOTED_CHARACTERS].rpartition(' ')[0] or line[:_MAX_QUOTED_CHARACTERS]}…”"


def _memory_content(memory: Item, excerpt: str, *, one_line: bool) -> str:
    """The text of a memory; words of a file, a tool or a page are quoted after their attribution.

    Text from the repository keeps its lines, unless the template puts memories on one line.
    """
    text = excerpt or memory.text
    if not is_from_third_party(memory.source):
        return remove_invisible(text).strip()
    in_repository = memory.source.trust == "repository"
    if memory.kind == "code" and excerpt:  # worded already, line by line, as data, under its place
        place, _, lines = excerpt.partition("\n")
        told = f"{place}: {quote_entry(lines)}" if one_line and lines else excerpt
        return told if in_repository else f"({attribution(memory)}) {told}"
    keeps_lines = in_repository and not one_line
    return f"{attribution(memory)}: {quote_lines(text) if keeps_lines else quote_entry(text)}"


def _join_or_indent_lines(content: str, template: ContextTemplate, *, one_line: bool) -> str:
    """Join or indent the lines of a text, as the format for a memory leaves room for one line or many.

    It becomes one line if memories share a line. Otherwise its further lines are indented, so that none of
    them can pass for another memory; if the format gives it lines of its own, it is not changed.
    """
    if one_line:
        return join_lines(content)
    line = next(line for line in template.memory_format.split("\n") if "{{" in line and "content" in line)
    before = line.split("{{", 1)[0] if line.count("{{") == 1 else line
    return (
        content
        if _VARIABLE.fullmatch(line.strip())
        else indent_lines_after_first(content, 2 if before else 0)
    )
