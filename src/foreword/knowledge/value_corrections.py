"""Values that a speaker corrects: "Sorry, I meant Lyon", "it's Lyon, not Paris", "no wait, 555-0101".

Such a turn names a value and leaves out whose it is. It corrects the claim whose value was named last before
it, if the two values are of one kind, as two places are. A bare "no" or "actually" may as
well answer somebody's question, so after a question it corrects nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.knowledge.claims import DEPARTMENTS, EMAIL, PHONE, ROLE
from foreword.text.words import fold_case

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from foreword.knowledge.claims import MentionLike

_FLAGS = re.VERBOSE | re.IGNORECASE
_OPENS = r"(?:\A|(?<=[.!?;:,(\n—–-])|(?<=[.!?;:,(—–-]\ ))"
_STRONG = (
    r"sorry|apologies|oops|whoops|my\ (?:mistake|bad)|pardon|correction|typo|scratch\ that|i\ (?:mean|meant)"
    r"|i\ should\ have\ said|make\ (?:that|it)|i\ misspoke"
)
_WEAK = r"no|nope|wait|hold\ on|hang\ on|actually|rather|or\ rather|well|oh|ah|i\ mean"
_LEADS_TO_VALUE = (
    r"(?:(?:it|that|this)(?:['’]s|\ is|\ was|\ should\ (?:be|have\ been))\ )?"
    r"(?:(?:the|in|at|on|to|from|for|with)\ )*"
)
_MARK = re.compile(
    rf"{_OPENS}(?:(?:(?P<strong>{_STRONG})|{_WEAK})\b[\s,.:;!…—–-]*)+{_LEADS_TO_VALUE}", _FLAGS
)
_NOT_OLD_BUT = re.compile(
    rf"{_OPENS}(?:(?:{_STRONG}|{_WEAK})\b[\s,.:;!…—–-]*)*(?:(?:it|that)(?:['’]s|\ is)\ )?not\ (?:in\ |at\ )?"
    r"(?P<old>[^.,;!?\n]{1,40}?)(?:,|\ but|,\ but)\ (?:in\ |at\ )?",
    _FLAGS,
)
_PLAIN_START = re.compile(rf"{_OPENS}\s*{_LEADS_TO_VALUE}", _FLAGS)
_TAIL = re.compile(
    r"(?:,?\ (?:and\ )?(?:not|instead\ of|rather\ than)\ (?:in\ |at\ )?(?P<old>[^.,;!?\n]{1,40}))?"
    r"(?:,?\ (?:(?P<mark>sorry|i\ mean|i\ meant)|of\ course|obviously|instead|please|actually))?"
    r"\s*(?=[.,;!?)\n—–]|$)",
    _FLAGS,
)
_VALUE_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("email", re.compile(EMAIL, _FLAGS)),
    ("phone", re.compile(PHONE, _FLAGS)),
    ("title", re.compile(ROLE, _FLAGS)),
    ("department", re.compile(DEPARTMENTS, _FLAGS)),
)
_WORDS = re.compile(r"[^\W_][\w'’-]*(?:\ [^\W_][\w'’-]*){0,3}?(?=,?\ (?:not|instead)\b|[.,;!?)\n]|$)", _FLAGS)
_KINDS = {"email": "email", "phone": "phone", "title": "title", "department": "department"}
_NAMED_KINDS = {"location": "place", "birthday": "date", "works at": "organisation", "lives in": "place"}
_MAX_CORRECTION_CHARACTERS = 80
_STARTS_SENTENCE = re.compile(
    r"(?:i|i['’]m|we|it|that|this|you|he|she|they|there|but|for|about|wrong|never|no|yes|can|could|did)\b",
    _FLAGS,
)
ANY_KIND = "words"
"""The kind of a value that is plain words: a colour, a number, an age."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A value that replaces one stated before.

    `mention` is the number of the mention that it is, if it is one; `old` is the value that is taken back, if
    it is named. `is_sure` is false if the words may as well answer a question.
    """

    value: str
    kind: str
    start: int
    mention: int | None = None
    old: str = ""
    is_sure: bool = True


@dataclass(frozen=True, slots=True)
class StoredClaim:
    """A claim that a speaker made in a turn: the attribute or relation of an entity, and its value.

    `target` is the id of the entity that is the value, where it is one.
    """

    speaker: str
    turn: int
    entity_id: str
    name: str
    value: str
    target: str = ""

    def accepts_value_of_kind(self, kind: str) -> bool:
        """Whether a value of this kind can replace the claim's."""
        own = _KINDS.get(self.name) or _NAMED_KINDS.get(self.name)
        if kind == "thing":  # a name that no list knows may be anything that has a name
            return bool(self.target)
        return own == kind or (own is None and (kind == ANY_KIND) != bool(self.target))


def read_corrections(text: str, mentions: Sequence[MentionLike]) -> Iterator[Correction]:
    """The corrections in a text, in order, each value once; `mentions` are in order."""
    seen: set[int] = set()
    starts = [(match.end(), "", bool(match["strong"]), True) for match in _MARK.finditer(text)]
    starts += [(match.end(), match["old"], True, True) for match in _NOT_OLD_BUT.finditer(text)]
    starts += [(match.end(), "", True, False) for match in _PLAIN_START.finditer(text)]
    for at, old, is_sure, is_marked in starts:
        for start, end, kind, number in _iterate_possible_values_at(text, at, mentions):
            tail = _TAIL.match(text, end)
            old_value = (old or (tail["old"] if tail else "") or "").strip()
            if tail is None or start in seen or not (is_marked or old_value or tail["mark"]):
                continue
            seen.add(start)
            yield Correction(text[start:end], kind, start, number, old_value, is_sure or bool(old_value))
            break


def is_correction(text: str) -> bool:
    """Whether a text does nothing but take back a value that was said before: "Sorry, I meant Lyon"."""
    mark = _MARK.match(text.strip()) or _NOT_OLD_BUT.match(text.strip()) or _PLAIN_START.match(text.strip())
    if mark is None or len(text) > _MAX_CORRECTION_CHARACTERS:
        return False
    is_marked = bool(mark.groupdict().get("strong") or mark.groupdict().get("old"))
    return any(
        (is_marked or one.old) and not _STARTS_SENTENCE.match(one.value)
        for one in read_corrections(text.strip(), ())
    )


def _iterate_possible_values_at(
    text: str, at: int, mentions: Sequence[MentionLike]
) -> Iterator[tuple[int, int, str, int | None]]:
    """The possible values at a place: start, end, kind, and the number of the mention, if it is one."""
    for kind, shape in _VALUE_SHAPES:
        if match := shape.match(text, at):
            yield match.start(), match.end(), kind, None
    for number, mention in enumerate(mentions):
        if mention.start == at and mention.entity_type != "email":
            is_unlisted = mention.entity_type == "person" and not mention.attributes.get("gender")
            yield mention.start, mention.end, "thing" if is_unlisted else mention.entity_type, number
    if match := _WORDS.match(text, at):
        yield match.start(), match.end(), ANY_KIND, None


def find_corrected_claim(
    correction: Correction,
    claims: Sequence[StoredClaim],
    speaker: str,
    *,
    since: int,
    asked_in: int,
    last_named: Collection[str],
) -> StoredClaim | None:
    """The claim that a correction by this speaker is about; None where that is not plain.

    `claims` are the latest, in the order they were made; `since` is the turn in which the speaker spoke last,
    `asked_in` the last one in which somebody else asked; `last_named` are the entities that were named last
    of their kind. An older claim is corrected only if the correction names the wrong value.
    """
    fitting = [one for one in claims if one.speaker == speaker and one.accepts_value_of_kind(correction.kind)]
    if correction.old:
        wanted = fold_case(correction.old)
        return next((one for one in reversed(fitting) if fold_case(one.value) == wanted), None)
    fitting = [one for one in fitting if one.turn >= since]
    if correction.mention is not None:
        fitting = [one for one in fitting if not one.target or one.target in last_named]
    if not correction.is_sure:
        fitting = [one for one in fitting if one.turn >= asked_in]
    return fitting[-1] if fitting else None
