"""What people said to each other, told in reported speech: who said what, the telling sentences only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.knowledge.digest import Digest, cut_lines
from foreword.knowledge.reported import is_english, reported, without_openers
from foreword.knowledge.sentences import Sentence, sentences, weighed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.types import Item

_REPEATED = 0.7
_REPEAT_COST = 0.15
_LONGEST_NAME = 40
_FEWEST_WORDS = 3


def conversation(turns: Sequence[Item], places: list[int], words: int) -> Digest:
    """The conversation in reported speech, in at most this many words."""
    speakers = list(dict.fromkeys(filter(None, (_speaker(turns[at]) for at in places))))
    english = is_english(" ".join(turns[at].text[:500] for at in places[:50]))
    said = [*weighed(sentences({at: turns[at].text for at in places})).items()]
    said = [pair for pair in said if pair[0].telling]
    chosen: list[tuple[Sentence, str]] = []
    room, covered = words, frozenset[str]()
    while said and room >= _FEWEST_WORDS:
        best = max(said, key=lambda pair: pair[1] - _REPEAT_COST * pair[0].overlap(covered))
        sentence, speaker = best[0], _speaker(turns[best[0].turn])
        told = _reported(sentence.text, speaker, speakers) if english else sentence.text
        said.remove(best)
        if len(told.split()) + 1 <= room:  # a word more, for the speaker's name
            room -= len(told.split()) + 1
            covered |= sentence.telling
            chosen.append((sentence, told))
            said = [pair for pair in said if pair[0].overlap(covered) <= _REPEATED]
    chosen.sort(key=lambda pair: (pair[0].turn, pair[0].place))
    lines = _by_speaker([(_speaker(turns[sentence.turn]), told) for sentence, told in chosen])
    return Digest(cut_lines(lines, words), tuple(sorted({sentence.turn for sentence, _ in chosen})))


def _speaker(turn: Item) -> str:
    name = turn.about.strip(" #:")
    return name if len(name) <= _LONGEST_NAME else ""


def _reported(text: str, speaker: str, speakers: list[str]) -> str:
    text = without_openers(text)
    if not speaker:
        return text
    others = [name for name in speakers if name != speaker]
    return reported(text, speaker, others[0] if len(others) == 1 else "")


def _by_speaker(told: list[tuple[str, str]]) -> list[str]:
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
