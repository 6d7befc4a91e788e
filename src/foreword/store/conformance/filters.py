"""Every filter narrows everything that takes filters."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.store.base import Delete, Relate, Search
from foreword.store.conformance.suite import FILTER_CASES, NEIGHBOURS, PROBED_TEXT, Suite, item, listed_ids
from foreword.types import NeighboursProbe, Relation, WordsProbe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.types import Filters


class FilterTests(Suite):
    def _cases(self) -> Iterator[tuple[str, Filters]]:
        """For each filter a workspace with two items that all probes find: `in` passes, `out` does not."""
        for number, (filters, passing, failing) in enumerate(FILTER_CASES):
            workspace = f"case {number}"
            inside = item(PROBED_TEXT, id="in", **passing)
            outside = item(f"{PROBED_TEXT} too", id="out", **failing)
            self.put_probed(inside, outside, workspace=workspace)
            yield workspace, filters

    def test_every_filter_narrows_a_scan(self) -> None:
        for workspace, filters in self._cases():
            for page in (1, 1000):
                ids = [one.id for one in self.store.scan(workspace, filters, page)]
                assert ids == ["in"], (filters, page)

    def test_every_filter_narrows_a_tally(self) -> None:
        for workspace, filters in self._cases():
            assert self.store.tally("nowhere", filters) == (0, None), filters
            assert self.store.tally(workspace, filters) == (1, self.store.get(workspace, "in")[0]), filters
            assert self.store.tally(workspace) == (2, self.store.get(workspace, "out")[0]), filters

    def test_every_filter_narrows_the_newest(self) -> None:
        for workspace, filters in self._cases():
            assert [one.id for one in self.store.recent(workspace, filters)] == ["in"], filters

    def test_every_filter_narrows_every_probe(self) -> None:
        for workspace, filters in self._cases():
            narrowed = self.store.search(Search(workspace, self.probes, filters))
            assert listed_ids(narrowed) == {probe.space: ["in"] for probe in self.probes}, filters
            assert set(narrowed.items) == {"in"}
            everything = listed_ids(self.store.search(Search(workspace, self.probes)))
            assert all(sorted(ids) == ["in", "out"] for ids in everything.values()), everything

    def test_every_filter_narrows_neighbours(self) -> None:
        words = WordsProbe("words", ("lighthouse",))
        self.search(words, NeighboursProbe("skips the test if the engine lacks either"))
        for number, (workspace, filters) in enumerate(self._cases()):
            self.store.put(workspace, [item("the lighthouse", id="seed", **FILTER_CASES[number][1])])
            self.store.run(Relate(workspace, (Relation("seed", "in"), Relation("out", "seed"))))
            found = listed_ids(self.store.search(Search(workspace, (words, NEIGHBOURS), filters)))
            assert found["near"] == ["in"], filters

    def test_deleting_by_filter_takes_all_that_pass_and_no_other(self) -> None:
        for workspace, filters in self._cases():
            assert self.store.delete(Delete(workspace, filters=filters)) == ("in",), filters
            assert [one.id for one in self.store.scan(workspace)] == ["out"], filters
