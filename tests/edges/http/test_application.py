"""The endpoints, over a real server on a real socket: what is asked reaches the engine, and comes back."""

from __future__ import annotations

import itertools
import json
import secrets
import string
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import get_args

import httpx
import pytest

from foreword.edges.http import wire
from foreword.edges.http.endpoints import list_endpoints
from foreword.edges.service.__main__ import build_application
from foreword.errors import EmbeddingError, SearchError
from foreword.recall.rank import RANKERS

TOKEN = secrets.token_urlsafe(32)


@pytest.fixture
def client_of(engine, serve_application):
    """Serve the engine while a block lasts: `with client_of(status) as client`; it holds the token."""

    @contextmanager
    def serve_client(status=dict, metrics=None):
        says = {"status": status, "metrics": metrics}
        with serve_application(
            lambda port: build_application(engine, token=TOKEN, port=port, **says)
        ) as port:
            url, headers = f"http://127.0.0.1:{port}", {"Authorization": f"Bearer {TOKEN}"}
            with httpx.Client(base_url=url, headers=headers, timeout=120) as client:
                yield client

    return serve_client


@pytest.fixture
def api(client_of, project):
    with client_of(lambda: {"up": True}) as client:
        yield client


def _error(response, status):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    error = response.json()["error"]
    assert set(error) == {"type", "message"}
    return error


# Remembering and reading ---------------------------------------------------------------------------------


def test_what_is_remembered_is_kept_with_everything_said_about_it(api, engine):
    said = {
        "workspace": "shop",
        "text": "Refunds need two signatures.",
        "kind": "memory",
        "type": "workflow",
        "about": "refunds.md",
        "session": "s1",
        "conversation": "c1",
        "confidence": 0.9,
        "importance": 1,
        "source": {"name": "wiki", "trust": "web"},
        "metadata": {"pages": [1, 2], "by": None},
        "created_at": "2025-12-24T18:00:00+01:00",
    }
    answer = api.post("/v1/remember", json=said)
    assert answer.status_code == 200, answer.text
    kept = engine.store.get("shop", answer.json()["id"])[0]
    assert (kept.text, kept.type, kept.about) == (said["text"], "workflow", "refunds.md")
    assert (kept.session, kept.conversation, kept.confidence, kept.importance) == ("s1", "c1", 0.9, 1.0)
    assert (kept.source.name, kept.source.trust) == ("wiki", "web")
    assert kept.metadata == said["metadata"]
    assert kept.created_at.isoformat() == "2025-12-24T17:00:00+00:00"
    again = api.get(f"/v1/items/{kept.id}", params={"workspace": "shop"})
    assert again.json() == answer.json()


def test_the_same_words_twice_are_one_item(api):
    ids = {api.post("/v1/remember", json={"workspace": "w", "text": "Once."}).json()["id"] for _ in range(2)}
    assert len(ids) == 1


def test_superseding_takes_the_older_item_out_of_contexts(api, project):
    said = {"workspace": "shop", "text": "We moved from Postgres to SQLite.", "supersedes": project[0].id}
    new = api.post("/v1/remember", json=said).json()["id"]
    old = api.get(f"/v1/items/{project[0].id}", params={"workspace": "shop"}).json()
    assert old["superseded_by"] == new
    built = api.post(
        "/v1/context", json={"workspace": "shop", "query": "Postgres or SQLite", "floor": 0}
    ).json()
    assert "MySQL" not in built["context"]
    assert "SQLite" in built["context"]


def test_a_line_of_the_ledger_is_recorded_corrected_and_listed(api):
    said = {"workspace": "ledger", "text": "We deploy on Tuesdays.", "kind": "rule"}
    old = api.post("/v1/record", json=said).json()
    corrected = {**said, "text": "We deploy on Thursdays.", "replaces": old["id"]}
    new = api.post("/v1/record", json=corrected).json()
    (line,) = api.post("/v1/ledger", json={"workspace": "ledger"}).json()["lines"]
    assert (line["item"]["id"], line["kind"]) == (new["id"], "rule")
    assert [item["id"] for item in line["before"]] == [old["id"]]
    fact = {"workspace": "ledger", "text": "The crane is 32 m high.", "kind": "fact"}
    api.post("/v1/record", json={**fact, "subject": "crane", "attribute": "height", "value": "32 m"})
    asked = {"workspace": "ledger", "what": "facts", "who": "crane"}
    assert [one["value"] for one in api.post("/v1/ledger", json=asked).json()["lines"]] == ["32 m"]
    assert api.post("/v1/ledger", json={"workspace": "ledger", "what": "open"}).json()["lines"] == []
    _error(api.post("/v1/record", json={**said, "replaces": "nobody"}), 404)


def test_superseding_what_is_not_there_stores_nothing(api, engine):
    before = engine.count("shop").items
    said = {"workspace": "shop", "text": "This replaces nothing.", "supersedes": "nobody"}
    assert _error(api.post("/v1/remember", json=said), 404)["type"] == "not_found"
    assert engine.count("shop").items == before


def test_a_search_finds_by_words_filters_and_relations(api, engine, project):
    engine.relate(project[0].id, project[4].id, "shop", "causes")
    asked = {"workspace": "shop", "query": "Postgres JSON", "limit": 1, "include_relationships": True}
    result = api.post("/v1/search", json=asked).json()["results"][0]
    assert result["memory"]["id"] == project[0].id
    assert 0 < result["score"] <= 1
    assert result["ranks"]["lexical"] == 1
    assert result["relationships"][0]["memory"]["id"] == project[4].id
    assert result["relationships"][0]["relationship"]["type"] == "causes"
    asked = {"workspace": "shop", "query": "", "memory_types": ["preference"]}
    (only,) = api.post("/v1/search", json=asked).json()["results"]
    assert only["memory"]["id"] == project[2].id
    asked = {"workspace": "shop", "query": "", "date_to": "2025-12-17T00:00:00Z"}
    (first,) = api.post("/v1/search", json=asked).json()["results"]
    assert first["memory"]["id"] == project[0].id


def test_a_context_has_a_receipt_and_a_preview_has_none(api, engine, project):
    asked = {"workspace": "shop", "query": "Which database did we choose?", "asked_in": "s9", "floor": 0}
    built = api.post("/v1/context", json=asked).json()
    assert "Postgres" in built["context"]
    assert built["token_count"] <= built["receipt"]["budget"]
    receipt = api.get(f"/v1/receipts/{built['receipt']['id']}", params={"workspace": "shop"}).json()
    assert receipt == built["receipt"]
    assert receipt["session"] == "s9"
    assert {"injected"} <= {entry["decision"] for entry in receipt["entries"]}
    previewed = api.post("/v1/context", json={**asked, "preview": True}).json()
    assert previewed["context"] == built["context"]
    newest = api.get("/v1/receipts/latest", params={"workspace": "shop"}).json()
    assert newest["id"] == built["receipt"]["id"]


def test_an_unknown_template_is_not_found_and_the_known_ones_are_named(api):
    asked = {"workspace": "shop", "query": "x", "template": "haiku"}
    assert "chat, detailed, summary" in _error(api.post("/v1/context", json=asked), 404)["message"]


def test_the_rankers_on_the_wire_are_those_of_the_engine():
    assert get_args(wire.Ranker) == RANKERS


# Changing and forgetting ---------------------------------------------------------------------------------


def test_an_item_is_amended_in_what_is_said_and_nothing_else(api, project):
    address = f"/v1/items/{project[1].id}"
    here = {"workspace": "shop"}
    before = api.get(address, params=here).json()
    changed = api.patch(address, params=here, json={"confidence": 0.25, "metadata": {"seen": True}}).json()
    assert changed == {**before, "confidence": 0.25, "metadata": {"seen": True}}
    changed = api.patch(address, params=here, json={"superseded_by": project[2].id, "importance": 0}).json()
    assert (changed["superseded_by"], changed["importance"]) == (project[2].id, 0.0)
    assert api.get(address, params=here).json() == changed


def test_a_change_that_makes_no_sense_changes_nothing(api, project):
    address, here = f"/v1/items/{project[1].id}", {"workspace": "shop"}
    before = api.get(address, params=here).json()
    for change, status in (
        ({}, 400),
        ({"text": "other"}, 400),
        ({"confidence": None}, 400),
        ({"confidence": 1.5}, 400),
        ({"confidence": "0.5"}, 400),
        ({"metadata": [1]}, 400),
        ({"superseded_by": "nobody"}, 404),
    ):
        _error(api.patch(address, params=here, json=change), status)
    assert api.get(address, params=here).json() == before


def test_a_secret_in_metadata_does_not_reach_the_disk(api, engine, project):
    secret = "ghp_" + "".join(secrets.choice(string.ascii_letters) for _ in range(36))
    address, here = f"/v1/items/{project[1].id}", {"workspace": "shop"}
    changed = api.patch(address, params=here, json={"metadata": {"note": f"use {secret}"}}).json()
    assert secret not in json.dumps(changed)
    assert secret not in str(engine.store.get("shop", project[1].id)[0].metadata)


def test_items_cannot_supersede_themselves_or_each_other(api, project):
    one, two = project[0].id, project[1].id
    here = {"workspace": "shop"}
    _error(api.patch(f"/v1/items/{one}", params=here, json={"superseded_by": one}), 400)
    assert api.patch(f"/v1/items/{one}", params=here, json={"superseded_by": two}).status_code == 200
    _error(api.patch(f"/v1/items/{two}", params=here, json={"superseded_by": one}), 400)


def test_forgetting_removes_by_id_by_session_and_by_source(api, engine, project):
    for text, session, name in (("One.", "s1", "bot"), ("Two.", "s1", "wiki"), ("Three.", "s2", "wiki")):
        said = {"workspace": "shop", "text": text, "session": session}
        api.post("/v1/remember", json={**said, "source": {"name": name, "trust": "tool"}})
    gone = api.post("/v1/forget", json={"workspace": "shop", "ids": [project[0].id, "nobody"]}).json()
    assert gone == {"ids": [project[0].id], "problems": []}
    _error(api.get(f"/v1/items/{project[0].id}", params={"workspace": "shop"}), 404)
    both = {"workspace": "shop", "session": "s1", "source": "wiki", "verify": False}
    assert len(api.post("/v1/forget", json=both).json()["ids"]) == 1
    assert len(api.post("/v1/forget", json={"workspace": "shop", "session": "s1"}).json()["ids"]) == 1
    assert len(api.post("/v1/forget", json={"workspace": "shop", "source": "wiki"}).json()["ids"]) == 1
    assert engine.count("shop").items == len(project) - 1


def test_forgetting_needs_to_be_told_what(api, engine):
    before = engine.count("shop")
    for said in ({}, {"ids": []}, {"session": None}, {"session": " "}, {"verify": True}):
        _error(api.post("/v1/forget", json={"workspace": "shop", **said}), 400)
    assert engine.count("shop").items == before.items


# Workspaces ----------------------------------------------------------------------------------------------

SCOPED = [
    ("POST", "/v1/remember", {"text": "x"}),
    ("POST", "/v1/search", {"query": "x"}),
    ("POST", "/v1/context", {"query": "x"}),
    ("POST", "/v1/record", {"text": "x"}),
    ("POST", "/v1/ledger", {}),
    ("POST", "/v1/forget", {"ids": ["x"]}),
    ("GET", "/v1/items/x", None),
    ("PATCH", "/v1/items/x", {"confidence": 1}),
    ("GET", "/v1/receipts/latest", None),
    ("GET", "/v1/stats", None),
]


def test_without_a_workspace_that_can_be_named_there_is_no_answer(api):
    for (method, path, body), name in itertools.product(SCOPED, [None, "", "  ", "a\0b", "x" * 1025]):
        named = {} if name is None else {"workspace": name}
        how = {"json": {**body, **named}} if method == "POST" else {"params": named, "json": body}
        assert _error(api.request(method, path, **how), 400)["type"] == "validation_error", (path, name)


def test_nothing_crosses_from_one_workspace_to_another(api, engine, project):
    theirs = {"workspace": "other"}
    api.post("/v1/remember", json={"workspace": "other", "text": "Theirs alone."})
    api.post("/v1/context", json={"workspace": "shop", "query": "Postgres"})
    _error(api.get(f"/v1/items/{project[0].id}", params=theirs), 404)
    _error(api.patch(f"/v1/items/{project[0].id}", params=theirs, json={"confidence": 0.1}), 404)
    _error(api.get("/v1/receipts/latest", params=theirs), 404)
    assert api.post("/v1/forget", json={**theirs, "ids": [project[0].id]}).json()["ids"] == []
    found = api.post("/v1/search", json={**theirs, "query": "Postgres MySQL JSON timeout"}).json()["results"]
    assert "shop" not in {result["memory"]["workspace"] for result in found}
    assert engine.store.get("shop", project[0].id)[0] == project[0]


def test_asking_a_workspace_that_holds_nothing_makes_none(api, engine):
    assert api.get("/v1/stats", params={"workspace": "nowhere"}).json()["items"] == 0
    assert api.post("/v1/search", json={"workspace": "nowhere", "query": "x"}).json() == {"results": []}
    assert api.get("/v1/workspaces").json() == {"workspaces": ["shop"]}


def test_stats_count_what_is_there(api, project):
    counted = api.get("/v1/stats", params={"workspace": "shop"}).json()
    assert counted["items"] == len(project)
    assert counted["kinds"] == {"memory": len(project)}


# Around the endpoints ------------------------------------------------------------------------------------


def test_health_says_no_more_than_that_it_is_well(api):
    bare = httpx.get(api.base_url.join("/health"), timeout=120)
    assert set(bare.json()) == {"ok", "version"}
    assert bare.headers["x-content-type-options"] == "nosniff"
    assert bare.headers["cache-control"] == "no-store"
    assert "server" not in bare.headers


def test_everything_but_health_needs_the_token(api):
    for path in ("/openapi.json", "/v1/status", "/metrics", "/nowhere", "/mcp"):
        assert httpx.get(api.base_url.join(path), timeout=120).status_code == 401, path


def test_the_status_is_what_the_service_says_of_itself(api):
    assert api.get("/v1/status").json() == {"up": True}


def test_metrics_are_served_where_there_are_any(client_of, api):
    assert api.get("/metrics").status_code == 404
    with client_of(metrics=lambda: "foreword_up 1\n") as client:
        answer = client.get("/metrics")
    assert answer.text == "foreword_up 1\n"
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")


def test_the_document_lists_every_endpoint_and_the_scheme_of_the_token(api, engine):
    described = api.get("/openapi.json").json()
    listed = {
        (method.upper(), path) for path, operations in described["paths"].items() for method in operations
    }
    assert listed == {(one.method, one.path) for one in list_endpoints(engine, 1, dict, page_key="k")}
    assert described["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    assert described["paths"]["/health"]["get"]["security"] == []
    assert "security" not in described["paths"]["/v1/search"]["post"]


def test_an_address_that_leads_nowhere_is_said_to(api):
    for path in ("/v1", "/v1/items", "/v1/items/a/b", "/v1/stats/", "/v1/nothing", "/"):
        assert _error(api.get(path), 404)["type"] == "no_such_address", path


def test_an_unknown_or_repeated_query_parameter_is_refused(api):
    assert "'colour'" in _error(api.get("/v1/stats?workspace=shop&colour=red"), 400)["message"]
    _error(api.get("/v1/stats?workspace=shop&workspace=other"), 400)
    _error(api.get("/v1/workspaces?workspace=shop"), 400)


WRONG = [
    (b"", ""),
    (b"{", ""),
    (b"[]", ""),
    (b"\xff\xfe", ""),
    (b'{"workspace":"w","text":1}', "text"),
    (b'{"workspace":"w","text":" \\n"}', "text"),
    (b'{"workspace":"w","text":"a\\u0000b"}', "text"),
    (b'{"workspace":"w","text":"\\ud800"}', ""),
    (b'{"workspace":"w","text":"x","kind":"poem"}', "kind"),
    (b'{"workspace":"w","text":"x","colour":"red"}', "colour"),
    (b'{"workspace":"w","text":"x","confidence":NaN}', "confidence"),
    (b'{"workspace":"w","text":"x","metadata":{"a":NaN}}', "metadata"),
    (b'{"workspace":"w","text":"x","source":{"trust":"root"}}', "source.trust"),
    (b'{"workspace":"w","text":"x","created_at":"2026-01-31"}', "created_at"),
    (b'{"workspace":"w","text":"x","created_at":"2026-01-31T12:00:00"}', "created_at"),
    (b'{"workspace":"w","text":"x","created_at":1700000000}', "created_at"),
    (b'{"workspace":"w","text":"x","created_at":"0001-01-01T00:00:00+14:00"}', "created_at"),
    (b'{"workspace":"w","text":"x","metadata":' + b'{"a":' * 500 + b"1" + b"}" * 500 + b"}", ""),
]


def test_a_body_that_is_wrong_is_refused_with_its_field_named(api, engine):
    for body, field in WRONG:
        response = api.post("/v1/remember", content=body, headers={"Content-Type": "application/json"})
        message = _error(response, 400)["message"]
        assert field in message, body
        assert "pydantic" not in message, body
    assert engine.count("w").items == 0


def test_what_was_sent_is_not_repeated_in_an_error(api):
    secret = secrets.token_hex(16)
    response = api.post("/v1/remember", json={"workspace": "w", "text": [secret]})
    assert secret not in _error(response, 400)["message"]


def test_reversed_dates_are_refused(api):
    asked = {"date_from": "2026-02-01T00:00:00Z", "date_to": "2026-01-01T00:00:00Z"}
    message = _error(api.post("/v1/search", json={"workspace": "w", "query": "x", **asked}), 400)["message"]
    assert "swap" in message


def test_a_long_text_fits_and_a_longer_one_is_refused(api):
    text = "word " * 199_999
    assert api.post("/v1/remember", json={"workspace": "w", "text": text}).status_code == 200
    _error(api.post("/v1/remember", json={"workspace": "w", "text": "x" * 1_000_001}), 400)
    _error(api.post("/v1/remember", json={"workspace": "w", "text": "x" * 2_000_000}), 413)


def test_a_damaged_database_is_a_503_that_says_what_to_do(api, engine):
    path = engine.store.path_of_database("broken")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is not a database" * 1000)
    error = _error(api.get("/v1/stats", params={"workspace": "broken"}), 503)
    assert error["type"] == "storage_error"
    assert "doctor" in error["message"]


@pytest.mark.parametrize("kind", [EmbeddingError, SearchError])
def test_a_failing_encoder_or_search_is_a_502(client_of, kind):
    def failing():
        raise kind("the encoder failed; try again")

    with client_of(failing) as client:
        assert _error(client.get("/v1/status"), 502)["message"] == "the encoder failed; try again"


def test_a_bug_is_a_500_without_its_inside(client_of):
    def failing():
        raise KeyError("inside")

    with client_of(failing) as client:
        response = client.get("/v1/status")
        assert _error(response, 500)["type"] == "bug"
        assert "inside" not in response.text
        assert client.get("/health").status_code == 200


def test_a_slow_call_holds_up_nobody_else(client_of):
    slow, done = threading.Event(), threading.Event()

    def wait_status():
        slow.set()
        assert done.wait(120), "nobody let it go on"
        return {"waited": True}

    with client_of(wait_status) as client, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(client.get, "/v1/status")
        assert slow.wait(120), "the slow request never came"
        assert client.get("/v1/workspaces").status_code == 200
        done.set()
        assert answer.result(120).json() == {"waited": True}


def test_a_crowd_is_served_and_nothing_is_lost(api, engine):
    def remember(number):
        return api.post("/v1/remember", json={"workspace": "crowd", "text": f"Number {number}."}).json()["id"]

    with ThreadPoolExecutor(16) as pool:
        ids = set(pool.map(remember, range(100), timeout=120))
    assert len(ids) == 100
    assert engine.count("crowd").items == 100


def test_mcp_is_served_beside_the_endpoints(api):
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    answer = api.post("/mcp", json=asked, headers={"Accept": "application/json, text/event-stream"})
    assert answer.status_code == 200, answer.text
    assert "memory_search" in json.dumps(answer.json())
