"""Remember, search, forget, export and import: single items, or a whole workspace as lines of JSON."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from foreword.capture.redact import redact, remove_private_spans
from foreword.edges.cli import show
from foreword.edges.cli.common import (
    CliCall,
    OptionValue,
    command,
    deadline_option,
    lane_option,
    make_vectors,
    no_embed_option,
    open_engine,
    read_argument_or_stdin,
    reopen_without_encoder,
    since_option,
    text_option,
    until_option,
)
from foreword.edges.shared.calls import find_ids_to_forget
from foreword.engine.browsing import Browser, describe_what_else_is_removed
from foreword.errors import UnknownId, ValidationError
from foreword.options import SearchOptions
from foreword.pipeline import FLOOR
from foreword.text.clean import remove_invisible
from foreword.text.numbers import number_with_noun
from foreword.text.words import content_words, has_all_words
from foreword.types import KINDS, TRUSTS, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from foreword.engine.context_engine import Forgotten
    from foreword.store.browsing import DeletePreview
    from foreword.types import Item, SearchResult, Trust

_MAX_LISTED_IDS = 20
_MAX_FILE_NAME = 1_000
_MAX_PIECE_CHARACTERS = 4_000
"""A longer text is stored in pieces, since its meaning would not fit into one vector."""

# Remember ------------------------------------------------------------------------------------------------


@command("remember", 'foreword remember "Deploys happen on Tuesdays." --type decision --meta ticket=LH-7')
@click.argument("text", metavar="TEXT|-", default="")
@click.option(
    "--file", "file", type=click.Path(path_type=Path), metavar="F", help="Keep what this file says."
)
@click.option("--kind", type=click.Choice(KINDS), default="memory", show_default=True, help="What it is.")
@click.option("--type", default="", metavar="T", help="A label of your own: decision, fact…")
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
def remember(
    call: CliCall,
    text: str,
    file: Path | None,
    source: str,
    trust: Trust,
    meta: tuple[str, ...],
    supersedes: str | None,
    no_embed: bool,
    **fields: OptionValue,
) -> None:
    """Keep TEXT and print its id.

    `-` reads the text from stdin, --file from a file. A text that is too long for one item is cut at its
    paragraphs, and an id is printed for each. Once the id is printed, the text survives a power cut and words
    find it; the vector by which its meaning is found is made next.
    """
    texts = split_text_to_remember(_read_text_to_remember(text, file))
    metadata, workspace = dict(map(_parse_metadata_option, meta)), call.workspace
    with open_engine(embedding=not no_embed) as engine:
        quiet = reopen_without_encoder(engine)
        fields["supersedes"] = supersedes and Browser(engine, workspace).find_item(supersedes).id
        items = [
            quiet.remember(one, workspace, source=Source(source, trust), metadata=metadata, **fields)
            for one in texts
        ]
        ids = "\n".join(item.id for item in items)
        call.answer(asdict(items[0]) if len(items) == 1 else list(map(asdict, items)), ids)
        make_vectors(engine, workspace, later="its vector will be made by a later command")


def _read_text_to_remember(text: str, file: Path | None) -> str:
    """The text of the argument, of stdin or of a file; a usage error if it is unclear which is meant."""
    if file is not None:
        if text:
            raise click.UsageError("give TEXT or --file, not both")
        return file.read_text(encoding="utf-8-sig").strip()
    if not text:
        raise click.UsageError("say what to remember: TEXT, - for stdin, or --file")
    if "\n" not in text and len(text) < _MAX_FILE_NAME and Path(text).is_file():
        if not sys.stdin.isatty():
            raise click.UsageError(f"{text} is a file: to keep what it says, use --file {text}")
        if click.confirm(f"{text} is a file. Keep what it says, not its name?", default=True, err=True):
            return Path(text).read_text(encoding="utf-8-sig").strip()
    return read_argument_or_stdin(text)


def split_text_to_remember(text: str) -> list[str]:
    """The text whole if it is short enough; else its pieces, cut at paragraphs, lines or words."""
    pieces = []
    if len(text) > _MAX_PIECE_CHARACTERS:  # before cutting: half a secret or private span is not recognised
        text = redact(remove_private_spans(text))
    while len(text) > _MAX_PIECE_CHARACTERS:
        ends = (
            text.rfind(end, _MAX_PIECE_CHARACTERS // 2, _MAX_PIECE_CHARACTERS) for end in ("\n\n", "\n", " ")
        )
        cut = next((end for end in ends if end > 0), _MAX_PIECE_CHARACTERS)
        pieces.append(text[:cut].strip())
        text = text[cut:].strip()
    return [*pieces, text]


def _parse_metadata_option(text: str) -> tuple[str, str]:
    """The two sides of `key=value`; raises ValidationError if it has no key."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ValidationError(f"--meta takes key=value, not {text!r}")
    return key.strip(), value


# Search --------------------------------------------------------------------------------------------------


@command("search", 'foreword search "session timeout" --type decision --since 2w --limit 5')
@click.argument("query")
@click.option("--limit", type=int, default=10, show_default=True, metavar="N", help="At most so many.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only this kind; may be repeated."
)
@click.option("--type", "memory_types", multiple=True, metavar="T", help="Only this type; may be repeated.")
@since_option("date_from")
@until_option("date_to")
@click.option("--min-confidence", type=float, default=0.0, metavar="F", help="Only what is at least so sure.")
@click.option("--session", metavar="S", help="Only from this session.")
@click.option("--conversation", "conversation_id", metavar="C", help="Only from this conversation.")
@click.option("--related", type=int, metavar="DEPTH", help="Also show what is related, so many steps away.")
@deadline_option
@lane_option
@click.option("--all", "everything", is_flag=True, help="Also list what hardly fits.")
def search(call: CliCall, query: str, related: int | None, everything: bool, **filters: OptionValue) -> int:
    """List what answers QUERY, or has all its words, best first.

    `-` reads QUERY from stdin.
    """
    if related is not None:
        filters |= {"include_relationships": True, "relationship_depth": related}
    with open_engine() as engine:
        question = read_argument_or_stdin(query)
        found = engine.search(question, call.workspace, SearchOptions(**filters))
        has_meaning = engine.settings.embedding != "none"
    # Without an encoder a score is not a probability: then all that shares a word is listed.
    floor = 0.0 if everything or not has_meaning else FLOOR
    words = content_words(question)
    results = [
        one for one in found if one.score >= floor or (words and has_all_words(one.memory.text, words))
    ]
    left = len(found) - len(results)
    rest = f"{left} more hardly fit; see them with --all"
    if left and (results or call.as_json):
        show.print_note(rest)
    nothing = f"nothing found; {rest.replace('more ', '')}" if left else "nothing found"
    return call.print_values_or_note(
        list(map(_search_result_as_json, results)), lambda: _show_search_results(results), nothing
    )


def _search_result_as_json(result: SearchResult) -> dict[str, Any]:
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


def _show_search_results(results: list[SearchResult]) -> None:
    """Print results in a table, or as lines in a narrow terminal."""
    screen, table = show.make_console(), show.make_table(expand=True)
    if screen.width < show.NARROW_COLUMNS:
        for result in results:
            item = result.memory
            show.print_text(
                f"{result.score:.2f}  {item.id[:12]}  {show.format_date(item.created_at)}  {item.label}"
            )
            show.print_text(f"  {show.shorten_to_line(item.text, 3 * screen.width)}")
        return
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("kind", max_width=14, overflow="fold")
    table.add_column("date", no_wrap=True)
    table.add_column("text", ratio=1)
    table.add_column("id", max_width=24, overflow="fold")
    width = max(60, 3 * (screen.width - 60))
    for result in results:
        item = result.memory
        text = show.rich_text(show.shorten_to_line(item.text, width))
        for line in _list_result_remarks(result):
            text.append(f"\n{show.shorten_to_line(line, width)}", style="dim")
        kind = f"{item.kind}\n{item.type}" if item.type and item.type != item.kind else item.kind
        date = show.format_date(item.created_at)
        table.add_row(f"{result.score:.2f}", show.rich_text(kind), date, text, show.rich_text(item.id))
    screen.print(table)


def _list_result_remarks(result: SearchResult) -> Iterator[str]:
    """The lines beneath a result: the item that superseded it, and related items."""
    if successor := result.memory.superseded_by:
        yield f"superseded by {successor}"
    for one in result.relationships:
        yield f"{show.relation_arrow(one)} {one.relationship.type}: {one.memory.text}"


# Forget --------------------------------------------------------------------------------------------------


@command("forget", 'foreword forget 3f9c2a7be1d04c58\nforeword forget --query "project falcon"')
@click.argument("ids", nargs=-1, metavar="[ID]…")
@text_option("--query", "words", default="", metavar="WORDS", help="Every item that has all of these words.")
@click.option("--session", metavar="S", help="Everything of this session, and its receipts.")
@click.option("--source", metavar="S", help="Everything that this source wrote.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--no-verify", is_flag=True, help="Do not check afterwards that nothing is left.")
def forget(
    call: CliCall,
    ids: tuple[str, ...],
    words: str,
    session: str | None,
    source: str | None,
    yes: bool,
    no_verify: bool,
) -> int:
    """Remove items for good, and prove it.

    ID is an item's id, or the beginning of it. Everything made from them goes too, and a check then looks for
    anything left. --session and --source together mean what fits both. What would go is listed, and on a
    terminal you are asked first; in a script, what --query finds is not removed without --yes. Events that
    wait in the spool are stored first, so that nothing comes back from there.
    """
    if not ids and session is None and source is None and not words.strip():
        raise click.UsageError("say what to forget: ids, --query, --session or --source")
    workspace = call.workspace
    with open_engine(embedding=False) as engine:
        engine.store_waiting_events(drop_unreadable=False)
        ids = _complete_id_prefixes(Browser(engine, workspace), ids)
        found = engine.find_by_words(workspace, words) if words.strip() else []
        matching = {*find_ids_to_forget(engine, workspace, ids, session, source), *(one.id for one in found)}
        if not matching and session is None:
            nothing = {"forgotten": [], "checked": False, "problems": []}
            call.answer(nothing, note="nothing matched; nothing was forgotten")
            return 1
        preview = Browser(engine, workspace).preview_forget(*sorted(matching))
        if not call.as_json:
            _show_what_would_be_forgotten(preview, matching)
        if not (yes or _confirm_forgetting(call, preview.items, session, by_query=bool(found))):
            return 1
        forgotten = engine.forget(
            workspace, *ids, session=session, source=source, words=words.strip(), verify=not no_verify
        )
        left = (
            () if no_verify else tuple(one.id for one in engine.store.get(workspace, *forgotten.ids) if one)
        )
    return _report_forgotten(call, forgotten, left, checked=not no_verify)


def _complete_id_prefixes(browser: Browser, names: Iterable[str]) -> tuple[str, ...]:
    """The whole ids that begin with these names; a name that fits no item is noted and left out."""
    ids = []
    for name in names:
        try:
            ids.append(browser.find_item(name).id)
        except UnknownId as error:
            show.print_note(str(error))
    return tuple(ids)


def _show_what_would_be_forgotten(preview: DeletePreview, ids: Iterable[str]) -> None:
    """Print the items that would be forgotten, and what else goes with them."""
    for item in preview.items[:_MAX_LISTED_IDS]:
        text = show.shorten_to_line(item.text, 90)
        show.print_text(f"{item.id}  {show.format_date(item.created_at)}  {item.label}  {text}")
    if len(preview.items) > _MAX_LISTED_IDS:
        show.print_text(f"and {len(preview.items) - _MAX_LISTED_IDS:,} more")
    if along := describe_what_else_is_removed(preview, ids):
        show.print_text(f"with {', '.join(along)}")


def _confirm_forgetting(call: CliCall, found: Sequence[Item], session: str | None, *, by_query: bool) -> bool:
    """Ask if there is a terminal; return whether to go on.

    Without a terminal, items that a query found are not forgotten.
    """
    if sys.stdin.isatty() and not call.as_json:
        receipts = "" if session is None else f" and the receipts of session {session!r}"
        if click.confirm(f"Forget {number_with_noun(len(found), 'item')}{receipts} for good?", err=True):
            return True
        show.print_note("nothing was forgotten")
    elif not by_query:
        return True  # a script named the items itself
    else:
        preview = {
            "would_forget": list(map(asdict, found)),
            "forgotten": [],
            "checked": False,
            "problems": [],
        }
        note = f"{number_with_noun(len(found), 'item')} would be forgotten; nothing was: add --yes to do it"
        call.answer(preview, note=note)
    return False


def _report_forgotten(
    call: CliCall, forgotten: Forgotten, remaining_ids: tuple[str, ...], *, checked: bool
) -> int:
    """Print what was forgotten and what the check found; return the exit code."""
    problems = [asdict(problem) for problem in forgotten.problems]
    problems += [{"part": "items", "message": f"{one} is still there"} for one in remaining_ids]
    answer = {"forgotten": forgotten.ids, "checked": checked, "problems": problems}
    if forgotten.ids and not call.as_json:
        show.print_text(f"forgotten: {number_with_noun(len(forgotten.ids), 'item')}")
        show.print_text(_describe_forget_check(problems, checked=checked))
    else:
        call.answer(answer, note="no item matched; the session's receipts, if it had any, are gone")
    return 0 if forgotten.ids and not problems else 1


def _describe_forget_check(problems: list[dict[str, Any]], *, checked: bool) -> str:
    if not checked:
        return "not checked"
    if problems:
        lines = "\n".join(f"  {problem['part']}: {problem['message']}" for problem in problems)
        return f"checked: something is left or wrong; run: foreword doctor --repair\n{lines}"
    return "checked: rows, indexes and vectors hold nothing of them"


# Export --------------------------------------------------------------------------------------------------


@command("export", "foreword export backup.jsonl\nforeword export | gzip > backup.jsonl.gz")
@click.argument("file", default="-", metavar="[FILE|-]")
def export(call: CliCall, file: str) -> int:
    """Write a workspace as lines of JSON.

    Items come first, then relations; vectors are not written, because they can be made again.
    FILE is replaced only once everything is written.
    """
    workspace = call.workspace
    with open_engine(embedding=False) as engine:
        if not engine.count(workspace).items:
            show.print_note(f"nothing to export: {workspace} holds nothing")
            if call.as_json:
                show.print_json([])
            return 1
        lines = engine.export(workspace)
        if file == "-":
            _export_to_stdout(lines, as_json=call.as_json)
            return 0
        written = _export_to_file(Path(file), lines)
    facts = {"file": str(Path(file).absolute()), "lines": written}
    call.answer(facts, f"{number_with_noun(written, 'line')} written to {file}")
    return 0


def _export_to_stdout(lines: Iterable[str], *, as_json: bool) -> None:
    """Write the lines to stdout unchanged, or as one JSON list."""
    if as_json:
        show.print_json([json.loads(line) for line in lines])
        return
    clean: Callable[[str], str] = remove_invisible if sys.stdout.isatty() else str
    out = sys.stdout.buffer
    for line in lines:
        out.write(clean(line).encode() + b"\n")
    out.flush()


def _export_to_file(path: Path, lines: Iterable[str]) -> int:
    """Write the lines to a file and return their number.

    A temporary file is written and renamed, so that half an export never replaces a whole one.
    """
    if path.exists() and not path.is_file():  # a pipe or a device must not be replaced by a file
        with path.open("w", encoding="utf-8", newline="\n") as out:
            return _write_lines_with_progress(out, lines)
    path = path.resolve()
    if not path.parent.is_dir():
        raise click.FileError(str(path), "there is no such folder")
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.touch(mode=0o600)  # memory is private, wherever it is written
        with temporary.open("w", encoding="utf-8", newline="\n") as out:
            written = _write_lines_with_progress(out, lines)
            os.fsync(out.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return written


def _write_lines_with_progress(out: IO[str], lines: Iterable[str]) -> int:
    written = 0
    with show.progress_bar("exporting") as count:
        for written, line in enumerate(lines, 1):
            out.write(line + "\n")
            count(written)
    out.flush()
    return written


# Import --------------------------------------------------------------------------------------------------


@command("import", "foreword import backup.jsonl\ngunzip -c backup.jsonl.gz | foreword import -")
@click.argument("file", metavar="FILE|-")
@no_embed_option
def import_(call: CliCall, file: str, no_embed: bool) -> None:
    """Store lines of JSON.

    They come from `export`, or are written by hand. What is there already is not stored twice.
    A line needs no more than a text: {"text": "Deploys happen on Tuesdays."}
    """
    workspace = call.workspace
    with open_engine(embedding=not no_embed) as engine:
        before = engine.count(workspace)
        with show.progress_bar("importing") as count:
            read = reopen_without_encoder(engine).import_lines(_read_import_lines(file, count), workspace)
        after = engine.count(workspace)
        vectors = make_vectors(engine, workspace)
    items, relations = after.items - before.items, after.relations - before.relations
    new = f"{number_with_noun(items, 'new item')}, {number_with_noun(relations, 'new relation')}"
    facts = {"lines": read, "items": items, "relations": relations, "vectors": vectors}
    call.answer(
        facts, f"{number_with_noun(read, 'line')} read: {new}, {number_with_noun(vectors, 'vector')} made"
    )


def _read_import_lines(file: str, count: Callable[[int], None]) -> Iterator[str]:
    """The lines of a file or of stdin, without a byte order mark; raises ValidationError unless UTF-8."""
    with click.open_file(file, "rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise ValidationError(
                    f"line {number} is not UTF-8 text (byte {error.start}: {error.reason})"
                ) from None
            count(number)
