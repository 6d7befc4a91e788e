"""Who may talk to a server on loopback: the programs of this user that have the token, and no web page.

A web page can send requests to 127.0.0.1, and can have its own name resolve to it. So the `Host` must be
ours (else 421), an `Origin` must be ours or absent (else 403), the token comes in a header that no page can
add without permission (else 401), and permission is never given: no CORS header is ever sent. WebSockets are
refused. That is the `Guard`, around everything. The empty shell of the viewer's page needs no token, since
it holds nothing and may be linked to from anywhere; its parts take a key of their own, or the token. Each
address also has an `AddressGuard`: only its methods pass (else 405), bodies are JSON by their content type
(else 415), because a page can post a form without permission, and they are read whole, up to a limit (else
413), before anything sees them.
"""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 2_000_000
"""The most bytes that the body of a request may have."""

OPEN_PATHS = frozenset({"/health"})
"""Paths that need no token."""

SHELL_PATH, PARTS_PATH = "/view", "/page"
"""Where the viewer's empty page is, which needs no token, and where its parts are, which take its key."""

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_CHARSETS = (b"", b"charset=utf-8")
_MAX_LENGTH_DIGITS = len(str(MAX_BODY_BYTES))
_ADDED_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_ADDED_NAMES = frozenset(name for name, _ in _ADDED_HEADERS)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer to a request that is refused: the status, the tag, and a message with advice."""

    status: int
    type: str
    message: str
    headers: tuple[tuple[bytes, bytes], ...] = ()

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Answer with the refusal, as JSON."""
        body = json.dumps({"error": {"type": self.type, "message": self.message}}).encode()
        length = (b"content-length", str(len(body)).encode())
        headers = [(b"content-type", b"application/json"), length, *self.headers]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


_WRONG_HOST = Refusal(
    421, "wrong_host", "this server answers to 127.0.0.1, localhost and [::1] with its port"
)
_WRONG_ORIGIN = Refusal(403, "wrong_origin", "web pages may not talk to this server")
_WEBSOCKET = Refusal(403, "no_websocket", "this server speaks no WebSocket; use plain HTTP")
_NO_TOKEN = Refusal(
    401,
    "unauthorized",
    "send the header Authorization: Bearer TOKEN, once; the token lies in the file the server named",
    ((b"www-authenticate", b"Bearer"),),
)
_NOT_JSON = Refusal(415, "not_json", "send the body as JSON, with the header Content-Type: application/json")
_TOO_LARGE = Refusal(
    413, "too_large", f"a request may bring at most {MAX_BODY_BYTES:,} bytes; send less at a time"
)


def allowed_hosts(port: int) -> tuple[str, ...]:
    """The values of the header `Host` that mean this server."""
    names = ("127.0.0.1", "localhost", "[::1]")
    return tuple(f"{name}:{port}" for name in names) + (names if port == 80 else ())


def allowed_origins(port: int) -> tuple[str, ...]:
    """The values of the header `Origin` that mean this server's own pages."""
    return tuple(f"http://{host}" for host in allowed_hosts(port))


class Guard:
    """ASGI middleware around everything: checks host, origin and token, and refuses WebSockets."""

    def __init__(self, app: ASGIApp, *, token: str, port: int, page_key: str = "") -> None:
        if not token:
            raise ValueError("a guard needs a token")
        self._app = app
        self._token = token.encode()
        self._page_key = page_key.encode()
        self._hosts = frozenset(host.encode() for host in allowed_hosts(port))
        self._origins = frozenset(origin.encode() for origin in allowed_origins(port))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer with a refusal."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await (self._find_refusal(scope) or self._app)(scope, receive, _add_headers_to_answers(send))

    def _find_refusal(self, scope: Scope) -> Refusal | None:
        """The refusal of a request, or None if it may pass."""
        if _single_header_value(scope, b"host").lower() not in self._hosts:
            return _WRONG_HOST
        is_shell = bool(self._page_key) and _is_path_under(scope["path"], SHELL_PATH)
        if not self._has_own_or_no_origin(scope) and not (is_shell and _is_navigation(scope)):
            return _WRONG_ORIGIN
        if b"websocket" in _joined_header_values(scope, b"upgrade"):
            return _WEBSOCKET
        return (
            None
            if scope["path"] in OPEN_PATHS or is_shell or self._has_token_or_page_key(scope)
            else _NO_TOKEN
        )

    def _has_own_or_no_origin(self, scope: Scope) -> bool:
        """Whether no page of another site can have sent this, by the two headers that browsers set."""
        if _joined_header_values(scope, b"sec-fetch-site") not in (b"", b"same-origin", b"none"):
            return False
        has_origin = bool(_header_values(scope, b"origin"))
        return not has_origin or _single_header_value(scope, b"origin").lower() in self._origins

    def _has_token_or_page_key(self, scope: Scope) -> bool:
        given = read_bearer_token(scope).encode("latin-1")
        is_part = bool(self._page_key) and _is_path_under(scope["path"], PARTS_PATH)
        if is_part and hmac.compare_digest(given, self._page_key):
            return True
        return hmac.compare_digest(given, self._token)


class AddressGuard:
    """ASGI middleware of one address: its methods, and bodies that are JSON and not too large."""

    def __init__(self, app: ASGIApp, *methods: str) -> None:
        self._app = app
        self._methods = frozenset(methods)
        allowed = ", ".join(sorted(methods))
        self._wrong_method = Refusal(
            405, "method_not_allowed", f"this address takes {allowed}", ((b"allow", allowed.encode()),)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body and let the request pass, or answer with a refusal."""
        refusal = None if scope["method"] in self._methods else self._wrong_method
        if scope["method"] in _WITH_BODY and refusal is None:
            refusal = _find_body_refusal(scope)
        if scope["method"] in _WITH_BODY and refusal is None:
            body = await _read_body(receive)
            if body is None:
                return  # the client has left
            receive = _replay_body(body, receive)
            refusal = _TOO_LARGE if len(body) > MAX_BODY_BYTES else None
        await (refusal or self._app)(scope, receive, send)


def read_bearer_token(scope: Scope) -> str:
    """The token in the header `Authorization`; empty if it is missing, comes twice or is of another kind."""
    scheme, _, sent = _single_header_value(scope, b"authorization").partition(b" ")
    return sent.strip().decode("latin-1") if scheme.lower() == b"bearer" else ""


def _is_path_under(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _is_navigation(scope: Scope) -> bool:
    """Whether a browser opens a page, as by a link, and no page embeds or fetches it."""
    mode, target = (
        _joined_header_values(scope, b"sec-fetch-mode"),
        _joined_header_values(scope, b"sec-fetch-dest"),
    )
    return scope["method"] == "GET" and (mode, target) == (b"navigate", b"document")


def _header_values(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key.lower() == name]


def _single_header_value(scope: Scope, name: bytes) -> bytes:
    """The value of a header that comes exactly once; empty if it is missing or comes twice."""
    values = _header_values(scope, name)
    return values[0] if len(values) == 1 else b""


def _joined_header_values(scope: Scope, name: bytes) -> bytes:
    """All values of a header, joined by commas, in lower case."""
    return b", ".join(_header_values(scope, name)).lower()


def _find_body_refusal(scope: Scope) -> Refusal | None:
    """The refusal of a body by its type and length, or None if it may be read."""
    kind, _, parameters = _single_header_value(scope, b"content-type").lower().partition(b";")
    if kind.strip() != b"application/json" or parameters.strip().replace(b'"', b"") not in _CHARSETS:
        return _NOT_JSON
    length = _joined_header_values(scope, b"content-length") or b"0"
    small = length.isdigit() and len(length) <= _MAX_LENGTH_DIGITS and int(length) <= MAX_BODY_BYTES
    return None if small else _TOO_LARGE


async def _read_body(receive: Receive) -> bytes | None:
    """The body, read until it is over the limit; None if the client left before all of it came."""
    body = bytearray()
    while len(body) <= MAX_BODY_BYTES:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return bytes(body)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns the body that was read already, then calls the original."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_pending_body_first() -> Message:
        return pending.pop() if pending else await receive()

    return receive_pending_body_first


def _add_headers_to_answers(send: Send) -> Send:
    """A `send` that adds the headers that every answer has."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [pair for pair in message.get("headers", ()) if pair[0].lower() not in _ADDED_NAMES]
            message = {**message, "headers": [*headers, *_ADDED_HEADERS]}
        await send(message)

    return send_with_headers


class ProxyGuard(Guard):
    """The guard of a proxy: it refuses web pages, lets any program pass, and adds no headers to answers.

    There is no token, because requests carry the key of the API behind the proxy in its place.
    """

    def __init__(self, app: ASGIApp, *, port: int) -> None:
        super().__init__(app, token=secrets.token_hex(), port=port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer with a refusal."""
        if scope["type"] == "http" and self._find_refusal(scope) is None:
            await self._app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    def _has_token_or_page_key(self, scope: Scope) -> bool:  # noqa: ARG002
        return True
