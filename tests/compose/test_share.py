from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.compose.share import MAX_SHARE, Portion, find_ids_exempt_from_share, may_include_each_portion
from foreword.types import TRUSTS, Item, SearchResult, Source

portions = st.lists(
    st.builds(
        Portion, st.integers(1, 300), st.builds(Source, st.just("x"), st.sampled_from(TRUSTS)), st.booleans()
    ),
    max_size=12,
)


@given(portions)
def test_what_nobody_asked_for_is_at_most_a_third_of_what_is_said(each):
    said = [one for one, fits in zip(each, may_include_each_portion(each), strict=True) if fits]
    limited = sum(p.tokens for p in said if not p.is_exempt and p.source.trust not in ("user", "agent"))
    assert limited <= MAX_SHARE * sum(p.tokens for p in said)


@given(portions)
def test_what_is_trusted_or_asked_for_is_always_said(each):
    for one, fits in zip(each, may_include_each_portion(each), strict=True):
        if one.is_exempt or one.source.trust in ("user", "agent"):
            assert fits


def test_the_first_ones_have_the_room():
    tool = Source("Bash", "tool")
    each = [Portion(100, Source()), Portion(40, tool), Portion(20, tool), Portion(10, tool)]
    assert may_include_each_portion(each) == [True, True, False, True]


def result(name, score, trust, kind="memory"):
    return SearchResult(Item(name, "w", kind=kind, id=name, source=Source("x", trust)), score)


@pytest.mark.parametrize(
    ("results", "exempt"),
    [
        ([result("a", 0.5, "user"), result("b", 0.2, "repository", "document")], {"a"}),
        ([result("a", 0.3, "user"), result("b", 0.2, "repository", "document")], {"a", "b"}),
        ([result("a", 0.2, "user"), result("b", 0.3, "repository", "document"),
          result("c", 0.1, "repository", "commit")], {"b", "c"}),
        ([result("a", 0.9, "tool"), result("b", 0.8, "tool"), result("c", 0.8, "web")], {"a"}),
        ([result("a", 0.9, "tool"), result("b", 0.1, "agent")], set()),
        ([result("a", 0.9, "user"), result("b", 0.1, "repository", "code")], {"a", "b"}),
        ([result("a", 0.0, "tool"), result("b", 0.0, "repository", "document")], set()),
    ],
)  # fmt: skip
def test_what_was_asked_for_is_the_best_answer_and_files_where_they_answer(results, exempt):
    assert find_ids_exempt_from_share(results) == exempt
