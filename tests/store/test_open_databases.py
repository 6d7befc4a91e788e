"""A process with many workspaces has few databases open, and loses nothing by closing the others."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from foreword.errors import StorageError
from foreword.store.base import Delete, MarkShown
from foreword.store.conformance.suite import NOW, item, views
from foreword.store.database import Limits
from foreword.store.sqlite import SqliteStore

MOST = 3
NAMES = [f"user {number}" for number in range(12)]


@pytest.fixture
def narrow(folder):
    with SqliteStore(folder, views, Limits(open_databases=MOST)) as store:
        yield store


def test_few_stay_open_and_all_are_served(narrow):
    for name in NAMES:
        narrow.put(name, [item(f"a word of {name}", id="a")])
        assert len(narrow._open.names_of_open_workspaces()) <= MOST
    assert [narrow.get(name, "a")[0].text for name in NAMES] == [f"a word of {name}" for name in NAMES]


def test_what_was_posted_is_there_when_the_database_is_opened_again(narrow):
    narrow.put(NAMES[0], [item("a", id="a"), item("b", id="b")])
    narrow.post(MarkShown(NAMES[0], "s", ("a",), NOW))
    narrow.post(Delete(NAMES[0], ("b",)))
    for name in NAMES[1:]:
        narrow.put(name, [item("x", id="x")])
    assert NAMES[0] not in narrow._open.names_of_open_workspaces()
    assert narrow.shown_ids(NAMES[0], "s") == {"a"}
    assert narrow.get(NAMES[0], "b") == (None,)
    assert narrow.check(NAMES[0]) == ()


def test_one_in_use_is_not_closed(narrow):
    narrow.put(NAMES[0], [item("a", id="a")])
    with narrow._borrow_database(NAMES[0], create=False) as database:
        for name in NAMES[1:]:
            narrow.put(name, [item("x", id="x")])
        assert NAMES[0] in narrow._open.names_of_open_workspaces()
        with narrow._borrow_database(NAMES[0], create=False) as same:
            assert same is database


def test_many_threads_at_once_lose_nothing(narrow):
    def write(at):
        return narrow.put(NAMES[at % len(NAMES)], [item(f"text {at}", id=f"i{at}")])[0].new

    with ThreadPoolExecutor(8) as people:
        assert all(people.map(write, range(120), timeout=120))
    counted = [narrow.count(name).items for name in NAMES]
    assert counted == [10] * len(NAMES)
    assert len(narrow._open.names_of_open_workspaces()) <= MOST


def test_whoever_wants_one_that_is_being_closed_waits_for_that(narrow):
    narrow.put(NAMES[0], [item("a", id="a")])
    database = narrow._open.take(NAMES[0], lambda: None)
    narrow._open._release(NAMES[0])
    closing, go_on = threading.Event(), threading.Event()
    close = database.close

    def close_slowly():
        closing.set()
        assert go_on.wait(120)
        close()

    database.close = close_slowly
    with ThreadPoolExecutor(2) as people:
        evicting = people.submit(
            lambda: [narrow.put(name, [item("x", id="x")]) for name in NAMES[1 : MOST + 1]]
        )
        assert closing.wait(120)
        reading = people.submit(narrow.get, NAMES[0], "a")
        assert not reading.done()
        go_on.set()
        assert reading.result(120)[0].text == "a"
        evicting.result(120)


def test_a_store_that_is_closed_opens_nothing(narrow):
    narrow.put(NAMES[0], [item("a", id="a")])
    narrow.close()
    with pytest.raises(StorageError, match="closed"):
        narrow.get(NAMES[0], "a")
