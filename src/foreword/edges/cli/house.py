"""Doctor and stats: whether everything is as it should be, and how much there is of it.

Looks at one database at a time, so that a damaged one is reported and the rest are still looked at.
"""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, cast

import click

from foreword.edges.cli.common import (
    Call,
    command,
    console,
    counted,
    default_workspace,
    emit,
    opened,
    say,
    seen,
    settings,
    tell,
)
from foreword.edges.finding import Finding
from foreword.errors import EmbeddingError, StorageError, StoreDamaged

if TYPE_CHECKING:
    from pathlib import Path

    from foreword.config import Settings
    from foreword.engine.context_engine import ContextEngine
    from foreword.store.base import Counts, Problem
    from foreword.store.sqlite import SqliteStore

_LITTLE_SPACE = 200_000_000
_DATABASE = "memory.db"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found in one workspace's database."""

    workspace: str
    path: str
    items: int = 0
    problems: tuple[Finding, ...] = ()
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class Database:
    """A database that lies in the data folder, and whose it is; or why that cannot be said."""

    path: Path
    workspace: str = ""
    error: StorageError | None = None


# Doctor --------------------------------------------------------------------------------------------------


@command("doctor", "foreword doctor\nforeword doctor --all --repair")
@click.option("--repair", is_flag=True, help="Make everything derived again from what was said.")
@click.option("--all", "everywhere", is_flag=True, help="Look at every workspace.")
def doctor(call: Call, repair: bool, everywhere: bool) -> int:
    """Say what is wrong, and what to do.

    Looks at the installation, and at the agents it was added to, then compares everything derived in the
    workspace with what was said.
    """
    chosen = settings()
    findings = [*_versions(), _model(chosen), _home(chosen), _disk(chosen), *_agents(chosen)]
    with opened(embedding=False, at=chosen) as engine:
        if everywhere:
            diagnoses = [_diagnose(engine, one, repair=repair) for one in _databases(chosen)]
        else:
            here = Database(_path(engine, call.workspace), call.workspace)
            diagnoses = [_diagnose(engine, here, repair=repair)]
    well = all(one.ok for one in findings) and not any(one.problems for one in diagnoses)
    if call.as_json:
        emit(
            {
                "ok": well,
                "environment": list(map(asdict, findings)),
                "workspaces": list(map(asdict, diagnoses)),
            }
        )
    else:
        _show_findings(findings)
        for diagnosis in diagnoses:
            _show_diagnosis(diagnosis, call)
    return 0 if well else 1


def _versions() -> list[Finding]:
    import apsw

    import foreword

    return [
        Finding("foreword", foreword.__version__),
        Finding("python", platform.python_version()),
        Finding("sqlite", f"{apsw.sqlite_lib_version()} (apsw {apsw.apsw_version()})"),
    ]


def _model(chosen: Settings) -> Finding:
    if chosen.embedding == "none":
        return Finding("model", "none: what is remembered is found by words alone")
    if chosen.embedding != "bundled":
        return Finding("model", f"{chosen.embedding} {chosen.embedding_model} (not tried)")
    from foreword.spaces.bundled import BundledEmbeddingProvider

    provider = BundledEmbeddingProvider(chosen.threads or None)
    try:
        provider.load()
    except EmbeddingError as error:
        return Finding("model", f"{provider.model} cannot be used", ok=False, advice=str(error))
    return Finding("model", f"{provider.model}, {provider.dimensions} dimensions, whole")


def _existing(path: Path) -> Path:
    """The folder itself, or the nearest one above it that is there."""
    return next((folder for folder in (path, *path.parents) if folder.exists()), path)


def _home(chosen: Settings) -> Finding:
    folder = chosen.home.absolute()
    ground = _existing(folder)
    if not ground.is_dir() or not os.access(ground, os.W_OK | os.X_OK):
        advice = f"{ground} is not a folder we may write to; change its permissions or set FOREWORD_HOME"
        return Finding("home", str(folder), ok=False, advice=advice)
    return Finding("home", f"{folder} (writable{'' if ground == folder else ', will be made'})")


def _disk(chosen: Settings) -> Finding:
    free = shutil.disk_usage(_existing(chosen.home.absolute())).free
    value = f"{_size(free)} free"
    return Finding("disk", value, ok=free > _LITTLE_SPACE, advice="" if free > _LITTLE_SPACE else "free some")


def _agents(chosen: Settings) -> list[Finding]:
    from pathlib import Path

    from foreword.edges.install import examine

    return examine(chosen, Path(default_workspace()))


def _path(engine: ContextEngine, workspace: str) -> Path:

    return cast("SqliteStore", engine.store).path_of(workspace)


def _databases(chosen: Settings) -> list[Database]:
    from foreword.store.database import Limits, WorkspaceDatabase, translate_errors

    found = []
    for path in sorted(chosen.workspaces.glob(f"*/{_DATABASE}")):
        try:
            with translate_errors(path):
                owner = WorkspaceDatabase.workspace_of(path, Limits())
            found += [] if owner is None else [Database(path, owner)]
        except StorageError as error:
            found.append(Database(path, error=error))
    return found


def _diagnose(engine: ContextEngine, database: Database, *, repair: bool) -> Diagnosis:
    from foreword.store.base import Repair

    path, workspace = str(database.path), database.workspace
    if database.error:
        return Diagnosis("(unknown)", path, problems=(_failure(database.path, database.error),))
    try:
        items = engine.count(workspace).items
        problems = engine.store.check(workspace)
        if problems and repair:
            problems = cast("tuple[Problem, ...]", engine.store.batch([Repair(workspace)])[0])
            return Diagnosis(workspace, path, items, tuple(map(_finding, problems)), repaired=True)
    except StorageError as error:
        return Diagnosis(workspace, path, problems=(_failure(database.path, error),))
    return Diagnosis(workspace, path, items, tuple(map(_finding, problems)))


def _finding(problem: Problem) -> Finding:
    return Finding(problem.part, problem.message, ok=False, advice="run: foreword doctor --repair")


def _failure(path: Path, error: StorageError) -> Finding:
    """What to do about a database that cannot be read: what was derived can be made again, rows cannot."""
    message = str(error).partition("; run: ")[0]  # which would send the reader here again
    if not isinstance(error, StoreDamaged):
        return Finding("database", str(error), ok=False)
    backups = sorted(path.parent.glob("*.backup"))
    way = f"put {backups[-1]} in its place" if backups else "import your latest export"
    advice = f"move {path.parent} away, then {way}; what was said after that is not in it"
    return Finding("database", message, ok=False, advice=advice)


def _show_findings(findings: list[Finding]) -> None:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for finding in findings:
        table.add_row(_mark(ok=finding.ok), finding.name, seen(finding.value))
        if finding.advice:
            table.add_row("", "", seen(finding.advice, "dim"))
    console().print(table)


def _mark(*, ok: bool) -> str:
    return "ok " if ok else "BAD"


def _show_diagnosis(diagnosis: Diagnosis, call: Call) -> None:
    say(f"\nworkspace {diagnosis.workspace}\n  {diagnosis.path}")
    if diagnosis.repaired:
        say("  everything derived was made again")
    if diagnosis.problems:
        for problem in diagnosis.problems:
            advice = _advice(problem, diagnosis, call)
            say(f"  BAD  {problem.name}: {problem.value}" + (f"\n       {advice}" if advice else ""))
    elif diagnosis.items:
        say(f"  ok   {counted(diagnosis.items, 'item')}: rows, indexes and vectors agree")
    else:
        say("  ok   holds nothing yet")


def _advice(problem: Finding, diagnosis: Diagnosis, call: Call) -> str:
    if diagnosis.repaired:
        return "repairing did not help: export what can be read, and import it into a fresh workspace"
    return problem.advice + (call.again if problem.advice.startswith("run:") else "")


# Stats ---------------------------------------------------------------------------------------------------


@command("stats", "foreword stats\nforeword stats --all --json")
@click.option("--all", "everywhere", is_flag=True, help="Count every workspace.")
def stats(call: Call, everywhere: bool) -> int:
    """Count what a workspace holds."""
    chosen = settings()
    broken: list[Database] = []
    with opened(embedding=False, at=chosen) as engine:
        names = [call.workspace]
        if everywhere:
            databases = _databases(chosen)
            broken = [one for one in databases if one.error]
            names = [one.workspace for one in databases if not one.error]
        counts = {name: engine.count(name) for name in names}
    if call.as_json:
        listed = [{"workspace": name, **asdict(count)} for name, count in counts.items()]
        emit(listed if everywhere else listed[0])
    elif counts:
        _show_counts(counts)
    for one in broken:
        tell(f"left out: {one.error}")
    if not counts and not broken:
        tell("no workspace holds anything yet")
    return 1 if broken else 0


def _show_counts(counts: dict[str, Counts]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("workspace", overflow="fold")
    table.add_column("items", justify="right")
    table.add_column("kinds")
    for name in ("relations", "vectors", "receipts", "size"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, count in counts.items():
        kinds = ", ".join(f"{kind} {number:,}" for kind, number in count.kinds.items())
        table.add_row(
            seen(name),
            f"{count.items:,}",
            seen(kinds or "-"),
            f"{count.relations:,}",
            f"{sum(count.vectors.values()):,}",
            f"{count.receipts:,}",
            _size(count.bytes),
        )
    console().print(table)


def _size(number: int) -> str:
    size = float(number)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


COMMANDS = (doctor, stats)
