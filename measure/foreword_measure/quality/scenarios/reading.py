"""Reads scenarios from a file, one on each line: a history of events, and the questions asked about it.

    id, title, language    the language as an ISO code
    recipe                 coding, chat or dialogue
    events                 at, role, session, and what belongs to the role
    asks                   id, at, session, text (or event "start"), needs, forbids, helps, silent, budget,
                           alert

A malformed line is refused with a ValidationError that names the file, the line and the place in it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError

if TYPE_CHECKING:
    from pathlib import Path

    Fact = tuple[str, ...]
    """The wordings of a fact, any of which will do."""

DEFAULT_BUDGET = 2000

_SPOKEN = ("user", "assistant")
_EVERYWHERE = (*_SPOKEN, "tool", "memory", "document", "start", "end", "compact")
ROLES = {
    "coding": (*_EVERYWHERE, "file", "commit"),
    "chat": _EVERYWHERE,
    "dialogue": _EVERYWHERE,
}
"""The recipes, and the roles of the events that each can replay."""

_WITH_TEXT = (*_SPOKEN, "memory", "document", "commit")
_WITH_PATH = ("file", "document")


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a history; which fields are filled depends on the role."""

    at: datetime
    role: str
    session: str = ""
    text: str = ""
    tool: str = ""
    input: str = ""
    exit: int = 0
    type: str = ""
    path: str = ""
    files: tuple[str, ...] = ()

    @property
    def is_turn(self) -> bool:
        """Whether it is a turn of the user or the assistant."""
        return self.role in _SPOKEN


@dataclass(frozen=True, slots=True)
class Ask:
    """A question, the facts its answer must have and must not have, and whether it should have an answer.

    `alert` is None if an alert about a change of subject is neither wanted nor wrong.
    """

    id: str
    at: datetime
    session: str
    text: str = ""
    starts_session: bool = False
    needs: tuple[Fact, ...] = ()
    forbids: tuple[Fact, ...] = ()
    helps: tuple[Fact, ...] = ()
    silent: bool = False
    budget: int = DEFAULT_BUDGET
    alert: bool | None = None

    @property
    def kind(self) -> str:
        """The kind of ask: a session's start, silence, a fact that replaced another, or a plain fact."""
        if self.starts_session:
            return "start"
        return "silent" if self.silent else "forbids" if self.forbids else "plain"


@dataclass(frozen=True, slots=True)
class Scenario:
    """A history and its questions, both in order of time."""

    id: str
    title: str
    language: str
    recipe: str
    events: tuple[Event, ...]
    asks: tuple[Ask, ...]

    def in_order(self) -> list[Event | Ask]:
        """Events and asks by time; an ask comes after events of the same time."""
        return sorted((*self.events, *self.asks), key=lambda entry: (entry.at, isinstance(entry, Ask)))


@dataclass(frozen=True, slots=True)
class Answer:
    """What was injected for an ask: the text, and the wording of each injected item.

    `alert` is None for runs that never give alerts.
    """

    ask: str
    text: str = ""
    pieces: tuple[str, ...] = ()
    alert: bool | None = None


def read_scenarios(path: Path, limit: int | None = None) -> list[Scenario]:
    """The scenarios of a file, or the first `limit` of them."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ValidationError(f"cannot read {path}: {error}; give a file of JSON lines") from error
    scenarios = [
        _read_scenario(_Fields.of_line(f"{path}, line {number}", line))
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    if not scenarios:
        raise ValidationError(f"{path} holds no scenario; write one on each line, as a JSON object")
    _check_names(path, scenarios)
    return scenarios[:limit]


def _check_names(path: Path, scenarios: list[Scenario]) -> None:
    """Raise ValidationError if two scenarios or two asks have the same id."""
    names = [scenario.id for scenario in scenarios]
    asks = [ask.id for scenario in scenarios for ask in scenario.asks]
    for what, ids in (("scenarios", names), ("asks", asks)):
        if twice := next((one for one in ids if ids.count(one) > 1), None):
            raise ValidationError(f"{path}: two {what} have the id {twice!r}; give each its own")


def _read_scenario(line: _Fields) -> Scenario:
    recipe = line.choice("recipe", tuple(ROLES))
    events = [_read_event(fields, recipe) for fields in line.objects("events")]
    asks = [_read_ask(fields, recipe) for fields in line.objects("asks")]
    return Scenario(
        id=line.text("id"),
        title=line.text("title", ""),
        language=line.text("language", "en"),
        recipe=recipe,
        events=tuple(sorted(events, key=lambda event: event.at)),
        asks=tuple(sorted(asks, key=lambda ask: ask.at)),
    )


def _read_event(fields: _Fields, recipe: str) -> Event:
    role = fields.choice("role", ROLES[recipe], f" in the recipe {recipe}")
    return Event(
        at=fields.moment("at"),
        role=role,
        session=fields.text("session", ""),
        text=fields.text("text", None if role in _WITH_TEXT else ""),
        tool=fields.text("tool", None if role == "tool" else ""),
        input=fields.text("input", ""),
        exit=fields.whole_number("exit", 0),
        type=fields.text("type", ""),
        path=fields.inner_path("path") if role in _WITH_PATH else "",
        files=fields.inner_paths("files"),
    )


def _read_ask(fields: _Fields, recipe: str) -> Ask:
    starts = "event" in fields.values
    if starts and (recipe != "coding" or fields.values["event"] != "start"):
        raise fields.error("'event' can only be \"start\", in the recipe coding")
    budget = fields.whole_number("budget", DEFAULT_BUDGET)
    if budget < 1:
        raise fields.error("'budget' must be at least 1")
    return Ask(
        id=fields.text("id"),
        at=fields.moment("at"),
        session=fields.text("session", ""),
        text=fields.text("text", "" if starts else None),
        starts_session=starts,
        needs=fields.facts("needs"),
        forbids=fields.facts("forbids"),
        helps=fields.facts("helps"),
        silent=bool(fields.truth("silent")),
        budget=budget,
        alert=fields.truth("alert"),
    )


@dataclass(frozen=True, slots=True)
class _Fields:
    """A JSON object, and its place for error messages."""

    where: str
    values: dict[str, Any]

    @classmethod
    def of_line(cls, where: str, line: str) -> _Fields:
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValidationError(f"{where}: not JSON: {error}") from None
        return cls(where, values).check_is_object()

    def check_is_object(self) -> _Fields:
        if not isinstance(self.values, dict):
            raise self.error("not a JSON object")
        return self

    def error(self, problem: str) -> ValidationError:
        return ValidationError(f"{self.where}: {problem}")

    def text(self, name: str, default: str | None = None) -> str:
        """The text of a field; without a default it must be present and not blank."""
        value = self.values.get(name, default)
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.error(f"'{name}' must be a text" + (" that is not empty" if default is None else ""))
        return value

    def choice(self, name: str, allowed: tuple[str, ...], where: str = "") -> str:
        value = self.values.get(name)
        if value not in allowed:
            raise self.error(f"no {name} {value!r}{where}; there are: {', '.join(allowed)}")
        return str(value)

    def moment(self, name: str) -> datetime:
        try:
            moment = datetime.fromisoformat(self.text(name))
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            raise self.error(f"'{name}' must be a time with its zone, such as 2025-03-03T09:12:00Z")
        return moment

    def whole_number(self, name: str, default: int) -> int:
        value = self.values.get(name, default)
        if type(value) is not int:
            raise self.error(f"'{name}' must be a whole number")
        return value

    def truth(self, name: str) -> bool | None:
        value = self.values.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.error(f"'{name}' must be true or false")
        return value

    def objects(self, name: str) -> list[_Fields]:
        """The objects in a list, each with its place for error messages."""
        values = self.values.get(name)
        if not isinstance(values, list):
            raise self.error(f"'{name}' must be a list")
        return [
            _Fields(f"{self.where}, {name} {number}", value).check_is_object()
            for number, value in enumerate(values, 1)
        ]

    def facts(self, name: str) -> tuple[Fact, ...]:
        values = self.values.get(name, [])
        well = isinstance(values, list) and all(isinstance(fact, list) and fact for fact in values)
        if not well or not all(isinstance(word, str) and word.strip() for fact in values for word in fact):
            raise self.error(f"'{name}' must be a list of facts, each a list of wordings")
        return tuple(map(tuple, values))

    def inner_path(self, name: str) -> str:
        return self._check_path(name, self.values.get(name))

    def inner_paths(self, name: str) -> tuple[str, ...]:
        values = self.values.get(name, [])
        if not isinstance(values, list):
            raise self.error(f"'{name}' must be a list of paths")
        return tuple(self._check_path(name, value) for value in values)

    def _check_path(self, name: str, value: object) -> str:
        """A path inside the repository; ValidationError for others, so that nothing is written elsewhere."""
        path = PurePosixPath(value) if isinstance(value, str) and value.strip() else None
        if path is None or path.is_absolute() or {"..", ".git"}.intersection(path.parts) or not path.parts:
            raise self.error(f"'{name}' must be a path inside the repository, not {value!r}")
        return str(path)
