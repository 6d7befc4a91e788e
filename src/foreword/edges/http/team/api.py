"""The API of a team: the endpoints of a local service, further ones for laptops, and the gate around them."""

# No deferred annotations here: pydantic derives its checks from them.

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, JsonValue
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from foreword.edges.http import wire
from foreword.edges.http.application import build_guarded_api
from foreword.edges.http.endpoints import Endpoint, EndpointCall, list_endpoints
from foreword.edges.http.team.audit import TeamAudit
from foreword.edges.http.team.gate import Limits, MemberPermissions, TeamGate, TeamMeasures
from foreword.edges.http.team.hooks import MAX_MIRRORED, TeamHooks
from foreword.edges.http.team.members import Members

if TYPE_CHECKING:
    from foreword.engine.context_engine import ContextEngine

_Seconds = Annotated[float, Field(ge=0, le=32_503_680_000)]
_MAX_DEADLINE_MS = 60_000


class HookQuestion(wire.Question):
    """An event of an agent, as its hook was handed it, without secrets."""

    workspace: wire.Workspace
    event: dict[str, JsonValue]
    at: _Seconds = Field(description="When it happened, in seconds since 1970.")
    deadline_ms: float = Field(default=1_000.0, gt=0, le=_MAX_DEADLINE_MS)


class DeliveryQuestion(wire.Question):
    """What became of an answer."""

    delivery: wire.Name
    delivered: bool = True


class MirrorQuestion(wire.Question):
    """A copy of the newest items that is to be brought up to date: the ids that it has."""

    workspace: wire.Workspace
    known: list[wire.Name] = Field(default=[], max_length=2 * MAX_MIRRORED)


class HookAnswer(wire.Answer):
    """The text that the agent should read, or nothing, and the id under which its delivery is reported."""

    text: str
    delivery: str


class DoneAnswer(wire.Answer):
    """That something was done."""

    done: bool


class MirrorAnswer(wire.Answer):
    """Items that the copy lacks, as lines of JSON, and the ids that it should forget."""

    lines: list[str]
    gone: list[str]
    more: bool


class MemberAnswer(wire.Answer):
    """Whose token it is, and what it allows."""

    name: str
    right: str
    workspaces: list[str]
    expires: str


def build_team_api(
    engine: "ContextEngine",
    *,
    home: Path,
    port: int,
    limits: Limits,
    status: Callable[[], Mapping[str, Any]],
    is_ready: Callable[[], bool],
) -> Starlette:
    """The application for a team, behind its gate."""
    members, audit, measures = Members(home), TeamAudit(home), TeamMeasures()
    permissions = MemberPermissions(lambda workspace: engine.count(workspace).items, limits)
    endpoints = [
        *list_endpoints(engine, port, status, measures.prometheus_text),
        *_list_team_endpoints(engine, members, is_ready),
    ]
    gate = Middleware(TeamGate, members=members, audit=audit, measures=measures, limits=limits)
    return build_guarded_api(endpoints, gate, permit=permissions.permit)


def _list_team_endpoints(
    engine: "ContextEngine", members: Members, is_ready: Callable[[], bool]
) -> list[Endpoint]:
    hooks = TeamHooks(engine)

    def answer_hook(call: EndpointCall) -> object:
        body: HookQuestion = call.body
        text, delivery = hooks.answer(body.workspace, body.event, body.at, call.expires, call.caller)
        return {"text": text, "delivery": delivery}

    def store_hook_event(call: EndpointCall) -> object:
        body: HookQuestion = call.body
        hooks.keep(body.workspace, body.event, body.at)
        return {"done": True}

    def note_delivery(call: EndpointCall) -> object:
        body: DeliveryQuestion = call.body
        return {"done": hooks.note_delivery(body.delivery, call.caller, delivered=body.delivered)}

    def find_calling_member(call: EndpointCall) -> object:
        return next(member for member in members.list_all() if member.id == call.caller)

    def report_readiness(_: EndpointCall) -> object:
        if not is_ready():
            raise HTTPException(503, "the service is starting, or about to stop")
        return {"done": True}

    return [
        Endpoint(
            "hook_answer", "POST", "/v1/hook/answer", "Say what an agent should read now.",
            answer_hook, HookAnswer, HookQuestion, fails=(502, 503),
            seconds=lambda call: call.body.deadline_ms / 1000,
        ),
        Endpoint(
            "hook_keep", "POST", "/v1/hook/keep", "Keep what an event tells; twice is once.",
            store_hook_event, DoneAnswer, HookQuestion, fails=(503,),
        ),
        Endpoint(
            "hook_shown", "POST", "/v1/hook/shown", "Report whether an answer was shown.",
            note_delivery, DoneAnswer, DeliveryQuestion, fails=(503,),
        ),
        Endpoint(
            "mirror", "POST", "/v1/mirror", "Bring a copy of the newest items up to date.",
            lambda call: hooks.list_changes_for_copy(call.body.workspace, call.body.known),
            MirrorAnswer, MirrorQuestion, fails=(503,),
        ),
        Endpoint("me", "GET", "/v1/me", "Say what the token allows.", find_calling_member, MemberAnswer),
        Endpoint(
            "ready", "GET", "/ready", "Say whether requests are taken; needs no token.",
            report_readiness, DoneAnswer, fails=(503,),
        ),
    ]  # fmt: skip
