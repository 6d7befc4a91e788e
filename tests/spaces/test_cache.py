"""The embedding cache: bounded in number and age, safe between threads."""

import threading

import pytest

from foreword.errors import ValidationError
from foreword.spaces.cache import EmbeddingCache
from foreword.types import text_hash


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
        thread.join()
    assert wrong == []
    assert len(cache) == 8
