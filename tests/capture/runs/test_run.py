from __future__ import annotations

import secrets
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.capture.runs.run import MOST_NAMES, Failures, Run, judge, read_run

# What tools print, in both outcomes: command, exit, output, and what a run should say ----------------------

PYTEST_FAILED = """\
============================= test session starts ==============================
platform linux -- Python 3.12.1, pytest-8.3.4, pluggy-1.5.0
rootdir: /work/shop
collected 14 items

tests/test_cart.py ....F.......F.                                        [100%]

=================================== FAILURES ===================================
______________________________ test_total[two items] ___________________________

    def test_total(items):
>       assert total(items) == 30
E       assert 20 == 30
E        +  where 20 = total([10, 10])

tests/test_cart.py:14: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total[two items] - assert 20 == 30
FAILED tests/test_cart.py::TestCart::test_empty - ZeroDivisionError: division by zero
========================= 2 failed, 12 passed in 0.31s =========================
"""
PYTEST_BROKEN = """\
==================================== ERRORS ====================================
_____________________ ERROR collecting tests/test_cart.py ______________________
ImportError while importing test module '/work/shop/tests/test_cart.py'.
E   ModuleNotFoundError: No module named 'cart'
=========================== short test summary info ============================
ERROR tests/test_cart.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
=============================== 1 error in 0.12s ===============================
"""
UNITTEST_FAILED = """\
.F.E
======================================================================
ERROR: test_empty (tests.test_cart.CartTest.test_empty)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/work/shop/tests/test_cart.py", line 9, in test_empty
    average([])
ZeroDivisionError: division by zero

======================================================================
FAIL: test_total (tests.test_cart.CartTest)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/work/shop/tests/test_cart.py", line 14, in test_total
    self.assertEqual(total([10, 10]), 30)
AssertionError: 20 != 30

----------------------------------------------------------------------
Ran 5 tests in 0.002s

FAILED (failures=1, errors=1, skipped=1)
"""
JEST_FAILED = """\
FAIL src/calc.test.js
  ● calc › adds

    expect(received).toBe(expected) // Object.is equality

    Expected: 3
    Received: 2

    \x1b[0m \x1b[90m 1 |\x1b[39m describe("calc", () => {
      at Object.toBe (calc.test.js:2:38)

PASS src/ok.test.js

Test Suites: 1 failed, 1 passed, 2 total
Tests:       1 failed, 2 passed, 3 total
Snapshots:   0 total
Time:        0.784 s
Ran all test suites.
"""
JEST_BROKEN = """\
FAIL src/calc.test.js
  ● Test suite failed to run

    Cannot find module './calc' from 'src/calc.test.js'

Test Suites: 1 failed, 1 total
Tests:       0 total
Snapshots:   0 total
Time:        0.31 s
"""
JEST_PASSED = """\
PASS src/ok.test.js
  ✓ fine (14 ms)

Test Suites: 1 passed, 1 total
Tests:       1 skipped, 4 passed, 5 total
Snapshots:   0 total
Time:        0.475 s, estimated 1 s
Ran all test suites.
"""
VITEST_FAILED = """\
\x1b[1m\x1b[30m\x1b[46m RUN \x1b[49m\x1b[39m\x1b[22m \x1b[36mv4.1.12 \x1b[39m\x1b[90m/work/shop\x1b[39m

 \x1b[31m❯\x1b[39m calc.test.ts \x1b[2m(\x1b[22m\x1b[2m2 tests | \x1b[31m1 failed\x1b[39m\x1b[2m)\x1b[22m 18ms

\x1b[31m⎯⎯⎯⎯⎯⎯⎯\x1b[39m\x1b[1m\x1b[41m Failed Tests 1 \x1b[49m\x1b[22m\x1b[31m⎯⎯⎯⎯⎯⎯⎯\x1b[39m

\x1b[41m\x1b[1m FAIL \x1b[22m\x1b[49m calc.test.ts\x1b[2m > \x1b[22mcalc\x1b[2m > \x1b[22madds
\x1b[31m\x1b[1mAssertionError\x1b[22m: expected 2 to be 3 // Object.is equality\x1b[39m

\x1b[2m Test Files \x1b[22m \x1b[1m\x1b[31m1 failed\x1b[39m\x1b[22m\x1b[90m (1)\x1b[39m
\x1b[2m      Tests \x1b[22m \x1b[1m\x1b[31m1 failed\x1b[39m\x1b[22m | 1 passed\x1b[90m (2)\x1b[39m
\x1b[2m   Start at \x1b[22m 08:11:23
\x1b[2m   Duration \x1b[22m 443ms
"""
VITEST_PASSED = """
 RUN  v4.1.12 /work/shop

 ✓ calc.test.ts (2 tests) 8ms

 Test Files  1 passed (1)
      Tests  2 passed (2)
   Start at  08:11:25
   Duration  446ms
"""
MOCHA_FAILED = """

  calc
    1) adds
    ✔ zero


  1 passing (11ms)
  1 failing

  1) calc
       adds:

      AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

2 !== 3

      + expected - actual

      at Context.<anonymous> (m/calc.js:3:29)
"""
MOCHA_PASSED = """

  calc
    ✔ adds
    ✔ zero


  2 passing (2ms)

"""
GO_FAILED = """\
--- FAIL: TestAdd (0.00s)
    --- FAIL: TestAdd/small (0.00s)
        calc_test.go:4: got 0, want 4
FAIL
FAIL\texample.com/calc\t0.008s
ok  \texample.com/calc/units\t(cached)
FAIL
"""
GO_BROKEN = """\
# example.com/calc [example.com/calc.test]
./calc.go:3:12: undefined: undefined_thing
FAIL\texample.com/calc [build failed]
FAIL
"""
GO_PASSED = """\
?   \texample.com/calc/cmd\t[no test files]
ok  \texample.com/calc\t0.007s
ok  \texample.com/calc/units\t(cached)
"""
CARGO_FAILED = """\
   Compiling calc v0.1.0 (/work/calc)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 1.15s
     Running unittests src/lib.rs (target/debug/deps/calc-c6626fb655a8d231)

running 2 tests
test tests::zero ... ok
test tests::adds ... FAILED

failures:

---- tests::adds stdout ----

thread 'tests::adds' (12352) panicked at src/lib.rs:6:17:
assertion `left == right` failed
  left: 0
 right: 4

failures:
    tests::adds

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.22s

error: test failed, to rerun pass `--lib`
"""
CARGO_PASSED = """\
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.49s
     Running unittests src/lib.rs (target/debug/deps/calc-c6626fb655a8d231)

running 2 tests
test tests::zero ... ok
test tests::adds ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests calc

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""
CARGO_BROKEN = """\
   Compiling calc v0.1.0 (/work/calc)
error[E0308]: mismatched types
  --> src/lib.rs:10:16
   |
10 | fn x() -> u8 { "s" }
   |           --   ^^^ expected `u8`, found `&str`

For more information about this error, try `rustc --explain E0308`.
error: could not compile `calc` (lib) due to 1 previous error
"""
NEXTEST_FAILED = """\
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.10s
    Starting 2 tests across 1 binary
        PASS [   0.004s] calc tests::zero
        FAIL [   0.005s] calc tests::adds
  stderr ───
    thread 'tests::adds' panicked at src/lib.rs:6:17:
    assertion `left == right` failed
------------
     Summary [   0.006s] 2 tests run: 1 passed, 1 failed, 0 skipped
        FAIL [   0.005s] calc tests::adds
error: test run failed
"""
TSC_FAILED = """\
src/cart.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.
src/total.ts:4:10 - error TS2304: Cannot find name 'sum'.

Found 2 errors in 2 files.
"""
MAVEN_FAILED = """\
[INFO] -------------------------------------------------------
[INFO]  T E S T S
[INFO] -------------------------------------------------------
[INFO] Running com.example.CalcTest
[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.05 s <<< FAILURE! -- in CalcTest
[ERROR] com.example.CalcTest.adds -- Time elapsed: 0.012 s <<< FAILURE!
org.opentest4j.AssertionFailedError: expected: <4> but was: <0>
[INFO]
[INFO] Results:
[INFO]
[ERROR] Failures:
[ERROR]   CalcTest.adds:12 expected: <4> but was: <0>
[INFO]
[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0
[INFO]
[INFO] ------------------------------------------------------------------------
[INFO] BUILD FAILURE
[INFO] ------------------------------------------------------------------------
[ERROR] Failed to execute goal org.apache.maven.plugins:maven-surefire-plugin:3.2.5:test (default-test)
"""
MAVEN_BROKEN = """\
[INFO] -------------------------------------------------------------
[ERROR] COMPILATION ERROR :
[INFO] -------------------------------------------------------------
[ERROR] /work/calc/src/main/java/Calc.java:[5,16] cannot find symbol
[INFO] 1 error
[INFO] BUILD FAILURE
"""
MAVEN_PASSED = """\
[INFO] Running com.example.CalcTest
[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.05 s -- in com.example.CalcTest
[INFO]
[INFO] Results:
[INFO]
[WARNING] Tests run: 6, Failures: 0, Errors: 0, Skipped: 1
[INFO]
[INFO] BUILD SUCCESS
"""
GRADLE_FAILED = """\
> Task :compileJava UP-TO-DATE
> Task :test FAILED

CalcTest > adds() FAILED
    org.opentest4j.AssertionFailedError at CalcTest.java:12

2 tests completed, 1 failed

FAILURE: Build failed with an exception.

* What went wrong:
Execution failed for task ':test'.
> There were failing tests. See the report at: file:///work/calc/build/reports/tests/test/index.html

BUILD FAILED in 2s
3 actionable tasks: 1 executed, 2 up-to-date
"""
GRADLE_BROKEN = """\
> Task :compileJava FAILED
/work/calc/src/main/java/Calc.java:5: error: cannot find symbol

FAILURE: Build failed with an exception.

* What went wrong:
Execution failed for task ':compileJava'.
> Compilation failed; see the compiler error output for details.

BUILD FAILED in 1s
"""
GRADLE_PASSED = "> Task :test\n\nBUILD SUCCESSFUL in 3s\n3 actionable tasks: 3 executed\n"
RSPEC_FAILED = """\
.F

Failures:

  1) Calc adds
     Failure/Error: expect(Calc.add(2, 2)).to eq(4)

       expected: 4
            got: 0

       (compared using ==)
     # ./spec/calc_spec.rb:4:in `block (2 levels) in <top (required)>'

Finished in 0.01 seconds (files took 0.1 seconds to load)
2 examples, 1 failure

Failed examples:

rspec ./spec/calc_spec.rb:3 # Calc adds
"""
RSPEC_BROKEN = """\
An error occurred while loading ./spec/calc_spec.rb.
Failure/Error: require 'calk'

LoadError:
  cannot load such file -- calk
Finished in 0.00002 seconds (files took 0.1 seconds to load)
0 examples, 0 failures, 1 error occurred outside of examples
"""
RSPEC_PASSED = (
    "..\n\nFinished in 0.01 seconds (files took 0.1 seconds to load)\n2 examples, 0 failures, 1 pending\n"
)


@dataclass(frozen=True)
class Sample:
    command: str
    exit: str | int | None
    output: str
    run: Run


def of_tests(tool, passed, *rest):
    return Run(tool, "test", passed, *rest)


def of_build(tool, passed, *rest):
    return Run(tool, "build", passed, *rest)


SAMPLES = {
    "pytest fails": Sample(
        "python -m pytest -q",
        "exit 1",
        PYTEST_FAILED,
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
        PYTEST_BROKEN,
        of_tests(
            "pytest", False, 1, 0, ("tests/test_cart.py",), "ModuleNotFoundError: No module named 'cart'"
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
        UNITTEST_FAILED,
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
        JEST_FAILED,
        of_tests(
            "jest", False, 1, 2, ("calc › adds",), "expect(received).toBe(expected) // Object.is equality"
        ),
    ),
    "jest cannot load": Sample(
        "yarn jest",
        "failed",
        JEST_BROKEN,
        of_tests(
            "jest", False, 1, 0, ("src/calc.test.js",), "Cannot find module './calc' from 'src/calc.test.js'"
        ),
    ),
    "jest passes through npm": Sample("npm test", "exit 0", JEST_PASSED, of_tests("jest", True, 0, 4)),
    "vitest fails": Sample(
        "pnpm vitest run",
        1,
        VITEST_FAILED,
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
        "pnpm run test:unit", None, VITEST_PASSED, of_tests("vitest", True, 0, 2)
    ),
    "mocha fails": Sample(
        "./node_modules/.bin/mocha test",
        1,
        MOCHA_FAILED,
        of_tests(
            "mocha",
            False,
            1,
            1,
            ("calc adds",),
            "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:",
        ),
    ),
    "mocha passes through yarn": Sample("yarn test", 0, MOCHA_PASSED, of_tests("mocha", True, 0, 2)),
    "npm test says nothing we know": Sample(
        "npm test",
        1,
        "npm error Lifecycle script `test` failed with error:\nnpm error code 1\n",
        of_tests("npm", False, 0, 0, (), "npm error Lifecycle script `test` failed with error:"),
    ),
    "go test fails": Sample(
        "go test ./...",
        1,
        GO_FAILED,
        of_tests("go", False, 1, 1, ("TestAdd", "TestAdd/small"), "calc_test.go:4: got 0, want 4"),
    ),
    "go test does not compile": Sample(
        "go test ./... | head -50",
        0,
        GO_BROKEN,
        of_tests("go", False, 1, 0, ("example.com/calc",), "./calc.go:3:12: undefined: undefined_thing"),
    ),
    "go test passes": Sample("go test ./...", 0, GO_PASSED, of_tests("go", True, 0, 2)),
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
        CARGO_FAILED,
        of_tests("cargo", False, 1, 1, ("tests::adds",), "assertion `left == right` failed"),
    ),
    "cargo test passes": Sample("cargo test", 0, CARGO_PASSED, of_tests("cargo", True, 0, 2)),
    "cargo test does not compile": Sample(
        "cargo test", 101, CARGO_BROKEN, of_tests("cargo", False, 0, 0, (), "error[E0308]: mismatched types")
    ),
    "cargo nextest fails": Sample(
        "cargo nextest run",
        100,
        NEXTEST_FAILED,
        of_tests("cargo", False, 1, 1, ("calc tests::adds",), "assertion `left == right` failed"),
    ),
    "cargo build fails": Sample(
        "cargo build --release",
        101,
        CARGO_BROKEN,
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
        TSC_FAILED,
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
        MAVEN_FAILED,
        of_tests("maven", False, 1, 1, ("CalcTest.adds",), "expected: <4> but was: <0>"),
    ),
    "maven does not compile": Sample(
        "mvn compile",
        1,
        MAVEN_BROKEN,
        of_build("maven", False, 0, 0, (), "/work/calc/src/main/java/Calc.java:[5,16] cannot find symbol"),
    ),
    "maven passes": Sample("mvn -B clean verify", 0, MAVEN_PASSED, of_tests("maven", True, 0, 5)),
    "gradle fails": Sample(
        "./gradlew :app:test",
        1,
        GRADLE_FAILED,
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
        GRADLE_BROKEN,
        of_build("gradle", False, 0, 0, (), "Execution failed for task ':compileJava'."),
    ),
    "gradle passes": Sample("./gradlew build", 0, GRADLE_PASSED, of_tests("gradle", True)),
    "rspec fails": Sample(
        "bundle exec rspec",
        1,
        RSPEC_FAILED,
        of_tests("rspec", False, 1, 1, ("./spec/calc_spec.rb:3",), "expect(Calc.add(2, 2)).to eq(4)"),
    ),
    "rspec cannot load": Sample(
        "rspec", 1, RSPEC_BROKEN, of_tests("rspec", False, 1, 0, (), "require 'calk'")
    ),
    "rspec passes": Sample("rspec spec", 0, RSPEC_PASSED, of_tests("rspec", True, 0, 1)),
    "make test runs pytest": Sample(
        "make test",
        2,
        f"python -m pytest\n{PYTEST_BROKEN}make: *** [Makefile:3: test] Error 1\n",
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
    "another runner fails": Sample(
        "docker compose run --rm web ctest",
        8,
        "1/2 Test #1: add ... Passed\n50% tests passed, 1 tests failed out of 2\n",
        of_tests("tests", False, 1, 1, (), "50% tests passed, 1 tests failed out of 2"),
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
    assert read_run(sample.command, sample.output, sample.exit) == sample.run


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
    assert read_run(command, PYTEST_FAILED, exit_state) is None


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
        ("vitest --watch", VITEST_PASSED, None),
        ("pytest", "bash: pytest: command not found", 127),
        ("pytest", "bash: pytest: command not found", "failed"),
        ("pytest", "....", "interrupted"),
        ("timeout 60 pytest", "....", 124),
        ("pytest -q > log.txt 2>&1 &", "[1] 4242", 0),
        ("pytest | tee log.txt &", "", 0),
    ],
)
def test_a_run_that_tested_nothing_or_did_not_end_is_none(command, output, exit_state):
    assert read_run(command, output, exit_state) is None


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
    run = read_run(command, "", exit_state)
    assert (None if run is None else run.passed) is passed


def test_what_the_tool_reports_counts_before_a_swallowed_exit_code():
    assert read_run("pytest 2>&1 | tail -20", PYTEST_FAILED, 0).passed is False
    assert read_run("pytest || true", PYTEST_FAILED, "exit 0").passed is False


def test_of_one_run_the_last_report_counts_for_its_tests_may_print_others():
    nested = f"{PYTEST_FAILED}\n3 passed in 0.10s\n"
    assert read_run("pytest", nested, 0).passed is True
    assert read_run("pytest", nested).passed is True
    assert read_run("pytest a; pytest b", nested, 0).passed is False


def test_at_most_twenty_names_are_told_and_all_are_counted():
    output = "\n".join(f"FAILED tests/test_a.py::test_{n} - assert 0" for n in range(50))
    run = read_run("pytest", f"{output}\n50 failed in 1.00s", 1)
    assert (run.failures, len(run.failing)) == (50, MOST_NAMES)


def test_a_secret_in_an_error_is_not_told():
    key = "ghp_" + secrets.token_hex(18)
    run = read_run("pytest", f"E   ValueError: bad token {key}\n1 failed in 0.1s", 1)
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
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        run = read_run(" ".join(command), ran.stdout + ran.stderr, ran.returncode)
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


@settings(max_examples=300)
@given(
    COMMANDS, st.lists(LINES, max_size=30).map("\n".join), st.none() | st.integers() | st.text(max_size=20)
)
def test_reading_never_fails_and_says_only_what_makes_sense(command, output, exit_state):
    run = read_run(command, output, exit_state)
    if run is not None:
        assert run.failures >= 0 <= run.successes
        assert len(run.failing) <= MOST_NAMES
        assert not (run.passed and (run.failures or run.error or run.failing))
        assert len(run.summary) < 1000
        assert bool(run.trouble) is not run.passed


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
def test_a_megabyte_of_anything_is_read_in_bounded_time(unit):
    output = unit * (1_000_000 // len(unit))
    lines = (unit * 150 + "\n") * (1_000_000 // (150 * len(unit) + 1))
    for text in (output, lines):
        begun = time.process_time()
        read_run("make test", text, 1)
        read_run(text, text[:1000], 1)
        assert time.process_time() - begun < 2.0


# What a run means ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Attempt:
    prediction: str = "The cart tests pass."
    action: str = "Count every item."
    hypothesis: str = "The second item is lost."


FAILED = Run("pytest", "test", False, 2, 12, ("cart::b", "cart::c"), "assert 20 == 30")
PASSED = Run("pytest", "test", True, 0, 14)


def test_a_run_resolves_the_open_attempt():
    assert judge(PASSED, Attempt()).status == "confirmed"
    assert judge(FAILED, Attempt()).status == "falsified"
    assert judge(FAILED, Attempt()).result == "pytest: 2 failed, 12 passed (cart::b, …): assert 20 == 30"
    assert judge(PASSED, Attempt()).result == "pytest: 14 passed"


def test_without_an_open_attempt_a_run_resolves_nothing():
    assert judge(PASSED, None).status is None
    assert judge(FAILED, None).status is None


def test_a_failure_is_warned_of_once_in_a_session():
    first = judge(FAILED, None)
    assert first.premortem
    assert not judge(FAILED, None, first.failures).premortem
    fewer = Run("pytest", "test", False, 1, 13, ("cart::c",), "assert 20 == 30")
    assert not judge(fewer, None, first.failures).premortem
    other = Run("pytest", "test", False, 1, 13, ("cart::d",), "KeyError")
    assert judge(other, None, first.failures).premortem
    assert not judge(PASSED, None).premortem


def test_a_session_remembers_what_it_saw_fail_and_old_sessions_are_let_go():
    failures = Failures(most_sessions=2)
    failures.note("shop", "s1", frozenset({"a"}))
    failures.note("shop", "s1", frozenset({"b"}))
    assert failures.seen("shop", "s1") == {"a", "b"}
    assert failures.seen("shop", "s2") == failures.seen("elsewhere", "s1") == frozenset()
    failures.note("shop", "s2", frozenset({"c"}))
    failures.note("shop", "s1", frozenset())
    failures.note("shop", "s3", frozenset({"d"}))
    assert failures.seen("shop", "s1") == {"a", "b"}
    assert failures.seen("shop", "s2") == frozenset()


def test_a_failure_without_a_name_is_known_by_its_error_whatever_the_numbers():
    def broken(line):
        return Run("make", "build", False, error=f"cart.c:{line}:5: error: unknown type name 'itn'")

    seen = judge(broken(3), None).failures
    assert not judge(broken(17), None, seen).premortem
    assert judge(Run("make", "build", False, error="linker failed"), None, seen).premortem


def test_that_it_compiles_confirms_only_who_said_so():
    compiled = Run("cargo", "build", True)
    assert judge(compiled, Attempt("Requests take half the time.")).status is None
    assert judge(compiled, Attempt("It compiles without the unsafe block.")).status == "confirmed"
    assert judge(Run("tsc", "build", False), Attempt("The build is clean.")).status == "falsified"


@pytest.mark.parametrize(
    ("prediction", "judged"),
    [
        ("test_total fails without the fix", False),
        ("the tests no longer fail", True),
        ("test_total doesn't fail any more", True),
        ("nothing breaks", True),
        ("The failing test passes.", True),
        ("test_total passes instead of failing", True),
        ("The cache stops failing; requests come through", True),
        ("The new test will fail at first.", False),
        ("CI goes red", False),
        ("All tests pass, and none of them fails.", True),
    ],
)
def test_a_prediction_of_failure_is_left_to_whoever_made_it(prediction, judged):
    assert (judge(PASSED, Attempt(prediction)).status is not None) is judged
