"""What can be told of a turn by its looks: its words, whether it asks, offers, points back or merely replies.

Pure and quick, and English: of another language it sees words and question marks. Knows nothing of meaning; a
vector is carried along for those who do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.text.words import STOPWORDS, words

if TYPE_CHECKING:
    from collections.abc import Sequence

_READ = 2000
"""Characters read for words, at either end of a long text."""

_HEARD = 300
"""Characters read for questions and orders, at either end: in the middle of a page they are quoted."""

_ROOT = 5
"""Two words are the same when they begin alike: book, booked, bookings."""

_BRIEF = 2
"""With so few telling words, whoever says "it" speaks of what was said before."""


def _set(written: str) -> frozenset[str]:
    return frozenset(written.split())


_LEANING = _set("it its that this they them those these he she him her his their one ones there")
_REPLYING = _set("yes yeah yep yup no nope ok okay sure thanks thank please and or but because alright right")
_ACKNOWLEDGING = _REPLYING | _set(
    "great perfect good nice cool wow lol haha ha oh ah hmm fine awesome excellent exactly correct true "
    "agreed sounds looks works done lgtm go ahead continue proceed carry keep going next again retry "
    "welcome bye goodbye hi hello hey"
)
_FINISHING = _set(
    "commit push pull request requests pr merge rebase revert undo redo diff test tests suite lint linter "
    "format build run rerun deploy ship save open create make message branch changes"
)
"""What is ordered of the work at hand, whatever it is: run the tests, open a pull request."""

_OPENING = _REPLYING | _set("so oh well now then also hi hello hey great good you next first")
"""What may stand before the word that asks."""

_ASKING = _set(
    "what how why where when who which add build change check clean compare create debug delete describe "
    "document draft drop explain find fix generate give help implement improve install investigate list look "
    "make merge move open optimise optimize plan pull push read refactor remove rename replace review revert "
    "run search set show start stop summarise summarize tell test translate try update upgrade use write"
)
_REQUEST = re.compile(
    r"\b(?:i (?:need|want|wanna|would like|d like|am looking|m looking|am trying|m trying|have to)|"
    r"(?:im )?looking for|(?:can|could|would|will) (?:you|i|we)|please|let s|"
    r"(?:give|show|tell|help|find|get|send) (?:me|us))\b"
)
_QUESTION_MARK = re.compile(r"[?？](?![\w=&/])")
_OFFER = re.compile(
    r"\belse\b|\b(?:be|is) all\b|\bfurther\b|\bother (?:questions|help|assistance)\b|\bmore help\b|"
    r"\blet me know\b"
)


@dataclass(frozen=True, slots=True)
class Said:
    """One turn by its looks.

    `roots` are its telling words, shortened; `length` counts all of its words. It may ask or order something
    (`asks`), offer to go on with anything (`offers`), point back or open like a reply (`leans`), or reply and
    nothing else (`replies`). `own` is what the one who prompts said earlier.
    """

    roots: frozenset[str]
    length: int
    asks: bool = False
    offers: bool = False
    leans: bool = False
    replies: bool = False
    own: bool = False
    vector: Sequence[float] = ()


def said(text: str, vector: Sequence[float] = (), *, own: bool = False) -> Said:
    """A turn by its looks; of a long text, those of its beginning and its end."""
    every, ends = words(_ends(text, _READ)), _ends(text, _HEARD)
    heard = words(ends)
    plain = " ".join(heard)
    return Said(
        roots=frozenset(word[:_ROOT] for word in every if word not in STOPWORDS),
        length=len(every),
        asks=bool(_QUESTION_MARK.search(ends) or _REQUEST.search(plain)) or _first(heard) in _ASKING,
        offers=bool(_OFFER.search(plain)),
        leans=not _LEANING.isdisjoint(heard) or not _REPLYING.isdisjoint(heard[:1]),
        replies=_only_replies(every),
        own=own,
        vector=vector,
    )


def _ends(text: str, each: int) -> str:
    return text if len(text) <= 2 * each else f"{text[:each]}\n{text[-each:]}"


def _first(spoken: Sequence[str]) -> str:
    """The first word that is no mere opening."""
    return next((word for word in spoken if word not in _OPENING), "")


def _only_replies(spoken: Sequence[str]) -> bool:
    """Whether a turn brings no subject: it acknowledges or finishes, or says little and points back."""
    brought = set(spoken) - STOPWORDS - _ACKNOWLEDGING - _FINISHING
    return not brought or (len(brought) <= _BRIEF and not _LEANING.isdisjoint(spoken))
