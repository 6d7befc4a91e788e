from __future__ import annotations

import pytest

from foreword.capture.runs.changes import SeenChange
from foreword.knowledge.change_judgement import change_fits_action

HYPOTHESIS = "the pause is read in seconds"


def edit(path, before="a", after="b"):
    return SeenChange("change", path, before=before, after=after)


@pytest.mark.parametrize(
    ("action", "path", "fits"),
    [
        ("change src/retry.py", "src/retry.py", True),
        ("change retry.py", "src/shop/retry.py", True),
        ("change src/retry.py", "src/other/retry.py", False),
        ("change retry.py", "src/billing.py", False),
        ("rework src/shop/payments", "src/shop/payments/retry.py", True),
        ("rework src/shop/payments", "src/shop/users.py", False),
        ("make `RetryPolicy` count in milliseconds", "src/retry.py", True),
        ("make `RetryPolicy` count in milliseconds", "src/billing.py", False),
        ("call flush_all() before closing", "src/billing.py", False),
        ("convert the pause", "src/anything.py", True),
        ("convert the pause", "config.toml", True),
        ("convert the pause", "README.md", False),
        ("convert the pause", "docs/retry.txt", False),
        ("convert the pause", "tests/test_retry.py", False),
        ("mock the clock in the fixture", "tests/conftest.py", True),
        ("correct the expected value in the test", "tests/test_retry.py", True),
        ("say so in the readme", "README.md", True),
        ("pin the base image in the Dockerfile", "Dockerfile", True),
    ],
)
def test_an_edit_fits_the_action_that_speaks_of_it(action, path, fits):
    assert change_fits_action(edit(path), action, HYPOTHESIS) is fits


def test_an_edit_fits_by_the_names_in_it():
    change = edit("src/writer.py", "close()", "flush_all()\nclose()")
    assert change_fits_action(change, "call flush_all() before closing", HYPOTHESIS)


@pytest.mark.parametrize(
    ("action", "command", "fits"),
    [
        ("upgrade urllib3", "pip install urllib3==2.2", True),
        ("upgrade urllib3", "pip install numpy", False),
        ("change retry.py", "sed -i 's/5/50/' src/retry.py", True),
        ("clear the cache folder", "rm -rf .cache", True),
        ("change retry.py", "rm tests/test_retry.py", False),
        ("change retry.py", "python trace.py", False),
        ("change src/retry.py", "make src/billing.py", False),
        ("restart the worker", "docker compose restart worker", True),
        ("convert the pause", "docker compose up -d db", False),
    ],
)
def test_a_command_fits_if_it_shares_a_word_with_the_action(action, command, fits):
    assert change_fits_action(SeenChange("change", command=command), action, HYPOTHESIS) is fits
