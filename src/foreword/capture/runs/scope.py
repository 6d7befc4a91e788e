"""Find what a run covered, by the words of its command and the names in its output.

A run without a selection covered everything. A run of files, names or a filter covered only those, and in
doubt a test was not covered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foreword.capture.runs.commands import RunStep

_MAX_KEYS = 2_000
_MAX_COMMAND_CHARACTERS = 4_000

_NAME = re.compile(r"[A-Za-z](?:[\w.-]*\w)?")
_FILE_ENDING = re.compile(
    r"\.(?:[cm]?[jt]sx?|py|go|rs|java|kts?|rb|exs?|php|cs|swift|c|cc|cpp|h|hpp|scala|sh|vue"
    r"|json|ya?ml|toml|md|txt|sql|html|css|ini|cfg|lock)$"
)
_TEST_ENDING = re.compile(r"[-_.](?:tests?|specs?)$")
_TEST_WORD = re.compile(r"^tests?[-_]|[-_](?:tests?|specs?)$|(?<=[a-z0-9])(?:Tests?|Specs?)$|^Test(?=[A-Z])")
_WHOLE = re.compile(
    r"\./?|\.{3}|(?:\./)?(?:tests?|specs?|src|lib|__tests__|all|run|discover|check|t|tst)/?|\./\.\.\.|--"
    r"|(?:run[-_:.])?(?:tests?|check|specs?)(?:[-_:.](?:all|ci|cov|coverage|full|run))*"
)
_CHOOSES = re.compile(
    r"-[kmtgewpFRL]|-pl|-run|-D(?:it\.)?test|--(?:tests?|test-?[nN]ame-?[pP]attern|grep|filter|example|tag"
    r"|bin"
    r"|test-?[pP]ath-?[pP]atterns?|only|packages?|projects?|workspace|pattern|testsuite|group)|workspace"
    r"|\w*(?:TEST|ARG|OPTS|FILTER|FILE|ONLY|RUN|PKG|PACKAGE|SPEC)\w*(?==)"
)
_CHOOSES_SOME = re.compile(
    r"--(?:lf|last-failed|sw|stepwise|only-?[cC]hanged|changed.*|lib|doc|bins?|only-failures|shard.*|related)"
)
_LEAVES_OUT = re.compile(
    r"--ignore(?:-glob)?|--deselect|--exclude|--?skip|--test-?[pP]ath-?[iI]gnore-?[pP]atterns?"
)
_NEUTRAL = re.compile(
    r"-[ncoWj]|--(?:tb|cov|cov-report|maxfail|durations|timeout|rootdir|color|reporter|config|features|jobs"
    r"|profile|format|seed|settings|verbosity)|-(?:count|timeout|coverprofile)"
)
"""Options whose value does not select tests."""

_NOT_CHOSEN = re.compile(r"\bnot +\w+|(?:^|\s)[~!]\S+")
_SKIPPED_TEST = re.compile(
    r"::(\S+) (?:SKIPPED|XFAIL)\b|^[ \t]*--- SKIP: (\S+)|^test (\S+) \.\.\. ignored|^SKIPPED \[\d+\] (\S+?):",
    re.MULTILINE,
)
_PASSED_TEST = re.compile(
    r"^(?:PASS[ \t]+\S+|\S+::\S+(?= PASSED\b)|--- PASS: \S+|test \S+(?= \.\.\. ok))", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class RunScope:
    """The keys of what was run (or everything), of what failed, and of what was left out."""

    everything: bool = True
    keys: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()
    command: str = ""

    def includes_subject(self, key: str) -> bool:
        """Whether the run included the subject, such as a test, that has this key."""
        return key not in self.left_out and (self.everything or key in self.keys)


def subject_key(name: str) -> str:
    """The key of a name, the same for code and its tests: `retry` for both `test_retry.py` and `retry`."""
    name = _FILE_ENDING.sub("", name.rstrip("/").replace("\\", "/").rpartition("/")[2])
    last = _TEST_ENDING.sub("", name).rpartition(".")[2]
    return re.sub("[-_]", "", _TEST_WORD.sub("", last)).lower()


def subject_keys_in(texts: Iterable[str]) -> set[str]:
    """The keys of all names in these texts; a name with dots gives the keys of its parts too."""
    keys: set[str] = set()
    for text in texts:
        for name in _NAME.findall(text):
            keys.update(map(subject_key, (name, *_FILE_ENDING.sub("", name).split("."))))
        if len(keys) > _MAX_KEYS:
            break
    return keys - {""}


def read_scope(command: str, steps: Sequence[RunStep], text: str, failing: Iterable[str]) -> RunScope:
    """The scope of the test steps of a command line, with what of it failed or was left out."""
    classified = [_classify_arguments(step.arguments) for step in steps if step.purpose == "test"]
    left_out = {subject_key(match[match.lastindex or 0]) for match in _SKIPPED_TEST.finditer(text)}
    left_out.update(subject_key(path.rpartition("::")[2]) for _, _, without in classified for path in without)
    chosen = [_keys_of_chosen_tests(paths, filters) for paths, filters, _ in classified]
    failed = subject_keys_in(failing)
    keys = failed.union(*(step_keys for step_keys in chosen if step_keys is not None))
    if not any(filters for _, filters, _ in classified):
        keys |= subject_keys_in(_PASSED_TEST.findall(text))
    command = command[:_MAX_COMMAND_CHARACTERS].lower()
    return RunScope(
        not chosen or None in chosen, frozenset(keys), frozenset(failed), frozenset(left_out), command
    )


def _keys_of_chosen_tests(paths: list[str], filters: list[str]) -> set[str] | None:
    """The keys of the tests that a step was told to run; None if it runs all."""
    if filters:
        return subject_keys_in(_NOT_CHOSEN.sub(" ", text) for text in filters)
    wanted = [path for path in paths if not _WHOLE.fullmatch(path)]
    return {subject_key(path.removesuffix("/...").rpartition("::")[2]) for path in wanted} if wanted else None


def _classify_arguments(words: Iterable[str]) -> tuple[list[str], list[str], list[str]]:
    """The paths, the filters and the exclusions among the arguments of a step."""
    paths: list[str] = []
    filters: list[str] = []
    without: list[str] = []
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if _CHOOSES_SOME.fullmatch(word):
            filters.append("")
        elif _LEAVES_OUT.fullmatch(option):
            without.append(value if equals else next(rest, ""))
        elif (chooses := _CHOOSES.match(word)) and chooses.end() == len(option):
            chosen = value if equals else next(rest, "")
            filters += [chosen] if not chosen.startswith("no:") else []  # pytest -p no:cacheprovider
        elif _NEUTRAL.fullmatch(option):
            _ = equals or next(rest, "")
        elif not word.startswith("-") and not equals and not word.isdigit():
            paths.append(word)
    return paths, filters, without
