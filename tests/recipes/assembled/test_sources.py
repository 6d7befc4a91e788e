"""Any object with the five searches can be asked; nothing else is needed of it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from foreword import ContextAssembler
from foreword.assembled import ContextItem, EngineSearcher, Searcher
from foreword.recipes.assembled.assembler import TYPES

FIVE = TYPES[:5]
EXAMPLE = Path(__file__).parents[3] / "examples" / "other_memory.py"


class ListSearcher:
    """Finds what it is handed; has the five searches and nothing else."""

    def __init__(self, **found):
        self.found = found
        self.asked = []

    async def _give(self, source, query, limit):
        self.asked.append((source, query, limit))
        return self.found.get(source, [])

    async def search_memories(self, query, limit=10):
        return await self._give("memory", query, limit)

    async def search_code(self, query, limit=10):
        return await self._give("code", query, limit)

    async def search_experiences(self, query, axis="full", limit=10, **filters):
        return await self._give("experience", query, limit)

    async def search_values(self, query, limit=10):
        return await self._give("value", query, limit)

    async def search_commits(self, query, limit=10):
        return await self._give("commit", query, limit)


def thing(source, text, relevance=0.5, **facts):
    return ContextItem(source, text, relevance, facts)


def assemble(searcher, types=FIVE, **more):
    return asyncio.run(ContextAssembler(searcher, timeout=60).assemble_context("why?", types, **more))


def test_the_protocol_is_the_five_searches(engine):
    assert isinstance(ListSearcher(), Searcher)
    assert isinstance(EngineSearcher(engine, "shop"), Searcher)
    assert not isinstance(object(), Searcher)


def test_an_object_with_the_five_searches_is_all_it_takes():
    searcher = ListSearcher(memory=[thing("memory", "**Memory**: held for ten minutes", 0.9)])
    context = assemble(searcher, limit=7, max_tokens=500)
    assert "## Memories\n**Memory**: held for ten minutes" in context.markdown
    assert context.sources_used == {"memories": 1}
    assert context.token_count > 0
    assert {limit for _, _, limit in searcher.asked} == {7}
    assert {source for source, _, _ in searcher.asked} == {"memory", "code", "experience", "value", "commit"}
    assert not context.notes


def test_a_premortem_needs_no_more():
    warned = asyncio.run(ContextAssembler(ListSearcher()).get_premortem_context("debugging"))
    assert warned.markdown == ""


def test_what_it_cannot_search_is_a_note_and_the_rest_is_told():
    searcher = ListSearcher(value=[thing("value", "**Value**: ask first", 0.9)])
    context = assemble(searcher, ["values", "documents"])
    assert context.sources_used == {"values": 1}
    assert [note.part for note in context.notes] == ["documents"]
    assert "search_documents" in context.notes[0].message


def test_what_a_session_was_shown_is_remembered_for_it():
    assembler = ContextAssembler(ListSearcher(memory=[thing("memory", "ten minutes", 0.9, id="m")]))
    first = asyncio.run(assembler.assemble_context("why?", FIVE, session_id="s"))
    again = asyncio.run(assembler.assemble_context("why?", FIVE, session_id="s"))
    other = asyncio.run(assembler.assemble_context("why?", FIVE, session_id="t"))
    assert (bool(first.markdown), again.markdown, other.markdown) == (True, "", first.markdown)


def test_searches_that_answer_at_once_will_do():
    searcher = ListSearcher()
    searcher.search_memories = lambda query, limit: [thing("memory", "at once", 0.9)]
    assert "at once" in assemble(searcher).markdown


@pytest.mark.parametrize(("given", "taken"), [(7.5, 1.0), (-1, 0.0), (float("nan"), 0.0), (None, 0.0)])
def test_a_relevance_from_elsewhere_is_brought_between_0_and_1(given, taken):
    searcher = ListSearcher(memory=[thing("memory", "ten minutes", given)])
    context = asyncio.run(ContextAssembler(searcher, floor=0.0).assemble_context("why?", FIVE))
    assert [item.relevance for item in context.items] == [taken]


# Ids


def test_two_sources_may_use_one_id():
    searcher = ListSearcher(
        memory=[thing("memory", "held for ten minutes", 0.9, id="1")],
        commit=[thing("commit", "renew twice", 0.8, id="1")],
        code=[thing("code", "def renew(): ...", 0.7, id="1")],
    )
    context = assemble(searcher)
    assert context.sources_used == {"memories": 1, "code": 1, "commits": 1}
    assert {entry.item_id for entry in context.receipt.injected_entries} == {"1", "code:1", "commit:1"}


def test_of_two_items_with_one_id_the_more_relevant_is_told():
    low, high = thing("memory", "nine minutes", 0.3, id="1"), thing("memory", "ten minutes", 0.9, id="1")
    for order in ([low, high], [high, low]):
        context = assemble(ListSearcher(memory=order))
        assert [item.content for item in context.items] == ["ten minutes"]


def test_a_context_item_can_be_put_into_a_set():
    one = thing("memory", "ten minutes", 0.9, id="1", tags=["a"])
    assert {one, thing("memory", "ten minutes", 0.9, id="1", tags=["a"])} == {one}
    assert len({one, thing("memory", "nine minutes", 0.9, id="1")}) == 2


# The example


def test_the_example_of_another_memory_tells_the_same_thing_once():
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE)], capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("Seats are held for ten minutes") == 1
    assert "Tuesdays" not in ran.stdout
    assert "*1 items from 1 sources*" in ran.stdout
