from __future__ import annotations

import pytest

from foreword.engine.browsing import (
    CONFIRMED,
    Browser,
    describe_relation_type,
    describe_what_else_is_removed,
    when_confirmed,
)
from foreword.errors import UnknownId, ValidationError
from foreword.store.base import PutReceipt
from foreword.types import REPLACES, Filters, Relation, Source


@pytest.fixture
def browser(engine):
    return Browser(engine, "shop")


def test_an_edit_is_a_new_version_and_the_old_one_its_history(engine, browser):
    old = engine.remember("Deploys are on Tuesdays.", "shop", type="decision", about="deploys", session="s1")
    new = browser.edit(old, "Deploys are on Thursdays.")
    assert (new.text, new.type, new.about, new.session) == (
        "Deploys are on Thursdays.",
        "decision",
        "deploys",
        "s1",
    )
    assert browser.find_item(old.id).superseded_by == new.id
    newest = browser.edit(new, "Deploys are on Fridays.")
    story = browser.gather_story(browser.find_item(new.id))
    assert [one.id for one in story.before] == [old.id]
    assert [one.id for one in story.after] == [newest.id]
    assert [one.text for one in browser.list_items(holds=True).items] == ["Deploys are on Fridays."]


def test_a_version_that_was_replaced_cannot_be_edited(engine, browser):
    old = engine.remember("Deploys are on Tuesdays.", "shop")
    new = browser.edit(old, "Deploys are on Thursdays.")
    with pytest.raises(ValidationError, match=new.id):
        browser.edit(browser.find_item(old.id), "Deploys are on Mondays.")


def test_what_an_agent_or_a_file_said_becomes_the_users_word_when_the_user_edits_it(engine, browser):
    turn = engine.remember("It uses MySQL.", "shop", kind="turn", source=Source("claude", "agent"))
    new = browser.edit(turn, "It uses Postgres.")
    assert (new.kind, new.source) == ("memory", Source())


def test_an_item_is_found_by_the_beginning_of_its_id(engine, browser):
    engine.import_lines(['{"id": "dec-1", "text": "one"}', '{"id": "dec-2", "text": "two"}'], "shop")
    assert browser.find_item("dec-2").text == browser.find_item("dec-2").text == "two"
    with pytest.raises(ValidationError, match="dec-1, dec-2"):
        browser.find_item("dec")
    for name in ("fac", "", "dec-3"):
        with pytest.raises(UnknownId):
            browser.find_item(name)


def test_a_preview_says_what_forgetting_then_removes_and_the_proof_that_it_did(engine, browser):
    item = engine.remember("Project falcon starts in May.", "shop")
    other = engine.remember("Deploys are on Tuesdays.", "shop")
    engine.relate(item.id, other.id, "shop")
    preview = browser.preview_forget(item.id)
    assert [one.id for one in preview.items] == [item.id]
    assert preview.relations == 1
    assert browser.find_item(item.id)
    proof = browser.forget(item.id)
    assert proof.removed == (item.id,)
    assert proof.is_nothing_left
    assert [one.id for one in browser.list_items().items] == [other.id]


def test_what_is_confirmed_is_sure_and_says_when(engine, browser):
    item = engine.remember("Deploys are on Tuesdays.", "shop", confidence=0.4)
    confirmed = browser.confirm(item)
    assert confirmed.confidence == 1.0
    assert when_confirmed(confirmed) == engine.clock().replace(microsecond=0)
    assert CONFIRMED in confirmed.metadata
    assert when_confirmed(item) is None


def test_a_search_keeps_to_the_filters(engine, browser):
    engine.remember("The deploy failed.", "shop", source=Source("ci", "tool"))
    engine.remember("The deploy is on Tuesday.", "shop")
    found = browser.search_items("deploy", Filters(trust="tool"))
    assert [one.source.name for one in found.items] == ["ci"]
    assert browser.search_items("deploy").total == 2


def test_a_page_knows_how_many_there_are(engine, browser):
    engine.import_lines([f'{{"text": "line number {n}"}}' for n in range(7)], "shop")
    page = browser.list_items(skip=5, limit=5)
    assert (len(page.items), page.total, page.skip) == (2, 7, 5)


def test_what_a_relation_says_was_replaced_is_listed_as_replaced_unless_its_source_may_not(engine, browser):
    old = engine.remember("Deploys are on Tuesdays.", "shop")
    new = engine.remember("Deploys moved to Thursdays.", "shop")
    agents = engine.remember("Deploys are on Sundays.", "shop", source=Source("claude", "agent"))
    engine.relate(new.id, old.id, "shop", type=REPLACES)
    engine.relate(agents.id, new.id, "shop", type=REPLACES)
    page = browser.list_items(holds=False)
    assert [one.id for one in page.items] == [old.id]
    assert page.successors == {old.id: new.id}
    assert old.id not in {one.id for one in browser.search_items("deploys", holds=True).items}
    assert browser.gather_story(new).after == ()
    assert browser.gather_story(agents).before == ()


def test_a_search_ends_where_nothing_fits_any_more(engine, browser):
    deploys = engine.remember("Deploys are on Tuesdays.", "shop")
    engine.remember("Anna lives in Lyon.", "shop")
    engine.embed_pending("shop")
    assert [one.id for one in browser.search_items("deploys").items] == [deploys.id]
    assert browser.search_items("quantum chromodynamics").total == 0


def test_a_search_looks_further_than_its_page_for_what_a_filter_leaves(engine, browser):
    engine.remember("The deploy failed in the night.", "shop", source=Source("ci", "tool"))
    lines = [f'{{"text": "Deploy the deploy, deploy {number}."}}' for number in range(130)]
    engine.import_lines(lines, "shop")
    assert [one.source.name for one in browser.search_items("deploy", Filters(trust="tool")).items] == ["ci"]


def test_an_item_was_last_shown_when_a_context_last_had_it(engine, browser):
    item = engine.remember("Deploys are on Tuesdays.", "shop")
    assert browser.gather_story(item).last_shown is None
    receipt = engine.preview_context("When are deploys?", "shop", floor=0).receipt
    engine.store.run(PutReceipt("shop", receipt))
    assert browser.gather_story(item).last_shown == receipt.created_at


def test_a_replacement_that_is_not_sure_is_one_perhaps():
    assert describe_relation_type(Relation("a", "b", REPLACES, 0.3)) == "perhaps replaces"
    assert describe_relation_type(Relation("a", "b", REPLACES, 1.0)) == "replaces"
    assert describe_relation_type(Relation("a", "b", "caused_by", 0.3)) == "caused_by"


def test_what_goes_along_with_the_forgotten_is_counted_and_what_does_not_is_not_named(engine, browser):
    item = engine.remember("Project falcon starts in May.", "shop")
    assert describe_what_else_is_removed(browser.preview_forget(item.id), [item.id]) == []
    engine.relate(item.id, engine.remember("Deploys are on Tuesdays.", "shop").id, "shop")
    assert describe_what_else_is_removed(browser.preview_forget(item.id), [item.id]) == ["1 relation"]
