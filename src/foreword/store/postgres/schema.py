"""The tables in PostgreSQL, as named migrations that are only ever appended, applied under an advisory lock.

Every row names its workspace by number, every query asks for that number, and row-level security lets a
transaction see no other: it sets `foreword.ws` when it begins. Items are numbered from 1 in each workspace,
as in the embedded store. `stems`, `postings`, `vocabulary`, `trigrams` and `mentions` are derived from
`items`, and the tables `nearest_…` (one for each generation of vectors) from `vectors`; all of them can be
dropped and made again. Long names are compared by a hash stored with them: an index entry has a maximum size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from foreword.errors import StoreReadOnly, StoreTooNew

if TYPE_CHECKING:
    from foreword.store.postgres.connections import Connection

_LOCK = 0x46574431
"""The number of the advisory lock for changing tables."""

PRIVATE_TABLES = (
    *("items", "relations", "receipts", "vectors", "token_codes", "told", "files", "file_items"),
    *("stems", "postings", "vocabulary", "trigrams", "mentions", "outbox", "claims"),
)
"""The tables whose rows belong to a workspace."""

_TEXT = 'text COLLATE "C"'

_TABLES = f"""
CREATE TABLE facts(key text PRIMARY KEY, value text NOT NULL);
INSERT INTO facts VALUES('store', gen_random_uuid()::text);
CREATE TABLE commits(token uuid PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE workspaces(
    ws integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name {_TEXT} NOT NULL,
    last_no integer NOT NULL DEFAULT 0, items bigint NOT NULL DEFAULT 0, holds boolean NOT NULL DEFAULT FALSE,
    words_rows bigint NOT NULL DEFAULT 0, words_tokens bigint NOT NULL DEFAULT 0,
    identifiers_rows bigint NOT NULL DEFAULT 0, identifiers_tokens bigint NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX workspaces_name ON workspaces(md5(name));
CREATE TABLE items(
    ws integer NOT NULL, no integer NOT NULL, id {_TEXT} NOT NULL, hash {_TEXT} NOT NULL,
    kind {_TEXT} NOT NULL, type {_TEXT} NOT NULL, text {_TEXT} NOT NULL, about {_TEXT} NOT NULL,
    created_at bigint NOT NULL, valid_from bigint, superseded_by {_TEXT}, session {_TEXT},
    conversation {_TEXT}, confidence float8 NOT NULL, importance float8 NOT NULL, source {_TEXT} NOT NULL,
    trust {_TEXT} NOT NULL, metadata {_TEXT} NOT NULL, tokens integer NOT NULL,
    session_key uuid GENERATED ALWAYS AS (md5(session)::uuid) STORED,
    conversation_key uuid GENERATED ALWAYS AS (md5(conversation)::uuid) STORED,
    source_key uuid GENERATED ALWAYS AS (md5(source)::uuid) STORED,
    PRIMARY KEY(ws, no), UNIQUE(ws, id), UNIQUE(ws, hash));
CREATE INDEX items_created ON items(ws, created_at, no);
CREATE INDEX items_kind ON items(ws, kind, created_at, no);
CREATE INDEX items_session ON items(ws, session_key, no) WHERE session_key IS NOT NULL;
CREATE INDEX items_conversation ON items(ws, conversation_key, no) WHERE conversation_key IS NOT NULL;
CREATE INDEX items_source ON items(ws, source_key, no);
CREATE INDEX items_superseded ON items(ws, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX items_derived ON items(ws, no) WHERE strpos(metadata, '"derived_from"') > 0;
CREATE TABLE relations(
    ws integer NOT NULL, from_no integer NOT NULL, to_no integer NOT NULL, type {_TEXT} NOT NULL,
    confidence float8 NOT NULL, created_at bigint NOT NULL, PRIMARY KEY(ws, from_no, to_no, type));
CREATE INDEX relations_to ON relations(ws, to_no);
CREATE TABLE receipts(
    ws integer NOT NULL, id {_TEXT} NOT NULL, created_at bigint NOT NULL, session {_TEXT},
    size integer NOT NULL, body {_TEXT} NOT NULL, PRIMARY KEY(ws, id));
CREATE INDEX receipts_created ON receipts(ws, created_at) INCLUDE (size);
CREATE TABLE generations(
    generation integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, space {_TEXT} NOT NULL,
    digest {_TEXT} NOT NULL, dimensions integer NOT NULL, UNIQUE(space, digest, dimensions));
CREATE TABLE vectors(
    ws integer NOT NULL, no integer NOT NULL, generation integer NOT NULL, text_hash {_TEXT} NOT NULL,
    code bytea NOT NULL, PRIMARY KEY(ws, generation, no));
CREATE INDEX vectors_no ON vectors(ws, no);
CREATE INDEX vectors_text ON vectors(ws, text_hash);
CREATE TABLE token_codes(
    ws integer NOT NULL, no integer NOT NULL, digest {_TEXT} NOT NULL, codes bytea NOT NULL,
    PRIMARY KEY(ws, no));
CREATE TABLE told(
    ws integer NOT NULL, session_key uuid NOT NULL, no integer NOT NULL, session {_TEXT} NOT NULL,
    told_at bigint NOT NULL, PRIMARY KEY(ws, session_key, no));
CREATE INDEX told_no ON told(ws, no);
CREATE INDEX told_when ON told(ws, told_at);
CREATE TABLE files(
    ws integer NOT NULL, path {_TEXT} NOT NULL, size bigint NOT NULL, mtime_ns bigint NOT NULL,
    hash {_TEXT} NOT NULL, PRIMARY KEY(ws, path));
CREATE TABLE file_items(
    ws integer NOT NULL, path {_TEXT} NOT NULL, no integer NOT NULL, PRIMARY KEY(ws, path, no));
CREATE INDEX file_items_no ON file_items(ws, no);
CREATE TABLE stems(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ws integer NOT NULL, index {_TEXT} NOT NULL,
    stem {_TEXT} NOT NULL, items integer NOT NULL, UNIQUE(ws, index, stem));
CREATE TABLE postings(
    stem bigint NOT NULL, ws integer NOT NULL, no integer NOT NULL, length integer NOT NULL,
    frequency integer NOT NULL, PRIMARY KEY(stem, no) INCLUDE (ws, length, frequency));
CREATE TABLE vocabulary(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ws integer NOT NULL, word {_TEXT} NOT NULL,
    items integer NOT NULL, UNIQUE(ws, word));
CREATE TABLE trigrams(
    ws integer NOT NULL, gram {_TEXT} NOT NULL, length integer NOT NULL, word bigint NOT NULL,
    PRIMARY KEY(ws, gram, length, word));
CREATE INDEX trigrams_word ON trigrams(ws, word);
CREATE TABLE mentions(
    ws integer NOT NULL, entity {_TEXT} NOT NULL, no integer NOT NULL, PRIMARY KEY(ws, entity, no));
CREATE INDEX mentions_no ON mentions(ws, no);
CREATE TABLE outbox(
    ws integer NOT NULL, no integer NOT NULL, change bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY(ws, no));
CREATE TABLE claims(
    ws integer NOT NULL, no integer NOT NULL, task {_TEXT} NOT NULL, until timestamptz NOT NULL,
    PRIMARY KEY(ws, task, no));
"""

OWN_ROWS = (
    "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY; ALTER TABLE {table} FORCE ROW LEVEL SECURITY; "
    "CREATE POLICY own_rows ON {table} USING (ws = nullif(current_setting('foreword.ws', TRUE), '')::integer)"
)
"""SQL that lets a transaction see only the rows of its own workspace, even as the owner of the table."""

MIGRATIONS: list[tuple[str, str]] = [
    ("0001-tables", _TABLES + ";".join(OWN_ROWS.format(table=table) for table in PRIVATE_TABLES)),
]


def migrate(connection: Connection, schema: str) -> None:
    """Apply all missing migrations in one transaction, while other processes that migrate wait.

    Raises `StoreTooNew` if a newer Foreword made the tables.
    """
    if not _pending_migrations(connection, schema):
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        _ensure_pgvector(connection)
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations(name text PRIMARY KEY, applied_at timestamptz NOT NULL)"
        )
        for name in _pending_migrations(connection, schema):
            connection.execute(dict(MIGRATIONS)[name])
            connection.execute("INSERT INTO migrations VALUES(%s, now())", (name,))


def _ensure_pgvector(connection: Connection) -> None:
    """Create the extension pgvector if it is missing; raises `StoreReadOnly` if this user may not."""
    if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone() is None:
        try:
            with connection.transaction():
                connection.execute("CREATE EXTENSION vector SCHEMA public")
        except psycopg.Error as error:
            raise StoreReadOnly(
                "the database lacks pgvector; have its administrator run: CREATE EXTENSION vector"
            ) from error


def _pending_migrations(connection: Connection, schema: str) -> list[str]:
    """The names of the migrations that the schema lacks; `StoreTooNew` if it has an unknown one."""
    known = [name for name, _ in MIGRATIONS]
    if not _has_table(connection, schema, "migrations"):
        return known
    applied = [name for (name,) in connection.execute("SELECT name FROM migrations")]
    if unknown := sorted(set(applied) - set(known)):
        raise StoreTooNew(
            f"the tables were made by a newer Foreword (they have {unknown[0]!r}); "
            "run: pip install -U foreword"
        )
    return [name for name in known if name not in applied]


def _has_table(connection: Connection, schema: str, table: str) -> bool:
    query = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = %s"
    return connection.execute(query, (schema, table)).fetchone() is not None


def make_nearest_table_if_missing(connection: Connection, generation: int, dimensions: int) -> str:
    """The name of the table in which pgvector compares a generation of vectors; made if it is missing."""
    table = f"nearest_{generation}"
    if connection.execute("SELECT to_regclass(%s)", (table,)).fetchone() == (None,):
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if connection.execute("SELECT to_regclass(%s)", (table,)).fetchone() == (None,):
            connection.execute(
                f"CREATE TABLE {table}(ws integer NOT NULL, no integer NOT NULL, "
                f"embedding halfvec({dimensions}) NOT NULL, PRIMARY KEY(ws, no))"
            )
            connection.execute(OWN_ROWS.format(table=table))
    return table
