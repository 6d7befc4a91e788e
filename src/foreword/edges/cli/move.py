"""Export and import: a workspace as lines of JSON, to a file or a pipe and back."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from foreword.edges.cli.common import Call, bar, command, counted, embed, emit, opened, say, tell, words_only
from foreword.errors import ValidationError
from foreword.text.clean import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


@command("export", "foreword export backup.jsonl\nforeword export | gzip > backup.jsonl.gz")
@click.argument("file", default="-", metavar="[FILE|-]")
def export(call: Call, file: str) -> int:
    """Write a workspace as lines of JSON.

    Items come first, then relations; vectors are not written, because they can be made again.
    FILE is replaced only once everything is written.
    """
    workspace = call.workspace
    with opened(embedding=False) as engine:
        counts = engine.count(workspace)
        if not counts.items:
            tell(f"nothing to export: {workspace} holds nothing")
            if call.as_json:
                emit([])
            return 1
        lines = engine.export(workspace)
        if file == "-":
            _write_stdout(lines, as_json=call.as_json)
            return 0
        written = _write_file(Path(file), lines)
    if call.as_json:
        emit({"file": str(Path(file).absolute()), "lines": written})
    else:
        say(f"{counted(written, 'line')} written to {file}")
    return 0


def _write_stdout(lines: Iterable[str], *, as_json: bool) -> None:
    if as_json:
        emit([json.loads(line) for line in lines])
        return
    show: Callable[[str], str] = visible if sys.stdout.isatty() else str
    out = sys.stdout.buffer
    for line in lines:
        out.write(show(line).encode() + b"\n")
    out.flush()


def _write_file(path: Path, lines: Iterable[str]) -> int:
    """Write beside the file and move it into place, so that half an export never replaces a whole one."""
    if path.exists() and not path.is_file():  # a pipe or a device must not be replaced by a file
        with path.open("w", encoding="utf-8", newline="\n") as out:
            return _write_lines(out, lines)
    path = path.resolve()
    if not path.parent.is_dir():
        raise click.FileError(str(path), "there is no such folder")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.touch(mode=0o600)  # memory is private, wherever it is written
        with beside.open("w", encoding="utf-8", newline="\n") as out:
            written = _write_lines(out, lines)
            os.fsync(out.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return written


def _write_lines(out: IO[str], lines: Iterable[str]) -> int:
    written = 0
    with bar("exporting") as show:
        for line in lines:
            out.write(line + "\n")
            written += 1
            show(written)
    out.flush()
    return written


@command("import", "foreword import backup.jsonl\ngunzip -c backup.jsonl.gz | foreword import -")
@click.argument("file", metavar="FILE|-")
@click.option("--no-embed", is_flag=True, help="Make no vectors now; a later command will.")
def import_(call: Call, file: str, no_embed: bool) -> None:
    """Store lines of JSON.

    They come from `export`, or are written by hand. What is there already is not stored twice.
    A line needs no more than a text: {"text": "Deploys happen on Tuesdays."}
    """
    workspace = call.workspace
    with opened(embedding=not no_embed) as engine:
        before = engine.count(workspace)
        with bar("importing") as show:
            read = words_only(engine).import_lines(_lines(file, show), workspace)
        after = engine.count(workspace)
        made = embed(engine, workspace)
    items, relations = after.items - before.items, after.relations - before.relations
    if call.as_json:
        emit({"lines": read, "items": items, "relations": relations, "vectors": made})
    else:
        new = f"{counted(items, 'new item')}, {counted(relations, 'new relation')}"
        say(f"{counted(read, 'line')} read: {new}, {counted(made, 'vector')} made")


def _lines(file: str, show: Callable[[int], None]) -> Iterator[str]:
    """The lines of a file or of stdin, without the byte order mark that some editors put first."""
    with click.open_file(file, "rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise ValidationError(
                    f"line {number} is not UTF-8 text (byte {error.start}: {error.reason})"
                ) from None
            show(number)


COMMANDS = (export, import_)
