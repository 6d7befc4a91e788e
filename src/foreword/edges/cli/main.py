"""The command line: the group of commands, and how their errors become one line and an exit code.

A user's mistake, a closed pipe or Ctrl-C never ends in a traceback; anything else does, because it is a bug.
What a command does is in the module of its family.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

import foreword
from foreword.edges.cli import (
    backups,
    context,
    demo,
    doctor,
    experience,
    index,
    install,
    items,
    ledger,
    measure,
    memory,
    move,
    privacy,
    proxy,
    service,
    team,
    view,
    why,
)
from foreword.edges.cli.common import OrderedGroup
from foreword.errors import ContextError, ForewordError, MissingExtra, StorageError, ValidationError
from foreword.text.clean import join_lines, remove_invisible

if TYPE_CHECKING:
    from collections.abc import Sequence


_EXIT_CODES = {MissingExtra: 5, StorageError: 3, ValidationError: 2, ContextError: 4}
"""The first class that fits counts, since storage and validation errors are ContextErrors, too."""
_USER_ERRORS = (ForewordError, click.ClickException, click.Abort, KeyboardInterrupt, OSError, UnicodeError)


class ForewordGroup(OrderedGroup):
    """The commands in the order in which users need them; errors become lines and exit codes."""

    def main(self, args: Sequence[str] | None = None, *_: object, **__: object) -> NoReturn:
        """Run one command and exit with its code; replaces click's own, whose codes and messages differ."""
        if args is None and "_FOREWORD_COMPLETE" in os.environ:  # a shell asks what could come next
            super().main(prog_name="foreword")
        if args is None:  # the process is the command's own
            os.umask(0o077)  # memories, backups and exports are for their owner alone
        code = run(sys.argv[1:] if args is None else list(args))
        if args is None:
            _exit_if_threads_remain(code)
        sys.exit(code)


@click.group(
    cls=ForewordGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
    Exit codes:
      0    done
      1    nothing found, or problems found
      2    wrong usage, or a file that cannot be read or written
      3    the store cannot read or write
      4    the encoder or the search failed
      5    an optional package is missing
      130  interrupted
    \b
    Example:
      foreword remember "We chose Postgres for its JSON operators." --type decision
      foreword context "Which database do we use?"
      foreword why
    """,
)
@click.version_option(foreword.__version__, prog_name="foreword", message="%(prog)s %(version)s")
def main() -> None:
    """Give an LLM agent the right context before it reads the prompt.

    What is remembered lives in workspaces: by default the root of the git repository you stand in, else the
    folder. Nothing crosses from one to another. Data lives in FOREWORD_HOME, or the platform's data folder.
    """


for _command in (
    *(memory.remember, memory.search, items.list_items, items.show_item),
    *(items.edit_item, items.relate_items, memory.forget),
    *(ledger.list_or_close_open_ends, ledger.list_or_change_decisions, ledger.list_or_change_facts),
    *(
        context.print_context,
        context.assemble_document,
        context.premortem,
        why.explain_receipt,
        view.open_view,
    ),
    *(memory.export, memory.import_, move.move_workspaces),
    *(privacy.pause, privacy.resume, privacy.purge, backups.backup, backups.restore),
    *(index.index_folder, index.watch_folder, experience.experience, experience.values),
    *(install.install, install.uninstall, install.print_completion_script, doctor.doctor, doctor.show_stats),
    *(service.serve, service.stop, service.show_status, service.answer_one_hook, service.serve_mcp),
    *(proxy.serve_proxy, team.team),
    *(demo.demo, measure.measure_quality, measure.measure_speed),
):
    main.add_command(_command)


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code; an error that a user can cause becomes a line on stderr."""
    wants_json = "--json" in arguments[: arguments.index("--") if "--" in arguments else None]
    try:
        code = _run_click_command(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_stdout()
        return 0  # the reader of our output has closed it, as `head` does, and needs no more
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except _USER_ERRORS as error:
        return _report_error(error, wants_json=wants_json)
    return code


def _run_click_command(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise click.UsageError(
                f"an argument is not valid UTF-8: {remove_invisible(argument)!r}"
            ) from None
    try:
        with main.make_context("foreword", arguments) as context:
            return main.invoke(context) or 0
    except click.exceptions.Exit as done:
        return done.exit_code


def _report_error(error: BaseException, *, wants_json: bool) -> int:
    """Print an error as one line on stderr and return its exit code."""
    tag, code, message = _describe_error(error)
    message = join_lines(remove_invisible(message))
    line = json.dumps({"error": {"type": tag, "message": message}}) if wants_json else f"foreword: {message}"
    try:
        click.echo(line, err=True)
        sys.stdout.flush()
    except OSError:  # a full disk or a closed pipe behind stdout: the line above has said it all
        _discard_stdout()
    return code


class _ErrorReport(NamedTuple):
    """An error as a program and a person read it: its tag, the exit code of the process, and the message."""

    tag: str
    exit_code: int
    message: str


def _describe_error(error: BaseException) -> _ErrorReport:
    """What the user is told of an error, and the exit code of the process."""
    match error:
        case ForewordError():
            code = next((code for kind, code in _EXIT_CODES.items() if isinstance(error, kind)), 1)
            return _ErrorReport(getattr(error, "type", "missing_extra"), code, str(error))
        case click.UsageError():
            path = error.ctx.command_path if error.ctx else "foreword"
            return _ErrorReport("usage_error", 2, f"{error.format_message().rstrip('.')}; see: {path} --help")
        case click.ClickException():
            return _ErrorReport("file_error", 2, error.format_message())
        case UnicodeDecodeError():
            return _ErrorReport(
                "not_utf8", 2, f"the input is not UTF-8 text (byte {error.start}: {error.reason})"
            )
        case OSError():
            where = error.filename or "the input or the output"
            return _ErrorReport("file_error", 2, f"cannot use {where}: {error.strerror or error}")
        case UnicodeError():
            return _ErrorReport(
                "not_utf8", 2, f"the output cannot be shown in this terminal's encoding: {error}"
            )
        case _:
            return _ErrorReport("interrupted", 130, "interrupted")


def _exit_if_threads_remain(code: int) -> None:
    """End the process at once if a thread of ours still runs after it missed its deadline.

    If the interpreter shut down normally, a thread inside the encoder would abort the process. All
    acknowledged writes are on the disk by now, and all output is written.
    """
    if any(thread.daemon and thread.name.startswith("foreword-") for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _discard_stdout() -> None:
    """Point stdout at the null device, so that Python's own flush at exit does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
