"""What of a tool's call is worth keeping: what was run and how it ended, what was changed, what was answered.

Files that were only looked at are not kept: they are there. Answers of a memory are not kept either, or a
memory would feed on itself. Knows the tools of several agents by their names and the shape of their input.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foreword.capture.excerpt import both_ends, excerpt
from foreword.capture.shell import asked_host, command_of, host_in, only_looks
from foreword.types import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

_COMMAND_CHARACTERS = 600
_CHANGE_CHARACTERS = 800
_INPUT_CHARACTERS = 300
_MOST_LINES = 4_000
_SHOWN_LINES = 4

_SHELL = re.compile(
    r"(?:local_?)?(?:bash|shell|powershell|terminal)|exec_command|run_(?:shell|terminal)_command"
)
_CHANGE = re.compile(
    r"(?:multi|notebook)?edit|write|write_file|edit_file|create_file|(?:str_)?replace\w*|apply_patch|patch"
)
_LOOK = re.compile(
    r"(?:notebook|multi)?read|read_\w+|view\w*|open_file|grep|glob|ls|list\w*|find\w*"
    r"|search_(?:file_content|files|code)|tool_?search|todo_?(?:write|read)|write_todos|update_plan"
    r"|task_?(?:create|update|get|list|output|stop)|bash_?output|kill_?(?:shell|bash)|enter_?plan_?mode|skill|lsp"
    r"|get_diagnostics|directory_tree|get_file_info"
)
_MEMORY = re.compile(r".*foreword.*|(?:.*_)?(?:memory_\w+|\w+_memory|\w+_memories|context_build)")
_OUTSIDE = re.compile(
    r".*(?:fetch|browse|navigate|playwright|puppeteer|crawl|scrape|web|http|url|github|gitlab|jira|slack|mail"
    r"|notion|linear|confluence|discord|telegram|issue|pull_request|comment).*"
)
_DEFINES = re.compile(
    r"^[ \t]*(?:(?:export|pub|public|async|static|default|abstract)[ \t]+)*+"
    r"(?:def|class|fn|func|function|interface|struct|enum|trait|module|type)[ \t]+(\w+)"
    r"|^#{1,3}[ \t]+(\S.{0,60})",
    re.MULTILINE,
)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool's call and what came of it; `outcome` is empty when the agent did not say."""

    tool: str
    given: Mapping[str, Any]
    output: str = ""
    outcome: str = ""
    folder: str = ""

    @property
    def went_wrong(self) -> bool:
        """Whether the call is known to have failed."""
        return self.outcome not in ("", "exit 0")


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a call: the text, where it comes from, and the file it is about."""

    text: str
    source: Source
    file: str = ""


def kept(call: Call) -> Kept | None:
    """What a call leaves worth keeping, or None."""
    name = call.tool.lower()
    last = name.rpartition("__")[2]
    if not name or _MEMORY.fullmatch(name) or _LOOK.fullmatch(last):
        return None
    if _SHELL.fullmatch(last):
        return _shell(call)
    if _CHANGE.fullmatch(last):
        return _change(call)
    return _other(call)


def _shell(call: Call) -> Kept | None:
    """The command, how it ended, and the lines of its output that tell something."""
    command = command_of(call.given)
    if not command or only_looks(command):
        return None
    lines = [f"$ {both_ends(command, _COMMAND_CHARACTERS)}", call.outcome, excerpt(call.output)]
    host = asked_host(command)
    source = Source(host, "web") if host else Source(f"tool:{call.tool}", "tool")
    return Kept("\n".join(filter(None, lines)), source)


def _change(call: Call) -> Kept | None:
    """Which file was changed, and a few lines of what went and came. A change that failed is no change."""
    path = _path(call)
    if call.went_wrong or not path:
        return None
    before, after = _before_and_after(call.given)
    old, new = _full_lines(before), _full_lines(after)
    kept_back, brought = set(new), set(old)
    gone, come = (
        [line for line in old if line not in kept_back],
        [line for line in new if line not in brought],
    )
    size = f"+{len(come)} −{len(gone)} lines" if old else f"{len(new)} lines"
    named = dict.fromkeys(code or heading.strip() for code, heading in _DEFINES.findall(after))
    names = f": {', '.join([*named][:8])}" if named else ""
    shown = [f"- {line.strip()[:160]}" for line in gone[:_SHOWN_LINES]]
    shown += [f"+ {line.strip()[:160]}" for line in come[:_SHOWN_LINES]]
    told = "\n".join([f"{'Edited' if old else 'Wrote'} {path} ({size}){names}", *shown])
    return Kept(both_ends(told, _CHANGE_CHARACTERS), Source(f"tool:{call.tool}", "tool"), path)


def _path(call: Call) -> str:
    """The file that was changed, as it is named inside the session's folder."""
    path = _first_text(call.given, "file_path", "path", "notebook_path", "filename", "filePath")
    path = path or next((new or plain for new, plain in _PATCHED.findall(_patch(call.given))), "")
    path = " ".join(path.split())[:500]
    return path.removeprefix(f"{call.folder.rstrip('/')}/") if call.folder else path


def _before_and_after(given: Mapping[str, Any]) -> tuple[str, str]:
    """What a change took away and what it put there, whichever way the tool says it."""
    patch = _patch(given)
    if patch:
        lines = [line for line in patch.split("\n") if not line.startswith(("+++", "---"))]
        gone = [line[1:] for line in lines if line.startswith("-")]
        return "\n".join(gone), "\n".join(line[1:] for line in lines if line.startswith("+"))
    edits = given.get("edits")
    changes = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else [given]
    new_names = ("new_string", "new_str", "new_source", "newString", "content", "file_text", "contents")
    old = [_first_text(change, "old_string", "old_str", "old_source", "oldString") for change in changes]
    new = [_first_text(change, *new_names) for change in changes]
    return "\n".join(old), "\n".join(new)


def _patch(given: Mapping[str, Any]) -> str:
    text = _first_text(given, "patch", "input", "diff", "command")
    return text if "*** Begin Patch" in text or "\n+++ " in f"\n{text}" else ""


def _full_lines(text: str) -> list[str]:
    return [line for line in text.split("\n")[:_MOST_LINES] if line.strip()]


def _other(call: Call) -> Kept | None:
    """What the tool was given, in a line, and what it answered; what comes from outside is the web's."""
    answer = excerpt(call.output)
    if not answer:
        return None
    asked = both_ends(_in_a_line(call.given), _INPUT_CHARACTERS)
    text = "\n".join(filter(None, [f"{call.tool} {asked}".rstrip(), call.outcome, answer]))
    host = host_in(json.dumps(dict(call.given), ensure_ascii=False)[:20_000])
    if host or _OUTSIDE.fullmatch(call.tool.lower()):
        return Kept(text, Source(host or _server(call.tool), "web"))
    return Kept(text, Source(f"tool:{call.tool}", "tool"))


def _server(tool: str) -> str:
    """Where an answer without an address comes from: the server of a tool, or the web at large."""
    parts = tool.split("__")
    return parts[1].lower() if len(parts) > 2 and parts[1] else "web"


def _in_a_line(given: Mapping[str, Any]) -> str:
    """A tool's input as a reader would say it."""
    plain = ((name, value) for name, value in given.items() if isinstance(value, str | int | float))
    return " ".join("; ".join(f"{name}: {value}" for name, value in plain if value != "").split())


def _first_text(given: Mapping[str, Any], *names: str) -> str:
    """The first of these that is a text and says something."""
    return next((text for name in names if isinstance(text := given.get(name), str) and text), "")
