"""The engines keep the contract on real servers: PostgreSQL, and Qdrant beside either engine."""

from __future__ import annotations

import pytest

from foreword.store.conformance import StoreConformance, views
from foreword.store.database import Limits
from foreword.store.postgres.store import PostgresStore
from foreword.store.qdrant import QdrantVectors
from foreword.store.sqlite import SqliteStore


class TestPostgresStore(StoreConformance):
    receipt_bytes = 50_000

    @pytest.fixture(autouse=True)
    def _place(self, postgres, schema):
        self.url, self.schema = postgres.url, schema

    def open_store(self):
        limits = Limits(receipt_bytes=self.receipt_bytes)
        return PostgresStore(self.url, views, limits, schema_name=self.schema)


class TestPostgresStoreWithQdrant(TestPostgresStore):
    @pytest.fixture(autouse=True)
    def _vectors(self, qdrant):
        self.qdrant_url = qdrant.url

    def open_store(self):
        limits = Limits(receipt_bytes=self.receipt_bytes)
        vectors = QdrantVectors(self.qdrant_url)
        return PostgresStore(self.url, views, limits, schema_name=self.schema, vectors=vectors)


class TestSqliteStoreWithQdrant(StoreConformance):
    receipt_bytes = 50_000

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path, qdrant):
        self.place, self.qdrant_url = tmp_path, qdrant.url

    def open_store(self):
        limits = Limits(receipt_bytes=self.receipt_bytes)
        return SqliteStore(self.place, views, limits, vectors=QdrantVectors(self.qdrant_url))
