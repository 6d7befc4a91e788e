"""Documents that an application passes in: stored in chunks, replaced where they changed, removed whole.

Each document is a source of its own, so that no two share an item and forgetting one removes all that was
made from it. Folders are read by the `Indexer`; their files are listed and removed here like any other
document. Secrets are removed from a document before it is split, and from every chunk again before it is
stored. Makes no vectors (that is `ContextEngine.embed_pending`) and does not search (that is
`foreword.recipes.dialogue.rag`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.capture.documents.chunking import CHUNK_TOKENS, chunk_text
from foreword.capture.item_checks import check_item, redact_item
from foreword.capture.redact import redact_file_text
from foreword.compose.knowledge_chunk import HANDED_OVER, read_document_source
from foreword.errors import ValidationError
from foreword.indexing.indexer import Indexer
from foreword.log import get_logger
from foreword.options import check_aware_datetime_or_none, check_text, check_whole_number, check_workspace
from foreword.store.base import FileState, PutFile, Scan
from foreword.text.clean import replace_unstorable_characters
from foreword.types import Filters, Item, Source, text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from foreword.compose.knowledge_chunk import DocumentSource
    from foreword.engine.context_engine import ContextEngine, Forgotten
    from foreword.indexing.indexer import Indexed

_log = get_logger("foreword.knowledge_base")

_FILE = "file:"
_MARK = "/document:"
"""The beginning of a document's mark, with which no mark of an indexed file can begin."""

_DIGEST_CHARACTERS_IN_ID = 19
_DOCUMENTS_PER_COMMIT = 100
_MAX_LABEL = 500
_MAX_ID = 200
_MAX_ABOUT = 1_500
_MIN_CHUNK_TOKENS, _MAX_CHUNK_TOKENS = 32, 8_192


@dataclass(frozen=True, slots=True)
class Document:
    """A text with a title, Markdown or plain. Without an id, it gets one made from its content."""

    title: str
    text: str
    url: str | None = None
    date: datetime | None = None
    doc_type: str = "document"
    doc_id: str | None = None


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """A stored document: its source, its number of chunks, and how many tokens they have."""

    source: DocumentSource
    chunks: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Updated:
    """How many chunks of a document are new, how many stayed as they were, and how many are gone."""

    new: int = 0
    same: int = 0
    gone: int = 0


class KnowledgeBase:
    """The documents of one workspace. Safe to use from many threads, as its engine is."""

    def __init__(self, engine: ContextEngine, workspace: str, chunk_tokens: int = CHUNK_TOKENS) -> None:
        self.workspace = check_workspace(workspace)
        self._engine = engine
        self._chunk_tokens = check_whole_number(
            "chunk_tokens", chunk_tokens, _MIN_CHUNK_TOKENS, _MAX_CHUNK_TOKENS
        )

    def index_document(self, document: Document) -> str:
        """Store a document durably, and return its id. The same document twice is stored once.

        It is found by its words at once, by its meaning when its chunks have vectors.
        """
        return self.index_documents([document])[0]

    def index_documents(self, documents: Iterable[Document]) -> list[str]:
        """Store many documents, and return their ids. All are checked before the first is stored."""
        if isinstance(documents, Document):
            raise ValidationError("documents must be a list; index_document takes one")
        ids: list[str] = []
        fresh: dict[str, Document] = {}
        for document in map(_check_document, documents):
            ids.append(document.doc_id or _document_digest(document)[:_DIGEST_CHARACTERS_IN_ID])
            if not self._is_already_stored(ids[-1], document, fresh):
                fresh[ids[-1]] = document
        puts = [self._make_write_operation(doc_id, document) for doc_id, document in fresh.items()]
        for start in range(0, len(puts), _DOCUMENTS_PER_COMMIT):
            self._engine.store.batch(puts[start : start + _DOCUMENTS_PER_COMMIT])
        return ids

    def update_document(self, doc_id: str, document: Document) -> Updated:
        """Replace a stored document. Chunks that did not change keep their ids and vectors."""
        document = _check_document(document)
        if document.doc_id not in (None, doc_id):
            raise ValidationError(f"{document.doc_id!r} is not the document {doc_id!r}; leave its id out")
        if doc_id.startswith(_FILE):
            raise ValidationError(f"{doc_id!r} changes with its file; index the folder again")
        facts = self._require_document(doc_id).metadata
        if facts.get("hash") == _document_digest(document):
            return Updated(same=int(facts.get("chunks", 0)))
        refiled = self._engine.store.run(self._make_write_operation(doc_id, document))
        new = sum(stored.new for stored in refiled.stored)
        return Updated(new, len(refiled.stored) - new, len(refiled.gone))

    def delete_document(self, doc_id: str, *, verify: bool = True) -> Forgotten:
        """Remove a document for good, with everything made from it; then check that nothing is left.

        A file comes back when its folder is indexed again, as long as it is there.
        """
        self._require_document(doc_id)
        return self._engine.forget(self.workspace, source=_document_source_name(doc_id), verify=verify)

    def list_documents(self) -> list[KnownDocument]:
        """Every document and every indexed document file of the workspace, in the order of storing."""
        found: dict[str, KnownDocument] = {}
        for item in self._engine.store.scan(self.workspace, Filters(kinds=("document",))):
            name = item.source.name
            known = found.get(name) or KnownDocument(replace(read_document_source(item), place=""), 0, 0)
            found[name] = KnownDocument(known.source, known.chunks + 1, known.tokens + item.tokens)
        return list(found.values())

    def index_folder(self, folder: Path) -> Indexed:
        """Bring the workspace in step with the documents of a folder, without its code and history."""
        return Indexer(self._engine).index(folder, self.workspace, code=False, commits=False)

    # Inside

    def _find_first_chunk(self, doc_id: str) -> Item | None:
        """The first stored item of a document, if any."""
        scan = Scan(self.workspace, Filters(source=_document_source_name(doc_id)), limit=1)
        found = self._engine.store.run(scan)
        return found[0] if found else None

    def _require_document(self, doc_id: str) -> Item:
        """The first stored item of a document; ValidationError when there is no such document."""
        item = self._find_first_chunk(doc_id)
        if item is None:
            raise ValidationError(f"no document of {self.workspace!r} has the id {doc_id!r}")
        return item

    def _is_already_stored(
        self, doc_id: str, document: Document, new_documents: Mapping[str, Document]
    ) -> bool:
        """Whether the same document is stored, or is about to be; ValidationError if another has its id."""
        item = self._find_first_chunk(doc_id) if doc_id not in new_documents else None
        if item is None and doc_id not in new_documents:
            return False
        before = item.metadata.get("hash") if item else _document_digest(new_documents[doc_id])
        if before != _document_digest(document):
            raise ValidationError(f"another document has the id {doc_id!r}; use update_document")
        return True

    def _make_write_operation(self, doc_id: str, document: Document) -> PutFile:
        """The write operation for a document; ValidationError when it has nothing that can be stored."""
        items = tuple(self._make_chunk_items(doc_id, document))
        if not items:
            raise ValidationError(f"the document {document.title!r} says nothing; nothing was kept")
        mark = FileState(f"{_MARK}{doc_id}", len(document.text), 0, _document_digest(document))
        return PutFile(self.workspace, mark, items)

    def _make_chunk_items(self, doc_id: str, document: Document) -> Iterator[Item]:
        """The chunks of a document as items, less those with nothing left once secrets are removed."""
        counter = self._engine.tokenizer
        chunks = chunk_text(redact_file_text(document.text), counter, self._chunk_tokens)
        common = {
            "title": document.title,
            "url": document.url,
            "date": document.date.isoformat() if document.date else None,
            "doc_type": document.doc_type,
            "hash": _document_digest(document),
            "chunks": len(chunks),
        }
        common = {name: fact for name, fact in common.items() if fact is not None}
        now = self._engine.clock()
        source = Source(_document_source_name(doc_id), "web" if document.url else "repository")
        for number, chunk in enumerate(chunks, 1):
            # A heading that repeats the title is left out.
            path = (document.title, *(name for name in chunk.headings if name != document.title))
            item = Item(
                text=chunk.text,
                workspace=self.workspace,
                kind="document",
                type="" if document.doc_type == "document" else document.doc_type,
                about=" › ".join(path)[:_MAX_ABOUT],
                created_at=document.date or now,
                source=source,
                metadata={
                    **common,
                    "headings": list(chunk.headings),
                    "chunk": number,
                    "start": chunk.start,
                    "end": chunk.end,
                    "start_line": chunk.first_line,
                    "end_line": chunk.last_line,
                },
            )
            try:
                item = redact_item(check_item(item))
            except ValidationError as error:
                _log.warning("a part of a document is not kept", document=doc_id, problem=str(error))
                continue
            yield replace(item, tokens=counter.count(item.text))


def _document_source_name(doc_id: str) -> str:
    """The source name of a document: its id if that names a file, else the id marked as handed over."""
    return doc_id if doc_id.startswith(_FILE) else f"{HANDED_OVER}{doc_id}"


def _check_document(document: Document) -> Document:
    """The document with its title on one line; ValidationError, naming the field, if one is not valid."""
    if not isinstance(document, Document):
        raise ValidationError(f"a document is a Document('title', 'text'), not {type(document).__name__}")
    for name in ("title", "doc_type", "url"):
        if name != "url" or document.url is not None:
            check_text(name, getattr(document, name), _MAX_LABEL)
    if document.doc_id is not None:
        check_text("doc_id", document.doc_id, _MAX_ID)
        if document.doc_id.startswith(_FILE):
            raise ValidationError(f"an id must not begin with {_FILE!r}: files are named so")
    check_aware_datetime_or_none("date", document.date)
    text = replace_unstorable_characters(check_text("text", document.text))
    return replace(document, title=" ".join(document.title.split()), text=text)


def _document_digest(document: Document) -> str:
    """The hash of a document's fields except its id."""
    date = document.date.isoformat() if document.date else None
    parts = (document.title, document.text, document.url, date, document.doc_type)
    return text_hash(json.dumps(parts))
