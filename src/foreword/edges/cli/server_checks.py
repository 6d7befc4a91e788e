"""For `doctor`: whether the servers that the settings name can be reached, and what runs there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from foreword.edges.install.examine import Finding
from foreword.errors import StorageError

if TYPE_CHECKING:
    from foreword.config import Settings
    from foreword.store.base import Store
    from foreword.store.postgres.store import PostgresStore


def check_servers(settings: Settings, store: Store) -> list[Finding]:
    """Findings about the store's server and the vectors' server, as far as the settings name them."""
    findings = _check_store_server(cast("PostgresStore", store)) if settings.store else []
    if settings.vectors:
        findings.append(_check_vector_server(cast("Any", store).vector_server))
    return findings


def _check_store_server(store: PostgresStore) -> list[Finding]:
    """Findings about a PostgreSQL server: its versions, and whether row security binds our user."""
    try:
        state = store.examine()
    except StorageError as error:
        return [Finding("store", store.shown_url, ok=False, advice=str(error))]
    found = [Finding("store", f"{store.shown_url}: PostgreSQL {state.version}, pgvector {state.pgvector}")]
    if not state.is_bound_by_row_security:
        advice = (
            "connect as a user that is no superuser and lacks BYPASSRLS; queries alone keep them apart now"
        )
        bound = Finding("row security", "does not bind this user", ok=False, advice=advice)
    else:
        bound = Finding("row security", "binds this user: no transaction sees another workspace")
    return [*found, bound]


def _check_vector_server(server: Any) -> Finding:  # noqa: ANN401  (the optional part for Qdrant)
    try:
        return Finding("vectors", f"{server.shown_url}: Qdrant {server.read_server_version()}")
    except StorageError as error:
        advice = f"{error}; items are found by words meanwhile, and it learns what it missed"
        return Finding("vectors", server.shown_url, ok=False, advice=advice)
