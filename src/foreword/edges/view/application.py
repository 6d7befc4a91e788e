"""The page over HTTP: a shell without data that anybody may load, and its parts, which need the key.

The shell (`/view…`), its script and its style hold no data. The script fetches the parts (`/page…`) with the
key in a header, which no other site can send, and puts them into the shell. Every response has a content
policy that lets the browser load nothing from elsewhere and run no script but this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from foreword.edges.view import acts, health, memory, now, prompts, trial
from foreword.edges.view.markup import Markup, el, element_with_user_text, join
from foreword.edges.view.pieces import read_static
from foreword.edges.view.visit import PageBackend, PageVisit
from foreword.errors import ForewordError, StorageError, UnknownId, ValidationError
from foreword.log import get_logger
from foreword.options import check_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import Receive, Scope, Send

_log = get_logger("foreword.view")

_THREADS, _EXAMINING_THREADS = 4, 1
"""How many parts are rendered at a time; the doctor's findings, which take seconds, have a thread of their
own."""

_FINDINGS_PART = "findings"
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
"""The headers of every response of the page."""

_STATIC_TYPES = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_STATUSES = {UnknownId: 404, ValidationError: 400, StorageError: 503}

_PARTS: Mapping[str, Callable[[PageVisit], Markup]] = {
    "now": now.render_now,
    "prompts": prompts.render_prompts,
    "prompts/newest": prompts.render_newest_receipt_id,
    "try": trial.render_trial,
    "memory": memory.render_memory,
    "health": health.render_health,
    _FINDINGS_PART: health.render_findings,
    "forget": acts.render_forget_preview,
    "edit": acts.render_edit_form,
}
_NAMED_PARTS: Mapping[str, Callable[[PageVisit, str], Markup]] = {
    "prompts": prompts.render_prompt,
    "memory": memory.render_item,
}


class PageApplication:
    """The page as an ASGI application, for the addresses under /view and /page."""

    def __init__(self, backend: PageBackend) -> None:
        self._backend = backend
        self._threads = anyio.CapacityLimiter(_THREADS)
        self._examine_limiter = anyio.CapacityLimiter(_EXAMINING_THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; the key was checked before."""
        request = Request(scope, receive)
        path = scope["path"].removeprefix("/")
        if path.partition("/")[0] == "view":
            response = _serve_page_frame_or_file(path)
        else:
            body = await request.json() if request.method == "POST" else {}
            part = path.removeprefix("page/")
            response = await anyio.to_thread.run_sync(
                self._answer,
                part,
                dict(request.query_params),
                body,
                limiter=self._examine_limiter if part == _FINDINGS_PART else self._threads,
            )
        response.headers.update(HEADERS)
        await response(scope, receive, send)

    def _answer(self, path: str, query: dict[str, str], body: Any) -> Response:  # noqa: ANN401  (any JSON)
        """The response with a part of the page, or with the outcome of an action; errors become HTML, too."""
        posted = isinstance(body, dict) and bool(body)
        try:
            if path == "frame":
                return HTMLResponse(_render_workspace_choice(self._backend, query.get("w", "")))
            if path.startswith("r/"):
                return HTMLResponse(
                    prompts.render_receipt_redirect(self._backend, unquote(path.removeprefix("r/")))
                )
            workspace = check_workspace((body.get("w") if posted else None) or query.get("w", ""))
            visit = PageVisit(self._backend, workspace, query, body if posted else {})
            if path.startswith("do/"):
                return _perform_action(visit, path.removeprefix("do/"))
            return HTMLResponse(_render_part(visit, path))
        except ForewordError as error:
            status = next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), 502)
            return HTMLResponse(_render_error_part(str(error)), status)
        except Exception as error:
            _log.warning("a part of the page failed", part=path, error=type(error).__name__)
            raise


def _serve_page_frame_or_file(path: str) -> Response:
    """The response with the shell, or with one of its static files."""
    _, _, name = path.partition("view/static/")
    if name in _STATIC_TYPES:
        return Response(read_static(name), media_type=_STATIC_TYPES[name])
    if name:
        return PlainTextResponse("no such file", 404)
    return HTMLResponse(read_static("shell.html"))


def _render_part(visit: PageVisit, path: str) -> Markup:
    """The HTML of the part at this path; raises UnknownId if there is none."""
    if visit.body and path == "try":
        return trial.render_trial_context(visit)
    if path in _PARTS and not visit.body:
        return _PARTS[path](visit)
    part, _, name = path.partition("/")
    if part in _NAMED_PARTS and name and not visit.body:
        return _NAMED_PARTS[part](visit, unquote(name))
    raise UnknownId(f"the page has no part named {path!r}")


def _perform_action(visit: PageVisit, name: str) -> Response:
    """Perform an action, and return its outcome as JSON."""
    if name not in acts.ACTS:
        raise UnknownId(f"the page cannot {name!r}")
    outcome = acts.ACTS[name](visit)
    return JSONResponse({"message": outcome.message, "go": outcome.go, "html": outcome.html})


def _render_workspace_choice(backend: PageBackend, workspace: str) -> Markup:
    """The list to choose a workspace from; the current one is in it even if it holds nothing yet."""
    known = backend.engine.store.workspaces()
    listed = sorted({*known, *([workspace] if workspace else [])})
    options = [el("option", name, value=name, selected=name == workspace) for name in listed]
    if not workspace:
        options.insert(0, el("option", "Choose a project …" if known else "No project yet", value=""))
    return join(el("label", "Project", for_="w"), el("select", *options, id="w", dir="auto"))


def _render_error_part(message: str) -> Markup:
    return join(
        el("h1", "This did not work", tabindex="-1"),
        element_with_user_text(message, "p", class_="notice", role="alert"),
    )
