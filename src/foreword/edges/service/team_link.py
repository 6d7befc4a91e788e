"""Requests from a laptop's service to its team's service: events are sent, answers come within the deadline.

Only events of workspaces that the token names are sent; all others stay on this machine. A workspace is named
by the address of the repository's remote `origin` (`git.example.org/acme/shop`), which is the same on every
machine; a folder without a remote is not shared.
"""

from __future__ import annotations

import http.client
import json
import re
import ssl
import subprocess
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from foreword.edges.shared.workspace_patterns import matches_any_pattern
from foreword.errors import StorageError, ValidationError
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from foreword.config import Settings

_log = get_logger("foreword.team")

_TIMEOUT_SECONDS = 10.0
_AWAY_SECONDS = 5.0
"""For how many seconds prompts do not ask a service again that did not answer."""
_MEMBER_SECONDS = 300.0
_GIT_SECONDS = 2.0
_SCP_ADDRESS = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)")


@dataclass(frozen=True, slots=True)
class TeamMembership:
    """Whose token it is, and which rights it gives in which workspaces."""

    name: str
    right: str
    workspaces: tuple[str, ...]

    @property
    def may_write(self) -> bool:
        """Whether the token allows to store events."""
        return self.right != "read"

    def sees(self, workspace: str) -> bool:
        """Whether the token allows this workspace."""
        return matches_any_pattern(workspace, self.workspaces)


class TeamAway(StorageError):
    """The team's service does not answer, or cannot now; what was to be stored is sent again later."""


class TeamRefusal(TeamAway):
    """The team's service no longer accepts the token; what was to be stored waits for another token."""


class TeamLink:
    """Calls a team's service, over connections that stay open. Safe to use from many threads."""

    def __init__(self, url: str, token: str, authority: str = "") -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValidationError(f"team_url must be http:// or https:// and a host, not {url!r}")
        if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise ValidationError("team_url must be https://: anyone on the way could read the token")
        if not token:
            raise ValidationError("team_token is missing; it comes from: foreword team add")
        self._parts, self._token = parts, token
        self._tls = ssl.create_default_context(cafile=authority or None) if parts.scheme == "https" else None
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()
        self._away_until = 0.0

    def close(self) -> None:
        """Close the connections that are open."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @property
    def has_recently_failed_to_answer(self) -> bool:
        """Whether the service failed to answer seconds ago, so that a prompt need not wait for it again."""
        return time.monotonic() < self._away_until

    def call(
        self, path: str, body: Mapping[str, Any] | None = None, seconds: float = _TIMEOUT_SECONDS
    ) -> dict[str, Any]:
        """The answer of the team's service to a GET, or to a POST with a body.

        TeamAway if it does not answer in time or is in trouble, TeamRefusal if it does not accept the token,
        ValidationError if it refuses the request.
        """
        until = time.monotonic() + seconds
        for attempt in (1, 2):
            connection, is_new = self._get_idle_or_new_connection()
            try:
                status, answer = self._send_and_receive(connection, path, body, until)
                break
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                # The team's service may have closed an idle connection: try another at once.
                if is_new or attempt == 2 or isinstance(error, TimeoutError):
                    self._away_until = time.monotonic() + _AWAY_SECONDS
                    raise TeamAway(f"the team's service does not answer: {error or 'too late'}") from error
        with self._lock:
            self._idle.append(connection)
        if status == 401:
            raise TeamRefusal(f"{_read_error_message(answer)}; put a new one into team_token")
        if status >= 500 or status == 429:
            raise TeamAway(f"the team's service answered {status}: {_read_error_message(answer)}")
        if status != 200:
            raise ValidationError(f"the team's service refused: {_read_error_message(answer)}")
        self._away_until = 0.0
        try:
            return dict(json.loads(answer))
        except ValueError as error:
            raise TeamAway("what answers at team_url is not Foreword") from error

    def _send_and_receive(
        self, connection: http.client.HTTPConnection, path: str, body: Mapping[str, Any] | None, until: float
    ) -> tuple[int, bytes]:
        """The status and the body of an answer; OSError or HTTPException if none comes in time."""

        def limit_timeout_to_time_left() -> None:
            connection.timeout = max(0.001, until - time.monotonic())
            if connection.sock is not None:
                connection.sock.settimeout(connection.timeout)

        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        payload = None if body is None else json.dumps(body).encode()
        limit_timeout_to_time_left()
        address = self._parts.path.rstrip("/") + path
        connection.request("GET" if body is None else "POST", address, payload, headers)
        limit_timeout_to_time_left()
        response = connection.getresponse()
        return response.status, response.read()

    def _get_idle_or_new_connection(self) -> tuple[http.client.HTTPConnection, bool]:
        """An idle connection, or else a new one, and whether it is new."""
        with self._lock:
            if self._idle and not self.has_recently_failed_to_answer:
                return self._idle.pop(), False
        host, port = self._parts.hostname or "", self._parts.port
        if self._tls is None:
            return http.client.HTTPConnection(host, port), True
        return http.client.HTTPSConnection(host, port, context=self._tls), True


class CachedMembership:
    """What the token allows: asked every few minutes, with the last answer in a file for when none comes."""

    def __init__(self, link: TeamLink, home: Path) -> None:
        self._link = link
        self._file = home / "run" / "team.json"
        self._membership: TeamMembership | None = None
        self._asked_at = -_MEMBER_SECONDS

    def read(self) -> TeamMembership:
        """What the token allows, at most some minutes old; TeamAway if the service has never answered."""
        if time.monotonic() - self._asked_at > _MEMBER_SECONDS:
            self._asked_at = time.monotonic()
            try:
                self._store_membership(self._link.call("/v1/me"))
            except TeamRefusal:
                self._asked_at = -_MEMBER_SECONDS
                raise
            except TeamAway:
                if self._membership is None and not self._load_stored_membership():
                    self._asked_at = -_MEMBER_SECONDS
                    raise
        if self._membership is None:
            raise TeamAway("the team's service has not said yet what the token allows")
        return self._membership

    def _store_membership(self, answer: Mapping[str, Any]) -> None:
        self._membership = TeamMembership(answer["name"], answer["right"], tuple(answer["workspaces"]))
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file.write_text(json.dumps(dict(answer)), encoding="utf-8")
        self._file.chmod(0o600)

    def _load_stored_membership(self) -> bool:
        try:
            answer = json.loads(self._file.read_text(encoding="utf-8"))
            self._membership = TeamMembership(answer["name"], answer["right"], tuple(answer["workspaces"]))
        except (OSError, ValueError, LookupError):
            return False
        return True


def make_team_link(settings: Settings) -> TeamLink | None:
    """The link to the team's service in the settings; None if there is none."""
    if not settings.team_url:
        return None
    return TeamLink(settings.team_url, settings.team_token, settings.team_authority)


def find_team_workspace_name(folder: Path) -> str:
    """The name of a folder's workspace in a team: the address of its remote; empty if it has none."""
    try:
        found = subprocess.run(  # noqa: S603
            ["git", "-C", str(folder), "config", "--get", "remote.origin.url"],  # noqa: S607
            capture_output=True, text=True, timeout=_GIT_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        _log.warning("the remote of a folder cannot be read", folder=str(folder), error=str(error))
        return ""
    return remote_as_workspace_name(found.stdout.strip())


def remote_as_workspace_name(address: str) -> str:
    """A remote's address without scheme, user, port and `.git`; empty if it is only a path."""
    if "://" in address:
        parts = urlsplit(address)
        host, path = parts.hostname or "", parts.path
    elif match := _SCP_ADDRESS.fullmatch(address):
        host, path = match[1], match[2]
    else:
        return ""
    path = path.strip("/").removesuffix(".git")
    return f"{host.lower()}/{path}" if host and path else ""


def _read_error_message(answer: bytes) -> str:
    try:
        return str(json.loads(answer)["error"]["message"])
    except (ValueError, LookupError, TypeError):
        return answer[:200].decode(errors="replace")
