"""Code names: `parseHttpDate`, `parse_http_date` and `http.parse.date` share their parts, not their words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.spaces.lexical import MAX_WORDS
from foreword.types import IdentifiersProbe
from foreword.words import STOPWORDS, fold, telling

if TYPE_CHECKING:
    from foreword.types import Query

# Each alternative begins where a word does and gives nothing back, so that a long run of letters (a key, a
# picture in base64) is passed over once instead of once a letter.
_NAME = re.compile(
    r"""(?<!\w)(?:
        [^\W\d]\w*+(?:(?:\.|::|->|/)\w++)++    # dotted, scoped or path-like
      | _++[^\W\d_]\w*+ | [^\W_]++_\w++       # with underscores
      | [^\W_]{0,80}[a-z0-9][A-Z]\w*+          # camelCase, PascalCase
    )""",
    re.VERBOSE,
)
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_MAX_PARTS = 400


def names(text: str) -> list[str]:
    """What looks like a code name or a path in a text."""
    return _NAME.findall(text)


def parts(text: str) -> tuple[str, ...]:
    """The parts of the code names in a text, folded, each once, in order."""
    found = (fold(part) for name in names(text) for part in _PART.findall(name))
    return tuple(dict.fromkeys(part for part in found if len(part) > 1))[:_MAX_PARTS]


class IdentifierSpace:
    """Finds items whose code names have the parts that the question names, in code or in words."""

    name = "identifiers"
    slow = False

    def probe(self, query: Query) -> IdentifiersProbe | None:
        """The parts of the question's code names, and its plain words, which may be parts of others.

        A question that names no code has nothing to say here: its words are for the word index.
        """
        named = parts(query.text)
        if not named:
            return None
        wanted = dict.fromkeys([*named, *telling(query.text)])
        return IdentifiersProbe(
            self.name, tuple(word for word in wanted if word not in STOPWORDS)[:MAX_WORDS]
        )
