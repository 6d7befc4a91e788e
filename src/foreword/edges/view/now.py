"""Now: what is open, what was decided and holds, what it replaced, what is known; to be changed in place."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from foreword.edges.view.markup import Child, Markup, el, join, words_of
from foreword.edges.view.pieces import (
    date,
    heading,
    item_actions,
    item_text,
    nothing,
    origin,
    pager,
    section,
    shorten,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.edges.view.visit import Visit
    from foreword.knowledge.decisions import Decision
    from foreword.knowledge.facts import Fact
    from foreword.types import Item

_STEP, _FEW = 40, 8
_TITLES = {"decision": "Decided", "rule": "Rules", "preference": "Preferences"}
_ONLY = ("open", *_TITLES, "known")


def show_now(visit: Visit) -> Markup:
    """What holds in a workspace: a few lines of each sort, or all of one sort."""
    words, only = visit.query.get("q", "").strip(), visit.query.get("only", "")
    chosen = [only] if only in _ONLY else [*_ONLY]
    makers: dict[str, Callable[[Visit, str], Markup | None]] = {
        "open": _open_ends,
        **dict.fromkeys(_TITLES, _decisions),
        "known": _facts,
    }
    distinct = dict.fromkeys(makers[name] for name in chosen)
    back = el("nav", el("a", "← Now", href=visit.link("now")), class_="back", aria_label="Back")
    return join(
        back if len(chosen) == 1 else None,
        heading("Now", "What is open, what was decided and still holds, and what it replaced."),
        _search_form(visit, words),
        [make(visit, words) for make in distinct],
    )


def _search_form(visit: Visit, words: str) -> Markup:
    return el(
        "form",
        el("label", "Only what is about", for_="about", class_="hidden"),
        el("input", id="about", type="search", name="q", value=words, placeholder="Only what is about …"),
        el("button", "Show", type="submit"),
        role="search",
        class_="filters",
        data_get=visit.link("now"),
    )


def _matches(words: str, *texts: str) -> bool:
    folded = " ".join(texts).casefold()
    return all(word in folded for word in words.casefold().split())


def _open_ends(visit: Visit, words: str) -> Markup:
    ends = [end for end in visit.ledger.list_open_ends() if _matches(words, end.text)]
    make = [
        functools.partial(
            _line, visit, end.item, end.text, close="Close", flag="some day" if end.is_someday else ""
        )
        for end in ends
    ]
    return _section(visit, "open", "Open", make, nothing("Nothing is open."))


def _decisions(visit: Visit, words: str) -> Markup:
    """What was decided, each sort under its own title."""
    found = [
        one
        for one in visit.ledger.list_decisions()
        if _matches(words, one.text, *(item.text for item in one.before))
    ]
    only = visit.query.get("only", "")
    kinds = (
        [only] if only in _TITLES else [kind for kind in _TITLES if any(one.kind == kind for one in found)]
    )
    remember = el("code", 'foreword decisions --add "…"')
    empty = nothing("Nothing was decided yet. Agents' talk is read, or say it: ", remember)
    return join(
        _section(
            visit,
            kind,
            _TITLES[kind],
            [functools.partial(_decision, visit, one) for one in found if one.kind == kind],
            empty,
        )
        for kind in kinds or ["decision"]
    )


def _decision(visit: Visit, one: Decision) -> Markup:
    return _line(visit, one.item, one.text, one.before, one.beside, "Holds no longer")


def _facts(visit: Visit, words: str) -> Markup:
    """What is known of somebody: of the user, or of whom the address names."""
    who = visit.query.get("who", "").strip() or "me"
    found = [one for one in visit.ledger.list_facts(who) if _matches(words, one.text)]
    form = el(
        "form",
        el("label", "What is known of", for_="who"),
        el("input", id="who", name="who", value=who, required=True, dir="auto"),
        el("input", type="hidden", name="only", value="known"),
        el("button", "Show", type="submit"),
        class_="filters",
        data_get=visit.link("now"),
    )
    empty = nothing("Nothing is known of ", words_of(who), " yet.")
    make = [functools.partial(_fact, visit, one) for one in found]
    return _section(visit, "known", "Known", make, empty, form, who=who)


def _fact(visit: Visit, one: Fact) -> Markup:
    text = f"{one.attribute}: {one.value}" if one.attribute else one.text
    return _line(visit, one.item, text, one.before, one.beside, "Holds no longer")


def _section(
    visit: Visit,
    only: str,
    title: str,
    make: Sequence[Callable[[], Markup]],
    empty: Markup,
    form: Markup | None = None,
    **query: str,
) -> Markup:
    """Some lines of one sort, and the way to the rest of them."""
    total, is_alone = len(make), visit.query.get("only") == only
    skip, step = (visit.number("skip"), _STEP) if is_alone else (0, _FEW)
    rows = [line() for line in make[skip : skip + step]]
    words = visit.query.get("q") or None
    if is_alone:
        rest = pager(visit, "now", total, skip, step, only=only, q=words, **query)
    else:
        more = visit.link("now", only=only, q=words, **query)
        rest = el("p", el("a", f"All {total:,}", href=more), class_="all") if total > step else None
    return section(title, form, el("ul", *rows, class_="rows") if rows else empty, rest, count=total)


def _line(
    visit: Visit,
    item: Item,
    text: str,
    before: Sequence[Item] = (),
    beside: Sequence[Item] = (),
    close: str = "",
    flag: str = "",
) -> Markup:
    """A line of what holds: its words, what they replaced, what is said against them, what can be done."""
    history: list[Child] = [_older_item_line(visit, one, "before", "old") for one in before]
    history += [_older_item_line(visit, one, f"but {one.source.name} says", "against") for one in beside]
    return el(
        "li",
        item_text(visit, item, text),
        history and el("ul", *history, class_="history"),
        el(
            "div",
            el("div", flag and el("span", flag, class_="flag"), origin(visit, item), class_="meta"),
            item_actions(visit, item, close=close),
            class_="foot",
        ),
        class_="row line",
        data_row=True,
    )


def _older_item_line(visit: Visit, item: Item, label: str, name: str) -> Markup:
    said = words_of(shorten(item.text, 220), "a", href=visit.link("memory", item.id), class_="said")
    return el(
        "li",
        el("span", f"{label}, ", date(item.created_at, visit.now), ": ", class_="soft"),
        said,
        class_=name,
    )
