"""Memory: all items, filtered by time, kind, source, trust and session, or searched; and single items."""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, get_args

from foreword.edges.view.markup import Markup, el, element_with_user_text, join
from foreword.edges.view.pieces import (
    facts_list,
    item_actions,
    item_row,
    kind_badge,
    limit_skip_to_last_page,
    nothing_to_show_note,
    page_heading,
    pager,
    section,
    shorten_for_page,
    time_element,
)
from foreword.edges.view.plots import (
    WIDE,
    are_too_many_days_to_plot,
    fill_missing_days_with_zero,
    plot_day_columns,
    relation_graph,
    sum_by_month,
)
from foreword.edges.view.receipts import load_receipt_stories
from foreword.engine.browsing import CONFIRMED, describe_relation_type, displayable_metadata, when_confirmed
from foreword.store.browsing import CountBy
from foreword.text.numbers import number_with_noun
from foreword.text.provenance import attribution
from foreword.types import KINDS, TRUSTS, Filters, Kind, Trust

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foreword.edges.view.visit import PageVisit
    from foreword.engine.browsing import ItemStory
    from foreword.engine.receipt_story import ReceiptStory
    from foreword.types import Item

_STEP = 40
_FIELDS = ("q", "kind", "source", "trust", "session", "since", "until", "state")
_STATES = {"": "all", "holds": "what holds", "replaced": "what was replaced"}
_HOLDS = {"holds": True, "replaced": False}
_MAX_CHOICES = 60
_MAX_TIMELINE_DAYS = 4000


def render_memory(visit: PageVisit) -> Markup:
    """The part `memory`: the items that pass the filters, with a form and a timeline."""
    fields = {name: visit.query.get(name, "").strip() for name in _FIELDS}
    filters, skip = _parse_filters(fields), visit.query_number("skip")
    holds, browser = _HOLDS.get(fields["state"]), visit.browser
    if fields["q"]:
        page = browser.search_items(fields["q"], filters, holds=holds)
    else:
        page = browser.list_items(filters, skip, _STEP, holds=holds)
        if page.total and not page.items:
            skip = limit_skip_to_last_page(skip, page.total, _STEP)
            page = browser.list_items(filters, skip, _STEP, holds=holds)
    shown = page.items[:100]
    rows = [item_row(visit, item, is_replaced=item.id in page.successors) for item in shown]
    found = "best first" if fields["q"] else "newest first"
    query = {name: value or None for name, value in fields.items()}
    return join(
        page_heading("Memory", f"{number_with_noun(page.total, 'item')}, {found}."),
        _render_filter_form(visit, fields),
        None if fields["q"] else _render_timeline(visit, filters, fields),
        el("ul", *rows, class_="rows")
        if rows
        else nothing_to_show_note("Nothing fits. ", el("a", "Show everything", href=visit.link("memory"))),
        None if fields["q"] else pager(visit, "memory", page.total, skip, _STEP, **query),
    )


def _parse_filters(fields: dict[str, str]) -> Filters:
    """The filters that the fields of the form mean; values that are unknown are ignored."""
    kinds = (fields["kind"],) if fields["kind"] in get_args(Kind) else ()
    types = (fields["kind"],) if fields["kind"] and not kinds else ()
    trust: Trust | None = fields["trust"] if fields["trust"] in get_args(Trust) else None  # type: ignore[assignment]
    since, until = _parse_day(fields["since"]), _parse_day(fields["until"])
    return Filters(
        kinds=kinds,
        types=types,
        since=since,
        until=until + timedelta(days=1) - timedelta(microseconds=1) if until else None,
        session=fields["session"] or None,
        source=fields["source"] or None,
        trust=trust,
    )


def _parse_day(text: str) -> datetime | None:
    """The beginning of a day, in UTC; None if the text is not a date."""
    try:
        return datetime.combine(date.fromisoformat(text), time.min, UTC)
    except ValueError:
        return None


def _render_filter_form(visit: PageVisit, fields: dict[str, str]) -> Markup:
    """The form with the search field and the filters."""
    count = visit.engine.store.batch(
        [CountBy(visit.workspace, by, limit=_MAX_CHOICES) for by in ("kind", "type", "source", "session")]
    )
    kinds = [name for name in KINDS if name in count[0]]
    types = [name for name in count[1] if name not in KINDS]
    return el(
        "form",
        el(
            "div",
            el("label", "Search", for_="q", class_="hidden"),
            el(
                "input",
                id="q",
                type="search",
                name="q",
                value=fields["q"],
                placeholder="Search in what was said …",
                dir="auto",
            ),
            el("button", "Show", type="submit"),
            any(fields.values()) and el("a", "Clear", href=visit.link("memory"), class_="clear"),
            class_="find",
        ),
        _select_control("Kind", "kind", fields["kind"], [*kinds, *types]),
        _select_control("Source", "source", fields["source"], count[2]),
        _select_control("Trust", "trust", fields["trust"], TRUSTS),
        _select_control("Session", "session", fields["session"], count[3]),
        el(
            "div",
            el("label", "State", for_="state"),
            el(
                "select",
                *(
                    el("option", label, value=value, selected=value == fields["state"])
                    for value, label in _STATES.items()
                ),
                id="state",
                name="state",
            ),
            class_="knob",
        ),
        _day_field("Since", "since", fields["since"]),
        _day_field("Until", "until", fields["until"]),
        role="search",
        class_="filters many",
        data_get=visit.link("memory"),
    )


def _select_control(label: str, name: str, chosen: str, values: Iterable[str]) -> Markup:
    known = dict.fromkeys([*values, *([chosen] if chosen else [])])
    options = [
        el("option", shorten_for_page(value, 48), value=value, selected=value == chosen) for value in known
    ]
    control = el("select", el("option", "all", value=""), *options, id=f"f-{name}", name=name)
    return el("div", el("label", label, for_=f"f-{name}"), control, class_="knob")


def _day_field(label: str, name: str, value: str) -> Markup:
    day = value if _parse_day(value) else None
    control = el("input", type="date", id=f"f-{name}", name=name, value=day)
    return el("div", el("label", label, for_=f"f-{name}"), control, class_="knob")


def _render_timeline(visit: PageVisit, filters: Filters, fields: dict[str, str]) -> Markup | None:
    """The number of items of each day as columns, each with a link to its day; None for a single day.

    Where that would be too many columns, there is one for each month.
    """
    counts = visit.engine.store.run(CountBy(visit.workspace, "day", filters, limit=_MAX_TIMELINE_DAYS))
    by_month = are_too_many_days_to_plot(counts)
    columns = sum_by_month(counts) if by_month else fill_missing_days_with_zero(counts)
    if len(columns) < 2:
        return None
    others = {name: value or None for name, value in fields.items() if name not in ("since", "until")}
    links = {
        first: visit.link(
            "memory",
            **others,
            since=first.isoformat(),
            until=(_last_day_of_month(first) if by_month else first).isoformat(),
        )
        for first, _ in columns
    }
    picture = plot_day_columns(columns, "items", links, WIDE, by_month=by_month)
    return el("div", picture, class_="timeline", role="group", aria_label="Timeline")


def _last_day_of_month(day: date) -> date:
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


# One item --------------------------------------------------------------------------------------------------


def render_item(visit: PageVisit, name: str) -> Markup:
    """One item: its text, its source, its history, its relations, and when it was shown."""
    item = visit.browser.find_item(name)
    story = visit.browser.gather_story(item)
    return join(
        el("nav", el("a", "← Memory", href=visit.link("memory")), class_="back", aria_label="Back"),
        page_heading(item.label.replace("_", " ").capitalize()),
        _replaced_notice(visit, story),
        element_with_user_text(item.text, "pre" if item.kind == "code" else "blockquote", class_="whole"),
        item_actions(visit, item, edit=("edit", "Edit")),
        _item_facts_section(visit, story),
        _history_section(visit, story),
        _relations_section(visit, story),
        _receipts_section(visit, story),
    )


def _replaced_notice(visit: PageVisit, story: ItemStory) -> Markup | None:
    """A notice that links to what holds now, if the item was replaced."""
    if not story.after:
        return None
    now = story.after[-1]
    return el(
        "p",
        "This holds no longer. What holds now: ",
        element_with_user_text(shorten_for_page(now.text, 200), "a", href=visit.link("memory", now.id)),
        class_="notice",
    )


def _item_facts_section(visit: PageVisit, story: ItemStory) -> Markup:
    """The facts of an item: kind, time, author, source, session and metadata."""
    item = story.item
    session = item.session and el(
        "a", item.session, href=visit.link("memory", session=item.session), dir="auto"
    )
    shown = time_element(story.last_shown, visit.now) if story.last_shown else "never, as far as is known"
    confirmed = when_confirmed(item)
    other = {key: value for key, value in displayable_metadata(item).items() if key != CONFIRMED}
    return section(
        "Where it comes from",
        facts_list(
            ("Kind", kind_badge(item)),
            ("Said", time_element(item.created_at, visit.now)),
            ("By", element_with_user_text(attribution(item) or item.source.name)),
            ("Source", join(element_with_user_text(item.source.name), f" (trusted as {item.source.trust})")),
            ("About", item.about and element_with_user_text(item.about)),
            ("Session", session),
            ("Last shown", shown),
            ("Sure", f"{item.confidence:.0%}"),
            ("Matters", f"{item.importance:.0%}"),
            ("Confirmed", time_element(confirmed, visit.now) if confirmed else None),
            ("Length", f"{item.tokens:,} tokens"),
            ("Id", el("code", item.id)),
            *(
                (key, element_with_user_text(shorten_for_page(str(value), 200)))
                for key, value in other.items()
            ),
        ),
    )


def _history_section(visit: PageVisit, story: ItemStory) -> Markup | None:
    """The versions of an item, newest first, with the current one marked; None if there is one only."""
    versions = [*reversed(story.after), story.item, *story.before]
    if len(versions) == 1:
        return None
    rows = [
        el(
            "li",
            el("div", time_element(one.created_at, visit.now), class_="meta"),
            element_with_user_text(
                shorten_for_page(one.text),
                "a",
                href=visit.link("memory", one.id),
                class_="said",
                aria_current="true" if one.id == story.item.id else None,
            ),
            class_="version now" if at == 0 else "version",
        )
        for at, one in enumerate(versions)
    ]
    return section("History", el("ol", *rows, class_="versions"), count=len(versions))


def _relations_section(visit: PageVisit, story: ItemStory) -> Markup | None:
    """The relations of an item as a graph and as a list; None if it has none."""
    if not story.related:
        return None
    spokes = [
        (
            describe_relation_type(one.relationship).replace("_", " "),
            one.memory.text,
            visit.link("memory", one.memory.id),
            one.relationship.from_id == story.item.id,
        )
        for one in story.related
    ]
    listed = [
        el(
            "li",
            f"{relation} {'→' if goes_out else '←'} ",
            element_with_user_text(shorten_for_page(text, 160), "a", href=href),
        )
        for relation, text, href, goes_out in spokes
    ]
    return section(
        "Relations",
        relation_graph(story.item.text, spokes[:10]),
        el("details", el("summary", "As a list"), el("ul", *listed), class_="more"),
        count=len(spokes),
    )


def _receipts_section(visit: PageVisit, story: ItemStory) -> Markup | None:
    """The prompts for which the item was considered last, with the decision on it."""
    if not story.receipts:
        return None
    rows = [
        el(
            "li",
            el(
                "div",
                time_element(receipt.receipt.created_at, visit.now),
                el("span", _decision_about_item(story.item, receipt), class_="soft"),
                class_="meta",
            ),
            element_with_user_text(
                shorten_for_page(receipt.receipt.query or f"({receipt.receipt.recipe})", 160),
                "a",
                href=visit.link("prompts", receipt.receipt.id),
                class_="said",
            ),
            class_="row",
        )
        for receipt in load_receipt_stories(visit.engine, visit.workspace, story.receipts)
        if any(entry.item_id == story.item.id for entry in receipt.receipt.entries)
    ]
    return section("Last considered for", el("ul", *rows, class_="rows"))


def _decision_about_item(item: Item, receipt: ReceiptStory) -> str:
    """The sentence in which a receipt says why the item was injected or not."""
    found = next(one for one in (*receipt.said, *receipt.left_out) if one.entry.item_id == item.id)
    return f"said: {found.sentence}" if found.was_injected else found.sentence
