"""Why: explain a receipt in sentences and bars, or write it as one HTML file to send to a colleague."""

from __future__ import annotations

import functools
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from foreword.edges.cli import show
from foreword.edges.cli.common import CliCall, command, open_engine
from foreword.engine.receipt_story import describe_note, describe_receipt
from foreword.text.numbers import format_percent
from foreword.text.provenance import attribution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.engine.receipt_story import CandidateStory, ReceiptStory
    from foreword.types import Receipt

_MAX_LEFT_OUT_SHOWN = 10
_MIN_STAGE_MS = 1.0
_FLOOR_MARK, _FULL, _EMPTY = "╎", "█", "·"


@command(
    "why",
    "foreword why\nforeword why 4be1 --all\nforeword why --html why.html\nforeword why --pathmap --json",
)
@click.argument("receipt_id", metavar="[RECEIPT]", default="")
@click.option("--all", "everything", is_flag=True, help="Show everything that was left out.")
@click.option(
    "--html",
    "html_file",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Write it as one HTML file that needs nothing else; - is stdout.",
)
@click.option("--pathmap", is_flag=True, help="Show a conversation's prompt as a map from paths to values.")
def explain_receipt(
    call: CliCall, receipt_id: str, everything: bool, html_file: str | None, pathmap: bool
) -> int:
    """Say what was injected, what nearly was, what was not, and why.

    RECEIPT is the id that `context` told, or the beginning of it; without one, the newest is explained. The
    bars show how probably each candidate helps, against the floor.
    """
    workspace = call.workspace
    with open_engine(embedding=False) as engine:
        receipt = engine.explain(workspace, receipt_id)
        if receipt is None:
            return _report_missing_receipt(call, receipt_id)
        story = describe_receipt(receipt, functools.partial(engine.store.get, workspace))
    if pathmap:
        return _show_path_map(call, receipt)
    if html_file is not None:
        return _write_receipt_html(call, story, html_file)
    if call.as_json:
        show.print_json(_story_as_json(story))
    else:
        _show_story(story, everything=everything)
    return 0


def _report_missing_receipt(call: CliCall, receipt_id: str) -> int:
    """Note that there is no such receipt, and what to do; return the exit code."""
    note = f"no receipt begins with {receipt_id!r} in this workspace; old ones are let go"
    if not receipt_id:
        first = f"ask for a context first: foreword context QUERY{call.workspace_flag}"
        note = f"no receipt yet in this workspace; {first}"
    call.answer(None, note=note)
    return 1


def _show_path_map(call: CliCall, receipt: Receipt) -> int:
    """Print a receipt's map from paths to values, which only prompts of a conversation have."""
    if receipt.view is None:
        show.print_note(
            f"the receipt {receipt.id} has no path map: only prompts of a conversation have one, "
            "and it goes when something of the workspace is forgotten"
        )
        return 1
    lines = (f"{path} → {json.dumps(value, ensure_ascii=False)}" for path, value in receipt.view.items())
    call.answer(receipt.view, "\n".join(lines))
    return 0


def _write_receipt_html(call: CliCall, story: ReceiptStory, name: str) -> int:
    """Write a receipt as one HTML file; return the exit code."""
    from foreword.edges.view.receipts import render_receipt_file

    page = render_receipt_file(story)
    if name == "-":
        click.echo(page, nl=False)
        return 0
    Path(name).write_text(page, encoding="utf-8")
    call.answer(
        {"file": str(Path(name).absolute())},
        f"written to {name}; it shows what memories say to whoever has it",
    )
    return 0


def _story_as_json(story: ReceiptStory) -> dict[str, object]:
    """The receipt with the text of each item, and a sentence on why it was injected or not."""
    told = {one.entry.item_id: one for one in (*story.said, *story.left_out)}
    entries = [
        {
            **asdict(entry),
            "text": one.item.text if one.item else None,
            "said_by": attribution(one.item) if one.item else "",
            "why": one.sentence,
        }
        for entry in story.receipt.entries
        for one in [told[entry.item_id]]
    ]
    facts = asdict(story.receipt) | {"entries": entries, "milliseconds": story.milliseconds}
    facts |= {"floor": story.floor, "cut": story.cut, "summary": story.summary}
    return {name: value for name, value in facts.items() if name != "view"}


# In a terminal -------------------------------------------------------------------------------------------


def _show_story(story: ReceiptStory, *, everything: bool) -> None:
    """Print a receipt: what was injected, the near misses, and what else was left out."""
    _show_receipt_head(story)
    _show_candidates("Said", story.said, story)
    others = story.others if everything else story.others[: _MAX_LEFT_OUT_SHOWN - len(story.near_misses)]
    _show_candidates("Nearly said", story.near_misses, story)
    _show_candidates("Left out", others, story)
    hidden = len(story.others) - len(others)
    if hidden:
        show.print_text(f"\n{hidden} more were left out; see them with --all")
    for note in story.receipt.notes:
        show.print_text(f"note: {describe_note(note.part, note.message)}")


def _show_receipt_head(story: ReceiptStory) -> None:
    """Print the question, the summary, the receipt's id and the time that each stage took."""
    receipt, screen = story.receipt, show.make_console()
    when = receipt.created_at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    session = f", session {receipt.session}" if receipt.session else ""
    slow = [
        f"{name} {milliseconds:.0f}" for name, milliseconds in story.stages if milliseconds >= _MIN_STAGE_MS
    ]
    screen.print(
        show.rich_text(show.shorten_to_line(receipt.query, 500) or f"({receipt.recipe}: no question)", "bold")
    )
    screen.print(show.rich_text(story.summary))
    screen.print(show.rich_text(f"{receipt.recipe}, {when}{session}, receipt {receipt.id}", "dim"))
    times = f": {', '.join(slow)}" if slow else ""
    screen.print(show.rich_text(f"{story.milliseconds:.0f} ms{times}", "dim"))


def _show_candidates(title: str, stories: Sequence[CandidateStory], story: ReceiptStory) -> None:
    """Print candidates, each with a bar, its text and the reason, as wide as the terminal."""
    if not stories:
        return
    from rich.padding import Padding

    screen = show.make_console()
    screen.print()
    screen.print(show.rich_text(title, "bold"))
    bar_width = max(8, min(24, screen.width // 3))
    for one in stories:
        line = show.rich_text(f"{format_percent(one.score):>6}  ")
        line.append(
            _draw_probability_bar(one.score, story.floor, bar_width),
            style="green" if one.was_injected else "yellow",
        )
        line.append(f"  {one.entry.item_id}", style="dim")
        screen.print(line)
        text = "(forgotten)" if one.text is None else show.shorten_to_line(one.text, 4 * screen.width)
        indent = min(8, screen.width // 10)
        screen.print(Padding(show.rich_text(text), (0, 0, 0, indent)))
        screen.print(Padding(show.rich_text(one.sentence, "dim"), (0, 0, 0, indent)))


def _draw_probability_bar(score: float, floor: float | None, width: int) -> str:
    """A bar whose length is the square root of a probability, as on the page, with a mark at the floor."""
    filled = round(min(1.0, max(0.0, score)) ** 0.5 * width)
    cells = [_FULL] * filled + [_EMPTY] * (width - filled)
    if floor:
        at = min(width - 1, round(floor**0.5 * width))
        cells[at] = _FLOOR_MARK if at >= filled else cells[at]
    return "".join(cells)
