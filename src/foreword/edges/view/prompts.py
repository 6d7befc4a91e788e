"""Prompts: a live list of what agents asked and what was injected, and a page for each prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.edges.shared.calls import find_receipt_by_id_prefix
from foreword.edges.view.markup import Markup, el, element_with_user_text, join, part_address
from foreword.edges.view.pieces import (
    facts_list,
    limit_skip_to_last_page,
    nothing_to_show_note,
    page_heading,
    pager,
    shorten_for_page,
    time_element,
)
from foreword.edges.view.receipts import (
    context_as_sent_section,
    full_receipt_markup,
    load_receipt_stories,
    receipt_card,
    times_section,
)
from foreword.engine.receipt_story import outline_receipt
from foreword.errors import UnknownId
from foreword.store.browsing import ListReceiptFacts, ListReceipts

if TYPE_CHECKING:
    from foreword.edges.view.visit import PageBackend, PageVisit

_STEP = 20
_MISSING_TEXT = (
    "It is not kept: it was very long, or something was forgotten since, and then every copy "
    "of what was said goes with it."
)


def render_prompts(visit: PageVisit) -> Markup:
    """The part `prompts`: the newest prompts, and what was injected for each."""
    skip = visit.query_number("skip")
    live = None
    if not skip:
        newest = visit.link("prompts", "newest").replace("/view/", "/page/", 1)
        live = el(
            "span",
            "live",
            class_="live",
            data_live=newest,
            data_seen=_newest_receipt_id(visit),
            role="status",
        )
    return join(
        page_heading("Prompts", "What agents asked, what they were given, and why. Newest first.", live),
        _render_receipt_list(visit, skip),
    )


def render_newest_receipt_id(visit: PageVisit) -> Markup:
    """The id of the newest receipt alone, for a page that waits for the next one."""
    return Markup(_newest_receipt_id(visit))


def _newest_receipt_id(visit: PageVisit) -> str:
    newest = visit.engine.store.run(ListReceiptFacts(visit.workspace, 1))
    return newest[0].id if newest else ""


def _render_receipt_list(visit: PageVisit, skip: int) -> Markup:
    """One page of the receipts, newest first, with a pager."""
    total = visit.engine.count(visit.workspace).receipts
    skip = limit_skip_to_last_page(skip, total, _STEP)
    receipts = visit.engine.store.run(ListReceipts(visit.workspace, skip, _STEP))
    if not receipts:
        return nothing_to_show_note(
            "No prompt was answered here yet. ", el("a", "Try one", href=visit.link("try")), "."
        )
    rows = [
        receipt_card(outline_receipt(receipt), visit.link("prompts", receipt.id), visit.now)
        for receipt in receipts
    ]
    return join(el("ul", *rows, class_="rows"), pager(visit, "prompts", total, skip, _STEP))


def render_receipt_redirect(backend: PageBackend, name: str) -> Markup:
    """A redirect to a receipt whose workspace the address does not name; UnknownId if none has it."""
    for workspace in backend.engine.store.workspaces():
        receipt = backend.engine.explain(workspace, name) if name else None
        if receipt is not None:
            return el("p", "One moment …", data_go=part_address("prompts", receipt.id, w=workspace))
    raise UnknownId(f"no project has a receipt that begins with {name!r}; old ones are let go")


def render_prompt(visit: PageVisit, name: str) -> Markup:
    """One prompt: what was injected and why, how long each stage took, and the exact text."""
    receipt = find_receipt_by_id_prefix(visit.engine, visit.workspace, name)
    (story,) = load_receipt_stories(visit.engine, visit.workspace, [receipt])
    asked = receipt.query.strip() or f"({receipt.recipe}: no question)"
    again = el(
        "a",
        "Try it again",
        class_="button",
        href=visit.link("try", q=shorten_for_page(receipt.query, 1500) or None),
    )
    return join(
        el("nav", el("a", "← Prompts", href=visit.link("prompts")), class_="back", aria_label="Back"),
        page_heading(
            "Prompt", element_with_user_text(shorten_for_page(asked, 1200), class_="question"), again
        ),
        facts_list(
            ("When", time_element(receipt.created_at, visit.now)),
            ("Recipe", receipt.recipe),
            ("Tokens", f"{receipt.tokens:,} of {receipt.budget:,}"),
            ("Time", f"{story.milliseconds:,.0f} ms"),
            ("Session", receipt.session and element_with_user_text(receipt.session)),
            ("Receipt", el("code", receipt.id)),
            across=True,
        ),
        full_receipt_markup(story, lambda item: visit.link("memory", item)),
        context_as_sent_section(receipt.text, missing=_MISSING_TEXT if receipt.injected_entries else ""),
        times_section(story),
    )
