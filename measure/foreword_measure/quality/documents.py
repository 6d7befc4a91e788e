"""Whether help pages answer the questions of a chat, and nothing is shown where they have no answer.

    pages/             the pages, as a product has them
    questions.jsonl    id, kind, talk (the turns before), question, page (the one that answers; null for none)

The kinds are `first` (asked out of the blue), `follow-up` (understood only from the talk) and `unanswerable`.
Every question is the next turn of its own conversation, and what counts is the knowledge in its prompt: which
page comes first, and whether there is any. It is compared with a search for the question alone, without a
floor, which does not use the talk and is never silent.
"""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from foreword.errors import ValidationError
from foreword.indexing.knowledge_base import KnowledgeBase
from foreword.recipes.dialogue.prompt import inject_context
from foreword.recipes.dialogue.session import Session
from foreword.types import Turn
from foreword_measure.quality import metrics, runs
from foreword_measure.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.engine.context_engine import ContextEngine
    from foreword.spaces.providers import EmbeddingProvider
    from foreword.types import Item, Role
    from foreword_measure.report import Cell

    Progress = Callable[[str, int, int], None]

Kind = Literal["first", "follow-up", "unanswerable"]
KINDS: tuple[Kind, ...] = get_args(Kind)
PAGES, QUESTIONS = "pages", "questions.jsonl"
OWN_SETS = Path(__file__).parents[2] / "documents"
"""The pages and questions that were written for this project."""

OURS, SEARCH = "foreword", "search"
MIN_RIGHT_FIRST, MIN_SILENT = 0.85, 0.85
WINDOW = 4096


@dataclass(frozen=True, slots=True)
class ChatQuestion:
    """A question, the talk before it, and the page that answers it, or None."""

    id: str
    kind: Kind
    talk: tuple[Turn, ...]
    text: str
    page: str | None


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """The pages that one run found for a question, best first, and how long it took."""

    question: ChatQuestion
    pages: tuple[str, ...]
    milliseconds: float = 0.0

    @property
    def is_right(self) -> bool:
        """Whether the right page came first; if no page answers, whether none was found."""
        return self.pages[:1] == ((self.question.page,) if self.question.page else ())


def list_own_sets() -> list[Path]:
    """The folders of pages that are in the repository."""
    return sorted(folder for folder in OWN_SETS.iterdir() if has_pages(folder))


def has_pages(folder: Path) -> bool:
    """Whether a folder holds pages and the questions about them."""
    return (folder / PAGES).is_dir() and (folder / QUESTIONS).is_file()


def read_questions(folder: Path) -> list[ChatQuestion]:
    """The questions of a folder; ValidationError if a line is malformed."""
    questions = []
    pages = {path.name for path in (folder / PAGES).iterdir()}
    for number, line in enumerate((folder / QUESTIONS).read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            talk = tuple(Turn(said["text"], cast("Role", said["role"])) for said in row["talk"])
            question = ChatQuestion(row["id"], row["kind"], talk, row["question"], row["page"])
        except (ValueError, LookupError, TypeError) as error:
            raise ValidationError(f"{folder / QUESTIONS}, line {number}: {error!r}") from None
        if question.kind not in KINDS or (question.page is not None and question.page not in pages):
            raise ValidationError(
                f"{folder / QUESTIONS}, line {number}: kind is one of {', '.join(KINDS)}, and page a file of "
                f"{PAGES}/ or null"
            )
        questions.append(question)
    return questions


def measure_documents(
    folder: Path,
    limit: int | None = None,
    progress: Progress | None = None,
    provider: EmbeddingProvider | None = None,
) -> Report:
    """How often the right page comes first for the questions of a folder, by kind, and for a search alone."""
    questions = read_questions(folder)[:limit]
    if not questions:
        raise ValidationError(f"{folder / QUESTIONS} has no questions")
    with (
        tempfile.TemporaryDirectory(prefix="foreword-eval-") as place,
        runs.open_engine_in(Path(place), provider) as engine,
    ):
        KnowledgeBase(engine, folder.name).index_folder(folder / PAGES)
        engine.embed_pending(folder.name)
        asked: dict[str, list[AnsweredQuestion]] = {SEARCH: [], OURS: []}
        for done, question in enumerate(questions):
            if progress is not None:
                progress(f"{folder.name}: asking", done, len(questions))
            asked[SEARCH].append(_search(engine, folder.name, question))
            asked[OURS].append(_ask(engine, folder.name, question))
    return _report(folder.name, asked)


def _ask(engine: ContextEngine, workspace: str, question: ChatQuestion) -> AnsweredQuestion:
    session = Session(engine, workspace, question.id)
    if question.talk:
        session.add_all(question.talk)
    started = time.perf_counter()
    prompt = inject_context(question.text, session, WINDOW, keep=False)
    took = (time.perf_counter() - started) * 1000
    pages = dict.fromkeys(Path(chunk.source.doc_id).name for chunk in prompt.content.rag_chunks)
    return AnsweredQuestion(question, tuple(pages), took)


def _search(engine: ContextEngine, workspace: str, question: ChatQuestion) -> AnsweredQuestion:
    found = engine.search(question.text, workspace, kinds=("document",), lane="fast", limit=3)
    return AnsweredQuestion(question, tuple(dict.fromkeys(_page_name(result.memory) for result in found)))


def _page_name(item: Item) -> str:
    return Path(str(item.metadata.get("path", item.source.name))).name


def _report(name: str, asked: dict[str, list[AnsweredQuestion]]) -> Report:
    rows: list[tuple[Cell, ...]] = []
    data: dict[str, Any] = {"set": name, "runs": {}}
    for run, answers in asked.items():
        scores: dict[str, float | None] = {
            kind: _share_right([one for one in answers if one.question.kind == kind]) for kind in KINDS
        }
        right = _share_right([one for one in answers if one.question.page])
        told = [len(one.pages) for one in answers if one.pages]
        data["runs"][run] = {"right page first": right, **scores, "pages told": _mean(told)}
        rows.append((run, len(answers), right, scores["first"], scores["follow-up"], scores["unanswerable"]))
    data["missed"] = [
        {"id": one.question.id, "question": one.question.text, "page": one.question.page, "told": one.pages}
        for one in asked[OURS]
        if not one.is_right
    ]
    took = metrics.percentile([one.milliseconds for one in asked[OURS]], 0.5) or 0
    pages = _mean([len(one.pages) for one in asked[OURS] if one.pages]) or 0
    notes = (
        f"wanted: the right page first in {MIN_RIGHT_FIRST}, silence in {MIN_SILENT}; {pages:.1f} pages are "
        f"told where any is; a prompt took {took:.0f} ms (p50); --json names what was missed",
    )
    columns = ("run", "questions", "right page first", "first questions", "follow-ups", "silent")
    return Report((Table(f"{name}: pages for a chat", columns, tuple(rows), notes),), data)


def _share_right(answers: Sequence[AnsweredQuestion]) -> float | None:
    return _mean([float(answer.is_right) for answer in answers])


def _mean(numbers: Sequence[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None
