"""Demo, eval, bench: Foreword shown at work, and measured."""

from __future__ import annotations

import shlex
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from foreword.edges.cli_common import (
    Call,
    command,
    console,
    counted,
    embed,
    emit,
    opened,
    places,
    say,
    seen,
    settings,
    words_only,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from foreword.demo import Answer
    from foreword.engine import ContextEngine
    from foreword.report import Cell, Report, Table

_SHOWN = 3
_SET = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")


# Demo ----------------------------------------------------------------------------------------------------


@command("demo", "foreword demo\nforeword demo --keep ./lighthouse")
@click.option("--keep", type=click.Path(path_type=Path), metavar="PATH", help="Keep the data in this folder.")
def demo(call: Call, keep: Path | None) -> None:
    """Show Foreword at work.

    Stores a small team's memory in a temporary folder, asks it three questions, and shows what would be
    injected, why, and how fast.
    """
    from foreword.demo import WORKSPACE, ask

    workspace = WORKSPACE if call.named is None else call.workspace
    with _folder(keep) as folder, opened(at=replace(settings(), home=folder)) as engine:
        facts = _stock(engine, workspace)
        if call.as_json:
            answers = [_answer_json(answer) for answer in ask(engine, workspace)]
            emit({"workspace": workspace, **facts, "answers": answers})
            return
        say(
            f"{counted(facts['items'], 'item')} and {counted(facts['relations'], 'relation')}: "
            "three months of a small team that sells museum tickets.\n"
            f"Stored in {facts['storing_seconds']:.1f} s, understood in {facts['embedding_seconds']:.1f} s."
        )
        for number, answer in enumerate(ask(engine, workspace), 1):
            _show_answer(number, answer)
    say(_what_next(keep, workspace))


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        yield keep.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="foreword-demo-") as folder:
        yield Path(folder)


def _stock(engine: ContextEngine, workspace: str) -> dict[str, Any]:
    """Store the sample and make its vectors; gives how much and how long."""
    from foreword.demo import sample_lines

    started = time.perf_counter()
    words_only(engine).import_lines(sample_lines(), workspace)
    stored = time.perf_counter()
    vectors = embed(engine, workspace)
    counts = engine.count(workspace)
    return {
        "items": counts.items,
        "relations": counts.relations,
        "vectors": vectors,
        "storing_seconds": stored - started,
        "embedding_seconds": time.perf_counter() - stored,
    }


def _answer_json(answer: Answer) -> dict[str, Any]:
    return {
        "question": answer.question,
        "milliseconds": answer.milliseconds,
        "context": answer.result.context,
        "receipt": asdict(answer.result.receipt),
    }


def _show_answer(number: int, answer: Answer) -> None:
    from rich.panel import Panel
    from rich.table import Table

    screen, receipt = console(), answer.result.receipt
    screen.print()
    screen.print(seen(f"{number}. {answer.question}", "bold"))
    title = f"injected: {receipt.tokens} of {receipt.budget} tokens, in {answer.milliseconds:.0f} ms"
    text = seen(answer.result.context.strip() or "(nothing: silence is an answer)")
    screen.print(Panel(text, title=title, title_align="left"))
    fates = " · ".join(f"{count} {fate}" for fate, count in answer.decisions.items())
    screen.print(seen(f"why: {fates or 'nothing was found'} (receipt {receipt.id})"))
    table = Table.grid(padding=(0, 2))
    for entry in receipt.injected[:_SHOWN]:
        table.add_row(f"  {entry.score:.2f}", seen(entry.item_id), seen(places(entry.ranks)), style="dim")
    for entry in receipt.entries:
        if entry.decision == "superseded":
            table.add_row("  out", seen(entry.item_id), seen(f"superseded by {entry.detail}"), style="dim")
    screen.print(table)


def _what_next(keep: Path | None, workspace: str) -> str:
    if keep is None:
        return (
            "\nKeep the sample and ask it yourself:\n  foreword demo --keep ./lighthouse\n\n"
            'Or start with your own memory:\n  foreword remember "Deploys happen on Tuesdays."\n'
            '  foreword context "When do we deploy?"\n  foreword why'
        )
    there = f"FOREWORD_HOME={shlex.quote(str(keep.absolute()))} foreword"
    name = shlex.quote(workspace)
    return (
        f'\nAsk it yourself:\n  {there} context -w {name} "Who reviews calendar changes?"\n'
        f'  {there} search -w {name} "deadlock" --related 1\n  {there} why -w {name}'
    )


# Eval and bench ------------------------------------------------------------------------------------------


@command(
    "eval",
    "foreword eval data/locomo --limit-queries 100\n"
    "foreword eval data/locomo --lane fast --without trigram\n"
    "foreword eval data --all --silence --json",
)
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR…")
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
def evaluate(
    call: Call,
    folders: tuple[Path, ...],
    lane: Literal["fast", "full", "both"],
    baselines: bool,
    without: tuple[str, ...],
    silence: bool,
    run_file: Path | None,
    limit_queries: int | None,
    everything: bool,
    home: Path | None,
) -> None:
    """Measure quality on labelled sets.

    DIR holds corpus.jsonl, queries.jsonl and qrels.tsv; or dialogues.jsonl, whose changes of subject count.
    """
    from foreword.evaluate import evaluate as measure
    from foreword.evaluate import summary

    sets = [one for folder in folders for one in (_sets(folder) if everything else [folder])]
    if run_file is not None and len(sets) != 1:
        raise click.UsageError("--run takes one ranking: name one DIR")
    reports = []
    for one in sets:
        with _steps() as progress:
            report = measure(
                one,
                lanes=("fast", "full") if lane == "both" else (lane,),
                baselines=baselines,
                without=without,
                silence=silence,
                others=[other for other in sets if other != one],
                run_file=run_file,
                limit=limit_queries,
                progress=progress,
                home=home,
            )
        reports.append(report)
        if not call.as_json:
            _show_report(report)
    if everything:
        reports.append(summary(reports))
        if not call.as_json:
            _show_report(reports[-1])
    if call.as_json:
        emit([report.as_json() for report in reports] if len(reports) > 1 else reports[0].as_json())


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

    PART is import, write, search or hooks; without one, all are measured.
    """
    from foreword.bench import bench as measure

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


COMMANDS = (demo, evaluate, bench)
