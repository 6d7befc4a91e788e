"""Index and watch: a folder's files and history become memory, once or for as long as one likes."""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foreword.edges.cli.common import Call, command, console, counted, embed, emit, opened, say, tell
from foreword.errors import EmbeddingError
from foreword.workspace import workspace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from foreword.engine.context_engine import ContextEngine
    from foreword.indexing.indexer import Indexed

_REST = 10
"""Looking for changes takes at most one part in so many of the time."""

_folder = click.argument(
    "path", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="[PATH]"
)
_code = click.option("--code", is_flag=True, help="Code alone: functions, methods, classes.")
_commits = click.option("--commits", is_flag=True, help="The history of the repository alone.")
_docs = click.option("--docs", is_flag=True, help="Documents alone: Markdown, reStructuredText, HTML, PDF.")
_no_embed = click.option("--no-embed", is_flag=True, help="Make no vectors now; a later command will.")


@command("index", "foreword index\nforeword index ~/shop --code --docs")
@_folder
@_code
@_commits
@_docs
@_no_embed
def index(call: Call, path: Path, code: bool, commits: bool, docs: bool, no_embed: bool) -> None:
    """Read a folder into memory: its code, its documents and its history.

    What git ignores, what was built or copied in, what is no text and what may hold secrets is left out. Only
    what changed since the last time is read. The workspace is that of the folder. --code, --commits and
    --docs may be combined; without any, all three are read.
    """
    workspace = _workspace(call, path)
    chosen = _chosen(code=code, commits=commits, docs=docs)
    with opened(embedding=not no_embed) as engine, _resumable(call):
        started = time.monotonic()
        with _bars() as progress:
            indexed = _index(engine, path, workspace, chosen, progress)
        vectors = _embedded(engine, workspace, lambda: _tell_summary(call, indexed))
    if call.as_json:
        emit({"workspace": workspace, "root": str(path.absolute()), **asdict(indexed), "vectors": vectors})
    else:
        say(f"{_summary(indexed)}; {counted(vectors, 'vector')} made, in {time.monotonic() - started:.1f} s")


@command("watch", "foreword watch\nforeword watch ~/shop --every 5")
@_folder
@_code
@_commits
@_docs
@_no_embed
@click.option(
    "--every",
    type=click.FloatRange(0.1),
    default=2.0,
    show_default=True,
    metavar="S",
    help="Seconds between.",
)
def watch(
    call: Call, path: Path, code: bool, commits: bool, docs: bool, no_embed: bool, every: float
) -> None:
    """Index a folder, and again whenever something in it changes, until Ctrl-C.

    The same as `foreword index` every few seconds; what did not change is not read.
    """
    workspace = _workspace(call, path)
    chosen = _chosen(code=code, commits=commits, docs=docs)
    with opened(embedding=not no_embed) as engine:
        try:
            while True:
                started = time.monotonic()
                indexed = _index(engine, path, workspace, chosen, lambda _label, _done, _total: None)
                looked = time.monotonic() - started
                if indexed.changed:
                    _report(call, indexed, embed(engine, workspace))
                time.sleep(max(every, 0 if indexed.changed else looked * _REST))
        except KeyboardInterrupt:  # the way to end it
            tell("no longer watching; what was read is kept")


def _workspace(call: Call, path: Path) -> str:
    """The workspace that was named, or else that of the folder."""
    return call.workspace if call.named is not None else workspace_of(path)


def _chosen(*, code: bool, commits: bool, docs: bool) -> dict[str, Any]:
    """What is to be read; everything there is, when nothing was named."""
    if not (code or commits or docs):
        return {}
    return {"code": code, "commits": commits, "documents": docs}


def _index(
    engine: ContextEngine,
    path: Path,
    workspace: str,
    chosen: dict[str, Any],
    progress: Callable[[str, int, int | None], None],
) -> Indexed:
    from foreword.indexing.indexer import Indexer

    return Indexer(engine).index(path, workspace, **chosen, progress=progress)


@contextmanager
def _resumable(call: Call) -> Iterator[None]:
    """Whoever interrupts is told how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if not call.as_json:
            tell("what was read so far is kept; run the same command again to go on from there")
        raise


@contextmanager
def _bars() -> Iterator[Callable[[str, int, int | None], None]]:
    """A bar on stderr for files and one for commits, while somebody watches."""
    if not sys.stderr.isatty():
        yield lambda _label, _done, _total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    tasks: dict[str, Any] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:

        def show(label: str, done: int, total: int | None) -> None:
            if label not in tasks:
                tasks[label] = progress.add_task(label, total=total)
            progress.update(tasks[label], completed=done, total=total)

        yield show


def _embedded(engine: ContextEngine, workspace: str, before_failing: Callable[[], None]) -> int:
    try:
        return embed(engine, workspace)
    except EmbeddingError as error:
        before_failing()
        raise EmbeddingError(
            f"stored, and words find it; vectors will be made by a later command, because now: {error}"
        ) from error


def _tell_summary(call: Call, indexed: Indexed) -> None:
    if not call.as_json:
        say(_summary(indexed))


def _summary(indexed: Indexed) -> str:
    kept = f"{counted(indexed.files, 'file')} read: {counted(indexed.units, 'unit')}"
    parts = [kept, counted(indexed.commits, "commit")]
    if indexed.unchanged:
        parts.append(f"{counted(indexed.unchanged, 'file')} unchanged")
    if indexed.removed:
        parts.append(f"{counted(indexed.removed, 'file')} gone")
    if indexed.skipped:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in indexed.skipped.items())
        parts.append(f"left out: {reasons}")
    return "; ".join(parts)


def _report(call: Call, indexed: Indexed, vectors: int) -> None:
    """One line a change, so that a program can read them as they come."""
    now = datetime.now().astimezone()
    if call.as_json:
        click.echo(json.dumps({"at": now.isoformat(), **asdict(indexed), "vectors": vectors}))
    else:
        say(f"{now:%H:%M:%S}  {_summary(indexed)}; {counted(vectors, 'vector')} made")
    sys.stdout.flush()


COMMANDS = (index, watch)
