"""The tables of one workspace's database, as named migrations in SQL that are only ever appended.

`items`, `relations`, `receipts`, `told`, `files` and `file_items` are the truth, and so are the codes in
`vectors` and `token_codes`, which are expensive to compute again. `words`, `identifiers`, `vocabulary`,
`trigrams` and `mentions` are derived from `items` and can be dropped and rebuilt at any time. Each migration
is recorded in the transaction that makes it.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from foreword.errors import StoreDamaged, StoreTooNew
from foreword.store.backups import APPLICATION_ID, make_backup

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

DERIVED_NAMES = ("spread", "words", "identifiers", "trigrams", "vocabulary", "mentions")

_TRUTH_TABLES = f"""
PRAGMA application_id = {APPLICATION_ID};
CREATE TABLE facts(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE items(
    no INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, hash TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL, type TEXT NOT NULL, text TEXT NOT NULL, about TEXT NOT NULL,
    created_at INTEGER NOT NULL, valid_from INTEGER, superseded_by TEXT, session TEXT, conversation TEXT,
    confidence REAL NOT NULL, importance REAL NOT NULL, source TEXT NOT NULL, trust TEXT NOT NULL,
    metadata TEXT NOT NULL, tokens INTEGER NOT NULL
);
CREATE INDEX items_created ON items(created_at);
CREATE INDEX items_session ON items(session, no) WHERE session IS NOT NULL;
CREATE INDEX items_conversation ON items(conversation, no) WHERE conversation IS NOT NULL;
CREATE INDEX items_source ON items(source);
CREATE TABLE relations(
    from_no INTEGER NOT NULL, to_no INTEGER NOT NULL, type TEXT NOT NULL, confidence REAL NOT NULL,
    created_at INTEGER NOT NULL, PRIMARY KEY(from_no, to_no, type)
) WITHOUT ROWID;
CREATE INDEX relations_to ON relations(to_no);
CREATE TABLE receipts(
    id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, session TEXT, size INTEGER NOT NULL, body TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX receipts_created ON receipts(created_at);
CREATE TABLE vectors(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, no INTEGER NOT NULL, space TEXT NOT NULL, digest TEXT NOT NULL,
    text_hash TEXT NOT NULL, code BLOB NOT NULL, UNIQUE(no, space, digest)
);
CREATE INDEX vectors_text ON vectors(digest, text_hash);
CREATE INDEX vectors_space ON vectors(space, digest, seq);
CREATE TABLE erased(no INTEGER PRIMARY KEY);
"""

# `words` reads its text from `items`, so that no text is kept twice; secure-delete makes a deleted entry go
# from the index's pages at once instead of at some later merge.
DERIVED_TABLES = """
CREATE VIRTUAL TABLE words USING fts5(
    text, about, content='items', content_rowid='no', tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO words(words, rank) VALUES('secure-delete', 1);
CREATE VIRTUAL TABLE spread USING fts5vocab(words, row);
CREATE VIRTUAL TABLE identifiers USING fts5(parts, tokenize='unicode61');
INSERT INTO identifiers(identifiers, rank) VALUES('secure-delete', 1);
CREATE TABLE vocabulary(id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE, items INTEGER NOT NULL);
CREATE VIRTUAL TABLE trigrams USING fts5(
    word, content='vocabulary', content_rowid='id', tokenize='trigram', detail='none');
INSERT INTO trigrams(trigrams, rank) VALUES('secure-delete', 1);
CREATE TABLE mentions(entity TEXT NOT NULL, no INTEGER NOT NULL, PRIMARY KEY(entity, no)) WITHOUT ROWID;
CREATE INDEX mentions_no ON mentions(no);
"""

# What each session was shown. The table keeps its first name: a migration that renames it would back up every
# user's database, and an older Foreword on the same machine could no longer open it.
_TABLE_OF_SHOWN_ITEMS = """
CREATE TABLE told(
    session TEXT NOT NULL, no INTEGER NOT NULL, told_at INTEGER NOT NULL, PRIMARY KEY(session, no)
) WITHOUT ROWID;
CREATE INDEX told_no ON told(no);
CREATE INDEX told_when ON told(told_at);
CREATE INDEX items_derived ON items(no) WHERE instr(metadata, '"derived_from"') > 0;
"""

_TABLES_OF_FILES = """
CREATE TABLE files(
    path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, hash TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE file_items(path TEXT NOT NULL, no INTEGER NOT NULL, PRIMARY KEY(path, no)) WITHOUT ROWID;
CREATE INDEX file_items_no ON file_items(no);
CREATE INDEX items_superseded ON items(superseded_by) WHERE superseded_by IS NOT NULL;
"""

# Every prompt asks for the newest summary, and every receipt for the size of all.
_INDEX_ON_KIND = """
CREATE INDEX items_kind ON items(kind, created_at);
CREATE INDEX receipts_size ON receipts(size);
"""

# A premortem asks for experiences by their types, which say how they ended, several times over.
_INDEX_ON_TYPE = "CREATE INDEX items_type ON items(kind, type)"

# A caller that stores an item and in the same transaction names it as a successor cannot know its id if the
# same content was stored before, but knows its hash. An empty name means: nothing supersedes the old item.
# `indexes.reindex_names_after_upgrade` acts on the fact.
_TRIGGER_FOR_SUCCESSORS = """
CREATE TRIGGER items_heir AFTER UPDATE OF superseded_by ON items
WHEN NEW.superseded_by = '' OR NEW.superseded_by GLOB 'b2:*'
BEGIN
    UPDATE items SET superseded_by =
        (SELECT id FROM items WHERE hash = NEW.superseded_by OR id = NEW.superseded_by)
    WHERE no = NEW.no;
END;
INSERT INTO facts SELECT 'unnamed', '' WHERE EXISTS(SELECT 1 FROM items WHERE kind = 'memory');
"""

# Code is found by the names in it, no longer by what looks like a name in prose.
_REQUEST_TO_REINDEX_CODE = (
    "INSERT INTO facts SELECT 'unnamed code', '' WHERE EXISTS(SELECT 1 FROM items WHERE kind = 'code')"
)

# Files and commits were stored with the user's trust, and summaries with the agent's, whatever they quote.
_OWN_TRUST_OF_FILES_AND_SUMMARIES = """
UPDATE items SET trust = 'repository'
WHERE trust = 'user' AND kind IN ('code', 'document', 'commit');
UPDATE items SET trust = (
    SELECT turn.trust FROM json_each(items.metadata, '$.turns') AS quoted
    JOIN items AS turn ON turn.id = quoted.value
    ORDER BY instr('user agent repository tool web', turn.trust) DESC LIMIT 1)
WHERE kind = 'summary' AND source = 'foreword' AND EXISTS(
    SELECT 1 FROM json_each(items.metadata, '$.turns') AS quoted
    JOIN items AS turn ON turn.id = quoted.value
    WHERE turn.trust IN ('tool', 'web'));
"""

# An item has the codes of one encoder; those of a newer encoder replace them.
_TABLE_OF_CODES = (
    "CREATE TABLE token_codes(no INTEGER PRIMARY KEY, digest TEXT NOT NULL, codes BLOB NOT NULL)"
)

# A value of a graph's store belongs to its whole namespace, as JSON without the last bracket, no longer to
# the first two labels of it.
_WHOLE_NAMESPACES_OF_VALUES = """
UPDATE items SET conversation =
    substr(json_extract(metadata, '$.namespace'), 1, length(json_extract(metadata, '$.namespace')) - 1)
WHERE type = 'graph value' AND json_type(metadata, '$.namespace') = 'array';
UPDATE items SET conversation =
    (SELECT of.conversation FROM items AS of WHERE of.id = substr(items.id, 1, length(items.id) - 6))
WHERE type = 'graph lease' AND EXISTS(
    SELECT 1 FROM items AS of WHERE of.id = substr(items.id, 1, length(items.id) - 6));
"""

# Which items a process is encoding, so that no other encodes them; and changes to send to a vector server.
_TABLES_OF_SHARED_WORK = """
CREATE TABLE claims(
    no INTEGER NOT NULL, task TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY(task, no)
) WITHOUT ROWID;
CREATE TABLE outbox(no INTEGER PRIMARY KEY, change INTEGER NOT NULL);
"""

MIGRATIONS: list[tuple[str, str]] = [
    ("0001-items-relations-receipts-vectors", _TRUTH_TABLES + DERIVED_TABLES),
    ("0002-told", _TABLE_OF_SHOWN_ITEMS),
    ("0003-files", _TABLES_OF_FILES),
    ("0004-newest-of-a-kind", _INDEX_ON_KIND),
    ("0005-of-a-type", _INDEX_ON_TYPE),
    ("0006-heirs", _TRIGGER_FOR_SUCCESSORS),
    ("0007-names-of-code", _REQUEST_TO_REINDEX_CODE),
    ("0008-trust-of-files", _OWN_TRUST_OF_FILES_AND_SUMMARIES),
    ("0009-token-codes", _TABLE_OF_CODES),
    ("0010-whole-namespaces", _WHOLE_NAMESPACES_OF_VALUES),
    ("0011-shared-work", _TABLES_OF_SHARED_WORK),
]


def pending_migrations(db: apsw.Connection) -> list[str]:
    """The names of the migrations that a database still lacks; writes nothing.

    Raises `StoreTooNew` if a newer Foreword wrote the database, `StoreDamaged` if it is not Foreword's.
    """
    known = [name for name, _ in MIGRATIONS]
    # One statement sees one snapshot: another process may make all tables between two statements.
    names = {name for (name,) in db.execute("SELECT name FROM sqlite_schema").fetchall()}
    if "migrations" not in names:
        if names:
            raise StoreDamaged(f"{db.filename} is a database, but not one of Foreword's; move it away")
        return known
    applied = [row[0] for row in db.execute("SELECT name FROM migrations")]
    if unknown := sorted(set(applied) - set(known)):
        raise StoreTooNew(
            f"{db.filename} was written by a newer Foreword (it has {unknown[0]!r}); "
            "run: pip install -U foreword"
        )
    return [name for name in known if name not in applied]


def migrate(db: apsw.Connection, workspace: str, now: str) -> None:
    """Bring a database up to date, one migration a transaction, after a backup if it holds anything."""
    steps = dict(MIGRATIONS)
    missing = pending_migrations(db)
    # A database that another process is just making is empty, and needs no backup.
    has_items = len(missing) < len(steps) and bool(db.execute("SELECT 1 FROM items LIMIT 1").fetchall())
    for name in missing:
        if has_items:
            make_backup(db, Path(db.filename), f"before-{name}", check=False)
        with write_transaction(db):
            # Another process may have done this one while we waited for the lock.
            if name not in pending_migrations(db):
                continue
            db.execute(
                "CREATE TABLE IF NOT EXISTS migrations(name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)"
            )
            db.execute(steps[name]).fetchall()  # a statement that returns rows would stop the rest
            db.execute("INSERT INTO migrations VALUES(?, ?)", (name, now))
            db.execute("INSERT OR IGNORE INTO facts VALUES('workspace', ?)", (workspace,))


@contextmanager
def write_transaction(db: apsw.Connection) -> Iterator[None]:
    """A transaction that takes the write lock at once: one that reads first could not wait for it."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
