"""Whether the reply to a question answers it, by the wording and form of the two.

An answer seldom repeats the words of its question: "When does the shop open?" – "At nine." An assistant that
replies answers, unless it says that it does not know, puts the answer off, or only takes note. A person may
speak of something else, so a person's reply must begin like an answer or have what is asked for.
"""

from __future__ import annotations

import re
from functools import lru_cache

_MAX_CACHED_PAIRS = 8_192
_MAX_FRAGMENT_WORDS = 6
_FLAGS = re.IGNORECASE | re.VERBOSE

_PUTS_OFF = re.compile(
    r"""\b(?: (?:don['’]?t|do\ not|doesn['’]?t|didn['’]?t)\ (?:yet\ )?(?:know|remember|recall)
      | (?:i|we)\ (?:can['’]?t|cannot|can\ not)\ (?:say|tell|see|find|answer)
      | no\ (?:idea|clue|information) | not\ (?:sure|certain|clear|known|yet|decided|been\ decided)
      | (?:un|in)decided | unclear | unknown | unsure | remains?\ (?:open|to\ be) | still\ open
      | to\ be\ decided
      | (?:let\ me|i['’]?ll|i\ will|we['’]?ll|we\ will|i['’]?d|i\ would|going|need|have)
        \ (?:have\ |need\ |to\ )*
        (?:check|ask|look|find\ out|see|think|get\ back|come\ back|confirm|clarify|know)
      | get\ back\ to\ you | good\ question | (?:you|nobody|no\ one)\ (?:have|has|did)(?:\ not|n['’]t)
      | depends\ on | could\ you\ (?:clarify|tell) | more\ (?:details|information|context)
      | wei(?:ß|ss)\ (?:ich\ |es\ )?nicht | keine\ ahnung | noch\ (?:offen|nicht) | unklar
      | (?:ne\ )?sais\ pas | aucune\ idée | pas\ encore | no\ (?:lo\ )?s[eé]\b | ni\ idea | todavía\ no )""",
    _FLAGS,
)
_TAKES_NOTE = re.compile(
    r"""(?: noted | ok(?:ay)? | got\ it | understood | thanks? (?:\ you)? | sure | alright | right | i\ see
      | fine | all\ right | good | great | hm+ | interesting | will\ do | notiert | verstanden | danke | merci
      | gracias )\b [^.!?]{0,40} [.!…\s]*""",
    _FLAGS,
)
_BEGINS_LIKE_ANSWER = re.compile(
    r"""\W*(?: yes | yeah | yep | yup | no | nope | nah | of\ course | certainly | definitely | absolutely
      | sure | because | maybe | probably | ja | nein | doch | oui | non | si | sí | por\ supuesto )\b""",
    _FLAGS,
)
_ASKS_WHO_OR_WHERE = re.compile(r"\b(?:who|whom|whose|where|which|what)\b", re.IGNORECASE)
_ASKS_WHEN_OR_HOW_MUCH = re.compile(r"\b(?:when|what\ time|how\ (?:much|many|long|often|old|far))\b", _FLAGS)
_NAME = re.compile(
    r"(?<=[\w,;:] )(?!I\b)[A-Z][\w'’-]+|^(?:It['’]s |That['’]s )?[A-Z][\w'’-]+(?= [A-Z]|[.!]|$)"
)
_AMOUNT_OR_TIME = re.compile(
    r"""\d | \b(?: one | two | three | four | five | six | seven | eight | nine | ten | eleven | twelve
      | noon | midnight | today | tonight | tomorrow | yesterday | now | soon | never | always | daily
      | weekly | once
      | twice | (?:mon|tues|wednes|thurs|fri|satur|sun)days? | (?:next|this|last)\ \w+
      | (?:in|since|after|before|until)\ (?:january|february|march|april|may|june|july|august|september
      |october
        |november|december|spring|summer|autumn|winter) )\b""",
    _FLAGS,
)


@lru_cache(maxsize=_MAX_CACHED_PAIRS)
def answers_question(question: str, reply: str, *, by_assistant: bool) -> bool:
    """Whether a reply, of which the questions are left out, answers a question."""
    said = " ".join(reply.split())
    if not said or _PUTS_OFF.search(said) or _TAKES_NOTE.fullmatch(said):
        return False
    return by_assistant or _looks_like_answer(question, said)


def _looks_like_answer(question: str, reply: str) -> bool:
    """Whether a reply begins like an answer, is a mere fragment, or has what is asked for."""
    if _BEGINS_LIKE_ANSWER.match(reply) or len(reply.split()) <= _MAX_FRAGMENT_WORDS:
        return True
    if _ASKS_WHEN_OR_HOW_MUCH.search(question):
        return bool(_AMOUNT_OR_TIME.search(reply))
    return bool(_ASKS_WHO_OR_WHERE.search(question) and _NAME.search(reply))
