"""A team's service, over a real socket: who comes in, what they may do, and what is written down of it."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from foreword.edges.http.team.audit import TeamAudit
from foreword.edges.http.team.gate import Limits, RateLimiter
from foreword.store.base import Counts

CALLS = {
    "remember": ("POST", "/v1/remember", {"workspace": "acme/shop", "text": "Deploys are on Tuesdays."}),
    "record": ("POST", "/v1/record", {"workspace": "acme/shop", "text": "We ship on Tuesdays."}),
    "forget": ("POST", "/v1/forget", {"workspace": "acme/shop", "session": "s"}),
    "amend": ("PATCH", "/v1/items/x?workspace=acme/shop", {"confidence": 0.5}),
    "hook_keep": ("POST", "/v1/hook/keep", {"workspace": "acme/shop", "event": {"name": "Stop"}, "at": 1}),
    "search": ("POST", "/v1/search", {"workspace": "acme/shop", "query": "deploys"}),
    "context": ("POST", "/v1/context", {"workspace": "acme/shop", "query": "deploys"}),
    "assemble": ("POST", "/v1/assemble", {"workspace": "acme/shop", "query": "deploys"}),
    "premortem": ("POST", "/v1/premortem", {"workspace": "acme/shop", "domain": "debugging"}),
    "ledger": ("POST", "/v1/ledger", {"workspace": "acme/shop", "what": "open"}),
    "item": ("GET", "/v1/items/x?workspace=acme/shop", None),
    "receipt": ("GET", "/v1/receipts/latest?workspace=acme/shop", None),
    "stats": ("GET", "/v1/stats?workspace=acme/shop", None),
    "mirror": ("POST", "/v1/mirror", {"workspace": "acme/shop"}),
    "hook_answer": ("POST", "/v1/hook/answer", {"workspace": "acme/shop", "event": {}, "at": 1}),
}
WRITES = ("remember", "record", "forget", "amend", "hook_keep")


def _call(client, token, name):
    method, path, body = CALLS[name]
    headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
    return client.request(method, path, json=body, headers=headers)


@pytest.fixture
def client(team_url):
    with httpx.Client(base_url=team_url, timeout=120) as client:
        yield client


def test_every_address_that_names_a_workspace_is_in_the_table(ask, token_for):
    document = ask(token_for("root", right="admin"), "GET", "/openapi.json").json()
    served = {
        operation["operationId"]
        for path in document["paths"].values()
        for operation in path.values()
        if "workspace" in json.dumps(operation) + json.dumps(document["components"]["schemas"])
    }
    unscoped = {"health", "ready", "me", "openapi", "metrics", "status", "workspaces", "hook_shown"}
    known = {"hook_answer", "hook_keep", "mirror"}  # (not in the document of the local service)
    assert served - unscoped <= set(CALLS)
    assert set(CALLS) - known <= served


@pytest.mark.parametrize("name", CALLS)
def test_no_token_no_answer(client, token_for, members, name):
    old = token_for("old", expires=datetime.now(UTC) - timedelta(seconds=1))
    stolen = token_for("stolen")
    members.revoke("stolen")
    for token in (None, "x", "fwt_" + "0" * 12 + "_" + "0" * 64, old, stolen):
        answer = _call(client, token, name)
        assert answer.status_code == 401, (token, answer.text)
        assert answer.json()["error"]["type"] == "unauthorized"


@pytest.mark.parametrize("name", CALLS)
def test_a_foreign_workspace_is_forbidden_and_untouched(client, token_for, engine, name):
    answer = _call(client, token_for("ben", "other/*", right="admin"), name)
    assert answer.status_code == 403
    assert "ben" in answer.json()["error"]["message"]
    assert engine.store.workspaces() == []


@pytest.mark.parametrize("name", CALLS)
def test_reading_is_for_readers_and_writing_is_not(client, token_for, name):
    status = _call(client, token_for("ben", "acme/*", right="read"), name).status_code
    assert (status == 403) is (name in WRITES)


def test_a_token_that_is_revoked_is_refused_by_the_next_request(client, token_for, members):
    token = token_for("mara")
    assert _call(client, token, "search").status_code == 200
    members.revoke("mara")
    assert _call(client, token, "search").status_code == 401


def test_while_the_list_of_members_cannot_be_read_nobody_is_let_in_and_the_audit_says_so(
    client, token_for, members, home
):
    token = token_for("mara")
    whole = members.path.read_text()
    members.path.write_text(whole[: len(whole) // 2])  # as while it is being copied
    answer = _call(client, token, "search")
    assert (answer.status_code, str(home) in answer.text) == (503, False)
    members.path.write_text(whole)
    assert _call(client, token, "search").status_code == 200
    assert [line["status"] for line in TeamAudit(home).read()] == [503, 200]


def test_the_list_of_workspaces_is_what_the_token_names(ask, token_for):
    root = token_for("root", right="admin")
    for workspace in ("acme/shop", "other/blog"):
        ask(root, "POST", "/v1/remember", {"workspace": workspace, "text": "Something."})
    assert ask(token_for("mara", "acme/*"), "GET", "/v1/workspaces").json()["workspaces"] == ["acme/shop"]


def test_the_status_is_for_admins(ask, token_for):
    assert ask(token_for("mara"), "GET", "/v1/status").status_code == 403
    assert ask(token_for("root", right="admin"), "GET", "/v1/status").json() == {"up": True}


def test_a_member_is_told_what_the_token_allows(ask, token_for):
    mine = ask(token_for("mara", "acme/*"), "GET", "/v1/me").json()
    assert mine == {"name": "mara", "right": "write", "workspaces": ["acme/*"], "expires": ""}


def test_health_and_readiness_need_no_token(team_server):
    with team_server(is_ready=lambda: False) as url:
        assert httpx.get(f"{url}/health", timeout=120).json()["ok"] is True
        assert httpx.get(f"{url}/ready", timeout=120).status_code == 503


def test_who_asks_too_often_is_told_when_to_come_again(team_server, token_for):
    token, other = token_for("mara"), token_for("ben")
    with team_server(Limits(0.001, 2)) as url, httpx.Client(base_url=url, timeout=120) as client:
        answers = [_call(client, token, "stats") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert _call(client, other, "stats").status_code == 200


def test_a_member_has_one_rate_however_many_tokens_it_has(team_server, token_for):
    tokens = [token_for("mara") for _ in range(3)]
    with team_server(Limits(0.001, 2)) as url, httpx.Client(base_url=url, timeout=120) as client:
        statuses = [_call(client, token, "stats").status_code for token in tokens]
        assert statuses == [200, 200, 429]


def test_wrong_tokens_from_one_address_are_not_looked_at_for_ever(client):
    statuses = [_call(client, "wrong", "stats").status_code for _ in range(60)]
    assert statuses[0] == 401
    assert statuses[-1] == 429


def test_a_bucket_fills_again_at_its_rate():
    now = 0.0
    limiter = RateLimiter(2.0, 2, lambda: now)
    assert [limiter.count_request_and_get_wait("a") for _ in range(3)] == [0, 0, 0.5]
    now = 0.5
    assert limiter.count_request_and_get_wait("a") == 0
    assert limiter.count_request_and_get_wait("b") == 0


def test_a_full_workspace_takes_nothing_more_and_answers_still(team_server, token_for):
    token = token_for("mara")
    with team_server(Limits(1000, 1000, items=2)) as url, httpx.Client(base_url=url, timeout=120) as client:
        headers = {"Authorization": f"Bearer {token}"}
        for number, status in enumerate((200, 200, 507)):
            body = {"workspace": "acme/shop", "text": f"Fact number {number}."}
            assert client.post("/v1/remember", json=body, headers=headers).status_code == status
        assert _call(client, token, "search").status_code == 200


def test_what_is_being_written_counts_towards_the_quota(team_server, token_for, engine, monkeypatch):
    headers = {"Authorization": f"Bearer {token_for('mara')}"}
    is_writing, goes_on, remember = threading.Semaphore(0), threading.Event(), engine.remember

    def remember_late(*arguments, **options):
        is_writing.release()
        assert goes_on.wait(60)
        return remember(*arguments, **options)

    monkeypatch.setattr(engine, "remember", remember_late)
    with team_server(Limits(1000, 1000, items=2)) as url, ThreadPoolExecutor(2) as pool:

        def post(number):
            body = {"workspace": "acme/shop", "text": f"Fact number {number}."}
            return httpx.post(f"{url}/v1/remember", json=body, headers=headers, timeout=60).status_code

        written = [pool.submit(post, number) for number in range(2)]
        try:
            assert all(is_writing.acquire(timeout=60) for _ in written)
            assert post(3) == 507
        finally:
            goes_on.set()
        assert [one.result() for one in written] == [200, 200]
        assert engine.count("acme/shop").items == 2


def test_a_request_that_is_wrong_is_in_the_audit_with_its_action(ask, token_for, home):
    ask(token_for("mara", "acme/*"), "POST", "/v1/search", {"workspace": "acme/shop", "query": 7})
    assert [(line["action"], line["status"]) for line in TeamAudit(home).read()] == [("search", 400)]


def test_a_store_that_hangs_keeps_nobody_from_asking_how_the_service_is(
    team_server, token_for, engine, monkeypatch
):
    token, goes_on = token_for("mara"), threading.Event()
    is_asked = threading.Semaphore(0)

    def count_late(_):
        is_asked.release()
        assert goes_on.wait(60)
        return Counts()

    monkeypatch.setattr(engine, "count", count_late)
    body = {"workspace": "acme/shop", "text": "Deploys are on Tuesdays."}
    with team_server(Limits(1000, 1000, items=2)) as url, ThreadPoolExecutor(20) as pool:

        def remember():
            headers = {"Authorization": f"Bearer {token}"}
            return httpx.post(f"{url}/v1/remember", json=body, headers=headers, timeout=120).status_code

        waiting = [pool.submit(remember) for _ in range(20)]
        assert is_asked.acquire(timeout=60)
        try:
            assert httpx.get(f"{url}/health", timeout=20).status_code == 200
            assert httpx.get(f"{url}/ready", timeout=20).status_code == 200
        finally:
            goes_on.set()
        assert {one.result() for one in waiting} <= {200, 507}


def test_the_audit_says_who_did_what_where_and_never_what_was_said(ask, token_for, home):
    token = token_for("mara", "acme/*")
    ask(token, "POST", "/v1/remember", {"workspace": "acme/shop", "text": "The vault code is marigold."})
    ask(token, "POST", "/v1/search", {"workspace": "other/blog", "query": "marigold"})
    ask("wrong", "GET", "/v1/workspaces")
    lines = list(TeamAudit(home).read())
    assert [(line["member"], line["action"], line["workspace"], line["status"]) for line in lines] == [
        ("mara", "remember", "acme/shop", 200),
        ("mara", "search", "other/blog", 403),
        ("-", "-", "", 401),
    ]
    assert "marigold" not in json.dumps(lines)
    assert token not in json.dumps(lines)


def test_the_audit_says_whose_token_was_used_after_it_was_revoked(ask, token_for, members, home):
    token = token_for("mara")
    (revoked,) = members.revoke("mara")
    assert ask(token, "GET", "/v1/workspaces").status_code == 401
    ask("", "GET", "/health")  # by then the first request is in the audit
    (line,) = TeamAudit(home).read()
    assert (line["member"], line["token"], line["status"]) == ("mara", revoked.id, 401)
    assert line["refused"] == "the token was revoked"


def test_metrics_count_requests_by_member_action_and_status(ask, token_for):
    token = token_for('ma"ra')
    ask(token, "GET", "/v1/workspaces")
    text = ask(token, "GET", "/metrics").text
    assert 'foreword_team_requests_total{member="ma\\"ra",action="workspaces",status="200"} 1' in text


@pytest.mark.parametrize("reads", [500, pytest.param(20_000, marks=pytest.mark.soak)])
def test_fifty_members_at_once_never_see_a_foreign_word(ask, token_for, reads):
    tokens = {f"word{number:02}": token_for(f"m{number}", f"team{number}") for number in range(50)}
    for number, (word, token) in enumerate(tokens.items()):
        body = {"workspace": f"team{number}", "text": f"The colour of the door is {word}."}
        assert ask(token, "POST", "/v1/remember", body).status_code == 200

    def read(turn):
        number = turn % 50
        mine = f"word{number:02}"
        path = "/v1/search" if turn % 2 else "/v1/context"
        own = ask(tokens[mine], "POST", path, {"workspace": f"team{number}", "query": "colour of the door"})
        stranger = tokens[f"word{(number + 1 + turn // 50 % 49) % 50:02}"]
        stolen = ask(stranger, "POST", path, {"workspace": f"team{number}", "query": "colour of the door"})
        assert stolen.status_code == 403
        assert mine in own.text
        return [word for word in tokens if word != mine and word in own.text + stolen.text]

    with ThreadPoolExecutor(16) as pool:
        assert [found for found in pool.map(read, range(reads)) if found] == []
