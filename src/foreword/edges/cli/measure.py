"""Eval and bench: quality and speed, measured."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from foreword.edges.cli.common import Call, command, console, emit, say, seen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from foreword.options import Lane
    from foreword_measure.report import Cell, Report, Table

_SET = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")


@command(
    "eval",
    "foreword eval data/locomo --limit-queries 100\n"
    "foreword eval data/locomo --lane fast --without trigram\n"
    "foreword eval data --all --silence --json\n"
    "foreword eval data/locomo --dialogue\n"
    "foreword eval --entities",
)
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[DIR]…")
@click.option(
    "--lane",
    type=click.Choice(("fast", "full", "both")),
    default="both",
    show_default=True,
    help="Without the cross-encoder, with it, or both.",
)
@click.option(
    "--baselines/--no-baselines", default=True, show_default=True, help="Measure plain searches beside it."
)
@click.option(
    "--without", multiple=True, metavar="SPACE", help="Leave a space out of the engine; may be repeated."
)
@click.option("--silence", is_flag=True, help="Ask what cannot be answered, too, and judge the scores.")
@click.option(
    "--run", "run_file", type=click.Path(path_type=Path), metavar="FILE", help="Write the ranking there."
)
@click.option("--limit-queries", type=click.IntRange(1), metavar="N", help="Ask only the first so many.")
@click.option("--all", "everything", is_flag=True, help="Each DIR holds several sets: measure them all.")
@click.option("--home", type=click.Path(path_type=Path), metavar="PATH", help="Keep the vectors there.")
@click.option("--dialogue", is_flag=True, help="How much evidence the prompts of a conversation hold.")
@click.option("--entities", is_flag=True, help="Names, references and acts of speech, on our own sentences.")
@click.option("--gaps", is_flag=True, help="Missing context noticed, on our own states of agents.")
def evaluate(call: Call, folders: tuple[Path, ...], **asked: Any) -> None:  # noqa: ANN401  (click's options)
    """Measure quality on labelled sets.

    DIR holds corpus.jsonl, queries.jsonl and qrels.tsv; or dialogues.jsonl, whose changes of subject or
    summaries count.
    """
    wanted = _Wanted(folders, **asked)
    reports = []
    for report in wanted.reports():
        reports.append(report)
        if not call.as_json:
            _show_report(report)
    if call.as_json:
        emit([report.as_json() for report in reports] if len(reports) > 1 else reports[0].as_json())


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What `eval` was asked for; the fields are its options."""

    folders: tuple[Path, ...]
    lane: Literal["fast", "full", "both"]
    baselines: bool
    without: tuple[str, ...]
    silence: bool
    run_file: Path | None
    limit_queries: int | None
    everything: bool
    home: Path | None
    dialogue: bool
    entities: bool
    gaps: bool

    def __post_init__(self) -> None:
        if not (self.folders or self.entities or self.gaps):
            raise click.UsageError("name a DIR, or ask for --entities or --gaps")
        if self.run_file is not None and len(self.sets) != 1:
            raise click.UsageError("--run takes one ranking: name one DIR")

    @property
    def sets(self) -> list[Path]:
        """The folders of the sets."""
        return [one for folder in self.folders for one in (_sets(folder) if self.everything else [folder])]

    def reports(self) -> Iterator[Report]:
        """Every measurement, one after the other."""
        if self.entities:
            from foreword_measure.quality.naming import measure_naming

            yield measure_naming()
        if self.gaps:
            from foreword_measure.quality.gaps import measure_gaps

            yield measure_gaps()
        measured = []
        for one in self.sets:
            with _steps() as progress:
                measured.append(
                    self._dialogues(one, progress) if self.dialogue else self._found(one, progress)
                )
            yield measured[-1]
        if self.everything and not self.dialogue:
            from foreword_measure.quality import summary

            yield summary(measured)

    def _found(self, folder: Path, progress: Callable[[str, int, int], None]) -> Report:
        from foreword_measure.quality import evaluate as measure

        return measure(
            folder,
            lanes=("fast", "full") if self.lane == "both" else (self.lane,),
            baselines=self.baselines,
            without=self.without,
            silence=self.silence,
            others=[other for other in self.sets if other != folder],
            run_file=self.run_file,
            limit=self.limit_queries,
            progress=progress,
            home=self.home,
        )

    def _dialogues(self, folder: Path, progress: Callable[[str, int, int], None]) -> Report:
        from foreword_measure.quality.dialogue import measure

        lane: Lane = "full" if self.lane == "full" else "fast"
        return measure(folder, limit=self.limit_queries, progress=progress, home=self.home, lane=lane)


def _sets(folder: Path) -> list[Path]:
    found = sorted(one for one in folder.iterdir() if all((one / name).is_file() for name in _SET))
    if not found:
        raise click.UsageError(f"no folder in {folder} holds {', '.join(_SET)}")
    return found


def _sizes(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(part.replace("_", "")) for part in value.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        raise click.BadParameter(f"{value!r} is not a list of whole numbers such as 1000,10000")
    return sizes


@command("bench", "foreword bench\nforeword bench --sizes 1000,10000 --json")
@click.argument("parts", nargs=-1, metavar="[PART]…")
@click.option(
    "--sizes",
    default="1000,10000,100000",
    show_default=True,
    callback=_sizes,
    metavar="N,N…",
    help="How many items to measure with.",
)
def bench(call: Call, parts: tuple[str, ...], sizes: tuple[int, ...]) -> None:
    """Measure speed.

    PART is import, write, search, index, assemble, dialogue, gap or hooks; without one, all are measured.
    """
    from foreword_measure.speed import bench as measure

    with _steps() as progress:
        report = measure(parts, sizes, progress)
    if call.as_json:
        emit(report.as_json())
    else:
        _show_report(report)


@contextmanager
def _steps() -> Iterator[Callable[[str, int, int], None]]:
    """A bar on stderr for each step that reports, while somebody watches."""
    if not sys.stderr.isatty():
        yield lambda _step, _done, _total: None
        return
    from rich.progress import Progress

    tasks: dict[str, Any] = {}
    with Progress(console=console(stderr=True), transient=True) as progress:

        def show(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = progress.add_task(step, total=total or None)
            progress.update(tasks[step], completed=done, total=total or None)

        yield show


def _show_report(report: Report) -> None:
    for table in report.tables:
        _show_table(table)


def _show_table(table: Table) -> None:
    from rich import box
    from rich.table import Table as RichTable

    shown = RichTable(
        title=seen(table.title, "bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for place, name in enumerate(table.columns):
        numbers = all(not isinstance(row[place], str) for row in table.rows)
        shown.add_column(seen(name), justify="right" if numbers else "left", overflow="fold")
    for row in table.rows:
        shown.add_row(*(seen(_cell(cell)) for cell in row))
    console().print(shown)
    for note in table.notes:
        say(note)


def _cell(cell: Cell) -> str:
    match cell:
        case None:
            return "-"
        case float():
            return f"{cell:.3f}" if abs(cell) < 10 else f"{cell:,.1f}"
        case int():
            return f"{cell:,}"
        case _:
            return cell


COMMANDS = (evaluate, bench)
