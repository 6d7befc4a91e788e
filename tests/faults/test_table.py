"""The table of faults: rows add up, every kind is listed, and a loss fails the test that reports it."""

from __future__ import annotations

import pytest
from fault_table import FAULTS, Row, render_table

NUMBERS = {"acknowledged": 10, "lost": 0, "doubled": 0, "longest_wait": 0.5, "saw": "every prompt passes"}


def test_the_numbers_of_several_tests_add_up_in_one_row():
    row = Row()
    row.add(caused={"kills": 3}, **NUMBERS)
    row.add(caused={"kills": 4, "cuts": 1}, **NUMBERS | {"longest_wait": None, "lost": 2})
    assert row.cells(1) == (
        *("1", FAULTS[1], "7 kills, 1 cuts", "20", "2", "0", "0.50 s", "every prompt passes"),
    )


def test_a_whole_table_has_fifteen_rows_and_names_what_nothing_caused():
    row = Row()
    row.add(caused={"kills": 3}, **NUMBERS)
    lines = render_table({2: row}, whole=True)
    assert len(lines) == 2 + 15
    assert [line for line in lines[2:] if "not caused" not in line] == lines[3:4]
    assert render_table({2: row}, whole=False)[2:] == lines[3:4]


@pytest.mark.parametrize("trouble", [{"lost": 1}, {"doubled": 1}])
def test_a_loss_or_a_double_fails_the_test_that_reports_it(report_fault, request, trouble):
    with pytest.raises(AssertionError, match="of 10"):
        report_fault(1, {"kills": 1}, acknowledged=10, **trouble)
    assert len(request.node.user_properties) == 1
    request.node.user_properties.clear()  # the table is for what happened
