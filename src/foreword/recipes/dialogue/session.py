"""A conversation stored in a workspace: turns are added one by one, and whole prompts are built from it.

    session = Session(engine, "support", "c-17", base_instructions="You answer for the Plum bakery.")
    prompt = inject_context("When can I pick up my cake?", session, 4096)
    session.add(Turn("When can I pick up my cake?"))
    session.add(Turn(answer, role="assistant"))

Turns are durable when `add` returns, and stored with the places where they mention something. The entities
are worked out from these whenever a session is opened again. With a `user`, it also knows what this user, and
nobody else, said in other sessions of the workspace, and what was answered there. A session never knows more
than the workspace stores: no secrets, and nothing that was forgotten.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

from foreword import pipeline
from foreword.capture.junk import junk_reason
from foreword.capture.names.entities import find_entities
from foreword.capture.redact import redact
from foreword.compose.allocation import AllocationStrategy, Dynamic, check_strategy
from foreword.compose.compress import DynamicCompressor
from foreword.compose.entity_context import EntityContextConfig, EntityContextFormatter
from foreword.compose.history import HistoryFormatter, HistoryFormatterConfig
from foreword.compose.system_prompt import AgentPersonality, Helpful, SystemPromptBuilder, UserPreferences
from foreword.errors import ValidationError
from foreword.knowledge.resolution import EntityResolver
from foreword.options import MAX_LIMIT, MAX_NAME_CHARACTERS, Lane, SearchOptions, check_text, check_workspace
from foreword.recipes.dialogue.asking import fill_text_from_parts
from foreword.recipes.dialogue.elsewhere import Listener, find_lines_said_elsewhere
from foreword.recipes.dialogue.prompt import (
    FIND_STAGES,
    LIMIT_STAGES,
    RecalledTurns,
    RetrievedChunks,
    Wording,
)
from foreword.recipes.dialogue.rag import RAGConfig, RAGSystem
from foreword.recipes.dialogue.replaced import find_final_replacements
from foreword.recipes.dialogue.turns import check_turn, get_conversation_turns, item_from_turn, turn_from_item
from foreword.recipes.dialogue.users import UserMemories, get_user_memory, storable_user
from foreword.store.base import PutReceipt
from foreword.text.question import shorten_with_question_first
from foreword.types import DroppedResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from foreword.engine.base import Engine
    from foreword.knowledge.registry import EntityRegistry
    from foreword.text.tokens import Tokenizer
    from foreword.types import (
        DialogueState,
        DialogueSummarizer,
        Receipt,
        ResolvedEntity,
        SearchResult,
        Turn,
    )

_MIN_TOKENS_A_TURN, _SHORT_SHARE = 20, 0.75
"""The fewest tokens that a turn with its date and speaker is taken to have, and the share of the
conversation's mean that recalled turns are taken to have: no more are searched for than would fit then."""

_MIN_RECALLED = 10
"""At least how many turns are searched for."""

_UNSTORED_TEXT_PATHS = (
    "/rag/query_used",
    "/history/summary",
    "/system/base_instructions",
    "/system/user_preferences",
)
"""The paths in the view of a prompt whose texts the workspace does not store, so they may hold secrets."""

_Config = TypeVar("_Config")


class Session:
    """One conversation of one workspace. Safe to use from many threads, and beside other processes."""

    def __init__(
        self,
        engine: Engine,
        workspace: str,
        session_id: str,
        *,
        user: str | None = None,
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
        self.workspace = check_workspace(workspace)
        self.session_id = check_text("session_id", session_id, MAX_NAME_CHARACTERS)
        self.user = "" if user in (None, "") else check_text("user", user, MAX_NAME_CHARACTERS)
        self.tokenizer: Tokenizer = engine.tokenizer
        self.strategy = check_strategy(strategy)
        self._engine = engine
        self._lane = _check_lane(lane)
        self._rag = RAGSystem(engine, workspace, _check_type(RAGConfig, "rag", rag))
        summarizer = _check_summarizer(dialogue_summarizer) or engine.dialogue_summarizer(
            partial(find_final_replacements, engine.store, self.workspace)
        )
        history_config = HistoryFormatterConfig() if history is None else history
        self.wording = Wording(
            SystemPromptBuilder(
                base_instructions, agent_personality, user_preferences, tokenizer=engine.tokenizer
            ),
            HistoryFormatter(
                summarizer,
                engine.tokenizer,
                _check_type(HistoryFormatterConfig, "history", history_config),
            ),
            EntityContextFormatter(engine.tokenizer, _check_type(EntityContextConfig, "entities", entities)),
            DynamicCompressor(summarizer, engine.tokenizer),
        )
        self._turns = get_conversation_turns(engine, self.workspace, self.session_id, find_entities)
        self._user_id = storable_user(self.user)

    @property
    def state(self) -> DialogueState:
        """The conversation as it is stored now: a copy that later turns do not change."""
        return self._turns.state()

    def add(self, turn: Turn) -> Turn:
        """Store a turn durably, and return it as stored, with its id, time and speech act.

        A turn without a time gets the current one. A turn with a time is stored once, however often it is
        added, unless it has another id: then it is another turn, even with the same speaker, words and time.
        """
        return self.add_all([turn])[0]

    def add_all(self, turns: Sequence[Turn]) -> list[Turn]:
        """Store several turns at once, in order, and return them as stored."""
        checked = [self._assign_user(fill_text_from_parts(check_turn(turn))) for turn in turns]
        complete = self._turns.add_times_and_speech_acts(checked, self.now)
        items = [item_from_turn(turn, self.workspace, self.session_id) for turn in complete]
        kept = self._engine.remember_all(items, self.workspace)
        self._turns.remember_last_speech_act(complete)
        return [turn_from_item(item) for item in kept]

    def _assign_user(self, turn: Turn) -> Turn:
        """The turn with its user: the one it names, or else the session's; and its name without secrets."""
        user = turn.user or ("" if turn.name else self.user)
        known = storable_user(user) if turn.role == "user" else ""
        return replace(turn, name=redact(turn.name), user=known)

    def now(self) -> datetime:
        """The current time."""
        return self._engine.clock()

    def available_chunks(self) -> int:
        """How many chunks of documents there are."""
        return self._rag.available_chunks()

    def resolve(self, query: str, asker: str = "") -> Sequence[ResolvedEntity]:
        """The entities that the query means when `asker` asks, or else the session's user."""
        state = self.state
        resolver = EntityResolver(cast("EntityRegistry", state.entity_registry))
        return resolver.resolve(query, state, asker or self._user_id)

    def recall_user(self, query: str, max_tokens: int, asker: str = "") -> UserMemories:
        """What `asker`, or else the session's user, said about themselves, and how they want to be answered.

        Empty if neither is named.
        """
        user = asker or self._user_id
        if not user:
            return UserMemories()
        memory = get_user_memory(self._engine, self.workspace, user)
        return memory.recall(query, self.session_id, max_tokens)

    def recall_elsewhere(self, query: str, max_tokens: int, asker: str = "") -> UserMemories:
        """What bears on the query of the user's other conversations, and of the workspace's memories.

        Without a user, only memories that a person stored for everybody.
        """
        user = asker or self._user_id
        conversations: tuple[str, ...] = ()
        if user:
            memory = get_user_memory(self._engine, self.workspace, user)
            conversations = memory.other_conversations(self.session_id)
        listener = Listener(user, conversations)
        return find_lines_said_elsewhere(
            self._engine, self.workspace, listener, query, max_tokens, self._lane
        )

    def recall(self, query: str, max_tokens: int) -> RecalledTurns:
        """The turns that are relevant to the query, as many as `max_tokens` may hold, without chatter.

        Of exchanges in the same words, only the last is recalled.
        """
        if not query.strip() or not self._turns.has_turns():
            return RecalledTurns()
        room = int(max_tokens * self.wording.history.config.recalled_share)
        each = max(_MIN_TOKENS_A_TURN, _SHORT_SHARE * self._turns.mean_tokens())
        most = min(MAX_LIMIT, max(_MIN_RECALLED, int(room / each)))
        options = SearchOptions(limit=most, kinds=("turn",), conversation_id=self.session_id, lane=self._lane)
        draft = self._engine.draft(
            shorten_with_question_first(query), self.workspace, options, "dialogue", max_tokens
        )
        draft = pipeline.run(draft, (*FIND_STAGES, self._drop_repeated_exchanges, *LIMIT_STAGES))
        turns = self._turns.find_by_ids(
            [self._turns.find_latest_repetition(one.memory.id) for one in draft.results]
        )
        found = [
            (turn, result.score)
            for turn, result in zip(turns, draft.results, strict=True)
            if turn and junk_reason(turn.text) is None
        ]
        return RecalledTurns(tuple(found), draft.notes)

    def _drop_repeated_exchanges(self, draft: pipeline.SearchDraft) -> pipeline.SearchDraft:
        """Keep one result, the best, of those whose exchange was repeated in the same words."""
        best: dict[str, SearchResult] = {}
        dropped: list[DroppedResult] = []
        for result in draft.results:
            first = best.setdefault(self._turns.find_latest_repetition(result.memory.id), result)
            if first is not result:
                dropped.append(DroppedResult(result, "duplicate", f"as {first.memory.id}"))
        return draft.keep(list(best.values()), dropped)

    def retrieve(
        self,
        query: str,
        entities: Sequence[ResolvedEntity],
        max_tokens: int,
        turns: Sequence[Turn] | None = None,
    ) -> RetrievedChunks:
        """The chunks of documents that are relevant to the query, as many as `max_tokens` hold.

        The query is understood after `turns`, by default those of the session.
        """
        if not query.strip():
            return RetrievedChunks()
        return self._rag.retrieve(query, entities, max_tokens, self.state.turns if turns is None else turns)

    def keep_receipt(self, receipt: Receipt) -> None:
        """Store the receipt of a prompt without the secrets that the prompt itself may show."""
        notes = tuple(replace(note, message=redact(note.message)) for note in receipt.notes)
        if receipt.view is None or self._has_secrets(receipt.view):
            receipt = _redact_receipt(receipt)
        self._engine.store.post(PutReceipt(self.workspace, replace(receipt, notes=notes)))

    def _has_secrets(self, view: Mapping[str, Any]) -> bool:
        """Whether a prompt has secrets; only texts that do not come from the workspace can have any."""
        free = [str(text) for path, text in view.items() if path.endswith(_UNSTORED_TEXT_PATHS)]
        whole = "\n\n".join((*free, str(self.wording.system.agent_personality)))
        return redact(whole) != whole


def _redact_receipt(receipt: Receipt) -> Receipt:
    """The receipt without secrets in its query, its text and its view."""
    view = receipt.view and {
        path: redact(value) if isinstance(value, str) else value for path, value in receipt.view.items()
    }
    return replace(receipt, query=redact(receipt.query), text=redact(receipt.text), view=view)


def _check_lane(lane: object) -> Lane:
    if lane not in get_args(Lane):
        raise ValidationError(f"lane is one of {', '.join(get_args(Lane))}, not {lane!r}")
    return cast("Lane", lane)


def _check_type(kind: type[_Config], name: str, value: object) -> _Config:
    if not isinstance(value, kind):
        raise ValidationError(f"{name} must be {kind.__name__}(…), not {value!r}")
    return value


def _check_summarizer(summarizer: DialogueSummarizer | None) -> DialogueSummarizer | None:
    if summarizer is not None and not callable(getattr(summarizer, "summarize", None)):
        raise ValidationError(
            f"a dialogue_summarizer has summarize(turns, max_tokens); {summarizer!r} has not"
        )
    return summarizer
