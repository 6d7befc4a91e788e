"""What the commands share: the workspace, common options, and the engine.

The only thing it reads from the environment is the workspace; settings come from `foreword.config`. Printing
is left to `show`.
"""

from __future__ import annotations

import contextlib
import functools
import re
import shlex
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foreword import config
from foreword.capture.folder.workspace import workspace_of
from foreword.edges.cli import show
from foreword.errors import EmbeddingError, ValidationError
from foreword.options import check_workspace
from foreword.text.clean import join_lines, remove_invisible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from foreword.config import Settings
    from foreword.engine.context_engine import ContextEngine

OptionValue = Any
"""The value that click has read for an option; its type depends on the option."""


# Commands ------------------------------------------------------------------------------------------------


def default_workspace() -> str:
    """The workspace of the current folder."""
    return workspace_of(Path.cwd())


@dataclass(frozen=True, slots=True)
class CliCall:
    """What every command gets: the workspace that the user named, if any, and whether to answer in JSON."""

    workspace_option: str | None = None
    as_json: bool = False

    @property
    def workspace(self) -> str:
        """The workspace to work in: the one the user named, or that of the current folder."""
        return check_workspace(
            default_workspace() if self.workspace_option is None else self.workspace_option
        )

    @property
    def workspace_flag(self) -> str:
        """The option for this workspace in a command that we suggest; empty for the default one."""
        return "" if self.workspace_option is None else f" -w {shlex.quote(self.workspace_option)}"

    def answer(self, value: object, text: str = "", *, note: str = "") -> None:
        """Print the value as JSON if the user asked for it, else the text on stdout or the note on stderr."""
        if self.as_json:
            show.print_json(value)
        elif note:
            show.print_note(note)
        else:
            show.print_text(text)

    def print_values_or_note(self, values: list[Any], show_values: Callable[[], None], nothing: str) -> int:
        """Print values as JSON or by `show_values`, or note that there are none; return 0, or 1 for none."""
        if values and not self.as_json:
            show_values()
        else:
            self.answer(values, note=nothing)
        return 0 if values else 1


class OrderedGroup(click.Group):
    """A group that lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names of the commands."""
        return list(self.commands)


def command(name: str, example: str) -> Callable[[Callable[..., int | None]], click.Command]:
    """Make a command of a function that takes a `CliCall` first; the example ends its help text."""

    def decorate(function: Callable[..., int | None]) -> click.Command:
        @functools.wraps(function)
        def run_command(workspace_option: str | None, as_json: bool, **options: OptionValue) -> int | None:
            return function(CliCall(workspace_option, as_json), **options)

        click_command = click.command(name, epilog=_format_example_epilog(example))(run_command)
        click_command.params += [
            click.Option(
                ["-w", "--workspace", "workspace_option"],
                envvar="FOREWORD_WORKSPACE",
                metavar="W",
                help="The workspace [default: the git root, else this folder].",
            ),
            click.Option(["--json", "as_json"], is_flag=True, help="Answer in JSON, on stdout alone."),
        ]
        return click_command

    return decorate


def command_group(name: str, text: str, example: str, members: Sequence[click.Command]) -> click.Group:
    """Group commands under one name, such as `foreword team`, with one help text for all."""
    commands = {str(member.name): member for member in members}
    text = f"{text}\n\nEach of them takes --workspace and --json."
    return OrderedGroup(name, commands, help=text, epilog=_format_example_epilog(example))


def _format_example_epilog(example: str) -> str:
    """The example at the end of a help text; the backspace keeps click from wrapping it."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in example.splitlines())


# Options that several commands have ----------------------------------------------------------------------

no_embed_option = click.option("--no-embed", is_flag=True, help="Make no vectors now; a later command will.")
lane_option = click.option(
    "--lane", type=click.Choice(["fast", "full"]), help="Without or with the cross-encoder."
)
deadline_option = click.option(
    "--deadline", "deadline_ms", type=float, metavar="MS", help="Answer within so many milliseconds."
)
limit_option = click.option(
    "--limit", type=int, default=20, show_default=True, metavar="N", help="At most so many."
)
port_type = click.IntRange(0, 65535)


def read_argument_or_stdin(text: str) -> str:
    """The argument itself, or for `-` the text of stdin without the line break at its end."""
    return sys.stdin.buffer.read().decode().rstrip("\r\n") if text == "-" else text


def text_option(*names: str, **attributes: OptionValue) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option whose value is a text, or `-` for the text of stdin; the attributes are click's own."""

    def read_text_option(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
        return None if value is None else read_argument_or_stdin(value)

    return click.option(*names, callback=read_text_option, **attributes)


_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def make_date_option_reader(
    *, end: bool = False
) -> Callable[[click.Context, click.Parameter, str | None], datetime | None]:
    """A click callback that reads an ISO 8601 date or datetime, or an age such as 3d.

    Times are local unless the value has a time zone. A date alone means its beginning; with `end`, its end.
    """

    def read_date_option(_ctx: click.Context, _param: click.Parameter, value: str | None) -> datetime | None:
        try:
            return None if value is None else _parse_date_or_age(value, end_of_day=end)
        except (ValueError, OverflowError):
            raise click.BadParameter(
                f"{value!r} is not a date (2026-01-31, 2026-01-31T12:00) nor an age (12h, 3d, 2w)"
            ) from None

    return read_date_option


def since_option(name: str = "since") -> Callable[[Any], Any]:
    """The option --since, whose date the command gets as `name`."""
    help_text = "Not before: a date, or an age such as 3d."
    return click.option("--since", name, callback=make_date_option_reader(), metavar="T", help=help_text)


def until_option(name: str = "until") -> Callable[[Any], Any]:
    """The option --until, whose date the command gets as `name`."""
    help_text, reader = "Not after; a date means its whole day.", make_date_option_reader(end=True)
    return click.option("--until", name, callback=reader, metavar="T", help=help_text)


def _parse_date_or_age(value: str, *, end_of_day: bool) -> datetime:
    """The time that a date, a datetime or an age such as 3d means; raises ValueError for others.

    With `end_of_day`, a date alone means its last moment.
    """
    if age := re.fullmatch(r"(\d+)([hdw])", value, re.ASCII):
        return datetime.now().astimezone() - timedelta(**{_UNITS[age[2]]: int(age[1])})
    moment = datetime.fromisoformat(value)
    if end_of_day and re.fullmatch(r"[\dW-]+", value):
        moment = datetime.combine(moment, time.max)
    return moment if moment.tzinfo else moment.astimezone()


_UNIT_SECONDS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def read_duration_option(_ctx: click.Context, _param: click.Parameter, value: str | None) -> float | None:
    """A click callback that reads a duration such as 30m, 2h or 1d as seconds."""
    if value is None:
        return None
    parts = re.fullmatch(r"(\d{1,6})([mhdw])", value, re.ASCII)
    if parts is None or not int(parts[1]):
        raise click.BadParameter(f"{value!r} is not a length of time such as 30m, 2h, 1d or 1w")
    return int(parts[1]) * float(_UNIT_SECONDS[parts[2]])


# The engine ----------------------------------------------------------------------------------------------


def load_settings() -> Settings:
    """Load the user's settings, and send logs to stderr from here on."""
    settings = config.load_settings()
    _send_logs_to_stderr(settings.log_level)
    return settings


@contextmanager
def open_engine(settings: Settings | None = None, *, embedding: bool = True) -> Iterator[ContextEngine]:
    """An engine on the user's data; with `embedding=False` it loads no model and makes no vectors."""
    from foreword.engine.context_engine import ContextEngine

    settings = load_settings() if settings is None else settings
    with ContextEngine(settings=settings if embedding else replace(settings, embedding="none")) as engine:
        engine.store_waiting_events = functools.partial(_drain_spool_before_forgetting, engine)
        yield engine


def _drain_spool_before_forgetting(engine: ContextEngine, *, drop_unreadable: bool) -> None:
    """Store the events that wait in the spool; see `drain_spool_before_forgetting`."""
    folder = engine.settings.home / "spool"
    if not folder.is_dir():
        return
    # These load what answers hooks, which commands rarely need.
    from foreword.edges.service.responder import HookResponder
    from foreword.edges.service.spool import drain_spool_before_forgetting

    with contextlib.closing(HookResponder(engine)) as responder:
        drain_spool_before_forgetting(folder, responder.capture, drop_unreadable=drop_unreadable)


def reopen_without_encoder(engine: ContextEngine) -> ContextEngine:
    """An engine on the same store that makes no vectors in the background.

    `make_vectors` makes them afterwards, with a progress bar.
    """
    from foreword.engine.context_engine import ContextEngine

    settings = replace(engine.settings, embedding="none")
    return ContextEngine(engine.store, settings=settings, counter=engine.tokenizer)


def make_vectors(engine: ContextEngine, workspace: str, later: str = "") -> int:
    """Make the missing vectors, with a progress bar, and return how many were made.

    If the encoder fails and `later` is given, the error says that everything is stored, and `later` what
    happens next.
    """
    try:
        with show.progress_bar(
            "making vectors", max(count_missing_vectors_and_codes(engine, workspace), 1)
        ) as count:
            return engine.embed_pending(workspace, count)
    except EmbeddingError as error:
        if not later:
            raise
        raise EmbeddingError(f"stored, and words find it; {later}, because now: {error}") from error


def count_missing_vectors_and_codes(engine: ContextEngine, workspace: str) -> int:
    """The number of missing vectors of items and token codes of talk; 0 without an encoder."""
    from foreword.engine.embedder import TALK

    counts, kit = engine.count(workspace), engine.kit
    if kit.encoder is None:
        return 0
    talk = sum(counts.kinds.get(kind, 0) for kind in TALK) if kit.token_space is not None else 0
    lacking = counts.items - counts.vectors.get(kit.encoder.name, 0)
    return max(0, lacking) + max(0, talk - counts.token_codes)


def _send_logs_to_stderr(level: str) -> None:
    """Print log events of this level and above on stderr, one line each."""
    import logging

    levels = logging.getLevelNamesMapping()
    if level.upper() not in levels:
        raise ValidationError(f"no log_level named {level!r}; there are: debug, info, warning, error")

    class OneLineFormatter(logging.Formatter):
        """A log event as one short line."""

        def format(self, record: logging.LogRecord) -> str:
            """The line, without invisible characters."""
            return (
                f"foreword: {record.levelname.lower()}: {join_lines(remove_invisible(record.getMessage()))}"
            )

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLineFormatter())
    logger = logging.getLogger("foreword")
    logger.setLevel(levels[level.upper()])
    logger.handlers = [handler]  # replaced, not added: one process may run several commands
