"""The engine and what goes into it: rankings, encoders, tokenizers, stores.

    >>> from foreword.engine import ContextEngine, MemoryRanker, RankingOptions
    >>> engine = ContextEngine()
    >>> _ = engine.remember("The cache lives for 60 seconds.", "shop")
    >>> results = engine.search("How long does the cache live?", "shop")
    >>> now = engine.clock()
    >>> best = MemoryRanker.default_ranking(results, now, RankingOptions(recency_weight=0.0))[0]
    >>> best.memory.text
    'The cache lives for 60 seconds.'
    >>> engine.close()

`ContextEngine(store, embedding_provider, …)` takes a `Store` (`SqliteStore` ships), an `EmbeddingProvider`
(`BundledEmbeddingProvider`, `OpenAIEmbeddingProvider`, `SentenceTransformersProvider`, `FastEmbedProvider`),
a `CacheConfig` for its `EmbeddingCache`, and a `Tokenizer` (`TiktokenTokenizer`, `WordTokenizer`,
`CharacterTokenizer`). `MemoryRanker` has the rankings; a `RankingFunction` of your own is registered by name.
`SearchOptions` and `ContextOptions` say how to search and to build. The values: `Item` with its `Source`,
`Relation`, `Query`, `Filters`, `SearchResult` with its `RelatedMemory`s, `Receipt` with its `Entry`s and
`Note`s.
"""

from __future__ import annotations

from foreword.engine.public_names import load_public_name

_HOMES = {
    "foreword.engine.context_engine": ("ContextEngine",),
    "foreword.options": ("CacheConfig", "ContextOptions", "SearchOptions"),
    "foreword.recall.rank": ("MemoryRanker", "RankingFunction", "RankingOptions"),
    "foreword.spaces.bundled": ("BundledEmbeddingProvider",),
    "foreword.spaces.dense": ("EmbeddingCache",),
    "foreword.spaces.providers": ("EmbeddingProvider", "FastEmbedProvider", "SentenceTransformersProvider"),
    "foreword.spaces.remote": ("OpenAIEmbeddingProvider",),
    "foreword.store.base": ("Store",),
    "foreword.store.sqlite": ("SqliteStore",),
    "foreword.text.tokens": ("CharacterTokenizer", "TiktokenTokenizer", "Tokenizer", "WordTokenizer"),
    "foreword.types": (
        "Entry",
        "Filters",
        "Item",
        "Note",
        "Query",
        "Receipt",
        "RelatedMemory",
        "Relation",
        "SearchResult",
        "Source",
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)  # noqa: PLE0605  (made of the table above)


def __getattr__(name: str) -> object:
    """Import a name when it is first used: importing `foreword.engine.base` must not load an encoder."""
    return load_public_name(name, _HOME, globals())


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return __all__
