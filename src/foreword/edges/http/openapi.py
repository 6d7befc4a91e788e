"""The OpenAPI document, made from the same table of endpoints that the server routes by.

Whatever the table says of an endpoint is here: its parameters, its body, its answer, and every status it can
give. What is not here is not served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema

import foreword
from foreword.edges.http import guard, wire

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel
    from pydantic.json_schema import JsonSchemaMode

    from foreword.edges.http.endpoints import Endpoint

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


def document(endpoints: Sequence[Endpoint], port: int) -> dict[str, Any]:
    """The whole API, as OpenAPI 3.1."""
    schemas, definitions = models_json_schema(_models(endpoints), ref_template=_REFS)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
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


def _models(endpoints: Sequence[Endpoint]) -> list[tuple[type[BaseModel], JsonSchemaMode]]:
    asked: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        (endpoint.body, "validation") for endpoint in endpoints if endpoint.body
    ]
    answered: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        (endpoint.answer, "serialization") for endpoint in endpoints if endpoint.answer
    ]
    return list(dict.fromkeys([*asked, *answered, (wire.ErrorAnswer, "serialization")]))


def _operation(endpoint: Endpoint, schemas: dict[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "parameters": [*_path_parameters(endpoint), *_query_parameters(endpoint)],
        "responses": _responses(endpoint, schemas),
    }
    if endpoint.body:
        content = {"application/json": {"schema": schemas[endpoint.body, "validation"]}}
        operation["requestBody"] = {"required": True, "content": content}
    if endpoint.path in guard.OPEN:
        operation["security"] = []
    return operation


def _path_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    if "{id}" not in endpoint.path:
        return []
    schema = {"type": "string", "minLength": 1, "maxLength": 200}
    return [{"name": "id", "in": "path", "required": True, "schema": schema}]


def _query_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    if not endpoint.scoped:
        return []
    schema = TypeAdapter(wire.Workspace).json_schema()
    return [
        {
            "name": "workspace",
            "in": "query",
            "required": True,
            "description": schema.pop("description"),
            "schema": schema,
        }
    ]


def _responses(endpoint: Endpoint, schemas: dict[Any, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"text/plain": {"schema": {"type": "string"}}}
    if endpoint.answer:
        answer = {"application/json": {"schema": schemas[endpoint.answer, "serialization"]}}
    failure = {"application/json": {"schema": schemas[wire.ErrorAnswer, "serialization"]}}
    refusals = {
        str(status): {"description": _MEANINGS[status], "content": failure} for status in endpoint.statuses
    }
    return {"200": {"description": "The answer.", "content": answer}, **refusals}
