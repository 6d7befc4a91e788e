"""The page over HTTP: a shell without data that anybody may load, and its parts, which need the key.

The shell (`/view…`) and its script and style hold nothing of anybody's. The script asks for the parts
(`/page…`) with the key in a header, which no other page can send, and puts them into the shell. Every answer
has a policy that lets a browser load nothing from elsewhere and run nothing but the one script.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from foreword.edges.view import acts, health, memory, now, prompts, trial
from foreword.edges.view.markup import Markup, el, join, words_of
from foreword.edges.view.visit import House, Visit
from foreword.errors import ForewordError, StorageError, UnknownId, ValidationError
from foreword.log import get_logger
from foreword.options import check_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import Receive, Scope, Send

_log = get_logger("foreword.view")

_THREADS = 4
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types foreword"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""What every answer of the page carries."""

_STATIC_TYPES = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_STATUSES = {UnknownId: 404, ValidationError: 400, StorageError: 503}

_PARTS: Mapping[str, Callable[[Visit], Markup]] = {
    "now": now.show_now,
    "prompts": prompts.list_prompts,
    "prompts/newest": prompts.newest_prompt,
    "try": trial.show_trial,
    "memory": memory.list_memory,
    "health": health.show_health,
    "findings": health.list_findings,
    "forget": acts.preview_forget,
    "edit": acts.edit_form,
}
_NAMED_PARTS: Mapping[str, Callable[[Visit, str], Markup]] = {
    "prompts": prompts.show_prompt,
    "memory": memory.show_item,
}


@cache
def read_static(name: str) -> str:
    """A file of the page."""
    return resources.files("foreword.edges.view").joinpath("static", name).read_text(encoding="utf-8")


class PageApplication:
    """The page as an ASGI application, for the addresses under /view and /page."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._threads = anyio.CapacityLimiter(_THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; that it may be made was checked before."""
        request = Request(scope, receive)
        path = scope["path"].removeprefix("/")
        if path.partition("/")[0] == "view":
            response = _serve_shell(path)
        else:
            body = await request.json() if request.method == "POST" else {}
            response = await anyio.to_thread.run_sync(
                self._answer,
                path.removeprefix("page/"),
                dict(request.query_params),
                body,
                limiter=self._threads,
            )
        response.headers.update(HEADERS)
        await response(scope, receive, send)

    def _answer(self, path: str, query: dict[str, str], body: Any) -> Response:  # noqa: ANN401  (any JSON)
        """A part of the page, or what came of an act; an error is a part, too."""
        posted = isinstance(body, dict) and bool(body)
        try:
            if path == "frame":
                return HTMLResponse(_frame(self._house, query.get("w", "")))
            if path.startswith("r/"):
                return HTMLResponse(prompts.find_prompt(self._house, unquote(path.removeprefix("r/"))))
            workspace = check_workspace((body.get("w") if posted else None) or query.get("w", ""))
            visit = Visit(self._house, workspace, query, body if posted else {})
            if path.startswith("do/"):
                return _perform_action(visit, path.removeprefix("do/"))
            return HTMLResponse(_find_part(visit, path))
        except ForewordError as error:
            status = next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), 502)
            return HTMLResponse(_error_part(str(error)), status)
        except Exception as error:
            _log.warning("a part of the page failed", part=path, error=type(error).__name__)
            raise


def _serve_shell(path: str) -> Response:
    """The shell, or one of its files."""
    _, _, name = path.partition("view/static/")
    if name in _STATIC_TYPES:
        return Response(read_static(name), media_type=_STATIC_TYPES[name])
    if name:
        return PlainTextResponse("no such file", 404)
    return HTMLResponse(read_static("shell.html"))


def _find_part(visit: Visit, path: str) -> Markup:
    if visit.body and path == "try":
        return trial.try_prompt(visit)
    if path in _PARTS and not visit.body:
        return _PARTS[path](visit)
    part, _, name = path.partition("/")
    if part in _NAMED_PARTS and name and not visit.body:
        return _NAMED_PARTS[part](visit, unquote(name))
    raise UnknownId(f"the page has no part named {path!r}")


def _perform_action(visit: Visit, name: str) -> Response:
    if name not in acts.ACTS:
        raise UnknownId(f"the page cannot {name!r}")
    outcome = acts.ACTS[name](visit)
    return JSONResponse({"message": outcome.message, "go": outcome.go, "html": outcome.html})


def _frame(house: House, workspace: str) -> Markup:
    """The choice of workspaces; the one that is named is chosen, even if it holds nothing yet."""
    known = house.engine.store.workspaces()
    listed = sorted({*known, *([workspace] if workspace else [])})
    options = [el("option", name, value=name, selected=name == workspace) for name in listed]
    if not workspace:
        options.insert(0, el("option", "Choose a project …" if known else "No project yet", value=""))
    return join(el("label", "Project", for_="w"), el("select", *options, id="w", dir="auto"))


def _error_part(message: str) -> Markup:
    return join(
        el("h1", "This did not work", tabindex="-1"), words_of(message, "p", class_="notice", role="alert")
    )
