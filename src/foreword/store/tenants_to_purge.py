"""Workspaces whose databases were purged, but whose vectors a server may still have.

A purge removes databases and their outboxes, so what the server has yet to delete waits in a folder of its
own: a workspace's hash is the name of a file, and the server's address its content. Neither says anything
about what was remembered. Nothing here talks to a server.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from foreword.store.owner_files import make_private_durable_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FOLDER = "vectors-to-remove"


class TenantsToPurge:
    """The tenants that servers have to delete, in a folder under the home. Safe for many processes."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    def add(self, server: str, tenants: Iterable[str]) -> None:
        """Note that a server has to delete these tenants; survives the end of this process."""
        for tenant in tenants:
            make_private_durable_folder(self._folder)
            (self._folder / tenant).write_text(server, encoding="utf-8")

    def list_tenants_to_delete(self, server: str) -> list[str]:
        """The tenants that a server has yet to delete."""
        if not self._folder.is_dir():
            return []
        return [path.name for path in sorted(self._folder.iterdir()) if path.read_text("utf-8") == server]

    def remove(self, tenant: str) -> None:
        """Note that a tenant was deleted."""
        (self._folder / tenant).unlink(missing_ok=True)
        with suppress(OSError):  # others are still waiting
            self._folder.rmdir()
