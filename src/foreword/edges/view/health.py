"""Health: how much is stored, how fast and how often prompts are answered, what is wrong, the switches."""

from __future__ import annotations

import statistics
import threading
import time
from collections import defaultdict
from concurrent.futures import Future
from datetime import timedelta
from itertools import accumulate
from typing import TYPE_CHECKING

from foreword.capture.pauses import running_pauses
from foreword.capture.privacy import reason_to_keep_nothing
from foreword.edges.view.markup import Markup, el, element_with_user_text, join
from foreword.edges.view.pieces import (
    act_form,
    facts_list,
    nothing_to_show_note,
    page_heading,
    section,
    time_element,
)
from foreword.edges.view.plots import fill_missing_days_with_zero, plot_day_columns, plot_line_over_days
from foreword.store.backups import list_backups
from foreword.store.browsing import CountBy, ListReceiptFacts
from foreword.store.sqlite import SqliteStore
from foreword.text.numbers import format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.edges.view.visit import Finding, PageVisit
    from foreword.store.browsing import ReceiptFacts

_LENGTHS = {"": "until I resume", "3600": "for an hour", "14400": "for four hours", "86400": "for a day"}
_MAX_BACKUPS_SHOWN = 8


def render_health(visit: PageVisit) -> Markup:
    """The part `health`: numbers, switches, plots, the doctor's findings, backups and the service."""
    facts = visit.engine.store.run(ListReceiptFacts(visit.workspace))
    later = visit.link("findings").replace("/view/", "/page/", 1)
    return join(
        page_heading("Health", "How much there is, how fast it answers, and whether anything is wrong."),
        _key_number_tiles(visit, facts),
        _pause_switches(visit),
        _plots_section(visit, facts),
        section("Doctor", el("div", nothing_to_show_note("Looking …"), data_load=later, aria_live="polite")),
        _backups_section(visit),
        _service_section(visit),
    )


def _key_number_tiles(visit: PageVisit, facts: Sequence[ReceiptFacts]) -> Markup:
    """The most important numbers of a workspace, each in a tile."""
    counts = visit.engine.count(visit.workspace)
    silent = sum(1 for one in facts if not one.injected_count)
    median = statistics.median(one.milliseconds for one in facts) if facts else None
    share = f"{silent / len(facts):.0%}" if facts else "–"
    tiles = [
        (f"{counts.items:,}", "items"),
        (f"{counts.relations:,}", "relations"),
        (format_size(counts.bytes), "on disk"),
        (f"{len(facts):,}", "prompts"),
        ("–" if median is None else f"{median:,.0f} ms", "half are faster"),
        (share, "in silence"),
    ]
    return el(
        "ul", *(el("li", el("strong", value), el("span", what)) for value, what in tiles), class_="tiles"
    )


def _plots_section(visit: PageVisit, facts: Sequence[ReceiptFacts]) -> Markup:
    """Plots by day: growth, items added, prompts, speed, silence and tokens."""
    added = fill_missing_days_with_zero(visit.engine.store.run(CountBy(visit.workspace, "day", limit=400)))
    before = visit.engine.count(visit.workspace).items - sum(value for _, value in added)
    sums = accumulate((value for _, value in added), initial=before)
    grown = list(zip((day for day, _ in added), list(sums)[1:], strict=True))
    by_day: dict[str, list[ReceiptFacts]] = defaultdict(list)
    for one in facts:
        by_day[f"{one.created_at:%Y-%m-%d}"].append(one)
    speed = {day: statistics.median(one.milliseconds for one in ones) for day, ones in by_day.items()}
    silence = {
        day: 100 * sum(not one.injected_count for one in ones) / len(ones) for day, ones in by_day.items()
    }
    asked = {day: float(len(ones)) for day, ones in by_day.items()}
    used = {day: float(sum(one.tokens for one in ones)) for day, ones in by_day.items()}
    total, slowest = (grown[-1][1] if grown else 0), max(speed.values(), default=0.0)
    plots = [
        ("Growth", plot_line_over_days(grown, f"{total:,.0f} items", "How many items there are, by day")),
        ("Added", plot_day_columns(added, "items")),
        ("Prompts", plot_day_columns(fill_missing_days_with_zero(asked), "prompts")),
        (
            "Speed",
            plot_line_over_days(
                fill_missing_days_with_zero(speed),
                f"{slowest:,.0f} ms",
                "The median time of a prompt, by day",
            ),
        ),
        ("Silence", plot_day_columns(fill_missing_days_with_zero(silence), "% in silence")),
        ("Use", plot_day_columns(fill_missing_days_with_zero(used), "tokens said")),
    ]
    shown = [el("figure", el("figcaption", title), plot) for title, plot in plots if plot is not None]
    return section(
        "Over time",
        el("div", *shown, class_="plots") if shown else nothing_to_show_note("Nothing happened yet."),
    )


# Switches --------------------------------------------------------------------------------------------------


def _pause_switches(visit: PageVisit) -> Markup:
    """The switches that pause everywhere, or in this project alone."""
    paused = {one.workspace: one for one in running_pauses(visit.backend.home, time.time())}
    rows = [
        _pause_switch(
            visit, "everywhere", "Pause", "Nothing is recalled or remembered, in any project.", "" in paused
        ),
        _pause_switch(
            visit,
            "project",
            "Private",
            "Nothing is recalled or remembered in this project.",
            visit.workspace in paused,
        ),
    ]
    reason = reason_to_keep_nothing(visit.backend.home, visit.workspace)
    return section("Switches", el("p", reason, class_="notice") if reason else None, *rows)


def _pause_switch(visit: PageVisit, where: str, name: str, what: str, is_on: bool) -> Markup:  # noqa: FBT001
    """One switch, with a form that begins or ends its pause."""
    lengths = [el("option", label, value=value) for value, label in _LENGTHS.items()]
    if is_on:
        controls = [el("button", "Resume", type="submit")]
    else:
        label = f"for-{where}"
        controls = [
            el("label", "For how long", for_=label, class_="hidden"),
            el("select", *lengths, id=label, name="seconds"),
            el("button", name, type="submit"),
        ]
    state = el("span", "on" if is_on else "off", class_="flag on" if is_on else "flag")
    form = act_form(visit, "resume" if is_on else "pause", *controls, where=where)
    return el(
        "div",
        el("div", el("strong", name), " ", state, el("p", what, class_="soft")),
        form,
        class_="switch",
        data_row=True,
    )


# What is wrong ---------------------------------------------------------------------------------------------


def render_findings(visit: PageVisit) -> Markup:
    """The doctor's findings about this machine and this workspace, as a table."""
    return el(
        "table",
        el("thead", el("tr", *(el("th", name, scope="col") for name in ("State", "What", "How it is")))),
        el("tbody", *map(_finding_row, visit.backend.examine(visit.workspace))),
        class_="findings",
    )


def _finding_row(finding: Finding) -> Markup:
    mark = el("span", "fine" if finding.ok else "wrong", class_="flag" if finding.ok else "flag bad")
    advice = finding.advice and el("p", finding.advice, class_="soft")
    return el(
        "tr",
        el("td", mark),
        el("th", finding.name, scope="row"),
        el("td", element_with_user_text(finding.value), advice),
    )


def _backups_section(visit: PageVisit) -> Markup:
    """The newest backups of the workspace."""
    store = visit.engine.store
    found = list_backups(store.path_of_database(visit.workspace)) if isinstance(store, SqliteStore) else []
    rows = [
        el(
            "li",
            element_with_user_text(one.label),
            " · ",
            time_element(one.made_at, visit.now),
            " · ",
            format_size(one.bytes),
        )
        for one in reversed(found[-_MAX_BACKUPS_SHOWN:])
    ]
    body = (
        el("ul", *rows, class_="notes")
        if rows
        else nothing_to_show_note("None yet; the service makes one a day.")
    )
    return section("Backups", body, count=len(found))


def _service_section(visit: PageVisit) -> Markup:
    """The state of the service: version, uptime, memory, and times for each event."""
    status = visit.backend.status()
    rows = [
        (name, f"{one['count']:,} answered, half of them within {one['p50_ms']:,.0f} ms")
        for name, one in status.get("events", {}).items()
    ]
    up = status.get("uptime_seconds")
    memory = status.get("resident_bytes")
    return section(
        "Service",
        facts_list(
            ("Version", str(status.get("version", ""))),
            (
                "Running since",
                None if up is None else time_element(visit.now - timedelta(seconds=up), visit.now),
            ),
            ("Memory", None if memory is None else format_size(memory)),
            ("Data", el("code", str(visit.backend.home))),
            ("Waiting", f"{status['spool']['files']:,} events" if "spool" in status else None),
            *rows,
        ),
    )


# Recent findings of the doctor -----------------------------------------------------------------------------


KEPT_SECONDS = 30.0
"""For how many seconds after its beginning an examination is reused."""


class RecentHealthFindings:
    """Examines a workspace, one examination at a time, and reuses recent ones. Safe for threads."""

    def __init__(
        self, examine: Callable[[str], Sequence[Finding]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._examine = examine
        self._clock = clock
        self._lock = threading.Lock()
        self._examinations: dict[str, tuple[float, Future[Sequence[Finding]]]] = {}

    def find(self, workspace: str) -> Sequence[Finding]:
        """The findings in a workspace, perhaps of a recent examination; raises what that raised."""
        mine: Future[Sequence[Finding]] = Future()
        with self._lock:
            at, found = self._examinations.get(workspace, (0.0, mine))
            if found is mine or (found.done() and self._clock() - at >= KEPT_SECONDS):
                found = mine
                self._examinations[workspace] = (self._clock(), mine)
        if found is mine:
            self._examine_into_future(workspace, mine)
        return found.result()

    def _examine_into_future(self, workspace: str, found: Future[Sequence[Finding]]) -> None:
        """Examine the workspace for all who wait; a failure is not reused."""
        try:
            found.set_result(self._examine(workspace))
        except BaseException as error:
            with self._lock:
                del self._examinations[workspace]  # who comes next tries again
            found.set_exception(error)
            raise
