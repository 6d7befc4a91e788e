from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.errors import ValidationError
from foreword.text import tokens
from foreword.text.tokens import (
    CharacterTokenizer,
    TiktokenTokenizer,
    Tokenizer,
    WordTokenizer,
    cut_to_tokens,
    encoding_for_model,
    tokenizer_by_name,
)

TOKENIZERS = [
    TiktokenTokenizer("o200k_base"),
    TiktokenTokenizer("gpt-4"),
    CharacterTokenizer(),
    WordTokenizer(),
]
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        # Ids as OpenAI publishes them for these encodings.
        ("hello world", [24912, 2375], [15339, 1917]),
        ("<|endoftext|>", None, None),
        ("", [], []),
    ],
)
def test_exact_tokenizers_give_the_published_ids(text, o200k, cl100k):
    if o200k is None:
        assert len(TiktokenTokenizer("o200k_base").encode(text)) > 1, "special tokens are ordinary text"
    else:
        assert TiktokenTokenizer("o200k_base").encode(text) == o200k
        assert TiktokenTokenizer("cl100k_base").encode(text) == cl100k


@pytest.mark.parametrize("counter", TOKENIZERS, ids=lambda counter: type(counter).__name__)
@given(text=words)
def test_decoding_what_was_encoded_gives_the_text_back(counter, text):
    assert counter.decode(counter.encode(text)) == text


@pytest.mark.parametrize("counter", TOKENIZERS[:2], ids=lambda counter: counter.encoding)
@given(
    text=st.text(st.one_of(st.sampled_from("\n\n\n\r /.,-'aZ1é\t\u3000\u0085"), st.characters()), max_size=60)
)
def test_counting_line_by_line_is_as_exact_as_counting_at_once(counter, text):
    assert counter.count(text) == len(counter.encode(text))


def test_a_line_that_was_counted_is_not_counted_again():
    counter, counts = TiktokenTokenizer(), tokens._count_tokens_of_line.cache_info
    before = counts().misses
    counter.count("a first line\na second line")
    counter.count("a first line\na second line\na third line\na second line")
    assert counts().misses - before == 4  # the second line with and without its end


@pytest.mark.parametrize("counter", TOKENIZERS, ids=lambda counter: type(counter).__name__)
def test_every_tokenizer_meets_the_protocol(counter):
    assert isinstance(counter, Tokenizer)
    assert counter.count("") == 0
    assert counter.count("one two three") > 0


@pytest.mark.parametrize("counter", TOKENIZERS, ids=lambda counter: type(counter).__name__)
@given(text=words, budget=st.integers(-1, 30))
def test_a_cut_text_is_a_beginning_that_fits(counter, text, budget):
    short = cut_to_tokens(text, budget, counter)
    assert text.startswith(short)
    assert counter.count(short) <= max(0, budget)


def test_a_text_that_fits_is_not_cut():
    assert cut_to_tokens("short enough", 100, WordTokenizer()) == "short enough"


def test_estimates_are_those_of_the_documents():
    assert CharacterTokenizer().count("abcde") == 2
    assert WordTokenizer().count("ten words would be thirteen tokens by this rule of thumb") == 15


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("gpt-4o", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("text-embedding-3-small", "cl100k_base"),
        ("o200k_base", "o200k_base"),
        ("some-new-model", "o200k_base"),
    ],
)
def test_a_model_has_an_encoding(name, encoding):
    assert encoding_for_model(name) == encoding


def test_tokenizers_are_found_by_name_and_others_refused():
    assert isinstance(tokenizer_by_name("words"), WordTokenizer)
    assert isinstance(tokenizer_by_name("chars"), CharacterTokenizer)
    assert tokenizer_by_name("cl100k").count("hello world") == 2
    with pytest.raises(ValidationError, match="no tokenizer named"):
        tokenizer_by_name("../../etc")
