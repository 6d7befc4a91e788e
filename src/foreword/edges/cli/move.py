"""Move: copy workspaces to another store, and prove that the copies are the same."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from foreword.edges.cli import show
from foreword.edges.cli.common import CliCall, command, load_settings

if TYPE_CHECKING:
    from foreword.store.base import Store
    from foreword.store.moving import CopyProof


@command(
    "move",
    "foreword move --to postgres://ada@db.example.org/memory --all\n"
    "foreword move --from postgres://ada@db.example.org/memory --to local",
)
@click.option("--to", "target", required=True, metavar="STORE", help="Where to: postgres://… or local.")
@click.option("--from", "source", default="", metavar="STORE", help="Where from, if not as the settings say.")
@click.option("--all", "everywhere", is_flag=True, help="Every workspace, not only this one.")
def move_workspaces(call: CliCall, target: str, source: str, everywhere: bool) -> int:
    """Copy workspaces to another store, and prove that both hold the same.

    Items, relations, vectors, token codes, receipts, files, and what sessions were shown. Nothing is removed
    where it was. A copy that was interrupted goes on where it ended; what is there is not written again.
    The exit code is 1 when there was nothing, or when the two differ: then something was written meanwhile,
    or the target held more before.
    """
    from foreword.engine.defaults import LOCAL, open_store

    settings = load_settings()
    origin = source or settings.store or LOCAL
    if origin == target:
        raise click.UsageError("a store cannot be moved to itself; name another with --to or --from")
    with open_store(settings, origin) as source_store, open_store(settings, target) as target_store:
        workspaces = source_store.workspaces() if everywhere else [call.workspace]
        proofs = [_copy_with_progress(source_store, target_store, workspace) for workspace in workspaces]
    return _print_proofs(call, [proof for proof in proofs if proof.source.counts["items"]], target)


def _copy_with_progress(source: Store, target: Store, workspace: str) -> CopyProof:
    """Copy one workspace, with a progress bar; return the proof of what both stores hold."""
    from foreword.store.moving import copy_workspace

    with show.progress_bar("copying") as progress:
        return copy_workspace(source, target, workspace, progress)


def _print_proofs(call: CliCall, proofs: list[CopyProof], target: str) -> int:
    """Print what was copied; return 1 if there was nothing, or if the stores differ."""
    if call.as_json:
        show.print_json([{**asdict(proof), "same": proof.is_same} for proof in proofs])
    elif not proofs:
        show.print_note("there is nothing to copy")
    for proof in () if call.as_json else proofs:
        counts = ", ".join(
            f"{count:,} {part.replace('_', ' ')}" for part, count in proof.source.counts.items()
        )
        if proof.is_same:
            show.print_text(f"{proof.workspace}: {counts}; the same in both, by count and hash")
        else:
            parts = ", ".join(part.replace("_", " ") for part in proof.differences)
            show.print_text(
                f"{proof.workspace}: {counts}\n  BAD  {parts} differ; run it again, or look at both"
            )
    if proofs and all(proof.is_same for proof in proofs) and not call.as_json:
        where = "" if target == "local" else "postgres://…"
        show.print_note(f'to use it: store = "{where}" in config.toml, or FOREWORD_STORE')
    return 0 if proofs and all(proof.is_same for proof in proofs) else 1
