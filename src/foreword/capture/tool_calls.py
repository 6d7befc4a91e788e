"""Choose what to store of a tool's call: the command and how it ended, the change of a file, or the answer.

Files that were only read are not stored, as they can be read again, nor are the answers of a memory, which
would be stored twice. Knows the tools of several agents by their names and the shape of their input, and
shell commands by their words; in doubt a command changes something, and is stored.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from foreword.capture.excerpt import excerpt_output
from foreword.text.shell import hide_quotations_and_heredocs
from foreword.text.shorten import keep_ends_and_note_gap
from foreword.types import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_SHOWN_COMMAND_CHARACTERS = 600
_MAX_CHANGE_CHARACTERS = 800
_MAX_INPUT_CHARACTERS = 300
_MAX_LINES = 4_000
_MAX_SHOWN_LINES = 4

_SHELL_TOOL = re.compile(
    r"(?:local_?)?(?:bash|shell|powershell|terminal)|exec_command|run_(?:shell|terminal)_command"
)
_CHANGING_TOOL = re.compile(
    r"(?:multi|notebook)?edit|write|write_file|edit_file|create_file|(?:str_)?replace\w*|apply_patch|patch"
)
_READING_TOOL = re.compile(
    r"(?:notebook|multi)?read|read_\w+|view\w*|open_file|grep|glob|ls|list\w*|find\w*"
    r"|search_(?:file_content|files|code)|tool_?search|todo_?(?:write|read)|write_todos|update_plan"
    r"|task_?(?:create|update|get|list|output|stop)|bash_?output|kill_?(?:shell|bash)|enter_?plan_?mode|skill|lsp"
    r"|get_diagnostics|directory_tree|get_file_info"
)
_SUBAGENT_TOOL = re.compile(r"task|agent|subagent|dispatch_agent|spawn_agent|delegate(?:_task)?")
_MEMORY_TOOL = re.compile(r".*foreword.*|(?:.*_)?(?:memory_\w+|\w+_memory|\w+_memories|context_build)")
_OUTSIDE_TOOL = re.compile(
    r".*(?:fetch|browse|navigate|playwright|puppeteer|crawl|scrape|web|http|url|github|gitlab|jira|slack|mail"
    r"|notion|linear|confluence|discord|telegram|issue|pull_request|comment).*"
)
_DEFINES = re.compile(
    r"^[ \t]*(?:(?:export|pub|public|async|static|default|abstract)[ \t]+)*+"
    r"(?:def|class|fn|func|function|interface|struct|enum|trait|module|type)[ \t]+(\w+)"
    r"|^#{1,3}[ \t]+(\S.{0,60})",
    re.MULTILINE,
)
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool's call, its input (`given`) and its result; `outcome` is empty if the agent did not state it."""

    tool: str
    given: Mapping[str, Any]
    output: str = ""
    outcome: str = ""
    folder: str = ""

    @property
    def has_failed(self) -> bool:
        """Whether the call is known to have failed."""
        return self.outcome not in ("", "exit 0")


@dataclass(frozen=True, slots=True)
class CallRecord:
    """What is stored of a call: a text, its source, the file it is about, and a command of several lines."""

    text: str
    source: Source
    file: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that a tool changed, as a path in the session's folder, with the text before and after."""

    path: str
    before: str = ""
    after: str = ""


def folder_relative_to_project(folder: str, project: str) -> str | None:
    """A folder as a path from a project's root, which is ""; None if it is elsewhere.

    A folder that is no whole path is taken to begin in the project.
    """
    place = Path(os.path.normpath(Path(project, folder)))
    if not place.is_relative_to(project):
        return None
    return "" if place == Path(project) else str(place.relative_to(project))


def read_file_changes(call: ToolCall) -> list[FileChange]:
    """The files that a call has changed; none if the call failed or its tool changes no files."""
    if call.has_failed or not _CHANGING_TOOL.fullmatch(call.tool.lower().rpartition("__")[2]):
        return []
    before, after = _removed_and_added_text(call.given)
    patched = [new or plain for new, plain in _PATCHED_FILE.findall(_patch_in_tool_input(call.given))]
    first = _changed_file_path(call)
    paths = dict.fromkeys([first, *patched] if first else patched)
    return [FileChange(path, before, after) for path in paths if path]


def build_call_record(call: ToolCall) -> CallRecord | None:
    """What is to be stored of a call, or None if nothing is."""
    name = call.tool.lower()
    last = name.rpartition("__")[2]
    if not name or _MEMORY_TOOL.fullmatch(name) or _READING_TOOL.fullmatch(last):
        return None
    if _SHELL_TOOL.fullmatch(last):
        return _build_command_record(call)
    if _CHANGING_TOOL.fullmatch(last):
        return _build_change_record(call)
    return _build_answer_record(call)


def _build_command_record(call: ToolCall) -> CallRecord | None:
    """The record of a command: itself, how it ended, and the informative lines of its output."""
    command = read_command(call.given)
    if not command or prints_what_can_be_read_again(command):
        return None
    shown = keep_ends_and_note_gap(command, _MAX_SHOWN_COMMAND_CHARACTERS)
    lines = [f"$ {shown}", call.outcome, excerpt_output(call.output)]
    host = host_fetched_from(command)
    source = Source(host, "web") if host else Source(f"tool:{call.tool}", "tool")
    several = shown if "\n" in shown else ""  # the text does not show where it ends
    return CallRecord("\n".join(filter(None, lines)), source, command=several)


def _build_change_record(call: ToolCall) -> CallRecord | None:
    """The record of a change: the file, and a few removed and added lines; None if the change failed."""
    path = _changed_file_path(call)
    if call.has_failed or not path:
        return None
    before, after = _removed_and_added_text(call.given)
    old, new = _nonblank_lines(before), _nonblank_lines(after)
    old_lines, new_lines = set(old), set(new)
    removed = [line for line in old if line not in new_lines]
    added = [line for line in new if line not in old_lines]
    size = f"+{len(added)} −{len(removed)} lines" if old else f"{len(new)} lines"
    defined = dict.fromkeys(code or heading.strip() for code, heading in _DEFINES.findall(after))
    names = f": {', '.join([*defined][:8])}" if defined else ""
    shown = [f"- {line.strip()[:160]}" for line in removed[:_MAX_SHOWN_LINES]]
    shown += [f"+ {line.strip()[:160]}" for line in added[:_MAX_SHOWN_LINES]]
    text = "\n".join([f"{'Edited' if old else 'Wrote'} {path} ({size}){names}", *shown])
    text = keep_ends_and_note_gap(text, _MAX_CHANGE_CHARACTERS)
    return CallRecord(text, Source(f"tool:{call.tool}", "tool"), path)


def _changed_file_path(call: ToolCall) -> str:
    """The path, in the session's folder, of the file that was changed; "" if there is none."""
    path = _first_text_field(call.given, "file_path", "path", "notebook_path", "filename", "filePath")
    patched = _PATCHED_FILE.findall(_patch_in_tool_input(call.given))
    path = path or next((new or plain for new, plain in patched), "")
    path = " ".join(path.split())[:500]
    return path.removeprefix(f"{call.folder.rstrip('/')}/") if call.folder else path


def _removed_and_added_text(tool_input: Mapping[str, Any]) -> tuple[str, str]:
    """The text that a change removed and the one that it added, in whichever form the tool was given them."""
    patch = _patch_in_tool_input(tool_input)
    if patch:
        lines = [line for line in patch.split("\n") if not line.startswith(("+++", "---"))]
        removed = [line[1:] for line in lines if line.startswith("-")]
        return "\n".join(removed), "\n".join(line[1:] for line in lines if line.startswith("+"))
    edits = tool_input.get("edits")
    changes = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else [tool_input]
    old_names = ("old_string", "old_str", "old_source", "oldString")
    new_names = ("new_string", "new_str", "new_source", "newString", "content", "file_text", "contents")
    old = [_first_text_field(change, *old_names) for change in changes]
    new = [_first_text_field(change, *new_names) for change in changes]
    return "\n".join(old), "\n".join(new)


def _patch_in_tool_input(tool_input: Mapping[str, Any]) -> str:
    """The patch in a tool's input; "" if there is none."""
    text = _first_text_field(tool_input, "patch", "input", "diff", "command")
    return text if "*** Begin Patch" in text or "\n+++ " in f"\n{text}" else ""


def _nonblank_lines(text: str) -> list[str]:
    return [line for line in text.split("\n")[:_MAX_LINES] if line.strip()]


def _build_answer_record(call: ToolCall) -> CallRecord | None:
    """The record of an answer: the tool's input on one line, and the answer; None if that is empty.

    An answer from outside the machine has the trust of the web. The report of a subagent has that of the
    agent, and is stored without its task.
    """
    answer = excerpt_output(call.output)
    if not answer:
        return None
    if _SUBAGENT_TOOL.fullmatch(call.tool.lower()):
        return CallRecord(answer, Source("subagent", "agent"))
    asked = keep_ends_and_note_gap(_tool_input_as_line(call.given), _MAX_INPUT_CHARACTERS)
    text = "\n".join(filter(None, [f"{call.tool} {asked}".rstrip(), call.outcome, answer]))
    host = first_host(json.dumps(dict(call.given), ensure_ascii=False)[:20_000])
    if host or _OUTSIDE_TOOL.fullmatch(call.tool.lower()):
        return CallRecord(text, Source(host or _server_name_or_web(call.tool), "web"))
    return CallRecord(text, Source(f"tool:{call.tool}", "tool"))


def _server_name_or_web(tool: str) -> str:
    """The name of the MCP server that a tool belongs to, or `web` if it has none."""
    parts = tool.split("__")
    return parts[1].lower() if len(parts) > 2 and parts[1] else "web"


def _tool_input_as_line(tool_input: Mapping[str, Any]) -> str:
    """The simple values of a tool's input on one line: `name: value; name: value`."""
    plain = ((name, value) for name, value in tool_input.items() if isinstance(value, str | int | float))
    return " ".join("; ".join(f"{name}: {value}" for name, value in plain if value != "").split())


def _first_text_field(tool_input: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that has a text; "" if none has."""
    return next((text for name in names if isinstance(text := tool_input.get(name), str) and text), "")


# Shell commands ------------------------------------------------------------------------------------------

_MAX_COMMAND_CHARACTERS = 2_000
_URL = re.compile(r"https?://[^\s<>\"'`)\]}|;&]+", re.IGNORECASE)
_LOCAL_HOST = re.compile(r"localhost|127\.[\d.]+|0\.0\.0\.0|::1|.*\.local(?:host)?")
_GITHUB = re.compile(r"(?:^|[\s;&|(])gh\s+(?:issue|pr|api|release|gist|search|repo|run)\b")

_HARMLESS_REDIRECT = re.compile(r"\d?>&\d|[12&]?>>?\s*/dev/null")
_SEPARATOR = re.compile(r"&&|\|\||[|;\n&]")
_PREFIXES = re.compile(r"(?:\w+=\S*\s+|(?:sudo|time|command|nohup|xargs|timeout\s+\S+)\s+)*")
_SIGNS_OF_CHANGE = (">", "`", "$(", " -delete", " -exec", " -i ")
_READING_COMMAND = re.compile(
    r"(?:cat|bat|less|more|head|tail|sed|awk|nl|wc|ls|ll|tree|find|fd|[ef]?grep|rg|ag|pwd|cd|pushd|popd|which|type"
    r"|whereis|file|stat|du|df|echo|printf|sort|uniq|cut|tr|column|jq|yq|diff|cmp|ps|date|uname|whoami|id|env"
    r"|printenv|history|man|basename|dirname|realpath|readlink|sleep|true|export|source|\.|test|\[|mkdir|touch"
    r"|wait|set|xxd|od|foreword"
    r"|git\s+(?:-\S+\s+\S+\s+)?(?:status|diff|log|show|blame|ls-files|grep|rev-parse|branch|remote|describe"
    r"|reflog|shortlog|cat-file|config))(?:\s|$)"
)
_ASKS_FOR_HELP = re.compile(r"(?:^|\s)(?:--help|--version)(?:\s|$)")


def is_shell_tool(tool: str) -> bool:
    """Whether a tool runs shell commands."""
    return bool(_SHELL_TOOL.fullmatch(tool.lower().rpartition("__")[2]))


def read_command(tool_input: Mapping[str, Any]) -> str:
    """The command in a tool's input; a list of words is joined, and `bash -c …` gives the inner command."""
    command = tool_input.get("command", tool_input.get("cmd", ""))
    if isinstance(command, list):
        words = [str(word) for word in command]
        return (words[-1] if len(words) == 3 and words[1].startswith("-") else " ".join(words)).strip()
    return command.strip() if isinstance(command, str) else ""


def prints_what_can_be_read_again(command: str) -> bool:
    """Whether a command changes nothing and only prints what can be read again."""
    if len(command) > _MAX_COMMAND_CHARACTERS or _URL.search(command):
        return False
    bare = _HARMLESS_REDIRECT.sub(" ", hide_quotations_and_heredocs(command))
    if _ASKS_FOR_HELP.search(bare):
        return True
    if any(sign in bare for sign in _SIGNS_OF_CHANGE):
        return False
    steps = (_PREFIXES.sub("", step.strip(), count=1) for step in _SEPARATOR.split(bare))
    return all(_READING_COMMAND.match(step) for step in steps if step)


def host_fetched_from(command: str) -> str:
    """The host on the web from which a command fetched something; "" if there is none."""
    if _GITHUB.search(command):
        return "github.com"
    host = first_host(command)
    return "" if _LOCAL_HOST.fullmatch(host) else host


def first_host(text: str) -> str:
    """The host of the first web address in a text; "" if there is none."""
    for match in _URL.finditer(text):
        try:
            host = urlsplit(match.group()).hostname
        except ValueError:  # half an IPv6 address
            continue
        if host:
            return host[:200]
    return ""
