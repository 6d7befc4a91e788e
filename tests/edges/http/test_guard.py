"""Who comes in: every combination of host, origin, token, method and content type, and raw bytes besides."""

from __future__ import annotations

import contextlib
import itertools
import json
import resource
import secrets
import socket

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.edges.http.guard import MAX_BODY_BYTES, AddressGuard, Guard
from foreword.edges.service.__main__ import build_application
from foreword.edges.service.loopback import listen_on_loopback

PORT = 8765
TOKEN = secrets.token_urlsafe(32)
METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT")
SERVED = ("GET", "POST", "PATCH")

# Each choice is a list of headers, as a client may send them; True marks those that are right.
HOSTS = {
    (b"127.0.0.1:8765",): True,
    (b"localhost:8765",): True,
    (b"LocalHost:8765",): True,
    (b"[::1]:8765",): True,
    (): False,
    (b"",): False,
    (b"127.0.0.1",): False,
    (b"127.0.0.1:80",): False,
    (b"127.0.0.1:87650",): False,
    (b"0.0.0.0:8765",): False,
    (b"evil.example:8765",): False,
    (b"localhost.evil.example:8765",): False,
    (b"127.0.0.1:8765.evil.example",): False,
    (b"127.0.0.1:8765, evil.example",): False,
    (b"127.0.0.1:8765", b"evil.example"): False,
    (b"127.0.0.1:8765", b"127.0.0.1:8765"): False,
}
ORIGINS = {
    (): True,
    (b"http://127.0.0.1:8765",): True,
    (b"http://localhost:8765",): True,
    (b"null",): False,
    (b"",): False,
    (b"https://127.0.0.1:8765",): False,
    (b"http://127.0.0.1",): False,
    (b"http://127.0.0.1:8766",): False,
    (b"http://evil.example",): False,
    (b"http://127.0.0.1:8765.evil.example",): False,
    (b"http://127.0.0.1:8765", b"http://evil.example"): False,
}
TOKENS = {
    (b"Bearer " + TOKEN.encode(),): True,
    (b"bearer " + TOKEN.encode(),): True,
    (): False,
    (b"",): False,
    (b"Bearer",): False,
    (b"Bearer ",): False,
    (TOKEN.encode(),): False,
    (b"Basic " + TOKEN.encode(),): False,
    (b"Bearer " + TOKEN[:-1].encode(),): False,
    (b"Bearer " + TOKEN.encode() + b"x",): False,
    (b"Bearer " + TOKEN.swapcase().encode(),): False,
    (b"Bearer " + TOKEN.encode(), b"Bearer " + TOKEN.encode()): False,
    (b"Bearer wrong", b"Bearer " + TOKEN.encode()): False,
}
TYPES = {
    (b"application/json",): True,
    (b"Application/JSON; charset=UTF-8",): True,
    (): False,
    (b"text/plain",): False,
    (b"application/x-www-form-urlencoded",): False,
    (b"multipart/form-data; boundary=x",): False,
    (b"text/plain; application/json",): False,
    (b"application/jsonp",): False,
    (b"application/json; charset=utf-7",): False,
    (b"application/json", b"text/plain"): False,
}


class Room:
    """What is behind the guard: notes who came in, and with which body."""

    def __init__(self):
        self.entered = []

    async def __call__(self, scope, receive, send):
        message = await receive() if scope["method"] in ("POST", "PATCH") else {"body": b""}
        self.entered.append((scope["method"], message["body"]))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"inside"})


def _scope(method, headers, path="/v1/thing", query=b""):
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "headers": headers,
        "http_version": "1.1",
        "scheme": "http",
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", PORT),
    }


def _run(function, *arguments):
    """What an asynchronous function gives; a minute is more than any needs."""

    async def limited():
        with anyio.fail_after(60):
            return await function(*arguments)

    return anyio.run(limited)


async def _call(app, scope, chunks=(b"{}",)):
    """The status, headers and body that an application answers with; None for a request it dropped."""
    told, sent = [], list(chunks)

    async def receive():
        if not sent:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": sent.pop(0), "more_body": bool(sent)}

    async def send(message):
        told.append(message)

    await app(scope, receive, send)
    if not told:
        return None
    body = b"".join(message.get("body", b"") for message in told[1:])
    return told[0].get("status"), dict(told[0].get("headers", ())), body


def _guard(room):
    return Guard(AddressGuard(room, *SERVED), token=TOKEN, port=PORT)


def _headers(name, values):
    return [(name, value) for value in values]


def _expected_status(host, origin, token, method, kind):
    """The status by the rules: the first thing that is wrong."""
    if not HOSTS[host]:
        return 421
    if not ORIGINS[origin]:
        return 403
    if not TOKENS[token]:
        return 401
    if method not in SERVED:
        return 405
    return 415 if method != "GET" and not TYPES[kind] else 200


@pytest.mark.fault
def test_of_all_combinations_only_the_right_ones_come_in(report_fault):
    room = Room()
    app = _guard(room)
    wrong, tried, right = [], 0, 0

    async def every_combination():
        nonlocal tried, right
        for host, origin, token, method, kind in itertools.product(HOSTS, ORIGINS, TOKENS, METHODS, TYPES):
            headers = [
                *_headers(b"host", host),
                *_headers(b"origin", origin),
                *_headers(b"authorization", token),
                *_headers(b"content-type", kind),
            ]
            before = len(room.entered)
            status, answered, _ = await _call(app, _scope(method, headers))
            expected = _expected_status(host, origin, token, method, kind)
            entered = len(room.entered) > before
            tried, right = tried + 1, right + entered
            if status != expected or entered != (expected == 200) or _allows_others(answered):
                wrong.append((headers, method, status, expected))

    _run(every_combination)
    assert not wrong, wrong[:3]
    assert tried == len(HOSTS) * len(ORIGINS) * len(TOKENS) * len(METHODS) * len(TYPES)
    assert right == 4 * 3 * 2 * (len(TYPES) + 2 * 2)  # GET with any type, POST and PATCH with two
    saw = f"{len(wrong)} of {tried - right:,} wrong requests let in"
    report_fault(14, {"requests of every kind": tried}, saw=saw)


def _allows_others(headers):
    return any(name.lower().startswith(b"access-control") for name in headers)


def _right_headers(*extra):
    return [
        (b"host", b"127.0.0.1:8765"),
        (b"authorization", b"Bearer " + TOKEN.encode()),
        (b"content-type", b"application/json"),
        *extra,
    ]


def _status(scope, chunks=(b"{}",)):
    answer = _run(_call, _guard(Room()), scope, chunks)
    return answer and answer[0]


@pytest.mark.parametrize("site", [b"cross-site", b"same-site", b"same-origin, cross-site", b"nonsense"])
def test_what_a_browser_says_comes_from_another_site_is_refused_without_an_origin(site):
    assert _status(_scope("GET", _right_headers((b"sec-fetch-site", site)))) == 403


@pytest.mark.parametrize("site", [b"same-origin", b"none"])
def test_what_a_browser_says_comes_from_here_is_let_in(site):
    assert _status(_scope("GET", _right_headers((b"sec-fetch-site", site)))) == 200


@pytest.mark.parametrize("query", ["token", "access_token", "authorization", "bearer"])
def test_a_token_in_the_query_is_no_token(query):
    address = f"{query}={TOKEN}".encode()
    assert _status(_scope("GET", [(b"host", b"127.0.0.1:8765")], query=address)) == 401


def test_a_websocket_is_closed_before_it_opens():
    told = []

    async def open_one():
        async def send(message):
            told.append(message)

        scope = _scope("GET", _right_headers()) | {"type": "websocket"}
        await _guard(Room())(scope, None, send)

    _run(open_one)
    assert told == [{"type": "websocket.close", "code": 1008}]


def test_health_needs_no_token_but_the_right_host_and_origin():
    host = (b"host", b"127.0.0.1:8765")
    assert _status(_scope("GET", [host], path="/health")) == 200
    assert _status(_scope("GET", [(b"host", b"evil.example")], path="/health")) == 421
    assert _status(_scope("GET", [host, (b"origin", b"null")], path="/health")) == 403
    for path in ("/health/", "//health", "/health/../v1/stats", "/v1/health", "/healthy"):
        assert _status(_scope("GET", [host], path=path)) == 401, path


def test_on_port_80_the_host_may_come_without_its_port():
    app = Guard(AddressGuard(Room(), "GET"), token=TOKEN, port=80)
    for host, expected in ((b"localhost", 200), (b"localhost:80", 200), (b"localhost:8765", 421)):
        headers = [(b"host", host), (b"authorization", b"Bearer " + TOKEN.encode())]
        assert _run(_call, app, _scope("GET", headers))[0] == expected


def test_a_guard_without_a_token_cannot_be_made():
    with pytest.raises(ValueError, match="token"):
        Guard(Room(), token="", port=PORT)


@pytest.mark.parametrize("length", [b"2000001", b"9" * 5000, b"-1", b"1e3", b"5, 2000001", "１".encode()])
def test_a_declared_length_that_is_too_large_or_no_number_is_refused_unread(length):
    assert _status(_scope("POST", _right_headers((b"content-length", length))), chunks=()) == 413


def test_a_body_that_grows_past_the_limit_is_not_read_further():
    chunk, room = b"x" * 500_000, Room()
    endless = itertools.repeat(chunk)
    read = 0

    async def pour():
        nonlocal read
        told = []

        async def receive():
            nonlocal read
            read += 1
            return {"type": "http.request", "body": next(endless), "more_body": True}

        async def send(message):
            told.append(message)

        await _guard(room)(_scope("POST", _right_headers()), receive, send)
        return told[0]["status"]

    assert _run(pour) == 413
    assert read == MAX_BODY_BYTES // len(chunk) + 1
    assert not room.entered


def test_a_body_of_exactly_the_limit_arrives_whole():
    room = Room()
    chunks = (b"a" * (MAX_BODY_BYTES - 1), b"b")
    assert _run(_call, _guard(room), _scope("POST", _right_headers()), chunks)[0] == 200
    assert room.entered == [("POST", b"a" * (MAX_BODY_BYTES - 1) + b"b")]


def test_a_client_that_leaves_in_the_middle_of_its_body_is_not_answered():
    room = Room()

    async def leave():
        told, sent = [], [{"type": "http.request", "body": b"{", "more_body": True}]

        async def receive():
            return sent.pop() if sent else {"type": "http.disconnect"}

        async def send(message):
            told.append(message)

        await _guard(room)(_scope("POST", _right_headers()), receive, send)
        return told

    assert _run(leave) == []
    assert not room.entered


_header = st.tuples(
    st.sampled_from(
        [b"host", b"Host", b"origin", b"authorization", b"content-type", b"upgrade", b"sec-fetch-site"]
    ),
    st.one_of(
        st.sampled_from(
            sorted({one for table in (HOSTS, ORIGINS, TOKENS, TYPES) for row in table for one in row})
        ),
        st.binary(max_size=40),
    ),
)


@given(st.lists(_header, max_size=8), st.sampled_from(METHODS))
def test_whatever_the_headers_nobody_comes_in_without_host_and_token(headers, method):
    room = Room()
    _run(_call, _guard(room), _scope(method, headers))
    if room.entered:
        values = [(name.lower(), value) for name, value in headers]
        hosts = [value for name, value in values if name == b"host"]
        tokens = [value for name, value in values if name == b"authorization"]
        origins = [value for name, value in values if name == b"origin"]
        assert len(hosts) == 1
        assert HOSTS.get((hosts[0],))
        assert len(tokens) == 1
        assert TOKENS.get((tokens[0].strip(),)) or tokens[0].split() == [b"Bearer", TOKEN.encode()]
        assert not origins or ORIGINS.get((origins[0],)) or origins[0] == b"http://[::1]:8765"


# A real server on a real socket --------------------------------------------------------------------------


@pytest.fixture
def serving(engine, project, serve_application):
    """A real server on loopback; gives its port."""
    with serve_application(
        lambda port: build_application(engine, token=TOKEN, port=port, status=dict)
    ) as port:
        yield port


def _raw(port, request):
    """The status and the bytes that a server answers raw bytes with."""
    with socket.create_connection(("127.0.0.1", port), timeout=120) as client:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.sendall(request)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := client.recv(65536):
                answer += piece
    return (int(answer.split(b" ", 2)[1]) if answer else None), answer


def _request(port, *lines, method="GET", path="/v1/workspaces", host=True, token=True, body=b""):
    head = [f"{method} {path} HTTP/1.1", *([f"Host: 127.0.0.1:{port}"] if host else [])]
    head += [f"Authorization: Bearer {TOKEN}"] if token else []
    return "\r\n".join([*head, *lines, "Connection: close", "", ""]).encode() + body


@pytest.mark.fault
def test_idle_connections_of_others_do_not_keep_a_request_from_being_answered(serving, report_fault):
    """More of them than there is room for, some with half a request; the owner's request is taken."""
    with contextlib.ExitStack() as idle:
        for number in range(230):
            client = idle.enter_context(socket.create_connection(("127.0.0.1", serving), timeout=120))
            with contextlib.suppress(ConnectionError):
                client.sendall(b"GET / HTTP/1.1\r\nHost:" if number % 2 else b"")
        assert _raw(serving, _request(serving))[0] == 200
    report_fault(14, {"connections of strangers": 230})


SEARCH = json.dumps({"workspace": "shop", "query": "postgres"}).encode()
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
JSON_TYPE = "Content-Type: application/json"


def _search(port, *lines, body=SEARCH, path="/v1/search", **how):
    return _request(port, *lines, f"Content-Length: {len(body)}", method="POST", path=path, body=body, **how)


def test_over_a_real_socket_the_right_requests_are_answered(serving):
    assert _raw(serving, _request(serving))[0] == 200
    assert _raw(serving, _request(serving, f"Origin: http://localhost:{serving}"))[0] == 200
    status, answer = _raw(serving, _search(serving, JSON_TYPE))
    assert status == 200
    assert b"Postgres" in answer
    assert _raw(serving, _request(serving, token=False, path="/health"))[0] == 200


@pytest.mark.parametrize("path", ["/v1/search", "/mcp"])
def test_over_a_real_socket_nothing_wrong_is_let_in(serving, path):
    evil = "Origin: http://evil.example"
    wrong = {
        "rebound name": (
            _search(serving, JSON_TYPE, f"Host: evil.example:{serving}", host=False, path=path),
            421,
        ),
        "no port": (_search(serving, JSON_TYPE, "Host: 127.0.0.1", host=False, path=path), 421),
        "two hosts": (_search(serving, JSON_TYPE, "Host: evil.example", path=path), 400),
        "no host": (_search(serving, JSON_TYPE, host=False, path=path), 400),
        "another origin": (_search(serving, JSON_TYPE, evil, path=path), 403),
        "null origin": (_search(serving, JSON_TYPE, "Origin: null", path=path), 403),
        "two origins": (
            _search(serving, JSON_TYPE, f"Origin: http://127.0.0.1:{serving}", evil, path=path),
            403,
        ),
        "an image's request": (_search(serving, JSON_TYPE, "Sec-Fetch-Site: cross-site", path=path), 403),
        "no token": (_search(serving, JSON_TYPE, token=False, path=path), 401),
        "wrong token": (_search(serving, JSON_TYPE, "Authorization: Bearer no", token=False, path=path), 401),
        "two tokens": (_search(serving, JSON_TYPE, "Authorization: Bearer no", path=path), 401),
        "token in query": (_search(serving, JSON_TYPE, token=False, path=f"{path}?token={TOKEN}"), 401),
        "form": (_search(serving, "Content-Type: text/plain", path=path), 415),
        "no type": (_search(serving, path=path), 415),
        "two types": (_search(serving, JSON_TYPE, "Content-Type: text/plain", path=path), 415),
        "get": (_request(serving, path=path), 405),
        "head": (_request(serving, method="HEAD", path=path), 405),
        "put": (_search(serving, JSON_TYPE, path=path).replace(b"POST", b"PUT", 1), 405),
        "delete": (_request(serving, method="DELETE", path=path), 405),
        "preflight": (
            _request(
                serving, evil, "Access-Control-Request-Method: POST", method="OPTIONS", path=path, token=False
            ),
            403,
        ),
        "preflight from here": (_request(serving, method="OPTIONS", path=path, token=False), 401),
        "options with token": (_request(serving, method="OPTIONS", path=path), 405),
    }
    for name, (request, expected) in wrong.items():
        status, answer = _raw(serving, request)
        assert status == expected, (name, answer[:300])
        assert b"access-control" not in answer.lower(), name
        assert b"Postgres" not in answer, name


def test_over_a_real_socket_the_mark_of_a_websocket_is_refused(serving):
    lines = ["Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    request = _request(serving, *lines).replace(b"Connection: close", b"Connection: Upgrade, close")
    status, answer = _raw(serving, request)
    assert status == 403, answer


@pytest.mark.parametrize(
    "start", ["GET http://evil.example/v1/workspaces HTTP/1.1", "GET //evil.example/v1/workspaces HTTP/1.1"]
)
def test_a_foreign_name_in_the_request_line_leads_nowhere(serving, start):
    request = _request(serving).replace(b"GET /v1/workspaces HTTP/1.1", start.encode(), 1)
    status, answer = _raw(serving, request)
    assert status in (400, 404), answer


def test_two_lengths_smuggle_nothing(serving):
    hidden = _request(serving)
    lines = [JSON_TYPE, "Content-Length: 2", "Transfer-Encoding: chunked"]
    request = _request(serving, *lines, method="POST", path="/v1/search").replace(
        b"Connection: close\r\n", b""
    )
    _, answer = _raw(serving, request + b"0\r\n\r\n" + hidden)
    assert answer.count(b"HTTP/1.1 200") <= 1
    lines = [JSON_TYPE, "Content-Length: 2", "Content-Length: 3"]
    status, answer = _raw(serving, _request(serving, *lines, method="POST", path="/v1/search", body=b"{}x"))
    assert status == 400, answer


def test_a_huge_body_is_refused_before_it_is_sent_and_costs_no_memory(serving):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    declared = _request(serving, JSON_TYPE, "Content-Length: 50000000", method="POST", path="/v1/search")
    assert _raw(serving, declared)[0] == 413
    chunked = _request(serving, JSON_TYPE, "Transfer-Encoding: chunked", method="POST", path="/v1/search")
    pieces = (b"%x\r\n" % 100_000 + b"x" * 100_000 + b"\r\n") * 500
    assert _raw(serving, chunked + pieces)[0] in (413, None)  # it may hang up before all is sent
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200_000, f"{grown} kB more"
    assert _raw(serving, _request(serving))[0] == 200


def test_the_server_listens_on_loopback_alone(serving):
    with socket.socket() as probe:
        probe.connect(("127.0.0.1", serving))
        assert probe.getpeername()[0] == "127.0.0.1"
    with listen_on_loopback() as listening:
        assert listening.getsockname()[0] == "127.0.0.1"
