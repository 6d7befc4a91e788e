"""Nothing crosses from one workspace into another, by whatever door one looks."""

from __future__ import annotations

import random
import unicodedata
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.engine.defaults import code_parts_and_mentioned_entities
from foreword.errors import ValidationError
from foreword.store.base import (
    Amend,
    Count,
    Delete,
    Get,
    GetReceipt,
    GetRelated,
    GetShown,
    GetVectors,
    ListRecent,
    ListRelations,
    ListUnembedded,
    Scan,
    Search,
)
from foreword.store.sqlite import SqliteStore
from foreword.testing import FixedClock, HashEmbeddings, WordTokens
from foreword.types import (
    EntitiesProbe,
    Filters,
    IdentifiersProbe,
    Item,
    NeighboursProbe,
    RecentProbe,
    TypoProbe,
    VectorProbe,
    WordsProbe,
    text_hash,
)

WORKSPACES = (
    "shop",
    "Shop",
    "SHOP",
    "shop/",
    "shop//",
    "/shop",
    "./shop",
    "shop/api",
    "shop/api/v2",
    "shop-api",
    "../shop",
    "/home/ada/shop",
    "/home/ada/shop/",
    "/home/ada/Shop",
    "C:\\Users\\Ada\\shop",
    " shop",
    "sh%op_",
    "caf\u00e9",
    "cafe\u0301",
    "магазин 商店 🏪",
)
WORDINGS = ("{0}", "deploy flag {0}", "open_{0}", "What did {1} do?", '"{0}" OR workspace:*')
ITEMS = 5
PROVIDER = HashEmbeddings(32)


def _canary(workspace, number):
    """A word that stands in one item of one workspace, and in questions."""
    return f"canary{WORKSPACES.index(workspace)}n{number}x"


def _seal(workspace):
    """A word that stands in every item of one workspace, and in no question."""
    return f"seal{chr(97 + WORKSPACES.index(workspace)) * 6}"


def _text(workspace, number):
    return (
        f"Ada sets the deploy flag: {_canary(workspace, number)} and open_{_canary(workspace, number)} "
        f"for {_canary(workspace, number).capitalize()} under {_seal(workspace)}"
    )


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with _fill_workspaces(tmp_path_factory.mktemp("isolation"), ITEMS) as engine:
        yield engine


@contextmanager
def _fill_workspaces(folder, count):
    """Twenty workspaces that hold the same ids, sessions and words, but for their canaries."""
    store = SqliteStore(folder / "workspaces", code_parts_and_mentioned_entities)
    options = {
        "settings": Settings(home=folder, reader="none"),
        "counter": WordTokens(),
        "clock": FixedClock(),
    }
    with ContextEngine(store, PROVIDER, **options) as engine:
        for workspace in WORKSPACES:
            items = [
                Item(_text(workspace, n), workspace, id=f"i{n}", session="s", created_at=engine.clock())
                for n in range(count)
            ]
            items.append(Item(f"Own {_seal(workspace)}", workspace, id=f"own-{_seal(workspace)}"))
            engine.remember_all(items, workspace)
            engine.relate("i0", "i1", workspace, type=f"type-{_seal(workspace)}")
            engine.embed_pending(workspace)
            engine.build_context(f"deploy flag {_canary(workspace, 0)}", workspace)
        yield engine


def _engine_answers(engine, workspace, question, foreign_id):
    """Everything the engine says when a workspace asks a question."""
    options = {"limit": 50, "include_relationships": True, "relationship_depth": 10}
    vector = PROVIDER.embed(question)
    yield engine.search(question, workspace, **options)
    yield engine.search("", workspace, **options)
    yield engine.search(question, workspace, session="s")
    yield engine.search_by_vector(vector, workspace, **options)
    yield engine.preview_context(question, workspace, token_budget=5000, include_metadata=True, **options)
    yield engine.build_context(question, workspace, token_budget=5000, **options)
    yield engine.build_context_by_vector(vector, workspace, token_budget=5000, **options)
    yield engine.explain(workspace)
    yield engine.explain(workspace, foreign_id)
    yield list(engine.export(workspace))
    yield engine.count(workspace)


def _store_answers(engine, workspace, question, words, foreign_id, foreign_text):
    """Everything the store says when a workspace asks a question."""
    store, digest = engine.store, engine._dense.digest
    probes = (
        WordsProbe("w", words),
        TypoProbe("t", tuple(word[:-1] + "y" for word in words)),
        IdentifiersProbe("i", words),
        EntitiesProbe("e", words),
        RecentProbe("r"),
        NeighboursProbe("n"),
        VectorProbe("semantic", digest, tuple(PROVIDER.embed(question))),
    )
    yield store.search(Search(workspace, probes, limit=100))
    yield store.search(Search(workspace, probes, Filters(session="s", kinds=("memory",)), limit=100))
    yield list(store.scan(workspace, page=2))
    yield store.get(workspace, "i0", foreign_id)
    yield store.expand(workspace, ["i0", "i1", foreign_id], 10)
    yield store.receipt(workspace)
    yield store.batch(
        [
            Get(workspace, (foreign_id,)),
            Scan(workspace, after="i0"),
            GetRelated(workspace, (foreign_id,), 10),
            ListRelations(workspace),
            ListUnembedded(workspace, "semantic", digest),
            GetVectors(workspace, digest, (text_hash(foreign_text),)),
            GetReceipt(workspace),
            Count(workspace),
            ListRecent(workspace),
            GetShown(workspace, "s"),
            Amend(workspace, foreign_id, confidence=0.0),
            Delete(workspace, (foreign_id,)),
        ]
    )


def _seals_in(answer, but):
    said = repr(answer)
    return [workspace for workspace in WORKSPACES if workspace != but and _seal(workspace) in said]


@settings(max_examples=settings().max_examples // 2)  # each asks everything that can be asked
@given(
    mine=st.sampled_from(WORKSPACES),
    theirs=st.sampled_from(WORKSPACES),
    number=st.integers(0, ITEMS - 1),
    wording=st.sampled_from(WORDINGS),
)
def test_no_question_to_one_workspace_is_answered_from_another(engine, mine, theirs, number, wording):
    assert _foreign_seals(engine, mine, theirs, number, wording)[1] == []


def _foreign_seals(engine, mine, theirs, number, wording):
    """How often a workspace was read with a question of another's, and the foreign words in the answers."""
    canary = _canary(theirs, number)
    question = wording.format(canary, canary.capitalize())
    foreign_id = "own-" + _seal(theirs) if theirs != mine else "nobody"
    answers = [
        *_engine_answers(engine, mine, question, foreign_id),
        *_store_answers(
            engine, mine, question, (canary, "deploy", "flag"), foreign_id, _text(theirs, number)
        ),
    ]
    if theirs != mine:
        assert answers[-1][5] == {}  # nor are vectors lent out to those who know the text
    # An answer may repeat the id it was asked for.
    said = [repr(answer).replace(foreign_id, "") for answer in answers]
    return len(answers) + len(answers[-1]), [seal for each in said for seal in _seals_in(each, mine)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wanted", "items"), [(300, ITEMS), pytest.param(20_000, 50, marks=pytest.mark.soak)]
)
def test_of_many_reads_in_twenty_workspaces_none_brings_a_foreign_word(
    tmp_path, request, wanted, items, report_fault
):
    chance, reads, foreign = random.Random(2), 0, []
    few = items == ITEMS
    with (
        nullcontext(request.getfixturevalue("engine")) if few else _fill_workspaces(tmp_path, items) as engine
    ):
        while reads < wanted:
            mine, theirs = chance.sample(WORKSPACES, 2)
            wording = chance.choice(WORDINGS)
            made, seals = _foreign_seals(engine, mine, theirs, chance.randrange(items), wording)
            reads, foreign = reads + made, foreign + seals
        lost = sum(items + 1 - engine.count(workspace).items for workspace in WORKSPACES)
    saw = f"{len(foreign)} foreign words in {reads:,} reads"
    kept = len(WORKSPACES) * (items + 1)
    report_fault(12, {"workspaces": len(WORKSPACES)}, acknowledged=kept, lost=lost, saw=saw)
    assert foreign == []


def test_every_workspace_finds_its_own(engine):
    for workspace in WORKSPACES:
        found = engine.search(_canary(workspace, 3), workspace)
        assert found[0].memory.text == _text(workspace, 3)
        assert found[0].memory.workspace == workspace
        assert engine.count(workspace).items == ITEMS + 1


def test_the_workspaces_are_listed_as_they_were_named(engine):
    assert engine.store.workspaces() == sorted(WORKSPACES)


def test_an_id_of_another_workspace_cannot_be_related_amended_or_forgotten(engine):
    mine, theirs = "shop", "Shop"
    foreign = f"own-{_seal(theirs)}"
    for ends in (("i0", foreign), (foreign, "i0")):
        with pytest.raises(ValidationError, match="no item has the id"):
            engine.relate(*ends, mine)
    assert engine.store.batch([Amend(mine, foreign, confidence=0.0)]) == [None]
    assert engine.store.delete(Delete(mine, (foreign,))) == ()
    assert engine.store.get(theirs, foreign)[0].confidence == 1.0


def test_forgetting_in_one_workspace_leaves_the_others_alone(tmp_path):
    with ContextEngine(
        SqliteStore(tmp_path, code_parts_and_mentioned_entities), PROVIDER, counter=WordTokens()
    ) as engine:
        pair = ("shop", "shop/")
        for workspace in pair:
            engine.remember_all([Item("same words", workspace, id="same", session="s")], workspace)
            engine.build_context("words", workspace, asked_in="s")
        engine.forget("shop", "same")
        engine.forget("shop", session="s")
        assert engine.search("words", "shop") == []
        assert engine.explain("shop") is None
        assert [result.memory.id for result in engine.search("words", "shop/")] == ["same"]
        assert engine.explain("shop/") is not None


names = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40
).filter(str.strip)


def _similar_names(name):
    """Names that look like this one."""
    return {
        name.upper(),
        name.lower(),
        name.swapcase(),
        name + "/",
        name + "\\",
        "/" + name,
        "./" + name,
        name + "/.",
        name + "/..",
        name + " ",
        name + ".",
        name + "\n",
        name.replace("/", "-"),
        unicodedata.normalize("NFC", name),
        unicodedata.normalize("NFD", name),
        unicodedata.normalize("NFKC", name),
    } - {name}


@given(names)
def test_a_workspace_has_a_folder_of_its_own_inside_the_data_folder(name):
    store = SqliteStore(Path("/data"))
    mine = store.path_of_database(name)
    assert mine.parent.parent == Path("/data")
    assert mine.parent.name.isascii()
    assert len(mine.parent.name) < 100
    for other in _similar_names(name):
        if other.strip():
            # On a disk that folds case, too.
            assert str(store.path_of_database(other)).lower() != str(mine).lower()


@pytest.mark.parametrize("name", ["../../etc", "/etc/passwd", "..", ".", "con", "a/../../b", "~root", "-rf"])
def test_a_workspace_named_like_a_path_stays_in_the_data_folder(tmp_path, name):
    with SqliteStore(tmp_path / "data", code_parts_and_mentioned_entities) as store:
        store.put(name, [Item("x", name)])
        assert store.workspaces() == [name]
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert len(list((tmp_path / "data").iterdir())) == 1


BAD_NAMES = [None, "", "   ", "\t\n", 0, "a\0b", "\ud800"]


@pytest.mark.parametrize("bad_name", BAD_NAMES, ids=repr)
@pytest.mark.parametrize(
    "call",
    [
        lambda engine, name: engine.remember("x", name),
        lambda engine, name: engine.remember_all([Item("x", "shop")], name),
        lambda engine, name: engine.relate("i0", "i1", name),
        lambda engine, name: engine.forget(name, "i0"),
        lambda engine, name: engine.forget(name, session="s"),
        lambda engine, name: engine.search("x", name),
        lambda engine, name: engine.search("", name),
        lambda engine, name: engine.search_by_vector(PROVIDER.embed("x"), name),
        lambda engine, name: engine.build_context("x", name),
        lambda engine, name: engine.build_context_by_vector(PROVIDER.embed("x"), name),
        lambda engine, name: engine.preview_context("x", name),
        lambda engine, name: engine.explain(name),
        lambda engine, name: engine.embed_pending(name),
        lambda engine, name: engine.count(name),
        lambda engine, name: list(engine.export(name)),
        lambda engine, name: engine.import_lines(['{"text": "x"}'], name),
    ],
    ids=["remember", "remember_all", "relate", "forget", "forget_session", "search", "search_nothing",
         "search_by_vector", "build_context", "build_context_by_vector", "preview_context", "explain",
         "embed_pending", "count", "export", "import_lines"],
)  # fmt: skip
def test_without_a_workspace_nothing_is_answered(engine, call, bad_name):
    with pytest.raises(ValidationError, match="workspace"):
        call(engine, bad_name)


def test_without_a_workspace_a_context_is_empty_when_errors_are_not_wanted(engine):
    result = engine.build_context("deploy key", "", on_error="empty")
    assert result.context == ""
    assert result.memories == ()
