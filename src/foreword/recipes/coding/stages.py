"""The stages of a coding agent's recipes: from what was found to what the agent reads.

What a session's context holds is not said again; what remains is weighed, made diverse and shared out among
its sources; then it is worded within the budget. What a stage leaves out, it leaves out by name and with a
reason.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.compose.badges import TemporalEnrichmentProvider
from foreword.compose.candidate import InjectionCandidate, InjectionCategory
from foreword.compose.injection import BRIEF_MEMORIES
from foreword.recall.dedupe import without_repeats
from foreword.recall.priority import PriorityRanker
from foreword.text.words import telling
from foreword.types import Candidate, Dropped, SearchResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from foreword.compose.budget import TokenBudget
    from foreword.compose.injection import Alert, ContextFormatter, Fitted
    from foreword.pipeline import Draft, Stage
    from foreword.types import Item, Reason, Source


USUAL_SLOTS = 10
"""How many memories the default budget holds, about."""

_ROLES = ("user", "assistant")
"""Surroundings that the attribution of a line makes plain already."""


_SAME_QUESTION = 0.6
"""A question is the same when it shares so many of its telling words."""


@dataclass(frozen=True, slots=True)
class Besides:
    """What is said besides the memories that a question found."""

    last: Item | None = None
    alert: Alert | None = None
    alerted_by: Item | None = None
    topics: tuple[str, ...] = ()


def drop_told(told: frozenset[str]) -> Stage:
    """A stage that leaves out what the session's context holds, and what says the same under another id."""

    def drop_already_told(draft: Draft) -> Draft:
        known = [result for result in draft.results if result.memory.id in told]
        if not known:
            return draft
        fresh = [result for result in draft.results if result.memory.id not in told]
        _, repeats = without_repeats([*known, *fresh])
        twins = {repeat.result.memory.id: repeat.detail for repeat in repeats if repeat.detail in told}
        gone = [Dropped(result, "already in context") for result in known]
        gone += [
            Dropped(r, "already in context", f"as {twins[r.memory.id]}")
            for r in fresh
            if r.memory.id in twins
        ]
        return draft.without(gone, [result for result in fresh if result.memory.id not in twins])

    return drop_already_told


def drop_echoes(draft: Draft) -> Draft:
    """Leave out prompts that only asked what is being asked: whoever asks knows the question."""
    asked = set(telling(draft.query.text))
    echoes = [
        Dropped(result, "duplicate", "of the question")
        for result in draft.results
        if result.memory.kind == "turn" and result.memory.source.trust == "user"
        if _echoes(result.memory.text, asked)
    ]
    gone = {echo.result.memory.id for echo in echoes}
    return draft.without(echoes, [result for result in draft.results if result.memory.id not in gone])


def _echoes(text: str, asked: set[str]) -> bool:
    said = set(telling(text))
    shared = len(said & asked) / max(1, len(said))
    return said == asked or (text.rstrip().endswith("?") and shared >= _SAME_QUESTION)


def weigh(draft: Draft) -> Draft:
    """Order the results by category and priority; from here on a result's rank is its priority."""
    return _in_order(draft, PriorityRanker.rank_candidates(_candidates(draft)))


def diversify(draft: Draft) -> Draft:
    """Let the next be relevant and unlike those before it, within each category."""
    return _in_order(draft, PriorityRanker.diversify(_candidates(draft)))


def share_out(slots: int, source_share: float) -> Stage:
    """A stage that lets one source have its share of the slots and no more, unless it is the user.

    A large budget has more slots than there is to say; then the share is of what there is.
    """

    def limit_sources(draft: Draft) -> Draft:
        most = max(1, int(min(slots, max(USUAL_SLOTS, len(draft.results))) * source_share))
        seen: Counter[Source] = Counter()
        kept, over = [], []
        for result in draft.results:
            source = result.memory.source
            seen[source] += source.trust != "user"
            if seen[source] <= most:
                kept.append(result)
            else:
                over.append(Dropped(result, "over limit", f"source {source.name} has its share"))
        return draft.without(over, kept)

    return limit_sources


def fit_full(
    draft: Draft, formatter: ContextFormatter, budget: TokenBudget, besides: Besides
) -> tuple[Draft, Fitted]:
    """Word what may be said, in sections, and keep what the budget holds."""
    candidates = _candidates(draft)
    if besides.last is not None:
        draft = replace(draft, results=(*draft.results, SearchResult(besides.last, 0.0)))
        candidates.append(_candidate(draft.results[-1], draft.query.now, InjectionCategory.RECENT_SESSION))
    fitted = formatter.fit(
        _badged(candidates, formatter, budget.temporal_budget),
        [besides.alert] if besides.alert is not None else [],
        budget,
        sources={item.id: item.source for item in [besides.alerted_by] if item is not None},
        topics=besides.topics,
    )
    needed = {c.memory_id: f"needs {c.token_count} tokens" for c in fitted.left_out}
    over = [Dropped(r, "over budget", needed[r.memory.id]) for r in draft.results if r.memory.id in needed]
    draft = _settled(draft, fitted, over, formatter.line)
    if fitted.alerts and besides.alerted_by is not None:
        draft = _alerted(draft, fitted.alerts[0], besides.alerted_by)
    return draft, fitted


def fit_brief(draft: Draft, formatter: ContextFormatter, budget: int) -> tuple[Draft, Fitted]:
    """Put the best few on one line."""
    fitted = formatter.fit_brief(_candidates(draft), budget)
    reason: Reason = "over limit" if len(fitted.candidates) == BRIEF_MEMORIES else "over budget"
    without = {candidate.memory_id for candidate in fitted.left_out}
    over = [Dropped(r, reason, "left out for brevity") for r in draft.results if r.memory.id in without]
    return _settled(draft, fitted, over, formatter.brief), fitted


def categories(fitted: Fitted) -> tuple[InjectionCategory, ...]:
    """What kinds of things a context holds, most urgent first."""
    there = {candidate.category for candidate in fitted.candidates}
    if fitted.alerts:
        there.add(InjectionCategory.DIVERGENCE_ALERT)
    if any(candidate.temporal_badges for candidate in fitted.candidates):
        there.add(InjectionCategory.TEMPORAL_ENRICHMENT)
    return tuple(category for category in InjectionCategory if category in there)


def _candidates(draft: Draft) -> list[InjectionCandidate]:
    return [_candidate(result, draft.query.now) for result in draft.results]


def _candidate(
    result: SearchResult, now: datetime, category: InjectionCategory | None = None
) -> InjectionCandidate:
    """A result as a candidate, weighed; unless given, its category follows from how far the spaces agree."""
    agreement = PriorityRanker.compute_weighted_agreement(result.ranks.items())
    candidate = InjectionCandidate(
        memory_id=result.memory.id,
        content=_content(result.memory, category),
        created_at=result.memory.created_at,
        relevance_score=result.score,
        weighted_agreement=agreement,
        category=category if category is not None else InjectionCategory.of(agreement),
        source=result.memory.source,
    )
    return PriorityRanker.compute_priority(candidate, now)


def _content(item: Item, category: InjectionCategory | None) -> str:
    """What is shown of an item: its text, after its surroundings unless they are plain from the rest."""
    plain = item.about in _ROLES or category is InjectionCategory.RECENT_SESSION
    return item.text if plain else item.searchable


def _in_order(draft: Draft, candidates: Sequence[InjectionCandidate]) -> Draft:
    """The draft's results in the order of these candidates, ranked by their priority."""
    results = {result.memory.id: result for result in draft.results}
    ordered = tuple(replace(results[c.memory_id], rank=c.priority) for c in candidates)
    return replace(draft, results=ordered)


def _badged(
    candidates: Sequence[InjectionCandidate], formatter: ContextFormatter, budget: int
) -> list[InjectionCandidate]:
    """The candidates with their badges, as far as the tokens for badges reach."""
    provider = TemporalEnrichmentProvider()
    badges = provider.badges_within(candidates, formatter.now, budget, formatter.tokenizer)
    return [replace(c, temporal_badges=earned) for c, earned in zip(candidates, badges, strict=True)]


def _settled(
    draft: Draft, fitted: Fitted, over: Sequence[Dropped], word: Callable[[InjectionCandidate], str]
) -> Draft:
    """The draft with its text, what is in it, and what is not."""
    there = {candidate.memory_id: candidate for candidate in fitted.candidates}
    draft = draft.without(over, [result for result in draft.results if result.memory.id in there])
    injected = []
    for result in draft.results:
        candidate = there[result.memory.id]
        injected.append(Candidate(result, candidate.category.value, word(candidate), candidate.token_count))
    return replace(draft, candidates=tuple(injected), text=fitted.text, tokens=fitted.tokens)


def _alerted(draft: Draft, alert: Alert, item: Item) -> Draft:
    """The draft with a line in its receipt for the memory that an alert is about."""
    result = SearchResult(item, alert.similarity)
    line = Candidate(result, InjectionCategory.DIVERGENCE_ALERT.value, alert.summary, 0)
    return replace(draft, candidates=(*draft.candidates, line))
