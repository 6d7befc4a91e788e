from __future__ import annotations

import random
import time
from dataclasses import replace
from datetime import timedelta
from itertools import count

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.engine.context_engine import NEWEST, ContextEngine
from foreword.errors import StorageError, ValidationError
from foreword.knowledge import supersession
from foreword.store import operations
from foreword.store.base import Amend
from foreword.types import Item, Source

OLD = "The staging database is Postgres 14."
NEW = "The staging database is now Postgres 16."
_COUNTER = count()
AGENT, WEB = Source("agent", "agent"), Source("web", "web")


@pytest.fixture
def say(engine, clock):
    """Say something in `shop`, a minute later than the last."""

    def remember(text, **given):
        clock.advance(minutes=1)
        return engine.remember(text, "shop", **given)

    return remember


@pytest.fixture
def current_texts(engine):
    """The texts that stand in `shop`, oldest kept first."""
    return lambda: [item.text for item in engine.store.scan("shop") if item.superseded_by is None]


def heir(engine, item):
    return engine.store.get("shop", item.id)[0].superseded_by


def test_a_newer_statement_supersedes_the_older(engine, say, current_texts):
    old, new = say(OLD), say(NEW)
    assert heir(engine, old) == new.id
    assert current_texts() == [NEW]


def test_the_receipt_says_what_replaced_what(engine, say):
    old, new = say(OLD), say(NEW)
    context = engine.build_context("Which database is staging on?", "shop", floor=0.0)
    assert NEW in context.context
    assert OLD not in context.context
    assert ("superseded", new.id) in [
        (entry.decision, entry.detail) for entry in context.receipt.entries if entry.item_id == old.id
    ]


def test_a_chain_is_followed_one_by_one(engine, say, current_texts):
    first, second, third = (say(f"The port is {port}.") for port in (1111, 2222, 3333))
    assert (heir(engine, first), heir(engine, second), heir(engine, third)) == (second.id, third.id, None)
    assert current_texts() == ["The port is 3333."]


def test_an_old_statement_said_again_stands_again(engine, say, current_texts):
    old, new = say(OLD), say(NEW)
    again = say(OLD)
    assert (again.id, again.superseded_by) == (old.id, None)
    assert heir(engine, new) == old.id
    assert current_texts() == [OLD]


def test_what_is_over_gives_way_to_whatever_is_said_then(engine, say, current_texts):
    old = say("The staging database is Postgres 16.")
    over = say("The staging database is no longer Postgres 16.")
    assert heir(engine, old) == over.id
    again = say("The staging database is MySQL 8.")
    assert current_texts() == [again.text]
    assert heir(engine, over) == again.id


def test_what_stands_again_is_newer_than_what_it_superseded(engine, say, current_texts, clock):
    say(OLD)
    between = clock.advance(minutes=1)
    say(NEW)
    say(OLD)
    engine.remember("The staging database is Postgres 15.", "shop", created_at=between)
    assert current_texts() == [OLD]


def test_there_is_no_end_to_how_often_one_may_change_ones_mind(engine, say, current_texts):
    for port in [*range(1000, 1100), 1000]:
        say(f"The port is {port}.")
    assert current_texts() == ["The port is 1000."]


@pytest.mark.parametrize(
    ("first", "second", "stands"),
    [(Source(), AGENT, 2), (Source(), WEB, 2), (AGENT, WEB, 2), (AGENT, AGENT, 1), (WEB, Source(), 1)],
)
def test_nobody_supersedes_who_is_trusted_more(say, current_texts, first, second, stands):
    say(OLD, source=first)
    say(NEW, source=second)
    assert len(current_texts()) == stands


def test_who_is_not_sure_supersedes_nothing(say, current_texts):
    say(OLD)
    say(NEW, confidence=0.3)
    assert current_texts() == [OLD, NEW]


def test_metadata_says_what_no_text_could(engine, say, current_texts):
    old = say("Ask Bo.", metadata={"subject": "parser", "attribute": "owner", "value": "Bo"})
    new = say("Ask Ana.", metadata={"subject": "parser", "attribute": "owner", "value": "Ana"})
    assert heir(engine, old) == new.id


def test_other_workspaces_are_not_looked_at(engine, say, current_texts):
    engine.remember(NEW, "elsewhere")
    say(OLD)
    assert current_texts() == [OLD]


def test_events_are_left_alone(say, current_texts):
    say(OLD, kind="turn")
    say(NEW, kind="turn")
    assert current_texts() == [OLD, NEW]


class TestTogether:
    def test_the_order_of_time_counts_and_not_that_of_the_list(self, engine, clock, current_texts):
        ports = [
            Item(f"The port is {at}.", "shop", created_at=clock.advance(minutes=1)) for at in range(20, 50)
        ]
        random.Random(7).shuffle(ports)
        engine.remember_all(ports, "shop")
        assert current_texts() == ["The port is 49."]

    def test_what_was_valid_before_does_not_supersede_what_is_valid_now(
        self, engine, clock, say, current_texts
    ):
        new = say(NEW)
        late = Item(OLD, "shop", created_at=clock.advance(days=1), valid_from=clock.now - timedelta(days=9))
        kept = engine.remember_all([late], "shop")[0]
        assert kept.superseded_by == new.id
        assert current_texts() == [NEW]

    def test_a_past_told_backwards_one_by_one_does_not_stand(self, engine, clock, say, current_texts):
        say("The port is 9999.")
        for back in range(100):
            moment = clock.now - timedelta(days=1 + back)
            engine.remember(f"The port is {1000 + back}.", "shop", created_at=moment)
        assert current_texts() == ["The port is 9999."]

    def test_importing_what_was_exported_changes_nothing(self, engine, say, current_texts):
        say(OLD), say(NEW), say(OLD)
        lines = list(engine.export("shop"))
        engine.import_lines(lines, "shop")
        assert current_texts() == [OLD]
        engine.import_lines(lines, "copy")
        assert list(engine.export("copy")) == lines

    def test_a_workspace_said_line_by_line_or_at_once_is_the_same(self, engine, clock):
        rng = random.Random(3)
        texts = [f"The {name} port is {rng.randrange(4)}." for name in rng.choices("abc", k=60)]
        items = [Item(text, "one", created_at=clock.advance(seconds=1)) for text in texts]
        for item in items:
            engine.remember_all([item], "one")
        engine.remember_all([replace(item, workspace="other") for item in items], "other")
        stands = [
            sorted(item.text for item in engine.store.scan(workspace) if item.superseded_by is None)
            for workspace in ("one", "other")
        ]
        assert stands[0] == stands[1]
        assert len(stands[0]) == 3

    def test_many_batches_are_one_story(self, engine, clock, current_texts):
        items = [
            Item(f"The port is {at}.", "shop", created_at=clock.advance(seconds=1)) for at in range(1100)
        ]
        engine.remember_all(items, "shop")
        assert current_texts() == ["The port is 1099."]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 4), st.booleans()), max_size=12))
def test_whatever_was_said_the_last_word_stands(engine, clock, said):
    workspace, last = f"w{next(_COUNTER)}", {}
    for name, port, together in said:
        clock.advance(seconds=1)
        text = f"The {name} port is {port}."
        if together:
            engine.remember_all([Item(text, workspace, created_at=clock.now)] * 2, workspace)
        else:
            engine.remember(text, workspace)
        last[name] = text
    stands = {item.text for item in engine.store.scan(workspace) if item.superseded_by is None}
    assert stands == set(last.values())
    assert engine.store.check(workspace) == ()


class TestAtOnce:
    @pytest.fixture
    def broken(self, monkeypatch):
        """A store in which nothing can be amended."""

        def refuse(*_):
            raise apsw.IOError("no more")

        monkeypatch.setattr(operations, "_amend_item", refuse)

    def test_a_statement_and_what_it_supersedes_are_kept_together_or_not_at_all(
        self, engine, say, broken, current_texts
    ):
        say(OLD)
        with pytest.raises(StorageError):
            say(NEW)
        assert current_texts() == [OLD]

    def test_so_is_what_a_caller_says_is_superseded(self, engine, say, broken, current_texts):
        old = say("Ask Bo.")
        with pytest.raises(StorageError):
            say("Ask Ana.", supersedes=old.id)
        assert current_texts() == ["Ask Bo."]

    def test_what_supersedes_may_have_been_said_before(self, engine, say):
        new, old = say("Ask Ana."), say("Ask Bo.")
        assert say("Ask Ana.", supersedes=old.id).id == new.id
        assert heir(engine, old) == new.id

    def test_nothing_supersedes_itself(self, engine, say):
        old = say("Ask Bo.")
        with pytest.raises(ValidationError, match="says the same already"):
            say("Ask Bo.", supersedes=old.id)
        assert heir(engine, old) is None

    def test_changes_come_with_the_last_item(self, engine, say, clock):
        old = say("Ask Bo.")
        items = [Item(f"Line {at}.", "shop", created_at=clock.now) for at in range(501)]
        change = Amend("shop", old.id, importance=0.1, superseded_by=NEWEST)
        kept = engine.remember_all(items, "shop", [change])
        now = engine.store.get("shop", old.id)[0]
        assert (now.superseded_by, now.importance) == (kept[-1].id, 0.1)

    def test_changes_without_an_item_are_refused(self, engine, say):
        old = say("Ask Bo.")
        with pytest.raises(ValidationError, match="go with an item"):
            engine.remember_all([], "shop", [Amend("shop", old.id, importance=0.1)])


def test_memories_of_an_older_foreword_are_superseded_too(home, clock, monkeypatch):
    with monkeypatch.context() as before, ContextEngine(clock=clock) as engine:
        before.setattr("foreword.knowledge.supersession.attribute_lookup_keys", lambda _: ())
        old = engine.remember(OLD, "shop")
        path = engine.store.path_of_database("shop")
    db = apsw.Connection(str(path))
    db.execute("DROP TRIGGER items_heir; DELETE FROM migrations WHERE name = '0006-heirs'")
    db.close()
    clock.advance(days=1)
    with ContextEngine(clock=clock) as engine:
        new = engine.remember(NEW, "shop")
        assert heir(engine, old) == new.id
        assert engine.store.check("shop") == ()


def test_the_indexes_agree_with_the_rows(engine, say):
    say(OLD), say(NEW), say(OLD)
    say("Ask Bo.", metadata={"subject": "parser", "attribute": "owner"})
    assert engine.store.check("shop") == ()


def test_looking_for_older_statements_costs_little(engine, clock):
    items = [Item(f"The {at} port is {at}.", "shop", created_at=clock.now) for at in range(2000)]
    engine.remember_all(items, "shop")
    new = [Item("The 77 port is 5.", "shop", created_at=clock.advance(minutes=1))]
    spent = []
    for _ in range(20):
        started = time.thread_time()
        _, changes = supersession.plan_supersessions(engine.store, "shop", new)
        spent.append(time.thread_time() - started)
    assert len(changes) == 1
    assert min(spent) < 0.002
