"""How long something takes, how much memory it has, on which machine. Knows nothing of Foreword."""

from __future__ import annotations

import math
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Progress = Callable[[str, int, int], None]
"""Takes what is being done, how much of it is done, and of how much."""

Samples = dict[str, list[float]]
"""Measurements by name."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How measurements are spread: how many there are, and the values at four places."""

    count: int
    min: float
    p50: float
    p99: float
    max: float

    def as_dict(self) -> dict[str, float]:
        """The same as plain values."""
        return asdict(self)


def spread(samples: Sequence[float]) -> Spread:
    """The spread of some measurements, of which there must be one at least."""
    ordered = sorted(samples)

    def at(share: float) -> float:
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]

    return Spread(len(ordered), ordered[0], at(0.5), at(0.99), ordered[-1])


def spreads(samples: Samples) -> dict[str, dict[str, float]]:
    """The spread of each list of measurements, as plain values."""
    return {name: spread(values).as_dict() for name, values in samples.items()}


def milliseconds(work: Callable[[], object]) -> float:
    """How long something takes."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def both_clocks(work: Callable[[], object]) -> tuple[float, float]:
    """How long something takes, and how much of that this thread was computing; both in milliseconds."""
    computing = time.thread_time()
    taken = milliseconds(work)
    return taken, (time.thread_time() - computing) * 1000


def resident_bytes() -> int:
    """The memory of this process that is in RAM, mapped files included; its peak where no more is known."""
    return _status_bytes("VmRSS") or _peak_by_usage()


def peak_bytes() -> int:
    """The most memory this process has had in RAM."""
    return _status_bytes("VmHWM") or _peak_by_usage()


def _status_bytes(field: str) -> int:
    """A number of bytes from Linux's status of this process; 0 on other systems."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), 0)


def _peak_by_usage() -> int:
    """What every Unix knows; on Linux it would count what the parent had when it started us."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def filesystem(path: Path) -> str:
    """The type of the filesystem that holds a folder, or "unknown"."""
    mounts = Path("/proc/self/mountinfo")
    if not mounts.exists():
        return "unknown"
    found = [("", "unknown")]
    for line in mounts.read_text().splitlines():
        before, _, behind = line.partition(" - ")
        point = before.split()[4].replace("\\040", " ")
        if path.resolve().is_relative_to(point):
            found.append((point, behind.split()[0]))
    return max(found, key=lambda mount: len(mount[0]))[1]


def machine() -> dict[str, str | int | float]:
    """Where the measurements were made, and how busy it was then."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else -1.0
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": round(load, 2),
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
