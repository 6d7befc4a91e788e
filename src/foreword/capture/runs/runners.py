"""Which tool a step of a command line runs, to test or to build: known by the word in the command's place.

A runner's name anywhere else, as the file that is formatted or the package that is installed, is no run. What
only asks for a version, lists tests or watches for ever is none either. In doubt there is none; and where a
name only sounds like tests, as `make test-data` does, it takes a report of tests to make it a run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from foreword.capture.runs.wrappers import bare

Purpose = Literal["test", "build"]
Proof = Literal["exit", "count", "report"]
"""What it takes to believe a run: its exit code; for a pass a count of tests; for any verdict a report."""


@dataclass(frozen=True, slots=True)
class Runner:
    """A tool, what for it was called, what proves that it passed, and what it was given."""

    tool: str
    purpose: Purpose
    proof: Proof
    given: tuple[str, ...] = ()


# Names that tests have in scripts and makefiles ----------------------------------------------------------

_KIND = (
    r"(?:all|api|acceptance|app|backend|ci|client|core|cov|coverage|e2e|fast|frontend|full|functional|go|int"
    r"|integration|its?|java|jest|js|lib|local|mocha|node|parallel|py|pytest|python|py\d+|quick|race|regression"
    r"|run|rust|slow|smoke|system|ts|units?|verbose|vitest)"
)
_TESTS = re.compile(rf"(?:{_KIND}[-_:.])*(?:tests?|specs?|check)(?:[-_:.]{_KIND})*")
_LIKE_TESTS = re.compile(r"(?:.*[-_:/.])?(?:tests?|specs?|check)(?:[-_:.].*)?")
_BUILDS = re.compile(r"(?:build|compile|type-?check|types)[\w:.-]*")
_MADE = re.compile(r"all|(?:build|compile)\S*|dist|release")
_ASKS = re.compile(
    r"(?:^|\s)(?:--version|--help|-h|--collect-only|--co|--fixtures(?:-per-test)?|--markers|--setup-(?:plan|only)"
    r"|--cache-show|--listTests|--list(?:-tests|-suites)?|-list|--no-?run|--notest|--dry-run|--just-print"
    r"|--question|--touch|--showConfig|--clearCache|--show-only|--init|--watch|--watchAll|--ui)(?:[\s=]|$)"
    r"|^g?make (?:\S+ )*-[nqt](?:\s|$)|^rake (?:\S+ )*-[nPT](?:\s|$)|^(?:tox|nox) (?:\S+ )*-l(?:\s|$)"
    r"|^go test (?:\S+ )*-c(?:\s|$)|^ctest (?:\S+ )*-N(?:\s|$)"
    r"|^tsc (?:\S+ )*-[wv](?:\s|$)|^(?:vitest|mocha) (?:list|init|bench|watch)\b"
    r"|^gradlew? (?:\S+ )*-m(?:\s|$)"
)

# Tools that are known by their own name ------------------------------------------------------------------

_SHAPES: tuple[tuple[str, Purpose, Proof, str], ...] = (
    ("pytest", "test", "exit", r"pytest|py\.test"),
    ("unittest", "test", "count", r"unittest|python[\d.]*(?: -\w+)* (?:\S*/)?manage\.py test"),
    ("unittest", "test", "report", r"python[\d.]*(?: -\w)* (?:\S*/)?(?:tests?|test_\w+|\w+_test)\.py"),
    ("jest", "test", "exit", r"jest(?:\.js)?"),
    ("vitest", "test", "exit", r"vitest(?:\.mjs)?"),
    ("mocha", "test", "count", r"mocha(?:\.js)?"),
    ("rspec", "test", "count", r"rspec"),
    ("go", "test", "count", r"go(?: -C \S+)? test"),
    ("go", "build", "exit", r"go(?: -C \S+)? (?:build|vet|install)"),
    ("cargo", "test", "count", r"cargo(?: [+-]\S+)* (?:test|t|nextest run|nextest r)"),
    ("cargo", "build", "exit", r"cargo(?: [+-]\S+)* (?:build|b|check|c|clippy)"),
    ("tsc", "build", "exit", r"(?:vue-)?tsc"),
    ("tests", "test", "exit", rf"(?:(?:ba|z)?sh )?(?:\S*/)?(?:run[-_]?)?tests?(?:[-_]{_KIND})*\.sh"),
    ("tests", "test", "report", r"(?:tox|nox)(?: \S+)* (?:-[esm]|--env|--sessions?|--tags)"),
    ("tests", "test", "exit", r"tox|nox|zig build test|bazel test"),
    (
        "tests",
        "test",
        "count",
        r"ctest|phpunit|php artisan test|ava|prove|node(?: -\S+)*? --test|cypress run",
    ),
    ("tests", "test", "count", r"(?:dotnet|swift|mix|deno|playwright|rake|rails) (?:test|spec)"),
    ("tests", "test", "report", r"(?:rake|rails) (?:test|spec):\S+"),
    ("compiler", "build", "exit", r"mypy|pyright|javac|gcc|g\+\+|clang|clang\+\+|ninja|cmake --build"),
    ("compiler", "build", "exit", r"(?:dotnet|swift|bazel|zig|vite|next|nuxt|webpack) build|webpack"),
)
_TOOLS = tuple(
    (tool, purpose, proof, re.compile(rf"(?:{shape})(?=\s|$)")) for tool, purpose, proof, shape in _SHAPES
)
_BINARY = frozenset({"jest", "vitest", "mocha", "tsc", "vue-tsc", "playwright", "cypress", "ava"})
"""What package managers run by its bare name."""


def runner(step: str) -> Runner | None:
    """The tool that a step runs, whatever it is wrapped in; None where it is no run."""
    step = bare(step)
    if _ASKS.search(step):
        return None
    words = step.split()
    if words and (parse := _PARSED.get(re.sub(r"\.(?:cmd|bat|exe)$", "", words[0]))) is not None:
        return parse(words)
    for tool, purpose, proof, shape in _TOOLS:
        if called := shape.match(step):
            file = [word for word in called[0].split() if proof == "report" and word.endswith(".py")]
            return Runner(tool, purpose, proof, (*file, *step[called.end() :].split()))
    return None


# Tools that are told what to do by a word among their options ---------------------------------------------


def _plain(words: list[str], valued: str) -> list[str]:
    """The words that are neither options nor the values of those in `valued`; after `--` all are."""
    plain: list[str] = []
    takes = frozenset(valued.split())
    after = iter(words)
    for word in after:
        if word == "--":
            return [*plain, *after]
        if word in takes:
            next(after, None)
        elif not word.startswith("-"):
            plain.append(word)
    return plain


def _make(words: list[str]) -> Runner | None:
    targets = [word for word in _plain(words[1:], _MAKE_VALUED) if "=" not in word and not word.isdigit()]
    given = tuple(word for word in words[1:] if _CHOICE.match(word) or _LIKE_TESTS.fullmatch(word))
    if named := [target for target in targets if _LIKE_TESTS.fullmatch(target)]:
        return Runner("make", "test", _proof_of(named), given)
    if all(_MADE.fullmatch(target) for target in targets):
        return Runner("make", "build", "exit")
    return None


def _npm(words: list[str]) -> Runner | None:
    plain = _plain(words[1:], _NPM_VALUED)
    if plain[:1] == ["workspace"]:
        plain = plain[2:]
    while plain[:1] and plain[0] in ("run", "run-script", "workspaces", "foreach"):
        plain = plain[1:]
    script = plain[0] if plain else ""
    if script in _BINARY and words[0] != "npm":
        return runner(" ".join(words[words.index(script) :]))
    given = (*plain[1:], *(word for before, word in pairwise(words) if before in _NPM_CHOOSE))
    if script in ("t", "tst", "cit", "install-test"):
        return Runner("npm", "test", "exit", given)
    if _LIKE_TESTS.fullmatch(script):
        doubtful = "--if-present" in words or "check" in script  # a script that checks may check anything
        proof = "report" if doubtful else _proof_of([script])
        return Runner("npm", "test", proof, (script, *given))
    return Runner("npm", "build", "exit") if _BUILDS.fullmatch(script) else None


def _maven(words: list[str]) -> Runner | None:
    goals = frozenset(_plain(words[1:], _MAVEN_VALUED))
    skips = any(_SKIPS_TESTS.fullmatch(word) for word in words)
    given = tuple(word for word in words[1:] if word.startswith(("-Dtest=", "-Dit.test=")))
    given += tuple(word for before, word in pairwise(words) if before in _MAVEN_CHOOSE)
    if goals & _MAVEN_TESTS and not skips:
        quiet = "-q" in words or "--quiet" in words
        return Runner("maven", "test", "exit" if quiet else "count", given)
    return Runner("maven", "build", "exit") if goals & (_MAVEN_TESTS | _MAVEN_BUILDS) else None


def _gradle(words: list[str]) -> Runner | None:
    skipped = {word.rpartition(":")[2] for before, word in pairwise(words) if before in _LEAVES}
    tasks = _plain(words[1:], _GRADLE_VALUED)
    if any(_GRADLE_ASKS.fullmatch(task) for task in tasks):
        return None
    given = tuple(task for task in tasks if ":" in task.strip(":"))
    given += tuple(word for before, word in pairwise(words) if before == "--tests")
    if any(_GRADLE_TESTS.fullmatch(task) for task in tasks) and not skipped & {"test", "check"}:
        quiet = "-q" in words or "--quiet" in words
        return Runner("gradle", "test", "exit" if quiet else "count", given)
    built = any(_GRADLE_TESTS.fullmatch(task) or _GRADLE_BUILDS.fullmatch(task) for task in tasks)
    return Runner("gradle", "build", "exit") if built else None


def _proof_of(names: list[str]) -> Proof:
    """Whether a name can mean nothing but tests."""
    return "exit" if any(map(_TESTS.fullmatch, names)) else "report"


_CHOICE = re.compile(r"\w*(?:TEST|ARG|OPTS|FILTER|FILE|ONLY|RUN|PKG|PACKAGE|SPEC|K)\w*=", re.IGNORECASE)
_MAKE_VALUED = "-C --directory -f --file --makefile -I --include-dir -o -W -E --eval"
_NPM_VALUED = (
    "--prefix -C --dir --cwd --filter -F -w --workspace --include --exclude --from -j --loglevel "
    "--concurrency"
)
_NPM_CHOOSE = frozenset({"--filter", "-F", "-w", "--workspace", "workspace"})
_MAVEN_VALUED = (
    "-f --file -pl --projects -P --activate-profiles -rf --resume-from -s --settings -gs -T --threads -l -t"
)
_MAVEN_CHOOSE = frozenset({"-pl", "--projects"})
_MAVEN_TESTS = frozenset(
    {"test", "verify", "package", "install", "deploy", "integration-test", "surefire:test"}
)
_MAVEN_BUILDS = frozenset({"compile", "test-compile"})
_SKIPS_TESTS = re.compile(r"-D(?:skipTests|maven\.test\.skip(?:\.exec)?)(?:=(?!false).*)?")
_LEAVES = frozenset({"-x", "--exclude-task"})
_GRADLE_VALUED = (
    "-x --exclude-task --tests -p --project-dir -b -c -I --init-script -g --gradle-user-home --configuration "
    "--task --group --dependency --args --max-workers --console --warning-mode"
)
_GRADLE_ASKS = re.compile(
    r"(?:\S*:)?(?:tasks|help|dependencies|dependencyInsight|projects|properties|wrapper|init)"
)
_GRADLE_TESTS = re.compile(
    r"(?:\S*:)?(?:(?!clean|compile|assemble|process|package|bundle|install|publish|generate|lint)\w*[tT]ests?"
    r"|check|build)"
)
_GRADLE_BUILDS = re.compile(r"(?:\S*:)?(?:assemble|compile|\w*[cC]lasses)\w*")
_PARSED = {
    **dict.fromkeys(("make", "gmake"), _make),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _npm),
    **dict.fromkeys(("mvn", "mvnw"), _maven),
    **dict.fromkeys(("gradle", "gradlew"), _gradle),
}
