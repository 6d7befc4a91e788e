"""Texts are taken apart into their own words, and words into groups that do the same work."""

from __future__ import annotations

from foreword.recipes.gap.vocabulary import (
    group_of_word,
    remove_quotations,
    remove_quoted_terms,
    split_sentences_and_clauses,
    stem,
    text_similarity,
    word_prefixes,
)


def test_words_that_do_the_same_work_are_one_group():
    assert {group_of_word(word) for word in ("spec", "ticket", "stories", "wikis")} == {"PAPER"}
    assert (
        group_of_word("says")
        == group_of_word("mentions")
        == group_of_word("mentioned")
        == group_of_word("specifies")
        == "SAY"
    )
    assert group_of_word("elephant") is None
    assert [stem(word) for word in ("stories", "agreed", "uses", "is")] == ["story", "agr", "use", "is"]


def test_what_a_text_quotes_is_removed():
    text = (
        "Mine. `code?` \"quoted?\"\n> cited?\n```\nfenced?\n```\nhttps://x.org/?q=1 It's mine, don't forget."
    )
    assert "?" not in remove_quotations(text)
    assert "don't forget" in remove_quotations(text)
    assert split_sentences_and_clauses("One. Two? Three") == ["One.", "Two?", "Three"]


def test_names_and_terms_in_marks_stay_when_quotations_are_removed():
    assert remove_quotations("Is `GRACE_DAYS` or 'Q-closing' right?") == "Is GRACE_DAYS or Q-closing right?"
    assert remove_quotations('Does "dual control" count?') == 'Does "dual control" count?'
    assert remove_quoted_terms('Does "dual control" count?') == "Does   count?"
    for shown in ('"as I said to you then"', "`a + b`", '"really?"', '"yes."'):
        assert remove_quotations(shown).strip() == ""


def test_texts_that_differ_in_a_number_are_not_alike():
    assert text_similarity("Story 1 is done", "Story 2 is done") == 0.0
    assert text_similarity("The story is done", "the story, it is done!") == 1.0
    assert text_similarity("", "") == 0.0
    assert word_prefixes("The and of") == frozenset()
