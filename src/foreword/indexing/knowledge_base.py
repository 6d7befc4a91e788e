"""Documents that an application hands over: kept in chunks, replaced where they changed, removed whole.

Each document is a source of its own, so that no two share an item and forgetting one takes all that was made
from it. A folder is for the `Indexer`; its files are listed and removed here like any other document. Takes
secrets out of a document before it is cut, and of every chunk again before it is kept. Refuses to make
vectors (`ContextEngine.embed_pending` does) and to search: that is for `foreword.recipes.dialogue.rag`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, cast

from foreword.capture.documents.chunking import SIZE, chunked
from foreword.capture.folder.decode import sound_text
from foreword.capture.purge import without_keys
from foreword.capture.statement import sound, sound_item, without_secrets
from foreword.compose.knowledge_chunk import DocumentSource
from foreword.errors import ValidationError
from foreword.indexing.indexer import Indexer
from foreword.log import get_logger
from foreword.options import aware, named, whole
from foreword.store.base import FileMark, PutFile, Refiled, Scan
from foreword.types import Filters, Item, Source, text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from foreword.capture.documents.chunking import Chunk
    from foreword.engine.context_engine import ContextEngine, Forgotten
    from foreword.indexing.indexer import Indexed
    from foreword.types import Trust

_log = get_logger("foreword.indexing.knowledge_base")

_FILE = "file:"
_HANDED = "document:"
_MARK = "/document:"
"""How the mark of a document begins: as no file of a folder can be called that is indexed in its place."""

_NAME = 19
"""So much of its digest names a document that brings no id."""

_TOGETHER = 100
_LONGEST_LABEL = 500
_LONGEST_ID = 200
_ABOUT = 1_500
_SMALLEST, _LARGEST = 32, 8_192


@dataclass(frozen=True, slots=True)
class Document:
    """A text with a title, Markdown or plain. Without an id of its own it is named by its content."""

    title: str
    text: str
    url: str | None = None
    date: datetime | None = None
    doc_type: str = "document"
    doc_id: str | None = None


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """A document as it is kept: where it comes from, in how many chunks, and how many tokens they have."""

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

    def __init__(self, engine: ContextEngine, workspace: str, chunk_tokens: int = SIZE) -> None:
        self.workspace = named(workspace)
        self._engine = engine
        self._size = whole("chunk_tokens", chunk_tokens, _SMALLEST, _LARGEST)

    def index_document(self, document: Document) -> str:
        """Keep a document; gives its id. The same document twice is kept once.

        When this returns it survives a power cut, and words find it; meaning follows.
        """
        return self.index_documents([document])[0]

    def index_documents(self, documents: Iterable[Document]) -> list[str]:
        """Keep many documents, a few a transaction; gives their ids. All are checked before one is kept."""
        ids: list[str] = []
        fresh: dict[str, Document] = {}
        for document in map(_sound, documents):
            ids.append(document.doc_id or _digest(document)[:_NAME])
            if not self._is_here(ids[-1], document, fresh):
                fresh[ids[-1]] = document
        puts = [self._put(doc_id, document) for doc_id, document in fresh.items()]
        for start in range(0, len(puts), _TOGETHER):
            self._engine.store.batch(puts[start : start + _TOGETHER])
        return ids

    def update_document(self, doc_id: str, document: Document) -> Updated:
        """Keep a document in place of what it was. Chunks that did not change keep their ids and vectors."""
        document = _sound(document)
        if document.doc_id not in (None, doc_id):
            raise ValidationError(f"{document.doc_id!r} is not the document {doc_id!r}; leave its id out")
        if doc_id.startswith(_FILE):
            raise ValidationError(f"{doc_id!r} changes with its file; index the folder again")
        known = self._known(doc_id)
        if known.metadata.get("hash") == _digest(document):
            return Updated(same=int(known.metadata.get("chunks", 0)))
        kept: Refiled = self._engine.store.batch([self._put(doc_id, document)])[0]
        new = sum(one.new for one in kept.stored)
        return Updated(new, len(kept.stored) - new, len(kept.gone))

    def delete_document(self, doc_id: str, *, verify: bool = True) -> Forgotten:
        """Remove a document for good, with everything made from it; then check that nothing is left.

        A file comes back when its folder is indexed again, as long as it is there.
        """
        self._known(doc_id)
        return self._engine.forget(self.workspace, source=_source_name(doc_id), verify=verify)

    def list_documents(self) -> list[KnownDocument]:
        """Every document and every indexed file of the workspace, in the order in which they came."""
        found: dict[str, KnownDocument] = {}
        for item in self._engine.store.scan(self.workspace, Filters(kinds=("document",))):
            known = found.get(item.source.name) or KnownDocument(replace(source_of(item), place=""), 0, 0)
            grown = KnownDocument(known.source, known.chunks + 1, known.tokens + item.tokens)
            found[item.source.name] = grown
        return list(found.values())

    def index_folder(self, folder: Path) -> Indexed:
        """Bring the workspace in step with the documents of a folder; its code and history stay out."""
        return Indexer(self._engine).index(folder, self.workspace, code=False, commits=False)

    # Inside

    def _first(self, doc_id: str) -> Item | None:
        scan = Scan(self.workspace, Filters(source=_source_name(doc_id)), limit=1)
        return next(iter(cast("tuple[Item, ...]", self._engine.store.batch([scan])[0])), None)

    def _known(self, doc_id: str) -> Item:
        known = self._first(doc_id)
        if known is None:
            raise ValidationError(f"no document of {self.workspace!r} has the id {doc_id!r}")
        return known

    def _is_here(self, doc_id: str, document: Document, fresh: Mapping[str, Document]) -> bool:
        """Whether this very document is kept, or about to be; an error when another has its id."""
        known = self._first(doc_id) if doc_id not in fresh else None
        if known is None and doc_id not in fresh:
            return False
        before = known.metadata.get("hash") if known else _digest(fresh[doc_id])
        if before != _digest(document):
            raise ValidationError(f"another document has the id {doc_id!r}; use update_document")
        return True

    def _put(self, doc_id: str, document: Document) -> PutFile:
        items = tuple(self._items(doc_id, document))
        if not items:
            raise ValidationError(f"the document {document.title!r} says nothing; nothing was kept")
        mark = FileMark(f"{_MARK}{doc_id}", len(document.text), 0, _digest(document))
        return PutFile(self.workspace, mark, items)

    def _items(self, doc_id: str, document: Document) -> Iterator[Item]:
        """The chunks as they may be kept, but for those of which nothing is left once secrets are gone."""
        chunks = chunked(without_keys(document.text), self._engine.tokenizer, self._size)
        made = _Maker(self.workspace, doc_id, document, len(chunks), self._engine.clock())
        for number, chunk in enumerate(chunks, 1):
            try:
                kept = without_secrets(sound_item(made.item(number, chunk)))
            except ValidationError as error:
                _log.warning("a part of a document is not kept", document=doc_id, problem=str(error))
                continue
            yield replace(kept, tokens=self._engine.tokenizer.count(kept.text))


class _Maker:
    """Makes the items of one document."""

    def __init__(self, workspace: str, doc_id: str, document: Document, chunks: int, now: datetime) -> None:
        self._document = document
        self._facts = {
            "title": document.title,
            "url": document.url,
            "date": document.date.isoformat() if document.date else None,
            "doc_type": document.doc_type,
            "hash": _digest(document),
            "chunks": chunks,
        }
        trust: Trust = "web" if document.url else "user"
        self._common = Item(
            text="",
            workspace=workspace,
            kind="document",
            type="" if document.doc_type == "document" else document.doc_type,
            created_at=document.date or now,
            source=Source(_source_name(doc_id), trust),
        )

    def item(self, number: int, chunk: Chunk) -> Item:
        """One chunk as an item."""
        place = {
            "headings": list(chunk.headings),
            "chunk": number,
            "start": chunk.start,
            "end": chunk.end,
            "start_line": chunk.first_line,
            "end_line": chunk.last_line,
        }
        return replace(
            self._common,
            text=chunk.text,
            about=" › ".join(_without_repeat((self._document.title, *chunk.headings)))[:_ABOUT],
            metadata={**{name: fact for name, fact in self._facts.items() if fact is not None}, **place},
        )


def source_of(item: Item) -> DocumentSource:
    """The document that an item of kind document was made from, and the place in it."""
    facts = item.metadata
    handed = item.source.name.startswith(_HANDED)
    return DocumentSource(
        doc_id=item.source.name.removeprefix(_HANDED),
        title=str(facts.get("title") or facts.get("path") or item.about or item.source.name),
        url=str(facts["url"]) if facts.get("url") else None,
        date=_date(facts.get("date")) if handed else item.created_at,
        doc_type=str(facts.get("doc_type") or facts.get("language") or "document"),
        place=_place(item),
    )


def _date(told: object) -> datetime | None:
    """The date that an item tells of its document, if it is one."""
    try:
        date = datetime.fromisoformat(str(told))
    except ValueError:
        return None
    return date if date.tzinfo else None


def _place(item: Item) -> str:
    """Where in its document an item stands: under which headings, on which lines."""
    told, first, last = (item.metadata.get(name) for name in ("headings", "start_line", "end_line"))
    headings = " › ".join(map(str, told)) if isinstance(told, list) else ""
    if first is None:
        return headings
    lines = f"line {first}" if first == last else f"lines {first}–{last}"
    return ", ".join(filter(None, (headings, lines)))


def _source_name(doc_id: str) -> str:
    return doc_id if doc_id.startswith(_FILE) else f"{_HANDED}{doc_id}"


def _sound(document: Document) -> Document:
    """A document that can be kept, or an error that names the field."""
    for name, value in (("title", document.title), ("doc_type", document.doc_type)):
        sound(name, value, _LONGEST_LABEL)
    if document.url is not None:
        sound("url", document.url, _LONGEST_LABEL)
    if document.doc_id is not None:
        sound("doc_id", document.doc_id, _LONGEST_ID)
        if document.doc_id.startswith(_FILE):
            raise ValidationError(f"an id must not begin with {_FILE!r}: files are named so")
    aware("date", document.date)
    text = sound_text(sound("text", document.text))
    return replace(document, title=" ".join(document.title.split()), text=text)


def _digest(document: Document) -> str:
    """A document by its content, its id apart; the tag says by which algorithm."""
    date = document.date.isoformat() if document.date else None
    parts = (document.title, document.text, document.url, date, document.doc_type)
    return text_hash(json.dumps(parts))


def _without_repeat(names: Sequence[str]) -> list[str]:
    """A path of headings without a title that the first heading repeats."""
    return [name for at, name in enumerate(names) if not at or name != names[0]]
