from __future__ import annotations

from collections import defaultdict, deque
from copy import deepcopy
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from foreword.knowledge.copying import copied

PLAIN = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5))
TREES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(max_size=3), inner), st.tuples(inner)),
    max_leaves=20,
)


@dataclass(slots=True)
class Grows:
    """Something that changes."""

    name: str
    parts: list = field(default_factory=list)


@given(TREES)
def test_a_copy_is_the_same_value(value):
    assert copied(value) == deepcopy(value)


def test_what_happens_to_a_copy_does_not_happen_to_the_first():
    value = {
        "plain": {"a": ["b"]},
        "pair": (["c"], 1),
        "grows": Grows("d", [Grows("e")]),
        "other": (defaultdict(list, {"f": ["g"]}), deque(["h"], maxlen=3), {"i"}),
    }
    before = deepcopy(value)
    other = copied(value)
    assert other == before
    other["plain"]["a"].append("new")
    other["pair"][0].append("new")
    other["grows"].parts[0].parts.append("new")
    other["other"][0]["f"].append("new")
    other["other"][1].append("new")
    other["other"][2].add("new")
    assert value == before
    assert other["other"][1].maxlen == 3
