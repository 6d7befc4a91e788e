"""Tests of what every store must do, which an engine runs with ten lines:

    import pytest
    from foreword.store.conformance import StoreConformance, views

    class TestMyStore(StoreConformance):
        @pytest.fixture(autouse=True)
        def _place(self, tmp_path):
            self.place = tmp_path

        def open_store(self):
            return MyStore(self.place, views)

`open_store` opens the same data each time it is called within one test, and no data at the first call. An
engine that takes limits for receipts and for what sessions were shown sets `receipt_days`, `receipt_bytes`
and `shown_days` to what `open_store` gives it: the smaller, the faster. An engine that cannot answer some
kinds of probes lists them: `unsupported = frozenset({TypoProbe})`; tests that need them are skipped.

There is a module for each subject: `StoreConformance` has the tests of all, those for the operations of
`store.browsing` (`BrowsingTests`) included, and `suite` has what they share. Nothing here needs pytest: each
method tests one rule, which its name states, and `teardown_method` closes the store.
"""  # noqa: D400  (it ends in the example's colon)

from foreword.store.conformance.browsing import BrowsingTests
from foreword.store.conformance.files import FileTests
from foreword.store.conformance.items import ItemTests
from foreword.store.conformance.receipts import ReceiptTests
from foreword.store.conformance.searching import SearchingTests
from foreword.store.conformance.suite import views
from foreword.store.conformance.workspaces import WorkspaceTests


class StoreConformance(ItemTests, SearchingTests, ReceiptTests, FileTests, WorkspaceTests, BrowsingTests):
    """The tests of every rule of the contract in `store.base`; a subclass writes `open_store`."""


__all__ = ["BrowsingTests", "StoreConformance", "views"]
