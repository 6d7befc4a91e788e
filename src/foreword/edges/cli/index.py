"""Index and watch: a folder's files and history become memory, once or whenever they change."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foreword.edges.cli import show
from foreword.edges.cli.common import CliCall, command, make_vectors, no_embed_option, open_engine
from foreword.errors import EmbeddingError
from foreword.workspace import workspace_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from foreword.engine.context_engine import ContextEngine
    from foreword.indexing.indexer import Indexed

_REST = 10
"""Watching waits at least this many times as long as looking for changes takes."""


def _add_folder_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The folder to read, and what of it."""
    folder = click.Path(exists=True, file_okay=False, path_type=Path)
    for option in (
        no_embed_option,
        click.option("--docs", is_flag=True, help="Documents alone: Markdown, reStructuredText, HTML, PDF."),
        click.option("--commits", is_flag=True, help="The history of the repository alone."),
        click.option("--code", is_flag=True, help="Code alone: functions, methods, classes."),
        click.argument("path", default=".", type=folder, metavar="[PATH]"),
    ):
        function = option(function)
    return function


@command("index", "foreword index\nforeword index ~/shop --code --docs")
@_add_folder_options
def index(call: CliCall, path: Path, no_embed: bool, **parts: bool) -> None:
    """Read a folder into memory: its code, its documents and its history.

    What git ignores, what was built or copied in, what is no text and what may hold secrets is left out. Only
    what changed since the last time is read. The workspace is that of the folder. --code, --commits and
    --docs may be combined; without any, all three are read.
    """
    workspace = _choose_workspace(call, path)
    with open_engine(embedding=not no_embed) as engine:
        started = time.monotonic()
        try:
            with show.progress_bars(counts=True) as progress:
                indexed = _index_folder(engine, path, workspace, parts, progress)
            try:
                vectors = make_vectors(engine, workspace, later="vectors will be made by a later command")
            except EmbeddingError:
                if not call.as_json:
                    show.text(_describe_indexed(indexed))
                raise
        except KeyboardInterrupt:
            if not call.as_json:
                show.note("what was read so far is kept; run the same command again to go on from there")
            raise
    facts = {"workspace": workspace, "root": str(path.absolute()), **asdict(indexed), "vectors": vectors}
    seconds = time.monotonic() - started
    made = f"{show.plural(vectors, 'vector')} made, in {seconds:.1f} s"
    call.answer(facts, f"{_describe_indexed(indexed)}; {made}")


@command("watch", "foreword watch\nforeword watch ~/shop --every 5")
@_add_folder_options
@click.option(
    "--every",
    type=click.FloatRange(0.1),
    default=2.0,
    show_default=True,
    metavar="S",
    help="Seconds between.",
)
def watch(call: CliCall, path: Path, no_embed: bool, every: float, **parts: bool) -> None:
    """Index a folder, and again whenever something in it changes, until Ctrl-C.

    The same as `foreword index` every few seconds; what did not change is not read.
    """
    workspace = _choose_workspace(call, path)
    with open_engine(embedding=not no_embed) as engine:
        try:
            while True:
                started = time.monotonic()
                indexed = _index_folder(engine, path, workspace, parts, lambda _label, _done, _total: None)
                seconds = time.monotonic() - started
                if indexed.changed:
                    _print_indexed_change(call, indexed, make_vectors(engine, workspace))
                time.sleep(max(every, 0 if indexed.changed else seconds * _REST))
        except KeyboardInterrupt:  # the way to end it
            show.note("no longer watching; what was read is kept")


def _choose_workspace(call: CliCall, path: Path) -> str:
    """The workspace that the user named, or else that of the folder."""
    return call.workspace if call.workspace_option is not None else workspace_of(path)


def _index_folder(
    engine: ContextEngine, path: Path, workspace: str, parts: dict[str, bool], progress: show.Progress
) -> Indexed:
    """Read the parts that the user named, or all of them when none was named."""
    from foreword.indexing.indexer import Indexer

    chosen: dict[str, Any] = {}
    if any(parts.values()):
        chosen = {"code": parts["code"], "commits": parts["commits"], "documents": parts["docs"]}
    return Indexer(engine).index(path, workspace, **chosen, progress=progress)


def _describe_indexed(indexed: Indexed) -> str:
    """What was read, unchanged, gone and left out, in one line."""
    parts = [f"{show.plural(indexed.files, 'file')} read: {show.plural(indexed.units, 'unit')}"]
    parts.append(show.plural(indexed.commits, "commit"))
    if indexed.unchanged:
        parts.append(f"{show.plural(indexed.unchanged, 'file')} unchanged")
    if indexed.removed:
        parts.append(f"{show.plural(indexed.removed, 'file')} gone")
    if indexed.skipped:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in indexed.skipped.items())
        parts.append(f"left out: {reasons}")
    return "; ".join(parts)


def _print_indexed_change(call: CliCall, indexed: Indexed, vectors: int) -> None:
    """Print one line for each change, so that a program can read them as they come."""
    now = datetime.now().astimezone()
    if call.as_json:
        click.echo(json.dumps({"at": now.isoformat(), **asdict(indexed), "vectors": vectors}))
    else:
        show.text(f"{now:%H:%M:%S}  {_describe_indexed(indexed)}; {show.plural(vectors, 'vector')} made")
    sys.stdout.flush()
