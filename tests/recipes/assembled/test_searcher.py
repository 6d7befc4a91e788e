"""Five sources behind one door, each with its filters, on a real store."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from foreword.compose.assembled import ContextItem
from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.errors import EmbeddingError, ValidationError
from foreword.knowledge.experience import Lesson, RootCause
from foreword.knowledge.experiences import Experiences
from foreword.recipes.assembled.searcher import EngineSearcher
from foreword.store.base import MarkShown
from foreword.testing import HashEmbeddings, WordMatch
from foreword.types import Receipt, Source

QUESTION = "deadlock in Postgres"


@pytest.fixture
def searcher(engine):
    return EngineSearcher(engine, "shop", deadline_ms=None)


def run_search(search):
    return asyncio.run(search)


def texts(search):
    return [item.result.memory.text for item in run_search(search)]


def experience(number, **held):
    return {
        "experience": f"e{number}", "domain": "debugging", "strategy": "read-the-error", "goal": "stop it",
        "outcome": {"status": "falsified", "result": "it came back"}, "surprise": "", "tier": "silver",
    } | held  # fmt: skip


# Every source


def test_each_source_is_searched_alone(engine, searcher):
    for kind in ("memory", "code", "experience", "value", "commit", "turn"):
        engine.remember(f"A deadlock in Postgres, as a {kind}.", "shop", kind=kind)
    searches = {
        "memory": searcher.search_memories,
        "code": searcher.search_code,
        "experience": searcher.search_experiences,
        "value": searcher.search_values,
        "commit": searcher.search_commits,
    }
    for kind, search in searches.items():
        items = run_search(search(QUESTION))
        assert [item.source for item in items] == [kind]
        assert isinstance(items[0], ContextItem)
        assert 0 < items[0].relevance <= 1
        assert items[0].metadata["id"] == items[0].result.memory.id


def test_another_workspace_is_never_seen(engine, searcher):
    engine.remember("A deadlock in Postgres.", "elsewhere")
    assert run_search(searcher.search_memories(QUESTION)) == []


def test_a_limit_is_kept_and_what_is_beyond_it_is_told(engine, searcher):
    for number in range(5):
        engine.remember(f"Deadlock {number} in Postgres.", "shop")
    items = run_search(searcher.search_memories(QUESTION, 2))
    assert len(items) == 2
    assert {dropped.reason for dropped in items.dropped} == {"over limit"}
    assert len(items.dropped) == 3


def test_what_was_superseded_makes_room_for_what_holds(engine, searcher):
    old = engine.remember("Postgres deadlock: lock rows by name.", "shop")
    engine.remember("Postgres deadlock: lock rows by id.", "shop", supersedes=old.id)
    engine.remember("Priya knows Postgres, and a good deal about museums and their tickets too.", "shop")
    items = run_search(searcher.search_memories(QUESTION, 2))
    assert len(items) == 2
    assert old.id not in {item.metadata["id"] for item in items}
    assert old.id in {gone.result.memory.id for gone in items.dropped if gone.reason == "superseded"}


def test_many_more_than_were_asked_for_are_no_news(engine, searcher):
    for number in range(45):
        engine.remember(f"Deadlock {number} in Postgres.", "shop")
    items = run_search(searcher.search_memories(QUESTION, 2))
    assert (len(items), items.notes) == (2, ())
    assert {dropped.reason for dropped in items.dropped} == {"over limit"}


@pytest.mark.parametrize("limit", [0, -1, 1001, "ten", True])
def test_an_impossible_limit_is_refused(searcher, limit):
    with pytest.raises(ValidationError, match="limit"):
        run_search(searcher.search_memories(QUESTION, limit))


def test_a_workspace_must_be_named(engine):
    with pytest.raises(ValidationError, match="workspace"):
        EngineSearcher(engine, " ")


def test_a_space_that_fails_is_a_note(engine, searcher, monkeypatch):
    engine.remember("A deadlock in Postgres.", "shop")

    def broken(_query):
        raise EmbeddingError("the encoder is gone")

    semantic = next(space for space in engine.kit.spaces if space.name == "semantic")
    monkeypatch.setattr(semantic, "probe", broken)
    items = run_search(searcher.search_memories(QUESTION))
    assert len(items) == 1
    assert [note.part for note in items.notes] == ["semantic"]


# Filters


def test_memories_of_one_category(engine, searcher):
    engine.remember("Deadlock in Postgres: a fact.", "shop", type="fact")
    engine.remember("Deadlock in Postgres: a decision.", "shop", type="decision")
    assert texts(searcher.search_memories(QUESTION, 10, "fact")) == ["Deadlock in Postgres: a fact."]


def test_code_of_one_language_and_one_type_of_unit(engine, searcher):
    for language in ("python", "rust"):
        for unit in ("function", "class"):
            held = {"language": language, "unit": unit, "path": "a", "name": "x"}
            engine.remember(f"deadlock in postgres {language} {unit}", "shop", kind="code", metadata=held)
    assert len(texts(searcher.search_code(QUESTION))) == 4
    assert len(texts(searcher.search_code(QUESTION, language="Rust"))) == 2
    got = texts(searcher.search_code(QUESTION, language="rust", unit_type="class"))
    assert got == ["deadlock in postgres rust class"]


def test_values_of_one_axis(engine, searcher):
    for axis in ("full", "surprise"):
        engine.remember(f"Deadlock in Postgres, {axis}.", "shop", kind="value", metadata={"axis": axis})
    assert texts(searcher.search_values(QUESTION, axis="surprise")) == ["Deadlock in Postgres, surprise."]


def test_commits_by_one_author_and_since_a_time(engine, searcher, clock):
    for author in ("Priya", "Tom"):
        engine.remember(
            f"Deadlock in Postgres, by {author}.", "shop", kind="commit",
            metadata={"author": author, "author_email": f"{author.lower()}@example.com"},
        )  # fmt: skip
        clock.advance(days=10)
    assert texts(searcher.search_commits(QUESTION, author="priya")) == ["Deadlock in Postgres, by Priya."]
    assert texts(searcher.search_commits(QUESTION, author="tom@example.com")) == [
        "Deadlock in Postgres, by Tom."
    ]
    late = clock() - timedelta(days=11)
    assert texts(searcher.search_commits(QUESTION, since=late)) == ["Deadlock in Postgres, by Tom."]


def test_what_a_narrow_filter_lets_through_is_found_however_deep_it_lies(engine, searcher):
    for number in range(260):
        engine.remember(
            f"deadlock in Postgres {number}", "shop", kind="code", metadata={"language": "python"}
        )
    filler = " and much that has nothing to do with the question" * 4
    engine.remember(f"One deadlock{filler}.", "shop", kind="code", metadata={"language": "rust"})
    engine.embed_pending("shop")
    assert len(run_search(searcher.search_code(QUESTION, 5, language="rust"))) == 1


# Experiences


def test_without_anyone_who_knows_axes_experiences_are_filtered_by_what_they_hold(engine, searcher):
    for number, held in enumerate(
        [
            {},
            {"domain": "testing"},
            {"strategy": "ask-user"},
            {"outcome": {"status": "confirmed", "result": "gone"}},
            {"surprise": "two workers"},
            {"outcome": None},
        ]
    ):
        text = f"A deadlock in Postgres, the {number}."
        engine.remember(text, "shop", kind="experience", metadata=experience(number, **held))

    def numbers(**filters):
        return sorted(
            item.metadata["id"] for item in run_search(searcher.search_experiences(QUESTION, **filters))
        )

    assert numbers() == ["e0", "e1", "e2", "e3", "e4"]  # the last has not ended yet
    assert numbers(domain="testing") == ["e1"]
    assert numbers(strategy="ask-user") == ["e2"]
    assert numbers(outcome="confirmed") == ["e3"]
    assert numbers(axis="surprise") == ["e4"]
    assert numbers(axis="root_cause") == []


def test_an_unknown_axis_is_refused(searcher):
    with pytest.raises(ValidationError, match="no axis named 'sideways'; there are: full, strategy"):
        run_search(searcher.search_experiences(QUESTION, axis="sideways"))


@pytest.fixture
def past_experiences(engine):
    experiences = Experiences(engine)
    for goal, status in (("stop the deadlock", "falsified"), ("sort the rows", "confirmed")):
        begun = experiences.start(
            "shop", domain="debugging", strategy="read-the-error", goal=goal,
            hypothesis="rows lock in two orders", action="sort the ids", prediction="no deadlock in an hour",
        )  # fmt: skip
        experiences.resolve(
            "shop", begun.id, status, "it came back" if status == "falsified" else "it is gone",
            surprise="a second worker", lesson=Lesson("one lock"),
            root_cause=RootCause("wrong-assumption", "one worker was assumed"),
        )  # fmt: skip
    engine.embed_pending("shop")
    return experiences


def test_experiences_are_found_as_they_stand_and_not_as_they_stood(engine, past_experiences):
    searcher = EngineSearcher(engine, "shop", past_experiences, deadline_ms=None)
    items = run_search(searcher.search_experiences("the deadlock"))
    assert sorted(item.metadata["outcome_status"] for item in items) == ["confirmed", "falsified"]
    assert "- **Outcome**: falsified - it came back" in "\n".join(item.content for item in items)


def test_an_axis_asks_who_knows_axes(engine, past_experiences):
    searcher = EngineSearcher(engine, "shop", past_experiences, deadline_ms=None)
    items = run_search(searcher.search_experiences("one worker", axis="root_cause", outcome="falsified"))
    assert [item.metadata["outcome_status"] for item in items] == ["falsified"]
    assert items[0].result.ranks == {"root_cause": 1}


# What the assembler needs


def test_a_receipt_is_kept_and_its_session_told(engine, searcher):
    item = engine.remember("A deadlock.", "shop")
    query = searcher.make_query(QUESTION)
    assert (query.text, query.workspace) == (QUESTION, "shop")
    engine.store.batch([MarkShown("shop", "s1", (item.id,), query.now)])
    assert searcher.shown_ids("s1") == {item.id}
    searcher.record(Receipt("r1", "shop", query.now, QUESTION, "assembled", 100, 0))
    engine.store.batch([])
    assert engine.explain("shop", "r1").query == QUESTION


def test_searching_leaves_the_event_loop_free(searcher, engine):
    engine.remember("A deadlock in Postgres.", "shop", source=Source("notes"))

    async def main():
        search = asyncio.create_task(searcher.search_memories(QUESTION))
        turns = 0
        while not search.done():
            await asyncio.sleep(0)
            turns += 1
        return turns, await search

    turns, items = asyncio.run(asyncio.wait_for(main(), 60))
    assert turns > 1
    assert len(items) == 1


# Lanes


class LengthReader:
    """A reader that thinks well of long statements; it notes what it was shown."""

    def __init__(self):
        self.seen = []

    def scores(self, query, texts, expires=None):
        self.seen += texts
        return [len(text) / 20 for text in texts]


@pytest.fixture
def read_engine(tmp_path, clock):
    settings = Settings(home=tmp_path / "read", embedding="none")
    with ContextEngine(
        embedding_provider=HashEmbeddings(), settings=settings, clock=clock, reader=LengthReader(),
        token_space=WordMatch(),
    ) as made:  # fmt: skip
        yield made


@pytest.mark.parametrize(
    ("kind", "search"),
    [
        ("memory", "search_memories"),
        ("experience", "search_experiences"),
        ("value", "search_values"),
        ("commit", "search_commits"),
        ("document", "search_documents"),
        ("code", "search_code"),
    ],
)
def test_the_full_lane_judges_every_source_again(read_engine, kind, search):
    short, long = (
        "A deadlock in Postgres.",
        "A deadlock, and much else that helps, told at length.",
    )
    for text in (short, long):
        read_engine.remember(text, "shop", kind=kind)
    read_engine.embed_pending("shop")
    lanes = {}
    for lane in ("fast", "full"):
        searcher = EngineSearcher(read_engine, "shop", deadline_ms=None, lane=lane)
        items = run_search(getattr(searcher, search)(QUESTION))
        lanes[lane] = {item.result.memory.text: item for item in items}
    assert lanes["fast"].keys() == lanes["full"].keys()
    relevances = {lane: {text: one.relevance for text, one in lanes[lane].items()} for lane in lanes}
    assert relevances["fast"] != relevances["full"]
    noted = "token_match" if kind == "code" else "read"
    assert all(noted in one.result.scores for one in lanes["full"].values())
    if kind == "code":  # not put to the reader, which turns good code away
        assert read_engine.reader.seen == []
    elif kind != "document":  # how near a document is has a say, too
        assert relevances["full"][long] > relevances["full"][short]


def test_what_was_not_read_is_no_more_probable_than_what_was(read_engine):
    for number in range(40):
        read_engine.remember(f"Deadlock {number} in Postgres, one of many that were seen.", "shop")
    searcher = EngineSearcher(read_engine, "shop", deadline_ms=None, lane="full")
    relevances = [item.relevance for item in run_search(searcher.search_memories(QUESTION, 40))]
    assert len(relevances) == 40
    assert relevances == sorted(relevances, reverse=True)


def test_a_reader_that_fails_is_a_note_in_every_lane_that_reads(read_engine, monkeypatch):
    read_engine.remember("A deadlock in Postgres.", "shop")

    def broken(*_):
        raise EmbeddingError("the reader is gone")

    monkeypatch.setattr(read_engine.reader, "scores", broken)
    items = run_search(EngineSearcher(read_engine, "shop", lane="full").search_memories(QUESTION))
    assert len(items) == 1
    assert "read" in [note.part for note in items.notes]


# One scale


def test_a_commit_is_nearly_as_relevant_as_a_memory_that_says_the_same(engine, searcher):
    text = "Lock the rows by id, so that no deadlock comes in Postgres."
    engine.remember(text, "shop")
    engine.remember(text, "shop", kind="commit")
    engine.embed_pending("shop")
    memory, commit = (
        run_search(search(QUESTION))[0].relevance
        for search in (searcher.search_memories, searcher.search_commits)
    )
    assert memory / 2 < commit <= memory


def test_documents_are_a_source_like_the_others(engine, searcher):
    held = {"path": "docs/locks.md", "start_line": 12, "headings": ["Locks", "Postgres"]}
    source = Source("file:docs/locks.md", "repository")
    engine.remember(
        "Deadlock in Postgres: sort the ids.", "shop", kind="document", metadata=held, source=source
    )
    engine.remember("Deadlock in Postgres: elsewhere.", "shop", kind="document", metadata={"path": "a.md"})
    assert len(run_search(searcher.search_documents(QUESTION))) == 2
    (item,) = run_search(searcher.search_documents(QUESTION, path="docs/locks.md"))
    assert item.content == (
        "**Document** `docs/locks.md:12` › Locks › Postgres, file docs/locks.md says:\n"
        "> Deadlock in Postgres: sort the ids."
    )
    assert (item.source, item.metadata["file_path"], item.metadata["start_line"]) == (
        "document",
        "docs/locks.md",
        12,
    )
