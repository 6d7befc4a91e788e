"""The observations made while an experience is open (changes and runs), and what they prove.

Observations are ordered by time. A run counts only after a change that fits the action: a failure before any
change says nothing about a hypothesis. A run that fails after the change is an iteration, and a later run
that passes confirms the hypothesis; if the same had failed before the change, that is the strongest evidence
there is. If a run passes where another failed, and nothing was changed in between, one of the two is
unreliable, and nothing is decided. Which change fits which action is decided elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EvidenceKind = Literal[
    "change", "undo", "redo", "revert", "commit", "branch", "switch", "merge", "run", "plan"
]
Proof = Literal["failed then passed", "passed after the change", "stated"]
PROOFS: tuple[Proof, ...] = get_args(Proof)
_KINDS: tuple[EvidenceKind, ...] = get_args(EvidenceKind)

MAX_EVIDENCE = 60
"""At most this many observations of an experience are stored, the latest."""

MAX_WHAT_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Evidence:
    """One observation: a change, what git did to changes, a run, or a change of plan.

    `what` is the file, the command, the branch, or the run in one line. `fits`: a change fits the action of
    the experience. `before` and `after` identify the texts that a change removed and put there. `names` are
    what failed in a run, and `selection` is what the run was told to run, if not everything.
    """

    at: datetime
    kind: EvidenceKind
    what: str = ""
    fits: bool = False
    passed: bool = False
    names: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    selection: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvidenceStanding:
    """The state of an experience before its next run.

    `changes` fit the action and were not undone; `changed_since_run` says whether anything changed after
    `last_run`.
    """

    changes: tuple[Evidence, ...] = ()
    last_run: Evidence | None = None
    changed_since_run: bool = False

    @property
    def has_untried_change(self) -> bool:
        """Whether there is a change that no run has tried yet."""
        newest = max((change.at for change in self.changes), default=None)
        return newest is not None and (self.last_run is None or newest > self.last_run.at)


def add_evidence(evidence: Sequence[Evidence], new: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """The old and new observations in order of time, each once; beyond the limit the oldest are dropped."""
    merged = sorted(dict.fromkeys((*evidence, *new)), key=lambda one: one.at)
    return tuple(merged[-MAX_EVIDENCE:])


def read_standing(evidence: Sequence[Evidence]) -> EvidenceStanding:
    """The standing after these observations, which are in order of time."""
    changes: list[Evidence] = []
    undone: list[Evidence] = []
    tried: set[Evidence] = set()
    branches = _GitBranches()
    last_run, changed = None, False
    for one in evidence:
        match one.kind:
            case "change" | "undo":
                gone = _changes_undone_by(one, changes)
                undone = gone or undone
                changes = [change for change in changes if change not in gone]
                changes += [one] if one.kind == "change" and one.fits and not gone else []
                changed = True
            case "redo":
                changes, undone, changed = [*changes, *undone], [], True
            case "commit" | "branch" | "revert" | "switch" | "merge":
                before, changes = changes, branches.follow(one, changes)
                changed = changed or changes != before
            case "run":
                tried.update(changes)
                last_run, changed = one, False
            case "plan":  # what was tried for the last plan says nothing of the new one
                changes = [change for change in changes if change not in tried]
    return EvidenceStanding(tuple(changes), last_run, changed)


class _GitBranches:
    """Which changes are committed, and on which branches they were left behind.

    The branch on which all began has no name here, until a branch is gone to that was never seen: that is it.
    What is not committed goes along to another branch.
    """

    def __init__(self) -> None:
        self._committed: set[Evidence] = set()
        self._left: dict[str, list[Evidence]] = {}
        self._here, self._before = "", ""
        self._seen = {""}
        self._reverted: list[Evidence] = []

    def follow(self, step: Evidence, changes: list[Evidence]) -> list[Evidence]:
        """The changes that are there after a step of git."""
        match step.kind:
            case "commit":
                self._committed.update(changes)
                self._reverted = []
            case "branch":  # made here, and from now on the present one
                self._here = step.what
                self._seen.add(step.what)
            case "revert":
                return self._changes_after_reverting_commit(changes)
            case "switch":
                return self._changes_present_on_branch(
                    self._before if step.what == "-" else step.what, changes
                )
            case "merge":
                return [*changes, *self._pop_changes_left_on_branch(step.what)]
        return changes

    def _changes_after_reverting_commit(self, changes: list[Evidence]) -> list[Evidence]:
        """None of the changes; or with them those that the last commit, itself a revert, had taken back."""
        back, self._reverted = self._reverted, [] if self._reverted else changes
        return [*changes, *back] if back else []

    def _changes_present_on_branch(self, branch: str, changes: list[Evidence]) -> list[Evidence]:
        """Those of the changes, and of those left behind, that are there on another branch."""
        found = self._pop_changes_left_on_branch(branch)
        self._left[self._here] = [change for change in changes if change in self._committed]
        self._before, self._here = self._here, branch
        self._seen.add(branch)
        return [change for change in changes if change not in self._committed] + found

    def _pop_changes_left_on_branch(self, branch: str) -> list[Evidence]:
        """The changes that were left behind on a branch, which are no longer."""
        return self._left.pop(branch if branch in self._seen else "", [])


def _changes_undone_by(later: Evidence, changes: Sequence[Evidence]) -> list[Evidence]:
    """The changes that a later observation undoes: an undo, or an edit that restores the text before them."""
    if later.kind == "undo":
        return [change for change in changes if not later.what or later.what in change.what]
    chain: list[Evidence] = []
    text = later.before
    for change in reversed(changes):
        if text and (change.what, change.after) == (later.what, text):
            chain.append(change)
            text = change.before
            if text == later.after:
                return chain
    return []


def last_run_before_changes(evidence: Sequence[Evidence], changes: Sequence[Evidence]) -> Evidence | None:
    """The last run before the first of these changes; None when there was none."""
    first = min((change.at for change in changes), default=None)
    runs = [one for one in evidence if one.kind == "run" and first is not None and one.at < first]
    return runs[-1] if runs else None


# In an item's metadata -----------------------------------------------------------------------------------


def evidence_to_metadata(evidence: Sequence[Evidence]) -> list[dict[str, Any]]:
    """The observations as JSON values, without empty fields."""
    rows = []
    for one in evidence:
        fields = {name: getattr(one, name) for name in ("what", "fits", "passed", "before", "after")}
        lists = {"names": list(one.names), "selection": list(one.selection)}
        row = {"at": one.at.isoformat(), "kind": one.kind, **lists, **fields}
        rows.append({name: value for name, value in row.items() if value})
    return rows


def read_evidence(rows: object) -> tuple[Evidence, ...]:
    """The observations in an item's metadata; ValueError, KeyError or TypeError if they are malformed."""
    if not isinstance(rows, list):
        raise TypeError("evidence is a list")
    return tuple(map(_read_observation, rows))


def _read_observation(row: Mapping[str, Any]) -> Evidence:
    """One observation from its JSON values; ValueError, KeyError or TypeError if they are malformed."""
    kind = next(kind for kind in _KINDS if kind == row["kind"]) if row["kind"] in _KINDS else None
    if kind is None:
        raise ValueError(f"no evidence of the kind {row['kind']!r}")
    return Evidence(
        datetime.fromisoformat(row["at"]),
        kind,
        str(row.get("what", "")),
        bool(row.get("fits")),
        bool(row.get("passed")),
        tuple(map(str, row.get("names", ()))),
        str(row.get("before", "")),
        str(row.get("after", "")),
        tuple(map(str, row.get("selection", ()))),
    )
