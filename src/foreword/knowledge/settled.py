"""Whether a statement settles something: a decision, a rule or a preference that holds from then on.

Some statements say so in words ("we decided", "never on Fridays"): the cues of `progress_cues.toml`. Most do
not ("shadows: 4 cascades, 2048 each"): these are weighed by their words, with weights that
`tools/fit_settled.py` learned from statements by several writers. Questions, doubts, proposals and open tasks
settle nothing, whatever their words.

An agent's plans and reports settle nothing either; an agent is believed only if it reports an agreement.
"""

from __future__ import annotations

import json
import math
import re
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from foreword.knowledge.progress_cues import QUESTION_WORDS, cue_pattern, is_question, lists_what_is_open
from foreword.text.clean import plain_line
from foreword.text.sentences import split_sentences
from foreword.text.words import fold_case

if TYPE_CHECKING:
    from collections.abc import Mapping

Settled = Literal["decision", "rule", "preference", ""]
"""What a statement settles; "" for nothing."""

WEIGHTS_FILE = Path(__file__).with_name("settled_weights.json")
_MAX_CACHED_STATEMENTS = 8_192
_MIN_WORDS, _MAX_WORDS = 3, 80
"""A shorter statement is chatter and a longer one a story: they settle something only if a cue says so."""

_REQUEST = re.compile(
    rf"\W*(?:summari[sz]e|tell|show|list|explain|remind|recap|{QUESTION_WORDS})\b(?! not\b)", re.IGNORECASE
)
_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[?!,;:()\"%-]")
_LENGTHS = (5, 10, 20, 40)


class Weights(NamedTuple):
    """Learned weights: a statement settles something if `start` and its features reach `threshold`."""

    start: float
    threshold: float
    features: Mapping[str, float]


def is_decision(sentence: str, *, by_agent: bool = False) -> bool:
    """Whether a sentence settles something; see `find_what_statement_settles`."""
    return bool(find_what_statement_settles(sentence, by_agent=by_agent))


@lru_cache(maxsize=_MAX_CACHED_STATEMENTS)
def find_what_statement_settles(statement: str, *, by_agent: bool = False) -> Settled:
    """What a statement settles, by the cues in its sentences, else by the weights of its words."""
    sentences = [sentence for sentence in split_sentences(statement) if _may_settle(sentence)]
    for sentence in sentences:
        if said := _settled_by_cue(plain_line(sentence), by_agent=by_agent):
            return said
    if by_agent or not sentences:
        return ""
    words = " ".join(sentences)
    return "decision" if weigh_as_settled(words) >= load_settled_weights().threshold else ""


def _may_settle(sentence: str) -> bool:
    """Whether a sentence is no question, request, doubt or open task."""
    said = plain_line(sentence)
    if is_question(said) or _REQUEST.match(said) or cue_pattern("undecided").search(said):
        return False
    return not (cue_pattern("opens").search(said) or lists_what_is_open(said))


def _settled_by_cue(line: str, *, by_agent: bool) -> Settled:
    """What a sentence settles by a cue in it; of an agent's sentences only agreements count."""
    if by_agent:
        return "decision" if cue_pattern("agrees").search(line) else ""
    kinds: tuple[tuple[str, Settled], ...] = (
        ("prefers", "preference"),
        ("rules", "rule"),
        ("decides", "decision"),
    )
    return next((kind for name, kind in kinds if cue_pattern(name).search(line)), "")


# The weights of words -------------------------------------------------------------------------------------


@cache
def load_settled_weights() -> Weights:
    """The weights that decide whether a statement settles something; read once from the package."""
    return Weights(**json.loads(WEIGHTS_FILE.read_text(encoding="utf-8")))


def weigh_as_settled(statement: str) -> float:
    """The sum of the weights of a statement's features; minus infinity if it is too short or too long."""
    weights = load_settled_weights()
    if not _MIN_WORDS <= len(statement.split()) <= _MAX_WORDS:
        return float("-inf")
    features = weights.features
    found = (features.get(name, 0.0) for name in statement_features(statement))
    return math.fsum((weights.start, *found))  # in whatever order a set is read, the sum is the same


def statement_features(statement: str) -> frozenset[str]:
    """The features of a statement: its words, its pairs of words, its length; all numbers are one feature."""
    tokens = ["0" if token.isdigit() else token for token in _TOKEN.findall(fold_case(statement))]
    pairs = (f"{one} {other}" for one, other in pairwise(["^", *tokens, "$"]))
    lengths = (f"<{most}" for most in _LENGTHS if len(statement.split()) < most)
    return frozenset((*tokens, *pairs, *lengths))
