"""The speech act of a turn (question, promise, agreement, thanks…), by the wording and form of its beginning.

English only. The acts are tried in order, from the most specific wording to the plainest, and the first that
fits decides. Irony and hints are not understood.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.text.words import STOPWORDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foreword.types import SpeechAct

_MAX_CHARACTERS_READ = 400
_MAX_WORDS_OF_A_YES = 3
_FLAGS = re.IGNORECASE | re.VERBOSE

_IMPERATIVE = (
    "add|adjust|answer|apply|ask|attach|book|bring|build|bump|call|cancel|change|check|clean|close|commit"
    "|compare|convert|copy|create|debug|delete|deploy|describe|disable|do|don['’]t|download|draft|edit"
    "|email|enable|explain|extract|find|fix|follow|forward|generate|get|give|go|help|implement|import"
    "|include|install|keep|leave|list|look|make|merge|move|never|open|order|pay|ping|print|pull|push|put"
    "|read|rebase|refactor|remember|remind|remove|rename|replace|reply|rerun|reset|restart|revert|review"
    "|rewrite|run|save|schedule|search|send|set|share|show|sign|skip|sort|start|stop|summari[sz]e|take"
    "|tell|test|translate|try|turn|undo|update|upgrade|upload|use|verify|wait|write"
)
_CUES: Mapping[SpeechAct, str] = {
    "correction": r"""\bi\ meant\b | \bi\ misspoke\b | ^correction\b | ^actually,.*,\ not\b
        | ^not\ [\w-]+,\ [\w-]+[.!]?$
        | \bthat(?:['’]s|\ is|\ was)\ (?:wrong|incorrect|not\ (?:right|correct|true))\b
        | ,\ not\ [\w-]+[.!]?$""",
    "refusal": r"""\bi['’]?d\ rather\ not\b | ^no\ way\b | ^no,?\ thank | \bi\ (?:have\ to|must)\ decline\b
        | \bafraid\ (?:not|no\b|that['’]s\ (?:im|not\ )possible|(?:i|we)\ can)
        | \bi\ (?:won['’]t|refuse|will\ not)\b | ^(?:absolutely|certainly|definitely)\ not\b
        | \bi\ (?:can['’]?t|cannot)\ (?:do|help|accept|agree|make\ it|come|join|sign|allow|promise)\b
        | \b(?:i|we)\ (?:don['’]t|do\ not)\ want\ to\b | ^out\ of\ the\ question
        | ^not\ (?:possible|going\ to\ happen)
        | ^no,?\ (?:i|we)\ (?:couldn|wouldn)['’]t\b | \bsorry,?\ but\b | ^(?:no|nope|nah)[.!]*$""",
    "apology": r"""^(?:oops|whoops)?,?\s*(?:i['’]?m\ |we['’]re\ |i\ am\ )?
            (?:(?:so|very|really|terribly)\ )?sorry\b(?!\ to\ hear)
        | \bapolog(?:y|ies|i[sz]e)\b | \bmy\ bad\b | \bforgive\ me\b | ^pardon\b
        | \bmy\ (?:mistake|fault)\b""",
    "thanks": r"""^(?:ok(?:ay)?,?\ |great,?\ |oh,?\ )?(?:many\ )?(?:thanks|thank\ you|thx|ty\b|cheers)\b
        | \b(?:much\ )?appreciated?\b | \bgrateful\b""",
    "decision": r"""\b(?:i|we|they|team)(?:['’]ve|\ have)?\ (?:decided|chose|settled\ on|agreed\ (?:to|on))\b
        | \b(?:let['’]?s|we['’]?ll|we\ will|i['’]?ll|i\ will)\ (?:just\ )?(?:go\ with|stick\ (?:to|with)
            |settle\ on)\b
        | ^going\ with\b | \bfinal\ answer\b | \bit['’]s\ (?:decided|settled)\b | \b(?:the\ )?decision\ is\b
        | \bwe['’]?(?:ll|\ will)\ use\b""",
    "suggestion": r"""^let['’]?s\b | \bwhy\ (?:don['’]t|not)\ (?:we|you|i)\b | \b(?:how|what)\ about\b
        | ^shall\ we\b
        | \b(?:maybe|perhaps)\ (?:we|you|i)\b | \b(?:you|we)\ (?:could|might|should\ probably)\b
        | \bi(?:['’]d|\ would)?\ (?:suggest|propose|recommend)\b | \bmight\ want\ to\b
        | ^(?:you|we)\ should\b""",
    "request": rf"""\b(?:can|could|would|will)\ you\b(?!\ like) | \b(?:please|pls|plz)\b
        | \bi\ need\ you\ to\b | \bmake\ sure\b | \bwould\ you\ mind\b
        | ^(?:{_IMPERATIVE})\b(?!\s*[?])(?=\s+\S)""",
    "promise": r"""\bi\ promise\b | \b(?:i|we)(?:['’]ll|\ will)\b(?!\ (?:never\ )?(?:be\ able|need|have\ to))
        | \bi(?:['’]m|\ am)\ going\ to\b | \byou['’]?ll\ have\ it\b | \b(?:i['’]m\ )?on\ it[.!]*$""",
    "agreement": r"""^(?:i\ )?(?:totally\ |fully\ |completely\ )?agree(?:d)?\b
        | \byou(?:['’]re|\ are)\ right\b
        | ^(?:sounds|looks)\ (?:good|great|fine|perfect|like\ a\ plan)\b
        | ^that\ (?:works|sounds\ good|makes\ sense)\b
        | ^(?:works\ for\ me|makes\ sense|deal|fine\ (?:by|with)\ me|lgtm|good\ idea|of\ course|exactly
            |absolutely|definitely|certainly|indeed|perfect)\b""",
}
_PATTERNS = tuple((act, re.compile(cue, _FLAGS)) for act, cue in _CUES.items())
_GREETING = re.compile(
    r"(?:hello|hi|hey|howdy|greetings|good\ (?:morning|afternoon|evening|day)|welcome(?:\ back)?)\b"
    r"(?:\ (?:there|everyone|everybody|all|again|team|folks|guys))?"
    r"(?:,?\ [^\W\d_]+(?=\s*[,.!]|$))?\s*[,.!]*\s*",
    _FLAGS,
)
_YES = re.compile(r"(?:yes|yeah|yep|yup|sure|ok|okay|alright|right)\b[\s,.!]*", _FLAGS)
_ASKS = re.compile(
    r"""^(?:and\ |but\ |so\ |or\ )?(?:who|whom|whose|what|when|where|which|why|how)\b(?!ever)
      | ^(?:is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|should|may|shall|isn['’]t
            |aren['’]t
            |don['’]t|doesn['’]t|didn['’]t|won['’]t)\ (?:i|you|he|she|it|we|they|there|this|that|the|your
            |my|our|any
            |anyone|someone)\b""",
    _FLAGS,
)
_TELLS_FIRST = re.compile(
    r"""(?:(?:and|but|so|then|now|next|first|also|again|ok(?:ay)?|alright|great|good|right|quick\ one|fyi
            |by\ the\ way|btw)\b[\s,:–—-]*)+
      | (?:please\ )?(?:note|remember|mind|know|be\ aware|keep\ in\ mind|(?:don['’]t|do\ not)\ forget)
            (?:\ that\b|[,:])\s*""",
    _FLAGS,
)
"""Words before what is said: they ask for nothing themselves."""

_ORDER = re.compile(
    r"""(?P<verb>[a-z]+(?<!ed)(?<![^s]s)(?<!ing))\ (?:(?:up|out|down|into|off|back)\ )?
        (?:me|us|it|them|the|an?|my|our|your|this|that|these|those|all|some)\b
      | i(?:['’]d\ like|\ (?:want|need|would\ like|expect))\ you\ to\b""",
    _FLAGS,
)
"""A verb without a subject and its object; or words that say what somebody is to do."""

_PAST_FORM = re.compile(
    "became|began|bought|broke|brought|built|came|caught|chose|did|drew|fell|felt|forgot|found|gave|got|grew|had"
    "|heard|held|kept|knew|led|left|lost|made|meant|met|paid|ran|said|sat|saw|sent|sold|spent|spoke|stood|taught"
    "|told|took|thought|threw|understood|was|went|were|won|wrote"
)
_NAMES_A_THING = re.compile(
    r"""\w+(?:\ (?!(?:what|which|who|where|why|how|that|if|whether|when)\b)
            (?!(?:me|us|it|them|the|an?|my|our|your|this)\b)[\w'’./-]+){0,5}
        \ (?:is|are|was|were|has|have|had|lives?|runs?|needs?|belongs?|goes|sits?|takes?)\b""",
    _FLAGS,
)
"""A sentence whose first words are its subject, such as "Test data lives on staging"."""

_ASKS_FOR_ACTION = re.compile(r"\b(?:please|pls|plz)\b|\b(?:can|could|would|will)\ you\b(?!\ like)", _FLAGS)


def classify_speech_act(text: str, after: SpeechAct | None = None) -> SpeechAct | None:
    """The speech act of a turn; None for a turn without words.

    `after` is the act of the turn before: a statement or an agreement after a question is an answer.
    """
    said = " ".join(text[:_MAX_CHARACTERS_READ].split())
    if not any(map(str.isalnum, said)):
        return None
    act = _classify_without_context(said)
    return "answer" if after == "question" and act in ("statement", "agreement") else act


def asks_for_action(sentence: str) -> bool:
    """Whether a sentence asks somebody to do something, or proposes to do it, and tells nothing itself."""
    said = " ".join(sentence[:_MAX_CHARACTERS_READ].split())
    if lead := _TELLS_FIRST.match(said):
        said = said[lead.end() :]
    if _ASKS_FOR_ACTION.search(said):
        return True
    if _NAMES_A_THING.match(said):
        return False
    order = _ORDER.match(said)
    verb = (order["verb"] or "").lower() if order else ""
    if order and not (verb in STOPWORDS or _PAST_FORM.fullmatch(verb)):
        return True
    return _classify_without_context(said) in ("request", "suggestion")


def _classify_without_context(text: str) -> SpeechAct:
    """The speech act of a text, whatever was said before it."""
    if greeting := _GREETING.match(text):
        rest = text[greeting.end() :]
        says_more = any(map(str.isalnum, rest)) and not _GREETING.match(rest)
        return _classify_without_context(rest) if says_more else "greeting"
    affirmed = _YES.match(text)
    if affirmed and affirmed.end() < len(text) and not _is_question(text):
        return _classify_after_yes(text[affirmed.end() :])
    if affirmed and affirmed.end() == len(text):
        return "agreement"
    for act, cue in _PATTERNS:
        if cue.search(text) and not (act in ("promise", "request", "refusal") and _is_mere_question(text)):
            return act
    return "question" if _is_question(text) else "statement"


def _classify_after_yes(rest: str) -> SpeechAct:
    """The speech act after a yes: that of the rest, or agreement if the rest is short or a statement."""
    act = _classify_without_context(rest)
    return "agreement" if act == "statement" or len(rest.split()) <= _MAX_WORDS_OF_A_YES else act


def _is_question(text: str) -> bool:
    return text.rstrip(")\"'”").endswith("?") or bool(_ASKS.match(text))


def _is_mere_question(text: str) -> bool:
    """Whether a text that looks like a request or promise is only a question and asks for no action."""
    return _is_question(text) and not _ASKS_FOR_ACTION.search(text)
