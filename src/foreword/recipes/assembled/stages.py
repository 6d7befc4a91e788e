"""The stages of an assembled context: from questions to several sources to one document.

    gather → arrange → drop below the floors → drop shown → drop twins → fit

All sources are asked at once; one that fails or is late leaves a note, and the others speak. Results are
weighed by what their source knows of them; what several sources say is said once, by the most relevant; then
tokens are divided among the sources. Every stage drops by name and with a reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from foreword.compose.assembled import ContextItem, SourceItems
from foreword.compose.assembly import Piece, fit_document
from foreword.compose.fit import FittedText
from foreword.compose.share import OVER_SHARE, Portion, find_exempt, within_share
from foreword.knowledge.experience import OPEN_WEIGHT, TIER_WEIGHTS
from foreword.log import get_logger
from foreword.pipeline import Draft, drop_shown
from foreword.recall.dedupe import find_holders
from foreword.types import ContextLine, DroppedResult, Item, Note, SearchResult, text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from foreword.compose.assembly import FittedDocument, Layout
    from foreword.knowledge.axes import Axis
    from foreword.pipeline import AsyncStage, SearchDraft, Stage
    from foreword.text.tokens import Tokenizer
    from foreword.types import Kind, Receipt

Finding = Awaitable[Sequence[ContextItem]]
Questions = Mapping[str, Callable[[], Finding]]
"""What is asked, by the name of the source or section that the answers are for."""

Arrange = Callable[[Mapping[str, list[ContextItem]]], "Plan"]
"""Makes a plan of what was found, by name, each list ordered by how much its items matter."""

_log = get_logger("foreword.assembler")

IMPORTANCE = 0.2
"""How much more the most important memory counts than the least."""

RECENCY, RECENT_DAYS = 0.1, 30.0
"""How much more a commit or an experience counts that is new, and how soon that wears off."""

_STORIES = ("experience", "value")
_DATED = ("commit", "experience")


class Sources(Protocol):
    """What an assembler needs of a `foreword.recipes.assembled.searcher.Searcher`."""

    @property
    def workspace(self) -> str:
        """Where the searches look."""

    def search_memories(self, query: str, limit: int = ...) -> Finding:
        """Facts, preferences, decisions."""

    def search_code(self, query: str, limit: int = ...) -> Finding:
        """Functions, classes and methods."""

    def search_experiences(
        self,
        query: str,
        axis: Axis = ...,
        domain: str | None = None,
        strategy: str | None = None,
        outcome: str | None = None,
        limit: int = ...,
    ) -> Finding:
        """What was tried before and how it ended."""

    def search_values(self, query: str, limit: int = ...) -> Finding:
        """What experience has taught."""

    def search_commits(self, query: str, limit: int = ...) -> Finding:
        """What was changed, and why."""

    def draft(self, query: str, recipe: str, budget: int) -> SearchDraft:
        """A question ready for the stages of a recipe."""

    def shown(self, session: str) -> frozenset[str]:
        """The ids of what a session's context already holds."""

    def record(self, receipt: Receipt) -> None:
        """Keep a receipt."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What may be said: items by id, in the order in which they matter, and the section that tells each.

    A hard budget is never exceeded. What is less relevant than its source's floor is dropped.
    """

    items: Mapping[str, ContextItem]
    sections: Mapping[str, str]
    layout: Layout
    floors: Mapping[str, float] = field(default_factory=dict)
    hard: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledDraft(Draft):
    """A draft made of several sources: what they found, by name, and the plan of what may be said."""

    tokenizer: Tokenizer
    found: Mapping[str, Sequence[ContextItem]] = field(default_factory=dict)
    plan: Plan | None = None

    @property
    def planned(self) -> Plan:
        """The plan, once `arrange` has made it."""
        assert self.plan is not None, "arrange comes first"  # noqa: S101
        return self.plan


def assembled_stages(
    questions: Questions, timeout_seconds: float, plan: Arrange
) -> tuple[Stage[Any] | AsyncStage[Any], ...]:
    """What happens to the questions, in order."""
    return (
        gather_from(questions, timeout_seconds),
        arrange_by(plan),
        drop_below_floors,
        drop_shown,
        drop_twins,
        fit,
    )


# Stages --------------------------------------------------------------------------------------------------


def gather_from(questions: Questions, timeout_seconds: float) -> AsyncStage[AssembledDraft]:
    """A stage that asks all sources at once; one that fails or is late leaves a note."""

    async def gather(draft: AssembledDraft) -> AssembledDraft:
        outcomes = await asyncio.gather(
            *(_ask_source(question, timeout_seconds) for question in questions.values()),
            return_exceptions=True,
        )
        found: dict[str, Sequence[ContextItem]] = {}
        dropped: list[DroppedResult] = []
        notes: list[Note] = []
        for part, outcome in zip(questions, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                notes.append(_failure_note(part, outcome, timeout_seconds))
                continue
            found[part] = outcome
            if isinstance(outcome, SourceItems):
                dropped += outcome.dropped
                notes += [Note(part.lower(), f"{note.part}: {note.message}") for note in outcome.notes]
        return replace(draft.keep((), dropped).with_notes(*notes), found=found)

    return gather


async def _ask_source(question: Callable[[], Finding], timeout_seconds: float) -> Sequence[ContextItem]:
    found = await asyncio.wait_for(question(), timeout_seconds)
    if not isinstance(found, Sequence):
        raise TypeError(f"it gave {type(found).__name__} and no list")
    if strangers := {type(one).__name__ for one in found if not isinstance(one, ContextItem)}:
        raise TypeError(f"it gave {', '.join(sorted(strangers))} where a ContextItem belongs")
    return found


def _failure_note(part: str, failure: BaseException, timeout_seconds: float) -> Note:
    if not isinstance(failure, Exception):
        raise failure  # somebody wants this process, or this task, to end
    if isinstance(failure, TimeoutError):
        problem = f"late: no answer within {timeout_seconds:g} s"
    else:
        problem = f"failed: {str(failure) or type(failure).__name__}"
    _log.warning("a source did not answer", source=part.lower(), problem=problem)
    return Note(part.lower(), problem)


def arrange_by(plan: Arrange) -> Stage[AssembledDraft]:
    """A stage that weighs what was found, and plans what may be said where."""

    def arrange(draft: AssembledDraft) -> AssembledDraft:
        lists = {
            name: sort_by_weight(add_missing_results(found, draft.query.workspace), draft.query.now)
            for name, found in draft.found.items()
        }
        chosen = plan(lists)
        elsewhere = {one.result.memory.id: one for one in draft.dropped}
        dropped = tuple(one for name, one in elsewhere.items() if name not in chosen.items)
        results = tuple(result_of(item) for item in chosen.items.values())
        return replace(draft, plan=chosen, results=results, dropped=dropped)

    return arrange


def drop_below_floors(draft: AssembledDraft) -> AssembledDraft:
    """Drop what is probably beside the point; every source has its own floor."""
    kept, low = [], []
    for result in draft.results:
        floor = draft.planned.floors.get(draft.planned.items[result.memory.id].source, 0.0)
        if result.score >= floor:
            kept.append(result)
        else:
            low.append(DroppedResult(result, "below floor", f"{result.score:.2g} < {floor:g}"))
    return draft.keep(kept, low)


def drop_twins(draft: AssembledDraft) -> AssembledDraft:
    """Of those that say the same, keep the most relevant; drop what says less than a more relevant one."""
    results = draft.results
    holders = find_holders([result.memory.text for result in results])
    kept = _KeptItems([draft.planned.items[result.memory.id] for result in results], holders)
    best_first = sorted(range(len(results)), key=lambda at: (-results[at].score, at))
    repeats = {at: twin for at in best_first if (twin := kept.twin_or_keep(at)) is not None}
    dropped = [
        DroppedResult(results[at], "duplicate", results[repeats[at]].memory.id) for at in sorted(repeats)
    ]
    return draft.keep([result for at, result in enumerate(results) if at not in repeats], dropped)


def fit(draft: AssembledDraft) -> AssembledDraft:
    """Word what remains, in sections, within the budget."""
    plan = draft.planned
    results = {result.memory.id: result for result in draft.results}
    pieces = [
        Piece(name, plan.items[name], plan.sections[name], result.rank or 0.0)
        for name, result in results.items()
    ]
    fitted, over = _fit_within_share(draft, pieces, frozenset() if plan.hard else find_exempt(draft.results))
    lines = tuple(
        ContextLine(results[piece.id], piece.section, piece.item.content, piece.tokens)
        for piece in fitted.pieces
    )
    dropped = tuple(
        DroppedResult(results[piece.id], "over budget", f"needs about {piece.tokens} tokens")
        for piece in fitted.left_out
    )
    dropped += tuple(DroppedResult(results[name], "over limit", OVER_SHARE) for name in over)
    return draft.with_text(FittedText(fitted.text, fitted.tokens, lines, dropped))


def _fit_within_share(
    draft: AssembledDraft, pieces: Sequence[Piece], exempt: frozenset[str]
) -> tuple[FittedDocument, list[str]]:
    """The document in which what tools and pages say has its share, and the ids of what was over it.

    Code and commits are asked for by name, and have no share.
    """
    over: list[str] = []
    while True:
        allowed = [piece for piece in pieces if piece.id not in over]
        plan = draft.planned
        fitted = fit_document(allowed, plan.layout, draft.budget, draft.tokenizer, hard=plan.hard)
        by_relevance = sorted(fitted.pieces, key=lambda piece: -piece.rank)
        portions = [_portion(piece, exempt) for piece in by_relevance]
        beyond = [
            piece.id for piece, fits in zip(by_relevance, within_share(portions), strict=True) if not fits
        ]
        if not beyond:
            return fitted, over
        over += beyond


def _portion(piece: Piece, exempt: frozenset[str]) -> Portion:
    source = result_of(piece.item).memory.source
    return Portion(piece.tokens, source, source.trust == "repository" or piece.id in exempt)


# Items and what a search knew of them --------------------------------------------------------------------


def add_missing_results(items: Iterable[ContextItem], workspace: str) -> list[ContextItem]:
    """The items, each with a search result behind it; one made by hand gets one from what it says."""
    return [
        item if item.result is not None else replace(item, result=_result_for(item, workspace))
        for item in items
    ]


def _result_for(item: ContextItem, workspace: str) -> SearchResult:
    name = str(item.metadata.get("id") or text_hash(f"{item.source}: {item.content}"))
    kind = cast("Kind", item.source)
    return SearchResult(Item(item.content, workspace, kind=kind, id=name), item.relevance)


def result_of(item: ContextItem) -> SearchResult:
    """What a search knew of an item."""
    assert item.result is not None, "`with_results` comes first"  # noqa: S101
    return item.result


def items_by_id(items: Iterable[ContextItem]) -> dict[str, ContextItem]:
    """The items by their ids; of two with the same id, the first."""
    found: dict[str, ContextItem] = {}
    for item in items:
        found.setdefault(result_of(item).memory.id, item)
    return found


def sort_by_weight(items: Iterable[ContextItem], now: datetime) -> list[ContextItem]:
    """The items by how much they matter: their relevance, and what their source knows besides."""
    weighed = [replace(item, result=replace(result_of(item), rank=weight(item, now))) for item in items]
    return sorted(weighed, key=lambda item: -(result_of(item).rank or 0.0))


def weight(item: ContextItem, now: datetime) -> float:
    """Relevance, by how sure an outcome is, by importance, and a little by recency."""
    value, facts = item.relevance, item.metadata
    if item.source == "experience":
        value *= cast("Mapping[object, float]", TIER_WEIGHTS).get(facts.get("confidence_tier"), OPEN_WEIGHT)
    if item.source == "memory":
        importance = facts.get("importance")
        value *= 1 + IMPORTANCE * (float(importance) - 0.5) if isinstance(importance, int | float) else 1.0
    if item.source in _DATED:
        days = abs(now - result_of(item).memory.created_at).total_seconds() / 86_400
        value *= 1 + RECENCY / (1 + days / RECENT_DAYS)
    return value


class _KeptItems:
    """What has been kept so far, looked up by everything that makes two items say the same."""

    def __init__(self, items: Sequence[ContextItem], holders: Mapping[int, set[int]]) -> None:
        self._items = items
        self._holders = holders
        self._places: set[int] = set()
        self._stories: dict[tuple[str, object], int] = {}
        self._code: dict[str, int] = {}
        self._changes: dict[str, int] = {}

    def twin_or_keep(self, at: int) -> int | None:
        """The place of a kept item that says the same; None when there was none, and this one is kept."""
        item = self._items[at]
        twin = self._find_alike(at)
        twin = self._find_same_experience(item) if twin is None else twin
        twin = self._find_same_file(item) if twin is None else twin
        if twin is None:
            self._add(at, item)
        return twin

    def _add(self, at: int, item: ContextItem) -> None:
        self._places.add(at)
        if item.source in _STORIES and item.metadata.get("id"):
            self._stories.setdefault((item.source, item.metadata["id"]), at)
        files = _file_paths(item)
        if item.source == "code":
            self._code.update({name: self._code.get(name, at) for name in files})
        if item.source == "commit" and len(files) == 1:
            self._changes.setdefault(files[0], at)

    def _find_alike(self, at: int) -> int | None:
        """A kept item whose text says all of it. Two units of one file are two, however alike they look."""
        candidates = sorted(self._holders.get(at, set()) & self._places)
        return next(
            (
                other
                for other in candidates
                if not _are_two_units_of_one_file(self._items[at], self._items[other])
            ),
            None,
        )

    def _find_same_experience(self, item: ContextItem) -> int | None:
        """An experience that is there as a value, or the other way round."""
        if item.source not in _STORIES or not item.metadata.get("id"):
            return None
        other = "value" if item.source == "experience" else "experience"
        return self._stories.get((other, item.metadata["id"]))

    def _find_same_file(self, item: ContextItem) -> int | None:
        """Code whose file alone a commit changed; a commit all of whose files are there as code."""
        files = _file_paths(item)
        if item.source == "code":
            return next((self._changes[name] for name in files if name in self._changes), None)
        if item.source == "commit" and files and all(name in self._code for name in files):
            return self._code[files[0]]
        return None


def _are_two_units_of_one_file(one: ContextItem, other: ContextItem) -> bool:
    if not one.source == other.source == "code":
        return False
    names = [item.metadata.get("qualified_name") for item in (one, other)]
    return bool(_file_paths(one)) and _file_paths(one) == _file_paths(other) and names[0] != names[1]


def _file_paths(item: ContextItem) -> list[str]:
    """The files that a commit changed; the file that code is in, also without the name of its root folder."""
    if item.source == "commit":
        return [_normalise_path(name) for name in item.metadata.get("files_changed") or ()]
    path = _normalise_path(item.metadata.get("file_path") or "")
    return list(filter(None, (path, path.partition("/")[2])))


def _normalise_path(name: object) -> str:
    return str(name).replace("\\", "/").removeprefix("./")
