from __future__ import annotations

import pytest

from foreword.edges.service import measures


def test_counts_are_bounded_however_many_names_there_are():
    counted = measures.Measures()
    for number in range(500):
        counted.took(f"Event{number}", 1.0)
    facts = counted.facts()
    assert len(facts["events"]) <= 41
    assert sum(each["count"] for each in facts["events"].values()) == 500


@pytest.mark.parametrize(
    ("payload", "name"),
    [
        (b'{"session_id": "x", "hook_event_name" : "Stop"}', "Stop"),
        (b'{"hook_event_name": "' + b"x" * 100 + b'"}', "other"),
        (b"", "other"),
        (b'\xff\x00"hook_event_name":"A"', "A"),
    ],
)
def test_an_event_is_counted_under_its_own_name(payload, name):
    assert measures.event_name(payload) == name
