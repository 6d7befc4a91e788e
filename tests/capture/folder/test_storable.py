from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.capture.folder.storable import clamp_file_time


@given(st.integers() | st.floats(allow_nan=False))
def test_any_number_is_a_time_that_every_zone_can_show(seconds):
    time = clamp_file_time(seconds)
    for hours in (-14, 14):
        assert time.astimezone(timezone(timedelta(hours=hours))) == time


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (-1.5, datetime(1969, 12, 31, 23, 59, 58, 500_000, tzinfo=UTC)),
        (10**12, datetime(9999, 12, 31, tzinfo=UTC)),
        (-(10**12), datetime(1, 1, 2, tzinfo=UTC)),
    ],
)
def test_a_time_beyond_the_calendar_is_the_nearest_in_it(seconds, expected):
    assert clamp_file_time(seconds) == expected
