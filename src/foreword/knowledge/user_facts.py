"""What users say of themselves, and how they want to be answered, read from their own turns.

    I'm allergic to peanuts.            health, told whatever is asked
    Please answer in German.            language, a rule; the latest holds
    We moved to Lyon last week.         home; told where it matters, the latest holds

The cues are `user_cues.toml`. Questions, doubts, quotations and long pasted texts state nothing. Who said
what in which conversation is kept with every fact; whose facts may be told, the caller decides.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.knowledge.claims import doubtful_spans
from foreword.text.question import asks
from foreword.text.sentences import split_sentences
from foreword.text.words import content_words, split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from foreword.types import Item

_MAX_CHARACTERS_READ = 2_000
"""A longer turn is mostly pasted: what it says of an "I" need not be the user."""

_MAX_SENTENCE_CHARACTERS = 300
_LANGUAGES = ("en", "de", "fr", "es")
_APOSTROPHE = str.maketrans("’‘", "''")
_QUOTED = re.compile(r"""\s*(?:["“„«>]|```|['‘](?=\w[^'’]*['’]))""")
_POLITE_QUESTION = re.compile(r"\W*(?:can|could|would|will) you\b", re.IGNORECASE)
_QUESTION_END = re.compile(r"[?？؟][\"'”’»)\]]*\s*\Z")
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
    """A kind of fact: whether it is a rule for answers, always told, one at a time; and how it is said.

    `asked` are the cues of questions to which facts of the kind matter.
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
        """Whether it is told whatever is asked."""
        return self.kind.is_rule or self.kind.is_always_told


@dataclass(frozen=True, slots=True)
class StandingFact:
    """A fact that holds, and those that held before it, the latest last."""

    fact: UserFact
    before: tuple[UserFact, ...] = ()


def read_user_facts(item: Item) -> list[UserFact]:
    """What a turn says of the one who says it, sentence by sentence."""
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
    """The kind of a sentence, its topic, and whether it takes something back; None for no fact."""
    if len(sentence) > _MAX_SENTENCE_CHARACTERS or _QUOTED.match(sentence):
        return None
    plain = " ".join(sentence.translate(_APOSTROPHE).split())
    is_question = bool(_QUESTION_END.search(plain))
    if is_question and not _POLITE_QUESTION.match(plain):
        return None
    if not is_question and any(
        start == 0 or end - start > len(plain) // 2 for start, end in doubtful_spans(plain)
    ):
        return None
    revokes = _matches_any("revokes", plain)
    for kind in fact_kinds():
        match = next((match for cue in kind.cues if (match := cue.search(plain))), None)
        if match is None or (is_question and not kind.is_rule):
            continue
        if kind.name == "self" and not revokes and (_matches_any("passing", plain) or asks(plain)):
            return None
        return kind, (match.groupdict().get("topic") or "").lower(), revokes
    return None


def facts_that_hold(facts: Iterable[UserFact]) -> list[StandingFact]:
    """Of one user's facts those that hold, in the order they were said, each with what it replaced.

    Of a kind of which there is one at a time, the latest holds; of what is always told, the latest of those
    that speak of the same. What only says again what holds is not told twice.
    """
    held: list[StandingFact] = []
    for fact in sorted(facts, key=lambda one: one.said_at):
        replaced = [one for one in held if _replaces(fact, one.fact)]
        held = [one for one in held if one not in replaced]
        if fact.revokes:
            continue
        before = [older for one in replaced for older in (*one.before, one.fact)]
        said = split_words(fact.text)
        held.append(StandingFact(fact, tuple(one for one in before if split_words(one.text) != said)))
    return held


def _replaces(newer: UserFact, older: UserFact) -> bool:
    if newer.revokes:
        return bool(_words(newer) & _words(older)) or _shares_kind_word(newer, older)
    if newer.kind.name != older.kind.name or newer.topic != older.topic:
        return False
    if newer.kind.is_single or _words(newer) == _words(older):
        return True
    return newer.is_standing and bool(_words(newer) & _words(older))


def _shares_kind_word(newer: UserFact, older: UserFact) -> bool:
    """Whether both use a word that says what the fact is: "forget that I'm vegan"."""
    shared = set(content_words(newer.text)) & set(content_words(older.text))
    return newer.kind.name == older.kind.name and bool(shared)


def _words(fact: UserFact) -> frozenset[str]:
    """The words that make a fact this one and no other of its kind."""
    return frozenset(_stem(word) for word in content_words(fact.text)) - _GENERIC


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def speaks_of_self(text: str) -> bool:
    """Whether a text says something of the one who says it."""
    return any(_read_sentence(sentence.strip()) for sentence in split_sentences(text[:_MAX_CHARACTERS_READ]))


@cache
def fact_kinds() -> tuple[FactKind, ...]:
    """The kinds of the table, in the order in which they are tried."""
    return tuple(
        FactKind(
            kind["name"],
            kind.get("rule", False),
            kind.get("always", False),
            kind.get("single", False),
            tuple(re.compile(cue, re.IGNORECASE) for one in _LANGUAGES for cue in kind.get(one, ())),
            tuple(re.compile(cue, re.IGNORECASE) for cue in kind.get("asked", ())),
        )
        for kind in _table()["kind"]
    )


def _matches_any(name: str, plain: str) -> bool:
    return any(cue.search(plain) for cue in _word_cues(name))


@cache
def _word_cues(name: str) -> Sequence[re.Pattern[str]]:
    return tuple(re.compile(cue, re.IGNORECASE) for cue in _table()["words"][name])


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("user_cues.toml").read_text(encoding="utf-8"))
