"""Word lists: common names of people, places, organisations and tools, and words that appear beside names.

They are read from `word_lists.toml`, and written for English conversations. Most names of the world are
missing; those are recognised by their shape and by the words around them.
"""

from __future__ import annotations

import tomllib
from importlib import resources

from foreword.text.words import STOPWORDS

_LISTS = tomllib.loads(
    resources.files("foreword.capture.names").joinpath("word_lists.toml").read_text(encoding="utf-8")
)
_PEOPLE, _ORGANISATIONS, _PLACES, _OTHERS = (
    _LISTS[name] for name in ("people", "organisations", "places", "others")
)


def _split_at_commas(text: str) -> frozenset[str]:
    return frozenset(" ".join(entry.split()) for entry in text.split(","))


GENDERS: dict[str, str] = {
    **dict.fromkeys(_PEOPLE["female"].split(), "female"),
    **dict.fromkeys(_PEOPLE["male"].split(), "male"),
    **dict.fromkeys(_PEOPLE["either"].split(), ""),
}
"""Given names, each with the gender it mostly has: `female`, `male`, or "" for either."""

TITLES: dict[str, str] = {
    **dict.fromkeys(_PEOPLE["male_titles"].split(), "male"),
    **dict.fromkeys(_PEOPLE["female_titles"].split(), "female"),
    **dict.fromkeys(_PEOPLE["other_titles"].split(), ""),
}
"""Forms of address, each with the gender it implies: `female`, `male`, or "" for either."""

ALSO_WORDS = frozenset(_PEOPLE["also_words"].split())
PARTICLES = frozenset(_PEOPLE["particles"].split())
KIN_AND_ROLES = frozenset(f"{_PEOPLE['kin']} {_PEOPLE['roles']}".split())
BEFORE_PERSON = KIN_AND_ROLES | frozenset(_PEOPLE["before"].split())
AFTER_PERSON = frozenset(_PEOPLE["after"].split())
CAPITALISED_AT_START = STOPWORDS | frozenset(_PEOPLE["openings"].split())
"""Words that have a capital only because a sentence begins with them."""

ORGANISATIONS = _split_at_commas(_ORGANISATIONS["names"])
ORGANISATION_ENDINGS = _split_at_commas(_ORGANISATIONS["endings"])
ORGANISATION_HEADS = _split_at_commas(_ORGANISATIONS["heads"])
BEFORE_ORGANISATION = _split_at_commas(_ORGANISATIONS["before"])
WORKING = _split_at_commas(_ORGANISATIONS["working"])
PLACES = _split_at_commas(_PLACES["names"])
PLACE_ENDINGS = _split_at_commas(_PLACES["endings"])
PLACE_BEGINNINGS = _split_at_commas(_PLACES["beginnings"])
ALSO_FAMILIES = _split_at_commas(_PLACES["also_families"])
BEFORE_PLACE = _split_at_commas(_PLACES["before"])
MOVING = _split_at_commas(_PLACES["moving"])
THINGS = _split_at_commas(_OTHERS["things"])
ALSO_PLAIN = _split_at_commas(_OTHERS["also_plain"])
DEMONYMS = _split_at_commas(_OTHERS["demonyms"])
