"""Which workspace a folder belongs to: the git repository around it, else the folder itself.

The answer is the real path, so that a repository reached through a link is the same workspace.
"""

from __future__ import annotations

from pathlib import Path


def workspace_of(folder: Path) -> str:
    """The workspace of a folder: the real path of the git repository around it, else of the folder."""
    here = Path(folder).resolve()
    for candidate in (here, *here.parents):
        if (candidate / ".git").exists():
            return str(candidate)
    return str(here)
