"""Values: what many experiences have in common, in the words of whoever saw it.

Experiences that are alike on an axis form clusters. A value is a sentence somebody proposes for a cluster; it
is kept if it lies as near to the middle of what the members say there as they usually do themselves: in
cosine distance, the mean and half a deviation at most. Sentences are compared with sentences, since a maxim
is far from every whole story. Clusters are worked out when asked for and kept nowhere.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, cast

from foreword.errors import EmbeddingError, MissingExtra, ValidationError
from foreword.knowledge import axes, clusters
from foreword.knowledge.experience import one_of, said
from foreword.knowledge.experiences import Experiences
from foreword.knowledge.topics import MOST_TOPICS, Topic, topics
from foreword.log import get_logger
from foreword.options import MAX_LIMIT, named, whole
from foreword.store.base import KnownVectors
from foreword.types import Filters, Item, Source

if TYPE_CHECKING:
    import builtins
    from collections.abc import Mapping, Sequence

    from foreword.engine.base import Engine
    from foreword.knowledge.axes import Axis
    from foreword.knowledge.experience import Experience
    from foreword.spaces.base import VectorSpace

_log = get_logger("foreword.values")

FEWEST = 20
"""With fewer experiences than this on an axis, what they seem to have in common is chance."""

MOST = 4_000
"""So many are compared with each other, the newest; that takes a second, and a third of a gigabyte."""

_MOST_TEXT = 2_000
_MOST_VALUES = 10_000
_MOST_COMPARED = 64
_MOST_KNOWN = 16
_ROUNDING = 0.001
_AGENT = Source("agent", "agent")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Experiences that are alike on an axis. `members` are their ids, the most typical first."""

    id: str
    axis: Axis
    members: tuple[str, ...]
    centre: clusters.Centre
    confidence: float

    @property
    def size(self) -> int:
        """How many experiences are alike."""
        return len(self.members)


@dataclass(frozen=True, slots=True)
class Clustering:
    """What the experiences of a workspace have in common on an axis; without clusters when they are few."""

    axis: Axis
    experiences: int
    clusters: tuple[Cluster, ...] = ()

    @property
    def enough(self) -> bool:
        """Whether there are experiences enough to look for clusters."""
        return self.experiences >= FEWEST


@dataclass(frozen=True, slots=True)
class _Point:
    """An experience where it lies on an axis."""

    item: Item
    experience: Experience
    vector: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Grouped:
    """A clustering, and the points of each of its clusters, the most typical first."""

    clustering: Clustering
    points: Mapping[str, Sequence[_Point]]


class Values:
    """Finds clusters, and keeps what is said of them. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._experiences = Experiences(engine)
        self._known: OrderedDict[tuple[str, str], tuple[object, _Grouped]] = OrderedDict()
        self._lock = threading.Lock()

    def clusters(self, workspace: str, axis: str = "full") -> Clustering:
        """The clusters of an axis, numbered by their oldest members; worked out anew after a change."""
        return self._grouped(workspace, one_of("axis", axis, axes.AXES)).clustering

    def members(self, workspace: str, cluster_id: str) -> builtins.list[Experience]:
        """The experiences of a cluster, the most typical first."""
        return [point.experience for point in self._points(workspace, cluster_id)[1]]

    def propose(
        self,
        workspace: str,
        text: str,
        cluster_id: str,
        by: Source = _AGENT,
        session: str | None = None,
    ) -> Item:
        """Keep a value for a cluster, if it speaks for it; else the error says by how much it does not."""
        text = said("the value", text, _MOST_TEXT)
        cluster, points = self._points(workspace, cluster_id)
        away = self._distance(text, cluster, points)
        item = Item(
            text=text,
            workspace=workspace,
            kind="value",
            created_at=self._engine.clock(),
            session=session,
            confidence=cluster.confidence,
            source=by,
            metadata={
                "axis": cluster.axis,
                "cluster_id": cluster.id,
                "cluster_size": cluster.size,
                "similarity_to_centroid": round(1.0 - away, 4),
                "members": list(cluster.members),
                "derived_from": sorted({point.item.source.name for point in points}),
            },
        )
        return self._engine.remember_all([item], workspace)[0]

    def _distance(self, text: str, cluster: Cluster, points: Sequence[_Point]) -> float:
        """How far a text is from what the members of a cluster say; an error when that is too far."""
        typical = points[:_MOST_COMPARED]
        said_there = [axes.gist(cluster.axis, point.experience) for point in typical]
        vectors = self._encoder().embed_items([Item(one, "") for one in (text, *said_there)])
        middle = clusters.centre(vectors[1:], [point.experience.weight for point in typical])
        away = clusters.distance(vectors[0], middle.vector)
        if away > middle.reach + _ROUNDING:
            raise ValidationError(
                f"the value is too far from {cluster.id}: its distance to the middle is {away:.3f}, and the "
                f"most is {middle.reach:.3f} (the members' mean {middle.mean:.3f} and half of their "
                f"deviation {middle.deviation:.3f}); say it as they do: {said_there[0][:120]!r}"
            )
        return away

    def list(self, workspace: str, axis: str | None = None, limit: int = 50) -> builtins.list[Item]:
        """The values that stand, the newest first."""
        whole("limit", limit, 1, MAX_LIMIT)
        chosen = None if axis is None else one_of("axis", axis, axes.AXES)
        every = self._engine.store.recent(named(workspace), Filters(kinds=("value",)), _MOST_VALUES)
        standing = (item for item in every if item.superseded_by is None)
        return [item for item in standing if chosen in (None, item.metadata.get("axis"))][:limit]

    def topics(self, workspace: str, most: int = MOST_TOPICS) -> tuple[Topic, ...]:
        """What the clusters are about, surest first; none while experiences are few or cannot be compared."""
        if self._engine.kit.encoder is None:
            return ()
        try:
            grouped = [self._grouped(workspace, axis) for axis in axes.AXES]
        except MissingExtra as error:
            _log.warning("no topics of experiences", problem=str(error))
            return ()
        every = [
            self._topic(cluster, one.points[cluster.id])
            for one in grouped
            for cluster in one.clustering.clusters
        ]
        surest = sorted(filter(None, every), key=lambda topic: (-topic.confidence, topic.name))
        kept: dict[str, Topic] = {}
        for topic in surest:
            kept.setdefault(topic.name, topic)
        return tuple(kept.values())[:most]

    def _topic(self, cluster: Cluster, points: Sequence[_Point]) -> Topic | None:
        """What a cluster is about: the term that most of its members share."""
        told = [replace(point.item, text=_in_its_own_words(point.experience)) for point in points]
        named = next(iter(topics(told, self._engine.clock(), 1)), None)
        return named and replace(named, confidence=cluster.confidence)

    def _points(self, workspace: str, cluster_id: str) -> tuple[Cluster, Sequence[_Point]]:
        asked = said("cluster", cluster_id, 200)
        axis = next((one for one in axes.AXES if one == asked.rpartition("_")[0]), None)
        if axis is None:
            raise ValidationError(
                f"no cluster named {asked!r}; a cluster is named by its axis and a number, such as full_0, "
                f"and the axes are: {', '.join(axes.AXES)}"
            )
        grouped = self._grouped(workspace, axis)
        for cluster in grouped.clustering.clusters:
            if cluster.id == cluster_id:
                return cluster, grouped.points[cluster_id]
        there = ", ".join(cluster.id for cluster in grouped.clustering.clusters) or "none yet"
        raise ValidationError(f"no cluster named {cluster_id!r} on the axis {axis}; there are: {there}")

    def _grouped(self, workspace: str, axis: Axis) -> _Grouped:
        points = self._located(named(workspace), axis)
        state = (self._encoder().digest, *(point.item.id for point in points))
        with self._lock:
            before, known = self._known.get((workspace, axis), (None, None))
        if known is not None and before == state:
            return known
        grouped = _group(axis, points)
        with self._lock:
            self._known[workspace, axis] = (state, grouped)
            self._known.move_to_end((workspace, axis))
            if len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        return grouped

    def _located(self, workspace: str, axis: Axis) -> builtins.list[_Point]:
        """The newest experiences that have a vector on an axis, and where they lie."""
        encoder = self._encoder()
        shown = [
            (encoder.view_hash(replace(item, about="", text=text)), item, experience)
            for item, experience in islice(self._experiences.resolved(workspace), MOST)
            if (text := axes.text(axis, item))
        ]
        op = KnownVectors(workspace, encoder.digest, tuple({name for name, _, _ in shown}))
        known = cast("dict[str, tuple[float, ...]]", self._engine.store.batch([op])[0])
        # The oldest first: a cluster keeps its number while others come after it.
        return [_Point(item, told, known[name]) for name, item, told in reversed(shown) if name in known]

    def _encoder(self) -> VectorSpace:
        encoder = self._engine.kit.encoder
        if encoder is None:
            raise EmbeddingError("clusters need an encoder; set embedding to something other than 'none'")
        return encoder


def _group(axis: Axis, points: builtins.list[_Point]) -> _Grouped:
    if len(points) < FEWEST:
        return _Grouped(Clustering(axis, len(points)), {})
    found: builtins.list[Cluster] = []
    members: dict[str, Sequence[_Point]] = {}
    for label, group in enumerate(clusters.groups([point.vector for point in points])):
        inside = [points[place] for place in group.places]
        weights = [point.experience.weight for point in inside]
        centre = clusters.centre([point.vector for point in inside], weights)
        order = sorted(range(len(inside)), key=lambda place: centre.distances[place])
        sure = sum(weight * sure for weight, sure in zip(weights, group.sureness, strict=True))
        name = f"{axis}_{label}"
        members[name] = [inside[place] for place in order]
        ids = tuple(point.experience.id for point in members[name])
        found.append(Cluster(name, axis, ids, centre, round(sure / len(inside), 3)))
    return _Grouped(Clustering(axis, len(points), tuple(found)), members)


def _in_its_own_words(experience: Experience) -> str:
    """What was said of an experience, without the names of its parts."""
    root, learnt = experience.root_cause, experience.lesson
    parts = [experience.goal, experience.hypothesis, root.description if root else ""]
    return "\n".join([*parts, learnt.what_worked if learnt else ""])
