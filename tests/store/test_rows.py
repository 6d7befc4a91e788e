"""Items, relations and receipts as rows and back: nothing is lost on the way."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.errors import StoreDamaged
from foreword.store.conformance.suite import full_item, receipt
from foreword.store.rows import (
    from_microseconds,
    item_from_row,
    item_to_row,
    receipt_from_json,
    receipt_to_json,
    relation_from_row,
    to_microseconds,
)
from foreword.types import KINDS, TRUSTS, Entry, Item, Note, Receipt, Relation, Source, StageTime

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
names = st.none() | texts
shares = st.floats(0, 1)
_EPOCH = datetime.fromtimestamp(0, UTC)
zones = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.builds(
    lambda seconds, zone: (_EPOCH + timedelta(microseconds=seconds)).astimezone(zone),
    st.integers(-30 * 10**15, 200 * 10**15),
    zones,
)
metadata = st.dictionaries(
    texts,
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)
items = st.builds(
    Item,
    text=texts,
    workspace=st.just("w"),
    kind=st.sampled_from(KINDS),
    id=texts,
    type=texts,
    about=texts,
    created_at=moments,
    valid_from=st.none() | moments,
    superseded_by=names,
    session=names,
    conversation=names,
    confidence=shares,
    importance=shares,
    source=st.builds(Source, texts, st.sampled_from(TRUSTS)),
    metadata=metadata,
    tokens=st.integers(0, 10**6),
    hash=texts,
)
receipts = st.builds(
    Receipt,
    id=texts,
    workspace=texts,
    created_at=moments,
    query=texts,
    recipe=texts,
    budget=st.integers(0, 10**6),
    tokens=st.integers(0, 10**6),
    session=names,
    stages=st.lists(st.builds(StageTime, texts, shares), max_size=2).map(tuple),
    entries=st.lists(
        st.builds(
            Entry,
            item_id=texts,
            kind=texts,
            decision=st.sampled_from(["injected", "duplicate"]),
            ranks=st.dictionaries(texts, st.integers(1, 99), max_size=2),
            scores=st.dictionaries(texts, shares, max_size=2),
        ),
        max_size=2,
    ).map(tuple),
    notes=st.lists(st.builds(Note, texts, texts), max_size=2).map(tuple),
)


@given(items)
def test_an_item_comes_back_from_its_row(item):
    assert item_from_row("w", item_to_row(item)) == item


@given(receipts)
def test_a_receipt_comes_back_from_its_text(receipt):
    assert receipt_from_json(receipt_to_json(receipt)) == receipt


@given(texts, texts, texts, shares, moments)
def test_a_relation_comes_back_from_its_row(from_id, to_id, kind, confidence, at):
    row = (from_id, to_id, kind, confidence, to_microseconds(at))
    assert relation_from_row(row) == Relation(from_id, to_id, kind, confidence, at)


@given(moments)
def test_a_moment_keeps_its_microsecond_and_loses_its_zone(at):
    again = from_microseconds(to_microseconds(at))
    assert again == at
    assert again.tzinfo is UTC


@given(moments, moments)
def test_moments_keep_their_order(one, other):
    assert (to_microseconds(one) < to_microseconds(other)) == (one < other)


@pytest.mark.parametrize(
    ("column", "damage"),
    [(6, "not a time"), (6, 2**62), (7, b"\xff"), (15, "{broken"), (15, "[1"), (15, 3.5), (6, None)],
)
def test_a_row_that_cannot_be_an_item_is_damage(column, damage):
    row = list(item_to_row(full_item()))
    row[column] = damage
    with pytest.raises(StoreDamaged, match="damaged"):
        item_from_row("w", tuple(row))


@pytest.mark.parametrize("damage", ["", "{", "[]", "{}", "null", '{"created_at": "x"}'])
def test_a_text_that_cannot_be_a_receipt_is_damage(damage):
    with pytest.raises(StoreDamaged, match="damaged"):
        receipt_from_json(damage)


def test_a_receipt_from_another_version_is_damage_and_not_a_surprise():
    text = receipt_to_json(replace(receipt("r"), query="x")).replace('"query"', '"quarry"')
    with pytest.raises(StoreDamaged, match="damaged"):
        receipt_from_json(text)
