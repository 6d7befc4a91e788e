"""What the tests of all subjects share: opening a store, sample items, receipts and probes, and shortcuts."""

# ruff: noqa: S101  (a conformance suite asserts: that is its work)

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from unittest import SkipTest, TestCase

from foreword.store.base import FileState, PutFile, PutVectors, Search, Store, Stored, StoredFile, Vector
from foreword.types import (
    EntitiesProbe,
    Filters,
    Findings,
    IdentifiersProbe,
    Item,
    NeighboursProbe,
    Receipt,
    RecentProbe,
    Source,
    TypoProbe,
    VectorProbe,
    Views,
    WordsProbe,
)

if TYPE_CHECKING:
    from foreword.types import Probe

HERE = "/home/ada/shop"
THERE = "/home/ada/shop/"
NOW = datetime(2026, 1, 15, 12, 0, 0, 123456, tzinfo=UTC)
DIGEST = "b2:1111111111111111"
OTHER_DIGEST = "b2:1111111111112222"
DIMENSIONS = 8


def views(item: Item) -> Views:
    """Simple views for tests: underscored words are identifiers, capitalised words are entities."""
    words = item.searchable.split()
    names = [word for word in words if "_" in word.strip("_")]
    parts = (part for name in names for part in name.lower().split("_") if part)
    entities = (word.lower() for word in words if word[:1].isupper())
    return Views(tuple(dict.fromkeys(parts)), tuple(dict.fromkeys(entities)))


def item(text: str, **fields: Any) -> Item:  # noqa: ANN401  (whatever an Item takes)
    """An item of `HERE`, created `NOW`."""
    return replace(Item(text, HERE, created_at=NOW), **fields)


def full_item() -> Item:
    """An item with a value in every field."""
    return item(
        "We chose Postgres for parse_http_date.",
        kind="experience",
        id="full",
        type="decision",
        about="Ada, in shop/README.md",
        valid_from=NOW - timedelta(days=3, microseconds=7),
        superseded_by="someone",
        session="s1",
        conversation="c1",
        confidence=0.25,
        importance=0.75,
        source=Source("crawler", "web"),
        metadata={"n": 1, "deep": {"list": [1, 2.5, None, True, "é"]}},
        tokens=9,
    )


def receipt(name: str, **fields: Any) -> Receipt:  # noqa: ANN401  (whatever a Receipt takes)
    """A receipt of `HERE`, created `NOW`."""
    return replace(Receipt(name, HERE, NOW, "why?", "chat", budget=100, tokens=7), **fields)


def file_state(path: str, version: int = 1) -> FileState:
    """The state of a file at its `version`-th version."""
    return FileState(path, 100 + version, 1_700_000_000_000_000_000 + version, f"b2:{version}")


def unit_vector(number: int, tilt: float = 0.0) -> tuple[float, ...]:
    """A vector along one axis, tilted a little towards the next."""
    values = [0.0] * DIMENSIONS
    values[number % DIMENSIONS] = 1.0
    values[(number + 1) % DIMENSIONS] = tilt
    return tuple(values)


PROBED_TEXT = "Ada said open_gate at the harbour"
"""A text that each of `PROBES` finds, if its item has a vector near `unit_vector(0)`."""

PROBES: tuple[Probe, ...] = (
    WordsProbe("words", ("harbour",)),
    TypoProbe("typos", ("harbuor",)),
    IdentifiersProbe("identifiers", ("open",)),
    EntitiesProbe("entities", ("ada",)),
    VectorProbe("vectors", DIGEST, unit_vector(0)),
    RecentProbe("recent"),
)
NEIGHBOURS = NeighboursProbe("near")

FILTER_CASES: tuple[tuple[Filters, dict[str, Any], dict[str, Any]], ...] = (
    (Filters(kinds=("turn", "code")), {"kind": "turn"}, {"kind": "document"}),
    (Filters(types=("fact", "rule")), {"type": "rule"}, {"type": "guess"}),
    (Filters(types=("document",)), {"kind": "document"}, {"kind": "document", "type": "draft"}),
    (Filters(since=NOW), {"created_at": NOW}, {"created_at": NOW - timedelta(microseconds=1)}),
    (Filters(until=NOW), {"created_at": NOW}, {"created_at": NOW + timedelta(microseconds=1)}),
    (Filters(min_confidence=0.5), {"confidence": 0.5}, {"confidence": 0.49}),
    (Filters(conversation="c1"), {"conversation": "c1"}, {"conversation": "c2"}),
    (Filters(conversation="c1"), {"conversation": "c1"}, {"conversation": None}),
    (Filters(conversation_prefix='["é%"'), {"conversation": '["é%","x"'}, {"conversation": '["é%é"'}),
    (Filters(conversation_prefix="c_"), {"conversation": "c_"}, {"conversation": "C_1"}),
    (Filters(conversation_prefix=""), {"conversation": "c"}, {"conversation": None}),
    (Filters(conversations=("c1", "c2")), {"conversation": "c2"}, {"conversation": "c3"}),
    (Filters(conversations=("c1", "c2")), {"conversation": "c1"}, {"conversation": None}),
    (Filters(conversations=("c1", "")), {"conversation": None}, {"conversation": "c2"}),
    (Filters(session="s1"), {"session": "s1"}, {"session": "S1"}),
    (Filters(source="tool"), {"source": Source("tool", "tool")}, {"source": Source("user", "tool")}),
    (
        Filters(kinds=("turn",), session="s1", min_confidence=0.1),
        {"kind": "turn", "session": "s1"},
        {"kind": "turn", "session": "s2"},
    ),
)
"""A filter, the fields of an item that passes it, and those of one that does not."""


refused = TestCase().assertRaises
"""`with refused(error):` fails the test unless the block raises this error."""


def listed_ids(found: Findings) -> dict[str, list[str]]:
    """The ids that each probe found, best first."""
    return {space: [name for name, _ in ranked] for space, ranked in found.lists.items()}


class Suite(ABC):
    """The base of all test classes: opens the store of a test, with shortcuts for the workspace `HERE`."""

    receipt_days = 30
    receipt_bytes = 8_000_000
    shown_days = 30
    unsupported: frozenset[type[Probe]] = frozenset()
    """The kinds of probes that the engine cannot answer; tests that ask one are skipped."""

    _open: Store | None = None

    @abstractmethod
    def open_store(self) -> Store:
        """Open a store on this test's data, with `views` of this module as its views."""

    @property
    def store(self) -> Store:
        """The open store."""
        if self._open is None:
            self._open = self.open_store()
        return self._open

    def reopen(self) -> None:
        """Close the store and open it again."""
        self.store.close()
        self._open = self.open_store()

    def teardown_method(self) -> None:
        """Close the store after a test; pytest calls this by itself."""
        if self._open is not None:
            self._open.close()

    @property
    def probes(self) -> tuple[Probe, ...]:
        """`PROBES`, without those that the engine does not support."""
        return tuple(probe for probe in PROBES if type(probe) not in self.unsupported)

    @property
    def all_probes(self) -> tuple[Probe, ...]:
        """`probes` and a probe for neighbours, if the engine supports that."""
        return self.probes if NeighboursProbe in self.unsupported else (*self.probes, NEIGHBOURS)

    def put(self, *items: Item | str) -> tuple[Stored, ...]:
        """Put items; a text becomes an item whose id is the text."""
        return self.store.put(HERE, [item(one, id=one) if isinstance(one, str) else one for one in items])

    def item(self, item_id: str) -> Item:
        """The item with this id; fails the test if there is none."""
        found = self.store.get(HERE, item_id)[0]
        assert found is not None, item_id
        return found

    def ids(self, filters: Filters = Filters()) -> list[str]:  # noqa: B008  (frozen)
        """The ids of the items that pass the filters, in the order they were stored."""
        return [one.id for one in self.store.scan(HERE, filters)]

    def search(self, *probes: Probe) -> Findings:
        """The findings of probes, all of which must be answered; skips the test if one is unsupported."""
        for probe in probes:
            if type(probe) in self.unsupported:
                raise SkipTest(f"the engine does not support {type(probe).__name__}")
        found = self.store.search(Search(HERE, probes))
        assert found.notes == (), found.notes
        return found

    def find(self, probe: Probe) -> list[str]:
        """The ids that one probe finds, best first."""
        return listed_ids(self.search(probe))[probe.space]

    def scores(self, probe: Probe) -> dict[str, float]:
        """The scores of the items that one probe finds, by id, best first."""
        return dict(self.search(probe).lists[probe.space])

    def put_probed(self, *items: Item, workspace: str = HERE) -> None:
        """Put items, each with a vector that the vector probe of `PROBES` finds."""
        self.store.put(workspace, items)
        vectors = tuple(
            Vector(one.id, f"hash of {one.id}", unit_vector(0, n / 100)) for n, one in enumerate(items)
        )
        self.store.run(PutVectors(workspace, "vectors", DIGEST, vectors))

    def put_vectors(self, **vectors: tuple[float, ...]) -> None:
        """Put an item for each keyword, whose id is the keyword, with the given vector."""
        self.put(*vectors)
        given = tuple(Vector(name, name, values) for name, values in vectors.items())
        assert self.store.run(PutVectors(HERE, "vectors", DIGEST, given)) == len(given)

    def put_file(self, path: str, *texts: str, **fields: Any) -> StoredFile:  # noqa: ANN401
        """Put a file that contains these texts."""
        items = tuple(item(text, kind="code", **fields) for text in texts)
        return self.store.run(PutFile(HERE, file_state(path), items))

    def assert_sound(self) -> None:
        """Fail the test unless all derived data agrees with the rows."""
        assert self.store.check(HERE) == ()
