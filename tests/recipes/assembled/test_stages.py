"""Sources asked at once: one that fails or is late leaves the rest."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial

import pytest

from foreword.compose.assembled import ContextItem, SourceItems
from foreword.errors import SearchError
from foreword.recipes.assembled.stages import AssembledDraft, stage_that_searches_sources
from foreword.testing import WordTokens
from foreword.types import Note, Query


def item(name):
    return ContextItem("memory", name, 0.5, {"id": name})


async def give_items(*names):
    return [item(name) for name in names]


async def give_error(error):
    raise error


async def never():
    await asyncio.Event().wait()


async def gather(questions, timeout_seconds, tokenizer=None):
    query = Query("why?", "shop", datetime(2026, 5, 1, tzinfo=UTC))
    draft = AssembledDraft(query=query, tokenizer=tokenizer or WordTokens())
    return await stage_that_searches_sources(questions, timeout_seconds)(draft)


async def ask_sources(**searches):
    return await gather({name: partial(*search) for name, search in searches.items()}, 0.05)


def test_all_answers_are_there_under_their_names():
    found = asyncio.run(ask_sources(memories=(give_items, "a", "b"), code=(give_items, "c"))).found
    assert {name: [one.content for one in items] for name, items in found.items()} == {
        "memories": ["a", "b"],
        "code": ["c"],
    }


@pytest.mark.parametrize("error", [SearchError("no space can answer"), RuntimeError("broken"), OSError()])
def test_a_source_that_fails_leaves_a_note_and_a_warning(error, caplog):
    with caplog.at_level(logging.WARNING):
        got = asyncio.run(ask_sources(memories=(give_error, error), code=(give_items, "c")))
    assert list(got.found) == ["code"]
    assert got.notes == (Note("memories", f"failed: {str(error) or type(error).__name__}"),)
    assert "a source did not answer" in caplog.text


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (None, "failed: it gave NoneType and no list"),
        (7, "failed: it gave int and no list"),
        ([None], "failed: it gave NoneType where a ContextItem belongs"),
        ("ab", "failed: it gave str where a ContextItem belongs"),
    ],
)
def test_a_source_that_gives_something_else_is_left_out_with_a_note(given, problem):
    async def gives():
        return given

    got = asyncio.run(ask_sources(memories=(gives,), code=(give_items, "c")))
    assert list(got.found) == ["code"]
    assert got.notes == (Note("memories", problem),)


def test_a_source_that_is_late_leaves_a_note_and_a_warning(caplog):
    with caplog.at_level(logging.WARNING):
        got = asyncio.run(ask_sources(memories=(never,), code=(give_items, "c")))
    assert list(got.found) == ["code"]
    assert got.notes == (Note("memories", "late: no answer within 0.05 s"),)
    assert "late" in caplog.text


def test_sources_are_asked_at_once():
    async def main():
        met = asyncio.Barrier(3)

        async def meets():
            await met.wait()  # nobody gets past it alone
            return []

        return await gather(dict.fromkeys("abc", meets), 60.0)

    assert len(asyncio.run(main()).found) == 3


def test_the_tokenizer_loads_its_ranks_while_sources_take_all_threads():
    counted = threading.Event()

    class Ranks(WordTokens):
        def count(self, text):
            counted.set()
            return super().count(text)

    async def waits():
        return [item("a")] if await asyncio.to_thread(counted.wait, 10.0) else []

    async def main():
        with ThreadPoolExecutor(1) as only_one:
            asyncio.get_running_loop().set_default_executor(only_one)
            return await gather({"memories": waits}, 60.0, Ranks())

    assert [one.content for one in asyncio.run(main()).found["memories"]] == ["a"]


def test_what_a_source_noted_is_passed_on_under_its_name():
    async def partly():
        return SourceItems([item("a")], notes=(Note("semantic", "late: the deadline passed"),))

    got = asyncio.run(ask_sources(code=(partly,)))
    assert got.notes == (Note("code", "semantic: late: the deadline passed"),)


def test_being_cancelled_is_not_a_failure_of_a_source():
    async def main():
        task = asyncio.create_task(gather({"memories": never}, 60.0))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 60.0)

    asyncio.run(main())


def test_nobody_asked_is_nothing_found():
    assert asyncio.run(gather({}, 1.0)).found == {}
