"""What is forgotten, exported and imported."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from foreword import (
    Source,
    ValidationError,
)


def test_what_is_forgotten_is_gone_and_that_is_proven(engine, project):
    gone = engine.forget("shop", project[0].id)
    assert gone.ids == (project[0].id,)
    assert gone.problems == ()
    found = engine.search("Postgres MySQL JSON", "shop")
    assert project[0].text not in {result.memory.text for result in found}
    assert engine.forget("shop", "unknown").ids == ()


def test_forgetting_a_session_or_a_source(engine):
    engine.remember("one about tea", "w", kind="turn", session="s1")
    engine.remember("two about tea", "w", kind="turn", session="s2", source=Source("scraper", "web"))
    engine.remember("three about tea", "w", source=Source("scraper", "web"))
    assert len(engine.forget("w", session="s1").ids) == 1
    assert len(engine.forget("w", source="scraper").ids) == 2
    assert engine.count("w").items == 0


def test_an_export_can_be_imported_elsewhere_and_twice(engine, project):
    engine.relate(project[0].id, project[1].id, "shop", "explains")
    lines = list(engine.export("shop"))
    assert len(lines) == 6
    assert engine.import_lines(lines, "copy") == 6
    assert list(engine.export("copy")) == lines
    engine.import_lines(lines, "copy")
    assert list(engine.export("copy")) == lines


def test_relations_of_an_import_follow_items_that_were_there_before(engine):
    known = engine.remember("Tea is at four.", "w", created_at=datetime(2026, 1, 1, tzinfo=UTC))
    engine.import_lines(
        [
            '{"id": "a", "text": "Tea is at four."}',
            '{"id": "b", "text": "Coffee is at ten."}',
            '{"from_id": "a", "to_id": "b", "type": "beside"}',
        ],
        "w",
    )
    related = engine.search("tea four", "w", limit=1, include_relationships=True)[0]
    assert related.memory.id == known.id
    assert [r.memory.id for r in related.relationships] == ["b"]


def test_a_bad_line_imports_nothing(engine):
    with pytest.raises(ValidationError, match="line 2"):
        engine.import_lines(['{"text": "fine"}', "{"], "w")
    assert engine.count("w").items == 0
