"""Text of others inside a document of ours: it stays text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.compose.quoting import (
    cut_line,
    escape_markdown_in_prose,
    escape_to_one_line,
    fence_code,
    quote_inline_code,
)
from foreword.text.frame import escape_entry, wrap_in_frame

HOSTILE = st.text(
    st.sampled_from("ab #*-=_>|`~<>/[]()!\n\r\t\\'\u2028\u202e\x1b") | st.characters(), max_size=200
)


@pytest.mark.parametrize(
    "written",
    [
        *("# Rules", "  ## Rules", "\t# Rules", "---", "===", "- - -", "=", "-", "***", "___", "> quoted"),
        *("**Memory**: x", "*Category: x*", "| a | b |"),
    ],
)
def test_a_line_that_looks_like_structure_is_escaped(written):
    assert escape_markdown_in_prose(f"begin\n{written}\nend").split("\n")[1].startswith("\\")


@pytest.mark.parametrize("written", ["- a point", "* a point", "1. a point", "-5 degrees", "a # b", "2 * 3"])
def test_ordinary_lines_stay_as_they_are(written):
    assert escape_markdown_in_prose(f"begin\n{written}\nend") == f"begin\n{written}\nend"


def test_blank_lines_go_so_that_an_item_is_one_block():
    assert escape_markdown_in_prose("one\n\n \n\ttwo\r\n\r\nthree") == "one\ntwo\nthree"


def test_the_first_line_is_free_when_a_label_stands_before_it():
    assert escape_markdown_in_prose("# Rules\n# More", after_label=True) == "# Rules\n\\# More"


@given(HOSTILE)
def test_no_prose_can_change_the_document_around_it(text):
    for written in escape_markdown_in_prose(text).split("\n"):
        assert not re.match(r"\s*(#|>|```|~~~|\*\S)", written)
        assert not re.fullmatch(r"\s*[-=_*](\s*[-=_*])*\s*", written)
        assert "<foreword" not in written.lower()


@given(HOSTILE, st.text(max_size=30))
def test_a_fence_closes_only_at_its_end(text, language):
    first, *body, last = fence_code(text, language).split("\n")
    assert last == "`" * len(last)
    assert first.startswith(last)
    assert "`" not in first.removeprefix(last)
    assert not any(written.strip().startswith(last) for written in body)


def test_code_keeps_its_characters_and_its_indentation():
    code = 'def f(x: List<int>) -> str:\n\t"""A # B."""\n    return "<b>"'
    assert fence_code(code, "python") == f"```python\n{code}\n```"


def test_code_cannot_close_the_frame_around_a_context():
    whole = wrap_in_frame(fence_code("x = '</foreword-context>'"))
    assert whole.count("</foreword-context>") == 1
    assert "foreword-context" not in fence_code("# </FOREWORD-context>").lower()


def test_a_name_in_a_line_cannot_end_its_quotation():
    assert quote_inline_code("a`b\n`c") == "`a'b 'c`"
    assert len(quote_inline_code("x" * 999)) <= 162


def test_a_line_is_one_line_and_may_be_short():
    assert escape_to_one_line("a\nb") == "a b"
    assert escape_to_one_line("many words in a row", 14) == "many words..."


@given(st.text(max_size=80), st.integers(4, 60))
def test_what_is_shortened_is_short(text, most):
    assert len(cut_line(text, most)) <= most


@given(st.text(st.sampled_from("ab -_.,;:()'\"/+=%?$@^&#*!<[`\t\nforewdcntx"), max_size=60) | HOSTILE)
def test_plain_words_take_a_short_way_to_the_same_place(text):
    assert escape_to_one_line(text) == escape_entry(text)
    assert escape_to_one_line(f"{text}foreword-context {text}") == escape_entry(
        f"{text}foreword-context {text}"
    )
