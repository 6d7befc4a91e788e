"""Install, uninstall and completion: change the settings of an agent, or of a shell.

Prints what changed, where the backup is, and what the user still has to do. What each agent needs is the
business of `foreword.edges.install`.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from foreword.edges.cli import show
from foreword.edges.cli.common import CliCall, command, default_workspace, load_settings
from foreword.edges.install import agents, changes
from foreword.edges.install.agents import AGENTS, CLAUDE_CODE, InstallPlace
from foreword.edges.shared.spool_files import fill_spool_reserve

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import ShellComplete

    from foreword.edges.install.changes import SettingsChange, TargetFile


def _add_target_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that `install` and `uninstall` share: the agent and the scope."""
    for option in (
        click.option(
            "--plugin",
            "plugin_dir",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="DIR",
            help="Claude Code only: as a plugin in this folder, and no settings.",
        ),
        click.option(
            "--scope",
            type=click.Choice(["user", "project"]),
            default="user",
            show_default=True,
            help="Every project of yours, or this one alone.",
        ),
        click.argument("agent", type=click.Choice(list(AGENTS))),
    ):
        function = option(function)
    return function


_dry_run_option = click.option("--dry-run", is_flag=True, help="Show the changes as a diff and make none.")


@command("install", "foreword install claude-code --dry-run\nforeword install codex --scope project")
@_add_target_options
@click.option("--no-mcp", is_flag=True, help="Hooks alone, without the memory tools.")
@_dry_run_option
def install(
    call: CliCall, agent: str, scope: str, plugin_dir: Path | None, no_mcp: bool, dry_run: bool
) -> int:
    """Add Foreword to an agent's own settings.

    Hooks hand prompts, tool calls and answers to Foreword and give the agent what it should know. Whatever
    else is in the settings stays as it is, and a copy is kept beside each file before its first change.
    """
    lacks_server = not no_mcp and find_spec("mcp") is None
    mcp = not (no_mcp or lacks_server)
    place, targets, advice = _find_place_and_targets(agent, scope, plugin_dir, mcp=mcp)
    planned = [changes.plan_installation(target) for target in targets]
    _refuse_second_installation(agent, plugin_dir, place)
    if not dry_run:
        for change in planned:
            changes.write_file_change(change)
        with contextlib.suppress(OSError):  # the service tries again, and says why it cannot
            fill_spool_reserve(str(place.home.absolute()))
    changed = any(change.action != "unchanged" for change in planned)
    left_out = ["the memory tools were left out; for them: pip install 'foreword[server]'"]
    notes = [*(left_out if lacks_server else []), *(advice if changed else [])]
    _report_changes(call, planned, notes, dry_run=dry_run)
    return 0


@command("uninstall", "foreword uninstall claude-code\nforeword uninstall codex --dry-run")
@_add_target_options
@_dry_run_option
def uninstall(call: CliCall, agent: str, scope: str, plugin_dir: Path | None, dry_run: bool) -> int:
    """Take Foreword out of an agent's settings.

    Removes what `install` added and nothing else. What is remembered stays; `foreword forget` removes that.
    """
    _, targets, _ = _find_place_and_targets(agent, scope, plugin_dir)
    planned = [changes.plan_removal(target) for target in targets]
    if not dry_run:
        for change in planned:
            changes.write_file_change(change)
        if plugin_dir is not None:
            agents.remove_empty_plugin_folders(plugin_dir)
    _report_changes(call, planned, [], dry_run=dry_run)
    return 0


def _find_place_and_targets(
    agent: str, scope: str, plugin_dir: Path | None, *, mcp: bool = True
) -> tuple[InstallPlace, list[TargetFile], list[str]]:
    """Where to install, the files to change, and what the user will still have to do."""
    project = Path(default_workspace()) if scope == "project" else None
    place = InstallPlace(home=load_settings().home, project=project, mcp=mcp)
    if plugin_dir is None:
        return place, AGENTS[agent].targets(place), AGENTS[agent].advice(place)
    if agent != CLAUDE_CODE or scope != "user":
        raise click.UsageError("--plugin is for claude-code, and Claude Code decides where a plugin counts")
    folder = plugin_dir.absolute()
    return place, agents.plugin_targets(place, folder), agents.list_remaining_plugin_steps(folder)


def _refuse_second_installation(agent: str, plugin_dir: Path | None, place: InstallPlace) -> None:
    """Raise a usage error if the hooks are installed elsewhere: each event would come twice."""
    path = AGENTS[agent].targets(place)[0].path
    for scope, project in (("user", None), ("project", Path(default_workspace()))):
        target = AGENTS[agent].targets(replace(place, project=project))[0]
        if (plugin_dir is not None or target.path != path) and changes.find_installed_parts(target):
            first = f"foreword uninstall {agent} --scope {scope}"
            raise click.UsageError(f"the hooks are in {target.path} already; first run: {first}")
    if plugin_dir is None and agent == CLAUDE_CODE and agents.find_enabled_plugin_folder(place):
        raise click.UsageError(
            "Foreword is a plugin there; first run: claude plugin uninstall foreword@foreword"
        )


def _report_changes(
    call: CliCall, planned: list[SettingsChange], advice: list[str], *, dry_run: bool
) -> None:
    """Print what was changed and what the user still has to do; in a dry run, the diffs."""
    changed = [change for change in planned if change.action != "unchanged"]
    if call.as_json:
        files = [_change_as_json(change, dry_run=dry_run) for change in planned]
        show.print_json({"changed": bool(changed), "dry_run": dry_run, "files": files, "next": advice})
        return
    for change in changed:
        backup = f" (before: {change.backup})" if change.backup else ""
        show.print_text(change.diff.rstrip("\n") if dry_run else f"{change.action}: {change.path}{backup}")
    if not changed:
        show.print_text("nothing to change")
    for line in advice if not dry_run else ():
        show.print_note(line)


def _change_as_json(change: SettingsChange, *, dry_run: bool) -> dict[str, Any]:
    return {
        "path": str(change.path),
        "action": change.action,
        "backup": None if change.backup is None else str(change.backup),
        **({"diff": change.diff} if dry_run else {}),
    }


# Completion ----------------------------------------------------------------------------------------------


@command(
    "completion",
    'eval "$(foreword completion bash)"\nforeword completion fish > ~/.config/fish/completions/foreword.fish',
)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def print_completion_script(call: CliCall, shell: str) -> int:
    """Print what makes a shell complete commands and options.

    For bash and zsh, put the first line of the example into ~/.bashrc or ~/.zshrc.
    """
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root().command
    completer = cast("type[ShellComplete]", get_completion_class(shell))
    script = completer(root, {}, "foreword", "_FOREWORD_COMPLETE").source()
    call.answer({"shell": shell, "script": script}, script)
    return 0
