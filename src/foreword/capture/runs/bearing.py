"""Whether a run can decide on what was expected of an attempt.

A run speaks of what it has touched. Where a prediction names a test, a file, a module or a command, the run
must have touched that; what happens in production, to users or to a latency no test can show; and whoever
expects a failure decides alone. A prediction that names nothing is decided by any run of its kind.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from foreword.capture.runs.touched import key_of, keys_in

if TYPE_CHECKING:
    from foreword.capture.runs.verdict import Run

_LONGEST_WORD = 150


class Attempt(Protocol):
    """An open experience, as far as a run can speak to it."""

    @property
    def hypothesis(self) -> str:
        """What was believed."""
        ...

    @property
    def action(self) -> str:
        """What was done."""
        ...

    @property
    def prediction(self) -> str:
        """What was expected."""
        ...


def bears_on(run: Run, attempt: Attempt) -> bool:
    """Whether a run decides on an attempt: it is of its kind, touched what is named, and could show it."""
    predicted, done, believed = map(_words, (attempt.prediction, attempt.action, attempt.hypothesis))
    clauses = [clause for clause in _CLAUSE.split(predicted) if clause.strip()]
    if not _of_its_kind(run, predicted.lower()):
        return False
    if any(map(_expects_failure, _SENTENCE.split(predicted.lower()))):
        return False
    if any(map(_beyond, clauses)) and (run.passed or not any(map(_of_tests, clauses))):
        return False
    return _called(run, predicted, done) and _reached(run, _named(predicted), _named(done) | _named(believed))


def _words(text: str) -> str:
    """A text, line by line, without what is too long to be a word."""
    return "\n".join(
        " ".join(word for word in line.split() if len(word) <= _LONGEST_WORD) for line in text.split("\n")
    )


# What a prediction speaks of -----------------------------------------------------------------------------

_OF_BUILDING = re.compile(
    r"\b(?:builds?|built|building|compil\w+|type[- ]?check\w*|tsc|mypy|cargo|gradle|maven)\b"
)
_A_BUILD = re.compile(
    r"\b(?:the|a|clean|docker|release|ci) build\b|\bbuild (?:is|passes|succeeds|works|runs|stays)\b"
    r"|\b(?:it|project|code|package|everything|all) (?:still )?builds\b|\bcompil\w+|\btype[- ]?check\w*"
)
_BUILDS_NOTHING = frozenset({"pytest", "unittest", "jest", "vitest", "mocha", "rspec"})
_OF_TESTING = re.compile(
    r"\b(?:tests?|specs?|suites?)\b|\btest_|(?:^|\s)(?:pytest|jest|vitest|rspec|mocha)\b"
)
_OF_FAILING = re.compile(r"\b(?:fail|fails|failing|failed|failure|break|breaks|crash|crashes|red)\b")
_NOT = re.compile(
    r"\b(?:no|not|never|none|nothing|without|stops?|zero|0|instead of|rather than|fix|fixes)\b|n['’]t\b"
)
_OF_PASSING = re.compile(r"\b(?:pass|passes|passing|green|succeeds?)\b")
_SENTENCE = re.compile(r"[.;!\n]")
_CLAUSE = re.compile(r"[.;!,](?=\s|$)|\n|\b(?:and|but|while|so that)\b")
_BEYOND = re.compile(
    r"\b(?:production|prod|staging|deploy(?:s|ed|ments?)?|users|customers|visitors|traffic|latency|latencies"
    r"|throughput|uptime|p(?:50|90|95|99)|[rq]ps|conversions?|revenue|costs|dashboards?|alerts|on-?call"
    r"|incidents?|error rates?|cpu|memory usage|response times?|load times?|faster|slower|quicker|speed-?ups?"
    r"|half the time)\b"
    r"|(?:\b(?:below|under|less than|within|above|more than|at most|from|by)|[<>≤≥~])\s*\d[\d.,]*\s?"
    r"(?:[mµun]?s|sec(?:onds?)?|min(?:utes?)?|hours?|%|percent|[kmg]i?b)(?![a-z])",
    re.IGNORECASE,
)


def _of_its_kind(run: Run, said: str) -> bool:
    """Whether a build is judged by a build, and tests by tests; that it builds shows of them nothing."""
    if run.purpose == "build":
        return bool(_OF_BUILDING.search(said)) and not (run.passed and _OF_TESTING.search(said))
    return run.tool not in _BUILDS_NOTHING or bool(_OF_TESTING.search(said)) or not _A_BUILD.search(said)


def _of_tests(clause: str) -> bool:
    return bool(_OF_TESTING.search(clause.lower()))


def _beyond(clause: str) -> bool:
    """Whether a clause speaks of what no test shows: `latency drops`, but not `the latency tests pass`."""
    rest = _NAMED.sub(" ", clause)
    return bool(_BEYOND.search(rest)) and not (_of_tests(rest) and _OF_PASSING.search(rest.lower()))


def _expects_failure(sentence: str) -> bool:
    """`It will fail` does; `it no longer fails` and `the failing test passes` do not."""
    if _OF_PASSING.search(sentence):
        return False
    return any(not _NOT.search(sentence, 0, fails.start()) for fails in _OF_FAILING.finditer(sentence))


# What is named, and was touched --------------------------------------------------------------------------

_NAMED = re.compile(
    r"\S+::\S+|\b(?:test_\w+|\w+_(?:test|spec)\b|Test[A-Z]\w*|[A-Z]\w*(?:Tests?|Spec)\b)"
    r"|(?:[\w.-]+[/\\])*[\w.-]+\.(?:[cm]?[jt]sx?|py|go|rs|java|kts?|rb|exs?|php|cs|swift|cc?|cpp|hh?|hpp|sh|vue)\b"
    r"|(?:\./)?\b(?:src|lib|tests?|spec|app|pkg|packages|internal|cmd)(?:/[\w.-]+)+"
    r"|\b[a-z_]\w+(?:\.[a-z_]\w+)+\b"
)
_BY_WORD = re.compile(
    r"\b([A-Za-z][\w-]+)(?:['’]s)? (?:unit |integration )?(?:tests?|specs?|suite|module|package)\b"
)
_NO_NAME = re.compile(
    r"the|an?|all|any|both|each|every|no|its|my|our|their|th[ei]se?|that|those|other|more|new|old|whole|full|entire"
    r"|existing|remaining|failing|failed|broken|passing|red|green|flaky|relevant|related|affected|corresponding"
    r"|unit|integration|acceptance|functional|regression|smoke|e2e|end-to-end|slow|fast|local|ci|python"
    r"|javascript|typescript|rust|java|backend|frontend|of|and|or|then|when|if|because|with|two|three|four|five"
    r"|last|first|next|same|project|current",
    re.IGNORECASE,
)
_NO_FILE = re.compile(r"(?:node|vue|next|nuxt|react|express|three|d3|e\.g|i\.e)(?:\.\w*)?", re.IGNORECASE)
_COMMAND = re.compile(
    r"\b(pytest|unittest|jest|vitest|mocha|rspec|cargo|go (?:test|build|vet)|tsc|mypy|pyright|ruff|flake8"
    r"|pylint|black|isort|eslint|prettier|clippy|gradle|maven|mvn|tox|nox|playwright|cypress|ctest|phpunit"
    r"|make (?:all|build|check|ci|lint|tests?)\b(?! pass)|(?:npm run|yarn|pnpm) [a-z][\w:-]*|npm test)\b"
)
_RUN_COMMAND = re.compile(r"(?:`|\b[Rr]un(?:ning)? `?)([^`\n]{1,80})")


def _named(text: str) -> set[str]:
    """The keys of the tests, files and modules that are named."""
    whole = [name for name in _NAMED.findall(text) if not _NO_FILE.fullmatch(name)]
    keys = {key_of(name.rstrip(".,:;)`'\"").rpartition("::")[2]) for name in whole}
    loose = _BY_WORD.findall(_NAMED.sub(" ", text))
    keys.update(key_of(word) for word in loose if not _NO_NAME.fullmatch(word))
    return keys - {""}


def _reached(run: Run, predicted: set[str], otherwise: set[str]) -> bool:
    """Whether the run touched what the prediction names, or, where it names nothing, what else was named."""
    if not predicted:
        return not otherwise or any(map(run.touched.holds, otherwise))
    if run.passed:
        return all(map(run.touched.holds, predicted))
    if failed := run.touched.failed | keys_in(run.failing):
        return bool(predicted & failed)
    return any(map(run.touched.holds, predicted))


def _called(run: Run, predicted: str, done: str) -> bool:
    """Whether the run is of a command that was named, if one was."""
    named = set(_COMMAND.findall(predicted.lower()))
    for told in _RUN_COMMAND.findall(done):
        named.update(_COMMAND.findall(told.lower()))
    return not named or any(command in run.touched.command or command in _also(run.tool) for command in named)


def _also(tool: str) -> tuple[str, ...]:
    """The names of a tool as people say them."""
    return {"maven": ("maven", "mvn"), "go": ("go test", "go build", "go vet")}.get(tool, (tool,))
