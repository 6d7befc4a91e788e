"""Which tests a run included, by the names that runners print."""

from __future__ import annotations

import pytest

from foreword.capture.runs.run import read_run_result

RETRY = "tests/test_retry.py::test_retry"


@pytest.mark.parametrize(
    ("command", "output", "includes"),
    [
        ("pytest", "4 passed in 0.1s", True),
        ("pytest -v", f"{RETRY} SKIPPED\n3 passed, 1 skipped in 0.1s", False),
        ("pytest -rs", "SKIPPED [1] tests/test_retry.py:3: slow\n3 passed, 1 skipped in 0.1s", False),
        ("pytest tests/test_retry.py", "4 passed in 0.1s", True),
        ("pytest tests/test_cart.py", "4 passed in 0.1s", False),
        ("pytest tests/test_retry.py -k pause", "4 passed in 0.1s", False),
        ("pytest --deselect tests/test_retry.py", "4 passed in 0.1s", False),
        ("cd tests && pytest", "4 passed in 0.1s", True),
        ("cd docs && pytest", "4 passed in 0.1s", False),
    ],
)
def test_what_was_skipped_or_lies_elsewhere_was_not_included(command, output, includes):
    run = read_run_result(command, output, 0, "/shop", "/shop")
    assert run.scope.includes_test(RETRY) is includes


@pytest.mark.parametrize(
    ("command", "output", "name"),
    [
        ("cd api && pytest", f"FAILED {RETRY} - x\n1 failed in 0.1s", f"api/{RETRY}"),
        ("cd api && go test ./...", "--- FAIL: TestRetry (0.00s)\nFAIL\tshop\t0.1s", "TestRetry"),
    ],
)
def test_names_with_a_path_have_it_from_the_root_of_the_project(command, output, name):
    assert read_run_result(command, output, 1, "/shop", "/shop").failing == (name,)
