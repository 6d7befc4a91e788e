"""The test runners and build tools that are known, as the rows of `runners.toml` say.

What the columns mean is explained there; what they mean for a run is decided in `run`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Purpose = Literal["test", "build"]
Proof = Literal["exit", "counts", "report"]
"""What it takes to believe a run: its exit code; for a pass, a count of tests; for any verdict, a report."""

NEVER = r"(?!)"
"""The pattern that is found nowhere."""


@dataclass(frozen=True, slots=True)
class Goals:
    """How a tool is told what to do by words among its options: `make -j4 test`, `mvn -q clean verify`."""

    programs: str
    tests: str
    builds: str
    maybe_tests: str = NEVER
    skips_tests: str = NEVER
    valued: str = ""
    proof: Proof = "exit"


@dataclass(frozen=True, slots=True)
class Runner:
    """A runner or build tool: a row of `runners.toml`."""

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
    """The value with every `<name>` of a fragment replaced by the fragment, and lists as tuples."""
    if isinstance(value, str):
        for name, fragment in fragments.items():
            value = value.replace(f"<{name}>", fragment)
    elif isinstance(value, list):
        return tuple(_expand_fragments(part, fragments) for part in value)
    elif isinstance(value, dict):
        return {key: _expand_fragments(part, fragments) for key, part in value.items()}
    return value


def _runner_from_row(name: str, row: dict[str, Any]) -> Runner:
    goals = row.pop("goals", None)
    return Runner(name, goals=Goals(**goals) if goals else None, **row)


def _join_patterns(patterns: tuple[str, ...]) -> str:
    """A pattern for any of these; those that begin a line share one anchor, which is five times as fast."""
    anchored = "|".join(pattern[1:] for pattern in patterns if pattern.startswith("^"))
    loose = [pattern for pattern in patterns if not pattern.startswith("^")]
    return "|".join([*loose, f"^(?:{anchored})"] if anchored else loose)


_FILE = tomllib.loads(Path(__file__).with_name("runners.toml").read_text(encoding="utf-8"))
_FRAGMENTS = dict(reversed(_FILE["fragments"].items()))  # a fragment may hold those before it
_TABLE = _expand_fragments(_FILE, _FRAGMENTS)

RUNNERS = tuple(_runner_from_row(name, row) for name, row in _TABLE["runners"].items())
LIKE_TESTS: str = _TABLE["fragments"]["like_tests"]
COULD_NOT_RUN = _join_patterns(_TABLE["lines"]["could_not_run"])
FOUND_NOTHING = _join_patterns(_TABLE["lines"]["found_nothing"])
ONLY_ASKS = "|".join(_TABLE["words"]["only_ask"])
SCRIPT_BINARIES = frozenset(_TABLE["words"]["script_binaries"].split())
