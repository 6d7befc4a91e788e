"""The histories that the reader is trained on, as rows of token numbers.

A history is read from a line of JSON (measure/lessons/README.md has the format). Every statement becomes the
line that the reader will see, with the line before it and later lines about the same; every prompt gets the
statements that are easily mistaken for an answer. From these come the rows to learn from: a prompt and a
statement, or two statements of which one may replace the other. Nothing here needs torch.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from foreword.text.statements import describe_statement
from foreword.text.words import content_words
from foreword.types import Item, Source

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tokenizers import Tokenizer

    from foreword.spaces.bundled import BundledEmbeddingProvider

    Row = tuple[list[int], list[int]]
    """Token numbers, and for each of them whether it is of the first text (0) or of the second (1)."""
    Comparison = tuple[Row, int]
    """Two statements, the newer first, and what the newer is to the older."""

TYPES = ("decision", "rule", "correction", "fact", "task", "report", "question", "chatter")
NEITHER, REPLACES, SAME = 0, 1, 2
"""The relations of a newer statement to an older one, in the order of the reader's probabilities."""

PAIRS_FOLDER = "pairs"
"""The folder, inside a folder of histories, with files of single pairs of statements."""

_LABELS = {"replaces": REPLACES, "same": SAME, "adds": NEITHER, "unrelated": NEITHER}
START, END = 101, 102
"""The tokens that mark the beginning of a row, and the end of each of its texts."""

_PROMPT_TOKENS, _LINE_TOKENS, _BEFORE_TOKENS, _LATER_TOKENS = 96, 100, 32, 40
_NEWER_TOKENS, _OLDER_TOKENS = 72, 80
_BEFORE_CHARACTERS, _LATER_CHARACTERS = 160, 200
_TALKERS, _ANSWERED = ("user", "agent"), ("user", "agent", "tool")
_MAX_LATER, _MIN_NEARNESS = 2, 0.12
"""How many later statements are shown with one at most, and how near they must be to it."""

_HARD = 8
"""How many statements of a history, the nearest by the encoder, count as hard."""

_PROMPT_TYPES = ("question", "task", "chatter", "decision", "rule")
_MAX_SAID = 6
"""How many of the user's statements of these types are used as prompts, too."""

_MAX_NEAR, _MIN_NEAR_COSINE = 6, 0.5
"""With how many earlier statements the engine compares a new one at most, and how near they must be."""

_MAX_STRANGERS, _MIN_STRANGER_COSINE, _MAX_STRANGER_COSINE = 4, 0.45, 0.85
_MIN_TALK = 50
"""How many statements a talk has at least; other histories have fewer."""

_NEEDED, _HELPFUL, _OUTDATED, _NOISE = 1.5, 0.8, 1.5, 1.0
"""How much a pair counts, by what the statement is to the prompt."""

_DAY_OF_PROMPTS = datetime(2026, 1, 1, tzinfo=UTC)
_ITEMS = {
    "user": ("turn", "user"),
    "agent": ("turn", "agent"),
    "tool": ("turn", "tool"),
    "file": ("document", "user"),
    "commit": ("commit", "user"),
    "memory": ("memory", "user"),
}
"""The kind of item that a speaker's statements are stored as, and how far they are trusted."""


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A statement as the reader sees it: its line, the line before it, and later ones, all as tokens."""

    number: int
    who: str
    type: str
    prompt: list[int]
    """Its words alone, as if they were a prompt."""
    line: list[int]
    before: list[int]
    later: list[int]


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """A prompt as tokens, and the numbers of the statements that it needs, or that are mistaken for them."""

    tokens: list[int]
    needs: frozenset[int]
    helps: frozenset[int]
    outdated: frozenset[int]
    hard: frozenset[int]

    def is_answered_by(self, number: int) -> bool:
        """Whether the statement should be shown with this prompt."""
        return number in self.needs | self.helps and number not in self.outdated

    def weight(self, number: int) -> float:
        """How much the pair of this prompt and the statement counts in training."""
        if number in self.needs:
            return _NEEDED
        if number in self.outdated:
            return _OUTDATED
        return _HELPFUL if number in self.helps else _NOISE


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The statements of one project or person in order of time, the prompts, and what replaces what."""

    statements: list[Statement]
    prompts: list[Prompt]
    related: dict[tuple[int, int], int]
    """For pairs of numbers, the later one first: does it replace the other, or say the same?"""
    unrelated: list[tuple[int, int]]
    """All other pairs, those with most words in common first."""
    near: list[tuple[int, int]]
    """The pairs that the engine would compare: each statement with the earlier ones nearest in meaning."""

    @property
    def is_talk(self) -> bool:
        """Whether it is a long talk, in which little is replaced."""
        return len(self.statements) >= _MIN_TALK


@dataclass(frozen=True, slots=True)
class Lessons:
    """The data to train or test a model on: histories, and pairs of statements without a history."""

    histories: list[History]
    comparisons: list[Comparison]
    strangers: list[Row]
    """The newer statements of pairs, each beside older ones of other pairs that are near in meaning."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A prompt and a statement: whether it should be shown, and how much the pair counts."""

    prompt: Prompt
    statement: Statement
    answers: float
    weight: float


# Reading --------------------------------------------------------------------------------------------------


def find_files(folders: Iterable[Path]) -> list[Path]:
    """The files of histories and of pairs in these folders, by name."""
    found = [
        path
        for folder in folders
        for part in (folder, folder / PAIRS_FOLDER)
        for path in part.glob("*.jsonl")
    ]
    return sorted(found, key=lambda path: path.stem)


def read_lessons(files: Iterable[Path], tokenizer: Tokenizer, encoder: BundledEmbeddingProvider) -> Lessons:
    """All histories and pairs of the files."""
    lessons = Lessons([], [], [])
    pairs: list[dict[str, Any]] = []
    for path in files:
        given = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if path.parent.name == PAIRS_FOLDER:
            pairs += given
            lessons.comparisons.extend(read_comparison(one, tokenizer) for one in given)
        else:
            lessons.histories.extend(read_history(one, tokenizer, encoder) for one in given)
    lessons.strangers.extend(pair_with_strangers(pairs, tokenizer, encoder))
    return lessons


def read_comparison(given: dict[str, Any], tokenizer: Tokenizer) -> Comparison:
    """A pair of statements, from its JSON."""
    newer, older = (_encode_text(tokenizer, describe(given[name])) for name in ("newer", "older"))
    before = _encode_line_before(given["newer"], tokenizer)
    return comparison_row(newer, before, older), _LABELS[given["label"]]


def _encode_line_before(told: dict[str, Any], tokenizer: Tokenizer) -> list[int]:
    """The tokens of the line before a statement of a pair; none if there was no such line."""
    before = told.get("prev")
    return _encode_text(tokenizer, _format_line_before(*before))[:_BEFORE_TOKENS] if before else []


def read_history(given: dict[str, Any], tokenizer: Tokenizer, encoder: BundledEmbeddingProvider) -> History:
    """One history, from its JSON."""
    told = given["statements"]
    numbers = [one["n"] for one in told]
    statements = [
        Statement(
            one["n"],
            one["who"],
            one["type"],
            cut_prompt(_encode_text(tokenizer, one["text"])),
            _encode_text(tokenizer, describe(one))[:_LINE_TOKENS],
            _encode_text(tokenizer, describe_before(one, told[at - 1] if at else None))[:_BEFORE_TOKENS],
            [token for text in later for token in _encode_text(tokenizer, text)[:_LATER_TOKENS]],
        )
        for at, (one, later) in enumerate(zip(told, describe_later(told), strict=True))
    ]
    vectors = np.array(encoder.embed_batch([one["text"] for one in told]))
    hard = _find_nearest_statements(given, vectors, encoder)
    prompts = [
        Prompt(
            cut_prompt(_encode_text(tokenizer, one["text"])),
            *(frozenset(one[name]) & set(numbers) for name in ("needs", "helps", "outdated")),
            frozenset(numbers[at] for at in near),
        )
        for one, near in zip(given["prompts"], hard, strict=True)
    ]
    related = find_related(given)
    return History(
        statements, prompts, related, _find_unrelated(told, related), find_near_pairs(numbers, vectors)
    )


def find_near_pairs(numbers: Sequence[int], vectors: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of statements' numbers: each with the earlier ones nearest in meaning, the later number first."""
    return [
        (numbers[at], numbers[place])
        for at in range(1, len(numbers))
        for place in _nearest_places(vectors[:at] @ vectors[at], _MAX_NEAR, _MIN_NEAR_COSINE)
    ]


def pair_with_strangers(
    pairs: Sequence[dict[str, Any]], tokenizer: Tokenizer, encoder: BundledEmbeddingProvider
) -> list[Row]:
    """The newer statement of each pair beside older ones of other pairs that are near in meaning.

    They are of other worlds, so it replaces none; without them the reader takes likeness for replacement.
    Left out are older statements that say nearly the same as the pair's own.
    """
    if not pairs:
        return []
    older = [one["older"] for one in pairs]
    vectors = np.array(encoder.embed_batch([one["text"] for one in older]))
    newer_vectors = np.array(encoder.embed_batch([one["newer"]["text"] for one in pairs]))
    rows: list[Row] = []
    for at, pair in enumerate(pairs):
        newer = pair["newer"]
        cosines = vectors @ newer_vectors[at]
        cosines[vectors @ vectors[at] > _MAX_STRANGER_COSINE] = 0.0
        near = [older[place] for place in _nearest_places(cosines, _MAX_STRANGERS, _MIN_STRANGER_COSINE)]
        rows += [
            read_comparison({"newer": newer, "older": one, "label": "unrelated"}, tokenizer)[0]
            for one in near
            if one["day"] <= newer["day"]
        ]
    return rows


def _nearest_places(cosines: np.ndarray, most: int, least: float) -> list[int]:
    """The places of the largest cosines, the largest first."""
    return [int(place) for place in np.argsort(-cosines)[:most] if cosines[place] >= least]


def describe(told: dict[str, Any]) -> str:
    """The line of a statement: who said it, when, and its text."""
    kind, trust = _ITEMS[told["who"]]
    said = _DAY_OF_PROMPTS + timedelta(days=told["day"])
    item = Item(told["text"], "lessons", kind, created_at=said, source=Source(told["who"], trust))
    return describe_statement(item, told["text"], _DAY_OF_PROMPTS)


def describe_before(told: dict[str, Any], before: dict[str, Any] | None) -> str:
    """The statement before, which this one may answer, if it is of the same day and of a talk; or empty."""
    if before is None or before["day"] != told["day"]:
        return ""
    if told["who"] not in _TALKERS or before["who"] not in _ANSWERED:
        return ""
    return _format_line_before(before["who"], before["text"])


def _format_line_before(who: str, text: str) -> str:
    return f"(after {who}: {text[:_BEFORE_CHARACTERS]})"


def describe_later(told: Sequence[dict[str, Any]]) -> list[list[str]]:
    """For each statement, the lines of later ones about the same thing, nearest first.

    Nearness is measured by shared words; rare words count more.
    """
    words = [set(content_words(one["text"])) for one in told]
    counts = Counter(word for found in words for word in found)
    rarity = {word: math.log(1 + len(told) / count) for word, count in counts.items()}
    described: list[list[str]] = []
    for at in range(len(told)):
        later = range(len(told) - 1, at, -1)  # of two equally near ones, the later one comes first
        near = sorted(((_nearness(words[at], words[one], rarity), one) for one in later), key=lambda n: -n[0])
        found = [told[one] for nearness, one in near[:_MAX_LATER] if nearness >= _MIN_NEARNESS]
        described.append([_describe_later_line(one) for one in found])
    return described


def _nearness(one: set[str], other: set[str], rarity: Mapping[str, float]) -> float:
    # `fsum` does not depend on the order of a set, which changes from run to run.
    shared, *sizes = (math.fsum(rarity[word] for word in words) for words in (one & other, one, other))
    return shared / math.sqrt(sizes[0] * sizes[1]) if shared else 0.0


def _describe_later_line(told: dict[str, Any]) -> str:
    who, _, age = describe(told | {"text": ""}).removesuffix(": ").partition(", ")
    return f"(later, {age}, {who}: {told['text'][:_LATER_CHARACTERS]}"


def _encode_text(tokenizer: Tokenizer, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False).ids)


def cut_prompt(tokens: list[int]) -> list[int]:
    """The beginning and the end of a long prompt."""
    half = _PROMPT_TOKENS // 2
    return tokens if len(tokens) <= _PROMPT_TOKENS else tokens[:half] + tokens[-half:]


def _find_nearest_statements(
    given: dict[str, Any], statements: np.ndarray, encoder: BundledEmbeddingProvider
) -> list[list[int]]:
    """For each prompt, the positions of the statements whose vectors are nearest to it."""
    prompts = np.array([encoder.embed_query(one["text"]) for one in given["prompts"]])
    return [np.argsort(-row)[:_HARD].tolist() for row in (prompts @ statements.T).round(3)]


def find_related(given: dict[str, Any]) -> dict[tuple[int, int], int]:
    """The relation of each pair in which the later statement replaces the earlier one, or repeats it."""
    numbers = {one["n"] for one in given["statements"]}
    related = {(later, earlier): REPLACES for later, earlier in given["replaces"] if later > earlier}
    related |= {(max(pair), min(pair)): SAME for pair in given["same"]}
    return {pair: what for pair, what in related.items() if numbers.issuperset(pair)}


def _find_unrelated(
    told: Sequence[dict[str, Any]], related: dict[tuple[int, int], int]
) -> list[tuple[int, int]]:
    words = {one["n"]: set(re.findall(r"\w{3,}", one["text"].lower())) for one in told}
    pairs = [(a, b) for a in words for b in words if a > b and (a, b) not in related]
    return sorted(pairs, key=lambda pair: -_overlap(words[pair[0]], words[pair[1]]))


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / math.sqrt(len(one) * len(other) + 1)


# Pairs to learn from --------------------------------------------------------------------------------------


def make_pairs(
    histories: Sequence[History], easy: int | None, foreign: int, chance: random.Random
) -> list[Pair]:
    """Every prompt with the statements it needs, with hard ones, and with some easy ones.

    `easy` is how many easy statements are used (None: all), `foreign` how many of another history.
    """
    pairs: list[Pair] = []
    for history in histories:
        for prompt in history.prompts:
            for statement in _choose_statements(history, prompt, easy, chance):
                answers = float(prompt.is_answered_by(statement.number))
                pairs.append(Pair(prompt, statement, answers, prompt.weight(statement.number)))
            other = chance.choice(histories)
            if other is not history:
                some = chance.sample(other.statements, min(len(other.statements), foreign))
                pairs += [Pair(prompt, one, 0.0, _NOISE) for one in some]
    return pairs


def _choose_statements(
    history: History, prompt: Prompt, easy: int | None, chance: random.Random
) -> list[Statement]:
    """The statements of a prompt's own history that are paired with it."""
    labelled = prompt.needs | prompt.helps | prompt.outdated
    key = [one for one in history.statements if one.number in labelled]
    rest = [one for one in history.statements if one.number not in labelled]
    hard = [one for one in rest if one.number in prompt.hard]
    others = [one for one in rest if one.number not in prompt.hard]
    return key + hard + (others if easy is None else chance.sample(others, min(len(others), easy)))


def make_said_rows(histories: Sequence[History]) -> list[Row]:
    """Rows without labels: the user's statements as prompts, and every other statement of the history."""
    rows: list[Row] = []
    for history in histories:
        said = [one for one in history.statements if one.who == "user" and one.type in _PROMPT_TYPES]
        rows += [
            _join_as_row(prompt.prompt, other.line)
            for prompt in said[:_MAX_SAID]
            for other in history.statements
            if other is not prompt
        ]
    return rows


def make_comparisons(
    histories: Sequence[History], alike: int, others: int, chance: random.Random
) -> list[Comparison]:
    """All pairs of statements in which one replaces or repeats the other, and some unrelated ones.

    Of a history's unrelated pairs, `alike` is how many with most words in common are used, `others` how many
    at random.
    """
    made: list[Comparison] = []
    for history in histories:
        unrelated = history.unrelated[:alike]
        unrelated += chance.sample(history.unrelated, min(len(history.unrelated), others))
        labelled = [*history.related.items(), *((pair, NEITHER) for pair in unrelated)]
        made += _make_comparison_rows(history, labelled)
    return made


def compare_near(history: History) -> list[Comparison]:
    """The pairs of statements that the engine would compare, and all in which one replaces the other."""
    pairs = dict.fromkeys([*history.near, *history.related])
    return _make_comparison_rows(history, [(pair, history.related.get(pair, NEITHER)) for pair in pairs])


def compare_all(history: History) -> list[Comparison]:
    """Every pair of statements of a history, for the test."""
    return _make_comparison_rows(
        history, [*history.related.items(), *((pair, NEITHER) for pair in history.unrelated)]
    )


def _make_comparison_rows(
    history: History, labelled: Iterable[tuple[tuple[int, int], int]]
) -> list[Comparison]:
    said = {one.number: one for one in history.statements}
    return [
        (comparison_row(said[newer].line, said[newer].before, said[older].line), what)
        for (newer, older), what in labelled
    ]


# Rows -----------------------------------------------------------------------------------------------------


def pair_row(prompt: Prompt, statement: Statement, *, before: bool = False, later: bool = False) -> Row:
    """The row of a prompt and a statement, with or without the lines before and after it."""
    context = (statement.before if before else []) + (statement.later if later else [])
    return _join_as_row(prompt.tokens, statement.line + context)


def comparison_row(newer: list[int], before: list[int], older: list[int]) -> Row:
    """The row of two statements, the newer with the line before it, to judge if it replaces the other."""
    return _join_as_row(newer[:_NEWER_TOKENS] + before, older[:_OLDER_TOKENS])


def _join_as_row(first: list[int], second: list[int]) -> Row:
    tokens = [START, *first, END, *second, END]
    return tokens, [0] * (len(first) + 2) + [1] * (len(second) + 1)
