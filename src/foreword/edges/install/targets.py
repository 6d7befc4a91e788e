"""The three kinds of file that an installation touches, and what in them is Foreword's.

Each says which parts of a text are Foreword's (`ours`), adds such parts to a text that holds none, and
removes them from a text. Reading and writing files is left to `changes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foreword.edges.install import settings_text
from foreword.edges.install.commands import is_ours
from foreword.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Parts = dict[tuple[str, ...], Any]
"""What is Foreword's in a file, by its path there; at `hooks` and an event it is a group in that list."""


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A JSON file with groups of hooks, members of our name, or both."""

    path: Path
    wanted: Parts
    members: tuple[tuple[str, ...], ...] = ()
    comments: bool = False

    def ours(self, text: str) -> Parts:
        """Each group that runs our client, a list where there are several, and each member of our name."""
        settings = self._read_settings(text)
        groups: dict[str, list[Any]] = {}
        for event, place, _ in _locate_our_hooks(settings):
            groups.setdefault(event, []).append(settings["hooks"][event][place])
        parts: Parts = {
            ("hooks", event): ours[0] if len(ours) == 1 else ours for event, ours in groups.items()
        }
        for path in self.members:
            if (member := settings_text.at(settings, path)) is not None:
                parts[path] = member
        order = list(self.wanted)
        return dict(sorted(parts.items(), key=lambda part: order.index(part[0]) if part[0] in order else 99))

    def add(self, text: str, parts: Parts) -> str:
        """Groups go to the end of their event's list, members to the end of their object."""
        for path, new in parts.items():
            write = settings_text.append_json if path[0] == "hooks" else settings_text.put_json
            text = write(text, path, new, comments=self.comments)
        return text

    def remove(self, text: str) -> str:
        """Our hooks go, one by one, then our members; what this leaves empty goes with them."""
        while hooks := list(_locate_our_hooks(self._read_settings(text))):
            event, group, hook = hooks[-1]
            path = ("hooks", event, group, "hooks", hook)
            text = settings_text.delete_json(text, path, comments=self.comments)
        for member in self.members:
            if settings_text.at(self._read_settings(text), member) is not None:
                text = settings_text.delete_json(text, member, comments=self.comments)
        return text

    def _read_settings(self, text: str) -> dict[str, Any]:
        """The settings as a JSON object; an error when they are anything else."""
        settings = settings_text.read_json(text, comments=self.comments)
        if not isinstance(settings, dict):
            raise ValidationError("it is not a JSON object")
        return settings


def _locate_our_hooks(settings: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Where our hooks stand: the event, the number of the group, the number of the hook in it."""
    events = settings.get("hooks")
    for event, groups in events.items() if isinstance(events, dict) else ():
        for place, group in enumerate(groups if isinstance(groups, list) else ()):
            hooks = group.get("hooks") if isinstance(group, dict) else None
            for number, hook in enumerate(hooks if isinstance(hooks, list) else ()):
                if isinstance(hook, dict) and is_ours(hook.get("command")):
                    yield event, place, number


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A TOML file with one table of ours."""

    path: Path
    wanted: Parts
    table: settings_text.Table

    def ours(self, text: str) -> Parts:
        """Our table, if it is there."""
        table = settings_text.at(settings_text.read_toml(text), self.table)
        return {} if table is None else {self.table: table}

    def add(self, text: str, parts: Parts) -> str:
        """Our table goes to the end."""
        for new in parts.values():
            text = settings_text.put_table(text, self.table, new)
        return text

    def remove(self, text: str) -> str:
        """Our table goes, with the tables below it."""
        return settings_text.delete_table(text, self.table) if self.ours(text) else text


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file that is ours from the first byte to the last; `mark` is how it is known again."""

    path: Path
    wanted: Parts
    mark: str

    def ours(self, text: str) -> Parts:
        """The whole text, if it bears our mark; a foreign file of that name is refused."""
        if not text:
            return {}
        if self.mark not in text:
            raise ValidationError("it was not written by Foreword; move it away first")
        return {("",): text}

    def add(self, text: str, parts: Parts) -> str:
        """The whole text."""
        return text + "".join(parts.values())

    def remove(self, text: str) -> str:
        """Nothing is left."""
        return "" if self.ours(text) else text


Target = JsonFile | TomlFile | WholeFile
"""A file at a path that should hold the wanted parts of ours; where none are wanted, they should go."""
