"""Changes of a fact that a user asks for, and that the assistant agrees to.

    user        My appointment is on Monday at 10.
    user        Could we make it Tuesday instead?
    assistant   Sure, Tuesday at 10.

The request names a value (a day, a time, a number, a name) in place of one of the same sort in a fact: in the
one that it names ("my appointment"), or else in the last one of its conversation that has such a value.
Without the assistant's agreement nothing changes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from foreword.knowledge.others_words import hide_others_words
from foreword.knowledge.stated_values import closeness_of_fit, read_values
from foreword.knowledge.user_cues import matches_cue
from foreword.text.clean import plain_line
from foreword.text.sentences import split_sentences
from foreword.text.statements import QUESTION_END
from foreword.text.words import content_words, split_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.knowledge.stated_values import Value
    from foreword.knowledge.user_facts import UserFact
    from foreword.types import Item

_MAX_REQUEST_CHARACTERS = 200
_MAX_ANSWER_CHARACTERS = 160
_DENIED = re.compile(r"\b(?:instead of|rather than|not|from|statt|au lieu de|en vez de)\s+\w+", re.IGNORECASE)
_MAX_YES_CHARACTERS = 40


def asks_for_change(text: str) -> bool:
    """Whether a turn asks for something settled to be changed, and names what it should become."""
    if len(text) > _MAX_REQUEST_CHARACTERS:
        return False
    plain, values = plain_line(text), _values_wanted_by_request(text)
    # "What about Rome?" may ask for anything, "what about Tuesday?" hardly
    is_proposal = any(value.kind != "name" for value in values) and matches_cue("proposes", plain)
    return bool(values) and (matches_cue("asks_for_change", plain) or is_proposal)


def is_yes(text: str) -> bool:
    """Whether a turn says nothing but yes."""
    return len(text) <= _MAX_YES_CHARACTERS and matches_cue("agrees", plain_line(text))


def find_agreeing_sentence(text: str, request: str) -> str:
    """The sentence with which an answer agrees to a request for a change; empty if it does not agree.

    It begins like an agreement or repeats a new day, time or number, and neither refuses nor only offers it.
    """
    first = next(iter(split_sentences(text)), "")
    plain = plain_line(first)
    if not plain or QUESTION_END.search(plain) or matches_cue("refuses", plain):
        return ""
    if matches_cue("offers", plain_line(text)):
        return ""
    wanted = [value for value in _values_wanted_by_request(request) if value.kind != "name"]
    repeats = any(value.is_same(named) for value in wanted for named in read_values(text))
    is_agreed = matches_cue("agrees", plain) or repeats
    return plain[:_MAX_ANSWER_CHARACTERS] if is_agreed else ""


def apply_requested_change(request: Item, answer: str, facts: Sequence[UserFact]) -> UserFact | None:
    """The fact as a request changed it, with what was answered; None if the request is about no fact."""
    older = _find_fact_to_change(request, facts)
    if older is None:
        return None
    text = f'{" ".join(request.text.split())} (answered: "{answer}")'
    return replace(
        older,
        text=text,
        item_id=request.id,
        conversation=request.conversation or "",
        said_at=request.created_at,
        ends=False,
        replaces=(older,),
    )


def _find_fact_to_change(request: Item, facts: Sequence[UserFact]) -> UserFact | None:
    """The latest fact with another value of the request's sort: one that it names, or one of its talk."""
    wanted = _values_wanted_by_request(request.text)
    before = [
        one for one in facts if one.said_at <= request.created_at and _has_value_to_replace(one.text, wanted)
    ]
    values = {word for value in wanted for part in value.words for word in split_words(part)}
    words = set(content_words(request.text)) - values
    named = [one for one in before if words & set(content_words(one.text))]
    own = [one for one in before if one.conversation == (request.conversation or "")]
    return next(reversed(named or own), None)


def _has_value_to_replace(text: str, wanted: frozenset[Value]) -> bool:
    """Whether a fact has a value that a wanted one can take the place of, and none that is wanted."""
    there = read_values(text)
    if any(value.is_same(old) for value in wanted for old in there):
        return False
    return any(closeness_of_fit(value, old) for value in wanted for old in there)


def _values_wanted_by_request(text: str) -> frozenset[Value]:
    """The values that a request names, without those that it wants to be replaced.

    The first word of a sentence is capitalised whatever it is, so it is no name.
    """
    plain = _DENIED.sub(" ", plain_line(hide_others_words(text)))
    rests = [" ".join(sentence.split()[1:]) for sentence in split_sentences(plain)]
    names = (value for rest in rests for value in read_values(rest) if value.kind == "name")
    return frozenset((*names, *(value for value in read_values(plain) if value.kind != "name")))
