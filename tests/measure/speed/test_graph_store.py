"""The measurement of the graph store: its shape, beside LangGraph's own. No time is asserted."""

from __future__ import annotations

from foreword_measure.speed import graph_store


def test_everything_is_measured_beside_the_store_in_memory(tmp_path):
    (table,), facts = graph_store.measure(tmp_path, (120,), lambda *_: None, runs=2)
    names = [row[0] for row in table.rows]
    assert len(names) == 2 * len(graph_store.WORKS)
    assert {f"{name} (InMemoryStore)" for name in graph_store.WORKS} < set(names)
    assert facts["values"] == 120
    assert {times["count"] for times in facts["times"].values()} == {2}
