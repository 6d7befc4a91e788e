"""Makes the parts of an engine that its caller does not pass: the store, encoder, reader and summarizer.

Most are imported inside functions, because the processes that read files need
`code_parts_and_mentioned_entities` alone.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError
from foreword.knowledge import supersession
from foreword.spaces import names
from foreword.types import Views

if TYPE_CHECKING:
    from foreword.config import Settings
    from foreword.knowledge.remote_summary import ChatSummariser
    from foreword.options import CacheConfig
    from foreword.spaces.base import Reranker, TokenSpace
    from foreword.spaces.dense import DenseSpace
    from foreword.spaces.providers import EmbeddingProvider
    from foreword.store.base import Store
    from foreword.text.tokens import Tokenizer
    from foreword.types import DialogueSummarizer, FindReplacing, Item

_SUMMARY_TIMEOUT_SECONDS = 20.0


def code_parts_and_mentioned_entities(item: Item) -> Views:
    """The parts of the code names in an item, and the entities that it mentions.

    In code, entities are found by its code names alone. The rules for prose would find little more there and
    take five times as long; they are applied to its `about` only.
    """
    found = names.find_code_names(item.searchable)
    if item.kind == "code":
        return Views(found.parts, (*names.find_named_things(item.about), *found.named))
    return Views(
        found.parts, (*names.find_named_things(item.searchable), *supersession.attribute_lookup_keys(item))
    )


LOCAL = "local"
"""The address of the SQLite store in the data folder, in place of a server's."""


def default_store(settings: Settings) -> Store:
    """The store that the settings name: a PostgreSQL server, or the SQLite store in the data folder."""
    return open_store(settings, settings.store or LOCAL)


def open_store(settings: Settings, address: str) -> Store:
    """The store at an address, `LOCAL` or `postgres://…`, with the vectors and limits of the settings."""
    from foreword.capture.privacy import reason_to_keep_nothing
    from foreword.store.database import Limits

    limits = Limits(receipt_days=settings.receipt_days, receipt_bytes=settings.receipt_megabytes * 1_000_000)
    reason = partial(reason_to_keep_nothing, settings.home)
    vectors: Any = None
    if settings.vectors:
        from foreword.store.qdrant import QdrantVectors
        from foreword.store.tenants_to_purge import TenantsToPurge

        vectors = QdrantVectors(settings.vectors, TenantsToPurge(settings.home))
    if address == LOCAL:
        from foreword.store.sqlite import SqliteStore

        return SqliteStore(
            settings.workspaces, code_parts_and_mentioned_entities, limits, reason, vectors=vectors
        )
    if not address.startswith(("postgres://", "postgresql://")):
        raise ValidationError(f"a store is {LOCAL!r} or an address that begins with postgres://")
    from foreword.store.postgres.store import PostgresStore

    return PostgresStore(address, code_parts_and_mentioned_entities, limits, reason, vectors=vectors)


def default_embedding_provider(settings: Settings) -> EmbeddingProvider | None:
    """The encoder that the settings name; None if they name none."""
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


def default_reader(settings: Settings) -> Reranker | None:
    """The reader that comes with the package; None if the settings switch it or the encoder off."""
    from foreword.spaces.reader import BundledReader

    if settings.reader == "none" or settings.embedding == "none":
        return None
    return BundledReader(settings.threads or None)


def default_token_space(settings: Settings) -> TokenSpace | None:
    """The encoder of tokens that comes with the package; None if switched off, or with another encoder.

    The weights of the blend were fitted with both bundled encoders together.
    """
    from foreword.spaces.tokens import TokenEncoder

    if settings.late_interaction == "none" or settings.embedding != "bundled":
        return None
    return TokenEncoder(settings.threads or None)


def make_dense_space(
    provider: EmbeddingProvider | None, expected: int | None, cache: CacheConfig
) -> DenseSpace | None:
    """The space of meaning for an encoder; None without one, ValidationError for unexpected dimensions."""
    from foreword.spaces.dense import DenseSpace, EmbeddingCache

    if provider is None:
        return None
    if expected is not None and provider.dimensions != expected:
        raise ValidationError(
            f"{provider.model} makes vectors of {provider.dimensions} dimensions, not {expected} as expected"
        )
    return DenseSpace(provider, EmbeddingCache(cache.max_size, cache.ttl))


def make_chat_summariser(settings: Settings) -> ChatSummariser | None:
    """The remote model that writes summaries, if the settings name one; ValidationError for a bad address."""
    from foreword.knowledge.remote_summary import ChatSummariser
    from foreword.spaces.remote import RemoteModel

    if not settings.summary_url:
        return None
    endpoint = RemoteModel(
        settings.summary_url,
        settings.summary_key or None,
        _SUMMARY_TIMEOUT_SECONDS,
        tries=1,
        address="the summary endpoint",
        key_name="the key",
    )
    return ChatSummariser(endpoint.post_json, settings.summary_model)


def choose_summarizer(
    settings: Settings, tokenizer: Tokenizer, find_replacing: FindReplacing | None = None
) -> DialogueSummarizer:
    """A summarizer of conversations: by the model that the settings name, else extractive."""
    from foreword.knowledge.dialogue_summary import ExtractiveSummarizer
    from foreword.knowledge.remote_summary import RemoteDialogueSummarizer

    model = make_chat_summariser(settings)
    if model is None:
        return ExtractiveSummarizer(tokenizer, find_replacing)
    return RemoteDialogueSummarizer(model, tokenizer, find_replacing=find_replacing)
