"""Groups among vectors: which texts are alike, how surely each belongs, and where the middle of a group is.

In hundreds of dimensions all vectors are about equally far from each other, so that no dense region can be
seen among fifty of them. They are first reduced to the few dimensions in which they differ most; there they
are joined two by two, the nearest first, and cut where the groups are most distinct (by their silhouette). A
group whose members are hardly more alike than any two vectors is taken for chance and left out; so is a small
one. This is the only module that uses scikit-learn and scipy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foreword.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

MIN_CLUSTER_SIZE = 5
"""At least this many experiences form a cluster."""

_DIMENSIONS = 8
_MAX_GROUPS = 40
_MIN_COHESION = 3.0
"""The members of a group must be more alike than any two vectors by at least this many standard deviations,
divided by the root of their number: of many it is less likely by chance. Among vectors whose dimensions were
shuffled, one group in twenty-five is; of those of real experiences, three in four."""

_MAX_DEVIATIONS = 0.5


@dataclass(frozen=True, slots=True)
class Centre:
    """The middle of a group, and the cosine distance of each of its vectors from it.

    `mean` and `deviation` are of the distances of each vector from the middle of the others: a vector pulls
    the middle towards itself, and without that pull its distance can be compared with a new text's.
    """

    vector: tuple[float, ...]
    distances: tuple[float, ...]
    mean: float
    deviation: float

    @property
    def max_distance(self) -> float:
        """The largest distance from the middle at which a text still speaks for the group."""
        return self.mean + _MAX_DEVIATIONS * self.deviation


def group_vectors(vectors: Sequence[Sequence[float]]) -> list[dict[int, float]]:
    """The groups among these vectors: each maps a member's place to how surely it belongs, 0 to 1.

    The group with the first vector comes first. Vectors that belong to no group are left out.
    """
    import numpy as np

    units = scale_to_unit_length(_subtract_mean(vectors))
    reduced = _reduce_dimensions(units)
    labels = _label_most_distinct_groups(reduced)
    alike, usual, deviation = units @ units.T, *_mean_and_deviation_of_cosines(units)
    found = []
    for label in dict.fromkeys(labels):
        places = np.flatnonzero(np.asarray(labels) == label)
        if len(places) < MIN_CLUSTER_SIZE:
            continue
        cohesion = _mean_cosine_within_group(alike[np.ix_(places, places)]) - usual
        if cohesion * np.sqrt(len(places)) >= _MIN_COHESION * deviation:
            middle = scale_to_unit_length(reduced[places].sum(axis=0)[None])[0]
            sure = np.clip(reduced[places] @ middle, 0.0, 1.0)
            found.append({int(at): float(one) for at, one in zip(places, sure, strict=True)})
    return found


def _subtract_mean(vectors: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """The vectors at length one, without their mean."""
    import numpy as np

    units = scale_to_unit_length(vectors)
    return np.asarray(units - units.mean(axis=0))


def _reduce_dimensions(units: NDArray[np.float64]) -> NDArray[np.float64]:
    """The vectors in the few dimensions in which they differ most, of length one."""
    import numpy as np

    _, _, directions = np.linalg.svd(units - units.mean(axis=0), full_matrices=False)
    return scale_to_unit_length(units @ directions[:_DIMENSIONS].T)


def _label_most_distinct_groups(reduced: NDArray[np.float64]) -> list[int]:
    """A group's label for each vector, for the number of groups at which they are most distinct."""
    import numpy as np

    cluster, silhouette = _import_clustering()
    distances = np.clip(1.0 - reduced @ reduced.T, 0.0, None)
    np.fill_diagonal(distances, 0.0)
    upper = distances[np.triu_indices(len(reduced), 1)]
    tree = cluster.linkage(upper, "average")
    best: list[int] = [1] * len(reduced)
    best_score = 0.0
    for count in range(2, min(_MAX_GROUPS, len(reduced) // MIN_CLUSTER_SIZE) + 1):
        labels = cluster.fcluster(tree, count, "maxclust").tolist()
        if not 1 < len(set(labels)) < len(labels):
            continue
        score = float(silhouette(distances, labels, metric="precomputed"))
        if score > best_score:
            best, best_score = labels, score
    return best


def _import_clustering() -> tuple[Any, Any]:
    """The clustering of scipy and the silhouette score of scikit-learn; MissingExtra without them."""
    try:
        from scipy.cluster import hierarchy
        from sklearn.metrics import silhouette_score
    except ImportError as error:
        raise MissingExtra("scikit-learn", "learn") from error
    return hierarchy, silhouette_score


def _mean_and_deviation_of_cosines(units: NDArray[np.float64]) -> tuple[float, float]:
    """The mean cosine of any two of these vectors, and its standard deviation."""
    import numpy as np

    pairs = (units @ units.T)[np.triu_indices(len(units), 1)]
    return float(pairs.mean()), float(pairs.std())


def _mean_cosine_within_group(alike: NDArray[np.float64]) -> float:
    """The mean cosine of two different members, from the matrix of their cosines."""
    import numpy as np

    return float(alike[np.triu_indices(len(alike), 1)].mean())


def find_centre(vectors: Sequence[Sequence[float]], weights: Sequence[float]) -> Centre:
    """The middle of these vectors, to which each pulls by its weight."""
    import numpy as np

    units, pull = scale_to_unit_length(vectors), np.asarray(weights, np.float64)[:, None]
    total = (units * pull).sum(axis=0)
    middle = scale_to_unit_length(total[None])[0]
    from_others = 1.0 - (units * scale_to_unit_length(total - units * pull)).sum(axis=1)
    return Centre(
        tuple(middle.tolist()),
        tuple((1.0 - units @ middle).tolist()),
        float(from_others.mean()),
        float(from_others.std()),
    )


def cosine_distance(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine distance of two vectors: 0 when they point the same way, at most 2."""
    units = scale_to_unit_length([one, other])
    return float(1.0 - units[0] @ units[1])


def scale_to_unit_length(vectors: Sequence[Sequence[float]] | NDArray[np.float64]) -> NDArray[np.float64]:
    """The vectors, each of length one."""
    import numpy as np

    values = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(values / np.maximum(lengths, 1e-12))
