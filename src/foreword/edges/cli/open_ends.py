"""List what a workspace leaves open, and close one by hand."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from foreword.edges.cli import show
from foreword.edges.cli.common import CliCall, command, open_engine
from foreword.edges.shared.calls import amend_item, get_item
from foreword.knowledge.open_ends import CLOSED, list_open_ends

if TYPE_CHECKING:
    from foreword.knowledge.open_ends import OpenEnd


@command("open", "foreword open\nforeword open --close 3f9c2a7be1d04c58")
@click.option(
    "--close", "closed_id", metavar="ID", help="Close this one: it is done, or not wanted any more."
)
def open_ends(call: CliCall, closed_id: str | None) -> int:
    """List what is open: said to be left, promised, postponed or waited for, and not closed since.

    Newest first; what is for some day comes last. --close marks an item as closed; it stays remembered.
    """
    if closed_id is not None:
        return _close(call, closed_id)
    with open_engine(embedding=False) as engine:
        ends = list_open_ends(engine.store, call.workspace)
    return call.answer_list(list(map(_as_json, ends)), lambda: _show(ends), "nothing is open")


def _close(call: CliCall, item_id: str) -> int:
    """Mark an item as closed: nothing new was said, so no new statement is kept."""
    workspace = call.workspace
    with open_engine(embedding=False) as engine:
        item = get_item(engine, workspace, item_id)
        closed_at = item.metadata.get(CLOSED) or datetime.now(UTC).isoformat(timespec="seconds")
        item = amend_item(engine, workspace, item_id, metadata={**item.metadata, CLOSED: closed_at})
    call.answer(asdict(item), f"closed: {show.shorten(item.text, 200)}")
    return 0


def _as_json(end: OpenEnd) -> dict[str, Any]:
    item = end.item
    return {
        "id": item.id,
        "text": end.text,
        "created_at": item.created_at,
        "source": asdict(item.source),
        "kind": item.kind,
        "session": item.session,
        "someday": end.is_someday,
    }


def _show(ends: list[OpenEnd]) -> None:
    screen, table = show.make_console(), show.make_table(expand=True)
    table.add_column("date", no_wrap=True)
    table.add_column("source", max_width=16, overflow="fold")
    table.add_column("text", ratio=1)
    table.add_column("id", max_width=24, overflow="fold")
    for end in ends:
        item = end.item
        text = f"{end.text} (some day)" if end.is_someday else end.text
        table.add_row(
            show.format_date(item.created_at),
            show.rich_text(item.source.name),
            show.rich_text(text),
            show.rich_text(item.id),
        )
    screen.print(table)
