"""The mean of several readers' weights."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from average_readers import average_weights


def test_every_weight_is_the_mean_of_the_models_weights():
    mean = average_weights([{"pool": np.array([1.0, 4.0])}, {"pool": np.array([3.0, 0.0])}])
    assert mean["pool"].tolist() == [2.0, 2.0]


def test_models_with_other_parts_are_refused():
    with pytest.raises(SystemExit, match="do not have the same parts"):
        average_weights([{"pool": np.zeros(2)}, {"helps": np.zeros(2)}])
