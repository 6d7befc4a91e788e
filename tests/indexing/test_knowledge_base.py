"""Documents in, documents out: what changed is replaced, what did not stays, what is deleted is gone."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.compose.knowledge_chunk import read_document_source
from foreword.errors import ValidationError
from foreword.indexing.indexer import Indexer
from foreword.indexing.knowledge_base import Document, KnowledgeBase, KnownDocument, Updated
from foreword.types import Filters

GUIDE = """# Booking guide

How to book a museum ticket.

## Refunds

A refund is booked within thirty days of the sale.

## Groups

Groups pay by invoice, ten people or more.
"""
DATE = datetime(2025, 12, 5, 9, 30, tzinfo=UTC)


@pytest.fixture
def base(engine):
    return KnowledgeBase(engine, "shop")


def guide(**changes):
    return replace(Document("Booking guide", GUIDE), **changes)


def items(engine):
    return list(engine.store.scan("shop", Filters(kinds=("document",))))


@pytest.mark.parametrize("odd", ["text", None, Path("guide.md"), {"title": "Guide", "text": GUIDE}])
def test_what_is_no_document_is_refused_with_what_is_expected(base, odd):
    for index in (base.index_document, lambda one: base.index_documents([one])):
        with pytest.raises(ValidationError, match=r"a Document\('title', 'text'\), not "):
            index(odd)
    with pytest.raises(ValidationError, match="index_document takes one"):
        base.index_documents(guide())


# Keeping


def test_a_document_is_kept_in_chunks_that_know_their_place(engine, base):
    doc_id = base.index_document(guide(url="https://example.org/guide", date=DATE, doc_type="manual"))
    refunds = items(engine)[1]
    assert refunds.text == "A refund is booked within thirty days of the sale."
    assert refunds.about == "Booking guide › Refunds"
    assert refunds.type == "manual"
    assert refunds.created_at == DATE
    assert refunds.metadata["headings"] == ["Booking guide", "Refunds"]
    assert GUIDE[refunds.metadata["start"] : refunds.metadata["end"]] == refunds.text
    assert refunds.tokens == engine.tokenizer.count(refunds.text)
    source = read_document_source(refunds)
    assert source.doc_id == doc_id
    assert source.title == "Booking guide"
    assert source.url == "https://example.org/guide"
    assert source.date == DATE
    assert source.place == "Refunds, line 7"


def test_a_document_is_found_at_once_by_its_words(engine, base):
    base.index_document(guide())
    found = engine.search("refund days", "shop")
    assert found[0].memory.text.startswith("A refund")


def test_what_came_from_the_web_is_trusted_as_the_web_is(engine, base):
    base.index_document(guide(doc_id="mine"))
    base.index_document(guide(doc_id="theirs", url="https://example.org/guide"))
    trusts = {item.source.name: item.source.trust for item in items(engine)}
    assert trusts == {"document:mine": "repository", "document:theirs": "web"}


def test_the_same_document_twice_is_kept_once(engine, base):
    assert base.index_document(guide()) == base.index_document(guide())
    assert len(items(engine)) == 3
    assert base.index_document(guide(doc_id="g")) == base.index_document(guide(doc_id="g")) == "g"
    assert len(items(engine)) == 6


def test_another_document_under_the_same_id_is_refused(engine, base):
    base.index_document(guide(doc_id="g"))
    with pytest.raises(ValidationError, match="update_document"):
        base.index_document(guide(doc_id="g", text="Something else."))
    assert len(items(engine)) == 3


def test_many_documents_are_kept_together_or_not_at_all(engine, base):
    many = [Document(f"Rule {n}", f"Museum rule {n}.") for n in range(250)]
    names = base.index_documents([*many, many[0]])
    assert len(set(names)) == 250
    assert names[-1] == names[0]
    assert [known.source.title for known in base.list_documents()] == [one.title for one in many]
    with pytest.raises(ValidationError, match="text"):
        base.index_documents([Document("New", "New."), Document("Empty", "")])
    with pytest.raises(ValidationError, match="another document"):
        base.index_documents([guide(doc_id="g"), guide(doc_id="g", title="Other")])
    assert len(items(engine)) == 250
    assert base.index_documents([]) == []


def test_chunks_are_as_large_as_was_asked_for(engine):
    long = " ".join(f"Sentence {n} speaks of the museum and its tickets." for n in range(200))
    KnowledgeBase(engine, "shop", chunk_tokens=64).index_document(Document("Long", long))
    sizes = [item.tokens for item in items(engine)]
    assert len(sizes) > 30
    assert max(sizes) <= 64


def test_secrets_do_not_reach_the_disk(engine, base, home):
    key = "ghp_" + secrets.token_hex(18)
    base.index_document(guide(text=f"{GUIDE}\n## Access\n\nUse {key} to log in.\n"))
    access = items(engine)[-1]
    assert "[redacted" in access.text
    stored = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert key.encode() not in stored


def test_a_private_part_is_passed_over_and_told_of(engine, base, caplog):
    base.index_document(guide(text=f"{GUIDE}\n## Ours\n\n<private>the vault\n"))
    assert len(items(engine)) == 3
    assert "a part of a document is not kept" in caplog.text


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"title": " "}, "title"),
        ({"title": "x" * 501}, "title"),
        ({"text": ""}, "text"),
        ({"text": "a\0b"}, "NUL"),
        ({"text": None}, "text"),
        ({"url": ""}, "url"),
        ({"doc_type": ""}, "doc_type"),
        ({"doc_id": ""}, "doc_id"),
        ({"doc_id": "file:guide.md"}, "must not begin with"),
        ({"date": datetime(2025, 1, 1)}, "time zone"),  # noqa: DTZ001
        ({"text": "<private>all of it</private>"}, "says nothing"),
    ],
)
def test_a_document_that_makes_no_sense_is_refused_and_nothing_is_kept(engine, base, changes, problem):
    with pytest.raises(ValidationError, match=problem):
        base.index_document(guide(**changes))
    assert items(engine) == []


def test_a_base_needs_a_workspace_and_a_sensible_size(engine):
    with pytest.raises(ValidationError):
        KnowledgeBase(engine, " ")
    with pytest.raises(ValidationError, match="chunk_tokens"):
        KnowledgeBase(engine, "shop", 3)


# Changing


def test_an_update_replaces_what_changed_and_leaves_the_rest(engine, base):
    doc_id = base.index_document(guide())
    engine.embed_pending("shop")
    before = {item.text: item.id for item in items(engine)}
    changed = GUIDE.replace("thirty days", "sixty days").replace("How to", "\nThis is how to")
    assert base.update_document(doc_id, guide(text=changed)) == Updated(new=2, same=1, gone=2)
    after = {item.text: item for item in items(engine)}
    groups = "Groups pay by invoice, ten people or more."
    assert after[groups].id == before[groups]
    assert after[groups].metadata["start_line"] == 12
    assert groups in {item.text for item in items(engine) if item.id in engine.vectors("shop", [item])}
    assert not any("thirty" in result.memory.text for result in engine.search("thirty days", "shop"))
    assert len(after) == 3
    assert engine.store.check("shop") == ()


def test_an_update_that_changes_nothing_costs_nothing(base):
    doc_id = base.index_document(guide())
    assert base.update_document(doc_id, guide()) == Updated(same=3)


def test_an_update_can_give_a_new_title_and_date(base):
    doc_id = base.index_document(guide())
    base.update_document(doc_id, guide(title="Guide", date=DATE))
    (known,) = base.list_documents()
    assert (known.source.doc_id, known.source.title, known.source.date) == (doc_id, "Guide", DATE)


def test_an_update_needs_a_document_that_is_there(base):
    with pytest.raises(ValidationError, match="no document"):
        base.update_document("nobody", guide())
    base.index_document(guide(doc_id="g"))
    with pytest.raises(ValidationError, match="leave its id out"):
        base.update_document("g", guide(doc_id="h"))


def test_two_documents_with_the_same_words_do_not_share_them(engine, base):
    base.index_document(guide(doc_id="one"))
    base.index_document(guide(doc_id="two"))
    base.delete_document("one")
    assert [known.source.doc_id for known in base.list_documents()] == ["two"]
    assert len(items(engine)) == 3


# Removing


def test_a_deleted_document_is_gone_with_what_was_made_from_it(engine, base, home):
    doc_id = base.index_document(guide())
    engine.remember(
        "A summary: thirty days.", "shop", metadata={"derived_from": [f"document:{doc_id}"]}, kind="summary"
    )
    engine.embed_pending("shop")
    gone = base.delete_document(doc_id)
    assert len(gone.ids) == 4
    assert gone.problems == ()
    assert base.list_documents() == []
    assert engine.count("shop").items == 0
    assert engine.store.files("shop") == {}
    with pytest.raises(ValidationError, match="no document"):
        base.delete_document(doc_id)
    assert base.index_document(guide()) == doc_id


# Folders


def test_a_folder_is_listed_beside_what_was_handed_over(engine, base, tmp_path):
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "guide.md").write_text(GUIDE)
    (folder / "tool.py").write_text("def tool():\n    return 1\n")
    assert base.index_folder(folder).files == 1
    doc_id = base.index_document(Document("Opening hours", "The museum opens at nine."))
    listed = {known.source.doc_id: known for known in base.list_documents()}
    assert set(listed) == {"file:handbook/guide.md", doc_id}
    assert listed["file:handbook/guide.md"].chunks == 3
    assert listed["file:handbook/guide.md"].source.doc_type == "markdown"
    assert listed[doc_id] == KnownDocument(replace(read_document_source(items(engine)[-1]), place=""), 1, 6)


def test_a_file_is_removed_like_a_document_and_changes_with_its_folder(engine, base, tmp_path):
    (tmp_path / "guide.md").write_text(GUIDE)
    base.index_folder(tmp_path)
    (known,) = base.list_documents()
    with pytest.raises(ValidationError, match="index the folder again"):
        base.update_document(known.source.doc_id, guide())
    base.delete_document(known.source.doc_id)
    assert base.list_documents() == []
    assert base.index_folder(tmp_path).files == 1


def test_indexing_the_workspaces_own_folder_leaves_documents_alone(engine, tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "guide.md").write_text(GUIDE)
    base = KnowledgeBase(engine, str(folder))
    base.index_document(Document("Opening hours", "The museum opens at nine."))
    assert Indexer(engine).index(folder, str(folder)).removed == 0
    assert len(base.list_documents()) == 2


def test_another_workspace_is_never_seen(engine, base):
    base.index_document(guide(doc_id="g"))
    other = KnowledgeBase(engine, "elsewhere")
    assert other.list_documents() == []
    with pytest.raises(ValidationError):
        other.delete_document("g")


# Anything


@settings(max_examples=30)
@given(st.lists(st.text(st.sampled_from("ab.# \né"), min_size=1, max_size=80), min_size=1, max_size=4))
def test_whatever_is_written_the_last_version_is_what_is_kept(engine, texts):
    base = KnowledgeBase(engine, "any")
    doc_id = ""
    for text in texts:
        document = Document("Any", f"{text}\nend of it")
        if doc_id:
            base.update_document(doc_id, document)
        else:
            doc_id = base.index_document(document)
    fresh = KnowledgeBase(engine, "fresh")
    again = fresh.index_document(Document("Any", f"{texts[-1]}\nend of it"))
    kept, wanted = (
        sorted((item.text, item.metadata["chunk"]) for item in engine.store.scan(name))
        for name in ("any", "fresh")
    )
    assert kept == wanted
    base.delete_document(doc_id, verify=False)
    fresh.delete_document(again, verify=False)
    assert engine.count("any").items == 0
