"""The HTTP application: the endpoints behind the guard, and MCP at /mcp.

Reads requests, writes answers and turns errors into statuses. Calls run in a few threads, so that a slow one
does not delay others. `endpoints` has the functions that are called, `guard` decides who may call them, and
the service opens the port.
"""

from __future__ import annotations

import time
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from pydantic import TypeAdapter
from pydantic import ValidationError as Unreadable
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from foreword.edges.http import wire
from foreword.edges.http.endpoints import Endpoint, EndpointCall, list_endpoints
from foreword.edges.http.guard import PARTS_PATH, SHELL_PATH, AddressGuard, Guard
from foreword.errors import (
    ForewordError,
    StorageError,
    StoreBusy,
    TemplateNotFound,
    UnknownId,
    ValidationError,
)
from foreword.log import get_logger
from foreword.types.deadlines import hold_deadline

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping, Sequence
    from contextlib import AbstractContextManager

    from starlette.types import ASGIApp, Receive, Scope, Send

    from foreword.engine.context_engine import ContextEngine

    Allowed = AbstractContextManager[EndpointCall]
    Permit = Callable[[MutableMapping[str, Any], Endpoint, EndpointCall], Allowed]

_log = get_logger("foreword.http")

_THREADS = 8
_ASKED_BY_WATCHERS = ("health", "ready")
"""Endpoints that answer even if every thread waits for a store."""
_WORKSPACE: TypeAdapter[str] = TypeAdapter(wire.Workspace)
_METRICS = "text/plain; version=0.0.4; charset=utf-8"
_STATUSES = {UnknownId: 404, TemplateNotFound: 404, ValidationError: 400, StorageError: 503}
"""The status of an error is that of the first class that matches: an UnknownId is a ValidationError, too."""
_HTTP_ERRORS = {403: "forbidden", 404: "no_such_address", 507: "quota_reached"}


def build_api(
    engine: ContextEngine,
    *,
    token: str,
    port: int,
    status: Callable[[], Mapping[str, Any]],
    metrics: Callable[[], str] | None = None,
    mcp: Starlette | None = None,
    page: ASGIApp | None = None,
    page_key: str = "",
) -> Starlette:
    """The guarded application for one user on loopback; `mcp` is served at /mcp.

    `page` is the viewer's page; `page_key` gives access to its parts and to nothing else.
    """
    endpoints = list_endpoints(engine, port, status, metrics, page_key)
    guard = Middleware(Guard, token=token, port=port, page_key=page_key)
    return build_guarded_api(endpoints, guard, mcp=mcp, page=page)


def build_guarded_api(
    endpoints: Sequence[Endpoint],
    guard: Middleware,
    *,
    permit: Permit | None = None,
    mcp: Starlette | None = None,
    page: ASGIApp | None = None,
) -> Starlette:
    """The endpoints behind a guard. Each call is made in the block of `permit`, which may raise instead."""
    threads = anyio.CapacityLimiter(_THREADS)
    paths: dict[str, dict[str, Endpoint]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    routes = [
        Route(path, AddressGuard(_make_path_application(one, threads, permit), *one))
        for path, one in paths.items()
    ]
    if mcp is not None:
        routes.append(Route("/mcp", AddressGuard(mcp, "POST")))  # no sessions, so neither GET nor DELETE

    if page is not None:
        routes += [
            Route(path, AddressGuard(page, "GET")) for path in (SHELL_PATH, SHELL_PATH + "/{rest:path}")
        ]
        routes.append(Route(PARTS_PATH + "/{rest:path}", AddressGuard(page, "GET", "POST")))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with mcp.router.lifespan_context(mcp) if mcp is not None else nullcontext():
            yield

    app = Starlette(
        routes=routes,
        middleware=[guard],
        exception_handlers={
            ForewordError: _respond_to_foreword_error,
            HTTPException: _respond_to_http_error,
            Exception: _respond_to_unforeseen_error,
        },
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # each address has only one spelling
    return app


def _make_path_application(
    methods: Mapping[str, Endpoint], threads: anyio.CapacityLimiter, permit: Permit | None
) -> ASGIApp:
    """The endpoints of one path as an ASGI application."""

    def answer_call(scope: Scope, endpoint: Endpoint, call: EndpointCall) -> str:
        permitted = nullcontext(call) if permit is None else permit(scope, endpoint, call)
        with hold_deadline(call.expires), permitted as allowed:
            return _call_endpoint(endpoint, allowed)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = methods[scope["method"]]
        state = scope.setdefault("state", {})
        state["action"] = endpoint.name
        call = await _read_call(endpoint, Request(scope, receive))
        state |= {"workspace": call.workspace_named_in_call, "id": call.id}
        # Also what permits it runs in a thread: it may ask a store that hangs.
        limiter = None if endpoint.name in _ASKED_BY_WATCHERS else threads
        with anyio.move_on_after(call.expires - time.monotonic()) as waiting:  # for a thread; then it runs
            content = await anyio.to_thread.run_sync(answer_call, scope, endpoint, call, limiter=limiter)
        if waiting.cancelled_caught:
            raise StoreBusy("every thread waits for the store; try again")
        media_type = "application/json" if endpoint.answer else _METRICS
        await Response(content, media_type=media_type)(scope, receive, send)

    return answer


async def _read_call(endpoint: Endpoint, request: Request) -> EndpointCall:
    """The call that a request asks for, with its body checked against the endpoint's model."""
    query = dict(request.query_params)
    if len(query) < len(request.query_params.multi_items()):
        raise ValidationError("a query parameter is given twice; give it once")
    if unknown := sorted(set(query) - ({"workspace"} if endpoint.scoped else set())):
        raise ValidationError(f"no query parameter named {unknown[0]!r} is known here")
    try:
        workspace = _WORKSPACE.validate_python(query.get("workspace")) if endpoint.scoped else ""
        body = endpoint.body.model_validate_json(await request.body()) if endpoint.body else None
    except Unreadable as error:
        raise ValidationError(wire.describe_mistakes(error)) from None
    call = EndpointCall(workspace, request.path_params.get("id", ""), body)
    return replace(call, expires=time.monotonic() + endpoint.seconds(call))


def _call_endpoint(endpoint: Endpoint, call: EndpointCall) -> str:
    """The body of the answer: JSON that was checked against the endpoint's model, or plain text."""
    value = endpoint.handle(call)
    return endpoint.answer.model_validate(value).model_dump_json() if endpoint.answer else str(value)


# Errors --------------------------------------------------------------------------------------------------


async def _respond_to_foreword_error(_: Request, error: Exception) -> Response:
    status = next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), 502)
    return _error_response(status, getattr(error, "type", "missing_extra"), str(error))


async def _respond_to_http_error(_: Request, error: Exception) -> Response:
    status, headers = getattr(error, "status_code", 500), getattr(error, "headers", None)
    kind = _HTTP_ERRORS.get(status, "http_error")
    return _error_response(status, kind, getattr(error, "detail", ""), headers)


async def _respond_to_unforeseen_error(_: Request, error: Exception) -> Response:
    """The answer to a bug; Starlette raises the error again, for the log, and the connection is closed."""
    _log.warning("a request failed unexpectedly", error=type(error).__name__)
    message = "Foreword failed in a way nobody foresaw; its log has the details"
    return _error_response(500, "bug", message, {"Connection": "close"})


def _error_response(
    status: int, kind: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The JSON answer for an error: its tag and its message."""
    return JSONResponse({"error": {"type": kind, "message": message}}, status, headers)
