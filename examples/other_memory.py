"""Another memory behind the assembler: what it knows is ranked, told once and fitted like Foreword's own.

Run `python examples/other_memory.py`. The memory is one of a kind that many have: a client whose `search`
gives dictionaries with an id, a text and a score. It knows nothing of code, values or commits, so those
searches find nothing. To use a real client, hand it to `ClientSearcher` in place of `NotesClient`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from foreword import ContextAssembler
from foreword.assembled import ContextItem, Searcher

if TYPE_CHECKING:
    from collections.abc import Sequence


class Client(Protocol):
    """What is needed of the other memory."""

    def search(self, query: str, *, user_id: str, limit: int) -> dict[str, list[dict[str, Any]]]:
        """The memories of a user that fit a query, best first, under `results`."""


class ClientSearcher:
    """The five searches, answered by another memory; blocking calls are made in a thread."""

    def __init__(self, client: Client, user_id: str) -> None:
        self._client = client
        self._user_id = user_id

    async def search_memories(self, query: str, limit: int = 10) -> list[ContextItem]:
        """What the other memory finds, as pieces of context."""
        found = await asyncio.to_thread(self._client.search, query, user_id=self._user_id, limit=limit)
        return [_as_context_item("memory", "Memory", one) for one in found["results"]]

    async def search_experiences(
        self, query: str, axis: str = "full", limit: int = 10, **filters: str | None
    ) -> list[ContextItem]:
        """What the other memory holds under the category "experience"."""
        del axis, filters
        found = await asyncio.to_thread(self._client.search, query, user_id=self._user_id, limit=limit)
        tried = [one for one in found["results"] if "experience" in one.get("categories", ())]
        return [_as_context_item("experience", "Experience", one) for one in tried]

    async def search_code(self, query: str, limit: int = 10) -> list[ContextItem]:
        """Nothing: it holds no code."""
        del query, limit
        return []

    search_values = search_commits = search_code


def _as_context_item(source: str, label: str, found: dict[str, Any]) -> ContextItem:
    return ContextItem(source, f"**{label}**: {found['memory']}", found["score"], {"id": found["id"]})


class NotesClient:
    """A memory to try it with: notes in a list, found by the words that they share with a query."""

    def __init__(self, notes: Sequence[str]) -> None:
        self._notes = notes

    def search(self, query: str, *, user_id: str, limit: int) -> dict[str, list[dict[str, Any]]]:
        """The notes, by how many of the query's words they have."""
        asked = set(query.lower().split())
        scored = [
            {
                "id": f"{user_id}-{at}",
                "memory": note,
                "score": len(asked & set(note.lower().split())) / len(asked),
            }
            for at, note in enumerate(self._notes)
        ]
        return {"results": sorted(scored, key=lambda one: -one["score"])[:limit]}


NOTES = (
    "Seats are held for ten minutes while somebody pays.",
    "Seats are held for ten minutes, while somebody pays!",
    "Deploys happen on Tuesdays.",
)


def main() -> None:
    """Ask the notes; the two that say the same are told once, and what does not fit the question is not."""
    searcher: Searcher = ClientSearcher(NotesClient(NOTES), "ana")
    assembler = ContextAssembler(searcher)
    context = asyncio.run(
        assembler.assemble_context("how long are seats held", ["memories", "experiences", "code"])
    )
    print(context.markdown)  # noqa: T201


if __name__ == "__main__":
    main()
