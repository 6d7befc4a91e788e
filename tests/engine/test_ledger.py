from __future__ import annotations

import pytest

from foreword.engine.ledger import Ledger
from foreword.errors import UnknownId, ValidationError
from foreword.store.base import ListRelations
from foreword.types import DISPUTES, REPLACES, Item, Source

AGENT = Source("agent", "agent")


@pytest.fixture
def ledger(engine):
    return Ledger(engine, "shop")


def test_each_kind_of_line_is_listed_where_it_belongs(ledger):
    ledger.record("Amounts are kept in cents.", "rule")
    ledger.record("The crane is 32 m high.", "fact", subject="crane", attribute="height", value="32 m")
    ledger.record("Paint the pier", "task")
    assert [one.text for one in ledger.list_decisions()] == ["Amounts are kept in cents."]
    assert [(one.attribute, one.value) for one in ledger.list_facts("crane")] == [("height", "32 m")]
    assert [end.text for end in ledger.list_open_ends()] == ["Paint the pier"]


def test_a_correction_replaces_at_once_and_keeps_the_kind(ledger, clock):
    old = ledger.record("We deploy on Tuesdays.", "rule")
    clock.advance(days=1)
    new = ledger.correct(old.id[:6], "We deploy on Thursdays.")
    (line,) = ledger.list_decisions()
    assert (line.item.id, line.kind, [item.id for item in line.before]) == (new.id, "rule", [old.id])


def test_an_agent_cannot_replace_the_users_word(engine, ledger, clock):
    own = ledger.record("We deploy on Tuesdays.", "rule")
    clock.advance(days=1)
    other = ledger.correct(own.id, "We deploy on Thursdays.", AGENT)
    lines = {one.item.id: one for one in ledger.list_decisions()}
    assert [item.id for item in lines[own.id].beside] == [other.id]
    assert [one.type for one in engine.store.run(ListRelations("shop"))] == [DISPUTES]


def test_an_agent_may_record_what_the_user_said_since(engine, ledger, clock):
    own = ledger.record("We deploy on Tuesdays.", "rule")
    clock.advance(days=1)
    said = engine.remember("make that Thursdays please", "shop", kind="turn", session="s1")
    ledger.correct(own.id, "We deploy on Thursdays.", AGENT)
    relations = engine.store.run(ListRelations("shop"))
    assert {one.type for one in relations} == {REPLACES}
    assert said.id in {one.from_id for one in relations}
    assert own.id not in {one.item.id for one in ledger.list_decisions()}


def test_the_same_subject_has_one_value(ledger, clock):
    ledger.record("Staging runs Postgres 14.", "fact", subject="staging database", value="Postgres 14")
    clock.advance(days=1)
    ledger.record("Staging runs Postgres 16.", "fact", subject="staging database", value="Postgres 16")
    assert [one.value for one in ledger.list_facts("staging database")] == ["Postgres 16"]


def test_decisions_can_be_narrowed_by_words_and_time(ledger, clock):
    old = ledger.record("Moor at the quay.", "decision")
    clock.advance(days=7)
    new = ledger.record("Paint the pier green.", "decision")
    assert [one.item.id for one in ledger.list_decisions(about="the quay")] == [old.id]
    assert [one.item.id for one in ledger.list_decisions(since=new.created_at)] == [new.id]
    assert [one.item.id for one in ledger.list_decisions(until=old.created_at)] == [old.id]


def test_closing_takes_a_line_off_the_list_and_keeps_the_item(engine, ledger):
    item = ledger.record("Moor at the quay.", "decision")
    ledger.close(item.id[:8])
    assert ledger.list_decisions() == []
    assert engine.store.get("shop", item.id)[0] is not None


def test_an_agent_closes_tasks_and_its_own_lines_alone(ledger):
    task = ledger.record("Paint the pier", "task")
    own = ledger.record("Moor at the quay.", "decision")
    agents = ledger.record("Anchor at the north pier.", "decision", source=AGENT)
    ledger.close(task.id, AGENT)
    ledger.close(agents.id, AGENT)
    with pytest.raises(ValidationError, match="user's own word"):
        ledger.close(own.id, AGENT)
    assert [one.item.id for one in ledger.list_decisions()] == [own.id]


def test_wrong_calls_say_what_is_wrong(ledger):
    with pytest.raises(UnknownId, match="begins with 'nothing-has-this'"):
        ledger.close("nothing-has-this")
    with pytest.raises(ValidationError, match="there are: decision, rule"):
        ledger.record("Moor at the quay.", "law")
    with pytest.raises(ValidationError, match="whose facts"):
        ledger.list_facts(" ")


def test_the_beginning_of_several_ids_is_refused(engine, ledger):
    items = [
        Item("Moor at the quay.", "shop", id=f"abcd{number}", type="decision", about=str(number))
        for number in (1, 2)
    ]
    engine.remember_all(items, "shop")
    with pytest.raises(ValidationError, match="several ids begin with 'abcd': abcd1, abcd2"):
        ledger.find_item("abcd")
    assert ledger.find_item("abcd1").id == "abcd1"
