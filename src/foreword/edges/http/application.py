"""HTTP on loopback: the endpoints, and MCP at /mcp, behind the guard.

Reads requests, writes answers and turns errors into statuses. Calls run in a few threads of their own, so
that a slow one holds up nobody else. What is called is in `endpoints`; who comes in, `guard` decides.
"""

from __future__ import annotations

import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import TypeAdapter
from pydantic import ValidationError as Unreadable
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from foreword.edges import calls
from foreword.edges.http import wire
from foreword.edges.http.endpoints import Asked, Endpoint, endpoints
from foreword.edges.http.guard import MAX_BODY, Door, Guard, hosts, origins
from foreword.edges.mcp import server as mcp_server
from foreword.errors import ForewordError, StorageError, TemplateNotFound, ValidationError
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    import uvicorn
    from starlette.types import ASGIApp, Receive, Scope, Send

    from foreword.engine.context_engine import ContextEngine

_log = get_logger("foreword.http")

_THREADS = 8
_CONNECTIONS = 200
_WORKSPACE: TypeAdapter[str] = TypeAdapter(wire.Workspace)
_METRICS = "text/plain; version=0.0.4; charset=utf-8"


# The application -----------------------------------------------------------------------------------------


def application(
    engine: ContextEngine,
    *,
    token: str,
    port: int,
    status: Callable[[], Mapping[str, Any]],
    metrics: Callable[[], str] | None = None,
    workspace: str | None = None,
) -> Starlette:
    """The server, guarded. `workspace` is the one that MCP calls mean when they name none."""
    threads = anyio.CapacityLimiter(_THREADS)
    pages: dict[str, dict[str, Endpoint]] = {}
    for endpoint in endpoints(engine, port, status, metrics):
        pages.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    protocol = mcp_server(engine, workspace)
    spoken = protocol.streamable_http_app(
        json_response=True,
        stateless_http=True,
        max_request_body_size=MAX_BODY,
        transport_security=TransportSecuritySettings(
            allowed_hosts=list(hosts(port)), allowed_origins=list(origins(port))
        ),
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with protocol.session_manager.run():
            yield

    app = Starlette(
        routes=[
            *(Route(path, Door(_Page(methods, threads), *methods)) for path, methods in pages.items()),
            Route("/mcp", Door(spoken, "POST")),  # it keeps no session that could be listened to or ended
        ],
        middleware=[Middleware(Guard, token=token, port=port)],
        exception_handlers={
            ForewordError: _foreword_error,
            HTTPException: _http_error,
            Exception: _unforeseen_error,
        },
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # an address has one spelling
    return app


class _Page:
    """The endpoints of one path."""

    def __init__(self, methods: Mapping[str, Endpoint], threads: anyio.CapacityLimiter) -> None:
        self._methods = methods
        self._threads = threads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._methods[scope["method"]]
        asked = await _read(endpoint, Request(scope, receive))
        content = await anyio.to_thread.run_sync(_answered, endpoint, asked, limiter=self._threads)
        kind = "application/json" if endpoint.answer else _METRICS
        await Response(content, media_type=kind)(scope, receive, send)


async def _read(endpoint: Endpoint, request: Request) -> Asked:
    """What is asked, checked as far as the wire can."""
    named = dict(request.query_params)
    if len(named) < len(request.query_params.multi_items()):
        raise ValidationError("a query parameter is given twice; give it once")
    if unknown := sorted(set(named) - ({"workspace"} if endpoint.scoped else set())):
        raise ValidationError(f"no query parameter named {unknown[0]!r} is known here")
    try:
        workspace = _WORKSPACE.validate_python(named.get("workspace")) if endpoint.scoped else ""
        body = endpoint.body.model_validate_json(await request.body()) if endpoint.body else None
    except Unreadable as error:
        raise ValidationError(wire.complaint(error)) from None
    return Asked(workspace, request.path_params.get("id", ""), body)


def _answered(endpoint: Endpoint, asked: Asked) -> str:
    value = endpoint.call(asked)
    return endpoint.answer.model_validate(value).model_dump_json() if endpoint.answer else str(value)


# Errors --------------------------------------------------------------------------------------------------


async def _foreword_error(_: Request, error: Exception) -> Response:
    return _failure(_status(error), getattr(error, "type", "missing_extra"), str(error))


def _status(error: Exception) -> int:
    match error:
        case calls.UnknownId() | TemplateNotFound():
            return 404
        case ValidationError():
            return 400
        case StorageError():
            return 503
        case _:
            return 502


async def _http_error(_: Request, error: Exception) -> Response:
    status, headers = getattr(error, "status_code", 500), getattr(error, "headers", None)
    kind = "no_such_address" if status == 404 else "http_error"
    return _failure(status, kind, getattr(error, "detail", ""), headers)


async def _unforeseen_error(_: Request, error: Exception) -> Response:
    """A bug: the client is told so, and Starlette raises it again, for the log; then the connection ends."""
    _log.warning("a request failed unexpectedly", error=type(error).__name__)
    message = "Foreword failed in a way nobody foresaw; its log has the details"
    return _failure(500, "bug", message, {"Connection": "close"})


def _failure(status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"type": kind, "message": message}}, status, headers)


# Serving -------------------------------------------------------------------------------------------------


def listen(port: int = 0) -> socket.socket:
    """A socket on 127.0.0.1 and nowhere else; port 0 is any that is free."""
    return socket.create_server(("127.0.0.1", port))


def server(app: ASGIApp) -> uvicorn.Server:
    """A server for the application: quiet, bounded, without WebSockets or trust in proxies."""
    import uvicorn

    return uvicorn.Server(
        uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="on",
            log_config=None,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=_CONNECTIONS,
            timeout_graceful_shutdown=5,
        )
    )
