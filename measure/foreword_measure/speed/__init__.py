"""Speed, measured on this machine: what an import, a write and a search cost, beside what was promised.

The data are made up and always the same; they are written to a folder on a real disk and removed at the end.
Nothing here touches the user's own workspaces or settings, and nothing says anything about quality: that is
`foreword_measure.quality`.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError
from foreword_measure.report import Report, Table
from foreword_measure.speed import assemble, dialogue, gap, hooks, importing, indexing, searching, writing
from foreword_measure.speed.measure import Progress, filesystem, machine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SIZES = (1_000, 10_000, 100_000)

_Measured = tuple[list[Table], dict[str, Any]]
_MEASURES: Mapping[str, Callable[[Path, tuple[int, ...], Progress], _Measured]] = {
    "import": lambda _folder, _sizes, progress: importing.measure(progress),
    "write": lambda folder, sizes, progress: writing.measure(folder, max(sizes), progress),
    "search": searching.measure,
    "index": lambda folder, sizes, progress: indexing.measure(folder, max(sizes), progress),
    "assemble": assemble.measure,
    "dialogue": dialogue.measure,
    "gap": gap.measure,
    "hooks": hooks.measure,
}
PARTS = tuple(_MEASURES)


def bench(
    parts: tuple[str, ...] = (),
    sizes: tuple[int, ...] = SIZES,
    progress: Progress = lambda _label, _done, _total: None,
) -> Report:
    """Measure some parts, or all of them; search is measured at each size, writing with up to the largest."""
    _refuse(parts, sizes)
    tables: list[Table] = []
    data: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="foreword-bench-", dir=_disk()) as name:
        folder = Path(name)
        data["machine"] = machine() | {"filesystem": filesystem(folder)}
        tables.append(_machine(data["machine"]))
        for part in (part for part in PARTS if part in parts or not parts):
            made, data[part] = _MEASURES[part](folder, sizes, progress)
            tables += made
    return Report(tuple(tables), data)


def _refuse(parts: tuple[str, ...], sizes: tuple[int, ...]) -> None:
    for part in parts:
        if part not in PARTS:
            raise ValidationError(f"nothing named {part!r} can be measured; there are: {', '.join(PARTS)}")
    if not sizes or min(sizes) < 1:
        raise ValidationError("sizes must be one or more numbers of items, each above 0")


def _disk() -> str:
    """Where to write: TMPDIR when it is set, else here, as the system's own may be memory."""
    chosen = os.environ.get("TMPDIR") or str(Path.cwd())
    return chosen if os.access(chosen, os.W_OK) else tempfile.gettempdir()


def _machine(facts: dict[str, Any]) -> Table:
    notes: list[str] = []
    if facts["filesystem"] in ("tmpfs", "ramfs"):
        notes.append("this filesystem is memory, faster than a disk; set TMPDIR to a folder on one")
    if facts["load"] > facts["cores"] / 2:
        notes.append("the machine was busy with something else; run this again when it is not")
    return Table("Machine", tuple(facts), (tuple(facts.values()),), tuple(notes))
