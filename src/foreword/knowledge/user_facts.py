"""What users say of themselves, and how they want to be answered, read from their own turns.

    I'm allergic to peanuts.            health, told whatever is asked
    Please answer in German.            language, a rule; the latest holds
    We moved to Lyon last week.         home; told where it matters, the latest holds

    I stopped being vegan.              told in place of what it ends

The cues are `user_cues.toml`. Questions, doubts, others' words (`others_words.py`) and long pasted texts
state nothing, and a wish for one answer is no rule. Every fact has its conversation and its time; the caller
decides whose facts may be shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from foreword.knowledge.claims import KIN, find_spans_that_assert_nothing
from foreword.knowledge.others_words import hide_others_words
from foreword.knowledge.progress_cues import task_words
from foreword.knowledge.user_cues import compile_cues, cue_patterns, fact_kind_tables, find_cue, matches_cue
from foreword.text.clean import plain_line
from foreword.text.question import asks_or_requests
from foreword.text.sentences import sentence_spans
from foreword.text.statements import QUESTION_END
from foreword.text.words import STOPWORDS, content_words, split_words

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

_CLAUSE_END = re.compile(
    r"[,;:–—]|\b(?:because|since|after|when|while|so|but|and|due to|thanks to|weil|und|car|y)\b"
)
_MAX_BY_VERB = 3
_MIN_SHARE_ENDED = 0.5
"""What ends something names it by more than this share of its words: "I no longer drive to IBM" does not."""

_PERSON = re.compile(
    rf"\b(?:my|our) (?:\w+ )?(?:{KIN}|child|children|kids?|partner|parents|baby|twins)\b", re.IGNORECASE
)
_PRONOUN = re.compile(r"(?:(?:and|but|also) )?(?:he|she|they|both)\b", re.IGNORECASE)


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

    `topic` is what facts of a single kind have in common. `revokes` is true of "forget that I am vegan",
    `ends` of "I stopped being vegan". `replaces` are facts that it replaces, whatever their words.
    """

    text: str
    kind: FactKind
    topic: str
    item_id: str
    conversation: str
    said_at: datetime
    revokes: bool = False
    ends: bool = False
    replaces: tuple[UserFact, ...] = ()

    @property
    def is_always_shown(self) -> bool:
        """Whether it is shown whatever is asked."""
        return self.kind.is_rule or self.kind.is_always_told


@dataclass(frozen=True, slots=True)
class StandingFact:
    """A fact that holds, and those that held before it, the latest last."""

    fact: UserFact
    before: tuple[UserFact, ...] = ()


class _StatedFact(NamedTuple):
    """What a sentence states of its speaker, with the names that `UserFact` has for it."""

    kind: FactKind
    topic: str
    revokes: bool
    ends: bool


def read_user_facts(item: Item) -> list[UserFact]:
    """The facts that a turn states about its speaker, one for each sentence that states one.

    A sentence that goes on about somebody in a fact belongs to it: "Anna is my neighbour. She paints." What
    is wished of a text that was asked for just before is no rule: "Write a letter. Keep it short."
    """
    facts: list[UserFact] = []
    can_go_on = has_request = False
    for sentence, own in _sentences_with_own_words(item.text):
        found = _read_fact_in_sentence(own)
        if can_go_on and _tells_more_of_person(facts[-1], own, found):
            facts[-1] = _append_sentence_to_fact(facts[-1], sentence, own)
            continue
        if found is not None and found.kind.is_rule and has_request and _is_wish_for_previous_request(own):
            found = None
        can_go_on = found is not None and not found.kind.is_rule
        has_request = has_request or matches_cue("one_off", plain_line(own))
        if found is not None:
            place = item.id, item.conversation or "", item.created_at
            facts.append(UserFact(sentence, found.kind, found.topic, *place, found.revokes, found.ends))
    return facts


def _sentences_with_own_words(text: str) -> list[tuple[str, str]]:
    """The sentences of a turn, each as it was said and without others' words; none of a pasted text."""
    if len(text) > _MAX_CHARACTERS_READ:
        return []
    own = hide_others_words(text)
    return [(text[start:end], own[start:end]) for start, end in sentence_spans(own)]


def _read_fact_in_sentence(sentence: str) -> _StatedFact | None:
    """What a sentence states of its speaker; None if it states nothing."""
    if len(sentence) > _MAX_SENTENCE_CHARACTERS or _QUOTED.match(sentence):
        return None
    plain = plain_line(sentence)
    is_question = bool(QUESTION_END.search(plain))
    if is_question and not _POLITE_QUESTION.match(plain):
        return None
    if not is_question and _is_doubtful(plain):
        return None
    revokes = matches_cue("revokes", plain)
    for kind in fact_kinds():
        match = next((match for cue in kind.cues if (match := cue.search(plain))), None)
        if (
            match is None
            or (is_question and not kind.is_rule)
            or (kind.is_rule and _is_wish_for_one_answer(plain))
        ):
            continue
        if kind.name == "self" and not revokes and (matches_cue("passing", plain) or asks_or_requests(plain)):
            return None
        return _StatedFact(kind, _topic_of(match), revokes, not kind.is_rule and matches_cue("ends", plain))
    return None


def _is_doubtful(plain: str) -> bool:
    """Whether a sentence begins with a doubt, or is one for the most part."""
    return any(
        start == 0 or end - start > len(plain) // 2 for start, end in find_spans_that_assert_nothing(plain)
    )


def _is_wish_for_one_answer(plain: str) -> bool:
    """Whether a wish is for one answer: "explain DNS in simple words", not "explain things" so."""
    return matches_cue("one_off", plain) and not matches_cue("lasting", plain)


def _is_wish_for_previous_request(own: str) -> bool:
    """Whether a wish is for what was asked for just before: "keep it short", not "always keep it short"."""
    plain = plain_line(own)
    return matches_cue("points_back", plain) and not matches_cue("lasting", plain)


def _topic_of(match: re.Match[str]) -> str:
    """The topic that a cue found: the words of its group `topic`, or the name of its other group."""
    found = {name: words for name, words in match.groupdict().items() if words}
    return found["topic"].lower() if "topic" in found else next(iter(found), "")


def _tells_more_of_person(fact: UserFact, own: str, found: _StatedFact | None) -> bool:
    """Whether a sentence only tells more of somebody in a fact, whom it names by a pronoun or again."""
    plain = plain_line(own)
    if len(plain) > _MAX_SENTENCE_CHARACTERS or QUESTION_END.search(plain):
        return False
    if found is not None and found.kind.name != "self":
        return False
    return matches_cue("goes_on", plain) or _leading_name(plain) in plain_line(fact.text).rstrip(".!").split()


def _leading_name(plain: str) -> str:
    """The first word of a sentence if it may be a name; else ""."""
    first = plain.split(maxsplit=1)[0].removesuffix("'s")
    return first if first[0].isupper() and first.isalpha() and first.lower() not in STOPWORDS else ""


def _append_sentence_to_fact(fact: UserFact, sentence: str, own: str) -> UserFact:
    """The fact with a sentence that goes on about its person; always told if that sentence has to be."""
    person = _PERSON.search(plain_line(fact.text))
    named = _PRONOUN.sub(person.group(), plain_line(own), count=1) if person else ""
    found = _read_fact_in_sentence(named) if named else None
    kind = found.kind if found is not None and found.kind.is_always_told else fact.kind
    return replace(fact, text=f"{fact.text} {sentence}", kind=kind)


def facts_that_hold(facts: Iterable[UserFact]) -> list[StandingFact]:
    """Those of one user's facts that hold, in the order they were said, each with what it replaced.

    Of a single kind the latest holds; of facts that are always shown, the latest of those that speak of the
    same. A fact that only repeats another replaces it. What ends a fact is told where that would have been.
    """
    standing: list[StandingFact] = []
    for said_fact in sorted(facts, key=lambda one: one.said_at):
        fact = said_fact
        replaced = [one for one in standing if _replaces_fact(fact, one.fact)]
        standing = [one for one in standing if one not in replaced]
        if fact.revokes:
            continue
        if fact.ends and replaced and fact.kind.name == "self":
            fact = replace(fact, kind=replaced[-1].fact.kind, topic=replaced[-1].fact.topic)
        before = [older for one in replaced for older in (*one.before, one.fact)]
        said = split_words(fact.text)
        standing.append(StandingFact(fact, tuple(one for one in before if split_words(one.text) != said)))
    return standing


def _replaces_fact(newer: UserFact, older: UserFact) -> bool:
    """Whether a newer fact revokes an older one, or takes its place."""
    if newer.revokes:
        return bool(_distinctive_words(newer) & _distinctive_words(older)) or _share_kind_and_word(
            newer, older
        )
    if (older.item_id, older.text) in {(one.item_id, one.text) for one in newer.replaces}:
        return True
    if newer.ends and _says_fact_ended(newer, older):
        return True
    if newer.kind.name != older.kind.name or newer.topic != older.topic:
        return False
    if newer.kind.is_single or newer.topic or _distinctive_words(newer) == _distinctive_words(older):
        return True
    return newer.is_always_shown and bool(_distinctive_words(newer) & _distinctive_words(older))


def _says_fact_ended(newer: UserFact, older: UserFact) -> bool:
    """Whether a newer fact, which says that something ended, means an older one: by words, or by its kind."""
    if newer.kind.is_single and newer.kind.name == older.kind.name:
        return True
    ended = _stems_that_name_subject(_clause_that_says_ended(plain_line(newer.text)))
    return len(ended & _stems_that_name_subject(older.text)) > _MIN_SHARE_ENDED * len(ended)


def _clause_that_says_ended(plain: str) -> str:
    """The clause of a sentence that says that something ended, without its reasons."""
    match = find_cue("ends", plain)
    if match is None:
        return plain
    starts = [end.end() for end in _CLAUSE_END.finditer(plain, 0, match.start())]
    following = _CLAUSE_END.search(plain, match.end())
    return plain[starts[-1] if starts else 0 : following.start() if following else len(plain)]


def _stems_that_name_subject(text: str) -> frozenset[str]:
    """The stems of a text's words, without those that any end of anything may have."""
    return task_words(
        " ".join(word for word in content_words(text) if not matches_cue("ends_of_anything", word))
    )


def _share_kind_and_word(newer: UserFact, older: UserFact) -> bool:
    """Whether two facts of a kind share any content word: "forget that I'm vegan"."""
    shared = set(content_words(newer.text)) & set(content_words(older.text))
    return newer.kind.name == older.kind.name and bool(shared)


def _distinctive_words(fact: UserFact) -> frozenset[str]:
    """The words that distinguish a fact from others of its kind."""
    return frozenset(_drop_plural_s(word) for word in content_words(fact.text)) - _GENERIC


def _drop_plural_s(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def find_facts_with_verb_of_question(query: str, facts: Sequence[StandingFact]) -> list[StandingFact]:
    """The facts with the verb of a question about oneself, three at most.

    "Which chat tool do we use?" often shares only its verb with what answers it; "how do I use it?" asks for
    advice, and gets none. Facts with more words of the question come first, then the latest.
    """
    verbs = _verbs_of_question(query)
    asked = task_words(query)
    answers = [one for one in facts if verbs & task_words(one.fact.text)]
    answers.sort(key=lambda one: (len(asked & task_words(one.fact.text)), one.fact.said_at), reverse=True)
    return answers[:_MAX_BY_VERB]


def _verbs_of_question(query: str) -> frozenset[str]:
    """The stems of the verbs of the questions about oneself, without those that fit everything."""
    matches = (match for cue in cue_patterns("asks_of_self") for match in cue.finditer(plain_line(query)))
    verbs = {(match.groupdict().get("verb") or "").lower() for match in matches}
    said = (verb for verb in verbs if content_words(verb) and not matches_cue("says_nothing_alone", verb))
    return frozenset(stem for verb in said for stem in task_words(verb))


def speaks_of_self(text: str) -> bool:
    """Whether a text states a fact about its speaker."""
    return any(
        _read_fact_in_sentence(own) for _, own in _sentences_with_own_words(text[:_MAX_CHARACTERS_READ])
    )


@cache
def fact_kinds() -> tuple[FactKind, ...]:
    """The kinds of facts in `user_cues.toml`, in the order in which they are tried."""
    return tuple(
        FactKind(
            kind["name"],
            kind.get("rule", False),
            kind.get("always", False),
            kind.get("single", False),
            compile_cues(cue for one in _LANGUAGES for cue in kind.get(one, ())),
            compile_cues(kind.get("asked", ())),
        )
        for kind in fact_kind_tables()
    )
