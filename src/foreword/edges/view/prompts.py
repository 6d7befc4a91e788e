"""Prompts: a live list of what agents asked and were given, and each of them with its receipt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.edges.shared.calls import get_receipt
from foreword.edges.shared.receipt_story import outline_receipt
from foreword.edges.view.markup import Markup, address, el, join, words_of
from foreword.edges.view.pieces import date, facts_list, heading, nothing, pager, shorten
from foreword.edges.view.receipts import (
    exact_text,
    load_stories,
    receipt_card,
    receipt_picture,
    receipt_times,
)
from foreword.errors import UnknownId
from foreword.store.browsing import ListReceiptFacts, ListReceipts

if TYPE_CHECKING:
    from foreword.edges.view.visit import House, Visit

_STEP = 20
_MISSING_TEXT = (
    "It is not kept: it was very long, or something was forgotten since, and then every copy "
    "of what was said goes with it."
)


def list_prompts(visit: Visit) -> Markup:
    """The newest prompts, and what each was given."""
    skip = visit.number("skip")
    live = None
    if not skip:
        newest = visit.link("prompts", "newest").replace("/view/", "/page/", 1)
        live = el("span", "live", class_="live", data_live=newest, data_seen=_newest_id(visit), role="status")
    return join(
        heading("Prompts", "What agents asked, what they were given, and why. Newest first.", live),
        _receipt_list(visit, skip),
    )


def newest_prompt(visit: Visit) -> Markup:
    """The id of the newest receipt alone, for a page that waits for the next one."""
    return Markup(_newest_id(visit))


def _newest_id(visit: Visit) -> str:
    newest = visit.engine.store.run(ListReceiptFacts(visit.workspace, 1))
    return newest[0].id if newest else ""


def _receipt_list(visit: Visit, skip: int) -> Markup:
    receipts = visit.engine.store.run(ListReceipts(visit.workspace, skip, _STEP))
    total = visit.engine.count(visit.workspace).receipts
    if not receipts:
        return nothing("No prompt was answered here yet. ", el("a", "Try one", href=visit.link("try")), ".")
    rows = [
        receipt_card(outline_receipt(receipt), visit.link("prompts", receipt.id), visit.now)
        for receipt in receipts
    ]
    return join(el("ul", *rows, class_="rows"), pager(visit, "prompts", total, skip, _STEP))


def find_prompt(house: House, name: str) -> Markup:
    """The way to a receipt whose workspace the address does not name; UnknownId if no workspace has it."""
    for workspace in house.engine.store.workspaces():
        receipt = house.engine.explain(workspace, name) if name else None
        if receipt is not None:
            return el("p", "One moment …", data_go=address("prompts", receipt.id, w=workspace))
    raise UnknownId(f"no project has a receipt that begins with {name!r}; old ones are let go")


def show_prompt(visit: Visit, name: str) -> Markup:
    """One prompt: what was said and why, how long each stage took, and the text."""
    receipt = get_receipt(visit.engine, visit.workspace, name)
    (story,) = load_stories(visit.engine, visit.workspace, [receipt])
    asked = receipt.query.strip() or f"({receipt.recipe}: no question)"
    again = el(
        "a", "Try it again", class_="button", href=visit.link("try", q=shorten(receipt.query, 1500) or None)
    )
    return join(
        el("nav", el("a", "← Prompts", href=visit.link("prompts")), class_="back", aria_label="Back"),
        heading("Prompt", words_of(shorten(asked, 1200), class_="question"), again),
        facts_list(
            ("When", date(receipt.created_at, visit.now)),
            ("Recipe", receipt.recipe),
            ("Tokens", f"{receipt.tokens:,} of {receipt.budget:,}"),
            ("Time", f"{story.milliseconds:,.0f} ms"),
            ("Session", receipt.session and words_of(receipt.session)),
            ("Receipt", el("code", receipt.id)),
            across=True,
        ),
        receipt_picture(story, lambda item: visit.link("memory", item)),
        exact_text(receipt.text, missing=_MISSING_TEXT if receipt.injected else ""),
        receipt_times(story),
    )
