"""Which vectors lie close together, and where the middle of them is. The only module that knows scikit-learn.

Groups are found by density (HDBSCAN): their number is not given, and what belongs to none is left out. On
vectors of length one the euclidean distance orders pairs as the cosine does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

MIN_CLUSTER_SIZE = 5
MIN_SAMPLES = 3
_REACH = 0.5


@dataclass(frozen=True, slots=True)
class Group:
    """Vectors that lie close together: their places in what was given, and how surely each belongs."""

    places: tuple[int, ...]
    sureness: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Centre:
    """The middle of a group, and how far each of its vectors is from there (cosine).

    `mean` and `deviation` say what is usual: how far each vector is from the middle of the others. Its own
    pull left out, a member stands there as a stranger does, and the two can be compared.
    """

    vector: tuple[float, ...]
    distances: tuple[float, ...]
    mean: float
    deviation: float

    @property
    def reach(self) -> float:
        """How far from the middle one may be and still speak for the group."""
        return self.mean + _REACH * self.deviation


def groups(vectors: Sequence[Sequence[float]]) -> list[Group]:
    """The groups among these vectors, in the order in which their first members come."""
    import numpy as np

    try:
        from sklearn.cluster import HDBSCAN
    except ImportError as error:
        raise MissingExtra("scikit-learn", "learn") from error
    found = HDBSCAN(
        min_cluster_size=MIN_CLUSTER_SIZE,
        min_samples=MIN_SAMPLES,
        metric="euclidean",
        algorithm="brute",  # in hundreds of dimensions a tree compares everything too, and more slowly
        cluster_selection_method="eom",
        copy=True,
    ).fit(_units(vectors))
    labels, sureness = found.labels_.tolist(), found.probabilities_.tolist()
    first_met = [label for label in dict.fromkeys(labels) if label >= 0]
    members = [np.flatnonzero(found.labels_ == label).tolist() for label in first_met]
    return [Group(tuple(places), tuple(sureness[place] for place in places)) for places in members]


def centre(vectors: Sequence[Sequence[float]], weights: Sequence[float]) -> Centre:
    """The middle of these vectors, to which each pulls by its weight."""
    import numpy as np

    units, pull = _units(vectors), np.asarray(weights, np.float64)[:, None]
    whole = (units * pull).sum(axis=0)
    middle = _units(whole[None])[0]
    apart = 1.0 - (units * _units(whole - units * pull)).sum(axis=1)
    return Centre(
        tuple(middle.tolist()),
        tuple((1.0 - units @ middle).tolist()),
        float(apart.mean()),
        float(apart.std()),
    )


def distance(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine distance of two vectors: 0 when they point the same way, 2 at most."""
    units = _units([one, other])
    return float(1.0 - units[0] @ units[1])


def _units(vectors: Sequence[Sequence[float]] | NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    values = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(values / np.maximum(lengths, 1e-12))
