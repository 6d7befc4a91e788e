"""The actions of the page: correct, edit, confirm, close, forget, pause and resume; and their outcomes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.capture.pauses import begin_pause, end_pauses
from foreword.edges.view.markup import Markup, el, element_with_user_text, join
from foreword.edges.view.pieces import act_form, item_row
from foreword.engine.browsing import describe_what_else_is_removed
from foreword.errors import UnknownId, ValidationError
from foreword.text.numbers import number_with_noun

if TYPE_CHECKING:
    from collections.abc import Callable

    from foreword.edges.view.visit import PageVisit

_MAX_IDS = 100
_MAX_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an action: a message, an address to go to next, or HTML to show in the dialog."""

    message: str
    go: str = ""
    html: Markup = Markup("")


def _correct_item(visit: PageVisit) -> Outcome:
    """Store a new statement in the place of an item of the ledger."""
    visit.ledger.correct(visit.text_field_from_body("id"), visit.text_field_from_body("text"))
    return Outcome("Kept. What it replaced stays in its history.")


def _edit_item(visit: PageVisit) -> Outcome:
    """Store a new version of an item, and go to it."""
    new = visit.browser.edit(
        visit.browser.find_item(visit.text_field_from_body("id")), visit.text_field_from_body("text")
    )
    return Outcome("Kept as a new version.", go=visit.link("memory", new.id))


def _confirm_item(visit: PageVisit) -> Outcome:
    """Mark an item as confirmed by the user."""
    visit.browser.confirm(visit.browser.find_item(visit.text_field_from_body("id")))
    return Outcome("Confirmed.")


def _close_item(visit: PageVisit) -> Outcome:
    """Take an item off the ledger's lists."""
    visit.ledger.close(visit.text_field_from_body("id"))
    return Outcome("Off the list. It stays remembered.")


def _begin_pause(visit: PageVisit) -> Outcome:
    """Pause for the seconds that the form names, or until resumed, here or everywhere."""
    now, seconds = time.time(), visit.text_field_from_body("seconds")
    until = now + int(seconds) if seconds.isascii() and seconds.isdigit() and len(seconds) < 9 else None
    begin_pause(visit.backend.home, now, until, _workspace_to_pause(visit))
    return Outcome(
        "Paused."
        if visit.text_field_from_body("where") == "everywhere"
        else "Nothing of this project is kept now."
    )


def _end_pause(visit: PageVisit) -> Outcome:
    """End the pause of this workspace, or the one everywhere."""
    end_pauses(visit.backend.home, time.time(), _workspace_to_pause(visit))
    return Outcome("No longer paused.")


def _workspace_to_pause(visit: PageVisit) -> str:
    """The workspace that a pause is for; empty for all of them."""
    return "" if visit.text_field_from_body("where") == "everywhere" else visit.workspace


def render_edit_form(visit: PageVisit) -> Markup:
    """A form for the words that replace those of an item; the old ones stay in its history."""
    item = visit.browser.find_item(visit.query.get("id", ""))
    act = "edit" if visit.query.get("act") == "edit" else "correct"
    return join(
        el("h2", "What holds instead?"),
        act_form(
            visit,
            act,
            el("label", "The new words", for_="new-words"),
            element_with_user_text(
                item.text, "textarea", id="new-words", name="text", rows="5", required=True, autofocus=True
            ),
            el("p", "The old ones stay in its history, and are said no more.", class_="soft"),
            el("button", "Cancel", type="button", data_close=True, class_="quiet"),
            el("button", "Keep as what holds now", type="submit"),
            id=item.id,
        ),
    )


# Forgetting ------------------------------------------------------------------------------------------------


def _parse_ids(text: str) -> tuple[str, ...]:
    """The ids in a comma-separated list; raises ValidationError if there are none or too many."""
    ids = tuple(dict.fromkeys(filter(None, text.split(","))))
    if not 0 < len(ids) <= _MAX_IDS:
        raise ValidationError(f"name between 1 and {_MAX_IDS} items to forget")
    return ids


def render_forget_preview(visit: PageVisit) -> Markup:
    """A list of what would be removed if some items were forgotten, and the button that does it."""
    ids = _parse_ids(visit.query.get("ids", ""))
    preview = visit.browser.preview_forget(*ids)
    if not preview.items:
        raise UnknownId("it is gone already")
    shown = preview.items[:_MAX_SHOWN]
    successors = visit.browser.find_successor_ids(shown)
    rows = [item_row(visit, item, is_replaced=item.id in successors) for item in shown]
    along = [*describe_what_else_is_removed(preview, ids), "its vectors, its words in every index"]
    return join(
        el("h2", "Forget this for good?"),
        el("ul", *rows, class_="rows"),
        len(preview.items) > _MAX_SHOWN and el("p", f"and {len(preview.items) - _MAX_SHOWN:,} more"),
        el(
            "p",
            f"With it go {', '.join(along)}, the backups, and the copies of what was said.",
            class_="soft",
        ),
        act_form(
            visit,
            "forget",
            el("button", "Keep it", type="button", data_close=True, class_="quiet", autofocus=True),
            el("button", "Forget", type="submit", class_="danger"),
            ids=",".join(ids),
        ),
    )


def _forget_items(visit: PageVisit) -> Outcome:
    """Forget items, and show whether the check found anything left of them."""
    ids = _parse_ids(visit.text_field_from_body("ids"))
    proof = visit.browser.forget(*ids)
    count = len(proof.removed)
    what = f"{number_with_noun(count, 'item')} forgotten"
    if proof.is_nothing_left:
        checked = el("p", "Checked: rows, indexes and vectors hold nothing of it.", class_="proof")
    else:
        checked = el("ul", *(el("li", line) for line in proof.left), class_="notice")
    gone = el("ul", *(el("li", el("code", name)) for name in proof.removed[:_MAX_SHOWN]), class_="notes")
    done = el("button", "Done", type="button", data_close=True)
    return Outcome(f"{what}.", html=join(el("h2", f"{what}."), gone, checked, done))


ACTS: dict[str, Callable[[PageVisit], Outcome]] = {
    "correct": _correct_item,
    "edit": _edit_item,
    "confirm": _confirm_item,
    "close": _close_item,
    "pause": _begin_pause,
    "resume": _end_pause,
    "forget": _forget_items,
}
"""The actions by the name that their address has."""
