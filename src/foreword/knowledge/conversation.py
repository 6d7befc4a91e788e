"""What people said to each other, told in reported speech: who said what, the telling sentences only."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from foreword.knowledge.digest import Digest, cut_lines
from foreword.knowledge.reported import is_english, reported, without_openers
from foreword.knowledge.sentences import Sentence, sentences, weighed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from foreword.types import Item

_REPEATED = 0.7
_REPEAT_COST = 0.15
_LONGEST_NAME = 40
_FEWEST_WORDS = 3


def conversation(turns: Sequence[Item], places: list[int], words: int) -> Digest:
    """The conversation in reported speech, in at most this many words."""
    speakers = list(dict.fromkeys(filter(None, (_speaker(turns[at]) for at in places))))
    english = is_english(" ".join(turns[at].text[:500] for at in places[:50]))
    told: dict[Sentence, str] = {}
    room = words

    def fits(sentence: Sentence) -> bool:
        nonlocal room
        if room < _FEWEST_WORDS:
            return False
        speaker = _speaker(turns[sentence.turn])
        text = retold(sentence.text, speaker, speakers) if english else sentence.text
        cost = len(text.split()) + 1  # a word more, for the speaker's name
        if cost > room:
            return False
        room -= cost
        told[sentence] = text
        return True

    chosen = most_telling(weighed(sentences({at: turns[at].text for at in places})).items(), fits)
    lines = by_speaker(
        [(_speaker(turns[one.turn]), told[one]) for one in sorted(chosen, key=lambda one: one.where)]
    )
    return Digest(cut_lines(lines, words), tuple(sorted({sentence.turn for sentence in chosen})))


def most_telling(said: Iterable[tuple[Sentence, float]], fits: Callable[[Sentence], bool]) -> list[Sentence]:
    """Sentences that fit, best first: each the one that says most beside those chosen before it.

    What the others cover already can only grow, so that a weight once worked out is never too low: only the
    sentence on top is weighed anew.
    """
    waiting = [(-weight, at, sentence, weight) for at, (sentence, weight) in enumerate(said)]
    waiting = [one for one in waiting if one[2].telling]
    heapq.heapify(waiting)
    chosen: list[Sentence] = []
    covered = frozenset[str]()
    while waiting:
        known, at, sentence, weight = waiting[0]
        overlap = sentence.overlap(covered)
        now = _REPEAT_COST * overlap - weight
        if now > known:
            heapq.heapreplace(waiting, (now, at, sentence, weight))
            continue
        heapq.heappop(waiting)
        if not (chosen and overlap > _REPEATED) and fits(sentence):
            covered |= sentence.telling
            chosen.append(sentence)
    return chosen


def _speaker(turn: Item) -> str:
    name = turn.about.strip(" #:")
    return name if len(name) <= _LONGEST_NAME else ""


def retold(text: str, speaker: str, speakers: Sequence[str]) -> str:
    """A sentence as somebody else tells it: without its openers, with names where they are known."""
    text = without_openers(text)
    if not speaker:
        return text
    others = [name for name in speakers if name != speaker]
    return reported(text, speaker, others[0] if len(others) == 1 else "")


def by_speaker(told: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each stretch by one speaker, who is named unless the words name them first."""
    lines: list[str] = []
    before = None
    for speaker, text in told:
        if speaker == before and lines:
            lines[-1] += f" {text}"
        else:
            lines.append(f"{speaker}: {text}" if speaker and not text.startswith(speaker) else text)
        before = speaker
    return lines
