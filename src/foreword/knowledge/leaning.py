"""Whether a sentence leans on the one before it: "She works at Bosch." says something else after other words.

By the first words alone, in English, German, French and Spanish. A sentence that names whom it is about
before the pronoun ("Petra said she comes") stands by itself. Taking a sentence for one that leans costs a
little room; taking one that leans for one that stands by itself may put a false statement together.
"""

from __future__ import annotations

import re
from functools import lru_cache

_MAX_CACHED_TEXTS = 8_192
_MAX_WORDS_BEFORE = 5
"""A pronoun after more words than this has mostly been named before it in its own sentence."""

_FLAGS = re.IGNORECASE | re.VERBOSE
_FILLERS = re.compile(
    r"""(?: (?: well | oh | ok | okay | yes | yeah | yep | no | nope | sure | right | alright
      | actually | anyway
      | also | and | but | so | or | because | however | though | still | plus | besides | apparently
      | luckily
      | unfortunately | honestly | basically | btw | by\ the\ way | of\ course | you\ know | i\ see | ah | um
      | uh | great | good | thanks | sorry | now | then | later | since\ then | after\ that
      | und | aber | oder | ja | nein | et | mais | oui | non | y | pero | sí | si )\b[\s,.;:!–—-]* )+""",
    _FLAGS,
)
_TIME = r"""(?:week|weekend|month|year|morning|afternoon|evening|night|spring|summer|autumn|fall|winter
    |(?:mon|tues|wednes|thurs|fri|satur|sun)day|time\ of)"""
_LEANS = re.compile(
    rf"""(?: (?:he|she|it|they|him|her|his|hers|its|them|their|theirs|these|those|both|neither|either|none)\b
      | (?:this|that)\b (?!\ {_TIME}\b)
      | (?:the\ )?(?:same|former|latter|other|others|first\ one|second\ one|last\ one|reason)\b
      | (?:one|two|three|some|most|all|half|each|many)\ of\ (?:them|these|those|it)\b
      | (?:another|which|otherwise|instead|therefore|hence|thus|except|likewise)\b
      | (?:in|at|on|for|after|before|with|without|from|about|because\ of|instead\ of)
        \ (?:him|her|it|them|this|that|these|those|which|whom)\b (?!\ {_TIME}\b)
      | (?:if|when|while|once|until|unless|since|because|as|where|whether)
        \ (?:he|she|it|they|so|not|this|that)\b (?!\ {_TIME}\b)
      | (?:er|sie|es|ihm|ihn|ihr|ihre|ihren|sein|seine|seinen|dieser|diese|dieses|jene[rs]?|beide|dort|damit
          |dafür|davon|dazu|daran|dadurch|deshalb|deswegen|sonst|stattdessen)\b
      | (?:das|dies|der|die)\ (?:ist|sind|war|waren|wird|werden|hat|haben|kostet|geht|macht|kommt|liegt)\b
      | (?:ils?|elles?|lui|leur|ceux|celles?|celui|ceci|cela|ça|c['’]est|c['’]était|sinon|dont)\b
      | (?:él|ella|ellos|ellas|esto|eso|aquello|este|esta|estos|estas|ambos|ambas)\b )""",
    _FLAGS,
)
_PERSON = re.compile(r"(?:he|she|him|her|his|hers|they|them|their|theirs)(?:['’]\w+)?", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_BRINGS_IN = re.compile(
    r"""an? | the | my | our | your | this | that | these | those | every | each | some | any | another | one
      | who | whoever | (?:every|some|any|no)(?:one|body) | people""",
    _FLAGS,
)
"""Words that bring somebody or something in whom a later pronoun may mean."""

_NAMES_NOBODY = re.compile(
    r"""yesterday | today | tomorrow | tonight | sometimes | usually | often | maybe | perhaps
      | recently | lately
      | (?:mon|tues|wednes|thurs|fri|satur|sun)days? | january | february | march | april | may | june | july
      | august | september | october | november | december | i(?:['’]\w+)?""",
    _FLAGS,
)
"""Words that may be capitalised and name nobody."""

_BEGINS_SENTENCE = re.compile(
    r"""(?: we | you | if | when | while | once | until | because | since | as | after | before | with
      | without
      | on | in | at | for | from | to | by | about | then | there | where | what | why | how | did
      | does | do
      | is | are | was | were | has | have | had | can | could | will | would | should | tell | told
      | ask | asked
      | call | called | give | gave | send | sent | meet | met | see | saw | not | please
      | let )(?:['’]\w+)?""",
    _FLAGS,
)
"""Words that begin sentences and name nobody; any other may be a name."""


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def depends_on_previous_sentence(text: str) -> bool:
    """Whether a sentence means somebody or something that only the one before it names."""
    opened = _FILLERS.match(text)
    rest = text[opened.end() :] if opened else text
    return bool(_LEANS.match(rest)) or _has_pronoun_before_any_name(rest)


def is_about_unnamed_person(text: str) -> bool:
    """Whether a sentence is about a person whom it does not name: "She works at Bosch.", "I told her."."""
    opened = _FILLERS.match(text)
    return _has_pronoun_before_any_name(text[opened.end() :] if opened else text)


def _has_pronoun_before_any_name(text: str) -> bool:
    """Whether a pronoun for a person stands among the first words, and nobody is named before it."""
    for place, word in enumerate(_WORD.findall(text)[: _MAX_WORDS_BEFORE + 1]):
        if _PERSON.fullmatch(word):
            return True
        if _BRINGS_IN.fullmatch(word) or _may_be_name(word, is_first=place == 0):
            return False
    return False


def _may_be_name(word: str, *, is_first: bool) -> bool:
    """Whether a word may name somebody: it is capitalised, and not only as the first of its sentence."""
    if not word[0].isupper() or _NAMES_NOBODY.fullmatch(word):
        return False
    return not (is_first and _BEGINS_SENTENCE.fullmatch(word))
