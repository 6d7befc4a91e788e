from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from foreword.store.quest import _allowed
from foreword.store.sqlite import SqliteStore
from foreword.types import Filters, Item, Views

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def db(tmp_path):
    """A connection to a workspace with 300 items, of which a third is code."""
    with SqliteStore(tmp_path, lambda _: Views()) as store:
        kinds = ("memory", "code", "document")
        store.put(
            "shop",
            [
                Item(f"{at}", "shop", kind=kinds[at % 3], created_at=NOW + timedelta(hours=at))
                for at in range(300)
            ],
        )
        with store._shard("shop", create=False)._reader() as db:
            yield db


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(kinds=("code",)), list(range(2, 301, 3))),
        (Filters(since=NOW + timedelta(hours=298)), [299, 300]),
        (Filters(kinds=("commit",)), []),
    ],
    ids=["many", "few", "none"],
)
def test_the_numbers_of_what_passes_are_all_there(db, filters, expected):
    found = _allowed(db, filters)
    assert found.dtype == "int64"
    assert sorted(found.tolist()) == expected
