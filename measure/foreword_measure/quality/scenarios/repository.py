"""The git repository of a coding scenario: its files change and are committed at the scenario's times."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from foreword.errors import ValidationError

if TYPE_CHECKING:
    from pathlib import Path

    from foreword_measure.quality.scenarios.reading import Event

_SETTINGS = ("user.name=Author", "user.email=author@example.invalid", "init.defaultBranch=main")
_COMMAND = ("git", *(word for setting in _SETTINGS for word in ("-c", setting)))
_OWN_SETTINGS_ONLY = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


class Repository:
    """A git repository in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder.resolve()
        self._changed: set[str] = set()
        self._git("init", "--quiet")

    def change(self, event: Event) -> None:
        """Write a file, or commit the files that a commit names."""
        if event.role == "file":
            self._write(event, event.path, event.text)
        else:
            self._commit(event)

    def _write(self, event: Event, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        os.utime(file, times=(event.at.timestamp(), event.at.timestamp()))
        self._changed.add(path)

    def _commit(self, event: Event) -> None:
        """Commit; a file whose change the scenario does not contain gets one more empty line."""
        for path in event.files:
            if path not in self._changed:
                file = self.folder / path
                before = file.read_text(encoding="utf-8") if file.exists() else ""
                self._write(event, path, f"{before}\n")
        if event.files:
            self._git("add", "--force", "--", *event.files)
        self._changed.difference_update(event.files)
        moment = event.at.isoformat()
        dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
        self._git("commit", "--quiet", "--allow-empty", "--message", event.text, **dates)

    def _git(self, *arguments: str, **variables: str) -> None:
        around = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        try:
            subprocess.run(  # noqa: S603  (a fixed program; what a scenario says is one argument)
                [*_COMMAND, "-C", str(self.folder), *arguments],
                check=True,
                capture_output=True,
                text=True,
                env=around | _OWN_SETTINGS_ONLY | variables,
            )
        except FileNotFoundError:
            raise ValidationError("git is not installed; scenarios of the recipe coding need it") from None
        except subprocess.CalledProcessError as error:
            raise ValidationError(f"git {arguments[0]} failed: {error.stderr.strip()}") from None
