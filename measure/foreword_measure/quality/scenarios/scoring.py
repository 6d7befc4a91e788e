"""The measures of how useful an injected text is, for one ask, and their means over many.

    found     the share of the needed facts that are in the text, or in that of an earlier ask of the same
              coding session
    whole     1 if every needed fact is there and no forbidden one is stated as if it were true
    stale     1 if a forbidden fact is stated as if it were true: in a piece without a needed fact. A dialogue
              has its turns in their order; there it is allowed if a needed fact comes after it
    noise     the share of the tokens in pieces that have neither a needed nor a helpful fact
    silent    1 if nothing was injected where nothing should be
    tokens    the size of the text, where something should be injected
    alerts    1 if an alert was given where one is allowed, and none where one would be wrong

A fact is there if any of its wordings is, in any case and with any white space. A token is four characters.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from foreword_measure.quality.scenarios.reading import Answer, Ask, Fact, Scenario

MEASURES = ("found", "whole", "stale", "noise", "silent", "tokens", "alerts")

_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Score:
    """The measures that apply to one ask, the facts that are missing, and the outdated ones it states."""

    scenario: Scenario
    ask: Ask
    measures: Mapping[str, float]
    missed: tuple[str, ...] = ()
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _FoldedAnswer:
    """An answer for comparison: in folded case, with single blanks for all white space."""

    text: str
    pieces: tuple[str, ...]
    shown: str = ""
    in_order: bool = False

    @classmethod
    def of(cls, answer: Answer, shown: str, *, in_order: bool) -> _FoldedAnswer:
        """Fold an answer; without pieces, every line of its text counts as one."""
        bodies = answer.pieces or tuple(line for line in answer.text.splitlines() if line.strip())
        return cls(_fold_text(answer.text), tuple(map(_fold_text, bodies)), shown, in_order)


def score_scenario(scenario: Scenario, answers: Mapping[str, Answer]) -> list[Score]:
    """The score of every ask of a scenario; `answers` are by the id of their ask."""
    shown: dict[str, str] = defaultdict(str)
    scores = []
    for ask in scenario.asks:
        answer = answers[ask.id]
        scores.append(score_answer(scenario, ask, answer, shown[ask.session]))
        if scenario.recipe == "coding":
            shown[ask.session] += f" {_fold_text(answer.text)}"
    return scores


def score_answer(scenario: Scenario, ask: Ask, answer: Answer, shown: str = "") -> Score:
    """The score of one answer; `shown` is the text that earlier asks of the session got."""
    folded = _FoldedAnswer.of(answer, shown, in_order=scenario.recipe == "dialogue")
    missed = [
        fact
        for fact in ask.needs
        if not (_contains_fact(folded.text, fact) or _contains_fact(folded.shown, fact))
    ]
    stale = _states_forbidden(folded, ask)
    measures: dict[str, float] = {}
    if ask.silent:
        measures["silent"] = float(not folded.text.strip())
    else:
        measures["found"] = (len(ask.needs) - len(missed)) / len(ask.needs) if ask.needs else 1.0
        measures["whole"] = float(not missed and not stale)
        measures["tokens"] = _count_tokens(answer.text) if folded.text.strip() else 0
        measures |= _measure_noise(folded.pieces, (*ask.needs, *ask.helps))
    if ask.forbids:
        measures["stale"] = float(stale)
    if ask.alert is not None and answer.alert is not None:
        measures["alerts"] = float(ask.alert == answer.alert)
    told = [fact[0] for fact in ask.forbids if stale and _contains_fact(folded.text, fact)]
    return Score(scenario, ask, measures, tuple(fact[0] for fact in missed), tuple(told))


def mean_measures(scores: Iterable[Score]) -> dict[str, float | None]:
    """The mean of every measure over the asks to which it applies; None if there are none."""
    values: dict[str, list[float]] = {name: [] for name in MEASURES}
    for score in scores:
        for name, value in score.measures.items():
            values[name].append(value)
    return {name: sum(inside) / len(inside) if inside else None for name, inside in values.items()}


def _states_forbidden(folded: _FoldedAnswer, ask: Ask) -> bool:
    """Whether a forbidden fact is stated as if it were true."""
    alone = [piece for piece in folded.pieces if not any(_contains_fact(piece, fact) for fact in ask.needs)]
    if not any(_contains_fact(piece, fact) for piece in alone for fact in ask.forbids):
        return False
    there = [fact for fact in ask.forbids if _contains_fact(folded.text, fact)]
    return not (folded.in_order and all(_is_corrected_later(folded.text, fact, ask.needs) for fact in there))


def _is_corrected_later(text: str, forbidden: Fact, needs: Sequence[Fact]) -> bool:
    """Whether a needed fact comes after the last mention of a forbidden one."""
    return max((_find_last_place(text, fact) for fact in needs), default=-1) > _find_last_place(
        text, forbidden
    )


def _measure_noise(pieces: Sequence[str], welcome: Sequence[Fact]) -> dict[str, float]:
    """The share of the tokens in pieces without a welcome fact, as `noise`; empty if there are no tokens."""
    total = sum(map(_count_tokens, pieces))
    wasted = sum(
        _count_tokens(piece) for piece in pieces if not any(_contains_fact(piece, fact) for fact in welcome)
    )
    return {"noise": wasted / total} if total else {}


def _fold_text(text: str) -> str:
    return _SPACE.sub(" ", text).casefold()


def _contains_fact(text: str, fact: Fact) -> bool:
    return _find_last_place(text, fact) >= 0


def _find_last_place(text: str, fact: Fact) -> int:
    """The last position of any wording of a fact; -1 if there is none."""
    return max(text.rfind(_fold_text(wording)) for wording in fact)


def _count_tokens(text: str) -> int:
    return -(-len(text) // 4)
