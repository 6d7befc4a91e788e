"""What users say of themselves, and how they want to be answered, read from their own turns.

    I'm allergic to peanuts.            health, told whatever is asked
    Please answer in German.            language, a rule; the latest holds
    We moved to Lyon last week.         home; told where it matters, the latest holds

The cues are `user_cues.toml`. Questions, doubts, quotations and long pasted texts state nothing. Every
fact has its conversation and its time; the caller decides whose facts may be shown.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.knowledge.claims import doubtful_spans
from foreword.text.clean import plain_line
from foreword.text.question import asks
from foreword.text.sentences import split_sentences
from foreword.text.statements import QUESTION_END
from foreword.text.words import content_words, split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from foreword.types import Item

_MAX_CHARACTERS_READ = 2_000
"""A longer turn is mostly pasted text, in which "I" need not be the user."""

_MAX_SENTENCE_CHARACTERS = 300
_LANGUAGES = ("en", "de", "fr", "es")
_QUOTED = re.compile(r"""\s*(?:["“„«>]|```|['‘](?=\w[^'’]*['’]))""")
_POLITE_QUESTION = re.compile(r"\W*(?:can|could|would|will) you\b", re.IGNORECASE)
_GENERIC = frozenset(
    {
        "allergic",
        "allergy",
        "allergies",
        "eat",
        "drink",
        "answer",
        "answers",
        "reply",
        "prefer",
        "use",
        "using",
    }
    | {"please", "really", "anymore", "longer", "actually", "diet", "have", "like", "love", "hate"}
)
"""Words that all facts of a kind may have."""


@dataclass(frozen=True, slots=True)
class FactKind:
    """A kind of fact, and the cues by which it is recognised.

    `is_rule`: it says how to answer. `is_always_told`: it is shown whatever is asked. `is_single`: one fact
    of the kind holds at a time. `asked` are the cues of questions for which such facts matter.
    """

    name: str
    is_rule: bool
    is_always_told: bool
    is_single: bool
    cues: tuple[re.Pattern[str], ...]
    asked: tuple[re.Pattern[str], ...] = ()

    def is_asked_for(self, query: str) -> bool:
        """Whether the words of a question say that facts of this kind matter to it."""
        return any(cue.search(query) for cue in self.asked)


@dataclass(frozen=True, slots=True)
class UserFact:
    """One sentence in which a user says something of themselves.

    `topic` is what facts of a single kind have in common. `revokes` is true of "forget that I am vegan".
    """

    text: str
    kind: FactKind
    topic: str
    item_id: str
    conversation: str
    said_at: datetime
    revokes: bool = False

    @property
    def is_standing(self) -> bool:
        """Whether it is shown whatever is asked."""
        return self.kind.is_rule or self.kind.is_always_told


@dataclass(frozen=True, slots=True)
class StandingFact:
    """A fact that holds, and those that held before it, the latest last."""

    fact: UserFact
    before: tuple[UserFact, ...] = ()


def read_user_facts(item: Item) -> list[UserFact]:
    """The facts that a turn states about its speaker, one for each sentence that states one."""
    text = item.text
    if len(text) > _MAX_CHARACTERS_READ:
        return []
    facts = []
    for sentence in split_sentences(text):
        found = _read_sentence(sentence.strip())
        if found is not None:
            kind, topic, revokes = found
            place = item.id, item.conversation or "", item.created_at
            facts.append(UserFact(sentence.strip(), kind, topic, *place, revokes))
    return facts


def _read_sentence(sentence: str) -> tuple[FactKind, str, bool] | None:
    """The kind and topic of the fact in a sentence, and whether it is revoked; None for no fact."""
    if len(sentence) > _MAX_SENTENCE_CHARACTERS or _QUOTED.match(sentence):
        return None
    plain = plain_line(sentence)
    is_question = bool(QUESTION_END.search(plain))
    if is_question and not _POLITE_QUESTION.match(plain):
        return None
    if not is_question and any(
        start == 0 or end - start > len(plain) // 2 for start, end in doubtful_spans(plain)
    ):
        return None
    revokes = _matches_cue("revokes", plain)
    for kind in fact_kinds():
        match = next((match for cue in kind.cues if (match := cue.search(plain))), None)
        if match is None or (is_question and not kind.is_rule):
            continue
        if kind.name == "self" and not revokes and (_matches_cue("passing", plain) or asks(plain)):
            return None
        return kind, (match.groupdict().get("topic") or "").lower(), revokes
    return None


def facts_that_hold(facts: Iterable[UserFact]) -> list[StandingFact]:
    """Those of one user's facts that hold, in the order they were said, each with what it replaced.

    Of a single kind the latest holds; of facts that are always shown, the latest of those that speak of the
    same. A fact that only repeats another replaces it.
    """
    standing: list[StandingFact] = []
    for fact in sorted(facts, key=lambda one: one.said_at):
        replaced = [one for one in standing if _replaces_fact(fact, one.fact)]
        standing = [one for one in standing if one not in replaced]
        if fact.revokes:
            continue
        before = [older for one in replaced for older in (*one.before, one.fact)]
        said = split_words(fact.text)
        standing.append(StandingFact(fact, tuple(one for one in before if split_words(one.text) != said)))
    return standing


def _replaces_fact(newer: UserFact, older: UserFact) -> bool:
    """Whether a newer fact revokes an older one, or takes its place."""
    if newer.revokes:
        return bool(_distinctive_words(newer) & _distinctive_words(older)) or _shares_kind_word(newer, older)
    if newer.kind.name != older.kind.name or newer.topic != older.topic:
        return False
    if newer.kind.is_single or _distinctive_words(newer) == _distinctive_words(older):
        return True
    return newer.is_standing and bool(_distinctive_words(newer) & _distinctive_words(older))


def _shares_kind_word(newer: UserFact, older: UserFact) -> bool:
    """Whether two facts of a kind share any content word: "forget that I'm vegan"."""
    shared = set(content_words(newer.text)) & set(content_words(older.text))
    return newer.kind.name == older.kind.name and bool(shared)


def _distinctive_words(fact: UserFact) -> frozenset[str]:
    """The words that distinguish a fact from others of its kind."""
    return frozenset(_drop_plural_s(word) for word in content_words(fact.text)) - _GENERIC


def _drop_plural_s(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def speaks_of_self(text: str) -> bool:
    """Whether a text states a fact about its speaker."""
    return any(_read_sentence(sentence.strip()) for sentence in split_sentences(text[:_MAX_CHARACTERS_READ]))


@cache
def fact_kinds() -> tuple[FactKind, ...]:
    """The kinds of facts in `user_cues.toml`, in the order in which they are tried."""
    return tuple(
        FactKind(
            kind["name"],
            kind.get("rule", False),
            kind.get("always", False),
            kind.get("single", False),
            tuple(re.compile(cue, re.IGNORECASE) for one in _LANGUAGES for cue in kind.get(one, ())),
            tuple(re.compile(cue, re.IGNORECASE) for cue in kind.get("asked", ())),
        )
        for kind in _read_cues()["kind"]
    )


def _matches_cue(name: str, plain: str) -> bool:
    """Whether a sentence matches a cue of the list with this name."""
    return any(cue.search(plain) for cue in _word_cues(name))


@cache
def _word_cues(name: str) -> Sequence[re.Pattern[str]]:
    return tuple(re.compile(cue, re.IGNORECASE) for cue in _read_cues()["words"][name])


@cache
def _read_cues() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("user_cues.toml").read_text(encoding="utf-8"))
