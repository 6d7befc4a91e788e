"""Replays a scenario through the interfaces that users use, at the times in the scenario.

    coding      the events of an agent's hooks, each as the bytes that the agent would send; files and commits
                of a real repository, indexed as they come
    chat        `remember`, then `build_context`
    dialogue    the turns of a `Session`, then `inject_context` with the ask's budget as the whole window

Memories and documents are stored the same way in all three. The clock is set to the time of each event, and
every vector is made before anything is asked. The encoder reads one text at a time: in a batch its numbers
depend a little on the other texts, and the batches of a background thread depend on chance.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from foreword import config
from foreword.capture.folder.workspace import workspace_of
from foreword.compose.budget import InjectionCategory
from foreword.compose.prompt import prompt_parts
from foreword.compose.quoting import heading_and_text
from foreword.compose.templates import TEMPLATES, format_memory
from foreword.edges.service.responder import HookResponder
from foreword.engine.context_engine import ContextEngine
from foreword.engine.defaults import default_embedding_provider, default_reader, default_token_space
from foreword.indexing.indexer import Indexer
from foreword.indexing.knowledge_base import Document, KnowledgeBase
from foreword.recipes.dialogue.prompt import inject_context
from foreword.recipes.dialogue.session import Session
from foreword.store.base import Amend
from foreword.types import Source, Turn
from foreword_measure.quality.scenarios.reading import Answer, Ask
from foreword_measure.quality.scenarios.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from foreword.recipes.dialogue.prompt import InjectedContext
    from foreword.spaces.base import Reranker
    from foreword.spaces.providers import EmbeddingProvider
    from foreword.testing import FixedClock
    from foreword.types import Role
    from foreword_measure.quality.scenarios.reading import Event, Scenario

READER, REPLACEMENTS = "reader", "replacements"
"""Parts that can be switched off, beside spaces: the judge of what helps, and that of what replaces what."""

_SOURCES = {"user": Source("user", "user"), "assistant": Source("agent", "agent")}
_TOOL_INPUTS = {"bash": "command", "read": "file_path", "edit": "file_path", "write": "file_path"}
_USER = "user"
"""The user of all conversations of a dialogue: a scenario is one life."""

_BEFORE_FIRST_PROMPT = timedelta(seconds=1)
"""How long before its first prompt a session begins if the scenario has no start event for it."""


class OneByOne:
    """An encoder that reads one text at a time; everything else comes from the given provider."""

    def __init__(self, provider: EmbeddingProvider) -> None:
        self._provider = provider

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of texts, each encoded alone."""
        return [self._provider.embed(text) for text in texts]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (whatever the provider has)
        return getattr(self._provider, name)


class ReaderOfPrompts:
    """A reader that judges statements for a prompt, but not which of two replaces the other."""

    def __init__(self, reader: Reranker) -> None:
        self._reader = reader

    def scores(self, query: str, texts: Sequence[str], expires: float | None = None) -> list[float]:
        """The logits of the given reader."""
        return self._reader.scores(query, texts, expires)


def open_engine(
    home: Path,
    clock: FixedClock,
    provider: EmbeddingProvider | None = None,
    reranker: Reranker | None = None,
    without: Sequence[str] = (),
) -> ContextEngine:
    """The default engine with this machine's settings, and with a clock that can be set.

    `without` names spaces that it does not use, or `READER` or `REPLACEMENTS`.
    """
    settings = replace(config.load_settings(), home=home)
    if READER in without:
        settings = replace(settings, reader="none")
    reader = default_reader(settings) if REPLACEMENTS in without else None
    encoder = provider or default_embedding_provider(settings)
    return ContextEngine(
        embedding_provider=cast("EmbeddingProvider", OneByOne(encoder)) if encoder else None,
        settings=settings,
        clock=clock,
        token_space=None if provider else default_token_space(settings),
        reranker=reranker,
        reader=ReaderOfPrompts(reader) if reader else None,
        without=tuple(part for part in without if part not in (READER, REPLACEMENTS)),
    )


def replay_scenario(
    scenario: Scenario, engine: ContextEngine, clock: FixedClock, folder: Path
) -> dict[str, Answer]:
    """The answers to the asks of a scenario, by their ids; `folder` is for its repository, if it has one."""
    history = _HISTORIES[scenario.recipe](scenario, engine, clock, folder)
    answers: dict[str, Answer] = {}
    try:
        for happening in scenario.in_order():
            clock.now = happening.at
            if isinstance(happening, Ask):
                answers[happening.id] = history.answer(happening)
            else:
                history.store_event(happening)
    finally:
        history.close()
    return answers


class History:
    """A scenario that is being replayed: what is the same for every recipe."""

    def __init__(self, workspace: str, engine: ContextEngine) -> None:
        self._workspace = workspace
        self._engine = engine
        self._documents: set[str] = set()

    def store_event(self, event: Event) -> None:
        """Store an event."""
        match event.role:
            case "memory":
                self._engine.remember(event.text, self._workspace, type=event.type)
            case "document":
                self._put_document(event)

    def answer(self, ask: Ask) -> Answer:
        """The answer to an ask: what is injected for it now."""
        raise NotImplementedError

    def close(self) -> None:
        """Wait until everything is stored."""

    def _put_document(self, event: Event) -> None:
        """Put a document into the knowledge base, in place of an earlier version."""
        documents = KnowledgeBase(self._engine, self._workspace)
        if event.path in self._documents:
            documents.update_document(event.path, Document(event.path, event.text))
        else:
            documents.index_document(Document(event.path, event.text, doc_id=event.path))
        self._documents.add(event.path)

    def _make_vectors(self) -> None:
        self._engine.embed_pending(self._workspace)


class ChatHistory(History):
    """The recipe chat: turns are stored one by one; a question gets a context."""

    def __init__(self, scenario: Scenario, engine: ContextEngine, _clock: FixedClock, _folder: Path) -> None:
        super().__init__(scenario.id, engine)

    def store_event(self, event: Event) -> None:
        """Store a turn, or the output of a tool."""
        if not (event.is_turn or event.role == "tool"):
            super().store_event(event)
            return
        self._engine.remember(
            _event_text(event),
            self._workspace,
            session=event.session or None,
            source=_SOURCES.get(event.role, Source(f"tool:{event.tool}", "tool")),
        )

    def answer(self, ask: Ask) -> Answer:
        """The result of `build_context`, in the ask's budget."""
        self._make_vectors()
        built = self._engine.build_context(ask.text, self._workspace, token_budget=ask.budget)
        template = TEMPLATES[built.template]
        return Answer(ask.id, built.context, tuple(format_memory(one, template) for one in built.memories))


class DialogueHistory(History):
    """The recipe dialogue: turns are added to their session; a question gets a whole prompt.

    An ask is not added as a turn: if it is part of the talk, the scenario has it among its events.
    """

    def __init__(self, scenario: Scenario, engine: ContextEngine, _clock: FixedClock, _folder: Path) -> None:
        super().__init__(scenario.id, engine)
        self._sessions: dict[str, Session] = {}

    def store_event(self, event: Event) -> None:
        """Add a turn of the user, the assistant or a tool."""
        if event.is_turn or event.role == "tool":
            role: Role = "tool" if event.role == "tool" else "user" if event.role == "user" else "assistant"
            self._session(event.session).add(Turn(_event_text(event), role))
        else:
            super().store_event(event)

    def answer(self, ask: Ask) -> Answer:
        """The prompt of `inject_context`, without the question itself."""
        self._make_vectors()
        prompt = inject_context(ask.text, self._session(ask.session), ask.budget)
        parts = prompt_parts(prompt.content)
        sections = [heading_and_text(name, text) for name, text in parts.items() if name != "USER"]
        return Answer(ask.id, "\n\n".join(sections), _split_prompt(prompt))

    def _session(self, name: str) -> Session:
        if name not in self._sessions:
            self._sessions[name] = Session(self._engine, self._workspace, name or self._workspace, user=_USER)
        return self._sessions[name]


class CodingHistory(History):
    """The recipe coding: events of an agent's hooks, in the scenario's own repository."""

    def __init__(self, _scenario: Scenario, engine: ContextEngine, clock: FixedClock, folder: Path) -> None:
        self._repository = Repository(folder)
        super().__init__(workspace_of(self._repository.folder), engine)
        self._clock = clock
        self._responder = HookResponder(engine)
        self._begun: set[str] = set()
        self._hooks: Mapping[str, Callable[[Event], object]] = {
            "start": lambda event: self._begin(event.session, event.at),
            "user": lambda event: self._send_prompt(event.session, event.text),
            "assistant": lambda event: self._send(event.session, "Stop", last_assistant_message=event.text),
            "tool": self._send_tool_call,
            "compact": lambda event: self._compact(event.session),
            "end": lambda event: self._send(event.session, "SessionEnd", reason="other"),
        }

    def store_event(self, event: Event) -> None:
        """Send the event to the hooks, or change the repository and index it."""
        if event.role in self._hooks:
            if event.role not in ("start", "end"):
                self._begin_if_new(event.session)
            self._hooks[event.role](event)
        elif event.role in ("file", "commit"):
            self._repository.change(event)
            Indexer(self._engine).index(self._repository.folder, self._workspace)
        else:
            super().store_event(event)

    def answer(self, ask: Ask) -> Answer:
        """The text that the hook returns to the agent, for a prompt or for the start of a session."""
        if ask.starts_session:
            text = self._begin(ask.session, ask.at)
        else:
            self._begin_if_new(ask.session)
            text = self._send_prompt(ask.session, ask.text)
        return Answer(ask.id, text, split_text_to_remember(text), bool(text) and self._was_alerted(ask))

    def _begin_if_new(self, session: str) -> None:
        """Begin a session that has no start event in the scenario; the answer to its start is dropped."""
        if session not in self._begun:
            now = self._clock.now
            self._clock.now = now - _BEFORE_FIRST_PROMPT
            self._begin(session, self._clock.now)
            self._clock.now = now

    def _begin(self, session: str, at: datetime) -> str:
        self._begun.add(session)
        self._make_vectors()
        return self._send(session, "SessionStart", at, source="startup")

    def _send_prompt(self, session: str, prompt: str) -> str:
        self._make_vectors()
        return self._send(session, "UserPromptSubmit", prompt=prompt)

    def _send_tool_call(self, event: Event) -> None:
        given = {_TOOL_INPUTS.get(event.tool.casefold(), "input"): event.input}
        answer = {"output": event.text, "exit_code": event.exit}
        self._send(event.session, "PostToolUse", tool_name=event.tool, tool_input=given, tool_response=answer)

    def _compact(self, session: str) -> None:
        self._send(session, "PreCompact", trigger="auto")
        self._make_vectors()
        self._send(session, "SessionStart", source="compact")

    def _send(self, session: str, name: str, at: datetime | None = None, **facts: Any) -> str:  # noqa: ANN401  (any JSON)
        """Send an event to the hooks as an agent does; returns the context for the agent."""
        event = {"hook_event_name": name, "session_id": session, "cwd": str(self._repository.folder), **facts}
        answer = self._responder.answer_and_store(json.dumps(event).encode(), at or self._clock.now, None)
        return str(json.loads(answer)["hookSpecificOutput"]["additionalContext"]) if answer else ""

    def _was_alerted(self, ask: Ask) -> bool:
        """Whether the receipt of the last context has an alert."""
        self._engine.store.batch([Amend(self._workspace, "nobody")])  # waits until the receipt is written
        receipt = self._engine.explain(self._workspace)
        alert = InjectionCategory.DIVERGENCE_ALERT.value
        return (
            receipt is not None
            and receipt.session == ask.session
            and any(entry.section == alert for entry in receipt.injected_entries)
        )


_HISTORIES: Mapping[str, Callable[[Scenario, ContextEngine, FixedClock, Path], History]] = {
    "coding": CodingHistory,
    "chat": ChatHistory,
    "dialogue": DialogueHistory,
}


def split_text_to_remember(text: str) -> tuple[str, ...]:
    """The entries of a hook's text: one for each line that begins with a dash, and one for other text.

    The frame around it and the headings of its sections are not included.
    """
    pieces: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        if not line.strip() or line.startswith(("#", "<foreword-context>", "</foreword-context>")):
            inside = False
        elif line.startswith("- ") or not inside:
            pieces.append([line])
            inside = True
        else:
            pieces[-1].append(line)
    return tuple("\n".join(piece) for piece in pieces)


def _split_prompt(prompt: InjectedContext) -> tuple[str, ...]:
    """The pieces of a prompt, without the question, in their order."""
    content = prompt.content
    worded = [content.system, *(line.prompt_line for line in content.user.lines)]
    worded.append(content.history.summary or "")
    worded += [turn.formatted for turn in (*content.history.recalled, *content.history.recent_turns)]
    worded += [entity.formatted for entity in content.entities]
    worded += [chunk.formatted for chunk in content.rag_chunks]
    return tuple(filter(None, worded))


def _event_text(event: Event) -> str:
    """The input and the text of an event as one text."""
    return "\n".join(filter(None, (event.input, event.text)))
