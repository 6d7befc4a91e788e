"""The one table of what fifteen kinds of faults came to: each test that causes one adds its numbers to a row.

A pytest plugin. The numbers travel with the reports of the tests, so it does not matter which process ran
them. A test fails here if something acknowledged was lost or anything was stored twice.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest

FAULTS = {
    1: "kills at random moments",
    2: "power cuts",
    3: "a disk that fills up",
    4: "a disk that fails or is slow",
    5: "eight writers beside maintenance",
    6: "files touched behind SQLite's back",
    7: "a service dead, hung, or a stranger",
    8: "sessions that come and go, the clock set back",
    9: "growth",
    10: "upgrades, two versions at once",
    11: "damaged files and indexes",
    12: "twenty workspaces",
    13: "secrets and hostile text",
    14: "strangers and floods",
    15: "poisoned sources",
}
COLUMNS = ("", "fault", "caused", "acknowledged", "lost", "doubled", "longest wait", "what the agent saw")
_ROW, _FIGURES = "fault", "figures"


@dataclass
class Row:
    """What one kind of fault came to, over all tests that caused it."""

    caused: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    lost: int = 0
    doubled: int = 0
    waits: list[float] = field(default_factory=list)
    saw: list[str] = field(default_factory=list)

    def add(self, *, caused, acknowledged, lost, doubled, longest_wait, saw):
        """Add the numbers of one test."""
        self.caused.update(caused)
        self.acknowledged += acknowledged
        self.lost += lost
        self.doubled += doubled
        if longest_wait is not None:
            self.waits.append(longest_wait)
        if saw and saw not in self.saw:
            self.saw.append(saw)

    def cells(self, number):
        """The row as texts, in the order of the columns."""
        caused = ", ".join(f"{count:,} {what}" for what, count in self.caused.items())
        numbers = (f"{count:,}" for count in (self.acknowledged, self.lost, self.doubled))
        wait = f"{max(self.waits):.2f} s" if self.waits else "-"
        return (str(number), FAULTS[number], caused, *numbers, wait, "; ".join(self.saw) or "-")


def render_table(rows, *, whole):
    """The rows as lines of a Markdown table; `whole` also lists the kinds of faults that nothing caused."""
    missing = ("not caused", *["-"] * 5)
    lines = [COLUMNS, tuple("-" * max(1, len(name)) for name in COLUMNS)]
    lines += [
        rows[number].cells(number) if number in rows else (str(number), FAULTS[number], *missing)
        for number in FAULTS
        if whole or number in rows
    ]
    return ["| " + " | ".join(cells) + " |" for cells in lines]


@pytest.fixture
def report_fault(request):
    """Note what a fault came to: its row, what was done how often, and the numbers of `Row`.

    `longest_wait` is in seconds. Raises AssertionError if something acknowledged was lost, or doubled.
    """

    def report(number, caused, *, acknowledged=0, lost=0, doubled=0, longest_wait=None, saw=""):
        numbers = {"acknowledged": acknowledged, "lost": lost, "doubled": doubled}
        assert number in FAULTS
        facts = {"caused": dict(caused), **numbers, "longest_wait": longest_wait, "saw": saw}
        request.node.user_properties.append((_ROW, [number, facts]))
        assert not lost, f"{lost} of {acknowledged} that were acknowledged are lost"
        assert not doubled, f"{doubled} of {acknowledged} were stored more than once"

    return report


@pytest.fixture
def report_figures(request):
    """Note a line of numbers, to be printed after the table."""
    return lambda line: request.node.user_properties.append((_FIGURES, line))


def pytest_terminal_summary(terminalreporter, config):
    """Print the table, and the lines that were noted beside it."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    called = [report for report in reports if getattr(report, "when", "") == "call"]
    properties = [told for report in called for told in report.user_properties]
    rows: dict[int, Row] = {}
    for number, facts in (told for name, told in properties if name == _ROW):
        rows.setdefault(number, Row()).add(**facts)
    lines = render_table(rows, whole="fault" in config.option.markexpr.split()) if rows else []
    lines += [told for name, told in properties if name == _FIGURES]
    if lines:
        terminalreporter.section("faults")
    for line in lines:
        terminalreporter.write_line(line)
