"""HTML that several parts of the page share: dates, badges, rows, pagers, and buttons for an item."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from foreword.edges.view.markup import Child, Markup, el, element_with_user_text
from foreword.text.provenance import attribution

if TYPE_CHECKING:
    from datetime import datetime

    from foreword.edges.view.visit import PageVisit
    from foreword.types import Item

_MAX_SHOWN_CHARACTERS = 320
_DAY_SECONDS = 86_400


def page_heading(title: str, lead: Child = None, *actions: Child) -> Markup:
    """The head of a part: its title, an introduction, and its actions."""
    return el(
        "header",
        el("div", el("h1", title, tabindex="-1"), lead and el("p", lead, class_="lead")),
        actions and el("div", *actions, class_="actions"),
        class_="head",
    )


def section(title: str, *children: Child, count: int | None = None, name: str = "") -> Markup:
    """A section with a title, and the number of things in it."""
    badge = None if count is None else el("span", f"{count:,}", class_="count")
    label = f"s-{name or title.lower().replace(' ', '-')}"
    return el("section", el("h2", title, " ", badge, id=label), *children, aria_labelledby=label)


def nothing_to_show_note(*children: Child) -> Markup:
    """A paragraph for where there is nothing to show: why, and what to do."""
    return el("p", *children, class_="nothing")


def time_element(moment: datetime, now: datetime) -> Markup:
    """A moment in few characters, such as "5 min ago"; the full date is its tooltip."""
    local = moment.astimezone()
    age = (now - local).total_seconds()
    if 0 <= age < 60:
        short = "just now"
    elif 0 <= age < 3_600:
        short = f"{age // 60:.0f} min ago"
    elif local.date() == now.date():
        short = f"{local:%H:%M}"
    elif 0 <= age < 6 * _DAY_SECONDS:
        short = f"{local:%a %H:%M}"
    else:
        short = f"{local.day} {local:%b}" if local.year == now.year else f"{local.day} {local:%b %Y}"
    return el(
        "time", short, datetime=local.isoformat(timespec="seconds"), title=f"{local:%A, %d %B %Y, %H:%M}"
    )


def kind_badge(item: Item) -> Markup:
    """A badge with the label of an item, or its kind."""
    return el("span", item.label, class_=f"kind k-{item.kind}")


def shorten_for_page(text: str, most: int = _MAX_SHOWN_CHARACTERS) -> str:
    """The text; if it is long, cut between words."""
    if len(text) <= most:
        return text
    return text[:most].rsplit(" ", 1)[0].rstrip(" ,.;:") + " …"


def item_text_link(
    visit: PageVisit, item: Item, text: str = "", *, most: int = _MAX_SHOWN_CHARACTERS
) -> Markup:
    """The text of an item, as a link to its page."""
    said = shorten_for_page(text or item.text, most)
    return element_with_user_text(said, "a", href=visit.link("memory", item.id), class_="said")


def item_origin(visit: PageVisit, item: Item) -> Markup:
    """When an item was said, by whom, and in which session."""
    where = item.session and el(
        "a", shorten_for_page(item.session, 40), href=visit.link("memory", session=item.session), dir="auto"
    )
    said_by = attribution(item) or item.source.name
    parts: list[Child] = [time_element(item.created_at, visit.now), element_with_user_text(said_by), where]
    if item.about and item.kind in ("document", "code"):
        parts.append(element_with_user_text(shorten_for_page(item.about, 60)))
    dotted = [child for part in parts if part for child in (" · ", part)][1:]
    return el("span", *dotted, class_="origin")


def item_row(visit: PageVisit, item: Item, *, is_replaced: bool) -> Markup:
    """An item as a row of a list."""
    replaced = is_replaced and el("span", "replaced", class_="flag old")
    return el(
        "li",
        el("div", kind_badge(item), replaced, item_origin(visit, item), class_="meta"),
        item_text_link(visit, item),
        class_="row gone" if is_replaced else "row",
        data_row=True,
    )


def limit_skip_to_last_page(skip: int, total: int, step: int) -> int:
    """How many to skip: no more than leave a last page, since lists grow shorter while somebody reads."""
    return min(skip, max(0, total - 1) // step * step)


def pager(
    visit: PageVisit, part: str, total: int, skip: int, step: int, **query: str | None
) -> Markup | None:
    """Links to the pages before and after; None if all fits on one page."""
    if total <= step:
        return None
    first, last = skip + 1, min(total, skip + step)
    before = visit.link(part, skip=max(0, skip - step) or None, **query) if skip else None
    after = visit.link(part, skip=skip + step, **query) if last < total else None
    return el(
        "nav",
        el("a", "← Newer", href=before, rel="prev", data_key="p")
        if before
        else el("span", "← Newer", aria_disabled="true"),
        el("span", f"{first:,}–{last:,} of {total:,}", class_="place"),
        el("a", "Older →", href=after, rel="next", data_key="n")
        if after
        else el("span", "Older →", aria_disabled="true"),
        aria_label="Pages",
        class_="pager",
    )


# What can be done ------------------------------------------------------------------------------------------


def act_form(visit: PageVisit, act: str, *children: Child, **fields: str) -> Markup:
    """A form that asks the service for an action in this workspace."""
    hidden = [el("input", type="hidden", name=name, value=value) for name, value in fields.items()]
    return el("form", *hidden, *children, data_post=f"/page/do/{act}", data_w=visit.workspace, class_="act")


def act_button(visit: PageVisit, act: str, label: str, *, hint: str = "", **fields: str) -> Markup:
    """A button that performs an action at once."""
    return act_form(
        visit, act, el("button", label, type="submit", class_="quiet", title=hint or None), **fields
    )


def edit_button(visit: PageVisit, item: Item, act: str, label: str) -> Markup:
    """A button that opens the form for new words of an item."""
    where = visit.link("edit", id=item.id, act=act).replace("/view/", "/page/", 1)
    return el("button", label, type="button", class_="quiet", data_dialog=where)


def forget_button(visit: PageVisit, *ids: str) -> Markup:
    """A button that opens the preview of what would be forgotten."""
    return el(
        "button",
        "Forget…",
        type="button",
        class_="quiet danger",
        data_dialog=visit.link("forget", ids=",".join(ids)).replace("/view/", "/page/", 1),
    )


def item_actions(
    visit: PageVisit, item: Item, *, close: str = "", edit: tuple[str, str] = ("correct", "Correct")
) -> Markup:
    """The buttons for everything that can be done to an item; `edit` is the action and its label."""
    hint = "Takes it off this list; it stays remembered"
    return el(
        "div",
        edit_button(visit, item, *edit) if item.superseded_by is None else None,
        close and act_button(visit, "close", close, hint=hint, id=item.id),
        act_button(visit, "confirm", "Confirm", hint="Say that it is right", id=item.id),
        forget_button(visit, item.id),
        class_="does",
        role="group",
        aria_label=f"Change “{shorten_for_page(item.text, 60)}”",
    )


def facts_list(*pairs: tuple[str, Child], across: bool = False) -> Markup:
    """Names and values in two columns, or across the page; a pair without a value is left out."""
    shown = [
        el("div", el("dt", name), el("dd", value)) for name, value in pairs if value not in (None, "", ())
    ]
    return el("dl", *shown, class_="facts across" if across else "facts")


@cache
def read_static(name: str) -> str:
    """The text of a static file: the shell, its script, style or icon."""
    return resources.files("foreword.edges.view").joinpath("static", name).read_text(encoding="utf-8")
