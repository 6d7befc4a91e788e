"""Who may ask, and how often: the token of each member, a rate for each, and an audit line for each request.

The gate finds out who asks. What a member may do in a workspace is checked after the request is read
(`permit`), since its body names the workspace. Both write into the request's `state`, from which the audit
line is made.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, OrderedDict, deque
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException

from foreword.edges.http.guard import Refusal, read_bearer_token
from foreword.errors import StorageError
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from foreword.edges.http.endpoints import Endpoint, EndpointCall
    from foreword.edges.http.team.audit import TeamAudit
    from foreword.edges.http.team.members import Member, Members, Right

_log = get_logger("foreword.team")

OPEN_PATHS = frozenset({"/health", "/ready"})
_RIGHTS: dict[str, Right] = {
    **dict.fromkeys(("remember", "record", "forget", "amend", "hook_keep"), "write"),
    "status": "admin",
}
"""The right that an endpoint needs; endpoints that are not listed need `read`."""
_QUOTA_ENDPOINTS = frozenset({"remember", "record", "hook_keep"})
_COUNT_SECONDS = 5.0
_MAX_CALLERS = 10_000
_MAX_TIMES = 2_048
_FAILURES_A_MINUTE = 30
"""How many wrong tokens a minute from one address are answered; more are refused at once."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one member: requests per second on average and in a burst, and items in one workspace."""

    requests_a_second: float = 50.0
    burst: int = 200
    items: int = 0
    """At most this many items in a workspace; 0 is no limit."""


class RateLimiter:
    """A token bucket for each caller: a request takes one token, and they come back at a steady rate."""

    def __init__(self, a_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = a_second, float(burst), clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def count_request_and_get_wait(self, caller: str) -> float:
        """Count a request, and return 0 if it is allowed now; else in how many seconds the next one is."""
        now = self._clock()
        with self._lock:
            left, at = self._buckets.pop(caller, (self._burst, now))
            left = min(self._burst, left + (now - at) * self._rate)
            wait = 0.0 if left >= 1.0 else (1.0 - left) / self._rate
            self._buckets[caller] = (left if wait else left - 1.0, now)
            while len(self._buckets) > _MAX_CALLERS:
                self._buckets.popitem(last=False)
        return wait


@dataclass(slots=True)
class TeamMeasures:
    """Counts of requests by member, action and status, and their times, for Prometheus."""

    requests: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    times: deque[float] = field(default_factory=lambda: deque(maxlen=_MAX_TIMES))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, member: str, action: str, status: int, seconds: float) -> None:
        """Count one request."""
        with self.lock:
            self.requests[member, action, status] += 1
            self.times.append(seconds)

    def prometheus_text(self) -> str:
        """All counts and times in the text format of Prometheus."""
        with self.lock:
            counted, times = sorted(self.requests.items()), sorted(self.times)
        lines = [
            "# HELP foreword_team_requests_total Requests by member, action and status.",
            "# TYPE foreword_team_requests_total counter",
        ]
        for (member, action, status), number in counted:
            name = member.replace("\\", "\\\\").replace('"', '\\"')
            labels = f'member="{name}",action="{action}",status="{status}"'
            lines.append(f"foreword_team_requests_total{{{labels}}} {number}")
        lines += [
            "# HELP foreword_team_request_seconds Time to an answer, over the last requests.",
            "# TYPE foreword_team_request_seconds summary",
        ]
        for quantile in (0.5, 0.99) if times else ():
            value = times[min(len(times) - 1, int(quantile * len(times)))]
            lines.append(f'foreword_team_request_seconds{{quantile="{quantile}"}} {value:.6f}')
        return "\n".join(lines) + "\n"


class TeamGate:
    """ASGI middleware around everything: checks tokens and rates, and writes the audit."""

    def __init__(
        self, app: ASGIApp, *, members: Members, audit: TeamAudit, measures: TeamMeasures, limits: Limits
    ) -> None:
        self._app = app
        self._members = members
        self._audit = audit
        self._measures = measures
        self._rates = RateLimiter(limits.requests_a_second, limits.burst)
        self._failures = RateLimiter(_FAILURES_A_MINUTE / 60, _FAILURES_A_MINUTE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer with a refusal; record it in the audit either way."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] == "lifespan" or scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        began, is_recorded = time.monotonic(), False
        refusal = self._find_refusal(scope, state)

        def record(status: int) -> None:
            nonlocal is_recorded
            if not is_recorded:
                is_recorded = True
                self._record_request(scope, state, status, time.monotonic() - began)

        async def record_and_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                record(message["status"])  # first, so that what was answered is in the audit, come what may
            await send(message)

        try:
            await (refusal or self._app)(scope, receive, record_and_send)
        finally:
            record(500)

    def _find_refusal(self, scope: Scope, state: dict[str, Any]) -> Refusal | None:
        """The refusal of a request, or None if it may pass; puts the member into `state`."""
        address = (scope.get("client") or ("", 0))[0]
        try:
            member = self._members.find_member_even_if_refused(read_bearer_token(scope))
        except StorageError as error:
            _log.warning("nobody is let in", problem=str(error))
            return Refusal(503, error.type, "the service cannot read its list of members; tell its operator")
        if member is None:
            why = "the token is missing or nobody's"
        else:
            state["member"] = member  # the audit names whose token it was, also if it is refused
            why = member.reason_to_refuse(datetime.now(UTC))
        if member is None or why:
            if self._failures.count_request_and_get_wait(address):
                return Refusal(429, "too_many_failures", "too many wrong tokens came from this address")
            state["refused"] = why
            message = f"{why}; send the header Authorization: Bearer TOKEN with one from: foreword team add"
            return Refusal(401, "unauthorized", message, ((b"www-authenticate", b"Bearer"),))
        if wait := self._rates.count_request_and_get_wait(member.name):
            seconds = str(max(1, math.ceil(wait))).encode()
            message = f"{member.name} asks too often; wait {seconds.decode()} s"
            return Refusal(429, "too_often", message, ((b"retry-after", seconds),))
        return None

    def _record_request(self, scope: Scope, state: dict[str, Any], status: int, seconds: float) -> None:
        member: Member | None = state.get("member")
        name, action = member.name if member else "-", state.get("action", "-")
        self._measures.count(name, action, status, seconds)
        self._audit.write(
            member=name,
            token=member.id if member else "",
            address=(scope.get("client") or ("", 0))[0],
            action=action,
            workspace=state.get("workspace", ""),
            id=state.get("id", ""),
            status=status,
            ms=round(seconds * 1000, 1),
            **({"refused": state["refused"]} if "refused" in state else {}),
        )


class MemberPermissions:
    """Checks whether a member may make a call, by the token's right and workspaces and by the quota."""

    def __init__(self, count_items: Callable[[str], int], limits: Limits) -> None:
        self._count_items = count_items
        self._max_items = limits.items
        self._earlier_items: dict[str, tuple[float, int]] = {}
        """When a workspace was counted, and how many items it had but for those that `_written` counts."""
        self._writing: Counter[str] = Counter()
        self._written: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def permit(
        self, scope: MutableMapping[str, Any], endpoint: Endpoint, call: EndpointCall
    ) -> Iterator[EndpointCall]:
        """The call with its caller, for the block; 403 if the token does not allow it, 507 at the quota."""
        if endpoint.path in OPEN_PATHS:
            yield call
            return
        member: Member = scope["state"]["member"]
        workspace = call.workspace_named_in_call
        right = _RIGHTS.get(endpoint.name, "read")
        if not member.has_right(right, workspace):
            where = f" in {workspace}" if workspace else ""
            raise HTTPException(403, f"the token of {member.name} does not allow to {right}{where}")
        has_quota = self._max_items and endpoint.name in _QUOTA_ENDPOINTS
        with self._reserve_item_place(workspace) if has_quota else nullcontext():
            yield replace(call, caller=member.id, sees=member.sees)

    @contextmanager
    def _reserve_item_place(self, workspace: str) -> Iterator[None]:
        """Hold a place for one more item in the block; raises 507 if all are taken, or about to be."""
        with self._lock:
            self._writing[workspace] += 1
            place = self._writing[workspace]
        try:
            counted_at, _ = self._earlier_items.get(workspace, (-math.inf, 0))
            if time.monotonic() - counted_at > _COUNT_SECONDS or not self._is_within_item_quota(
                workspace, place
            ):
                self._recount_items(workspace)
            if not self._is_within_item_quota(workspace, place):
                raise HTTPException(507, f"{workspace} is at its quota of {self._max_items:,}; forget some")
            yield
        finally:
            with self._lock:
                self._writing[workspace] -= 1
                self._written[workspace] += 1  # also if it failed: the next count puts that right

    def _is_within_item_quota(self, workspace: str, place: int) -> bool:
        """Whether the quota has room for so many more items than were counted and written since."""
        _, earlier = self._earlier_items[workspace]
        return earlier + self._written[workspace] + place <= self._max_items

    def _recount_items(self, workspace: str) -> None:
        """Count the items in the store; what is written meanwhile is counted twice rather than not at all."""
        written = self._written[workspace]
        count = self._count_items(workspace)
        self._earlier_items[workspace] = (time.monotonic(), count - written)
