"""Find the steps of a command line that run tests or a build, and whose the exit code and output are.

A runner is recognised by the first word of a step, whatever wraps it. Its name anywhere else, in quotes or in
a heredoc, is no run, nor is a step in the background. In doubt there is no run. The runners are the rows of
`runners.toml`, which explains its columns; `run` interprets their output.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from foreword.capture.tool_calls import SHELL_QUOTATION

Purpose = Literal["test", "build"]
Proof = Literal["exit", "counts", "report"]
"""The proof that a run needs: its exit code; a count of tests, to pass; or a report, for any verdict."""

NEVER = r"(?!)"
"""A pattern that never matches."""


@dataclass(frozen=True, slots=True)
class Goals:
    """How a tool is told its goals by words among its options: `make -j4 test`, `mvn -q clean verify`."""

    programs: str
    tests: str
    builds: str
    maybe_tests: str = NEVER
    skips_tests: str = NEVER
    valued: str = ""
    proof: Proof = "exit"


@dataclass(frozen=True, slots=True)
class Runner:
    """A test runner or build tool: a row of `runners.toml`."""

    name: str
    calls: tuple[tuple[Purpose, Proof, str], ...] = ()
    goals: Goals | None = None
    counts: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    error: str = NEVER
    broken: str = NEVER
    tested: str = NEVER
    built: str = NEVER
    complete: str = ""
    begins: str = NEVER
    one_summary: bool = False
    calls_others: bool = False


def _expand_fragments(value: Any, fragments: dict[str, str]) -> Any:  # noqa: ANN401  (any TOML)
    """The value with every `<name>` replaced by the fragment of that name, and lists as tuples."""
    if isinstance(value, str):
        for name, fragment in fragments.items():
            value = value.replace(f"<{name}>", fragment)
    elif isinstance(value, list):
        return tuple(_expand_fragments(part, fragments) for part in value)
    elif isinstance(value, dict):
        return {key: _expand_fragments(part, fragments) for key, part in value.items()}
    return value


def _join_patterns(patterns: tuple[str, ...]) -> str:
    """A pattern that matches any of these; those that begin a line share one anchor, which is faster."""
    anchored = "|".join(pattern[1:] for pattern in patterns if pattern.startswith("^"))
    loose = [pattern for pattern in patterns if not pattern.startswith("^")]
    return "|".join([*loose, f"^(?:{anchored})"] if anchored else loose)


_FILE = tomllib.loads(Path(__file__).with_name("runners.toml").read_text(encoding="utf-8"))
_FRAGMENTS = dict(reversed(_FILE["fragments"].items()))  # a fragment may contain earlier ones
_TABLE = _expand_fragments(_FILE, _FRAGMENTS)

RUNNERS = tuple(
    Runner(name, **row | {"goals": Goals(**row["goals"]) if "goals" in row else None})
    for name, row in _TABLE["runners"].items()
)
LIKE_TESTS: str = _TABLE["fragments"]["like_tests"]
COULD_NOT_RUN = _join_patterns(_TABLE["lines"]["could_not_run"])
FOUND_NOTHING = _join_patterns(_TABLE["lines"]["found_nothing"])
ONLY_ASKS = "|".join(_TABLE["words"]["only_ask"])
SCRIPT_BINARIES = frozenset(_TABLE["words"]["script_binaries"].split())


# The steps of a command line -----------------------------------------------------------------------------

_MAX_COMMAND_CHARACTERS = 20_000
_MAX_STEP_CHARACTERS = 2_000
_MAX_STEPS = 100
_MAX_WRAPPERS = 12


@dataclass(frozen=True, slots=True)
class RunStep:
    """A step of a command line that tests or builds, and what the exit code and the output prove about it."""

    runner: Runner
    purpose: Purpose
    proof: Proof
    arguments: tuple[str, ...]
    owns_exit: bool = False  # whether the exit code of the command line is this step's
    covered_by_exit: bool = False  # whether the command line would have failed if this step had
    is_first: bool = False  # whether no step before it could have failed instead
    runs_once: bool = True
    is_filtered: bool = False  # whether only a part of its output can be seen
    folder: str = ""  # where `cd` has led before it, from where the command line began


_QUOTED_WORD = re.compile(r"(?<!\S)(['\"])([\w./$@%+:=^*-]+)\1(?!\S)")
_REDIRECT = re.compile(r"\d?>&\d|&>>?\s*\S+|\d?>>?\s*\S+|\d?<\s*\S+")
_SEPARATOR = re.compile(r"(&&|\|\||\|&?|;|&|\n)")
_PIPES = frozenset({"|", "|&"})
_HIDDEN = 0xF0000
"""Where the characters of quoted texts are hidden: a plane of Unicode that nobody writes in."""

_SHELL = re.compile(r"\s*(?:\S*/)?(?:ba|z|da)?sh (?:-\w+ )*-\w*c (['\"])(.*)\1\s*", re.DOTALL)
HEREDOC = re.compile(
    r"(<<-?\s*['\"]?(\w+)['\"]?[^\n]*\n)(?:.*\n)*?[ \t]*\2[ \t]*(?=\n|$)|<<-?\s*['\"]?\w+(?s:.*)"
)
_CANNOT_FAIL = re.compile(
    r"(?:cd|pushd|popd|export|source|\.|set|unset|mkdir|echo|printf|true|:|clear|sleep|for)(?:\s|$)"
)
_MOVES = re.compile(r"(?:cd|pushd) (\S+)")
_NEGATES = re.compile(r"(?:(?:do|then|else) )?(?:!|if|while|until) ")
_LOOPS = re.compile(r"(?:do|for|while|until) ")
_SHOWS_END = re.compile(r"(?:\S*/)?(?:tail|tee|cat|less|more|ts|nl)(?:\s|$)")
_SHARED_PIPE = re.compile(r"\(|\{ |\bdone\b|--?w(?:ork)?s(?:paces)?\b|-r\b")
"""A command in which several runs may share one pipe, so that its `tail` shows only the last of them."""


def find_run_steps(command: str) -> tuple[RunStep, ...]:
    """The steps of a command line that run tests or a build, in order."""
    command = _unwrap_shell_and_quoted_words(command)
    steps, separators = _split_into_steps(command)
    found: list[RunStep] = []
    folder = ""
    for index, step in enumerate(steps[:_MAX_STEPS]):
        if run := _read_run_step(steps, separators, index, command):
            found.append(replace(run, folder=folder))
        folder = folder_after_step(step, folder)
    return tuple(found)


def folder_after_step(step: str, folder: str) -> str:
    """The folder in which a shell is after a step that it begins in `folder`: where `cd` leads, or there."""
    moved = _MOVES.fullmatch(step)
    if moved is None or (target := restore_quoted_text(moved[1])).startswith(("-", "$")):
        return folder
    return str(Path(folder, os.path.expanduser(target)))  # noqa: PTH111  (a word, no path)


def _unwrap_shell_and_quoted_words(command: str) -> str:
    """A command line without a shell around it, and without quotation marks around single words."""
    return _QUOTED_WORD.sub(r"\2", _unwrap_shell_command(command[:_MAX_COMMAND_CHARACTERS]))


def _split_into_steps(command: str) -> tuple[list[str], list[str]]:
    """The steps of a command line, and what separates each from the next."""
    parts = _SEPARATOR.split(_REDIRECT.sub(" ", SHELL_QUOTATION.sub(_hide_quoted_text, command)))
    steps, separators = [" ".join(part.strip(" \t(){}").split()) for part in parts[::2]], parts[1::2]
    while steps and not steps[-1]:  # a separator at the end leaves an empty step
        steps.pop()
        if separators and separators[-1] in (";", "\n"):
            separators.pop()
    return steps, separators


def _hide_quoted_text(quotation: re.Match[str]) -> str:
    """A quotation as one word that no pattern for commands matches; `restore_quoted_text` gives its text."""
    text = quotation.group()[1:-1]
    return "".join(chr(_HIDDEN + ord(sign)) for sign in f"\0{text}" if ord(sign) < _HIDDEN)


def restore_quoted_text(word: str) -> str:
    """A word of a step, with the text of quotations in it."""
    shown = (chr(ord(sign) - _HIDDEN) if ord(sign) >= _HIDDEN else sign for sign in word)
    return "".join(shown).replace("\0", "")


def _read_run_step(steps: list[str], separators: list[str], index: int, command: str) -> RunStep | None:
    """The step at an index, with what follows from its position for exit code and output; None for no run."""
    run = find_runner_step(steps[index]) if len(steps[index]) <= _MAX_STEP_CHARACTERS else None
    after = separators[index:]
    if run is None or next((separator for separator in after if separator not in _PIPES), "") == "&":
        return None
    pass_on = {"&&"} | (_PIPES if "pipefail" in command else set())
    if re.search(r"\bset -\w*e", command):
        pass_on |= {";", "\n"}
    covered = pass_on.issuperset(after) and not _NEGATES.match(steps[index])
    return replace(
        run,
        owns_exit=covered and _PIPES.issuperset(after),
        covered_by_exit=covered,
        is_first=all(not step or _CANNOT_FAIL.match(step) for step in steps[:index]),
        runs_once=not any(map(_LOOPS.match, steps[: index + 1])),
        is_filtered=_is_output_filtered(steps[index + 1 :], after, shared=bool(_SHARED_PIPE.search(command))),
    )


def _is_output_filtered(steps: list[str], separators: list[str], *, shared: bool) -> bool:
    """Whether a pipe hides a part of a step's output; `tail` shows the end, which is enough for one run."""
    for step, separator in zip(steps, separators, strict=False):
        if separator not in _PIPES and not shared:
            return False
        if separator in _PIPES and (not _SHOWS_END.match(step) or (shared and "tail" in step)):
            return True
    return False


def _unwrap_shell_command(command: str) -> str:
    """The command inside `bash -c`, without the texts of heredocs."""
    for _ in range(2):
        command = HEREDOC.sub(r"\1", command.replace("\\\n", " "))
        if (inner := _SHELL.fullmatch(command)) is None:
            break
        command = inner[2].replace('\\"', '"')
    return command


# Which runner a step calls -------------------------------------------------------------------------------

_OPTION_WITH_VALUE = (
    "-C|-F|-W|-X|-e|-f|-g|-i|-k|-l|-n|-o|-p|-s|-u|-v|-w|--with|--with-requirements|--from|--extra|--group"
    "|--python|--package|--project|--directory|--env-file|--env|--name|--prefix|--cwd|--workspace|--filter|--source|--omit"
    "|--rcfile|--volume|--workdir|--user|--network|--entrypoint|--mount|--platform|--namespace|--container"
)
"""Options of wrappers that take a value. If one has none after all, no command is found, so no run."""

_OPTIONS = rf"(?: (?:{_OPTION_WITH_VALUE}) \S+| -\S+)*+"
_BEFORE_RUN = r"(?: -\S+(?: (?!run )[^-\s]\S*)?)*?"
_WRAPPER = re.compile(
    r"(?:\w+=\S*"
    rf"|(?:do|then|else|if|while|until|!|time|command|exec|nohup|sudo|nice|stdbuf|env|cross-env){_OPTIONS}"
    rf"|(?:bundle exec|(?:uv|poetry|pipenv|pdm|hatch|rye){_BEFORE_RUN} run|uvx|pipx run"
    rf"|coverage run){_OPTIONS}"
    rf"|(?:npx|bunx|pnpx|(?:npm|pnpm|yarn|bun) (?:exec|dlx|x)|(?:conda|mamba|micromamba) run){_OPTIONS}"
    rf"|(?:timeout|kubectl(?: -n \S+)? exec){_OPTIONS} \S+{_OPTIONS}"  # an argument of their own comes first
    rf"|(?:docker|podman)(?: compose|-compose)?{_BEFORE_RUN} (?:run|exec){_OPTIONS} \S+"
    r"|py(?:thon[\d.]*)?(?: -[WX] [^-\s]\S*| -(?!m )\S+)* -m(?= (?:pytest|unittest|[nt]ox|mypy"
    r"|coverage)(?: |$))"
    r"|(?:node(?: -\S+)*|php)(?= \S*(?:node_modules|\.yarn|vendor)/)) "
)
_FOLDER_OR_VERSION = re.compile(r"^[^\s=]*[/\\](?=[^\s/\\])|(?<=\w)@[\w.^~-]+(?=\s|$)")
_BEFORE_SCRIPT = frozenset({"run", "run-script", "workspaces", "foreach"})
_BY_PROGRAM = {
    program: runner for runner in RUNNERS if runner.goals for program in runner.goals.programs.split()
}
_CALLS = tuple(
    (runner, purpose, proof, re.compile(rf"(?:{words})(?=\s|$)"))
    for runner in RUNNERS
    for purpose, proof, words in runner.calls
)


def unwrap_step(step: str) -> str:
    """A step without what wraps its program: settings, `sudo`, `npx`, `uv run`, the folder of the program."""
    for _ in range(_MAX_WRAPPERS):
        program, space, rest = step.partition(" ")
        step = f"{_FOLDER_OR_VERSION.sub('', program)}{space}{rest}"
        if (wrapper := _WRAPPER.match(step)) is None:
            break
        step = step[wrapper.end() :]
    return step


def find_runner_step(step: str) -> RunStep | None:
    """The run that a step makes: its runner, purpose, proof and arguments; None if it is no run."""
    step = unwrap_step(step)
    words = step.split()
    if not words or re.search(ONLY_ASKS, step):
        return None
    if words[0] in _BY_PROGRAM:
        return _find_step_by_goals(_BY_PROGRAM[words[0]], words)
    for runner, purpose, proof, shape in _CALLS:
        if called := shape.match(step):
            return RunStep(runner, purpose, proof, tuple(step[called.end() :].split()))
    return None


def _find_step_by_goals(runner: Runner, words: list[str]) -> RunStep | None:
    """The run of a tool, by the words that are neither options nor their values; None if it is no run."""
    known, command = runner.goals, " ".join(words)
    if known is None:
        return None
    valued = known.valued.replace(" ", "|")
    goals = re.sub(
        rf" (?:{valued}) \S+| -\S+| \w+=\S*| \d+(?= |$)", "", command.partition(" -- ")[0]
    ).split()[1:]
    if runner.name == "npm":
        goals = [goal for goal in goals if goal not in _BEFORE_SCRIPT][:1]
        if goals and goals[0] in SCRIPT_BINARIES and words[0] != "npm":
            return find_runner_step(" ".join(words[words.index(goals[0]) :]))
    arguments = tuple(word for word in words[1:] if word not in goals or re.fullmatch(LIKE_TESTS, word))
    if not re.search(known.skips_tests, command):
        if any(re.fullmatch(known.tests, goal) for goal in goals) and "--if-present" not in words:
            quiet = "-q" in words or "--quiet" in words
            return RunStep(runner, "test", "exit" if quiet else known.proof, arguments)
        if any(re.fullmatch(known.maybe_tests, goal) for goal in goals):
            return RunStep(runner, "test", "report", arguments)
    builds = [bool(re.fullmatch(known.builds, goal)) for goal in goals]
    decided = all(builds) if runner.name == "make" else any(builds)
    return RunStep(runner, "build", "exit", arguments) if decided else None
