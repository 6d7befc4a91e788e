"""The wording of the five kinds of item and of both documents, as the document has them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.compose.assembled import (
    CONTEXT,
    format_as_warning,
    format_item,
    item_facts,
    make_context_item,
    premortem_title,
    render_document,
    truncation_note,
)
from foreword.compose.assembly import Piece, context_footer
from foreword.recipes.assembled.premortem import premortem_footer
from foreword.text.frame import wrap_in_frame
from foreword.types import KINDS, Item, SearchResult, Source

GOLDEN = Path(__file__).parent.parent / "golden"
AT = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
WEB = Source("https://blog.example.com/post", "web")

MEMORY = Item(
    "We chose Postgres over MySQL for its JSON operators.",
    "shop", id="m1", type="decision", importance=0.8, created_at=AT,
)  # fmt: skip
CODE = Item(
    "def expire_holds(db): ...",
    "shop", kind="code", id="c1", created_at=AT,
    metadata={
        "path": "shop/holds.py", "language": "python", "unit": "function", "name": "expire_holds",
        "qualified_name": "holds.expire_holds", "signature": "def expire_holds(db: Database) -> int:",
        "docstring": "Delete holds that are over.\n\n```\nexpire_holds(db)\n```",
        "start_line": 12, "end_line": 30,
    },
)  # fmt: skip
EXPERIENCE = Item(
    "Goal: stop the deadlock",
    "shop", kind="experience", id="x1", created_at=AT,
    metadata={
        "experience": "e7", "domain": "debugging", "strategy": "read-the-error",
        "goal": "Stop the deadlock", "hypothesis": "Rows are locked in two orders",
        "action": "Sort the ids before deleting", "prediction": "No deadlock in an hour",
        "outcome": {"status": "falsified", "result": "it came back after twenty minutes"},
        "surprise": "A second worker shares the queue",
        "root_cause": {"category": "wrong-assumption", "description": "One worker was assumed"},
        "lesson": {"what_worked": "One lock for the queue", "takeaway": ""},
        "tier": "gold", "iteration_count": 3,
    },
)  # fmt: skip
VALUE = Item(
    "Find out who else takes a lock before changing its order.",
    "shop", kind="value", id="v1", created_at=AT,
    metadata={
        "axis": "root_cause", "cluster_id": "root_cause_2", "cluster_size": 9, "similarity_to_centroid": 0.91,
    },
)  # fmt: skip
COMMIT = Item(
    "Take locks in one order\n\n#12: two workers deleted the same holds.",
    "shop", kind="commit", id="g1", created_at=AT,
    metadata={
        "sha": "abcdef1234567890", "author": "Priya Nair", "author_email": "priya@example.com",
        "files_changed": ["shop/locks.py", "shop/holds.py"], "insertions": 14, "deletions": 3,
    },
)  # fmt: skip
ALL = (MEMORY, CODE, EXPERIENCE, VALUE, COMMIT)


def pieces_of(*items):
    return [Piece(item.id, make_context_item(SearchResult(item, 1.0)), "", 1.0) for item in items]


def golden(name):
    return (GOLDEN / name).read_text(encoding="utf-8")


def test_a_context_reads_as_the_document_has_it():
    titles = ("Memories", "Code", "Experiences", "Values", "Commits")
    sections = [(title, [format_item(item)]) for title, item in zip(titles, ALL, strict=True)]
    assert render_document(CONTEXT, sections, context_footer(pieces_of(*ALL))) == golden(
        "assembled_context.md"
    )


def test_a_premortem_reads_as_the_document_has_it():
    sections = [
        ("Common Failures", [format_as_warning(EXPERIENCE)]),
        ("Strategy Performance", [format_as_warning(EXPERIENCE, failures_stand_out=True)]),
        ("Unexpected Outcomes", []),
        ("Root Causes to Watch", [format_as_warning(EXPERIENCE)]),
        ("Relevant Principles", [format_item(VALUE)]),
    ]
    footer = premortem_footer(pieces_of(EXPERIENCE, EXPERIENCE, EXPERIENCE, VALUE))
    text = render_document(premortem_title("debugging", "read-the-error"), sections, footer)
    assert text == golden("assembled_premortem.md")


def test_what_was_stored_by_hand_is_worded_as_far_as_it_is_known():
    bare = [Item(f"Only words, {kind}.", "shop", kind=kind, id=kind, created_at=AT) for kind in KINDS[:7]]
    pieces = [format_item(item) for item in bare]
    assert render_document(CONTEXT, [("Memories", pieces)], "") == golden("assembled_bare.md")


def test_whose_words_an_item_of_a_page_holds_is_said_for_each_kind():
    told = [format_item(Item(**{f: getattr(i, f) for f in i.__slots__} | {"source": WEB})) for i in ALL]
    assert all(", page blog.example.com says" in text.split("\n")[0] for text in told)
    agent = Source("agent", "agent")
    assert "(agent)" in format_item(Item("x", "shop", source=agent))
    assert "(agent)" not in format_item(Item("x", "shop", kind="value", source=agent))


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (MEMORY, {"id": "m1", "category": "decision", "importance": 0.8}),
        (CODE, {"file_path": "shop/holds.py", "start_line": 12, "end_line": 30, "language": "python"}),
        (CODE, {"qualified_name": "holds.expire_holds"}),
        (EXPERIENCE, {"id": "e7", "outcome_status": "falsified", "confidence_tier": "gold"}),
        (EXPERIENCE, {"domain": "debugging", "strategy": "read-the-error", "iteration_count": 3}),
        (VALUE, {"id": "v1", "axis": "root_cause", "cluster_id": "root_cause_2", "cluster_size": 9}),
        (COMMIT, {"sha": "abcdef1234567890", "author": "Priya Nair", "insertions": 14, "deletions": 3}),
        (COMMIT, {"files_changed": ["shop/locks.py", "shop/holds.py"], "timestamp": AT.isoformat()}),
    ],
)
def test_an_item_carries_the_facts_of_its_source(item, expected):
    assert item_facts(item).items() >= expected.items()


def test_a_result_becomes_an_item_with_its_relevance():
    result = SearchResult(CODE, 0.7)
    item = make_context_item(result)
    assert (item.source, item.relevance, item.result) == ("code", 0.7, result)
    assert item.content == format_item(CODE)


def test_a_cut_item_says_where_the_whole_of_it_is():
    assert truncation_note("code", item_facts(CODE)) == "*(truncated, see full at shop/holds.py:12)*"
    assert truncation_note("experience", item_facts(EXPERIENCE)) == "*(truncated, full experience ID: e7)*"
    assert (
        truncation_note("commit", item_facts(COMMIT)) == "*(truncated, see full with git show abcdef123456)*"
    )
    assert truncation_note("memory", item_facts(MEMORY)) == "*(truncated, full memory ID: m1)*"
    assert truncation_note("code", {}) == "*(truncated)*"


def test_many_files_are_not_all_named():
    changed = {"files_changed": [f"{n}.py" for n in range(9)]}
    item = Item("x", "shop", kind="commit", created_at=AT, metadata=changed)
    assert format_item(item).endswith("*Files: 0.py, 1.py, 2.py, 3.py, 4.py, ...*")


def test_files_are_found_where_only_their_number_is_called_changed():
    held = {"files": ["a.py", "b.py"], "files_changed": 2}
    item = Item("x", "shop", kind="commit", created_at=AT, metadata=held)
    assert format_item(item).endswith("*Files: a.py, b.py*")
    assert item_facts(item)["files_changed"] == ["a.py", "b.py"]


def test_nothing_makes_no_document():
    assert render_document(CONTEXT, [("Memories", [])], "x") == ""


LETTERS = st.sampled_from("ab#*-=>`~<>/\n\u2028| ") | st.characters(exclude_categories=["Cs"])
WORDS = st.text(LETTERS, max_size=60)
PARTS = st.lists(WORDS, max_size=3) | st.dictionaries(WORDS, WORDS, max_size=2)
HELD = st.dictionaries(
    st.sampled_from(sorted({key for item in ALL for key in item.metadata} | {"message"})),
    WORDS | st.none() | st.integers() | PARTS,
    max_size=8,
)


@given(st.sampled_from(KINDS), WORDS, HELD, WORDS)
def test_no_text_and_no_metadata_breaks_the_document(kind, text, held, label):
    item = Item(text, "shop", kind=kind, id="i", type=label, metadata=held, created_at=AT)
    whole = render_document(CONTEXT, [("Memories", [format_item(item)])], "*end*")
    outside, fence = [], ""
    for line in whole.split("\n"):
        ticks = line[: len(line) - len(line.lstrip("`"))]
        if len(ticks) >= 3 and (not fence or (line == ticks and len(ticks) >= len(fence))):
            fence = "" if fence else ticks
        elif not fence:
            outside.append(line)
    assert not fence
    assert [line for line in outside if line.lstrip().startswith("#")] == ["# Context", "## Memories"]
    assert outside[-4:] == ["", "---", "*end*", ""]
    assert outside.count("---") == 1
    assert wrap_in_frame(whole).count("foreword-context") == 2
