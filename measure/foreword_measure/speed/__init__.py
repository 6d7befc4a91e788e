"""Speed, measured on this machine: what an import, a write and a search cost, compared with targets.

The data are synthetic and always the same; they are written to a folder on a real disk and removed at the
end. Nothing here touches the user's own workspaces or settings, and nothing measures quality: that is
`foreword_measure.quality`.
"""

from __future__ import annotations

import os
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from foreword.errors import ValidationError
from foreword_measure.report import Report, Table
from foreword_measure.speed.clock import Progress, filesystem, machine

SIZES = (1_000, 10_000, 100_000)

_MODULES = {
    "import": "importing",
    "write": "writing",
    "search": "searching",
    "index": "indexing",
    "assemble": "assemble",
    "dialogue": "dialogue",
    "gap": "gap",
    "store": "graph_store",
    "ledger": "ledger",
    "hooks": "hooks",
    "proxy": "proxy",
    "view": "view",
    "scale": "scale",
}
"""The module that measures each part. It is imported when needed, so that a child loads only its own part."""

PARTS = tuple(_MODULES)
ONLY_IF_NAMED = frozenset({"scale"})
"""Parts that are measured only if they are named: they need servers, and hours at the largest size."""


def bench(
    parts: tuple[str, ...] = (),
    sizes: tuple[int, ...] = SIZES,
    progress: Progress = lambda _label, _done, _total: None,
    data: Path | None = None,
    *,
    stores: tuple[str, ...] = (),
    only_fill: bool = False,
) -> Report:
    """Measure some parts, or all but `scale`: search and scale at each size, the others at one size.

    `data` is a folder in which `scale` keeps its filled stores for the next time; with `only_fill` they are
    only filled. `stores` are those that `scale` measures (sqlite, postgres, qdrant); by default all.
    """
    _check_arguments(parts, sizes)
    if (data is not None or stores or only_fill) and parts != ("scale",):
        raise ValidationError(
            "only `scale` keeps its data and has stores; run: foreword bench scale --data DIR"
        )
    tables: list[Table] = []
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="foreword-bench-", dir=_folder_on_disk()) as name:
        folder = Path(name)
        folder.chmod(0o711)  # a server may have to run as another user
        found["machine"] = machine() | {"filesystem": filesystem(data or folder)}
        tables.append(_machine_table(found["machine"]))
        wanted = frozenset(parts) or frozenset(PARTS) - ONLY_IF_NAMED
        for part in (part for part in PARTS if part in wanted):
            module = import_module(f"{__name__}.{_MODULES[part]}")
            options = {"stores": stores, "only_fill": only_fill} if part == "scale" else {}
            more, found[part] = module.measure(_make_folder(data) or folder, sizes, progress, **options)
            tables += more
    return Report(tuple(tables), found)


def _make_folder(data: Path | None) -> Path | None:
    """The given folder, created if it is missing; None if none is given."""
    if data is not None and not data.exists():
        data.mkdir(parents=True)
        data.chmod(0o755)  # PostgreSQL may run as another user, who has to enter it
    return data


def _check_arguments(parts: tuple[str, ...], sizes: tuple[int, ...]) -> None:
    for part in parts:
        if part not in PARTS:
            raise ValidationError(f"nothing named {part!r} can be measured; there are: {', '.join(PARTS)}")
    if not sizes or min(sizes) < 1:
        raise ValidationError("sizes must be one or more numbers of items, each above 0")


def _folder_on_disk() -> str:
    """The folder to write to: TMPDIR if it is set, else this one, as the system's own may be in memory."""
    chosen = os.environ.get("TMPDIR") or str(Path.cwd())
    return chosen if os.access(chosen, os.W_OK) else tempfile.gettempdir()


def _machine_table(facts: dict[str, Any]) -> Table:
    notes: list[str] = []
    if facts["filesystem"] in ("tmpfs", "ramfs"):
        notes.append("this filesystem is memory, faster than a disk; set TMPDIR to a folder on one")
    if facts["load"] > facts["cores"] / 2:
        notes.append("the machine was busy with something else; run this again when it is not")
    return Table("Machine", tuple(facts), (tuple(facts.values()),), tuple(notes))
