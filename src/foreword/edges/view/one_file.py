"""A receipt as one HTML file that needs nothing else: no script, the style inside, nothing to load."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from foreword.edges.view.application import read_static
from foreword.edges.view.markup import Markup, el, written_text
from foreword.edges.view.pieces import facts_list, page_heading
from foreword.edges.view.receipts import exact_text_section, receipt_picture, times_section

if TYPE_CHECKING:
    from foreword.edges.shared.receipt_story import ReceiptStory


def receipt_page(story: ReceiptStory) -> str:
    """The HTML file of a receipt."""
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
        page_heading("What was said, and why", written_text(asked, class_="question")),
        facts_list(
            ("When", f"{receipt.created_at.astimezone():%d %B %Y, %H:%M:%S %Z}"),
            ("Recipe", receipt.recipe),
            ("Tokens", f"{receipt.tokens:,} of {receipt.budget:,}"),
            ("Time", f"{story.milliseconds:,.0f} ms"),
            ("Receipt", el("code", receipt.id)),
            across=True,
        ),
        receipt_picture(story, lambda _item: None),
        exact_text_section(receipt.text, missing="The text is not kept.") if receipt.injected else None,
        times_section(story),
    )
    return f"<!doctype html>\n{el('html', head, el('body', main), lang='en')}\n"
