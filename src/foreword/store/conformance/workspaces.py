"""Nothing crosses from one workspace to another, and none is answered for without a name."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError
from foreword.store import base
from foreword.store.conformance.suite import (
    DIGEST,
    HERE,
    NOW,
    PROBED_TEXT,
    PROBES,
    THERE,
    Suite,
    axis,
    file_state,
    item,
    receipt,
    refused,
)
from foreword.types import Filters, Findings, RecentProbe, Relation

if TYPE_CHECKING:
    from foreword.store.base import Operation
    from foreword.types import Probe


class WorkspaceTests(Suite):
    def test_one_batch_may_speak_to_several_workspaces(self) -> None:
        put_here = base.Put(HERE, (item("here", id="same"),))
        put_there = base.Put(THERE, (item("there", id="same"),))
        reads = [base.Get(workspace, ("same",)) for workspace in (HERE, THERE, "nowhere")]
        got = self.store.batch([put_here, put_there, *reads])
        assert [one[0] and one[0].text for one in got[2:]] == ["here", "there", None]
        assert self.store.workspaces() == sorted([HERE, THERE])

    def test_nothing_crosses_from_one_workspace_to_another(self) -> None:
        there = (item(PROBED_TEXT, id="a", session="s"), item("b", id="b", session="s"))
        self.put_probed(*there, workspace=THERE)
        self.store.run(base.Relate(THERE, (Relation("a", "b"),)))
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
        assert (self.store.shown(HERE, "s"), self.store.run(base.ClearShown(HERE, "s"))) == (frozenset(), 0)
        assert self.store.shown(THERE, "s") == {"a", "b"}
        assert (self.store.files(HERE), self.store.run(base.DropFiles(HERE, ("f.py",)))) == ({}, ())
        assert self.store.files(THERE)["f.py"].items == 1
        assert self.store.delete(base.Delete(HERE, ("a",))) == ()
        assert self.store.run(base.Amend(HERE, "a", confidence=0.1)) is None
        assert replace(self.store.count(HERE), bytes=0) == base.Counts(1, {"memory": 1})
        assert self.find(RecentProbe("recent")) == ["mine"]

    def test_an_empty_workspace_gives_nothing_and_nothing_is_made_of_it(self) -> None:
        answers = _empty_answers(HERE, self.probes)
        for operation, result in answers:
            assert self.store.run(operation) == result, operation
        assert self.store.batch([operation for operation, _ in answers]) == [result for _, result in answers]
        with refused(ValidationError):
            self.store.run(base.Relate(HERE, (Relation("a", "b"),)))
        self.store.post(base.Delete(HERE, ("a",)))
        assert self.store.workspaces() == []
        self.reopen()
        assert self.store.workspaces() == []

    def test_a_workspace_that_holds_nothing_any_more_is_not_listed(self) -> None:
        self.put("a")
        with refused(ValidationError):
            fails = base.Relate(THERE, (Relation("a", "b"),))
            self.store.batch([base.Put(THERE, (item("a", id="a"),)), fails])
        assert self.store.workspaces() == [HERE]
        self.store.delete(base.Delete(HERE, ("a",)))
        assert self.store.workspaces() == []

    def test_no_workspace_no_answer(self) -> None:
        nameless: tuple[Any, ...] = ("", "   ", "\n", None, 7, "a\0b", "\ud800", "x" * 5000)
        self.put("a")
        for name in nameless:
            creating: tuple[Operation[Any], ...] = (
                base.Put(name, (item("a"),)),
                base.PutReceipt(name, receipt("r")),
                base.PutFile(name, file_state("f.py"), ()),
                base.Relate(name, (Relation("a", "a"),)),
            )
            for operation in (*creating, *(operation for operation, _ in _empty_answers(name, PROBES))):
                with refused(ValidationError):
                    self.store.batch([base.Put(HERE, (item("never"),)), operation])
            with refused(ValidationError):
                self.store.post(base.Delete(name, ("a",)))
        assert self.ids() == ["a"]
        assert self.store.workspaces() == [HERE]


def _empty_answers(workspace: str, probes: tuple[Probe, ...]) -> list[tuple[Operation[Any], object]]:
    """Every operation that creates no workspace, with what it returns in one that holds nothing."""
    return [
        (base.Get(workspace, ("a", "b")), (None, None)),
        (base.Scan(workspace), ()),
        (base.ListRecent(workspace), ()),
        (base.Tally(workspace), (0, None)),
        (base.Amend(workspace, "a", confidence=0.5), None),
        (base.Delete(workspace, ("a",)), ()),
        (base.Delete(workspace, filters=Filters()), ()),
        (base.Expand(workspace, ("a",), 2), {"a": ()}),
        (base.ListRelations(workspace), ()),
        (base.Search(workspace, probes), Findings({}, {probe.space: () for probe in probes})),
        (base.PutVectors(workspace, "s", DIGEST, (base.Vector("a", "t", axis(0)),)), 0),
        (base.ListUnembedded(workspace, "s", DIGEST), ()),
        (base.GetVectors(workspace, DIGEST, ("h",)), {}),
        (base.GetReceipt(workspace), None),
        (base.MarkShown(workspace, "s", ("a",), NOW), 0),
        (base.GetShown(workspace, "s"), frozenset()),
        (base.ClearShown(workspace, "s"), 0),
        (base.ListFiles(workspace), {}),
        (base.DropFiles(workspace, ("f.py",)), ()),
        (base.Count(workspace), base.Counts()),
        (base.Check(workspace), ()),
        (base.Repair(workspace), ()),
    ]
