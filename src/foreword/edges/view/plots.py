"""Small pictures in SVG: bars of candidates, a waterfall of stages, plots over days, a graph of relations.

Sizes and positions are attributes, never styles, because the content policy forbids inline styles; colours
come from the style sheet by class.
"""

from __future__ import annotations

import math
from collections import defaultdict
from datetime import date, timedelta
from typing import TYPE_CHECKING

from foreword.edges.view.markup import Child, Markup, el
from foreword.engine.receipt_story import SPACES, probability_to_help
from foreword.text.clean import remove_misleading_characters
from foreword.text.numbers import format_percent
from foreword.text.shorten import shorten_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.engine.receipt_story import CandidateStory, ReceiptOutline

_WIDTH = 1000.0
_PLOT_WIDTH, _PLOT_HEIGHT = 330.0, 118.0
WIDE = 1000.0
"""The width of a plot that spans the page."""

_MAX_DAYS = 120
_MIN_STAGE_SHARE = 0.004
_MAX_LABEL_CHARACTERS = 26


def bar_length_for_probability(share: float) -> float:
    """The length of a bar for a probability, 0 to 1: its square root, since most are small."""
    return math.sqrt(min(1.0, max(0.0, share)))


def candidate_bar(story: CandidateStory, floor: float | None, cut: float | None) -> Markup:
    """A bar for how probably a candidate helps, in the colours of the spaces that found it.

    Lines mark the floor and the cut.
    """
    length, at = bar_length_for_probability(story.score) * _WIDTH, 0.0
    pieces: list[Markup] = []
    for space, share in story.parts or (("other", 1.0),):
        width = length * share
        pieces.append(_rect(at, 3, width, 10, f"space-{space}"))
        at += width
    marks = [
        el(
            "line",
            x1=_coord(bar_length_for_probability(mark) * _WIDTH),
            x2=_coord(bar_length_for_probability(mark) * _WIDTH),
            y1="0",
            y2="16",
            class_=name,
        )
        for name, mark in (("floor", floor), ("cut", cut))
        if mark is not None
    ]
    found = ", ".join(f"{SPACES[space]} {share:.0%}" for space, share in story.parts)
    label = f"{format_percent(story.score)} likely to help" + (f"; found by {found}" if found else "")
    return el(
        "svg",
        el("title", label),
        _rect(0, 3, _WIDTH, 10, "track"),
        *pieces,
        *marks,
        viewBox=f"0 0 {_WIDTH:.0f} 16",
        preserveAspectRatio="none",
        role="img",
        class_="bar" if story.was_injected else "bar left",
    )


def receipt_thumbnail(outline: ReceiptOutline) -> Markup:
    """A receipt as a small picture: a column for each candidate, the best first, and the floor."""
    shown = outline.candidates[:40]
    chances = [probability_to_help(entry) for entry in shown]
    top = bar_length_for_probability(max([2 * (outline.floor or 0), *chances], default=1.0)) or 1.0
    columns = []
    for at, (entry, chance) in enumerate(zip(shown, chances, strict=True)):
        height = max(1.5, bar_length_for_probability(chance) / top * 28)
        name = "in" if entry.decision == "injected" else "out"
        columns.append(_rect(at * 6, 28 - height, 4, height, name))
    if outline.floor is not None:
        y = _coord(28 - bar_length_for_probability(outline.floor) / top * 28)
        columns.append(el("line", x1="0", x2="240", y1=y, y2=y, class_="floor"))
    label = f"{len(outline.said)} of {len(outline.receipt.entries)} candidates were said"
    return el("svg", el("title", label), *columns, viewBox="0 0 240 28", role="img", class_="strip")


def stage_waterfall(stages: Sequence[tuple[str, float]]) -> Markup | None:
    """Each stage as a bar that begins where the one before ends; very short stages are left out."""
    total = sum(milliseconds for _, milliseconds in stages)
    rows: list[Markup] = []
    begun = 0.0
    for name, milliseconds in stages:
        if total and milliseconds / total >= _MIN_STAGE_SHARE:
            width = max(3.0, milliseconds / total * _WIDTH)
            bar = el(
                "svg",
                el("title", f"begins after {begun:,.1f} ms"),
                _rect(begun / total * _WIDTH, 2, width, 12, "stage"),
                viewBox=f"0 0 {_WIDTH:.0f} 16",
                preserveAspectRatio="none",
                role="img",
                class_="bar",
            )
            rows.append(el("li", el("span", name), bar, el("span", f"{milliseconds:,.1f} ms")))
        begun += milliseconds
    return el("ol", *rows, class_="waterfall") if rows else None


# Over time -------------------------------------------------------------------------------------------------


def fill_missing_days_with_zero(days: Mapping[str, int] | Mapping[str, float]) -> list[tuple[date, float]]:
    """The values by day in order, with 0 for days without a value; the last four months at most."""
    if not days:
        return []
    known = {date.fromisoformat(day): value for day, value in days.items()}
    last = max(known)
    first = max(min(known), last - timedelta(days=_MAX_DAYS - 1))
    span = (last - first).days + 1
    return [(day, known.get(day, 0.0)) for day in (first + timedelta(days=at) for at in range(span))]


def sum_by_month(days: Mapping[str, int]) -> list[tuple[date, float]]:
    """The sums of the values by month, each with the first day of its month, in order and without gaps."""
    sums: dict[date, float] = defaultdict(float)
    for day, value in days.items():
        sums[date.fromisoformat(day).replace(day=1)] += value
    if not sums:
        return []
    first, last = min(sums), max(sums)
    count = (last.year - first.year) * 12 + last.month - first.month + 1
    months = [
        date(first.year + at // 12, at % 12 + 1, 1) for at in range(first.month - 1, first.month - 1 + count)
    ]
    return [(month, sums.get(month, 0.0)) for month in months]


def are_too_many_days_to_plot(days: Mapping[str, int]) -> bool:
    """Whether these days span more than a plot by day shows."""
    return bool(days) and (date.fromisoformat(max(days)) - date.fromisoformat(min(days))).days >= _MAX_DAYS


def plot_day_columns(
    days: Sequence[tuple[date, float]],
    unit: str,
    links: Mapping[date, str] | None = None,
    width: float = _PLOT_WIDTH,
    *,
    by_month: bool = False,
) -> Markup | None:
    """A column for each day, or for each month that begins on a day; with `links`, it is a link."""
    if not days:
        return None
    top = max(value for _, value in days)
    step = width / max(len(days), 14)
    columns: list[Child] = []
    for at, (day, value) in enumerate(days):
        height = value / (top or 1.0) * (_PLOT_HEIGHT - 36)
        title = f"{'' if by_month else f'{day.day} '}{day:%B %Y}: {value:,.0f} {unit}"
        column = el(
            "g",
            el("title", title),
            _rect(at * step, 4, step, _PLOT_HEIGHT - 22, "hit"),
            _rect(at * step + step * 0.12, _PLOT_HEIGHT - 18 - height, step * 0.76, height, "column"),
        )
        href = (links or {}).get(day)
        columns.append(el("a", column, href=href, aria_label=title) if href and value else column)
    return _plot_with_axis(columns, days, f"{top:,.0f} {unit}", width=width, by_month=by_month)


def plot_line_over_days(days: Sequence[tuple[date, float]], top_label: str, label: str) -> Markup | None:
    """A line over days, from 0 up to the greatest value."""
    if not days:
        return None
    top = max(value for _, value in days) or 1.0
    step = _PLOT_WIDTH / max(len(days) - 1, 1)
    points = [
        (at * step, _PLOT_HEIGHT - 18 - value / top * (_PLOT_HEIGHT - 38))
        for at, (_, value) in enumerate(days)
    ]
    if len(points) == 1:
        points.append((_PLOT_WIDTH, points[0][1]))
    path = " ".join(f"{_coord(x)},{_coord(y)}" for x, y in points)
    base = _PLOT_HEIGHT - 18
    shapes = [
        el(
            "polygon", points=f"0,{_coord(base)} {path} {_coord(points[-1][0])},{_coord(base)}", class_="area"
        ),
        el("polyline", points=path, class_="curve"),
    ]
    return _plot_with_axis(shapes, days, top_label, label)


def _plot_with_axis(
    shapes: Sequence[Child],
    days: Sequence[tuple[date, float]],
    top: str,
    label: str = "",
    width: float = _PLOT_WIDTH,
    *,
    by_month: bool = False,
) -> Markup:
    """The frame of a plot: an axis with the first and the last day or month, and the greatest value."""
    base = _PLOT_HEIGHT - 18
    first, last = (f"{day:%b %Y}" if by_month else f"{day.day} {day:%b}" for day in (days[0][0], days[-1][0]))
    return el(
        "svg",
        el("title", label or f"By {'month' if by_month else 'day'}, from {first} to {last}; at most {top}"),
        el("line", x1="0", x2=_coord(width), y1=_coord(base), y2=_coord(base), class_="axis"),
        *shapes,
        el("text", first, x="0", y=_coord(_PLOT_HEIGHT - 3), class_="label"),
        last != first
        and el(
            "text",
            last,
            x=_coord(width),
            y=_coord(_PLOT_HEIGHT - 3),
            text_anchor="end",
            class_="label",
        ),
        el("text", top, x=_coord(width), y="11", text_anchor="end", class_="label"),
        viewBox=f"0 0 {width:.0f} {_PLOT_HEIGHT:.0f}",
        role="img" if label else "group",
        class_="plot",
    )


# Relations -------------------------------------------------------------------------------------------------


def relation_graph(centre: str, spokes: Sequence[tuple[str, str, str, bool]]) -> Markup:
    """An item with its related items as a graph.

    A spoke is a related item: the relation, its text, its address, and whether the relation goes out from the
    item in the centre (True) or comes in (False).
    """
    left = [spoke for spoke in spokes if not spoke[3]]
    right = [spoke for spoke in spokes if spoke[3]]
    rows = max(len(left), len(right), 1)
    height = max(84, rows * 46 + 12)
    middle = height / 2
    shapes: list[Markup] = []
    for side in (left, right):
        for at, spoke in enumerate(side):
            shapes += _draw_spoke(spoke, middle, middle + (at - (len(side) - 1) / 2) * 46)
    shapes += [
        _rect(268, middle - 20, 184, 40, "centre", rx="8"),
        el(
            "text",
            _shorten_label(centre, 24),
            x="360",
            y=_coord(middle + 5),
            text_anchor="middle",
            class_="name",
        ),
    ]
    label = f"Related to {len(spokes)} items"
    start, end = 0 if left else 258, 720 if right else 462
    size = f"{start} 0 {end - start} {height:.0f}"
    picture = el("svg", el("title", label), *shapes, viewBox=size, role="group", class_="graph")
    # On a narrow screen the picture keeps its size and is scrolled, by keys, too.
    return el("div", picture, class_="wide", tabindex="0", role="region", aria_label=label)


def _draw_spoke(spoke: tuple[str, str, str, bool], middle: float, y: float) -> list[Markup]:
    """The line from the centre to a related item at this height, and the item; outgoing ones to the right."""
    relation, text, href, goes_out = spoke
    inner, x, anchor, beside = (452.0, 506.0, "start", 10) if goes_out else (268.0, 214.0, "end", -10)
    bend = f"{_coord((inner + x) / 2)} {_coord(y)}"
    place = {"x": _coord(x + beside), "text_anchor": anchor}
    words = relation if goes_out else f"{relation} this"
    line = f"M{_coord(inner)} {_coord(middle)} Q{bend} {_coord(x)} {_coord(y)}"
    return [
        el("path", d=line, class_="edge"),
        el("circle", cx=_coord(x), cy=_coord(y), r="4", class_="node"),
        el(
            "a",
            el("text", _shorten_label(text), y=_coord(y - 2), class_="name", **place),
            el("text", words, y=_coord(y + 13), class_="label", **place),
            href=href,
        ),
    ]


def _shorten_label(text: str, most: int = _MAX_LABEL_CHARACTERS) -> str:
    """A name beside a picture on the page, in at most `most` characters."""
    return shorten_line(remove_misleading_characters(text), most)


def _rect(x: float, y: float, width: float, height: float, name: str, rx: str | None = None) -> Markup:
    return el(
        "rect",
        x=_coord(x),
        y=_coord(y),
        width=_coord(max(0.0, width)),
        height=_coord(max(0.0, height)),
        class_=name,
        rx=rx,
    )


def _coord(number: float) -> str:
    """A coordinate with one decimal, without a trailing `.0`."""
    return f"{number:.1f}".removesuffix(".0")
