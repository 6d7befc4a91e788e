"""A labelled set on disk becomes items and questions.

    corpus.jsonl     id, text, and where known scope, kind, time, session, speaker, meta
    queries.jsonl    id, scope, text, and where known category
    qrels.tsv        query-id, corpus-id, score, under a header line
    scopes.jsonl     optional: scope, docs = [[path, id], …], for texts that stand in several scopes

Knows the files and refuses what it cannot read, naming the line. A set's own ids stay outside the items: what
is indexed is only what a user would have stored, in the shape in which capture would have met it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError
from foreword.types import KINDS, Item, content_hash
from foreword_measure.quality.captured import captured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_NEEDED = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")


@dataclass(frozen=True, slots=True)
class Document:
    """One thing that can be relevant, and the items it is stored as; none when it holds no text."""

    id: str
    parts: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One query, and how relevant each document is to it; what is not relevant is not named."""

    id: str
    scope: str
    text: str
    category: str
    gains: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """The questions of a set, and the documents of every scope that they ask."""

    name: str
    documents: Mapping[str, tuple[Document, ...]]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a file: what it says and where it stands, for the errors that speak of it."""

    path: Path
    number: int
    row: Mapping[str, Any]

    def wrong(self, what: str) -> ValidationError:
        return ValidationError(f"{self.path}, line {self.number}: {what}")

    def text(self, field: str) -> str:
        value = self.row.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            raise self.wrong(f"{field!r} must be text, not {json.dumps(value)}")
        return value

    def optional(self, field: str) -> str | None:
        return None if self.row.get(field) is None else self.text(field)


def read(folder: Path, limit: int | None = None) -> LabelledSet:
    """The set in a folder; with `limit`, only the first so many questions and the scopes they ask."""
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if missing:
        raise ValidationError(
            f"{folder} is not a labelled set: it has no {', '.join(missing)}; "
            f"give a folder with {', '.join(_NEEDED)}"
        )
    if limit is not None and limit < 1:
        raise ValidationError(f"limit must be 1 or more, not {limit}")
    lines = list(_rows(folder / "queries.jsonl"))[:limit]
    if not lines:
        raise ValidationError(
            f"{folder / 'queries.jsonl'} holds no questions; give a set that asks something"
        )
    scoped = _documents(folder, {line.text("scope") for line in lines})
    questions = _questions(lines, _qrels(folder / "qrels.tsv"), scoped)
    return LabelledSet(folder.resolve().name, scoped, questions)


def asked(folder: Path, limit: int | None = None) -> list[str]:
    """What the questions of a set say, and nothing else of it."""
    return [line.text("text") for line in _rows(folder / "queries.jsonl")][:limit]


def _documents(folder: Path, asked: set[str]) -> dict[str, tuple[Document, ...]]:
    corpus = {line.text("id"): line for line in _rows(folder / "corpus.jsonl")}
    scoped: dict[str, list[Document]] = {}
    for scope, path, line in _standing(folder, corpus):
        if scope in asked:
            scoped.setdefault(scope, []).append(_document(line, scope, path))
    return {scope: tuple(inside) for scope, inside in scoped.items()}


def _standing(folder: Path, corpus: Mapping[str, _Line]) -> Iterator[tuple[str, str | None, _Line]]:
    """Which documents stand in which scope, and under which path."""
    places = folder / "scopes.jsonl"
    apart = places.is_file()
    for line in corpus.values():
        if "scope" in line.row or not apart:
            yield line.text("scope"), _meta(line).get("path"), line
    for line in _rows(places) if apart else ():
        for path, known in _listed(line):
            if known not in corpus:
                raise line.wrong(f"no line of corpus.jsonl has the id {known!r}")
            yield line.text("scope"), path, corpus[known]


def _listed(line: _Line) -> list[tuple[str, str]]:
    docs = line.row.get("docs")
    if not isinstance(docs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in docs):
        raise line.wrong("'docs' must be a list of [path, id] pairs")
    return [(str(path), str(known)) for path, known in docs]


def _document(line: _Line, scope: str, path: str | None) -> Document:
    text = line.text("text")
    kind = line.optional("kind") or ("code" if path else "document")
    if kind not in KINDS:
        raise line.wrong(f"no kind named {kind!r}; there are: {', '.join(KINDS)}")
    speaker = line.optional("speaker")
    known = {"path": path, "speaker": speaker}
    whole = Item(
        text=text,
        workspace=scope,
        kind=kind,
        about=path or (speaker if speaker and kind == "turn" else ""),
        created_at=_time(line),
        session=line.optional("session"),
        metadata={**_meta(line), **{name: value for name, value in known.items() if value}},
    )
    return Document(line.text("id"), tuple(map(_named, captured(whole))))


def _named(item: Item) -> Item:
    """An id that says nothing of the set's own, and is the same every time: equal scores keep their order."""
    return replace(item, id=content_hash(item).removeprefix("b2:")[:16])


def _meta(line: _Line) -> Mapping[str, Any]:
    meta = line.row.get("meta") or {}
    if not isinstance(meta, dict):
        raise line.wrong("'meta' must be a JSON object")
    return meta


def _time(line: _Line) -> datetime:
    written = line.optional("time")
    if written is None:
        return datetime.fromtimestamp(0, UTC)
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        raise line.wrong(f"'time' must be ISO 8601, like 2026-01-31T12:00:00Z, not {written!r}") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _questions(
    asked: list[_Line],
    relevant: Mapping[str, Mapping[str, float]],
    scoped: Mapping[str, tuple[Document, ...]],
) -> tuple[Question, ...]:
    times = Counter(line.text("id") for line in asked)
    for line in asked:
        if times[line.text("id")] > 1:
            raise line.wrong(f"the id {line.text('id')!r} names several questions; give each its own")
        if line.text("scope") not in scoped:
            raise line.wrong(f"no document stands in the scope {line.text('scope')!r}")
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


def _qrels(path: Path) -> dict[str, dict[str, float]]:
    """Per query, the documents with a score above 0."""
    relevant: dict[str, dict[str, float]] = {}
    for number, line in _lines(path):
        fields = line.split("\t")
        gain = _number(fields[-1]) if len(fields) == 3 else None
        if gain is None:
            if number == 1 and len(fields) == 3:
                continue  # the header
            raise ValidationError(
                f"{path}, line {number}: must be query-id, corpus-id, score, with tabs between, not {line!r}"
            )
        if gain > 0:
            relevant.setdefault(fields[0], {})[fields[1]] = gain
    return relevant


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _rows(path: Path) -> Iterator[_Line]:
    for number, line in _lines(path):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValidationError(f"{path}, line {number}: not JSON: {error}") from None
        if not isinstance(row, dict):
            raise ValidationError(f'{path}, line {number}: must be a JSON object, like {{"id": …}}')
        yield _Line(path, number, row)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that say something, with their numbers."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line.rstrip("\n")
    except UnicodeDecodeError as error:
        raise ValidationError(f"{path} is not UTF-8 text: {error.reason}; convert it first") from None
    except OSError as error:
        raise ValidationError(f"cannot read {path}: {error.strerror}") from error
