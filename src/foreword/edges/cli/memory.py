"""Remember, search, forget: the commands that put single items in, find them, and take them out."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from foreword.edges.cli.common import (
    Call,
    command,
    console,
    counted,
    day,
    embed,
    emit,
    moment,
    opened,
    say,
    seen,
    shortened,
    tell,
    words_only,
)
from foreword.errors import EmbeddingError, ValidationError
from foreword.types import KINDS, TRUSTS, Filters, Item, Kind, Source, Trust

if TYPE_CHECKING:
    from datetime import datetime

    from foreword.engine.context_engine import ContextEngine, Forgotten
    from foreword.options import Lane
    from foreword.types import SearchResult


_LISTED = 20

# Remember ------------------------------------------------------------------------------------------------


@command("remember", 'foreword remember "Deploys happen on Tuesdays." --type decision --meta ticket=LH-7')
@click.argument("text")
@click.option("--kind", type=click.Choice(KINDS), default="memory", show_default=True, help="What it is.")
@click.option("--type", "label", default="", metavar="T", help="A label of your own: decision, fact…")
@click.option("--about", default="", metavar="A", help="What surrounds it: speaker, heading, file.")
@click.option("--session", metavar="S", help="The session it belongs to.")
@click.option("--conversation", metavar="C", help="The conversation it belongs to.")
@click.option("--confidence", type=float, default=1.0, metavar="F", help="How sure it is, 0 to 1.")
@click.option("--importance", type=float, default=0.5, metavar="F", help="How much it matters, 0 to 1.")
@click.option("--source", default="user", metavar="NAME", help="Who or what wrote it.")
@click.option(
    "--trust", type=click.Choice(TRUSTS), default="user", show_default=True, help="How far to trust that."
)
@click.option("--meta", multiple=True, metavar="K=V", help="Anything else worth keeping; may be repeated.")
@click.option("--supersedes", metavar="ID", help="The item that this one replaces.")
@click.option("--no-embed", is_flag=True, help="Make no vector now; a later command will.")
def remember(  # the options are the command
    call: Call,
    text: str,
    kind: Kind,
    label: str,
    about: str,
    session: str | None,
    conversation: str | None,
    confidence: float,
    importance: float,
    source: str,
    trust: Trust,
    meta: tuple[str, ...],
    supersedes: str | None,
    no_embed: bool,
) -> None:
    """Keep TEXT and print its id.

    `-` reads the text from stdin. Once the id is printed, the text survives a power cut and words find it;
    the vector by which its meaning is found is made next.
    """
    text = _stdin() if text == "-" else text
    metadata = dict(map(_pair, meta))
    workspace = call.workspace
    with opened(embedding=not no_embed) as engine:
        item = words_only(engine).remember(
            text,
            workspace,
            kind=kind,
            type=label,
            about=about,
            session=session,
            conversation=conversation,
            confidence=confidence,
            importance=importance,
            source=Source(source, trust),
            metadata=metadata,
            supersedes=supersedes,
        )
        emit(asdict(item)) if call.as_json else say(item.id)
        _embed_after(engine, workspace)


def _stdin() -> str:
    """All of stdin; the line break that `echo` and editors put at the end is not part of the text."""
    return sys.stdin.buffer.read().decode().rstrip("\r\n")


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ValidationError(f"--meta takes key=value, not {text!r}")
    return key.strip(), value


def _embed_after(engine: ContextEngine, workspace: str) -> None:
    try:
        embed(engine, workspace)
    except EmbeddingError as error:
        raise EmbeddingError(
            f"stored, and words find it; its vector will be made by a later command, because now: {error}"
        ) from error


# Search --------------------------------------------------------------------------------------------------


@command("search", 'foreword search "session timeout" --type decision --since 2w --limit 5')
@click.argument("query")
@click.option("--limit", type=int, default=10, show_default=True, metavar="N", help="At most so many.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only this kind; may be repeated."
)
@click.option("--type", "types", multiple=True, metavar="T", help="Only this type; may be repeated.")
@click.option("--since", callback=moment(), metavar="T", help="Not before: a date, or an age such as 3d.")
@click.option(
    "--until", callback=moment(end=True), metavar="T", help="Not after; a date means its whole day."
)
@click.option("--min-confidence", type=float, default=0.0, metavar="F", help="Only what is at least so sure.")
@click.option("--session", metavar="S", help="Only from this session.")
@click.option("--conversation", metavar="C", help="Only from this conversation.")
@click.option("--related", type=int, metavar="DEPTH", help="Also show what is related, so many steps away.")
@click.option("--deadline", type=float, metavar="MS", help="Answer within so many milliseconds.")
@click.option("--lane", type=click.Choice(["fast", "full"]), help="Without or with the cross-encoder.")
def search(
    call: Call,
    query: str,
    limit: int,
    kinds: tuple[str, ...],
    types: tuple[str, ...],
    since: datetime | None,
    until: datetime | None,
    min_confidence: float,
    session: str | None,
    conversation: str | None,
    related: int | None,
    deadline: float | None,
    lane: Lane | None,
) -> int:
    """List what answers QUERY, best first."""
    from foreword.options import SearchOptions

    options = SearchOptions(
        limit=limit,
        kinds=kinds,
        memory_types=types,
        date_from=since,
        date_to=until,
        min_confidence=min_confidence,
        session=session,
        conversation_id=conversation,
        include_relationships=related is not None,
        relationship_depth=1 if related is None else related,
        deadline_ms=deadline,
        lane=lane,
    )
    with opened() as engine:
        results = engine.search(query, call.workspace, options)
    if call.as_json:
        emit([_result_json(result) for result in results])
    elif results:
        _show_results(results)
    else:
        tell("nothing found")
    return 0 if results else 1


def _result_json(result: SearchResult) -> dict[str, Any]:
    related = [
        {"depth": one.depth, "relation": asdict(one.relationship), "item": asdict(one.memory)}
        for one in result.relationships
    ]
    return {
        **asdict(result.memory),
        "score": result.score,
        "agreement": result.weighted_agreement,
        "ranks": dict(result.ranks),
        "scores": dict(result.scores),
        "related": related,
    }


def _show_results(results: list[SearchResult]) -> None:
    from rich import box
    from rich.table import Table

    screen = console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("kind", max_width=14, overflow="fold")
    table.add_column("date", no_wrap=True)
    table.add_column("text", ratio=1)
    table.add_column("id", max_width=24, overflow="fold")
    room = max(60, 3 * (screen.width - 60))
    for result in results:
        item = result.memory
        text = seen(shortened(item.text, room))
        for line in _remarks(result):
            text.append(f"\n{shortened(line, room)}", style="dim")
        table.add_row(f"{result.score:.2f}", seen(_kind(item)), day(item.created_at), text, seen(item.id))
    screen.print(table)


def _kind(item: Item) -> str:
    return f"{item.kind}\n{item.type}" if item.type and item.type != item.kind else item.kind


def _remarks(result: SearchResult) -> list[str]:
    """What is worth saying beneath a result."""
    heir = result.memory.superseded_by
    lines = [f"superseded by {heir}"] if heir else []
    for one in result.relationships:
        arrow = "→" * one.depth if one.relationship.to_id == one.memory.id else "←" * one.depth
        lines.append(f"{arrow} {one.relationship.type}: {one.memory.text}")
    return lines


# Forget --------------------------------------------------------------------------------------------------


@command("forget", "foreword forget 3f9c2a7be1d04c58\nforeword forget --session 2026-11-02-review --yes")
@click.argument("ids", nargs=-1, metavar="[ID]…")
@click.option("--session", metavar="S", help="Everything of this session, and its receipts.")
@click.option("--source", metavar="S", help="Everything that this source wrote.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--no-verify", is_flag=True, help="Do not check afterwards that nothing is left.")
def forget(
    call: Call, ids: tuple[str, ...], session: str | None, source: str | None, yes: bool, no_verify: bool
) -> int:
    """Remove items for good, and prove it.

    Everything made from them goes too, and a check then looks for anything left.
    --session and --source together mean what fits both. On a terminal you are asked first.
    """
    if not ids and session is None and source is None:
        raise click.UsageError("say what to forget: ids, --session or --source")
    workspace = call.workspace
    with opened(embedding=False) as engine:
        found = _matching(engine, workspace, ids, session, source)
        if not found and session is None:
            return _nothing_to_forget(call)
        if not (yes or _agreed(len(found), session)):
            tell("nothing was forgotten")
            return 1
        gone = engine.forget(workspace, *ids, session=session, source=source, verify=not no_verify)
        left = () if no_verify else tuple(one.id for one in engine.store.get(workspace, *gone.ids) if one)
    return _answer_forgotten(call, gone, left, checked=not no_verify)


def _matching(
    engine: ContextEngine, workspace: str, ids: tuple[str, ...], session: str | None, source: str | None
) -> set[str]:
    found = {item.id for item in engine.store.get(workspace, *ids) if item is not None}
    if session is not None or source is not None:
        found |= {item.id for item in engine.store.scan(workspace, Filters(session=session, source=source))}
    return found


def _agreed(items: int, session: str | None) -> bool:
    """Ask, if there is somebody to ask."""
    if not sys.stdin.isatty():
        return True
    receipts = "" if session is None else f" and the receipts of session {session!r}"
    return click.confirm(f"Forget {counted(items, 'item')}{receipts} for good?", err=True)


def _nothing_to_forget(call: Call) -> int:
    if call.as_json:
        emit({"forgotten": [], "checked": False, "problems": []})
    else:
        tell("nothing matched; nothing was forgotten")
    return 1


def _answer_forgotten(call: Call, gone: Forgotten, left: tuple[str, ...], *, checked: bool) -> int:
    problems = [asdict(problem) for problem in gone.problems]
    problems += [{"part": "items", "message": f"{one} is still there"} for one in left]
    if call.as_json:
        emit({"forgotten": gone.ids, "checked": checked, "problems": problems})
    elif gone.ids:
        rest = len(gone.ids) - _LISTED
        lines = [*gone.ids[:_LISTED], *([f"and {rest:,} more"] if rest > 0 else [])]
        say(f"forgotten: {counted(len(gone.ids), 'item')}\n" + "\n".join(f"  {line}" for line in lines))
        say(_proof(problems, checked=checked))
    else:
        tell("no item matched; the session's receipts, if it had any, are gone")
    return 0 if gone.ids and not problems else 1


def _proof(problems: list[dict[str, Any]], *, checked: bool) -> str:
    if not checked:
        return "not checked"
    if problems:
        lines = "\n".join(f"  {problem['part']}: {problem['message']}" for problem in problems)
        return f"checked: something is left or wrong; run: foreword doctor --repair\n{lines}"
    return "checked: rows, indexes and vectors hold nothing of them"


COMMANDS = (remember, search, forget)
