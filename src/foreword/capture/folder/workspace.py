"""Finds the workspace that a folder belongs to: the git repository around it, else the folder itself.

Its name is the real path, so that a repository reached through a link is the same workspace.
"""

from __future__ import annotations

from pathlib import Path


def workspace_of(folder: Path) -> str:
    """The real path of the git repository around a folder, or else of the folder itself."""
    here = Path(folder).resolve()
    for candidate in (here, *here.parents):
        if (candidate / ".git").exists():
            return str(candidate)
    return str(here)
