"""Read a shell command: its steps without their quotations, and the step that it is about."""

from __future__ import annotations

import re

_QUOTATION = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\{[^}]{0,100}\}|\\.")
_HEREDOC = re.compile(
    r"<<-?\s*(['\"]?)(\w+)\1(?P<rest>.*\n)(?P<text>(?:.*\n)*?)[ \t]*\2[ \t]*(?=\n|$)|<<-?\s*['\"]?\w+(?s:.*)"
)
_HIDDEN = 0xF0000
"""Where the characters of quoted texts are hidden: a plane of Unicode that nobody writes in."""

_STEP_END = re.compile(r"&&|\|\||(?<![>&])&(?![>&\d])|[;\n]")
_PIPE = re.compile(r"\|&?")
_REDIRECTION = re.compile(r"(?:^|\s)(?:\d?>&\d|&>>?\s*\S+|\d?>>?\s*[^\s&]\S*|<\s*\S+)")
_INNER_COMMAND = re.compile(
    r"\s*(?:\S*/)?(?:ba|z|da|k)?sh\s+(?:-\w+\s+)*-\w*c\s+(?P<quote>['\"])(?P<inner>.*)(?P=quote)\s*",
    re.DOTALL,
)
_BEFORE_STEP = re.compile(r"(?:[\s({!]|(?:if|then|else|elif|do|while|until|time|exec)\b)*")
_PLUMBING = re.compile(
    r"(?:\w+=\S*\s*)*(?:$|(?:cd|pushd|popd|export|unset|set|source|\.|exit|return|echo|printf|true"
    r"|false|sleep|wait|trap|test|\[|\[\[|mkdir|touch|tee|cat|head|tail|grep|egrep|rg|sed|awk|less|wc|sort|done"
    r"|fi|for|esac|shopt|ulimit|umask|date|pwd|ls|rm|tput|clear|:)(?:\s|$))"
)
_MAX_DEPTH = 3


def hide_quotations_and_heredocs(command: str) -> str:
    """A command in which each quotation and heredoc is one word that no pattern for commands matches.

    `restore_hidden_texts` gives it back. What follows a heredoc on its first line stays words of the command.
    """
    command = _HEREDOC.sub(_hide_heredoc, command.replace("\\\n", " "))
    return _QUOTATION.sub(lambda quotation: _encode_as_hidden_characters(quotation.group()), command)


def _hide_heredoc(heredoc: re.Match[str]) -> str:
    text = heredoc["text"]
    return (
        f"<<{_encode_as_hidden_characters(heredoc.group())}"
        if text is None
        else f"<<{_encode_as_hidden_characters(text)}{heredoc['rest']}"
    )


def _encode_as_hidden_characters(text: str) -> str:
    return "".join(chr(_HIDDEN + ord(sign)) for sign in text if ord(sign) < _HIDDEN)


def restore_hidden_texts(words: str) -> str:
    """Words of a step, with the texts that were hidden in them, as they were written."""
    return "".join(chr(ord(sign) - _HIDDEN) if ord(sign) >= _HIDDEN else sign for sign in words)


def restore_hidden_texts_unquoted(words: str) -> str:
    """Words of a step, with the texts that were hidden in them, but no quotation marks around these."""
    shown = restore_hidden_texts(words)
    return _QUOTATION.sub(lambda text: text[0][1:-1] if text[0][0] in "'\"" else text[0], shown)


def find_inner_command(command: str) -> str | None:
    """The command in `bash -c`; None if this is another one."""
    inner = _INNER_COMMAND.fullmatch(command)
    return inner["inner"].replace('\\"', '"') if inner else None


def find_main_step(command: str, wanted: re.Pattern[str] | None = None, depth: int = 0) -> str:
    """The step of a command that does its work: the last one that `wanted` finds something in, if any does.

    Otherwise the last one that is more than a change of folder, an exit, a filter of another's output and the
    like; if there is none, the last of all. Pipes and redirections are cut off.
    """
    parts = [_main_part_of_pipe(step) for step in _STEP_END.split(hide_quotations_and_heredocs(command))]
    steps = [restore_hidden_texts(part) for part in parts if part] or [command.strip()]
    sought = [step for step in steps if wanted is not None and wanted.search(step)]
    working = [step for step in steps if not _PLUMBING.match(hide_quotations_and_heredocs(step))]
    step = (sought or working or steps)[-1]
    inner = find_inner_command(step)
    return find_main_step(inner, wanted, depth + 1) if inner and depth < _MAX_DEPTH else step


def _main_part_of_pipe(step: str) -> str:
    """The first part of a pipe that is no filter, without redirections and words of the grammar."""
    parts = [_strip_redirections_and_keywords(part) for part in _PIPE.split(step)]
    return next((part for part in parts if part and not _PLUMBING.match(part)), parts[0])


def _strip_redirections_and_keywords(part: str) -> str:
    begun = _BEFORE_STEP.sub("", part, count=1)
    return " ".join(_REDIRECTION.sub(" ", begun).split()).rstrip(" )}")
