"""What a run has touched, by the words of its command and the names in its output.

A run that chose nothing touched everything. One that was given files, names or a filter touched those alone;
and what it is not clear about, it has not touched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foreword.capture.runs.invoked import Step

_MOST_NAMES = 2_000
_LONGEST_COMMAND = 4_000


@dataclass(frozen=True, slots=True)
class Touched:
    """What was run: everything, or what these keys stand for; what of it failed, or was left out."""

    everything: bool = True
    names: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()
    command: str = ""

    def holds(self, key: str) -> bool:
        """Whether what this key names was run."""
        return key not in self.left_out and (self.everything or key in self.names)


_WHOLE = re.compile(
    r"(?:\./?|\.{3}|(?:\./)?(?:tests?|specs?|src|lib|__tests__|all|run|discover|check|t|tst)/?|\./\.\.\.|--)"
)
_WHOLE_SCRIPT = re.compile(
    r"(?:run[-_:.])?(?:tests?|check|specs?)(?:[-_:.](?:all|ci|cov|coverage|full|run))*"
)
_CHOOSES = re.compile(
    r"(?:-k|-m|-t|-g|-run|-test\.run|-e|--tests?|--test-?[nN]ame-?[pP]attern|--test-?[pP]ath-?[pP]atterns?"
    r"|--grep|--fgrep|--filter|--example|--only|-Dtest|-Dit\.test|-p|--package|--project|--pattern|-R|-L)"
    r"(?:=(.*))?"
)
_CHOOSES_ONLY_FOR = {"-p": "cargo unittest", "-R": "tests", "-L": "tests", "-e": "rspec", "-m": "pytest"}
_LEAVES_OUT = re.compile(
    r"(?:--ignore(?:-glob)?|--deselect|--exclude|--skip|-skip|--test-?[pP]ath-?[iI]gnore-?[pP]atterns?)(?:=(.*))?"
)
_SKIPPED = re.compile(
    r"::(\S+) (?:SKIPPED|XFAIL)\b|^\s*--- SKIP: (\S+)|^test (\S+) \.\.\. ignored|^SKIPPED \[\d+\] (\S+?):\d"
)
_PARTS = re.compile(
    r"--(?:lf|last-failed|sw|stepwise|only-?[cC]hanged|changed.*|lib|doc|bins?|examples?|only-failures"
    r"|next-failure|shard.*|rerun-failed|related|find-?[rR]elated-?[tT]ests)"
)
_TAKE = (
    "-n -c -o -W -j -p -R --tb --cov --cov-report --cov-config --maxfail --durations --timeout --rootdir "
    "--color --basetemp --junitxml --junit-xml --log-level --dist "
    "--import-mode --reporter --reporters --features --jobs --config --manifest-path --maxWorkers "
    "--max-workers -count -coverprofile -covermode -timeout -parallel -cpu --format --order --seed "
    "--verbosity --start-directory --top-level-directory --outputFile --profile --target"
)
_TAKES = frozenset(_TAKE.split())
"""Options whose value says nothing of what is tested."""

_UNWANTED = re.compile(r"\bnot +\w+|(?:^|\s)[~!]\S+")
_NAME = re.compile(r"[A-Za-z](?:[\w.-]*\w)?")
_ENDING = re.compile(
    r"\.(?:[cm]?[jt]sx?|py|go|rs|java|kts?|rb|exs?|php|cs|swift|c|cc|cpp|h|hpp|scala|sh|vue"
    r"|json|ya?ml|toml|md|txt|sql|html|css|ini|cfg|lock)$"
)
_OF_TESTS = re.compile(r"[-_.](?:tests?|specs?)$")
_TEST_WORD = re.compile(r"^tests?[-_]|[-_](?:tests?|specs?)$|(?<=[a-z0-9])(?:Tests?|Specs?)$|^Test(?=[A-Z])")
_TOLD = re.compile(
    r"^\s*(?:PASS|FAIL|ok|✓|✔|✗|×|❯|--- (?:PASS|FAIL):|test \S+ \.\.\.|FAILED|ERROR|\[\w+\] Running )"
    r"|::\S+ (?:PASSED|FAILED)\b|\.py\s+[.FEsxX]+\s"
)
_TOLD_NAME = re.compile(r"[./\\]\w|::|^test_|^Test[A-Z]")


def key_of(name: str) -> str:
    """What a name stands for, whether it is the code's or its tests': `test_retry.py` and `retry` are one."""
    name = _ENDING.sub("", name.rstrip("/").replace("\\", "/").rpartition("/")[2])
    last = _OF_TESTS.sub("", name).rpartition(".")[2]
    return re.sub("[-_]", "", _TEST_WORD.sub("", last)).lower()


def keys_in(texts: Iterable[str]) -> set[str]:
    """The keys of all names in these texts; a name of several parts stands for each of them too."""
    keys: set[str] = set()
    for text in texts:
        for name in _NAME.findall(text):
            keys.add(key_of(name))
            keys.update(map(key_of, _ENDING.sub("", name).split(".")))
        if len(keys) > _MOST_NAMES:
            break
    return keys - {""}


def touched(command: str, steps: Sequence[Step], lines: Sequence[str], failing: Iterable[str]) -> Touched:
    """What the steps of a command line have run, and what of it failed."""
    tests = [_given(step) for step in steps if step.purpose == "test"]
    chosen = [_chosen(given) for given in tests]
    failed = keys_in(failing)
    names = failed.union(*(one for one in chosen if one is not None))
    skipped = (match[match.lastindex or 0] for line in lines if (match := _SKIPPED.search(line)))
    left_out = {key_of(name) for given in tests for name in given.left_out} | {
        key_of(name) for name in skipped
    }
    if not any(given.filters for given in tests):
        told = (word for line in lines if _TOLD.search(line) for word in line.split())
        names |= keys_in(word for word in told if _TOLD_NAME.search(word))
    everything = not tests or any(one is None for one in chosen)
    command = command[:_LONGEST_COMMAND].lower()
    return Touched(everything, frozenset(names), frozenset(failed), frozenset(left_out), command)


@dataclass(frozen=True, slots=True)
class _Given:
    """The files and names that a step was given, what it filters by, and what it leaves out."""

    paths: list[str] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def _chosen(given: _Given) -> set[str] | None:
    """The keys of what a step was told to run; None when it was not told, and runs all."""
    if given.filters:
        return keys_in(_UNWANTED.sub(" ", text) for text in given.filters)
    wanted = [path for path in given.paths if not (_WHOLE.fullmatch(path) or _WHOLE_SCRIPT.fullmatch(path))]
    return {key_of(path.removesuffix("/...").rpartition("::")[2]) for path in wanted} if wanted else None


def _given(step: Step) -> _Given:
    """What the words of a step say of what it is to run."""
    given = _Given()
    after = iter(step.given)
    for word in after:
        if (out := _LEAVES_OUT.fullmatch(word)) is not None:
            given.left_out.append((out[1] or next(after, "")).rpartition("::")[2])
        elif (chooses := _CHOOSES.fullmatch(word)) and _can_choose(word, step.tool):
            given.filters.append(next(after, "") if chooses[1] is None else chooses[1])
        elif _PARTS.fullmatch(word):
            given.filters.append("")
        elif word in _TAKES:
            next(after, None)
        elif "=" in word and not word.startswith("-"):
            given.filters.append(word.partition("=")[2])
        elif not word.startswith("-") and not word.isdigit():
            given.paths.append(word)
    return given


def _can_choose(option: str, tool: str) -> bool:
    """Whether an option chooses tests for this tool; a short one may mean something else."""
    return tool in _CHOOSES_ONLY_FOR.get(option, tool).split()
