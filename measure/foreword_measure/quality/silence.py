"""Whether the engine injects nothing when nothing is relevant, and how much evidence that costs.

Questions are asked in a workspace that does not hold their evidence: in another scope of the set, or, if
there is only one, questions of other sets are asked. Whatever is injected then is noise. The set's own
questions are asked with the floor and without it: the evidence that the floor drops is its price. A scope
that shares a document with the question's own is not foreign to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from foreword_measure.quality import metrics
from foreword_measure.quality.runs import OURS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from foreword.engine.context_engine import ContextEngine
    from foreword.options import Lane
    from foreword_measure.quality.labelled import Document, LabelledSet, Question
    from foreword_measure.quality.runs import Progress, StoredScope

MAX_QUESTIONS = 200
BUDGET = 2000
MAX_FOREIGN_SHARE = 0.15
"""The largest share of foreign questions for which anything may be injected."""

T = TypeVar("T")

Origin = Literal["other scopes", "other sets", ""]


@dataclass(frozen=True, slots=True)
class ForeignQuestion:
    """A question, and a workspace that cannot answer it."""

    text: str
    scope: str


@dataclass(frozen=True, slots=True)
class InjectionCounts:
    """How often one lane injected something for foreign and for own questions, and how much evidence."""

    foreign: int
    foreign_injected: int
    own: int
    own_injected: int
    evidence: float
    evidence_without_floor: float

    @property
    def noise(self) -> float | None:
        """The share of foreign questions for which anything was injected; None without such questions."""
        return self.foreign_injected / self.foreign if self.foreign else None

    @property
    def evidence_kept(self) -> float | None:
        """The evidence that is left with the floor, as a share of that without it."""
        return self.evidence / self.evidence_without_floor if self.evidence_without_floor else None


@dataclass(frozen=True, slots=True)
class Silence:
    """The counts of every lane, and where the foreign questions come from, if there are any."""

    origin: Origin
    runs: Mapping[str, InjectionCounts]


def measure_silence(
    engine: ContextEngine,
    given: LabelledSet,
    stored_scopes: Mapping[str, StoredScope],
    lanes: Sequence[Lane],
    others: Sequence[str],
    progress: Progress,
) -> Silence:
    """Build contexts for foreign questions and for the set's own; `others` are questions of other sets."""
    answerable = [question for question in given.questions if question.gains]
    own = [answerable[place] for place in metrics.sample_positions(len(answerable), MAX_QUESTIONS)]
    origin, foreign = foreign_questions(given, own, others)
    return Silence(
        origin,
        {
            OURS[lane]: _count_injections(engine, lane, foreign, own, stored_scopes, progress)
            for lane in lanes
        },
    )


def foreign_questions(
    given: LabelledSet, own: Sequence[Question], others: Sequence[str]
) -> tuple[Origin, list[ForeignQuestion]]:
    """The set's questions, each with a scope that cannot answer it, or else the questions of other sets."""
    chance = np.random.default_rng(metrics.SEED)
    swapped = [
        ForeignQuestion(question.text, scopes[chance.integers(len(scopes))])
        for question in own
        if (scopes := _foreign_scopes(given.documents, question))
    ]
    if swapped:
        return "other scopes", swapped
    here = list(given.documents)
    drawn = [others[place] for place in metrics.sample_positions(len(others), MAX_QUESTIONS)]
    borrowed = [ForeignQuestion(text, here[chance.integers(len(here))]) for text in drawn]
    return ("other sets" if borrowed else ""), borrowed


def _foreign_scopes(documents: Mapping[str, Sequence[Document]], question: Question) -> list[str]:
    """The scopes that share no document with the question's own, nor another version of its evidence."""
    home = documents[question.scope]
    shared = {document.id for document in home}
    paths = _list_paths(document for document in home if document.id in question.gains)
    return [
        scope
        for scope, inside in documents.items()
        if shared.isdisjoint(document.id for document in inside) and paths.isdisjoint(_list_paths(inside))
    ]


def _list_paths(documents: Iterable[Document]) -> set[str]:
    parts = [part for document in documents for part in document.parts[:1]]
    return {str(part.metadata["path"]) for part in parts if "path" in part.metadata}


def _count_injections(
    engine: ContextEngine,
    lane: Lane,
    foreign: Sequence[ForeignQuestion],
    own: Sequence[Question],
    stored_scopes: Mapping[str, StoredScope],
    progress: Progress,
) -> InjectionCounts:
    noise = [
        bool(_injected_ids(engine, question.text, question.scope, lane))
        for question in _iterate_with_progress(foreign, f"{OURS[lane]}: foreign questions", progress)
    ]
    answered, kept, without_floor = [], [], []
    for question in _iterate_with_progress(own, f"{OURS[lane]}: own questions", progress):
        stored_scope = stored_scopes[question.scope]
        ids = _injected_ids(engine, question.text, question.scope, lane)
        answered.append(bool(ids))
        kept.append(_evidence_recall(ids, stored_scope, question))
        ids = _injected_ids(engine, question.text, question.scope, lane, floor=0.0)
        without_floor.append(_evidence_recall(ids, stored_scope, question))
    several = max(1, len(own))
    return InjectionCounts(
        len(noise), sum(noise), len(own), sum(answered), sum(kept) / several, sum(without_floor) / several
    )


def _iterate_with_progress(elements: Sequence[T], step: str, progress: Progress) -> Iterator[T]:
    """Yield each element, and report the progress."""
    for done, element in enumerate(elements):
        progress(step, done, len(elements))
        yield element
    progress(step, len(elements), len(elements))


def _injected_ids(
    engine: ContextEngine, text: str, scope: str, lane: Lane, floor: float | None = None
) -> list[str]:
    """The ids of the items that a context holds."""
    result = engine.build_context(text, scope, lane=lane, token_budget=BUDGET, floor=floor)
    return [entry.memory.id for entry in result.memories]


def _evidence_recall(ids: Iterable[str], stored_scope: StoredScope, question: Question) -> float:
    """The share of the question's relevant documents that are among these items."""
    found = [document for one in ids for document in stored_scope.documents_of_item.get(one, ())]
    return metrics.recall(found, stored_scope.gains(question), len(found))
