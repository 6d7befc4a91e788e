"""Backup and restore: copies of a workspace's database, which the service also makes once a day."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from foreword.config import find_data_folder
from foreword.edges.cli import show
from foreword.edges.cli.common import CliCall, command, load_settings, open_engine
from foreword.edges.cli.service import stop_service
from foreword.errors import ForewordError, ValidationError
from foreword.store.base import Repair
from foreword.text.numbers import format_size, number_with_noun

if TYPE_CHECKING:
    from foreword.config import Settings
    from foreword.store.backups import Backup
    from foreword.store.sqlite import SqliteStore


@command("backup", "foreword backup")
def backup(call: CliCall) -> int:
    """Back up the workspace now.

    The service does so once a day of use, and before the database is changed to a newer form.
    The exit code is 1 when the workspace holds nothing.
    """
    _refuse_server_store(load_settings())
    label = f"by-hand-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    with open_engine(embedding=False) as engine:
        path = cast("SqliteStore", engine.store).back_up(call.workspace, label)
    if path is None:
        call.answer({"backup": None}, note=f"{call.workspace} holds nothing to back up")
        return 1
    size = path.stat().st_size
    call.answer({"backup": str(path), "bytes": size}, f"{path} ({format_size(size)})")
    return 0


@command("restore", "foreword restore\nforeword restore daily-2026-11-15")
@click.argument("name", default="", metavar="[BACKUP]")
@click.option("--yes", is_flag=True, help="Do not ask.")
def restore(call: CliCall, name: str, yes: bool) -> int:
    """List the workspace's backups, or make the workspace what BACKUP has.

    BACKUP is a name from the list, `latest`, or a file. It is checked before anything is changed; what is
    there now is kept as one more backup. The service is stopped, and started by the next hook.
    """
    # These load SQLite and numpy, which other commands do not need.
    from foreword.store.backups import check_backup_and_count_items, list_backups, restore_backup
    from foreword.store.database import translate_errors
    from foreword.store.sqlite import SqliteStore

    settings = load_settings()
    _refuse_server_store(settings)
    workspace = call.workspace
    database = SqliteStore(settings.workspaces).path_of_database(workspace)
    known = list_backups(database)
    if not name:
        return _print_known_backups(call, known)
    chosen = _find_backup_path(name, known)
    with translate_errors(chosen):
        items = check_backup_and_count_items(chosen, workspace)
    question = f"Make {workspace} what {chosen.name} has ({number_with_noun(items, 'item')})?"
    if not yes:
        if call.as_json or not sys.stdin.isatty():
            raise click.UsageError(f"{question} If that is meant, add --yes")
        if not click.confirm(question, err=True):
            show.print_note("nothing was restored")
            return 1
    stop_service(find_data_folder())
    with translate_errors(database):
        kept = restore_backup(database, chosen, workspace, datetime.now(UTC))
    problems = _repair_restored_workspace(workspace)
    facts = {
        "restored": str(chosen),
        "items": items,
        "kept": str(kept) if kept else None,
        "problems": problems,
    }
    before = f"; what was there before is {kept.name}" if kept else ""
    call.answer(facts, f"restored: {number_with_noun(items, 'item')} from {chosen.name}{before}")
    for problem in () if call.as_json else problems:
        show.print_note(problem)
    return 1 if problems else 0


def _refuse_server_store(settings: Settings) -> None:
    """Raise ValidationError if the store is a server, whose own tools have to be used."""
    if settings.store:
        raise ValidationError(
            "the store is a PostgreSQL server: back it up and restore it with pg_dump and pg_restore, "
            "as docs/teams.md says; for a copy on this machine: foreword move --to local"
        )


def _print_known_backups(call: CliCall, known: list[Backup]) -> int:
    """Print the backups, newest first; return 1 if there are none."""

    def show_table() -> None:
        rows = (
            (backup.label, show.format_date(backup.made_at), format_size(backup.bytes))
            for backup in reversed(known)
        )
        show.print_grid([show.rich_text(cell) for cell in row] for row in rows)

    nothing = "there are no backups of this workspace yet; to make one: foreword backup"
    return call.print_values_or_note([asdict(one) for one in reversed(known)], show_table, nothing)


def _find_backup_path(name: str, known: list[Backup]) -> Path:
    """The path of the backup with this name, or of the file; `latest` is the newest usable backup.

    Raises ValidationError if there is none.
    """
    if name == "latest":
        matching = [one for one in known if not one.label.startswith(("damaged-", "before-restore-"))]
    else:
        matching = [one for one in known if name in (one.label, one.path.name, str(one.path))]
        matching = matching or [one for one in known if one.label.endswith(name)]
    if matching:
        return matching[-1].path
    if Path(name).is_file():
        return Path(name).absolute()
    raise ValidationError(f"there is no backup {name!r} of this workspace; to list them: foreword restore")


def _repair_restored_workspace(workspace: str) -> list[str]:
    """The problems of the restored workspace that remain after a repair."""
    try:
        with open_engine(embedding=False) as engine:
            problems = engine.store.check(workspace)
            if problems:
                problems = engine.store.run(Repair(workspace))
    except ForewordError as error:
        return [str(error)]
    return [f"{one.part}: {one.message}" for one in problems]
