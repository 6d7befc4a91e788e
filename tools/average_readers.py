"""Write the reader whose weights are the mean of several readers' weights.

    python tools/average_readers.py --out reader.onnx STUDENT SHIPPED

A student that was taught further finds more of what is new in its lessons and loses some of what it knew; the
mean of the two keeps most of both. All readers must have been taught from the same one, so that their layers
correspond. The layers for requests are the last reader's. Needs onnx (`pip install '.[teach]'`).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reader_weights import Weights

_GLANCE_AFTER = 3


def main() -> None:
    """Read the readers, and write the mean of their weights with the last one's layers for requests."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("readers", type=Path, nargs="+", help="the model.onnx of each reader")
    parser.add_argument("--out", type=Path, required=True, help="the file for the mean")
    asked = parser.parse_args()
    try:
        import reader_graph
        from reader_weights import read_reader
    except ModuleNotFoundError as error:
        raise SystemExit(f"{error.name} is missing: pip install '.[teach]'") from error
    mean = average_weights([read_reader(path) for path in asked.readers])
    reader_graph.write_model(mean, _GLANCE_AFTER, asked.out)
    reader_graph.keep_requests(asked.out, asked.readers[-1], asked.out)
    print(f"{asked.out}: {asked.out.stat().st_size:,} bytes")  # noqa: T201


def average_weights(models: Sequence[Weights]) -> Weights:
    """The mean of every weight; SystemExit if the models have not the same parts."""
    first = models[0]
    if any(model.keys() != first.keys() for model in models):
        raise SystemExit("the readers do not have the same parts, so their weights have no mean")
    return {name: np.mean([model[name] for model in models], axis=0) for name in first}


if __name__ == "__main__":
    main()
