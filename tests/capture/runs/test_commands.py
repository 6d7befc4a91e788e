"""Which command lines are runs, whatever they are wrapped in."""

from __future__ import annotations

import pytest

from foreword.capture.runs.run import read_run_result


@pytest.mark.parametrize("exit_state", [0, 1, "failed", "", None])
@pytest.mark.parametrize(
    "command",
    [
        "npx eslint jest.config.js",
        "npx prettier --write vitest.config.ts",
        "npx prettier --write scripts/test.sh",
        "npx -p jest eslint .",
        "uv run pip install pytest",
        "uv run --with pytest ruff check",
        "uv run ruff check pytest.ini",
        "poetry run pip show pytest",
        "poetry run black tests/test_cart.py",
        "docker run --rm -v $PWD:/w node npm install jest",
        "docker run --name pytest alpine ls",
        "docker compose run web pip install pytest",
        "docker compose exec db psql -c test",
        "kubectl exec pod -- pip install pytest",
        "npm run test:db:reset",
        "npm run lint:test",
        "npm run check",
        "npm install -D jest",
        "make test-data",
        "make deploy-test",
        "make -C tests clean",
        "make -f test.mk deploy",
        "make checkout",
        "gradle tasks --group build",
        "gradle help --task test",
        "mvn -P test clean",
        "mvn dependency:tree",
        "mvn install:install-file -Dfile=x.jar",
        "node server.js --test",
        "rake test:prepare",
        "bash test-data.sh",
        "nox -s lint",
        "coverage run app.py",
    ],
)
def test_the_name_of_a_runner_somewhere_in_a_command_is_no_run(command, exit_state):
    assert read_run_result(command, "done\n", exit_state) is None


@pytest.mark.parametrize(
    "command",
    [
        "uv run --with httpx pytest tests",
        "uv run --directory api -m pytest",
        "uv --directory api run pytest",
        "poetry run python -X dev -W error -m pytest",
        "conda run -n web pytest",
        "docker compose -f ci.yml run --rm -e A=b web pytest -q",
        "docker run --rm -v $PWD:/w -w /w python:3.12 python -m pytest",
        "docker exec -it web timeout 60 pytest",
        "kubectl exec -it pod -n ci -- pytest",
        "env -u A B=c nice -n 10 timeout -k 5 60 .venv/bin/pytest",
        "coverage run --source src -m pytest",
        "bash -lc 'cd web && pytest'",
    ],
)
def test_a_run_is_known_in_whatever_it_is_wrapped(command):
    passed, failed = read_run_result(command, "", 0), read_run_result(command, "", 1)
    assert (passed.purpose, passed.passed) == ("test", True)
    assert (failed.purpose, failed.passed) == ("test", False)
