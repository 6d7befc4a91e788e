"""The parts of an engine whose caller names none: the store and the encoder that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.engine.views import views
from foreword.errors import ValidationError
from foreword.spaces.dense import DenseSpace, EmbeddingCache

if TYPE_CHECKING:
    from foreword.config import Settings
    from foreword.options import CacheConfig
    from foreword.spaces.providers import EmbeddingProvider
    from foreword.store.base import Store


def default_store(settings: Settings) -> Store:
    """The SQLite store in the folder that the settings name."""
    from foreword.store.database import Limits
    from foreword.store.sqlite import SqliteStore

    limits = Limits(receipt_days=settings.receipt_days, receipt_bytes=settings.receipt_megabytes * 1_000_000)
    return SqliteStore(settings.workspaces, views, limits)


def default_provider(settings: Settings) -> EmbeddingProvider | None:
    """The encoder that the settings name; None for none."""
    from foreword.spaces import bundled, providers, remote

    match settings.embedding:
        case "bundled":
            return bundled.BundledEmbeddingProvider(settings.threads or None)
        case "openai":
            return remote.OpenAIEmbeddingProvider(
                settings.embedding_key or None,
                settings.embedding_model or "text-embedding-3-small",
                settings.embedding_url or "https://api.openai.com/v1",
                settings.embedding_dimensions or None,
            )
        case "sentence-transformers":
            return providers.SentenceTransformersProvider(settings.embedding_model)
        case "fastembed":
            return providers.FastEmbedProvider(settings.embedding_model)
        case _:
            return None


def make_dense_space(
    provider: EmbeddingProvider | None, expected: int | None, cache: CacheConfig
) -> DenseSpace | None:
    """The space of meaning for an encoder; None without one. Raises if it has not the expected dimensions."""
    if provider is None:
        return None
    if expected is not None and provider.dimensions != expected:
        raise ValidationError(
            f"{provider.model} makes vectors of {provider.dimensions} dimensions, not {expected} as expected"
        )
    return DenseSpace(provider, EmbeddingCache(cache.max_size, cache.ttl))
