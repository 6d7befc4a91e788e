"""The stages by which a context says what helps and nothing else, one by one and together."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from foreword import pipeline
from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.errors import EmbeddingError
from foreword.pipeline import (
    MAX_NEAR_MISSES,
    MAX_TOLD,
    SearchDraft,
    SearchKit,
    drop_questions_and_summaries,
    drop_tail,
    judge_best_with_reader,
    tell_successors,
)
from foreword.recall.read import MAX_READ
from foreword.recipes.coding.injection import MAX_READ_BEFORE_TOOL, InjectionPipeline
from foreword.store.base import MarkShown
from foreword.testing import HashEmbeddings, WordTokens
from foreword.types import (
    REPLACES,
    ContextLine,
    DroppedResult,
    Item,
    Query,
    RelatedMemory,
    Relation,
    SearchResult,
    Source,
)

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
AGENT = Source("agent", "agent")


class Reader:
    """Gives the logit of the first of its phrases that a text contains; reads at most so many."""

    def __init__(self, *rules, otherwise=-11.0, most=1000):
        self.rules, self.otherwise, self.most = rules, otherwise, most
        self.readings = []

    def scores(self, query, texts, expires=None):
        self.readings.append(list(texts))
        return [self._logit(text) for text in texts][: self.most]

    def _logit(self, text):
        return next((logit for phrase, logit in self.rules if phrase in text), self.otherwise)

    @property
    def read(self):
        """What it was shown first."""
        return self.readings[0]


class BrokenReader:
    """Fails."""

    def scores(self, query, texts, expires=None):
        raise EmbeddingError("the reader is damaged")


class Reranker(Reader):
    """The same double, where the other cross-encoder stands."""


def result_of(text, name="", kind="memory", days=3, score=0.3, **scores):
    item = Item(text, "w", kind=kind, id=name or text, created_at=NOW - timedelta(days=days))
    return SearchResult(item, score, scores=scores)


def draft_of(*results, reader=None, question="Which port?", **more):
    kit = SearchKit(store=None, spaces=(), clocks=(), tokenizer=WordTokens(), reader=reader)
    return SearchDraft(kit=kit, query=Query(question, "w", NOW), results=results, **more)


def ids(draft):
    return [result.memory.id for result in draft.results]


def dropped(draft):
    return [(one.result.memory.id, one.reason, one.detail) for one in draft.dropped]


def notes(made):
    return [(note.part, note.message) for note in made.notes]


# What states nothing


def test_bare_questions_and_summaries_are_dropped_and_the_order_stays():
    draft = drop_questions_and_summaries(
        draft_of(
            result_of("The port is 4000.", "a"),
            result_of("Which port is it?", "b", kind="turn"),
            result_of("They talked about ports and chose 4000.", "c", kind="summary"),
            result_of("Do we know the port?", "d"),
            result_of("Use port 4000.", "e", kind="turn"),
        )
    )
    assert ids(draft) == ["a", "e"]
    why = ("no answer", "states nothing of its own")
    assert dropped(draft) == [("b", *why), ("c", *why), ("d", *why)]


@pytest.mark.parametrize("kind", ["code", "document", "commit", "experience", "value"])
def test_only_talk_can_be_a_bare_question(kind):
    given = draft_of(result_of("Why not both?", kind=kind))
    assert drop_questions_and_summaries(given) is given


def test_a_receipt_lists_a_few_of_many_questions():
    draft = drop_questions_and_summaries(
        draft_of(*(result_of(f"Is it {at}?") for at in range(MAX_NEAR_MISSES + 9)))
    )
    assert ids(draft) == []
    assert len(draft.dropped) == MAX_NEAR_MISSES


# The reader's judgement


def test_the_best_by_their_blend_are_read_and_judged_and_the_others_dropped():
    given = draft_of(
        result_of("one", "a", blend=0.1),
        result_of("two", "b", blend=0.9),
        result_of("three", "c", blend=0.8),
        reader=Reader(("three", 5.0)),
    )
    draft = judge_best_with_reader(2)(given)
    assert ids(draft) == ["c", "b"]
    assert draft.results[0].score > 0.5 > 0.04 > draft.results[1].score
    assert dropped(draft) == [("a", "over limit", "not among the 2 read")]
    assert len(given.kit.reader.read) == 2


def test_what_is_not_read_in_time_is_dropped():
    results = [result_of(f"number {at}", str(at), blend=1 - at / 10) for at in range(5)]
    draft = judge_best_with_reader(5)(draft_of(*results, reader=Reader(otherwise=1.0, most=3)))
    assert sorted(ids(draft)) == ["0", "1", "2"]
    assert [(name, reason) for name, reason, _ in dropped(draft)] == [
        ("3", "over limit"),
        ("4", "over limit"),
    ]


def test_a_reader_that_fails_is_a_note_and_the_results_stay():
    given = draft_of(result_of("one"), result_of("two"), reader=BrokenReader())
    draft = judge_best_with_reader(5)(given)
    assert (draft.results, draft.dropped) == (given.results, ())
    assert notes(draft) == [("read", "failed: the reader is damaged")]


def test_a_reader_that_has_no_time_is_a_note_and_the_results_stay():
    given = draft_of(result_of("one"), result_of("two"), reader=Reader(most=0))
    draft = judge_best_with_reader(5)(given)
    assert (draft.results, draft.dropped) == (given.results, ())
    assert notes(draft) == [("read", "late: the deadline passed")]


@pytest.mark.parametrize("question", ["", "  \n"])
def test_without_a_question_nothing_is_read(question):
    reader = Reader()
    given = draft_of(result_of("one"), reader=reader, question=question)
    assert judge_best_with_reader(5)(given) is given
    assert reader.readings == []


@pytest.mark.parametrize("stage", [judge_best_with_reader(3), tell_successors, drop_tail])
def test_without_a_reader_these_stages_change_nothing(stage):
    given = draft_of(*(result_of(f"number {at}", score=0.9 / (1 + at)) for at in range(20)))
    assert stage(given) is given


def test_what_was_not_read_is_not_judged_by_the_readers_measures():
    given = draft_of(
        *(result_of(f"number {at}", score=0.9 / (1 + at)) for at in range(20)), reader=BrokenReader()
    )
    assert drop_tail(given) is given


# What was said later

PORT = result_of("The API of the shop listens on port 4000.", "old", days=20, score=0.8, read=4.0)
MOVED = result_of("The API of the shop moved to port 5000.", "new", days=2, score=0.03, read=1.0)
OTHER = result_of("Lunch is at noon on Fridays.", "lunch", days=1, score=0.5, read=1.0)


class Relations:
    """A store that knows which item replaced which."""

    def __init__(self, *pairs, confidence=0.9):
        self.pairs, self.confidence = pairs, confidence

    def expand(self, workspace, ids, depth, filters):
        found = [RelatedMemory(newer.memory, Relation(newer.memory.id, older, REPLACES, self.confidence), 1)
                 for newer, older in self.pairs]  # fmt: skip
        return dict.fromkeys(ids, tuple(found))


def with_relations(draft, *pairs, confidence=0.9):
    return replace(draft, kit=replace(draft.kit, store=Relations(*pairs, confidence=confidence)))


def test_what_was_said_later_stands_in_the_place_of_what_it_made_untrue():
    given = draft_of(PORT, OTHER, reader=Reader(), dropped=(DroppedResult(MOVED, "below floor"),))
    draft = tell_successors(with_relations(given, (MOVED, "old")))
    assert ids(draft) == ["new", "lunch"]
    assert draft.results[0].score == PORT.score, "it is as relevant as what it replaces"
    assert draft.results[0].history == (PORT.memory,)
    assert dropped(draft) == [("old", "superseded", "new, as the reader sees it")]


def test_a_successor_that_no_space_found_is_told_too():
    draft = tell_successors(with_relations(draft_of(PORT, reader=Reader()), (MOVED, "old")))
    assert ids(draft) == ["new"]


def test_a_successor_that_is_there_already_is_told_once():
    for order in ([PORT, MOVED, OTHER], [MOVED, OTHER, PORT]):
        draft = tell_successors(with_relations(draft_of(*order, reader=Reader()), (MOVED, "old")))
        assert sorted(ids(draft)) == ["lunch", "new"]
        assert [name for name, *_ in dropped(draft)] == ["old"]


def test_of_a_chain_the_last_is_told_with_all_that_was_before():
    last = result_of("The API of the shop moved to port 6000.", "last", days=1, score=0.5, read=2.0)
    given = draft_of(PORT, MOVED, last, reader=Reader())
    draft = tell_successors(with_relations(given, (MOVED, "old"), (last, "new")))
    assert ids(draft) == ["last"]
    assert [item.id for item in draft.results[0].history] == ["old", "new"]
    assert {name for name, *_ in dropped(draft)} == {"old", "new"}


def test_what_a_session_was_shown_makes_older_words_untrue_and_is_not_told_again():
    known = DroppedResult(replace(MOVED, scores={"blend": 0.9}), "already in context")
    given = draft_of(PORT, OTHER, reader=Reader(), dropped=(known,), shown_ids=frozenset({"new"}))
    draft = tell_successors(with_relations(given, (MOVED, "old")))
    assert ids(draft) == ["lunch"]
    assert dropped(draft) == [
        ("new", "already in context", ""),
        ("old", "superseded", "new, as the reader sees it"),
    ]


def test_what_may_be_outdated_by_what_the_session_was_shown_is_not_told_alone():
    known = DroppedResult(replace(MOVED, scores={"blend": 0.9}), "already in context")
    given = draft_of(PORT, reader=Reader(), dropped=(known,), shown_ids=frozenset({"new"}))
    draft = tell_successors(with_relations(given, (MOVED, "old"), confidence=0.2))
    assert [(one.memory.id, [item.id for item in one.later]) for one in draft.results] == [("old", ["new"])]


def test_what_was_corrected_in_this_very_session_is_not_told():
    here = replace(MOVED, memory=replace(MOVED.memory, kind="turn", session="s"))
    given = draft_of(PORT, OTHER, reader=Reader(), session="s")
    assert ids(tell_successors(with_relations(given, (here, "old")))) == ["lunch"]


# The tail


def test_what_is_far_less_probable_than_the_best_is_dropped():
    # Three tenths of the odds of .5 are those of .2307…
    results = [result_of(str(score), score=score, read=1.0) for score in (0.5, 0.3, 0.24, 0.23, 0.05)]
    draft = drop_tail(draft_of(*results, reader=Reader()))
    assert ids(draft) == ["0.5", "0.3", "0.24"]
    assert dropped(draft) == [
        ("0.23", "over limit", "better ones were told"),
        ("0.05", "over limit", "better ones were told"),
    ]


def test_of_many_that_are_as_good_the_first_few_are_told():
    draft = drop_tail(draft_of(*(result_of(str(at), read=1.0) for at in range(12)), reader=Reader()))
    assert ids(draft) == [str(at) for at in range(MAX_TOLD)]
    assert len(draft.dropped) == 12 - MAX_TOLD


def test_nothing_has_no_tail():
    given = draft_of(reader=Reader())
    assert drop_tail(given) is given


# The kit


def test_a_reader_takes_the_place_of_the_reranker():
    kit = replace(draft_of().kit, reranker=Reranker())
    reader = Reader()
    assert (kit.with_reader(reader).reader, kit.with_reader(reader).reranker) == (reader, None)
    assert kit.with_reader(None) is kit


# Together

CREDENTIALS = "Where do the credentials of the billing service live?"
ANSWER = "The credentials of the billing service live in Vault under kv/billing."


@pytest.fixture
def make_engine(home, clock):
    """Makes engines on one folder, each with a reader or a reranker of its own."""
    made = []

    def make(reader=None, reranker=None):
        engine = ContextEngine(
            embedding_provider=HashEmbeddings(),
            settings=Settings(home=home),
            clock=clock,
            reader=reader,
            reranker=reranker,
        )
        made.append(engine)
        return engine

    yield make
    for engine in made:
        engine.close()


def remember(engine, clock, *texts, kind="memory", **more):
    """Keep statements, a day apart; the last one is a day old."""
    clock.now -= timedelta(days=len(texts))
    items = []
    for text in texts:
        items.append(engine.remember(text, "w", kind=kind, **more))
        clock.advance(days=1)
    engine.embed_pending("w")
    return items


def build(engine, question=CREDENTIALS, **more):
    return engine.build_context(question, "w", **more)


def prompt(engine, question=CREDENTIALS, session="s", **more):
    return InjectionPipeline(engine, zone=UTC).generate_context(question, session, workspace="w", **more)


def decisions(made):
    return {entry.item_id: entry.decision for entry in made.receipt.entries}


@pytest.mark.parametrize("ask", [build, prompt])
def test_the_reader_decides_what_is_said(make_engine, clock, ask):
    engine = make_engine(Reader(("Vault", 5.0)))
    answer, other = remember(engine, clock, ANSWER, "The billing service has credentials of many kinds.")
    made = ask(engine)
    assert [entry.item_id for entry in made.receipt.injected_entries] == [answer.id]
    assert decisions(made)[other.id] == "below floor"
    assert made.receipt.injected_entries[0].scores["read"] == 5.0


@pytest.mark.parametrize("ask", [build, prompt])
def test_nothing_is_said_if_the_reader_likes_nothing(make_engine, clock, ask):
    engine = make_engine(Reader())
    remember(engine, clock, "The billing service reads its credentials once a day.")
    assert ask(engine).receipt.injected_entries == ()


@pytest.mark.parametrize("ask", [build, prompt])
def test_a_context_does_not_ask_the_reranker_where_there_is_a_reader(make_engine, clock, ask):
    reader, reranker = Reader(otherwise=3.0), Reranker(otherwise=3.0)
    engine = make_engine(reader, reranker)
    remember(engine, clock, ANSWER)
    ask(engine)
    assert reader.readings
    assert reranker.readings == []


def test_a_search_asks_the_reranker_and_not_the_reader(make_engine, clock):
    reader, reranker = Reader(), Reranker(otherwise=3.0)
    engine = make_engine(reader, reranker)
    (answer,) = remember(engine, clock, ANSWER, kind="turn", session="before")
    assert [hit.memory.id for hit in engine.search(CREDENTIALS, "w", lane="full")] == [answer.id]
    assert reader.readings == []
    assert reranker.readings


@pytest.mark.parametrize("ask", [build, prompt])
@pytest.mark.parametrize(
    ("reader", "message"),
    [(BrokenReader(), "failed: the reader is damaged"), (Reader(most=0), "late: the deadline passed")],
)
def test_without_the_readers_judgement_the_floor_decides_and_a_note_says_so(
    make_engine, clock, ask, reader, message
):
    texts = [ANSWER, *(f"Rule {at} of the billing service and its credentials." for at in range(9))]
    remember(make_engine(), clock, *texts)
    preview = {"record": False} if ask is prompt else {}
    without, unheard = (ask(make_engine(one), **preview) for one in (None, reader))
    assert [entry.item_id for entry in unheard.receipt.injected_entries] == [
        entry.item_id for entry in without.receipt.injected_entries
    ]
    assert len(unheard.receipt.injected_entries) > 1
    assert ("read", message) in notes(unheard.receipt)


def test_a_context_without_a_question_is_as_long_as_ever(make_engine, clock):
    remember(make_engine(), clock, *(f"Rule number {at} holds." for at in range(9)))
    told = [build(make_engine(reader), "", floor=0.0).receipt.injected_entries for reader in (None, Reader())]
    assert len(told[0]) == len(told[1]) == 9


def test_a_question_that_was_asked_before_is_never_told(make_engine, clock):
    engine = make_engine(Reader(otherwise=5.0))
    asked = "Do you know where the credentials of the billing service are kept now?"
    (turn,) = remember(engine, clock, asked, kind="turn", session="before")
    for made in (build(engine), prompt(engine)):
        assert made.receipt.injected_entries == ()
        assert decisions(made)[turn.id] == "no answer"


@pytest.mark.parametrize("ask", [build, prompt])
def test_asked_for_a_hundred_times_the_answer_is_still_found(make_engine, clock, ask):
    engine = make_engine(Reader(("Vault", 5.0)))
    (answer,) = remember(engine, clock, ANSWER)
    remember(engine, clock, *[CREDENTIALS] * 100, kind="turn", session="before")
    assert [entry.item_id for entry in ask(engine).receipt.injected_entries] == [answer.id]


def test_a_session_that_was_shown_a_hundred_other_things_gets_the_answer(make_engine, clock):
    engine = make_engine(Reader(("Vault", 5.0)))
    (answer,) = remember(engine, clock, ANSWER)
    shown = remember(engine, clock, *(f"{CREDENTIALS[:-1]}, part {at}." for at in range(100)))
    engine.store.batch([MarkShown("w", "s", tuple(item.id for item in shown), clock())])
    assert prompt(engine).included_memories == (answer.id,)


@pytest.mark.parametrize("others", [0, 60], ids=["all there is", "enough to say"])
def test_the_store_is_asked_once_if_enough_was_found(make_engine, clock, monkeypatch, others):
    engine = make_engine(Reader(("Vault", 5.0)))
    remember(engine, clock, ANSWER, *(f"Rule {at} of the billing service." for at in range(others)))
    depths = []
    retrieve = pipeline.retrieve_found
    monkeypatch.setattr(
        pipeline, "retrieve_found", lambda *given: depths.append(given[-1]) or retrieve(*given)
    )
    build(engine)
    assert depths == [pipeline.DEPTH]


def test_what_a_session_was_shown_takes_no_place_among_those_that_are_read(make_engine, clock):
    reader = Reader(("Vault", 5.0), ("Rule", 4.0))
    engine = make_engine(reader)
    rules = [f"Rule {at}: {CREDENTIALS[:-1]}, says number {at}." for at in range(MAX_READ)]
    remember(engine, clock, *rules)
    shown = set()
    while (told := prompt(engine)).included_memories:
        assert not shown.intersection(told.included_memories), "nothing is told twice"
        shown.update(told.included_memories)
    (answer,) = remember(engine, clock, ANSWER)
    reader.readings.clear()
    made = prompt(engine)
    assert made.included_memories == (answer.id,)
    assert len(reader.read) == 1, "only what the session has not seen is read"
    assert set(decisions(made).values()) == {"injected", "already in context"}


def test_before_a_tool_fewer_are_read(make_engine, clock):
    reader = Reader(otherwise=1.0)
    engine = make_engine(reader)
    remember(engine, clock, *(f"Rule {at} of the billing service: credentials live." for at in range(40)))
    InjectionPipeline(engine).generate_brief(CREDENTIALS, "s", workspace="w")
    build(engine)
    assert len(reader.readings[0]) == MAX_READ_BEFORE_TOOL
    assert MAX_READ in [len(texts) for texts in reader.readings]


@pytest.mark.parametrize("ask", [build, prompt])
def test_a_long_memory_is_told_by_its_excerpt(make_engine, clock, ask):
    filler = "The weather of that week was discussed at great length by all who were there. " * 6
    engine = make_engine(Reader(("Vault", 5.0)))
    (memory,) = remember(engine, clock, f"{filler}\n\n{ANSWER}\n\n{filler}")
    made = ask(engine)
    text = made.context if ask is build else made.formatted_context
    assert [entry.item_id for entry in made.receipt.injected_entries] == [memory.id]
    assert ANSWER in text
    assert text.count("weather") < 6


LATER = "The credentials of the billing service were moved from Vault to Doppler."


@pytest.mark.parametrize("ask", [build, prompt])
def test_what_was_said_later_is_told_with_what_it_replaced(make_engine, clock, ask):
    engine = make_engine(Reader(("moved", -5.0), ("Vault", 5.0)))  # alone the newer one is below the floor
    old, new = remember(engine, clock, ANSWER, LATER, kind="turn", source=AGENT)
    engine.relate(new.id, old.id, "w", type=REPLACES, confidence=0.8)
    made = ask(engine)
    assert [entry.item_id for entry in made.receipt.injected_entries] == [new.id]
    superseded = next(entry for entry in made.receipt.entries if entry.item_id == old.id)
    assert (superseded.decision, superseded.detail) == ("superseded", f"{new.id}, as the reader sees it")
    text = made.context if ask is build else made.formatted_context
    assert text.index("Doppler") < text.index("(before, ") < text.index(ANSWER)


def test_what_is_outdated_is_not_told_when_its_successor_was_shown(make_engine, clock):
    engine = make_engine(Reader(("moved", 4.0), ("Vault", 5.0)))
    old, new = remember(engine, clock, ANSWER, LATER, kind="turn", source=AGENT)
    engine.relate(new.id, old.id, "w", type=REPLACES, confidence=0.8)
    assert prompt(engine).included_memories == (new.id,)
    again = prompt(engine)
    assert again.included_memories == ()
    assert decisions(again) == {old.id: "superseded", new.id: "already in context"}


def test_each_candidate_stands_in_the_receipt_once(make_engine, clock):
    engine = make_engine(Reader(("Vault", 5.0), otherwise=-5.0))
    remember(engine, clock, ANSWER, *(f"Rule {at} of the billing service: credentials." for at in range(40)))
    for made in (build(engine), prompt(engine)):
        entries = [entry.item_id for entry in made.receipt.entries]
        assert len(entries) == len(set(entries))


def test_the_stages_that_judge_stand_between_what_is_found_and_what_is_kept():
    names = [
        stage.__name__ for stage in pipeline.search_stages_with_floor(0.1, exclude=(pipeline.drop_shown,))
    ]
    assert names == [
        "retrieve", "retrieve_more", "fuse", "compare_tokens", "rerank", "refresh",
        "drop_questions_and_summaries", "drop_shown", "read", "drop_below_floor", "drop_tail",
        "tell_successors", "limit", "relate",
    ]  # fmt: skip


def test_a_floor_of_zero_asks_for_everything_that_was_read():
    assert pipeline.drop_tail in pipeline.search_stages_with_floor(0.04)
    assert pipeline.drop_tail not in pipeline.search_stages_with_floor(0.0)


def test_a_receipt_lists_an_item_once_however_many_stages_dropped_it():
    found, listed = (
        result_of("The map is built.", "a", score=0.3),
        result_of("The map is built.", "a", score=0),
    )
    other = result_of("The lamps are lit.", "b")
    draft = draft_of(other).keep([other], [DroppedResult(found, "no answer", "it sums up")])
    draft = draft.keep([other], [DroppedResult(listed, "already in context")])
    (entry,) = pipeline.make_receipt(draft).entries
    assert (entry.item_id, entry.decision, entry.detail, entry.score) == ("a", "already in context", "", 0.3)


def test_what_is_told_is_not_listed_among_what_was_left_out():
    told = result_of("The map is built.", "a")
    draft = draft_of(told).keep([told], [DroppedResult(told, "no answer", "it sums up")])
    draft = replace(draft, lines=(ContextLine(told, "recent_session", "The map is built.", 5),))
    assert [entry.decision for entry in pipeline.make_receipt(draft).entries] == ["injected"]
