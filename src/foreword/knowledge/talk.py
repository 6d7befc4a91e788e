"""A conversation as far as it was read: its sentences and what each of them weighs, in step turn by turn.

A turn more or less changes the weight of few sentences: those that share its words, unless many turns share
them already. Only these are weighed anew, and the weights are what reading everything again would give. What
a turn does (it decides, promises, asks, greets) counts beside its words: as the turn itself tells it, or as
far as a sentence shows it. What matters although it was said once is told beside that. Words nothing, and
knows no tokens.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from itertools import takewhile
from typing import TYPE_CHECKING

from foreword.knowledge.sentences import (
    FIRST_TURNS,
    LAST_TURNS,
    MOST_CONSIDERED,
    MOST_SPREAD,
    Sentence,
    shape_says,
    words_say,
)
from foreword.knowledge.stakes import asks_for_something, stake

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from foreword.types import SpeechAct, Turn

    Reading = Callable[[str], Sequence[Sentence]]
    """Gives the sentences of a text, as those of a turn 0."""

_ACTS: Mapping[SpeechAct, float] = {
    "decision": 0.1,
    "promise": 0.06,
    "correction": 0.05,
    "greeting": -0.15,
    "thanks": -0.15,
    "apology": -0.15,
}
_PROMISE = re.compile(r"\b(?:i|we)(?:'ll| will| promise|(?:'m| am|'re| are) going to)\b", re.IGNORECASE)
_OPEN, _ANSWERED = 0.05, -0.02
_SHORT_TALK = 40
"""Of so many turns, what they share tells what they are about; of more, it tells what is repeated."""

_MOST_SETTLED, _MOST_APART = 120, 100
_LEAST_STAKE, _LEFT_OPEN = 0.2, 0.3
_ASKED = 0.01
"""Stands for a question, which matters while it is open."""

_ACT_STAKES: Mapping[SpeechAct, float] = {"decision": 0.4, "correction": 0.4, "refusal": 0.2}
_FEW = 2
"""Of a turn with more sentences, it is not told which one decides."""


class Talk:
    """One conversation. Not for two threads at once."""

    def __init__(self, reading: Reading) -> None:
        self.turns: list[Turn] = []
        self._reading = reading
        self._said: list[Sentence] = []
        self._weights: list[float] = []
        self._stakes: dict[int, float] = {}
        self._speakers: Counter[str] = Counter()
        self._begins: list[int] = []
        self._spread: Counter[str] = Counter()
        self._where: defaultdict[str, list[int]] = defaultdict(list)
        self._stale: set[int] = set()
        self._looked_at: dict[int, float] = {}

    def follow(self, turns: Sequence[Turn]) -> None:
        """Become the conversation of these turns; what it has in common with the one before stays."""
        pairs = zip(self.turns, turns, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))
        while len(self.turns) > same:
            self._lose()
        for turn in turns[same:]:
            self._hear(turn)

    @property
    def speakers(self) -> list[str]:
        """Who spoke, in the order of their first turns."""
        return list(self._speakers)

    def weighed(self) -> list[tuple[Sentence, float]]:
        """The sentences that say most about the conversation, in its order, and how much each says."""
        self._weigh()
        answered = self._answered()
        return [(self._said[at], self._weights[at] + self._worth(at, answered)) for at in self._considered()]

    def settled(self) -> list[tuple[Sentence, float]]:
        """What a long conversation must not lose: decisions, demands, names, numbers, open questions."""
        if len(self.turns) <= _SHORT_TALK:
            return []
        still = {
            at: _LEFT_OPEN if weight == _ASKED else weight
            for at, weight in self._stakes.items()
            if weight != _ASKED or self._is_left_open(at)
        }
        best = heapq.nlargest(_MOST_SETTLED, still, key=still.__getitem__)
        return [(self._said[at], still[at]) for at in sorted(best)]

    def apart(self) -> list[tuple[Sentence, float]]:
        """What shares least with the rest of a long conversation, and is no mere scrap of it."""
        if len(self._said) <= MOST_CONSIDERED:
            return []
        self._weigh()
        least = heapq.nsmallest(_MOST_APART, range(len(self._said)), key=self._weights.__getitem__)
        found = ((self._said[at], self._looked(at)) for at in sorted(least))
        return [(one, weight) for one, weight in found if weight >= 0.0 and not _asks(one)]

    def _weigh(self) -> None:
        for place in self._stale:
            sentence = self._said[place]
            self._weights[place] = words_say(sentence, sentence.turn, self._spread)
        self._stale.clear()

    def _is_left_open(self, place: int) -> bool:
        """Whether nobody came back to what a question is about."""
        asked = self._said[place]
        return all(self._said[self._where[word][-1]].turn == asked.turn for word in asked.telling)

    def _hear(self, turn: Turn) -> None:
        at = len(self.turns)
        self.turns.append(turn)
        self._speakers[turn.speaker] += 1
        self._begins.append(len(self._said))
        read = self._reading(turn.text)
        told = _ACT_STAKES.get(turn.speech_act, 0.0) if turn.speech_act and len(read) <= _FEW else 0.0
        for one in read:
            place = len(self._said)
            self._said.append(Sentence(one.text, at, one.place, one.telling, one.length))
            self._weights.append(0.0)
            staked = max(_staked(one), told)
            if staked == _ASKED or staked >= _LEAST_STAKE:
                self._stakes[place] = staked
            self._stale.add(place)
            for word in one.telling:
                self._where[word].append(place)
        self._count(self._words_of_last(), 1)

    def _lose(self) -> None:
        begin = self._begins[-1]
        words = self._words_of_last()
        for word in words:
            places = self._where[word]
            while places and places[-1] >= begin:
                places.pop()
        self._count(words, -1)
        for place in range(begin, len(self._said)):
            self._stale.discard(place)
            self._looked_at.pop(place, None)
            self._stakes.pop(place, None)
        del self._said[begin:], self._weights[begin:], self._begins[-1]
        last = self.turns.pop().speaker
        self._speakers[last] -= 1
        if not self._speakers[last]:
            del self._speakers[last]

    def _words_of_last(self) -> set[str]:
        return {word for sentence in self._said[self._begins[-1] :] for word in sentence.telling}

    def _count(self, words: set[str], change: int) -> None:
        """A turn more, or less, has these words: whatever has a word that weighs otherwise now is stale."""
        for word in words:
            before = self._spread[word]
            self._spread[word] = before + change
            if min(before, before + change) < MOST_SPREAD:
                self._stale.update(self._where[word])
            if not self._spread[word]:
                del self._spread[word], self._where[word]

    def _considered(self) -> list[int]:
        """Where the sentences are that are worth a closer look: the heaviest, and both ends."""
        count = len(self._said)
        if count <= MOST_CONSIDERED:
            return list(range(count))
        least = heapq.nlargest(MOST_CONSIDERED, self._weights)[-1]
        best = [place for place, weight in enumerate(self._weights) if weight >= least]
        first, last = self._begin_of(FIRST_TURNS), self._begin_of(len(self.turns) - LAST_TURNS)
        return sorted({*best, *range(first), *range(last, count)})

    def _begin_of(self, turn: int) -> int:
        return self._begins[turn] if 0 <= turn < len(self._begins) else 0 if turn < 0 else len(self._said)

    def _worth(self, place: int, answered: int) -> float:
        """What its shape, and what it does, add to a sentence; of a question, whether it is open, too."""
        if not _asks(self._said[place]):
            return self._looked(place)
        return self._looked(place) + (_ANSWERED if self._said[place].turn < answered else _OPEN)

    def _looked(self, place: int) -> float:
        """What a closer look tells: it is dear, and taken once."""
        if place not in self._looked_at:
            self._looked_at[place] = self._look_at(self._said[place])
        return self._looked_at[place]

    def _look_at(self, sentence: Sentence) -> float:
        act = self.turns[sentence.turn].speech_act
        if act is None and _PROMISE.search(sentence.text):
            act = "promise"
        return shape_says(sentence) + (_ACTS.get(act, 0.0) if act else 0.0)

    def _answered(self) -> int:
        """The first turn whose questions are open: what was asked before somebody else spoke is answered."""
        told: set[str] = set()
        for at in range(len(self.turns) - 1, -1, -1):
            if told - {self.turns[at].speaker}:
                return at + 1
            if self._states(at):
                told.add(self.turns[at].speaker)
        return 0

    def _states(self, turn: int) -> bool:
        """Whether a turn says something, rather than only ask."""
        said = self._said[self._begins[turn] : self._begin_of(turn + 1)]
        return not all(map(_asks, said))


def _staked(sentence: Sentence) -> float:
    """What depends on a sentence; of a question that is about something, only time tells."""
    if not _asks(sentence):
        return stake(sentence)
    return _ASKED if asks_for_something(sentence) else 0.0


def _asks(sentence: Sentence) -> bool:
    return sentence.text.rstrip("\"'”’) ").endswith(("?", "？"))
