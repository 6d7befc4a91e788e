from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from foreword.engine import embedder as embedder_module
from foreword.engine.embedder import BATCH, Embedder
from foreword.spaces.dense import DenseSpace
from foreword.store.base import Delete, ListUnembedded, Search
from foreword.store.sqlite import SqliteStore
from foreword.testing import HashEmbeddings
from foreword.types import Item, VectorProbe, Views

HERE = "shop"


class Counting(HashEmbeddings):
    """The hash encoder, and every text it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def embed_batch(self, texts):
        self.seen.extend(texts)
        return super().embed_batch(texts)


def first_line(item):
    """A view for tests: what stands before the first line break, if there is one."""
    line, broken, _ = item.text.partition("\n")
    return line if broken else ""


VIEW = ("headline", ("document",), first_line)


@pytest.fixture
def store(tmp_path):
    with SqliteStore(tmp_path, lambda item: Views()) as store:
        yield store


@pytest.fixture
def encoder():
    return Counting()


@pytest.fixture
def embedder(store, encoder):
    embedder = Embedder(store, DenseSpace(encoder), [VIEW])
    yield embedder
    embedder.close()


def put(store, *texts, kind="document"):
    return [one.item for one in store.put(HERE, [Item(text, HERE, kind=kind) for text in texts])]


def nearest_texts(store, space, text):
    probe = VectorProbe(space, DenseSpace(HashEmbeddings()).digest, tuple(HashEmbeddings().embed(text)))
    return [store.get(HERE, name)[0].text for name, _ in store.search(Search(HERE, (probe,))).lists[space]]


def test_a_view_has_vectors_of_its_own_beside_the_whole(store, embedder):
    put(store, "Harbour\nlamps and oil", "Lamps\nthe harbour master", "no headline here")
    assert embedder.embed_missing(HERE) == 5
    assert store.count(HERE).vectors == {"semantic": 3, "headline": 2}
    assert nearest_texts(store, "headline", "harbour")[0] == "Harbour\nlamps and oil"
    assert nearest_texts(store, "headline", "lamps")[0] == "Lamps\nthe harbour master"


def test_what_a_view_shows_nothing_of_is_looked_at_and_left(store, embedder, encoder):
    put(store, *(f"plain {n}" for n in range(BATCH + 5)))
    assert embedder.embed_missing(HERE) == BATCH + 5
    seen = len(encoder.seen)
    assert embedder.embed_missing(HERE) == 0
    assert len(encoder.seen) == seen


@pytest.mark.parametrize("plain", [BATCH, BATCH * 3, BATCH * 17])
def test_many_without_the_view_do_not_hide_one_that_has_it(store, embedder, plain):
    put(store, *(f"plain {n}" for n in range(plain)), "Last\nof all")
    embedder.embed_missing(HERE)
    assert nearest_texts(store, "headline", "last") == ["Last\nof all"]


def test_only_the_kinds_of_a_view_are_shown_to_it(store, embedder):
    put(store, "A turn\nwith two lines", kind="turn")
    embedder.embed_missing(HERE)
    assert store.count(HERE).vectors == {"semantic": 1}


def test_given_items_get_all_their_vectors_at_once(store, embedder):
    items = put(store, "Harbour\nlamps", "plain")
    assert embedder.embed(HERE, items) == 3
    assert embedder.embed_missing(HERE) == 0


def test_a_text_that_is_known_from_another_space_costs_nothing(store, embedder, encoder):
    put(store, "Harbour")
    embedder.embed_missing(HERE)
    put(store, "Harbour\nlamps")
    embedder.embed_missing(HERE)
    assert encoder.seen == ["Harbour", "Harbour\nlamps"]


def test_what_was_noticed_is_embedded_behind_the_write(store, encoder):
    done = threading.Event()

    class Watched(DenseSpace):
        def embed_items(self, items):
            made = super().embed_items(items)
            if items[0].text == "Harbour":
                done.set()
            return made

    embedder = Embedder(store, Watched(encoder), [VIEW])
    embedder.embed_soon(HERE, put(store, "Harbour\nlamps"))
    assert done.wait(120), "the second view was not embedded within a minute"
    embedder.close()
    assert store.count(HERE).vectors == {"semantic": 1, "headline": 1}


def test_what_a_killed_process_left_is_found_for_views_too(store, embedder, encoder):
    put(store, "Harbour\nlamps")
    alone = Embedder(store, DenseSpace(encoder))
    assert alone.embed_missing(HERE) == 1
    assert embedder.embed_missing(HERE) == 1
    left = store.batch([ListUnembedded(HERE, "headline", DenseSpace(encoder).digest, kinds=("document",))])[0]
    assert left == ()


def test_forgetting_an_item_takes_the_vectors_of_its_views(store, embedder):
    item = put(store, "Harbour\nlamps")[0]
    embedder.embed_missing(HERE)
    store.delete(Delete(HERE, (item.id,)))
    assert store.count(HERE).vectors == {}
    assert store.check(HERE) == ()


def test_an_item_forgotten_while_it_is_encoded_ends_the_work(tmp_path):
    store = SqliteStore(tmp_path, lambda item: Views())

    class Forgetful(DenseSpace):
        def embed_items(self, items):
            store.delete(Delete(HERE, tuple(item.id for item in items)))
            return super().embed_items(items)

    put(store, "Harbour\nlamps")
    assert Embedder(store, Forgetful(HashEmbeddings()), [VIEW]).embed_missing(HERE) == 0
    store.close()


def test_vectors_of_a_view_are_bound_to_their_encoder(store, embedder):
    put(store, "Harbour\nlamps")
    embedder.embed_missing(HERE)
    other = Embedder(store, DenseSpace(HashEmbeddings(32)), [VIEW])
    assert other.embed_missing(HERE) == 2


# Many at once


def test_many_items_are_encoded_by_length_and_identical_texts_once(store, embedder, encoder):
    texts = [f"{'lamp ' * (n % 7 + 1)}{n}" for n in range(BATCH * 2)]
    put(store, *texts, kind="memory")
    store.put(HERE, [Item("the same words", HERE, kind="code", id=f"copy-{n}") for n in range(5)])
    embedder.embed_missing(HERE)
    lengths = [len(text) for text in encoder.seen]
    assert lengths == sorted(lengths)
    assert encoder.seen.count("the same words") == 1
    assert store.count(HERE).vectors["semantic"] == store.count(HERE).items


def test_a_kill_costs_no_more_than_the_batch_in_hand(store, encoder):
    class Killed(Exception):
        """Stands for the end of the process."""

    def stop_after_two_batches(made):
        if made >= 2 * BATCH:
            raise Killed

    put(store, *(f"lamp {n}" for n in range(5 * BATCH)), kind="memory")
    with pytest.raises(Killed):
        Embedder(store, DenseSpace(encoder)).embed_missing(HERE, stop_after_two_batches)
    assert store.count(HERE).vectors == {"semantic": 2 * BATCH}
    seen = len(encoder.seen)
    assert Embedder(store, DenseSpace(encoder)).embed_missing(HERE) == 3 * BATCH
    assert len(encoder.seen) == seen + 3 * BATCH


def test_what_another_process_stored_is_embedded_in_the_background_when_asked_again(store, encoder):
    embedder = Embedder(store, DenseSpace(encoder))
    embedder.embed_missing(HERE)
    embedder.embed_soon(HERE)
    done = threading.Event()
    plain = encoder.embed_batch
    encoder.embed_batch = lambda texts: (plain(texts), done.set())[0]
    put(store, "stored by another process", kind="memory")
    assert embedder.embed_missing(HERE, wait=False) == 0
    assert done.wait(120)
    embedder.close()
    assert store.count(HERE).vectors == {"semantic": 1}


def test_a_hurried_question_comes_first_and_closing_does_not_wait_for_quiet(store, encoder, monkeypatch):
    monkeypatch.setattr(embedder_module, "_QUIET_SECONDS", 3600.0)
    monkeypatch.setattr(embedder_module, "_MAX_POSTPONED_SECONDS", 3600.0)
    embedder = Embedder(store, DenseSpace(encoder))
    embedder.pause_embedding_for_question()
    embedder.embed_soon(HERE, put(store, "Harbour lamps"))
    embedder.close()
    assert encoder.seen == []
    assert Embedder(store, DenseSpace(encoder)).embed_missing(HERE) == 1, "what was left is found again"


def test_questions_without_end_postpone_vectors_for_some_seconds_at_most(store, encoder, monkeypatch):
    monkeypatch.setattr(embedder_module, "_QUIET_SECONDS", 3600.0)
    monkeypatch.setattr(embedder_module, "_MAX_POSTPONED_SECONDS", 0.01)
    done = threading.Event()
    plain = encoder.embed_batch
    monkeypatch.setattr(encoder, "embed_batch", lambda texts: (plain(texts), done.set())[0])
    embedder = Embedder(store, DenseSpace(encoder))
    embedder.pause_embedding_for_question()
    embedder.embed_soon(HERE, put(store, "Harbour lamps"))
    assert done.wait(120)
    embedder.close()


def test_a_program_that_ends_without_closing_its_engine_ends_cleanly(tmp_path):
    program = """
import sys, threading
from pathlib import Path
from foreword import ContextEngine, Item, Settings
from foreword.spaces import bundled

encoding = threading.Event()
run_loaded_model = bundled.run_loaded_model
bundled.run_loaded_model = lambda *given: encoding.set() or run_loaded_model(*given)
engine = ContextEngine(settings=Settings(home=Path(sys.argv[1])))
engine.remember_all([Item(f"Note {n}. " + "How long is this? " * 60, "shop") for n in range(64)], "shop")
assert encoding.wait(120)
"""
    ran = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, timeout=240)
    assert (ran.returncode, ran.stderr) == (0, b"")
