"""What went before: the resolved experiences nearest to a question on one axis.

By cosine, among the vectors of that axis; every filter holds inside the store's search, so that none which
fits is lost to one which does not. What has no vector yet, and everything where there is no encoder, is found
by words. An experience counts once, as it stands now.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.errors import EmbeddingError
from foreword.knowledge import axes
from foreword.knowledge.experience import experience_of
from foreword.log import get_logger
from foreword.store.base import Search
from foreword.text.words import telling
from foreword.types import RecentProbe, SearchResult, VectorProbe, WordsProbe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.engine.base import Engine
    from foreword.knowledge.axes import Axis
    from foreword.types import Filters, Found, Item, Probe

_log = get_logger("foreword.precedents")

_BY_WORDS, _BY_TIME = "lexical", "recency"
_DEEPER = 16


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question to the past. `narrowed` says that the filters are a question in themselves."""

    workspace: str
    query: str
    axis: Axis
    filters: Filters
    limit: int
    narrowed: bool = False


def search(engine: Engine, wanted: Wanted) -> list[SearchResult]:
    """The nearest experiences, best first; the score is the cosine, or the share of words that are shared.

    What has no vector to compare comes after what has: first what shares words; then, with the score 0, the
    newest, if there were no words to share or the filters alone are worth an answer.
    """
    probes = tuple(_probes(engine, wanted))
    depth = 2 * wanted.limit + 20
    while True:
        found = engine.store.search(Search(wanted.workspace, probes, wanted.filters, depth))
        results = list(_standing(found, wanted))
        # Where there are vectors, the other lists are for what has none yet, and that is little.
        leading = found.lists.get(axes.SPACES[wanted.axis])
        deciding = (leading,) if leading else found.lists.values()
        if len(results) >= wanted.limit or all(len(ranked) < depth for ranked in deciding):
            for note in found.notes:
                _log.warning("experiences were searched in part", part=note.part, problem=note.message)
            return results[: wanted.limit]
        depth *= _DEEPER  # versions that were superseded, or say nothing on this axis, took the places


def _probes(engine: Engine, wanted: Wanted) -> Iterator[Probe]:
    words = telling(wanted.query)
    if words:
        yield WordsProbe(_BY_WORDS, words)
    vector = _vector(engine, wanted.query)
    if vector is not None and engine.kit.encoder is not None:
        yield VectorProbe(axes.SPACES[wanted.axis], engine.kit.encoder.digest, vector)
    if wanted.narrowed or not words:
        yield RecentProbe(_BY_TIME)


def _vector(engine: Engine, query: str) -> tuple[float, ...] | None:
    try:
        vector = engine.embed_question(query)
    except EmbeddingError as error:
        _log.warning("experiences are searched by words alone", problem=str(error))
        return None
    return None if vector is None else tuple(vector)


def _standing(found: Found, wanted: Wanted) -> Iterator[SearchResult]:
    """What was found, nearest first, each experience once and only if it says something on the axis."""
    known: set[str] = set()
    for name, score in _in_order(found, axes.SPACES[wanted.axis]):
        told = _told(found.items[name], wanted.axis)
        if told and told not in known:
            known.add(told)
            rank, measured = {str(wanted.axis): len(known)}, {str(wanted.axis): score}
            yield SearchResult(found.items[name], min(1.0, max(0.0, score)), ranks=rank, scores=measured)


def _in_order(found: Found, space: str) -> Iterator[tuple[str, float]]:
    """Every candidate with its score: by cosine, then what has no vector by words, then the newest."""
    compared = found.measures.get(space, {})
    yield from found.lists.get(space, ())
    newest = ((name, 0.0) for name, _ in found.lists.get(_BY_TIME, ()))
    yield from (near for near in (*found.lists.get(_BY_WORDS, ()), *newest) if near[0] not in compared)


def _told(item: Item, axis: Axis) -> str:
    """The id of the resolved experience that an item tells of on this axis; empty when it does not."""
    if item.superseded_by is not None or not axes.text(axis, item):
        return ""
    experience = experience_of(item)
    return experience.id if experience and experience.outcome else ""
