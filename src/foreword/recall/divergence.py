"""Has this prompt left the subject of the recent talk? One alert says so, and names what was left.

Only the past is known: a prompt is held against what was said before it, as a hook meets it. Nine signs are
read off (`Signs`), and a logistic curve makes a probability of them. Three are similarities of vectors that
are there anyway, the others are words, counted. Without vectors the words decide alone, and the alert says so
by its space. What a prompt merely replies to ("what about it?", "ok, thanks") it has not left.

An alert interrupts, so the threshold asks for precision before recall (docs/quality.md has the numbers).
Refuses to embed anything: whoever asks brings the vectors. `tools/fit_shift.py` fits the coefficients anew.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import astuple, dataclass
from datetime import timedelta
from operator import mul
from typing import TYPE_CHECKING, Literal

from foreword.errors import ValidationError
from foreword.recall.fuse import UNRELATED
from foreword.recall.spoken import said

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from foreword.recall.spoken import Said
    from foreword.types import Item

Severity = Literal["low", "medium", "high"]

SUMMARY = 100
"""How many characters an alert tells of what was left."""

SEMANTIC, LEXICAL = "semantic", "lexical"

_NEAR, _SHARING, _HOME = 3, 4, 4
"""How many turns back a similar one is looked for, shared words, and a similar one to the last turn."""

_UNSETTLED = 0.29
"""What a first turn is taken for, which nothing precedes: as much at home as turns are on average."""

_LONG, _TELLING = 32, 16
"""Words beyond these say no more for certain: the curves were fitted on talk, and a prompt may be a page."""

REACH = 1 + max(_NEAR, _SHARING, _HOME)

_FADING = 0.8
"""What the turn before counts, as a share, when the middle of the recent talk is looked for."""

_SPEAKERS = ("user", "agent")
_SELF = ("user", "human")


@dataclass(frozen=True, slots=True)
class Signs:
    """What tells a shift. Yes is 1 and no is 0; similarities are 0 for strangers and 1 for the same."""

    near: float
    """The best similarity to the last three turns."""

    last: float
    """The similarity to the last turn."""

    settled: float
    """How much the last turn was itself at home: what has just shifted does not shift again."""

    shared: float
    """The share of the prompt's telling words that the last four turns have."""

    length: float
    """How much the prompt says: a short one is unlike everything."""

    before: float
    """How much the last turn says: a short one is nothing to be like."""

    leans: float
    """Whether the prompt points back, or opens like a reply."""

    asks: float
    """Whether the prompt asks or orders something: who changes the subject takes the word."""

    pending: float
    """Whether the other one asked something that the prompt may be the answer to."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A weight for each sign, and where the curve begins."""

    weights: Signs
    start: float

    def chance(self, seen: Signs) -> float:
        """The probability of a shift, with these signs."""
        return 1 / (1 + math.exp(-self.start - sum(map(mul, astuple(self.weights), astuple(seen)))))


MEANING = Curve(
    Signs(
        near=-3.94,
        last=-2.36,
        settled=1.56,
        shared=-0.83,
        length=0.88,
        before=0.33,
        leans=-0.90,
        asks=1.36,
        pending=-1.55,
    ),
    start=-4.01,
)
"""Fitted on two sets of dialogues, chat and errands, with equal weight."""

WORDS = Curve(
    Signs(
        near=0.0,
        last=0.0,
        settled=0.0,
        shared=-3.31,
        length=0.36,
        before=0.45,
        leans=-0.82,
        asks=1.30,
        pending=-1.93,
    ),
    start=-2.45,
)
"""The same where there are no vectors."""


def signs(prompt: Said, recent: Sequence[Said], unrelated: float = UNRELATED) -> Signs:
    """What tells whether a prompt leaves the recent talk (oldest first, one turn or more)."""
    last = recent[-1]
    known = frozenset[str]().union(*(turn.roots for turn in recent[-_SHARING:]))
    near, home = [0.0], [0.0]
    if _comparable(prompt, last):
        near = _likenesses(prompt, recent[-_NEAR:], unrelated)
        home = _likenesses(last, recent[-1 - _HOME : -1], unrelated) or [_UNSETTLED]
    return Signs(
        near=max(near),
        last=near[-1],
        settled=max(home),
        shared=len(prompt.roots & known) / max(1, len(prompt.roots)),
        length=math.log1p(min(_LONG, prompt.length)),
        before=math.log1p(min(_TELLING, len(last.roots))),
        leans=float(prompt.leans),
        asks=float(prompt.asks),
        pending=float(last.asks and not last.offers and not last.own),
    )


def shift(prompt: Said, recent: Sequence[Said], unrelated: float = UNRELATED) -> float:
    """How likely the prompt has left the recent talk; by words alone if it or the last turn has no vector.

    `unrelated` is the cosine that the encoder gives to strangers.
    """
    if not recent:
        return 0.0
    curve = MEANING if _comparable(prompt, recent[-1]) else WORDS
    return curve.chance(signs(prompt, recent, unrelated))


@dataclass(frozen=True, slots=True)
class DivergenceAlert:
    """The prompt has left what was talked about.

    `summary` is the recent text that stands best for what was left; `similarity` is the prompt's to it, in
    `space`: 0 is a stranger, 1 the same.
    """

    memory_id: str
    space: str
    summary: str
    similarity: float
    severity: Severity


@dataclass(frozen=True, slots=True)
class DivergenceDetector:
    """Says once when a prompt has left the talk of the last two hours, at most fifty memories of it."""

    threshold: float = 0.5
    medium: float = 0.65
    high: float = 0.8
    lookback: timedelta = timedelta(hours=2)
    most: int = 50

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= self.medium <= self.high <= 1:
            raise ValidationError(
                "threshold, medium and high must rise and lie between 0 and 1, "
                f"not {self.threshold}, {self.medium}, {self.high}"
            )
        if self.most < 1 or self.lookback <= timedelta(0):
            raise ValidationError("look back some time and at one memory or more")

    def detect(
        self,
        query: str,
        recent: Iterable[Item],
        now: datetime,
        *,
        query_vector: Sequence[float] | None = None,
        vectors: Mapping[str, Sequence[float]] | None = None,
        unrelated: float = UNRELATED,
    ) -> DivergenceAlert | None:
        """The alert, if the query has left what the recent items speak of; None if it goes on with it.

        `vectors` are the items' own by id, as far as there are any, of the encoder that made `query_vector`.
        """
        known = vectors or {}
        past = self.past(query, recent, now)
        prompt = said(query, () if query_vector is None else query_vector)
        latest = [_heard(item, known) for item in past[-REACH:]]
        chance = shift(prompt, latest, unrelated)
        if not self.alarmed(prompt, chance):
            return None
        by_meaning = _comparable(prompt, latest[-1])
        heard = [_heard(item, known if by_meaning else {}) for item in past]
        place = _middle(heard)
        return DivergenceAlert(
            memory_id=past[place].id,
            space=SEMANTIC if by_meaning else LEXICAL,
            summary=_summary(past[place].text),
            similarity=_similarity(prompt, heard[place], unrelated),
            severity=self.severity(chance),
        )

    def past(self, query: str, recent: Iterable[Item], now: datetime) -> list[Item]:
        """The talk that counts, oldest first: what tools printed only where nobody spoke, the query never."""
        inside = [item for item in recent if now - self.lookback <= item.created_at <= now]
        inside.sort(key=lambda item: item.created_at)
        spoken = [item for item in inside if item.source.trust in _SPEAKERS] or inside
        if spoken and spoken[-1].text.split() == query.split():
            spoken.pop()
        return spoken[-self.most :]

    def alarmed(self, prompt: Said, chance: float) -> bool:
        """Whether so likely a shift is worth an alert; a mere reply never is."""
        return chance >= self.threshold and not prompt.replies

    def severity(self, chance: float) -> Severity:
        """How sure an alert is, in a word."""
        return "high" if chance >= self.high else "medium" if chance >= self.medium else "low"


def _heard(item: Item, vectors: Mapping[str, Sequence[float]]) -> Said:
    return said(item.text, vectors.get(item.id, ()), own=item.about.casefold() in _SELF)


def _comparable(one: Said, other: Said) -> bool:
    return len(one.vector) == len(other.vector) > 0


def _likenesses(one: Said, others: Iterable[Said], unrelated: float) -> list[float]:
    """The similarity to each that can be compared: a cosine, stretched so that strangers are at 0."""
    return [
        max(-1.0, (_cosine(one.vector, other.vector) - unrelated) / (1 - unrelated))
        for other in others
        if _comparable(one, other)
    ]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product: float = sum(map(mul, one, other))
    return product / (math.hypot(*one) * math.hypot(*other) or 1.0)


def _similarity(prompt: Said, left: Said, unrelated: float) -> float:
    """The prompt's similarity to what it left, from 0 to 1: by meaning, or the share of its words there."""
    for likeness in _likenesses(prompt, (left,), unrelated):
        return min(1.0, max(0.0, likeness))
    return len(prompt.roots & left.roots) / max(1, len(prompt.roots))


def _middle(heard: Sequence[Said]) -> int:
    """Which turn stands best for all of them, the later ones weighing more; no mere reply, if it can be."""
    telling = [place for place, turn in enumerate(heard) if not turn.replies] or list(range(len(heard)))
    compared = [place for place in telling if _comparable(heard[place], heard[-1])]
    weights = {place: _FADING ** (len(heard) - place) for place in compared or telling}
    if compared:
        columns = zip(*(heard[place].vector for place in compared), strict=True)
        centre = [sum(map(mul, column, weights.values())) for column in columns]
        return max(compared, key=lambda place: _cosine(heard[place].vector, centre))
    common: Counter[str] = Counter()
    for place, weight in weights.items():
        common.update(dict.fromkeys(heard[place].roots, weight))
    return max(telling, key=lambda place: _spread(heard[place], common))


def _spread(turn: Said, common: Mapping[str, float]) -> float:
    """How much of the common words a turn has, for its length."""
    return sum(common[root] for root in turn.roots) / math.sqrt(max(1, len(turn.roots)))


def _summary(text: str) -> str:
    """The beginning of a text on one line, whole words, at most `SUMMARY` characters."""
    flat = " ".join(text.split())
    if len(flat) <= SUMMARY:
        return flat
    cut = flat[: SUMMARY - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"
