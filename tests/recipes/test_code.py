"""Code in the contexts of an indexed folder: what is told, how, and what makes way."""

from __future__ import annotations

import pytest

from foreword.indexing.indexer import Indexer
from foreword.recipes.code import MAX_BODIES, MAX_PLACES
from foreword.recipes.coding.injection import InjectionPipeline

HOLDS = '''"""Seats that are held while somebody pays."""

from __future__ import annotations

import os
import sys
from datetime import datetime, timedelta
from pathlib import Path

HOLD_SECONDS = 600


def renew_seat_hold(hold, now):
    """Renew the hold of a seat.

    {long}
    """
    hold.ends = now + timedelta(seconds=HOLD_SECONDS)
    return hold


def release_seat_hold(hold):
    """Release the hold of a seat at once."""
    hold.ends = datetime.min
    return hold


class SeatHolds:
    def renew_seat_hold(self, hold): ...
'''
TEST = """from shop.holds import renew_seat_hold


def test_renew_seat_hold_after_its_end():
    \"\"\"Renew the hold of a seat that has ended.\"\"\"
    hold = make_hold()
    assert renew_seat_hold(hold, now=0).ends == 600
"""
QUESTION = "how do we renew the hold of a seat with renew_seat_hold?"


@pytest.fixture
def shop(engine, tmp_path):
    folder = tmp_path / "project"
    (folder / "shop").mkdir(parents=True)
    (folder / "tests").mkdir()
    words = "\n    ".join(
        f"Sentence number {number} says why holds are kept so long." for number in range(40)
    )
    (folder / "shop" / "holds.py").write_text(HOLDS.replace("{long}", words))
    (folder / "tests" / "test_holds.py").write_text(TEST)
    Indexer(engine).index(folder, "shop")
    engine.embed_pending("shop")
    return engine


def contexts(engine, question):
    coding = InjectionPipeline(engine, floor=0.001).generate_context(question, "", workspace="shop")
    return [coding.formatted_context, engine.build_context(question, "shop", floor=0.001).context]


def test_the_best_piece_is_told_by_its_lines_and_no_test_or_stub_is(shop):
    for text in contexts(shop, QUESTION):
        assert "shop/holds.py:" in text
        assert "def renew_seat_hold(hold, now):" in text
        assert "test_holds.py" not in text
        assert "SeatHolds.renew_seat_hold" not in text


def test_a_test_is_told_to_who_asks_for_it(shop):
    for text in contexts(shop, "which test covers renew_seat_hold?"):
        assert "tests/test_holds.py" in text


def test_a_docstring_is_told_once_and_no_word_is_cut(shop):
    for text in contexts(shop, QUESTION):
        assert text.count("Renew the hold of a seat.") == 1
        assert "Sentence number 0 says why holds are kept so long.\n" in text


def test_imports_are_not_told(shop):
    for text in contexts(shop, "where is HOLD_SECONDS set, the seconds of a hold?"):
        assert "HOLD_SECONDS = 600" in text
        assert "from pathlib import Path" not in text


def test_few_pieces_are_told(shop):
    result = InjectionPipeline(shop, floor=0.001).generate_context(QUESTION, "", workspace="shop")
    assert 1 <= len(result.included_memories) <= MAX_BODIES + MAX_PLACES


def test_the_receipt_says_why_a_test_was_left_out(shop):
    receipt = shop.build_context(QUESTION, "shop", floor=0.001).receipt
    assert any(entry.detail == "a test, which the question is not about" for entry in receipt.entries)


@pytest.mark.parametrize("floor", [0.0, 0.001])
def test_a_floor_of_zero_asks_for_everything(shop, floor):
    text = shop.build_context(QUESTION, "shop", floor=floor, token_budget=8000).context
    assert ("test_holds.py" in text) == (floor == 0)
