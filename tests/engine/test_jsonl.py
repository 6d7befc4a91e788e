from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.engine.jsonl import item_as_json_line, parse_exported_lines, relation_as_json_line
from foreword.errors import ValidationError
from foreword.types import KINDS, TRUSTS, Item, Relation, Source

NOW = datetime(2026, 1, 1, tzinfo=UTC)
label = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
moments = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
items = st.builds(
    Item,
    text=label,
    workspace=st.just("w"),
    kind=st.sampled_from(KINDS),
    id=label,
    type=label,
    about=label,
    created_at=moments,
    valid_from=st.none() | moments,
    superseded_by=st.none() | label,
    session=st.none() | label,
    conversation=st.none() | label,
    confidence=st.floats(0, 1),
    importance=st.floats(0, 1),
    source=st.builds(Source, label, st.sampled_from(TRUSTS)),
    metadata=st.dictionaries(label, st.none() | st.booleans() | st.integers() | label | st.lists(label)),
)


@given(items)
def test_an_item_survives_being_written_and_read(item):
    assert list(parse_exported_lines([item_as_json_line(item)], "w", item.created_at)) == [item]


@given(st.builds(Relation, label, label, label, st.floats(0, 1), moments))
def test_a_relation_survives_being_written_and_read(relation):
    assert list(parse_exported_lines([relation_as_json_line(relation)], "w", NOW)) == [relation]


def test_what_has_no_time_happens_now_and_blank_lines_are_nothing():
    (item,) = parse_exported_lines(['{"text": "hello"}', "", "  "], "w", NOW)
    assert (item.text, item.created_at, item.workspace) == ("hello", NOW, "w")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2 is not JSON"),
        ("[1]", "line 2 is not a JSON object"),
        ('{"kind": "memory"}', "line 2: an item needs a text"),
        ('{"text": "x", "colour": 1}', "line 2: unknown field 'colour'"),
        ('{"text": "x", "created_at": "soon"}', "line 2: Invalid isoformat"),
        ('{"text": "x", "source": "mara"}', "line 2: source must be an object"),
        ('{"from_id": "a"}', "line 2"),
        ("[" * 100_000, "line 2 is not JSON"),
    ],
)
def test_a_wrong_line_is_refused_by_its_number(line, message):
    with pytest.raises(ValidationError, match=message):
        list(parse_exported_lines(['{"text": "fine"}', line], "w", NOW))
