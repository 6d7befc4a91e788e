from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.compose.fit import fit_memories
from foreword.compose.templates import TEMPLATES, ContextTemplate
from foreword.testing import WordTokens
from foreword.text.tokens import CharacterTokenizer, TiktokenTokenizer, WordTokenizer
from foreword.types import Item, SearchResult

PLAIN = ContextTemplate(name="plain", memory_format="{{content}}", separator="\n")


def results(*texts):
    return [SearchResult(Item(text, "w", id=f"i{n}"), 1 - n / 100) for n, text in enumerate(texts)]


def test_what_does_not_fit_is_skipped_and_the_rest_goes_on():
    fitted = fit_memories(results("one two", "a b c d e f", "three"), PLAIN, 4, WordTokens())
    assert fitted.text == "one two\nthree"
    assert fitted.tokens == 3
    assert [(d.result.memory.id, d.reason) for d in fitted.dropped] == [("i1", "over budget")]
    assert "needs 6" in fitted.dropped[0].detail


def test_a_budget_too_small_for_anything_gives_nothing():
    fitted = fit_memories(results("one two"), TEMPLATES["chat"], 3, WordTokens())
    assert (fitted.text, fitted.tokens, len(fitted.dropped)) == ("", 0, 1)


def test_a_budget_that_is_just_enough_is_used():
    assert fit_memories(results("one two", "three"), PLAIN, 3, WordTokens()).tokens == 3


def test_the_frame_counts():
    framed = ContextTemplate(
        name="f", header="of four words here\n", memory_format="{{content}}", footer="\nend"
    )
    assert fit_memories(results("one two"), framed, 6, WordTokens()).text == ""
    assert fit_memories(results("one two"), framed, 7, WordTokens()).tokens == 7


def test_tokens_that_do_not_add_up_are_counted_together():
    class Glue(WordTokens):
        """Text of more than one piece costs two more than its pieces."""

        def count(self, text):
            return super().count(text) + (2 if "\n" in text.strip() else 0)

    fitted = fit_memories(results("a b", "c d"), PLAIN, 5, Glue())
    assert fitted.tokens <= 5
    assert fitted.text == "a b"
    assert fitted.dropped[0].detail == "1 too many together"


COUNTERS = [TiktokenTokenizer(), CharacterTokenizer(), WordTokenizer(), WordTokens()]


@pytest.mark.parametrize("counter", COUNTERS, ids=lambda counter: type(counter).__name__)
@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), max_size=12),
    budget=st.integers(1, 120),
    template=st.sampled_from(sorted(TEMPLATES)),
)
def test_no_budget_is_ever_exceeded(counter, texts, budget, template):
    fitted = fit_memories(results(*texts), TEMPLATES[template], budget, counter)
    assert counter.count(fitted.text) == fitted.tokens <= budget
    assert len(fitted.lines) + len(fitted.dropped) == len(texts)
