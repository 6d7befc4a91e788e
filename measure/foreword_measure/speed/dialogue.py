"""How long the steps of a long conversation take: building a prompt, storing a turn, opening it again.

The workspace is filled in one process and queried in another. Words are synthetic, and so are the vectors of
stored items; the encoder is the bundled one, so that times include encoding the question. The next prompt is
built after the turns before it are encoded, as when somebody reads an answer before going on. Beside the
times, the number of statements that the reader reads for a prompt is measured, which is the same everywhere.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from foreword.capture.names.entities import find_entities
from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.recipes.dialogue.prompt import inject_context
from foreword.recipes.dialogue.rag import RAGConfig
from foreword.recipes.dialogue.session import Session
from foreword.recipes.dialogue.turns import ConversationTurns
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword.spaces.dense import DenseSpace
from foreword.spaces.reader import BundledReader
from foreword.store.base import Amend, ListUnembedded, ListWithoutTokenCodes
from foreword.testing import FixedClock
from foreword.types import Filters, Turn
from foreword_measure.speed import corpus
from foreword_measure.speed.clock import spreads, time_wall_and_cpu_milliseconds
from foreword_measure.speed.corpus import WORKSPACE
from foreword_measure.speed.parts import fill_and_ask, send, spread_table, target_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from foreword.recipes.dialogue.prompt import InjectedContext
    from foreword.types import Item
    from foreword_measure.report import Table
    from foreword_measure.speed.clock import Progress, Samples

CHUNKS, TURNS = 10_000, 1_000
ROWS = (
    ("inject_context, 4096 tokens", "inject", 60.0),
    ("the same for a question that leans on the talk", "follow up", 60.0),
    ("adding a turn", "add", 10.0),
    ("opening the session again", "open", 200.0),
    ("opening it in a new process", "read", None),
)
"""What is measured: its name, its key, and the target for the median in milliseconds."""

_SESSION = "bench"
_RUNS, _WARM_UP_RUNS, _OPENINGS, _QUOTED_WORDS = 60, 6, 5, 10
_CHUNKS_A_DOCUMENT = 20
_POLL_SECONDS = 0.02
_RAG = RAGConfig(min_relevance=0.0)  # synthetic questions find nothing relevant
_Result = TypeVar("_Result")


def measure(folder: Path, sizes: tuple[int, ...], progress: Progress) -> tuple[list[Table], dict[str, Any]]:
    """Measure a workspace of 10,000 chunks and 1,000 turns, or fewer if the largest size is less."""
    chunks = min(CHUNKS, max(sizes))
    turns = min(TURNS, max(1, chunks // 10))
    home = folder / "dialogue"
    _, asked = fill_and_ask("dialogue", home, chunks, turns, label="dialogue: ", progress=progress)
    title = f"A conversation of {turns:,} turns, {chunks:,} chunks of documents, milliseconds"
    note = "encoding the question is part of it; cpu is what the thread that asks computes"
    parts = {name: times for name, times in asked["times"].items() if ": " in name}
    tables = [
        target_table(title, ROWS, asked["times"], note),
        spread_table("Parts of it, milliseconds", parts),
        spread_table("What the prompts take and hold", asked["prompts"], runs="prompts"),
    ]
    return tables, {"chunks": chunks, "turns": turns} | asked


# Tasks, each in its own process --------------------------------------------------------------------------


def fill(folder: Path, chunks: int, turns: int) -> dict[str, Any]:
    """Store chunks and turns, with synthetic vectors in the space of the bundled encoder."""
    space = DenseSpace(BundledEmbeddingProvider())
    settings = Settings(home=folder, embedding="none")
    with ContextEngine(settings=settings, clock=FixedClock(corpus.time_after(chunks + turns))) as engine:
        for done in corpus.fill(engine, space, chunks, _make_chunk):
            send(progress=[done, chunks + turns])
        session = Session(engine, WORKSPACE, _SESSION, rag=_RAG)
        session.add_all([_make_turn(chunks + at) for at in range(turns)])
        kept = tuple(engine.store.scan(WORKSPACE, Filters(kinds=("turn",))))
        engine.store.batch([corpus.make_put_vectors(space, kept, chunks)])
        send(progress=[chunks + turns, chunks + turns])
    with ContextEngine(settings=Settings(home=folder)) as engine:
        engine.embed_pending(WORKSPACE)  # the codes of tokens, which are real ones
    return {"chunks": chunks, "turns": turns}


def ask(folder: Path, chunks: int, turns: int) -> dict[str, Any]:
    """Open the conversation, and continue it; returns the times and what the prompts held."""
    settings, clock = Settings(home=folder), FixedClock(corpus.time_after(chunks + turns))
    reader = _CountingReader(BundledReader())
    with ContextEngine(settings=settings, clock=clock, reader=reader) as engine:
        conversation = _Conversation(engine, reader, chunks, turns)
        for at in range(_OPENINGS):
            conversation.open(counted=at > 0)
        for at in range(_RUNS + _WARM_UP_RUNS):
            conversation.exchange(at, counted=at >= _WARM_UP_RUNS)
            send(progress=[at + 1, _RUNS + _WARM_UP_RUNS])
    return {"times": spreads(conversation.times), "prompts": spreads(conversation.prompts)}


class _CountingReader:
    """A reader that counts how many statements it was asked to judge."""

    def __init__(self, reader: BundledReader) -> None:
        self.asked = 0
        self.load = reader.load
        self.replacement_chances = reader.replacement_chances
        self._reader = reader

    def scores(self, query: str, texts: Sequence[str], expires: float | None = None) -> list[float]:
        """The reader's score of each text."""
        self.asked += len(texts)
        return self._reader.scores(query, texts, expires)


class _Conversation:
    """Continues one conversation, and records how long each step takes."""

    def __init__(self, engine: ContextEngine, reader: _CountingReader, chunks: int, turns: int) -> None:
        self.times: Samples = defaultdict(list)
        self.prompts: Samples = defaultdict(list)
        self._engine = engine
        self._reader = reader
        self._stored = chunks + turns
        self._questions = _list_questions(chunks, turns)

    def open(self, *, counted: bool) -> None:
        """Open the session again, and read its turns as a new process would; the first time warms both."""
        opened = partial(Session, self._engine, WORKSPACE, _SESSION, rag=_RAG)
        self._session = self._time("open", opened, counted=counted)
        read = partial(ConversationTurns, self._engine.store, WORKSPACE, _SESSION, find_entities)
        self._time("read", read, counted=counted)

    def exchange(self, at: int, *, counted: bool) -> None:
        """Build a prompt for a question, then store the question and an answer."""
        question = self._questions[at]
        name, read_before = "follow up" if question.endswith("?") else "inject", self._reader.asked
        prompt = self._time(name, partial(inject_context, question, self._session), counted=counted)
        read = self._reader.asked - read_before
        self._engine.store.batch([Amend(WORKSPACE, "nobody")])  # waits until the receipt is written
        answer = replace(_make_turn(self._stored + at), role="assistant")
        for turn in (Turn(question), answer):
            self._time("add", partial(self._session.add, turn), counted=counted)
        self._wait_until_encoded()
        if counted:
            self._record_prompt(name, prompt, read)

    def _wait_until_encoded(self) -> None:
        """Wait until the engine's own thread has encoded and judged all turns.

        To make the vectors here instead would let both judge the same turn, one of them during the prompt.
        """
        kit = self._engine.kit
        assert kit.encoder is not None  # noqa: S101  (it is bundled)
        assert kit.token_space is not None  # noqa: S101
        vectors = ListUnembedded(WORKSPACE, kit.encoder.name, kit.encoder.digest, 1)
        codes = ListWithoutTokenCodes(WORKSPACE, kit.token_space.digest, 1, ("turn",))
        while self._engine.store.run(vectors) or self._engine.store.run(codes):
            time.sleep(_POLL_SECONDS)

    def _time(self, name: str, work: Callable[[], _Result], *, counted: bool) -> _Result:
        """Do some work and return its result; record its time if it counts."""
        done: list[_Result] = []
        taken, computing = time_wall_and_cpu_milliseconds(lambda: done.append(work()))
        if counted:
            self.times[name].append(taken)
            self.times[f"{name} (cpu)"].append(computing)
        return done[0]

    def _record_prompt(self, name: str, prompt: InjectedContext, read: int) -> None:
        for stage in prompt.receipt.stages:
            self.times[f"{name}: {stage.stage}"].append(stage.milliseconds)
        self.prompts[f"statements read, {name}"].append(read)
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


def _make_chunk(at: int) -> Item:
    """The item at this place of the corpus, as a chunk of one of the documents."""
    document, place = divmod(at, _CHUNKS_A_DOCUMENT)
    facts = {"title": f"Document {document}", "start_line": 10 * place + 1, "end_line": 10 * place + 9}
    item = replace(corpus.invent_item(at), kind="document", session=None, metadata=facts)
    return replace(item, source=replace(item.source, name=f"document:{document}"))


def _make_turn(at: int) -> Turn:
    item = corpus.invent_item(at)
    return Turn(item.text, ("user", "assistant")[at % 2], timestamp=item.created_at)


def _list_questions(chunks: int, turns: int) -> list[str]:
    """Questions about the documents, quotations from the conversation, and follow-up questions, in turn."""
    asked = [question.text for question in corpus.invent_questions(chunks, _RUNS + _WARM_UP_RUNS)]
    quoted = [_make_turn(chunks + at * 7919 % turns).text.split() for at in range(_RUNS + _WARM_UP_RUNS)]
    quotations = [" ".join(words[:_QUOTED_WORDS]) for words in quoted]
    leaning = [f"And how does {words[0]} do that?" for words in quoted]
    return [text for some in zip(asked, quotations, leaning, strict=False) for text in some]


TASKS = {"fill": fill, "ask": ask}
