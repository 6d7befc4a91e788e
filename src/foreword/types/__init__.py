"""The frozen values that the parts of the pipeline pass to each other, in the order in which they are used.

An item and its relations; a query, the probes it becomes, what a store found; results, candidates, the
receipt. The turns and entities of a conversation are in `foreword.types.conversation`. Nothing here does I/O
or checks a user's input. `id`, `hash` and `tokens` are set when an item is stored; until then they hold their
empty defaults.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from foreword.types.conversation import ENTITY_TYPES as ENTITY_TYPES
from foreword.types.conversation import ROLES as ROLES
from foreword.types.conversation import BesideSummary as BesideSummary
from foreword.types.conversation import ContextualSummarizer as ContextualSummarizer
from foreword.types.conversation import DialogueState as DialogueState
from foreword.types.conversation import DialogueSummarizer as DialogueSummarizer
from foreword.types.conversation import Entity as Entity
from foreword.types.conversation import EntityRelationship as EntityRelationship
from foreword.types.conversation import EntityType as EntityType
from foreword.types.conversation import Registry as Registry
from foreword.types.conversation import Replacement as Replacement
from foreword.types.conversation import ResolvedEntity as ResolvedEntity
from foreword.types.conversation import Role as Role
from foreword.types.conversation import SpeechAct as SpeechAct
from foreword.types.conversation import Turn as Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from foreword.types.conversation import FindReplacing as FindReplacing

# An item -------------------------------------------------------------------------------------------------

Kind = Literal["memory", "turn", "code", "commit", "document", "experience", "value", "summary", "entity"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_EPOCH = datetime.fromtimestamp(0, UTC)

EVENTS: frozenset[str] = frozenset({"turn", "commit", "experience", "summary"})
"""Kinds of item that are events: the same words at another time are another item. Others are stored once."""

Trust = Literal["user", "agent", "repository", "tool", "web"]  # the most trusted first
TRUSTS: tuple[Trust, ...] = get_args(Trust)


@dataclass(frozen=True, slots=True)
class Source:
    """Who or what wrote an item, and how far that is trusted."""

    name: str = "user"
    trust: Trust = "user"


@dataclass(frozen=True, slots=True)
class Item:
    """One thing worth remembering.

    `text` is what is shown. `about` is what surrounds it (speaker, heading path, file, class): it is searched
    and embedded with the text, and shown apart from it. `kind` is one of `KINDS`; `type` is the user's own
    finer label (decision, fact, preference…) and falls back to the kind.
    """

    text: str
    workspace: str
    kind: Kind = "memory"
    id: str = ""
    type: str = ""
    about: str = ""
    created_at: datetime = _EPOCH
    valid_from: datetime | None = None
    superseded_by: str | None = None
    session: str | None = None
    conversation: str | None = None
    confidence: float = 1.0
    importance: float = 0.5
    source: Source = Source()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tokens: int = 0
    hash: str = ""

    def __reduce__(self) -> tuple[Callable[..., Item], tuple[Any, ...]]:
        """How an item is pickled for another process: as its values, many times faster than by default."""
        return Item, tuple([getattr(self, name) for name in self.__slots__])

    @property
    def label(self) -> str:
        """The type to show: the item's own, or else its kind."""
        return self.type or self.kind

    @property
    def content(self) -> str:
        """The text, under the name that templates and other memories use."""
        return self.text

    @property
    def searchable(self) -> str:
        """The text that is searched and embedded: `about`, then `text`."""
        return f"{self.about}: {self.text}" if self.about else self.text


def content_hash(item: Item) -> str:
    """The hash of an item's content, so that the same thing said twice is stored once.

    It is made of kind, type, `about`, text and source; for the kinds in `EVENTS` also of time, session and
    conversation.
    """
    parts = [item.kind, item.type, item.about, item.text, item.source.name]
    if item.kind in EVENTS:
        parts += [item.session or "", item.conversation or "", item.created_at.isoformat()]
    return text_hash("\0".join(parts))


def text_hash(text: str) -> str:
    """The hash of a text, with a tag for the algorithm."""
    return "b2:" + hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Views:
    """The code names and the entities that an item mentions, derived from the item alone."""

    identifiers: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Callable[..., Views], tuple[Any, ...]]:
        """How views are pickled for another process; see `Item`."""
        return Views, (self.identifiers, self.entities)


# A relation ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Relation:
    """A typed edge between two items of one workspace."""

    from_id: str
    to_id: str
    type: str = "related_to"
    confidence: float = 1.0
    created_at: datetime = _EPOCH


MENTIONS = "mentions"
"""The key in an item's metadata for the places in its text that mention somebody or something."""

REPLACES = "replaces"
"""The type of the relation from a newer statement to the one that it makes untrue."""

SURE_REPLACEMENT = 0.8
"""The confidence from which on such a relation alone decides that the older statement is outdated."""

AMENDS = "amends"
"""The type of the relation from a newer statement to one that it makes untrue in part; the rest holds."""

DISPUTES = "disputes"
"""The type of the relation from a statement to one that it contradicts and is not trusted to replace."""


@dataclass(frozen=True, slots=True)
class RelatedMemory:
    """An item reached from another by following relations."""

    memory: Item
    relationship: Relation
    depth: int


@dataclass(frozen=True, slots=True)
class RelationLink:
    """Why a related memory is shown: the memory that leads to it, and the relation between the two."""

    origin: Item
    relationship: Relation

    @property
    def is_forward(self) -> bool:
        """Whether the relation goes from the origin to the related memory."""
        return self.relationship.from_id == self.origin.id

    @property
    def description(self) -> str:
        """The relation by ids, for a receipt."""
        return f"{self.relationship.from_id} {self.relationship.type} {self.relationship.to_id}"


# A query -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filters:
    """Which items may answer. Every store applies these inside its search, never to its results.

    `conversation_prefix` lets pass the items of every conversation whose name begins with it, `conversations`
    those of any that it names; among these, "" stands for items that belong to no conversation.
    """

    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    min_confidence: float = 0.0
    conversation: str | None = None
    session: str | None = None
    source: str | None = None
    conversation_prefix: str | None = None
    trust: Trust | None = None
    conversations: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether these filters let every item pass."""
        return self == Filters()


@dataclass(frozen=True, slots=True)
class Query:
    """One question to one workspace. `expires` is a `time.monotonic()` instant, or None for no deadline."""

    text: str
    workspace: str
    now: datetime
    filters: Filters = Filters()
    limit: int = 10
    vector: tuple[float, ...] | None = None
    expires: float | None = None


# Probes: how a store should look -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WordsProbe:
    """Rank by BM25 over stemmed words; 1 is the score of an item that has all of them."""

    space: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TypoProbe:
    """Rank by words that look like these, for those the workspace has never seen."""

    space: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IdentifiersProbe:
    """Rank by the parts of code names: `parse_http_date` is parse, http, date."""

    space: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EntitiesProbe:
    """Rank by the entities that an item mentions; the score is the share of them, rare ones counting more."""

    space: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VectorProbe:
    """Rank by cosine, among the vectors that the encoder with this digest made.

    With an `echo`, rank a second time, under that name, by the vector moved towards the best first answers,
    which finds items like them.
    """

    space: str
    digest: str
    vector: tuple[float, ...]
    echo: str | None = None


@dataclass(frozen=True, slots=True)
class NeighboursProbe:
    """Rank items that are one relation, or one place in a session, away from what the other probes found."""

    space: str


@dataclass(frozen=True, slots=True)
class RecentProbe:
    """Rank by time alone, newest first, for a question without words."""

    space: str


Probe = (
    WordsProbe | TypoProbe | IdentifiersProbe | EntitiesProbe | VectorProbe | NeighboursProbe | RecentProbe
)


# What a store found --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Note:
    """A remark for the reader of a receipt: a part that failed, was late, or was left out."""

    part: str
    message: str


@dataclass(frozen=True, slots=True)
class Findings:
    """The result of one round trip to the store: for each space, ids and scores, best first; and the items.

    `measures` has scores of items that a space did not list, where they cost nothing. `beside` has the
    neighbours of an item and how near they are; `previous` the item before it in its session.
    """

    items: Mapping[str, Item]
    lists: Mapping[str, tuple[tuple[str, float], ...]]
    notes: tuple[Note, ...] = ()
    measures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    beside: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    previous: Mapping[str, str] = field(default_factory=dict)


# A search result -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One answer to a search: the memory, its relevance (0 to 1), and its rank score once ranked.

    `excerpt` is the part of a long memory that answers; empty if the whole memory is shown. `matches` are the
    spaces in which the memory really matches the question; None means all that rank it. `link` is the
    relation by which the memory was found; None if the search found it. `history` is what the memory
    replaced, `later` what contradicts it since and does not stand in its place; both are shown after it.
    """

    memory: Item
    score: float
    rank: float | None = None
    relationships: tuple[RelatedMemory, ...] = ()
    ranks: Mapping[str, int] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)
    excerpt: str = ""
    matches: frozenset[str] | None = None
    link: RelationLink | None = None
    history: tuple[Item, ...] = ()
    later: tuple[Item, ...] = ()

    @property
    def matching_ranks(self) -> dict[str, int]:
        """The ranks in the spaces where the memory matches."""
        matches = self.ranks if self.matches is None else self.matches
        return {space: rank for space, rank in self.ranks.items() if space in matches}

    @property
    def weighted_agreement(self) -> float:
        """How far the spaces agree: the sum of 1/rank over those in which the memory matches."""
        return sum(1 / rank for rank in self.matching_ranks.values())


# A candidate, and what was decided about it --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ContextLine:
    """A search result as it appears in a context: its section, its text there, and that text's tokens."""

    result: SearchResult
    section: str
    text: str
    tokens: int
    detail: str = ""

    @property
    def id(self) -> str:
        """The item's id."""
        return self.result.memory.id


Reason = Literal[
    "injected",
    "below floor",
    "duplicate",
    "superseded",
    "no answer",
    "already in context",
    "over budget",
    "over limit",
    "foreign workspace",
    "quarantined",
]
"""Why a candidate is in the context, or why it is not."""


@dataclass(frozen=True, slots=True)
class DroppedResult:
    """A search result that was left out, and why; `detail` names its duplicate, successor or floor."""

    result: SearchResult
    reason: Reason
    detail: str = ""


def keep_one_drop_per_item(dropped: Iterable[DroppedResult]) -> list[DroppedResult]:
    """One of those of each item, with the last reason and the best score.

    Several stages may drop an item: one that the search found, and another that lists it for another reason.
    """
    once: dict[str, DroppedResult] = {}
    for one in dropped:
        name = one.result.memory.id or str(len(once))  # what is no item of the store has no id
        before = once.get(name)
        best = before.result if before and before.result.score > one.result.score else one.result
        once[name] = replace(one, result=best)
    return list(once.values())


# A receipt -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a receipt: a candidate with its scores, and what was decided about it."""

    item_id: str
    kind: str
    decision: Reason
    detail: str = ""
    section: str = ""
    tokens: int = 0
    score: float = 0.0
    rank: float = 0.0
    agreement: float = 0.0
    ranks: Mapping[str, int] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StageTime:
    """How long one stage of the pipeline took."""

    stage: str
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of one context. It names items by id and holds none of their text, so they can be forgotten.

    A `view` is the receipt in a recipe's own schema, by path, and `text` is the context as it was given. Both
    repeat what items say, so they are deleted as soon as anything in the workspace is forgotten.
    """

    id: str
    workspace: str
    created_at: datetime
    query: str
    recipe: str
    budget: int
    tokens: int
    session: str | None = None
    stages: tuple[StageTime, ...] = ()
    entries: tuple[Entry, ...] = ()
    notes: tuple[Note, ...] = ()
    view: Mapping[str, Any] | None = None
    text: str = ""

    @property
    def injected_entries(self) -> tuple[Entry, ...]:
        """The entries of the items that are in the context."""
        return tuple(entry for entry in self.entries if entry.decision == "injected")
