"""Install and uninstall: Foreword in the settings of an agent.

Says what changed, where the copy of what was there lies, and what is left to the user to do. What each agent
needs is known to `foreword.edges.install`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foreword.edges.cli.common import Call, command, default_workspace, emit, say, settings, tell

if TYPE_CHECKING:
    from foreword.edges.install import Place
    from foreword.edges.install.plan import Change
    from foreword.edges.install.targets import Target

_NAMES = ("claude-code", "codex", "gemini", "opencode")
_agent = click.argument("agent", type=click.Choice(_NAMES))
_scope = click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="Every project of yours, or this one alone.",
)
_plugin = click.option(
    "--plugin",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Claude Code only: as a plugin in this folder, and no settings.",
)
_dry_run = click.option("--dry-run", is_flag=True, help="Show the changes as a diff and make none.")


@command("install", "foreword install claude-code --dry-run\nforeword install codex --scope project")
@_agent
@_scope
@_plugin
@click.option("--no-mcp", is_flag=True, help="Hooks alone, without the memory tools.")
@_dry_run
def install(call: Call, agent: str, scope: str, plugin: Path | None, no_mcp: bool, dry_run: bool) -> int:
    """Add Foreword to an agent's own settings.

    Hooks hand prompts, tool calls and answers to Foreword and give the agent what it should know. Whatever
    else is in the settings stays as it is, and a copy is kept beside each file before its first change.
    """
    from foreword.edges.install import plan

    lacking = not no_mcp and not _can_serve_tools()
    place, targets, advice = _chosen(agent, scope, plugin, mcp=not no_mcp and not lacking)
    changes = [plan.installation(target) for target in targets]
    _refuse_both(agent, plugin, place)
    notes = ["the memory tools were left out; for them: pip install 'foreword[server]'"] if lacking else []
    if not dry_run:
        for change in changes:
            plan.apply(change)
    changed = any(change.action != "unchanged" for change in changes)
    _answer(call, changes, [*notes, *(advice if changed else [])], dry_run=dry_run)
    return 0


@command("uninstall", "foreword uninstall claude-code\nforeword uninstall codex --dry-run")
@_agent
@_scope
@_plugin
@_dry_run
def uninstall(call: Call, agent: str, scope: str, plugin: Path | None, dry_run: bool) -> int:
    """Take Foreword out of an agent's settings.

    Removes what `install` added and nothing else. What is remembered stays; `foreword forget` removes that.
    """
    from foreword.edges.install import plan
    from foreword.edges.install.plugin import folders

    _, targets, _ = _chosen(agent, scope, plugin, mcp=True)
    changes = [plan.removal(target) for target in targets]
    if not dry_run:
        for change in changes:
            plan.apply(change)
        for folder in folders(plugin) if plugin is not None else ():
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
    _answer(call, changes, [], dry_run=dry_run)
    return 0


def _chosen(
    agent: str, scope: str, plugin: Path | None, *, mcp: bool
) -> tuple[Place, list[Target], list[str]]:
    """Where to install, the files concerned, and what will be left to do."""
    from foreword.edges.install import AGENTS, Place
    from foreword.edges.install import plugin as as_plugin

    project = Path(default_workspace()) if scope == "project" else None
    place = Place(home=settings().home, project=project)
    if plugin is None:
        module = AGENTS[agent]
        return place, module.targets(place, mcp=mcp), module.advice(place)
    if agent != "claude-code" or scope != "user":
        raise click.UsageError("--plugin is for claude-code, and Claude Code decides where a plugin counts")
    folder = plugin.absolute()
    return place, as_plugin.targets(place, folder, mcp=mcp), as_plugin.advice(folder)


def _can_serve_tools() -> bool:
    from importlib.util import find_spec

    return find_spec("mcp") is not None


def _refuse_both(agent: str, plugin: Path | None, place: Place) -> None:
    """Hooks in two places would say everything twice."""
    from foreword.edges.install import AGENTS, claude_code
    from foreword.edges.install.plan import installed

    here = AGENTS[agent].targets(place, mcp=True)[0].path
    for scope, project in (("user", None), ("project", Path(default_workspace()))):
        target = AGENTS[agent].targets(replace(place, project=project), mcp=True)[0]
        if (plugin is not None or target.path != here) and installed(target):
            first = f"foreword uninstall {agent} --scope {scope}"
            raise click.UsageError(f"the hooks are in {target.path} already; first run: {first}")
    if plugin is None and agent == claude_code.NAME and claude_code.plugin_folder(place):
        raise click.UsageError(
            "Foreword is a plugin there; first run: claude plugin uninstall foreword@foreword"
        )


# Answering -----------------------------------------------------------------------------------------------


def _answer(call: Call, changes: list[Change], advice: list[str], *, dry_run: bool) -> None:
    changed = [change for change in changes if change.action != "unchanged"]
    if call.as_json:
        emit(
            {
                "changed": bool(changed),
                "dry_run": dry_run,
                "files": [_facts(change, dry_run=dry_run) for change in changes],
                "next": advice,
            }
        )
        return
    for change in changed:
        if dry_run:
            say(change.diff.rstrip("\n"))
        else:
            kept = f" (before: {change.backup})" if change.backup else ""
            say(f"{change.action}: {change.path}{kept}")
    if not changed:
        say("nothing to change")
    for line in advice if not dry_run else ():
        tell(line)


def _facts(change: Change, *, dry_run: bool) -> dict[str, Any]:
    return {
        "path": str(change.path),
        "action": change.action,
        "backup": None if change.backup is None else str(change.backup),
        **({"diff": change.diff} if dry_run else {}),
    }


COMMANDS = (install, uninstall)
