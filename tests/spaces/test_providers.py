from __future__ import annotations

import math
import subprocess
import sys
import types

import pytest

from foreword.errors import EmbeddingError, MissingExtra
from foreword.spaces import providers
from foreword.spaces.providers import (
    EmbeddingProvider,
    FastEmbedProvider,
    SentenceTransformersProvider,
    check_vectors,
    embed_query,
    encoder_digest,
)


class Plain:
    """The least a provider can be."""

    def __init__(self, model="plain", dimensions=2):
        self.model = model
        self.dimensions = dimensions

    def embed(self, text):
        return [float(len(text)), 1.0]

    def embed_batch(self, texts):
        return [self.embed(text) for text in texts]


# What every vector must be


def test_good_vectors_pass_as_lists_of_floats():
    assert check_vectors([(1, 2.5)], 1, 2) == [[1.0, 2.5]]
    assert check_vectors([[1.0], [2.0]], 2, None) == [[1.0], [2.0]]
    assert check_vectors([], 0, None) == []


@pytest.mark.parametrize(
    ("vectors", "count", "dimensions"),
    [
        ([[1.0]], 2, 1),
        ([[1.0, 2.0]], 1, 3),
        ([[1.0], [1.0, 2.0]], 2, None),
        ([[]], 1, None),
        ([[math.nan]], 1, 1),
        ([[math.inf]], 1, 1),
        ([[10**400]], 1, 1),
        ([[None]], 1, 1),
        ([["one"]], 1, 1),
        ([None], 1, 1),
        (None, 1, 1),
    ],
)
def test_vectors_that_do_not_fit_are_refused(vectors, count, dimensions):
    with pytest.raises(EmbeddingError):
        check_vectors(vectors, count, dimensions)


def test_a_plain_provider_is_asked_questions_like_anything_else():
    assert isinstance(Plain(), EmbeddingProvider)
    assert embed_query(Plain(), "abc") == [3.0, 1.0]


def test_a_question_with_a_vector_of_the_wrong_size_is_refused():
    with pytest.raises(EmbeddingError, match="2 numbers where 3"):
        embed_query(Plain(dimensions=3), "abc")


def test_a_digest_tells_encoders_apart():
    marked = Plain()
    marked.fingerprint = "other weights"
    every = [
        encoder_digest(Plain()),
        encoder_digest(Plain("other")),
        encoder_digest(Plain(dimensions=3)),
        encoder_digest(marked),
    ]
    assert len(set(every)) == 4
    assert encoder_digest(Plain()) == every[0]
    assert all(len(name) == 19 and name.startswith("b2:") for name in every)


def test_a_digest_changes_with_the_preprocessing(monkeypatch):
    before = encoder_digest(Plain())
    monkeypatch.setattr(providers, "PREPROCESSING", providers.PREPROCESSING + 1)
    assert encoder_digest(Plain()) != before


def test_importing_providers_loads_no_third_party():
    heavy = "{'numpy', 'onnxruntime', 'tokenizers', 'urllib.request'}"
    modules = "foreword.spaces.providers, foreword.spaces.bundled, foreword.spaces.remote"
    code = f"import sys, {modules}; print(sorted({heavy} & set(sys.modules)))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert answer.stdout.strip() == "[]"


# Packages the user may have


@pytest.mark.parametrize(
    ("provider", "module", "extra"),
    [
        (SentenceTransformersProvider, "sentence_transformers", "sentence-transformers"),
        (FastEmbedProvider, "fastembed", "fastembed"),
    ],
)
def test_a_missing_package_names_its_pip_line(monkeypatch, provider, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"pip install 'foreword\[{extra}\]'"):
        provider("some/model")


class FakeSentenceTransformer:
    prompts = {"query": "query: ", "document": ""}  # noqa: RUF012

    def __init__(self, name):
        if name == "absent":
            raise OSError("no such model")

    def encode(self, texts, prompt, normalize_embeddings, show_progress_bar):
        if texts == ["break"]:
            raise RuntimeError("out of memory")
        return [[float(len((prompt or "") + text)), 1.0] for text in texts]


class FakeTextEmbedding:
    def __init__(self, model_name):
        if model_name == "absent":
            raise ValueError("no such model")

    def passage_embed(self, texts):
        for text in texts:
            if text == "break":
                raise RuntimeError("out of memory")
            yield (float(len(text)), 1.0)

    def query_embed(self, texts):
        return ((float(len("query: " + text)), 1.0) for text in texts)


@pytest.fixture(params=[SentenceTransformersProvider, FastEmbedProvider])
def foreign(request, monkeypatch):
    fakes = {"sentence_transformers": FakeSentenceTransformer, "fastembed": FakeTextEmbedding}
    names = {"sentence_transformers": "SentenceTransformer", "fastembed": "TextEmbedding"}
    for module, fake in fakes.items():
        stand_in = types.ModuleType(module)
        setattr(stand_in, names[module], fake)
        monkeypatch.setitem(sys.modules, module, stand_in)
    return request.param


def test_a_foreign_model_gives_vectors_and_asks_questions_its_own_way(foreign):
    provider = foreign("some/model")
    assert isinstance(provider, EmbeddingProvider)
    assert (provider.model, provider.dimensions) == ("some/model", 2)
    assert provider.embed_batch(["a", "bbb"]) == [[1.0, 1.0], [3.0, 1.0]]
    assert provider.embed_batch([]) == []
    assert provider.embed("aa") == [2.0, 1.0]
    assert embed_query(provider, "aa") == [9.0, 1.0]


def test_a_foreign_model_that_cannot_be_loaded_is_an_embedding_error(foreign):
    with pytest.raises(EmbeddingError, match=r"absent.*no such model"):
        foreign("absent")


def test_a_foreign_model_that_fails_is_an_embedding_error(foreign):
    with pytest.raises(EmbeddingError, match="out of memory"):
        foreign("some/model").embed("break")
