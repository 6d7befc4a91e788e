"""Reads a labelled set from disk into items and questions.

    corpus.jsonl     id, text, and where known scope, kind, time, session, speaker, meta
    queries.jsonl    id, scope, text, and where known category
    qrels.tsv        query-id, corpus-id, score, under a header line
    scopes.jsonl     optional: scope, docs = [[path, id], …], for texts that belong to several scopes

    dialogues.jsonl  instead of all these: dialogues with boundaries or summaries, one on each line

A malformed line is refused with a ValidationError that names it. A set's own ids are not part of the items:
only what a user would have stored is indexed, in the form that capture would have given it. A file is read as
`foreword index` reads it: secrets are removed, then code is cut into units and a document into pieces of its
sections. A function without a file becomes the unit that it would be in a file, without a path. A commit gets
the text that an indexed commit has. Anything else counts as somebody's words, and stays whole.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from foreword.capture.code.languages import DOCUMENTS, MAX_SNIFFED_BYTES, language_of
from foreword.capture.code.units import WINDOW_LINES, cut_code
from foreword.capture.documents.chunking import cut_document
from foreword.capture.folder.commits import commit_text
from foreword.capture.redact import redact_file_text
from foreword.errors import ValidationError
from foreword.text.clean import replace_unstorable_characters
from foreword.types import KINDS, Item, content_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

DIALOGUES = "dialogues.jsonl"

_NEEDED = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")
_CHANGED = re.compile(r"(?P<message>.*?)\s*^files: (?P<files>[^\n]+)\s*\Z", re.DOTALL | re.MULTILINE)
"""The form of a commit in a set: its message, then the files that it changed."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document that can be relevant, and the items it is stored as; none if it has no text."""

    id: str
    parts: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One query, and the gain of each relevant document; documents that are not relevant are not listed."""

    id: str
    scope: str
    text: str
    category: str
    gains: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """The questions of a set, and the documents of every scope that they are asked in."""

    name: str
    documents: Mapping[str, tuple[Document, ...]]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a file: its values, and its path and number for error messages."""

    path: Path
    number: int
    row: Mapping[str, Any]

    def error(self, what: str) -> ValidationError:
        return ValidationError(f"{self.path}, line {self.number}: {what}")

    def text(self, field: str) -> str:
        value = self.row.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            raise self.error(f"{field!r} must be text, not {json.dumps(value)}")
        return value

    def optional(self, field: str) -> str | None:
        return None if self.row.get(field) is None else self.text(field)


def read_set(folder: Path, limit: int | None = None) -> LabelledSet:
    """The set in a folder; with `limit`, only the first `limit` questions and the scopes they ask."""
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if missing:
        raise ValidationError(
            f"{folder} is not a labelled set: it has no {', '.join(missing)}; "
            f"give a folder with {', '.join(_NEEDED)}"
        )
    if limit is not None and limit < 1:
        raise ValidationError(f"limit must be 1 or more, not {limit}")
    lines = list(_read_rows(folder / "queries.jsonl"))[:limit]
    if not lines:
        raise ValidationError(
            f"{folder / 'queries.jsonl'} holds no questions; give a set that asks something"
        )
    scoped = _read_documents(folder, {line.text("scope") for line in lines})
    questions = _make_questions(lines, _read_qrels(folder / "qrels.tsv"), scoped)
    return LabelledSet(folder.resolve().name, scoped, questions)


def read_questions(folder: Path, limit: int | None = None) -> list[str]:
    """The texts of a set's questions."""
    return [line.text("text") for line in _read_rows(folder / "queries.jsonl")][:limit]


def _read_documents(folder: Path, asked: set[str]) -> dict[str, tuple[Document, ...]]:
    corpus = {line.text("id"): line for line in _read_rows(folder / "corpus.jsonl")}
    scoped: dict[str, list[Document]] = {}
    for scope, path, line in _read_documents_by_scope(folder, corpus):
        if scope in asked:
            scoped.setdefault(scope, []).append(_make_document(line, scope, path))
    return {scope: tuple(inside) for scope, inside in scoped.items()}


def _read_documents_by_scope(
    folder: Path, corpus: Mapping[str, _Line]
) -> Iterator[tuple[str, str | None, _Line]]:
    """Each document with its scope and its path in that scope."""
    places = folder / "scopes.jsonl"
    apart = places.is_file()
    for line in corpus.values():
        if "scope" in line.row or not apart:
            yield line.text("scope"), _read_meta(line).get("path"), line
    for line in _read_rows(places) if apart else ():
        for path, known in _listed_documents(line):
            if known not in corpus:
                raise line.error(f"no line of corpus.jsonl has the id {known!r}")
            yield line.text("scope"), path, corpus[known]


def _listed_documents(line: _Line) -> list[tuple[str, str]]:
    docs = line.row.get("docs")
    if not isinstance(docs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in docs):
        raise line.error("'docs' must be a list of [path, id] pairs")
    return [(str(path), str(known)) for path, known in docs]


def _make_document(line: _Line, scope: str, path: str | None) -> Document:
    text = line.text("text")
    kind = line.optional("kind") or ("code" if path else "document")
    if kind not in KINDS:
        raise line.error(f"no kind named {kind!r}; there are: {', '.join(KINDS)}")
    speaker = line.optional("speaker")
    known = {"path": path, "speaker": speaker}
    whole = Item(
        text=text,
        workspace=scope,
        kind=kind,
        about=path or (speaker if speaker and kind == "turn" else ""),
        created_at=_read_time(line),
        session=line.optional("session"),
        metadata={**_read_meta(line), **{name: value for name, value in known.items() if value}},
    )
    return Document(line.text("id"), tuple(map(_with_stable_id, make_captured_items(whole))))


def _with_stable_id(item: Item) -> Item:
    """The item with an id derived from its content, so that ties are always in the same order."""
    return replace(item, id=content_hash(item).removeprefix("b2:")[:16])


def _read_meta(line: _Line) -> Mapping[str, Any]:
    meta = line.row.get("meta") or {}
    if not isinstance(meta, dict):
        raise line.error("'meta' must be a JSON object")
    return meta


def _read_time(line: _Line) -> datetime:
    written = line.optional("time")
    if written is None:
        return datetime.fromtimestamp(0, UTC)
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        raise line.error(f"'time' must be ISO 8601, like 2026-01-31T12:00:00Z, not {written!r}") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _make_questions(
    asked: list[_Line],
    relevant: Mapping[str, Mapping[str, float]],
    scoped: Mapping[str, tuple[Document, ...]],
) -> tuple[Question, ...]:
    times = Counter(line.text("id") for line in asked)
    for line in asked:
        if times[line.text("id")] > 1:
            raise line.error(f"the id {line.text('id')!r} names several questions; give each its own")
        if line.text("scope") not in scoped:
            raise line.error(f"no document stands in the scope {line.text('scope')!r}")
    return tuple(
        Question(
            line.text("id"),
            line.text("scope"),
            line.text("text"),
            line.optional("category") or "",
            relevant.get(line.text("id"), {}),
        )
        for line in asked
    )


def _read_qrels(path: Path) -> dict[str, dict[str, float]]:
    """For each query, the documents with a score above 0."""
    relevant: dict[str, dict[str, float]] = {}
    for number, line in _read_lines(path):
        fields = line.split("\t")
        gain = _parse_number(fields[-1]) if len(fields) == 3 else None
        if gain is None:
            if number == 1 and len(fields) == 3:
                continue  # the header line
            raise ValidationError(
                f"{path}, line {number}: must be query-id, corpus-id, score, with tabs between, not {line!r}"
            )
        if gain > 0:
            relevant.setdefault(fields[0], {})[fields[1]] = gain
    return relevant


def _parse_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


# Items as capture would make them ------------------------------------------------------------------------


def make_captured_items(whole: Item) -> list[Item]:
    """The items that capture would make of a line's text, which is given as one item."""
    if not whole.text.strip():
        return []
    if whole.kind == "commit":
        return [_make_commit_item(whole)]
    path = whole.metadata.get("path")
    if path and whole.kind in ("code", "document"):
        return _make_file_items(str(path), whole)
    return _make_snippet_items(whole) if whole.kind == "code" else [whole]


def _make_commit_item(whole: Item) -> Item:
    match = _CHANGED.fullmatch(whole.text)
    if match is None:
        return whole
    message, files = match["message"].strip(), match["files"].split(", ")
    return replace(
        whole,
        text=commit_text(message or "(no message)", files),
        metadata={**whole.metadata, "message": message, "files": files, "files_changed": len(files)},
    )


def _make_file_items(path: str, whole: Item) -> list[Item]:
    text = redact_file_text(replace_unstorable_characters(whole.text))
    language = language_of(path, text[:MAX_SNIFFED_BYTES].encode())
    if language in DOCUMENTS:
        made = cut_document(path, text.encode(), whole.workspace, whole.created_at)
    else:
        made = cut_code(path, text, language, whole.workspace, whole.created_at)
    return [
        replace(item, session=whole.session, metadata={**whole.metadata, **item.metadata}) for item in made
    ]


def _make_snippet_items(whole: Item) -> list[Item]:
    """The units of code whose file is unknown; the whole item if no part of it is worth a unit."""
    # A short file would become one item, but a function is usually part of a longer file.
    text = redact_file_text(replace_unstorable_characters(whole.text)) + "\n" * WINDOW_LINES
    language = str(whole.metadata.get("language") or "")
    made = cut_code("", text, language, whole.workspace, whole.created_at)
    return [_make_snippet_item(item, whole) for item in made] or [whole]


def _make_snippet_item(item: Item, whole: Item) -> Item:
    known = {name: value for name, value in item.metadata.items() if name != "path"}
    return replace(
        whole, text=item.text, about=item.about.lstrip(" ›—"), metadata={**whole.metadata, **known}
    )


# Dialogues -----------------------------------------------------------------------------------------------


def has_dialogues(folder: Path, field: str) -> bool:
    """Whether a folder has dialogues with such a field; only the first dialogue is checked."""
    try:
        with (folder / DIALOGUES).open(encoding="utf-8") as file:
            return f'"{field}"' in file.readline()
    except (OSError, UnicodeDecodeError):
        return False


def read_dialogues(folder: Path, limit: int | None = None) -> Iterator[tuple[str, Any]]:
    """The JSON values of the dialogues, or of the first `limit`, each with its place for error messages."""
    if limit is not None and limit < 1:
        raise ValidationError(f"limit must be 1 or more, not {limit}")
    path = folder / DIALOGUES
    for number, line in list(_read_lines(path))[:limit]:
        yield f"{path}, line {number}: ", _parse_json_line(path, number, line)


# Reading lines -------------------------------------------------------------------------------------------


def _read_rows(path: Path) -> Iterator[_Line]:
    for number, line in _read_lines(path):
        row = _parse_json_line(path, number, line)
        if not isinstance(row, dict):
            raise ValidationError(f'{path}, line {number}: must be a JSON object, like {{"id": …}}')
        yield _Line(path, number, row)


def _parse_json_line(path: Path, number: int, line: str) -> Any:  # noqa: ANN401  (whatever JSON holds)
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValidationError(f"{path}, line {number}: not JSON: {error}") from None


def _read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not empty, with their numbers."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line.rstrip("\n")
    except UnicodeDecodeError as error:
        raise ValidationError(f"{path} is not UTF-8 text: {error.reason}; convert it first") from None
    except OSError as error:
        raise ValidationError(f"cannot read {path}: {error.strerror}") from error
