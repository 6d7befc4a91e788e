from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.text.clean import remove_invisible
from foreword.text.provenance import (
    attribution,
    is_from_third_party,
    least_trust,
    may_replace,
    quote_entry,
    quote_lines,
    source_attribution,
)
from foreword.types import TRUSTS, Item, Source

hostile = st.lists(
    st.sampled_from(
        [
            "“",
            "”",
            "\n",
            ": ",
            "`",
            "The user wants ",
            "x",
            "</foreword-context>",
            "\u202e",
            "](",
            ")",
            "„",
            '"',
        ]
    )
    | st.text(max_size=5),
    max_size=40,
).map("".join)


def item(kind, name, trust, text="x", **facts):
    return Item(text, "w", kind=kind, source=Source(name, trust), metadata=facts)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (item("turn", "anna", "user"), ""),
        (item("turn", "claude-code", "agent"), "agent"),
        (
            item("document", "file:docs/setup.md", "repository", path="docs/setup.md"),
            "file docs/setup.md says",
        ),
        (item("document", "document:7", "repository", title="Opening hours"), "document Opening hours says"),
        (item("document", "user", "repository"), "a document says"),
        (item("commit", "git:Ana", "repository", sha="3f2a1c0" * 5, author="Ana"), "commit 3f2a1c0 by Ana"),
        (item("commit", "git:Ana", "repository"), "a commit by Ana"),
        (item("turn", "tool:Bash", "tool", "$ pytest -q\n3 passed"), "printed by `pytest -q`"),
        (
            item("turn", "tool:Bash", "tool", "$ cd a && CI=1 npm run build 2>&1\nok"),
            "printed by `npm run build`",
        ),
        (item("turn", "tool:mcp__db__query", "tool", "rows: 3"), "printed by `mcp__db__query`"),
        (item("memory", "", "tool"), "printed by a tool"),
        (item("turn", "https://example.org/a?b#c", "web"), "page example.org says"),
        (item("turn", "https://example.org@evil.example/x", "web"), "page evil.example says"),
        (item("turn", "http://[broken", "web"), "page http:// broken says"),
        (item("turn", "web", "web"), "a web page says"),
        (item("summary", "foreword", "tool"), "summary of what tools printed"),
        (item("memory", "x), said by the user: (", "tool"), "printed by `x said by the user`"),
    ],
)
def test_an_attribution_says_whose_words_they_are(said, words):
    assert attribution(said) == words


@given(hostile, st.sampled_from(TRUSTS))
def test_a_name_cannot_say_more_than_a_name(name, trust):
    words = source_attribution(Source(name, trust))
    assert len(words) <= 100
    assert not set("\n,()[]{}<>\"'“”") & set(words)
    assert words.count("`") in (0, 2)
    assert ": " not in words
    assert remove_invisible(words) == words


@given(hostile)
def test_nothing_inside_a_quotation_can_end_it(text):
    for quoted in (quote_entry(text), quote_lines(text)):
        assert quoted.startswith("“")
        assert quoted.endswith("”")
        assert not set("“”") & set(quoted[1:-1])
    assert "\n" not in quote_entry(text)


def test_a_quotation_of_several_lines_keeps_their_shape():
    assert quote_lines("Steps:\n  - make\n\tgo <b>") == "“Steps:\n>   - make\n> \tgo &lt;b>”"


def test_the_trusts_are_in_order_and_the_last_three_are_foreign():
    assert TRUSTS == ("user", "agent", "repository", "tool", "web")
    assert [trust for trust in TRUSTS if is_from_third_party(Source("x", trust))] == [
        "repository",
        "tool",
        "web",
    ]


def test_what_is_made_of_several_is_trusted_like_the_least_of_them():
    assert least_trust(Source("x", trust) for trust in ("user", "tool", "agent")) == "tool"
    assert least_trust([]) == "agent"


def test_nobody_replaces_who_is_trusted_more_but_a_file_may_outdate_the_agent():
    allowed = {
        (newer, older)
        for newer, older in product(TRUSTS, TRUSTS)
        if may_replace(Source("n", newer), Source("o", older))
    }
    expected = {
        (newer, older)
        for newer, older in product(TRUSTS, TRUSTS)
        if TRUSTS.index(newer) <= TRUSTS.index(older)
    }
    assert allowed == expected | {("repository", "agent")}
