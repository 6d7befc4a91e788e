from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from foreword.errors import EmbeddingError
from foreword.spaces.dense import DenseSpace
from foreword.testing import HashEmbeddings
from foreword.types import Item, Query

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Counting(HashEmbeddings):
    asked = 0

    def embed(self, text):
        self.asked += 1
        return super().embed(text)


class Broken(HashEmbeddings):
    def __init__(self, vector):
        super().__init__(4)
        self.vector = vector

    def embed(self, text):
        return self.vector


def test_the_same_question_is_encoded_once():
    provider = Counting()
    space = DenseSpace(provider)
    first, second = (space.probe(Query("where is it", "w", NOW)) for _ in range(2))
    assert first == second
    assert provider.asked == 1


def test_a_question_that_brings_its_vector_needs_no_encoder():
    provider = Counting(2)
    probe = DenseSpace(provider).probe(Query("", "w", NOW, vector=(0.6, 0.8)))
    assert probe.vector == (0.6, 0.8)
    assert provider.asked == 0


def test_an_empty_question_has_no_meaning():
    assert DenseSpace(HashEmbeddings()).probe(Query("  ", "w", NOW)) is None


def test_an_item_is_embedded_with_its_surroundings():
    space = DenseSpace(HashEmbeddings())
    bare, spoken = Item("It broke.", "w"), Item("It broke.", "w", about="Priya")
    assert space.embed_items([bare]) != space.embed_items([spoken])
    assert space.view_hash(bare) != space.view_hash(spoken)


@pytest.mark.parametrize("vector", [[1.0], [1.0, 2.0, 3.0, math.nan], [], [1.0, 2.0, 3.0, math.inf]])
def test_a_vector_that_does_not_fit_is_refused(vector):
    with pytest.raises(EmbeddingError):
        DenseSpace(Broken(vector)).probe(Query("what", "w", NOW))
    with pytest.raises(EmbeddingError, match="does not fit hash"):
        DenseSpace(HashEmbeddings(4)).refuse_misfit(vector)


def test_two_encoders_have_two_digests():
    assert DenseSpace(HashEmbeddings(4)).digest != DenseSpace(HashEmbeddings(8)).digest


def test_how_near_strangers_are_is_learnt_with_the_first_question_and_not_before():
    class Nameless(HashEmbeddings):
        unrelated = None

    space = DenseSpace(Nameless())
    assert space.unrelated is None
    space.probe(Query("where is it", "w", NOW))
    assert space.unrelated == pytest.approx(0.0, abs=0.2)
    assert DenseSpace(HashEmbeddings()).unrelated == 0.0, "an encoder that says so is believed"
