"""A receipt as a picture: what was said, what nearly was, against the floor and the cut, with its times."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from foreword.edges.shared.receipt_story import (
    SPACES,
    describe_note,
    describe_receipt,
    format_share,
)
from foreword.edges.view.markup import Markup, el, join, words_of
from foreword.edges.view.pieces import date, kind_badge, nothing, section, shorten
from foreword.edges.view.plots import candidate_bar, receipt_strip, waterfall

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from foreword.edges.shared.receipt_story import CandidateStory, ReceiptOutline, ReceiptStory
    from foreword.engine.context_engine import ContextEngine
    from foreword.types import Receipt

_MAX_TEXT_CHARACTERS = 360
_COLOURED = ("semantic", "lexical", "entities", "identifiers", "trigram", "graph")


def load_stories(engine: ContextEngine, workspace: str, receipts: Sequence[Receipt]) -> list[ReceiptStory]:
    """Receipts in sentences."""
    find_items = functools.partial(engine.store.get, workspace)
    return [describe_receipt(receipt, find_items) for receipt in receipts]


def receipt_card(outline: ReceiptOutline, href: str, now: datetime) -> Markup:
    """A receipt in a list: when, what was asked, what came of it, as a strip."""
    receipt = outline.receipt
    asked = receipt.query.strip() or f"({receipt.recipe}: no question)"
    return el(
        "li",
        el(
            "div",
            date(receipt.created_at, now),
            el("span", receipt.recipe, class_="kind"),
            receipt.session and words_of(shorten(receipt.session, 28), class_="origin"),
            el("span", f"{outline.milliseconds:,.0f} ms", class_="origin"),
            class_="meta",
        ),
        words_of(shorten(asked, 220), "a", href=href, class_="said asked"),
        el("div", receipt_strip(outline), el("span", outline.summary, class_="soft"), class_="outcome"),
        class_="row" if outline.said else "row silent",
        data_row=True,
        data_receipt=receipt.id,
    )


def receipt_picture(story: ReceiptStory, link_to: Callable[[str], str | None]) -> Markup:
    """All of a receipt; `link_to` gives the address of an item, or None where there is nowhere to go."""
    return join(
        el("p", story.summary, class_="summary"),
        _legend(story) if story.receipt.entries else None,
        section(
            "Said",
            _candidates(story.said, story, link_to) or nothing("Nothing. Silence is an answer, too."),
            count=len(story.said),
        ),
        section("Nearly said", _candidates(story.near_misses, story, link_to), count=len(story.near_misses))
        if story.near_misses
        else None,
        _other_candidates(story, link_to),
        _notes(story),
    )


def receipt_times(story: ReceiptStory) -> Markup | None:
    """The stages as a waterfall."""
    picture = waterfall(story.stages)
    return picture and section(
        "Time", picture, el("p", f"{story.milliseconds:,.1f} ms in all", class_="soft")
    )


def exact_text(text: str, *, missing: str = "") -> Markup:
    """The context as the agent got it, or why it is not shown."""
    if not text:
        return section("The text, exactly", nothing(missing or "Nothing was said, so there is no text."))
    return section("The text, exactly", el("pre", text, dir="auto", class_="exact", tabindex="0"))


def _legend(story: ReceiptStory) -> Markup:
    """Which colour stands for which space, and which line for what."""
    used = {space for one in (*story.said, *story.left_out) for space, _ in one.parts}
    keys = [
        el("li", el("span", class_=f"key space-{space}"), f" {SPACES[space]}")
        for space in _COLOURED
        if space in used
    ]
    lines = [
        el("li", el("span", class_=f"key line {name}"), f" {name}, {format_share(share)}", title=meaning)
        for name, share, meaning in (
            ("floor", story.floor, "Nothing less probable than this is said"),
            ("cut", story.cut, "Nothing less probable than this is said beside the best one"),
        )
        if share is not None
    ]
    return el("ul", *keys, *lines, class_="legend", aria_label="What the colours mean")


def _candidates(
    stories: Sequence[CandidateStory], story: ReceiptStory, link_to: Callable[[str], str | None]
) -> Markup | None:
    rows = [_candidate(one, story, link_to) for one in stories]
    return el("ol", *rows, class_="candidates") if rows else None


def _candidate(one: CandidateStory, story: ReceiptStory, link_to: Callable[[str], str | None]) -> Markup:
    text = one.text
    if text is None:
        said = el("span", "(forgotten since)", class_="soft")
    else:
        href = link_to(one.entry.item_id)
        said = words_of(
            shorten(text, _MAX_TEXT_CHARACTERS), "a" if href else "span", href=href, class_="said"
        )
    return el(
        "li",
        el(
            "div",
            el("span", format_share(one.score), class_="share"),
            candidate_bar(one, story.floor, story.cut),
            class_="measure",
        ),
        said,
        el("p", kind_badge(one.item) if one.item else None, " ", one.sentence, ".", class_="why"),
        class_="candidate" if one.is_said else "candidate left",
        data_row=True,
    )


def _other_candidates(story: ReceiptStory, link_to: Callable[[str], str | None]) -> Markup | None:
    if not story.others:
        return None
    what = f"{len(story.others):,} more were considered"
    return el("details", el("summary", what), _candidates(story.others, story, link_to), class_="more")


def _notes(story: ReceiptStory) -> Markup | None:
    notes = [el("li", describe_note(note.part, note.message)) for note in story.receipt.notes]
    return section("Notes", el("ul", *notes, class_="notes")) if notes else None
