"""What a service counts about itself: requests and their times by event, and what went wrong.

Holds numbers and the names of events, never the content of an event. Memory is bounded: the last few hundred
times of each event name, for a bounded number of names.
"""

from __future__ import annotations

import os
import re
import resource
import sys
import threading
import time
from collections import Counter, deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MAX_TIMES = 512
_MAX_EVENTS = 40
_EVENT_NAME = re.compile(rb'"hook_event_name"\s*:\s*"(\w{1,40})"')
_SEARCHED_BYTES = 65_536
TROUBLES = ("refused", "late", "failed", "strangers", "malformed")


def find_event_name(payload: bytes) -> str:
    """The event's name, if it is near its beginning, else `other`; for counting only."""
    name = _EVENT_NAME.search(payload[:_SEARCHED_BYTES])
    return name[1].decode() if name else "other"


def resident_bytes() -> int:
    """The memory of this process that is in RAM, in bytes; its peak on systems that report no more."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")


class ServiceMeasures:
    """Counts since the service began; safe to use from several threads."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._requests: Counter[str] = Counter()
        self._times: dict[str, deque[float]] = {}
        self._troubles: Counter[str] = Counter()

    def count_request(self, event: str, milliseconds: float) -> None:
        """Count a request, and the milliseconds until it was answered."""
        with self._lock:
            name = event if event in self._times or len(self._times) < _MAX_EVENTS else "other"
            self._requests[name] += 1
            self._times.setdefault(name, deque(maxlen=_MAX_TIMES)).append(milliseconds)

    def count_trouble(self, trouble: str) -> None:
        """Count one of `TROUBLES`."""
        with self._lock:
            self._troubles[trouble] += 1

    def snapshot(self) -> dict[str, Any]:
        """Everything counted, as plain values."""
        with self._lock:
            events = {
                name: {"count": self._requests[name], **_time_quantiles(times)}
                for name, times in sorted(self._times.items())
            }
            troubles = {trouble: self._troubles[trouble] for trouble in TROUBLES}
        return {"uptime_seconds": round(time.monotonic() - self._began, 1), "events": events, **troubles}


def _time_quantiles(times: Sequence[float]) -> dict[str, float]:
    """The median and the 99th percentile of these milliseconds."""
    ordered = sorted(times)
    places = {"p50_ms": len(ordered) // 2, "p99_ms": min(len(ordered) - 1, int(0.99 * len(ordered)))}
    return {name: round(ordered[place], 2) for name, place in places.items()}


def prometheus_text(status: Mapping[str, Any]) -> str:
    """A service's status in the text format of Prometheus."""
    single_values = [
        ("uptime_seconds", "gauge", "How long the service has run.", status["uptime_seconds"]),
        ("resident_bytes", "gauge", "Memory of the service in RAM.", status["resident_bytes"]),
        ("in_flight", "gauge", "Requests being worked on.", status["in_flight"]),
        ("spool_files", "gauge", "Events that wait in the spool.", status["spool"]["files"]),
        ("spool_bytes", "gauge", "Bytes that wait in the spool.", status["spool"]["bytes"]),
        *((f"{name}_total", "counter", f"Requests that were {name}.", status[name]) for name in TROUBLES),
    ]
    lines: list[str] = []
    for name, kind, text, value in single_values:
        lines += [*_format_metric_head(name, kind, text), f"foreword_{name} {value}"]
    lines += _format_metric_head("requests_total", "counter", "Requests answered, by event.")
    lines += [
        f'foreword_requests_total{{event="{event}"}} {facts["count"]}'
        for event, facts in status["events"].items()
    ]
    text = "Time to an answer, over the last few hundred."
    lines += _format_metric_head("request_seconds", "summary", text)
    for event, facts in status["events"].items():
        for quantile, key in (("0.5", "p50_ms"), ("0.99", "p99_ms")):
            label = f'{{event="{event}",quantile="{quantile}"}}'
            lines.append(f"foreword_request_seconds{label} {facts[key] / 1000:.6f}")
    return "\n".join(lines) + "\n"


def _format_metric_head(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP foreword_{name} {text}", f"# TYPE foreword_{name} {kind}"]
