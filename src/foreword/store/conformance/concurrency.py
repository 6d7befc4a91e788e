"""Many threads at once, writes that nobody waits for, and closing."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

import threading

from foreword.errors import ContextError, StorageError
from foreword.store.base import Amend, Delete, PutReceipt, PutVectors, Search, Vector
from foreword.store.conformance.suite import DIGEST, HERE, Suite, axis, item, receipt, refused

_TIMEOUT_SECONDS = 120.0


class ConcurrencyTests(Suite):
    def test_a_posted_write_is_done_before_close_returns(self) -> None:
        self.put("a")
        for number in range(20):
            self.store.post(PutReceipt(HERE, receipt(f"r{number}")))
        self.store.post(Amend(HERE, "a", importance=0.9))
        self.reopen()
        assert self.store.count(HERE).receipts == 20
        assert self.item("a").importance == 0.9

    def test_closing_twice_is_harmless_and_a_closed_store_says_so(self) -> None:
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
                    store.run(PutVectors(HERE, "vectors", DIGEST, (Vector(name, name, axis(me)),)))
                    if name not in store.search(Search(HERE, self.probes, limit=1000)).items:
                        failures.append(f"{name} was not found")
                    if number % 3 == 0:
                        store.delete(Delete(HERE, (name,)))
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
