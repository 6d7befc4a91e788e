"""The document on the context assembler, rule by rule: each test quotes the rule that it holds us to.

Where Foreword does otherwise, the test says so, and docs/code.md says why. The premortem's rules are tested
beside it.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from dataclasses import fields
from datetime import UTC, datetime

import pytest

from foreword import ContextAssembler
from foreword.assembled import ContextAssemblyError, ContextItem, FormattedContext, InvalidContextTypeError
from foreword.compose.assembled import make_context_item
from foreword.compose.assembly import MAX_ITEM_FRACTION, WEIGHTS, divide_tokens_among_sources, max_item_tokens
from foreword.recipes.assembled.assembler import TYPES
from foreword.recipes.assembled.stages import weigh_item
from foreword.text.tokens import TiktokenTokenizer
from foreword.types import Item, SearchResult, Source

AT = datetime(2026, 5, 4, 12, tzinfo=UTC)
REPOSITORY, AGENT = Source("file:shop/holds.py", "repository"), Source("agent", "agent")


def found(kind, text="words", relevance=0.5, name="x", source=None, **held):
    item = Item(
        text,
        "shop",
        kind=kind,
        id=name,
        created_at=AT,
        metadata=held,
        **({"source": source} if source else {}),
    )
    return make_context_item(SearchResult(item, relevance))


class Handed:
    """Finds what it is handed; a source may be an error."""

    def __init__(self, **sources):
        self.sources = sources
        self.asked = []

    async def _give(self, source, *arguments):
        self.asked.append((source, *arguments))
        given = self.sources.get(source, [])
        if isinstance(given, Exception):
            raise given
        return given

    async def search_memories(self, query, limit):
        return await self._give("memory", query, limit)

    async def search_code(self, query, limit):
        return await self._give("code", query, limit)

    async def search_experiences(self, query, axis, limit):
        return await self._give("experience", query, axis, limit)

    async def search_values(self, query, limit):
        return await self._give("value", query, limit)

    async def search_commits(self, query, limit):
        return await self._give("commit", query, limit)


def assemble(types=TYPES[:5], max_tokens=2000, **sources):
    assembler = ContextAssembler(Handed(**sources), floor=0.0)
    return asyncio.run(assembler.assemble_context("why?", types, max_tokens=max_tokens))


# Interface


def test_a_context_item_has_the_fields_of_the_document():
    """«source: str … content: str … relevance: float … metadata: dict»"""
    assert [field.name for field in fields(ContextItem)][:4] == ["source", "content", "relevance", "metadata"]


def test_a_formatted_context_has_the_fields_of_the_document():
    """«markdown … items: List[ContextItem] … token_count: int … sources_used: dict # Count by source type»"""
    names = [field.name for field in fields(FormattedContext)]
    assert names[:4] == ["markdown", "items", "token_count", "sources_used"]
    context = assemble(memory=[found("memory")], commit=[found("commit", name="y", text="other")])
    assert context.sources_used == {"memories": 1, "commits": 1}


def test_assemble_context_is_called_as_the_document_calls_it():
    """«async def assemble_context(self, query, context_types, limit: int = 20, max_tokens: int = 2000)»"""
    signature = inspect.signature(ContextAssembler.assemble_context)
    assert inspect.iscoroutinefunction(ContextAssembler.assemble_context)
    assert list(signature.parameters)[1:5] == ["query", "context_types", "limit", "max_tokens"]
    assert (signature.parameters["limit"].default, signature.parameters["max_tokens"].default) == (20, 2000)


@pytest.mark.parametrize("name", ["memories", "code", "experiences", "values", "commits"])
def test_the_types_of_the_document_can_be_asked_for(name):
    """«context_types: List of source types to query, from: memories, code, experiences, values, commits»"""
    assert name in TYPES


def test_every_source_is_queried_as_the_document_has_it():
    """«searcher.search_memories(query, limit)», «searcher.search_experiences(query, axis="full", limit)» …"""
    searcher = Handed()
    asyncio.run(ContextAssembler(searcher).assemble_context("why?", TYPES[:5], limit=7))
    assert sorted(searcher.asked) == [
        ("code", "why?", 7), ("commit", "why?", 7), ("experience", "why?", "full", 7), ("memory", "why?", 7),
        ("value", "why?", 7),
    ]  # fmt: skip


# Formats


def test_a_memory_reads_as_in_the_document():
    """«**Memory**: {content}\\n*Category: {category}, Importance: {importance}*»"""
    assert (
        found("memory", "Ten minutes.").content
        == "**Memory**: Ten minutes.\n*Category: memory, Importance: 0.5*"
    )


def test_code_that_is_searched_for_reads_as_in_the_document():
    """«**{unit_type}** `{name}` in `{file_path}:{start_line}`», «{signature}\\n{docstring if present}»"""
    item = found(
        "code", "def f(): ...", path="shop/holds.py", start_line=3, unit="function", qualified_name="f",
        signature="def f():", docstring="Renew.", language="python", source=REPOSITORY,
    )  # fmt: skip
    assert item.content == "**function** `f` in `shop/holds.py:3`\n```python\ndef f():\nRenew.\n```"


def test_code_in_a_context_is_told_by_its_lines_and_the_rest_by_name():
    """Otherwise than «{signature}\\n{docstring if present}» for every unit: see docs/code.md."""
    body = "def f{n}(hold):\n    hold.ends += {n}"
    code = [
        found(
            "code", body.format(n=n), score, f"c{n}", REPOSITORY, path="a.py", start_line=n, unit="function",
            qualified_name=f"f{n}", signature=f"def f{n}(hold):", language="python",
        )
        for n, score in ((1, 0.9), (2, 0.8), (3, 0.5))
    ]  # fmt: skip
    text = assemble(["code"], code=code).markdown
    assert "```python\ndef f1(hold):\n    hold.ends += 1\n```" in text
    assert "hold.ends += 2" in text
    assert "**function** `f3` in `a.py:3`\n\n---" in text


def test_an_experience_reads_as_in_the_document():
    """«**Experience**: {domain} | {strategy}\\n- **Goal**: {goal}\\n- **Hypothesis**: … - **Lesson**: …»"""
    lines = found(
        "experience", domain="debugging", strategy="read-the-error", goal="g", hypothesis="h", action="a",
        prediction="p", outcome={"status": "falsified", "result": "r"}, surprise="s", source=AGENT,
        lesson={"what_worked": "l"},
    ).content.split("\n")  # fmt: skip
    assert lines[:6] == [
        "**Experience**: debugging | read-the-error", "- **Goal**: g", "- **Hypothesis**: h",
        "- **Action**: a", "- **Prediction**: p", "- **Outcome**: falsified - r",
    ]  # fmt: skip
    assert "- **Surprise**: s" in lines
    assert "- **Lesson**: l" in lines
    assert all("Surprise" not in line for line in found("experience", goal="g").content.split("\n"))


def test_a_value_reads_as_in_the_document():
    """«**Value** ({axis}, cluster size: {cluster_size}):\\n{text}»"""
    item = found("value", "Ask first.", axis="full", cluster_size=4, source=AGENT)
    assert item.content == "**Value** (full, cluster size: 4):\nAsk first."


def test_a_commit_reads_as_in_the_document():
    """«**Commit** `{sha[:7]}` by {author} on {timestamp}\\n{message}\\n*Files: {files_changed[0]}, …*»

    The message is marked as a quotation, since anybody may have written it.
    """
    item = found(
        "commit", "Renew.", sha="abcdef123", author="Ana", files_changed=["a.py", "b.py"], source=REPOSITORY
    )
    assert item.content == "**Commit** `abcdef1` by Ana on 2026-05-04\n> Renew.\n*Files: a.py, b.py*"


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("memory", "id category importance created_at"),
        ("code", "file_path start_line end_line language qualified_name"),
        ("experience", "id domain strategy outcome_status confidence_tier iteration_count"),
        ("value", "id axis cluster_id cluster_size similarity_to_centroid"),
        ("commit", "sha author timestamp files_changed insertions deletions"),
    ],
)
def test_the_metadata_of_each_source_has_the_documents_keys(kind, keys):
    """«**Metadata**: {…}» of each source; «FormattedContext includes all metadata fields»"""
    assert set(keys.split()) <= found(kind).metadata.keys()


# Ranking and selection


def test_items_are_weighed_as_the_document_weighs_them():
    """«Gold > Silver > Bronze > Abandoned», «Higher importance … boost», «Recent items get small boost»"""
    tiers = [found("experience", tier=tier) for tier in ("gold", "silver", "bronze", "abandoned")]
    weights = [weigh_item(item, AT) for item in tiers]
    assert weights == sorted(weights, reverse=True)
    important = ContextItem("memory", "x", 0.5, {"importance": 1.0})
    assert weigh_item(important, AT) > weigh_item(ContextItem("memory", "x", 0.5, {"importance": 0.1}), AT)
    later = AT.replace(year=2030)
    assert weigh_item(found("commit"), AT) > weigh_item(found("commit"), later)


def test_results_are_ranked_by_relevance_within_each_source():
    """«Results ranked by relevance within each source»"""
    items = [found("memory", f"note {n} of its own kind {n}", n / 10, f"m{n}") for n in (3, 9, 5)]
    text = assemble(memory=items).markdown
    assert text.index("note 9") < text.index("note 5") < text.index("note 3")


def test_one_experience_in_two_sources_is_told_once():
    """«Same GHAP ID in experiences and values»"""
    lived = found("experience", "lived", 0.5, "a", experience="e1", goal="g")
    context = assemble(experience=[lived], value=[found("value", "learned", 0.9, "b", experience="e1")])
    assert [item.source for item in context.items] == ["value"]


def test_code_and_the_commit_that_touched_it_are_told_both():
    """Otherwise than «Same file path in code and commits»: what a file does is not why it was changed."""
    code = found("code", "def f(): ...", 0.9, "c", REPOSITORY, path="a.py", qualified_name="f")
    context = assemble(
        code=[code], commit=[found("commit", "Renew.", 0.5, "g", REPOSITORY, files_changed=["a.py"])]
    )
    assert context.sources_used == {"code": 1, "commits": 1}


def test_the_same_text_is_told_once_by_the_most_relevant_source():
    """«Same text content (fuzzy match …)», «keep the item from the source with highest relevance score»"""
    context = assemble(
        memory=[found("memory", "Take the lock before the rows are read.", 0.4, "m")],
        value=[found("value", "Take the lock  before the rows are read!", 0.9, "v")],
    )
    assert [item.source for item in context.items] == ["value"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Deploys of the shop happen on Tuesday evening.", "Deploys of the shop happen on Thursday evening."),
        (
            "Seats are held for 10 minutes while somebody pays.",
            "Seats are held for 15 minutes while somebody pays.",
        ),
        ("Ana reviews every change to the payment code.", "Anna reviews every change to the payment code."),
        ("The shop moved to version 3.11 on 4 May 2026.", "The shop moved to version 3.11 on 5 May 2026."),
        ("The release is built by the host build-1.", "The release is built by the host build-2."),
        (
            "Staging uses Postgres 15 and production does too.",
            "Staging uses Postgres 16 and production does too.",
        ),
    ],
)
def test_what_differs_in_a_day_a_name_or_a_number_is_told_twice(one, other):
    """Stricter than «fuzzy match with 90% similarity»: these are 95 % alike and say different things."""
    context = assemble(memory=[found("memory", one, 0.8, "a")], commit=[found("commit", other, 0.7, "b")])
    assert len(context.items) == 2


def test_tokens_are_divided_by_the_documents_weights():
    """«WEIGHT = {"experiences": 3, "code": 2, "commits": 2, "values": 1, "memories": 1}», by weight"""
    five = {name: WEIGHTS[name] for name in ("experience", "code", "commit", "value", "memory")}
    assert list(five.values()) == [3, 2, 2, 1, 1]
    given = divide_tokens_among_sources(five, {name: [90] * 50 for name in five}, 900)
    assert given == pytest.approx({name: 100 * number for name, number in five.items()})


def test_an_item_has_a_quarter_of_its_source_while_others_need_the_rest():
    """«No single item can exceed 25% of its source budget»: while the rest is needed, see docs/code.md."""
    assert MAX_ITEM_FRACTION == 0.25
    assert max_item_tokens(1000) == 250
    long = found("memory", "word " * 3000, 0.9, "long")
    others = [found("memory", f"note {n}: {'more words ' * 60}", 0.5, f"m{n}") for n in range(12)]
    alone, among = assemble(memory=[long]), assemble(memory=[long, *others])
    counted = TiktokenTokenizer().count
    assert counted(alone.items[0].content) > 1900
    assert 450 < counted(among.items[0].content) < 700


@pytest.mark.parametrize(
    ("item", "note"),
    [
        (
            found("code", "x = 1\n" * 2000, name="c", source=REPOSITORY, path="a.py", start_line=4),
            "*(truncated, see full at a.py:4)*",
        ),
        (
            found("experience", "word " * 2000, name="e7", experience="e7"),
            "*(truncated, full experience ID: e7)*",
        ),
        (ContextItem("memory", "word " * 2000, 0.9, {}), "\n\n*(truncated)*"),
        (found("memory", "word " * 2000, name="m3"), "*(truncated, full memory ID: m3)*"),
    ],
)
def test_a_truncated_item_says_where_the_whole_is(item, note):
    """«*(truncated, see full at {file_path}:{start_line})*», «*(truncated, full experience ID: {id})*»,
    «else: note = "\\n\\n*(truncated)*"», «content=truncated_content + "..." + note»; better than that, what
    has an id names it.
    """
    by_hand = ContextItem(item.source, item.content, 0.9, item.metadata)  # code of ours is told by few lines
    context = assemble(max_tokens=300, **{item.source: [by_hand]})
    assert note in context.markdown
    assert "..." in context.markdown


def test_a_source_under_its_budget_leaves_the_rest_to_the_others():
    """«If any source under budget, redistribute to others»"""
    memories = [found("memory", f"note {n}: {'words ' * 60}", 0.5, f"m{n}") for n in range(20)]
    alone = assemble(memory=memories, max_tokens=900)
    assert alone.token_count > 800


def test_items_are_sorted_by_relevance_over_all_sources():
    """«Sort by relevance score (global)»"""
    context = assemble(
        memory=[found("memory", "first note", 0.3, "m")], commit=[found("commit", "second", 0.9, "g")],
        value=[found("value", "third thing", 0.6, "v")],
    )  # fmt: skip
    assert [item.relevance for item in context.items] == [0.9, 0.6, 0.3]


# Output


def test_the_page_is_laid_out_as_in_the_document():
    """«# Context … ## Memories … ## Code … ## Experiences … ## Values … ## Commits … ---»"""
    context = assemble(
        **{kind: [found(kind, f"about {kind}", name=kind)] for kind in tuple(WEIGHTS) if kind != "document"}
    )
    heads = [line for line in context.markdown.split("\n") if line.startswith("#")]
    assert heads == ["# Context", "## Memories", "## Code", "## Experiences", "## Values", "## Commits"]
    assert context.markdown.endswith("\n---\n*5 items from 5 sources*\n")


def test_a_source_without_results_has_no_section():
    """«If a source returns no results, omit that section entirely»"""
    assert "## Code" not in assemble(memory=[found("memory")]).markdown


def test_a_limit_that_must_be_exceeded_is_exceeded_and_told(caplog):
    """«Warn via log (structlog)», «Include all selected items anyway (soft limit)», «Note in FormattedContext
    that limit was exceeded»
    """
    with caplog.at_level(logging.WARNING):
        context = assemble(memory=[found("memory", "words " * 90)], max_tokens=12)
    assert context.limit_exceeded
    assert context.sources_used == {"memories": 1}
    assert context.over_by == context.token_count - 12
    assert "over its limit" in caplog.text


def test_tokens_are_counted_and_not_estimated():
    """Better than «Token estimation within 20% of actual»: the count is exact."""
    context = assemble(memory=[found("memory", "Zehn Minuten, für alle Plätze.")])
    assert context.token_count == TiktokenTokenizer().count(context.markdown)


def test_several_items_of_a_source_are_told_rather_than_one_long_one():
    """«**Diversity**: Multiple items per source, not one verbose result»"""
    short = [found("memory", f"Gate {place} is open.", 0.5, f"g{place}") for place in range(3)]
    context = assemble(memory=[found("memory", "words " * 900, 0.9, "long"), *short], max_tokens=300)
    assert context.sources_used == {"memories": 4}


def test_all_sources_are_asked_at_once():
    """«Parallel queries to all sources»"""

    class Waiting(Handed):
        async def _give(self, source, *arguments):
            found_there = await super()._give(source, *arguments)
            while len(self.asked) < len(TYPES[:5]):
                await asyncio.sleep(0)
            return found_there

    context = asyncio.run(ContextAssembler(Waiting()).assemble_context("why?", TYPES[:5]))
    assert context.notes == ()


# Errors


def test_an_unknown_type_is_an_error_of_its_own():
    """«Invalid context type in context_types → Raise InvalidContextTypeError»"""
    assert issubclass(InvalidContextTypeError, ContextAssemblyError)
    with pytest.raises(InvalidContextTypeError, match="dreams"):
        assemble(["dreams"])


def test_a_source_that_fails_is_skipped_with_a_warning(caplog):
    """«Searcher returns error → Log warning, skip that source, continue»"""
    with caplog.at_level(logging.WARNING):
        context = assemble(code=RuntimeError("no index"), memory=[found("memory")])
    assert context.sources_used == {"memories": 1}
    assert "no index" in caplog.text


def test_nothing_found_is_an_empty_context():
    """«Empty results from all sources → Return empty FormattedContext (not an error)»"""
    context = assemble()
    assert (context.markdown, context.items, context.token_count, context.sources_used) == ("", (), 0, {})


def test_a_source_that_takes_too_long_leaves_partial_results():
    """«Network timeout to vector store → Log error, return partial results»"""
    context = assemble(commit=TimeoutError(), memory=[found("memory")])
    assert context.sources_used == {"memories": 1}
    assert [note.part for note in context.notes] == ["commits"]
