"""Demo: show Foreword at work on a sample that comes with the package, three months of a small team."""

from __future__ import annotations

import json
import shlex
import tempfile
import time
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foreword.edges.cli import show
from foreword.edges.cli.common import (
    CliCall,
    command,
    load_settings,
    make_vectors,
    open_engine,
    reopen_without_encoder,
)
from foreword.engine.receipt_story import describe_receipt
from foreword.text.numbers import format_percent, number_with_noun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.engine.context_engine import ContextEngine
    from foreword.engine.receipt_story import ReceiptStory
    from foreword.recipes.chat import ContextResult

_WORKSPACE = "lighthouse"
_TOKEN_BUDGET = 400
_QUESTIONS = 3
_MAX_SHOWN_ITEMS = 3
_MAX_QUOTED = 60


@command("demo", "foreword demo\nforeword demo --keep ./lighthouse")
@click.option("--keep", type=click.Path(path_type=Path), metavar="PATH", help="Keep the data in this folder.")
def demo(call: CliCall, keep: Path | None) -> None:
    """Show Foreword at work.

    Stores a small team's memory in a temporary folder, asks it three questions, and shows what would be
    injected, why, and how fast.
    """
    workspace = _WORKSPACE if call.workspace_option is None else call.workspace
    temporary = tempfile.TemporaryDirectory(prefix="foreword-demo-") if keep is None else nullcontext(keep)
    with temporary as folder, open_engine(replace(load_settings(), home=Path(folder).absolute())) as engine:
        facts = _store_sample(engine, workspace)
        if call.as_json:
            answers = [_context_as_json(*answer) for answer in _build_sample_contexts(engine, workspace)]
            show.print_json({"workspace": workspace, **facts, "answers": answers})
            return
        show.print_text(
            f"{number_with_noun(facts['items'], 'item')} and "
            f"{number_with_noun(facts['relations'], 'relation')}: "
            "three months of a small team that sells museum tickets.\n"
            f"Stored in {facts['storing_seconds']:.1f} s, understood in {facts['embedding_seconds']:.1f} s."
        )
        for number, answer in enumerate(_build_sample_contexts(engine, workspace), 1):
            story = describe_receipt(answer[1].receipt, partial(engine.store.get, workspace))
            _show_context_for_question(number, *answer, story)
    show.print_text(_describe_next_steps(keep, workspace))


def sample_as_json_lines() -> list[str]:
    """The sample as lines of JSON to import: items, then the relations between them."""
    return [*_read_sample_lines("lighthouse.jsonl"), *_read_sample_lines("relations.jsonl")]


def _read_sample_lines(name: str) -> list[str]:
    text = resources.files("foreword.edges.cli").joinpath("sample_data", name).read_text(encoding="utf-8")
    return text.rstrip("\n").split("\n")


def _store_sample(engine: ContextEngine, workspace: str) -> dict[str, Any]:
    """Store the sample and make its vectors; return counts and times."""
    started = time.perf_counter()
    reopen_without_encoder(engine).import_lines(sample_as_json_lines(), workspace)
    stored = time.perf_counter()
    vectors = make_vectors(engine, workspace)
    counts = engine.count(workspace)
    return {
        "items": counts.items,
        "relations": counts.relations,
        "vectors": vectors,
        "storing_seconds": stored - started,
        "embedding_seconds": time.perf_counter() - stored,
    }


def _build_sample_contexts(
    engine: ContextEngine, workspace: str
) -> Iterator[tuple[str, ContextResult, float]]:
    """The first questions of the sample, each with its context and the milliseconds it took."""
    for line in _read_sample_lines("questions.jsonl")[:_QUESTIONS]:
        question = json.loads(line)["question"]
        started = time.perf_counter()
        result = engine.build_context(question, workspace, token_budget=_TOKEN_BUDGET)
        yield question, result, (time.perf_counter() - started) * 1000


def _context_as_json(question: str, result: ContextResult, milliseconds: float) -> dict[str, Any]:
    answer = {"question": question, "milliseconds": milliseconds, "context": result.context}
    return {**answer, "receipt": asdict(result.receipt)}


def _show_context_for_question(
    number: int, question: str, result: ContextResult, milliseconds: float, story: ReceiptStory
) -> None:
    """Print a question, the context for it, and why it was chosen."""
    from rich.panel import Panel

    screen, receipt = show.make_console(), result.receipt
    screen.print()
    screen.print(show.rich_text(f"{number}. {question}", "bold"))
    title = f"injected: {receipt.tokens} of {receipt.budget} tokens, in {milliseconds:.0f} ms"
    text = show.rich_text(result.context.strip() or "(nothing: silence is an answer)")
    screen.print(Panel(text, title=title, title_align="left"))
    screen.print(show.rich_text(f"why: {story.summary} (receipt {receipt.id})"))
    shown = [*story.said[:_MAX_SHOWN_ITEMS], *story.near_misses[:1]]
    rows = [
        (f"{format_percent(one.score):>6}", show.rich_text(f"{_quote(one.text or '')}\n{one.sentence}"))
        for one in shown
    ]
    show.print_grid(rows, style="dim")


def _quote(text: str) -> str:
    return f"“{show.shorten_to_line(text, _MAX_QUOTED)}”"


def _describe_next_steps(keep: Path | None, workspace: str) -> str:
    """The commands to try next, for the sample if it was kept, else for the user's own memory."""
    if keep is None:
        return (
            '\nStart with your own memory:\n  foreword remember "Deploys happen on Tuesdays."\n'
            '  foreword context "When do we deploy?"\n  foreword why\n\n'
            "Or keep the sample, ask it yourself, and see it in your browser:\n"
            "  foreword demo --keep ./lighthouse"
        )
    program = f"FOREWORD_HOME={shlex.quote(str(keep.absolute()))} foreword"
    name = shlex.quote(workspace)
    return (
        f'\nAsk it yourself:\n  {program} context -w {name} "Who reviews calendar changes?"\n'
        f'  {program} search -w {name} "deadlock" --related 1\n  {program} why -w {name}\n\n'
        f"See it in your browser:\n  {program} view -w {name}"
    )
