"""List, show, edit and relate: single items, named by their id or its beginning."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from foreword.edges.cli import show
from foreword.edges.cli.common import (
    CliCall,
    OptionValue,
    command,
    make_vectors,
    no_embed_option,
    open_engine,
    read_argument_or_stdin,
    reopen_without_encoder,
    since_option,
    until_option,
)
from foreword.engine.browsing import Browser, describe_relation_type, displayable_metadata
from foreword.errors import ValidationError
from foreword.text.provenance import attribution
from foreword.types import KINDS, TRUSTS, Filters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.engine.browsing import ItemStory, Page
    from foreword.types import Item

_SHORT_ID = 12
"""How many characters of an id are shown; commands accept the beginning of an id."""


# List ----------------------------------------------------------------------------------------------------


@command(
    "list", "foreword list\nforeword list --kind memory --type decision --since 2w\nforeword list --replaced"
)
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only this kind; may be repeated."
)
@click.option("--type", "types", multiple=True, metavar="T", help="Only this type; may be repeated.")
@click.option("--session", metavar="S", help="Only of this session.")
@click.option("--source", metavar="S", help="Only what this source wrote.")
@click.option("--trust", type=click.Choice(TRUSTS), help="Only what is trusted so far.")
@since_option()
@until_option()
@click.option(
    "--replaced", "holds", flag_value=False, type=bool, default=None, help="Only what was replaced."
)
@click.option("--holding", "holds", flag_value=True, type=bool, default=None, help="Only what was not.")
@click.option("--skip", type=click.IntRange(0), default=0, metavar="N", help="Leave out the newest so many.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=30,
    show_default=True,
    metavar="N",
    help="At most so many.",
)
def list_items(
    call: CliCall, kinds: tuple[str, ...], types: tuple[str, ...], holds: bool | None, skip: int, limit: int,
    **filters: OptionValue,
) -> int:  # fmt: skip
    """List what is remembered, newest first."""
    with open_engine(embedding=False) as engine:
        wanted = Filters(kinds=kinds, types=types, **filters)
        page = Browser(engine, call.workspace).list_items(wanted, skip, limit, holds=holds)
    return call.print_values_or_note(
        [asdict(item) for item in page.items], lambda: _show_page(page), "nothing here fits"
    )


def _show_page(page: Page) -> None:
    """Print the items of a page, and how many more there are."""
    _show_items_table(page)
    if left := page.total - page.skip - len(page.items):
        show.print_note(f"{left:,} more; see them with --skip {page.skip + len(page.items)}")


def _show_items_table(page: Page) -> None:
    """Print items in a table: the beginning of the id, the date, the kind and the text."""
    screen = show.make_console()
    if screen.width < show.NARROW_COLUMNS:
        for item in page.items:
            show.print_text(f"{item.id[:_SHORT_ID]}  {show.format_date(item.created_at)}  {item.label}")
            show.print_text(f"  {show.shorten_to_line(item.text, 3 * screen.width)}")
        return
    table = show.make_table(expand=True)
    table.add_column("id", no_wrap=True)
    table.add_column("date", no_wrap=True)
    table.add_column("kind", max_width=14, overflow="fold")
    table.add_column("text", ratio=1)
    for item in page.items:
        text = show.rich_text(show.shorten_to_line(item.text, 2 * screen.width))
        if successor := page.successors.get(item.id):
            text.append(f"\nreplaced by {successor[:_SHORT_ID]}", style="dim")
        date, kind = show.format_date(item.created_at), show.rich_text(item.label)
        table.add_row(item.id[:_SHORT_ID], date, kind, text)
    screen.print(table)


# Show ----------------------------------------------------------------------------------------------------


@command("show", "foreword show 3f9c2a\nforeword show 3f9c2a --json")
@click.argument("name", metavar="ID")
def show_item(call: CliCall, name: str) -> int:
    """Show one item whole: its text, what it replaced, what it is related to, and when it was last shown.

    ID is an item's id, or the beginning of it.
    """
    with open_engine(embedding=False) as engine:
        browser = Browser(engine, call.workspace)
        story = browser.gather_story(browser.find_item(name))
    if call.as_json:
        show.print_json(asdict(story))
    else:
        for line in _describe_item(story):
            show.print_text(line)
    return 0


def _describe_item(story: ItemStory) -> Iterator[str]:
    """The lines of `foreword show`: the text, the facts, the versions, the relations and the receipts."""
    item = story.item
    yield item.text
    yield ""
    facts = {
        "id": item.id,
        "kind": item.label if item.label == item.kind else f"{item.kind}, {item.label}",
        "said": f"{item.created_at.astimezone():%Y-%m-%d %H:%M} by {attribution(item) or item.source.name}",
        "trusted as": item.source.trust,
        "about": item.about,
        "session": item.session or "",
        "last shown": f"{story.last_shown.astimezone():%Y-%m-%d %H:%M}" if story.last_shown else "never",
        "metadata": ", ".join(f"{name}={value}" for name, value in displayable_metadata(item).items()),
    }
    for name, value in facts.items():
        if value:
            yield f"{name + ':':12} {value}"
    for heading, items in (("replaced by", story.after), ("replaced", story.before)):
        for one in items:
            yield f"{heading + ':':12} {_format_item_line(one)}"
    for related in story.related:
        label = f"{show.relation_arrow(related)} {describe_relation_type(related.relationship)}:"
        yield f"{label:12} {_format_item_line(related.memory)}"
    for receipt in story.receipts:
        yield f"{'receipt:':12} {receipt.id}  {show.shorten_to_line(receipt.query, 60)}"


def _format_item_line(item: Item) -> str:
    """Another item on one line: the beginning of its id, its date and the beginning of its text."""
    return (
        f"{item.id[:_SHORT_ID]}  {show.format_date(item.created_at)}  {show.shorten_to_line(item.text, 90)}"
    )


# Edit ----------------------------------------------------------------------------------------------------


@command("edit", 'foreword edit 3f9c2a "Deploys happen on Thursdays."\nforeword edit 3f9c2a')
@click.argument("name", metavar="ID")
@click.argument("text", metavar="[TEXT|-]", default="")
@no_embed_option
def edit_item(call: CliCall, name: str, text: str, no_embed: bool) -> int:
    """Keep TEXT as a new version of an item, and print the new id.

    The old version stays remembered as what held before. Without TEXT, the item's text is opened in $EDITOR;
    `-` reads it from stdin.
    """
    with open_engine(embedding=not no_embed) as engine:
        browser = Browser(reopen_without_encoder(engine), call.workspace)
        item = browser.find_item(name)
        new_text = read_argument_or_stdin(text) if text else _edit_in_editor(item.text)
        if new_text == item.text:
            call.answer(asdict(item), note="the text is the same; nothing was changed")
            return 1
        new = browser.edit(item, new_text)
        call.answer(asdict(new), new.id)
        make_vectors(engine, call.workspace, later="its vector will be made by a later command")
    return 0


def _edit_in_editor(text: str) -> str:
    """The text after the user has edited it; unchanged if nothing was saved."""
    if not sys.stdin.isatty():
        raise ValidationError("say the new text, or - for stdin: there is no terminal to open an editor in")
    edited = click.edit(text, extension=".txt")
    return text if edited is None else edited.rstrip("\r\n")


# Relate --------------------------------------------------------------------------------------------------


@command("relate", "foreword relate 3f9c2a 77be01 --type caused_by")
@click.argument("from_name", metavar="ID")
@click.argument("to_name", metavar="ID")
@click.option("--type", default="related_to", show_default=True, metavar="T", help="How they are related.")
@click.option("--confidence", type=float, default=1.0, metavar="F", help="How sure that is, 0 to 1.")
def relate_items(call: CliCall, from_name: str, to_name: str, type: str, confidence: float) -> int:  # noqa: A002
    """Keep that the first item is related to the second.

    `search --related` and `context --related` follow relations.
    """
    with open_engine(embedding=False) as engine:
        browser = Browser(engine, call.workspace)
        first, second = browser.find_item(from_name), browser.find_item(to_name)
        if first.id == second.id:
            raise ValidationError("an item cannot be related to itself; name two")
        relation = engine.relate(first.id, second.id, call.workspace, type, confidence)
    call.answer(asdict(relation), f"{first.id} {relation.type} {second.id}")
    return 0
