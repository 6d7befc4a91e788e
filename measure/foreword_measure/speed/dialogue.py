"""How long a long conversation takes: making the prompt for its next turn, keeping a turn, opening it again.

The workspace is filled and asked in processes of their own. Words are made up, and so are the vectors of what
is kept; the encoder is the bundled one, so that times include what it takes to encode the question. The next
prompt is asked for when the turns before it are encoded, as by somebody who reads an answer before going on.
Beside the times stands how much the reader reads for a prompt, which is the same on every machine.
"""

from __future__ import annotations

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
from foreword.store.base import Amend
from foreword.testing import FixedClock
from foreword.types import Filters, Turn
from foreword_measure.speed import corpus
from foreword_measure.speed.clock import both_clocks, spreads
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
"""What is measured: its name, its key, and the most milliseconds it may take at the median."""

_SESSION = "bench"
_RUNS, _WARM_UP_RUNS, _OPENINGS, _QUOTED_WORDS = 60, 6, 5, 10
_CHUNKS_A_DOCUMENT = 20
_RAG = RAGConfig(min_relevance=0.0)  # made-up questions are beside the point
_Done = TypeVar("_Done")


def measure(folder: Path, sizes: tuple[int, ...], progress: Progress) -> tuple[list[Table], dict[str, Any]]:
    """Fill a workspace with 10,000 chunks and 1,000 turns, or a tenth of the largest size if that is less."""
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


# In processes of their own -------------------------------------------------------------------------------


def fill(folder: Path, chunks: int, turns: int) -> dict[str, Any]:
    """Store chunks and turns; their vectors are made up, in the space of the bundled encoder."""
    space = DenseSpace(BundledEmbeddingProvider())
    settings = Settings(home=folder, embedding="none")
    with ContextEngine(settings=settings, clock=FixedClock(corpus.after(chunks + turns))) as engine:
        for done in corpus.fill(engine, space, chunks, _chunk):
            send(progress=[done, chunks + turns])
        session = Session(engine, WORKSPACE, _SESSION, rag=_RAG)
        session.add_all([_turn(chunks + at) for at in range(turns)])
        kept = tuple(engine.store.scan(WORKSPACE, Filters(kinds=("turn",))))
        engine.store.batch([corpus.vectors_of(space, kept, chunks)])
        send(progress=[chunks + turns, chunks + turns])
    with ContextEngine(settings=Settings(home=folder)) as engine:
        engine.embed_pending(WORKSPACE)  # the codes of tokens, which are not made up
    return {"chunks": chunks, "turns": turns}


def ask(folder: Path, chunks: int, turns: int) -> dict[str, Any]:
    """Open the conversation, and go on with it; returns how long that took and what the prompts held."""
    settings, clock = Settings(home=folder), FixedClock(corpus.after(chunks + turns))
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
    """The reader, and how many statements it was asked to judge."""

    def __init__(self, reader: BundledReader) -> None:
        self.asked = 0
        self.load = reader.load
        self.replacement_chances = reader.replacement_chances
        self._reader = reader

    def scores(self, query: str, texts: Sequence[str], expires: float | None = None) -> list[float]:
        """What the reader thinks of each text."""
        self.asked += len(texts)
        return self._reader.scores(query, texts, expires)


class _Conversation:
    """Goes on with one conversation, and notes how long each step takes."""

    def __init__(self, engine: ContextEngine, reader: _CountingReader, chunks: int, turns: int) -> None:
        self.times: Samples = defaultdict(list)
        self.prompts: Samples = defaultdict(list)
        self._engine = engine
        self._reader = reader
        self._stored = chunks + turns
        self._questions = _questions(chunks, turns)

    def open(self, *, counted: bool) -> None:
        """Open the session anew, and read its turns as a new process would; the first time warms both."""
        opened = partial(Session, self._engine, WORKSPACE, _SESSION, rag=_RAG)
        self._session = self._time("open", opened, counted=counted)
        read = partial(ConversationTurns, self._engine.store, WORKSPACE, _SESSION, find_entities)
        self._time("read", read, counted=counted)

    def exchange(self, at: int, *, counted: bool) -> None:
        """One exchange: a prompt for a question, then the question and an answer are kept."""
        question = self._questions[at]
        name, read_before = "follow up" if question.endswith("?") else "inject", self._reader.asked
        prompt = self._time(name, partial(inject_context, question, self._session), counted=counted)
        read = self._reader.asked - read_before
        self._engine.store.batch([Amend(WORKSPACE, "nobody")])  # the receipt is written before the next step
        answer = replace(_turn(self._stored + at), role="assistant")
        for turn in (Turn(question), answer):
            self._time("add", partial(self._session.add, turn), counted=counted)
        self._engine.embed_pending(WORKSPACE)
        if counted:
            self._note(name, prompt, read)

    def _time(self, name: str, work: Callable[[], _Done], *, counted: bool) -> _Done:
        """What some work gives, its time noted if it counts."""
        done: list[_Done] = []
        taken, computing = both_clocks(lambda: done.append(work()))
        if counted:
            self.times[name].append(taken)
            self.times[f"{name} (cpu)"].append(computing)
        return done[0]

    def _note(self, name: str, prompt: InjectedContext, read: int) -> None:
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


def _chunk(at: int) -> Item:
    """The item at this place as a chunk of one of the documents."""
    document, place = divmod(at, _CHUNKS_A_DOCUMENT)
    facts = {"title": f"Document {document}", "start_line": 10 * place + 1, "end_line": 10 * place + 9}
    item = replace(corpus.item(at), kind="document", session=None, metadata=facts)
    return replace(item, source=replace(item.source, name=f"document:{document}"))


def _turn(at: int) -> Turn:
    item = corpus.item(at)
    return Turn(item.text, ("user", "assistant")[at % 2], timestamp=item.created_at)


def _questions(chunks: int, turns: int) -> list[str]:
    """Questions about the documents, quotations from the conversation, and what leans on it, in turn."""
    asked = [question.text for question in corpus.questions(chunks, _RUNS + _WARM_UP_RUNS)]
    quoted = [_turn(chunks + at * 7919 % turns).text.split() for at in range(_RUNS + _WARM_UP_RUNS)]
    quotations = [" ".join(words[:_QUOTED_WORDS]) for words in quoted]
    leaning = [f"And how does {words[0]} do that?" for words in quoted]
    return [text for some in zip(asked, quotations, leaning, strict=False) for text in some]


TASKS = {"fill": fill, "ask": ask}
