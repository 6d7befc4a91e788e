"""Many lists become one: each item with its rank and score in every space, and one probability.

How spaces are blended depends on what is searched. A turn of talk is found by its words and by its
neighbours, a document by its meaning and by what is like the best answers, a commit by its meaning nearly
alone. Each kind has its own few coefficients, the same for every user; `tools/calibrate.py` fits them anew.

The blend of an item is its cosine, plus what each word-like space adds (its score as a share of the best in
that space), plus a share of its best neighbour's blend, plus a little when it happened at the time the
question speaks of. In talk, how well its tokens fit those of the question is added afterwards, for the best
candidates (`token_match.py`). A blend only orders items: the best of a bad list has a whole share too. So the
logistic curve that turns a blend into a probability first subtracts what the spaces of names gave to their
best, and then adds how much of the question's names and words the workspace knows. A question about unknown
things stays without an answer.

Being listed is not yet a match: in a small workspace the list by meaning holds everything, and everything
found has a rank by its time. So each hit names the spaces in which it matches, and only these count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from foreword.recall.related import asks_for_relation
from foreword.text.date_meaning import FIRST_MOMENT, LAST_MOMENT, TimeSpan
from foreword.text.dates import find_before_or_after_event, find_time_asked_about
from foreword.text.words import split_words
from foreword.types import SearchResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from foreword.spaces.base import TimeSpace
    from foreword.types import Findings, Item


@dataclass(frozen=True, slots=True)
class Blend:
    """How the spaces are weighed for one kind of item, and how a blend becomes a probability."""

    lexical: float = 0.1
    identifiers: float = 0.03
    trigram: float = 0.2
    entities: float = 0.0
    echo: float = 0.0
    beside: float = 0.1
    time: float = 0.05
    token_match: float = 0.0
    """The weight of how well an item's tokens fit the question's; kinds without it are not compared."""

    middle: float = 0.82
    slope: float = 18.0
    known: float = 1.0
    """What is added before the curve if an item has all the words of the question."""

    named: float = 0.5
    """What is added if an item mentions all the things that the question names."""

    nameless: float = 0.5
    """The share of known names that is assumed for a question that names nothing."""

    def probability(self, blend: float, bonus: float = 0.0) -> float:
        """The probability of relevance at this blend, with a bonus for how much of the question is known."""
        return 1 / (1 + math.exp(-self.slope * (blend - self.middle) - bonus))


BLENDS: Mapping[str, Blend] = {
    "turn": Blend(
        0.18, identifiers=0.0, trigram=0.1, beside=0.8, token_match=3.0, middle=1.18, slope=7.3, known=0.0,
        named=0.75, nameless=0.7,
    ),
    "memory": Blend(token_match=2.0),
    "document": Blend(
        0.12, trigram=0.1, echo=1.0, beside=0.0, middle=1.038, slope=20.8, known=0.95, named=0.0
    ),
    "code": Blend(
        0.0, identifiers=0.1, trigram=0.05, entities=0.08, beside=0.0, middle=0.863, slope=18.4, known=0.0,
        named=5.6, nameless=0.0,
    ),
    "commit": Blend(0.03, trigram=0.05, beside=0.0, middle=0.85, slope=30.8, known=0.0, named=0.0),
}  # fmt: skip
DEFAULT_BLEND = Blend()

_WORD_SPACES = ("lexical", "identifiers", "trigram", "entities")
_NAME_SPACES = ("identifiers", "entities")
UNRELATED_COSINE = 0.53
"""The mean cosine that the bundled encoder gives to a question and an unrelated text."""

_MEANING_SPACES = ("semantic", "echo")
_NEIGHBOUR_SPACE = "graph"
_WORDS_AS_COSINE = 0.25

_MAX_EVENT_RANK = 20
"""How many of the best items are searched for an event that the question names."""

_UNSEEN_NEIGHBOUR = 0.85
"""The blend that unknown neighbours are assumed to have, as a share of the item's own."""


def fuse(
    found: Findings,
    question: str,
    now: datetime,
    clocks: Sequence[TimeSpace] = (),
    unrelated_cosine: float = UNRELATED_COSINE,
    blends: Mapping[str, Blend] = BLENDS,
) -> list[SearchResult]:
    """One list of hits, most probable first; `unrelated_cosine` is the encoder's for unrelated texts."""
    span = find_time_asked_about(question, now)
    ranks, scores = _ranks_and_scores_by_item(found, unrelated_cosine)
    values = _compute_blends(found, scores, span, blends)
    if span is None and (event := find_before_or_after_event(question)) is not None:
        span = _span_before_or_after_event(event, _sort_items(found, _probabilities(found, values, blends)))
        values = values if span is None else _compute_blends(found, scores, span, blends)
    probabilities = _probabilities(found, values, blends)
    ordered = _sort_items(found, probabilities)
    for item in ordered:
        scores[item.id]["blend"] = values[item.id]
    _add_time_ranks(ordered, ranks, scores, now, clocks)
    no_match = _spaces_without_match(found, question, clocks)
    return [
        SearchResult(
            item,
            probabilities[item.id],
            ranks=ranks[item.id],
            scores=scores[item.id],
            matches=_matching_spaces(item, ranks[item.id], scores[item.id], span, no_match),
        )
        for item in ordered
    ]


def _compute_blends(
    found: Findings,
    scores: Mapping[str, Mapping[str, float]],
    span: TimeSpan | None,
    blends: Mapping[str, Blend],
) -> dict[str, float]:
    """The blend of each item; those inside the span of time, if any, have a little more."""
    # Looked up once, not for each item: a search finds hundreds.
    lists = {space: listed for space in _WORD_SPACES if (listed := found.lists.get(space))}
    bests = {space: listed[0][1] for space, listed in lists.items() if listed[0][1] > 0}
    own_blends = {
        name: _blend_without_neighbours(blends.get(item.kind, DEFAULT_BLEND), scores[name], bests)
        for name, item in found.items.items()
    }
    return {
        item: _blend_with_neighbours_and_time(found, item, own_blends, span, blends) for item in found.items
    }


def _probabilities(
    found: Findings, values: Mapping[str, float], blends: Mapping[str, Blend]
) -> dict[str, float]:
    """The probability of each item that it is relevant."""
    kinds = {item.kind for item in found.items.values()}
    bonuses = {
        kind: _bonus_for_known_question_words(found, blends.get(kind, DEFAULT_BLEND)) for kind in kinds
    }
    return {
        item: blends.get(stored.kind, DEFAULT_BLEND).probability(values[item], bonuses[stored.kind])
        for item, stored in found.items.items()
    }


def _sort_items(found: Findings, probabilities: Mapping[str, float]) -> list[Item]:
    """The items, most probable first; of equals the newer."""
    return sorted(
        found.items.values(),
        key=lambda item: (-probabilities[item.id], -item.created_at.timestamp(), item.id),
    )


def reorder_hits_with_added_scores(
    hits: Sequence[SearchResult],
    found: Findings,
    added: Mapping[str, Mapping[str, float]],
    blends: Mapping[str, Blend] = BLENDS,
) -> list[SearchResult]:
    """The hits in their new order, after something was added to the blends of some.

    `added` has scores by item id: "blend" is added to the item's blend, the others are put beside it.
    """
    bonuses = {
        kind: _bonus_for_known_question_words(found, blends.get(kind, DEFAULT_BLEND))
        for kind in _kinds_of_hits(hits)
    }
    raised = []
    for hit in hits:
        if (scores := added.get(hit.memory.id)) is not None:
            kind, value = hit.memory.kind, hit.scores["blend"] + scores["blend"]
            probability = blends.get(kind, DEFAULT_BLEND).probability(value, bonuses[kind])
            raised.append(replace(hit, score=probability, scores={**hit.scores, **scores, "blend": value}))
        else:
            raised.append(hit)
    return sort_by_probability(raised)


def _kinds_of_hits(hits: Sequence[SearchResult]) -> set[str]:
    return {hit.memory.kind for hit in hits}


def sort_by_probability(hits: Sequence[SearchResult]) -> list[SearchResult]:
    """The hits, most probable first; of equals the newer."""
    return sorted(hits, key=lambda hit: (-hit.score, -hit.memory.created_at.timestamp(), hit.memory.id))


def weight_of_name_spaces(found: Findings, blend: Blend) -> float:
    """The sum of what the spaces of names gave to their best, whether or not that was any good."""
    return sum(float(getattr(blend, space)) for space in _NAME_SPACES if found.lists.get(space))


def known_shares_of_question(found: Findings, blend: Blend) -> tuple[float, float]:
    """The shares of the question's words, and of the things it names, that the workspace knows."""
    named = _best_score_in_space(found, "entities") if "entities" in found.lists else blend.nameless
    return _best_score_in_space(found, "lexical"), named


def _bonus_for_known_question_words(found: Findings, blend: Blend) -> float:
    """What is added, before the curve, for the share of the question that the workspace knows."""
    words, names = known_shares_of_question(found, blend)
    return blend.known * words + blend.named * names - blend.slope * weight_of_name_spaces(found, blend)


def _best_score_in_space(found: Findings, space: str) -> float:
    """The best score in a space, which is the share of the question that it has; 0 if nothing was found."""
    listed = found.lists.get(space)
    return min(1.0, listed[0][1]) if listed else 0.0


def _span_before_or_after_event(named: tuple[str, Sequence[str]], items: Sequence[Item]) -> TimeSpan | None:
    """The time before or after the event that a question names, if a good answer speaks of that event."""
    side, wanted = named
    for item in items[:_MAX_EVENT_RANK]:
        if set(wanted) <= set(split_words(item.text)):
            event = item.created_at
            return TimeSpan(FIRST_MOMENT, event) if side == "before" else TimeSpan(event, LAST_MOMENT)
    return None


def _ranks_and_scores_by_item(
    found: Findings, unrelated_cosine: float
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Each item's rank and score in every space that listed or measured it.

    Encoders differ in the cosine of unrelated texts. Cosines are stretched so that these are where the
    bundled encoder has them, and the same text is at 1.
    """
    stretch = (1 - UNRELATED_COSINE) / (1 - unrelated_cosine)
    ranks: dict[str, dict[str, int]] = {item: {} for item in found.items}
    scores: dict[str, dict[str, float]] = {item: {} for item in found.items}
    for space, measured in found.measures.items():
        for item, score in measured.items():
            scores[item][space] = 1 - stretch * (1 - score)
    for space, listed in found.lists.items():
        for rank, (item, score) in enumerate(listed, 1):
            ranks[item][space] = rank
            scores[item].setdefault(space, score)
    return ranks, scores


def _blend_without_neighbours(blend: Blend, scores: Mapping[str, float], bests: Mapping[str, float]) -> float:
    """The blend of an item's own scores, without its neighbours and its time.

    In a space of words, a score counts as its share of the best there, which is in `bests`.
    """
    shares = {space: scores[space] / best for space, best in bests.items() if space in scores}
    # An item whose vector is not there yet is judged by its words: they must be able to carry it alone.
    cosine = scores.get("semantic")
    if cosine is None:
        cosine = UNRELATED_COSINE + _WORDS_AS_COSINE * max(shares.values(), default=0.0)
    value = cosine + blend.echo * (scores.get("echo", cosine) - cosine)
    return value + sum(float(getattr(blend, space)) * share for space, share in shares.items())


def _blend_with_neighbours_and_time(
    found: Findings,
    item: str,
    own_blends: Mapping[str, float],
    span: TimeSpan | None,
    blends: Mapping[str, Blend],
) -> float:
    """The blend of an item with its best neighbour's, and a little more if it is of the time asked for."""
    blend = blends.get(found.items[item].kind, DEFAULT_BLEND)
    near = found.beside.get(item, {})
    # Next to each other in a session is nearness one half; a sure relation is one.
    best = max((own_blends[other] * min(1.0, 2 * nearness) for other, nearness in near.items()), default=0.0)
    neighbour = best or _UNSEEN_NEIGHBOUR * own_blends[item]
    value = (own_blends[item] + blend.beside * neighbour) / (1 + blend.beside)
    if span is not None and span.contains(found.items[item].created_at):
        value += blend.time
    return value


def _add_time_ranks(
    items: Sequence[Item],
    ranks: Mapping[str, dict[str, int]],
    scores: Mapping[str, dict[str, float]],
    now: datetime,
    clocks: Sequence[TimeSpace],
) -> None:
    """Add each clock's ranking of the items; it is recorded but adds nothing to the blend."""
    for clock in clocks:
        near = [(clock.closeness(item.created_at, now), place) for place, item in enumerate(items)]
        ordered = sorted((pair for pair in near if pair[0] > 0), key=lambda pair: (-pair[0], pair[1]))
        for rank, (closeness, place) in enumerate(ordered, 1):
            ranks[items[place].id].setdefault(clock.name, rank)
            scores[items[place].id].setdefault(clock.name, closeness)


class _SpacesWithoutMatch(NamedTuple):
    """The spaces whose ranks are no match, for items of the time that was asked for, and for all others."""

    of_time_asked_for: frozenset[str]
    of_other_times: frozenset[str]


def _spaces_without_match(found: Findings, question: str, clocks: Sequence[TimeSpace]) -> _SpacesWithoutMatch:
    """The spaces whose ranks are no match.

    A rank by time is a match if the question names a time and the item is of it, or if there was nothing else
    to search by; a rank by neighbours is one if the question asks for relations.
    """
    by_neighbours = frozenset() if asks_for_relation(question) else frozenset({_NEIGHBOUR_SPACE})
    return _SpacesWithoutMatch(
        by_neighbours, by_neighbours | ({clock.name for clock in clocks} - found.lists.keys())
    )


def _matching_spaces(
    item: Item,
    ranks: Mapping[str, int],
    scores: Mapping[str, float],
    span: TimeSpan | None,
    no_match: _SpacesWithoutMatch,
) -> frozenset[str]:
    """The spaces in which an item matches the question."""
    is_of_time = span is not None and span.contains(item.created_at)
    others = no_match.of_time_asked_for if is_of_time else no_match.of_other_times
    # The echo's vector is moved towards the best hits, so that it finds even unrelated ones similar.
    if scores.get("semantic", 0.0) <= UNRELATED_COSINE:
        others = others.union(_MEANING_SPACES)
    return frozenset(ranks.keys() - others)
