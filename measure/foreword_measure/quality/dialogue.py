"""How much of the evidence a conversation's prompt holds, compared with other ways to fill the same tokens.

Every scope of a labelled set of turns is stored as one conversation; every question is its next turn. In our
prompt, all of it counts: instructions, headings, summary, the question. The others consist of turns only: the
last ones, the best by words (BM25), or the best by words and meaning (RRF), line by line until one does not
fit. A turn that was shortened does not count as held.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from foreword.compose.quoting import escape_headings
from foreword.errors import ValidationError
from foreword.recipes.dialogue.prompt import inject_context
from foreword.recipes.dialogue.session import Session
from foreword.types import Query, Turn
from foreword_measure.quality import labelled, metrics, runs
from foreword_measure.report import Cell, Report, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from foreword.engine.context_engine import ContextEngine
    from foreword.options import Lane
    from foreword.recipes.dialogue.prompt import InjectedContext
    from foreword.spaces.providers import EmbeddingProvider
    from foreword_measure.quality.labelled import Document, LabelledSet, Question

    Progress = Callable[[str, int, int], None]

BUDGETS = (1000, 2000)
LAST, OURS = "last turns", "foreword"
RUNS = (LAST, runs.BM25, runs.RRF, OURS)
INSTRUCTIONS = "Answer from the conversation."


@dataclass(frozen=True, slots=True)
class _Conversation:
    """One scope as a conversation: its turns by id, and the turn's id for each document's id."""

    session: Session
    turns: Mapping[str, Turn]
    kept_as: Mapping[str, str]

    def evidence(self, question: Question) -> frozenset[str]:
        """The ids of the turns that hold the answer."""
        return frozenset(self.kept_as[document] for document in question.gains if document in self.kept_as)


@dataclass(frozen=True, slots=True)
class _HeldEvidence:
    """The share of one question's evidence that each run holds in one budget, and our prompt's time."""

    scope: str
    shares: Mapping[str, float]
    milliseconds: float


def measure(
    folder: Path,
    *,
    limit: int | None = None,
    progress: Progress,
    home: Path | None = None,
    provider: EmbeddingProvider | None = None,
    lane: Lane = "fast",
    budgets: Sequence[int] = BUDGETS,
) -> Report:
    """The shares of evidence in our prompts and in the others, for each budget."""
    given = labelled.read_set(folder, limit)
    with nullcontext(home) if home else tempfile.TemporaryDirectory(prefix="foreword-eval-") as place:
        inside = Path(place) / f"{given.name}-dialogue"
        with runs.open_engine_in(inside, provider) as engine:
            conversations = _store_conversations(engine, given, lane, progress)
            runs.make_vectors(engine, conversations, progress)
            held = _measure_questions(engine, given, conversations, budgets, progress)
    return _report(given.name, held, lane)


def _store_conversations(
    engine: ContextEngine, given: LabelledSet, lane: Lane, progress: Progress
) -> dict[str, _Conversation]:
    conversations = {}
    for done, (scope, documents) in enumerate(given.documents.items()):
        progress("storing", done, len(given.documents))
        conversations[scope] = _store_conversation(engine, scope, documents, lane)
    progress("storing", len(conversations), len(conversations))
    return conversations


def _store_conversation(
    engine: ContextEngine, scope: str, documents: Sequence[Document], lane: Lane
) -> _Conversation:
    said = [(document.id, part) for document in documents for part in document.parts]
    if any(part.kind != "turn" for _, part in said):
        raise ValidationError(
            f"the scope {scope!r} holds other things than turns; give a set of conversations"
        )
    session = Session(engine, scope, scope, base_instructions=INSTRUCTIONS, lane=lane)
    kept = session.add_all([Turn(part.text, name=part.about, timestamp=part.created_at) for _, part in said])
    names = {document: turn.turn_id for (document, _), turn in zip(said, kept, strict=True)}
    return _Conversation(session, {turn.turn_id: turn for turn in kept}, names)


def _measure_questions(
    engine: ContextEngine,
    given: LabelledSet,
    conversations: Mapping[str, _Conversation],
    budgets: Sequence[int],
    progress: Progress,
) -> dict[int, list[_HeldEvidence]]:
    held: dict[int, list[_HeldEvidence]] = {budget: [] for budget in budgets}
    for done, question in enumerate(given.questions):
        progress("asking", done, len(given.questions))
        conversation = conversations[question.scope]
        if not (evidence := conversation.evidence(question)):
            continue
        orders = _rank_turns_by_run(engine, question, conversation)
        for budget in budgets:
            started = time.perf_counter()
            prompt = inject_context(question.text, conversation.session, budget, keep=False)
            took = (time.perf_counter() - started) * 1000
            shown = {run: _fill_budget(ids, conversation, budget, engine) for run, ids in orders.items()}
            shown[OURS] = _list_whole_turns(prompt)
            shares = {run: len(evidence & shown[run]) / len(evidence) for run in RUNS}
            held[budget].append(_HeldEvidence(question.scope, shares, took))
    progress("asking", len(given.questions), len(given.questions))
    return held


def _rank_turns_by_run(
    engine: ContextEngine, question: Question, conversation: _Conversation
) -> dict[str, list[str]]:
    """The turns in the order in which each of the other runs takes them."""
    query = Query(question.text, question.scope, datetime.now(UTC))
    return {LAST: list(reversed(list(conversation.turns))), **runs.rank_with_baselines(engine, query)}


def _fill_budget(
    ids: Iterable[str], conversation: _Conversation, budget: int, engine: ContextEngine
) -> frozenset[str]:
    """The turns, line by line, until one does not fit."""
    shown: set[str] = set()
    room = budget
    for one in ids:
        turn = conversation.turns[one]
        room -= engine.tokenizer.count(f"{turn.speaker}: {turn.text}\n")
        if room < 0:
            break
        shown.add(one)
    return frozenset(shown)


def _list_whole_turns(prompt: InjectedContext) -> frozenset[str]:
    """The ids of the turns that our prompt holds unshortened."""
    history = prompt.content.history
    return frozenset(
        turn.turn_id
        for turn in (*history.recalled, *history.recent_turns)
        if turn.content == escape_headings(turn.turn.text).strip()
    )


def _report(name: str, held: Mapping[int, Sequence[_HeldEvidence]], lane: Lane) -> Report:
    rows: list[tuple[Cell, ...]] = []
    for budget, asked in held.items():
        scopes = [one.scope for one in asked]
        for run in RUNS:
            shares = [one.shares[run] for one in asked]
            ends = metrics.confidence_interval(shares, scopes) or (None, None)
            mean = sum(shares) / len(shares) if shares else None
            rows.append((budget, run, mean, *ends))
    times = [one.milliseconds for asked in held.values() for one in asked]
    questions = len(next(iter(held.values()), ()))
    notes = (
        f"{questions:,} questions with evidence, {lane} lane; the share of the evidence that stands whole in "
        "the prompt, with the interval that 95 of 100 such sets would have",
        f"our prompts count everything in them, and took {metrics.percentile(times, 0.5) or 0:.0f} ms (p50)",
    )
    table = Table(
        f"{name}: evidence in a prompt", ("tokens", "run", "held", "from", "to"), tuple(rows), notes
    )
    data = {
        "set": name,
        "lane": lane,
        "held": {str(budget): {run: mean for at, run, mean, *_ in rows if at == budget} for budget in held},
        "p50_ms": metrics.percentile(times, 0.5),
    }
    return Report((table,), data)
