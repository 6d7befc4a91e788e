"""What the page can do: correct, edit, confirm, close, forget, pause and resume; and what came of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.capture.pauses import begin_pause, end_pauses
from foreword.edges.view.markup import Markup, el, join, words_of
from foreword.edges.view.pieces import act_form, item_row
from foreword.errors import UnknownId, ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from foreword.edges.view.visit import Visit

_MAX_IDS = 100
_MAX_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an act: a line for the reader, where to go next, or what to show in a dialog's place."""

    message: str
    go: str = ""
    html: Markup = Markup("")


def _correct(visit: Visit) -> Outcome:
    visit.ledger.correct(visit.text("id"), visit.text("text"))
    return Outcome("Kept. What it replaced stays in its history.")


def _edit(visit: Visit) -> Outcome:
    new = visit.browser.edit(visit.browser.find_item(visit.text("id")), visit.text("text"))
    return Outcome("Kept as a new version.", go=visit.link("memory", new.id))


def _confirm(visit: Visit) -> Outcome:
    visit.browser.confirm(visit.browser.find_item(visit.text("id")))
    return Outcome("Confirmed.")


def _close(visit: Visit) -> Outcome:
    visit.ledger.close(visit.text("id"))
    return Outcome("Off the list. It stays remembered.")


def _pause(visit: Visit) -> Outcome:
    now, seconds = time.time(), visit.text("seconds")
    until = now + int(seconds) if seconds.isascii() and seconds.isdigit() and len(seconds) < 9 else None
    begin_pause(visit.house.home, now, until, _workspace_to_switch(visit))
    return Outcome(
        "Paused." if visit.text("where") == "everywhere" else "Nothing of this project is kept now."
    )


def _resume(visit: Visit) -> Outcome:
    end_pauses(visit.house.home, time.time(), _workspace_to_switch(visit))
    return Outcome("No longer paused.")


def _workspace_to_switch(visit: Visit) -> str:
    """The workspace that a switch is for; empty for all of them."""
    return "" if visit.text("where") == "everywhere" else visit.workspace


def edit_form(visit: Visit) -> Markup:
    """A place to say what holds instead; what it replaces stays in its history."""
    item = visit.browser.find_item(visit.query.get("id", ""))
    act = "edit" if visit.query.get("act") == "edit" else "correct"
    return join(
        el("h2", "What holds instead?"),
        act_form(
            visit,
            act,
            el("label", "The new words", for_="new-words"),
            words_of(
                item.text, "textarea", id="new-words", name="text", rows="5", required=True, autofocus=True
            ),
            el("p", "The old ones stay in its history, and are said no more.", class_="soft"),
            el("button", "Cancel", type="button", data_close=True, class_="quiet"),
            el("button", "Keep as what holds now", type="submit"),
            id=item.id,
        ),
    )


# Forgetting ------------------------------------------------------------------------------------------------


def _read_ids(text: str) -> tuple[str, ...]:
    ids = tuple(dict.fromkeys(filter(None, text.split(","))))
    if not 0 < len(ids) <= _MAX_IDS:
        raise ValidationError(f"name between 1 and {_MAX_IDS} items to forget")
    return ids


def preview_forget(visit: Visit) -> Markup:
    """What would go if some items were forgotten, and the button that does it."""
    ids = _read_ids(visit.query.get("ids", ""))
    preview = visit.browser.preview_forget(*ids)
    if not preview.items:
        raise UnknownId("it is gone already")
    named = {item.id for item in preview.items if item.id in ids}
    made = [item for item in preview.items if item.id not in named]
    return join(
        el("h2", "Forget this for good?"),
        el("ul", *(item_row(visit, item) for item in preview.items[:_MAX_SHOWN]), class_="rows"),
        len(preview.items) > _MAX_SHOWN and el("p", f"and {len(preview.items) - _MAX_SHOWN:,} more"),
        el(
            "p",
            f"With it go {len(made):,} made from it, {preview.relations:,} relations, "
            f"{preview.receipts:,} receipts that repeat it, its vectors, its words in every index, "
            "the backups, and the copies of what was said.",
            class_="soft",
        ),
        act_form(
            visit,
            "forget",
            el("button", "Keep it", type="button", data_close=True, class_="quiet"),
            el("button", "Forget", type="submit", class_="danger"),
            ids=",".join(ids),
        ),
    )


def _forget(visit: Visit) -> Outcome:
    ids = _read_ids(visit.text("ids"))
    proof = visit.browser.forget(*ids)
    count = len(proof.removed)
    what = f"{count:,} item{'' if count == 1 else 's'} forgotten"
    if proof.is_clean:
        checked = el("p", "Checked: rows, indexes and vectors hold nothing of it.", class_="proof")
    else:
        checked = el("ul", *(el("li", line) for line in proof.left), class_="notice")
    gone = el("ul", *(el("li", el("code", name)) for name in proof.removed[:_MAX_SHOWN]), class_="notes")
    done = el("button", "Done", type="button", data_close="again")
    return Outcome(f"{what}.", html=join(el("h2", f"{what}."), gone, checked, done))


ACTS: dict[str, Callable[[Visit], Outcome]] = {
    "correct": _correct,
    "edit": _edit,
    "confirm": _confirm,
    "close": _close,
    "pause": _pause,
    "resume": _resume,
    "forget": _forget,
}
"""What each act is called in its address."""
