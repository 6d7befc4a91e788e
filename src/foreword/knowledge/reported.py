"""What somebody said, told by somebody else: `I need it` said by Ann is `Ann needs it`.

A sentence that leaves its conversation loses who `I` and `you` were. Knows English only, and only pronouns
and the commonest verbs; a caller asks first whether a conversation reads like English.
"""

from __future__ import annotations

import re

from foreword.text.words import STOPWORDS, words

_OPENERS = re.compile(
    r"(?:(?:well|oh|ok|okay|yes|yeah|no|sure|hey|hi|hello|right|alright|actually|of course|you know|i see|ah"
    r"|um|uh|great|good|thanks|thank you|sorry|excuse me|then|now)[,.!]\s+"
    r"|(?:so|and|but|well|oh|i think|i guess|i mean)\b,?\s+(?!that\b))+",
    re.IGNORECASE,
)
_FEWEST_WORDS = 3
_ENGLISH = 0.25

_REGULAR = (
    "need want think like know love see hope believe feel hear mean say get make take work live prefer plan "
    "expect wish agree understand remember guess suppose enjoy hate keep look use wonder suggest recommend "
    "appreciate find come ask"
)
_INFLECTED = {verb: f"{verb}{'es' if verb == 'wish' else 's'}" for verb in _REGULAR.split()}
_INFLECTED |= {
    "go": "goes",
    "try": "tries",
    "have": "has",
    "do": "does",
    "am": "is",
    "are": "is",
    "were": "was",
}
_INFLECTED |= {"don't": "doesn't", "haven't": "hasn't", "aren't": "isn't"}
_VERB = "|".join(sorted(map(re.escape, _INFLECTED), key=len, reverse=True))
_ADVERB = r"(?:really|just|also|still|always|never|usually|often|already|only|even|actually)"
_SHORTENED = {"'m": "is", "'re": "is", "'ve": "has", "'ll": "will", "'d": "would"}
_PERSON = r"(?P<who>I|[Yy]ou)"
_SUBJECT = re.compile(
    rf"\b{_PERSON}(?:(?P<short>'(?:m|re|ve|ll|d))|(?P<adverb>\s+{_ADVERB})?\s+(?P<verb>{_VERB}))?\b(?!')"
)
_ASKED = re.compile(rf"\b(?P<verb>[Dd]o|[Aa]re|[Ww]ere|[Hh]ave|[Dd]on't|[Aa]m)\s+{_PERSON}\b")
_OWNED = re.compile(r"\b(?P<who>[Mm]y|[Yy]our|[Mm]ine|[Yy]ours|me|[Mm]yself|[Yy]ourself)\b")
_MINE = frozenset({"i", "my", "mine", "me", "myself"})
_POSSESSIVE = frozenset({"my", "your", "mine", "yours"})


def is_english(text: str) -> bool:
    """Whether enough of the words are those that hold English sentences together."""
    every = words(text)
    return bool(every) and sum(word in STOPWORDS for word in every) / len(every) >= _ENGLISH


def without_openers(text: str) -> str:
    """The sentence without the `Well, yes, I think` before it, if a sentence is left."""
    rest = _OPENERS.sub("", text, count=1) if _OPENERS.match(text) else text
    return rest[:1].upper() + rest[1:] if len(rest.split()) >= _FEWEST_WORDS else text


def reported(text: str, speaker: str, listener: str = "") -> str:
    """The sentence with names for `I` and, where one listener is known, for `you`."""

    def name(who: str) -> str:
        return speaker if who.lower() in _MINE else listener

    def subject(match: re.Match[str]) -> str:
        who, verb = name(match["who"]), match["verb"]
        if not who:
            return match.group()
        if match["short"]:
            return f"{who} {_SHORTENED[match['short']]}"
        return f"{who}{match['adverb'] or ''} {_INFLECTED[verb]}" if verb else who

    def asked(match: re.Match[str]) -> str:
        who, verb = name(match["who"]), match["verb"]
        if not who:
            return match.group()
        inflected = _INFLECTED[verb.lower()]
        return f"{inflected.capitalize() if verb[0].isupper() else inflected} {who}"

    def owned(match: re.Match[str]) -> str:
        who = name(match["who"])
        if not who:
            return match.group()
        return f"{who}'s" if match["who"].lower() in _POSSESSIVE else who

    return _OWNED.sub(owned, _SUBJECT.sub(subject, _ASKED.sub(asked, text)))
