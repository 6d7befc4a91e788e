"""The judge of what helps: a small cross-encoder, taught on histories like a user's own.

Each of the best candidates is read together with the question, as it would be shown: who said it, how long
ago, and its words; of a long one, its best statements. The logit becomes the probability that the candidate
helps, which means the same for every kind of item.

The reader cannot read Thai, Hebrew, Greek and the like: a question in one of these is judged by the groups
of letters that it shares with a statement. How the reader was taught, and on what, is in docs/reader.md.

Finding candidates is not its task.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.text.statements import MAX_STATEMENT_CHARACTERS, describe_statement, split_statements
from foreword.text.translate import to_english
from foreword.text.words import content_words, is_in_latin_letters, non_latin_letter_groups

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foreword.spaces.base import Reranker
    from foreword.types import Item, Query, SearchResult

MAX_READ = 24
"""At most how many statements are read; beyond that hardly anything was found."""

_MAX_STATEMENTS = 2
"""At most how many statements of one item are read."""

_FROM_FILES = ("document", "code")
_MAX_SHARE_FROM_FILES = 0.34
"""At most this share of what is read comes from files, if there is enough else: a folder of documents has a
passage for every word, and would crowd out the few lines that were said."""

_SLOPE, _OFFSET, _OFFSET_PER_E_FOLD = 0.5, -1.25, -0.236
"""The curve from logits to probabilities, fitted to histories that the reader was not taught on. The more
statements are read, the likelier one of them looks like an answer by chance: each is believed the less."""

_LOGITS_PER_COSINE, _COSINE_OF_ANSWERS = 27.0, 0.68
"""A passage of a document that is farther from the question than answers are is believed less. How much less
was fitted to pages of help (`recipes/dialogue/rag.py`): there a cosine says more than the reader."""

_SPARE_SECONDS = 0.03
"""Seconds that are reserved for the stages after this one."""

_MIN_SHARED, _LOGIT_OF_SAME_WORDS = 2, 2.0
"""A statement that has all words of a question, at least `_MIN_SHARED`, is about it: it gets this logit at
least. The reader was taught on prompts that seldom repeat the words of their answer, and underrates those."""

_LOGIT_WITHOUT_GROUPS, _LOGITS_PER_SHARE, _MAX_GROUPS_ASKED = -6.0, 30.0, 20
"""By letters: the logit of a statement that shares no group with a question, or a single one, and how much is
added for sharing all; a longer question need not have more groups than these in common."""

_WORDS_OF_ASKING = frozenset(
    {"nam", "call", "us", "run", "hav", "get", "need", "kind", "typ", "tell", "know", "remember", "again"}
)
_ENDING = re.compile(r"(?:ing|ed|es|e|s)$")
_MAX_QUESTION_CHARACTERS = 400
_MAX_LOGITS_BELOW_BEST = 2.0
"""A statement whose logit is at most this much below the item's best is shown with it."""


@dataclass(frozen=True, slots=True)
class _Passage:
    """A statement of a candidate, as it is read."""

    result: SearchResult
    statement: str
    is_whole: bool


def judge_results_with_reader(
    results: Sequence[SearchResult], query: Query, reader: Reranker, most: int = MAX_READ
) -> list[SearchResult]:
    """The results that were read in time, with their probabilities and excerpts, best first.

    At most `most` statements are read, those of the leading results, and not too many of them from files.
    """
    asked = set(content_words(query.text))
    passages = _choose_passages(results, asked, most)
    texts = [describe_statement(passage.result.memory, passage.statement, query.now) for passage in passages]
    if not is_in_latin_letters(to_english(query.text)):
        logits = _logits_by_shared_letters(non_latin_letter_groups(query.text), texts)
    else:
        logits = reader.scores(_keep_both_ends(query.text), texts, _reading_deadline(query))
    by_item: dict[str, list[tuple[float, _Passage]]] = {}
    for read, passage in zip(logits, passages, strict=False):
        logit = max(read, _LOGIT_OF_SAME_WORDS) if _has_all_words(passage, asked) else read
        by_item.setdefault(passage.result.memory.id, []).append((logit, passage))
    judged = [_judge_by_best_statement(read, len(logits)) for read in by_item.values()]
    return sorted(judged, key=lambda one: (-one.score, -one.memory.created_at.timestamp(), one.memory.id))


def _logits_by_shared_letters(asked: frozenset[str], texts: Sequence[str]) -> list[float]:
    """Stand-ins for the reader's logits, by how many of a question's groups of letters each text shares."""
    most_asked = max(1, min(len(asked), _MAX_GROUPS_ASKED))
    least_share = _MIN_SHARED / max(_MIN_SHARED, most_asked)
    shares = (len(asked & non_latin_letter_groups(text)) / most_asked for text in texts)
    return [
        min(_LOGIT_OF_SAME_WORDS, _LOGIT_WITHOUT_GROUPS + _LOGITS_PER_SHARE * share)
        if share >= least_share
        else _LOGIT_WITHOUT_GROUPS
        for share in shares
    ]


def _has_all_words(passage: _Passage, asked: set[str]) -> bool:
    """Whether a statement, or the short item that it is part of, has all the words of a question."""
    wanted = _stems(asked) - _WORDS_OF_ASKING
    text = passage.result.memory.text
    said = text if len(text) <= _MAX_STATEMENTS * MAX_STATEMENT_CHARACTERS else passage.statement
    return len(wanted) >= _MIN_SHARED and wanted <= _stems(content_words(said))


def _stems(words: Iterable[str]) -> set[str]:
    """The words without common endings, so that "listen" is found in "listens"."""
    return {_ENDING.sub("", word) for word in words}


def _choose_passages(results: Sequence[SearchResult], asked: set[str], most: int) -> list[_Passage]:
    """The passages that are read, in the order of their results."""
    from_files = [result for result in results if result.memory.kind in _FROM_FILES][:most]
    others = [result for result in results if result.memory.kind not in _FROM_FILES][:most]
    said = [passage for result in others for passage in _best_passages(result, asked)]
    written = [passage for result in from_files for passage in _best_passages(result, asked)]
    written = written[: max(int(most * _MAX_SHARE_FROM_FILES), most - len(said))]
    places = {result.memory.id: place for place, result in enumerate(results)}
    chosen = written + said[: most - len(written)]
    return sorted(chosen, key=lambda passage: places[passage.result.memory.id])


def _best_passages(result: SearchResult, asked: set[str]) -> list[_Passage]:
    """The statements of an item that share most with the question; all, if there are few."""
    statements = split_statements(_text_without_file_list(result.memory))
    if len(statements) <= 1:
        return [_Passage(result, _text_without_file_list(result.memory), is_whole=True)]
    shared = [len(asked.intersection(content_words(statement))) for statement in statements]
    best = sorted(range(len(statements)), key=lambda at: (-shared[at], at))[:_MAX_STATEMENTS]
    return [_Passage(result, statements[at], is_whole=False) for at in sorted(best)]


def _judge_by_best_statement(logits: Sequence[tuple[float, _Passage]], read_count: int) -> SearchResult:
    """The item with the probability of its best statement, and its best statements as excerpt."""
    best = max(logit for logit, _ in logits)
    result = logits[0][1].result
    chosen = [passage for logit, passage in logits if logit >= best - _MAX_LOGITS_BELOW_BEST]
    excerpt = "" if chosen[0].is_whole else " … ".join(passage.statement for passage in chosen)
    return replace(
        result,
        score=probability_from_logit(best + _logit_penalty_of_far_document(result), read_count),
        scores={**result.scores, "read": best},
        excerpt=excerpt,
    )


def _logit_penalty_of_far_document(result: SearchResult) -> float:
    """What is added to the logit of a document that is far from the question: 0 or less."""
    cosine = result.scores.get("semantic")
    if result.memory.kind != "document" or cosine is None:
        return 0.0
    return min(0.0, _LOGITS_PER_COSINE * (cosine - _COSINE_OF_ANSWERS))


def probability_from_logit(logit: float, read_count: int = MAX_READ) -> float:
    """The probability that a statement helps, from the reader's logit and how many were read."""
    return 1 / (1 + math.exp(-(_SLOPE * logit + _OFFSET + _OFFSET_PER_E_FOLD * math.log(max(1, read_count)))))


# How a candidate is put to the reader ---------------------------------------------------------------------


def _text_without_file_list(item: Item) -> str:
    """The text of an item; of a commit its message alone, without the list of its files."""
    return item.text.partition("\nfiles: ")[0].rstrip() if item.kind == "commit" else item.text


def _keep_both_ends(question: str) -> str:
    """The two ends of a long question: what is asked stands before or after what was pasted."""
    half = _MAX_QUESTION_CHARACTERS // 2
    return question if len(question) <= 2 * half else f"{question[:half]} … {question[-half:]}"


def _reading_deadline(query: Query) -> float | None:
    """When the reader must stop, to leave time for later stages; None without a deadline."""
    return None if query.expires is None else query.expires - _SPARE_SECONDS
