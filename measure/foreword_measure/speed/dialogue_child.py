"""A long conversation over many documents, measured in a process of its own.

    python -m foreword_measure.speed.dialogue_child fill FOLDER CHUNKS TURNS     makes the workspace
    python -m foreword_measure.speed.dialogue_child ask FOLDER CHUNKS TURNS      opens it and goes on talking

Both write lines of JSON to stdout: `{"progress": [done, total]}` often, `{"result": {…}}` once, at the end.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.recipes.dialogue.prompt import inject_context
from foreword.recipes.dialogue.rag import RAGConfig
from foreword.recipes.dialogue.session import Session
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword.spaces.dense import DenseSpace
from foreword.store.base import Amend, PutVectors, Vector
from foreword.testing import FixedClock
from foreword.types import Filters, Turn
from foreword_measure.speed import corpus
from foreword_measure.speed.corpus import WORKSPACE
from foreword_measure.speed.measure import both_clocks, spread
from foreword_measure.speed.processes import answer, say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from foreword.recipes.dialogue.prompt import InjectedContext
    from foreword.types import Item

_SESSION = "bench"
_BATCH, _RUNS, _WARM, _OPENED, _QUOTED = 500, 40, 5, 5, 10
_CHUNKS_A_DOCUMENT = 20
_RAG = RAGConfig(min_relevance=0.0)  # made-up questions are beside the point

Samples = dict[str, list[float]]
_Done = TypeVar("_Done")


def fill(folder: Path, chunks: int, turns: int) -> dict[str, Any]:
    """Store chunks and turns; their vectors are made up, in the space of the bundled encoder."""
    space = DenseSpace(BundledEmbeddingProvider())
    settings = Settings(home=folder, embedding="none")
    with ContextEngine(settings=settings, clock=FixedClock(corpus.after(chunks + turns))) as engine:
        for start in range(0, chunks, _BATCH):
            stop = min(chunks, start + _BATCH)
            kept = engine.remember_all([_chunk(at) for at in range(start, stop)], WORKSPACE)
            engine.store.batch([_vectors(space, kept, start)])
            say(progress=[stop, chunks + turns])
        session = Session(engine, WORKSPACE, _SESSION, rag=_RAG)
        session.add_all([_turn(chunks + at) for at in range(turns)])
        said = tuple(engine.store.scan(WORKSPACE, Filters(kinds=("turn",))))
        engine.store.batch([_vectors(space, said, chunks)])
        say(progress=[chunks + turns, chunks + turns])
    return {"chunks": chunks, "turns": turns}


def ask(folder: Path, chunks: int, turns: int) -> dict[str, Any]:
    """Open the conversation, and go on with it; gives how long that took and what the prompts held."""
    settings, clock = Settings(home=folder), FixedClock(corpus.after(chunks + turns))
    with ContextEngine(settings=settings, clock=clock) as engine:
        talk = _Talk(engine, chunks, turns)
        for at in range(_OPENED):
            talk.open(counted=at > 0)
        for at in range(_RUNS + _WARM):
            talk.go_on(at, counted=at >= _WARM)
            say(progress=[at + 1, _RUNS + _WARM])
    return {"times": _spreads(talk.times), "prompts": _spreads(talk.prompts)}


class _Talk:
    """Goes on with one conversation, and notes how long each step takes."""

    def __init__(self, engine: ContextEngine, chunks: int, turns: int) -> None:
        self.times: Samples = defaultdict(list)
        self.prompts: Samples = defaultdict(list)
        self._engine = engine
        self._said = chunks + turns
        self._questions = _questions(chunks, turns)

    def open(self, *, counted: bool) -> None:
        """Open the session anew; the first time warms what is read."""
        opened = partial(Session, self._engine, WORKSPACE, _SESSION, rag=_RAG)
        self._session = self._timed("open", opened, counted=counted)

    def go_on(self, at: int, *, counted: bool) -> None:
        """One exchange: a prompt for a question, then the question and an answer are kept."""
        question = self._questions[at]
        prompt = self._timed("inject", partial(inject_context, question, self._session), counted=counted)
        self._engine.store.batch([Amend(WORKSPACE, "nobody")])  # the receipt is written before the next step
        answer = replace(_turn(self._said + at), role="assistant")
        for turn in (Turn(question), answer):
            self._timed("add", partial(self._session.add, turn), counted=counted)
        if counted:
            self._note(prompt)

    def _timed(self, name: str, work: Callable[[], _Done], *, counted: bool) -> _Done:
        """What some work gives, its time noted if it counts."""
        done: list[_Done] = []
        taken, computing = both_clocks(lambda: done.append(work()))
        if counted:
            self.times[name].append(taken)
            self.times[f"{name} (cpu)"].append(computing)
        return done[0]

    def _note(self, prompt: InjectedContext) -> None:
        for stage in prompt.receipt.stages:
            self.times[f"inject: {stage.stage}"].append(stage.milliseconds)
        content = prompt.content
        for name, number in {
            "tokens": prompt.token_count,
            "recent turns": len(content.history.recent_turns),
            "recalled turns": len(content.history.recalled),
            "tokens of the summary": self._session.tokenizer.count(content.history.summary or ""),
            "entities": len(content.entities),
            "chunks": len(content.rag_chunks),
        }.items():
            self.prompts[name].append(number)


# What is stored and asked --------------------------------------------------------------------------------


def _chunk(at: int) -> Item:
    """The item at this place as a chunk of one of the documents."""
    document, place = divmod(at, _CHUNKS_A_DOCUMENT)
    facts = {"title": f"Document {document}", "start_line": 10 * place + 1, "end_line": 10 * place + 9}
    item = replace(corpus.item(at), kind="document", session=None, metadata=facts)
    return replace(item, source=replace(item.source, name=f"document:{document}"))


def _turn(at: int) -> Turn:
    said = corpus.item(at)
    return Turn(said.text, ("user", "assistant")[at % 2], timestamp=said.created_at)


def _questions(chunks: int, turns: int) -> list[str]:
    """Questions about the documents, and quotations from the conversation, in turn."""
    asked = [question.text for question in corpus.questions(chunks, _RUNS + _WARM)]
    quoted = [
        " ".join(_turn(chunks + at * 7919 % turns).text.split()[:_QUOTED]) for at in range(_RUNS + _WARM)
    ]
    return [text for pair in zip(asked, quoted, strict=False) for text in pair]


def _vectors(space: DenseSpace, items: Sequence[Item], start: int) -> PutVectors:
    values = corpus.vectors(start, start + len(items)).tolist()
    made = (
        Vector(item.id, space.view_hash(item), tuple(one)) for item, one in zip(items, values, strict=True)
    )
    return PutVectors(WORKSPACE, space.name, space.digest, tuple(made))


def _spreads(samples: Samples) -> dict[str, dict[str, float]]:
    return {name: spread(values).as_dict() for name, values in samples.items()}


_TASKS = {"fill": fill, "ask": ask}


if __name__ == "__main__":
    answer(_TASKS, sys.argv[1:])
