"""A conversation kept in a workspace: what is said goes in turn by turn, a whole prompt comes out.

    session = Session(engine, "support", "c-17", base_instructions="You answer for the Plum bakery.")
    prompt = inject_context("When can I pick up my cake?", session, 4096)
    session.add(Turn("When can I pick up my cake?"))
    session.add(Turn(answer, role="assistant"))

Turns are durable when `add` returns. Who and what is talked about is worked out from them and not kept: a
session that is opened again reads its turns and knows it again.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from foreword import pipeline
from foreword.capture.entities import find_entities
from foreword.capture.statement import sound
from foreword.compose.allocation import AllocationStrategy, Dynamic
from foreword.compose.compress import DynamicCompressor
from foreword.compose.entity_context import EntityContextConfig, EntityContextFormatter
from foreword.compose.history import HistoryFormatter
from foreword.compose.system_prompt import AgentPersonality, Helpful, SystemPromptBuilder, UserPreferences
from foreword.compose.tool_calls import tool_calls
from foreword.dialogue import DialogueState, Role, Turn
from foreword.knowledge.registry import EntityRegistry
from foreword.knowledge.resolution import EntityResolver
from foreword.knowledge.running_summary import summarizer
from foreword.knowledge.speech_acts import speech_act
from foreword.options import MAX_LIMIT, MAX_NAME, SearchOptions, named
from foreword.rag import RAGConfig, RAGSystem
from foreword.recipes.dialogue import RECALL
from foreword.recipes.dialogue_parts import Recalled, Retrieved, Wording
from foreword.store.base import PutReceipt
from foreword.types import Filters, Item, Source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from foreword.compose.history import HistoryFormatterConfig
    from foreword.dialogue import DialogueSummarizer, ResolvedEntity, SpeechAct
    from foreword.engine import ContextEngine
    from foreword.options import Lane
    from foreword.tokens import Tokenizer
    from foreword.types import Receipt, Trust

_TRUST: dict[Role, Trust] = {"user": "user", "assistant": "agent", "system": "user", "tool": "tool"}

_TOKENS_A_TURN = 20
"""With its date and speaker a turn is hardly shorter: so many at most are looked for as a prompt may hold."""

_FEWEST_RECALLED = 10


class Session:
    """One conversation of one workspace. Safe to use from many threads."""

    def __init__(
        self,
        engine: ContextEngine,
        workspace: str,
        session_id: str,
        *,
        base_instructions: str = "",
        agent_personality: AgentPersonality = Helpful(),  # noqa: B008  (frozen)
        user_preferences: UserPreferences | None = None,
        strategy: AllocationStrategy = Dynamic(),  # noqa: B008  (frozen)
        history: HistoryFormatterConfig | None = None,
        entities: EntityContextConfig = EntityContextConfig(),  # noqa: B008  (frozen)
        rag: RAGConfig = RAGConfig(),  # noqa: B008  (frozen)
        lane: Lane = "fast",
        dialogue_summarizer: DialogueSummarizer | None = None,
    ) -> None:
        self.workspace = named(workspace)
        self.session_id = sound("session_id", session_id, MAX_NAME)
        self.tokenizer: Tokenizer = engine.tokenizer
        self.strategy = strategy
        self._engine = engine
        self._lane: Lane = lane
        self._rag = RAGSystem(engine, workspace, rag)
        tells = dialogue_summarizer or summarizer(engine.settings, engine.tokenizer)
        self.wording = Wording(
            SystemPromptBuilder(
                base_instructions, agent_personality, user_preferences, tokenizer=engine.tokenizer
            ),
            HistoryFormatter(tells, engine.tokenizer, history),
            EntityContextFormatter(engine.tokenizer, entities),
            DynamicCompressor(tells, engine.tokenizer),
        )
        self._turns: list[Turn] = []
        self._places: dict[str, int] = {}
        self._registry = EntityRegistry(find_entities)
        self._lock = threading.RLock()
        kept = engine.store.scan(self.workspace, Filters(kinds=("turn",), conversation=self.session_id))
        for item in kept:
            self._take(_turn(item))

    @property
    def state(self) -> DialogueState:
        """The conversation as it stands: a copy that later turns do not change."""
        with self._lock:
            return DialogueState(tuple(self._turns), self._registry, self.session_id)

    def add(self, turn: Turn) -> Turn:
        """Keep a turn, durably; gives it with its id, its time and what it does."""
        return self.add_all([turn])[0]

    def add_all(self, turns: Sequence[Turn]) -> list[Turn]:
        """Keep several turns at once, in order."""
        with self._lock:
            given = self._completed(turns)
            kept = self._engine.remember_all([self._item(turn) for turn in given], self.workspace)
            return [
                self._take(replace(turn, turn_id=item.id)) for turn, item in zip(given, kept, strict=True)
            ]

    def now(self) -> datetime:
        """What time it is."""
        return self._engine.clock()

    def available_chunks(self) -> int:
        """How many chunks of documents there are."""
        return self._rag.available_chunks()

    def resolve(self, query: str) -> Sequence[ResolvedEntity]:
        """Who and what the query means."""
        with self._lock:
            return EntityResolver(self._registry).resolve(query, self.state)

    def recall(self, query: str, max_tokens: int) -> Recalled:
        """The turns that bear on the query, as many as so many tokens may hold."""
        if not self._turns or not query.strip():
            return Recalled()
        room = int(max_tokens * self.wording.history.config.recalled_share)
        most = min(MAX_LIMIT, max(_FEWEST_RECALLED, room // _TOKENS_A_TURN))
        asked = SearchOptions(limit=most, kinds=("turn",), conversation_id=self.session_id, lane=self._lane)
        draft = pipeline.run(self._engine.draft(query, self.workspace, asked, "dialogue", max_tokens), RECALL)
        with self._lock:
            found = [(self._places.get(result.memory.id), result.score) for result in draft.results]
            turns = tuple((self._turns[place], score) for place, score in found if place is not None)
        return Recalled(turns, draft.found.notes)

    def retrieve(self, query: str, entities: Sequence[ResolvedEntity], max_tokens: int) -> Retrieved:
        """The chunks that bear on the query, as many as so many tokens hold."""
        if not query.strip() or not self.available_chunks():
            return Retrieved()
        return self._rag.retrieve(query, entities, max_tokens)

    def file(self, receipt: Receipt) -> None:
        """Keep the receipt of a prompt."""
        self._engine.store.post(PutReceipt(self.workspace, receipt))

    # Inside

    def _completed(self, turns: Sequence[Turn]) -> list[Turn]:
        """The turns with their times, and with what each does after the one before it."""
        given: list[Turn] = []
        before = self._turns[-1].speech_act if self._turns else None
        for turn in turns:
            act = turn.speech_act if turn.speech_act is not None else speech_act(turn.text, after=before)
            given.append(replace(turn, timestamp=turn.timestamp or self.now(), speech_act=act))
            before = act
        return given

    def _take(self, turn: Turn) -> Turn:
        """Know a turn that is kept; one that is known already stays where it is."""
        with self._lock:
            if turn.turn_id not in self._places:
                self._places[turn.turn_id] = len(self._turns)
                self._turns.append(turn)
                self._registry.observe(turn, len(self._turns) - 1)
        return turn

    def _item(self, turn: Turn) -> Item:
        facts: dict[str, object] = {
            "role": turn.role,
            "name": turn.name or None,
            "raw_text": None if turn.raw_text == turn.text and turn.raw_text.strip() else turn.raw_text,
            "speech_act": turn.speech_act,
            "tool_calls": [dict(call) for call in turn.tool_calls] or None,
            "call_id": turn.call_id or None,
        }
        calls = (f"(calls {call.name} {call.arguments})" for call in tool_calls(turn))
        return Item(
            text=turn.text if turn.text.strip() else "\n".join(calls),
            workspace=self.workspace,
            kind="turn",
            about=turn.speaker,
            created_at=cast("datetime", turn.timestamp),
            session=self.session_id,
            conversation=self.session_id,
            source=Source(turn.name or turn.role, _TRUST[turn.role]),
            metadata={name: fact for name, fact in facts.items() if fact is not None},
        )


def _turn(item: Item) -> Turn:
    """The turn that was kept as this item."""
    facts = item.metadata
    raw = facts.get("raw_text")
    corrected = raw is not None and bool(str(raw).strip())
    return Turn(
        raw_text=item.text if raw is None else str(raw),
        role=cast("Role", facts.get("role", "user")),
        turn_id=item.id,
        name=str(facts.get("name", "")),
        corrected_text=item.text if corrected else None,
        timestamp=item.created_at,
        speech_act=cast("SpeechAct | None", facts.get("speech_act")),
        tool_calls=tuple(facts.get("tool_calls", ())),
        call_id=str(facts.get("call_id", "")),
    )
