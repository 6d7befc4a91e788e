"""What a new statement replaces: which earlier ones it is read beside, and which relations follow."""

from __future__ import annotations

from datetime import timedelta

import pytest

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.engine.defaults import default_reader
from foreword.errors import EmbeddingError
from foreword.store.base import ListRelations
from foreword.testing import HashEmbeddings
from foreword.types import AMENDS, REPLACES, Source

USER, AGENT, TOOL, WEB = (Source(name, name) for name in ("user", "agent", "tool", "web"))
OLD, NEW = "The API of the shop listens on port 4000.", "The API of the shop listens on port 5000 now."


class PairReader:
    """Reads nothing for prompts; gives each pair the chance that its rule says."""

    def __init__(self, chance=lambda newer, older: 0.9):
        self.chance, self.pairs = chance, []

    def scores(self, query, texts, expires=None):
        return [0.0 for _ in texts]

    def replacement_chances(self, pairs):
        self.pairs += pairs
        return [self.chance(newer, older) for newer, older in pairs]


@pytest.fixture
def open_engine(tmp_path, clock):
    """Opens an engine with this reader; all are closed in the end."""
    opened = []

    def make(reader):
        engine = ContextEngine(
            embedding_provider=HashEmbeddings(), settings=Settings(home=tmp_path), clock=clock, reader=reader
        )
        opened.append(engine)
        return engine

    yield make
    for engine in opened:
        engine.close()


def say(engine, clock, text, source=USER, kind="turn", **more):
    clock.advance(days=1)
    return engine.remember(text, "w", kind=kind, source=source, **more)


def replaced(engine):
    engine.embed_pending("w")
    relations = [one for one in engine.store.run(ListRelations("w")) if one.type == REPLACES]
    return {(one.from_id, one.to_id): one.confidence for one in relations}


def test_a_new_statement_replaces_an_earlier_one_about_the_same(open_engine, clock):
    engine = open_engine(PairReader())
    old = say(engine, clock, OLD)
    engine.embed_pending("w")
    new = say(engine, clock, NEW)
    assert replaced(engine) == {(new.id, old.id): 0.9}


def test_statements_that_get_their_vectors_together_are_compared_too(open_engine, clock):
    engine = open_engine(PairReader())
    old, new = say(engine, clock, OLD), say(engine, clock, NEW)
    assert replaced(engine) == {(new.id, old.id): 0.9}


def test_a_doubt_leaves_both(open_engine, clock):
    engine = open_engine(PairReader(lambda newer, older: 0.08))
    say(engine, clock, OLD)
    say(engine, clock, NEW)
    assert replaced(engine) == {}


def test_the_reader_sees_who_said_what_and_when(open_engine, clock):
    reader = PairReader()
    engine = open_engine(reader)
    say(engine, clock, OLD, AGENT)
    clock.advance(days=4)
    say(engine, clock, NEW)
    engine.embed_pending("w")
    assert set(reader.pairs) == {(f"user, today: {NEW}", f"agent, 5 days ago: {OLD}")}


def test_a_memory_is_read_as_something_its_author_said(open_engine, clock):
    reader = PairReader()
    engine = open_engine(reader)
    say(engine, clock, OLD, AGENT, kind="memory")
    say(engine, clock, NEW, kind="memory")
    engine.embed_pending("w")
    assert set(reader.pairs) == {(f"user, today: {NEW}", f"agent, yesterday: {OLD}")}


def test_what_names_another_value_is_also_read_without_the_line_before(open_engine, clock):
    reader = PairReader(lambda newer, older: 0.05 if "(after" in newer else 0.7)
    engine = open_engine(reader)
    old = say(engine, clock, OLD)
    say(engine, clock, "Shall we go and have lunch now?", AGENT, session="s")
    new = engine.remember(NEW, "w", kind="turn", source=USER, session="s")
    assert replaced(engine) == {(new.id, old.id): 0.7}


def test_a_correction_is_read_after_what_it_answers(open_engine, clock):
    reader = PairReader()
    engine = open_engine(reader)
    say(engine, clock, OLD, session="s")
    engine.remember("Shall the API listen on port 4000?", "w", kind="turn", source=AGENT, session="s")
    clock.advance(minutes=1)
    engine.remember("no, the API of the shop listens on 5000", "w", kind="turn", source=USER, session="s")
    engine.embed_pending("w")
    lines = [newer for newer, _ in reader.pairs]
    assert any(line.endswith("(after agent: Shall the API listen on port 4000?)") for line in lines)


LONG = (
    "Pottery keeps me sane in these long weeks and the people in the studio have become friends of mine "
    "over the winter"
)
TALK = [
    ("I went to the pottery class in Lund.", "The pottery class in Lund was about glazes."),
    ("The pottery class is a great way to relax.", "The pottery class is a way to learn."),
    ("Thanks, the pottery wheel is in the shed.", "The pottery wheel in the shed is heavy."),
    ("The pottery wheel is in the shed.", "Hey, the pottery wheel in the shed is blue."),
    (f"{LONG}, which helps.", f"{LONG}, and nobody asks me about work."),
    ("The pottery market was packed!", "The pottery market was loud!"),
]


@pytest.mark.parametrize(("older", "newer"), TALK)
def test_in_talk_only_a_sure_reader_is_believed(open_engine, clock, older, newer):
    for chance, count in ((0.95, 0), (0.99, 1)):
        engine = open_engine(PairReader(lambda newer, older, chance=chance: chance))
        workspace = f"talk-{count}"
        for text in (older, newer):
            clock.advance(days=1)
            engine.remember(text, workspace, kind="turn", source=USER)
        engine.embed_pending(workspace)
        assert len(engine.store.run(ListRelations(workspace))) == count


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("We had 12 people in the pottery class!", "The pottery class is down to 9 people!"),
        ("I love the pottery class.", "The pottery class is cancelled."),
        ("The pottery class is on Mondays.", "The pottery class is on Tuesdays now."),
    ],
)
def test_another_number_or_a_cancellation_counts_in_talk_too(open_engine, clock, older, newer):
    engine = open_engine(PairReader(lambda newer, older: 0.6))
    old, new = say(engine, clock, older), say(engine, clock, newer)
    assert list(replaced(engine)) == [(new.id, old.id)]


RESTATED = [
    ("Fresh segments are written with lz4.", "Segments are written with lz4 now.", AGENT, "turn"),
    ("The backpack has 30 slots.", "Backpack: 30 slots for Noor's frame.", AGENT, "commit"),
    ("I take ramipril, so no ibuprofen.", "Joaquim takes ramipril: no ibuprofen.", USER, "memory"),
]


@pytest.mark.parametrize(("older", "newer", "source", "kind"), RESTATED)
def test_what_confirms_a_statement_on_the_same_day_does_not_replace_it(
    open_engine, clock, older, newer, source, kind
):
    engine = open_engine(PairReader())
    engine.remember(older, "w", kind="turn", source=USER)
    clock.advance(hours=1)
    engine.remember(newer, "w", kind=kind, source=source)
    assert replaced(engine) == {}


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The slot is held for 12 minutes.", "The slot is held for 15 minutes."),
        ("The audit of the shop is on Tuesday.", "The audit of the shop is on Friday."),
        ("The sensor of the shop answers at 0x44.", "The sensor of the shop answers at 0x45."),
        ("The API of the shop is public.", "Scrap the public API of the shop."),
    ],
)
def test_another_value_or_a_revocation_replaces_on_the_same_day_too(open_engine, clock, older, newer):
    engine = open_engine(PairReader())
    old = engine.remember(older, "w", kind="turn", source=USER)
    clock.advance(hours=1)
    new = engine.remember(newer, "w", kind="turn", source=USER)
    assert list(replaced(engine)) == [(new.id, old.id)]


@pytest.mark.parametrize(("changed", "count"), [(["a.go", "b.go"], 1), (["c.go"], 0)])
def test_a_commit_replaces_only_one_that_changed_a_file_of_its_own(open_engine, clock, changed, count):
    engine = open_engine(PairReader())
    git = Source("git:Ana", "repository")
    say(engine, clock, OLD, git, kind="commit", metadata={"files": ["b.go"]})
    say(engine, clock, NEW, git, kind="commit", metadata={"files": changed})
    assert len(replaced(engine)) == count


@pytest.mark.parametrize("source", [TOOL, WEB])
def test_what_a_tool_printed_or_a_page_says_never_undoes_a_persons_word(open_engine, clock, source):
    engine = open_engine(PairReader())
    say(engine, clock, OLD)
    say(engine, clock, NEW, source)
    assert replaced(engine) == {}


@pytest.mark.parametrize("source", [USER, AGENT])
def test_the_repositorys_own_commits_are_held_against_what_was_said(open_engine, clock, source):
    engine = open_engine(PairReader())
    old = say(engine, clock, OLD, source)
    new = say(engine, clock, NEW, Source("git:Ana", "repository"), kind="commit")
    assert list(replaced(engine)) == [(new.id, old.id)]


@pytest.mark.parametrize("kind", ["code", "document", "summary"])
def test_what_changes_with_its_file_is_not_compared(open_engine, clock, kind):
    reader = PairReader()
    engine = open_engine(reader)
    say(engine, clock, OLD)
    say(engine, clock, NEW, kind=kind)
    assert replaced(engine) == {}
    assert reader.pairs == []


def test_a_question_replaces_nothing(open_engine, clock):
    engine = open_engine(PairReader())
    say(engine, clock, OLD)
    say(engine, clock, "Does the API of the shop listen on port 5000 now?")
    assert replaced(engine) == {}


def test_a_long_item_is_not_replaced_as_a_whole(open_engine, clock):
    engine = open_engine(PairReader())
    say(engine, clock, f"{OLD} " + "Another sentence about something that is quite different from it. " * 12)
    say(engine, clock, NEW)
    assert replaced(engine) == {}


def test_an_older_statement_that_is_stored_late_replaces_nothing_newer(open_engine, clock):
    engine = open_engine(PairReader())
    new = say(engine, clock, NEW)
    engine.embed_pending("w")
    old = engine.remember(OLD, "w", kind="turn", created_at=clock() - timedelta(days=30))
    assert (old.id, new.id) not in replaced(engine)


def test_other_workspaces_are_not_compared(open_engine, clock):
    engine = open_engine(PairReader())
    engine.remember(OLD, "other", kind="turn")
    engine.embed_pending("other")
    say(engine, clock, NEW)
    assert replaced(engine) == {}


def test_a_judge_that_fails_costs_no_vector(open_engine, clock):
    def fail(newer, older):
        raise EmbeddingError("the reader is damaged")

    engine = open_engine(PairReader(fail))
    say(engine, clock, OLD)
    say(engine, clock, NEW)
    assert replaced(engine) == {}
    assert engine.embed_pending("w") == 0, "both have their vectors"


def test_a_reader_that_cannot_read_pairs_is_not_asked(open_engine, clock):
    class PlainReader:
        def scores(self, query, texts, expires=None):
            return [0.0 for _ in texts]

    engine = open_engine(PlainReader())
    say(engine, clock, OLD)
    say(engine, clock, NEW)
    assert replaced(engine) == {}


def test_questions_take_no_place_among_what_is_compared(open_engine, clock):
    engine = open_engine(PairReader())
    old = say(engine, clock, OLD)
    for port in range(4001, 4012):
        say(engine, clock, f"The API of the shop listens on port {port}, does it?")
    new = say(engine, clock, NEW)
    assert list(replaced(engine)) == [(new.id, old.id)]


def test_outputs_of_tools_only_take_the_places_that_are_left(open_engine, clock):
    engine = open_engine(PairReader())
    old = say(engine, clock, OLD)
    for port in range(4001, 4012):
        say(engine, clock, f"The API of the shop listens on port {port}.", TOOL)
    new = say(engine, clock, NEW)
    assert (new.id, old.id) in replaced(engine)


def sure_of(*newer):
    """A rule that is sure of these newer statements where the older one is `OLD`, and of no others."""
    return lambda new, old: 0.9 if OLD in old and any(text in new for text in newer) else 0.0


def test_what_replaces_a_statement_replaces_its_bare_correction_too(open_engine, clock):
    engine = open_engine(PairReader(sure_of(NEW)))
    old = say(engine, clock, OLD, session="s")
    clock.advance(minutes=1)
    between = engine.remember("no, 4500", "w", kind="turn", source=USER, session="s")
    engine.embed_pending("w")
    new = say(engine, clock, NEW, session="t")
    assert set(replaced(engine)) == {(between.id, old.id), (new.id, old.id), (new.id, between.id)}


def test_of_two_that_changed_the_same_value_the_newer_replaces_the_other(open_engine, clock):
    between = "The API of the shop listens on port 4500."
    engine = open_engine(PairReader(sure_of(between, NEW)))
    old, first, new = (say(engine, clock, text) for text in (OLD, between, NEW))
    assert set(replaced(engine)) == {(first.id, old.id), (new.id, old.id), (new.id, first.id)}


def test_changes_of_different_parts_do_not_replace_each_other(open_engine, clock):
    both = "The API of the shop is on port 4000 and the admin page of the shop is on 4001."
    engine = open_engine(PairReader(lambda new, old: 0.9 if both in old else 0.0))
    old = say(engine, clock, both)
    api = say(engine, clock, "The API of the shop is on port 5000 now.")
    admin = say(engine, clock, "The admin page of the shop is on 5001 now.")
    engine.embed_pending("w")
    relations = {(one.from_id, one.to_id, one.type) for one in engine.store.run(ListRelations("w"))}
    assert relations == {(api.id, old.id, AMENDS), (admin.id, old.id, AMENDS)}


def test_what_an_agent_repeated_is_outdated_with_the_statement(open_engine, clock):
    engine = open_engine(PairReader(lambda new, old: 0.9 if "user" in old else 0.2))
    old = say(engine, clock, OLD, session="s")
    clock.advance(minutes=1)
    echo = engine.remember(
        "Noted: the API of the shop is on port 4000.", "w", kind="turn", source=AGENT, session="s"
    )
    engine.embed_pending("w")
    new = say(engine, clock, NEW, session="t")
    assert replaced(engine) == {(new.id, old.id): 0.9, (new.id, echo.id): 0.9}


def test_reports_on_different_files_replace_nothing_however_sure_the_reader_is(open_engine, clock):
    engine = open_engine(PairReader(lambda new, old: 0.99))
    for name in ("README.md", "CHANGELOG.md"):
        say(engine, clock, f"I updated {name} of the shop with the port of the API.", AGENT)
        say(engine, clock, f"Edited {name}: the port of the API of the shop", TOOL, metadata={"file": name})
    assert replaced(engine) == {}


def test_a_report_of_what_was_written_is_no_correction(open_engine, clock):
    engine = open_engine(None)
    say(engine, clock, "Quotes of the shop expire after 15 minutes.", AGENT, session="s")
    clock.advance(minutes=1)
    engine.remember("I wrote them to .env, which is ignored.", "w", kind="turn", source=AGENT, session="s")
    assert replaced(engine) == {}


PAIRS = [
    ("We deploy on Tuesdays.", "Deploys are on Thursdays from now on.", True),
    ("Ana owns the parser.", "Ben owns the parser now.", True),
    ("We use npm for the frontend.", "We switched from npm to pnpm.", True),
    ("The backup server is heron-42.", "it is osprey-7 in Dublin now, heron-42 is gone", True),
    ("We deploy on Tuesdays.", "The deploy of the docs takes four minutes.", False),
    ("Staging runs Postgres 16.", "Lunch with the team is on Friday.", False),
    ("Ana owns the parser.", "Ben owns the lexer.", False),
]


@pytest.mark.reader
@pytest.mark.parametrize(("older", "newer", "wanted"), PAIRS)
def test_the_bundled_reader_tells_replacements_from_additions(older, newer, wanted):
    reader = default_reader(Settings())
    (chance,) = reader.replacement_chances([(f"user, today: {newer}", f"user, 9 days ago: {older}")])
    assert (chance >= 0.3) is wanted
