"""Every endpoint under /v1 and beside it: one table, by which the server routes and the document is made.

Each entry translates a question into one call of the engine. Nothing here knows of requests or statuses
other than those the table lists.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import foreword
from foreword.edges import calls
from foreword.edges.http import openapi, wire
from foreword.edges.http.guard import OPEN
from foreword.options import ContextOptions, SearchOptions
from foreword.types import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from foreword.engine.context_engine import ContextEngine

_LATEST = "latest"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was read: the workspace and the id that its address names, and its body."""

    workspace: str = ""
    id: str = ""
    body: Any = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method on one path: what it takes, what it gives, and the call in between.

    `scoped` says that the workspace comes in the query; otherwise it is in the body, or nothing is asked of
    one. Without an `answer` the call gives plain text.
    """

    name: str
    method: str
    path: str
    summary: str
    call: Callable[[Asked], Any]
    answer: type[wire.Answer] | None
    body: type[wire.Question] | None = None
    scoped: bool = False
    fails: tuple[int, ...] = ()

    @property
    def statuses(self) -> tuple[int, ...]:
        """Every status but 200 that this endpoint can answer with."""
        always = {400, 403, 421}
        token = set() if self.path in OPEN else {401}
        return tuple(sorted(always | token | ({413, 415} if self.body else set()) | set(self.fails)))


def endpoints(
    engine: ContextEngine,
    port: int,
    status: Callable[[], Mapping[str, Any]],
    metrics: Callable[[], str] | None = None,
) -> tuple[Endpoint, ...]:
    """Everything that is served, apart from MCP."""
    desk = _Desk(engine)
    stored, sought = (503,), (502, 503)
    table = [
        Endpoint(
            "remember", "POST", "/v1/remember", "Keep a statement; once answered, it survives a power cut.",
            desk.remember, wire.ItemAnswer, wire.RememberQuestion, fails=(404, *stored),
        ),
        Endpoint(
            "search", "POST", "/v1/search", "List what answers a question, best first.",
            desk.search, wire.SearchAnswer, wire.SearchQuestion, fails=sought,
        ),
        Endpoint(
            "context", "POST", "/v1/context", "Build the text to put before a prompt, and say why.",
            desk.context, wire.ContextAnswer, wire.ContextQuestion, fails=(404, *sought),
        ),
        Endpoint(
            "forget", "POST", "/v1/forget", "Remove items and everything made from them, for good.",
            desk.forget, wire.ForgetAnswer, wire.ForgetQuestion, fails=stored,
        ),
        Endpoint(
            "item", "GET", "/v1/items/{id}", "Give one item.",
            desk.item, wire.ItemAnswer, scoped=True, fails=(404, *stored),
        ),
        Endpoint(
            "amend", "PATCH", "/v1/items/{id}", "Change what is known about an item, never its text.",
            desk.amend, wire.ItemAnswer, wire.AmendQuestion, scoped=True, fails=(404, *stored),
        ),
        Endpoint(
            "receipt", "GET", "/v1/receipts/{id}", "Say why a context is as it is; `latest` is the newest.",
            desk.receipt, wire.ReceiptAnswer, scoped=True, fails=(404, *stored),
        ),
        Endpoint(
            "stats", "GET", "/v1/stats", "Count what a workspace holds.",
            desk.stats, wire.StatsAnswer, scoped=True, fails=stored,
        ),
        Endpoint(
            "workspaces", "GET", "/v1/workspaces", "List the workspaces that hold anything.",
            desk.workspaces, wire.WorkspacesAnswer, fails=stored,
        ),
        Endpoint(
            "status", "GET", "/v1/status", "Say how the service is.",
            lambda _: dict(status()), wire.ObjectAnswer, fails=stored,
        ),
        Endpoint(
            "health", "GET", "/health", "Say that the service answers; needs no token.",
            lambda _: {"ok": True, "version": foreword.__version__}, wire.HealthAnswer,
        ),
    ]  # fmt: skip
    if metrics is not None:
        table.append(
            Endpoint("metrics", "GET", "/metrics", "Numbers for Prometheus.", lambda _: metrics(), None)
        )
    described = functools.cache(lambda: openapi.document(table, port))
    table.append(
        Endpoint(
            "openapi", "GET", "/openapi.json", "This document.", lambda _: described(), wire.ObjectAnswer
        )
    )
    return tuple(table)


class _Desk:
    """The calls of the engine behind the endpoints."""

    def __init__(self, engine: ContextEngine) -> None:
        self._engine = engine

    def remember(self, asked: Asked) -> object:
        body: wire.RememberQuestion = asked.body
        given = {name: getattr(body, name) for name in type(body).model_fields}
        source, workspace, text = given.pop("source"), given.pop("workspace"), given.pop("text")
        if body.supersedes is not None:
            calls.item(self._engine, workspace, body.supersedes)
        return self._engine.remember(text, workspace, source=Source(source.name, source.trust), **given)

    def search(self, asked: Asked) -> object:
        body: wire.SearchQuestion = asked.body
        options = SearchOptions(**body.model_dump(exclude={"workspace", "query"}))
        return {"results": self._engine.search(body.query, body.workspace, options)}

    def context(self, asked: Asked) -> object:
        body: wire.ContextQuestion = asked.body
        options = ContextOptions(**body.model_dump(exclude={"workspace", "query", "preview"}))
        build = self._engine.preview_context if body.preview else self._engine.build_context
        return build(body.query, body.workspace, options)

    def forget(self, asked: Asked) -> object:
        body: wire.ForgetQuestion = asked.body
        return self._engine.forget(
            body.workspace, *(body.ids or ()), session=body.session, source=body.source, verify=body.verify
        )

    def item(self, asked: Asked) -> object:
        return calls.item(self._engine, asked.workspace, asked.id)

    def amend(self, asked: Asked) -> object:
        body: wire.AmendQuestion = asked.body
        return calls.amend(self._engine, asked.workspace, asked.id, **body.model_dump(exclude_unset=True))

    def receipt(self, asked: Asked) -> object:
        return calls.receipt(self._engine, asked.workspace, "" if asked.id == _LATEST else asked.id)

    def stats(self, asked: Asked) -> object:
        return self._engine.count(asked.workspace)

    def workspaces(self, _: Asked) -> object:
        return {"workspaces": self._engine.store.workspaces()}
