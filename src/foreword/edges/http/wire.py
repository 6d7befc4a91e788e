"""The pydantic models of everything that is asked and answered over HTTP.

Requests are read strictly: a number is not a text, an unknown field is an error, a date names its time zone.
The bounds repeat those of the engine, so that the published schema is true; the engine checks again. Nothing
here calls the engine.
"""

# No deferred annotations here: pydantic derives its checks from them.

import re
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from foreword.edges.shared.assembling import ContextType
from foreword.engine.ledger import LineKind
from foreword.knowledge.experience import Domain, Strategy
from foreword.options import MAX_LIMIT, MAX_NAME_CHARACTERS, MAX_RELATIONSHIP_DEPTH, MAX_TEXT_CHARACTERS, Lane
from foreword.recipes.assembled.assembler import MAX_TOKENS
from foreword.types import Kind, Reason, Trust

_MAX_LABEL = 4096
_MAX_IDS = 1000
_MAX_DEADLINE_MS = 600_000
_MAX_BUDGET = 10_000_000
_TEXT = r"^[^\x00]*$"
_NOT_BLANK = r"^[^\x00]*[^\s\x00-\x1f\x85\ufeff][^\x00]*$"  # (Python, too, does not call it blank)
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE)


def _parse_instant(value: object) -> object:
    """An RFC 3339 date and time, in UTC; ValueError for another text. Other values are left to pydantic."""
    if not isinstance(value, str):
        return value
    if not _RFC3339.fullmatch(value):
        raise ValueError("give an RFC 3339 date and time with its zone, such as 2026-01-31T12:00:00Z")
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except OverflowError:
        raise ValueError("that moment is outside the years 1 to 9999 in UTC") from None


def _whole_float_to_int(value: object) -> object:
    """A whole float such as 4.0 as an int, since JSON has one kind of number; other values as they are."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _drop_schema_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


def _optional_not_null_field() -> Any:  # noqa: ANN401  (a field's default has no type of its own)
    """A field that may be left out, but may not be null."""
    return Field(default=None, json_schema_extra=_drop_schema_default)


Workspace = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_NAME_CHARACTERS, pattern=_NOT_BLANK),
    Field(description="The workspace: the absolute path of a project's root, or any name."),
]
Statement = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_TEXT_CHARACTERS, pattern=_NOT_BLANK)
]
QueryText = Annotated[str, StringConstraints(max_length=MAX_TEXT_CHARACTERS, pattern=_TEXT)]
Label = Annotated[str, StringConstraints(max_length=_MAX_LABEL, pattern=_TEXT)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=_MAX_LABEL, pattern=_NOT_BLANK)]
Share = Annotated[float, Field(ge=0, le=1)]
Instant = Annotated[AwareDatetime, BeforeValidator(_parse_instant)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT), BeforeValidator(_whole_float_to_int)]
Depth = Annotated[int, Field(ge=1, le=MAX_RELATIONSHIP_DEPTH), BeforeValidator(_whole_float_to_int)]
Budget = Annotated[int, Field(ge=1, le=_MAX_BUDGET), BeforeValidator(_whole_float_to_int)]
DocumentTokens = Annotated[int, Field(ge=1, le=MAX_TOKENS), BeforeValidator(_whole_float_to_int)]
Ranker = Literal["default", "similarity", "recency", "confidence", "mmr"]


class Question(BaseModel):
    """Anything that is asked."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Answer(BaseModel):
    """Anything that is answered; reads the engine's own values by their attributes."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


# Questions -----------------------------------------------------------------------------------------------


class SourceQuestion(Question):
    """Who or what wrote an item, and how far that is trusted."""

    name: Name = "user"
    trust: Trust = "user"


class RememberQuestion(Question):
    """A statement to keep."""

    workspace: Workspace
    text: Statement
    kind: Kind = "memory"
    type: Label = Field(default="", description="A label of your own: decision, fact, preference…")
    about: Label = Field(default="", description="What surrounds it: speaker, heading, file.")
    session: Name | None = None
    conversation: Name | None = None
    confidence: Share = 1.0
    importance: Share = 0.5
    source: SourceQuestion = SourceQuestion()
    metadata: dict[str, JsonValue] = {}
    created_at: Instant | None = Field(default=None, description="When it happened; now, if left out.")
    supersedes: Name | None = Field(default=None, description="The id of the item that this one replaces.")


class RecordQuestion(Question):
    """A line of the ledger to keep, or a correction of one."""

    workspace: Workspace
    text: Statement
    kind: LineKind = Field(default="decision", description="A task is something that is open.")
    subject: Label = Field(default="", description="What it is about: staging database.")
    attribute: Label = Field(default="", description="Which property of the subject: version, owner…")
    value: Label = Field(default="", description="What holds for it: Postgres 16.")
    replaces: Label = Field(default="", description="The id of the item that this one corrects.")
    session: Name | None = None
    source: SourceQuestion = SourceQuestion()


class LedgerQuestion(Question):
    """What holds: decisions, facts about somebody, or what is open."""

    workspace: Workspace
    what: Literal["decisions", "facts", "open"] = "decisions"
    who: Name = Field(default="me", description="For facts: a person or a thing; me is the user.")
    about: Label = Field(default="", description="For decisions: only those about this.")
    since: Instant | None = None
    until: Instant | None = None


class SearchQuestion(Question):
    """A question to a workspace."""

    workspace: Workspace
    query: QueryText
    limit: Limit = 10
    memory_types: list[Label] = Field(default=[], max_length=100, description="Kinds and types.")
    kinds: list[Kind] = Field(default=[], max_length=100)
    date_from: Instant | None = None
    date_to: Instant | None = None
    min_confidence: Share = 0.0
    conversation_id: Label | None = None
    session: Label | None = None
    include_relationships: bool = False
    relationship_depth: Depth = 1
    deadline_ms: float | None = Field(
        default=None, gt=0, le=_MAX_DEADLINE_MS, description="Answer within so many milliseconds."
    )
    lane: Lane | None = Field(default=None, description="Without (fast) or with (full) the cross-encoder.")


class ContextQuestion(SearchQuestion):
    """A prompt that wants its context."""

    template: Label | None = None
    token_budget: Budget | None = None
    ranker: Ranker | None = None
    include_metadata: bool = False
    asked_in: Label | None = Field(default=None, description="The session that asks.")
    floor: Share | None = Field(default=None, description="Leave out what is less probably relevant.")
    preview: bool = Field(default=False, description="Keep no receipt.")


class AssembleQuestion(Question):
    """A question that wants one document from several sources."""

    workspace: Workspace
    query: QueryText
    types: list[ContextType] = Field(
        default=[], max_length=10, description="Only these sources; all, if empty."
    )
    limit: Limit = Field(default=20, description="The most items of each source.")
    max_tokens: DocumentTokens = Field(default=2000, description="A soft limit.")
    session: Name | None = Field(default=None, description="The session that asks.")
    preview: bool = Field(default=False, description="Keep no receipt.")


class PremortemQuestion(Question):
    """What went wrong before in a domain; or near to a failure, if anything of one is told."""

    workspace: Workspace
    domain: Domain = "debugging"
    strategy: Strategy | None = None
    tests: list[Label] = Field(default=[], max_length=100, description="Tests that failed.")
    error: Annotated[str, StringConstraints(max_length=100_000, pattern=_TEXT)] = Field(
        default="", description="What was printed of the error."
    )
    command: Label = Field(default="", description="The command that failed.")
    files: list[Label] = Field(default=[], max_length=100, description="Files involved.")
    limit: Limit = Field(default=10, description="The most experiences of each section.")
    max_tokens: DocumentTokens = 1500
    session: Name | None = Field(default=None, description="The session that asks.")
    preview: bool = Field(default=False, description="Keep no receipt.")


class ForgetQuestion(Question):
    """What to forget: ids, and whatever fits the session and the source."""

    workspace: Workspace
    ids: Annotated[list[Name], Field(min_length=1, max_length=_MAX_IDS)] = _optional_not_null_field()
    session: Name = _optional_not_null_field()
    source: Name = _optional_not_null_field()
    verify: bool = Field(default=True, description="Check the whole workspace afterwards.")

    _choices: ClassVar[tuple[str, ...]] = ("ids", "session", "source")
    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": [name]} for name in _choices]})

    @model_validator(mode="after")
    def _require_something_to_forget(self) -> Self:
        if not self.model_fields_set.intersection(self._choices):
            raise ValueError("say what to forget: ids, a session or a source")
        return self


class AmendQuestion(Question):
    """What is to be known of an item from now on. Its text never changes: a new item supersedes it."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    confidence: Share = _optional_not_null_field()
    importance: Share = _optional_not_null_field()
    metadata: dict[str, JsonValue] = _optional_not_null_field()
    superseded_by: Name = _optional_not_null_field()

    @model_validator(mode="after")
    def _require_a_change(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("say what to change: confidence, importance, metadata or superseded_by")
        return self


def describe_mistakes(error: ValidationError) -> str:
    """The mistakes in a request, field by field, without repeating what was sent."""
    return "; ".join(
        ": ".join([*filter(None, [".".join(map(str, mistake["loc"]))]), _describe_mistake(mistake)])
        for mistake in error.errors(include_url=False, include_input=False)
    )


def _describe_mistake(mistake: ErrorDetails) -> str:
    if mistake["type"] == "string_pattern_mismatch":
        return "must not be blank, and must not hold a NUL character"
    return mistake["msg"].removeprefix("Value error, ")


# Answers -------------------------------------------------------------------------------------------------


class SourceAnswer(Answer):
    """Who or what wrote an item, and how far that is trusted."""

    name: str
    trust: Trust


class ItemAnswer(Answer):
    """An item as it is kept."""

    id: str
    workspace: str
    text: str
    kind: Kind
    type: str
    about: str
    created_at: datetime
    valid_from: datetime | None
    superseded_by: str | None
    session: str | None
    conversation: str | None
    confidence: float
    importance: float
    source: SourceAnswer
    metadata: dict[str, Any]
    tokens: int
    hash: str


class LedgerLineAnswer(Answer):
    """Something that was decided, is known or is open; what it replaced, and what is said against it."""

    item: ItemAnswer
    text: str
    kind: str = Field(default="", description="decision, rule or preference; empty for facts and open ends.")
    attribute: str = ""
    value: str = ""
    before: list[ItemAnswer] = []
    beside: list[ItemAnswer] = []


class LedgerAnswer(Answer):
    """Lines of the ledger, newest first."""

    lines: list[LedgerLineAnswer]


class RelationAnswer(Answer):
    """A typed edge between two items."""

    from_id: str
    to_id: str
    type: str
    confidence: float
    created_at: datetime


class RelatedAnswer(Answer):
    """An item reached from another by following relations."""

    memory: ItemAnswer
    relationship: RelationAnswer
    depth: int


class ResultAnswer(Answer):
    """One answer to a search: the item, its relevance, and its place and score in each space."""

    memory: ItemAnswer
    score: float
    weighted_agreement: float
    ranks: dict[str, int]
    scores: dict[str, float]
    relationships: list[RelatedAnswer]


class SearchAnswer(Answer):
    """What answers a question, best first."""

    results: list[ResultAnswer]


class NoteAnswer(Answer):
    """A part that failed, was late, or was left out."""

    part: str
    message: str


class StageAnswer(Answer):
    """How long one stage took."""

    stage: str
    milliseconds: float


class EntryAnswer(Answer):
    """What was known of a candidate, and what was decided."""

    item_id: str
    kind: str
    decision: Reason
    detail: str
    section: str
    tokens: int
    score: float
    rank: float
    agreement: float
    ranks: dict[str, int]
    scores: dict[str, float]


class ReceiptAnswer(Answer):
    """Why a context is as it is."""

    id: str
    workspace: str
    created_at: datetime
    query: str
    recipe: str
    budget: int
    tokens: int
    session: str | None
    stages: list[StageAnswer]
    entries: list[EntryAnswer]
    notes: list[NoteAnswer]


class ContextAnswer(Answer):
    """A context, ready to be put before a prompt, and its receipt."""

    context: str
    token_count: int
    truncated: bool
    template: str
    receipt: ReceiptAnswer


class ContextItemAnswer(Answer):
    """A piece of a document: where it comes from, its wording, how relevant it is, and its facts."""

    source: str
    content: str
    relevance: float
    metadata: dict[str, JsonValue]


class DocumentAnswer(Answer):
    """A document from several sources, or a premortem; empty when there is nothing to say."""

    markdown: str
    items: list[ContextItemAnswer]
    token_count: int
    sources_used: dict[str, int]
    over_by: int
    notes: list[NoteAnswer]
    receipt: ReceiptAnswer


class ProblemAnswer(Answer):
    """A disagreement that the check found: in which part, and what it is."""

    part: str
    message: str


class ForgetAnswer(Answer):
    """The ids that are gone, and whatever a check of the workspace then found."""

    ids: list[str]
    problems: list[ProblemAnswer]


class StatsAnswer(Answer):
    """How much a workspace holds."""

    items: int
    kinds: dict[str, int]
    relations: int
    vectors: dict[str, int]
    receipts: int
    bytes: int


class WorkspacesAnswer(Answer):
    """The workspaces that hold anything."""

    workspaces: list[str]


class ViewAnswer(Answer):
    """Where the viewer's page is; its key lasts as long as the service."""

    address: str


class HealthAnswer(Answer):
    """That the service answers, and which version it is."""

    ok: bool
    version: str


class ObjectAnswer(Answer):
    """An object whose members are its own business."""

    model_config = ConfigDict(extra="allow")


class Failure(Answer):
    """The tag of an error, and what happened and what to do about it."""

    type: str
    message: str


class ErrorAnswer(Answer):
    """Something went wrong."""

    error: Failure
