"""Pause, resume and purge: store nothing for a while, or remove everything."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from foreword.capture.pauses import PAUSE_FILE, begin_pause, end_pauses, running_pauses
from foreword.capture.privacy import reason_to_keep_nothing
from foreword.config import Settings, find_data_folder, load_settings
from foreword.edges.cli import show
from foreword.edges.cli.common import CliCall, command, read_duration_option
from foreword.edges.cli.service import stop_service
from foreword.errors import ForewordError, StoreAway, ValidationError
from foreword.store.tenants_to_purge import TenantsToPurge
from foreword.text.numbers import number_with_noun

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from foreword.store.qdrant import QdrantVectors

_OUR_FOLDERS = ("workspaces", "spool", "run", "vector-requests")
"""The folders in the data folder that are Foreword's own, beside the pauses and the user's settings."""


def _is_pause_for_project(context: click.Context, project: bool) -> bool:
    """Whether a pause is for one project: the user says so, or names the workspace."""
    return (
        project or context.get_parameter_source("workspace_option") is click.core.ParameterSource.COMMANDLINE
    )


# Pause and resume ----------------------------------------------------------------------------------------


@command("pause", "foreword pause --for 2h\nforeword pause --project")
@click.option(
    "--for", "seconds", callback=read_duration_option, metavar="T", help="For so long: 30m, 2h, 1d, 1w."
)
@click.option("--project", is_flag=True, help="In this project alone, not everywhere.")
def pause(call: CliCall, seconds: float | None, project: bool) -> int:
    """Recall and remember nothing until `foreword resume`.

    Holds at once, for agents that run already, too. What is said meanwhile is written nowhere. The agent's
    user is told when a session begins. To look things up still works, and leaves no receipt.
    """
    home, now = find_data_folder().absolute(), time.time()
    workspace = call.workspace if _is_pause_for_project(click.get_current_context(), project) else ""
    new = begin_pause(home, now, None if seconds is None else now + seconds, workspace)
    where = f" in {workspace}" if workspace else " everywhere"
    call.answer(
        _pause_as_json(new), f"paused{where}{_describe_pause_end(new.until)}; to go on: foreword resume"
    )
    return 0


@command("resume", "foreword resume\nforeword resume --project")
@click.option("--project", is_flag=True, help="In this project alone: a pause everywhere goes on.")
def resume(call: CliCall, project: bool) -> int:
    """End a pause: the one everywhere, and this project's own.

    The exit code is 1 when nothing was paused.
    """
    home, now = find_data_folder().absolute(), time.time()
    alone = _is_pause_for_project(click.get_current_context(), project)
    ended = end_pauses(home, now, call.workspace, *(() if alone else ("",)))
    left = running_pauses(home, now)
    facts = {"ended": list(map(_pause_as_json, ended)), "still_paused": list(map(_pause_as_json, left))}
    call.answer(facts, note="no longer paused" if ended else "nothing was paused")
    for one in () if call.as_json else left:
        show.print_note(f"still paused: {one.workspace or 'everywhere'}{_describe_pause_end(one.until)}")
    if not call.as_json and not left and (reason := reason_to_keep_nothing(home, call.workspace)):
        show.print_note(reason)
    return 0 if ended else 1


def _pause_as_json(pause: Any) -> dict[str, Any]:  # noqa: ANN401
    return {name: value for name, value in asdict(pause).items() if name != "problem"}


def _describe_pause_end(until: float | None) -> str:
    """The words for when a pause ends; empty if it has no end."""
    return "" if until is None else f" until {time.strftime('%Y-%m-%d %H:%M', time.localtime(until))}"


# Purge ---------------------------------------------------------------------------------------------------


@command("purge", "foreword purge\nforeword purge --yes")
@click.option("--yes", is_flag=True, help="Do not ask.")
def purge(call: CliCall, yes: bool) -> int:
    """Remove everything that was ever remembered, of every project.

    Databases, vectors, receipts, backups, the spool and the logs; the service is stopped first. Vectors on a
    server are removed there, or as soon as it answers again. Your settings in config.toml stay, and so do the
    agents' hooks: foreword uninstall removes those. What a team's server keeps is not touched.
    """
    home = find_data_folder().absolute()
    files = list(_list_data_files(home))
    size = sum(path.lstat().st_size for path in files)
    if not files:
        call.answer({"home": str(home), "files": 0, "bytes": 0}, note=f"nothing is kept in {home}")
        return 1
    what = f"{number_with_noun(len(files), 'file')} ({size:,} bytes) in {home}"
    if not yes:
        if call.as_json or not sys.stdin.isatty():
            raise click.UsageError(f"this would remove {what} for good; if that is meant, add --yes")
        if not click.confirm(f"Remove {what} for good: everything, of every project?", err=True):
            show.print_note("nothing was removed")
            return 1
    stop_service(home)
    try:
        settings = load_settings()
    except ValidationError:
        settings = Settings(home=home)
    notes = list(_purge_files_and_vectors(settings))
    call.answer({"home": str(home), "files": len(files), "bytes": size}, f"removed: {what}; nothing is left")
    if settings.store:
        notes.append("what the server in the setting store keeps is still there; its operator removes that")
    for note in notes:
        show.print_note(note)
    return 0


def _purge_files_and_vectors(settings: Settings) -> Iterator[str]:
    """Remove Foreword's files, and from the vector server what belongs to them; gives notes for the user.

    What the server has to remove is noted before the databases go: they alone know its name there.
    """
    from foreword.store.sqlite import SqliteStore

    found = dict(SqliteStore(settings.workspaces).list_databases_and_tenant_names())
    tenants = list(filter(None, found.values()))
    purged = TenantsToPurge(settings.home)
    server = _open_vector_server(settings, purged)
    if server is not None:
        purged.add(server.shown_url, tenants)
    elif tenants:
        counted = number_with_noun(len(tenants), "workspace")
        yield f"{counted} had vectors on a server that no setting names any more"
    _remove_data_files(settings.home)
    for path in (path for path, tenant in found.items() if tenant is None):
        yield f"{path} could not be read: a vector server may still have its vectors"
    if server is not None:
        try:
            server.remove_purged_tenants()
        except StoreAway as error:
            yield f"{error}; the vectors are removed there as soon as it answers Foreword again"
        finally:
            server.close()


def _open_vector_server(settings: Settings, purged: TenantsToPurge) -> QdrantVectors | None:
    """The vector server of the settings, if they name one."""
    if not settings.vectors:
        return None
    from foreword.store.qdrant import QdrantVectors

    return QdrantVectors(settings.vectors, purged)


def _list_data_files(home: Path) -> Iterator[Path]:
    """Every file of Foreword's in the data folder except the user's settings."""
    for name in _OUR_FOLDERS:
        yield from (path for path in (home / name).rglob("*") if path.is_symlink() or not path.is_dir())
    yield from home.glob(f"*{PAUSE_FILE}*")


def _remove_data_files(home: Path) -> None:
    """Remove Foreword's files, but let a pause everywhere go on; raises ForewordError if one is left."""
    paused = [one for one in running_pauses(home, time.time()) if not one.workspace and not one.problem]
    for name in _OUR_FOLDERS:
        if (home / name).is_symlink():
            (home / name).unlink()
        elif (home / name).exists():
            shutil.rmtree(home / name)
    for path in home.glob(f"*{PAUSE_FILE}*"):
        path.unlink(missing_ok=True)
    if left := list(_list_data_files(home)):
        raise ForewordError(f"{left[0]} is still there: a process writes to {home}; end it and try again")
    for one in paused:
        begin_pause(home, one.since, one.until)
