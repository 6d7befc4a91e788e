"""Which step of a command line tests or builds something, known by its words; and whose its exit code is.

Runs nothing, and reads no output. What only asks a tool for its version, lists tests, watches for ever or was
left in the background is no run; neither are words inside quotes or in a text that is handed on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Purpose = Literal["test", "build"]

_LONGEST_COMMAND = 20_000
_LONGEST_STEP = 2_000
_MOST_WORDS = 20

_SCRIPTS = r"(?:npm|pnpm|yarn|bun)(?: run| run-script)?(?: -\S+)*"
_TESTING = r"(?:\S*[-_:/.])?tests?(?:[-_:.]\S*)?"
_SHAPES: tuple[tuple[str, Purpose, str], ...] = (
    ("pytest", "test", r"pytest|py\.test"),
    ("unittest", "test", r"python[\d.]*(?: -\w+)* -m unittest|python[\d.]* (?:\S*/)?manage\.py test"),
    ("unittest", "test", r"python[\d.]*(?: -\w)* (?:\S*/)?(?:tests?|test_\w+|\w+_test)\.py"),
    ("jest", "test", r"jest"),
    ("vitest", "test", r"vitest"),
    ("mocha", "test", r"mocha"),
    ("rspec", "test", r"rspec"),
    ("go", "test", r"go test"),
    ("go", "build", r"go (?:build|vet|install)"),
    ("cargo", "test", r"cargo (?:\+\S+ )?(?:test|t|nextest run|nextest r)"),
    ("cargo", "build", r"cargo (?:\+\S+ )?(?:build|b|check|c|clippy)"),
    ("tsc", "build", r"(?:vue-)?tsc"),
    ("maven", "test", r"mvnw?(?: \S+)*? (?:test|verify|package|install|deploy|integration-test)"),
    ("maven", "build", r"mvnw?(?: \S+)*? (?:compile|test-compile)"),
    ("gradle", "test", r"gradlew?(?: \S+)*? (?:\S*:)?(?:\w*[tT]est|check|build)"),
    ("gradle", "build", r"gradlew?(?: \S+)*? (?:\S*:)?(?:assemble|compile|\w*[cC]lasses)\w*"),
    ("npm", "test", rf"{_SCRIPTS} (?:t|tst|{_TESTING})|npm (?:cit|install-test)"),
    ("npm", "build", rf"{_SCRIPTS} (?:build|compile|type-?check|types)[\w:.-]*"),
    ("make", "test", rf"g?make(?: \S+)*? (?:{_TESTING}|check\S*)"),
    ("make", "build", r"g?make(?: (?:-\S+|\w+=\S*|all|build\S*|compile\S*|dist|release|\d+))*$"),
    ("tests", "test", r"tox|nox|ctest|phpunit|ava|prove|node (?:\S+ )*--test|cypress run"),
    ("tests", "test", r"(?:dotnet|swift|mix|deno|bazel|playwright|rake|rails|zig build) (?:test|spec)"),
    ("tests", "test", r"(?:(?:ba|z)?sh )?(?:\S*/)?(?:run[-_]?)?tests?(?:[-_]\w+)*\.sh"),
    ("compiler", "build", r"mypy|pyright|javac|gcc|g\+\+|clang|clang\+\+|ninja|cmake --build"),
    ("compiler", "build", r"(?:dotnet|swift|bazel|zig|vite|next|nuxt|webpack) build|webpack"),
)
_TOOLS = tuple((tool, purpose, re.compile(rf"(?:{shape})(?![\w-])")) for tool, purpose, shape in _SHAPES)
_ASKS = re.compile(
    r"(?:^|\s)(?:--version|--help|-h|--collect-only|--co|--fixtures|--markers|--listTests|--list|-list"
    r"|--no-run|--dry-run|--just-print|--showConfig|--init|--watch|--watchAll|--ui)(?:[\s=]|$)"
    r"|^g?make (?:\S+ )*-n(?:\s|$)"
)
_BEFORE = re.compile(
    r"(?:\w+=\S*|do|then|else|if|while|until|!|sudo(?: -\w+)*|time|command|exec|nohup|env|builtin"
    r"|nice(?: -n \S+)?|stdbuf \S+|xvfb-run(?: -\w)?|timeout(?: -\S+)* \S+|bundle exec|dotenv run --"
    r"|(?:uv|poetry|pipenv|pdm|hatch|rye)(?: -\S+)* run(?: -\S+)*|npx(?: -\S+)*|bunx|pnpx"
    r"|(?:pnpm|yarn|npm)(?: exec| dlx)(?: --)?|(?:pnpm|yarn)(?= (?:jest|vitest|mocha|tsc)\b)"
    r"|coverage run(?: (?!-m )\S+){0,6} -m"
    r"|python[\d.]*(?: (?!-m )\S+){0,4} -m(?= (?:pytest|nox|tox|mypy|coverage)\b)) +"
)
_INSIDE = re.compile(
    r"^(?:\w+=\S* +|sudo +)*(?:(?:docker|podman)(?: compose|-compose)? (?:exec|run)|kubectl exec|npx"
    r"|direnv exec|nix develop|(?:uv|poetry|pipenv|pdm|hatch|rye|conda|mamba|devbox) run) "
)
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"")
_REDIRECT = re.compile(r"\d?>&\d|&>>?\s*\S+|\d?>>?\s*\S+|\d?<\s*\S+")
_JOINT = re.compile(r"(&&|\|\||\|&?|;|&|\n)")
_SHELL = re.compile(r"\s*(?:\S*/)?(?:ba|z|da)?sh (?:-\w+ )*-\w*c (['\"])(.*)\1\s*", re.DOTALL)
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")
_HARMLESS = re.compile(
    r"(?:cd|pushd|popd|export|source|\.|set|unset|mkdir|echo|printf|true|:|clear|sleep|for)(?:\s|$)"
)
_STRICT = re.compile(r"\bset -\w*e")
_FOLDER = re.compile(r"^[^\s=]*/(?=[^\s/])")


@dataclass(frozen=True, slots=True)
class Step:
    """The part of a command line that tests or builds, and what the exit code of the whole says of it."""

    tool: str
    purpose: Purpose
    last: bool
    """Whether the exit code is its own."""

    chained: bool
    """Whether, had it failed, the whole would have failed."""

    alone: bool
    """Whether nothing before it could have failed instead."""


def last_run(command: str) -> Step | None:
    """The last step of a command line that is a run; one that was left in the background is not."""
    command = _unwrapped(command[:_LONGEST_COMMAND])
    parts = _JOINT.split(_REDIRECT.sub(" ", _QUOTED.sub("_", command)))
    steps, joints = [" ".join(part.strip(" \t(){}").split()) for part in parts[::2]], parts[1::2]
    while steps and not steps[-1]:  # what ends with a separator ends with an empty step
        steps.pop()
        if joints and joints[-1] in (";", "\n"):
            joints.pop()
    for at in range(len(steps) - 1, -1, -1):
        if (known := _tool(steps[at])) is not None:
            return _placed(known, steps[:at], joints[at:], command)
    return None


def _placed(known: tuple[str, Purpose], before: list[str], after: list[str], command: str) -> Step | None:
    """The step with what its place in the command line means for the exit code."""
    if next((joint for joint in after if not joint.startswith("|") or joint == "||"), "") == "&":
        return None
    passes_on = {"&&"}
    if "pipefail" in command:
        passes_on |= {"|", "|&"}
    if _STRICT.search(command):
        passes_on |= {";", "\n"}
    chained = all(joint in passes_on for joint in after)
    last = chained and all(joint.startswith("|") for joint in after)
    alone = all(not step or _HARMLESS.match(step) for step in before)
    return Step(*known, last=last, chained=chained, alone=alone)


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


def _tool(step: str) -> tuple[str, Purpose] | None:
    """Which tool a step runs, and for what; in a container or an environment it may be any of the words."""
    if len(step) > _LONGEST_STEP or _ASKS.search(step):
        return None
    if (known := _known(_bare(step))) is not None:
        return known
    inside = _INSIDE.search(step)
    words = step[inside.end() :].split()[:_MOST_WORDS] if inside else []
    return next((found for at in range(len(words)) if (found := _known(_bare(" ".join(words[at:]))))), None)


def _bare(step: str) -> str:
    """The step without what only says how or where something is run, and without its folder."""
    step = _FOLDER.sub("", step)
    while (before := _BEFORE.match(step)) is not None:
        step = _FOLDER.sub("", step[before.end() :])
    return step


def _known(step: str) -> tuple[str, Purpose] | None:
    return next(((tool, purpose) for tool, purpose, shape in _TOOLS if shape.match(step)), None)
