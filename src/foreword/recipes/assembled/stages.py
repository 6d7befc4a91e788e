"""The stages of an assembled context: from what the sources found to one document.

Results are weighed by what their source knows of them; what several sources say is said once, by the most
relevant; then tokens are shared out. What a stage leaves out, it leaves out by name and with a reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from foreword.compose.assembly import Piece, fit
from foreword.knowledge.experience import UNWEIGHED, WEIGHTS
from foreword.recall.alike import twins
from foreword.recipes.coding.stages import drop_told
from foreword.types import Candidate, Dropped, Item, SearchResult, StageTime, text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from foreword.compose.assembly import Layout
    from foreword.compose.context_item import ContextItem
    from foreword.pipeline import Draft, Stage
    from foreword.recipes.assembled.gathering import Gathered
    from foreword.types import Kind

IMPORTANCE = 0.2
"""How much more the most important memory counts than the least."""

RECENCY, RECENT_DAYS = 0.1, 30.0
"""How much more a commit or an experience counts that is new, and how soon that wears off."""

_STORIES = ("experience", "value")
_DATED = ("commit", "experience")


@dataclass(frozen=True, slots=True)
class Plan:
    """What may be said: items by id, in the order in which they matter, and the section that tells each.

    A hard budget is never exceeded. What is less relevant than its source's floor is not said.
    """

    items: Mapping[str, ContextItem]
    sections: Mapping[str, str]
    layout: Layout
    floors: Mapping[str, float] = field(default_factory=dict)
    hard: bool = False


def known(items: Iterable[ContextItem], workspace: str) -> list[ContextItem]:
    """The items, each with a result behind it; one that was made by hand gets one made of what it says."""
    return [
        item if item.result is not None else replace(item, result=_made_up(item, workspace)) for item in items
    ]


def result_of(item: ContextItem) -> SearchResult:
    """What a search knew of an item."""
    assert item.result is not None, "items are made `known` first"  # noqa: S101
    return item.result


def by_id(items: Iterable[ContextItem]) -> dict[str, ContextItem]:
    """The items by their ids; of two with the same id, the first."""
    found: dict[str, ContextItem] = {}
    for item in items:
        found.setdefault(result_of(item).memory.id, item)
    return found


def ranked(items: Iterable[ContextItem], now: datetime) -> list[ContextItem]:
    """The items by how much they matter: their relevance, and what their source knows besides."""
    weighed = [replace(item, result=replace(result_of(item), rank=weight(item, now))) for item in items]
    return sorted(weighed, key=lambda item: -_rank(item))


def weight(item: ContextItem, now: datetime) -> float:
    """Relevance, by how sure an outcome is, by importance, and a little by recency."""
    value, facts = item.relevance, item.metadata
    if item.source == "experience":
        value *= cast("Mapping[object, float]", WEIGHTS).get(facts.get("confidence_tier"), UNWEIGHED)
    if item.source == "memory":
        importance = facts.get("importance")
        value *= 1 + IMPORTANCE * (float(importance) - 0.5) if isinstance(importance, int | float) else 1.0
    if item.source in _DATED:
        days = abs(now - result_of(item).memory.created_at).total_seconds() / 86_400
        value *= 1 + RECENCY / (1 + days / RECENT_DAYS)
    return value


# Stages --------------------------------------------------------------------------------------------------


def begun(draft: Draft, gathered: Gathered, plan: Plan) -> Draft:
    """The draft with what the sources found, and what they had to say."""
    return replace(
        draft,
        results=tuple(result_of(item) for item in plan.items.values()),
        found=replace(draft.found, notes=(*draft.found.notes, *gathered.notes)),
        times=(StageTime("gather", gathered.milliseconds),),
    )


def ended(draft: Draft, gathered: Gathered, plan: Plan) -> Draft:
    """The draft with what the sources themselves left out, each once, behind what the stages did."""
    elsewhere = {one.result.memory.id: one for one in gathered.dropped}
    gone = [one for name, one in elsewhere.items() if name not in plan.items]
    return replace(draft, dropped=(*draft.dropped, *gone))


def stages(plan: Plan, told: frozenset[str]) -> tuple[Stage, ...]:
    """What happens to what was found, in order."""
    return (hush(plan), drop_told(told), drop_twins(plan), share_out(plan))


def hush(plan: Plan) -> Stage:
    """A stage that says nothing which is probably beside the point."""

    def hush_by_source(draft: Draft) -> Draft:
        kept, low = [], []
        for result in draft.results:
            floor = plan.floors.get(plan.items[result.memory.id].source, 0.0)
            if result.score >= floor:
                kept.append(result)
            else:
                low.append(Dropped(result, "below floor", f"{result.score:.2g} < {floor:g}"))
        return draft.without(low, kept)

    return hush_by_source


def drop_twins(plan: Plan) -> Stage:
    """A stage that lets the most relevant of those say it that say the same."""

    def drop_what_is_said_twice(draft: Draft) -> Draft:
        results = draft.results
        near = twins([result.memory.text for result in results])
        kept = _Kept([plan.items[result.memory.id] for result in results], near)
        best_first = sorted(range(len(results)), key=lambda at: (-results[at].score, at))
        repeats = {at: twin for at in best_first if (twin := kept.twin_or_keep(at)) is not None}
        gone = [Dropped(results[at], "duplicate", results[repeats[at]].memory.id) for at in sorted(repeats)]
        return draft.without(gone, [result for at, result in enumerate(results) if at not in repeats])

    return drop_what_is_said_twice


def share_out(plan: Plan) -> Stage:
    """A stage that words what remains, in sections, within the budget."""

    def share(draft: Draft) -> Draft:
        results = {result.memory.id: result for result in draft.results}
        pieces = [
            Piece(name, plan.items[name], plan.sections[name], result.rank or 0.0)
            for name, result in results.items()
        ]
        fitted = fit(pieces, plan.layout, draft.budget, draft.kit.tokenizer, hard=plan.hard)
        over = [
            Dropped(results[piece.id], "over budget", f"needs about {piece.tokens} tokens")
            for piece in fitted.left_out
        ]
        said = [
            Candidate(results[piece.id], piece.section, piece.item.content, piece.tokens)
            for piece in fitted.pieces
        ]
        draft = draft.without(over, [candidate.result for candidate in said])
        return replace(draft, candidates=tuple(said), text=fitted.text, tokens=fitted.tokens)

    return share


class _Kept:
    """What has been kept so far, looked up by everything that makes two items say the same."""

    def __init__(self, items: Sequence[ContextItem], near: Mapping[int, set[int]]) -> None:
        self._items = items
        self._near = near
        self._places: set[int] = set()
        self._stories: dict[tuple[str, object], int] = {}
        self._code: dict[str, int] = {}
        self._changes: dict[str, int] = {}

    def twin_or_keep(self, at: int) -> int | None:
        """The place of a kept item that says the same; None when there was none, and this one is kept."""
        item = self._items[at]
        twin = self._alike(at)
        twin = self._same_story(item) if twin is None else twin
        twin = self._same_file(item) if twin is None else twin
        if twin is None:
            self._keep(at, item)
        return twin

    def _keep(self, at: int, item: ContextItem) -> None:
        self._places.add(at)
        if item.source in _STORIES and item.metadata.get("id"):
            self._stories.setdefault((item.source, item.metadata["id"]), at)
        files = _files(item)
        if item.source == "code":
            self._code.update({name: self._code.get(name, at) for name in files})
        if item.source == "commit" and len(files) == 1:
            self._changes.setdefault(files[0], at)

    def _alike(self, at: int) -> int | None:
        """A kept item whose text is alike. Two units of one file are two, however alike they look."""
        candidates = sorted(self._near.get(at, set()) & self._places)
        return next(
            (other for other in candidates if not _two_units(self._items[at], self._items[other])), None
        )

    def _same_story(self, item: ContextItem) -> int | None:
        """An experience that is there as a value, or the other way round."""
        if item.source not in _STORIES or not item.metadata.get("id"):
            return None
        other = "value" if item.source == "experience" else "experience"
        return self._stories.get((other, item.metadata["id"]))

    def _same_file(self, item: ContextItem) -> int | None:
        """Code whose file alone a commit changed; a commit all of whose files are there as code."""
        files = _files(item)
        if item.source == "code":
            return next((self._changes[name] for name in files if name in self._changes), None)
        if item.source == "commit" and files and all(name in self._code for name in files):
            return self._code[files[0]]
        return None


def _two_units(one: ContextItem, other: ContextItem) -> bool:
    if not one.source == other.source == "code":
        return False
    names = [item.metadata.get("qualified_name") for item in (one, other)]
    return bool(_files(one)) and _files(one) == _files(other) and names[0] != names[1]


def _files(item: ContextItem) -> list[str]:
    """The files that a commit changed; the file that code is in, also without the name of its root folder."""
    if item.source == "commit":
        return [_path(name) for name in item.metadata.get("files_changed") or ()]
    path = _path(item.metadata.get("file_path") or "")
    return list(filter(None, (path, path.partition("/")[2])))


def _path(name: object) -> str:
    return str(name).replace("\\", "/").removeprefix("./")


def _rank(item: ContextItem) -> float:
    return result_of(item).rank or 0.0


def _made_up(item: ContextItem, workspace: str) -> SearchResult:
    name = str(item.metadata.get("id") or text_hash(f"{item.source}: {item.content}"))
    kind = cast("Kind", item.source)
    return SearchResult(Item(item.content, workspace, kind=kind, id=name), item.relevance)
