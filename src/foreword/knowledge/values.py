"""Values: what many experiences have in common, in the words of whoever proposes it.

Experiences that are alike on an axis form clusters. A value is a sentence somebody proposes for a cluster; it
is kept if it is as near to the middle of the members' own sentences as they usually are themselves: in cosine
distance, at most the mean and half a deviation. Sentences are compared with sentences, since a maxim is far
from every whole story. Clusters are worked out when asked for and not stored. The only module that knows
scikit-learn.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, cast

from foreword.errors import EmbeddingError, MissingExtra, ValidationError
from foreword.knowledge.axes import AXES, describe_gist, item_text_on_axis
from foreword.knowledge.experience import check_choice, check_text
from foreword.knowledge.experiences import Experiences
from foreword.options import MAX_LIMIT, check_whole_number, check_workspace
from foreword.store.base import GetVectors
from foreword.types import Filters, Item, Source

if TYPE_CHECKING:
    import builtins
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from foreword.engine.base import Engine
    from foreword.knowledge.axes import Axis
    from foreword.knowledge.experience import Experience
    from foreword.spaces.base import VectorSpace

MIN_EXPERIENCES = 20
"""At least this many experiences on an axis are clustered; what fewer have in common may be chance."""

MIN_CLUSTER_SIZE = 5
"""At least this many experiences form a cluster."""

_MAX_EXPERIENCES = 4_000
"""At most this many, the newest, are compared; that takes a second, and a third of a gigabyte."""

_MIN_SAMPLES = 3
_MAX_DEVIATIONS = 0.5
_MAX_VALUE_CHARACTERS = 2_000
_MAX_CLUSTER_ID_CHARACTERS = 200
_MAX_VALUES = 10_000
_MAX_COMPARED_MEMBERS = 64
_MAX_CACHED_CLUSTERINGS = 16
_ROUNDING = 0.001
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
    def enough(self) -> bool:
        """Whether there are enough experiences to look for clusters."""
        return self.experiences >= MIN_EXPERIENCES


@dataclass(frozen=True, slots=True)
class _ExperienceVector:
    """An experience and its vector on an axis."""

    item: Item
    experience: Experience
    vector: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _ClusteringWithMembers:
    """A clustering, and the points of each of its clusters by id, the most typical first."""

    clustering: Clustering
    points: Mapping[str, Sequence[_ExperienceVector]]


class Values:
    """Finds clusters, and keeps the values that are proposed for them. Safe to share between threads."""

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
        """Keep a value for a cluster; ValidationError, with the distances, when it is too far from it."""
        text = check_text("the value", text, _MAX_VALUE_CHARACTERS)
        cluster, points = self._require_cluster(workspace, cluster_id)
        distance = self._check_distance_from_members(text, cluster, points)
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
                "members": list(cluster.members),
                "derived_from": sorted({point.item.source.name for point in points}),
            },
        )
        return self._engine.remember_all([item], workspace)[0]

    def _check_distance_from_members(
        self, text: str, cluster: Cluster, points: Sequence[_ExperienceVector]
    ) -> float:
        """The distance of a text from the middle of the members' gists; ValidationError if it is too far."""
        typical = points[:_MAX_COMPARED_MEMBERS]
        gists = [describe_gist(cluster.axis, point.experience) for point in typical]
        vectors = self._require_encoder().embed_items([Item(one, "") for one in (text, *gists)])
        centre = find_centre(vectors[1:], [point.experience.weight for point in typical])
        distance = cosine_distance(vectors[0], centre.vector)
        if distance > centre.max_distance + _ROUNDING:
            raise ValidationError(
                f"the value is too far from {cluster.id}: its distance to the middle is {distance:.3f}, and "
                f"the most is {centre.max_distance:.3f} (the members' mean {centre.mean:.3f} and half of "
                f"their deviation {centre.deviation:.3f}); say it as they do: {gists[0][:120]!r}"
            )
        return distance

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
        encoder = self._require_encoder()
        with_text = [
            (encoder.view_hash(replace(item, about="", text=text)), item, experience)
            for item, experience in islice(self._experiences.iterate_resolved(workspace), _MAX_EXPERIENCES)
            if (text := item_text_on_axis(axis, item))
        ]
        op = GetVectors(workspace, encoder.digest, tuple({view_hash for view_hash, _, _ in with_text}))
        known = cast("dict[str, tuple[float, ...]]", self._engine.store.batch([op])[0])
        # The oldest first: a cluster keeps its number while others come after it.
        return [
            _ExperienceVector(item, experience, known[view_hash])
            for view_hash, item, experience in reversed(with_text)
            if view_hash in known
        ]

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
    for label, group in enumerate(_group_vectors([point.vector for point in points])):
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


# Groups of vectors ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Centre:
    """The middle of a group, and the cosine distance of each of its vectors from there.

    `mean` and `deviation` are of the distances of each vector from the middle of the others: without its own
    pull a member stands there as a stranger does, and the two can be compared.
    """

    vector: tuple[float, ...]
    distances: tuple[float, ...]
    mean: float
    deviation: float

    @property
    def max_distance(self) -> float:
        """At most this far from the middle may a text be that speaks for the group."""
        return self.mean + _MAX_DEVIATIONS * self.deviation


def _group_vectors(vectors: Sequence[Sequence[float]]) -> list[dict[int, float]]:
    """The groups among these vectors: the place of each member, and how surely it belongs.

    Groups are found by density (HDBSCAN): their number is not given, and what belongs to none is left out.
    On vectors of length one the euclidean distance orders pairs as the cosine does.
    """
    try:
        from sklearn.cluster import HDBSCAN
    except ImportError as error:
        raise MissingExtra("scikit-learn", "learn") from error
    found = HDBSCAN(
        min_cluster_size=MIN_CLUSTER_SIZE,
        min_samples=_MIN_SAMPLES,
        metric="euclidean",
        algorithm="brute",  # in hundreds of dimensions a tree compares everything too, and more slowly
        cluster_selection_method="eom",
        copy=True,
    ).fit(_scale_to_unit_length(vectors))
    groups: dict[int, dict[int, float]] = {}
    for place, (label, sure) in enumerate(zip(found.labels_.tolist(), found.probabilities_, strict=True)):
        if label >= 0:
            groups.setdefault(label, {})[place] = float(sure)
    return list(groups.values())


def find_centre(vectors: Sequence[Sequence[float]], weights: Sequence[float]) -> Centre:
    """The middle of these vectors, to which each pulls by its weight."""
    import numpy as np

    units, pull = _scale_to_unit_length(vectors), np.asarray(weights, np.float64)[:, None]
    total = (units * pull).sum(axis=0)
    middle = _scale_to_unit_length(total[None])[0]
    from_others = 1.0 - (units * _scale_to_unit_length(total - units * pull)).sum(axis=1)
    return Centre(
        tuple(middle.tolist()),
        tuple((1.0 - units @ middle).tolist()),
        float(from_others.mean()),
        float(from_others.std()),
    )


def cosine_distance(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine distance of two vectors: 0 when they point the same way, at most 2."""
    units = _scale_to_unit_length([one, other])
    return float(1.0 - units[0] @ units[1])


def _scale_to_unit_length(vectors: Sequence[Sequence[float]] | NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    values = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(values / np.maximum(lengths, 1e-12))
