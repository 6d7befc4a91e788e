"""Every endpoint under /v1 and beside it, and the OpenAPI document that is made from the same table.

Each entry translates a request into one call of the engine. Nothing here knows of HTTP requests, or of
statuses other than those that the table lists. What is not in the table is not served.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema

import foreword
from foreword.edges.http import wire
from foreword.edges.http.guard import OPEN_PATHS, SHELL_PATH
from foreword.edges.shared import assembling, calls
from foreword.engine.ledger import Ledger
from foreword.options import ContextOptions, SearchOptions
from foreword.types import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import BaseModel
    from pydantic.json_schema import JsonSchemaMode

    from foreword.engine.context_engine import ContextEngine

_LATEST = "latest"
_SECONDS, _SECONDS_TO_FORGET = 30.0, 3_600.0
"""How long a call may wait for a thread and for servers; to forget a large source takes long."""
_REFS = "#/components/schemas/{model}"
_MEANINGS = {
    400: "The request is wrong; the message says how.",
    401: "The token is missing or wrong.",
    403: "The request comes from a web page of another origin.",
    404: "Nothing has that id or name.",
    413: "The body is too large.",
    415: "The body is not JSON by its content type.",
    421: "The Host header does not name this server.",
    502: "The encoder or the search failed.",
    503: "The store cannot read or write.",
}


@dataclass(frozen=True, slots=True)
class EndpointCall:
    """A request after reading: the workspace and the id in its address, and its body.

    `caller` is the id of the team member who asks, if any; `sees` says whether they may know of a workspace.
    At `expires`, a `time.monotonic()` instant, a server that hangs is waited for no longer.
    """

    workspace: str = ""
    id: str = ""
    body: Any = None
    caller: str = ""
    sees: Callable[[str], bool] = lambda _: True
    expires: float = math.inf

    @property
    def workspace_named_in_call(self) -> str:
        """The workspace that the address or the body names; empty if neither does."""
        return self.workspace or getattr(self.body, "workspace", "")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method on one path: the models of its body and its answer, and the function that answers.

    `scoped` says that the workspace comes in the query; otherwise it is in the body, or there is none.
    Without an `answer` the function returns plain text. `fails` are the statuses of its own failures.
    `seconds` is how long a call may wait for a thread and for servers.
    """

    name: str
    method: str
    path: str
    summary: str
    handle: Callable[[EndpointCall], Any]
    answer: type[wire.Answer] | None
    body: type[wire.Question] | None = None
    scoped: bool = False
    fails: tuple[int, ...] = ()
    seconds: Callable[[EndpointCall], float] = lambda _: _SECONDS

    @property
    def error_statuses(self) -> tuple[int, ...]:
        """Every status but 200 that this endpoint can answer with."""
        always = {400, 403, 421}
        token = set() if self.path in OPEN_PATHS else {401}
        return tuple(sorted(always | token | ({413, 415} if self.body else set()) | set(self.fails)))


def list_endpoints(
    engine: ContextEngine,
    port: int,
    status: Callable[[], Mapping[str, Any]],
    metrics: Callable[[], str] | None = None,
    page_key: str = "",
) -> tuple[Endpoint, ...]:
    """All endpoints, apart from MCP and the page."""
    table = [
        *_list_ask_and_tell_endpoints(engine),
        *_list_endpoints_of_stored_things(engine),
        Endpoint(
            "status", "GET", "/v1/status", "Say how the service is.",
            lambda _: dict(status()), wire.ObjectAnswer, fails=(503,),
        ),
        Endpoint(
            "health", "GET", "/health", "Say that the service answers; needs no token.",
            lambda _: {"ok": True, "version": foreword.__version__}, wire.HealthAnswer,
        ),
    ]  # fmt: skip
    if metrics is not None:
        text = Endpoint("metrics", "GET", "/metrics", "Numbers for Prometheus.", lambda _: metrics(), None)
        table.append(text)
    if page_key:
        address = f"http://127.0.0.1:{port}{SHELL_PATH}#key={page_key}"
        table.append(
            Endpoint(
                "view", "GET", "/v1/view", "Give the address of the viewer's page, with its key.",
                lambda _: {"address": address}, wire.ViewAnswer,
            )
        )  # fmt: skip
    document = functools.cache(lambda: build_openapi_document(table, port))
    table.append(
        Endpoint("openapi", "GET", "/openapi.json", "This document.", lambda _: document(), wire.ObjectAnswer)
    )
    return tuple(table)


def _list_ask_and_tell_endpoints(engine: ContextEngine) -> list[Endpoint]:
    """The endpoints that ask or tell the engine something."""
    handlers, stored, sought = _EngineHandlers(engine), (503,), (502, 503)
    return [
        Endpoint(
            "remember", "POST", "/v1/remember", "Keep a statement; once answered, it survives a power cut.",
            handlers.remember, wire.ItemAnswer, wire.RememberQuestion, fails=(404, *stored),
        ),
        Endpoint(
            "search", "POST", "/v1/search", "List what answers a question, best first.",
            handlers.search, wire.SearchAnswer, wire.SearchQuestion, fails=sought,
        ),
        Endpoint(
            "context", "POST", "/v1/context", "Build the text to put before a prompt, and say why.",
            handlers.build_context, wire.ContextAnswer, wire.ContextQuestion, fails=(404, *sought),
        ),
        Endpoint(
            "assemble", "POST", "/v1/assemble", "Build one document from several sources.",
            handlers.assemble, wire.DocumentAnswer, wire.AssembleQuestion, fails=sought,
        ),
        Endpoint(
            "premortem", "POST", "/v1/premortem", "Say what went wrong before, or near to a failure.",
            handlers.get_premortem, wire.DocumentAnswer, wire.PremortemQuestion, fails=sought,
        ),
        Endpoint(
            "record", "POST", "/v1/record", "Keep a decision, a fact or a loose end, or correct one.",
            handlers.record, wire.ItemAnswer, wire.RecordQuestion, fails=(404, *stored),
        ),
        Endpoint(
            "ledger", "POST", "/v1/ledger", "List what was decided, is known of somebody, or is open.",
            handlers.list_ledger, wire.LedgerAnswer, wire.LedgerQuestion, fails=stored,
        ),
        Endpoint(
            "forget", "POST", "/v1/forget", "Remove items and everything made from them, for good.",
            handlers.forget, wire.ForgetAnswer, wire.ForgetQuestion, fails=stored,
            seconds=lambda _: _SECONDS_TO_FORGET,
        ),
    ]  # fmt: skip


def _list_endpoints_of_stored_things(engine: ContextEngine) -> list[Endpoint]:
    """The endpoints for what is stored, by its id or as a whole."""
    handlers, stored = _EngineHandlers(engine), (503,)
    return [
        Endpoint(
            "item", "GET", "/v1/items/{id}", "Give one item.",
            lambda call: calls.get_item(engine, call.workspace, call.id),
            wire.ItemAnswer, scoped=True, fails=(404, *stored),
        ),
        Endpoint(
            "amend", "PATCH", "/v1/items/{id}", "Change what is known about an item, never its text.",
            handlers.amend_item, wire.ItemAnswer, wire.AmendQuestion, scoped=True, fails=(404, *stored),
        ),
        Endpoint(
            "receipt", "GET", "/v1/receipts/{id}", "Say why a context is as it is; `latest` is the newest.",
            lambda call: calls.find_receipt_by_id_prefix(
                engine, call.workspace, "" if call.id == _LATEST else call.id
            ),
            wire.ReceiptAnswer, scoped=True, fails=(404, *stored),
        ),
        Endpoint(
            "stats", "GET", "/v1/stats", "Count what a workspace holds.",
            lambda call: engine.count(call.workspace), wire.StatsAnswer, scoped=True, fails=stored,
        ),
        Endpoint(
            "workspaces", "GET", "/v1/workspaces", "List the workspaces that hold anything.",
            lambda call: {"workspaces": list(filter(call.sees, engine.store.workspaces()))},
            wire.WorkspacesAnswer, fails=stored,
        ),
    ]  # fmt: skip


class _EngineHandlers:
    """One method for each endpoint with a body, which calls the engine."""

    def __init__(self, engine: ContextEngine) -> None:
        self._engine = engine

    def remember(self, call: EndpointCall) -> object:
        body: wire.RememberQuestion = call.body
        options = {name: getattr(body, name) for name in type(body).model_fields}
        workspace, text = options.pop("workspace"), options.pop("text")
        options["source"] = Source(body.source.name, body.source.trust)
        if body.supersedes is not None:
            calls.get_item(self._engine, workspace, body.supersedes)
        return self._engine.remember(text, workspace, **options)

    def record(self, call: EndpointCall) -> object:
        body: wire.RecordQuestion = call.body
        options = {name: getattr(body, name) for name in type(body).model_fields}
        for name in ("workspace", "text", "kind"):
            options.pop(name)
        options["source"] = Source(body.source.name, body.source.trust)
        return Ledger(self._engine, body.workspace).record(body.text, body.kind, **options)

    def list_ledger(self, call: EndpointCall) -> object:
        body: wire.LedgerQuestion = call.body
        ledger = Ledger(self._engine, body.workspace)
        match body.what:
            case "facts":
                return {"lines": ledger.list_facts(body.who)}
            case "open":
                return {"lines": ledger.list_open_ends()}
            case _:
                return {"lines": ledger.list_decisions(body.about, body.since, body.until)}

    def search(self, call: EndpointCall) -> object:
        body: wire.SearchQuestion = call.body
        options = SearchOptions(**body.model_dump(exclude={"workspace", "query"}))
        return {"results": self._engine.search(body.query, body.workspace, options)}

    def build_context(self, call: EndpointCall) -> object:
        body: wire.ContextQuestion = call.body
        options = ContextOptions(**body.model_dump(exclude={"workspace", "query", "preview"}))
        build = self._engine.preview_context if body.preview else self._engine.build_context
        return build(body.query, body.workspace, options)

    def assemble(self, call: EndpointCall) -> object:
        body: wire.AssembleQuestion = call.body
        return assembling.assemble(
            assembling.make_assembler(self._engine, body.workspace),
            body.query,
            body.types,
            limit=body.limit,
            max_tokens=body.max_tokens,
            session=body.session,
            record=not body.preview,
        )

    def get_premortem(self, call: EndpointCall) -> object:
        body: wire.PremortemQuestion = call.body
        return assembling.get_premortem(
            assembling.make_assembler(self._engine, body.workspace),
            body.domain,
            body.strategy,
            assembling.redacted_failure(body.tests, body.error, body.command, body.files),
            limit=body.limit,
            max_tokens=body.max_tokens,
            session=body.session,
            record=not body.preview,
        )

    def forget(self, call: EndpointCall) -> object:
        body: wire.ForgetQuestion = call.body
        return self._engine.forget(
            body.workspace, *(body.ids or ()), session=body.session, source=body.source, verify=body.verify
        )

    def amend_item(self, call: EndpointCall) -> object:
        body: wire.AmendQuestion = call.body
        return calls.amend_item(self._engine, call.workspace, call.id, **body.model_dump(exclude_unset=True))


# The OpenAPI document ------------------------------------------------------------------------------------


def build_openapi_document(endpoints: Sequence[Endpoint], port: int) -> dict[str, Any]:
    """The whole API, as OpenAPI 3.1."""
    schemas, definitions = models_json_schema(_list_schema_models(endpoints), ref_template=_REFS)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _describe_operation(endpoint, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Foreword",
            "version": foreword.__version__,
            "summary": "The right context for an LLM agent, before it reads the prompt.",
            "description": "Every call names its workspace. The Model Context Protocol is served at /mcp.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": f"http://127.0.0.1:{port}"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _list_schema_models(endpoints: Sequence[Endpoint]) -> list[tuple[type[BaseModel], JsonSchemaMode]]:
    """Each model of a body or an answer, once, and the mode of its schema."""
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        *((endpoint.body, "validation") for endpoint in endpoints if endpoint.body),
        *((endpoint.answer, "serialization") for endpoint in endpoints if endpoint.answer),
        (wire.ErrorAnswer, "serialization"),
    ]
    return list(dict.fromkeys(models))


def _describe_operation(endpoint: Endpoint, schemas: dict[Any, Any]) -> dict[str, Any]:
    """One endpoint as an operation in OpenAPI."""
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "parameters": _describe_parameters(endpoint),
        "responses": _describe_responses(endpoint, schemas),
    }
    if endpoint.body:
        content = {"application/json": {"schema": schemas[endpoint.body, "validation"]}}
        operation["requestBody"] = {"required": True, "content": content}
    if endpoint.path in OPEN_PATHS:
        operation["security"] = []
    return operation


def _describe_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    """The id in the path and the workspace in the query, if the endpoint has them."""
    parameters: list[dict[str, Any]] = []
    if "{id}" in endpoint.path:
        schema: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 200}
        parameters.append({"name": "id", "in": "path", "required": True, "schema": schema})
    if endpoint.scoped:
        schema = TypeAdapter(wire.Workspace).json_schema()
        described = {"description": schema.pop("description"), "schema": schema}
        parameters.append({"name": "workspace", "in": "query", "required": True, **described})
    return parameters


def _describe_responses(endpoint: Endpoint, schemas: dict[Any, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"text/plain": {"schema": {"type": "string"}}}
    if endpoint.answer:
        answer = {"application/json": {"schema": schemas[endpoint.answer, "serialization"]}}
    failure = {"application/json": {"schema": schemas[wire.ErrorAnswer, "serialization"]}}
    refusals = {
        str(status): {"description": _MEANINGS[status], "content": failure}
        for status in endpoint.error_statuses
    }
    return {"200": {"description": "The answer.", "content": answer}, **refusals}
