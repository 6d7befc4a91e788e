"""Where a folder that is read lies, and how the paths of its files are told: as seen from a workspace."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from foreword.capture.folder.decode import path_text


@dataclass(frozen=True, slots=True)
class Root:
    """A folder as a workspace sees it.

    Paths are told from the workspace's own folder, or, outside of it, from the root. A mark is kept under a
    path that no file of another folder can have.
    """

    folder: Path
    shown: str
    marked: str

    @classmethod
    def of(cls, folder: Path, workspace: str) -> Root:
        """The root that a folder is for a workspace."""
        real = Path(os.path.realpath(folder))
        own = Path(workspace)
        if own.is_absolute() and real.is_relative_to(home := Path(os.path.realpath(own))):
            inside = path_text(real.relative_to(home).as_posix())
            prefix = "" if inside == "." else f"{inside}/"
            return cls(real, prefix, prefix)
        name, marked = path_text(real.name), path_text(real.as_posix())
        return cls(real, f"{name}/" if name else "", f"{marked.rstrip('/')}/")

    @property
    def outside(self) -> str:
        """The folder, where it is neither the workspace's own nor in it: a path as shown leads to no file."""
        return "" if self.shown == self.marked else path_text(str(self.folder))

    def holds(self, mark: str) -> bool:
        """Whether a mark is that of a file below the root."""
        return mark.startswith(self.marked) and (bool(self.marked) or not mark.startswith("/"))

    def identity(self) -> tuple[int, int] | None:
        """What tells the folder from another of the same name; None when it cannot be looked at."""
        try:
            found = self.folder.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino
