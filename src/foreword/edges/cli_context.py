"""Context and why: the text an agent would get, and the receipt that explains it."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

import click

from foreword.edges.cli_common import (
    Call,
    command,
    console,
    counted,
    emit,
    opened,
    places,
    say,
    seen,
    shortened,
    tell,
)

if TYPE_CHECKING:
    from foreword.compose.context_item import FormattedContext
    from foreword.engine import ContextEngine
    from foreword.options import ContextOptions, Lane
    from foreword.recipes.assembled import ContextAssembler
    from foreword.recipes.chat import ContextResult
    from foreword.types import Entry, Receipt

_DROPPED_SHOWN = 10


@command("context", 'foreword context "Which database do we use?" --budget 500 --recipe detailed')
@click.argument("query")
@click.option(
    "--recipe",
    "--template",
    "recipe",
    metavar="NAME",
    help="What for: chat, detailed, summary; coding or brief, as hooks give them; assembled, by source.",
)
@click.option("--budget", type=int, metavar="N", help="At most so many tokens.")
@click.option("--ranker", metavar="R", help="The order: default, similarity, recency, confidence, mmr.")
@click.option("--limit", type=int, default=10, show_default=True, metavar="N", help="At most so many items.")
@click.option("--metadata", is_flag=True, help="Say type, confidence and time of each item.")
@click.option("--session", metavar="S", help="The session that asks; the receipt is filed under it.")
@click.option("--dry-run", is_flag=True, help="Keep no receipt.")
@click.option("--deadline", type=float, metavar="MS", help="Answer within so many milliseconds.")
@click.option("--lane", type=click.Choice(["fast", "full"]), help="Without or with the cross-encoder.")
@click.option("--floor", type=float, metavar="F", help="Leave out what is less probable than this, 0 to 1.")
def context(
    call: Call,
    query: str,
    recipe: str | None,
    budget: int | None,
    ranker: str | None,
    limit: int,
    metadata: bool,
    session: str | None,
    dry_run: bool,
    deadline: float | None,
    lane: Lane | None,
    floor: float | None,
) -> int:
    """Print the text an agent would get.

    Exactly that goes to stdout, and nothing when nothing is relevant to QUERY; a summary goes to stderr.
    """
    from foreword.options import ContextOptions

    asked = ContextOptions(
        limit=limit,
        template=recipe,
        token_budget=budget,
        ranker=ranker,
        include_metadata=metadata,
        asked_in=session,
        deadline_ms=deadline,
        lane=lane,
        floor=floor,
    )
    with opened() as engine:
        if recipe in ("coding", "brief"):
            result = _for_an_agent(engine, recipe, query, call.workspace, asked, record=not dry_run)
        elif recipe == "assembled":
            result = _assembled(engine, query, call.workspace, asked, record=not dry_run)
        else:
            build = engine.preview_context if dry_run else engine.build_context
            result = build(query, call.workspace, asked)
    if call.as_json:
        emit(_context_json(result))
    else:
        _print_exactly(result.context)
        _summarise(call, result, kept=not dry_run)
    return 0 if result.context else 1


def _for_an_agent(
    engine: ContextEngine, recipe: str, query: str, workspace: str, asked: ContextOptions, *, record: bool
) -> ContextResult:
    """What a hook would say to a prompt, or before a tool is used."""
    from foreword.companion import Companion
    from foreword.compose.budget import BRIEF_BUDGET, DEFAULT_TOKEN_BUDGET, TokenBudget
    from foreword.recipes.chat import ContextResult

    pipeline, session = Companion(engine).pipeline, asked.asked_in or ""
    if recipe == "coding":
        total = asked.token_budget
        made = pipeline.generate_context(
            query,
            session,
            DEFAULT_TOKEN_BUDGET if total is None else TokenBudget.with_total(total),
            workspace=workspace,
            deadline_ms=asked.deadline_ms,
            record=record,
        )
    else:
        made = pipeline.generate_brief(
            query,
            session,
            min(asked.token_budget or BRIEF_BUDGET, BRIEF_BUDGET),
            workspace=workspace,
            deadline_ms=asked.deadline_ms,
            record=record,
        )
    over = any(entry.decision == "over budget" for entry in made.receipt.entries)
    return ContextResult(
        made.formatted_context, made.tokens_used, (), truncated=over, template=recipe, receipt=made.receipt
    )


def _assembled(
    engine: ContextEngine, query: str, workspace: str, asked: ContextOptions, *, record: bool
) -> ContextResult:
    """What memories, code, experiences, values and commits know, each in its section."""
    made = asyncio.run(
        _assembler(engine, workspace).assemble_context(
            query,
            ["memories", "code", "experiences", "values", "commits"],
            max_tokens=asked.token_budget or engine.settings.token_budget,
            session_id=asked.asked_in,
            record=record,
        )
    )
    return _result(made, "assembled")


def _assembler(engine: ContextEngine, workspace: str) -> ContextAssembler:
    from foreword.knowledge.experiences import Experiences
    from foreword.recipes.assembled import ContextAssembler
    from foreword.searcher import Searcher

    return ContextAssembler(Searcher(engine, workspace, Experiences(engine)))


def _result(made: FormattedContext, recipe: str) -> ContextResult:
    from foreword.recipes.chat import ContextResult

    receipt = cast("Receipt", made.receipt)
    return ContextResult(
        made.markdown, made.token_count, (), truncated=made.limit_exceeded, template=recipe, receipt=receipt
    )


@command("premortem", "foreword premortem debugging --strategy read-the-error")
@click.argument("domain")
@click.option("--strategy", metavar="S", help="Also how this strategy fared.")
@click.option("--budget", type=int, default=1500, show_default=True, metavar="N", help="The most tokens.")
@click.option("--limit", type=int, default=10, show_default=True, metavar="N", help="The most a section.")
def premortem(call: Call, domain: str, strategy: str | None, budget: int, limit: int) -> int:
    """Say what went wrong before in a DOMAIN.

    The domains are debugging, refactoring, feature, testing, configuration, documentation, performance,
    security and integration. Prints what an agent gets when something fails; nothing when nothing is known.
    """
    with opened() as engine:
        assembler = _assembler(engine, call.workspace)
        made = asyncio.run(assembler.get_premortem_context(domain, strategy, limit, budget))
    result = _result(made, "premortem")
    if call.as_json:
        emit(_context_json(result))
    else:
        _print_exactly(result.context)
        _summarise(call, result, kept=True)
    return 0 if result.context else 1


def _context_json(result: ContextResult) -> dict[str, Any]:
    return {
        "context": result.context,
        "tokens": result.token_count,
        "budget": result.receipt.budget,
        "truncated": result.truncated,
        "recipe": result.template,
        "items": [entry.item_id for entry in result.receipt.injected],
        "receipt": asdict(result.receipt),
    }


def _print_exactly(text: str) -> None:
    """No line break is added to what an agent would get, but a terminal's prompt gets a line to itself."""
    click.echo(text, nl=False, color=True)
    if text and not text.endswith("\n") and sys.stdout.isatty():
        click.echo(err=True)


def _summarise(call: Call, result: ContextResult, *, kept: bool) -> None:
    receipt = result.receipt
    what = counted(len(receipt.injected), "item") if result.context else "nothing to inject"
    spent = f"{receipt.tokens:,} of {receipt.budget:,} tokens"
    if receipt.notes:  # the log has said what they are, and `why` says it again
        spent += f", {counted(len(receipt.notes), 'note')}"
    why = f"receipt {receipt.id}; ask why: foreword why {receipt.id}{call.again}"
    tell(f"{what}, {spent}, {why if kept else 'no receipt kept (dry run)'}")


# Why -----------------------------------------------------------------------------------------------------


@command("why", "foreword why\nforeword why 4be1 --all")
@click.argument("receipt_id", metavar="[RECEIPT]", default="")
@click.option("--all", "everything", is_flag=True, help="Show everything that was left out.")
def why(call: Call, receipt_id: str, everything: bool) -> int:
    """Say what was injected, what was not, and why.

    RECEIPT is the id that `context` told, or the beginning of it; without one, the newest is explained.
    """
    workspace = call.workspace
    with opened(embedding=False) as engine:
        receipt = engine.explain(workspace, receipt_id)
        ids = () if receipt is None else tuple(entry.item_id for entry in receipt.entries)
        texts = {item.id: item.text for item in engine.store.get(workspace, *ids) if item is not None}
    if receipt is None:
        return _no_receipt(call, receipt_id)
    if call.as_json:
        emit(_receipt_json(receipt, texts))
    else:
        _show_receipt(receipt, texts, everything=everything)
    return 0


def _no_receipt(call: Call, receipt_id: str) -> int:
    if call.as_json:
        emit(None)
    elif receipt_id:
        tell(f"no receipt begins with {receipt_id!r} in this workspace; old ones are let go")
    else:
        tell(f"no receipt yet in this workspace; ask for a context first: foreword context QUERY{call.again}")
    return 1


def _receipt_json(receipt: Receipt, texts: dict[str, str]) -> dict[str, Any]:
    entries = [{**asdict(entry), "text": texts.get(entry.item_id)} for entry in receipt.entries]
    return asdict(receipt) | {"entries": entries, "milliseconds": _milliseconds(receipt)}


def _milliseconds(receipt: Receipt) -> float:
    return sum(stage.milliseconds for stage in receipt.stages)


def _show_receipt(receipt: Receipt, texts: dict[str, str], *, everything: bool) -> None:
    dropped = [entry for entry in receipt.entries if entry.decision != "injected"]
    shown = dropped if everything else dropped[:_DROPPED_SHOWN]
    _show_header(receipt, len(dropped))
    if receipt.entries:
        _show_entries([*receipt.injected, *shown], texts)
    else:
        say("\nNothing was found that could have been injected.")
    if len(shown) < len(dropped):
        say(f"{len(dropped) - len(shown)} more were left out; see them with --all")
    for note in receipt.notes:
        say(f"note: {note.part}: {note.message}")


def _show_header(receipt: Receipt, dropped: int) -> None:
    from rich.table import Table

    stages = " · ".join(f"{stage.stage} {stage.milliseconds:.1f}" for stage in receipt.stages)
    made = receipt.created_at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    session = f", session {receipt.session}" if receipt.session else ""
    table = Table.grid(padding=(0, 2))
    for name, value in {
        "receipt": f"{receipt.id}, {made}{session}",
        "query": shortened(receipt.query, 500),
        "recipe": receipt.recipe,
        "tokens": f"{receipt.tokens:,} of {receipt.budget:,}",
        "items": f"{len(receipt.injected)} injected, {dropped} left out",
        "time": f"{_milliseconds(receipt):.1f} ms: {stages}",
    }.items():
        table.add_row(name, seen(value))
    console().print(table)


def _show_entries(entries: list[Entry], texts: dict[str, str]) -> None:
    from rich import box
    from rich.table import Table

    screen = console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=True)
    table.add_column("decision", min_width=11, max_width=20)
    for name in ("score", "rank", "agree", "tokens"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("item", ratio=1)
    room = max(60, 2 * (screen.width - 58))
    for entry in entries:
        injected = entry.decision == "injected"
        decision = seen(entry.decision, "bold green" if injected else "yellow")
        if entry.detail:
            decision.append(f"\n{shortened(entry.detail, 60)}", style="dim")
        text = seen(shortened(texts.get(entry.item_id, "(forgotten)"), room))
        text.append_text(seen(f"\n{entry.item_id}: {places(entry.ranks)}", "dim"))
        numbers = [f"{number:.2f}" for number in (entry.score, entry.rank, entry.agreement)]
        table.add_row(decision, *numbers, str(entry.tokens) if injected else "", text)
    screen.print(table)


COMMANDS = (context, premortem, why)
