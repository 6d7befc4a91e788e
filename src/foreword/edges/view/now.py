"""Now: open ends, decisions that hold with what they replaced, and facts; they can be changed in place."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from foreword.edges.view.markup import Child, Markup, el, element_with_user_text, join
from foreword.edges.view.pieces import (
    item_actions,
    item_origin,
    item_text_link,
    limit_skip_to_last_page,
    nothing_to_show_note,
    page_heading,
    pager,
    section,
    shorten_for_page,
    time_element,
)
from foreword.engine.browsing import when_confirmed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.edges.view.visit import PageVisit
    from foreword.knowledge.decisions import Decision
    from foreword.knowledge.facts import Fact
    from foreword.types import Item

_STEP, _FEW = 40, 8
_TITLES = {"decision": "Decided", "rule": "Rules", "preference": "Preferences"}
_SORTS = ("open", *_TITLES, "known")


def render_now(visit: PageVisit) -> Markup:
    """The part `now`: a few lines of each sort, or all lines of one sort."""
    words, only = visit.query.get("q", "").strip(), visit.query.get("only", "")
    chosen = [only] if only in _SORTS else [*_SORTS]
    makers: dict[str, Callable[[PageVisit, str], Markup | None]] = {
        "open": _open_ends_section,
        **dict.fromkeys(_TITLES, _decision_sections),
        "known": _known_facts_section,
    }
    distinct = dict.fromkeys(makers[name] for name in chosen)
    back = el("nav", el("a", "← Now", href=visit.link("now")), class_="back", aria_label="Back")
    return join(
        back if len(chosen) == 1 else None,
        page_heading("Now", "What is open, what was decided and still holds, and what it replaced."),
        _search_form(visit, words),
        [make(visit, words) for make in distinct],
    )


def _search_form(visit: PageVisit, words: str) -> Markup:
    return el(
        "form",
        el("label", "Only what is about", for_="about", class_="hidden"),
        el(
            "input",
            id="about",
            type="search",
            name="q",
            value=words,
            placeholder="Only what is about …",
            dir="auto",
        ),
        el("button", "Show", type="submit"),
        role="search",
        class_="filters",
        data_get=visit.link("now"),
    )


def _do_texts_contain_words(words: str, *texts: str) -> bool:
    """Whether the texts together have all of the words, ignoring case."""
    folded = " ".join(texts).casefold()
    return all(word in folded for word in words.casefold().split())


def _open_ends_section(visit: PageVisit, words: str) -> Markup:
    """The open ends that have the words, each with a button to close it."""
    ends = [end for end in visit.ledger.list_open_ends() if _do_texts_contain_words(words, end.text)]
    make = [
        functools.partial(
            _ledger_line, visit, end.item, end.text, close="Close", flag="some day" if end.is_someday else ""
        )
        for end in ends
    ]
    return _section_with_pages(visit, "open", "Open", make, nothing_to_show_note("Nothing is open."))


def _decision_sections(visit: PageVisit, words: str) -> Markup:
    """Decisions, rules and preferences that have the words, each sort in a section."""
    found = [
        one
        for one in visit.ledger.list_decisions()
        if _do_texts_contain_words(words, one.text, *(item.text for item in one.before))
    ]
    only = visit.query.get("only", "")
    kinds = (
        [only] if only in _TITLES else [kind for kind in _TITLES if any(one.kind == kind for one in found)]
    )
    remember = el("code", 'foreword decisions --add "…"')
    empty = nothing_to_show_note("Nothing was decided yet. Agents' talk is read, or say it: ", remember)
    return join(
        _section_with_pages(
            visit,
            kind,
            _TITLES[kind],
            [functools.partial(_decision_line, visit, one) for one in found if one.kind == kind],
            empty,
        )
        for kind in kinds or ["decision"]
    )


def _decision_line(visit: PageVisit, one: Decision) -> Markup:
    """One decision with its history and its buttons."""
    return _ledger_line(visit, one.item, one.text, one.before, one.beside, "Holds no longer")


def _known_facts_section(visit: PageVisit, words: str) -> Markup:
    """The facts about the user, or about the person or thing that the address names."""
    who = visit.query.get("who", "").strip() or "me"
    found = [one for one in visit.ledger.list_facts(who) if _do_texts_contain_words(words, one.text)]
    form = el(
        "form",
        el("label", "What is known of", for_="who"),
        el("input", id="who", name="who", value=who, required=True, dir="auto"),
        el("input", type="hidden", name="only", value="known"),
        el("button", "Show", type="submit"),
        class_="filters",
        data_get=visit.link("now"),
    )
    empty = nothing_to_show_note("Nothing is known of ", element_with_user_text(who), " yet.")
    make = [functools.partial(_fact_line, visit, one) for one in found]
    return _section_with_pages(visit, "known", "Known", make, empty, form, who=who)


def _fact_line(visit: PageVisit, one: Fact) -> Markup:
    """One fact with its history and its buttons."""
    text = f"{one.attribute}: {one.value}" if one.attribute else one.text
    return _ledger_line(visit, one.item, text, one.before, one.beside, "Holds no longer")


def _section_with_pages(
    visit: PageVisit,
    only: str,
    title: str,
    make: Sequence[Callable[[], Markup]],
    empty: Markup,
    form: Markup | None = None,
    **query: str,
) -> Markup:
    """Some lines of one sort, with a link to all of them, or a pager if it is the only sort."""
    total, is_alone = len(make), visit.query.get("only") == only
    skip, step = (
        (limit_skip_to_last_page(visit.query_number("skip"), total, _STEP), _STEP) if is_alone else (0, _FEW)
    )
    rows = [line() for line in make[skip : skip + step]]
    words = visit.query.get("q") or None
    if words:
        empty = nothing_to_show_note("Nothing here is about that.")
    if is_alone:
        rest = pager(visit, "now", total, skip, step, only=only, q=words, **query)
    else:
        more = visit.link("now", only=only, q=words, **query)
        rest = el("p", el("a", f"All {total:,}", href=more), class_="all") if total > step else None
    return section(title, form, el("ul", *rows, class_="rows") if rows else empty, rest, count=total)


def _ledger_line(
    visit: PageVisit,
    item: Item,
    text: str,
    before: Sequence[Item] = (),
    beside: Sequence[Item] = (),
    close: str = "",
    flag: str = "",
) -> Markup:
    """One line: its text, what it replaced, what contradicts it, and its buttons."""
    history: list[Child] = [
        _replaced_or_contradicting_item_line(visit, one, "before", "old") for one in before
    ]
    history += [
        _replaced_or_contradicting_item_line(visit, one, f"but {one.source.name} says", "against")
        for one in beside
    ]
    return el(
        "li",
        item_text_link(visit, item, text),
        history and el("ul", *history, class_="history"),
        el(
            "div",
            el(
                "div",
                flag and el("span", flag, class_="flag"),
                el("span", "confirmed", class_="flag on") if when_confirmed(item) else None,
                item_origin(visit, item),
                class_="meta",
            ),
            item_actions(visit, item, close=close),
            class_="foot",
        ),
        class_="row line",
        data_row=True,
    )


def _replaced_or_contradicting_item_line(visit: PageVisit, item: Item, label: str, name: str) -> Markup:
    """An item that a line replaced, or that contradicts it, with a label and a date."""
    said = element_with_user_text(
        shorten_for_page(item.text, 220), "a", href=visit.link("memory", item.id), class_="said"
    )
    return el(
        "li",
        el("span", f"{label}, ", time_element(item.created_at, visit.now), ": ", class_="soft"),
        said,
        class_=name,
    )
