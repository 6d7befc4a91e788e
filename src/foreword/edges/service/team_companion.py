"""An agent's companion in a team: it asks the team's service, or a local copy while that does not answer.

Events of workspaces that the token does not name go to this machine's own companion. While the team's service
does not answer, prompts are answered from a copy of its newest items; only the team's service changes that
copy. Events are refused then, so that they wait in the spool and are sent later, once. When the token is no
longer accepted, the copy does not answer and is deleted.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.edges.service.team_link import CachedMembership, TeamAway, TeamRefusal, find_team_workspace_name
from foreword.edges.shared.private_files import make_private_folder
from foreword.engine.jsonl import parse_exported_lines
from foreword.errors import ForewordError
from foreword.log import get_logger
from foreword.recipes.coding.companion import CodingCompanion, CompanionSaying
from foreword.store.base import Delete
from foreword.types import Filters, Item

if TYPE_CHECKING:
    from foreword.capture.agent import AgentEvent
    from foreword.edges.service.team_link import TeamLink
    from foreword.engine.context_engine import ContextEngine

_log = get_logger("foreword.team")

_SHARE_OF_DEADLINE = 0.6
"""The share of a deadline that the team's service gets; the rest is for the copy, if it does not answer."""
_DEFAULT_SECONDS = 3.0
_NAME_SECONDS = 60.0
_COPY_SECONDS = 60.0
_USED_SECONDS = 3_600.0
"""For how many seconds after a workspace was last used its copy is kept up to date."""
_MAX_PAGES = 10
"""How many pages of one copy are fetched in a row at most."""


@dataclass(frozen=True, slots=True)
class TeamSaying(CompanionSaying):
    """The answer of the team's service, and the id under which its delivery is reported."""

    delivery: str = ""

    def __bool__(self) -> bool:
        return bool(self.text)


class TeamHookCompanion:
    """Sends events to a team's service; has the methods of a `CodingCompanion` that the responder calls."""

    def __init__(self, engine: ContextEngine, link: TeamLink, local_companion: CodingCompanion) -> None:
        self._engine = engine
        self._link = link
        self._local_companion = local_companion
        self._membership = CachedMembership(link, engine.settings.home)
        self._copies = CodingCompanion(engine, find_workspace=str)
        self._names: dict[str, tuple[float, str]] = {}
        self._last_used: dict[str, float] = {}
        self._refreshed_at: dict[str, float] = {}
        self._copied_file = engine.settings.home / "run" / "team-copies.json"

    def say(self, event: AgentEvent, deadline_ms: float | None = None) -> CompanionSaying:
        """The context for an event: the team's answer, or one from the copy if none comes in time."""
        ends = time.monotonic() + (_DEFAULT_SECONDS if deadline_ms is None else deadline_ms / 1000)
        try:
            workspace = self._find_team_workspace(event)
        except ForewordError as error:
            _log.warning("nothing was said", problem=str(error))
            return CompanionSaying()
        if not workspace:
            return self._local_companion.say(event, deadline_ms)
        seconds = (ends - time.monotonic()) * _SHARE_OF_DEADLINE
        try:
            if self._link.has_recently_failed_to_answer:
                raise TeamAway("it did not answer a moment ago")
            body = {**_event_as_request_body(event, workspace), "deadline_ms": max(1.0, seconds * 1000)}
            answer = self._link.call("/v1/hook/answer", body, seconds)
            return TeamSaying(answer["text"], delivery=answer["delivery"])
        except TeamRefusal as error:
            _log.warning("nothing was said", problem=str(error))
            return CompanionSaying()
        except ForewordError as error:
            _log.warning("the team's service is away; the copy answers", problem=str(error))
        left_ms = max(1.0, (ends - time.monotonic()) * 1000)
        return self._copies.say(replace(event, folder=workspace), left_ms)

    def keep(self, event: AgentEvent) -> None:
        """Store the event, on this machine or at the team's service; TeamAway if that does not answer."""
        workspace = self._find_team_workspace(event)
        if not workspace:
            self._local_companion.keep(event)
        elif self._membership.read().may_write:
            self._link.call("/v1/hook/keep", _event_as_request_body(event, workspace))

    def note_delivered(self, saying: CompanionSaying) -> None:
        """Record that an answer reached its agent."""
        self._note_delivery(saying, delivered=True)

    def note_undelivered(self, saying: CompanionSaying) -> None:
        """Record that an answer did not reach its agent, because the agent had left."""
        self._note_delivery(saying, delivered=False)

    def _note_delivery(self, saying: CompanionSaying, *, delivered: bool) -> None:
        if isinstance(saying, TeamSaying):
            body = {"delivery": saying.delivery, "delivered": delivered}
            self._link.call("/v1/hook/shown", body)
        elif delivered:
            self._local_companion.note_delivered(saying)
        else:
            self._local_companion.note_undelivered(saying)

    def close(self) -> None:
        """Close the connections to the team's service."""
        self._link.close()

    # Which workspace

    def _find_team_workspace(self, event: AgentEvent) -> str:
        """The name of the event's workspace in the team; empty if the event stays on this machine."""
        now = time.monotonic()
        at, name = self._names.get(event.folder, (0.0, ""))
        if not at or now - at > _NAME_SECONDS:
            name = find_team_workspace_name(Path(event.folder)) if event.folder else ""
            self._names[event.folder] = (now, name)
        if not name or not self._membership.read().sees(name):
            return ""
        self._last_used[name] = now
        return name

    # Copies

    def refresh_team_copies(self) -> None:
        """Update the copies of the workspaces in use, and delete those that the token no longer allows."""
        self._remove_forbidden_copies()
        now = time.monotonic()
        due = [
            workspace
            for workspace, used in list(self._last_used.items())
            if now - used < _USED_SECONDS and now - self._refreshed_at.get(workspace, 0.0) > _COPY_SECONDS
        ]
        for workspace in due:
            self._refreshed_at[workspace] = now
            try:
                self._refresh_copy(workspace)
            except TeamRefusal as error:
                self._remove_copy(workspace, str(error))
            except ForewordError as error:
                _log.warning("a copy is not up to date", workspace=workspace, problem=str(error))

    def _remove_forbidden_copies(self) -> None:
        """Delete the copies that the token does not allow, also those that an earlier process has made."""
        copied = self._read_copied_workspaces()
        if not copied:
            return
        try:
            membership = self._membership.read()
        except TeamRefusal as error:
            forbidden, reason = copied, str(error)
        except TeamAway:
            return  # nobody can say now what the token allows
        else:
            forbidden = {one for one in copied if not membership.sees(one)}
            reason = "the token does not name it"
        for workspace in forbidden:
            self._remove_copy(workspace, reason)

    def _remove_copy(self, workspace: str, reason: str) -> None:
        _log.warning("a copy is removed", workspace=workspace, problem=reason)
        self._engine.store.batch([Delete(workspace, filters=Filters())])
        self._write_copied_workspaces(self._read_copied_workspaces() - {workspace})

    def _read_copied_workspaces(self) -> set[str]:
        """The workspaces of which this machine has a copy."""
        try:
            return set(json.loads(self._copied_file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return set()

    def _write_copied_workspaces(self, workspaces: set[str]) -> None:
        make_private_folder(str(self._engine.settings.home), "run")
        unfinished = self._copied_file.with_suffix(".tmp")
        unfinished.write_text(json.dumps(sorted(workspaces)), encoding="utf-8")
        unfinished.replace(self._copied_file)

    def _refresh_copy(self, workspace: str) -> None:
        """Store what the copy of one workspace lacks, and delete what the team's service no longer has."""
        if workspace not in (copied := self._read_copied_workspaces()):
            self._write_copied_workspaces(copied | {workspace})
        for _ in range(_MAX_PAGES):
            known = [item.id for item in self._engine.store.scan(workspace)]
            answer = self._link.call("/v1/mirror", {"workspace": workspace, "known": known})
            if answer["gone"]:
                self._engine.store.batch([Delete(workspace, tuple(answer["gone"]))])
            read = parse_exported_lines(answer["lines"], workspace, self._engine.clock())
            self._engine.remember_all([line for line in read if isinstance(line, Item)], workspace)
            if not answer["more"]:
                return


def _event_as_request_body(event: AgentEvent, workspace: str) -> dict[str, Any]:
    """An event as the body of a request to the team's service."""
    fields = asdict(event)
    for name in ("at", "folder"):
        del fields[name]
    return {"workspace": workspace, "event": fields, "at": event.at.timestamp()}
