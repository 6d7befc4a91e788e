"""Context and premortem: the text an agent would get."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

import click

from foreword.edges.cli.common import (
    Call,
    command,
    counted,
    emit,
    opened,
    tell,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foreword.compose.assembled import FormattedContext
    from foreword.engine.context_engine import ContextEngine
    from foreword.options import ContextOptions, Lane
    from foreword.recipes.assembled.assembler import ContextAssembler
    from foreword.recipes.chat import ContextResult
    from foreword.types import Receipt

_FOR_AN_AGENT = ("budget", "session", "deadline")
_TAKES: Mapping[str, tuple[str, ...]] = {
    "coding": _FOR_AN_AGENT,
    "brief": _FOR_AN_AGENT,
    "assembled": ("budget", "limit", "session", "deadline", "lane", "floor"),
    "dialogue": ("budget", "session", "lane"),
}
"""The options that have a meaning for a recipe; where it is not named here, all of them."""

_LIMIT, _LIMIT_OF_A_SOURCE = 10, 20


@command("context", 'foreword context "Which database do we use?" --budget 500 --recipe detailed')
@click.argument("query")
@click.option(
    "--recipe",
    "--template",
    "recipe",
    metavar="NAME",
    help="What for: chat, detailed, summary; coding or brief, as hooks give them; assembled, by source; "
    "dialogue, the whole prompt of a session.",
)
@click.option("--budget", type=int, metavar="N", help="At most so many tokens; for assembled, a soft limit.")
@click.option("--ranker", metavar="R", help="The order: default, similarity, recency, confidence, mmr.")
@click.option(
    "--limit",
    type=int,
    metavar="N",
    help=f"At most so many items [default: {_LIMIT}]; for assembled, of each source [{_LIMIT_OF_A_SOURCE}].",
)
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
    limit: int | None,
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

    _refuse_what_means_nothing(
        recipe,
        ranker=ranker,
        limit=limit,
        metadata=metadata or None,
        deadline=deadline,
        lane=lane,
        floor=floor,
    )
    if limit is None:
        limit = _LIMIT_OF_A_SOURCE if recipe == "assembled" else _LIMIT
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
        elif recipe == "dialogue":
            result = _for_a_conversation(engine, query, call.workspace, asked, record=not dry_run)
        else:
            build = engine.preview_context if dry_run else engine.build_context
            result = build(query, call.workspace, asked)
    if call.as_json:
        emit(_context_json(result))
    else:
        _print_exactly(result.context)
        _summarise(call, result, kept=not dry_run)
    return 0 if result.context else 1


def _refuse_what_means_nothing(recipe: str | None, **given: object) -> None:
    """An option that a recipe would not heed is an error: nobody should think that it was heeded."""
    takes = _TAKES.get(recipe or "", tuple(given))
    for name, value in given.items():
        if value is not None and name not in takes:
            others = ", ".join(f"--{one}" for one in takes)
            raise click.UsageError(
                f"--{name} means nothing to the recipe {recipe}, which takes {others} and --dry-run"
            )


def _for_an_agent(
    engine: ContextEngine, recipe: str, query: str, workspace: str, asked: ContextOptions, *, record: bool
) -> ContextResult:
    """What a hook would say to a prompt, or before a tool is used."""
    from foreword.compose.budget import BRIEF_BUDGET, DEFAULT_TOKEN_BUDGET, TokenBudget
    from foreword.recipes.chat import ContextResult
    from foreword.recipes.coding.companion import Companion

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
        _assembler(engine, workspace, asked).assemble_context(
            query,
            ["memories", "code", "experiences", "values", "commits"],
            limit=asked.limit,
            max_tokens=engine.settings.token_budget if asked.token_budget is None else asked.token_budget,
            session_id=asked.asked_in,
            record=record,
        )
    )
    return _result(made, "assembled")


def _for_a_conversation(
    engine: ContextEngine, query: str, workspace: str, asked: ContextOptions, *, record: bool
) -> ContextResult:
    """The whole prompt of a session's next turn."""
    from foreword.recipes.chat import ContextResult
    from foreword.recipes.dialogue.prompt import DEFAULT_MAX_TOKENS, inject_context
    from foreword.recipes.dialogue.session import Session

    session = Session(engine, workspace, asked.asked_in or "default", lane=asked.lane or "fast")
    made = inject_context(query, session, asked.token_budget or DEFAULT_MAX_TOKENS, keep=record)
    over = any(entry.decision == "over budget" for entry in made.receipt.entries)
    return ContextResult(
        made.formatted, made.token_count, (), truncated=over, template="dialogue", receipt=made.receipt
    )


def _assembler(
    engine: ContextEngine, workspace: str, asked: ContextOptions | None = None
) -> ContextAssembler:
    from foreword.knowledge.experiences import Experiences
    from foreword.recipes.assembled.assembler import ContextAssembler
    from foreword.recipes.assembled.searcher import DEADLINE_MS, Searcher

    searcher = Searcher(
        engine,
        workspace,
        Experiences(engine),
        deadline_ms=(asked and asked.deadline_ms) or DEADLINE_MS,
        lane=(asked and asked.lane) or "fast",
    )
    return ContextAssembler(searcher, floor=asked.floor if asked else None)


def _result(made: FormattedContext, recipe: str) -> ContextResult:
    from foreword.recipes.chat import ContextResult

    receipt = cast("Receipt", made.receipt)
    over = any(entry.decision == "over budget" for entry in receipt.entries)
    return ContextResult(
        made.markdown, made.token_count, (), truncated=over, template=recipe, receipt=receipt
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
        "over_by": _over(result.receipt),
        "truncated": result.truncated,
        "recipe": result.template,
        "items": [entry.item_id for entry in result.receipt.injected],
        "receipt": asdict(result.receipt),
    }


def _over(receipt: Receipt) -> int:
    """How many tokens a context has beyond a limit that is soft."""
    return max(0, receipt.tokens - receipt.budget)


def _print_exactly(text: str) -> None:
    """No line break is added to what an agent would get, but a terminal's prompt gets a line to itself."""
    click.echo(text, nl=False, color=True)
    if text and not text.endswith("\n") and sys.stdout.isatty():
        click.echo(err=True)


def _summarise(call: Call, result: ContextResult, *, kept: bool) -> None:
    receipt = result.receipt
    what = counted(len(receipt.injected), "item") if result.context else "nothing to inject"
    spent = f"{receipt.tokens:,} of {receipt.budget:,} tokens"
    if over := _over(receipt):
        spent += f" ({over:,} over: a shorter one would say nothing)"
    if receipt.notes:  # the log has said what they are, and `why` says it again
        spent += f", {counted(len(receipt.notes), 'note')}"
    why = f"receipt {receipt.id}; ask why: foreword why {receipt.id}{call.again}"
    tell(f"{what}, {spent}, {why if kept else 'no receipt kept (dry run)'}")


COMMANDS = (context, premortem)
