"""The histories that the reader is taught on, as rows of token numbers.

A history is read from a line of JSON (measure/lessons/README.md has the format). Every statement becomes the
line that the reader will see, with what came before it and what was said later; every prompt the statements
that are easily taken for an answer. From these come the pairs to learn from. Nothing here needs torch.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from foreword.recall.read import Nearness
from foreword.types import Item

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tokenizers import Tokenizer

    from foreword.spaces.bundled import BundledEmbeddingProvider

    Row = tuple[list[int], list[int]]
    """Token numbers, and for each of them whether it is of the first text (0) or of the second (1)."""

TYPES = ("decision", "rule", "correction", "fact", "task", "report", "question", "chatter")
NEITHER, REPLACES, SAME = 0, 1, 2
"""What a later statement can be to an earlier one."""

_START, _END = 101, 102
_PROMPT_TOKENS, _LINE_TOKENS, _BEFORE_TOKENS, _LATER_TOKENS = 96, 100, 32, 40
_COMPARED_TOKENS, _TYPED_TOKENS = 80, 96
_BEFORE_CHARACTERS, _LATER_CHARACTERS = 160, 200
_TALKERS, _ANSWERED = ("user", "agent"), ("user", "agent", "tool")
_HARD = 8
"""So many statements of a history, the nearest by the encoder, are hard to tell from an answer."""

_NEAR_PAIRS, _OTHER_PAIRS = 24, 16
"""How many pairs of a history that have nothing to do with each other are shown: alike ones, and any."""

_NEEDED, _HELPFUL, _OUTDATED, _NOISE = 1.5, 0.8, 1.5, 1.0
"""How much a pair counts."""

_DAY_OF_PROMPTS = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """What was said, as the reader sees it: its line, the line before it, and later ones; all in tokens."""

    number: int
    type: str
    line: list[int]
    before: list[int]
    later: list[int]


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """A prompt in tokens, and the numbers of the statements it needs, or that are hard to tell from these."""

    tokens: list[int]
    needs: frozenset[int]
    helps: frozenset[int]
    outdated: frozenset[int]
    hard: frozenset[int]

    def is_answered_by(self, number: int) -> bool:
        """Whether the statement should be told."""
        return number in self.needs | self.helps and number not in self.outdated

    def weight(self, number: int) -> float:
        """How much the statement counts when it is learnt from."""
        if number in self.needs:
            return _NEEDED
        if number in self.outdated:
            return _OUTDATED
        return _HELPFUL if number in self.helps else _NOISE


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The statements of one project or one life in order of time, the prompts, and what replaces what."""

    hand: str
    statements: list[Statement]
    prompts: list[Prompt]
    related: dict[tuple[int, int], int]
    """For pairs of numbers, the later one first: does it replace the other, or say the same?"""
    unrelated: list[tuple[int, int]]
    """All other pairs, those with most words in common first."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A prompt and a statement: whether it should be told, and how much the pair counts."""

    prompt: Prompt
    statement: Statement
    answers: float
    weight: float


# Reading --------------------------------------------------------------------------------------------------


def find_hands(folders: Iterable[Path]) -> list[Path]:
    """The files of histories in the folders, one for each hand, by name."""
    found = [path for folder in folders for path in folder.glob("*.jsonl")]
    return sorted(found, key=lambda path: path.stem)


def read_hand(path: Path, tokenizer: Tokenizer, encoder: BundledEmbeddingProvider) -> list[History]:
    """The histories of one hand."""
    with path.open(encoding="utf-8") as lines:
        return [read_history(json.loads(line), path.stem, tokenizer, encoder) for line in lines]


def read_history(
    given: dict[str, Any], hand: str, tokenizer: Tokenizer, encoder: BundledEmbeddingProvider
) -> History:
    """One history, from its JSON."""
    told = given["statements"]
    numbers = [one["n"] for one in told]
    statements = [
        Statement(
            one["n"],
            one["type"],
            _tokens(tokenizer, describe(one))[:_LINE_TOKENS],
            _tokens(tokenizer, describe_before(one, told[at - 1] if at else None))[:_BEFORE_TOKENS],
            [token for text in later for token in _tokens(tokenizer, text)[:_LATER_TOKENS]],
        )
        for at, (one, later) in enumerate(zip(told, describe_later(told), strict=True))
    ]
    hard = _nearest(given, encoder)
    prompts = [
        Prompt(
            cut_prompt(_tokens(tokenizer, one["text"])),
            *(frozenset(one[name]) & set(numbers) for name in ("needs", "helps", "outdated")),
            frozenset(numbers[at] for at in near),
        )
        for one, near in zip(given["prompts"], hard, strict=True)
    ]
    related = find_related(given)
    return History(hand, statements, prompts, related, _find_unrelated(told, related))


def describe(told: dict[str, Any]) -> str:
    """The line of a statement: who said it, when, and its words."""
    return f"{told['who']}, {_age(told)}: {told['text']}"


def describe_before(told: dict[str, Any], before: dict[str, Any] | None) -> str:
    """What the statement answers: the one before it on the same day, if people or agents talk."""
    if before is None or before["day"] != told["day"]:
        return ""
    if told["who"] not in _TALKERS or before["who"] not in _ANSWERED:
        return ""
    return f"(after {before['who']}: {before['text'][:_BEFORE_CHARACTERS]})"


def describe_later(told: Sequence[dict[str, Any]]) -> list[list[str]]:
    """For each statement the lines of later ones about the same thing, found as the engine finds them."""
    items = [_as_item(one, at) for at, one in enumerate(told)]
    nearness = Nearness(items[::-1])  # of two that are equally near, the later one comes first
    later = [[told[int(one.id)] for one in nearness.later_items(item)] for item in items]
    return [
        [f"(later, {_age(one)}, {one['who']}: {one['text'][:_LATER_CHARACTERS]}" for one in found]
        for found in later
    ]


def _as_item(told: dict[str, Any], at: int) -> Item:
    """A statement as an item whose id is its position; a second lies between two of the same day."""
    said = _DAY_OF_PROMPTS + timedelta(days=told["day"], seconds=at)
    return Item(told["text"], "lessons", id=str(at), created_at=said)


def _age(told: dict[str, Any]) -> str:
    days = -told["day"]
    return "today" if days == 0 else "yesterday" if days == 1 else f"{days} days ago"


def _tokens(tokenizer: Tokenizer, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False).ids)


def cut_prompt(tokens: list[int]) -> list[int]:
    """A long prompt by its two ends."""
    half = _PROMPT_TOKENS // 2
    return tokens if len(tokens) <= _PROMPT_TOKENS else tokens[:half] + tokens[-half:]


def _nearest(given: dict[str, Any], encoder: BundledEmbeddingProvider) -> list[list[int]]:
    """For each prompt the positions of the statements that are nearest to it by the bundled encoder."""
    statements = np.array(encoder.embed_batch([one["text"] for one in given["statements"]]))
    prompts = np.array([encoder.embed_query(one["text"]) for one in given["prompts"]])
    return [np.argsort(-row)[:_HARD].tolist() for row in (prompts @ statements.T).round(3)]


def find_related(given: dict[str, Any]) -> dict[tuple[int, int], int]:
    """The pairs of which the later statement replaces the earlier one, or says the same."""
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


# What is learnt from --------------------------------------------------------------------------------------


def make_pairs(
    histories: Sequence[History], easy: int | None, foreign: int, chance: random.Random
) -> list[Pair]:
    """Every prompt with what it needs, with what is hard, and with some that is easy to tell from it.

    `easy` is how many of the easy statements are taken (None: all), `foreign` how many of another history.
    """
    pairs: list[Pair] = []
    for history in histories:
        for prompt in history.prompts:
            for statement in _choose(history, prompt, easy, chance):
                answers = float(prompt.is_answered_by(statement.number))
                pairs.append(Pair(prompt, statement, answers, prompt.weight(statement.number)))
            other = chance.choice(histories)
            if other is not history:
                pairs += [Pair(prompt, one, 0.0, _NOISE) for one in chance.sample(other.statements, foreign)]
    return pairs


def _choose(history: History, prompt: Prompt, easy: int | None, chance: random.Random) -> list[Statement]:
    """The statements of its own history that a prompt is shown with."""
    labelled = prompt.needs | prompt.helps | prompt.outdated
    key = [one for one in history.statements if one.number in labelled]
    rest = [one for one in history.statements if one.number not in labelled]
    hard = [one for one in rest if one.number in prompt.hard]
    others = [one for one in rest if one.number not in prompt.hard]
    return key + hard + (others if easy is None else chance.sample(others, min(len(others), easy)))


def make_relations(
    histories: Sequence[History], chance: random.Random
) -> list[tuple[Statement, Statement, int]]:
    """Pairs of statements, the later first, with what the later is to the earlier."""
    made: list[tuple[Statement, Statement, int]] = []
    for history in histories:
        by_number = {one.number: one for one in history.statements}
        others = history.unrelated[:_NEAR_PAIRS]
        others += chance.sample(history.unrelated, min(len(history.unrelated), _OTHER_PAIRS))
        labelled = [*history.related.items(), *((pair, NEITHER) for pair in others)]
        made += [(by_number[a], by_number[b], what) for (a, b), what in labelled]
    return made


# Rows -----------------------------------------------------------------------------------------------------


def pair_row(prompt: Prompt, statement: Statement, *, before: bool = True, later: bool = True) -> Row:
    """A prompt and a statement, with or without what came before and after it."""
    context = (statement.before if before else []) + (statement.later if later else [])
    return _join(prompt.tokens, statement.line + context)


def relation_row(later: Statement, earlier: Statement) -> Row:
    """Two statements, to be asked whether one replaces the other."""
    return _join(later.line[:_COMPARED_TOKENS], earlier.line[:_COMPARED_TOKENS])


def type_row(statement: Statement) -> Row:
    """A statement alone, to be asked what it is."""
    line = statement.line[:_TYPED_TOKENS]
    return [_START, *line, _END], [0] * (len(line) + 2)


def _join(first: list[int], second: list[int]) -> Row:
    tokens = [_START, *first, _END, *second, _END]
    return tokens, [0] * (len(first) + 2) + [1] * (len(second) + 1)
