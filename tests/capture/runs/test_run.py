from __future__ import annotations

import secrets
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.capture.runs.run import MAX_NAMES, RunResult, read_run_result

OUTPUTS = {file.stem: file.read_text() for file in (Path(__file__).parent / "outputs").glob("*.txt")}
"""What test runners and build tools print, in both outcomes."""


@dataclass(frozen=True)
class Sample:
    command: str
    exit: str | int | None
    output: str
    run: RunResult


def of_tests(tool, passed, *rest):
    return RunResult(tool, "test", passed, *rest)


def of_build(tool, passed, *rest):
    return RunResult(tool, "build", passed, *rest)


SAMPLES = {
    "pytest fails": Sample(
        "python -m pytest -q",
        "exit 1",
        OUTPUTS["pytest_failed"],
        of_tests(
            "pytest",
            False,
            2,
            12,
            ("tests/test_cart.py::test_total[two items]", "tests/test_cart.py::TestCart::test_empty"),
            "assert 20 == 30",
        ),
    ),
    "pytest cannot import": Sample(
        "cd shop && uv run --with httpx pytest tests",
        2,
        OUTPUTS["pytest_broken"],
        of_tests(
            "pytest", False, 1, 0, ("shop/tests/test_cart.py",), "ModuleNotFoundError: No module named 'cart'"
        ),
    ),
    "pytest passes": Sample(
        "PYTHONPATH=src .venv/bin/pytest tests 2>&1 | tail -5",
        "",
        ".....\n=== 5 passed, 2 skipped, 1 warning in 61.23s (0:01:01) ===\n",
        of_tests("pytest", True, 0, 5),
    ),
    "pytest passes but not its coverage": Sample(
        "coverage run -m pytest",
        1,
        "5 passed in 1.20s\nERROR: Coverage failure: total of 80 is less than fail-under=90\n",
        of_tests(
            "pytest", False, 0, 5, (), "ERROR: Coverage failure: total of 80 is less than fail-under=90"
        ),
    ),
    "unittest fails": Sample(
        "python3 -m unittest discover -s tests",
        1,
        OUTPUTS["unittest_failed"],
        of_tests(
            "unittest",
            False,
            2,
            2,
            ("tests.test_cart.CartTest.test_empty", "tests.test_cart.CartTest.test_total"),
            "ZeroDivisionError: division by zero",
        ),
    ),
    "unittest passes": Sample(
        "python manage.py test",
        0,
        "....\n-----\nRan 4 tests in 0.010s\n\nOK (skipped=1)\nDestroying test database...\n",
        of_tests("unittest", True, 0, 3),
    ),
    "jest fails": Sample(
        "npx jest src",
        1,
        OUTPUTS["jest_failed"],
        of_tests(
            "jest", False, 1, 2, ("calc › adds",), "expect(received).toBe(expected) // Object.is equality"
        ),
    ),
    "jest cannot load": Sample(
        "yarn jest",
        "failed",
        OUTPUTS["jest_broken"],
        of_tests(
            "jest", False, 1, 0, ("src/calc.test.js",), "Cannot find module './calc' from 'src/calc.test.js'"
        ),
    ),
    "jest passes through npm": Sample(
        "npm test", "exit 0", OUTPUTS["jest_passed"], of_tests("jest", True, 0, 4)
    ),
    "vitest fails": Sample(
        "pnpm vitest run",
        1,
        OUTPUTS["vitest_failed"],
        of_tests(
            "vitest",
            False,
            1,
            1,
            ("calc.test.ts > calc > adds",),
            "AssertionError: expected 2 to be 3 // Object.is equality",
        ),
    ),
    "vitest passes through pnpm": Sample(
        "pnpm run test:unit", None, OUTPUTS["vitest_passed"], of_tests("vitest", True, 0, 2)
    ),
    "mocha fails": Sample(
        "./node_modules/.bin/mocha test",
        1,
        OUTPUTS["mocha_failed"],
        of_tests(
            "mocha",
            False,
            1,
            1,
            ("calc adds",),
            "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:",
        ),
    ),
    "mocha passes through yarn": Sample(
        "yarn test", 0, OUTPUTS["mocha_passed"], of_tests("mocha", True, 0, 2)
    ),
    "npm test says nothing we know": Sample(
        "npm test",
        1,
        "npm error Lifecycle script `test` failed with error:\nnpm error code 1\n",
        of_tests("npm", False, 0, 0, (), "npm error Lifecycle script `test` failed with error:"),
    ),
    "go test fails": Sample(
        "go test ./...",
        1,
        OUTPUTS["go_failed"],
        of_tests("go", False, 1, 1, ("TestAdd", "TestAdd/small"), "calc_test.go:4: got 0, want 4"),
    ),
    "go test does not compile": Sample(
        "go test ./... | head -50",
        0,
        OUTPUTS["go_broken"],
        of_tests("go", False, 1, 0, ("example.com/calc",), "./calc.go:3:12: undefined: undefined_thing"),
    ),
    "go test passes": Sample("go test ./...", 0, OUTPUTS["go_passed"], of_tests("go", True, 0, 2)),
    "go build fails": Sample(
        "go build ./...",
        1,
        "# example.com/calc\n./calc.go:3:12: undefined: undefined_thing\n",
        of_build("go", False, 0, 0, (), "./calc.go:3:12: undefined: undefined_thing"),
    ),
    "go build passes": Sample("go build ./...", "exit 0", "", of_build("go", True)),
    "cargo test fails": Sample(
        "cargo test --workspace",
        101,
        OUTPUTS["cargo_failed"],
        of_tests("cargo", False, 1, 1, ("tests::adds",), "assertion `left == right` failed"),
    ),
    "cargo test passes": Sample("cargo test", 0, OUTPUTS["cargo_passed"], of_tests("cargo", True, 0, 2)),
    "cargo test does not compile": Sample(
        "cargo test",
        101,
        OUTPUTS["cargo_broken"],
        of_tests("cargo", False, 0, 0, (), "error[E0308]: mismatched types"),
    ),
    "cargo nextest fails": Sample(
        "cargo nextest run",
        100,
        OUTPUTS["nextest_failed"],
        of_tests("cargo", False, 1, 1, ("calc tests::adds",), "assertion `left == right` failed"),
    ),
    "cargo build fails": Sample(
        "cargo build --release",
        101,
        OUTPUTS["cargo_broken"],
        of_build("cargo", False, 0, 0, (), "error[E0308]: mismatched types"),
    ),
    "cargo build passes": Sample(
        "cargo +nightly check",
        "",
        "    Finished `dev` profile [unoptimized + debuginfo] target(s) in 0.15s\n",
        of_build("cargo", True),
    ),
    "tsc fails": Sample(
        "npx tsc --noEmit",
        2,
        OUTPUTS["tsc_failed"],
        of_build(
            "tsc",
            False,
            2,
            0,
            ("src/cart.ts", "src/total.ts"),
            "TS2322: Type 'string' is not assignable to type 'number'.",
        ),
    ),
    "tsc passes": Sample("tsc -p .", 0, "", of_build("tsc", True)),
    "maven fails": Sample(
        "./mvnw -q test",
        1,
        OUTPUTS["maven_failed"],
        of_tests("maven", False, 1, 1, ("CalcTest.adds",), "expected: <4> but was: <0>"),
    ),
    "maven does not compile": Sample(
        "mvn compile",
        1,
        OUTPUTS["maven_broken"],
        of_build("maven", False, 0, 0, (), "/work/calc/src/main/java/Calc.java:[5,16] cannot find symbol"),
    ),
    "maven passes": Sample("mvn -B clean verify", 0, OUTPUTS["maven_passed"], of_tests("maven", True, 0, 5)),
    "gradle fails": Sample(
        "./gradlew :app:test",
        1,
        OUTPUTS["gradle_failed"],
        of_tests(
            "gradle",
            False,
            1,
            1,
            ("CalcTest > adds()",),
            "org.opentest4j.AssertionFailedError at CalcTest.java:12",
        ),
    ),
    "gradle does not compile": Sample(
        "gradle assemble",
        1,
        OUTPUTS["gradle_broken"],
        of_build("gradle", False, 0, 0, (), "Execution failed for task ':compileJava'."),
    ),
    "gradle passes": Sample("./gradlew build", 0, OUTPUTS["gradle_passed"], of_tests("gradle", True)),
    "rspec fails": Sample(
        "bundle exec rspec",
        1,
        OUTPUTS["rspec_failed"],
        of_tests("rspec", False, 1, 1, ("./spec/calc_spec.rb:3",), "expect(Calc.add(2, 2)).to eq(4)"),
    ),
    "rspec cannot load": Sample(
        "rspec", 1, OUTPUTS["rspec_broken"], of_tests("rspec", False, 0, 0, (), "require 'calk'")
    ),
    "rspec passes": Sample("rspec spec", 0, OUTPUTS["rspec_passed"], of_tests("rspec", True, 0, 1)),
    "make test runs pytest": Sample(
        "make test",
        2,
        f"python -m pytest\n{OUTPUTS['pytest_broken']}make: *** [Makefile:3: test] Error 1\n",
        of_tests(
            "pytest", False, 1, 0, ("tests/test_cart.py",), "ModuleNotFoundError: No module named 'cart'"
        ),
    ),
    "make stops": Sample(
        "make -j4 all",
        2,
        "gcc -c cart.c\ncart.c:3:5: error: unknown type name 'itn'\nmake: *** [Makefile:2: cart.o] Error 1\n",
        of_build("make", False, 0, 0, (), "cart.c:3:5: error: unknown type name 'itn'"),
    ),
    "make check passes": Sample("make check", 0, "all good\n", of_tests("make", True)),
    "ctest fails in a container": Sample(
        "docker compose run --rm web ctest",
        8,
        OUTPUTS["ctest_failed"],
        of_tests("ctest", False, 1, 1, ("add",), "50% tests passed, 1 tests failed out of 2"),
    ),
    "dotnet test fails": Sample(
        "dotnet test --nologo",
        1,
        OUTPUTS["dotnet_failed"],
        of_tests("dotnet", False, 1, 3, ("Shop.Tests.CartTests.Total",), "Assert.Equal() Failure"),
    ),
    "phpunit fails": Sample(
        "vendor/bin/phpunit",
        1,
        OUTPUTS["phpunit_failed"],
        of_tests(
            "phpunit", False, 1, 2, ("CartTest::testTotal",), "Failed asserting that 20 matches expected 30."
        ),
    ),
    "a script of tests passes": Sample("bash scripts/run_tests.sh", 0, "done\n", of_tests("tests", True)),
    "a type checker fails": Sample(
        "poetry run mypy src",
        1,
        'src/cart.py:3: error: Incompatible return value type (got "str", expected "int")\n',
        of_build(
            "compiler",
            False,
            0,
            0,
            (),
            'src/cart.py:3: error: Incompatible return value type (got "str", expected "int")',
        ),
    ),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_what_a_tool_prints_becomes_a_run(name):
    sample = SAMPLES[name]
    assert read_run_result(sample.command, sample.output, sample.exit) == sample.run


# What is no run -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "grep -rn 'failed' logs/",
        "grep -c FAILED pytest.log",
        "cat pytest.log",
        "tail -50 /tmp/test-output.txt",
        "git diff tests/test_cart.py",
        "git show HEAD:ci/pytest.log",
        "git commit -m 'run pytest && go test'",
        'git log --grep="pytest"',
        "echo '2 failed, 12 passed in 0.31s'",
        'echo "pytest"; cat out.txt',
        "rg pytest pyproject.toml",
        "ls tests/",
        "sed -n 1,50p tests/test_cart.py",
        "pip install pytest",
        "npm install jest",
        "npm ci",
        "which cargo",
        "python script.py",
        "python -c 'import pytest; pytest.main()'",
        "docker build -t pytest-image .",
        "docker compose up -d",
        "make clean",
        "make latest",
        "make deploy",
        "gh run view 12 --log-failed",
        "cat > run.sh <<'EOF'\npytest -q\ngo test ./...\nEOF",
        "test -f pytest.ini",
        "[ -d tests ] && ls",
        "vim tests/test_cart.py",
        "",
        "   ",
    ],
)
@pytest.mark.parametrize("exit_state", [0, 1, "exit 1", "failed", None])
def test_reading_searching_and_showing_is_no_run(command, exit_state):
    assert read_run_result(command, OUTPUTS["pytest_failed"], exit_state) is None


@pytest.mark.parametrize(
    ("command", "output", "exit_state"),
    [
        ("pytest --version", "pytest 8.3.4", 0),
        ("pytest --collect-only -q", "tests/test_a.py::test_b\n\n1 test collected in 0.01s", 0),
        ("pytest tests/nowhere.py", "ERROR: file or directory not found\n\nno tests ran in 0.00s", 4),
        ("pytest -k nothing", "14 deselected in 0.02s", 5),
        ("jest nowhere", "No tests found, exiting with code 1", 1),
        ("python -m unittest", "Ran 0 tests in 0.000s\n\nOK", 0),
        ("go test -run Nope ./...", "ok  \texample.com/calc\t0.002s [no tests to run]", None),
        ("cargo test --no-run", "    Finished `test` profile in 0.15s", 0),
        ("make -n test", "python -m pytest", 0),
        ("vitest --watch", OUTPUTS["vitest_passed"], None),
        ("pytest", "bash: pytest: command not found", 127),
        ("pytest", "bash: pytest: command not found", "failed"),
        ("pytest", "....", "interrupted"),
        ("timeout 60 pytest", "....", 124),
        ("pytest -q > log.txt 2>&1 &", "[1] 4242", 0),
        ("pytest | tee log.txt &", "", 0),
    ],
)
def test_a_run_that_tested_nothing_or_did_not_end_is_none(command, output, exit_state):
    assert read_run_result(command, output, exit_state) is None


@pytest.mark.parametrize(
    ("command", "exit_state", "passed"),
    [
        ("tsc", 0, True),
        ("tsc", 2, False),
        ("tsc", None, None),
        ("tsc", "", None),
        ("tsc | head", 0, None),
        ("set -o pipefail; tsc | head", 0, True),
        ("set -o pipefail; tsc | head", 2, False),
        ("tsc; echo done", 0, None),
        ("set -e\ntsc\necho done", 0, True),
        ("tsc || true", 0, None),
        ("tsc && node dist/main.js", 0, True),
        ("tsc && node dist/main.js", 1, None),
        ("npm ci && tsc", 1, None),
        ("cd web && tsc", 1, False),
        ("tsc;", 1, False),
        ("bash -lc 'cd web && tsc'", 1, False),
        ("if ! tsc; then echo no; fi", 0, None),
    ],
)
def test_an_exit_code_counts_only_where_it_is_the_runs_own(command, exit_state, passed):
    run = read_run_result(command, "", exit_state)
    assert (None if run is None else run.passed) is passed


def test_what_the_tool_reports_counts_before_a_swallowed_exit_code():
    assert read_run_result("pytest 2>&1 | tail -20", OUTPUTS["pytest_failed"], 0).passed is False
    assert read_run_result("pytest || true", OUTPUTS["pytest_failed"], "exit 0").passed is False


def test_of_one_run_the_last_report_counts_for_its_tests_may_print_others():
    nested = f"{OUTPUTS['pytest_failed']}\n3 passed in 0.10s\n"
    assert read_run_result("pytest", nested, 0).passed is True
    assert read_run_result("pytest", nested).passed is True
    assert read_run_result("pytest a; pytest b", nested, 0).passed is False


def test_at_most_twenty_names_are_told_and_all_are_counted():
    output = "\n".join(f"FAILED tests/test_a.py::test_{n} - assert 0" for n in range(50))
    run = read_run_result("pytest", f"{output}\n50 failed in 1.00s", 1)
    assert (run.failures, len(run.failing)) == (50, MAX_NAMES)


def test_a_secret_in_an_error_is_not_told():
    key = "ghp_" + secrets.token_hex(18)
    run = read_run_result("pytest", f"E   ValueError: bad token {key}\n1 failed in 0.1s", 1)
    assert key[:12] not in run.error
    assert "redacted" in run.error


def test_a_real_run_of_pytest_and_of_unittest_is_read(tmp_path):
    (tmp_path / "test_sums.py").write_text(
        "import unittest\n\nclass Sums(unittest.TestCase):\n"
        "    def test_good(self):\n        assert 1 + 1 == 2\n\n"
        "    def test_bad(self):\n        assert 1 + 1 == 3\n"
    )
    for module, name in (("pytest", "test_sums.py::Sums::test_bad"), ("unittest", "test_sums.Sums.test_bad")):
        command = [sys.executable, "-m", module]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
        run = read_run_result(" ".join(command), ran.stdout + ran.stderr, ran.returncode)
        assert (run.tool, run.passed, run.failures, run.successes, run.failing) == (
            module,
            False,
            1,
            1,
            (name,),
        )


# Whatever comes ------------------------------------------------------------------------------------------

COMMANDS = st.sampled_from([sample.command for sample in SAMPLES.values()]) | st.text(max_size=300)
LINES = st.sampled_from(
    [line for sample in SAMPLES.values() for line in sample.output.split("\n")]
) | st.text(max_size=80)


@given(
    COMMANDS, st.lists(LINES, max_size=30).map("\n".join), st.none() | st.integers() | st.text(max_size=20)
)
def test_reading_never_fails_and_says_only_what_makes_sense(command, output, exit_state):
    run = read_run_result(command, output, exit_state)
    if run is not None:
        assert run.failures >= 0 <= run.successes
        assert len(run.failing) <= MAX_NAMES
        assert not (run.passed and (run.failures or run.error or run.failing))
        assert len(run.summary) < 1000
        assert bool(run.failure_names) is not run.passed


@pytest.mark.parametrize(
    "unit",
    [
        "x",
        ":1",
        "1:",
        "a.py:",
        "(1,1",
        "E ",
        "● ",
        "FAILED a.py[",
        "FAIL\t",
        "Error",
        " > ",
        "\x1b[",
        "\r",
        "\n",
    ],
    ids=repr,
)
def test_a_megabyte_of_anything_is_read_to_its_end(unit):
    """Steps that grow with the square of the length would not come to an end within a test's time."""
    output = unit * (1_000_000 // len(unit))
    lines = (unit * 150 + "\n") * (1_000_000 // (150 * len(unit) + 1))
    for text in (output, lines):
        run = read_run_result("make test", text, 1)
        assert not run.passed
        assert len(run.summary) < 1000
        assert read_run_result(text, text[:1000], 1) is None
