"""Named things: people, products, files, versions, tickets, addresses; found by their shape.

Knows shapes, not the world: `Postgres` counts because it is capitalised inside a sentence, not because it is
a database.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.text.words import STOPWORDS, fold
from foreword.types import EntitiesProbe

if TYPE_CHECKING:
    from foreword.types import Query

# A match begins with a word or with one of a few signs; to say so first spares most places seven attempts.
_SHAPES = re.compile(
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
_MAX_NAMES = 200


def find_named_things(text: str) -> tuple[str, ...]:
    """The named things in a text, folded, each once, in order; a name of several words whole and apart."""
    found: dict[str, None] = {}
    for match in _SHAPES.finditer(text):
        shape, value = match.lastgroup, match.group().strip("`()’'.,")
        if shape == "name":
            found.update(dict.fromkeys(_names_in_capitalised_run(value)))
        elif value:
            found[fold(value)] = None
        if len(found) >= _MAX_NAMES:
            break
    return tuple(found)


def _names_in_capitalised_run(capitalised_run: str) -> list[str]:
    """The names in a run of capitalised words, without the stop words that only begin a sentence."""
    run = [re.sub(r"['’]s$", "", word) for word in capitalised_run.split()]
    while run and fold(run[0]) in STOPWORDS:
        run = run[1:]
    single = [fold(word) for word in run if len(word) > 1 and fold(word) not in STOPWORDS]
    return [" ".join(single), *single] if len(single) > 1 else single


class EntitySpace:
    """Finds items that mention the things the question names."""

    name = "entities"
    slow = False

    def probe(self, query: Query) -> EntitiesProbe | None:
        """The named things in the question."""
        names = find_named_things(query.text)
        return EntitiesProbe(self.name, names) if names else None
