"""Precedents of a failure: resolved experiences that are near to what has just failed.

Two searches are made: by the words of the failure (of the failed tests and the errors, without the runner's
own), on every axis; and by its lines as they were printed, on the whole story. Words in common count a
little more. For the nearest few, each text of the experience (its goal, its surprise, its root cause and so
on) is then compared with the words alone, because a whole story blurs the one sentence that is to the point;
the two nearest texts count. The fit is 0 for an unrelated text and 1 for the same text, with any encoder;
below `PRECEDENT_FLOOR` nothing is a precedent.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.errors import EmbeddingError
from foreword.knowledge.axes import item_text_on_axis
from foreword.knowledge.experience import read_experience
from foreword.log import get_logger
from foreword.spaces.base import cosine_similarity
from foreword.text.words import content_words
from foreword.types import Item, text_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.engine.base import Engine
    from foreword.knowledge.axes import Axis
    from foreword.knowledge.experiences import Experiences
    from foreword.spaces.base import VectorSpace
    from foreword.types import SearchResult

_log = get_logger(__name__)

PRECEDENT_FLOOR = 0.205
"""The least fit of a precedent. Fitted on two sets of experiences: `foreword eval --experiences`."""

_AXES: tuple[Axis, ...] = ("full", "surprise", "root_cause")
_CANDIDATES = 60
_LINES_SHARE, _WORDS_BONUS, _PARTS_SHARE = 1 / 3, 0.2, 1 / 3
_COMPARED_BY_PARTS, _BEST_PARTS = 4, 2
_MAX_CACHED_PARTS = 512
_USUAL_UNRELATED = 0.53
_MAX_QUESTION_CHARACTERS = 2_000
_MIN_WORDS = 4

_WORDS_OF_RUNNERS = (
    "assert assertion assertionerror error errors exception exceptions failed fail fails failure "
    "failing test tests expect expected received got want tobe true false none panicked thread line file "
    "trace traceback recent call last left right py src errno e"
)
_RUNNERS_WORDS = frozenset(_WORDS_OF_RUNNERS.split())
_PATH_OR_NODE = re.compile(
    r"\S+::\S+|\S*[/\\]\S+|\b\S+\.(?:py|[cm]?[jt]sx?|c|cc|cpp|h|rs|go|java|kt|rb)\b[:(]?[\d,)]*"
)
_BETWEEN_PARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\W]+")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]+|[0-9a-f]{6,}")
_ENDING = re.compile(r"(?:ing|ed|es|e|s|ions?)$")

_cache_lock = threading.Lock()
_part_vectors: OrderedDict[tuple[str, str], tuple[float, ...]] = OrderedDict()
"""Cached vectors by encoder and text: the same experiences are near again and again."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed run: the names of the failed tests, the errors as printed, the command, the files involved."""

    tests: tuple[str, ...] = ()
    error: str = ""
    command: str = ""
    files: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tests or self.error.strip() or self.command.strip() or self.files)

    @property
    def words(self) -> str:
        """The words that say what failed, each once, without those that every failed run prints."""
        names = (test.rpartition("::")[2] for test in self.tests)
        stems = (file.rpartition("/")[2].partition(".")[0] for file in self.files)
        texts = [*names, *stems, _PATH_OR_NODE.sub(" ", self.error)]
        parts = (part for text in texts for part in _BETWEEN_PARTS.split(text))
        once = {part.lower(): part for part in reversed([*parts]) if _distinguishes_failures(part)}
        found = " ".join(reversed([*once.values()]))
        return (found or self.command)[:_MAX_QUESTION_CHARACTERS]

    @property
    def lines(self) -> str:
        """The names and the errors as they were printed; the command where nothing else is known."""
        return "\n".join(filter(None, (*self.tests, self.error)))[:_MAX_QUESTION_CHARACTERS] or self.command


def _distinguishes_failures(part: str) -> bool:
    """Whether a word tells one failure from another, as numbers and the runner's own words do not."""
    word = part.lower()
    return len(word) > 1 and word not in _RUNNERS_WORDS and not _NUMBER.fullmatch(word)


def find_precedents(
    engine: Engine, experiences: Experiences, workspace: str, failure: Failure, limit: int = 3
) -> list[SearchResult]:
    """The experiences nearest to a failure, nearest first; the score is the fit, even below the floor."""
    if not failure:
        return []
    words, lines = failure.words, failure.lines
    found: dict[str, SearchResult] = {}
    by_words: dict[str, float] = {}
    for axis in _AXES:
        for result in experiences.search_axis(workspace, words, axis, limit=_CANDIDATES):
            found.setdefault(result.memory.id, result)
            by_words[result.memory.id] = max(result.score, by_words.get(result.memory.id, 0.0))
    printed = {
        result.memory.id: result.score
        for result in experiences.search_axis(workspace, lines, "full", limit=_CANDIDATES)
    }
    unrelated_score = _score_of_unrelated_texts(engine)
    asked = _stems_of_content_words(words)
    fits = {
        name: _fit_score(
            by_words[name], printed.get(name, min(printed.values(), default=0.0)), unrelated_score
        )
        + _WORDS_BONUS * _share_of_question_words_found(asked, result)
        for name, result in found.items()
    }
    # Only what was compared by its parts can be ranked among each other: a part fits less than a whole.
    nearest = sorted(found, key=lambda name: -fits[name])[: max(limit, _COMPARED_BY_PARTS)]
    for name, fit in _text_fit_scores(engine, words, [found[name] for name in nearest]).items():
        fits[name] += _PARTS_SHARE * (fit - fits[name])
    best = sorted(nearest, key=lambda name: -fits[name])[:limit]
    return [replace(found[name], score=min(1.0, max(0.0, fits[name]))) for name in best]


def _text_fit_scores(engine: Engine, words: str, results: Sequence[SearchResult]) -> dict[str, float]:
    """How well the nearest texts of each experience fit the words, by its id; empty without an encoder."""
    encoder = engine.kit.encoder
    parts = {result.memory.id: _experience_texts(result.memory) for result in results}
    every = list(dict.fromkeys(part for texts in parts.values() for part in texts))
    if encoder is None or not every:
        return {}
    try:
        asked = engine.embed_question(words) or ()
        vectors = dict(zip(every, _embed_cached(encoder, every), strict=True))
    except EmbeddingError as error:
        _log.warning("precedents are compared as a whole only", problem=str(error))
        return {}
    unrelated_score, fits = _score_of_unrelated_texts(engine), {}
    for name, texts in parts.items():
        near = sorted((cosine_similarity(asked, vectors[text]) for text in texts), reverse=True)[:_BEST_PARTS]
        if near:
            fits[name] = (sum(near) / len(near) - unrelated_score) / (1 - unrelated_score)
    return fits


def _experience_texts(item: Item) -> list[str]:
    """The texts of an experience one by one: its goal, its hypothesis, its action and so on."""
    experience = read_experience(item)
    if experience is None:
        return []
    lesson, cause = experience.lesson, experience.root_cause
    texts = (
        *(experience.goal, experience.hypothesis, experience.action, experience.surprise),
        experience.outcome.result if experience.outcome else "",
        cause.description if cause else "",
        *((lesson.what_worked, lesson.takeaway) if lesson else ()),
    )
    return [text for text in texts if text]


def _embed_cached(encoder: VectorSpace, texts: Sequence[str]) -> list[tuple[float, ...]]:
    """The vectors of texts, from the cache where they are known."""
    keys = [(encoder.digest, text_hash(text)) for text in texts]
    with _cache_lock:
        known = {key: _part_vectors[key] for key in keys if key in _part_vectors}
    fresh = [(key, text) for key, text in zip(keys, texts, strict=True) if key not in known]
    if fresh:
        vectors = encoder.embed_items([Item(text, "parts") for _, text in fresh])
        known |= {key: tuple(vector) for (key, _), vector in zip(fresh, vectors, strict=True)}
    with _cache_lock:
        _part_vectors.update(known)
        while len(_part_vectors) > _MAX_CACHED_PARTS:
            _part_vectors.popitem(last=False)
    return [known[key] for key in keys]


def _score_of_unrelated_texts(engine: Engine) -> float:
    """The score of unrelated texts: the encoder's, or 0 where words alone are compared."""
    if engine.kit.encoder is None:
        return 0.0
    measured = engine.kit.encoder.unrelated_cosine
    return _USUAL_UNRELATED if measured is None else measured


def _fit_score(by_words: float, by_lines: float, unrelated_score: float) -> float:
    """The fit of an experience, from its scores for the words and for the lines of a failure."""
    score = (1 - _LINES_SHARE) * by_words + _LINES_SHARE * by_lines
    return (score - unrelated_score) / (1 - unrelated_score)


def _share_of_question_words_found(question_stems: set[str], result: SearchResult) -> float:
    """The share of the question's stems that an experience has."""
    return len(question_stems & _stems_of_content_words(item_text_on_axis("full", result.memory))) / max(
        _MIN_WORDS, len(question_stems)
    )


def _stems_of_content_words(text: str) -> set[str]:
    return {_ENDING.sub("", word) for word in content_words(text)}
