"""Finds names in a text: of code, and of people, products, files, versions, tickets, addresses.

Code names such as `parseHttpDate` and `http.parse.date` share their parts, not their words. Named things are
found by their shape: `Postgres` counts because it is capitalised inside a sentence, not because it is a
database.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from foreword.spaces.basic import MAX_WORDS
from foreword.text.words import STOPWORDS, content_words, fold_case
from foreword.types import EntitiesProbe, IdentifiersProbe

if TYPE_CHECKING:
    from foreword.types import Query

# Each alternative begins where a word does and gives nothing back, so that a long run of letters (a key, a
# picture in base64) is passed over once instead of once a letter.
_CODE_NAME = re.compile(
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
# The longest run of characters that a name can be part of, with `()` if it is called without arguments.
_STRETCH = re.compile(r"\w++(?:(?:\.|::|->|/)\w++)*+(?:\(\))?")
_WORD = re.compile(r"[^\W\d]\w++")
_MAX_CACHED = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class CodeNames:
    """The code names in a text: their parts, and the names themselves (`named`); folded, each once."""

    parts: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


class _CodeNamesCache(dict[str, CodeNames]):
    """The code names in each stretch of a text, cached: code repeats its names, so most are known already."""

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
        fold_case(part)
        for name in _CODE_NAME.findall(stretch)
        for part in _PART.findall(name)
        if len(part) > 1
    )
    words = _WORD.findall(stretch)
    # A plain word is a name if it is called; a word that only begins a sentence looks like a name as well.
    names = [word for word in words if "_" in word or not word.islower()]
    if stretch.endswith("()"):
        names += words[-1:]
    found = CodeNames(tuple(parts), tuple(name for name in map(fold_case, names) if name not in STOPWORDS))
    return found if found.parts or found.named else _NO_NAMES


def find_code_names(text: str) -> CodeNames:
    """The code names in a text."""
    stretches = dict.fromkeys(map(_cache.__getitem__, _STRETCH.findall(text)))
    parts = dict.fromkeys(chain.from_iterable([each.parts for each in stretches]))
    names = dict.fromkeys(chain.from_iterable([each.named for each in stretches]))
    return CodeNames(tuple(parts)[:_MAX_PARTS], tuple(names)[:_MAX_NAMES])


class IdentifierSpace:
    """Finds items whose code names have the parts that the question names, in code or in words."""

    name = "identifiers"
    slow = False

    def probe(self, query: Query) -> IdentifiersProbe | None:
        """A probe for the parts of the question's code names, and its plain words, which may be parts too.

        None for a question that names no code: its words are searched in the word index.
        """
        parts = find_code_names(query.text).parts
        if not parts:
            return None
        words = dict.fromkeys([*parts, *content_words(query.text)])
        wanted = tuple(word for word in words if word not in STOPWORDS)
        return IdentifiersProbe(self.name, wanted[:MAX_WORDS])


# Named things --------------------------------------------------------------------------------------------

# A match begins with a word or one of a few signs; testing this first spares most places seven attempts.
_NAMED_THING = re.compile(
    r"""(?:\b(?=\w)|(?=[`\#.+-]))(?:(?P<url>\bhttps?://[^\s<>"')\]]+)
      | (?P<email>(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+)
      | (?P<file>(?<![\w.\-/])(?:[\w.-]++/)++[\w.-]++ | (?<![\w.-])[\w-]{1,80}\.(?:py|js|jsx|ts|tsx|go|rs
            |java|c|h|cc|cpp|cs|rb|php|sh|md|rst|txt|toml|ya?ml|json|ini|cfg|sql|html|css|lock|log|env)\b)
      | (?P<ticket>\b[A-Z][A-Z0-9]{1,9}-\d+\b | (?<!\w)\#\d+\b)
      | (?P<version>\bv?\d+\.\d+(?:\.\d+)*\b)
      | (?P<code>`[^`\n]{2,60}` | \b\w++\(\) | \b[a-z0-9]++_\w++ | \b[a-z]++[A-Z]\w++)
      | (?P<name>\b[A-Z][\w'’-]*+(?:\s++[A-Z][\w'’-]*+){0,3}))
    """,
    re.VERBOSE,
)


def find_named_things(text: str) -> tuple[str, ...]:
    """The named things in a question or an item, by which a space finds it.

    Folded, each once, in order; a name of several words also word by word.
    """
    found: dict[str, None] = {}
    for match in _NAMED_THING.finditer(text):
        shape, value = match.lastgroup, match.group().strip("`()’'.,")
        if shape == "name":
            found.update(dict.fromkeys(_names_in_capitalised_run(value)))
        elif value:
            found[fold_case(value)] = None
        if len(found) >= _MAX_NAMES:
            break
    return tuple(found)


def _names_in_capitalised_run(capitalised_run: str) -> list[str]:
    """The names in a run of capitalised words, without the stop words that only begin a sentence."""
    run = [re.sub(r"['’]s$", "", word) for word in capitalised_run.split()]
    while run and fold_case(run[0]) in STOPWORDS:
        run = run[1:]
    single = [fold_case(word) for word in run if len(word) > 1 and fold_case(word) not in STOPWORDS]
    return [" ".join(single), *single] if len(single) > 1 else single


class EntitySpace:
    """Finds items that mention the things the question names."""

    name = "entities"
    slow = False

    def probe(self, query: Query) -> EntitiesProbe | None:
        """A probe for the named things in the question; None if there are none."""
        names = find_named_things(query.text)
        return EntitiesProbe(self.name, names) if names else None
