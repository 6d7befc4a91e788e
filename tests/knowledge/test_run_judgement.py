from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.capture.runs.run import RunResult, read_run_result
from foreword.capture.runs.scope import subject_key
from foreword.knowledge.run_judgement import SeenFailures, judge_run

PASSING, FAILING = (
    "3 passed in 0.10s\n",
    "FAILED tests/test_math.py::test_add - assert 1\n1 failed in 0.10s\n",
)

JEST = "Test Suites: 1 passed, 1 total\nTests:       1 passed, 1 total\n"


@dataclass(frozen=True)
class Attempt:
    prediction: str
    action: str = "convert the pause"
    hypothesis: str = "the pause is read in seconds"


def decide(command, output, prediction, exit_state=None, **more):
    run = read_run_result(command, output, exit_state)
    assert run is not None
    return judge_run(run, Attempt(prediction, **more)).speaks


@pytest.mark.parametrize(
    ("prediction", "command", "status"),
    [
        ("the tests pass", "pytest", "for"),
        ("the tests pass", "pytest tests/test_math.py", "for"),
        ("It works.", "pytest tests/test_math.py", "for"),
        ("all unit tests pass", "pytest tests/test_math.py", "for"),
        ("the failing test passes", "pytest tests/test_math.py", "for"),
        ("test_retry passes", "pytest", "for"),
        ("test_retry passes", "pytest -q tests", "for"),
        ("test_retry passes", "python -m pytest -q -p no:cacheprovider", "for"),
        ("test_retry passes", "pytest -x -n 4 --tb short --ignore tests/slow", "for"),
        ("test_retry passes", "make test", "for"),
        ("test_retry passes", "tsc && pytest tests/test_math.py", None),
        ("package.json is read", "pytest tests/test_math.py", None),
        ("package.json is read", "pytest tests/test_package.py", "for"),
        ("test_retry passes", "pytest tests/test_math.py", None),
        ("test_retry passes", "pytest tests/test_retry.py", "for"),
        ("test_retry passes", "pytest tests/test_calls.py::test_retry", "for"),
        ("test_retry passes", "pytest tests/test_retry.py::test_other", None),
        ("test_retry passes", "pytest -k retry", "for"),
        ("test_retry passes", "pytest -k 'not retry'", None),
        ("test_retry passes", "pytest -k math", None),
        ("test_retry passes", "pytest -m slow", None),
        ("test_retry passes", "pytest --lf", None),
        ("test_retry passes", "pytest --ignore tests/test_retry.py", None),
        ("test_retry passes", "pytest --deselect=tests/test_calls.py::test_retry", None),
        ("test_retry passes", "make test V=1 CC=clang", "for"),
        ("test_retry passes", "pytest -s tests/test_math.py", None),
        ("test_retry passes", "make test ARGS='-k math'", None),
        ("test_retry and test_math pass", "pytest tests/test_retry.py", None),
        ("test_retry and test_math pass", "pytest tests/test_retry.py tests/test_math.py", "for"),
        ("tests/test_calls.py::test_retry passes", "pytest tests/test_math.py", None),
        ("tests/test_retry.py is green", "pytest tests/test_retry.py", "for"),
        ("tests/test_retry.py is green", "pytest tests/test_retry.py -k pause", None),
        ("src/shop/retry.py waits", "pytest tests/test_math.py", None),
        ("src/shop/retry.py waits", "pytest tests/test_retry.py", "for"),
        ("shop.retry waits", "pytest tests/test_math.py", None),
        ("the retry tests pass", "pytest tests/test_math.py", None),
        ("the retry tests pass", "pytest tests/test_retry.py", "for"),
        ("the retry module waits", "pytest tests/test_math.py", None),
        ("pytest passes", "pytest", "for"),
        ("pytest passes", "make test", "for"),
        ("ruff is content", "pytest", None),
        ("`make lint` is silent", "pytest", None),
        ("`make test` passes", "make test", "for"),
        ("the build is clean", "pytest", None),
        ("it type-checks", "pytest", None),
        ("the build passes its tests", "pytest", "for"),
        ("Node.js reads it", "pytest tests/test_math.py", "for"),
    ],
)
def test_a_pass_confirms_what_it_has_touched(prediction, command, status):
    assert decide(command, PASSING, prediction) == status


@pytest.mark.parametrize(
    ("prediction", "command", "output", "status"),
    [
        ("TestRetry passes", "go test -run '^TestRetry$' ./...", "ok  \tx/a\t0.1s\n", "for"),
        ("TestRetry passes", "go test -run TestMath ./...", "ok  \tx/a\t0.1s\n", None),
        ("TestRetry passes", "go test ./...", "ok  \tx/a\t0.1s\n", "for"),
        ("TestRetry passes", "go test ./internal/math", "ok  \tx/internal/math\t0.1s\n", None),
        ("RetryTest passes", "mvn -q test -Dtest=RetryTest", "", "for"),
        ("RetryTest passes", "mvn -q test -Dtest=MathTest#adds", "", None),
        ("RetryTest passes", "gradle test --tests RetryTest", "BUILD SUCCESSFUL in 1s\n", "for"),
        ("RetryTest passes", "gradle test --tests MathTest", "BUILD SUCCESSFUL in 1s\n", None),
        ("src/retry.test.ts passes", "npx jest src/math", JEST, None),
        ("src/retry.test.ts passes", "npx jest retry", JEST, "for"),
        ("src/retry.test.ts passes", "npm test -- -t math", JEST, None),
        ("src/retry.test.ts passes", "npm test", JEST, "for"),
        ("src/retry.test.ts passes", "npm test -w math", JEST, None),
        (
            "src/retry.test.ts passes",
            "npx jest packages/api",
            f"PASS packages/api/src/retry.test.ts\n{JEST}",
            "for",
        ),
        ("test_retry passes", "python manage.py test", "Ran 2 tests in 0.1s\n\nOK\n", "for"),
        ("test_retry passes", "python manage.py test shop.math", "Ran 2 tests in 0.1s\n\nOK\n", None),
        ("test_retry passes", "python tests/test_math.py", "Ran 2 tests in 0.1s\n\nOK\n", None),
        (
            "test_retry passes",
            "python -m unittest discover -p 'test_m*.py'",
            "Ran 2 tests in 0s\n\nOK\n",
            None,
        ),
        (
            "test_retry passes",
            "pytest -v",
            "tests/test_calls.py::test_retry SKIPPED (no network)\n3 passed, 1 skipped in 0.1s\n",
            None,
        ),
        (
            "TestRetry passes",
            "go test -v ./...",
            "--- SKIP: TestRetry (0.00s)\n--- PASS: TestAdd (0.00s)\nok  \tx/a\t0.1s\n",
            None,
        ),
        (
            "test_retry passes",
            "pytest -v tests/unit",
            "tests/unit/test_calls.py::test_retry PASSED [100%]\n1 passed in 0.1s\n",
            "for",
        ),
    ],
)
def test_every_tool_says_in_its_way_what_it_was_to_run(prediction, command, output, status):
    assert decide(command, output, prediction, 0) == status


@pytest.mark.parametrize(
    ("prediction", "command", "status"),
    [
        ("the tests pass", "pytest", "against"),
        ("test_add passes", "pytest", "against"),
        ("tests/test_math.py passes", "pytest", "against"),
        ("test_retry passes", "pytest", None),
        ("test_retry passes", "pytest tests/test_math.py", None),
        ("the retry tests pass", "pytest", None),
        ("latency drops below 200 ms in production", "pytest", None),
        ("the tests pass and latency drops below 200 ms", "pytest", "against"),
    ],
)
def test_a_failure_falsifies_what_it_has_hit(prediction, command, status):
    assert decide(command, FAILING, prediction) == status


def test_what_does_not_compile_falsifies_every_test():
    broken = "error[E0308]: mismatched types\nerror: could not compile `calc` (lib test)\n"
    assert decide("cargo test", broken, "test_retry passes", 101) == "against"
    assert decide("cargo test retry", broken, "test_retry passes", 101) == "against"


@pytest.mark.parametrize(
    "prediction",
    [
        "latency drops below 200 ms in production",
        "Latency drops.",
        "users stop complaining",
        "p99 falls",
        "requests are faster",
        "the response takes less than 5 seconds",
        "memory usage falls by 20 %",
        "the tests pass and latency drops below 200 ms in production",
        "The tests pass. Customers see no difference after we deploy.",
        "error rates fall on the dashboard",
    ],
)
def test_what_no_test_can_show_is_not_confirmed_by_a_pass(prediction):
    assert decide("pytest", PASSING, prediction) is None


@pytest.mark.parametrize(
    "prediction",
    ["test_latency passes", "the latency tests pass", "tests/test_users.py passes", "It waits 5 s."],
)
def test_a_test_may_be_named_for_what_no_test_can_show(prediction):
    assert decide("pytest", PASSING, prediction) == "for"


@pytest.mark.parametrize(
    ("action", "hypothesis", "command", "status"),
    [
        ("edit src/shop/retry.py", "it sleeps", "pytest tests/test_math.py", None),
        ("edit src/shop/retry.py", "it sleeps", "pytest tests/test_retry.py", "for"),
        ("edit src/shop/retry.py", "it sleeps", "pytest", "for"),
        ("wait longer", "shop/retry.py sleeps", "pytest tests/test_math.py", None),
        ("run `make lint` again", "it sleeps", "pytest", None),
        ("wait longer", "it sleeps", "pytest tests/test_math.py", "for"),
    ],
)
def test_where_the_prediction_names_nothing_what_was_done_does(action, hypothesis, command, status):
    assert decide(command, PASSING, "It passes.", action=action, hypothesis=hypothesis) == status


def test_what_the_prediction_names_counts_before_what_was_done():
    assert decide("pytest tests/test_retry.py", PASSING, "test_retry passes", action="edit pause.py") == "for"


def test_a_real_run_of_everything_decides_on_a_test_that_is_named(tmp_path):
    predicted = Attempt("test_price passes", "round to two places", "Python rounds half up")
    for code, status in (("round(2.675, 2) == 2.68", "against"), ("round(2.5) == 2", "for")):
        (tmp_path / "test_price.py").write_text(f"def test_price():\n    assert {code}\n")
        command = f"{shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider"
        ran = subprocess.run(
            command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
        )
        for exit_state in (ran.returncode, f"exit {ran.returncode}", None):
            assert judge_run(read_run_result(command, ran.stdout, exit_state), predicted).speaks == status


def test_that_it_builds_does_not_show_that_tests_pass():
    assert decide("cargo build", "    Finished dev\n", "It compiles and the tests pass.", 0) is None
    assert decide("mvn -q install -DskipTests", "", "The build passes its tests.", 0) is None
    assert decide("mvn -q install -DskipTests", "", "The build is clean.", 0) == "for"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("tests/test_retry.py", "retry"),
        ("test_retry", "retry"),
        ("RetryTest", "retry"),
        ("TestRetry", "retry"),
        ("src/retry.test.ts", "retry"),
        ("retry_spec.rb", "retry"),
        ("shop.calls.retry", "retry"),
        ("retry-policy", "retrypolicy"),
        ("", ""),
        ("/", ""),
    ],
)
def test_code_and_its_tests_go_by_one_key(name, key):
    assert subject_key(name) == key


@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=100), st.booleans())
def test_any_words_can_be_judged(prediction, action, command, passed):
    run = read_run_result(f"pytest {command}", "1 passed in 0.1s" if passed else "1 failed in 0.1s", None)
    judged = judge_run(run or RunResult("pytest", "test", passed), Attempt(prediction, action, action))
    assert judged.speaks in (None, "for" if (run.passed if run else passed) else "against")


# What a run means ----------------------------------------------------------------------------------------


FAILED = RunResult("pytest", "test", False, 2, 12, ("cart::b", "cart::c"), "assert 20 == 30")
PASSED = RunResult("pytest", "test", True, 0, 14)


def test_a_run_resolves_the_open_attempt():
    assert judge_run(PASSED, Attempt("The cart tests pass.")).speaks == "for"
    assert judge_run(FAILED, Attempt("The cart tests pass.")).speaks == "against"
    assert (
        judge_run(FAILED, Attempt("The cart tests pass.")).result
        == "pytest: 2 failed, 12 passed (cart::b, …): assert 20 == 30"
    )
    assert judge_run(PASSED, Attempt("The cart tests pass.")).result == "pytest: 14 passed"


def test_without_an_open_attempt_a_run_resolves_nothing():
    assert judge_run(PASSED, None).speaks is None
    assert judge_run(FAILED, None).speaks is None


def test_a_failure_is_warned_of_once_in_a_session():
    first = judge_run(FAILED, None)
    assert first.premortem
    assert not judge_run(FAILED, None, first.failures).premortem
    fewer = RunResult("pytest", "test", False, 1, 13, ("cart::c",), "assert 20 == 30")
    assert not judge_run(fewer, None, first.failures).premortem
    other = RunResult("pytest", "test", False, 1, 13, ("cart::d",), "KeyError")
    assert judge_run(other, None, first.failures).premortem
    assert not judge_run(PASSED, None).premortem


def test_a_session_remembers_what_it_saw_fail_and_old_sessions_are_let_go():
    failures = SeenFailures(max_sessions=2)
    failures.note("shop", "s1", frozenset({"a"}))
    failures.note("shop", "s1", frozenset({"b"}))
    assert failures.failures_seen_in_session("shop", "s1") == {"a", "b"}
    assert (
        failures.failures_seen_in_session("shop", "s2")
        == failures.failures_seen_in_session("elsewhere", "s1")
        == frozenset()
    )
    failures.note("shop", "s2", frozenset({"c"}))
    failures.note("shop", "s1", frozenset())
    failures.note("shop", "s3", frozenset({"d"}))
    assert failures.failures_seen_in_session("shop", "s1") == {"a", "b"}
    assert failures.failures_seen_in_session("shop", "s2") == frozenset()


def test_a_failure_without_a_name_is_known_by_its_error_whatever_the_numbers():
    def broken(line):
        return RunResult("make", "build", False, error=f"cart.c:{line}:5: error: unknown type name 'itn'")

    seen = judge_run(broken(3), None).failures
    assert not judge_run(broken(17), None, seen).premortem
    assert judge_run(RunResult("make", "build", False, error="linker failed"), None, seen).premortem


def test_that_it_compiles_confirms_only_who_said_so():
    compiled = RunResult("cargo", "build", True)
    assert judge_run(compiled, Attempt("Requests take half the time.")).speaks is None
    assert judge_run(compiled, Attempt("It compiles without the unsafe block.")).speaks == "for"
    assert judge_run(RunResult("tsc", "build", False), Attempt("The build is clean.")).speaks == "against"


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
    assert (judge_run(PASSED, Attempt(prediction)).speaks is not None) is judged
