"""Four axes of an experience (the whole, its strategy, its surprise, its root cause), and search along one.

Each axis is a text made of the experience alone, embedded in a vector space of its own by the one encoder, so
that experiences can be alike in why they failed though their goals have nothing in common. An experience that
has nothing to say on an axis has no text there.

Search ranks resolved experiences by cosine among the vectors of an axis; every filter holds inside the
store's search, so that none which fits is lost to one which does not. What has no vector yet, and everything
where there is no encoder, is found by words. An experience counts once, in its newest version.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

from foreword.errors import EmbeddingError
from foreword.knowledge.experience import read_experience
from foreword.log import get_logger
from foreword.store.base import Search
from foreword.text.words import content_words
from foreword.types import RecentProbe, SearchResult, VectorProbe, WordsProbe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from foreword.engine.base import Engine
    from foreword.knowledge.experience import Experience
    from foreword.types import Filters, Findings, Item, Probe

_log = get_logger(__name__)

Axis = Literal["full", "strategy", "surprise", "root_cause"]
AXES: tuple[Axis, ...] = get_args(Axis)

SPACES: Mapping[Axis, str] = {**{axis: axis for axis in AXES}, "full": "semantic"}
"""The vector space of each axis; the whole is an item's text, which the semantic space has anyway."""

_BY_WORDS, _BY_TIME = "lexical", "recency"
_DEPTH_GROWTH = 16


def describe_whole_experience(experience: Experience) -> str:
    """The whole story, which is the text of the experience's item."""
    outcome = experience.outcome
    return _join_labelled_lines(
        ("Goal", experience.goal),
        ("Hypothesis", experience.hypothesis),
        ("Action", experience.action),
        ("Prediction", experience.prediction),
        ("Outcome", f"{outcome.status} - {outcome.result}" if outcome else ""),
        ("Surprise", experience.surprise),
        ("Root cause", _why_it_failed(experience)),
        ("Lesson", _what_worked(experience)),
        ("Takeaway", _advice_for_next_time(experience)),
    )


def describe_strategy(experience: Experience) -> str:
    """What came of the strategy; empty before there is an outcome."""
    if experience.outcome is None:
        return ""
    outcome = f"{experience.outcome.status} after {experience.iteration_count} iteration(s)"
    return _join_labelled_lines(
        ("Strategy", experience.strategy),
        ("Applied to", experience.goal),
        ("Outcome", outcome),
        ("What worked", _what_worked(experience)),
        ("Takeaway", _advice_for_next_time(experience)),
    )


def describe_surprise(experience: Experience) -> str:
    """What was expected and what happened instead; empty when nothing surprised."""
    if experience.outcome is None or not experience.surprise:
        return ""
    return _join_labelled_lines(
        ("Expected", experience.prediction),
        ("Actual", experience.outcome.result),
        ("Surprise", experience.surprise),
        ("Root cause", _why_it_failed(experience)),
    )


def describe_root_cause(experience: Experience) -> str:
    """Why the hypothesis failed; empty when nobody has said so."""
    if experience.outcome is None or experience.root_cause is None:
        return ""
    return _join_labelled_lines(
        ("Category", experience.root_cause.category),
        ("Description", experience.root_cause.description),
        ("Context", f"{experience.domain} - {experience.strategy}"),
        ("Original hypothesis", experience.hypothesis),
        ("Takeaway", _advice_for_next_time(experience)),
    )


def describe_gist(axis: Axis, experience: Experience) -> str:
    """What an experience says on an axis, in one sentence that can be compared with a value."""
    cause, learnt = experience.root_cause, experience.lesson
    lesson = (learnt.takeaway or learnt.what_worked) if learnt else ""
    match axis:
        case "surprise":
            return experience.surprise
        case "root_cause":
            return cause.description if cause else ""
        case "strategy":
            return f"{experience.strategy}: {lesson or experience.goal}"
        case "full":
            return lesson or experience.goal


def _what_worked(experience: Experience) -> str:
    """What its lesson says worked; empty when it has no lesson."""
    return experience.lesson.what_worked if experience.lesson else ""


def _advice_for_next_time(experience: Experience) -> str:
    """What its lesson says to do next time; empty when it says nothing of that."""
    return experience.lesson.takeaway if experience.lesson else ""


def _why_it_failed(experience: Experience) -> str:
    """The kind of its root cause and the cause; empty when nobody has said so."""
    cause = experience.root_cause
    return f"{cause.category} - {cause.description}" if cause else ""


def _join_labelled_lines(*lines: tuple[str, str]) -> str:
    """The lines that have text, each after its name."""
    return "\n".join(f"{name}: {text}" for name, text in lines if text)


_AXIS_TEXTS: Mapping[Axis, tuple[str, Callable[[Experience], str]]] = {
    "full": ("experience", describe_whole_experience),
    "strategy": ("outcome", describe_strategy),
    "surprise": ("surprise", describe_surprise),
    "root_cause": ("root_cause", describe_root_cause),
}
"""What an item's metadata must hold for it to have a text on an axis, and how that text is made."""


def item_text_on_axis(axis: Axis, item: Item) -> str:
    """What the encoder sees of an item on an axis; empty when it says nothing there."""
    required, describe = _AXIS_TEXTS[axis]
    # Most experiences say nothing on some axis, and the metadata alone shows that.
    experience = read_experience(item) if item.metadata.get(required) else None
    if experience is None:
        return ""
    return item.searchable if axis == "full" else describe(experience)


VIEWS: tuple[tuple[str, tuple[str, ...], Callable[[Item], str]], ...] = tuple(
    (SPACES[axis], ("experience",), partial(item_text_on_axis, axis)) for axis in AXES if axis != "full"
)
"""The spaces that an embedder keeps beside the semantic one, for experiences only."""


# Search --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AxisQuery:
    """A question on an axis. `filters_suffice`: the filters alone are a question, whatever the words find."""

    workspace: str
    text: str
    axis: Axis
    filters: Filters
    limit: int
    filters_suffice: bool = False


def search_axis(engine: Engine, query: AxisQuery) -> list[SearchResult]:
    """The nearest experiences, best first; the score is the cosine, or the share of words in common.

    What has no vector comes after what has: first what has words in common; then, with the score 0, the
    newest, if the question has no words or its filters suffice.
    """
    probes = tuple(_build_search_probes(engine, query))
    depth = 2 * query.limit + 20
    while True:
        found = engine.store.search(Search(query.workspace, probes, query.filters, depth))
        results = list(_resolved_results_on_axis(found, query.axis))
        # Where there are vectors, the other lists are for what has none yet, and that is little.
        by_vector = found.lists.get(SPACES[query.axis])
        deciding = (by_vector,) if by_vector else found.lists.values()
        if len(results) >= query.limit or all(len(ranked) < depth for ranked in deciding):
            for note in found.notes:
                _log.warning("experiences were searched in part", part=note.part, problem=note.message)
            return results[: query.limit]
        depth *= _DEPTH_GROWTH  # superseded versions, or those without a text on this axis, took the places


def _build_search_probes(engine: Engine, query: AxisQuery) -> Iterator[Probe]:
    """By words, by vector and, where these may find too little, by time."""
    words = content_words(query.text)
    if words:
        yield WordsProbe(_BY_WORDS, words)
    vector = _embed_question_or_none(engine, query.text)
    if vector is not None and engine.kit.encoder is not None:
        yield VectorProbe(SPACES[query.axis], engine.kit.encoder.digest, vector)
    if query.filters_suffice or not words:
        yield RecentProbe(_BY_TIME)


def _embed_question_or_none(engine: Engine, text: str) -> tuple[float, ...] | None:
    """The vector of a question; None when there is no encoder, or it fails."""
    try:
        vector = engine.embed_question(text)
    except EmbeddingError as error:
        _log.warning("experiences are searched by words alone", problem=str(error))
        return None
    return None if vector is None else tuple(vector)


def _resolved_results_on_axis(found: Findings, axis: Axis) -> Iterator[SearchResult]:
    """What was found, nearest first; each resolved experience once, and only with a text on the axis."""
    seen: set[str] = set()
    for item_id, score in _candidates_with_scores(found, SPACES[axis]):
        item = found.items[item_id]
        if item.superseded_by is not None or not item_text_on_axis(axis, item):
            continue
        experience = read_experience(item)
        if experience and experience.outcome and experience.id not in seen:
            seen.add(experience.id)
            ranks, scores = {str(axis): len(seen)}, {str(axis): score}
            yield SearchResult(item, min(1.0, max(0.0, score)), ranks=ranks, scores=scores)


def _candidates_with_scores(found: Findings, space: str) -> Iterator[tuple[str, float]]:
    """Every candidate with its score: by cosine, then those without a vector by words, then the newest."""
    with_vector = found.measures.get(space, {})
    yield from found.lists.get(space, ())
    newest = ((item_id, 0.0) for item_id, _ in found.lists.get(_BY_TIME, ()))
    others = (*found.lists.get(_BY_WORDS, ()), *newest)
    yield from (candidate for candidate in others if candidate[0] not in with_vector)
