"""The model's API behind the proxy: the address and the headers of requests to it.

Keys are in the headers, which are forwarded and never read, logged or stored. Redirects are not followed, so
that no key is sent anywhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2

from foreword.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

Headers = list[tuple[bytes, bytes]]

_PREFIX = "/v1"
_CONNECT_SECONDS = 10.0
_OURS = b"x-foreword-"
_HOP_BY_HOP = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    }
)
_NOT_SENT = _HOP_BY_HOP | {b"host", b"expect"}


class Upstream:
    """One API, by its base URL. `timeout_seconds` is how long it may send nothing."""

    def __init__(self, url: str, timeout_seconds: float = 600.0) -> None:
        self.url = check_upstream_url(url)
        path = urlsplit(self.url).path
        self._has_path = bool(path.strip("/"))
        timeout = httpx2.Timeout(timeout_seconds, connect=_CONNECT_SECONDS)
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=64)
        self._client = httpx2.AsyncClient(timeout=timeout, limits=limits, follow_redirects=False)

    def build_url(self, path: str, query: str) -> str:
        """The URL for a request to this path; the base URL's own path, if any, replaces `/v1`."""
        if self._has_path and (path == _PREFIX or path.startswith(_PREFIX + "/")):
            path = path.removeprefix(_PREFIX)
        return f"{self.url}{path}" + (f"?{query}" if query else "")

    async def send(
        self, method: str, address: str, headers: Headers, body: bytes | AsyncIterator[bytes]
    ) -> httpx2.Response:
        """The answer of the API, with its body unread; the caller closes it. Raises httpx2.HTTPError."""
        request = self._client.build_request(method, address, headers=headers, content=body)
        for name in ("accept", "accept-encoding", "connection", "user-agent"):
            if name in request.headers and not any(key.lower() == name.encode() for key, _ in headers):
                del request.headers[name]  # added by the HTTP client, not sent by the application
        return await self._client.send(request, stream=True)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def check_upstream_url(url: str) -> str:
    """The URL without a slash at its end; ValidationError if it is not the base of an API."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        example = "such as https://api.openai.com/v1"
        raise ValidationError(f"the upstream must be the base URL of an API {example}, not {url!r}")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValidationError("the upstream must not hold a password, a query or a fragment")
    return url.rstrip("/")


def select_request_headers(headers: Headers, *, is_read: bool) -> Headers:
    """The headers to send upstream; if the answer is to be read, it must not be compressed."""
    dropped = _NOT_SENT | _headers_named_by_connection(headers)
    if is_read:
        dropped |= {b"accept-encoding", b"content-length"}
    kept = [
        (name, value)
        for name, value in headers
        if name.lower() not in dropped and not name.lower().startswith(_OURS)
    ]
    return [*kept, (b"accept-encoding", b"identity")] if is_read else kept


def make_answer_headers(headers: Sequence[tuple[bytes, bytes]], added: dict[str, str]) -> Headers:
    """The headers to send back to the application, with `added` ones of ours."""
    dropped = _HOP_BY_HOP | _headers_named_by_connection(headers) | {b"date"}  # our server adds its own
    kept = [
        (name.lower(), value)
        for name, value in headers
        if name.lower() not in dropped and not name.lower().startswith(_OURS)
    ]
    ours = [(name.encode(), _encode_header_value(value)) for name, value in added.items() if value]
    return [*kept, *ours]


def _headers_named_by_connection(headers: Sequence[tuple[bytes, bytes]]) -> frozenset[bytes]:
    """The headers that the header `Connection` names: they are for one connection only."""
    values = (value for name, value in headers if name.lower() == b"connection")
    return frozenset(name.strip().lower() for value in values for name in value.split(b","))


def _encode_header_value(text: str) -> bytes:
    """A text as the value of a header: on one line, in ASCII, shortened."""
    return " ".join(text.split())[:300].encode("ascii", "replace")
