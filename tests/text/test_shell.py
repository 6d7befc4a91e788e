from __future__ import annotations

import re

import pytest

from foreword.text.shell import find_main_step

PYTEST = re.compile(r"\bpytest\b")


@pytest.mark.parametrize(
    ("command", "step"),
    [
        ("pytest -q", "pytest -q"),
        (
            "cd api && python3 -m pytest -q tests 2>&1 | tail -30; exit ${PIPESTATUS[0]}",
            "python3 -m pytest -q tests",
        ),
        ("set -o pipefail; npm test | tee out.txt; echo done", "npm test"),
        ("cd api\nsource .venv/bin/activate\nmake check > /tmp/out 2>&1\necho $?", "make check"),
        ("(cd web && npx jest --ci) || exit 1", "npx jest --ci"),
        ("if ! cargo test --all; then exit 1; fi", "cargo test --all"),
        ('bash -lc "cd api && go test ./... | tail -5"', "go test ./..."),
        ("pytest -k 'a; b && c' | head", "pytest -k 'a; b && c'"),
        ("cat cases.txt | ./runner --all", "./runner --all"),
        ("CI=1 pytest -x &> log.txt; tail -3 log.txt", "CI=1 pytest -x"),
        ("git add -A && git commit -m 'Fix it'", "git commit -m 'Fix it'"),
        ("cd api", "cd api"),
        ("exit 1", "exit 1"),
        ("", ""),
    ],
)
def test_a_command_is_known_by_the_step_that_does_its_work(command, step):
    assert find_main_step(command) == step


def test_what_is_wanted_goes_before_what_comes_last():
    command = "pytest -q tests; ./report --upload"
    assert find_main_step(command) == "./report --upload"
    assert find_main_step(command, PYTEST) == "pytest -q tests"


@pytest.mark.parametrize("text", ["'", "&" * 20_000, "${" * 20_000, "((((" * 5_000, "bash -c '" * 2_000])
def test_any_text_has_a_step(text):
    assert isinstance(find_main_step(text), str)
