"""The command line: the group of commands, and what becomes of their errors.

Knows how an error becomes one line and an exit code, and nothing of what the commands do. No user's mistake,
closed pipe or Ctrl-C ends in a traceback; anything else does, because it is a bug.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import TYPE_CHECKING, NoReturn

import click

import foreword
from foreword.edges.cli import (
    context,
    demo,
    experience,
    house,
    index,
    install,
    mcp,
    measure,
    memory,
    move,
    service,
    values,
    why,
)
from foreword.errors import (
    ContextError,
    ForewordError,
    MissingExtra,
    StorageError,
    ValidationError,
)
from foreword.text.clean import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

_INTERRUPTED = 130


class Foreword(click.Group):
    """The group: its commands in the order in which one meets them, its errors as lines and exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The commands as they were added."""
        return list(self.commands)

    def main(self, args: Sequence[str] | None = None, *_: object, **__: object) -> NoReturn:
        """Run one command and leave with its exit code; click's own `main` has other codes and words."""
        code = run(sys.argv[1:] if args is None else list(args))
        if args is None:  # the process is the command's own
            _leave_the_late_behind(code)
        sys.exit(code)


@click.group(
    cls=Foreword,
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


for _module in (
    memory,
    context,
    why,
    move,
    index,
    experience,
    values,
    install,
    house,
    service,
    mcp,
    demo,
    measure,
):
    for _command in _module.COMMANDS:
        main.add_command(_command)


def run(arguments: list[str]) -> int:
    """Run one command; whatever a user can cause becomes a line on stderr and an exit code."""
    wants_json = "--json" in arguments[: arguments.index("--") if "--" in arguments else None]
    try:
        code = _invoked(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _let_go_of_stdout()
        return 0  # whoever read our output has all they wanted
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except (
        ForewordError,
        click.ClickException,
        click.Abort,
        KeyboardInterrupt,
        OSError,
        UnicodeError,
    ) as error:
        return _report(error, wants_json=wants_json)
    return code


def _invoked(arguments: list[str]) -> int:
    """What the command returns."""
    _refuse_unreadable(arguments)
    try:
        with main.make_context("foreword", arguments) as context:
            return main.invoke(context) or 0
    except click.exceptions.Exit as done:
        return done.exit_code


def _refuse_unreadable(arguments: list[str]) -> None:
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise click.UsageError(f"an argument is not valid UTF-8: {visible(argument)!r}") from None


def _report(error: BaseException, *, wants_json: bool) -> int:
    kind, code, message = _judged(error)
    message = one_line(visible(message))
    line = json.dumps({"error": {"type": kind, "message": message}}) if wants_json else f"foreword: {message}"
    try:
        click.echo(line, err=True)
        sys.stdout.flush()
    except (
        OSError
    ):  # a full disk or a closed pipe behind stdout: the line above has said what there is to say
        _let_go_of_stdout()
    return code


def _judged(error: BaseException) -> tuple[str, int, str]:
    """The tag, the exit code and the message of an error."""
    match error:
        case ForewordError():
            return getattr(error, "type", "missing_extra"), _code(error), str(error)
        case click.UsageError():
            return "usage_error", 2, _with_hint(error)
        case click.ClickException():
            return "file_error", 2, error.format_message()
        case UnicodeDecodeError():
            return "not_utf8", 2, f"the input is not UTF-8 text (byte {error.start}: {error.reason})"
        case OSError():
            where = error.filename or "the input or the output"
            return "file_error", 2, f"cannot use {where}: {error.strerror or error}"
        case UnicodeError():
            return "not_utf8", 2, f"the output cannot be shown in this terminal's encoding: {error}"
        case _:
            return "interrupted", _INTERRUPTED, "interrupted"


def _code(error: ForewordError) -> int:
    match error:
        case MissingExtra():
            return 5
        case StorageError():
            return 3
        case ValidationError():
            return 2
        case ContextError():
            return 4
        case _:
            return 1


def _with_hint(error: click.UsageError) -> str:
    asked = error.ctx.command_path if error.ctx else "foreword"
    return f"{error.format_message().rstrip('.')}; see: {asked} --help"


def _leave_the_late_behind(code: int) -> None:
    """End at once if a part that a deadline has passed over still works, in a thread nobody waits for.

    Were the interpreter taken apart around it, a thread inside the encoder would abort the process. All that
    was acknowledged is on the disk, and all that was said has been written.
    """
    if any(thread.daemon and thread.name.startswith("foreword-") for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _let_go_of_stdout() -> None:
    """Point stdout at nothing, so that Python's own flush at exit has nothing to complain about."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
