"""What runs come to, as they look in the result of an agent's tool: in colours, cut off, several in one."""

from __future__ import annotations

import pytest

from foreword.capture.runs.run import read_run_result

PASSED, FAILED, NOTHING, BUILT, BROKEN = "passed", "failed", "nothing", "built", "build failed"

RED, GREEN, BOLD, DIM, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[1m", "\x1b[2m", "\x1b[0m"

JEST_GOOD = (
    "Test Suites: 1 passed, 1 total\nTests:       3 passed, 3 total\nSnapshots:   0 total\nTime: 0.4 s\n"
)
JEST_BAD = (
    "FAIL src/b.test.js\n  ● adds › numbers\n\n    expect(received).toBe(expected)\n\n"
    "Test Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 3 passed, 4 total\nTime: 1.2 s\n"
)
VITEST_BAD = (
    " ❯ src/b.test.ts (1)\n\n FAIL  src/b.test.ts > adds\nAssertionError: expected 1 to be 2\n\n"
    " Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 2 passed (3)\n   Duration  300ms\n"
)
CARGO_HEAD = (
    "   Compiling calc v0.1.0\n    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.5s\n"
    "     Running unittests src/lib.rs (target/debug/deps/calc-c6626fb655a8d231)\n\nrunning 3 tests\n"
)
CARGO_GOOD = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
CARGO_ZERO = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.00s\n"
CARGO_BAD = (
    "test b ... FAILED\n\ntest result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n\n"
    "error: test failed, to rerun pass `--lib`\n"
)
GRADLE_BAD = (
    "CalcTest > adds() FAILED\n    org.opentest4j.AssertionFailedError at CalcTest.java:12\n\n"
    "2 tests completed, 1 failed\n\n> Task :test FAILED\n\nFAILURE: Build failed with an exception.\n\n"
    "* What went wrong:\nExecution failed for task ':test'.\n\nBUILD FAILED in 2s\n"
)
RSPEC_OUTSIDE = "0 examples, 0 failures, 1 error occurred outside of examples\n"
NODE_ERRORS = "npm ERR! \nnpm ERR! To see a list of scripts, run:\nnpm ERR!   npm run\n"

PYTHON = [
    ("pytest -q", "...      [100%]\n3 passed in 0.02s\n", 0, PASSED),
    (
        "pytest --color=yes",
        f"{GREEN}=== {BOLD}3 passed{PLAIN}{GREEN} in 0.12s{PLAIN}{GREEN} ==={PLAIN}\n",
        None,
        PASSED,
    ),
    (
        "pytest --color=yes | tail -5",
        f"{RED}=== {BOLD}1 failed{PLAIN}, {GREEN}2 passed{PLAIN}{RED} in 0.12s ==={PLAIN}\n",
        0,
        FAILED,
    ),
    ("pytest", "=== 1 failed, 2 passed in 0.12s ===\r\n", 1, FAILED),
    (
        "pytest -v | head -20",
        "tests/test_a.py::test_b FAILED   [ 50%]\ntests/test_a.py::test_c PASSED [100%]",
        0,
        FAILED,
    ),
    ("pytest 2>&1 | head -3", "=== test session starts ===\ntests/test_a.py ..F", 0, NOTHING),
    ("pytest 2>&1 | head -3", "=== test session starts ===\ntests/test_a.py ...", 0, NOTHING),
    ("pytest 2>&1 | head -3", "1 passed in 0.1s\n\n\n", 0, PASSED),
    ("pytest a; pytest b", "=== 1 failed in 0.1s ===\n=== 2 passed in 0.1s ===", 0, FAILED),
    ("pytest a; pytest b", "=== 1 passed in 0.1s ===\n=== 2 passed in 0.1s ===", 0, NOTHING),
    ("for i in 1 2 3; do pytest -q; done", "1 passed in 0.1s\n1 failed in 0.1s\n1 passed in 0.1s", 0, FAILED),
    ("pytest; npx jest", f"=== 2 passed in 0.1s ===\n{JEST_BAD}", None, FAILED),
    ("pytest; npx jest", "=== 2 passed in 0.1s ===\n", None, NOTHING),
    ("pytest && npx jest", f"=== 2 passed in 0.1s ===\n{JEST_GOOD}", None, NOTHING),
    (
        "pytest && mypy src",
        "=== 2 passed in 0.1s ===\nsrc/a.py:1: error: x\nFound 1 error in 1 file",
        1,
        BROKEN,
    ),
    ("mypy src && pytest", "Success: no issues found in 3 source files\n=== 2 passed in 0.1s ===", 0, PASSED),
    ("mypy src && pytest", "src/a.py:1: error: x\nFound 1 error in 1 file", 1, BROKEN),
    ("pytest && ./deploy.sh", "=== 2 passed in 0.1s ===\nno route to host", 1, PASSED),
    ("pytest", "FAIL Required test coverage of 90% not reached\n=== 5 passed in 0.5s ===", 1, FAILED),
    ("pytest", "=== 3 skipped in 0.1s ===", 0, NOTHING),
    ("pytest -k zz", "=== 3 deselected in 0.01s ===", 5, NOTHING),
    (
        "pytest --foo",
        "ERROR: usage: pytest [options]\npytest: error: unrecognized arguments: --foo\n",
        4,
        NOTHING,
    ),
    (
        "pytest --foo",
        "ERROR: usage: pytest [options]\npytest: error: unrecognized arguments: --foo\n",
        "failed",
        NOTHING,
    ),
    ("python -m pytest", "/usr/bin/python: No module named pytest\n", 1, NOTHING),
    (
        "uv run pytest",
        "error: Failed to spawn: `pytest`\n  Caused by: No such file or directory\n",
        2,
        NOTHING,
    ),
    ("pytest", "ImportError while loading conftest '/work/conftest.py'.\n", 4, NOTHING),
    ("pytest", "INTERNALERROR> Traceback (most recent call last):\n", 3, NOTHING),
    ("pytest", "!!!!!!! KeyboardInterrupt !!!!!!!\n=== 2 passed in 1.0s ===", 2, NOTHING),
    (
        "pytest",
        "ERROR tests/test_a.py\n!!! Interrupted: 1 error during collection !!!\n=== 1 error in 0.08s ===",
        2,
        FAILED,
    ),
    ("python -m unittest", "...\n-----\nRan 3 tests in 0.000s\n\nOK\n", 0, PASSED),
    ("python -m unittest -v | tail -3", "Ran 1 test in 0.000s\n\nOK (expected failures=1)\n", 0, PASSED),
    ("python -m unittest", "Ran 1 test in 0.000s\n\nOK (expected failures=1)\n", 0, PASSED),
    ("python -m unittest", "Ran 1 test in 0.000s\n\nFAILED (unexpected successes=1)\n", 1, FAILED),
    (
        "python -m unittest 2>&1 | tail",
        "Ran 1 test in 0.000s\n\nFAILED (unexpected successes=1)\n",
        0,
        FAILED,
    ),
    (
        "python -m unittest",
        "Ran 4 tests in 0.0s\n\nFAILED (failures=1, expected failures=1, skipped=1)\n",
        1,
        FAILED,
    ),
    (
        "python -m unittest a; python -m unittest b",
        "Ran 1 test in 0s\n\nFAILED (errors=1)\nRan 1 test in 0s\n\nOK\n",
        0,
        FAILED,
    ),
    ("python -m unittest", "-----\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n", 5, NOTHING),
    ("python -m unittest", "-----\nRan 0 tests in 0.000s\n\nOK\n", 0, NOTHING),
    ("python -m unittest", "Ran 3 tests in 0.000s\n\nOK (skipped=3)\n", 0, NOTHING),
    ("python -m unittest > log.txt 2>&1", "", 0, NOTHING),
    ("python tests/test_math.py", "", 0, NOTHING),
    ("python tests/test_math.py", "Ran 2 tests in 0.000s\n\nOK\n", 0, PASSED),
]
JAVASCRIPT = [
    ("npx jest", JEST_BAD, 1, FAILED),
    ("npx jest", JEST_GOOD, 0, PASSED),
    (
        "npm test",
        f"{BOLD}Test Suites: {PLAIN}{GREEN}1 passed{PLAIN}, 1 total\n"
        f"{BOLD}Tests:       {PLAIN}{GREEN}1 passed{PLAIN}, 1 total\n",
        0,
        PASSED,
    ),
    ("npm test --workspaces 2>&1 | tail -99", f"{JEST_BAD}\n> b@1 test\n{JEST_GOOD}", 0, FAILED),
    ("npm test --workspaces 2>&1 | tail -99", f"{JEST_GOOD}\n> b@1 test\n{JEST_GOOD}", 0, NOTHING),
    (
        "npm test --workspaces | tail -9",
        f"{JEST_GOOD}npm ERR! Lifecycle script `test` failed with error:\n",
        0,
        FAILED,
    ),
    (
        "pnpm -r test",
        "packages/a test: Tests: 1 failed, 1 total\npackages/b test: Tests: 3 passed, 3 total\n",
        None,
        FAILED,
    ),
    (
        "npx turbo run test; npm test",
        "web:test: Tests:       1 failed, 1 total\napi:test: Tests:  3 passed, 3 total\n",
        0,
        FAILED,
    ),
    ("docker compose run --rm web npm test", "web-1  | Tests:       1 failed, 1 total\n", 0, FAILED),
    ("npx jest | head -4", "FAIL src/b.test.js\n  ● adds › numbers\n\n    expect(received)", 0, FAILED),
    ("npx jest", "No tests found, exiting with code 1\nRun with `--passWithNoTests`", 1, NOTHING),
    ("npx jest --passWithNoTests", "No tests found, exiting with code 0\n", 0, NOTHING),
    ("npx jest", "Test Suites: 1 skipped, 0 of 1 total\nTests:       2 skipped, 2 total\n", 0, NOTHING),
    ("npx jest", "sh: 1: jest: not found\n", 127, NOTHING),
    ("npm test", "> jest\n\nsh: 1: jest: not found\n", 1, NOTHING),
    (
        "npm test",
        '> echo "Error: no test specified" && exit 1\n\nError: no test specified\nnpm ERR! Test failed.\n',
        1,
        NOTHING,
    ),
    ("npm test", f'npm ERR! Missing script: "test"\n{NODE_ERRORS}', 1, NOTHING),
    ("yarn test", 'error Command "test" not found.\n', 1, NOTHING),
    ("npm test", "npm error enoent Could not read package.json: Error: ENOENT\n", 254, NOTHING),
    ("npm test", "> echo no tests yet\n\nno tests yet\n", 0, NOTHING),
    ("npm run test --if-present", "", 0, NOTHING),
    ("npm run build", "> tsc -p .\n", 0, BUILT),
    (
        "npm run build",
        "src/a.ts(1,7): error TS2322: Type 'string' is not assignable\nnpm ERR! code ELIFECYCLE\n",
        2,
        BROKEN,
    ),
    ("npx vitest run", VITEST_BAD, 1, FAILED),
    ("pnpm vitest run | tail", VITEST_BAD, 0, FAILED),
    ("pnpm vitest run | head -4", VITEST_BAD[:60], 0, FAILED),
    (
        "npx vitest run",
        f"{DIM} Test Files {PLAIN} {GREEN}2 passed{PLAIN} (2)\n"
        f"{DIM}      Tests {PLAIN} {GREEN}3 passed{PLAIN} (3)\n",
        0,
        PASSED,
    ),
    (
        "npx vitest run 2>&1 | tail",
        " Test Files  2 passed (2)\n      Tests  3 passed (3)\n     Errors  1 error\n",
        0,
        FAILED,
    ),
    ("npx vitest run", " Test Files  no tests\n      Tests  no tests\n", 0, NOTHING),
    ("npx vitest run", " Test Files  1 skipped (1)\n      Tests  2 todo (2)\n", 0, NOTHING),
    ("npx vitest run", "No test files found, exiting with code 1\n", 1, NOTHING),
    (
        "npx mocha",
        "  2 passing (5ms)\n  1 failing\n\n  1) adds\n       fails:\n     AssertionError: x\n",
        1,
        FAILED,
    ),
    ("npx mocha | tail -20", "  2 passing (5ms)\n  1 failing\n", 0, FAILED),
    ("npx mocha", f"\n{GREEN}  3 passing{PLAIN} (5ms)\n", 0, PASSED),
    ("npx mocha | grep passing", "  2 passing (5ms)\n", 0, NOTHING),
    ("npx mocha", "\n  0 passing (1ms)\n", 0, NOTHING),
    ("npx mocha", "\n  0 passing (1ms)\n  2 pending\n", 0, NOTHING),
    ("npx mocha", "", 0, NOTHING),
    ("npx tsc --noEmit | head", "src/a.ts(1,7): error TS2322: Type 'string' is not assignable\n", 0, BROKEN),
    (
        "npx tsc",
        f"\x1b[96msrc/a.ts{PLAIN}:1:7 - {RED}error{PLAIN} TS2322: Type\n\nFound 1 error in src/a.ts:1\n",
        2,
        BROKEN,
    ),
    ("npx tsc --noEmit", "", 0, BUILT),
    ("npx tsc --noEmit | tail", "", 0, NOTHING),
    ("npx tsc -p nowhere", "error TS5058: The specified path does not exist: 'nowhere'.\n", 1, NOTHING),
    ("npx tsc", "This is not the tsc command you are looking for\n", 1, NOTHING),
    ("node --test | tail", "# tests 3\n# pass 2\n# fail 1\n", 0, FAILED),
    ("node --test", "# tests 0\n# pass 0\n# fail 0\n", 0, NOTHING),
]
COMPILED = [
    ("go test ./...", "ok  \texample.com/a\t0.002s\n?   \texample.com/b\t[no test files]\n", 0, PASSED),
    (
        "go test ./... | tail",
        "--- FAIL: TestAdd (0.00s)\nFAIL\nFAIL\texample.com/a\t0.003s\nok  \tx/b\t0.1s\nFAIL\n",
        0,
        FAILED,
    ),
    ("go test ./... | tail -2", "ok  \tx/b\t0.1s\nFAIL\n", 0, FAILED),
    ("go test ./... | grep ok", "ok  \tx/b\t0.1s\n", 0, NOTHING),
    ("go test ./... 2>&1 | head -2", "ok  \tx/a\t0.1s\nok  \tx/b\t0.1s\n", 0, NOTHING),
    ("go test ./... 2>&1 | head -50", "ok  \tx/a\t0.1s\nok  \tx/b\t0.1s\n", 0, NOTHING),
    ("go test ./...", "?   \texample.com/b\t[no test files]\n", 0, NOTHING),
    ("go test -run Zzz ./...", "ok  \texample.com/a\t0.002s [no tests to run]\n", 0, NOTHING),
    ("go test -cover ./...", "\texample.com/a\t\tcoverage: 0.0% of statements\n", 0, NOTHING),
    ("go test -cover ./...", "ok  \texample.com/a\t(cached)\tcoverage: 80.0% of statements\n", 0, PASSED),
    ("go test ./...", "# x/a\n./a.go:3:2: undefined: x\nFAIL\tx/a [build failed]\nFAIL\n", 1, FAILED),
    ("go test ./...", "go: go.mod file not found in current directory or any parent directory\n", 1, NOTHING),
    ("go test -c ./a", "", 0, NOTHING),
    ("go build ./...", "", 0, BUILT),
    ("cargo test", f"{CARGO_HEAD}test b ... ok\n{CARGO_GOOD}", 0, PASSED),
    ("cargo test", f"{CARGO_HEAD}{CARGO_BAD}", 101, FAILED),
    ("cargo test 2>&1 | head -8", f"{CARGO_HEAD}test a ... ok\ntest b ... FAILED\n", 0, FAILED),
    ("cargo test 2>&1 | head -5", CARGO_HEAD, 0, NOTHING),
    ("cargo test 2>&1 | head -7", f"{CARGO_HEAD}test a ... ok\n", 0, NOTHING),
    ("cargo test", CARGO_HEAD, None, NOTHING),
    (
        "cargo test 2>&1 | tail -20",
        f"{CARGO_HEAD}error: test failed, to rerun pass `--lib`\n\nCaused by:\n  (signal: 11)\n",
        0,
        FAILED,
    ),
    (
        "cargo test --no-fail-fast | tail -4",
        f"{CARGO_GOOD}\nerror: 1 target failed:\n    `--lib`\n",
        0,
        FAILED,
    ),
    ("cargo test | grep 'test result: ok'", CARGO_GOOD, 0, NOTHING),
    ("cargo test", f"{CARGO_HEAD}{CARGO_ZERO}", 0, NOTHING),
    ("cargo test", "error: could not find `Cargo.toml` in `/tmp` or any parent directory\n", 101, NOTHING),
    (
        "cargo test",
        "error[E0308]: mismatched types\nerror: could not compile `x` (lib test) due to 1 previous error\n",
        101,
        FAILED,
    ),
    (
        "cargo build",
        "warning: unused\n    Finished dev [unoptimized + debuginfo] target(s) in 0.02s\n",
        0,
        BUILT,
    ),
    ("cargo build", "error[E0308]: mismatched types\nerror: could not compile `x` (lib)\n", 101, BROKEN),
    (
        "mvn test",
        "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n",
        0,
        PASSED,
    ),
    (
        "mvn test",
        "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE\n",
        1,
        FAILED,
    ),
    (
        "./mvnw -q test | tail",
        "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0\n[ERROR] There are test failures.\n",
        0,
        FAILED,
    ),
    (
        "mvn test -Dmaven.test.failure.ignore",
        "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n",
        0,
        FAILED,
    ),
    (
        "mvn -pl core test; mvn -pl web test",
        "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE\n"
        "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n",
        0,
        FAILED,
    ),
    ("mvn -q test", "", 0, PASSED),
    ("mvn clean install -DskipTests", "[INFO] Tests are skipped.\n[INFO] BUILD SUCCESS\n", 0, BUILT),
    ("mvn package -Dmaven.test.skip.exec=true", "[INFO] BUILD SUCCESS\n", 0, BUILT),
    ("mvn package -DskipTests=false", "[INFO] BUILD SUCCESS\n", 0, NOTHING),
    ("mvn package -Dmaven.test.skip=true", "[INFO] BUILD SUCCESS\n", 0, BUILT),
    ("mvn test", "[INFO] No tests to run.\n[INFO] BUILD SUCCESS\n", 0, NOTHING),
    (
        "mvn test",
        "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 2\n[INFO] BUILD SUCCESS\n",
        0,
        NOTHING,
    ),
    ("mvn test | tail -2", "[INFO] BUILD SUCCESS\n[INFO] Total time: 2 s\n", 0, NOTHING),
    ("mvn test", "[INFO] BUILD FAILURE\n[ERROR] there is no POM in this directory (/tmp)\n", 1, NOTHING),
    ("mvn tset test", '[INFO] BUILD FAILURE\n[ERROR] Unknown lifecycle phase "tset".\n', 1, NOTHING),
    (
        "mvn compile",
        "[ERROR] COMPILATION ERROR :\n[ERROR] /a/Calc.java:[5,16] cannot find symbol\n[INFO] BUILD FAILURE\n",
        1,
        BROKEN,
    ),
    (
        "mvn test",
        "[ERROR] COMPILATION ERROR :\n[ERROR] /a/Calc.java:[5,16] cannot find symbol\n[INFO] BUILD FAILURE\n",
        1,
        FAILED,
    ),
    ("./gradlew test", GRADLE_BAD, 1, FAILED),
    ("./gradlew test | head -5", GRADLE_BAD[:90], 0, FAILED),
    (
        "./gradlew test",
        f"{GREEN}> Task :test{PLAIN}\n\n{GREEN}{BOLD}BUILD SUCCESSFUL{PLAIN} in 1s\n",
        0,
        PASSED,
    ),
    ("./gradlew test", "> Task :test UP-TO-DATE\n\nBUILD SUCCESSFUL in 1s\n", 0, PASSED),
    ("./gradlew test | tail -2", "BUILD SUCCESSFUL in 1s\n3 actionable tasks: 3 executed\n", 0, PASSED),
    (
        "./gradlew test --continue",
        "2 tests completed, 1 failed\n> Task :test\n\nBUILD SUCCESSFUL in 1s\n",
        0,
        FAILED,
    ),
    ("./gradlew build -x test", "> Task :compileJava\nBUILD SUCCESSFUL in 1s\n", 0, BUILT),
    (
        "./gradlew test",
        "> Task :compileTestJava NO-SOURCE\n> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s\n",
        0,
        NOTHING,
    ),
    ("./gradlew build", "> Task :compileJava\n> Task :test SKIPPED\n\nBUILD SUCCESSFUL in 1s\n", 0, NOTHING),
    (
        "./gradlew test",
        "* What went wrong:\nTask 'test' not found in root project 'x'.\n\nBUILD FAILED in 2s\n",
        1,
        NOTHING,
    ),
    (
        "./gradlew test --tests Nope",
        "* What went wrong:\n> No tests found for given includes: [Nope]\n\nBUILD FAILED in 2s\n",
        1,
        NOTHING,
    ),
    ("./gradlew cleanTest", "> Task :cleanTest\nBUILD SUCCESSFUL in 1s\n", 0, NOTHING),
]
OTHERS = [
    ("bundle exec rspec", "2 examples, 1 failure\n\nrspec ./spec/calc_spec.rb:4 # Calc adds\n", 1, FAILED),
    ("rspec | tail -3", f"{RED}2 examples, 1 failure{PLAIN}\n", 0, FAILED),
    ("rspec | head -3", "Failed examples:\n\nrspec ./spec/calc_spec.rb:4 # Calc adds\n", 0, FAILED),
    ("rspec", "3 examples, 0 failures, 1 pending\n", 0, PASSED),
    ("rspec a; rspec b", "1 example, 1 failure\n3 examples, 0 failures\n", 0, FAILED),
    ("rspec", "1 example, 0 failures, 1 pending\n", 0, NOTHING),
    ("rspec", "No examples found.\n\n0 examples, 0 failures\n", 0, NOTHING),
    ("rspec | tail", f"An error occurred while loading ./spec/a_spec.rb.\n{RSPEC_OUTSIDE}", 0, FAILED),
    ("rspec spec/no_spec.rb", f"cannot load such file -- /w/spec/no_spec\n{RSPEC_OUTSIDE}", 1, NOTHING),
    (
        "make test 2>&1 | tail -5",
        "5 passed in 0.10s\nruff check .\nsrc/a.py:1:1 E501\nmake: *** [Makefile:3: test] Error 1\n",
        0,
        FAILED,
    ),
    (
        "make test | tail",
        f"5 passed in 0.10s\n{CARGO_BAD}make: *** [Makefile:3: test] Error 101\n",
        0,
        FAILED,
    ),
    ("make test", f"5 passed in 0.10s\n{CARGO_GOOD}", 0, PASSED),
    ("make test", "make: [Makefile:2: clean] Error 1 (ignored)\n3 passed in 0.1s\n", 0, PASSED),
    (
        "make test",
        "make[1]: *** [x] Error 1\nmake: [Makefile:2: x] Error 2 (ignored)\n3 passed in 0.1s\n",
        0,
        PASSED,
    ),
    ("make test", "make: Nothing to be done for 'test'.\n", 0, NOTHING),
    ("make test", "make: 'test' is up to date.\n", 0, NOTHING),
    ("make test", "make: *** No rule to make target 'test'.  Stop.\n", 2, NOTHING),
    ("make", "make: *** No targets specified and no makefile found.  Stop.\n", 2, NOTHING),
    (
        "make test",
        "make: pytest: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n",
        2,
        NOTHING,
    ),
    ("make", "make: *** No rule to make target 'src/b.c', needed by 'b.o'.  Stop.\n", 2, BROKEN),
    ("make", "gcc -c a.c\n", 0, BUILT),
    ("make", "a.c:3:5: error: unknown type name 'itn'\nmake: *** [Makefile:2: a.o] Error 1\n", 2, BROKEN),
    ("make test-data", "fetched\n", 0, NOTHING),
    ("make test-data", "", 2, NOTHING),
    ("make test-parser", "4 passed in 0.1s\n", 0, PASSED),
    ("make test-unit", "all good\n", 0, PASSED),
    ("ctest", "100% tests passed, 0 tests failed out of 3\n", 0, PASSED),
    ("ctest", "50% tests passed, 1 tests failed out of 2\n", 8, FAILED),
    ("ctest", "No tests were found!!!\n", 0, NOTHING),
    ("dotnet test", "Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3\n", 0, PASSED),
    (
        "dotnet test | tail",
        "Failed!  - Failed:     1, Passed:     3, Skipped:     0, Total:     4\n",
        0,
        FAILED,
    ),
    (
        "dotnet test",
        "  Determining projects to restore...\n  All projects are up-to-date for restore.\n",
        0,
        NOTHING,
    ),
    ("vendor/bin/phpunit", "OK (3 tests, 5 assertions)\n", 0, PASSED),
    ("vendor/bin/phpunit | tail", "FAILURES!\nTests: 3, Assertions: 5, Failures: 1.\n", 0, FAILED),
    ("vendor/bin/phpunit", "No tests executed!\n", 0, NOTHING),
    ("bundle exec rake test", "3 runs, 5 assertions, 0 failures, 0 errors, 0 skips\n", 0, PASSED),
    ("rails test | tail", "3 runs, 5 assertions, 0 failures, 1 errors, 0 skips\n", 0, FAILED),
    ("rake test", "0 runs, 0 assertions, 0 failures, 0 errors, 0 skips\n", 0, NOTHING),
    ("rake test", "", 0, NOTHING),
    ("tox -e lint", "lint: OK\n", 0, NOTHING),
    ("tox", "  py311: FAIL code 1 (0.1 seconds)\n  evaluation failed :( (1.0 seconds)\n", 1, FAILED),
    ("! pytest", "", 0, NOTHING),
    ("pytest a; pytest b", "=== 2 passed in 0.1s ===\n", None, NOTHING),
    ("pytest a && pytest b", "=== 2 passed in 0.1s ===\n", 0, PASSED),
    ("npm test; make check", "[12,345 characters truncated]\n=== 2 passed in 0.1s ===\n", None, NOTHING),
    ("pytest", "... [12,345 characters truncated] ...\n=== 2 passed in 0.1s ===\n", None, PASSED),
    ("npx jest | tail -2", "Tests:       3 passed, 3 total\nTime: 1 s\n", None, NOTHING),
    ("npx jest | grep Tests:", "Tests:       3 passed, 3 total\n", None, NOTHING),
    ("for d in a b; do (cd $d && pytest -q); done | tail -1", "2 passed in 0.1s\n", None, NOTHING),
    ("(pytest a; pytest b) | tail -1", "2 passed in 0.1s\n", None, NOTHING),
    ("npm test --workspaces | tail -4", JEST_GOOD, None, NOTHING),
    (
        "pnpm -r test | tail -5",
        f"{JEST_GOOD} ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL  web@1 test: `jest`\n",
        0,
        FAILED,
    ),
    ("pytest", "Command timed out after 2m 0.0s\n", 1, NOTHING),
    ("pytest", "The sandbox is away.\n", "failed", NOTHING),
    ("npm test", "The sandbox is away.\n", "failed", NOTHING),
    ("timeout 60 tsc", "", 124, NOTHING),
    ("pytest", "1 failed in 0.1s\n", "failed", FAILED),
    ("pytest", "", -9, NOTHING),
    (
        "docker run --rm web pytest",
        "docker: Error response from daemon: pull access denied for web\n",
        1,
        NOTHING,
    ),
    ("npx jest", "npm error npx canceled due to missing packages and no YES option\n", 1, NOTHING),
    ("npx vitest run", "failed to load config from /w/vitest.config.ts\n", 1, NOTHING),
    ("node --test nope", "Could not find '/w/nope'\n", 1, NOTHING),
    ("npx mocha", "\n Exception during run: ReferenceError: cart is not defined\n", 1, FAILED),
    ("dotnet test", "Cart.cs(3,5): error CS1002: ; expected\n\nBuild FAILED.\n", 1, FAILED),
    ("rake test", "rake aborted!\nNo Rakefile found (looking for: rakefile, Rakefile)\n", 1, NOTHING),
    (
        "mvn -q test",
        "[ERROR] COMPILATION ERROR : \n[ERROR] /a/Calc.java:[5,16] cannot find symbol\n",
        1,
        FAILED,
    ),
    ("mypy nowhere.py", "mypy: can't read file 'nowhere.py': No such file or directory\n", 2, NOTHING),
    ('"$VENV/bin/pytest" -q', "1 passed in 0.1s\n", 0, PASSED),
    ("gcc -o t t.c && ./t", "x.c:3: error: printed by a test\n", 0, BUILT),
    ("gcc -o t t.c; ./t", "t.c:3:1: error: unknown type name 'itn'\n", 1, BROKEN),
]


def verdict_of(run):
    if run is None:
        return NOTHING
    if run.purpose == "build":
        return BUILT if run.passed else BROKEN
    return PASSED if run.passed else FAILED


@pytest.mark.parametrize(
    ("command", "output", "exit_state", "verdict"), [*PYTHON, *JAVASCRIPT, *COMPILED, *OTHERS]
)
def test_a_run_comes_to_what_it_has_shown(command, output, exit_state, verdict):
    assert verdict_of(read_run_result(command, output, exit_state)) == verdict


WENT_WRONG = [
    (command.split("|")[0].strip(), output.rstrip("\n").split("\n"))
    for command, output, _, verdict in [*PYTHON, *JAVASCRIPT, *COMPILED, *OTHERS]
    if verdict in (FAILED, BROKEN)
    and not any(sign in f"{command}{output}" for sign in (";", "cover", "--continue"))
]


@pytest.mark.parametrize("exit_state", [0, None])
@pytest.mark.parametrize(("command", "lines"), WENT_WRONG)
def test_of_what_went_wrong_no_part_is_taken_for_a_pass(command, lines, exit_state):
    for kept in range(len(lines) + 1):
        for pipe, seen in (
            (f"head -{kept}", lines[:kept]),
            (f"tail -n {kept}", lines[len(lines) - kept :]),
            ("grep -v it", lines[:kept] + lines[kept + 1 :]),
            ("grep it", lines[kept : kept + 1]),
        ):
            run = read_run_result(f"{command} 2>&1 | {pipe}", "\n".join(seen), exit_state)
            assert verdict_of(run) not in (PASSED, BUILT), (pipe, seen)
