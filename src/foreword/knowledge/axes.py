"""Four axes of an experience (the whole, its strategy, its surprise, its root cause), and search along one.

Each axis is a text made of the experience alone, embedded in a vector space of its own by the one encoder, so
that experiences can be alike in why they failed though their goals have nothing in common. An experience that
has nothing to say on an axis has no text there.

Search ranks resolved experiences by cosine among the vectors of an axis. The store applies every filter
during the search, so that experiences that are filtered out take no place among the results. Experiences
without a vector are found by their words. Each experience counts once, in its newest version.
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
"""The vector space of each axis; the axis `full` uses the semantic space, which embeds every item's text."""

_BY_WORDS, _BY_TIME = "lexical", "recency"
_DEPTH_GROWTH = 16


def describe_whole_experience(experience: Experience) -> str:
    """The whole experience as text; this is the text of its item."""
    outcome = experience.outcome
    return _join_labelled_lines(
        ("Goal", experience.goal),
        ("Hypothesis", experience.hypothesis),
        ("Action", experience.action),
        ("Prediction", experience.prediction),
        ("Outcome", f"{outcome.status} - {outcome.result}" if outcome else ""),
        ("Surprise", experience.surprise),
        ("Root cause", _format_root_cause(experience)),
        ("Lesson", _what_worked(experience)),
        ("Takeaway", _advice_for_next_time(experience)),
    )


def describe_strategy(experience: Experience) -> str:
    """The strategy with its outcome and lesson as text; empty if there is no outcome yet."""
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
    """The expectation, the actual result and the surprise as text; empty if there was no surprise."""
    if experience.outcome is None or not experience.surprise:
        return ""
    return _join_labelled_lines(
        ("Expected", experience.prediction),
        ("Actual", experience.outcome.result),
        ("Surprise", experience.surprise),
        ("Root cause", _format_root_cause(experience)),
    )


def describe_root_cause(experience: Experience) -> str:
    """The root cause with its context as text; empty if none was given."""
    if experience.outcome is None or experience.root_cause is None:
        return ""
    return _join_labelled_lines(
        ("Category", experience.root_cause.category),
        ("Description", experience.root_cause.description),
        ("Context", f"{experience.domain} - {experience.strategy}"),
        ("Original hypothesis", experience.hypothesis),
        ("Takeaway", _advice_for_next_time(experience)),
    )


def describe_what_was_learnt(experience: Experience) -> str:
    """Why it failed, what worked and what to do next time, in these words alone; empty before the outcome."""
    if experience.outcome is None:
        return ""
    cause = experience.root_cause.description if experience.root_cause else ""
    return " ".join(filter(None, (cause, _what_worked(experience), _advice_for_next_time(experience))))


def describe_in_one_sentence(axis: Axis, experience: Experience) -> str:
    """The sentence that sums up an experience on an axis; it is compared with the sentences of values."""
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
    """What worked, according to the experience's lesson; empty if it has no lesson."""
    return experience.lesson.what_worked if experience.lesson else ""


def _advice_for_next_time(experience: Experience) -> str:
    """The takeaway of the experience's lesson; empty if it has none."""
    return experience.lesson.takeaway if experience.lesson else ""


def _format_root_cause(experience: Experience) -> str:
    """The category and description of the root cause; empty if none was given."""
    cause = experience.root_cause
    return f"{cause.category} - {cause.description}" if cause else ""


def _join_labelled_lines(*lines: tuple[str, str]) -> str:
    """A line `label: text` for each text that is not empty."""
    return "\n".join(f"{name}: {text}" for name, text in lines if text)


_AXIS_TEXTS: Mapping[Axis, tuple[str, Callable[[Experience], str]]] = {
    "full": ("experience", describe_whole_experience),
    "strategy": ("outcome", describe_strategy),
    "surprise": ("surprise", describe_surprise),
    "root_cause": ("root_cause", describe_root_cause),
}
"""For each axis: the metadata key without which an item has no text there, and what words the text."""


def item_text_on_axis(axis: Axis, item: Item) -> str:
    """The text of an item that is embedded on an axis; empty if it has none there."""
    required, describe = _AXIS_TEXTS[axis]
    # Most experiences say nothing on some axis, and the metadata alone shows that.
    experience = read_experience(item) if item.metadata.get(required) else None
    if experience is None:
        return ""
    return item.searchable if axis == "full" else describe(experience)


def learnt_text_of_item(item: Item) -> str:
    """What was learnt in an experience, by its item; empty if it has said nothing of that."""
    experience = read_experience(item) if item.metadata.get("outcome") else None
    return describe_what_was_learnt(experience) if experience else ""


VIEWS: tuple[tuple[str, tuple[str, ...], Callable[[Item], str]], ...] = (
    *((SPACES[axis], ("experience",), partial(item_text_on_axis, axis)) for axis in AXES if axis != "full"),
    ("learnt", ("experience",), learnt_text_of_item),
)
"""The vector spaces that an embedder fills besides the semantic one: name, kinds of items, text to embed."""


# Search --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AxisQuery:
    """A search for experiences on one axis.

    With `filters_suffice`, the newest experiences that pass the filters are found even if neither their words
    nor their vectors match.
    """

    workspace: str
    text: str
    axis: Axis
    filters: Filters
    limit: int
    filters_suffice: bool = False


def search_axis(engine: Engine, query: AxisQuery) -> list[SearchResult]:
    """The experiences nearest to a question, best first, scored by cosine or by the share of words in common.

    Those without a vector follow those with one: first those that share words with the question; then, if the
    question has no words or its filters suffice, the newest, with the score 0.
    """
    probes = tuple(_build_search_probes(engine, query))
    depth = 2 * query.limit + 20
    while True:
        found = engine.store.search(Search(query.workspace, probes, query.filters, depth))
        results = list(_finished_experiences_on_axis(found, query.axis))
        # Where there are vectors, the other lists only add the few experiences that have none yet.
        by_vector = found.lists.get(SPACES[query.axis])
        deciding = (by_vector,) if by_vector else found.lists.values()
        if len(results) >= query.limit or all(len(ranked) < depth for ranked in deciding):
            for note in found.notes:
                _log.warning("experiences were searched in part", part=note.part, problem=note.message)
            return results[: query.limit]
        depth *= _DEPTH_GROWTH  # superseded versions, or items without a text on this axis, took the places


def _build_search_probes(engine: Engine, query: AxisQuery) -> Iterator[Probe]:
    """The probes of a search: by words, by vector and, if these may find too little, by time."""
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


def _finished_experiences_on_axis(found: Findings, axis: Axis) -> Iterator[SearchResult]:
    """The results, nearest first: each resolved experience once, if it has a text on the axis."""
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
