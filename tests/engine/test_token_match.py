"""Tokens are encoded behind the write, compared in a search, and forgotten with their items."""

from __future__ import annotations

import pytest

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.errors import EmbeddingError, ValidationError
from foreword.store.base import GetTokenCodes
from foreword.testing import HashEmbeddings, WordMatch
from foreword.types import Note

HERE = "shop"


class Broken(WordMatch):
    """A token space whose model is missing."""

    def encode_items(self, items):
        raise EmbeddingError("the model is missing")

    def compare(self, question, codes, expires=None):
        raise EmbeddingError("the model is missing")


class Slow(WordMatch):
    """A token space that never has an answer in time."""

    def compare(self, question, codes, expires=None):
        return None


class Noting(WordMatch):
    """A token space that notes which questions it was told to begin with."""

    def __init__(self):
        self.begun = []

    def encode_soon(self, question):
        self.begun.append(question)


def make_engine(home, clock, space, **options):
    return ContextEngine(
        embedding_provider=HashEmbeddings(),
        settings=Settings(home=home),
        clock=clock,
        token_space=space,
        **options,
    )


@pytest.fixture
def engine(home, clock):
    with make_engine(home, clock, WordMatch()) as engine:
        yield engine


def codes(engine, *ids):
    return engine.store.run(GetTokenCodes(HERE, WordMatch.digest, ids))


def test_talk_gets_codes_and_other_kinds_do_not(engine):
    kept = [engine.remember(f"The {kind} speaks of lamps.", HERE, kind=kind) for kind in
            ("memory", "turn", "document", "code", "summary")]  # fmt: skip
    engine.embed_pending(HERE)
    assert set(codes(engine, *(one.id for one in kept))) == {kept[0].id, kept[1].id}
    assert engine.count(HERE).token_codes == 2
    assert engine.embed_pending(HERE) == 0


def test_a_search_says_how_well_the_tokens_fit(engine):
    engine.remember("The lamps of the harbour are red.", HERE)
    engine.remember("Nobody was there.", HERE)
    engine.embed_pending(HERE)
    first = engine.search("red harbour lamps", HERE)[0]
    assert first.memory.text.startswith("The lamps")
    assert first.scores["token_match"] == 1.0


def test_what_was_stored_without_codes_is_found_and_made_up_for(home, clock):
    with make_engine(home, clock, None) as before:
        kept = before.remember("The lamps of the harbour are red.", HERE)
        before.embed_pending(HERE)
        assert codes(before, kept.id) == {}
    with make_engine(home, clock, WordMatch()) as engine:
        assert engine.search("red lamps", HERE)[0].memory == kept
        engine.embed_pending(HERE)
        assert list(codes(engine, kept.id)) == [kept.id]


def test_forgetting_an_item_forgets_its_codes(engine, home):
    kept = engine.remember("Sesame opens the vault.", HERE)
    engine.embed_pending(HERE)
    assert codes(engine, kept.id) == {kept.id: b"sesame opens vault"}
    assert engine.forget(HERE, kept.id).problems == ()
    assert codes(engine, kept.id) == {}
    engine.close()
    left = [path for path in home.rglob("*") if path.is_file() and b"sesame opens vault" in path.read_bytes()]
    assert left == []


def test_without_its_model_items_are_found_and_the_receipt_says_why(home, clock):
    with make_engine(home, clock, WordMatch()) as whole:
        whole.remember("The lamps of the harbour are red.", HERE)
        whole.embed_pending(HERE)
    with make_engine(home, clock, Broken()) as engine:
        engine.remember("The harbour has a new lamp.", HERE)
        engine.embed_pending(HERE)
        assert engine.count(HERE).vectors == {"semantic": 2}
        assert engine.count(HERE).token_codes == 1
        result = engine.build_context("harbour lamps", HERE)
        assert "lamps of the harbour" in result.context
        assert [note.message for note in result.receipt.notes if note.part == "token_match"] == [
            "failed: the model is missing"
        ]


def test_if_there_is_no_time_a_note_says_that_tokens_were_not_compared(home, clock):
    with make_engine(home, clock, Slow()) as engine:
        engine.remember("The lamps of the harbour are red.", HERE)
        engine.embed_pending(HERE)
        result = engine.build_context("harbour lamps", HERE)
        assert "lamps of the harbour" in result.context
        assert Note("token_match", "late: the deadline passed") in result.receipt.notes


def test_an_engine_can_do_without(home, clock):
    with make_engine(home, clock, WordMatch(), without=("token_match",)) as engine:
        engine.remember("The lamps of the harbour are red.", HERE)
        engine.embed_pending(HERE)
        assert "token_match" not in engine.search("red lamps", HERE)[0].scores
    with pytest.raises(ValidationError, match="no space named"):
        make_engine(home, clock, None, without=("token_match",))


@pytest.mark.tokens
def test_the_default_engine_compares_tokens_unless_it_is_told_not_to(home):
    def has_token_space(**settings):
        with ContextEngine(settings=Settings(home=home, **settings)) as engine:
            return engine.kit.token_space is not None

    assert has_token_space()
    assert not has_token_space(late_interaction="none")
    assert not has_token_space(embedding="none")


def test_tokens_of_a_question_are_encoded_early_only_where_they_may_be_compared(home, clock):
    space = Noting()
    with make_engine(home, clock, space) as engine:
        engine.remember("The lamp is in the hall.", HERE, kind="document")
        engine.search("Where are documents?", HERE, kinds=("document",))
        engine.search("Where is code?", HERE, kinds=("code", "document"))
        assert space.begun == []
        engine.search("Where is talk?", HERE, kinds=("document", "turn"))
        engine.search("Where is anything?", HERE)
    assert space.begun == ["Where is talk?", "Where is anything?"]
