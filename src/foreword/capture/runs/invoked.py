"""Which steps of a command line test or build something; and whose the exit code and the output are.

Runs nothing, and reads no output. What was left in the background is no run; neither are words inside quotes
or in a text that is handed on. Which words call a tool is known to `runners`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from foreword.capture.runs.runners import Proof, Purpose, runner

__all__ = ["Proof", "Purpose", "Step", "runs_in"]

_LONGEST_COMMAND = 20_000
_LONGEST_STEP = 2_000
_MOST_STEPS = 100

_NEEDLESSLY_QUOTED = re.compile(r"(?<!\S)(['\"])([\w./$@%+:=-]+)\1(?!\S)")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"")
_FIRST_MARK, _LAST_MARK = 0xE000, 0xF8FF
"""Characters that mean nothing: each stands for a quoted text, while the steps around it are told apart."""

_MARK = re.compile(f"[{chr(_FIRST_MARK)}-{chr(_LAST_MARK)}]")
_REDIRECT = re.compile(r"\d?>&\d|&>>?\s*\S+|\d?>>?\s*\S+|\d?<\s*\S+")
_JOINT = re.compile(r"(&&|\|\||\|&?|;|&|\n)")
_SHELL = re.compile(r"\s*(?:\S*/)?(?:ba|z|da)?sh (?:-\w+ )*-\w*c (['\"])(.*)\1\s*", re.DOTALL)
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")
_HARMLESS = re.compile(
    r"(?:cd|pushd|popd|export|source|\.|set|unset|mkdir|echo|printf|true|:|clear|sleep|for)(?:\s|$)"
)
_STRICT = re.compile(r"\bset -\w*e")
_TURNS_IT_ROUND = re.compile(r"(?:(?:do|then|else) )?(?:!|if|while|until) ")
_LETS_THROUGH = re.compile(r"(?:\S*/)?(?:tail|tee|cat|less|more|ts|nl)(?:\s|$)")
_SOME = re.compile(r"(?:\S*/)?(head|tail)(?: -n ?(\d+)| -(\d+)| --lines[= ](\d+))?")
_TOGETHER = re.compile(r"\(|\{ |\bdone\b|--?w(?:ork)?s(?:paces)?\b")
"""Where several runs may end in one pipe, which shows the last of them alone."""


@dataclass(frozen=True, slots=True)
class Step:
    """A part of a command line that tests or builds, and what the exit code of the whole says of it."""

    tool: str
    purpose: Purpose
    proof: Proof
    given: tuple[str, ...]
    """The words that its tool was given, those in quotes whole."""

    last: bool
    """Whether the exit code is its own."""

    chained: bool
    """Whether, had it failed, the whole would have failed."""

    alone: bool
    """Whether nothing before it could have failed instead."""

    once: bool
    """Whether it is run once, and not again and again in a loop."""

    most_lines: int | None
    """How many lines of its output can be seen at most: None for all, 0 where only some are let through."""


def runs_in(command: str) -> tuple[Step, ...]:
    """Every step of a command line that is a run, in order; one that was left in the background is not."""
    command = _unwrapped(_MARK.sub("", command[:_LONGEST_COMMAND]))
    command = _NEEDLESSLY_QUOTED.sub(r"\2", command)
    quoted: dict[str, str] = {}
    parts = _JOINT.split(_REDIRECT.sub(" ", _QUOTED.sub(lambda found: _marked(found[0], quoted), command)))
    steps, joints = [" ".join(part.strip(" \t(){}").split()) for part in parts[::2]], parts[1::2]
    while steps and not steps[-1]:  # what ends with a separator ends with an empty step
        steps.pop()
        if joints and joints[-1] in (";", "\n"):
            joints.pop()
    placed = (_placed(steps, joints, at, command, quoted) for at in range(min(len(steps), _MOST_STEPS)))
    return tuple(step for step in placed if step is not None)


def _marked(text: str, quoted: dict[str, str]) -> str:
    """A character in place of a quoted text, of which there may be any number."""
    mark = chr(min(_FIRST_MARK + len(quoted), _LAST_MARK))
    quoted[mark] = text[1:-1]
    return mark


def _placed(
    steps: list[str], joints: list[str], at: int, command: str, quoted: dict[str, str]
) -> Step | None:
    """The step with what its place in the command line means for its exit code and its output."""
    known = runner(steps[at]) if len(steps[at]) <= _LONGEST_STEP else None
    after = joints[at:]
    if known is None or next((joint for joint in after if joint not in ("|", "|&")), "") == "&":
        return None
    passes_on = {"&&"}
    if "pipefail" in command:
        passes_on |= {"|", "|&"}
    if _STRICT.search(command):
        passes_on |= {";", "\n"}
    chained = all(joint in passes_on for joint in after) and not _TURNS_IT_ROUND.match(steps[at])
    return Step(
        known.tool,
        known.purpose,
        known.proof,
        tuple(_MARK.sub(lambda mark: quoted.get(mark[0], ""), word) for word in known.given),
        last=chained and all(joint.startswith("|") for joint in after),
        chained=chained,
        alone=all(not step or _HARMLESS.match(step) for step in steps[:at]),
        once=not any(step.startswith(("do ", "for ", "while ", "until ")) for step in steps[: at + 1]),
        most_lines=_most_lines(steps[at + 1 :], after, together=bool(_TOGETHER.search(command))),
    )


def _most_lines(steps: list[str], joints: list[str], *, together: bool) -> int | None:
    """How many lines a step's pipe lets through: all, those of `head`, or who knows which."""
    most: int | None = None
    for step, joint in zip(steps, joints, strict=False):
        if joint not in ("|", "|&"):
            if not together:
                break
        elif (some := _SOME.fullmatch(step)) and (some[1] == "head" or together):
            shown = int(next(filter(None, some.groups()[1:]), "10")[:6])
            most = shown if most is None else min(most, shown)
        elif not _LETS_THROUGH.match(step):
            return 0
    return most


def _unwrapped(command: str) -> str:
    """The command inside `bash -c`, without the texts that it hands on."""
    for _ in range(2):
        command = _without_heredocs(command.replace("\\\n", " "))
        if (inner := _SHELL.fullmatch(command)) is None:
            break
        command = inner[2].replace('\\"', '"')
    return command


def _without_heredocs(command: str) -> str:
    """The command without texts that it hands on: they are words, not steps."""
    kept: list[str] = []
    until = ""
    for line in command.split("\n"):
        if until:
            until = "" if line.strip() == until else until
            continue
        kept.append(line)
        if found := _HEREDOC.search(line):
            until = found[1]
    return "\n".join(kept)
