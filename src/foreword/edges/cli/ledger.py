"""The ledger: list open ends, decisions and facts about somebody; close or correct a line."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from foreword.edges.cli import show
from foreword.edges.cli.common import (
    CliCall,
    OptionValue,
    command,
    make_vectors,
    open_engine,
    read_argument_or_stdin,
    since_option,
    until_option,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.engine.ledger import LineKind
    from foreword.knowledge.decisions import Decision
    from foreword.knowledge.facts import Fact
    from foreword.knowledge.open_ends import OpenEnd
    from foreword.types import Item

_close_option = click.option(
    "--close", "closed_id", metavar="ID", help="Close this one: it is done, or holds no longer."
)
_correct_option = click.option(
    "--correct",
    "correction",
    nargs=2,
    metavar="ID TEXT",
    help="Keep TEXT (- for stdin) as what holds now, in the place of this one.",
)


@command("open", "foreword open\nforeword open --close 3f9c2a7be1d04c58")
@_close_option
def list_or_close_open_ends(call: CliCall, closed_id: str | None) -> int:
    """List what is open: said to be left, promised, postponed or waited for, and not closed since.

    Newest first; what is for some day comes last. --close marks an item as closed; it stays remembered. The
    beginning of an id is enough.
    """
    if closed_id is not None:
        return _close_ledger_item(call, closed_id)
    with open_engine(embedding=False) as engine:
        from foreword.engine.ledger import Ledger

        ends = Ledger(engine, call.workspace).list_open_ends()
    return call.print_values_or_note(
        list(map(_open_end_as_json, ends)), lambda: _show_open_ends(ends), "nothing is open"
    )


@command(
    "decisions",
    "foreword decisions --since 2w\n"
    'foreword decisions --about "upload"\n'
    'foreword decisions --correct 3f9c2a7b "Deploys happen on Thursdays."\n'
    'foreword decisions --add "Amounts are stored in cents." --kind rule',
)
@click.option("--about", default="", metavar="WORDS", help="Only those that have one of these words.")
@since_option()
@until_option()
@_close_option
@_correct_option
@click.option("--add", "added", metavar="TEXT", help="Keep TEXT as one more; - reads it from stdin.")
@click.option(
    "--kind",
    type=click.Choice(("decision", "rule", "preference")),
    default="decision",
    show_default=True,
    help="What --add keeps.",
)
def list_or_change_decisions(
    call: CliCall,
    closed_id: str | None,
    correction: tuple[str, str] | None,
    added: str | None,
    kind: LineKind,
    **filters: OptionValue,
) -> int:
    """List what was decided and holds: decisions, rules and preferences, newest first.

    Each line names its source and date, what it replaced (before), and what others say against it who may not
    replace it (but). What was taken back is not listed. --close takes one off the list, --correct puts
    another in its place; both stay remembered. The beginning of an id is enough.
    """
    if closed_id is not None:
        return _close_ledger_item(call, closed_id)
    if correction is not None:
        return _replace_ledger_statement(call, *correction)
    if added is not None:
        return _store_ledger_line(call, added, kind)
    with open_engine(embedding=False) as engine:
        from foreword.engine.ledger import Ledger

        found = Ledger(engine, call.workspace).list_decisions(**filters)
    return call.print_values_or_note(
        list(map(_decision_as_json, found)), lambda: _show_decisions(found), "nothing was decided"
    )


@command(
    "facts",
    'foreword facts Anna\nforeword facts me\nforeword facts Anna --correct 3f9c "Anna lives in Lyon."',
)
@click.argument("who")
@_close_option
@_correct_option
def list_or_change_facts(
    call: CliCall, who: str, closed_id: str | None, correction: tuple[str, str] | None
) -> int:
    """List what is known about WHO: a person, a thing, or `me`.

    By attribute where one can be read (title, email, lives in…), else the statement itself; each line names
    its source and date, what it replaced, and what others say against it. What is asked or doubted is not
    listed.
    """
    if closed_id is not None:
        return _close_ledger_item(call, closed_id)
    if correction is not None:
        return _replace_ledger_statement(call, *correction)
    with open_engine(embedding=False) as engine:
        from foreword.engine.ledger import Ledger

        found = Ledger(engine, call.workspace).list_facts(who)
    return call.print_values_or_note(
        list(map(_fact_as_json, found)), lambda: _show_facts(found), f"nothing is known about {who}"
    )


def _close_ledger_item(call: CliCall, item_id: str) -> int:
    """Mark an item as closed; no new statement is stored."""
    from foreword.engine.ledger import Ledger

    with open_engine(embedding=False) as engine:
        item = Ledger(engine, call.workspace).close(item_id)
    call.answer(asdict(item), f"closed: {show.shorten_to_line(item.text, 200)}")
    return 0


def _replace_ledger_statement(call: CliCall, item_id: str, text: str) -> int:
    """Store a new statement in the place of an item, and print its id."""
    from foreword.engine.ledger import Ledger

    with open_engine() as engine:
        ledger = Ledger(engine, call.workspace)
        older = ledger.find_item(item_id)
        item = ledger.correct(older.id, read_argument_or_stdin(text))
        call.answer(asdict(item), f"{item.id}\nbefore: {show.shorten_to_line(older.text, 200)}")
        make_vectors(engine, call.workspace, later="its vector will be made by a later command")
    return 0


def _store_ledger_line(call: CliCall, text: str, kind: LineKind) -> int:
    """Store a new decision, rule or preference, and print its id."""
    from foreword.engine.ledger import Ledger

    with open_engine() as engine:
        item = Ledger(engine, call.workspace).record(read_argument_or_stdin(text), kind)
        call.answer(asdict(item), item.id)
        make_vectors(engine, call.workspace, later="its vector will be made by a later command")
    return 0


# Lines ----------------------------------------------------------------------------------------------------


def _item_as_json(item: Item) -> dict[str, Any]:
    return {
        "id": item.id,
        "text": item.text,
        "created_at": item.created_at,
        "source": asdict(item.source),
        "kind": item.kind,
        "session": item.session,
    }


def _open_end_as_json(end: OpenEnd) -> dict[str, Any]:
    return {**_item_as_json(end.item), "text": end.text, "someday": end.is_someday}


def _decision_as_json(one: Decision) -> dict[str, Any]:
    return {**_item_as_json(one.item), "text": one.text, "settles": one.kind, **_history_as_json(one)}


def _fact_as_json(one: Fact) -> dict[str, Any]:
    named = {"attribute": one.attribute, "value": one.value}
    return {**_item_as_json(one.item), "text": one.text, **named, **_history_as_json(one)}


def _history_as_json(one: Decision | Fact) -> dict[str, Any]:
    return {
        "before": list(map(_item_as_json, one.before)),
        "beside": list(map(_item_as_json, one.beside)),
    }


def _show_open_ends(ends: Sequence[OpenEnd]) -> None:
    _show_lines_table(
        [(end.item, f"{end.text} (some day)" if end.is_someday else end.text, []) for end in ends]
    )


def _show_decisions(found: Sequence[Decision]) -> None:
    _show_lines_table([(one.item, one.text, _history_lines(one)) for one in found])


def _show_facts(found: Sequence[Fact]) -> None:
    _show_lines_table(
        [
            (one.item, f"{one.attribute}: {one.value}" if one.attribute else one.text, _history_lines(one))
            for one in found
        ]
    )


def _history_lines(one: Decision | Fact) -> list[str]:
    """The statements that a line replaced and those that contradict it, each with its date."""
    before = [f"before, {show.format_date(item.created_at)}: {item.text}" for item in one.before]
    against = [
        f"but {item.source.name}, {show.format_date(item.created_at)}: {item.text}" for item in one.beside
    ]
    return [show.shorten_to_line(line, 200) for line in (*before, *against)]


def _show_lines_table(lines: Sequence[tuple[Item, str, list[str]]]) -> None:
    """Print lines of the ledger in a table; the remarks go under the text of their line."""
    screen, table = show.make_console(), show.make_table(expand=True)
    if screen.width < show.NARROW_COLUMNS:
        for item, words, remarks in lines:
            show.print_text(f"{item.id[:12]}  {show.format_date(item.created_at)}  {item.source.name}")
            for line in (words, *remarks):
                show.print_text(f"  {show.shorten_to_line(line, 3 * screen.width)}")
        return
    table.add_column("date", no_wrap=True)
    table.add_column("source", max_width=16, overflow="fold")
    table.add_column("text", ratio=1)
    table.add_column("id", max_width=24, overflow="fold")
    for item, words, remarks in lines:
        text = show.rich_text(words)
        for remark in remarks:
            text.append(f"\n{remark}", style="dim")
        date = show.format_date(item.created_at)
        table.add_row(date, show.rich_text(item.source.name), text, show.rich_text(item.id))
    screen.print(table)
