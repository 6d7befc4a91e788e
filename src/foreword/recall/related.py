"""Relations as ways to an answer: which related memories are shown beside the results, and why.

A caller who asks for relations gets all that they lead to. Unasked, a relation is followed in two cases: the
question asks why, and the relation states a cause or a cure; or the memory it leads to has words of the
question that the surest results lack. A related memory is less probable than the one that leads to it, and
the more so the less sure the relation is. Filters, floors and budgets are applied elsewhere.
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
"""At most how many related memories are shown to a caller who did not ask for relations."""

_MIN_NEW_WORDS = 2
"""How many words of the question a related memory must add to be shown unasked."""

_MIN_SHARE_OF_BEST = 0.5
"""Unasked, only relations of results are followed that are at least this share as probable as the best."""

_SHARE_OF_ORIGIN = 0.8
"""A memory at the end of a sure relation is this share as probable as the one at its beginning."""

_MAX_STATEMENTS = 2
"""A memory of at most this many statements is shown whole; of a longer one, at least this many are."""

_ASKS_WHY = re.compile(
    r"\b(?:why|how come|what happened|went wrong|reasons?|caus(?:e|es|ed|ing)|due to|led to|leads? to"
    r"|result(?:s|ed)? in|fix(?:es|ed)?|cure[sd]?|solve[sd]?|resolve[sd]?)\b"
)
_ASKS_FOR_RELATION = re.compile(
    r"\b(?:relat(?:es?|ed|ion|ions|ionship|ionships)|connect(?:s|ed)|linked|depend(?:s|ed)? on"
    r"|belong(?:s|ed)? to|instead of|replac(?:e|es|ed)|block(?:s|ed) by)\b"
)
_TELLS_WHY = re.compile(r"caus|because|reason|expla|fix|cure|solv|led_to|leads?_to|result|motivat")
"""Parts of the types of relations that state a cause or a cure."""


def asks_for_relation(question: str) -> bool:
    """Whether a question asks for a cause, a cure, or how things are related."""
    folded = fold_case(question)
    return bool(_ASKS_WHY.search(folded) or _ASKS_FOR_RELATION.search(folded))


def follow_relations(results: Sequence[SearchResult]) -> list[SearchResult]:
    """The memories that the relations of the results lead to, each once with its link, most probable first.

    Results that are related to an earlier one are among them. Relations of superseded memories are not
    followed.
    """
    places = {result.memory.id: place for place, result in enumerate(results)}
    reached: dict[str, SearchResult] = {}
    for place, result in enumerate(results):
        on_the_way = {result.memory.id: result}
        for related in result.relationships:
            origin = on_the_way.get(_origin_id(related))
            if origin is None or places.get(related.memory.id, len(places)) <= place:
                continue
            found = _linked_result(origin, related)
            if not related.memory.superseded_by:
                on_the_way[related.memory.id] = found
            known = reached.get(related.memory.id)
            if known is None or known.score < found.score:
                reached[related.memory.id] = found
    return sorted(reached.values(), key=lambda one: -one.score)


def follow_relations_to_answers(results: Sequence[SearchResult], question: str) -> list[SearchResult]:
    """The related memories that probably answer a part of the question; none that is superseded.

    Results that are related to an earlier one are all included.
    """
    result_ids = {result.memory.id for result in results}
    least = _MIN_SHARE_OF_BEST * max((result.score for result in results), default=0.0)
    sure = {result.memory.id: result for result in results if result.score >= least}
    asks_why = bool(_ASKS_WHY.search(fold_case(question)))
    open_words = set(content_words(question)).difference(*map(_shown_words, sure.values()))

    def is_answer(one: SearchResult) -> bool:
        link = one.link
        if link is None or one.memory.superseded_by or link.origin.id not in sure:
            return False
        tells_why = asks_why and bool(_TELLS_WHY.search(fold_case(link.relationship.type)))
        return tells_why or len(open_words.intersection(content_words(one.memory.text))) >= _MIN_NEW_WORDS

    reached = follow_relations(results)
    answers = [one for one in reached if one.memory.id not in result_ids and is_answer(one)]
    return [one for one in reached if one.memory.id in result_ids] + answers[:MAX_UNASKED]


def drop_excerpts_of_short_memories(results: Sequence[SearchResult]) -> list[SearchResult]:
    """The results without the excerpts of short memories, which are shown whole."""
    return [
        replace(result, excerpt="")
        if result.excerpt and len(split_statements(result.memory.text)) <= _MAX_STATEMENTS
        else result
        for result in results
    ]


def excerpt_for_link(result: SearchResult, question: str) -> str:
    """The excerpt of a linked result: the statements that share most words with question and origin.

    The statements of its present excerpt stay, and at least one is added; "" if the whole is shown.
    """
    statements = split_statements(result.memory.text)
    if result.link is None or len(statements) <= _MAX_STATEMENTS:
        return ""
    wanted = set(content_words(f"{question} {result.link.origin.text}"))
    shared = [len(wanted.intersection(content_words(statement))) for statement in statements]
    excerpted = {
        at for at, statement in enumerate(statements) if result.excerpt and statement in result.excerpt
    }
    others = sorted(set(range(len(statements))) - excerpted, key=lambda at: (-shared[at], at))
    chosen = excerpted.union(others[: max(1, _MAX_STATEMENTS - len(excerpted))])
    return " … ".join(statements[at] for at in sorted(chosen))


def _linked_result(origin: SearchResult, related: RelatedMemory) -> SearchResult:
    """A related memory as a result, with its link; the surer the way to it, the more probable."""
    link = RelationLink(origin.memory, related.relationship)
    score = origin.score * _SHARE_OF_ORIGIN * related.relationship.confidence
    return SearchResult(related.memory, score, link=link)


def _origin_id(related: RelatedMemory) -> str:
    """The id of the item that a relation leads away from, towards the related one."""
    relation = related.relationship
    return relation.from_id if relation.to_id == related.memory.id else relation.to_id


def _shown_words(result: SearchResult) -> tuple[str, ...]:
    """The content words of what is shown of a result."""
    return content_words(result.excerpt or result.memory.text)
