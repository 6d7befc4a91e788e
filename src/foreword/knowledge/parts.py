"""Tells whether a newer statement makes an older one untrue as a whole, or only one of several facts in it.

"The staging server is called atlas and production is titan" has two facts, and "the staging server is called
orion now" changes one of them. A statement is split into clauses; a clause stands if the newer statement has
none of the words that only this clause has.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.knowledge.command_results import is_tool_output
from foreword.knowledge.corrections import may_be_correction
from foreword.knowledge.progress_cues import cue_pattern, is_question, takes_back, task_words
from foreword.knowledge.stated_values import values_by_kind
from foreword.text.clean import plain_line
from foreword.text.sentences import split_sentences
from foreword.text.words import fold_case

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.types import Item

_MIN_CLAUSES, _MIN_WORDS = 2, 2
"""A clause with fewer content words than this is a part of the clause beside it."""

_JOINTS = re.compile(
    r"(?P<comma>,)\s+(?!(?:and|but|while|whereas|und|aber|et|mais|y|pero)\b)"
    r"|\s*[;\n]\s*|\s[–—-]\s|,?\s(?:and|but|while|whereas|und|aber|während|et|mais|y|pero)\s",
    re.IGNORECASE,
)
_DEPENDENT = re.compile(
    r"(?:because|since|so|as|which|that|who|if|when|until|till|unless|to|than|or|with|for|not|like"
    r"|weil|da|damit|dass|wenn|bis|oder|parce|car|si|quand|porque|que|cuando)\b",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"\b(?:is|are|was|were|has|have|gets?|runs?|uses?|needs?|goes|stays?|lives?|takes?|ist|sind|hat|haben|läuft"
    r"|est|sont|ont|son|está|tiene)\b|=|->",
    re.IGNORECASE,
)
_REQUEST = re.compile(r"(?:please|pls|ok(?:ay)?|got it|noted|done|can you|could you|bitte)\b", re.IGNORECASE)
_WHOLE = re.compile(r"\b(?:both|all|every|everything|neither|none|beide|alle|alles|tous|tout|ambos|todo)\b")
"""Words by which a newer statement speaks of all that an older one names."""


def changes_only_part(newer: Item, older: Item) -> bool:
    """Whether the newer of two items, which contradicts the older, leaves a fact in it standing.

    A clause counts as a fact if it begins with a name, has another value, or says of something what it is. Of
    what an agent says, only one with a value does: "… and the tests pass" is none.
    """
    if older.kind == "commit" or is_tool_output(older) or _WHOLE.search(fold_case(newer.text)):
        return False
    clauses = _split_clauses(older.text)
    if len(clauses) < _MIN_CLAUSES:
        return False
    standing = [clause for clause in clauses if not _speaks_of_clause(newer.text, clause, clauses)]
    if len(standing) == len(clauses) and takes_back(newer.text):
        return False  # "scrap that" takes back all of it
    needs_value = older.source.trust != "user"
    return any(_states_fact(clause, needs_value=needs_value) for clause in standing)


def _split_clauses(text: str) -> list[str]:
    """The clauses of a text; a piece that states nothing alone is left with the one before it.

    A request is one clause: what is asked for together changes together.
    """
    clauses: list[str] = []
    for sentence in split_sentences(text):
        if _REQUEST.match(sentence):
            clauses.append(sentence)
            continue
        begin, after_comma = 0, False
        pieces: list[tuple[str, bool]] = []
        for joint in _JOINTS.finditer(sentence):
            pieces.append((sentence[begin : joint.start()], after_comma))
            begin, after_comma = joint.end(), joint["comma"] is not None
        clauses += _join_dependent_clauses([*pieces, (sentence[begin:], after_comma)])
    return clauses


def _join_dependent_clauses(pieces: Sequence[tuple[str, bool]]) -> list[str]:
    """The pieces of a sentence, each with whether a mere comma stands before it, as clauses."""
    clauses: list[str] = []
    for piece, after_comma in pieces:
        is_short = bool(clauses) and len(task_words(clauses[-1])) < _MIN_WORDS
        is_part = len(task_words(piece)) < _MIN_WORDS or bool(_DEPENDENT.match(piece.strip()))
        is_listed = after_comma and not _STATES.search(piece) and values_by_kind(piece).keys() <= {"name"}
        if clauses and (is_short or is_part or is_listed):
            clauses[-1] += f" {piece}"
        else:
            clauses.append(piece)
    return clauses


def _speaks_of_clause(newer: str, clause: str, clauses: Sequence[str]) -> bool:
    """Whether a newer text speaks of a clause: by a word that no other clause has.

    A bare correction such as "no, Thursday" speaks of the clauses with a value of that sort.
    """
    own = task_words(clause).difference(*(task_words(one) for one in clauses if one is not clause))
    if not own or own & task_words(newer):
        return True
    return may_be_correction(newer) and not values_by_kind(clause).keys().isdisjoint(values_by_kind(newer))


def _states_fact(clause: str, *, needs_value: bool) -> bool:
    """Whether a clause states something that can hold on its own."""
    said = plain_line(clause)
    if is_question(said) or any(one.match(said) for one in (_REQUEST, _DEPENDENT, cue_pattern("courtesies"))):
        return False
    if len(task_words(clause)) < _MIN_WORDS:
        return False
    if needs_value:
        return _contains_number_date_or_name(clause)
    values = values_by_kind(clause)
    begins_with_name = fold_case(said).startswith(tuple(values.get("name", ())))
    return begins_with_name or not values.keys() <= {"name"} or bool(_STATES.search(clause))


def _contains_number_date_or_name(text: str) -> bool:
    """Whether a text has a number, a time, a day, a month, an identifier, or a name after its first word."""
    values = values_by_kind(text)
    names = values_by_kind(text.strip().partition(" ")[2]).get("name")
    return bool(names) or not values.keys() <= {"name"}
