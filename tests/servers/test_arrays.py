"""Columns as array literals: PostgreSQL reads from them what was written."""

from __future__ import annotations

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.store.postgres.arrays import bytes_array_literal, number_array_literal, text_array_literal

_TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


@pytest.fixture(scope="module")
def connection(postgres):
    with psycopg.connect(postgres.url) as connected:
        yield connected


@given(texts=st.lists(st.none() | _TEXTS | st.sampled_from(["", "NULL", "null", '"', "\\", "{a,b}", ","])))
def test_texts_are_read_as_they_are(connection, texts):
    assert connection.execute("SELECT %s::text[]", (text_array_literal(texts),)).fetchone() == (texts,)


@given(
    whole=st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)),
    fractions=st.lists(st.floats(allow_nan=False, allow_infinity=False)),
    strings=st.lists(st.binary(max_size=20)),
)
def test_numbers_and_bytes_are_read_as_they_are(connection, whole, fractions, strings):
    row = connection.execute(
        "SELECT %s::bigint[], %s::float8[], %s::bytea[]",
        (number_array_literal(whole), number_array_literal(fractions), bytes_array_literal(strings)),
    ).fetchone()
    assert row == (whole, fractions, strings)


def test_a_text_with_nul_is_refused():
    with pytest.raises(psycopg.DataError, match="NUL"):
        text_array_literal(["fine", "a\0b"])
