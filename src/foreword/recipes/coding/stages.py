"""The stages of a coding agent's recipes: from the results of a search to the text that the agent reads.

What a session was shown is not repeated; the rest is ordered, made diverse and divided among its sources,
then worded within the budget. Whatever a stage drops is recorded with a reason.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from foreword.compose.budget import InjectionCandidate, InjectionCategory
from foreword.compose.fit import FittedText
from foreword.compose.injection import BRIEF_MEMORIES, ContextFormatter, TemporalEnrichmentProvider
from foreword.compose.share import OVER_SHARE, find_ids_exempt_from_share
from foreword.knowledge.progress_questions import read_progress_question
from foreword.pipeline import SearchDraft
from foreword.recall.priority import PriorityRanker
from foreword.recipes.coding.told_parts import tells_whole_text, was_told_before
from foreword.text.provenance import attribution, is_from_third_party
from foreword.text.statements import describe_replaced_and_contradicting_statements
from foreword.text.words import content_words, fold_case
from foreword.types import ContextLine, DroppedResult, Note, SearchResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from foreword.compose.budget import TokenBudget
    from foreword.compose.injection import Alert, FittedSections
    from foreword.pipeline import Stage
    from foreword.recipes.coding.told_parts import ToldPart
    from foreword.types import Item, Query, Reason, Source

    Diverges = Callable[[Query, str], Alert | None]
    """From a question and its session to an alert, if the question is far from the session's subject."""

    LastSession = Callable[[str, str], Item | None]
    """From a workspace and a session to the summary of the last other session."""

    SessionLines = Callable[[str, str], Sequence[SearchResult]]
    """From a workspace and a session that begins to items to show, in order, each by its excerpt."""

    Topics = Callable[[str, str], Sequence[str]]
    """From a workspace and a session to the topics of the workspace, a line each."""

USUAL_SLOTS = 10
"""How many memories the default budget holds, about."""

SAME_QUESTION_SHARE = 0.6
"""A prompt asks the same as another if at least this share of its content words is in the other."""

_ROLES = ("user", "assistant")
"""Values of `about` that a line's attribution already shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodingDraft(SearchDraft):
    """A draft for a coding agent: its results as candidates, and what is injected besides them.

    `context` names the context that it goes into: the session's, or that of one of its subagents. `told` has
    what that context was told of items it does not hold whole, `new_parts` what this draft tells of such.
    `overview_ids` are the items that were listed when the session began: a prompt that one of them answers is
    told it once more, because the overview was told before anybody asked.
    """

    context: str | None = None
    overview_ids: frozenset[str] = frozenset()
    told: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    new_parts: tuple[ToldPart, ...] = ()
    candidates: Mapping[str, InjectionCandidate] = field(default_factory=dict)
    last_session: Item | None = None
    alert: Alert | None = None
    alert_item: Item | None = None
    topics: tuple[str, ...] = ()
    fitted: FittedSections | None = None


def load_shown(draft: CodingDraft) -> CodingDraft:
    """Look up what the agent's context already holds.

    What the overview at its start listed counts as held, but not for a prompt.
    """
    context = draft.context or draft.session
    if not context:
        return draft
    store, workspace = draft.kit.store, draft.query.workspace
    shown, listed = (store.shown_ids(workspace, name) for name in (context, overview_name(context)))
    held = shown if draft.recipe == "coding" else shown | listed
    return replace(draft, shown_ids=held, overview_ids=listed)


def overview_name(context: str) -> str:
    """The name under which the store keeps what the overview at a context's start listed."""
    return f"{context}, overview"


def drop_echoes(draft: CodingDraft) -> CodingDraft:
    """Drop earlier prompts that only asked the same question."""
    question_words = set(content_words(draft.query.text))
    echoes = {
        result.memory.id
        for result in draft.results
        if result.memory.kind == "turn" and result.memory.source.trust == "user"
        if _asks_same_question(result.memory.text, question_words)
    }
    dropped = [
        DroppedResult(r, "duplicate", "of the question") for r in draft.results if r.memory.id in echoes
    ]
    return draft.keep([result for result in draft.results if result.memory.id not in echoes], dropped)


def _asks_same_question(text: str, question_words: set[str]) -> bool:
    """Whether a text has just the content words asked, or is a question that shares most of its own."""
    is_question = text.rstrip().endswith("?")
    if not is_question and not _may_have_words(text, question_words):
        return False  # a quick answer for most texts, as splitting them into words takes time
    words = set(content_words(text))
    shared = len(words & question_words) / max(1, len(words))
    return words == question_words or (is_question and shared >= SAME_QUESTION_SHARE)


def _may_have_words(text: str, words: set[str]) -> bool:
    """Whether all of these words are somewhere in a text, be it inside others."""
    folded = fold_case(text)
    return all(word in folded for word in words)


def weigh(draft: CodingDraft) -> CodingDraft:
    """Order the results by category and priority; from here on a result's rank is its priority."""
    exempt = find_ids_exempt_from_share(draft.results)
    candidates = [
        replace(_make_candidate(result, draft.query.now), is_exempt=result.memory.id in exempt)
        for result in draft.results
    ]
    draft = replace(draft, candidates={candidate.memory_id: candidate for candidate in candidates})
    return _reorder_results(draft, PriorityRanker.rank_candidates(candidates))


def drop_results_already_shown(*, brief: bool = False) -> Stage[CodingDraft]:
    """A stage that drops results of which nothing would be told that the context was not told before.

    Answers about the course of the work stay, because a list of what is open has to be complete.
    """

    def drop_told(draft: CodingDraft) -> CodingDraft:
        listed = {result.memory.id for result in draft.results if "progress" in result.scores}
        known = {
            one.memory_id
            for one in _list_candidates(draft)
            if one.memory_id not in listed
            and was_told_before(
                draft.told, one.memory_id, ContextFormatter.words_shown_in_line(one, brief=brief)
            )
        }
        dropped = [DroppedResult(r, "already in context") for r in draft.results if r.memory.id in known]
        return draft.keep([result for result in draft.results if result.memory.id not in known], dropped)

    return drop_told


def diversify(draft: CodingDraft) -> CodingDraft:
    """Reorder the results within each category, so that each is relevant and unlike those before it."""
    return _reorder_results(draft, PriorityRanker.diversify(_list_candidates(draft)))


def limit_each_source(slots: int, source_share: float) -> Stage[CodingDraft]:
    """A stage that gives each agent, tool and page at most its share of the slots.

    A large budget has more slots than there are results; then the share is of the results.
    """

    def limit_sources(draft: CodingDraft) -> CodingDraft:
        most = max(1, int(min(slots, max(USUAL_SLOTS, len(draft.results))) * source_share))
        seen: Counter[Source] = Counter()
        kept, over = [], []
        for result in draft.results:
            source = result.memory.source
            seen[source] += source.trust not in ("user", "repository")
            if seen[source] <= most:
                kept.append(result)
            else:
                over.append(DroppedResult(result, "over limit", f"source {source.name} has its share"))
        return draft.keep(kept, over)

    return limit_sources


def add_divergence_alert(diverges: Diverges) -> Stage[CodingDraft]:
    """A stage that adds an alert if the question is far from what the session was about."""

    def divergence(draft: CodingDraft) -> CodingDraft:
        alert = diverges(draft.query, draft.session or "")
        if alert is None:
            return draft
        item = draft.kit.store.get(draft.query.workspace, alert.memory_id)[0]
        if item is None:
            return draft.with_notes(Note("divergence", "the memory it speaks of is not there"))
        if is_from_third_party(item.source):
            return draft.with_notes(Note("divergence", "it would quote what nobody asked for"))
        return replace(draft, alert=alert, alert_item=item)

    return divergence


def add_last_session(find: LastSession) -> Stage[CodingDraft]:
    """A stage that adds the last session's summary, unless it was shown or is not this workspace's.

    A prompt that asks what is left does not get it: it tells of what was done.
    """

    def last_session(draft: CodingDraft) -> CodingDraft:
        question = read_progress_question(draft.query.text, draft.query.now)
        if question is not None and question.asked == "left":
            return draft
        last = find(draft.query.workspace, draft.session or "")
        if last is None or last.id in {result.memory.id for result in draft.results}:
            return draft
        if last.workspace != draft.query.workspace:
            return draft.keep(draft.results, [DroppedResult(SearchResult(last, 0.0), "foreign workspace")])
        if last.id in draft.shown_ids | draft.overview_ids:
            return draft.keep(draft.results, [DroppedResult(SearchResult(last, 0.0), "already in context")])
        return replace(draft, last_session=last)

    return last_session


def add_session_lines(find: SessionLines, name: str) -> Stage[CodingDraft]:
    """A stage, named `name`, that appends lines for a new session, except those that it was shown before."""

    def add_session_results(draft: CodingDraft) -> CodingDraft:
        known_ids = {result.memory.id for result in draft.results}
        found = find(draft.query.workspace, draft.session or "")
        results = [result for result in found if result.memory.id not in known_ids]
        lines = [_make_session_line(result, draft.query.now) for result in results]
        shown = {
            line.memory_id
            for line in lines
            if line.memory_id in draft.shown_ids
            or was_told_before(draft.told, line.memory_id, ContextFormatter.words_shown_in_line(line))
        }
        fresh = [result for result in results if result.memory.id not in shown]
        known = [DroppedResult(r, "already in context") for r in results if r.memory.id in shown]
        candidates = {line.memory_id: line for line in lines if line.memory_id not in shown}
        draft = replace(draft, candidates={**draft.candidates, **candidates})
        return draft.keep([*draft.results, *fresh], known)

    add_session_results.__name__ = name
    return add_session_results


def _make_session_line(result: SearchResult, now: datetime) -> InjectionCandidate:
    """A line for a new session; of a tool's output it has only numbers, which are exempt from its share."""
    line = _make_candidate(result, now, InjectionCategory.RECENT_SESSION)
    return replace(line, is_exempt=line.source.trust == "tool")


def add_topics(find: Topics) -> Stage[CodingDraft]:
    """A stage that adds the topics of the workspace, unless the session was shown something before."""

    def topics(draft: CodingDraft) -> CodingDraft:
        if draft.shown_ids or draft.told:
            return draft
        return replace(draft, topics=tuple(find(draft.query.workspace, draft.session or "")))

    return topics


def skip_if_no_results(stage: Stage[CodingDraft]) -> Stage[CodingDraft]:
    """The stage, run only if the draft has results: what it adds is not worth a context of its own."""

    def run_stage_if_results(draft: CodingDraft) -> CodingDraft:
        return stage(draft) if draft.results else draft

    run_stage_if_results.__name__ = getattr(stage, "__name__", "stage")
    return run_stage_if_results


def fit_sections(formatter: ContextFormatter, budget: TokenBudget) -> Stage[CodingDraft]:
    """A stage that words the results in sections, and keeps those that fit the budget."""

    def fit_budget(draft: CodingDraft) -> CodingDraft:
        draft = _append_last_session(draft)
        fitted = formatter.fit_budget(
            _add_badges(_list_candidates(draft), formatter, budget.temporal_budget),
            [draft.alert] if draft.alert is not None else [],
            budget,
            sources={item.id: item.source for item in [draft.alert_item] if item is not None},
            topics=draft.topics,
        )
        draft = _record_fitted_text(draft, fitted, formatter.line, "over budget")
        draft = replace(draft, new_parts=_list_partly_told_items(draft, fitted))
        if not fitted.alerts or draft.alert_item is None:
            return draft
        alert, result = fitted.alerts[0], SearchResult(draft.alert_item, fitted.alerts[0].similarity)
        line = ContextLine(result, InjectionCategory.DIVERGENCE_ALERT.value, alert.summary, 0)
        return replace(draft, lines=(*draft.lines, line))

    return fit_budget


def fit_brief(formatter: ContextFormatter, budget: int) -> Stage[CodingDraft]:
    """A stage that words the best few results on one line."""

    def fit_budget(draft: CodingDraft) -> CodingDraft:
        fitted = formatter.fit_brief(_list_candidates(draft), budget)
        full = len(fitted.candidates) == BRIEF_MEMORIES
        draft = _record_fitted_text(draft, fitted, formatter.brief, "over limit" if full else "over budget")
        return replace(draft, new_parts=_list_partly_told_items(draft, fitted, brief=True))

    return fit_budget


def list_categories(fitted: FittedSections) -> tuple[InjectionCategory, ...]:
    """The categories that a context has entries of, most urgent first."""
    categories = {candidate.category for candidate in fitted.candidates}
    if fitted.alerts:
        categories.add(InjectionCategory.DIVERGENCE_ALERT)
    if any(candidate.temporal_badges for candidate in fitted.candidates):
        categories.add(InjectionCategory.TEMPORAL_ENRICHMENT)
    return tuple(category for category in InjectionCategory if category in categories)


def _list_candidates(draft: CodingDraft) -> list[InjectionCandidate]:
    """The candidates of the draft's results, in the order of the results."""
    return [draft.candidates[result.memory.id] for result in draft.results]


def _make_candidate(
    result: SearchResult, now: datetime, category: InjectionCategory | None = None
) -> InjectionCandidate:
    """A result as a candidate; unless given, its category follows from how far the spaces agree."""
    agreement = PriorityRanker.compute_weighted_agreement(result.matching_ranks.items())
    candidate = InjectionCandidate(
        memory_id=result.memory.id,
        content=_candidate_text(result, category),
        created_at=result.memory.created_at,
        relevance_score=result.score,
        weighted_agreement=agreement,
        category=category if category is not None else InjectionCategory.from_agreement(agreement),
        source=result.memory.source,
        in_lines=result.memory.kind == "code" and bool(result.excerpt),
        author=attribution(result.memory),
        history=describe_replaced_and_contradicting_statements(result.history, result.later),
    )
    return PriorityRanker.compute_priority(candidate, now)


def _candidate_text(result: SearchResult, category: InjectionCategory | None) -> str:
    """The text of a result's line: its excerpt or text, after its `about` unless the line shows that too."""
    if result.excerpt and result.memory.kind in ("code", "commit"):
        return result.excerpt
    item = result.memory if not result.excerpt else replace(result.memory, text=result.excerpt)
    if item.kind == "document":
        return replace(item, about=_headings_without_document_name(item)).searchable
    is_output = item.kind == "turn" and is_from_third_party(item.source)
    plain = item.about in _ROLES or is_output or category is InjectionCategory.RECENT_SESSION
    return item.text if plain else item.searchable


def _headings_without_document_name(item: Item) -> str:
    """The headings above a part of a document, without the document's name, which its attribution shows."""
    is_named = item.metadata.get("path") or item.metadata.get("title")
    return item.about.partition(" › ")[2] if is_named else item.about


def _reorder_results(draft: CodingDraft, candidates: Sequence[InjectionCandidate]) -> CodingDraft:
    """The draft's results in the order of these candidates, ranked by their priority."""
    results = {result.memory.id: result for result in draft.results}
    ordered = tuple(replace(results[c.memory_id], rank=c.priority) for c in candidates)
    return replace(draft, results=ordered)


def _append_last_session(draft: CodingDraft) -> CodingDraft:
    """The draft with the last session's summary as its last result."""
    if draft.last_session is None:
        return draft
    result = SearchResult(draft.last_session, 0.0)
    candidate = _make_candidate(result, draft.query.now, InjectionCategory.RECENT_SESSION)
    candidates = {**draft.candidates, candidate.memory_id: candidate}
    return replace(draft, results=(*draft.results, result), candidates=candidates)


def _add_badges(
    candidates: Sequence[InjectionCandidate], formatter: ContextFormatter, budget: int
) -> list[InjectionCandidate]:
    """The candidates with their temporal badges, while the tokens for badges last."""
    provider = TemporalEnrichmentProvider()
    badges = provider.badges_within(candidates, formatter.now, budget, formatter.tokenizer)
    return [replace(c, temporal_badges=earned) for c, earned in zip(candidates, badges, strict=True)]


def _record_fitted_text(
    draft: CodingDraft, fitted: FittedSections, word: Callable[[InjectionCandidate], str], over: Reason
) -> CodingDraft:
    """The draft with its text, a line for each entry in it, and a record of what did not fit."""
    fitted_by_id = {candidate.memory_id: candidate for candidate in fitted.candidates}
    costs = {candidate.memory_id: candidate.token_count for candidate in fitted.left_out}
    lines = tuple(
        ContextLine(result, candidate.category.value, word(candidate), candidate.token_count)
        for result in draft.results
        if (candidate := fitted_by_id.get(result.memory.id)) is not None
    )
    dropped = tuple(
        DroppedResult(
            r, over, f"needs {cost} tokens" if (cost := costs[r.memory.id]) else "left out for brevity"
        )
        for r in draft.results
        if r.memory.id in costs
    )
    beyond = {candidate.memory_id for candidate in fitted.over_share}
    dropped += tuple(
        DroppedResult(r, "over limit", OVER_SHARE) for r in draft.results if r.memory.id in beyond
    )
    return replace(draft.with_text(FittedText(fitted.text, fitted.tokens, lines, dropped)), fitted=fitted)


def _list_partly_told_items(
    draft: CodingDraft, fitted: FittedSections, *, brief: bool = False
) -> tuple[ToldPart, ...]:
    """What is told of the items whose words are not told whole. Of code and summaries, any part is enough."""
    items = {result.memory.id: result.memory for result in draft.results}
    told = [
        (items[one.memory_id], ContextFormatter.words_shown_in_line(one, brief=brief))
        for one in fitted.candidates
    ]
    return tuple(
        (item.id, words)
        for item, words in told
        if item.kind not in ("code", "summary") and not tells_whole_text(words, item.text)
    )
