from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from foreword.capture.item_checks import check_item
from foreword.errors import ValidationError
from foreword.types import Item, Source


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "note"}, "no kind named 'note'"),
        ({"confidence": 1.1}, "confidence"),
        ({"confidence": float("nan")}, "confidence"),
        ({"importance": -1}, "importance"),
        ({"created_at": datetime(2026, 1, 1)}, "time zone"),  # noqa: DTZ001  (that is the point)
        ({"valid_from": "yesterday"}, "valid_from"),
        ({"session": ""}, "session is empty"),
        ({"about": "a\0b"}, "about contains a NUL"),
        ({"source": "mara"}, "source must be"),
        ({"source": Source("mara", "friend")}, "trust is one of"),
        ({"source": Source("")}, "source is empty"),
        ({"metadata": {"when": datetime.now(UTC)}}, "metadata is not JSON"),
        ({"metadata": {"x": float("nan")}}, "metadata is not JSON"),
        ({"metadata": {1: "x"}}, "keys must be text"),
        ({"metadata": ["x"]}, "must be a mapping"),
        ({"id": "x" * 5000}, "id has 5,000 characters"),
    ],
)
def test_an_item_with_a_wrong_field_is_refused_by_name(changes, message):
    with pytest.raises(ValidationError, match=message):
        check_item(Item(**{"text": "fine", "workspace": "w"} | changes))


def test_a_sound_item_is_given_back():
    item = Item("fine", "w", created_at=datetime.now(UTC), metadata={"tags": ["a"], "n": 1})
    assert check_item(item) is item


@pytest.mark.parametrize("kind", ["code", "document", "commit"])
def test_what_comes_from_files_is_never_the_users_word(kind):
    item = Item("x", "w", kind=kind, created_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert check_item(item).source == Source("user", "repository")
    page = replace(item, source=Source("example.org", "web"))
    assert check_item(page) == page
