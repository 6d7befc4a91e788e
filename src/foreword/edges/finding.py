"""What the doctor says of one thing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what it is, whether it is well, and what to do if not."""

    name: str
    value: str
    ok: bool = True
    advice: str = ""
