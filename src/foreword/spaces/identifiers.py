"""Code names: `parseHttpDate`, `parse_http_date` and `http.parse.date` share their parts, not their words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from foreword.spaces.basic import MAX_WORDS
from foreword.text.words import STOPWORDS, content_words, fold
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
_MAX_NAMES = 200
# The longest stretch that a name can be a part of, and whether it is called with nothing.
_STRETCH = re.compile(r"\w++(?:(?:\.|::|->|/)\w++)*+(?:\(\))?")
_WORD = re.compile(r"[^\W\d]\w++")
_MAX_CACHED = 20_000


def match_code_names(text: str) -> list[str]:
    """What looks like a code name or a path in a text."""
    return _NAME.findall(text)


@dataclass(frozen=True, slots=True, eq=False)
class CodeNames:
    """The code names in a text: their parts, and the names themselves (`named`); folded, each once."""

    parts: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


class _CodeNamesCache(dict[str, CodeNames]):
    """The code names in each stretch of a text. Code repeats its names, so that most are known already."""

    def __missing__(self, stretch: str) -> CodeNames:
        if len(self) >= _MAX_CACHED:
            self.clear()
        self[stretch] = found = _find_code_names_in_stretch(stretch)
        return found


_cache = _CodeNamesCache()
_NO_NAMES = CodeNames()


def _find_code_names_in_stretch(stretch: str) -> CodeNames:
    """The code names in one match of `_STRETCH`."""
    if stretch.isalpha() and stretch.islower():
        return _NO_NAMES
    parts = (
        fold(part) for name in match_code_names(stretch) for part in _PART.findall(name) if len(part) > 1
    )
    words = _WORD.findall(stretch)
    # A plain word is a name where it is called; a word that only begins a sentence looks like a name as well.
    names = [word for word in words if "_" in word or not word.islower()]
    if stretch.endswith("()"):
        names += words[-1:]
    found = CodeNames(tuple(parts), tuple(name for name in map(fold, names) if name not in STOPWORDS))
    return found if found.parts or found.named else _NO_NAMES


def find_code_names(text: str) -> CodeNames:
    """The code names in a text."""
    stretches = dict.fromkeys(map(_cache.__getitem__, _STRETCH.findall(text)))
    parts = dict.fromkeys(chain.from_iterable([each.parts for each in stretches]))
    names = dict.fromkeys(chain.from_iterable([each.named for each in stretches]))
    return CodeNames(tuple(parts)[:_MAX_PARTS], tuple(names)[:_MAX_NAMES])


def code_name_parts(text: str) -> tuple[str, ...]:
    """The parts of the code names in a text, folded, each once, in order."""
    return find_code_names(text).parts


class IdentifierSpace:
    """Finds items whose code names have the parts that the question names, in code or in words."""

    name = "identifiers"
    slow = False

    def probe(self, query: Query) -> IdentifiersProbe | None:
        """The parts of the question's code names, and its plain words, which may be parts of others.

        None for a question that names no code: its words are for the word index.
        """
        parts = code_name_parts(query.text)
        if not parts:
            return None
        wanted = dict.fromkeys([*parts, *content_words(query.text)])
        return IdentifiersProbe(
            self.name, tuple(word for word in wanted if word not in STOPWORDS)[:MAX_WORDS]
        )
