from __future__ import annotations

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from foreword.errors import EmbeddingError, ValidationError
from foreword.spaces.dense import MAX_CODE_CHARACTERS, DenseSpace, EmbeddingCache, text_to_embed
from foreword.testing import HashEmbeddings
from foreword.types import Item, Query, text_hash

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Counting(HashEmbeddings):
    asked = 0

    def embed(self, text):
        self.asked += 1
        return super().embed(text)


class Broken(HashEmbeddings):
    def __init__(self, vector):
        super().__init__(4)
        self.vector = vector

    def embed(self, text):
        return self.vector


def test_the_same_question_is_encoded_once():
    provider = Counting()
    space = DenseSpace(provider)
    first, second = (space.probe(Query("where is it", "w", NOW)) for _ in range(2))
    assert first == second
    assert provider.asked == 1


def test_a_question_that_brings_its_vector_needs_no_encoder():
    provider = Counting(2)
    probe = DenseSpace(provider).probe(Query("", "w", NOW, vector=(0.6, 0.8)))
    assert probe.vector == (0.6, 0.8)
    assert provider.asked == 0


def test_an_empty_question_has_no_meaning():
    assert DenseSpace(HashEmbeddings()).probe(Query("  ", "w", NOW)) is None


def test_an_item_is_embedded_with_its_surroundings():
    space = DenseSpace(HashEmbeddings())
    bare, spoken = Item("It broke.", "w"), Item("It broke.", "w", about="Priya")
    assert space.embed_items([bare]) != space.embed_items([spoken])
    assert space.hash_of_embedded_text(bare) != space.hash_of_embedded_text(spoken)


@pytest.mark.parametrize("vector", [[1.0], [1.0, 2.0, 3.0, math.nan], [], [1.0, 2.0, 3.0, math.inf]])
def test_a_vector_that_does_not_fit_is_refused(vector):
    with pytest.raises(EmbeddingError):
        DenseSpace(Broken(vector)).probe(Query("what", "w", NOW))
    with pytest.raises(EmbeddingError, match="does not fit hash"):
        DenseSpace(HashEmbeddings(4)).check_vector(vector)


def test_two_encoders_have_two_digests():
    assert DenseSpace(HashEmbeddings(4)).digest != DenseSpace(HashEmbeddings(8)).digest


def test_how_near_strangers_are_is_learnt_with_the_first_question_and_not_before():
    class Nameless(HashEmbeddings):
        unrelated = None

    space = DenseSpace(Nameless())
    assert space.unrelated_cosine is None
    space.probe(Query("where is it", "w", NOW))
    assert space.unrelated_cosine == pytest.approx(0.0, abs=0.2)
    assert DenseSpace(HashEmbeddings()).unrelated_cosine == 0.0, "an encoder that says so is believed"


class Slow(HashEmbeddings):
    """Answers when it is told to; the first question fails if that is wanted."""

    def __init__(self, problem=None):
        super().__init__(8)
        self.problem = problem
        self.begun, self.may_answer = threading.Event(), threading.Event()
        self.asked = []

    def embed(self, text):
        self.asked.append(text)
        self.begun.set()
        assert self.may_answer.wait(120), "nobody let the encoder answer"
        if self.problem is not None:
            raise self.problem
        return super().embed(text)


def _asked_at_once(space, provider, texts):
    """Ask from a thread each, all while the first answer is still being made."""
    with ThreadPoolExecutor(len(texts)) as threads:
        first = threads.submit(space.embed_question, texts[0])
        assert provider.begun.wait(120), "the encoder was not asked"
        others = [threads.submit(space.embed_question, text) for text in texts[1:]]
        provider.may_answer.set()
        return [first, *others]


def test_who_asks_the_same_at_the_same_time_waits_for_the_first_answer():
    provider = Slow()
    space = DenseSpace(provider)
    answers = _asked_at_once(space, provider, ["where is it"] * 5)
    vectors = [answer.result(timeout=120) for answer in answers]
    assert provider.asked == ["where is it"]
    assert all(vector == vectors[0] for vector in vectors)
    assert len({id(vector) for vector in vectors}) == 5  # nobody can spoil another's answer


def test_another_question_does_not_wait_for_the_first():
    provider = Slow()
    space = DenseSpace(provider)
    answers = _asked_at_once(space, provider, ["where is it", "who has it"])
    assert answers[0].result(timeout=120) != answers[1].result(timeout=120)
    assert sorted(provider.asked) == ["where is it", "who has it"]


def test_a_failure_reaches_all_who_wait_and_the_next_question_is_asked_anew():
    provider = Slow(OSError("no route"))
    space = DenseSpace(provider)
    answers = _asked_at_once(space, provider, ["where is it"] * 3)
    assert {str(answer.exception()) for answer in answers} == {
        f"the encoder {provider.model!r} failed: OSError('no route')"
    }
    provider.problem = None
    before = len(provider.asked)
    assert space.embed_question("where is it")
    assert len(provider.asked) == before + 1
    assert not space._under_way


def test_who_is_interrupted_does_not_leave_the_others_waiting():
    provider = Slow(KeyboardInterrupt())
    provider.may_answer.set()
    space = DenseSpace(provider)
    with pytest.raises(KeyboardInterrupt):
        space.embed_question("where is it")
    assert not space._under_way


# The cache of questions' vectors


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_gives_back_what_was_kept():
    cache = EmbeddingCache()
    cache.set("a", [0.5, -0.25, 1.0])
    assert cache.get("a") == [0.5, -0.25, 1.0]
    assert cache.get("b") is None
    assert len(cache) == 1


def test_keeps_the_precision_encoders_give():
    cache = EmbeddingCache()
    cache.set("a", [0.1])
    assert cache.get("a") == pytest.approx([0.1], rel=1e-6)


def test_what_is_given_back_can_be_changed_without_harm():
    cache = EmbeddingCache()
    cache.set("a", [1.0])
    vector = cache.get("a")
    assert vector is not None
    vector.append(2.0)
    assert cache.get("a") == [1.0]


def test_the_least_recently_used_makes_room():
    cache = EmbeddingCache(max_size=2)
    cache.set("a", [1.0])
    cache.set("b", [2.0])
    cache.get("a")
    cache.set("c", [3.0])
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == ([1.0], None, [3.0])


def test_setting_again_replaces_and_counts_as_use():
    cache = EmbeddingCache(max_size=2)
    cache.set("a", [1.0])
    cache.set("b", [2.0])
    cache.set("a", [4.0])
    cache.set("c", [3.0])
    assert cache.get("a") == [4.0]
    assert cache.get("b") is None


def test_old_vectors_are_gone():
    clock = Clock()
    cache = EmbeddingCache(ttl=10, clock=clock)
    cache.set("a", [1.0])
    clock.now += 9.9
    assert cache.get("a") == [1.0]
    clock.now += 0.1
    assert cache.get("a") is None
    assert len(cache) == 0


def test_setting_again_starts_the_time_again():
    clock = Clock()
    cache = EmbeddingCache(ttl=10, clock=clock)
    cache.set("a", [1.0])
    clock.now += 9
    cache.set("a", [1.0])
    clock.now += 9
    assert cache.get("a") == [1.0]


def test_size_zero_keeps_nothing():
    cache = EmbeddingCache(max_size=0)
    cache.set("a", [1.0])
    assert cache.get("a") is None
    assert len(cache) == 0


def test_clear_forgets_everything():
    cache = EmbeddingCache()
    cache.set("a", [1.0])
    cache.clear()
    assert cache.get("a") is None
    assert len(cache) == 0


def test_the_key_is_the_model_and_the_hash_of_the_text():
    cache = EmbeddingCache()
    assert cache.generate_key("hello", "m") == f"m:{text_hash('hello')}"
    assert cache.generate_key("hello", "m") != cache.generate_key("hello", "n")
    assert cache.generate_key("hello", "m") != cache.generate_key("Hello", "m")


@pytest.mark.parametrize("wrong", [{"max_size": -1}, {"ttl": -0.1}, {"ttl": float("nan")}])
def test_nonsense_limits_are_refused(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        EmbeddingCache(**wrong)


def test_many_threads_never_see_a_foreign_vector_nor_outgrow_the_limit():
    cache = EmbeddingCache(max_size=8)
    wrong: list[object] = []

    def work(seed: int) -> None:
        for step in range(500):
            number = (seed * 7 + step) % 20
            cache.set(str(number), [float(number)])
            if cache.get(str(number)) not in (None, [float(number)]) or len(cache) > 8:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive(), "a thread did not end"
    assert wrong == []
    assert len(cache) == 8


def test_of_code_the_beginning_is_embedded_and_of_the_rest_everything():
    long = "def renew(hold):\n" + "    hold.ends += 600\n" * 100
    code, memory = (Item(long, "shop", kind=kind, about="holds.py") for kind in ("code", "memory"))
    assert text_to_embed(code) == f"holds.py: {long}"[:MAX_CODE_CHARACTERS]
    assert text_to_embed(memory) == f"holds.py: {long}"
    space = DenseSpace(HashEmbeddings())
    assert space.hash_of_embedded_text(code) == space.hash_of_embedded_text(
        replace(code, text=long + "    return hold\n")
    )
