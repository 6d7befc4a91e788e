"""Demo: Foreword shown at work, on the memory of a small team that comes with it."""

from __future__ import annotations

import shlex
import tempfile
import time
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foreword.edges.cli.common import (
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
    from collections.abc import Iterator

    from foreword.edges.cli.sample import Answer
    from foreword.engine.context_engine import ContextEngine

_SHOWN = 3


@command("demo", "foreword demo\nforeword demo --keep ./lighthouse")
@click.option("--keep", type=click.Path(path_type=Path), metavar="PATH", help="Keep the data in this folder.")
def demo(call: Call, keep: Path | None) -> None:
    """Show Foreword at work.

    Stores a small team's memory in a temporary folder, asks it three questions, and shows what would be
    injected, why, and how fast.
    """
    from foreword.edges.cli.sample import WORKSPACE, ask

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
    from foreword.edges.cli.sample import sample_lines

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


COMMANDS = (demo,)
