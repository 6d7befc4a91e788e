"""Context, assemble and premortem: print the text that an agent would get."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, cast

import click

from foreword.capture.privacy import reason_to_keep_nothing
from foreword.config import find_data_folder
from foreword.edges.cli import show
from foreword.edges.cli.common import (
    CliCall,
    OptionValue,
    command,
    deadline_option,
    lane_option,
    open_engine,
    read_argument_or_stdin,
)
from foreword.options import ContextOptions
from foreword.text.numbers import number_with_noun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foreword.engine.context_engine import ContextEngine
    from foreword.recipes.chat import ContextResult
    from foreword.types import Receipt

_RECIPE_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "coding": ("budget", "session", "deadline"),
    "brief": ("budget", "session", "deadline"),
    "assembled": ("budget", "limit", "session", "deadline", "lane", "floor"),
    "dialogue": ("budget", "session", "lane"),
}
"""The options that a recipe takes; a recipe that is not listed takes all of them."""

_LIMIT, _LIMIT_A_SOURCE = 10, 20

# Context -------------------------------------------------------------------------------------------------


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
    help=f"At most so many items [default: {_LIMIT}]; for assembled, of each source [{_LIMIT_A_SOURCE}].",
)
@click.option("--metadata", is_flag=True, help="Say type, confidence and time of each item.")
@click.option("--session", metavar="S", help="The session that asks; the receipt is filed under it.")
@click.option("--dry-run", is_flag=True, help="Keep no receipt.")
@deadline_option
@lane_option
@click.option("--floor", type=float, metavar="F", help="Leave out what is less probable than this, 0 to 1.")
@click.option("--related", type=int, metavar="DEPTH", help="Also tell what is related, so many steps away.")
def print_context(
    call: CliCall, query: str, recipe: str | None, dry_run: bool, **option_values: OptionValue
) -> int:
    """Print the text an agent would get.

    Exactly that goes to stdout, and nothing when nothing is relevant to QUERY; a summary goes to stderr.
    `-` reads QUERY from stdin.
    """
    _refuse_unused_options(recipe, option_values)
    query = read_argument_or_stdin(query)
    default_limit = _LIMIT_A_SOURCE if recipe == "assembled" else _LIMIT
    related = option_values["related"]
    options = ContextOptions(
        limit=default_limit if option_values["limit"] is None else option_values["limit"],
        template=recipe,
        token_budget=option_values["budget"],
        ranker=option_values["ranker"],
        include_metadata=option_values["metadata"],
        asked_in=option_values["session"],
        deadline_ms=option_values["deadline_ms"],
        lane=option_values["lane"],
        floor=option_values["floor"],
        include_relationships=related is not None,
        relationship_depth=1 if related is None else related,
    )
    with open_engine() as engine:
        result = _build_with_recipe(engine, query, call.workspace, options, record=not dry_run)
    return _print_context_result(call, result, recorded=not dry_run)


def _refuse_unused_options(recipe: str | None, option_values: Mapping[str, object]) -> None:
    """Raise a usage error for an option that the recipe would ignore."""
    takes = _RECIPE_OPTIONS.get(recipe or "", tuple(name.removesuffix("_ms") for name in option_values))
    for field in ("ranker", "limit", "metadata", "deadline_ms", "lane", "floor", "related"):
        name = field.removesuffix("_ms")
        if option_values[field] is not None and option_values[field] is not False and name not in takes:
            others = ", ".join(f"--{one}" for one in takes)
            raise click.UsageError(
                f"--{name} means nothing to the recipe {recipe}, which takes {others} and --dry-run"
            )


def _build_with_recipe(
    engine: ContextEngine, query: str, workspace: str, options: ContextOptions, *, record: bool
) -> ContextResult:
    """The context that a recipe makes for a query."""
    if options.template in ("coding", "brief"):
        return _build_hook_context(engine, query, workspace, options, record=record)
    if options.template == "assembled":
        return _build_assembled_context(engine, query, workspace, options, record=record)
    if options.template == "dialogue":
        return _build_dialogue_prompt(engine, query, workspace, options, record=record)
    build = engine.build_context if record else engine.preview_context
    return build(query, workspace, options)


def _build_hook_context(
    engine: ContextEngine, query: str, workspace: str, options: ContextOptions, *, record: bool
) -> ContextResult:
    """The context that a hook gives for a prompt (`coding`) or before a tool is used (`brief`)."""
    from foreword.compose.budget import BRIEF_BUDGET, DEFAULT_TOKEN_BUDGET, TokenBudget
    from foreword.recipes.coding.companion import CodingCompanion

    pipeline, session, total = CodingCompanion(engine).pipeline, options.asked_in or "", options.token_budget
    if options.template == "coding":
        budget = DEFAULT_TOKEN_BUDGET if total is None else TokenBudget.with_total(total)
        injected = pipeline.generate_context(
            query, session, budget, workspace=workspace, deadline_ms=options.deadline_ms, record=record
        )
    else:
        most = min(total or BRIEF_BUDGET, BRIEF_BUDGET)
        injected = pipeline.generate_brief(
            query, session, most, workspace=workspace, deadline_ms=options.deadline_ms, record=record
        )
    recipe = options.template or ""
    return _make_context_result(injected.formatted_context, injected.tokens_used, injected.receipt, recipe)


def _build_assembled_context(
    engine: ContextEngine, query: str, workspace: str, options: ContextOptions, *, record: bool
) -> ContextResult:
    """A document with sections for memories, code, experiences, values, commits and documents."""
    from foreword.edges.shared.assembling import assemble, make_assembler

    budget = engine.settings.token_budget if options.token_budget is None else options.token_budget
    assembler = make_assembler(
        engine, workspace, deadline_ms=options.deadline_ms, lane=options.lane, floor=options.floor
    )
    document = assemble(
        assembler,
        query,
        limit=options.limit,
        max_tokens=budget,
        session=options.asked_in,
        record=record,
    )
    return _make_context_result(document.markdown, document.token_count, document.receipt, "assembled")


def _build_dialogue_prompt(
    engine: ContextEngine, query: str, workspace: str, options: ContextOptions, *, record: bool
) -> ContextResult:
    """The whole prompt of a session's next turn."""
    from foreword.recipes.dialogue.prompt import DEFAULT_MAX_TOKENS, inject_context
    from foreword.recipes.dialogue.session import Session

    session = Session(engine, workspace, options.asked_in or "default", lane=options.lane or "fast")
    prompt = inject_context(query, session, options.token_budget or DEFAULT_MAX_TOKENS, keep=record)
    return _make_context_result(prompt.formatted, prompt.token_count, prompt.receipt, "dialogue")


def _make_context_result(text: str, tokens: int, receipt: Receipt | None, recipe: str) -> ContextResult:
    """A recipe's text and receipt as a `ContextResult`, which is printed alike for all recipes."""
    from foreword.recipes.chat import ContextResult

    receipt = cast("Receipt", receipt)  # these recipes always give one
    over = any(entry.decision == "over budget" for entry in receipt.entries)
    return ContextResult(text, tokens, (), truncated=over, template=recipe, receipt=receipt)


@command(
    "assemble",
    'foreword assemble "How long is a seat held?" --type memories --type commits\n'
    'foreword assemble "Why do retries wait?" --budget 1000 --json',
)
@click.argument("query")
@click.option(
    "--type", "types", multiple=True, metavar="T", help="Only this source; may be repeated [default: all]."
)
@click.option(
    "--budget", type=int, default=2000, show_default=True, metavar="N", help="Tokens, a soft limit."
)
@click.option(
    "--limit", type=int, default=_LIMIT_A_SOURCE, show_default=True, metavar="N", help="The most a source."
)
@click.option("--session", metavar="S", help="The session that asks: what it was shown is left out.")
@click.option("--dry-run", is_flag=True, help="Keep no receipt.")
@deadline_option
@lane_option
@click.option("--floor", type=float, metavar="F", help="Leave out what is less probable than this, 0 to 1.")
def assemble_document(
    call: CliCall, query: str, types: tuple[str, ...], dry_run: bool, **chosen: OptionValue
) -> int:
    """Print one document from several sources.

    The sources are memories, code, experiences, values and commits, each in its section, by relevance.
    Nothing is printed when nothing is relevant to QUERY. `-` reads QUERY from stdin.
    """
    from foreword.edges.shared.assembling import assemble, make_assembler

    how = {name: chosen.pop(name) for name in ("deadline_ms", "lane", "floor")}
    chosen["max_tokens"] = chosen.pop("budget")
    with open_engine() as engine:
        assembler = make_assembler(engine, call.workspace, **how)
        document = assemble(assembler, read_argument_or_stdin(query), types, record=not dry_run, **chosen)
    result = _make_context_result(document.markdown, document.token_count, document.receipt, "assembled")
    return _print_context_result(call, result, recorded=not dry_run)


@command(
    "premortem",
    "foreword premortem debugging --strategy read-the-error\n"
    'foreword premortem debugging --test test_retry --error "TimeoutError: pool is empty"',
)
@click.argument("domain", required=False, default="debugging")
@click.option("--strategy", metavar="S", help="Also how this strategy fared.")
@click.option("--test", "tests", multiple=True, metavar="NAME", help="A test that failed; may be repeated.")
@click.option("--error", default="", metavar="T", help="What was printed; - reads it from stdin.")
@click.option("--command", "ran", default="", metavar="C", help="The command that failed.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file involved; may be repeated.")
@click.option("--budget", type=int, default=1500, show_default=True, metavar="N", help="The most tokens.")
@click.option("--limit", type=int, default=10, show_default=True, metavar="N", help="The most a section.")
@click.option("--session", metavar="S", help="The session that asks; the receipt is filed under it.")
@click.option("--dry-run", is_flag=True, help="Keep no receipt.")
def premortem(
    call: CliCall,
    domain: str,
    tests: tuple[str, ...],
    error: str,
    ran: str,
    files: tuple[str, ...],
    dry_run: bool,
    **chosen: OptionValue,
) -> int:
    """Say what went wrong before in a DOMAIN, or what is near to a failure.

    The domains are debugging, refactoring, feature, testing, configuration, documentation, performance,
    security and integration. With --test, --error, --command or --file, only experiences that are near to
    that failure are told, the nearest first. Prints what an agent gets; nothing when nothing is known.
    """
    from foreword.edges.shared.assembling import get_premortem, make_assembler, redacted_failure

    error_text = read_argument_or_stdin(error)
    chosen["max_tokens"] = chosen.pop("budget")
    with open_engine() as engine:
        assembler = make_assembler(engine, call.workspace)
        failure = redacted_failure(tests, error_text, ran, files)
        document = get_premortem(assembler, domain, failure=failure, record=not dry_run, **chosen)
    result = _make_context_result(document.markdown, document.token_count, document.receipt, "premortem")
    return _print_context_result(call, result, recorded=not dry_run)


def _print_context_result(call: CliCall, result: ContextResult, *, recorded: bool) -> int:
    """Print a context exactly as an agent would get it; return the exit code."""
    text, receipt = result.context, result.receipt
    excess = max(0, receipt.tokens - receipt.budget)
    if call.as_json:
        show.print_json(
            {
                "context": text,
                "tokens": result.token_count,
                "budget": receipt.budget,
                "over_by": excess,
                "truncated": result.truncated,
                "recipe": result.template,
                "items": [entry.item_id for entry in receipt.injected_entries],
                "receipt": asdict(receipt),
            }
        )
    else:
        click.echo(text, nl=False, color=True)
        if text and not text.endswith("\n") and sys.stdout.isatty():
            click.echo(err=True)  # so that a terminal's prompt gets a line to itself
        what = number_with_noun(len(receipt.injected_entries), "item") if text else "nothing to inject"
        show.print_note(f"{what}, {_describe_cost_and_receipt(call, receipt, excess, recorded=recorded)}")
    return 0 if text else 1


def _describe_cost_and_receipt(call: CliCall, receipt: Receipt, excess: int, *, recorded: bool) -> str:
    """The tokens used of the budget, and the command that explains the receipt, or why none was kept."""
    spent = f"{receipt.tokens:,} of {receipt.budget:,} tokens"
    if excess:
        spent += f" ({excess:,} over: a shorter one would say nothing)"
    if receipt.notes:  # the log has printed them, and `why` shows them again
        spent += f", {number_with_noun(len(receipt.notes), 'note')}"
    if not recorded:
        return f"{spent}, no receipt kept (dry run)"
    if reason := reason_to_keep_nothing(find_data_folder(), call.workspace):
        return f"{spent}, no receipt kept: {reason}"
    return f"{spent}, receipt {receipt.id}; ask why: foreword why {receipt.id}{call.workspace_flag}"
