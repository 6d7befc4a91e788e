"""How much an injected text is worth: the measures of one ask, and their means over many.

    found     the share of the needed facts that are in the text, or were given to an earlier ask of the
              same coding session
    whole     1 if every needed fact is there and no forbidden one is told as if it held
    stale     1 if a forbidden fact is told as if it held: in a piece that holds no needed fact. A dialogue
              tells its turns in their order; there it may stand if a needed fact stands after it
    noise     of the tokens in pieces, those in pieces that hold neither a needed nor a helpful fact
    silent    1 if nothing was said where nothing should be
    tokens    the size of the text, where something should be said
    alerts    1 if an alert was given where one may be, and none where one would be wrong

A fact is there if any of its wordings is, whatever the case and the white space. A token is four characters.
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
    """The measures of one ask, those that apply to it; the facts it lacks, and the outdated ones it tells."""

    scenario: Scenario
    ask: Ask
    measures: Mapping[str, float]
    missed: tuple[str, ...] = ()
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Said:
    """An answer as it is compared: without case, and with single blanks for all white space."""

    text: str
    pieces: tuple[str, ...]
    shown: str = ""
    in_order: bool = False

    @classmethod
    def of(cls, answer: Answer, shown: str, *, in_order: bool) -> _Said:
        """The answer; without pieces, every line of its text counts as one."""
        bodies = answer.pieces or tuple(line for line in answer.text.splitlines() if line.strip())
        return cls(_fold_text(answer.text), tuple(map(_fold_text, bodies)), shown, in_order)


def score_scenario(scenario: Scenario, answers: Mapping[str, Answer]) -> list[Score]:
    """The score of every ask of a scenario; the answers are given by the id of their ask."""
    shown: dict[str, str] = defaultdict(str)
    scores = []
    for ask in scenario.asks:
        answer = answers[ask.id]
        scores.append(score_answer(scenario, ask, answer, shown[ask.session]))
        if scenario.recipe == "coding":
            shown[ask.session] += f" {_fold_text(answer.text)}"
    return scores


def score_answer(scenario: Scenario, ask: Ask, answer: Answer, shown: str = "") -> Score:
    """The score of one answer; `shown` is what the session's earlier asks were given."""
    said = _Said.of(answer, shown, in_order=scenario.recipe == "dialogue")
    missed = [fact for fact in ask.needs if not (_holds(said.text, fact) or _holds(said.shown, fact))]
    stale = _tells_forbidden(said, ask)
    measures: dict[str, float] = {}
    if ask.silent:
        measures["silent"] = float(not said.text.strip())
    else:
        measures["found"] = (len(ask.needs) - len(missed)) / len(ask.needs) if ask.needs else 1.0
        measures["whole"] = float(not missed and not stale)
        measures["tokens"] = _tokens(answer.text) if said.text.strip() else 0
        measures |= _noise(said.pieces, (*ask.needs, *ask.helps))
    if ask.forbids:
        measures["stale"] = float(stale)
    if ask.alert is not None and answer.alert is not None:
        measures["alerts"] = float(ask.alert == answer.alert)
    told = [fact[0] for fact in ask.forbids if stale and _holds(said.text, fact)]
    return Score(scenario, ask, measures, tuple(fact[0] for fact in missed), tuple(told))


def mean_measures(scores: Iterable[Score]) -> dict[str, float | None]:
    """The mean of every measure over the asks to which it applies; None where there is none."""
    values: dict[str, list[float]] = {name: [] for name in MEASURES}
    for score in scores:
        for name, value in score.measures.items():
            values[name].append(value)
    return {name: sum(inside) / len(inside) if inside else None for name, inside in values.items()}


def _tells_forbidden(said: _Said, ask: Ask) -> bool:
    """Whether a forbidden fact is told as if it held."""
    alone = [piece for piece in said.pieces if not any(_holds(piece, fact) for fact in ask.needs)]
    if not any(_holds(piece, fact) for piece in alone for fact in ask.forbids):
        return False
    there = [fact for fact in ask.forbids if _holds(said.text, fact)]
    return not (said.in_order and all(_is_settled_later(said.text, fact, ask.needs) for fact in there))


def _is_settled_later(text: str, forbidden: Fact, needs: Sequence[Fact]) -> bool:
    """Whether a needed fact stands behind the last place of a forbidden one."""
    return max((_last_place(text, fact) for fact in needs), default=-1) > _last_place(text, forbidden)


def _noise(pieces: Sequence[str], welcome: Sequence[Fact]) -> dict[str, float]:
    """The share of the tokens in pieces without a welcome fact; nothing where there are no tokens."""
    total = sum(map(_tokens, pieces))
    wasted = sum(_tokens(piece) for piece in pieces if not any(_holds(piece, fact) for fact in welcome))
    return {"noise": wasted / total} if total else {}


def _fold_text(text: str) -> str:
    return _SPACE.sub(" ", text).casefold()


def _holds(text: str, fact: Fact) -> bool:
    return _last_place(text, fact) >= 0


def _last_place(text: str, fact: Fact) -> int:
    """Where the last of a fact's wordings begins; -1 if there is none."""
    return max(text.rfind(_fold_text(wording)) for wording in fact)


def _tokens(text: str) -> int:
    return -(-len(text) // 4)
