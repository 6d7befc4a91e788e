from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.capture.documents.chunking import chunk_text
from foreword.testing import WordTokens
from foreword.text.tokens import TiktokenTokenizer

EXACT = TiktokenTokenizer()
GUIDE = """# Guide

How to book.

## Refunds

A refund is booked within thirty days of the sale. It goes back to the card that paid.

### Abroad

Abroad it takes sixty days.

## Groups

Groups pay by invoice.
"""
texts = st.text(st.sampled_from("ab.# \n`-é重!"), max_size=300) | st.text(max_size=200)


def chunks(text, size=30):
    return chunk_text(text, WordTokens(), size)


def chunk_texts(text, size=30):
    return [chunk.text for chunk in chunks(text, size)]


def test_a_chunk_knows_its_headings_and_its_place():
    found = chunks(GUIDE)
    assert [chunk.headings for chunk in found] == [
        ("Guide",),
        ("Guide", "Refunds"),
        ("Guide", "Refunds", "Abroad"),
        ("Guide", "Groups"),
    ]
    abroad = found[2]
    assert abroad.text == "Abroad it takes sixty days."
    assert (abroad.first_line, abroad.last_line) == (11, 11)
    assert GUIDE[abroad.start : abroad.end] == abroad.text


def test_paragraphs_that_fit_together_stay_together():
    text = "The museum opens at nine.\n\nThe museum closes at six.\n"
    assert chunk_texts(text) == [text.strip()]


def test_a_chunk_ends_where_the_next_paragraph_is_about_something_else():
    one = "Museum tickets, guided museum tours, gallery opening hours, audio guides, cloakroom rules."
    other = (
        "Postgres deadlocks, row locking order, vacuum settings, index bloat, replica lag, checkpoint tuning."
    )
    assert chunk_texts(f"{one}\n\n{one}\n\n{other}\n", 60) == [f"{one}\n\n{one}", other]


def test_where_the_room_ended_a_chunk_the_next_begins_with_its_last_sentence():
    said = " ".join(f"Sentence number {n} speaks of the museum." for n in range(20))
    found = chunk_texts(said, 60)
    assert len(found) > 1
    for before, after in pairwise(found):
        assert after.startswith(before.rpartition(". ")[2])
        assert not before.startswith(after)


def test_code_stays_whole_if_it_fits_and_is_cut_between_lines_if_it_does_not():
    code = "\n".join(f"    step_{n} = run({n}, now)" for n in range(9))
    fence = f"```py\n{code}\n```"
    assert chunk_texts(f"Run it:\n\n{fence}\n", 100)[0].endswith(fence)
    parts = chunk_texts(fence, 16)
    assert "\n".join(parts) == fence
    assert all(part.startswith(("```py\n", "    step_")) for part in parts)


def test_a_heading_inside_a_fence_is_no_heading():
    assert [chunk.headings for chunk in chunks("# One\n\n```\n# not one\n```\n")] == [("One",)]


def test_front_matter_is_no_chunk():
    found = chunks("---\ntitle: Guide\nowner: Ann\n---\n# One\n\nText.\n")
    assert [(chunk.headings, chunk.text) for chunk in found] == [(("One",), "Text.")]


def test_of_front_matter_the_description_is_told():
    found = chunks("---\ntitle: Guide\ndescription: How seats are held.\n---\n# One\n\nText.\n")
    assert [chunk.text for chunk in found] == ["description: How seats are held.", "Text."]
    assert [chunk.first_line for chunk in found] == [3, 7]


def test_lines_of_links_and_tables_of_contents_are_no_text():
    text = (
        "# Seats\n\n[Home](/) | [Help](/help) | [Contact](/contact)\n\n"
        "- [Holding](#holding)\n- [Prices](#prices)\n\n"
        "## Holding\n\nA hold lasts ten minutes, see [Prices](#prices).\n"
    )
    (found,) = chunks(text)
    assert found.text == "A hold lasts ten minutes, see [Prices](#prices)."
    assert text[found.start : found.end] == found.text


def test_links_inside_a_fence_or_with_words_beside_them_stay():
    text = "See [one](a.md) and [two](b.md) first.\n\n```\n[a](b) [c](d)\n```\n"
    assert "".join(chunk.text for chunk in chunks(text)).count("](") == 4


def test_of_nothing_but_headings_the_headings_are_told():
    assert chunk_texts("# One\n\n## Two\n") == ["# One\n\n## Two"]


def test_a_heading_with_nothing_under_it_that_says_something_is_a_chunk_of_its_own():
    found = chunks(
        "# Facts\n\n## We close on Mondays\n\n## Cakes cost 30 euros\n\n## Contact\n\nWrite to us.\n"
    )
    assert [(chunk.headings, chunk.text) for chunk in found] == [
        (("Facts",), "## We close on Mondays"),
        (("Facts",), "## Cakes cost 30 euros"),
        (("Facts", "Contact"), "Write to us."),
    ]
    assert [chunk.first_line for chunk in found] == [3, 5, 9]


@pytest.mark.parametrize(
    "bare", ["## License", "## Getting started", "## How do I sign in?", "## 1.2.0", "##"]
)
def test_a_heading_that_only_names_or_asks_is_no_chunk(bare):
    assert chunk_texts(f"# Guide\n\nText.\n\n{bare}\n") == ["Text."]


def test_a_heading_above_others_stands_over_their_text_and_is_not_repeated():
    found = chunks("# The shop is closed now\n\n## Until when it stays so\n\nUntil May.\n")
    assert [(chunk.headings, chunk.text) for chunk in found] == [
        (("The shop is closed now", "Until when it stays so"), "Until May.")
    ]


def test_a_sentence_above_a_rule_of_dashes_is_text():
    assert chunk_texts("The cakes of this house are blue.\n---\nVans are red.") == [
        "The cakes of this house are blue.\n---\nVans are red."
    ]
    assert [chunk.headings for chunk in chunks("The cakes of the house\n---\nBlue.")] == [
        ("The cakes of the house",)
    ]


@pytest.mark.parametrize("text", ["", " ", "\n\n\t\n"])
def test_nothing_gives_nothing(text):
    assert chunks(text) == []


@given(texts, st.integers(8, 40))
def test_no_chunk_is_too_large_and_nothing_that_was_said_is_lost(text, size):
    found = chunk_text(text, EXACT, size)
    covered = set()
    for chunk in found:
        assert chunk.text == text[chunk.start : chunk.end]
        assert 0 < EXACT.count(chunk.text) <= size
        assert 1 <= chunk.first_line <= chunk.last_line <= text.count("\n") + 1
        covered.update(range(chunk.start, chunk.end))
    assert [chunk.start for chunk in found] == sorted(chunk.start for chunk in found)
    if not any(line.lstrip().startswith(("#", "-", "+")) for line in text.split("\n")):  # no headings
        assert {at for at, character in enumerate(text) if not character.isspace()} <= covered


def test_a_long_text_without_a_blank_is_counted_a_bounded_number_of_times():
    counted = []

    class Counting(TiktokenTokenizer):
        def count(self, text):
            counted.append(len(text))
            return super().count(text)

    found = chunk_text("é" * 200_000, Counting())
    assert sum(len(chunk.text) for chunk in found) == 200_000
    assert sum(counted) < 100 * 200_000  # what grows with the square would be a thousand times that
