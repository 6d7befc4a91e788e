"""Judge what a run means for a session: whether it decides an open experience, and whether to warn.

A run can only decide what it covered; whether it is evidence also depends on what came before, which is not
known here. If a prediction names a test, a file, a module or a command, the run must have covered it. What
happens in production, to users or to a latency no test can show, and a prediction of a failure is left to the
agent. A prediction that names nothing is decided by any run of its kind.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

from foreword.capture.runs.scope import key_of_test, subject_key, subject_keys_in

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from foreword.capture.runs.run import RunResult
    from foreword.knowledge.evidence import Evidence, EvidenceStanding

_NOT_A_WORD = re.compile(
    r"\S{150,}"
)  # not a word; searching it for names takes time with the square of its length


class Attempt(Protocol):
    """The parts of an open experience that a run can decide on: what the agent believed, did and expected."""

    @property
    def hypothesis(self) -> str: ...  # noqa: D102
    @property
    def action(self) -> str: ...  # noqa: D102
    @property
    def prediction(self) -> str: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a run means: whether it speaks for or against the open experience, and whether to warn.

    `premortem` is true if the agent is to be warned; `failures` are to be recorded as seen by the session.
    """

    speaks: Literal["for", "against"] | None = None
    result: str = ""
    premortem: bool = False
    failures: frozenset[str] = frozenset()


def judge_run(run: RunResult, attempt: Attempt | None, seen: Collection[str] = ()) -> Judgement:
    """What a run means for the session's open attempt.

    If the run can decide the attempt, a pass speaks for it and a failure against it. A failure that is not
    among the `seen` ones calls for a warning.
    """
    speaks: Literal["for", "against"] | None = None
    if attempt is not None and can_decide_attempt(run, attempt):
        speaks = "for" if run.passed else "against"
    failures = run.failure_names
    return Judgement(speaks, run.summary, bool(failures - set(seen)), failures)


class SeenFailures:
    """The failures that each of the latest sessions has seen. Safe to share between threads."""

    def __init__(self, max_sessions: int = 200) -> None:
        self._max_sessions = max_sessions
        self._seen_by_session: OrderedDict[tuple[str, str], frozenset[str]] = OrderedDict()
        self._lock = threading.Lock()

    def failures_seen_in_session(self, workspace: str, session: str) -> frozenset[str]:
        """The failures that a session has seen so far."""
        with self._lock:
            return self._seen_by_session.get((workspace, session), frozenset())

    def note(self, workspace: str, session: str, failures: frozenset[str]) -> None:
        """Record failures that a session has seen."""
        with self._lock:
            key = (workspace, session)
            self._seen_by_session[key] = self._seen_by_session.pop(key, frozenset()) | failures
            if len(self._seen_by_session) > self._max_sessions:
                self._seen_by_session.popitem(last=False)


# The subject of a prediction -----------------------------------------------------------------------------

_SENTENCE = re.compile(r"[.;!\n]")
_CLAUSE = re.compile(r"[.;!,](?=\s|$)|\n|\b(?:and|but|while|so that)\b")
_SPEAKS_OF_BUILDS = re.compile(
    r"\b(?:builds?|built|building|compil\w+|type[- ]?check\w*|tsc|mypy|cargo|gradle|maven)\b"
)
_BUILDS_NOTHING = frozenset({"pytest", "unittest", "jest", "vitest", "mocha", "rspec"})
_SPEAKS_OF_TESTS = re.compile(
    r"\b(?:tests?|specs?|suites?)\b|\btest_|(?:^|\s)(?:pytest|jest|vitest|rspec|mocha)\b"
)
_FAILS = re.compile(r"\b(?:fail|fails|failing|failed|failure|break|breaks|crash|crashes|red)\b")
_NOT = re.compile(
    r"\b(?:no|not|never|none|nothing|without|stops?|zero|0|instead of|rather than|fix|fixes)\b|n['’]t\b"
)
_PASSES = re.compile(r"\b(?:pass|passes|passing|green|succeeds?)\b")
_BEYOND_TESTS = re.compile(
    r"\b(?:production|prod|staging|deploy(?:s|ed|ments?)?|users|customers|visitors|traffic|latency|latencies"
    r"|throughput|uptime|p(?:50|90|95|99)|[rq]ps|conversions?|revenue|costs|dashboards?|alerts|on-?call"
    r"|incidents?|error rates?|cpu|memory usage|response times?|load times?|faster|slower|quicker|speed-?ups?"
    r"|half the time)\b"
    r"|(?:\b(?:below|under|less than|within|above|more than|at most|from|by)|[<>≤≥~])\s*\d[\d.,]*\s?"
    r"(?:[mµun]?s|sec(?:onds?)?|min(?:utes?)?|hours?|%|percent|[kmg]i?b)(?![a-z])",
    re.IGNORECASE,
)


def can_decide_attempt(run: RunResult, attempt: Attempt) -> bool:
    """Whether a run decides an attempt: it is of the right kind, covered what is named, and can show it."""
    parts = (attempt.prediction, attempt.action, attempt.hypothesis)
    predicted, done, believed = (_NOT_A_WORD.sub(" ", part) for part in parts)
    clauses = [clause for clause in _CLAUSE.split(predicted) if clause.strip()]
    if not _is_run_about_prediction(run, predicted.lower()):
        return False
    if any(map(_expects_failure, _SENTENCE.split(predicted.lower()))):
        return False
    if any(map(_predicts_more_than_tests_show, clauses)) and (
        run.passed or not any(map(_mentions_tests, clauses))
    ):
        return False
    if not _is_run_of_named_command(run, predicted, done):
        return False
    return _covers_prediction(
        run,
        _keys_of_named_tests_and_files(predicted),
        _keys_of_named_tests_and_files(done) | _keys_of_named_tests_and_files(believed),
    )


def _is_run_about_prediction(run: RunResult, prediction: str) -> bool:
    """Whether the run is of the kind that the prediction is about; a passing build proves no tests."""
    about_tests = bool(_SPEAKS_OF_TESTS.search(prediction))
    about_builds = bool(_SPEAKS_OF_BUILDS.search(prediction))
    if run.purpose == "build":
        return about_builds and not (run.passed and about_tests)
    return run.tool not in _BUILDS_NOTHING or about_tests or not about_builds


def _mentions_tests(clause: str) -> bool:
    return bool(_SPEAKS_OF_TESTS.search(clause.lower()))


def _predicts_more_than_tests_show(clause: str) -> bool:
    """Whether a clause predicts what no test can show: `latency drops`, but not `the latency tests pass`."""
    rest = _NAME.sub(" ", clause)
    return bool(_BEYOND_TESTS.search(rest)) and not (_mentions_tests(rest) and _PASSES.search(rest.lower()))


def _expects_failure(sentence: str) -> bool:
    """Whether a sentence expects a failure: `it will fail`, but not `it no longer fails`."""
    if _PASSES.search(sentence):
        return False
    return any(not _NOT.search(sentence, 0, fails.start()) for fails in _FAILS.finditer(sentence))


# What is named and covered -------------------------------------------------------------------------------

_NAME = re.compile(
    r"\S+::\S+|\b(?:test_\w+|\w+_(?:test|spec)\b|Test[A-Z]\w*|[A-Z]\w*(?:Tests?|Spec)\b)"
    r"|(?:[\w.-]+[/\\])*[\w.-]+\.(?:[cm]?[jt]sx?|py|go|rs|java|kts?|rb|exs?|php|cs|swift|cc?|cpp|hh?|hpp|sh"
    r"|vue)\b"
    r"|(?:\./)?\b(?:src|lib|tests?|spec|app|pkg|packages|internal|cmd)(?:/[\w.-]+)+"
    r"|\b[a-z_]\w+(?:\.[a-z_]\w+)+\b"
)
_NAME_BEFORE_TESTS = re.compile(
    r"\b([A-Za-z][\w-]+)(?:['’]s)? (?:unit |integration )?(?:tests?|specs?|suite|module|package)\b"
)
_NO_NAME = re.compile(
    r"the|an?|all|any|both|each|every|no|its|my|our|their|th[ei]se?|that|those|other|more|new|old|whole"
    r"|full|entire"
    r"|existing|remaining|failing|failed|broken|passing|red|green|flaky|relevant|related|affected"
    r"|corresponding"
    r"|unit|integration|acceptance|functional|regression|smoke|e2e|end-to-end|slow|fast|local|ci|python"
    r"|javascript|typescript|rust|java|backend|frontend|of|and|or|then|when|if|because|with|two|three|four"
    r"|five"
    r"|last|first|next|same|project|current"
    r"|(?:node|vue|next|nuxt|react|express|three|d3|e\.g|i\.e)(?:\.\w*)?",  # Node.js is no file
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"\b(pytest|unittest|jest|vitest|mocha|rspec|cargo|go (?:test|build|vet)|tsc|mypy|pyright|ruff|flake8"
    r"|pylint|black"
    r"|eslint|prettier|clippy|gradle|maven|tox|nox|playwright|ctest|phpunit|make (?:all|build|check|ci|lint"
    r"|tests?)\b"
    r"(?! pass)|(?:npm run|yarn|pnpm) [a-z][\w:-]*|npm test)\b"
)
_IN_BACKTICKS = re.compile(r"`([^`\n]{1,80})`")


def _keys_of_named_tests_and_files(text: str) -> set[str]:
    """The keys of the tests, files and modules that a text names."""
    names = [name.rstrip(".,:;)`'\"").rpartition("::")[2] for name in _NAME.findall(text)]
    names += _NAME_BEFORE_TESTS.findall(_NAME.sub(" ", text))
    return {subject_key(name) for name in names if not _NO_NAME.fullmatch(name)} - {""}


def _covers_prediction(run: RunResult, predicted_keys: set[str], other_keys: set[str]) -> bool:
    """Whether the run covered what the prediction names.

    If it names nothing, any failure speaks against it; a pass must have covered what failed before, or one of
    the other keys.
    """
    if not predicted_keys:
        covers_more = not other_keys or run.scope.has_earlier_failures or not run.passed
        return covers_more or any(map(run.scope.includes_subject, other_keys))
    if run.passed:
        return all(map(run.scope.includes_subject, predicted_keys))
    if failed := run.scope.failed | subject_keys_in(run.failing):
        return bool(predicted_keys & failed)
    return any(map(run.scope.includes_subject, predicted_keys))


def _is_run_of_named_command(run: RunResult, prediction: str, action: str) -> bool:
    """Whether the run is of a command that the prediction or action names; True if they name none."""
    words = "\n".join([prediction, *_IN_BACKTICKS.findall(action)]).lower()
    called = f"{run.scope.command} {run.tool} {'go test go build go vet' if run.tool == 'go' else ''}"
    commands = _COMMAND.findall(words)
    return not commands or any(command in called for command in commands)


# What a pass proves --------------------------------------------------------------------------------------


def with_tests_known_to_be_run(
    run: RunResult, seen: Sequence[Evidence], changes: Sequence[Evidence]
) -> RunResult:
    """The run, whose scope has the tests that failed in an earlier run and lie in what was run now.

    A command that names a file or a folder does not say which tests are in it; an earlier failure does. In a
    folder that has what was changed, all tests of it may be.
    """
    names = [name for one in seen for name in failed_tests_in_scope(run, one)]
    keys = run.scope.keys | (set(map(key_of_test, names)) - {""})
    changed = any(one.what.startswith(f"{folder}/") for one in changes for folder in run.scope.folders)
    scope = replace(run.scope, keys=keys, has_earlier_failures=bool(names), has_changed_code=changed)
    return replace(run, scope=scope)


def is_pass_credible(run: RunResult, standing: EvidenceStanding, attempt: Attempt) -> bool:
    """Whether a pass proves anything: it is of code that was changed or had failed.

    After a failure, it is only if code changed and the failed tests were run.
    """
    scope, last = run.scope, standing.last_run
    if scope.folders and not (scope.has_changed_code or scope.has_earlier_failures):
        return False
    if last is None or last.passed:
        return True
    return standing.changed_since_run and covers_failures(run, last, attempt)


def covers_failures(run: RunResult, earlier: Evidence | None, attempt: Attempt) -> bool:
    """Whether a run included what failed earlier: all of it, unless the prediction names what it is about."""
    if earlier is None or earlier.passed or not earlier.names:
        return True
    included = len(failed_tests_in_scope(run, earlier))
    if _keys_of_named_tests_and_files(_NOT_A_WORD.sub(" ", attempt.prediction)):
        return included > 0
    return included == len(earlier.names)


def failed_tests_in_scope(run: RunResult, earlier: Evidence) -> tuple[str, ...]:
    """The tests that failed in an earlier run and that this run included."""
    if earlier.kind != "run" or earlier.passed:
        return ()
    same = bool(earlier.selection) and earlier.selection == run.scope.selection
    return tuple(name for name in earlier.names if same or run.scope.includes_test(name))
