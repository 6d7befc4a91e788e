"""What documents say about a question: found, boosted, judged and chosen, on a real store."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.compose.knowledge_chunk import knowledge_text
from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.errors import ContextError, ValidationError
from foreword.indexing.knowledge_base import Document, KnowledgeBase
from foreword.recipes.dialogue.angles import search_angles_for_question
from foreword.recipes.dialogue.rag import RAGConfig, RAGSystem
from foreword.testing import HashEmbeddings
from foreword.types import ResolvedEntity, Turn

QUESTION = "How long does a museum refund take?"
EVERYTHING = RAGConfig(min_relevance=0.0, recency_weight=0.0, entity_weight=0.0, final_chunk_count=50)


@pytest.fixture
def base(engine):
    base = KnowledgeBase(engine, "shop")
    base.index_document(Document("Refunds", "A museum refund takes thirty days.", doc_id="refunds"))
    base.index_document(Document("Groups", "A museum group pays by invoice.", doc_id="groups"))
    base.index_document(
        Document("Postgres", "Deadlocks end when rows are locked in order.", doc_id="postgres")
    )
    engine.embed_pending("shop")
    return base


def entity(name):
    return ResolvedEntity(name.lower(), name, 0.9)


def ids(retrieved):
    return [chunk.source.doc_id for chunk in retrieved.chunks]


def relevance(retrieved):
    return {chunk.source.doc_id: chunk.relevance for chunk in retrieved.chunks}


def log_odds(probability):
    return math.log(probability / (1 - probability))


# Finding


def test_what_answers_comes_first_and_says_where_it_is_from(engine, base):
    base.update_document(
        "refunds",
        Document("Refunds", "# Abroad\n\nA museum refund takes sixty days.", url="https://example.org/r"),
    )
    engine.embed_pending("shop")
    found = RAGSystem(engine, "shop", EVERYTHING).retrieve(QUESTION)
    best = found.chunks[0]
    assert best.source.doc_id == "refunds"
    assert best.content == "A museum refund takes sixty days."
    assert best.formatted.startswith("Source: Refunds, Abroad, line 3, page example.org\n---\n")
    assert best.token_count == engine.tokenizer.count(best.formatted)
    assert found.citations[0] == "Refunds, Abroad, line 3, https://example.org/r"
    assert found.considered == 3
    assert not found.reranked


def test_a_document_is_cited_once(engine, base):
    text = "# One\n\nA museum refund takes days.\n\n# Two\n\nA museum refund needs a receipt."
    base.update_document("refunds", Document("Refunds", text))
    found = RAGSystem(engine, "shop", EVERYTHING).retrieve(QUESTION)
    assert ids(found).count("refunds") == 2
    assert len(found.citations) == 3


def test_only_documents_answer(engine, base):
    engine.remember("A museum refund takes ages, says Ann.", "shop")
    found = RAGSystem(engine, "shop", EVERYTHING).retrieve(QUESTION)
    assert len(found.chunks) == 3
    assert RAGSystem(engine, "shop").available_chunks() == 3


def test_files_of_a_folder_answer_too(engine, base, tmp_path):
    (tmp_path / "staff.md").write_text("# Staff\n\nStaff get a museum refund at once.\n")
    base.index_folder(tmp_path)
    engine.embed_pending("shop")
    found = RAGSystem(engine, "shop", EVERYTHING).retrieve("museum refund for staff")
    assert found.chunks[0].source.doc_id.endswith("staff.md")
    assert found.chunks[0].source.place == "Staff, line 3"


def test_another_workspace_is_never_seen(engine, base):
    empty = RAGSystem(engine, "elsewhere", EVERYTHING)
    assert empty.retrieve(QUESTION).chunks == ()
    assert empty.available_chunks() == 0


@pytest.mark.parametrize("question", ["", "   ", "?!"])
def test_a_question_without_words_is_answered_without_failing(engine, base, question):
    assert len(RAGSystem(engine, "shop", EVERYTHING).retrieve(question).chunks) <= 3


# After a talk

TALK = (
    Turn("We could not come to the museum on Sunday, all four of us were ill."),
    Turn("I am sorry. You can have a museum refund.", role="assistant"),
)


@pytest.fixture
def helpdesk(home, clock):
    """The documents of a helpdesk, and an engine with all that comes with Foreword."""
    with ContextEngine(settings=Settings(home=home), clock=clock) as engine:
        base = KnowledgeBase(engine, "drills")
        switch = "Hold the red key for six seconds until the lamp goes out."
        battery = "## Battery\nCharge it for two hours."
        sections = f"# Bora 12\n## Setting the safety switch back\n{switch}\n{battery}"
        base.index_document(Document("bora.md", sections))
        base.index_document(Document("guarantee.md", "# Guarantee\nTwo years, three if you register it."))
        base.index_document(Document("shop.md", "# Shop\nThe shop in Mill Lane is open from nine to six."))
        engine.embed_pending("drills")
        yield RAGSystem(engine, "drills")


DRILL = (
    Turn("My new drill does nothing at all, it is the Bora 12."),
    Turn("Then its safety switch has to be set back.", role="assistant"),
)


@pytest.mark.reader
def test_a_follow_up_finds_what_the_talk_is_about(helpdesk):
    assert helpdesk.retrieve("How do I do that?").chunks == ()
    found = helpdesk.retrieve("How do I do that?", talk=DRILL).chunks
    assert "red key" in found[0].content
    assert len(found) <= 2


@pytest.mark.reader
@pytest.mark.parametrize("message", ["great, thanks a lot", "what is the capital of Peru?", "hello!"])
def test_chatter_and_questions_about_other_things_find_nothing(helpdesk, message):
    assert helpdesk.retrieve(message).chunks == ()


@pytest.mark.reader
def test_a_first_question_in_other_words_finds_its_section(helpdesk):
    (found, *_) = helpdesk.retrieve("how long must the battery be plugged in?").chunks
    assert "two hours" in found.content


# Reading


class WordReader:
    """A reader that likes one word, or fails; it remembers what it was asked, and until when."""

    def __init__(self, word, liked=9.0):
        self.word = word
        self.liked = liked
        self.asked = []
        self.counts = []

    def scores(self, query, texts, expires=None):
        self.asked.append((query, expires))
        self.counts.append(len(texts))
        if self.word is None:
            raise ContextError("the model is gone")
        return [self.liked if self.word in text else -9.0 for text in texts]


@pytest.fixture
def make_reading_engine(home, clock):
    engines = []

    def make(reader):
        made = ContextEngine(
            embedding_provider=HashEmbeddings(), settings=Settings(home=home), clock=clock, reader=reader
        )
        engines.append(made)
        base = KnowledgeBase(made, "shop")
        base.index_document(Document("Groups", "A museum group pays by invoice.", doc_id="groups"))
        base.index_document(Document("Refunds", "A museum refund takes days.", doc_id="refunds"))
        made.embed_pending("shop")
        return made

    yield make
    for one in engines:
        one.close()


def test_the_reader_decides_between_chunks_that_share_the_same_words(make_reading_engine):
    engine = make_reading_engine(WordReader("invoice"))
    assert ids(RAGSystem(engine, "shop").retrieve("museum")) == ["groups"]


def test_the_reader_is_asked_from_every_angle_within_one_deadline(make_reading_engine):
    reader = WordReader("refund")
    system = RAGSystem(make_reading_engine(reader), "shop", RAGConfig(deadline_ms=60_000))
    system.retrieve("How long does that take?", talk=TALK)
    (after, expires), (alone, later) = reader.asked
    assert alone == "How long does that take?"
    assert after == "\n".join([TALK[0].text, TALK[1].text, alone])
    assert expires == later is not None


def test_of_what_is_read_from_the_heaviest_angle_little_is_read_again_from_the_others(make_reading_engine):
    reader = WordReader("refund")
    engine = make_reading_engine(reader)
    for number in range(8):
        text = f"Museum note number {number}, about the same."
        KnowledgeBase(engine, "shop").index_document(Document(f"Note {number}", text))
    engine.embed_pending("shop")
    longer = [*TALK, *(replace(turn, raw_text=f"{turn.text} Again.") for turn in TALK)]
    question = "How long does that museum take?"
    angles = sorted(search_angles_for_question(question, longer), key=lambda angle: -angle.weight)
    found = RAGSystem(engine, "shop").retrieve(question, talk=longer)
    assert [asked.splitlines()[-1] for asked, _ in reader.asked] == [question] * 3
    assert reader.asked[0][0] == angles[0].text
    assert reader.counts == [4, 2, 2]
    assert ids(found) == ["refunds"]


def test_a_threshold_of_0_gives_what_the_reader_dislikes_too(make_reading_engine):
    engine = make_reading_engine(WordReader("invoice"))
    assert ids(RAGSystem(engine, "shop", EVERYTHING).retrieve("museum")) == ["groups", "refunds"]


def test_a_reader_that_fails_leaves_a_note_and_what_the_search_found(make_reading_engine):
    found = RAGSystem(make_reading_engine(WordReader(None)), "shop").retrieve("museum refund")
    assert ids(found)[0] == "refunds"
    assert [note.part for note in found.notes] == ["read"]


def test_a_long_chunk_is_told_by_the_passage_that_helps(make_reading_engine):
    engine = make_reading_engine(WordReader("voucher"))
    cloakroom = " ".join(f"Hook {number} of the cloakroom is for umbrellas." for number in range(9))
    rule = "A voucher for the museum is bought:\n\n- at the desk\n\n- by telephone"
    cafe = " ".join(f"Table {number} of the café has a view of the river." for number in range(9))
    text = f"{cafe}\n\n{rule}\n\n{cloakroom}"
    KnowledgeBase(engine, "shop").index_document(Document("Vouchers", text, doc_id="vouchers"))
    engine.embed_pending("shop")
    (chunk,) = RAGSystem(engine, "shop").retrieve("museum voucher").chunks
    assert rule in chunk.content
    assert "cloakroom" not in chunk.content


# Boosting


def test_what_is_fresh_counts_more_by_the_formula(engine, clock, base):
    old, new = clock.now - timedelta(days=365), clock.now
    for name, date in (("old", old), ("new", new)):
        base.index_document(Document(name, f"The {name} museum refund rule.", date=date, doc_id=name))
    engine.embed_pending("shop")
    plain = relevance(RAGSystem(engine, "shop", EVERYTHING).retrieve("museum rule"))
    weighed = RAGConfig(min_relevance=0.0, recency_weight=0.5, entity_weight=0.0, final_chunk_count=50)
    fresh = relevance(RAGSystem(engine, "shop", weighed).retrieve("museum rule"))
    assert log_odds(fresh["new"]) - log_odds(plain["new"]) == pytest.approx(0.5 * 0.8)
    assert log_odds(fresh["old"]) - log_odds(plain["old"]) == pytest.approx(0.5 * 0.8 * math.exp(-1))
    assert fresh["groups"] == plain["groups"]  # nobody knows its date


def test_what_speaks_of_the_entities_counts_more_by_the_formula(engine, base):
    base.index_document(Document("Duty", "Ann Lee is on duty with Bob.", doc_id="duty"))
    base.index_document(Document("Annex", "The annex is on duty too.", doc_id="annex"))
    engine.embed_pending("shop")
    plain = relevance(RAGSystem(engine, "shop", EVERYTHING).retrieve("who has duty"))
    weighed = RAGConfig(min_relevance=0.0, recency_weight=0.0, entity_weight=0.4, final_chunk_count=50)
    asked = RAGSystem(engine, "shop", weighed)
    both = relevance(asked.retrieve("who has duty", [entity("Ann Lee"), entity("Bob")]))
    assert log_odds(both["duty"]) - log_odds(plain["duty"]) == pytest.approx(0.4 * 1.2)
    half = relevance(asked.retrieve("who has duty", [entity("ANN LEE"), entity("Carol")]))
    assert log_odds(half["duty"]) - log_odds(plain["duty"]) == pytest.approx(0.4 * 1.2 / 2)
    part = relevance(asked.retrieve("who has duty", [entity("Ann")]))
    assert part["annex"] == plain["annex"]


def test_what_speaks_of_an_entity_does_not_hide_what_answers_as_well(make_reading_engine):
    engine = make_reading_engine(WordReader("Fridays", liked=-1.0))
    for name in ("Ann Lee", "Bob"):
        text = f"{name} shows the museum to groups on Fridays."
        KnowledgeBase(engine, "shop").index_document(Document(name, text, doc_id=name))
    engine.embed_pending("shop")
    rag = RAGSystem(engine, "shop", RAGConfig(entity_weight=1.0))
    found = rag.retrieve("who shows the museum to groups on Fridays", [entity("Ann Lee")])
    assert ids(found) == ["Ann Lee", "Bob"]
    assert max(relevance(found).values()) < 1.0


def test_boosts_alone_are_not_enough_to_be_said(engine, clock, base):
    base.index_document(Document("News", "Ann Lee likes gardening.", date=clock.now, doc_id="news"))
    engine.embed_pending("shop")
    found = RAGSystem(engine, "shop").retrieve("zzz qqq", [entity("Ann Lee")])
    assert found.chunks == ()


# Choosing


def test_a_chunk_that_does_not_fit_is_skipped_and_the_next_one_tried(engine, base):
    base.update_document("refunds", Document("Refunds", "A museum refund takes days. " + "Refund! " * 100))
    found = RAGSystem(engine, "shop", EVERYTHING).retrieve("museum refund", max_tokens=60)
    assert "refunds" not in ids(found)
    assert "groups" in ids(found)
    assert [note.message for note in found.notes if note.part == "budget"] == [
        "1 relevant chunks did not fit into 60 tokens"
    ]


def test_no_more_chunks_than_asked_for_are_given(engine, base):
    few = RAGConfig(min_relevance=0.0, final_chunk_count=1)
    assert len(RAGSystem(engine, "shop", few).retrieve(QUESTION).chunks) == 1


def test_below_the_threshold_nothing_is_said(engine, base):
    strict = RAGConfig(min_relevance=1.0)
    found = RAGSystem(engine, "shop", strict).retrieve("an unrelated thing about deadlocks")
    assert found.chunks == ()
    assert found.considered == 3


@settings(max_examples=40)
@given(st.integers(-5, 200))
def test_the_text_of_all_chunks_keeps_within_its_tokens(engine, most):
    base = KnowledgeBase(engine, "many")
    for number in range(6):
        base.index_document(Document(f"Rule {number}", f"Museum rule {number}: " + "wait " * number * 3))
    found = RAGSystem(engine, "many", EVERYTHING).retrieve("museum rule", max_tokens=most)
    assert engine.tokenizer.count(knowledge_text(found.chunks)) <= max(0, most)
    assert sum(chunk.token_count for chunk in found.chunks) <= max(0, most)


# Reranking


class Reader:
    """A cross-encoder that likes one word, or fails."""

    def __init__(self, word):
        self.word = word

    def scores(self, query, texts, expires=None):
        if self.word is None:
            raise ContextError("the model is gone")
        return [8.0 if self.word in text else -8.0 for text in texts]


@pytest.mark.parametrize(("word", "first"), [("invoice", "groups"), ("rows", "postgres")])
def test_the_cross_encoder_has_half_a_say_where_it_is_asked(home, clock, word, first):
    config = RAGConfig(min_relevance=0.0, enable_reranking=True)
    with ContextEngine(
        embedding_provider=HashEmbeddings(), settings=Settings(home=home), clock=clock, reranker=Reader(word)
    ) as engine:
        base = KnowledgeBase(engine, "shop")
        base.index_document(Document("Groups", "A museum group pays by invoice.", doc_id="groups"))
        base.index_document(Document("Postgres", "A museum lock takes rows in order.", doc_id="postgres"))
        engine.embed_pending("shop")
        found = RAGSystem(engine, "shop", config).retrieve("museum")
        assert found.reranked
        assert ids(found)[0] == first
        assert all(0 <= chunk.relevance <= 1 for chunk in found.chunks)
        assert not RAGSystem(engine, "shop", EVERYTHING).retrieve("museum").reranked


def test_a_cross_encoder_that_fails_leaves_a_note_and_the_order_of_the_search(home, clock, caplog):
    config = RAGConfig(min_relevance=0.0, enable_reranking=True)
    with ContextEngine(
        embedding_provider=HashEmbeddings(), settings=Settings(home=home), clock=clock, reranker=Reader(None)
    ) as engine:
        KnowledgeBase(engine, "shop").index_document(Document("Groups", "A museum group pays."))
        found = RAGSystem(engine, "shop", config).retrieve("museum group")
    assert len(found.chunks) == 1
    assert not found.reranked
    assert [note.part for note in found.notes] == ["rerank"]
    assert "chunks were not reranked" in caplog.text


# Bad input


@pytest.mark.parametrize(
    "wrong",
    [
        {"initial_retrieval_count": 0},
        {"final_chunk_count": 0},
        {"min_relevance": 1.5},
        {"recency_weight": -0.1},
        {"entity_weight": math.nan},
        {"deadline_ms": 0},
        {"deadline_ms": "50"},
        {"deadline_ms": math.nan},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        RAGConfig(**wrong)


def test_a_document_item_that_somebody_made_by_hand_does_not_break_anything(engine):
    engine.remember(
        "A museum refund, by hand.",
        "shop",
        kind="document",
        metadata={"headings": 5, "date": "soon", "url": 7},
    )
    (chunk,) = RAGSystem(engine, "shop", EVERYTHING).retrieve(QUESTION).chunks
    assert chunk.source.doc_id == "user"
    assert chunk.source.url == "7"
