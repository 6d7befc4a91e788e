"""The members of a team: tokens with their rights, stored in one private file.

A token is shown once, when it is created; the file holds its hash. The file is read again whenever it has
changed, so that a token that another process revoked is refused from the next request on. This module knows
nothing of requests.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import threading
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from foreword.edges.shared.private_files import make_private_folder
from foreword.edges.shared.workspace_patterns import matches_any_pattern
from foreword.errors import StorageError, UnknownId, ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Right = Literal["read", "write", "admin"]
RIGHTS: tuple[Right, ...] = get_args(Right)
"""The rights, from the least to the most; each includes those before it."""

_TOKEN = re.compile(r"fwt_([0-9a-f]{12})_([0-9a-f]{64})")
_NAME = re.compile(r"[^\s/:][^\n/:]{0,79}")


@dataclass(frozen=True, slots=True)
class Member:
    """One token of one member: what it may do, in which workspaces, until when.

    A workspace is named whole or by a pattern with `*`. `expires` and `revoked` are ISO 8601 or empty.
    """

    id: str
    name: str
    right: Right
    workspaces: tuple[str, ...]
    created: str
    expires: str = ""
    revoked: str = ""

    def has_right(self, right: Right, workspace: str) -> bool:
        """Whether the token gives this right in a workspace; an empty name means the service itself."""
        enough = RIGHTS.index(self.right) >= RIGHTS.index(right)
        return enough and (not workspace or self.sees(workspace))

    def sees(self, workspace: str) -> bool:
        """Whether the token allows this workspace."""
        return matches_any_pattern(workspace, self.workspaces)

    def reason_to_refuse(self, now: datetime) -> str:
        """Why the token is not accepted at a time; empty if it is."""
        if self.revoked:
            return "the token was revoked"
        if self.expires and datetime.fromisoformat(self.expires) <= now:
            return "the token has expired"
        return ""


class Members:
    """The file of members of one service. Safe to use from many threads and processes."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.path = home / "team" / "members.json"
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._by_id: dict[str, tuple[Member, str]] = {}

    def find_member_even_if_refused(self, token: str) -> Member | None:
        """The member with this token, even if it is no longer accepted; None if it is not a member's."""
        parts = _TOKEN.fullmatch(token)
        if parts is None:
            return None
        member, digest = self._read().get(parts[1], (None, ""))
        return member if hmac.compare_digest(_hash_secret(parts[2]), digest) else None

    def list_all(self) -> list[Member]:
        """Every token that was created, oldest first."""
        return sorted((member for member, _ in self._read().values()), key=lambda member: member.created)

    def add(
        self, name: str, right: Right, workspaces: tuple[str, ...], expires: datetime | None = None
    ) -> tuple[Member, str]:
        """Create a token for a member; returns the member and the token, which is not stored."""
        if not _NAME.fullmatch(name):
            raise ValidationError("a member's name has 1 to 80 characters, and no line break, slash or colon")
        if right not in RIGHTS:
            raise ValidationError(f"no right named {right!r}; there are: {', '.join(RIGHTS)}")
        if not workspaces or not all(pattern.strip() for pattern in workspaces):
            raise ValidationError("name the workspaces that the member may use; '*' is every workspace")
        id_, secret = secrets.token_hex(6), secrets.token_hex(32)
        ends = "" if expires is None else expires.astimezone(UTC).isoformat(timespec="seconds")
        member = Member(id_, name, right, workspaces, _now_as_text(), ends)
        with self._lock, self._lock_out_other_processes():
            members = dict(self._load())
            members[id_] = (member, _hash_secret(secret))
            self._save(members)
        return member, f"fwt_{id_}_{secret}"

    def revoke(self, who: str) -> list[Member]:
        """Revoke a token by its id, or all tokens of a member by name; UnknownId if there is none."""
        with self._lock, self._lock_out_other_processes():
            members = dict(self._load())
            meant = [
                one for one, _ in members.values() if who in (one.id, one.name) and not one.revoked
            ]  # fmt: skip
            if not meant:
                raise UnknownId(f"no token in use has the id or the name {who!r}; see: foreword team list")
            gone = [replace(one, revoked=_now_as_text()) for one in meant]
            for one in gone:
                members[one.id] = (one, members[one.id][1])
            self._save(members)
        return gone

    def _read(self) -> dict[str, tuple[Member, str]]:
        """The members and their tokens' hashes, by id; the file is read again if it has changed."""
        with self._lock:
            if self._stamp is None or self._stamp != self._file_stamp():
                self._by_id = self._load()
            return self._by_id

    def _load(self) -> dict[str, tuple[Member, str]]:
        stamp = self._file_stamp()
        try:
            entries = json.loads(self.path.read_text(encoding="utf-8"))
            members = {entry["id"]: (_member_from_json(entry), str(entry["hash"])) for entry in entries}
        except FileNotFoundError:
            members = {}
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise StorageError(f"{self.path} cannot be read ({error}); put it back from a backup") from error
        self._stamp, self._by_id = stamp, members
        return members

    @contextmanager
    def _lock_out_other_processes(self) -> Iterator[None]:
        """Hold the lock on changes: a token made meanwhile must not bring back one that was revoked."""
        make_private_folder(str(self._home), "team")
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW
        with os.fdopen(os.open(self.path.with_suffix(".lock"), flags, 0o600), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _save(self, members: dict[str, tuple[Member, str]]) -> None:
        entries = [{**asdict(member), "hash": digest} for member, digest in members.values()]
        unfinished = self.path.with_suffix(".tmp")
        file = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(file, "w", encoding="utf-8") as opened:
            json.dump(entries, opened, indent=1)
            opened.flush()
            os.fsync(opened.fileno())
        unfinished.replace(self.path)
        self._stamp, self._by_id = self._file_stamp(), members

    def _file_stamp(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return (0, 0, 0)
        return found.st_ino, found.st_mtime_ns, found.st_size


def _member_from_json(entry: dict[str, Any]) -> Member:
    known = {key: value for key, value in entry.items() if key != "hash"}
    return Member(**{**known, "workspaces": tuple(entry["workspaces"])})


def _hash_secret(secret: str) -> str:
    """The hash of a secret of 256 random bits; they cannot be guessed, so a fast hash is safe."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _now_as_text() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
