"""Values: sentences that say what many experiences have in common.

Experiences that are alike on an axis form clusters. A value is a sentence somebody proposes for a cluster; it
is kept if it is as near to the middle of the members' own sentences as they usually are themselves: in cosine
distance, at most the mean and half a deviation. Sentences are compared with sentences, since a maxim is far
from every whole story. Clusters are worked out when asked for and not stored; `grouping` finds them.

What comes later counts for or against a value: an experience that was about what the value says supports it
if it was confirmed, and contradicts it if it was falsified; a caller who knows better uses `contradict`. A
value that is contradicted loses confidence, and in the end is not shown.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, cast

from foreword.errors import EmbeddingError, ValidationError
from foreword.knowledge.axes import (
    AXES,
    describe_in_one_sentence,
    item_text_on_axis,
    learnt_text_of_item,
)
from foreword.knowledge.experience import check_choice, check_text
from foreword.knowledge.experiences import Experiences
from foreword.knowledge.grouping import MIN_CLUSTER_SIZE, Centre, cosine_distance, find_centre, group_vectors
from foreword.options import MAX_LIMIT, check_whole_number, check_workspace
from foreword.store.base import Amend, GetVectors
from foreword.types import Filters, Item, Source

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from foreword.engine.base import Engine
    from foreword.knowledge.axes import Axis
    from foreword.knowledge.experience import Experience
    from foreword.spaces.base import VectorSpace

MIN_EXPERIENCES = 20
"""At least this many experiences on an axis are clustered; what fewer have in common may be chance."""

__all__ = ["MIN_CLUSTER_SIZE", "MIN_EXPERIENCES", "Cluster", "Clustering", "ValueStanding", "Values"]

_MAX_EXPERIENCES = 2_000
"""At most this many, the newest, are compared; that takes a few seconds, and a tenth of a gigabyte."""

_MAX_VALUE_CHARACTERS = 2_000
_MAX_CLUSTER_ID_CHARACTERS = 200
_MAX_VALUES = 10_000
_MAX_COMPARED_MEMBERS = 64
_MAX_CACHED_CLUSTERINGS = 16
_ROUNDING = 0.001
_CONTRADICTION_WEIGHT = 2
_AXES_WITH_WHAT_WAS_LEARNT: tuple[Axis, ...] = ("full", "root_cause")
"""The axes on which what was learnt counts as much as the text of the axis, whose labels are all alike."""

_AGENT = Source("agent", "agent")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Experiences that are alike on an axis. `members` are their ids, the most typical first."""

    id: str
    axis: Axis
    members: tuple[str, ...]
    centre: Centre
    confidence: float

    @property
    def size(self) -> int:
        """How many experiences it has."""
        return len(self.members)


@dataclass(frozen=True, slots=True)
class Clustering:
    """The clusters of a workspace on an axis, none when its experiences there are few."""

    axis: Axis
    experiences: int
    clusters: tuple[Cluster, ...] = ()

    @property
    def has_enough(self) -> bool:
        """Whether there are enough experiences to look for clusters."""
        return self.experiences >= MIN_EXPERIENCES


@dataclass(frozen=True, slots=True)
class _ExperienceVector:
    """An experience and its vector on an axis."""

    item: Item
    experience: Experience
    vector: tuple[float, ...]
    joined: tuple[float, ...] = ()
    """The vector it is grouped by: its vector, on some axes with that of what was learnt appended."""


@dataclass(frozen=True, slots=True)
class ValueStanding:
    """The experiences for and against a value, by their ids, and the confidence that it has left."""

    value: Item
    supported_by: tuple[str, ...]
    contradicted_by: tuple[str, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class _ClusteringWithMembers:
    """A clustering, and the points of each of its clusters by id, the most typical first."""

    clustering: Clustering
    points: Mapping[str, Sequence[_ExperienceVector]]


class Values:
    """Finds clusters, and stores the values that are proposed for them. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._experiences = Experiences(engine)
        self._cache: OrderedDict[tuple[str, str], tuple[object, _ClusteringWithMembers]] = OrderedDict()
        self._lock = threading.Lock()

    def clusters(self, workspace: str, axis: str = "full") -> Clustering:
        """The clusters of an axis, numbered by their oldest members; worked out anew after a change."""
        return self._cached_clustering(workspace, check_choice("axis", axis, AXES)).clustering

    def members(self, workspace: str, cluster_id: str) -> builtins.list[Experience]:
        """The experiences of a cluster, the most typical first."""
        return [point.experience for point in self._require_cluster(workspace, cluster_id)[1]]

    def propose(
        self,
        workspace: str,
        text: str,
        cluster_id: str,
        by: Source = _AGENT,
        session: str | None = None,
    ) -> Item:
        """Store a value for a cluster; ValidationError, with the distances, if it is too far from it."""
        text = check_text("the value", text, _MAX_VALUE_CHARACTERS)
        cluster, points = self._require_cluster(workspace, cluster_id)
        distance, most = self._check_distance_from_members(text, cluster, points)
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
                "similarity_to_centroid": round(1.0 - distance, 4),
                "max_distance": round(most, 4),
                "members": list(cluster.members),
                "domains": dict(Counter(point.experience.domain for point in points)),
                "cluster_confidence": cluster.confidence,
                "supported_by": [],
                "contradicted_by": [],
                "derived_from": sorted({point.item.source.name for point in points}),
            },
        )
        return self._engine.remember_all([item], workspace)[0]

    def suggest(self, workspace: str, cluster_id: str) -> str:
        """A wording for a value: the sentence of the member whose sentence is nearest to the middle."""
        cluster, points = self._require_cluster(workspace, cluster_id)
        typical = points[:_MAX_COMPARED_MEMBERS]
        sentences = [describe_in_one_sentence(cluster.axis, point.experience) for point in typical]
        vectors = self._require_encoder().embed_items([Item(one, "") for one in sentences])
        centre = find_centre(vectors, [point.experience.weight for point in typical])
        return sentences[min(range(len(sentences)), key=lambda place: centre.distances[place])]

    def contradict(self, workspace: str, value_id: str, experience_id: str) -> ValueStanding:
        """Record that an experience contradicts a value, which lowers the value's confidence."""
        value = next((one for one in self.list(workspace, limit=MAX_LIMIT) if one.id == value_id), None)
        experience = self._experiences.get(workspace, experience_id)
        if value is None or experience is None:
            kind, name = ("value", value_id) if value is None else ("experience", experience_id)
            raise ValidationError(
                f"no {kind} of {workspace!r} has the id {name!r}; list them to see their ids"
            )
        named = {*_listed_ids(value, "named_against"), experience.id}
        value = replace(value, metadata={**value.metadata, "named_against": sorted(named)})
        return self._store_standing(workspace, self._weigh_value(value, {}))

    def review(self, workspace: str) -> builtins.list[ValueStanding]:
        """The standing of every value, given the experiences since it was proposed; changes are stored."""
        since = list(islice(self._experiences.iterate_resolved(check_workspace(workspace)), _MAX_EXPERIENCES))
        values = self.list(workspace, limit=MAX_LIMIT)
        if not values:
            return []
        bearing = self._later_experiences_about(values, [experience for _, experience in since])
        return [
            self._store_standing(workspace, self._weigh_value(one, bearing.get(one.id, {}))) for one in values
        ]

    def _later_experiences_about(
        self, values: Sequence[Item], experiences: Sequence[Experience]
    ) -> dict[str, dict[str, str]]:
        """By the id of each value, the later experiences that were about what it says, and how they ended."""
        later = [one for one in experiences if one.created_at > min(value.created_at for value in values)]
        if not later:
            return {}
        done = [Item(f"{one.hypothesis} {one.action}", "") for one in later]
        vectors = self._require_encoder().embed_items([*(Item(one.text, "") for one in values), *done])
        found: dict[str, dict[str, str]] = {}
        for place, value in enumerate(values):
            most, members = value.metadata.get("max_distance"), set(_listed_ids(value, "members"))
            if not isinstance(most, int | float):
                continue
            for experience, vector in zip(later, vectors[len(values) :], strict=True):
                near = cosine_distance(vectors[place], vector) <= most
                if near and experience.created_at > value.created_at and experience.id not in members:
                    found.setdefault(value.id, {})[experience.id] = experience.status
        return found

    def _weigh_value(self, value: Item, statuses: Mapping[str, str]) -> ValueStanding:
        """The standing of a value: each contradiction takes as much as two of its experiences had given."""
        against = {name for name, status in statuses.items() if status == "falsified"}
        against |= set(_listed_ids(value, "named_against"))
        for_it = {name for name, status in statuses.items() if status == "confirmed"} - against
        size = len(_listed_ids(value, "members")) + len(for_it)
        first = value.metadata.get("cluster_confidence", value.confidence)
        share = size / max(1, size + _CONTRADICTION_WEIGHT * len(against))
        return ValueStanding(
            value, tuple(sorted(for_it)), tuple(sorted(against)), round(float(first) * share, 3)
        )

    def _store_standing(self, workspace: str, standing: ValueStanding) -> ValueStanding:
        """Store the standing in the value's metadata, if it has changed."""
        value = standing.value
        metadata = {
            **value.metadata,
            "supported_by": list(standing.supported_by),
            "contradicted_by": list(standing.contradicted_by),
        }
        stored = self._engine.store.get(workspace, value.id)[0]
        if stored is None or (stored.metadata, stored.confidence) == (metadata, standing.confidence):
            return standing
        self._engine.store.batch(
            [Amend(workspace, value.id, confidence=standing.confidence, metadata=metadata)]
        )
        return replace(standing, value=replace(value, metadata=metadata, confidence=standing.confidence))

    def _check_distance_from_members(
        self, text: str, cluster: Cluster, points: Sequence[_ExperienceVector]
    ) -> tuple[float, float]:
        """The distance of a text from the middle of the members' sentences, and the most it may be.

        ValidationError if it is more.
        """
        typical = points[:_MAX_COMPARED_MEMBERS]
        sentences = [describe_in_one_sentence(cluster.axis, point.experience) for point in typical]
        vectors = self._require_encoder().embed_items([Item(one, "") for one in (text, *sentences)])
        centre = find_centre(vectors[1:], [point.experience.weight for point in typical])
        distance = cosine_distance(vectors[0], centre.vector)
        if distance > centre.max_distance + _ROUNDING:
            raise ValidationError(
                f"the value is too far from {cluster.id}: its distance to the middle is {distance:.3f}, and "
                f"the most is {centre.max_distance:.3f} (the members' mean {centre.mean:.3f} and half of "
                f"their deviation {centre.deviation:.3f}); say it as they do: {sentences[0][:120]!r}"
            )
        return distance, centre.max_distance

    def list(self, workspace: str, axis: str | None = None, limit: int = 50) -> builtins.list[Item]:
        """The values that are not superseded, the newest first."""
        check_whole_number("limit", limit, 1, MAX_LIMIT)
        chosen = None if axis is None else check_choice("axis", axis, AXES)
        every = self._engine.store.recent(check_workspace(workspace), Filters(kinds=("value",)), _MAX_VALUES)
        current = (item for item in every if item.superseded_by is None)
        return [item for item in current if chosen in (None, item.metadata.get("axis"))][:limit]

    def _require_cluster(
        self, workspace: str, cluster_id: str
    ) -> tuple[Cluster, Sequence[_ExperienceVector]]:
        """A cluster and its points; ValidationError when there is none of that name."""
        name = check_text("cluster", cluster_id, _MAX_CLUSTER_ID_CHARACTERS)
        axis = next((one for one in AXES if one == name.rpartition("_")[0]), None)
        if axis is None:
            raise ValidationError(
                f"no cluster named {name!r}; a cluster is named by its axis and a number, such as full_0, "
                f"and the axes are: {', '.join(AXES)}"
            )
        found = self._cached_clustering(workspace, axis)
        for cluster in found.clustering.clusters:
            if cluster.id == cluster_id:
                return cluster, found.points[cluster_id]
        known = ", ".join(cluster.id for cluster in found.clustering.clusters) or "none yet"
        raise ValidationError(f"no cluster named {cluster_id!r} on the axis {axis}; there are: {known}")

    def _cached_clustering(self, workspace: str, axis: Axis) -> _ClusteringWithMembers:
        """The clustering of an axis, worked out anew only if its experiences have changed."""
        points = self._read_points_on_axis(check_workspace(workspace), axis)
        state = (self._require_encoder().digest, *(point.item.id for point in points))
        with self._lock:
            cached_state, cached = self._cache.get((workspace, axis), (None, None))
        if cached is not None and cached_state == state:
            return cached
        clustering = _cluster_points(axis, points)
        with self._lock:
            self._cache[workspace, axis] = (state, clustering)
            self._cache.move_to_end((workspace, axis))
            if len(self._cache) > _MAX_CACHED_CLUSTERINGS:
                self._cache.popitem(last=False)
        return clustering

    def _read_points_on_axis(self, workspace: str, axis: Axis) -> builtins.list[_ExperienceVector]:
        """The newest experiences that have a vector on an axis, the oldest of them first."""
        every = list(islice(self._experiences.iterate_resolved(workspace), _MAX_EXPERIENCES))
        items = [item for item, _ in every]
        vectors = self._read_vectors(workspace, items, partial(item_text_on_axis, axis))
        is_about_learning = axis in _AXES_WITH_WHAT_WAS_LEARNT
        learnt = self._read_vectors(workspace, items, learnt_text_of_item) if is_about_learning else {}
        nowhere = (0.0,) * len(next(iter(vectors.values()), ()))
        # The oldest first: a cluster keeps its number while others come after it.
        return [
            _ExperienceVector(
                item,
                experience,
                vectors[item.id],
                (*vectors[item.id], *learnt.get(item.id, nowhere)) if learnt else vectors[item.id],
            )
            for item, experience in reversed(every)
            if item.id in vectors
        ]

    def _read_vectors(
        self, workspace: str, items: Sequence[Item], text_of: Callable[[Item], str]
    ) -> dict[str, tuple[float, ...]]:
        """The vectors of a text of each of these items by their ids, as far as they have been made."""
        encoder = self._require_encoder()
        hashes = {
            item.id: encoder.hash_of_embedded_text(replace(item, about="", text=text))
            for item in items
            if (text := text_of(item))
        }
        op = GetVectors(workspace, encoder.digest, tuple(set(hashes.values())))
        known = cast("dict[str, tuple[float, ...]]", self._engine.store.batch([op])[0])
        return {
            name: known[hash_of_embedded_text]
            for name, hash_of_embedded_text in hashes.items()
            if hash_of_embedded_text in known
        }

    def _require_encoder(self) -> VectorSpace:
        """The encoder; EmbeddingError when there is none."""
        encoder = self._engine.kit.encoder
        if encoder is None:
            raise EmbeddingError("clusters need an encoder; set embedding to something other than 'none'")
        return encoder


def _cluster_points(axis: Axis, points: builtins.list[_ExperienceVector]) -> _ClusteringWithMembers:
    """The clusters of these points; none when the points are too few."""
    if len(points) < MIN_EXPERIENCES:
        return _ClusteringWithMembers(Clustering(axis, len(points)), {})
    found: builtins.list[Cluster] = []
    members: dict[str, Sequence[_ExperienceVector]] = {}
    for label, group in enumerate(group_vectors([point.joined for point in points])):
        grouped = [points[place] for place in group]
        weights = [point.experience.weight for point in grouped]
        centre = find_centre([point.vector for point in grouped], weights)
        order = sorted(range(len(grouped)), key=lambda place: centre.distances[place])
        sureness = sum(weight * sure for weight, sure in zip(weights, group.values(), strict=True))
        name = f"{axis}_{label}"
        members[name] = [grouped[place] for place in order]
        ids = tuple(point.experience.id for point in members[name])
        found.append(Cluster(name, axis, ids, centre, round(sureness / len(grouped), 3)))
    return _ClusteringWithMembers(Clustering(axis, len(points), tuple(found)), members)


def _listed_ids(value: Item, key: str) -> builtins.list[str]:
    """The ids that a value's metadata lists under a key."""
    listed = value.metadata.get(key)
    return [str(one) for one in listed] if isinstance(listed, list) else []


def is_value_drawn_from(metadata: Mapping[str, object], experience_ids: Iterable[str]) -> bool:
    """Whether a value, given by its metadata, was drawn from one of these experiences."""
    members = metadata.get("members")
    return isinstance(members, list) and not set(members).isdisjoint(experience_ids)
