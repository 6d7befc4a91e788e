"""Eval and bench: quality and speed, measured by the package `foreword_measure`.

That package is in a clone of the repository, not in the wheel; without it both commands say how to get it.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from foreword.edges.cli import show
from foreword.edges.cli.common import CliCall, OptionValue, command
from foreword.errors import ValidationError

if TYPE_CHECKING:
    from foreword_measure.report import Cell, Report

_FILES_OF_A_SET = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")


@command(
    "eval",
    "foreword eval data/locomo --limit-queries 100\n"
    "foreword eval data/locomo --lane fast --without trigram\n"
    "foreword eval data --all --silence --json\n"
    "foreword eval data/locomo --dialogue\n"
    "foreword eval --documents\n"
    "foreword eval --entities\n"
    "foreword eval --experiences\n"
    "foreword eval --secrets data/locomo\n"
    "foreword eval --scenarios scenarios.jsonl --outputs answers.jsonl",
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
    "--without",
    multiple=True,
    metavar="PART",
    help="Leave a space out of the engine, or from scenarios the reader or replacements; may be repeated.",
)
@click.option("--silence", is_flag=True, help="Ask what cannot be answered, too, and judge the scores.")
@click.option(
    "--run", "run_file", type=click.Path(path_type=Path), metavar="FILE", help="Write the ranking there."
)
@click.option(
    "--limit-queries",
    "--limit",
    "limit",
    type=click.IntRange(1),
    metavar="N",
    help="Only the first so many queries, or scenarios.",
)
@click.option("--all", "everything", is_flag=True, help="Each DIR holds several sets: measure them all.")
@click.option("--home", type=click.Path(path_type=Path), metavar="PATH", help="Keep the vectors there.")
@click.option("--dialogue", is_flag=True, help="How much evidence the prompts of a conversation hold.")
@click.option("--documents", is_flag=True, help="Pages of help that answer a chat, on our own products.")
@click.option("--entities", is_flag=True, help="Names, references and acts of speech, on our own sentences.")
@click.option("--gaps", is_flag=True, help="Missing context noticed, on our own states of agents.")
@click.option(
    "--experiences", is_flag=True, help="Precedents of failures and themes, on our own experiences."
)
@click.option(
    "--secrets",
    is_flag=True,
    help="Secrets found, on texts of our own; false alarms also in the talk of DIR.",
)
@click.option(
    "--scenarios",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Replay the histories of FILE and judge what their questions get.",
)
@click.option(
    "--outputs",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the answers to the scenarios there.",
)
def measure_quality(
    call: CliCall, folders: tuple[Path, ...], everything: bool, **options: OptionValue
) -> None:
    """Measure quality on labelled sets.

    DIR holds corpus.jsonl, queries.jsonl and qrels.tsv; or dialogues.jsonl, whose changes of subject or
    summaries count; or pages and questions.jsonl, which a chat asks about them.
    """
    _require_measure_package("eval")
    from foreword_measure.quality import measure_sets

    own = ("documents", "entities", "gaps", "experiences", "secrets", "scenarios")
    if not folders and not any(options[name] for name in own):
        raise click.UsageError(
            f"name a DIR, or ask for {', '.join(f'--{name}' for name in own[:-1])} or --scenarios FILE"
        )
    if options["outputs"] is not None and options["scenarios"] is None:
        raise click.UsageError("--outputs takes the answers to scenarios: name them with --scenarios FILE")
    sets = [one for folder in folders for one in (_find_labelled_sets(folder) if everything else [folder])]
    if options["run_file"] is not None and len(sets) != 1:
        raise click.UsageError("--run takes one ranking: name one DIR")
    reports = []
    for report in measure_sets(sets, summarize=everything, open_progress=show.progress_bars, **options):
        reports.append(report)
        if not call.as_json:
            _show_report_tables(report)
    if call.as_json:
        show.print_json(
            [report.as_json() for report in reports] if len(reports) > 1 else reports[0].as_json()
        )


def _require_measure_package(name: str) -> None:
    """Raise an error that says how to get a clone, if `foreword_measure` is not installed."""
    if find_spec("foreword_measure") is None:
        raise ValidationError(
            f"foreword {name} works from a clone of Foreword's repository, not from the installed package; "
            "run: git clone REPOSITORY foreword, then: pip install --editable './foreword[dev]'"
        )


def _find_labelled_sets(folder: Path) -> list[Path]:
    """The subfolders that hold a labelled set; raises a usage error if there are none."""
    found = sorted(one for one in folder.iterdir() if all((one / name).is_file() for name in _FILES_OF_A_SET))
    if not found:
        raise click.UsageError(f"no folder in {folder} holds {', '.join(_FILES_OF_A_SET)}")
    return found


def _parse_sizes_option(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[int, ...]:
    """The numbers of an option such as 1000,10000; raises a usage error for anything else."""
    try:
        sizes = tuple(int(part.replace("_", "")) for part in value.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        raise click.BadParameter(f"{value!r} is not a list of whole numbers such as 1000,10000")
    return sizes


@command(
    "bench",
    "foreword bench\nforeword bench --sizes 1000,10000 --json\nforeword bench scale --sizes 10000,100000\n"
    "foreword bench scale --sizes 10000,1000000 --data /var/tmp/scale --fill",
)
@click.argument("parts", nargs=-1, metavar="[PART]…")
@click.option(
    "--sizes",
    default="1000,10000,100000",
    show_default=True,
    callback=_parse_sizes_option,
    metavar="N,N…",
    help="How many items to measure with.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="With `scale`: keep there what was filled; what is there already is only measured.",
)
@click.option(
    "--store",
    "stores",
    multiple=True,
    type=click.Choice(("sqlite", "postgres", "qdrant")),
    help="With `scale`: only this store; may be repeated.",
)
@click.option("--fill", "only_fill", is_flag=True, help="With --data: fill, and measure another time.")
def measure_speed(
    call: CliCall,
    parts: tuple[str, ...],
    sizes: tuple[int, ...],
    data: Path | None,
    stores: tuple[str, ...],
    only_fill: bool,
) -> None:
    """Measure speed.

    PART is import, write, search, index, assemble, dialogue, gap, store, ledger, hooks, proxy or view;
    without one, all are measured. `scale` must be named: it compares SQLite, PostgreSQL and Qdrant, whose
    servers it starts.
    """
    _require_measure_package("bench")
    from foreword_measure.speed import bench as measure

    if only_fill and data is None:
        raise click.UsageError("--fill keeps what it filled: name the folder with --data DIR")
    with show.progress_bars(counts=data is not None) as progress:
        report = measure(parts, sizes, progress, data, stores=stores, only_fill=only_fill)
    if call.as_json:
        show.print_json(report.as_json())
    else:
        _show_report_tables(report)


def _show_report_tables(report: Report) -> None:
    for table in report.tables:
        title = show.rich_text(table.title, "bold")
        shown = show.make_table(title=title, title_justify="left", collapse_padding=True)
        for place, name in enumerate(table.columns):
            numbers = all(not isinstance(row[place], str) for row in table.rows)
            shown.add_column(show.rich_text(name), justify="right" if numbers else "left", overflow="fold")
        for row in table.rows:
            shown.add_row(*(show.rich_text(_format_cell(cell)) for cell in row))
        show.make_console().print(shown)
        for note in table.notes:
            show.print_text(note)


def _format_cell(cell: Cell) -> str:
    match cell:
        case None:
            return "-"
        case float():
            return f"{cell:.3f}" if abs(cell) < 10 else f"{cell:,.1f}"
        case int():
            return f"{cell:,}"
        case _:
            return cell
