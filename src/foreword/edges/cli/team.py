"""Team: who may use a team's service, and who has used it; `foreword serve --team` runs it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from foreword.config import find_data_folder
from foreword.edges.cli import show
from foreword.edges.cli.common import (
    CliCall,
    command,
    command_group,
    make_date_option_reader,
    read_duration_option,
)
from foreword.edges.http.team.audit import TeamAudit
from foreword.edges.http.team.members import RIGHTS, Member, Members
from foreword.text.numbers import number_with_noun

if TYPE_CHECKING:
    from datetime import datetime

    from foreword.edges.http.team.members import Right


@command("add", "foreword team add mara --workspaces 'git.example.org/acme/*' --right write --for 90d")
@click.argument("name")
@click.option(
    "--workspaces",
    "patterns",
    multiple=True,
    required=True,
    metavar="P",
    help="A workspace, or a pattern with *; may be repeated.",
)
@click.option("--right", type=click.Choice(RIGHTS), default="write", show_default=True)
@click.option(
    "--for", "seconds", callback=read_duration_option, metavar="T", help="Until when: 12h, 90d; for ever."
)
def add_member(
    call: CliCall, name: str, patterns: tuple[str, ...], right: Right, seconds: float | None
) -> int:
    """Make a token for a member, and print it: it is shown this once."""
    from datetime import UTC, datetime, timedelta

    expires = None if seconds is None else datetime.now(UTC) + timedelta(seconds=seconds)
    member, token = Members(find_data_folder().absolute()).add(name, right, patterns, expires)
    call.answer({**asdict(member), "token": token}, token)
    return 0


@command("list", "foreword team list")
def list_members(call: CliCall) -> int:
    """List every token that was made: whose it is and what it allows, never the token itself."""
    members = Members(find_data_folder().absolute()).list_all()
    return call.print_values_or_note(
        [asdict(member) for member in members],
        lambda: _show_members(members),
        "no token was made; to make one: foreword team add",
    )


def _show_members(members: list[Member]) -> None:
    for one in members:
        state = f"revoked {one.revoked[:10]}" if one.revoked else f"until {one.expires[:10] or 'revoked'}"
        show.print_text(f"{one.id}  {one.name}  {one.right}  {', '.join(one.workspaces)}  {state}")


@command("revoke", "foreword team revoke mara\nforeword team revoke 3f9a0c1b2d4e")
@click.argument("who", metavar="NAME|ID")
def revoke_member(call: CliCall, who: str) -> int:
    """Refuse a token, or all of a member's, from the next request on."""
    gone = Members(find_data_folder().absolute()).revoke(who)
    text = f"{number_with_noun(len(gone), 'token')} of {gone[0].name} revoked"
    call.answer([asdict(member) for member in gone], text)
    return 0


@command("audit", "foreword team audit --since 1d\nforeword team audit --member mara --json")
@click.option(
    "--since",
    callback=make_date_option_reader(),
    metavar="T",
    help="Not before: a date, or an age such as 3d.",
)
@click.option("--member", metavar="M", help="Of this member alone.")
def show_audit(call: CliCall, since: datetime | None, member: str | None) -> int:
    """Say who read and wrote what, oldest first; never what was asked or answered."""
    lines = [
        line
        for line in TeamAudit(find_data_folder().absolute()).read(since)
        if member in (None, line.get("member"))
    ]

    def show_lines() -> None:
        for line in lines:
            where = f"  {line['workspace']}" if line.get("workspace") else ""
            what = f"{line['member']}  {line['action']}  {line['status']}{where}"
            show.print_text(f"{line['at'][:19]}  {what}  {line['ms']} ms")

    return call.print_values_or_note(lines, show_lines, "nothing was asked")


team = command_group(
    "team",
    "Say who may use a team's service, and see who has.",
    "foreword team add mara --workspaces 'git.example.org/acme/*'\nforeword team audit --since 1d",
    [add_member, list_members, revoke_member, show_audit],
)
