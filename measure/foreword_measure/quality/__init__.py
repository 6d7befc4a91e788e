"""How well the engine finds: the questions of a labelled set are asked, and compared with plain baselines.

`evaluate` measures one set: `labelled` reads it, `runs` stores and asks, `metrics` scores, `silence` counts
what should not have been injected, `tables` reports. `measure_sets` measures all that the command line asks
for; `build_summary` puts many sets into one table. Other kinds of sets measure something else: dialogues,
whether a change of subject is noticed (`shifts`) or how good summaries are (`summaries`); pairs, whether
texts that say the same are recognised (`repeats`); statements and talks, whether decisions and corrections
are recognised (`settled`); pages, whether they answer the questions of a chat (`documents`).
`scenarios` replays whole histories and measures the answers to their questions; `precedents` measures whether
failures find what was learnt from earlier ones, and experiences their themes.
Nothing here changes how the engine searches, and the set's own data stays where it is.
"""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from foreword.errors import ValidationError
from foreword.spaces.bundled import BundledReranker
from foreword_measure.quality import (
    labelled,
    metrics,
    naming,
    repeats,
    runs,
    settled,
    shifts,
    summaries,
    tables,
)
from foreword_measure.quality.dialogue import measure as measure_dialogues
from foreword_measure.quality.documents import has_pages, list_own_sets, measure_documents
from foreword_measure.quality.gaps import measure_gaps
from foreword_measure.quality.lacks import measure_lacks
from foreword_measure.quality.precedents import measure_experiences
from foreword_measure.quality.runs import LANES, OURS, Plan
from foreword_measure.quality.scenarios import measure_scenarios
from foreword_measure.quality.silence import measure_silence
from foreword_measure.quality.tables import build_summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from foreword.engine.context_engine import ContextEngine
    from foreword.options import Lane
    from foreword.spaces.base import Reranker
    from foreword.spaces.providers import EmbeddingProvider
    from foreword_measure.quality.labelled import LabelledSet, Question
    from foreword_measure.quality.metrics import Place
    from foreword_measure.quality.runs import Answer, Progress, StoredScope
    from foreword_measure.report import Report

__all__ = ["build_summary", "evaluate", "measure_sets"]

_TOP = 10
"""How many results of a question are compared with the labels."""


def _no_progress(_label: str, _done: int, _total: int) -> None:
    """A progress function that does nothing."""


def evaluate(
    folder: Path,
    *,
    lanes: Sequence[Lane] = LANES,
    baselines: bool = True,
    without: Sequence[str] = (),
    silence: bool = False,
    others: Sequence[Path] = (),
    run_file: Path | None = None,
    limit: int | None = None,
    progress: Callable[[str, int, int], None] = _no_progress,
    home: Path | None = None,
    provider: EmbeddingProvider | None = None,
    reranker: Reranker | None = None,
) -> Report:
    """Measure the default engine on a labelled set, in each lane, and the baselines.

    `without` names spaces that the engine does not use. With `silence`, questions are also asked in
    workspaces that cannot answer them: in other scopes of the set, or, if it has only one, questions of the
    `others`. With `home` the stored set and its vectors stay there, in a folder for each set, for the next
    time. `run_file` receives the answers as `query-id Q0 doc-id rank score foreword`, those of the full lane
    if it was measured; `limit` is how many queries are asked.
    """
    plan = Plan(tuple(lanes), baselines, tuple(without))
    if run_file and (summaries.has_summaries(folder) or shifts.has_boundaries(folder)):
        raise ValidationError(f"{folder} holds dialogues, which give no ranking: leave out the run file")
    if has_pages(folder):
        return measure_documents(folder, limit, progress, provider)
    if settled.has_decisions(folder):
        return settled.measure_decisions(folder, limit)
    if settled.has_corrections(folder):
        return settled.measure_corrections(folder, limit)
    if repeats.has_pairs(folder):
        return repeats.measure_repeats(folder, limit)
    if summaries.has_summaries(folder):
        return summaries.measure_summaries(folder, limit, progress)
    if shifts.has_boundaries(folder):
        return shifts.measure(folder, limit=limit, progress=progress, provider=provider, without=plan.without)
    given = labelled.read_set(folder, limit)
    foreign = [text for other in others for text in labelled.read_questions(other, limit)] if silence else []
    with nullcontext(home) if home else tempfile.TemporaryDirectory(prefix="foreword-eval-") as place:
        inside = Path(place) / given.name
        stored_scopes = runs.store_set(given, inside, progress)
        with runs.open_engine_in(inside, provider, reranker, without=plan.without) as engine:
            runs.make_vectors(engine, stored_scopes, progress)
            # Not the engine's own reranker: it caches what it read, so the engine's times would be too good.
            judge = reranker or BundledReranker(engine.settings.threads or None)
            answers = _ask_all(engine, given.questions, stored_scopes, plan, judge, progress)
            silence_counts = (
                measure_silence(engine, given, stored_scopes, plan.lanes, foreign, progress)
                if silence
                else None
            )
            about = _set_facts(given, _encoder_name(engine), plan)
    if run_file:
        _write_run_file(run_file, given.questions, answers, stored_scopes, plan)
    rows = [
        _score_question(question, answer, stored_scopes)
        for question, answer in zip(given.questions, answers, strict=True)
    ]
    return tables.build_report(about, rows, silence_counts)


def measure_sets(
    folders: Sequence[Path],
    *,
    lane: Literal["fast", "full", "both"],
    dialogue: bool,
    documents: bool = False,
    entities: bool,
    gaps: bool,
    secrets: bool,
    summarize: bool,
    experiences: bool = False,
    scenarios: Path | None = None,
    outputs: Path | None = None,
    open_progress: Callable[[], AbstractContextManager[Progress]],
    **options: Any,  # noqa: ANN401  (those of `evaluate`)
) -> Iterator[Report]:
    """One report for each thing that `foreword eval` is asked to measure; at the end a summary, if wanted."""
    folders = [*folders, *list_own_sets()] if documents else folders
    if entities:
        yield naming.measure_naming()
    if gaps:
        yield measure_gaps()
        yield measure_lacks(folders)
        folders = ()
    if experiences:
        yield measure_experiences()
    if secrets:
        from foreword_measure.quality.secrets import measure_secrets  # imports every edge and its packages

        with open_progress() as progress:
            yield measure_secrets(folders, progress)
        return
    if scenarios is not None:
        chosen = {name: options[name] for name in ("limit", "baselines", "without")}
        with open_progress() as progress:
            yield measure_scenarios(scenarios, outputs=outputs, progress=progress, **chosen)
    reports = []
    for folder in folders:
        with open_progress() as progress:
            if dialogue:
                shared = {name: options[name] for name in ("limit", "home")}
                one_lane: Lane = "full" if lane == "full" else "fast"
                report = measure_dialogues(folder, progress=progress, lane=one_lane, **shared)
            else:
                lanes: Sequence[Lane] = LANES if lane == "both" else (lane,)
                others = [other for other in folders if other != folder]
                report = evaluate(folder, lanes=lanes, others=others, progress=progress, **options)
        reports.append(report)
        yield report
    if summarize and not dialogue:
        yield build_summary(reports)


def _ask_all(
    engine: ContextEngine,
    questions: tuple[Question, ...],
    stored_scopes: dict[str, StoredScope],
    plan: Plan,
    judge: Reranker,
    progress: Callable[[str, int, int], None],
) -> list[Answer]:
    runs.load_models(engine, questions[0].scope, plan)
    answers = []
    for done, question in enumerate(questions):
        progress("asking", done, len(questions))
        answers.append(runs.ask(engine, question, stored_scopes[question.scope], plan, judge))
    progress("asking", len(questions), len(questions))
    return answers


def _score_question(
    question: Question, answer: Answer, stored_scopes: dict[str, StoredScope]
) -> tables.QuestionScores:
    gains = stored_scopes[question.scope].gains(question)
    return tables.QuestionScores(
        question=question.id,
        scope=question.scope,
        category=question.category,
        runs={run: metrics.score_ranking(places, gains) for run, places in answer.runs.items()}
        if gains
        else {},
        embedding_ms=answer.embedding_ms,
        search_ms=answer.search_ms,
        scored_results={run: _scored_results(answer.runs[run], gains) for run in answer.search_ms},
    )


def _scored_results(places: Sequence[Place], gains: Mapping[str, float]) -> list[tuple[float, bool]]:
    """The scores of the first results, and whether each result is relevant."""
    return [(place.score, not gains.keys().isdisjoint(place.documents)) for place in places[:_TOP]]


def _set_facts(given: LabelledSet, encoder: str, plan: Plan) -> tables.SetFacts:
    every = [document for inside in given.documents.values() for document in inside]
    empty = sum(not document.parts for document in every)
    return tables.SetFacts(given.name, len(every), empty, encoder, plan.without)


def _encoder_name(engine: ContextEngine) -> str:
    provider = next((space.provider for space in engine.kit.spaces if hasattr(space, "provider")), None)
    return "" if provider is None else str(provider.model)


def _write_run_file(
    path: Path,
    questions: Iterable[Question],
    answers: Iterable[Answer],
    stored_scopes: dict[str, StoredScope],
    plan: Plan,
) -> None:
    run = OURS["full" if "full" in plan.lanes else "fast"]
    try:
        with path.open("w", encoding="utf-8") as file:
            for question, answer in zip(questions, answers, strict=True):
                stored_scope = stored_scopes[question.scope]
                file.writelines(_format_run_lines(question.id, answer.runs[run], stored_scope))
    except OSError as error:
        raise ValidationError(
            f"cannot write the run to {path}: {error.strerror}; give another file"
        ) from error


def _format_run_lines(query: str, places: Iterable[Place], stored_scope: StoredScope) -> Iterable[str]:
    """One line for each document, at its first place; documents stored as the same items each get a line."""
    seen: set[str] = set()
    score = float("inf")
    for place in places:
        # Readers of run files sort by score, so it must fall with the rank, whatever the engine's scores are.
        score = min(place.score, score - 1e-6)
        for document in (copy for one in place.documents for copy in stored_scope.copies[one]):
            if document not in seen:
                seen.add(document)
                yield f"{query} Q0 {document} {len(seen)} {score:.6f} foreword\n"
