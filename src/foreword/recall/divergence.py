"""Detects that a prompt has left the subject of the recent talk; an alert names the talk that was left.

A prompt is compared with what was said before it, since a hook knows nothing of what comes later. A logistic
curve turns nine signs (`ShiftSigns`) into a probability. Three are similarities of vectors that exist anyway,
the others count words. Without vectors the words decide alone, and the alert's space says so. A mere reply
("what about it?", "ok, thanks") does not leave the subject.

An alert interrupts, so the threshold prefers precision to recall (docs/quality.md has the numbers). Nothing
is embedded here: the caller passes in the vectors. `tools/fit_shift.py` fits the coefficients anew.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import astuple, dataclass
from datetime import timedelta
from operator import mul
from typing import TYPE_CHECKING, Literal

from foreword.errors import ValidationError
from foreword.recall.fuse import UNRELATED_COSINE
from foreword.spaces.base import cosine_similarity
from foreword.text.shorten import shorten_between_words
from foreword.text.words import STOPWORDS, split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from foreword.types import Item

Severity = Literal["low", "medium", "high"]

MAX_SUMMARY_CHARACTERS = 100
"""How many characters of the talk that was left an alert quotes."""

SEMANTIC, LEXICAL = "semantic", "lexical"

_NEAR_TURNS, _SHARED_WORD_TURNS, _HOME_TURNS = 3, 4, 4
"""How many turns back the prompt's vector is compared, its words, and the last turn's vector."""

_SETTLED_FIRST_TURN = 0.29
"""The value of `settled` for a first turn, which nothing precedes: the average of all turns."""

_MAX_WORDS, _MAX_LAST_ROOTS = 32, 16
"""A longer text counts as this long: the curves were fitted on talk, and a prompt may be a page."""

MAX_COMPARED_TURNS = 1 + max(_NEAR_TURNS, _SHARED_WORD_TURNS, _HOME_TURNS)

_TURN_FADING = 0.8
"""The weight of each turn, as a share of the next one's, when the most central turn is looked for."""

_SPEAKING_TRUSTS = ("user", "agent")
_USER_NAMES = ("user", "human")


@dataclass(frozen=True, slots=True)
class ShiftSigns:
    """The signs of a shift. Yes is 1 and no is 0; similarities are 0 if unrelated and 1 if equal."""

    near: float
    """The best similarity to the last three turns."""

    last: float
    """The similarity to the last turn."""

    settled: float
    """How similar the last turn was to those before it: right after a shift, another is unlikely."""

    shared: float
    """The share of the prompt's content words that the last four turns have."""

    length: float
    """The length of the prompt: a short one is unlike everything."""

    before: float
    """The length of the last turn: nothing is like a short one."""

    leans: float
    """Whether the prompt points back, or opens like a reply."""

    asks: float
    """Whether the prompt asks or orders something, as most prompts do that change the subject."""

    pending: float
    """Whether the last turn was another's question that the prompt may answer."""


@dataclass(frozen=True, slots=True)
class ShiftCurve:
    """A logistic curve: its start, and a weight for each sign."""

    start: float
    weights: ShiftSigns

    def probability(self, seen: ShiftSigns) -> float:
        """The probability of a shift, with these signs."""
        return 1 / (1 + math.exp(-self.start - sum(map(mul, astuple(self.weights), astuple(seen)))))


MEANING = ShiftCurve(-4.01, ShiftSigns(
    near=-3.94, last=-2.36, settled=1.56, shared=-0.83, length=0.88, before=0.33, leans=-0.90, asks=1.36,
    pending=-1.55,
))  # fmt: skip
"""Fitted on two sets of dialogues, chat and errands, with equal weight."""

WORDS = ShiftCurve(-2.45, ShiftSigns(
    near=0.0, last=0.0, settled=0.0, shared=-3.31, length=0.36, before=0.45, leans=-0.82, asks=1.30,
    pending=-1.93,
))  # fmt: skip
"""The same where there are no vectors."""


def read_shift_signs(
    prompt: Utterance, recent: Sequence[Utterance], unrelated_cosine: float = UNRELATED_COSINE
) -> ShiftSigns:
    """The signs of whether a prompt leaves the recent talk (oldest first, one turn or more)."""
    last = recent[-1]
    known = frozenset[str]().union(*(turn.roots for turn in recent[-_SHARED_WORD_TURNS:]))
    near, home = [0.0], [0.0]
    if _have_comparable_vectors(prompt, last):
        near = _vector_similarities(prompt, recent[-_NEAR_TURNS:], unrelated_cosine)
        home = _vector_similarities(last, recent[-1 - _HOME_TURNS : -1], unrelated_cosine) or [
            _SETTLED_FIRST_TURN
        ]
    return ShiftSigns(
        near=max(near),
        last=near[-1],
        settled=max(home),
        shared=len(prompt.roots & known) / max(1, len(prompt.roots)),
        length=math.log1p(min(_MAX_WORDS, prompt.length)),
        before=math.log1p(min(_MAX_LAST_ROOTS, len(last.roots))),
        leans=float(prompt.leans),
        asks=float(prompt.asks),
        pending=float(last.asks and not last.offers and not last.own),
    )


def shift_probability(
    prompt: Utterance, recent: Sequence[Utterance], unrelated_cosine: float = UNRELATED_COSINE
) -> float:
    """How likely the prompt has left the recent talk; by words alone if it or the last turn has no vector.

    `unrelated_cosine` is what the encoder gives to unrelated texts.
    """
    if not recent:
        return 0.0
    curve = MEANING if _have_comparable_vectors(prompt, recent[-1]) else WORDS
    return curve.probability(read_shift_signs(prompt, recent, unrelated_cosine))


@dataclass(frozen=True, slots=True)
class DivergenceAlert:
    """An alert that the prompt has left what was talked about.

    `summary` is the recent text that represents best what was left; `similarity` is the prompt's to it, in
    `space`: 0 for an unrelated text, 1 for an equal one.
    """

    memory_id: str
    space: str
    summary: str
    similarity: float
    severity: Severity


@dataclass(frozen=True, slots=True)
class DivergenceDetector:
    """Detects when a prompt has left the talk of the last two hours, at most fifty memories of it."""

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
        unrelated_cosine: float = UNRELATED_COSINE,
    ) -> DivergenceAlert | None:
        """The alert, if the query has left the subject of the recent items; None if it stays with it.

        `vectors` are the items' own by id, as far as there are any, of the encoder that made `query_vector`.
        """
        known = vectors or {}
        past = self.select_recent_talk(query, recent, now)
        prompt = read_utterance(query, () if query_vector is None else query_vector)
        latest = [_read_item_utterance(item, known) for item in past[-MAX_COMPARED_TURNS:]]
        chance = shift_probability(prompt, latest, unrelated_cosine)
        if not self.is_worth_an_alert(prompt, chance):
            return None
        by_meaning = _have_comparable_vectors(prompt, latest[-1])
        heard = [_read_item_utterance(item, known if by_meaning else {}) for item in past]
        place = _find_most_central_turn(heard)
        return DivergenceAlert(
            memory_id=past[place].id,
            space=SEMANTIC if by_meaning else LEXICAL,
            summary=shorten_between_words(past[place].text, MAX_SUMMARY_CHARACTERS),
            similarity=_similarity_to_turn(prompt, heard[place], unrelated_cosine),
            severity=self.severity(chance),
        )

    def select_recent_talk(self, query: str, recent: Iterable[Item], now: datetime) -> list[Item]:
        """The items to compare with, oldest first: output of tools only if nobody spoke, the query never.

        Summaries are left out: they repeat what was said, and nobody said them.
        """
        said = [item for item in recent if item.kind != "summary"]
        inside = [item for item in said if now - self.lookback <= item.created_at <= now]
        inside.sort(key=lambda item: item.created_at)
        spoken = [item for item in inside if item.source.trust in _SPEAKING_TRUSTS] or inside
        if spoken and spoken[-1].text.split() == query.split():
            spoken.pop()
        return spoken[-self.most :]

    def is_worth_an_alert(self, prompt: Utterance, chance: float) -> bool:
        """Whether a shift of this probability is worth an alert; a mere reply never is."""
        return chance >= self.threshold and not prompt.replies

    def severity(self, chance: float) -> Severity:
        """How sure an alert is, in a word."""
        return "high" if chance >= self.high else "medium" if chance >= self.medium else "low"


def _read_item_utterance(item: Item, vectors: Mapping[str, Sequence[float]]) -> Utterance:
    return read_utterance(item.text, vectors.get(item.id, ()), own=item.about.casefold() in _USER_NAMES)


def _have_comparable_vectors(one: Utterance, other: Utterance) -> bool:
    """Whether both have vectors, of one length."""
    return len(one.vector) == len(other.vector) > 0


def _vector_similarities(one: Utterance, others: Iterable[Utterance], unrelated_cosine: float) -> list[float]:
    """The cosine to each that has a comparable vector, stretched so that unrelated ones are at 0."""
    return [
        max(-1.0, (cosine_similarity(one.vector, other.vector) - unrelated_cosine) / (1 - unrelated_cosine))
        for other in others
        if _have_comparable_vectors(one, other)
    ]


def _similarity_to_turn(prompt: Utterance, left_turn: Utterance, unrelated_cosine: float) -> float:
    """The prompt's similarity to the turn it left, 0 to 1: by meaning, or the share of its words there."""
    for likeness in _vector_similarities(prompt, (left_turn,), unrelated_cosine):
        return min(1.0, max(0.0, likeness))
    return len(prompt.roots & left_turn.roots) / max(1, len(prompt.roots))


def _find_most_central_turn(turns: Sequence[Utterance]) -> int:
    """The place of the turn most like all others, later ones weighing more; no mere reply, if possible."""
    telling = [place for place, turn in enumerate(turns) if not turn.replies] or list(range(len(turns)))
    compared = [place for place in telling if _have_comparable_vectors(turns[place], turns[-1])]
    weights = {place: _TURN_FADING ** (len(turns) - place) for place in compared or telling}
    if compared:
        columns = zip(*(turns[place].vector for place in compared), strict=True)
        centre = [sum(map(mul, column, weights.values())) for column in columns]
        return max(compared, key=lambda place: cosine_similarity(turns[place].vector, centre))
    common: Counter[str] = Counter()
    for place, weight in weights.items():
        common.update(dict.fromkeys(turns[place].roots, weight))
    return max(telling, key=lambda place: _common_word_weight(turns[place], common))


def _common_word_weight(turn: Utterance, common: Mapping[str, float]) -> float:
    """The weight of the common words that a turn has, relative to its length."""
    return sum(common[root] for root in turn.roots) / math.sqrt(max(1, len(turn.roots)))


# What an utterance does -----------------------------------------------------------------------------------


_MAX_READ_CHARACTERS = 2000
"""Characters read for words, at either end of a long text."""

_MAX_HEARD_CHARACTERS = 300
"""Characters read for questions and orders, at either end: in the middle of a page they are quoted."""

_ROOT_LETTERS = 5
"""Words that share this many letters at their start are the same: book, booked, bookings."""

_MAX_BRIEF_WORDS = 2
"""At most how many content words a prompt has whose "it" means what was said before."""


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_POINTING_WORDS = _word_set("it its that this they them those these he she him her his their one ones there")
_REPLY_WORDS = _word_set(
    "yes yeah yep yup no nope ok okay sure thanks thank please and or but because alright right"
)
_ACKNOWLEDGING_WORDS = _REPLY_WORDS | _word_set(
    "great perfect good nice cool wow lol haha ha oh ah hmm fine awesome excellent exactly correct true "
    "agreed sounds looks works done lgtm go ahead continue proceed carry keep going next again retry "
    "welcome bye goodbye hi hello hey"
)
_FINISHING_WORDS = _word_set(
    "commit push pull request requests pr merge rebase revert undo redo diff test tests suite lint linter "
    "format build run rerun deploy ship save open create make message branch changes"
)
"""Words of orders about the current work, whatever it is: run the tests, open a pull request."""

_OPENING_WORDS = _REPLY_WORDS | _word_set("so oh well now then also hi hello hey great good you next first")
"""Words that may stand before the word that asks."""

_ASKING_WORDS = _word_set(
    "what how why where when who which add build change check clean compare create debug delete describe "
    "document draft drop explain find fix generate give help implement improve install investigate list look "
    "make merge move open optimise optimize plan pull push read refactor remove rename replace review revert "
    "run search set show start stop summarise summarize tell test translate try update upgrade use write"
)
_REQUEST = re.compile(
    r"\b(?:i (?:need|want|wanna|would like|d like|am looking|m looking|am trying|m trying|have to)|"
    r"(?:im )?looking for|(?:can|could|would|will) (?:you|i|we)|please|let s|"
    r"(?:give|show|tell|help|find|get|send) (?:me|us))\b"
)
_QUESTION_MARK = re.compile(r"[?？](?![\w=&/])")
_OFFER = re.compile(
    r"\belse\b|\b(?:be|is) all\b|\bfurther\b|\bother (?:questions|help|assistance)\b|\bmore help\b|"
    r"\blet me know\b"
)


@dataclass(frozen=True, slots=True)
class Utterance:
    """The features of one turn, by which a shift is detected.

    `roots` are its content words, shortened; `length` counts all of its words. It may ask or order something
    (`asks`), offer to go on with anything (`offers`), point back or open like a reply (`leans`), or reply and
    nothing else (`replies`). `own`: the user who prompts said it.
    """

    roots: frozenset[str]
    length: int
    asks: bool = False
    offers: bool = False
    leans: bool = False
    replies: bool = False
    own: bool = False
    vector: Sequence[float] = ()


def read_utterance(text: str, vector: Sequence[float] = (), *, own: bool = False) -> Utterance:
    """The features of a turn; of a long text, those of its beginning and its end."""
    every = split_words(_beginning_and_end(text, _MAX_READ_CHARACTERS))
    ends = _beginning_and_end(text, _MAX_HEARD_CHARACTERS)
    heard = split_words(ends)
    plain = " ".join(heard)
    return Utterance(
        roots=frozenset(word[:_ROOT_LETTERS] for word in every if word not in STOPWORDS),
        length=len(every),
        asks=bool(_QUESTION_MARK.search(ends) or _REQUEST.search(plain))
        or _first_word_after_opening(heard) in _ASKING_WORDS,
        offers=bool(_OFFER.search(plain)),
        leans=not _POINTING_WORDS.isdisjoint(heard) or not _REPLY_WORDS.isdisjoint(heard[:1]),
        replies=_is_mere_reply(every),
        own=own,
        vector=vector,
    )


def _beginning_and_end(text: str, end_characters: int) -> str:
    """A long text cut to `end_characters` at either end."""
    return text if len(text) <= 2 * end_characters else f"{text[:end_characters]}\n{text[-end_characters:]}"


def _first_word_after_opening(turn_words: Sequence[str]) -> str:
    """The first word that is no mere opening."""
    return next((word for word in turn_words if word not in _OPENING_WORDS), "")


def _is_mere_reply(turn_words: Sequence[str]) -> bool:
    """Whether a turn names no subject: it acknowledges or finishes, or says little and points back."""
    brought = set(turn_words) - STOPWORDS - _ACKNOWLEDGING_WORDS - _FINISHING_WORDS
    return not brought or (len(brought) <= _MAX_BRIEF_WORDS and not _POINTING_WORDS.isdisjoint(turn_words))
