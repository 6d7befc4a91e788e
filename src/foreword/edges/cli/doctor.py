"""Doctor and stats: whether the installation and the data are sound, and how much data there is.

Databases are examined one at a time, so that a damaged one is reported and the others are still examined.
"""

from __future__ import annotations

import os
import platform
import shutil
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from foreword.capture.pauses import running_pauses
from foreword.capture.privacy import reason_to_keep_nothing
from foreword.config import Settings, find_data_folder
from foreword.edges.cli import show
from foreword.edges.cli.common import CliCall, command, default_workspace, load_settings, open_engine
from foreword.edges.cli.service import check_service
from foreword.edges.install.examine import Finding, examine_installed_agents
from foreword.edges.shared.trouble import describe_unusable_folder, read_start_failure
from foreword.errors import EmbeddingError, StorageError, StoreDamaged, ValidationError
from foreword.store.base import Repair
from foreword.text.numbers import format_size, number_with_noun

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.text import Text

    from foreword.engine.context_engine import ContextEngine
    from foreword.store.base import Counts, Problem, Store
    from foreword.store.postgres.store import PostgresStore
    from foreword.store.sqlite import SqliteStore

_MIN_FREE_BYTES = 200_000_000
_LONG_IN_SPOOL = timedelta(hours=1)
_DATABASE = "memory.db"
_REPAIR_DID_NOT_HELP = "repairing did not help: export what can be read, and import it into a fresh workspace"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The findings in one workspace's database; `path` is its file, or the address of its server."""

    workspace: str
    path: str
    items: int = 0
    problems: tuple[Finding, ...] = ()
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class Database:
    """A database with its workspace, or with the error because of which its workspace is not known."""

    path: str
    workspace: str = ""
    error: StorageError | None = None


# Doctor --------------------------------------------------------------------------------------------------


@command("doctor", "foreword doctor\nforeword doctor --all --repair")
@click.option("--repair", is_flag=True, help="Make everything derived again from what was said.")
@click.option("--all", "everywhere", is_flag=True, help="Look at every workspace.")
def doctor(call: CliCall, repair: bool, everywhere: bool) -> int:
    """Say what is wrong, and what to do.

    Looks at the installation, and at the agents it was added to, then compares everything derived in the
    workspace with what was said.
    """
    settings, settings_finding = _load_settings_or_defaults()
    findings = [
        *_list_versions(),
        settings_finding,
        *_check_models(settings),
        _check_data_folder(settings),
        _check_free_disk_space(settings),
        *_check_installed_agents(settings),
        *_check_pauses(settings, call.workspace),
        *_check_spool(settings),
        _check_backups(settings),
    ]
    with open_engine(settings, embedding=False) as engine:
        findings += check_servers(settings, engine.store)
        databases = _list_databases(settings, engine.store, call.workspace, everywhere=everywhere)
        diagnoses = [_diagnose_database(engine, database, repair=repair) for database in databases]
    ok = all(finding.ok for finding in findings) and not any(one.problems for one in diagnoses)
    if call.as_json:
        environment, workspaces = list(map(asdict, findings)), list(map(asdict, diagnoses))
        show.print_json({"ok": ok, "environment": environment, "workspaces": workspaces})
    else:
        show.print_grid(row for finding in findings for row in _format_finding_rows(finding))
        for diagnosis in diagnoses:
            _show_diagnosis(diagnosis, call)
    return 0 if ok else 1


def _list_databases(settings: Settings, store: Store, workspace: str, *, everywhere: bool) -> list[Database]:
    """The databases to examine: files on this machine, or workspaces on a server."""
    if not settings.store:
        if everywhere:
            return _find_databases_on_disk(settings)
        return [Database(str(cast("SqliteStore", store).path_of_database(workspace)), workspace)]
    address = cast("PostgresStore", store).shown_url
    try:
        return [Database(address, name) for name in (store.workspaces() if everywhere else [workspace])]
    except StorageError as error:
        return [Database(address, error=error)]


def _list_versions() -> list[Finding]:
    import apsw

    import foreword

    return [
        Finding("foreword", foreword.__version__),
        Finding("python", platform.python_version()),
        Finding("sqlite", f"{apsw.sqlite_lib_version()} (apsw {apsw.apsw_version()})"),
    ]


def _load_settings_or_defaults() -> tuple[Settings, Finding]:
    """The settings, or the defaults if the settings are wrong, and a finding about them."""
    home = find_data_folder()
    try:
        return load_settings(), Finding(
            "settings", f"{home / 'config.toml'} and the environment are understood"
        )
    except ValidationError as error:
        advice = "until that is put right no agent is answered; meanwhile the defaults are looked at here"
        return Settings(home=home), Finding("settings", str(error), ok=False, advice=advice)


def _check_models(settings: Settings) -> list[Finding]:
    """Whether the models that the settings name can be loaded."""
    from foreword.spaces.bundled import BundledEmbeddingProvider, BundledReranker
    from foreword.spaces.reader import BundledReader

    threads = settings.threads or None
    if settings.embedding == "none":
        return [Finding("model", "none: what is remembered is found by words alone")]
    findings = [Finding("model", f"{settings.embedding} {settings.embedding_model} (not tried)")]
    if settings.embedding == "bundled":
        encoder = BundledEmbeddingProvider(threads)
        findings = [_check_model("model", f"{encoder.model}, {encoder.dimensions} dimensions", encoder.load)]
    findings.append(_check_model("cross-encoder", "of the full lane", BundledReranker(threads).load))
    if settings.reader == "none":
        return [*findings, Finding("reader", "none: the floor alone decides what is told")]
    return [*findings, _check_model("reader", "that judges what is told", BundledReader(threads).load)]


def _check_model(name: str, description: str, load: Callable[[], object]) -> Finding:
    """Whether a bundled model can be loaded and its files are unchanged."""
    try:
        load()
    except EmbeddingError as error:
        return Finding(name, f"{description}: cannot be used", ok=False, advice=str(error))
    return Finding(name, f"{description}, whole")


def _nearest_existing_folder(path: Path) -> Path:
    """The folder itself, or the nearest one above it that exists."""
    return next((folder for folder in (path, *path.parents) if folder.exists()), path)


def _check_data_folder(settings: Settings) -> Finding:
    """Whether the data folder can be written to, or created."""
    folder = settings.home.absolute()
    existing = _nearest_existing_folder(folder)
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        advice = f"{existing} is not a folder we may write to; change its permissions or set FOREWORD_HOME"
        return Finding("home", str(folder), ok=False, advice=advice)
    if existing != folder and not folder.is_symlink():
        return Finding("home", f"{folder} (writable, will be made)")
    if trouble := describe_unusable_folder(str(folder)):
        return Finding("home", str(folder), ok=False, advice=trouble)
    return Finding("home", f"{folder} (writable)")


def _check_free_disk_space(settings: Settings) -> Finding:
    free = shutil.disk_usage(_nearest_existing_folder(settings.home.absolute())).free
    enough = free > _MIN_FREE_BYTES
    return Finding("disk", f"{format_size(free)} free", ok=enough, advice="" if enough else "free some")


def _check_installed_agents(settings: Settings) -> list[Finding]:
    """The agents that Foreword is installed in, and whether the service answers."""
    agents = examine_installed_agents(settings.home, Path(default_workspace()))
    failure = read_start_failure(str(settings.home.absolute()))
    if failure:
        service = [Finding("service", "could not run when it was last started", ok=False, advice=failure)]
    else:
        service = [check_service(settings)] if agents else []
    none = Finding("agents", "installed in none; the first step: foreword install claude-code")
    return [*(agents or [none]), *service]


def _check_pauses(settings: Settings, workspace: str) -> list[Finding]:
    """A finding if Foreword is paused or switched off here, so that its silence is explained."""
    reason = reason_to_keep_nothing(settings.home, workspace)
    return [Finding("paused", reason)] if reason else []


def _check_spool(settings: Settings) -> list[Finding]:
    """A finding if events wait in the spool: a service stores them in seconds, if it can and may."""
    waiting = sorted((settings.home / "spool").glob("*.event"))
    if not waiting:
        return []
    since = datetime.fromtimestamp(waiting[0].stat().st_mtime, UTC)
    text = f"{number_with_noun(len(waiting), 'event')}, the oldest since {show.format_date(since)}"
    if datetime.now(UTC) - since < _LONG_IN_SPOOL or running_pauses(settings.home, time.time()):
        return [Finding("spool", text)]
    advice = f"the reason is in {settings.home / 'run' / 'service.log'}; foreword doctor --all finds damage"
    return [Finding("spool", text, ok=False, advice=advice)]


def _check_backups(settings: Settings) -> Finding:
    """The number and size of all backups, and the date of the newest."""
    from foreword.store.backups import list_backups

    if settings.store:
        return Finding("backups", "the operator's: pg_dump, or continuous archiving, as docs/teams.md says")
    databases = settings.workspaces.glob(f"*/{_DATABASE}")
    found = [backup for database in databases for backup in list_backups(database)]
    if not found:
        made = "the service makes one a day" if settings.backups else "switched off: backups = 0"
        return Finding("backups", f"none yet; {made}")
    newest = show.format_date(max(backup.made_at for backup in found))
    size = format_size(sum(backup.bytes for backup in found))
    return Finding("backups", f"{len(found)}, {size}, the newest of {newest}")


def _find_databases_on_disk(settings: Settings) -> list[Database]:
    """Every database in the data folder; one that cannot be read has its error."""
    from foreword.store.database import Limits, WorkspaceDatabase, translate_errors

    databases = []
    for path in sorted(settings.workspaces.glob(f"*/{_DATABASE}")):
        try:
            with translate_errors(path):
                workspace = WorkspaceDatabase.read_workspace_name(path, Limits())
            databases += [] if workspace is None else [Database(str(path), workspace)]
        except StorageError as error:
            databases.append(Database(str(path), error=error))
    return databases


def _diagnose_database(engine: ContextEngine, database: Database, *, repair: bool) -> Diagnosis:
    """Compare the derived data of a database with its rows; with `repair`, make it again if they differ."""
    path, workspace = database.path, database.workspace
    if database.error:
        problem = _finding_for_storage_error(database.path, database.error)
        return Diagnosis("(unknown)", path, problems=(problem,))
    try:
        items = engine.count(workspace).items
        problems = engine.store.check(workspace)
        repairing = bool(problems) and repair
        if repairing:
            problems = cast("tuple[Problem, ...]", engine.store.batch([Repair(workspace)])[0])
    except StorageError as error:
        return Diagnosis(workspace, path, problems=(_finding_for_storage_error(database.path, error),))
    findings = tuple(
        Finding(one.part, one.message, ok=False, advice="run: foreword doctor --repair") for one in problems
    )
    return Diagnosis(workspace, path, items, findings, repaired=repairing)


def _finding_for_storage_error(path: str, error: StorageError) -> Finding:
    """A finding with advice for a database that cannot be read."""
    from foreword.store.backups import list_backups

    message = str(error).partition("; run: ")[0]  # the rest advises to run doctor, which is running now
    if not isinstance(error, StoreDamaged):
        return Finding("database", str(error), ok=False)
    if path.startswith("postgres"):
        advice = "restore a backup of the server's"
    elif list_backups(Path(path)):
        advice = "run: foreword restore, which lists the backups; what was said after one is not in it"
    else:
        advice = f"there is no backup: move {Path(path).parent} away, then import your latest export"
    return Finding("database", message, ok=False, advice=advice)


def _format_finding_rows(finding: Finding) -> list[tuple[str, str, Text]]:
    """A finding as a row of a table, with a second row for its advice, if there is any."""
    rows = [("ok " if finding.ok else "BAD", finding.name, show.rich_text(finding.value))]
    return [*rows, ("", "", show.rich_text(finding.advice, "dim"))] if finding.advice else rows


def _show_diagnosis(diagnosis: Diagnosis, call: CliCall) -> None:
    """Print the findings in one workspace's database, with advice."""
    show.print_text(f"\nworkspace {diagnosis.workspace}\n  {diagnosis.path}")
    if diagnosis.repaired:
        show.print_text("  everything derived was made again")
    if diagnosis.problems:
        for problem in diagnosis.problems:
            advice = problem.advice + (call.workspace_flag if problem.advice.startswith("run:") else "")
            if diagnosis.repaired:
                advice = _REPAIR_DID_NOT_HELP
            show.print_text(
                f"  BAD  {problem.name}: {problem.value}" + (f"\n       {advice}" if advice else "")
            )
    elif diagnosis.items:
        show.print_text(
            f"  ok   {number_with_noun(diagnosis.items, 'item')}: rows, indexes and vectors agree"
        )
    else:
        show.print_text("  ok   holds nothing yet")


# Stats ---------------------------------------------------------------------------------------------------


@command("stats", "foreword stats\nforeword stats --all --json")
@click.option("--all", "everywhere", is_flag=True, help="Count every workspace.")
def show_stats(call: CliCall, everywhere: bool) -> int:
    """Count what a workspace holds."""
    settings = load_settings()
    damaged: list[Database] = []
    with open_engine(settings, embedding=False) as engine:
        workspaces = [call.workspace]
        if everywhere:
            databases = _list_databases(settings, engine.store, call.workspace, everywhere=True)
            damaged = [database for database in databases if database.error]
            workspaces = [database.workspace for database in databases if not database.error]
        counts = {workspace: engine.count(workspace) for workspace in workspaces}
    if call.as_json:
        facts = [{"workspace": workspace, **asdict(count)} for workspace, count in counts.items()]
        show.print_json(facts if everywhere else facts[0])
    elif counts:
        _show_counts_table(counts)
    for database in damaged:
        show.print_note(f"left out: {database.error}")
    if not counts and not damaged:
        show.print_note("no workspace holds anything yet")
    return 1 if damaged else 0


def _show_counts_table(counts: dict[str, Counts]) -> None:
    screen, table = show.make_console(), show.make_table()
    if screen.width < show.NARROW_COLUMNS:
        for workspace, count in counts.items():
            show.print_text(
                f"{workspace}\n  {number_with_noun(count.items, 'item')}, {format_size(count.bytes)}"
            )
        return
    table.add_column("workspace", overflow="fold")
    table.add_column("items", justify="right")
    table.add_column("kinds")
    for name in ("relations", "vectors", "receipts", "size"):
        table.add_column(name, justify="right", no_wrap=True)
    for workspace, count in counts.items():
        kinds = ", ".join(f"{kind} {number:,}" for kind, number in count.kinds.items())
        numbers = (f"{number:,}" for number in (count.relations, sum(count.vectors.values()), count.receipts))
        items = f"{count.items:,}"
        table.add_row(
            show.rich_text(workspace),
            items,
            show.rich_text(kinds or "-"),
            *numbers,
            format_size(count.bytes),
        )
    screen.print(table)


# Servers that the settings name ----------------------------------------------------------------------------


def check_servers(settings: Settings, store: Store) -> list[Finding]:
    """Findings about the store's server and the vectors' server, as far as the settings name them."""
    findings = _check_store_server(cast("PostgresStore", store)) if settings.store else []
    if settings.vectors:
        findings.append(_check_vector_server(cast("Any", store).vector_server))
    return findings


def _check_store_server(store: PostgresStore) -> list[Finding]:
    """Findings about a PostgreSQL server: its versions, and whether row security binds our user."""
    try:
        state = store.read_server_state()
    except StorageError as error:
        return [Finding("store", store.shown_url, ok=False, advice=str(error))]
    found = [Finding("store", f"{store.shown_url}: PostgreSQL {state.version}, pgvector {state.pgvector}")]
    if not state.is_bound_by_row_security:
        advice = (
            "connect as a user that is no superuser and lacks BYPASSRLS; queries alone keep them apart now"
        )
        bound = Finding("row security", "does not bind this user", ok=False, advice=advice)
    else:
        bound = Finding("row security", "binds this user: no transaction sees another workspace")
    return [*found, bound]


def _check_vector_server(server: Any) -> Finding:  # noqa: ANN401  (the optional part for Qdrant)
    try:
        return Finding("vectors", f"{server.shown_url}: Qdrant {server.read_server_version()}")
    except StorageError as error:
        advice = f"{error}; items are found by words meanwhile, and it learns what it missed"
        return Finding("vectors", server.shown_url, ok=False, advice=advice)
