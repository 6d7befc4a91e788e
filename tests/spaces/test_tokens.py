"""The encoder of tokens as it is."""

from __future__ import annotations

import hashlib
import time

import pytest

from foreword.errors import EmbeddingError
from foreword.spaces import tokens
from foreword.spaces.bundled import model_folder
from foreword.spaces.tokens import COLBERT, DIMENSIONS, MAX_VECTORS, TokenEncoder
from foreword.types import Item

TURNS = (
    "Ann: The hall is booked for the ninth, and I asked Bo to bring the projector from the library.",
    "Bo: Lovely weather today, the garden is full of bees.",
    "Ann: My sister moved to Lisbon in March and rents out her flat here.",
)


@pytest.fixture(scope="module")
def encoder():
    return TokenEncoder()


@pytest.fixture(scope="module")
def codes(encoder):
    return encoder.encode_items([Item(text, "shop", kind="turn") for text in TURNS])


def best(encoder, codes, question):
    fits = encoder.compare(question, codes)
    return fits.index(max(fits))


def test_a_question_fits_the_turn_that_answers_a_part_of_it(encoder, codes):
    assert best(encoder, codes, "Who brings the projector?") == 0
    assert best(encoder, codes, "Where does Ann's sister live?") == 2


def test_the_same_words_fit_nearly_wholly_and_strangers_less(encoder, codes):
    fits = encoder.compare(TURNS[1], codes)
    assert fits[1] > 0.95
    assert max(fits[0], fits[2]) < fits[1] - 0.05


def test_an_answer_does_not_depend_on_the_other_items(encoder, codes):
    together = encoder.compare("Who brings the projector?", codes)
    alone = [encoder.compare("Who brings the projector?", [one])[0] for one in codes]
    assert together == pytest.approx(alone, abs=1e-4)
    assert encoder.compare("Who brings the projector?", []) == []


def test_an_item_never_has_more_vectors_than_fit_into_a_page(encoder):
    long = Item("The harbour master wrote down every ship, its flag and its cargo. " * 60, "shop")
    short, mark = Item("Yes.", "shop"), Item("?!", "shop")
    lengths = [len(one) / DIMENSIONS for one in encoder.encode_items([long, short, mark])]
    assert lengths[0] == MAX_VECTORS
    assert MAX_VECTORS * DIMENSIONS < 4000
    assert all(1 <= length <= 5 for length in lengths[1:])


def test_a_long_question_is_compared_by_its_beginning(encoder, codes):
    assert best(encoder, codes, "Who brings the projector? " + "Tell me. " * 2000) == 0


def test_a_question_begun_early_is_encoded_once_and_gives_the_same(encoder, codes, monkeypatch):
    expected = encoder.compare("who sails on Sundays", codes)
    encoder.clear_question_cache()
    runs = []
    run = tokens.run_batch
    monkeypatch.setattr(tokens, "run_batch", lambda *given: runs.append(1) or run(*given))
    encoder.encode_soon("who sails on Sundays")
    assert encoder.compare("who sails on Sundays", codes) == expected
    assert len(runs) == 1


def test_a_question_begun_early_loads_the_model(encoder, codes):
    fresh = TokenEncoder()
    fresh.encode_soon("who sails on Sundays")
    assert fresh.compare("who sails on Sundays", codes) == encoder.compare("who sails on Sundays", codes)


def test_a_question_that_cannot_be_encoded_early_fails_where_it_is_compared(encoder, codes, monkeypatch):
    encoder.clear_question_cache()

    def fail(*_):
        raise EmbeddingError("no memory")

    monkeypatch.setattr(tokens, "run_batch", fail)
    encoder.encode_soon("who sails")
    with pytest.raises(EmbeddingError):
        encoder.compare("who sails", codes)


def test_a_model_that_is_not_there_in_time_gives_no_answer(codes):
    assert TokenEncoder().compare("Who?", codes, expires=time.monotonic() - 1) is None


def test_codes_of_a_wrong_length_are_refused(encoder):
    for wrong in (b"", b"x" * (DIMENSIONS + 1)):
        with pytest.raises(EmbeddingError, match="wrong length"):
            encoder.compare("Who?", [b"x" * DIMENSIONS, wrong])


def test_the_files_are_the_ones_that_were_bundled():
    for name, digest in COLBERT.sha256.items():
        data = model_folder(COLBERT.name).joinpath(name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest


def test_a_missing_model_says_what_to_do(monkeypatch):
    monkeypatch.setattr(
        tokens, "COLBERT", tokens.BundledModel("no-such-model", dict.fromkeys(COLBERT.sha256, ""))
    )
    with pytest.raises(EmbeddingError, match="reinstall"):
        TokenEncoder().encode_items([Item("anything", "shop")])
