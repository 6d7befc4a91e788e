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
from functools import cache
from pathlib import Path
from typing import Any, Literal

from foreword.text.shell import (
    find_inner_command,
    hide_quotations_and_heredocs,
    restore_hidden_texts_unquoted,
)

Purpose = Literal["test", "build"]
Proof = Literal["exit", "counts", "report"]
"""The proof that a run needs: its exit code; a count of tests, to pass; or a report, for any verdict."""

NEVER = r"(?!)"
"""A pattern that never matches."""


@dataclass(frozen=True, slots=True)
class Runner:
    """A test runner or build tool: a row of `runners.toml`."""

    name: str
    calls: tuple[tuple[Purpose, Proof, str], ...] = ()
    programs: str = ""
    goals: tuple[tuple[Purpose, Proof, str], ...] = ()
    before_goal: str = ""
    skips_tests: str = NEVER
    valued: str = ""
    counts: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    error: str = NEVER
    broken: str = NEVER
    tested: str = NEVER
    built: str = NEVER
    complete: str = ""
    one_summary: bool = False
    calls_others: bool = False


def read_toml_with_fragments(name: str) -> dict[str, Any]:
    """The tables of a TOML file; `<name>` stands for a fragment, which may have earlier ones in it."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    for fragment, pattern in reversed(tomllib.loads(text)["fragments"].items()):
        text = text.replace(f"<{fragment}>", pattern)
    return tomllib.loads(text)


def _join_patterns(patterns: tuple[str, ...]) -> str:
    """A pattern that matches any of these; those that begin a line share one anchor, which is faster."""
    anchored = "|".join(pattern[1:] for pattern in patterns if pattern.startswith("^"))
    loose = [pattern for pattern in patterns if not pattern.startswith("^")]
    return "|".join([*loose, f"^(?:{anchored})"] if anchored else loose)


@cache
def compile_multiline_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern in which ^ and $ are the ends of a line, compiled when it is first needed."""
    return re.compile(pattern, re.MULTILINE)


_TABLE = read_toml_with_fragments("runners.toml")
RUNNERS = tuple(Runner(name, **row) for name, row in _TABLE["runners"].items())
LINES = {name: _join_patterns(patterns) for name, patterns in _TABLE["lines"].items()}
"""What lines of any runner look like, by the names of `runners.toml`."""

OPTIONS = {name: re.compile(pattern) for name, pattern in _TABLE["options"].items()}
"""What the options of runners mean for what is run, by the names of `runners.toml`."""


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
    command = _REDIRECT.sub(" ", unwrap_command(command))
    parts = _SEPARATOR.split(command.rstrip("; \t\n"))
    steps, separators = [tidy_step(part) for part in parts[::2]], parts[1::2]
    found: list[RunStep] = []
    folder = ""
    for index, step in enumerate(steps[:_MAX_STEPS]):
        if run := _read_run_step(steps, separators, index, command):
            found.append(replace(run, folder=folder))
        folder = folder_after_step(step, folder)
    return tuple(found)


def unwrap_command(command: str) -> str:
    """A command line, or the one in `bash -c`, with its texts hidden, and no marks around single words."""
    command = command[:_MAX_COMMAND_CHARACTERS]
    command = find_inner_command(command) or command
    return hide_quotations_and_heredocs(_QUOTED_WORD.sub(r"\2", command))


def tidy_step(part: str) -> str:
    """A step without the brackets around it, and with one blank between its words."""
    return " ".join(part.strip(" \t(){}").split())


def folder_after_step(step: str, folder: str) -> str:
    """The folder in which a shell is after a step that it begins in `folder`: where `cd` leads, or there."""
    moved = _MOVES.fullmatch(step)
    if moved is None or (target := restore_hidden_texts_unquoted(moved[1])).startswith(("-", "$")):
        return folder
    return str(Path(folder, os.path.expanduser(target)))  # noqa: PTH111  (a word, no path)


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


# Which runner a step calls -------------------------------------------------------------------------------

_WRAPPER = re.compile(f"(?:{'|'.join(_TABLE['words']['wrappers'])}) ")
_ONLY_ASKS = re.compile("|".join(_TABLE["words"]["only_ask"]))
_LIKE_TESTS = re.compile(_TABLE["fragments"]["like_tests"])
_FOLDER_OR_VERSION = re.compile(r"^[^\s=]*[/\\](?=[^\s/\\])|(?<=\w)@[\w.^~-]+(?=\s|$)")
_BY_PROGRAM = {program: runner for runner in RUNNERS for program in runner.programs.split()}
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
    if not words or _ONLY_ASKS.search(step):
        return None
    if words[0] in _BY_PROGRAM:
        return _find_run_by_positional_arguments(_BY_PROGRAM[words[0]], words)
    for runner, purpose, proof, shape in _CALLS:
        if called := shape.match(step):
            return RunStep(runner, purpose, proof, tuple(step[called.end() :].split()))
    return None


def _find_run_by_positional_arguments(runner: Runner, words: list[str]) -> RunStep | None:
    """The run of a tool, by the words that are neither options nor their values; None if it is no run."""
    command, valued = " ".join(words), runner.valued.replace(" ", "|")
    no_goals = rf" (?:{valued}) \S+| -\S+| \w+=\S*| \d+(?= |$)"
    goals = re.sub(no_goals, "", command.partition(" -- ")[0]).split()[1:]
    if runner.before_goal:
        goals = [goal for goal in goals if goal not in runner.before_goal.split()][:1]
    arguments = tuple(word for word in words[1:] if word not in goals or _LIKE_TESTS.fullmatch(word))
    is_quiet = "-q" in words or "--quiet" in words
    for purpose, proof, pattern in runner.goals:
        is_left_out = purpose == "test" and re.search(runner.skips_tests, command)
        if not is_left_out and any(re.fullmatch(pattern, goal) for goal in goals or [""]):
            return RunStep(runner, purpose, "exit" if is_quiet and proof == "counts" else proof, arguments)
    return None
