"""Synthetic items and questions that look like real ones to an index: the same in every run, for any size.

Words follow Zipf's law over 50,000 words, the most frequent being those of the shipped sample; there are
people, files and code names, sessions and relations. Vectors are clustered and random: they cost a search as
much as real ones, but mean nothing, so nothing here can be used to measure quality.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from foreword.engine.embedder import TALK
from foreword.spaces.tokens import DIMENSIONS as TOKEN_DIMENSIONS
from foreword.spaces.tokens import MAX_VECTORS, mean_cosine_of_nearest
from foreword.store.base import PutTokenCodes, PutVectors, Vector
from foreword.text.words import split_words
from foreword.types import Item, Kind, Relation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.random import Generator
    from numpy.typing import NDArray

    from foreword.engine.context_engine import ContextEngine
    from foreword.spaces.dense import DenseSpace

WORKSPACE = "bench"
BATCH = 500
DIMENSIONS = 384
VOCABULARY = 50_000
SHAPES = ("common", "ordinary", "phrase", "identifier", "name", "typo")
"""The kinds of questions: with frequent words, with any words, with a quotation, with a code name…"""

_SEED = 20_260_115
_ITEM, _SHORT, _VECTOR, _QUESTION, _CENTRE = range(1, 6)
"""The purposes of random streams. They come first in a seed, because zeros at its end change nothing."""

_START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
_STEP = timedelta(seconds=97)
_SESSION = 40
_RELATED = 10
_CLUSTERS = 256
_SHARES: dict[Kind, int] = {"turn": 10, "code": 3, "memory": 3, "document": 2, "commit": 1, "experience": 1}
_KINDS = tuple(kind for kind, share in _SHARES.items() for _ in range(share))
_IN_SESSIONS = frozenset({"turn", "experience", "commit"})
_ONSETS = ("b", "br", *"cd", "dr", *"fg", "gl", *"hklmnp", "pr", *"rs", "st", *"tv")
_CORES = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_CODAS = ("", "l", "m", "n", "nd", "r", "rt", "s", "st", "t")


@dataclass(frozen=True, slots=True)
class Question:
    """A question's text, and which of `SHAPES` it has."""

    shape: str
    text: str


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The vocabulary of texts: words by falling frequency, people, code names."""

    words: tuple[str, ...]
    chances: NDArray[np.float64]
    people: tuple[str, ...]
    names: tuple[str, ...]

    def draw(self, rng: Generator, count: int) -> list[str]:
        """So many random words, each as often as its frequency says."""
        places = np.searchsorted(self.chances, rng.random(count))
        return [self.words[place] for place in places]


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """The lexicon that every corpus shares."""
    rng = np.random.default_rng(_SEED)
    real = [word for word, _ in _sample_words().most_common() if not word.isdigit()]
    invented = _invent_words(rng, VOCABULARY - len(real), frozenset(real))
    vocabulary = (*real, *invented)
    weights = 1 / (np.arange(len(vocabulary)) + 2.0)
    people = tuple(
        f"{a.capitalize()} {b.capitalize()}" for a, b in zip(invented[:300], invented[300:600], strict=True)
    )
    pool = vocabulary[100:8_000]
    return Lexicon(vocabulary, np.cumsum(weights / weights.sum()), people, _make_code_names(rng, pool))


def invent_item(at: int) -> Item:
    """The item at this place, which does not depend on the size of the corpus."""
    rng = np.random.default_rng((_ITEM, _SEED, at))
    kind = _KINDS[int(rng.integers(len(_KINDS)))]
    return Item(
        id=f"bench-{at:07d}",
        text=_make_code(rng) if kind == "code" else _make_prose(rng, int(rng.integers(8, 61))),
        workspace=WORKSPACE,
        kind=kind,
        about=_make_about(rng, kind),
        session=session_name(at) if kind in _IN_SESSIONS else None,
        created_at=_START + at * _STEP,
        importance=round(float(rng.random()), 2),
    )


def invent_short_text(at: int) -> str:
    """A text of a dozen words, for an encoder."""
    return _make_sentences(lexicon().draw(np.random.default_rng((_SHORT, _SEED, at)), 12))


def session_name(at: int) -> str:
    """The name of the session of items at this place, if they have one."""
    return f"session-{at // _SESSION:06d}"


def time_after(size: int) -> datetime:
    """A time shortly after the last item of a corpus of this size."""
    return _START + size * _STEP + timedelta(hours=1)


def invent_relations(start: int, stop: int) -> tuple[Relation, ...]:
    """The relations from items of this range to earlier ones."""
    return tuple(
        Relation(f"bench-{at:07d}", f"bench-{at * 2 // 3:07d}", created_at=_START + at * _STEP)
        for at in range(start, stop)
        if at % _RELATED == _RELATED - 1
    )


def invent_vectors(start: int, stop: int) -> NDArray[np.float32]:
    """A random unit vector for each item of the range, near one of the clusters' centres."""
    rng = np.random.default_rng((_VECTOR, _SEED, start))
    chosen = _cluster_centres()[rng.integers(_CLUSTERS, size=stop - start)]
    return _normalise(chosen + rng.normal(scale=0.04, size=chosen.shape).astype(np.float32))


def invent_questions(size: int, each: int = 11) -> list[Question]:
    """Questions about a corpus of this size, `each` of every shape."""
    rng = np.random.default_rng((_QUESTION, _SEED))
    return [Question(shape, _ASKED[shape](rng, size)) for _ in range(each) for shape in SHAPES]


def make_put_vectors(
    space: DenseSpace, items: Sequence[Item], start: int, workspace: str = WORKSPACE
) -> PutVectors:
    """The operation that stores the synthetic vectors of items, which begin at the place `start`."""
    values = invent_vectors(start, start + len(items)).tolist()
    made = (
        Vector(item.id, space.hash_of_embedded_text(item), tuple(one))
        for item, one in zip(items, values, strict=True)
    )
    return PutVectors(workspace, space.name, space.digest, tuple(made))


def fill(
    engine: ContextEngine,
    space: DenseSpace,
    size: int,
    make_item: Callable[[int], Item] | None = None,
    workspace: str = WORKSPACE,
) -> Iterator[int]:
    """Store items with synthetic vectors, in batches; yields how many are stored after each batch."""
    for start in range(0, size, BATCH):
        stop = min(size, start + BATCH)
        kept = engine.remember_all([(make_item or invent_item)(at) for at in range(start, stop)], workspace)
        engine.store.batch([make_put_vectors(space, kept, start, workspace)])
        yield stop


class FreeTokens:
    """A token space with random vectors, which costs only the comparing."""

    name = "token_match"
    digest = "synthetic"

    def encode_items(self, items: Sequence[Item]) -> list[bytes]:
        """The codes of random vectors for each item: one for each word, up to the limit."""
        rng = np.random.default_rng((_VECTOR, _SEED, len(items)))
        sizes = [(min(MAX_VECTORS, 4 + len(item.text.split())), TOKEN_DIMENSIONS) for item in items]
        return [rng.integers(-127, 128, size, np.int8).tobytes() for size in sizes]

    def encode_soon(self, question: str) -> None:
        """Nothing is encoded."""

    def compare(self, question: str, codes: Sequence[bytes], expires: float | None = None) -> list[float]:
        """The comparison with the codes, for a question whose vectors are random."""
        del expires
        rng = np.random.default_rng((_VECTOR, _SEED, len(question)))
        size = (4 + len(question.split()), TOKEN_DIMENSIONS)
        return (
            mean_cosine_of_nearest(_normalise(rng.normal(size=size).astype(np.float32)), codes)
            if codes
            else []
        )

    def clear_question_cache(self) -> None:
        """Do nothing, as nothing is cached."""


def make_put_token_codes(items: Sequence[Item], workspace: str = WORKSPACE) -> PutTokenCodes:
    """The operation that stores synthetic token codes for the items that are talk."""
    talk = [item for item in items if item.kind in TALK]
    codes = dict(zip((item.id for item in talk), FreeTokens().encode_items(talk), strict=True))
    return PutTokenCodes(workspace, FreeTokens.digest, codes)


class FreeEncoder:
    """An encoder without cost: a text's vector is chosen by its hash."""

    model = "synthetic"
    dimensions = DIMENSIONS

    def embed(self, text: str) -> list[float]:
        """A unit vector near one of the clusters' centres."""
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "little")
        values: list[float] = invent_vectors(seed, seed + 1)[0].tolist()
        return values

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text."""
        return [self.embed(text) for text in texts]


def _sample_words() -> Counter[str]:
    """The counts of words in the shipped sample, read without importing the command line, to save memory."""
    file = resources.files("foreword.edges.cli").joinpath("sample_data", "lighthouse.jsonl")
    lines = file.read_text(encoding="utf-8").splitlines()
    return Counter(word for line in lines if line for word in split_words(json.loads(line)["text"]))


def _invent_words(rng: Generator, count: int, taken: frozenset[str]) -> list[str]:
    """New pronounceable words, each once."""
    made: dict[str, None] = {}
    while len(made) < count:
        syllables = int(rng.integers(2, 5))
        word = (
            "".join(
                part[int(rng.integers(len(part)))] for _ in range(syllables) for part in (_ONSETS, _CORES)
            )
            + _CODAS[int(rng.integers(len(_CODAS)))]
        )
        if word not in taken:
            made[word] = None
    return list(made)


def _make_code_names(rng: Generator, pool: Sequence[str], count: int = 5_000) -> tuple[str, ...]:
    """snake_case, camelCase and file names, of two or three words each."""
    names = []
    for at in range(count):
        parts = [pool[int(i)] for i in rng.integers(len(pool), size=2 + at % 2)]
        camel = parts[0] + "".join(part.capitalize() for part in parts[1:])
        names.append(("_".join(parts), camel, "/".join(parts) + ".py")[at % 3])
    return tuple(names)


def _make_prose(rng: Generator, count: int) -> str:
    """Sentences of so many words, sometimes with a person or a code name."""
    drawn = lexicon().draw(rng, count)
    if rng.random() < 0.35:
        drawn[int(rng.integers(count))] = _pick_mostly_early(rng, lexicon().people)
    if rng.random() < 0.25:
        drawn[int(rng.integers(count))] = _pick_mostly_early(rng, lexicon().names)
    return _make_sentences(drawn)


def _make_sentences(drawn: Sequence[str], length: int = 13) -> str:
    cuts = [drawn[at : at + length] for at in range(0, len(drawn), length)]
    return " ".join(sentence[0][:1].upper() + " ".join(sentence)[1:] + "." for sentence in cuts)


def _make_code(rng: Generator) -> str:
    names = [_pick_mostly_early(rng, lexicon().names[at::3]) for at in (0, 1, 0)]
    one, other = lexicon().draw(rng, 2)
    body = f'    """{_make_prose(rng, 12)}"""\n    return {names[1]}({one}).{names[2]}'
    return f"def {names[0]}({one}, {other}):\n{body}"


def _make_about(rng: Generator, kind: Kind) -> str:
    if kind == "turn":
        return lexicon().people[int(rng.integers(12))].split()[0]
    return _pick_mostly_early(rng, lexicon().names[2::3]) if kind == "code" else ""


def _pick_mostly_early(rng: Generator, pool: Sequence[str]) -> str:
    """A random element of the pool: the first few often, most rarely."""
    return pool[int(len(pool) * rng.random() ** 3)]


def _misspell(word: str, at: int) -> str:
    at = 1 + at % max(1, len(word) - 2)
    return word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :]


def _common_words_query(rng: Generator, _: int) -> str:
    return " ".join(lexicon().words[int(i)] for i in rng.integers(200, size=int(rng.integers(2, 6))))


def _ordinary_query(rng: Generator, _: int) -> str:
    return " ".join(lexicon().draw(rng, int(rng.integers(3, 15))))


def _phrase_query(rng: Generator, size: int) -> str:
    spoken = invent_item(int(rng.integers(size))).text.split()
    start = int(rng.integers(max(1, len(spoken) - 6)))
    return " ".join(spoken[start : start + int(rng.integers(6, 15))])


def _query_with_identifier(rng: Generator, _: int) -> str:
    return " ".join([*lexicon().draw(rng, int(rng.integers(1, 4))), _pick_mostly_early(rng, lexicon().names)])


def _query_with_name(rng: Generator, _: int) -> str:
    return " ".join(
        [*lexicon().draw(rng, int(rng.integers(1, 5))), _pick_mostly_early(rng, lexicon().people)]
    )


def _query_with_typo(rng: Generator, _: int) -> str:
    wrong = _misspell(lexicon().words[int(rng.integers(200, 5_000))], int(rng.integers(20)))
    return " ".join([*lexicon().draw(rng, int(rng.integers(2, 6))), wrong])


_ASKED: dict[str, Callable[[Generator, int], str]] = dict(
    zip(
        SHAPES,
        (
            _common_words_query,
            _ordinary_query,
            _phrase_query,
            _query_with_identifier,
            _query_with_name,
            _query_with_typo,
        ),
        strict=True,
    )
)


@lru_cache(maxsize=1)
def _cluster_centres() -> NDArray[np.float32]:
    rng = np.random.default_rng((_CENTRE, _SEED))
    return _normalise(rng.normal(size=(_CLUSTERS, DIMENSIONS)).astype(np.float32))


def _normalise(values: NDArray[np.float32]) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = values / np.linalg.norm(values, axis=1, keepdims=True)
    return scaled
