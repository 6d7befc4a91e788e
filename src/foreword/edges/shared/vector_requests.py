"""Workspaces whose vectors the service is asked to make in the background: a file for each, until it begins.

A process that stores much, such as `foreword index --no-wait`, writes the file; the service takes it, whether
it runs already or starts later. Vectors that the service does not finish are made when the workspace is next
opened, so a lost file does no harm.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from foreword.edges.shared.private_files import make_private_folder

_FOLDER = "vector-requests"


def request_vectors(home: Path, workspace: str) -> None:
    """Ask the service of this home to make the vectors that a workspace lacks. May raise OSError."""
    folder = Path(make_private_folder(str(home), _FOLDER))
    name = hashlib.sha256(workspace.encode(errors="surrogatepass")).hexdigest()[:32]
    half_made = folder / f".{name}"
    half_made.write_text(workspace, errors="surrogatepass")
    half_made.replace(folder / name)


def pop_workspaces_requesting_vectors(home: Path) -> list[str]:
    """The workspaces whose vectors were requested since the last call; their request files are deleted."""
    folder = home / _FOLDER
    taken = []
    for file in sorted(folder.glob("[!.]*")) if folder.is_dir() else ():
        taken.append(file.read_text(errors="surrogatepass"))
        file.unlink()
    return taken
