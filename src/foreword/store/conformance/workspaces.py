"""Tests of batches as transactions, of the separation of workspaces, and of many threads at once."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from foreword.errors import ContextError, StorageError, ValidationError
from foreword.store import base, exchange
from foreword.store.conformance.suite import (
    DIGEST,
    HERE,
    NOW,
    PROBED_TEXT,
    PROBES,
    THERE,
    Suite,
    file_state,
    item,
    receipt,
    refused,
    unit_vector,
)
from foreword.types import Filters, Findings, RecentProbe, Relation

if TYPE_CHECKING:
    from foreword.store.base import Operation
    from foreword.types import Probe

_TIMEOUT_SECONDS = 120.0


class WorkspaceTests(Suite):
    # Batches

    def test_results_come_in_the_order_of_the_operations(self) -> None:
        put, get, kept, known, gone, lost, count, problems = self.store.batch(
            [
                base.Put(HERE, (item("a harbour", id="a"), item("b", id="b"))),
                base.Get(HERE, ("a",)),
                base.PutVectors(HERE, "s", DIGEST, (base.Vector("b", "t", unit_vector(0)),)),
                base.GetVectors(HERE, DIGEST, ("t",)),
                base.Delete(HERE, ("b",)),
                base.GetVectors(HERE, DIGEST, ("t",)),
                base.Count(HERE),
                base.Check(HERE),
            ]
        )
        assert [one.item.id for one in put] == ["a", "b"]
        assert get[0].id == "a"
        assert (kept, list(known), gone, lost) == (1, ["t"], ("b",), {})
        assert (count.items, problems) == (1, ())
        assert self.store.batch([]) == []

    def test_a_search_sees_what_its_batch_did_before(self) -> None:
        question = base.Search(HERE, self.probes)
        put = base.Put(HERE, (item(PROBED_TEXT, id="a"), item(f"{PROBED_TEXT} too", id="b")))
        vectors = tuple(base.Vector(name, name, unit_vector(0)) for name in "ab")
        embed = base.PutVectors(HERE, "vectors", DIGEST, vectors)
        _, _, both, _, one = self.store.batch([put, embed, question, base.Delete(HERE, ("b",)), question])
        assert {space: len(ranked) for space, ranked in both.lists.items()} == {
            probe.space: 2 for probe in self.probes
        }
        assert all([name for name, _ in ranked] == ["a"] for ranked in one.lists.values())
        assert (both.notes, one.notes) == ((), ())

    def test_a_batch_that_fails_leaves_nothing_half_written(self) -> None:
        self.put_probed(item(PROBED_TEXT, id="a", session="s"), item("b", id="b"))
        self.store.run(base.PutRelations(HERE, (Relation("a", "b"),)))
        self.store.run(base.PutReceipt(HERE, receipt("r", session="s")))
        self.store.run(base.MarkShown(HERE, "s", ("a", "b"), NOW))
        self.put_file("f.py", "one")
        before = self._collect_answers()
        writes: list[Operation[Any]] = [
            base.Put(HERE, (item("new harbour", id="c"),)),
            base.Amend(HERE, "b", confidence=0.1),
            base.PutRelations(HERE, (Relation("b", "c"),)),
            base.PutVectors(HERE, "vectors", DIGEST, (base.Vector("c", "t", unit_vector(2)),)),
            base.PutReceipt(HERE, receipt("r2")),
            base.MarkShown(HERE, "s", ("c",), NOW),
            base.ClearShown(HERE, "s"),
            base.Delete(HERE, ("a",)),
            base.Delete(HERE, filters=Filters(session="s")),
            base.PutFile(HERE, file_state("f.py", 2), (item("of a file"),)),
            base.DropFiles(HERE, ("f.py",)),
        ]
        for last in (
            base.PutRelations(HERE, (Relation("b", "nobody"),)),
            base.Put(HERE, (item("x", id="b"),)),
        ):
            with refused(ValidationError):
                self.store.batch([*writes, last])
            assert self._collect_answers() == before
        self.assert_sound()
        assert self.put(item("afterwards", id="c"))[0].new

    def _collect_answers(self) -> list[Any]:
        """The results of all reads on `HERE`, to compare its state before and after."""
        return [
            list(self.store.scan(HERE)),
            self.store.run(base.ListRelations(HERE)),
            self.store.run(base.GetVectors(HERE, DIGEST, ("hash of a", "hash of b", "t"))),
            self.store.run(base.GetTokenCodes(HERE, DIGEST, ("a", "b", "c"))),
            replace(self.store.count(HERE), bytes=0),
            self.store.search(base.Search(HERE, self.all_probes)),
            self.store.receipt(HERE),
            self.store.shown_ids(HERE, "s"),
            self.store.files(HERE),
        ]

    def test_a_count_has_items_relations_vectors_and_receipts(self) -> None:
        self.put("a", "b", item("c", id="c", kind="turn"))
        self.store.run(base.PutRelations(HERE, (Relation("a", "b"), Relation("b", "a"))))
        for space, name in (("s", "a"), ("s", "b"), ("t", "a")):
            self.store.run(base.PutVectors(HERE, space, DIGEST, (base.Vector(name, name, unit_vector(0)),)))
        self.store.run(base.PutReceipt(HERE, receipt("r")))
        self.store.run(base.PutTokenCodes(HERE, DIGEST, {"b": b"codes"}))
        counts = self.store.count(HERE)
        assert counts.bytes > 0
        expected = base.Counts(3, {"memory": 2, "turn": 1}, 2, {"s": 2, "t": 1}, receipts=1, token_codes=1)
        assert replace(counts, bytes=0) == expected

    def test_a_sound_workspace_has_no_problems_and_repair_changes_no_answer(self) -> None:
        self.put_probed(*(item(f"{PROBED_TEXT} {n}", id=f"i{n}", session="s") for n in range(6)))
        self.store.run(base.PutRelations(HERE, (Relation("i0", "i1"),)))
        self.store.run(base.PutTokenCodes(HERE, DIGEST, {"i0": b"zero", "i5": b"five"}))
        self.store.delete(base.Delete(HERE, ("i5",)))
        before = self.search(*self.all_probes)
        assert self.store.batch([base.Check(HERE), base.Repair(HERE), base.Check(HERE)]) == [(), (), ()]
        assert self.search(*self.all_probes) == before
        assert self.store.run(base.GetTokenCodes(HERE, DIGEST, ("i0", "i5"))) == {"i0": b"zero"}
        assert self.store.count(HERE).items == 5

    # Workspaces

    def test_one_batch_may_be_on_several_workspaces(self) -> None:
        put_here = base.Put(HERE, (item("here", id="same"),))
        put_there = base.Put(THERE, (item("there", id="same"),))
        reads = [base.Get(workspace, ("same",)) for workspace in (HERE, THERE, "nowhere")]
        got = self.store.batch([put_here, put_there, *reads])
        assert [one[0] and one[0].text for one in got[2:]] == ["here", "there", None]
        assert self.store.workspaces() == sorted([HERE, THERE])

    def test_nothing_crosses_from_one_workspace_to_another(self) -> None:
        there = (item(PROBED_TEXT, id="a", session="s"), item("b", id="b", session="s"))
        self.put_probed(*there, workspace=THERE)
        self.store.run(base.PutRelations(THERE, (Relation("a", "b"),)))
        self.store.run(base.PutReceipt(THERE, receipt("r")))
        self.store.run(base.MarkShown(THERE, "s", ("a", "b"), NOW))
        self.store.run(base.PutFile(THERE, file_state("f.py"), (item("of a file"),)))
        self.put("mine")
        probes = tuple(probe for probe in self.all_probes if not isinstance(probe, RecentProbe))
        assert self.search(*probes).items == {}
        assert self.store.get(HERE, "a") == (None,)
        assert self.ids() == [one.id for one in self.store.recent(HERE)] == ["mine"]
        assert self.store.expand(HERE, ["a", "mine"], 3) == {"a": (), "mine": ()}
        assert (self.store.run(base.ListRelations(HERE)), self.store.receipt(HERE)) == ((), None)
        assert self.store.run(base.GetVectors(HERE, DIGEST, ("hash of a",))) == {}
        assert (self.store.shown_ids(HERE, "s"), self.store.run(base.ClearShown(HERE, "s"))) == (
            frozenset(),
            0,
        )
        assert self.store.shown_ids(THERE, "s") == {"a", "b"}
        assert (self.store.files(HERE), self.store.run(base.DropFiles(HERE, ("f.py",)))) == ({}, ())
        assert self.store.files(THERE)["f.py"].items == 1
        assert self.store.delete(base.Delete(HERE, ("a",))) == ()
        assert self.store.run(base.Amend(HERE, "a", confidence=0.1)) is None
        assert replace(self.store.count(HERE), bytes=0) == base.Counts(1, {"memory": 1})
        assert self.find(RecentProbe("recent")) == ["mine"]

    def test_operations_on_an_empty_workspace_return_nothing_and_create_nothing(self) -> None:
        answers = _operations_with_empty_results(HERE, self.probes)
        for operation, result in answers:
            assert self.store.run(operation) == result, operation
        assert self.store.batch([operation for operation, _ in answers]) == [result for _, result in answers]
        with refused(ValidationError):
            self.store.run(base.PutRelations(HERE, (Relation("a", "b"),)))
        self.store.post(base.Delete(HERE, ("a",)))
        assert self.store.workspaces() == []
        self.reopen()
        assert self.store.workspaces() == []

    def test_a_workspace_that_holds_nothing_any_more_is_not_listed(self) -> None:
        self.put("a")
        with refused(ValidationError):
            fails = base.PutRelations(THERE, (Relation("a", "b"),))
            self.store.batch([base.Put(THERE, (item("a", id="a"),)), fails])
        assert self.store.workspaces() == [HERE]
        self.store.delete(base.Delete(HERE, ("a",)))
        assert self.store.workspaces() == []

    def test_an_invalid_workspace_name_is_refused(self) -> None:
        nameless: tuple[Any, ...] = ("", "   ", "\n", None, 7, "a\0b", "\ud800", "x" * 5000)
        self.put("a")
        for name in nameless:
            creating: tuple[Operation[Any], ...] = (
                base.Put(name, (item("a"),)),
                base.PutReceipt(name, receipt("r")),
                base.PutFile(name, file_state("f.py"), ()),
                base.PutRelations(name, (Relation("a", "a"),)),
            )
            for operation in (
                *creating,
                *(operation for operation, _ in _operations_with_empty_results(name, PROBES)),
            ):
                with refused(ValidationError):
                    self.store.batch([base.Put(HERE, (item("never"),)), operation])
            with refused(ValidationError):
                self.store.post(base.Delete(name, ("a",)))
        assert self.ids() == ["a"]
        assert self.store.workspaces() == [HERE]

    # Threads, writes that nobody waits for, and closing

    def test_a_posted_write_is_done_before_close_returns(self) -> None:
        self.put("a")
        for number in range(20):
            self.store.post(base.PutReceipt(HERE, receipt(f"r{number}")))
        self.store.post(base.Amend(HERE, "a", importance=0.9))
        self.reopen()
        assert self.store.count(HERE).receipts == 20
        assert self.item("a").importance == 0.9

    def test_closing_twice_is_harmless_and_a_closed_store_raises(self) -> None:
        self.put("a")
        self.store.close()
        self.store.close()
        with refused(StorageError):
            self.store.get(HERE, "a")
        with refused(StorageError):
            self.put("b")

    def test_many_threads_may_write_and_read_at_once(self) -> None:
        store, failures = self.store, []

        def work(me: int) -> None:
            try:
                for number in range(15):
                    name = f"{me}-{number}"
                    store.put(HERE, [item(f"harbour {name}", id=name)])
                    store.run(
                        base.PutVectors(HERE, "vectors", DIGEST, (base.Vector(name, name, unit_vector(me)),))
                    )
                    if name not in store.search(base.Search(HERE, self.probes, limit=1000)).items:
                        failures.append(f"{name} was not found")
                    if number % 3 == 0:
                        store.delete(base.Delete(HERE, (name,)))
            except ContextError as error:
                failures.append(str(error))

        threads = [threading.Thread(target=work, args=(me,), daemon=True) for me in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_TIMEOUT_SECONDS)
            assert not thread.is_alive(), f"a thread has not ended after {_TIMEOUT_SECONDS:.0f} seconds"
        assert failures == []
        assert store.count(HERE).items == 60
        self.assert_sound()


def _operations_with_empty_results(
    workspace: str, probes: tuple[Probe, ...]
) -> list[tuple[Operation[Any], object]]:
    """Every operation that creates no workspace, with its result in an empty workspace."""
    return [
        (base.Get(workspace, ("a", "b")), (None, None)),
        (base.Scan(workspace), ()),
        (base.ListRecent(workspace), ()),
        (base.GetCountAndLast(workspace), (0, None)),
        (base.Amend(workspace, "a", confidence=0.5), None),
        (base.Delete(workspace, ("a",)), ()),
        (base.Delete(workspace, filters=Filters()), ()),
        (base.GetRelated(workspace, ("a",), 2), {"a": ()}),
        (base.ListRelations(workspace), ()),
        (base.Search(workspace, probes), Findings({}, {probe.space: () for probe in probes})),
        (base.PutVectors(workspace, "s", DIGEST, (base.Vector("a", "t", unit_vector(0)),)), 0),
        (base.ListUnembedded(workspace, "s", DIGEST), ()),
        (exchange.ClaimUnembedded(workspace, "s", DIGEST), ()),
        (base.GetVectors(workspace, DIGEST, ("h",)), {}),
        (base.PutTokenCodes(workspace, DIGEST, {"a": b"codes"}), 0),
        (base.GetTokenCodes(workspace, DIGEST, ("a",)), {}),
        (base.ListWithoutTokenCodes(workspace, DIGEST), ()),
        (base.GetReceipt(workspace), None),
        (base.MarkShown(workspace, "s", ("a",), NOW), 0),
        (base.GetShown(workspace, "s"), frozenset()),
        (base.ClearShown(workspace, "s"), 0),
        (base.ListFiles(workspace), {}),
        (base.DropFiles(workspace, ("f.py",)), ()),
        (exchange.ReadOutbox(workspace), exchange.Outbox()),
        (exchange.ClearOutbox(workspace, ((1, 1),)), 0),
        (exchange.RebuildVectors(workspace), None),
        (exchange.GetAttached(workspace, ("a",)), exchange.Attached()),
        (exchange.PutAttached(workspace, exchange.Attached()), None),
        (exchange.ListReceipts(workspace), ()),
        (base.Count(workspace), base.Counts()),
        (base.Check(workspace), ()),
        (base.Repair(workspace), ()),
    ]
