"""Code names: `parseHttpDate`, `parse_http_date` and `http.parse.date` share their parts, not their words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from foreword.spaces.lexical import MAX_WORDS
from foreword.text.words import STOPWORDS, fold, telling
from foreword.types import IdentifiersProbe

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
_MAX_NAMED = 200
# The longest stretch that a name can be a part of, and whether it is called with nothing.
_STRETCH = re.compile(r"\w++(?:(?:\.|::|->|/)\w++)*+(?:\(\))?")
_WORD = re.compile(r"[^\W\d]\w++")
_REMEMBERED = 20_000


def names(text: str) -> list[str]:
    """What looks like a code name or a path in a text."""
    return _NAME.findall(text)


@dataclass(frozen=True, slots=True, eq=False)
class CodeNames:
    """What the code names in a text say: their parts, and the names themselves; folded, each once."""

    parts: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


class _Stretches(dict[str, CodeNames]):
    """What each stretch of a text says. Code repeats its names, so that most are known already."""

    def __missing__(self, stretch: str) -> CodeNames:
        if len(self) >= _REMEMBERED:
            self.clear()
        self[stretch] = said = _said(stretch)
        return said


_stretches = _Stretches()
_SILENT = CodeNames()


def _said(stretch: str) -> CodeNames:
    if stretch.isalpha() and stretch.islower():
        return _SILENT
    found = (fold(part) for name in names(stretch) for part in _PART.findall(name) if len(part) > 1)
    words = _WORD.findall(stretch)
    # A plain word is a name where it is called; one that begins a sentence is not told from one.
    telling = [word for word in words if "_" in word or not word.islower()]
    if stretch.endswith("()"):
        telling += words[-1:]
    said = CodeNames(tuple(found), tuple(name for name in map(fold, telling) if name not in STOPWORDS))
    return said if said.parts or said.named else _SILENT


def code_names(text: str) -> CodeNames:
    """The code names in a text."""
    said = dict.fromkeys(map(_stretches.__getitem__, _STRETCH.findall(text)))
    parts = dict.fromkeys(chain.from_iterable([each.parts for each in said]))
    named = dict.fromkeys(chain.from_iterable([each.named for each in said]))
    return CodeNames(tuple(parts)[:_MAX_PARTS], tuple(named)[:_MAX_NAMED])


def parts(text: str) -> tuple[str, ...]:
    """The parts of the code names in a text, folded, each once, in order."""
    return code_names(text).parts


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
