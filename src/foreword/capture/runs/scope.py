"""Find what a run covered, by the words of its command and the names in its output.

A run without a selection covered everything, or in a folder of the project everything in that folder. A run
of files, names or a filter covered only those, and in doubt a test was not covered. Paths are from the
project's root.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from foreword.capture.runs.changes import FILE_ENDING
from foreword.capture.runs.commands import LINES, OPTIONS, compile_multiline_pattern
from foreword.text.shell import restore_hidden_texts_unquoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foreword.capture.runs.commands import RunStep

_MAX_COMMAND_CHARACTERS = 4_000

_NAME = re.compile(r"[A-Za-z](?:[\w.-]*\w)?")
_TEST_WORD = re.compile(r"^tests?[-_]|[-_.](?:tests?|specs?)$|(?<=[a-z0-9])(?:Tests?|Specs?)$|^Test(?=[A-Z])")
_BEFORE_PATH_ENDS = re.compile(r"(?:(?!::| [›>] )[^\n])+")
_BETWEEN_SEGMENTS = re.compile(r"[/\\]|::| [›>] ")
_PARAMETERS = re.compile(r"\[.*\]$", re.DOTALL)
_FILTER_WORD = re.compile(r"\b(?!(?:and|or|not)\b)[^\W_]\w*")
_BETWEEN_FILTERS = re.compile(r"\s+or\s+|\|")
_NOT_CHOSEN = re.compile(r"\bnot +\w+|(?:^|\s)[~!]\S+")


class _Selection(NamedTuple):
    """What a step was told to run, and to leave out; a filter is "" if nobody knows what it chooses."""

    paths: list[str]
    filters: list[str]
    excluded: list[str]


@dataclass(frozen=True, slots=True)
class RunScope:
    """The keys of what was run (or everything), of what failed, and of what was left out.

    `paths`, `filters` and `excluded` are as the command has them. `folders`: all of it is in these folders of
    the project; none if it ran in its root. `repeats_failures`: it ran what had failed before. What comes
    after is added by `knowledge`: whether tests that are known to have failed are among what was run, and
    whether code that was changed is in the folders.
    """

    everything: bool = True
    keys: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()
    command: str = ""
    paths: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    repeats_failures: bool = False
    folders: tuple[str, ...] = ()
    has_earlier_failures: bool = False
    has_changed_code: bool = False

    @property
    def selection(self) -> tuple[str, ...]:
        """What the command chose to run; empty if it ran everything."""
        return tuple(sorted({*self.folders, *self.paths, *self.filters}))

    def includes_subject(self, key: str) -> bool:
        """Whether the run included the subject, such as a test, that has this key."""
        everywhere = self.everything and (self.has_changed_code or not self.folders)
        return key not in self.left_out and (everywhere or key in self.keys)

    def includes_test(self, name: str) -> bool:
        """Whether the run included a test; `name` is as a runner prints it: `tests/test_a.py::test_b[1]`."""
        segments = _split_test_name(name)
        key = key_of_test(name)
        if key in self.left_out or any(_is_test_below_path(segments, path) for path in self.excluded):
            return False
        if self.folders and not any(_is_test_below_path(segments, folder) for folder in self.folders):
            return False
        if self.everything or self.repeats_failures:
            return True
        if any(_filter_selects_test(text, name) for text in self.filters):
            return True
        around = [_split_test_name(path)[-1] for path in self.paths if _is_test_below_path(segments, path)]
        return segments[-1] in around or bool(
            around and not self.filters
        )  # its own name: no filter left it out


def name_of_test_in_project(name: str, folder: str) -> str:
    """The name of a test that a runner printed in a folder, with the path in it from the project's root."""
    path = _BEFORE_PATH_ENDS.match(name)
    if path is None or not FILE_ENDING.search(path.group()):
        return name
    return _join_path(folder, path.group()) + name[path.end() :]


def _join_path(folder: str, path: str) -> str:
    """A path from the project's root that a command, which runs in a folder of it, has in another form."""
    return os.path.normpath(os.path.join(folder, path)) if folder else path  # noqa: PTH118  (a word, no path)


def _split_test_name(name: str) -> list[str]:
    """The parts of a test's name from the outside in, without the values of its parameters."""
    return _BETWEEN_SEGMENTS.split(_PARAMETERS.sub("", name.strip()))


def key_of_test(name: str) -> str:
    """The key of a test, by the last part of its name as a runner prints it."""
    return subject_key(_split_test_name(name)[-1])


def _is_test_below_path(segments: Sequence[str], path: str) -> bool:
    """Whether a test is in a folder, a file or a class that was chosen by its path."""
    chosen = _split_test_name(path.removeprefix("./").removesuffix("...").rstrip("/"))
    places = range(len(segments) - len(chosen) + 1)
    if any(list(segments[at : at + len(chosen)]) == chosen for at in places):
        return True
    return not _test_name_includes_file(segments) and subject_key(chosen[-1]) in map(subject_key, segments)


def _test_name_includes_file(segments: Sequence[str]) -> bool:
    """Whether the name of a test has its file in it."""
    return any(FILE_ENDING.search(segment) for segment in segments)


def _filter_selects_test(text: str, name: str) -> bool:
    """Whether a filter chooses a test: all words of one of its alternatives are in the test's name."""
    wanted = (_FILTER_WORD.findall(_NOT_CHOSEN.sub(" ", part)) for part in _BETWEEN_FILTERS.split(text))
    return any(words and all(word.lower() in name.lower() for word in words) for words in wanted)


def subject_key(name: str) -> str:
    """The key of a name, the same for code and its tests: `retry` for both `test_retry.py` and `retry`."""
    name = FILE_ENDING.sub("", name.rstrip("/").replace("\\", "/").rpartition("/")[2])
    last = _TEST_WORD.sub("", name).rpartition(".")[2]
    return re.sub("[-_]", "", _TEST_WORD.sub("", last)).lower()


def subject_keys_in(texts: Iterable[str]) -> set[str]:
    """The keys of all names in these texts; a name with dots gives the keys of its parts too."""
    keys: set[str] = set()
    for text in texts:
        for name in _NAME.findall(text):
            keys.update(map(subject_key, (name, *FILE_ENDING.sub("", name).split("."))))
    return keys - {""}


def read_scope(command: str, steps: Sequence[RunStep], text: str, failing: Iterable[str]) -> RunScope:
    """The scope of the test steps of a command line, with what of it failed or was left out."""
    tests = [step for step in steps if step.purpose == "test"]
    selections = [_read_selection(step) for step in tests]
    paths, filters, excluded = (
        tuple(chain.from_iterable(one[part] for one in selections)) for part in range(3)
    )
    left_out = {
        subject_key(match[match.lastindex or 0])
        for match in compile_multiline_pattern(LINES["skipped"]).finditer(text)
    }
    failed = subject_keys_in(failing)
    keys = failed | subject_keys_in(_NOT_CHOSEN.sub(" ", words) for words in filters)
    keys.update(_key_of_path(path) for one in selections if not one.filters for path in one.paths)
    if not filters:  # what a filter chose is known without its output
        keys |= subject_keys_in(compile_multiline_pattern(LINES["passed"]).findall(text))
    folders = {step.folder for step in tests}
    return RunScope(
        not tests or not all(one.paths or one.filters for one in selections),
        frozenset(keys),
        frozenset(failed),
        frozenset(left_out | set(map(_key_of_path, excluded))),
        command[:_MAX_COMMAND_CHARACTERS].lower(),
        paths,
        tuple(filter(None, filters)),
        tuple(filter(None, excluded)),
        any(OPTIONS["failed"].fullmatch(word) for step in tests for word in step.arguments),
        folders=() if "" in folders else tuple(sorted(folders)),
    )


def _key_of_path(path: str) -> str:
    """The key of the file, folder or test that a path leads to."""
    return subject_key(path.removesuffix("/...").rpartition("::")[2])


def _read_selection(step: RunStep) -> _Selection:
    """What the arguments of a step choose, with paths from where the folder of the step begins."""
    chosen = _Selection([], [], [])
    rest = map(restore_hidden_texts_unquoted, step.arguments)
    for word in rest:
        option, equals, value = word.partition("=")
        meaning = next((name for name in OPTIONS if OPTIONS[name].fullmatch(option + equals)), "path")
        if meaning in ("named", "left_out", "neutral"):
            value = value if equals else next(rest, "")
        if meaning in ("some", "failed"):
            chosen.filters.append("")
        elif meaning == "named" and not value.startswith("no:"):  # pytest -p no:cacheprovider
            chosen.filters.append(value)
        elif meaning == "left_out":
            chosen.excluded.append(_join_path(step.folder, value))
        elif meaning == "path" and not word.startswith("-") and not equals and not word.isdigit():
            chosen.paths.append(_join_path(step.folder, word))
    return chosen
