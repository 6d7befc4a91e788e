from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foreword.capture.excerpt import MAX_OUTPUT_CHARACTERS, excerpt_output


def test_a_short_output_is_kept_whole():
    assert excerpt_output("one\ntwo\n\nthree\n") == "one\ntwo\nthree"


def test_of_a_long_output_errors_results_and_ends_are_kept():
    lines = [f"step {n} of the build went as it should" for n in range(500)]
    lines[200] = "E   AssertionError: 3 != 4"
    lines[300] = "FAILED tests/test_pay.py::test_retry"
    told = excerpt_output("\n".join([*lines, "2 failed, 40 passed in 3.2s"]))
    for line in (
        "step 0 of",
        "AssertionError: 3 != 4",
        "FAILED tests/test_pay.py",
        "step 201 of",
        "2 failed, 40 passed",
    ):
        assert line in told
    assert "step 100 of" not in told
    assert "lines left out …]" in told
    assert len(told) <= MAX_OUTPUT_CHARACTERS


def test_colours_progress_and_overwritten_lines_go():
    output = "\x1b[32mok\x1b[0m built\n10%\r50%\rdone: 3 files\nCollecting requests\nsame\nsame\nsame"
    assert excerpt_output(output) == "ok built\ndone: 3 files\nsame"


def test_a_line_that_is_too_long_is_cut():
    assert len(excerpt_output("x" * 10_000)) == 240


@given(st.text(), st.integers(100, 3_000))
def test_an_excerpt_never_exceeds_its_room(output, most):
    assert len(excerpt_output(output * 20, most)) <= most


def test_an_enormous_output_is_read_to_its_end():
    """Steps that grow with the square of its lines would not come to an end within a test's time."""
    excerpted = excerpt_output("word " * 20 + "\n" + "a b c\nd e f\n" * 1_000_000 + "last")
    assert excerpted.endswith("last")
    assert len(excerpted) <= MAX_OUTPUT_CHARACTERS
