"""What the wording of a question shows: the texts to encode for it, and the event it is before or after.

Knows the names of programming languages and a few English words; a question that it does not understand is
one text without an event. The times that a question names are read by `dates`.
"""

from __future__ import annotations

import re

from foreword.text.words import content_words, fold

_MAX_SHORT_CHARACTERS = 200
_LANGUAGES = (
    r"\b(?:in |using |with )?(?:python|java|javascript|typescript|golang|rust|ruby|php|kotlin|swift|scala|"
    r"bash|c\+\+|c#)\s?[23]?(?![\w+#])"
)
_LANGUAGE = re.compile(_LANGUAGES, re.IGNORECASE)


def texts_to_encode(text: str) -> tuple[str, ...]:
    """One or two texts whose vectors together stand for the question.

    For a long question, its first line, usually a title, and the whole. For a short one that names a
    programming language, the question with and without that name: in a project of that language the name
    says nothing.
    """
    text = text.strip()
    title = text.partition("\n")[0].strip()
    if len(text) > _MAX_SHORT_CHARACTERS and title and len(title) < len(text) / 2:
        return (title, text)
    without = " ".join(_LANGUAGE.sub(" ", text).split())
    return (text, without) if without and without != text and len(text) <= _MAX_SHORT_CHARACTERS else (text,)


_EVENT = re.compile(r"\b(before|until|after|since)\s+(?:the|our|we|my|that|this)\s+(.{3,80}?)[\s?.!,;]*$")


def find_event(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Whether a question asks `before` or `after` an event, and the event's content words; None for others.

    `What broke after the migration` gives `("after", ("migration",))`.
    """
    match = _EVENT.search(fold(" ".join(text.split())))
    words = content_words(match.group(2)) if match else ()
    side = "before" if match and match.group(1) in ("before", "until") else "after"
    return (side, words) if words else None
