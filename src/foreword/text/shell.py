"""Read a shell command for the step that it is about, without what only prepares that step or follows it."""

from __future__ import annotations

import re

_QUOTATION = r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\{[^}]{0,100}\}|\\."
_STEP_END = re.compile(rf"({_QUOTATION})|&&|\|\||(?<![>&])&(?![>&\d])|[;\n]")
_PIPE = re.compile(rf"({_QUOTATION})|\|&?")
_REDIRECTION = re.compile(r"(?:^|\s)(?:\d?>&\d|&>>?\s*\S+|\d?>>?\s*[^\s&]\S*|<\s*\S+)")
_INNER_COMMAND = re.compile(
    r"(?:\S*/)?(?:ba|z|da|k)?sh\s+(?:-\w+\s+)*-\w*c\s+(?P<quote>['\"])(?P<inner>.*)(?P=quote)", re.DOTALL
)
_BEFORE_STEP = re.compile(r"(?:[\s({!]|(?:if|then|else|elif|do|while|until|time|exec)\b)*")
_PLUMBING = re.compile(
    r"(?:\w+=(?:\S*|\"[^\"]*\"|'[^']*')\s*)*(?:$|(?:cd|pushd|popd|export|unset|set|source|\.|exit|return|echo|printf|true"
    r"|false|sleep|wait|trap|test|\[|\[\[|mkdir|touch|tee|cat|head|tail|grep|egrep|rg|sed|awk|less|wc|sort|done"
    r"|fi|for|esac|shopt|ulimit|umask|date|pwd|ls|rm|tput|clear|:)(?:\s|$))"
)
_MAX_DEPTH = 3


def find_main_step(command: str, wanted: re.Pattern[str] | None = None, depth: int = 0) -> str:
    """The step of a command that does its work: the last one that `wanted` finds something in, if any does.

    Otherwise the last one that is more than a change of folder, an exit, a filter of another's output and the
    like; if there is none, the last of all. Pipes and redirections are cut off.
    """
    steps = [_main_part_of_pipe(step) for step in _split_unquoted(_STEP_END, command)]
    steps = [step for step in steps if step] or [command.strip()]
    sought = [step for step in steps if wanted is not None and wanted.search(step)]
    working = [step for step in steps if not _PLUMBING.match(step)]
    step = (sought or working or steps)[-1]
    inner = _INNER_COMMAND.match(step)
    return find_main_step(inner["inner"], wanted, depth + 1) if inner and depth < _MAX_DEPTH else step


def _main_part_of_pipe(step: str) -> str:
    """The first part of a pipe that is no filter, without redirections and words of the grammar."""
    parts = [_clean_part(part) for part in _split_unquoted(_PIPE, step)]
    return next((part for part in parts if part and not _PLUMBING.match(part)), parts[0])


def _clean_part(part: str) -> str:
    begun = part[_end_of_match(_BEFORE_STEP, part) :]
    return " ".join(_REDIRECTION.sub(" ", begun).split()).rstrip(" )}") if begun else ""


def _end_of_match(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return match.end() if match else 0


def _split_unquoted(separator: re.Pattern[str], text: str) -> list[str]:
    """The text, divided where the separator stands outside quotations, which are its first group."""
    parts, begin = [], 0
    for match in separator.finditer(text):
        if match[1] is None:
            parts.append(text[begin : match.start()])
            begin = match.end()
    return [*parts, text[begin:]]
