"""The three kinds of file that an installation touches, and what in them is Foreword's.

Each can say which parts of a text are Foreword's, add such parts to a text, and take them out. None reads or
writes a file: `plan` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from foreword.edges.install import json_text, toml_text
from foreword.edges.install.commands import is_ours
from foreword.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Parts = dict[tuple[str, ...], Any]
"""What is Foreword's in a file, by where it stands; at `hooks` and an event it is a group in that list."""


class Target(Protocol):
    """A file that should hold some parts of ours."""

    @property
    def path(self) -> Path:
        """Where it is."""
        ...

    @property
    def wanted(self) -> Parts:
        """The parts it should hold; none when they should go."""
        ...

    def ours(self, text: str) -> Parts:
        """The parts of ours that a text holds."""
        ...

    def added(self, text: str, parts: Parts) -> str:
        """A text that holds none of ours, with these parts added."""
        ...

    def removed(self, text: str) -> str:
        """The text without what is ours."""
        ...


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A JSON file with groups of hooks, members of our name, or both."""

    path: Path
    wanted: Parts
    members: tuple[tuple[str, ...], ...] = ()
    comments: bool = False

    def ours(self, text: str) -> Parts:
        """Each group that runs our client, a list where there are several, and each member of our name."""
        whole = self._whole(text)
        groups: dict[str, list[Any]] = {}
        for event, place, _ in _hooks(whole):
            groups.setdefault(event, []).append(whole["hooks"][event][place])
        parts: Parts = {("hooks", event): one[0] if len(one) == 1 else one for event, one in groups.items()}
        for path in self.members:
            if (found := json_text.at(whole, path)) is not None:
                parts[path] = found
        order = list(self.wanted)
        return dict(sorted(parts.items(), key=lambda one: order.index(one[0]) if one[0] in order else 99))

    def added(self, text: str, parts: Parts) -> str:
        """Groups go to the end of their event's list, members to the end of their object."""
        for path, new in parts.items():
            write = json_text.append if path[0] == "hooks" else json_text.put
            text = write(text, path, new, comments=self.comments)
        return text

    def removed(self, text: str) -> str:
        """Our hooks go, one by one, then our members; what this leaves empty goes with them."""
        while found := list(_hooks(self._whole(text))):
            event, group, hook = found[-1]
            text = json_text.delete(text, ("hooks", event, group, "hooks", hook), comments=self.comments)
        for path in self.members:
            if json_text.at(self._whole(text), path) is not None:
                text = json_text.delete(text, path, comments=self.comments)
        return text

    def _whole(self, text: str) -> dict[str, Any]:
        whole = json_text.value(text, comments=self.comments)
        if not isinstance(whole, dict):
            raise ValidationError("it is not a JSON object")
        return whole


def _hooks(whole: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Where our hooks stand: the event, the number of the group, the number of the hook in it."""
    events = whole.get("hooks")
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
    table: tuple[str, str]

    def ours(self, text: str) -> Parts:
        """Our table, if it is there."""
        found = json_text.at(toml_text.value(text), self.table)
        return {} if found is None else {self.table: found}

    def added(self, text: str, parts: Parts) -> str:
        """Our table goes to the end."""
        for new in parts.values():
            text = toml_text.put(text, self.table, new)
        return text

    def removed(self, text: str) -> str:
        """Our table goes, with the tables below it."""
        return toml_text.delete(text, self.table) if self.ours(text) else text


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

    def added(self, text: str, parts: Parts) -> str:
        """The whole text."""
        return text + "".join(parts.values())

    def removed(self, text: str) -> str:
        """Nothing is left."""
        return "" if self.ours(text) else text
