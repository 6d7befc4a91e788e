"""What depends on a sentence: whether it decides, requires, names or numbers something.

In a long conversation, what is said most is not what matters most: a decision is told once. Knows English
wordings and the shapes of names and numbers, and looks at one sentence at a time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foreword.knowledge.sentences import Sentence

_FLAGS = re.IGNORECASE | re.VERBOSE
_DECIDES = re.compile(
    r"""\b(?: decided | decision | agreed\ (?:on|to|that) | settled\ (?:on|for) | chose | opted | correction
      | (?:is|are|was|were|has|have|['’]ve|['’]s|i|we)\ (?:now\ )?
        (?:booked|confirmed|cancell?ed|approved|rejected|signed|scheduled|postponed|moved\ to|due)
      | instead\ of | from\ now\ on | no\ longer | any\ ?more | after\ all
      | (?:go|going|went|stick|stay)\ with | call(?:ed|ing)?\ (?:it\ )?off | deadline | (?:i|we)\ promised
      | (?:we|they)\ (?:won['’]t|will\ not|will\ (?:use|skip|drop|keep|take|start|stop|move|leave))
      | let['’]s\ (?:use|skip|drop|keep|take|move|cancel|postpone)
      | (?:i|we)(?:['’]m|['’]re|\ am|\ are)\ (?:moving|leaving|quitting|selling|buying|switching|expecting)
      | (?:raised|lowered|changed|moved|extended|cut)\ (?:\w+\ ){1,4}(?:to|until) )\b""",
    _FLAGS,
)
_REQUIRES = re.compile(
    r"""\b(?: (?:may|must|can)\ not | mustn['’]t | nobody\ (?:may|can) | not\ allowed | forbidden | required
      | at\ (?:most|least) | allerg(?:y|ic|ies) | diabet(?:es|ic) | vegetarian | vegan | pregnant
      | intoleran\w+ | \w+sick | afraid\ of | can['’]t\ (?:eat|drink|drive|swim|stand) | i\ hate
      | (?:i|we)\ prefer | expires? | owns | reports\ to | works\ (?:at|for) | blocks | responsible\ for )\b
      | ^(?:please\ )?(?:do\ not|don['’]t|never)\b""",
    _FLAGS,
)
_FIRMLY = re.compile(r"\b(?:must|never|always|only)\b", re.IGNORECASE)
_STANDING = re.compile(
    r"""\b(?:my|our|the)\ (?:[a-z]+\ ){1,3}(?:is|are|will\ be|starts?|ends?|expires?|costs?)\b
      | \bmy\ (?:son|daughter|wife|husband|partner|boss|mother|father|sister|brother|doctor|landlord)\b""",
    _FLAGS,
)
_ADDRESSED = re.compile(r"^(?:\w{1,8},?\s)?[A-Z]\w+[,!]\s|,\s[A-Z]\w+\s*[.!?]*$")
_NUMBER = re.compile(r"(?<![\w.])[#$€£]?\d[\d.,:/-]*\w*|\b[A-Z]{2,}-?\d+\b")
_NAME = re.compile(r"(?<=[\w,;:] )(?!I\b)[A-Z][\w'’-]+|^[A-Z][\w'’-]+(?= [A-Z])")
_TIMES = frozenset(
    {*("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")}
    | {"November", "December", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
)
_FEELS = re.compile(
    r"""\b(?: awesome | amazing | wow | congrat\w+ | thanks | thank\ you | glad | proud | great | wonderful
      | lovely | so\ (?:cool|sweet|happy|nice) | sounds | feel(?:s|ing)? | love[ds]? | inspir\w+ | excited
      | keep\ it\ up | how\ about\ you )\b | !\s*$""",
    _FLAGS,
)
_MATTERS_ASKED = re.compile(
    r"\b(?:who|whose|when|where|which|how\ (?:much|many|long|often)|shall|should|may)\b", _FLAGS
)
_MORE = (0.0, 1.0, 1.4)
"""A second name or number tells less than the first."""

_LONG = 16
_FEWEST_WORDS = 2


def stake(sentence: Sentence) -> float:
    """How much depends on a statement: 0 for most, above 1 for a dated decision about somebody."""
    text = _ADDRESSED.sub(" ", sentence.text)
    named = len({name for name in _NAME.findall(text) if name.removesuffix("s") not in _TIMES})
    numbers = len(_NUMBER.findall(text))
    weight = 0.3 * _MORE[min(numbers, 2)] + 0.25 * _MORE[min(named, 2)]
    if _DECIDES.search(text):
        weight += 0.4
    if _REQUIRES.search(text):
        weight += 0.3
    if weight:
        weight += 0.15 * bool(_STANDING.search(text)) + 0.15 * bool(_FIRMLY.search(text))
    if weight and _FEELS.search(text):
        weight *= 0.5
    return weight * min(1.0, _LONG / max(1, sentence.length))


def asks_for_something(sentence: Sentence) -> bool:
    """Whether a question is about a matter: it asks who, when or how much, and has words of its own."""
    return len(sentence.telling) >= _FEWEST_WORDS and bool(_MATTERS_ASKED.search(sentence.text))
