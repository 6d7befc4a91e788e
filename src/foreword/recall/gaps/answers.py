"""Whether a text could answer a question at all: a question answers none, nor does "go on" or "no idea".

Nearness cannot tell: nothing is nearer to a question than the same question, asked before. What a text states
is looked at, sentence by sentence; whether that is the right answer is for others to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.recall.gaps.asking import CLEARLY
from foreword.recall.gaps.families import family
from foreword.recall.gaps.listener import certainty
from foreword.recall.gaps.phrases import NOD, SHRUG
from foreword.recall.gaps.words import own_voice, roots, sentences
from foreword.text.words import words

if TYPE_CHECKING:
    from collections.abc import Callable

FEW = 2
"""What was said in so few telling words, none of them the question's, says nothing by itself."""

_QUESTION_WORDS = ("WH", "WHEN", "IF")


def may_answer(text: str, question: str, *, spoken: bool = False) -> bool:
    """Whether a text states anything; `spoken` is what was said in a conversation and leans on it."""
    asked = roots(question)
    states: Callable[[str], bool] = _tells if spoken else _states
    stated = [one for one in sentences(text) if states(one) and not _repeats(one, asked)]
    if not stated:
        return False
    return not spoken or len(roots(" ".join(stated))) > FEW or bool(roots(text) & asked)


def _states(sentence: str) -> bool:
    return not sentence.rstrip("\"')]*_ ").endswith("?")


def _tells(sentence: str) -> bool:
    """Whether what somebody says is more than a question, a nod, a shrug, or a lack of their own."""
    said = sentence.casefold()
    if not _states(sentence) or NOD.fullmatch(said) or SHRUG.search(said):
        return False
    return certainty((own_voice(sentence),)) < CLEARLY


def _repeats(sentence: str, asked: frozenset[str]) -> bool:
    """Whether a sentence is the question once more, without its mark."""
    said = words(sentence)
    return bool(said) and family(said[0]) in _QUESTION_WORDS and roots(sentence) <= asked
