"""Pages of help for a chat: read, asked and counted."""

from __future__ import annotations

import json

import pytest

from foreword.errors import ValidationError
from foreword.testing import HashEmbeddings
from foreword_measure.quality.documents import list_own_sets, measure_documents, read_questions

PAGES = {
    "refunds.md": "# Refunds\n\nA museum refund takes thirty days.",
    "groups.md": "# Groups\n\nA school class pays by invoice.",
}
TALK = [
    {"role": "user", "text": "We could not come, can I have a museum refund?"},
    {"role": "assistant", "text": "Yes, a museum refund is possible."},
]


def row(kind, question, page, talk=()):
    return {"id": question[:5], "kind": kind, "talk": list(talk), "question": question, "page": page}


@pytest.fixture
def help_pages(tmp_path):
    folder = tmp_path / "museum"
    (folder / "pages").mkdir(parents=True)
    for name, text in PAGES.items():
        (folder / "pages" / name).write_text(text)

    def write(rows):
        (folder / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
        return folder

    return write


def test_the_right_page_and_silence_are_counted_by_kind(help_pages):
    folder = help_pages(
        [
            row("first", "how long does a museum refund take", "refunds.md"),
            row("follow-up", "how long does it take?", "refunds.md", TALK),
            row("unanswerable", "quokka xylophone zeppelin", None),
        ]
    )
    report = measure_documents(folder, provider=HashEmbeddings())
    runs = report.data["runs"]
    assert runs["search"]["first"] == 1.0
    assert set(runs["foreword"]) == {
        *("right page first", "first", "follow-up", "unanswerable", "pages told")
    }
    assert [row[0] for row in report.tables[0].rows] == ["search", "foreword"]


@pytest.mark.parametrize("wrong", [row("odd", "why?", None), row("first", "why?", "missing.md"), {"id": "q"}])
def test_a_line_that_is_not_as_it_should_be_is_named(help_pages, wrong):
    with pytest.raises(ValidationError, match="line 1"):
        read_questions(help_pages([wrong]))


@pytest.mark.parametrize("folder", list_own_sets(), ids=lambda folder: folder.name)
def test_our_own_sets_have_what_they_should(folder):
    questions = read_questions(folder)
    kinds = [question.kind for question in questions]
    assert [kinds.count(kind) for kind in ("first", "follow-up", "unanswerable")] == [25, 20, 15]
    assert len(list((folder / "pages").iterdir())) == 20
    assert all(question.talk for question in questions if question.kind == "follow-up")
    assert all((question.page is None) == (question.kind == "unanswerable") for question in questions)
