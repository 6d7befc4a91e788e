"""ContextMiddleware: before an agent's model is called, what matters for the user's message stands before it.

The context is part of the call, never of the state: the checkpoints of a thread stay as they are. It is put
before the same message again with every later call, so that the model does not lose it in a loop of tools and
a provider's cache of the prompt stays good; and while it stands there, it is not said again. When its message
has left the conversation, it may be. What was forgotten since is looked for before each call, and a message
whose context held any of it gets another. Whatever fails or is late is a warning, and the call goes on
without it.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.config import get_config

from foreword.capture.agent import AgentEvent, read_turns
from foreword.capture.junk import junk_reason
from foreword.compose.budget import TokenBudget
from foreword.edges.message_lists import BUDGET, DEADLINE_MS, LONGEST_QUESTION
from foreword.log import get_logger
from foreword.options import named
from foreword.recipes.coding.injection import InjectionPipeline
from foreword.store.base import ClearShown, MarkShown
from foreword.text.frame import framed, without_frames

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from langchain.agents.middleware import ModelRequest, ModelResponse
    from langchain_core.messages import AnyMessage

    from foreword.engine.context_engine import ContextEngine

_log = get_logger("foreword.langgraph")

_MOST_THREADS = 1_000
_PATIENCE = 2.0
"""So many deadlines are waited for in all; what is later than that does not answer."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What stands before one message of the user: the text, the ids of its items, and the receipt's."""

    text: str = ""
    ids: tuple[str, ...] = ()
    receipt_id: str = ""
    kept: bool = False


class ContextMiddleware(AgentMiddleware):
    """For `create_agent(middleware=[…])`. With `capture`, what user and agent say is remembered as turns."""

    def __init__(
        self,
        engine: ContextEngine,
        workspace: str,
        *,
        budget: int = BUDGET,
        deadline_ms: float = DEADLINE_MS,
        capture: bool = False,
    ) -> None:
        super().__init__()
        self.workspace = named(workspace)
        self._engine = engine
        self._pipeline = InjectionPipeline(engine)
        self._budget = TokenBudget.with_total(budget)
        self._deadline_ms = deadline_ms
        self._capture = capture
        self._threads: OrderedDict[str, dict[str, _Said]] = OrderedDict()
        self._lock = threading.Lock()

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Call the model with the context, then remember what was said."""
        session = _session(request.messages)
        standing: dict[str, _Said] = {}
        try:
            said = _begun(self._said, request.messages, session, standing).result(self._patience)
        except Exception as error:  # noqa: BLE001  (an agent must not fail for want of context)
            said = self._as_before(standing, error)
        response = handler(_with(request, said))
        self._keep(request.messages, response, session)
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """The same, without keeping the event loop waiting."""
        session = _session(request.messages)
        standing: dict[str, _Said] = {}
        try:
            begun = asyncio.wrap_future(_begun(self._said, request.messages, session, standing))
            said = await asyncio.wait_for(begun, self._patience)
        except Exception as error:  # noqa: BLE001  (as above)
            said = self._as_before(standing, error)
        response = await handler(_with(request, said))
        await asyncio.to_thread(self._keep, request.messages, response, session)
        return response

    def receipt_id(self, thread: str) -> str:
        """The receipt of the context before a thread's last message; empty when there is none."""
        with self._lock:
            said = list(self._threads.get(thread, {}).values())
        return said[-1].receipt_id if said else ""

    @property
    def _patience(self) -> float:
        return self._deadline_ms / 1000 * _PATIENCE

    def _as_before(self, standing: Mapping[str, _Said], error: Exception) -> Mapping[str, _Said]:
        """What is known to stand before earlier messages stays there; for the last there is nothing."""
        problem = str(error) or type(error).__name__
        _log.warning("no context for a message", workspace=self.workspace, problem=problem)
        return dict(standing)

    def _said(
        self, messages: Sequence[AnyMessage], session: str, standing: dict[str, _Said]
    ) -> Mapping[str, _Said]:
        """What stands before each message of the user, by the message's name; the last is asked about.

        `standing` gets what may be said again, as soon as that is known: more may come too late.
        """
        spoken = {_name(message): message for message in messages if isinstance(message, HumanMessage)}
        with self._lock:
            known = {name: one for name, one in self._threads.get(session, {}).items() if name in spoken}
        standing.update(self._without_forgotten(known))
        said = dict(standing)
        for name, message in spoken.items():
            if name not in said and (name in known or name == next(reversed(spoken))):
                said[name] = self._asked(message.text, session, said)
        said = {name: said[name] for name in spoken if name in said}
        self._note(session, said)
        return said

    def _without_forgotten(self, known: Mapping[str, _Said]) -> dict[str, _Said]:
        """Of what was said, that of which everything is still remembered."""
        ids = list(dict.fromkeys(item for one in known.values() for item in one.ids))
        held = self._engine.store.get(self.workspace, *ids) if ids else ()
        gone = {item for item, found in zip(ids, held, strict=True) if found is None}
        return {name: one for name, one in known.items() if gone.isdisjoint(one.ids)}

    def _asked(self, question: str, session: str, said: Mapping[str, _Said]) -> _Said:
        asked = without_frames(question)[:LONGEST_QUESTION]
        if junk_reason(asked):
            return _Said()
        self._tell_only(session, [item for one in said.values() for item in one.ids])
        result = self._pipeline.generate_context(
            asked, session, self._budget, workspace=self.workspace, deadline_ms=self._deadline_ms
        )
        return _Said(framed(result.formatted_context), result.included_memories, result.receipt.id)

    def _tell_only(self, session: str, ids: Sequence[str]) -> None:
        """The session's context holds these: what has left the messages may be said again."""
        store = self._engine.store
        if session and store.shown(self.workspace, session) - set(ids):
            told = MarkShown(self.workspace, session, tuple(ids), self._engine.clock())
            store.batch([ClearShown(self.workspace, session), told])

    def _note(self, session: str, said: dict[str, _Said]) -> None:
        with self._lock:
            self._threads[session] = said
            self._threads.move_to_end(session)
            while len(self._threads) > _MOST_THREADS:
                self._threads.popitem(last=False)

    def _keep(self, messages: Sequence[AnyMessage], response: ModelResponse[Any], session: str) -> None:
        """Remember the user's message, once, and what the agent answered in the end."""
        spoken = [message for message in messages if isinstance(message, HumanMessage)]
        if not self._capture or not spoken:
            return
        with self._lock:
            said = self._threads.get(session, {})
        name = _name(spoken[-1])
        before = said.get(name, _Said())
        prompt = "" if before.kept else spoken[-1].text
        try:
            ids = self._remembered(prompt, _answer(response), session)
        except Exception as error:  # noqa: BLE001  (what the model said must reach the user)
            _log.warning("a turn was not remembered", workspace=self.workspace, problem=str(error))
            return
        self._note(session, {**said, name: replace(before, ids=(*before.ids, *ids), kept=True)})

    def _remembered(self, prompt: str, answer: str, session: str) -> list[str]:
        """Keep both turns; they stand in the thread, so it need not be told of them."""
        now = self._engine.clock()
        events = (
            AgentEvent("UserPromptSubmit", now, session, agent="langgraph", prompt=prompt),
            AgentEvent("Stop", now, session, agent="langgraph", message=answer),
        )
        items = [item for event in events for item in read_turns(event, self.workspace)]
        ids = [item.id for item in self._engine.remember_all(items, self.workspace)] if items else []
        if session and ids:
            self._engine.store.post(MarkShown(self.workspace, session, tuple(ids), now))
        return ids


def _session(messages: Sequence[AnyMessage]) -> str:
    """The thread; a conversation without one is known by its first message, if that has a name."""
    try:
        thread = get_config().get("configurable", {}).get("thread_id")
    except RuntimeError:  # called outside of a graph
        thread = None
    return str(thread or next((message.id for message in messages if message.id), ""))


def _name(message: HumanMessage) -> str:
    return message.id or message.text


def _with(request: ModelRequest[Any], said: Mapping[str, _Said]) -> ModelRequest[Any]:
    """The request with each context before its message, in a copy of it: models may insist on turns."""
    if not any(one.text for one in said.values()):
        return request
    return request.override(messages=[_placed(message, said) for message in request.messages])


def _placed(message: AnyMessage, said: Mapping[str, _Said]) -> AnyMessage:
    one = said.get(_name(message)) if isinstance(message, HumanMessage) else None
    if one is None or not one.text:
        return message
    spoken = message.content
    both = (
        f"{one.text}\n\n{spoken}"
        if isinstance(spoken, str)
        else [{"type": "text", "text": one.text}, *spoken]
    )
    return message.model_copy(update={"content": both})


def _answer(response: ModelResponse[Any]) -> str:
    """What the agent said to the user; a message that calls tools is not its last word."""
    last = response.result[-1] if response.result else None
    return last.text if isinstance(last, AIMessage) and not last.tool_calls else ""


def _begun(work: Callable[..., Any], *given: object) -> Future[Any]:
    """Work in a thread of its own, which nobody has to wait for, with the caller's context variables."""
    done: Future[Any] = Future()
    done.set_running_or_notify_cancel()  # whoever stops waiting does not stop it
    context = copy_context()

    def run() -> None:
        try:
            done.set_result(context.run(work, *given))
        except Exception as error:  # noqa: BLE001  (handed to whoever waits)
            done.set_exception(error)

    threading.Thread(target=run, name="foreword-context", daemon=True).start()
    return done
