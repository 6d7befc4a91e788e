"""Sentences of a conversation, and how much each of them says about the whole.

Knows words, positions and shapes; no model. The weights were fitted on conversations with human summaries:
what counts is to share words with other turns, to be long enough to say something, to name things, and to
come first. How much is read is bounded, so that a summary costs little however long a session is.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.text.words import STOPWORDS, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_READ = 2_000
"""So many characters of a turn are read at most."""

FIRST_TURNS, LAST_TURNS = 5, 15
"""The ends of a conversation are always looked at closely."""

MOST_CONSIDERED = 300
"""Of the rest, so many sentences."""

MOST_SPREAD = 12
"""A word that more turns have says no more about the conversation."""

_ALLOWANCE = 60_000
_LEAST_READ = 100
_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_BULLET = re.compile(r"^\s*(?:[-*+•>]\s+|\d{1,2}[.)]\s+|#{1,6}\s+|\|\s*)+")
_MARKS = re.compile(r"\*\*|(?<!\w)\*(?=\w)|(?<=[\w.!?])\*(?!\w)")
_END = re.compile(r"(?<=[.!?…])(?:[\"'”’)\]]{1,2})?\s+(?=[\"'“‘(\[]?[^\sa-z])|(?<=[。！？])")
_ABBREVIATED = re.compile(
    r"\b(?:[A-Z]|[Mm]r|[Mm]rs|[Mm]s|[Dd]r|[Pp]rof|[Ss]t|[Nn]o|vs|e\.g|i\.e|etc|cf|approx)\.$"
)
_TABLE_RULE = re.compile(r"[\s|:=*_-]*")

_SMALL_TALK = (
    "actually afternoon ain aren bit bye come couldn course didn doesn evening ever excuse fine get go "
    "going gonna good goodbye got great guess hasn haven hello hey hi im isn ive know let lets like little "
    "look looks lot lots madam make many maybe mean miss morning mr mrs ms much need never nice oh ok okay "
    "one please really right said say says see shouldn sir sorry sounds sure take tell thank thanks thing "
    "things think told want wasn way welcome well won wouldn yeah yep yes"
)
SMALL_TALK = frozenset(_SMALL_TALK.split())
"""Words that keep a conversation going and tell nothing of its subject."""

_SHARED = (0.0, *(math.log(turns) for turns in range(1, MOST_SPREAD + 1)))

_PLEASANTRY = re.compile(
    r"(?:hi|hello|hey|good (?:morning|evening|afternoon)|thank|thanks|bye|goodbye|sure|ok|okay|yes|no|oh"
    r"|sorry|really|you're welcome|excuse me|i'm sorry|see you|how are you|nice to|perfect|great|got it"
    r"|of course)\b[^.!?]{0,25}[.!?]*$",
    re.IGNORECASE,
)
_NAMED = re.compile(r"(?<=[a-z,] )[A-Z][a-z]|\b\w+[./_]\w{2,}|`[^`]+`|\b[a-z]+[A-Z]\w|\b[A-Z]{2,}-?\d")
_SETTLES = re.compile(
    r"\b(?:decid\w+|agreed?|because|instead|rather than|must|prefer|recommend|suggest|plan|problem|important"
    r"|root cause|conclu\w+|turned out|fixed|failed|passed|broke|never|always)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: where it stands, and the words of it that tell something."""

    text: str
    turn: int
    place: int
    telling: frozenset[str]
    length: int

    @property
    def where(self) -> tuple[int, int]:
        """Its place in the conversation: the turn, and the place in it."""
        return self.turn, self.place

    def overlap(self, other: frozenset[str]) -> float:
        """The share of its telling words that are among the others; all of them when it has none."""
        return len(self.telling & other) / len(self.telling) if self.telling else 1.0


def sentences(texts: Mapping[int, str]) -> list[Sentence]:
    """The sentences of numbered turns: all of the first and the last, as much as time allows between."""
    ends = {*list(texts)[:FIRST_TURNS], *list(texts)[-LAST_TURNS:]}
    share = max(_LEAST_READ, _ALLOWANCE // max(1, len(texts)))
    return [
        sentence
        for turn, text in texts.items()
        for sentence in sentences_of(text, turn, MOST_READ if turn in ends else min(MOST_READ, share))
    ]


def sentences_of(text: str, turn: int, most: int = MOST_READ) -> list[Sentence]:
    """The sentences of a turn, code and decoration left out; of a very long turn, its beginning and end."""
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("\n", text[: most * 20])
    if len(text) > most:
        text = f"{text[: most * 3 // 5].rpartition(' ')[0]}\n{text[-(most * 2 // 5) :].partition(' ')[2]}"
    found: list[Sentence] = []
    for written in text.split("\n"):
        line = _BULLET.sub("", written).strip()
        if "*" in line:
            line = _MARKS.sub("", line)
        if line and not _TABLE_RULE.fullmatch(line):
            found.extend(_sentence(part, turn, len(found) + at) for at, part in enumerate(_parts(line)))
    return found


def _parts(line: str) -> list[str]:
    """A line cut where sentences end, but not after `Mr.` or `e.g.`."""
    parts: list[str] = []
    for part in _END.split(line):
        if parts and _ABBREVIATED.search(parts[-1]):
            parts[-1] = f"{parts[-1]} {part}"
        elif part:
            parts.append(part)
    return parts


def _sentence(text: str, turn: int, place: int) -> Sentence:
    every = words(text)
    telling = frozenset(
        word for word in every if len(word) > 1 and word not in STOPWORDS and word not in SMALL_TALK
    )
    return Sentence(text, turn, place, telling, len(every))


def weighed(those: Sequence[Sentence]) -> dict[Sentence, float]:
    """The sentences that say most about the conversation, in its order, and how much each says.

    Words and places are weighed for all; looking closer costs more, and only the best are looked at.
    """
    by_turn: dict[int, set[str]] = {}
    for sentence in those:
        by_turn.setdefault(sentence.turn, set()).update(sentence.telling)
    spread = Counter(word for telling in by_turn.values() for word in telling)
    order = {turn: at for at, turn in enumerate(by_turn)}
    rough = {sentence: words_say(sentence, order[sentence.turn], spread) for sentence in those}
    if len(rough) > MOST_CONSIDERED:
        ends = {*list(by_turn)[:FIRST_TURNS], *list(by_turn)[-LAST_TURNS:]}
        least = sorted(rough.values(), reverse=True)[MOST_CONSIDERED]
        rough = {one: weight for one, weight in rough.items() if weight > least or one.turn in ends}
    return {sentence: weight + shape_says(sentence) for sentence, weight in rough.items()}


def words_say(sentence: Sentence, at: int, spread: Mapping[str, int]) -> float:
    """What its words, its length and its place tell, when so many turns have each word.

    The sum is exact: in whichever order its words come, a sentence weighs the same.
    """
    common = math.fsum(_SHARED[min(spread[word], MOST_SPREAD)] for word in sentence.telling)
    common /= math.sqrt(sentence.length) + 1
    return 0.3 * common + 0.05 * min(sentence.length, 25) / 25 + 0.08 / (1 + at)


def shape_says(sentence: Sentence) -> float:
    """What its shape tells: names and settled matters count, pleasantries and scraps do not."""
    text, weight = sentence.text, 0.0
    if _NAMED.search(text):
        weight += 0.06
    if _SETTLES.search(text):
        weight += 0.05
    if sentence.length < 4:
        weight -= 0.05
    if _PLEASANTRY.match(text):
        weight -= 0.05
    return weight
