"""Measures of time and memory, and the facts about this machine. Knows nothing of Foreword."""

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
"""A function of what is being done, how much of it is done, and how much there is."""

Samples = dict[str, list[float]]
"""Measurements by name."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The spread of measurements: their number, minimum, median, 99th percentile and maximum."""

    count: int
    min: float
    p50: float
    p99: float
    max: float

    def as_dict(self) -> dict[str, float]:
        """The same as plain values."""
        return asdict(self)


def spread(samples: Sequence[float]) -> Spread:
    """The spread of some measurements, at least one."""
    ordered = sorted(samples)

    def at(share: float) -> float:
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]

    return Spread(len(ordered), ordered[0], at(0.5), at(0.99), ordered[-1])


def spreads(samples: Samples) -> dict[str, dict[str, float]]:
    """The spread of each list of measurements, as plain values."""
    return {name: spread(values).as_dict() for name, values in samples.items()}


def time_milliseconds(work: Callable[[], object]) -> float:
    """How many milliseconds some work takes."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def time_wall_and_cpu_milliseconds(work: Callable[[], object]) -> tuple[float, float]:
    """How many milliseconds some work takes, and how many of them this thread was computing."""
    computing = time.thread_time()
    taken = time_milliseconds(work)
    return taken, (time.thread_time() - computing) * 1000


def resident_bytes() -> int:
    """The memory of this process in RAM, mapped files included; its peak on systems other than Linux."""
    return _status_bytes("VmRSS") or _peak_from_rusage()


def peak_bytes() -> int:
    """The peak of this process's memory in RAM."""
    return _status_bytes("VmHWM") or _peak_from_rusage()


def _status_bytes(field: str) -> int:
    """A number of bytes from Linux's status of this process; 0 on other systems."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), 0)


def _peak_from_rusage() -> int:
    """The peak as every Unix reports it; on Linux it would include the parent's memory at our start."""
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
    """The facts about this machine: processor, cores, system, Python, and its load now."""
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
