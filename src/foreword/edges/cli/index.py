"""Index and watch: read a folder's files and history into memory, once or whenever they change."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foreword.capture.folder.workspace import workspace_of
from foreword.edges.cli import show
from foreword.edges.cli.common import (
    CliCall,
    command,
    count_missing_vectors_and_codes,
    make_vectors,
    no_embed_option,
    open_engine,
    reopen_without_encoder,
)
from foreword.errors import EmbeddingError
from foreword.text.numbers import number_with_noun

if TYPE_CHECKING:
    from collections.abc import Callable

    from foreword.engine.context_engine import ContextEngine
    from foreword.indexing.indexer import Indexed

_PAUSE_FACTOR = 10
"""If nothing changed, watching waits at least this many times as long as the look for changes took."""


def _add_folder_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options and the argument that `index` and `watch` share."""
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


@command("index", "foreword index\nforeword index ~/shop --code --docs\nforeword index --no-wait")
@_add_folder_options
@click.option(
    "--no-wait", is_flag=True, help="Leave the vectors to the service, which makes them in the background."
)
def index_folder(call: CliCall, path: Path, no_embed: bool, no_wait: bool, **parts: bool) -> None:
    """Read a folder into memory: its code, its documents and its history.

    What git ignores, what was built or copied in, what is no text and what may hold secrets is left out. Only
    what changed since the last time is read. The workspace is that of the folder. --code, --commits and
    --docs may be combined; without any, all three are read.

    What was read is found by its words at once, and by its meaning when its vectors are made, which takes
    longer than the reading. Both can be stopped at any time; the same command goes on from there.
    """
    workspace = _choose_workspace(call, path)
    with open_engine(embedding=not no_embed) as engine:
        reader = reopen_without_encoder(engine) if no_wait else engine
        try:
            with show.progress_bars(counts=True) as progress:
                indexed = _index_chosen_parts(reader, path, workspace, parts, progress)
            if no_wait:
                made = _leave_vectors_to_service(engine, workspace)
            else:
                made = _make_missing_vectors(call, engine, workspace, indexed)
        except KeyboardInterrupt:
            if not call.as_json:
                show.print_note("what was read and made so far is kept; run the same command again to go on")
            raise
    facts = {"workspace": workspace, "root": str(path.absolute()), **asdict(indexed), **asdict(made)}
    call.answer(facts, f"{_describe_indexed(indexed)}\n{_describe_vectors(made, no_embed=no_embed)}")


@dataclass(frozen=True, slots=True)
class _VectorCounts:
    """How many vectors were made, how long that took, and how many are still to be made.

    `service` is the id of the process that makes the rest: 0 if it is not known yet, None if no service runs.
    """

    vectors: int = 0
    vector_seconds: float = 0.0
    vectors_left: int = 0
    service: int | None = None


def _make_missing_vectors(
    call: CliCall, engine: ContextEngine, workspace: str, indexed: Indexed
) -> _VectorCounts:
    """Make the missing vectors now; if the encoder fails, print what was read before raising."""
    started = time.monotonic()
    try:
        made = make_vectors(engine, workspace, later="vectors will be made by a later command")
    except EmbeddingError:
        if not call.as_json:
            show.print_text(_describe_indexed(indexed))
        raise
    return _VectorCounts(made, time.monotonic() - started, count_missing_vectors_and_codes(engine, workspace))


def _leave_vectors_to_service(engine: ContextEngine, workspace: str) -> _VectorCounts:
    """Ask the service for the missing vectors, whether it runs now or is started later."""
    from foreword.edges.service.run_folder import RunFolder
    from foreword.edges.shared.vector_requests import request_vectors

    left = count_missing_vectors_and_codes(engine, workspace)
    home = engine.settings.home
    if left:
        request_vectors(home, workspace)
    return _VectorCounts(vectors_left=left, service=RunFolder(home).running_pid())


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
def watch_folder(call: CliCall, path: Path, no_embed: bool, every: float, **parts: bool) -> None:
    """Index a folder, and again whenever something in it changes, until Ctrl-C.

    The same as `foreword index` every few seconds; what did not change is not read.
    """
    workspace = _choose_workspace(call, path)
    with open_engine(embedding=not no_embed) as engine:
        try:
            while True:
                started = time.monotonic()
                indexed = _index_chosen_parts(
                    engine, path, workspace, parts, lambda _label, _done, _total: None
                )
                seconds = time.monotonic() - started
                if indexed.has_changes:
                    _print_indexed_change(call, indexed, make_vectors(engine, workspace))
                time.sleep(max(every, 0 if indexed.has_changes else seconds * _PAUSE_FACTOR))
        except KeyboardInterrupt:  # the way to end it
            show.print_note("no longer watching; what was read is kept")


def _choose_workspace(call: CliCall, path: Path) -> str:
    """The workspace that the user named, or else the workspace of the folder."""
    return call.workspace if call.workspace_option is not None else workspace_of(path)


def _index_chosen_parts(
    engine: ContextEngine, path: Path, workspace: str, parts: dict[str, bool], progress: show.Progress
) -> Indexed:
    """Read the parts that the user chose, or all of them if none was chosen."""
    from foreword.indexing.indexer import Indexer

    chosen: dict[str, Any] = {}
    if any(parts.values()):
        chosen = {"code": parts["code"], "commits": parts["commits"], "documents": parts["docs"]}
    return Indexer(engine).index(path, workspace, **chosen, progress=progress)


def _describe_indexed(indexed: Indexed) -> str:
    """One line with the numbers of files that were read, unchanged, removed and left out."""
    parts = [f"{number_with_noun(indexed.files, 'file')} read: {number_with_noun(indexed.units, 'unit')}"]
    parts.append(number_with_noun(indexed.commits, "commit"))
    if indexed.unchanged:
        parts.append(f"{number_with_noun(indexed.unchanged, 'file')} unchanged")
    if indexed.removed:
        parts.append(f"{number_with_noun(indexed.removed, 'file')} gone")
    if indexed.skipped:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in indexed.skipped.items())
        parts.append(f"left out: {reasons}")
    return f"{'; '.join(parts)}; in {indexed.seconds:.1f} s"


def _describe_vectors(counts: _VectorCounts, *, no_embed: bool) -> str:
    """One line on how many vectors were made, or who will make them."""
    left = number_with_noun(counts.vectors_left, "vector")
    if no_embed:
        return "no vectors made, as you asked: what was read is found by its words"
    if counts.vectors_left and counts.service is not None:
        process = f" (process {counts.service})" if counts.service else ""
        return f"{left} to make: the service{process} makes them in the background; words find everything now"
    if counts.vectors_left and not counts.vectors:
        return (
            f"{left} to make, and no service runs: they are made when one does (foreword serve), "
            "or now by foreword index without --no-wait; words find everything now"
        )
    rate = (
        f", {counts.vectors / counts.vector_seconds:.0f} a second"
        if counts.vectors and counts.vector_seconds
        else ""
    )
    return f"{number_with_noun(counts.vectors, 'vector')} made in {counts.vector_seconds:.1f} s{rate}"


def _print_indexed_change(call: CliCall, indexed: Indexed, vectors: int) -> None:
    """Print one line about a change, and flush it for programs that read along."""
    now = datetime.now().astimezone()
    if call.as_json:
        click.echo(json.dumps({"at": now.isoformat(), **asdict(indexed), "vectors": vectors}))
    else:
        show.print_text(
            f"{now:%H:%M:%S}  {_describe_indexed(indexed)}; {number_with_noun(vectors, 'vector')} made"
        )
    sys.stdout.flush()
