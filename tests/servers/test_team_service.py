"""Services on real servers that hang, restart or lose what they had."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial

import httpx
import pytest

from foreword.config import Settings
from foreword.edges.http.team.members import Members
from foreword.edges.service.responder import HookResponder
from foreword.engine.context_engine import ContextEngine

SHOP = "git.example.org/acme/shop"
AWAY = {502, 503}
"""The statuses upon which a laptop asks its copy."""
EVENTS = {
    "a session begins": {"name": "SessionStart", "source": "startup"},
    "a compact": {"name": "SessionStart", "source": "compact"},
    "a prompt": {"name": "UserPromptSubmit", "prompt": "Which database is the staging environment on?"},
    "before a tool": {"name": "PreToolUse", "tool": "Bash", "tool_input": {"command": "psql staging"}},
    "a failed run": {
        "name": "PostToolUse", "tool": "Bash", "tool_input": {"command": "pytest -q"},
        "tool_output": "FAILED tests/test_a.py::test_b - AssertionError: expected 1\n1 failed in 0.1s",
    },
}  # fmt: skip


@pytest.fixture
def token(home):
    return Members(home).add("mara", "write", ("git.example.org/*",), None)[1]


@pytest.fixture
def ask(token):
    """Call a team's service: `ask(service, "/v1/me")`, or with a body; waits long, if need be."""
    with httpx.Client(timeout=60, headers={"Authorization": f"Bearer {token}"}) as client:

        def call(service, path, **body):
            if body:
                return client.post(f"{service.url}{path}", json=body)
            return client.get(f"{service.url}{path}")

        yield call


def _event(name, session="s1", at=1_790_000_000):
    return {
        "workspace": SHOP, "event": {"agent": "claude-code", "session": session, **EVENTS[name]}, "at": at,
    }  # fmt: skip


@pytest.fixture
def service(start_team_service, postgres, ask):
    started = start_team_service(postgres)
    remember = {"workspace": SHOP, "text": "The staging database is Postgres 16.", "type": "fact"}
    assert ask(started, "/v1/remember", **remember).status_code == 200
    for name in EVENTS:  # also warms what a first call loads
        assert ask(started, "/v1/hook/answer", **_event(name), deadline_ms=60_000).status_code == 200
        assert ask(started, "/v1/hook/keep", **_event(name)).status_code == 200
    return started


def test_every_event_is_answered_while_postgres_hangs(service, postgres, ask):
    postgres.freeze()
    try:
        answers = [ask(service, "/v1/hook/answer", **_event(name), deadline_ms=400) for name in EVENTS]
    finally:
        postgres.thaw()
    for answer in answers:
        assert answer.status_code in AWAY or answer.json() == {"text": "", "delivery": ""}
    again = ask(service, "/v1/hook/answer", **_event("a prompt", "s2"), deadline_ms=60_000)
    assert again.json()["text"]


def test_prompts_are_answered_while_writes_wait_for_postgres_in_every_thread(service, postgres, ask):
    postgres.freeze()
    with ThreadPoolExecutor(20) as pool:
        try:
            kept = [
                pool.submit(ask, service, "/v1/hook/keep", **_event("a prompt", f"k{number}"))
                for number in range(20)
            ]
            answers = [
                ask(service, "/v1/hook/answer", **_event("a prompt"), deadline_ms=400) for _ in range(3)
            ]
        finally:
            postgres.thaw()
        assert {answer.status_code for answer in answers} <= AWAY
        assert {one.result().status_code for one in kept} == {200}


def test_a_laptops_own_service_answers_while_its_postgres_hangs(postgres, home, tmp_path):
    settings = Settings(home=home, store=postgres.url, embedding="none", reader="none")
    start = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(tmp_path), "source": "startup"}
    with ContextEngine(settings=settings) as engine:
        responder = HookResponder(engine)
        answer = partial(responder.answer, json.dumps(start).encode(), datetime.now(UTC))
        answer(60_000)
        postgres.freeze()
        with ThreadPoolExecutor(1) as pool:
            try:
                reply = pool.submit(answer, 400).result(60)
            finally:
                postgres.thaw()
        assert b"Foreword is off" in reply.body
        responder.close()
