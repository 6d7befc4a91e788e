"""When two names mean one: short and full names, initials, family names, acronyms, addresses.

Compares names as they are written; who is meant where several fit is not decided here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.text.words import fold, words

if TYPE_CHECKING:
    from foreword.types import EntityType

_NICKNAMES = (
    "abby=abigail al=albert al=alan al=alfred alex=alexander alex=alexandra andy=andrew annie=anna "
    "becky=rebecca ben=benjamin beth=elizabeth betty=elizabeth bill=william bob=robert cathy=catherine "
    "charlie=charles chris=christopher chris=christine dan=daniel danny=daniel dave=david deb=deborah "
    "debbie=deborah dick=richard ed=edward eddie=edward fred=frederick gabe=gabriel greg=gregory hank=henry "
    "harry=henry jack=john jake=jacob jen=jennifer jenny=jennifer jim=james jimmy=james joe=joseph "
    "joey=joseph johnny=john jon=jonathan josh=joshua kate=katherine kate=catherine kathy=katherine "
    "katie=katherine ken=kenneth larry=lawrence leo=leonard liz=elizabeth lizzie=elizabeth maggie=margaret "
    "matt=matthew mel=melanie mel=melissa meg=margaret mike=michael nate=nathan nick=nicholas pam=pamela "
    "pat=patricia pat=patrick peggy=margaret pete=peter phil=philip ray=raymond rich=richard rick=richard "
    "rob=robert ron=ronald sam=samantha sam=samuel sasha=alexander sasha=alexandra steph=stephanie "
    "steve=stephen steve=steven sue=susan ted=edward ted=theodore theo=theodore tim=timothy tom=thomas "
    "tony=anthony vicky=victoria vince=vincent will=william zach=zachary"
)
_PAIRS = frozenset((short, full) for pair in _NICKNAMES.split() for short, full in [pair.split("=")])
_FORMS: dict[str, frozenset[str]] = {
    name: frozenset(other for pair in _PAIRS if name in pair for other in pair if other != name)
    for name in {name for pair in _PAIRS for name in pair}
}

_LEGAL = frozenset(
    {"ab", "ag", "bv", "co", "company", "corp", "corporation", "gmbh", "group", "holding", "holdings", "inc"}
    | {"incorporated", "kg", "limited", "llc", "llp", "ltd", "nv", "oy", "plc", "pty", "sa", "se", "srl"}
)
_LEAST_PREFIX, _LEAST_CUT = 3, 3  # `jon` may be jonathan, but `dan` is not dana
_LEAST_ACRONYM = 2
_FULL_NAME = re.compile(
    r"[^\W\d_a-z][^\W\d_]+(?:[ ](?:[^\W\d_A-Z]{1,3}[ ]){0,3}[^\W\d_a-z][^\W\d_]*(?:['’-][^\W\d_]+)?){1,2}"
)
_HOUSES = frozenset({"bar", "cafe", "camp", "casa", "club", "hotel", "option", "pension", "project", "villa"})
_SMALL = frozenset({"of", "the", "and", "for", "de"})


def is_short_for(short: str, full: str) -> bool:
    """Whether a given name is another or is short for it, both folded: `jon` is for `jonathan`."""
    if short == full:
        return True
    cut = len(short) >= _LEAST_PREFIX and len(full) >= len(short) + _LEAST_CUT
    return (short, full) in _PAIRS or (cut and full.startswith(short))


def same_person(one: str, other: str) -> bool:
    """Whether two names can be one person's: neither says what the other denies."""
    ours, theirs = sorted((_parts(one), _parts(other)), key=len)
    if not ours or not theirs:
        return False
    if len(ours) == 1:
        return ours[0] == theirs[-1] or _given_agree(ours[0], theirs[0])
    return ours[-1] == theirs[-1] and _given_agree(ours[0], theirs[0])


def may_name_somebody(name: str) -> bool:
    """Whether a name is written as people's are: two or three words with capitals, `van der` between them."""
    return bool(_FULL_NAME.fullmatch(name)) and fold(name.partition(" ")[0]) not in _HOUSES


def half_of(part: str, name: str) -> bool:
    """Whether a word is the first or the last of what may be somebody's full name."""
    halves = _parts(name)
    return may_name_somebody(name) and fold(part) in (halves[0], halves[-1])


def keys(name: str, kind: EntityType) -> frozenset[str]:
    """Under what a name is filed: whatever other names of the same one may be filed under as well."""
    if kind == "person":
        parts = _parts(name)
        first = parts[0] if parts else ""
        return frozenset({*parts, first[:_LEAST_PREFIX], *_FORMS.get(first, ())}) - {""}
    if kind in ("organisation", "thing"):
        return (frozenset({fold(name), bare(name), acronym(name)}) | _halves(name, kind)) - {""}
    if kind == "email":
        return frozenset(_spoken(name))
    return frozenset()


def acronym(name: str) -> str:
    """The first letters of a name of several words, folded; empty when there is nothing to shorten."""
    parts = [part for part in words(name) if part not in _SMALL and part not in _LEGAL]
    return "".join(part[0] for part in parts) if len(parts) >= _LEAST_ACRONYM else ""


def bare(name: str, *, fold_case: bool = True) -> str:
    """An organisation's name without what the law adds: `acme` for `Acme Corp`."""
    parts = words(name) if fold_case else name.replace(",", " ").split()
    while len(parts) > 1 and fold(parts[-1]).rstrip(".") in _LEGAL:
        parts.pop()
    return " ".join(parts)


def address_of(email: str, name: str) -> bool:
    """Whether an address is made of a person's name: `anna.weber@`, `aweber@` or `anna@` for Anna Weber."""
    parts, spoken = _parts(name), _spoken(email)
    if not parts:
        return False
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return spoken[:1] == [first]
    return spoken in ([first, last], [last, first], [first], [last], [first[0] + last], [first[0], last])


def _halves(name: str, kind: EntityType) -> frozenset[str]:
    """The first and the last word of a thing that may turn out to be somebody."""
    if kind != "thing" or not may_name_somebody(name):
        return frozenset()
    parts = _parts(name)
    return frozenset({parts[0], parts[-1]})


def _spoken(email: str) -> list[str]:
    """The words in an address before the @."""
    local = fold(email.partition("@")[0].partition("+")[0])
    return [part for part in re.split(r"[._\-\d]+", local) if part]


def _parts(name: str) -> list[str]:
    """The words of a name, folded; a name with a hyphen stays whole."""
    return [part for part in re.split(r"[\s.]+", fold(name)) if part]


def _given_agree(one: str, other: str) -> bool:
    if len(one) == 1 or len(other) == 1:
        return one[0] == other[0]
    return is_short_for(one, other) or is_short_for(other, one)
