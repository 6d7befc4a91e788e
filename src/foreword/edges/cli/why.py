"""Why: the receipt that explains a context, for people, as JSON, or as a map from paths to values."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from foreword.edges.cli.common import (
    Call,
    command,
    console,
    emit,
    opened,
    places,
    say,
    seen,
    shortened,
    tell,
)

if TYPE_CHECKING:
    from foreword.types import Entry, Receipt

_DROPPED_SHOWN = 10


@command("why", "foreword why\nforeword why 4be1 --all\nforeword why --pathmap --json")
@click.argument("receipt_id", metavar="[RECEIPT]", default="")
@click.option("--all", "everything", is_flag=True, help="Show everything that was left out.")
@click.option("--pathmap", is_flag=True, help="Show a conversation's prompt as a map from paths to values.")
def why(call: Call, receipt_id: str, everything: bool, pathmap: bool) -> int:
    """Say what was injected, what was not, and why.

    RECEIPT is the id that `context` told, or the beginning of it; without one, the newest is explained.
    """
    workspace = call.workspace
    with opened(embedding=False) as engine:
        receipt = engine.explain(workspace, receipt_id)
        ids = () if receipt is None else tuple(entry.item_id for entry in receipt.entries)
        texts = {item.id: item.text for item in engine.store.get(workspace, *ids) if item is not None}
    if receipt is None:
        return _no_receipt(call, receipt_id)
    if pathmap:
        return _show_view(call, receipt)
    if call.as_json:
        emit(_receipt_json(receipt, texts))
    else:
        _show_receipt(receipt, texts, everything=everything)
    return 0


def _no_receipt(call: Call, receipt_id: str) -> int:
    if call.as_json:
        emit(None)
    elif receipt_id:
        tell(f"no receipt begins with {receipt_id!r} in this workspace; old ones are let go")
    else:
        tell(f"no receipt yet in this workspace; ask for a context first: foreword context QUERY{call.again}")
    return 1


def _show_view(call: Call, receipt: Receipt) -> int:
    if receipt.view is None:
        tell(
            f"the receipt {receipt.id} has no path map: only prompts of a conversation have one, "
            "and it goes when something of the workspace is forgotten"
        )
        return 1
    if call.as_json:
        emit(receipt.view)
    else:
        for path, value in receipt.view.items():
            say(f"{path} → {json.dumps(value, ensure_ascii=False)}")
    return 0


def _receipt_json(receipt: Receipt, texts: dict[str, str]) -> dict[str, Any]:
    entries = [{**asdict(entry), "text": texts.get(entry.item_id)} for entry in receipt.entries]
    told = asdict(receipt) | {"entries": entries, "milliseconds": _milliseconds(receipt)}
    del told["view"]
    return told


def _milliseconds(receipt: Receipt) -> float:
    return sum(stage.milliseconds for stage in receipt.stages)


def _show_receipt(receipt: Receipt, texts: dict[str, str], *, everything: bool) -> None:
    dropped = [entry for entry in receipt.entries if entry.decision != "injected"]
    shown = dropped if everything else dropped[:_DROPPED_SHOWN]
    _show_header(receipt, len(dropped))
    if receipt.entries:
        _show_entries([*receipt.injected, *shown], texts)
    else:
        say("\nNothing was found that could have been injected.")
    if len(shown) < len(dropped):
        say(f"{len(dropped) - len(shown)} more were left out; see them with --all")
    for note in receipt.notes:
        say(f"note: {note.part}: {note.message}")


def _show_header(receipt: Receipt, dropped: int) -> None:
    from rich.table import Table

    stages = " · ".join(f"{stage.stage} {stage.milliseconds:.1f}" for stage in receipt.stages)
    made = receipt.created_at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    session = f", session {receipt.session}" if receipt.session else ""
    table = Table.grid(padding=(0, 2))
    for name, value in {
        "receipt": f"{receipt.id}, {made}{session}",
        "query": shortened(receipt.query, 500),
        "recipe": receipt.recipe,
        "tokens": f"{receipt.tokens:,} of {receipt.budget:,}",
        "items": f"{len(receipt.injected)} injected, {dropped} left out",
        "time": f"{_milliseconds(receipt):.1f} ms: {stages}",
    }.items():
        table.add_row(name, seen(value))
    console().print(table)


def _show_entries(entries: list[Entry], texts: dict[str, str]) -> None:
    from rich import box
    from rich.table import Table

    screen = console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=True)
    table.add_column("decision", min_width=11, max_width=20)
    for name in ("score", "rank", "agree", "tokens"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("item", ratio=1)
    room = max(60, 2 * (screen.width - 58))
    for entry in entries:
        injected = entry.decision == "injected"
        decision = seen(entry.decision, "bold green" if injected else "yellow")
        if entry.detail:
            decision.append(f"\n{shortened(entry.detail, 60)}", style="dim")
        text = seen(shortened(texts.get(entry.item_id, "(forgotten)"), room))
        text.append_text(seen(f"\n{entry.item_id}: {places(entry.ranks)}", "dim"))
        numbers = [f"{number:.2f}" for number in (entry.score, entry.rank, entry.agreement)]
        table.add_row(decision, *numbers, str(entry.tokens) if injected else "", text)
    screen.print(table)


COMMANDS = (why,)
