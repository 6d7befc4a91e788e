from __future__ import annotations

import asyncio
import secrets
import subprocess
import sys
import threading

import pytest
from langgraph.store.base import InvalidNamespaceError, PutOp, SearchOp

from foreword.config import Settings
from foreword.edges.langgraph import ForewordStore
from foreword.edges.langgraph.stored_values import GraphStoreValues
from foreword.engine.context_engine import ContextEngine
from foreword.errors import EmbeddingError, ValidationError
from foreword.testing import HashEmbeddings

NOTES = ("notes", "mara")


@pytest.fixture
def store(engine):
    return ForewordStore(engine, "shop")


def test_a_value_outlives_the_engine_that_kept_it(home):
    with ContextEngine(embedding_provider=HashEmbeddings(), settings=Settings(home=home)) as engine:
        ForewordStore(engine, "shop").put(NOTES, "tea", {"likes": ["green", "black"]})
    with ContextEngine(embedding_provider=HashEmbeddings(), settings=Settings(home=home)) as engine:
        assert ForewordStore(engine, "shop").get(NOTES, "tea").value == {"likes": ["green", "black"]}


def test_a_value_that_is_put_again_replaces_the_first_and_keeps_its_birthday(store, clock):
    store.put(NOTES, "tea", {"text": "Mara drinks green tea"})
    born = clock.now
    store.put(NOTES, "tea", {"text": "Mara drinks coffee"})
    clock.advance(hours=1)
    store.put(NOTES, "tea", {"text": "Mara drinks water"})
    kept = store.get(NOTES, "tea")
    assert (kept.value, kept.created_at, kept.updated_at) == ({"text": "Mara drinks water"}, born, clock.now)
    assert [item.value for item in store.search(NOTES, query="green tea")] == [kept.value]


def test_a_value_put_after_its_predecessor_expired_is_born_anew(store, clock):
    store.put(("a",), "k", {"n": 1}, ttl=5)
    clock.advance(minutes=6)
    store.put(("a",), "k", {"n": 2})
    item = store.get(("a",), "k")
    assert item.created_at == item.updated_at == clock.now


@pytest.mark.parametrize("index", [True, "text", 5])
def test_an_index_that_is_no_list_of_paths_is_refused_and_says_what_it_may_be(store, index):
    with pytest.raises(ValidationError, match="a list of paths, False or None"):
        store.put(("a",), "k", {"text": "x"}, index=index)
    assert store.get(("a",), "k") is None


def test_a_single_path_is_not_taken_for_a_list_of_letters(engine):
    with pytest.raises(ValidationError, match=r"fields=\['text'\]"):
        ForewordStore(engine, "shop", fields="text")


def test_keys_of_a_value_come_back_as_text(store):
    store.put(("a",), "k", {1: {2: "x"}})
    assert store.get(("a",), "k").value == {"1": {"2": "x"}}


def test_a_value_that_was_read_is_the_readers_own(store):
    given = {"likes": ["green"]}
    store.put(NOTES, "tea", given)
    given["likes"].append("black")
    store.get(NOTES, "tea").value["likes"].append("white")
    assert store.get(NOTES, "tea").value == {"likes": ["green"]}


def test_equal_values_under_two_keys_are_two_values(store):
    for namespace, key in ((NOTES, "a"), (NOTES, "b"), (("notes", "priya"), "a")):
        store.put(namespace, key, {"text": "Tea at four."})
    store.delete(NOTES, "a")
    assert [(item.namespace, item.key) for item in store.search(("notes",))] == [
        (NOTES, "b"),
        (("notes", "priya"), "a"),
    ]


def test_a_search_by_words_or_meaning_finds_what_was_just_put(store):
    store.put(NOTES, "tea", {"text": "Mara drinks green tea in the morning"})
    store.put(NOTES, "dog", {"text": "The dog is called Otto"})
    best, other = store.search(NOTES, query="what is the dog called?")
    assert best.key == "dog"
    assert best.score > 0.5 > other.score


def test_only_the_fields_that_are_indexed_are_searched(engine):
    store = ForewordStore(engine, "shop", fields=["title"])
    store.put(NOTES, "a", {"title": "Holiday plans", "body": "zebra"})
    store.put(NOTES, "b", {"title": "Budget", "body": "zebra"}, index=["body"])
    store.put(NOTES, "c", {"title": "zebra"}, index=False)
    found = store.search(NOTES, query="zebra")
    assert found[0].key == "b"
    assert {item.key: item.score is None for item in found} == {"a": False, "b": False, "c": True}


def test_each_field_has_a_vector_of_its_own_and_the_best_counts(engine):
    store = ForewordStore(engine, "shop", fields=["title", "tags[*]"], score="cosine")
    store.put(NOTES, "a", {"title": "owls at night", "tags": ["fox", "elm tree"]})
    store.put(NOTES, "b", {"title": "owls at night and fox elm tree"})
    for query in ("owls at night", "fox", "elm tree"):
        assert store.search(NOTES, query=query)[0].key == "a"
        assert store.search(NOTES, query=query)[0].score == pytest.approx(1.0, abs=0.02)


def test_fields_of_a_value_go_with_it(engine):
    store = ForewordStore(engine, "shop", fields=["title", "text"])
    store.put(NOTES, "a", {"title": "heron", "text": "a secret nest"})
    assert engine.count(store.workspace).items == 3
    store.put(NOTES, "a", {"title": "stork", "text": "a chimney"})
    assert engine.count(store.workspace).items == 3
    assert "heron" not in str(list(engine.store.scan(store.workspace)))
    store.delete(NOTES, "a")
    assert engine.count(store.workspace).items == 0


def test_fields_expire_with_their_value(engine, clock):
    store = ForewordStore(engine, "shop", fields=["title", "text"])
    store.put(NOTES, "a", {"title": "heron", "text": "a nest"}, ttl=5)
    clock.advance(minutes=6)
    assert store.search(NOTES, query="heron nest") == []
    assert store.sweep_ttl() == 1
    assert engine.count(store.workspace).items == 0


def test_a_shared_store_tells_a_value_once(engine):
    store = ForewordStore(engine, "shop", fields=["title", "text"], shared=True)
    store.put(NOTES, "a", {"title": "heron", "text": "a nest"})
    assert [item.text for item in engine.store.scan("shop")] == ["heron\na nest"]


def test_prefixes_and_namespaces_may_be_lists(store):
    store.put(["notes", "mara"], "a", {"x": 1})
    assert [item.key for item in store.search(["notes"])] == ["a"]
    assert store.search(["no"]) == []
    assert store.get(["notes", "mara"], "a").value == {"x": 1}


@pytest.mark.parametrize("label", ["a%", "a_", "a*", 'a"b', "a\\", "a,b", "a]", "é", "a\n", " a"])
def test_labels_are_never_syntax(store, label):
    store.put((label, "x"), "k", {"x": 1})
    store.put((label + "b", "x"), "k", {"x": 2})
    assert [item.value["x"] for item in store.search((label,))] == [1]
    assert store.list_namespaces(prefix=(label,)) == [(label, "x")]


def test_filters_reach_into_values(store):
    store.put(NOTES, "a", {"author": {"name": "mara", "age": 31}, "tags": ["x", "y"], "a.b": 1})
    assert store.search(
        NOTES, filter={"author.name": "mara", "author.age": {"$gte": 31}, "tags.1": "y", "a.b": 1}
    )
    assert not store.search(NOTES, filter={"author.name": "ben"})
    assert not store.search(NOTES, filter={"author.name.first": "mara"})
    assert store.search(NOTES, filter={"author.city": None, "tags.7": {"$ne": "y"}})


@pytest.mark.parametrize("name", ["a' OR '1'='1", 'a"', "json_extract(x)", "a[0]", 5])
def test_a_filter_whose_name_is_no_path_is_refused(store, name):
    with pytest.raises(ValidationError, match="Invalid filter key"):
        store.search(NOTES, filter={name: 1})


def test_a_search_reads_no_more_than_it_returns(engine, count_calls):
    """Whether there are forty values beside what is asked for, or four hundred."""
    work = []
    for size in (40, 400):
        store = ForewordStore(engine, f"shop{size}")
        store.batch([PutOp(("users", f"u{at:03}"), "k", {"n": at}) for at in range(size)])
        store.batch([PutOp(("few", "x"), "k", {"n": 0})])
        work.append(
            [
                count_calls(lambda p=p, s=store: s.search(p, limit=5))
                for p in (("users",), ("few",), ("users", "u001"))
            ]
        )
    assert all(large < 1.5 * small for small, large in zip(*work, strict=True))


def test_the_sweeper_sweeps_until_it_is_stopped(engine, clock):
    swept = threading.Event()

    class Watched(ForewordStore):
        def _find_expired(self, values):
            found = super()._find_expired(values)
            if not found:
                swept.set()  # all that had expired is gone
            return found

    store = Watched(engine, "shop", ttl={"default_ttl": 5, "sweep_interval_minutes": 60})
    store.put(NOTES, "a", {"x": 1})
    clock.advance(minutes=6)
    running = store.start_ttl_sweeper(0.0001)
    assert store.start_ttl_sweeper() is running
    assert swept.wait(120)
    assert engine.count(store.workspace).items == 0
    assert store.stop_ttl_sweeper(120)
    assert running.result(120) is None
    assert store.stop_ttl_sweeper()


def test_a_sweeper_may_be_cancelled_and_without_a_time_to_live_there_is_none(engine):
    store = ForewordStore(engine, "shop", ttl={"default_ttl": 5})
    running = store.start_ttl_sweeper()
    assert running.cancel()
    assert store.stop_ttl_sweeper(120)
    assert ForewordStore(engine, "shop").start_ttl_sweeper().done()


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), True, "5"])
def test_a_sweeper_without_a_pause_is_refused(engine, minutes):
    with pytest.raises(ValidationError, match="above 0"):
        ForewordStore(engine, "shop", ttl={"default_ttl": 10}).start_ttl_sweeper(minutes)
    with pytest.raises(ValidationError, match="above 0"):
        ForewordStore(engine, "shop", ttl={"sweep_interval_minutes": minutes})


def test_a_misspelt_time_to_live_is_refused(engine):
    with pytest.raises(ValidationError, match=r"'default'; it has: default_ttl"):
        ForewordStore(engine, "shop", ttl={"default": 10})


def test_a_sweep_that_fails_is_not_the_last(engine, caplog):
    failed = threading.Event()

    class Failing(ForewordStore):
        def _find_expired(self, values):
            if "not deleted" in caplog.text:
                failed.set()
            raise ValidationError("no power")

    store = Failing(engine, "shop", ttl={"default_ttl": 5})
    store.start_ttl_sweeper(0.0001)
    assert failed.wait(120)
    assert store.stop_ttl_sweeper(120)


def test_pages_go_on_where_the_last_one_ended(store):
    store.batch([PutOp(NOTES, str(n), {"n": n}, index=False if n % 2 else None) for n in range(9)])
    for query in (None, "n 4"):
        pages = [store.search(NOTES, query=query, limit=2, offset=offset) for offset in range(0, 10, 2)]
        assert sorted(item.value["n"] for page in pages for item in page) == list(range(9))


def test_a_comparison_with_what_is_no_number_does_not_hold(store):
    store.put(NOTES, "a", {"age": "unknown"})
    store.put(NOTES, "b", {})
    store.put(NOTES, "c", {"age": 41})
    assert [item.key for item in store.search(NOTES, filter={"age": {"$gte": 40}})] == ["c"]


def test_an_unknown_operator_is_refused_by_name(store):
    store.put(NOTES, "a", {"age": 1})
    with pytest.raises(ValidationError, match=r"\$regex"):
        store.search(NOTES, filter={"age": {"$regex": "x"}})


@pytest.mark.parametrize("value", [{"x": {1, 2}}, {"x": float("nan")}, {"x": b"bytes"}, ["a list"]])
def test_what_json_cannot_hold_is_refused_and_leaves_the_old_value(store, value):
    store.put(NOTES, "a", {"x": "old"})
    with pytest.raises(ValidationError):
        store.put(NOTES, "a", value)
    assert store.get(NOTES, "a").value == {"x": "old"}


def test_a_batch_that_fails_writes_nothing(store):
    with pytest.raises(ValidationError):
        store.batch([PutOp(NOTES, "a", {"x": 1}), PutOp(NOTES, "b", {"x": {2}})])
    assert store.search(()) == []


def test_reads_of_a_batch_see_what_was_there_before_it(store):
    store.put(NOTES, "a", {"x": 1})
    found, _ = store.batch([SearchOp(NOTES), PutOp(NOTES, "a", {"x": 2})])
    assert found[0].value == {"x": 1}


def test_what_is_no_operation_is_refused(store):
    with pytest.raises(ValidationError, match="str"):
        store.batch(["get"])


def test_a_namespace_that_langgraph_forbids_is_refused(store):
    with pytest.raises(InvalidNamespaceError):
        store.put((), "a", {})


def test_secrets_do_not_reach_the_disk(store, home):
    password = secrets.token_urlsafe(12)
    store.put(NOTES, "login", {"password": password, "user": "mara"})
    assert store.get(NOTES, "login").value["user"] == "mara"
    assert password not in str(store.get(NOTES, "login").value)
    store._engine.close()
    assert not any(password.encode() in path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_a_secret_is_no_name(store):
    with pytest.raises(ValidationError, match="secret"):
        store.put(NOTES, "password: " + secrets.token_urlsafe(12), {})


def test_no_context_shows_a_value_unless_the_store_is_shared(engine):
    ForewordStore(engine, "shop").put(
        NOTES, "a", {"text": "The warehouse key is under the mat"}, index=["text"]
    )
    assert engine.search("where is the warehouse key?", "shop") == []
    ForewordStore(engine, "shop", shared=True).put(
        NOTES, "a", {"text": "The warehouse key is under the mat"}, index=["text"]
    )
    assert "under the mat" in engine.build_context("where is the warehouse key?", "shop").context
    assert engine.search("where is the warehouse key?", "shop")[0].memory.tokens > 1


def test_a_shared_store_lists_its_own_values_only(engine, project):
    store = ForewordStore(engine, "shop", shared=True)
    store.put(NOTES, "a", {"text": "Postgres it is"})
    assert [item.key for item in store.search((), query="Postgres")] == ["a"]
    assert store.list_namespaces() == [NOTES]


def test_workspaces_do_not_see_each_other(engine):
    ForewordStore(engine, "shop").put(NOTES, "a", {"x": 1})
    other = ForewordStore(engine, "bank")
    assert other.get(NOTES, "a") is None
    assert other.list_namespaces() == []


def test_a_text_is_no_namespace(store):
    for use in (
        lambda: store.put("memories", "pet", {"text": "Otto"}),
        lambda: store.get("memories", "pet"),
        lambda: store.search("memories"),
        lambda: store.list_namespaces(prefix="memories"),
    ):
        with pytest.raises(ValidationError, match=r"as in \('memories',\)"):
            use()


def test_a_value_expires_and_a_sweep_forgets_it(store, clock):
    store.put(NOTES, "a", {"x": 1}, ttl=10)
    store.put(NOTES, "b", {"x": 2})
    clock.advance(minutes=10)
    assert store.get(NOTES, "a") is None
    assert [item.key for item in store.search(())] == ["b"]
    assert store.sweep_ttl() == 1
    assert store.sweep_ttl() == 0
    assert store._engine.count(store.workspace).items == 1


def test_a_sweep_leaves_what_was_put_anew_since_it_looked(engine, clock):
    class Interrupted(ForewordStore):
        def _find_expired(self, values):
            found = super()._find_expired(values)
            ForewordStore(engine, "shop").put(NOTES, "a", {"x": 2}, ttl=10)
            return found

    store = Interrupted(engine, "shop")
    store.put(NOTES, "a", {"x": 1}, ttl=10)
    clock.advance(minutes=11)
    assert store.sweep_ttl() == 0
    assert store.get(NOTES, "a").value == {"x": 2}
    clock.advance(minutes=11)
    assert store.get(NOTES, "a") is None


def test_reading_a_value_begins_its_time_anew_unless_told_not_to(store, clock):
    store.put(NOTES, "a", {"x": 1}, ttl=10)
    clock.advance(minutes=9)
    assert store.get(NOTES, "a", refresh_ttl=False) is not None
    assert store.search(NOTES)  # this one counts
    clock.advance(minutes=9)
    assert store.get(NOTES, "a", refresh_ttl=False) is not None
    clock.advance(minutes=1)
    assert store.get(NOTES, "a") is None


def test_the_configuration_gives_every_value_its_time_and_sweeps_by_itself(engine, clock):
    store = ForewordStore(
        engine, "shop", ttl={"default_ttl": 5, "refresh_on_read": False, "sweep_interval_minutes": 30}
    )
    store.put(NOTES, "a", {"x": 1})
    clock.advance(minutes=4)
    assert store.get(NOTES, "a") is not None
    clock.advance(minutes=1)
    assert store.get(NOTES, "a") is None
    clock.advance(minutes=25)
    store.put(NOTES, "b", {"x": 2}, ttl=None)
    assert engine.count(store.workspace).items == 1


def test_a_value_put_again_without_a_time_stays(store, clock):
    store.put(NOTES, "a", {"x": 1}, ttl=1)
    store.put(NOTES, "a", {"x": 2}, ttl=None)
    clock.advance(days=1)
    assert store.get(NOTES, "a").value == {"x": 2}


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), 1e300])
def test_a_time_that_makes_no_sense_is_refused(store, ttl):
    with pytest.raises(ValidationError):
        store.put(NOTES, "a", {}, ttl=ttl)


def test_whoever_renews_a_value_does_not_undo_what_another_put(store, clock):
    store.put(NOTES, "a", {"x": 1}, ttl=10)
    read = list(GraphStoreValues(store._engine, store.workspace).iterate_unexpired_values(NOTES))
    store.put(NOTES, "a", {"x": 2}, ttl=10)
    store._renew_leases(store.workspace, read, refresh=True)
    assert store.get(NOTES, "a").value == {"x": 2}


def test_an_encoder_that_fails_leaves_words_to_find_by(home, caplog):
    class Broken(HashEmbeddings):
        model = "broken"

        def embed_batch(self, texts):
            raise EmbeddingError("no power")

        def embed(self, text):
            raise EmbeddingError("no power")

    with ContextEngine(embedding_provider=Broken(), settings=Settings(home=home)) as engine:
        store = ForewordStore(engine, "shop")
        store.put(NOTES, "dog", {"text": "The dog is called Otto"})
        assert store.search(NOTES, query="dog called")[0].score > 0
    assert "found by their words only" in caplog.text


class Waiting(ForewordStore):
    """A store whose batches wait until they are let go."""

    let_go = threading.Event()

    def batch(self, ops):
        assert self.let_go.wait(120), "nobody else could run"
        return super().batch(ops)


def test_the_event_loop_goes_on_while_the_store_works(engine):
    async def beside():
        putting = asyncio.create_task(Waiting(engine, "shop").aput(NOTES, "a", {"x": 1}))
        await asyncio.sleep(0)
        Waiting.let_go.set()  # only a loop that is free gets here
        await putting

    asyncio.run(beside())
    assert ForewordStore(engine, "shop").get(NOTES, "a").value == {"x": 1}


def test_async_calls_give_what_the_others_give(store):
    async def all_of_them():
        await store.aput(NOTES, "a", {"x": 1})
        got = await store.aget(NOTES, "a")
        found = await store.asearch(("notes",), filter={"x": 1})
        names = await store.alist_namespaces(max_depth=1)
        await store.adelete(NOTES, "a")
        return got.value, [item.key for item in found], names, await store.aget(NOTES, "a")

    assert asyncio.run(all_of_them()) == ({"x": 1}, ["a"], [("notes",)], None)


WRITERS = """
import os
from foreword.edges.langgraph import ForewordStore
from foreword.engine.context_engine import ContextEngine
from foreword.testing import HashEmbeddings

def write(name):
    with ContextEngine(embedding_provider=HashEmbeddings()) as engine:
        store = ForewordStore(engine, "shop")
        for n in range(5):
            store.put(("notes", "mara"), "shared", {"n": n})
            store.put(("notes", "mara"), f"{name}-{n}", {"n": n})

children = {}
for name in ("one", "two", "three"):
    if not (child := os.fork()):
        write(name)
        os._exit(0)
    children[name] = child
print(*[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children.values()])
"""
"""Three processes that write at once; their imports, which take longest, are made before they part."""


@pytest.mark.slow
def test_processes_share_a_store_and_lose_nothing(home):
    with ContextEngine(embedding_provider=HashEmbeddings(), settings=Settings(home=home)) as engine:
        ForewordStore(engine, "shop").put(NOTES, "first", {"n": 0})
    ran = subprocess.run(
        [sys.executable, "-c", WRITERS], capture_output=True, text=True, timeout=240, check=False
    )
    assert ran.stdout.split() == ["0", "0", "0"], ran.stderr
    with ContextEngine(embedding_provider=HashEmbeddings(), settings=Settings(home=home)) as engine:
        store = ForewordStore(engine, "shop")
        assert len(store.search(NOTES, limit=100)) == 17
        assert store.get(NOTES, "shared").value["n"] == 4
        assert engine.store.check(store.workspace) == ()


def test_a_score_is_one_of_two(engine):
    with pytest.raises(ValidationError, match="cosine"):
        ForewordStore(engine, "shop", score="bm25")


@pytest.mark.slow
def test_the_bundled_encoder_finds_what_means_the_same(home):
    with ContextEngine(settings=Settings(home=home)) as engine:
        store = ForewordStore(engine, "shop", fields=["text"])
        store.put(NOTES, "pet", {"text": "Our puppy is called Otto"})
        store.put(NOTES, "tax", {"text": "VAT is declared every quarter"})
        assert store.search(NOTES, query="name of the dog")[0].key == "pet"
        assert (
            ForewordStore(engine, "shop", score="cosine").search(NOTES, query="name of the dog")[0].key
            == "pet"
        )
