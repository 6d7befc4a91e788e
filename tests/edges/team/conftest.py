from __future__ import annotations

from contextlib import contextmanager

import httpx
import pytest

from foreword.edges.http.team.api import build_team_api
from foreword.edges.http.team.gate import Limits
from foreword.edges.http.team.members import Members

_WIDE = Limits(10_000, 10_000)


@pytest.fixture
def members(home):
    return Members(home)


@pytest.fixture
def token_for(members):
    """Make a token: `token_for("mara", "acme/*", right="read")`."""

    def make(name, *workspaces, right="write", expires=None):
        return members.add(name, right, workspaces or ("*",), expires)[1]

    return make


@pytest.fixture
def team_server(engine, home, serve_application):
    """Serve a team while a block lasts, on a real socket: `with team_server() as url`."""

    @contextmanager
    def serve(limits=_WIDE, is_ready=lambda: True):
        says = {"status": lambda: {"up": True}, "is_ready": is_ready, "limits": limits}
        with serve_application(lambda port: build_team_api(engine, home=home, port=port, **says)) as port:
            yield f"http://127.0.0.1:{port}"

    return serve


@pytest.fixture
def team_url(team_server):
    with team_server() as url:
        yield url


@pytest.fixture
def ask(team_url):
    """Call the team's service with a token: `ask(token, "POST", "/v1/search", {...})`."""
    with httpx.Client(base_url=team_url, timeout=120) as client:

        def call(token, method, path, body=None, **query):
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            return client.request(method, path, json=body, params=query, headers=headers)

        yield call
