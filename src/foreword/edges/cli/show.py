"""Print things for a person or a program: text, notes, JSON, tables, progress bars.

All text is printed without invisible characters; JSON is written in ASCII, where no character can hide.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from datetime import datetime
from json import dumps
from typing import TYPE_CHECKING, Any

import click

from foreword.text.clean import remove_invisible
from foreword.text.shorten import shorten_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from foreword.types import RelatedMemory

    Progress = Callable[[str, int, int | None], None]


NARROW_COLUMNS = 60
"""In a terminal narrower than this, lines are printed instead of a table."""


def print_json(value: object) -> None:
    """Print a value as JSON on stdout; dates in ISO 8601."""
    click.echo(dumps(value, indent=2, default=lambda x: x.isoformat() if isinstance(x, datetime) else str(x)))


def print_text(line: str) -> None:
    """Print text for a person on stdout."""
    click.echo(remove_invisible(line))


def print_note(line: str) -> None:
    """Print a remark on stderr, since it is not part of the answer."""
    click.echo(f"foreword: {remove_invisible(line)}", err=True)


def make_console(*, stderr: bool = False) -> Console:
    """A rich console that prints text unchanged: no markup, no emoji codes, no highlights."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def rich_text(text: str, style: str = "") -> Text:
    """Text for a rich table, without invisible characters."""
    from rich.text import Text

    return Text(remove_invisible(text), style=style)


def make_table(**options: Any) -> Table:  # noqa: ANN401  (rich has options of many types)
    """A rich table with a line under its head; the options are rich's own."""
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, pad_edge=False, **options)


def print_grid(rows: Iterable[Sequence[RenderableType]], style: str = "") -> None:
    """Print rows in columns, without a head or lines."""
    from rich.table import Table

    columns = Table.grid(padding=(0, 2))
    for row in rows:
        columns.add_row(*row, style=style)
    make_console().print(columns)


def shorten_to_line(text: str, width: int) -> str:
    """The text on one line of at most `width` characters, with an ellipsis if it was cut."""
    return shorten_line(remove_invisible(text), width)


def format_date(moment: datetime) -> str:
    """The date of a moment in the local time zone."""
    return moment.astimezone().strftime("%Y-%m-%d")


def relation_arrow(related: RelatedMemory) -> str:
    """The direction of a relation, an arrow for each step: `→` to the related item, `←` from it."""
    return ("→" if related.relationship.to_id == related.memory.id else "←") * related.depth


@contextmanager
def progress_bars(*, counts: bool = False) -> Iterator[Progress]:
    """Progress bars on stderr, one for each label, if it is a terminal; with `counts`, numbers as well.

    Yields a function that takes a label, how much is done, and the total, if that is known.
    """
    if not sys.stderr.isatty():
        yield lambda _label, _done, _total: None
        return
    from rich import progress as rich

    description = rich.TextColumn("{task.description}")
    columns = (description, rich.BarColumn(), rich.MofNCompleteColumn(), rich.TimeRemainingColumn())
    tasks: dict[str, Any] = {}
    with rich.Progress(
        *(columns if counts else ()), console=make_console(stderr=True), transient=True
    ) as progress:

        def update_bar(label: str, done: int, total: int | None) -> None:
            if label not in tasks:
                tasks[label] = progress.add_task(label, total=total)
            progress.update(tasks[label], completed=done, total=total)

        yield update_bar


@contextmanager
def progress_bar(label: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """One progress bar on stderr; yields a function that takes how much is done."""
    with progress_bars() as show:
        show(label, 0, total)
        yield lambda done: show(label, done, None if total is None else max(total, done))
