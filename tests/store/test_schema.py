from __future__ import annotations

from datetime import UTC, datetime

import pytest

from foreword.store.base import Amend, Put
from foreword.store.probing import where
from foreword.store.sqlite import SqliteStore
from foreword.types import Filters, Item, Views, content_hash

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path):
    with SqliteStore(tmp_path, lambda _: Views()) as store:
        yield store


@pytest.fixture
def db(store):
    """A connection to a workspace that holds something."""
    store.put("shop", [Item(f"{at}", "shop", type=f"t{at % 3}", created_at=NOW) for at in range(9)])
    with store._shard("shop", create=False)._reader() as db:
        yield db


class TestHeirs:
    def test_an_heir_may_be_named_by_its_content_in_the_transaction_that_keeps_it(self, store):
        old = store.put("shop", [Item("Ask Bo.", "shop", created_at=NOW)])[0].item
        new = Item("Ask Ana.", "shop", created_at=NOW)
        kept, amended = store.batch(
            [Put("shop", (new,)), Amend("shop", old.id, superseded_by=content_hash(new))]
        )
        assert amended.superseded_by == kept[0].item.id
        assert store.get("shop", old.id)[0].superseded_by == kept[0].item.id

    @pytest.mark.parametrize("heir", ["", "b2:nobody has this"])
    def test_what_nobody_supersedes_stands_again(self, store, heir):
        old, new = (one.item for one in store.put("shop", [Item(text, "shop") for text in ("a", "b")]))
        store.batch([Amend("shop", old.id, superseded_by=new.id)])
        assert store.batch([Amend("shop", old.id, superseded_by=heir)])[0].superseded_by is None

    def test_an_id_is_taken_as_it_is_even_if_it_looks_like_a_hash(self, store):
        old, new = (one.item for one in store.put("shop", [Item("a", "shop"), Item("b", "shop", id="b2:b")]))
        for heir in ("elsewhere", new.id):
            assert store.batch([Amend("shop", old.id, superseded_by=heir)])[0].superseded_by == heir


@pytest.mark.parametrize(
    ("filters", "order", "index"),
    [
        (Filters(kinds=("memory",), types=("t1", "t2")), "", "items_type"),
        (Filters(kinds=("memory",)), "ORDER BY i.created_at DESC, i.no DESC LIMIT 5", "items_kind"),
    ],
)
def test_an_index_answers_what_is_asked_often(db, filters, order, index):
    clause, values = where(filters)
    plan = db.execute(
        f"EXPLAIN QUERY PLAN SELECT i.no FROM items i WHERE {clause} {order}", values
    ).fetchall()
    assert index in plan[0][-1]
    assert "COVERING INDEX" in plan[0][-1]
