"""Relations as ways to an answer: which related memories are told beside the results, and why.

A caller who asks for relations gets what they lead to. Unasked, a relation is followed in two cases: the
question asks why, and the relation tells a cause or a cure; or what it leads to has words of the question
that the surest results leave open. A related memory is a little less probable than the one that leads to it,
the less sure the relation the more so. Filters, floors and budgets are for others to apply.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from foreword.text.statements import split_statements
from foreword.text.words import content_words, fold_case
from foreword.types import RelationLink, SearchResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.types import RelatedMemory

MAX_UNASKED = 2
"""At most how many related memories are told to a caller who did not ask for relations."""

_MIN_NEW_WORDS = 2
"""How many words of the question a related memory must add before it is told unasked."""

_MIN_SHARE_OF_BEST = 0.5
"""The surest results, which lead on unasked, are at least this share as probable as the best."""

_SHARE_OF_ORIGIN = 0.8
"""A memory at the end of a sure relation is this share as probable as the one at its beginning."""

_MAX_STATEMENTS = 2
"""What has at most this many statements is told whole; of what has more, at least this many are."""

_ASKS_WHY = re.compile(
    r"\b(?:why|how come|what happened|went wrong|reasons?|caus(?:e|es|ed|ing)|due to|led to|leads? to"
    r"|result(?:s|ed)? in|fix(?:es|ed)?|cure[sd]?|solve[sd]?|resolve[sd]?)\b"
)
_ASKS_FOR_RELATION = re.compile(
    r"\b(?:relat(?:es?|ed|ion|ions|ionship|ionships)|connect(?:s|ed)|linked|depend(?:s|ed)? on"
    r"|belong(?:s|ed)? to|instead of|replac(?:e|es|ed)|block(?:s|ed) by)\b"
)
_TELLS_WHY = re.compile(r"caus|because|reason|expla|fix|cure|solv|led_to|leads?_to|result|motivat")
"""What the types of relations contain that tell a cause or a cure."""


def asks_for_relation(question: str) -> bool:
    """Whether a question asks how things hang together."""
    folded = fold_case(question)
    return bool(_ASKS_WHY.search(folded) or _ASKS_FOR_RELATION.search(folded))


def follow_relations(results: Sequence[SearchResult]) -> list[SearchResult]:
    """What the relations of the results lead to, each once with its link, most probable first.

    Among them are results that are related to an earlier one. What was superseded does not lead further.
    """
    places = {result.memory.id: place for place, result in enumerate(results)}
    reached: dict[str, SearchResult] = {}
    for place, result in enumerate(results):
        on_the_way = {result.memory.id: result}
        for related in result.relationships:
            origin = on_the_way.get(_other_end(related))
            if origin is None or places.get(related.memory.id, len(places)) <= place:
                continue
            found = _linked_result(origin, related)
            if not related.memory.superseded_by:
                on_the_way[related.memory.id] = found
            known = reached.get(related.memory.id)
            if known is None or known.score < found.score:
                reached[related.memory.id] = found
    return sorted(reached.values(), key=lambda one: -one.score)


def follow_to_answers(results: Sequence[SearchResult], question: str) -> list[SearchResult]:
    """Of what the relations lead to, what probably answers a part of the question; nothing superseded.

    Results that are related to an earlier one are all there.
    """
    told = {result.memory.id for result in results}
    least = _MIN_SHARE_OF_BEST * max((result.score for result in results), default=0.0)
    sure = {result.memory.id: result for result in results if result.score >= least}
    asks_why = bool(_ASKS_WHY.search(fold_case(question)))
    open_words = set(content_words(question)).difference(*map(_words_told, sure.values()))

    def is_answer(one: SearchResult) -> bool:
        link = one.link
        if link is None or one.memory.superseded_by or link.origin.id not in sure:
            return False
        tells_why = asks_why and bool(_TELLS_WHY.search(fold_case(link.relationship.type)))
        return tells_why or len(open_words.intersection(content_words(one.memory.text))) >= _MIN_NEW_WORDS

    reached = follow_relations(results)
    answers = [one for one in reached if one.memory.id not in told and is_answer(one)]
    return [one for one in reached if one.memory.id in told] + answers[:MAX_UNASKED]


def tell_short_ones_whole(results: Sequence[SearchResult]) -> list[SearchResult]:
    """The results; what is hardly longer than its excerpt is told without a cut."""
    return [
        replace(result, excerpt="")
        if result.excerpt and len(split_statements(result.memory.text)) <= _MAX_STATEMENTS
        else result
        for result in results
    ]


def excerpt_for_link(result: SearchResult, question: str) -> str:
    """What to tell of a linked result: the statements that have most in common with question and origin.

    Those that are told anyway stay, and one is added to them; "" where the whole is told.
    """
    statements = split_statements(result.memory.text)
    if result.link is None or len(statements) <= _MAX_STATEMENTS:
        return ""
    wanted = set(content_words(f"{question} {result.link.origin.text}"))
    shared = [len(wanted.intersection(content_words(statement))) for statement in statements]
    told = {at for at, statement in enumerate(statements) if result.excerpt and statement in result.excerpt}
    others = sorted(set(range(len(statements))) - told, key=lambda at: (-shared[at], at))
    chosen = told.union(others[: max(1, _MAX_STATEMENTS - len(told))])
    return " … ".join(statements[at] for at in sorted(chosen))


def _linked_result(origin: SearchResult, related: RelatedMemory) -> SearchResult:
    """A related memory as a result, as probable as the way to it."""
    link = RelationLink(origin.memory, related.relationship)
    score = origin.score * _SHARE_OF_ORIGIN * related.relationship.confidence
    return SearchResult(related.memory, score, link=link)


def _other_end(related: RelatedMemory) -> str:
    """The id of the item that a relation leads away from, towards the related one."""
    relation = related.relationship
    return relation.from_id if relation.to_id == related.memory.id else relation.to_id


def _words_told(result: SearchResult) -> tuple[str, ...]:
    return content_words(result.excerpt or result.memory.text)
