"""An agent's companion in a team: it asks the team's service, and stands in for it while that is away.

What happens in workspaces that the token does not name stays with this machine's own companion. While the
team's service is away, prompts are answered from a copy of the newest items, which nothing but the team's
service changes; events are not taken, so that they wait in the spool and arrive there later, once. When the
token is no longer accepted, the copy says nothing and is removed.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.capture.jsonl import read_lines
from foreword.edges.service.team_link import TeamAway, TeamMembership, TeamRefusal, name_for_team
from foreword.errors import ForewordError
from foreword.log import get_logger
from foreword.recipes.coding.companion import Companion, Saying
from foreword.store.base import Delete
from foreword.types import Filters, Item

if TYPE_CHECKING:
    from foreword.capture.agent import AgentEvent
    from foreword.edges.service.team_link import TeamLink
    from foreword.engine.context_engine import ContextEngine

_log = get_logger("foreword.team")

_SHARE_OF_DEADLINE = 0.6
"""Which share of a deadline the team's service has; the rest is for the copy, if it does not answer."""
_DEFAULT_SECONDS = 3.0
_NAME_SECONDS = 60.0
_COPY_SECONDS = 60.0
_USED_SECONDS = 3_600.0
"""Copies are brought up to date for this long after their workspace was last used."""
_MAX_PAGES = 10
"""At most this often is one copy asked for in a row."""


@dataclass(frozen=True, slots=True)
class TeamSaying(Saying):
    """What the team's service said, and the id under which its delivery is reported."""

    delivery: str = ""

    def __bool__(self) -> bool:
        return bool(self.text)


class TeamCompanion:
    """Passes events on to a team's service; has the methods of a `Companion` that the service calls."""

    def __init__(self, engine: ContextEngine, link: TeamLink, own: Companion) -> None:
        self._engine = engine
        self._link = link
        self._own = own
        self._membership = TeamMembership(link, engine.settings.home)
        self._copies = Companion(engine, find_workspace=str)
        self._names: dict[str, tuple[float, str]] = {}
        self._used: dict[str, float] = {}
        self._refreshed: dict[str, float] = {}

    def say(self, event: AgentEvent, deadline_ms: float | None = None) -> Saying:
        """What the agent should read now: the team's answer, or one from the copy if none comes in time."""
        ends = time.monotonic() + (_DEFAULT_SECONDS if deadline_ms is None else deadline_ms / 1000)
        try:
            workspace = self._team_workspace(event)
        except ForewordError as error:
            _log.warning("nothing was said", problem=str(error))
            return Saying()
        if not workspace:
            return self._own.say(event, deadline_ms)
        seconds = (ends - time.monotonic()) * _SHARE_OF_DEADLINE
        try:
            if self._link.is_away:
                raise TeamAway("it did not answer a moment ago")
            body = {**_event_body(event, workspace), "deadline_ms": max(1.0, seconds * 1000)}
            answer = self._link.call("/v1/hook/answer", body, seconds)
            return TeamSaying(answer["text"], delivery=answer["delivery"])
        except TeamRefusal as error:
            _log.warning("nothing was said", problem=str(error))
            return Saying()
        except ForewordError as error:
            _log.warning("the team's service is away; the copy answers", problem=str(error))
        left_ms = max(1.0, (ends - time.monotonic()) * 1000)
        return self._copies.say(replace(event, folder=workspace), left_ms)

    def keep(self, event: AgentEvent) -> None:
        """Have the event kept where it belongs; TeamAway while that cannot be done."""
        workspace = self._team_workspace(event)
        if not workspace:
            self._own.keep(event)
        elif self._membership.read().may_write:
            self._link.call("/v1/hook/keep", _event_body(event, workspace))

    def note_delivered(self, saying: Saying) -> None:
        """The agent has it."""
        self._note(saying, delivered=True)

    def note_undelivered(self, saying: Saying) -> None:
        """The agent had left."""
        self._note(saying, delivered=False)

    def _note(self, saying: Saying, *, delivered: bool) -> None:
        if isinstance(saying, TeamSaying):
            body = {"delivery": saying.delivery, "delivered": delivered}
            self._link.call("/v1/hook/shown", body)
        elif delivered:
            self._own.note_delivered(saying)
        else:
            self._own.note_undelivered(saying)

    def close(self) -> None:
        """Close the connections to the team's service."""
        self._link.close()

    # Which workspace

    def _team_workspace(self, event: AgentEvent) -> str:
        """The team's name of the event's workspace; empty if it stays on this machine."""
        now = time.monotonic()
        at, name = self._names.get(event.folder, (0.0, ""))
        if not at or now - at > _NAME_SECONDS:
            name = name_for_team(Path(event.folder)) if event.folder else ""
            self._names[event.folder] = (now, name)
        if not name or not self._membership.read().sees(name):
            return ""
        self._used[name] = now
        return name

    # Copies

    def refresh_copies(self) -> None:
        """Bring the copies of the workspaces in use up to date; what fails is tried again later."""
        now = time.monotonic()
        due = [
            workspace
            for workspace, used in list(self._used.items())
            if now - used < _USED_SECONDS and now - self._refreshed.get(workspace, 0.0) > _COPY_SECONDS
        ]
        for workspace in due:
            self._refreshed[workspace] = now
            try:
                self._refresh_copy(workspace)
            except TeamRefusal as error:
                _log.warning("a copy is removed", workspace=workspace, problem=str(error))
                self._engine.store.batch([Delete(workspace, filters=Filters())])
            except ForewordError as error:
                _log.warning("a copy is not up to date", workspace=workspace, problem=str(error))

    def _refresh_copy(self, workspace: str) -> None:
        """Store what the copy of one workspace lacks, and remove what is gone over there."""
        for _ in range(_MAX_PAGES):
            known = [item.id for item in self._engine.store.scan(workspace)]
            answer = self._link.call("/v1/mirror", {"workspace": workspace, "known": known})
            if answer["gone"]:
                self._engine.store.batch([Delete(workspace, tuple(answer["gone"]))])
            read = read_lines(answer["lines"], workspace, self._engine.clock())
            self._engine.remember_all([one for one in read if isinstance(one, Item)], workspace)
            if not answer["more"]:
                return


def _event_body(event: AgentEvent, workspace: str) -> dict[str, Any]:
    """An event as the team's service reads it."""
    fields = asdict(event)
    for name in ("at", "folder"):
        del fields[name]
    return {"workspace": workspace, "event": fields, "at": event.at.timestamp()}
