"""A receipt as a picture: what was injected, the near misses, the floor and the cut, and the times."""

from __future__ import annotations

import base64
import functools
import hashlib
from typing import TYPE_CHECKING

from foreword.edges.view.markup import (
    Markup,
    el,
    element_with_user_text,
    isolate_text_direction_of_quotes,
    join,
)
from foreword.edges.view.pieces import (
    facts_list,
    kind_badge,
    nothing_to_show_note,
    page_heading,
    read_static,
    section,
    shorten_for_page,
    time_element,
)
from foreword.edges.view.plots import candidate_bar, receipt_thumbnail, stage_waterfall
from foreword.engine.receipt_story import (
    MAIN_SPACES,
    SPACES,
    describe_note,
    describe_receipt,
)
from foreword.text.numbers import format_percent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from foreword.engine.context_engine import ContextEngine
    from foreword.engine.receipt_story import CandidateStory, ReceiptOutline, ReceiptStory
    from foreword.types import Receipt

_MAX_TEXT_CHARACTERS = 360


def load_receipt_stories(
    engine: ContextEngine, workspace: str, receipts: Sequence[Receipt]
) -> list[ReceiptStory]:
    """The stories of receipts, with the items that they name."""
    find_items = functools.partial(engine.store.get, workspace)
    return [describe_receipt(receipt, find_items) for receipt in receipts]


def receipt_card(outline: ReceiptOutline, href: str, now: datetime) -> Markup:
    """A receipt as a row of a list: its time, the question, the outcome, and a strip of candidates."""
    receipt = outline.receipt
    asked = receipt.query.strip() or f"({receipt.recipe}: no question)"
    return el(
        "li",
        el(
            "div",
            time_element(receipt.created_at, now),
            el("span", receipt.recipe, class_="kind"),
            receipt.session
            and element_with_user_text(shorten_for_page(receipt.session, 28), class_="origin"),
            el("span", f"{outline.milliseconds:,.0f} ms", class_="origin"),
            class_="meta",
        ),
        element_with_user_text(shorten_for_page(asked, 220), "a", href=href, class_="said asked"),
        el("div", receipt_thumbnail(outline), el("span", outline.summary, class_="soft"), class_="outcome"),
        class_="row" if outline.said else "row silent",
        data_row=True,
        data_receipt=receipt.id,
    )


def full_receipt_markup(story: ReceiptStory, link_to: Callable[[str], str | None]) -> Markup:
    """The whole of a receipt; `link_to` returns the address of an item, or None for no link."""
    return join(
        el("p", story.summary, class_="summary"),
        _render_legend(story) if story.receipt.entries else None,
        section(
            "Said",
            _candidate_list(story.said, story, link_to)
            or nothing_to_show_note("Nothing. Silence is an answer, too."),
            count=len(story.said),
        ),
        section(
            "Nearly said", _candidate_list(story.near_misses, story, link_to), count=len(story.near_misses)
        )
        if story.near_misses
        else None,
        _other_candidates(story, link_to),
        _context_problems_section(story),
    )


def times_section(story: ReceiptStory) -> Markup | None:
    """The stages of a receipt as a waterfall; None if none took any time."""
    picture = stage_waterfall(story.stages)
    return picture and section(
        "Time", picture, el("p", f"{story.milliseconds:,.1f} ms in all", class_="soft")
    )


def context_as_sent_section(text: str, *, missing: str = "") -> Markup:
    """The context exactly as the agent got it, or the reason why it is missing."""
    if not text:
        return section(
            "The text, exactly", nothing_to_show_note(missing or "Nothing was said, so there is no text.")
        )
    return section("The text, exactly", el("pre", text, dir="auto", class_="exact", tabindex="0"))


def _render_legend(story: ReceiptStory) -> Markup:
    """The meaning of the colours and lines."""
    used = {space for one in (*story.said, *story.left_out) for space, _ in one.parts}
    keys = [
        el("li", el("span", class_=f"key space-{space}"), f" {SPACES[space]}")
        for space in MAIN_SPACES
        if space in used
    ]
    lines = [
        el("li", el("span", class_=f"key line {name}"), f" {name}, {format_percent(share)}", title=meaning)
        for name, share, meaning in (
            ("floor", story.floor, "Nothing less probable than this is said"),
            ("cut", story.cut, "Nothing less probable than this is said beside the best one"),
        )
        if share is not None
    ]
    return el("ul", *keys, *lines, class_="legend", aria_label="What the colours mean")


def _candidate_list(
    stories: Sequence[CandidateStory], story: ReceiptStory, link_to: Callable[[str], str | None]
) -> Markup | None:
    """The candidates as a list; None without any."""
    rows = [_candidate_row(one, story, link_to) for one in stories]
    return el("ol", *rows, class_="candidates") if rows else None


def _candidate_row(one: CandidateStory, story: ReceiptStory, link_to: Callable[[str], str | None]) -> Markup:
    """A candidate: its probability as a bar, its text, and why it was injected or not."""
    text = one.text
    if text is None:
        said = el("span", "(forgotten since)", class_="soft")
    else:
        href = link_to(one.entry.item_id)
        said = element_with_user_text(
            shorten_for_page(text, _MAX_TEXT_CHARACTERS), "a" if href else "span", href=href, class_="said"
        )
    return el(
        "li",
        el(
            "div",
            el("span", format_percent(one.score), class_="share"),
            candidate_bar(one, story.floor, story.cut),
            class_="measure",
        ),
        said,
        el(
            "p",
            kind_badge(one.item) if one.item else None,
            " ",
            isolate_text_direction_of_quotes(one.sentence),
            ".",
            class_="why",
        ),
        class_="candidate" if one.was_injected else "candidate left",
        data_row=True,
    )


def _other_candidates(story: ReceiptStory, link_to: Callable[[str], str | None]) -> Markup | None:
    """The candidates that were neither injected nor near misses, folded away."""
    if not story.others:
        return None
    what = f"{len(story.others):,} more were considered"
    return el("details", el("summary", what), _candidate_list(story.others, story, link_to), class_="more")


def _context_problems_section(story: ReceiptStory) -> Markup | None:
    """What went wrong while the context was made; None if nothing did."""
    notes = [el("li", describe_note(note.part, note.message)) for note in story.receipt.notes]
    return section("Notes", el("ul", *notes, class_="notes")) if notes else None


# A receipt as a file of its own ----------------------------------------------------------------------------


def render_receipt_file(story: ReceiptStory) -> str:
    """A receipt as one HTML file that needs nothing else: no script, the style inside, nothing to load."""
    receipt, style = story.receipt, read_static("page.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    asked = receipt.query.strip() or f"({receipt.recipe}: no question)"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"Why · {receipt.id} · Foreword"),
        el("style", Markup(style)),
    )
    main = el(
        "main",
        page_heading("What was said, and why", element_with_user_text(asked, class_="question")),
        facts_list(
            ("When", f"{receipt.created_at.astimezone():%d %B %Y, %H:%M:%S %Z}"),
            ("Recipe", receipt.recipe),
            ("Tokens", f"{receipt.tokens:,} of {receipt.budget:,}"),
            ("Time", f"{story.milliseconds:,.0f} ms"),
            ("Receipt", el("code", receipt.id)),
            across=True,
        ),
        full_receipt_markup(story, lambda _item: None),
        context_as_sent_section(receipt.text, missing="The text is not kept.")
        if receipt.injected_entries
        else None,
        times_section(story),
    )
    return f"<!doctype html>\n{el('html', head, el('body', main), lang='en')}\n"
