"""What every command shares: the workspace, the engine, dates, and the two ways of answering.

Reads the environment for nothing but the workspace; settings come from `foreword.config`. All text that is
shown passes through `visible`; JSON is written in ASCII, where nothing can hide.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from foreword.errors import ValidationError
from foreword.text.clean import one_line, visible
from foreword.workspace import workspace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rich.console import Console
    from rich.text import Text

    from foreword.config import Settings
    from foreword.engine.context_engine import ContextEngine

_WORKSPACE = "FOREWORD_WORKSPACE"
_EXAMPLE = "\n\n\b\nExample:\n"

# The workspace -------------------------------------------------------------------------------------------


def default_workspace() -> str:
    """The workspace of the current folder."""
    return workspace_of(Path.cwd())


@dataclass(frozen=True, slots=True)
class Call:
    """What every command is told: the workspace that was named, if any, and how to answer."""

    named: str | None = None
    as_json: bool = False

    @property
    def workspace(self) -> str:
        """The workspace to work in."""
        from foreword.options import named

        return named(default_workspace() if self.named is None else self.named)

    @property
    def again(self) -> str:
        """The option that names this workspace in a command we suggest; nothing when it is the default."""
        import shlex

        return "" if self.named is None else f" -w {shlex.quote(self.named)}"


class Command(click.Command):
    """A command whose help says an example, and says it last."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """What the command does."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text((self.help or "").partition(_EXAMPLE)[0])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The example, after the options."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(_EXAMPLE.lstrip("\n") + (self.help or "").partition(_EXAMPLE)[2])


def command(name: str, example: str) -> Callable[[Callable[..., int | None]], click.Command]:
    """Make a command of a function: its first argument is a `Call`, its help ends with an example."""

    def made(function: Callable[..., int | None]) -> click.Command:
        @functools.wraps(function)
        def called(named: str | None, as_json: bool, **given: object) -> int | None:
            return function(Call(named, as_json), **given)

        lines = "\n".join(f"  {line}" for line in example.splitlines())
        text = inspect.cleandoc(function.__doc__ or "") + _EXAMPLE + lines
        whole = click.command(name, cls=Command, help=text)(called)
        whole.params += [
            click.Option(
                ["-w", "--workspace", "named"],
                envvar=_WORKSPACE,
                metavar="W",
                help="The workspace [default: the git root, else this folder].",
            ),
            click.Option(["--json", "as_json"], is_flag=True, help="Answer in JSON, on stdout alone."),
        ]
        return whole

    return made


# The engine ----------------------------------------------------------------------------------------------


def settings() -> Settings:
    """The settings that hold here."""
    from foreword import config

    loaded = config.load()
    _send_logs_to_stderr(loaded.log_level)
    return loaded


@contextmanager
def opened(*, embedding: bool = True, at: Settings | None = None) -> Iterator[ContextEngine]:
    """An engine on the user's data; without embedding it neither loads a model nor makes vectors."""
    from foreword.engine.context_engine import ContextEngine

    chosen = at if at is not None else settings()
    with ContextEngine(settings=chosen if embedding else replace(chosen, embedding="none")) as engine:
        yield engine


def words_only(engine: ContextEngine) -> ContextEngine:
    """An engine on the same store that makes no vectors in the background: they are made in view."""
    from foreword.engine.context_engine import ContextEngine

    return ContextEngine(
        engine.store, settings=replace(engine.settings, embedding="none"), counter=engine.tokenizer
    )


def embed(engine: ContextEngine, workspace: str) -> int:
    """Make the vectors that are missing, in view of whoever watches; gives how many were made."""
    counts = engine.count(workspace)
    lacking = counts.items - counts.vectors.get("semantic", 0)
    with bar("making vectors", max(lacking, 1)) as show:
        return engine.embed_pending(workspace, show)


def _send_logs_to_stderr(level: str) -> None:
    import logging

    levels = logging.getLevelNamesMapping()
    if level.upper() not in levels:
        raise ValidationError(f"no log_level named {level!r}; there are: debug, info, warning, error")

    class Line(logging.Formatter):
        """A log event as one short line."""

        def format(self, record: logging.LogRecord) -> str:
            """The line, with nothing in it that cannot be seen."""
            return f"foreword: {record.levelname.lower()}: {one_line(visible(record.getMessage()))}"

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Line())
    logger = logging.getLogger("foreword")
    logger.setLevel(levels[level.upper()])
    logger.handlers = [handler]  # not one more each time, where one process runs several commands


# Dates ---------------------------------------------------------------------------------------------------

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def moment(*, end: bool = False) -> Callable[[click.Context, click.Parameter, str | None], datetime | None]:
    """Read an option as an ISO 8601 date or datetime, local unless it says otherwise, or as an age.

    A date alone means its beginning; with `end`, its end.
    """

    def read(_ctx: click.Context, _param: click.Parameter, value: str | None) -> datetime | None:
        try:
            return None if value is None else _moment(value, end=end)
        except (ValueError, OverflowError):
            raise click.BadParameter(
                f"{value!r} is not a date (2026-01-31, 2026-01-31T12:00) nor an age (12h, 3d, 2w)"
            ) from None

    return read


def _moment(value: str, *, end: bool) -> datetime:
    if ago := re.fullmatch(r"(\d+)([hdw])", value, re.ASCII):
        return datetime.now().astimezone() - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    read = datetime.fromisoformat(value)
    if end and re.fullmatch(r"[\dW-]+", value):
        read = datetime.combine(read, time.max)
    return read if read.tzinfo else read.astimezone()


# Answering -----------------------------------------------------------------------------------------------


def emit(value: object) -> None:
    """Answer a machine."""
    click.echo(json.dumps(value, indent=2, default=_plain))


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)


def say(text: str) -> None:
    """Answer a person, on stdout."""
    click.echo(visible(text))


def tell(text: str) -> None:
    """Remark something to a person, on stderr, where it is in nobody's way."""
    click.echo(f"foreword: {visible(text)}", err=True)


def console(*, stderr: bool = False) -> Console:
    """A rich console that takes text as it is: no markup, no emoji codes, no guessing at highlights."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def seen(text: str, style: str = "") -> Text:
    """Text for a rich table, with nothing in it that cannot be seen."""
    from rich.text import Text

    return Text(visible(text), style=style)


def shortened(text: str, width: int) -> str:
    """The text on one line of at most `width` characters."""
    line = one_line(visible(text))
    return line if len(line) <= width else line[: max(1, width - 1)].rstrip() + "…"


def counted(number: int, thing: str) -> str:
    """`1 item`, `2 items`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def day(moment: datetime) -> str:
    """The date of a moment, here."""
    return moment.astimezone().strftime("%Y-%m-%d")


def places(ranks: Mapping[str, int]) -> str:
    """Where each space put an item, the best place first: `lexical 1 · semantic 2`."""
    return " · ".join(f"{space} {rank}" for space, rank in sorted(ranks.items(), key=lambda one: one[1]))


@contextmanager
def bar(label: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr while somebody watches; the function it gives takes how much is done."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import Progress

    with Progress(console=console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=total)
        yield lambda done: progress.update(
            task, completed=done, total=None if total is None else max(total, done)
        )
